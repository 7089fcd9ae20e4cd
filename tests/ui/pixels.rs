//! The slice shader against values computed by hand.

use egui_kittest::wgpu::{create_render_state, default_wgpu_setup};
use tomoscope::render::{Interpolation, NUM_COLOURS, Palette, RenderError, SliceRenderer, SliceView};

const SIZE: [usize; 3] = [4, 3, 2];
/// Pixels per voxel side.
const SCALE: usize = 4;
const OUTSIDE: [f32; 3] = [1.0, 0.0, 0.0];

/// Value of voxel x, y, z.
fn value(x: usize, y: usize, z: usize) -> f32 {
    (x + 10 * y + 100 * z) as f32
}

/// Draws a slice into a picture of `width` × `height` pixels; the red, green and blue of each.
fn draw(view: &SliceView, interpolation: Interpolation, width: u32, height: u32) -> Option<Vec<[u8; 3]>> {
    super::renderer()?;
    let state = create_render_state(default_wgpu_setup(), Default::default());
    let (device, queue) = (&state.device, &state.queue);
    let format = wgpu::TextureFormat::Rgba8Unorm;
    let mut renderer = SliceRenderer::new(device, queue, format);
    let mut values = Vec::new();
    for z in 0..SIZE[2] {
        for y in 0..SIZE[1] {
            values.extend((0..SIZE[0]).map(|x| value(x, y, z)));
        }
    }
    renderer.upload(device, queue, SIZE, &values).unwrap();
    renderer.set_view(queue, 2, view);
    let extent = wgpu::Extent3d { width, height, depth_or_array_layers: 1 };
    let target = device.create_texture(&wgpu::TextureDescriptor {
        label: None,
        size: extent,
        mip_level_count: 1,
        sample_count: 1,
        dimension: wgpu::TextureDimension::D2,
        format,
        usage: wgpu::TextureUsages::RENDER_ATTACHMENT | wgpu::TextureUsages::COPY_SRC,
        view_formats: &[],
    });
    let row = 256;
    let buffer = device.create_buffer(&wgpu::BufferDescriptor {
        label: None,
        size: u64::from(row * height),
        usage: wgpu::BufferUsages::COPY_DST | wgpu::BufferUsages::MAP_READ,
        mapped_at_creation: false,
    });
    let mut encoder = device.create_command_encoder(&Default::default());
    let attachment = target.create_view(&Default::default());
    let mut pass = encoder.begin_render_pass(&wgpu::RenderPassDescriptor {
        color_attachments: &[Some(wgpu::RenderPassColorAttachment {
            view: &attachment,
            resolve_target: None,
            ops: wgpu::Operations::default(),
            depth_slice: None,
        })],
        ..Default::default()
    });
    renderer.draw(&mut pass, 2, interpolation);
    drop(pass);
    let layout = wgpu::TexelCopyBufferLayout { offset: 0, bytes_per_row: Some(row), rows_per_image: None };
    encoder.copy_texture_to_buffer(target.as_image_copy(), wgpu::TexelCopyBufferInfo { buffer: &buffer, layout }, extent);
    queue.submit([encoder.finish()]);
    buffer.slice(..).map_async(wgpu::MapMode::Read, |result| result.unwrap());
    device.poll(wgpu::PollType::wait_indefinitely()).unwrap();
    let bytes = buffer.slice(..).get_mapped_range().unwrap().to_vec();
    let pixel = |x: u32, y: u32| {
        let at = (y * row + 4 * x) as usize;
        [bytes[at], bytes[at + 1], bytes[at + 2]]
    };
    Some((0..height).flat_map(|y| (0..width).map(move |x| (x, y))).map(|(x, y)| pixel(x, y)).collect())
}

/// The colour of a value, as the shader finds it in its table.
fn colour(value: f32, window: [f32; 2]) -> [u8; 3] {
    let t = ((value - window[0]) / (window[1] - window[0])).clamp(0.0, 1.0);
    let index = ((t * NUM_COLOURS as f32) as usize).min(NUM_COLOURS - 1);
    let [r, g, b, _] = Palette::Viridis.table()[index];
    [r, g, b]
}

#[test]
fn the_nearest_voxel_fills_its_square_and_outside_is_the_background() {
    // The slice y = 1, one voxel of margin on the left, x to the right, z down.
    let window = [0.0, 120.0];
    let view = SliceView {
        corner: [-1.5, 1.0, -0.5],
        across: [5.0, 0.0, 0.0],
        down: [0.0, 0.0, 2.0],
        window,
        palette: Palette::Viridis,
        outside: OUTSIDE,
    };
    let (width, height) = (5 * SCALE, 2 * SCALE);
    let Some(pixels) = draw(&view, Interpolation::Nearest, width as u32, height as u32) else { return };
    for (at, pixel) in pixels.iter().enumerate() {
        let (column, row) = (at % width / SCALE, at / width / SCALE);
        let expected = if column == 0 { [255, 0, 0] } else { colour(value(column - 1, 1, row), window) };
        assert_eq!(*pixel, expected, "column {column}, row {row}");
    }
}

#[test]
fn smooth_values_are_bilinear_between_voxel_centres() {
    let window = [0.0, 24.0];
    let view = SliceView {
        corner: [-0.5, -0.5, 0.0],
        across: [4.0, 0.0, 0.0],
        down: [0.0, 3.0, 0.0],
        window,
        palette: Palette::Viridis,
        outside: OUTSIDE,
    };
    let (width, height) = (4 * SCALE, 3 * SCALE);
    let Some(pixels) = draw(&view, Interpolation::Linear, width as u32, height as u32) else { return };
    for (at, pixel) in pixels.iter().enumerate() {
        let place = |pixels: usize, last: f32| ((pixels as f32 + 0.5) / SCALE as f32 - 0.5).clamp(0.0, last);
        // The image is x + 10 y: bilinear interpolation gives it back, held at the outer centres.
        let exact = place(at % width, 3.0) + 10.0 * place(at / width, 2.0);
        let (low, high) = (colour(exact - 0.01, window), colour(exact + 0.01, window));
        assert!(*pixel == low || *pixel == high, "pixel {at}: {pixel:?} is not {low:?}");
    }
}

#[test]
fn an_image_that_does_not_fit_is_refused_with_a_sentence() {
    if super::renderer().is_none() {
        return;
    }
    let state = create_render_state(default_wgpu_setup(), Default::default());
    let mut renderer = SliceRenderer::new(&state.device, &state.queue, wgpu::TextureFormat::Rgba8Unorm);
    let limit = state.device.limits().max_texture_dimension_3d;
    let side = limit as usize + 1;
    let refused = renderer.upload(&state.device, &state.queue, [side, 1, 1], &vec![0.0; side]);
    assert_eq!(refused, Err(RenderError::TooLarge { found: side, limit }));
    let refused = renderer.upload(&state.device, &state.queue, [2, 2, 2], &[0.0; 7]);
    assert_eq!(refused, Err(RenderError::Length { expected: 8, found: 7 }));
}
