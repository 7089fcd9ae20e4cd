//! Operations on arrays and the kernels of EM on every GPU against the host, in one buffer and in several.

use std::ops::Range;

use tomoscope::algebra::{Backend as _, ColumnLayout, Columns, Data, FieldOfView, Host, HostArray, Image, Rows, Voxels};
#[cfg(feature = "cuda")]
use tomoscope::cuda::CudaBackend;
use tomoscope::data::{Roi, RoiMask, RoiRole, RoiShape, RoiSums, Volume};
use tomoscope::geometry::Grid;
use tomoscope::recon::EmKernels as _;
use tomoscope::webgpu::WebGpuBackend;

use super::device::{Each, Gpu, assert_same_bits, on_each_gpu, read, upload};
use super::support::{dot, largest_difference, noise, random_volume};

on_each_gpu! {
    operations_at_offsets_are_those_of_the_host,
    the_em_update_is_that_of_the_host,
    the_ratio_and_the_likelihood_are_those_of_the_host,
    data_of_pairs_are_those_of_the_host,
    regions_and_display_copies_are_those_of_the_host;
    webgpu: empty_arrays_are_arrays, values_that_bins_share_are_those_of_each_row
}

/// A GPU with operations that not all have.
trait ArrayGpu: Gpu {
    /// Its largest value of an array.
    fn largest(&mut self, _: &Self::Array<Data>, _: Range<usize>) -> Option<f32> {
        None
    }

    /// Compares values of a few operations: the bits, or what a GPU may round otherwise.
    fn assert_alike(found: &[f32], expected: &[f32], rounding: f32);
}

impl ArrayGpu for WebGpuBackend {
    fn assert_alike(found: &[f32], expected: &[f32], rounding: f32) {
        assert_eq!(found.len(), expected.len());
        assert!(found.iter().zip(expected).all(|(a, b)| a == b || (a - b).abs() <= rounding * b.abs()));
    }
}

#[cfg(feature = "cuda")]
impl ArrayGpu for CudaBackend {
    fn largest(&mut self, x: &Self::Array<Data>, range: Range<usize>) -> Option<f32> {
        Some(self.max(x, range).unwrap())
    }

    fn assert_alike(found: &[f32], expected: &[f32], _: f32) {
        assert_same_bits(found, expected);
    }
}

fn operations_at_offsets_are_those_of_the_host<B: ArrayGpu>() {
    // (Of a power of two, a multiplication and an addition in one step or in two round alike.)
    let (scale, of_sums) = Each { webgpu: (-0.25, 1e-6), cuda: (-0.3, 1e-9) }.of::<B>();
    for (name, mut device) in B::all() {
        let len = 70_001;
        let (a, b) = (noise(4, len), noise(5, len));
        let mut x = upload::<Data, B>(&mut device, &a);
        let y = upload(&mut device, &b);
        assert_eq!(read(&mut device, &x), a);
        let (mut host_x, host_y): (HostArray<Data>, _) = (a.into(), b.into());
        device.multiply(&mut x, 7, &y, 11..50_000).unwrap();
        Host.multiply(&mut host_x, 7, &host_y, 11..50_000).unwrap();
        device.add_scaled(&mut x, 3, scale, &y, 0..60_000).unwrap();
        Host.add_scaled(&mut host_x, 3, scale, &host_y, 0..60_000).unwrap();
        assert_same_bits(&read(&mut device, &x), &host_x);
        for range in [100..len - 5, 16_380..16_390] {
            let found = device.dot(&x, 5, &y, range.clone()).unwrap();
            let expected = Host.dot(&host_x, 5, &host_y, range.clone()).unwrap();
            assert!((found - expected).abs() <= of_sums * expected.abs(), "{name}: {found} {expected}");
            assert_eq!(device.dot(&x, 5, &y, range).unwrap().to_bits(), found.to_bits(), "the same bits on every run");
        }
        let largest = host_x[5..].iter().copied().fold(f32::NEG_INFINITY, f32::max);
        assert_eq!(device.largest(&x, 5..len).unwrap_or(largest), largest);
        device.fill(&mut x, -2.5).unwrap();
        assert_eq!(device.largest(&x, 0..len).unwrap_or(-2.5), -2.5);
        assert!(read(&mut device, &x).iter().all(|&v| v == -2.5));
        assert!(device.multiply(&mut x, 2, &y, 0..len).is_err());
        device.finish().unwrap();
    }
}

fn empty_arrays_are_arrays<B: Gpu>() {
    for (_, mut device) in B::all() {
        let (x, y) = (upload::<Data, B>(&mut device, &noise(4, 20)), upload(&mut device, &noise(5, 20)));
        assert_eq!(device.dot(&x, 5, &y, 7..7).unwrap(), 0.0);
        let mut empty = device.zeros::<Data>(0).unwrap();
        device.fill(&mut empty, 1.0).unwrap();
        assert!(read(&mut device, &empty).is_empty());
        device.finish().unwrap();
    }
}

