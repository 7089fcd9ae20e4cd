//! Stochastic variance-reduced gradients (Johnson & Zhang 2013, NIPS 26), preconditioned as in Ehrhardt et al. 2025, Front Nucl Med
//! 5:1641215 (PETRIC's first):
//!
//! ```text
//! x ← max(0, x + τ P (N (b_s(x) − b_s(x̃)) + Σ_s b_s(x̃) − Aᵀm − β ∇R(x))),   b_s(x) = A_sᵀ (m ⊙ y / ȳ)
//! ```
//!
//! P: [`super::preconditioner`]. A new β needs no pass through the data: the b_s do not contain it. P is made again. The Φ of the anchor is forgotten: until the
//! next one the image climbs two objectives, and may fall in each.
//!
//! The anchor x̃ is the image at the beginning of every second epoch, where all b_s are computed. The subset's sensitivities cancel,
//! and the penalty is always that of the present image. δ is a thousandth of the start image's largest value: a voxel at 0 can rise
//! again.

use super::algorithm::{Ascent, Climb};
use super::barzilai_borwein::BarzilaiBorwein;
use super::objective::{Objective, ObjectiveValue, copy};
use super::preconditioner::Preconditioner;
use super::{AscentReport, DrawOrder};
use crate::algebra::{BackendError, Image, ImageSpace};
use crate::recon::{Algorithm, EmKernels, ForwardModel, PoissonTerms, ReconError, Stage, StageTimes, SubsetOrder};
use crate::task::Task;

/// Epochs from anchor to anchor.
const EPOCHS_OF_ANCHOR: usize = 2;
/// Epochs at whose beginning P is made again.
const EPOCHS_OF_PRECONDITIONER: usize = 4;
/// Part of the start image's largest value that δ is.
const DELTA: f64 = 1e-3;
/// A fall of Φ by less than this part of it may be rounding.
const ROUNDING: f64 = 1e-7;

/// Step sizes τ.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum StepSizes {
    /// The same for all steps.
    Constant(f64),
    /// 3 for the first 10 steps, then 2 to number 100, 1.5 to 200, 1 to 300, ½ from there on (the first of PETRIC's winner).
    Table,
    /// By Barzilai and Borwein from the second anchor on, but not above this one, which the steps before have (the second of PETRIC's
    /// winner, with 2.2). All steps from anchor to anchor have the same size: one that suits flat directions alone would diverge.
    BarzilaiBorwein {
        /// τ until the second anchor, and the largest one.
        first: f64,
    },
}

impl StepSizes {
    /// τ of Barzilai and Borwein until the second anchor.
    pub const FIRST: f64 = 2.2;

    /// Returns τ of a step, counted from 0; that of Barzilai and Borwein until the second anchor.
    pub fn of_step(self, step: usize) -> f64 {
        match self {
            StepSizes::Constant(size) | StepSizes::BarzilaiBorwein { first: size } => size,
            StepSizes::Table => match step {
                0..=9 => 3.0,
                10..=99 => 2.0,
                100..=199 => 1.5,
                200..=299 => 1.0,
                _ => 0.5,
            },
        }
    }
}

/// Settings of SVRG.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SvrgSettings {
    /// Step sizes.
    pub step_sizes: StepSizes,
    /// Order of the subsets.
    pub order: DrawOrder,
    /// Seed of random orders.
    pub seed: u64,
    /// True if the b_s(x̃) are stored; else each step computes its own again, with the same bits.
    pub stores_gradients: bool,
}

impl SvrgSettings {
    /// Returns the images beyond the present one that are stored from step to step: P, the anchor with its gradient and the b_s, and the
    /// last anchor with its gradient for steps by Barzilai and Borwein.
    pub(in crate::recon) fn images_of_state(self, num_subsets: usize) -> u64 {
        let of_secant = if matches!(self.step_sizes, StepSizes::BarzilaiBorwein { .. }) { 2 } else { 0 };
        3 + self.num_parts(num_subsets) as u64 + of_secant
    }

    /// Returns the number of b_s that have memory.
    pub(in crate::recon) fn num_parts(self, num_subsets: usize) -> usize {
        if self.stores_gradients { num_subsets } else { 1 }
    }
}

/// Everything at the anchor.
struct Anchor<B: EmKernels> {
    x: B::Array<Image>,
    /// b_s of each subset; or memory for one, where each step computes it again.
    parts: Vec<B::Array<Image>>,
    /// Their sum less the sensitivity.
    gradient: B::Array<Image>,
    /// Φ with the present penalty, where all steps since climb it.
    objective: Option<ObjectiveValue>,
}

