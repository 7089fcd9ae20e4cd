//! Tab of pulse oximetry: choice of the map, figures of the regions, masked voxels, histogram of the oxygen pressure.

use egui::{RichText, ScrollArea, Ui};
use egui_plot::{Bar, BarChart, LineStyle, VLine};
use strum::VariantArray as _;

use super::fit_counts::fit_counts_ui;
use super::tool::Tool;
use crate::data::{OxygenSeries, Roi};
use crate::measure::oximetry::{FigureDeviations, HYPOXIC_TORR, NO_RATE, OxygenFigures, OxygenHistogram};
use crate::plan::NUM_OXYGEN_DRAWS;
use crate::report::ALL_FITTED;
use crate::session::{OxygenImages, OxygenRedraw, OxygenUpdate};
use crate::text::{counted, decimals};
use crate::ui::layer::oxygen_map::OxygenMap;
use crate::ui::layer::run_map::RunMap;
use crate::ui::widgets::format;
use crate::ui::widgets::plot::{self, plot};
use crate::ui::widgets::theme;
use crate::ui::workspace::state::{Request, Workspace, request};

/// Width of the figures, points.
const FIGURES_WIDTH: f32 = 440.0;

/// Columns of the table, with their tooltips.
const COLUMNS: [(&str, &str); 5] = [
    ("Median", "Median oxygen pressure of the voxels, torr; 1 torr = 1 mmHg; ± standard deviation between draws of the noise"),
    ("σ", "Noise of one voxel: median of the standard deviations of single voxels, torr, from the residuals of the fits"),
    ("SD", "Standard deviation between the voxels, torr"),
    ("HF10, %", "Hypoxic fraction: voxels of at most 10 torr; ± standard deviation between draws of the noise"),
    ("voxels", "Voxels with an oxygen pressure"),
];

pub struct Oxygen;

impl Tool for Oxygen {
    fn title(&self, _work: &Workspace) -> [&'static str; 2] {
        ["pO2", "Oxygen pressure of the regions, hypoxic fraction, and the map on the image"]
    }

    fn is_for(&self, work: &Workspace) -> bool {
        work.study.oximetry().is_some()
    }

    fn ui(&mut self, work: &Workspace, ui: &mut Ui, requests: &mut Vec<Request>) {
        let (Some(open), live) = (work.study.oximetry(), work.live()) else { return };
        let view = OxygenView {
            series: &open.series,
            num_images: live.progress().0,
            next_image: live.iterations_of_next_image(),
            update: live.oxygen.as_ref(),
            images: live.oxygen_maps().map(|(_, images)| images),
            redraw: live.oxygen_redraw.as_ref(),
            has_redraw: live.info.as_ref().is_some_and(|info| !info.job.settings.algorithm.is_least_squares()),
            map: work.layer.oxygen,
            rois: &work.rois.document.rois,
            selected: work.rois.selected,
        };
        oxygen_ui(&view, ui, requests);
    }
}

struct OxygenView<'a> {
    pub series: &'a OxygenSeries,
    /// Number of reconstructed images.
    pub num_images: usize,
    /// Iterations of the image under way, and their limit.
    pub next_image: Option<(u64, u64)>,
    /// Newest figures, and newest maps.
    pub update: Option<&'a OxygenUpdate>,
    pub images: Option<&'a OxygenImages>,
    /// Draws of the noise so far.
    pub redraw: Option<&'a OxygenRedraw>,
    /// True if the noise is drawn again after the last image.
    pub has_redraw: bool,
    pub map: OxygenMap,
    pub rois: &'a [Roi],
    pub selected: Option<usize>,
}

