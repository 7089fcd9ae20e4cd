//! What CUDA alone has: sums in fixed point of operators made anew, blocks of threads, whole reconstructions and the race.

use std::sync::Arc;

use tomoscope::algebra::{Backend, Host};
use tomoscope::cuda::{AxialRuns, BinDriven, CudaBackend, CudaError};
use tomoscope::data::{Counts, Michelogram, Volume};
use tomoscope::geometry::Grid;
use tomoscope::operator::{self, Accumulation, LinearOperator, OperatorLimit, Subset, ViewProjector};
use tomoscope::recon::{Algorithm, EmKernels, EmSettings, MlemOsem, ProjectionModel, SubsetOrder};
use tomoscope::task::Task;

use super::device::{assert_same_bits, backprojected, device};
use super::device_projectors::{Case, large_cases};
use super::support::{forward, geometry, noise, random_volume, relative};

#[test]
fn arrays_and_devices_that_do_not_fit_are_refused() {
    let error = CudaBackend::open(1000).err().expect("no machine has a thousand devices");
    assert!(error.to_string().len() > 20, "{error}");
    let Some(mut device) = device() else { return };
    let mut x = device.zeros(4).unwrap();
    let (c, s) = (device.zeros(3).unwrap(), device.zeros(4).unwrap());
    assert_eq!(device.em_update(&mut x, &c, &s), Err(CudaError::Length { expected: 4, found: 3 }.into()));
    assert!(device.multiply(&mut x, 2, &s, 0..4).is_err());
}

/// Backprojects in fixed point with operators made anew, each of which finds its own largest sensitivity. The bound of the data,
/// 1.01 · largest sensitivity · largest |q|, lies within a few digits of a power of two: were the sensitivity a sum of floats, the
/// order of its additions would change the unit.
pub fn assert_the_same_bits_from_every_operator<P: LinearOperator<CudaBackend>>(
    device: &mut CudaBackend,
    make: impl Fn(&mut CudaBackend) -> P,
    subset: Subset,
    [image_len, data_len]: [usize; 2],
) {
    let back = |device: &mut CudaBackend, q: &[f32]| {
        let operator = make(device);
        backprojected(device, &operator, subset, q, Accumulation::Deterministic, image_len)
    };
    let sensitivity = back(device, &vec![1.0; data_len]);
    let largest = sensitivity.iter().copied().fold(0.0, f32::max);
    assert!(largest > 0.0);
    let at_a_power_of_two = (8.0 / (1.01 * f64::from(largest))) as f32;
    for ulps in -2..=2 {
        let q_max = f32::from_bits((at_a_power_of_two.to_bits() as i32 + ulps) as u32);
        let q: Vec<f32> = noise(13, data_len).iter().enumerate().map(|(i, u)| if i == 0 { q_max } else { u * q_max }).collect();
        let first = back(device, &q);
        assert!(first.iter().any(|value| *value > 0.0));
        for _ in 0..4 {
            assert_same_bits(&back(device, &q), &first);
        }
    }
}

#[test]
fn deterministic_sums_have_the_same_bits_from_operators_made_anew() {
    let Some(mut device) = device() else { return };
    for case in large_cases().into_iter().take(4) {
        let Case { geometry, grid, fov_radius_mm, rays, subset, .. } = &case;
        let axial =
            |device: &mut CudaBackend| AxialRuns::new(device, Arc::clone(geometry), grid.clone(), *fov_radius_mm, *rays).unwrap();
        let lens = |operator: &dyn ViewProjector<CudaBackend>| [operator.voxels().len(), operator.views().len(*subset)];
        let of_axial = lens(&axial(&mut device));
        assert_the_same_bits_from_every_operator(&mut device, axial, *subset, of_axial);
        let by_bin = |device: &mut CudaBackend| {
            BinDriven::new(device, Arc::clone(geometry), grid.clone(), *fov_radius_mm, *rays, None).unwrap()
        };
        let of_bins = lens(&by_bin(&mut device));
        assert_the_same_bits_from_every_operator(&mut device, by_bin, *subset, of_bins);
    }
}

#[test]
fn a_block_that_does_not_fit_is_refused() {
    let Some(device) = device() else { return };
    let grid = Grid::centred([47, 47, 15], [3.0, 3.0, 2.5]).unwrap();
    let new = |threads| BinDriven::new(&device, geometry("small"), grid.clone(), 69.0, [1, 1], Some(threads));
    assert_eq!(new(96).unwrap().threads_per_block(), 96);
    assert_eq!(new(100_000).err(), Some(OperatorLimit::Threads(100_000).into()));
}

