//! Tab of the spectra of a run: a spectrum with its line, lines of the regions, and maps of the lines.

mod line_table;
mod spectrum_panel;

use std::path::Path;

use egui::Ui;

use self::line_table::LINES;
use self::spectrum_panel::{SpectrumOf, SpectrumView, spectrum_ui};
use super::tool::Tool;
use crate::io::measurements::MeasurementWriter;
use crate::remote::Remote;
use crate::ui::widgets::file_task::{FileTask, ToolFile};
use crate::ui::workspace::commands::Command;
use crate::ui::workspace::state::{Request, Workspace};

#[derive(Default)]
pub struct Spectrum {
    /// Place whose spectrum is drawn, and number of its study.
    of: SpectrumOf,
    study: usize,
}

impl Tool for Spectrum {
    fn title(&self, _work: &Workspace) -> [&'static str; 2] {
        let help =
            "Spectrum at the crosshair or of a region with its line, lines of the regions, and maps of the lines on the image";
        ["Spectrum", help]
    }

    fn is_for(&self, work: &Workspace) -> bool {
        work.spectra.has_spectra()
    }

    fn update(&mut self, work: &mut Workspace, _is_drawn: bool) {
        if std::mem::replace(&mut self.study, work.study.number) != self.study {
            self.of = SpectrumOf::default();
        }
    }

    fn ui(&mut self, work: &Workspace, ui: &mut Ui, requests: &mut Vec<Request>) {
        let view = SpectrumView {
            state: &work.spectra,
            of: self.of,
            map: work.layer.line,
            crosshair_mm: work.slices.view.crosshair_mm,
            axes: work.study.axes(),
            rois: &work.rois.document.rois,
            selected: work.rois.selected,
            remote_host: work.remote.as_ref().map(Remote::host),
        };
        self.of = spectrum_ui(&view, ui, requests);
    }

    fn commands(&self) -> Vec<Command> {
        vec![Command::named("Lines of the regions as CSV", |work| _ = work.ask(FileTask::OfTool(&LINES)))]
    }

    /// Starts writing the lines of the regions as CSV, with their provenance record.
    fn take_file(&mut self, work: &mut Workspace, file: &'static ToolFile, path: &Path) -> Result<(), String> {
        work.measure_lines();
        let lines = work.spectra.regions().lines().zip(work.spectra.fitted());
        let rows = lines.map(|(lines, (_, steps))| lines.measurements(steps));
        let rows =
            rows.ok_or_else(|| format!("{}: no line has been fitted yet; open Spectrum, and try again", path.display()))?;
        let record = work.line_provenance(true).map(|record| work.record_to_write(record));
        work.write_in_background(FileTask::OfTool(file), path, move |path| {
            MeasurementWriter::create(path).and_then(|mut writer| writer.write(&rows)).map_err(|error| error.to_string())?;
            Ok(record.and_then(|record| record.beside([path]).write_beside(path)).into_iter().collect())
        });
        Ok(())
    }
}
