//! Panel parts of list-mode data: facts, following of the file, attenuation map, count rates.

use std::collections::BTreeSet;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use egui::{Button, RichText, Ui};
use egui_plot::{LineStyle, VLine};

use super::action::{StudyAction, StudyEdit};
use super::list_form::has_form;
use super::open::open_kind::OpenKind;
use super::open::open_list::OpenList;
use crate::data::{Attenuation, AttenuationMap};
use crate::io::formats::{Access, Content, endings};
use crate::operator::Accumulation;
use crate::plan::ListFiles;
use crate::session::Feed;
use crate::text::counted;
use crate::ui::widgets::fields::{button, push_if_clicked, remove_button};
use crate::ui::widgets::file_task::FileTask;
use crate::ui::widgets::plot;
use crate::ui::widgets::plot::{curve, plot};
use crate::ui::widgets::{format, theme};

impl OpenKind for OpenList {
    fn facts(&self) -> Vec<(&'static str, String)> {
        let list = &self.list;
        let facts = &list.facts;
        let tof = facts.tof.as_ref().map_or("none".to_owned(), |tof| format!("FWHM {:.1} mm", tof.fwhm_mm));
        let mut rows = vec![
            ("List", facts.format.clone()),
            ("Scanner", facts.detectors.name().to_owned()),
            ("Crystals", format!("{}: {}", facts.detectors.crystals().len(), self.arrangement)),
            ("Prompts", format::count(self.counted.num_prompts as f64)),
            ("Delayeds", format::count(self.counted.num_delayeds as f64)),
            ("Time of flight", tof),
            ("Corrections", corrections(self)),
        ];
        if let Some(isotope) = &facts.isotope {
            rows.push(("Isotope", isotope.clone()));
        }
        rows
    }

    fn ui(&self, is_loading: bool, ui: &mut Ui, actions: &mut Vec<StudyAction>) {
        ui.add_enabled_ui(!is_loading, |ui| attenuation_ui(self, ui, actions));
        if self.following.is_some() {
            following_ui("Stops following: reconstructs the events read so far from the beginning", ui, actions);
        }
    }

    fn measured_file(&self) -> Option<&Path> {
        Some(&self.files.list)
    }

    fn accumulations(&self) -> &'static [Accumulation] {
        Accumulation::OF_LINES
    }

    fn made_at_start(&self) -> &'static str {
        "the sensitivity"
    }

    fn num_received(&self) -> Option<usize> {
        // It changes at each doubling.
        self.following.is_some().then(|| self.counted.num_prompts.next_power_of_two())
    }

    fn feed(&self) -> Option<&Feed> {
        self.following.as_ref().map(|following| &following.feed)
    }

    fn has_used_all(&self, [_, num_events]: [Option<usize>; 2]) -> bool {
        self.following.is_some() && num_events == Some(self.counted.num_prompts)
    }
}

/// Draws the note that a file is followed, and the button that stops it.
pub fn following_ui(help: &str, ui: &mut Ui, actions: &mut Vec<StudyAction>) {
    ui.horizontal(|ui| {
        ui.label(RichText::new("following the file").strong());
        button(ui, "Stop following", help, actions, StudyAction::Edit(StudyEdit::StopFeed));
    });
}

fn corrections(open: &OpenList) -> String {
    let list = &open.list;
    let numbers = list.numbers();
    let attenuation = match &list.facts.attenuation {
        Attenuation::Untold => None,
        Attenuation::InFactors => Some("attenuation: the list's own".to_owned()),
        Attenuation::Maps(maps) => {
            let name = |map: &Arc<AttenuationMap>| map.file.file_name().unwrap_or_default().to_string_lossy().into_owned();
            Some(format!("attenuation: {}", maps.iter().map(name).collect::<Vec<_>>().join(" and ")))
        }
    };
    let named = |exists: bool, name: &str| exists.then(|| name.to_owned());
    join_corrections([named(numbers.has_factors, "efficiencies"), named(numbers.has_background, "randoms"), attenuation])
}

pub fn join_corrections<const N: usize>(names: [Option<String>; N]) -> String {
    let names: Vec<String> = names.into_iter().flatten().collect();
    if names.is_empty() { "none".to_owned() } else { names.join("; ") }
}

pub fn attenuation_help() -> String {
    format!(
        "An image of the object's linear attenuation coefficients at 511 keV, 1/cm, on any grid ({})",
        endings(Content::Image, Access::Read)
    )
}

/// Draws the choice of a map that is added to the attenuation map.
pub fn added_attenuation_ui(added: &[PathBuf], without: StudyAction, ui: &mut Ui, actions: &mut Vec<StudyAction>) {
    let help = "A further map, as of the bed. Its attenuation is added to that of the object";
    button(ui, "Add bed…", help, actions, StudyAction::Ask(FileTask::AddAttenuation));
    remove_button(ui, !added.is_empty(), "bed", actions, without);
}

/// Draws the choice of the attenuation map.
fn attenuation_ui(open: &OpenList, ui: &mut Ui, actions: &mut Vec<StudyAction>) {
    let attenuation = &open.list.facts.attenuation;
    ui.horizontal(|ui| {
        let choose = ui.add_enabled(*attenuation != Attenuation::InFactors, Button::new("Attenuation…"));
        let help = attenuation_help();
        let disabled_help = "The factors of the list's own files have the attenuation in them";
        let choose = choose.on_hover_text(help).on_disabled_hover_text(disabled_help);
        push_if_clicked(choose, actions, StudyAction::Ask(FileTask::Attenuation));
        let without =
            ListFiles { attenuation: None, added_attenuation: Vec::new(), ct: None, mu_unit: None, ..open.files.clone() };
        remove_button(ui, !attenuation.maps().is_empty(), "attenuation", actions, StudyAction::Open(without.into()));
        if open.files.attenuation.is_some() {
            let without = ListFiles { added_attenuation: Vec::new(), ..open.files.clone() };
            added_attenuation_ui(&open.files.added_attenuation, StudyAction::Open(without.into()), ui, actions);
        }
        let help = "Opens the file again with other tables of crystals or detection efficiencies";
        if has_form(&open.files.list) {
            button(ui, "Tables…", help, actions, StudyAction::Edit(StudyEdit::OpenListForm));
        }
    });
}

/// Draws the count rates with the limits of time frames (ms) as they lie in the data.
pub fn rates_ui(open: &OpenList, frames_ms: &[Range<u32>], ui: &mut Ui) {
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
