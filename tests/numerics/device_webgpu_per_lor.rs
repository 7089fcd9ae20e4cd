//! The projector with one thread per bin, in every way of adding and on smaller devices.

use std::sync::Arc;

use tomoscope::algebra::{Backend, Data, Image};
use tomoscope::data::{TofBins, Volume};
use tomoscope::geometry::Grid;
use tomoscope::operator::{Accumulation, LinearOperator, OperatorError, Siddon, Subset, TofKernel, ViewProjector};
use tomoscope::scanner::ScanGeometry;
use tomoscope::task::Task;
use tomoscope::webgpu::{DeviceOptions, PerLor, WebGpuArray, WebGpuBackend};

use super::device_webgpu::{backends, read, upload};
use super::support::{backward, dot, forward, geometry, largest_difference, noise, random_volume, tiny, tiny_span_3};

/// One scan and grid.
struct Case {
    name: &'static str,
    geometry: Arc<ScanGeometry>,
    grid: Grid,
    fov_radius_mm: f64,
    rays: [usize; 2],
    subset: Subset,
    tof: Option<(TofBins, TofKernel)>,
}

impl Case {
    fn new(name: &'static str, grid: Grid, fov_radius_mm: f64, rays: [usize; 2], subset: Subset) -> Self {
        let geometry = match name {
            "one ring" => tiny(1),
            "span 3" => tiny_span_3(),
            _ => geometry(name),
        };
        Self { name, geometry, grid, fov_radius_mm, rays, subset, tof: None }
    }

    /// The same with bins of the time of flight, whose kernel ends at `reach` sigma.
    fn with_tof(self, num: usize, width_mm: f64, fwhm_mm: f64, reach: f64) -> Self {
        let kernel = TofKernel::new(fwhm_mm).with_reach(reach);
        Self { tof: Some((TofBins { num, width_mm, fwhm_mm }, kernel)), ..self }
    }
}

/// Even and odd sizes, one plane, spanned segments, several lines per bin, off the axis, beyond the detectors.
fn cases() -> Vec<Case> {
    let grid = |size, voxel_mm| Grid::centred(size, voxel_mm).unwrap();
    let part = |index, count| Subset { index, count };
    vec![
        Case::new("small", grid([47, 47, 15], [3.0, 3.0, 2.5]), 69.0, [1, 1], part(0, 24)),
        Case::new("small", grid([48, 48, 16], [3.0, 3.0, 2.5]), 72.0, [1, 1], part(0, 48)),
        Case::new("small", grid([40, 52, 5], [3.0, 3.0, 2.5]), 200.0, [1, 2], part(1, 48)),
        Case::new("small", grid([33, 20, 1], [4.0, 5.0, 2.5]), 200.0, [2, 1], part(0, 12)),
        Case::new("small", Grid::new([47, 47, 9], [3.0, 3.0, 2.5], [-60.0, -75.0, -3.1]).unwrap(), 69.0, [1, 1], part(0, 24)),
        Case::new("small", grid([41, 41, 21], [7.5, 7.5, 5.0]), 400.0, [1, 1], part(0, 48)),
        Case::new("span 3", grid([16, 16, 29], [5.0, 5.0, 1.5]), 37.5, [1, 2], part(0, 4)),
        Case::new("one ring", grid([15, 15, 1], [5.0, 5.0, 6.0]), 37.5, [1, 1], Subset::ALL),
        Case::new("discovery-ste", grid([32, 32, 24], [21.875, 21.875, 6.54]), 350.0, [1, 1], part(0, 280)),
    ]
}

/// Few bins that end within the image, narrow ones, a single one, many that no line meets; kernels that end early and late.
fn cases_with_tof() -> Vec<Case> {
    let grid = |size, voxel_mm| Grid::centred(size, voxel_mm).unwrap();
    let part = |index, count| Subset { index, count };
    let off_axis = Grid::new([17, 19, 9], [5.0, 6.0, 4.5], [-35.0, -60.0, -3.1]).unwrap();
    vec![
        Case::new("small", grid([31, 31, 15], [4.5, 4.5, 2.5]), 69.0, [1, 1], part(0, 96)).with_tof(5, 25.0, 40.0, 3.0),
        Case::new("span 3", off_axis, 200.0, [2, 2], part(1, 8)).with_tof(4, 40.0, 30.0, 5.0),
        Case::new("span 3", grid([16, 16, 29], [5.0, 5.0, 1.5]), 37.5, [1, 1], part(0, 8)).with_tof(21, 4.0, 60.0, 3.0),
        Case::new("span 3", grid([15, 14, 9], [5.0, 5.0, 4.0]), 37.5, [1, 1], part(3, 16)).with_tof(12, 30.0, 40.0, 1.5),
        Case::new("one ring", grid([15, 15, 1], [5.0, 5.0, 6.0]), 37.5, [1, 1], Subset::ALL).with_tof(1, 200.0, 5.0, 3.0),
    ]
}

