//! Colour scale of an image: palette and window.

use crate::render::Palette;

/// Largest rounding error below 0, relative to the largest value.
const ROUNDING: f32 = 1e-3;

/// Returns true if the range of an image contains negative values beyond rounding.
pub fn has_negative([low, high]: [f32; 2]) -> bool {
    low < -ROUNDING * high.max(0.0)
}

/// Share of the values of an image below the top of an automatic window.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, strum::IntoStaticStr, strum::VariantArray,
)]
#[serde(rename_all = "kebab-case")]
pub enum WindowPercentile {
    /// All except a few outliers.
    #[default]
    #[strum(serialize = "auto")]
    NearlyAll,
    /// 99.9 % of the non-zero values.
    #[strum(serialize = "99.9 %")]
    PerMille999,
    /// 99 % of the non-zero values.
    #[strum(serialize = "99 %")]
    Percent99,
    /// 95 % of the non-zero values.
    #[strum(serialize = "95 %")]
    Percent95,
}

impl WindowPercentile {
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// Returns the share of the values above the top.
    pub fn cut_off(self) -> f64 {
        match self {
            WindowPercentile::NearlyAll => 5e-5,
            WindowPercentile::PerMille999 => 1e-3,
            WindowPercentile::Percent99 => 1e-2,
            WindowPercentile::Percent95 => 5e-2,
        }
    }
}

/// Palette and window of an image.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct ColourScale {
    /// Values at the bottom and the top of the palette.
    pub window: [f32; 2],
    /// True if the window follows the image; else it is locked.
    pub auto_window: bool,
    /// Top of an automatic window.
    pub top: WindowPercentile,
    pub palette: Palette,
    /// Palette of images without negative values.
    pub usual_palette: Palette,
    /// True if the palette follows the image: signed for images with negative values.
    pub auto_palette: bool,
}

impl Default for ColourScale {
    fn default() -> Self {
        Self::automatic(Palette::default())
    }
}

impl ColourScale {
    /// Returns a scale that follows the image. `palette`: for images without negative values.
    pub fn automatic(palette: Palette) -> Self {
        Self {
            window: [0.0, 1.0],
            auto_window: true,
            top: WindowPercentile::default(),
            palette,
            usual_palette: palette,
            auto_palette: true,
        }
    }

    /// Replaces an invalid window of a file.
    pub fn sanitize(&mut self) {
        let [low, high] = self.window;
        if !(low.is_finite() && high.is_finite() && low < high) {
            *self = Self { window: [0.0, 1.0], auto_window: true, ..self.clone() };
        }
    }

    /// Sets the palette, and adjusts the window to it.
    pub fn set_palette(&mut self, palette: Palette) {
        self.palette = palette;
        self.window = self.suited(self.window);
    }

    /// Sets the palette of the user, which no longer follows the image.
    pub fn choose_palette(&mut self, palette: Palette) {
        self.set_palette(palette);
        self.auto_palette = false;
        if palette != Palette::Signed {
            self.usual_palette = palette;
        }
    }

    /// Sets an automatic window with this top.
    pub fn follow(&mut self, top: WindowPercentile) {
        (self.auto_window, self.top) = (true, top);
    }

    /// Sets and locks the window for an image with this range. Without negative values its bottom is at least 0. A bottom that
    /// is not below the top has no effect.
    pub fn set_window(&mut self, [low, high]: [f32; 2], range: [f32; 2]) {
        let is_too_low = low < 0.0 && !has_negative(range) && self.palette != Palette::Signed;
        let low = if is_too_low { 0.0 } else { low };
        if low < high {
            self.window = self.suited([low, high]);
            self.auto_window = false;
        }
    }

    /// Returns the window that suits the palette. The signed palette has white at 0, so its window is symmetric: the changed end
    /// determines its size, of two the larger one.
    fn suited(&self, window: [f32; 2]) -> [f32; 2] {
        if self.palette != Palette::Signed {
            return window;
        }
        let [low, high] = window.map(f32::abs);
        let size = match (window[0] != self.window[0], window[1] != self.window[1]) {
            (true, false) => low,
            (false, true) => high,
            _ => low.max(high),
        };
        let size = size.max(f32::MIN_POSITIVE);
        [-size, size]
    }

