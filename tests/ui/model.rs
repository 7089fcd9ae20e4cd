//! The model of the sinogram row under the crosshair: its counts, factors and sources, live, and where there is none.

use egui::accesskit::Role;
use egui::{Key, Theme};
use egui_kittest::Harness;
use egui_kittest::kittest::Queryable as _;
use tomoscope::plan::ModelRow;
use tomoscope::ui::{App, BUILT_IN, Measured, Model, Source};

use super::corrections::write_scan;
use super::list;
use super::pairs::rods;
use super::panes::double_click;
use super::picture::menu;
use super::type_path;
use super::{click, renderer, wait_for, wait_for_files, window_on};

const SIZE: [f32; 2] = [1400.0, 900.0];
const COUNTS: &str = "Plot: counts of the sinogram row";
const FACTORS: &str = "Plot: factors of the sinogram row";

fn has(harness: &Harness<'_, App>, label: &str) -> bool {
    harness.query_by_label(label).is_some()
}

fn row(harness: &Harness<'_, App>) -> ModelRow {
    harness.state().tool::<Model>().and_then(Model::row).unwrap().clone()
}

fn sum(values: &[f32]) -> f64 {
    values.iter().map(|value| f64::from(*value)).sum()
}

/// Does one subset and returns the row of the new iterate.
fn step(harness: &mut Harness<'_, App>) -> ModelRow {
    let before = harness.state().work.shown().id();
    click(harness, "Step");
    wait_for(harness, "the next iterate", |app| {
        app.work.shown().id() != before && app.tool::<Model>().and_then(Model::row).is_some()
    });
    row(harness)
}

#[test]
fn the_row_under_the_crosshair_has_its_model_with_each_iterate() {
    let folder = tempfile::tempdir().unwrap();
    let study = write_scan(folder.path());
    let scan = folder.path().join("scan.hs");
    let Some(renderer) = renderer() else { return };
    let mut harness = window_on(renderer, SIZE, Theme::Dark, false, Source::file(scan));
    wait_for(&mut harness, "the scan", |app| app.work.counts().is_some());
    click(&mut harness, "Model");
    harness.get_by_label_contains("Start a reconstruction");
    assert!(harness.state().tool::<Model>().and_then(Model::row).is_none() && !has(&harness, COUNTS));

    // Every iterate has its row; the data stay.
    let first = step(&mut harness);
    assert!(has(&harness, COUNTS) && !has(&harness, FACTORS), "there is no room for a second plot");
    let second = step(&mut harness);
    assert_eq!((first.row, &first.measured), (second.row, &second.measured));
    assert!(first.row.view == 0 && first.projected != second.projected);
    let counts = &study.measured;
    assert_eq!(first.measured, first.row.values(&counts.prompts));
    assert_eq!(first.multiplicative, counts.multiplicative.as_ref().map(|data| first.row.values(data)));
    assert_eq!(first.additive, counts.additive.as_ref().map(|data| first.row.values(data)));
    click(&mut harness, "Resume");
    wait_for(&mut harness, "the end of the run", |app| app.work.is_run_over());
    let last = row(&harness);
    let [measured, expected] = [&last.measured, &last.expected].map(|values| sum(values));
    assert!((expected - measured).abs() < 5.0 * measured.sqrt(), "{expected} and {measured} counts");

    // The table names the sources. In a large pane the factors have a plot.
    double_click(&mut harness, "Model");
    for label in [COUNTS, FACTORS, "scan.hs", "scan_mult.hs", "scan_add.hs", "uniform", "iteration 3"] {
        harness.get_by_label(label);
    }
    harness.check_accessibility();
    // Its curves are saved as a table.
    let table = folder.path().join("row.csv");
    menu(&mut harness, COUNTS);
    click(&mut harness, "Save plot…");
    type_path(&mut harness, &table);
    wait_for_files(&mut harness);
    let table = std::fs::read_to_string(table).unwrap();
    for name in ["measured", "expected", "randoms + scatter"] {
        assert_eq!(table.lines().filter(|line| line.contains(name)).count(), last.s_mm.len(), "{name}: {table}");
    }

    // Another view, and another plane under the crosshair.
    harness.get_by_role_and_label(Role::SpinButton, "Sinogram view").set_value_accesskit(7.0);
    wait_for(&mut harness, "view 7", |app| app.tool::<Model>().and_then(Model::row).is_some_and(|row| row.row.view == 7));
    let of_view = row(&harness);
    assert_eq!((of_view.row.plane, &of_view.measured), (last.row.plane, &of_view.row.values(&counts.prompts)));
    harness.key_press(Key::Escape);
    harness.run_steps(3);
    click(&mut harness, "Transaxial slice");
    harness.key_press(Key::PageUp);
    wait_for(&mut harness, "another plane", |app| {
        app.tool::<Model>().and_then(Model::row).is_some_and(|row| row.row.plane != last.row.plane)
    });
    let of_plane = row(&harness);
    assert_eq!((of_plane.row.view, &of_plane.measured), (7, &of_plane.row.values(&counts.prompts)));

    // The row is that of the iterate on the screen, also of an earlier one.
    harness.key_press(Key::ArrowLeft);
    wait_for(&mut harness, "iteration 2", |app| app.work.shown().id().is_some_and(|id| id.iteration == 2));
    wait_for(&mut harness, "its row", |app| {
        app.tool::<Model>().and_then(Model::row).is_some_and(|row| row.expected != of_plane.expected)
    });
    assert_eq!(row(&harness).measured, of_plane.measured);
    // Nothing is computed for a closed tab.
    click(&mut harness, "Regions");
    assert!(harness.state().tool::<Model>().and_then(Model::row).is_none());
}

#[test]
fn data_without_sinogram_rows_have_no_such_tab() {
    let folder = tempfile::tempdir().unwrap();
    let sweep = BUILT_IN.iter().find(|study| matches!(study.measured, Measured::Sweep { .. })).unwrap().clone();
    for source in [Source::BuiltIn(sweep), Source::file(list(folder.path())), rods()] {
        let Some(renderer) = renderer() else { return };
        let mut harness = window_on(renderer, SIZE, Theme::Light, false, source);
        wait_for(&mut harness, "the study", |app| app.work.study().is_some());
        assert!(has(&harness, "Regions") && !has(&harness, "Model"));
    }
}
