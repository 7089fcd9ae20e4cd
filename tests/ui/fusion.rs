//! A PET image and a second image with another grid in one view: markers of both are where their world positions say.

use std::path::Path;

use egui::accesskit::Role;
use egui::{Event, Pos2, Rect, Theme};
use egui_kittest::Harness;
use egui_kittest::kittest::Queryable as _;
use nalgebra::{Matrix3, Rotation3, Vector3};
use tomoscope::ui::{App, Source};

use super::images::add_second;
use super::views::{click_at, double_click_at};
use super::{click, drag, renderer, wait_for, window_on};

const SIZE: [f32; 2] = [1100.0, 850.0];

/// Standard deviation of a marker, mm.
const SIGMA_MM: f64 = 5.0;

/// Markers, mm: x to the left, y to the back, z to the feet.
const MARKERS: [[f64; 3]; 2] = [[-42.3, 31.7, -24.1], [35.2, -21.4, 38.9]];

/// An image: its voxels along each axis, and the matrix and the offset from voxel to world, mm.
struct Grid {
    size: [usize; 3],
    matrix: Matrix3<f64>,
    offset: Vector3<f64>,
}

/// Appends an element of DICOM, in explicit little endian.
fn element(file: &mut Vec<u8>, [group, number]: [u16; 2], vr: &[u8; 2], value: &[u8]) {
    file.extend(group.to_le_bytes());
    file.extend(number.to_le_bytes());
    file.extend(vr);
    let odd = value.len() % 2;
    match vr {
        b"OW" => {
            file.extend([0; 2]);
            file.extend(((value.len() + odd) as u32).to_le_bytes());
        }
        _ => file.extend(((value.len() + odd) as u16).to_le_bytes()),
    }
    file.extend(value);
    file.extend(vec![if vr == b"UI" { 0 } else { b' ' }; odd]);
}

impl Grid {
    /// A grid about a middle, with axes that are turned about it.
    fn new(size: [usize; 3], voxel_mm: [f64; 3], middle: [f64; 3], turn: Rotation3<f64>) -> Self {
        let matrix = turn.matrix() * Matrix3::from_diagonal(&Vector3::from(voxel_mm));
        let half = Vector3::from(size.map(|n| 0.5 * (n as f64 - 1.0)));
        Self { size, matrix, offset: Vector3::from(middle) - matrix * half }
    }

    /// The value at a voxel: Gaussian markers.
    fn value(&self, voxel: [usize; 3]) -> f64 {
        let world = self.matrix * Vector3::from(voxel.map(|v| v as f64)) + self.offset;
        let marker = |at: &[f64; 3]| (-0.5 * (world - Vector3::from(*at)).norm_squared() / SIGMA_MM.powi(2)).exp();
        100.0 * MARKERS.iter().map(marker).sum::<f64>()
    }

