//! Filtered projections with samples about as far apart as the voxels of an image.
//!
//! A deconvolved spectrum ends at the cut-off, so that a transform back of fewer values has its samples, farther apart, over the same
//! period. Between these the cubic spline differs from it by less than 10⁻³ up to [`MAX_CUTOFF`] of the new Nyquist frequency (a sinusoid of
//! frequency ω has the error (ω/(2π − ω))⁴ there). Linear interpolation between the measured samples is the factor sinc²(ω/2π).
//!
//! A backprojection whose voxels are a few samples wide is several times faster so: [`planes`](crate::operator).

use std::f64::consts::TAU;
use std::sync::Arc;

use crate::fft::{Complex, Fft, Number};
use crate::geometry::Grid;
use crate::operator::{Interpolation, PlaneSampling};

/// Largest cut-off of the samples that are left.
const MAX_CUTOFF: f64 = 0.3;

/// Smallest factor between the distances of the samples that is worth it.
const MIN_FACTOR: f64 = 1.5;

/// Fewer samples of filtered projections.
pub(super) struct Thinning {
    /// Where the samples lie: the first one is that of the measured samples, the last one a period later.
    pub sampling: PlaneSampling,
    /// Factors of the interpolation between the measured samples, at the frequencies from 0 to the cut-off.
    window: Vec<f64>,
    inverse: Arc<dyn Fft<f64>>,
}

impl Thinning {
    /// Makes the samples of an image on `grid`, of projections with this sampling, cut-off and interpolation; `None` where too few would be
    /// saved, and of the nearest sample, which is no smooth curve.
    pub fn new(sampling: &PlaneSampling, cutoff: f64, interpolation: Interpolation, grid: &Grid) -> Option<Self> {
        let axes = (0..3).filter(|axis| grid.size[*axis] > 1);
        let voxel_mm = axes.map(|axis| grid.voxel_mm[axis]).fold(f64::INFINITY, f64::min);
        let factor = (voxel_mm / sampling.step_mm).min(MAX_CUTOFF / cutoff);
        if factor < MIN_FACTOR || !factor.is_finite() || interpolation == Interpolation::Nearest {
            return None;
        }
        let len = (sampling.num_points as f64 / factor).ceil() as usize;
        let ratio = sampling.num_points as f64 / len as f64;
        let num_frequencies = (0.5 * cutoff * sampling.num_points as f64 * (1.0 + 1e-12)).floor() as usize + 1;
        let window = |k: usize| match interpolation {
            Interpolation::Linear if k > 0 => interpolation_window(interpolation, TAU * k as f64 / sampling.num_points as f64),
            _ => 1.0,
        };
        Some(Self {
            sampling: PlaneSampling { num_points: len + 1, step_mm: sampling.step_mm * ratio, centre: sampling.centre / ratio },
            window: (0..num_frequencies).map(window).collect(),
            inverse: f64::inverse(len),
        })
    }

    /// Writes the samples of a projection with this transform over one period.
    pub fn samples(&self, spectrum: &[Complex<f64>], buffer: &mut Vec<Complex<f64>>, out: &mut [f64]) {
        let (len, num_points) = (self.sampling.num_points - 1, spectrum.len());
        buffer.clear();
        buffer.resize(len, Complex::default());
        buffer[0] = spectrum[0];
        for (k, window) in self.window.iter().enumerate().skip(1) {
            buffer[k] = spectrum[k] * window;
            buffer[len - k] = spectrum[num_points - k] * window;
        }
        self.inverse.process(buffer);
        out.iter_mut().zip(buffer.iter()).for_each(|(value, cell)| *value = cell.re);
        out[len] = buffer[0].re;
    }
}

/// Returns the factor of an interpolation between samples at a frequency ω, above 0 to π.
pub(super) fn interpolation_window(interpolation: Interpolation, omega: f64) -> f64 {
    let half = 0.5 * omega;
    let sinc = half.sin() / half;
    match interpolation {
        Interpolation::Nearest => sinc,
        Interpolation::Linear => sinc.powi(2),
        // Cubic B-splines through all samples.
        Interpolation::Cubic => sinc.powi(4) * 3.0 / (2.0 + omega.cos()),
    }
}
