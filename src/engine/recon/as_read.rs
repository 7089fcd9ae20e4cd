//! Images of another program as an algorithm: each step shows the next one.

use std::sync::Arc;

use super::{Algorithm, ReconError, StageTimes, StepReport};
use crate::data::{ImageSeries, RoiMask, RoiSums, Volume};
use crate::operator::Accumulation;
use crate::task::Task;

/// Images of another program; the current one is measured and copied.
pub struct AsRead {
    series: Arc<ImageSeries>,
    /// Number of images that were shown.
    num_shown: usize,
    masks: Vec<RoiMask>,
}

impl AsRead {
    /// Returns an algorithm that shows the images of a series.
    pub fn new(series: Arc<ImageSeries>) -> Self {
        Self { series, num_shown: 0, masks: Vec::new() }
    }

    fn volume(&self) -> Option<&Arc<Volume>> {
        self.series.images.get(self.num_shown.saturating_sub(1)).map(|image| &image.volume)
    }
}

impl Algorithm for AsRead {
    fn step(&mut self, _task: &Task) -> Result<StepReport, ReconError> {
        self.num_shown += 1;
        let is_last = self.num_shown >= self.series.images.len();
        Ok(StepReport {
            iteration: usize::from(is_last),
            subiteration: self.num_shown,
            subset: self.num_shown - 1,
            completes_iteration: is_last,
            num_events: None,
            stages: StageTimes::default(),
            em: None,
            ascent: None,
        })
    }

    fn num_subsets(&self) -> usize {
        self.series.images.len()
    }

    fn is_waiting(&self) -> bool {
        self.num_shown >= self.series.images.len()
    }

    fn volume_into(&mut self, volume: &mut Volume) -> Result<(), ReconError> {
        if let Some(current) = self.volume() {
            volume.as_mut_slice().copy_from_slice(current.as_slice());
        }
        Ok(())
    }

    fn shared_volume(&self) -> Option<Arc<Volume>> {
        self.volume().cloned()
    }

    fn set_rois(&mut self, masks: &[RoiMask]) -> Result<(), ReconError> {
        self.masks = masks.to_vec();
        Ok(())
    }

    fn roi_sums(&mut self) -> Result<Vec<RoiSums>, ReconError> {
        let voxels = self.volume().map(|volume| volume.as_slice()).unwrap_or_default();
        Ok(self.masks.iter().map(|mask| mask.sums(voxels)).collect())
    }

    fn set_accumulation(&mut self, _accumulation: Accumulation) {}

    fn accumulations(&self) -> &'static [Accumulation] {
        &[]
    }
}
