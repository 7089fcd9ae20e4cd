//! A stored matrix and the images of blobs on a CUDA device against those of the host.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use tomoscope::algebra::{Backend, Data, Host, HostArray, Image, ImageSpace, RingBasis, RingGrid};
use tomoscope::cuda::{self, CudaBackend};
use tomoscope::geometry::Grid;
use tomoscope::montecarlo::{Response, ResponseElements, ResponseTally, RingDetector};
use tomoscope::operator::{Accumulation, CrystalPairs, DataSpace, LinearOperator, Residence, StoredMatrix, Subset};
use tomoscope::plan::response_part;
use tomoscope::scanner::find_ring;
use tomoscope::task::Task;

use super::device::{backprojected, device, projected};
use super::ring::{blobs, functions, groups, random_matrix, small};
use super::support::{noise, relative};

const NUM_BASIC: usize = 23;

#[test]
fn a_stored_matrix_on_the_device_is_that_of_the_host() {
    let Some(mut device) = device() else { return };
    let ring = small();
    let matrix = Arc::new(random_matrix(&ring, NUM_BASIC));
    for symmetries in groups(&ring) {
        let (num, pairs) = (symmetries.len(), CrystalPairs::new(&ring, &symmetries));
        let host = StoredMatrix::new(Arc::clone(&matrix), pairs.clone(), NUM_BASIC / 3).unwrap();
        let x = noise(1, NUM_BASIC * num);
        let len = pairs.len(Subset::ALL);
        let mut y: HostArray<Data> = vec![0.0; len].into();
        host.apply(&mut Host, Subset::ALL, &x.clone().into(), &mut y, &Task::new()).unwrap();
        let q = pairs.arranged(&Arc::new(noise(2, ring.num_lors())), 1);
        let mut back: HostArray<Image> = vec![0.0; x.len()].into();
        let of_host: HostArray<Data> = Arc::clone(&q).into();
        host.adjoint(&mut Host, Subset::ALL, &of_host, Accumulation::Deterministic, &mut back, &Task::new()).unwrap();

        let new = |device: &CudaBackend, residence| {
            cuda::StoredMatrix::new(device, &matrix, pairs.clone(), NUM_BASIC / 3, residence).unwrap()
        };
        let fast = new(&device, Residence::Both);
        let one_order = new(&device, Residence::OneOrder);
        let by_line = new(&device, Residence::Both).by_lor();
        for (name, operator) in [("fast", &fast), ("one order", &one_order), ("by line", &by_line)] {
            let found = projected(&mut device, operator, Subset::ALL, &x, len);
            let error = relative(&found, &y);
            println!("{num} symmetries, {name}: forward {error:.1e}");
            assert!(error <= 1e-6, "{name}: {error}");
            for way in [Accumulation::Deterministic, Accumulation::Reload, Accumulation::Atomic] {
                let error = relative(&backprojected(&mut device, operator, Subset::ALL, &q, way, x.len()), &back);
                println!("{num} symmetries, {name}, {way}: backward {error:.1e}");
                assert!(error <= 1e-6, "{way}: {error}");
            }
        }
        let total = |values: &[f32]| values.iter().map(|value| f64::from(*value)).sum::<f64>();
        for way in [Accumulation::NonAtomic, Accumulation::RandomCentralAtomic] {
            let arrived = total(&backprojected(&mut device, &fast, Subset::ALL, &q, way, x.len())) / total(&back);
            println!("{num} symmetries, {way}: {arrived:.3} of all additions arrive");
            assert!(arrived > 0.0 && arrived <= 1.0 + 1e-5, "{way}: {arrived}");
        }
        let mut again = || backprojected(&mut device, &fast, Subset::ALL, &q, Accumulation::Deterministic, x.len());
        assert_eq!(again(), again(), "the same bits again");
    }
}

