//! Runs of pulse oximetry: maps of oxygen while images at further delays come in.

use tomoscope::data::{OxygenSeries, Study, Volume};
use tomoscope::io::oxygen::find;
use tomoscope::operator::grid_about_zero;
use tomoscope::phantom::epri::{DELAYS_US, OxygenOptions, Phantom, SweepOptions, by_name, simulate_oxygen};
use tomoscope::plan::{
    Acquisition, AlgorithmChoice, Data, DeviceChoice, Job, LAMBDA, POSITIVITY, RunSettings, TOLERANCE, Values, YES, prepare,
};
use tomoscope::scanner::epri::Order;
use tomoscope::session::{
    Command, Control, EndReason, EventKind, OxygenImages, OxygenRedraw, OxygenUpdate, RoiSet, RunId, Volumes, VolumesOf,
};
use tomoscope::statistics::standard_deviation;
use tomoscope::task::Task;

use super::script::{Watcher, ball};

/// Voxels nearer than this to an edge are not judged.
const MARGIN_VOXELS: f64 = 2.0;

/// Number of the first image with a map: the recovery has three parameters.
const FIRST: usize = 3;

fn options() -> SweepOptions {
    SweepOptions { num_points: 64, step_mm: 0.625, order: Order::Spaced, ..SweepOptions::default() }
}

/// The built-in study of the window: phantom, acquisitions.
fn study() -> (Phantom, Study<OxygenSeries>) {
    let phantom = by_name("tumour", options().half_extent_mm()).unwrap();
    let calibration = find("ox071-pbs").unwrap().clone();
    let oxygen = OxygenOptions { calibration, times_us: DELAYS_US.to_vec(), inversion: 0.9, snr: Some(50.0) };
    let scan = simulate_oxygen(&phantom, &options(), &oxygen, &Task::new()).unwrap();
    let study = scan.into_study(phantom.title, &oxygen);
    (phantom, study)
}

/// Settings of a study: the slices in which all compartments lie.
fn settings(study: &Study<OxygenSeries>, slices: usize) -> RunSettings {
    let data = Data::from(study.measured.clone());
    let grid = grid_about_zero([64, 64, slices], [0.625; 3]).unwrap();
    RunSettings { device: DeviceChoice::Cpu, grid, ..data.default_settings().unwrap() }
}

/// Six vials in two dimensions without noise: phantom, acquisitions, settings of total variation.
fn vials() -> (Phantom, Study<OxygenSeries>, RunSettings) {
    let options = SweepOptions { scheme: "2d:96".parse().unwrap(), num_points: 48, step_mm: 40.0 / 48.0, ..options() };
    let phantom = by_name("vials", options.half_extent_mm()).unwrap();
    let calibration = find("ox071-pbs").unwrap().clone();
    let oxygen = OxygenOptions { calibration, times_us: DELAYS_US.to_vec(), inversion: 0.9, snr: None };
    let study = simulate_oxygen(&phantom, &options, &oxygen, &Task::new()).unwrap().into_study(phantom.title, &oxygen);
    let settings = RunSettings {
        algorithm: AlgorithmChoice::TV,
        parameters: Values::default().with_number(&LAMBDA, Some(0.1)),
        num_iterations: 400,
        grid: grid_about_zero([48, 48, 1], [40.0 / 48.0; 3]).unwrap(),
        ..settings(&study, 1)
    };
    (phantom, study, settings)
}

fn start(watcher: &Watcher, study: &Study<OxygenSeries>, rois: RoiSet, paused: bool) -> RunId {
    watcher.session.send(Command::Start { job: Job::of(study, settings(study, 5)), rois, paused })
}

fn updates(watcher: &Watcher, run: RunId) -> Vec<OxygenUpdate> {
    let of = |event: &tomoscope::session::Event| match &event.kind {
        EventKind::Oxygen(update) if event.run == run => Some((**update).clone()),
        _ => None,
    };
    watcher.events.iter().filter_map(of).collect()
}

/// Newest maps, and their number of images.
fn maps(watcher: &Watcher) -> (usize, OxygenImages) {
    let Volumes { id, of, volumes } = watcher.session.take_volumes().pop().unwrap();
    assert_eq!(of, VolumesOf::Oxygen);
    (id.subiteration, OxygenImages::of_volumes(volumes).unwrap())
}

