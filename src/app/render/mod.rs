//! Pictures of volumes on the graphics adapter: textures and pipelines made from a borrowed device and queue.
//!
//! A volume is one R32Float 3D texture in a [`VolumeSlot`]. A slice is a rectangle in its viewport; its fragments read one or two
//! volumes with `textureLoad` (shaders/slice.wgsl). This module is independent of windows.

mod adapter;
mod dicom_palettes;
mod offscreen;
mod palette;
mod picture;
mod pipeline;
mod slice;
mod slice_view;
mod volume;

pub use adapter::{AdapterSummary, is_software};
pub use dicom_palettes::NUM_COLOURS;
pub use offscreen::Offscreen;
pub use palette::Palette;
pub use pipeline::TargetFormat;
pub use slice::{NUM_VIEWS, SliceRenderer};
pub use slice_view::{Combination, Content, Interpolation, Slab, SliceView};
pub use volume::{MAX_AT_ONCE_BYTES, MAX_PART_BYTES, RenderError, VolumeSlot, VoxelValues};
