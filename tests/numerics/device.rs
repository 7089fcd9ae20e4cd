//! The CUDA back end against the host: every array operation and every kernel of every projector. Without a device these
//! tests say that they are skipped; with TOMOSCOPE_REQUIRE_CUDA=1 that is a failure.

use std::sync::Arc;

use strum::VariantArray as _;
use tomoscope::algebra::{Backend, Data, Host, HostArray, Image, Kind};
use tomoscope::cuda::{AxialRuns, BinDriven, CudaArray, CudaBackend, CudaError};
use tomoscope::data::{Counts, Michelogram, Roi, RoiMask, RoiRole, RoiShape, Volume};
use tomoscope::geometry::Grid;
use tomoscope::operator::{
    self, Accumulation, BinOrder, DataSpace, LinearOperator, OperatorError, OperatorLimit, Siddon, Subset, ViewProjector,
};
use tomoscope::recon::{Algorithm, EmKernels, EmSettings, MlemOsem, ProjectionModel, SubsetOrder};
use tomoscope::scanner::ScanGeometry;
use tomoscope::task::Task;

use super::support::{backward, dot, forward, geometry, noise, random_volume, relative, tiny, tiny_span_3};

/// The first device; `None`, said, where there is none and none is required.
pub fn device() -> Option<CudaBackend> {
    match CudaBackend::open(0) {
        Ok(device) => Some(device),
        Err(error) if std::env::var("TOMOSCOPE_REQUIRE_CUDA").is_ok_and(|value| value == "1") => panic!("{error}"),
        Err(error) => {
            println!("skipped: no CUDA device ({error})");
            None
        }
    }
}

fn upload<K: Kind>(device: &mut CudaBackend, values: &[f32]) -> CudaArray<K> {
    device.upload(Arc::new(values.to_vec())).unwrap()
}

fn read<K: Kind>(device: &mut CudaBackend, array: &CudaArray<K>) -> Vec<f32> {
    device.read(array, <[f32]>::to_vec).unwrap()
}

pub fn assert_same_bits(found: &[f32], expected: &[f32]) {
    assert_eq!(found.len(), expected.len());
    for (i, (found, expected)) in found.iter().zip(expected).enumerate() {
        assert!(found.to_bits() == expected.to_bits() || (found.is_nan() && expected.is_nan()), "{i}: {found} {expected}");
    }
}

#[test]
fn the_em_update_gives_the_bits_of_the_host() {
    let Some(mut device) = device() else { return };
    let len = 100_003;
    let (mut x, correction): (HostArray<Image>, HostArray<Image>) = (noise(1, len).into(), noise(2, len).into());
    let nasty = [0.0, -1.0, f32::NAN, f32::INFINITY, f32::MIN_POSITIVE, 1e-42];
    let sensitivity: Vec<f32> = nasty.into_iter().chain(noise(3, len)).take(len).collect();
    let mut on_device = upload(&mut device, &x);
    let [c, s] = [&correction[..], &sensitivity].map(|values| upload(&mut device, values));
    device.em_update(&mut on_device, &c, &s).unwrap();
    Host.em_update(&mut x, &correction, &sensitivity.into()).unwrap();
    assert!(x.iter().any(|&v| v > 1.0));
    assert_same_bits(&read(&mut device, &on_device), &x);
}

#[test]
fn array_operations_are_those_of_the_host() {
    let Some(mut device) = device() else { return };
    let len = 70_001;
    let (a, b) = (noise(4, len), noise(5, len));
    let mut x: CudaArray<Data> = upload(&mut device, &a);
    let y = upload(&mut device, &b);
    let (mut host_x, host_y): (HostArray<Data>, _) = (a.clone().into(), b.clone().into());
    device.multiply(&mut x, 7, &y, 11..50_000).unwrap();
    Host.multiply(&mut host_x, 7, &host_y, 11..50_000).unwrap();
    device.add_scaled(&mut x, 3, -0.3, &y, 0..60_000).unwrap();
    Host.add_scaled(&mut host_x, 3, -0.3, &host_y, 0..60_000).unwrap();
    assert_same_bits(&read(&mut device, &x), &host_x);
    let found = device.dot(&x, 5, &y, 100..len - 5).unwrap();
    let expected = Host.dot(&host_x, 5, &host_y, 100..len - 5).unwrap();
    assert!((found - expected).abs() <= 1e-9 * expected.abs(), "{found} {expected}");
    assert_eq!(device.dot(&x, 5, &y, 100..len - 5).unwrap().to_bits(), found.to_bits(), "the same bits on every run");
    assert_eq!(device.max(&x, 5..x.len()).unwrap(), host_x[5..].iter().copied().fold(f32::NEG_INFINITY, f32::max));
    device.fill(&mut x, -2.5).unwrap();
    assert_eq!(device.max(&x, 0..x.len()).unwrap(), -2.5);
    assert!(read(&mut device, &x).iter().all(|&v| v == -2.5));
}

