//! The image of the reference run beside the one on the screen: in two halves, one swiped over the other, in turn, or subtracted.

use egui::{Rect, Ui};
use strum::VariantArray as _;

use super::action::ViewAction;
use super::slice_panel::SlicesView;
use crate::data::{ValueScale, Volume};
use crate::geometry::Point;
use crate::render::{Content, Palette, SliceView, VolumeSlot};
use crate::ui::widgets::colour_scale::ColourScale;
use crate::ui::widgets::{format, theme};

/// How the image of the reference run is shown.
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
    /// What one has more than the other.
    #[strum(serialize = "difference")]
    Difference,
}

impl CompareMode {
    /// The one after it in the row of buttons, after the last the first.
    pub fn next(self) -> Self {
        let after = Self::VARIANTS.iter().skip_while(|how| **how != self).nth(1);
        after.copied().unwrap_or_default()
    }

    fn help(self) -> &'static str {
        match self {
            CompareMode::Off => "The image of this run alone",
            CompareMode::Sides => "This run's image left, the reference's right, at the same place in the same window",
            CompareMode::Swipe => "This run's image left of the line, the reference's right of it; drag the line",
            CompareMode::Blink => "Both images in turn, twice a second",
            CompareMode::Difference => "This run's image minus the reference, on its own scale around 0",
        }
    }
}

/// The image beside the one on the screen.
pub struct Beside<'a> {
    /// How it is shown; not off.
    pub how: CompareMode,
    /// The reference's image, on the same grid.
    pub volume: &'a Volume,
    /// What the image on the screen and the reference's are called.
    pub names: [String; 2],
    /// Largest difference that is shown in full colour.
    pub largest_difference: f32,
}

/// What a picture of a slice shows.
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
const BLINK_SECS: f64 = 0.5;

/// Half of the width in which the line between two images can be taken, points.
const LINE_REACH: f32 = 5.0;

impl Beside<'_> {
    /// The pictures in a slice's place.
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

    /// Whether at this time the reference's image is shown of two in turn.
    fn blinks(&self, time: f64) -> bool {
        self.how == CompareMode::Blink && (time / BLINK_SECS) as u64 % 2 == 1
    }

    /// What is drawn of a picture whose slice of the image on the screen would be this one.
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

    /// Palette and window of what is shown, for the colour bar.
    pub fn colouring(&self, of_image: &ColourScale) -> ColourScale {
        if self.how != CompareMode::Difference {
            return of_image.clone();
        }
        let window = [-self.largest_difference, self.largest_difference];
        ColourScale { window, palette: Palette::Signed, ..of_image.clone() }
    }

    /// What the pictures are of, from left to right.
    fn labels(&self, picture: Picture, time: f64) -> Vec<String> {
        let [own, reference] = &self.names;
        match (picture, self.how) {
            (Picture::Both, CompareMode::Swipe) => vec![own.clone(), reference.clone()],
            (Picture::Both, _) => vec![format!("{own} − {reference}")],
            (Picture::Reference, _) => vec![reference.clone()],
            (Picture::Run, _) => vec![if self.blinks(time) { reference } else { own }.clone()],
        }
    }

    /// Both values at a point and their difference, in words; `None` outside.
    pub fn words_at(&self, point: Point, volume: &Volume, scale: ValueScale) -> Option<String> {
        let [own, reference] = [volume.at_mm(point)?, self.volume.at_mm(point)?].map(|value| scale.value(value));
        let [value, difference] = [reference, own - reference].map(format::value);
        Some(format!("{} {value} · difference {difference}", self.names[1]))
    }
}

/// The choice of how the image of the reference is shown; `why_not`: why it cannot be.
pub fn beside_ui(chosen: CompareMode, reference: &str, why_not: Option<&str>, ui: &mut Ui, actions: &mut Vec<ViewAction>) {
    ui.horizontal(|ui| {
        ui.label(format!("Beside {reference}:"));
        for &how in CompareMode::VARIANTS {
            let name: &str = how.into();
            let button = egui::Button::selectable(chosen == how, name);
            let response = ui.add_enabled(why_not.is_none() || how == CompareMode::Off, button);
            if response.on_hover_text(how.help()).on_disabled_hover_text(why_not.unwrap_or_default()).clicked() {
                actions.push(ViewAction::SetBeside(how));
            }
        }
    });
}

