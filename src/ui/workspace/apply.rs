//! What becomes of each action: its folder applies what concerns it alone, and what crosses folders is done here.

use egui::Context;

use super::actions::Action;
use super::app::App;
use super::files::dialogs::FileTask;
use super::wake::waker;
use crate::data::{IsocontourRecipe, Notice, RoiShape};
use crate::measure;
use crate::session::Control;
use crate::session::wire::Remote;
use crate::ui::plots::BottomTab;
use crate::ui::plots::plot_options::PlotAction;
use crate::ui::rois::action::RoiAction;
use crate::ui::rois::state::RoiRequest;
use crate::ui::run::action::RunAction;
use crate::ui::run::run_view::{AfterStart, RunInput, RunRequest, RunView};
use crate::ui::slices::action::ViewAction;
use crate::ui::slices::comparison::CompareMode;
use crate::ui::slices::state::ImageView;

impl App {
    /// Does what a panel asked for.
    pub(super) fn apply(&mut self, ctx: &Context, action: Action) {
        match action {
            Action::Study(action) => self.apply_study(ctx, action),
            Action::Run(action) => self.apply_run(ctx, action),
            Action::Plot(PlotAction::Option(action)) => self.plots.apply(action),
            Action::Plot(PlotAction::ShowAt(place)) => {
                let nearest = self.run().nearest_kept(place);
                self.apply_run(ctx, RunAction::ShowIterate(nearest));
            }
            Action::Plot(PlotAction::AskSave(plot)) => self.ask_for_plot(ctx, *plot),
            Action::SavePicture(area) | Action::View(ViewAction::AskPicture(area)) => {
                self.ask(ctx, FileTask::SavePicture(area));
            }
            Action::View(action) | Action::Plot(PlotAction::View(action)) => {
                if matches!(action, ViewAction::SetProfile(_)) {
                    self.plots.peak_mm = None;
                }
                self.apply_view(ctx, action);
            }
            Action::Roi(action) => self.apply_roi(ctx, action),
            Action::File(action) => self.apply_file(ctx, action),
            Action::Leave(action) => self.apply_leave(ctx, action),
            Action::Session(action) => self.apply_session(ctx, action),
            Action::ToggleHelp => self.is_help_open = !self.is_help_open,
            Action::ToggleTheme => {
                let dark = ctx.theme() == egui::Theme::Dark;
                ctx.set_theme(if dark { egui::Theme::Light } else { egui::Theme::Dark });
            }
            Action::Notice(action) => self.notices.apply(action),
            Action::ConnectAgain => self.session.remote().into_iter().for_each(Remote::try_again),
            Action::ShowNumbers(tab) => self.numbers = tab,
        }
    }

    fn apply_run(&mut self, ctx: &Context, action: RunAction) {
        let input = RunInput { session: &self.session, study: &self.study, rois: self.rois.masked() };
        match self.runs.active_mut().apply(action, input, self.options.device) {
            None => {}
            Some(RunRequest::Start(then)) => self.start_then(ctx, then),
            Some(RunRequest::AskSaveImage) => _ = self.ask(ctx, FileTask::SaveImage),
            Some(RunRequest::SetReference(choice)) => {
                if let Err(text) = self.runs.choose_reference(choice, &self.session) {
                    self.notify(ctx, Notice::warning(text));
                }
            }
            Some(RunRequest::AskPicture(area)) => _ = self.ask(ctx, FileTask::SavePicture(area)),
            Some(RunRequest::Dismiss(run)) => self.runs.dismiss(run, &self.session),
            Some(RunRequest::Tell(notice)) => self.notify(ctx, notice),
        }
    }

    fn start_then(&mut self, ctx: &Context, then: AfterStart) {
        if !self.start(ctx, then == AfterStart::Step) {
            return;
        }
        match then {
            AfterStart::GoOn => {}
            AfterStart::Step => _ = self.session.send(Control::StepOnce),
            AfterStart::Compare => (self.numbers, self.slices.view.beside) = (BottomTab::Compare, CompareMode::Sides),
        }
    }

    /// Starts a run with the settings of its forms; says why where it is refused. Whether it started.
    pub(super) fn start(&mut self, ctx: &Context, paused: bool) -> bool {
        let input = RunInput { session: &self.session, study: &self.study, rois: self.rois.masked() };
        let started = self.runs.start(input, paused, waker(ctx));
        if let Err(text) = &started {
            self.notify(ctx, Notice::error(text.clone()));
        }
        started.is_ok()
    }

    fn apply_view(&mut self, ctx: &Context, action: ViewAction) {
        let RunView { shown, colouring, .. } = self.runs.active_mut();
        let image = ImageView { volume: shown.volume(), range: shown.range, num_fitted: self.study.num_fitted(), colouring };
        if let Some(notice) = self.slices.apply(action, image, &mut self.rois) {
            self.notify(ctx, notice);
        }
    }

    fn apply_roi(&mut self, ctx: &Context, action: RoiAction) {
        match self.rois.apply(action) {
            None => {}
            Some(RoiRequest::AddAtCrosshair) => {
                let sphere = RoiShape::Sphere { radius_mm: 10.0 };
                self.rois.add(self.rois.document.new_roi(sphere, self.slices.view.crosshair_mm));
            }
            Some(RoiRequest::TakeFromStudy) => self.take_rois_from_study(),
            Some(RoiRequest::GoTo(centre_mm)) => self.apply_view(ctx, ViewAction::SetCrosshair(centre_mm)),
            Some(RoiRequest::FindContour(index, recipe)) => self.find_contour(ctx, index, recipe),
            Some(RoiRequest::CopyText(text)) => ctx.copy_text(text),
            Some(RoiRequest::AskLoad) => _ = self.ask(ctx, FileTask::LoadRois),
            Some(RoiRequest::AskSave) => _ = self.ask(ctx, FileTask::SaveRois),
            Some(RoiRequest::AskExport) => _ = self.ask(ctx, FileTask::ExportCsv),
            Some(RoiRequest::PlaceNema(standard)) => self.place_nema(ctx, standard),
            Some(RoiRequest::AskNemaReport(standard)) => _ = self.ask(ctx, FileTask::NemaReport(standard)),
            Some(RoiRequest::Tell(notice)) => self.notify(ctx, notice),
        }
    }

    /// Finds the isocontour of a region anew, in the image on the screen.
    fn find_contour(&mut self, ctx: &Context, index: usize, recipe: IsocontourRecipe) {
        let Some((volume, roi)) = self.runs.active().shown.volume().zip(self.rois.document.rois.get_mut(index)) else { return };
        match measure::isocontour(volume, roi.centre_mm, recipe) {
            Ok(contour) => roi.shape = RoiShape::Isocontour(contour.into()),
            Err(reason) => {
                let notice = Notice::warning(format!("{}: {reason}", roi.name));
                self.notify(ctx, notice);
            }
        }
    }
}
