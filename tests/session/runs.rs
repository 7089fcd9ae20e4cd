//! Real runs on the small scanner, through the program's own set-up.

use std::sync::Arc;

use tomoscope::algebra::{Host, HostArray};
use tomoscope::data::{Counts, Michelogram, Study, Volume};
use tomoscope::geometry::Grid;
use tomoscope::operator::{Accumulation, LinearOperator, Siddon, Subset, ViewProjector};
use tomoscope::plan::{AlgorithmChoice, DeviceChoice, Job, ProjectorChoice, RunInputs, RunSettings, default_settings, prepare};
use tomoscope::session::{Command, EndReason, Event, EventKind, RoiSet, SessionOptions};
use tomoscope::task::Task;

use super::script::Watcher;

/// A cylinder of 40 mm radius seen by the small scanner, without noise.
pub fn cylinder_study() -> Arc<Study<Counts>> {
    let geometry = Arc::new(tomoscope::scanner::find("small").unwrap().geometry.clone());
    let grid = geometry.default_grid().unwrap();
    let mut truth = Volume::filled(grid.clone(), 0.0);
    let [nx, ny, _] = grid.size;
    for (index, value) in truth.as_mut_slice().iter_mut().enumerate() {
        let [x, y, _] = grid.mm_from_voxel([(index % nx) as f64, (index / nx % ny) as f64, 0.0]);
        *value = if x.hypot(y) <= 40.0 { 2.0 } else { 0.0 };
    }
    let operator = Siddon::new(Arc::clone(&geometry), grid.clone(), grid.inscribed_radius_mm(), [1, 2]);
    let x = operator.voxels().coefficients(&truth).into();
    let mut data = vec![0.0; geometry.num_bins()].into();
    operator.apply(&mut Host, Subset::ALL, &x, &mut data, &Task::new()).unwrap();
    let measured = Michelogram::new(geometry, HostArray::into_values(data)).unwrap();
    let mut study = Study::new("cylinder", Counts::new(measured));
    study.truth = Some(Arc::new(truth));
    Arc::new(study)
}

/// The job of reconstructing a study.
fn counts(study: &Arc<Study<Counts>>, settings: RunSettings) -> Job {
    Job::of(study, settings)
}

/// Runs to the end and gives the last volume.
fn reconstruct(study: &Arc<Study<Counts>>, settings: RunSettings) -> Volume {
    let mut watcher = Watcher::new(Box::new(prepare));
    let start = Command::Start { job: counts(study, settings), rois: RoiSet::default(), paused: false };
    let run = watcher.session.send(start);
    assert_eq!(watcher.wait_for_end(run), EndReason::Completed);
    Volume::clone(&watcher.shown.as_ref().unwrap().volume)
}

/// The code with which a run is refused.
fn refusal(study: &Arc<Study<Counts>>, settings: RunSettings) -> String {
    let mut watcher = Watcher::with_options(SessionOptions::default(), Box::new(prepare), |_| {});
    let start = Command::Start { job: counts(study, settings), rois: RoiSet::default(), paused: false };
    let run = watcher.session.send(start);
    let problem = watcher.wait_for_failure(run);
    format!("{}: {}", problem.code, problem.text)
}

/// Returns the default settings of a study, on the CPU.
fn on_cpu(study: &Counts) -> RunSettings {
    RunSettings { device: DeviceChoice::Cpu, ..default_settings(study).unwrap() }
}

#[test]
fn a_cylinder_is_found_again() {
    let study = cylinder_study();
    let image = reconstruct(&study, on_cpu(&study.measured));
    let truth = study.truth.as_ref().unwrap();
    let (mut inside, mut outside) = ((0.0, 0.0), (0.0, 0.0));
    let grid = &truth.grid;
    for (index, &value) in image.as_slice().iter().enumerate() {
        let voxel = [index % grid.size[0], index / grid.size[0] % grid.size[1], index / (grid.size[0] * grid.size[1])];
        let [x, y, _] = grid.mm_from_voxel(voxel.map(|i| i as f64));
        let middle = (3..12).contains(&voxel[2]);
        if middle && x.hypot(y) < 30.0 {
            inside = (inside.0 + f64::from(value), inside.1 + 1.0);
        } else if middle && x.hypot(y) > 50.0 {
            outside = (outside.0 + f64::from(value), outside.1 + 1.0);
        }
    }
    assert!((inside.0 / inside.1 - 2.0).abs() < 0.1, "{}", inside.0 / inside.1);
    assert!(outside.0 / outside.1 < 0.1, "{}", outside.0 / outside.1);
}

#[test]
fn deterministic_results_have_the_same_bits_for_any_number_of_threads() {
    let study = cylinder_study();
    let settings = |num_threads, projector| RunSettings {
        num_threads: Some(num_threads),
        num_iterations: 2,
        projector,
        accumulation: Some(Accumulation::Deterministic),
        ..on_cpu(&study.measured)
    };
    for projector in [ProjectorChoice::Auto, ProjectorChoice::PER_LOR] {
        let one = reconstruct(&study, settings(1, projector));
        assert!(one.sum() > 0.0);
        for num_threads in [2, 3] {
            assert_eq!(one, reconstruct(&study, settings(num_threads, projector)), "{num_threads} threads");
        }
    }
}

