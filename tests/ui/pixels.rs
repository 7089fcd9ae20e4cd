//! The slice shader against values computed by hand.

use egui_kittest::wgpu::{create_render_state, default_wgpu_setup};
use tomoscope::render::{
    Combination, Content, Interpolation, NUM_COLOURS, Palette, RenderError, Slab, SliceRenderer, SliceView, VolumeSlot,
    VoxelValues,
};

const SIZE: [usize; 3] = [4, 3, 2];
/// Pixels per voxel side.
const SCALE: usize = 4;
const OUTSIDE: [f32; 3] = [1.0, 0.0, 0.0];
/// What the picture is where nothing is drawn.
const EMPTY: [u8; 3] = [0; 3];

/// Value of voxel x, y, z.
fn value(x: usize, y: usize, z: usize) -> f32 {
    (x + 10 * y + 100 * z) as f32
}

/// A volume of a function of the voxel.
fn volume(size: [usize; 3], value: impl Fn(usize, usize, usize) -> f32) -> Vec<f32> {
    let voxels = (0..size[2]).flat_map(|z| (0..size[1]).flat_map(move |y| (0..size[0]).map(move |x| (x, y, z))));
    voxels.map(|(x, y, z)| value(x, y, z)).collect()
}

/// A slice of the first volume.
fn slice(corner: [f32; 3], across: [f32; 3], down: [f32; 3], window: [f32; 2]) -> SliceView {
    SliceView {
        content: Content::Volume(VolumeSlot::First),
        interpolation: Interpolation::Nearest,
        corner,
        across,
        down,
        slab: None,
        window,
        palette: Palette::Viridis,
        outside: OUTSIDE,
        over: None,
    }
}

/// Draws slices of [`value`]'s volume.
fn draw(view: &SliceView, width: usize, height: usize) -> Option<Vec<[u8; 3]>> {
    draw_all(&[(SIZE, volume(SIZE, value))], &[*view], width, height)
}

/// Draws slices of volumes into a picture of `width` × `height` pixels; the red, green and blue of each.
fn draw_all(volumes: &[([usize; 3], Vec<f32>)], views: &[SliceView], width: usize, height: usize) -> Option<Vec<[u8; 3]>> {
    draw_kept(volumes, views, None, width, height)
}

/// The same by way of pictures of this size that are kept, where one is given.
fn draw_kept(
    volumes: &[([usize; 3], Vec<f32>)],
    views: &[SliceView],
    kept: Option<[u32; 2]>,
    width: usize,
    height: usize,
) -> Option<Vec<[u8; 3]>> {
    let upload = |renderer: &mut SliceRenderer, device: &wgpu::Device, queue: &wgpu::Queue| {
        for ((size, values), slot) in volumes.iter().zip([VolumeSlot::First, VolumeSlot::Second]) {
            renderer.upload(device, queue, slot, *size, values.as_slice()).unwrap();
        }
    };
    draw_uploaded(upload, views, kept, width, height)
}

