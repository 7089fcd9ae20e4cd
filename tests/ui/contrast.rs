//! Contrast of the text as it is drawn, by the pixels of each label.

use std::collections::HashMap;

use egui::accesskit::Role;
use egui_kittest::kittest::{NodeT as _, Queryable as _};
use image::Rgb;

use super::finished;

const SIZE: [f32; 2] = [1600.0, 1000.0];

/// Contrast of two colours (WCAG 2.2).
fn contrast(a: Rgb<u8>, b: Rgb<u8>) -> f64 {
    let luminance = |colour: Rgb<u8>| {
        let [r, g, b] = colour.0.map(|value| {
            let value = f64::from(value) / 255.0;
            if value <= 0.04045 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
        });
        0.2126 * r + 0.7152 * g + 0.0722 * b
    };
    let (a, b) = (luminance(a), luminance(b));
    (a.max(b) + 0.05) / (a.min(b) + 0.05)
}

#[test]
fn the_strongest_pixel_of_each_label_has_a_contrast_of_4_5() {
    for theme in [egui::Theme::Dark, egui::Theme::Light] {
        let Some(mut harness) = finished(SIZE, theme) else { return };
        // No column of the table is cut in this layout.
        harness.key_press(egui::Key::F6);
        harness.remove_cursor();
        harness.run_steps(60);
        let picture = image::DynamicImage::from(harness.render().unwrap()).into_rgb8();
        let mut num_checked = 0;
        for node in harness.get_all_by_role(Role::Label) {
            if node.accesskit_node().is_disabled() {
                continue;
            }
            let rect = node.rect().intersect(egui::Rect::from_min_size(egui::Pos2::ZERO, SIZE.into()));
            let (x, y) = (rect.left() as u32..rect.right() as u32, rect.top() as u32..rect.bottom() as u32);
            let pixels: Vec<Rgb<u8>> =
                y.flat_map(|y| x.clone().map(move |x| (x, y))).map(|(x, y)| *picture.get_pixel(x, y)).collect();
            let mut counts = HashMap::new();
            pixels.iter().for_each(|pixel| *counts.entry(pixel.0).or_insert(0) += 1);
            let Some(background) = counts.into_iter().max_by_key(|(_, count)| *count).map(|(colour, _)| Rgb(colour)) else {
                continue;
            };
            let strongest = pixels.iter().map(|pixel| contrast(*pixel, background)).fold(1.0, f64::max);
            // Labels that are scrolled out of view have no pixels.
            if strongest > 1.5 {
                let text = node.accesskit_node().value().or_else(|| node.accesskit_node().label()).unwrap_or_default();
                assert!(strongest >= 4.5, "{theme:?}: '{text}' has {strongest:.2}");
                num_checked += 1;
            }
        }
        assert!(num_checked > 40, "{num_checked} labels");
    }
}