/// The update, where there is a sensitivity, and which of them are rounding.
fn the_em_update_is_that_of_the_host<B: ArrayGpu>() {
    let len = Each { webgpu: 40_007, cuda: 100_003 }.of::<B>();
    // (A shader may take what is no number for one.)
    let nasty = [0.0, -1.0, f32::MIN_POSITIVE, f32::NAN, f32::INFINITY, 1e-42];
    let nasty = &nasty[..Each { webgpu: 3, cuda: 6 }.of::<B>()];
    for (_, mut device) in B::all() {
        let (mut x, correction): (HostArray<Image>, HostArray<Image>) = (noise(1, len).into(), noise(2, len).into());
        let sensitivity: Vec<f32> = nasty.iter().copied().chain(noise(3, len)).take(len).collect();
        let mut on_device = upload(&mut device, &x);
        let [c, s] = [&correction[..], &sensitivity].map(|values| upload(&mut device, values));
        device.em_update(&mut on_device, &c, &s).unwrap();
        Host.em_update(&mut x, &correction, &sensitivity.clone().into()).unwrap();
        assert!(x.iter().any(|&v| v > 1.0));
        B::assert_alike(&read(&mut device, &on_device), &x, 1e-6);
        device.masked(&mut on_device, &c, &s).unwrap();
        Host.masked(&mut x, &correction, &sensitivity.into()).unwrap();
        assert_eq!(read(&mut device, &on_device), *x);

        // Columns across buffers; the largest of each is elsewhere.
        let layout = ColumnLayout { count: 600, len: 61, width: 4 };
        let values: Vec<f32> = noise(8, len).iter().map(|v| 1e-3f32.powf(4.0 * v)).collect();
        let (mut columns, mut host_columns) = (upload(&mut device, &values), values.into());
        device.drop_rounding(&mut columns, layout).unwrap();
        Host.drop_rounding(&mut host_columns, layout).unwrap();
        assert_eq!(read(&mut device, &columns), *host_columns);
        let num_dropped = host_columns.iter().filter(|value| **value == 0.0).count();
        assert!(num_dropped > 100 && num_dropped < len, "{num_dropped}");
    }
}

fn the_ratio_and_the_likelihood_are_those_of_the_host<B: ArrayGpu>() {
    let of_sums = Each { webgpu: 1e-6, cuda: 1e-9 }.of::<B>();
    for (_, mut device) in B::all() {
        let len = 40_007;
        let y: Vec<f32> = noise(6, len).iter().map(|v| (9.0 * v).floor()).collect();
        let e: Vec<f32> = noise(7, len).iter().map(|v| if *v < 0.1 { 0.0 } else { 8.0 * v }).collect();
        let measured = upload(&mut device, &y);
        let mut estimate = upload(&mut device, &e);
        let mut host_estimate = e.into();
        let range = 5..len - 2;
        let found = device.poisson_ratio(&measured, range.clone(), &mut estimate, 3).unwrap();
        let expected = Host.poisson_ratio(&y.into(), range, &mut host_estimate, 3).unwrap();
        B::assert_alike(&read(&mut device, &estimate), &host_estimate, 5e-7);
        assert!(expected.num_unexplained_bins > 1000 && expected.counts > 0.0);
        assert_eq!(found.num_unexplained_bins, expected.num_unexplained_bins);
        assert_eq!(found.counts, expected.counts);
        assert!((found.log_likelihood - expected.log_likelihood).abs() <= 1e-6 * expected.log_likelihood.abs());
        let sums = [[found.residual.squares, expected.residual.squares], [found.residual.expected, expected.residual.expected]];
        assert!(
            sums.iter().all(|[found, expected]| *expected > 0.0 && (found - expected).abs() <= of_sums * expected),
            "{sums:?}"
        );
    }
}

fn data_of_pairs_are_those_of_the_host<B: Gpu>() {
    let table = noise(6, 5000);
    let rows: Vec<[u32; 2]> = (0..701).map(|i| [i % 400, 399 - i % 397]).collect();
    let columns: Vec<[u32; 2]> = (0..97).map(|i| [i * 47, 4600 - i * 45]).collect();
    let expected = Host.pair_products(&table, &rows, &columns).unwrap();
    assert_eq!(expected.len(), 701 * 97);
    assert_eq!(expected[97 + 2], table[1 + 94] * table[398 + 4510]);
    assert!(Host.pair_products(&table[..4990], &rows, &columns).is_err());
    for (_, mut device) in B::all() {
        let found = device.pair_products(&table, &rows, &columns).unwrap();
        assert_same_bits(&read(&mut device, &found), &expected);
        assert!(device.pair_products(&table[..4990], &rows, &columns).is_err());
    }
}

