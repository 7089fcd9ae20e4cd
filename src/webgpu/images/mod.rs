//! Images: their copies to the screen, the voxels outside the field of view, maps between voxels, penalties on their differences, and steps
//! of algorithms that climb.

mod ascent;
pub(super) mod display;
mod penalty;
pub(super) mod unseen;
pub(super) mod voxel_map;
