//! Penalties on every device against their definition in f64.

use std::sync::Arc;

use tomoscope::algebra::{BackendError, Columns, FieldOfView, Host, Image, VoxelPlaces, Voxels};
use tomoscope::data::Volume;
use tomoscope::geometry::Grid;
use tomoscope::recon::{AscentKernels, Penalty, PenaltyKernels, Potential};

use super::device::{Each, Gpu, on_each_gpu};
use super::support::{noise, random_volume};

on_each_gpu! {
    they_are_the_definition,
    steps_are_the_formulas
}

/// Orders of voxels of a grid with one field of view.
fn orders(grid: &Grid, radius_mm: f64) -> Vec<Voxels> {
    let fov = FieldOfView::new(grid, radius_mm);
    let lanes = grid.size[2].div_ceil(2) + 3;
    vec![
        Voxels::new(grid.clone(), fov.clone()),
        Voxels::in_quads(grid.clone(), fov.clone()),
        Voxels::in_columns(grid.clone(), fov.clone(), Columns { classes: 1, lanes: grid.size[2], first: 0, tail: 0 }),
        Voxels::in_columns(grid.clone(), fov, Columns { classes: 2, lanes, first: 1, tail: 5 }),
    ]
}

/// The penalties: all potentials, with κ and without.
fn penalties(grid: &Grid) -> Vec<Penalty> {
    // κ is not 0 outside the field of view.
    let mut kappa = noise(3, grid.num_voxels());
    kappa.iter_mut().step_by(7).for_each(|kappa| *kappa = 0.0);
    let kappa = Volume::from_vec(grid.clone(), kappa, Default::default()).map(Arc::new);
    let potentials = [
        Potential::RelativeDifference { gamma: 2.0, epsilon: 1e-3 },
        Potential::RelativeDifference { gamma: 0.5, epsilon: 0.0 },
        Potential::Quadratic,
        Potential::LogCosh { delta: 0.1 },
        Potential::LogCosh { delta: 3.0 },
    ];
    let with_kappa = |potential| [None, kappa.clone()].map(|kappa| Penalty { potential, strength: 0.7, kappa });
    potentials.into_iter().flat_map(with_kappa).collect()
}

/// Gradient less a base, value and curvature on a device, as `[z, y, x]`.
fn on_device<B: PenaltyKernels>(device: &mut B, voxels: &Voxels, penalty: &Penalty, x: &[f32]) -> (Vec<f32>, f64, Vec<f32>) {
    let places: VoxelPlaces = voxels.places();
    let neighbours = device.neighbours(penalty, places, voxels.grid().voxel_mm).unwrap();
    let upload = |device: &mut B, values: &[f32]| device.upload::<Image>(Arc::new(values.to_vec())).unwrap();
    let read = |device: &mut B, array: &B::Array<Image>| {
        let mut volume = Volume::filled(voxels.grid().clone(), 0.0);
        device.read(array, |values| voxels.write(values, 1.0, &mut volume)).unwrap();
        volume.as_slice().to_vec()
    };
    let x = upload(device, x);
    let base = voxels.coefficients(&Volume::filled(voxels.grid().clone(), 0.125));
    let mut gradient = upload(device, &base);
    device.subtract_penalty_gradient(penalty, &neighbours, &x, &mut gradient).unwrap();
    let mut curvature = device.zeros(voxels.len()).unwrap();
    device.add_penalty_curvature(penalty, &neighbours, &x, &mut curvature).unwrap();
    let value = device.penalty_value(penalty, &neighbours, &x).unwrap();
    assert_eq!(device.penalty_value(penalty, &neighbours, &x).unwrap().to_bits(), value.to_bits(), "the same bits on every run");
    let mut short = device.zeros(voxels.len() - 1).unwrap();
    let refused = device.subtract_penalty_gradient(penalty, &neighbours, &x, &mut short);
    assert!(refused.is_err(), "{refused:?}");
    (read(device, &gradient), value, read(device, &curvature))
}

