//! Anchors: images at which an algorithm that climbs goes through all data. Between two of them it takes steps by subsets; at each it
//! computes Φ, its gradient, the preconditioner and the optimality residual. From anchor to anchor Φ never falls:
//!
//! ```text
//! x̃ = max(floor, x + θ (x − x′)),   θ = (t − 1) / t₊,   t₊ = (1 + √(1 + 4 t²)) / 2
//! ```
//!
//! with x, x′ = the ends of the last two stretches of steps (momentum: Nesterov 1983, Sov Math Dokl 27:372). If Φ is smaller there than at
//! the last anchor, x̃ = x and t = 1. If it still is, the steps were too long: from the last anchor a step of all data along the projected
//! arc, with the largest size that climbs enough (Armijo's rule; Bertsekas 1976, IEEE Trans Automat Contr 21:174),
//!
//! ```text
//! x̃ = max(floor, x + 2⁻ᵏ P ∇Φ),   Φ(x̃) ≥ Φ(x) + 10⁻⁴ ⟨∇Φ, x̃ − x⟩
//! ```
//!
//! and all further steps are half as long.

use super::objective::{Curvature, Objective, ObjectiveValue, copy};
use super::optimality::{next_momentum, optimality};
use super::preconditioner::make_preconditioner;
use super::scratch::Scratch;
use super::{AscentReport, AscentTuning, Optimality};
use crate::algebra::{BackendError, Image, ImageSpace};
use crate::recon::{EmKernels, ForwardModel, PoissonTerms, ReconError, Stage, StageTimes};
use crate::task::Task;

/// A fall of Φ by less than this part of it may be rounding.
const ROUNDING: f64 = 1e-7;
/// Part of the gain that the gradient promises which a step along the arc has at least.
const SUFFICIENT: f64 = 1e-4;
/// Halvings of a step along the arc before the image stays as it is.
const MAX_HALVINGS: i32 = 20;

/// Images of [`Anchors`] but for the b_s: P, the anchor with gradient and bound, second derivatives, two ends of stretches.
pub(in crate::recon) const IMAGES_OF_ANCHORS: u64 = 8;

/// An image with the gradient of all data.
pub(super) struct Anchor<B: EmKernels> {
    pub x: B::Array<Image>,
    /// b_s of each subset, where they are stored; or memory for one.
    pub parts: Vec<B::Array<Image>>,
    /// Σ b_s − Aᵀm.
    pub gradient: B::Array<Image>,
    /// The largest b_s of each voxel, at least Aᵀm / N.
    largest: B::Array<Image>,
    /// Φ with the present penalty, where all steps since climb it.
    value: Option<ObjectiveValue>,
}

/// Purpose of an anchor.
#[derive(Clone, Copy)]
pub(super) struct Purpose {
    /// Complete iterations.
    pub epoch: usize,
    /// Subset whose likelihood is reported.
    pub next: usize,
    /// Number of b_s with memory.
    pub num_parts: usize,
    /// True if anchors lie ahead of the ends of the stretches.
    pub has_momentum: bool,
}

/// Result of the pass through all data at an anchor.
#[derive(Clone, Copy)]
pub(super) struct Finding {
    pub value: ObjectiveValue,
    /// Terms of the likelihood of the next subset.
    pub terms: PoissonTerms,
    /// The optimality residual.
    pub optimality: f64,
}

/// The state of the run, or of a replicate, between two steps.
pub(super) struct Anchors<B: EmKernels> {
    /// The last one; `None` before the first.
    pub last: Option<Anchor<B>>,
    curvature: Option<Curvature<B>>,
    /// P.
    pub preconditioner: B::Array<Image>,
    /// End of the stretch of steps before the present one, after the first anchor.
    end: Option<B::Array<Image>>,
    /// The same of the present one, until its anchor is known.
    new_end: B::Array<Image>,
    /// t.
    momentum: f64,
    /// Factor of the step sizes, halved each time.
    pub scale: f64,
    pub num_halved: usize,
    /// True if the penalty has changed since the last step.
    has_new_penalty: bool,
}