impl<'a> OxygenView<'a> {
    /// Returns the figures of a region, of those that were measured.
    fn of_region(&self, index: usize) -> Option<&'a OxygenFigures> {
        self.update?.regions.get(index)?.as_ref()
    }

    /// Returns the draws of the noise, unless their regions are not those of the maps.
    fn draws(&self) -> Option<&'a OxygenRedraw> {
        self.redraw.filter(|redraw| self.update.is_some_and(|update| update.branch == redraw.branch))
    }

    /// Describes the standard deviations of median and HF10, once there is a map.
    fn redraw_text(&self) -> String {
        match self.redraw {
            _ if !self.has_redraw => {
                let text = "±: not computed with total variation, and its residuals overestimate σ; `tomoscope oximetry";
                format!("{text} … --algorithm tv --repeats {NUM_OXYGEN_DRAWS}` draws the noise for both")
            }
            Some(OxygenRedraw { num_draws, num_total, .. }) if num_draws < num_total => {
                format!("±: standard deviation between draws of the noise; {num_draws} of {num_total} draws")
            }
            Some(OxygenRedraw { num_total, .. }) => format!("±: standard deviation between {num_total} draws of the noise"),
            None if self.num_images < self.series.times_us.len() => {
                format!("±: draws of the noise begin after the last {}", self.series.time_name())
            }
            None if self.update.is_some_and(|update| update.all.as_ref().is_some_and(|all| all.voxel_sd_torr.is_none())) => {
                format!("±: not known without residuals; add an image at another {}", self.series.time_name())
            }
            None => String::new(),
        }
    }

    /// Returns name and figures of the region of the histogram: the selected one, else all voxels.
    fn of_histogram(&self) -> Option<(&'a str, &'a OxygenFigures)> {
        let selected = self.selected.and_then(|index| Some((self.rois.get(index)?.name.as_str(), self.of_region(index)?)));
        selected.or_else(|| Some((ALL_FITTED, self.update?.all.as_ref()?)))
    }

    /// Describes the progress: "3 of 8 delays: 30, 0.4, 2.6 µs".
    fn progress(&self) -> String {
        let times: Vec<String> = self.series.times_us.iter().take(self.num_images).map(f64::to_string).collect();
        let all = counted(self.series.times_us.len(), self.series.time_name());
        let done =
            if times.is_empty() { format!("0 of {all}") } else { format!("{} of {all}: {} µs", times.len(), times.join(", ")) };
        match self.next_image.filter(|_| self.num_images < self.series.times_us.len()) {
            Some((iteration, max)) => format!("{done}; next: iteration {iteration} of at most {max}"),
            None => done,
        }
    }
}

fn oxygen_ui(view: &OxygenView, ui: &mut Ui, requests: &mut Vec<Request>) {
    ui.horizontal_top(|ui| {
        let size = egui::vec2(FIGURES_WIDTH.min(0.7 * ui.available_width()), ui.available_height());
        ui.allocate_ui_with_layout(size, egui::Layout::top_down(egui::Align::Min), |ui| {
            ui.set_width(size.x);
            ScrollArea::both().id_salt("oxygen").auto_shrink([false, false]).show(ui, |ui| {
                map_ui(view, ui, requests);
                ui.label(RichText::new(view.progress()).small());
                match view.update.map(|update| &update.counts) {
                    Some(Ok(counts)) => {
                        table_ui(view, ui);
                        ui.add(egui::Label::new(RichText::new(view.redraw_text()).small()).wrap());
                        fit_counts_ui(counts, NO_RATE, ui);
                    }
                    Some(Err(reason)) => _ = ui.add(egui::Label::new(format!("No map yet: {reason}.")).wrap()),
                    None => _ = ui.label(RichText::new("The map begins with the first images of the run.").weak()),
                }
            });
        });
        if let Some((name, figures)) = view.of_histogram() {
            histogram_ui(name, &figures.histogram, ui);
        }
    });
}

