//! Count rates of list-mode data.

use std::collections::BTreeSet;
use std::ops::Range;

use egui::{RichText, Ui};
use egui_plot::{LineStyle, VLine};

use super::tool::Tool;
use crate::text::counted;
use crate::ui::study::open::open_list::OpenList;
use crate::ui::widgets::plot::{self, curve, plot};
use crate::ui::widgets::{format, theme};
use crate::ui::workspace::state::{Request, Workspace};

pub struct Rates;

impl Tool for Rates {
    fn title(&self, _work: &Workspace) -> [&'static str; 2] {
        ["Rates", "Coincidences per second"]
    }

    fn is_for(&self, work: &Workspace) -> bool {
        work.study.list().is_some()
    }

    fn ui(&mut self, work: &Workspace, ui: &mut Ui, _requests: &mut Vec<Request>) {
        let frames_ms = work.run().forms.settings.frames().unwrap_or_default();
        work.study.list().into_iter().for_each(|open| rates_ui(open, &frames_ms, ui));
    }
}

/// Draws the count rates with the limits of time frames (ms) as they lie in the data.
fn rates_ui(open: &OpenList, frames_ms: &[Range<u32>], ui: &mut Ui) {
    let bin_secs = format::value(open.counted.bin_secs);
    let (weak, strong) = (ui.visuals().weak_text_color(), theme::colours(ui.visuals()).profile);
    let [prompts, delayeds] = &open.counted.rates;
    ui.horizontal_wrapped(|ui| {
        ui.label(RichText::new(format!("Count rate, 1/s (bins of {bin_secs} s)")).strong());
        let key = [("prompts", strong, LineStyle::Solid), ("delayeds", weak, LineStyle::Solid)];
        plot::key_ui(ui, &key[..if delayeds.is_empty() { 1 } else { 2 }]);
    });
    let limits = frames_ms.iter().map(|frame_ms| open.list.frame_time(frame_ms).limits_ms);
    let ends_ms: BTreeSet<u32> = limits.flat_map(|limits_ms| [limits_ms.start, limits_ms.end]).collect();
    let mark = theme::colours(ui.visuals()).branch_mark;
    let response = plot("rates", "s").include_y(0.0).show(ui, |plot| {
        for ms in &ends_ms {
            plot.vline(VLine::new("frames", f64::from(*ms) / 1e3).color(mark).style(LineStyle::dashed_dense()));
        }
        curve(plot, "prompts", prompts, strong, 1.5);
        if !delayeds.is_empty() {
            curve(plot, "delayeds", delayeds, weak, 1.2);
        }
    });
    let frames = if frames_ms.is_empty() { String::new() } else { format!(" in {}", counted(frames_ms.len(), "frame")) };
    plot::name(&response.response, &format!("Plot: counts per second{frames}"));
}
