//! Sinograms with time of flight on a CUDA device: as on the processor.

use std::sync::Arc;

use tomoscope::data::{Counts, Michelogram, Study, TofBins, Volume};
use tomoscope::geometry::Grid;
use tomoscope::operator::{Accumulation, Subset, TofKernel};
use tomoscope::plan::{
    AlgorithmChoice, Cache, DeviceChoice, Job, ProjectorChoice, ProjectorSettings, Rays, RunSettings, choose_projector,
    prepare_with,
};
use tomoscope::scanner::find;
use tomoscope::task::Task;

use super::device::device;
use super::support::{largest_difference, noise, random_volume, relative};

/// Few bins and many, lines with rays and without: on a CUDA device as on the processor.
#[test]
fn cuda_devices_have_the_time_of_flight_of_the_processor() {
    if device().is_none() {
        return;
    }
    let geometry = Arc::new(find("small").unwrap().geometry.clone());
    let grid = geometry.default_grid().unwrap();
    let off_centre =
        Grid::new(grid.size, grid.voxel_mm, [grid.origin_mm[0] + 3.0, grid.origin_mm[1], grid.origin_mm[2]]).unwrap();
    for (bins, grid, rays) in [
        (TofBins { num: 7, width_mm: 60.0, fwhm_mm: 100.0 }, grid.clone(), [1, 1]),
        (TofBins { num: 3, width_mm: 40.0, fwhm_mm: 100.0 }, off_centre, [1, 1]),
        (TofBins { num: 41, width_mm: 12.0, fwhm_mm: 100.0 }, grid, [2, 2]),
    ] {
        let settings = |device| ProjectorSettings {
            rays: Rays::Fixed { tangential: rays[0], axial: rays[1] },
            tof: Some((bins, TofKernel::new(bins.fwhm_mm))),
            ..ProjectorSettings::new(grid.clone(), 100.0, ProjectorChoice::AXIAL_RUNS, device)
        };
        let of = |device| choose_projector(&geometry, &settings(device)).unwrap().system;
        let (mut host, mut cuda) = (of(DeviceChoice::Cpu), of(DeviceChoice::Cuda(0)));
        let volume = random_volume(&grid);
        for subset in Subset::all(4).take(2) {
            let [ours, theirs] = [&mut host, &mut cuda].map(|system| system.project(subset, &volume, &Task::new()).unwrap());
            let difference = largest_difference(&theirs, &ours);
            println!("{bins:?} {subset:?}: forward {difference:.1e} of the largest");
            assert!(difference <= 1e-5, "{bins:?}: {difference}");
            let q = Arc::new(noise(3, ours.len()));
            let [ours, theirs] = [&mut host, &mut cuda].map(|system| {
                let image = system.backproject(subset, Arc::clone(&q), Accumulation::Deterministic, &Task::new()).unwrap();
                image.as_slice().to_vec()
            });
            let difference = largest_difference(&theirs, &ours);
            println!("{bins:?} {subset:?}: back {difference:.1e} of the largest");
            assert!(difference <= 1e-5, "{bins:?}: {difference}");
        }
        // A very hot voxel: many bins are less than their rounding, and are added up again.
        let mut hot = Volume::filled(grid.clone(), 1.0);
        hot.as_mut_slice()[grid.num_voxels() / 2 + grid.size[0] / 3] = 1e4;
        let counts = host.project(Subset::ALL, &hot, &Task::new()).unwrap().into_iter().map(|bin| bin.max(0.0)).collect();
        let counts = Michelogram::with_tof(Arc::clone(&geometry), bins, counts).unwrap();
        let study = Study::new("counts", Counts::new(counts));
        let images = [DeviceChoice::Cpu, DeviceChoice::Cuda(0)].map(|device| {
            let settings = RunSettings {
                num_iterations: 3,
                fov_radius_mm: 100.0,
                rays: Rays::Fixed { tangential: rays[0], axial: rays[1] },
                projector: ProjectorChoice::AXIAL_RUNS,
                device,
                ..RunSettings::new(AlgorithmChoice::MLEM, grid.clone())
            };
            let mut prepared = prepare_with(&Cache::nowhere(), &Job::of(&study, settings), &Task::new()).unwrap();
            for _ in 0..3 {
                prepared.algorithm.iterate(&Task::new()).unwrap();
            }
            let mut image = Volume::filled(grid.clone(), 0.0);
            prepared.algorithm.volume_into(&mut image).unwrap();
            image
        });
        let difference = relative(images[1].as_slice(), images[0].as_slice());
        println!("{bins:?}: MLEM {difference:.1e} (norms)");
        assert!(difference <= 1e-4, "{bins:?}: {difference}");
    }
}
