//! Φ and its gradients by subsets, with what all algorithms that climb have in common.

use std::ops::Range;
use std::sync::Arc;

use super::AscentTuning;
use crate::algebra::{BackendError, Data, Image, ImageSpace};
use crate::data::Volume;
use crate::operator::{Accumulation, OperatorError};
use crate::recon::image_readout::ImageReadout;
use crate::recon::post_filter::gaussian_filter;
use crate::recon::start::{UniformStart, check_kappa, check_start_image};
use crate::recon::{
    Additions, EmKernels, ForwardModel, Kappa, Penalty, PenaltySpec, PoissonTerms, ReconError, SettingsProblem, Stage,
    StageTimes, StartImages, Step, proposed_strength,
};
use crate::task::Task;

/// Least value of a voxel as a part of the start image's largest: an image of zeros along a line with counts has no likelihood.
const FLOOR: f32 = 1e-7;

/// Largest ratio of the expected counts of a start image to the measured ones, and of these to those.
const MAX_LEVEL: f64 = 10.0;

/// Smoothing of the image from which the strength follows, mm.
const SMOOTHING_FWHM_MM: f64 = 5.0;

/// Part of the image's level Σx² / Σx that is δ.
const LIFT: f64 = 0.1;

/// Second derivatives of the negative log-likelihood, H_s = A_sᵀ (m² ⊙ y / ȳ² ⊙ A_s), times an image of ones.
pub(super) struct Curvature<B: EmKernels> {
    /// H · 1 = Σ H_s · 1.
    pub sum: B::Array<Image>,
    /// The largest H_s · 1 of each voxel.
    pub largest: B::Array<Image>,
}

/// Φ by its terms.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct ObjectiveValue {
    /// Σ (y ln ȳ − ȳ) over all data.
    pub log_likelihood: f64,
    /// β R.
    pub penalty: f64,
}

impl ObjectiveValue {
    /// Returns Φ.
    pub fn total(self) -> f64 {
        self.log_likelihood - self.penalty
    }
}

/// Φ of a study, at one image: its data and penalty, and the image. Each replicate of the counts has another image, and the same
/// penalty.
pub(super) struct Objective<B: EmKernels, M, S> {
    pub backend: B,
    pub model: M,
    spec: PenaltySpec,
    /// Known once the algorithm has begun.
    pub penalty: Option<Penalty>,
    /// κ, if it is given; and the voxels of all pairs, once there has been a penalty.
    kappa: Option<Arc<Volume>>,
    neighbours: Option<B::Neighbours>,
    /// Second derivatives at the start image of the run, if κ needed them.
    pub curvature_of_start: Option<Curvature<B>>,
    /// Largest value of the start image, from which the penalty follows; known then, too.
    largest: f64,
    /// Factor of all step sizes.
    pub step_factor: f64,
    /// Coefficients of the start image, and whether they are those of a uniform one without a level; `None` once it has begun.
    start: Option<(Arc<Vec<f32>>, bool)>,
    pub readout: ImageReadout<B, S>,
    /// Accumulation of the steps, and of the sensitivity.
    pub accumulation: Accumulation,
    of_sensitivity: Accumulation,
    /// The present image: that of the run, or of the replicate in use.
    pub x: B::Array<Image>,
    /// Images of the replicates. In place of that in use is the image of the run.
    replicates: Vec<B::Array<Image>>,
    /// Σ over all subsets of their sensitivities.
    pub sensitivity: B::Array<Image>,
    /// The least value of each voxel that a line crosses.
    pub floor: B::Array<Image>,
    data: B::Array<Data>,
    scratch: B::Array<Image>,
    volume: Volume,
}

