//! Projection onto events on a CUDA device against the host.

use std::sync::Arc;

use tomoscope::algebra::{Backend, Data, Host, HostArray, Image};
use tomoscope::cuda::{self, CudaArray, CudaBackend};
use tomoscope::data::{Attenuation, AttenuationMap, Events, ListMetadata, TofMeasurement, Volume};
use tomoscope::geometry::Grid;
use tomoscope::operator::{Accumulation, DataSpace, EventLines, EventOrder, EventProjector, LinearOperator, Measured, Subset};
use tomoscope::plan::{DeviceChoice, SensitivitySettings, list_sensitivity};
use tomoscope::recon::{Algorithm, EmKernels, EmSettings, ListModel, MlemOsem, SubsetOrder};
use tomoscope::scanner::{self, Detectors, PairRays};
use tomoscope::task::Task;

use super::device::{assert_same_bits, assert_the_same_bits_from_every_operator, device};
use super::events::{Tof, crowded_events, data_of_several, detectors, pair_rays, random_events, several_volumes, tof};
use super::replicates::{grid_of_lists, image_of_list, listed_terms, terms_of_events};
use super::support::{dot, noise, random_volume, relative};

const FOV_MM: f64 = 69.0;

/// A x in the order of the device's events.
fn project(device: &mut CudaBackend, operator: &cuda::EventLines, subset: Subset, volume: &Volume) -> Vec<f32> {
    let x: CudaArray<Image> = device.upload(Arc::new(operator.voxels().coefficients(volume))).unwrap();
    let mut out: CudaArray<Data> = device.zeros(operator.space().len(subset)).unwrap();
    device.fill(&mut out, f32::NAN).unwrap();
    operator.apply(device, subset, &x, &mut out, &Task::new()).unwrap();
    device.read(&out, <[f32]>::to_vec).unwrap()
}

/// Aᵀ q as a volume.
fn backproject(
    device: &mut CudaBackend,
    operator: &cuda::EventLines,
    subset: Subset,
    q: &[f32],
    accumulation: Accumulation,
) -> Volume {
    let q: CudaArray<Data> = device.upload(Arc::new(q.to_vec())).unwrap();
    let mut out: CudaArray<Image> = device.zeros(operator.voxels().len()).unwrap();
    device.fill(&mut out, f32::NAN).unwrap();
    operator.adjoint(device, subset, &q, accumulation, &mut out, &Task::new()).unwrap();
    let mut volume = Volume::filled(operator.voxels().grid().clone(), 0.0);
    device.read(&out, |values| operator.voxels().write(values, 1.0, &mut volume)).unwrap();
    volume
}

fn on_host(operator: &EventLines, subset: Subset, volume: &Volume, q: &[f32]) -> (Vec<f32>, Vec<f32>) {
    let x: HostArray<Image> = operator.voxels().coefficients(volume).into();
    let mut there: HostArray<Data> = Host.zeros(q.len()).unwrap();
    operator.apply(&mut Host, subset, &x, &mut there, &Task::new()).unwrap();
    let mut back: HostArray<Image> = Host.zeros(operator.voxels().len()).unwrap();
    let q = q.to_vec().into();
    operator.adjoint(&mut Host, subset, &q, Accumulation::Deterministic, &mut back, &Task::new()).unwrap();
    (there.into_values(), back.into_values())
}

/// The device's A and Aᵀ of events against the host's definition, and against each other.
fn assert_as_on_the_host(device: &mut CudaBackend, grid: &Grid, num_rays: usize, events: &Arc<Events>, order: EventOrder) {
    let (detectors, tof) = (detectors(), tof(30.0));
    let host =
        EventLines::new(Arc::clone(events), &detectors, Some(&tof), grid.clone(), FOV_MM, pair_rays(num_rays), order).unwrap();
    let host = host.plain();
    let new = cuda::EventLines::new(
        device,
        Arc::clone(events),
        &detectors,
        Some(&tof),
        grid.clone(),
        FOV_MM,
        pair_rays(num_rays),
        order,
    );
    let operator = new.unwrap();
    let volume = random_volume(grid);
    for subset in [Subset::ALL, Subset { index: 2, count: 7 }] {
        let q = noise(8, host.space().len(subset));
        let (there, back) = on_host(&host, subset, &volume, &q);
        let found = project(device, &operator, subset, &volume);
        let error = relative(&found, &there);
        println!("{:?}, {num_rays} rays, {order:?}: forward {error:.1e}", grid.size);
        assert!(error <= 1e-5);
        for accumulation in [Accumulation::Atomic, Accumulation::Deterministic] {
            let found = backproject(device, &operator, subset, &q, accumulation);
            let error = relative(found.as_slice(), &back);
            println!("    back, {accumulation}: {error:.1e}");
            assert!(error <= 1e-5);
        }
        // ⟨A x, q⟩ = ⟨x, Aᵀ q⟩ of the device's own pair.
        let mut seen = Volume::filled(grid.clone(), 0.0);
        host.voxels().write(&host.voxels().coefficients(&volume), 1.0, &mut seen);
        let back = backproject(device, &operator, subset, &q, Accumulation::Atomic);
        let (a, b) = (dot(&found, &q), dot(seen.as_slice(), back.as_slice()));
        assert!((a - b).abs() <= 1e-5 * a, "{a} {b}");
    }
}

