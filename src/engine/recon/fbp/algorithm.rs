//! Filtered backprojection as an algorithm that steps: each step filters a block of projections and adds it to the volume.
//!
//! While some projections are missing, the volume is shown divided by the part of the half sphere that they cover, Σw/2π (of the
//! half circle, Σw/π), so that it has the right size from the first block on; for a whole sweep that is 1. (The Radon inverse
//! needs all directions: a part of them gives streaks, but the right densities on average over directions spread evenly.)

use std::time::Instant;

use super::check::{GradientSizes, check_projection, check_sweep};
use super::filtering::{FilterSettings, ProjectionFilter};
use super::reprojection::explained;
use crate::algebra::{Backend, Image, PendingVolume, Voxels};
use crate::data::{Projection, RoiMask, RoiSums, Sweep, Volume};
use crate::operator::{Accumulation, OperatorError, PlaneBackprojector};
use crate::recon::image_readout::ImageReadout;
use crate::recon::{Algorithm, DataProblem, Explained, ReconError, SettingsProblem, Stage, StageTimes, StepReport};
use crate::scanner::epri::{Order, Queue};
use crate::task::Task;

/// Settings of [`Fbp`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FbpSettings {
    /// Filter and interpolation of projections.
    pub filter: FilterSettings,
    /// Which projections come first.
    pub order: Order,
    /// Projections of a step, at most.
    pub block: usize,
    /// Polar angles and azimuths to which the filtered projections of a step are resampled; `None` = those measured. A step is then the
    /// whole acquisition.
    pub equal_angles: Option<[usize; 2]>,
    /// True if the explained signal is of all projections, not of a sample.
    pub explains_all: bool,
}

impl Default for FbpSettings {
    fn default() -> Self {
        Self { filter: FilterSettings::default(), order: Order::default(), block: 16, equal_angles: None, explains_all: false }
    }
}

/// Returns the sizes of gradients: projections are resampled to other directions only where they have one.
fn sizes_for(settings: &FbpSettings) -> GradientSizes {
    if settings.equal_angles.is_some() { GradientSizes::One } else { GradientSizes::Similar }
}

/// Filtered backprojection on any back end. An iteration is the whole sweep.
pub struct Fbp<B: Backend, P: PlaneBackprojector<B>> {
    backend: B,
    backprojector: P,
    filter: ProjectionFilter,
    settings: FbpSettings,
    /// The acquisition without its projections.
    sweep: Sweep,
    /// All that have arrived, in the order of acquisition.
    projections: Vec<Projection>,
    num_expected: Option<usize>,
    queue: Queue,
    /// Sum of the weights in the image.
    weight: f64,
    image: B::Array<Image>,
    shown: ImageReadout<B, Voxels>,
}

impl<B: Backend, P: PlaneBackprojector<B>> Fbp<B, P> {
    /// Ready for the first step with the projections that `sweep` has so far.
    ///
    /// # Errors
    /// Data or settings that do not suit, not enough memory on the device.
    pub fn new(mut backend: B, backprojector: P, sweep: &Sweep, settings: FbpSettings) -> Result<Self, ReconError> {
        check_sweep(sweep, sizes_for(&settings))?;
        if settings.block == 0 {
            return Err(SettingsProblem::NoProjections.into());
        }
        let filter = ProjectionFilter::new(sweep, &settings.filter)?;
        let filter = match settings.equal_angles {
            Some(_) => filter,
            None => filter.thinned_for(backprojector.grid()),
        };
        let shown = ImageReadout::new(Voxels::whole(backprojector.grid().clone()));
        let image = backend.zeros(backprojector.grid().num_voxels())?;
        let mut fbp = Self {
            backend,
            backprojector,
            filter,
            settings,
            sweep: sweep.without_projections(),
            projections: Vec::new(),
            num_expected: sweep.num_expected,
            queue: Queue::new(settings.order),
            weight: 0.0,
            image,
            shown,
        };
        fbp.enqueue(sweep.projections.clone());
        Ok(fbp)
    }

    /// Discards a first block that may have been added in part.
    fn begin_again(&mut self) -> Result<(), ReconError> {
        self.image = self.backend.zeros(self.backprojector.grid().num_voxels())?;
        self.queue = Queue::new(self.settings.order);
        self.projections.iter().for_each(|projection| self.queue.push(projection.direction));
        Ok(())
    }

    fn enqueue(&mut self, projections: Vec<Projection>) {
        projections.iter().for_each(|projection| self.queue.push(projection.direction));
        self.projections.extend(projections);
    }

    /// Projections that have arrived and are not in the image yet.
    pub fn num_waiting(&self) -> usize {
        self.queue.len()
    }

    /// Projections in the image.
    pub fn num_used(&self) -> usize {
        self.projections.len() - self.queue.len()
    }

    /// Returns true if the image contains every expected projection; never if their number is unknown.
    pub fn is_complete(&self) -> bool {
        self.num_waiting() == 0 && self.num_expected.is_some_and(|expected| self.projections.len() >= expected)
    }

