//! The window, driven by the names of its widgets.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crossbeam_channel::unbounded;
use egui::accesskit::Role;
use egui::{Event, Key, ViewportCommand, ViewportEvent, ViewportId};
use egui_kittest::kittest::Queryable as _;
use egui_kittest::wgpu::WgpuTestRenderer;
use egui_kittest::{Harness, HarnessBuilder};
use tomoscope::data::tof_mm;
use tomoscope::io::list_mode::petsird::PetsirdWriter;
use tomoscope::io::{map_beside, write_volume};
use tomoscope::phantom::{ListSimulation, by_name, simulate_list};
use tomoscope::plan::{Cache, DeviceChoice};
use tomoscope::scanner::find;
use tomoscope::session::Trace;
use tomoscope::task::Task;
use tomoscope::ui::{App, AppOptions, BUILT_IN, Source};

use super::kept;

/// The smallest built-in study.
pub fn small_study() -> Source {
    Source::BuiltIn(BUILT_IN[BUILT_IN.len() - 1].clone())
}

/// A renderer, or `None` (said so) on a machine without a graphics adapter.
pub fn renderer() -> Option<WgpuTestRenderer> {
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
pub fn tube_folder() -> PathBuf {
    kept().join("tubes")
}

pub fn cache() -> Cache {
    Cache::at(&tube_folder())
}

/// The window on the small study, with or without its reconstruction under way.
pub fn window(renderer: WgpuTestRenderer, size: [f32; 2], theme: egui::Theme, autostart: bool) -> Harness<'static, App> {
    window_on(renderer, size, theme, autostart, small_study())
}

/// The window on a study.
pub fn window_on(
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

/// Opens a built-in study; an unsaved image is discarded.
pub fn choose_built_in(harness: &mut Harness<'_, App>, title: &str) {
    click(harness, "Built-in");
    click(harness, title);
    give_up_unsaved(harness);
}

/// Answers the question about unsaved work, if it appears.
pub fn give_up_unsaved(harness: &mut Harness<'_, App>) {
    if harness.query_by_label("Don't save").is_some() {
        click(harness, "Don't save");
    }
}

/// Frames until something holds; fails after some minutes.
pub fn wait_for(harness: &mut Harness<'_, App>, what: &str, holds: impl Fn(&App) -> bool) {
    wait_to_see(harness, what, |harness| holds(harness.state()));
}

/// Waits until every file is written.
pub fn wait_for_files(harness: &mut Harness<'_, App>) {
    wait_for(harness, "the file", |app| !app.work.is_writing());
    harness.run_steps(3);
}

/// The same of something that is seen in the window.
pub fn wait_to_see(harness: &mut Harness<'_, App>, what: &str, holds: impl Fn(&Harness<'_, App>) -> bool) {
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
pub fn finished(size: [f32; 2], theme: egui::Theme) -> Option<Harness<'static, App>> {
    let mut harness = window(renderer()?, size, theme, true);
    wait_for(&mut harness, "the end of the run", |app| app.work.is_run_over());
    Some(harness)
}

