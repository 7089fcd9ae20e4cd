//! Stochastic variance-reduced gradients (Johnson & Zhang 2013, NIPS 26), preconditioned as in Ehrhardt et al. 2025, Front Nucl Med
//! 5:1641215 (PETRIC's first), but by a bound on the second derivatives of every subset:
//!
//! ```text
//! x ← max(floor, x + τ P (N (b_s(x) − b_s(x̃)) + Σ_s b_s(x̃) − Aᵀm − β ∇R(x))),   b_s(x) = A_sᵀ (m ⊙ y / ȳ)
//! ```
//!
//! P: [`super::preconditioner`]. The anchor x̃ ([`super::anchor`]) is the image at the beginning of every second epoch, or one ahead of it by
//! momentum, where all b_s are computed. The subset's sensitivities cancel, and the penalty is always that of the present image. A new β
//! needs no pass through the data: the b_s do not contain it.

use super::algorithm::{Ascent, Climb};
use super::anchor::{Anchor, Anchors, IMAGES_OF_ANCHORS, Purpose};
use super::barzilai_borwein::BarzilaiBorwein;
use super::objective::Objective;
use super::scratch::Scratch;
use super::{AscentReport, DrawOrder};
use crate::algebra::{BackendError, ImageSpace};
use crate::recon::{Algorithm, EmKernels, ForwardModel, PoissonTerms, ReconError, Stage, StageTimes, SubsetOrder};
use crate::task::Task;

/// Epochs from anchor to anchor.
const EPOCHS_OF_ANCHOR: usize = 2;

/// Step sizes τ.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum StepSizes {
    /// The same for all steps.
    Constant(f64),
    /// 1.5 for the first 1000 steps, then 1.
    Table,
    /// By Barzilai and Borwein from the second anchor on, but not above this one, which the steps before have. All steps from anchor to anchor have the same size: one that suits flat directions alone would diverge.
    BarzilaiBorwein {
        /// τ until the second anchor, and the largest one.
        first: f64,
    },
}

impl StepSizes {
    /// τ of Barzilai and Borwein until the second anchor.
    pub const FIRST: f64 = 1.5;

