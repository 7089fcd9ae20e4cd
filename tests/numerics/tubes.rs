//! Projectors with tubes of response: the definition against closed forms, the fast pair against the definition.

use std::sync::Arc;

use tomoscope::algebra::{Backend, Host, Simd};
use tomoscope::data::{TubeSampling, TubeSet, Unit, Volume};
use tomoscope::geometry::{Grid, Point};
use tomoscope::operator::{Accumulation, LinearOperator, Misfit, OperatorError, PlainTubes, Subset, Tubes, ViewProjector};
use tomoscope::scanner::{InPlane, ScanGeometry, Segment};
use tomoscope::task::Task;

use super::support::{backward, dot, forward, noise, random_volume, relative};

const BIN_MM: f64 = 1.5;
const RING_MM: f64 = 3.0;

/// A scanner of single ring differences up to ±`largest`.
fn scanner(num_rings: usize, largest: i32, num_tangential: usize, num_views: usize) -> Arc<ScanGeometry> {
    let geometry = ScanGeometry {
        scanner: "tubes".into(),
        num_rings,
        ring_spacing_mm: RING_MM,
        num_detectors_per_ring: 2 * num_views,
        inner_radius_mm: 40.0,
        depth_of_interaction_mm: 2.0,
        num_views,
        num_tangential,
        view_offset_deg: 1.3,
        in_plane: InPlane::ArcCorrected { bin_mm: BIN_MM },
        segments: (-largest..=largest).map(|d| Segment::full(d, d, num_rings)).collect(),
        fov_radius_mm: 20.0,
    };
    Arc::new(geometry.validate().unwrap())
}

/// A grid of slices half a ring apart, `extra` of them beyond the rings at either end.
fn grid(geometry: &ScanGeometry, [nx, ny]: [usize; 2], voxel_mm: [f64; 2], extra: usize) -> Grid {
    let nz = 2 * geometry.num_rings - 1 + 2 * extra;
    Grid::centred([nx, ny, nz], [voxel_mm[0], voxel_mm[1], 0.5 * geometry.ring_spacing_mm]).unwrap()
}

fn sampling(geometry: &ScanGeometry, num: [usize; 3]) -> TubeSampling {
    TubeSampling {
        num,
        spacing_mm: [1.3, BIN_MM, 0.5 * geometry.ring_spacing_mm],
        num_radial: geometry.num_tangential / 2 + 1,
        num_ring_differences: geometry.num_rings,
    }
}

fn tubes(sampling: TubeSampling, coefficients: Vec<f32>) -> TubeSet {
    TubeSet::new("tubes", sampling, coefficients).unwrap()
}

fn random_tubes(geometry: &ScanGeometry, num: [usize; 3]) -> TubeSet {
    let sampling = sampling(geometry, num);
    let len = sampling.tube_len() * sampling.num_radial * sampling.num_ring_differences;
    tubes(sampling, noise(11, len))
}

/// Tubes that fall off like Gaussians of these widths, in samples, and the same in all bins.
fn gaussian_tubes(geometry: &ScanGeometry, num: [usize; 3], widths: [f64; 3]) -> TubeSet {
    let sampling = sampling(geometry, num);
    let term = |index: usize, axis: usize| -0.5 * ((index as f64 - (num[axis] / 2) as f64) / widths[axis]).powi(2);
    let coefficient = |k: usize| {
        let (a, b, c) = (k / num[2] / num[1] % num[0], k / num[2] % num[1], k % num[2]);
        (term(a, 0) + term(b, 1) + term(c, 2)).exp() as f32
    };
    let len = sampling.tube_len() * sampling.num_radial * sampling.num_ring_differences;
    tubes(sampling, (0..len).map(coefficient).collect())
}

