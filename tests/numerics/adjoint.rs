//! ⟨A x, y⟩ = ⟨x, Aᵀ y⟩ for every operator and for the composed model; and what the three ways of adding promise.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tomoscope::algebra::{Backend, Host, HostArray, Image, Simd};
use tomoscope::data::{Counts, Michelogram};
use tomoscope::geometry::Grid;
use tomoscope::operator::{Accumulation, AxialRuns, Siddon, Subset, ViewProjector};
use tomoscope::recon::{ForwardModel, ProjectionModel, Step};
use tomoscope::task::Task;

use super::support::{backward, dot, forward, geometry, noise, random_volume, relative};

/// |⟨A x, y⟩ − ⟨x, Aᵀ y⟩| / ⟨A x, y⟩. The image is restricted to the field of view, as every image of a run is.
fn mismatch(operator: &impl ViewProjector<Host>, subset: Subset, accumulation: Accumulation, grid: &Grid) -> f64 {
    let mut x = random_volume(grid);
    let restricted = operator.voxels().coefficients(&x);
    operator.voxels().write(&restricted, 1.0, &mut x);
    let projected = forward(operator, subset, &x);
    let y = noise(5, projected.len());
    let there = dot(&projected, &y);
    let back = dot(x.as_slice(), backward(operator, subset, y, accumulation, grid).as_slice());
    assert!(there > 0.0);
    (there - back).abs() / there
}

#[test]
fn every_projector_is_the_adjoint_of_its_backprojection() {
    let cases = [
        ("small", Grid::centred([47, 47, 15], [3.0, 3.0, 2.5]).unwrap(), 69.0, [1, 1], Subset { index: 0, count: 4 }),
        ("small", Grid::centred([48, 40, 9], [3.0, 3.5, 2.5]).unwrap(), 40.0, [2, 2], Subset { index: 5, count: 6 }),
        ("ecat-931", Grid::centred([50, 50, 15], [10.0, 10.0, 6.75]).unwrap(), 245.0, [1, 2], Subset { index: 7, count: 16 }),
    ];
    for (scanner, grid, fov_radius_mm, rays, subset) in cases {
        let plain = Siddon::new(geometry(scanner), grid.clone(), fov_radius_mm, rays);
        for accumulation in [Accumulation::Deterministic, Accumulation::Atomic] {
            let error = mismatch(&plain, subset, accumulation, &grid);
            println!("per-lor, {scanner}, {accumulation}: {error:.1e}");
            assert!(error <= 1e-5);
            for simd in Simd::available() {
                let fast = AxialRuns::new(geometry(scanner), grid.clone(), fov_radius_mm, rays).unwrap().with_simd(simd);
                let error = mismatch(&fast, subset, accumulation, &grid);
                println!("axial-runs ({}), {scanner}, {accumulation}: {error:.1e}", simd.name());
                assert!(error <= 1e-5);
            }
        }
    }
}

#[test]
fn the_model_with_corrections_is_the_adjoint_of_its_backprojection() {
    let geometry = geometry("small");
    let grid = Grid::centred([47, 47, 15], [3.0, 3.0, 2.5]).unwrap();
    let data = |seed| Michelogram::new(Arc::clone(&geometry), noise(seed, geometry.num_bins())).unwrap();
    let study = Counts::new(data(1)).with_corrections(Some(data(2)), Some(data(3))).unwrap();
    let operator = AxialRuns::new(Arc::clone(&geometry), grid.clone(), 69.0, [1, 1]).unwrap();
    let (voxels, views) = (operator.voxels().clone(), operator.views().clone());
    let mut model = ProjectionModel::new(&mut Host, operator, views, &study, 4).unwrap();
    let task = Task::new();
    for subset in 0..4 {
        let x: HostArray<Image> = voxels.coefficients(&random_volume(&grid)).into();
        let nothing = Host.zeros(voxels.len()).unwrap();
        let len = ForwardModel::<Host>::data_len(&model, subset);
        let mut of_x = Host.zeros(len).unwrap();
        let mut of_nothing = Host.zeros(len).unwrap();
        let step = &mut Step { backend: &mut Host, subset, accumulation: Accumulation::Deterministic, task: &task };
        model.forward(step, &x, &mut of_x).unwrap();
        model.forward(step, &nothing, &mut of_nothing).unwrap();
        assert!(of_nothing.iter().any(|&a| a > 0.0), "the additive term is there without activity");
        let linear: Vec<f32> = of_x.iter().zip(of_nothing.iter()).map(|(a, b)| a - b).collect();
        let y = noise(9, linear.len());
        let there = dot(&linear, &y);
        let mut q = y.clone().into();
        let mut image = Host.zeros(voxels.len()).unwrap();
        model.adjoint(step, &mut q, &mut image).unwrap();
        let error = (there - dot(&x, &image)).abs() / there;
        assert!(error <= 1e-5, "subset {subset}: {error:.1e}");
    }
}

