//! Frames of the window while a solver computes, drawn one after the other without a display, and not waited for longer than a
//! window does: while the adapter draws one, the next is prepared.
//!
//! `TOMOSCOPE_FRAMES=SECS` draws for so long: one run, a region under the pointer, images being saved, two runs side by side. It
//! prints the times on the solver and the adapter of the machine; with `TOMOSCOPE_FRAMES_TRACE=FILE` it writes the time line too,
//! with `TOMOSCOPE_FRAMES_GPU=N` it reconstructs on GPU N through wgpu.
//! `TOMOSCOPE_FRAMES_STEPS=N` draws the small study at its start and after N steps. `TOMOSCOPE_FRAMES_FUSED=PET,CT` draws these two
//! series over each other, and prints the time to open each and the memory. Without these it is a short look.

use std::collections::VecDeque;
use std::iter::once;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use eframe::egui_wgpu::{RenderState, RendererOptions, ScreenDescriptor, WgpuSetup};
use egui::{Context, FullOutput, TexturesDelta, Theme};
use egui_kittest::kittest::Queryable as _;
use egui_kittest::wgpu::{create_render_state, default_wgpu_setup};
use egui_kittest::{Harness, HarnessBuilder, TestRenderer};
use image::RgbaImage;
use tomoscope::plan::DeviceChoice;
use tomoscope::session::Trace;
use tomoscope::ui::{App, AppOptions, BUILT_IN, Source, wgpu_setup};
use tomoscope::webgpu;

use super::images::{add_second, series};
use super::type_image_path;
use super::{cache, click, renderer, small_study, wait_for};

const SIZE: [f32; 2] = [1280.0, 900.0];
const FUSED_SIZE: [f32; 2] = [1400.0, 920.0];

/// Draws into a texture as a window draws into its surface: at most two frames are under way, and none is read back.
pub(super) struct Offscreen {
    state: RenderState,
    size: [u32; 2],
    target: wgpu::Texture,
    under_way: VecDeque<wgpu::SubmissionIndex>,
}

/// The test's choice of an adapter, with the window's request for its device.
fn setup() -> WgpuSetup {
    let mut setup = default_wgpu_setup();
    if let (WgpuSetup::CreateNew(setup), WgpuSetup::CreateNew(of_window)) = (&mut setup, wgpu_setup()) {
        setup.device_descriptor = of_window.device_descriptor;
    }
    setup
}

impl Offscreen {
    pub(super) fn new(size: [f32; 2]) -> Self {
        let size = size.map(|side| side as u32);
        let state = create_render_state(setup(), RendererOptions::PREDICTABLE);
        let target = state.device.create_texture(&wgpu::TextureDescriptor {
            label: None,
            size: wgpu::Extent3d { width: size[0], height: size[1], depth_or_array_layers: 1 },
            mip_level_count: 1,
            sample_count: 1,
            dimension: wgpu::TextureDimension::D2,
            format: state.target_format,
            usage: wgpu::TextureUsages::RENDER_ATTACHMENT,
            view_formats: &[],
        });
        Self { state, size, target, under_way: VecDeque::new() }
    }
}

impl TestRenderer for Offscreen {
    fn setup_eframe(&self, creation: &mut eframe::CreationContext<'_>, frame: &mut eframe::Frame) {
        creation.wgpu_render_state = Some(self.state.clone());
        frame.wgpu_render_state = Some(self.state.clone());
    }

    fn handle_delta(&mut self, delta: &mut TexturesDelta) {
        let mut renderer = self.state.renderer.write();
        for (id, images) in delta.set.drain() {
            images.iter().for_each(|image| renderer.update_texture(&self.state.device, &self.state.queue, id, image));
        }
        delta.free.drain().for_each(|id| renderer.free_texture(&id));
    }

    fn render(&mut self, ctx: &Context, output: &FullOutput) -> Result<RgbaImage, String> {
        let RenderState { device, queue, .. } = &self.state;
        if self.under_way.len() >= 2 {
            let wait =
                wgpu::PollType::Wait { submission_index: self.under_way.pop_front(), timeout: Some(Duration::from_secs(120)) };
            device.poll(wait).map_err(|error| error.to_string())?;
        }
        let mut renderer = self.state.renderer.write();
        let mut encoder = device.create_command_encoder(&wgpu::CommandEncoderDescriptor { label: None });
        let screen = ScreenDescriptor { pixels_per_point: 1.0, size_in_pixels: self.size };
        let shapes = ctx.tessellate(output.shapes.clone(), 1.0);
        let buffers = renderer.update_buffers(device, queue, &mut encoder, &shapes, &screen);
        let view = self.target.create_view(&wgpu::TextureViewDescriptor::default());
        let attachment = wgpu::RenderPassColorAttachment {
            view: &view,
            resolve_target: None,
            ops: wgpu::Operations { load: wgpu::LoadOp::Clear(wgpu::Color::BLACK), store: wgpu::StoreOp::Store },
            depth_slice: None,
        };
        let pass = wgpu::RenderPassDescriptor { color_attachments: &[Some(attachment)], ..Default::default() };
        renderer.render(&mut encoder.begin_render_pass(&pass).forget_lifetime(), &shapes, &screen);
        self.under_way.push_back(queue.submit(buffers.into_iter().chain(once(encoder.finish()))));
        Ok(RgbaImage::new(1, 1))
    }
}