    /// Writes a CT series, whose world has z to the head.
    fn write_ct(&self, folder: &Path) {
        std::fs::create_dir(folder).unwrap();
        let to_dicom = Matrix3::from_diagonal(&Vector3::new(1.0, 1.0, -1.0));
        let (matrix, offset) = (to_dicom * self.matrix, to_dicom * self.offset);
        let text = |values: &[f64]| values.iter().map(|v| format!("{v:.8}")).collect::<Vec<_>>().join("\\");
        let directions: Vec<f64> = [0, 1].iter().flat_map(|&axis| matrix.column(axis).normalize().data.0[0]).collect();
        let spacing: [f64; 3] = [0, 1, 2].map(|axis| matrix.column(axis).norm());
        let [nx, ny, nz] = self.size;
        for z in 0..nz {
            let position = offset + z as f64 * matrix.column(2);
            let instance = format!("1.2.3.4.{}", z + 1);
            let class = "1.2.840.10008.5.1.4.1.1.2";
            let pixels = (0..ny).flat_map(|y| (0..nx).map(move |x| [x, y, z]));
            let pixels: Vec<u8> = pixels.flat_map(|voxel| ((10.0 * self.value(voxel)).round() as i16).to_le_bytes()).collect();
            let mut meta = Vec::new();
            element(&mut meta, [2, 2], b"UI", class.as_bytes());
            element(&mut meta, [2, 3], b"UI", instance.as_bytes());
            element(&mut meta, [2, 0x10], b"UI", b"1.2.840.10008.1.2.1");
            let mut file = [vec![0; 128], b"DICM".to_vec()].concat();
            element(&mut file, [2, 0], b"UL", &(meta.len() as u32).to_le_bytes());
            file.extend(meta);
            for (tag, vr, value) in [
                ([8, 0x16], b"UI", class.to_owned()),
                ([8, 0x18], b"UI", instance),
                ([8, 0x60], b"CS", "CT".to_owned()),
                ([0x20, 0xd], b"UI", "1.2.3.1".to_owned()),
                ([0x20, 0xe], b"UI", "1.2.3.2".to_owned()),
                ([0x20, 0x13], b"IS", (z + 1).to_string()),
                ([0x20, 0x32], b"DS", text(&position.data.0[0])),
                ([0x20, 0x37], b"DS", text(&directions)),
                ([0x28, 4], b"CS", "MONOCHROME2".to_owned()),
                ([0x28, 0x30], b"DS", text(&[spacing[1], spacing[0]])),
                ([0x28, 0x1052], b"DS", "0".to_owned()),
                ([0x28, 0x1053], b"DS", "0.1".to_owned()),
            ] {
                // The elements are in the order of their tags.
                if tag == [0x28, 4] {
                    element(&mut file, [0x28, 2], b"US", &1u16.to_le_bytes());
                }
                if tag == [0x28, 0x30] {
                    element(&mut file, [0x28, 0x10], b"US", &(ny as u16).to_le_bytes());
                    element(&mut file, [0x28, 0x11], b"US", &(nx as u16).to_le_bytes());
                }
                if tag == [0x28, 0x1052] {
                    for (at, number) in [(0x100, 16u16), (0x101, 16), (0x102, 15), (0x103, 1)] {
                        element(&mut file, [0x28, at], b"US", &number.to_le_bytes());
                    }
                }
                element(&mut file, tag, vr, value.as_bytes());
            }
            element(&mut file, [0x7fe0, 0x10], b"OW", &pixels);
            std::fs::write(folder.join(format!("{z}.dcm")), file).unwrap();
        }
    }

    /// Writes NIfTI, whose world has x to the right, y to the front, z to the head.
    fn write(&self, path: &Path) {
        let mut header = vec![0u8; 352];
        let mut put = |at: usize, bytes: &[u8]| header[at..at + bytes.len()].copy_from_slice(bytes);
        put(0, &348i32.to_le_bytes());
        let [nx, ny, nz] = self.size.map(|n| n as i16);
        for (k, n) in [3, nx, ny, nz, 1, 1, 1, 1].into_iter().enumerate() {
            put(40 + 2 * k, &n.to_le_bytes());
        }
        put(70, &16i16.to_le_bytes());
        put(72, &32i16.to_le_bytes());
        for axis in 0..3 {
            put(80 + 4 * axis, &(self.matrix.column(axis).norm() as f32).to_le_bytes());
            for k in 0..3 {
                put(280 + 16 * axis + 4 * k, &(-self.matrix[(axis, k)] as f32).to_le_bytes());
            }
            put(280 + 16 * axis + 12, &(-self.offset[axis] as f32).to_le_bytes());
        }
        put(108, &352f32.to_le_bytes());
        put(112, &1f32.to_le_bytes());
        put(123, &[2]);
        put(254, &1i16.to_le_bytes());
        put(344, b"n+1\0");
        let [nx, ny, nz] = self.size;
        let voxels = (0..nz).flat_map(|z| (0..ny).flat_map(move |y| (0..nx).map(move |x| [x, y, z])));
        for voxel in voxels {
            header.extend((self.value(voxel) as f32).to_le_bytes());
        }
        std::fs::write(path, header).unwrap();
    }
}

