//! Error bars by replicates in the window: form, table, curves, image of the standard deviations, exported table.

use egui::Theme;
use egui::accesskit::Role;
use egui_kittest::kittest::{NodeT as _, Queryable as _};
use tomoscope::io::measurements::read_measurements;
use tomoscope::plan::ReplicateSettings;
use tomoscope::ui::App;

use super::{bring_into_view, click, renderer, wait_for, wait_to_see, window};

#[test]
fn a_run_with_replicates_has_error_bars_in_table_curves_and_slices() {
    let Some(renderer) = renderer() else { return };
    let mut harness = window(renderer, [1400.0, 900.0], Theme::Light, false);
    wait_for(&mut harness, "the study", |app| app.work.counts().is_some());
    bring_into_view(&mut harness, "Set Replicates");
    click(&mut harness, "Set Replicates");
    let field = harness.get_by_role_and_label(Role::SpinButton, "Replicates");
    field.set_value_accesskit(4.0);
    harness.run_steps(3);
    let set = |harness: &mut egui_kittest::Harness<'_, App>, label: &str, value: f64| {
        harness.get_by_role_and_label(Role::SpinButton, label).scroll_to_me();
        harness.run_steps(3);
        harness.get_by_role_and_label(Role::SpinButton, label).set_value_accesskit(value);
        harness.run_steps(3);
    };
    set(&mut harness, "Subsets", 4.0);
    set(&mut harness, "Iterations", 2.0);
    click(&mut harness, "Add sphere");
    assert!(harness.query_by_label("Mean ± SD").is_none(), "nothing was measured yet");
    bring_into_view(&mut harness, "Start");
    click(&mut harness, "Start");
    wait_for(&mut harness, "the end of the run", |app| app.work.live().run == 1 && app.work.is_run_over());
    let bands = harness.state().work.curves().mean_bands.clone();
    assert!(!bands.is_empty());
    for band in &bands {
        assert!(band.points.len() == 8 && band.points.iter().all(|[_, _, sd]| *sd > 0.0), "{band:?}");
    }
    click(&mut harness, "Contrast");
    click(&mut harness, "Curves: Recovery");
    click(&mut harness, "Mean ± SD");
    harness.get_by_label("Plot: means");
    // The table has the standard deviation of the mean.
    let label = format!("Mean of {}: ", bands[0].name);
    wait_to_see(&mut harness, "mean ± SD in the table", |harness| {
        harness.query_all_by_label_contains(&label).any(|node| {
            let node = node.accesskit_node();
            node.label().or_else(|| node.value()).is_some_and(|text| text.contains(" ± "))
        })
    });
    // A region that is moved after the run has one, too, on the last image.
    let of_moved = |app: &App| {
        let Some(branch) = app.work.live().rois.newest() else { return false };
        let deviation =
            |step: usize| branch.points.get(&step).and_then(|point| point.deviation(app.work.document().rois.len() - 1));
        deviation(8).is_some() && deviation(7).is_none()
    };
    assert!(!of_moved(harness.state()));
    harness.key_press_modifiers(egui::Modifiers::SHIFT, egui::Key::ArrowDown);
    wait_for(&mut harness, "the standard deviation of the moved region", of_moved);
    // The image of the standard deviations.
    bring_into_view(&mut harness, "Show standard deviations");
    click(&mut harness, "Show standard deviations");
    wait_to_see(&mut harness, "the standard deviations", |harness| {
        harness.query_by_label_contains("standard deviations: SD").is_some()
    });
    harness.check_accessibility();
    bring_into_view(&mut harness, "Remove");
    click(&mut harness, "Remove");
    harness.run_steps(5);
    assert!(harness.query_by_label("Show standard deviations").is_some());
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("table.csv");
    harness.state().work.export_csv(&path).unwrap();
    let rows = read_measurements(&path).unwrap();
    let moved = &harness.state().work.document().rois.last().unwrap().name;
    assert_eq!(rows.iter().filter(|row| row.quantity == "mean_sd" && row.roi == *moved).count(), 1);
}

#[test]
fn the_form_sets_a_part_of_the_time_of_the_scan() {
    let Some(renderer) = renderer() else { return };
    let mut harness = window(renderer, [1400.0, 900.0], Theme::Dark, false);
    wait_for(&mut harness, "the study", |app| app.work.counts().is_some());
    let set = |harness: &mut egui_kittest::Harness<'_, App>, label: &str, value: f64| {
        harness.get_by_role_and_label(Role::SpinButton, label).scroll_to_me();
        harness.run_steps(3);
        harness.get_by_role_and_label(Role::SpinButton, label).set_value_accesskit(value);
        harness.run_steps(3);
    };
    assert!(harness.query_by_label("Set As if scanned for").is_none(), "only error bars have a part of the time");
    bring_into_view(&mut harness, "Set Replicates");
    click(&mut harness, "Set Replicates");
    harness.get_by_role_and_label(Role::SpinButton, "Replicates").set_value_accesskit(2.0);
    harness.run_steps(3);
    assert!(harness.query_by_label("Scan duration").is_none());
    bring_into_view(&mut harness, "Set As if scanned for");
    click(&mut harness, "Set As if scanned for");
    set(&mut harness, "As if scanned for", 30.0);
    harness.check_accessibility();
    // The data contain no duration.
    let refusal = |app: &App| {
        app.work.next_start().is_some_and(|next| next.as_ref().is_err_and(|text| text.contains("set the scan duration")))
    };
    wait_for(&mut harness, "the refusal", refusal);
    bring_into_view(&mut harness, "Set Scan duration");
    click(&mut harness, "Set Scan duration");
    set(&mut harness, "Scan duration", 20.0);
    let refusal = |app: &App| {
        app.work.next_start().is_some_and(|next| next.as_ref().is_err_and(|text| text.contains("at most the 20 s of the scan")))
    };
    wait_for(&mut harness, "the refusal of a longer scan", refusal);
    set(&mut harness, "Scan duration", 120.0);
    set(&mut harness, "Iterations", 1.0);
    wait_for(&mut harness, "the forecast", |app| app.work.next_start().is_some_and(Result::is_ok));
    bring_into_view(&mut harness, "Start");
    click(&mut harness, "Start");
    wait_for(&mut harness, "the end of the run", |app| app.work.live().run == 1 && app.work.is_run_over());
    let expected = ReplicateSettings { as_if_secs: Some(30.0), scan_secs: Some(120.0), ..ReplicateSettings::new(2) };
    assert_eq!(harness.state().work.live().info.as_ref().unwrap().job.settings.replicates(), Some(expected));
    // Without it all of the scan.
    bring_into_view(&mut harness, "Set As if scanned for");
    click(&mut harness, "Set As if scanned for");
    harness.run_steps(3);
    assert!(harness.query_by_label("Scan duration").is_none());
}