    /// Drags width (horizontally) and level (vertically) of the window, relative to the range of the image. The signed palette
    /// has no level.
    pub fn drag_window(&mut self, delta: egui::Vec2, range: [f32; 2]) {
        let span = (range[1] - range[0]).max(f32::MIN_POSITIVE);
        let width = (self.window[1] - self.window[0] + delta.x * span / 300.0).max(span * 1e-3);
        let level = 0.5 * (self.window[0] + self.window[1]) + delta.y * span / 300.0;
        let level = if self.palette == Palette::Signed { 0.0 } else { level };
        self.set_window([level - 0.5 * width, level + 0.5 * width], range);
    }

    /// Moves the window without a change of its width.
    pub fn move_level(&mut self, by: f32, range: [f32; 2]) {
        let [low, high] = self.window;
        let by = if has_negative(range) { by } else { by.max(-low) };
        if self.palette != Palette::Signed {
            self.set_window([low + by, high + by], range);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_window_of_signed_colours_is_always_symmetric() {
        let range = [-10.0, 20.0];
        let mut colouring = ColourScale { window: [0.0, 4.0], ..ColourScale::automatic(Palette::Grey) };
        colouring.set_window([1.0, 3.0], range);
        assert_eq!((colouring.window, colouring.auto_window), ([1.0, 3.0], false));
        colouring.set_palette(Palette::Signed);
        assert_eq!(colouring.window, [-3.0, 3.0]);
        // One end, the other, both.
        for (window, size) in
            [([-2.0, 3.0], 2.0), ([-2.0, 5.0], 5.0), ([1.0, 5.0], 1.0), ([-7.0, 0.5], 7.0), ([0.0, 7.0], f32::MIN_POSITIVE)]
        {
            colouring.set_window(window, range);
            assert_eq!(colouring.window, [-size, size], "{window:?}");
        }
        colouring.window = [-6.0, 6.0];
        colouring.drag_window(egui::vec2(30.0, 80.0), range);
        assert_eq!(colouring.window, [-7.5, 7.5]);
        colouring.set_palette(Palette::Grey);
        colouring.drag_window(egui::vec2(0.0, 10.0), range);
        assert_eq!(colouring.window, [-6.5, 8.5]);
    }

    #[test]
    fn the_window_of_an_image_without_negative_values_stays_above_zero_and_in_order() {
        let range = [-1e-6, 10.0];
        let mut colouring = ColourScale { window: [0.0, 4.0], ..ColourScale::automatic(Palette::Grey) };
        for _ in 0..20 {
            colouring.drag_window(egui::vec2(20.0, -20.0), range);
            assert!(colouring.window[0] >= 0.0 && colouring.window[1] > colouring.window[0], "{:?}", colouring.window);
        }
        let before = colouring.window;
        for refused in [[5.0, 4.0], [3.0, 3.0], [f32::NAN, 1.0], [1.0, f32::NAN]] {
            colouring.set_window(refused, range);
            assert_eq!(colouring.window, before, "{refused:?}");
        }
        colouring.set_window([1.0, 3.0], range);
        colouring.move_level(-7.0, range);
        assert_eq!(colouring.window, [0.0, 2.0]);
        // With negative values there is no such end.
        colouring.move_level(-7.0, [-10.0, 10.0]);
        assert_eq!(colouring.window, [-7.0, -5.0]);
    }

    #[test]
    fn a_palette_that_was_chosen_is_the_usual_one_unless_it_is_signed() {
        let mut colouring = ColourScale::automatic(Palette::Grey);
        colouring.choose_palette(Palette::Signed);
        assert_eq!((colouring.palette, colouring.usual_palette), (Palette::Signed, Palette::Grey));
        colouring.choose_palette(Palette::Viridis);
        assert_eq!((colouring.palette, colouring.usual_palette), (Palette::Viridis, Palette::Viridis));
        assert!(!colouring.auto_palette && colouring.auto_window);
    }
}