    /// Returns τ of a step, counted from 0; that of Barzilai and Borwein until the second anchor.
    pub fn of_step(self, step: usize) -> f64 {
        match self {
            StepSizes::Constant(size) | StepSizes::BarzilaiBorwein { first: size } => size,
            StepSizes::Table => {
                if step < 1000 {
                    1.5
                } else {
                    1.0
                }
            }
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
    /// Optimality residual at which the run ends; `None` = it does not look.
    pub tolerance: Option<f64>,
}

impl SvrgSettings {
    /// Returns the images beyond the present one that are stored from step to step: P, the anchor with its gradient, bound and b_s, the
    /// second derivatives, two ends of stretches, and the last anchor with its gradient for steps by Barzilai and Borwein.
    pub(in crate::recon) fn images_of_state(self, num_subsets: usize) -> u64 {
        let of_secant = if matches!(self.step_sizes, StepSizes::BarzilaiBorwein { .. }) { 2 } else { 0 };
        IMAGES_OF_ANCHORS + self.num_parts(num_subsets) as u64 + of_secant
    }

    /// Returns the number of b_s that have memory.
    pub(in crate::recon) fn num_parts(self, num_subsets: usize) -> usize {
        if self.stores_gradients { num_subsets } else { 1 }
    }
}

/// The state of the run, or of a replicate, between two steps.
struct State<B: EmKernels> {
    anchors: Anchors<B>,
    /// The anchor of the step size by Barzilai and Borwein.
    secant: Option<BarzilaiBorwein<B>>,
}

/// Common to their steps.
struct Climbing<B: EmKernels> {
    settings: SvrgSettings,
    /// Subsets of the epoch, in order.
    order: Vec<usize>,
    scratch: Scratch<B>,
}

/// Makes the algorithm.
pub(super) fn svrg<B, M, S>(mut objective: Objective<B, M, S>, settings: SvrgSettings) -> Result<Box<dyn Algorithm>, ReconError>
where
    B: EmKernels + 'static,
    M: ForwardModel<B> + 'static,
    S: ImageSpace<B> + 'static,
{
    let climbing = Climbing::<B> { settings, order: Vec::new(), scratch: Scratch::new(&mut objective)? };
    Ok(Box::new(Ascent::new(objective, climbing)?))
}

impl<B: EmKernels, M: ForwardModel<B>, S: ImageSpace<B>> Climb<B, M, S> for Climbing<B> {
    type State = State<B>;

    fn state(&self, objective: &mut Objective<B, M, S>) -> Result<State<B>, BackendError> {
        Ok(State { anchors: Anchors::new(objective)?, secant: None })
    }

    fn begin(&mut self, objective: &mut Objective<B, M, S>, stages: &mut StageTimes, task: &Task) -> Result<(), ReconError> {
        let order = SubsetOrder::Spaced.order(objective.num_subsets());
        objective.begin(&order, stages, task, |_, _, _| Ok(()))
    }

    fn climb(
        &mut self,
        State { anchors, secant }: &mut State<B>,
        objective: &mut Objective<B, M, S>,
        num_steps: usize,
        stages: &mut StageTimes,
        task: &Task,
    ) -> Result<(usize, PoissonTerms, AscentReport), ReconError> {
        let num_subsets = objective.num_subsets();
        let (epoch, at) = (num_steps / num_subsets, num_steps % num_subsets);
        let Self { settings, order, scratch } = self;
        if at == 0 {
            *order = settings.order.of_epoch(epoch, num_subsets, settings.seed);
        }
        let subset = order[at];
        if !anchors.has_objective() {
            *secant = None;
        }
        let mut finding = None;
        if at == 0 && epoch.is_multiple_of(EPOCHS_OF_ANCHOR) {
            let purpose = Purpose { epoch, next: subset, num_parts: settings.num_parts(num_subsets), has_momentum: true };
            finding = Some(anchors.renew(objective, scratch, purpose, stages, task)?);
            if let (Some(anchor), StepSizes::BarzilaiBorwein { .. }) = (&anchors.last, settings.step_sizes) {
                let last = secant.take();
                *secant = Some(BarzilaiBorwein::at_anchor(last, objective, &anchor.gradient, &anchors.preconditioner)?);
            }
        }
        anchors.follow_penalty(objective, scratch)?;
        let largest = settings.step_sizes.of_step(num_steps);
        let size = secant.as_ref().and_then(|secant| secant.size).map_or(largest, |of_secant| of_secant.min(largest));
        let step_size = objective.step_factor * anchors.scale * size;
        let (Anchors { last, preconditioner, .. }, Scratch { direction, ratio, .. }) = (&mut *anchors, scratch);
        // (At the anchor itself both parts of the subset are the same.)
        let terms = match finding {
            Some(finding) => finding.terms,
            None => objective.backprojected_ratio(subset, ratio, stages, task)?,
        };
        if let Some(Anchor { x, parts, .. }) =
            last.as_mut().filter(|anchor| finding.is_none() && anchor.parts.len() < num_subsets)
        {
            objective.with_image(x, |objective| objective.backprojected_ratio(subset, &mut parts[0], stages, task))?;
        }
        let update = stages.time(Stage::Update, || -> Result<f64, ReconError> {
            let (backend, scale) = (&mut objective.backend, num_subsets as f32);
            if let Some(Anchor { parts, gradient, .. }) = last {
                let of_anchor = &parts[subset % parts.len()];
                let part = if finding.is_some() { of_anchor } else { &*ratio };
                backend.scaled_difference(direction, scale, [part, of_anchor], Some(gradient))?;
            }
            objective.subtract_penalty_gradient(direction)?;
            let update = objective.climb(step_size, preconditioner, direction)?;
            objective.backend.finish()?;
            Ok(update)
        })?;
        Ok((subset, terms, anchors.report(finding, step_size, update, objective.tuning())))
    }

    fn anchors(State { anchors, .. }: &mut State<B>) -> &mut Anchors<B> {
        anchors
    }

    fn scratch(&mut self) -> &mut Scratch<B> {
        &mut self.scratch
    }

    fn tolerance(&self) -> Option<f64> {
        self.settings.tolerance
    }
}
