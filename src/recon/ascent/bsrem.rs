//! Block-sequential regularised expectation maximisation (Ahn & Fessler 2003, IEEE Trans Med Imaging 22:613), with relaxation:
//!
//! ```text
//! x ← max(0, x + α_k (x + δ) / Aᵀm · (N (b_s(x) − A_sᵀm) − β ∇R(x))),   b_s(x) = A_sᵀ (m ⊙ y / ȳ),   α_k = α₀ / (1 + η k)
//! ```
//!
//! with k the whole iterations and δ a thousandth of the start image's largest value: a voxel at 0 can rise again.

use super::AscentReport;
use super::algorithm::{Ascent, Climb};
use super::objective::{Objective, copy};
use crate::algebra::{BackendError, Image, ImageSpace};
use crate::recon::{Algorithm, EmKernels, ForwardModel, PoissonTerms, ReconError, Stage, StageTimes, SubsetOrder};
use crate::task::Task;

/// Part of the start image's largest value that δ is.
const DELTA: f64 = 1e-3;

/// Settings of BSREM.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BsremSettings {
    /// α₀, the step size of the first iteration.
    pub step_size: f64,
    /// η, by which steps shrink.
    pub relaxation: f64,
    /// Order of the subsets.
    pub subset_order: SubsetOrder,
}

/// Common to the steps of the run and of its replicates: all but the images.
struct Climbing<B: EmKernels> {
    settings: BsremSettings,
    order: Vec<usize>,
    /// Sensitivity of each subset.
    sensitivities: Vec<B::Array<Image>>,
    /// 1 / Aᵀm.
    inverse: B::Array<Image>,
    delta: f32,
    direction: B::Array<Image>,
    scratch: B::Array<Image>,
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
        inverse: objective.zeros()?,
        delta: 0.0,
        direction: objective.zeros()?,
        scratch: objective.zeros()?,
    };
    Ok(Box::new(Ascent::new(objective, climbing)?))
}

impl<B: EmKernels, M: ForwardModel<B>, S: ImageSpace<B>> Climb<B, M, S> for Climbing<B> {
    type State = ();

    fn state(&self, _: &mut Objective<B, M, S>) -> Result<(), BackendError> {
        Ok(())
    }

    fn begin(&mut self, objective: &mut Objective<B, M, S>, stages: &mut StageTimes, task: &Task) -> Result<(), ReconError> {
        let (all, sensitivities) = (objective.all(), &mut self.sensitivities);
        objective.begin(&self.order, stages, task, |backend, subset, own| {
            copy(backend, own, &mut sensitivities[subset], all.clone())
        })?;
        let Objective { backend, sensitivity, .. } = &mut *objective;
        backend.fill(&mut self.scratch, 1.0)?;
        backend.masked(&mut self.inverse, &self.scratch, sensitivity)?;
        backend.em_update(&mut self.inverse, &self.scratch, sensitivity)?;
        self.delta = (DELTA * objective.largest()) as f32;
        Ok(())
    }

    fn climb(
        &mut self,
        (): &mut (),
        objective: &mut Objective<B, M, S>,
        num_steps: usize,
        stages: &mut StageTimes,
        task: &Task,
    ) -> Result<(usize, PoissonTerms, AscentReport), ReconError> {
        let Self { settings, order, sensitivities, inverse, delta, direction, scratch } = self;
        let (iteration, subset) = (num_steps / order.len(), order[num_steps % order.len()]);
        let step_size = objective.step_factor * settings.step_size / (1.0 + settings.relaxation * iteration as f64);
        let terms = objective.backprojected_ratio(subset, scratch, stages, task)?;
        let update = stages.time(Stage::Update, || -> Result<f64, ReconError> {
            let (all, scale) = (objective.all(), order.len() as f32);
            objective.backend.scaled_difference(direction, scale, [scratch, &sensitivities[subset]], None)?;
            objective.subtract_penalty_gradient(direction)?;
            // (x + δ) / Aᵀm.
            let Objective { backend, x, .. } = &mut *objective;
            backend.fill(scratch, *delta)?;
            backend.add_scaled(scratch, 0, 1.0, x, all.clone())?;
            backend.multiply(scratch, 0, inverse, all)?;
            let update = objective.climb(step_size, scratch, direction)?;
            objective.backend.finish()?;
            Ok(update)
        })?;
        let tuning = objective.tuning();
        Ok((subset, terms, AscentReport { objective: None, step_size, num_halved: 0, update, tuning }))
    }
}