#[test]
fn images_of_blobs_on_the_device_are_those_of_the_host() {
    let Some(mut device) = device() else { return };
    let cells = || RingGrid::polar(18, 1.5, 20.0, 7.0);
    let grid = || Grid::centred([31, 27, 13], [1.3, 1.5, 1.1]).unwrap();
    for (name, basis) in [
        ("blobs", RingBasis::blobs(cells(), grid())),
        ("polar voxels", RingBasis::voxels(cells(), grid())),
        ("cubes", RingBasis::voxels(RingGrid::cubes(1.5, 20.0, 19.0, 7.0), grid())),
    ] {
        let x = noise(3, ImageSpace::<Host>::len(&basis));
        let mut expected: HostArray<Image> = vec![0.0; grid().num_voxels()].into();
        basis.evaluate(&mut Host, &x.clone().into(), &mut expected).unwrap();
        let image = cuda::RingImage::new(&device, basis).unwrap();
        let coefficients = device.upload::<Image>(Arc::new(x)).unwrap();
        let mut out = device.upload::<Image>(Arc::new(vec![f32::NAN; grid().num_voxels()])).unwrap();
        image.evaluate(&mut device, &coefficients, &mut out).unwrap();
        let error = relative(&device.read(&out, <[f32]>::to_vec).unwrap(), &expected);
        println!("{name}: {error:.1e}");
        assert!(error <= 1e-6, "{name}: {error}");
    }
}

#[test]
fn a_response_simulated_on_the_device_is_that_of_the_host() {
    let Some(device) = device() else { return };
    let ring = find_ring("madpet2-reduced").unwrap().clone();
    let detector = RingDetector::new(ring.clone()).unwrap();
    let polar = (blobs(3.0), 0..4);
    let cubes = (functions(RingGrid::cubes(3.0, 36.0, 35.5, 10.0)), 1..3);
    for (functions, half_slices) in [polar, cubes] {
        let part = response_part(&ring, &functions.basis, half_slices);
        let mut host = ResponseTally::new(&detector, &functions, part.clone(), 7);
        let mut cuda = cuda::ResponseMonteCarlo::new(&device, &detector, &functions.basis, part, 7).unwrap();
        for num in [200_000, 100_000] {
            Response::add(&mut host, num, &Task::new()).unwrap();
            cuda.add(num, &Task::new()).unwrap();
        }
        let (there, here) = (cuda.statistics().unwrap(), host.statistics().unwrap());
        println!("{there:?}\n{here:?}");
        assert!(there.num_histories == 300_000 && there.num_counted.abs_diff(here.num_counted) <= 30);
        assert!((there.effective_counts / here.effective_counts - 1.0).abs() < 1e-3);
        let (there, here) = (cuda.elements(&Task::new()).unwrap(), host.elements(&Task::new()).unwrap());
        let sums = |found: &ResponseElements| -> BTreeMap<(usize, usize), f64> {
            let rows =
                (0..ring.num_lors()).flat_map(|lor| (found.first[lor]..found.first[lor + 1]).map(move |at| (lor, at as usize)));
            let value = |at: usize| f64::from(found.elements[at].value() * found.scale_mm3);
            rows.map(|(lor, at)| ((lor, found.elements[at].basic()), value(at))).collect()
        };
        let (there, here) = (sums(&there), sums(&here));
        let total: f64 = here.values().sum();
        let keys: BTreeSet<_> = there.keys().chain(here.keys()).collect();
        let of = |sums: &BTreeMap<(usize, usize), f64>, key| sums.get(key).copied().unwrap_or_default();
        let elsewhere: f64 = keys.into_iter().map(|key| (of(&there, key) - of(&here, key)).abs()).sum::<f64>() / total;
        println!("{elsewhere:.1e} of the weights are elsewhere, in {} elements", here.len());
        // Values have 10 bits of mantissa.
        assert!(here.len() > 10_000 && elsewhere < 1e-3, "{elsewhere}");
    }
}
