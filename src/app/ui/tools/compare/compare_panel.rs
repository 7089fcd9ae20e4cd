//! Comparison of the runs side by side: differences of their settings and results, and similarity of the images to those of a
//! reference run over the iterations (correlation coefficient: Cabello et al. 2012, equation 5).

use std::time::Duration;

use egui::{RichText, Ui};
use strum::VariantArray as _;

use super::convergence_plot::convergence_ui;
use crate::session::Comparison;
use crate::ui::run::curves::{Curves, Series};
use crate::ui::run::live::LiveRun;
use crate::ui::run::plot_options::CompareCurves;
use crate::ui::run::reference::{Reference, ReferenceChoice};
use crate::ui::run::run_view::RunView;
use crate::ui::run::runs::Runs;
use crate::ui::tools::curves::curve_plot::{CurvePlot, unfiltered_ui};
use crate::ui::tools::curves::plots_view::{PlotsView, edit};
use crate::ui::widgets::elided::{fitted, text_width};
use crate::ui::widgets::fields::menu;
use crate::ui::widgets::file_task::FileTask;
use crate::ui::widgets::sheet::{Sheet, bar_width, width_of};
use crate::ui::widgets::{format, theme};
use crate::ui::workspace::state::{Request, ask, request};

const CORRELATION_HELP: &str = "Correlation coefficient CC = Σ (a − ā)(b − b̄) / √(Σ (a − ā)² Σ (b − b̄)²) over all voxels of both images; 1: alike but for a factor and a constant";

const DIFFERENCE_HELP: &str = "Relative difference √(Σ (a − b)² / Σ b²) over all voxels, b being the reference's image";

/// Draws choice, table and curves.
pub fn compare_panel_ui(runs: &Runs, settings: &[Row], view: &PlotsView, ui: &mut Ui, requests: &mut Vec<Request>) {
    let live = &runs.active().live;
    let reference = runs.reference().filter(|reference| reference.is_for(live.run));
    let of_table = match view.options.compare {
        CompareCurves::Similarity => 0.55,
        CompareCurves::Convergence => 0.5,
    };
    let width = if reference.is_some() { of_table * ui.available_width() } else { ui.available_width() };
    ui.horizontal_top(|ui| {
        let size = egui::vec2(width, ui.available_height());
        ui.allocate_ui_with_layout(size, egui::Layout::top_down(egui::Align::Min), |ui| {
            ui.set_width(width);
            choice_ui(runs, ui, requests);
            number_ui(live, runs.reference(), view, ui);
            if !runs.kept().is_empty() {
                table_ui(runs, settings, view, ui, requests);
            }
        });
        if let Some(reference) = reference {
            ui.vertical(|ui| {
                ui.horizontal(|ui| {
                    for &compare in CompareCurves::VARIANTS {
                        let [text, help] = compare.text();
                        if ui.selectable_label(view.options.compare == compare, text).on_hover_text(help).clicked() {
                            requests.push(edit(move |options| options.compare = compare));
                        }
                    }
                });
                match view.options.compare {
                    CompareCurves::Similarity => curves_ui(view, reference, ui, requests),
                    CompareCurves::Convergence => convergence_ui(live, view, ui, requests),
                }
            });
        }
    });
}

/// Returns the choices of a reference: the active run, earlier runs, their pinned iterates, and the present reference.
fn choices(runs: &Runs) -> Vec<(ReferenceChoice, String)> {
    let of_view = |view: &RunView| {
        let (run, course) = (view.live.run, view.live.iteration_scheme());
        let whole = view.live.title().map(|title| (ReferenceChoice::run(run), title));
        let pinned = view.pinned.iter().map(move |number| ReferenceChoice { run, number: Some(*number) });
        whole.into_iter().chain(pinned.map(move |choice| (choice, choice.text(view.live.number, &course)))).collect::<Vec<_>>()
    };
    let reference = runs.reference().map(|reference| match reference.choice.number {
        None => (reference.choice, reference.title.clone()),
        Some(_) => (reference.choice, reference.text()),
    });
    let mut all: Vec<_> = runs.kept().iter().chain([runs.active()]).flat_map(of_view).chain(reference).collect();
    all.sort_by_key(|(choice, _)| *choice);
    all.dedup_by_key(|(choice, _)| *choice);
    all
}