fn grids() -> [Grid; 2] {
    [Grid::centred([47, 47, 15], [3.0, 3.0, 2.5]).unwrap(), Grid::centred([48, 40, 16], [3.0, 3.5, 2.5]).unwrap()]
}

#[test]
fn events_on_the_device_are_those_of_the_host() {
    let Some(mut device) = device() else { return };
    let grids = grids();
    for (grid, num_rays) in grids.iter().zip([1, 5]).chain([(&grids[1], 1)]) {
        for known in [Tof::No, Tof::Numbers, Tof::Bins] {
            let events = Arc::new(random_events(20_000, known));
            for order in [EventOrder::ByLine, EventOrder::AsWritten] {
                assert_as_on_the_host(&mut device, grid, num_rays, &events, order);
            }
        }
    }
}

#[test]
fn beams_of_events_on_the_device_are_those_of_the_host() {
    let Some(mut device) = device() else { return };
    let events = Arc::new(crowded_events(40_000));
    // Along faces of voxels in all directions, and rows of voxels that events rise through faster than they cross columns.
    let flat = Grid::centred([21, 20, 160], [7.0, 7.0, 0.25]).unwrap();
    for grid in grids().iter().chain([&flat]) {
        for num_rays in [1, 5] {
            assert_as_on_the_host(&mut device, grid, num_rays, &events, EventOrder::default());
        }
    }
}

#[test]
fn an_event_of_huge_weight_leaves_those_of_its_beam_their_digits() {
    let Some(mut device) = device() else { return };
    let events = Arc::new(crowded_events(40_000));
    let grid = grids()[0].clone();
    let order = EventOrder::default();
    let host =
        EventLines::new(Arc::clone(&events), &detectors(), None, grid.clone(), FOV_MM, PairRays::ONE, order).unwrap().plain();
    let operator =
        cuda::EventLines::new(&mut device, Arc::clone(&events), &detectors(), None, grid, FOV_MM, PairRays::ONE, order).unwrap();
    let mut q = noise(8, events.len());
    let volume = random_volume(operator.voxels().grid());
    // One of every 997 outweighs all others: compared is where none of these passes.
    let huge: Vec<f32> = (0..q.len()).map(|i| if i % 997 == 0 { 1e7 } else { 0.0 }).collect();
    q.iter_mut().zip(&huge).for_each(|(q, huge)| *q += huge);
    let coefficients = |values: Vec<f32>| {
        let mut volume = Volume::filled(operator.voxels().grid().clone(), 0.0);
        host.voxels().write(&values, 1.0, &mut volume);
        volume
    };
    let expected = coefficients(on_host(&host, Subset::ALL, &volume, &q).1);
    let outliers = coefficients(on_host(&host, Subset::ALL, &volume, &huge).1);
    for accumulation in [Accumulation::Atomic, Accumulation::Deterministic] {
        let found = backproject(&mut device, &operator, Subset::ALL, &q, accumulation);
        let is_free = |voxel: &usize| outliers.as_slice()[*voxel] == 0.0 && expected.as_slice()[*voxel] > 0.0;
        let free: Vec<usize> = (0..expected.as_slice().len()).filter(is_free).collect();
        let [found, expected] =
            [&found, &expected].map(|image| free.iter().map(|voxel| image.as_slice()[*voxel]).collect::<Vec<f32>>());
        let error = relative(&found, &expected);
        println!("{accumulation}: {} voxels without outliers, {error:.1e}", free.len());
        assert!(free.len() > 100 && error <= 1e-3, "{accumulation}: {error}");
    }
}

