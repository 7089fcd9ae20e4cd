//! Input of the plots.

use crate::data::{Roi, ValueScale};
use crate::plan::IterationScheme;
use crate::session::RunId;
use crate::ui::run::curves::Curves;
use crate::ui::run::live::LiveRun;
use crate::ui::run::plot_options::PlotOptions;
use crate::ui::slices::profile::Profile;
use crate::ui::slices::view::ViewState;
use crate::ui::widgets::format;
use crate::ui::widgets::image_axes::ImageAxes;
use crate::ui::workspace::state::{Request, Workspace, request};

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
    pub live: &'a LiveRun,
    pub curves: &'a Curves,
}

impl PlotsView<'_> {
    /// Returns the title of the horizontal axis.
    pub fn axis(&self) -> String {
        format::axis(&self.course)
    }
}

/// Requests other curves.
pub fn edit(change: impl FnOnce(&mut PlotOptions) + 'static) -> Request {
    request(move |work| change(&mut work.plots))
}

/// Requests the stored iterate nearest to a value of the horizontal axis.
pub fn show_at(axis_value: f64) -> Request {
    request(move |work| {
        let nearest = work.run().nearest_stored(axis_value);
        work.show_iterate(nearest);
    })
}

/// Returns the input of the plots, without a profile.
pub fn plots_view(work: &Workspace) -> PlotsView<'_> {
    let run = work.run();
    let kept = work.runs.kept().iter().rev();
    let kept = kept.map(|view| KeptCurves { run: view.live.number, live: &view.live, curves: view.curves() });
    PlotsView {
        options: &work.plots,
        noise_limit: run.forms.stop.noise_limit().filter(|_| work.iteration_scheme().by_iteration),
        curves: run.curves(),
        kept: kept.collect(),
        show_timings: !work.options.for_pictures,
        rois: &work.rois.document.rois,
        course: work.iteration_scheme(),
        axes: work.study.axes(),
        profile: None,
        profile_beside: None,
        scale: work.scale(),
        filter_mm: run.shown.filter_mm(),
        view: &work.slices.view,
        shown_at: run.shown.id().filter(|_| run.shown.is_past()).map(|id| run.live.axis_value(id.subiteration as f64)),
    }
}
