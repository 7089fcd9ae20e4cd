//! The chips above the slices: labels of state that changes the numbers of the image on the screen. A click on one leads to the
//! control that it is about.

use egui::{RichText, Ui};

use crate::data::{Unit, ValueScale};
use crate::operator::Accumulation;
use crate::ui::widgets::place::Place;
use crate::ui::widgets::{format, theme};

/// State that changes numbers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ChipsView {
    /// FWHM of the filter on the image on the screen, mm.
    pub filter_mm: Option<f64>,
    /// True if the table measures the unfiltered image.
    pub is_unfiltered: bool,
    /// The stop rules that are on, in words.
    pub rules: Vec<String>,
    /// Unit in which the displayed image is shown, if it is not its own.
    pub conversion: Option<ValueScale>,
    /// True if the scan is calibrated, but the displayed image is not: the fraction of its time frame is unknown.
    pub lacks_calibration: bool,
    /// Accumulation of the steps that made the displayed image.
    pub accumulation: Option<Accumulation>,
    /// Accumulation of the next steps, if the user has chosen one.
    pub chosen_accumulation: Option<Accumulation>,
}

/// A chip: the place that it leads to, its text, and whether it warns.
type Chip = (Place, String, bool);

impl ChipsView {
    fn chips(&self) -> Vec<Chip> {
        let filter = self.filter_mm.map(|fwhm_mm| (Place::PostFilter, format!("Post-filter {fwhm_mm:.1} mm"), false));
        let measured = self.filter_mm.filter(|_| self.is_unfiltered);
        let measured = measured.map(|_| (Place::MeasuredImage, "Measured: unfiltered image".to_owned(), false));
        let rules = match &self.rules[..] {
            [] => None,
            [rule] => Some(format!("Stops automatically: {rule}")),
            rules => Some(format!("Stops automatically: {} rules", rules.len())),
        };
        let rules = rules.map(|text| (Place::StopRules, text, false));
        let calibration = self.conversion.map(|scale| match scale.unit {
            Unit::BqPerMl => (format!("1 count/mm = {} Bq/mL", format::value(scale.factor)), false),
            unit => (format!("Values in {}", unit.label()), false),
        });
        let lacking = self.lacks_calibration.then(|| ("Frame not calibrated: length of the scan unknown".to_owned(), true));
        let calibration = calibration.or(lacking).map(|(text, warns)| (Place::Calibration, text, warns));
        [filter, measured, rules, calibration, self.accumulation_chip()].into_iter().flatten().collect()
    }

    /// Returns the chip of the accumulation, if the user has chosen it or it has a race condition.
    fn accumulation_chip(&self) -> Option<Chip> {
        let has_race = |accumulation: Option<Accumulation>| accumulation.is_some_and(Accumulation::has_race);
        let (made, chosen) = (self.accumulation, self.chosen_accumulation);
        let text = match (made, chosen) {
            (Some(made), Some(chosen)) if made != chosen => format!("Accumulation: {made}; next step: {chosen}"),
            (None, Some(chosen)) => format!("Accumulation of the next step: {chosen}"),
            (Some(made), Some(_)) => format!("Accumulation: {made}"),
            (Some(made), None) if made.has_race() => format!("Accumulation: {made}"),
            (_, None) => return None,
        };
        Some((Place::Accumulation, text, has_race(made) || has_race(chosen)))
    }
}

/// Draws the chips in a row, if there are any. Returns the place that a click leads to.
pub fn chips_ui(view: &ChipsView, ui: &mut Ui) -> Option<Place> {
    let chips = view.chips();
    if chips.is_empty() {
        return None;
    }
    let colours = theme::colours(ui.visuals());
    let mut led_to = None;
    ui.horizontal_wrapped(|ui| {
        ui.spacing_mut().item_spacing.x = 5.0;
        for (place, text, warns) in chips {
            let colour = if warns { colours.error } else { colours.shown_mark };
            let button = egui::Button::new(RichText::new(text).small().color(colour))
                .small()
                .corner_radius(8.0)
                .stroke(egui::Stroke::new(1.0, colour.gamma_multiply(0.6)));
            if ui.add(button).on_hover_text("Changes the numbers. Click: go to its setting").clicked() {
                led_to = Some(place);
            }
        }
    });
    led_to
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(view: &ChipsView) -> Vec<String> {
        view.chips().into_iter().map(|(_, text, _)| text).collect()
    }

    #[test]
    fn nothing_unusual_has_no_chip() {
        let view = ChipsView { accumulation: Some(Accumulation::Deterministic), is_unfiltered: true, ..ChipsView::default() };
        assert!(view.chips().is_empty());
    }

    #[test]
    fn the_accumulation_of_the_image_and_of_the_next_step_are_told_apart() {
        let view = |accumulation, chosen_accumulation| ChipsView { accumulation, chosen_accumulation, ..ChipsView::default() };
        let (atomic, racy) = (Some(Accumulation::Atomic), Some(Accumulation::NonAtomic));
        assert_eq!(texts(&view(atomic, racy)), ["Accumulation: atomic; next step: non-atomic"]);
        assert_eq!(texts(&view(racy, None)), ["Accumulation: non-atomic"]);
        assert_eq!(texts(&view(None, atomic)), ["Accumulation of the next step: atomic"]);
        assert!(view(atomic, racy).chips()[0].2 && !view(atomic, atomic).chips()[0].2);
    }

    #[test]
    fn filter_rules_and_calibration_have_chips() {
        let view = ChipsView {
            filter_mm: Some(6.0),
            is_unfiltered: true,
            rules: vec!["NSR above 10 %".into()],
            conversion: Some(ValueScale::calibrated(1000.0)),
            ..ChipsView::default()
        };
        let expected = [
            "Post-filter 6.0 mm",
            "Measured: unfiltered image",
            "Stops automatically: NSR above 10 %",
            "1 count/mm = 1000 Bq/mL",
        ];
        assert_eq!(texts(&view), expected);
        let lacking = ChipsView { lacks_calibration: true, ..ChipsView::default() };
        assert!(texts(&lacking)[0].starts_with("Frame not calibrated"));
    }
}
