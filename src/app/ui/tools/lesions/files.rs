//! Files on lesions: table, segmentation, report.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use jiff::Timestamp;

use crate::data::{Notice, Placement, ValueScale, Volume};
use crate::io;
use crate::io::dicom;
use crate::io::measurements::MeasurementWriter;
use crate::measure::lesions::{Changes, LesionTable};
use crate::plan::{Progress, Provenance};
use crate::report::{ImageReport, LesionsShown, lesion_pdf};
use crate::ui::widgets::file_task::ToolFile;

/// Key of the pane.
pub const KEY: &str = "lesions";

pub static TABLE: ToolFile = ToolFile {
    tool: KEY,
    title: "Export the lesions",
    formats: ".csv",
    filter: ("CSV", &["csv"]),
    new_file: Some("lesions.csv"),
};
pub static SEGMENTATION: ToolFile = ToolFile {
    tool: KEY,
    title: "Export the segmentation",
    formats: ".seg.dcm",
    filter: ("DICOM SEG", &["dcm"]),
    new_file: Some("lesions.seg.dcm"),
};
pub static REPORT: ToolFile = ToolFile {
    tool: KEY,
    title: "Report on the lesions",
    formats: ".pdf",
    filter: ("PDF", &["pdf"]),
    new_file: Some("lesions.pdf"),
};

/// Content of a file on lesions.
pub(super) struct WrittenLesions {
    pub(super) table: Arc<LesionTable>,
    pub(super) changes: Option<(String, Changes)>,
    pub(super) second: Option<[String; 2]>,
    pub(super) volume: Arc<Volume>,
    pub(super) scale: ValueScale,
    pub(super) placement: Option<Placement>,
    pub(super) title: String,
    pub(super) provenance: Option<Provenance>,
    /// File or folder of the study's images, and the number of the displayed one.
    pub(super) source: Option<(PathBuf, usize)>,
    /// True for files without the patient's identity.
    pub(super) is_anonymous: bool,
}

impl WrittenLesions {
    pub(super) fn write(&self, file: &ToolFile, path: &Path) -> Result<Vec<Notice>, String> {
        let second = self.second.as_ref().map(|texts| texts.each_ref().map(String::as_str));
        let baseline = self.changes.as_ref().map(|(title, changes)| (title.as_str(), changes));
        let shown = LesionsShown { table: &self.table, second, baseline };
        match file {
            _ if *file == TABLE => self.write_table(&shown, path),
            _ if *file == SEGMENTATION => self.write_segmentation(&shown, path),
            _ => self.write_report(&shown, path),
        }
    }

    fn write_table(&self, shown: &LesionsShown, path: &Path) -> Result<Vec<Notice>, String> {
        let iteration = match self.provenance.as_ref().and_then(|provenance| provenance.progress) {
            Some(Progress::Iterations { iteration, .. }) => iteration,
            _ => 0,
        };
        let writer = MeasurementWriter::create(path);
        writer.and_then(|mut writer| writer.write(&shown.measurements(iteration))).map_err(|error| error.to_string())?;
        let notice = self.provenance.clone().and_then(|record| record.beside([path]).write_beside(path));
        Ok(notice.into_iter().collect())
    }

    fn write_report(&self, shown: &LesionsShown, path: &Path) -> Result<Vec<Notice>, String> {
        let date = Timestamp::now().strftime("%Y-%m-%d %H:%M UTC").to_string();
        let volume = self.volume.converted(self.scale);
        let (title, provenance) = (&self.title, self.provenance.as_ref());
        let report = ImageReport { title, volume: &volume, analysis: shown, provenance, date: &date };
        let pdf = lesion_pdf(&report).map_err(|error| error.to_string())?;
        io::write_whole(path, &pdf).map_err(|error| error.to_string())?;
        Ok(Vec::new())
    }

    fn write_segmentation(&self, shown: &LesionsShown, path: &Path) -> Result<Vec<Notice>, String> {
        let source = self.source.as_ref().map(|(path, number)| io::source_series(path, *number)).transpose();
        let source = source.map_err(|error| error.to_string())?.flatten();
        if self.is_anonymous && source.as_ref().is_some_and(|source| !source.is_anonymous) {
            let text = "a segmentation has the patient of its source: save the image with Anonymise, open it, and export again";
            return Err(format!("{}: {text}", path.display()));
        }
        let space = (&self.volume.grid, self.placement.as_ref());
        dicom::write_segmentation(path, space, &shown.segments(), source.as_ref()).map_err(|error| error.to_string())
    }
}
