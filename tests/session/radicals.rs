//! Runs with an image of each radical.

use std::sync::Arc;

use tomoscope::data::{Study, Volume};
use tomoscope::plan::{
    Acquisition, AlgorithmChoice, DeviceChoice, Job, LAMBDA, RunInputs, RunSettings, TOLERANCE, Value, Values,
    default_sweep_settings, forecast, prepare,
};
use tomoscope::session::{Command, Control, EndReason, Event, EventKind, VolumesOf};

use super::radical_scan::{AMOUNTS, NAMES, grid, radicals, sweep};
use super::script::{Watcher, ball};

fn job(num_radicals: usize) -> Job {
    let sweep = sweep();
    let mut parameters = Values::default();
    parameters.set(&LAMBDA, Some(Value::Number(1e-3)));
    parameters.set(&TOLERANCE, Some(Value::Number(0.0)));
    let settings = RunSettings {
        algorithm: AlgorithmChoice::TV,
        parameters,
        num_iterations: 3000,
        device: DeviceChoice::Cpu,
        grid: grid(),
        inputs: RunInputs { radicals: radicals().into_iter().take(num_radicals).collect(), ..RunInputs::default() },
        ..default_sweep_settings(&sweep).unwrap()
    };
    Job::of(&Study::new("two discs", Acquisition::complete(sweep)), settings)
}

fn amount(image: &Volume) -> f64 {
    1.5 * 1.5 * image.as_slice().iter().map(|value| f64::from(*value)).sum::<f64>()
}

fn is_coupled(event: &Event) -> bool {
    matches!(event.kind, EventKind::Volumes { of: VolumesOf::Coupled, .. })
}

#[test]
fn images_of_all_radicals_are_read_during_a_run_and_at_its_end() {
    let mut watcher = Watcher::new(Box::new(prepare));
    let run = watcher.session.send(Command::Start { job: job(2), rois: ball(1), paused: false });
    watcher.wait_for(0, |event| matches!(event.kind, EventKind::Iterate(_)));
    watcher.session.send(Control::ReadVolumes(VolumesOf::Coupled));
    watcher.wait_for(0, is_coupled);
    let volumes = watcher.session.take_volumes().pop().unwrap();
    assert_eq!((volumes.id.run, volumes.volumes.len()), (run, 2));
    assert_eq!(watcher.wait_for_end(run), EndReason::Completed);
    let from = watcher.events.len();
    watcher.session.send(Control::ReadVolumes(VolumesOf::Coupled));
    watcher.wait_for(from, is_coupled);
    let images = watcher.session.take_volumes().pop().unwrap().volumes;
    // The published image is that of the first.
    assert_eq!(watcher.shown.as_ref().unwrap().volume.as_slice(), images[0].as_slice());
    for ((image, expected), name) in images.iter().zip(AMOUNTS).zip(NAMES) {
        println!("{name}: {:.2} of {expected}", amount(image));
        assert!((amount(image) / expected - 1.0).abs() < 0.1, "{name}: {} of {expected}", amount(image));
    }
}

#[test]
fn radicals_are_forecast_and_refused_of_pulses() {
    let bytes = |num_radicals| forecast(&job(num_radicals), None).unwrap().memory_bytes;
    assert!(bytes(2) > bytes(1));
    let mut pulses = sweep();
    pulses.kind = tomoscope::data::SweepKind::Pulse;
    let job = job(2);
    let study = Arc::new(Study::new("pulses", Acquisition::complete(pulses)));
    let refused = forecast(&Job::of(&study, *job.settings), None).unwrap_err().to_string();
    assert!(refused.contains("pulse projections"), "{refused}");
}
