//! List-mode data in the study panel: following of the file, attenuation map.

use std::path::PathBuf;

use egui::{Button, RichText, Ui};

use super::edit;
use crate::data::Attenuation;
use crate::io::formats::{Access, Content, endings};
use crate::plan::ListFiles;
use crate::ui::study::list_form::{ListForm, has_form};
use crate::ui::study::open::open_list::OpenList;
use crate::ui::widgets::fields::{button, push_if_clicked, remove_button};
use crate::ui::widgets::file_task::FileTask;
use crate::ui::workspace::state::{Request, Workspace, ask, open_source, request};

pub fn list_ui(open: &OpenList, is_loading: bool, ui: &mut Ui, requests: &mut Vec<Request>) {
    ui.add_enabled_ui(!is_loading, |ui| attenuation_ui(open, ui, requests));
    if open.following.is_some() {
        following_ui("Stops following: reconstructs the events read so far from the beginning", ui, requests);
    }
}

/// Draws the note that a file is followed, and the button that stops it.
pub fn following_ui(help: &str, ui: &mut Ui, requests: &mut Vec<Request>) {
    ui.horizontal(|ui| {
        ui.label(RichText::new("following the file").strong());
        button(ui, "Stop following", help, requests, request(Workspace::stop_feed));
    });
}

pub fn attenuation_help() -> String {
    format!(
        "An image of the object's linear attenuation coefficients at 511 keV, 1/cm, on any grid ({})",
        endings(Content::Image, Access::Read)
    )
}

/// Draws the choice of a map that is added to the attenuation map.
pub fn added_attenuation_ui(added: &[PathBuf], without: Request, ui: &mut Ui, requests: &mut Vec<Request>) {
    let help = "A further map, as of the bed. Its attenuation is added to that of the object";
    button(ui, "Add bed…", help, requests, ask(FileTask::AddAttenuation));
    remove_button(ui, !added.is_empty(), "bed", requests, without);
}

/// Draws the choice of the attenuation map.
fn attenuation_ui(of: &OpenList, ui: &mut Ui, requests: &mut Vec<Request>) {
    let attenuation = &of.list.facts.attenuation;
    ui.horizontal(|ui| {
        let choose = ui.add_enabled(*attenuation != Attenuation::InFactors, Button::new("Attenuation…"));
        let help = attenuation_help();
        let disabled_help = "The factors of the list's own files have the attenuation in them";
        let choose = choose.on_hover_text(help).on_disabled_hover_text(disabled_help);
        push_if_clicked(choose, requests, ask(FileTask::Attenuation));
        let without = ListFiles { attenuation: None, added_attenuation: Vec::new(), ct: None, mu_unit: None, ..of.files.clone() };
        remove_button(ui, !attenuation.maps().is_empty(), "attenuation", requests, open_source(without));
        if of.files.attenuation.is_some() {
            let without = ListFiles { added_attenuation: Vec::new(), ..of.files.clone() };
            added_attenuation_ui(&of.files.added_attenuation, open_source(without), ui, requests);
        }
        let help = "Opens the file again with other tables of crystals or detection efficiencies";
        if has_form(&of.files.list) {
            button(
                ui,
                "Tables…",
                help,
                requests,
                edit(|study| study.list_form = study.list().map(|open| ListForm::of(&open.files))),
            );
        }
    });
}
