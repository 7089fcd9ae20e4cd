//! Algorithms that climb to the maximum of a penalised likelihood, watched in the window.

use std::path::Path;
use std::sync::Arc;

use egui::Theme;
use egui::accesskit::Role;
use egui_kittest::Harness;
use egui_kittest::kittest::Queryable as _;
use tomoscope::data::{Preset, Volume};
use tomoscope::io::PetricFolder;
use tomoscope::io::measurements::read_measurements;
use tomoscope::phantom::{self, SimulationOptions};
use tomoscope::plan::BETA;
use tomoscope::scanner::find;
use tomoscope::task::Task;
use tomoscope::ui::{App, BuiltIn, Mark, Measured, RunState, Source};

use super::lesions::type_path;
use super::{bring_into_view, click, finished, renderer, wait_for, window, window_on};

const SIZE: [f32; 2] = [1400.0, 900.0];

/// Sets a number of the form.
pub fn set(harness: &mut Harness<'_, App>, field: &str, value: f64) {
    harness.get_by_role_and_label(Role::SpinButton, field).scroll_to_me();
    harness.run_steps(3);
    harness.get_by_role_and_label(Role::SpinButton, field).set_value_accesskit(value);
    harness.run_steps(3);
}

/// Chooses SVRG in the form, with this strength and voxels that all count alike.
fn choose_svrg(harness: &mut Harness<'_, App>, strength: f64) {
    click(harness, "Algorithm: OSEM");
    click(harness, "SVRG");
    set(harness, "Strength β", strength);
    bring_into_view(harness, "Weights κ: auto");
    click(harness, "Weights κ: auto");
    harness.get_by_role_and_label(Role::Button, "none").click();
    harness.run_steps(3);
}

/// The small study with SVRG in the form.
fn with_svrg() -> Option<Harness<'static, App>> {
    let mut harness = window(renderer()?, SIZE, Theme::Light, false);
    wait_for(&mut harness, "the study", |app| app.work.counts().is_some());
    choose_svrg(&mut harness, 0.5);
    set(&mut harness, "Subsets", 4.0);
    Some(harness)
}

fn start(harness: &mut Harness<'_, App>, button: &str, run: u64) {
    bring_into_view(harness, button);
    click(harness, button);
    wait_for(harness, "the end of the run", |app| app.work.live().run == run && app.work.is_run_over());
}

#[test]
fn objective_update_and_step_size_have_curves() {
    let Some(mut harness) = with_svrg() else { return };
    set(&mut harness, "Iterations", 7.0);
    assert!(harness.query_by_label("Objective").is_none(), "nothing was measured yet");
    start(&mut harness, "Start", 1);
    wait_for(&mut harness, "the curves", |app| app.work.curves().objective.len() == 4);
    let curves = harness.state().work.curves();
    assert_eq!(curves.objective.iter().map(|point| point[0]).collect::<Vec<_>>(), [0.0, 2.0, 4.0, 6.0]);
    assert_eq!((curves.update.len(), curves.step_size.len(), curves.step_size[0]), (28, 28, [0.25, 1.5]));
    assert!(curves.optimality.len() >= 4 && curves.optimality.iter().all(|point| point[1] > 0.0), "{:?}", curves.optimality);
    // The change is that of both terms.
    let [objective, data_term, penalty] = [&curves.objective_change, &curves.data_term_change, &curves.penalty_change];
    assert_eq!(objective.len(), 1);
    for ((sum, data), penalty) in objective[0].iter().zip(&data_term[0]).zip(&penalty[0]) {
        assert!((sum[1] - data[1] - penalty[1]).abs() <= 1e-9 * data[1].abs(), "{sum:?} {data:?} {penalty:?}");
    }
    assert!(objective[0].windows(2).all(|pair| pair[1][1] > pair[0][1]), "{objective:?}");
    click(&mut harness, "Likelihood");
    for (before, curve, plot) in [
        ("Likelihood", "Objective", "Plot: change of the objective"),
        ("Objective", "Update", "Plot: update, optimality residual"),
        ("Update", "Step size", "Plot: step size"),
    ] {
        click(&mut harness, &format!("Curves: {before}"));
        click(&mut harness, curve);
        harness.get_by_label(plot);
    }
    harness.check_accessibility();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("table.csv");
    harness.state().work.export_csv(&path).unwrap();
    let rows = read_measurements(&path).unwrap();
    let count = |quantity: &str| rows.iter().filter(|row| row.quantity == quantity).count();
    assert_eq!(["objective", "data_term", "penalty", "update", "step_size"].map(count), [4, 4, 4, 28, 28]);
}

