//! NEMA image quality in the window: the template's regions in the image on the screen, and the report.

use std::path::Path;

use egui::Theme;
use egui::accesskit::Role;
use egui_kittest::Harness;
use egui_kittest::kittest::Queryable as _;
use tomoscope::data::{Roi, RoiRole};
use tomoscope::ui::{App, Source};

use super::nema_scan::{write_scan, write_scan_of};
use super::{click, renderer, wait_for, wait_for_files, window, window_on};

const SIZE: [f32; 2] = [1400.0, 900.0];

fn num_of(rois: &[Roi], role: RoiRole) -> usize {
    rois.iter().filter(|roi| roi.role == role).count()
}

fn choose(harness: &mut Harness<'_, App>, entry: &str) {
    click(harness, "NEMA");
    click(harness, entry);
    wait_for(harness, "the search", |app| !app.work.is_searching());
}

/// Asks for the report, and types where it goes.
fn report_to(harness: &mut Harness<'_, App>, path: &Path) {
    report_of("NEMA report…", harness, path);
}

/// The same of either standard.
fn report_of(entry: &str, harness: &mut Harness<'_, App>, path: &Path) {
    choose(harness, entry);
    harness.get_by_role_and_label(Role::TextInput, ".pdf").type_text(&path.to_string_lossy());
    harness.run_steps(2);
    click(harness, "OK");
    wait_for_files(harness);
}

#[test]
fn the_template_is_placed_undone_and_reported() {
    let Some(renderer) = renderer() else { return };
    let folder = tempfile::tempdir().unwrap();
    let (scan, pdf) = (folder.path().join("iq.hs"), folder.path().join("iq.pdf"));
    write_scan(&scan);
    let mut harness = window_on(renderer, SIZE, Theme::Light, true, Source::file(scan));
    wait_for(&mut harness, "the end of the run", |app| app.work.is_run_over());
    click(&mut harness, "Add sphere");
    harness.run_steps(30);
    assert_eq!(harness.state().work.document().rois.len(), 1);
    choose(&mut harness, "NEMA NU 2 template");
    wait_for(&mut harness, "the template", |app| app.work.document().rois.len() == 67);
    let rois = harness.state().work.document().rois.clone();
    assert_eq!([RoiRole::Hot, RoiRole::Cold, RoiRole::Background].map(|role| num_of(&rois, role)), [6, 0, 60]);
    // The 10 mm sphere lies at 60° from +x towards −y.
    let [x, y, z] = rois[0].centre_mm;
    assert!((x - 28.6).abs() < 1.5 && (y + 49.5).abs() < 1.5 && z.abs() < 2.0, "({x}, {y}, {z})");
    // One edit, as any.
    harness.run_steps(30);
    click(&mut harness, "Undo");
    assert_eq!(harness.state().work.document().rois.len(), 1);
    click(&mut harness, "Redo");
    assert_eq!(harness.state().work.document().rois, rois);

    report_to(&mut harness, &pdf);
    assert!(std::fs::read(&pdf).unwrap().starts_with(b"%PDF-"));
    let has = |harness: &Harness<'_, App>, part: &str| harness.state().work.notices().texts().any(|text| text.contains(part));
    assert!(has(&harness, "iq.pdf written"));
    // Table and report differ, and why.
    assert!(has(&harness, "against background circles of each sphere's own size"));
    // Nothing was moved, so nothing is said of it.
    assert!(!has(&harness, "up to"));
    // Another one there is asked about.
    report_to(&mut harness, &pdf);
    harness.get_by_label("Replace this file?");
    click(&mut harness, "Keep");
}

