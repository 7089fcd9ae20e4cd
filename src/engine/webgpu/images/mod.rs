//! Images: their copies to the screen, the voxels outside the field of view, maps between voxels, penalties on their differences,
//! convolutions, and steps of algorithms that climb or use total variation.

mod ascent;
pub(super) mod convolution;
pub(super) mod display;
mod penalty;
pub(super) mod spectral_convolution;
pub(super) mod unseen;
mod variation;
pub(super) mod voxel_map;
