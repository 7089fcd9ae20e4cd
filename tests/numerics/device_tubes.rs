//! Tubes of response on a CUDA device against those of the host.

use std::sync::Arc;

use tomoscope::cuda::{self, CudaBackend};
use tomoscope::data::{TubeSampling, TubeSet};
use tomoscope::geometry::Grid;
use tomoscope::operator::{Accumulation, Misfit, OperatorError, PlainTubes, Subset, Tubes, ViewProjector};
use tomoscope::scanner::{InPlane, ScanGeometry, Segment, find};

use super::device::{backprojected, device, projected};
use super::device_cuda::assert_the_same_bits_from_every_operator;
use super::support::{backward, dot, forward, noise, random_volume, relative, tiny};

/// The VrPET with other numbers of rings, bins and views.
fn scanner(num_rings: usize, num_tangential: usize, num_views: usize) -> Arc<ScanGeometry> {
    let vrpet = find("vrpet").unwrap().geometry.clone();
    let largest = num_rings as i32 - 1;
    let segments = (-largest..=largest).map(|d| Segment::full(d, d, num_rings)).collect();
    Arc::new(ScanGeometry { num_rings, num_tangential, num_views, segments, ..vrpet }.validate().unwrap())
}

fn random_tubes(geometry: &ScanGeometry, num: [usize; 3]) -> TubeSet {
    let sampling = TubeSampling { num, ..TubeSampling::of(geometry) };
    let len = sampling.num_coefficients().unwrap();
    TubeSet::new(geometry.scanner.clone(), sampling, noise(11, len)).unwrap()
}

/// Norm of the difference, and the largest difference over the largest value.
fn errors(found: &[f32], expected: &[f32]) -> [f64; 2] {
    let largest = expected.iter().fold(0.0f32, |most, value| most.max(value.abs()));
    let worst = found.iter().zip(expected).map(|(a, b)| (a - b).abs()).fold(0.0f32, f32::max);
    [relative(found, expected), f64::from(worst / largest)]
}

fn apply(device: &mut CudaBackend, operator: &impl ViewProjector<CudaBackend>, subset: Subset, x: &[f32]) -> Vec<f32> {
    projected(device, operator, subset, x, operator.views().len(subset))
}

fn adjoint(device: &mut CudaBackend, operator: &impl ViewProjector<CudaBackend>, subset: Subset, q: &[f32]) -> Vec<f32> {
    adjoint_adding(Accumulation::Deterministic, device, operator, subset, q)
}

fn adjoint_adding(
    accumulation: Accumulation,
    device: &mut CudaBackend,
    operator: &impl ViewProjector<CudaBackend>,
    subset: Subset,
    q: &[f32],
) -> Vec<f32> {
    backprojected(device, operator, subset, q, accumulation, operator.voxels().len())
}

