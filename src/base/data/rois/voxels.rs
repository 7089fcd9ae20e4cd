//! Voxels of a region, and the part of any other voxel that lies in them.

use crate::geometry::Grid;

/// Voxels of a region, on a grid about its centre.
#[derive(Clone, Debug)]
pub struct Voxels {
    /// A grid that contains them all (origin relative to the region's centre).
    grid: Grid,
    /// Which voxels of it belong to the region, `[z, y, x]`.
    is_inside: Vec<bool>,
}

/// Compares the voxels; the same ones in memory without a look at each.
impl PartialEq for Voxels {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self, other) || (self.grid == other.grid && self.is_inside == other.is_inside)
    }
}

/// Voxels along an axis, each with the part of a stretch that lies in it.
pub(in crate::data) type Overlaps = Vec<(usize, f64)>;

impl Voxels {
    /// Largest number of voxels of the grid, so that a small file cannot request all memory.
    pub const MAX: usize = 1 << 27;

    /// Returns these voxels of a grid whose origin is relative to the region's centre; `None` if their number is not the grid's.
    pub fn new(grid: Grid, is_inside: Vec<bool>) -> Option<Self> {
        (is_inside.len() == grid.num_voxels()).then_some(Self { grid, is_inside })
    }

    /// Returns the grid, about the region's centre.
    pub fn grid(&self) -> &Grid {
        &self.grid
    }

    /// Returns for each voxel of [`Voxels::grid`] whether it belongs to the region, x fastest.
    pub fn is_inside(&self) -> &[bool] {
        &self.is_inside
    }

    /// Returns the number of voxels that belong to the region.
    pub fn num_inside(&self) -> usize {
        self.is_inside.iter().filter(|is_inside| **is_inside).count()
    }

    /// Returns the voxels scaled by `factor`.
    pub(in crate::data) fn scaled(&self, factor: f64) -> Self {
        let mut scaled = self.clone();
        scaled.grid.voxel_mm = self.grid.voxel_mm.map(|v| v * factor);
        scaled.grid.origin_mm = self.grid.origin_mm.map(|v| v * factor);
        scaled
    }

    /// Returns their image in the plane x = 0.
    pub(in crate::data) fn mirrored_x(&self) -> Self {
        let mut mirrored = self.clone();
        let last = self.grid.mm_from_voxel(self.grid.size.map(|n| n as f64 - 1.0));
        mirrored.grid.origin_mm[0] = -last[0];
        mirrored.is_inside.chunks_mut(self.grid.size[0]).for_each(<[bool]>::reverse);
        mirrored
    }

    /// Returns the part of a box that lies inside, 0 … 1, from the voxels that it meets along each axis.
    pub(in crate::data) fn part_inside(&self, [x, y, z]: [&Overlaps; 3]) -> f64 {
        let [nx, ny, _] = self.grid.size;
        let mut part = 0.0;
        for &(z, of_z) in z {
            for &(y, of_y) in y {
                let row = (z * ny + y) * nx;
                let of_row: f64 = x.iter().filter(|(x, _)| self.is_inside[row + x]).map(|(_, of_x)| of_x).sum();
                part += of_z * of_y * of_row;
            }
        }
        // Rounding must not leave slivers of neighbours for a box that equals a voxel.
        (part * STEPS_OF_PART).round() / STEPS_OF_PART
    }

    /// Returns the voxels along an axis that a stretch about a position relative to the region's centre meets, and which part of
    /// the stretch lies in each.
    pub(in crate::data) fn overlaps(&self, axis: usize, centre: f64, half_mm: f64) -> Overlaps {
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
