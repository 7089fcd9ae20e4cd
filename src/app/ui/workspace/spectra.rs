//! Spectra of the active run: requests, fits, and the content of their tab.

use std::path::Path;
use std::sync::Arc;

use egui::Context;

use super::app::App;
use super::panes::pane::Pane;
use crate::data::Volume;
use crate::io::measurements::MeasurementWriter;
use crate::plan::{ImageKind, LinewidthRecord, Provenance};
use crate::remote::Remote;
use crate::session::{Control, VolumesOf};
use crate::ui::layer::line_map::{LineImages, LineMap};
use crate::ui::layer::run_map::RunMap;
use crate::ui::plots::BottomTab;
use crate::ui::plots::spectrum::spectrum_panel::SpectrumView;
use crate::ui::plots::spectrum::state::Next;
use crate::ui::study::open::open_study::OpenStudy;
use crate::ui::widgets::file_task::FileTask;
use crate::ui::widgets::wake::waker;

impl App {
    /// Follows the active run: its tab appears with its first spectra, and while the tab or a map is displayed the newest spectra are
    /// requested and fitted.
    pub(super) fn follow_spectra(&mut self, ctx: &Context) {
        let live = &self.runs.active().live;
        self.spectra.begin_run(live.run);
        if let Some(info) = &live.info {
            let is_new = self.spectra.set_axis(info.job.spectral_axis());
            if is_new {
                self.panes.show(Pane::Table(BottomTab::Spectrum));
            }
        }
        self.spectra.follow(waker(ctx));
        if self.panes.is_drawn(Pane::Table(BottomTab::Spectrum)) {
            self.measure_lines();
        }
        let live = &self.runs.active().live;
        let is_displayed = self.panes.is_drawn(Pane::Table(BottomTab::Spectrum)) || self.layer.line != LineMap::Signal;
        // (The spectra of a remote run stay on its host.)
        let Some(last) = live.last.as_ref().filter(|_| is_displayed && self.remote.is_none() && live.in_memory().is_some())
        else {
            return;
        };
        match self.spectra.next(last.subiteration, live.is_running()) {
            Next::None => {}
            Next::Now => _ = self.session.send(Control::ReadVolumes(VolumesOf::Coupled)),
            Next::After(pause) => ctx.request_repaint_after(pause),
        }
    }

    /// Measures the lines of the regions in the newest fits.
    fn measure_lines(&mut self) {
        let selected = self.rois.selected;
        self.spectra.measure(self.rois.masked(), selected);
    }

    /// Returns the maps of the newest lines.
    pub fn line_images(&self) -> Option<&LineImages> {
        self.spectra.images()
    }

    pub(super) fn spectrum_view(&self) -> SpectrumView<'_> {
        SpectrumView {
            state: &self.spectra,
            map: self.layer.line,
            crosshair_mm: self.slices.view.crosshair_mm,
            axes: self.study.axes(),
            rois: &self.rois.document.rois,
            selected: self.rois.selected,
            remote_host: self.remote.as_ref().map(Remote::host),
        }
    }

    /// Returns the map of lines that hides the displayed image, and its provenance.
    pub(super) fn covering_line_map(&self) -> Option<(Arc<Volume>, Provenance)> {
        let RunMap::Line(map) = self.hiding_map()? else { return None };
        let provenance = self.line_provenance(map == LineMap::Po2)?;
        Some((Arc::clone(map.of(self.spectra.images()?)?), provenance))
    }

    /// Returns the provenance of the newest lines; with their calibration if numbers depend on it.
    fn line_provenance(&self, is_calibrated: bool) -> Option<Provenance> {
        let (settings, steps) = self.spectra.fitted()?;
        let provenance = self.run().live.provenance(steps, None)?;
        let title = self.study.open.as_ref().map_or("", OpenStudy::title);
        let record = LinewidthRecord {
            image: format!("{title}, iteration {steps}"),
            line: settings.line,
            mask_fraction: settings.mask_fraction,
            calibration: settings.calibration.filter(|_| is_calibrated).cloned(),
        };
        Some(Provenance { made: ImageKind::Linewidth, linewidth: Some(record), ..provenance })
    }

    /// Starts writing the lines of the regions as CSV, with their provenance record.
    ///
    /// # Errors
    /// No line has been fitted yet.
    pub(in crate::ui) fn write_lines(&mut self, ctx: &Context, path: &Path) -> Result<(), String> {
        self.measure_lines();
        let lines = self.spectra.regions().lines().zip(self.spectra.fitted());
        let rows = lines.map(|(lines, (_, steps))| lines.measurements(steps));
        let rows =
            rows.ok_or_else(|| format!("{}: no line has been fitted yet; open Spectrum, and try again", path.display()))?;
        let record = self.line_provenance(true).map(|record| self.record_to_write(record));
        self.write_in_background(ctx, FileTask::Lines, path, move |path| {
            MeasurementWriter::create(path).and_then(|mut writer| writer.write(&rows)).map_err(|error| error.to_string())?;
            Ok(record.and_then(|record| record.beside([path]).write_beside(path)).into_iter().collect())
        });
        Ok(())
    }
}
