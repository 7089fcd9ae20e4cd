//! The fast projector against the plain one, and the plain one against lengths worked out by hand.

use tomoscope::algebra::Simd;
use tomoscope::geometry::{Grid, Line};
use tomoscope::operator::{Accumulation, AxialRuns, Misfit, OperatorError, Siddon, Subset};

use super::support::{backward, forward, geometry, noise, random_volume, relative, tiny, tiny_span_3};

/// Both projectors in both directions with each instruction level.
fn compare(scanner: &str, grid: &Grid, fov_radius_mm: f64, rays: [usize; 2], subset: Subset) {
    let geometry = match scanner {
        "one ring" => tiny(1),
        "span 3" => tiny_span_3(),
        _ => geometry(scanner),
    };
    let plain = Siddon::new(geometry.clone(), grid.clone(), fov_radius_mm, rays);
    let volume = random_volume(grid);
    let projected = forward(&plain, subset, &volume);
    let q = noise(11, projected.len());
    let spread = backward(&plain, subset, q.clone(), Accumulation::Deterministic, grid);
    for simd in Simd::available() {
        let fast = AxialRuns::new(geometry.clone(), grid.clone(), fov_radius_mm, rays).unwrap().with_simd(simd);
        let there = relative(&forward(&fast, subset, &volume), &projected);
        let back = relative(backward(&fast, subset, q.clone(), Accumulation::Deterministic, grid).as_slice(), spread.as_slice());
        println!("{scanner} {:?} rays {rays:?} {}: forward {there:.1e}, back {back:.1e}", grid.size, simd.name());
        assert!(there <= 1e-5 && back <= 1e-5);
    }
}

#[test]
fn the_fast_projector_is_the_plain_one() {
    let small = Grid::centred([47, 47, 15], [3.0, 3.0, 2.5]).unwrap();
    compare("small", &small, 69.0, [1, 1], Subset::ALL);
    compare("small", &small, 69.0, [1, 2], Subset { index: 1, count: 5 });
    compare("small", &small, 50.0, [2, 1], Subset { index: 0, count: 3 });
    compare(
        "prt-1",
        &Grid::centred([97, 97, 31], [3.1088, 3.1088, 3.375]).unwrap(),
        150.0,
        [1, 2],
        Subset { index: 0, count: 12 },
    );
    compare("ecat-931", &Grid::centred([64, 64, 15], [8.0, 8.0, 6.75]).unwrap(), 250.0, [1, 2], Subset { index: 3, count: 8 });
    compare(
        "discovery-ste",
        &Grid::centred([64, 64, 47], [10.9375, 10.9375, 3.27]).unwrap(),
        350.0,
        [1, 1],
        Subset { index: 0, count: 70 },
    );
}

#[test]
fn the_fast_projector_is_the_plain_one_on_awkward_grids() {
    // Even sizes: lines of view 0 run in voxel faces.
    compare("small", &Grid::centred([48, 48, 16], [3.0, 3.0, 2.5]).unwrap(), 72.0, [1, 1], Subset::ALL);
    // Shorter and longer than the scanner, finer than its planes, a single plane, off the axis, beyond the detectors.
    compare("small", &Grid::centred([40, 52, 5], [3.0, 3.0, 2.5]).unwrap(), 200.0, [1, 2], Subset::ALL);
    compare("small", &Grid::centred([33, 20, 1], [4.0, 5.0, 2.5]).unwrap(), 200.0, [1, 1], Subset::ALL);
    compare("small", &Grid::centred([20, 20, 31], [7.0, 7.0, 1.25]).unwrap(), 69.0, [1, 1], Subset::ALL);
    compare("small", &Grid::new([47, 47, 9], [3.0, 3.0, 2.5], [-60.0, -75.0, -3.1]).unwrap(), 69.0, [1, 1], Subset::ALL);
    compare("small", &Grid::centred([61, 61, 41], [5.0, 5.0, 2.5]).unwrap(), 400.0, [1, 1], Subset::ALL);
    // Spanned segments: oblique planes half a ring apart; two lines in the height of one voxel, voxels half as high.
    compare("span 3", &Grid::centred([15, 15, 15], [5.0, 5.0, 3.0]).unwrap(), 37.5, [1, 1], Subset::ALL);
    compare("span 3", &Grid::centred([16, 16, 29], [5.0, 5.0, 1.5]).unwrap(), 37.5, [1, 2], Subset::ALL);
    compare("one ring", &Grid::centred([15, 15, 1], [5.0, 5.0, 6.0]).unwrap(), 37.5, [1, 1], Subset::ALL);
}