#[test]
fn deterministic_sums_have_the_same_bits_for_any_number_of_threads_and_atomic_ones_agree() {
    let grid = Grid::centred([47, 47, 15], [3.0, 3.0, 2.5]).unwrap();
    let plain = Siddon::new(geometry("small"), grid.clone(), 69.0, [1, 1]);
    let fast = AxialRuns::new(geometry("small"), grid.clone(), 69.0, [1, 1]).unwrap();
    let q = noise(3, plain.views().len(Subset::ALL));
    let with_threads = |threads: usize, accumulation: Accumulation| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            [
                backward(&plain, Subset::ALL, q.clone(), accumulation, &grid),
                backward(&fast, Subset::ALL, q.clone(), accumulation, &grid),
            ]
        })
    };
    let one = with_threads(1, Accumulation::Deterministic);
    for threads in [2, 3, 8] {
        for (a, b) in with_threads(threads, Accumulation::Deterministic).iter().zip(&one) {
            assert!(a.as_slice().iter().zip(b.as_slice()).all(|(a, b)| a.to_bits() == b.to_bits()), "{threads} threads");
        }
    }
    for (a, b) in with_threads(4, Accumulation::Atomic).iter().zip(&one) {
        assert!(relative(a.as_slice(), b.as_slice()) <= 1e-5);
    }
}

#[test]
fn the_race_loses_updates() {
    // Some 10⁵ additions to each of four voxels in f32, in whatever order.
    const ROUNDING: f64 = 1e-4;
    if std::thread::available_parallelism().map_or(1, usize::from) < 2 {
        println!("skipped: fewer than two cores");
        return;
    }
    // A few voxels that every line crosses, so that threads meet all the time.
    let grid = Grid::centred([2, 2, 1], [40.0, 40.0, 60.0]).unwrap();
    let operator = Siddon::new(geometry("small"), grid.clone(), 100.0, [1, 1]);
    let ones = vec![1.0; operator.views().len(Subset::ALL)];
    let exact = backward(&operator, Subset::ALL, ones.clone(), Accumulation::Deterministic, &grid).sum();
    let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    let start = Instant::now();
    let mut runs = 0;
    while start.elapsed() < Duration::from_secs(120) {
        runs += 1;
        let racy = pool.install(|| backward(&operator, Subset::ALL, ones.clone(), Accumulation::NonAtomic, &grid).sum());
        assert!(racy <= exact * (1.0 + ROUNDING), "a race cannot add: {racy} of {exact}");
        let atomic = pool.install(|| backward(&operator, Subset::ALL, ones.clone(), Accumulation::Atomic, &grid).sum());
        assert!((atomic - exact).abs() <= ROUNDING * exact, "atomic additions all arrive: {atomic} of {exact}");
        if racy < exact * (1.0 - 10.0 * ROUNDING) {
            println!("lost {:.2} % in run {runs}", 100.0 * (1.0 - racy / exact));
            return;
        }
    }
    panic!("no update was lost in {runs} runs");
}
