//! Lesions of the displayed image: actions, measurement, files.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use egui::Context;
use jiff::Timestamp;

use super::app::App;
use super::panes::pane::Pane;
use crate::data::{Notice, Placement, ValueScale, Volume};
use crate::io;
use crate::io::dicom;
use crate::io::measurements::MeasurementWriter;
use crate::measure::lesions::{Changes, LesionTable};
use crate::plan::{Progress, Provenance};
use crate::report::{ImageReport, LesionsShown, lesion_pdf};
use crate::ui::plots::BottomTab;
use crate::ui::plots::lesions::action::LesionAction;
use crate::ui::plots::lesions::lesion_panel::LesionView;
use crate::ui::plots::lesions::state::LesionInput;
use crate::ui::rois::action::RoiEdit;
use crate::ui::slices::action::ViewAction;
use crate::ui::study::open::open_study::OpenStudy;
use crate::ui::widgets::file_task::{FileTask, LesionFile};
use crate::ui::widgets::wake::waker;

impl App {
    pub(super) fn apply_lesions(&mut self, ctx: &Context, action: LesionAction) {
        match action {
            LesionAction::Threshold(threshold) => self.lesions.threshold = threshold,
            LesionAction::Liver(name) => self.lesions.liver = name,
            LesionAction::GoTo(point, name) => {
                self.rois.apply(RoiEdit::Select(self.rois.document.rois.iter().position(|roi| roi.name == name)));
                self.apply_view(ctx, ViewAction::SetCrosshair(point));
            }
            LesionAction::SetBaseline => match self.current_lesions() {
                Ok(_) => {
                    let title = format!("{}, {}", self.study_title(), self.run().shown_words());
                    self.lesions.set_baseline(Some(title));
                }
                Err(text) => self.notify(ctx, Notice::warning(text)),
            },
            LesionAction::ClearBaseline => self.lesions.set_baseline(None),
            LesionAction::CopyTable => ctx.copy_text(self.lesion_view().text()),
            LesionAction::Ask(task) => _ = self.ask(ctx, task),
            LesionAction::Anonymise(is_anonymous) => self.preferences.is_anonymous = is_anonymous,
        }
    }

    fn study_title(&self) -> &str {
        self.study.open.as_ref().map_or("no study", OpenStudy::title)
    }

    /// Returns the displayed image with its regions; `None` without an image.
    fn lesion_input(&self) -> Option<LesionInput<'_>> {
        let run = self.run();
        Some(LesionInput {
            image: (run.live.run, run.shown.generation()),
            volume: run.shown.image()?,
            scale: self.scale(),
            rois: &self.rois.document.rois,
            second: self.drawn_layer().map(|image| (image, self.layer.generation)),
            placement: self.placement().copied(),
        })
    }

    /// Returns the numbers of the displayed image.
    ///
    /// # Errors
    /// The displayed image is not measured yet.
    fn current_lesions(&self) -> Result<Arc<LesionTable>, String> {
        let current = self.lesion_input().and_then(|input| self.lesions.current(&input).cloned());
        current.ok_or_else(|| "the lesions of the displayed image are not measured yet; open Lesions, and try again".to_owned())
    }

    /// Measures the lesions while their tab is open.
    pub(super) fn derive_lesions(&mut self, ctx: &Context) {
        if self.panes.is_drawn(Pane::Table(BottomTab::Lesions)) {
            let mut lesions = std::mem::take(&mut self.lesions);
            lesions.update(self.lesion_input(), waker(ctx));
            self.lesions = lesions;
        }
    }

    pub(super) fn lesion_view(&self) -> LesionView<'_> {
        let second = self.drawn_layer().map(|image| [image.series.modality.name(), image.volume.unit.label()]);
        LesionView {
            state: &self.lesions,
            rois: &self.rois.document.rois,
            second,
            scale: self.scale(),
            is_anonymous: self.is_anonymous(),
        }
    }

    /// Starts writing a file on the lesions.
    ///
    /// # Errors
    /// The displayed image is not measured. A notice reports later failures.
    pub(in crate::ui) fn write_lesions(&mut self, ctx: &Context, file: LesionFile, path: &Path) -> Result<(), String> {
        let table = self.current_lesions()?;
        let images = self.study.images();
        let source = images.and_then(|open| open.path.clone()).zip(self.run().shown_number());
        let written = WrittenLesions {
            table,
            changes: self.lesions.changes().map(|(title, changes)| (self.baseline_to_write(title), changes.clone())),
            second: self.lesion_view().second.map(|texts| texts.map(str::to_owned)),
            volume: Arc::clone(self.run().shown.image().ok_or("there is no image yet")?),
            scale: self.scale(),
            placement: self.placement().copied(),
            title: self.title_to_write(),
            provenance: self.provenance().map(|record| self.record_to_write(record)),
            source,
            is_anonymous: self.is_anonymous(),
        };
        self.write_in_background(ctx, FileTask::Lesions(file), path, move |path| written.write(file, path));
        Ok(())
    }
}

/// Content of a file on lesions.
struct WrittenLesions {
    table: Arc<LesionTable>,
    changes: Option<(String, Changes)>,
    second: Option<[String; 2]>,
    volume: Arc<Volume>,
    scale: ValueScale,
    placement: Option<Placement>,
    title: String,
    provenance: Option<Provenance>,
    /// File or folder of the study's images, and the number of the displayed one.
    source: Option<(PathBuf, usize)>,
    /// True for files without the patient's identity.
    is_anonymous: bool,
}

impl WrittenLesions {
    fn write(&self, file: LesionFile, path: &Path) -> Result<Vec<Notice>, String> {
        let second = self.second.as_ref().map(|texts| texts.each_ref().map(String::as_str));
        let baseline = self.changes.as_ref().map(|(title, changes)| (title.as_str(), changes));
        let shown = LesionsShown { table: &self.table, second, baseline };
        match file {
            LesionFile::Table => self.write_table(&shown, path),
            LesionFile::Segmentation => self.write_segmentation(&shown, path),
            LesionFile::Report => self.write_report(&shown, path),
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
