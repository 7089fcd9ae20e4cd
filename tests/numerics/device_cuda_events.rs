//! Projection onto events on a CUDA device: sums in fixed point, the race, several images at once.

use std::sync::Arc;

use tomoscope::algebra::{Backend, Data, Host, Image};
use tomoscope::cuda::{CudaArray, CudaBackend};
use tomoscope::data::{Attenuation, AttenuationMap, ListMetadata, Volume};
use tomoscope::geometry::Grid;
use tomoscope::operator::{Accumulation, DataSpace, EventLines, EventOrder, EventProjector, LinearOperator, Measured, Subset};
use tomoscope::plan::{DeviceChoice, SensitivitySettings, list_sensitivity};
use tomoscope::recon::{Algorithm, EmSettings, ListModel, MlemOsem, SubsetOrder};
use tomoscope::scanner::{self, Detectors, PairRays};
use tomoscope::task::Task;

use super::device::{assert_same_bits, device};
use super::device_cuda::assert_the_same_bits_from_every_operator;
use super::device_events::{Case, EventGpu, backprojected_volume, large_grids, on_host};
use super::events::{Tof, crowded_events, data_of_several, random_events, several_volumes, tof};
use super::replicates::{grid_of_lists, image_of_list, listed_terms, terms_of_events};
use super::support::{noise, relative};

#[test]
fn deterministic_sums_over_beams_have_the_same_bits() {
    let Some(mut device) = device() else { return };
    let events = Arc::new(crowded_events(300_000));
    for order in [EventOrder::ByLine, EventOrder::AsWritten] {
        let operator = device.lines(&Case { tof: None, ..Case::of(&large_grids()[0], 1, &events, order) });
        let q = noise(3, events.len());
        let first = backprojected_volume(&mut device, &operator, Subset::ALL, &q, Accumulation::Deterministic);
        assert!(first.sum() > 0.0);
        for _ in 0..3 {
            let again = backprojected_volume(&mut device, &operator, Subset::ALL, &q, Accumulation::Deterministic);
            assert!(again.as_slice().iter().zip(first.as_slice()).all(|(a, b)| a.to_bits() == b.to_bits()), "{order:?}");
        }
        // Weights of 0, and of the smallest numbers that there are.
        let none = backprojected_volume(&mut device, &operator, Subset::ALL, &vec![0.0; q.len()], Accumulation::Atomic);
        assert_eq!(none.sum(), 0.0);
        let tiny: Vec<f32> = q.iter().map(|q| 1e-30 * q).collect();
        let small = backprojected_volume(&mut device, &operator, Subset::ALL, &tiny, Accumulation::Atomic);
        let scaled: Vec<f32> = small.as_slice().iter().map(|value| 1e30 * value).collect();
        assert!(relative(&scaled, first.as_slice()) <= 1e-5);
    }
}

#[test]
fn deterministic_sums_over_events_have_the_same_bits_and_races_lose() {
    let Some(mut device) = device() else { return };
    let events = Arc::new(random_events(300_000, Tof::Bins));
    let operator = device.lines(&Case::of(&large_grids()[0], 1, &events, EventOrder::default()));
    let q = noise(3, events.len());
    let first = backprojected_volume(&mut device, &operator, Subset::ALL, &q, Accumulation::Deterministic);
    for _ in 0..3 {
        let again = backprojected_volume(&mut device, &operator, Subset::ALL, &q, Accumulation::Deterministic);
        assert!(again.as_slice().iter().zip(first.as_slice()).all(|(a, b)| a.to_bits() == b.to_bits()));
    }
    let racy = backprojected_volume(&mut device, &operator, Subset::ALL, &q, Accumulation::NonAtomic).sum();
    println!("the race lost {:.1} %", 100.0 * (1.0 - racy / first.sum()));
    assert!(racy < 0.999 * first.sum());
}

/// Beams and single events, with time of flight and without.
#[test]
fn deterministic_sums_over_events_have_the_same_bits_from_operators_made_anew() {
    let Some(mut device) = device() else { return };
    for (events, tof, order) in [
        (crowded_events(100_000), None, EventOrder::ByLine),
        (crowded_events(100_000), None, EventOrder::AsWritten),
        (random_events(100_000, Tof::Bins), Some(tof(30.0)), EventOrder::default()),
        (random_events(100_000, Tof::Numbers), Some(tof(30.0)), EventOrder::AsWritten),
    ] {
        let case = Case { tof, ..Case::of(&large_grids()[0], 1, &Arc::new(events), order) };
        let image_len = device.lines(&case).voxels().len();
        let lens = [image_len, case.events.len()];
        assert_the_same_bits_from_every_operator(&mut device, |device| device.lines(&case), Subset::ALL, lens);
    }
}

/// Several images at once on the device against the host's definition.
#[test]
fn several_images_at_once_on_the_device_are_those_of_the_host() {
    let Some(mut device) = device() else { return };
    for (known, num_rays) in [(Tof::Bins, 1), (Tof::Numbers, 5)] {
        let (grid, events) = (large_grids()[0].clone(), Arc::new(random_events(20_000, known)));
        let case = Case::of(&grid, num_rays, &events, EventOrder::default());
        let (host, operator) = (case.on_host(), device.lines(&case));
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
                    let errors = [relative(&found, &expected[0]), relative(volume.as_slice(), &expected[1])];
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
    let case = Case { fov_radius_mm: 60.0, ..Case::of(&grid, 1, &events, EventOrder::default()) };
    let values = terms_of_events(20_000);
    let settings = EmSettings {
        subset_order: SubsetOrder::Spaced,
        accumulation: Accumulation::Atomic,
        sensitivity_accumulation: Accumulation::Atomic,
        racy_sensitivity: false,
    };
    let terms = listed_terms(&values, true);
    let ones = Volume::filled(grid.clone(), 3.0);
    let host = EventLines::new(events, &case.detectors, case.tof.as_ref(), grid, 60.0, case.rays, case.order).unwrap();
    let (voxels, space) = (host.voxels().clone(), host.space().clone());
    let sensitivity = Arc::new(voxels.coefficients(&ones));
    let model = ListModel::new(&mut Host, host, space.clone(), space, terms, sensitivity, 2).unwrap();
    let mut host = MlemOsem::new(Host, voxels, model, settings, None).unwrap();
    let lines = backend.lines(&case);
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
