//! A phantom as data: solids with an activity and an attenuation, the later ones replacing the earlier ones where they
//! overlap, and its exact integrals along lines.

use rayon::prelude::*;

use super::solid::{Interval, Solid};
use crate::data::{Notice, Roi, Unit, Volume};
use crate::geometry::{Grid, Line};
use crate::task::{Stopped, Task};

/// Content of a solid.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Material {
    /// Activity, relative to the phantom's background (1).
    pub activity: f64,
    /// Linear attenuation coefficient at 511 keV, 1/mm.
    pub mu_per_mm: f64,
}

/// A solid and what fills it.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    /// Where it is.
    pub solid: Solid,
    /// Its material.
    pub material: Material,
}

/// A phantom.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Phantom {
    /// Name on the command line.
    pub name: String,
    /// Name for people.
    pub title: String,
    /// Its parts; where several overlap the last one counts. Around them is nothing.
    pub parts: Vec<Part>,
    /// Regions in which it is measured.
    pub rois: Vec<Roi>,
    /// Notices for the user.
    pub notices: Vec<Notice>,
    /// Its size relative to the usual one: below 1 where it was made smaller to fit a scanner.
    pub size: f64,
}

/// Integrals along one line.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LineIntegrals {
    /// Integral of the activity, mm.
    pub activity_mm: f64,
    /// Integral of the attenuation coefficient: the line keeps exp(−attenuation) of its photon pairs.
    pub attenuation: f64,
}

/// A stretch of a line in one material.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Stretch {
    /// From and to, as fractions of the line.
    pub(super) t: Interval,
    /// Its material.
    pub(super) material: Material,
}

/// Turns overlapping stretches, the later ones above the earlier ones, into disjoint ones in the line's order;
/// neighbours of one material become one.
pub(super) fn flatten(stack: &[Stretch], cuts: &mut Vec<f64>, flat: &mut Vec<Stretch>) {
    flat.clear();
    if let [only] = stack {
        flat.push(*only);
        return;
    }
    cuts.clear();
    cuts.extend(stack.iter().flat_map(|stretch| stretch.t));
    cuts.sort_unstable_by(f64::total_cmp);
    cuts.dedup();
    for pair in cuts.windows(2) {
        let t = [pair[0], pair[1]];
        let Some(top) = stack.iter().rev().find(|stretch| stretch.t[0] <= t[0] && t[1] <= stretch.t[1]) else { continue };
        match flat.last_mut() {
            Some(last) if last.t[1] == t[0] && last.material == top.material => last.t[1] = t[1],
            _ => flat.push(Stretch { t, material: top.material }),
        }
    }
}

/// Lines along x that a voxel's value is the mean over, along y and along z.
const LINES_PER_VOXEL_SIDE: usize = 4;
const MM_PER_CM: f64 = 10.0;

impl Phantom {
    /// Returns the stretches of a line through the phantom, in the line's order.
    pub(super) fn stretches(&self, line: &Line) -> Vec<Stretch> {
        let stretch = |part: &Part| part.solid.interval(line).map(|t| Stretch { t, material: part.material });
        let stack: Vec<Stretch> = self.parts.iter().filter_map(stretch).collect();
        let mut flat = Vec::new();
        flatten(&stack, &mut Vec::new(), &mut flat);
        flat
    }

    /// Returns the exact integrals along a line segment.
    pub fn line_integrals(&self, line: &Line) -> LineIntegrals {
        let length = line.length_mm();
        self.stretches(line).iter().fold(LineIntegrals::default(), |sum, stretch| {
            let chord_mm = (stretch.t[1] - stretch.t[0]) * length;
            LineIntegrals {
                activity_mm: sum.activity_mm + chord_mm * stretch.material.activity,
                attenuation: sum.attenuation + chord_mm * stretch.material.mu_per_mm,
            }
        })
    }

    /// Returns the phantom with its regions farther along z, as on a bed that was moved.
    pub fn raised(mut self, by_mm: f64) -> Self {
        self.parts = self.parts.into_iter().map(|part| Part { solid: part.solid.raised(by_mm), ..part }).collect();
        self.rois.iter_mut().for_each(|roi| roi.centre_mm[2] += by_mm);
        self
    }

    /// Returns the material at a point.
    pub fn material_at(&self, point: crate::geometry::Point) -> Material {
        self.parts.iter().rev().find(|part| part.solid.contains(point)).map(|part| part.material).unwrap_or_default()
    }

    /// Returns the activity times `scale` on a grid: every voxel the mean over 4 × 4 lines along x through it, exact along each.
    /// On all cores.
    ///
    /// # Errors
    /// Stopped.
    pub fn truth(&self, grid: &Grid, scale: f64, task: &Task) -> Result<Volume, Stopped> {
        self.sampled(grid, Unit::CountsPerMm, |material| scale * material.activity, task)
    }

    /// Returns its linear attenuation coefficients, 1/cm, on a grid, likewise.
    ///
    /// # Errors
    /// Stopped.
    pub fn attenuation(&self, grid: &Grid, task: &Task) -> Result<Volume, Stopped> {
        self.sampled(grid, Unit::PerCm, |material| MM_PER_CM * material.mu_per_mm, task)
    }

