//! Colours, sizes and text styles of the window, for the light and the dark theme.

use egui::Color32;
use strum::EnumCount as _;

use crate::data::{Roi, Severity};
use crate::recon::Stage;

/// Width of the left panel, points.
pub const SIDE_WIDTH: f32 = 292.0;
/// Height of the bottom panel, points.
pub const BOTTOM_HEIGHT: f32 = 268.0;
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
/// Duration of a toast, seconds.
pub const TOAST_SECS: f64 = 4.0;

/// Under lines over an image.
pub const HALO: Color32 = Color32::from_black_alpha(110);
/// Crosshair.
const CROSSHAIR: Color32 = Color32::from_rgb(80, 170, 255);

/// Colours that depend on the theme.
#[derive(Clone, Copy, Debug)]
pub struct Colours {
    /// Around the image in a slice.
    pub slice_background: Color32,
    /// Crosshair.
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
    /// Text of a warning.
    pub warning: Color32,
    /// Text of an error.
    pub error: Color32,
    /// Line profile.
    pub profile: Color32,
}

/// Returns the colours of the current theme.
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
        accumulation_mark: opaque([240, 120, 90], [196, 60, 20]),
        branch_mark: opaque([150, 150, 160], [110, 110, 120]),
        shown_mark: opaque([110, 170, 240], [0, 98, 204]),
        warning: opaque([240, 180, 70], [160, 95, 0]),
        error: opaque([245, 105, 95], [190, 30, 30]),
        profile: opaque([110, 200, 150], [0, 120, 70]),
    }
}

/// Colours of ROIs in the order of their use. They contrast with grey values in both themes.
pub const ROI_COLOURS: [[u8; 3]; 8] =
    [[214, 88, 30], [35, 132, 67], [122, 76, 190], [196, 40, 100], [0, 130, 150], [150, 105, 20], [50, 90, 210], [110, 120, 30]];

/// Returns the colour of a ROI.
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
    Color32::from_rgb(140, 140, 150),
    Color32::from_rgb(126, 96, 170),
];

/// Returns the colour of a stage.
pub fn stage_colour(stage: Stage) -> Color32 {
    STAGE_COLOURS[stage.colour()]
}

/// Returns the colour of a notice.
pub fn severity_colour(severity: Severity, visuals: &egui::Visuals) -> Color32 {
    match severity {
        Severity::Info => visuals.text_color(),
        Severity::Warning => colours(visuals).warning,
        Severity::Error => colours(visuals).error,
    }
}

/// Sets sizes, spacing and text styles of both themes.
pub fn apply(ctx: &egui::Context) {
    ctx.all_styles_mut(|style| {
        style.spacing.item_spacing = egui::vec2(6.0, 4.0);
        style.spacing.button_padding = egui::vec2(7.0, 3.0);
        style.spacing.interact_size.y = 20.0;
        style.interaction.selectable_labels = false;
        for (text_style, size) in [
            (egui::TextStyle::Body, 13.0),
            (egui::TextStyle::Button, 13.0),
            (egui::TextStyle::Small, 11.0),
            (egui::TextStyle::Monospace, 12.5),
            (egui::TextStyle::Heading, 15.0),
        ] {
            if let Some(font) = style.text_styles.get_mut(&text_style) {
                font.size = size;
            }
        }
    });
}
