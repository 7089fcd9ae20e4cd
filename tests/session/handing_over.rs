//! Images that a device copies during the steps: nothing waits for them, and nothing is lost or out of order.

use std::collections::BTreeSet;
use std::sync::{Arc, Condvar, Mutex, OnceLock};
use std::time::Duration;

use crossbeam_channel::{bounded, unbounded};
use tomoscope::algebra::BackendError;
use tomoscope::coded::PassedOn;
use tomoscope::recon::Stage;
use tomoscope::session::{Control, EndReason, EventKind, RoiSet, RunId, SessionOptions};
use tomoscope::task::Task;

use super::script::{PATIENCE, Script, Watcher, ball, regions, scripted, value_of, wait_for_stop};

fn broken() -> Result<(), BackendError> {
    Err(BackendError::Device(PassedOn::new("cuda.driver", "the device broke in a copy; use --device cpu")))
}

/// The number of the last step, which can be waited for.
#[derive(Default)]
struct Steps {
    last: Mutex<usize>,
    changed: Condvar,
}

impl Steps {
    /// A script that counts its steps here.
    fn script(self: &Arc<Self>, num_subsets: usize) -> Script {
        let steps = Arc::clone(self);
        Script::with_deed(num_subsets, move |step, _| {
            *steps.last.lock().unwrap() = step;
            steps.changed.notify_all();
            Ok(())
        })
    }

    /// Returns true if a step begins within a time.
    fn begins(&self, step: usize, within: Duration) -> bool {
        let last = self.last.lock().unwrap();
        *self.changed.wait_timeout_while(last, within, |last| *last < step).unwrap().0 >= step
    }

    /// Waits until a step has begun.
    fn wait_for(&self, step: usize) {
        assert!(self.begins(step, PATIENCE), "step {step} was not reached");
    }
}

/// Returns the reported subiterations of a run.
fn told(watcher: &Watcher, run: RunId) -> Vec<usize> {
    watcher.iterates(run).iter().map(|report| report.subiteration).collect()
}

#[test]
fn the_steps_go_on_while_a_volume_is_copied() {
    let mut watcher = Watcher::new(scripted(|_| {
        let steps = Arc::<Steps>::default();
        // The copy of the first step ends when the thirtieth has begun.
        steps.script(50).with_copy(move |step| {
            if step == 1 {
                steps.wait_for(30);
            }
            Ok(())
        })
    }));
    let run = watcher.start(2, ball(1), false);
    assert_eq!(watcher.wait_for_end(run), EndReason::Completed);
    assert_eq!(told(&watcher, run), (1..=100).collect::<Vec<_>>());
    assert_eq!(watcher.shown_value(), value_of(1, 100));
    assert!(watcher.taken[&run].is_sorted());
    let iterates = watcher.iterates(run);
    assert!(iterates[0].stages[Stage::Copy] > Duration::ZERO, "the time of the copy is told with its step");
    assert!(iterates[1..29].iter().all(|report| report.stages[Stage::Copy].is_zero()), "iterates between are not waited for");
    let kept: Vec<_> = watcher.session.history(run).iter().map(|kept| (kept.id.iteration, kept.volume.as_slice()[0])).collect();
    assert_eq!(kept, [(1, value_of(1, 50)), (2, value_of(1, 100))]);
}

#[test]
fn the_solver_waits_before_a_third_volume() {
    let steps = Arc::<Steps>::default();
    let (open, gate) = unbounded::<()>();
    let counter = Arc::clone(&steps);
    let mut watcher = Watcher::new(scripted(move |_| {
        let gate = gate.clone();
        counter.script(1).with_copy(move |_| {
            let _ = gate.recv_timeout(PATIENCE);
            Ok(())
        })
    }));
    let run = watcher.start(20, RoiSet::default(), false);
    // The start image and the first step's are under way; the second step's has to wait.
    steps.wait_for(2);
    assert!(!steps.begins(3, Duration::from_millis(50)));
    drop(open);
    assert_eq!(watcher.wait_for_end(run), EndReason::Completed);
    assert_eq!(told(&watcher, run), (1..=20).collect::<Vec<_>>());
    assert_eq!(watcher.session.history(run).len(), 20);
}

