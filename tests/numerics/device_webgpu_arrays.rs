//! Operations on arrays, in one buffer and in several.

use std::process::Command;

use tomoscope::algebra::{Backend, ColumnLayout, Data, Host, HostArray, Image};
use tomoscope::data::{Roi, RoiMask, RoiRole, RoiShape};
use tomoscope::geometry::Grid;
use tomoscope::recon::EmKernels;
use tomoscope::webgpu::{self, DeviceOptions, WebGpuArray, WebGpuBackend};

use super::device_webgpu::{backends, read, upload};
use super::support::{noise, random_volume};

#[test]
fn operations_at_offsets_are_those_of_the_host() {
    for (name, mut device) in backends() {
        let len = 70_001;
        let (a, b) = (noise(4, len), noise(5, len));
        let mut x: WebGpuArray<Data> = upload(&mut device, &a);
        let y = upload(&mut device, &b);
        assert_eq!(read(&mut device, &x), a);
        let (mut host_x, host_y): (HostArray<Data>, _) = (a.clone().into(), b.clone().into());
        device.multiply(&mut x, 7, &y, 11..50_000).unwrap();
        Host.multiply(&mut host_x, 7, &host_y, 11..50_000).unwrap();
        device.add_scaled(&mut x, 3, -0.25, &y, 0..60_000).unwrap();
        Host.add_scaled(&mut host_x, 3, -0.25, &host_y, 0..60_000).unwrap();
        assert_eq!(read(&mut device, &x), *host_x);
        for range in [100..len - 5, 16_380..16_390, 7..7] {
            let found = device.dot(&x, 5, &y, range.clone()).unwrap();
            let expected = Host.dot(&host_x, 5, &host_y, range.clone()).unwrap();
            assert!((found - expected).abs() <= 1e-6 * expected.abs(), "{name}: {found} {expected}");
            assert_eq!(device.dot(&x, 5, &y, range).unwrap().to_bits(), found.to_bits(), "the same bits on every run");
        }
        device.fill(&mut x, -2.5).unwrap();
        assert!(read(&mut device, &x).iter().all(|&v| v == -2.5));
        assert!(device.multiply(&mut x, 2, &y, 0..len).is_err());
        let mut empty: WebGpuArray<Data> = device.zeros(0).unwrap();
        device.fill(&mut empty, 1.0).unwrap();
        assert!(read(&mut device, &empty).is_empty());
        device.finish().unwrap();
    }
}

