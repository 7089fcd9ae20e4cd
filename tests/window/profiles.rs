//! The widths of the profile's peaks over the iterations, and the profiles of two runs.

use std::path::{Path, PathBuf};
use std::process::Command;

use egui::{Key, Theme};
use egui_kittest::Harness;
use egui_kittest::kittest::Queryable as _;
use tomoscope::data::Volume;
use tomoscope::geometry::Grid;
use tomoscope::io::write_volume;
use tomoscope::measure::{PeakWidth, widths_along};
use tomoscope::ui::{App, Source};

use super::{click, renderer, wait_for, window_on};

const SIZE: [f32; 2] = [1400.0, 900.0];

/// Standard deviation of the blob that is scanned.
const SIGMA_MM: f64 = 9.0;

/// A scan without noise of a blob in the middle of the small ring.
fn scan_of_a_blob(folder: &Path) -> PathBuf {
    let run = |arguments: &str| {
        let mut program = Command::new(env!("CARGO_BIN_EXE_tomoscope"));
        assert!(program.current_dir(folder).args(arguments.split(' ')).output().unwrap().status.success(), "{arguments}");
    };
    run("simulate cylinder --scanner small -o like.hs");
    let grid = Grid::centred([47, 47, 15], [3.0, 3.0, 2.5]).unwrap();
    let mut blob = Volume::filled(grid.clone(), 0.0);
    for ((z, y, x), value) in blob.values.indexed_iter_mut() {
        let square: f64 = grid.mm_from_voxel([x as f64, y as f64, z as f64]).iter().map(|c| c * c).sum();
        *value = (10.0 * (-0.5 * square / (SIGMA_MM * SIGMA_MM)).exp()) as f32;
    }
    write_volume(&folder.join("blob.hv"), &blob).unwrap();
    run("project blob.hv --like like.hs --device cpu -o scan.hs");
    folder.join("scan.hs")
}

/// The width of the first peak in the image on the screen, along an axis through the crosshair.
fn width(app: &App, axis: usize) -> PeakWidth {
    let volume = app.work.shown().volume().unwrap();
    let mut ends_mm = [app.work.view().crosshair_mm; 2];
    let ([low, high], half) = (volume.grid.extent_mm(axis), 0.5 * volume.grid.voxel_mm[axis]);
    (ends_mm[0][axis], ends_mm[1][axis]) = (low + half, high - half);
    widths_along(volume, ends_mm, app.work.view().profile_width_mm)[0].unwrap()
}

fn num_widths(app: &App) -> usize {
    app.work.curves().fwhm.first().map_or(0, |peak| peak.points.len())
}

/// Whether the last point of the curve is the width in the image on the screen along this axis.
fn is_of(app: &App, axis: usize) -> bool {
    let last = app.work.curves().fwhm.first().and_then(|peak| peak.points.last()).copied();
    last.is_some_and(|[_, mm]| (mm - width(app, axis).fwhm_mm).abs() < 1e-9)
}

/// Shows the iterate before the one on the screen.
fn step_back(harness: &mut Harness<'_, App>) {
    harness.key_press(Key::ArrowLeft);
    harness.run_steps(4);
}

#[test]
fn the_width_of_a_blob_is_drawn_over_the_iterations_of_both_runs() {
    let Some(renderer) = renderer() else { return };
    let folder = tempfile::tempdir().unwrap();
    let scan = scan_of_a_blob(folder.path());
    let mut harness = window_on(renderer, SIZE, Theme::Dark, true, Source::file(scan));
    wait_for(&mut harness, "the end of the run", |app| app.work.is_run_over());
    click(&mut harness, "FWHM");
    harness.get_by_label("Plot: FWHM of the profile");
    wait_for(&mut harness, "the widths", |app| num_widths(app) == 3);
    assert!(is_of(harness.state(), 0));
    let true_mm = 2.0 * (2.0 * 2f64.ln()).sqrt() * SIGMA_MM;
    let found_mm = width(harness.state(), 0).fwhm_mm;
    assert!((found_mm / true_mm - 1.0).abs() < 0.05, "{found_mm} is not {true_mm}");
    // The curve's points are the widths that each iterate has when it is on the screen.
    for number in [2, 1] {
        step_back(&mut harness);
        let [at, mm] = harness.state().work.curves().fwhm[0].points[number - 1];
        assert_eq!((at, mm), (number as f64, width(harness.state(), 0).fwhm_mm));
    }
    click(&mut harness, "Live");
    // Another line, on all of them.
    click(&mut harness, "y");
    wait_for(&mut harness, "the widths along y", |app| num_widths(app) == 3 && is_of(app, 1));
    // The second run's are measured as they come; the profiles of both lie over each other.
    click(&mut harness, "Restart");
    wait_for(&mut harness, "the second run", |app| app.work.live().run == 2 && app.work.is_run_over() && num_widths(app) == 3);
    click(&mut harness, "FWHM");
    harness.get_by_label_contains("; run 1, iteration 3");
    step_back(&mut harness);
    harness.get_by_label_contains("; run 1, iteration 2");
    harness.check_accessibility();
}
