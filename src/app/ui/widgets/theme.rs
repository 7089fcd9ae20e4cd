//! Colours, sizes and text styles of the window, for the light and the dark theme.

use egui::Color32;
use strum::EnumCount as _;

use crate::data::{Roi, Severity};
use crate::recon::Stage;

/// Width of the side pane, points.
pub const SIDE_WIDTH: f32 = 312.0;
/// Margin of a pane, points.
pub const PANE_MARGIN: f32 = 6.0;
/// Gap between panes, points.
pub const PANE_GAP: f32 = 4.0;
/// Smallest width and height of a pane, points.
pub const MIN_PANE_SIZE: f32 = 120.0;
/// Height of the titles of panes, points.
pub const TAB_HEIGHT: f32 = 28.0;
/// Smallest side of a widget that is clicked, points.
pub const TARGET_SIZE: f32 = 28.0;
/// Side of an icon, points.
pub const ICON_SIZE: f32 = 18.0;
/// Maximum distance of the pointer from a grabbed outline or handle, points.
pub const GRAB_DISTANCE: f32 = 7.0;
/// Half the side of a handle, points.
pub const HANDLE_SIZE: f32 = 3.5;
/// Gap between slices, points.
pub const SLICE_GAP: f32 = 4.0;
/// Width of the colour bar with its numbers, points.
pub const COLOUR_BAR_WIDTH: f32 = 78.0;
/// Size of text drawn over slices, points.
pub const OVERLAY_TEXT: f32 = 12.0;
/// Size of orientation letters, points.
pub const ORIENTATION_TEXT: f32 = 15.0;
pub const TOAST_SECS: f64 = 4.0;

/// Under lines over an image.
pub const HALO: Color32 = Color32::from_black_alpha(110);
const CROSSHAIR: Color32 = Color32::from_rgb(80, 170, 255);

/// Colours that depend on the theme.
#[derive(Clone, Copy, Debug)]
pub struct Colours {
    /// Around the image in a slice.
    pub slice_background: Color32,
    pub crosshair: Color32,
    /// Text, rulers and orientation letters over a slice's background.
    pub overlay: Color32,
    /// Behind text over an image.
    pub overlay_shade: Color32,
    /// Mark of a change of accumulation in a curve.
    pub accumulation_mark: Color32,
    /// Mark of an edit of the ROIs in a curve.
    pub branch_mark: Color32,
    /// Mark of the displayed iterate in a curve.
    pub shown_mark: Color32,
    pub warning: Color32,
    pub error: Color32,
    pub profile: Color32,
    /// Primary buttons, selection and focus.
    pub accent: Color32,
    /// Text on the accent.
    pub on_accent: Color32,
    /// Behind the titles of panes.
    pub tab_bar: Color32,
}

pub fn colours(visuals: &egui::Visuals) -> Colours {
    let of_theme = |dark: [u8; 3], light: [u8; 3]| if visuals.dark_mode { dark } else { light };
    let opaque = |dark, light| {
        let [red, green, blue] = of_theme(dark, light);
        Color32::from_rgb(red, green, blue)
    };
    let [red, green, blue] = of_theme([10, 12, 16], [255; 3]);
    let overlay_alpha = if visuals.dark_mode { 170 } else { 190 };
    Colours {
        slice_background: opaque([18, 20, 24], [226, 229, 234]),
        crosshair: CROSSHAIR,
        overlay: opaque([222, 226, 232], [30, 34, 40]),
        overlay_shade: Color32::from_rgba_unmultiplied(red, green, blue, overlay_alpha),
        accumulation_mark: opaque([240, 120, 90], [178, 50, 12]),
        branch_mark: opaque([150, 150, 160], [92, 92, 102]),
        shown_mark: opaque([110, 170, 240], [0, 90, 190]),
        warning: opaque([240, 180, 70], [140, 82, 0]),
        error: opaque([245, 105, 95], [178, 24, 24]),
        profile: opaque([110, 200, 150], [0, 105, 62]),
        accent: opaque([28, 104, 190], [12, 96, 190]),
        on_accent: Color32::WHITE,
        tab_bar: opaque([19, 21, 25], [226, 230, 236]),
    }
}

