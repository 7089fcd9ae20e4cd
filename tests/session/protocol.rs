//! The protocol, with algorithms that follow a script.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use crossbeam_channel::unbounded;
use tomoscope::algebra::BackendError;
use tomoscope::coded::PassedOn;
use tomoscope::data::{Roi, RoiMask, RoiShape, Severity};
use tomoscope::operator::Accumulation;
use tomoscope::plan::Job;
use tomoscope::recon::{AscentTuning, Stage};
use tomoscope::session::{Command, Control, EndReason, Event, EventKind, RoiSet, Session, SessionOptions, Trace};

use super::script::{PATIENCE, Script, Watcher, any_study, ball, regions, scripted, small_settings, value_of, wait_for_stop};

#[test]
fn the_newest_volume_wins_when_nobody_looks() {
    let (wake, woken) = unbounded();
    let session = Session::with_setup(SessionOptions::default(), scripted(|_| Script::new(3)), move || {
        let _ = wake.send(());
    });
    let study = any_study();
    let settings = Box::new(small_settings(&study.measured, 7));
    let job = Job::of(&study, *settings);
    session.send(Command::Start { job, rois: RoiSet::default(), paused: false });
    let mut events = Vec::new();
    while !events.iter().any(|e: &tomoscope::session::Event| matches!(e.kind, EventKind::Ended(_))) {
        woken.recv_timeout(PATIENCE).unwrap();
        events.extend(session.events().try_iter());
    }
    let frame = session.take_frame().unwrap();
    assert_eq!((frame.id.run, frame.id.iteration, frame.id.subiteration), (1, 7, 21));
    assert!(frame.volume.as_slice().iter().all(|&v| v == value_of(1, 21)));
    assert!(session.take_frame().is_none());
    // Every full iteration replaced the unread one; an iterate between did so only for the start image.
    let published: Vec<usize> = events
        .iter()
        .filter_map(|e| match &e.kind {
            EventKind::Iterate(report) if report.stages[Stage::Copy] > Duration::ZERO => Some(report.subiteration),
            _ => None,
        })
        .collect();
    assert_eq!(published, [1, 3, 6, 9, 12, 15, 18, 21]);
}

#[test]
fn every_iterate_is_told_once_and_in_order() {
    let mut watcher = Watcher::new(scripted(|_| Script::new(4)));
    let run = watcher.start(50, ball(3), false);
    assert_eq!(watcher.wait_for_end(run), EndReason::Completed);
    let iterates = watcher.iterates(run);
    assert_eq!(iterates.iter().map(|i| i.subiteration).collect::<Vec<_>>(), (1..=200).collect::<Vec<_>>());
    for report in &iterates {
        assert_eq!(report.iteration, report.subiteration / 4);
        assert_eq!(report.branch, 3);
        let mean = report.roi_sums[0].sum / report.roi_sums[0].weight;
        assert!((mean - f64::from(value_of(1, report.subiteration))).abs() < 1e-3, "measured on another iterate");
    }
    assert!(iterates.windows(2).all(|pair| pair[0].elapsed <= pair[1].elapsed));
}

#[test]
fn a_step_is_measured_then_published_then_told() {
    let (log, noted) = unbounded();
    let wake_log = log.clone();
    let (told, waken) = unbounded::<()>();
    // A step begins when the watcher was woken for the one before.
    let setup = scripted(move |_| {
        let waken = waken.clone();
        let wait = move |step: usize, _: &_| {
            let num_wakes = if step == 1 { 2 } else { 1 };
            (0..num_wakes).for_each(|_| waken.recv_timeout(PATIENCE).unwrap());
            Ok(())
        };
        Script { log: Some(log.clone()), ..Script::with_deed(1, wait) }
    });
    let mut watcher = Watcher::with_options(SessionOptions::default(), setup, move |_| {
        wake_log.send("wake").unwrap();
        told.send(()).unwrap();
    });
    let run = watcher.start(3, RoiSet::default(), false);
    watcher.wait_for_end(run);
    let noted: Vec<_> = noted.try_iter().skip_while(|what| *what != "step").collect();
    let step = ["step", "measure", "publish", "wake"];
    let expected: Vec<_> = step.into_iter().chain(step).chain(step).chain(["wake"]).collect();
    assert_eq!(noted, expected);
}