impl<B: EmKernels, M: ForwardModel<B>, S: ImageSpace<B>> Objective<B, M, S> {
    /// Makes the arrays.
    pub fn new(
        mut backend: B,
        space: S,
        model: M,
        spec: PenaltySpec,
        additions: Additions,
        StartImages { init, kappa }: StartImages<'_>,
    ) -> Result<Self, ReconError> {
        check_start_image(init)?;
        check_kappa(kappa)?;
        if spec.strength != Some(0.0) && space.places().is_none() {
            return Err(SettingsProblem::PenaltyWithoutVoxels.into());
        }
        let len = space.len();
        let data_len = (0..model.num_subsets()).map(|subset| model.data_len(subset)).max().unwrap_or(0);
        let start = Arc::new(init.map_or_else(|| space.uniform(), |init| space.coefficients(init)));
        // Lost additions would count as a gradient.
        let Additions { accumulation, sensitivity_accumulation: exact, .. } = additions;
        Ok(Self {
            data: backend.zeros(data_len)?,
            x: backend.upload(Arc::clone(&start))?,
            replicates: (0..model.num_replicates()).map(|_| backend.upload(Arc::clone(&start))).collect::<Result<_, _>>()?,
            sensitivity: backend.zeros(len)?,
            floor: backend.zeros(len)?,
            scratch: backend.zeros(len)?,
            volume: Volume::filled(space.grid().clone(), 0.0),
            readout: ImageReadout::new(space),
            accumulation: if accumulation.has_race() { exact } else { accumulation },
            of_sensitivity: exact,
            spec,
            penalty: None,
            kappa: kappa.cloned(),
            neighbours: None,
            curvature_of_start: None,
            largest: 0.0,
            step_factor: 1.0,
            start: Some((start, init.is_none())),
            backend,
            model,
        })
    }

    /// Returns true once [`Objective::begin`] has been through.
    pub fn has_begun(&self) -> bool {
        self.start.is_none()
    }

    /// Computes the sensitivity, hands that of each subset to `keep`, and makes the start images 0 where no line passes. Without
    /// an image to start at each is that of one iteration of OSEM with its own counts. Then the penalty is known, too, but for κ.
    pub fn begin(
        &mut self,
        order: &[usize],
        stages: &mut StageTimes,
        task: &Task,
        mut keep: impl FnMut(&mut B, usize, &B::Array<Image>) -> Result<(), BackendError>,
    ) -> Result<(), ReconError> {
        let Some((start, is_uniform)) = self.start.clone() else { return Ok(()) };
        let all = self.all();
        self.backend.fill(&mut self.sensitivity, 0.0)?;
        let mut own = self.zeros()?;
        let mut backprojected_ratio = self.zeros()?;
        self.for_each_image(stages, |objective, _| {
            // (An uploaded array may share its values: each image needs its own.)
            let values = objective.backend.upload(Arc::clone(&start))?;
            Ok(copy(&mut objective.backend, &values, &mut objective.x, all.clone())?)
        })?;
        for (step, &subset) in order.iter().enumerate() {
            stages.time(Stage::Sensitivity, || -> Result<(), ReconError> {
                let Self { backend, model, of_sensitivity, data, .. } = self;
                let mut step = Step { backend, subset, accumulation: *of_sensitivity, task };
                model.sensitivity(&mut step, data, &mut own)?;
                if let Some(columns) = self.readout.space().column_layout() {
                    self.backend.drop_rounding(&mut own, columns)?;
                }
                self.backend.add_scaled(&mut self.sensitivity, 0, 1.0, &own, all.clone())?;
                Ok(keep(&mut self.backend, subset, &own)?)
            })?;
            if is_uniform {
                self.for_each_image(stages, |objective, stages| {
                    if step == 0 {
                        let Self { backend, model, x, scratch, .. } = objective;
                        let (totals, share) = (model.totals()?, model.share(subset)?);
                        UniformStart { x, scratch, sensitivity: &own, len: all.len() }.scale(backend, totals, share)?;
                    }
                    objective.backprojected_ratio(subset, &mut backprojected_ratio, stages, task)?;
                    Ok(objective.backend.em_update(&mut objective.x, &backprojected_ratio, &own)?)
                })?;
            }
        }
        self.for_each_image(stages, |objective, _| {
            let Self { backend, x, scratch, sensitivity, .. } = objective;
            backend.masked(scratch, x, sensitivity)?;
            std::mem::swap(x, scratch);
            Ok(())
        })?;
        if !is_uniform {
            self.check_level()?;
        }
        let largest = f64::from(self.volume()?.range().1);
        self.largest = largest;
        self.penalty = self.spec.from_start(largest);
        self.backend.fill(&mut self.scratch, FLOOR * largest as f32)?;
        self.backend.masked(&mut self.floor, &self.scratch, &self.sensitivity)?;
        self.for_each_image(stages, |objective, _| Ok(objective.hold_above_floor()?))?;
        self.start = None;
        Ok(())
    }