/// The window with a PET image, and a CT over it.
fn fused(second: &Grid) -> Option<Harness<'static, App>> {
    let folder = tempfile::tempdir().unwrap();
    let [pet, ct] = ["pet.nii", "ct"].map(|name| folder.path().join(name));
    Grid::new([60, 60, 44], [4.0, 4.0, 5.0], [3.0, -2.0, 6.0], Rotation3::identity()).write(&pet);
    second.write_ct(&ct);
    let mut harness = window_on(renderer()?, SIZE, Theme::Dark, false, Source::file(pet));
    wait_for(&mut harness, "the image", |app| app.work.shown().volume().is_some() && app.work.is_run_over());
    click(&mut harness, "Full");
    click(&mut harness, "Smooth");
    click(&mut harness, "Views");
    harness.get_by_role_and_label(Role::CheckBox, "Crosshair").click();
    harness.run_steps(3);
    click(&mut harness, "Views");
    add_second(&mut harness, &ct);
    click(&mut harness, "above");
    for (end, value) in [("Bottom", 0.0), ("Top", 100.0)] {
        let label = format!("{end} of the second image");
        harness.get_by_role_and_label(Role::SpinButton, &label).set_value_accesskit(value);
        harness.run_steps(3);
    }
    harness.run_steps(60);
    Some(harness)
}

/// Axes of a slice, across and down.
fn axes(slice: &str) -> [usize; 2] {
    match slice {
        "Transaxial slice" => [0, 1],
        "Coronal slice" => [0, 2],
        _ => [1, 2],
    }
}

/// The position of a point in an enlarged slice: at zoom 1 the image fits, with 4 points around it.
fn screen(harness: &Harness<'_, App>, slice: &str, point: [f64; 3]) -> Pos2 {
    let rect = harness.get_by_label(slice).rect();
    let (view, grid) = (harness.state().work.view(), &harness.state().work.shown().volume().unwrap().grid);
    let [a, b] = axes(slice);
    let fit = |axis: usize, length: f32| f64::from(length - 8.0) / (grid.size[axis] as f64 * grid.voxel_mm[axis]);
    let scale = view.zoom * fit(a, rect.width()).min(fit(b, rect.height()));
    let off = |axis: usize| ((point[axis] - view.focus_mm[axis]) * scale) as f32;
    rect.center() + egui::vec2(off(a), off(b))
}

/// The pictures of two areas at an opacity of the second image.
fn pictures(harness: &mut Harness<'_, App>, opacity: f64, areas: [Rect; 2]) -> [Vec<[f64; 3]>; 2] {
    harness.get_by_role_and_label(Role::Slider, "Opacity").set_value_accesskit(opacity);
    harness.remove_cursor();
    harness.run_steps(3);
    let image = harness.render().unwrap();
    areas.map(|area| {
        let rows = area.top() as u32..area.bottom() as u32;
        let columns = area.left() as u32..area.right() as u32;
        rows.flat_map(|y| columns.clone().map(move |x| [x, y])).map(|[x, y]| image.get_pixel(x, y).0).map(rgb).collect()
    })
}

fn rgb([r, g, b, _]: [u8; 4]) -> [f64; 3] {
    [r, g, b].map(f64::from)
}

/// The centroid of what stands out of the background in a picture of an area.
fn centroid(pixels: &[[f64; 3]], area: Rect) -> Pos2 {
    let width = area.width() as usize;
    // The corner of the area is far from the marker.
    let out: Vec<f64> = pixels.iter().map(|pixel| (0..3).map(|k| (pixel[k] - pixels[0][k]).abs()).sum()).collect();
    let high = out.iter().copied().fold(0.0, f64::max);
    assert!(high > 100.0, "no marker: {high}");
    let mut sums = [0.0; 3];
    for (at, value) in out.iter().enumerate().filter(|(_, value)| **value > 0.25 * high) {
        let [x, y] = [at % width, at / width].map(|v| v as f64 + 0.5);
        (sums[0], sums[1], sums[2]) = (sums[0] + value, sums[1] + value * x, sums[2] + value * y);
    }
    area.min + egui::vec2((sums[1] / sums[0]) as f32, (sums[2] / sums[0]) as f32)
}

