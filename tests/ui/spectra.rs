//! Spectra in the window: the spectrum at the crosshair with its line, maps of the lines, and what ends them.

use std::path::PathBuf;

use egui::accesskit::Role;
use egui::{Event, Key, Modifiers, Theme};
use egui_kittest::Harness;
use egui_kittest::kittest::{NodeT as _, Queryable as _};
use tomoscope::data::{ReferenceSpectrum, SweepKind, Unit, Volume};
use tomoscope::io::measurements::read_measurements;
use tomoscope::io::{read_volume, write_sweep};
use tomoscope::phantom::epri::{SpectralOptions, SweepOptions, by_name, simulate_spectral};
use tomoscope::plan::{AlgorithmChoice, SPECTRAL_SAMPLES, StudyFiles, SweepFiles};
use tomoscope::session::EndReason;
use tomoscope::statistics::median;
use tomoscope::task::Task;
use tomoscope::ui::{App, BUILT_IN, Measured, RunState, Source};

use super::penalised::set;
use super::save_image_as;
use super::{choose_built_in, click, renderer, wait_for, wait_for_files, wait_to_see, window_on};

const SIZE: [f32; 2] = [1400.0, 950.0];

fn is_completed(app: &App) -> bool {
    app.work.live().state == RunState::Ended(EndReason::Completed)
}

fn has(harness: &Harness<'_, App>, label: &str) -> bool {
    harness.query_by_label(label).is_some()
}

/// Text of the only widget whose name contains these words.
fn text(harness: &Harness<'_, App>, words: &str) -> String {
    harness.get_by_label_contains(words).accesskit_node().label().unwrap_or_default()
}

/// Waits for lines of the newest iterate after this number of steps.
fn wait_for_lines(harness: &mut Harness<'_, App>, steps: usize) {
    let title = format!("Spectrum of iteration {steps} at");
    wait_to_see(harness, "the lines", |harness| {
        let is_old = harness.query_by_label_contains("Fitting").is_some();
        harness.query_by_label_contains(&title).is_some() && !is_old && harness.state().work.line_images().is_some()
    });
}

fn built_in() -> Option<Harness<'static, App>> {
    let study = BUILT_IN.iter().find(|study| matches!(study.measured, Measured::Spectra { .. })).unwrap();
    assert_eq!(study.title, "Spectra: six vials");
    Some(window_on(renderer()?, SIZE, Theme::Dark, true, Source::BuiltIn(study.clone())))
}

/// Six vials in a file: few directions, samples and gradients; with a reference spectrum on request.
fn file(folder: &std::path::Path, has_reference: bool) -> Source {
    let scheme = "2d:8".parse().unwrap();
    let options = SweepOptions { scheme, num_points: 32, step_mm: 60.0 / 32.0, ..SweepOptions::default() };
    let phantom = by_name("vials", 0.5 * options.half_extent_mm()).unwrap();
    let spectral = SpectralOptions { linewidths_mt: vec![0.3, 0.35], positions_mt: Vec::new(), sweep_mt: 3.2, num_gradients: 4 };
    let mut study = simulate_spectral(&phantom, &options, &spectral, &Task::new()).unwrap();
    if let SweepKind::ContinuousWave { reference, step_mt, .. } = &mut study.measured.kind
        && has_reference
    {
        let values = study.measured.projections[0].values.clone();
        *reference = Some(ReferenceSpectrum { values, step_mt: *step_mt });
    }
    let path = folder.join("vials.sweep");
    write_sweep(&path, &study).unwrap();
    Source::Files(StudyFiles::Sweep(SweepFiles::of(&path)))
}

