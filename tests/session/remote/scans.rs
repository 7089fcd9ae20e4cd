//! Remote list-mode data and sweeps, and memory forecasts of a server.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tomoscope::data::{Counts, EventList, EventNumbers, Experiment, Study, Volume};
use tomoscope::io::oxygen::find;
use tomoscope::phantom::epri::{self, OxygenOptions, SweepOptions, simulate_oxygen};
use tomoscope::plan::{
    Acquisition, AlgorithmChoice, Data, DeviceChoice, Job, ListFiles, RunInputs, RunSettings, StudyFiles, default_list_settings,
    default_sweep_settings, forecast, prepare,
};
use tomoscope::remote::{ConnectionState, RemoteStudy};
use tomoscope::session::{
    Command, Control, EventKind, IterateUpdate, OxygenRedraw, OxygenUpdate, RoiSet, Session, SessionOptions,
};
use tomoscope::task::Task;

use super::super::lists::{list, read_whole, settings};
use super::super::script::PATIENCE;
use super::{RemoteSession, any, real, steps, watch};

/// A run to its end: its events, and its image.
fn run(session: &Session, job: Job) -> (Vec<EventKind>, IterateUpdate) {
    let run = session.send(Command::Start { job, rois: super::super::script::ball(1), paused: false });
    let (kinds, image) = watch(session, run);
    (kinds, image.unwrap())
}

fn here() -> Session {
    Session::with_setup(SessionOptions::default(), Box::new(prepare), || {})
}

#[test]
fn a_list_elsewhere_is_reconstructed_as_it_is_here() {
    let folder = tempfile::tempdir().unwrap();
    let study = Arc::new(read_whole(&list(folder.path()).0));
    let there = RemoteSession::with(any(&study), real);
    let RemoteStudy { study: head, files, .. } = there.scan();
    let head = head.map(|data| data.events().unwrap().clone());
    assert_eq!(files, StudyFiles::Events(ListFiles::of(Path::new("/scan.hs"))));
    let (known, whole) = (&head.measured, &study.measured);
    assert!(known.prompts.is_empty() && known.delayeds.is_empty(), "its events stay there");
    assert_eq!(known.numbers(), EventNumbers { num_prompts: whole.prompts.len(), ..whole.numbers() });
    assert_eq!(
        (known.rates.curves(), known.facts.detectors.crystals()),
        (whole.rates.curves(), whole.facts.detectors.crystals())
    );
    assert_eq!(default_list_settings(known).unwrap(), default_list_settings(whole).unwrap());
    let device = DeviceChoice::Cpu;
    // All of it, and a frame.
    for frame_ms in [None, Some(10_000..30_000)] {
        let settings = Box::new(RunSettings { frame_ms, device, ..settings(known) });
        let job = |study: Study<EventList>| Job::of(&study, (*settings).clone());
        let (far, far_image) = run(&there.session, job(head.clone()));
        let (near, near_image) = run(&here(), job((*study).clone()));
        assert_eq!((&far_image.volume, far_image.extremes), (&near_image.volume, near_image.extremes));
        assert!(far_image.volume.sum() > 0.0 && steps(&far).len() == 2);
        assert_eq!(steps(&far), steps(&near));
    }
    // Frames without events are known as such.
    assert!(known.has_events_in(&(0..1000)) && !known.has_events_in(&(70_000..80_000)));
}

