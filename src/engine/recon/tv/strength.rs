//! The strength λ′: its scale, and λ by the noise of the projections.
//!
//! Where u does not change, λ′ div p balances A*(A u − s) with a field |p| ≤ λ′. So p contains ∇Δ⁻¹A* of the noise that is not in the image,
//! and where λ′ is some times its size, noise makes no edges:
//!
//! λ′ = 3.5 σ, σ² = E|∇Δ⁻¹A*(w n)|² = 2 δ^{2d}/N Σ_n Σ_α |H(α)|² P(α) w(α)² / |K|²
//!
//! over the directions n and frequencies α > 0 of the model, with the power P of the noise, and the differences K_a = w_a 2 sin(ξ n_a δ_a/2)
//! along the axes. w = P/D is what Wiener's filter leaves out, with the mean power D of the data (Wiener, Extrapolation, Interpolation, and
//! Smoothing of Stationary Time Series, 1949): frequencies with much more signal than noise have no part.

use std::f64::consts::{PI, TAU};

use super::experiments::data_scale;
use super::lattice::{edge_mm, num_axes, weights};
use super::model::SweepModel;
use super::settings::TvSettings;
use crate::data::{Radical, Sweep};
use crate::geometry::Grid;
use crate::recon::ReconError;
use crate::recon::fbp::{Noise, mean_powers};

/// λ′ over the standard deviation of the field.
const DEVIATIONS: f64 = 3.5;

/// Samples are rounded to 24 bits: the least noise, a part of the root of the mean square.
const ROUNDING: f64 = 1.0 / (1 << 24) as f64;

/// Returns λ′/λ = (max h − min h)·P/(2^{d−1}π)·N/B·δ^{d−1} of P projections of N samples over a range B of the field: PyEPRI's
/// normalisation, in which the image in mm takes the place of that in cm, and the field in mT that in G ([`data_scale`]).
pub(super) fn strength_scale<'a>(acquisitions: impl Iterator<Item = (&'a Sweep, &'a [Radical], usize)>, grid: &Grid) -> f64 {
    let power = num_axes(grid.size) as i32 - 1;
    data_scale(acquisitions) * edge_mm(grid).powi(power) / (2_f64.powi(power) * PI)
}

/// Returns λ by the noise of all acquisitions of an object, with the spectra of their radicals; `None` where the noise is not known.
///
/// # Errors
/// Data that do not suit.
pub fn strength_by_noise(acquisitions: &[(&Sweep, &[Radical])], grid: &Grid) -> Result<Option<f64>, ReconError> {
    let mut variance = Some(0.0);
    for (sweep, radicals) in acquisitions {
        variance = variance.zip(field_variance(sweep, radicals, grid)?).map(|(sum, of_sweep)| sum + of_sweep);
    }
    let numbered = acquisitions.iter().map(|(sweep, radicals)| (*sweep, *radicals, sweep.num_complete()));
    let scale = strength_scale(numbered, grid);
    let strength = variance.map(|variance| DEVIATIONS * variance.sqrt() / scale);
    Ok(strength.filter(|strength| *strength > 0.0 && strength.is_finite()))
}

/// Returns σ² of one acquisition, of the radical with the largest; `None` where the noise is not known.
fn field_variance(sweep: &Sweep, radicals: &[Radical], grid: &Grid) -> Result<Option<f64>, ReconError> {
    let Some(noise) = Noise::of(sweep) else { return Ok(None) };
    let model = SweepModel::new(sweep, radicals, grid, TvSettings::default().transform_tolerance)?;
    let data = mean_powers(sweep);
    let floor = ROUNDING.powi(2) * data.iter().sum::<f64>() / data.len().max(1) as f64;
    let power = |alpha: usize| {
        let power = noise.power(TAU * alpha as f64 / sweep.num_points as f64).max(floor);
        let rest = if data[alpha] > power { power / data[alpha] } else { 1.0 };
        power * rest * rest
    };
    let powers: Vec<f64> = (0..data.len()).map(power).collect();
    Ok(Some(model.field_variances(&powers, weights(grid)).into_iter().fold(0.0, f64::max)))
}
