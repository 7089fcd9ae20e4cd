//! Application of the actions: folders apply their own; this file applies those that cross folders.

use egui::Context;

use super::actions::Action;
use super::app::App;
use super::commands::search::CommandSearch;
use super::panes::arrangement::Arrangement;
use super::panes::pane::Pane;
use super::panes::pane_tree::PaneTree;
use super::panes::panes_ui::PaneAction;
use crate::data::{Notice, RoiShape};
use crate::remote::Remote;
use crate::session::Control;
use crate::ui::plots::BottomTab;
use crate::ui::plots::plot_options::PlotAction;
use crate::ui::rois::action::RoiAction;
use crate::ui::rois::roi_table::table_text;
use crate::ui::rois::search::{RoiQuery, RoiSearch};
use crate::ui::run::action::RunAction;
use crate::ui::run::run_view::{AfterStart, RunInput, RunRequest, RunView};
use crate::ui::slices::action::ViewAction;
use crate::ui::slices::comparison::CompareMode;
use crate::ui::slices::state::ImageView;
use crate::ui::study::action::StudyAction;
use crate::ui::widgets::file_task::FileTask;
use crate::ui::widgets::theme;

impl App {
    pub(super) fn apply(&mut self, ctx: &Context, action: Action) {
        match action {
            Action::Study(action) => self.apply_study(ctx, action),
            Action::Layer(action) => self.apply_layer(ctx, action),
            Action::Series(action) => self.apply_series(ctx, action),
            Action::Run(action) => self.apply_run(ctx, action),
            Action::Plot(PlotAction::Edit(options)) => self.plots = *options,
            Action::Plot(PlotAction::ShowAt(place)) => {
                let nearest = self.run().nearest_stored(place);
                self.apply_run(ctx, RunAction::ShowIterate(nearest));
            }
            Action::Plot(PlotAction::AskSave(plot)) => self.ask_for_plot(ctx, *plot),
            Action::Ask(task) => _ = self.ask(ctx, task),
            Action::View(ViewAction::AskPicture(area)) => _ = self.ask(ctx, FileTask::SavePicture(area)),
            Action::View(action) | Action::Plot(PlotAction::View(action)) => {
                if matches!(action, ViewAction::SetProfile(_)) {
                    self.plots.peak_mm = None;
                }
                self.apply_view(ctx, action);
            }
            Action::Roi(action) => self.apply_roi(ctx, action),
            Action::Lesion(action) => self.apply_lesions(ctx, action),
            Action::ShowSpectrum(of) => self.spectra.shown = of,
            Action::Recovery(action) => self.apply_recovery(ctx, action),
            Action::File(action) => self.apply_file(ctx, action),
            Action::Unsaved(answer) => self.answer_unsaved(ctx, answer),
            Action::Offer(answer) => self.answer_offer(ctx, answer),
            Action::ToggleHelp => self.is_help_open = !self.is_help_open,
            Action::ToggleTheme => {
                let dark = ctx.theme() == egui::Theme::Dark;
                ctx.set_theme(if dark { egui::Theme::Light } else { egui::Theme::Dark });
            }
            Action::Notice(action) => self.notices.apply(action),
            Action::ConnectAgain => self.remote.as_ref().into_iter().for_each(Remote::reconnect),
            Action::Pane(PaneAction::Show(pane)) => self.panes.show(pane),
            Action::Pane(PaneAction::Toggle(pane)) => self.panes.toggle(pane),
            Action::Pane(PaneAction::Maximise(pane)) => self.panes.toggle_maximised(pane),
            Action::Pane(PaneAction::Restore) => self.panes.maximise(None),
            Action::Arrange(arrangement) => self.arrange(arrangement),
            Action::ArrangeAs(name) => {
                if let Some(saved) = self.preferences.arrangements.get(&name) {
                    self.panes = saved.clone();
                }
            }
            Action::SaveArrangement(name) => {
                self.arrangement_name.clear();
                self.preferences.arrangements.insert(name, self.panes.clone());
            }
            Action::RemoveArrangement(name) => _ = self.preferences.arrangements.remove(&name),
            Action::NameArrangement(name) => self.arrangement_name = name,
            Action::ToggleSearch => self.search = if self.search.is_some() { None } else { Some(CommandSearch::default()) },
            Action::Search(search) => self.search = Some(search),
            Action::CancelFilm => self.film = None,
            Action::Anonymise(is_anonymous) => self.preferences.is_anonymous = is_anonymous,
            Action::ReduceMotion(is_reduced) => {
                self.preferences.is_motion_reduced = is_reduced;
                theme::reduce_motion(ctx, is_reduced);
            }
        }
    }

