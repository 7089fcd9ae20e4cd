//! The window, driven by the names of its widgets: open, run, draw, switch, read.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout, clippy::print_stderr)] // everything here is a test

mod anonymise;
mod attenuation;
mod calibration;
mod colours;
mod compare;
mod contrast;
mod corrections;
#[path = "../support/data.rs"]
mod data;
#[cfg(target_os = "linux")] // names that are not UTF-8
mod dropped;
mod files;
mod frames;
mod fresh;
mod fusion;
#[path = "../support/identity.rs"]
mod identity;
mod images;
mod keyboard;
mod leaving;
mod lesions;
mod list_frames;
mod lists;
mod model;
mod nema;
#[path = "../support/nema_scan.rs"]
mod nema_scan;
mod next_start;
#[path = "../support/node.rs"]
mod node;
mod numbers;
mod older_sessions;
mod oximetry;
mod pairs;
mod panes;
mod penalised;
mod picture;
mod pictures;
mod pixels;
mod profiles;
mod provenance;
mod race;
#[path = "../support/radicals.rs"]
#[allow(dead_code)] // half of it is for the session
mod radical_scan;
mod radicals;
mod recovery;
mod regions;
#[cfg(target_os = "linux")] // names that are not UTF-8
mod remote;
mod replicates;
mod restore;
mod rooms;
#[path = "../support/scans.rs"]
#[allow(dead_code)] // half of it is for the command line
mod scans;
mod send;
mod soak;
mod spectra;
mod sweeps;
mod targets;
#[path = "../support/toy.rs"]
#[allow(dead_code)] // the window makes jobs of its own
mod toy;
mod transitions;
mod tubes;
mod variation;
mod views;
mod work;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crossbeam_channel::unbounded;
use egui_kittest::kittest::Queryable as _;
use egui_kittest::wgpu::WgpuTestRenderer;
use egui_kittest::{Harness, HarnessBuilder};
use tomoscope::plan::{Cache, DeviceChoice};
use tomoscope::session::Trace;
use tomoscope::ui::{App, AppOptions, BUILT_IN, Source};

/// The smallest built-in study.
fn small_study() -> Source {
    Source::BuiltIn(BUILT_IN[BUILT_IN.len() - 1].clone())
}

/// A renderer, or `None` (said so) on a machine without a graphics adapter.
fn renderer() -> Option<WgpuTestRenderer> {
    if let Ok(renderer) = std::panic::catch_unwind(WgpuTestRenderer::new) {
        return Some(renderer);
    }
    assert!(
        std::env::var_os("TOMOSCOPE_REQUIRE_GPU_TESTS").is_none(),
        "TOMOSCOPE_REQUIRE_GPU_TESTS is set, but there is no graphics adapter"
    );
    println!("skipped: no adapter");
    None
}

/// Where tubes are kept: not where the user's are.
fn tube_folder() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("tubes")
}

fn cache() -> Cache {
    Cache::at(&tube_folder())
}

/// The window on the small study, with or without its reconstruction under way.
fn window(renderer: WgpuTestRenderer, size: [f32; 2], theme: egui::Theme, autostart: bool) -> Harness<'static, App> {
    window_on(renderer, size, theme, autostart, small_study())
}

/// The window on a study.
fn window_on(
    renderer: WgpuTestRenderer,
    size: [f32; 2],
    theme: egui::Theme,
    autostart: bool,
    start: Source,
) -> Harness<'static, App> {
    // What is looked at must not depend on the GPU of the machine.
    let device = DeviceChoice::Cpu;
    let options = AppOptions {
        start,
        autostart,
        device,
        num_iterations: Some(3),
        for_pictures: true,
        desktop_dialogs: false,
        cache: cache(),
        trace: Trace::off(),
    };
    let builder: HarnessBuilder<App> = Harness::builder().with_size(size).with_theme(theme).renderer(renderer);
    builder.build_eframe(|creation| App::new(creation, options))
}

