//! Input of the plots.

use super::plot_options::{PlotAction, PlotOptions};
use super::profile::Profile;
use crate::data::{Roi, ValueScale};
use crate::plan::IterationScheme;
use crate::session::RunId;
use crate::ui::run::curves::Curves;
use crate::ui::slices::view::ViewState;
use crate::ui::widgets::format;
use crate::ui::widgets::image_axes::ImageAxes;

pub struct PlotsView<'a> {
    /// Which curves, and how.
    pub options: &'a PlotOptions,
    pub curves: &'a Curves,
    /// Curves of earlier runs, the newest first.
    pub kept: Vec<KeptCurves<'a>>,
    /// Iteration scheme, for the horizontal axis.
    pub course: IterationScheme,
    pub axes: ImageAxes,
    /// The line profile of the image on the screen.
    pub profile: Option<&'a Profile>,
    /// The same of the reference run's image, and what that is called.
    pub profile_beside: Option<(String, &'a Profile)>,
    /// Scale of the displayed values; the curves are in the image's own unit.
    pub scale: ValueScale,
    /// FWHM of the filter on the image on the screen, mm. The curves are without it.
    pub filter_mm: Option<f64>,
    /// Where the profile runs.
    pub view: &'a ViewState,
    /// Axis value of the displayed stored iterate.
    pub shown_at: Option<f64>,
    /// Noise-to-signal ratio at which the run stops, %.
    pub noise_limit: Option<f64>,
    pub show_timings: bool,
    pub rois: &'a [Roi],
}

/// Curves of an earlier run.
pub struct KeptCurves<'a> {
    pub run: RunId,
    /// Settings of the run as text.
    pub title: String,
    pub curves: &'a Curves,
}

impl PlotsView<'_> {
    /// Returns the title of the horizontal axis.
    pub fn axis(&self) -> String {
        format::axis(&self.course)
    }

    /// Returns the action of an edit of the options.
    pub(super) fn edit(&self, change: impl FnOnce(&mut PlotOptions)) -> PlotAction {
        let mut options = self.options.clone();
        change(&mut options);
        PlotAction::Edit(Box::new(options))
    }
}
