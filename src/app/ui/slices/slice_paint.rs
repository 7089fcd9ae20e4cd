//! Paint callback of egui by which the slice renderer draws into the window's render pass, and its input.

use std::time::{Duration, Instant};

use eframe::egui_wgpu::{Callback, CallbackResources, CallbackTrait, RenderState, Renderer, ScreenDescriptor};
use egui::{Color32, Rect};

use super::rotatable_view::{RotatableContent, TurnedGeometry, middle_of, num_samples_through, sample_distance_mm};
use super::view::{SliceGeometry, ViewState};
use crate::algebra::DeviceImage;
use crate::data::Placement;
use crate::geometry::{Grid, Point, dot};
use crate::render::{
    Combination, Content, Interpolation, MAX_AT_ONCE_BYTES, MAX_PART_BYTES, RenderError, Slab, SliceRenderer, SliceView,
    TargetFormat, VolumeSlot, VoxelValues, is_software,
};
use crate::ui::layer::second_image::SecondImage;
use crate::ui::widgets::colour_scale::ColourScale;
use crate::webgpu::WindowNumber;

/// Pixels of a projection that the processor draws, some tens of milliseconds for a usual image.
const SOFTWARE_PIXELS: f32 = 12_000.0;
/// The same while it is being turned.
const SOFTWARE_PIXELS_IN_MOTION: f32 = 6_000.0;

/// Kind of the drawing device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Adapter {
    /// A graphics adapter.
    Hardware,
    /// The processor.
    Software,
}

impl Adapter {
    pub fn of(adapter: &wgpu::Adapter) -> Self {
        if is_software(adapter) { Self::Software } else { Self::Hardware }
    }
}

/// Display of values.
#[derive(Clone, Copy)]
pub struct ViewSettings<'a> {
    /// Which of the volumes on the adapter.
    pub volume: VolumeSlot,
    /// Interpolation, thickness, …
    pub view: &'a ViewState,
    pub colouring: &'a ColourScale,
    /// Colour outside the image.
    pub outside: Color32,
}

