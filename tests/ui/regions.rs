//! What the table of regions and the profile say, and what they do not say.

use egui::accesskit::Role;
use egui::{Modifiers, Theme};
use egui_kittest::Harness;
use egui_kittest::kittest::Queryable as _;
use tomoscope::data::{ContourThreshold, IsocontourRecipe, Roi, RoiRole, RoiShape, Volume};
use tomoscope::measure::noise_to_signal;
use tomoscope::ui::{App, Tool};

use super::views::{click_at, double_click_at};
use super::{click, drag, enter, finished, wait_for};

const SIZE: [f32; 2] = [1400.0, 900.0];

fn has(harness: &Harness<'_, App>, label: &str) -> bool {
    harness.query_all_by_label(label).next().is_some()
}

/// Holds the pointer over a widget until its tooltip is there.
fn hover(harness: &mut Harness<'_, App>, label: &str) {
    harness.get_by_label(label).hover();
    harness.run_steps(40);
}

#[test]
fn a_hot_region_has_no_recovery_until_its_true_ratio_is_entered() {
    let Some(mut harness) = finished(SIZE, Theme::Dark) else { return };
    click(&mut harness, "Add sphere");
    click(&mut harness, "Role: none");
    click(&mut harness, "hot");
    let drawn = |app: &App| app.work.document().rois.last().map(|roi| (roi.role, roi.activity_ratio));
    assert_eq!(drawn(harness.state()), Some((RoiRole::Hot, None)));
    harness.get_by_label("hot ?:1");
    assert!(harness.state().work.curves().recovery.is_empty());
    hover(&mut harness, "Recovery of ROI 1: –");
    harness.get_by_label_contains("enter the true ratio");
    // What cannot be a ratio is refused with the reason.
    for (typed, reason) in [("1", "leaves no contrast"), ("0", "must be a positive number"), ("four", "is not a number")] {
        enter(&mut harness, "true ratio", typed);
        assert_eq!(drawn(harness.state()), Some((RoiRole::Hot, None)), "{typed}");
        assert!(harness.state().work.notices().texts().any(|text| text.contains("ROI 1") && text.contains(reason)), "{typed}");
    }
    enter(&mut harness, "true ratio", "2,5");
    assert_eq!(drawn(harness.state()), Some((RoiRole::Hot, Some(2.5))));
    harness.get_by_label("hot 2.5:1");
    assert!(!has(&harness, "Recovery of ROI 1: –"));
    assert_eq!(harness.state().work.curves().recovery.len(), 1);
    // Its contrast-to-noise ratio needs no true ratio, and has a curve too.
    assert!(!has(&harness, "CNR of ROI 1: –") && harness.query_by_label_contains("CNR of ROI 1: ").is_some());
    assert_eq!(harness.state().work.curves().contrast_to_noise.len(), 1);
    harness.get_by_label("Plot: contrast recovery");
    // Until no toast covers the plot.
    harness.run_steps(60);
    harness.get_by_role_and_label(Role::Button, "CNR").click();
    harness.run_steps(3);
    harness.get_by_label("Plot: contrast-to-noise ratio");
    // A click elsewhere ends typing too, and another region's field does not get what was typed for this one.
    click(&mut harness, "Add sphere");
    click(&mut harness, "Role: none");
    click(&mut harness, "hot");
    harness.get_by_role_and_label(Role::TextInput, "true ratio").focus();
    harness.run_steps(2);
    harness.get_by_role_and_label(Role::TextInput, "true ratio").type_text("8");
    harness.run_steps(2);
    click(&mut harness, "ROI 1");
    let ratios = |app: &App| app.work.document().rois.iter().map(|roi| roi.activity_ratio).collect::<Vec<_>>();
    assert_eq!(ratios(harness.state()), [None, Some(2.5), Some(8.0)]);
    harness.check_accessibility();
}

