//! Lists of events in the window: opened by their path, reconstructed, left for another study.

use std::path::{Path, PathBuf};

use egui::Theme;
use egui_kittest::kittest::Queryable as _;
use tomoscope::data::tof_mm;
use tomoscope::io::list_mode::petsird::PetsirdWriter;
use tomoscope::phantom::{ListSimulation, by_name, simulate_list};
use tomoscope::scanner::find;
use tomoscope::session::EndReason;
use tomoscope::task::Task;
use tomoscope::ui::RunState;

use super::leaving::drop_file;
use super::{choose_built_in, click, give_up_unsaved, renderer, wait_for, window};

const SIZE: [f32; 2] = [1400.0, 1000.0];

/// A list of the small ring, with time of flight and randoms.
pub fn list(folder: &Path) -> PathBuf {
    let scanner = &find("small").unwrap().geometry;
    let options = ListSimulation {
        counts: 20_000.0,
        seed: 1,
        duration_secs: 10.0,
        tof_fwhm_mm: Some(tof_mm(300.0)),
        randoms_fraction: 0.2,
    };
    let simulated = simulate_list(&by_name("cylinder", scanner).unwrap(), scanner, &options, &Task::new()).unwrap().measured;
    let path = folder.join("events.petsird");
    let mut writer = PetsirdWriter::create(&path, &simulated.facts, 100).unwrap();
    writer.write(&simulated.events).unwrap();
    writer.finish().unwrap();
    path
}

#[test]
fn a_list_is_dropped_reconstructed_and_left() {
    let Some(renderer) = renderer() else { return };
    let folder = tempfile::tempdir().unwrap();
    let path = list(folder.path());
    let mut harness = window(renderer, SIZE, Theme::Dark, false);
    drop_file(&mut harness, &path);
    wait_for(&mut harness, "the list", |app| app.list().is_some());
    let num_prompts = harness.state().list().unwrap().measured.prompts.len();
    assert!((num_prompts as f64 - 25_000.0).abs() < 800.0, "{num_prompts}");
    for words in ["PETSIRD", "FWHM 45.0 mm", "efficiencies; randoms", "8 rings of 96, 0 gaps", "Lines per event"] {
        assert!(harness.query_all_by_label_contains(words).next().is_some(), "{words}");
    }
    // Events have one projector, and their counts over time a tab of their own.
    assert!(harness.query_by_label("Projector").is_none());
    assert!(harness.query_by_label("Plot: counts per second").is_some());
    click(&mut harness, "Start");
    wait_for(&mut harness, "the image", |app| app.live().state == RunState::Ended(EndReason::Completed));
    let image = harness.state().shown().volume().unwrap();
    let [nx, ny, nz] = image.grid.size;
    let at = |x: usize, y: usize, z: usize| image.as_slice()[(z * ny + y) * nx + x];
    assert!(at(nx / 2, ny / 2, nz / 2) > 0.0 && at(0, 0, nz / 2) == 0.0);
    // Another study has no rates.
    choose_built_in(&mut harness, "Small cylinder, small ring");
    give_up_unsaved(&mut harness);
    wait_for(&mut harness, "the other study", |app| app.study().is_some());
    harness.run_steps(2);
    assert!(harness.query_by_label("Plot: counts per second").is_none() && harness.query_by_label("Projector").is_some());
}
