//! The line under the slices that says what made the image that they show.

use egui::Theme;
use egui::accesskit::Role;
use egui_kittest::Harness;
use egui_kittest::kittest::Queryable as _;
use tomoscope::recon::gaussian_filter;
use tomoscope::ui::{App, BUILT_IN, Measured};

use super::{click, finished, wait_for};

const SIZE: [f32; 2] = [1400.0, 900.0];

/// The line for an iterate of the small study, as it must read.
fn line(app: &App, position: &str, after: &str) -> String {
    let device = &app.work.live().info.as_ref().unwrap().device;
    format!("OSEM 12 subsets, {position} · axial-runs · deterministic · {device}{after}")
}

fn set_number(harness: &mut Harness<'_, App>, label: &str, value: f64) {
    harness.get_by_role_and_label(Role::SpinButton, label).scroll_to_me();
    harness.run_steps(3);
    harness.get_by_role_and_label(Role::SpinButton, label).set_value_accesskit(value);
    harness.run_steps(3);
}

#[test]
fn it_follows_the_iterate_on_the_screen_and_its_filter() {
    let Some(mut harness) = finished(SIZE, Theme::Dark) else { return };
    harness.get_by_label(&line(harness.state(), "iteration 3", ""));
    harness.key_press(egui::Key::ArrowLeft);
    harness.run_steps(2);
    harness.get_by_label(&line(harness.state(), "iteration 2", ""));
    set_number(&mut harness, "Post-filter FWHM", 12.0);
    wait_for(&mut harness, "the filtered image", |app| app.work.shown().volume() != app.work.shown().unfiltered());
    harness.get_by_label(&line(harness.state(), "iteration 2", " · post-filter 12 mm"));
    // The newest image is chosen; the line changes when its filtered image is there, not before.
    click(&mut harness, "Live");
    let is_of_the_newest = |app: &App| {
        let shown = app.work.shown();
        shown.volume().unwrap() == &gaussian_filter(shown.chosen().unwrap().1, 12.0)
    };
    while !is_of_the_newest(harness.state()) {
        harness.get_by_label(&line(harness.state(), "iteration 2", " · post-filter 12 mm"));
        harness.step();
    }
    harness.run_steps(2);
    harness.get_by_label(&line(harness.state(), "iteration 3", " · post-filter 12 mm"));
    // A single step beyond a whole iteration.
    set_number(&mut harness, "Post-filter FWHM", 0.0);
    harness.get_by_label(&line(harness.state(), "iteration 3", ""));
    click(&mut harness, "Step");
    wait_for(&mut harness, "one step more", |app| app.work.shown().id().is_some_and(|id| id.subiteration == 37));
    harness.get_by_label(&line(harness.state(), "iteration 3, after subset 1 of 12", ""));
}

#[test]
fn an_image_left_by_the_run_before_is_described_as_such() {
    let Some(mut harness) = finished(SIZE, Theme::Dark) else { return };
    harness.get_by_label(&line(harness.state(), "iteration 3", ""));
    // While another run is set up the image is still that of the one before; from its first image on the line is its own.
    set_number(&mut harness, "Subsets", 6.0);
    click(&mut harness, "Restart");
    while !harness.state().work.is_run_over() {
        let app = harness.state();
        let is_of_the_new = app.work.shown().id().unwrap().run == app.work.live().run;
        assert_eq!(harness.query_by_label_contains("OSEM 6 subsets, ").is_some(), is_of_the_new);
        assert_eq!(harness.query_by_label_contains("the run before: OSEM 12 subsets, iteration 3").is_some(), !is_of_the_new);
        harness.step();
    }
    harness.run_steps(3);
    harness.get_by_label_contains("OSEM 6 subsets, iteration 3 · axial-runs");
}

#[test]
fn another_study_brings_its_own() {
    let Some(mut harness) = finished(SIZE, Theme::Light) else { return };
    let sweep = BUILT_IN.iter().find(|study| matches!(study.measured, Measured::Sweep { .. })).unwrap();
    click(&mut harness, "Built-in");
    click(&mut harness, sweep.title);
    wait_for(&mut harness, "the sweep", |app| app.work.acquisition().is_some());
    assert!(harness.query_by_label_contains("OSEM 12 subsets").is_none());
    wait_for(&mut harness, "its image", |app| app.work.is_run_over());
    let device = harness.state().work.live().info.as_ref().unwrap().device.clone();
    harness.get_by_label(&format!("FBP three-point, linear, 208 projections · single-stage · {device}"));
}
