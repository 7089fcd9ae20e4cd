//! The attenuation map in the window: of sinograms too, over the image, and where it ends.

use std::path::Path;

use egui::accesskit::Role;
use egui::{Rect, Theme};
use egui_kittest::Harness;
use egui_kittest::kittest::Queryable as _;
use tomoscope::data::{Michelogram, Volume};
use tomoscope::geometry::Grid;
use tomoscope::io::{Correction, map_beside, read_volume, write_projections, write_volume};
use tomoscope::plan::{ListFiles, StudyFiles};
use tomoscope::ui::{App, Source};

use super::corrections::write_scan;
use super::list;
use super::restore::save_session;
use super::{click, give_up_unsaved, renderer, wait_for, window_on};
use super::{drop_file, type_path};

const SIZE: [f32; 2] = [1400.0, 1000.0];
const SHOW: &str = "Show attenuation map";

/// A scan whose factors are efficiencies: those of its attenuation beside a map would correct it twice.
fn write_scan_with_efficiencies(folder: &Path) {
    let geometry = write_scan(folder).measured.prompts.geometry;
    let efficiencies = (0..geometry.num_bins()).map(|bin| 0.9 + 0.01 * (bin % 7) as f32).collect();
    let path = Correction::Multiplicative.path_beside(&folder.join("scan.hs"));
    write_projections(&path, &Michelogram::new(geometry, efficiencies).unwrap()).unwrap();
}

/// Writes the same map without its upper slices along z.
fn write_cut(from: &Path, to: &Path, num_slices: usize) {
    let (whole, _) = read_volume(from).unwrap();
    let [nx, ny, _] = whole.grid.size;
    let grid = Grid::new([nx, ny, num_slices], whole.grid.voxel_mm, whole.grid.origin_mm).unwrap();
    let values = whole.as_slice()[..nx * ny * num_slices].to_vec();
    write_volume(to, &Volume::from_vec(grid, values, whole.unit).unwrap()).unwrap();
}

/// The mean colour about the middle of the transaxial slice, without the crosshair's lines.
fn colour(harness: &mut Harness<'_, App>) -> [f64; 3] {
    harness.remove_cursor();
    harness.run_steps(3);
    let middle = harness.get_by_label("Transaxial slice").rect().center();
    let image = harness.render().unwrap();
    let area = Rect::from_center_size(middle + egui::vec2(14.0, 14.0), egui::Vec2::splat(12.0));
    let pixels = (area.top() as u32..area.bottom() as u32)
        .flat_map(|y| (area.left() as u32..area.right() as u32).map(move |x| [x, y]))
        .map(|[x, y]| image.get_pixel(x, y).0);
    let (mut sum, mut num) = ([0.0; 3], 0.0);
    for pixel in pixels {
        (0..3).for_each(|k| sum[k] += f64::from(pixel[k]));
        num += 1.0;
    }
    sum.map(|sum| sum / num)
}

fn set_opacity(harness: &mut Harness<'_, App>, opacity: f64) {
    harness.get_by_role_and_label(Role::Slider, "Opacity").set_value_accesskit(opacity);
    harness.run_steps(3);
}

