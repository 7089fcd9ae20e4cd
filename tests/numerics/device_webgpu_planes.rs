//! Backprojection of planes on a GPU through wgpu against the definition in double precision and the host's fast one.

use std::sync::Arc;

use strum::VariantArray as _;
use tomoscope::algebra::Backend;
use tomoscope::data::Direction;
use tomoscope::geometry::Grid;
use tomoscope::operator::{
    FilteredProjections, Interpolation, OperatorError, OperatorLimit, PlaneBackprojector, PlaneSampling, SingleStage,
    grid_about_zero,
};
use tomoscope::recon::{FilterSettings, ProjectionFilter};
use tomoscope::task::Task;
use tomoscope::webgpu::{Planes, WebGpuArray, WebGpuBackend};

use super::device_webgpu::{backends, read};
use super::fusillo::fusillo;
use super::plane_ends::{high_at_the_ends, lined_up};
use super::support::{largest_difference, noise, planes_by, planes_by_definition};

/// Axis-parallel and oblique directions.
fn directions(count: usize) -> Vec<Direction> {
    let axes = [[1.0, 0.0, 0.0], [0.0, -1.0, 0.0], [0.0, 0.0, 1.0]];
    let random = noise(3, 3 * count);
    let oblique = random.chunks_exact(3).map(|v| {
        let [x, y, z] = [v[0], v[1], v[2]].map(|u| f64::from(u) - 0.5);
        let length = (x * x + y * y + z * z).sqrt();
        [x / length, y / length, z / length]
    });
    axes.into_iter().chain(oblique).take(count).collect()
}

/// Noise, smoothed a little so that it is as steep as a filtered projection.
fn projections(count: usize, sampling: PlaneSampling, interpolation: Interpolation) -> FilteredProjections {
    let samples: Vec<f64> = noise(5, count * sampling.num_points).iter().map(|u| f64::from(*u) - 0.3).collect();
    let smooth = samples.iter().enumerate().map(|(i, v)| v + samples[i.saturating_sub(1)]).collect();
    FilteredProjections::new(sampling, interpolation, directions(count), smooth).unwrap()
}

/// Grids: inside the projections, larger than they reach, flat voxels, voxels of many samples, a single plane, many tiles.
fn cases() -> Vec<(Grid, PlaneSampling)> {
    let sampling = |num_points, step_mm, centre| PlaneSampling { num_points, step_mm, centre };
    vec![
        (grid_about_zero([33, 20, 17], [1.0; 3]).unwrap(), sampling(64, 0.9, 32.0)),
        (grid_about_zero([40, 40, 24], [1.5; 3]).unwrap(), sampling(41, 1.0, 20.3)),
        (grid_about_zero([16, 31, 9], [1.0, 0.5, 2.0]).unwrap(), sampling(51, 0.25, 25.0)),
        (grid_about_zero([40, 40, 20], [2.366; 3]).unwrap(), sampling(500, 0.189, 250.0)),
        (Grid::new([65, 7, 1], [0.7; 3], [-20.1, -2.0, 3.3]).unwrap(), sampling(80, 0.7, 40.0)),
        (Grid::new([3, 2, 4], [0.7; 3], [-1.0, 0.0, 0.0]).unwrap(), sampling(1, 0.7, 0.0)),
    ]
}

/// The image on one device.
fn image_on(backend: &mut WebGpuBackend, grid: &Grid, all: &FilteredProjections) -> Vec<f32> {
    let mut image = backend.zeros(grid.num_voxels()).unwrap();
    Planes::new(grid.clone()).add(backend, all, &mut image, &Task::new()).unwrap();
    read(backend, &image)
}

/// Compares all devices with the definition and the fast program of the host.
fn compare(backends: &mut [(&str, WebGpuBackend)], grid: &Grid, all: &FilteredProjections) {
    if backends.is_empty() {
        return;
    }
    let (exact, fast) = (planes_by_definition(grid, all), planes_by(&mut SingleStage::new(grid.clone()), all));
    for (name, backend) in backends {
        let found = image_on(backend, grid, all);
        let (to_double, to_host) = (largest_difference(&found, &exact), largest_difference(&found, &fast));
        println!("{}, {:?}, {name}: {to_double:.1e} from double, {to_host:.1e} from the host", all.interpolation, grid.size);
        assert!(to_double <= 1e-5 && to_host <= 1e-5);
        assert!(image_on(backend, grid, all) == found, "the same bits on every run");
    }
}