#[test]
fn a_volume_is_there_when_the_event_tells_of_it() {
    let mut watcher = Watcher::new(scripted(|_| Script::new(1)));
    let run = watcher.start(300, RoiSet::default(), false);
    loop {
        let before = watcher.events.len();
        watcher.wait_for(before, |_| true);
        let told = watcher.iterates(run).last().map_or(0, |report| report.subiteration);
        let shown = watcher.shown.as_ref().map_or(0, |frame| frame.id.subiteration);
        assert!(shown >= told, "told of {told}, shown {shown}");
        if watcher.events.iter().any(|e| matches!(e.kind, EventKind::Ended(_))) {
            break;
        }
    }
    assert!(watcher.taken[&run].is_sorted());
}

#[test]
fn stop_keeps_the_image_of_the_last_step() {
    let (open, gate) = unbounded::<()>();
    let mut watcher = Watcher::new(scripted(move |_| {
        let gate = gate.clone();
        // The tenth step ends when the command was sent.
        Script::with_deed(5, move |step, _| {
            if step == 10 {
                let _ = gate.recv_timeout(PATIENCE);
            }
            Ok(())
        })
    }));
    let run = watcher.start(1000, RoiSet::default(), false);
    watcher.wait_for(0, |e| matches!(&e.kind, EventKind::Iterate(report) if report.subiteration == 7));
    watcher.session.send(Control::Stop);
    drop(open);
    assert_eq!(watcher.wait_for_end(run), EndReason::Stopped);
    let last = watcher.iterates(run).last().unwrap().subiteration;
    assert!(last < 1000);
    assert_eq!(watcher.shown_value(), value_of(1, last));
}

#[test]
fn cancel_takes_effect_inside_a_step() {
    let mut watcher =
        Watcher::new(scripted(|_| Script::with_deed(1, |step, task| if step == 3 { wait_for_stop(task) } else { Ok(()) })));
    let run = watcher.start(10, RoiSet::default(), false);
    watcher.wait_for(0, |e| matches!(&e.kind, EventKind::Iterate(report) if report.subiteration == 2));
    watcher.session.send(Control::Cancel);
    assert_eq!(watcher.wait_for_end(run), EndReason::Cancelled);
    assert_eq!(watcher.iterates(run).len(), 2);
    assert_eq!(watcher.shown_value(), value_of(1, 2), "the image before the interrupted step stays");
}

#[test]
fn a_start_ends_the_run_before_it_inside_its_step() {
    let mut watcher = Watcher::new(scripted(|run| {
        Script::with_deed(1, move |step, task| if run == 1 && step == 2 { wait_for_stop(task) } else { Ok(()) })
    }));
    let first = watcher.start(10, RoiSet::default(), false);
    watcher.wait_for(0, |e| matches!(e.kind, EventKind::Iterate(_)));
    let second = watcher.start(4, RoiSet::default(), false);
    assert_eq!((first, second), (1, 2));
    assert_eq!(watcher.wait_for_end(second), EndReason::Completed);
    assert_eq!(watcher.wait_for_end(first), EndReason::Cancelled);
    let position = |run, ended: bool| {
        let is = |kind: &EventKind| matches!((kind, ended), (EventKind::Ended(_), true) | (EventKind::Started(_), false));
        watcher.events.iter().position(|e| e.run == run && is(&e.kind)).unwrap()
    };
    assert!(position(first, true) < position(second, false), "the old run ends before the new one begins");
    assert_eq!(watcher.shown_value(), value_of(2, 4));
    let lengths = [first, second].map(|run| watcher.session.history(run).len());
    assert_eq!(lengths, [0, 4], "only the new run has a past");
}

#[test]
fn commands_sent_in_one_breath_are_obeyed_in_order() {
    for _ in 0..200 {
        let mut watcher = Watcher::new(scripted(|_| Script::new(2)));
        // More iterations than it can finish before the cancel is sent.
        let first = watcher.start(100_000, RoiSet::default(), false);
        watcher.session.send(Control::Cancel);
        let second = watcher.start(2, RoiSet::default(), false);
        assert_eq!(watcher.wait_for_end(second), EndReason::Completed, "the cancel was meant for the first");
        assert_eq!(watcher.wait_for_end(first), EndReason::Cancelled);
        assert_eq!(watcher.iterates(second).len(), 4);
    }
}

