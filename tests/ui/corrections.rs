//! The corrections of a scan from files: found beside it, shown, removed, refused.

use std::path::Path;
use std::sync::Arc;

use egui::Theme;
use egui_kittest::Harness;
use egui_kittest::kittest::Queryable as _;
use tomoscope::data::{Counts, Michelogram, Study};
use tomoscope::io::{Correction, write_projections};
use tomoscope::phantom::{self, SimulationOptions};
use tomoscope::plan::{ScanFiles, StudyFiles};
use tomoscope::scanner;
use tomoscope::task::Task;
use tomoscope::ui::{App, RunState, Source};

use super::{click, renderer, small_study, wait_for, window_on};

const SIZE: [f32; 2] = [1400.0, 900.0];
const INSIDE: &str = "additive inside the factors (STIR)";

/// A small scan with both corrections, as `scan.hs`, `scan_mult.hs` and `scan_add.hs`.
pub fn write_scan(folder: &Path) -> Study<Counts> {
    let geometry = Arc::new(scanner::find("small").unwrap().geometry.clone());
    let phantom = phantom::by_name("cylinder", &geometry).unwrap();
    let options = SimulationOptions { counts: 1e5, attenuation: true, background_fraction: 0.2, ..SimulationOptions::default() };
    let study = phantom::simulate(&phantom, geometry, &options, &Task::new()).unwrap();
    let scan = folder.join("scan.hs");
    write_projections(&scan, &study.measured.prompts).unwrap();
    write_projections(&Correction::Multiplicative.path_beside(&scan), study.measured.multiplicative.as_ref().unwrap()).unwrap();
    write_projections(&Correction::Additive.path_beside(&scan), study.measured.additive.as_ref().unwrap()).unwrap();
    study
}

/// Data of another scanner.
fn write_other(path: &Path) {
    let geometry = Arc::new(scanner::find("prt-1").unwrap().geometry.clone());
    let zeros = vec![0.0; geometry.num_bins()];
    write_projections(path, &Michelogram::new(geometry, zeros).unwrap()).unwrap();
}

/// The window on the scan, without a reconstruction.
fn opened(scan: &Path) -> Option<Harness<'static, App>> {
    let mut harness = window_on(renderer()?, SIZE, Theme::Light, false, Source::file(scan.to_owned()));
    wait_for(&mut harness, "the scan", |app| app.work.counts().is_some());
    Some(harness)
}

fn corrections(app: &App) -> (Option<Vec<f32>>, Option<Vec<f32>>) {
    let study = app.work.counts().unwrap();
    let values = |data: &Option<Michelogram>| data.as_ref().map(|data| data.counts.to_vec());
    (values(&study.multiplicative), values(&study.additive))
}

#[test]
fn corrections_beside_a_scan_come_along_and_are_removed() {
    let folder = tempfile::tempdir().unwrap();
    let truth = write_scan(folder.path());
    let factors = truth.measured.multiplicative.as_ref().map(|data| data.counts.to_vec());
    let background = truth.measured.additive.as_ref().map(|data| data.counts.to_vec());
    let Some(mut harness) = opened(&folder.path().join("scan.hs")) else { return };
    assert_eq!(corrections(harness.state()), (factors.clone(), background.clone()));
    harness.get_by_label("multiplicative: scan_mult.hs; additive: scan_add.hs");
    assert!(harness.state().work.notices().texts().any(|text| text.contains("scan_mult.hs and scan_add.hs")));
    harness.check_accessibility();
    // STIR's convention multiplies the background by the factors.
    click(&mut harness, INSIDE);
    wait_for(&mut harness, "the scan again", |app| corrections(app).1 != background);
    harness.get_by_label("multiplicative: scan_mult.hs; additive: scan_add.hs (inside the factors)");
    let product: Vec<f32> = background.iter().flatten().zip(factors.iter().flatten()).map(|(a, m)| a * m).collect();
    assert_eq!(corrections(harness.state()), (factors, Some(product)));
    // Removed one by one; what the user drew and set stays.
    click(&mut harness, "Add sphere");
    let drawn = harness.state().work.document().clone();
    click(&mut harness, "without multiplicative");
    wait_for(&mut harness, "no factors", |app| corrections(app).0.is_none());
    harness.get_by_label("additive: scan_add.hs");
    assert_eq!(corrections(harness.state()), (None, background));
    assert_eq!((harness.state().work.document(), drawn.rois.len()), (&drawn, 1));
    click(&mut harness, "without additive");
    wait_for(&mut harness, "no background", |app| corrections(app) == (None, None));
    assert!(harness.query_by_label("additive: scan_add.hs").is_none());
    assert_eq!(harness.state().work.live().state, RunState::Idle);
}

#[test]
fn corrections_of_another_sampling_are_refused_and_the_study_stays() {
    let folder = tempfile::tempdir().unwrap();
    write_scan(folder.path());
    let Some(mut harness) = opened(&folder.path().join("scan.hs")) else { return };
    let before = corrections(harness.state());
    write_other(&folder.path().join("scan_add.hs"));
    click(&mut harness, INSIDE);
    let refused = |app: &App| app.work.notices().texts().any(|text| text.contains("additive") && text.contains("sampled alike"));
    wait_for(&mut harness, "the refusal", refused);
    assert_eq!(corrections(harness.state()), before);
    harness.get_by_label("multiplicative: scan_mult.hs; additive: scan_add.hs");
    // Opened anew, the scan is refused with what does not fit it, as on the command line, and comes without where that is asked for.
    drop(harness);
    let (scan, Some(first), Some(second)) = (folder.path().join("scan.hs"), renderer(), renderer()) else { return };
    let mut harness = window_on(first, SIZE, Theme::Light, false, Source::file(scan.clone()));
    let refused = |app: &App| {
        let expected = ["correction scan_mult.hs and scan_add.hs of scan.hs", "sampled alike", "--no-corrections"];
        app.work.notices().texts().any(|text| expected.iter().all(|words| text.contains(words)))
    };
    wait_for(&mut harness, "the refusal of the scan", refused);
    assert!(harness.state().work.counts().is_none());
    drop(harness);
    let alone = Source::Files(StudyFiles::Counts(ScanFiles::uncorrected(&scan)));
    let mut harness = window_on(second, SIZE, Theme::Light, false, alone);
    wait_for(&mut harness, "the scan alone", |app| app.work.counts().is_some());
    assert_eq!(corrections(harness.state()), (None, None));
}

#[test]
fn a_simulated_study_has_no_files_to_correct_it() {
    let Some(renderer) = renderer() else { return };
    let mut harness = window_on(renderer, SIZE, Theme::Dark, false, small_study());
    wait_for(&mut harness, "the study", |app| app.work.counts().is_some());
    assert!(harness.query_by_label("Multiplicative…").is_none());
}