/// Draws frames for so long, each after some input; milliseconds of each: the window's own code, and all.
fn draw(harness: &mut Harness<'_, App>, time: Duration, mut input: impl FnMut(&mut Harness<'_, App>, usize)) -> Vec<[f64; 2]> {
    let begin = Instant::now();
    let mut frames = Vec::new();
    while begin.elapsed() < time {
        input(harness, frames.len());
        let start = Instant::now();
        harness.step();
        let own = start.elapsed();
        harness.render().unwrap();
        frames.push([own, start.elapsed()].map(|time| 1e3 * time.as_secs_f64()));
    }
    frames
}

fn report(what: &str, frames: &[[f64; 2]], app: &App) {
    let quantiles = |which: usize| {
        let mut times: Vec<f64> = frames.iter().map(|frame| frame[which]).collect();
        times.sort_by(f64::total_cmp);
        let [median, of_99, of_999] = [0.5, 0.99, 0.999].map(|part| times[((times.len() - 1) as f64 * part) as usize]);
        format!("{median:.2} ms (99 %: {of_99:.2}, 99.9 %: {of_999:.2})")
    };
    println!(
        "{what}: {} frames, own code {}, all {}, {} steps, {}",
        frames.len(),
        quantiles(0),
        quantiles(1),
        app.work.live().progress().0,
        app.work.adapter(),
    );
}

fn number(variable: &str) -> Option<f64> {
    std::env::var(variable).ok().and_then(|text| text.parse().ok())
}

/// The window with a study that is reconstructed for long.
fn window(start: Source, device: DeviceChoice, trace: Trace) -> Harness<'static, App> {
    window_of(SIZE, start, device, trace)
}

fn window_of(size: [f32; 2], start: Source, device: DeviceChoice, trace: Trace) -> Harness<'static, App> {
    let options = AppOptions {
        start,
        autostart: true,
        device,
        num_iterations: Some(1_000_000),
        for_pictures: false,
        desktop_dialogs: false,
        cache: cache(),
        trace,
    };
    let builder: HarnessBuilder<App> = Harness::builder().with_size(size).with_theme(Theme::Dark).renderer(Offscreen::new(size));
    let mut harness = builder.build_eframe(|creation| App::new(creation, options));
    wait_for(&mut harness, "an image", |app| app.work.shown().volume().is_some());
    harness
}

/// Frames while a new region goes round under the pointer.
fn draw_dragging(harness: &mut Harness<'_, App>, time: Duration) -> Vec<[f64; 2]> {
    click(harness, "Add sphere");
    let centre = harness.get_by_label("Transaxial slice").rect().center();
    harness.hover_at(centre);
    harness.step();
    harness.drag_at(centre);
    harness.step();
    let round = |frame: usize| centre + 30.0 * egui::Vec2::angled(0.05 * frame as f32);
    let frames = draw(harness, time, |harness, frame| harness.hover_at(round(frame)));
    harness.drop_at(centre);
    harness.run_steps(2);
    frames
}

/// Frames while images are written, one after the other.
fn draw_saving(harness: &mut Harness<'_, App>, time: Duration) -> Vec<[f64; 2]> {
    let folder = tempfile::tempdir().unwrap();
    let mut files = 0;
    draw(harness, time, |harness, _| {
        if !harness.state().work.is_writing() {
            type_image_path(harness, &folder.path().join(format!("{files}.nii.gz")));
            harness.key_press(egui::Key::Enter);
            files += 1;
        }
    })
}