#[test]
fn kernels_of_em_are_those_of_the_host() {
    for (name, mut device) in backends() {
        let len = 40_007;
        let y: Vec<f32> = noise(6, len).iter().map(|v| (9.0 * v).floor()).collect();
        let e: Vec<f32> = noise(7, len).iter().map(|v| if *v < 0.1 { 0.0 } else { 8.0 * v }).collect();
        let measured = upload(&mut device, &y);
        let mut estimate = upload(&mut device, &e);
        let mut host_estimate = e.into();
        let range = 5..len - 2;
        let found = device.poisson_ratio(&measured, range.clone(), &mut estimate, 3).unwrap();
        let expected = Host.poisson_ratio(&y.into(), range, &mut host_estimate, 3).unwrap();
        let (ratios, host_ratios) = (read(&mut device, &estimate), host_estimate.to_vec());
        assert!(ratios.iter().zip(&host_ratios).all(|(a, b)| (a - b).abs() <= 5e-7 * b.abs()), "{name}");
        assert!(expected.num_unexplained_bins > 1000 && expected.counts > 0.0);
        assert_eq!(found.num_unexplained_bins, expected.num_unexplained_bins);
        assert_eq!(found.counts, expected.counts);
        assert!((found.log_likelihood - expected.log_likelihood).abs() <= 1e-6 * expected.log_likelihood.abs());
        let sums = [[found.residual.squares, expected.residual.squares], [found.residual.expected, expected.residual.expected]];
        assert!(sums.iter().all(|[found, expected]| *expected > 0.0 && (found - expected).abs() <= 1e-6 * expected), "{sums:?}");

        let (mut x, correction): (HostArray<Image>, HostArray<Image>) = (noise(1, len).into(), noise(2, len).into());
        let sensitivity: Vec<f32> = [0.0, -1.0, f32::MIN_POSITIVE].into_iter().chain(noise(3, len)).take(len).collect();
        let mut on_device = upload(&mut device, &x);
        let [c, s] = [&correction[..], &sensitivity].map(|values| upload(&mut device, values));
        device.em_update(&mut on_device, &c, &s).unwrap();
        Host.em_update(&mut x, &correction, &sensitivity.clone().into()).unwrap();
        let updated = read(&mut device, &on_device);
        assert!(updated.iter().zip(x.iter()).all(|(a, b)| a == b || (a - b).abs() <= 1e-6 * b.abs()), "{name}");
        device.masked(&mut on_device, &c, &s).unwrap();
        Host.masked(&mut x, &correction, &sensitivity.into()).unwrap();
        assert_eq!(read(&mut device, &on_device), *x);

        // Columns across buffers; the largest of each is elsewhere.
        let layout = ColumnLayout { count: 600, len: 61, width: 4 };
        let values: Vec<f32> = noise(8, len).iter().map(|v| 1e-3f32.powf(4.0 * v)).collect();
        let (mut columns, mut host_columns) = (upload(&mut device, &values), values.clone().into());
        device.drop_rounding(&mut columns, layout).unwrap();
        Host.drop_rounding(&mut host_columns, layout).unwrap();
        assert_eq!(read(&mut device, &columns), *host_columns);
        let num_dropped = host_columns.iter().filter(|value| **value == 0.0).count();
        assert!(num_dropped > 100 && num_dropped < len, "{num_dropped}");

        let table = noise(9, 500);
        let pairs = |num: usize, step: u32| (0..num as u32).map(|i| [i * step % 240, i * 7 % 249]).collect::<Vec<_>>();
        let (rows, columns) = (pairs(300, 3), pairs(111, 5));
        let found = device.pair_products(&table, &rows, &columns).unwrap();
        assert_eq!(read(&mut device, &found), *Host.pair_products(&table, &rows, &columns).unwrap());
    }
}

/// A sphere about a point of the x axis.
fn sphere(radius_mm: f64, x: f64) -> Roi {
    Roi { role: RoiRole::Background, ..Roi::new("sphere", RoiShape::Sphere { radius_mm }, [x, 1.0, 2.0]) }
}

#[test]
fn regions_and_display_copies_are_those_of_the_host() {
    for (_, mut device) in backends() {
        let grid = Grid::centred([47, 40, 25], [3.0, 3.0, 2.5]).unwrap();
        let volume = random_volume(&grid);
        // An image in another order than a volume.
        let len = grid.num_voxels();
        let place = |voxel: usize| voxel * 7 % len;
        let mut coefficients = vec![0.0; len];
        (0..len).for_each(|voxel| coefficients[place(voxel)] = volume.as_slice()[voxel]);
        let image = upload(&mut device, &coefficients);
        let masks: Vec<RoiMask> = [(20.0, 0.0), (6.0, 15.0), (1.0, 500.0)].map(|(r, x)| sphere(r, x).mask(&grid)).to_vec();
        let on_device = device.masks(&masks, &place).unwrap();
        let found = device.roi_sums(&image, &on_device).unwrap();
        let expected: Vec<_> = masks.iter().map(|mask| mask.sums(volume.as_slice())).collect();
        assert_eq!(format!("{found:?}"), format!("{expected:?}"));
        assert!(found[0].num_voxels > 100 && found[2].num_voxels == 0);

        // Pictures of two moments, fetched in the other order on other threads; the slots come back.
        let mut display = device.display(grid.size, &place).unwrap().unwrap();
        for _ in 0..3 {
            let mut other = upload(&mut device, &coefficients);
            let first = device.begin_copy(&other, 1.0, &mut display).unwrap();
            device.fill(&mut other, 7.0).unwrap();
            let second = device.begin_copy(&other, 0.5, &mut display).unwrap();
            let (mut a, mut b) = (vec![0.0; len], vec![0.0; len]);
            std::thread::scope(|scope| {
                scope.spawn(|| second.fill(&mut b).unwrap());
                scope.spawn(|| first.fill(&mut a).unwrap());
            });
            assert_eq!(a, volume.as_slice());
            assert!(b.iter().all(|&v| v == 3.5));
            drop(device.begin_copy(&other, 1.0, &mut display).unwrap());
        }
    }
}

