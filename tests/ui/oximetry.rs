//! Pulse oximetry in the window: maps of oxygen on the image, figures of the regions, and what ends them.

use egui::Theme;
use egui_kittest::Harness;
use egui_kittest::kittest::Queryable as _;
use tomoscope::render::Palette;
use tomoscope::session::EndReason;
use tomoscope::ui::{App, BUILT_IN, Measured, RunState, Source};

use super::{choose_built_in, click, renderer, wait_for, wait_to_see, window_on};

const SIZE: [f32; 2] = [1400.0, 950.0];

fn opened() -> Option<Harness<'static, App>> {
    let study = BUILT_IN.iter().find(|study| matches!(study.measured, Measured::Oxygen { .. })).unwrap();
    assert_eq!(study.title, "Oxygen: tumour-like");
    let mut harness = window_on(renderer()?, SIZE, Theme::Dark, true, Source::BuiltIn(study.clone()));
    wait_for(&mut harness, "the maps", |app| app.live().oxygen_maps().is_some());
    Some(harness)
}

fn is_completed(app: &App) -> bool {
    app.live().state == RunState::Ended(EndReason::Completed)
}

/// Colour of the picture in a slice, at a part of its sides.
fn colour(harness: &mut Harness<'static, App>, at: [f32; 2]) -> [u8; 3] {
    let rect = harness.get_by_label("Transaxial slice").rect();
    let picture = harness.render().unwrap();
    let place = rect.min + egui::vec2(at[0] * rect.width(), at[1] * rect.height());
    let [r, g, b, _] = picture.get_pixel(place.x as u32, place.y as u32).0;
    [r, g, b]
}

#[test]
fn the_map_of_oxygen_covers_the_image_and_has_figures() {
    let Some(mut harness) = opened() else { return };
    // The maps begin before the run ends, and the map is what is seen without a click.
    let num_first = harness.state().live().oxygen.as_ref().unwrap().num_images;
    assert!((3..8).contains(&num_first), "{num_first}");
    wait_for(&mut harness, "the end of the run", is_completed);
    wait_to_see(&mut harness, "the last map", |harness| harness.query_by_label_contains("8 of 8 delays: 30, 0.4,").is_some());
    harness.get_by_label("Colour bar from 0 to 60 torr");
    harness.get_by_label_contains("voxels fitted; masked (grey): ");
    harness.get_by_label("Plot: voxels by oxygen pressure, all fitted voxels");
    for torr in [0.0, 5.0, 10.0, 20.0, 60.0, 40.0] {
        let update = harness.state().live().oxygen.clone().unwrap();
        let rois = &harness.state().document().rois;
        let (index, roi) = rois.iter().enumerate().find(|(_, roi)| roi.name.ends_with(&format!(", {torr} torr"))).unwrap();
        let median = update.regions[index].as_ref().unwrap().stats.median_torr;
        assert!((median - torr).abs() < 1.0, "{torr}: {median}");
        harness.get_by_label(&format!("Median pO2 of {}: {median:.1} torr", roi.name));
    }
    // Outside of the tissue no voxel is fitted: it is grey.
    let grey = colour(&mut harness, [0.5, 0.06]);
    assert!(grey.iter().all(|level| level.abs_diff(128) < 3), "{grey:?}");
    let second = harness.state().second_image();
    assert!(second.is_none(), "a map of the run is no file of a session: {second:?}");
    harness.check_accessibility();
    click(&mut harness, "σ of pO2");
    harness.get_by_label("Colour bar from 0 to 10 torr");
    click(&mut harness, "R1");
    harness.get_by_label_contains("1/µs");
    click(&mut harness, "Signal");
    assert!(harness.query_by_label("Colour bar from 0 to 60 torr").is_none());
    let signal = colour(&mut harness, [0.5, 0.06]);
    assert_ne!(signal, grey);
    click(&mut harness, "pO2");
}

#[test]
fn a_restart_and_another_study_end_the_map() {
    let Some(mut harness) = opened() else { return };
    harness.get_by_label("Colour bar from 0 to 60 torr");
    // Another run, while this one computes: its map begins with its own images.
    click(&mut harness, "Stop and keep image");
    wait_for(&mut harness, "the stop", App::is_run_over);
    harness.get_by_label("Colour bar from 0 to 60 torr");
    let stopped = harness.state().live().run;
    harness.get_by_label("Start").click();
    harness.run_steps(2);
    assert_ne!(harness.state().live().run, stopped);
    assert!(harness.state().live().oxygen_maps().is_none());
    assert!(harness.query_by_label("Colour bar from 0 to 60 torr").is_none());
    wait_for(&mut harness, "its maps", |app| app.live().oxygen_maps().is_some());
    harness.get_by_label("Colour bar from 0 to 60 torr");
    // Another study, while this one computes.
    choose_built_in(&mut harness, BUILT_IN[BUILT_IN.len() - 1].title);
    wait_for(&mut harness, "another study", |app| app.counts().is_some());
    wait_for(&mut harness, "its run", App::is_run_over);
    assert!(harness.state().live().oxygen_maps().is_none());
    assert!(harness.query_by_label("Colour bar from 0 to 60 torr").is_none());
    assert!(harness.query_by_label("σ of pO2").is_none());
}

#[test]
fn no_oxygen_and_the_hypoxic_limit_are_easily_told_apart() {
    let [none, limit] = [0.0, 10.0 / 60.0].map(|t| Palette::Oxygen.colour(t));
    let distance: u32 = none.iter().zip(limit).map(|(a, b)| u32::from(a.abs_diff(b)).pow(2)).sum();
    assert!(distance > 150 * 150, "{none:?} {limit:?}");
}