/// The state of the run, or of a replicate, between two steps.
struct State<B: EmKernels> {
    anchor: Option<Anchor<B>>,
    /// P.
    preconditioner: B::Array<Image>,
    /// Factor of the step sizes, halved each time.
    scale: f64,
    num_halved: usize,
    /// The anchor of the step size by Barzilai and Borwein.
    secant: Option<BarzilaiBorwein<B>>,
    /// True if the penalty has changed since the last step.
    has_new_penalty: bool,
}

/// Common to their steps.
struct Climbing<B: EmKernels> {
    settings: SvrgSettings,
    preconditioner: Preconditioner<B>,
    /// Subsets of the epoch, in order.
    order: Vec<usize>,
    backprojected_ratio: B::Array<Image>,
    direction: B::Array<Image>,
    delta: f32,
}

/// Makes the algorithm.
pub(super) fn svrg<B, M, S>(mut objective: Objective<B, M, S>, settings: SvrgSettings) -> Result<Box<dyn Algorithm>, ReconError>
where
    B: EmKernels + 'static,
    M: ForwardModel<B> + 'static,
    S: ImageSpace<B> + 'static,
{
    let climbing = Climbing::<B> {
        settings,
        preconditioner: Preconditioner::new(),
        order: Vec::new(),
        backprojected_ratio: objective.zeros()?,
        direction: objective.zeros()?,
        delta: 0.0,
    };
    Ok(Box::new(Ascent::new(objective, climbing)?))
}

impl<B: EmKernels> State<B> {
    /// Makes the present image the anchor. After an interruption the next call does it again. Returns Φ and the likelihood's terms of
    /// the subset `next`.
    fn anchor<M: ForwardModel<B>, S: ImageSpace<B>>(
        &mut self,
        objective: &mut Objective<B, M, S>,
        next: usize,
        num_parts: usize,
        stages: &mut StageTimes,
        task: &Task,
    ) -> Result<(ObjectiveValue, PoissonTerms), ReconError> {
        let is_first = self.anchor.is_none();
        let mut anchor = match self.anchor.take() {
            Some(anchor) => anchor,
            None => {
                let parts = (0..num_parts).map(|_| objective.zeros()).collect::<Result<_, _>>()?;
                let [x, gradient] = [objective.zeros()?, objective.zeros()?];
                Anchor { x, parts, gradient, objective: None }
            }
        };
        let done = self.renew(&mut anchor, is_first, objective, next, stages, task);
        self.anchor = Some(anchor).filter(|_| done.is_ok() || !is_first);
        done
    }

    /// Renews the anchor, which is empty if `is_first`. If Φ has fallen, or is no number, the image goes back to the anchor before, and
    /// steps become half as long.
    fn renew<M: ForwardModel<B>, S: ImageSpace<B>>(
        &mut self,
        anchor: &mut Anchor<B>,
        is_first: bool,
        objective: &mut Objective<B, M, S>,
        next: usize,
        stages: &mut StageTimes,
        task: &Task,
    ) -> Result<(ObjectiveValue, PoissonTerms), ReconError> {
        let (mut value, mut terms) = Self::pass(objective, anchor, next, stages, task)?;
        let is_good = match anchor.objective.map(ObjectiveValue::total) {
            Some(before) => value.total() >= before - ROUNDING * before.abs() || !before.is_finite(),
            None => is_first || value.total().is_finite(),
        };
        if !is_good {
            let all = objective.all();
            copy(&mut objective.backend, &anchor.x, &mut objective.x, all)?;
            self.scale *= 0.5;
            self.num_halved += 1;
            (value, terms) = Self::pass(objective, anchor, next, stages, task)?;
        }
        anchor.objective = Some(value);
        objective.copy_into(&mut anchor.x)?;
        Ok((value, terms))
    }

    /// Computes all parts of the anchor at the present image. Returns Φ and the likelihood's terms of the subset `next`.
    fn pass<M: ForwardModel<B>, S: ImageSpace<B>>(
        objective: &mut Objective<B, M, S>,
        anchor: &mut Anchor<B>,
        next: usize,
        stages: &mut StageTimes,
        task: &Task,
    ) -> Result<(ObjectiveValue, PoissonTerms), ReconError> {
        let all = objective.all();
        let (mut value, mut terms_of_next) = (ObjectiveValue::default(), PoissonTerms::default());
        objective.backend.fill(&mut anchor.gradient, 0.0)?;
        let num_parts = anchor.parts.len();
        for subset in 0..objective.num_subsets() {
            let part = &mut anchor.parts[subset % num_parts];
            let terms = objective.backprojected_ratio(subset, part, stages, task)?;
            value.log_likelihood += terms.log_likelihood;
            if subset == next {
                terms_of_next = terms;
            }
            objective.backend.add_scaled(&mut anchor.gradient, 0, 1.0, part, all.clone())?;
        }
        objective.backend.add_scaled(&mut anchor.gradient, 0, -1.0, &objective.sensitivity, all)?;
        value.penalty = stages.time(Stage::Update, || objective.penalty_value())?;
        Ok((value, terms_of_next))
    }
}

