//! What the window does about each action.

use std::sync::Arc;

use egui::Context;

use super::actions::Action;
use super::app::{ActiveDrag, App};
use super::dialogs::FileTask;
use super::leaving::Leave;
use crate::data::{Notice, Roi, RoiShape};
use crate::geometry::Point;
use crate::operator::Accumulation;
use crate::plan::{Acquisition, Job};
use crate::render::Palette;
use crate::session::{Command, Feed, Kept, RoiSet};
use crate::ui::numbers::tabs::NumbersTab;
use crate::ui::rois::action::RoiAction;
use crate::ui::rois::document::{dragged, typed_ratio};
use crate::ui::run::action::RunAction;
use crate::ui::run::fbp_form::FbpForm;
use crate::ui::run::live::{LiveRun, RunState};
use crate::ui::run::recon_panel::{GATHERED, why_not};
use crate::ui::run::settings::SettingsForm;
use crate::ui::run::shown::{IterateId, Past};
use crate::ui::slices::action::{Drag, ViewAction};
use crate::ui::slices::tool::Tool;
use crate::ui::slices::view::{ProfileLine, active_bounds_mm};
use crate::ui::study::action::StudyAction;
use crate::ui::study::loader::{BUILT_IN, Loaded, Source};
use crate::ui::study::open_study::{OpenCounts, OpenStudy};
use crate::ui::study::open_sweep::OpenSweep;
use crate::ui::study::scan_files::{ScanFiles, SweepFiles};

impl App {
    /// Does what a panel asked for.
    pub(super) fn apply(&mut self, ctx: &Context, action: Action) {
        match action {
            Action::Study(action) => self.apply_study(ctx, action),
            Action::Run(action) => self.apply_run(ctx, action),
            Action::View(action) => self.apply_view(action),
            Action::Roi(action) => self.apply_roi(ctx, action),
            Action::File(action) => self.apply_file(ctx, action),
            Action::Leave(action) => self.apply_leave(ctx, action),
            Action::ToggleTheme => {
                let dark = ctx.theme() == egui::Theme::Dark;
                ctx.set_theme(if dark { egui::Theme::Light } else { egui::Theme::Dark });
            }
            Action::Notice(action) => self.notices.apply(action),
            Action::ShowNumbers(tab) => self.numbers = tab,
        }
    }

    fn apply_study(&mut self, ctx: &Context, action: StudyAction) {
        match action {
            StudyAction::AskForFile => _ = self.ask(ctx, FileTask::OpenStudy),
            StudyAction::Open(path) => self.open(ctx, Source::File(path)),
            StudyAction::BuiltIn(index) => {
                if let Some(study) = BUILT_IN.get(index) {
                    self.open(ctx, Source::BuiltIn(study.clone()));
                }
            }
            StudyAction::CancelLoading => {
                self.loading = None;
                self.saved.forget_decision();
            }
            StudyAction::EditPath(text) => self.path_text = text,
            StudyAction::AskForCorrection(which) => _ = self.ask(ctx, FileTask::Correct(which)),
            StudyAction::RemoveCorrection(which) => self.correct(ctx, |files| *files.correction_mut(which) = None),
            StudyAction::SetAdditiveInside(inside) => self.correct(ctx, |files| files.additive_inside = inside),
            StudyAction::ForgetRecent => self.preferences.recent.clear(),
            StudyAction::AskForReference => _ = self.ask(ctx, FileTask::Reference),
            StudyAction::AskToFollow => _ = self.ask(ctx, FileTask::FollowSweep),
            StudyAction::Replay => self.replay(ctx),
            StudyAction::StopFeed => self.stop_feed(ctx),
            StudyAction::EditPhase(degrees) => self.with_sweep(|open| open.phase_degrees = degrees),
            StudyAction::SetPhase(phase) => {
                if let Some(files) = self.sweep().and_then(|open| open.files.clone()) {
                    self.open(ctx, Source::Sweep(SweepFiles { phase, ..files }));
                }
            }
            StudyAction::SetPace(per_sec) => self.with_sweep(|open| {
                open.pace = per_sec;
                if let Some(feed) = &open.feed {
                    feed.set_pace(per_sec);
                }
            }),
            StudyAction::SelectProjection(index) => self.with_sweep(|open| open.selected = index),
        }
    }

    fn stop_feed(&mut self, ctx: &Context) {
        let told = self.study.as_mut().and_then(OpenStudy::sweep_mut).map(OpenSweep::stop_feed).unwrap_or_default();
        told.into_iter().for_each(|notice| self.notify(ctx, notice));
    }

