//! Panel parts of EPRI acquisitions: facts, reference spectrum, phase, following and replay.

use std::path::Path;

use egui::{Button, DragValue, Ui};

use super::action::{StudyAction, StudyEdit};
use super::list_panel::following_ui;
use super::open::open_kind::OpenKind;
use super::open::open_sweep::OpenSweep;
use crate::data::{Sweep, SweepKind};
use crate::plan::SweepFiles;
use crate::session::Feed;
use crate::ui::widgets::fields::{button, name, push_if_clicked};
use crate::ui::widgets::file_task::FileTask;
use crate::ui::widgets::format;
use crate::ui::widgets::image_axes::ImageAxes;

impl OpenKind for OpenSweep {
    fn facts(&self) -> Vec<(&'static str, String)> {
        let expected = self.acquisition.num_expected();
        let radicals: Vec<&str> = self.radicals.iter().map(|(name, _)| name.as_str()).collect();
        self.acquisition.look(|sweep| facts(sweep, expected, &radicals))
    }

    fn ui(&self, _: bool, ui: &mut Ui, actions: &mut Vec<StudyAction>) {
        sweep_feed_ui(self, ui, actions);
    }

    fn measured_file(&self) -> Option<&Path> {
        self.files.as_ref().map(|files| &*files.projections)
    }

    fn axes(&self) -> ImageAxes {
        ImageAxes::of(self.space())
    }

    fn num_fitted(&self) -> usize {
        self.axes().shown().len()
    }

    fn num_received(&self) -> Option<usize> {
        Some(self.acquisition.num_complete())
    }

    fn feed(&self) -> Option<&Feed> {
        self.feed.as_ref()
    }

    fn has_used_all(&self, [num_projections, _]: [Option<usize>; 2]) -> bool {
        self.is_live() && Some(self.acquisition.num_complete()) == num_projections
    }
}

fn facts(sweep: &Sweep, expected: Option<usize>, radicals: &[&str]) -> Vec<(&'static str, String)> {
    let kind = match &sweep.kind {
        SweepKind::Pulse if sweep.space.is_slice() => "EPRI, pulse: line integrals".to_owned(),
        SweepKind::Pulse => "EPRI, pulse: plane integrals".to_owned(),
        SweepKind::ContinuousWave { gradient_mt_per_mm, .. } => {
            format!("EPRI, continuous wave, gradient {} mT/mm", format::value(*gradient_mt_per_mm))
        }
    };
    let num_complete = sweep.num_complete();
    let projections = match expected {
        Some(expected) if expected == num_complete => format!("{num_complete}"),
        Some(expected) => format!("{num_complete} of {expected}"),
        None => format!("{num_complete} so far"),
    };
    let samples = format!("{} of {} mm, ±{:.1} mm", sweep.num_points, format::value(sweep.step_mm), sweep.half_extent_mm());
    let half = if sweep.space.is_slice() { "circle" } else { "sphere" };
    let cover = format!("{:.1} % of the half {half}", 100.0 * sweep.cover());
    let mut rows = vec![
        ("Data", kind),
        ("Image", sweep.space.to_string()),
        ("Projections", projections),
        ("Samples", samples),
        ("Directions", cover),
    ];
    if let SweepKind::ContinuousWave { reference, .. } = &sweep.kind {
        let text = match reference {
            Some(spectrum) => format!("{} samples", spectrum.values.len()),
            None if !radicals.is_empty() => format!("none; spectra of the radicals {}", radicals.join(", ")),
            None if sweep.separates_spectra() => "missing; spectra in each voxel need none".into(),
            None => "missing: without it nothing can be deconvolved".into(),
        };
        rows.push(("Reference", text));
    }
    if let Some(phase) = &sweep.facts.phase {
        rows.push(("Complex", phase.text()));
    }
    rows
}

/// Draws the phase of complex spectra. Another phase reads the file again.
fn phase_ui(open: &OpenSweep, ui: &mut Ui, actions: &mut Vec<StudyAction>) {
    let Some(phase) = open.whole().look(|sweep| sweep.facts.phase) else { return };
    let Some(files) = &open.files else { return };
    let with_phase = |phase: Option<f64>| StudyAction::Open(SweepFiles { phase, ..files.clone() }.into());
    ui.horizontal(|ui| {
        ui.label("Phase");
        let mut degrees = open.phase_degrees;
        let value = DragValue::new(&mut degrees).range(-360.0..=360.0).speed(0.5).max_decimals(2).suffix("°");
        name(&ui.add(value).on_hover_text("The angle by which the complex projections are turned back"), "Phase");
        if degrees != open.phase_degrees {
            actions.push(StudyAction::Edit(StudyEdit::Phase(degrees)));
        }
        let is_other = open.phase_degrees != phase.degrees;
        let turn = ui.add_enabled(is_other, Button::new("Turn")).on_hover_text("Read the file again with this phase");
        push_if_clicked(turn, actions, with_phase(Some(open.phase_degrees)));
        let help = "Read the file again with the phase that leaves least in the imaginary part";
        let automatic = ui.add_enabled(!phase.is_automatic, Button::new("Automatic")).on_hover_text(help);
        push_if_clicked(automatic, actions, with_phase(None));
    });
}

/// Draws reference spectrum, phase, and following or replay with its pace.
fn sweep_feed_ui(open: &OpenSweep, ui: &mut Ui, actions: &mut Vec<StudyAction>) {
    let is_wave = open.whole().look(Sweep::is_continuous_wave);
    if is_wave && open.files.is_some() {
        push_if_clicked(ui.button("Reference spectrum…"), actions, StudyAction::Ask(FileTask::Reference));
    }
    phase_ui(open, ui, actions);
    if !open.whole().is_over() {
        return following_ui("Stops following: uses the projections read so far", ui, actions);
    }
    ui.horizontal(|ui| {
        if open.is_replay() && open.is_live() {
            let end = StudyAction::Edit(StudyEdit::StopFeed);
            button(ui, "End replay", "The next run uses the whole acquisition again", actions, end);
        } else {
            let help = "Play the acquisition again: the image grows as it did";
            button(ui, "Replay", help, actions, StudyAction::Replay);
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
            actions.push(StudyAction::Edit(StudyEdit::Pace(pace)));
        }
    });
}
