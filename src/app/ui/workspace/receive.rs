//! Reception of results from other threads: studies, paths, notices of a followed file, events, images.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use super::state::Workspace;
use crate::data::Notice;
use crate::remote::ConnectionState;
use crate::session::{EventKind, IterateUpdate, OxygenImages, Volumes, VolumesOf};
use crate::ui::rois::search::RoiQuery;
use crate::ui::slices::view::slice_index;
use crate::ui::study::file_check::main_file;
use crate::ui::study::loader::Loading;
use crate::ui::study::source::Source;
use crate::ui::widgets::wake::waker;

/// Maximum time of a frame for the events of the session.
const EVENT_TIME: Duration = Duration::from_millis(10);

impl Workspace {
    /// Receives the answer of a dialog of the desktop.
    pub fn receive_dialog(&mut self) {
        match self.files.dialogs.poll() {
            Some((task, Some(path))) => self.take_from_desktop(task, path),
            Some((task, None)) => self.cancel_saving(task),
            None => {}
        }
    }

    /// Receives studies, files, events and volumes, in this order.
    pub fn receive(&mut self) {
        // During the question about unsaved work the study waits for the answer.
        let loading = self.study.loading.as_ref().filter(|_| self.leaving.question.is_none());
        if let Some(outcome) = loading.and_then(Loading::poll) {
            self.finish_loading(outcome);
        }
        if let Some(chooser) = &mut self.files.series {
            chooser.receive(&self.ctx);
        }
        self.receive_simulations();
        self.receive_regions();
        self.devices.poll(self.remote.as_ref());
        self.receive_files();
        self.receive_dropped();
        self.receive_feed();
        self.receive_events();
        for volumes in self.session.take_volumes() {
            self.receive_volumes(volumes);
        }
        self.request_deviation();
        self.request_radicals();
        self.follow_spectra();
        self.follow_map();
        while let Some(frame) = self.session.take_frame() {
            self.receive_frame(frame);
        }
        self.slices.receive_region(self.patience());
        self.exchange_slices();
        self.continue_frames();
        let run = self.runs.active_mut();
        if let Some(time) = run.play(&self.session) {
            self.ctx.request_repaint_after(time);
        }
        run.filter(waker(&self.ctx));
        let remote = self.remote.as_ref();
        if remote.is_none_or(|remote| remote.connection() == ConnectionState::Connected) {
            self.runs.update_forecast(&self.study, remote, waker(&self.ctx));
        }
        self.check_close_request();
    }

    /// Receives the result of a search for regions.
    fn receive_regions(&mut self) {
        match self.rois.receive_search(&self.ctx) {
            Some(Ok(RoiQuery::NewContour(..))) => self.slices.end_drawing(),
            Some(Err(notice)) => self.notify(notice),
            Some(Ok(_)) | None => {}
        }
    }

    /// Opens a file that was dropped on the window; of several files the main one.
    fn receive_dropped(&mut self) {
        let paths: Vec<PathBuf> =
            self.ctx.input(|input| input.raw.dropped_files.iter().map(|file| file.path().to_owned()).collect());
        let num_dropped = paths.len();
        let Some(path) = main_file(paths) else { return };
        if num_dropped > 1 {
            let text = format!("one of {num_dropped} dropped files is opened, {}; drop the others one at a time", path.display());
            self.notify(Notice::info(text));
        }
        self.open(Source::file(path));
    }

    /// Receives the notices of a feed, and new events of a growing file.
    fn receive_feed(&mut self) {
        let feed = self.study.open.as_ref().and_then(|open| open.kind().feed());
        let notices: Vec<Notice> = feed.map(|feed| feed.notices().try_iter().collect()).unwrap_or_default();
        self.notify_all(notices);
        self.receive_list();
    }

    /// Takes volumes of a displayed run. Coupled images are of all radicals of a run, or the spectra of the active one.
    fn receive_volumes(&mut self, Volumes { id, of, volumes }: Volumes) {
        let Some(view) = self.runs.of_mut(id.run) else { return };
        if of == VolumesOf::Oxygen {
            view.live.oxygen_images = OxygenImages::of_volumes(volumes).map(|images| (id.subiteration, images));
            return;
        }
        let live = &self.runs.active().live;
        let has_spectra = live.info.as_ref().is_some_and(|info| info.job.spectral_axis().is_some());
        match of {
            VolumesOf::Deviation(_) => self.receive_deviation(volumes),
            VolumesOf::Coupled if live.run == id.run && has_spectra => self.spectra.receive(volumes, id.subiteration),
            VolumesOf::Coupled | VolumesOf::Oxygen => self.receive_radicals(id, volumes),
        }
    }

    fn receive_events(&mut self) {
        let begin = Instant::now();
        let mut any = false;
        while begin.elapsed() < EVENT_TIME {
            let Ok(event) = self.session.events().try_recv() else { break };
            any = true;
            let is_watched = self.runs.receive(&event);
            // Events of a run that is no longer displayed would seem to belong to another one. Run 0 is the session.
            match event.kind {
                _ if !is_watched && event.run != 0 => {}
                EventKind::Notice(notice) if self.is_repeated_for_frames(&notice) => {}
                EventKind::Notice(notice) => self.notify(notice),
                EventKind::Started(info) => self.take_simulations_of_run(&info),
                EventKind::RuleMet(text) => self.notify(Notice::info(text)),
                EventKind::Oxygen(_) | EventKind::OxygenRedraw(_) => {}
                EventKind::Failed(problem) => {
                    self.notify(Notice::error(problem.text));
                    self.save_failed_radicals();
                }
                _ => {}
            }
        }
        if any {
            self.runs.refresh_history(&self.session);
        }
        if !self.session.events().is_empty() {
            self.ctx.request_repaint();
        }
    }

    /// Sends the displayed slices to the server, and shows a requested image of the history.
    fn exchange_slices(&mut self) {
        let Some(remote) = self.remote.as_ref() else { return };
        let run = self.runs.active_mut();
        if let Some(grid) = run.live.info.as_ref().map(|info| info.job.grid()) {
            // The slices have priority over the rest of the volume.
            let crosshair = self.slices.view.crosshair_mm;
            remote.show_slices(std::array::from_fn(|a| slice_index(grid, a, crosshair[a])));
        }
        run.show_awaited(&self.session);
    }

    fn receive_frame(&mut self, frame: IterateUpdate) {
        let Some(run) = self.runs.of_mut(frame.id.run) else { return self.session.return_frame(frame) };
        let grid = &frame.volume.grid;
        let before = run.shown.ahead().or_else(|| Some(&**run.shown.chosen()?.1));
        if before.is_none_or(|before| before.grid != *grid) {
            self.slices.await_image(&frame.volume, self.study.truth(), self.study.num_fitted(), waker(&self.ctx));
        }
        run.receive_frame(frame, &self.session);
    }
}
