//! The steps, by Chen, Lan and Ouyang (SIAM J. Optim. 24:1779, 2014, algorithm 2). Step k from the last start on, with w_k = 2/(k + 1):
//!
//! p ← Π(p + σλ′∇ū), u′ = u + τ_k (λ′ div p − (A*A x − A*s)), ū = u′ + k/(k + 1) (u′ − u), m′ = m + w_k (u′ − m), x′ = m′ + w_(k+1) (u′ − m′)
//!
//! where the mean m is the image, and x the point of the gradient. With K the norm of λ′∇, L 1.05 times the largest eigenvalue of A*A by power
//! iteration, n the number of vectors in p and r = 2√n/‖u‖ with ‖u‖ as large as expected: σK = r, τ_k = k/(2L + kKr). The misfit falls by 1/k², so
//! that images under few directions and broad lines, whose A*A has very small eigenvalues, need a tenth of the steps of a constant τ.
//! Every 300 steps they start again from the mean, which takes off what swings.
//!
//! PyEPRI's steps are those of Condat (J. Optim. Theory Appl. 158:460, 2013) and Vũ, in the form of Chambolle and Pock (Math. Program.
//! 159:253, 2016): w = 1, ū = 2u′ − u, τ = ½/L and σK² = L.
//!
//! Now and then the images of derivatives move along constants ([`Levels`]), unless the iterates shall be PyEPRI's.

use super::kernels::{PrimalStep, TotalVariationKernels};
use super::lattice::Lattice;
use super::level::Levels;
use super::settings::TvSettings;
use crate::algebra::{BackendError, Image};
use crate::operator::OperatorError;
use crate::recon::{DataProblem, ReconError};
use crate::task::Task;

/// Part that L is above the eigenvalue of the power iteration, which comes from below.
const MARGIN: f64 = 1.05;

/// Most steps of the power iteration.
const MAX_POWERS: usize = 1000;

/// Steps after which their size shows convergence: the first ones are small.
const MIN_STEPS: usize = 100;

/// Steps from one start to the next.
const STEPS_TO_START: usize = 300;

/// Images and settings of a run.
pub(super) struct Problem<'a, B: TotalVariationKernels> {
    pub lattice: Lattice,
    pub mask: Option<&'a B::Array<Image>>,
    pub settings: &'a TvSettings,
    /// True if the levels of the images move in separate steps.
    pub finds_levels: bool,
}

/// Sums of a step.
pub(super) struct Advance {
    /// ‖m′ − m‖/‖m′‖.
    pub update: f64,
    /// Largest relative change of a total since the last move of the levels.
    pub change_of_total: Option<f64>,
    /// ½‖A x‖² − x·A*s and Σ|∇x| before the step, where asked for.
    pub objective: Option<[f64; 2]>,
    /// τ.
    pub step_size: f64,
}

/// A*A and A*s of the projections so far, and constants of the steps with them.
struct NormalEquations<B: TotalVariationKernels> {
    coupling: B::Coupling,
    of_data: B::Array<Image>,
    /// L.
    lipschitz: f64,
    levels: Option<Levels<B>>,
    /// The expected ‖u‖.
    norm: f64,
}

impl<B: TotalVariationKernels> NormalEquations<B> {
    fn new(
        backend: &mut B,
        problem: &Problem<'_, B>,
        (mut coupling, of_data): (B::Coupling, B::Array<Image>),
        mean: &B::Array<Image>,
        task: &Task,
    ) -> Result<Self, ReconError> {
        let lattice = &problem.lattice;
        let len = lattice.num_images * lattice.num_voxels();
        let lipschitz = MARGIN * largest_eigenvalue(backend, &mut coupling, &of_data, len, problem.settings.tolerance, task)?;
        let levels = match problem.finds_levels {
            true => Some(Levels::new(backend, &mut coupling, lattice, problem.mask, lipschitz)?),
            false => None,
        };
        // (Spectra begin with 0.)
        let shape = if backend.dot(mean, 0, mean, 0..len)? > 0.0 { mean } else { &of_data };
        let mut of_model = backend.zeros(len)?;
        backend.convolve(&mut coupling, shape, &mut of_model)?;
        let energy = backend.dot(shape, 0, &of_model, 0..len)?;
        let scale = if energy > 0.0 { backend.dot(shape, 0, &of_data, 0..len)?.abs() / energy } else { 1.0 };
        let norm = scale * backend.dot(shape, 0, shape, 0..len)?.sqrt();
        Ok(Self { coupling, of_data, lipschitz, levels, norm })
    }
}