/// The largest value in the first region as the table writes it.
fn largest(app: &App, volume: Option<&Volume>) -> String {
    let volume = volume.unwrap();
    let largest = f64::from(app.work.document().rois[0].mask(&volume.grid).sums(volume.as_slice()).max);
    format!("{largest:.*}", (3 - largest.abs().log10().floor() as i32).max(0) as usize)
}

#[test]
fn table_and_curves_say_whether_they_are_filtered() {
    let Some(mut harness) = finished(SIZE, Theme::Light) else { return };
    assert!(!has(&harness, "unfiltered"));
    // (The curves follow the images at a distance.)
    let is_last =
        |app: &App| app.work.curves().nsr.first().and_then(|curve| curve.points.last()).is_some_and(|[at, _]| *at == 3.0);
    wait_for(&mut harness, "the curves of the last image", is_last);
    let curves = harness.state().work.curves().clone();
    harness.get_by_role_and_label(Role::SpinButton, "Post-filter FWHM").scroll_to_me();
    harness.run_steps(3);
    harness.get_by_role_and_label(Role::SpinButton, "Post-filter FWHM").set_value_accesskit(12.0);
    wait_for(&mut harness, "the filtered image", |app| app.work.shown().filter_mm() == Some(12.0));
    let shown = harness.state().work.shown();
    let filtered = largest(harness.state(), shown.volume());
    let unfiltered = largest(harness.state(), shown.unfiltered());
    // Titles of noise and contrast, and the table's choice.
    assert_eq!(harness.query_all_by_label("unfiltered").count(), 3);
    assert!(has(&harness, &filtered) && !has(&harness, &unfiltered), "{filtered}, unfiltered {unfiltered}");
    harness.get_by_role_and_label(Role::Button, "unfiltered").click();
    harness.run_steps(3);
    assert!(!has(&harness, &filtered) && has(&harness, &unfiltered), "{filtered}, unfiltered {unfiltered}");
    assert_eq!(harness.state().work.curves(), &curves, "the curves stay those of the reconstruction");
    harness.get_by_role_and_label(Role::Button, "filtered 12.0 mm").click();
    harness.run_steps(3);
    assert!(has(&harness, &filtered));
    // Without a filter there is nothing to choose.
    harness.get_by_role_and_label(Role::SpinButton, "Post-filter FWHM").set_value_accesskit(0.0);
    wait_for(&mut harness, "the image without a filter", |app| app.work.shown().filter_mm().is_none());
    assert!(!has(&harness, "unfiltered") && has(&harness, &unfiltered));
}

#[test]
fn a_body_has_no_width_and_the_reason_is_told() {
    let Some(mut harness) = finished(SIZE, Theme::Dark) else { return };
    hover(&mut harness, "FWHM –");
    let reasons = ["a plateau", "fits", "wider than half", "narrower than a voxel", "is flat"];
    let told = |reason: &&str| harness.query_all_by_label_contains(reason).next().is_some();
    assert!(reasons.iter().any(told));
}

/// Takes a tool from the menu of further shapes.
fn choose_tool(harness: &mut Harness<'_, App>, tool: &str) {
    click(harness, "More…");
    click(harness, tool);
}

/// Drags along a path in the transaxial slice, given as fractions of its sides.
fn drag_along(harness: &mut Harness<'_, App>, path: &[[f32; 2]]) {
    let rect = harness.get_by_label("Transaxial slice").rect();
    let at = |t: &[f32; 2]| rect.min + egui::vec2(t[0] * rect.width(), t[1] * rect.height());
    harness.hover_at(at(&path[0]));
    harness.step();
    harness.drag_at(at(&path[0]));
    harness.step();
    for point in path {
        harness.hover_at(at(point));
        harness.step();
    }
    harness.drop_at(at(path.last().unwrap()));
    harness.run_steps(2);
}

fn last(harness: &Harness<'_, App>) -> Roi {
    harness.state().work.document().rois.last().unwrap().clone()
}