#[test]
fn frames_are_drawn_while_the_solver_computes() {
    let secs = number("TOMOSCOPE_FRAMES");
    if renderer().is_none() {
        return;
    }
    let trace = std::env::var("TOMOSCOPE_FRAMES_TRACE").map_or(Trace::off(), |path| Trace::to_file(Path::new(&path)).unwrap());
    let gpu = number("TOMOSCOPE_FRAMES_GPU").map(|number| DeviceChoice::WebGpu(number as usize));
    let start = Instant::now();
    let mut harness = match secs {
        Some(_) => window(Source::BuiltIn(BUILT_IN[0].clone()), gpu.unwrap_or(DeviceChoice::Auto), trace),
        None => window(small_study(), DeviceChoice::Cpu, trace),
    };
    println!("first image after {:.2} s", start.elapsed().as_secs_f64());
    let time = Duration::from_secs_f64(secs.unwrap_or(0.5));
    let first = harness.state().work.live().progress().0;
    let frames = draw(&mut harness, time, |_, _| {});
    report("one run", &frames, harness.state());
    let frames = draw_dragging(&mut harness, time);
    report("a region is dragged", &frames, harness.state());
    let frames = draw_saving(&mut harness, time);
    report("images are saved", &frames, harness.state());
    wait_for(&mut harness, "the last file", |app| !app.work.is_writing());
    wait_for(&mut harness, "another step", |app| app.work.live().progress().0 > first);
    click(&mut harness, "Restart");
    wait_for(&mut harness, "the second run", |app| app.work.live().run == 2 && app.work.live().is_measured());
    harness.get_by_label("side by side").click();
    harness.run_steps(2);
    let frames = draw(&mut harness, time, |_, _| {});
    report("two runs side by side", &frames, harness.state());
    assert_eq!(harness.state().work.kept_runs().count(), 1);
}

#[test]
fn images_of_the_window_s_own_device_are_drawn_without_a_copy() {
    let usable = webgpu::devices().into_iter().find(|gpu| gpu.why_not().is_none());
    let (Some(gpu), Some(_)) = (usable, renderer()) else {
        println!("skipped: no GPU that computes and draws");
        return;
    };
    let file = tempfile::NamedTempFile::new().unwrap();
    let trace = Trace::to_file(file.path()).unwrap();
    let mut harness = window(small_study(), DeviceChoice::WebGpu(gpu.number), trace);
    let first = harness.state().work.live().progress().0;
    wait_for(&mut harness, "more steps", |app| app.work.live().progress().0 > first + 5);
    draw(&mut harness, Duration::from_millis(500), |_, _| {});
    let text = std::fs::read_to_string(file.path()).unwrap();
    let lines: Vec<serde_json::Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let shown: Vec<_> = lines.iter().filter(|line| line["what"] == "iterate_shown").collect();
    let num_on_device = shown.iter().filter(|line| line["on_device"] == 1).count();
    println!("{num_on_device} of {} images", shown.len());
    assert!(shown.len() > 2 && num_on_device == shown.len(), "{text}");
}

#[test]
fn frames_do_not_depend_on_the_length_of_a_run() {
    let (Some(steps), Some(_)) = (number("TOMOSCOPE_FRAMES_STEPS"), renderer()) else { return };
    let mut harness = window(small_study(), DeviceChoice::Cpu, Trace::off());
    let time = Duration::from_secs(5);
    let frames = draw(&mut harness, time, |_, _| {});
    report("at the start", &frames, harness.state());
    while (harness.state().work.live().progress().0 as f64) < steps {
        draw(&mut harness, time, |_, _| std::thread::sleep(Duration::from_millis(100)));
    }
    let frames = draw(&mut harness, time, |_, _| {});
    report("after the steps", &frames, harness.state());
}

/// Memory of the process now and at its peak, MB; 0 where the system has no such numbers.
fn memory_mb() -> [f64; 2] {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    ["VmRSS:", "VmHWM:"].map(|field| {
        let line = status.lines().find_map(|line| line.strip_prefix(field));
        line.and_then(|line| line.split_whitespace().next()?.parse::<f64>().ok()).map_or(0.0, |kib| kib * 1024.0 / 1e6)
    })
}

#[test]
fn frames_of_fused_images_are_drawn() {
    let named = std::env::var("TOMOSCOPE_FRAMES_FUSED").ok();
    if renderer().is_none() {
        return;
    }
    let [pet, ct] = match named.as_deref().and_then(|text| text.split_once(',')) {
        Some((pet, ct)) => [pet, ct].map(PathBuf::from),
        None => ["pet", "ct"].map(series),
    };
    let time = Duration::from_secs_f64(if named.is_some() { 10.0 } else { 0.5 });
    let print = |what: &str, secs: f64| {
        let [now, peak] = memory_mb();
        println!("{what}: {secs:.2} s, memory {now:.0} MB, at most {peak:.0} MB");
    };
    print("before", 0.0);
    let start = Instant::now();
    let mut harness = window_of(FUSED_SIZE, Source::file(pet), DeviceChoice::Cpu, Trace::off());
    print("window with the first image", start.elapsed().as_secs_f64());
    let start = Instant::now();
    add_second(&mut harness, &ct);
    print("second image", start.elapsed().as_secs_f64());
    let centre = harness.get_by_label("Transaxial slice").rect().center();
    let round = |frame: usize| centre + 30.0 * egui::Vec2::angled(0.05 * frame as f32);
    let frames = draw(&mut harness, time, |harness, frame| harness.hover_at(round(frame)));
    report("fused images", &frames, harness.state());
    print("after the frames", time.as_secs_f64());
}
