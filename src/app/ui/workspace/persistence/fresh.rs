//! State at the start of another study. Only this file decides which state of the previous study remains.
//!
//! The display of images remains: palette and window percentile, interpolation, layout of the views, crosshair, outlines and tool,
//! tabs and plots, outlines with numbers, history memory limit.
//!
//! All state with an effect on numbers and comparisons is reset: settings of runs, stopping rules, post-filter, measured image,
//! calibration (the file next to the new study is read), reference and comparison mode, slab thickness, line and width of the
//! profile, regions, crosshair, locked window. The same study with other corrections keeps all. A restored session contains its
//! own state.

use crate::data::{Notice, ValueScale};
use crate::ui::slices::view::ViewState;
use crate::ui::study::calibration::Calibration;
use crate::ui::widgets::window_presets::window_presets;
use crate::ui::workspace::state::Workspace;

impl Workspace {
    /// Resets the state of the previous study; the new one is open already.
    pub fn reset_for_study(&mut self) {
        let run = self.runs.active_mut();
        run.post_filter_mm = 0.0;
        run.colouring.auto_window = true;
        self.rois.measure_unfiltered = false;
        self.study.calibration = Calibration::default();
        self.slices.view = view_after(&self.slices.view);
        self.plots.peak_mm = None;
        self.reset_forms();
        self.take_rois_from_study();
        self.set_usual_window();
    }

    /// Sets the usual window of uptake values or Hounsfield units.
    fn set_usual_window(&mut self) {
        let Some(open) = self.study.images() else { return };
        let scale = open.uptake_scale().unwrap_or(ValueScale::own(open.series.unit()));
        let Some(preset) = window_presets(scale.unit).first() else { return };
        let colouring = &mut self.runs.active_mut().colouring;
        colouring.window = preset.window.map(|end| (f64::from(end) / scale.factor) as f32);
        colouring.auto_window = false;
    }

    /// Resets the settings of runs and their stopping rules for the open study.
    fn reset_forms(&mut self) {
        let Some(open) = &self.study.open else { return };
        let forms = &mut self.runs.active_mut().forms;
        forms.stop = Default::default();
        let outcome = forms.reset(open, self.options.device);
        if let Some(num_iterations) = self.options.num_iterations.take() {
            forms.settings.num_iterations = num_iterations;
        }
        if let Err(text) = outcome {
            self.notify(Notice::error(text));
        }
    }
}

/// Returns the view of another study.
fn view_after(before: &ViewState) -> ViewState {
    let ViewState { interpolation, layout, maximised, turned, spins, tool, show_rois, swipe, show_crosshair, .. } = *before;
    ViewState { interpolation, layout, maximised, turned, spins, tool, show_rois, swipe, show_crosshair, ..ViewState::default() }
}
