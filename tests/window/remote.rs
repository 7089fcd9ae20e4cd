//! A window whose solver is in another process, through the built program.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use egui::accesskit::Role;
use egui_kittest::kittest::Queryable as _;
use egui_kittest::{Harness, HarnessBuilder};
use tomoscope::data::{Unit, Volume};
use tomoscope::io::{read_volume, store_calibration};
use tomoscope::plan::{DeviceChoice, StudyFiles};
use tomoscope::remote::{Connection, connect};
use tomoscope::session::{EndReason, SessionOptions, Trace};
use tomoscope::ui::{App, AppOptions, Model, RunState, Source};

use super::enter;
use super::list;
use super::save_image_as;
use super::{cache, click, give_up_unsaved, num_measured, renderer, wait_for, wait_to_see};
use super::{drop_file, type_path};

/// A folder of its own.
fn empty(name: &str) -> PathBuf {
    let folder = tomoscope_support::kept().join(name);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

/// One with a scan, as the program simulates it with these words.
fn scan(name: &str, words: &str) -> PathBuf {
    let folder = empty(name);
    let mut program = Command::new(env!("CARGO_BIN_EXE_tomoscope"));
    program.args(words.split(' ')).current_dir(&folder);
    assert!(program.output().unwrap().status.success());
    folder
}

/// A window on a scan in a folder, whose server says its process's number in `server.pid` there.
fn window(folder: &Path, file: &str) -> Option<Harness<'static, App>> {
    let options = AppOptions {
        start: Source::Elsewhere(StudyFiles::File(folder.join(file))),
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
        let dial = Box::new(move || Connection::through(&words));
        let (session, remote) = connect("there", dial, &SessionOptions::default(), move || ctx.request_repaint());
        App::with_session(creation, options, session, Some(remote))
    }))
}

#[test]
fn a_scan_elsewhere_is_reconstructed_in_the_same_window() {
    let folder = scan("window-elsewhere", "simulate cylinder --scanner small --counts 2e6 -o small.hs");
    let Some(mut harness) = window(&folder, "small.hs") else { return };
    wait_for(&mut harness, "the end of the run", |app| app.work.is_run_over());
    assert_eq!(harness.state().work.live().state, RunState::Ended(EndReason::Completed));
    let last = |app: &App| app.work.shown().newest_id().map(|id| id.iteration);
    wait_for(&mut harness, "the whole image", |app| last(app) == Some(3));
    assert!(harness.state().work.shown().volume().is_some_and(|volume| volume.sum() > 0.0));
    // The study's head is here: what it is, and how many counts it has.
    harness.get_by_label("2.0 million");
    // It is saved here, with the record of what made it there.
    save_image_as(&mut harness, &folder.join("saved.npy"));
    wait_for(&mut harness, "the image's file", |app| app.work.notices().texts().any(|text| text.contains("saved.npy saved")));
    let record = std::fs::read_to_string(folder.join("saved.npy.json")).unwrap();
    assert!(record.contains(" on ") && record.contains("small.hs"), "{record}");
    // What another start needs there.
    wait_for(&mut harness, "the forecast", |app| app.work.next_start().is_some());
    let forecast = harness.state().work.next_start().unwrap().as_ref().unwrap();
    assert!(forecast.memory_bytes > 0 && forecast.device.contains(" on "), "{forecast:?}");
    wait_to_see(&mut harness, "the latency", |harness| harness.query_all_by_label_contains(" ms").next().is_some());
    // Something is computed there from an image that is here.
    click(&mut harness, "Add sphere");
    wait_for(&mut harness, "the region's curve", |app| num_measured(app, 0) >= 3);
    // The bins of its sinogram are not here.
    click(&mut harness, "Model");
    harness.get_by_label_contains("projection data are on the remote host");
    assert!(harness.state().tool::<Model>().is_none_or(|model| model.row().is_none()));
    // What is not there is not opened from here.
    click(&mut harness, "Built-in");
    click(&mut harness, "Small cylinder, small ring");
    wait_for(&mut harness, "a notice", |app| app.work.notices().texts().any(|text| text.contains("without --connect")));
    // The server is killed: the window says so, and keeps the image.
    let pid = std::fs::read_to_string(folder.join("server.pid")).unwrap();
    // The shell's own `kill`: not every machine has the command.
    assert!(Command::new("sh").args(["-c", &format!("kill -9 {}", pid.trim())]).status().unwrap().success());
    wait_to_see(&mut harness, "that the session is over", |harness| {
        harness.query_all_by_label_contains("is over").next().is_some()
    });
    assert_eq!(last(harness.state()), Some(3));
}