/// Mean pressure of each compartment away from all edges, in the order of the pressures, and its number of voxels.
fn compartments(phantom: &Phantom, po2: &Volume) -> Vec<(f64, f64, usize)> {
    let mut found: Vec<(f64, Vec<f64>)> = [0.0, 5.0, 10.0, 20.0, 40.0, 60.0].map(|torr| (torr, Vec::new())).to_vec();
    let torr_at = |point: [f64; 3]| {
        let inside = phantom.parts.iter().zip(&phantom.oxygen_torr).filter(|(part, _)| part.body.contains(point));
        let [spins, sum] =
            inside.fold([0.0, 0.0], |[spins, sum], (part, torr)| [spins + part.density, sum + part.density * torr]);
        (spins > 0.5).then(|| sum / spins)
    };
    let [nx, ny, _] = po2.grid.size;
    let margin_mm = MARGIN_VOXELS * po2.grid.voxel_mm[0];
    for (voxel, value) in po2.as_slice().iter().enumerate() {
        let point = po2.grid.mm_from_voxel([voxel % nx, voxel / nx % ny, voxel / (nx * ny)].map(|i| i as f64));
        let Some(torr) = torr_at(point) else { continue };
        let offsets = (0..27).map(|k| [k % 3, k / 3 % 3, k / 9].map(|i| (i as f64 - 1.0) * margin_mm));
        let mut neighbours = offsets.map(|offset| torr_at(std::array::from_fn(|a| point[a] + offset[a])));
        if neighbours.all(|other| other == Some(torr)) {
            let of = found.iter_mut().find(|(known, _)| *known == torr).unwrap();
            of.1.push(f64::from(*value));
        }
    }
    found.into_iter().map(|(torr, values)| (torr, values.iter().sum::<f64>() / values.len() as f64, values.len())).collect()
}

#[test]
fn the_built_in_tumour_has_its_oxygen_from_the_third_delay_on() {
    let (phantom, study) = study();
    let mut watcher = Watcher::new(Box::new(prepare));
    let rois = RoiSet { branch: 1, rois: study.rois.clone().into() };
    let run = start(&watcher, &study, rois, false);
    assert_eq!(watcher.wait_for_end(run), EndReason::Completed);
    let steps: Vec<usize> = watcher.iterates(run).iter().map(|report| report.subiteration).collect();
    assert_eq!(steps, [1, 2, 3, 4, 5, 6, 7, 8]);
    let updates = updates(&watcher, run);
    assert_eq!(updates.iter().map(|update| update.num_images).collect::<Vec<_>>(), steps);
    for update in &updates {
        match &update.counts {
            Ok(_) => {
                assert!(update.num_images >= FIRST);
                // Three images leave no residuals.
                assert_eq!(update.all.as_ref().unwrap().voxel_sd_torr.is_some(), update.num_images > FIRST);
                assert_eq!(update.regions.len(), study.rois.len());
            }
            Err(reason) => assert!(update.num_images < FIRST && reason.contains("begins with 3 images"), "{reason}"),
        }
    }
    let last = updates.last().unwrap();
    let (num_images, maps) = maps(&watcher);
    assert_eq!((num_images, maps.po2_sd.is_some()), (8, true));
    for (torr, mean, num) in compartments(&phantom, &maps.po2) {
        println!("{torr} torr: {mean:.2} in {num} voxels");
        assert!(num > 20 && (mean - torr).abs() < 1.0, "{torr} torr: {mean}");
    }
    for (roi, figures) in study.rois.iter().zip(&last.regions) {
        let figures = figures.as_ref().unwrap();
        let torr: f64 = roi.name.rsplit_once(", ").unwrap().1.trim_end_matches(" torr").parse().unwrap();
        println!("{}: median {:.2}, σ of a voxel {:.2}", roi.name, figures.stats.median_torr, figures.voxel_sd_torr.unwrap());
        assert!((figures.stats.median_torr - torr).abs() < 1.0, "{}: {}", roi.name, figures.stats.median_torr);
    }
    let all = last.all.as_ref().unwrap();
    let fitted = last.counts.as_ref().unwrap().fitted;
    assert_eq!((all.stats.num_voxels, fitted > 1000), (fitted, true));
    assert!((0.05..0.5).contains(&all.stats.hypoxic_fraction), "{}", all.stats.hypoxic_fraction);
    // Every image can be gone back to.
    let stored: Vec<_> = watcher.session.history(run).iter().map(|stored| stored.id.subiteration).collect();
    assert_eq!(stored, steps);
}

