//! Files that are written in the background: images, pictures, reports.

use std::path::Path;

use egui::Context;

use super::file_job::FileJob;
use crate::data::Notice;
use crate::task::BackgroundTask;
use crate::ui::widgets::file_task::FileTask;
use crate::ui::workspace::app::App;

impl App {
    /// Writes a file in the background; notices and errors follow at its end.
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

    pub fn is_writing(&self) -> bool {
        !self.file_jobs.is_empty() || self.run().live.radicals_file.is_some()
    }

    /// Handles the files that are complete.
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
                self.notify_all(ctx, notices);
                match task {
                    FileTask::NemaReport(_) | FileTask::Lesions(_) | FileTask::Lines => "written",
                    FileTask::SendSeries => "sent",
                    _ => "saved",
                }
            });
            self.report_file(ctx, task, &path, outcome);
        }
    }

    /// Waits until every file is written. A transfer to a node is not waited for: the files that it sends remain.
    pub(in crate::ui) fn finish_files(&mut self) {
        let written = self.file_jobs.drain(..).filter(|job| job.task != FileTask::SendSeries);
        written.for_each(|job| drop(job.work.wait()));
    }

    /// Reports the result of a task with a file.
    pub(in crate::ui) fn report_file(&mut self, ctx: &Context, task: FileTask, path: &Path, outcome: Result<&str, String>) {
        match outcome {
            Ok(done) => {
                self.notify(ctx, Notice::info(format!("{} {done}", path.display())));
                self.continue_after_saving(ctx, task);
            }
            Err(text) => {
                self.notify(ctx, Notice::error(text));
                self.cancel_saving(task);
            }
        }
    }
}
