//! How the values of an image become colours: palette and window.

use crate::render::Palette;

/// Palette and window of an image.
#[derive(Clone, Debug)]
pub struct Colouring {
    /// Values at the bottom and the top of the palette.
    pub window: [f32; 2],
    /// Whether the window follows the image.
    pub auto_window: bool,
    /// Palette.
    pub palette: Palette,
    /// The palette of images without negative values.
    pub usual_palette: Palette,
    /// Whether the palette follows the image: the signed one where it has negative values.
    pub auto_palette: bool,
}

impl Colouring {
    /// One that follows the image, in this palette where it has no negative values.
    pub fn automatic(palette: Palette) -> Self {
        Self { window: [0.0, 1.0], auto_window: true, palette, usual_palette: palette, auto_palette: true }
    }

    /// Takes another palette; the window follows where it has to.
    pub fn set_palette(&mut self, palette: Palette) {
        self.palette = palette;
        self.window = self.suited(self.window);
    }

    /// Takes the palette that the user has chosen; it no longer follows the image.
    pub fn choose_palette(&mut self, palette: Palette) {
        self.set_palette(palette);
        self.auto_palette = false;
        if palette != Palette::Signed {
            self.usual_palette = palette;
        }
    }

    /// Sets the window by hand.
    pub fn set_window(&mut self, window: [f32; 2]) {
        self.window = self.suited(window);
        self.auto_window = false;
    }

    /// The window that becomes of one that was asked for: signed colours have their white at 0, so theirs is symmetric, and
    /// the end that was moved decides (of two, the larger one).
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

    /// Drags window and level: to the right widens by the fraction of the image's range, up brightens a PET image. Signed
    /// colours have no level.
    pub fn drag_window(&mut self, delta: egui::Vec2, range: [f32; 2]) {
        let span = (range[1] - range[0]).max(f32::MIN_POSITIVE);
        let width = (self.window[1] - self.window[0] + delta.x * span / 300.0).max(span * 1e-3);
        let level = 0.5 * (self.window[0] + self.window[1]) + delta.y * span / 300.0;
        let level = if self.palette == Palette::Signed { 0.0 } else { level };
        self.set_window([level - 0.5 * width, level + 0.5 * width]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_window_of_signed_colours_is_symmetric_whatever_is_done_to_it() {
        let mut colouring = Colouring { window: [0.0, 4.0], ..Colouring::automatic(Palette::Grey) };
        colouring.set_window([1.0, 3.0]);
        assert_eq!((colouring.window, colouring.auto_window), ([1.0, 3.0], false));
        colouring.set_palette(Palette::Signed);
        assert_eq!(colouring.window, [-3.0, 3.0]);
        // One end, the other, both.
        for (window, size) in
            [([-2.0, 3.0], 2.0), ([-2.0, 5.0], 5.0), ([1.0, 5.0], 1.0), ([-7.0, 0.5], 7.0), ([0.0, 7.0], f32::MIN_POSITIVE)]
        {
            colouring.set_window(window);
            assert_eq!(colouring.window, [-size, size], "{window:?}");
        }
        colouring.window = [-6.0, 6.0];
        colouring.drag_window(egui::vec2(30.0, 80.0), [-10.0, 20.0]);
        assert_eq!(colouring.window, [-7.5, 7.5]);
        colouring.set_palette(Palette::Grey);
        colouring.drag_window(egui::vec2(0.0, 10.0), [-10.0, 20.0]);
        assert_eq!(colouring.window, [-6.5, 8.5]);
    }

    #[test]
    fn a_palette_that_was_chosen_is_the_usual_one_unless_it_is_signed() {
        let mut colouring = Colouring::automatic(Palette::Grey);
        colouring.choose_palette(Palette::Signed);
        assert_eq!((colouring.palette, colouring.usual_palette), (Palette::Signed, Palette::Grey));
        colouring.choose_palette(Palette::Viridis);
        assert_eq!((colouring.palette, colouring.usual_palette), (Palette::Viridis, Palette::Viridis));
        assert!(!colouring.auto_palette && colouring.auto_window);
    }
}