#[test]
fn penalty_and_steps_change_while_the_run_continues() {
    let Some(mut harness) = with_svrg() else { return };
    set(&mut harness, "Iterations", 9000.0);
    bring_into_view(&mut harness, "Start");
    click(&mut harness, "Start");
    wait_for(&mut harness, "some iterations", |app| app.work.live().last.as_ref().is_some_and(|last| last.iteration >= 3));
    bring_into_view(&mut harness, "Pause");
    click(&mut harness, "Pause");
    wait_for(&mut harness, "the pause", |app| app.work.live().state == RunState::Paused);
    let at = harness.state().work.live().progress().0;
    set(&mut harness, "β of this run", 2.0);
    set(&mut harness, "Step factor of this run", 0.5);
    harness.get_by_label("β 2, steps × 0.5 from the next step on");
    // The form of the next run has the same penalty, and is not marked as different.
    assert!(harness.query_by_label("Strength β •").is_none());
    bring_into_view(&mut harness, "Step");
    click(&mut harness, "Step");
    wait_for(&mut harness, "a step", |app| app.work.live().progress().0 == at + 1 && app.work.live().state == RunState::Paused);
    let live = harness.state().work.live();
    let tuning = live.last.as_ref().unwrap().ascent.unwrap().tuning;
    assert_eq!((tuning.strength, tuning.gamma, tuning.step_factor), (2.0, 2.0, 0.5));
    assert!(
        matches!(&live.marks[..], [(step, Mark::Tuning(text))] if *step == at && text == "β 2, steps × 0.5"),
        "{:?}",
        live.marks
    );
    let record = live.provenance(at + 1, None).unwrap().algorithm.unwrap();
    let switched: Vec<_> = record.ascent.unwrap().switched.iter().map(|span| span.from_subiteration).collect();
    assert_eq!(switched, [1, at + 1]);
    assert_eq!(record.parameters.number(&BETA), Some(2.0));
    let (title, from) = (live.title().unwrap(), at + 1);
    let changes = [format!("strength β 2 since step {from}"), format!(", steps × 0.5 since step {from}")];
    assert!(changes.iter().all(|change| title.contains(change)), "{title}");
    click(&mut harness, "Resume");
    wait_for(&mut harness, "two passes with the new penalty", |app| {
        app.work.curves().objective_change.get(1).is_some_and(|piece| piece.len() > 1)
    });
    let pieces = &harness.state().work.curves().objective_change;
    assert!(pieces.len() == 2 && pieces.iter().all(|piece| piece[0][1] == 0.0), "{pieces:?}");
    click(&mut harness, "Likelihood");
    click(&mut harness, "Curves: Likelihood");
    click(&mut harness, "Objective");
    assert!(harness.query_all_by_label_contains("on β 2, steps × 0.5").count() > 1, "in the name of each plot");
    assert!(harness.state().work.notices().texts().all(|text| !text.contains("halved")));
    bring_into_view(&mut harness, "Stop and keep image");
    click(&mut harness, "Stop and keep image");
    wait_for(&mut harness, "the end", |app| app.work.is_run_over());
    assert!(harness.query_by_label("β of this run").is_some(), "a stopped run can continue");
}

/// Hot and cold spheres on the small ring.
fn spheres() -> Source {
    let measured = Measured::Counts { scanner: "small", counts: 1e6, size: None, attenuation: false, background_fraction: 0.0 };
    Source::BuiltIn(BuiltIn { title: "Spheres", phantom: "nema-iq-2001", measured })
}

#[test]
fn a_run_has_converged_when_ten_images_in_a_row_are_close_to_the_reference() {
    let Some(renderer) = renderer() else { return };
    let mut harness = window_on(renderer, SIZE, Theme::Light, false, spheres());
    wait_for(&mut harness, "the study", |app| app.work.counts().is_some());
    choose_svrg(&mut harness, 20.0);
    set(&mut harness, "Subsets", 6.0);
    set(&mut harness, "Iterations", 24.0);
    start(&mut harness, "Start", 1);
    // The last image of this run is the reference of the next one, which is the same.
    start(&mut harness, "Restart", 2);
    wait_for(&mut harness, "its comparison", |app| app.work.live().found.comparisons.len() == 24);
    let found: Vec<_> = harness.state().work.live().found.comparisons.values().map(|found| found.convergence.unwrap()).collect();
    assert!(!found[0].is_close() && found[23].object_rmse == 0.0, "{found:?}");
    assert!(found.iter().all(|found| found.region_error.is_some()), "the study has hot and cold regions");
    let (num, first) = harness.state().work.live().close_images().map(|(num, first)| (num, first.iteration)).unwrap();
    assert!((10..24).contains(&num) && first == 25 - num, "{num} {first}");
    click(&mut harness, "Compare");
    click(&mut harness, "Convergence");
    harness.get_by_label(&format!("Converged after {first} iterations"));
    harness.get_by_label("Plot: distance from the reference");
    assert_eq!(harness.state().work.curves().object_rmse[0], [1.0, 100.0 * found[0].object_rmse]);
    harness.check_accessibility();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("table.csv");
    harness.state().work.export_csv(&path).unwrap();
    let rows = read_measurements(&path).unwrap();
    let of_run = |quantity: &str| rows.iter().filter(|row| row.run == 2 && row.quantity == quantity).count();
    assert_eq!(["object_rmse", "background_rmse", "region_error"].map(of_run), [24; 3]);
}

