//! The egui paint callback that lets the slice renderer draw into the window's own render pass.

use eframe::egui_wgpu::{CallbackResources, CallbackTrait, RenderState, ScreenDescriptor};
use egui::{Color32, Rect};

use super::view::SliceGeometry;
use crate::geometry::Grid;
use crate::render::{Content, Interpolation, RenderError, SliceRenderer, SliceView, VolumeSlot, WHOLE_WIDTH};
use crate::ui::widgets::colouring::Colouring;

/// A slice to draw.
pub struct SlicePaint {
    /// Place among the slices of the frame.
    pub index: usize,
    /// What it shows.
    pub view: SliceView,
}

impl CallbackTrait for SlicePaint {
    fn prepare(
        &self,
        device: &wgpu::Device,
        queue: &wgpu::Queue,
        _screen: &ScreenDescriptor,
        _encoder: &mut wgpu::CommandEncoder,
        resources: &mut CallbackResources,
    ) -> Vec<wgpu::CommandBuffer> {
        if let Some(renderer) = resources.get_mut::<SliceRenderer>() {
            renderer.set_view(device, queue, self.index, &self.view);
        }
        Vec::new()
    }

    fn paint(&self, _info: egui::PaintCallbackInfo, pass: &mut wgpu::RenderPass<'static>, resources: &CallbackResources) {
        if let Some(renderer) = resources.get::<SliceRenderer>() {
            renderer.draw(pass, self.index);
        }
    }
}

/// What the visible part of a slice of the first volume, which has this grid, shows.
pub fn slice_view(
    slice: &SliceGeometry,
    visible: Rect,
    grid: &Grid,
    colouring: &Colouring,
    interpolation: Interpolation,
    outside: Color32,
) -> SliceView {
    let ([a, b], _) = slice.plane.axes();
    let side = |axis: usize, points: f32| {
        let mut way = [0.0; 3];
        way[axis] = (f64::from(points) / slice.scale / grid.voxel_mm[axis]) as f32;
        way
    };
    SliceView {
        content: Content::Volume(VolumeSlot::First),
        interpolation,
        corner: grid.voxel_from_mm(slice.mm_from_screen(visible.min)).map(|v| v as f32),
        across: side(a, visible.width()),
        down: side(b, visible.height()),
        slab: None,
        window: colouring.window,
        palette: colouring.palette,
        outside: [outside.r(), outside.g(), outside.b()].map(|c| f32::from(c) / 255.0),
        part: WHOLE_WIDTH,
    }
}

/// Makes the renderer for a window; to be called once.
pub fn install(state: &RenderState) {
    let renderer = SliceRenderer::new(&state.device, &state.queue, state.target_format);
    state.renderer.write().callback_resources.insert(renderer);
}

/// Sends a volume to the adapter.
///
/// # Errors
/// Larger than the adapter can hold.
pub fn upload(state: &RenderState, slot: VolumeSlot, size: [usize; 3], values: &[f32]) -> Result<(), RenderError> {
    match state.renderer.write().callback_resources.get_mut::<SliceRenderer>() {
        Some(renderer) => renderer.upload(&state.device, &state.queue, slot, size, values),
        None => Ok(()),
    }
}
