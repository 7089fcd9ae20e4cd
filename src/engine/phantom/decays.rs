//! Positions of the decays of a phantom, one by one.
//!
//! A part is drawn in proportion to its activity times the volume of a box about it, then a point in the box evenly. It is a
//! decay if it lies inside the solid of the part and outside all later ones. Decays are then as dense as the activity, and a
//! small source takes no longer than a large one.

use rand_philox::{Philox, u32_to_unit_f64};

use super::object::Phantom;
use super::solid::{Solid, SolidBox};
use crate::geometry::Point;

/// Draws the decays of a phantom.
pub struct Decays<'a> {
    sources: Vec<Source<'a>>,
    z_mm: [f64; 2],
    /// For each source its activity times the volume of its box, and those of all before it.
    sums: Vec<f64>,
}

/// A part that is active.
struct Source<'a> {
    within: SolidBox,
    solid: &'a Solid,
    /// Later parts that may hide some of it.
    later: Vec<&'a Solid>,
}

impl<'a> Decays<'a> {
    /// Returns the decays of a phantom between two heights.
    pub fn new(phantom: &'a Phantom, z_mm: [f64; 2]) -> Self {
        let boxes: Vec<Option<SolidBox>> = phantom.parts.iter().map(|part| part.solid.within(z_mm)).collect();
        let (mut sources, mut sums, mut sum) = (Vec::new(), Vec::new(), 0.0);
        for (number, (part, within)) in phantom.parts.iter().zip(&boxes).enumerate() {
            let Some(within) = within.filter(|_| part.material.activity > 0.0) else { continue };
            let may_hide = |later: &Option<SolidBox>| later.is_some_and(|later| later.may_meet(&within));
            let later = phantom.parts.iter().zip(&boxes).skip(number + 1).filter(|(_, within)| may_hide(within));
            sum += part.material.activity * within.volume_mm3();
            sums.push(sum);
            sources.push(Source { within, solid: &part.solid, later: later.map(|(part, _)| &part.solid).collect() });
        }
        Self { sources, z_mm, sums }
    }

    /// Decays in a mm³ of activity 1, for each place that is drawn.
    pub fn density_per_mm3(&self) -> f64 {
        self.sums.last().map_or(0.0, |sum| 1.0 / sum)
    }

    /// Returns the place of a decay; `None` where the place drawn is none, or nothing is active. Four draws: the part, and the
    /// place.
    pub fn draw(&self, random: &mut Philox) -> Option<Point> {
        let mut uniform = || u32_to_unit_f64(random.next_u32());
        let drawn = uniform() * self.sums.last()?;
        let Source { within, solid, later } = self.sources.get(self.sums.partition_point(|sum| *sum < drawn))?;
        let place = within.point([uniform(), uniform(), uniform()]);
        let [low, high] = self.z_mm;
        let is_there = (low..=high).contains(&place[2]) && solid.contains(place);
        (is_there && !later.iter().any(|solid| solid.contains(place))).then_some(place)
    }
}

#[cfg(test)]
mod tests {
    use super::super::object::{Material, Part};
    use super::*;
    use crate::geometry::Grid;
    use crate::random::stream;
    use crate::task::Task;

    fn phantom(parts: &[(Solid, f64)]) -> Phantom {
        let material = |activity| Material { activity, mu_per_mm: 0.0 };
        let parts = parts.iter().map(|(solid, activity)| Part { solid: solid.clone(), material: material(*activity) }).collect();
        Phantom { name: String::new(), title: String::new(), parts, rois: Vec::new(), notices: Vec::new(), size: 1.0 }
    }

    /// Decays in the voxels of a grid against the exact mean activity of each.
    #[test]
    fn decays_are_as_dense_as_the_activity() {
        const NUM: u64 = 2_000_000;
        let phantom = phantom(&[
            (Solid::cylinder([1.0, -2.0], 12.0, [-30.0, 7.0]), 1.0),
            (Solid::ellipsoid([4.0, 5.0, 0.0], [5.0, 2.0, 3.0], 0.6), 4.0),
            (Solid::rod([-9.0, -8.0, -7.0], [9.0, 6.0, 8.0], 0.7), 20.0),
            (Solid::ball([0.0; 3], 3.0), 0.0),
            (Solid::ball([0.0; 3], 1.0).and(Solid::cuboid([-2.0; 3], [2.0, 2.0, 0.0])), 30.0),
        ]);
        let decays = Decays::new(&phantom, [-8.0, 8.0]);
        let grid = Grid::centred([16, 16, 8], [2.0; 3]).unwrap();
        let mut found = vec![0.0; grid.num_voxels()];
        let mut num_found = 0.0;
        for place in (0..NUM).filter_map(|number| decays.draw(&mut stream(7, number))) {
            let [i, j, k] = grid.voxel_from_mm(place).map(|at| at.round() as usize);
            found[(k * 16 + j) * 16 + i] += 1.0;
            num_found += 1.0;
        }
        // Each voxel as the mean over many lines along x: exact along them, and nearly so across.
        let fine = Grid::centred([128, 128, 64], [0.25; 3]).unwrap();
        let truth = phantom.truth(&fine, 1.0, &Task::new()).unwrap();
        let mut expected = vec![0.0; grid.num_voxels()];
        let density = NUM as f64 * decays.density_per_mm3() * 0.25f64.powi(3);
        assert!(
            (density * truth.sum() / num_found - 1.0).abs() < 5e-3,
            "{} decays where {num_found} were found",
            density * truth.sum()
        );
        let counts = num_found / truth.sum();
        for ((k, j, i), value) in truth.values.indexed_iter() {
            expected[(k / 8 * 16 + j / 8) * 16 + i / 8] += f64::from(*value) * counts;
        }
        let used = || found.iter().zip(&expected).filter(|(_, expected)| **expected > 20.0);
        let chi_square: f64 = used().map(|(found, expected)| (found - expected).powi(2) / expected).sum();
        let num = used().count() as f64;
        assert!(num > 600.0 && (chi_square - num).abs() < 5.0 * (2.0 * num).sqrt(), "χ² {chi_square} of {num} voxels");
        let elsewhere: f64 = found.iter().zip(&expected).filter(|(_, expected)| **expected == 0.0).map(|(found, _)| found).sum();
        assert_eq!(elsewhere, 0.0);
    }

    #[test]
    fn nothing_decays_where_nothing_is_active() {
        for parts in [&[][..], &[(Solid::ball([0.0; 3], 3.0), 0.0)], &[(Solid::ball([0.0, 0.0, 20.0], 3.0), 1.0)]] {
            let phantom = phantom(parts);
            let decays = Decays::new(&phantom, [-8.0, 8.0]);
            assert!((0..100).all(|number| decays.draw(&mut stream(1, number)).is_none()));
        }
    }
}
