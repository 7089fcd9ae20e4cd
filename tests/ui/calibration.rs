//! A scan's calibration in the window: found in a uniform phantom, kept beside the file, in what is saved and told.

use std::path::Path;
use std::sync::Arc;

use dicom_dictionary_std::tags;
use egui::Theme;
use egui::accesskit::Role;
use egui_kittest::Harness;
use egui_kittest::kittest::{NodeT as _, Queryable as _};
use tomoscope::data::{Unit, Volume};
use tomoscope::io::measurements::read_measurements;
use tomoscope::io::{read_volume, write_projections};
use tomoscope::phantom::{self, SimulationOptions};
use tomoscope::scanner;
use tomoscope::task::Task;
use tomoscope::ui::{App, Source};

use super::{click, renderer, wait_for, wait_for_files, window_on};

const FACTOR: &str = "Calibration, Bq/mL per count/mm";

/// Writes a scan of a uniform cylinder.
fn write_scan(path: &Path) {
    let geometry = Arc::new(scanner::find("small").unwrap().geometry.clone());
    let cylinder = phantom::by_name("cylinder", &geometry).unwrap();
    let study = phantom::simulate(&cylinder, geometry, &SimulationOptions::default(), &Task::new()).unwrap();
    write_projections(path, &study.measured.prompts).unwrap();
}

/// The window on the scan once it is reconstructed.
fn reconstructed(scan: &Path) -> Option<Harness<'static, App>> {
    let mut harness = window_on(renderer()?, [1400.0, 900.0], Theme::Light, true, Source::file(scan.to_owned()));
    wait_for(&mut harness, "the end of the run", |app| app.work.is_run_over());
    Some(harness)
}

fn set(harness: &mut Harness<'_, App>, label: &str, value: f64) {
    harness.get_by_role_and_label(Role::SpinButton, label).set_value_accesskit(value);
    harness.run_steps(3);
}

fn save_to(harness: &mut Harness<'_, App>, path: &Path) {
    click(harness, "Save image…");
    let field = harness.get_all_by_role(Role::TextInput).find(|field| field.is_focused()).unwrap();
    field.type_text(&path.to_string_lossy());
    harness.run_steps(2);
    click(harness, "OK");
    wait_for_files(harness);
}

fn says(harness: &Harness<'_, App>, words: &str) -> bool {
    harness.state().work.notices().texts().any(|text| text.contains(words))
}

/// Where the values of one image are a factor times those of another, to rounding.
fn assert_scaled(found: &Volume, of: &Volume, factor: f64) {
    let largest = f64::from(of.range().1) * factor;
    for (found, of) in found.as_slice().iter().zip(of.as_slice()) {
        assert!((f64::from(*found) - factor * f64::from(*of)).abs() <= 1e-6 * largest, "{found} of {of}");
    }
}

