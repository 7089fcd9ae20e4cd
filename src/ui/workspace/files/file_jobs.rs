//! Files that take a while to write are written in the background: images, pictures, reports.

use std::path::{Path, PathBuf};

use egui::Context;

use super::dialogs::FileTask;
use crate::data::Notice;
use crate::session::RunId;
use crate::task::BackgroundTask;
use crate::ui::workspace::app::App;

/// A file that is being written.
pub(in crate::ui) struct FileJob {
    task: FileTask,
    path: PathBuf,
    /// Run and steps of the newest image when the writing began.
    image: Option<(RunId, usize)>,
    work: BackgroundTask<Result<Vec<Notice>, String>>,
}

impl App {
    /// Writes a file in the background; notices and errors come when it is over.
    pub(in crate::ui) fn write_in_background(
        &mut self,
        ctx: &Context,
        task: FileTask,
        path: &Path,
        write: impl FnOnce(&Path) -> Result<Vec<Notice>, String> + Send + 'static,
    ) {
        let (wake, of) = (ctx.clone(), path.to_owned());
        let work = BackgroundTask::start("writer", move || wake.request_repaint(), move |_| write(&of));
        let image = self.run().shown.newest_id().map(|id| (id.run, id.subiteration));
        self.file_jobs.push(FileJob { task, path: path.to_owned(), image, work });
    }

    /// Whether a file is being written.
    pub fn is_writing(&self) -> bool {
        !self.file_jobs.is_empty()
    }

    /// Takes in the files that are written.
    pub(in crate::ui) fn receive_files(&mut self, ctx: &Context) {
        let is_over = |job: &mut FileJob| job.work.poll().map(|outcome| outcome.unwrap_or_else(|failure| Err(failure.into())));
        let mut done = Vec::new();
        self.file_jobs.retain_mut(|job| match is_over(job) {
            None => true,
            Some(outcome) => {
                done.push((job.task, std::mem::take(&mut job.path), job.image, outcome));
                false
            }
        });
        for (task, path, image, outcome) in done {
            if task == FileTask::SaveImage && outcome.is_ok() {
                self.saved.image = image;
            }
            let outcome = outcome.map(|notices| {
                notices.into_iter().for_each(|notice| self.notify(ctx, notice));
                if matches!(task, FileTask::NemaReport(_)) { "written" } else { "saved" }
            });
            self.file_is_done(ctx, task, &path, outcome);
        }
    }

    /// Waits until every file is written.
    pub(in crate::ui) fn finish_files(&mut self) {
        self.file_jobs.drain(..).for_each(|job| drop(job.work.wait()));
    }

    /// Says how it went with a file.
    pub(in crate::ui) fn file_is_done(&mut self, ctx: &Context, task: FileTask, path: &Path, outcome: Result<&str, String>) {
        match outcome {
            Ok(done) => {
                self.notify(ctx, Notice::info(format!("{} {done}", path.display())));
                self.was_saved(ctx, task);
            }
            Err(text) => {
                self.notify(ctx, Notice::error(text));
                self.was_not_saved(task);
            }
        }
    }
}