/// Every call on a device, for one that is gone.
fn use_all(device: &mut WebGpuBackend) -> Vec<(&'static str, String)> {
    let mut failures = Vec::new();
    let mut note = |call, outcome: Result<(), String>| failures.extend(outcome.err().map(|message| (call, message)));
    note("zeros", device.zeros::<Data>(1000).map(drop).map_err(|error| error.to_string()));
    note("upload", device.upload::<Data>(vec![1.0; 1000].into()).map(drop).map_err(|error| error.to_string()));
    note("finish", device.finish().map_err(|error| error.to_string()));
    failures
}

#[test]
fn a_device_that_is_lost_is_an_error_and_the_next_one_works() {
    const ALONE: &str = "TOMOSCOPE_TEST_LOSES_THE_GPU";
    if backends().is_empty() {
        return;
    }
    // All users of a process share a device that was opened by number: only this test's own process loses it.
    if std::env::var_os(ALONE).is_none() {
        let name = "device_webgpu_arrays::a_device_that_is_lost_is_an_error_and_the_next_one_works";
        let mut command = Command::new(std::env::current_exe().unwrap());
        let output = command.args(["--exact", name, "--nocapture"]).env(ALONE, "1").output().unwrap();
        println!("{}", String::from_utf8_lossy(&output.stdout));
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        return;
    }
    let mut device = WebGpuBackend::open(0).unwrap();
    let mut x: WebGpuArray<Image> = upload(&mut device, &noise(1, 100_000));
    let y = upload(&mut device, &noise(2, 100_000));
    let mut display = device.display([100, 100, 10], &|voxel| voxel).unwrap().unwrap();
    device.add_scaled(&mut x, 0, 2.0, &y, 0..100_000).unwrap();
    let pending = device.begin_copy(&x, 1.0, &mut display).unwrap();
    device.destroy_device();
    // A copy that was under way arrives or fails; it neither hangs nor panics.
    println!("a copy under way: {:?}", pending.fill(&mut vec![0.0; 100_000]).map_err(|error| error.to_string()));
    let _ = device.fill(&mut x, 1.0);
    let _ = device.multiply(&mut x, 0, &y, 0..100_000);
    let message = device.dot(&x, 0, &y, 0..100_000).unwrap_err().to_string();
    assert!(message.contains("lost"), "{message}");
    let message = device.read(&x, <[f32]>::to_vec).unwrap_err().to_string();
    assert!(message.contains("lost"), "{message}");
    for (call, message) in use_all(&mut device) {
        assert!(message.contains("lost"), "{call}: {message}");
    }
    assert!(device.finish().is_err());
    drop((x, y, display, device));

    let mut again = WebGpuBackend::open(0).unwrap();
    let x: WebGpuArray<Image> = upload(&mut again, &[2.0; 1000]);
    assert_eq!(again.dot(&x, 0, &x, 0..1000).unwrap(), 4000.0);
}

/// The window's device, as the window asks for it.
fn window_device(number: usize) -> (wgpu::Adapter, wgpu::Device, wgpu::Queue) {
    let name = webgpu::devices()[number].name.clone();
    let backends = wgpu::Backends::VULKAN | wgpu::Backends::METAL | wgpu::Backends::DX12;
    let descriptor = wgpu::InstanceDescriptor { backends, ..wgpu::InstanceDescriptor::new_without_display_handle() };
    let adapters = pollster::block_on(wgpu::Instance::new(descriptor).enumerate_adapters(backends));
    let adapter = adapters.into_iter().find(|adapter| adapter.get_info().name == name).unwrap();
    let (device, queue) = pollster::block_on(adapter.request_device(&webgpu::window_request(&adapter))).unwrap();
    (adapter, device, queue)
}