#[test]
fn the_map_of_a_list_is_drawn_over_its_image_in_one_hue() {
    let Some(first) = renderer() else { return };
    let folder = tempfile::tempdir().unwrap();
    let path = list(folder.path());
    let files = ListFiles { attenuation: Some(map_beside(&path)), ..ListFiles::of(&path) };
    let source = Source::Files(StudyFiles::Events(files));
    let mut harness = window_on(first, SIZE, Theme::Dark, true, source);
    wait_for(&mut harness, "the image", |app| app.work.is_run_over());
    // Off until it is asked for.
    assert!(harness.state().work.second_image().is_none());
    let without = colour(&mut harness);
    click(&mut harness, SHOW);
    let shown = harness.state().work.second_image().unwrap();
    assert!(shown.is_attenuation && shown.path == map_beside(&path), "{shown:?}");
    assert!(harness.query_by_label(SHOW).is_none() && harness.query_by_label("Remove").is_some());
    harness.check_accessibility();
    // Water is blue at full opacity, and nothing changes at none.
    set_opacity(&mut harness, 1.0);
    let [red, _, blue] = colour(&mut harness);
    assert!(blue > 150.0 && blue > red + 100.0, "{red} {blue}");
    set_opacity(&mut harness, 0.0);
    let none = colour(&mut harness);
    assert!((0..3).all(|k| (none[k] - without[k]).abs() < 3.0), "{none:?}, not {without:?}");
    set_opacity(&mut harness, 0.25);
    // A session draws it again; without the map it goes.
    let session = folder.path().join("work.session");
    save_session(&mut harness, &session);
    drop_file(&mut harness, &session);
    give_up_unsaved(&mut harness);
    wait_for(&mut harness, "the session", |app| !app.work.is_loading() && app.work.second_image().is_some());
    let restored = harness.state().work.second_image().unwrap();
    assert!(restored.is_attenuation && restored.display.opacity == 0.25, "{restored:?}");
    click(&mut harness, "without attenuation");
    give_up_unsaved(&mut harness);
    wait_for(&mut harness, "no map", |app| {
        !app.work.is_loading() && app.work.list().is_some_and(|list| list.facts.attenuation.maps().is_empty())
    });
    assert!(harness.state().work.second_image().is_none() && harness.query_by_label(SHOW).is_none());
}

#[test]
fn sinograms_have_a_map_too_and_where_it_ends_is_said() {
    let folder = tempfile::tempdir().unwrap();
    write_scan_with_efficiencies(folder.path());
    list(folder.path());
    let map = folder.path().join("events_mu.nii.gz");
    let slices = read_volume(&map).unwrap().0.grid.size[2];
    write_cut(&map, &folder.path().join("cut.nii.gz"), slices - 4);
    let Some(renderer) = renderer() else { return };
    let source = Source::file(folder.path().join("scan.hs"));
    let mut harness = window_on(renderer, SIZE, Theme::Light, false, source);
    wait_for(&mut harness, "the scan", |app| app.work.counts().is_some());
    let num_maps = |app: &App| app.work.counts().map_or(0, |counts| counts.attenuation.len());
    assert_eq!(num_maps(harness.state()), 0);
    click(&mut harness, "Attenuation…");
    type_path(&mut harness, &map);
    wait_for(&mut harness, "the map", |app| num_maps(app) == 1);
    harness.get_by_label("multiplicative: scan_mult.hs; additive: scan_add.hs; attenuation: events_mu.nii.gz");
    let ends = "ends inside the field of view";
    assert!(harness.query_by_label_contains(ends).is_none());
    click(&mut harness, SHOW);
    // One that ends within the phantom; the picture of the map follows.
    click(&mut harness, "Attenuation…");
    type_path(&mut harness, &folder.path().join("cut.nii.gz"));
    let is_shown = |app: &App| app.work.second_image().is_some_and(|image| image.path.ends_with("cut.nii.gz"));
    wait_for(&mut harness, "the other map", is_shown);
    harness.get_by_label_contains("attenuation map cut.nii.gz ends inside the field of view: 10.0 mm at +z");
    harness.get_by_label_contains("0.096 /cm at +z");
    // The run says so, too.
    click(&mut harness, "Start");
    wait_for(&mut harness, "the image", |app| app.work.is_run_over());
    assert!(harness.state().work.notices().texts().any(|text| text.contains("cut.nii.gz") && text.contains(ends)));
    click(&mut harness, "without attenuation");
    give_up_unsaved(&mut harness);
    wait_for(&mut harness, "no map", |app| !app.work.is_loading() && num_maps(app) == 0);
    assert!(harness.state().work.second_image().is_none() && harness.query_by_label(SHOW).is_none());
}