    fn with_sweep(&mut self, change: impl FnOnce(&mut OpenSweep)) {
        if let Some(open) = self.study.as_mut().and_then(OpenStudy::sweep_mut) {
            change(open);
        }
    }

    /// Begins to read or simulate a study; the one that is open stays until the new one is there.
    pub(super) fn open(&mut self, ctx: &Context, source: Source) {
        self.leave(ctx, Leave::Open(source));
    }

    /// Reads the open file again with other corrections.
    pub(super) fn correct(&mut self, ctx: &Context, edit: impl FnOnce(&mut ScanFiles)) {
        if let Some(OpenStudy::Counts(OpenCounts { files: Some(files), .. })) = &self.study {
            let mut files = files.clone();
            edit(&mut files);
            self.open(ctx, Source::Corrected(files));
        }
    }

    /// A study has come, or not.
    pub(super) fn finish_loading(&mut self, ctx: &Context, outcome: Result<Loaded, String>) {
        let Some(loading) = self.loading.take() else { return };
        let source = loading.source.clone();
        match outcome {
            Ok(loaded) => self.leave(ctx, Leave::Show(Box::new(loaded), source)),
            Err(text) => self.notify(ctx, Notice::error(text)),
        }
        self.saved.forget_decision();
    }

    pub(super) fn show_study(&mut self, ctx: &Context, loaded: Loaded, source: Source) {
        self.session.send(Command::Cancel);
        self.running_forms = None;
        self.study_number += 1;
        self.forget_images();
        self.watch(LiveRun::default());
        (self.drag, self.draft) = (None, None);
        self.view.auto_palette = true;
        // Corrected otherwise, or with another reference spectrum, it is still the same: settings and regions stay.
        let is_the_same = self.is_open(&source);
        let notices = match loaded {
            Loaded::Counts { mut study, files, size } => {
                self.options.trace.record("study_ready", &[("bins", study.geometry().num_bins() as f64)]);
                let notices = std::mem::take(&mut study.notices);
                let total = study.measured.total();
                self.study = Some(OpenStudy::Counts(OpenCounts { study: Arc::from(study), total, files, size }));
                if self.numbers == NumbersTab::Sweep {
                    self.numbers = NumbersTab::Rois;
                }
                notices
            }
            Loaded::Sweep { mut sweep, files, follower } => {
                self.options.trace.record("study_ready", &[("projections", sweep.num_complete() as f64)]);
                let notices = std::mem::take(&mut sweep.notices);
                let mut open = OpenSweep::new(*sweep, files);
                if let Some(follower) = follower {
                    let feed = Feed::follow(*follower, open.whole.clone(), self.on_arrival(ctx));
                    open.feed = self.feed_or_notice(ctx, feed);
                }
                if open.space.is_slice() && self.view.profile == ProfileLine::Axis(2) {
                    self.view.profile = ProfileLine::Axis(0);
                }
                self.study = Some(OpenStudy::Sweep(Box::new(open)));
                self.numbers = NumbersTab::Sweep;
                notices
            }
        };
        notices.into_iter().for_each(|notice| self.notify(ctx, notice));
        if !is_the_same {
            self.view.auto_window = true;
            self.reset_form(ctx);
            if let Some(num_iterations) = self.options.num_iterations.take() {
                self.form.num_iterations = num_iterations;
            }
            self.take_rois_from_study();
            self.undo.restart(&self.document);
        }
        if let Source::File(path) | Source::Sweep(SweepFiles { projections: path, .. }) = &source {
            self.preferences.remember(path);
        }
        match self.options.autostart {
            // What cannot be reconstructed yet is not started, but asked for.
            true if self.sweep().is_some_and(OpenSweep::lacks_reference) => _ = self.ask(ctx, FileTask::Reference),
            true => {
                self.start(ctx, false);
                if matches!(source, Source::BuiltIn(_)) {
                    self.saved.started_by_itself(self.live.run);
                }
            }
            false => {}
        }
    }

    fn take_rois_from_study(&mut self) {
        if let Some(open) = &self.study {
            self.document.set_rois(open.rois().to_vec());
            self.rois_are_kept();
            self.selected = None;
        }
    }

    /// What a feed calls: the solver goes on, and the window looks.
    fn on_arrival(&self, ctx: &Context) -> impl Fn() + Send + use<> {
        let (arrived, ctx) = (self.session.on_arrival(), ctx.clone());
        move || {
            arrived();
            ctx.request_repaint();
        }
    }

