//! Bases of images.

use super::{Backend, BackendError, Image, VoxelPlaces};
use crate::data::Volume;
use crate::geometry::Grid;

/// A basis: an image is Σ_j x_j b_j, and an array of a back end holds the x_j. Its voxels are the values of that sum on a grid.
/// For permuted voxels the two are the same but for their order; overlapping functions are evaluated.
pub trait ImageSpace<B: Backend>: Send {
    /// Returns the number of values of an array (with any padding).
    fn len(&self) -> usize;

    /// Returns true without values.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The grid on which images are shown, measured and written.
    fn grid(&self) -> &Grid;

    /// Returns the coefficients of an image that is given by its voxels; 0 for what no datum sees.
    fn coefficients(&self, volume: &Volume) -> Vec<f32>;

    /// Returns the coefficients of the image that is 1 in the field of view: the start of a reconstruction.
    fn uniform(&self) -> Vec<f32> {
        self.coefficients(&Volume::filled(self.grid().clone(), 1.0))
    }

    /// Returns the layout of the columns along z in an array; `None` if its values are not voxels.
    fn column_layout(&self) -> Option<ColumnLayout> {
        None
    }

    /// Returns the number of values of an array of voxels; `None` where the coefficients are the voxels themselves.
    fn evaluated_len(&self) -> Option<usize> {
        None
    }

    /// `out` = the voxels of the image x. Not called if `evaluated_len` is `None`.
    ///
    /// # Errors
    /// Device failure.
    fn evaluate(&self, _backend: &mut B, _x: &B::Array<Image>, _out: &mut B::Array<Image>) -> Result<(), BackendError> {
        Ok(())
    }

    /// Returns where all voxels lie in an array; `None` if its values are not voxels.
    fn places(&self) -> Option<VoxelPlaces> {
        None
    }

    /// Where the voxel of index `voxel` in a `[z, y, x]` volume lies in an array of voxels.
    fn place(&self, voxel: usize) -> usize;

    /// Writes `scale` times such an array, read back to the host, into a volume of the grid.
    fn write(&self, voxels: &[f32], scale: f32, volume: &mut Volume);
}

/// Where the values of each (x, y) lie in an array: `width` columns lie side by side, value k of column c of a block at
/// `c + k * width`; the blocks follow each other. Values behind the last block belong to no column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ColumnLayout {
    /// Number of columns.
    pub count: usize,
    /// Values of a column.
    pub len: usize,
    /// Columns side by side.
    pub width: usize,
}

impl ColumnLayout {
    /// Place of value `k` of column `column`.
    pub fn place(&self, column: usize, k: usize) -> usize {
        column / self.width * (self.width * self.len) + column % self.width + k * self.width
    }
}
