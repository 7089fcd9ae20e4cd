//! Pictures of the window and of its parts at twice its resolution.
//!
//! The window is drawn once more, off the screen, by an egui context of its own: the same panels from the same state, without a
//! pointer over them, with twice as many pixels in a point. So text and lines are drawn finer, not enlarged.

use std::path::Path;

use eframe::egui_wgpu::{RenderState, Renderer, RendererOptions, ScreenDescriptor};
use egui::epaint::{ClippedPrimitive, ClippedShape, ImageDelta, Primitive};
use egui::{Context, Popup, RawInput, Rect, TextureId};

use super::dialogs::FileTask;
use crate::io::{Picture, write_png};
use crate::render::{Offscreen, RenderError, VolumeSlot};
use crate::ui::slices::comparison::CompareMode;
use crate::ui::slices::slice_paint;
use crate::ui::study::open::open_study::OpenStudy;
use crate::ui::widgets::picture_area::PictureArea;
use crate::ui::widgets::theme;
use crate::ui::workspace::app::App;

/// Pixels of a picture along each side of a pixel of the window.
const FINENESS: f32 = 2.0;

/// What is said where nothing can draw.
const NO_ADAPTER: &str = "there is no graphics adapter to draw a picture with";

/// Bytes of a pixel that was drawn.
const RGBA: usize = 4;

/// The pixels of the whole window.
struct Drawn {
    /// Width and height.
    size: [u32; 2],
    /// Red, green, blue, alpha, row by row from the top.
    rgba: Vec<u8>,
}

impl App {
    /// Saves a picture of a part of the window as PNG, with what made the image on the screen in its text.
    ///
    /// # Errors
    /// The part is not in the window, the graphics adapter cannot draw so many pixels, or the file cannot be written, as a
    /// sentence.
    pub(in crate::ui) fn save_picture(
        &mut self,
        ctx: &Context,
        task: FileTask,
        area: PictureArea,
        path: &Path,
    ) -> Result<(), String> {
        if !is_png(path) {
            return Err(format!("{}: pictures are saved as PNG; let the name end in .png", path.display()));
        }
        let state = self.graphics.clone().ok_or(NO_ADAPTER)?;
        let fine = twice_as_fine(ctx);
        let drawn = self.drawn(&state, ctx, &fine).map_err(|error| error.to_string())?;
        let part = area.rect(&fine).ok_or("the part to capture is no longer in the window")?;
        let (size, rgb) = cut_out(&drawn, part, fine.pixels_per_point());
        let texts = self.picture_texts();
        self.write_in_background(ctx, task, path, move |path| {
            write_png(path, Picture { size, rgb: &rgb, texts }).map(|()| Vec::new()).map_err(|error| error.to_string())
        });
        Ok(())
    }

    /// The window, drawn by a context that is twice as fine as its own.
    fn drawn(&mut self, state: &RenderState, ctx: &Context, fine: &Context) -> Result<Drawn, RenderError> {
        let RenderState { device, queue, .. } = state;
        let pixels_per_point = FINENESS * ctx.pixels_per_point();
        let size = (ctx.viewport_rect().size() * ctx.pixels_per_point()).round();
        let size_in_pixels = [size.x, size.y].map(|side| (FINENESS * side) as u32);
        let screen = ScreenDescriptor { size_in_pixels, pixels_per_point };
        let target = Offscreen::new(device, size_in_pixels)?;
        let mut renderer = Renderer::new(device, Offscreen::FORMAT, RendererOptions { dithering: false, ..Default::default() });
        slice_paint::install_in(&mut renderer, state, Offscreen::FORMAT);
        self.upload_to(&mut renderer, state)?;
        let shapes = self.shapes(fine, fine_input(ctx, state), |id, image| renderer.update_texture(device, queue, id, image));
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

    /// What the panels draw in a context of its own; what they ask for is not done. Each new texture goes to `update`.
    fn shapes(&mut self, fine: &Context, input: RawInput, mut update: impl FnMut(TextureId, &ImageDelta)) -> Vec<ClippedShape> {
        let (keys_were_taken, active_plane) = (self.keys_were_taken, self.slices.active_plane);
        let mut shapes = Vec::new();
        // What is measured while it is drawn has its place from the second pass on.
        for input in [input.clone(), input] {
            let mut output = fine.run_ui(input, |ui| _ = self.panels(ui));
            for (id, images) in output.textures_delta.set.drain() {
                images.iter().for_each(|image| update(id, image));
            }
            output.textures_delta.clear();
            shapes = output.shapes;
        }
        (self.keys_were_taken, self.slices.active_plane) = (keys_were_taken, active_plane);
        shapes
    }

    /// Gives a renderer the images that the views show.
    fn upload_to(&self, renderer: &mut Renderer, state: &RenderState) -> Result<(), RenderError> {
        let beside = self.runs.beside().filter(|_| self.slices.view.beside != CompareMode::Off);
        let beside = beside.and_then(|(_, image)| image.volume());
        let volumes = [(VolumeSlot::First, self.run().shown.volume()), (VolumeSlot::Second, beside)];
        for (slot, volume) in volumes.into_iter().filter_map(|(slot, volume)| Some((slot, volume?))) {
            slice_paint::upload_to(renderer, state, slot, volume.grid.size, volume.as_slice())?;
        }
        Ok(())
    }

    /// What is kept in a picture's text: the study, and the record of the image on the screen in a line and as JSON.
    fn picture_texts(&self) -> Vec<(&'static str, String)> {
        let title = self.study.open.as_ref().map(|open| ("Title", OpenStudy::title(open).to_owned()));
        let software = ("Software", format!("tomoscope {}", env!("CARGO_PKG_VERSION")));
        let record = self.run().shown.volume().and_then(|volume| Some(self.provenance()?.of_image(volume)));
        let line = record.as_ref().map(|record| ("Description", record.line()));
        let whole = record.and_then(|record| Some(("Provenance", serde_json::to_string_pretty(&record).ok()?)));
        [title, Some(software), line, whole].into_iter().flatten().collect()
    }
}

/// Whether a path is that of a PNG file.
pub(in crate::ui) fn is_png(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("png"))
}

/// A context with the looks and the memory of the window's, without the menu that asked for a picture.
fn twice_as_fine(ctx: &Context) -> Context {
    let fine = Context::default();
    theme::apply(&fine);
    let memory = ctx.memory(Clone::clone);
    fine.memory_mut(|own| *own = memory);
    Popup::close_all(&fine);
    fine
}

/// The window's input without pointer and keys.
fn fine_input(ctx: &Context, state: &RenderState) -> RawInput {
    let native = ctx.input(|input| input.viewport().native_pixels_per_point).unwrap_or(1.0);
    let mut input = RawInput {
        screen_rect: Some(ctx.viewport_rect()),
        time: Some(ctx.input(|input| input.time)),
        max_texture_side: Some(state.device.limits().max_texture_dimension_2d as usize),
        system_theme: ctx.system_theme(),
        focused: false,
        ..RawInput::default()
    };
    input.viewports.entry(input.viewport_id).or_default().native_pixels_per_point = Some(FINENESS * native);
    input
}

/// Gives a renderer the textures of the window's own that its pictures use (maps of projections and of tubes).
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

/// The part of a picture that a rectangle (points) covers: its width and height, and red, green and blue of its pixels.
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
