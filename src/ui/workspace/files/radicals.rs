//! Images of all radicals of a run, one file each.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use egui::Context;

use crate::data::{Notice, Volume};
use crate::io::{before_ending, check_image_unit};
use crate::recon::gaussian_filter;
use crate::session::Control;
use crate::ui::run::live::RunState;
use crate::ui::widgets::file_task::FileTask;
use crate::ui::workspace::app::App;

/// Returns the path of the image of a radical: `image_tam.nii.gz` of `image.nii.gz`, as the command line names it.
pub(super) fn of_radical(path: &Path, name: &str) -> PathBuf {
    before_ending(path, &format!("_{name}"))
}

impl App {
    /// Starts writing the newest image of each radical and its provenance record. They are requested if they have not arrived. Of an
    /// earlier iterate there is only that of the first.
    ///
    /// # Errors
    /// The file cannot have these values.
    pub(in crate::ui) fn save_radicals(&mut self, ctx: &Context, path: &Path) -> Result<(), String> {
        let run = self.run();
        let (Some(image), Some(id)) = (run.shown.image(), run.shown.id()) else { return Ok(()) };
        check_image_unit(path, image.unit, None).map_err(|error| error.to_string())?;
        let is_here = |subiteration| run.live.radicals.as_ref().is_some_and(|radicals| radicals.subiteration == subiteration);
        let is_newest = !run.shown.is_past() && id.run == run.live.run;
        if is_newest && is_here(run.live.progress().0) {
            self.write_radicals(ctx, path);
        } else if is_newest && run.live.state != RunState::Failed {
            self.runs.active_mut().live.radicals_file = Some(path.to_owned());
            self.session.send(Control::ReadCoupledImages);
        } else {
            let names = run.live.radical_names();
            let image = run.shown.unfiltered_image().cloned().into_iter().collect();
            let (first, others) = (names.first().cloned().unwrap_or_default(), names.get(1..).unwrap_or_default().join(", "));
            self.write_each(ctx, path, id.subiteration, image);
            self.notify(ctx, Notice::warning(format!("only {first} is written: an earlier iterate has no image of {others}")));
        }
        Ok(())
    }

    /// Starts writing the images of all radicals that have arrived.
    pub(in crate::ui) fn write_radicals(&mut self, ctx: &Context, path: &Path) {
        if let Some(radicals) = self.run().live.radicals.clone() {
            self.write_each(ctx, path, radicals.subiteration, radicals.images);
        }
    }

    /// Starts writing images of the first radicals after this number of steps, after the post-filter.
    fn write_each(&mut self, ctx: &Context, path: &Path, subiteration: usize, images: Vec<Arc<Volume>>) {
        let run = self.run();
        let filter_mm = Some(run.post_filter_mm).filter(|mm| *mm > 0.0);
        let Some(provenance) = run.live.provenance(subiteration, filter_mm) else { return };
        let names = run.live.radical_names();
        let (context, provenance) = (self.context_to_write(), self.record_to_write(provenance));
        let (path, first) = (path.to_owned(), of_radical(path, names.first().map_or("", String::as_str)));
        self.write_in_background(ctx, FileTask::SaveImage, &first, move |_| {
            let mut notices = Vec::new();
            for (index, (name, image)) in names.iter().zip(&images).enumerate() {
                let path = &of_radical(&path, name);
                let filtered = filter_mm.map(|fwhm_mm| gaussian_filter(image, fwhm_mm));
                let volume = filtered.as_ref().unwrap_or(image);
                let mut record = provenance.clone().of_image(volume).beside([path.as_path()]);
                record.radical = record.radical.map(|radical| radical.numbered(index));
                let notice = record.write_image_in(path, volume, &context).map_err(|error| error.to_string())?;
                // (The first is reported as the saved file.)
                notices.extend((index > 0).then(|| Notice::info(format!("{} saved", path.display()))));
                notices.extend(notice);
            }
            Ok(notices)
        });
    }
}