/// A view of the image to draw.
struct SlicePaint {
    /// Place among the views of the frame.
    index: usize,
    view: SliceView,
    /// Size in pixels of a cached picture, drawn again only after a change; `None` = drawn in each frame.
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
                Some(size) => renderer.set_cached_view(device, queue, encoder, self.index, &self.view, size),
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

/// Returns the visible part of a slice through a volume on this grid.
pub fn slice_view(slice: &SliceGeometry, visible: Rect, grid: &Grid, settings: ViewSettings) -> SliceView {
    let normal = slice.plane.axes().1;
    let mut step = [0.0; 3];
    step[normal] = 1.0;
    SliceView {
        slab: settings.view.thickness.slab(grid.voxel_mm[normal], step),
        ..plane(visible, grid, settings, |position| slice.mm_from_screen(position))
    }
}

/// Returns the same part of the slice through the second image.
pub fn layer_view(
    slice: &SliceGeometry,
    visible: Rect,
    displayed: (&Grid, Option<&Placement>),
    image: &SecondImage,
    settings: ViewSettings,
) -> SliceView {
    let (displayed, placement) = displayed;
    let (grid, normal) = (&image.volume.grid, slice.plane.axes().1);
    let point = |position| image.point_mm(placement, slice.mm_from_screen(position));
    let settings = ViewSettings { volume: VolumeSlot::Layer, colouring: &image.display.colouring, ..settings };
    // One slice of the displayed image further.
    let corner = slice.mm_from_screen(visible.left_top());
    let mut next = corner;
    next[normal] += displayed.voxel_mm[normal];
    let [from, to] = [corner, next].map(|at| grid.voxel_from_mm(image.point_mm(placement, at)));
    let step = std::array::from_fn(|a| (to[a] - from[a]) as f32);
    SliceView { slab: settings.view.thickness.slab(displayed.voxel_mm[normal], step), ..plane(visible, grid, settings, point) }
}

/// Returns the shape of a slice at its index among the views of the frame.
pub fn drawn(visible: Rect, index: usize, view: SliceView) -> egui::Shape {
    Callback::new_paint_callback(visible, SlicePaint { index, view, kept: None }).into()
}

/// Budget of the picture of the rotatable view.
#[derive(Clone, Copy)]
pub struct Budget {
    pub adapter: Adapter,
    /// True during a rotation.
    pub in_motion: bool,
    /// Pixels of the window in a point.
    pub pixels_per_point: f32,
}

/// Returns the rotatable view of a volume on this grid.
pub fn turned_view(turned: &TurnedGeometry, visible: Rect, grid: &Grid, settings: ViewSettings) -> SliceView {
    let step_mm = sample_distance_mm(grid);
    let step = std::array::from_fn(|a| (turned.basis[2][a] * step_mm / grid.voxel_mm[a]) as f32);
    let slab = match settings.view.turned {
        RotatableContent::Mip => Some(through(grid, step)),
        RotatableContent::Oblique => settings.view.thickness.slab(step_mm, step),
    };
    SliceView { slab, ..plane(visible, grid, settings, |position| turned.mm_from_screen(position)) }
}

/// Returns the rotatable view of the second image, along the same lines of sight.
pub fn turned_layer_view(
    turned: &TurnedGeometry,
    visible: Rect,
    displayed: (&Grid, Option<&Placement>),
    image: &SecondImage,
    settings: ViewSettings,
) -> SliceView {
    let (displayed, placement) = displayed;
    let grid = &image.volume.grid;
    let settings = ViewSettings { volume: VolumeSlot::Layer, colouring: &image.display.colouring, ..settings };
    let own = |point| image.point_mm(placement, point);
    // The second image has other axes, but the same lengths.
    let origin = own(turned.middle_mm);
    let next = own(std::array::from_fn(|a| turned.middle_mm[a] + turned.basis[2][a]));
    let away: Point = std::array::from_fn(|a| next[a] - origin[a]);
    let step = |step_mm: f64| std::array::from_fn(|a| (away[a] * step_mm / grid.voxel_mm[a]) as f32);
    let (slab, shift_mm) = match settings.view.turned {
        // The samples are symmetric about the middle of the second image.
        RotatableContent::Mip => {
            let to_middle: Point = std::array::from_fn(|a| middle_of(grid)[a] - origin[a]);
            (Some(through(grid, step(sample_distance_mm(grid)))), dot(to_middle, away))
        }
        RotatableContent::Oblique => {
            let step_mm = sample_distance_mm(displayed);
            (settings.view.thickness.slab(step_mm, step(step_mm)), 0.0)
        }
    };
    let point = |position| {
        let at = own(turned.mm_from_screen(position));
        std::array::from_fn(|a| at[a] + shift_mm * away[a])
    };
    SliceView { slab, ..plane(visible, grid, settings, point) }
}

/// Returns the slab of a projection through the whole image.
fn through(grid: &Grid, step: [f32; 3]) -> Slab {
    Slab { step, num_samples: num_samples_through(grid), combination: Combination::Maximum }
}

/// Returns the shape of a rotatable view, which is drawn again only after a change.
pub fn stored(visible: Rect, index: usize, mut view: SliceView, content: RotatableContent, budget: Budget) -> egui::Shape {
    let size = visible.size() * budget.pixels_per_point;
    let mut shrunk = 1.0;
    if budget.adapter == Adapter::Software && content == RotatableContent::Mip {
        let pixels = if budget.in_motion { SOFTWARE_PIXELS_IN_MOTION } else { SOFTWARE_PIXELS };
        shrunk = (pixels / size.x / size.y).sqrt().min(1.0);
        view.interpolation = Interpolation::Nearest;
    }
    let kept = Some([size.x, size.y].map(|side| (shrunk * side).ceil().max(1.0) as u32));
    Callback::new_paint_callback(visible, SlicePaint { index, view, kept }).into()
}

/// Returns the view of a plane, given by the points (mm) under screen positions.
fn plane(visible: Rect, grid: &Grid, settings: ViewSettings, mm_from_screen: impl Fn(egui::Pos2) -> Point) -> SliceView {
    let [corner, right, below] =
        [visible.left_top(), visible.right_top(), visible.left_bottom()].map(|at| grid.voxel_from_mm(mm_from_screen(at)));
    // A coordinate that does not change along a side does not do so by a rounding error.
    let direction = |to: Point| {
        let rounded = |v: f64| if v.abs() < 1e-9 { 0.0 } else { v as f32 };
        std::array::from_fn(|a| rounded(to[a] - corner[a]))
    };
    SliceView {
        content: Content::Volume(settings.volume),
        interpolation: settings.view.interpolation,
        corner: corner.map(|v| v as f32),
        across: direction(right),
        down: direction(below),
        slab: None,
        window: settings.colouring.window,
        palette: settings.colouring.palette,
        outside: [settings.outside.r(), settings.outside.g(), settings.outside.b()].map(|c| f32::from(c) / 255.0),
        over: None,
    }
}

/// Makes the renderer for a window; to be called once.
pub fn install(state: &RenderState) {
    install_in(&mut state.renderer.write(), state, state.target_format);
}

/// Makes the renderer for a target of this format.
pub fn install_in(renderer: &mut Renderer, state: &RenderState, target: TargetFormat) {
    renderer.callback_resources.insert(SliceRenderer::new(&state.device, &state.queue, target));
}

/// Draws an image of this size where it lies on the device of this window; false if it is of another one.
pub fn show(state: &RenderState, window: WindowNumber, slot: VolumeSlot, size: [usize; 3], image: &DeviceImage) -> bool {
    let mut renderer = state.renderer.write();
    let slices = renderer.callback_resources.get_mut::<SliceRenderer>();
    slices.is_some_and(|slices| slices.show(&state.device, window, slot, size, image))
}

/// Most parts of a large volume in a frame, and the time after which no further one begins.
const MAX_PARTS: usize = MAX_AT_ONCE_BYTES / MAX_PART_BYTES;
const UPLOAD_TIME: Duration = Duration::from_millis(3);

/// Sends the next parts of the volume with this number to the adapter. Returns true after the last part; the volume before is drawn
/// until then.
///
/// # Errors
/// Larger than the adapter can hold.
pub fn upload_parts<'a>(
    state: &RenderState,
    slot_and_number: (VolumeSlot, u64),
    size: [usize; 3],
    values: impl Into<VoxelValues<'a>>,
) -> Result<bool, RenderError> {
    let (begin, values) = (Instant::now(), values.into());
    let is_large = values.bytes() > MAX_AT_ONCE_BYTES;
    let mut renderer = state.renderer.write();
    let Some(slices) = renderer.callback_resources.get_mut::<SliceRenderer>() else { return Ok(true) };
    for _ in 0..MAX_PARTS {
        if slices.upload_part(&state.device, &state.queue, slot_and_number, size, values)? {
            return Ok(true);
        }
        if is_large && begin.elapsed() > UPLOAD_TIME {
            break;
        }
    }
    Ok(false)
}

/// Sends a volume to the adapter at once, for the slices that this renderer draws.
///
/// # Errors
/// As [`upload_parts`].
pub fn upload_to<'a>(
    renderer: &mut Renderer,
    state: &RenderState,
    slot: VolumeSlot,
    size: [usize; 3],
    values: impl Into<VoxelValues<'a>>,
) -> Result<(), RenderError> {
    match renderer.callback_resources.get_mut::<SliceRenderer>() {
        Some(renderer) => renderer.upload(&state.device, &state.queue, slot, size, values),
        None => Ok(()),
    }
}
