//! Pulse oximetry in the window: maps of oxygen on the image, figures of the regions, and what ends them.

use std::path::PathBuf;

use egui::Theme;
use egui_kittest::Harness;
use egui_kittest::kittest::{NodeT as _, Queryable as _};
use tomoscope::data::Unit;
use tomoscope::io::oximetry::{self, OximetryStudy};
use tomoscope::io::oxygen::find;
use tomoscope::io::{read_volume, write_sweep};
use tomoscope::phantom::epri::{OxygenOptions, SweepOptions, by_name, simulate_oxygen};
use tomoscope::render::Palette;
use tomoscope::session::EndReason;
use tomoscope::task::Task;
use tomoscope::ui::{App, BUILT_IN, Measured, RunState, Source};

use super::penalised::set;
use super::save_image_as;
use super::{choose_built_in, click, renderer, wait_for, wait_for_files, wait_to_see, window_on};

const SIZE: [f32; 2] = [1400.0, 950.0];

fn opened() -> Option<Harness<'static, App>> {
    let study = BUILT_IN.iter().find(|study| matches!(study.measured, Measured::Oxygen { .. })).unwrap();
    assert_eq!(study.title, "Oxygen: tumour-like");
    let mut harness = window_on(renderer()?, SIZE, Theme::Dark, true, Source::BuiltIn(study.clone()));
    wait_for(&mut harness, "the maps", |app| app.work.live().oxygen_maps().is_some());
    Some(harness)
}

fn is_completed(app: &App) -> bool {
    app.work.live().state == RunState::Ended(EndReason::Completed)
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
    let num_first = harness.state().work.live().oxygen.as_ref().unwrap().num_images;
    assert!((3..8).contains(&num_first), "{num_first}");
    wait_for(&mut harness, "the end of the run", is_completed);
    wait_to_see(&mut harness, "the last map", |harness| harness.query_by_label_contains("8 of 8 delays: 30, 0.4,").is_some());
    harness.get_by_label("Colour bar from 0 to 60.00 torr");
    harness.get_by_label_contains("voxels fitted; masked (grey): ");
    harness.get_by_label("Plot: voxels by oxygen pressure, all fitted voxels");
    for torr in [0.0, 5.0, 10.0, 20.0, 60.0, 40.0] {
        let update = harness.state().work.live().oxygen.clone().unwrap();
        let rois = &harness.state().work.document().rois;
        let (index, roi) = rois.iter().enumerate().find(|(_, roi)| roi.name.ends_with(&format!(", {torr} torr"))).unwrap();
        let median = update.regions[index].as_ref().unwrap().stats.median_torr;
        assert!((median - torr).abs() < 1.0, "{torr}: {median}");
        harness.get_by_label_contains(&format!("Median pO2 of {}: {median:.1}", roi.name));
    }
    // Outside of the tissue no voxel is fitted: it is grey.
    let grey = colour(&mut harness, [0.75, 0.08]);
    assert!(grey.iter().all(|level| level.abs_diff(128) < 3), "{grey:?}");
    assert_eq!(harness.state().work.second_image().unwrap().display.colouring.palette, Palette::Oxygen);
    harness.check_accessibility();
    // The draws begin after the last map, on a thread of their own.
    let draws = "±: standard deviation between";
    wait_to_see(&mut harness, "the first draw", |harness| harness.query_by_label_contains(draws).is_some());
    click(&mut harness, "σ of pO2");
    harness.get_by_label("Colour bar from 0 to 10.00 torr");
    click(&mut harness, "R1");
    assert_eq!(harness.state().work.second_image().unwrap().path, PathBuf::from("R1"));
    click(&mut harness, "Signal");
    assert!(harness.query_by_label("Colour bar from 0 to 60.00 torr").is_none());
    let signal = colour(&mut harness, [0.75, 0.08]);
    assert_ne!(signal, grey);
}

#[test]
fn a_restart_and_another_study_end_the_map() {
    let Some(mut harness) = opened() else { return };
    harness.get_by_label("Colour bar from 0 to 60.00 torr");
    // Another run, while this one computes: its map begins with its own images.
    click(&mut harness, "Stop and keep image");
    wait_for(&mut harness, "the stop", |app| app.work.is_run_over());
    harness.get_by_label("Colour bar from 0 to 60.00 torr");
    let stopped = harness.state().work.live().run;
    harness.get_by_label("Restart").click();
    harness.run_steps(2);
    assert_ne!(harness.state().work.live().run, stopped);
    assert!(harness.state().work.live().oxygen_maps().is_none());
    assert!(harness.query_by_label("Colour bar from 0 to 60.00 torr").is_none());
    wait_for(&mut harness, "its maps", |app| app.work.live().oxygen_maps().is_some());
    harness.get_by_label("Colour bar from 0 to 60.00 torr");
    // Another study, while this one computes.
    choose_built_in(&mut harness, BUILT_IN[BUILT_IN.len() - 1].title);
    wait_for(&mut harness, "another study", |app| app.work.counts().is_some());
    wait_for(&mut harness, "its run", |app| app.work.is_run_over());
    assert!(harness.state().work.live().oxygen_maps().is_none());
    assert!(harness.query_by_label("Colour bar from 0 to 60.00 torr").is_none());
    assert!(harness.query_by_label("σ of pO2").is_none());
}

