//! Quasi-symmetries: lines with nearly the same angle to the crystals share one tube of response, a super-LOR (Herraiz et al.
//! 2010, figure 1: "LORs with a very similar angle to the crystals have a very similar probability distribution").
//!
//! Neighbouring distances from the axis and neighbouring ring differences make a group, counted from 0. With w the number of
//! crystal pairs of each of its tubes T, all of them become
//!
//! ```text
//! M = Σ w T / Σ w      and, along the line,      M[a] ← mean of M[a − h ..= a + h]
//! ```
//!
//! The running mean over 2h + 1 samples extends between the first and the last row with a value of the group, and is scaled to
//! keep the sum of all. This keeps the counts of a group for an even object, not those of each of its bins. For VrPET the single
//! tubes' own sums, applied to the shared shape, came out farther from the tubes of an endless simulation (by 0.1 to 1 % RMS),
//! since each of them has its own noise.
//!
//! Unlike the symmetries of rotation and reflection this is an approximation: [`SuperLors::deviation`] returns its error.

use crate::data::super_lors::{SharingDeviation, SuperLorError, SuperLors};
use crate::data::tubes::TubeSet;

impl SuperLors {
    /// Tubes that are shared so. `num_pairs` = how many crystal pairs each tube is the mean over, `[radial][ring difference]`,
    /// up to a common factor.
    ///
    /// # Errors
    /// Another number of crystal pairs than of tubes.
    pub fn share(&self, tubes: &TubeSet, num_pairs: &[f64]) -> Result<TubeSet, SuperLorError> {
        let sampling = &tubes.sampling;
        let expected = sampling.num_radial * sampling.num_ring_differences;
        if num_pairs.len() != expected {
            return Err(SuperLorError::Pairs { expected, found: num_pairs.len() });
        }
        if *self == Self::NONE {
            return Ok(tubes.clone());
        }
        let mut coefficients = vec![0.0; tubes.coefficients.len()];
        let len = sampling.tube_len();
        for group in self.groups(sampling.num_radial, sampling.num_ring_differences) {
            let members: Vec<usize> =
                group.members().map(|[radial, difference]| radial * sampling.num_ring_differences + difference).collect();
            let mean = self.mean_of(tubes, &members, num_pairs);
            for tube in members {
                coefficients[tube * len..][..len].copy_from_slice(&mean);
            }
        }
        Ok(TubeSet { coefficients: coefficients.into(), ..tubes.clone() })
    }

    /// Returns the tube that some share.
    fn mean_of(&self, tubes: &TubeSet, members: &[usize], num_pairs: &[f64]) -> Vec<f32> {
        let len = tubes.sampling.tube_len();
        let total: f64 = members.iter().map(|tube| num_pairs[*tube]).sum();
        if total <= 0.0 {
            return vec![0.0; len];
        }
        let mut mean = vec![0.0; len];
        for &tube in members {
            let single = &tubes.coefficients[tube * len..][..len];
            mean.iter_mut().zip(single).for_each(|(mean, &value)| *mean += num_pairs[tube] / total * f64::from(value));
        }
        let row_len = tubes.sampling.num[1] * tubes.sampling.num[2];
        smooth_along(&mean, row_len, self.along / 2).into_iter().map(|value| value as f32).collect()
    }

    /// Returns the deviation of shared tubes from the single ones.
    pub fn deviation(&self, single: &TubeSet, shared: &TubeSet) -> SharingDeviation {
        let sampling = &single.sampling;
        let sums_of = |is_edge: bool| {
            let groups = self.groups(sampling.num_radial, sampling.num_ring_differences).filter(|group| group.is_edge == is_edge);
            let pairs = groups
                .flat_map(|group| group.members())
                .flat_map(|[radial, difference]| single.tube(radial, difference).iter().zip(shared.tube(radial, difference)));
            let (off, all) = pairs.fold((0.0, 0.0), |(off, all), (&single, &shared)| {
                (off + f64::from(shared - single).powi(2), all + f64::from(single).powi(2))
            });
            if all > 0.0 { 100.0 * (off / all).sqrt() } else { 0.0 }
        };
        SharingDeviation { inner_percent: sums_of(false), edge_percent: sums_of(true) }
    }

    /// Returns the groups of these distances from the axis and ring differences.
    pub fn groups(self, num_radial: usize, num_ring_differences: usize) -> impl Iterator<Item = Group> {
        let ranges = |num: usize, size: usize| (0..num).step_by(size).map(move |first| [first, (first + size).min(num)]);
        ranges(num_radial, self.radial).flat_map(move |radial| {
            ranges(num_ring_differences, self.ring_differences).map(move |differences| {
                let is_edge = radial[1] == num_radial || differences[1] == num_ring_differences;
                Group { radial, differences, is_edge }
            })
        })
    }
}

/// Tubes that share one: from a distance and a ring difference on up to others, which do not belong to it.
#[derive(Clone, Copy)]
pub struct Group {
    radial: [usize; 2],
    differences: [usize; 2],
    is_edge: bool,
}

impl Group {
    /// Returns the distance and ring difference of each.
    pub fn members(self) -> impl Iterator<Item = [usize; 2]> {
        let [first, end] = self.differences;
        (self.radial[0]..self.radial[1]).flat_map(move |radial| (first..end).map(move |difference| [radial, difference]))
    }
}

