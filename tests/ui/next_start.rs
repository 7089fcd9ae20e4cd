//! What the form says of the next start: its needs, its extent, and where it differs from the run that is watched.

use egui::Theme;
use egui::accesskit::Role;
use egui_kittest::Harness;
use egui_kittest::kittest::Queryable as _;
use tomoscope::session::EndReason;
use tomoscope::ui::{App, RunState};

use super::{click, finished, wait_for};

const SIZE: [f32; 2] = [1400.0, 900.0];

/// Sets a number of the form, and waits until what it needs is known.
fn set(harness: &mut Harness<'_, App>, field: &str, value: f64) {
    let field = harness.get_by_role_and_label(Role::SpinButton, field);
    field.scroll_to_me();
    field.set_value_accesskit(value);
    let before = harness.state().work.next_start().cloned();
    wait_for(harness, "the forecast", |app| app.work.next_start() != before.as_ref());
}

fn needs(harness: &Harness<'_, App>) -> u64 {
    harness.state().work.next_start().unwrap().as_ref().unwrap().memory_bytes
}

fn has(harness: &Harness<'_, App>, label: &str) -> bool {
    harness.query_all_by_label_contains(label).next().is_some()
}

#[test]
fn needs_and_extent_follow_the_form_and_come_true() {
    let Some(mut harness) = finished(SIZE, Theme::Dark) else { return };
    wait_for(&mut harness, "the forecast", |app| app.work.next_start().is_some());
    let needed = |harness: &Harness<'_, App>| harness.state().work.live().info.as_ref().unwrap().estimate.memory_bytes;
    assert_eq!(needs(&harness), needed(&harness));
    assert!(!has(&harness, "•"));
    let grid = harness.state().work.shown().volume().unwrap().grid.clone();
    let width = |n: f64| format!("{:.2}", n * grid.voxel_mm[0]).trim_end_matches('0').trim_end_matches('.').to_owned();
    let size = grid.size[0] as f64;
    assert!(has(&harness, &format!("field of view {} mm across", width(size))));
    let before = needs(&harness);
    set(&mut harness, "Voxels x", 3.0 * size);
    set(&mut harness, "Voxels y", 3.0 * size);
    set(&mut harness, "Voxels z", 200.0);
    assert!(needs(&harness) > 20 * before);
    assert!(has(&harness, &format!("field of view {} mm across", width(3.0 * size))));
    assert!(has(&harness, &format!("needs {}", tomoscope::text::bytes(needs(&harness)))));
    assert_eq!(needed(&harness), before, "the run that is there is not the next one");
    // The forecast is what the run counts.
    set(&mut harness, "Voxels z", grid.size[2] as f64);
    let foretold = needs(&harness);
    harness.get_by_label("Restart").scroll_to_me();
    harness.run_steps(3);
    click(&mut harness, "Restart");
    wait_for(&mut harness, "the end of the run", |app| app.work.live().run == 2 && app.work.is_run_over());
    assert_eq!(needed(&harness), foretold);
}

#[test]
fn settings_that_the_run_does_not_have_are_marked() {
    let Some(mut harness) = finished(SIZE, Theme::Light) else { return };
    wait_for(&mut harness, "the forecast", |app| app.work.next_start().is_some());
    let subsets = harness.state().work.live().num_subsets();
    assert!(harness.query_by_label("Subsets •").is_none());
    set(&mut harness, "Subsets", subsets as f64 - 1.0);
    harness.get_by_label("Subsets •").hover();
    harness.run_steps(60);
    harness.get_by_label(&format!("ran with {subsets}"));
    assert_eq!(harness.query_all_by_label_contains("•").count(), 1);
    set(&mut harness, "Subsets", subsets as f64);
    assert!(!has(&harness, "•"));
}

#[test]
fn a_start_that_memory_does_not_suffice_for_is_refused_and_the_run_stays() {
    let Some(mut harness) = finished(SIZE, Theme::Dark) else { return };
    wait_for(&mut harness, "the forecast", |app| app.work.next_start().is_some());
    let done = harness.state().work.live().progress();
    for (axis, size) in [("x", 2048.0), ("y", 2048.0), ("z", 400.0)] {
        set(&mut harness, &format!("Voxels {axis}"), size);
    }
    wait_for(&mut harness, "the refusal", |app| app.work.next_start().is_some_and(Result::is_err));
    assert!(has(&harness, "will be refused: about "));
    harness.get_by_label("Restart").scroll_to_me();
    harness.run_steps(3);
    click(&mut harness, "Restart");
    assert!(harness.state().work.notices().texts().any(|text| text.contains("of memory are needed")));
    let live = harness.state().work.live();
    assert_eq!((live.run, live.state, live.progress()), (1, RunState::Ended(EndReason::Completed), done));
    // So is one that cannot be an image at all.
    set(&mut harness, "Voxels z", 2048.0);
    assert!(!harness.state().work.next_start().unwrap().as_ref().unwrap_err().contains("memory"));
}