/// Colours of ROIs in the order of their use. They contrast with grey values in both themes.
pub const ROI_COLOURS: [[u8; 3]; 8] =
    [[214, 88, 30], [35, 132, 67], [122, 76, 190], [196, 40, 100], [0, 130, 150], [150, 105, 20], [50, 90, 210], [110, 120, 30]];

pub fn roi_colour(roi: &Roi) -> Color32 {
    let [red, green, blue] = roi.colour.unwrap_or(ROI_COLOURS[0]);
    Color32::from_rgb(red, green, blue)
}

/// Colours of the stages of a step, in their order: neighbours in a stacked bar differ in hue and lightness.
const STAGE_COLOURS: [Color32; Stage::COUNT] = [
    Color32::from_rgb(60, 160, 150),
    Color32::from_rgb(68, 130, 196),
    Color32::from_rgb(150, 196, 230),
    Color32::from_rgb(208, 96, 48),
    Color32::from_rgb(236, 178, 84),
    Color32::from_rgb(96, 150, 80),
    Color32::from_rgb(190, 60, 110),
    Color32::from_rgb(206, 190, 120),
    Color32::from_rgb(140, 140, 150),
    Color32::from_rgb(126, 96, 170),
];

pub fn stage_colour(stage: Stage) -> Color32 {
    STAGE_COLOURS[stage.colour()]
}

pub fn severity_colour(severity: Severity, visuals: &egui::Visuals) -> Color32 {
    match severity {
        Severity::Info => visuals.text_color(),
        Severity::Warning => colours(visuals).warning,
        Severity::Error => colours(visuals).error,
    }
}

/// Text sizes, points: headings, text and buttons, notes, numbers in columns.
const TEXT_SIZES: [(egui::TextStyle, f32); 5] = [
    (egui::TextStyle::Heading, 17.0),
    (egui::TextStyle::Body, 14.0),
    (egui::TextStyle::Button, 14.0),
    (egui::TextStyle::Small, 12.0),
    (egui::TextStyle::Monospace, 13.0),
];

/// Sets icons, colours, sizes, spacing and text styles of both themes.
pub fn apply(ctx: &egui::Context) {
    egui_material_icons::initialize(ctx);
    for theme in [egui::Theme::Dark, egui::Theme::Light] {
        ctx.set_visuals_of(theme, visuals(theme));
    }
    ctx.all_styles_mut(|style| {
        // A grid of 4 points.
        style.spacing.item_spacing = egui::vec2(8.0, 4.0);
        style.spacing.button_padding = egui::vec2(8.0, 4.0);
        style.spacing.interact_size.y = TARGET_SIZE;
        style.spacing.icon_width = 16.0;
        style.spacing.icon_width_inner = 9.0;
        style.interaction.selectable_labels = false;
        for (text_style, size) in TEXT_SIZES {
            if let Some(font) = style.text_styles.get_mut(&text_style) {
                font.size = size;
            }
        }
    });
}

const ANIMATION_SECS: f32 = 0.08;

/// Switches the animations of the window off or on.
pub fn reduce_motion(ctx: &egui::Context, is_reduced: bool) {
    ctx.all_styles_mut(|style| {
        style.animation_time = if is_reduced { 0.0 } else { ANIMATION_SECS };
        style.scroll_animation = if is_reduced { egui::style::ScrollAnimation::none() } else { Default::default() };
    });
}

