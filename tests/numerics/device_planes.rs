//! Backprojection of planes on every GPU against the definition in double precision and the host's fast one.

use std::sync::Arc;

use strum::VariantArray as _;
#[cfg(feature = "cuda")]
use tomoscope::cuda::{CudaBackend, FastPlanes, PaperPlanes};
use tomoscope::data::Direction;
use tomoscope::geometry::Grid;
use tomoscope::operator::{
    FilteredProjections, Interpolation, OperatorError, OperatorLimit, PlaneBackprojector, PlaneSampling, SingleStage,
    backproject_plain, grid_about_zero,
};
use tomoscope::recon::{FilterSettings, ProjectionFilter};
use tomoscope::task::Task;
use tomoscope::webgpu::{Planes, WebGpuBackend};

#[cfg(feature = "cuda")]
use super::device::upload;
use super::device::{Each, Gpu, difference, on_each_gpu, read};
use super::fusillo::fusillo;
use super::plane_ends::{high_at_the_ends, lined_up};
use super::support::{noise, planes_by};

on_each_gpu! {
    the_kernels_are_the_definition,
    jumps_do_not_part_the_kernels_from_the_definition,
    a_real_scan_gives_the_image_of_the_host,
    images_of_many_tiles_are_those_of_the_host,
    blocks_of_projections_add_up;
    webgpu: voxels_of_too_many_samples_and_stopped_tasks_are_refused
}

/// A GPU that backprojects planes.
trait PlaneGpu: Gpu {
    type Planes: PlaneBackprojector<Self>;

    fn planes(&mut self, grid: &Grid) -> Self::Planes;

    /// Compares the other programs of the device with the definition.
    fn compare_others(&mut self, _: &Grid, _: &FilteredProjections, _exact: &[f64]) {}
}

impl PlaneGpu for WebGpuBackend {
    type Planes = Planes;

    fn planes(&mut self, grid: &Grid) -> Planes {
        Planes::new(grid.clone())
    }
}

#[cfg(feature = "cuda")]
impl PlaneGpu for CudaBackend {
    type Planes = FastPlanes;

    fn planes(&mut self, grid: &Grid) -> FastPlanes {
        FastPlanes::new(self, grid.clone()).unwrap()
    }

    fn compare_others(&mut self, grid: &Grid, all: &FilteredProjections, exact: &[f64]) {
        if all.interpolation != Interpolation::Linear {
            return;
        }
        let mut paper = PaperPlanes::new(self, grid.clone()).unwrap();
        let mut image = upload(self, &vec![7.0; grid.num_voxels()]);
        paper.add(self, all, &mut image, &Task::new()).unwrap();
        let (found, largest) = (paper.sum(self).unwrap(), exact.iter().fold(0.0f64, |most, v| most.max(v.abs())));
        let worst = found.iter().zip(exact).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max) / largest;
        println!("the paper's kernel, {:?}: {worst:.1e}", grid.size);
        assert!(largest > 0.0 && worst <= 1e-12);
        assert!(read(self, &image).iter().zip(&found).all(|(&a, &b)| a == b as f32));
    }
}

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

/// Grids: inside the projections, larger than they reach, flat voxels, voxels of many samples, a single plane, a single sample.
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

fn image_on<B: PlaneGpu>(device: &mut B, grid: &Grid, all: &FilteredProjections) -> Vec<f32> {
    let mut image = device.zeros(grid.num_voxels()).unwrap();
    device.planes(grid).add(device, all, &mut image, &Task::new()).unwrap();
    read(device, &image)
}

/// Compares all devices with the definition and the fast program of the host.
fn compare<B: PlaneGpu>(devices: &mut [(&str, B)], grid: &Grid, all: &FilteredProjections) {
    if devices.is_empty() {
        return;
    }
    let mut exact = vec![0.0; grid.num_voxels()];
    backproject_plain(grid, all, &mut exact, &Task::new()).unwrap();
    let narrow: Vec<f32> = exact.iter().map(|&value| value as f32).collect();
    let fast = planes_by(&mut SingleStage::new(grid.clone()), all);
    for (name, device) in devices {
        let found = image_on(device, grid, all);
        let [to_double, to_host] = [&narrow, &fast].map(|expected| difference::<B>(&found, expected));
        println!("{}, {:?}, {name}: {to_double:.1e} from double, {to_host:.1e} from the host", all.interpolation, grid.size);
        assert!(to_double <= Each { webgpu: 1e-5, cuda: 1e-4 }.of::<B>() && to_host <= 1e-5);
        assert!(image_on(device, grid, all) == found, "the same bits on every run");
        device.compare_others(grid, all, &exact);
    }
}

