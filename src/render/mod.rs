//! Pictures of volumes on the graphics adapter: textures and pipelines made from a borrowed device and queue.
//!
//! A volume is one R32Float 3D texture, of which a few are held side by side ([`VolumeSlot`]); a slice is a rectangle in its
//! viewport, whose fragments read one or two of them with `textureLoad` (shaders/slice.wgsl). Nothing here knows a window.

mod adapter;
mod dicom_palettes;
mod offscreen;
mod palette;
mod picture;
mod pipeline;
mod slice;
mod slice_view;
mod volume;

pub use adapter::{AdapterSummary, device_descriptor, is_software};
pub use dicom_palettes::NUM_COLOURS;
pub use offscreen::Offscreen;
pub use palette::Palette;
pub use pipeline::TargetFormat;
pub use slice::{NUM_VIEWS, SliceRenderer};
pub use slice_view::{Combination, Content, Interpolation, Slab, SliceView, WHOLE_WIDTH};
pub use volume::{RenderError, VolumeSlot};
