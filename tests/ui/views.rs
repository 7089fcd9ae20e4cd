//! The views: what clicks and drags do in them, the window beside them, how they are laid out, the one that can be turned.

use egui::accesskit::Role;
use egui::{Event, Modifiers, PointerButton, Pos2, Theme};
use egui_kittest::Harness;
use egui_kittest::kittest::Queryable as _;
use tomoscope::data::Volume;
use tomoscope::ui::App;

use super::{click, finished, renderer, small_study, wait_for, window, window_on};

const SIZE: [f32; 2] = [1400.0, 900.0];
const SLICE: &str = "Transaxial slice";

/// The screen position of a part of a widget.
fn place(harness: &Harness<'_, App>, label: &str, part: [f32; 2]) -> Pos2 {
    let rect = harness.get_by_label(label).rect();
    rect.min + egui::vec2(part[0] * rect.width(), part[1] * rect.height())
}

fn button(at: Pos2, pressed: bool, modifiers: Modifiers) -> Event {
    Event::PointerButton { pos: at, button: PointerButton::Primary, pressed, modifiers }
}

pub fn click_at(harness: &mut Harness<'_, App>, at: Pos2, modifiers: Modifiers) {
    let events = [
        Event::ModifiersChanged(modifiers),
        Event::PointerMoved(at),
        button(at, true, modifiers),
        button(at, false, modifiers),
        Event::ModifiersChanged(Modifiers::NONE),
    ];
    events.into_iter().for_each(|event| harness.event(event));
    harness.run_steps(3);
}

/// Two clicks, each within a frame, so that they are near enough in time.
pub fn double_click_at(harness: &mut Harness<'_, App>, at: Pos2) {
    harness.hover_at(at);
    harness.run_steps(3);
    for _ in 0..2 {
        let clicked = [button(at, true, Modifiers::NONE), button(at, false, Modifiers::NONE)];
        harness.input_mut().events.extend(clicked);
        harness.step();
    }
    harness.run_steps(2);
}

fn drag_from(harness: &mut Harness<'_, App>, from: Pos2, by: egui::Vec2) {
    harness.hover_at(from);
    harness.step();
    harness.drag_at(from);
    harness.step();
    for k in 1..=4 {
        harness.hover_at(from + (k as f32 / 4.0) * by);
        harness.step();
    }
    harness.drop_at(from + by);
    harness.run_steps(2);
}

fn crosshair(harness: &Harness<'_, App>) -> [f64; 3] {
    harness.state().work.view().crosshair_mm
}

fn centre(harness: &Harness<'_, App>) -> [f64; 3] {
    harness.state().work.document().rois.last().unwrap().centre_mm
}

#[test]
fn a_click_sets_the_crosshair_and_a_drag_moves_only_the_selected_region() {
    let Some(mut harness) = finished(SIZE, Theme::Dark) else { return };
    // Away from the region that the study brings, whose line would take a click.
    let (there, far) = (place(&harness, SLICE, [0.3, 0.3]), place(&harness, SLICE, [0.3, 0.8]));
    click_at(&mut harness, there, Modifiers::NONE);
    let at = crosshair(&harness);
    // 50 points in mm.
    click_at(&mut harness, there + egui::vec2(50.0, 0.0), Modifiers::NONE);
    let points_per_mm = 50.0 / (crosshair(&harness)[0] - at[0]);
    click_at(&mut harness, there, Modifiers::NONE);
    assert_eq!(crosshair(&harness), at);
    click(&mut harness, "Add sphere");
    assert_eq!(centre(&harness), at);
    let within = there + egui::vec2((5.0 * points_per_mm) as f32, 0.0);
    let line = there + egui::vec2((10.0 * points_per_mm) as f32, 0.0);
    // Not selected, it is no obstacle to clicks and drags.
    click_at(&mut harness, far, Modifiers::NONE);
    click_at(&mut harness, within, Modifiers::NONE);
    assert!((crosshair(&harness)[0] - at[0] - 5.0).abs() < 0.1, "{:?}", crosshair(&harness));
    drag_from(&mut harness, within, egui::vec2(60.0, 0.0));
    assert_eq!(centre(&harness), at);
    assert!(crosshair(&harness)[0] > at[0] + 8.0, "{at:?} -> {:?}, {points_per_mm} points per mm", crosshair(&harness));
    // With Alt a click within selects it and leaves the crosshair; a drag then moves it.
    let before = crosshair(&harness);
    click_at(&mut harness, within, Modifiers::ALT);
    assert_eq!(crosshair(&harness), before);
    drag_from(&mut harness, within, egui::vec2(0.0, 40.0));
    let moved = centre(&harness);
    assert!((moved[1] - at[1] - 40.0 / points_per_mm).abs() < 0.5, "{at:?} -> {moved:?}");
    assert_eq!(crosshair(&harness), before);
    // A click in the selected one sets the crosshair and leaves it selected.
    let within = within + egui::vec2(0.0, 40.0);
    click_at(&mut harness, within, Modifiers::NONE);
    assert!((crosshair(&harness)[1] - moved[1]).abs() < 0.5);
    drag_from(&mut harness, within, egui::vec2(0.0, -40.0));
    assert!((centre(&harness)[1] - at[1]).abs() < 0.5);
    // A click at its line selects it too.
    click_at(&mut harness, far, Modifiers::NONE);
    click_at(&mut harness, line, Modifiers::NONE);
    drag_from(&mut harness, there, egui::vec2(0.0, 40.0));
    assert!((centre(&harness)[1] - moved[1]).abs() < 0.5);
}