/// Compares a device with the definition: errors as parts of the largest element.
fn compare<B: PenaltyKernels>(name: &str, device: &mut B, grid: &Grid, radius_mm: f64) {
    for (voxels, penalty) in
        orders(grid, radius_mm).iter().flat_map(|voxels| penalties(grid).into_iter().map(move |p| (voxels, p)))
    {
        let fov = voxels.fov();
        let mut volume = random_volume(grid);
        // Zeros beside each other.
        volume.as_mut_slice().iter_mut().filter(|value| **value < 0.3).for_each(|value| *value = 0.0);
        let x = voxels.coefficients(&volume);
        voxels.write(&x, 1.0, &mut volume);
        let expected = penalty.terms(grid, volume.as_slice());
        let (gradient, value, curvature) = on_device(device, voxels, &penalty, &x);
        let [nx, ny, _] = grid.size;
        let largest = |values: &[f64]| values.iter().fold(1e-30f64, |most, value| most.max(value.abs()));
        let [of_gradient, of_curvature] = [largest(&expected.gradient), largest(&expected.above)];
        let [mut worst_gradient, mut worst_curvature] = [0.0f64; 2];
        for voxel in 0..grid.num_voxels() {
            if !fov.contains(voxel % nx, voxel / nx % ny) {
                assert_eq!((gradient[voxel], curvature[voxel]), (0.0, 0.0), "outside the field of view");
                continue;
            }
            let found = 0.125 - f64::from(gradient[voxel]);
            worst_gradient = worst_gradient.max((found - expected.gradient[voxel]).abs() / of_gradient);
            worst_curvature = worst_curvature.max((f64::from(curvature[voxel]) - expected.above[voxel]).abs() / of_curvature);
        }
        let of_value = (value - expected.value).abs() / expected.value.max(1e-30);
        let text = format!("{name} {:?} {:?} {}", grid.size, penalty.potential, penalty.kappa.is_some());
        println!("{text}: gradient {worst_gradient:.1e}, curvature {worst_curvature:.1e}, value {of_value:.1e}");
        assert!(worst_gradient <= 1e-6 && worst_curvature <= 1e-6 && of_value <= 1e-6, "{text}");
    }
}

fn compare_on(name: &str, device: &mut impl PenaltyKernels) {
    let grid = |size| Grid::centred(size, [2.0, 2.5, 3.0]).unwrap();
    compare(name, device, &grid([19, 16, 11]), 14.0);
    compare(name, device, &grid([9, 12, 1]), f64::INFINITY);
    compare(name, device, &grid([1, 3, 10]), f64::INFINITY);
}

#[test]
fn on_the_host_they_are_the_definition() {
    compare_on("host", &mut Host);
    let grid = Grid::centred([64, 50, 20], [2.0, 2.0, 3.0]).unwrap();
    compare("host", &mut Host, &grid, 55.0);
    // More planes than slabs, in each order an odd number.
    let grid = Grid::centred([5, 135, 9], [2.0, 2.0, 3.0]).unwrap();
    compare("host", &mut Host, &grid, 130.0);
    let grid = Grid::centred([7, 5, 133], [2.0, 2.0, 3.0]).unwrap();
    compare("host", &mut Host, &grid, 6.0);
}

fn they_are_the_definition<B: Gpu>() {
    // On wgpu several buffers of the least device.
    let small = (Grid::centred([26, 25, 27], [2.0, 2.0, 3.0]).unwrap(), 24.0);
    let large = (Grid::centred([64, 64, 47], [4.0, 4.0, 3.27]).unwrap(), 120.0);
    let (grid, radius_mm) = Each { webgpu: small, cuda: large }.of::<B>();
    for (name, mut device) in B::all() {
        compare_on(name, &mut device);
        compare(name, &mut device, &grid, radius_mm);
    }
}

