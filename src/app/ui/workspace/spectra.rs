//! Spectra of the active run: requests, fits, and the content of their tab.

use std::sync::Arc;

use super::panes::pane::SPECTRUM;
use super::state::Workspace;
use crate::data::Volume;
use crate::plan::{ImageKind, LinewidthRecord, Provenance};
use crate::session::{Control, VolumesOf};
use crate::ui::layer::line_map::{LineImages, LineMap};
use crate::ui::layer::run_map::RunMap;
use crate::ui::layer::spectra::state::Next;
use crate::ui::study::open::open_study::OpenStudy;
use crate::ui::widgets::wake::waker;

impl Workspace {
    /// Follows the active run: its tab appears with its first spectra, and while the tab or a map is displayed the newest spectra are
    /// requested and fitted.
    pub fn follow_spectra(&mut self) {
        let live = &self.runs.active().live;
        self.spectra.begin_run(live.run);
        if let Some(info) = &live.info {
            let is_new = self.spectra.set_axis(info.job.spectral_axis());
            if is_new {
                self.panes.show(&SPECTRUM);
            }
        }
        self.spectra.follow(waker(&self.ctx));
        if self.panes.is_drawn(&SPECTRUM) {
            self.measure_lines();
        }
        let live = &self.runs.active().live;
        let is_displayed = self.panes.is_drawn(&SPECTRUM) || self.layer.line != LineMap::Signal;
        // (The spectra of a remote run stay on its host.)
        let Some(last) = live.last.as_ref().filter(|_| is_displayed && self.remote.is_none() && live.in_memory().is_some())
        else {
            return;
        };
        match self.spectra.next(last.subiteration, live.is_running()) {
            Next::None => {}
            Next::Now => _ = self.session.send(Control::ReadVolumes(VolumesOf::Coupled)),
            Next::After(pause) => self.ctx.request_repaint_after(pause),
        }
    }

    /// Measures the lines of the regions in the newest fits.
    pub fn measure_lines(&mut self) {
        let selected = self.rois.selected;
        self.spectra.measure(self.rois.masked(), selected);
    }

    /// Returns the maps of the newest lines.
    pub fn line_images(&self) -> Option<&LineImages> {
        self.spectra.images()
    }

    /// Returns the map of lines that hides the displayed image, and its provenance.
    pub fn covering_line_map(&self) -> Option<(Arc<Volume>, Provenance)> {
        let RunMap::Line(map) = self.hiding_map()? else { return None };
        let provenance = self.line_provenance(map == LineMap::Po2)?;
        Some((Arc::clone(map.of(self.spectra.images()?)?), provenance))
    }

    /// Returns the provenance of the newest lines; with their calibration if numbers depend on it.
    pub fn line_provenance(&self, is_calibrated: bool) -> Option<Provenance> {
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
}
