//! Losses of non-atomic accumulation: numbers, and curves of the loss and of the image level over the iterations.

use egui::{Color32, RichText, Ui};

use super::curves::curve_plot::CurvePlot;
use super::curves::plots_view::{PlotsView, plots_view};
use super::tool::Tool;
use crate::recon::RaceReport;
use crate::ui::run::curves::{Curves, Pieces};
use crate::ui::run::live::LiveRun;
use crate::ui::run::similarity::Similarity;
use crate::ui::widgets::theme;
use crate::ui::workspace::state::{Request, Workspace};

/// Width of the numbers, points.
const NUMBERS_WIDTH: f32 = 172.0;

/// Least width of a curve, points.
const MIN_PLOT_WIDTH: f32 = 112.0;

pub struct Race;

impl Tool for Race {
    fn title(&self, _work: &Workspace) -> [&'static str; 2] {
        ["Race", "Losses of non-atomic accumulation"]
    }

    /// (A sweep has no race.)
    fn is_for(&self, work: &Workspace) -> bool {
        work.study.is_pet_scan()
    }

    fn ui(&mut self, work: &Workspace, ui: &mut Ui, requests: &mut Vec<Request>) {
        race_panel_ui(work.live(), work.likeness().as_ref(), &plots_view(work), ui, requests);
    }
}

/// Number of the race condition: its name, value and tooltip.
struct Figure {
    name: &'static str,
    value: String,
    help: &'static str,
}

fn figures(race: &RaceReport) -> [Figure; 5] {
    [
        Figure {
            name: "lost of this iterate",
            value: RaceReport::percent(race.lost),
            help: "The part of this step's backprojection that never arrived: two threads read the same voxel or blob, both add, and the one that stores first is overwritten. 1 − Σ racy / Σ exact",
        },
        Figure {
            name: "lost of a step so far, max",
            value: RaceReport::percent(race.lost_step_max),
            help: "The largest loss of a step of this run",
        },
        Figure {
            name: "lost of a voxel so far, max",
            value: RaceReport::percent(race.lost_voxel_max),
            help: "The part of a voxel's additions that never arrived, over all non-atomic steps of this run, in the voxel that lost most. Measured against a race-free backprojection of the same data",
        },
        Figure {
            name: "lost of a backprojection of ones",
            value: RaceReport::percent(race.lost_of_ones),
            help: "The same for a backprojection of ones: the loss independent of the data. Computed once per subset, at the first non-atomic step",
        },
        Figure {
            name: "image level, race-free = 100 %",
            value: RaceReport::percent(race.level),
            help: "The image's mean, weighted by the sensitivity, relative to the atomic result of this step. Non-atomic backprojection alone lowers it by the loss; with non-atomic sensitivity both effects mostly cancel",
        },
    ]
}

/// Tooltip of the correlation with the race-free image.
const LIKENESS_HELP: &str = "Correlation over all voxels of this image with that of the reference run after as many iterations, if that run lost nothing; its other settings are listed under Compare. 100 % = the race condition does no harm";

/// Returns name, value and tooltip of the similarity to the race-free image.
fn likeness_figure(likeness: &Result<Similarity, String>) -> (String, String, String) {
    match likeness {
        Ok(Similarity { reference, iteration, correlation }) => {
            let name = format!("CC with race-free run {reference}, iteration {iteration}");
            (name, format!("{:.4} %", 100.0 * correlation), LIKENESS_HELP.to_owned())
        }
        Err(reason) => {
            ("CC with the race-free image".to_owned(), "–".to_owned(), format!("{LIKENESS_HELP}. None here: {reason}"))
        }
    }
}

/// Numbers and curves; `likeness` = how like its race-free image the image is, or why that is not known.
fn race_panel_ui(
    live: &LiveRun,
    likeness: Option<&Result<Similarity, String>>,
    view: &PlotsView,
    ui: &mut Ui,
    requests: &mut Vec<Request>,
) {
    let race = live.last.as_ref().and_then(|last| last.race);
    if race.is_none() && view.curves.level.is_empty() {
        ui.label(RichText::new(quiet_words(live)).weak());
        return;
    }
    ui.horizontal_top(|ui| {
        let size = egui::vec2(NUMBERS_WIDTH, ui.available_height());
        ui.allocate_ui_with_layout(size, egui::Layout::top_down(egui::Align::Min), |ui| {
            ui.set_width(NUMBERS_WIDTH);
            numbers_ui(live, race.as_ref(), likeness, ui);
        });
        curves_ui(view, ui, requests);
    });
}

