//! Comparison of the displayed image with that of the reference run: side by side, swipe, blink or difference.

use egui::Rect;
use strum::VariantArray as _;

use crate::data::{ValueScale, Volume};
use crate::geometry::Point;
use crate::render::{Content, Palette, SliceView, VolumeSlot};
use crate::ui::widgets::colour_scale::ColourScale;
use crate::ui::widgets::format;

/// Kind of the comparison with the reference image.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, strum::IntoStaticStr, strum::VariantArray)]
pub enum CompareMode {
    /// Not at all.
    #[default]
    #[strum(serialize = "off")]
    Off,
    /// Both side by side.
    #[strum(serialize = "side by side")]
    Sides,
    /// One over the other, up to a line that can be dragged.
    #[strum(serialize = "swipe")]
    Swipe,
    /// One after the other.
    #[strum(serialize = "blink")]
    Blink,
    /// Displayed image minus reference image.
    #[strum(serialize = "difference")]
    Difference,
}

impl CompareMode {
    /// Returns the next mode in the row of buttons, after the last one the first.
    pub fn next(self) -> Self {
        let after = Self::VARIANTS.iter().skip_while(|how| **how != self).nth(1);
        after.copied().unwrap_or_default()
    }

    /// Returns the tooltip.
    pub(super) fn help(self) -> &'static str {
        match self {
            CompareMode::Off => "The image of this run alone",
            CompareMode::Sides => "This run's image left, the reference's right, at the same place in the same window",
            CompareMode::Swipe => "This run's image left of the line, the reference's right of it; drag the line",
            CompareMode::Blink => "Both images in turn, twice a second",
            CompareMode::Difference => "This run's image minus the reference, on its own scale around 0",
        }
    }
}

/// Comparison with the reference image.
pub struct Beside<'a> {
    /// Kind of the comparison; not off.
    pub how: CompareMode,
    /// The reference's image, on the same grid.
    pub volume: &'a Volume,
    /// Names of the displayed image and of the reference image.
    pub names: [String; 2],
    /// Largest difference that is shown in full colour.
    pub largest_difference: f32,
}

/// Content of a picture of a slice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Picture {
    /// The image on the screen.
    Run,
    /// The reference's.
    Reference,
    /// Both up to a line, or their difference.
    Both,
}

/// Time that each of two images in turn is shown, s.
pub(super) const BLINK_SECS: f64 = 0.5;

impl Beside<'_> {
    /// Returns the pictures of a slice.
    pub fn pictures(&self, rect: Rect) -> Vec<(Picture, Rect)> {
        match self.how {
            CompareMode::Off | CompareMode::Blink => vec![(Picture::Run, rect)],
            CompareMode::Sides => {
                let (left, right) = rect.split_left_right_at_fraction(0.5);
                let half_gap = egui::vec2(0.5, 0.0);
                vec![(Picture::Run, left.translate(-half_gap)), (Picture::Reference, right.translate(half_gap))]
            }
            CompareMode::Swipe | CompareMode::Difference => vec![(Picture::Both, rect)],
        }
    }

    /// True if the blink comparison shows the reference image at this time.
    fn blinks(&self, time: f64) -> bool {
        self.how == CompareMode::Blink && (time / BLINK_SECS) as u64 % 2 == 1
    }

    /// Returns the views to draw for a picture; `own` is the view of the displayed image.
    pub fn drawn(&self, picture: Picture, own: SliceView, swipe: f32, time: f64) -> Vec<SliceView> {
        let reference = SliceView { content: Content::Volume(VolumeSlot::Second), ..own };
        match (picture, self.how) {
            (Picture::Reference, _) => vec![reference],
            (Picture::Run, _) if self.blinks(time) => vec![reference],
            (Picture::Run, _) => vec![own],
            (Picture::Both, CompareMode::Swipe) => {
                vec![SliceView { part: [0.0, swipe], ..own }, SliceView { part: [swipe, 1.0], ..reference }]
            }
            (Picture::Both, _) => {
                let content = Content::Difference { of: VolumeSlot::First, factor: 1.0, minus: VolumeSlot::Second };
                let window = [-self.largest_difference, self.largest_difference];
                vec![SliceView { content, window, palette: Palette::Signed, ..own }]
            }
        }
    }

    /// Returns palette and window of the comparison, for the colour bar.
    pub fn colouring(&self, of_image: &ColourScale) -> ColourScale {
        if self.how != CompareMode::Difference {
            return of_image.clone();
        }
        let window = [-self.largest_difference, self.largest_difference];
        ColourScale { window, palette: Palette::Signed, ..of_image.clone() }
    }

    /// Returns the names of the compared images, from left to right.
    pub(super) fn labels(&self, picture: Picture, time: f64) -> Vec<String> {
        let [own, reference] = &self.names;
        match (picture, self.how) {
            (Picture::Both, CompareMode::Swipe) => vec![own.clone(), reference.clone()],
            (Picture::Both, _) => vec![format!("{own} − {reference}")],
            (Picture::Reference, _) => vec![reference.clone()],
            (Picture::Run, _) => vec![if self.blinks(time) { reference } else { own }.clone()],
        }
    }

    /// Returns both values at a point and their difference as text; `None` outside.
    pub fn words_at(&self, point: Point, volume: &Volume, scale: ValueScale) -> Option<String> {
        let [own, reference] = [volume.at_mm(point)?, self.volume.at_mm(point)?].map(|value| scale.value(value));
        let [value, difference] = [reference, own - reference].map(format::value);
        Some(format!("{} {value} · difference {difference}", self.names[1]))
    }
}