#[test]
fn every_further_shape_is_drawn_by_its_tool() {
    let Some(mut harness) = finished(SIZE, Theme::Dark) else { return };
    let before = harness.state().work.document().rois.len();
    let corners = [[0.4, 0.4], [0.6, 0.55]];
    let seed = [[0.5, 0.5], [0.55, 0.5]];
    let triangle = [[0.4, 0.4], [0.5, 0.4], [0.6, 0.4], [0.55, 0.5], [0.5, 0.6], [0.45, 0.5], [0.4, 0.4]];
    for (number, tool) in (1..).zip(["Ellipse", "Box", "Ellipsoid", "Freehand", "Isocontour"]) {
        choose_tool(&mut harness, tool);
        harness.get_by_label(&format!("More: {tool}"));
        let path: &[[f32; 2]] = match tool {
            "Freehand" => &triangle,
            "Isocontour" => &seed,
            _ => &corners,
        };
        drag_along(&mut harness, path);
        wait_for(&mut harness, "the region", |app| !app.work.is_searching());
        assert_eq!(harness.state().work.document().rois.len(), before + number, "{tool}");
        let drawn = last(&harness);
        let volume = harness.state().work.shown().volume().unwrap();
        let sums = drawn.mask(&volume.grid).sums(volume.as_slice());
        assert!(sums.num_voxels > 3, "{drawn:?}");
        match &drawn.shape {
            RoiShape::Ellipse { size_mm: [a, b], .. } => assert!(a > b && tool == "Ellipse"),
            RoiShape::Box { size_mm: [x, y, z], .. } => assert!(x > y && y == z && tool == "Box"),
            RoiShape::Ellipsoid { size_mm: [x, y, z], .. } => assert!(x > y && y == z && tool == "Ellipsoid"),
            RoiShape::Polygon { points_mm, .. } => assert!(points_mm.len() == 3 && tool == "Freehand", "{points_mm:?}"),
            RoiShape::Isocontour(contour) => {
                assert!(tool == "Isocontour" && f64::from(sums.min) >= contour.threshold, "{sums:?}");
                let seed = RoiShape::Sphere { radius_mm: contour.recipe.seed_radius_mm };
                let in_seed = Roi::new("seed", seed, drawn.centre_mm).mask(&volume.grid).sums(volume.as_slice());
                assert!((contour.threshold - 0.5 * f64::from(in_seed.max)).abs() < 1e-6 * contour.threshold);
            }
            other => panic!("{tool}: {other:?}"),
        }
        harness.check_accessibility();
    }
    // A higher threshold leaves fewer voxels; the seed stays.
    let of_half = last(&harness);
    harness.get_by_role_and_label(Role::SpinButton, "Isocontour threshold, %").set_value_accesskit(80.0);
    harness.run_steps(3);
    wait_for(&mut harness, "the isocontour", |app| !app.work.is_searching());
    let (RoiShape::Isocontour(half), RoiShape::Isocontour(most)) = (of_half.shape, last(&harness).shape) else { panic!() };
    assert_eq!(most.recipe, IsocontourRecipe { threshold: ContourThreshold::percent(80.0), ..half.recipe });
    assert!(most.voxels.num_inside() < half.voxels.num_inside());
    // Counted from the background it is another threshold.
    harness.get_by_label("above background").click();
    harness.run_steps(3);
    wait_for(&mut harness, "the isocontour", |app| !app.work.is_searching());
    let RoiShape::Isocontour(above) = last(&harness).shape else { panic!() };
    assert!(matches!(above.recipe.threshold, ContourThreshold::OfMaximum { background: Some(_), .. }));
    assert!(above.threshold > most.threshold);
    // The value that was reached becomes a fixed threshold with the same voxels.
    harness.get_by_label("fixed").click();
    harness.run_steps(3);
    wait_for(&mut harness, "the isocontour", |app| !app.work.is_searching());
    let RoiShape::Isocontour(fixed) = last(&harness).shape else { panic!() };
    assert_eq!(fixed.recipe.threshold, ContourThreshold::Value(above.threshold));
    assert_eq!(fixed.voxels, above.voxels);
}

