//! Regions that an isocontour of the image bounds: the voxels that hang together with a maximum, face to face, and reach a part
//! of it.
//!
//! The threshold is a fixed value, or t = b + p (M − b), with the maximum M of the voxels in a ball about the seed and a part p of
//! it that is counted from 0 (b = 0) or from the background's mean. For FDG 41 % and 50 % of the maximum are in use (Boellaard et al.
//! 2015, EANM procedure guidelines for tumour imaging, version 2.0), and 50 % above the background.

use super::connected::connected;
use crate::coded::coded;
use crate::data::{ContourThreshold, Isocontour, IsocontourRecipe, Roi, RoiMask, RoiShape, Volume, Voxels};
use crate::geometry::{Grid, Point};

/// Reason why there is no isocontour.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum NoIsocontour {
    /// No voxel with a number in which the maximum is searched.
    #[error("the region in which the maximum is searched lies outside the image")]
    Outside,
    /// Nothing rises above what counts as 0 %.
    #[error("the maximum, {maximum:.4}, is not above {zero:.4}, from which the threshold is counted")]
    NoMaximum {
        /// The largest value in the ball.
        maximum: f32,
        /// The value that counts as 0 %.
        zero: f64,
    },
    /// Not between 0 and 100 %.
    #[error("invalid threshold {0} %: it must be more than 0 and at most 100 % of the maximum")]
    Percent(f64),
    /// A fixed threshold that is no number.
    #[error("invalid threshold {0}: expected a number")]
    Value(f64),
    /// Voxels without a finite number.
    #[error("it has voxels without a finite number")]
    NotFinite,
    /// Nothing reaches a fixed threshold.
    #[error("the maximum, {maximum:.4}, is below the threshold of {threshold:.4}")]
    Below {
        /// The largest value.
        maximum: f32,
        /// The threshold.
        threshold: f64,
    },
}

coded!(NoIsocontour = "isocontour");

/// Returns the isocontour about the largest value in a ball, by a recipe.
///
/// # Errors
/// The ball lies outside the image, nothing in it is above the zero of the threshold or reaches it, or the threshold is invalid.
pub fn isocontour(volume: &Volume, centre_mm: Point, recipe: IsocontourRecipe) -> Result<Isocontour, NoIsocontour> {
    let grid = &volume.grid;
    let Above { threshold, voxels } = voxels_above(volume, &seed(grid, centre_mm, recipe), recipe.threshold, |_| true)?;
    let [nx, ny, _] = grid.size;
    let found: Vec<[usize; 3]> = voxels.into_iter().map(|index| [index % nx, index / nx % ny, index / (nx * ny)]).collect();
    let voxels = smallest_part(grid, &found, centre_mm).ok_or(NoIsocontour::Outside)?;
    Ok(Isocontour { recipe, threshold, voxels })
}

/// Returns the ball about a point in which the maximum is searched.
pub(super) fn seed(grid: &Grid, centre_mm: Point, recipe: IsocontourRecipe) -> RoiMask {
    Roi::new("", RoiShape::Sphere { radius_mm: recipe.seed_radius_mm }, centre_mm).mask(grid)
}

/// Voxels about a maximum.
pub(super) struct Above {
    /// The value that they reach.
    pub threshold: f64,
    /// Their indices, the maximum first.
    pub voxels: Vec<usize>,
}

/// Returns the voxels that reach a threshold and are connected with the largest value of a seed, of those that may belong to them.
///
/// # Errors
/// As [`isocontour`].
pub(super) fn voxels_above(
    volume: &Volume,
    seed: &RoiMask,
    threshold: ContourThreshold,
    may_belong: impl Fn(usize) -> bool,
) -> Result<Above, NoIsocontour> {
    let zero = match threshold {
        ContourThreshold::OfMaximum { percent, .. } if !(percent > 0.0 && percent <= 100.0) => {
            return Err(NoIsocontour::Percent(percent));
        }
        ContourThreshold::OfMaximum { background, .. } => Some(background.unwrap_or(0.0)),
        ContourThreshold::Value(value) if !value.is_finite() => return Err(NoIsocontour::Value(value)),
        ContourThreshold::Value(_) => None,
    };
    let values = volume.as_slice();
    let top = largest(values, seed).ok_or(NoIsocontour::Outside)?;
    let maximum = values[top];
    let threshold = threshold.value(f64::from(maximum));
    match zero {
        Some(zero) if !(f64::from(maximum) > zero && threshold.is_finite()) => {
            return Err(NoIsocontour::NoMaximum { maximum, zero });
        }
        None if f64::from(maximum) < threshold => return Err(NoIsocontour::Below { maximum, threshold }),
        _ => {}
    }
    let mut is_seen = vec![false; values.len()];
    // Rounding may put the threshold of 100 % above the maximum.
    let belongs = |index: usize| index == top || (f64::from(values[index]) >= threshold && may_belong(index));
    let take = |index: usize| belongs(index) && !std::mem::replace(&mut is_seen[index], true);
    Ok(Above { threshold, voxels: connected(volume.grid.size, top, take) })
}

/// Returns the index of the largest finite value of a region; `None` without any.
pub(super) fn largest(values: &[f32], region: &RoiMask) -> Option<usize> {
    let indices = region.voxels.iter().map(|(index, _)| *index as usize).filter(|index| values[*index].is_finite());
    indices.max_by(|a, b| values[*a].total_cmp(&values[*b]))
}