    /// Returns the factor of the displayed image: the weight of a whole acquisition over Σw.
    pub fn scale(&self) -> f64 {
        if self.weight > 0.0 { self.sweep.space.whole_weight() / self.weight } else { 1.0 }
    }
}

impl<B: Backend, P: PlaneBackprojector<B>> Algorithm for Fbp<B, P> {
    /// A block is short work and is added whole: a stop is looked for before it. Only the first, which may be the whole
    /// sweep, is also stopped inside: the image before it is empty, so that it can be taken back.
    fn step(&mut self, task: &Task) -> Result<StepReport, ReconError> {
        task.check().map_err(OperatorError::from)?;
        let mut stages = StageTimes::default();
        if self.queue.is_empty() {
            return Err(DataProblem::AllUsed.into());
        }
        let start = Instant::now();
        let is_first = self.num_used() == 0;
        let block: Vec<Projection> =
            self.queue.take(self.settings.block).into_iter().map(|index| self.projections[index].clone()).collect();
        let filtered = match self.settings.equal_angles {
            Some(angles) => self.filter.apply_at_equal_angles(&block, angles, task)?,
            None => self.filter.apply(&block)?,
        };
        stages[Stage::Filter] = start.elapsed();
        let start = Instant::now();
        let heard = if is_first { task.clone() } else { Task::new() };
        let added = self.backprojector.add(&mut self.backend, &filtered, &mut self.image, &heard);
        if is_first && matches!(added, Err(OperatorError::Stopped(_))) {
            self.begin_again()?;
        }
        added?;
        self.backend.finish()?;
        stages[Stage::Backprojection] = start.elapsed();
        self.weight += match self.settings.equal_angles {
            Some(_) => self.sweep.space.whole_weight(),
            None => block.iter().map(|projection| projection.weight).sum(),
        };
        let complete = self.is_complete();
        Ok(StepReport {
            iteration: usize::from(complete),
            subiteration: self.num_used(),
            subset: 0,
            completes_iteration: complete,
            num_events: None,
            stages,
            em: None,
            ascent: None,
        })
    }

    /// Projections of the whole sweep, as far as it is known.
    fn num_subsets(&self) -> usize {
        self.projections.len().max(self.num_expected.unwrap_or(0)).max(1)
    }

    fn append(&mut self, projections: Vec<Projection>, is_last: bool) -> Result<(), ReconError> {
        let (first, num_points) = (self.projections.len(), self.filter.num_points());
        let mut numbered = projections.iter().enumerate();
        numbered.try_for_each(|(k, projection)| {
            check_projection(projection, first + k, (num_points, self.sweep.space), sizes_for(&self.settings))
        })?;
        self.enqueue(projections);
        if is_last {
            self.num_expected = Some(self.projections.len());
        }
        Ok(())
    }

    fn is_waiting(&self) -> bool {
        self.num_waiting() == 0
    }

    fn volume_into(&mut self, volume: &mut Volume) -> Result<(), ReconError> {
        let scale = self.scale() as f32;
        Ok(self.shown.volume_into(&mut self.backend, &self.image, scale, volume)?)
    }

    fn begin_volume(&mut self) -> Result<Option<PendingVolume>, ReconError> {
        let scale = self.scale() as f32;
        Ok(self.shown.begin_volume(&mut self.backend, &self.image, scale)?)
    }

    fn set_rois(&mut self, masks: &[RoiMask]) -> Result<(), ReconError> {
        Ok(self.shown.set_rois(&mut self.backend, masks)?)
    }

    fn explained(&mut self, task: &Task) -> Result<Option<Explained>, ReconError> {
        let mut image = Volume::filled(self.backprojector.grid().clone(), 0.0);
        self.volume_into(&mut image)?;
        self.explained_by(&image, task)
    }

    fn explained_by(&mut self, image: &Volume, task: &Task) -> Result<Option<Explained>, ReconError> {
        if self.num_waiting() > 0 {
            return Ok(None);
        }
        let sweep = Sweep { projections: self.projections.clone(), ..self.sweep.clone() };
        explained(image, &sweep, &self.filter, self.settings.explains_all, task)
    }

    fn roi_sums(&mut self) -> Result<Vec<RoiSums>, ReconError> {
        let scale = self.scale();
        let sums = self.shown.roi_sums(&mut self.backend, &self.image)?;
        Ok(sums
            .into_iter()
            .map(|roi| RoiSums {
                sum: scale * roi.sum,
                sum_of_squares: scale * scale * roi.sum_of_squares,
                min: scale as f32 * roi.min,
                max: scale as f32 * roi.max,
                ..roi
            })
            .collect())
    }

    /// Every voxel gathers its own sum: there is nothing to choose.
    fn set_accumulation(&mut self, _: Accumulation) {}

    /// None: no two threads ever add to the same voxel.
    fn accumulations(&self) -> &'static [Accumulation] {
        &[]
    }
}