/// Images in other orders than a volume: scattered, and in columns with places that no voxel has.
fn regions_and_display_copies_are_those_of_the_host<B: Gpu>() {
    let grid = Grid::centred([47, 40, 25], [3.0, 3.0, 2.5]).unwrap();
    let (volume, len) = (random_volume(&grid), grid.num_voxels());
    let columns = Columns { classes: 2, lanes: grid.size[2].div_ceil(2) + 3, first: 1, tail: 5 };
    let columns = Voxels::in_columns(grid.clone(), FieldOfView::new(&grid, 200.0), columns);
    for (_, mut device) in B::all() {
        compare_pictures(&mut device, &volume, len, &|voxel| voxel * 7 % len);
        compare_pictures(&mut device, &volume, columns.len(), &|voxel| columns.place(voxel));
    }
}

fn compare_pictures<B: Gpu>(device: &mut B, volume: &Volume, len: usize, place: &dyn Fn(usize) -> usize) {
    let mut coefficients = vec![0.0; len];
    volume.as_slice().iter().enumerate().for_each(|(voxel, value)| coefficients[place(voxel)] = *value);
    let sphere =
        |(radius_mm, x)| Roi { role: RoiRole::Background, ..Roi::new("sphere", RoiShape::Sphere { radius_mm }, [x, 1.0, 2.0]) };
    let masks: Vec<RoiMask> = [(20.0, 0.0), (6.0, 15.0), (1.0, 500.0)].map(|of| sphere(of).mask(&volume.grid)).to_vec();
    let image = upload(device, &coefficients);
    let on_device = device.masks(&masks, place).unwrap();
    let found = device.roi_sums(&image, &on_device).unwrap();
    for (found, mask) in found.iter().zip(&masks) {
        let expected = mask.sums(volume.as_slice());
        assert_eq!((found.num_voxels, found.min, found.max), (expected.num_voxels, expected.min, expected.max));
        let sums = |sums: &RoiSums| [sums.weight, sums.sum, sums.sum_of_squares];
        for (a, b) in sums(found).into_iter().zip(sums(&expected)) {
            assert!((a - b).abs() <= Each { webgpu: 0.0, cuda: 1e-5 }.of::<B>() * b.abs(), "{a} {b}");
        }
    }
    assert!(found.len() == 3 && found[0].num_voxels > 100 && found[2].num_voxels == 0);

    // Pictures of two moments, fetched in the other order on other threads; the slots come back.
    let mut display = device.display(volume.grid.size, place).unwrap().unwrap();
    for _ in 0..3 {
        let mut other = upload(device, &coefficients);
        let first = device.begin_copy(&other, 1.0, &mut display).unwrap();
        device.fill(&mut other, 7.0).unwrap();
        let second = device.begin_copy(&other, 0.5, &mut display).unwrap();
        let (mut a, mut b) = (vec![0.0; volume.as_slice().len()], vec![0.0; volume.as_slice().len()]);
        std::thread::scope(|scope| {
            scope.spawn(|| second.fill(&mut b).unwrap());
            scope.spawn(|| first.fill(&mut a).unwrap());
        });
        assert_eq!(a, volume.as_slice());
        assert!(b.iter().all(|&v| v == 3.5));
        drop(device.begin_copy(&other, 1.0, &mut display).unwrap());
    }
}

/// Each row of y for three rows of x, with rows before and behind those that are used.
fn values_that_bins_share_are_those_of_each_row<B: Gpu>() {
    let rows = Rows { len: 4001, repeats: 3 };
    let (x, y) = (noise(1, 4 * 7 * rows.len), noise(2, 7 * rows.len));
    let (at, range) = (rows.len, 2 * rows.len..7 * rows.len);
    let repeated: Vec<f32> = y[range.clone()].chunks(rows.len).flat_map(|row| row.repeat(rows.repeats)).collect();
    let expected = |value: fn(f32, f32) -> f32| {
        let mut expected = x.clone();
        expected[at..].iter_mut().zip(&repeated).for_each(|(x, y)| *x = value(*x, *y));
        expected
    };
    for (name, mut device) in B::all() {
        let y = upload::<Data, B>(&mut device, &y);
        let mut values = upload(&mut device, &x);
        let sum = device.dot_rows(&values, at, &y, range.clone(), rows).unwrap();
        assert!((sum / dot(&x[at..at + repeated.len()], &repeated) - 1.0).abs() <= 1e-6, "{name}: {sum}");
        device.multiply_rows(&mut values, at, &y, range.clone(), rows).unwrap();
        assert_eq!(read(&mut device, &values), expected(|x, y| x * y), "{name}");
        let mut values = upload(&mut device, &x);
        device.add_rows(&mut values, at, &y, range.clone(), rows).unwrap();
        assert!(largest_difference(&read(&mut device, &values), &expected(|x, y| x + y)) <= 1e-7, "{name}");
    }
}
