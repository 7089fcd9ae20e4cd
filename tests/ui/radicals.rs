//! Several radicals of an EPRI acquisition in the window: their spectra, an image of each, and what is saved.

use std::path::{Path, PathBuf};

use egui::{Event, Key, Modifiers, Theme};
use egui_kittest::Harness;
use egui_kittest::kittest::Queryable as _;
use tomoscope::algebra::Host;
use tomoscope::data::{Radical, Volume};
use tomoscope::io::{read_reference, read_sweep, read_volume};
use tomoscope::operator::grid_about_zero;
use tomoscope::recon::{Algorithm as _, TotalVariation, TvImages, TvSettings};
use tomoscope::session::EndReason;
use tomoscope::task::Task;
use tomoscope::ui::{App, BUILT_IN, RunState, Source};

use super::data::data_file;
use super::penalised::set;
use super::radical_scan::{AMOUNTS, write};
use super::restore::save_session;
use super::save_image_as;
use super::{choose_built_in, click, renderer, wait_for, wait_for_files, wait_to_see, window_on};

const SIZE: [f32; 2] = [1400.0, 950.0];

fn is_completed(app: &App) -> bool {
    app.work.live().state == RunState::Ended(EndReason::Completed)
}

fn type_path(harness: &mut Harness<'_, App>, path: &Path) {
    harness.event(Event::Text(path.to_str().unwrap().into()));
    harness.run_steps(2);
    click(harness, "OK");
}

/// The window with an acquisition and the spectra in its folder, on the grid of its discs.
fn opened(projections: &Path) -> Option<Harness<'static, App>> {
    let mut harness = window_on(renderer()?, SIZE, Theme::Dark, false, Source::file(projections));
    wait_for(&mut harness, "the sweep", |app| app.work.acquisition().is_some());
    harness.get_by_label("Algorithm: Total variation");
    for axis in ["x", "y"] {
        set(&mut harness, &format!("Voxels {axis}"), 16.0);
        set(&mut harness, &format!("Voxel mm {axis}"), 1.5);
    }
    click(&mut harness, "Set Strength λ");
    set(&mut harness, "Strength λ", 1e-3);
    set(&mut harness, "Iterations", 3000.0);
    set(&mut harness, "Tolerance", 0.0);
    Some(harness)
}

fn add(harness: &mut Harness<'_, App>, spectrum: &Path) {
    click(harness, "Add radical…");
    type_path(harness, spectrum);
}

fn amount(image: &Volume) -> f64 {
    1.5 * 1.5 * image.as_slice().iter().map(|value| f64::from(*value)).sum::<f64>()
}

fn is_tempo(app: &App) -> bool {
    app.work.second_image().is_some_and(|image| image.path == Path::new("tempo"))
}

fn has(harness: &Harness<'_, App>, label: &str) -> bool {
    harness.query_by_label(label).is_some()
}

fn says(harness: &Harness<'_, App>, part: &str) -> bool {
    harness.state().work.notices().texts().any(|text| text.contains(part))
}

