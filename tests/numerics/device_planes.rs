//! Backprojection of planes on a CUDA device against the definition in double precision and the host's fast one.

use std::sync::Arc;

use tomoscope::cuda::{FastPlanes, PaperPlanes};
use tomoscope::data::Direction;
use tomoscope::geometry::Grid;
use tomoscope::operator::{
    Backend, FilteredProjections, Host, Interpolation, PlaneBackprojector, PlaneSampling, SingleStage, backproject_plain,
    grid_about_zero,
};
use tomoscope::task::Task;

use super::device::device;
use super::support::{noise, relative};

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

#[test]
fn the_fast_kernels_are_the_definition() {
    let Some(mut backend) = device() else { return };
    for (grid, sampling) in cases() {
        for interpolation in Interpolation::ALL {
            let all = projections(70, sampling, interpolation);
            let mut exact = vec![0.0; grid.num_voxels()];
            backproject_plain(&grid, &all, &mut exact, &Task::new()).unwrap();
            let exact: Vec<f32> = exact.iter().map(|&v| v as f32).collect();

            let mut fast = FastPlanes::new(&backend, grid.clone()).unwrap();
            let mut image = backend.zeros(grid.num_voxels()).unwrap();
            fast.add(&mut backend, &all, &mut image, &Task::new()).unwrap();
            let found = backend.read(&image, <[f32]>::to_vec).unwrap();
            let against_double = relative(&found, &exact);

            let mut host = SingleStage::new(grid.clone());
            let mut on_host = Host.zeros(host.image_len()).unwrap();
            host.add(&mut Host, &all, &mut on_host, &Task::new()).unwrap();
            let on_host: Vec<f32> = (0..grid.num_voxels()).map(|voxel| on_host[host.image_index(voxel)]).collect();
            let against_host = relative(&found, &on_host);
            println!(
                "{interpolation}, {:?}: against double {against_double:.1e}, against the host {against_host:.1e}",
                grid.size
            );
            // A voxel half-way between two samples may take either as its nearest.
            let (double, host) = match interpolation {
                Interpolation::Nearest => (2e-3, 2e-3),
                Interpolation::Linear | Interpolation::Cubic => (1e-4, 1e-5),
            };
            assert!(against_double <= double && against_host <= host);
        }
    }
}

#[test]
fn the_papers_kernel_is_the_definition_to_the_last_digits() {
    let Some(mut backend) = device() else { return };
    for (grid, sampling) in cases() {
        let all = projections(40, sampling, Interpolation::Linear);
        let mut exact = vec![0.0; grid.num_voxels()];
        backproject_plain(&grid, &all, &mut exact, &Task::new()).unwrap();
        let mut paper = PaperPlanes::new(&backend, grid.clone()).unwrap();
        let mut image = backend.zeros(grid.num_voxels()).unwrap();
        paper.add(&mut backend, &all, &mut image, &Task::new()).unwrap();
        let found = paper.sum(&backend).unwrap();
        let largest = exact.iter().fold(0.0f64, |most, v| most.max(v.abs()));
        let worst = found.iter().zip(&exact).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max) / largest;
        println!("the paper's kernel, {:?}: {worst:.1e}", grid.size);
        assert!(largest > 0.0 && worst <= 1e-12);
        let image = backend.read(&image, <[f32]>::to_vec).unwrap();
        assert!(image.iter().zip(&found).all(|(&a, &b)| a == b as f32));
    }
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