    pub(super) fn apply_run(&mut self, ctx: &Context, action: RunAction) {
        let input = RunInput { session: &self.session, study: &self.study, rois: self.rois.masked() };
        match self.runs.active_mut().apply(action, input, self.options.device) {
            None => {}
            Some(RunRequest::Start(then)) => self.start_then(ctx, then),
            Some(RunRequest::Ask(task)) => _ = self.ask(ctx, task),
            Some(RunRequest::Anonymise(is_anonymous)) => self.preferences.is_anonymous = is_anonymous,
            Some(RunRequest::SetReference(choice)) => {
                if let Err(text) = self.runs.choose_reference(choice, &self.session) {
                    self.notify(ctx, Notice::warning(text));
                }
            }
            Some(RunRequest::Dismiss(run)) => self.runs.dismiss(run, &self.session),
            Some(RunRequest::Notify(notice)) => self.notify(ctx, notice),
        }
    }

    fn start_then(&mut self, ctx: &Context, then: AfterStart) {
        if !self.start(ctx, then == AfterStart::Step) {
            return;
        }
        match then {
            AfterStart::Continue => {}
            AfterStart::Step => _ = self.session.send(Control::StepOnce),
            AfterStart::Compare => {
                self.panes.show(Pane::Table(BottomTab::Compare));
                self.slices.view.beside = CompareMode::Sides;
            }
        }
    }

    /// Arranges panes and views for a kind of work.
    fn arrange(&mut self, arrangement: Arrangement) {
        self.panes = PaneTree::of(arrangement);
        let (layout, turned) = arrangement.views();
        let view = &mut self.slices.view;
        (view.layout, view.maximised) = (layout, None);
        view.turned = turned.unwrap_or(view.turned);
    }

    /// Starts a run with the settings of its forms. Returns false, with a notice, if this is refused.
    pub(super) fn start(&mut self, ctx: &Context, paused: bool) -> bool {
        let input = RunInput { session: &self.session, study: &self.study, rois: self.rois.masked() };
        let started = self.runs.start(input, paused);
        if let Err(text) = &started {
            self.notify(ctx, Notice::error(text.clone()));
        }
        started.is_ok()
    }

    pub(super) fn apply_view(&mut self, ctx: &Context, action: ViewAction) {
        let RunView { shown, colouring, .. } = self.runs.active_mut();
        let image = ImageView { volume: shown.image(), range: shown.range, num_fitted: self.study.num_fitted(), colouring };
        self.slices.apply(action, image, &mut self.rois, ctx);
    }

    fn apply_roi(&mut self, ctx: &Context, action: RoiAction) {
        match action {
            RoiAction::Ask(task) => _ = self.ask(ctx, task),
            RoiAction::Anonymise(is_anonymous) => self.preferences.is_anonymous = is_anonymous,
            RoiAction::AddAtCrosshair => {
                let sphere = RoiShape::Sphere { radius_mm: 10.0 };
                self.rois.add(self.rois.document.new_roi(sphere, self.slices.view.crosshair_mm));
            }
            RoiAction::TakeFromStudy => self.take_rois_from_study(),
            RoiAction::GoTo(index) => {
                if let Some(roi) = self.rois.document.rois.get(index) {
                    self.apply_view(ctx, ViewAction::SetCrosshair(roi.centre_mm));
                }
            }
            RoiAction::FindContour(index, recipe) => {
                let image = self.runs.active().shown.image();
                if let Some((image, roi)) = image.zip(self.rois.document.rois.get(index)) {
                    let query = RoiQuery::Contour(index, Box::new(roi.clone()), recipe);
                    self.rois.search.start(query, image, ctx);
                }
            }
            RoiAction::PlaceNema(standard) => self.place_nema(ctx, standard),
            RoiAction::CancelSearch => self.rois.search = RoiSearch::default(),
            RoiAction::CopyTable => ctx.copy_text(table_text(&self.roi_view())),
            RoiAction::Edit(edit) => {
                let notice = self.rois.apply(edit);
                self.notify_all(ctx, notice);
            }
        }
    }

    fn apply_study(&mut self, ctx: &Context, action: StudyAction) {
        match action {
            StudyAction::Ask(task) => _ = self.ask(ctx, task),
            StudyAction::Open(source) => self.open(ctx, source),
            StudyAction::CancelLoading => {
                self.study.loading = None;
                self.saved.forget_confirmation();
            }
            StudyAction::ForgetRecent => self.preferences.recent.clear(),
            StudyAction::Replay => self.replay(ctx),
            StudyAction::MakeTubes(recipe) => self.simulate_tubes(ctx, recipe),
            StudyAction::CalibrateBySelected => self.calibrate_by_selected(ctx),
            StudyAction::Edit(edit) => {
                let notices = self.study.apply(edit);
                self.notify_all(ctx, notices);
            }
        }
    }
}