#[test]
fn a_double_click_enlarges_a_view_and_leaves_the_crosshair() {
    let Some(mut harness) = finished(SIZE, Theme::Light) else { return };
    let before = crosshair(&harness);
    let at = place(&harness, "Coronal slice", [0.3, 0.3]);
    double_click_at(&mut harness, at);
    assert!(harness.query_by_label(SLICE).is_none() && harness.query_by_label("Coronal slice").is_some());
    assert_eq!(crosshair(&harness), before);
    harness.run_steps(6);
    double_click_at(&mut harness, at);
    assert!(harness.query_by_label(SLICE).is_some());
    assert_eq!(crosshair(&harness), before);
}

/// Whether the slices through a point show more than a fifth of the largest value.
fn shows_something(volume: &Volume, point: [f64; 3]) -> bool {
    let voxel = volume.grid.voxel_from_mm(point).map(|v| v.round() as usize);
    let high = volume.extremes().high;
    let is_bright = |at: [usize; 3], value: f32| value > 0.2 * high && (0..3).any(|a| at[a] == voxel[a]);
    let found = |axis: usize| {
        volume.values.indexed_iter().any(|((z, y, x), value)| [x, y, z][axis] == voxel[axis] && is_bright([x, y, z], *value))
    };
    (0..3).all(found)
}

#[test]
fn the_crosshair_of_another_study_is_where_it_shows_something() {
    let Some(mut harness) = finished(SIZE, Theme::Dark) else { return };
    let shown = |harness: &Harness<'_, App>| shows_something(harness.state().work.shown().volume().unwrap(), crosshair(harness));
    assert!(shown(&harness));
    let corner = place(&harness, SLICE, [0.02, 0.02]);
    click_at(&mut harness, corner, Modifiers::NONE);
    let corner = place(&harness, "Coronal slice", [0.02, 0.1]);
    click_at(&mut harness, corner, Modifiers::NONE);
    assert!(!shown(&harness), "there is something in the corner");
    // The same study again is no other one.
    let before = crosshair(&harness);
    click(&mut harness, "Restart");
    wait_for(&mut harness, "the second run", |app| app.work.live().run == 2 && app.work.is_run_over());
    assert_eq!(crosshair(&harness), before);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("bottle.sweep");
    tomoscope::io::write_sweep(&path, &super::sweeps::sweep()).unwrap();
    harness.event(Event::PointerMoved(Pos2::ZERO));
    let field = harness.get_by_role(Role::TextInput);
    field.focus();
    field.type_text(path.to_str().unwrap());
    harness.run_steps(2);
    click(&mut harness, "Read");
    super::give_up_unsaved(&mut harness);
    wait_for(&mut harness, "the sweep", |app| {
        app.work.acquisition().is_some() && app.work.live().run > 2 && app.work.is_run_over()
    });
    assert!(shown(&harness));
}