/// The values of a texture, row by row.
fn texels(device: &wgpu::Device, queue: &wgpu::Queue, texture: &wgpu::Texture) -> Vec<f32> {
    let size = texture.size();
    let row_bytes = (4 * size.width).next_multiple_of(256);
    let buffer = device.create_buffer(&wgpu::BufferDescriptor {
        label: None,
        size: u64::from(row_bytes * size.height * size.depth_or_array_layers),
        usage: wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST,
        mapped_at_creation: false,
    });
    let layout = wgpu::TexelCopyBufferLayout { offset: 0, bytes_per_row: Some(row_bytes), rows_per_image: Some(size.height) };
    let mut encoder = device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
    let to = wgpu::TexelCopyBufferInfo { buffer: &buffer, layout };
    encoder.copy_texture_to_buffer(texture.as_image_copy(), to, size);
    queue.submit([encoder.finish()]);
    buffer.map_async(wgpu::MapMode::Read, .., |_| {});
    device.poll(wgpu::PollType::Wait { submission_index: None, timeout: None }).unwrap();
    let mapped = buffer.get_mapped_range(..).unwrap();
    let rows = mapped.chunks(row_bytes as usize);
    rows.flat_map(|row| row[..4 * size.width as usize].chunks(4).map(|v| f32::from_le_bytes(v.try_into().unwrap()))).collect()
}

#[test]
fn an_image_on_the_window_s_device_is_that_on_the_host() {
    const ALONE: &str = "TOMOSCOPE_TEST_SHARES_THE_WINDOW";
    let Some((_, backend)) = backends().into_iter().next() else { return };
    // The window's device is one for the whole process.
    if std::env::var_os(ALONE).is_none() {
        let name = "device_webgpu_arrays::an_image_on_the_window_s_device_is_that_on_the_host";
        let mut command = Command::new(std::env::current_exe().unwrap());
        let output = command.args(["--exact", name, "--nocapture"]).env(ALONE, "1").output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        return;
    }
    let number = backend.info().number;
    let (adapter, device, queue) = window_device(number);
    let window = webgpu::share_window(&adapter, &device, &queue);
    let mut backend = WebGpuBackend::open(number).unwrap();
    for size in [[47, 40, 25], [64, 3, 2], [130, 1, 1]] {
        let len: usize = size.iter().product();
        let place = |voxel: usize| voxel * 7 % len;
        let values = noise(3, len);
        let image: WebGpuArray<Image> = upload(&mut backend, &values);
        let mut display = backend.display(size, &place).unwrap().unwrap();
        let expected: Vec<f32> = (0..len).map(|voxel| 0.5 * values[place(voxel)]).collect();
        let mut held = Vec::new();
        for number in 0..10 {
            let mut pending = backend.begin_copy(&image, 0.5, &mut display).unwrap();
            let on_device = pending.take_on_device();
            let mut volume = vec![0.0; len];
            pending.fill(&mut volume).unwrap();
            assert!(volume == expected, "image {number} of {size:?}");
            // As many as the window and what is on its way to it hold; then the host copies.
            assert_eq!(on_device.is_some(), number < 6 || number == 9, "image {number}");
            if let Some(image) = &on_device {
                let image: &webgpu::WindowImage = image.open().unwrap();
                assert_eq!(image.window, window);
                assert!(texels(&device, &queue, &image.texture) == expected, "image {number} of {size:?}");
            }
            held.extend(on_device);
            if number == 8 {
                held.pop();
            }
        }
    }
    // A device with other limits is another one.
    let mut other = WebGpuBackend::open_with(number, |_| DeviceOptions::least()).unwrap();
    let image: WebGpuArray<Image> = upload(&mut other, &[1.0; 8]);
    let mut display = other.display([2; 3], &|voxel| voxel).unwrap().unwrap();
    assert!(other.begin_copy(&image, 1.0, &mut display).unwrap().take_on_device().is_none());
}
