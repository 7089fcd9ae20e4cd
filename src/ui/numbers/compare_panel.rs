//! How much the images of the run are like those of a reference run: the choice of the reference, the newest correlation
//! coefficient, and its curve over the iterations (Cabello et al. 2012, equation 5).

use egui::{RichText, Ui};

use super::plots::{self, PlotsView};
use crate::session::{Comparison, RunId};
use crate::ui::run::action::RunAction;
use crate::ui::run::live::LiveRun;
use crate::ui::run::run_view::RunView;
use crate::ui::run::runs::{Reference, Runs};
use crate::ui::widgets::fields::menu;
use crate::ui::widgets::{plot, theme};

/// Width of the choice and the number, points.
const NUMBERS_WIDTH: f32 = 190.0;

const CORRELATION_HELP: &str = "Correlation coefficient CC = Σ (a − ā)(b − b̄) / √(Σ (a − ā)² Σ (b − b̄)²) over all voxels of both images; 1: alike but for a factor and a constant";

/// Choice, number and curve.
pub fn compare_panel_ui(runs: &Runs, view: &PlotsView, ui: &mut Ui, actions: &mut Vec<RunAction>) {
    let live = &runs.active().live;
    ui.horizontal_top(|ui| {
        let size = egui::vec2(NUMBERS_WIDTH, ui.available_height());
        ui.allocate_ui_with_layout(size, egui::Layout::top_down(egui::Align::Min), |ui| {
            ui.set_width(NUMBERS_WIDTH);
            egui::ScrollArea::vertical().id_salt("comparison").show(ui, |ui| {
                choice_ui(runs, ui, actions);
                number_ui(live, runs.reference(), ui);
            });
        });
        if runs.reference().is_some_and(|reference| reference.run != live.run) {
            curve_ui(view, ui);
        }
    });
}

/// The runs to choose from: the active one, the reference, those that are kept.
fn choices(runs: &Runs) -> Vec<(RunId, String)> {
    let of_view = |view: &RunView| Some((view.live.run, view.live.title()?));
    let reference = runs.reference().map(|reference| (reference.run, reference.title.clone()));
    let kept = runs.kept().iter().filter_map(of_view).chain(reference);
    let mut all: Vec<(RunId, String)> = kept.chain(of_view(runs.active())).collect();
    all.sort_by_key(|(run, _)| *run);
    all.dedup_by_key(|(run, _)| *run);
    all
}

fn choice_ui(runs: &Runs, ui: &mut Ui, actions: &mut Vec<RunAction>) {
    let reference = runs.reference().map(|reference| reference.run);
    let mut chosen = reference;
    ui.label(RichText::new("Reference").small().weak());
    let name = |run: Option<RunId>| run.map_or_else(|| "none".to_owned(), |run| format!("run {run}"));
    menu(ui, "Reference", &name(reference), |ui| {
        ui.selectable_value(&mut chosen, None, "none");
        for (run, title) in choices(runs) {
            ui.selectable_value(&mut chosen, Some(run), title);
        }
    });
    if chosen != reference {
        actions.push(RunAction::SetReference(chosen));
    }
}

fn number_ui(live: &LiveRun, reference: Option<&Reference>, ui: &mut Ui) {
    if let Some(title) = reference.map(|reference| &reference.title) {
        ui.label(RichText::new(title).small());
    }
    match (newest(live), why_none(live, reference)) {
        (_, Some(reason)) => _ = ui.label(RichText::new(reason).weak()),
        (None, None) => _ = ui.label(RichText::new("Compared after the first full iteration.").weak()),
        (Some(newest), None) => {
            ui.label(RichText::new("correlation coefficient").small().weak()).on_hover_text(CORRELATION_HELP);
            ui.label(RichText::new(format!("CC {:.5}", newest.correlation)).strong()).on_hover_text(CORRELATION_HELP);
            ui.label(RichText::new(images_in_words(live, newest)).small());
        }
    }
}

fn newest(live: &LiveRun) -> Option<&Comparison> {
    live.comparisons.values().next_back()
}

/// Why a run is not compared; `None` where it is, or will be.
fn why_none(live: &LiveRun, reference: Option<&Reference>) -> Option<String> {
    let Some(reference) = reference else {
        return Some("Choose a run as the reference: the images of those after it are compared with its images.".into());
    };
    if reference.run == live.run {
        return Some("This run is the reference: the next start is compared with it.".into());
    }
    let grid = live.info.as_ref()?.job.grid();
    (!reference.grid.same_as(grid)).then(|| {
        let (here, there) = (grid.words(), reference.grid.words());
        format!("Only images on the same grid can be compared: these have {here}, those of the reference {there}.")
    })
}

/// Which two images were compared.
fn images_in_words(live: &LiveRun, of: &Comparison) -> String {
    let course = live.course();
    let words = |[iteration, subiteration]: [usize; 2]| course.words(course.number(iteration, subiteration));
    let here = words([of.iteration, of.subiteration]);
    match of.reference.map(words) {
        Some(there) if !of.is_of_same_number() => format!("after {here}, with the reference's last image, after {there}"),
        _ => format!("both after {here}"),
    }
}

fn curve_ui(view: &PlotsView, ui: &mut Ui) {
    let colours = theme::colours(ui.visuals());
    ui.vertical(|ui| {
        let title = RichText::new("Correlation with the reference").small().strong();
        ui.label(title).on_hover_text("Where the images of both runs are kept; thinner: with the reference's last image");
        let weak = ui.visuals().weak_text_color();
        let plot = plot::plot("correlation", &view.axis()).include_x(0.0).include_y(1.0).custom_y_axes(vec![plot::short_axis()]);
        let response = plot.show(ui, |plot| {
            plots::marks(plot, view, &colours);
            let name = "with the reference's last image";
            plot::curve(plot, name, &view.curves.correlation_with_last, weak, 1.2);
            plot::curve(plot, "with the image of the same number", &view.curves.correlation, colours.profile, 1.8);
        });
        plots::mark_labels(ui, &response, view, &colours, "Plot: correlation");
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::Grid;

    #[test]
    fn it_is_told_which_images_were_compared_and_why_none_were() {
        let mut live = LiveRun::asked_for(2, 0, &[], false);
        let words = |live: &LiveRun, reference| {
            let reference = Some(reference);
            let comparison =
                Comparison { iteration: 12, subiteration: 12, reference, correlation: 0.5, relative_difference: 0.1 };
            images_in_words(live, &comparison)
        };
        assert_eq!(words(&live, [12, 168]), "both after 12 iterations");
        assert_eq!(words(&live, [9, 9]), "after 12 iterations, with the reference's last image, after 9 iterations");
        let grid = Grid::centred([4; 3], [1.0; 3]).unwrap();
        let reference = Reference { run: 2, title: String::new(), grid, has_race: false };
        assert!(why_none(&live, None).unwrap().starts_with("Choose a run"));
        assert!(why_none(&live, Some(&reference)).unwrap().starts_with("This run is the reference"));
        live.run = 3;
        assert_eq!(why_none(&live, Some(&reference)), None);
    }
}
