//! What the table of regions and the profile say, and what they do not say.

use egui::Theme;
use egui::accesskit::Role;
use egui_kittest::Harness;
use egui_kittest::kittest::Queryable as _;
use tomoscope::data::{RoiRole, Volume};
use tomoscope::ui::App;

use super::{click, finished, wait_for};

const SIZE: [f32; 2] = [1400.0, 900.0];

fn has(harness: &Harness<'_, App>, label: &str) -> bool {
    harness.query_all_by_label(label).next().is_some()
}

/// Holds the pointer over a widget until its tooltip is there.
fn hover(harness: &mut Harness<'_, App>, label: &str) {
    harness.get_by_label(label).hover();
    harness.run_steps(40);
}

/// Types into a text field and leaves it.
fn enter(harness: &mut Harness<'_, App>, label: &str, text: &str) {
    harness.get_by_role_and_label(Role::TextInput, label).focus();
    harness.run_steps(2);
    harness.get_by_role_and_label(Role::TextInput, label).type_text(text);
    harness.run_steps(2);
    harness.key_press(egui::Key::Enter);
    harness.run_steps(3);
}

#[test]
fn a_hot_region_has_no_recovery_until_its_true_ratio_is_entered() {
    let Some(mut harness) = finished(SIZE, Theme::Dark) else { return };
    click(&mut harness, "Add sphere");
    click(&mut harness, "Role: none");
    click(&mut harness, "hot");
    let drawn = |app: &App| app.document().rois.last().map(|roi| (roi.role, roi.activity_ratio));
    assert_eq!(drawn(harness.state()), Some((RoiRole::Hot, None)));
    harness.get_by_label("hot ?:1");
    assert!(harness.state().curves().recovery.is_empty());
    hover(&mut harness, "Recovery of ROI 1: –");
    harness.get_by_label_contains("enter the true ratio");
    // What cannot be a ratio is refused with the reason.
    for (typed, reason) in [("1", "leaves no contrast"), ("0", "must be a positive number"), ("four", "is not a number")] {
        enter(&mut harness, "true ratio", typed);
        assert_eq!(drawn(harness.state()), Some((RoiRole::Hot, None)), "{typed}");
        assert!(harness.state().notices().texts().any(|text| text.contains("ROI 1") && text.contains(reason)), "{typed}");
    }
    enter(&mut harness, "true ratio", "2,5");
    assert_eq!(drawn(harness.state()), Some((RoiRole::Hot, Some(2.5))));
    harness.get_by_label("hot 2.5:1");
    assert!(!has(&harness, "Recovery of ROI 1: –"));
    assert_eq!(harness.state().curves().recovery.len(), 1);
    // Its contrast-to-noise ratio needs no true ratio, and has a curve too.
    assert!(!has(&harness, "CNR of ROI 1: –") && harness.query_by_label_contains("CNR of ROI 1: ").is_some());
    assert_eq!(harness.state().curves().contrast_to_noise.len(), 1);
    harness.get_by_label("Plot: contrast recovery");
    harness.get_by_role_and_label(Role::Button, "CNR").click();
    harness.run_steps(3);
    harness.get_by_label("Plot: contrast-to-noise ratio");
    // A click elsewhere ends typing too, and another region's field does not get what was typed for this one.
    click(&mut harness, "Add sphere");
    click(&mut harness, "Role: none");
    click(&mut harness, "hot");
    harness.get_by_role_and_label(Role::TextInput, "true ratio").focus();
    harness.run_steps(2);
    harness.get_by_role_and_label(Role::TextInput, "true ratio").type_text("8");
    harness.run_steps(2);
    click(&mut harness, "ROI 1");
    let ratios = |app: &App| app.document().rois.iter().map(|roi| roi.activity_ratio).collect::<Vec<_>>();
    assert_eq!(ratios(harness.state()), [None, Some(2.5), Some(8.0)]);
    harness.check_accessibility();
}

/// The largest value in the first region as the table writes it.
fn largest(app: &App, volume: Option<&Volume>) -> String {
    let volume = volume.unwrap();
    let largest = f64::from(app.document().rois[0].mask(&volume.grid).sums(volume.as_slice()).max);
    format!("{largest:.*}", (3 - largest.abs().log10().floor() as i32).max(0) as usize)
}

#[test]
fn table_and_curves_say_whether_they_are_filtered() {
    let Some(mut harness) = finished(SIZE, Theme::Light) else { return };
    assert!(!has(&harness, "unfiltered"));
    let curves = harness.state().curves().clone();
    harness.get_by_role_and_label(Role::SpinButton, "Post-filter FWHM").scroll_to_me();
    harness.run_steps(3);
    harness.get_by_role_and_label(Role::SpinButton, "Post-filter FWHM").set_value_accesskit(12.0);
    wait_for(&mut harness, "the filtered image", |app| app.shown().filter_mm() == Some(12.0));
    let shown = harness.state().shown();
    let filtered = largest(harness.state(), shown.volume());
    let unfiltered = largest(harness.state(), shown.unfiltered());
    // Titles of noise and contrast, and the table's choice.
    assert_eq!(harness.query_all_by_label("unfiltered").count(), 3);
    assert!(has(&harness, &filtered) && !has(&harness, &unfiltered), "{filtered}, unfiltered {unfiltered}");
    harness.get_by_role_and_label(Role::Button, "unfiltered").click();
    harness.run_steps(3);
    assert!(!has(&harness, &filtered) && has(&harness, &unfiltered), "{filtered}, unfiltered {unfiltered}");
    assert_eq!(harness.state().curves(), &curves, "the curves stay those of the reconstruction");
    harness.get_by_role_and_label(Role::Button, "filtered 12.0 mm").click();
    harness.run_steps(3);
    assert!(has(&harness, &filtered));
    // Without a filter there is nothing to choose.
    harness.get_by_role_and_label(Role::SpinButton, "Post-filter FWHM").set_value_accesskit(0.0);
    wait_for(&mut harness, "the image without a filter", |app| app.shown().filter_mm().is_none());
    assert!(!has(&harness, "unfiltered") && has(&harness, &unfiltered));
}

#[test]
fn a_body_has_no_width_and_the_reason_is_told() {
    let Some(mut harness) = finished(SIZE, Theme::Dark) else { return };
    hover(&mut harness, "FWHM –");
    let reasons = ["a plateau", "fits", "wider than half", "narrower than a voxel", "is flat"];
    let told = |reason: &&str| harness.query_all_by_label_contains(reason).next().is_some();
    assert!(reasons.iter().any(told));
}