#[test]
fn each_radical_has_an_image_that_is_chosen_measured_and_saved() {
    let folder = tempfile::tempdir().unwrap();
    let (projections, _) = write(folder.path());
    let Some(mut harness) = opened(&projections) else { return };
    assert!(says(&harness, "spectra of 2 radicals in the folder of the projections"));
    harness.get_by_label("none; spectra of the radicals tam, tempo");
    click(&mut harness, "Regions");
    click(&mut harness, "Add sphere");
    click(&mut harness, "Start");
    wait_to_see(&mut harness, "the choice", |harness| has(harness, "tam + tempo"));
    // While the run computes, the other radical is shown and follows it.
    click(&mut harness, "tempo");
    wait_for(&mut harness, "its image", is_tempo);
    wait_for(&mut harness, "the end", is_completed);
    wait_for(&mut harness, "the last images", |app| {
        app.work.live().radicals.as_ref().is_some_and(|radicals| radicals.subiteration == 3000)
    });
    let images = harness.state().work.live().radicals.clone().unwrap().images;
    for (image, expected) in images.iter().zip(AMOUNTS) {
        assert!((amount(image) / expected - 1.0).abs() < 0.1, "{} of {expected}", amount(image));
    }
    assert_eq!(harness.state().work.shown().volume().unwrap().as_slice(), images[0].as_slice());
    // The regions are measured in both, and each column has its radical.
    harness.get_by_label("Regions in the image of tam");
    let numbers = harness.state().work.second_image().unwrap();
    assert_eq!(numbers.display.opacity, 1.0);
    assert!(harness.query_by_label_contains("tempo of ").is_some());
    harness.get_by_label_contains("radical tempo, iteration 3000");
    // Both at once, and back.
    click(&mut harness, "tam + tempo");
    assert_eq!(harness.state().work.second_image().unwrap().display.opacity, 0.5);
    harness.check_accessibility();
    click(&mut harness, "tam");
    assert!(harness.state().work.second_image().is_none());
    // One file of each, with its record.
    let image = folder.path().join("image.nii.gz");
    save_image_as(&mut harness, &image);
    assert!(!image.exists());
    for (index, name) in ["tam", "tempo"].into_iter().enumerate() {
        let path = folder.path().join(format!("image_{name}.nii.gz"));
        assert_eq!(read_volume(&path).unwrap().0.as_slice(), images[index].as_slice(), "{name}");
        let record = std::fs::read_to_string(folder.path().join(format!("image_{name}.nii.gz.json"))).unwrap();
        let record: serde_json::Value = serde_json::from_str(&record).unwrap();
        assert_eq!(record["radical"]["name"], name);
        assert_eq!(record["radical"]["separated"], serde_json::json!(["tam", "tempo"]));
        assert_eq!(record["files"], serde_json::json!([format!("image_{name}.nii.gz")]));
    }
    assert!(says(&harness, "image_tam.nii.gz saved") && says(&harness, "image_tempo.nii.gz saved"));
    // Undone regions stay undone, and the images are those of before.
    harness.key_press_modifiers(Modifiers::COMMAND, Key::Z);
    harness.run_steps(3);
    assert!(harness.state().work.document().rois.is_empty());
    assert_eq!(harness.state().work.live().radicals.as_ref().unwrap().subiteration, 3000);
    // An earlier iterate is stored of the first radical only.
    click(&mut harness, "tempo");
    harness.key_press(Key::ArrowLeft);
    wait_for(&mut harness, "the iterate before", |app| app.work.shown().is_past());
    assert!(harness.state().work.second_image().is_none());
}

#[test]
fn saved_images_of_a_real_acquisition_are_those_of_the_algorithm() {
    let name = "epri-tv/tam-and-tempo-tubes-2d-20210609";
    let Some(projections) = data_file(&format!("{name}-proj.npy")) else { return };
    let spectra = ["htam", "htempo"].map(|suffix| data_file(&format!("{name}-{suffix}.npy")).unwrap());
    let Some(mut harness) = opened(&projections) else { return };
    for axis in ["x", "y"] {
        set(&mut harness, &format!("Voxels {axis}"), 50.0);
        set(&mut harness, &format!("Voxel mm {axis}"), 0.6);
    }
    set(&mut harness, "Strength λ", 5.0);
    set(&mut harness, "Iterations", 20.0);
    click(&mut harness, "Start");
    wait_for(&mut harness, "the end", is_completed);
    let folder = tempfile::tempdir().unwrap();
    save_image_as(&mut harness, &folder.path().join("image.npy"));
    let radical = |path: &PathBuf| Radical { name: String::new(), spectrum: read_reference(path).unwrap().0 };
    let sweep = read_sweep(&projections, None).unwrap().measured;
    let settings = TvSettings { strength: Some(5.0), tolerance: 0.0, ..TvSettings::default() };
    let grid = grid_about_zero([50, 50, 1], [0.6; 3]).unwrap();
    let radicals: Vec<Radical> = spectra.iter().map(radical).collect();
    let mut tv = TotalVariation::new(Host, &sweep, &radicals, &grid, settings, TvImages::default()).unwrap();
    (0..20).for_each(|_| _ = tv.step(&Task::new()).unwrap());
    for (image, name) in tv.images().unwrap().iter().zip(["tam", "tempo"]) {
        let (saved, _) = read_volume(&folder.path().join(format!("image_{name}.npy"))).unwrap();
        assert!(saved.as_slice() == image.as_slice(), "{name}");
    }
}