#[test]
fn an_error_fails_the_run_and_the_next_start_works() {
    let broken = || BackendError::Device(PassedOn::new("cuda.driver", "the device broke at step 3; use --device cpu"));
    let mut watcher = Watcher::new(scripted(move |run| {
        Script::with_deed(1, move |step, _| if run == 1 && step == 3 { Err(broken().into()) } else { Ok(()) })
    }));
    let failing = watcher.start(5, RoiSet::default(), false);
    assert_eq!(watcher.wait_for_failure(failing), broken().into());
    assert_eq!(watcher.shown_value(), value_of(1, 2), "the last good volume stays");
    assert_eq!(watcher.session.history(failing).len(), 2);
    let next = watcher.start(5, RoiSet::default(), false);
    assert_eq!(watcher.wait_for_end(next), EndReason::Completed);
    assert_eq!(watcher.shown_value(), value_of(2, 5));
}

#[test]
fn a_panic_fails_the_run_and_the_next_start_works() {
    let mut watcher = Watcher::new(scripted(|run| {
        Script::with_deed(2, move |step, _| if run == 1 && step == 3 { panic!("index 7 of 3") } else { Ok(()) })
    }));
    let failing = watcher.start(5, RoiSet::default(), false);
    let problem = watcher.wait_for_failure(failing);
    assert!(problem.code == "internal" && problem.text.contains("index 7 of 3"), "{problem:?}");
    let next = watcher.start(5, RoiSet::default(), false);
    assert_eq!(watcher.wait_for_end(next), EndReason::Completed);
    assert_eq!(watcher.iterates(next).len(), 10);
}

#[test]
fn a_panic_of_the_set_up_is_a_failure_too() {
    let mut watcher = Watcher::new(scripted(|run| if run == 1 { panic!("no such thing") } else { Script::new(1) }));
    let failing = watcher.start(1, RoiSet::default(), false);
    let problem = watcher.wait_for_failure(failing);
    assert!(problem.code == "internal" && problem.text.contains("no such thing"), "{problem:?}");
    let next = watcher.start(1, RoiSet::default(), false);
    assert_eq!(watcher.wait_for_end(next), EndReason::Completed);
}

#[test]
fn a_paused_run_steps_once_at_a_time_and_shows_each_step() {
    let mut watcher = Watcher::new(scripted(|_| Script::new(3)));
    let run = watcher.start(2, RoiSet::default(), true);
    watcher.wait_for(0, |e| matches!(e.kind, EventKind::Paused));
    assert_eq!(watcher.shown.as_ref().map(|f| f.id.subiteration), Some(0), "the start image is shown");
    for step in 1..=5 {
        let from = watcher.events.len();
        watcher.session.send(Control::StepOnce);
        watcher.wait_for(from, |e| matches!(e.kind, EventKind::Paused));
        assert_eq!(watcher.shown_value(), value_of(1, step));
        assert_eq!(watcher.iterates(run).len(), step);
    }
    watcher.session.send(Control::StepOnce);
    assert_eq!(watcher.wait_for_end(run), EndReason::Completed, "the last step ends the run");
}

#[test]
fn a_pause_holds_and_publishes_and_resume_goes_on() {
    let (go, gate) = unbounded::<()>();
    let (entered, begun) = unbounded();
    let mut watcher = Watcher::new(scripted(move |_| {
        let (gate, entered) = (gate.clone(), entered.clone());
        Script::with_deed(10, move |step, _| {
            entered.send(step).unwrap();
            let _ = gate.recv_timeout(PATIENCE);
            Ok(())
        })
    }));
    let run = watcher.start(1, RoiSet::default(), false);
    go.send(()).unwrap();
    go.send(()).unwrap();
    while begun.recv_timeout(PATIENCE).unwrap() < 3 {}
    watcher.session.send(Control::Pause);
    go.send(()).unwrap();
    watcher.wait_for(0, |e| matches!(e.kind, EventKind::Paused));
    assert_eq!(watcher.iterates(run).len(), 3, "the step under way is finished, no other begun");
    assert_eq!(watcher.shown_value(), value_of(1, 3));
    // Nothing happens while it holds.
    watcher.assert_quiet(Duration::from_millis(30));
    watcher.session.send(Control::Resume);
    drop(go);
    assert_eq!(watcher.wait_for_end(run), EndReason::Completed);
    assert!(watcher.events.iter().any(|e| matches!(e.kind, EventKind::Resumed)));
    assert_eq!(watcher.iterates(run).len(), 10);
}