fn choice_ui(runs: &Runs, ui: &mut Ui, requests: &mut Vec<Request>) {
    let reference = runs.reference().map(|reference| reference.choice);
    let mut chosen = reference;
    ui.horizontal(|ui| {
        ui.label(RichText::new("Reference").small().weak());
        let name = runs.reference().map_or_else(|| "none".to_owned(), Reference::text);
        menu(ui, "Reference", &name, |ui| {
            ui.selectable_value(&mut chosen, None, "none");
            for (choice, title) in choices(runs) {
                ui.selectable_value(&mut chosen, Some(choice), title);
            }
            ui.label(RichText::new("Pinned iterates are listed, too").small().weak());
            if ui.button("Image of a file…").clicked() {
                requests.push(ask(FileTask::ReferenceImage));
            }
        });
    });
    if chosen != reference {
        requests.push(request(move |work| work.set_reference(chosen)));
    }
}

fn number_ui(live: &LiveRun, reference: Option<&Reference>, view: &PlotsView, ui: &mut Ui) {
    if let Some(reason) = why_none(live, reference) {
        ui.label(RichText::new(reason).weak());
        return;
    }
    let Some(newest) = live.found.comparisons.values().next_back() else {
        ui.label(RichText::new("Compared after the first full iteration.").weak());
        return;
    };
    ui.horizontal_wrapped(|ui| {
        ui.label(RichText::new(format!("CC {:.5}", newest.correlation)).strong()).on_hover_text(CORRELATION_HELP);
        let difference = format!("difference {}", format::percent(Some(newest.relative_difference)));
        ui.label(RichText::new(difference).strong()).on_hover_text(DIFFERENCE_HELP);
        ui.label(RichText::new(images_in_words(live, reference, newest)).small());
        unfiltered_ui(view, ui);
    });
}

/// Returns the reason why a run is not compared; `None` if it is, or will be.
fn why_none(live: &LiveRun, reference: Option<&Reference>) -> Option<String> {
    let Some(reference) = reference else {
        return Some("Choose a run as the reference: the images of those after it are compared with its images.".into());
    };
    if !reference.is_for(live.run) {
        return Some("This run is the reference: the next run is compared with it.".into());
    }
    let info = live.info.as_ref()?;
    let unit = info.job.iteration_scheme().unit;
    if reference.unit != unit {
        return Some(format!(
            "The images are in {}, those of the reference in {}: choose a reference in the same unit.",
            unit.label(),
            reference.unit.label()
        ));
    }
    let grid = info.job.grid();
    (!reference.grid.same_as(grid)).then(|| {
        let (here, there) = (grid.text(), reference.grid.text());
        format!("Only images on the same grid can be compared: these have {here}, those of the reference {there}.")
    })
}

/// Names the two compared images.
fn images_in_words(live: &LiveRun, reference: Option<&Reference>, of: &Comparison) -> String {
    let course = live.iteration_scheme();
    let words = |[iteration, subiteration]: [usize; 2]| course.text(course.number(iteration, subiteration));
    let here = words([of.iteration, of.subiteration]);
    if let Some(reference) = reference.filter(|_| of.is_fixed) {
        return format!("after {here}, with {}", reference.text());
    }
    match of.reference.map(words) {
        Some(there) if !of.is_of_same_number() => format!("after {here}, with the reference's last image, after {there}"),
        _ => format!("both after {here}"),
    }
}

/// A row: its name, and a value for each run.
pub type Row = (String, Vec<String>);

/// Returns all runs, the active one first.
pub fn all(runs: &Runs) -> Vec<&RunView> {
    std::iter::once(runs.active()).chain(runs.kept().iter().rev()).collect()
}

/// Returns the settings in which the runs differ.
pub fn settings(runs: &Runs) -> Vec<Row> {
    let facts: Vec<Vec<(&str, String)>> = all(runs)
        .iter()
        .map(|view| view.live.provenance(view.live.progress().0, None).map_or_else(Vec::new, |made| made.settings_table()))
        .collect();
    let mut names: Vec<&str> = Vec::new();
    for (name, _) in facts.iter().flatten() {
        if !names.contains(name) {
            names.push(name);
        }
    }
    let value = |facts: &Vec<(&str, String)>, name| {
        facts.iter().find(|(other, _)| *other == name).map_or_else(|| "–".to_owned(), |(_, value)| value.clone())
    };
    let rows = names.into_iter().map(|name| (name.to_owned(), facts.iter().map(|facts| value(facts, name)).collect::<Vec<_>>()));
    rows.filter(|(_, values)| values.windows(2).any(|pair| pair[0] != pair[1])).collect()
}

/// Returns the last value of a curve up to an axis value.
fn at(points: &[[f64; 2]], axis_value: f64) -> Option<f64> {
    let num_before = points.partition_point(|point| point[0] <= axis_value + 1e-9);
    points[..num_before].last().map(|point| point[1])
}