#[test]
fn a_polygon_is_drawn_by_clicks_and_given_up_by_escape() {
    let Some(mut harness) = finished(SIZE, Theme::Dark) else { return };
    let num = |harness: &Harness<'_, App>| harness.state().work.document().rois.len();
    let before = num(&harness);
    let rect = harness.get_by_label("Transaxial slice").rect();
    let at = |t: [f32; 2]| rect.min + egui::vec2(t[0] * rect.width(), t[1] * rect.height());
    let corners = [[0.4, 0.4], [0.6, 0.4], [0.6, 0.6], [0.4, 0.6]];
    // Three corners, then Escape.
    choose_tool(&mut harness, "Polygon");
    corners[..3].iter().for_each(|corner| click_at(&mut harness, at(*corner), Modifiers::NONE));
    harness.key_press(egui::Key::Escape);
    harness.run_steps(3);
    assert_eq!((num(&harness), harness.state().work.view().tool), (before, Tool::Crosshair));
    // Four corners, then Enter; a double click at the last one does the same.
    for is_by_enter in [true, false] {
        choose_tool(&mut harness, "Polygon");
        let crosshair = harness.state().work.view().crosshair_mm;
        let clicked = if is_by_enter { &corners[..] } else { &corners[..3] };
        clicked.iter().for_each(|corner| click_at(&mut harness, at(*corner), Modifiers::NONE));
        harness.run_steps(30);
        if is_by_enter {
            harness.key_press(egui::Key::Enter)
        } else {
            double_click_at(&mut harness, at(corners[3]))
        }
        harness.run_steps(3);
        let RoiShape::Polygon { points_mm, .. } = last(&harness).shape else { panic!() };
        assert_eq!((points_mm.len(), harness.state().work.view().tool), (4, Tool::Crosshair));
        // A rectangle about its middle.
        for [x, y] in points_mm.iter() {
            assert!((x.abs() - points_mm[0][0].abs()).abs() < 1e-3 && (y.abs() - points_mm[0][1].abs()).abs() < 1e-3);
        }
        assert_eq!(harness.state().work.view().crosshair_mm, crosshair);
        assert!(harness.query_by_label("Coronal slice").is_some(), "the slice was enlarged");
    }
    assert_eq!(num(&harness), before + 2);
}