/// Returns the running mean over rows up to `reach` away on either side, between the first row and the last that is not zero; the
/// sum of all stays.
fn smooth_along(tube: &[f64], row_len: usize, reach: usize) -> Vec<f64> {
    let is_there = |row: &[f64]| row.iter().any(|value| *value > 0.0);
    let rows: Vec<&[f64]> = tube.chunks_exact(row_len).collect();
    let first = rows.iter().position(|row| is_there(row));
    let (Some(first), Some(last)) = (first, rows.iter().rposition(|row| is_there(row))) else { return tube.to_vec() };
    if reach == 0 {
        return tube.to_vec();
    }
    let mut smooth = vec![0.0; tube.len()];
    for row in first..=last {
        let near = &rows[row.saturating_sub(reach).max(first)..=(row + reach).min(last)];
        let out = &mut smooth[row * row_len..][..row_len];
        for values in near {
            out.iter_mut().zip(*values).for_each(|(out, value)| *out += value / near.len() as f64);
        }
    }
    let scale = tube.iter().sum::<f64>() / smooth.iter().sum::<f64>();
    smooth.iter_mut().for_each(|value| *value *= scale);
    smooth
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::tubes::TubeSampling;

    /// 5 × 3 tubes of 7 × 1 × 3 samples.
    fn tubes(value: impl Fn(usize) -> f32) -> TubeSet {
        let sampling = TubeSampling { num: [7, 1, 3], spacing_mm: [1.0; 3], num_radial: 5, num_ring_differences: 3 };
        TubeSet::new("toy", sampling, (0..5 * 3 * 21).map(value).collect()).unwrap()
    }

    fn uneven(index: usize) -> f32 {
        1.0 + (index * index % 97) as f32 / 7.0
    }

    const NUM_PAIRS: [f64; 15] = [3.0, 4.0, 2.0, 6.0, 8.0, 4.0, 5.0, 6.0, 3.0, 6.0, 7.0, 3.0, 2.0, 2.0, 1.0];

    #[test]
    fn alone_nothing_changes() {
        let tubes = tubes(uneven);
        assert_eq!(SuperLors::NONE.share(&tubes, &NUM_PAIRS).unwrap(), tubes);
    }

    #[test]
    fn equal_tubes_stay_as_they_are() {
        let tubes = tubes(|index| 0.1 + (index % 21) as f32 / 3.0);
        let super_lors = SuperLors::new(2, 2, 1).unwrap();
        let shared = super_lors.share(&tubes, &NUM_PAIRS).unwrap();
        assert_eq!(shared, tubes);
        assert_eq!(super_lors.deviation(&tubes, &shared), SharingDeviation { inner_percent: 0.0, edge_percent: 0.0 });
    }

    #[test]
    fn the_tubes_of_a_group_become_one_that_counts_as_much() {
        let single = tubes(uneven);
        for along in [1, 3] {
            let super_lors = SuperLors::new(2, 2, along).unwrap();
            let shared = super_lors.share(&single, &NUM_PAIRS).unwrap();
            let groups: Vec<Vec<[usize; 2]>> = super_lors.groups(5, 3).map(|group| group.members().collect()).collect();
            assert_eq!(groups[1], [[0, 2], [1, 2]]);
            assert_eq!(groups.concat().len(), 15);
            for group in groups {
                let counts = |tubes: &TubeSet| -> f64 {
                    let of =
                        |&[r, d]: &[usize; 2]| tubes.tube(r, d).iter().map(|v| f64::from(*v)).sum::<f64>() * NUM_PAIRS[r * 3 + d];
                    group.iter().map(of).sum()
                };
                let (before, after) = (counts(&single), counts(&shared));
                assert!((after / before - 1.0).abs() < 1e-6, "{before} became {after}");
                assert!(group.iter().all(|&[r, d]| shared.tube(r, d) == shared.tube(group[0][0], group[0][1])));
            }
            let deviation = super_lors.deviation(&single, &shared);
            assert!(deviation.inner_percent > 1.0 && deviation.edge_percent > 1.0, "{deviation:?}");
        }
    }

    #[test]
    fn the_running_mean_stays_where_a_tube_has_something() {
        let tube = [0.0, 0.0, 6.0, 0.0, 0.0, 3.0, 0.0];
        let expected = [0.0, 0.0, 3.0, 2.0, 1.0, 1.5, 0.0].map(|value| value * 9.0 / 7.5);
        let found = smooth_along(&tube, 1, 1);
        assert!(found.iter().zip(expected).all(|(found, expected)| (found - expected).abs() < 1e-12), "{found:?}");
        assert_eq!(smooth_along(&tube, 1, 0), tube);
        assert_eq!(smooth_along(&[0.0; 7], 1, 1), [0.0; 7]);
    }

    #[test]
    fn invalid_sharing_is_refused() {
        assert!(matches!(SuperLors::new(0, 2, 1), Err(SuperLorError::Numbers(_))));
        assert!(matches!(SuperLors::new(2, 0, 1), Err(SuperLorError::Numbers(_))));
        assert!(matches!("2x2x4".parse::<SuperLors>(), Err(SuperLorError::Numbers(_))));
        assert_eq!("2".parse::<SuperLors>(), Err(SuperLorError::Text("2".into())));
        assert_eq!("2x-1".parse::<SuperLors>(), Err(SuperLorError::Text("2x-1".into())));
        assert_eq!("6x5".parse(), SuperLors::new(6, 5, 1));
        assert_eq!("6×5×9".parse::<SuperLors>().unwrap().to_string(), "6 × 5 × 9 samples along");
        let pairs = SuperLors::NONE.share(&tubes(uneven), &NUM_PAIRS[1..]).unwrap_err();
        assert_eq!(pairs, SuperLorError::Pairs { expected: 15, found: 14 });
    }
}
