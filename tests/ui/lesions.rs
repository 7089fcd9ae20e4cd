//! Lesions in the window: their numbers, the crosshair at a maximum, the change since a baseline, and the files.

use std::path::Path;

use egui::accesskit::Role;
use egui::{Event, Key, Theme};
use egui_kittest::Harness;
use egui_kittest::kittest::{NodeT as _, Queryable as _};
use egui_kittest::wgpu::WgpuTestRenderer;
use tomoscope::data::{Roi, RoiShape, Unit, Volume};
use tomoscope::geometry::Grid;
use tomoscope::io::measurements::read_measurements;
use tomoscope::io::rois::write_rois;
use tomoscope::io::write_volume;
use tomoscope::ui::{App, SavedSession, Source};

use super::drop_file;
use super::restore::save_session;
use super::{choose_built_in, click, give_up_unsaved, renderer, wait_for, wait_for_files, wait_to_see, window_on};

const SIZE: [f32; 2] = [1800.0, 1100.0];

fn ball(name: &str, x_mm: f64, radius_mm: f64) -> Roi {
    Roi::new(name, RoiShape::Sphere { radius_mm }, [x_mm, 0.0, 0.0])
}

/// Writes an image in SUL: balls of 8 and 2 (the liver) on 0.5, and their regions.
fn write_image(image: &Path, rois: &Path) {
    let mut volume = Volume::filled(Grid::centred([60, 30, 30], [2.0; 3]).unwrap(), 0.5);
    volume.unit = Unit::SuvLeanJanmahasatian;
    for (x_mm, radius_mm, value) in [(-25.0, 12.0, 8.0), (25.0, 22.0, 2.0)] {
        for &(index, part) in ball("", x_mm, radius_mm).mask(&volume.grid).voxels.iter() {
            volume.as_mut_slice()[index as usize] += part * (value - 0.5);
        }
    }
    // One voxel above the others: the maximum.
    volume.values[(15, 14, 18)] = 9.0;
    write_volume(image, &volume).unwrap();
    write_rois(rois, &[ball("hilum", -25.0, 15.0), ball("liver", 25.0, 18.0)]).unwrap();
}

/// Answers the path window.
pub fn type_path(harness: &mut Harness<'_, App>, path: &Path) {
    harness.event(Event::Text(path.to_str().unwrap().into()));
    harness.run_steps(2);
    harness.key_press(Key::Enter);
    harness.run_steps(2);
}

/// Returns the text of the cell of a column, with the beginning of its unit, and a row.
fn cell(harness: &Harness<'_, App>, column: &str, row: &str) -> Option<String> {
    let label = |node: egui_kittest::Node<'_>| node.accesskit_node().label().or_else(|| node.accesskit_node().value());
    let middle = format!("] of {row}: ");
    let labels = harness.query_all_by_label_contains(&middle).filter_map(label);
    labels.filter(|label| label.starts_with(column)).find_map(|label| Some(label.split_once(": ")?.1.to_owned()))
}

/// Opens an image with the regions of its lesions, written into a folder, and shows their numbers.
fn window_with_lesions(renderer: WgpuTestRenderer, folder: &Path) -> Harness<'static, App> {
    let at = |name: &str| folder.join(name);
    write_image(&at("pet.nii"), &at("rois.toml"));
    let mut harness = window_on(renderer, SIZE, Theme::Dark, false, Source::file(at("pet.nii")));
    wait_for(&mut harness, "the image", |app| app.work.shown().volume().is_some() && app.work.is_run_over());
    click(&mut harness, "Load…");
    type_path(&mut harness, &at("rois.toml"));
    click(&mut harness, "Lesions");
    wait_to_see(&mut harness, "the numbers", |harness| harness.query_by_label("Lesion hilum").is_some());
    harness
}

#[test]
fn lesions_are_measured_compared_and_exported() {
    let Some(renderer) = renderer() else { return };
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let mut harness = window_with_lesions(renderer, folder.path());
    assert!(harness.query_by_label("Lesion liver").is_none(), "the liver is no lesion");
    let as_drawn: f64 = cell(&harness, "MTV [mL", "hilum").unwrap().parse().unwrap();
    let of_ball = |radius_mm: f64| 4.0 / 3.0 * std::f64::consts::PI * (0.1 * radius_mm).powi(3);
    assert!((as_drawn / of_ball(15.0) - 1.0).abs() < 0.01, "{as_drawn}");
    assert_eq!(cell(&harness, "max [SUL", "hilum").unwrap(), "9.0000");
    // A click moves the crosshair to the maximum.
    click(&mut harness, "Lesion hilum");
    let [x, y, z] = harness.state().work.view().crosshair_mm;
    assert!((x + 23.0).abs() < 1e-6 && (y + 1.0).abs() < 1e-6 && (z - 1.0).abs() < 1e-6, "{x} {y} {z}");
    // The rule changes the voxels.
    click(&mut harness, "Set baseline");
    harness.get_by_role_and_label(Role::ComboBox, "Voxels of lesions: regions as drawn").click();
    harness.run_steps(3);
    click(&mut harness, "PERCIST");
    wait_to_see(&mut harness, "the smaller volume", |harness| {
        cell(harness, "MTV [mL", "hilum").is_some_and(|text| text.parse::<f64>().unwrap() < 0.8 * as_drawn)
    });
    let by_percist: f64 = cell(&harness, "MTV [mL", "hilum").unwrap().parse().unwrap();
    // Voxels with a third inside the ball reach 3 SUL.
    assert!((by_percist / of_ball(12.0) - 1.0).abs() < 0.1, "{by_percist}");
    let change: f64 = cell(&harness, "MTV [change", "hilum").unwrap().parse().unwrap();
    assert!((change - 100.0 * (by_percist / as_drawn - 1.0)).abs() < 0.06, "{change}");
    // The files.
    for (button, name) in
        [("Export lesions…", "lesions.csv"), ("Export segmentation…", "lesions.seg.dcm"), ("Lesion report…", "lesions.pdf")]
    {
        click(&mut harness, button);
        type_path(&mut harness, &at(name));
        wait_for_files(&mut harness);
    }
    let rows = read_measurements(&at("lesions.csv")).unwrap();
    let volume = rows.iter().find(|row| row.roi == "hilum" && row.quantity == "volume").unwrap();
    assert!((volume.value / by_percist - 1.0).abs() < 1e-3 && volume.unit == "mL");
    assert!(std::fs::read(at("lesions.pdf")).unwrap().starts_with(b"%PDF"));
    assert_eq!(&std::fs::read(at("lesions.seg.dcm")).unwrap()[128..132], b"DICM");
    click(&mut harness, "Clear baseline");
    harness.run_steps(3);
    assert!(harness.query_by_label_contains("[change, %] of hilum").is_none());
}

