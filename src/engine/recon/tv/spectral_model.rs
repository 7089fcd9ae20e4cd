//! The model A of continuous-wave projections under gradients of several sizes, for an image with a spectrum in each voxel.
//!
//! A projection under the gradient γ is p(B) = Σ_k δ^d U_k(B + ⟨γ, x_k⟩), with voxels of volume δ^d at x_k. In units of t, mm along the
//! largest gradient g, n = −γ/g is a vector of length ≤ 1, and with one period of N samples a distance s apart (PyEPRI, definitions),
//!
//! P(α) = δ^d N/N_B Σ_k Û_k(α) exp(−iξ n·x_k), ξ = 2πα/(N s), for α < N_B/2 and ξ|(n_a δ_a)| < π, else 0.
//!
//! N_B ≤ N samples of a spectrum cover the same fields as the N of a projection. Each frequency α of the projections has its own image Û(α):
//! A*A is a convolution at each α, with φ_k = δ^{2d} N/N_B Σ_n exp(iξ n·δk).

use std::f64::consts::{PI, TAU};

use rayon::prelude::*;

use super::lattice::voxel_volume;
use crate::data::{Direction, Sweep};
use crate::fft::{Complex, Number};
use crate::geometry::Grid;
use crate::operator::{NonuniformTransform, SpectralKernels, kernel_size, num_spectral_frequencies};
use crate::recon::{DataProblem, ReconError, SettingsProblem};

/// The operator of a sweep, for images of one grid with a spectrum in each voxel.
pub struct SpectralModel {
    grid: Grid,
    /// n of each projection.
    gradients: Vec<Direction>,
    num_points: usize,
    num_samples: usize,
    step_mm: f64,
    centre: f64,
    tolerance: f64,
}

impl SpectralModel {
    /// Makes the model of the projections in `sweep`, for `num_samples` samples of each spectrum. The tolerance of its transforms is
    /// relative to the norm of a result.
    ///
    /// # Errors
    /// Pulse data, more samples than the projections have or fewer than 4.
    pub fn new(sweep: &Sweep, num_samples: usize, grid: &Grid, tolerance: f64) -> Result<Self, ReconError> {
        let Sweep { num_points, step_mm, centre, .. } = *sweep;
        if !sweep.is_continuous_wave() {
            return Err(DataProblem::NoSpectra.into());
        }
        if !(4..=num_points).contains(&num_samples) {
            return Err(SettingsProblem::SpectralSamples { found: num_samples, max: num_points }.into());
        }
        let gradients = sweep.projections.iter().map(|projection| projection.direction).collect();
        Ok(Self { grid: grid.clone(), gradients, num_points, num_samples, step_mm, centre, tolerance })
    }

    /// Returns ξ of a frequency, 1/mm.
    fn wave_number(&self, alpha: usize) -> f64 {
        TAU * alpha as f64 / (self.num_points as f64 * self.step_mm)
    }

    /// Returns the projections with a frequency α of the image, and its place in radians a voxel.
    fn frequencies(&self, alpha: usize) -> (Vec<usize>, Vec<[f64; 3]>) {
        let xi = self.wave_number(alpha);
        let omega = |n: &Direction| -> [f64; 3] { std::array::from_fn(|a| xi * n[a] * self.grid.voxel_mm[a]) };
        let is_inside = |(_, omega): &(usize, [f64; 3])| omega.iter().map(|v| v * v).sum::<f64>() < PI * PI;
        self.gradients.iter().map(omega).enumerate().filter(is_inside).unzip()
    }

    /// exp(−iξ n·x) at the voxel ⌊n/2⌋, which the transforms count from.
    fn phase(&self, index: usize, alpha: usize) -> Complex<f64> {
        let middle = self.grid.mm_from_voxel(self.grid.size.map(|n| (n / 2) as f64));
        Complex::cis(-self.wave_number(alpha) * (0..3).map(|a| self.gradients[index][a] * middle[a]).sum::<f64>())
    }

    /// Phase of α at the first sample of a projection, relative to the middle of the sweep.
    fn shift(&self, alpha: usize) -> Complex<f64> {
        Complex::cis(TAU * alpha as f64 * self.centre / self.num_points as f64)
    }

    /// The same of a spectrum, whose middle is its sample ⌊N_B/2⌋.
    fn spectral_shift(&self, alpha: usize) -> Complex<f64> {
        Complex::cis(TAU * (alpha * (self.num_samples / 2)) as f64 / self.num_samples as f64)
    }

