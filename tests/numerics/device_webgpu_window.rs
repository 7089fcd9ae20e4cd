//! Images of a GPU through wgpu that the window draws without a copy.

use std::process::Command;

use tomoscope::algebra::{Backend, Image};
use tomoscope::webgpu::{self, DeviceOptions, WebGpuArray, WebGpuBackend};

use super::device::{backends, upload};
use super::support::noise;

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
        let name = "device_webgpu_window::an_image_on_the_window_s_device_is_that_on_the_host";
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
