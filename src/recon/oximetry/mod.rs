//! Pulse oximetry as an algorithm that steps: each step reconstructs the acquisition at the next delay or echo time.
//!
//! The images so far give maps of the relaxation rate and of oxygen ([`crate::measure::oximetry`]), from as many times on as the model has
//! parameters.

use std::sync::Arc;

use super::{Algorithm, ReconError, StageTimes, StepReport};
use crate::coded::PassedOn;
use crate::data::{OxygenSeries, RoiMask, RoiSums, Unit, Volume};
use crate::geometry::Grid;
use crate::measure::oximetry::{FitsOnThreads, MASK_FRACTION, OximetryError, OxygenMaps, RateFitter, oxygen_maps};
use crate::operator::Accumulation;
use crate::task::Task;

/// Makes the algorithm of the acquisition with this index.
pub type ImageMaker = Box<dyn FnMut(usize) -> Result<Box<dyn Algorithm>, ReconError> + Send>;

/// Images at several times, reconstructed one after another.
pub struct PulseOximetry {
    series: Arc<OxygenSeries>,
    make: ImageMaker,
    /// Algorithm of the next image, if it was made already.
    next: Option<Box<dyn Algorithm>>,
    grid: Grid,
    images: Vec<Arc<Volume>>,
    masks: Vec<RoiMask>,
}

impl PulseOximetry {
    /// Bytes of the fit of a voxel and of its three maps.
    pub const BYTES_PER_FIT: u64 = 76;

    /// Returns the algorithm of a series on a grid, with that of its first image and a function that makes the others.
    ///
    /// # Errors
    /// Times that give no rate.
    pub fn new(series: Arc<OxygenSeries>, grid: Grid, first: Box<dyn Algorithm>, make: ImageMaker) -> Result<Self, ReconError> {
        RateFitter::new(series.calibration.rate, &series.times_us)
            .and_then(|fitter| fitter.check_num_images(series.sweeps.len()))
            .map_err(|error| ReconError::Setup(PassedOn::of(&error)))?;
        Ok(Self { series, make, next: Some(first), grid, images: Vec::new(), masks: Vec::new() })
    }

    /// Returns the image of an acquisition, and the times of its stages.
    fn image(&mut self, task: &Task) -> Result<(Volume, StageTimes), ReconError> {
        let mut algorithm = match self.next.take() {
            Some(algorithm) => algorithm,
            None => (self.make)(self.images.len())?,
        };
        let times = algorithm.iterate(task)?;
        let mut image = Volume { unit: Unit::Arbitrary, ..Volume::filled(self.grid.clone(), 0.0) };
        algorithm.volume_into(&mut image)?;
        Ok((image, times))
    }
}

impl Algorithm for PulseOximetry {
    fn step(&mut self, task: &Task) -> Result<StepReport, ReconError> {
        let (image, stages) = self.image(task)?;
        self.images.push(Arc::new(image));
        let is_last = self.is_waiting();
        Ok(StepReport {
            iteration: usize::from(is_last),
            subiteration: self.images.len(),
            subset: self.images.len() - 1,
            completes_iteration: is_last,
            num_events: None,
            stages,
            em: None,
            ascent: None,
        })
    }

    fn num_subsets(&self) -> usize {
        self.series.sweeps.len()
    }

    fn is_waiting(&self) -> bool {
        self.images.len() >= self.series.sweeps.len()
    }

    fn volume_into(&mut self, volume: &mut Volume) -> Result<(), ReconError> {
        match self.images.last() {
            Some(image) => volume.as_mut_slice().copy_from_slice(image.as_slice()),
            None => volume.as_mut_slice().fill(0.0),
        }
        Ok(())
    }

    fn shared_volume(&self) -> Option<Arc<Volume>> {
        self.images.last().cloned()
    }

    fn set_rois(&mut self, masks: &[RoiMask]) -> Result<(), ReconError> {
        self.masks = masks.to_vec();
        Ok(())
    }

    fn roi_sums(&mut self) -> Result<Vec<RoiSums>, ReconError> {
        let empty = [];
        let voxels = self.images.last().map_or(&empty[..], |image| image.as_slice());
        Ok(self.masks.iter().map(|mask| mask.sums(voxels)).collect())
    }

    fn oxygen_maps(&mut self, task: &Task) -> Option<Result<OxygenMaps, OximetryError>> {
        let num = self.images.len();
        let OxygenSeries { times_us, calibration, .. } = &*self.series;
        let views: Vec<&Volume> = self.images.iter().map(|image| &**image).collect();
        let fitter = RateFitter::new(calibration.rate, &times_us[..num]);
        Some(fitter.and_then(|fitter| oxygen_maps(&mut FitsOnThreads, &views, &fitter, calibration, MASK_FRACTION, task)))
    }

    fn set_accumulation(&mut self, _accumulation: Accumulation) {}

    fn accumulations(&self) -> &'static [Accumulation] {
        &[]
    }
}