#[test]
fn regions_of_a_template_that_were_moved_are_those_of_the_report() {
    let Some(renderer) = renderer() else { return };
    let folder = tempfile::tempdir().unwrap();
    let (scan, toml) = (folder.path().join("iq.hs"), folder.path().join("moved.toml"));
    write_scan(&scan);
    let mut harness = window_on(renderer, SIZE, Theme::Light, true, Source::file(scan));
    wait_for(&mut harness, "the end of the run", |app| app.work.is_run_over());
    let said = |harness: &Harness<'_, App>, words: &str| harness.state().work.notices().texts().any(|text| text.contains(words));
    // Without a template it is of the circles as they are found.
    report_to(&mut harness, &folder.path().join("found.pdf"));
    assert!(said(&harness, "found.pdf written") && !said(&harness, "The report is of the template's regions"));
    choose(&mut harness, "NEMA NU 2 template");
    report_to(&mut harness, &folder.path().join("same.pdf"));
    assert!(!said(&harness, "as they lie, up to"), "none was moved");
    let mut rois = harness.state().work.document().rois.clone();
    rois[2].centre_mm[0] += 3.0;
    rois[2].centre_mm[1] += 4.0;
    tomoscope::io::rois::write_rois(&toml, &rois).unwrap();
    click(&mut harness, "Load…");
    harness.event(egui::Event::Text(toml.to_string_lossy().into()));
    harness.run_steps(2);
    click(&mut harness, "OK");
    report_to(&mut harness, &folder.path().join("moved.pdf"));
    assert!(said(&harness, "as they lie, up to 5.0 mm from where they are found"));
}

#[test]
fn the_small_animal_phantom_has_template_and_report_too() {
    let Some(renderer) = renderer() else { return };
    let folder = tempfile::tempdir().unwrap();
    let (scan, pdf) = (folder.path().join("mouse.hs"), folder.path().join("mouse.pdf"));
    write_scan_of("nema-nu4", 60.0, 0.4, (56, 1.1), &scan);
    let mut harness = window_on(renderer, SIZE, Theme::Dark, true, Source::file(scan));
    wait_for(&mut harness, "the end of the run", |app| app.work.is_run_over());
    choose(&mut harness, "NEMA NU 4 template");
    wait_for(&mut harness, "the template", |app| app.work.document().rois.len() == 8);
    let rois = harness.state().work.document().rois.clone();
    assert_eq!([RoiRole::Background, RoiRole::Cold].map(|role| num_of(&rois, role)), [1, 2]);
    // Numbers of the table: hardly anything in the cold cylinders, most of it in the thickest rod.
    wait_for(&mut harness, "the numbers", |app| super::num_measured(app, 7) > 0);
    let volume = harness.state().work.shown().volume().unwrap();
    let mean = |name: &str| {
        let roi = rois.iter().find(|roi| roi.name == name).unwrap();
        let sums = roi.mask(&volume.grid).sums(volume.as_slice());
        sums.sum / sums.weight
    };
    let [uniform, cold, rod] = ["uniform part", "cold cylinder 1", "rod 5 mm"].map(mean);
    assert!(cold < 0.3 * uniform && rod > 0.5 * uniform, "{uniform} {cold} {rod}");
    report_of("NEMA NU 4 report…", &mut harness, &pdf);
    assert!(std::fs::read(&pdf).unwrap().starts_with(b"%PDF-"));
    assert!(harness.state().work.notices().texts().any(|text| text.contains("mouse.pdf written")));
    // The body phantom is not there.
    choose(&mut harness, "NEMA NU 2 template");
    assert_eq!(harness.state().work.document().rois, rois);
}

#[test]
fn where_there_is_no_body_phantom_the_regions_stay() {
    let Some(renderer) = renderer() else { return };
    let mut harness = window(renderer, SIZE, Theme::Dark, true);
    wait_for(&mut harness, "the end of the run", |app| app.work.is_run_over());
    let rois = harness.state().work.document().rois.clone();
    choose(&mut harness, "NEMA NU 2 template");
    assert!(harness.state().work.notices().texts().any(|text| text.contains("not that of the NEMA body phantom")));
    assert_eq!(harness.state().work.document().rois, rois);
}