    /// Refuses a given start image that makes far more or fewer counts expect than there are: all that follows from it (β, ε, δ, κ, the floor) would be of
    /// its unit. An image of zeros expects nothing.
    fn check_level(&mut self) -> Result<(), ReconError> {
        let all = self.all();
        let expected = self.backend.dot(&self.x, 0, &self.sensitivity, all)?;
        let level = self.model.totals()?.start_level(1.0, expected).map_or(1.0, f64::from);
        if (1.0 / MAX_LEVEL..=MAX_LEVEL).contains(&level) {
            return Ok(());
        }
        Err(SettingsProblem::StartImageLevel { times: format!("{:.3e}", 1.0 / level) }.into())
    }

    /// Returns the number of replicates.
    pub fn num_replicates(&self) -> usize {
        self.replicates.len()
    }

    /// Does work with image and counts of a replicate in place of those of the run.
    ///
    /// # Errors
    /// Those of the work; a replicate that does not exist.
    pub fn with_replicate<T>(
        &mut self,
        replicate: usize,
        work: impl FnOnce(&mut Self) -> Result<T, ReconError>,
    ) -> Result<T, ReconError> {
        let swap = |objective: &mut Self, in_use: Option<usize>| {
            let own = objective.replicates.get_mut(replicate).ok_or(SettingsProblem::NoReplicates)?;
            std::mem::swap(&mut objective.x, own);
            objective.model.use_replicate(in_use);
            Ok::<_, ReconError>(())
        };
        swap(self, Some(replicate))?;
        let of_run = self.curvature_of_start.take();
        let done = work(self);
        self.curvature_of_start = of_run;
        swap(self, None)?;
        done
    }

    /// Does work with another image in place of the present one, for the same counts.
    ///
    /// # Errors
    /// Those of the work.
    pub fn with_image<T>(
        &mut self,
        x: &mut B::Array<Image>,
        work: impl FnOnce(&mut Self) -> Result<T, ReconError>,
    ) -> Result<T, ReconError> {
        std::mem::swap(&mut self.x, x);
        let done = work(self);
        std::mem::swap(&mut self.x, x);
        done
    }

    /// Does work with the image of the run, then with that of each replicate and its counts.
    fn for_each_image(
        &mut self,
        stages: &mut StageTimes,
        mut work: impl FnMut(&mut Self, &mut StageTimes) -> Result<(), ReconError>,
    ) -> Result<(), ReconError> {
        work(self, stages)?;
        stages.time(Stage::Replicates, || {
            let of_stages = &mut StageTimes::default();
            (0..self.num_replicates()).try_for_each(|index| self.with_replicate(index, |objective| work(objective, of_stages)))
        })
    }

    /// Makes κ and the neighbours of the first penalty, at the present image.
    pub fn begin_penalty(&mut self, stages: &mut StageTimes, task: &Task) -> Result<(), ReconError> {
        if self.spec.strength.is_none() {
            self.propose_strength(stages, task)?;
        }
        if self.penalty.is_none() || self.neighbours.is_some() {
            return Ok(());
        }
        self.kappa = match self.spec.kappa {
            Kappa::Auto => Some(Arc::new(self.root_of_hessian_sums(stages, task)?)),
            Kappa::None => None,
            Kappa::File => Some(self.kappa.take().ok_or(SettingsProblem::NoKappa)?),
        };
        let space = self.readout.space();
        if let (Some(penalty), Some(places)) = (&mut self.penalty, space.places()) {
            penalty.kappa = self.kappa.clone();
            self.neighbours = Some(self.backend.neighbours(penalty, places, space.grid().voxel_mm)?);
        }
        Ok(())
    }