#[test]
fn a_region_is_turned_stretched_copied_mirrored_and_all_of_it_undone() {
    let Some(mut harness) = finished(SIZE, Theme::Light) else { return };
    choose_tool(&mut harness, "Ellipse");
    drag(&mut harness, "Transaxial slice", [0.5, 0.4], [0.7, 0.5]);
    harness.run_steps(60);
    let drawn = last(&harness);
    let rect = harness.get_by_label("Transaxial slice").rect();
    // The handle that turns it stands 22 points above its top.
    let handle = [0.6, 0.4 - 22.0 / rect.height()];
    let beside = [0.6 + 0.2 * rect.height() / rect.width(), 0.45];
    drag(&mut harness, "Transaxial slice", handle, beside);
    let turned = last(&harness);
    assert!((turned.angle_deg - 90.0).abs() <= 1.0 && turned.centre_mm == drawn.centre_mm, "{turned:?}");
    // Several slices, as many as are asked for.
    harness.run_steps(60);
    harness.get_by_role_and_label(Role::SpinButton, "ROI thickness in slices").set_value_accesskit(3.0);
    harness.run_steps(60);
    let slice_mm = harness.state().work.shown().volume().unwrap().grid.voxel_mm[2];
    assert_eq!(last(&harness).thickness_mm, Some(3.0 * slice_mm));
    harness.get_by_role_and_label(Role::SpinButton, "ROI angle, degrees").set_value_accesskit(30.0);
    harness.run_steps(60);
    let original = last(&harness);
    assert_eq!(original.angle_deg, 30.0);
    let num = harness.state().work.document().rois.len();
    harness.key_press_modifiers(egui::Modifiers::COMMAND, egui::Key::D);
    harness.run_steps(60);
    let copy = last(&harness);
    assert_eq!(harness.state().work.document().rois.len(), num + 1);
    assert!(copy.name != original.name && copy.colour != original.colour && copy.shape == original.shape);
    assert_eq!((copy.angle_deg, copy.thickness_mm), (original.angle_deg, original.thickness_mm));
    harness.get_by_role_and_label(Role::Button, "Mirror").click();
    harness.run_steps(60);
    let mirrored = last(&harness);
    assert_eq!((mirrored.centre_mm[0], mirrored.angle_deg), (-copy.centre_mm[0], -30.0));
    for expected in [copy, original] {
        click(&mut harness, "Undo");
        harness.run_steps(60);
        assert_eq!(last(&harness), expected);
    }
    // A box is turned about an axis of one's choice.
    choose_tool(&mut harness, "Box");
    drag(&mut harness, "Transaxial slice", [0.3, 0.3], [0.4, 0.4]);
    click(&mut harness, "Turned about z");
    click(&mut harness, "about x");
    harness.get_by_label("Turned about x");
    // A deleted one that comes back is selected again, so that it can be copied at once.
    let num = harness.state().work.document().rois.len();
    for button in ["Delete", "Undo"] {
        click(&mut harness, button);
        harness.run_steps(60);
    }
    harness.key_press_modifiers(egui::Modifiers::COMMAND, egui::Key::D);
    harness.run_steps(60);
    assert_eq!(harness.state().work.document().rois.len(), num + 1);
    harness.check_accessibility();
}

#[test]
fn the_table_has_the_median_scrolls_to_the_selected_region_and_is_copied() {
    let Some(mut harness) = finished(SIZE, Theme::Dark) else { return };
    for _ in 0..14 {
        click(&mut harness, "Add sphere");
    }
    // Rows out of sight are not there at all.
    assert!(has(&harness, "ROI 14") && !has(&harness, &harness.state().work.document().rois[0].name.clone()));
    let roi = last(&harness);
    let volume = harness.state().work.shown().volume().unwrap().clone();
    let mask = roi.mask(&volume.grid);
    let median = tomoscope::measure::median(&mask, volume.as_slice()).unwrap();
    hover(&mut harness, "recovery");
    harness.get_by_label_contains("Contrast recovery against the mean b of all background ROIs");
    harness.get_by_role_and_label(Role::Button, "Copy table").click();
    let mut copied = None;
    for _ in 0..3 {
        harness.step();
        let commands = &harness.output().platform_output.commands;
        copied = copied.or(commands.iter().find_map(|command| match command {
            egui::OutputCommand::CopyText(text) => Some(text.clone()),
            _ => None,
        }));
    }
    let copied = copied.unwrap();
    let lines: Vec<Vec<&str>> = copied.lines().map(|line| line.split('\t').collect()).collect();
    assert_eq!(lines.len(), 1 + harness.state().work.document().rois.len());
    assert!(lines.iter().all(|line| line.len() == 12), "{copied}");
    let column = lines[0].iter().position(|head| head.starts_with("median [")).unwrap();
    let last_row = lines.last().unwrap();
    assert_eq!(last_row[0], "ROI 14");
    assert!((last_row[column].parse::<f64>().unwrap() / median - 1.0).abs() < 1e-3, "{copied}");
    // Numbers stand beside the selected outline, all, or none.
    click(&mut harness, "Numbers in the slices: selected");
    click(&mut harness, "all");
    harness.get_by_label("Numbers in the slices: all");
    harness.check_accessibility();
}