/// A scanner, slices beyond its rings at either end, columns of the image, what is seen of it, samples of a tube, a subset.
type Case = (&'static str, Arc<ScanGeometry>, usize, [usize; 2], f64, [usize; 3], Subset);

const fn part(index: usize, count: usize) -> Subset {
    Subset { index, count }
}

#[test]
fn tubes_of_the_vrpet_on_the_device_are_those_of_the_host() {
    check(("VrPET", scanner(30, 117, 8), 0, [117, 117], 43.3, [117, 7, 7], part(1, 2)));
}

#[test]
fn tubes_on_the_device_are_those_of_the_host() {
    check(("all rings that fit, odd numbers of views", scanner(32, 31, 5), 0, [40, 33], f64::INFINITY, [31, 7, 7], Subset::ALL));
    check(("few rings, even number of bins", scanner(5, 14, 7), 0, [17, 15], 8.0, [19, 5, 5], part(2, 3)));
    check(("slices beyond the rings, off the axis", scanner(9, 21, 6), 3, [25, 30], 9.0, [25, 3, 7], Subset::ALL));
    check(("one ring, tubes of a single line", scanner(1, 9, 70), 0, [12, 12], 6.0, [9, 1, 1], Subset::ALL));
}

fn check((name, geometry, extra, [nx, ny], fov_radius_mm, num, subset): Case) {
    let Some(mut device) = device() else { return };
    let (bin_mm, slice_mm) = (geometry.central_bin_mm(), 0.5 * geometry.ring_spacing_mm);
    let nz = 2 * geometry.num_rings - 1 + 2 * extra;
    let mut grid = Grid::centred([nx, ny, nz], [bin_mm, 1.1 * bin_mm, slice_mm]).unwrap();
    if extra > 0 {
        grid =
            Grid::new(grid.size, grid.voxel_mm, [grid.origin_mm[0] + 1.3, grid.origin_mm[1] - 0.4, grid.origin_mm[2]]).unwrap();
    }
    let tubes = random_tubes(&geometry, num);
    let host = Tubes::new(Arc::clone(&geometry), grid.clone(), fov_radius_mm, &tubes).unwrap();
    let cuda = cuda::Tubes::new(&device, Arc::clone(&geometry), grid.clone(), fov_radius_mm, &tubes).unwrap();
    let volume = random_volume(&grid);
    let image = cuda.voxels().coefficients(&volume);
    let bins = apply(&mut device, &cuda, subset, &image);
    let projected = errors(&bins, &forward(&host, subset, &volume));
    let q = noise(5, bins.len());
    let back = adjoint(&mut device, &cuda, subset, &q);
    let mut found = random_volume(&grid);
    cuda.voxels().write(&back, 1.0, &mut found);
    let expected = backward(&host, subset, q.clone(), Accumulation::Deterministic, &grid);
    let spread = errors(found.as_slice(), expected.as_slice());
    let (there, here) = (dot(&bins, &q), dot(&image, &back));
    println!("{name}: projection {projected:?}, backprojection {spread:?}, adjoint {:.1e}", (there - here).abs() / there);
    assert!(projected.iter().chain(&spread).all(|error| *error <= 1e-5), "{name}: {projected:?}, {spread:?}");
    assert!((there - here).abs() <= 1e-5 * there, "{name}: {there} {here}");
    assert_eq!(apply(&mut device, &cuda, subset, &image), bins, "{name}: the same bits again");
    assert_eq!(adjoint(&mut device, &cuda, subset, &q), back, "{name}: the same bits again");
    // Bins that scatter what the cells gather.
    let scattered = adjoint_adding(Accumulation::Atomic, &mut device, &cuda, subset, &q);
    let errors = errors(&scattered, &back);
    let race = adjoint_adding(Accumulation::NonAtomic, &mut device, &cuda, subset, &q);
    let sum = |values: &[f32]| values.iter().map(|value| f64::from(*value)).sum::<f64>();
    let arrived = sum(&race) / sum(&back);
    println!("{name}: scattered {errors:?}; of all additions {arrived:.3} arrive without protection");
    assert!(errors.iter().all(|error| *error <= 1e-5), "{name}: {errors:?}");
    assert!(arrived > 0.0 && arrived <= 1.0 + 1e-5, "{name}: {arrived}");
}

#[test]
fn tubes_have_the_same_bits_from_operators_made_anew() {
    let Some(mut device) = device() else { return };
    let geometry = scanner(5, 14, 7);
    let (bin_mm, slice_mm) = (geometry.central_bin_mm(), 0.5 * geometry.ring_spacing_mm);
    let grid = Grid::centred([17, 15, 9], [bin_mm, 1.1 * bin_mm, slice_mm]).unwrap();
    let tubes = random_tubes(&geometry, [19, 5, 5]);
    let fast = |device: &mut CudaBackend| cuda::Tubes::new(device, Arc::clone(&geometry), grid.clone(), 8.0, &tubes).unwrap();
    let paper =
        |device: &mut CudaBackend| cuda::PaperTubes::new(device, Arc::clone(&geometry), grid.clone(), 8.0, &tubes).unwrap();
    let lens = |operator: &dyn ViewProjector<CudaBackend>| [operator.voxels().len(), operator.views().len(Subset::ALL)];
    let (of_fast, of_paper) = (lens(&fast(&mut device)), lens(&paper(&mut device)));
    assert_the_same_bits_from_every_operator(&mut device, fast, Subset::ALL, of_fast);
    assert_the_same_bits_from_every_operator(&mut device, paper, Subset::ALL, of_paper);
}

#[test]
fn the_papers_kernels_are_the_definition_up_to_the_weights_of_the_textures() {
    // Measured on an H200: 3.5e-7 by hand; by the textures, whose weights have eight bits, 2e-4 to 3.7e-4.
    const BY_HAND: f64 = 1e-5;
    const BY_TEXTURE: f64 = 1e-3;
    let Some(mut device) = device() else { return };
    for (geometry, size, num) in
        [(scanner(5, 15, 7), [17, 16], [19, 7, 7]), (scanner(6, 14, 5), [14, 15], [17, 3, 5]), (tiny(4), [9, 9], [11, 3, 3])]
    {
        let (bin_mm, slice_mm) = (geometry.central_bin_mm(), 0.5 * geometry.ring_spacing_mm);
        let grid = Grid::centred([size[0], size[1], 2 * geometry.num_rings - 1], [bin_mm, 1.1 * bin_mm, slice_mm]).unwrap();
        let (tubes, subset, reach_mm) = (random_tubes(&geometry, num), Subset { index: 1, count: 2 }, 6.0 * bin_mm);
        let host = PlainTubes::new(Arc::clone(&geometry), grid.clone(), reach_mm, tubes.clone()).unwrap();
        let volume = {
            let mut volume = random_volume(&grid);
            let seen = host.voxels().coefficients(&volume);
            host.voxels().write(&seen, 1.0, &mut volume);
            volume
        };
        let expected = forward(&host, subset, &volume);
        let q = noise(5, expected.len());
        let expected_back = backward(&host, subset, q.clone(), Accumulation::Deterministic, &grid);
        let new = || cuda::PaperTubes::new(&device, Arc::clone(&geometry), grid.clone(), reach_mm, &tubes).unwrap();
        for (way, cuda, most) in [("by hand", new().interpolating(), BY_HAND), ("by texture", new(), BY_TEXTURE)] {
            let found = apply(&mut device, &cuda, subset, &cuda.voxels().coefficients(&volume));
            let back = adjoint(&mut device, &cuda, subset, &q);
            let errors = [relative(&found, &expected), relative(&back, expected_back.as_slice())];
            println!("{way}: {errors:?}");
            assert!(errors.iter().all(|error| *error <= most), "{way}: {errors:?}");
        }
    }
}

#[test]
fn what_the_kernels_do_not_take_is_refused() {
    let Some(device) = device() else { return };
    let refused = |geometry: Arc<ScanGeometry>| {
        let nz = 2 * geometry.num_rings - 1;
        let voxel_mm = [geometry.central_bin_mm(), geometry.central_bin_mm(), 0.5 * geometry.ring_spacing_mm];
        let grid = Grid::centred([9, 9, nz], voxel_mm).unwrap();
        let tubes = random_tubes(&geometry, [9, 3, 3]);
        match cuda::Tubes::new(&device, geometry, grid, 10.0, &tubes) {
            Err(OperatorError::Unsuitable(reason)) => reason,
            _ => panic!("it was taken"),
        }
    };
    assert!(matches!(refused(scanner(33, 9, 4)), Misfit::LargeTubes { rings: 32, .. }));
    let round = ScanGeometry { in_plane: InPlane::ArcCorrected { bin_mm: 5.0 }, ..(*tiny(4)).clone() };
    assert_eq!(refused(Arc::new(round)), Misfit::UnequalLines);
}