/// Arrays of a run.
pub(super) struct Arrays<B: TotalVariationKernels> {
    /// m, the images `[image, z, y, x]`.
    pub mean: B::Array<Image>,
    u: B::Array<Image>,
    extrapolated: B::Array<Image>,
    point: B::Array<Image>,
    field: B::Array<Image>,
    residual: B::Array<Image>,
    normal: NormalEquations<B>,
    /// Steps since the last start: k − 1 before step k.
    num_steps: usize,
}

impl<B: TotalVariationKernels> Arrays<B> {
    /// Makes the arrays of a run with this A*A and A*s that begins with the images `mean`.
    ///
    /// # Errors
    /// Data without a signal, not enough memory, device failure.
    pub fn new(
        backend: &mut B,
        problem: &Problem<'_, B>,
        sums: (B::Coupling, B::Array<Image>),
        mean: B::Array<Image>,
        task: &Task,
    ) -> Result<Self, ReconError> {
        let normal = NormalEquations::new(backend, problem, sums, &mean, task)?;
        let len = problem.lattice.num_images * problem.lattice.num_voxels();
        let [u, extrapolated] = [backend.zeros(len)?, backend.zeros(len)?];
        let [point, residual] = [backend.zeros(len)?, backend.zeros(len)?];
        let field = backend.zeros(problem.lattice.field_len())?;
        Ok(Self { mean, u, extrapolated, point, field, residual, normal, num_steps: 0 })
    }

    /// Takes the A*A and A*s of more projections; the images and the field stay, also after an error.
    ///
    /// # Errors
    /// As for [`Arrays::new`].
    pub fn renew(
        &mut self,
        backend: &mut B,
        problem: &Problem<'_, B>,
        sums: (B::Coupling, B::Array<Image>),
        task: &Task,
    ) -> Result<(), ReconError> {
        self.normal = NormalEquations::new(backend, problem, sums, &self.mean, task)?;
        self.begin();
        Ok(())
    }

    /// Returns A*A.
    pub fn coupling(&self) -> &B::Coupling {
        &self.normal.coupling
    }

    /// Returns true after enough steps from the last start for their size to show convergence.
    pub fn has_begun(&self) -> bool {
        self.num_steps >= MIN_STEPS
    }

    /// Lets the next step be the first one, from the images on, as under another λ.
    pub fn begin(&mut self) {
        self.num_steps = 0;
    }

