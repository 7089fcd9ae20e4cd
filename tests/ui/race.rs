//! The switch between ways to add while a run goes on, what a race loses, and where the time goes.

use egui::Theme;
use egui_kittest::Harness;
use egui_kittest::kittest::Queryable as _;
use tomoscope::operator::Accumulation;
use tomoscope::ui::{App, RunState};

use super::{click, finished, renderer, show_research, wait_for, window};

const SIZE: [f32; 2] = [1400.0, 900.0];
const NON_ATOMIC: &str = "non-atomic";
const BANNER: &str = "NOT FOR DIAGNOSIS: a race, additions are lost";

/// The small study, not started.
fn opened() -> Option<Harness<'static, App>> {
    let mut harness = window(renderer()?, SIZE, Theme::Dark, false);
    wait_for(&mut harness, "the study", |app| !app.work.document().rois.is_empty());
    Some(harness)
}

/// One step more.
fn step(harness: &mut Harness<'_, App>) {
    let done = harness.state().work.live().progress().0;
    click(harness, "Step");
    let stepped = |app: &App| app.work.live().state == RunState::Paused && app.work.live().progress().0 == done + 1;
    wait_for(harness, "the step", stepped);
}

fn has(harness: &Harness<'_, App>, label: &str) -> bool {
    harness.query_all_by_label_contains(label).next().is_some()
}

#[test]
fn the_switch_takes_effect_with_the_next_step_and_is_marked_on_every_curve() {
    let Some(mut harness) = opened() else { return };
    assert!(has(&harness, "the device's default"));
    step(&mut harness);
    assert!(!has(&harness, BANNER));
    click(&mut harness, NON_ATOMIC);
    assert!(has(&harness, "non-atomic from the next step on"));
    assert_eq!(harness.state().work.live().accumulation(), Some(Accumulation::Deterministic));
    step(&mut harness);
    assert!(has(&harness, BANNER) && !has(&harness, "from the next step on"));
    // By the keyboard too.
    harness.key_press_modifiers(egui::Modifiers::COMMAND, egui::Key::Num1);
    harness.run_steps(3);
    assert!(has(&harness, "atomic from the next step on"));
    step(&mut harness);
    assert_eq!(harness.state().work.live().accumulation(), Some(Accumulation::Atomic));
    assert!(!has(&harness, BANNER));
    let subsets = harness.state().work.live().num_subsets() as f64;
    let words = format!("; from iteration {:.2} on non-atomic; from iteration {:.2} on atomic", 1.0 / subsets, 2.0 / subsets);
    click(&mut harness, "Race");
    click(&mut harness, "Likelihood");
    let plots = ["noise", "contrast recovery", "log-likelihood", "lost additions", "image level"];
    for plot in plots {
        harness.get_by_label(&format!("Plot: {plot}{words}"));
    }
    harness.check_accessibility();
}

#[test]
fn what_the_race_loses_is_told_in_numbers() {
    let Some(mut harness) = opened() else { return };
    click(&mut harness, "Race");
    harness.get_by_label_contains("of non-atomic backprojection appear here");
    show_research(&mut harness);
    harness.get_by_role_and_label(egui::accesskit::Role::CheckBox, "Non-atomic sensitivity").scroll_to_me();
    harness.run_steps(3);
    harness.get_by_role_and_label(egui::accesskit::Role::CheckBox, "Non-atomic sensitivity").click();
    harness.run_steps(3);
    harness.get_by_label(NON_ATOMIC).scroll_to_me();
    harness.run_steps(3);
    click(&mut harness, NON_ATOMIC);
    harness.get_by_label("Start").scroll_to_me();
    harness.run_steps(3);
    step(&mut harness);
    for label in [
        "lost of this iterate",
        "lost of a step so far, max",
        "lost of a voxel so far, max",
        "lost of a backprojection of ones",
        "image level, race-free = 100 %",
        "sensitivity image: non-atomic, too",
    ] {
        harness.get_by_label(label);
    }
    let race = harness.state().work.live().last.as_ref().unwrap().race.unwrap();
    assert!(race.lost < 0.5 && race.level > 0.5, "{race:?}");
    assert!(race.lost_step_max == race.lost && race.lost_voxel_max >= race.lost && race.lost_voxel_max <= 1.0, "{race:?}");
    assert!(has(&harness, "image level ") && has(&harness, "lost so far: up to "));
    let job = &harness.state().work.live().info.as_ref().unwrap().job;
    assert!(job.settings.has_racy_sensitivity());
    harness.get_by_role_and_label(egui::accesskit::Role::RadioButton, "deterministic").click();
    step(&mut harness);
    harness.get_by_label_contains("No race condition: deterministic");
    assert_eq!(harness.state().work.live().steps.values().filter(|step| step.race.is_some()).count(), 1);
}