#[test]
fn more_iterations_continue_a_run_that_was_over() {
    let mut watcher = Watcher::new(scripted(|_| Script::new(2)));
    let run = watcher.start(3, RoiSet::default(), false);
    watcher.wait_for_end(run);
    let from = watcher.events.len();
    watcher.session.send(Control::SetIterations(5));
    watcher.wait_for(from, |e| matches!(e.kind, EventKind::Ended(EndReason::Completed)));
    assert!(matches!(watcher.events[from].kind, EventKind::Resumed));
    assert_eq!(watcher.iterates(run).len(), 10);
    assert_eq!(watcher.shown_value(), value_of(1, 10));
    let history: Vec<_> = watcher.session.history(run).iter().map(|kept| kept.id.iteration).collect();
    assert_eq!(history, [1, 2, 3, 4, 5]);
    // Fewer than done changes nothing.
    let from = watcher.events.len();
    watcher.session.send(Control::SetIterations(1));
    watcher.session.send(Control::SetIterations(6));
    watcher.wait_for(from, |e| matches!(e.kind, EventKind::Ended(EndReason::Completed)));
    assert_eq!(watcher.iterates(run).len(), 12);
}

#[test]
fn the_accumulation_is_switched_while_the_run_goes() {
    let mut watcher = Watcher::new(scripted(|_| Script::new(1)));
    let run = watcher.start(3, RoiSet::default(), true);
    let step = |watcher: &mut Watcher| {
        let from = watcher.events.len();
        watcher.session.send(Control::StepOnce);
        let told = watcher.wait_for(from, |e| matches!(e.kind, EventKind::Iterate(_)));
        let EventKind::Iterate(report) = told.kind else { unreachable!() };
        report.accumulation
    };
    assert_eq!(step(&mut watcher), Accumulation::Deterministic);
    watcher.session.send(Control::SetAccumulation(Accumulation::Atomic));
    assert_eq!(step(&mut watcher), Accumulation::Atomic);
    watcher.session.send(Control::SetAccumulation(Accumulation::NonAtomic));
    assert_eq!(step(&mut watcher), Accumulation::Atomic, "a way that the back end does not know changes nothing");
    watcher.wait_for_end(run);
    let notices: Vec<_> =
        watcher.events.iter().filter_map(|e| if let EventKind::Notice(notice) = &e.kind { Some(notice) } else { None }).collect();
    assert_eq!(notices.len(), 1);
    assert!(notices[0].severity == Severity::Warning && notices[0].text.contains("deterministic, atomic"));
}

#[test]
fn penalty_and_step_size_change_between_two_steps_where_they_can() {
    let tuning = AscentTuning { strength: 1.0, gamma: 2.0, step_factor: 1.0 };
    let climbing = Some(tuning);
    let mut watcher =
        Watcher::new(scripted(move |run| Script { tuning: climbing.filter(|_| run == 1), num_halved: 2, ..Script::new(2) }));
    let run = watcher.start(3, RoiSet::default(), true);
    let step = |watcher: &mut Watcher| {
        let from = watcher.events.len();
        watcher.session.send(Control::StepOnce);
        let told = watcher.wait_for(from, |e| matches!(e.kind, EventKind::Iterate(_)));
        let EventKind::Iterate(report) = told.kind else { unreachable!() };
        report.ascent.map(|ascent| ascent.tuning)
    };
    assert_eq!(step(&mut watcher), Some(tuning));
    let stronger = AscentTuning { strength: 3.0, ..tuning };
    watcher.session.send(Control::SetTuning(stronger));
    assert_eq!(step(&mut watcher), Some(stronger));
    for wrong in [
        AscentTuning { strength: -1.0, ..tuning },
        AscentTuning { gamma: f64::NAN, ..tuning },
        AscentTuning { step_factor: 0.0, ..tuning },
        AscentTuning { step_factor: f64::INFINITY, ..tuning },
    ] {
        watcher.session.send(Control::SetTuning(wrong));
        assert_eq!(step(&mut watcher), Some(stronger), "{wrong:?}");
    }
    watcher.wait_for_end(run);
    let notices = |watcher: &Watcher, text: &str| {
        let is_of = |e: &&Event| matches!(&e.kind, EventKind::Notice(notice) if notice.text.contains(text));
        watcher.events.iter().filter(is_of).count()
    };
    assert_eq!(notices(&watcher, "expected β and γ from 0"), 4);
    assert_eq!(notices(&watcher, "halved its steps"), 1, "once a run");
    let run = watcher.start(1, RoiSet::default(), true);
    watcher.session.send(Control::SetTuning(tuning));
    assert_eq!([step(&mut watcher), step(&mut watcher)], [None, None]);
    watcher.wait_for_end(run);
    assert_eq!(notices(&watcher, "only svrg, bsrem and tv have a strength"), 1);
}

