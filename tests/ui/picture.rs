//! Pictures of the window and of its parts, saved as PNG at twice its resolution.

use std::path::Path;

use egui::accesskit::Role;
use egui::{Event, Key, Modifiers, PointerButton, Theme};
use egui_kittest::Harness;
use egui_kittest::kittest::Queryable as _;
use image::{Rgb, RgbImage};
use tomoscope::ui::App;

use super::{click, finished, wait_for_files};

const SIZE: [f32; 2] = [1400.0, 900.0];

/// Types the path that is asked for.
fn type_path(harness: &mut Harness<'_, App>, path: &Path) {
    let labels = [".png, at twice the resolution of the window", ".svg, .png at twice the resolution, or .csv for its numbers"];
    let field = labels.into_iter().find_map(|label| harness.query_by_role_and_label(Role::TextInput, label));
    field.unwrap().type_text(&path.to_string_lossy());
    harness.run_steps(2);
    click(harness, "OK");
}

/// Types the path that is asked for, and waits for the word that it was written.
pub fn save_as(harness: &mut Harness<'_, App>, path: &Path) {
    harness.run_steps(2);
    type_path(harness, path);
    wait_for_files(harness);
    let name = path.file_name().unwrap().to_str().unwrap();
    assert!(harness.state().work.notices().texts().any(|text| text.contains(&format!("{name} saved"))), "{name}");
}

/// Opens the menu of a widget.
pub fn menu(harness: &mut Harness<'_, App>, label: &str) {
    let pos = harness.get_by_label_contains(label).rect().center();
    harness.event(Event::PointerMoved(pos));
    harness.step();
    for pressed in [true, false] {
        harness.event(Event::PointerButton { pos, button: PointerButton::Secondary, pressed, modifiers: Modifiers::NONE });
        harness.step();
    }
    harness.run_steps(3);
}

/// The window as it is on the screen.
fn on_screen(harness: &mut Harness<'_, App>) -> RgbImage {
    image::DynamicImage::from(harness.render().unwrap()).into_rgb8()
}

/// Each pixel the mean of four.
fn halved(picture: &RgbImage) -> RgbImage {
    RgbImage::from_fn(picture.width() / 2, picture.height() / 2, |x, y| {
        let four = [[0, 0], [1, 0], [0, 1], [1, 1]].map(|[a, b]| picture.get_pixel(2 * x + a, 2 * y + b).0);
        Rgb(std::array::from_fn(|c| (four.iter().map(|pixel| u32::from(pixel[c])).sum::<u32>() / 4) as u8))
    })
}

/// Mean difference of all values, of 255.
fn mean_difference(a: &RgbImage, b: &RgbImage) -> f64 {
    assert_eq!(a.dimensions(), b.dimensions());
    let differences = a.as_raw().iter().zip(b.as_raw()).map(|(a, b)| f64::from(a.abs_diff(*b)));
    differences.sum::<f64>() / a.as_raw().len() as f64
}

/// A text of a PNG file, as its own decoder finds it.
fn text(path: &Path, keyword: &str) -> String {
    let file = std::io::BufReader::new(std::fs::File::open(path).unwrap());
    let mut reader = png::Decoder::new(file).read_info().unwrap();
    reader.finish().unwrap();
    let found = reader.info().utf8_text.iter().find(|text| text.keyword == keyword);
    found.unwrap_or_else(|| panic!("no text {keyword}")).get_text().unwrap()
}

/// Largest mean difference between the window and its finer picture, of 255: letters and the titles of panes lie on whole pixels, in
/// the picture up to half a point from those of the window.
const LARGEST_DIFFERENCE: f64 = 5.2;
/// Places of a part that are compared pixel by pixel.
const NUM_BEST: usize = 200;

/// Without the pointer and the words on what was done, which go by themselves.
fn settle(harness: &mut Harness<'_, App>) {
    harness.remove_cursor();
    harness.run_steps(60);
}

#[test]
fn the_window_is_drawn_once_more_twice_as_fine() {
    let folder = tempfile::tempdir().unwrap();
    for (theme, name) in [(Theme::Dark, "dark.png"), (Theme::Light, "light.png")] {
        let Some(mut harness) = finished(SIZE, theme) else { return };
        settle(&mut harness);
        let small = on_screen(&mut harness);
        let path = folder.path().join(name);
        harness.key_press_modifiers(Modifiers::COMMAND, Key::P);
        save_as(&mut harness, &path);
        let fine = image::open(&path).unwrap().into_rgb8();
        assert_eq!([fine.width(), fine.height()], SIZE.map(|side| 2 * side as u32));
        let small_again = halved(&fine);
        let difference = mean_difference(&small_again, &small);
        // Against another picture, and an empty one.
        let blank = RgbImage::from_pixel(small.width(), small.height(), *small.get_pixel(2, 2));
        let (shifted, empty) =
            (mean_difference(&image::imageops::rotate180(&small_again), &small), mean_difference(&blank, &small));
        println!("{name}: mean difference {difference:.2}; turned round {shifted:.2}, blank {empty:.2}");
        assert!(
            difference < LARGEST_DIFFERENCE && difference < 0.22 * empty.min(shifted),
            "{difference} against {empty} and {shifted}"
        );
        // Finer, not enlarged: pixels within a pixel of the window differ, at the edges of letters and lines.
        let within = |x: u32, y: u32| fine.get_pixel(2 * x, 2 * y) != fine.get_pixel(2 * x + 1, 2 * y + 1);
        let num_finer = (0..small.height()).flat_map(|y| (0..small.width()).map(move |x| (x, y))).filter(|&(x, y)| within(x, y));
        assert!(num_finer.count() > 10_000);
        // What made it.
        let app = harness.state();
        let record: serde_json::Value = serde_json::from_str(&text(&path, "Provenance")).unwrap();
        assert_eq!(record["data"]["title"], app.work.study().unwrap().title.as_str());
        assert_eq!(record["progress"]["iteration"], 3);
        assert!(text(&path, "Description").contains("OSEM 12 subsets, iteration 3"));
        // The window itself goes on as it was.
        settle(&mut harness);
        assert!(mean_difference(&on_screen(&mut harness), &small) < 0.01);
    }
}