/// The calibration beside the scan on the server is that of the images here.
#[test]
fn a_scan_elsewhere_has_the_calibration_of_its_folder() {
    let folder = scan("window-calibration-elsewhere", "simulate cylinder --scanner small --counts 2e5 -o small.hs");
    store_calibration(&folder.join("small.hs"), Some(1000.0)).unwrap();
    let Some(mut harness) = window(&folder, "small.hs") else { return };
    wait_for(&mut harness, "the end of the run", |app| app.work.is_run_over());
    wait_for(&mut harness, "the whole image", |app| app.work.shown().newest_id().map(|id| id.iteration) == Some(3));
    let counts = harness.state().work.shown().volume().unwrap().sum();
    save_image_as(&mut harness, &folder.join("saved.npy"));
    wait_for(&mut harness, "the image's file", |app| app.work.notices().texts().any(|text| text.contains("saved.npy saved")));
    let (saved, _) = read_volume(&folder.join("saved.npy")).unwrap();
    assert_eq!(saved.unit, Unit::BqPerMl);
    assert!((saved.sum() / counts / 1000.0 - 1.0).abs() < 1e-6, "{} of {counts}", saved.sum());
}

#[test]
fn spectra_elsewhere_stay_there() {
    let words =
        "simulate vials --epri 2d:8 --points 32 --extent-mm 60 --linewidths-mt 0.3 --sweep-mt 3.2 --gradients 4 -o vials.sweep";
    let folder = scan("window-spectra-elsewhere", words);
    let Some(mut harness) = window(&folder, "vials.sweep") else { return };
    wait_for(&mut harness, "the end of the run", |app| app.work.is_run_over());
    assert_eq!(harness.state().work.live().state, RunState::Ended(EndReason::Completed));
    // The height of the spectra is here.
    wait_for(&mut harness, "the whole image", |app| app.work.shown().newest_id().map(|id| id.iteration) == Some(3));
    assert!(harness.state().work.shown().volume().is_some_and(|volume| volume.sum() > 0.0));
    wait_to_see(&mut harness, "the reason", |harness| harness.query_by_label_contains("The spectra stay on ").is_some());
    assert!(harness.state().work.line_images().is_none() && harness.query_by_label("Linewidth").is_none());
}

#[test]
fn a_list_elsewhere_is_reconstructed_in_the_same_window_and_its_frames_too() {
    let words = "simulate cylinder --scanner small --list-mode --counts 2e5 --duration-secs 10 -o small.petsird";
    let folder = scan("window-list-elsewhere", words);
    let Some(mut harness) = window(&folder, "small.petsird") else { return };
    wait_for(&mut harness, "the end of the run", |app| app.work.is_run_over());
    assert_eq!(harness.state().work.live().state, RunState::Ended(EndReason::Completed));
    let last = |app: &App| app.work.shown().newest_id().map(|id| id.iteration);
    wait_for(&mut harness, "the whole image", |app| last(app) == Some(3));
    // Its head is here, and no event.
    harness.get_by_label_contains(" rings of ");
    let list = harness.state().work.list().unwrap();
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
    wait_for(&mut harness, "the end of the series", |app| app.work.frames().is_some_and(|series| series.is_over()));
    harness.get_by_role_and_label(Role::Slider, "Frame").set_value_accesskit(0.0);
    harness.run_steps(3);
    let runs: Vec<_> = harness.state().work.frames().unwrap().done().values().map(|frame| frame.live.run).collect();
    assert_eq!(runs.len(), 3);
    wait_for(&mut harness, "the first frame's image", |app| {
        app.work.shown().id().is_some_and(|id| (id.run, id.iteration) == (runs[0], 3))
    });
    assert!(harness.state().work.shown().volume().is_some_and(|volume| volume.sum() > 0.0));
}

/// Waits for the image of a whole run; its sum.
fn sum_of_image(harness: &mut Harness<'_, App>) -> f64 {
    wait_for(harness, "the end of the run", |app| app.work.is_run_over());
    assert_eq!(harness.state().work.live().state, RunState::Ended(EndReason::Completed));
    wait_for(harness, "the whole image", |app| app.work.shown().newest_id().is_some_and(|id| id.iteration == 3));
    harness.state().work.shown().volume().map_or(0.0, Volume::sum)
}

