//! What comes from other threads: studies, paths, news of a followed file, events, images.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use egui::Context;

use super::app::App;
use crate::data::Notice;
use crate::session::wire::LineState;
use crate::session::{EventKind, IterateUpdate};
use crate::ui::slices::view::slice_index;
use crate::ui::study::loader::{Loading, Source};
use crate::ui::study::open::open_study::OpenData;
use crate::ui::study::openable::chosen_of;

/// Longest time that a frame spends on the session's events.
const EVENT_TIME: Duration = Duration::from_millis(10);

impl App {
    /// Takes in what came from other threads: studies, dialogs, events, volumes (in this order; events before volumes).
    pub(super) fn receive(&mut self, ctx: &Context) {
        // While a question is open the study waits for its answer.
        let loading = self.study.loading.as_ref().filter(|_| self.leaving.is_none());
        if let Some(outcome) = loading.and_then(Loading::poll) {
            self.finish_loading(ctx, outcome);
        }
        self.receive_tubes(ctx);
        self.receive_matrix(ctx);
        self.devices.poll(self.session.remote());
        match self.dialogs.poll() {
            Some((task, Some(path))) => self.take_from_desktop(ctx, task, path),
            Some((task, None)) => self.was_not_saved(task),
            None => {}
        }
        self.receive_files(ctx);
        self.receive_dropped(ctx);
        self.receive_news(ctx);
        self.receive_events(ctx);
        while let Some(frame) = self.session.take_frame() {
            self.receive_frame(frame);
        }
        self.receive_from_afar();
        self.go_on_with_frames(ctx);
        let run = self.runs.active_mut();
        if let Some(time) = run.play(&self.session) {
            ctx.request_repaint_after(time);
        }
        run.filter();
        let remote = self.session.remote();
        if remote.is_none_or(|remote| remote.line() == LineState::Connected) {
            run.look_ahead(&self.study, remote);
        }
        self.look_for_close(ctx);
    }

    /// Opens what was dropped on the window: one file, of several the one that they belong to.
    fn receive_dropped(&mut self, ctx: &Context) {
        let paths: Vec<PathBuf> = ctx.input(|input| input.raw.dropped_files.iter().map(|file| file.path().to_owned()).collect());
        let num_dropped = paths.len();
        let Some(path) = chosen_of(paths) else { return };
        if num_dropped > 1 {
            let words =
                format!("one of {num_dropped} dropped files is opened, {}; drop the others one at a time", path.display());
            self.notify(ctx, Notice::info(words));
        }
        self.open(ctx, Source::file(path));
    }

    /// What a feed tells of its file.
    fn receive_news(&mut self, ctx: &Context) {
        let feed = match self.study.open.as_ref().map(|open| &open.data) {
            Some(OpenData::Sweep(open)) => open.feed.as_ref(),
            Some(OpenData::Events(open)) => open.following.as_ref().map(|following| &following.feed),
            _ => None,
        };
        let news: Vec<Notice> = feed.map(|feed| feed.notices().try_iter().collect()).unwrap_or_default();
        news.into_iter().for_each(|notice| self.notify(ctx, notice));
        self.receive_list(ctx);
    }

    fn receive_events(&mut self, ctx: &Context) {
        let begin = Instant::now();
        let mut any = false;
        while begin.elapsed() < EVENT_TIME {
            let Ok(event) = self.session.events().try_recv() else { break };
            any = true;
            let is_watched = self.runs.receive(&event);
            // What a run said that is no longer watched would be taken for a word on another; run 0 is the session itself.
            match event.kind {
                _ if !is_watched && event.run != 0 => {}
                EventKind::Notice(notice) if self.is_told_of_frames(&notice) => {}
                EventKind::Notice(notice) => self.notify(ctx, notice),
                EventKind::Started(info) => {
                    self.take_tubes_of_run(&info);
                    self.take_matrix_of_run(&info);
                }
                EventKind::RuleMet(words) => self.notify(ctx, Notice::info(words)),
                EventKind::Failed(problem) => self.notify(ctx, Notice::error(problem.text)),
                _ => {}
            }
        }
        if any {
            self.runs.look_back(&self.session);
        }
        if !self.session.events().is_empty() {
            ctx.request_repaint();
        }
    }

    /// Tells a session elsewhere what is looked at, and shows the image of the past that it was asked for.
    fn receive_from_afar(&mut self) {
        let Some(remote) = self.session.remote() else { return };
        let run = self.runs.active_mut();
        if let Some(grid) = run.live.info.as_ref().map(|info| info.job.grid()) {
            // Also where more is looked at than the slices, they come first.
            let crosshair = self.slices.view.crosshair_mm;
            remote.look_at(std::array::from_fn(|a| slice_index(grid, a, crosshair[a])));
        }
        run.take_awaited(&self.session);
    }

    fn receive_frame(&mut self, frame: IterateUpdate) {
        let Some(run) = self.runs.of_mut(frame.id.run) else { return self.session.return_frame(frame) };
        let grid = &frame.volume.grid;
        if run.grid_shown().is_none_or(|shown| shown != grid) {
            self.slices.await_image(&frame.volume, self.study.truth(), self.study.num_fitted());
        }
        run.receive_frame(frame, &self.session);
    }
}
