//! The calibration of the open scan: found in the image on the screen, and what that image is by it.

use egui::Context;

use super::app::App;
use crate::data::{Notice, Unit, ValueScale};
use crate::ui::run::live::LiveRun;
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
        let live = self.run().shown_of().map(|(_, live)| live);
        let share = live
            .and_then(share_of_scan)
            .ok_or("the image is of a part of the scan, whose duration is not known: calibrate by an image of the whole scan")?;
        Ok((roi.name.clone(), share * self.study.calibration.of_phantom(sums.sum / sums.weight)?))
    }

    /// What 1 count/mm of a run's images stands for, Bq/mL, if that is known and they are in that unit. The calibration is that of the
    /// whole scan: a frame has fewer counts of the same activity.
    pub(super) fn calibration_of_run(&self, live: &LiveRun) -> Option<f64> {
        let bq_per_ml = self.study.calibration.bq_per_ml.filter(|_| live.course().unit == Unit::CountsPerMm)?;
        Some(bq_per_ml / share_of_scan(live)?)
    }

    /// The same of the image on the screen.
    pub(super) fn calibration_shown(&self) -> Option<f64> {
        self.run().shown_of().and_then(|(_, live)| self.calibration_of_run(live))
    }

    /// The unit in which the values of the image on the screen are shown.
    pub(super) fn scale(&self) -> ValueScale {
        let unit = self.run().shown.volume().map_or(self.study.course().unit, |volume| volume.unit);
        ValueScale::new(unit, self.calibration_shown())
    }
}

/// The share of the scan's time that a run's images are of; `None` where that is not known.
fn share_of_scan(live: &LiveRun) -> Option<f64> {
    live.info.as_ref()?.job.share_of_scan()
}