#[test]
fn deterministic_sums_over_beams_have_the_same_bits() {
    let Some(mut device) = device() else { return };
    let events = Arc::new(crowded_events(300_000));
    for order in [EventOrder::ByLine, EventOrder::AsWritten] {
        let grid = grids()[0].clone();
        let operator =
            cuda::EventLines::new(&mut device, Arc::clone(&events), &detectors(), None, grid, FOV_MM, PairRays::ONE, order)
                .unwrap();
        let q = noise(3, events.len());
        let first = backproject(&mut device, &operator, Subset::ALL, &q, Accumulation::Deterministic);
        assert!(first.sum() > 0.0);
        for _ in 0..3 {
            let again = backproject(&mut device, &operator, Subset::ALL, &q, Accumulation::Deterministic);
            assert!(again.as_slice().iter().zip(first.as_slice()).all(|(a, b)| a.to_bits() == b.to_bits()), "{order:?}");
        }
        // Weights of 0, and of the smallest numbers that there are.
        let none = backproject(&mut device, &operator, Subset::ALL, &vec![0.0; q.len()], Accumulation::Atomic);
        assert_eq!(none.sum(), 0.0);
        let tiny: Vec<f32> = q.iter().map(|q| 1e-30 * q).collect();
        let small = backproject(&mut device, &operator, Subset::ALL, &tiny, Accumulation::Atomic);
        let scaled: Vec<f32> = small.as_slice().iter().map(|value| 1e30 * value).collect();
        assert!(relative(&scaled, first.as_slice()) <= 1e-5);
    }
}

#[test]
fn deterministic_sums_over_events_have_the_same_bits_and_races_lose() {
    let Some(mut device) = device() else { return };
    let events = Arc::new(random_events(300_000, Tof::Bins));
    let grid = Grid::centred([47, 47, 15], [3.0, 3.0, 2.5]).unwrap();
    let order = EventOrder::default();
    let new = cuda::EventLines::new(
        &mut device,
        Arc::clone(&events),
        &detectors(),
        Some(&tof(30.0)),
        grid,
        FOV_MM,
        PairRays::ONE,
        order,
    );
    let operator = new.unwrap();
    let q = noise(3, events.len());
    let first = backproject(&mut device, &operator, Subset::ALL, &q, Accumulation::Deterministic);
    for _ in 0..3 {
        let again = backproject(&mut device, &operator, Subset::ALL, &q, Accumulation::Deterministic);
        assert!(again.as_slice().iter().zip(first.as_slice()).all(|(a, b)| a.to_bits() == b.to_bits()));
    }
    let racy = backproject(&mut device, &operator, Subset::ALL, &q, Accumulation::NonAtomic).sum();
    println!("the race lost {:.1} %", 100.0 * (1.0 - racy / first.sum()));
    assert!(racy < 0.999 * first.sum());
}

/// Beams and single events, with time of flight and without.
#[test]
fn deterministic_sums_over_events_have_the_same_bits_from_operators_made_anew() {
    let Some(mut device) = device() else { return };
    let (tof, rays) = (tof(30.0), PairRays::ONE);
    for (events, tof, order) in [
        (crowded_events(100_000), None, EventOrder::ByLine),
        (crowded_events(100_000), None, EventOrder::AsWritten),
        (random_events(100_000, Tof::Bins), Some(&tof), EventOrder::default()),
        (random_events(100_000, Tof::Numbers), Some(&tof), EventOrder::AsWritten),
    ] {
        let events = Arc::new(events);
        let make = |device: &mut CudaBackend| {
            cuda::EventLines::new(device, Arc::clone(&events), &detectors(), tof, grids()[0].clone(), FOV_MM, rays, order)
                .unwrap()
        };
        let image_len = make(&mut device).voxels().len();
        assert_the_same_bits_from_every_operator(&mut device, make, Subset::ALL, [image_len, events.len()]);
    }
}

