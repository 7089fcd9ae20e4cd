//! Least squares of an EPRI acquisition with total variation, in the window.

use egui::Theme;
use egui_kittest::kittest::Queryable as _;
use tomoscope::io::write_sweep;
use tomoscope::phantom::epri::{SweepOptions, by_name, simulate};
use tomoscope::plan::{BETA, LAMBDA, StudyFiles, SweepFiles};
use tomoscope::scanner::epri::Scheme;
use tomoscope::session::EndReason;
use tomoscope::task::Task;
use tomoscope::ui::{App, Mark, RunState, Source};

use super::penalised::set;
use super::{click, renderer, wait_for, window_on};

fn is_completed(app: &App) -> bool {
    app.work.live().state == RunState::Ended(EndReason::Completed)
}

#[test]
fn total_variation_iterates_and_its_strength_changes_meanwhile() {
    let options =
        SweepOptions { scheme: Scheme::HalfCircle { num_angles: 12 }, num_points: 24, step_mm: 1.6, ..SweepOptions::default() };
    let study = simulate(&by_name("disc", options.half_extent_mm()).unwrap(), &options, &Task::new()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("disc.sweep");
    write_sweep(&path, &study).unwrap();
    let Some(renderer) = renderer() else { return };
    let start = Source::Files(StudyFiles::Sweep(SweepFiles::of(&path)));
    let mut harness = window_on(renderer, [1400.0, 900.0], Theme::Dark, false, start);
    wait_for(&mut harness, "the sweep", |app| app.work.acquisition().is_some());
    click(&mut harness, "Algorithm: FBP, one stage");
    click(&mut harness, "Total variation");
    click(&mut harness, "Set Strength λ");
    set(&mut harness, "Iterations", 30.0);
    set(&mut harness, "Tolerance", 0.0);
    click(&mut harness, "Start");
    wait_for(&mut harness, "the end", is_completed);
    let app = harness.state();
    assert_eq!(app.work.live().progress(), (30, 30));
    let title = app.work.live().title().unwrap();
    assert!(title.contains("Total variation, strength λ 1") && !title.contains("positive"), "{title}");
    // The objective is that of the image before each tenth step and the first.
    assert_eq!(app.work.curves().objective.iter().map(|point| point[0]).collect::<Vec<_>>(), [0.0, 9.0, 19.0, 29.0]);
    assert!(harness.query_by_label_contains("Filter ").is_none(), "there is no filter");
    click(&mut harness, "Objective");
    harness.get_by_label("Plot: change of the objective");
    set(&mut harness, "λ of this run", 3.0);
    // The form of the next run has it too, and is not marked as different.
    assert!(harness.query_by_label("Strength λ •").is_none());
    harness.get_by_label("λ 3 from the next step on");
    click(&mut harness, "Step");
    wait_for(&mut harness, "a step", |app| app.work.live().progress().0 == 31);
    let live = harness.state().work.live();
    assert!(matches!(&live.marks[..], [(30, Mark::Tuning(text))] if text == "λ 3"), "{:?}", live.marks);
    let record = live.provenance(31, None).unwrap().algorithm.unwrap();
    assert_eq!((record.parameters.number(&LAMBDA), record.parameters.number(&BETA)), (Some(3.0), Some(0.0)));
    assert!(record.em.is_none() && record.fbp.is_none());
    // Back to filtered backprojection: one pass.
    click(&mut harness, "Algorithm: Total variation");
    click(&mut harness, "FBP, one stage");
    assert!(harness.query_by_label("Iterations").is_none());
    click(&mut harness, "Restart");
    wait_for(&mut harness, "the end of the second run", |app| is_completed(app) && app.work.live().progress() == (12, 12));
    harness.check_accessibility();
}
