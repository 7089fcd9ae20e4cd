//! A window whose solver is in another process, through the built program.

use std::path::{Path, PathBuf};
use std::process::Command;

use egui::accesskit::Role;
use egui_kittest::kittest::Queryable as _;
use egui_kittest::{Harness, HarnessBuilder};
use tomoscope::plan::DeviceChoice;
use tomoscope::session::wire::Line;
use tomoscope::session::{EndReason, Session, SessionOptions, Trace};
use tomoscope::ui::{App, AppOptions, RunState, Source};

use super::files::save_image_as;
use super::regions::enter;
use super::{cache, click, num_measured, renderer, wait_for, wait_to_see};

/// A folder of its own with a scan, as the program simulates it with these words.
fn scan(name: &str, words: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    let mut program = Command::new(env!("CARGO_BIN_EXE_tomoscope"));
    program.args(words.split(' ')).current_dir(&folder);
    assert!(program.output().unwrap().status.success());
    folder
}

/// A window on a scan in a folder, whose server says its process's number in `server.pid` there.
fn window(folder: &Path, file: &str) -> Option<Harness<'static, App>> {
    let options = AppOptions {
        start: Source::Elsewhere(folder.join(file).to_str().unwrap().to_owned()),
        autostart: true,
        device: DeviceChoice::Cpu,
        num_iterations: Some(3),
        for_pictures: false,
        desktop_dialogs: false,
        cache: cache(),
        trace: Trace::off(),
    };
    let text = |path: &Path| path.to_str().unwrap().to_owned();
    let script = "echo $$ > \"$0\"; exec \"$1\" serve --stdio --linger 30";
    let (kept, pid) = (format!("XDG_CACHE_HOME={}", text(folder)), text(&folder.join("server.pid")));
    let words = ["env", &kept, "sh", "-c", script, &pid, env!("CARGO_BIN_EXE_tomoscope")].map(Into::into);
    let builder: HarnessBuilder<App> = Harness::builder().with_size([1280.0, 900.0]).renderer(renderer()?);
    Some(builder.build_eframe(|creation| {
        let ctx = creation.egui_ctx.clone();
        let dial = Box::new(move || Line::through(&words));
        let session = Session::elsewhere("there", dial, &SessionOptions::default(), move || ctx.request_repaint());
        App::with_session(creation, options, session)
    }))
}

#[cfg(unix)]
#[test]
fn a_scan_elsewhere_is_reconstructed_in_the_same_window() {
    let folder = scan("window-elsewhere", "simulate cylinder --scanner small --counts 2e6 -o small.hs");
    let Some(mut harness) = window(&folder, "small.hs") else { return };
    wait_for(&mut harness, "the end of the run", App::is_run_over);
    assert_eq!(harness.state().live().state, RunState::Ended(EndReason::Completed));
    let last = |app: &App| app.shown().newest_id().map(|id| id.iteration);
    wait_for(&mut harness, "the whole image", |app| last(app) == Some(3));
    assert!(harness.state().shown().volume().is_some_and(|volume| volume.sum() > 0.0));
    // The study's head is here: what it is, and how many counts it has.
    harness.get_by_label("2.0 million");
    // It is saved here, with the record of what made it there.
    save_image_as(&mut harness, &folder.join("saved.npy"));
    wait_for(&mut harness, "the image's file", |app| app.notices().texts().any(|text| text.contains("saved.npy saved")));
    let record = std::fs::read_to_string(folder.join("saved.json")).unwrap();
    assert!(record.contains(" on ") && record.contains("small.hs"), "{record}");
    // What another start needs there.
    wait_for(&mut harness, "the forecast", |app| app.next_start().is_some());
    let forecast = harness.state().next_start().unwrap().as_ref().unwrap();
    assert!(forecast.memory_bytes > 0 && forecast.device.contains(" on "), "{forecast:?}");
    wait_to_see(&mut harness, "the latency", |harness| harness.query_all_by_label_contains(" ms").next().is_some());
    // Something is computed there from an image that is here.
    click(&mut harness, "Add sphere");
    wait_for(&mut harness, "the region's curve", |app| num_measured(app, 0) >= 3);
    // What is not there is not opened from here.
    click(&mut harness, "Built-in");
    click(&mut harness, "Small cylinder, small ring");
    wait_for(&mut harness, "a notice", |app| app.notices().texts().any(|text| text.contains("without --connect")));
    // The server is killed: the window says so, and keeps the image.
    let pid = std::fs::read_to_string(folder.join("server.pid")).unwrap();
    // The shell's own `kill`: not every machine has the command.
    assert!(Command::new("sh").args(["-c", &format!("kill -9 {}", pid.trim())]).status().unwrap().success());
    wait_to_see(&mut harness, "that the session is over", |harness| {
        harness.query_all_by_label_contains("is over").next().is_some()
    });
    assert_eq!(last(harness.state()), Some(3));
}

