//! Sinograms in the study panel: their facts, and the choice of correction files.

use std::path::Path;

use egui::Ui;

use super::action::StudyAction;
use super::list_panel::{added_attenuation_ui, attenuation_help, join_corrections};
use super::open::open_counts::OpenCounts;
use super::open::open_kind::OpenKind;
use crate::data::Counts;
use crate::io::Correction;
use crate::operator::Accumulation;
use crate::plan::ScanFiles;
use crate::scanner::{self, InPlane};
use crate::ui::widgets::fields::{button, remove_button};
use crate::ui::widgets::file_task::FileTask;
use crate::ui::widgets::format;

impl OpenKind for OpenCounts {
    fn facts(&self) -> Vec<(&'static str, String)> {
        let geometry = self.counts.geometry();
        let known = scanner::find_by_originating_system(&geometry.scanner);
        let bins = match geometry.in_plane {
            InPlane::ArcCorrected { .. } => "arc-corrected",
            InPlane::Detectors | InPlane::DetectorPairs => "not arc-corrected",
            InPlane::Heads { .. } => "arc-corrected, rotating heads",
        };
        let (views, tangential, planes) = (geometry.num_views, geometry.num_tangential, geometry.num_planes());
        let files = self.files.as_ref();
        let tof = self.counts.tof_bins().map(|bins| ("Time of flight", bins.text()));
        let facts = vec![
            ("Scanner", known.map_or_else(|| geometry.scanner.clone(), |scanner| scanner.title.clone())),
            ("Counts", format::count(self.total)),
            ("Bins", format::count(geometry.num_bins() as f64)),
            (
                "Sampling",
                format!("{views} views × {tangential} × {planes} planes in {} segments, {bins}", geometry.segments.len()),
            ),
            ("Corrections", files.map_or_else(|| corrections(&self.counts), |files| files.corrections(&self.counts))),
        ];
        facts.into_iter().chain(tof).collect()
    }

    fn ui(&self, is_loading: bool, ui: &mut Ui, actions: &mut Vec<StudyAction>) {
        if let Some(files) = &self.files {
            ui.add_enabled_ui(!is_loading, |ui| corrections_ui(files, ui, actions));
        }
    }

    fn measured_file(&self) -> Option<&Path> {
        self.files.as_ref().map(|files| &*files.measured)
    }

    fn accumulations(&self) -> &'static [Accumulation] {
        Accumulation::OF_LINES
    }
}

fn corrections(counts: &Counts) -> String {
    join_corrections([
        counts.multiplicative.as_ref().map(|_| "attenuation and normalisation".to_owned()),
        counts.additive.as_ref().map(|_| "scatter and randoms".to_owned()),
    ])
}

/// Draws the choice of correction files.
fn corrections_ui(files: &ScanFiles, ui: &mut Ui, actions: &mut Vec<StudyAction>) {
    let buttons = [
        (Correction::Multiplicative, "Multiplicative…", "Factors: attenuation and normalisation (.hs)", "multiplicative"),
        (Correction::Additive, "Additive…", "Background: scatter and randoms (.hs)", "additive"),
    ];
    egui::Grid::new("corrections").num_columns(2).spacing([8.0, 4.0]).show(ui, |ui| {
        for (which, title, help, name) in buttons {
            button(ui, title, help, actions, StudyAction::Ask(FileTask::Correct(which)));
            let mut without = files.clone();
            *without.correction_mut(which) = None;
            remove_button(ui, files.correction(which).is_some(), name, actions, StudyAction::Open(without.into()));
            ui.end_row();
        }
        button(ui, "Attenuation…", &attenuation_help(), actions, StudyAction::Ask(FileTask::Attenuation));
        let without = ScanFiles { attenuation: None, added_attenuation: Vec::new(), ct: None, mu_unit: None, ..files.clone() };
        remove_button(ui, files.attenuation.is_some(), "attenuation", actions, StudyAction::Open(without.into()));
        ui.end_row();
        if files.attenuation.is_some() {
            let without = ScanFiles { added_attenuation: Vec::new(), ..files.clone() };
            added_attenuation_ui(&files.added_attenuation, StudyAction::Open(without.into()), ui, actions);
            ui.end_row();
        }
    });
    let mut changed = files.clone();
    let check = |can: bool, value: &mut bool, [title, help, without]: [&str; 3], ui: &mut Ui| {
        let check = ui.add_enabled(can, egui::Checkbox::new(value, title));
        check.on_hover_text(help).on_disabled_hover_text(without).changed()
    };
    let inverse = [
        "multiplicative holds correction factors (ACF)",
        "The multiplicative file holds the inverse of efficiency × survival, as STIR's attenuation correction factors",
        "Takes a multiplicative file",
    ];
    let inside = [
        "additive inside the factors (STIR)",
        "The additive file is added before the factors are applied: it holds additive / multiplicative",
        "Takes both corrections",
    ];
    let of_factors = check(files.multiplicative.is_some(), &mut changed.multiplicative_inverse, inverse, ui);
    if check(files.is_fully_corrected(), &mut changed.additive_inside, inside, ui) || of_factors {
        actions.push(StudyAction::Open(changed.into()));
    }
}
