//! A scan of an object, decay by decay: each is followed in all directions, and counted or not, so that counts are as independent,
//! and as noisy, as those of a scanner.

use std::f64::consts::PI;

use rand_philox::Philox;
use rayon::prelude::*;

use super::coincidences::{Coincidences, CrystalLine};
use super::draws::uniform;
use super::ring::RingDetector;
use crate::geometry::Point;
use crate::random::stream;
use crate::scanner::ScanGeometry;
use crate::task::{Stopped, Task};

/// Histories that one task follows.
const HISTORIES_PER_TASK: u64 = 1 << 12;
/// Histories between two progress reports.
const HISTORIES_PER_BATCH: u64 = 1 << 18;
/// Histories without a count after which nothing is in view.
const MAX_WITHOUT_COUNT: u64 = 1 << 22;

/// Which bin a line belongs to.
struct Bins<'a> {
    geometry: &'a ScanGeometry,
    /// For each ring difference from −(rings − 1) on its first plane, where the scan has a segment of it alone.
    first_planes: Vec<Option<usize>>,
}

impl<'a> Bins<'a> {
    fn new(geometry: &'a ScanGeometry) -> Self {
        let max = geometry.num_rings as i32 - 1;
        let mut first_planes = vec![None; 2 * geometry.num_rings - 1];
        let mut first = 0;
        for segment in &geometry.segments {
            if !segment.is_spanned() {
                first_planes[(segment.min_ring_difference + max) as usize] = Some(first);
            }
            first += segment.num_axial_pos;
        }
        Self { geometry, first_planes }
    }

    /// Returns the bin of a line while the gantry is turned by `turn_rad`, in storage order.
    fn bin_of(&self, line: &CrystalLine, turn_rad: f64) -> Option<u32> {
        let g = self.geometry;
        let phi_rad = line.normal[1].atan2(line.normal[0]) + turn_rad - g.phi_rad(0);
        let num_views = g.num_views as i64;
        let view = ((phi_rad / PI * g.num_views as f64).round() as i64).rem_euclid(2 * num_views);
        // Seen from the other side the line runs the other way.
        let (view, turned) = if view < num_views { (view, 1.0) } else { (view - num_views, -1.0) };
        let tangential = (turned * line.s_mm / g.central_bin_mm()).round() as i64 + (g.num_tangential / 2) as i64;
        let [first, second] = line.rings.map(|ring| ring as i64);
        let difference = if turned > 0.0 { first - second } else { second - first };
        let first_plane = (*self.first_planes.get((difference + g.num_rings as i64 - 1) as usize)?)?;
        let plane = first_plane + first.min(second) as usize;
        let is_there = (0..g.num_tangential as i64).contains(&tangential);
        is_there.then(|| ((view as usize * g.num_tangential + tangential as usize) * g.num_planes() + plane) as u32)
    }
}

/// Counts `num_counts` coincidences while the gantry turns about an object evenly and all the way round; `decay` draws
/// the place of a decay (mm), or none. For each bin of the scanner's geometry, in storage order, how many fell into it; `None`
/// where nothing is seen.
///
/// The scan ends with its last count: the counts of a bin are as good as Poisson-distributed, their sum is as asked for.
///
/// # Errors
/// Stopped.
pub fn measure(
    coincidences: &Coincidences,
    decay: &(impl Fn(&mut Philox) -> Option<Point> + Sync),
    num_counts: u64,
    seed: u64,
    task: &Task,
) -> Result<Option<Vec<f32>>, Stopped> {
    let bins = Bins::new(&coincidences.geometry);
    // The bins that a history counts in: none nearly always, several where a photon grazes two heads.
    let follow = |history: u64| -> Vec<u32> {
        let mut random = stream(seed, history);
        let Some([x, y, z]) = decay(&mut random) else { return Vec::new() };
        let turn_rad = 2.0 * PI * uniform(&mut random);
        let (sin, cos) = turn_rad.sin_cos();
        // The gantry turns forwards, the object in its frame backwards.
        let lines: Vec<_> = coincidences.count_decay([x * cos + y * sin, y * cos - x * sin, z], &mut random).collect();
        let counted = lines.into_iter().filter(|(_, share)| uniform(&mut random) < *share);
        counted.filter_map(|(line, _)| bins.bin_of(&line, turn_rad)).collect()
    };
    Ok(count_until(num_counts, coincidences.geometry.num_bins(), task, follow)?.map(|(counts, _)| counts))
}

