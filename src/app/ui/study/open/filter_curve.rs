//! Frequency response of a filter, with the response of the full parabola or ramp.

use std::f64::consts::PI;

use egui::{RichText, Ui};
use egui_plot::{LineStyle, VLine};

use crate::data::SweepSpace;
use crate::recon::{Filter, FilterSettings};
use crate::ui::widgets::format;
use crate::ui::widgets::plot;
use crate::ui::widgets::plot::{curve, plot};
use crate::ui::widgets::theme;

const NUM_POINTS: usize = 200;

/// End of a curve, in units of the cut-off.
const BEYOND: f64 = 1.25;

/// Curves of a filter: frequency in units of the Nyquist frequency, response in units of the parabola or ramp at the cut-off.
#[derive(Clone, Debug, PartialEq)]
pub struct FilterCurve {
    pub settings: FilterSettings,
    pub response: Vec<[f64; 2]>,
    /// Response of the parabola; of the ramp for a slice.
    pub whole: Vec<[f64; 2]>,
    /// Name of this response.
    pub whole_name: &'static str,
}

impl FilterCurve {
    pub fn new(space: SweepSpace, settings: &FilterSettings) -> Self {
        let cutoff = settings.cutoff.unwrap_or(1.0);
        let whole = |part: f64| Filter::Rectangular.response(space, part * PI, 1.0);
        let end = (BEYOND * cutoff).min(1.0);
        let parts = (0..=NUM_POINTS).map(|k| end * k as f64 / NUM_POINTS as f64);
        let at_cutoff = whole(cutoff);
        Self {
            settings: *settings,
            response: parts.clone().map(|p| [p, settings.filter.response(space, p * PI, cutoff) / at_cutoff]).collect(),
            whole: parts.map(|p| [p, whole(p) / at_cutoff]).collect(),
            whole_name: if space.is_slice() { "ramp" } else { "parabola" },
        }
    }

    /// Describes the filter: "hamming, cut-off 0.5".
    fn text(&self) -> String {
        let FilterSettings { filter, cutoff, .. } = self.settings;
        let cut = cutoff.map_or("no cut-off".to_owned(), |cutoff| format!("cut-off {}", format::value(cutoff)));
        format!("{filter}, {cut}")
    }
}

/// Draws the curves of the image's filter, and of a different filter of the next run (`next`).
pub fn filter_curve_ui(filter: &FilterCurve, next: Option<&FilterCurve>, ui: &mut Ui) {
    let cutoff = filter.settings.cutoff;
    let title = format!("Filter {}", filter.text());
    let of_next = theme::colours(ui.visuals()).shown_mark;
    ui.horizontal(|ui| {
        ui.add(egui::Label::new(RichText::new(&title).strong()).truncate());
        if let Some(next) = next {
            let text = RichText::new(format!("next run: {}", next.text())).small().color(of_next);
            ui.add(egui::Label::new(text).truncate())
                .on_hover_text("The image and the filtered projection are of the filter on the left");
        }
    });
    let (weak, strong) = (ui.visuals().weak_text_color(), theme::colours(ui.visuals()).profile);
    ui.horizontal(|ui| {
        let next = next.map(|_| ("next run", of_next, LineStyle::Solid));
        let shown = [(filter.whole_name, weak, LineStyle::Solid), ("filter", strong, LineStyle::Solid)];
        plot::key_ui(ui, &shown.into_iter().chain(next).collect::<Vec<_>>());
    });
    let response = plot("filter", "of the Nyquist frequency").include_y(0.0).include_y(1.0).show(ui, |plot| {
        curve(plot, filter.whole_name, &filter.whole, weak, 1.2);
        curve(plot, "filter", &filter.response, strong, 1.8);
        if let Some(next) = next {
            curve(plot, "next run", &next.response, of_next, 1.2);
        }
        if let Some(cutoff) = cutoff {
            plot.vline(VLine::new("", cutoff).color(weak).style(LineStyle::dotted_dense()));
        }
    });
    plot::name(&response.response, &format!("Plot: {title}"));
    response.response.on_hover_text(
        "Frequency response relative to the full parabola or ramp at the cut-off; continuous-wave spectra are also divided by the reference spectrum",
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::GradientAxis;

    #[test]
    fn the_curve_ends_at_the_cut_off_and_the_whole_goes_on() {
        for space in [SweepSpace::Volume, SweepSpace::Slice([GradientAxis::Z, GradientAxis::Y])] {
            let settings = FilterSettings { filter: Filter::Hamming, cutoff: Some(0.1), ..FilterSettings::default() };
            let curve = FilterCurve::new(space, &settings);
            let at = |points: &[[f64; 2]], part: f64| {
                points.iter().min_by(|a, b| (a[0] - part).abs().total_cmp(&(b[0] - part).abs())).unwrap()[1]
            };
            assert!((at(&curve.response, 0.1) - 0.08).abs() < 0.01 && at(&curve.response, 0.11) == 0.0, "{curve:?}");
            assert!((at(&curve.whole, 0.1) - 1.0).abs() < 0.02 && at(&curve.whole, 0.12) > 1.1);
            let all = FilterCurve::new(space, &FilterSettings { cutoff: None, ..settings });
            assert_eq!(all.response.last().map(|point| point[0]), Some(1.0));
        }
    }
}