/// Where each value of a subset's data, radial position, then view, then plane, then time of flight, lies in data
/// `[view][tangential_pos][tof][plane]`.
fn places(case: &Case) -> Vec<usize> {
    let np = case.geometry.num_planes() * case.tof.map_or(1, |(bins, _)| bins.num);
    let nt = case.geometry.num_tangential;
    let nv = case.subset.views(case.geometry.num_views).len();
    let place = |plane: usize, view: usize, tangential_pos: usize| (view * nt + tangential_pos) * np + plane;
    let lors = |plane| (0..nv).flat_map(move |view| (0..nt).map(move |tangential_pos| place(plane, view, tangential_pos)));
    (0..np).flat_map(lors).collect()
}

fn project(device: &mut WebGpuBackend, operator: &PerLor, subset: Subset, x: &[f32]) -> Vec<f32> {
    let x = upload(device, x);
    let len = ViewProjector::views(operator).len(subset);
    let mut data = upload(device, &vec![f32::NAN; len]);
    operator.apply(device, subset, &x, &mut data, &Task::new()).unwrap();
    read(device, &data)
}

fn spread(device: &mut WebGpuBackend, operator: &PerLor, subset: Subset, q: &[f32], accumulation: Accumulation) -> Vec<f32> {
    let q = upload(device, q);
    let mut image = upload(device, &vec![f32::NAN; ViewProjector::voxels(operator).len()]);
    operator.adjoint(device, subset, &q, accumulation, &mut image, &Task::new()).unwrap();
    read(device, &image)
}

#[test]
fn it_is_the_definition_and_adjoint_on_every_device() {
    compare(cases());
}

#[test]
fn time_of_flight_is_that_of_the_definition_on_every_device() {
    compare(cases_with_tof());
}

fn compare(cases: Vec<Case>) {
    let mut devices = backends();
    for (name, device) in &devices {
        println!("{name}: {}, integers of 64 bits by one instruction: {}", device.name(), device.info().has_long_atomics);
    }
    for case in cases.into_iter().take(if devices.is_empty() { 0 } else { usize::MAX }) {
        let Case { name, geometry, grid, fov_radius_mm, rays, subset, tof } = &case;
        let plain = Siddon::new(Arc::clone(geometry), grid.clone(), *fov_radius_mm, *rays);
        let plain = match *tof {
            Some((bins, kernel)) => plain.with_tof(bins, kernel),
            None => plain,
        };
        let volume = random_volume(grid);
        let expected = forward(&plain, *subset, &volume);
        let q = noise(11, expected.len());
        let expected_image = backward(&plain, *subset, q.clone(), Accumulation::Deterministic, grid);
        let places = places(&case);
        let arranged: Vec<f32> = places.iter().map(|&place| q[place]).collect();
        // The deterministic images and the projections of all devices.
        let mut found: Vec<[Vec<f32>; 2]> = Vec::new();
        for (on, device) in &mut devices {
            let (scan, image_grid) = (Arc::clone(geometry), grid.clone());
            let operator = match *tof {
                Some(tof) => PerLor::with_tof(device, scan, image_grid, *fov_radius_mm, *rays, tof),
                None => PerLor::new(device, scan, image_grid, *fov_radius_mm, *rays),
            };
            let operator = operator.unwrap();
            let x = ViewProjector::voxels(&operator).coefficients(&volume);
            let projected = project(device, &operator, *subset, &x);
            let mut in_order = vec![0.0; projected.len()];
            places.iter().zip(&projected).for_each(|(&place, &value)| in_order[place] = value);
            let there = largest_difference(&in_order, &expected);
            assert!(there <= 1e-5, "{name} {:?}, {on}: forward {there:.1e}", grid.size);
            for &accumulation in LinearOperator::accumulations(&operator) {
                let image = spread(device, &operator, *subset, &arranged, accumulation);
                if accumulation == Accumulation::NonAtomic {
                    // The race loses some of what it adds.
                    assert!(image.iter().all(|value| *value >= 0.0) && image.iter().any(|value| *value > 0.0));
                    continue;
                }
                let mut back = Volume::filled(grid.clone(), 0.0);
                ViewProjector::voxels(&operator).write(&image, 1.0, &mut back);
                let error = largest_difference(back.as_slice(), expected_image.as_slice());
                let (left, right) = (dot(&projected, &arranged), dot(&x, &image));
                let mismatch = (left - right).abs() / left;
                println!(
                    "{name} {:?} rays {rays:?}, {on}, {accumulation}: forward {there:.1e}, back {error:.1e}, adjoint {mismatch:.1e}",
                    grid.size
                );
                assert!(left > 0.0 && error <= 1e-5 && mismatch <= 1e-5);
                if accumulation == Accumulation::Deterministic {
                    assert_eq!(spread(device, &operator, *subset, &arranged, accumulation), image);
                    found.push([image, projected.clone()]);
                }
            }
        }
        // (Kernels with one instruction for the sum or with two words are compiled apart: weights can differ in the last digit.)
        for [image, projected] in &found[1..] {
            assert!(largest_difference(image, &found[0][0]) <= 1e-6);
            assert!(largest_difference(projected, &found[0][1]) <= 1e-6);
        }
    }
}