#[test]
fn spectra_of_radicals_start_a_run_at_once_and_a_reference_spectrum_goes_first() {
    let folder = tempfile::tempdir().unwrap();
    let (projections, [tam, tempo]) = write(folder.path());
    let Some(renderer) = renderer() else { return };
    let mut harness = window_on(renderer, SIZE, Theme::Light, true, Source::file(&projections));
    wait_for(&mut harness, "the end", is_completed);
    let num_radicals = |app: &App| app.work.live().info.as_ref().map_or(0, |info| info.job.settings.inputs.radicals.len());
    assert_eq!(num_radicals(harness.state()), 2);
    assert!(has(&harness, "tam + tempo") && !has(&harness, "OK"), "no file is asked for");
    // One radical has one image: its spectrum is asked for, and its file is that of the reference spectrum.
    std::fs::remove_file(&tempo).unwrap();
    let renderer = super::renderer().unwrap();
    let mut harness = window_on(renderer, SIZE, Theme::Light, true, Source::file(&projections));
    wait_to_see(&mut harness, "the question", |harness| has(harness, "OK"));
    click(&mut harness, "Cancel");
    std::fs::rename(&tam, folder.path().join("tubes-h.npy")).unwrap();
    let renderer = super::renderer().unwrap();
    let mut harness = window_on(renderer, SIZE, Theme::Light, true, Source::file(&projections));
    wait_for(&mut harness, "the end", is_completed);
    assert_eq!(num_radicals(harness.state()), 0);
    harness.get_by_label_contains("Algorithm: FBP");
}

#[test]
fn radicals_are_refused_as_on_the_command_line() {
    let folder = tempfile::tempdir().unwrap();
    let (projections, [tam, _]) = write(folder.path());
    let Some(mut harness) = opened(&projections) else { return };
    ["tam", "tempo"].iter().for_each(|name| click(&mut harness, &format!("Remove radical {name}")));
    add(&mut harness, Path::new("/nowhere/a-htam.npy"));
    assert!(says(&harness, "/nowhere/a-htam.npy") && !has(&harness, "Remove radical tam"));
    add(&mut harness, &tam);
    add(&mut harness, &tam);
    click(&mut harness, "Start");
    assert!(says(&harness, "the radical tam is named twice") && harness.state().work.live().info.is_none());
    // One radical has one image, with its spectrum.
    harness.get_all_by_label("Remove radical tam").next().unwrap().click();
    harness.run_steps(3);
    click(&mut harness, "Start");
    wait_for(&mut harness, "the end", is_completed);
    assert!(!has(&harness, "Radical:"));
    assert_eq!(harness.state().work.live().info.as_ref().unwrap().job.settings.inputs.radicals.len(), 1);
    // A file that is gone is missing at the next start.
    std::fs::remove_file(&tam).unwrap();
    click(&mut harness, "Restart");
    assert!(says(&harness, "tubes-htam.npy"));
    assert_eq!(harness.state().work.live().run, 1);
}

#[test]
fn a_session_has_the_radicals_and_another_study_ends_them() {
    let folder = tempfile::tempdir().unwrap();
    let (projections, _) = write(folder.path());
    let Some(mut harness) = opened(&projections) else { return };
    set(&mut harness, "Iterations", 100_000.0);
    let session: PathBuf = folder.path().join("work.session");
    save_session(&mut harness, &session);
    click(&mut harness, "Start");
    wait_to_see(&mut harness, "the choice", |harness| has(harness, "tam + tempo"));
    click(&mut harness, "tempo");
    wait_for(&mut harness, "its image", is_tempo);
    // Another study, while this one computes.
    choose_built_in(&mut harness, BUILT_IN[BUILT_IN.len() - 1].title);
    wait_for(&mut harness, "another study", |app| app.work.counts().is_some());
    assert!(harness.state().work.second_image().is_none() && !has(&harness, "tam + tempo"));
    wait_for_files(&mut harness);
    harness.event(Event::Text(String::new()));
    super::drop_file(&mut harness, &session);
    wait_for(&mut harness, "the sweep again", |app| app.work.acquisition().is_some());
    wait_to_see(&mut harness, "its radicals", |harness| has(harness, "Remove radical tempo"));
}
