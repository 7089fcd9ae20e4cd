//! The fast projector against the plain one, and both against their own adjoint.

use std::sync::Arc;

use super::AxialRuns;
use crate::data::{Unit, Volume};
use crate::geometry::Grid;
use crate::operator::{Accumulation, Backend, Host, LinearOperator, Siddon, Simd, Subset};
use crate::scanner;
use crate::task::Task;

fn noise(seed: u32, len: usize) -> Vec<f32> {
    let mut state = seed.wrapping_mul(2_654_435_761).max(1);
    (0..len)
        .map(|_| {
            state ^= state << 13;
            state ^= state >> 17;
            state ^= state << 5;
            state as f32 / u32::MAX as f32
        })
        .collect()
}

fn relative(a: &[f32], b: &[f32]) -> f64 {
    let (mut difference, mut norm) = (0.0f64, 0.0f64);
    for (&a, &b) in a.iter().zip(b) {
        difference += f64::from(a - b).powi(2);
        norm += f64::from(b).powi(2);
    }
    assert!(norm > 0.0, "all zero");
    (difference / norm).sqrt()
}

/// Both projectors on a grid, with the same volume and the same data.
fn compare(scanner: &str, grid: &Grid, fov_radius_mm: f64, rays: [usize; 2], subset: Subset) {
    let geometry = Arc::new(scanner::find(scanner).unwrap().geometry.clone());
    let plain = Siddon::new(Arc::clone(&geometry), grid.clone(), fov_radius_mm, rays);
    let volume = Volume::from_vec(grid.clone(), noise(7, grid.num_voxels()), Unit::CountsPerMm).unwrap();
    let mut host = Host;
    let task = Task::new();
    let len = LinearOperator::<Host>::data_len(&plain, subset);
    let q = Arc::new(noise(11, len));
    let x_plain = Arc::new(plain.image_from_volume(&volume));
    let mut y_plain = host.zeros(len).unwrap();
    plain.apply(&mut host, subset, &x_plain, &mut y_plain, &task).unwrap();
    let mut back_plain = host.zeros(plain.image_len()).unwrap();
    plain.adjoint(&mut host, subset, &q, Accumulation::Deterministic, &mut back_plain, &task).unwrap();
    for simd in Simd::available() {
        let fast = AxialRuns::new(Arc::clone(&geometry), grid.clone(), fov_radius_mm, rays).unwrap().with_simd(simd);
        let x = Arc::new(fast.image_from_volume(&volume));
        let mut y = host.zeros(len).unwrap();
        fast.apply(&mut host, subset, &x, &mut y, &task).unwrap();
        let forward = relative(&y, &y_plain);
        let mut back = host.zeros(fast.image_len()).unwrap();
        fast.adjoint(&mut host, subset, &q, Accumulation::Deterministic, &mut back, &task).unwrap();
        let mut volume_back = volume.clone();
        fast.volume_from_image(&back, &mut volume_back);
        let backward = relative(volume_back.as_slice(), &back_plain);
        let (yq, xb) = (host.dot(&y, &q).unwrap(), host.dot(&x, &back).unwrap());
        let adjoint = (yq - xb).abs() / yq.abs();
        println!(
            "{scanner} {:?} rays {rays:?} {simd:?}: forward {forward:.1e} back {backward:.1e} adjoint {adjoint:.1e}",
            grid.size
        );
        assert!(forward <= 1e-5 && backward <= 1e-5 && adjoint <= 1e-5);
    }
}

#[test]
fn equals_the_plain_projector() {
    let small = Grid::centred([47, 47, 15], [3.0, 3.0, 2.5]).unwrap();
    compare("small", &small, 69.0, [1, 1], Subset::ALL);
    compare("small", &small, 69.0, [1, 2], Subset { index: 1, count: 5 });
    compare("small", &small, 50.0, [2, 1], Subset { index: 0, count: 3 });
    // Even sizes: lines of view 0 run in voxel faces. Grids that are shorter, longer and off the axis.
    compare("small", &Grid::centred([48, 48, 16], [3.0, 3.0, 2.5]).unwrap(), 72.0, [1, 1], Subset::ALL);
    compare("small", &Grid::centred([40, 52, 5], [3.0, 3.0, 2.5]).unwrap(), 200.0, [1, 2], Subset::ALL);
    compare("small", &Grid::centred([33, 20, 1], [4.0, 5.0, 2.5]).unwrap(), 200.0, [1, 1], Subset::ALL);
    compare("small", &Grid::centred([20, 20, 31], [7.0, 7.0, 1.25]).unwrap(), 69.0, [1, 1], Subset::ALL);
    compare("small", &Grid::new([47, 47, 9], [3.0, 3.0, 2.5], [-60.0, -75.0, -3.1]).unwrap(), 69.0, [1, 1], Subset::ALL);
    compare(
        "prt-1",
        &Grid::centred([97, 97, 31], [3.1088, 3.1088, 3.375]).unwrap(),
        150.0,
        [1, 2],
        Subset { index: 0, count: 12 },
    );
}
