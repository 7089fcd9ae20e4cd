//! Images: their copies to the screen, the voxels outside the field of view, and maps between voxels.

pub(super) mod display;
pub(super) mod unseen;
pub(super) mod voxel_map;
