//! Provenance of the displayed image, as text below the slices and in files next to saved ones.

use std::path::Path;

use egui::Context;

use crate::plan::Provenance;
use crate::ui::widgets::file_task::FileTask;
use crate::ui::workspace::app::App;

impl App {
    /// Returns the provenance of the displayed image: its run, iterate and filter.
    pub fn provenance(&self) -> Option<Provenance> {
        self.run().provenance()
    }

    /// Starts writing the displayed image, in Bq/mL if the scan is calibrated, and its provenance record.
    ///
    /// # Errors
    /// No image is displayed. A notice reports later failures.
    pub(in crate::ui) fn save_image(&mut self, ctx: &Context, path: &Path) -> Result<(), String> {
        let (Some(volume), Some(provenance)) = (self.run().shown.image().cloned(), self.provenance()) else {
            return Err("there is no image to save yet".to_owned());
        };
        let calibration_bq_per_ml = self.calibration_shown();
        self.write_in_background(ctx, FileTask::SaveImage, path, move |path| {
            let calibrated = calibration_bq_per_ml.map(|bq_per_ml| volume.calibrated(bq_per_ml));
            let volume = calibrated.as_ref().unwrap_or(&volume);
            let provenance = Provenance { calibration_bq_per_ml, ..provenance }.of_image(volume).beside([path]);
            let notice = provenance.write_image(path, volume).map_err(|error| error.to_string())?;
            Ok(notice.into_iter().collect())
        });
        Ok(())
    }

    /// Writes the provenance record of a table of the run's numbers: of the displayed image if it belongs to the run, else of
    /// the newest image.
    pub(in crate::ui) fn save_provenance_of_table(&mut self, ctx: &Context, path: &Path) {
        let shown = self.run().shown_of().filter(|(_, run)| run.run == self.run().live.run).and(self.run().shown.volume());
        let provenance = match shown {
            Some(volume) => self.provenance().map(|provenance| provenance.of_image(volume)),
            None => self.run().live.provenance(self.run().live.progress().0, None),
        };
        let calibration = self.calibration_of_run(&self.run().live);
        let provenance = provenance.map(|record| match calibration {
            Some(bq_per_ml) => record.calibrated(bq_per_ml),
            None => record,
        });
        let notice = provenance.and_then(|provenance| provenance.beside([path]).write_beside(path));
        self.notify_all(ctx, notice);
    }
}
