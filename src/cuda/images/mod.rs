//! Images: maps between voxels, penalties on their differences, steps of algorithms that climb, and total variation.

mod ascent;
mod penalty;
pub(super) mod variation;
pub(super) mod voxel_map;
