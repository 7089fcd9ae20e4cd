//! What a person does in the window.

use egui::Theme;
use egui_kittest::kittest::Queryable as _;
use tomoscope::data::{RoiRole, RoiShape};
use tomoscope::operator::Accumulation;
use tomoscope::plan::{Device, DeviceChoice, available_devices};
use tomoscope::ui::RunState;

use super::{click, drag, finished, num_measured, renderer, wait_for, window};

const SIZE: [f32; 2] = [1400.0, 900.0];

#[test]
fn the_built_in_study_opens_and_runs_to_its_end() {
    let Some(harness) = finished(SIZE, Theme::Dark) else { return };
    let app = harness.state();
    assert_eq!(app.work.live().state, RunState::Ended(tomoscope::session::EndReason::Completed));
    assert_eq!(app.work.live().progress().0, 3 * app.work.live().num_subsets());
    let shown = app.work.shown().id().unwrap();
    assert_eq!(shown.iteration, 3, "the last volume is on the screen");
    // The log-likelihood of each step and the ROIs of each iterate are there.
    assert_eq!(app.work.live().rois.newest().map(|b| b.points.len()), Some(3 * app.work.live().num_subsets()));
    harness.get_by_label_contains("iteration 3 of 3");
    harness.check_accessibility();
}

#[test]
fn a_roi_is_drawn_moved_resized_and_its_numbers_are_in_the_table() {
    let Some(mut harness) = finished(SIZE, Theme::Light) else { return };
    let before = harness.state().work.document().rois.len();
    click(&mut harness, "Sphere");
    drag(&mut harness, "Transaxial slice", [0.5, 0.5], [0.6, 0.5]);
    assert_eq!(harness.state().work.document().rois.len(), before + 1);
    let drawn = harness.state().work.document().rois[before].clone();
    let RoiShape::Sphere { radius_mm } = drawn.shape else { panic!("{drawn:?}") };
    assert!(radius_mm > 5.0);
    harness.check_accessibility();
    // Its name and its mean are in the table.
    harness.get_by_label("ROI 1");
    let volume = harness.state().work.shown().volume().unwrap().clone();
    let sums = drawn.mask(&volume.grid).sums(volume.as_slice());
    let mean = sums.sum / sums.weight;
    let digits = format!("{mean:.*}", (3 - mean.abs().log10().floor() as i32).max(0) as usize);
    assert!(harness.query_all_by_label(&digits).next().is_some(), "mean {digits} is not in the table");
    // The solver measures the new ROI on the iterates of the past.
    wait_for(&mut harness, "the past of the new ROI", |app| num_measured(app, before) == 3);
    assert_eq!(num_measured(harness.state(), 0), 3 * harness.state().work.live().num_subsets(), "the others keep their past");
    // Taken at the middle it moves, at a handle of the selected one it grows.
    drag(&mut harness, "Transaxial slice", [0.5, 0.5], [0.5, 0.4]);
    let moved = harness.state().work.document().rois[before].clone();
    assert!(moved.centre_mm[1] < drawn.centre_mm[1] - 5.0, "{:?} -> {:?}", drawn.centre_mm, moved.centre_mm);
    assert_eq!(moved.shape, drawn.shape);
    drag(&mut harness, "Transaxial slice", [0.6, 0.4], [0.65, 0.4]);
    let resized = harness.state().work.document().rois[before].clone();
    let RoiShape::Sphere { radius_mm: larger } = resized.shape else { panic!("{resized:?}") };
    assert!((larger / radius_mm - 1.5).abs() < 0.05, "{radius_mm} -> {larger}");
}

#[test]
fn edits_are_undone_and_done_again() {
    let Some(mut harness) = finished(SIZE, Theme::Dark) else { return };
    let before = harness.state().work.document().clone();
    click(&mut harness, "Add sphere");
    let edited = harness.state().work.document().clone();
    assert_ne!(before, edited);
    // An edit becomes an undo point when it has rested.
    harness.run_steps(60);
    click(&mut harness, "Undo");
    assert_eq!(harness.state().work.document(), &before);
    click(&mut harness, "Redo");
    assert_eq!(harness.state().work.document(), &edited);
}

#[test]
fn accumulation_is_switched_between_steps_and_marked() {
    let Some(renderer) = renderer() else { return };
    let mut harness = window(renderer, SIZE, Theme::Dark, false);
    wait_for(&mut harness, "the study", |app| app.work.shown().id().is_none() && !app.work.document().rois.is_empty());
    harness.get_by_label("Press Start to reconstruct.");
    click(&mut harness, "Step");
    wait_for(&mut harness, "the first step", |app| app.work.live().last.is_some() && app.work.live().state == RunState::Paused);
    assert_eq!(harness.state().work.live().accumulation(), Some(Accumulation::Deterministic));
    click(&mut harness, "non-atomic");
    click(&mut harness, "Step");
    wait_for(&mut harness, "the second step", |app| app.work.live().last.as_ref().is_some_and(|last| last.subiteration == 2));
    assert_eq!(harness.state().work.live().accumulation(), Some(Accumulation::NonAtomic));
    assert_eq!(harness.state().work.live().marks.len(), 1);
    click(&mut harness, "Resume");
    wait_for(&mut harness, "the end", |app| app.work.is_run_over());
    click(&mut harness, "Continue");
    wait_for(&mut harness, "six iterations", |app| {
        app.work.is_run_over() && app.work.live().last.as_ref().is_some_and(|r| r.iteration == 6)
    });
}

