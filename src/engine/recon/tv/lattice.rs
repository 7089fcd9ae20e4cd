//! Voxels of coupled images, and their axes.

use crate::geometry::Grid;

/// Voxels of one image of several, and what their differences weigh.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Lattice {
    /// Along x, y and z.
    pub size: [usize; 3],
    /// Weights of the differences along x, y and z; 0 along an axis that takes no part.
    pub weights: [f32; 3],
    /// Images, one of each radical or of each sample of the spectra.
    pub num_images: usize,
    /// Weight of the differences from an image to the next, of spectra; 0 = none.
    pub spectral_weight: f32,
}

impl Lattice {
    /// Returns the voxels of an image.
    pub fn num_voxels(&self) -> usize {
        self.size.iter().product()
    }

    /// Returns the axes that take part: 2 of a slice, 3 of a volume. A field of vectors has the values `[image, axis, z, y, x]`.
    pub fn num_axes(&self) -> usize {
        num_axes(self.size)
    }

    /// Returns true if differences from an image to the next take part. They follow the vectors in a field, `[image, z, y, x]`.
    pub fn has_spectral_axis(&self) -> bool {
        self.spectral_weight > 0.0
    }

    /// Returns the values of a field.
    pub fn field_len(&self) -> usize {
        (self.num_axes() + usize::from(self.has_spectral_axis())) * self.num_images * self.num_voxels()
    }
}

/// Returns the axes that take part in an image of this size: 2 of a slice, 3 of a volume.
pub fn num_axes(size: [usize; 3]) -> usize {
    if size[2] == 1 { 2 } else { 3 }
}

/// Returns the length of an edge of a voxel, mm: of unequal edges their geometric mean.
pub(super) fn edge_mm(grid: &Grid) -> f64 {
    voxel_volume(grid).powf(1.0 / num_axes(grid.size) as f64)
}

/// Returns what differences along each axis weigh: 1 of cubes, more along short edges, so that it is a gradient.
pub(super) fn weights(grid: &Grid) -> [f32; 3] {
    let edge = edge_mm(grid);
    std::array::from_fn(|axis| if grid.size[axis] > 1 { (edge / grid.voxel_mm[axis]) as f32 } else { 0.0 })
}

/// Returns δ^d, mm² of a slice and mm³ of a volume.
pub(super) fn voxel_volume(grid: &Grid) -> f64 {
    grid.voxel_mm[..num_axes(grid.size)].iter().product()
}