impl<B: EmKernels> Anchors<B> {
    pub fn new<M: ForwardModel<B>, S: ImageSpace<B>>(objective: &mut Objective<B, M, S>) -> Result<Self, BackendError> {
        Ok(Self {
            last: None,
            curvature: None,
            preconditioner: objective.zeros()?,
            end: None,
            new_end: objective.zeros()?,
            momentum: 1.0,
            scale: 1.0,
            num_halved: 0,
            has_new_penalty: false,
        })
    }

    /// Follows a change of the penalty: Φ is another one.
    pub fn penalty_changed(&mut self) {
        self.has_new_penalty = true;
        (self.end, self.momentum) = (None, 1.0);
        if let Some(last) = &mut self.last {
            last.value = None;
        }
    }

    /// Returns true if the last anchor has the objective of the present penalty.
    pub fn has_objective(&self) -> bool {
        self.last.as_ref().is_some_and(|last| last.value.is_some())
    }

    /// Returns the report of a step.
    pub fn report(&self, finding: Option<Finding>, step_size: f64, update: f64, tuning: AscentTuning) -> AscentReport {
        AscentReport {
            objective: finding.map(|finding| finding.value),
            optimality: finding.map(|finding| Optimality(finding.optimality)),
            step_size,
            num_halved: self.num_halved,
            update,
            tuning,
        }
    }

    /// Returns the optimality residual at the present image; `None` before the first step. The anchor stays as it is.
    pub fn optimality_now<M: ForwardModel<B>, S: ImageSpace<B>>(
        &self,
        objective: &mut Objective<B, M, S>,
        scratch: &mut Scratch<B>,
        task: &Task,
    ) -> Result<Option<f64>, ReconError> {
        let Some(curvature) = &self.curvature else { return Ok(None) };
        let mut gradient = objective.zeros()?;
        let all = objective.all();
        for subset in 0..objective.num_subsets() {
            objective.backprojected_ratio(subset, &mut scratch.ratio, &mut StageTimes::default(), task)?;
            objective.backend.add_scaled(&mut gradient, 0, 1.0, &scratch.ratio, all.clone())?;
        }
        objective.backend.add_scaled(&mut gradient, 0, -1.0, &objective.sensitivity, all)?;
        optimality(objective, &gradient, &curvature.sum, scratch).map(Some)
    }

    /// Makes P for a penalty that has changed between two anchors; it needs no pass through the data.
    pub fn follow_penalty<M: ForwardModel<B>, S: ImageSpace<B>>(
        &mut self,
        objective: &mut Objective<B, M, S>,
        scratch: &mut Scratch<B>,
    ) -> Result<(), ReconError> {
        if self.has_new_penalty {
            self.make_preconditioner(objective, scratch)?;
            self.has_new_penalty = false;
        }
        Ok(())
    }

    /// Makes the present image, or one ahead of it, the anchor. After an interruption the image is the one before.
    pub fn renew<M: ForwardModel<B>, S: ImageSpace<B>>(
        &mut self,
        objective: &mut Objective<B, M, S>,
        scratch: &mut Scratch<B>,
        purpose: Purpose,
        stages: &mut StageTimes,
        task: &Task,
    ) -> Result<Finding, ReconError> {
        if self.last.is_none() {
            let parts = (0..purpose.num_parts).map(|_| objective.zeros()).collect::<Result<_, _>>()?;
            let [x, gradient, largest] = [objective.zeros()?, objective.zeros()?, objective.zeros()?];
            self.last = Some(Anchor { x, parts, gradient, largest, value: None });
        }
        objective.copy_into(&mut self.new_end)?;
        let done = self.find(objective, scratch, purpose, stages, task);
        if done.is_err() {
            let all = objective.all();
            copy(&mut objective.backend, &self.new_end, &mut objective.x, all)?;
        }
        done
    }