/// Opens a built-in study; an image that nobody saved is given up.
fn choose_built_in(harness: &mut Harness<'_, App>, title: &str) {
    click(harness, "Built-in");
    click(harness, title);
    give_up_unsaved(harness);
}

/// Answers the question about what nobody saved, where it is asked.
fn give_up_unsaved(harness: &mut Harness<'_, App>) {
    if harness.query_by_label("Don't save").is_some() {
        click(harness, "Don't save");
    }
}

/// Frames until something holds; fails after some minutes.
fn wait_for(harness: &mut Harness<'_, App>, what: &str, holds: impl Fn(&App) -> bool) {
    wait_to_see(harness, what, |harness| holds(harness.state()));
}

/// Waits until every file is written.
fn wait_for_files(harness: &mut Harness<'_, App>) {
    wait_for(harness, "the file", |app| !app.is_writing());
    harness.run_steps(3);
}

/// The same of something that is seen in the window.
fn wait_to_see(harness: &mut Harness<'_, App>, what: &str, holds: impl Fn(&Harness<'_, App>) -> bool) {
    let deadline = Instant::now() + Duration::from_secs(180);
    let (ask, asked) = unbounded();
    harness.ctx.set_request_repaint_callback(move |frame| {
        // Other threads wake it after a moment.
        if frame.delay < Duration::from_millis(10) {
            let _ = ask.send(());
        }
    });
    harness.step();
    while !holds(harness) {
        assert!(Instant::now() < deadline, "{what} did not come about");
        // A frame is drawn when the last one wished, or when another thread wakes the window.
        let wished = Instant::now().checked_add(harness.output().viewport_output[&egui::ViewportId::ROOT].repaint_delay);
        let _ = asked.recv_deadline(wished.map_or(deadline, |wished| wished.min(deadline)));
        harness.step();
    }
    harness.run_steps(3);
}

/// The small study, reconstructed to its end.
fn finished(size: [f32; 2], theme: egui::Theme) -> Option<Harness<'static, App>> {
    let mut harness = window(renderer()?, size, theme, true);
    wait_for(&mut harness, "the end of the run", App::is_run_over);
    Some(harness)
}

/// Drags the pointer between two places of a widget, given as fractions of its sides.
fn drag(harness: &mut Harness<'_, App>, label: &str, from: [f32; 2], to: [f32; 2]) {
    let rect = harness.get_by_label(label).rect();
    let at = |t: [f32; 2]| rect.min + egui::vec2(t[0] * rect.width(), t[1] * rect.height());
    let (from, to) = (at(from), at(to));
    harness.hover_at(from);
    harness.step();
    harness.drag_at(from);
    harness.step();
    for k in 1..=4 {
        harness.hover_at(from + (k as f32 / 4.0) * (to - from));
        harness.step();
    }
    harness.drop_at(to);
    harness.run_steps(2);
}

/// Shows the settings that only the reproduction of a paper needs.
fn show_research(harness: &mut Harness<'_, App>) {
    click(harness, "Views");
    click(harness, "Research settings");
    click(harness, "Views");
}

/// Scrolls to a widget that is above or below the window.
fn bring_into_view(harness: &mut Harness<'_, App>, label: &str) {
    const BARS: f32 = 36.0;
    let (widget, window) = (harness.get_by_label(label), harness.ctx.content_rect());
    if !(window.top() + BARS..window.bottom() - BARS).contains(&widget.rect().center().y) {
        widget.scroll_to_me();
        harness.run_steps(6);
    }
}

/// Clicks a widget and lets the window follow.
fn click(harness: &mut Harness<'_, App>, label: &str) {
    bring_into_view(harness, label);
    harness.get_by_label(label).click();
    harness.run_steps(3);
}

/// On how many iterates a ROI of the newest edit was measured.
fn num_measured(app: &App, roi: usize) -> usize {
    let Some(branch) = app.live().rois.newest() else { return 0 };
    branch.points.values().filter(|point| point.sums.get(roi).is_some_and(Option::is_some)).count()
}
