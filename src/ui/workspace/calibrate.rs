//! The calibration of the open scan: found in the image on the screen, and what that image is by it.

use egui::Context;

use super::app::App;
use crate::data::{Notice, Unit, Volume};
use crate::ui::widgets::format;

impl App {
    /// Finds what 1 count/mm stands for in the selected region, which lies in a uniform phantom of known activity.
    pub(super) fn calibrate_by_selected(&mut self, ctx: &Context) {
        let notices = match self.factor_by_selected() {
            Ok((name, factor)) => {
                let failed = self.study.calibrate(Some(factor)).unwrap_or_default();
                let words = format!("1 count/mm is {} Bq/mL, by the mean of '{name}'", format::value(factor));
                std::iter::once(Notice::info(words)).chain(failed).collect()
            }
            Err(text) => vec![Notice::error(text)],
        };
        notices.into_iter().for_each(|notice| self.notify(ctx, notice));
    }

    /// The name of the selected region, and the factor that its mean gives.
    fn factor_by_selected(&self) -> Result<(String, f64), String> {
        let volume = self.run().shown.volume().ok_or("there is no image to calibrate by yet")?;
        if volume.unit != Unit::CountsPerMm {
            return Err(format!("a calibration is of images in counts/mm, and this one is in {}", volume.unit.label()));
        }
        let roi = self.rois.selected.and_then(|index| self.rois.document.rois.get(index));
        let roi = roi.ok_or("no ROI is selected: select one that lies well inside the phantom")?;
        let sums = roi.mask(&volume.grid).sums(volume.as_slice());
        Ok((roi.name.clone(), self.study.calibration.of_phantom(sums.sum / sums.weight)?))
    }

    /// What 1 count/mm of an image of the open scan stands for, Bq/mL, if that is known and it is in that unit.
    pub(super) fn calibration_of(&self, volume: &Volume) -> Option<f64> {
        self.study.calibration.bq_per_ml.filter(|_| volume.unit == Unit::CountsPerMm)
    }
}