#[test]
fn impossible_bins_are_told_once_a_run() {
    let mut watcher = Watcher::new(scripted(|_| Script { num_unexplained_bins: 17, ..Script::new(2) }));
    for run in [watcher.start(4, RoiSet::default(), false), watcher.start(3, RoiSet::default(), false)] {
        watcher.wait_for(0, |e| e.run == run && matches!(e.kind, EventKind::Ended(_)));
    }
    let told =
        watcher.events.iter().filter(|e| e.run == 2 && matches!(&e.kind, EventKind::Notice(n) if n.text.contains("17 bins")));
    assert_eq!(told.count(), 1);
}

#[test]
fn the_past_is_measured_again_when_a_roi_is_edited() {
    let mut watcher = Watcher::new(scripted(|_| Script::new(2)));
    let run = watcher.start(4, ball(0), true);
    for _ in 0..5 {
        watcher.session.send(Control::StepOnce);
    }
    watcher.wait_for(0, |e| matches!(&e.kind, EventKind::Iterate(report) if report.subiteration == 5));
    let smaller = Roi { shape: RoiShape::Sphere { radius_mm: 2.0 }, ..ball(0).rois[0].clone() };
    let edited = RoiSet { branch: 7, rois: vec![smaller].into() };
    watcher.session.send(Control::SetRois(edited.clone()));
    // The current iterate is in the middle of an iteration, and not stored.
    watcher.wait_for(0, |e| regions(e).is_some_and(|sums| sums.points.iter().any(|p| p.1 == 5)));
    watcher.wait_for(0, |e| regions(e).is_some_and(|sums| sums.points.iter().any(|p| p.1 == 4)));
    let points = watcher.remeasured(7);
    assert_eq!(points.iter().map(|p| (p.0, p.1)).collect::<Vec<_>>(), [(1, 2), (2, 4), (2, 5)]);
    for (kept, point) in watcher.session.history(run).iter().zip(&points) {
        assert_eq!((point.0, point.1), (kept.id.iteration, kept.id.subiteration));
        let mask = edited.rois[0].mask(&kept.volume.grid);
        assert_eq!(point.2, [mask.sums(kept.volume.as_slice())]);
    }
    let now = watcher.shown.as_ref().unwrap();
    assert_eq!(points[2].2, [edited.rois[0].mask(&now.volume.grid).sums(now.volume.as_slice())]);
    // The next iterate belongs to the new branch.
    watcher.session.send(Control::StepOnce);
    let event = watcher.wait_for(0, |e| matches!(&e.kind, EventKind::Iterate(report) if report.subiteration == 6));
    assert!(matches!(event.kind, EventKind::Iterate(report) if report.branch == 7));
}

#[test]
fn the_solver_takes_the_masks_that_the_watcher_has_made() {
    let (given, masks) = unbounded();
    let mut watcher = Watcher::new(scripted(move |_| Script { given: Some(given.clone()), ..Script::new(1) }));
    let is_shared = |mask: &RoiMask, other: &RoiMask| !mask.voxels.is_empty() && Arc::ptr_eq(&mask.voxels, &other.voxels);
    let first = ball(0);
    watcher.start(1, first.clone(), true);
    watcher.wait_for(0, |e| matches!(e.kind, EventKind::Paused));
    let grid = watcher.shown.as_ref().unwrap().volume.grid.clone();
    let made = first.rois.masks(&grid);
    assert!(is_shared(&made[0], &masks.recv().unwrap()[0]));
    // A second region, which the watcher measures before it sends it; the first does not move.
    let second = Roi { centre_mm: [1.0, 0.0, 0.0], ..first.rois[0].clone() };
    let both = RoiSet { branch: 1, rois: first.rois.edited(&[second, first.rois[0].clone()]) };
    let made_later = both.rois.masks(&grid);
    watcher.session.send(Control::SetRois(both));
    let given = masks.recv().unwrap();
    assert!(is_shared(&given[0], &made_later[0]) && is_shared(&given[1], &made[0]));
}

