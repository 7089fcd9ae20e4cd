//! Model of the sinogram row under the crosshair, live: computation in the background, the table of its factors, and the tab.

mod factors;
mod model_panel;
mod state;

use egui::Ui;

use self::model_panel::{ModelContent, ModelView, model_ui};
use self::state::{ModelInput, ModelState};
use super::tool::Tool;
use crate::data::SinogramRow;
use crate::plan::{Data, ModelRow, NoModelRows};
use crate::ui::widgets::wake::waker;
use crate::ui::workspace::state::{Request, Workspace};

/// Text before the first image.
const NO_IMAGE_YET: &str =
    "Start a reconstruction: measured and expected counts of the sinogram row under the crosshair appear with each image.";

#[derive(Default)]
pub struct Model {
    state: ModelState,
}

/// Returns the displayed iterate and the row under the crosshair; `None` without projection data or an image.
fn input(work: &Workspace) -> Option<ModelInput<'_>> {
    let run = work.run();
    let (id, live) = run.shown_of()?;
    let (info, volume) = (live.info.as_ref()?, run.shown.unfiltered_image()?);
    let has_rows = NoModelRows::of_run(&info.job, &info.projector).is_none() && volume.grid.same_as(info.job.grid());
    let counts = info.job.data().counts().filter(|_| has_rows)?;
    let z_mm = work.slices.view.crosshair_mm[2];
    let row = SinogramRow::at_height(counts.geometry(), work.plots.sinogram_view, z_mm);
    Some(ModelInput { info, id, volume, row })
}

impl Model {
    /// Returns the row under the crosshair with its model, while its tab is open.
    pub fn row(&self) -> Option<&ModelRow> {
        self.state.newest()?.1.as_ref().ok()
    }

    fn content<'a>(&'a self, work: &'a Workspace) -> Result<ModelContent<'a>, String> {
        let no_rows = |data: &Data| NoModelRows::of(data).map_or(Ok(()), |reason| Err(reason.to_string()));
        work.study().map_or(Ok(()), |study| no_rows(&study.measured))?;
        let shown = work.run().shown_of().and_then(|(_, live)| Some((live, live.info.as_ref()?)));
        let (live, info) = shown.ok_or(NO_IMAGE_YET)?;
        NoModelRows::of_run(&info.job, &info.projector).map_or(Ok(()), |reason| Err(reason.to_string()))?;
        let (id, row) = self.state.newest().ok_or(NO_IMAGE_YET)?;
        let geometry = info.job.data().counts().ok_or(NO_IMAGE_YET)?.geometry();
        Ok(ModelContent {
            row: row.as_ref().map_err(Clone::clone)?,
            geometry,
            provenance: live.provenance(id.subiteration, None).ok_or(NO_IMAGE_YET)?,
            iterate: live.iteration_scheme().iterate_text(id, live.num_subsets()),
            crosshair_mm: work.slices.view.crosshair_mm,
        })
    }
}

impl Tool for Model {
    fn title(&self, _work: &Workspace) -> [&'static str; 2] {
        ["Model", "Measured and expected counts of the sinogram row under the crosshair, with the factors of the model"]
    }

    fn is_for(&self, work: &Workspace) -> bool {
        work.counts().is_some()
    }

    fn update(&mut self, work: &mut Workspace, is_drawn: bool) {
        self.state.update(input(work).filter(|_| is_drawn), work.patience(), waker(&work.ctx));
    }

    fn ui(&mut self, work: &Workspace, ui: &mut Ui, requests: &mut Vec<Request>) {
        model_ui(&ModelView { options: &work.plots, content: self.content(work) }, ui, requests);
    }
}
