//! A session by the keyboard alone.

use egui::{Event, Key, Modifiers};
use egui_kittest::Harness;
use egui_kittest::kittest::Queryable as _;
use tomoscope::ui::App;

use super::{finished, num_measured, wait_for, wait_for_files};

fn press(harness: &mut Harness<'_, App>, modifiers: Modifiers, key: Key) {
    harness.key_press_modifiers(modifiers, key);
    harness.run_steps(3);
}

fn type_path(harness: &mut Harness<'_, App>, path: &std::path::Path) {
    harness.event(Event::Text(path.to_str().unwrap().into()));
    harness.run_steps(2);
    press(harness, Modifiers::NONE, Key::Enter);
}

#[test]
fn a_session_needs_no_mouse() {
    let Some(mut harness) = finished([1400.0, 900.0], egui::Theme::Dark) else { return };
    let folder = tempfile::tempdir().unwrap();
    // A region at the crosshair, moved and enlarged.
    let num_rois = harness.state().work.document().rois.len();
    let crosshair = harness.state().work.view().crosshair_mm;
    press(&mut harness, Modifiers::ALT, Key::ArrowRight);
    let moved = harness.state().work.view().crosshair_mm;
    let voxel_mm = harness.state().work.shown().volume().unwrap().grid.voxel_mm;
    assert!((moved[0] - crosshair[0] - voxel_mm[0]).abs() < 1e-9 && moved[1..] == crosshair[1..], "{crosshair:?} {moved:?}");
    press(&mut harness, Modifiers::NONE, Key::A);
    let roi = |harness: &Harness<'_, App>| harness.state().work.document().rois.last().unwrap().clone();
    assert_eq!((harness.state().work.document().rois.len(), roi(&harness).centre_mm), (num_rois + 1, moved));
    press(&mut harness, Modifiers::SHIFT, Key::ArrowDown);
    press(&mut harness, Modifiers::SHIFT, Key::PageUp);
    let centre = roi(&harness).centre_mm;
    assert!((centre[1] - moved[1] - voxel_mm[1]).abs() < 1e-9 && (centre[2] - moved[2] + voxel_mm[2]).abs() < 1e-9, "{centre:?}");
    let volume = |harness: &Harness<'_, App>| {
        let grid = harness.state().work.shown().volume().unwrap().grid.clone();
        roi(harness).mask(&grid).voxels.iter().map(|(_, weight)| f64::from(*weight)).sum::<f64>()
    };
    let small = volume(&harness);
    for _ in 0..4 {
        press(&mut harness, Modifiers::NONE, Key::CloseBracket);
    }
    let growth = volume(&harness) / small;
    assert!((growth - 1.05_f64.powi(12)).abs() < 0.1, "{growth}");
    wait_for(&mut harness, "the numbers of the region", |app| num_measured(app, app.work.document().rois.len() - 1) > 0);
    // A second run, compared with an iterate of the first.
    press(&mut harness, Modifiers::NONE, Key::ArrowLeft);
    press(&mut harness, Modifiers::NONE, Key::R);
    wait_for(&mut harness, "the reference", |app| app.work.reference().is_some());
    let first = harness.state().work.live().run;
    press(&mut harness, Modifiers::COMMAND, Key::Enter);
    wait_for(&mut harness, "the second run", |app| app.work.live().run > first && app.work.is_run_over());
    press(&mut harness, Modifiers::NONE, Key::C);
    assert_eq!(<&str>::from(harness.state().work.view().beside), "side by side");
    // Numbers and image.
    let [table, image] = ["numbers.csv", "image.nii.gz"].map(|name| folder.path().join(name));
    press(&mut harness, Modifiers::COMMAND, Key::E);
    type_path(&mut harness, &table);
    press(&mut harness, Modifiers::COMMAND, Key::S);
    type_path(&mut harness, &image);
    wait_for_files(&mut harness);
    assert!(table.is_file() && image.is_file());
    // The image as a study.
    press(&mut harness, Modifiers::COMMAND, Key::O);
    type_path(&mut harness, &image);
    // The regions are not saved; Tab reaches each button.
    let mut num_tabs = 0;
    while harness.query_by_label("Don't save").is_some_and(|button| !button.is_focused()) {
        press(&mut harness, Modifiers::NONE, Key::Tab);
        num_tabs += 1;
        assert!(num_tabs < 9, "the focus does not reach the button");
    }
    press(&mut harness, Modifiers::NONE, Key::Enter);
    wait_for(&mut harness, "the image", |app| app.work.study().is_some_and(|study| study.measured.images().is_some()));
}

#[test]
fn commands_are_found_by_words() {
    let Some(mut harness) = finished([1200.0, 800.0], egui::Theme::Light) else { return };
    press(&mut harness, Modifiers::COMMAND, Key::K);
    harness.event(Event::Text("layout nema".into()));
    harness.run_steps(3);
    harness.get_by_label("Layout QA (NEMA)");
    assert!(harness.query_by_label("Single step").is_none());
    press(&mut harness, Modifiers::NONE, Key::Enter);
    assert!(harness.query_by_label("Layout QA (NEMA)").is_none(), "the search is open");
    // The plots of this layout are below each other, to the right of the table.
    let rect = |label: &str| harness.get_by_label(label).rect();
    assert!(rect("Plot: noise").top() > rect("Plot: contrast recovery").bottom());
    press(&mut harness, Modifiers::COMMAND, Key::K);
    harness.event(Event::Text("no such command".into()));
    harness.run_steps(3);
    press(&mut harness, Modifiers::NONE, Key::Enter);
    press(&mut harness, Modifiers::NONE, Key::Escape);
    assert!(harness.query_by_label("Command").is_none());
}