#[test]
fn every_volume_arrives_before_the_event_that_tells_of_it() {
    let steps = Arc::<Steps>::default();
    let mut watcher = Watcher::new(scripted(move |_| {
        let steps = Arc::clone(&steps);
        let script = steps.script(1);
        // Copies of three lengths: to the end of the same step, or of one or two that follow.
        script.with_copy(move |step| {
            steps.wait_for((step + step % 3).min(200));
            Ok(())
        })
    }));
    let run = watcher.start(200, RoiSet::default(), false);
    loop {
        let before = watcher.events.len();
        watcher.wait_for(before, |_| true);
        let told = told(&watcher, run).last().copied().unwrap_or(0);
        let shown = watcher.shown.as_ref().map_or(0, |frame| frame.id.subiteration);
        assert!(shown >= told, "told of {told}, shown {shown}");
        if watcher.events.iter().any(|e| matches!(e.kind, EventKind::Ended(_))) {
            break;
        }
    }
    assert_eq!(watcher.shown_value(), value_of(1, 200));
}

#[test]
fn a_copy_that_fails_fails_the_run_and_the_last_good_volume_stays() {
    for panics in [false, true] {
        let mut watcher = Watcher::new(scripted(move |run| {
            Script::new(1).with_copy(move |step| match (run, step) {
                (1, 4) if panics => panic!("slot 4 of 3"),
                (1, 4) => broken(),
                _ => Ok(()),
            })
        }));
        let failing = watcher.start(1_000_000, RoiSet::default(), false);
        let problem = watcher.wait_for_failure(failing);
        assert_eq!(problem.code, if panics { "internal" } else { "cuda.driver" }, "{problem:?}");
        // Steps measured meanwhile are reported, and nothing follows the failure.
        let told = told(&watcher, failing);
        assert!(told.len() >= 4 && told.iter().enumerate().all(|(index, step)| *step == index + 1), "{told:?}");
        assert!(matches!(watcher.events.last().unwrap().kind, EventKind::Failed(_)));
        assert!(watcher.shown_value() != value_of(1, 4) && watcher.shown_value() >= value_of(1, 3));
        let next = watcher.start(3, RoiSet::default(), false);
        assert_eq!(watcher.wait_for_end(next), EndReason::Completed);
        assert_eq!(watcher.shown_value(), value_of(2, 3));
    }
}

#[test]
fn a_last_copy_that_fails_is_no_end() {
    for hold in [false, true] {
        let mut watcher = Watcher::new(scripted(|_| Script::new(1).with_copy(|step| if step == 3 { broken() } else { Ok(()) })));
        let run = watcher.start(if hold { 5 } else { 3 }, RoiSet::default(), hold);
        for _ in 0..3 {
            if hold {
                watcher.session.send(Control::StepOnce);
            }
        }
        watcher.wait_for_failure(run);
        assert_eq!(told(&watcher, run), [1, 2, 3]);
        assert_eq!(watcher.shown_value(), value_of(1, 2));
    }
}

#[test]
fn an_edit_finds_every_iterate_in_the_history() {
    let (open, gate) = unbounded::<()>();
    let mut watcher = Watcher::new(scripted(move |_| {
        let gate = gate.clone();
        Script::new(1).with_copy(move |step| {
            if step > 4 {
                let _ = gate.recv_timeout(PATIENCE);
            }
            Ok(())
        })
    }));
    let run = watcher.start(20, RoiSet::default(), false);
    watcher.wait_for(0, |e| matches!(&e.kind, EventKind::Iterate(report) if report.subiteration == 4));
    watcher.session.send(Control::SetRois(ball(2)));
    drop(open);
    let event = watcher.wait_for(0, |e| regions(e).is_some());
    let points = &regions(&event).unwrap().points;
    assert!(points.iter().map(|point| point.1).take(4).eq(1..=4));
    assert_eq!(watcher.wait_for_end(run), EndReason::Completed);
    // Iterates between the edit and its arrival at the solver are measured too: none is left out.
    let known = |watcher: &Watcher| {
        let later = watcher.iterates(run).into_iter().filter(|report| report.branch == 2).map(|report| report.subiteration);
        watcher.remeasured(2).iter().map(|point| point.1).chain(later).collect::<BTreeSet<usize>>()
    };
    while !known(&watcher).into_iter().eq(1..=20) {
        let before = watcher.events.len();
        watcher.wait_for(before, |_| true);
    }
}