    fn feed_or_notice(&mut self, ctx: &Context, feed: std::io::Result<Feed>) -> Option<Feed> {
        feed.map_err(|error| {
            let text = format!("the sweep cannot be followed, for no thread could be started: {error}; close other programs");
            self.notify(ctx, Notice::error(text));
        })
        .ok()
    }

    /// Plays the open sweep again from its first projection.
    fn replay(&mut self, ctx: &Context) {
        let arrived = self.on_arrival(ctx);
        let Some(open) = self.study.as_mut().and_then(OpenStudy::sweep_mut) else { return };
        let whole = open.whole.snapshot();
        open.acquisition = Acquisition::growing(whole.without_projections());
        open.selected = None;
        let feed = Feed::replay(whole.projections, open.pace, open.acquisition.clone(), arrived);
        let feed = self.feed_or_notice(ctx, feed);
        if let Some(open) = self.study.as_mut().and_then(OpenStudy::sweep_mut) {
            open.feed = feed;
        }
        self.start(ctx, false);
    }

    fn forget_images(&mut self) {
        if let Some(frame) = self.shown.clear() {
            self.session.return_frame(frame);
        }
        self.post_filter.forget();
    }

    /// What a start would do now; `None` without a study, an error where the form does not make sense.
    pub(super) fn job(&self) -> Option<Result<Job, String>> {
        Some(match self.study.as_ref()? {
            OpenStudy::Counts(open) => self
                .form
                .run_settings()
                .map(|settings| Job::Counts { study: Arc::clone(&open.study), settings: Box::new(settings) }),
            OpenStudy::Sweep(open) => self
                .fbp_form
                .sweep_settings()
                .map(|settings| Job::Sweep { acquisition: open.acquisition.clone(), settings: Box::new(settings) }),
        })
    }

    /// Starts a run with the form's settings, unless it is known to be refused: then the run before stays as it is.
    fn start(&mut self, ctx: &Context, paused: bool) {
        let job = match self.job().map(|job| job.and_then(|job| self.refusal().map_or(Ok(job), Err))) {
            None => return,
            Some(Ok(job)) => job,
            Some(Err(text)) => {
                // Memory may be free by the next try.
                self.forecaster.forget();
                return self.notify(ctx, Notice::error(text));
            }
        };
        self.running_forms = Some((self.form.clone(), self.fbp_form.clone()));
        self.branch += 1;
        self.sent_rois.clone_from(&self.document.rois);
        let rois = RoiSet { branch: self.branch, rois: self.sent_rois.clone() };
        let run = self.session.send(Command::Start { job, rois, paused });
        self.shown.set_past(None);
        self.watch(LiveRun::asked_for(run, self.branch, &self.sent_rois, paused));
    }

    fn apply_run(&mut self, ctx: &Context, action: RunAction) {
        match action {
            RunAction::Start => self.start(ctx, false),
            RunAction::Pause if self.live.is_running() => _ = self.session.send(Command::Pause),
            RunAction::Resume if self.live.state == RunState::Paused => _ = self.session.send(Command::Resume),
            RunAction::Pause | RunAction::Resume => {}
            RunAction::Continue => self.set_target(self.live.progress().0 / self.live.num_subsets() + self.form.num_iterations),
            RunAction::Step => {
                self.saved.run_was_touched();
                if self.live.is_sweep() && matches!(self.live.state, RunState::Ended(_)) {
                    self.start(ctx, true);
                } else if self.live.state.can_continue() {
                    self.live.target = self.live.target.max(self.live.progress().0 / self.live.num_subsets() + 1);
                } else if !self.live.state.is_active() {
                    self.start(ctx, true);
                }
                self.session.send(Command::StepOnce);
            }
            RunAction::Stop => _ = self.session.send(Command::Stop),
            RunAction::Cancel => _ = self.session.send(Command::Cancel),
            RunAction::SetAccumulation(accumulation) => self.set_accumulation(ctx, accumulation),
            RunAction::EditForm(form) => {
                let more = form.num_iterations != self.form.num_iterations;
                self.form = *form;
                if more && self.live.state.is_active() {
                    self.set_target(self.form.num_iterations);
                    if let Some((running, _)) = &mut self.running_forms {
                        running.num_iterations = self.form.num_iterations;
                    }
                }
            }
            RunAction::EditFbpForm(form) => self.fbp_form = *form,
            RunAction::ResetForm => self.reset_form(ctx),
            RunAction::ShowIterate(iteration) => self.show_iterate(iteration),
            RunAction::AskSaveImage => _ = self.ask(ctx, FileTask::SaveImage),
            RunAction::SetPostFilter(fwhm_mm) => {
                self.post_filter_mm = fwhm_mm;
                if fwhm_mm <= 0.0 {
                    self.shown.set_filtered(None);
                    self.post_filter.forget();
                }
            }
        }
    }