/// Drags the pointer between two places of a widget, given as fractions of its sides.
pub fn drag(harness: &mut Harness<'_, App>, label: &str, from: [f32; 2], to: [f32; 2]) {
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
pub fn show_research(harness: &mut Harness<'_, App>) {
    click(harness, "Views");
    click(harness, "Research settings");
    click(harness, "Views");
}

/// Scrolls to a widget that is above or below the window.
pub fn bring_into_view(harness: &mut Harness<'_, App>, label: &str) {
    const BARS: f32 = 36.0;
    let (widget, window) = (harness.get_by_label(label), harness.ctx.content_rect());
    if !(window.top() + BARS..window.bottom() - BARS).contains(&widget.rect().center().y) {
        widget.scroll_to_me();
        harness.run_steps(6);
    }
}

/// Clicks a widget and lets the window follow.
pub fn click(harness: &mut Harness<'_, App>, label: &str) {
    bring_into_view(harness, label);
    harness.get_by_label(label).click();
    harness.run_steps(3);
}

/// On how many iterates a ROI of the newest edit was measured.
pub fn num_measured(app: &App, roi: usize) -> usize {
    let Some(branch) = app.work.live().rois.newest() else { return 0 };
    branch.points.values().filter(|point| point.sums.get(roi).is_some_and(Option::is_some)).count()
}
/// Types without a click: what has the focus gets it.
pub fn type_text(harness: &mut Harness<'_, App>, text: &str) {
    harness.event(Event::Text(text.into()));
    harness.run_steps(2);
}

pub fn press(harness: &mut Harness<'_, App>, key: Key) {
    harness.key_press(key);
    harness.run_steps(3);
}

/// Saves the image under a path that is typed.
pub fn save_image_as(harness: &mut Harness<'_, App>, path: &Path) {
    type_image_path(harness, path);
    press(harness, Key::Enter);
    wait_for_files(harness);
}

/// Types the path under which Enter saves the image.
pub fn type_image_path(harness: &mut Harness<'_, App>, path: &Path) {
    harness.get_by_label("Save image…").scroll_to_me();
    harness.run_steps(3);
    click(harness, "Save image…");
    type_text(harness, path.to_str().unwrap());
}

/// Asks the window to close; whether it does.
pub fn close(harness: &mut Harness<'_, App>) -> bool {
    harness.run_steps(1);
    harness.input_mut().viewports.get_mut(&ViewportId::ROOT).unwrap().events.push(ViewportEvent::Close);
    harness.step();
    let closes = !commands(harness).contains(&ViewportCommand::CancelClose);
    harness.run_steps(3);
    closes
}

/// What the window asked of the desktop in the last frame.
pub fn commands<'a>(harness: &'a Harness<'_, App>) -> &'a [ViewportCommand] {
    &harness.output().viewport_output[&ViewportId::ROOT].commands
}

/// Types a path and accepts it; whether the window then closes by itself.
pub fn type_path(harness: &mut Harness<'_, App>, path: &Path) -> bool {
    harness.event(Event::Text(path.to_str().unwrap().into()));
    harness.run_steps(2);
    harness.key_down(Key::Enter);
    harness.step();
    let mut closes = commands(harness).contains(&ViewportCommand::Close);
    harness.key_up(Key::Enter);
    while harness.state().work.is_writing() {
        std::thread::sleep(Duration::from_millis(2));
        harness.step();
        closes |= commands(harness).contains(&ViewportCommand::Close);
    }
    harness.run_steps(3);
    closes
}

/// The file as the desktop drops it.
#[derive(Debug)]
struct Dropped(PathBuf);

impl egui::DroppedFile for Dropped {
    fn path(&self) -> &Path {
        &self.0
    }

    fn bytes(&self) -> Result<Vec<u8>, String> {
        std::fs::read(&self.0).map_err(|error| error.to_string())
    }
}

/// A file among those that are dropped next.
pub fn hold(harness: &mut Harness<'_, App>, path: &Path) {
    harness.input_mut().dropped_files.push(Arc::new(Dropped(path.to_owned())));
}

pub fn drop_file(harness: &mut Harness<'_, App>, path: &Path) {
    hold(harness, path);
    harness.run_steps(4);
}

/// A list of the small ring, with time of flight, randoms and a map of its attenuation.
pub fn list(folder: &Path) -> PathBuf {
    let scanner = &find("small").unwrap().geometry;
    let options = ListSimulation {
        counts: 20_000.0,
        attenuation: true,
        seed: 1,
        duration_secs: 10.0,
        tof_fwhm_mm: Some(tof_mm(300.0)),
        randoms_fraction: 0.2,
    };
    let phantom = by_name("cylinder", scanner).unwrap();
    let simulated = simulate_list(&phantom, scanner, &options, &Task::new()).unwrap().measured;
    let path = folder.join("events.petsird");
    let map = phantom.attenuation(&scanner.default_grid().unwrap(), &Task::new()).unwrap();
    write_volume(&map_beside(&path), &map).unwrap();
    let mut writer = PetsirdWriter::create(&path, &simulated.facts, 100).unwrap();
    writer.write(&simulated.events).unwrap();
    writer.finish().unwrap();
    path
}

/// Types into a text field and leaves it.
pub fn enter(harness: &mut Harness<'_, App>, label: &str, text: &str) {
    harness.get_by_role_and_label(Role::TextInput, label).focus();
    harness.run_steps(2);
    harness.get_by_role_and_label(Role::TextInput, label).type_text(text);
    harness.run_steps(2);
    harness.key_press(egui::Key::Enter);
    harness.run_steps(3);
}