#[test]
fn a_run_tells_what_it_became() {
    let study = cylinder_study();
    let mut watcher = Watcher::new(Box::new(prepare));
    let settings = RunSettings { algorithm: AlgorithmChoice::MLEM, num_threads: Some(1), ..on_cpu(&study.measured) };
    let start = Command::Start { job: counts(&study, settings), rois: RoiSet::default(), paused: true };
    watcher.session.send(start);
    let event = watcher.wait_for(0, |e| matches!(e.kind, EventKind::Started(_)));
    let EventKind::Started(info) = event.kind else { unreachable!() };
    assert!(info.device.starts_with("CPU, 1 thread, "), "{}", info.device);
    assert_eq!(info.projector, "axial-runs");
    assert_eq!((info.num_subsets, info.job.settings.num_subsets), (1, 1), "MLEM has one subset");
    assert_eq!(info.accumulation, Accumulation::Deterministic);
    let image_bytes = 4 * info.job.grid().num_voxels() as u64;
    assert!(info.estimate.memory_bytes > 3 * image_bytes);
    assert!(info.estimate.secs_per_iteration.is_some_and(|secs| secs > 0.0 && secs < 60.0), "{:?}", info.estimate);
}

#[test]
fn settings_that_cannot_be_are_refused() {
    let study = cylinder_study();
    let base = on_cpu(&study.measured);
    let grid = |size, voxel_mm| Grid::centred(size, voxel_mm).unwrap();
    let cases = [
        (RunSettings { num_subsets: 49, ..base.clone() }, "setup.subsets: 49 subsets of"),
        (RunSettings { num_subsets: 0, ..base.clone() }, "setup.subsets: 0 subsets of"),
        (RunSettings { num_iterations: 0, ..base.clone() }, "setup.subsets: 0 iterations"),
        (RunSettings { device: DeviceChoice::Cuda(1000), ..base.clone() }, "setup.device"),
        (RunSettings { grid: grid([5000, 1, 1], [1.0; 3]), ..base.clone() }, "setup.image: the image has a side of 5000"),
        (RunSettings { grid: grid([4096, 4096, 128], [0.1; 3]), ..base.clone() }, "setup.memory"),
        (RunSettings { fov_radius_mm: 0.0, ..base.clone() }, "setup.image: a field of view"),
        (RunSettings { fov_radius_mm: f64::NAN, ..base.clone() }, "setup.image: a field of view"),
        (
            RunSettings {
                inputs: RunInputs {
                    init: Some(Arc::new(Volume::filled(grid([3, 3, 3], [1.0; 3]), 1.0))),
                    ..RunInputs::default()
                },
                ..base.clone()
            },
            "setup.image: the start image",
        ),
        (
            RunSettings {
                inputs: RunInputs { init: Some(Arc::new(Volume::filled(base.grid.clone(), -1.0))), ..RunInputs::default() },
                ..base.clone()
            },
            "reconstruction",
        ),
    ];
    for (settings, expected) in cases {
        let found = refusal(&study, settings);
        assert!(found.starts_with(expected), "{expected}: {found}");
    }
    let mut counts = Arc::unwrap_or_clone(study.measured.prompts.counts.clone());
    counts[12345] = -1.0;
    let negative = Study::new("negative", Counts::new(Michelogram::new(Arc::clone(study.measured.geometry()), counts).unwrap()));
    let found = refusal(&Arc::new(negative), base);
    assert!(found.starts_with("reconstruction: ") && found.contains("holds -1"), "{found}");
}

#[test]
fn a_start_image_is_gone_on_from() {
    let study = cylinder_study();
    let base = RunSettings { algorithm: AlgorithmChoice::MLEM, ..on_cpu(&study.measured) };
    let two = reconstruct(&study, RunSettings { num_iterations: 2, ..base.clone() });
    let one = reconstruct(&study, RunSettings { num_iterations: 1, ..base.clone() });
    let again = reconstruct(
        &study,
        RunSettings { num_iterations: 1, inputs: RunInputs { init: Some(Arc::new(one)), ..RunInputs::default() }, ..base },
    );
    assert_eq!(two, again);
}

#[test]
fn an_image_that_is_not_finite_is_told_once() {
    let study = cylinder_study();
    let geometry = study.measured.geometry();
    let tiny = Michelogram::new(Arc::clone(geometry), vec![1e-44; geometry.num_bins()]).unwrap();
    let factors = Counts::new(study.measured.prompts.clone()).with_corrections(Some(tiny), None).unwrap();
    let most = study.measured.prompts.counts.iter().copied().fold(0.0, f32::max);
    let huge = study.measured.prompts.counts.iter().map(|count| count / most * 3e38).collect();
    let huge = Michelogram::new(Arc::clone(geometry), huge).unwrap();
    for (counted, is_finite) in [(factors, true), (Counts::new(huge), false), (study.measured.clone(), true)] {
        let study = Arc::new(Study::new("extreme", counted));
        let mut watcher = Watcher::new(Box::new(prepare));
        let settings = RunSettings { algorithm: AlgorithmChoice::MLEM, num_iterations: 1, ..on_cpu(&study.measured) };
        let start = Command::Start { job: counts(&study, settings), rois: RoiSet::default(), paused: false };
        let run = watcher.session.send(start);
        assert_eq!(watcher.wait_for_end(run), EndReason::Completed);
        let tells = |event: &&Event| matches!(&event.kind, EventKind::Notice(notice) if notice.text.contains("finite number"));
        assert_eq!(watcher.events.iter().filter(tells).count(), usize::from(!is_finite), "{is_finite}");
        assert_eq!(watcher.shown.as_ref().unwrap().volume.not_finite().is_none(), is_finite);
    }
}