#[test]
fn the_window_is_dragged_by_the_bar_locked_and_let_go() {
    let Some(mut harness) = finished(SIZE, Theme::Light) else { return };
    // Until no toast is in front of the bar any more.
    harness.run_steps(60);
    let windows = |harness: &Harness<'_, App>| harness.state().work.colouring().window;
    let automatic = windows(&harness);
    let bar = |harness: &Harness<'_, App>, t: f32| {
        let rect = harness.get_by_label_contains("Colour bar from").rect();
        egui::pos2(rect.left() + 12.0, rect.top() + t * rect.height())
    };
    let (top, bottom, middle) = (bar(&harness, 0.1), bar(&harness, 0.95), bar(&harness, 0.5));
    drag_from(&mut harness, top, egui::vec2(0.0, 60.0));
    let lower_top = windows(&harness);
    assert!(lower_top[0] == automatic[0] && lower_top[1] < 0.95 * automatic[1], "{automatic:?} -> {lower_top:?}");
    drag_from(&mut harness, bottom, egui::vec2(0.0, -60.0));
    let narrow = windows(&harness);
    assert!(narrow[1] == lower_top[1] && narrow[0] > lower_top[0], "{lower_top:?} -> {narrow:?}");
    drag_from(&mut harness, middle, egui::vec2(0.0, -30.0));
    let higher = windows(&harness);
    let width = |window: [f32; 2]| window[1] - window[0];
    assert!(higher[0] > narrow[0] && (width(higher) / width(narrow) - 1.0).abs() < 1e-3, "{narrow:?} -> {higher:?}");
    // No further than to 0, the image having no negative values.
    drag_from(&mut harness, middle, egui::vec2(0.0, 2000.0));
    assert_eq!(windows(&harness)[0], 0.0);
    // It is locked now, for the next run too.
    harness.get_by_label("Window follows: locked");
    let locked = windows(&harness);
    click(&mut harness, "Restart");
    wait_for(&mut harness, "the second run", |app| app.work.live().run == 2 && app.work.is_run_over());
    assert_eq!(windows(&harness), locked);
    // Shares of the values.
    let mut tops = Vec::new();
    for (before, choice) in [("locked", "95 %"), ("95 %", "99 %"), ("99 %", "99.9 %"), ("99.9 %", "auto")] {
        click(&mut harness, &format!("Window follows: {before}"));
        harness.get_by_role_and_label(Role::Button, choice).click();
        harness.run_steps(3);
        tops.push(windows(&harness)[1]);
    }
    assert!(tops.is_sorted() && tops[0] < tops[3], "{tops:?}");
    assert_eq!(windows(&harness), automatic);
    harness.check_accessibility();
}

#[test]
fn ends_of_the_window_that_cannot_be_are_refused() {
    let Some(mut harness) = finished(SIZE, Theme::Dark) else { return };
    let [low, high] = harness.state().work.colouring().window;
    assert_eq!(low, 0.0);
    for (label, value) in [("Window bottom", -5.0), ("Window bottom", 10.0 * f64::from(high)), ("Window top", -1.0)] {
        harness.get_by_role_and_label(Role::SpinButton, label).set_value_accesskit(value);
        harness.run_steps(3);
        let window = harness.state().work.colouring().window;
        assert!(window[0] >= 0.0 && window[0] < window[1], "{label} {value}: {window:?}");
    }
}

fn open_views(harness: &mut Harness<'_, App>) {
    click(harness, "Views");
}

fn close_views(harness: &mut Harness<'_, App>) {
    click(harness, "Views");
    assert!(harness.query_by_label("Reset rotation").is_none(), "the menu stays open");
}

#[test]
fn views_are_laid_out_in_the_smallest_window_without_covering_each_other() {
    let Some(renderer) = renderer() else { return };
    let size = [1024.0, 700.0];
    let mut harness = window(renderer, size, Theme::Dark, true);
    wait_for(&mut harness, "the end of the run", |app| app.work.is_run_over());
    let slices = [SLICE, "Coronal slice", "Sagittal slice"];
    let layouts: [(&str, &[&str]); 3] = [
        ("Row of three", &slices),
        ("Two by two, with MIP or oblique slice", &[SLICE, "Coronal slice", "Sagittal slice", "MIP"]),
        ("One large, two small", &slices),
    ];
    for (layout, labels) in layouts {
        open_views(&mut harness);
        click(&mut harness, layout);
        close_views(&mut harness);
        let rects: Vec<_> = labels.iter().map(|label| harness.get_by_role_and_label(Role::Image, label).rect()).collect();
        for (at, rect) in rects.iter().enumerate() {
            assert!(rect.width() > 90.0 && rect.height() > 60.0, "{layout}: {rect:?}");
            assert!(rect.right() <= size[0] && rect.bottom() <= size[1], "{layout}: {rect:?}");
            assert!(rects[at + 1..].iter().all(|other| !rect.intersects(*other)), "{layout}");
        }
        for label in ["Full", "Views", "Colour bar from", "Window follows"] {
            let right = harness.get_by_label_contains(label).rect().right();
            assert!(right <= size[0], "{label} ends at {right}");
        }
        harness.render().unwrap();
    }
}