#[test]
fn a_sweep_elsewhere_is_reconstructed_as_it_is_here() {
    let options = SweepOptions { num_points: 32, ..SweepOptions::default() };
    let phantom = epri::by_name("ball", options.half_extent_mm()).unwrap();
    let sweep = epri::simulate(&phantom, &options, &Task::new()).unwrap();
    let settings = RunSettings { device: DeviceChoice::Cpu, ..default_sweep_settings(&sweep.measured).unwrap() };
    let study = Arc::new(sweep.clone().map(Acquisition::complete));
    let there = RemoteSession::with(any(&study), real);
    let head = there.scan().study.map(|data| data.sweep().unwrap().snapshot());
    assert_eq!((&head.measured.projections, head.measured.centre), (&sweep.measured.projections, sweep.measured.centre));
    let job = |study: Arc<Study<Acquisition>>| Job::of(&study, settings.clone());
    let head = Arc::new(head.map(Acquisition::complete));
    let (far, far_image) = run(&there.session, job(Arc::clone(&head)));
    let (near, near_image) = run(&here(), job(Arc::clone(&study)));
    assert_eq!(&far_image.volume, &near_image.volume);
    assert!(far_image.volume.sum() > 0.0 && !steps(&far).is_empty());
    assert_eq!(steps(&far), steps(&near));
    // Spectra of radicals stay here, and so do their runs.
    let radicals = super::super::radical_scan::radicals().into();
    let with_radicals = Job::of(
        &head,
        RunSettings {
            algorithm: AlgorithmChoice::TV,
            inputs: RunInputs { radicals, ..RunInputs::default() },
            ..settings.clone()
        },
    );
    let reason = there.remote.forecast(&with_radicals, PATIENCE).unwrap().unwrap_err();
    assert!(reason.contains("several radicals are not reconstructed remotely"), "{reason}");
    let experiment = Experiment { file: "b.sweep".into(), sweep: Arc::new(sweep.measured.clone()), radicals: Vec::new() };
    let tv = RunSettings {
        algorithm: AlgorithmChoice::TV,
        inputs: RunInputs { experiments: vec![experiment], ..RunInputs::default() },
        ..settings.clone()
    };
    let reason = there.remote.forecast(&Job::of(&head, tv), PATIENCE).unwrap().unwrap_err();
    assert!(reason.contains("several acquisitions of one object are not reconstructed remotely"), "{reason}");
    let number = there.session.send(Command::Start { job: with_radicals, rois: RoiSet::default(), paused: false });
    let (kinds, _) = watch(&there.session, number);
    assert!(matches!(&kinds[..], [EventKind::Failed(problem)] if problem.code == "remote"), "{kinds:?}");
    // The server does not reconstruct growing data.
    let growing = Arc::new(sweep.map(Acquisition::growing));
    let number = there.session.send(Command::Start { job: job(growing), rois: RoiSet::default(), paused: false });
    let (kinds, _) = watch(&there.session, number);
    assert!(matches!(&kinds[..], [EventKind::Failed(problem)] if problem.code == "remote"), "{kinds:?}");
}

/// Waits for an event of a run.
fn until(session: &Session, run: u64, is_wanted: impl Fn(&EventKind) -> bool) -> (Vec<EventKind>, EventKind) {
    let (mut kinds, begun) = (Vec::new(), Instant::now());
    loop {
        assert!(begun.elapsed() < PATIENCE, "{kinds:?}");
        session.take_frame();
        match session.events().recv_timeout(Duration::from_millis(5)) {
            Ok(event) if event.run == run && is_wanted(&event.kind) => return (kinds, event.kind),
            Ok(event) => kinds.push(event.kind),
            Err(_) => {}
        }
    }
}

/// Figures, draws and newest maps of a run, after an edit of the regions.
fn oxygen(session: &Session, job: Job) -> (Vec<OxygenUpdate>, OxygenUpdate, OxygenRedraw, Vec<Arc<Volume>>) {
    let run = session.send(Command::Start { job, rois: super::super::script::ball(1), paused: false });
    let (kinds, _) = until(session, run, |kind| matches!(kind, EventKind::Ended(_) | EventKind::Failed(_)));
    let update = |kind| if let EventKind::Oxygen(update) = kind { Some(*update) } else { None };
    let updates: Vec<_> = kinds.into_iter().filter_map(update).collect();
    session.send(Control::SetRois(super::super::script::ball(2)));
    let (_, edited) = until(session, run, |kind| matches!(kind, EventKind::Oxygen(update) if update.branch == 2));
    let is_last = |redraw: &OxygenRedraw| redraw.branch == 2 && redraw.num_draws == redraw.num_total;
    let (_, last) = until(session, run, |kind| matches!(kind, EventKind::OxygenRedraw(redraw) if is_last(redraw)));
    let EventKind::OxygenRedraw(redraw) = last else { unreachable!() };
    let (mut volumes, begun) = (session.take_volumes(), Instant::now());
    while volumes.last().is_none_or(|volumes| volumes.id.subiteration < updates.len()) {
        assert!(begun.elapsed() < PATIENCE, "{volumes:?}");
        std::thread::sleep(Duration::from_millis(5));
        volumes.extend(session.take_volumes());
    }
    (updates, update(edited).unwrap(), *redraw, volumes.pop().unwrap().volumes)
}