/// MLEM or OSEM over an operator: its image after some iterations, in the order of a volume.
fn reconstruct<B: EmKernels, A: ViewProjector<B>>(
    mut backend: B,
    operator: A,
    study: &Counts,
    grid: &Grid,
    num_subsets: usize,
    accumulation: Accumulation,
) -> (Volume, f64) {
    let (voxels, views) = (operator.voxels().clone(), operator.views().clone());
    let model = ProjectionModel::new(&mut backend, operator, views, study, num_subsets).unwrap();
    let settings = EmSettings {
        subset_order: SubsetOrder::Spaced,
        accumulation,
        sensitivity_accumulation: Accumulation::Deterministic,
        racy_sensitivity: false,
    };
    let mut algorithm = MlemOsem::new(backend, voxels, model, settings, None).unwrap();
    let mut lost = 0.0;
    for _ in 0..10 {
        lost = algorithm.step(&Task::new()).unwrap().em.unwrap().race.map_or(0.0, |race| race.lost);
    }
    let mut volume = Volume::filled(grid.clone(), 0.0);
    algorithm.volume_into(&mut volume).unwrap();
    (volume, lost)
}

/// A small scan of a random image, with corrections.
fn scan() -> (Counts, Grid) {
    let geometry = geometry("small");
    let grid = Grid::centred([24, 24, 15], [6.0, 6.0, 2.5]).unwrap();
    let fast = operator::AxialRuns::new(Arc::clone(&geometry), grid.clone(), 69.0, [1, 1]).unwrap();
    let expected = forward(&fast, Subset::ALL, &random_volume(&grid));
    let data = |values: Vec<f32>| Michelogram::new(Arc::clone(&geometry), values).unwrap();
    let factors: Vec<f32> = noise(31, expected.len()).iter().map(|u| 0.5 + 0.5 * u).collect();
    let background: Vec<f32> = noise(32, expected.len()).iter().map(|u| 3.0 * u).collect();
    let counts = expected.iter().zip(&factors).zip(&background).map(|((e, m), a)| (e * m + a).round()).collect();
    let study = Counts::new(data(counts)).with_corrections(Some(data(factors)), Some(data(background))).unwrap();
    (study, grid)
}

#[test]
fn ten_steps_on_the_device_give_the_image_of_the_host_and_the_same_bits_again() {
    let Some(_) = device() else { return };
    let (study, grid) = scan();
    for num_subsets in [1, 4] {
        let geometry = || Arc::clone(study.geometry());
        let host = operator::AxialRuns::new(geometry(), grid.clone(), 69.0, [1, 1]).unwrap();
        let (expected, _) = reconstruct(Host, host, &study, &grid, num_subsets, Accumulation::Deterministic);
        for accumulation in [Accumulation::Atomic, Accumulation::Deterministic] {
            let run = || {
                let device = CudaBackend::open(0).unwrap();
                let fast = AxialRuns::new(&device, geometry(), grid.clone(), 69.0, [1, 1]).unwrap();
                reconstruct(device, fast, &study, &grid, num_subsets, accumulation).0
            };
            let found = run();
            let error = relative(found.as_slice(), expected.as_slice());
            println!("axial-runs, {num_subsets} subsets, {accumulation}: {error:.1e}");
            assert!(error <= 1e-3);
            if accumulation == Accumulation::Deterministic {
                assert_same_bits(run().as_slice(), found.as_slice());
            }
        }
        let device = CudaBackend::open(0).unwrap();
        let plain = BinDriven::new(&device, geometry(), grid.clone(), 69.0, [1, 1], None).unwrap();
        let (found, _) = reconstruct(device, plain, &study, &grid, num_subsets, Accumulation::Atomic);
        let error = relative(found.as_slice(), expected.as_slice());
        println!("bin driven, {num_subsets} subsets: {error:.1e}");
        assert!(error <= 1e-3);
    }
}

#[test]
fn the_race_makes_the_image_worse_and_tells_what_it_lost() {
    let Some(_) = device() else { return };
    let (study, grid) = scan();
    let geometry = || Arc::clone(study.geometry());
    let host = operator::AxialRuns::new(geometry(), grid.clone(), 69.0, [1, 1]).unwrap();
    let (expected, _) = reconstruct(Host, host, &study, &grid, 1, Accumulation::Deterministic);
    let device = CudaBackend::open(0).unwrap();
    let plain = BinDriven::new(&device, geometry(), grid.clone(), 69.0, [1, 1], None).unwrap();
    let (racy, lost) = reconstruct(device, plain, &study, &grid, 1, Accumulation::NonAtomic);
    let error = relative(racy.as_slice(), expected.as_slice());
    println!("bin driven, non-atomic: {:.1} % lost, image off by {:.1} %", 100.0 * lost, 100.0 * error);
    assert!(lost > 0.001 && lost < 1.0, "the race lost {lost}");
    assert!(error > 1e-3, "the race changes the image by {error}");
}
