//! Pulse oximetry as an algorithm that steps: several steps reconstruct the acquisition at the next delay or echo time.
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
    /// Image under way, or the algorithm of the next one, if it was made already.
    current: Option<Current>,
    /// Most iterations of an image that iterations improve; `None` = one pass over the projections makes it.
    max_iterations: Option<usize>,
    grid: Grid,
    images: Vec<Arc<Volume>>,
    /// Iterations of each image that iterations improve.
    iterations: Vec<usize>,
    masks: Vec<RoiMask>,
}

/// Image under way.
struct Current {
    algorithm: Box<dyn Algorithm>,
    num_steps: usize,
    stages: StageTimes,
}

/// Images of a run of pulse oximetry so far, and their maps.
pub struct OxygenResult {
    /// Image of each time.
    pub images: Vec<Arc<Volume>>,
    /// Iterations of each image; empty of filtered backprojection.
    pub iterations: Vec<usize>,
    /// Maps of the images, or the reason why they give none.
    pub maps: Result<OxygenMaps, OximetryError>,
}

impl PulseOximetry {
    /// Bytes of the fit of a voxel and of its three maps.
    pub const BYTES_PER_FIT: u64 = 76;

    /// Returns the algorithm of a series on a grid, with that of its first image and a function that makes the others. Images of an iterative
    /// algorithm end at `max_iterations` or where they have converged; `None` = one pass over the projections makes an image.
    ///
    /// # Errors
    /// Times that give no rate.
    pub fn new(
        series: Arc<OxygenSeries>,
        grid: Grid,
        first: Box<dyn Algorithm>,
        make: ImageMaker,
        max_iterations: Option<usize>,
    ) -> Result<Self, ReconError> {
        RateFitter::new(series.calibration.rate, &series.times_us)
            .and_then(|fitter| fitter.check_num_images(series.sweeps.len()))
            .map_err(|error| ReconError::Setup(PassedOn::of(&error)))?;
        let current = Some(Current::new(first));
        let (images, iterations) = (Vec::new(), Vec::new());
        Ok(Self { series, make, current, max_iterations, grid, images, iterations, masks: Vec::new() })
    }

    /// Does a step of the image under way; `task` counts its iterations. Returns the times of the stages of an image that is complete.
    fn advance(&mut self, task: &Task) -> Result<Option<StageTimes>, ReconError> {
        let current = match &mut self.current {
            Some(current) => current,
            none => none.insert(Current::new((self.make)(self.images.len())?)),
        };
        if let (Some(max), 0) = (self.max_iterations, current.num_steps) {
            task.begin(max as u64);
        }
        let report = current.algorithm.step(task)?;
        task.advance(u64::from(self.max_iterations.is_some()));
        current.num_steps += 1;
        current.stages += report.stages;
        let is_complete = match self.max_iterations {
            None => report.completes_iteration,
            Some(max) => report.iteration >= max || current.algorithm.converged().is_some(),
        };
        if !is_complete {
            return Ok(None);
        }
        let mut image = Volume { unit: Unit::Arbitrary, ..Volume::filled(self.grid.clone(), 0.0) };
        current.algorithm.volume_into(&mut image)?;
        let stages = current.stages;
        self.current = None;
        self.images.push(Arc::new(image));
        self.iterations.extend(self.max_iterations.map(|_| report.iteration));
        Ok(Some(stages))
    }
}

impl Current {
    fn new(algorithm: Box<dyn Algorithm>) -> Self {
        Self { algorithm, num_steps: 0, stages: StageTimes::default() }
    }
}

impl Algorithm for PulseOximetry {
    fn step(&mut self, task: &Task) -> Result<StepReport, ReconError> {
        let stages = self.advance(task)?;
        let is_last = self.is_waiting();
        Ok(StepReport {
            iteration: usize::from(is_last),
            subiteration: self.images.len(),
            subset: self.images.len().saturating_sub(1),
            completes_iteration: is_last,
            num_events: None,
            stages: stages.unwrap_or_default(),
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

    fn oxygen(&mut self, task: &Task) -> Option<OxygenResult> {
        let num = self.images.len();
        let OxygenSeries { times_us, calibration, .. } = &*self.series;
        let views: Vec<&Volume> = self.images.iter().map(|image| &**image).collect();
        let fitter = RateFitter::new(calibration.rate, &times_us[..num]);
        let maps = fitter.and_then(|fitter| oxygen_maps(&mut FitsOnThreads, &views, &fitter, calibration, MASK_FRACTION, task));
        Some(OxygenResult { images: self.images.clone(), iterations: self.iterations.clone(), maps })
    }

    fn set_accumulation(&mut self, _accumulation: Accumulation) {}

    fn accumulations(&self) -> &'static [Accumulation] {
        &[]
    }
}
