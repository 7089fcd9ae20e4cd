//! EPRI acquisitions in the study panel: reference spectrum, phase, following and replay.

use egui::{Button, DragValue, Ui};

use super::edit;
use super::list::following_ui;
use crate::data::Sweep;
use crate::plan::SweepFiles;
use crate::ui::study::open::open_sweep::OpenSweep;
use crate::ui::widgets::fields::{button, name, push_if_clicked};
use crate::ui::widgets::file_task::FileTask;
use crate::ui::widgets::format;
use crate::ui::workspace::state::{Request, Workspace, ask, open_source, request};

/// Draws the phase of complex spectra. Another phase reads the file again.
fn phase_ui(open: &OpenSweep, ui: &mut Ui, requests: &mut Vec<Request>) {
    let Some(phase) = open.whole().look(|sweep| sweep.facts.phase) else { return };
    let Some(files) = &open.files else { return };
    let with_phase = |phase: Option<f64>| open_source(SweepFiles { phase, ..files.clone() });
    ui.horizontal(|ui| {
        ui.label("Phase");
        let mut degrees = open.phase_degrees;
        let value = DragValue::new(&mut degrees).range(-360.0..=360.0).speed(0.5).max_decimals(2).suffix("°");
        name(&ui.add(value).on_hover_text("The angle by which the complex projections are turned back"), "Phase");
        if degrees != open.phase_degrees {
            requests.push(edit(move |study| study.sweep_mut().into_iter().for_each(|open| open.phase_degrees = degrees)));
        }
        let is_other = open.phase_degrees != phase.degrees;
        let turn = ui.add_enabled(is_other, Button::new("Turn")).on_hover_text("Read the file again with this phase");
        push_if_clicked(turn, requests, with_phase(Some(open.phase_degrees)));
        let help = "Read the file again with the phase that leaves least in the imaginary part";
        let automatic = ui.add_enabled(!phase.is_automatic, Button::new("Automatic")).on_hover_text(help);
        push_if_clicked(automatic, requests, with_phase(None));
    });
}

/// Draws reference spectrum, phase, and following or replay with its pace.
pub fn sweep_feed_ui(open: &OpenSweep, ui: &mut Ui, requests: &mut Vec<Request>) {
    let is_wave = open.whole().look(Sweep::is_continuous_wave);
    if is_wave && open.files.is_some() {
        push_if_clicked(ui.button("Reference spectrum…"), requests, ask(FileTask::Reference));
    }
    phase_ui(open, ui, requests);
    if !open.whole().is_over() {
        return following_ui("Stops following: uses the projections read so far", ui, requests);
    }
    ui.horizontal(|ui| {
        if open.is_replay() && open.is_live() {
            let end = request(Workspace::stop_feed);
            button(ui, "End replay", "The next run uses the whole acquisition again", requests, end);
        } else {
            let help = "Play the acquisition again: the image grows as it did";
            button(ui, "Replay", help, requests, request(Workspace::replay));
        }
        let mut pace = open.pace;
        let value = DragValue::new(&mut pace).range(0.001..=1000.0).speed(0.1).max_decimals(3).suffix(" /s");
        let help = "Projections per second of a replay";
        name(&ui.add(value).on_hover_text(help), "Projections per second");
        if let Some(secs) = open.whole().look(|sweep| sweep.secs_per_projection) {
            let help = format!("The scanner took {} s for each projection", format::value(secs));
            if ui.button("scanner's").on_hover_text(help).clicked() {
                pace = 1.0 / secs;
            }
        }
        if pace != open.pace {
            requests.push(edit(move |study| study.sweep_mut().into_iter().for_each(|open| open.set_pace(pace))));
        }
    });
}