#[test]
fn oxygen_elsewhere_is_mapped_as_it_is_here() {
    let options =
        SweepOptions { scheme: "2d:24".parse().unwrap(), num_points: 24, step_mm: 40.0 / 24.0, ..SweepOptions::default() };
    let phantom = epri::by_name("vials", options.half_extent_mm()).unwrap();
    let calibration = find("ox071-pbs").unwrap().clone();
    let times_us = vec![0.5, 2.0, 8.0, 30.0];
    let simulated = OxygenOptions { calibration, times_us, inversion: 0.9, snr: Some(50.0) };
    let scan = simulate_oxygen(&phantom, &options, &simulated, &Task::new()).unwrap();
    let study = scan.into_study(phantom.title, &simulated).map(Data::from);
    let settings = RunSettings { device: DeviceChoice::Cpu, ..study.measured.default_settings().unwrap() };
    let there = RemoteSession::with(study.clone(), real);
    let head = there.scan().study;
    let (far, far_edited, far_drawn, far_maps) = oxygen(&there.session, Job::of(&head, settings.clone()));
    let (near, near_edited, near_drawn, near_maps) = oxygen(&here(), Job::of(&study, settings));
    let bits = |maps: &[Arc<Volume>]| -> Vec<_> {
        let bits = |map: &Arc<Volume>| map.as_slice().iter().map(|value| value.to_bits()).collect::<Vec<_>>();
        maps.iter().map(|map| (bits(map), map.unit, map.grid.clone())).collect()
    };
    assert_eq!(far_maps.len(), 3);
    assert_eq!(bits(&far_maps), bits(&near_maps));
    assert_eq!(far.len(), 4);
    for (far, near) in far.iter().chain([&far_edited]).zip(near.iter().chain([&near_edited])) {
        assert_eq!((far.num_images, far.branch, &far.counts), (near.num_images, near.branch, &near.counts));
        assert_eq!((&far.all, &far.regions), (&near.all, &near.regions));
    }
    assert!(far_edited.counts.is_ok());
    assert_eq!((far_drawn.all, &far_drawn.regions), (near_drawn.all, &near_drawn.regions));
}

#[test]
fn what_a_run_elsewhere_needs_is_told_before_it_begins() {
    let study = super::super::runs::cylinder_study();
    let there = RemoteSession::new(&study, real);
    let head = there.open();
    let remote = &there.remote;
    let job = |study: Arc<Study<Counts>>| Job::of(&study, super::settings(&head, 1));
    let far = remote.forecast(&job(Arc::clone(&head)), PATIENCE).unwrap().unwrap();
    let near = forecast(&job(Arc::clone(&study)), None).unwrap();
    assert_eq!((far.memory_bytes, &far.projector), (near.memory_bytes, &near.projector));
    assert_eq!(far.device, format!("{} on {}", near.device, remote.host()));
    // The reason of a refusal is reported too.
    let settings = RunSettings { fov_radius_mm: -1.0, ..super::settings(&head, 1) };
    let refused = |study: &Arc<Study<Counts>>| Job::of(study, settings.clone());
    let expected = forecast(&refused(&study), None).unwrap_err().to_string();
    assert_eq!(remote.forecast(&refused(&head), PATIENCE), Some(Err(expected)));
    // The server does not reconstruct local data.
    let reason = remote.forecast(&job(study), PATIENCE).unwrap().unwrap_err();
    assert!(reason.contains("open the study there"), "{reason}");
    // The forecast is unknown for a study that is not open, and during another forecast.
    let other = Arc::new(Study { remote_id: Some(77), ..Study::clone(&head) });
    assert_eq!(remote.forecast(&job(other), PATIENCE), None);
    let answers: Vec<_> = std::thread::scope(|scope| {
        let ask = || scope.spawn(|| remote.forecast(&job(Arc::clone(&head)), PATIENCE));
        let all: Vec<_> = (0..8).map(|_| ask()).collect();
        all.into_iter().map(|asked| asked.join().unwrap()).collect()
    });
    assert!(answers.iter().all(|answer| answer.as_ref().is_none_or(Result::is_ok)), "{answers:?}");
    assert!(answers.iter().any(Option::is_some), "one is answered");
    // Nobody waits for a line that is gone, nor is anything refused for that.
    there.cut();
    let begun = Instant::now();
    while remote.connection() == ConnectionState::Connected && begun.elapsed() < PATIENCE {
        let answer = remote.forecast(&job(Arc::clone(&head)), PATIENCE);
        assert!(answer.is_none_or(|answer| answer.is_ok()));
        std::thread::sleep(Duration::from_millis(5));
    }
    assert!(begun.elapsed() < PATIENCE);
}