#[test]
fn a_profile_is_averaged_over_a_band() {
    let Some(mut harness) = finished(SIZE, Theme::Light) else { return };
    harness.get_by_role_and_label(Role::SpinButton, "Profile width, mm").set_value_accesskit(30.0);
    harness.run_steps(3);
    assert_eq!(harness.state().work.view().profile_width_mm, 30.0);
    harness.get_by_label_contains("Plot: profile");
}

#[test]
fn the_curve_of_a_region_follows_it_while_it_is_dragged() {
    let Some(mut harness) = finished(SIZE, Theme::Dark) else { return };
    click(&mut harness, "Add sphere");
    click(&mut harness, "Role: none");
    harness.get_by_role_and_label(Role::Button, "background").click();
    harness.run_steps(3);
    let slice = harness.get_by_label("Transaxial slice").rect();
    let at = |t: [f32; 2]| slice.min + egui::vec2(t[0] * slice.width(), t[1] * slice.height());
    // The noise of the newest region on the image on the screen, and the end of its curve.
    let noise = |app: &App| {
        let volume = app.work.shown().volume().unwrap();
        100.0 * noise_to_signal(&app.work.document().rois.last().unwrap().mask(&volume.grid).sums(volume.as_slice())).unwrap()
    };
    let curve = |app: &App| {
        let name = &app.work.document().rois.last().unwrap().name;
        let curve = app.work.curves().nsr.iter().find(|series| series.name == *name && !series.is_earlier)?;
        curve.points.last().filter(|point| point[0] == 3.0).map(|point| point[1])
    };
    let agrees = |app: &App| curve(app).is_some_and(|end| (end / noise(app) - 1.0).abs() < 1e-9);
    wait_for(&mut harness, "the curve of the new region", agrees);
    let begin = noise(harness.state());
    let num_marks = harness.state().work.live().marks.len();
    harness.hover_at(at([0.5, 0.5]));
    harness.step();
    harness.drag_at(at([0.5, 0.5]));
    harness.step();
    let mut before = begin;
    for x in [0.53, 0.56, 0.59] {
        harness.hover_at(at([x, 0.5]));
        harness.step();
        harness.step();
        assert_ne!(noise(harness.state()), before, "the region was moved");
        before = noise(harness.state());
        // Only another thread is waited for: the pointer is down all the while, and nothing more is done with it.
        wait_for(&mut harness, "the curve of the dragged region", agrees);
    }
    harness.drop_at(at([0.59, 0.5]));
    harness.run_steps(2);
    wait_for(&mut harness, "the curve of the region let go", agrees);
    // The whole drag is one edit, beside which stands the curve from before it.
    assert_eq!(harness.state().work.live().marks.len(), num_marks + 1);
    let earlier: Vec<_> = harness.state().work.curves().nsr.iter().filter(|series| series.is_earlier).collect();
    assert!(
        earlier.iter().any(|series| series.points.last().is_some_and(|end| (end[1] / begin - 1.0).abs() < 1e-9)),
        "{earlier:?}"
    );
    // The solver knows of it: the next iteration is measured where the region is now.
    click(&mut harness, "Continue");
    wait_for(&mut harness, "the end", |app| app.work.is_run_over() && app.work.live().progress().0 > 36);
    let app = harness.state();
    let (branch, roi) = (app.work.live().rois.newest().unwrap(), app.work.document().rois.last().unwrap());
    let (end, volume) = (branch.points.values().next_back().unwrap(), app.work.shown().volume().unwrap());
    let found = end.sums.last().unwrap().unwrap();
    let expected = roi.mask(&volume.grid).sums(volume.as_slice());
    assert!(found.num_voxels == expected.num_voxels && (found.sum / expected.sum - 1.0).abs() < 1e-6, "{found:?}, {expected:?}");
}