#[test]
fn a_scan_elsewhere_is_corrected_by_files_that_are_there() {
    let words = "simulate cylinder --scanner small --counts 2e6 --attenuation --background 0.2 -o small.hs";
    let folder = scan("window-corrected-elsewhere", words);
    let Some(mut harness) = window(&folder, "small.hs") else { return };
    let corrected = sum_of_image(&mut harness);
    // They lie beside it, and come along; taken away, the study stays the same one.
    harness.get_by_label("multiplicative: small_mult.hs; additive: small_add.hs");
    click(&mut harness, "Add sphere");
    let drawn = harness.state().work.document().clone();
    let run = harness.state().work.live().run;
    click(&mut harness, "without multiplicative");
    give_up_unsaved(&mut harness);
    wait_to_see(&mut harness, "no factors", |harness| harness.query_by_label("additive: small_add.hs").is_some());
    wait_for(&mut harness, "another run", |app| app.work.live().run != run);
    let without = sum_of_image(&mut harness);
    assert!(without < 0.8 * corrected, "{without} {corrected}");
    assert_eq!((harness.state().work.document(), drawn.rois.len()), (&drawn, 1));
    // Another file is named by its path there, or its name beside the study. One that is not there leaves all as it was.
    for (file, is_there) in [("other.hs", false), ("small_mult.hs", true)] {
        click(&mut harness, "Multiplicative…");
        harness.get_by_label_contains("Path on");
        type_path(&mut harness, Path::new(file));
        give_up_unsaved(&mut harness);
        if !is_there {
            wait_for(&mut harness, "a notice", |app| app.work.notices().texts().any(|text| text.contains("other.hs")));
            harness.get_by_label("additive: small_add.hs");
        }
    }
    wait_to_see(&mut harness, "factors", |harness| {
        harness.query_by_label("multiplicative: small_mult.hs; additive: small_add.hs").is_some()
    });
    assert!((sum_of_image(&mut harness) - corrected).abs() < 1e-6 * corrected);
}

#[test]
fn a_list_elsewhere_is_corrected_by_a_map_that_is_there() {
    let folder = empty("window-mapped-elsewhere");
    list(&folder);
    let Some(mut harness) = window(&folder, "events.petsird") else { return };
    let without = sum_of_image(&mut harness);
    click(&mut harness, "Attenuation…");
    type_path(&mut harness, &folder.join("events_mu.nii.gz"));
    give_up_unsaved(&mut harness);
    let words = "efficiencies; randoms; attenuation: events_mu.nii.gz";
    wait_to_see(&mut harness, "the map", |harness| harness.query_by_label(words).is_some());
    let corrected = sum_of_image(&mut harness);
    assert!(without < 0.8 * corrected, "{without} {corrected}");
    // The record of what is saved here names the file.
    save_image_as(&mut harness, &folder.join("saved.npy"));
    wait_for(&mut harness, "the image's file", |app| app.work.notices().texts().any(|text| text.contains("saved.npy saved")));
    assert!(std::fs::read_to_string(folder.join("saved.npy.json")).unwrap().contains("events_mu.nii.gz"));
    harness.get_by_label("without attenuation").scroll_to_me();
    harness.run_steps(3);
    click(&mut harness, "without attenuation");
    wait_to_see(&mut harness, "no map", |harness| harness.query_by_label("efficiencies; randoms").is_some());
    assert!((sum_of_image(&mut harness) - without).abs() < 1e-6 * without);
}

#[test]
fn a_sweep_elsewhere_is_reconstructed_in_the_same_window() {
    let folder = scan("window-sweep-elsewhere", "simulate ball --epri 66 -o ball.sweep");
    let Some(mut harness) = window(&folder, "ball.sweep") else { return };
    wait_for(&mut harness, "the end of the run", |app| app.work.is_run_over());
    assert_eq!(harness.state().work.live().state, RunState::Ended(EndReason::Completed));
    wait_for(&mut harness, "the whole image", |app| app.work.shown().volume().is_some_and(|volume| volume.sum() > 0.0));
    // All its projections are here; but it is not played again.
    assert!(harness.query_all_by_label_contains("66").next().is_some());
    click(&mut harness, "Replay");
    wait_for(&mut harness, "a notice", |app| app.work.notices().texts().any(|text| text.contains("is not played again")));
    // Nor is a file found whose name is no text: the line carries text, and stays. (The test's fonts have no sign for what is none.)
    harness.ctx.set_missing_glyph_policy(egui::epaint::text::MissingGlyphPolicy::Tofu);
    drop_file(&mut harness, &folder.join(OsStr::from_bytes(b"sweep-\xff.sweep")));
    give_up_unsaved(&mut harness);
    wait_for(&mut harness, "another notice", |app| app.work.notices().texts().any(|text| text.contains("sweep-\u{fffd}")));
    assert!(harness.query_all_by_label_contains("is over").next().is_none());
}