#[test]
fn the_view_that_can_be_turned_is_turned_by_a_drag_by_itself_and_back() {
    let Some(mut harness) = finished(SIZE, Theme::Dark) else { return };
    open_views(&mut harness);
    click(&mut harness, "Two by two, with MIP or oblique slice");
    close_views(&mut harness);
    harness.render().unwrap();
    let at = place(&harness, "MIP", [0.5, 0.5]);
    drag_from(&mut harness, at, egui::vec2(-60.0, 20.0));
    let turn = harness.state().work.view().turn;
    assert!((turn.azimuth_deg - 30.0).abs() < 0.1 && (turn.elevation_deg - 10.0).abs() < 0.1, "{turn:?}");
    harness.render().unwrap();
    // A click goes to the largest value on the line of sight: no voxel of the image along it is brighter.
    click_at(&mut harness, at + egui::vec2(15.0, 4.0), Modifiers::NONE);
    let value = |harness: &Harness<'_, App>, point: [f64; 3]| {
        let volume = harness.state().work.shown().volume().unwrap();
        let [x, y, z] = volume.grid.voxel_from_mm(point).map(f64::round);
        volume.values.get([z as usize, y as usize, x as usize]).copied()
    };
    let found = crosshair(&harness);
    let (sin_a, cos_a) = turn.azimuth_deg.to_radians().sin_cos();
    let (sin_e, cos_e) = turn.elevation_deg.to_radians().sin_cos();
    let away = [-cos_e * sin_a, cos_e * cos_a, sin_e];
    let largest = value(&harness, found).unwrap();
    for k in -200..=200 {
        let point = std::array::from_fn(|a| found[a] + f64::from(k) * away[a]);
        // Lines through the middle of the voxel found run a little beside that of the click.
        assert!(value(&harness, point).unwrap_or(0.0) <= 1.25 * largest, "{k} mm behind is brighter");
    }
    open_views(&mut harness);
    click(&mut harness, "Rotate continuously");
    close_views(&mut harness);
    harness.run_steps(8);
    let spun = harness.state().work.view().turn;
    assert!(spun.azimuth_deg > 35.0 && (spun.elevation_deg - 10.0).abs() < 0.1, "{spun:?}");
    open_views(&mut harness);
    click(&mut harness, "Oblique slice");
    click(&mut harness, "Reset rotation");
    close_views(&mut harness);
    harness.run_steps(8);
    assert_eq!(harness.state().work.view().turn.azimuth_deg, 0.0, "it still turns");
    // Straight, the oblique slice is the coronal one: a click sets x and z.
    let (x, z) = (crosshair(&harness)[0], crosshair(&harness)[2]);
    let y = crosshair(&harness)[1];
    let rect = harness.get_by_label("Oblique slice").rect();
    click_at(&mut harness, rect.center() + egui::vec2(20.0, 10.0), Modifiers::NONE);
    let clicked = crosshair(&harness);
    assert!(clicked[0] != x && clicked[2] != z && (clicked[1] - y).abs() < 1e-6, "{clicked:?}");
    harness.render().unwrap();
    harness.check_accessibility();
}

