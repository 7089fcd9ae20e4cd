//! Runs with a spectrum in each voxel: its samples are read during and after the run, and the image is their height.

use std::f64::consts::TAU;
use std::sync::Arc;

use tomoscope::data::{FieldAxis, Study, Sweep, Volume};
use tomoscope::measure::spectrum::{Line, LineFitter, line_maps};
use tomoscope::operator::grid_about_zero;
use tomoscope::phantom::epri::{Phantom, SpectralOptions, SweepOptions, by_name, simulate_spectral};
use tomoscope::plan::{AlgorithmChoice, Data, DeviceChoice, Job, RunSettings, SPECTRAL_SAMPLES, prepare};
use tomoscope::session::{Command, Control, EndReason, EventKind, RunId, VolumesOf};
use tomoscope::task::Task;

use super::script::{Watcher, ball};

/// Widths of the lines of the vials, mT.
const WIDTHS: [f64; 6] = [0.12, 0.15, 0.18, 0.13, 0.16, 0.2];

/// Largest relative error of a width, as documented: docs/spectra.md has −19 % at 0.25 mT, and less of narrower lines.
const MAX_ERROR: f64 = 0.17;

fn study() -> (Phantom, Study<Sweep>) {
    let options = SweepOptions {
        scheme: "2d:16".parse().unwrap(),
        num_points: 64,
        step_mm: 60.0 / 64.0,
        noise_fraction: 0.002,
        ..SweepOptions::default()
    };
    let phantom = by_name("vials", 0.5 * options.half_extent_mm()).unwrap();
    let spectral = SpectralOptions { linewidths_mt: WIDTHS.to_vec(), positions_mt: Vec::new(), sweep_mt: 3.2, num_gradients: 6 };
    let study = simulate_spectral(&phantom, &options, &spectral, &Task::new()).unwrap();
    (phantom, study)
}

fn settings(study: &Study<Sweep>, num_iterations: usize) -> RunSettings {
    let data = Data::Sweep(tomoscope::plan::Acquisition::complete(study.measured.clone()));
    let grid = grid_about_zero([16, 16, 1], [2.0; 3]).unwrap();
    RunSettings { device: DeviceChoice::Cpu, grid, num_iterations, ..data.default_settings().unwrap() }
}

fn job(study: &Study<Sweep>, settings: RunSettings) -> Job {
    let study = study.clone().map(|sweep| Data::Sweep(tomoscope::plan::Acquisition::complete(sweep)));
    Job::new(Arc::new(study), settings)
}

/// Reads the samples of the newest iterate.
fn samples(watcher: &mut Watcher, run: RunId) -> Vec<Arc<Volume>> {
    let from = watcher.events.len();
    watcher.session.send(Control::ReadVolumes(VolumesOf::Coupled));
    watcher.wait_for(from, |event| event.run == run && matches!(event.kind, EventKind::Volumes { of: VolumesOf::Coupled, .. }));
    watcher.session.take_volumes().pop().unwrap().volumes
}

/// Width of the line in the middle of each vial, mT.
fn widths(samples: Vec<Arc<Volume>>, axis: FieldAxis) -> [f64; 6] {
    let maps = line_maps(&samples, axis, &LineFitter::new(Line::Lorentzian, axis), 0.1, &Task::new()).unwrap();
    // The phantom is scaled to 86 %, so that the vials are 8.6 mm from the middle.
    std::array::from_fn(|k| {
        let angle = TAU * k as f64 / 6.0;
        let [x, y] = [angle.cos(), angle.sin()].map(|c| (8.0 + 8.6 * c / 2.0).round() as usize);
        maps.line(16 * y + x).unwrap().width_mt
    })
}

#[test]
fn spectra_of_vials_are_read_during_and_after_the_run() {
    let (phantom, study) = study();
    assert!((phantom.size - 0.86).abs() < 0.01, "{}", phantom.size);
    // A study with gradients of several sizes has spectra by default.
    let settings = settings(&study, 250);
    assert_eq!((settings.algorithm, settings.parameters.count(&SPECTRAL_SAMPLES)), (AlgorithmChoice::TV, 64));
    let job = job(&study, settings);
    let axis = job.spectral_axis().unwrap();
    let mut watcher = Watcher::new(Box::new(prepare));
    let run = watcher.session.send(Command::Start { job, rois: ball(1), paused: false });
    let is_tenth = |event: &tomoscope::session::Event| matches!(&event.kind, EventKind::Iterate(report) if event.run == run && report.iteration == 10);
    watcher.wait_for(0, is_tenth);
    let early = samples(&mut watcher, run);
    assert_eq!((early.len(), early[0].grid.size), (64, [16, 16, 1]));
    assert_eq!(watcher.wait_for_end(run), EndReason::Completed);
    let last = samples(&mut watcher, run);
    assert!(early.iter().zip(&last).any(|(a, b)| a.as_slice() != b.as_slice()));
    // The image that is shown has the height of the spectra.
    watcher.look();
    let shown = watcher.shown.as_ref().unwrap().volume.clone();
    for voxel in 0..256 {
        let values = last.iter().map(|sample| sample.as_slice()[voxel]);
        let height = values.clone().fold(f32::MIN, f32::max) - values.fold(f32::MAX, f32::min);
        assert!((shown.as_slice()[voxel] - height).abs() <= 1e-6 * height, "{voxel}");
    }
    for (width, expected) in widths(last, axis).into_iter().zip(WIDTHS) {
        println!("width {width:.3} mT of {expected}");
        assert!((width / expected - 1.0).abs() < MAX_ERROR, "{width} {expected}");
    }
}

#[test]
fn a_paused_run_answers_and_so_does_one_without_spectra() {
    let (_, study) = study();
    let mut watcher = Watcher::new(Box::new(prepare));
    let job = job(&study, settings(&study, 20));
    let run = watcher.session.send(Command::Start { job: job.clone(), rois: ball(1), paused: true });
    // Before the first step all samples are 0.
    let first = samples(&mut watcher, run);
    assert!(first.len() == 64 && first.iter().all(|sample| sample.as_slice().iter().all(|value| *value == 0.0)));
    watcher.session.send(Control::StepOnce);
    let second = samples(&mut watcher, run);
    assert!(second.iter().any(|sample| sample.as_slice().iter().any(|value| *value != 0.0)));
    // A later run answers with its own number.
    let mut few = job.settings.clone();
    few.parameters.set(&SPECTRAL_SAMPLES, Some(tomoscope::plan::Value::Number(16.0)));
    let job = Job::new(Arc::clone(&job.study), *few);
    let later = watcher.session.send(Command::Start { job, rois: ball(1), paused: true });
    assert_eq!((later, samples(&mut watcher, later).len()), (run + 1, 16));
}
