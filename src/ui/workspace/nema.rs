//! NEMA image quality of the image on the screen: a template's regions, and the report.

use std::path::Path;

use egui::Context;
use jiff::Timestamp;

use super::app::App;
use crate::data::{Notice, Roi, RoiRole, Volume};
use crate::io;
use crate::measure::nema::{self, NemaKnown};
use crate::measure::nema_nu4;
use crate::report::{NemaReport, PdfError, nema_nu4_pdf, nema_pdf};
use crate::ui::rois::action::NemaStandard;
use crate::ui::study::open_study::OpenStudy;

/// What is said where no image is on the screen.
const NO_IMAGE: &str = "there is no image to measure yet";

impl App {
    /// Puts the template of a phantom in the image on the screen in the place of the regions.
    pub(super) fn place_nema(&mut self, ctx: &Context, standard: NemaStandard) {
        let Some(volume) = self.run().shown.volume() else { return self.notify(ctx, Notice::error(NO_IMAGE)) };
        let rois = match standard {
            NemaStandard::Body => nema::find(volume, &NemaKnown::default())
                .map(|placement| placement.rois(common_ratio(&self.rois.document.rois)))
                .map_err(|error| error.to_string()),
            NemaStandard::SmallAnimal => {
                nema_nu4::find(volume).map(|placement| placement.rois()).map_err(|error| error.to_string())
            }
        };
        match rois {
            Ok(rois) => self.rois.set(rois),
            Err(error) => self.notify(ctx, Notice::error(error)),
        }
    }

    /// Writes the report of the image on the screen, at the circles of the template where they are among the regions. The ratio
    /// of activities is that of the hot regions.
    ///
    /// # Errors
    /// There is no image, no such phantom in it, or the file cannot be written, as a sentence.
    pub(super) fn write_nema_report(&mut self, ctx: &Context, standard: NemaStandard, path: &Path) -> Result<(), String> {
        let volume = self.run().shown.volume().ok_or(NO_IMAGE)?;
        let (pdf, moved_mm) = match standard {
            NemaStandard::Body => self.body_report(volume),
            NemaStandard::SmallAnimal => self.small_animal_report(volume),
        }?;
        io::write_whole(path, &pdf).map_err(|error| error.to_string())?;
        if standard == NemaStandard::Body {
            let text = "Contrast in the report: against background circles of each sphere's own size. Recovery in the table: against all background ROIs";
            self.notify(ctx, Notice::info(text));
        }
        if let Some(mm) = moved_mm {
            let text = format!("The report is of the template's regions as they lie, up to {mm:.1} mm from where they are found");
            self.notify(ctx, Notice::info(text));
        }
        Ok(())
    }

    /// The report, and how far regions lie from where they are found, where those of the window were measured, mm.
    fn body_report(&self, volume: &Volume) -> Result<(Vec<u8>, Option<f64>), String> {
        let found = nema::find(volume, &NemaKnown::default()).map_err(|error| error.to_string())?;
        let rois = &self.rois.document.rois;
        let placement = found.with_rois(rois).unwrap_or(found);
        let analysis = nema::analyse(volume, &placement, common_ratio(rois)).map_err(|error| error.to_string())?;
        Ok((self.report(volume, &analysis, nema_pdf)?, placement.moved_mm))
    }

    /// The same of the small-animal phantom.
    fn small_animal_report(&self, volume: &Volume) -> Result<(Vec<u8>, Option<f64>), String> {
        let found = nema_nu4::find(volume).map_err(|error| error.to_string())?;
        let placement = found.with_rois(&self.rois.document.rois).unwrap_or(found);
        let analysis = nema_nu4::analyse(volume, &placement).map_err(|error| error.to_string())?;
        Ok((self.report(volume, &analysis, nema_nu4_pdf)?, placement.moved_mm))
    }

    /// A report with what is known of the image on the screen.
    fn report<A>(
        &self,
        volume: &Volume,
        analysis: &A,
        pdf: fn(&NemaReport<A>) -> Result<Vec<u8>, PdfError>,
    ) -> Result<Vec<u8>, String> {
        let provenance = self.provenance();
        let date = Timestamp::now().strftime("%Y-%m-%d %H:%M UTC").to_string();
        let title = self.study.open.as_ref().map_or("no study", OpenStudy::title);
        let report = NemaReport { title, volume, analysis, provenance: provenance.as_ref(), date: &date };
        pdf(&report).map_err(|error| error.to_string())
    }
}

/// The true ratio of all hot regions that have one, if it is the same.
fn common_ratio(rois: &[Roi]) -> Option<f64> {
    let mut ratios = rois.iter().filter(|roi| roi.role == RoiRole::Hot).filter_map(|roi| roi.activity_ratio);
    let first = ratios.next()?;
    ratios.all(|ratio| ratio == first).then_some(first)
}