#[test]
fn total_variation_has_the_oxygen_of_the_vials_and_the_images_of_single_acquisitions() {
    let (phantom, study, settings) = vials();
    let mut watcher = Watcher::new(Box::new(prepare));
    let job = Job::of(&study, settings.clone());
    let run = watcher.session.send(Command::Start { job, rois: RoiSet::default(), paused: false });
    assert_eq!(watcher.wait_for_end(run), EndReason::Completed);
    // Parts of an image are no iterates.
    let steps: Vec<usize> = watcher.iterates(run).iter().map(|report| report.subiteration).collect();
    assert_eq!(steps, [1, 2, 3, 4, 5, 6, 7, 8]);
    let updates = updates(&watcher, run);
    assert_eq!(updates.iter().map(|update| update.iterations.len()).collect::<Vec<_>>(), steps);
    assert!(updates.iter().all(|update| update.counts.is_ok() == (update.num_images >= FIRST)));
    let last = updates.last().unwrap();
    assert!(last.iterations.iter().all(|num| (10..=400).contains(num)), "{:?}", last.iterations);
    println!("iterations: {:?}", last.iterations);
    for (torr, mean, num) in compartments(&phantom, &maps(&watcher).1.po2) {
        println!("{torr} torr: {mean:.2} in {num} voxels");
        assert!(num > 10 && (mean - torr).abs() < 0.6, "{torr} torr: {mean}");
    }
    // The command line reconstructs each acquisition on its own.
    for stored in watcher.session.history(run) {
        let index = stored.id.subiteration - 1;
        if index % 4 == 0 {
            let alone = Study::new("alone", Acquisition::complete(study.measured.sweeps[index].clone()));
            let mut prepared = prepare(&Job::of(&alone, settings.clone()), &Task::new()).unwrap();
            (0..last.iterations[index]).for_each(|_| _ = prepared.algorithm.step(&Task::new()).unwrap());
            let mut image = Volume::filled(settings.grid.clone(), 0.0);
            prepared.algorithm.volume_into(&mut image).unwrap();
            assert!(image.as_slice() == stored.volume.as_slice(), "image {index}");
        }
    }
}

#[test]
fn a_stop_ends_total_variation_within_an_image() {
    let (_, study, settings) = vials();
    let settings = RunSettings {
        num_iterations: 1_000_000,
        parameters: settings.parameters.clone().with_number(&TOLERANCE, Some(0.0)),
        ..settings
    };
    let mut watcher = Watcher::new(Box::new(prepare));
    let job = Job::of(&study, settings.clone());
    let run = watcher.session.send(Command::Start { job, rois: RoiSet::default(), paused: false });
    watcher.wait_for(0, |event| matches!(event.kind, EventKind::Started(_)));
    watcher.session.send(Control::Stop);
    assert_eq!(watcher.wait_for_end(run), EndReason::Stopped);
    assert!(watcher.iterates(run).is_empty());
    // A single step is a whole image.
    let job = Job::of(&study, RunSettings { num_iterations: 20, ..settings });
    let run = watcher.session.send(Command::Start { job, rois: RoiSet::default(), paused: true });
    (0..FIRST).for_each(|_| _ = watcher.session.send(Control::StepOnce));
    watcher.session.send(Control::Stop);
    assert_eq!(watcher.wait_for_end(run), EndReason::Stopped);
    assert_eq!(updates(&watcher, run).last().unwrap().iterations, [20; FIRST]);
}

/// Acquisitions of six vials in two dimensions at five delays, with noise of a seed, and their settings.
fn noisy_vials(seed: u64) -> (Study<OxygenSeries>, RunSettings) {
    let options = SweepOptions { scheme: "2d:48".parse().unwrap(), num_points: 32, step_mm: 40.0 / 32.0, seed, ..options() };
    let phantom = by_name("vials", options.half_extent_mm()).unwrap();
    let calibration = find("ox071-pbs").unwrap().clone();
    let times_us = [0.4, 1.5, 4.5, 12.0, 30.0].to_vec();
    let oxygen = OxygenOptions { calibration, times_us, inversion: 0.9, snr: Some(25.0) };
    let study = simulate_oxygen(&phantom, &options, &oxygen, &Task::new()).unwrap().into_study(phantom.title, &oxygen);
    let grid = grid_about_zero([32, 32, 1], [40.0 / 32.0; 3]).unwrap();
    let settings = RunSettings { grid, ..settings(&study, 1) };
    (study, settings)
}