#[test]
fn an_edit_is_measured_while_a_step_goes_on() {
    let (open, gate) = bounded::<()>(0);
    let (begun, steps) = unbounded();
    let mut watcher = Watcher::new(scripted(move |_| {
        let (begun, gate) = (begun.clone(), gate.clone());
        Script::with_deed(1, move |step, _| {
            begun.send(step).unwrap();
            if step == 4 {
                let _ = gate.recv_timeout(PATIENCE);
            }
            Ok(())
        })
    }));
    let run = watcher.start(5, ball(0), false);
    while steps.recv_timeout(PATIENCE).unwrap() < 4 {}
    watcher.wait_for(0, |e| matches!(&e.kind, EventKind::Iterate(report) if report.subiteration == 3));
    for branch in 1..=3 {
        watcher.session.send(Control::SetRois(ball(branch)));
        // The solver is inside its fourth step.
        watcher.wait_for(0, |e| regions(e).is_some_and(|sums| sums.branch == branch && sums.points.len() == 3));
    }
    assert!(watcher.iterates(run).iter().all(|report| report.subiteration <= 3));
    drop(open);
    assert_eq!(watcher.wait_for_end(run), EndReason::Completed);
    watcher.wait_for(0, |e| regions(e).is_some_and(|sums| sums.branch == 3 && sums.points.iter().any(|p| p.1 == 4)));
}

#[test]
fn dropping_the_session_ends_it_inside_a_copy() {
    let ((begun, copying), (ended, ends)) = (unbounded(), unbounded());
    let watcher = Watcher::new(scripted(move |_| {
        let stop = Arc::<OnceLock<Task>>::default();
        let (of_steps, begun, ended) = (Arc::clone(&stop), begun.clone(), ended.clone());
        let script = Script::with_deed(1, move |_, task| {
            let _ = of_steps.set(task.clone());
            Ok(())
        });
        script.with_copy(move |step| {
            if step > 0 {
                let _ = begun.send(());
                // The step panics unless it is stopped.
                let _ = wait_for_stop(stop.get().unwrap());
                let _ = ended.send(());
            }
            Ok(())
        })
    }));
    watcher.start(1_000_000, RoiSet::default(), false);
    copying.recv_timeout(PATIENCE).unwrap();
    drop(watcher);
    assert!(ends.try_recv().is_ok(), "the copy was not stopped");
}

#[test]
fn a_thousand_short_runs_with_copies_end_on_their_last_volume() {
    let mut watcher = Watcher::new(scripted(|_| Script::new(3).with_copy(|_| Ok(()))));
    for _ in 0..1000 {
        let run = watcher.start(2, ball(0), false);
        assert_eq!(watcher.wait_for_end(run), EndReason::Completed);
        let frame = watcher.shown.as_ref().unwrap();
        assert_eq!((frame.id.run, frame.id.iteration, frame.id.subiteration), (run, 2, 6));
        assert_eq!(watcher.shown_value(), value_of(run as usize, 6));
        assert_eq!(told(&watcher, run), [1, 2, 3, 4, 5, 6]);
        watcher.events.clear();
    }
}

/// Options of a session without a display.
fn unwatched() -> SessionOptions {
    SessionOptions { history_bytes: 0, is_watched: false, ..SessionOptions::default() }
}

#[test]
fn when_nobody_looks_only_the_last_volume_is_copied() {
    let (log, noted) = unbounded();
    let setup = scripted(move |_| Script { log: Some(log.clone()), ..Script::new(4) });
    let mut watcher = Watcher::with_options(unwatched(), setup, |_| {});
    let run = watcher.start(5, ball(0), false);
    assert_eq!(watcher.wait_for_end(run), EndReason::Completed);
    assert_eq!(watcher.shown_value(), value_of(1, 20));
    let from = watcher.events.len();
    watcher.session.send(Control::SetIterations(6));
    watcher.wait_for(from, |e| matches!(e.kind, EventKind::Ended(EndReason::Completed)));
    assert_eq!(watcher.shown_value(), value_of(1, 24));
    let noted: Vec<_> = noted.try_iter().collect();
    let count = |what: &str| noted.iter().filter(|noted| **noted == what).count();
    assert_eq!([count("step"), count("measure"), count("publish")], [24, 24, 2]);
}

#[test]
fn an_error_when_nobody_looked_hands_the_image_before_it_over() {
    let full = || BackendError::Device(PassedOn::new("cuda.out-of-memory", "no memory"));
    let mut watcher = Watcher::with_options(
        unwatched(),
        scripted(move |_| Script::with_deed(1, move |step, _| if step == 4 { Err(full().into()) } else { Ok(()) })),
        |_| {},
    );
    let run = watcher.start(9, RoiSet::default(), false);
    assert_eq!(watcher.wait_for_failure(run), full().into());
    assert_eq!(watcher.shown_value(), value_of(1, 3));
}