fn visuals(theme: egui::Theme) -> egui::Visuals {
    let is_dark = theme == egui::Theme::Dark;
    let mut visuals = if is_dark { egui::Visuals::dark() } else { egui::Visuals::light() };
    let grey = |dark: [u8; 3], light: [u8; 3]| {
        let [red, green, blue] = if is_dark { dark } else { light };
        Color32::from_rgb(red, green, blue)
    };
    let Colours { accent, on_accent, .. } = colours(&visuals);
    visuals.panel_fill = grey([26, 29, 34], [246, 247, 249]);
    visuals.window_fill = grey([33, 37, 43], [255; 3]);
    visuals.extreme_bg_color = grey([16, 18, 21], [255; 3]);
    visuals.faint_bg_color = grey([32, 36, 42], [237, 240, 244]);
    visuals.weak_text_color = Some(grey([160, 168, 180], [84, 92, 105]));
    visuals.selection.bg_fill = accent;
    visuals.selection.stroke = egui::Stroke::new(1.0, on_accent);
    let border = grey([52, 58, 67], [206, 212, 221]);
    let widgets = &mut visuals.widgets;
    widgets.noninteractive.fg_stroke.color = grey([214, 219, 226], [36, 41, 48]);
    widgets.noninteractive.bg_stroke.color = border;
    for (state, fill, text) in [
        (&mut widgets.inactive, grey([44, 49, 57], [226, 230, 236]), grey([226, 230, 236], [28, 32, 38])),
        (&mut widgets.hovered, grey([58, 65, 75], [212, 218, 227]), grey([245, 247, 250], [10, 12, 16])),
        (&mut widgets.active, grey([70, 78, 90], [198, 206, 218]), grey([255; 3], [0; 3])),
        (&mut widgets.open, grey([50, 56, 65], [216, 222, 230]), grey([245, 247, 250], [10, 12, 16])),
    ] {
        (state.weak_bg_fill, state.bg_fill, state.fg_stroke.color) = (fill, fill, text);
        state.corner_radius = egui::CornerRadius::same(5);
    }
    // Check boxes and radio buttons without a mark have a visible border.
    widgets.inactive.bg_stroke = egui::Stroke::new(1.0, grey([98, 107, 121], [128, 137, 150]));
    widgets.inactive.bg_fill = grey([30, 34, 40], [255; 3]);
    // The focus.
    widgets.active.bg_stroke = egui::Stroke::new(2.0, grey([110, 170, 240], [12, 96, 190]));
    visuals
}

/// Returns the contrast of two opaque colours, 1 to 21 (WCAG 2.2, definition of contrast ratio).
#[cfg(test)]
fn contrast(a: Color32, b: Color32) -> f64 {
    let luminance = |colour: Color32| {
        let linear = |value: u8| {
            let value = f64::from(value) / 255.0;
            if value <= 0.04045 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
        };
        0.2126 * linear(colour.r()) + 0.7152 * linear(colour.g()) + 0.0722 * linear(colour.b())
    };
    let [low, high] = {
        let (a, b) = (luminance(a), luminance(b));
        [a.min(b), a.max(b)]
    };
    (high + 0.05) / (low + 0.05)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contrast_is_that_of_the_definition() {
        assert!((contrast(Color32::BLACK, Color32::WHITE) - 21.0).abs() < 1e-9);
        // #767676 on white is the lightest grey with 4.5.
        assert!((contrast(Color32::from_rgb(0x76, 0x76, 0x76), Color32::WHITE) - 4.54).abs() < 0.01);
    }

    #[test]
    fn text_has_a_contrast_of_4_5_on_each_background() {
        for theme in [egui::Theme::Dark, egui::Theme::Light] {
            let visuals = visuals(theme);
            let own = colours(&visuals);
            let backgrounds = [visuals.panel_fill, visuals.window_fill, visuals.extreme_bg_color, own.tab_bar];
            let texts = [visuals.text_color(), visuals.strong_text_color(), visuals.weak_text_color(), own.warning, own.error];
            let marks = [own.accumulation_mark, own.branch_mark, own.shown_mark, own.profile];
            for background in backgrounds {
                for text in texts.into_iter().chain(marks) {
                    let contrast = contrast(text, background);
                    assert!(contrast >= 4.5, "{theme:?}: {text:?} on {background:?} has {contrast:.2}");
                }
            }
            let widgets = &visuals.widgets;
            for state in [&widgets.inactive, &widgets.hovered, &widgets.active, &widgets.open] {
                assert!(contrast(state.text_color(), state.weak_bg_fill) >= 4.5, "{theme:?}");
            }
            assert!(contrast(own.on_accent, own.accent) >= 4.5, "{theme:?}");
            // Borders of check boxes and the focus need 3 (WCAG 2.2, 1.4.11).
            for border in [widgets.inactive.bg_stroke.color, widgets.active.bg_stroke.color] {
                assert!(contrast(border, visuals.panel_fill) >= 3.0, "{theme:?} {border:?}");
            }
        }
    }
}
