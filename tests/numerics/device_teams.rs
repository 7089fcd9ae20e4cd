//! Several GPUs against one. Where the machine has only one, it takes the place of two, whose images then meet in the computer's memory.

use std::sync::Arc;

use tomoscope::algebra::PeerGroup;
use tomoscope::cuda::{AxialRuns, BinDriven, CudaBackend, EventLines, PaperTubes, Tubes, devices};
use tomoscope::data::{Counts, Events, Michelogram, Study, Volume};
use tomoscope::geometry::Grid;
use tomoscope::operator::{Accumulation, EventOrder, EventProjector, Siddon, Subset, ViewProjector};
use tomoscope::plan::{
    AlgorithmChoice, Cache, DeviceChoice, GpuSet, Job, ProjectorChoice, RunSettings, default_list_settings, default_settings,
    prepare_with,
};
use tomoscope::recon::{
    Algorithm, EmSettings, EventTerms, ListModel, MlemOsem, ProjectionModel, ReconError, SharedAlgorithm, SubsetOrder,
};
use tomoscope::scanner::ScanGeometry;
use tomoscope::task::Task;

use super::device::{assert_same_bits, device};
use super::events::{Tof, crowded_events, detectors, pair_rays, random_events, tof};
use super::support::{forward, geometry, noise, random_volume, relative, simulated_list};
use super::teams::scanner_of_tubes;

fn grid() -> Grid {
    Grid::centred([33, 33, 15], [6.0, 6.0, 2.5]).unwrap()
}

const FOV_MM: f64 = 95.0;

fn counts(geometry: &Arc<ScanGeometry>) -> Counts {
    let values = |values: Vec<f32>| Michelogram::new(Arc::clone(geometry), values).unwrap();
    let expected = forward(&Siddon::new(Arc::clone(geometry), grid(), FOV_MM, [1, 1]), Subset::ALL, &random_volume(&grid()));
    let num = expected.len();
    Counts {
        multiplicative: Some(values(noise(22, num).iter().map(|u| 0.5 + u).collect())),
        additive: Some(values(noise(23, num).iter().map(|u| 0.2 * u).collect())),
        ..Counts::new(values(expected.iter().zip(noise(21, num)).map(|(e, u)| (0.1 * e + u).round()).collect()))
    }
}

/// MLEM or OSEM on so many GPUs, and whether NCCL links them.
fn algorithm<P: ViewProjector<CudaBackend> + 'static>(
    make: fn(&CudaBackend) -> P,
    count: usize,
    counts: &Counts,
    num_subsets: usize,
    accumulation: Accumulation,
) -> (SharedAlgorithm, bool) {
    let num_gpus = devices().unwrap().len();
    let mut backends: Vec<CudaBackend> = (0..count).map(|k| CudaBackend::open(k % num_gpus).unwrap()).collect();
    let (teams, why_not) = CudaBackend::join(&mut backends, &PeerGroup::ALONE).unwrap();
    let em = EmSettings {
        subset_order: SubsetOrder::Spaced,
        accumulation,
        sensitivity_accumulation: accumulation,
        racy_sensitivity: false,
    };
    let member = |(mut backend, team): (CudaBackend, PeerGroup)| {
        let projector = make(&backend);
        let voxels = projector.voxels().clone();
        let algorithm: Box<dyn Algorithm> = if count == 1 {
            let views = projector.views().clone();
            let model = ProjectionModel::new(&mut backend, projector, views, counts, num_subsets).unwrap();
            Box::new(MlemOsem::new(backend, voxels, model, em, None).unwrap())
        } else {
            let (operator, data) = Box::new(projector).for_group(&team).unwrap();
            let model = ProjectionModel::new(&mut backend, operator, data, counts, num_subsets).unwrap().of_group(team.clone());
            Box::new(MlemOsem::new(backend, voxels, model, em, None).unwrap())
        };
        (algorithm, team)
    };
    (SharedAlgorithm::new(backends.into_iter().zip(teams).map(member)).unwrap(), count > 1 && why_not.is_none())
}

fn run(algorithm: &mut SharedAlgorithm, num_steps: usize) -> (Vec<f32>, f64) {
    let mut log_likelihood = 0.0;
    for _ in 0..num_steps {
        log_likelihood = algorithm.step(&Task::new()).unwrap().em.unwrap().log_likelihood.unwrap();
    }
    let mut volume = Volume::filled(grid(), 0.0);
    algorithm.volume_into(&mut volume).unwrap();
    (volume.as_slice().to_vec(), log_likelihood)
}

