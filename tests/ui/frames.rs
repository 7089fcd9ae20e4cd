//! Frames of the window while a solver computes, drawn one after the other without a display.
//!
//! `TOMOSCOPE_FRAMES=SECS` draws for so long, alone and with two runs side by side, on whatever the solver and the adapter are, and
//! prints the times; with `TOMOSCOPE_FRAMES_TRACE=FILE` it leaves the time line there. Else it is a short look.

use std::path::Path;
use std::time::{Duration, Instant};

use egui::Theme;
use egui_kittest::kittest::Queryable as _;
use egui_kittest::{Harness, HarnessBuilder};
use tomoscope::plan::DeviceChoice;
use tomoscope::session::Trace;
use tomoscope::ui::{App, AppOptions, BUILT_IN, Source};

use super::{cache, click, renderer, small_study, wait_for};

const SIZE: [f32; 2] = [1280.0, 900.0];

/// Draws frames for so long; milliseconds of each: the window's own code, and all with the picture.
fn draw(harness: &mut Harness<'_, App>, time: Duration) -> Vec<[f64; 2]> {
    let begin = Instant::now();
    let mut frames = Vec::new();
    while begin.elapsed() < time {
        let start = Instant::now();
        harness.step();
        let own = start.elapsed();
        harness.render().unwrap();
        frames.push([own, start.elapsed()].map(|time| 1e3 * time.as_secs_f64()));
    }
    frames
}

fn told(what: &str, frames: &[[f64; 2]], app: &App) {
    let quantile = |which: usize, part: f64| {
        let mut times: Vec<f64> = frames.iter().map(|frame| frame[which]).collect();
        times.sort_by(f64::total_cmp);
        times[((times.len() - 1) as f64 * part) as usize]
    };
    let [own, own_99, all, all_99] = [(0, 0.5), (0, 0.99), (1, 0.5), (1, 0.99)].map(|(which, part)| quantile(which, part));
    println!(
        "{what}: {} frames, own code {own:.2} ms ({own_99:.2} of 99 %), with picture {all:.2} ms ({all_99:.2}), {} steps, {}",
        frames.len(),
        app.live().progress().0,
        app.adapter(),
    );
}

#[test]
fn frames_are_drawn_while_the_solver_computes() {
    let secs = std::env::var("TOMOSCOPE_FRAMES").ok().and_then(|text| text.parse().ok());
    let Some(renderer) = renderer() else { return };
    let trace = std::env::var("TOMOSCOPE_FRAMES_TRACE").map_or(Trace::off(), |path| Trace::to_file(Path::new(&path)).unwrap());
    let options = AppOptions {
        start: if secs.is_some() { Source::BuiltIn(BUILT_IN[0].clone()) } else { small_study() },
        autostart: true,
        device: if secs.is_some() { DeviceChoice::Auto } else { DeviceChoice::Cpu },
        num_iterations: Some(100_000),
        for_pictures: false,
        desktop_dialogs: false,
        cache: cache(),
        trace,
    };
    let time = Duration::from_secs_f64(secs.unwrap_or(0.5));
    let builder: HarnessBuilder<App> = Harness::builder().with_size(SIZE).with_theme(Theme::Dark).renderer(renderer);
    let mut harness = builder.build_eframe(|creation| App::new(creation, options));
    wait_for(&mut harness, "an image", |app| app.shown().volume().is_some());
    let first = harness.state().live().progress().0;
    let frames = draw(&mut harness, time);
    told("one run", &frames, harness.state());
    assert!(harness.state().live().progress().0 > first, "the solver goes on");
    click(&mut harness, "Restart");
    wait_for(&mut harness, "the second run", |app| app.live().run == 2 && app.live().is_measured());
    harness.get_by_label("side by side").click();
    harness.run_steps(2);
    let frames = draw(&mut harness, time);
    told("two runs side by side", &frames, harness.state());
    assert_eq!(harness.state().kept_runs().count(), 1);
}