/// Waits for all draws of the noise of a run with the regions of an edit.
fn redraw(watcher: &mut Watcher, run: RunId, from: usize, branch: u64) -> OxygenRedraw {
    let is_last = |event: &tomoscope::session::Event| match &event.kind {
        EventKind::OxygenRedraw(redraw) => event.run == run && redraw.num_draws == redraw.num_total && redraw.branch == branch,
        _ => false,
    };
    match watcher.wait_for(from, is_last).kind {
        EventKind::OxygenRedraw(redraw) => *redraw,
        _ => unreachable!(),
    }
}

/// Median and HF10 of all voxels and of the vials differ between scans as they do between draws of one scan's noise.
#[test]
fn the_noise_is_drawn_again_after_the_last_delay() {
    let mut watcher = Watcher::new(Box::new(prepare));
    let mut medians: Vec<Vec<f64>> = Vec::new();
    let mut found: Vec<Vec<f64>> = Vec::new();
    for seed in 1..=12 {
        let (study, settings) = noisy_vials(seed);
        let rois = RoiSet { branch: 1, rois: study.rois.clone().into() };
        let run = watcher.session.send(Command::Start { job: Job::of(&study, settings), rois, paused: false });
        assert_eq!(watcher.wait_for_end(run), EndReason::Completed);
        let last = updates(&watcher, run).pop().unwrap();
        medians.push(last.regions.iter().map(|figures| figures.as_ref().unwrap().stats.median_torr).collect());
        // (Further scans are for their medians. The start of the next run ends the draws of the one before.)
        if seed <= 2 {
            let redraw = redraw(&mut watcher, run, 0, 1);
            assert_eq!((redraw.num_total, redraw.regions.len()), (20, study.rois.len()));
            let all = redraw.all.unwrap();
            assert!(all.num_draws == 20 && all.median_torr > 0.0 && (1e-4..0.1).contains(&all.hypoxic_fraction), "{all:?}");
            found.push(redraw.regions.iter().map(|deviations| deviations.unwrap().median_torr).collect());
            let draws: Vec<usize> = watcher
                .events
                .iter()
                .filter_map(|event| match &event.kind {
                    EventKind::OxygenRedraw(redraw) if event.run == run => Some(redraw.num_draws),
                    _ => None,
                })
                .collect();
            assert_eq!(draws, (0..=20).collect::<Vec<_>>());
        }
    }
    let ratios: Vec<f64> = (0..medians[0].len())
        .map(|region| {
            let between = standard_deviation(&medians.iter().map(|scan| scan[region]).collect::<Vec<_>>()).unwrap();
            let drawn = found.iter().map(|scan| scan[region]).sum::<f64>() / found.len() as f64;
            println!("vial {region}: {between:.3} torr between scans, {drawn:.3} between draws");
            drawn / between
        })
        .collect();
    // 12 scans know each to 21 %, and two sets of 20 draws to 11 %: the median of six to some 12 %.
    let median = tomoscope::statistics::median(ratios.clone()).unwrap();
    assert!((0.7..1.4).contains(&median), "{median}: {ratios:?}");
}

#[test]
fn draws_of_the_noise_follow_the_regions_and_end_with_the_run() {
    let (study, settings) = noisy_vials(1);
    let mut watcher = Watcher::new(Box::new(prepare));
    let start = |watcher: &Watcher, settings: &RunSettings, branch| {
        watcher.session.send(Command::Start { job: Job::of(&study, settings.clone()), rois: ball(branch), paused: false })
    };
    let run = start(&watcher, &settings, 1);
    let first = redraw(&mut watcher, run, 0, 1);
    assert!(first.regions.len() == 1 && first.all.is_some());
    // Edited regions have their deviations at once, also after the last draw.
    let from = watcher.events.len();
    watcher.session.send(Control::SetRois(RoiSet { branch: 2, rois: study.rois.clone().into() }));
    let edited = redraw(&mut watcher, run, from, 2);
    assert!(edited.regions.len() == study.rois.len() && edited.all == first.all);
    // Another run ends them, and so does a cancel.
    let run = start(&watcher, &settings, 3);
    watcher.wait_for_end(run);
    let again = start(&watcher, &settings, 4);
    assert_eq!(redraw(&mut watcher, again, 0, 4).all, first.all);
    let is_redraw = |event: &tomoscope::session::Event, of| event.run == of && matches!(event.kind, EventKind::OxygenRedraw(_));
    let started = watcher.events.iter().position(|event| event.run == again).unwrap();
    let late = watcher.events[started..].iter().filter(|event| is_redraw(event, run)).count();
    // (One draw may have been complete when the stop came.)
    assert!(late <= 1, "{late}");
    // Total variation does not draw.
    let tv = RunSettings { algorithm: AlgorithmChoice::TV, num_iterations: 5, ..settings.clone() };
    let run = start(&watcher, &tv, 5);
    watcher.wait_for_end(run);
    let from = watcher.events.len();
    watcher.session.send(Control::SetRois(ball(6)));
    watcher.wait_for(from, |event| matches!(&event.kind, EventKind::Oxygen(update) if update.branch == 6));
    assert!(watcher.events.iter().all(|event| !is_redraw(event, run)));
}