    /// Sets the strength that [`proposed_strength`] has at the mean of the smoothed start image, weighted with its values (noise alone
    /// would raise it). With κ = 1 it is multiplied by the mean of H · 1, weighted alike.
    fn propose_strength(&mut self, stages: &mut StageTimes, task: &Task) -> Result<(), ReconError> {
        let image = gaussian_filter(self.volume()?, SMOOTHING_FWHM_MM);
        let squares = match self.spec.kappa {
            Kappa::None => Some(self.root_of_hessian_sums(stages, task)?),
            Kappa::Auto | Kappa::File => None,
        };
        let mean_of = |value: &dyn Fn(usize) -> f64| {
            let [mut sum, mut weight] = [0.0; 2];
            for (voxel, x) in image.as_slice().iter().enumerate() {
                (sum, weight) = (sum + f64::from(*x) * value(voxel), weight + f64::from(*x));
            }
            if weight > 0.0 { sum / weight } else { 0.0 }
        };
        let level = mean_of(&|voxel| f64::from(image.as_slice()[voxel]));
        let of_kappa = squares.map_or(1.0, |root| mean_of(&|voxel| f64::from(root.as_slice()[voxel]).powi(2)));
        let potential = self.spec.potential(self.largest);
        self.spec.strength = Some(of_kappa * proposed_strength(potential, level, image.grid.voxel_mm));
        self.penalty = self.spec.from_start(self.largest);
        Ok(())
    }

    /// Returns √(H · 1) at the present image, the start image.
    fn root_of_hessian_sums(&mut self, stages: &mut StageTimes, task: &Task) -> Result<Volume, ReconError> {
        let curvature = match self.curvature_of_start.take() {
            Some(curvature) => curvature,
            None => self.data_curvature(stages, task)?,
        };
        let mut kappa = self.volume.clone();
        self.readout.volume_into(&mut self.backend, &curvature.sum, 1.0, &mut kappa)?;
        self.curvature_of_start = Some(curvature);
        // (Below 0 is only rounding.)
        kappa.as_mut_slice().iter_mut().for_each(|value| *value = value.max(0.0).sqrt());
        Ok(kappa)
    }

    /// Returns the second derivatives of the negative log-likelihood at the present image, times an image of ones.
    pub fn data_curvature(&mut self, stages: &mut StageTimes, task: &Task) -> Result<Curvature<B>, ReconError> {
        let all = self.all();
        let uniform = Arc::new(self.readout.space().uniform());
        let data_len = (0..self.num_subsets()).map(|subset| self.model.data_len(subset)).max().unwrap_or(0);
        let ones = self.backend.upload(uniform)?;
        let (mut other, mut own) = (self.backend.zeros::<Data>(data_len)?, self.zeros()?);
        let mut curvature = Curvature { sum: self.zeros()?, largest: self.zeros()? };
        for subset in 0..self.num_subsets() {
            stages.time(Stage::Sensitivity, || -> Result<(), ReconError> {
                let Self { backend, model, of_sensitivity, x, data, .. } = self;
                let len = model.data_len(subset);
                let mut step = Step { backend, subset, accumulation: *of_sensitivity, task };
                // y / ȳ² by the ratio of measured to expected data, with the squares as expected ones.
                model.forward(&mut step, x, data)?;
                step.backend.fill(&mut other, 0.0)?;
                step.backend.add_scaled(&mut other, 0, 1.0, data, 0..len)?;
                step.backend.multiply(data, 0, &other, 0..len)?;
                model.poisson_ratio(&mut step, data)?;
                model.project(&mut step, &ones, &mut other)?;
                step.backend.multiply(data, 0, &other, 0..len)?;
                model.adjoint(&mut step, data, &mut own)?;
                step.backend.add_scaled(&mut curvature.sum, 0, 1.0, &own, all.clone())?;
                Ok(step.backend.raise(&mut curvature.largest, &own)?)
            })?;
        }
        Ok(curvature)
    }

