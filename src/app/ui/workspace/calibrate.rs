//! Calibration of the open scan from the displayed image, and scale of that image.

use super::state::Workspace;
use crate::data::{Notice, Unit, ValueScale};
use crate::ui::run::live::LiveRun;
use crate::ui::widgets::format;

impl Workspace {
    /// Calibrates by the selected region, which lies in a uniform phantom of known activity.
    pub fn calibrate_by_selected(&mut self) {
        let notices = match self.factor_by_selected() {
            Ok((name, factor)) => {
                let failed = self.study.calibrate(Some(factor));
                let text = format!("1 count/mm is {} Bq/mL, by the mean of '{name}'", format::value(factor));
                std::iter::once(Notice::info(text)).chain(failed).collect()
            }
            Err(text) => vec![Notice::error(text)],
        };
        self.notify_all(notices);
    }

    /// Returns the name of the selected region and the factor from its mean, Bq/mL per count/mm.
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

    /// Returns the unit in which a run's images are shown, if it is not their own: uptake values of a PET series, or Bq/mL with a
    /// calibration. The calibration belongs to the whole scan; a time frame has fewer counts for the same activity.
    pub fn conversion_of_run(&self, live: &LiveRun) -> Option<ValueScale> {
        if let Some(open) = self.study.images() {
            return open.uptake_scale();
        }
        let bq_per_ml = self.study.calibration.bq_per_ml.filter(|_| live.iteration_scheme().unit == Unit::CountsPerMm)?;
        Some(ValueScale::calibrated(bq_per_ml / share_of_scan(live)?))
    }

    /// Returns the unit in which the displayed image is shown, if it is not its own.
    pub fn conversion_shown(&self) -> Option<ValueScale> {
        self.run().shown_of().and_then(|(_, live)| self.conversion_of_run(live))
    }

    /// Returns the scale of the displayed values.
    pub fn scale(&self) -> ValueScale {
        let unit = self.run().shown.volume().map_or(self.iteration_scheme().unit, |volume| volume.unit);
        self.conversion_shown().unwrap_or(ValueScale::own(unit))
    }
}

/// Returns the share of a run's images in the time of the scan; `None` if it is unknown.
fn share_of_scan(live: &LiveRun) -> Option<f64> {
    live.info.as_ref()?.job.share_of_scan()
}
