//! Pictures of volumes on the graphics adapter: textures and pipelines made from a borrowed device and queue.
//!
//! A volume is one R32Float 3D texture; a slice is a triangle that covers its viewport, whose fragments read the
//! texture with `textureLoad` (shaders/slice.wgsl). Nothing here knows a window.

mod palette;
mod slice;

pub use palette::{NUM_COLOURS, Palette};
pub use slice::{Interpolation, NUM_SLOTS, RenderError, SliceRenderer, SliceView, TargetFormat, device_descriptor, is_software};