    /// Returns κ; `None` = 1.
    pub fn kappa(&self) -> Option<&Arc<Volume>> {
        self.kappa.as_ref()
    }

    /// Returns the settings of the next step. A strength that is not known yet is 0.
    pub fn tuning(&self) -> AscentTuning {
        AscentTuning { strength: self.spec.strength.unwrap_or(0.0), gamma: self.spec.gamma, step_factor: self.step_factor }
    }

    /// Changes them. Images that are not made of voxels stay without a penalty.
    pub fn set_tuning(&mut self, tuning: AscentTuning) {
        let AscentTuning { strength, gamma, step_factor } = tuning;
        let strength = if self.readout.space().evaluated_len().is_some() { 0.0 } else { strength };
        // (A strength that is not known yet stays so, where it was not changed.)
        let strength = Some(strength).filter(|strength| *strength != self.tuning().strength).or(self.spec.strength);
        self.spec = PenaltySpec { strength, gamma, ..self.spec };
        self.step_factor = step_factor;
        if self.has_begun() {
            let kappa = self.kappa.clone();
            self.penalty = self.spec.from_start(self.largest).map(|penalty| Penalty { kappa, ..penalty });
        }
    }

    pub fn num_subsets(&self) -> usize {
        self.model.num_subsets()
    }

    /// Places of all values of an image.
    pub fn all(&self) -> Range<usize> {
        0..self.readout.space().len()
    }

    pub fn zeros(&mut self) -> Result<B::Array<Image>, BackendError> {
        self.backend.zeros(self.readout.space().len())
    }

    /// `out` = Aᵀ (m ⊙ y / ȳ) of a subset at the present image, whose gradient is that less the sensitivity.
    pub fn backprojected_ratio(
        &mut self,
        subset: usize,
        out: &mut B::Array<Image>,
        stages: &mut StageTimes,
        task: &Task,
    ) -> Result<PoissonTerms, ReconError> {
        let Self { backend, model, accumulation, x, data, .. } = self;
        let mut step = Step { backend, subset, accumulation: *accumulation, task };
        stages.time(Stage::Forward, || {
            model.forward(&mut step, x, data)?;
            Ok::<_, OperatorError>(step.backend.finish()?)
        })?;
        let terms = stages.time(Stage::Ratio, || model.poisson_ratio(&mut step, data))?;
        stages.time(Stage::Backprojection, || {
            model.adjoint(&mut step, data, out)?;
            Ok::<_, OperatorError>(step.backend.finish()?)
        })?;
        Ok(terms)
    }

    /// Returns Φ at the present image, by a forward projection of all data.
    pub fn value(&mut self, task: &Task) -> Result<ObjectiveValue, ReconError> {
        let mut log_likelihood = 0.0;
        for subset in 0..self.num_subsets() {
            let Self { backend, model, accumulation, x, data, .. } = self;
            let mut step = Step { backend, subset, accumulation: *accumulation, task };
            model.forward(&mut step, x, data)?;
            log_likelihood += model.poisson_ratio(&mut step, data)?.log_likelihood;
        }
        Ok(ObjectiveValue { log_likelihood, penalty: self.penalty_value()? })
    }

    /// Returns β R at the present image.
    pub fn penalty_value(&mut self) -> Result<f64, BackendError> {
        let Self { backend, penalty: Some(penalty), neighbours: Some(neighbours), x, .. } = self else { return Ok(0.0) };
        backend.penalty_value(penalty, neighbours, x)
    }

    /// `out` −= the gradient of β R.
    pub fn subtract_penalty_gradient(&mut self, out: &mut B::Array<Image>) -> Result<(), BackendError> {
        let Self { backend, penalty: Some(penalty), neighbours: Some(neighbours), x, .. } = self else { return Ok(()) };
        backend.subtract_penalty_gradient(penalty, neighbours, x, out)
    }