#[test]
fn an_image_with_a_race_is_compared_with_that_of_a_run_without_one() {
    let Some(mut harness) = finished(SIZE, Theme::Dark) else { return };
    assert_eq!(harness.state().work.likeness(), None);
    click(&mut harness, "Race");
    let run_again = |harness: &mut Harness<'_, App>, run: u64| {
        click(harness, "Restart");
        wait_for(harness, "the end of the run", |app| app.work.is_run_over() && app.work.live().run == run);
    };
    click(&mut harness, NON_ATOMIC);
    for run in [2, 3] {
        // The third is compared with the first too: the second has a race.
        run_again(&mut harness, run);
        wait_for(
            &mut harness,
            "the comparison",
            |app| matches!(app.work.likeness(), Some(Ok(likeness)) if likeness.iteration == 3),
        );
        let likeness = harness.state().work.likeness().unwrap().unwrap();
        assert!(likeness.reference == 1 && likeness.correlation > 0.9 && likeness.correlation <= 1.0, "{likeness:?}");
        harness.get_by_label("CC with race-free run 1, iteration 3");
        harness.get_by_label(&format!("{:.4} %", 100.0 * likeness.correlation));
    }
    // Steps beyond the last image of the reference have nothing to be compared with.
    click(&mut harness, "Continue");
    wait_for(&mut harness, "six iterations", |app| {
        app.work.is_run_over() && app.work.live().progress().0 == 6 * app.work.live().num_subsets()
    });
    wait_for(
        &mut harness,
        "the reason",
        |app| matches!(app.work.likeness(), Some(Err(reason)) if reason.contains("iteration 6")),
    );
    assert!(has(&harness, "run 1, the reference, has no image of iteration 6"));
    harness.get_by_role_and_label(egui::accesskit::Role::RadioButton, "deterministic").click();
    harness.run_steps(3);
    run_again(&mut harness, 4);
    assert_eq!(harness.state().work.likeness(), None);
}

#[test]
fn a_race_says_what_it_could_be_compared_with() {
    let Some(mut harness) = opened() else { return };
    click(&mut harness, "Race");
    click(&mut harness, NON_ATOMIC);
    let run = |harness: &mut Harness<'_, App>, start: &str, run: u64| {
        click(harness, start);
        wait_for(harness, "the end", |app| app.work.is_run_over() && app.work.live().run == run);
        assert!(matches!(harness.state().work.likeness(), Some(Err(_))));
    };
    run(&mut harness, "Start", 1);
    assert!(has(&harness, "complete an atomic run of the same length first") && harness.state().work.reference().is_none());
    // A reference with a race is no race-free image.
    click(&mut harness, "Compare");
    click(&mut harness, "Reference: none");
    harness.get_by_label_contains("run 1: ").click();
    harness.run_steps(3);
    click(&mut harness, "Race");
    assert!(has(&harness, "this run is the reference itself"));
    run(&mut harness, "Restart", 2);
    assert!(has(&harness, "run 1, the reference, had a race itself"));
}

#[test]
fn the_stages_of_an_iteration_are_in_a_table_with_bars() {
    let Some(mut harness) = finished([1000.0, 700.0], Theme::Light) else { return };
    click(&mut harness, "Time");
    for label in
        ["forward", "ratio", "backprojection", "update", "sensitivity", "copy", "measure", "sum", "Plot: time of each stage"]
    {
        harness.get_by_label(label);
    }
    assert!(harness.query_by_label("race").is_none(), "there was none");
    assert_eq!(harness.state().work.live().stages.iterations().count(), 3);
    harness.check_accessibility();
    click(&mut harness, "Regions");
    harness.get_by_label("Add sphere");
}

#[test]
fn the_warning_belongs_to_the_image_on_the_screen() {
    let Some(mut harness) = finished(SIZE, Theme::Dark) else { return };
    click(&mut harness, NON_ATOMIC);
    let more = |harness: &mut Harness<'_, App>, iterations: usize| {
        click(harness, "Continue");
        let done = |app: &App| app.work.is_run_over() && app.work.live().last.as_ref().is_some_and(|r| r.iteration == iterations);
        wait_for(harness, "more iterations", done);
    };
    // "Continue" adds three iterations.
    more(&mut harness, 6);
    assert!(has(&harness, BANNER));
    harness.get_by_role_and_label(egui::accesskit::Role::RadioButton, "atomic").click();
    more(&mut harness, 9);
    assert!(!has(&harness, BANNER));
    for (back, racy) in [(1, false), (2, false), (3, true), (4, true), (5, true), (6, false)] {
        harness.key_press(egui::Key::ArrowLeft);
        harness.run_steps(2);
        assert_eq!(harness.state().work.shown().id().unwrap().iteration, 9 - back);
        assert_eq!(has(&harness, BANNER), racy, "iteration {}", 9 - back);
    }
    // A start that is refused (there are not so many views) leaves the run before and the warning about its image.
    click(&mut harness, "Live");
    click(&mut harness, NON_ATOMIC);
    more(&mut harness, 12);
    harness.get_by_role_and_label(egui::accesskit::Role::SpinButton, "Subsets").scroll_to_me();
    harness.run_steps(3);
    harness.get_by_role_and_label(egui::accesskit::Role::SpinButton, "Subsets").set_value_accesskit(512.0);
    harness.run_steps(3);
    harness.get_by_label("Restart").scroll_to_me();
    harness.run_steps(3);
    wait_for(&mut harness, "the forecast", |app| app.work.next_start().is_some_and(Result::is_err));
    click(&mut harness, "Restart");
    assert!(harness.state().work.notices().texts().any(|text| text.contains("512 subsets")));
    assert!(has(&harness, BANNER) && !has(&harness, "of the run before") && harness.state().work.live().state.can_continue());
}
