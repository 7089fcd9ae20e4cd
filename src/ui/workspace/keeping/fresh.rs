//! What another study begins with. This is the one place that decides what goes on from the study before it.
//!
//! How images are looked at goes on: palette and share of the values below the window's top, interpolation, layout of the views,
//! crosshair, outlines and tool, tabs and plots, which outlines have numbers, memory for the history.
//!
//! Whatever changes a number, or what is compared with what, begins anew: settings of runs, stop rules, post-filter, the image that is
//! measured, calibration (that kept beside the new study's file is read), reference and comparison view, thickness of slices, line
//! and width of the profile, regions, crosshair, locked window. (A study that is only corrected otherwise is the same one: all of it
//! stays. A session that is restored brings its own.)

use egui::Context;

use crate::data::Notice;
use crate::ui::slices::view::ViewState;
use crate::ui::study::calibration::Calibration;
use crate::ui::workspace::app::App;

impl App {
    /// Forgets what belongs to the study before; the new one is open already.
    pub(in crate::ui) fn begin_fresh(&mut self, ctx: &Context) {
        // (The reference went with its runs.)
        let run = self.runs.active_mut();
        run.post_filter_mm = 0.0;
        run.colouring.auto_window = true;
        self.rois.measure_unfiltered = false;
        self.study.calibration = Calibration::default();
        self.slices.view = fresh_view(&self.slices.view);
        self.plots.peak_mm = None;
        self.reset_forms(ctx);
        self.take_rois_from_study();
    }

    /// Takes the settings of runs and their stop rules for the open study.
    fn reset_forms(&mut self, ctx: &Context) {
        let Some(open) = &self.study.open else { return };
        let forms = &mut self.runs.active_mut().forms;
        forms.stop = Default::default();
        let outcome = forms.reset(open, self.options.device);
        if let Some(num_iterations) = self.options.num_iterations.take() {
            forms.settings.num_iterations = num_iterations;
        }
        if let Err(text) = outcome {
            self.notify(ctx, Notice::error(text));
        }
    }
}

/// The view of another study.
fn fresh_view(before: &ViewState) -> ViewState {
    let ViewState { interpolation, layout, maximised, turned, spins, tool, show_rois, swipe, show_crosshair, .. } = *before;
    ViewState { interpolation, layout, maximised, turned, spins, tool, show_rois, swipe, show_crosshair, ..ViewState::default() }
}
