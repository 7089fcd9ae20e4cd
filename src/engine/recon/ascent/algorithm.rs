//! An algorithm that climbs: its own way, the run, and its replicates.

use std::sync::Arc;

use super::anchor::Anchors;
use super::objective::{Objective, ObjectiveValue};
use super::scratch::Scratch;
use super::{AscentReport, AscentTuning, Optimality};
use crate::algebra::{BackendError, Image, ImageSpace, PendingVolume};
use crate::data::{RoiMask, RoiSums, Volume};
use crate::operator::Accumulation;
use crate::recon::image_readout::ImageReadout;
use crate::recon::{
    Algorithm, EmKernels, EmReport, Explained, ForwardModel, PoissonTerms, ReconError, Stage, StageTimes, StepReport,
};
use crate::task::Task;

/// The way in which an algorithm climbs. A replicate climbs as the run does, with its own state.
pub(super) trait Climb<B: EmKernels, M, S>: Send {
    /// State between two steps beyond the image: one of the run, and one of each replicate.
    type State: Send;

    /// Makes the state before the first step.
    fn state(&self, objective: &mut Objective<B, M, S>) -> Result<Self::State, BackendError>;

    /// Begins, before the first step: [`Objective::begin`].
    fn begin(&mut self, objective: &mut Objective<B, M, S>, stages: &mut StageTimes, task: &Task) -> Result<(), ReconError>;

    /// Does step number `num_steps`, counted from 0, from the present image. Returns its subset, the likelihood's terms at the image
    /// before it, and its report.
    fn climb(
        &mut self,
        state: &mut Self::State,
        objective: &mut Objective<B, M, S>,
        num_steps: usize,
        stages: &mut StageTimes,
        task: &Task,
    ) -> Result<(usize, PoissonTerms, AscentReport), ReconError>;

    /// Returns the anchors of a state.
    fn anchors(state: &mut Self::State) -> &mut Anchors<B>;

    /// Returns working memory whose values no step needs from the one before.
    fn scratch(&mut self) -> &mut Scratch<B>;

    /// Returns the optimality residual at which a run ends.
    fn tolerance(&self) -> Option<f64>;
}

/// State of the run, or of a replicate.
struct Climber<T> {
    state: T,
    num_steps: usize,
}

/// An algorithm that climbs.
pub(super) struct Ascent<B: EmKernels, M, S, C: Climb<B, M, S>> {
    objective: Objective<B, M, S>,
    climb: C,
    run: Climber<C::State>,
    replicates: Vec<Climber<C::State>>,
    /// Optimality residual of the last step of the run, if it began at an anchor.
    last_optimality: Option<f64>,
}

impl<B: EmKernels, M: ForwardModel<B>, S: ImageSpace<B>, C: Climb<B, M, S>> Ascent<B, M, S, C> {
    /// Joins both.
    ///
    /// # Errors
    /// Too little memory on the device.
    pub fn new(mut objective: Objective<B, M, S>, climb: C) -> Result<Self, ReconError> {
        let num_replicates = objective.num_replicates();
        let mut climber = || Ok::<_, BackendError>(Climber { state: climb.state(&mut objective)?, num_steps: 0 });
        let run = climber()?;
        let replicates = (0..num_replicates).map(|_| climber()).collect::<Result<_, _>>()?;
        Ok(Self { objective, climb, run, replicates, last_optimality: None })
    }

    /// Does all that comes before the first step.
    fn begin(&mut self, stages: &mut StageTimes, task: &Task) -> Result<(), ReconError> {
        if !self.objective.has_begun() {
            self.climb.begin(&mut self.objective, stages, task)?;
        }
        self.objective.begin_penalty(stages, task)
    }

    /// Does the step of the replicates that have not done it before an interruption.
    fn step_replicates(&mut self, task: &Task) -> Result<(), ReconError> {
        let Self { objective, climb, run: Climber { num_steps, .. }, replicates, .. } = self;
        let behind = replicates.iter_mut().enumerate().filter(|(_, replicate)| replicate.num_steps == *num_steps);
        for (index, Climber { state, num_steps }) in behind {
            objective
                .with_replicate(index, |objective| climb.climb(state, objective, *num_steps, &mut StageTimes::default(), task))?;
            *num_steps += 1;
        }
        Ok(())
    }

    /// Calls `look` with the image of a replicate.
    fn look<T>(
        &mut self,
        replicate: usize,
        look: impl FnOnce(&mut ImageReadout<B, S>, &mut B, &B::Array<Image>) -> Result<T, BackendError>,
    ) -> Result<T, ReconError> {
        self.objective.with_replicate(replicate, |Objective { backend, readout, x, .. }| Ok(look(readout, backend, x)?))
    }
}

