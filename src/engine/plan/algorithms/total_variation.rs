//! The algorithm of least squares with total variation, with its parameters.

use super::parameters::{Choice, Kind, Parameter, Parameters};
use super::penalised::TOLERANCE_HELP;
use crate::recon::{SpectrumSettings, TvSettings};

pub(super) static TV_PARAMETERS: &[&Parameter] = &[&LAMBDA, &TOLERANCE, &POSITIVITY, &SPECTRAL_SAMPLES, &LAMBDA_SPECTRAL];

/// Steps that suit most sweeps, if they do not converge before.
pub(in crate::plan) const NUM_ITERATIONS: usize = 1000;

/// Parameter of total variation.
pub static LAMBDA: Parameter = Parameter {
    key: "lambda",
    label: "Strength λ",
    help: "Strength of total variation: larger is smoother, in pieces of one value",
    details: "As PyEPRI normalises it, for any number of projections. It grows with the values of spectra: samples 1000 times as large need \
              1000 times the λ. With a spectrum in each voxel: thousandths of the largest value of the backprojection. Default: by the noise \
              of the projections; with a spectrum in each voxel 0.3.",
    kind: Kind::Number { min: 1e-12, max: 1e12, unit: "", default: None, usual: 1.0, absent: "by the noise", found: None },
    is_for: |_| true,
    needs: None,
    is_in_short_texts: true,
};

/// Parameter of total variation.
pub static TOLERANCE: Parameter = Parameter {
    key: "tolerance",
    label: "Tolerance",
    help: TOLERANCE_HELP,
    details: "Total variation has converged where a step changes the image by less than this part of its norm; 0 = never. \
              Default: 0.00001.",
    kind: Kind::Number { min: 0.0, max: 1.0, unit: "", default: Some(1e-5), usual: 1e-5, absent: "none", found: None },
    is_for: |_| true,
    needs: None,
    is_in_short_texts: false,
};

/// Parameter of total variation.
pub static POSITIVITY: Parameter = Parameter {
    key: "positivity",
    label: "Only positive values",
    help: "Total variation: no image value below 0",
    details: "Default: no.",
    kind: Kind::Choice { choices: || [NO, YES].map(Choice::named).into(), default: NO },
    is_for: |_| true,
    needs: None,
    is_in_short_texts: true,
};

/// Parameter of total variation.
pub static SPECTRAL_SAMPLES: Parameter = Parameter {
    key: "spectral_samples",
    label: "Spectral samples",
    help: "Total variation: samples of a spectrum in each voxel, over the field sweep; 0 = no spectra",
    details: "For continuous-wave projections under gradients of several sizes, without a reference spectrum. Writes OUT_spectra too. Default: 0.",
    kind: Kind::Count { min: 0, max: 4096, default: 0 },
    is_for: |data| data.separates_spectra,
    needs: None,
    is_in_short_texts: true,
};

/// Parameter of total variation.
pub static LAMBDA_SPECTRAL: Parameter = Parameter {
    key: "lambda_spectral",
    label: "Weight along spectra",
    help: "Total variation: weight of the differences along the spectra, relative to those in space",
    details: "Field and space have different units. Default: 0.",
    kind: Kind::Number { min: 0.0, max: 1e6, unit: "", default: Some(0.0), usual: 0.0, absent: "none", found: None },
    is_for: |data| data.separates_spectra,
    needs: None,
    is_in_short_texts: false,
};

/// Names of the values of a parameter that is off or on.
pub const NO: &str = "no";
/// The other one.
pub const YES: &str = "yes";

/// Returns the settings of total variation with these parameters.
pub fn tv_settings(parameters: &Parameters) -> TvSettings {
    let default = TvSettings::default();
    let num_samples = parameters.count(&SPECTRAL_SAMPLES);
    let strength = parameters.number(&LAMBDA_SPECTRAL).unwrap_or(0.0);
    TvSettings {
        strength: parameters.number(&LAMBDA),
        tolerance: parameters.number(&TOLERANCE).unwrap_or(default.tolerance),
        is_positive: parameters.is(&POSITIVITY, YES),
        spectrum: (num_samples > 0).then_some(SpectrumSettings { num_samples, strength }),
        ..default
    }
}
