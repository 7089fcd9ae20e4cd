//! ROIs keep their colour, in the list and in the slices, whatever becomes of the others.

use egui::Theme;
use egui_kittest::Harness;
use egui_kittest::kittest::Queryable as _;
use tomoscope::ui::App;

use super::{click, drag, finished};

/// Pixels of the transaxial slice that have nearly a colour.
fn num_pixels(harness: &mut Harness<'_, App>, colour: [u8; 3]) -> usize {
    let rect = harness.get_by_label("Transaxial slice").rect();
    let picture = harness.render().unwrap();
    let near = |pixel: &image::Rgba<u8>| pixel.0.iter().zip(colour).all(|(a, b)| a.abs_diff(b) < 12);
    let columns = rect.left() as u32..rect.right() as u32;
    let places = (rect.top() as u32..rect.bottom() as u32).flat_map(|y| columns.clone().map(move |x| (x, y)));
    places.filter(|(x, y)| near(picture.get_pixel(*x, *y))).count()
}

fn colours(harness: &Harness<'_, App>) -> Vec<[u8; 3]> {
    harness.state().work.document().rois.iter().map(|roi| roi.colour.unwrap()).collect()
}

#[test]
fn a_roi_keeps_its_colour_when_another_is_deleted() {
    let Some(mut harness) = finished([1400.0, 900.0], Theme::Light) else { return };
    click(&mut harness, "Add sphere");
    drag(&mut harness, "Transaxial slice", [0.3, 0.2], [0.7, 0.3]);
    click(&mut harness, "Add sphere");
    let all = colours(&harness);
    let [_, first, second] = all[..] else { panic!("three ROIs: {all:?}") };
    assert!(first != second && num_pixels(&mut harness, first) > 20 && num_pixels(&mut harness, second) > 20);
    harness.run_steps(60);
    click(&mut harness, "ROI 1");
    click(&mut harness, "Delete");
    assert_eq!(colours(&harness), [all[0], second]);
    assert!(num_pixels(&mut harness, first) == 0 && num_pixels(&mut harness, second) > 20);
    // The next one takes the colour that is free again, and gives it back.
    harness.run_steps(60);
    click(&mut harness, "Add sphere");
    assert_eq!(colours(&harness), [all[0], second, first]);
    harness.run_steps(60);
    for expected in [vec![all[0], second], all] {
        click(&mut harness, "Undo");
        assert_eq!(colours(&harness), expected);
    }
}

#[test]
fn a_colour_is_chosen_in_the_panel() {
    let Some(mut harness) = finished([1400.0, 900.0], Theme::Dark) else { return };
    click(&mut harness, "Add sphere");
    let before = colours(&harness);
    click(&mut harness, "Colour");
    assert_eq!(colours(&harness), before, "looking at the choice is no choice");
    harness.check_accessibility();
    click(&mut harness, "Colour 7");
    assert_eq!(colours(&harness)[1], [50, 90, 210]);
    assert!(harness.query_by_label("Colour 7").is_none());
    click(&mut harness, "Colour");
    harness.get_by_role_and_label(egui::accesskit::Role::SpinButton, "Red").set_value_accesskit(255.0);
    harness.run_steps(3);
    assert_eq!(colours(&harness)[1], [255, 90, 210]);
    assert!(num_pixels(&mut harness, [255, 90, 210]) > 20);
}
