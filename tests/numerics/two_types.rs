//! A list that the `petsird` package wrote, of a scanner whose two types of modules measure time of flight differently, against an image
//! and a sensitivity that were computed from it in double precision by a script (`tests/data/petsird/make.py`).

use std::path::PathBuf;
use std::sync::Arc;

use tomoscope::data::{EventList, Events, ListMetadata, Study, Volume};
use tomoscope::geometry::Grid;
use tomoscope::io::list_mode::ListOptions;
use tomoscope::plan::{
    AlgorithmChoice, Cache, DeviceChoice, Job, ListSelection, Rays, RunSettings, SensitivitySettings, default_list_settings,
    list_sensitivity, list_study, prepare_with,
};
use tomoscope::scanner::PairRays;
use tomoscope::task::Task;

const FOV_MM: f64 = 54.0;

fn file(name: &str) -> PathBuf {
    tomoscope_support::in_repository("tests/data/petsird").join(name)
}

fn grid() -> Grid {
    Grid::centred([13, 13, 7], [9.0; 3]).unwrap()
}

fn reference(name: &str) -> Vec<f32> {
    let bytes = std::fs::read(file(name)).unwrap();
    bytes.chunks_exact(4).map(|bytes| f32::from_le_bytes(*bytes.first_chunk().unwrap())).collect()
}

/// The list without what its delayeds make expect.
fn prompts_alone() -> Study<EventList> {
    let study = list_study(&file("two_types.petsird"), &ListOptions::default(), &ListSelection::default(), &Task::new()).unwrap();
    let prompts = Events { additive: Vec::new(), ..(*study.measured.prompts).clone() };
    study.map(|list| EventList { prompts: Arc::new(prompts), delayeds: Arc::default(), total_additive: 0.0, ..list })
}

fn sensitivity(facts: &ListMetadata) -> Volume {
    let settings = SensitivitySettings { grid: grid(), fov_radius_mm: FOV_MM, rays: PairRays::ONE, device: DeviceChoice::Cpu };
    list_sensitivity(facts, &settings, &Task::new()).unwrap().volume
}

/// The largest difference of two images, in parts of the largest value.
fn difference(found: &Volume, expected: &[f32]) -> f64 {
    let largest = expected.iter().fold(0.0f32, |largest, value| largest.max(*value));
    assert_eq!(found.as_slice().len(), expected.len());
    let pairs = found.as_slice().iter().zip(expected);
    pairs.map(|(a, b)| f64::from((a - b).abs() / largest)).fold(0.0, f64::max)
}

#[test]
fn the_sensitivity_knows_the_window_of_each_pair_of_types() {
    let facts = prompts_alone().measured.facts;
    let [expected, unlimited] = ["two_types_sensitivity.f32", "two_types_unlimited.f32"].map(reference);
    let found = difference(&sensitivity(&facts), &expected);
    assert!(found < 1e-5, "{found}");
    // Without the windows' ends it is up to a tenth more.
    let without = sensitivity(&ListMetadata { tof: None, ..(*facts).clone() });
    let found = difference(&without, &unlimited);
    assert!(found < 1e-5 && difference(&without, &expected) > 0.05, "{found}");
}

#[test]
fn the_image_is_the_one_that_was_computed_elsewhere() {
    let study = prompts_alone();
    assert_eq!(study.measured.prompts.len(), 2492);
    let settings = RunSettings {
        grid: grid(),
        fov_radius_mm: FOV_MM,
        algorithm: AlgorithmChoice::MLEM,
        num_iterations: 5,
        rays: Rays::Fixed { tangential: 1, axial: 1 },
        device: DeviceChoice::Auto,
        ..default_list_settings(&study.measured).unwrap()
    };
    let mut volume = Volume::filled(grid(), 0.0);
    let job = Job::of(&study, settings);
    let mut prepared = prepare_with(&Cache::nowhere(), &job, &Task::new()).unwrap();
    assert!(
        prepared.notices.iter().any(|notice| notice.text.contains("several time-of-flight resolutions")),
        "{:?}",
        prepared.notices
    );
    for _ in 0..5 {
        prepared.algorithm.step(&Task::new()).unwrap();
    }
    prepared.algorithm.volume_into(&mut volume).unwrap();
    let found = difference(&volume, &reference("two_types_image.f32"));
    assert!(found < 2e-5, "{found}");
}

#[test]
fn voxels_that_are_too_large_for_the_time_of_flight_are_told_of() {
    let warns = |voxel_mm: f64| {
        let study = prompts_alone();
        let grid = Grid::centred([3, 3, 3], [voxel_mm; 3]).unwrap();
        let settings = RunSettings {
            fov_radius_mm: grid.inscribed_radius_mm(),
            grid,
            device: DeviceChoice::Cpu,
            ..default_list_settings(&study.measured).unwrap()
        };
        let job = Job::of(&study, settings);
        let prepared = prepare_with(&Cache::nowhere(), &job, &Task::new()).unwrap();
        prepared.notices.iter().any(|notice| notice.text.contains("finer than half a voxel (31.0 mm)"))
    };
    // The finest resolution is 36 mm, so that σ is 15.3 mm.
    assert!(warns(31.0) && !warns(30.0));
}