/// Compares steps of algorithms that climb on a device with their formulas in f64.
fn compare_steps<B: AscentKernels>(name: &str, device: &mut B, len: usize) {
    let values: Vec<Vec<f32>> = (1..=5).map(|seed| noise(seed, len)).collect();
    let exact = |array: usize, at: usize| f64::from(values[array][at]);
    let [mut x, floor, p, mut direction, part] =
        [0, 1, 2, 3, 4].map(|array| device.upload::<Image>(Arc::new(values[array].clone())).unwrap());
    for c in [None, Some(&floor)] {
        device.scaled_difference(&mut direction, 28.0, [&x, &part], c).unwrap();
        let found = device.read(&direction, |found| found.to_vec()).unwrap();
        for (at, found) in found.into_iter().enumerate() {
            let expected = 28.0 * (exact(0, at) - exact(4, at)) + c.map_or(0.0, |_| exact(1, at));
            assert!((f64::from(found) - expected).abs() < 1e-5, "{name} {at}: {found} {expected}");
        }
    }
    // (It is the difference with c.)
    let sums = device.climb(&mut x, &floor, 0.25, &p, &mut direction).unwrap();
    let found = device.read(&x, |found| found.to_vec()).unwrap();
    let mut expected_sums = [0.0; 2];
    for (at, found) in found.into_iter().enumerate() {
        let step = exact(2, at) * (28.0 * (exact(0, at) - exact(4, at)) + exact(1, at));
        expected_sums = [expected_sums[0] + step * step, expected_sums[1] + exact(0, at).powi(2)];
        let expected = (exact(0, at) + 0.25 * step).max(exact(1, at));
        assert!((f64::from(found) - expected).abs() < 1e-5, "{name} {at}: {found} {expected}");
    }
    for (found, expected) in sums.into_iter().zip(expected_sums) {
        assert!((found - expected).abs() < 1e-5 * expected, "{name}: {found} {expected}");
    }
    let short = device.zeros(len - 1).unwrap();
    let mut direction = device.zeros(len).unwrap();
    assert!(device.climb(&mut x, &short, 0.25, &p, &mut direction).is_err());
    assert!(device.scaled_difference(&mut direction, 1.0, [&x, &short], None).is_err());
}

#[test]
fn steps_on_the_host_are_the_formulas() {
    compare_steps("host", &mut Host, 100_000);
}

fn steps_are_the_formulas<B: Gpu>() {
    for (name, mut device) in B::all() {
        compare_steps(name, &mut device, Each { webgpu: 20_000, cuda: 400_000 }.of::<B>());
    }
}

#[test]
fn the_host_has_the_same_bits_for_any_number_of_threads() {
    let grid = Grid::centred([33, 31, 15], [2.0, 2.0, 3.0]).unwrap();
    for (voxels, penalty) in orders(&grid, 30.0).iter().flat_map(|voxels| penalties(&grid).into_iter().map(move |p| (voxels, p)))
    {
        let x = voxels.coefficients(&random_volume(&grid));
        let of_threads = |num_threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(num_threads).build().unwrap();
            pool.install(|| on_device(&mut Host, voxels, &penalty, &x))
        };
        let [one, four] = [1, 4].map(of_threads);
        assert_eq!((one.0, one.1.to_bits(), one.2), (four.0, four.1.to_bits(), four.2));
    }
}

#[test]
fn kappa_of_another_grid_is_refused() {
    let [grid, other] = [[5, 4, 3], [5, 4, 2]].map(|size| Grid::centred(size, [2.0; 3]).unwrap());
    let kappa = Some(Arc::new(Volume::filled(other, 1.0)));
    let penalty = Penalty { potential: Potential::Quadratic, strength: 1.0, kappa };
    let refused = Host.neighbours(&penalty, Voxels::whole(grid).places(), [2.0; 3]).err();
    assert_eq!(refused, Some(BackendError::Length { expected: 60, found: 40 }));
}