/// A scan, a grid, a field of view and the samples of its tubes.
type Case = (&'static str, Arc<ScanGeometry>, Grid, f64, [usize; 3]);

fn cases() -> Vec<Case> {
    let whole = f64::INFINITY;
    let (odd, even, one) = (scanner(5, 4, 15, 6), scanner(6, 5, 14, 5), scanner(1, 0, 11, 7));
    let (long, steep) = (scanner(35, 1, 9, 2), scanner(12, 11, 55, 2));
    vec![
        ("odd number of rings", Arc::clone(&odd), grid(&odd, [17, 17], [1.5, 1.5], 0), 12.0, [19, 7, 7]),
        ("even numbers of rings and bins", Arc::clone(&even), grid(&even, [14, 19], [1.9, 1.2], 0), whole, [21, 5, 7]),
        ("one ring", Arc::clone(&one), grid(&one, [15, 15], [1.5, 1.5], 0), 11.0, [17, 7, 7]),
        ("slices beyond the rings", Arc::clone(&odd), grid(&odd, [16, 16], [1.5, 1.5], 4), 10.0, [19, 3, 5]),
        ("image smaller than the tubes", Arc::clone(&odd), grid(&odd, [3, 2], [1.1, 0.8], 0), whole, [9, 7, 3]),
        ("tubes of a single line", Arc::clone(&even), grid(&even, [15, 15], [1.5, 1.5], 0), 11.0, [15, 1, 1]),
        ("more planes than registers", Arc::clone(&long), grid(&long, [9, 9], [1.5, 1.5], 0), whole, [9, 3, 7]),
        ("short steep lines at the edge", Arc::clone(&steep), grid(&steep, [60, 60], [1.5, 1.5], 0), whole, [41, 3, 7]),
    ]
}

#[test]
fn the_fast_pair_projects_by_the_definition() {
    for (name, geometry, grid, fov_radius_mm, num) in cases() {
        let tubes = random_tubes(&geometry, num);
        let plain = PlainTubes::new(Arc::clone(&geometry), grid.clone(), fov_radius_mm, tubes.clone()).unwrap();
        let mut x = random_volume(&grid);
        let seen = plain.voxels().coefficients(&x);
        plain.voxels().write(&seen, 1.0, &mut x);
        let expected = forward(&plain, Subset::ALL, &x);
        for simd in Simd::available() {
            let fast = Tubes::new(Arc::clone(&geometry), grid.clone(), fov_radius_mm, &tubes).unwrap().with_simd(simd);
            let error = relative(&forward(&fast, Subset::ALL, &x), &expected);
            println!("{name}, {}: {error:.1e}", simd.name());
            assert!(error <= 1e-5, "{name}, {}: {error:.1e}", simd.name());
        }
    }
}

#[test]
fn the_edge_bins_are_those_of_the_definition() {
    let geometry = scanner(5, 4, 15, 6);
    let grid = grid(&geometry, [17, 17], [1.5, 1.5], 0);
    let tubes = random_tubes(&geometry, [19, 7, 7]);
    let x = random_volume(&grid);
    let all = |bins: Vec<f32>| {
        let at_edge = |(bin, _): &(usize, f32)| [0, 14].contains(&(bin / 25 % 15));
        bins.into_iter().enumerate().filter(at_edge).map(|(_, value)| value).collect::<Vec<f32>>()
    };
    let plain = PlainTubes::new(Arc::clone(&geometry), grid.clone(), f64::INFINITY, tubes.clone()).unwrap();
    let fast = Tubes::new(Arc::clone(&geometry), grid, f64::INFINITY, &tubes).unwrap();
    assert_eq!(geometry.num_planes(), 25);
    assert!(relative(&all(forward(&fast, Subset::ALL, &x)), &all(forward(&plain, Subset::ALL, &x))) <= 1e-5);
}

/// |⟨A x, y⟩ − ⟨x, Aᵀ y⟩| / ⟨A x, y⟩ for an image that is 0 outside the field of view.
fn mismatch(operator: &impl ViewProjector<Host>, subset: Subset, grid: &Grid) -> f64 {
    let mut x = random_volume(grid);
    let seen = operator.voxels().coefficients(&x);
    operator.voxels().write(&seen, 1.0, &mut x);
    let projected = forward(operator, subset, &x);
    let y = noise(5, projected.len());
    let there = dot(&projected, &y);
    let back = dot(x.as_slice(), backward(operator, subset, y, Accumulation::Deterministic, grid).as_slice());
    assert!(there > 0.0);
    (there - back).abs() / there
}

#[test]
fn the_fast_pair_is_matched() {
    for (name, geometry, grid, fov_radius_mm, num) in cases() {
        let tubes = random_tubes(&geometry, num);
        for simd in Simd::available() {
            let fast = Tubes::new(Arc::clone(&geometry), grid.clone(), fov_radius_mm, &tubes).unwrap().with_simd(simd);
            for subset in [Subset::ALL, Subset { index: 1, count: 2 }] {
                let error = mismatch(&fast, subset, &grid);
                println!("{name}, {}: {error:.1e}", simd.name());
                assert!(error <= 1e-5, "{name}, {}: {error:.1e}", simd.name());
            }
        }
    }
}

#[test]
fn each_bin_and_each_voxel_is_matched_by_itself() {
    // A sum over everything can hide what is wrong in a few places: here every row of A is compared with its column of Aᵀ.
    let geometry = scanner(3, 2, 6, 2);
    let grid = grid(&geometry, [5, 4], [1.7, 1.5], 0);
    let tubes = random_tubes(&geometry, [7, 3, 7]);
    let fast = Tubes::new(Arc::clone(&geometry), grid.clone(), f64::INFINITY, &tubes).unwrap();
    let plain = PlainTubes::new(Arc::clone(&geometry), grid.clone(), f64::INFINITY, tubes).unwrap();
    let mut largest = 0.0f32;
    for bin in 0..geometry.num_bins() {
        let mut q = vec![0.0; geometry.num_bins()];
        q[bin] = 1.0;
        let row = backward(&fast, Subset::ALL, q, Accumulation::Deterministic, &grid);
        let x = random_volume(&grid);
        let planes = geometry.num_planes();
        let expected = plain.bin(bin / planes / 6, bin / planes % 6, bin % planes, x.as_slice());
        let found = dot(row.as_slice(), x.as_slice());
        assert!((found - expected).abs() <= 1e-5 * expected.abs() + 1e-6, "bin {bin}: {found} for {expected}");
        largest = row.as_slice().iter().copied().fold(largest, f32::max);
    }
    assert!(largest > 0.1);
}

#[test]
fn the_papers_backprojection_is_nearly_the_adjoint() {
    // Measured: 1.8e-3 with smooth tubes, 1.9e-3 with random ones.
    const MISMATCH: std::ops::Range<f64> = 1e-4..4e-3;
    let geometry = scanner(5, 4, 15, 6);
    let grid = grid(&geometry, [17, 17], [1.5, 1.5], 0);
    let smooth = gaussian_tubes(&geometry, [31, 7, 7], [20.0, 1.5, 1.5]);
    for tubes in [smooth, random_tubes(&geometry, [31, 7, 7])] {
        let plain = PlainTubes::new(Arc::clone(&geometry), grid.clone(), 12.0, tubes).unwrap();
        let error = mismatch(&plain, Subset::ALL, &grid);
        println!("the paper's pair: {error:.1e}");
        assert!(MISMATCH.contains(&error), "{error:.1e}");
    }
}

#[test]
fn subsets_together_are_all_views() {
    let geometry = scanner(4, 3, 13, 11);
    let grid = grid(&geometry, [15, 15], [1.5, 1.5], 0);
    let fast = Tubes::new(Arc::clone(&geometry), grid.clone(), 11.0, &random_tubes(&geometry, [17, 7, 7])).unwrap();
    let x = random_volume(&grid);
    let q = noise(3, geometry.num_bins());
    let (all, back) =
        (forward(&fast, Subset::ALL, &x), backward(&fast, Subset::ALL, q.clone(), Accumulation::Deterministic, &grid));
    let view_len = fast.views().view_len();
    let (mut joined, mut sum) = (vec![0.0; all.len()], vec![0.0; grid.num_voxels()]);
    for subset in Subset::all(3) {
        let views: Vec<usize> = subset.views(11).collect();
        for (bins, view) in forward(&fast, subset, &x).chunks_exact(view_len).zip(&views) {
            joined[view * view_len..][..view_len].copy_from_slice(bins);
        }
        let of_subset = views.iter().flat_map(|view| &q[view * view_len..][..view_len]).copied().collect();
        let part = backward(&fast, subset, of_subset, Accumulation::Deterministic, &grid);
        sum.iter_mut().zip(part.as_slice()).for_each(|(sum, value)| *sum += value);
    }
    assert_eq!(joined, all);
    assert!(relative(&sum, back.as_slice()) <= 1e-6);
}

/// Where the samples of a bin's tube lie, from the words of the definition.
fn sample_mm(geometry: &ScanGeometry, tubes: &TubeSet, [view, tangential_pos, plane]: [usize; 3], at: [usize; 3]) -> Point {
    let plane = geometry.planes()[plane];
    let offset = |axis: usize| (at[axis] as f64 - (tubes.sampling.num[axis] / 2) as f64) * tubes.sampling.spacing_mm[axis];
    let sign = |is_negative: bool| if is_negative { -1.0 } else { 1.0 };
    let s_mm = geometry.s_mm(tangential_pos);
    let half_mm = (geometry.radius_mm().powi(2) - s_mm * s_mm).sqrt();
    let across = s_mm + sign(s_mm < 0.0) * offset(1);
    let (sin, cos) = geometry.phi_rad(view).sin_cos();
    let share = 0.5 * (1.0 + offset(0) / half_mm);
    let z = plane.z_start_mm + share * (plane.z_end_mm - plane.z_start_mm);
    let is_negative = geometry.segments[plane.segment].max_ring_difference < 0;
    [across * cos + offset(0) * sin, across * sin - offset(0) * cos, z + sign(is_negative) * offset(2)]
}

/// A volume of a function.
fn volume_of(grid: &Grid, f: impl Fn(Point) -> f64) -> Volume {
    let [nx, ny, _] = grid.size;
    let position = |voxel: usize| grid.mm_from_voxel([voxel % nx, voxel / nx % ny, voxel / nx / ny].map(|index| index as f64));
    let values = (0..grid.num_voxels()).map(|voxel| f(position(voxel)) as f32).collect();
    Volume::from_vec(grid.clone(), values, Unit::CountsPerMm).unwrap()
}

#[test]
fn a_tube_of_one_sample_sees_the_image_there() {
    let geometry = scanner(5, 4, 13, 5);
    // Interpolation is exact where the image is linear along each axis.
    let linear = |[x, y, z]: Point| 3.0 + 0.03 * x - 0.05 * y + 0.07 * z + 0.002 * x * y * z;
    let grid = grid(&geometry, [41, 41], [1.5, 1.1], 8);
    let x = volume_of(&grid, linear);
    let mut num_checked = 0;
    for at in [[0, 3, 3], [9, 3, 3], [17, 3, 3], [4, 0, 5], [13, 6, 0], [2, 1, 6]] {
        let mut tubes = random_tubes(&geometry, [19, 7, 7]);
        let index = (at[0] * 7 + at[1]) * 7 + at[2];
        let of_tube = |k: usize| if k % 931 == index { 0.25 } else { 0.0 };
        tubes.coefficients = Arc::new((0..tubes.coefficients.len()).map(of_tube).collect());
        let plain = PlainTubes::new(Arc::clone(&geometry), grid.clone(), f64::INFINITY, tubes.clone()).unwrap();
        let fast = Tubes::new(Arc::clone(&geometry), grid.clone(), f64::INFINITY, &tubes).unwrap();
        let (plain, fast) = (forward(&plain, Subset::ALL, &x), forward(&fast, Subset::ALL, &x));
        for (bin, (plain, fast)) in plain.into_iter().zip(fast).enumerate() {
            let planes = geometry.num_planes();
            let expected = 0.25 * linear(sample_mm(&geometry, &tubes, [bin / planes / 13, bin / planes % 13, bin % planes], at));
            for found in [plain, fast] {
                assert!((f64::from(found) - expected).abs() <= 1e-5, "{at:?}, bin {bin}: {found} for {expected}");
            }
            num_checked += 1;
        }
    }
    assert_eq!(num_checked, 6 * geometry.num_bins());
}

#[test]
fn a_uniform_image_gives_the_sum_of_the_coefficients_that_lie_in_it() {
    let geometry = scanner(7, 6, 13, 5);
    let grid = grid(&geometry, [51, 51], [1.5, 1.5], 0);
    let tubes = gaussian_tubes(&geometry, [25, 7, 7], [8.0, 1.2, 1.2]);
    let ones = Volume::filled(grid.clone(), 1.0);
    let plain = PlainTubes::new(Arc::clone(&geometry), grid.clone(), f64::INFINITY, tubes.clone()).unwrap();
    let fast = Tubes::new(Arc::clone(&geometry), grid.clone(), f64::INFINITY, &tubes).unwrap();
    let whole = tubes.tube(0, 0).iter().map(|&value| f64::from(value)).sum::<f64>();
    let (plain, fast) = (forward(&plain, Subset::ALL, &ones), forward(&fast, Subset::ALL, &ones));
    let (mut num_whole, mut num_cut) = (0, 0);
    for (bin, (plain, fast)) in plain.into_iter().zip(fast).enumerate() {
        let planes = geometry.num_planes();
        let place = [bin / planes / 13, bin / planes % 13, bin % planes];
        let term = |k: usize| {
            let z_mm = sample_mm(&geometry, &tubes, place, [k / 49, k / 7 % 7, k % 7])[2];
            // Beyond the last slice the interpolated image falls to 0 within one slice.
            let slices_out = (z_mm.abs() / grid.voxel_mm[2] - (grid.size[2] / 2) as f64).max(0.0);
            f64::from(tubes.tube(0, 0)[k]) * (1.0 - slices_out).max(0.0)
        };
        let expected: f64 = (0..25 * 49).map(term).sum();
        for found in [plain, fast] {
            assert!((f64::from(found) - expected).abs() <= 1e-5 * whole, "bin {bin}: {found} for {expected}");
        }
        let is_whole = (expected - whole).abs() <= 1e-9 * whole;
        num_whole += usize::from(is_whole);
        num_cut += usize::from(!is_whole);
    }
    assert!(num_whole > 0 && num_cut > 0);
}

#[test]
fn the_same_bits_for_any_number_of_threads() {
    let geometry = scanner(5, 4, 15, 9);
    let grid = grid(&geometry, [21, 21], [1.5, 1.5], 0);
    let tubes = random_tubes(&geometry, [23, 7, 7]);
    let fast = Tubes::new(Arc::clone(&geometry), grid.clone(), 15.0, &tubes).unwrap();
    let plain = PlainTubes::new(Arc::clone(&geometry), grid.clone(), 15.0, tubes).unwrap();
    let (x, q) = (random_volume(&grid), noise(3, geometry.num_bins()));
    let with_threads = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let mut values = [forward(&fast, Subset::ALL, &x), forward(&plain, Subset::ALL, &x)].concat();
            values.extend(backward(&fast, Subset::ALL, q.clone(), Accumulation::Deterministic, &grid).as_slice());
            values.extend(backward(&plain, Subset::ALL, q.clone(), Accumulation::Deterministic, &grid).as_slice());
            values.into_iter().map(f32::to_bits).collect::<Vec<u32>>()
        })
    };
    let one = with_threads(1);
    assert!(with_threads(2) == one && with_threads(3) == one);
}