fn several_are_one<P: ViewProjector<CudaBackend> + 'static>(make: fn(&CudaBackend) -> P, geometry: &Arc<ScanGeometry>) {
    if device().is_none() {
        return;
    }
    let counts = counts(geometry);
    for num_subsets in [1, 4] {
        for accumulation in [Accumulation::Deterministic, Accumulation::Atomic] {
            let (expected, expected_likelihood) = run(&mut algorithm(make, 1, &counts, num_subsets, accumulation).0, 5);
            for count in [2, 3, 4] {
                let (mut team, is_linked) = algorithm(make, count, &counts, num_subsets, accumulation);
                let (found, likelihood) = run(&mut team, 5);
                let difference = relative(&found, &expected);
                println!("{count} GPUs, NCCL {is_linked}, {num_subsets} subsets, {accumulation}: {difference:.1e}");
                assert!((likelihood - expected_likelihood).abs() <= 1e-6 * expected_likelihood.abs());
                if accumulation == Accumulation::Deterministic {
                    assert_same_bits(&found, &expected);
                } else {
                    assert!(difference <= 1e-5, "{difference}");
                }
            }
        }
    }
}

#[test]
fn several_gpus_with_the_fast_projector_are_one() {
    let make = |backend: &CudaBackend| AxialRuns::new(backend, geometry("small"), grid(), FOV_MM, [1, 1]).unwrap();
    several_are_one(make, &geometry("small"));
}

#[test]
fn several_gpus_with_a_thread_for_each_bin_are_one() {
    let make = |backend: &CudaBackend| BinDriven::new(backend, geometry("small"), grid(), FOV_MM, [1, 1], None).unwrap();
    several_are_one(make, &geometry("small"));
}

#[test]
fn several_gpus_with_tubes_are_one() {
    let make = |backend: &CudaBackend| {
        let (geometry, tubes) = scanner_of_tubes(8);
        Tubes::new(backend, geometry, grid(), FOV_MM, &tubes).unwrap()
    };
    several_are_one(make, &scanner_of_tubes(8).0);
}

#[test]
fn several_gpus_with_the_paper_s_tubes_are_one() {
    let make = |backend: &CudaBackend| {
        let (geometry, tubes) = scanner_of_tubes(8);
        PaperTubes::new(backend, geometry, grid(), FOV_MM, &tubes).unwrap()
    };
    several_are_one(make, &scanner_of_tubes(8).0);
}

#[test]
fn several_gpus_are_stopped_and_go_on() {
    if device().is_none() {
        return;
    }
    let counts = counts(&geometry("small"));
    let make = |backend: &CudaBackend| AxialRuns::new(backend, geometry("small"), grid(), FOV_MM, [1, 1]).unwrap();
    let way = Accumulation::Deterministic;
    let (expected, _) = run(&mut algorithm(make, 1, &counts, 1, way).0, 4);
    let (mut team, _) = algorithm(make, 2, &counts, 1, way);
    run(&mut team, 2);
    for pause in 0..60 {
        let task = Task::new();
        let stop = task.clone();
        let stopper = std::thread::spawn(move || {
            std::thread::sleep(std::time::Duration::from_micros(10 * pause));
            stop.stop();
        });
        match team.step(&task) {
            Ok(_) => {
                team = algorithm(make, 2, &counts, 1, way).0;
                run(&mut team, 2);
            }
            Err(ReconError::Operator(tomoscope::operator::OperatorError::Stopped(_))) => {}
            Err(error) => panic!("{error}"),
        }
        stopper.join().unwrap();
    }
    assert_same_bits(&run(&mut team, 2).0, &expected);
}

/// OSEM of events by so many GPUs, each with its share of every subset.
fn of_events(count: usize, events: &Events, num_subsets: usize, accumulation: Accumulation) -> SharedAlgorithm {
    let num_gpus = devices().unwrap().len();
    let mut backends: Vec<CudaBackend> = (0..count).map(|k| CudaBackend::open(k % num_gpus).unwrap()).collect();
    let (teams, _) = CudaBackend::join(&mut backends, &PeerGroup::ALONE).unwrap();
    let em = EmSettings {
        subset_order: SubsetOrder::Sequential,
        accumulation,
        sensitivity_accumulation: accumulation,
        racy_sensitivity: false,
    };
    let member = |(mut backend, team): (CudaBackend, PeerGroup)| {
        let (detectors, tof, subsets) = (detectors(), tof(30.0), EventOrder::default());
        let events = Arc::new(events.clone());
        let lines =
            EventLines::new(&mut backend, Arc::clone(&events), &detectors, Some(&tof), grid(), FOV_MM, pair_rays(2), subsets)
                .unwrap();
        let (voxels, space) = (lines.voxels().clone(), lines.space().clone());
        let sensitivity = Arc::new(voxels.coefficients(&Volume::filled(grid(), 3.0)));
        let terms = EventTerms { additive: Some(&events.additive), total_additive: 50.0, ..EventTerms::default() };
        let model = ListModel::new(&mut backend, lines, space.clone(), space, terms, sensitivity, num_subsets).unwrap();
        let model = model.of_group(team.clone());
        let algorithm: Box<dyn Algorithm> = Box::new(MlemOsem::new(backend, voxels, model, em, None).unwrap());
        (algorithm, team)
    };
    SharedAlgorithm::new(backends.into_iter().zip(teams).map(member)).unwrap()
}

