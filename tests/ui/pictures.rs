//! Pictures of the window in both themes. They are compared where llvmpipe draws them, as it did when they were made.

use egui::Theme;
use egui_kittest::SnapshotOptions;
use egui_kittest::kittest::Queryable as _;

use super::{click, finished, num_measured, wait_for};

/// Pixels that may differ: rounding at the edges of letters and lines.
const MAX_FAILED_PIXELS: usize = 40;

fn picture(name: &str, theme: Theme, prepare: impl FnOnce(&mut egui_kittest::Harness<'_, tomoscope::ui::App>)) {
    let Some(mut harness) = finished([900.0, 600.0], theme) else { return };
    prepare(&mut harness);
    harness.remove_cursor();
    // Until the toasts are gone.
    harness.run_steps(60);
    if harness.state().work.adapter().contains("llvmpipe") {
        // The line under the slices and the status line name the machine's processor.
        let made = harness.get_by_label_contains("subsets, iteration 3 · ").rect();
        harness.mask(egui::Rect::from_x_y_ranges(made.left()..=900.0, made.y_range()));
        harness.mask(egui::Rect::from_min_max(egui::pos2(0.0, 560.0), egui::pos2(900.0, 600.0)));
        let folder = tomoscope_support::in_repository("tests/snapshots");
        let options = SnapshotOptions::new().max_failed_pixels(MAX_FAILED_PIXELS).output_path(folder);
        harness.snapshot_options(name, &options);
    } else {
        harness.render().unwrap();
        println!("rendered, not compared: {} draws", harness.state().work.adapter());
    }
}

#[test]
fn window_dark() {
    picture("window_dark", Theme::Dark, |_| {});
}

#[test]
fn window_light_with_a_selected_roi() {
    picture("window_light", Theme::Light, |harness| {
        click(harness, "Add sphere");
        wait_for(harness, "the past measured anew", |app| num_measured(app, 1) == 3);
    });
}