/// Returns the results of the runs at the displayed iterate, or of shorter runs at their last one.
fn results(runs: &[&RunView], axis_value: f64, view: &PlotsView) -> Vec<Row> {
    let (show_timings, scale) = (view.show_timings, view.scale);
    let row = |name: &str, value: &dyn Fn(&RunView) -> Option<String>| {
        (name.to_owned(), runs.iter().map(|view| value(view).unwrap_or_else(|| "–".to_owned())).collect::<Vec<_>>())
    };
    let end = |view: &RunView| axis_value.min(view.live.axis_value(view.live.progress().0 as f64));
    let number = |points: &[[f64; 2]], view: &RunView| at(points, end(view)).map(format::value);
    let mut rows = vec![
        row("after", &|view| {
            Some(format!("{} {}", format::axis(&view.live.iteration_scheme()), format::short_number(end(view))))
        }),
        row("time", &|view| {
            let made = view.live.provenance(view.live.steps_at(end(view)), None)?;
            Duration::try_from_secs_f64(made.times.elapsed_secs).ok().map(format::duration).filter(|_| show_timings)
        }),
        row("log-likelihood", &|view| at(&view.curves().log_likelihood, end(view)).map(format::whole)),
        row("objective", &|view| at(&view.curves().objective, end(view)).map(format::whole)),
        row("NSR, %", &|view| number(noise(view.curves()), view)),
    ];
    let mut of_rois = |title: &str, factor: f64, of: fn(&Curves) -> &Vec<Series>| {
        for series in runs.iter().flat_map(|view| of(view.curves())).filter(|series| !series.is_earlier) {
            let name = format!("{title} {}", series.name);
            if !rows.iter().any(|(other, _)| *other == name) {
                let is_same = |other: &&Series| other.name == series.name && !other.is_earlier;
                let last = |view: &RunView| at(&of(view.curves()).iter().find(is_same)?.points, end(view));
                rows.push(row(&name, &|view| Some(format::value(factor * last(view)?))));
            }
        }
    };
    of_rois("recovery, %,", 1.0, |curves| &curves.recovery);
    of_rois("CNR", 1.0, |curves| &curves.contrast_to_noise);
    of_rois(&format!("mean, {},", scale.label()), scale.factor, |curves| &curves.mean);
    rows.retain(|(_, values)| values.iter().any(|value| value != "–"));
    rows
}

fn noise(curves: &Curves) -> &[[f64; 2]] {
    if curves.mean_nsr.is_empty() { curves.nsr.first().map_or(&[], |series| &series.points) } else { &curves.mean_nsr }
}

/// Largest part of the table's width for the names of the rows.
const MAX_NAME_PART: f32 = 0.45;

/// Height of a row of the table, points.
const ROW_HEIGHT: f32 = 16.0;

/// Smallest width of a column, points: the title of a run and its button fit.
const MIN_COLUMN_WIDTH: f32 = 64.0;

/// Draws the differences: a column for each run, the active one first. Names without room are shortened in the middle.
fn table_ui(runs: &Runs, settings: &[Row], view: &PlotsView, ui: &mut Ui, requests: &mut Vec<Request>) {
    let all = all(runs);
    let axis_value = view.shown_at.unwrap_or_else(|| all[0].live.axis_value(all[0].live.progress().0 as f64));
    let num_settings = settings.len();
    let rows: Vec<Row> = settings.iter().cloned().chain(results(&all, axis_value, view)).collect();
    let font = egui::TextStyle::Small.resolve(ui.style());
    let width = |text: &str| text_width(ui, text, &font) + 1.0;
    let names = rows.iter().map(|(name, _)| width(name)).fold(MIN_COLUMN_WIDTH, f32::max);
    let column = |run: usize| rows.iter().map(|(_, values)| width(&values[run])).fold(MIN_COLUMN_WIDTH, f32::max);
    let mut widths: Vec<f32> = std::iter::once(0.0).chain((0..all.len()).map(column)).collect();
    let room = ui.available_width() - width_of(&widths) - bar_width();
    widths[0] = names.min(room.max(MAX_NAME_PART * ui.available_width()));
    let sheet = Sheet {
        id: "runs",
        widths: &widths,
        num_rows: rows.len(),
        head_height: ROW_HEIGHT + 4.0,
        row_height: ROW_HEIGHT,
        selected: None,
    };
    sheet.show(ui, |ui, row, column| match (row, column.checked_sub(1)) {
        // The results belong to the images without a filter.
        (None, None) => unfiltered_ui(view, ui),
        (None, Some(run)) => run_ui(all[run], run > 0, ui, requests),
        (Some(row), None) => {
            let name = &rows[row].0;
            let shown = fitted(ui, name, &font, ui.available_width());
            let response = ui.add(egui::Label::new(RichText::new(&shown).small().weak()).extend());
            response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Label, true, name));
            if shown != *name {
                response.on_hover_text(name);
            }
        }
        (Some(row), Some(run)) => {
            let text = RichText::new(&rows[row].1[run]).small();
            let is_setting = row < num_settings;
            let text = if is_setting { text.color(theme::colours(ui.visuals()).shown_mark) } else { text };
            ui.add(egui::Label::new(text).extend());
        }
    });
}