#[test]
fn the_history_stays_within_its_budget() {
    let volume_bytes = 4 * 4 * 4 * 3;
    let options = SessionOptions { history_bytes: 6 * volume_bytes, ..SessionOptions::default() };
    let mut watcher = Watcher::with_options(options, scripted(|_| Script::new(1)), |_| {});
    let run = watcher.start(41, RoiSet::default(), false);
    watcher.wait_for_end(run);
    let history = watcher.session.history(run);
    assert_eq!(history.iter().map(|kept| kept.id.iteration).collect::<Vec<_>>(), [8, 16, 24, 32, 40, 41]);
    for kept in history {
        assert_eq!(kept.volume.as_slice()[0], value_of(1, kept.id.iteration));
    }
    let none = SessionOptions { history_bytes: 0, ..SessionOptions::default() };
    let mut watcher = Watcher::with_options(none, scripted(|_| Script::new(1)), |_| {});
    let run = watcher.start(3, RoiSet::default(), false);
    watcher.wait_for_end(run);
    assert!(watcher.session.history(run).is_empty());
}

#[test]
fn a_thousand_short_runs_end_on_their_last_volume() {
    let mut watcher = Watcher::new(scripted(|_| Script::new(3)));
    for _ in 0..1000 {
        let run = watcher.start(2, ball(0), false);
        assert_eq!(watcher.wait_for_end(run), EndReason::Completed);
        let frame = watcher.shown.as_ref().unwrap();
        assert_eq!((frame.id.run, frame.id.iteration, frame.id.subiteration), (run, 2, 6));
        assert_eq!(watcher.shown_value(), value_of(run as usize, 6));
        assert_eq!(watcher.iterates(run).len(), 6);
        watcher.events.clear();
    }
}

#[test]
fn dropping_the_session_ends_it_inside_a_step() {
    let [steps, stops] = std::array::from_fn(|_| Arc::new(AtomicUsize::new(0)));
    let counters = [&steps, &stops].map(Arc::clone);
    let mut watcher = Watcher::new(scripted(move |_| {
        let [steps, stops] = counters.clone();
        Script::with_deed(1, move |_, task| {
            steps.fetch_add(1, Ordering::SeqCst);
            // The step panics unless it is stopped.
            let outcome = wait_for_stop(task);
            stops.fetch_add(1, Ordering::SeqCst);
            outcome
        })
    }));
    watcher.start(1, RoiSet::default(), false);
    watcher.wait_for(0, |e| matches!(e.kind, EventKind::Started(_)));
    drop(watcher);
    let [steps, stops] = [steps, stops].map(|count| count.load(Ordering::SeqCst));
    assert!(steps <= 1 && stops == steps, "{steps} steps, {stops} were stopped");
}

#[test]
fn commands_without_a_run_do_nothing() {
    let mut watcher = Watcher::new(scripted(|_| Script::new(1)));
    for command in [
        Control::Pause,
        Control::Resume,
        Control::StepOnce,
        Control::Stop,
        Control::Cancel,
        Control::SetAccumulation(Accumulation::Atomic),
        Control::SetRois(ball(1)),
        Control::SetIterations(3),
    ] {
        assert_eq!(watcher.session.send(command), 0);
    }
    let run = watcher.start(1, RoiSet::default(), false);
    assert_eq!(watcher.wait_for_end(run), EndReason::Completed);
    assert!(watcher.events.iter().all(|e| e.run == 1), "{:?}", watcher.events);
}

#[test]
fn the_time_line_tells_what_happened() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trace.jsonl");
    let options = SessionOptions { trace: Trace::to_file(&path).unwrap(), lower_priority: true, ..SessionOptions::default() };
    let mut watcher = Watcher::with_options(options, scripted(|_| Script::new(1)), |_| {});
    let run = watcher.start(2, RoiSet::default(), false);
    watcher.wait_for_end(run);
    drop(watcher);
    let text = std::fs::read_to_string(&path).unwrap();
    let what: Vec<String> = text
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap()["what"].as_str().unwrap().to_owned())
        .collect();
    // A step may be measured while the volume before it is on its way.
    let without = |other: &str| what.iter().map(String::as_str).filter(|what| *what != other).collect::<Vec<_>>();
    let published = ["process_start", "run_started", "iterate_published", "iterate_published", "iterate_published", "run_ended"];
    assert_eq!(without("iterate_measured"), published);
    assert_eq!(what.iter().filter(|what| *what == "iterate_measured").count(), 2);
}
