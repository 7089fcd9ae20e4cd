//! Recovery of the NEMA spheres in the window: verdict, map of iterations and post-filters, standards of files.

use std::path::Path;

use egui::Theme;
use egui::accesskit::Role;
use egui_kittest::Harness;
use egui_kittest::kittest::Queryable as _;
use tomoscope::data::RoiRole;
use tomoscope::io::recovery::find;
use tomoscope::measure::nema::{RecoveryPoint, Verdict, best_setting};
use tomoscope::ui::{App, Source};

use super::enter;
use super::nema_scan::write_scan;
use super::{click, renderer, wait_for, window_on};

const SIZE: [f32; 2] = [1400.0, 900.0];
const NUM_FILTERS: usize = 8;

/// Types a path into the open dialog.
fn choose_file(harness: &mut Harness<'_, App>, path: &Path) {
    harness.event(egui::Event::Text(path.to_string_lossy().into()));
    harness.run_steps(2);
    click(harness, "OK");
    harness.run_steps(3);
}

fn load_bands(harness: &mut Harness<'_, App>, current: &str, path: &Path) {
    click(harness, &format!("Standard: {current}"));
    click(harness, "Bands of a file…");
    choose_file(harness, path);
}

#[test]
fn the_map_of_recovery_has_every_iteration_and_shows_a_clicked_setting() {
    let Some(renderer) = renderer() else { return };
    let folder = tempfile::tempdir().unwrap();
    let [scan, bands] = ["iq.hs", "bands.toml"].map(|name| folder.path().join(name));
    write_scan(&scan);
    let mut harness = window_on(renderer, SIZE, Theme::Light, true, Source::file(scan));
    wait_for(&mut harness, "the end of the run", |app| app.work.is_run_over());
    assert!(harness.query_by_label("EARL").is_none(), "no region is a hot sphere");
    click(&mut harness, "NEMA");
    click(&mut harness, "NEMA NU 2 template");
    wait_for(&mut harness, "the template", |app| app.work.document().rois.len() == 67);
    harness.run_steps(3);
    click(&mut harness, "EARL");
    harness.run_steps(3);
    harness.get_by_label_contains("need the true activity ratio of the six hot spheres");
    assert!(harness.state().work.live().found.recovery.points.is_empty());

    // With the ratio, which the tab sets for all six, every iteration is measured after every filter.
    let ratios = |harness: &Harness<'_, App>| -> Vec<Option<f64>> {
        let hot = harness.state().work.document().rois.iter().filter(|roi| roi.role == RoiRole::Hot);
        hot.map(|roi| roi.activity_ratio).collect()
    };
    for (typed, expected) in [("much", None), ("4", Some(4.0))] {
        enter(&mut harness, "True ratio", typed);
        assert_eq!(ratios(&harness), [expected; 6]);
    }
    assert!(harness.state().work.notices().texts().any(|text| text.contains("true ratio: 'much' is not a number")));
    let num = NUM_FILTERS * harness.state().work.live().target;
    wait_for(&mut harness, "the map", |app| app.work.live().found.recovery.points.len() == num);
    let points: Vec<RecoveryPoint> = harness.state().work.live().found.recovery.points.clone();
    let earl = find("earl-18f-1").unwrap();
    let verdicts: Vec<Option<Verdict>> =
        points.iter().map(|point| Some(Verdict::of(point.outcome.as_ref().ok()?, earl))).collect();
    let (best, true) = best_setting(verdicts.iter().map(Option::as_ref)).unwrap() else { panic!("nothing complies") };
    let RecoveryPoint { iteration, filter_mm, .. } = points[best];
    harness.run_steps(3);
    assert!(filter_mm > 0.0);
    let setting = format!("Iteration {iteration}, post-filter {filter_mm} mm: complies");
    harness.get_by_label_contains(&format!("Recommended: iteration {iteration} with a post-filter of {filter_mm} mm"));
    let failing = verdicts.iter().position(|verdict| verdict.as_ref().is_some_and(|verdict| !verdict.complies())).unwrap();
    let number = points[failing].iteration;
    assert!(harness.query_all_by_label_contains(&format!("Iteration {number}, no post-filter: does not comply (")).count() > 0);

    // A click shows the setting: image, filter and verdict.
    let label = format!("{setting}, recommended ({:.2} half widths from the middles)", verdicts[best].as_ref().unwrap().rms());
    harness.get_by_role_and_label(Role::Button, &label);
    click(&mut harness, &label);
    wait_for(&mut harness, "the filtered image", |app| app.work.shown().filter_mm() == Some(filter_mm));
    assert_eq!(harness.state().work.shown().id().map(|id| id.iteration), Some(iteration));
    harness.run_steps(3);
    let verdict = format!("{setting} ({:.2} half widths from the middles)", verdicts[best].as_ref().unwrap().rms());
    harness.get_by_label(&verdict);

    // Bands of a file: an invalid one is refused with its place, a valid one selected.
    let text = "version = 1\nname = 'high'\ntitle = 'High'\nsource = 'test'\ndiameters_mm = [10, 13, 17, 22, 28, 37]\n\
                [max]\nmin = [3, 3, 3, 3, 3, 3]\nmax = [4, 4, 4, 4, 4, 4]\n";
    std::fs::write(&bands, text.replace("max = [4, ", "max = [")).unwrap();
    load_bands(&mut harness, "EARL 18F-1", &bands);
    let said = |harness: &Harness<'_, App>, words: &str| harness.state().work.notices().texts().any(|text| text.contains(words));
    assert!(said(&harness, "[max]: 'max' has 5 numbers; expected 6"));
    std::fs::write(&bands, text).unwrap();
    load_bands(&mut harness, "EARL 18F-1", &bands);
    harness.get_by_label("Standard: High");
    harness.get_by_label_contains(&format!("(none of {num} settings complies)"));
    // The coefficients are the same: nothing is measured again.
    assert_eq!(harness.state().work.live().found.recovery.points, points);
}
