//! Images: maps between voxels, penalties on their differences, and steps of algorithms that climb.

mod ascent;
mod penalty;
pub(super) mod voxel_map;