#[test]
fn a_folder_of_petric_is_a_study_with_its_penalty() {
    let Some(renderer) = renderer() else { return };
    let folder = tempfile::tempdir().unwrap();
    let geometry = Arc::new(find("small").unwrap().geometry.clone());
    let phantom = phantom::by_name("cylinder", &geometry).unwrap();
    let grid = geometry.default_grid().unwrap();
    let study = phantom::simulate(&phantom, geometry, &SimulationOptions::default(), &Task::new()).unwrap();
    let image = |value: f32| Some(Arc::new(Volume::filled(grid.clone(), value)));
    let preset = Preset { start: image(1.0), kappa: image(0.5), strength: Some(0.25), reference: None };
    PetricFolder::write(folder.path(), &study.measured, &preset, &[]).unwrap();
    let mut harness = window_on(renderer, SIZE, Theme::Light, false, Source::file(folder.path()));
    wait_for(&mut harness, "the study", |app| app.work.counts().is_some());
    harness.run_steps(3);
    assert!(harness.query_by_label("Algorithm: SVRG").is_some());
    assert!(harness.query_by_label("Weights κ: of the file").is_some());
    let strength = |harness: &Harness<'_, App>| {
        let field = harness.get_by_role_and_label(Role::SpinButton, "Strength β");
        field.value().unwrap().parse::<f64>().unwrap()
    };
    assert!((strength(&harness) - 0.25).abs() < 1e-6);
    set(&mut harness, "Iterations", 1.0);
    start(&mut harness, "Start", 1);
    let tuning = harness.state().work.live().last.as_ref().unwrap().ascent.unwrap().tuning;
    assert!((tuning.strength - 0.25).abs() < 1e-6, "{tuning:?}");
    // The run finds another one.
    bring_into_view(&mut harness, "Strength β auto");
    click(&mut harness, "Strength β auto");
    assert!(harness.query_by_role_and_label(Role::SpinButton, "Strength β").is_none());
    start(&mut harness, "Restart", 2);
    let tuning = harness.state().work.live().last.as_ref().unwrap().ascent.unwrap().tuning;
    assert!(tuning.strength > 0.0 && (tuning.strength - 0.25).abs() > 1e-3, "{tuning:?}");
}

#[test]
fn the_image_of_a_file_is_a_reference() {
    let Some(mut harness) = finished(SIZE, Theme::Light) else { return };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("converged.nii");
    click(&mut harness, "Compare");
    let choose = |harness: &mut Harness<'_, App>, from: &str, path: &Path| {
        click(harness, from);
        click(harness, "Image of a file…");
        type_path(harness, path);
    };
    choose(&mut harness, "Reference: none", &folder.path().join("missing.nii"));
    wait_for(&mut harness, "the refusal", |app| app.work.notices().texts().any(|text| text.contains("missing.nii")));
    assert!(harness.state().work.reference().is_none());
    let volume = harness.state().work.shown().volume().unwrap().clone();
    tomoscope::io::write_volume(&path, &volume).unwrap();
    choose(&mut harness, "Reference: none", &path);
    wait_for(&mut harness, "the comparison", |app| app.work.live().found.comparisons.len() == 3);
    harness.get_by_label("Reference: converged.nii");
    let found: Vec<_> = harness.state().work.live().found.comparisons.values().copied().collect();
    assert!(found.iter().all(|found| found.is_fixed && found.reference.is_none()), "{found:?}");
    assert!(found[0].convergence.unwrap().background_rmse > 0.01 && found[2].convergence.unwrap().is_close(), "{found:?}");
    harness.get_by_label("after 3 iterations, with converged.nii");
    // It stays the reference of the next run.
    click(&mut harness, "Restart");
    wait_for(&mut harness, "the second run", |app| app.work.live().run == 2 && app.work.is_run_over());
    wait_for(&mut harness, "its comparison", |app| app.work.live().found.comparisons.len() == 3);
    click(&mut harness, "Reference: converged.nii");
    harness.get_by_role_and_label(Role::Button, "none").click();
    harness.run_steps(3);
    assert!(harness.state().work.reference().is_none());
}