/// The largest distance of a marker of either image from its place, pixels; the second image is shifted by `shift_mm`.
fn largest_distance(harness: &mut Harness<'_, App>, shift_mm: [f64; 3]) -> f32 {
    let mut largest = 0.0f32;
    for slice in ["Transaxial slice", "Coronal slice", "Sagittal slice"] {
        let corner = harness.get_by_label(slice).rect().min + egui::vec2(40.0, 40.0);
        for (marker, zoom) in MARKERS.into_iter().flat_map(|marker| [(marker, 1.0), (marker, 2.6)]) {
            harness.key_press(egui::Key::Home);
            harness.run_steps(3);
            double_click_at(harness, corner);
            assert!(harness.state().work.view().maximised.is_some());
            go_to(harness, slice, marker);
            let expected = screen(harness, slice, marker);
            harness.hover_at(expected);
            harness.event(Event::Zoom(zoom));
            harness.run_steps(3);
            assert!((harness.state().work.view().zoom - f64::from(zoom)).abs() < 1e-6);
            let shifted = std::array::from_fn(|a| marker[a] + shift_mm[a]);
            let places = [marker, shifted].map(|point| screen(harness, slice, point));
            let rect = harness.get_by_label(slice).rect();
            let reach = (3.0 * SIGMA_MM * (screen(harness, slice, [1.0; 3]) - screen(harness, slice, [0.0; 3])).x as f64) as f32;
            let areas = places.map(|place| {
                let area = Rect::from_center_size(place, egui::Vec2::splat(2.0 * reach)).intersect(rect.shrink(20.0));
                Rect::from_min_max(area.min.floor(), area.max.floor())
            });
            // Both layers from two mixtures: F = a L + (1 − a) S.
            let [weak, strong] = [0.25, 0.75].map(|opacity| pictures(harness, opacity, areas));
            let layer = |of: usize, opacity: f64| -> Vec<[f64; 3]> {
                let both = weak[of].iter().zip(&strong[of]);
                both.map(|(f, g)| std::array::from_fn(|k| f[k] + 2.0 * (opacity - 0.25) * (g[k] - f[k]))).collect()
            };
            for (of, opacity) in [(0, 0.0), (1, 1.0)] {
                let found = centroid(&layer(of, opacity), areas[of]);
                let distance = (found - places[of]).length();
                println!("{slice}, zoom {zoom}, image {}: {distance:.3} pixels", of + 1);
                assert!(distance < 0.5, "{slice}, {marker:?}, zoom {zoom}, image {of}: {found:?}, not {:?}", places[of]);
                largest = largest.max(distance);
            }
        }
        harness.key_press(egui::Key::Home);
        harness.run_steps(3);
    }
    largest
}

/// Moves the crosshair to a point by the wheel: the slice is enlarged.
fn go_to(harness: &mut Harness<'_, App>, slice: &str, point: [f64; 3]) {
    let middle = harness.get_by_label(slice).rect().center();
    click_at(harness, middle, egui::Modifiers::NONE);
    let [a, b] = axes(slice);
    let normal = 3 - a - b;
    let voxel_mm = harness.state().work.shown().volume().unwrap().grid.voxel_mm[normal];
    let steps = ((point[normal] - harness.state().work.view().crosshair_mm[normal]) / voxel_mm).round() as i32;
    let key = if steps < 0 { egui::Key::ArrowUp } else { egui::Key::ArrowDown };
    harness.hover_at(middle);
    harness.run_steps(2);
    for _ in 0..steps.abs() {
        harness.key_press(key);
        harness.run_steps(1);
    }
    harness.run_steps(2);
    let off = harness.state().work.view().crosshair_mm[normal] - point[normal];
    assert!(off.abs() <= 0.5 * voxel_mm + 1e-6, "{slice}: {off} mm off");
}

/// The second image, with other voxels and another middle.
fn second(turn: Rotation3<f64>) -> Grid {
    Grid::new([120, 120, 84], [1.7, 1.7, 2.6], [-6.2, 9.7, 1.3], turn)
}

#[test]
fn markers_of_both_images_are_at_their_world_positions() {
    let Some(mut harness) = fused(&second(Rotation3::identity())) else { return };
    let largest = largest_distance(&mut harness, [0.0; 3]);
    println!("at most {largest:.3} pixels");
}