    /// One step with λ′, and the sums of the objective where asked for.
    ///
    /// # Errors
    /// Device failure.
    pub fn advance(
        &mut self,
        backend: &mut B,
        problem: &Problem<'_, B>,
        strength: f64,
        is_due: bool,
    ) -> Result<Advance, BackendError> {
        let Problem { lattice, mask, settings, .. } = *problem;
        if self.num_steps == STEPS_TO_START && !settings.has_pyepri_iterates {
            self.begin();
        }
        let Self { mean, u, extrapolated, point, field, residual, normal, .. } = self;
        let NormalEquations { coupling, of_data, lipschitz, levels, norm } = normal;
        let all = 0..lattice.num_images * lattice.num_voxels();
        if self.num_steps == 0 {
            for image in [&mut *u, &mut *extrapolated, &mut *point] {
                backend.fill(image, 0.0)?;
                backend.add_scaled(image, 0, 1.0, mean, all.clone())?;
            }
        }
        self.num_steps += 1;
        let k = self.num_steps as f64;
        let variation = if is_due { Some(backend.total_variation(coupling, point, mask, &lattice)?) } else { None };
        let weights = lattice.weights.iter().chain([&lattice.spectral_weight]);
        let slope: f64 = weights.map(|weight| 4.0 * f64::from(weight * weight)).sum::<f64>().sqrt();
        // (An image of zeros has no r.)
        let ratio = if *norm > 0.0 { 2.0 * (all.len() as f64).sqrt() / *norm } else { 1.0 };
        let (scale, tau) = match settings.has_pyepri_iterates {
            true => (*lipschitz / (slope * slope * strength), 0.5 / *lipschitz),
            false => (ratio / slope, k / (2.0 * *lipschitz + k * strength * slope * ratio)),
        };
        backend.dual_step(coupling, field, extrapolated, mask, &lattice, scale as f32)?;
        backend.convolve(coupling, point, residual)?;
        let objective = match variation {
            Some(variation) => {
                let of_model = backend.dot(point, 0, residual, all.clone())?;
                Some([0.5 * of_model - backend.dot(point, 0, of_data, all.clone())?, variation])
            }
            None => None,
        };
        backend.add_scaled(residual, 0, -1.0, of_data, all)?;
        let change_of_total = match levels {
            Some(levels) if is_due => Some(levels.settle(backend, [mean, u, point], residual)?),
            _ => None,
        };
        let [extrapolation, weight, next_weight] = match settings.has_pyepri_iterates {
            true => [1.0; 3],
            false => [k / (k + 1.0), 2.0 / (k + 1.0), 2.0 / (k + 2.0)],
        };
        let step = PrimalStep {
            lattice,
            tau: tau as f32,
            lambda: strength as f32,
            is_positive: settings.is_positive,
            extrapolation: extrapolation as f32,
            weights: [weight as f32, next_weight as f32],
        };
        let sums = backend.primal_step(coupling, [u, extrapolated, mean, point], field, residual, mask, step)?;
        let update = if sums.norm > 0.0 { (sums.change / sums.norm).sqrt() } else { 0.0 };
        Ok(Advance { update, change_of_total, objective, step_size: tau })
    }
}

/// Largest eigenvalue of A*A by power iteration from A*s on, to the tolerance of the run.
fn largest_eigenvalue<B: TotalVariationKernels>(
    backend: &mut B,
    coupling: &mut B::Coupling,
    of_data: &B::Array<Image>,
    len: usize,
    tolerance: f64,
    task: &Task,
) -> Result<f64, ReconError> {
    let [mut x, mut y] = [backend.zeros::<Image>(len)?, backend.zeros::<Image>(len)?];
    backend.add_scaled(&mut x, 0, 1.0, of_data, 0..len)?;
    let mut norm = backend.dot(&x, 0, &x, 0..len)?.sqrt();
    let mut before = f64::INFINITY;
    for _ in 1..MAX_POWERS {
        if (norm - before).abs() <= norm * tolerance {
            break;
        }
        task.check().map_err(OperatorError::from)?;
        backend.convolve(coupling, &x, &mut y)?;
        before = norm;
        norm = backend.dot(&y, 0, &y, 0..len)?.sqrt();
        if !(norm > 0.0 && norm.is_finite()) {
            return Err(DataProblem::NoSignal.into());
        }
        backend.fill(&mut x, 0.0)?;
        backend.add_scaled(&mut x, 0, (1.0 / norm) as f32, &y, 0..len)?;
    }
    backend.convolve(coupling, &x, &mut y)?;
    Ok((backend.dot(&y, 0, &y, 0..len)? / backend.dot(&x, 0, &x, 0..len)?).sqrt())
}
