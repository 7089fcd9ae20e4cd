//! Runs on EPRI sweeps, whole and growing.

use std::fs::{OpenOptions, read, write};
use std::io::Write as _;
use std::sync::Arc;

use crossbeam_channel::unbounded;
use tomoscope::data::{Study, Sweep, Unit, Volume};
use tomoscope::geometry::Grid;
use tomoscope::io::{follow_sweep, write_sweep};
use tomoscope::measure::relative_difference;
use tomoscope::operator::grid_about_zero;
use tomoscope::phantom::epri::{SweepOptions, by_name, simulate};
use tomoscope::plan::{
    Acquisition, AlgorithmChoice, DeviceChoice, INTERPOLATION, Job, RunSettings, Value, default_sweep_settings, prepare,
};
use tomoscope::scanner::epri::Scheme;
use tomoscope::session::{Command, Control, EndReason, Event, EventKind, Feed, RoiSet, RunId};
use tomoscope::task::Task;

use super::script::{PATIENCE, Watcher, ball, regions};

/// A ball seen along 66 directions.
pub fn sweep() -> Sweep {
    let scheme = Scheme::with_at_least(66).unwrap();
    let options = SweepOptions { scheme, num_points: 48, step_mm: 1.0, ..SweepOptions::default() };
    simulate(&by_name("ball", options.half_extent_mm()).unwrap(), &options, &Task::new()).unwrap().measured
}

fn grid() -> Grid {
    grid_about_zero([20, 18, 16], [2.0; 3]).unwrap()
}

fn settings(sweep: &Sweep) -> RunSettings {
    RunSettings { device: DeviceChoice::Cpu, grid: grid(), ..default_sweep_settings(sweep).unwrap() }
}

/// The job of reconstructing a sweep.
pub fn job(acquisition: &Acquisition, settings: RunSettings) -> Job {
    let study = Arc::new(Study::new("ball", acquisition.clone()));
    Job::of(&study, settings)
}

fn start(watcher: &Watcher, acquisition: &Acquisition, rois: RoiSet, paused: bool) -> RunId {
    watcher.session.send(Command::Start { job: job(acquisition, acquisition.look(settings)), rois, paused })
}

/// The image of the whole sweep.
fn whole_image(sweep: &Sweep) -> Volume {
    let mut watcher = Watcher::new(Box::new(prepare));
    let run = start(&watcher, &Acquisition::complete(sweep.clone()), RoiSet::default(), false);
    assert_eq!(watcher.wait_for_end(run), EndReason::Completed);
    shown(&watcher)
}

fn shown(watcher: &Watcher) -> Volume {
    Volume::clone(&watcher.shown.as_ref().unwrap().volume)
}

fn assert_near(a: &Volume, b: &Volume) {
    let difference = relative_difference(a.as_slice(), b.as_slice());
    assert!(difference < 1e-5, "{difference}");
}

/// Projections in the image after each step of a run.
fn counts(watcher: &Watcher, run: RunId) -> Vec<usize> {
    watcher.iterates(run).iter().map(|report| report.subiteration).collect()
}

/// A growing acquisition of a sweep and its player.
fn play(watcher: &Watcher, sweep: &Sweep, per_sec: f64) -> (Acquisition, Feed) {
    let acquisition = Acquisition::growing(sweep.without_projections());
    let feed = Feed::replay(sweep.projections.clone(), per_sec, acquisition.clone(), watcher.session.on_arrival()).unwrap();
    (acquisition, feed)
}

#[test]
fn a_whole_sweep_is_reconstructed_block_by_block() {
    let sweep = sweep();
    let mut watcher = Watcher::new(Box::new(prepare));
    let run = start(&watcher, &Acquisition::complete(sweep.clone()), ball(1), false);
    assert_eq!(watcher.wait_for_end(run), EndReason::Completed);
    assert_eq!(counts(&watcher, run), [16, 32, 48, 64, 66]);
    let last = watcher.iterates(run).pop().unwrap();
    assert!(last.completes_iteration && last.iteration == 1);
    let mean = last.roi_sums[0].sum / last.roi_sums[0].weight;
    assert!((mean - 1.0).abs() < 0.05, "the middle of the ball is {mean}");
    assert_eq!(shown(&watcher).unit, Unit::Arbitrary);
    let kept: Vec<_> = watcher.session.history(run).iter().map(|kept| kept.id.subiteration).collect();
    assert_eq!(kept, [16, 32, 48, 64, 66], "every block can be gone back to");
    // A region edited afterwards has its curve over the number of projections.
    let from = watcher.events.len();
    watcher.session.send(Control::SetRois(ball(2)));
    let event = watcher.wait_for(from, |event| regions(event).is_some());
    let points = &regions(&event).unwrap().points;
    assert_eq!(points.iter().map(|point| point.1).collect::<Vec<_>>(), kept);
    // Nothing is left to do, and asking for it does no harm.
    watcher.session.send(Control::StepOnce);
    watcher.session.send(Control::SetIterations(5));
    watcher.session.send(Command::DataArrived);
    let again = start(&watcher, &Acquisition::complete(sweep), RoiSet::default(), false);
    assert_eq!(watcher.wait_for_end(again), EndReason::Completed);
    assert!(!watcher.events.iter().any(|event| matches!(event.kind, EventKind::Failed(_))));
}

