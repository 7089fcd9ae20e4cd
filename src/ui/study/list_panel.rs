//! The study panel of a list of events: what it is; and its counts per second.

use std::collections::BTreeSet;
use std::ops::Range;

use egui::{RichText, Ui};
use egui_plot::{Legend, LineStyle, VLine};

use super::action::StudyAction;
use super::list_form::can_be_told;
use super::open::open_list::OpenList;
use crate::data::Attenuation;
use crate::io::formats::{Access, Content, endings};
use crate::text::counted;
use crate::ui::widgets::plot;
use crate::ui::widgets::plot::{curve, plot};
use crate::ui::widgets::{format, theme};

/// Returns the facts about the study as names and values.
pub fn list_facts(open: &OpenList) -> Vec<(&'static str, String)> {
    let list = &open.list;
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
            let help = "Stops following: reconstructs the events read so far from the beginning";
            if ui.button("Stop following").on_hover_text(help).clicked() {
                actions.push(StudyAction::StopFeed);
            }
        });
    }
}

fn corrections(open: &OpenList) -> String {
    let list = &open.list;
    let numbers = list.numbers();
    let attenuation = match &list.facts.attenuation {
        Attenuation::Untold => None,
        Attenuation::InFactors => Some("attenuation: the list's own".to_owned()),
        Attenuation::Map(map) => Some(format!("attenuation: {}", map.file.file_name().unwrap_or_default().to_string_lossy())),
    };
    let told = |is_there: bool, words: &str| is_there.then(|| words.to_owned());
    let parts = [told(numbers.has_factors, "efficiencies"), told(numbers.has_background, "randoms"), attenuation];
    let words: Vec<String> = parts.into_iter().flatten().collect();
    if words.is_empty() { "none".to_owned() } else { words.join("; ") }
}

/// The map of attenuation: chosen, or left out again.
pub fn attenuation_ui(open: &OpenList, ui: &mut Ui, actions: &mut Vec<StudyAction>) {
    let attenuation = &open.list.facts.attenuation;
    ui.horizontal(|ui| {
        let choose = ui.add_enabled(*attenuation != Attenuation::InFactors, egui::Button::new("Attenuation…"));
        let help = format!(
            "An image of the object's linear attenuation coefficients at 511 keV, 1/cm, on any grid ({})",
            endings(Content::Image, Access::Read)
        );
        let choose = choose.on_hover_text(help);
        if choose.on_disabled_hover_text("The factors of the list's own files have the attenuation in them").clicked() {
            actions.push(StudyAction::AskForAttenuation);
        }
        let without = ui.add_enabled(attenuation.map().is_some(), egui::Button::new("without"));
        let is_enabled = without.enabled();
        without.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Button, is_enabled, "without attenuation"));
        if without.clicked() {
            actions.push(StudyAction::RemoveAttenuation);
        }
        let help = "Opens the file again with other tables of crystals or detection efficiencies";
        if can_be_told(&open.files.list) && ui.button("Tables…").on_hover_text(help).clicked() {
            actions.push(StudyAction::AskHowToRead);
        }
    });
}

/// Counts per second, with the true limits of these frames, ms.
pub fn rates_ui(open: &OpenList, frames_ms: &[Range<u32>], ui: &mut Ui) {
    let bin_secs = format::value(open.counted.bin_secs);
    ui.label(RichText::new(format!("Count rate, 1/s (bins of {bin_secs} s)")).strong());
    let (weak, strong) = (ui.visuals().weak_text_color(), theme::colours(ui.visuals()).profile);
    let [prompts, delayeds] = &open.counted.rates;
    let limits = frames_ms.iter().map(|frame_ms| open.list.frame_time(frame_ms).limits_ms);
    let ends_ms: BTreeSet<u32> = limits.flat_map(|limits_ms| [limits_ms.start, limits_ms.end]).collect();
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
