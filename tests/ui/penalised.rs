//! Algorithms that climb to the maximum of a penalised likelihood, watched in the window.

use egui::Theme;
use egui::accesskit::Role;
use egui_kittest::Harness;
use egui_kittest::kittest::Queryable as _;
use tomoscope::io::measurements::read_measurements;
use tomoscope::ui::App;

use super::{bring_into_view, click, renderer, wait_for, window};

const SIZE: [f32; 2] = [1400.0, 900.0];

/// Sets a number of the form.
fn set(harness: &mut Harness<'_, App>, field: &str, value: f64) {
    harness.get_by_role_and_label(Role::SpinButton, field).scroll_to_me();
    harness.run_steps(3);
    harness.get_by_role_and_label(Role::SpinButton, field).set_value_accesskit(value);
    harness.run_steps(3);
}

/// The small study with SVRG in the form.
fn with_svrg() -> Option<Harness<'static, App>> {
    let mut harness = window(renderer()?, SIZE, Theme::Light, false);
    wait_for(&mut harness, "the study", |app| app.counts().is_some());
    click(&mut harness, "Algorithm: OSEM");
    click(&mut harness, "SVRG");
    set(&mut harness, "Strength β", 0.5);
    set(&mut harness, "Subsets", 4.0);
    Some(harness)
}

fn start(harness: &mut Harness<'_, App>, button: &str, run: u64) {
    bring_into_view(harness, button);
    click(harness, button);
    wait_for(harness, "the end of the run", |app| app.live().run == run && app.is_run_over());
}

#[test]
fn objective_update_and_step_size_have_curves() {
    let Some(mut harness) = with_svrg() else { return };
    set(&mut harness, "Iterations", 7.0);
    assert!(harness.query_by_label("Objective").is_none(), "nothing was measured yet");
    start(&mut harness, "Start", 1);
    let curves = harness.state().curves();
    assert_eq!(curves.objective.iter().map(|point| point[0]).collect::<Vec<_>>(), [0.0, 2.0, 4.0, 6.0]);
    assert_eq!((curves.update.len(), curves.step_size.len(), curves.step_size[0]), (28, 28, [0.25, 3.0]));
    // The change is that of both terms.
    let changes = curves.objective_change.iter().zip(&curves.data_term_change).zip(&curves.penalty_change);
    for ((sum, data), penalty) in changes {
        assert!((sum[1] - data[1] - penalty[1]).abs() <= 1e-9 * data[1].abs(), "{sum:?} {data:?} {penalty:?}");
    }
    assert!(curves.objective_change.windows(2).all(|pair| pair[1][1] > pair[0][1]), "{:?}", curves.objective_change);
    click(&mut harness, "Likelihood");
    for (tab, plot) in
        [("Objective", "Plot: change of the objective"), ("Update", "Plot: update of the image"), ("Step", "Plot: step size")]
    {
        click(&mut harness, tab);
        harness.get_by_label(plot);
    }
    harness.check_accessibility();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("table.csv");
    harness.state().export_csv(&path).unwrap();
    let rows = read_measurements(&path).unwrap();
    let count = |quantity: &str| rows.iter().filter(|row| row.quantity == quantity).count();
    assert_eq!(["objective", "data_term", "penalty", "update", "step_size"].map(count), [4, 4, 4, 28, 28]);
}
