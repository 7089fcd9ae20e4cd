//! Images: their copies to the screen, the voxels outside the field of view, maps between voxels, and penalties on their differences.

pub(super) mod display;
mod penalty;
pub(super) mod unseen;
pub(super) mod voxel_map;
