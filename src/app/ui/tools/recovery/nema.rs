//! Report of the NEMA image quality of the displayed image.

use jiff::Timestamp;
use std::path::Path;
use std::sync::Arc;

use super::files::BODY_REPORT;
use crate::data::{Notice, RecoveryStandard, Roi, Volume};
use crate::io;
use crate::measure::nema::{self, NemaKnown, RecoveryPoint};
use crate::measure::nema_nu4;
use crate::plan::Provenance;
use crate::report::{ImageReport, PdfError, nema_nu4_pdf, nema_pdf};
use crate::ui::rois::measured::common_ratio;
use crate::ui::widgets::file_task::{FileTask, NemaStandard, ToolFile};
use crate::ui::workspace::state::Workspace;

/// Reason of a refusal without a displayed image.
const NO_IMAGE: &str = "there is no image to measure yet";

/// Starts writing the report of the displayed image. It measures the circles of the template among the regions as they lie,
/// with the activity ratio of the hot regions, and judges it by these standards.
///
/// # Errors
/// No image is displayed. A notice reports later failures.
pub(super) fn write_report(
    work: &mut Workspace,
    file: &'static ToolFile,
    standards: &[RecoveryStandard],
    path: &Path,
) -> Result<(), String> {
    let standard = if *file == BODY_REPORT { NemaStandard::Body } else { NemaStandard::SmallAnimal };
    let sources = ReportSources {
        volume: work.run().shown.image().ok_or(NO_IMAGE)?.clone(),
        rois: work.rois.document.rois.clone(),
        title: work.title_to_write(),
        provenance: work.provenance().map(|record| work.record_to_write(record)),
        standards: standards.to_vec(),
        settings: settings_of_displayed(work),
    };
    work.write_in_background(FileTask::OfTool(file), path, move |path| sources.write(standard, path));
    Ok(())
}

/// Returns the settings that were measured of the run of the displayed image.
fn settings_of_displayed(work: &Workspace) -> Vec<RecoveryPoint> {
    let (run, shown) = (work.run(), work.run().shown.id());
    let is_of_run = shown.is_some_and(|id| id.run == run.live.run);
    if is_of_run { run.live.found.recovery.points.clone() } else { Vec::new() }
}

/// Input of a report.
struct ReportSources {
    volume: Arc<Volume>,
    rois: Vec<Roi>,
    title: String,
    provenance: Option<Provenance>,
    standards: Vec<RecoveryStandard>,
    /// Settings of the run that were measured.
    settings: Vec<RecoveryPoint>,
}

impl ReportSources {
    fn write(&self, standard: NemaStandard, path: &Path) -> Result<Vec<Notice>, String> {
        let (pdf, mut notices) = match standard {
            NemaStandard::Body => self.body()?,
            NemaStandard::SmallAnimal => self.small_animal()?,
        };
        io::write_whole(path, &pdf).map_err(|error| error.to_string())?;
        if standard == NemaStandard::Body {
            let text = "Contrast in the report: against background circles of each sphere's own size. Recovery in the table: against all background ROIs";
            notices.push(Notice::info(text));
        }
        Ok(notices)
    }

    /// Returns the report, and notices about the places of the regions and the activity ratio.
    fn body(&self) -> Result<(Vec<u8>, Vec<Notice>), String> {
        let found = nema::find(&self.volume, &NemaKnown::default()).map_err(|error| error.to_string())?;
        let placement = found.with_rois(&self.rois).unwrap_or(found);
        let analysis = nema::analyse(&self.volume, &placement, common_ratio(&self.rois)).map_err(|error| error.to_string())?;
        // Only six hot spheres with their ratio have recovery coefficients.
        let mut analysis = analysis.clone().judged(&self.volume, &self.standards).unwrap_or(analysis);
        analysis.recovery.iter_mut().for_each(|judged| judged.settings.clone_from(&self.settings));
        let doubt = analysis.doubtful_ratio().map(Notice::warning);
        Ok((self.report(&analysis, nema_pdf)?, moved(placement.moved_mm).into_iter().chain(doubt).collect()))
    }

    /// Returns the same for the small-animal phantom.
    fn small_animal(&self) -> Result<(Vec<u8>, Vec<Notice>), String> {
        let found = nema_nu4::find(&self.volume).map_err(|error| error.to_string())?;
        let placement = found.with_rois(&self.rois).unwrap_or(found);
        let analysis = nema_nu4::analyse(&self.volume, &placement).map_err(|error| error.to_string())?;
        Ok((self.report(&analysis, nema_nu4_pdf)?, moved(placement.moved_mm).into_iter().collect()))
    }

    fn report<A>(&self, analysis: &A, pdf: fn(&ImageReport<A>) -> Result<Vec<u8>, PdfError>) -> Result<Vec<u8>, String> {
        let date = Timestamp::now().strftime("%Y-%m-%d %H:%M UTC").to_string();
        let Self { volume, title, provenance, .. } = self;
        pdf(&ImageReport { title, volume, analysis, provenance: provenance.as_ref(), date: &date })
            .map_err(|error| error.to_string())
    }
}

/// Returns the notice about regions at this largest distance from their found places, mm.
fn moved(mm: Option<f64>) -> Option<Notice> {
    let text = |mm| format!("The report is of the template's regions as they lie, up to {mm:.1} mm from where they are found");
    mm.map(|mm| Notice::info(text(mm)))
}