#[test]
fn the_built_in_study_starts_at_once_with_a_line_at_the_crosshair() {
    let Some(mut harness) = built_in() else { return };
    wait_for(&mut harness, "the end of the run", is_completed);
    let settings = &harness.state().work.live().info.as_ref().unwrap().job.settings;
    assert_eq!((settings.algorithm, settings.parameters.count(&SPECTRAL_SAMPLES)), (AlgorithmChoice::TV, 64));
    assert_eq!(settings.grid.size, [32, 32, 1]);
    // The tab is in front by itself.
    wait_for_lines(&mut harness, 3);
    set(&mut harness, "Iterations", 60.0);
    let first = harness.state().work.live().run;
    click(&mut harness, "Restart");
    wait_for(&mut harness, "the end of the second run", |app| app.work.live().run > first && is_completed(app));
    wait_for_lines(&mut harness, 60);
    let counts = harness.get_by_label_contains("voxels fitted; masked (grey): ").accesskit_node().value().unwrap_or_default();
    assert!(counts.contains(" below the mask"), "{counts}");
    harness.get_by_label_contains("Plot: spectrum");

    // In the middle is nothing; in a vial is a line, whose parameters have standard deviations.
    harness.get_by_label("No line: a voxel below the mask");
    let at_middle = text(&harness, "Plot: spectrum");
    // (The phantom is scaled to 86 %: the first vial is 8.6 mm along x.)
    for _ in 0..9 {
        harness.key_press_modifiers(Modifiers::ALT, Key::ArrowRight);
        harness.run_steps(2);
    }
    assert!(
        (harness.state().work.view().crosshair_mm[0] - 9.0 * 30.0 / 32.0).abs() < 0.01,
        "{:?}",
        harness.state().work.view().crosshair_mm
    );
    assert_ne!(text(&harness, "Plot: spectrum"), at_middle);
    harness.get_by_label_contains("Plot: spectrum with its line at");
    let width = text(&harness, "Width at the crosshair");
    assert!(width.contains(" ± ") && width.ends_with(" mT"), "{width}");
    assert!(text(&harness, "Amplitude at the crosshair").contains(" ± "));
    assert!(text(&harness, "Position at the crosshair").ends_with(" mT"));
    assert!(harness.query_by_label_contains("pO2 at the crosshair").is_none());
    harness.check_accessibility();

    // The maps have their own units; voxels without a line are grey.
    click(&mut harness, "Linewidth");
    let bar = text(&harness, "Colour bar from");
    assert!(bar.ends_with(" mT"), "{bar}");
    assert_eq!(harness.state().work.second_image().unwrap().path, PathBuf::from("Linewidth"));
    let map = harness.state().work.line_images().unwrap().width.clone();
    assert!(map.as_slice()[0].is_nan() && map.unit == Unit::Millitesla);
    let fitted = harness.state().work.line_images().unwrap().fits.counts.fitted;
    // A higher mask has fewer voxels, and another map of the same name takes its place.
    set(&mut harness, "Mask, % of the largest peak-to-peak amplitude", 60.0);
    wait_for(&mut harness, "the fits", |app| app.work.line_images().unwrap().fits.counts.fitted < fitted);
    set(&mut harness, "Mask, % of the largest peak-to-peak amplitude", 15.0);
    wait_for(&mut harness, "the fits", |app| app.work.line_images().unwrap().fits.counts.fitted == fitted);
    // A calibration adds the oxygen pressure.
    click(&mut harness, "Calibration: none");
    harness.get_by_label_contains("EPR-IT").click();
    wait_for(&mut harness, "the pressure", |app| app.work.line_images().unwrap().po2.is_some());
    assert!(text(&harness, "pO2 at the crosshair").ends_with(" torr"));
    harness.get_by_role_and_label(Role::Button, "pO2").click();
    harness.run_steps(3);
    harness.get_by_label("Colour bar from 0 to 60.00 torr");
    click(&mut harness, "Voigt");
    // (Few iterations leave a line whose Lorentzian width may not differ from 0.)
    let is_fitted = |harness: &Harness<'_, App>| {
        ["Gaussian at the crosshair", "No line: "].iter().any(|part| harness.query_by_label_contains(part).is_some())
    };
    wait_to_see(&mut harness, "the fit of a Voigt line", is_fitted);
    // (The pane is low: the field of the mask has scrolled this row away.)
    harness.get_by_label("Peak to peak").scroll_to_me();
    harness.run_steps(6);
    click(&mut harness, "Peak to peak");
    assert!(!has(&harness, "Colour bar from 0 to 60.00 torr") && harness.state().work.second_image().is_none());
}