    /// Returns A u, `[projection, sample]`, of an image `[sample, z, y, x]`.
    pub fn project(&self, image: &[f64]) -> Vec<f64> {
        let num_voxels = self.grid.num_voxels();
        let forward = f64::real_forward(self.num_samples);
        let spectrum = |voxel: usize| {
            let mut row: Vec<f64> = (0..self.num_samples).map(|sample| image[sample * num_voxels + voxel]).collect();
            let mut spectrum = forward.make_output_vec();
            // The lengths are those of the plan: it cannot fail.
            let _ = forward.process(&mut row, &mut spectrum);
            spectrum
        };
        let by_voxel: Vec<Vec<Complex<f64>>> = (0..num_voxels).into_par_iter().map(spectrum).collect();
        let transform = NonuniformTransform::new(self.grid.size, self.tolerance);
        let mut spectra = vec![Complex::new(0.0, 0.0); self.gradients.len() * self.num_points];
        let scale = voxel_volume(&self.grid) * self.num_points as f64 / self.num_samples as f64;
        for alpha in 0..num_spectral_frequencies(self.num_samples) {
            let of_alpha: Vec<Complex<f64>> = by_voxel.iter().map(|spectrum| spectrum[alpha]).collect();
            let (places, omegas) = self.frequencies(alpha);
            let share = if alpha == 0 { 0.5 } else { 1.0 };
            let shift = self.spectral_shift(alpha) * self.shift(alpha).conj() * share * scale;
            for (index, value) in places.into_iter().zip(transform.forward(&of_alpha, &omegas)) {
                spectra[index * self.num_points + alpha] = shift * self.phase(index, alpha) * value;
            }
        }
        // The frequencies below 0 are the conjugates: twice the real part.
        let inverse = f64::inverse(self.num_points);
        spectra.par_chunks_exact_mut(self.num_points).for_each(|row| inverse.process(row));
        spectra.iter().map(|value| 2.0 * value.re / self.num_points as f64).collect()
    }

    /// Returns A* s of projections `[projection, sample]`: the samples `[z, y, x]` of an image.
    pub fn backproject(&self, projections: &[f64]) -> Vec<Vec<f64>> {
        let forward = f64::forward(self.num_points);
        let mut spectra: Vec<Complex<f64>> = projections.iter().map(|&value| value.into()).collect();
        spectra.par_chunks_exact_mut(self.num_points).for_each(|row| forward.process(row));
        let transform = NonuniformTransform::new(self.grid.size, self.tolerance);
        let scale = voxel_volume(&self.grid) / self.num_samples as f64;
        let of_alpha = |alpha: usize| {
            let (places, omegas) = self.frequencies(alpha);
            let shift = self.spectral_shift(alpha).conj() * self.shift(alpha) * scale;
            let value = |&index: &usize| shift * self.phase(index, alpha).conj() * spectra[index * self.num_points + alpha];
            transform.adjoint(&omegas, &places.iter().map(value).collect::<Vec<_>>())
        };
        let num_frequencies = num_spectral_frequencies(self.num_samples);
        let by_frequency: Vec<Vec<Complex<f64>>> = (0..num_frequencies).map(of_alpha).collect();
        let inverse = f64::real_inverse(self.num_samples);
        let num_voxels = self.grid.num_voxels();
        let mut images = vec![vec![0.0; num_voxels]; self.num_samples];
        let (mut spectrum, mut row) = (inverse.make_input_vec(), inverse.make_output_vec());
        for voxel in 0..num_voxels {
            spectrum.fill(Complex::new(0.0, 0.0));
            spectrum.iter_mut().zip(&by_frequency).for_each(|(value, image)| *value = image[voxel]);
            spectrum[0].im = 0.0;
            let _ = inverse.process(&mut spectrum, &mut row);
            images.iter_mut().zip(&row).for_each(|(image, value)| image[voxel] = *value);
        }
        images
    }

    /// Returns the kernel of A*A at a frequency α, `[z, y, x]` of [`kernel_size`].
    pub fn kernel(&self, alpha: usize) -> Vec<Complex<f64>> {
        self.kernel_by(&NonuniformTransform::new(kernel_size(self.grid.size), self.tolerance), alpha)
    }

    fn kernel_by(&self, transform: &NonuniformTransform, alpha: usize) -> Vec<Complex<f64>> {
        let (places, omegas) = self.frequencies(alpha);
        let scale = voxel_volume(&self.grid).powi(2) * self.num_points as f64 / self.num_samples as f64;
        transform.adjoint(&omegas, &vec![Complex::from(scale); places.len()])
    }

    /// Returns the kernels of A*A.
    pub fn kernels(&self) -> SpectralKernels<f32> {
        let transform = NonuniformTransform::new(kernel_size(self.grid.size), self.tolerance);
        SpectralKernels::new(self.grid.size, self.num_samples, |alpha| self.kernel_by(&transform, alpha))
    }
}