/// Several images at once on the device against the host's definition.
#[test]
fn several_images_at_once_on_the_device_are_those_of_the_host() {
    let Some(mut device) = device() else { return };
    let (detectors, tof, order) = (detectors(), tof(30.0), EventOrder::default());
    for (known, num_rays) in [(Tof::Bins, 1), (Tof::Numbers, 5)] {
        let grid = grids()[0].clone();
        let events = Arc::new(random_events(20_000, known));
        let rays = pair_rays(num_rays);
        let host =
            EventLines::new(Arc::clone(&events), &detectors, Some(&tof), grid.clone(), FOV_MM, rays, order).unwrap().plain();
        let operator =
            cuda::EventLines::new(&mut device, Arc::clone(&events), &detectors, Some(&tof), grid.clone(), FOV_MM, rays, order)
                .unwrap();
        let num_at_once = operator.num_at_once(Accumulation::Atomic);
        println!("{num_at_once} images at once");
        assert_eq!(operator.num_at_once(Accumulation::Deterministic), 1);
        for (num_images, accumulation) in
            [(4, Accumulation::Atomic), (3, Accumulation::Atomic), (2, Accumulation::Atomic), (2, Accumulation::Deterministic)]
        {
            for subset in [Subset::ALL, Subset { index: 2, count: 7 }] {
                let volumes = several_volumes(num_images, &grid);
                let q = data_of_several(num_images, host.space().len(subset));
                let x: Vec<CudaArray<Image>> = volumes
                    .iter()
                    .map(|volume| device.upload(Arc::new(operator.voxels().coefficients(volume))).unwrap())
                    .collect();
                let data: Vec<CudaArray<Data>> = q.iter().map(|q| device.upload(Arc::new(q.clone())).unwrap()).collect();
                let counts = device.zeros(events.len()).unwrap();
                let measured: Vec<Measured<'_, CudaBackend>> =
                    x.iter().map(|_| Measured { values: &counts, pieces: &[] }).collect();
                let mut there: Vec<CudaArray<Data>> = q.iter().map(|q| device.zeros(q.len()).unwrap()).collect();
                let mut back: Vec<CudaArray<Image>> = x.iter().map(|_| device.zeros(operator.voxels().len()).unwrap()).collect();
                there.iter_mut().for_each(|there| device.fill(there, f32::NAN).unwrap());
                back.iter_mut().for_each(|back| device.fill(back, f32::NAN).unwrap());
                let images: Vec<&CudaArray<Image>> = x.iter().collect();
                let out = &mut there.iter_mut().collect::<Vec<_>>();
                operator.expect_each(&mut device, subset, &images, &measured, out, &Task::new()).unwrap();
                let data: Vec<&CudaArray<Data>> = data.iter().collect();
                let out = &mut back.iter_mut().collect::<Vec<_>>();
                operator.adjoint_each(&mut device, subset, &data, accumulation, out, &Task::new()).unwrap();
                for image in 0..num_images {
                    let expected = on_host(&host, subset, &volumes[image], &q[image]);
                    let mut volume = Volume::filled(grid.clone(), 0.0);
                    device.read(&back[image], |values| operator.voxels().write(values, 1.0, &mut volume)).unwrap();
                    let found = device.read(&there[image], <[f32]>::to_vec).unwrap();
                    let errors = [relative(&found, &expected.0), relative(volume.as_slice(), &expected.1)];
                    println!("{known:?}, image {image} of {num_images}, {accumulation}: {:.1e}, {:.1e}", errors[0], errors[1]);
                    assert!(errors.iter().all(|error| *error <= 1e-5));
                }
            }
        }
    }
}

/// Replicates of a list that share their paths on the device, against those of the host.
#[test]
fn replicates_of_a_list_on_the_device_are_those_of_the_host() {
    let Some(mut backend) = device() else { return };
    let (events, grid) = (Arc::new(random_events(20_000, Tof::Bins)), grid_of_lists());
    let (facts, order, values) = (tof(30.0), EventOrder::default(), terms_of_events(20_000));
    let settings = EmSettings {
        subset_order: SubsetOrder::Spaced,
        accumulation: Accumulation::Atomic,
        sensitivity_accumulation: Accumulation::Atomic,
        racy_sensitivity: false,
    };
    let terms = listed_terms(&values, true);
    let ones = Volume::filled(grid.clone(), 3.0);
    let host =
        EventLines::new(Arc::clone(&events), &detectors(), Some(&facts), grid.clone(), 60.0, PairRays::ONE, order).unwrap();
    let (voxels, space) = (host.voxels().clone(), host.space().clone());
    let sensitivity = Arc::new(voxels.coefficients(&ones));
    let model = ListModel::new(&mut Host, host, space.clone(), space, terms, sensitivity, 2).unwrap();
    let mut host = MlemOsem::new(Host, voxels, model, settings, None).unwrap();
    let lines =
        cuda::EventLines::new(&mut backend, Arc::clone(&events), &detectors(), Some(&facts), grid, 60.0, PairRays::ONE, order)
            .unwrap();
    let (voxels, space) = (lines.voxels().clone(), lines.space().clone());
    let sensitivity = Arc::new(voxels.coefficients(&ones));
    let model = ListModel::new(&mut backend, lines, space.clone(), space, terms, sensitivity, 2).unwrap();
    let mut device = MlemOsem::new(backend, voxels, model, settings, None).unwrap();
    for _ in 0..4 {
        host.step(&Task::new()).unwrap();
        device.step(&Task::new()).unwrap();
    }
    for replicate in [None].into_iter().chain((0..device.num_replicates()).map(Some)) {
        let error = relative(&image_of_list(&mut device, replicate), &image_of_list(&mut host, replicate));
        println!("{replicate:?}: {error:.1e}");
        assert!(error <= 1e-4);
    }
}

