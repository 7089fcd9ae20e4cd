//! Block-sequential regularised expectation maximisation (Ahn & Fessler 2003, IEEE Trans Med Imaging 22:613), with relaxation:
//!
//! ```text
//! x ← max(floor, x + α_k P (N (b_s(x) − A_sᵀm) − β ∇R(x))),   b_s(x) = A_sᵀ (m ⊙ y / ȳ),   α_k = α₀ / (1 + η k)
//! ```
//!
//! with k the whole iterations. P ([`super::preconditioner`]) has the curvature of the penalty: with α₀ ≤ 1 no strength makes a step
//! diverge. Every fourth iteration begins at an anchor ([`super::anchor`]), which guards Φ.

use super::AscentReport;
use super::algorithm::{Ascent, Climb};
use super::anchor::{Anchors, IMAGES_OF_ANCHORS, Purpose};
use super::objective::{Objective, copy};
use super::scratch::Scratch;
use crate::algebra::{BackendError, Image, ImageSpace};
use crate::recon::{Algorithm, EmKernels, ForwardModel, PoissonTerms, ReconError, Stage, StageTimes, SubsetOrder};
use crate::task::Task;

/// Iterations from anchor to anchor.
const EPOCHS_OF_ANCHOR: usize = 4;

/// Settings of BSREM.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BsremSettings {
    /// α₀, the step size of the first iteration.
    pub step_size: f64,
    /// η, by which steps shrink.
    pub relaxation: f64,
    /// Order of the subsets.
    pub subset_order: SubsetOrder,
    /// Optimality residual at which the run ends; `None` = it does not look.
    pub tolerance: Option<f64>,
}

impl BsremSettings {
    /// Images beyond the present one that are stored from step to step.
    pub(in crate::recon) const IMAGES_OF_STATE: u64 = IMAGES_OF_ANCHORS;
}

/// Common to the steps of the run and of its replicates: all but the images.
struct Climbing<B: EmKernels> {
    settings: BsremSettings,
    order: Vec<usize>,
    /// Sensitivity of each subset.
    sensitivities: Vec<B::Array<Image>>,
    scratch: Scratch<B>,
}

/// Makes the algorithm.
pub(super) fn bsrem<B, M, S>(mut objective: Objective<B, M, S>, settings: BsremSettings) -> Result<Box<dyn Algorithm>, ReconError>
where
    B: EmKernels + 'static,
    M: ForwardModel<B> + 'static,
    S: ImageSpace<B> + 'static,
{
    let num_subsets = objective.num_subsets();
    let climbing = Climbing::<B> {
        order: settings.subset_order.order(num_subsets),
        settings,
        sensitivities: (0..num_subsets).map(|_| objective.zeros()).collect::<Result<_, _>>()?,
        scratch: Scratch::new(&mut objective)?,
    };
    Ok(Box::new(Ascent::new(objective, climbing)?))
}

impl<B: EmKernels, M: ForwardModel<B>, S: ImageSpace<B>> Climb<B, M, S> for Climbing<B> {
    type State = Anchors<B>;

    fn state(&self, objective: &mut Objective<B, M, S>) -> Result<Anchors<B>, BackendError> {
        Anchors::new(objective)
    }

    fn begin(&mut self, objective: &mut Objective<B, M, S>, stages: &mut StageTimes, task: &Task) -> Result<(), ReconError> {
        let (all, sensitivities) = (objective.all(), &mut self.sensitivities);
        objective
            .begin(&self.order, stages, task, |backend, subset, own| copy(backend, own, &mut sensitivities[subset], all.clone()))
    }

    fn climb(
        &mut self,
        anchors: &mut Anchors<B>,
        objective: &mut Objective<B, M, S>,
        num_steps: usize,
        stages: &mut StageTimes,
        task: &Task,
    ) -> Result<(usize, PoissonTerms, AscentReport), ReconError> {
        let Self { settings, order, sensitivities, scratch } = self;
        let (epoch, at) = (num_steps / order.len(), num_steps % order.len());
        let subset = order[at];
        let mut finding = None;
        if at == 0 && epoch.is_multiple_of(EPOCHS_OF_ANCHOR) {
            let purpose = Purpose { epoch, next: subset, num_parts: 0, has_momentum: false };
            finding = Some(anchors.renew(objective, scratch, purpose, stages, task)?);
        }
        anchors.follow_penalty(objective, scratch)?;
        let relaxed = settings.step_size / (1.0 + settings.relaxation * epoch as f64);
        let step_size = objective.step_factor * anchors.scale * relaxed;
        let Scratch { direction, ratio, .. } = scratch;
        let terms = objective.backprojected_ratio(subset, ratio, stages, task)?;
        let update = stages.time(Stage::Update, || -> Result<f64, ReconError> {
            let scale = order.len() as f32;
            objective.backend.scaled_difference(direction, scale, [ratio, &sensitivities[subset]], None)?;
            objective.subtract_penalty_gradient(direction)?;
            let update = objective.climb(step_size, &anchors.preconditioner, direction)?;
            objective.backend.finish()?;
            Ok(update)
        })?;
        Ok((subset, terms, anchors.report(finding, step_size, update, objective.tuning())))
    }

    fn anchors(anchors: &mut Anchors<B>) -> &mut Anchors<B> {
        anchors
    }

    fn scratch(&mut self) -> &mut Scratch<B> {
        &mut self.scratch
    }

    fn tolerance(&self) -> Option<f64> {
        self.settings.tolerance
    }
}