    /// Finds the anchor from the present image. `new_end` is a copy of it.
    fn find<M: ForwardModel<B>, S: ImageSpace<B>>(
        &mut self,
        objective: &mut Objective<B, M, S>,
        scratch: &mut Scratch<B>,
        purpose: Purpose,
        stages: &mut StageTimes,
        task: &Task,
    ) -> Result<Finding, ReconError> {
        let all = objective.all();
        let before = self.last.as_ref().and_then(|last| last.value).map(ObjectiveValue::total);
        let next = next_momentum(self.momentum);
        let ahead = (self.momentum - 1.0) / next;
        let (mut found, mut momentum) = (None, 1.0);
        if let Some(end) = self.end.as_ref().filter(|_| purpose.has_momentum && ahead > 0.0) {
            objective.move_ahead(ahead, end)?;
            found = Some(self.pass(objective, scratch, purpose.next, stages, task)?).filter(|(value, _)| climbs(before, *value));
            if found.is_none() {
                copy(&mut objective.backend, &self.new_end, &mut objective.x, all.clone())?;
            }
        }
        if found.is_some() || ahead == 0.0 {
            momentum = next;
        }
        if found.is_none() {
            found = Some(self.pass(objective, scratch, purpose.next, stages, task)?).filter(|(value, _)| climbs(before, *value));
        }
        let is_first = before.is_none();
        let is_renewed = self.curvature.is_none() || renews_curvature(purpose.epoch);
        let (value, terms) = match found {
            Some(found) => {
                if is_renewed {
                    self.renew_curvature(objective, stages, task)?;
                }
                found
            }
            None if is_first => return Err(ReconError::NotFinite("the objective at the start image")),
            None => {
                let found = self.climb_along_arc(objective, scratch, purpose.next, stages, task)?;
                objective.copy_into(&mut self.new_end)?;
                (self.scale, self.num_halved, momentum) = (0.5 * self.scale, self.num_halved + 1, 1.0);
                found
            }
        };
        let found = stages.time(Stage::Update, || {
            self.make_preconditioner(objective, scratch)?;
            let (Some(last), Some(curvature)) = (&mut self.last, &self.curvature) else { return Ok(f64::INFINITY) };
            objective.copy_into(&mut last.x)?;
            last.value = Some(value);
            optimality(objective, &last.gradient, &curvature.sum, scratch)
        })?;
        let end = match self.end.take() {
            Some(end) => end,
            None => objective.zeros()?,
        };
        self.end = Some(std::mem::replace(&mut self.new_end, end));
        (self.momentum, self.has_new_penalty) = (momentum, false);
        Ok(Finding { value, terms, optimality: found })
    }

    /// Goes back to the last anchor and climbs from there by all data.
    fn climb_along_arc<M: ForwardModel<B>, S: ImageSpace<B>>(
        &mut self,
        objective: &mut Objective<B, M, S>,
        scratch: &mut Scratch<B>,
        next: usize,
        stages: &mut StageTimes,
        task: &Task,
    ) -> Result<(ObjectiveValue, PoissonTerms), ReconError> {
        let all = objective.all();
        self.go_back(objective)?;
        let (start, _) = self.pass(objective, scratch, next, stages, task)?;
        self.renew_curvature(objective, stages, task)?;
        self.make_preconditioner(objective, scratch)?;
        if let Some(last) = &self.last {
            copy(&mut objective.backend, &last.gradient, &mut scratch.direction, all.clone())?;
            objective.subtract_penalty_gradient(&mut scratch.direction)?;
        }
        let mut climbed = false;
        for halvings in 0..=MAX_HALVINGS {
            self.go_back(objective)?;
            copy(&mut objective.backend, &scratch.direction, &mut scratch.ratio, all.clone())?;
            objective.climb(0.5f64.powi(halvings), &self.preconditioner, &mut scratch.ratio)?;
            let gain = self
                .last
                .as_ref()
                .map_or(Ok(0.0), |last| objective.gain_since(&last.x, &scratch.direction, &mut scratch.ratio))?;
            let value = objective.value(task)?.total();
            climbed = value >= start.total() + SUFFICIENT * gain - ROUNDING * start.total().abs();
            if climbed {
                break;
            }
        }
        if !climbed {
            self.go_back(objective)?;
        }
        self.pass(objective, scratch, next, stages, task)
    }

