//! Side pane: study, reconstruction and second image.

use egui::{RichText, ScrollArea, Ui};

use super::layer::layer_panel::{OwnLayers, layer_ui};
use super::run::recon_panel::recon_ui;
use super::study::study_panel::study_ui;
use super::tool::Tool;
use crate::data::Notice;
use crate::ui::run::form::settings::SettingsForm;
use crate::ui::widgets::fields::{button, push_if_clicked};
use crate::ui::workspace::persistence::saved_session::SavedSession;
use crate::ui::workspace::state::{Request, Workspace, request};

#[derive(Default)]
pub struct Side {
    /// Number of the study, and the settings of the next run, with the notice on an attenuation map that ends inside its image.
    cover: Option<((usize, SettingsForm), Option<Notice>)>,
}

impl Tool for Side {
    fn title(&self, _work: &Workspace) -> [&'static str; 2] {
        ["Study and run", "Study, reconstruction, second image"]
    }

    fn update(&mut self, work: &mut Workspace, _is_drawn: bool) {
        let (number, settings) = (work.study.number, &work.run().forms.settings);
        if self.cover.as_ref().is_some_and(|((of, before), _)| *of == number && before == settings) {
            return;
        }
        let map = work.study().and_then(|study| study.measured.attenuation_maps().first());
        let cover = map.zip(settings.run_settings().ok());
        let cover = cover.and_then(|(map, settings)| map.cover_notice(&settings.grid, settings.fov_radius_mm));
        self.cover = Some(((number, settings.clone()), cover));
    }

    fn ui(&mut self, work: &Workspace, ui: &mut Ui, requests: &mut Vec<Request>) {
        ScrollArea::vertical().auto_shrink([false, false]).show(ui, |ui| {
            work.sessions.offered.iter().for_each(|offered| offer_ui(offered, ui, requests));
            let cover = self.cover.as_ref().and_then(|(_, cover)| cover.as_ref());
            study_ui(work, cover, ui, requests);
            ui.separator();
            recon_ui(work, ui, requests);
            if work.study.open.is_some() && work.remote.is_none() {
                let maps = work.study().map(|study| study.measured.attenuation_maps());
                let has_attenuation = maps.is_some_and(|maps| !maps.is_empty());
                let own = OwnLayers { has_attenuation, has_deviation: work.has_deviation() };
                layer_ui(&work.layer, own, ui, requests);
            }
        });
    }
}

/// Draws the offer of the last session.
fn offer_ui(session: &SavedSession, ui: &mut Ui, requests: &mut Vec<Request>) {
    egui::Frame::group(ui.style()).show(ui, |ui| {
        let text = format!("Last session: {}", session.label());
        ui.add(egui::Label::new(RichText::new(text).small()).wrap()).on_hover_text(format!("Saved at {}", session.saved));
        ui.horizontal(|ui| {
            let help = "Opens its study and reconstructs it with its settings, regions, views and plots";
            button(ui, "Restore", help, requests, request(Workspace::restore_offered));
            push_if_clicked(ui.button("Not now"), requests, request(|work| work.sessions.offered = None));
        });
    });
}
