//! Sums over the projections in the image: all that the steps need of them.

use super::kernels::TotalVariationKernels;
use super::model::SweepModel;
use super::settings::TvSettings;
use super::spectral_model::SpectralModel;
use crate::algebra::BackendError;
use crate::data::{Radical, Sweep};
use crate::geometry::Grid;
use crate::operator::{KernelSpectrum, SpectralKernels};
use crate::recon::ReconError;

/// The model of a sweep.
pub(super) enum Model {
    /// An image of each radical.
    Radicals(SweepModel),
    /// A spectrum in each voxel.
    Spectra(SpectralModel, usize),
}

impl Model {
    /// Makes the model of the projections in `sweep`.
    ///
    /// # Errors
    /// Data that do not suit.
    pub fn new(sweep: &Sweep, radicals: &[Radical], grid: &Grid, settings: &TvSettings) -> Result<Self, ReconError> {
        let tolerance = settings.transform_tolerance;
        Ok(match settings.spectrum {
            Some(spectrum) => {
                Model::Spectra(SpectralModel::new(sweep, spectrum.num_samples, grid, tolerance)?, spectrum.num_samples)
            }
            None => Model::Radicals(SweepModel::new(sweep, radicals, grid, tolerance)?),
        })
    }

    /// Returns the number of coupled images.
    pub fn num_images(&self) -> usize {
        match self {
            Model::Radicals(model) => model.num_radicals(),
            Model::Spectra(_, num_samples) => *num_samples,
        }
    }

    /// Returns A u, `[projection, sample]`.
    pub fn project(&self, images: &[Vec<f64>]) -> Vec<f64> {
        match self {
            Model::Radicals(model) => model.project(images),
            Model::Spectra(model, _) => model.project(&images.concat()),
        }
    }

    fn backproject(&self, projections: &[f64]) -> Vec<Vec<f64>> {
        match self {
            Model::Radicals(model) => model.backproject(projections),
            Model::Spectra(model, _) => model.backproject(projections),
        }
    }

    fn kernels(&self) -> Kernels {
        match self {
            Model::Radicals(model) => {
                let pairs = (0..model.num_radicals()).flat_map(|j| (0..=j).map(move |m| (m, j)));
                Kernels::Radicals(pairs.map(|(m, j)| model.kernel(m, j)).collect())
            }
            Model::Spectra(model, _) => Kernels::Spectra(model.kernels()),
        }
    }
}

/// Kernels of A*A.
enum Kernels {
    /// (0, 0), (0, 1), (1, 1), (0, 2), ….
    Radicals(Vec<Vec<f64>>),
    /// Their transforms, one of each frequency of the spectra.
    Spectra(SpectralKernels<f32>),
}

/// The sums.
pub(super) struct Known {
    /// A*s of each image.
    pub of_data: Vec<Vec<f64>>,
    /// Largest |A*s|.
    pub largest: f64,
    kernels: Kernels,
    /// ½‖s‖².
    pub energy: f64,
}

impl Known {
    /// Returns the sums over the projections of a sweep, whose model this is.
    pub fn of(model: &Model, sweep: &Sweep) -> Self {
        let values: Vec<f64> = sweep.projections.iter().flat_map(|p| p.values.iter().map(|v| f64::from(*v))).collect();
        let energy = 0.5 * values.iter().map(|value| value * value).sum::<f64>();
        let of_data = model.backproject(&values);
        Self { largest: largest(&of_data), of_data, kernels: model.kernels(), energy }
    }

    /// Adds those of further projections, of the same acquisition or of another one of the same object.
    pub fn add(&mut self, other: &Self) {
        add(&mut self.of_data, &other.of_data);
        self.largest = largest(&self.of_data);
        match (&mut self.kernels, &other.kernels) {
            (Kernels::Radicals(sums), Kernels::Radicals(values)) => add(sums, values),
            (Kernels::Spectra(sums), Kernels::Spectra(values)) => sums.add(values),
            // A run has one model.
            (Kernels::Radicals(_), Kernels::Spectra(_)) | (Kernels::Spectra(_), Kernels::Radicals(_)) => {}
        }
        self.energy += other.energy;
    }

    /// Brings A*A to the device.
    ///
    /// # Errors
    /// Not enough memory, device failure.
    pub fn coupling<B: TotalVariationKernels>(&self, backend: &mut B, size: [usize; 3]) -> Result<B::Coupling, BackendError> {
        match &self.kernels {
            Kernels::Radicals(kernels) => {
                let kernel = |m: usize, j: usize| &kernels[j * (j + 1) / 2 + m];
                backend.coupling(KernelSpectrum::new(size, self.of_data.len(), kernel))
            }
            Kernels::Spectra(kernels) => backend.spectral_coupling(kernels),
        }
    }
}

fn largest(images: &[Vec<f64>]) -> f64 {
    images.iter().flatten().fold(0.0, |largest, value| value.abs().max(largest))
}

fn add(sums: &mut [Vec<f64>], values: &[Vec<f64>]) {
    for (sum, values) in sums.iter_mut().zip(values) {
        sum.iter_mut().zip(values).for_each(|(sum, value)| *sum += value);
    }
}