#[test]
fn spectra_follow_the_run_and_end_with_it() {
    let folder = tempfile::tempdir().unwrap();
    let Some(renderer) = renderer() else { return };
    let mut harness = window_on(renderer, SIZE, Theme::Light, false, file(folder.path(), true));
    wait_for(&mut harness, "the sweep", |app| app.work.acquisition().is_some());
    // The form begins with spectra; the tab appears with a run.
    assert!(!has(&harness, "Spectrum"));
    harness.get_by_label("Algorithm: Total variation");
    set(&mut harness, "Spectral samples", 32.0);
    set(&mut harness, "Iterations", 10_000.0);
    set(&mut harness, "Tolerance", 0.0);
    click(&mut harness, "Start");
    wait_for(&mut harness, "lines", |app| app.work.line_images().is_some());
    let first = harness.state().work.line_images().unwrap().fits.clone();
    wait_for(&mut harness, "newer lines", |app| {
        app.work.line_images().is_some_and(|images| !std::sync::Arc::ptr_eq(&images.fits, &first))
    });
    assert!(harness.state().work.live().state == RunState::Running);
    click(&mut harness, "Linewidth");
    assert!(text(&harness, "Colour bar from").ends_with(" mT"));
    // An earlier image is shown without the map of the newest one.
    harness.key_press(Key::ArrowLeft);
    wait_to_see(&mut harness, "the image before", |harness| !text(harness, "Colour bar from").ends_with(" mT"));
    harness.key_press(Key::L);
    wait_to_see(&mut harness, "the map again", |harness| text(harness, "Colour bar from").ends_with(" mT"));

    // Another run while this one computes: its map begins with its own spectra, and the tab stays.
    click(&mut harness, "Stop and keep image");
    wait_for(&mut harness, "the stop", |app| app.work.is_run_over());
    let steps = harness.state().work.live().progress().0;
    wait_for_lines(&mut harness, steps);
    set(&mut harness, "Iterations", 20.0);
    let stopped = harness.state().work.live().run;
    click(&mut harness, "Restart");
    assert_ne!(harness.state().work.live().run, stopped);
    wait_for(&mut harness, "the end of the second run", is_completed);
    wait_for_lines(&mut harness, 20);
    let saved = folder.path().join("map.nii.gz");
    save_image_as(&mut harness, &saved);
    wait_for_files(&mut harness);
    let (map, _) = read_volume(&saved).unwrap();
    let shown = harness.state().work.line_images().unwrap().width.clone();
    let same = |a: &f32, b: &f32| a == b || a.is_nan() && b.is_nan();
    assert!(map.unit == Unit::Millitesla && map.as_slice().iter().zip(shown.as_slice()).all(|(a, b)| same(a, b)));
    let record = std::fs::read_to_string(folder.path().join("map.nii.gz.json")).unwrap();
    for part in ["\"linewidth\"", "iteration 20", "\"lorentzian\"", "\"mask_fraction\"", "\"spectral_samples\""] {
        assert!(record.contains(part), "'{part}' is missing in {record}");
    }

    // One image by the reference spectrum: neither tab nor map.
    set(&mut harness, "Spectral samples", 0.0);
    click(&mut harness, "Restart");
    wait_for(&mut harness, "the end of the third run", |app| is_completed(app) && app.work.live().run == stopped + 2);
    assert!(!has(&harness, "Spectrum") && harness.state().work.line_images().is_none());
    assert!(!text(&harness, "Colour bar from").ends_with(" mT"));

    // Another study while a run with spectra computes.
    set(&mut harness, "Spectral samples", 16.0);
    set(&mut harness, "Iterations", 10_000.0);
    click(&mut harness, "Restart");
    wait_for(&mut harness, "lines", |app| app.work.line_images().is_some());
    choose_built_in(&mut harness, BUILT_IN[BUILT_IN.len() - 1].title);
    wait_for(&mut harness, "another study", |app| app.work.counts().is_some());
    harness.run_steps(5);
    assert!(
        harness.state().work.line_images().is_none()
            && !has(&harness, "Spectrum")
            && harness.state().work.second_image().is_none()
    );
}

