//! Pictures of the window and of its parts at twice its resolution.
//!
//! A separate egui context draws the window again off screen: the same panels from the same state, without a pointer, with
//! twice as many pixels per point. Text and lines are therefore finer, not enlarged.

use std::path::Path;

use eframe::egui_wgpu::{RenderState, Renderer, RendererOptions, ScreenDescriptor};
use egui::epaint::{ClippedPrimitive, ClippedShape, ImageDelta, Primitive};
use egui::{Context, Popup, RawInput, Rect, TextureId};

use super::app::App;
use crate::data::Notice;
use crate::io::{Picture, write_png};
use crate::plan::Provenance;
use crate::render::{Offscreen, RenderError, VolumeSlot};
use crate::ui::slices::comparison::CompareMode;
use crate::ui::slices::slice_paint;
use crate::ui::widgets::file_task::FileTask;
use crate::ui::widgets::picture_area::PictureArea;
use crate::ui::widgets::theme;
use crate::ui::workspace::files::file_tasks::is_png;

/// Pixels of a picture per pixel of the window, along each side.
const FINENESS: f32 = 2.0;

/// Reason of a refusal without a graphics adapter.
const NO_ADAPTER: &str = "there is no graphics adapter to draw a picture with";

/// Bytes per drawn pixel.
const RGBA: usize = 4;

/// Pixels of the whole window.
struct Drawn {
    /// Width and height.
    size: [u32; 2],
    /// Red, green, blue, alpha, row by row from the top.
    rgba: Vec<u8>,
}

impl App {
    /// Draws a part of the window and starts writing it as PNG, with the provenance of the displayed image in its text.
    ///
    /// # Errors
    /// The part is not in the window, or the graphics adapter has too small textures. A notice reports later failures.
    pub(super) fn save_picture(&mut self, area: PictureArea, path: &Path) -> Result<(), String> {
        if !is_png(path) {
            return Err(format!("{}: pictures are saved as PNG; let the name end in .png", path.display()));
        }
        let (size, rgb) = self.picture(area, FINENESS)?;
        let texts = self.picture_texts();
        if self.work.is_anonymous() && area == PictureArea::Window {
            let text = "The picture shows the window, also names on it; its texts are anonymous";
            self.work.notify(Notice::warning(text));
        }
        self.work.write_in_background(FileTask::SavePicture(area), path, move |path| {
            write_png(path, Picture { size, rgb: &rgb, texts }).map(|()| Vec::new()).map_err(|error| error.to_string())
        });
        Ok(())
    }

    /// Returns width, height and RGB pixels of a part of the window, with some pixels per pixel of the window.
    ///
    /// # Errors
    /// The part is not in the window, or the graphics adapter has too small textures.
    pub(super) fn picture(&mut self, area: PictureArea, fineness: f32) -> Result<([u32; 2], Vec<u8>), String> {
        let state = self.work.graphics.state.clone().ok_or(NO_ADAPTER)?;
        let ctx = self.work.ctx.clone();
        let fine = same_window(&ctx);
        let drawn = self.drawn(&state, &ctx, &fine, fineness).map_err(|error| error.to_string())?;
        let part = area.rect(&fine).ok_or("the part to capture is no longer in the window")?;
        Ok(cut_out(&drawn, part, fine.pixels_per_point()))
    }

