//! A run as the reference of those after it: the choice, the number, the curve, the table.

use egui::Theme;
use egui::accesskit::Role;
use egui_kittest::kittest::Queryable as _;
use tomoscope::io::measurements::read_measurements;
use tomoscope::ui::App;

use super::{click, finished, wait_for};

const SIZE: [f32; 2] = [1400.0, 900.0];

#[test]
fn a_run_is_compared_with_the_one_chosen_as_the_reference() {
    let Some(mut harness) = finished(SIZE, Theme::Dark) else { return };
    click(&mut harness, "Compare");
    harness.get_by_label_contains("Choose a run as the reference");
    click(&mut harness, "Reference: none");
    harness.get_by_label_contains("run 1: OSEM").click();
    harness.run_steps(3);
    assert_eq!(harness.state().reference().map(|reference| reference.run), Some(1));
    harness.get_by_label_contains("This run is the reference");
    // Two iterations more than the reference has, and other additions.
    harness.get_by_role_and_label(Role::SpinButton, "Iterations").set_value_accesskit(5.0);
    harness.run_steps(3);
    click(&mut harness, "Restart");
    wait_for(&mut harness, "the second run", |app| app.live().run == 2 && app.is_run_over());
    wait_for(&mut harness, "its comparison", |app| app.live().comparisons.len() == 5);
    let found: Vec<_> = harness.state().live().comparisons.values().copied().collect();
    assert!(found[..3].iter().all(|found| found.is_of_same_number() && (found.correlation - 1.0).abs() < 1e-9), "{found:?}");
    assert!(found[3..].iter().all(|found| found.reference.unwrap()[0] == 3 && found.correlation < 1.0), "{found:?}");
    harness.get_by_label(&format!("CC {:.5}", found[4].correlation));
    harness.get_by_label("after 5 iterations, with the reference's last image, after 3 iterations");
    let curves = |app: &App| (app.curves().correlation.len(), app.curves().correlation_with_last.len());
    assert_eq!(curves(harness.state()), (3, 2));
    harness.get_by_label("Plot: correlation");
    // The table has it too.
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("table.csv");
    harness.state().export_csv(&path).unwrap();
    let rows = read_measurements(&path).unwrap();
    let of = |quantity: &str| rows.iter().filter(|row| row.quantity == quantity).map(|row| row.value).collect::<Vec<_>>();
    assert_eq!(of("correlation"), found.iter().map(|found| found.correlation).collect::<Vec<_>>());
    assert_eq!(of("reference_iteration"), [1.0, 2.0, 3.0, 3.0, 3.0]);
    harness.check_accessibility();
    // Images on another grid are not compared, and the reason is told.
    harness.get_by_role_and_label(Role::SpinButton, "Voxels x").set_value_accesskit(40.0);
    harness.run_steps(3);
    click(&mut harness, "Restart");
    wait_for(&mut harness, "the third run", |app| app.live().run == 3 && app.is_run_over());
    harness.get_by_label_contains("Only images on the same grid can be compared");
    assert!(harness.state().live().comparisons.is_empty());
    // The reference can be given up.
    click(&mut harness, "Reference: run 1");
    harness.get_by_role_and_label(Role::Button, "none").click();
    harness.run_steps(3);
    assert_eq!(harness.state().reference(), None);
}