/// A small scan on a device.
fn small(device: &mut WebGpuBackend) -> PerLor {
    let grid = Grid::centred([47, 47, 15], [3.0, 3.0, 2.5]).unwrap();
    PerLor::new(device, geometry("small"), grid, 69.0, [1, 1]).unwrap()
}

const PART: Subset = Subset { index: 0, count: 24 };

/// Scaling by a power of two scales the image: integers near the bound, far below 1, of both signs.
#[test]
fn fixed_point_holds_values_of_any_magnitude() {
    let mut of_all: Option<Vec<f32>> = None;
    for (name, mut device) in backends() {
        let operator = small(&mut device);
        let len = ViewProjector::views(&operator).len(PART);
        let q: Vec<f32> = noise(3, len).iter().map(|v| v - 0.5).collect();
        let expected = spread(&mut device, &operator, PART, &q, Accumulation::Deterministic);
        assert!(expected.iter().any(|v| *v < 0.0) && expected.iter().any(|v| *v > 0.0));
        assert!(*of_all.get_or_insert_with(|| expected.clone()) == expected, "{name}: the same bits on every device");
        for exponent in [-90, -40, 1, 90] {
            let scale = 2f32.powi(exponent);
            let scaled: Vec<f32> = q.iter().map(|v| v * scale).collect();
            let found = spread(&mut device, &operator, PART, &scaled, Accumulation::Deterministic);
            let expected: Vec<f32> = expected.iter().map(|v| v * scale).collect();
            let error = largest_difference(&found, &expected);
            println!("{name}, 2^{exponent}: {error:.1e}");
            assert!(error <= 1e-7);
        }
        // All of one sign: the most exposed voxel comes as near to the bound as the margin lets it.
        let ones = spread(&mut device, &operator, PART, &vec![1.0; len], Accumulation::Deterministic);
        for value in [f32::MAX / 1e4, -f32::MAX / 1e4, 1e-30] {
            let found = spread(&mut device, &operator, PART, &vec![value; len], Accumulation::Deterministic);
            let expected: Vec<f32> = ones.iter().map(|one| one * value).collect();
            assert!(largest_difference(&found, &expected) <= 2e-7, "{name}, {value}");
        }
        let none = spread(&mut device, &operator, PART, &vec![0.0; len], Accumulation::Deterministic);
        assert!(none.iter().all(|v| *v == 0.0));
    }
}

#[test]
fn values_that_are_no_numbers_are_refused() {
    for (name, mut device) in backends() {
        let operator = small(&mut device);
        let len = ViewProjector::views(&operator).len(PART);
        let mut image: WebGpuArray<Image> = device.zeros(ViewProjector::voxels(&operator).len()).unwrap();
        for value in [f32::NAN, -f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
            let mut q = vec![1.0; len];
            q[len - 3] = value;
            let q: WebGpuArray<Data> = upload(&mut device, &q);
            let outcome = operator.adjoint(&mut device, PART, &q, Accumulation::Deterministic, &mut image, &Task::new());
            let message = outcome.unwrap_err().to_string();
            assert!(message.contains("no numbers"), "{name}, {value}: {message}");
        }
        let q: WebGpuArray<Data> = upload(&mut device, &vec![-7.0; len]);
        operator.adjoint(&mut device, PART, &q, Accumulation::Deterministic, &mut image, &Task::new()).unwrap();
        assert!(read(&mut device, &image).iter().all(|v| *v <= 0.0));
    }
}

#[test]
fn a_stopped_task_or_a_lost_device_ends_a_projection() {
    if backends().is_empty() {
        return;
    }
    // A GPU of this test alone.
    let options = DeviceOptions { segment_bytes: 48 << 10, ..DeviceOptions::least() };
    let mut device = WebGpuBackend::open_with(0, |_| options).unwrap();
    let operator = small(&mut device);
    let x = device.zeros(ViewProjector::voxels(&operator).len()).unwrap();
    let mut data = device.zeros(ViewProjector::views(&operator).len(PART)).unwrap();
    let task = Task::new();
    task.stop();
    let outcome = operator.apply(&mut device, PART, &x, &mut data, &task);
    assert!(matches!(outcome, Err(OperatorError::Stopped(_))), "{outcome:?}");
    operator.apply(&mut device, PART, &x, &mut data, &Task::new()).unwrap();
    device.destroy_device();
    let outcome = operator.apply(&mut device, PART, &x, &mut data, &Task::new());
    let message = outcome.and_then(|()| Ok(device.finish()?)).unwrap_err().to_string();
    assert!(message.contains("lost"), "{message}");
}