    /// Adds so in the next steps, unless the run's back end cannot.
    fn set_accumulation(&mut self, ctx: &Context, accumulation: Accumulation) {
        if self.sweep().is_some() {
            return self.notify(ctx, Notice::info(GATHERED));
        }
        if let Some(reason) = why_not(&self.live, accumulation) {
            return self.notify(ctx, Notice::info(reason));
        }
        self.form.accumulation = Some(accumulation);
        self.saved.run_was_touched();
        if self.live.is_there() {
            self.session.send(Command::SetAccumulation(accumulation));
        }
    }

    fn set_target(&mut self, num_iterations: usize) {
        self.saved.run_was_touched();
        self.live.target = num_iterations;
        self.session.send(Command::SetIterations(num_iterations));
    }

    fn reset_form(&mut self, ctx: &Context) {
        let device = self.options.device;
        let outcome = match &self.study {
            None => return,
            Some(OpenStudy::Counts(open)) => {
                SettingsForm::for_study(&open.study, open.size).map(|form| self.form = SettingsForm { device, ..form })
            }
            Some(OpenStudy::Sweep(open)) => {
                open.whole.look(FbpForm::for_sweep).map(|form| self.fbp_form = FbpForm { device, ..form })
            }
        };
        if let Err(text) = outcome {
            self.notify(ctx, Notice::error(text));
        }
    }

    fn show_iterate(&mut self, iteration: Option<usize>) {
        let past = iteration.and_then(|wanted| {
            let Kept { run, iteration, subiteration, volume, extremes } =
                self.history().find(|kept| self.number_of_kept(kept) == wanted)?;
            Some(Past { id: IterateId { run, iteration, subiteration }, volume, extremes })
        });
        self.shown.set_past(past);
    }

    fn apply_view(&mut self, action: ViewAction) {
        let grid = self.shown.volume().map(|volume| volume.grid.clone());
        match action {
            ViewAction::BeginDrag { drag, plane, at } => self.begin_drag(ActiveDrag { drag, plane, from: at, last: at }),
            ViewAction::MoveDrag { to, delta, scale } => self.move_drag(to, delta, scale),
            ViewAction::EndDrag => self.end_drag(),
            ViewAction::SelectRoi(index) => self.selected = index,
            ViewAction::SetCrosshair(point) => {
                if let Some(grid) = &grid {
                    self.view.set_crosshair(grid, point);
                }
            }
            ViewAction::StepSlice(axis, slices) => {
                if let Some(grid) = &grid {
                    self.view.step_slice(grid, axis, slices);
                }
            }
            ViewAction::Zoom { about, axes, factor } => self.view.zoom_about(about, axes, factor),
            ViewAction::ToggleMaximised(plane) => {
                self.view.maximised = if self.view.maximised.is_none() { Some(plane) } else { None };
            }
            ViewAction::SetPalette(palette) => {
                self.view.set_palette(palette);
                self.view.auto_palette = false;
                if palette != Palette::Signed {
                    self.view.usual_palette = palette;
                }
            }
            ViewAction::SetInterpolation(interpolation) => self.view.interpolation = interpolation,
            ViewAction::SetWindow(window) => self.view.set_window(window),
            ViewAction::SetAutoWindow(auto) => self.view.auto_window = auto,
            ViewAction::FullWindow => self.view.set_window(self.shown.range),
            ViewAction::FitObject => {
                if let Some(bounds) = self.shown.volume().and_then(active_bounds_mm)
                    && let Some(grid) = &grid
                {
                    self.view.fit(grid, bounds, if self.sweep().is_some() { self.axes().shown().len() } else { 2 });
                }
            }
            ViewAction::Reset => {
                if let Some(grid) = &grid {
                    self.view.reset_for(grid);
                }
                self.view.maximised = None;
                self.view.auto_window = true;
            }
            ViewAction::SetTool(tool) => self.view.tool = tool,
            ViewAction::SetProfile(profile) => self.view.profile = profile,
            ViewAction::ShowRois(show) => self.view.show_rois = show,
        }
    }

    fn begin_drag(&mut self, drag: ActiveDrag) {
        if let Drag::Roi(index, _) = drag.drag {
            self.selected = Some(index);
        }
        self.drag = Some(drag);
    }