    fn sampled(
        &self,
        grid: &Grid,
        unit: Unit,
        value_of: impl Fn(&Material) -> f64 + Sync,
        task: &Task,
    ) -> Result<Volume, Stopped> {
        let mut sampled = Volume { unit, ..Volume::filled(grid.clone(), 0.0) };
        let [num_x, num_y, _] = grid.size;
        let weight = 1.0 / (LINES_PER_VOXEL_SIDE * LINES_PER_VOXEL_SIDE) as f64;
        let offset = |k: usize| (k as f64 + 0.5) / LINES_PER_VOXEL_SIDE as f64 - 0.5;
        sampled.as_mut_slice().par_chunks_mut(num_x).enumerate().try_for_each(|(row, values)| {
            task.check()?;
            let (y, z) = ((row % num_y) as f64, (row / num_y) as f64);
            let mut sums = vec![0.0; num_x];
            for k in 0..LINES_PER_VOXEL_SIDE {
                for j in 0..LINES_PER_VOXEL_SIDE {
                    let start = grid.mm_from_voxel([-0.5, y + offset(j), z + offset(k)]);
                    let end = grid.mm_from_voxel([num_x as f64 - 0.5, y + offset(j), z + offset(k)]);
                    for stretch in self.stretches(&Line { start, end }) {
                        deposit(&mut sums, stretch.t, value_of(&stretch.material));
                    }
                }
            }
            for (value, sum) in values.iter_mut().zip(&sums) {
                *value = (weight * sum) as f32;
            }
            Ok(())
        })?;
        Ok(sampled)
    }
}

/// Adds `value` to a row of voxels over the fraction `t` of the row; partly covered voxels get their share.
fn deposit(row: &mut [f64], t: Interval, value: f64) {
    if value == 0.0 {
        return;
    }
    let num = row.len() as f64;
    let [from, to] = t.map(|v| (v * num).clamp(0.0, num));
    let first = from as usize;
    let last = (to.ceil() as usize).min(row.len());
    for (index, sum) in row.iter_mut().enumerate().take(last).skip(first) {
        let covered = to.min(index as f64 + 1.0) - from.max(index as f64);
        *sum += value * covered;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(solid: Solid, activity: f64) -> Part {
        Part { solid, material: Material { activity, mu_per_mm: 0.01 * activity } }
    }

    fn phantom(parts: Vec<Part>) -> Phantom {
        Phantom { name: String::new(), title: String::new(), parts, rois: Vec::new(), notices: Vec::new(), size: 1.0 }
    }

    #[test]
    fn later_parts_replace_earlier_ones() {
        let parts = vec![
            part(Solid::ball([0.0; 3], 10.0), 1.0),
            part(Solid::ball([0.0; 3], 4.0), 0.0),
            part(Solid::ball([8.0, 0.0, 0.0], 4.0), 5.0),
        ];
        let line = Line { start: [-50.0, 0.0, 0.0], end: [50.0, 0.0, 0.0] };
        // −10 … −4 of 1, −4 … 4 of 0, 4 … 12 of 5.
        let integrals = phantom(parts.clone()).line_integrals(&line);
        assert!((integrals.activity_mm - (6.0 + 40.0)).abs() < 1e-12);
        assert!((integrals.attenuation - 0.46).abs() < 1e-12);
        assert_eq!(phantom(parts.clone()).material_at([9.0, 0.0, 0.0]).activity, 5.0);
        // The other way round the large ball hides both, but for what sticks out.
        let integrals = phantom(parts.into_iter().rev().collect()).line_integrals(&line);
        assert!((integrals.activity_mm - (20.0 + 2.0 * 5.0)).abs() < 1e-12);
    }

    #[test]
    fn a_raised_phantom_is_the_same_farther_up() {
        let parts = vec![part(Solid::cylinder([1.0, 2.0], 9.0, [-4.0, 6.0]), 1.0), part(Solid::ball([3.0, 0.0, 5.0], 4.0), 5.0)];
        let (here, raised) = (phantom(parts.clone()), phantom(parts).raised(7.5));
        let points = (0..400).map(|k| [f64::from(k % 20) - 9.5, f64::from(k % 7) - 3.0, f64::from(k) * 0.05 - 10.0]);
        let activity = |phantom: &Phantom, at| phantom.material_at(at).activity;
        let all: Vec<f64> = points.clone().map(|at| activity(&here, at)).collect();
        assert_eq!(points.map(|[x, y, z]| activity(&raised, [x, y, z + 7.5])).collect::<Vec<_>>(), all);
        assert!([0.0, 1.0, 5.0].iter().all(|value| all.contains(value)));
    }

    #[test]
    fn the_truth_holds_the_activity_and_its_place() {
        let phantom = phantom(vec![part(Solid::ball([4.0, -3.0, 2.0], 9.0), 2.0)]);
        let grid = Grid::centred([31, 30, 29], [1.0, 1.1, 0.9]).unwrap();
        let truth = phantom.truth(&grid, 3.0, &Task::new()).unwrap();
        let integral = truth.sum() * grid.voxel_ml() * 1e3;
        let expected = 6.0 * 4.0 / 3.0 * std::f64::consts::PI * 729.0;
        assert!((integral / expected - 1.0).abs() < 1e-3, "{integral} is not {expected}");
        let centre = grid.voxel_from_mm([4.0, -3.0, 2.0]).map(|v| v.round() as usize);
        assert_eq!(truth.values[[centre[2], centre[1], centre[0]]], 6.0);
        assert_eq!(truth.values[[0, 0, 0]], 0.0);
    }
}