#[test]
fn the_slices_and_each_plot_are_cut_out_of_it() {
    let Some(mut harness) = finished(SIZE, Theme::Dark) else { return };
    settle(&mut harness);
    let small = on_screen(&mut harness);
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name);
    menu(&mut harness, "Coronal slice");
    click(&mut harness, "Save picture of the slices…");
    save_as(&mut harness, &file("slices.png"));
    let slice = harness.get_by_label("Transaxial slice").rect();
    let bar = harness.get_by_label_contains("Colour bar from").rect();
    let all = slice.union(bar).union(harness.get_by_label("Sagittal slice").rect());
    let mut parts = vec![(file("slices.png"), all)];
    for (name, label) in [("noise.png", "Plot: noise"), ("profile.png", "Plot: profile")] {
        menu(&mut harness, label);
        click(&mut harness, "Save plot…");
        save_as(&mut harness, &file(name));
        parts.push((file(name), harness.get_by_label_contains(label).rect()));
    }
    for (path, rect) in parts {
        let part = image::open(&path).unwrap().into_rgb8();
        let size = [part.width(), part.height()].map(|side| 0.5 * side as f32);
        // All of it, with title, choices and axes, and not much beside.
        assert!(size[0] + 1.0 >= rect.width() && size[1] + 1.0 >= rect.height(), "{}: {size:?}, {rect:?}", path.display());
        assert!(size[0] < rect.width() + 80.0 && size[1] < rect.height() + 120.0, "{}: {size:?}, {rect:?}", path.display());
        let part = halved(&part);
        // It lies where the window shows it: the best of the places that fit by some of its pixels.
        let near = |x: i64, y: i64| {
            let pixels = (0..part.height()).step_by(7).flat_map(|v| (0..part.width()).step_by(5).map(move |u| [u, v]));
            let difference = |[u, v]: [u32; 2]| {
                let (a, b) = (part.get_pixel(u, v), small.get_pixel(x as u32 + u, y as u32 + v));
                (0..3).map(|c| u64::from(a[c].abs_diff(b[c]))).sum::<u64>()
            };
            pixels.map(difference).sum::<u64>()
        };
        let places = (-120..=1).flat_map(|y| (-60..=1).map(move |x| (x, y)));
        let corner = rect.min.round();
        let places = places.map(|(x, y)| (corner.x as i64 + x, corner.y as i64 + y));
        let fits = places.filter(|&(x, y)| {
            let end = [x + i64::from(part.width()), y + i64::from(part.height())];
            x >= 0 && y >= 0 && end[0] <= i64::from(small.width()) && end[1] <= i64::from(small.height())
        });
        let mut fits: Vec<(i64, i64)> = fits.collect();
        fits.sort_by_cached_key(|&(x, y)| near(x, y));
        let differences = fits.iter().take(NUM_BEST).map(|&(x, y)| {
            let own = image::imageops::crop_imm(&small, x as u32, y as u32, part.width(), part.height()).to_image();
            mean_difference(&part, &own)
        });
        let best = differences.fold(f64::INFINITY, f64::min);
        println!("{}: mean difference {best:.2}", path.display());
        assert!(best < LARGEST_DIFFERENCE, "{}: {best}", path.display());
    }
}

#[test]
fn another_ending_is_refused() {
    let Some(mut harness) = finished(SIZE, Theme::Dark) else { return };
    let folder = tempfile::tempdir().unwrap();
    click(&mut harness, "Save picture");
    click(&mut harness, "Window screenshot…");
    let path = folder.path().join("window.jpg");
    type_path(&mut harness, &path);
    assert!(harness.state().work.notices().texts().any(|text| text.contains("let the name end in .png")));
    assert!(!path.exists());
}

#[test]
fn a_plot_saved_as_a_drawing_or_a_table_has_beside_it_what_made_it() {
    let Some(mut harness) = finished(SIZE, Theme::Dark) else { return };
    settle(&mut harness);
    let folder = tempfile::tempdir().unwrap();
    for name in ["noise.svg", "numbers.csv"] {
        let path = folder.path().join(name);
        menu(&mut harness, "Plot: noise");
        click(&mut harness, "Save plot…");
        type_path(&mut harness, &path);
        assert!(std::fs::metadata(&path).unwrap().len() > 200);
        let record: serde_json::Value =
            serde_json::from_slice(&std::fs::read(path.with_file_name(format!("{name}.json"))).unwrap()).unwrap();
        assert_eq!(record["data"]["title"], harness.state().work.study().unwrap().title.as_str());
        assert_eq!((&record["progress"]["iteration"], &record["files"][0]), (&3.into(), &name.into()));
    }
}
