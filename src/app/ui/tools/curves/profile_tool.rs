//! The line profile of the displayed image and of the reference image.

use std::sync::Arc;

use egui::Ui;

use super::plot_area::with_margin;
use super::plots_view::{PlotsView, plots_view};
use super::profile_plot::profile_ui;
use crate::data::Volume;
use crate::session::RunId;
use crate::ui::run::plot_options::ProfileCurves;
use crate::ui::slices::profile::{ProfileCache, ProfileInput, peak_line};
use crate::ui::tools::tool::Tool;
use crate::ui::widgets::theme;
use crate::ui::widgets::wake::waker;
use crate::ui::workspace::state::{Request, Workspace};

#[derive(Default)]
pub struct Profile {
    shown: ProfileCache,
    reference: ProfileCache,
}

/// Returns the input of the profile of an image, with that of the truth if there is one.
fn input<'a>(
    work: &'a Workspace,
    image: (RunId, u64),
    volume: &'a Arc<Volume>,
    truth: Option<&'a Arc<Volume>>,
) -> ProfileInput<'a> {
    ProfileInput { view: &work.slices.view, image, volume, truth, scale: work.scale() }
}

impl Tool for Profile {
    fn title(&self, _work: &Workspace) -> [&'static str; 2] {
        ["Profile", "Values along a line"]
    }

    /// Computes the profiles, or requests the widths of their peaks.
    fn update(&mut self, work: &mut Workspace, is_drawn: bool) {
        let draws = |curves| is_drawn && work.plots.profile == curves;
        let (draws_values, draws_widths) = (draws(ProfileCurves::Values), draws(ProfileCurves::Widths));
        let (run, patience) = (work.run(), work.patience());
        let truth = work.study.open.as_ref().and_then(|open| open.study.truth.as_ref());
        let image = (run.live.run, run.shown.generation());
        let of_shown = run.shown.image().filter(|_| draws_values).map(|volume| input(work, image, volume, truth));
        self.shown.update(of_shown, patience, waker(&work.ctx));
        let beside = work.runs.beside().filter(|_| draws_values);
        let beside = beside.and_then(|(_, image)| Some(input(work, (0, image.shown.generation()), image.shown.image()?, None)));
        self.reference.update(beside, patience, waker(&work.ctx));
        let view = &work.slices.view;
        work.runs.send_line(|grid| draws_widths.then(|| peak_line(view, grid)), &work.session);
    }

    fn ui(&mut self, work: &Workspace, ui: &mut Ui, requests: &mut Vec<Request>) {
        let beside = work.runs.beside();
        let view = PlotsView {
            profile: self.shown.profile(),
            profile_beside: beside.and_then(|(choice, image)| Some((image.text(choice), self.reference.profile()?))),
            ..plots_view(work)
        };
        with_margin(ui, |ui| profile_ui(&view, ui, requests, &theme::colours(ui.visuals())));
    }
}