#[test]
fn regions_are_measured_on_the_map_during_and_after_the_run() {
    let (_, study) = study();
    let mut watcher = Watcher::new(Box::new(prepare));
    let run = start(&watcher, &study, ball(1), true);
    for _ in 0..FIRST {
        watcher.session.send(Control::StepOnce);
    }
    let with_maps = |event: &tomoscope::session::Event, branch: u64| match &event.kind {
        EventKind::Oxygen(update) => update.branch == branch && update.counts.is_ok(),
        _ => false,
    };
    watcher.wait_for(0, |event| with_maps(event, 1));
    let from = watcher.events.len();
    watcher.session.send(Control::SetRois(ball(2)));
    let event = watcher.wait_for(from, |event| with_maps(event, 2));
    let EventKind::Oxygen(update) = event.kind else { unreachable!() };
    assert_eq!((update.num_images, update.regions.len()), (FIRST, 1));
    watcher.session.send(Control::Resume);
    assert_eq!(watcher.wait_for_end(run), EndReason::Completed);
    let from = watcher.events.len();
    watcher.session.send(Control::SetRois(ball(3)));
    watcher.wait_for(from, |event| with_maps(event, 3));
    // A new run begins without maps of the old one, and a stop leaves those of the images so far.
    let again = start(&watcher, &study, ball(4), true);
    (0..FIRST + 1).for_each(|_| _ = watcher.session.send(Control::StepOnce));
    watcher.session.send(Control::Stop);
    assert_eq!(watcher.wait_for_end(again), EndReason::Stopped);
    let of_again = updates(&watcher, again);
    assert_eq!(of_again.iter().map(|update| update.num_images).collect::<Vec<_>>(), [1, 2, 3, 4]);
    assert!(of_again[3].counts.is_ok());
}

#[test]
fn times_and_algorithms_that_give_no_map_are_refused() {
    let (_, study) = study();
    let mut watcher = Watcher::new(Box::new(prepare));
    let mut failure = |study: &Study<OxygenSeries>, settings: RunSettings| {
        let from = watcher.events.len();
        watcher.session.send(Command::Start { job: Job::of(study, settings), rois: RoiSet::default(), paused: false });
        let event = watcher.wait_for(from, |event| matches!(event.kind, EventKind::Failed(_)));
        let EventKind::Failed(problem) = event.kind else { unreachable!() };
        problem.text
    };
    let with = |change: fn(&mut OxygenSeries)| {
        let mut study = study.clone();
        change(&mut study.measured);
        study
    };
    let two = with(|series| (series.times_us.truncate(2), series.sweeps.truncate(2)).0);
    assert!(failure(&two, settings(&two, 1)).contains("3 parameters"));
    let equal = with(|series| series.times_us[1] = series.times_us[0]);
    assert!(failure(&equal, settings(&equal, 1)).contains("two times are 30 µs"));
    let none = with(|series| (series.times_us.clear(), series.sweeps.clear()).0);
    assert!(Data::from(none.measured).default_settings().is_err());
    let positive = Values::default().with_choice(&POSITIVITY, YES);
    let tv = RunSettings { algorithm: AlgorithmChoice::TV, parameters: positive, ..settings(&study, 1) };
    let text = failure(&study, tv);
    assert!(text.contains("negative values"), "{text}");
    let em = RunSettings { algorithm: AlgorithmChoice::MLEM, ..settings(&study, 1) };
    let text = failure(&study, em);
    assert!(text.contains("mlem") && text.contains("fbp") && text.contains("tv"), "{text}");
}