    /// `out` += the curvatures of parabolas above β R ([`crate::recon::PairTerms::above`]) at the present image, in the field of view.
    pub fn add_penalty_curvature(&mut self, out: &mut B::Array<Image>) -> Result<(), BackendError> {
        let Self { backend, penalty: Some(penalty), neighbours: Some(neighbours), x, .. } = self else { return Ok(()) };
        backend.add_penalty_curvature(penalty, neighbours, x, out)
    }

    /// Returns δ, a tenth of the image's level Σx² / Σx; 0 of an image of zeros.
    pub fn lift(&mut self, ones: &mut B::Array<Image>) -> Result<f32, BackendError> {
        let all = self.all();
        let Self { backend, x, .. } = self;
        backend.fill(ones, 1.0)?;
        let [sum, squares] = [backend.dot(x, 0, ones, all.clone())?, backend.dot(x, 0, x, all)?];
        Ok(if sum > 0.0 { (LIFT * squares / sum) as f32 } else { 0.0 })
    }

    /// x = max(floor, x + `part` · (x − `end`)).
    pub fn move_ahead(&mut self, part: f64, end: &B::Array<Image>) -> Result<(), BackendError> {
        let all = self.all();
        let Self { backend, x, scratch, .. } = self;
        backend.scaled_difference(scratch, part as f32, [x, end], None)?;
        backend.add_scaled(x, 0, 1.0, scratch, all)?;
        self.hold_above_floor()
    }

    /// Returns ⟨direction, x − x before⟩. The scratch array is an image.
    pub fn gain_since(
        &mut self,
        before: &B::Array<Image>,
        direction: &B::Array<Image>,
        scratch: &mut B::Array<Image>,
    ) -> Result<f64, BackendError> {
        let all = self.all();
        self.backend.scaled_difference(scratch, 1.0, [&self.x, before], None)?;
        self.backend.dot(direction, 0, scratch, all)
    }

    /// Returns the present image, `[z, y, x]`.
    pub fn volume(&mut self) -> Result<&Volume, BackendError> {
        self.readout.volume_into(&mut self.backend, &self.x, 1.0, &mut self.volume)?;
        Ok(&self.volume)
    }

    /// Returns the largest value of the start image.
    #[cfg(test)]
    pub fn largest(&self) -> f64 {
        self.largest
    }

    /// x = max(floor, x + `step_size` · P · direction). Returns the length of the change, before what falls below the floor is held there,
    /// relative to that of x. The values of the direction are lost.
    ///
    /// # Errors
    /// Values that are not finite, device failure.
    pub fn climb(
        &mut self,
        step_size: f64,
        preconditioner: &B::Array<Image>,
        direction: &mut B::Array<Image>,
    ) -> Result<f64, ReconError> {
        let Self { backend, x, floor, .. } = self;
        let [of_change, of_x] = backend.climb(x, floor, step_size as f32, preconditioner, direction)?;
        // (The maximum with the floor hides values that are no numbers.)
        if !(of_change.is_finite() && of_x.is_finite()) {
            return Err(ReconError::NotFinite("a step of the image"));
        }
        Ok(if of_x > 0.0 { step_size * (of_change / of_x).sqrt() } else { 0.0 })
    }

    /// x = max(floor, x).
    fn hold_above_floor(&mut self) -> Result<(), BackendError> {
        let all = self.all();
        let Self { backend, x, floor, scratch, .. } = self;
        backend.add_scaled(x, 0, -1.0, floor, all.clone())?;
        // (Above 0 it stays.)
        backend.masked(scratch, x, x)?;
        std::mem::swap(x, scratch);
        backend.add_scaled(x, 0, 1.0, floor, all)
    }

    /// `out` = x.
    pub fn copy_into(&mut self, out: &mut B::Array<Image>) -> Result<(), BackendError> {
        let all = self.all();
        copy(&mut self.backend, &self.x, out, all)
    }
}

/// `out` = x.
pub(super) fn copy<B: EmKernels>(
    backend: &mut B,
    x: &B::Array<Image>,
    out: &mut B::Array<Image>,
    all: Range<usize>,
) -> Result<(), BackendError> {
    backend.fill(out, 0.0)?;
    backend.add_scaled(out, 0, 1.0, x, all)
}