#[test]
fn a_study_of_files_opens_and_its_map_is_saved() {
    let folder = tempfile::tempdir().unwrap();
    let [path, saved] = ["scan.oximetry.toml", "map.nii.gz"].map(|name| folder.path().join(name));
    let times_us = vec![0.5, 2.0, 8.0, 30.0];
    let scheme = "2d:24".parse().unwrap();
    let options = SweepOptions { scheme, num_points: 32, step_mm: 1.25, ..SweepOptions::default() };
    let calibration = find("ox071-pbs").unwrap().clone();
    let oxygen = OxygenOptions { calibration: calibration.clone(), times_us, inversion: 0.9, snr: Some(50.0) };
    let phantom = by_name("vials", options.half_extent_mm()).unwrap();
    let scan = simulate_oxygen(&phantom, &options, &oxygen, &Task::new()).unwrap();
    let mut acquisitions = Vec::new();
    for (index, (time, study)) in oxygen.times_us.iter().zip(&scan.sweeps).enumerate() {
        let name = PathBuf::from(format!("scan_{index}.sweep"));
        write_sweep(&folder.path().join(&name), study).unwrap();
        acquisitions.push((*time, name));
    }
    let study = OximetryStudy { title: "Six vials".into(), calibration, acquisitions };
    oximetry::write(&path, &study, "ox071-pbs").unwrap();
    let Some(renderer) = renderer() else { return };
    let mut harness = window_on(renderer, SIZE, Theme::Light, true, Source::file(path));
    wait_for(&mut harness, "the end of the run", is_completed);
    harness.get_by_label_contains("4 of 4 delays: 30, 0.5, 8, 2 µs");
    harness.get_by_label("Colour bar from 0 to 60.00 torr");
    save_image_as(&mut harness, &saved);
    wait_for_files(&mut harness);
    let (map, _) = read_volume(&saved).unwrap();
    assert_eq!(map.unit, Unit::Torr);
    let shown = &harness.state().work.live().oxygen_maps().unwrap().1.po2;
    let same = |a: &f32, b: &f32| a == b || a.is_nan() && b.is_nan();
    assert!(map.as_slice().iter().zip(shown.as_slice()).all(|(a, b)| same(a, b)));
    let record = std::fs::read_to_string(folder.path().join("map.nii.gz.json")).unwrap();
    for part in ["\"oximetry\"", "ox071-pbs", "Six vials, 30 µs", "\"torr\""] {
        assert!(record.contains(part), "'{part}' is missing in {record}");
    }
    // The noise is drawn again after the last delay.
    wait_to_see(&mut harness, "all draws", |harness| {
        harness.query_by_label("±: standard deviation between 20 draws of the noise").is_some()
    });
    assert!(
        harness.query_all_by_label_contains("Median pO2 of ").all(|label| label
            .accesskit_node()
            .label()
            .unwrap()
            .contains(" ± "))
    );
    // Total variation, with its own parameters: the maps and their provenance.
    click(&mut harness, "Algorithm: FBP, one stage");
    click(&mut harness, "Total variation");
    set(&mut harness, "Iterations", 12.0);
    click(&mut harness, "Set Strength λ");
    set(&mut harness, "Strength λ", 0.1);
    let before = harness.state().work.live().run;
    click(&mut harness, "Restart");
    wait_for(&mut harness, "the run of total variation", |app| app.work.live().run > before && is_completed(app));
    harness.get_by_label_contains("not computed with total variation");
    assert!(harness.query_by_label("λ of this run").is_none(), "all images have one strength");
    assert_eq!(harness.state().work.live().oxygen.as_ref().unwrap().iterations, [12; 4]);
    let of_variation = folder.path().join("variation.nii.gz");
    save_image_as(&mut harness, &of_variation);
    wait_for_files(&mut harness);
    let record: serde_json::Value =
        serde_json::from_slice(&std::fs::read(folder.path().join("variation.nii.gz.json")).unwrap()).unwrap();
    assert_eq!((&record["algorithm"]["name"], &record["algorithm"]["lambda"]), (&"tv".into(), &0.1.into()));
    assert_eq!((&record["made"], &record["oximetry"]["iterations"]), (&"oximetry".into(), &serde_json::json!([12, 12, 12, 12])));
    // An earlier image is shown without the map of all.
    harness.key_press(egui::Key::ArrowLeft);
    wait_for(&mut harness, "the image before", |app| app.work.shown().id().is_some_and(|id| id.subiteration == 3));
    assert!(harness.query_by_label("Colour bar from 0 to 60.00 torr").is_none());
}

#[test]
fn no_oxygen_and_the_hypoxic_limit_are_easily_told_apart() {
    let [none, limit] = [0.0, 10.0 / 60.0].map(|t| Palette::Oxygen.colour(t));
    let distance: u32 = none.iter().zip(limit).map(|(a, b)| u32::from(a.abs_diff(b)).pow(2)).sum();
    assert!(distance > 150 * 150, "{none:?} {limit:?}");
}