impl<B: EmKernels, M: ForwardModel<B>, S: ImageSpace<B>> Climb<B, M, S> for Climbing<B> {
    type State = State<B>;

    fn state(&self, objective: &mut Objective<B, M, S>) -> Result<State<B>, BackendError> {
        let preconditioner = objective.zeros()?;
        Ok(State { anchor: None, preconditioner, scale: 1.0, num_halved: 0, secant: None, has_new_penalty: false })
    }

    fn begin(&mut self, objective: &mut Objective<B, M, S>, stages: &mut StageTimes, task: &Task) -> Result<(), ReconError> {
        let order = SubsetOrder::Spaced.order(objective.num_subsets());
        objective.begin(&order, stages, task, |_, _, _| Ok(()))?;
        self.delta = (DELTA * objective.largest()) as f32;
        Ok(())
    }

    fn climb(
        &mut self,
        state: &mut State<B>,
        objective: &mut Objective<B, M, S>,
        num_steps: usize,
        stages: &mut StageTimes,
        task: &Task,
    ) -> Result<(usize, PoissonTerms, AscentReport), ReconError> {
        let num_subsets = objective.num_subsets();
        let (epoch, at) = (num_steps / num_subsets, num_steps % num_subsets);
        let (mut value, mut terms_of_anchor) = (None, None);
        let has_new_penalty = state.has_new_penalty;
        if let Some(anchor) = state.anchor.as_mut().filter(|_| has_new_penalty) {
            anchor.objective = None;
            state.secant = None;
        }
        if at == 0 {
            self.order = self.settings.order.of_epoch(epoch, num_subsets, self.settings.seed);
            if epoch.is_multiple_of(EPOCHS_OF_ANCHOR) {
                let num_parts = self.settings.num_parts(num_subsets);
                let (of_anchor, terms) = state.anchor(objective, self.order[0], num_parts, stages, task)?;
                (value, terms_of_anchor) = (Some(of_anchor), Some(terms));
            }
        }
        if has_new_penalty || (at == 0 && epoch < EPOCHS_OF_PRECONDITIONER) {
            let Self { preconditioner, delta, direction, backprojected_ratio, .. } = self;
            let scratch = [direction, backprojected_ratio];
            stages.time(Stage::Update, || preconditioner.make(objective, *delta, &mut state.preconditioner, scratch))?;
        }
        if let (Some(_), Some(anchor), StepSizes::BarzilaiBorwein { .. }) = (value, &state.anchor, self.settings.step_sizes) {
            let last = state.secant.take();
            state.secant = Some(BarzilaiBorwein::at_anchor(last, objective, &anchor.gradient, &state.preconditioner)?);
        }
        let subset = self.order[at];
        let size = self.settings.step_sizes.of_step(num_steps);
        let of_secant = state.secant.as_ref().and_then(|secant| secant.size);
        let size = of_secant.map_or(size, |of_secant| of_secant.min(size));
        let step_size = objective.step_factor * state.scale * size;
        let (State { anchor, preconditioner, .. }, Self { backprojected_ratio, direction, .. }) = (&mut *state, self);
        // (At the anchor itself both parts of the subset are the same.)
        let terms = match terms_of_anchor {
            Some(terms) => terms,
            None => objective.backprojected_ratio(subset, backprojected_ratio, stages, task)?,
        };
        if let Some(Anchor { x, parts, .. }) =
            anchor.as_mut().filter(|anchor| value.is_none() && anchor.parts.len() < num_subsets)
        {
            objective.with_image(x, |objective| objective.backprojected_ratio(subset, &mut parts[0], stages, task))?;
        }
        let update = stages.time(Stage::Update, || -> Result<f64, ReconError> {
            let (backend, scale) = (&mut objective.backend, num_subsets as f32);
            if let Some(Anchor { parts, gradient, .. }) = anchor {
                let of_anchor = &parts[subset % parts.len()];
                let part = if terms_of_anchor.is_some() { of_anchor } else { &*backprojected_ratio };
                backend.scaled_difference(direction, scale, [part, of_anchor], Some(gradient))?;
            }
            objective.subtract_penalty_gradient(direction)?;
            let update = objective.climb(step_size, preconditioner, direction)?;
            objective.backend.finish()?;
            Ok(update)
        })?;
        state.has_new_penalty = false;
        let (num_halved, tuning) = (state.num_halved, objective.tuning());
        Ok((subset, terms, AscentReport { objective: value, step_size, num_halved, update, tuning }))
    }

    fn penalty_changed(state: &mut State<B>) {
        state.has_new_penalty = true;
    }
}