/// Returns some voxels of a grid on its smallest part that contains them, its origin relative to a point.
fn smallest_part(grid: &Grid, found: &[[usize; 3]], about_mm: Point) -> Option<Voxels> {
    let end = |a: usize, of: fn(usize, usize) -> usize| found.iter().map(|voxel| voxel[a]).reduce(of).unwrap_or_default();
    let low: [usize; 3] = std::array::from_fn(|a| end(a, usize::min));
    let size: [usize; 3] = std::array::from_fn(|a| end(a, usize::max) + 1 - low[a]);
    let first = grid.mm_from_voxel(low.map(|i| i as f64));
    let part = Grid { size, voxel_mm: grid.voxel_mm, origin_mm: std::array::from_fn(|a| first[a] - about_mm[a]) };
    let mut is_inside = vec![false; part.num_voxels()];
    for voxel in found {
        let [x, y, z] = std::array::from_fn(|a| voxel[a] - low[a]);
        is_inside[(z * size[1] + y) * size[0] + x] = true;
    }
    Voxels::new(part, is_inside)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    /// Two cones of height 10 at x = ∓8 mm, each value 10 − distance, on a background of 2; between them it falls to it.
    fn cones() -> Volume {
        let mut volume = Volume::filled(Grid::centred([33, 17, 17], [1.0; 3]).unwrap(), 0.0);
        let grid = volume.grid.clone();
        for ((z, y, x), value) in volume.values.indexed_iter_mut() {
            let [x, y, z] = grid.mm_from_voxel([x as f64, y as f64, z as f64]);
            let distance = (x.abs() - 8.0).hypot(y).hypot(z);
            *value = (10.0 - distance).max(2.0) as f32;
        }
        volume
    }

    fn recipe(percent: f64, background: Option<f64>) -> IsocontourRecipe {
        IsocontourRecipe { threshold: ContourThreshold::OfMaximum { percent, background }, seed_radius_mm: 4.0 }
    }

    #[test]
    fn a_fixed_threshold_is_that_of_every_maximum() {
        let volume = cones();
        let fixed = |value| IsocontourRecipe { threshold: ContourThreshold::Value(value), seed_radius_mm: 4.0 };
        let found = isocontour(&volume, [-7.0, 1.0, 0.0], fixed(7.0)).unwrap();
        let of_maximum = isocontour(&volume, [-7.0, 1.0, 0.0], recipe(70.0, None)).unwrap();
        assert_eq!((found.threshold, found.voxels), (7.0, of_maximum.voxels));
        let below = isocontour(&volume, [-7.0, 1.0, 0.0], fixed(10.5));
        assert_eq!(below, Err(NoIsocontour::Below { maximum: 10.0, threshold: 10.5 }));
        assert!(matches!(isocontour(&volume, [0.0; 3], fixed(f64::NAN)), Err(NoIsocontour::Value(_))));
    }

    #[test]
    fn voxels_are_those_about_the_nearer_maximum_that_reach_the_threshold() {
        let volume = cones();
        let centre_mm = [-7.0, 1.0, 0.0];
        for (percent, background, radius, threshold) in
            [(70.0, None, 3.0, 7.0), (50.0, Some(2.0), 4.0, 6.0), (100.0, None, 0.0, 10.0)]
        {
            let found = isocontour(&volume, centre_mm, recipe(percent, background)).unwrap();
            assert!((found.threshold - threshold).abs() < 1e-12, "{found:?}");
            let mask = Roi::new("", RoiShape::Isocontour(Arc::new(found)), centre_mm).mask(&volume.grid);
            let expected: Vec<u32> = (0..volume.grid.num_voxels() as u32)
                .filter(|index| {
                    let [x, y, z] = [index % 33, index / 33 % 17, index / 561].map(f64::from);
                    // The other cone reaches the threshold too, but is not connected.
                    x < 16.0 && (x - 8.0).hypot(y - 8.0).hypot(z - 8.0) <= radius + 1e-6
                })
                .collect();
            assert_eq!(mask.voxels.iter().map(|(index, _)| *index).collect::<Vec<_>>(), expected, "{percent} %");
            assert!(mask.voxels.iter().all(|(_, weight)| *weight == 1.0));
        }
    }

    #[test]
    fn failures_have_reasons() {
        let volume = cones();
        assert_eq!(isocontour(&volume, [99.0, 0.0, 0.0], recipe(50.0, None)), Err(NoIsocontour::Outside));
        let flat = Volume::filled(volume.grid.clone(), 0.0);
        assert_eq!(isocontour(&flat, [0.0; 3], recipe(50.0, None)), Err(NoIsocontour::NoMaximum { maximum: 0.0, zero: 0.0 }));
        let above = isocontour(&volume, [-8.0, 0.0, 0.0], recipe(50.0, Some(11.0)));
        assert_eq!(above, Err(NoIsocontour::NoMaximum { maximum: 10.0, zero: 11.0 }));
        for percent in [0.0, -1.0, 101.0, f64::NAN] {
            assert!(matches!(isocontour(&volume, [0.0; 3], recipe(percent, None)), Err(NoIsocontour::Percent(_))));
        }
    }
}
