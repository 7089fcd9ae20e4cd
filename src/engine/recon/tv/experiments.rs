//! Several acquisitions of one object, with other settings each: of L of them, with projections s_l and models A_l, the run minimises
//!
//! ½ Σ_l ‖A_l u − s_l‖² + λ′ Σ|∇u|,
//!
//! so that A*A = Σ_l A_l*A_l and A*s = Σ_l A_l* s_l are sums, and the steps are those of one.

use super::model::spectra_of;
use crate::data::{Experiment, Radical, ReferenceSpectrum, Sweep, SweepKind};
use crate::recon::fbp::{GradientSizes, check_sweep};
use crate::recon::{DataProblem, ExperimentProblem, ReconError};

/// Refuses experiments that do not suit the first acquisition, with these radicals.
///
/// # Errors
/// [`DataProblem::Experiment`].
pub fn check_experiments(first: &Sweep, radicals: &[Radical], experiments: &[Experiment]) -> Result<(), ReconError> {
    experiments.iter().try_for_each(|experiment| {
        let Experiment { sweep, radicals: own, .. } = experiment;
        let names = |radicals: &[Radical]| radicals.iter().map(|radical| radical.name.clone()).collect::<Vec<_>>();
        let (found, expected) = (names(own), names(radicals));
        if sweep.space != first.space {
            return Err(of(experiment, ExperimentProblem::Space { found: sweep.space, expected: first.space }));
        }
        if sweep.is_continuous_wave() != first.is_continuous_wave() {
            return Err(of(experiment, ExperimentProblem::Kind { is_pulse: !sweep.is_continuous_wave() }));
        }
        if found != expected {
            return Err(of(experiment, ExperimentProblem::Radicals { found, expected }));
        }
        if sweep.projections.is_empty() {
            return Err(of(experiment, ExperimentProblem::NoProjections));
        }
        check_sweep(sweep, GradientSizes::Any).map_err(|error| named(experiment, error))
    })
}

fn of(experiment: &Experiment, problem: ExperimentProblem) -> ReconError {
    DataProblem::Experiment { file: experiment.file.display().to_string(), problem: Box::new(problem) }.into()
}

/// Returns an error about the data with the file of the experiment.
pub(super) fn named(experiment: &Experiment, error: ReconError) -> ReconError {
    match error {
        ReconError::UnsuitableData(problem) => of(experiment, ExperimentProblem::Data(problem)),
        other => other,
    }
}

/// Returns the scale of the data in λ′ = λ · (max h − min h) · P/(2^{d−1}π) · N/B · δ^{d−1}, PyEPRI's normalisation: the largest
/// max h − min h of all spectra, times the mean of P · N/B over the acquisitions, of P projections with N samples over a range B of the
/// field. (PyEPRI's acquisitions have the same fields, so that it takes the mean of P.) Of pulses, h is 1/s at one sample, and the field
/// the distance t.
pub(super) fn data_scale<'a>(acquisitions: impl Iterator<Item = (&'a Sweep, &'a [Radical], usize)>) -> f64 {
    let (mut largest, mut densities, mut num_acquisitions) = (0.0_f64, 0.0, 0);
    for (sweep, radicals, num_projections) in acquisitions {
        let (step, height) = match &sweep.kind {
            SweepKind::Pulse => (sweep.step_mm, 1.0 / sweep.step_mm),
            SweepKind::ContinuousWave { step_mt, reference, .. } => {
                (*step_mt, spectra_of(reference.as_ref(), radicals).map(height).fold(0.0, f64::max))
            }
        };
        let num_points = sweep.num_points as f64;
        largest = largest.max(height);
        densities += num_projections as f64 * num_points / ((num_points - 1.0) * step);
        num_acquisitions += 1;
    }
    largest * densities / f64::from(num_acquisitions)
}

/// Returns max h − min h.
fn height(spectrum: &ReferenceSpectrum) -> f64 {
    let (low, high) = spectrum.values.iter().fold((f32::INFINITY, f32::NEG_INFINITY), |(l, h), v| (l.min(*v), h.max(*v)));
    f64::from(high - low)
}
