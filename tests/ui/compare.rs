//! A run as the reference of those after it: the choice, the number, the curve, the table.

use std::collections::HashMap;

use egui::Theme;
use egui::accesskit::Role;
use egui_kittest::Harness;
use egui_kittest::kittest::{NodeT as _, Queryable as _};
use tomoscope::io::measurements::read_measurements;
use tomoscope::session::EndReason;
use tomoscope::ui::{App, Mark, RunState};

use super::{click, drag, finished, wait_for};

const SIZE: [f32; 2] = [1400.0, 900.0];

#[test]
fn a_run_is_compared_with_the_one_chosen_as_the_reference() {
    let Some(mut harness) = finished(SIZE, Theme::Dark) else { return };
    click(&mut harness, "Compare");
    harness.get_by_label_contains("Choose a run as the reference");
    click(&mut harness, "Reference: none");
    harness.get_by_label_contains("run 1: OSEM").click();
    harness.run_steps(3);
    assert_eq!(harness.state().work.reference().map(|reference| reference.run()), Some(1));
    harness.get_by_label_contains("This run is the reference");
    // Two iterations more than the reference has, and other additions.
    harness.get_by_role_and_label(Role::SpinButton, "Iterations").set_value_accesskit(5.0);
    harness.run_steps(3);
    click(&mut harness, "Restart");
    wait_for(&mut harness, "the second run", |app| app.work.live().run == 2 && app.work.is_run_over());
    wait_for(&mut harness, "its comparison", |app| app.work.live().found.comparisons.len() == 5);
    let found: Vec<_> = harness.state().work.live().found.comparisons.values().copied().collect();
    assert!(found[..3].iter().all(|found| found.is_of_same_number() && (found.correlation - 1.0).abs() < 1e-9), "{found:?}");
    assert!(found[3..].iter().all(|found| found.reference.unwrap()[0] == 3 && found.correlation < 1.0), "{found:?}");
    harness.get_by_label(&format!("CC {:.5}", found[4].correlation));
    harness.get_by_label("after 5 iterations, with the reference's last image, after 3 iterations");
    let curves = |app: &App| (app.work.curves().correlation.len(), app.work.curves().correlation_with_last.len());
    assert_eq!(curves(harness.state()), (3, 2));
    harness.get_by_label("Plot: correlation");
    // The table has it too.
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("table.csv");
    harness.state().work.export_csv(&path).unwrap();
    let rows = read_measurements(&path).unwrap();
    let of = |quantity: &str| rows.iter().filter(|row| row.quantity == quantity).map(|row| row.value).collect::<Vec<_>>();
    assert_eq!(of("correlation"), found.iter().map(|found| found.correlation).collect::<Vec<_>>());
    assert_eq!(of("reference_iteration"), [1.0, 2.0, 3.0, 3.0, 3.0]);
    harness.check_accessibility();
    // Images on another grid are not compared, and the reason is told.
    harness.get_by_role_and_label(Role::SpinButton, "Voxels x").set_value_accesskit(40.0);
    harness.run_steps(3);
    click(&mut harness, "Restart");
    wait_for(&mut harness, "the third run", |app| app.work.live().run == 3 && app.work.is_run_over());
    harness.get_by_label_contains("Only images on the same grid can be compared");
    assert!(harness.state().work.live().found.comparisons.is_empty());
    // The reference can be given up.
    click(&mut harness, "Reference: run 1");
    harness.get_by_role_and_label(Role::Button, "none").click();
    harness.run_steps(3);
    assert_eq!(harness.state().work.reference(), None);
}

/// Colours of a part of a slice, given by fractions of its width, and how often each is there.
fn colours(harness: &mut Harness<'_, App>, slice: &str, [from, to]: [f32; 2]) -> HashMap<[u8; 3], usize> {
    let rect = harness.get_by_label(slice).rect();
    let picture = harness.render().unwrap();
    let part = |t: f32| (rect.left() + t * rect.width()) as u32;
    let mut found = HashMap::new();
    for (x, y) in (part(from)..part(to)).flat_map(|x| (rect.top() as u32..rect.bottom() as u32).map(move |y| (x, y))) {
        let [r, g, b, _] = picture.get_pixel(x, y).0;
        *found.entry([r, g, b]).or_default() += 1;
    }
    found
}

