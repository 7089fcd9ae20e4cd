//! Requests on runs.

use super::panes::pane::COMPARE;
use super::state::Workspace;
use crate::data::Notice;
use crate::operator::Accumulation;
use crate::recon::AscentTuning;
use crate::session::{Control, HistoryChange};
use crate::ui::run::form::forms::Forms;
use crate::ui::run::form::settings::SettingsForm;
use crate::ui::run::live::RunState;
use crate::ui::run::reference::ReferenceChoice;
use crate::ui::run::run_view::{RunInput, RunView};
use crate::ui::slices::comparison::CompareMode;

impl Workspace {
    pub fn run_mut(&mut self) -> &mut RunView {
        self.runs.active_mut()
    }

    /// Starts a run with the settings of its forms. Returns false, with a notice, if this is refused.
    pub fn start(&mut self, paused: bool) -> bool {
        let input = RunInput { session: &self.session, study: &self.study, rois: self.rois.masked() };
        let started = self.runs.start(input, paused);
        if let Err(text) = &started {
            self.notify(Notice::error(text.clone()));
        }
        started.is_ok()
    }

    /// Starts with the settings of the form.
    pub fn start_run(&mut self) {
        self.start(false);
    }

    /// Starts with these settings, and shows the comparison with the run before.
    pub fn start_with(&mut self, forms: Forms) {
        self.run_mut().forms = forms;
        if self.start(false) {
            self.panes.show(&COMPARE);
            self.slices.view.beside = CompareMode::Sides;
        }
    }

    /// Does one step and pauses.
    pub fn step(&mut self) {
        if !self.runs.active_mut().step(&self.session) && self.start(true) {
            self.session.send(Control::StepOnce);
        }
    }

    pub fn pause(&mut self) {
        self.run().pause(&self.session);
    }

    pub fn resume(&mut self) {
        self.run().resume(&self.session);
    }

    /// Adds iterations to a finished or stopped run.
    pub fn continue_run(&mut self) {
        self.runs.active_mut().continue_run(&self.session);
    }

    /// Ends the run and keeps its image.
    pub fn stop(&mut self) {
        self.runs.active_mut().stop(&self.session);
    }

    /// Sets the accumulation of the next steps.
    pub fn set_accumulation(&mut self, accumulation: Accumulation) {
        let input = RunInput { session: &self.session, study: &self.study, rois: self.rois.masked() };
        let refused = self.runs.active_mut().set_accumulation(accumulation, input).err();
        self.notify_all(refused.map(Notice::info));
    }

    /// Sets penalty and step size of the next steps.
    pub fn set_tuning(&mut self, tuning: AscentTuning) {
        self.runs.active_mut().set_tuning(tuning, &self.session);
    }

    pub fn edit_form(&mut self, form: SettingsForm) {
        self.runs.active_mut().edit_form(form, &self.session);
    }

    /// Sets the form as it is for a new study.
    pub fn reset_form(&mut self) {
        let Some(open) = &self.study.open else { return };
        let outcome = self.runs.active_mut().forms.reset(open, self.options.device);
        self.notify_all(outcome.err().map(Notice::error));
    }

    /// Displays the stored iterate of this number; `None`: the newest.
    pub fn show_iterate(&mut self, number: Option<usize>) {
        self.runs.active_mut().choose_iterate(number, &self.session);
    }

    /// Displays a frame by its index.
    pub fn show_frame(&mut self, index: usize) {
        self.runs.active_mut().choose_frame(index, &self.session);
    }

    /// Displays the complete frames one after the other, or no longer.
    pub fn play_frames(&mut self, plays: bool) {
        self.runs.active_mut().set_frame_playback(plays, &self.session);
    }

    /// Begins or ends a playback of the stored iterates.
    pub fn toggle_play(&mut self) {
        self.runs.active_mut().toggle_play(&self.session);
    }

    /// Pins or unpins the displayed iterate.
    pub fn toggle_pin(&mut self) {
        self.runs.active_mut().toggle_pin(&self.session);
    }

    pub fn set_history_bytes(&mut self, bytes: u64) {
        self.session.send(HistoryChange::SetBudget(bytes));
        self.runs.active_mut().refresh_history(&self.session);
    }

    /// Compares the run and those after it with these images; `None`: with none.
    pub fn set_reference(&mut self, choice: Option<ReferenceChoice>) {
        let refused = self.runs.choose_reference(choice, &self.session).err();
        self.notify_all(refused.map(Notice::warning));
    }

    /// Returns true if the run has used all data that have arrived.
    pub fn is_waiting(&self) -> bool {
        let live = &self.run().live;
        let num_used = [Some(live.progress().0), live.num_events()];
        let has_all = self.study.open.as_ref().is_some_and(|open| open.kind().has_used_all(num_used));
        live.state == RunState::Running && live.iteration_scheme().can_grow && has_all
    }
}