    fn move_drag(&mut self, to: Point, delta: egui::Vec2, scale: f64) {
        let Some(active) = &mut self.drag else { return };
        let moved: Point = std::array::from_fn(|a| to[a] - active.last[a]);
        active.last = to;
        let active = *active;
        match active.drag {
            Drag::Crosshair => self.apply_view(ViewAction::SetCrosshair(to)),
            Drag::Pan => {
                let ([a, b], _) = active.plane.axes();
                self.view.focus_mm[a] -= f64::from(delta.x) / scale;
                self.view.focus_mm[b] -= f64::from(delta.y) / scale;
            }
            Drag::Window => self.view.drag_window(delta, self.shown.range),
            Drag::Draw(tool) => {
                let drawn = tool.drawn(active.plane, active.from, to);
                self.draft = drawn.map(|(shape, centre_mm)| self.document.new_roi(shape, centre_mm));
            }
            Drag::Roi(index, grip) => {
                if let Some(roi) = self.document.rois.get_mut(index) {
                    *roi = dragged(roi, grip, active.plane, moved, to);
                }
            }
            Drag::Profile => self.view.profile = ProfileLine::Between(active.from, to),
        }
    }

    fn end_drag(&mut self) {
        self.drag = None;
        if let Some(roi) = self.draft.take() {
            self.add_roi(roi);
            self.view.tool = Tool::Crosshair;
            self.view.show_rois = true;
        }
    }

    fn add_roi(&mut self, roi: Roi) {
        self.document.rois.push(roi);
        self.selected = Some(self.document.rois.len() - 1);
    }

    fn apply_roi(&mut self, ctx: &Context, action: RoiAction) {
        match action {
            RoiAction::Select(index) => self.selected = index,
            RoiAction::Replace(index, roi) => {
                if let Some(place) = self.document.rois.get_mut(index) {
                    *place = *roi;
                }
            }
            RoiAction::EnterRatio(index, typed) => {
                let Some(roi) = self.document.rois.get_mut(index) else { return };
                match typed_ratio(&typed) {
                    Ok(ratio) => roi.activity_ratio = ratio,
                    Err(reason) => {
                        let text = format!("{}: {reason}", roi.name);
                        self.notify(ctx, Notice::warning(text));
                    }
                }
            }
            RoiAction::DeleteSelected => {
                if let Some(index) = self.selected.take()
                    && index < self.document.rois.len()
                {
                    self.document.rois.remove(index);
                }
            }
            RoiAction::AddAtCrosshair => {
                self.add_roi(self.document.new_roi(RoiShape::Sphere { radius_mm: 10.0 }, self.view.crosshair_mm));
            }
            RoiAction::TakeFromStudy => {
                self.take_rois_from_study();
            }
            RoiAction::GoTo(index) => {
                if let Some(centre) = self.document.rois.get(index).map(|roi| roi.centre_mm) {
                    self.apply_view(ViewAction::SetCrosshair(centre));
                }
            }
            RoiAction::MeasureUnfiltered(unfiltered) => self.measure_unfiltered = unfiltered,
            RoiAction::AskLoad => _ = self.ask(ctx, FileTask::LoadRois),
            RoiAction::AskSave => _ = self.ask(ctx, FileTask::SaveRois),
            RoiAction::AskExport => _ = self.ask(ctx, FileTask::ExportCsv),
            RoiAction::Undo => self.undo.undo(&mut self.document),
            RoiAction::Redo => self.undo.redo(&mut self.document),
        }
        self.selected = self.selected.filter(|index| *index < self.document.rois.len());
    }

    /// Sends edited ROIs to the solver once the mouse is let go. Names and roles do not concern it.
    pub(super) fn send_rois(&mut self, ctx: &Context) {
        if self.live.run == 0 || self.sent_rois == self.document.rois || ctx.input(|input| input.pointer.any_down()) {
            return;
        }
        let places = |rois: &[Roi]| rois.iter().map(|roi| (roi.shape, roi.centre_mm)).collect::<Vec<_>>();
        let same_places = places(&self.sent_rois) == places(&self.document.rois);
        self.sent_rois.clone_from(&self.document.rois);
        if same_places {
            self.live.rename_rois(self.branch, &self.sent_rois);
        } else {
            self.branch += 1;
            self.live.begin_branch(self.branch, &self.sent_rois);
            self.session.send(Command::SetRois(RoiSet { branch: self.branch, rois: self.sent_rois.clone() }));
        }
        self.curves_changed();
    }
}