/// Chooses a rule in the menu of rules.
fn choose_rule(harness: &mut Harness<'_, App>, from: &str, to: &str) {
    harness.get_by_role_and_label(Role::ComboBox, &format!("Voxels of lesions: {from}")).click();
    harness.run_steps(3);
    click(harness, to);
}

#[test]
fn a_session_contains_the_rule_and_the_baseline() {
    let Some(renderer_of_first) = renderer() else { return };
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let mut harness = window_with_lesions(renderer_of_first, folder.path());
    click(&mut harness, "Set baseline");
    choose_rule(&mut harness, "regions as drawn", "% of maximum");
    wait_to_see(&mut harness, "the change", |harness| {
        cell(harness, "MTV [change", "hilum").is_some_and(|text| text.parse::<f64>().is_ok_and(|change| change < -10.0))
    });
    let shown =
        |harness: &Harness<'_, App>| ["max", "peak", "MTV", "TLG"].map(|of| cell(harness, &format!("{of} [change"), "hilum"));
    let changes = shown(&harness);
    let session = at("work.session");
    save_session(&mut harness, &session);
    // A window of another start, on another study.
    drop(harness);
    let mut harness = window_on(renderer().unwrap(), SIZE, Theme::Dark, false, super::small_study());
    wait_for(&mut harness, "the built-in study", |app| app.work.counts().is_some());
    drop_file(&mut harness, &session);
    give_up_unsaved(&mut harness);
    wait_to_see(&mut harness, "the change of the session", |harness| shown(harness)[0].is_some());
    assert_eq!(shown(&harness), changes);
    assert!(harness.query_by_label("Voxels of lesions: % of maximum").is_some());
    let percent = harness.get_by_label("Lesion threshold, %").accesskit_node().numeric_value();
    assert_eq!(percent, Some(41.0));
    assert!(harness.query_by_label("Clear baseline").is_some());
    // A changed session: the threshold is limited, the baseline refused with a notice.
    let text = std::fs::read_to_string(&session).unwrap();
    let saved = SavedSession::read(&session).unwrap().tools["lesions"].clone();
    let volume = format!("volume_ml = {:?}", saved["baseline"]["numbers"]["total"]["volume_ml"].as_float().unwrap());
    assert!(text.contains(&volume) && text.contains("percent = 41.0"), "{text}");
    std::fs::write(&session, text.replace(&volume, "volume_ml = nan").replace("percent = 41.0", "percent = -inf")).unwrap();
    click(&mut harness, "Clear baseline");
    choose_built_in(&mut harness, tomoscope::ui::BUILT_IN[tomoscope::ui::BUILT_IN.len() - 1].title);
    wait_for(&mut harness, "the built-in study", |app| app.work.counts().is_some());
    drop_file(&mut harness, &session);
    give_up_unsaved(&mut harness);
    wait_for(&mut harness, "the notice", |app| app.work.notices().texts().any(|text| text.contains("has an invalid number")));
    wait_to_see(&mut harness, "the numbers", |harness| harness.query_by_label("Lesion hilum").is_some());
    assert_eq!(harness.get_by_label("Lesion threshold, %").accesskit_node().numeric_value(), Some(1.0));
    assert!(harness.query_by_label("Clear baseline").is_none());
    // Without the lesions, as an earlier version saved it.
    let text = std::fs::read_to_string(&session).unwrap();
    let (before, after) = text.split_once("[lesions]").unwrap();
    let after = after.split_once("\n[images]").map_or("", |(_, rest)| rest);
    let older = SavedSession::parse(&format!("{before}[images]{after}")).unwrap();
    assert!(!older.tools.contains_key("lesions"));
}

#[test]
fn a_small_pane_has_the_first_lesions_and_the_sentences_below() {
    let Some(renderer) = renderer() else { return };
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    write_image(&at("pet.nii"), &at("rois.toml"));
    let mut rois: Vec<Roi> = (0..14).map(|i| ball(&format!("lesion {i}"), -30.0 + 2.0 * f64::from(i), 6.0)).collect();
    rois.push(ball("liver", 25.0, 18.0));
    write_rois(&at("rois.toml"), &rois).unwrap();
    let mut harness = window_on(renderer, [1100.0, 700.0], Theme::Dark, false, Source::file(at("pet.nii")));
    wait_for(&mut harness, "the image", |app| app.work.shown().volume().is_some() && app.work.is_run_over());
    click(&mut harness, "Load…");
    type_path(&mut harness, &at("rois.toml"));
    click(&mut harness, "Lesions");
    wait_to_see(&mut harness, "the numbers", |harness| harness.query_by_label("Lesion lesion 0").is_some());
    assert!(harness.query_by_label_contains("Voxels: regions as drawn").is_some());
}