#[test]
fn the_ratio_and_the_likelihood_are_those_of_the_host() {
    let Some(mut device) = device() else { return };
    let len = 40_007;
    let y: Vec<f32> = noise(6, len).iter().map(|v| (9.0 * v).floor()).collect();
    let e: Vec<f32> = noise(7, len).iter().map(|v| if *v < 0.1 { 0.0 } else { 8.0 * v }).collect();
    let measured = upload(&mut device, &y);
    let mut estimate = upload(&mut device, &e);
    let mut host_estimate = e.into();
    let range = 5..len - 2;
    let found = device.poisson_ratio(&measured, range.clone(), &mut estimate, 3).unwrap();
    let expected = Host.poisson_ratio(&y.into(), range, &mut host_estimate, 3).unwrap();
    assert_same_bits(&read(&mut device, &estimate), &host_estimate);
    assert!(expected.num_unexplained_bins > 1000 && expected.counts > 0.0);
    assert_eq!(found.num_unexplained_bins, expected.num_unexplained_bins);
    assert_eq!(found.counts, expected.counts);
    assert!((found.log_likelihood - expected.log_likelihood).abs() <= 1e-6 * expected.log_likelihood.abs());
    let sums = [[found.residual.squares, expected.residual.squares], [found.residual.expected, expected.residual.expected]];
    assert!(sums.iter().all(|[found, expected]| *expected > 0.0 && (found - expected).abs() <= 1e-9 * expected), "{sums:?}");
}

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

#[test]
fn regions_and_display_copies_are_those_of_the_host() {
    let Some(mut device) = device() else { return };
    let grid = Grid::centred([47, 40, 15], [3.0, 3.0, 2.5]).unwrap();
    let fast = AxialRuns::new(&device, geometry("small"), grid.clone(), 200.0, [1, 1]).unwrap();
    let volume = random_volume(&grid);
    let image = upload(&mut device, &fast.voxels().coefficients(&volume));
    let roi = |radius_mm: f64, x: f64| Roi {
        role: RoiRole::Background,
        ..Roi::new("sphere", RoiShape::Sphere { radius_mm }, [x, 1.0, 2.0])
    };
    let rois = [roi(20.0, 0.0), roi(6.0, 15.0), roi(1.0, 500.0)];
    let masks: Vec<RoiMask> = rois.iter().map(|roi| roi.mask(&grid)).collect();
    let on_device = device.masks(&masks, &|voxel| fast.voxels().place(voxel)).unwrap();
    let found = device.roi_sums(&image, &on_device).unwrap();
    for (found, mask) in found.iter().zip(&masks) {
        let expected = mask.sums(volume.as_slice());
        assert_eq!((found.num_voxels, found.min, found.max), (expected.num_voxels, expected.min, expected.max));
        for (a, b) in
            [(found.weight, expected.weight), (found.sum, expected.sum), (found.sum_of_squares, expected.sum_of_squares)]
        {
            assert!((a - b).abs() <= 1e-5 * b.abs(), "{a} {b}");
        }
    }
    assert!(found[0].num_voxels > 100 && found[2].num_voxels == 0);

    // Pictures of two moments, fetched in the other order on other threads; the slots come back.
    let mut display = device.display(grid.size, &|voxel| fast.voxels().place(voxel)).unwrap().unwrap();
    for _ in 0..3 {
        let mut other = upload(&mut device, &fast.voxels().coefficients(&volume));
        let first = device.begin_copy(&other, 1.0, &mut display).unwrap();
        device.fill(&mut other, 7.0).unwrap();
        let second = device.begin_copy(&other, 0.5, &mut display).unwrap();
        let (mut a, mut b) = (vec![0.0; grid.num_voxels()], vec![0.0; grid.num_voxels()]);
        std::thread::scope(|scope| {
            scope.spawn(|| second.fill(&mut b).unwrap());
            scope.spawn(|| first.fill(&mut a).unwrap());
        });
        assert_eq!(a, volume.as_slice());
        assert!(b.iter().all(|&v| v == 3.5));
        drop(device.begin_copy(&other, 1.0, &mut display).unwrap());
    }
}

