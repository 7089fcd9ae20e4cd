//! Backprojection of planes on a CUDA device against the definition in double precision and the host's fast one.

use std::sync::Arc;

use strum::VariantArray as _;
use tomoscope::algebra::Backend;
use tomoscope::cuda::{CudaBackend, FastPlanes, PaperPlanes};
use tomoscope::data::Direction;
use tomoscope::geometry::Grid;
use tomoscope::operator::{
    FilteredProjections, Interpolation, PlaneBackprojector, PlaneSampling, SingleStage, backproject_plain, grid_about_zero,
};
use tomoscope::recon::{FilterSettings, ProjectionFilter};
use tomoscope::task::Task;

use super::device::device;
use super::fusillo::fusillo;
use super::plane_ends::{high_at_the_ends, lined_up};
use super::support::{noise, planes_by, relative};

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

/// Grids: inside the projections, larger than they reach, flat voxels, voxels of many samples, a single plane.
fn cases() -> Vec<(Grid, PlaneSampling)> {
    let sampling = |num_points, step_mm, centre| PlaneSampling { num_points, step_mm, centre };
    vec![
        (grid_about_zero([33, 20, 17], [1.0; 3]).unwrap(), sampling(64, 0.9, 32.0)),
        (grid_about_zero([40, 40, 24], [1.5; 3]).unwrap(), sampling(41, 1.0, 20.3)),
        (grid_about_zero([16, 31, 9], [1.0, 0.5, 2.0]).unwrap(), sampling(51, 0.25, 25.0)),
        (grid_about_zero([40, 40, 20], [2.366; 3]).unwrap(), sampling(500, 0.189, 250.0)),
        (Grid::new([65, 7, 1], [0.7; 3], [-20.1, -2.0, 3.3]).unwrap(), sampling(80, 0.7, 40.0)),
    ]
}

/// Compares both programs on the device with the definition, and the fast one with the host's.
fn compare(backend: &mut CudaBackend, grid: &Grid, all: &FilteredProjections) {
    let mut exact = vec![0.0; grid.num_voxels()];
    backproject_plain(grid, all, &mut exact, &Task::new()).unwrap();
    let narrow: Vec<f32> = exact.iter().map(|&v| v as f32).collect();
    let mut image = backend.zeros(grid.num_voxels()).unwrap();
    FastPlanes::new(backend, grid.clone()).unwrap().add(backend, all, &mut image, &Task::new()).unwrap();
    let fast = backend.read(&image, <[f32]>::to_vec).unwrap();
    let (to_double, to_host) = (relative(&fast, &narrow), relative(&fast, &planes_by(&mut SingleStage::new(grid.clone()), all)));
    println!("{}, {:?}: against double {to_double:.1e}, against the host {to_host:.1e}", all.interpolation, grid.size);
    assert!(to_double <= 1e-4 && to_host <= 1e-5);
    if all.interpolation == Interpolation::Linear {
        let mut paper = PaperPlanes::new(backend, grid.clone()).unwrap();
        paper.add(backend, all, &mut image, &Task::new()).unwrap();
        let (found, largest) = (paper.sum(backend).unwrap(), exact.iter().fold(0.0f64, |most, v| most.max(v.abs())));
        let worst = found.iter().zip(&exact).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max) / largest;
        println!("the paper's kernel, {:?}: {worst:.1e}", grid.size);
        assert!(largest > 0.0 && worst <= 1e-12);
        let image = backend.read(&image, <[f32]>::to_vec).unwrap();
        assert!(image.iter().zip(&found).all(|(&a, &b)| a == b as f32));
    }
}

#[test]
fn the_kernels_are_the_definition() {
    let Some(mut backend) = device() else { return };
    for (grid, sampling) in cases() {
        for &interpolation in Interpolation::VARIANTS {
            compare(&mut backend, &grid, &projections(70, sampling, interpolation));
        }
    }
}

/// Projections that do not end at zero, with voxels on their first and last samples and half-way between samples.
#[test]
fn jumps_do_not_part_the_kernels_from_the_definition() {
    let Some(mut backend) = device() else { return };
    for centre in [10.0, 9.5] {
        for &interpolation in Interpolation::VARIANTS {
            compare(&mut backend, &lined_up([45, 23, 9]), &high_at_the_ends(interpolation, directions(40), 21, centre));
        }
    }
}

/// A scan whose filtered spectra are as high at their ends as anywhere, over all that it has seen.
#[test]
fn a_real_scan_gives_the_image_of_the_host() {
    let Some(mut backend) = device() else { return };
    let Some(sweep) = fusillo() else { return };
    let filter = ProjectionFilter::new(&sweep, &FilterSettings::for_data(&sweep.kind)).unwrap();
    let voxel_mm = sweep.num_points as f64 * sweep.step_mm / 40.0;
    let grid = grid_about_zero([40; 3], [voxel_mm; 3]).unwrap();
    compare(&mut backend, &grid, &filter.apply(&sweep.projections).unwrap());
}

#[test]
fn images_of_many_tiles_are_those_of_the_host() {
    let Some(mut backend) = device() else { return };
    // More deep tiles than any device has multiprocessors, the last ones partly empty along each axis.
    let grid = grid_about_zero([165, 101, 103], [0.31, 0.4, 0.5]).unwrap();
    let sampling = PlaneSampling { num_points: 120, step_mm: 0.6, centre: 61.0 };
    let projections = projections(5, sampling, Interpolation::Linear);
    let mut on_device = backend.zeros(grid.num_voxels()).unwrap();
    FastPlanes::new(&backend, grid.clone()).unwrap().add(&mut backend, &projections, &mut on_device, &Task::new()).unwrap();
    let found = backend.read(&on_device, <[f32]>::to_vec).unwrap();
    let difference = relative(&found, &planes_by(&mut SingleStage::new(grid), &projections));
    println!("many tiles: {difference:.1e}");
    assert!(difference <= 1e-5);
}

#[test]
fn blocks_of_projections_add_up() {
    let Some(mut backend) = device() else { return };
    let (grid, sampling) = cases().remove(0);
    let all = projections(70, sampling, Interpolation::Linear);
    let mut fast = FastPlanes::new(&backend, grid.clone()).unwrap();
    let mut whole = backend.zeros(grid.num_voxels()).unwrap();
    fast.add(&mut backend, &all, &mut whole, &Task::new()).unwrap();
    let mut grown = backend.upload(Arc::new(vec![0.0; grid.num_voxels()])).unwrap();
    for first in (0..all.len()).step_by(9) {
        let last = (first + 9).min(all.len());
        let part = FilteredProjections {
            directions: all.directions[first..last].to_vec(),
            values: all.values[first * sampling.num_points..last * sampling.num_points].to_vec(),
            ..all.clone()
        };
        fast.add(&mut backend, &part, &mut grown, &Task::new()).unwrap();
    }
    let [whole, grown] = [&whole, &grown].map(|image| backend.read(image, <[f32]>::to_vec).unwrap());
    assert!(relative(&grown, &whole) <= 1e-6);
}
