//! Regions of interest: roles, shapes, outlines, and the voxels they cover.

pub mod figure;
pub mod isocontour;
pub mod mask;
pub mod masked;
pub mod oblique;
pub mod outline;
pub mod roi;
pub mod shape;
pub mod voxels;