/// Value and deviation of the only widget whose name begins so: "Width of ROI 1: 0.31 ± 0.02 mT".
fn numbers(harness: &Harness<'_, App>, words: &str) -> Vec<f64> {
    text(harness, words).split_once(": ").unwrap().1.split(' ').filter_map(|word| word.parse().ok()).collect()
}

#[test]
fn lines_of_a_region_are_those_of_its_voxels() {
    let folder = tempfile::tempdir().unwrap();
    let Some(renderer) = renderer() else { return };
    let mut harness = window_on(renderer, SIZE, Theme::Dark, false, file(folder.path(), false));
    wait_for(&mut harness, "the sweep", |app| app.work.acquisition().is_some());
    set(&mut harness, "Spectral samples", 32.0);
    ["x", "y"].iter().for_each(|axis| set(&mut harness, &format!("Voxels {axis}"), 16.0));
    set(&mut harness, "Iterations", 30.0);
    click(&mut harness, "Start");
    wait_for(&mut harness, "the end", is_completed);
    wait_for_lines(&mut harness, 30);
    // Without a region the table has all voxels, and the spectrum is that at the crosshair.
    assert!(text(&harness, "Width of all fitted voxels").ends_with(" mT"));
    harness.get_by_label_contains("Each region has a row here");
    click(&mut harness, "Mean of region");
    harness.get_by_label_contains("Spectrum of iteration 30 at");
    // A sphere about the crosshair, at a vial.
    for _ in 0..5 {
        harness.key_press_modifiers(Modifiers::ALT, Key::ArrowRight);
        harness.run_steps(2);
    }
    harness.key_press(Key::A);
    harness.run_steps(4);
    let roi = harness.state().work.document().rois[0].clone();
    let width = format!("Width of {}: ", roi.name);
    wait_to_see(&mut harness, "its lines", |harness| harness.query_by_label_contains(&width).is_some());
    let (counts, map, map_sd) = {
        let images = harness.state().work.line_images().unwrap();
        (images.fits.counts, images.width.clone(), images.width_sd.clone())
    };
    let voxels: Vec<(f64, f64, f64)> = roi
        .mask(&map.grid)
        .voxels
        .iter()
        .map(|(index, weight)| {
            let at = |map: &Volume| f64::from(map.as_slice()[*index as usize]);
            (at(&map), f64::from(*weight), at(&map_sd))
        })
        .collect();
    let fitted: Vec<(f64, f64)> =
        voxels.iter().filter(|(value, ..)| value.is_finite()).map(|(value, weight, _)| (*value, *weight)).collect();
    assert!(
        fitted.len() > 3 && fitted.len() < voxels.len() && fitted.len() < counts.fitted,
        "{} of {}",
        fitted.len(),
        voxels.len()
    );
    let weight: f64 = fitted.iter().map(|(_, weight)| weight).sum();
    let mean = fitted.iter().map(|(value, weight)| weight * value).sum::<f64>() / weight;
    // The mean width is by 1/σ², with a σ of at least 1 % of the median.
    let middle = median(fitted.iter().map(|(value, _)| *value).collect()).unwrap();
    let precise: Vec<(f64, f64)> = voxels
        .iter()
        .filter(|(value, ..)| value.is_finite())
        .map(|(value, weight, sd)| (*value, weight / (sd * sd + (0.01 * middle).powi(2))))
        .collect();
    let sum: f64 = precise.iter().map(|(_, weight)| weight).sum();
    let precise = precise.iter().map(|(value, weight)| weight * value).sum::<f64>() / sum;
    let sd = (fitted.iter().map(|(value, weight)| weight * (value - mean).powi(2)).sum::<f64>() / (weight - 1.0)).sqrt();
    let [shown, shown_sd] = numbers(&harness, &width)[..] else { panic!() };
    assert!((shown / precise - 1.0).abs() < 0.05 && (shown_sd / sd - 1.0).abs() < 0.06, "{shown} {precise}, {shown_sd} {sd}");

    // Its mean spectrum, with its line.
    click(&mut harness, &format!("Mean of {}", roi.name));
    harness.get_by_label(&format!("Mean spectrum of iteration 30 in {}", roi.name));
    harness.get_by_label(&format!("Plot: mean spectrum with its line of {}", roi.name));
    let of_mean = format!("Width of the mean of {}: ", roi.name);
    assert!((numbers(&harness, &of_mean)[0] / mean - 1.0).abs() < 0.5);
    harness.check_accessibility();

    // The file has the numbers of all voxels and of the region, by cause of no line too.
    let table = folder.path().join("lines.csv");
    click(&mut harness, "Export lines…");
    harness.event(Event::Text(table.to_str().unwrap().into()));
    harness.run_steps(2);
    click(&mut harness, "OK");
    wait_for_files(&mut harness);
    let rows = read_measurements(&table).unwrap();
    let of = |name: &str, quantity: &str| {
        let row = rows.iter().find(|row| row.roi == name && row.quantity == quantity);
        row.map_or_else(|| panic!("no {quantity} of '{name}'"), |row| (row.value, row.unit.clone(), row.iteration))
    };
    let (value, unit, iteration) = of(&roi.name, "linewidth_mean");
    assert!((value / precise - 1.0).abs() < 0.05 && unit == "mT" && iteration == 30, "{value} {precise}");
    assert!((of(&roi.name, "linewidth_sd").0 / sd - 1.0).abs() < 1e-6);
    let count = |quantity: &str| of(&roi.name, quantity).0 as usize;
    assert_eq!(count("num_fitted"), fitted.len());
    let causes = ["num_below_mask", "num_not_finite", "num_out_of_range", "num_unresolved", "num_not_converged"].map(count);
    assert_eq!(causes.iter().sum::<usize>(), voxels.len() - fitted.len());
    assert_eq!(of("", "num_fitted").0 as usize, counts.fitted);
    let record = std::fs::read_to_string(folder.path().join("lines.csv.json")).unwrap();
    assert!(record.contains("\"linewidth\"") && record.contains("iteration 30"), "{record}");

    // Without the region the spectrum is that at the crosshair again.
    harness.key_press(Key::Delete);
    wait_to_see(&mut harness, "the crosshair's", |harness| {
        harness.query_by_label_contains("Spectrum of iteration 30 at").is_some()
    });
    assert!(harness.query_by_label_contains(&width).is_none());
}

#[test]
fn gradients_of_one_size_have_no_spectral_samples() {
    let folder = tempfile::tempdir().unwrap();
    let source = file(folder.path(), true);
    let path = folder.path().join("vials.sweep");
    let mut study = tomoscope::io::read_sweep(&path, None).unwrap();
    study.measured.projections.retain(|projection| projection.direction[0].hypot(projection.direction[1]) > 0.99);
    study.measured.num_expected = Some(study.measured.projections.len());
    write_sweep(&path, &study).unwrap();
    let Some(renderer) = renderer() else { return };
    let mut harness = window_on(renderer, SIZE, Theme::Dark, false, source);
    wait_for(&mut harness, "the sweep", |app| app.work.acquisition().is_some());
    click(&mut harness, "Algorithm: FBP, one stage");
    click(&mut harness, "Total variation");
    harness.get_by_role_and_label(Role::CheckBox, "Set Strength λ");
    assert!(!has(&harness, "Spectral samples"));
}