#[test]
fn planes_that_do_not_fit_the_voxels_are_refused() {
    let grid = Grid::centred([47, 47, 15], [3.0, 3.0, 2.6]).unwrap();
    let error = AxialRuns::new(geometry("small"), grid, 69.0, [1, 1]).err().unwrap();
    assert!(matches!(error, OperatorError::Unsuitable(Misfit::PlaneStep { voxel_mm: 2.6, .. })), "{error:?}");
}

/// A line, and the voxels [x, y, z] with their lengths on a grid of 4 × 4 × 3 voxels of 10 × 10 × 5 mm about the origin.
fn lengths(start: [f64; 3], end: [f64; 3]) -> Vec<([usize; 3], f64)> {
    let grid = Grid::centred([4, 4, 3], [10.0, 10.0, 5.0]).unwrap();
    let siddon = Siddon::new(geometry("small"), grid, 100.0, [1, 1]);
    let mut found: Vec<([usize; 3], f64)> = Vec::new();
    siddon.walk(&Line { start, end }, |index, length| found.push(([index % 4, index / 4 % 4, index / 16], length)));
    found.retain(|(_, length)| *length > 1e-9);
    found.sort_by_key(|(voxel, _)| *voxel);
    found
}

fn assert_lengths(found: &[([usize; 3], f64)], expected: &[([usize; 3], f64)]) {
    assert_eq!(found.len(), expected.len(), "{found:?}");
    for (found, expected) in found.iter().zip(expected) {
        assert_eq!(found.0, expected.0);
        assert!((found.1 - expected.1).abs() < 1e-9, "{found:?} instead of {expected:?}");
    }
}

#[test]
fn nasty_lines_have_the_lengths_worked_out_by_hand() {
    let row = |y: usize, z: usize, length: f64| -> Vec<_> { (0..4).map(|x| ([x, y, z], length)).collect() };
    // Along x, through the middle of a row.
    assert_lengths(&lengths([-50.0, 5.0, 0.0], [50.0, 5.0, 0.0]), &row(2, 1, 10.0));
    // The same backwards.
    assert_lengths(&lengths([50.0, 5.0, 0.0], [-50.0, 5.0, 0.0]), &row(2, 1, 10.0));
    // In the face between two rows: half to each.
    let mut halves: Vec<_> = row(1, 1, 5.0).into_iter().chain(row(2, 1, 5.0)).collect();
    halves.sort_by_key(|(voxel, _)| *voxel);
    assert_lengths(&lengths([-50.0, 0.0, 0.0], [50.0, 0.0, 0.0]), &halves);
    // In an edge, the face of two rows and of two planes at once: a quarter to each.
    let mut quarters: Vec<_> = [(1, 1), (1, 2), (2, 1), (2, 2)].iter().flat_map(|&(y, z)| row(y, z, 2.5)).collect();
    quarters.sort_by_key(|(voxel, _)| *voxel);
    assert_lengths(&lengths([-50.0, 0.0, 2.5], [50.0, 0.0, 2.5]), &quarters);
    // In the outer face of the grid: the inner half.
    assert_lengths(&lengths([-50.0, 20.0, 0.0], [50.0, 20.0, 0.0]), &row(3, 1, 5.0));
    // Along the diagonal, through voxel corners.
    let diagonal: Vec<_> = (0..4).map(|i| ([i, i, 1], 200f64.sqrt())).collect();
    assert_lengths(&lengths([-50.0, -50.0, 0.0], [50.0, 50.0, 0.0]), &diagonal);
    // Rising through all planes inside one column: 5 mm of z each; 1 mm of x over 15 mm of z.
    let rising = [([2, 2, 0], 5.0), ([2, 2, 1], 5.0), ([2, 2, 2], 5.0)]
        .map(|(voxel, dz): ([usize; 3], f64)| (voxel, dz * (1.0f64 + 1.0 / 225.0).sqrt()));
    assert_lengths(&lengths([5.0, 5.0, -30.0], [9.0, 5.0, 30.0]), &rising);
    // Grazing one corner voxel: a chord of √2 mm.
    assert_lengths(&lengths([29.0, 10.0, 0.0], [9.0, 30.0, 0.0]), &[([3, 3, 1], 2f64.sqrt())]);
    // Missing the grid, beside and above it; ending before it; of no length.
    assert_lengths(&lengths([-50.0, 25.0, 0.0], [50.0, 25.0, 0.0]), &[]);
    assert_lengths(&lengths([-50.0, 5.0, 8.0], [50.0, 5.0, 8.0]), &[]);
    assert_lengths(&lengths([-50.0, 5.0, 0.0], [-25.0, 5.0, 0.0]), &[]);
    assert_lengths(&lengths([5.0, 5.0, 0.0], [5.0, 5.0, 0.0]), &[]);
    // Ending inside.
    assert_lengths(&lengths([-50.0, 5.0, 0.0], [-5.0, 5.0, 0.0]), &[([0, 2, 1], 10.0), ([1, 2, 1], 5.0)]);
}
