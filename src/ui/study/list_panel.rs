//! The study panel of a list of events: what it is; and its counts per second.

use std::collections::BTreeSet;
use std::ops::Range;

use egui::{RichText, Ui};
use egui_plot::{Legend, LineStyle, VLine};

use super::action::StudyAction;
use super::open_list::OpenList;
use crate::ui::widgets::format;
use crate::ui::widgets::plot::{self, curve, plot};
use crate::ui::widgets::theme;
use crate::words::counted;

/// What the list is.
pub fn list_facts_ui(open: &OpenList, ui: &mut Ui) {
    ui.add(egui::Label::new(RichText::new(&open.study.title).strong()).wrap());
    egui::Grid::new("study facts").num_columns(2).spacing([8.0, 2.0]).show(ui, |ui| {
        for (name, value) in facts(open) {
            ui.label(RichText::new(name).weak());
            ui.add(egui::Label::new(value).wrap());
            ui.end_row();
        }
    });
}

fn facts(open: &OpenList) -> Vec<(&'static str, String)> {
    let list = &open.study.measured;
    let facts = &list.facts;
    let tof = facts.tof.as_ref().map_or("none".to_owned(), |tof| format!("FWHM {:.1} mm", tof.fwhm_mm));
    let mut rows = vec![
        ("List", facts.format.clone()),
        ("Scanner", facts.detectors.name().to_owned()),
        ("Crystals", format!("{}: {}", facts.detectors.crystals().len(), open.arrangement)),
        ("Prompts", format::count(open.counted.num_prompts as f64)),
        ("Delayeds", format::count(open.counted.num_delayeds as f64)),
        ("Time of flight", tof),
        ("Corrections", corrections(open)),
    ];
    if let Some(isotope) = &facts.isotope {
        rows.push(("Isotope", isotope.clone()));
    }
    rows
}

/// Following the file.
pub fn list_feed_ui(open: &OpenList, ui: &mut Ui, actions: &mut Vec<StudyAction>) {
    if open.following.is_some() {
        ui.horizontal(|ui| {
            ui.label(RichText::new("following the file").strong());
            let help = "Take the events that are there for the whole list, and reconstruct it from the beginning";
            if ui.button("Stop following").on_hover_text(help).clicked() {
                actions.push(StudyAction::StopFeed);
            }
        });
    }
}

fn corrections(open: &OpenList) -> String {
    let list = &open.study.measured;
    let has_factors = list.facts.efficiency.is_some() || !list.prompts.multiplicative.is_empty();
    let parts = [(has_factors, "efficiencies"), (!list.prompts.additive.is_empty(), "randoms")];
    let words: Vec<&str> = parts.into_iter().filter(|(is_there, _)| *is_there).map(|(_, words)| words).collect();
    if words.is_empty() { "none".to_owned() } else { words.join("; ") }
}

/// Counts per second, with the ends of these frames, ms.
pub fn rates_ui(open: &OpenList, frames_ms: &[Range<u32>], ui: &mut Ui) {
    let bin_secs = format::value(open.counted.bin_secs);
    ui.label(RichText::new(format!("Counts per second, in {bin_secs} s")).strong());
    let (weak, strong) = (ui.visuals().weak_text_color(), theme::colours(ui.visuals()).profile);
    let [prompts, delayeds] = &open.counted.rates;
    let ends_ms: BTreeSet<u32> = frames_ms.iter().flat_map(|frame_ms| [frame_ms.start, frame_ms.end]).collect();
    let mark = theme::colours(ui.visuals()).branch_mark;
    let response =
        plot("rates", "s").include_y(0.0).legend(Legend::default().position(egui_plot::Corner::LeftBottom)).show(ui, |plot| {
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
