//! The memory that a run is forecast to need is the memory that it counts once it has begun.

use std::sync::Arc;

use tomoscope::data::{Counts, Michelogram, Study, TofBins, TofValues};
use tomoscope::geometry::Grid;
use tomoscope::operator::Accumulation;
use tomoscope::plan::{
    Acquisition, AlgorithmChoice, BLOCK, DeviceChoice, DeviceMemory, Forecast, FreeMemory, Job, KERNEL, PlaneKernel,
    ProjectorChoice, RunSettings, SetupError, StartInfo, TofSettings, default_settings, default_sweep_settings, forecast,
    prepare,
};
use tomoscope::scanner;
use tomoscope::task::Task;

use super::sweeps::{job, sweep};

/// The small scanner with one count in each bin.
fn study() -> Arc<Study<Counts>> {
    let geometry = Arc::new(scanner::find("small").unwrap().geometry.clone());
    let ones = vec![1.0; geometry.num_bins()];
    Arc::new(Study::new("ones", Counts::new(Michelogram::new(geometry, ones).unwrap())))
}

fn assert_comes_true(job: &Job) -> u64 {
    let foretold = forecast(job, None).unwrap();
    let info = prepare(job, &Task::new()).unwrap().info;
    assert_eq!(
        (foretold.memory_bytes, &foretold.device, &foretold.projector),
        (info.estimate.memory_bytes, &info.device, &info.projector)
    );
    foretold.memory_bytes
}

#[test]
fn counts() {
    let study = study();
    let plain = RunSettings { device: DeviceChoice::Cpu, ..default_settings(&study.measured).unwrap() };
    let larger = Grid::centred(plain.grid.size.map(|n| n + 8), plain.grid.voxel_mm).unwrap();
    let job = |settings: RunSettings| Job::of(&study, settings);
    let needed = [
        plain.clone(),
        RunSettings { algorithm: AlgorithmChoice::MLEM, ..plain.clone() },
        RunSettings { projector: ProjectorChoice::PER_LOR, ..plain.clone() },
        RunSettings { accumulation: Some(Accumulation::NonAtomic), ..plain.clone() },
        RunSettings { grid: larger, ..plain.clone() },
    ]
    .map(|settings| assert_comes_true(&job(settings)));
    assert!(needed[4] > needed[0] && needed[3] != needed[0], "{needed:?}");
    // Both refuse an impossible run with the same text.
    let wrong = job(RunSettings { num_subsets: 10_000, ..plain });
    assert_eq!(forecast(&wrong, None).unwrap_err(), prepare(&wrong, &Task::new()).err().unwrap());
}

#[test]
fn sweeps() {
    let sweep = sweep();
    let plain = RunSettings { device: DeviceChoice::Cpu, ..default_sweep_settings(&sweep).unwrap() };
    let acquisition = Acquisition::complete(sweep);
    for settings in [
        plain.clone(),
        RunSettings { algorithm: AlgorithmChoice::FBP_MULTISTAGE, ..plain.clone() },
        RunSettings { parameters: plain.parameters.clone().with_choice(&KERNEL, PlaneKernel::Paper), ..plain.clone() },
        RunSettings { parameters: plain.parameters.clone().with_number(&BLOCK, Some(5.0)), ..plain },
    ] {
        assert_comes_true(&job(&acquisition, settings));
    }
}

#[test]
fn a_run_gives_its_memory_back_to_the_next() {
    let study = study();
    let settings = RunSettings { device: DeviceChoice::Cpu, ..default_settings(&study.measured).unwrap() };
    let job = Job::of(&study, settings.clone());
    let running = prepare(&job, &Task::new()).unwrap().info;
    assert_eq!(running.memory, [DeviceMemory { gpu_number: None, bytes: running.estimate.memory_bytes }]);
    let using = |gpu_number, bytes| StartInfo { memory: vec![DeviceMemory { gpu_number, bytes }], ..running.clone() };
    // Other programs use memory too: attempts during a change of free memory are not compared.
    let free = || FreeMemory::of_the_computer().bytes.unwrap();
    let is_still = |before: u64| (before / 2..2 * before).contains(&free());
    for _ in 0..1000 {
        // So many voxels that the volumes on their way to the screen can be held, but not all images of the algorithm.
        let free_bytes = free();
        let side = ((free_bytes / 40) as f64).cbrt() as usize;
        let grid = Grid::centred([side; 3], [1.0, 1.0, 2.5]).unwrap();
        let settings = Box::new(RunSettings { grid, num_subsets: 24, ..settings.clone() });
        let large = Job::of(&study, *settings);
        let [small, enough, elsewhere] =
            [running.clone(), using(None, 1 << 50), using(Some(0), 1 << 50)].map(|running| forecast(&large, Some(&running)));
        if is_still(free_bytes) {
            assert!(matches!(small, Err(SetupError::Memory { .. })), "{small:?}");
            let Forecast { memory_bytes, free_bytes: Some(then), .. } = enough.unwrap() else { panic!("nothing is known") };
            assert!(memory_bytes > free_bytes && then > 1 << 50);
            // The memory of a run on another device does not help.
            assert!(matches!(elsewhere, Err(SetupError::Memory { .. })), "{elsewhere:?}");
            return;
        }
    }
    panic!("memory was never still");
}

#[test]
fn a_run_with_too_many_time_of_flight_bins_names_how_many_to_add_up() {
    let settings = RunSettings {
        device: DeviceChoice::Cpu,
        algorithm: AlgorithmChoice::MLEM,
        num_subsets: 1,
        ..default_settings(&study().measured).unwrap()
    };
    let geometry = Arc::new(scanner::find("small").unwrap().geometry.clone());
    let free_bytes = FreeMemory::of_the_computer().bytes.unwrap();
    let num = 8 * (free_bytes / (4 * geometry.num_bins() as u64)).next_power_of_two() as usize;
    // A forecast has the lengths of data, not their values.
    let tof = Some(TofValues { bins: TofBins { num, width_mm: 1e-3, fwhm_mm: 60.0 }, values: Arc::default() });
    let counts = Counts::new(Michelogram { geometry, counts: Arc::default(), tof });
    let forecast_with = |mash: usize| {
        let tof = TofSettings { mash, ..TofSettings::default() };
        forecast(&Job::of(&Study::new("lengths", counts.clone()), RunSettings { tof, ..settings.clone() }), None)
    };
    let error = forecast_with(1).unwrap_err();
    let SetupError::Memory { needed_bytes, tof_mash: Some(mash), .. } = error else { panic!("{error}") };
    println!("{num} bins: {error}");
    assert!(needed_bytes > free_bytes && mash >= 4 && error.to_string().contains(&format!("(--tof-mash {mash})")));
    // (Other programs use memory meanwhile.)
    assert!(forecast_with(2 * mash).is_ok() && forecast_with(mash / 4).is_err());
}
