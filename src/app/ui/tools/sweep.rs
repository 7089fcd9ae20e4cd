//! Tab of an EPRI acquisition: all projections as a picture, the selected one as lines (measured and filtered), and the
//! response of the filter.

use egui::{RichText, Ui};
use egui_plot::{HLine, LineStyle, PlotImage, PlotPoint};

use super::study::edit;
use super::tool::Tool;
use crate::data::SweepSpace;
use crate::ui::study::open::filter_curve::filter_curve_ui;
use crate::ui::study::open::open_sweep::{Lines, OpenSweep};
use crate::ui::widgets::plot;
use crate::ui::widgets::plot::{curve, plot};
use crate::ui::widgets::theme;
use crate::ui::workspace::state::{Request, Workspace};

/// Share of the width for the picture.
const PICTURE_SHARE: f32 = 0.42;

/// Share of the height for the lines.
const LINES_SHARE: f32 = 0.55;

pub struct Sweep;

impl Tool for Sweep {
    fn title(&self, _work: &Workspace) -> [&'static str; 2] {
        ["Sweep", "The projections of the EPRI sweep, measured and filtered"]
    }

    fn is_for(&self, work: &Workspace) -> bool {
        work.study.sweep().is_some()
    }

    /// Filters the projections as for the image, not for the next run.
    fn update(&mut self, work: &mut Workspace, is_drawn: bool) {
        let run = work.runs.active();
        if let Some(open) = work.study.sweep_mut().filter(|_| is_drawn) {
            let of_image = run.running.as_ref().unwrap_or(&run.forms).filter();
            open.update(&work.ctx, &of_image, &run.forms.filter());
        }
    }

    fn ui(&mut self, work: &Workspace, ui: &mut Ui, requests: &mut Vec<Request>) {
        let is_filtered = !work.run().forms.settings.algorithm.is_least_squares();
        work.study.sweep().into_iter().for_each(|open| sweep_panel_ui(open, is_filtered, ui, requests));
    }
}

/// Requests a projection; `None`: the newest.
fn look_at(index: Option<usize>) -> Request {
    edit(move |study| study.sweep_mut().into_iter().for_each(|open| open.selected = index))
}

/// Draws picture and lines side by side, with the filter where the algorithm has one.
fn sweep_panel_ui(open: &OpenSweep, is_filtered: bool, ui: &mut Ui, requests: &mut Vec<Request>) {
    let (Some(picture), Some(lines)) = (&open.picture, open.lines()) else {
        ui.label(RichText::new("No projection has arrived yet.").weak());
        return;
    };
    let (step_mm, num_points, centre) = open.acquisition.look(|sweep| (sweep.step_mm, sweep.num_points, sweep.centre));
    let first_mm = -(centre + 0.5) * step_mm;
    let width_mm = num_points as f64 * step_mm;
    let size = egui::vec2(PICTURE_SHARE * ui.available_width(), ui.available_height());
    ui.horizontal_top(|ui| {
        ui.allocate_ui_with_layout(size, egui::Layout::top_down(egui::Align::Min), |ui| {
            ui.set_width(size.x);
            ui.horizontal(|ui| {
                ui.label(RichText::new("Projections").strong());
                let newest = ui.selectable_label(open.selected.is_none(), "newest");
                if newest.on_hover_text("Look at the newest one as they arrive").clicked() {
                    requests.push(look_at(None));
                }
            });
            let count = picture.num_projections as f64;
            let middle = PlotPoint::new(first_mm + 0.5 * width_mm, 0.5 * count + 0.5);
            let image = PlotImage::new("projections", picture.texture.id(), middle, [width_mm as f32, count as f32]);
            let colour = theme::colours(ui.visuals()).shown_mark;
            let expected = open.acquisition.num_expected().unwrap_or(0).max(picture.num_projections) as f64;
            let response = plot("sweep", "mm").include_y(0.5).include_y(expected + 0.5).show(ui, |plot| {
                plot.image(image);
                plot.hline(HLine::new("looked at", lines.index as f64 + 1.0).color(colour).width(1.5));
                plot.pointer_coordinate()
            });
            let looks = response.response.clicked() || response.response.dragged();
            if let Some(at) = response.inner.filter(|_| looks) {
                let index = (at.y.round() - 1.0).clamp(0.0, count - 1.0) as usize;
                requests.push(look_at(Some(index)));
            }
            plot::name(&response.response, &format!("Picture: {count} projections"));
        });
        ui.vertical(|ui| {
            // Lines above, filter below.
            let size = egui::vec2(ui.available_width(), LINES_SHARE * ui.available_height());
            ui.allocate_ui_with_layout(size, egui::Layout::top_down(egui::Align::Min), |ui| {
                ui.set_height(size.y);
                lines_ui(lines, open.space(), is_filtered, ui);
            });
            if let Some(filter) = open.filter.as_ref().filter(|_| is_filtered) {
                filter_curve_ui(filter, open.next_filter.as_ref(), ui);
            }
        });
    });
}

fn lines_ui(lines: &Lines, space: SweepSpace, is_filtered: bool, ui: &mut Ui) {
    let axes = if space.is_slice() { 2 } else { 3 };
    let along: Vec<String> = lines.direction.iter().take(axes).map(|c| format!("{c:.2}")).collect();
    let title = format!("Projection {}, direction ({})", lines.index + 1, along.join(", "));
    ui.add(egui::Label::new(RichText::new(title).strong()).truncate());
    if let Some(text) = lines.failure.as_ref().filter(|_| is_filtered) {
        ui.add(egui::Label::new(RichText::new(text).small().color(theme::colours(ui.visuals()).warning)).wrap());
    }
    let (weak, strong) = (ui.visuals().weak_text_color(), theme::colours(ui.visuals()).profile);
    let key = [("measured", weak, LineStyle::Solid), ("filtered", strong, LineStyle::Solid)];
    ui.horizontal(|ui| plot::key_ui(ui, &key[..if is_filtered { 2 } else { 1 }]));
    let response = plot("projection", "mm").include_y(-1.0).include_y(1.0).show(ui, |plot| {
        plot.hline(HLine::new("", 0.0).color(weak).style(LineStyle::dotted_dense()).width(0.5));
        curve(plot, "measured", &lines.measured, weak, 1.2);
        if is_filtered {
            curve(plot, "filtered", &lines.filtered, strong, 1.8);
        }
    });
    let help = "Each curve is normalised to its maximum";
    plot::name(&response.response, &format!("Plot: projection {}", lines.index + 1));
    response.response.on_hover_text(help);
}
