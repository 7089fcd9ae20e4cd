//! NEMA image quality of the image on the screen: a template's regions, and the report.

use std::path::Path;
use std::sync::Arc;

use egui::Context;
use jiff::Timestamp;

use super::dialogs::FileTask;
use crate::data::{Notice, Roi, RoiRole, Volume};
use crate::io;
use crate::measure::nema::{self, NemaKnown};
use crate::measure::nema_nu4;
use crate::plan::Provenance;
use crate::report::{NemaReport, PdfError, nema_nu4_pdf, nema_pdf};
use crate::ui::rois::action::NemaStandard;
use crate::ui::study::open::open_study::OpenStudy;
use crate::ui::workspace::app::App;

/// What is said where no image is on the screen.
const NO_IMAGE: &str = "there is no image to measure yet";

impl App {
    /// Puts the template of a phantom in the image on the screen in the place of the regions.
    pub(in crate::ui) fn place_nema(&mut self, ctx: &Context, standard: NemaStandard) {
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
    /// There is no image. That the phantom is not found in it, or the file cannot be written, is told later.
    pub(in crate::ui) fn write_nema_report(&mut self, ctx: &Context, standard: NemaStandard, path: &Path) -> Result<(), String> {
        let sources = ReportSources {
            volume: self.run().shown.image().ok_or(NO_IMAGE)?.clone(),
            rois: self.rois.document.rois.clone(),
            title: self.study.open.as_ref().map_or("no study", OpenStudy::title).to_owned(),
            provenance: self.provenance(),
        };
        self.write_in_background(ctx, FileTask::NemaReport(standard), path, move |path| sources.write(standard, path));
        Ok(())
    }
}

/// What a report is made of.
struct ReportSources {
    volume: Arc<Volume>,
    rois: Vec<Roi>,
    title: String,
    provenance: Option<Provenance>,
}

impl ReportSources {
    fn write(&self, standard: NemaStandard, path: &Path) -> Result<Vec<Notice>, String> {
        let (pdf, moved_mm) = match standard {
            NemaStandard::Body => self.body()?,
            NemaStandard::SmallAnimal => self.small_animal()?,
        };
        io::write_whole(path, &pdf).map_err(|error| error.to_string())?;
        let mut notices = Vec::new();
        if standard == NemaStandard::Body {
            let text = "Contrast in the report: against background circles of each sphere's own size. Recovery in the table: against all background ROIs";
            notices.push(Notice::info(text));
        }
        notices.extend(moved_mm.map(|mm| {
            Notice::info(format!(
                "The report is of the template's regions as they lie, up to {mm:.1} mm from where they are found"
            ))
        }));
        Ok(notices)
    }

    /// The report, and how far regions lie from where they are found, where those of the window were measured, mm.
    fn body(&self) -> Result<(Vec<u8>, Option<f64>), String> {
        let found = nema::find(&self.volume, &NemaKnown::default()).map_err(|error| error.to_string())?;
        let placement = found.with_rois(&self.rois).unwrap_or(found);
        let analysis = nema::analyse(&self.volume, &placement, common_ratio(&self.rois)).map_err(|error| error.to_string())?;
        Ok((self.report(&analysis, nema_pdf)?, placement.moved_mm))
    }

    /// The same of the small-animal phantom.
    fn small_animal(&self) -> Result<(Vec<u8>, Option<f64>), String> {
        let found = nema_nu4::find(&self.volume).map_err(|error| error.to_string())?;
        let placement = found.with_rois(&self.rois).unwrap_or(found);
        let analysis = nema_nu4::analyse(&self.volume, &placement).map_err(|error| error.to_string())?;
        Ok((self.report(&analysis, nema_nu4_pdf)?, placement.moved_mm))
    }

    fn report<A>(&self, analysis: &A, pdf: fn(&NemaReport<A>) -> Result<Vec<u8>, PdfError>) -> Result<Vec<u8>, String> {
        let date = Timestamp::now().strftime("%Y-%m-%d %H:%M UTC").to_string();
        let Self { volume, title, provenance, .. } = self;
        pdf(&NemaReport { title, volume, analysis, provenance: provenance.as_ref(), date: &date })
            .map_err(|error| error.to_string())
    }
}

/// The true ratio of all hot regions that have one, if it is the same.
fn common_ratio(rois: &[Roi]) -> Option<f64> {
    let mut ratios = rois.iter().filter(|roi| roi.role == RoiRole::Hot).filter_map(|roi| roi.activity_ratio);
    let first = ratios.next()?;
    ratios.all(|ratio| ratio == first).then_some(first)
}