/// What stands over a picture: its names, and the line between two.
pub fn overlay_ui(
    view: &SlicesView,
    beside: &Beside,
    (picture, name): (Picture, &str),
    rect: Rect,
    ui: &mut Ui,
    actions: &mut Vec<ViewAction>,
) {
    let time = ui.input(|input| input.time);
    let colours = theme::colours(ui.visuals());
    let painter = ui.painter_at(rect);
    let font = egui::TextStyle::Small.resolve(ui.style());
    for (index, label) in beside.labels(picture, time).into_iter().enumerate() {
        let (align, x) = if index == 0 {
            (egui::Align2::LEFT_BOTTOM, rect.left() + 6.0)
        } else {
            (egui::Align2::RIGHT_BOTTOM, rect.right() - 6.0)
        };
        let place = egui::pos2(x, rect.bottom() - 18.0);
        let galley = painter.layout_no_wrap(label, font.clone(), colours.overlay);
        let at = align.anchor_size(place, galley.size());
        painter.rect_filled(at.expand(2.0), 2.0, egui::Color32::from_black_alpha(150));
        painter.galley(at.min, galley, colours.overlay);
    }
    match beside.how {
        CompareMode::Blink => {
            let left = BLINK_SECS - time % BLINK_SECS;
            ui.ctx().request_repaint_after(std::time::Duration::from_secs_f64(left));
        }
        CompareMode::Swipe => {
            let x = rect.left() + view.view.swipe * rect.width();
            painter.vline(x, rect.y_range(), egui::Stroke::new(3.0, egui::Color32::from_black_alpha(150)));
            painter.vline(x, rect.y_range(), egui::Stroke::new(1.0, colours.shown_mark));
            let line = Rect::from_x_y_ranges(x - LINE_REACH..=x + LINE_REACH, rect.y_range()).intersect(rect);
            let response =
                ui.interact(line, ui.scope_id().with(("swipe", rect.min.x as i32, rect.min.y as i32)), egui::Sense::drag());
            let words = format!("{name}: line between the two images");
            response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Splitter, true, &words));
            if let Some(at) = response.interact_pointer_pos().filter(|_| response.dragged()) {
                actions.push(ViewAction::SetSwipe((at.x - rect.left()) / rect.width()));
            }
            response.on_hover_cursor(egui::CursorIcon::ResizeHorizontal);
        }
        _ => {}
    }
}

/// Nearly the largest difference between two images: a few may be larger.
pub fn usual_difference(of: &[f32], minus: &[f32]) -> f32 {
    const NUM_SAMPLED: usize = 100_000;
    const CUT_OFF: f64 = 1e-3;
    let stride = (of.len() / NUM_SAMPLED).max(1) | 1;
    let differences = of.iter().zip(minus).step_by(stride).map(|(a, b)| (a - b).abs()).filter(|d| d.is_finite() && *d > 0.0);
    let mut sizes: Vec<f32> = differences.collect();
    let Some(last) = sizes.len().checked_sub(1) else { return f32::MIN_POSITIVE };
    let rank = ((1.0 - CUT_OFF) * last as f64).round() as usize;
    *sizes.select_nth_unstable_by(rank, f32::total_cmp).1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_usual_difference_leaves_a_lonely_one_out() {
        let zeros = vec![0.0; 2000];
        let mut of: Vec<f32> = (0..2000).map(|i| if i % 2 == 0 { 1.0 } else { -2.0 }).collect();
        of[7] = 1e6;
        assert_eq!(usual_difference(&of, &zeros), 2.0);
        assert_eq!(usual_difference(&zeros, &zeros), f32::MIN_POSITIVE);
    }
}