#[test]
fn the_kernels_are_the_definition() {
    let mut backends = backends();
    for (grid, sampling) in cases() {
        for &interpolation in Interpolation::VARIANTS {
            compare(&mut backends, &grid, &projections(70, sampling, interpolation));
        }
    }
}

/// Projections that do not end at zero, with voxels on their first and last samples and half-way between samples.
#[test]
fn jumps_do_not_part_the_kernels_from_the_definition() {
    let mut backends = backends();
    for centre in [10.0, 9.5] {
        for &interpolation in Interpolation::VARIANTS {
            compare(&mut backends, &lined_up([45, 23, 9]), &high_at_the_ends(interpolation, directions(40), 21, centre));
        }
    }
}

/// A scan whose filtered spectra are as high at their ends as anywhere, over all that it has seen: some of its projections, from all
/// sides.
#[test]
fn a_real_scan_gives_the_image_of_the_host() {
    let Some(sweep) = fusillo() else { return };
    let filter = ProjectionFilter::new(&sweep, &FilterSettings::for_data(&sweep.kind)).unwrap();
    let voxel_mm = sweep.num_points as f64 * sweep.step_mm / 40.0;
    let all = filter.apply(&sweep.projections).unwrap();
    let some = FilteredProjections {
        directions: all.directions.iter().step_by(5).copied().collect(),
        values: all.values.chunks(all.sampling.num_points).step_by(5).flatten().copied().collect(),
        ..all
    };
    compare(&mut backends(), &grid_about_zero([40; 3], [voxel_mm; 3]).unwrap(), &some);
}

/// Tiles of every depth, the last ones partly empty along each axis.
#[test]
fn images_of_many_tiles_are_those_of_the_host() {
    let sampling = PlaneSampling { num_points: 120, step_mm: 0.6, centre: 61.0 };
    let mut backends = backends();
    for size in [[165, 101, 103], [131, 70, 50], [65, 33, 7]] {
        let grid = grid_about_zero(size, [0.31, 0.4, 0.5]).unwrap();
        compare(&mut backends, &grid, &projections(5, sampling, Interpolation::Linear));
    }
}

/// Blocks of projections that come one after the other, and more of them than a dispatch has.
#[test]
fn blocks_of_projections_add_up() {
    let (grid, sampling) = cases().remove(0);
    let all = projections(300, sampling, Interpolation::Linear);
    for (_, mut backend) in backends() {
        let whole = image_on(&mut backend, &grid, &all);
        let mut grown: WebGpuArray<_> = backend.upload(Arc::new(vec![0.0; grid.num_voxels()])).unwrap();
        let mut planes = Planes::new(grid.clone());
        for first in (0..all.len()).step_by(37) {
            let last = (first + 37).min(all.len());
            let part = FilteredProjections {
                directions: all.directions[first..last].to_vec(),
                values: all.values[first * sampling.num_points..last * sampling.num_points].to_vec(),
                ..all.clone()
            };
            planes.add(&mut backend, &part, &mut grown, &Task::new()).unwrap();
        }
        assert!(largest_difference(&read(&mut backend, &grown), &whole) <= 1e-6);
    }
}

#[test]
fn voxels_of_too_many_samples_and_stopped_tasks_are_refused() {
    let sampling = PlaneSampling { num_points: 64, step_mm: 1e-4, centre: 32.0 };
    let grid = grid_about_zero([8; 3], [1.0; 3]).unwrap();
    for (_, mut backend) in backends() {
        let mut image = backend.zeros(grid.num_voxels()).unwrap();
        let (mut planes, task) = (Planes::new(grid.clone()), Task::new());
        let outcome = planes.add(&mut backend, &projections(3, sampling, Interpolation::Linear), &mut image, &task);
        assert!(matches!(outcome, Err(OperatorError::Settings(OperatorLimit::LargeVoxels { .. }))), "{outcome:?}");
        let sampling = PlaneSampling { step_mm: 0.5, ..sampling };
        task.stop();
        let outcome = planes.add(&mut backend, &projections(3, sampling, Interpolation::Linear), &mut image, &task);
        assert!(matches!(outcome, Err(OperatorError::Stopped(_))), "{outcome:?}");
        let mut short = backend.zeros(5).unwrap();
        assert!(planes.add(&mut backend, &projections(3, sampling, Interpolation::Linear), &mut short, &Task::new()).is_err());
    }
}