#[test]
fn the_image_grows_while_projections_arrive_and_ends_the_same() {
    let sweep = sweep();
    let mut watcher = Watcher::new(Box::new(prepare));
    let (acquisition, _feed) = play(&watcher, &sweep, 400.0);
    let run = start(&watcher, &acquisition, RoiSet::default(), false);
    assert_eq!(watcher.wait_for_end(run), EndReason::Completed);
    let counts = counts(&watcher, run);
    assert!(counts.len() > 10 && counts.is_sorted() && counts.last() == Some(&66), "{counts:?}");
    assert_near(&shown(&watcher), &whole_image(&sweep));
    assert!(acquisition.is_over());
}

#[test]
fn runs_that_begin_in_the_middle_lose_nothing_and_get_nothing_twice() {
    let sweep = sweep();
    let mut watcher = Watcher::new(Box::new(prepare));
    let (acquisition, _feed) = play(&watcher, &sweep, 300.0);
    let mut run = 0;
    for _ in 0..8 {
        run = start(&watcher, &acquisition, RoiSet::default(), false);
        watcher.wait_for(0, |event| event.run == run && matches!(event.kind, EventKind::Iterate(_)));
    }
    assert_eq!(watcher.wait_for_end(run), EndReason::Completed);
    assert_eq!(counts(&watcher, run).last(), Some(&66));
    assert_near(&shown(&watcher), &whole_image(&sweep));
}

#[test]
fn a_paused_run_catches_up() {
    let sweep = sweep();
    let mut watcher = Watcher::new(Box::new(prepare));
    let acquisition = Acquisition::growing(sweep.without_projections());
    let (arrived, arrivals) = unbounded();
    let tell = watcher.session.on_arrival();
    let arrive = move || {
        tell();
        let _ = arrived.send(());
    };
    let _feed = Feed::replay(sweep.projections.clone(), f64::INFINITY, acquisition.clone(), arrive).unwrap();
    let run = start(&watcher, &acquisition, RoiSet::default(), true);
    watcher.wait_for(0, |event| matches!(event.kind, EventKind::Paused));
    while !acquisition.is_over() {
        arrivals.recv_timeout(PATIENCE).unwrap();
    }
    watcher.session.send(Control::StepOnce);
    watcher.wait_for(0, |event| matches!(event.kind, EventKind::Iterate(_)));
    assert_eq!(counts(&watcher, run), [16]);
    watcher.session.send(Control::Resume);
    assert_eq!(watcher.wait_for_end(run), EndReason::Completed);
    assert_near(&shown(&watcher), &whole_image(&sweep));
}

#[test]
fn an_acquisition_that_is_broken_off_leaves_what_it_had() {
    let sweep = sweep();
    let mut watcher = Watcher::new(Box::new(prepare));
    // Some projections come soon, the next would take an hour.
    let (acquisition, feed) = play(&watcher, &sweep, 100.0);
    let run = start(&watcher, &acquisition, RoiSet::default(), false);
    watcher.wait_for(0, |event| matches!(event.kind, EventKind::Iterate(_)));
    feed.set_pace(1.0 / 3600.0);
    // It has ended when this returns.
    drop(feed);
    let before = acquisition.num_complete();
    assert_eq!(watcher.wait_for_end(run), EndReason::Completed);
    assert!((1..66).contains(&before) && acquisition.num_expected() == Some(before));
    assert_eq!(counts(&watcher, run).last(), Some(&before));
    // Without a single projection there is no image.
    let (nothing, feed) = play(&watcher, &sweep, 1.0 / 3600.0);
    let run = start(&watcher, &nothing, RoiSet::default(), false);
    watcher.wait_for(0, |event| event.run == run && matches!(event.kind, EventKind::Started(_)));
    drop(feed);
    assert_eq!(watcher.wait_for_failure(run).code, "setup.data");
    let run = start(&watcher, &nothing, RoiSet::default(), false);
    assert_eq!(watcher.wait_for_failure(run).code, "setup.data");
}