/// The same of volumes that a function uploads.
fn draw_uploaded(
    upload: impl FnOnce(&mut SliceRenderer, &wgpu::Device, &wgpu::Queue),
    views: &[SliceView],
    kept: Option<[u32; 2]>,
    width: usize,
    height: usize,
) -> Option<Vec<[u8; 3]>> {
    super::renderer()?;
    let state = create_render_state(default_wgpu_setup(), Default::default());
    let (device, queue) = (&state.device, &state.queue);
    let format = wgpu::TextureFormat::Rgba8Unorm;
    let mut renderer = SliceRenderer::new(device, queue, format);
    upload(&mut renderer, device, queue);
    let extent = wgpu::Extent3d { width: width as u32, height: height as u32, depth_or_array_layers: 1 };
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
        size: (row * height) as u64,
        usage: wgpu::BufferUsages::COPY_DST | wgpu::BufferUsages::MAP_READ,
        mapped_at_creation: false,
    });
    let mut encoder = device.create_command_encoder(&Default::default());
    for (index, view) in views.iter().enumerate() {
        match kept {
            None => renderer.set_view(device, queue, 14 + index, view),
            Some(size) => renderer.set_cached_view(device, queue, &mut encoder, 14 + index, view, size),
        }
    }
    let attachment = target.create_view(&Default::default());
    let mut pass = encoder.begin_render_pass(&wgpu::RenderPassDescriptor {
        color_attachments: &[Some(wgpu::RenderPassColorAttachment {
            view: &attachment,
            resolve_target: None,
            ops: wgpu::Operations { load: wgpu::LoadOp::Clear(wgpu::Color::TRANSPARENT), store: wgpu::StoreOp::Store },
            depth_slice: None,
        })],
        ..Default::default()
    });
    for index in 0..views.len() {
        renderer.draw(&mut pass, 14 + index);
    }
    drop(pass);
    let layout = wgpu::TexelCopyBufferLayout { offset: 0, bytes_per_row: Some(row as u32), rows_per_image: None };
    encoder.copy_texture_to_buffer(target.as_image_copy(), wgpu::TexelCopyBufferInfo { buffer: &buffer, layout }, extent);
    queue.submit([encoder.finish()]);
    buffer.slice(..).map_async(wgpu::MapMode::Read, |result| result.unwrap());
    device.poll(wgpu::PollType::wait_indefinitely()).unwrap();
    let bytes = buffer.slice(..).get_mapped_range().unwrap().to_vec();
    let pixel = |x: usize, y: usize| {
        let at = y * row + 4 * x;
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

/// Whether a pixel has the colour of a value, or of one next to it where rounding may decide.
fn is_near(pixel: [u8; 3], value: f32, window: [f32; 2]) -> bool {
    let tolerance = 1e-3 * (window[1] - window[0]);
    [-tolerance, 0.0, tolerance].iter().any(|step| colour(value + step, window) == pixel)
}

#[test]
fn whole_numbers_of_sixteen_bits_look_as_the_same_floats() {
    // HU from air to bone, all of them exact in 16-bit floats.
    let hounsfield = |x: usize, y: usize, z: usize| (x * 311 + y * 97 + z * 53) as f32 % 3000.0 - 1000.0;
    let floats = volume(SIZE, hounsfield);
    let integers: Vec<i16> = floats.iter().map(|value| *value as i16).collect();
    let view = SliceView {
        interpolation: Interpolation::Linear,
        ..slice([0.0, 0.0, 1.0], [SIZE[0] as f32, 0.0, 0.0], [0.0, SIZE[1] as f32, 0.0], [-160.0, 240.0])
    };
    let Some(expected) = draw_all(&[(SIZE, floats.clone())], &[view], 24, 24) else { return };
    // The texture of the same slot changes its format.
    let upload = |renderer: &mut SliceRenderer, device: &wgpu::Device, queue: &wgpu::Queue| {
        renderer.upload(device, queue, VolumeSlot::First, SIZE, vec![0.0; floats.len()].as_slice()).unwrap();
        renderer.upload(device, queue, VolumeSlot::First, SIZE, VoxelValues::Integer(&integers)).unwrap();
    };
    assert_eq!(draw_uploaded(upload, &[view], None, 24, 24).unwrap(), expected);
}

#[test]
fn the_nearest_voxel_fills_its_square_and_outside_is_the_background() {
    // The slice y = 1, one voxel of margin on the left, x to the right, z down.
    let window = [0.0, 120.0];
    let view = slice([-1.5, 1.0, -0.5], [5.0, 0.0, 0.0], [0.0, 0.0, 2.0], window);
    let (width, height) = (5 * SCALE, 2 * SCALE);
    let Some(pixels) = draw(&view, width, height) else { return };
    for (at, pixel) in pixels.iter().enumerate() {
        let (column, row) = (at % width / SCALE, at / width / SCALE);
        let expected = if column == 0 { [255, 0, 0] } else { colour(value(column - 1, 1, row), window) };
        assert_eq!(*pixel, expected, "column {column}, row {row}");
    }
}

#[test]
fn smooth_values_are_bilinear_between_voxel_centres() {
    let window = [0.0, 24.0];
    let view =
        SliceView { interpolation: Interpolation::Linear, ..slice([-0.5, -0.5, 0.0], [4.0, 0.0, 0.0], [0.0, 3.0, 0.0], window) };
    let (width, height) = (4 * SCALE, 3 * SCALE);
    let Some(pixels) = draw(&view, width, height) else { return };
    for (at, pixel) in pixels.iter().enumerate() {
        let place = |pixels: usize, last: f32| ((pixels as f32 + 0.5) / SCALE as f32 - 0.5).clamp(0.0, last);
        // The image is x + 10 y: bilinear interpolation gives it back, held at the outer centres.
        let exact = place(at % width, 3.0) + 10.0 * place(at / width, 2.0);
        assert!(is_near(*pixel, exact, window), "pixel {at}: {pixel:?} is not that of {exact}");
    }
}

#[test]
fn an_oblique_slice_of_a_linear_image_is_that_linear_function() {
    let size = [12, 11, 10];
    let linear = |[x, y, z]: [f32; 3]| 2.0 * x - y + 0.5 * z;
    let values = volume(size, |x, y, z| linear([x as f32, y as f32, z as f32]));
    let window = [-10.0, 25.0];
    let (corner, across, down) = ([1.0, 2.0, 8.0], [9.0, 3.0, -2.0], [1.0, 4.0, -5.0]);
    let view = SliceView { interpolation: Interpolation::Linear, ..slice(corner, across, down, window) };
    let (width, height) = (24, 20);
    let Some(pixels) = draw_all(&[(size, values)], &[view], width, height) else { return };
    for (at, pixel) in pixels.iter().enumerate() {
        let (u, v) = (((at % width) as f32 + 0.5) / width as f32, ((at / width) as f32 + 0.5) / height as f32);
        let exact = linear(std::array::from_fn(|a| corner[a] + u * across[a] + v * down[a]));
        assert!(is_near(*pixel, exact, window), "pixel {at}: {pixel:?} is not that of {exact}");
    }
}

#[test]
fn a_slab_shows_the_mean_or_the_largest_value_of_its_slices() {
    let size = [3, 3, 7];
    // Along z the square of the distance to slice 2, so that mean and maximum differ.
    let values = volume(size, |x, y, z| (x + 3 * y) as f32 + (z as f32 - 2.0).powi(2));
    let window = [0.0, 30.0];
    let slab = |num_samples, combination| Some(Slab { step: [0.0, 0.0, 1.0], num_samples, combination });
    let plane = slice([-0.5, -0.5, 3.0], [3.0, 0.0, 0.0], [0.0, 3.0, 0.0], window);
    // Slices 1 to 5 have 1, 0, 1, 4, 9; the last of thirteen lie outside, and 0 and 6 are 4 and 16.
    for (num_samples, combination, exact) in [
        (5, Combination::Mean, 3.0),
        (5, Combination::Maximum, 9.0),
        (13, Combination::Mean, 5.0),
        (13, Combination::Maximum, 16.0),
        (1, Combination::Maximum, 1.0),
    ] {
        for interpolation in [Interpolation::Nearest, Interpolation::Linear] {
            let view = SliceView { slab: slab(num_samples, combination), interpolation, ..plane };
            let Some(pixels) = draw_all(&[(size, values.clone())], &[view], 3, 3) else { return };
            for (at, pixel) in pixels.iter().enumerate() {
                assert!(is_near(*pixel, at as f32 + exact, window), "{num_samples} {combination:?}, pixel {at}: {pixel:?}");
            }
        }
    }
}

/// A view through a whole cube of this many voxels along each side, turned about z and tilted (degrees), as wide and high as the
/// cube; its shader's samples are a voxel apart.
fn look_through(side: usize, azimuth_deg: f32, elevation_deg: f32, window: [f32; 2]) -> SliceView {
    let ((sin_a, cos_a), (sin_e, cos_e)) = (azimuth_deg.to_radians().sin_cos(), elevation_deg.to_radians().sin_cos());
    let right = [cos_a, sin_a, 0.0];
    let down = [sin_e * sin_a, -sin_e * cos_a, cos_e];
    let away = [-cos_e * sin_a, cos_e * cos_a, sin_e];
    let (length, middle) = (side as f32, 0.5 * (side as f32 - 1.0));
    let corner = std::array::from_fn(|a| middle - 0.5 * length * (right[a] + down[a]));
    let num_samples = (3f32.sqrt() * length).ceil() as u32;
    SliceView {
        slab: Some(Slab { step: away, num_samples, combination: Combination::Maximum }),
        ..slice(corner, right.map(|v| length * v), down.map(|v| length * v), window)
    }
}

#[test]
fn a_projection_along_an_axis_has_the_largest_value_of_each_line_of_voxels() {
    // Values in no order, so that each line of voxels has its largest one somewhere else.
    let side = 9;
    let scattered = |x: usize, y: usize, z: usize| ((x * 73 + y * 179 + z * 283 + x * y * 31 + y * z * 57) % 101) as f32;
    let values = volume([side; 3], scattered);
    let window = [0.0, 101.0];
    for azimuth_deg in [0.0, 90.0, 180.0] {
        let view = look_through(side, azimuth_deg, 0.0, window);
        let Some(pixels) = draw_all(&[([side; 3], values.clone())], &[view], side, side) else { return };
        for (at, pixel) in pixels.iter().enumerate() {
            let (column, z) = (at % side, at / side);
            let line = (0..side).map(|k| match azimuth_deg {
                90.0 => scattered(k, column, z),
                180.0 => scattered(side - 1 - column, k, z),
                _ => scattered(column, k, z),
            });
            let largest = line.fold(0.0, f32::max);
            assert!(is_near(*pixel, largest, window), "{azimuth_deg} degrees, {column}, {z}: {pixel:?} is not that of {largest}");
        }
    }
}

#[test]
fn a_cone_looks_the_same_from_all_sides_and_is_as_high_as_the_line_of_sight_is_near() {
    // Value R - r at the distance r from the middle: the largest on a line that passes at the distance d is R - d.
    let (side, radius) = (40, 18.0_f32);
    let middle = 0.5 * (side as f32 - 1.0);
    let cone = |x: usize, y: usize, z: usize| {
        let r: f32 = [x, y, z].iter().map(|v| (*v as f32 - middle).powi(2)).sum::<f32>().sqrt();
        (radius - r).max(0.0)
    };
    let values = volume([side; 3], cone);
    let window = [0.0, radius];
    for (azimuth_deg, elevation_deg) in [(0.0, 0.0), (33.0, 0.0), (250.0, 0.0), (70.0, -40.0), (0.0, 90.0)] {
        let view = SliceView { interpolation: Interpolation::Linear, ..look_through(side, azimuth_deg, elevation_deg, window) };
        let Some(pixels) = draw_all(&[([side; 3], values.clone())], &[view], side, side) else { return };
        for (at, pixel) in pixels.iter().enumerate() {
            let d = (at as f32 % side as f32 - middle).hypot((at / side) as f32 - middle);
            // Beyond the cone the corners of the view look past the cube.
            if d > radius + 1.0 {
                continue;
            }
            let exact = (radius - d).max(0.0);
            // Samples lie up to half a voxel beside the nearest point; the interpolation rounds the tip off and the rim up.
            let lowest = exact - (0.25 + d * d).sqrt() + d - if d < 2.0 { 0.9 } else { 0.3 };
            let highest = exact + if d > radius - 2.0 { 0.4 } else { 0.02 };
            let fits = (0..=60).any(|k| colour(lowest + (highest - lowest) * k as f32 / 60.0, window) == *pixel);
            assert!(fits, "{azimuth_deg}, {elevation_deg}: {pixel:?} at {d} is not that of {lowest} to {highest}");
        }
    }
}

#[test]
fn a_picture_that_is_kept_is_that_of_the_view_and_is_made_anew_when_something_changes() {
    if super::renderer().is_none() {
        return;
    }
    let side = 12;
    let values = volume([side; 3], |x, y, z| (x + 2 * y + 3 * z) as f32);
    let view = look_through(side, 20.0, 10.0, [0.0, 70.0]);
    let size = Some([side as u32; 2]);
    let kept = draw_kept(&[([side; 3], values.clone())], &[view], size, side, side).unwrap();
    assert_eq!(kept, draw_all(&[([side; 3], values.clone())], &[view], side, side).unwrap());
    // Of half the size it is stretched: each colour is there again, near where it was.
    let half = Some([side as u32 / 2; 2]);
    let stretched = draw_kept(&[([side; 3], values)], &[view], half, side, side).unwrap();
    let far = |a: &[u8; 3], b: &[u8; 3]| (0..3).map(|c| a[c].abs_diff(b[c])).max();
    let num_far = kept.iter().zip(&stretched).filter(|(a, b)| far(a, b) > Some(60)).count();
    assert!(num_far < side * side / 4, "{num_far} of {}", side * side);
}

#[test]
fn a_projection_over_another_is_mixed_by_its_opacity_where_its_volume_is() {
    // The upper volume covers the left half of the lower one, with voxels half as wide.
    let (side, opacity) = (8, 0.3);
    let scattered = |x: usize, y: usize, z: usize| ((x * 73 + y * 179 + z * 283 + x * y * 31) % 101) as f32;
    let upper_size = [8, 8, 8];
    let upper_value = |x: usize, y: usize, z: usize| ((x * 37 + y * 11 + z * 59) % 101) as f32;
    let volumes = [([side; 3], volume([side; 3], scattered)), (upper_size, volume(upper_size, upper_value))];
    let window = [0.0, 101.0];
    let lower = look_through(side, 0.0, 0.0, window);
    let content = Content::Volume(VolumeSlot::Second);
    let upper = SliceView { content, over: Some(opacity), across: [16.0, 0.0, 0.0], corner: [-0.3, 3.5, -0.5], ..lower };
    let size = Some([side as u32; 2]);
    for pixels in [draw_all(&volumes, &[lower, upper], side, side), draw_kept(&volumes, &[lower, upper], size, side, side)] {
        let Some(pixels) = pixels else { return };
        for (at, pixel) in pixels.iter().enumerate() {
            let (column, z) = (at % side, at / side);
            let largest = |value: &dyn Fn(usize) -> f32| (0..side).map(value).fold(0.0, f32::max);
            let below = colour(largest(&|y| scattered(column, y, z)), window);
            // The middle of a pixel lies at 2 c + 0.7.
            let above = colour(largest(&|y| upper_value((2 * column + 1).min(7), y, z)), window);
            let mixed = |k: usize| (1.0 - opacity) * f32::from(below[k]) + opacity * f32::from(above[k]);
            for k in 0..3 {
                let expected = if column < side / 2 { mixed(k) } else { f32::from(below[k]) };
                assert!((f32::from(pixel[k]) - expected).abs() <= 1.5, "{column}, {z}: {pixel:?}, not {expected} in {k}");
            }
        }
    }
}

#[test]
fn the_palette_of_one_hue_is_transparent_at_its_bottom_over_an_image() {
    let (opacity, window) = (0.6, [0.0, 40.0]);
    let part = |x: usize| x as f32 / (SIZE[0] - 1) as f32;
    let volumes = [(SIZE, volume(SIZE, value)), (SIZE, volume(SIZE, |x, _, _| part(x)))];
    let lower = slice([-0.5, -0.5, 0.0], [4.0, 0.0, 0.0], [0.0, 3.0, 0.0], window);
    let content = Content::Volume(VolumeSlot::Second);
    let upper = SliceView { content, over: Some(opacity), window: [0.0, 1.0], palette: Palette::Blue, ..lower };
    let (width, height) = (4 * SCALE, 3 * SCALE);
    let Some(pixels) = draw_all(&volumes, &[lower, upper], width, height) else { return };
    for (at, pixel) in pixels.iter().enumerate() {
        let (x, y) = (at % width / SCALE, at / width / SCALE);
        let below = colour(value(x, y, 0), window);
        let entry = Palette::Blue.table()[((part(x) * NUM_COLOURS as f32) as usize).min(NUM_COLOURS - 1)];
        let alpha = opacity * f32::from(entry[3]) / 255.0;
        for k in 0..3 {
            let expected = (1.0 - alpha) * f32::from(below[k]) + alpha * f32::from(entry[k]);
            assert!((f32::from(pixel[k]) - expected).abs() <= 1.5, "{x}, {y}: {pixel:?}, not {expected} in {k}");
        }
        // Nothing at the bottom changes the lower image.
        assert!(x > 0 || *pixel == below, "{y}: {pixel:?}, not {below:?}");
    }
}

#[test]
fn a_difference_is_a_multiple_of_one_volume_less_the_other() {
    let window = [-40.0, 40.0];
    let volumes = [(SIZE, volume(SIZE, value)), (SIZE, volume(SIZE, |x, y, _| (20 * x + y) as f32))];
    let content = Content::Difference { of: VolumeSlot::First, factor: 1.5, minus: VolumeSlot::Second };
    let view = SliceView { content, ..slice([-0.5, -0.5, 0.0], [5.0, 0.0, 0.0], [0.0, 3.0, 0.0], window) };
    let (width, height) = (5 * SCALE, 3 * SCALE);
    let Some(pixels) = draw_all(&volumes, &[view], width, height) else { return };
    for (at, pixel) in pixels.iter().enumerate() {
        let (x, y) = (at % width / SCALE, at / width / SCALE);
        let exact = 1.5 * value(x, y, 0) - (20 * x + y) as f32;
        let expected = if x == 4 { [255, 0, 0] } else { colour(exact, window) };
        assert_eq!(*pixel, expected, "voxel {x}, {y}");
    }
    // The other way round, and without the second volume.
    let content = Content::Difference { of: VolumeSlot::Second, factor: 1.0, minus: VolumeSlot::First };
    let Some(pixels) = draw_all(&volumes, &[SliceView { content, ..view }], 1, 1) else { return };
    assert_eq!(pixels, [colour(20.0 * 2.0 + 1.0 - value(2, 1, 0), window)]);
    let Some(pixels) = draw_all(&volumes[..1], &[view], 1, 1) else { return };
    assert_eq!(pixels, [EMPTY]);
    let smaller = ([4, 3, 1], vec![0.0; 12]);
    let Some(pixels) = draw_all(&[volumes[0].clone(), smaller], &[view], 1, 1) else { return };
    assert_eq!(pixels, [EMPTY]);
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
    let mut upload = |size, values: &[f32]| renderer.upload(&state.device, &state.queue, VolumeSlot::First, size, values);
    assert_eq!(upload([side, 1, 1], &vec![0.0; side]), Err(RenderError::TooLarge { found: side, limit }));
    assert_eq!(upload([2, 2, 2], &[0.0; 7]), Err(RenderError::Length { expected: 8, found: 7 }));
}