/// Returns the reason of an empty panel.
fn quiet_words(live: &LiveRun) -> String {
    match live.accumulation() {
        Some(accumulation) if accumulation.has_race() => "The race is measured from its first step on.".into(),
        Some(accumulation) => {
            format!("No race condition: {accumulation} backprojection loses nothing. Switch to non-atomic to see its effect.")
        }
        None => "The losses of non-atomic backprojection appear here.".into(),
    }
}

fn numbers_ui(live: &LiveRun, race: Option<&RaceReport>, likeness: Option<&Result<Similarity, String>>, ui: &mut Ui) {
    let colours = theme::colours(ui.visuals());
    match race {
        Some(race) => {
            for figure in figures(race) {
                ui.label(RichText::new(figure.name).small().weak()).on_hover_text(figure.help);
                ui.label(RichText::new(figure.value).strong()).on_hover_text(figure.help);
            }
            if let Some((name, value, help)) = likeness.map(likeness_figure) {
                ui.label(RichText::new(name).small().weak()).on_hover_text(&help);
                ui.label(RichText::new(value).strong()).on_hover_text(&help);
                if let Some(Err(reason)) = likeness {
                    ui.add(egui::Label::new(RichText::new(reason).small().weak()).wrap());
                }
            }
        }
        None => _ = ui.label(RichText::new(quiet_words(live)).weak()),
    }
    if let Some(info) = live.info.as_ref().filter(|_| race.is_some()) {
        let is_racy = info.job.settings.has_racy_sensitivity();
        let words = if is_racy { "sensitivity image: non-atomic, too" } else { "sensitivity image: atomic" };
        ui.label(RichText::new(words).small());
        ui.label(RichText::new("not for diagnosis").small().color(colours.error));
    }
}

fn curves_ui(view: &PlotsView, ui: &mut Ui, requests: &mut Vec<Request>) {
    let Curves { lost, lost_of_ones, level, .. } = view.curves;
    let colours = theme::colours(ui.visuals());
    let weak = ui.visuals().weak_text_color();
    let width = ((ui.available_width() - ui.spacing().item_spacing.x) / 2.0).max(MIN_PLOT_WIDTH);
    let size = egui::vec2(width, ui.available_height());
    egui::ScrollArea::horizontal().id_salt("race plots").show(ui, |ui| {
        ui.horizontal_top(|ui| {
            let mut cell = |title: &str, race_free: f64, label: &str, curves: &[(&str, &Pieces, Color32)]| {
                ui.allocate_ui_with_layout(size, egui::Layout::top_down(egui::Align::Min), |ui| {
                    ui.set_width(size.x);
                    ui.label(RichText::new(title).small().strong());
                    CurvePlot::new(view, title, label, "%").including([race_free]).show(ui, requests, |plot| {
                        for (name, pieces, colour) in curves {
                            plot.pieces(name, pieces, *colour, 1.8);
                        }
                    });
                });
            };
            let parts = [("of a backprojection of ones", lost_of_ones, weak), ("of this iterate", lost, colours.error)];
            cell("Lost, %", 0.0, "lost additions", &parts);
            cell("Image level, %", 100.0, "image level", &[("image level", level, colours.error)]);
        });
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_are_in_per_cent() {
        let race = RaceReport { lost: 0.1234, lost_of_ones: 0.000_002, level: 0.98, lost_step_max: 0.2, lost_voxel_max: 0.5 };
        assert_eq!(figures(&race).map(|figure| figure.value), ["12.34 %", "20.00 %", "50.00 %", "0.0002 %", "98.00 %"]);
        assert_eq!(race.so_far(), "lost so far: up to 20.00 % of a step, up to 50.00 % of a voxel");
    }
}