#[test]
fn several_gpus_with_the_events_of_a_list_are_one() {
    if device().is_none() {
        return;
    }
    // Of many different lines, without and with time of flight, and of few, which make beams.
    for events in [random_events(20_011, Tof::No), random_events(20_011, Tof::Numbers), crowded_events(300_000)] {
        let events = Events { additive: noise(44, events.len()).iter().map(|u| 0.1 + u).collect(), ..events };
        // A fifth of the crowd goes through the same few voxels: that many floats, added in any order, round too much to tell.
        let is_crowd = events.len() > 100_000;
        let accumulations = [Accumulation::Deterministic, Accumulation::Atomic];
        for num_subsets in [1, 5] {
            for accumulation in accumulations.into_iter().take(if is_crowd { 1 } else { 2 }) {
                let (expected, expected_likelihood) = run(&mut of_events(1, &events, num_subsets, accumulation), 6);
                for count in [2, 3] {
                    let (found, likelihood) = run(&mut of_events(count, &events, num_subsets, accumulation), 6);
                    println!("{count} GPUs, {} events, {num_subsets} subsets: {:.1e}", events.len(), relative(&found, &expected));
                    assert!((likelihood - expected_likelihood).abs() <= 1e-6 * expected_likelihood.abs());
                    if accumulation == Accumulation::Deterministic {
                        assert_same_bits(&found, &expected);
                    } else {
                        assert!(relative(&found, &expected) <= 1e-5);
                    }
                }
            }
        }
    }
}

/// The image of a job, as everything is chosen for it.
fn image_of(job: &Job) -> (Volume, String) {
    let mut prepared = prepare_with(&Cache::nowhere(), job, &Task::new()).unwrap();
    for _ in 0..job.num_iterations() {
        prepared.algorithm.iterate(&Task::new()).unwrap();
    }
    let mut volume = Volume::filled(job.grid().clone(), 0.0);
    prepared.algorithm.volume_into(&mut volume).unwrap();
    (volume, prepared.info.device)
}

/// Two cards and all of them have the bits of one, and rounding alone is between them where additions come in any order.
fn assert_one(job_on: impl Fn(DeviceChoice, Accumulation) -> Job) {
    for accumulation in [Accumulation::Deterministic, Accumulation::Atomic] {
        let (expected, _) = image_of(&job_on(DeviceChoice::Cuda(0), accumulation));
        for set in [GpuSet::of([0, 1]).unwrap(), GpuSet::ALL] {
            let (found, device) = image_of(&job_on(DeviceChoice::Gpus(set), accumulation));
            assert!(device.contains(" × ") || device.contains(" + "), "{device}");
            if accumulation == Accumulation::Deterministic {
                assert_same_bits(found.as_slice(), expected.as_slice());
            } else {
                assert!(relative(found.as_slice(), expected.as_slice()) <= 1e-5);
            }
        }
    }
}

#[test]
fn counts_and_lists_are_shared_out_among_the_cards_that_are_asked_for() {
    if device().is_none() || devices().unwrap().len() < 2 {
        println!("skipped: one CUDA device");
        return;
    }
    let study = Arc::new(Study::new("counts", counts(&geometry("small"))));
    let settings = default_settings(&study.measured).unwrap();
    for (algorithm, projector) in
        [(AlgorithmChoice::OSEM, ProjectorChoice::Auto), (AlgorithmChoice::MLEM, ProjectorChoice::PER_LOR)]
    {
        assert_one(|device, accumulation| {
            let settings = RunSettings {
                algorithm,
                projector,
                device,
                accumulation: Some(accumulation),
                num_iterations: 3,
                ..settings.clone()
            };
            Job::of(&study, settings)
        });
    }
    for tof_fwhm_mm in [None, Some(60.0)] {
        let list = simulated_list(2e5, 2, tof_fwhm_mm, 0.2);
        let (study, settings) = (Arc::new(Study::new("list", list.clone())), default_list_settings(&list).unwrap());
        assert_one(|device, accumulation| {
            let settings =
                RunSettings { device, accumulation: Some(accumulation), num_subsets: 3, num_iterations: 2, ..settings.clone() };
            Job::of(&study, settings)
        });
    }
}