/// Draws the head of a run; an earlier run can be dismissed.
fn run_ui(view: &RunView, is_kept: bool, ui: &mut Ui, requests: &mut Vec<Request>) {
    let (run, number) = (view.live.run, view.live.number);
    ui.label(RichText::new(format!("run {number}")).strong())
        .on_hover_ui(|ui| _ = ui.label(view.live.title().unwrap_or_default()));
    if is_kept {
        let name = format!("Dismiss run {number}");
        let button = ui.button("×").on_hover_text("Keep this run no longer");
        button.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Button, true, &name));
        if button.clicked() {
            requests.push(request(move |work| work.runs.dismiss(run, &work.session)));
        }
    }
}

fn curves_ui(view: &PlotsView, reference: &Reference, ui: &mut Ui, requests: &mut Vec<Request>) {
    let colours = theme::colours(ui.visuals());
    let weak = ui.visuals().weak_text_color();
    let name = match reference.choice.number {
        None => "with the image of the same number".to_owned(),
        Some(_) => format!("with {}", reference.text()),
    };
    let height = 0.5 * (ui.available_height() - ui.spacing().item_spacing.y);
    ui.vertical(|ui| {
        let mut cell = |ui: &mut Ui, title: &str, help: &str, label: &str, unit, end: f64, [same, last]: [&Vec<[f64; 2]>; 2]| {
            ui.allocate_ui(egui::vec2(ui.available_width(), height), |ui| {
                ui.horizontal(|ui| {
                    ui.label(RichText::new(title).small().strong()).on_hover_text(help);
                    unfiltered_ui(view, ui);
                });
                CurvePlot::new(view, label, label, unit).including([end]).show(ui, requests, |plot| {
                    plot.curve("with the reference's last image", last, weak, 1.2);
                    plot.curve(&name, same, colours.profile, 1.8);
                });
            });
        };
        let Curves { correlation, correlation_with_last, difference, difference_with_last, .. } = view.curves;
        cell(ui, "CC with the reference", CORRELATION_HELP, "correlation", "", 1.0, [correlation, correlation_with_last]);
        let both = [difference, difference_with_last];
        cell(ui, "Relative difference, %", DIFFERENCE_HELP, "relative difference", "%", 0.0, both);
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::Grid;
    use crate::plan::IterationScheme;

    #[test]
    fn it_is_told_which_images_were_compared_and_why_none_were() {
        let mut live = LiveRun::requested(2, 0, &[], false);
        let words = |live: &LiveRun, reference| {
            let reference = Some(reference);
            let [correlation, relative_difference] = [0.5, 0.1];
            let comparison = Comparison {
                iteration: 12,
                subiteration: 12,
                reference,
                is_fixed: false,
                correlation,
                relative_difference,
                convergence: None,
            };
            images_in_words(live, None, &comparison)
        };
        assert_eq!(words(&live, [12, 168]), "both after 12 iterations");
        assert_eq!(words(&live, [9, 9]), "after 12 iterations, with the reference's last image, after 9 iterations");
        let grid = Grid::centred([4; 3], [1.0; 3]).unwrap();
        let (choice, course) = (ReferenceChoice::run(2), IterationScheme::ITERATIONS);
        let reference = Reference {
            choice,
            run_number: 2,
            subiteration: None,
            title: String::new(),
            grid,
            course,
            has_race: false,
            unit: course.unit,
        };
        assert!(why_none(&live, None).unwrap().starts_with("Choose a run"));
        assert!(why_none(&live, Some(&reference)).unwrap().starts_with("This run is the reference"));
        // One of its own iterates can be its reference.
        let iterate = Reference { subiteration: Some(5), ..reference.clone() };
        assert_eq!(why_none(&live, Some(&iterate)), None);
        live.run = 3;
        assert_eq!(why_none(&live, Some(&reference)), None);
    }

    #[test]
    fn a_result_is_that_of_the_iterate_or_the_last_before_it() {
        let points = [[1.0, 10.0], [2.0, 20.0], [3.0, 30.0]];
        assert_eq!([0.5, 1.0, 2.7, 9.0].map(|axis_value| at(&points, axis_value)), [None, Some(10.0), Some(20.0), Some(30.0)]);
    }
}
