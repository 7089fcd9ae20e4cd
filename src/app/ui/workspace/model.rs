//! Model of the sinogram row under the crosshair: its input, and the content of its tab.

use egui::Context;

use super::app::App;
use super::panes::pane::Pane;
use crate::data::SinogramRow;
use crate::plan::{Data, ModelRow, NoModelRows};
use crate::ui::plots::BottomTab;
use crate::ui::plots::model::model_panel::{ModelContent, ModelView};
use crate::ui::plots::model::state::ModelInput;
use crate::ui::widgets::wake::waker;

/// Text before the first image.
const NO_IMAGE_YET: &str =
    "Start a reconstruction: measured and expected counts of the sinogram row under the crosshair appear with each image.";

impl App {
    /// Computes the row while its tab is open.
    pub(super) fn derive_model(&mut self, ctx: &Context) {
        let is_drawn = self.panes.is_drawn(Pane::Table(BottomTab::Model));
        let patience = self.patience();
        let mut model = std::mem::take(&mut self.model);
        model.update(self.model_input().filter(|_| is_drawn), patience, waker(ctx));
        self.model = model;
    }

    /// Returns the displayed iterate and the row under the crosshair; `None` without projection data or an image.
    fn model_input(&self) -> Option<ModelInput<'_>> {
        let run = self.run();
        let (id, live) = run.shown_of()?;
        let (info, volume) = (live.info.as_ref()?, run.shown.unfiltered_image()?);
        let has_rows = NoModelRows::of_run(&info.job, &info.projector).is_none() && volume.grid.same_as(info.job.grid());
        let counts = info.job.data().counts().filter(|_| has_rows)?;
        let z_mm = self.slices.view.crosshair_mm[2];
        let row = SinogramRow::at_height(counts.geometry(), self.plots.sinogram_view, z_mm);
        Some(ModelInput { info, id, volume, row })
    }

    /// Returns the row under the crosshair with its model, while its tab is open.
    pub fn model_row(&self) -> Option<&ModelRow> {
        self.model.newest()?.1.as_ref().ok()
    }

    pub(super) fn model_view(&self) -> ModelView<'_> {
        ModelView { options: &self.plots, content: self.model_content() }
    }

    fn model_content(&self) -> Result<ModelContent<'_>, String> {
        let no_rows = |data: &Data| NoModelRows::of(data).map_or(Ok(()), |reason| Err(reason.to_string()));
        self.study().map_or(Ok(()), |study| no_rows(&study.measured))?;
        let shown = self.run().shown_of().and_then(|(_, live)| Some((live, live.info.as_ref()?)));
        let (live, info) = shown.ok_or(NO_IMAGE_YET)?;
        NoModelRows::of_run(&info.job, &info.projector).map_or(Ok(()), |reason| Err(reason.to_string()))?;
        let (id, row) = self.model.newest().ok_or(NO_IMAGE_YET)?;
        let geometry = info.job.data().counts().ok_or(NO_IMAGE_YET)?.geometry();
        Ok(ModelContent {
            row: row.as_ref().map_err(Clone::clone)?,
            geometry,
            provenance: live.provenance(id.subiteration, None).ok_or(NO_IMAGE_YET)?,
            iterate: live.iteration_scheme().iterate_text(id, live.num_subsets()),
            crosshair_mm: self.slices.view.crosshair_mm,
        })
    }
}