/// Draws the choice of the map.
fn map_ui(view: &OxygenView, ui: &mut Ui, requests: &mut Vec<Request>) {
    let rate = view.series.calibration.rate;
    ui.horizontal_wrapped(|ui| {
        ui.label("Map");
        for &map in OxygenMap::VARIANTS {
            let exists = map == OxygenMap::Signal || view.images.is_some_and(|images| map.of(images).is_some());
            let button = egui::Button::selectable(view.map == map, map.name(rate));
            if ui.add_enabled(exists, button).on_hover_text(map.help()).clicked() {
                requests.push(request(move |work| work.layer.show_map(RunMap::Oxygen(map))));
            }
        }
    });
}

fn table_ui(view: &OxygenView, ui: &mut Ui) {
    egui::Grid::new("oxygen of regions")
        .num_columns(1 + COLUMNS.len())
        .striped(true)
        .min_col_width(0.0)
        .min_row_height(0.0)
        .spacing([7.0, 3.0])
        .show(ui, |ui| {
            ui.label(RichText::new("pO2, torr").small().strong()).on_hover_text("Oxygen pressure; 1 torr = 1 mmHg");
            for (title, help) in COLUMNS {
                ui.label(RichText::new(title).small().strong()).on_hover_text(help);
            }
            ui.end_row();
            let draws = view.draws();
            row_ui(ALL_FITTED, view.update.and_then(|update| update.all.as_ref()), draws.and_then(|draws| draws.all), ui);
            for (index, roi) in view.rois.iter().enumerate() {
                let deviations = draws.and_then(|draws| *draws.regions.get(index)?);
                row_ui(&roi.name, view.of_region(index), deviations, ui);
            }
        });
}

fn row_ui(name: &str, figures: Option<&OxygenFigures>, deviations: Option<FigureDeviations>, ui: &mut Ui) {
    ui.label(name);
    match figures {
        Some(OxygenFigures { stats, voxel_sd_torr, .. }) => {
            let torr = |value: Option<f64>| value.map_or_else(|| "–".to_owned(), |value| decimals(value, 1));
            let with = |value: f64, deviation: Option<f64>| match deviation {
                Some(deviation) => format!("{} ± {deviation:.1}", decimals(value, 1)),
                None => decimals(value, 1),
            };
            let median_text = with(stats.median_torr, deviations.map(|deviations| deviations.median_torr));
            let median = ui.label(RichText::new(&median_text).strong());
            plot::name(&median, &format!("Median pO2 of {name}: {median_text} torr"));
            ui.label(torr(*voxel_sd_torr));
            ui.label(torr(stats.sd_torr));
            let hypoxic = deviations.map(|deviations| 100.0 * deviations.hypoxic_fraction);
            ui.label(with(100.0 * stats.hypoxic_fraction, hypoxic));
            ui.label(format::count(stats.num_voxels as f64));
        }
        None => ["–"; 4].into_iter().chain(["0"]).for_each(|text| _ = ui.label(text)),
    }
    ui.end_row();
}

/// Draws the distribution of the oxygen pressure of a region.
fn histogram_ui(name: &str, histogram: &OxygenHistogram, ui: &mut Ui) {
    ui.vertical(|ui| {
        ui.label(RichText::new(format!("Voxels by pO2, {name}")).small().strong());
        let (colour, mark) = (theme::colours(ui.visuals()).profile, theme::colours(ui.visuals()).branch_mark);
        let filled = histogram.weights.iter().enumerate().filter(|(_, weight)| **weight > 0.0);
        let bar = |(bin, weight): (usize, &f64)| {
            let [low, high] = OxygenHistogram::limits_torr(bin);
            Bar::new(0.5 * (low + high), *weight).width(high - low).fill(colour)
        };
        let chart = BarChart::new("voxels", filled.map(bar).collect()).color(colour);
        let response = plot("oxygen histogram", "torr").include_y(0.0).include_x(0.0).show(ui, |plot| {
            plot.bar_chart(chart);
            plot.vline(VLine::new("HF10", HYPOXIC_TORR).color(mark).style(LineStyle::dashed_dense()));
        });
        plot::name(&response.response, &format!("Plot: voxels by oxygen pressure, {name}"));
    });
}
