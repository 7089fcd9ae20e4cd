//! Total variation on a CUDA device (`kernels/variation.cu`; the definition is [`TotalVariationKernels`] on the host).

use super::convolution::CudaConvolution;
use super::spectral_convolution::CudaSpectralConvolution;
use crate::algebra::{Backend as _, BackendError, Image};
use crate::cuda::backend::{CudaArray, CudaBackend, REDUCTION};
use crate::cuda::kernel::one_each;
use crate::cuda::launches::variation::{Kernels, StepShape, VariationShape};
use crate::operator::{KernelSpectrum, SpectralKernels};
use crate::recon::{Lattice, PrimalStep, PrimalSums, TotalVariationKernels};

/// Images that are coupled at most, as in the kernel.
pub const MAX_RADICALS: usize = 8;

/// A convolution on a device, and the kernels of the steps.
pub struct CudaCoupling {
    kernels: Kernels,
    convolution: Coupled,
}

/// Images that are convolved.
enum Coupled {
    /// Images of radicals.
    Images(CudaConvolution),
    /// A spectral-spatial image.
    Spectra(CudaSpectralConvolution),
}

fn shape_of(lattice: &Lattice, mask: Option<&CudaArray<Image>>) -> VariationShape {
    let [nx, ny, nz] = lattice.size.map(|num| num as u32);
    VariationShape {
        nx,
        ny,
        nz,
        num_axes: lattice.num_axes() as u32,
        num_images: lattice.num_images as u32,
        has_mask: u32::from(mask.is_some()),
        weights: lattice.weights,
        spectral_weight: lattice.spectral_weight,
    }
}

impl TotalVariationKernels for CudaBackend {
    type Coupling = CudaCoupling;

    fn coupling(&mut self, spectrum: KernelSpectrum<f32>) -> Result<CudaCoupling, BackendError> {
        let kernels = Kernels::load(&self.context)?;
        let convolution = Coupled::Images(CudaConvolution::new(self, &kernels, &spectrum)?);
        Ok(CudaCoupling { kernels, convolution })
    }

    fn spectral_coupling(&mut self, spectra: &SpectralKernels<f32>) -> Result<CudaCoupling, BackendError> {
        let kernels = Kernels::load(&self.context)?;
        let convolution = Coupled::Spectra(CudaSpectralConvolution::new(self, &kernels, spectra)?);
        Ok(CudaCoupling { kernels, convolution })
    }

    fn convolve(
        &mut self,
        coupling: &mut CudaCoupling,
        images: &CudaArray<Image>,
        result: &mut CudaArray<Image>,
    ) -> Result<(), BackendError> {
        let CudaCoupling { kernels, convolution } = coupling;
        let len = match convolution {
            Coupled::Images(convolution) => convolution.len(),
            Coupled::Spectra(convolution) => convolution.len(),
        };
        images.expect_len(len)?;
        result.expect_len(len)?;
        match convolution {
            Coupled::Images(convolution) => convolution.apply(self, kernels, &images.0, &mut result.0)?,
            Coupled::Spectra(convolution) => convolution.apply(self, kernels, &images.0, &mut result.0)?,
        }
        Ok(())
    }

    fn dual_step(
        &mut self,
        coupling: &CudaCoupling,
        field: &mut CudaArray<Image>,
        extrapolated: &CudaArray<Image>,
        mask: Option<&CudaArray<Image>>,
        lattice: &Lattice,
        scale: f32,
    ) -> Result<(), BackendError> {
        let len = lattice.num_images * lattice.num_voxels();
        extrapolated.expect_len(len)?;
        field.expect_len(lattice.field_len())?;
        let shape = shape_of(lattice, mask);
        let mask = &mask.unwrap_or(extrapolated).0;
        let kernel = &coupling.kernels.dual_step;
        Ok(kernel.launch(&self.stream, one_each(len), &mut field.0, &extrapolated.0, mask, &shape, scale)?)
    }

    fn primal_step(
        &mut self,
        coupling: &CudaCoupling,
        [images, extrapolated, mean, point]: [&mut CudaArray<Image>; 4],
        field: &CudaArray<Image>,
        residual: &CudaArray<Image>,
        mask: Option<&CudaArray<Image>>,
        step: PrimalStep,
    ) -> Result<PrimalSums, BackendError> {
        let lattice = &step.lattice;
        let len = lattice.num_images * lattice.num_voxels();
        [&*images, &*extrapolated, &*mean, &*point, residual].into_iter().try_for_each(|array| array.expect_len(len))?;
        field.expect_len(lattice.field_len())?;
        let shape = shape_of(lattice, mask);
        let mask = &mask.unwrap_or(residual).0;
        let numbers = StepShape {
            tau: step.tau,
            lambda: step.lambda,
            is_positive: u32::from(step.is_positive),
            extrapolation: step.extrapolation,
            weight: step.weights[0],
            next_weight: step.weights[1],
        };
        coupling.kernels.primal_step.launch(
            &self.stream,
            REDUCTION,
            &mut images.0,
            &mut extrapolated.0,
            &mut mean.0,
            &mut point.0,
            &field.0,
            &residual.0,
            mask,
            &mut self.partial,
            &shape,
            &numbers,
        )?;
        let sum = |sums: PrimalSums, [change, norm]: [f64; 2]| sums + PrimalSums { change, norm };
        Ok(self.partial::<2>()?.into_iter().fold(PrimalSums::default(), sum))
    }

    fn total_variation(
        &mut self,
        coupling: &CudaCoupling,
        images: &CudaArray<Image>,
        mask: Option<&CudaArray<Image>>,
        lattice: &Lattice,
    ) -> Result<f64, BackendError> {
        images.expect_len(lattice.num_images * lattice.num_voxels())?;
        let shape = shape_of(lattice, mask);
        let mask = &mask.unwrap_or(images).0;
        coupling.kernels.total_variation.launch(&self.stream, REDUCTION, &images.0, mask, &mut self.partial, &shape)?;
        Ok(self.partial::<1>()?.into_iter().map(|[value]| value).sum())
    }

    fn amplitudes(
        &mut self,
        coupling: &CudaCoupling,
        images: &CudaArray<Image>,
        lattice: &Lattice,
    ) -> Result<CudaArray<Image>, BackendError> {
        let (num_voxels, num_images) = (lattice.num_voxels(), lattice.num_images);
        images.expect_len(num_images * num_voxels)?;
        let mut amplitudes = self.zeros::<Image>(num_voxels)?;
        let (kernel, shape) = (&coupling.kernels.peak_to_peak, one_each(num_voxels));
        kernel.launch(&self.stream, shape, &mut amplitudes.0, &images.0, num_voxels as u32, num_images as u32)?;
        Ok(amplitudes)
    }
}