#[test]
fn data_of_pairs_are_those_of_the_host() {
    let Some(mut device) = device() else { return };
    let table = noise(6, 5000);
    let rows: Vec<[u32; 2]> = (0..701).map(|i| [i % 400, 399 - i % 397]).collect();
    let columns: Vec<[u32; 2]> = (0..97).map(|i| [i * 47, 4600 - i * 45]).collect();
    let found = device.pair_products(&table, &rows, &columns).unwrap();
    let expected = Host.pair_products(&table, &rows, &columns).unwrap();
    assert_eq!(expected.len(), 701 * 97);
    assert_eq!(expected[97 + 2], table[1 + 94] * table[398 + 4510]);
    assert_same_bits(&device.read(&found, <[f32]>::to_vec).unwrap(), &expected);
    assert!(device.pair_products(&table[..4990], &rows, &columns).is_err());
    assert!(Host.pair_products(&table[..4990], &rows, &columns).is_err());
}

#[test]
fn the_sensitivity_of_pairs_one_after_the_other_is_that_of_the_host() {
    if device().is_none() {
        return;
    }
    let near = TofMeasurement { fwhm_mm: 20.0, window_mm: [-20.0, 20.0], ..TofMeasurement::default() };
    // Several rays side by side, or a window that ends in the image: all planes at once would not do.
    for (tof, rays) in [(None, pair_rays(3)), (Some(near), PairRays::ONE)] {
        let facts = ListMetadata { tof, ..ListMetadata::new("test", Arc::new(detectors())) };
        let [host, device] = [DeviceChoice::Cpu, DeviceChoice::Cuda(0)].map(|device| {
            let settings = SensitivitySettings { grid: grids()[0].clone(), fov_radius_mm: 60.0, rays, device };
            list_sensitivity(&facts, &settings, &Task::new()).unwrap()
        });
        assert!(!host.is_of_planes && !device.is_of_planes && host.num_pairs == device.num_pairs);
        let error = relative(device.volume.as_slice(), host.volume.as_slice());
        assert!(host.volume.sum() > 0.0 && error <= 1e-6, "{error}");
    }
}

#[test]
fn the_sensitivity_of_all_planes_has_the_same_bits_in_each_run() {
    if device().is_none() {
        return;
    }
    let geometry = &scanner::find("small").unwrap().geometry;
    let detectors = Arc::new(Detectors::of_cylinder(geometry).unwrap());
    let grid = Grid::centred([64, 64, 15], [2.0, 2.0, 2.5]).unwrap();
    let map = AttenuationMap { file: "map.nii".into(), per_mm: Volume::filled(grid.clone(), 0.0096), ct: None };
    for attenuation in [Attenuation::Untold, Attenuation::Maps(vec![Arc::new(map)])] {
        let facts = ListMetadata { attenuation, ..ListMetadata::new("test", Arc::clone(&detectors)) };
        let run = || {
            let (rays, device) = (PairRays::ONE, DeviceChoice::Cuda(0));
            let settings = SensitivitySettings { grid: grid.clone(), fov_radius_mm: 60.0, rays, device };
            list_sensitivity(&facts, &settings, &Task::new()).unwrap()
        };
        let runs = [run(), run(), run()];
        assert!(runs.iter().all(|run| run.is_of_planes && run.volume.sum() > 0.0));
        runs.iter().for_each(|run| assert_same_bits(run.volume.as_slice(), runs[0].volume.as_slice()));
    }
}
