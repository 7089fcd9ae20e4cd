//! NEMA image quality of the image on the screen: the template's regions, and the report.

use std::path::Path;

use egui::Context;
use jiff::Timestamp;

use super::app::App;
use crate::data::{Notice, Roi, RoiRole};
use crate::io;
use crate::measure::nema::{NemaKnown, analyse, find};
use crate::report::{NemaReport, nema_pdf};
use crate::ui::study::open_study::OpenStudy;

/// What is said where no image is on the screen.
const NO_IMAGE: &str = "there is no image to measure yet";

impl App {
    /// Puts the template of the body phantom in the image on the screen in the place of the regions.
    pub(super) fn place_nema(&mut self, ctx: &Context) {
        let Some(volume) = self.run().shown.volume() else { return self.notify(ctx, Notice::error(NO_IMAGE)) };
        match find(volume, &NemaKnown::default()) {
            Ok(placement) => self.rois.set(placement.rois(common_ratio(&self.rois.document.rois))),
            Err(error) => self.notify(ctx, Notice::error(error.to_string())),
        }
    }

    /// Writes the report of the image on the screen. The ratio of activities is that of the hot regions.
    ///
    /// # Errors
    /// There is no image, no body phantom in it, or the file cannot be written, as a sentence.
    pub(super) fn write_nema_report(&self, path: &Path) -> Result<(), String> {
        let volume = self.run().shown.volume().ok_or(NO_IMAGE)?;
        let placement = find(volume, &NemaKnown::default()).map_err(|error| error.to_string())?;
        let ratio = common_ratio(&self.rois.document.rois);
        let analysis = analyse(volume, &placement, ratio).map_err(|error| error.to_string())?;
        let provenance = self.provenance();
        let date = Timestamp::now().strftime("%Y-%m-%d %H:%M UTC").to_string();
        let title = self.study.open.as_ref().map_or("no study", OpenStudy::title);
        let report = NemaReport { title, volume, analysis: &analysis, provenance: provenance.as_ref(), date: &date };
        let pdf = nema_pdf(&report).map_err(|error| error.to_string())?;
        io::write_whole(path, &pdf).map_err(|error| error.to_string())
    }
}

/// The true ratio of all hot regions that have one, if it is the same.
fn common_ratio(rois: &[Roi]) -> Option<f64> {
    let mut ratios = rois.iter().filter(|roi| roi.role == RoiRole::Hot).filter_map(|roi| roi.activity_ratio);
    let first = ratios.next()?;
    ratios.all(|ratio| ratio == first).then_some(first)
}
