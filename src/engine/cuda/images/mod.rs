//! Images: maps between voxels, penalties on their differences, steps of algorithms that climb, total variation, and fits of
//! relaxation rates.

mod ascent;
pub(super) mod convolution;
mod penalty;
pub(super) mod spectral_convolution;
pub(super) mod variation;
pub(super) mod voxel_fits;
pub(super) mod voxel_map;