#[test]
fn the_crosshair_follows_the_mouse_the_wheel_steps_and_keys_work() {
    let Some(mut harness) = finished(SIZE, Theme::Dark) else { return };
    drag(&mut harness, "Coronal slice", [0.5, 0.5], [0.6, 0.7]);
    let at = harness.state().work.view().crosshair_mm;
    assert!(at[0] > 5.0 && at[2] > 5.0, "to the patient's left and inferior: {at:?}");
    let rect = harness.get_by_label("Sagittal slice").rect();
    harness.hover_at(rect.center());
    harness.step();
    harness.event(egui::Event::MouseWheel {
        unit: egui::MouseWheelUnit::Line,
        delta: egui::vec2(0.0, -2.0),
        modifiers: egui::Modifiers::NONE,
        phase: egui::TouchPhase::Move,
        source: egui::MouseWheelSource::Wheel,
    });
    harness.run_steps(2);
    let voxel = harness.state().work.shown().volume().unwrap().grid.voxel_mm[0];
    let stepped = harness.state().work.view().crosshair_mm[0];
    assert!((stepped - at[0]).abs() > 1.4 * voxel && (stepped - at[0]).abs() < 2.6 * voxel, "{} -> {stepped}", at[0]);
    harness.key_press(egui::Key::ArrowLeft);
    harness.run_steps(2);
    assert_eq!(harness.state().work.shown().id().unwrap().iteration, 2, "the iterate before");
    click(&mut harness, "Live");
    assert_eq!(harness.state().work.shown().id().unwrap().iteration, 3);
    click(&mut harness, "Light theme");
    harness.get_by_label("Dark theme");
}

#[test]
fn a_file_that_cannot_be_read_becomes_a_notice_and_the_study_stays() {
    let Some(mut harness) = finished(SIZE, Theme::Dark) else { return };
    let field = harness.get_by_role(egui::accesskit::Role::TextInput);
    field.focus();
    field.type_text("/nowhere/scan.hs");
    harness.run_steps(2);
    click(&mut harness, "Read");
    let tells = |app: &tomoscope::ui::App| app.work.notices().texts().any(|text| text.contains("/nowhere/scan.hs"));
    wait_for(&mut harness, "the notice", tells);
    // The toast says it, and the list does when it is opened.
    harness.get_by_label_contains("/nowhere/scan.hs: opening the file failed");
    let before = harness.query_all_by_label_contains("/nowhere/scan.hs: opening the file failed").count();
    let button = format!("Notices ({})", harness.state().work.notices().len());
    click(&mut harness, &button);
    assert_eq!(harness.query_all_by_label_contains("/nowhere/scan.hs: opening the file failed").count(), before + 1);
    assert!(harness.state().work.shown().volume().is_some());
    assert!(harness.state().work.document().rois.iter().any(|roi| roi.role == RoiRole::Background));
}

#[test]
fn the_post_filter_changes_what_is_shown_and_not_what_was_reconstructed() {
    let Some(mut harness) = finished(SIZE, Theme::Dark) else { return };
    let before = harness.state().work.shown().volume().unwrap().clone();
    harness.get_by_label("Post-filter FWHM").scroll_to_me();
    harness.run_steps(3);
    harness.get_by_role_and_label(egui::accesskit::Role::SpinButton, "Post-filter FWHM").set_value_accesskit(12.0);
    wait_for(&mut harness, "the filtered image", |app| app.work.shown().volume() != app.work.shown().unfiltered());
    let shown = harness.state().work.shown();
    assert_eq!(shown.unfiltered(), Some(&before));
    let spread = |volume: &tomoscope::data::Volume| volume.range().1 / (volume.sum() / volume.as_slice().len() as f64) as f32;
    assert!(spread(shown.volume().unwrap()) < 0.7 * spread(&before), "smoother than before");
    harness.get_by_label("iteration 3, filtered 12.0 mm");
}

#[test]
fn the_device_menu_lists_what_the_machine_has() {
    let Some(mut harness) = finished(SIZE, Theme::Light) else { return };
    let devices = available_devices();
    wait_for(&mut harness, "the devices", |app| app.work.devices() == devices);
    harness.get_by_label("Device: CPU").scroll_to_me();
    harness.run_steps(3);
    click(&mut harness, "Device: CPU");
    let listed = |device: &Device| harness.query_all_by_label_contains(&device.name).next().is_some();
    assert!(devices.iter().all(listed));
    let num_cuda = devices.iter().filter(|device| matches!(device.choice, DeviceChoice::Cuda(_))).count();
    assert_eq!(harness.query_all_by_label_contains("CUDA ").count(), num_cuda);
    harness.get_by_role_and_label(egui::accesskit::Role::Button, "auto").click();
    harness.run_steps(3);
    harness.get_by_label("Device: auto");
}

#[test]
fn a_finished_run_takes_one_more_step() {
    let Some(mut harness) = finished(SIZE, Theme::Dark) else { return };
    let done = harness.state().work.live().progress().0;
    click(&mut harness, "Step");
    wait_for(&mut harness, "one step more", |app| app.work.live().state == RunState::Paused);
    assert_eq!(harness.state().work.live().progress().0, done + 1);
}