fn the_kernels_are_the_definition<B: PlaneGpu>() {
    let mut devices = B::all();
    for (grid, sampling) in cases() {
        for &interpolation in Interpolation::VARIANTS {
            compare(&mut devices, &grid, &projections(70, sampling, interpolation));
        }
    }
}

/// Projections that do not end at zero, with voxels on their first and last samples and half-way between samples.
fn jumps_do_not_part_the_kernels_from_the_definition<B: PlaneGpu>() {
    let mut devices = B::all();
    for centre in [10.0, 9.5] {
        for &interpolation in Interpolation::VARIANTS {
            compare(&mut devices, &lined_up([45, 23, 9]), &high_at_the_ends(interpolation, directions(40), 21, centre));
        }
    }
}

/// A scan whose filtered spectra are as high at their ends as anywhere, over all that it has seen: all of its projections, or some
/// from all sides.
fn a_real_scan_gives_the_image_of_the_host<B: PlaneGpu>() {
    let mut devices = B::all();
    let Some(sweep) = (!devices.is_empty()).then(fusillo).flatten() else { return };
    let filter = ProjectionFilter::new(&sweep, &FilterSettings::for_data(&sweep.kind)).unwrap();
    let voxel_mm = sweep.num_points as f64 * sweep.step_mm / 40.0;
    let (all, step) = (filter.apply(&sweep.projections).unwrap(), Each { webgpu: 5, cuda: 1 }.of::<B>());
    let some = FilteredProjections {
        directions: all.directions.iter().step_by(step).copied().collect(),
        values: all.values.chunks(all.sampling.num_points).step_by(step).flatten().copied().collect(),
        ..all
    };
    compare(&mut devices, &grid_about_zero([40; 3], [voxel_mm; 3]).unwrap(), &some);
}

/// Tiles of every depth, more than any device has multiprocessors and fewer, the last ones partly empty along each axis.
fn images_of_many_tiles_are_those_of_the_host<B: PlaneGpu>() {
    let sampling = PlaneSampling { num_points: 120, step_mm: 0.6, centre: 61.0 };
    let mut devices = B::all();
    for size in [[165, 101, 103], [131, 70, 50], [65, 33, 7]] {
        let grid = grid_about_zero(size, [0.31, 0.4, 0.5]).unwrap();
        compare(&mut devices, &grid, &projections(5, sampling, Interpolation::Linear));
    }
}

/// Blocks of projections that come one after the other; on wgpu more of them than a dispatch has. On CUDA, whose launches are of
/// as many projections as it has time for, the bits are the same.
fn blocks_of_projections_add_up<B: PlaneGpu>() {
    let (grid, sampling) = cases().remove(0);
    let (num, block) = Each { webgpu: (300, 37), cuda: (70, 9) }.of::<B>();
    let all = projections(num, sampling, Interpolation::Linear);
    for (_, mut device) in B::all() {
        let whole = image_on(&mut device, &grid, &all);
        let mut grown = device.upload(Arc::new(vec![0.0; grid.num_voxels()])).unwrap();
        let mut planes = device.planes(&grid);
        for first in (0..all.len()).step_by(block) {
            let last = (first + block).min(all.len());
            let part = FilteredProjections {
                directions: all.directions[first..last].to_vec(),
                values: all.values[first * sampling.num_points..last * sampling.num_points].to_vec(),
                ..all.clone()
            };
            planes.add(&mut device, &part, &mut grown, &Task::new()).unwrap();
        }
        assert!(difference::<B>(&read(&mut device, &grown), &whole) <= Each { webgpu: 1e-6, cuda: 0.0 }.of::<B>());
    }
}

fn voxels_of_too_many_samples_and_stopped_tasks_are_refused<B: PlaneGpu>() {
    let sampling = PlaneSampling { num_points: 64, step_mm: 1e-4, centre: 32.0 };
    let grid = grid_about_zero([8; 3], [1.0; 3]).unwrap();
    for (_, mut device) in B::all() {
        let mut image = device.zeros(grid.num_voxels()).unwrap();
        let (mut planes, task) = (device.planes(&grid), Task::new());
        let outcome = planes.add(&mut device, &projections(3, sampling, Interpolation::Linear), &mut image, &task);
        assert!(matches!(outcome, Err(OperatorError::Settings(OperatorLimit::LargeVoxels { .. }))), "{outcome:?}");
        let sampling = PlaneSampling { step_mm: 0.5, ..sampling };
        task.stop();
        let outcome = planes.add(&mut device, &projections(3, sampling, Interpolation::Linear), &mut image, &task);
        assert!(matches!(outcome, Err(OperatorError::Stopped(_))), "{outcome:?}");
        let mut short = device.zeros(5).unwrap();
        assert!(planes.add(&mut device, &projections(3, sampling, Interpolation::Linear), &mut short, &Task::new()).is_err());
    }
}