#[test]
fn the_image_of_the_reference_stands_beside_the_one_on_the_screen() {
    let Some(mut harness) = finished(SIZE, Theme::Dark) else { return };
    let slice = "Transaxial slice";
    assert!(harness.query_by_label("side by side").is_none(), "there is nothing to compare with");
    click(&mut harness, "Restart");
    wait_for(&mut harness, "the second run", |app| app.work.live().run == 2 && app.work.is_run_over());
    let alone = harness.get_by_label(slice).rect();
    let own = colours(&mut harness, slice, [0.25, 0.75]);
    click(&mut harness, "side by side");
    let (left, right) = (harness.get_by_label(slice).rect(), harness.get_by_label("Transaxial slice, run 1, iteration 3").rect());
    // Each half has all views.
    assert!(left.width() > 0.45 * alone.width() && (left.width() - right.width()).abs() < 2.0 && left.right() <= right.left());
    let coronal = harness.get_by_label("Coronal slice").rect();
    assert!(coronal.right() <= right.left() && !coronal.intersects(left), "{coronal:?}");
    // A click in one moves the crosshair of both.
    let before = harness.state().work.view().crosshair_mm;
    harness.drag_at(right.center() + egui::vec2(9.0, 9.0));
    harness.step();
    harness.drop_at(right.center() + egui::vec2(9.0, 9.0));
    harness.run_steps(2);
    assert_ne!(harness.state().work.view().crosshair_mm, before);
    // The same settings made the same image: beside the line both are alike, and nothing is left of their difference.
    click(&mut harness, "swipe");
    drag(&mut harness, "Transaxial slice: line between the two images", [0.5, 0.5], [-20.0, 0.5]);
    assert!(harness.state().work.view().swipe < 0.4, "{}", harness.state().work.view().swipe);
    let most = |found: &HashMap<[u8; 3], usize>| found.iter().max_by_key(|(_, n)| **n).map(|(colour, _)| *colour).unwrap();
    let both = colours(&mut harness, slice, [0.25, 0.75]);
    assert_eq!(most(&both), most(&own));
    click(&mut harness, "difference");
    let [r, g, b] = most(&colours(&mut harness, slice, [0.25, 0.75]));
    assert!([r, g, b].iter().all(|part| part.abs_diff(250) < 6), "the middle of the signed colours, not {r} {g} {b}");
    click(&mut harness, "off");
    assert_eq!(most(&colours(&mut harness, slice, [0.25, 0.75])), most(&own));
    // An iterate of the past has its own beside it.
    click(&mut harness, "side by side");
    harness.key_press(egui::Key::ArrowLeft);
    harness.run_steps(4);
    harness.get_by_label("Transaxial slice, run 1, iteration 2");
    harness.check_accessibility();
    // On another grid both are shown in mm; only their difference needs one grid.
    harness.get_by_role_and_label(Role::SpinButton, "Voxels x").set_value_accesskit(40.0);
    harness.run_steps(3);
    click(&mut harness, "Restart");
    wait_for(&mut harness, "the third run", |app| app.work.live().run == 3 && app.work.is_run_over());
    harness.get_by_label_contains("Transaxial slice, run");
    harness.render().unwrap();
    assert!(!harness.get_by_label("swipe").accesskit_node().is_disabled());
    assert!(harness.get_by_label("difference").accesskit_node().is_disabled());
}

#[test]
fn a_rule_stops_the_run_and_is_seen_in_the_plots() {
    let Some(mut harness) = finished(SIZE, Theme::Light) else { return };
    click(&mut harness, "Stop automatically");
    harness.get_by_role_and_label(Role::SpinButton, "Smallest gain").set_value_accesskit(100.0);
    harness.run_steps(2);
    click(&mut harness, "likelihood gain below");
    click(&mut harness, "Restart");
    wait_for(&mut harness, "the end", |app| app.work.live().run == 2 && app.work.is_run_over());
    let live = harness.state().work.live();
    assert_eq!(live.state, RunState::Ended(EndReason::Stopped));
    let stopped = |mark: &Mark| matches!(mark, Mark::Rule(words) if words.contains("log-likelihood"));
    assert!(live.marks.iter().any(|(at, mark)| *at == live.progress().0 && stopped(mark)), "{:?}", live.marks);
    // As a notice, and in the name of each curve's plot.
    assert!(harness.query_all_by_label_contains("stopped after iteration 3").count() > 1);
    harness.get_by_label_contains("Plot: noise; stopped after iteration 3: the last iteration added");
    harness.get_by_label("Stop automatically: 1 on");
}

#[test]
fn a_pinned_iterate_is_the_reference_until_another_is_chosen() {
    let Some(mut harness) = finished(SIZE, Theme::Dark) else { return };
    assert!(harness.query_by_label("Use as reference").is_none());
    harness.key_press(egui::Key::ArrowLeft);
    harness.run_steps(4);
    click(&mut harness, "Pin");
    click(&mut harness, "Use as reference");
    click(&mut harness, "Live");
    wait_for(&mut harness, "the comparison", |app| app.work.live().found.comparisons.len() == 3);
    let found: Vec<_> = harness.state().work.live().found.comparisons.values().copied().collect();
    assert!(found.iter().all(|found| found.is_fixed && found.reference == Some([2, 24])), "{found:?}");
    assert!((found[1].correlation - 1.0).abs() < 1e-9 && found[2].correlation < 1.0, "{found:?}");
    // Beside its own run's last image, in the slices and the profile.
    click(&mut harness, "side by side");
    harness.get_by_label("Next to run 1, iteration 2:");
    harness.get_by_label("Transaxial slice, run 1, iteration 2");
    harness.get_by_label_contains("Plot: profile, counts/mm; run 1, iteration 2");
    click(&mut harness, "Compare");
    harness.get_by_label(&format!("CC {:.5}", found[2].correlation));
    harness.get_by_label("after 3 iterations, with run 1, iteration 2");
    assert_eq!(
        (harness.state().work.curves().correlation.len(), harness.state().work.curves().correlation_with_last.len()),
        (3, 0)
    );
    // It stays the reference of the next run.
    click(&mut harness, "Restart");
    wait_for(&mut harness, "the second run", |app| app.work.live().run == 2 && app.work.is_run_over());
    wait_for(&mut harness, "its comparison", |app| app.work.live().found.comparisons.len() == 3);
    harness.get_by_label("Transaxial slice, run 1, iteration 2");
    harness.check_accessibility();
    click(&mut harness, "Reference: run 1, iteration 2");
    harness.get_by_label_contains("run 1: OSEM").click();
    harness.run_steps(3);
    harness.get_by_label("Transaxial slice, run 1, iteration 3");
    // The other way: by the button of the pinned iterate.
    harness.key_press(egui::Key::ArrowLeft);
    harness.run_steps(4);
    click(&mut harness, "Pin");
    harness.get_by_role_and_label(Role::Button, "2").click_secondary();
    harness.run_steps(3);
    click(&mut harness, "Compare with this iterate");
    harness.get_by_label("Next to run 2, iteration 2:");
}
