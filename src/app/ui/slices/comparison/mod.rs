//! Comparison of the displayed image with that of the reference run: side by side, swipe, blink or difference.

pub mod panel;

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

    pub(super) fn help(self) -> &'static str {
        match self {
            CompareMode::Off => "The image of this run alone",
            CompareMode::Sides => "This run's image left, the reference's right, at the same place in the same window",
            CompareMode::Swipe => "This run's image left of the line, the reference's right of it; drag the line",
            CompareMode::Blink => "Both images in turn, twice a second",
            CompareMode::Difference => "This run's image minus the reference, on its own scale around 0",
        }
    }

    pub fn needs_same_grid(self) -> bool {
        self == CompareMode::Difference
    }
}

/// Comparison with the reference image.
pub struct Beside<'a> {
    /// Kind of the comparison; not off.
    pub how: CompareMode,
    /// Reference image.
    pub volume: &'a Volume,
    /// Names of the displayed image and of the reference image.
    pub names: [String; 2],
    /// Largest difference that is shown in full colour.
    pub largest_difference: f32,
}

/// A picture, and the part of the view's width that it covers, from and to, 0..=1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Part {
    pub picture: SliceView,
    pub range: [f32; 2],
}

impl Part {
    /// Returns a picture of the whole width.
    pub fn whole(picture: SliceView) -> Self {
        Self { picture, range: [0.0, 1.0] }
    }

    /// Returns the picture up to a position.
    pub fn until(self, end: f32) -> Self {
        Self { range: self.range.map(|at| at.min(end)), ..self }
    }

    /// Returns the part of a rectangle that the picture covers.
    pub fn rect(&self, of: Rect) -> Rect {
        let [left, right] = self.range.map(|at| of.left() + at * of.width());
        Rect::from_x_y_ranges(left..=right, of.y_range())
    }
}

/// Content of a picture of a slice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Picture {
    /// The image on the screen.
    Run,
    Reference,
    /// Both up to a line, or their difference.
    Both,
}

/// Time that each of two images in turn is shown, s.
pub(super) const BLINK_SECS: f64 = 0.5;

impl Beside<'_> {
    /// Returns the pictures of an area.
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

    /// Returns the views to draw for a picture, given the views of the displayed image and of the reference image.
    pub fn drawn(&self, picture: Picture, [own, reference]: [SliceView; 2], swipe: f32, time: f64) -> Vec<Part> {
        match (picture, self.how) {
            (Picture::Reference, _) => vec![Part::whole(reference)],
            (Picture::Run, _) if self.blinks(time) => vec![Part::whole(reference)],
            (Picture::Run, _) => vec![Part::whole(own)],
            (Picture::Both, CompareMode::Swipe) => {
                vec![Part::whole(own).until(swipe), Part { picture: reference, range: [swipe, 1.0] }]
            }
            (Picture::Both, _) => {
                let content = Content::Difference { of: VolumeSlot::First, factor: 1.0, minus: VolumeSlot::Second };
                let window = [-self.largest_difference, self.largest_difference];
                vec![Part::whole(SliceView { content, window, palette: Palette::Signed, ..own })]
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
        let text = format!("{} {value}", self.names[1]);
        Some(if self.volume.grid.same_as(&volume.grid) { format!("{text} · difference {difference}") } else { text })
    }
}
