//! Stopping rules: a run stops at the iteration that meets them, with its image, and only once.

use tomoscope::data::{Roi, RoiRole};
use tomoscope::session::{Control, EndReason, Event, EventKind, RoiSet, RunId, StopRule};

use super::script::{Script, Watcher, ball, scripted, value_of};

/// Returns the text of the rule that a run has met.
fn met(watcher: &Watcher, run: RunId) -> Vec<String> {
    let of_run = watcher.events.iter().filter(|event| event.run == run);
    of_run.filter_map(|event| if let EventKind::RuleMet(words) = &event.kind { Some(words.clone()) } else { None }).collect()
}

/// Waits for the end of a run after event number `from`.
fn end(watcher: &mut Watcher, from: usize) -> EndReason {
    match watcher.wait_for(from, |event| matches!(event.kind, EventKind::Ended(_))).kind {
        EventKind::Ended(reason) => reason,
        kind => panic!("{kind:?}"),
    }
}

#[test]
fn a_plateau_of_the_likelihood_stops_the_run_that_meets_it_once() {
    // After k iterations the likelihood is −1/k: the last one added 1/(k − 1)² of what all did.
    let mut watcher = Watcher::new(scripted(|_| Script::new(1)));
    watcher.session.send(Control::SetStopRules(vec![StopRule::Plateau { part: 0.05 }]));
    for run in 1..=2 {
        let from = watcher.events.len();
        assert_eq!(watcher.start(50, RoiSet::default(), false), run);
        assert_eq!(end(&mut watcher, from), EndReason::Stopped);
        assert_eq!(watcher.iterates(run).last().unwrap().iteration, 6);
        assert_eq!(watcher.shown_value(), value_of(run as usize, 6), "its image is the one that met the rule");
        let words = met(&watcher, run);
        assert_eq!(
            words,
            [
                "stopped after iteration 6: the last iteration added 4.00 % of what all added to the log-likelihood, at most 5.00 %"
            ]
        );
    }
    // The run continues on request, and the rule does not stop it again.
    let from = watcher.events.len();
    watcher.session.send(Control::SetIterations(9));
    assert_eq!(end(&mut watcher, from), EndReason::Completed);
    assert_eq!((watcher.iterates(2).last().unwrap().iteration, met(&watcher, 2).len()), (9, 1));
    // Without rules nothing stops.
    watcher.session.send(Control::SetStopRules(Vec::new()));
    let from = watcher.events.len();
    watcher.start(20, RoiSet::default(), false);
    assert_eq!(end(&mut watcher, from), EndReason::Completed);
}

#[test]
fn the_recovery_of_a_region_counts_from_when_it_has_its_role() {
    let background = ball(1).rois[0].clone();
    let cold = |role| Roi { name: "C".into(), role, centre_mm: [1.0, 0.0, 0.0], ..background.clone() };
    let set = |role| RoiSet { branch: 1, rois: vec![background.clone(), cold(role)].into() };
    let mut watcher = Watcher::new(scripted(|_| Script::new(2)));
    let rule = StopRule::SteadyRecovery { roi: "C".into(), band: 0.01, iterations: 2 };
    watcher.session.send(Control::SetStopRules(vec![rule]));
    // The image is the same everywhere: the recovery is 0 after each iteration.
    let run = watcher.start(50, set(RoiRole::Cold), false);
    assert_eq!(watcher.wait_for_end(run), EndReason::Stopped);
    assert_eq!(watcher.iterates(run).last().unwrap().iteration, 3);
    let run = watcher.start(5, set(RoiRole::None), true);
    for _ in 0..4 {
        watcher.session.send(Control::StepOnce);
    }
    let is_fourth = |event: &Event| matches!(&event.kind, EventKind::Iterate(report) if report.subiteration == 4);
    watcher.wait_for(0, |event| event.run == run && is_fourth(event));
    watcher.session.send(Control::RenameRois(RoiSet { branch: 0, rois: set(RoiRole::Cold).rois }));
    watcher.session.send(Control::Resume);
    assert_eq!(watcher.wait_for_end(run), EndReason::Stopped);
    assert_eq!(watcher.iterates(run).last().unwrap().iteration, 5);
    // Moved regions do not rename those of the run.
    let moved = vec![Roi { centre_mm: [2.0, 0.0, 0.0], ..background.clone() }, cold(RoiRole::Cold)];
    watcher.session.send(Control::SetStopRules(vec![StopRule::Noise { nsr: -1.0 }]));
    let run = watcher.start(5, set(RoiRole::Cold), true);
    watcher.session.send(Control::RenameRois(RoiSet { branch: 0, rois: moved.into() }));
    watcher.session.send(Control::Resume);
    assert_eq!(watcher.wait_for_end(run), EndReason::Stopped);
    assert_eq!(met(&watcher, run), ["stopped after iteration 1: the background's NSR of 0.0 % passed -100.0 %"]);
}