#[test]
fn the_map_of_a_bed_is_added_and_drawn() {
    let folder = tempfile::tempdir().unwrap();
    write_scan_with_efficiencies(folder.path());
    list(folder.path());
    let map = folder.path().join("events_mu.nii.gz");
    // A bed on the voxels of the object's map.
    let (object, _) = read_volume(&map).unwrap();
    let bed = folder.path().join("bed.nii.gz");
    write_volume(&bed, &Volume { unit: object.unit, ..Volume::filled(object.grid.clone(), 0.02) }).unwrap();
    let Some(renderer) = renderer() else { return };
    let mut harness = window_on(renderer, SIZE, Theme::Light, false, Source::file(folder.path().join("scan.hs")));
    wait_for(&mut harness, "the scan", |app| app.work.counts().is_some());
    let num_maps = |app: &App| app.work.counts().map_or(0, |counts| counts.attenuation.len());
    const ADD: &str = "Add bed…";
    assert!(harness.query_by_label(ADD).is_none());
    click(&mut harness, "Attenuation…");
    type_path(&mut harness, &map);
    wait_for(&mut harness, "the map", |app| num_maps(app) == 1);
    // The largest µ of what is drawn, 1/cm.
    let largest = |harness: &mut Harness<'_, App>| {
        click(harness, SHOW);
        let largest = f64::from(harness.state().work.second_image().unwrap().display.colouring.window[1]);
        click(harness, "Remove");
        largest
    };
    let of_object = largest(&mut harness);
    click(&mut harness, ADD);
    type_path(&mut harness, &bed);
    wait_for(&mut harness, "both maps", |app| !app.work.is_loading() && num_maps(app) == 2);
    harness.get_by_label("multiplicative: scan_mult.hs; additive: scan_add.hs; attenuation: events_mu.nii.gz and bed.nii.gz");
    let of_both = largest(&mut harness);
    assert!((of_both - of_object - 0.02).abs() < 1e-3, "{of_object} {of_both}");
    harness.check_accessibility();
    click(&mut harness, "without bed");
    wait_for(&mut harness, "the map alone", |app| !app.work.is_loading() && num_maps(app) == 1);
    assert_eq!(largest(&mut harness), of_object);
}

#[test]
fn a_resolution_model_is_chosen_by_its_file() {
    let Some(renderer) = renderer() else { return };
    let folder = tempfile::tempdir().unwrap();
    let rows =
        "version = 1\nradius_mm = [0, 100]\nradial_fwhm_mm = [4, 7]\ntangential_fwhm_mm = [4, 6]\naxial_fwhm_mm = [5, 5.5]\n";
    let [file, wrong] = ["psf.toml", "wrong.toml"].map(|name| folder.path().join(name));
    std::fs::write(&file, rows).unwrap();
    std::fs::write(&wrong, rows.replace("[5, 5.5]", "[5]")).unwrap();
    let mut harness = super::window(renderer, SIZE, Theme::Light, false);
    wait_for(&mut harness, "the study", |app| app.work.counts().is_some());
    let text = "by the distance from the axis, up to 7 mm across it and 5.5 mm along it";
    // A file that is none changes nothing.
    click(&mut harness, "Resolution file…");
    type_path(&mut harness, &wrong);
    assert!(harness.state().work.notices().texts().any(|text| text.contains("wrong.toml") && text.contains("axial_fwhm_mm")));
    assert!(harness.query_by_label(text).is_none());
    click(&mut harness, "Resolution file…");
    type_path(&mut harness, &file);
    harness.get_by_label(text);
    click(&mut harness, "Start");
    wait_for(&mut harness, "the image", |app| app.work.is_run_over());
    let psf = harness.state().work.live().info.as_ref().unwrap().job.settings.psf.clone().unwrap();
    assert_eq!([psf.at(0.0), psf.at(50.0)], [[4.0, 4.0, 5.0], [5.5, 5.0, 5.25]]);
    harness.check_accessibility();
    // The checkbox removes it.
    click(&mut harness, "Gaussian (FWHM)");
    assert!(harness.query_by_label(text).is_none());
}
