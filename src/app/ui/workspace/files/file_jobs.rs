//! Files that are read or written in the background: regions, images, pictures, reports.

use std::path::Path;
use std::time::Duration;

use super::file_job::{FileJob, FileResult};
use crate::data::Notice;
use crate::io::IoError;
use crate::task::BackgroundTask;
use crate::ui::run::form::sources::RadicalSource;
use crate::ui::widgets::file_task::FileTask;
use crate::ui::workspace::state::Workspace;

impl Workspace {
    /// Writes a file in the background; notices and errors follow at its end.
    pub fn write_in_background(
        &mut self,
        task: FileTask,
        path: &Path,
        write: impl FnOnce(&Path) -> Result<Vec<Notice>, String> + Send + 'static,
    ) {
        self.start_job((task, path), Duration::ZERO, |path| write(path).map(FileResult::Written));
    }

    /// Reads a file in the background; its content, or an error, follows at the end.
    pub(super) fn read_in_background(
        &mut self,
        task: FileTask,
        path: &Path,
        read: impl FnOnce(&Path) -> Result<FileResult, IoError> + Send + 'static,
    ) {
        self.start_job((task, path), self.patience(), |path| read(path).map_err(|error| error.to_string()));
        self.receive_files();
    }

    fn start_job(
        &mut self,
        (task, path): (FileTask, &Path),
        patience: Duration,
        job: impl FnOnce(&Path) -> Result<FileResult, String> + Send + 'static,
    ) {
        let (wake, of) = (self.ctx.clone(), path.to_owned());
        let work = BackgroundTask::start("file", move || wake.request_repaint(), move |_| job(&of));
        let image = self.run().shown.newest_id().map(|id| (id.run, id.subiteration));
        self.files.jobs.push(FileJob { task, path: path.to_owned(), image, patience, work });
    }

    pub fn is_writing(&self) -> bool {
        !self.files.jobs.is_empty() || self.run().live.radicals_file.is_some()
    }

    /// Handles the files that are complete.
    pub fn receive_files(&mut self) {
        let is_over = |job: &mut FileJob| {
            job.work.poll_for(job.patience).map(|outcome| outcome.unwrap_or_else(|failure| Err(failure.into())))
        };
        let mut done = Vec::new();
        self.files.jobs.retain_mut(|job| match is_over(job) {
            None => true,
            Some(outcome) => {
                done.push((job.task, std::mem::take(&mut job.path), job.image, outcome));
                false
            }
        });
        for (task, path, image, outcome) in done {
            if task == FileTask::SaveImage && outcome.is_ok() {
                self.leaving.saved.image = image;
            }
            let outcome = outcome.map(|result| self.take_file(task, &path, result));
            outcome.transpose().into_iter().for_each(|outcome| self.report_file(task, &path, outcome));
        }
    }

    /// Takes the result of work with a file. Returns the participle of its notice, `None` if none is needed.
    fn take_file(&mut self, task: FileTask, path: &Path, result: FileResult) -> Option<&'static str> {
        match result {
            FileResult::Written(notices) => {
                self.notify_all(notices);
                Some(match task {
                    FileTask::OfTool(_) => "written",
                    FileTask::SendSeries => "sent",
                    _ => "saved",
                })
            }
            FileResult::Psf(psf) => {
                self.runs.active_mut().forms.settings.psf = Some(psf);
                None
            }
            FileResult::Radical(notices) => {
                self.runs.active_mut().forms.settings.radicals.push(RadicalSource::of_file(path));
                self.notify_all(notices);
                None
            }
            FileResult::Rois(study, _) if study != self.study.number => None,
            FileResult::Rois(_, (rois, notices)) => {
                self.rois.set(rois);
                self.mark_rois_saved();
                self.notify_all(notices);
                Some("loaded")
            }
        }
    }

    /// Waits until every file is written. A transfer to a node is not waited for: the files that it sends remain.
    pub fn finish_files(&mut self) {
        let written = self.files.jobs.drain(..).filter(|job| job.task != FileTask::SendSeries);
        written.for_each(|job| drop(job.work.wait()));
    }

    /// Reports the result of a task with a file.
    pub fn report_file(&mut self, task: FileTask, path: &Path, outcome: Result<&str, String>) {
        match outcome {
            Ok(done) => {
                self.notify(Notice::info(format!("{} {done}", path.display())));
                self.continue_after_saving(task);
            }
            Err(text) => {
                self.notify(Notice::error(text));
                self.cancel_saving(task);
            }
        }
    }
}