#[test]
fn it_is_found_in_a_uniform_phantom_kept_and_used() {
    let folder = tempfile::tempdir().unwrap();
    let (scan, kept) = (folder.path().join("scan.hs"), folder.path().join("scan.calibration.toml"));
    write_scan(&scan);
    let Some(mut harness) = reconstructed(&scan) else { return };
    // Nothing is known yet, and nothing is selected.
    save_to(&mut harness, &folder.path().join("counts.nii"));
    assert_eq!(read_volume(&folder.path().join("counts.nii")).unwrap().0.unit, Unit::CountsPerMm);
    click(&mut harness, "Add sphere");
    click(&mut harness, "Phantom");
    click(&mut harness, "Calibrate");
    assert!(says(&harness, "activity concentration is not known yet") && !kept.exists());
    if harness.query_by_role_and_label(Role::SpinButton, "Activity concentration, Bq/mL").is_none() {
        click(&mut harness, "Phantom");
    }
    set(&mut harness, "Activity concentration, Bq/mL", 5000.0);
    click(&mut harness, "Calibrate");
    let volume = harness.state().work.shown().volume().unwrap().clone();
    let sums = harness.state().work.document().rois[0].mask(&volume.grid).sums(volume.as_slice());
    let factor = 5000.0 / (sums.sum / sums.weight);
    assert!(says(&harness, "by the mean of 'ROI 1'") && factor > 0.0);
    let field = harness.get_by_role_and_label(Role::SpinButton, FACTOR);
    assert!((field.value().unwrap().trim_end_matches(" Bq/mL").parse::<f64>().unwrap() / factor - 1.0).abs() < 1e-3);
    harness.get_by_label_contains("1 count/mm = ");
    harness.check_accessibility();
    // Everything on the screen and in the table is in Bq/mL, each with the unit.
    harness.get_by_label_contains("Plot: profile, Bq/mL");
    let bar = harness.get_by_label_contains("Colour bar from ").accesskit_node().label().unwrap();
    let top: f64 = bar.split(' ').nth(5).unwrap().parse().unwrap();
    let window_top = f64::from(harness.state().work.colouring().window[1]);
    assert!(bar.ends_with("Bq/mL") && (top / (factor * window_top) - 1.0).abs() < 1e-3, "{bar}");
    let field: f64 = harness.get_by_role_and_label(Role::SpinButton, "Window top").value().unwrap().parse().unwrap();
    assert!((field / top - 1.0).abs() < 1e-3, "{field} {top}");
    let mean = sums.sum / sums.weight;
    let told = format!("{:.*}", (3 - 5000f64.log10().floor() as i32).max(0) as usize, factor * mean);
    assert!(harness.query_all_by_label(&told).next().is_some(), "the mean {told} is not in the table");
    assert!(harness.query_all_by_label("counts/mm").next().is_none());
    harness.state().work.export_csv(&folder.path().join("numbers.csv")).unwrap();
    let rows = read_measurements(&folder.path().join("numbers.csv")).unwrap();
    let last = rows.iter().rfind(|row| row.quantity == "mean" && row.roi == "ROI 1").unwrap();
    assert!(last.unit == "Bq/mL" && (last.value / 5000.0 - 1.0).abs() < 1e-5, "{last:?}");

    // What is saved is in Bq/mL, and by it the mean in the region is the phantom's.
    let (image, series) = (folder.path().join("image.nii"), folder.path().join("image.dcm"));
    save_to(&mut harness, &image);
    let (saved, _) = read_volume(&image).unwrap();
    assert_eq!(saved.unit, Unit::BqPerMl);
    assert_scaled(&saved, &volume, factor);
    let sums = harness.state().work.document().rois[0].mask(&saved.grid).sums(saved.as_slice());
    assert!((sums.sum / sums.weight / 5000.0 - 1.0).abs() < 1e-5);
    let record: serde_json::Value =
        serde_json::from_slice(&std::fs::read(folder.path().join("image.nii.json")).unwrap()).unwrap();
    assert_eq!((record["calibration_bq_per_ml"].as_f64(), record["image"]["unit"].as_str()), (Some(factor), Some("Bq/mL")));
    save_to(&mut harness, &series);
    let slice = dicom_object::open_file(series.join("slice_001.dcm")).unwrap();
    assert_eq!(slice.element(tags::UNITS).unwrap().to_str().unwrap().trim(), "BQML");
    drop(harness);

    // It is there again with the scan, and gone with a 0.
    assert!(kept.exists());
    let Some(mut harness) = reconstructed(&scan) else { return };
    harness.get_by_label_contains("1 count/mm = ");
    set(&mut harness, FACTOR, 0.0);
    assert!(!kept.exists() && harness.query_by_label_contains("1 count/mm = ").is_none());
    // What is no calibration is said to be none.
    std::fs::write(&kept, "version = 1\nbq_per_ml = \"much\"\n").unwrap();
    drop(harness);
    let Some(harness) = reconstructed(&scan) else { return };
    assert!(says(&harness, "it is no calibration that is understood"));
}
