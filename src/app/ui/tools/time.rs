//! The stages of an iteration: a table of the last one and of the mean over the run, and bars over the iterations
//! (Belzunce et al. 2012, Table 4 and Figure 6).

use std::time::Duration;

use egui::{RichText, Sense, Ui};
use egui_plot::{Bar, BarChart};

use super::tool::Tool;
use crate::plan::IterationScheme;
use crate::recon::StageTimes;
use crate::ui::run::live::LiveRun;
use crate::ui::run::stages::StageLog;
use crate::ui::widgets::plot;
use crate::ui::widgets::plot::plot;
use crate::ui::widgets::{format, theme};
use crate::ui::workspace::state::{Request, Workspace};

/// Width of the table, points.
const TABLE_WIDTH: f32 = 262.0;

pub struct Time;

impl Tool for Time {
    fn title(&self, _work: &Workspace) -> [&'static str; 2] {
        ["Time", "Where the time of an iteration goes, stage by stage"]
    }

    fn is_for(&self, work: &Workspace) -> bool {
        work.study.images().is_none()
    }

    fn ui(&mut self, work: &Workspace, ui: &mut Ui, _requests: &mut Vec<Request>) {
        stage_panel_ui(work.live(), ui);
    }
}

/// Draws table and bars.
fn stage_panel_ui(live: &LiveRun, ui: &mut Ui) {
    let log = &live.stages;
    let (Some(last), Some(mean)) = (log.last(), log.mean()) else {
        ui.label(
            RichText::new("The times of the stages are shown after the first full iteration, of a sweep after the first block.")
                .weak(),
        );
        return;
    };
    if let Some(info) = &live.info {
        ui.add(egui::Label::new(RichText::new(format!("{} · {}", info.device, info.projector)).small().weak()).truncate());
    }
    ui.horizontal_top(|ui| {
        ui.allocate_ui_with_layout(
            egui::vec2(TABLE_WIDTH, ui.available_height()),
            egui::Layout::top_down(egui::Align::Min),
            |ui| {
                ui.set_width(TABLE_WIDTH);
                egui::ScrollArea::vertical().id_salt("stage table").show(ui, |ui| table_ui(log, last, &mean, ui));
            },
        );
        ui.vertical(|ui| bars_ui(log, &live.iteration_scheme(), ui));
    });
}

/// Milliseconds with three digits or so.
fn ms(time: Duration) -> String {
    let ms = 1e3 * time.as_secs_f64();
    if ms >= 100.0 { format!("{ms:.0}") } else { format!("{ms:.2}") }
}

fn percent(part: Duration, whole: Duration) -> String {
    if whole.is_zero() { "–".into() } else { format!("{:.1}", 100.0 * part.as_secs_f64() / whole.as_secs_f64()) }
}

fn table_ui(log: &StageLog, last: &StageTimes, mean: &StageTimes, ui: &mut Ui) {
    let (last_total, mean_total) = (last.total(), mean.total());
    let number = |ui: &mut Ui, words: String| {
        ui.with_layout(egui::Layout::right_to_left(egui::Align::Center), |ui| ui.label(RichText::new(words).small()));
    };
    egui::Grid::new("stages").num_columns(5).spacing([8.0, 1.0]).striped(true).show(ui, |ui| {
        ui.label(RichText::new("stage").small().weak());
        for words in ["last, ms", "%", "mean, ms", "%"] {
            number(ui, words.into());
        }
        ui.end_row();
        for stage in log.used() {
            ui.horizontal(|ui| {
                let (square, _) = ui.allocate_exact_size(egui::vec2(9.0, 9.0), Sense::hover());
                ui.painter().rect_filled(square, 1.0, theme::stage_colour(stage));
                ui.label(RichText::new(stage.name()).small()).on_hover_text(stage.text());
            });
            for (times, whole) in [(last, last_total), (mean, mean_total)] {
                number(ui, ms(times[stage]));
                number(ui, percent(times[stage], whole));
            }
            ui.end_row();
        }
        ui.label(RichText::new("sum").small().strong());
        for whole in [last_total, mean_total] {
            number(ui, ms(whole));
            number(ui, String::new());
        }
        ui.end_row();
    });
}

fn bars_ui(log: &StageLog, course: &IterationScheme, ui: &mut Ui) {
    let step = if course.by_iteration { course.counted } else { "block" };
    ui.label(RichText::new(format!("Time per {step}, ms")).small().strong());
    // Bars do not overlap, however few projections a block has.
    let numbers: Vec<usize> = log.iterations().map(|(number, _)| *number).collect();
    let gap = numbers.windows(2).map(|pair| pair[1] - pair[0]).min().unwrap_or(1);
    let mut charts: Vec<BarChart> = Vec::new();
    for stage in log.used() {
        let colour = theme::stage_colour(stage);
        let bar = |(number, times): &(usize, StageTimes)| {
            Bar::new(*number as f64, 1e3 * times[stage].as_secs_f64()).width(0.8 * gap as f64).fill(colour)
        };
        let chart = BarChart::new(stage.name(), log.iterations().map(bar).collect()).color(colour);
        let below: Vec<&BarChart> = charts.iter().collect();
        let chart = chart.stack_on(&below);
        charts.push(chart);
    }
    let response = plot("stage bars", &format::axis(course)).include_y(0.0).show(ui, |plot| {
        charts.into_iter().for_each(|chart| plot.bar_chart(chart));
    });
    plot::name(&response.response, "Plot: time of each stage");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_three_digits_and_parts_add_up() {
        assert_eq!(ms(Duration::from_micros(1234)), "1.23");
        assert_eq!(ms(Duration::from_millis(1234)), "1234");
        assert_eq!(percent(Duration::from_millis(1), Duration::from_millis(3)), "33.3");
        assert_eq!(percent(Duration::ZERO, Duration::ZERO), "–");
    }
}