impl<B: EmKernels, M: ForwardModel<B>, S: ImageSpace<B>, C: Climb<B, M, S>> Algorithm for Ascent<B, M, S, C> {
    fn step(&mut self, task: &Task) -> Result<StepReport, ReconError> {
        let mut stages = StageTimes::default();
        self.begin(&mut stages, task)?;
        // First: after an interruption the image is the one before the step.
        if !self.replicates.is_empty() {
            stages.time(Stage::Replicates, || self.step_replicates(task))?;
        }
        let Self { objective, climb, run: Climber { state, num_steps }, .. } = self;
        let (subset, terms, ascent) = climb.climb(state, objective, *num_steps, &mut stages, task)?;
        *num_steps += 1;
        self.last_optimality = ascent.optimality.map(|Optimality(residual)| residual);
        let (num_steps, num_subsets) = (*num_steps, objective.num_subsets());
        let PoissonTerms { log_likelihood, residual, num_unexplained_bins, num_limited_bins, .. } = terms;
        Ok(StepReport {
            iteration: num_steps / num_subsets,
            subiteration: num_steps,
            subset,
            completes_iteration: num_steps.is_multiple_of(num_subsets),
            num_events: None,
            stages,
            em: Some(EmReport {
                log_likelihood: Some(log_likelihood),
                residual: Some(residual),
                num_unexplained_bins,
                num_limited_bins,
                explained: None,
                accumulation: self.objective.accumulation,
                race: None,
            }),
            ascent: Some(ascent),
        })
    }

    fn objective(&mut self, task: &Task) -> Result<Option<ObjectiveValue>, ReconError> {
        self.begin(&mut StageTimes::default(), task)?;
        self.objective.value(task).map(Some)
    }

    fn kappa(&mut self, task: &Task) -> Result<Option<Arc<Volume>>, ReconError> {
        self.begin(&mut StageTimes::default(), task)?;
        Ok(self.objective.kappa().cloned())
    }

    fn explained(&mut self, task: &Task) -> Result<Option<Explained>, ReconError> {
        self.begin(&mut StageTimes::default(), task)?;
        let all = self.objective.all();
        let Objective { backend, model, x, sensitivity, .. } = &mut self.objective;
        Ok(Explained::counts(backend.dot(x, 0, sensitivity, all)?, model.totals()?))
    }

    fn optimality(&mut self, task: &Task) -> Result<Option<Optimality>, ReconError> {
        let Self { objective, climb, run, .. } = self;
        Ok(C::anchors(&mut run.state).optimality_now(objective, climb.scratch(), task)?.map(Optimality))
    }

    fn converged(&self) -> Option<String> {
        let tolerance = self.climb.tolerance()?;
        let residual = self.last_optimality.filter(|residual| *residual <= tolerance)?;
        Some(format!("the optimality residual was {:.1e}, at most {tolerance:.1e}", residual))
    }

    fn num_subsets(&self) -> usize {
        self.objective.num_subsets()
    }

    fn volume_into(&mut self, volume: &mut Volume) -> Result<(), ReconError> {
        let Objective { backend, readout, x, .. } = &mut self.objective;
        Ok(readout.volume_into(backend, x, 1.0, volume)?)
    }

    fn begin_volume(&mut self) -> Result<Option<PendingVolume>, ReconError> {
        let Objective { backend, readout, x, .. } = &mut self.objective;
        Ok(readout.begin_volume(backend, x, 1.0)?)
    }

    fn set_rois(&mut self, masks: &[RoiMask]) -> Result<(), ReconError> {
        let Objective { backend, readout, .. } = &mut self.objective;
        Ok(readout.set_rois(backend, masks)?)
    }

    fn roi_sums(&mut self) -> Result<Vec<RoiSums>, ReconError> {
        let Objective { backend, readout, x, .. } = &mut self.objective;
        Ok(readout.roi_sums(backend, x)?)
    }

    fn num_replicates(&self) -> usize {
        let are_in_step = self.replicates.iter().all(|replicate| replicate.num_steps == self.run.num_steps);
        if are_in_step { self.replicates.len() } else { 0 }
    }

    fn replicate_into(&mut self, replicate: usize, volume: &mut Volume) -> Result<(), ReconError> {
        self.look(replicate, |readout, backend, x| readout.volume_into(backend, x, 1.0, volume))
    }

    fn replicate_sums(&mut self) -> Result<Vec<Vec<RoiSums>>, ReconError> {
        (0..self.num_replicates()).map(|replicate| self.look(replicate, ImageReadout::roi_sums)).collect()
    }

    fn set_accumulation(&mut self, accumulation: Accumulation) {
        // Lost additions would count as a gradient.
        if self.accumulations().contains(&accumulation) {
            self.objective.accumulation = accumulation;
        }
    }

    fn tuning(&self) -> Option<AscentTuning> {
        Some(self.objective.tuning())
    }

    fn set_tuning(&mut self, tuning: AscentTuning) {
        let before = self.objective.tuning();
        self.objective.set_tuning(tuning);
        if !self.objective.tuning().has_same_penalty(before) {
            [&mut self.run]
                .into_iter()
                .chain(&mut self.replicates)
                .for_each(|climber| C::anchors(&mut climber.state).penalty_changed());
        }
    }

    fn accumulations(&self) -> &'static [Accumulation] {
        match self.objective.model.accumulations().contains(&Accumulation::Deterministic) {
            true => &[Accumulation::Atomic, Accumulation::Deterministic],
            false => &[Accumulation::Atomic],
        }
    }
}
