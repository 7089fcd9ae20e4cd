//! Images: maps between voxels, and penalties on their differences.

mod penalty;
pub(super) mod voxel_map;