#[cfg(unix)]
#[test]
fn a_list_elsewhere_is_reconstructed_in_the_same_window_and_its_frames_too() {
    let words = "simulate cylinder --scanner small --list-mode --counts 2e5 --duration-secs 10 -o small.petsird";
    let folder = scan("window-list-elsewhere", words);
    let Some(mut harness) = window(&folder, "small.petsird") else { return };
    wait_for(&mut harness, "the end of the run", App::is_run_over);
    assert_eq!(harness.state().live().state, RunState::Ended(EndReason::Completed));
    let last = |app: &App| app.shown().newest_id().map(|id| id.iteration);
    wait_for(&mut harness, "the whole image", |app| last(app) == Some(3));
    // Its head is here, and no event.
    harness.get_by_label_contains(" rings of ");
    let list = &harness.state().list().unwrap().measured;
    assert!(list.prompts.is_empty() && list.numbers().num_prompts > 100_000, "{:?}", list.numbers());
    click(&mut harness, "Rates");
    harness.get_by_label("Plot: counts per second");
    // Frames one after the other; the image of one that has gone by comes when it is looked at.
    click(&mut harness, "Regions");
    harness.get_by_role_and_label(Role::TextInput, "Frames").scroll_to_me();
    harness.run_steps(3);
    enter(&mut harness, "Frames", "2x2,1x4");
    harness.get_by_label("Restart").scroll_to_me();
    harness.run_steps(3);
    click(&mut harness, "Restart");
    wait_for(&mut harness, "the end of the series", |app| app.frames().is_some_and(|series| series.is_over()));
    harness.get_by_role_and_label(Role::Slider, "Frame").set_value_accesskit(0.0);
    harness.run_steps(3);
    let runs: Vec<_> = harness.state().frames().unwrap().done().values().map(|frame| frame.live.run).collect();
    assert_eq!(runs.len(), 3);
    wait_for(&mut harness, "the first frame's image", |app| {
        app.shown().id().is_some_and(|id| (id.run, id.iteration) == (runs[0], 3))
    });
    assert!(harness.state().shown().volume().is_some_and(|volume| volume.sum() > 0.0));
}

#[cfg(unix)]
#[test]
fn a_sweep_elsewhere_is_reconstructed_in_the_same_window() {
    let folder = scan("window-sweep-elsewhere", "simulate ball --epri 66 -o ball.sweep");
    let Some(mut harness) = window(&folder, "ball.sweep") else { return };
    wait_for(&mut harness, "the end of the run", App::is_run_over);
    assert_eq!(harness.state().live().state, RunState::Ended(EndReason::Completed));
    wait_for(&mut harness, "the whole image", |app| app.shown().volume().is_some_and(|volume| volume.sum() > 0.0));
    // All its projections are here; but it is not played again.
    assert!(harness.query_all_by_label_contains("66").next().is_some());
    click(&mut harness, "Replay");
    wait_for(&mut harness, "a notice", |app| app.notices().texts().any(|text| text.contains("is not played again")));
}
