//! Row of the sinogram under the crosshair with its model, of the displayed iterate.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use crate::data::{IterateId, RunId, SinogramRow, Volume};
use crate::plan::{Job, ModelRow, ModelRows, NoModelRows, StartInfo};
use crate::ui::widgets::background_value::BackgroundValue;

/// Input of a row.
pub struct ModelInput<'a> {
    pub info: &'a StartInfo,
    pub id: IterateId,
    /// Its image, without a filter.
    pub volume: &'a Arc<Volume>,
    pub row: SinogramRow,
}

type Outcome = Result<ModelRow, String>;

/// Newest row.
#[derive(Default)]
pub struct ModelState {
    rows: Option<(RunId, Arc<RunRows>)>,
    row: BackgroundValue<(IterateId, SinogramRow), Outcome>,
}

impl ModelState {
    /// Updates the row; without an input there is none. Waits for it no longer than `patience`, and calls `wake` when a later one
    /// is ready.
    pub fn update(&mut self, input: Option<ModelInput>, patience: Duration, wake: impl FnOnce() + Send + 'static) {
        let Some(ModelInput { info, id, volume, row }) = input else {
            *self = Self::default();
            return;
        };
        if self.rows.as_ref().is_none_or(|(run, _)| *run != id.run) {
            let (job, projector) = (info.job.clone(), info.projector.clone());
            let rows = RunRows { job, projector, model: OnceLock::new(), image: Mutex::new(None) };
            *self = Self { rows: Some((id.run, Arc::new(rows))), ..Self::default() };
        }
        let Some(rows) = self.rows.as_ref().map(|(_, rows)| Arc::clone(rows)) else { return };
        let volume = Arc::clone(volume);
        self.row.update("sinogram row", (id, row), patience, wake, move || rows.row(id, &volume, row));
    }

    /// Returns the newest row with its iterate; `None` before the first.
    pub fn newest(&self) -> Option<(IterateId, &Outcome)> {
        self.row.newest().map(|((id, _), row)| (*id, row))
    }
}

struct RunRows {
    job: Job,
    projector: String,
    /// Made with the first row.
    model: OnceLock<Result<ModelRows, String>>,
    /// Projected image of an iterate: other rows of the same iterate need no resolution model again.
    image: Mutex<Option<(IterateId, Arc<Vec<f32>>)>>,
}

impl RunRows {
    fn row(&self, id: IterateId, volume: &Volume, row: SinogramRow) -> Outcome {
        let model = self.model.get_or_init(|| match ModelRows::new(&self.job, &self.projector) {
            Ok(Some(model)) => Ok(model),
            Ok(None) => {
                Err(NoModelRows::of_run(&self.job, &self.projector).map_or_else(String::new, |reason| reason.to_string()))
            }
            Err(error) => Err(error.to_string()),
        });
        let model = model.as_ref().map_err(Clone::clone)?;
        let known = self.image.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let image = match known.filter(|(known, _)| *known == id) {
            Some((_, image)) => image,
            None => Arc::new(model.projected_image(volume).map_err(|error| error.to_string())?),
        };
        *self.image.lock().unwrap_or_else(PoisonError::into_inner) = Some((id, Arc::clone(&image)));
        Ok(model.row(row, &image))
    }
}