    /// Draws the window by a context with a multiple of its resolution.
    fn drawn(&mut self, state: &RenderState, ctx: &Context, fine: &Context, fineness: f32) -> Result<Drawn, RenderError> {
        let RenderState { device, queue, .. } = state;
        let pixels_per_point = fineness * ctx.pixels_per_point();
        let size = (ctx.viewport_rect().size() * ctx.pixels_per_point()).round();
        let size_in_pixels = [size.x, size.y].map(|side| (fineness * side) as u32);
        let screen = ScreenDescriptor { size_in_pixels, pixels_per_point };
        let target = Offscreen::new(device, size_in_pixels)?;
        let mut renderer = Renderer::new(device, Offscreen::FORMAT, RendererOptions { dithering: false, ..Default::default() });
        slice_paint::install_in(&mut renderer, state, Offscreen::FORMAT);
        self.upload_to(&mut renderer, state)?;
        let shapes =
            self.shapes(fine, fine_input(ctx, state, fineness), |id, image| renderer.update_texture(device, queue, id, image));
        let mut primitives = fine.tessellate(shapes, pixels_per_point);
        borrow_textures(&mut primitives, &mut renderer, state);
        let mut encoder = device.create_command_encoder(&wgpu::CommandEncoderDescriptor { label: Some("picture") });
        let mut commands = renderer.update_buffers(device, queue, &mut encoder, &primitives, &screen);
        let [r, g, b, a] = fine.global_style().visuals.panel_fill.to_normalized_gamma_f32().map(f64::from);
        let pass = encoder.begin_render_pass(&wgpu::RenderPassDescriptor {
            label: Some("picture"),
            color_attachments: &[Some(wgpu::RenderPassColorAttachment {
                view: &target.view(),
                resolve_target: None,
                ops: wgpu::Operations { load: wgpu::LoadOp::Clear(wgpu::Color { r, g, b, a }), store: wgpu::StoreOp::Store },
                depth_slice: None,
            })],
            ..Default::default()
        });
        renderer.render(&mut pass.forget_lifetime(), &primitives, &screen);
        commands.push(encoder.finish());
        queue.submit(commands);
        Ok(Drawn { size: size_in_pixels, rgba: target.read(device, queue)? })
    }

    /// Returns the shapes of the panels in a separate context. Their requests are dropped; `update` receives each new texture.
    fn shapes(&mut self, fine: &Context, input: RawInput, mut update: impl FnMut(TextureId, &ImageDelta)) -> Vec<ClippedShape> {
        let were_keys_taken = self.were_keys_taken;
        let mut shapes = Vec::new();
        // Some sizes are known from the second pass on.
        for input in [input.clone(), input] {
            let mut output = fine.run_ui(input, |ui| self.panels(ui, &mut Vec::new()));
            for (id, images) in output.textures_delta.set.drain() {
                images.iter().for_each(|image| update(id, image));
            }
            output.textures_delta.clear();
            shapes = output.shapes;
        }
        self.were_keys_taken = were_keys_taken;
        shapes
    }

    /// Uploads the displayed images to a renderer.
    fn upload_to(&self, renderer: &mut Renderer, state: &RenderState) -> Result<(), RenderError> {
        let beside = self.work.runs.beside().filter(|_| self.work.slices.view.beside != CompareMode::Off);
        let beside = beside.and_then(|(_, image)| image.shown.volume());
        let volumes = [(VolumeSlot::First, self.work.run().shown.volume()), (VolumeSlot::Second, beside)];
        for (slot, volume) in volumes.into_iter().filter_map(|(slot, volume)| Some((slot, volume?))) {
            slice_paint::upload_to(renderer, state, slot, volume.grid.size, volume.as_slice())?;
        }
        if let Some(image) = self.work.drawn_layer() {
            slice_paint::upload_to(renderer, state, VolumeSlot::Layer, image.volume.grid.size, image.voxel_values())?;
        }
        Ok(())
    }

    /// Returns the texts of a picture: study, and provenance of the displayed image as a line and as JSON.
    pub(super) fn picture_texts(&self) -> Vec<(&'static str, String)> {
        let title = self.work.study.open.is_some().then(|| ("Title", self.work.title_to_write()));
        let software = ("Software", format!("tomoscope {}", env!("CARGO_PKG_VERSION")));
        let record = self
            .work
            .run()
            .shown
            .volume()
            .and_then(|volume| Some(self.work.record_to_write(self.work.provenance()?).of_image(volume)));
        let record = record.map(|record| {
            let radical = record.radical.clone().map(|radical| radical.numbered(self.work.hiding_radical().unwrap_or(0)));
            Provenance { radical, ..record }
        });
        let line = record.as_ref().map(|record| ("Description", record.line()));
        let whole = record.and_then(|record| Some(("Provenance", serde_json::to_string_pretty(&record).ok()?)));
        [title, Some(software), line, whole].into_iter().flatten().collect()
    }
}

