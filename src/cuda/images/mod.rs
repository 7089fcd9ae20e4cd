//! Images: maps between voxels, penalties on their differences, steps of algorithms that climb, and total variation.

mod ascent;
mod penalty;
mod variation;
pub(super) mod voxel_map;
