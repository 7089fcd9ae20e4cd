//! Images of all radicals of a run, one file each.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::data::{Notice, RunId};
use crate::io::{before_ending, check_image_unit};
use crate::plan::Provenance;
use crate::recon::gaussian_filter;
use crate::session::{Control, VolumesOf};
use crate::ui::run::live::{RadicalImages, RunState};
use crate::ui::run::run_view::RunView;
use crate::ui::widgets::file_task::FileTask;
use crate::ui::workspace::state::Workspace;

/// Returns the path of the image of a radical: `image_tam.nii.gz` of `image.nii.gz`, as the command line names it.
pub fn of_radical(path: &Path, name: &str) -> PathBuf {
    before_ending(path, &format!("_{name}"))
}

impl Workspace {
    /// Starts writing the newest image of each radical and its provenance record. They are requested if they have not arrived. Of an
    /// earlier iterate, or of a failed run, there is only that of the first.
    ///
    /// # Errors
    /// The file cannot have these values.
    pub fn save_radicals(&mut self, path: &Path) -> Result<(), String> {
        let RunView { shown, live, .. } = self.runs.active_mut();
        let (Some(image), Some(id)) = (shown.unfiltered_image(), shown.id()) else { return Ok(()) };
        check_image_unit(path, image.unit, None).map_err(|error| error.to_string())?;
        let is_newest = !shown.is_past() && id.run == live.run;
        let arrived = live.radicals.clone().filter(|radicals| is_newest && radicals.subiteration == live.progress().0);
        if let Some(radicals) = arrived {
            self.write_radicals(id.run, path, &radicals);
        } else if is_newest && live.state != RunState::Failed {
            live.radicals_file = Some(path.to_owned());
            self.session.send(Control::ReadVolumes(VolumesOf::Coupled));
        } else {
            let (names, images) = (live.radical_names(), vec![Arc::clone(image)]);
            let (first, others) = (names.first().map_or("", String::as_str), names.get(1..).unwrap_or_default().join(", "));
            self.write_radicals(id.run, path, &RadicalImages { subiteration: id.subiteration, images });
            let text = format!("only {first} is written: an earlier iterate, or one of a failed run, has no image of {others}");
            self.notify(Notice::warning(text));
        }
        Ok(())
    }

    /// Writes the displayed image of a run that failed before its requested images arrived.
    pub fn save_failed_radicals(&mut self) {
        let live = &mut self.runs.active_mut().live;
        if let Some(path) = live.radicals_file.take_if(|_| live.state == RunState::Failed) {
            // (The ending of the file was checked before.)
            let _ = self.save_radicals(&path);
        }
    }

    /// Starts writing images of the first radicals of a run, after the post-filter.
    pub fn write_radicals(&mut self, run: RunId, path: &Path, radicals: &RadicalImages) {
        let Some(RunView { live, post_filter_mm, .. }) = self.runs.of_mut(run) else { return };
        let filter_mm = Some(*post_filter_mm).filter(|mm| *mm > 0.0);
        let Some(provenance) = live.provenance(radicals.subiteration, filter_mm) else { return };
        let (names, images) = (live.radical_names(), radicals.images.clone());
        let (context, provenance) = (self.context_to_write(), self.record_to_write(provenance));
        let (path, first) = (path.to_owned(), of_radical(path, names.first().map_or("", String::as_str)));
        self.write_in_background(FileTask::SaveImage, &first, move |_| {
            let mut notices = Vec::new();
            for (index, (name, image)) in names.iter().zip(&images).enumerate() {
                let path = &of_radical(&path, name);
                let filtered = filter_mm.map(|fwhm_mm| gaussian_filter(image, fwhm_mm));
                let volume = filtered.as_ref().unwrap_or(image);
                let radical = provenance.radical.clone().map(|radical| radical.numbered(index));
                let record = Provenance { radical, ..provenance.clone() }.of_image(volume).beside([path.as_path()]);
                let notice = record.write_image_in(path, volume, &context).map_err(|error| error.to_string())?;
                // (The first is reported as the saved file.)
                notices.extend((index > 0).then(|| Notice::info(format!("{} saved", path.display()))));
                notices.extend(notice);
            }
            Ok(notices)
        });
    }
}
