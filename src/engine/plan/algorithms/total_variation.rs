//! The algorithm of least squares with total variation, with its parameters.

use super::penalised::TOLERANCE_HELP;
use super::setting::Setting;
use super::value::YES;
use super::values::Values;
use crate::recon::{SpectrumSettings, TvSettings};

pub(super) static TV_PARAMETERS: &[&Setting] = &[&LAMBDA, &TOLERANCE, &POSITIVITY, &SPECTRAL_SAMPLES, &LAMBDA_SPECTRAL];

/// Steps that suit most sweeps, if they do not converge before.
pub(in crate::plan) const NUM_ITERATIONS: usize = 1000;

/// Parameter of total variation.
pub static LAMBDA: Setting = Setting::number("lambda", "Strength λ", "", 1e-12, 1e12).absent("by the noise").usual(1.0).help("Strength of total variation: larger is smoother, in pieces of one value", "As PyEPRI normalises it, for any number of projections. It grows with the values of spectra: samples 1000 times as large need \
              1000 times the λ. With a spectrum in each voxel: thousandths of the largest value of the backprojection. Default: by the noise \
              of the projections; with a spectrum in each voxel 0.3.").in_short_texts();

/// Parameter of total variation.
pub static TOLERANCE: Setting = Setting::number("tolerance", "Tolerance", "", 0.0, 1.0).with_default(1e-5).help(
    TOLERANCE_HELP,
    "Total variation has converged where a step changes the image by less than this part of its norm; 0 = never. \
              Default: 0.00001.",
);

/// Parameter of total variation.
pub static POSITIVITY: Setting = Setting::switch("positivity", "Only positive values")
    .help("Total variation: no image value below 0", "Default: no.")
    .in_short_texts();

/// Parameter of total variation.
pub static SPECTRAL_SAMPLES: Setting = Setting::count("spectral_samples", "Spectral samples", "", 0, 4096).with_default(0.0).help("Total variation: samples of a spectrum in each voxel, over the field sweep; 0 = no spectra", "For continuous-wave projections under gradients of several sizes, without a reference spectrum. Writes OUT_spectra too. Default: 0.").is_for(|data| data.separates_spectra).in_short_texts();

/// Parameter of total variation.
pub static LAMBDA_SPECTRAL: Setting = Setting::number("lambda_spectral", "Weight along spectra", "", 0.0, 1e6)
    .with_default(0.0)
    .help(
        "Total variation: weight of the differences along the spectra, relative to those in space",
        "Field and space have different units. Default: 0.",
    )
    .is_for(|data| data.separates_spectra);

/// Returns the settings of total variation with these parameters.
pub fn tv_settings(parameters: &Values) -> TvSettings {
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
