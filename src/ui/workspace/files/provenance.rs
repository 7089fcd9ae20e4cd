//! What made the image on the screen: in words under the slices, and beside what is saved.

use std::path::Path;

use egui::Context;

use super::dialogs::FileTask;
use crate::plan::Provenance;
use crate::ui::workspace::app::App;

impl App {
    /// What made the image on the screen: the run that is watched or the one before, at the iterate and with the filter of
    /// this very image.
    pub fn provenance(&self) -> Option<Provenance> {
        self.run().provenance()
    }

    /// Writes the image on the screen, in Bq/mL where the scan is calibrated, and what made it beside it.
    ///
    /// # Errors
    /// There is no image, or it cannot be written, as a sentence.
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

    /// Writes what made a table of the run's numbers beside it: that of the image on the screen where that is the run's, else
    /// of its newest.
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
        notice.into_iter().for_each(|notice| self.notify(ctx, notice));
    }
}
