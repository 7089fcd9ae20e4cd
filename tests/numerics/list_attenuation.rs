//! Lists of objects that attenuate, with the map of their attenuation.

use std::sync::Arc;

use tomoscope::data::{Attenuation, AttenuationMap, EventList, ListMetadata, Study, Volume};
use tomoscope::phantom::{ListSimulation, by_name, simulate_list};
use tomoscope::plan::{AlgorithmChoice, Cache, DeviceChoice, Job, Rays, default_list_settings, prepare_with};
use tomoscope::scanner::find;
use tomoscope::task::Task;

use super::support::list_of_prompts;

/// Mean of the voxels between two distances from the axis, in the middle slices.
fn mean_between(volume: &Volume, mm: [f64; 2]) -> f64 {
    let [nx, ny, nz] = volume.grid.size;
    let (mut sum, mut num) = (0.0, 0);
    for (index, value) in volume.as_slice().iter().enumerate() {
        let (x, y, z) = (index % nx, index / nx % ny, index / nx / ny);
        let [px, py, _] = volume.grid.mm_from_voxel([x as f64, y as f64, z as f64]);
        if (mm[0]..mm[1]).contains(&px.hypot(py)) && (nz / 4..nz - nz / 4).contains(&z) {
            (sum, num) = (sum + f64::from(*value), num + 1);
        }
    }
    sum / f64::from(num)
}

/// The image of a list's events.
fn reconstructed(list: EventList, rays: Rays) -> Volume {
    let mut settings = default_list_settings(&list).unwrap();
    (settings.algorithm, settings.num_iterations, settings.device) = (AlgorithmChoice::OSEM, 3, DeviceChoice::Cpu);
    (settings.num_subsets, settings.rays) = (8, rays);
    let mut volume = Volume::filled(settings.grid.clone(), 0.0);
    let job = Job::of(&Study::new("list", list), settings);
    let mut prepared = prepare_with(&Cache::nowhere(), &job, &Task::new()).unwrap();
    for _ in 0..24 {
        prepared.algorithm.step(&Task::new()).unwrap();
    }
    prepared.algorithm.volume_into(&mut volume).unwrap();
    volume
}

#[test]
fn a_cylinder_of_water_is_flat_with_the_map_of_its_attenuation_alone() {
    let scanner = &find("small").unwrap().geometry;
    let phantom = by_name("cylinder", scanner).unwrap();
    let options = ListSimulation {
        counts: 400_000.0,
        attenuation: true,
        seed: 5,
        duration_secs: 10.0,
        tof_fwhm_mm: None,
        randoms_fraction: 0.0,
    };
    let study = simulate_list(&phantom, scanner, &options, &Task::new()).unwrap();
    let (truth, simulated) = (study.truth.clone().unwrap(), study.measured);
    let prompts = Arc::new(simulated.events.prompts);
    let mut per_mm = phantom.attenuation(&truth.grid, &Task::new()).unwrap();
    per_mm.as_mut_slice().iter_mut().for_each(|value| *value *= 0.1);
    let map = Attenuation::Maps(vec![Arc::new(AttenuationMap { file: "mu.nii".into(), per_mm, ct: None })]);
    let image = |attenuation: Attenuation, rays: Rays| {
        let facts = Arc::new(ListMetadata { attenuation, ..(*simulated.facts).clone() });
        reconstructed(list_of_prompts(facts, Arc::clone(&prompts)), rays)
    };
    let radius = (truth.as_slice().iter().filter(|value| **value > 0.0).count() as f64 / truth.grid.size[2] as f64
        * truth.grid.voxel_mm[0]
        * truth.grid.voxel_mm[1]
        / std::f64::consts::PI)
        .sqrt();
    let rim = [0.55 * radius, 0.8 * radius];
    let middle = [0.0, 0.35 * radius];
    let flat = |volume: &Volume| mean_between(volume, rim) / mean_between(volume, middle);
    // As it was simulated, along lines between the middles of crystals; with the usual rays along the crystals; with some across them,
    // of which the sensitivity is made pair by pair.
    let across = Rays::Fixed { tangential: 2, axial: 1 };
    let middles = Rays::Fixed { tangential: 1, axial: 1 };
    let without = image(Attenuation::Untold, middles);
    for rays in [middles, Rays::Auto, across] {
        let with = image(map.clone(), rays);
        let of_truth = mean_between(&with, middle) / mean_between(&truth, middle);
        println!(
            "radius {radius:.1} mm, {rays:?}: rim to middle {:.3} with the map, {:.3} without; to the truth {of_truth:.3}",
            flat(&with),
            flat(&without)
        );
        assert!((flat(&with) - 1.0).abs() < 0.03, "{}", flat(&with));
        assert!(flat(&without) > 1.08, "{}", flat(&without));
        // What is there without attenuation, not what is left of it.
        assert!((of_truth - 1.0).abs() < 0.05, "{of_truth}");
    }
}
