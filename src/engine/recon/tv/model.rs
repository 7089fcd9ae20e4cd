//! The model A of an EPRI sweep and its adjoint, exact and in the frequencies of the projections.
//!
//! The projection along the unit vector n is p(t) = Σ_k δ^d u_k h(t − n·x_k), with voxels of volume δ^d at x_k, and h the spectrum of the
//! probe; of pulses h has unit area within a sample. With one period of N samples a distance s apart (PyEPRI, definitions),
//!
//! P(α) = δ^d H(α) Σ_k u_k exp(−iξ n·x_k), ξ = 2πα/(N s), for |α| < N/2 and ξ|(n_a δ_a)| < π, else 0.
//!
//! A*A is the convolution with φ_k = δ^{2d}/N Σ_n Σ_α |H(α)|² exp(iξ n·δk); of several radicals, A_m*A_j with H_m* H_j.

use std::f64::consts::{PI, TAU};

use rayon::prelude::*;

use super::lattice::{num_axes, voxel_volume};
use crate::data::{Direction, Radical, ReferenceSpectrum, Sweep, SweepKind};
use crate::fft::{Complex, Number};
use crate::geometry::Grid;
use crate::operator::{NonuniformTransform, kernel_size};
use crate::recon::reference::reference_spectrum_at;
use crate::recon::{DataProblem, ReconError};

/// Share of the frequency α ≥ 0 in a sum whose real part counts twice, once for −α.
fn share(alpha: usize) -> f64 {
    if alpha == 0 { 0.5 } else { 1.0 }
}

/// Returns the spectra of radicals; of none the sweep's own.
pub(super) fn spectra_of<'a>(
    own: Option<&'a ReferenceSpectrum>,
    radicals: &'a [Radical],
) -> impl Iterator<Item = &'a ReferenceSpectrum> {
    own.filter(|_| radicals.is_empty()).into_iter().chain(radicals.iter().map(|radical| &radical.spectrum))
}

/// The operator of a sweep, for images of one grid, one of each radical.
pub struct SweepModel {
    grid: Grid,
    /// Transform of the spectrum of each radical, from the frequency 0 on.
    spectra: Vec<Vec<Complex<f64>>>,
    directions: Vec<Direction>,
    num_points: usize,
    step_mm: f64,
    centre: f64,
    tolerance: f64,
    /// Projection and α ≥ 0 of each frequency in use.
    places: Vec<(usize, usize)>,
    /// The same in radians a voxel.
    frequencies: Vec<[f64; 3]>,
}

impl SweepModel {
    /// Makes the model of the projections in `sweep` and of these radicals; without radicals it is of the sweep's own spectrum, or of
    /// pulses. The tolerance of its transforms is relative to the norm of a result.
    ///
    /// # Errors
    /// Continuous-wave data without a reference spectrum, or with one that is not usable; pulses with radicals.
    pub fn new(sweep: &Sweep, radicals: &[Radical], grid: &Grid, tolerance: f64) -> Result<Self, ReconError> {
        let Sweep { num_points, step_mm, centre, .. } = *sweep;
        let num_alpha = num_points.div_ceil(2);
        let omegas: Vec<f64> = (0..num_alpha).map(|alpha| TAU * alpha as f64 / num_points as f64).collect();
        let spectra = match &sweep.kind {
            SweepKind::Pulse if !radicals.is_empty() => return Err(DataProblem::RadicalsOfPulses.into()),
            SweepKind::Pulse => vec![vec![Complex::from(1.0 / step_mm); num_alpha]],
            SweepKind::ContinuousWave { step_mt, reference, .. } => {
                let transform = |spectrum| reference_spectrum_at(&omegas, spectrum, sweep, *step_mt);
                spectra_of(reference.as_ref(), radicals).map(transform).collect::<Result<Vec<_>, _>>()?
            }
        };
        if spectra.is_empty() {
            return Err(DataProblem::NoReference.into());
        }
        let directions: Vec<Direction> = sweep.projections.iter().map(|projection| projection.direction).collect();
        let (mut places, mut frequencies) = (Vec::new(), Vec::new());
        for (index, n) in directions.iter().enumerate() {
            for alpha in 0..num_alpha {
                let xi = TAU * alpha as f64 / (num_points as f64 * step_mm);
                let omega: [f64; 3] = std::array::from_fn(|a| xi * n[a] * grid.voxel_mm[a]);
                if omega.iter().map(|v| v * v).sum::<f64>() >= PI * PI {
                    break;
                }
                places.push((index, alpha));
                frequencies.push(omega);
            }
        }
        let grid = grid.clone();
        Ok(Self { grid, spectra, directions, num_points, step_mm, centre, tolerance, places, frequencies })
    }

    /// Returns the number of radicals.
    pub fn num_radicals(&self) -> usize {
        self.spectra.len()
    }

    /// Returns the two radicals with the most similar spectra, and their similarity |Σ H_m* H_j| / (‖H_m‖ ‖H_j‖): 1 of spectra that differ
    /// by a factor only.
    pub fn most_similar(&self) -> Option<([usize; 2], f64)> {
        let product = |m: usize, j: usize| {
            let pairs = self.spectra[m].iter().zip(&self.spectra[j]);
            pairs.map(|(a, b)| a.conj() * b).sum::<Complex<f64>>().norm()
        };
        let pairs = (0..self.spectra.len()).flat_map(|j| (0..j).map(move |m| [m, j]));
        let of_pair = |[m, j]: [usize; 2]| ([m, j], product(m, j) / (product(m, m) * product(j, j)).sqrt());
        pairs.map(of_pair).max_by(|(_, a), (_, b)| a.total_cmp(b))
    }

