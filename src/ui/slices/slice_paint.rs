//! The egui paint callback that lets the slice renderer draw into the window's own render pass, and what it is told to draw.

use eframe::egui_wgpu::{Callback, CallbackResources, CallbackTrait, RenderState, Renderer, ScreenDescriptor};
use egui::{Color32, Rect};

use super::rotatable_view::{RotatableContent, TurnedGeometry, num_samples_through, sample_distance_mm};
use super::view::{SliceGeometry, ViewState};
use crate::geometry::{Grid, Point};
use crate::render::{
    Combination, Content, Interpolation, RenderError, Slab, SliceRenderer, SliceView, TargetFormat, VolumeSlot, WHOLE_WIDTH,
    is_software,
};
use crate::ui::widgets::colour_scale::ColourScale;

/// Pixels of a projection that the processor draws, some tens of milliseconds for a usual image.
const SOFTWARE_PIXELS: f32 = 12_000.0;
/// The same while it is being turned.
const SOFTWARE_PIXELS_IN_MOTION: f32 = 6_000.0;

/// What draws.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Adapter {
    /// A graphics adapter.
    Hardware,
    /// The processor.
    Software,
}

impl Adapter {
    /// Which of them this is.
    pub fn of(adapter: &wgpu::Adapter) -> Self {
        if is_software(adapter) { Self::Software } else { Self::Hardware }
    }
}

/// How values are shown.
#[derive(Clone, Copy)]
pub struct Look<'a> {
    /// Which of the volumes on the adapter.
    pub volume: VolumeSlot,
    /// Interpolation, thickness, …
    pub view: &'a ViewState,
    /// Palette and window.
    pub colouring: &'a ColourScale,
    /// Colour outside the image.
    pub outside: Color32,
}

/// A view of the image to draw.
struct SlicePaint {
    /// Place among the views of the frame.
    index: usize,
    /// What it shows.
    view: SliceView,
    /// Size of the picture in pixels of which it is a copy, made anew only when it changes; else it is drawn in each frame.
    kept: Option<[u32; 2]>,
}

impl CallbackTrait for SlicePaint {
    fn prepare(
        &self,
        device: &wgpu::Device,
        queue: &wgpu::Queue,
        _screen: &ScreenDescriptor,
        encoder: &mut wgpu::CommandEncoder,
        resources: &mut CallbackResources,
    ) -> Vec<wgpu::CommandBuffer> {
        if let Some(renderer) = resources.get_mut::<SliceRenderer>() {
            match self.kept {
                Some(size) => renderer.set_kept_view(device, queue, encoder, self.index, &self.view, size),
                None => renderer.set_view(device, queue, self.index, &self.view),
            }
        }
        Vec::new()
    }

    fn paint(&self, _info: egui::PaintCallbackInfo, pass: &mut wgpu::RenderPass<'static>, resources: &CallbackResources) {
        if let Some(renderer) = resources.get::<SliceRenderer>() {
            renderer.draw(pass, self.index);
        }
    }
}

/// A slice, of which this part is visible, of the first volume, which has this grid.
pub fn slice_view(slice: &SliceGeometry, visible: Rect, grid: &Grid, look: Look) -> SliceView {
    let normal = slice.plane.axes().1;
    let mut step = [0.0; 3];
    step[normal] = 1.0;
    SliceView {
        slab: look.view.thickness.slab(grid.voxel_mm[normal], step),
        ..plane(visible, grid, look, |position| slice.mm_from_screen(position))
    }
}

/// A slice at its place among the views of the frame.
pub fn drawn(visible: Rect, index: usize, view: SliceView) -> egui::Shape {
    Callback::new_paint_callback(visible, SlicePaint { index, view, kept: None }).into()
}

/// What the picture of the view that can be turned costs.
#[derive(Clone, Copy)]
pub struct Effort {
    /// What draws it.
    pub adapter: Adapter,
    /// Whether it is being turned.
    pub in_motion: bool,
    /// Pixels of the window in a point.
    pub pixels_per_point: f32,
}

/// The view that can be turned.
pub fn turned(turned: &TurnedGeometry, visible: Rect, grid: &Grid, look: Look, index: usize, effort: Effort) -> egui::Shape {
    let step_mm = sample_distance_mm(grid);
    let step = std::array::from_fn(|a| (turned.ways[2][a] * step_mm / grid.voxel_mm[a]) as f32);
    let through = Slab { step, num_samples: num_samples_through(grid), combination: Combination::Maximum };
    let slab = match look.view.turned {
        RotatableContent::Mip => Some(through),
        RotatableContent::Oblique => look.view.thickness.slab(step_mm, step),
    };
    let mut view = SliceView { slab, ..plane(visible, grid, look, |position| turned.mm_from_screen(position)) };
    let size = visible.size() * effort.pixels_per_point;
    let mut shrunk = 1.0;
    if effort.adapter == Adapter::Software && look.view.turned == RotatableContent::Mip {
        let pixels = if effort.in_motion { SOFTWARE_PIXELS_IN_MOTION } else { SOFTWARE_PIXELS };
        shrunk = (pixels / size.x / size.y).sqrt().min(1.0);
        view.interpolation = Interpolation::Nearest;
    }
    let kept = Some([size.x, size.y].map(|side| (shrunk * side).ceil().max(1.0) as u32));
    Callback::new_paint_callback(visible, SlicePaint { index, view, kept }).into()
}

/// A plane, given by the points (mm) under screen positions.
fn plane(visible: Rect, grid: &Grid, look: Look, mm_from_screen: impl Fn(egui::Pos2) -> Point) -> SliceView {
    let [corner, right, below] =
        [visible.left_top(), visible.right_top(), visible.left_bottom()].map(|at| grid.voxel_from_mm(mm_from_screen(at)));
    // A coordinate that does not change along a side does not do so by a rounding error.
    let way = |to: Point| {
        let rounded = |v: f64| if v.abs() < 1e-9 { 0.0 } else { v as f32 };
        std::array::from_fn(|a| rounded(to[a] - corner[a]))
    };
    SliceView {
        content: Content::Volume(look.volume),
        interpolation: look.view.interpolation,
        corner: corner.map(|v| v as f32),
        across: way(right),
        down: way(below),
        slab: None,
        window: look.colouring.window,
        palette: look.colouring.palette,
        outside: [look.outside.r(), look.outside.g(), look.outside.b()].map(|c| f32::from(c) / 255.0),
        part: WHOLE_WIDTH,
    }
}

/// Makes the renderer for a window; to be called once.
pub fn install(state: &RenderState) {
    install_in(&mut state.renderer.write(), state, state.target_format);
}

/// The same for one that draws to a target of this format.
pub fn install_in(renderer: &mut Renderer, state: &RenderState, target: TargetFormat) {
    renderer.callback_resources.insert(SliceRenderer::new(&state.device, &state.queue, target));
}

/// Sends a volume to the adapter.
///
/// # Errors
/// Larger than the adapter can hold.
pub fn upload(state: &RenderState, slot: VolumeSlot, size: [usize; 3], values: &[f32]) -> Result<(), RenderError> {
    upload_to(&mut state.renderer.write(), state, slot, size, values)
}

/// The same for the slices that this renderer draws.
///
/// # Errors
/// As [`upload`].
pub fn upload_to(
    renderer: &mut Renderer,
    state: &RenderState,
    slot: VolumeSlot,
    size: [usize; 3],
    values: &[f32],
) -> Result<(), RenderError> {
    match renderer.callback_resources.get_mut::<SliceRenderer>() {
        Some(renderer) => renderer.upload(&state.device, &state.queue, slot, size, values),
        None => Ok(()),
    }
}
