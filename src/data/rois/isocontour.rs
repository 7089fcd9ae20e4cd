//! An isocontour: the voxels around a maximum above a threshold, frozen when they are found.
//!
//! Its voxels depend on the image. So that a region is the same on every iterate, they are frozen together with their recipe;
//! `measure::isocontour` finds them.

use crate::geometry::{Grid, Point};

/// Threshold of an isocontour.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ContourThreshold {
    /// A part of the maximum, counted from the background.
    OfMaximum {
        /// The part, %.
        percent: f64,
        /// The value that counts as 0 %: the background's mean, or `None` for 0 itself.
        background: Option<f64>,
    },
    /// A fixed value, in the unit of the image.
    Value(f64),
}

impl ContourThreshold {
    /// Returns the threshold at a part of the maximum, counted from 0.
    pub fn percent(percent: f64) -> Self {
        Self::OfMaximum { percent, background: None }
    }

    /// Returns the value that a voxel must reach.
    pub fn value(self, maximum: f64) -> f64 {
        match self {
            Self::OfMaximum { percent, background } => {
                let zero = background.unwrap_or(0.0);
                zero + percent / 100.0 * (maximum - zero)
            }
            Self::Value(value) => value,
        }
    }
}

/// Recipe of an isocontour: voxels connected with the maximum within a ball, and not below a threshold.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct IsocontourRecipe {
    /// The threshold.
    pub threshold: ContourThreshold,
    /// Radius of the ball in which the maximum is searched, mm.
    pub seed_radius_mm: f64,
}

/// The voxels that an isocontour encloses.
#[derive(Clone, Debug, PartialEq)]
pub struct Isocontour {
    /// Its recipe.
    pub recipe: IsocontourRecipe,
    /// The value that its voxels reached, in the unit of the image.
    pub threshold: f64,
    /// The smallest part of the image's grid that holds all its voxels, about the centre of the region (origin relative to it).
    grid: Grid,
    /// Which voxels of it belong to it, `[z, y, x]`.
    is_inside: Vec<bool>,
}

impl Isocontour {
    /// Returns an isocontour of these voxels of a grid whose origin is relative to the region's centre; `None` if their number is
    /// not the grid's.
    pub fn new(recipe: IsocontourRecipe, threshold: f64, grid: Grid, is_inside: Vec<bool>) -> Option<Self> {
        (is_inside.len() == grid.num_voxels()).then_some(Self { recipe, threshold, grid, is_inside })
    }

    /// Returns the voxels that it was found on, about the region's centre.
    pub fn grid(&self) -> &Grid {
        &self.grid
    }

    /// Returns for each voxel of [`Isocontour::grid`] whether it belongs to the isocontour, x fastest.
    pub fn is_inside(&self) -> &[bool] {
        &self.is_inside
    }

    /// Returns it scaled by `factor`.
    pub(in crate::data) fn scaled(&self, factor: f64) -> Self {
        let mut scaled = self.clone();
        scaled.grid.voxel_mm = self.grid.voxel_mm.map(|v| v * factor);
        scaled.grid.origin_mm = self.grid.origin_mm.map(|v| v * factor);
        scaled.recipe.seed_radius_mm *= factor;
        scaled
    }

    /// Returns its image in the plane x = 0.
    pub(in crate::data) fn mirrored_x(&self) -> Self {
        let mut mirrored = self.clone();
        let last = self.grid.mm_from_voxel(self.grid.size.map(|n| n as f64 - 1.0));
        mirrored.grid.origin_mm[0] = -last[0];
        mirrored.is_inside.chunks_mut(self.grid.size[0]).for_each(<[bool]>::reverse);
        mirrored
    }

    /// Returns the part of a box that lies inside, 0 … 1; its centre is relative to the region's, its half sides are in mm.
    pub(in crate::data) fn part_inside(&self, centre: Point, half_mm: [f64; 3]) -> f64 {
        let [x, y, z] = std::array::from_fn(|a| self.overlaps(a, centre[a], half_mm[a]));
        let [nx, ny, _] = self.grid.size;
        let mut part = 0.0;
        for &(z, of_z) in &z {
            for &(y, of_y) in &y {
                let row = (z * ny + y) * nx;
                let of_row: f64 = x.iter().filter(|(x, _)| self.is_inside[row + x]).map(|(_, of_x)| of_x).sum();
                part += of_z * of_y * of_row;
            }
        }
        // Rounding must not leave slivers of neighbours for a box that equals a voxel.
        (part * STEPS_OF_PART).round() / STEPS_OF_PART
    }

    /// Returns the voxels along an axis that a stretch meets, and which part of the stretch lies in each.
    fn overlaps(&self, axis: usize, centre: f64, half_mm: f64) -> Vec<(usize, f64)> {
        let voxel_mm = self.grid.voxel_mm[axis];
        // In voxels from the lower face of the first.
        let [low, high] = [-half_mm, half_mm].map(|end| (centre + end - self.grid.origin_mm[axis]) / voxel_mm + 0.5);
        let last = self.grid.size[axis] as f64;
        if !(high > 0.0 && low < last) {
            return Vec::new();
        }
        let first = low.max(0.0) as usize;
        let end = high.min(last).ceil() as usize;
        let part = |k: usize| (high.min(k as f64 + 1.0) - low.max(k as f64)).max(0.0) / (high - low);
        (first..end).map(|k| (k, part(k))).collect()
    }
}

/// Number of steps to which parts of a voxel are rounded.
const STEPS_OF_PART: f64 = 65_536.0;