/// Returns a context with the theme and the memory of the window, with all menus closed.
fn same_window(ctx: &Context) -> Context {
    let fine = Context::default();
    let memory = ctx.memory(Clone::clone);
    fine.memory_mut(|own| *own = memory);
    // Fonts that are to be added are part of the memory.
    theme::apply(&fine);
    Popup::close_all(&fine);
    fine
}

/// Returns the input of the window without pointer and keys.
fn fine_input(ctx: &Context, state: &RenderState, fineness: f32) -> RawInput {
    let native = ctx.input(|input| input.viewport().native_pixels_per_point).unwrap_or(1.0);
    let mut input = RawInput {
        screen_rect: Some(ctx.viewport_rect()),
        time: Some(ctx.input(|input| input.time)),
        max_texture_side: Some(state.device.limits().max_texture_dimension_2d as usize),
        system_theme: ctx.system_theme(),
        focused: false,
        ..RawInput::default()
    };
    input.viewports.entry(input.viewport_id).or_default().native_pixels_per_point = Some(fineness * native);
    input
}

/// Registers the textures of the window that its panels use: pictures of projections and of tubes.
fn borrow_textures(primitives: &mut [ClippedPrimitive], renderer: &mut Renderer, state: &RenderState) {
    let own = state.renderer.read();
    for primitive in primitives {
        let Primitive::Mesh(mesh) = &mut primitive.primitive else { continue };
        if renderer.texture(&mesh.texture_id).is_some() || mesh.texture_id == TextureId::default() {
            continue;
        }
        if let Some(texture) = own.texture(&mesh.texture_id).and_then(|texture| texture.texture.as_ref()) {
            let view = texture.create_view(&wgpu::TextureViewDescriptor::default());
            mesh.texture_id = renderer.register_native_texture(&state.device, &view, wgpu::FilterMode::Nearest);
        }
    }
}

/// Returns width, height and RGB pixels of the part of a picture below a rectangle (points).
fn cut_out(drawn: &Drawn, part: Rect, pixels_per_point: f32) -> ([u32; 2], Vec<u8>) {
    let [width, height] = drawn.size;
    let pixel = |points: f32, limit: u32| ((points * pixels_per_point).round() as u32).min(limit) as usize;
    let (columns, rows) =
        (pixel(part.left(), width)..pixel(part.right(), width), pixel(part.top(), height)..pixel(part.bottom(), height));
    let size = [columns.len() as u32, rows.len() as u32];
    let row_bytes = RGBA * width as usize;
    let rows = drawn.rgba.chunks_exact(row_bytes).skip(rows.start).take(rows.len());
    let pixels = rows.flat_map(|row| row.chunks_exact(RGBA).skip(columns.start).take(columns.len()));
    (size, pixels.flat_map(|pixel| &pixel[..3]).copied().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_is_cut_out_by_whole_pixels() {
        // 4 × 3 pixels, whose red is their number.
        let rgba: Vec<u8> = (0..12).flat_map(|k| [k, 0, 100, 255]).collect();
        let part = Rect::from_min_max(egui::pos2(0.5, 0.5), egui::pos2(1.5, 9.0));
        let (size, rgb) = cut_out(&Drawn { size: [4, 3], rgba }, part, 2.0);
        assert_eq!(size, [2, 2]);
        assert_eq!(rgb.iter().step_by(3).copied().collect::<Vec<u8>>(), [5, 6, 9, 10]);
    }
}