/// Returns the same for a ring of crystals, whose bins are its lines of response; and how many times a decay was drawn for that.
///
/// # Errors
/// Stopped.
pub fn measure_pairs(
    detector: &RingDetector,
    decay: &(impl Fn(&mut Philox) -> Option<Point> + Sync),
    num_counts: u64,
    seed: u64,
    task: &Task,
) -> Result<Option<(Vec<f32>, f64)>, Stopped> {
    let follow = |history: u64| -> Option<u32> {
        let mut random = stream(seed, history);
        let place = decay(&mut random)?;
        detector.count(place, &mut random).map(|lor| lor as u32)
    };
    count_until(num_counts, detector.ring.num_lors(), task, follow)
}

/// Simulates histories until `num_counts` counts; `follow` returns the bins that one counts in. Returns the counts, and the
/// number of histories; `None` if nothing is in view.
fn count_until<I: IntoIterator<Item = u32>>(
    num_counts: u64,
    num_bins: usize,
    task: &Task,
    follow: impl Fn(u64) -> I + Sync,
) -> Result<Option<(Vec<f32>, f64)>, Stopped> {
    let mut counts = vec![0.0f32; num_bins];
    let (mut num_counted, mut num_followed) = (0, 0);
    let mut num_used = 0.0;
    task.begin(num_counts);
    while num_counted < num_counts {
        let tasks: Vec<u64> = (num_followed..num_followed + HISTORIES_PER_BATCH).step_by(HISTORIES_PER_TASK as usize).collect();
        let found: Vec<Vec<u32>> = tasks
            .into_par_iter()
            .map(|first| {
                task.check()?;
                Ok((first..first + HISTORIES_PER_TASK).flat_map(&follow).collect())
            })
            .collect::<Result<_, Stopped>>()?;
        num_followed += HISTORIES_PER_BATCH;
        let num_before = num_counted;
        let num_found = found.iter().map(Vec::len).sum::<usize>();
        for bin in found.into_iter().flatten().take((num_counts - num_before) as usize) {
            counts[bin as usize] += 1.0;
            num_counted += 1;
        }
        task.advance(num_counted - num_before);
        // Only a part of the last batch gave the missing counts.
        let share = if num_found > 0 { (num_counted - num_before) as f64 / num_found as f64 } else { 1.0 };
        num_used += share * HISTORIES_PER_BATCH as f64;
        if num_counted == 0 && num_followed >= MAX_WITHOUT_COUNT {
            return Ok(None);
        }
    }
    Ok(Some((counts, num_used)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::montecarlo::{AnnihilationPhysics, Isotope};

    /// A cylinder beside the axis.
    const MIDDLE_MM: [f64; 2] = [8.0, -3.0];
    const RADIUS_MM: f64 = 30.0;
    const HALF_MM: f64 = 20.0;

    fn is_inside([x, y, z]: Point) -> bool {
        (x - MIDDLE_MM[0]).hypot(y - MIDDLE_MM[1]) < RADIUS_MM && z.abs() < HALF_MM
    }

    fn turned([x, y, z]: Point, turn_rad: f64) -> Point {
        let (sin, cos) = turn_rad.sin_cos();
        [x * cos - y * sin, x * sin + y * cos, z]
    }

    /// Decays drawn in the object against those drawn on lines between the heads, which the tubes are made of: by distance from the
    /// axis, ring difference, and direction as the heads see it, each pair of heads has the same expected number of counts.
    #[test]
    fn decays_in_the_object_count_as_those_on_lines_between_the_heads() {
        const NUM: [u64; 2] = [6_000_000, 400_000];
        let scanner = crate::scanner::find("vrpet").unwrap();
        let physics = AnnihilationPhysics::of(Isotope::F18);
        let coincidences = Coincidences::new(scanner.geometry.clone(), scanner.heads.clone().unwrap(), physics).unwrap();
        let box_mm3 = 4.0 * RADIUS_MM * RADIUS_MM * 2.0 * HALF_MM;
        let in_the_object = |history: u64| -> Vec<(CrystalLine, f64)> {
            let mut random = stream(41, history);
            let [x, y, z] = [0; 3].map(|_| 2.0 * uniform(&mut random) - 1.0);
            let place = [MIDDLE_MM[0] + RADIUS_MM * x, MIDDLE_MM[1] + RADIUS_MM * y, HALF_MM * z];
            let turn_rad = 2.0 * PI * uniform(&mut random);
            if !is_inside(place) {
                return Vec::new();
            }
            coincidences
                .count_decay(turned(place, -turn_rad), &mut random)
                .map(|(line, share)| (line, box_mm3 * share * coincidences.share_followed()))
                .collect()
        };
        let on_lines = |history: u64| -> Vec<(CrystalLine, f64)> {
            let mut random = stream(42, history);
            let turn_rad = 2.0 * PI * uniform(&mut random);
            let start = coincidences.start(&mut random).filter(|start| is_inside(turned(start.decay, turn_rad)));
            let counted = start.and_then(|start| Some((start, coincidences.count(&start, &mut random)?)));
            counted.map(|(start, (line, share))| (line, start.weight_mm3 * share)).into_iter().collect()
        };
        // Of each bin the sums of what histories stand for, and of its squares.
        let sums_of = |num: u64, counted: &(dyn Fn(u64) -> Vec<(CrystalLine, f64)> + Sync)| -> Vec<[f64; 2]> {
            let parts: Vec<Vec<[f64; 2]>> = (0..16)
                .into_par_iter()
                .map(|part| {
                    let mut sums = vec![[0.0; 2]; 8 * 10 * 12];
                    for (line, weight) in (part * num / 16..(part + 1) * num / 16).flat_map(counted) {
                        // Seen from the other side the line runs the other way.
                        let is_other_side = line.normal[1] < 0.0;
                        let [first, second] = if is_other_side { [1, 0] } else { [0, 1] }.map(|end: usize| line.rings[end]);
                        let s_mm = if is_other_side { -line.s_mm } else { line.s_mm };
                        let direction = line.normal[1].atan2(line.normal[0]).rem_euclid(PI) / PI * 8.0;
                        let difference = (first + 30 - second) / 6;
                        let radial = (s_mm + 48.0) / 8.0;
                        let bin = &mut sums[(direction as usize % 8 * 10 + difference) * 12 + radial as usize];
                        bin[0] += weight / num as f64;
                        bin[1] += (weight / num as f64).powi(2);
                    }
                    sums
                })
                .collect();
            (0..8 * 10 * 12).map(|bin| [0, 1].map(|i| parts.iter().map(|part| part[bin][i]).sum())).collect()
        };
        let (found, expected) = (sums_of(NUM[0], &in_the_object), sums_of(NUM[1], &on_lines));
        let total = |sums: &[[f64; 2]]| sums.iter().fold([0.0; 2], |all, bin| [all[0] + bin[0], all[1] + bin[1]]);
        let [[one, one_square], [other, other_square]] = [total(&found), total(&expected)];
        println!("{one} ± {} and {other} ± {} counts for each decay in a mm³", one_square.sqrt(), other_square.sqrt());
        assert!((one - other).abs() < 4.0 * (one_square + other_square).sqrt());
        let is_known = |[sum, square]: &[f64; 2]| sum * sum > 20.0 * square;
        let used = || found.iter().zip(&expected).filter(|(a, b)| is_known(a) && is_known(b));
        let chi_square: f64 = used().map(|(a, b)| (a[0] - b[0]).powi(2) / (a[1] + b[1])).sum();
        let num = used().count() as f64;
        assert!(num > 150.0 && (chi_square - num).abs() < 4.0 * (2.0 * num).sqrt(), "χ² {chi_square} of {num} bins");
    }
}