/// One scan and grid.
struct Case {
    name: &'static str,
    geometry: Arc<ScanGeometry>,
    grid: Grid,
    fov_radius_mm: f64,
    rays: [usize; 2],
    subset: Subset,
}

fn case(name: &'static str, grid: Grid, fov_radius_mm: f64, rays: [usize; 2], subset: Subset) -> Case {
    let geometry = match name {
        "one ring" => tiny(1),
        "span 3" => tiny_span_3(),
        _ => geometry(name),
    };
    Case { name, geometry, grid, fov_radius_mm, rays, subset }
}

/// Even and odd sizes, one plane, spanned segments, several lines per bin, off the axis, beyond the detectors.
fn cases() -> Vec<Case> {
    let grid = |size, voxel_mm| Grid::centred(size, voxel_mm).unwrap();
    let part = |index, count| Subset { index, count };
    vec![
        case("small", grid([47, 47, 15], [3.0, 3.0, 2.5]), 69.0, [1, 1], part(0, 6)),
        case("small", grid([48, 48, 16], [3.0, 3.0, 2.5]), 72.0, [1, 1], part(0, 12)),
        case("small", grid([40, 52, 5], [3.0, 3.0, 2.5]), 200.0, [1, 2], part(1, 12)),
        case("small", grid([47, 47, 15], [3.0, 3.0, 2.5]), 50.0, [2, 1], part(0, 12)),
        case("small", grid([33, 20, 1], [4.0, 5.0, 2.5]), 200.0, [1, 1], part(0, 4)),
        case("small", grid([20, 20, 31], [7.0, 7.0, 1.25]), 69.0, [1, 1], part(0, 12)),
        case("small", Grid::new([47, 47, 9], [3.0, 3.0, 2.5], [-60.0, -75.0, -3.1]).unwrap(), 69.0, [1, 1], part(0, 12)),
        case("small", grid([61, 61, 41], [5.0, 5.0, 2.5]), 400.0, [1, 1], part(0, 12)),
        case("small", grid([24, 24, 81], [6.0, 6.0, 2.5]), 72.0, [1, 1], part(0, 24)),
        case("span 3", grid([15, 15, 15], [5.0, 5.0, 3.0]), 37.5, [1, 1], Subset::ALL),
        case("span 3", grid([16, 16, 29], [5.0, 5.0, 1.5]), 37.5, [1, 2], Subset::ALL),
        case("one ring", grid([15, 15, 1], [5.0, 5.0, 6.0]), 37.5, [1, 1], Subset::ALL),
        case("ecat-931", grid([64, 64, 15], [8.0, 8.0, 6.75]), 250.0, [1, 2], part(3, 64)),
        case("discovery-ste", grid([64, 64, 47], [10.9375, 10.9375, 3.27]), 350.0, [1, 1], part(0, 140)),
    ]
}

/// Where each value of an operator's data of a subset lies in data `[view][tangential_pos][plane]` of that subset.
fn places(operator: &impl ViewProjector<CudaBackend>, case: &Case) -> Vec<usize> {
    let count = case.subset.count;
    let view_len = operator.views().view_len();
    // Numbers beyond 2^24 are not exact in f32: a view's number and a bin's are told apart.
    let numbered = |value: &dyn Fn(usize) -> usize| {
        let counts = (0..case.geometry.num_bins()).map(|bin| value(bin) as f32).collect();
        operator.views().arranged(&Arc::new(counts), count)
    };
    let (views, bins) = (numbered(&|bin| bin / view_len), numbered(&|bin| bin % view_len));
    let range = operator.views().pieces(case.subset).remove(0).1;
    let subset_view = |view: f32| (view as usize - case.subset.index) / count;
    range.map(|at| subset_view(views[at]) * view_len + bins[at] as usize).collect()
}

