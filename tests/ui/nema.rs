//! NEMA image quality in the window: the template's regions in the image on the screen, and the report.

use std::path::Path;
use std::sync::Arc;

use egui::Theme;
use egui::accesskit::Role;
use egui_kittest::Harness;
use egui_kittest::kittest::Queryable as _;
use tomoscope::data::{Roi, RoiRole};
use tomoscope::io::write_projections;
use tomoscope::phantom::{Noise, SimulationOptions, by_name, simulate};
use tomoscope::scanner::{InPlane, ScanGeometry, Segment};
use tomoscope::task::Task;
use tomoscope::ui::{App, Source};

use super::{click, renderer, wait_for, window, window_on};

const SIZE: [f32; 2] = [1400.0, 900.0];

/// Writes a scan of the body phantom on a ring that is just large enough for it.
fn write_scan(path: &Path) {
    let geometry = ScanGeometry {
        scanner: "round".into(),
        num_rings: 24,
        ring_spacing_mm: 6.0,
        num_detectors_per_ring: 400,
        inner_radius_mm: 300.0,
        depth_of_interaction_mm: 5.0,
        num_views: 100,
        num_tangential: 107,
        view_offset_deg: 0.0,
        in_plane: InPlane::ArcCorrected { bin_mm: 3.2 },
        segments: vec![Segment::full(-1, 1, 24)],
        fov_radius_mm: 168.0,
    };
    let geometry = Arc::new(geometry.validate().unwrap());
    let phantom = by_name("nema-iq-2018", &geometry).unwrap();
    assert_eq!(phantom.size, 1.0);
    let options = SimulationOptions { counts: 1e8, noise: Noise::None, ..SimulationOptions::default() };
    let study = simulate(&phantom, geometry, &options, &Task::new()).unwrap();
    write_projections(path, &study.measured.prompts).unwrap();
}

fn num_of(rois: &[Roi], role: RoiRole) -> usize {
    rois.iter().filter(|roi| roi.role == role).count()
}

fn choose(harness: &mut Harness<'_, App>, entry: &str) {
    click(harness, "NEMA");
    click(harness, entry);
}

/// Asks for the report, and types where it goes.
fn report_to(harness: &mut Harness<'_, App>, path: &Path) {
    choose(harness, "NEMA report…");
    harness.get_by_role_and_label(Role::TextInput, ".pdf").type_text(&path.to_string_lossy());
    harness.run_steps(2);
    click(harness, "OK");
}

#[test]
fn the_template_is_placed_undone_and_reported() {
    let Some(renderer) = renderer() else { return };
    let folder = tempfile::tempdir().unwrap();
    let (scan, pdf) = (folder.path().join("iq.hs"), folder.path().join("iq.pdf"));
    write_scan(&scan);
    let mut harness = window_on(renderer, SIZE, Theme::Light, true, Source::File(scan));
    wait_for(&mut harness, "the end of the run", App::is_run_over);
    click(&mut harness, "Add sphere");
    harness.run_steps(30);
    assert_eq!(harness.state().document().rois.len(), 1);
    choose(&mut harness, "NEMA NU 2 template");
    wait_for(&mut harness, "the template", |app| app.document().rois.len() == 67);
    let rois = harness.state().document().rois.clone();
    assert_eq!([RoiRole::Hot, RoiRole::Cold, RoiRole::Background].map(|role| num_of(&rois, role)), [6, 0, 60]);
    // The 10 mm sphere lies at 60° from +x towards −y.
    let [x, y, z] = rois[0].centre_mm;
    assert!((x - 28.6).abs() < 1.5 && (y + 49.5).abs() < 1.5 && z.abs() < 2.0, "({x}, {y}, {z})");
    // One edit, as any.
    harness.run_steps(30);
    click(&mut harness, "Undo");
    assert_eq!(harness.state().document().rois.len(), 1);
    click(&mut harness, "Redo");
    assert_eq!(harness.state().document().rois, rois);

    report_to(&mut harness, &pdf);
    assert!(std::fs::read(&pdf).unwrap().starts_with(b"%PDF-"));
    assert!(harness.state().notices().texts().any(|text| text.contains("iq.pdf written")));
    // Another one there is asked about.
    report_to(&mut harness, &pdf);
    harness.get_by_label("Replace this file?");
    click(&mut harness, "Keep");
}

#[test]
fn where_there_is_no_body_phantom_the_regions_stay() {
    let Some(renderer) = renderer() else { return };
    let mut harness = window(renderer, SIZE, Theme::Dark, true);
    wait_for(&mut harness, "the end of the run", App::is_run_over);
    let rois = harness.state().document().rois.clone();
    choose(&mut harness, "NEMA NU 2 template");
    assert!(harness.state().notices().texts().any(|text| text.contains("not that of the NEMA body phantom")));
    assert_eq!(harness.state().document().rois, rois);
}