#[test]
fn the_oblique_slice_is_turned_by_its_line_and_shows_where_it_cuts_the_regions() {
    let Some(mut harness) = finished(SIZE, Theme::Dark) else { return };
    open_views(&mut harness);
    click(&mut harness, "Two by two, with MIP or oblique slice");
    click(&mut harness, "Oblique slice");
    close_views(&mut harness);
    let middle = place(&harness, SLICE, [0.5, 0.5]);
    click_at(&mut harness, middle, Modifiers::NONE);
    let before = crosshair(&harness);
    // The coronal plane is seen from its edge, along x; its handle goes to 30° from there towards +y, which is down.
    let reach = 0.38 * harness.get_by_label(SLICE).rect().size().min_elem();
    let handle = egui::vec2(reach, 0.0);
    harness.hover_at(middle + handle);
    harness.run_steps(2);
    harness.get_by_label_contains("Drag: turn the oblique slice");
    drag_from(&mut harness, middle + handle, reach * egui::Vec2::angled(30f32.to_radians()) - handle);
    let turn = harness.state().work.view().turn;
    assert!((turn.azimuth_deg - 30.0).abs() < 0.1 && turn.elevation_deg.abs() < 1e-6, "{turn:?}");
    assert_eq!(crosshair(&harness), before, "the crosshair was dragged too");
    // Beside its handles the line is no handle.
    drag_from(&mut harness, middle + egui::vec2(0.0, reach), egui::vec2(0.0, -20.0));
    assert!(crosshair(&harness) != before && harness.state().work.view().turn == turn);
    // In the sagittal slice it is tilted.
    let middle = place(&harness, "Sagittal slice", [0.5, 0.5]);
    click_at(&mut harness, middle, Modifiers::NONE);
    let reach = 0.38 * harness.get_by_label("Sagittal slice").rect().size().min_elem();
    let handle = egui::vec2(0.0, reach);
    drag_from(&mut harness, middle + handle, reach * egui::Vec2::angled(80f32.to_radians()) - handle);
    let tilted = harness.state().work.view().turn;
    assert!(tilted.elevation_deg.abs() > 5.0 && tilted != turn, "{tilted:?}");
    // The outlines are there, and not while regions are hidden.
    let roi = harness.state().work.document().rois[0].centre_mm;
    let part = harness.get_by_label("Oblique slice").rect();
    let picture = |harness: &mut Harness<'_, App>| {
        harness.remove_cursor();
        harness.run_steps(3);
        let [x, y, w, h] = [part.left(), part.top(), part.width(), part.height()].map(|v| v as u32);
        image::imageops::crop_imm(&harness.render().unwrap(), x, y, w, h).to_image()
    };
    for (at, a, b) in [(SLICE, 0, 1), ("Coronal slice", 0, 2)] {
        // The crosshair goes to the first region, which the slice through it then cuts.
        let rect = harness.get_by_label(at).rect();
        let scale = scale_of(&mut harness, at, a);
        click_at(&mut harness, rect.center(), Modifiers::NONE);
        let off = egui::vec2((roi[a] - crosshair(&harness)[a]) as f32, (roi[b] - crosshair(&harness)[b]) as f32);
        click_at(&mut harness, rect.center() + scale * off, Modifiers::NONE);
    }
    let with = picture(&mut harness);
    click(&mut harness, "ROIs");
    let without = picture(&mut harness);
    let num_changed = with.pixels().zip(without.pixels()).filter(|(a, b)| a != b).count();
    assert!(num_changed > 40, "{num_changed} pixels");
    harness.check_accessibility();
}

/// Points of a mm of a slice, by two clicks.
fn scale_of(harness: &mut Harness<'_, App>, slice: &str, axis: usize) -> f32 {
    let middle = harness.get_by_label(slice).rect().center();
    let at = |harness: &mut Harness<'_, App>, off: f32| {
        click_at(harness, middle + egui::vec2(off, 0.0), Modifiers::NONE);
        crosshair(harness)[axis]
    };
    let [left, right] = [-20.0, 20.0].map(|off| at(harness, off));
    40.0 / (right - left) as f32
}

#[test]
fn slices_are_as_thick_as_is_asked_for() {
    let Some(renderer) = renderer() else { return };
    let mut harness = window_on(renderer, SIZE, Theme::Light, true, small_study());
    wait_for(&mut harness, "the end of the run", |app| app.work.is_run_over());
    harness.remove_cursor();
    harness.run_steps(60);
    let thin = harness.render().unwrap();
    open_views(&mut harness);
    harness.get_by_role_and_label(Role::SpinButton, "Thickness").set_value_accesskit(40.0);
    harness.run_steps(3);
    click(&mut harness, "maximum");
    close_views(&mut harness);
    assert_eq!(harness.state().work.view().thickness.mm, 40.0);
    harness.remove_cursor();
    harness.run_steps(3);
    let thick = harness.render().unwrap();
    // In inverted grey a maximum is nowhere lighter than a single slice.
    let rect = harness.get_by_label(SLICE).rect().shrink(40.0);
    let mut num_darker = 0;
    for y in rect.top() as u32..rect.bottom() as u32 {
        for x in rect.left() as u32..rect.right() as u32 {
            let [before, after] = [&thin, &thick].map(|picture| i32::from(picture.get_pixel(x, y).0[1]));
            assert!(after <= before + 2, "{x}, {y}: {before} -> {after}");
            num_darker += usize::from(after < before - 5);
        }
    }
    assert!(num_darker > 500, "{num_darker} pixels have changed");
}