/// Compares an operator on the device with the definition, in every way of adding that loses nothing; adjointness too.
fn compare(device: &mut CudaBackend, operator: &impl ViewProjector<CudaBackend>, name: &str, case: &Case) {
    let Case { geometry, grid, fov_radius_mm, rays, subset, .. } = case;
    let plain = Siddon::new(Arc::clone(geometry), grid.clone(), *fov_radius_mm, *rays);
    let volume = random_volume(grid);
    let expected = forward(&plain, *subset, &volume);
    let q = noise(11, expected.len());
    let spread = backward(&plain, *subset, q.clone(), Accumulation::Deterministic, grid);
    let places = places(operator, case);
    let arranged: Vec<f32> = places.iter().map(|&place| q[place]).collect();
    let task = Task::new();

    let x = upload(device, &operator.voxels().coefficients(&volume));
    let mut data = upload(device, &vec![f32::NAN; arranged.len()]);
    operator.apply(device, *subset, &x, &mut data, &task).unwrap();
    let projected = read(device, &data);
    let mut in_order = vec![0.0; projected.len()];
    places.iter().zip(&projected).for_each(|(&place, &value)| in_order[place] = value);
    let there = relative(&in_order, &expected);
    assert!(there <= 1e-4, "{name}, {}: forward {there:.1e}", case.name);

    let q = upload(device, &arranged);
    for accumulation in [Accumulation::Atomic, Accumulation::Deterministic] {
        let mut image = upload(device, &vec![f32::NAN; operator.voxels().len()]);
        operator.adjoint(device, *subset, &q, accumulation, &mut image, &task).unwrap();
        let image = read(device, &image);
        let mut back = Volume::filled(grid.clone(), 0.0);
        operator.voxels().write(&image, 1.0, &mut back);
        let error = relative(back.as_slice(), spread.as_slice());
        let (left, right) = (dot(&projected, &arranged), dot(&read(device, &x), &image));
        let mismatch = (left - right).abs() / left;
        println!(
            "{name}, {} {:?} rays {rays:?}, {accumulation}: forward {there:.1e}, back {error:.1e}, adjoint {mismatch:.1e}",
            case.name, grid.size
        );
        assert!(left > 0.0 && error <= 1e-4 && mismatch <= 1e-5);
        if accumulation == Accumulation::Deterministic {
            let mut again = device.zeros(operator.voxels().len()).unwrap();
            operator.adjoint(device, *subset, &q, accumulation, &mut again, &task).unwrap();
            assert_same_bits(&read(device, &again), &image);
        }
    }
}

#[test]
fn axial_runs_are_the_definition_and_adjoint() {
    let Some(mut device) = device() else { return };
    for case in cases() {
        let fast = AxialRuns::new(&device, Arc::clone(&case.geometry), case.grid.clone(), case.fov_radius_mm, case.rays);
        match fast {
            Ok(fast) => compare(&mut device, &fast, "axial-runs", &case),
            Err(OperatorError::Unsuitable(why)) => println!("axial-runs, {}: {why}", case.name),
            Err(error) => panic!("{error}"),
        }
    }
}

#[test]
fn bin_driven_kernels_are_the_definition_and_adjoint_in_every_order() {
    let Some(mut device) = device() else { return };
    for case in cases() {
        for &order in BinOrder::VARIANTS {
            let Case { geometry, grid, fov_radius_mm, rays, .. } = &case;
            let new = BinDriven::new(&device, Arc::clone(geometry), grid.clone(), *fov_radius_mm, *rays, None);
            compare(&mut device, &new.unwrap().with_order(order), &order.to_string(), &case);
        }
    }
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
        let (q, mut image) = (upload(device, q), device.zeros(image_len).unwrap());
        operator.adjoint(device, subset, &q, Accumulation::Deterministic, &mut image, &Task::new()).unwrap();
        read(device, &image)
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
    for case in cases().into_iter().take(4) {
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

#[test]
fn a_stopped_task_stops_a_projection() {
    let Some(mut device) = device() else { return };
    let grid = Grid::centred([47, 47, 15], [3.0, 3.0, 2.5]).unwrap();
    let fast = AxialRuns::new(&device, geometry("small"), grid, 69.0, [1, 1]).unwrap();
    let x = device.zeros(fast.voxels().len()).unwrap();
    let mut data = device.zeros(fast.views().len(Subset::ALL)).unwrap();
    let task = Task::new();
    task.stop();
    let outcome = fast.apply(&mut device, Subset::ALL, &x, &mut data, &task);
    assert!(matches!(outcome, Err(OperatorError::Stopped(_))), "{outcome:?}");
}
