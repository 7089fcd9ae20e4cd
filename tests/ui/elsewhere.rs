//! A window whose solver is in another process, through the built program.

use std::path::{Path, PathBuf};
use std::process::Command;

use egui_kittest::kittest::Queryable as _;
use egui_kittest::{Harness, HarnessBuilder};
use tomoscope::plan::DeviceChoice;
use tomoscope::session::wire::Line;
use tomoscope::session::{EndReason, Session, SessionOptions, Trace};
use tomoscope::ui::{App, AppOptions, RunState, Source};

use super::{cache, click, num_measured, renderer, wait_for, wait_to_see};

/// A scan of the small scanner in a folder of its own.
fn scan(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    let mut program = Command::new(env!("CARGO_BIN_EXE_tomoscope"));
    program.args(["simulate", "cylinder", "--scanner", "small", "--counts", "2e6", "-o", "small.hs"]).current_dir(&folder);
    assert!(program.output().unwrap().status.success());
    folder
}

/// A window on the scan of a folder, whose server says its process's number in `server.pid` there.
fn window(folder: &Path) -> Option<Harness<'static, App>> {
    let options = AppOptions {
        start: Source::Elsewhere(folder.join("small.hs").to_str().unwrap().to_owned()),
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
    let folder = scan("window-elsewhere");
    let Some(mut harness) = window(&folder) else { return };
    wait_for(&mut harness, "the end of the run", App::is_run_over);
    assert_eq!(harness.state().live().state, RunState::Ended(EndReason::Completed));
    let last = |app: &App| app.shown().newest_id().map(|id| id.iteration);
    wait_for(&mut harness, "the whole image", |app| last(app) == Some(3));
    assert!(harness.state().shown().volume().is_some_and(|volume| volume.sum() > 0.0));
    // The study's head is here: what it is, and how many counts it has.
    harness.get_by_label("2.0 million");
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
    assert!(Command::new("kill").args(["-9", pid.trim()]).status().unwrap().success());
    wait_to_see(&mut harness, "that the session is over", |harness| {
        harness.query_all_by_label_contains("is over").next().is_some()
    });
    assert_eq!(last(harness.state()), Some(3));
}