#[test]
fn what_does_not_fit_is_refused() {
    let geometry = scanner(5, 4, 15, 6);
    let fitting = grid(&geometry, [17, 17], [1.5, 1.5], 0);
    let tubes = random_tubes(&geometry, [9, 3, 7]);
    let refused = |geometry: &ScanGeometry, grid: &Grid, tubes: &TubeSet| match Tubes::new(
        Arc::new(geometry.clone()),
        grid.clone(),
        12.0,
        tubes,
    ) {
        Err(OperatorError::Unsuitable(reason)) => reason,
        Err(error) => panic!("{error}"),
        Ok(_) => panic!("it was taken"),
    };
    let spanned = ScanGeometry { segments: vec![Segment::full(-1, 1, 5)], ..(*geometry).clone() };
    assert_eq!(refused(&spanned, &fitting, &tubes), Misfit::Spanned);
    let wider = ScanGeometry { in_plane: InPlane::ArcCorrected { bin_mm: 1.501 }, ..(*geometry).clone() };
    assert!(matches!(refused(&wider, &fitting, &tubes), Misfit::OffLattice { across_mm: 1.5, .. }));
    let few = random_tubes(&scanner(5, 4, 13, 6), [9, 3, 7]);
    assert!(matches!(refused(&geometry, &fitting, &few), Misfit::Reach { tubes: [6, 4], .. }));
    let few = random_tubes(&scanner(4, 3, 15, 6), [9, 3, 7]);
    assert!(matches!(refused(&geometry, &fitting, &few), Misfit::Reach { data: [7, 4], .. }));
    let long = random_tubes(&geometry, [9, 3, 9]);
    assert_eq!(refused(&geometry, &fitting, &long), Misfit::AxialSamples { found: 9, most: 7 });
    let of_slices = |num: usize, slice_mm: f64| Grid::centred([17, 17, num], [1.5, 1.5, slice_mm]).unwrap();
    let slices = Misfit::Slices { half_ring_mm: 1.5 };
    assert_eq!(refused(&geometry, &of_slices(9, 1.6), &tubes), slices);
    assert_eq!(refused(&geometry, &of_slices(10, 1.5), &tubes), slices);
    assert_eq!(refused(&geometry, &of_slices(7, 1.5), &tubes), Misfit::FewSlices { found: 7, needed: 9 });
    let mut thin = tubes.clone();
    thin.sampling.spacing_mm[2] = 1.0;
    assert_eq!(refused(&geometry, &fitting, &thin), Misfit::AxialStep { tubes_mm: 1.0, slices_mm: 1.5 });
    assert!(Tubes::new(geometry, fitting, 12.0, &tubes).is_ok());
}

#[test]
fn a_stopped_task_ends_the_work() {
    let geometry = scanner(2, 1, 7, 3);
    let grid = grid(&geometry, [9, 9], [1.5, 1.5], 0);
    let fast = Tubes::new(Arc::clone(&geometry), grid, 6.0, &random_tubes(&geometry, [9, 3, 7])).unwrap();
    let task = Task::new();
    task.stop();
    let (mut x, mut q) = (Host.zeros(fast.voxels().len()).unwrap(), Host.zeros(geometry.num_bins()).unwrap());
    let forward = fast.apply(&mut Host, Subset::ALL, &x, &mut q, &task);
    let back = fast.adjoint(&mut Host, Subset::ALL, &q, Accumulation::Deterministic, &mut x, &task);
    assert!(matches!((forward, back), (Err(OperatorError::Stopped(_)), Err(OperatorError::Stopped(_)))));
}