#[test]
fn two_stages_wait_for_the_whole_sweep() {
    let sweep = sweep();
    let mut watcher = Watcher::new(Box::new(prepare));
    let start = |watcher: &Watcher, acquisition: Acquisition| {
        let mut settings = RunSettings { algorithm: AlgorithmChoice::FBP_MULTISTAGE, ..settings(&sweep) };
        settings.parameters.set(&INTERPOLATION, Some(Value::Name("nearest".into())));
        watcher.session.send(Command::Start { job: job(&acquisition, settings), rois: RoiSet::default(), paused: false })
    };
    let (growing, _feed) = play(&watcher, &sweep, 1.0);
    let run = start(&watcher, growing);
    assert_eq!(watcher.wait_for_failure(run).code, "setup.algorithm");
    let run = start(&watcher, Acquisition::complete(sweep.clone()));
    assert_eq!(watcher.wait_for_end(run), EndReason::Completed);
    // Two notices: about resampling, and about the error of the nearest sample.
    for words in ["resampled", "straight lines in the second"] {
        let tells = |event: &Event| matches!(&event.kind, EventKind::Notice(notice) if notice.text.contains(words));
        assert!(watcher.events.iter().any(tells), "{words}");
    }
}

#[test]
fn a_file_is_followed_while_it_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let (header, data) = (folder.path().join("a.sweep"), folder.path().join("a.f32"));
    let sweep = sweep();
    write_sweep(&header, &Study::new("ball", sweep.clone())).unwrap();
    let bytes = read(&data).unwrap();
    let projection = bytes.len() / 66;
    // Half of the seventh projection exists.
    write(&data, &bytes[..6 * projection + projection / 2]).unwrap();
    let (head, follower) = follow_sweep(&header, None).unwrap();
    let acquisition = Acquisition::growing(head.measured);
    let mut watcher = Watcher::new(Box::new(prepare));
    let feed = Feed::follow(follower, acquisition.clone(), watcher.session.on_arrival()).unwrap();
    let run = start(&watcher, &acquisition, RoiSet::default(), false);
    watcher.wait_for(0, |event| matches!(&event.kind, EventKind::Iterate(report) if report.subiteration == 6));
    let append = |bytes: &[u8]| OpenOptions::new().append(true).open(&data).unwrap().write_all(bytes).unwrap();
    // The scanner's file vanishes and comes back: a notice each, and the image stays.
    let hidden = folder.path().join("hidden");
    std::fs::rename(&data, &hidden).unwrap();
    assert!(feed.notices().recv_timeout(PATIENCE).unwrap().text.contains("waiting"));
    std::fs::rename(&hidden, &data).unwrap();
    assert!(feed.notices().recv_timeout(PATIENCE).unwrap().text.contains("available again"));
    append(&bytes[6 * projection + projection / 2..40 * projection]);
    watcher.wait_for(0, |event| matches!(&event.kind, EventKind::Iterate(report) if report.subiteration == 40));
    append(&bytes[40 * projection..]);
    assert_eq!(watcher.wait_for_end(run), EndReason::Completed);
    assert_near(&shown(&watcher), &whole_image(&sweep));
}

#[test]
fn a_stop_in_two_stages_is_heard_inside_and_leaves_nothing_half_done() {
    let sweep = sweep();
    let mut watcher = Watcher::new(Box::new(prepare));
    let acquisition = Acquisition::complete(sweep.clone());
    // So large that the stop comes before the end.
    let settings = RunSettings {
        algorithm: AlgorithmChoice::FBP_MULTISTAGE,
        grid: grid_about_zero([300, 300, 300], [0.15; 3]).unwrap(),
        num_threads: Some(1),
        ..settings(&sweep)
    };
    let run = watcher.session.send(Command::Start { job: job(&acquisition, settings), rois: RoiSet::default(), paused: false });
    let task = watcher.session.task();
    while task.progress().0 == 0 {
        std::thread::yield_now();
    }
    watcher.session.send(Control::Stop);
    assert_eq!(watcher.wait_for_end(run), EndReason::Cancelled);
    let (done, total) = task.progress();
    assert!(done < total, "it was not heard inside: {done} of {total}");
    assert!(watcher.iterates(run).is_empty());
    assert!(shown(&watcher).as_slice().iter().all(|value| *value == 0.0), "a part of the image was left");
}