#[test]
fn markers_of_an_oblique_second_image_are_at_their_world_positions() {
    let turn = Rotation3::from_euler_angles(0.2, -0.13, 0.35);
    let Some(mut harness) = fused(&second(turn)) else { return };
    let largest = largest_distance(&mut harness, [0.0; 3]);
    println!("at most {largest:.3} pixels");
}

#[test]
fn markers_of_a_shifted_second_image_are_shifted() {
    let Some(mut harness) = fused(&second(Rotation3::identity())) else { return };
    let shift_mm = [7.5, -4.2, 3.1];
    for (axis, shift) in ["x", "y", "z"].into_iter().zip(shift_mm) {
        let label = format!("Shift {axis}, mm");
        harness.get_by_role_and_label(Role::SpinButton, &label).set_value_accesskit(shift);
        harness.run_steps(3);
    }
    let largest = largest_distance(&mut harness, shift_mm);
    println!("at most {largest:.3} pixels");
}

/// The mean colour of a part of a view, given by fractions of its width.
fn mean_colour(harness: &mut Harness<'_, App>, view: &str, [from, to]: [f32; 2]) -> [f64; 3] {
    let rect = harness.get_by_label(view).rect();
    let image = harness.render().unwrap();
    let columns = (rect.left() + from * rect.width()) as u32..(rect.left() + to * rect.width()) as u32;
    // Where both images are.
    let rows = (rect.top() + 0.3 * rect.height()) as u32..(rect.top() + 0.7 * rect.height()) as u32;
    let pixels: Vec<[f64; 3]> =
        rows.flat_map(|y| columns.clone().map(move |x| [x, y])).map(|[x, y]| rgb(image.get_pixel(x, y).0)).collect();
    std::array::from_fn(|k| pixels.iter().map(|pixel| pixel[k]).sum::<f64>() / pixels.len() as f64)
}

#[test]
fn a_swipe_divides_every_view_into_the_displayed_and_the_second_image() {
    let Some(mut harness) = fused(&second(Rotation3::identity())) else { return };
    click(&mut harness, "Views");
    click(&mut harness, "Two by two, with MIP or oblique slice");
    click(&mut harness, "Views");
    // The background of the second image is grey, that of the displayed one black.
    let bottom = harness.get_by_role_and_label(Role::SpinButton, "Bottom of the second image");
    bottom.set_value_accesskit(-100.0);
    harness.run_steps(3);
    let views = ["Transaxial slice", "MIP"];
    let whole = |harness: &mut Harness<'_, App>, opacity: f64| {
        harness.get_by_role_and_label(Role::Slider, "Opacity").set_value_accesskit(opacity);
        harness.remove_cursor();
        harness.run_steps(3);
        views.map(|view| [[0.32, 0.46], [0.54, 0.68]].map(|part| mean_colour(harness, view, part)))
    };
    let (own, layer) = (whole(&mut harness, 0.0), whole(&mut harness, 1.0));
    click(&mut harness, "swipe");
    harness.remove_cursor();
    harness.run_steps(3);
    let near = |a: [f64; 3], b: [f64; 3]| (0..3).all(|k| (a[k] - b[k]).abs() < 12.0);
    for (at, view) in views.into_iter().enumerate() {
        let [left, right] = [[0.32, 0.46], [0.54, 0.68]].map(|part| mean_colour(&mut harness, view, part));
        assert!(near(left, own[at][0]) && !near(left, layer[at][0]), "{view}: {left:?}, {:?}, {:?}", own[at][0], layer[at][0]);
        assert!(near(right, layer[at][1]) && !near(right, own[at][1]), "{view}: {right:?}, {:?}, {:?}", layer[at][1], own[at][1]);
    }
    // The line can be dragged in each view.
    drag(&mut harness, "MIP: line between the two images", [0.5, 0.5], [-9.0, 0.5]);
    assert!(harness.state().work.view().swipe < 0.45, "{}", harness.state().work.view().swipe);
    harness.check_accessibility();
}