    /// exp(−iξ n·x) at the voxel ⌊n/2⌋, which the transforms count from.
    fn phase(&self, (index, alpha): (usize, usize)) -> Complex<f64> {
        let middle = self.grid.mm_from_voxel(self.grid.size.map(|n| (n / 2) as f64));
        let xi = TAU * alpha as f64 / (self.num_points as f64 * self.step_mm);
        Complex::cis(-xi * (0..num_axes(self.grid.size)).map(|a| self.directions[index][a] * middle[a]).sum::<f64>())
    }

    /// Phase of α at the first sample of a projection, relative to t = 0.
    fn shift(&self, alpha: usize) -> Complex<f64> {
        Complex::cis(TAU * alpha as f64 * self.centre / self.num_points as f64)
    }

    /// Returns A u, `[projection, sample]`, of an image `[z, y, x]` of each radical.
    pub fn project(&self, images: &[Vec<f64>]) -> Vec<f64> {
        let transform = NonuniformTransform::new(self.grid.size, self.tolerance);
        let mut spectra = vec![Complex::new(0.0, 0.0); self.directions.len() * self.num_points];
        for (image, spectrum) in images.iter().zip(&self.spectra) {
            let image: Vec<Complex<f64>> = image.iter().map(|&value| value.into()).collect();
            let values = transform.forward(&image, &self.frequencies);
            for (&place, value) in self.places.iter().zip(values) {
                let (index, alpha) = place;
                let factor =
                    share(alpha) * voxel_volume(&self.grid) * spectrum[alpha] * self.phase(place) * self.shift(alpha).conj();
                spectra[index * self.num_points + alpha] += factor * value;
            }
        }
        // The frequencies below 0 are the conjugates: twice the real part.
        let inverse = f64::inverse(self.num_points);
        spectra.par_chunks_exact_mut(self.num_points).for_each(|row| inverse.process(row));
        spectra.iter().map(|value| 2.0 * value.re / self.num_points as f64).collect()
    }

    /// Returns A* s of projections `[projection, sample]`: an image `[z, y, x]` of each radical.
    pub fn backproject(&self, projections: &[f64]) -> Vec<Vec<f64>> {
        let forward = f64::forward(self.num_points);
        let mut spectra: Vec<Complex<f64>> = projections.iter().map(|&value| value.into()).collect();
        spectra.par_chunks_exact_mut(self.num_points).for_each(|row| forward.process(row));
        let transform = NonuniformTransform::new(self.grid.size, self.tolerance);
        let of_radical = |spectrum: &Vec<Complex<f64>>| {
            let value = |&place: &(usize, usize)| {
                let (index, alpha) = place;
                let factor = share(alpha) * spectrum[alpha].conj() * self.phase(place).conj() * self.shift(alpha);
                factor * spectra[index * self.num_points + alpha]
            };
            let values: Vec<Complex<f64>> = self.places.iter().map(value).collect();
            let scale = 2.0 * voxel_volume(&self.grid) / self.num_points as f64;
            transform.adjoint_real(&self.frequencies, &values).iter().map(|value| scale * value).collect()
        };
        self.spectra.iter().map(of_radical).collect()
    }

    /// Returns E|∇Δ⁻¹A*n|² in the image of each radical, of noise n with these powers of the frequencies α ≥ 0; the differences of the
    /// gradient ∇ have these weights along the axes.
    pub(super) fn field_variances(&self, powers: &[f64], weights: [f32; 3]) -> Vec<f64> {
        let differences = |omega: &[f64; 3]| -> f64 {
            (0..3).map(|axis| (2.0 * f64::from(weights[axis]) * (0.5 * omega[axis]).sin()).powi(2)).sum()
        };
        let of_place = |spectrum: &[Complex<f64>], (&(_, alpha), omega): (&(usize, usize), &[f64; 3])| match differences(omega) {
            squared if alpha > 0 && squared > 0.0 => spectrum[alpha].norm_sqr() * powers[alpha] / squared,
            // (The mean of an image has no gradient.)
            _ => 0.0,
        };
        let scale = 2.0 * voxel_volume(&self.grid).powi(2) / self.num_points as f64;
        let of_radical = |spectrum: &Vec<Complex<f64>>| {
            scale * self.places.iter().zip(&self.frequencies).map(|place| of_place(spectrum, place)).sum::<f64>()
        };
        self.spectra.iter().map(of_radical).collect()
    }

    /// Returns the kernel of A_m*A_j, `[z, y, x]` of [`kernel_size`].
    pub fn kernel(&self, m: usize, j: usize) -> Vec<f64> {
        let value = |&(_, alpha): &(usize, usize)| share(alpha) * self.spectra[m][alpha].conj() * self.spectra[j][alpha];
        let values: Vec<Complex<f64>> = self.places.iter().map(value).collect();
        let transform = NonuniformTransform::new(kernel_size(self.grid.size), self.tolerance);
        let scale = 2.0 * voxel_volume(&self.grid).powi(2) / self.num_points as f64;
        transform.adjoint_real(&self.frequencies, &values).par_iter().map(|value| scale * value).collect()
    }
}
