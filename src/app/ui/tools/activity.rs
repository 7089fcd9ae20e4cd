//! Time–activity curves: the mean of each region over the frames of a list, with its standard deviation between voxels.

use std::sync::Arc;

use egui::{Color32, Id, RichText, Ui};
use egui_plot::{Line, MarkerShape, PlotPoints, PlotUi, Points, VLine};

use super::curves::curve_plot::{Drawn, exported, menu_ui};
use super::tool::Tool;
use crate::data::{ListMetadata, Roi, Unit};
use crate::session::RunId;
use crate::ui::run::frames::series::FrameSeries;
use crate::ui::run::frames::time_activity::{ActivityPoint, TimeActivity, time_activity};
use crate::ui::widgets::plot;
use crate::ui::widgets::plot::Axes;
use crate::ui::widgets::{format, theme};
use crate::ui::workspace::state::{Request, Workspace};

/// Text before there is a time frame.
const NO_FRAMES: &str =
    "Set the frames in the settings for the next run (6x10,4x60: six of ten seconds, then four of sixty), then start it.";

pub struct Activity;

impl Tool for Activity {
    fn title(&self, _work: &Workspace) -> [&'static str; 2] {
        ["Activity", "Time–activity curves: the mean of each region in each frame"]
    }

    fn is_for(&self, work: &Workspace) -> bool {
        work.study.list().is_some()
    }

    fn ui(&mut self, work: &Workspace, ui: &mut Ui, requests: &mut Vec<Request>) {
        let list = work.list();
        let facts = list.map(|list| &*list.facts);
        // The duration by which the calibration of a frame is divided, too.
        let duration_ms = list.map(|list| list.time.duration_ms(&list.facts)).filter(|ms| *ms > 0);
        let duration_secs = duration_ms.map(|ms| ms as f64 / 1e3);
        let bq_per_ml = work.study.calibration.bq_per_ml.zip(duration_secs).map(|(factor, secs)| factor * secs);
        let view = ActivityView { series: work.frames(), rois: &work.rois.document.rois, facts, bq_per_ml };
        activity_ui(&view, ui, requests);
    }
}

struct ActivityView<'a> {
    pub series: Option<&'a FrameSeries>,
    pub rois: &'a [Roi],
    pub facts: Option<&'a ListMetadata>,
    /// Calibration, Bq/mL per count/mm/s, if known.
    pub bq_per_ml: Option<f64>,
}

impl ActivityView<'_> {
    /// Returns the unit of the curves.
    fn unit(&self) -> &'static str {
        if self.bq_per_ml.is_some() { Unit::BqPerMl.label() } else { "counts/mm/s" }
    }

    fn decay_words(&self) -> String {
        let isotope = self.facts.and_then(|facts| facts.isotope.clone()).unwrap_or_else(|| "the isotope".to_owned());
        match self.facts.and_then(|facts| facts.half_life_secs) {
            Some(half_life) => {
                format!("corrected for the decay of {isotope} (half-life {} s) since 0 s", format::value(half_life))
            }
            None => "not corrected for decay: the half-life is unknown".to_owned(),
        }
    }
}

fn activity_ui(view: &ActivityView, ui: &mut Ui, requests: &mut Vec<Request>) {
    let Some(series) = view.series else {
        ui.add(egui::Label::new(RichText::new(NO_FRAMES).weak()).wrap());
        return;
    };
    let half_life_secs = view.facts.and_then(|facts| facts.half_life_secs);
    let curves = cached(series, view.rois, (half_life_secs, view.bq_per_ml.unwrap_or(1.0)), ui);
    let decay = view.decay_words();
    ui.horizontal(|ui| {
        let what = if view.bq_per_ml.is_some() { "Mean activity" } else { "Mean count density rate" };
        ui.label(RichText::new(format!("{what}, {}", view.unit())).strong());
        ui.add(egui::Label::new(RichText::new(&decay).small().weak()).truncate());
    });
    if curves.is_empty() {
        ui.label(RichText::new("needs a ROI, and a frame that is done").weak());
        return;
    }
    let axes = Axes { x: "s".into(), y_unit: view.unit(), ..Axes::default() };
    let frame_ms = series.frames().get(series.position()).map(|frame| frame.limits_ms.clone()).unwrap_or_default();
    let mark = theme::colours(ui.visuals()).shown_mark;
    let response = plot::plot_of("activity", &axes).include_x(0.0).include_y(0.0).show(ui, |plot| {
        plot.vline(VLine::new("on the screen", f64::from(frame_ms.start / 2 + frame_ms.end / 2) / 1e3).color(mark).width(2.0));
        curves.iter().for_each(|curve| curve_ui(plot, curve));
    });
    plot::name(&response.response, "Plot: time–activity curves");
    let drawn = curves.iter().flat_map(|curve| {
        let sds = curve.points.iter().filter_map(|point| Some([point.mid_secs, point.sd?])).collect();
        let of = |name: String, points| Drawn { name, is_kept: false, points };
        [of(curve.name.clone(), means(curve)), of(format!("{}, SD between voxels", curve.name), sds)]
    });
    menu_ui(ui, &response.response, || exported(&format!("activity, {decay}"), &axes, drawn.collect()), requests);
}

/// Values on which the curves depend: runs of the frames with the revision of their ROI sums, ROIs, half-life and factor.
type Key = (Vec<(RunId, u64)>, Vec<Roi>, (Option<f64>, f64));

/// Returns the curves, computed again only after a change.
fn cached(series: &FrameSeries, rois: &[Roi], scale: (Option<f64>, f64), ui: &Ui) -> Arc<[TimeActivity]> {
    let revisions = series.done().values().map(|frame| (frame.live.run, frame.live.rois.revision()));
    let key: Key = (revisions.collect(), rois.to_vec(), scale);
    ui.data_mut(|data| {
        let known = data.get_temp_mut_or_default::<Option<(Key, Arc<[TimeActivity]>)>>(Id::unique("activity curves"));
        match known {
            Some((known, curves)) if *known == key => Arc::clone(curves),
            _ => Arc::clone(&known.insert((key, time_activity(series, rois, scale.0, scale.1).into())).1),
        }
    })
}

fn means(curve: &TimeActivity) -> Vec<[f64; 2]> {
    curve.points.iter().map(|point| [point.mid_secs, point.mean]).collect()
}

/// Draws a curve with a bar of one standard deviation up and down at each point.
fn curve_ui(plot: &mut PlotUi, curve: &TimeActivity) {
    let TimeActivity { name, colour, points } = curve;
    plot::curve(plot, name, &means(curve), *colour, 1.8);
    plot.points(Points::new(name, PlotPoints::from(means(curve))).color(*colour).shape(MarkerShape::Circle).radius(2.5));
    points.iter().for_each(|point| bar_ui(plot, name, point, colour.gamma_multiply(0.5)));
}

fn bar_ui(plot: &mut PlotUi, name: &str, ActivityPoint { mid_secs, mean, sd }: &ActivityPoint, colour: Color32) {
    if let Some(sd) = sd {
        let ends = vec![[*mid_secs, mean - sd], [*mid_secs, mean + sd]];
        plot.line(Line::new(name, PlotPoints::from(ends)).color(colour).width(1.0));
    }
}