    /// The image is that of the last anchor.
    fn go_back<M: ForwardModel<B>, S: ImageSpace<B>>(&self, objective: &mut Objective<B, M, S>) -> Result<(), BackendError> {
        let all = objective.all();
        self.last.as_ref().map_or(Ok(()), |last| copy(&mut objective.backend, &last.x, &mut objective.x, all))
    }

    fn renew_curvature<M: ForwardModel<B>, S: ImageSpace<B>>(
        &mut self,
        objective: &mut Objective<B, M, S>,
        stages: &mut StageTimes,
        task: &Task,
    ) -> Result<(), ReconError> {
        let of_start = objective.curvature_of_start.take();
        self.curvature = Some(match (of_start, &self.curvature) {
            (Some(of_start), None) => of_start,
            _ => objective.data_curvature(stages, task)?,
        });
        Ok(())
    }

    fn make_preconditioner<M: ForwardModel<B>, S: ImageSpace<B>>(
        &mut self,
        objective: &mut Objective<B, M, S>,
        scratch: &mut Scratch<B>,
    ) -> Result<(), ReconError> {
        let (Some(last), Some(curvature)) = (&self.last, &self.curvature) else { return Ok(()) };
        let Scratch { direction, ratio, .. } = scratch;
        make_preconditioner(objective, [&last.largest, &curvature.largest], &mut self.preconditioner, [direction, ratio])
    }

    /// Goes through all data at the present image. Returns Φ and the likelihood's terms of the subset `next`.
    fn pass<M: ForwardModel<B>, S: ImageSpace<B>>(
        &mut self,
        objective: &mut Objective<B, M, S>,
        Scratch { ratio, .. }: &mut Scratch<B>,
        next: usize,
        stages: &mut StageTimes,
        task: &Task,
    ) -> Result<(ObjectiveValue, PoissonTerms), ReconError> {
        let (mut value, mut terms_of_next) = (ObjectiveValue::default(), PoissonTerms::default());
        let Some(Anchor { parts, gradient, largest, .. }) = &mut self.last else { return Ok((value, terms_of_next)) };
        let (all, num_subsets) = (objective.all(), objective.num_subsets());
        objective.backend.fill(gradient, 0.0)?;
        objective.backend.fill(largest, 0.0)?;
        objective.backend.add_scaled(largest, 0, 1.0 / num_subsets as f32, &objective.sensitivity, all.clone())?;
        for subset in 0..num_subsets {
            let num_parts = parts.len().max(1);
            let part = parts.get_mut(subset % num_parts).unwrap_or(ratio);
            let terms = objective.backprojected_ratio(subset, part, stages, task)?;
            value.log_likelihood += terms.log_likelihood;
            if subset == next {
                terms_of_next = terms;
            }
            stages.time(Stage::Update, || {
                objective.backend.add_scaled(gradient, 0, 1.0, part, all.clone())?;
                objective.backend.raise(largest, part)
            })?;
        }
        objective.backend.add_scaled(gradient, 0, -1.0, &objective.sensitivity, all)?;
        value.penalty = stages.time(Stage::Update, || objective.penalty_value())?;
        Ok((value, terms_of_next))
    }
}

/// Returns true if Φ has not fallen; without a Φ before, if it is finite.
fn climbs(before: Option<f64>, value: ObjectiveValue) -> bool {
    match before {
        Some(before) => value.total() >= before - ROUNDING * before.abs(),
        None => value.total().is_finite(),
    }
}

/// Returns true at epochs 4, 16, 64, …: the second derivatives of the data change ever more slowly.
fn renews_curvature(epoch: usize) -> bool {
    epoch >= 4 && epoch.is_power_of_two() && epoch.trailing_zeros().is_multiple_of(2)
}
