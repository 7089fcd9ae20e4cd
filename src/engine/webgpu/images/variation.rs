//! Total variation on a GPU (`shaders/compute/variation.wgsl`; the definition is [`TotalVariationKernels`] on the host).

use bytemuck::{Pod, Zeroable};

use super::convolution::WebGpuConvolution;
use super::spectral_convolution::WebGpuSpectralConvolution;
use crate::algebra::{Backend as _, BackendError, Image};
use crate::operator::{KernelSpectrum, SpectralKernels};
use crate::recon::{Lattice, PrimalStep, PrimalSums, TotalVariationKernels};
use crate::webgpu::array::{Segments, WebGpuArray};
use crate::webgpu::backend::WebGpuBackend;
use crate::webgpu::kernel::{Kernel, THREADS};

/// `Variation` of variation.wgsl.
#[repr(C)]
#[derive(Clone, Copy, Default, Pod, Zeroable)]
struct Numbers {
    size: [u32; 3],
    num_axes: u32,
    num_images: u32,
    has_mask: u32,
    weights: [f32; 3],
    scale: f32,
    tau: f32,
    lambda: f32,
    is_positive: u32,
    spectral_weight: f32,
    extrapolation: f32,
    weights_of_images: [f32; 2],
}

impl Numbers {
    fn of(lattice: &Lattice, mask: Option<&WebGpuArray<Image>>) -> Self {
        Self {
            size: lattice.size.map(|num| num as u32),
            num_axes: lattice.num_axes() as u32,
            num_images: lattice.num_images as u32,
            has_mask: u32::from(mask.is_some()),
            weights: lattice.weights,
            spectral_weight: lattice.spectral_weight,
            ..Self::default()
        }
    }
}

/// A convolution of images, and the kernels of the steps.
pub struct WebGpuCoupling {
    convolution: Coupled,
    dual_step: Kernel,
    primal_step: Kernel,
    total_variation: Kernel,
    peak_to_peak: Kernel,
}

/// Images that are convolved.
enum Coupled {
    /// Images of radicals.
    Images(Box<WebGpuConvolution>),
    /// A spectral-spatial image.
    Spectra(Box<WebGpuSpectralConvolution>),
}

impl WebGpuCoupling {
    fn new(backend: &WebGpuBackend, convolution: Coupled) -> Result<Self, BackendError> {
        let kernel = |entry| backend.gpu().kernel(entry, include_str!("../../../../shaders/compute/variation.wgsl"));
        Ok(Self {
            convolution,
            dual_step: kernel("dual_step")?,
            primal_step: kernel("primal_step")?,
            total_variation: kernel("total_variation")?,
            peak_to_peak: kernel("peak_to_peak")?,
        })
    }
}

impl TotalVariationKernels for WebGpuBackend {
    type Coupling = WebGpuCoupling;

    fn check_field(&self, lattice: &Lattice) -> Result<(), BackendError> {
        Ok(Segments::check_whole(self.gpu(), lattice.field_len())?)
    }

    fn coupling(&mut self, spectrum: KernelSpectrum<f32>) -> Result<WebGpuCoupling, BackendError> {
        let convolution = Coupled::Images(Box::new(WebGpuConvolution::new(self, &spectrum)?));
        WebGpuCoupling::new(self, convolution)
    }

    fn spectral_coupling(&mut self, kernels: &SpectralKernels<f32>) -> Result<WebGpuCoupling, BackendError> {
        let convolution = Coupled::Spectra(Box::new(WebGpuSpectralConvolution::new(self, kernels)?));
        WebGpuCoupling::new(self, convolution)
    }

    fn convolve(
        &mut self,
        coupling: &mut WebGpuCoupling,
        images: &WebGpuArray<Image>,
        result: &mut WebGpuArray<Image>,
    ) -> Result<(), BackendError> {
        match &coupling.convolution {
            Coupled::Images(convolution) => convolution.apply(self, images, result)?,
            Coupled::Spectra(convolution) => convolution.apply(self, images, result)?,
        }
        Ok(())
    }

    fn dual_step(
        &mut self,
        coupling: &WebGpuCoupling,
        field: &mut WebGpuArray<Image>,
        extrapolated: &WebGpuArray<Image>,
        mask: Option<&WebGpuArray<Image>>,
        lattice: &Lattice,
        scale: f32,
    ) -> Result<(), BackendError> {
        let len = lattice.num_images * lattice.num_voxels();
        extrapolated.expect_len(len)?;
        field.expect_len(lattice.field_len())?;
        let numbers = Numbers { scale, ..Numbers::of(lattice, mask) };
        let buffers = [field.0.whole()?, extrapolated.0.whole()?, mask.unwrap_or(extrapolated).0.whole()?];
        self.commands.dispatch(&coupling.dual_step, len.div_ceil(THREADS), &numbers, &buffers);
        Ok(())
    }

    fn primal_step(
        &mut self,
        coupling: &WebGpuCoupling,
        images: [&mut WebGpuArray<Image>; 4],
        field: &WebGpuArray<Image>,
        residual: &WebGpuArray<Image>,
        mask: Option<&WebGpuArray<Image>>,
        step: PrimalStep,
    ) -> Result<PrimalSums, BackendError> {
        let PrimalStep { ref lattice, tau, lambda, is_positive, extrapolation, weights: weights_of_images } = step;
        let len = lattice.num_images * lattice.num_voxels();
        images.iter().map(|image| &**image).chain([residual]).try_for_each(|array| array.expect_len(len))?;
        field.expect_len(lattice.field_len())?;
        let is_positive = u32::from(is_positive);
        let numbers = Numbers { tau, lambda, is_positive, extrapolation, weights_of_images, ..Numbers::of(lattice, mask) };
        let [field, mask, residual] = [field.0.whole()?, mask.unwrap_or(residual).0.whole()?, residual.0.whole()?];
        let [u, extrapolated, mean, point] = images;
        let [u, extrapolated, mean, point] = [u.0.whole()?, extrapolated.0.whole()?, mean.0.whole()?, point.0.whole()?];
        let sums = self.reduce::<2>(&[len], |commands, _, num_groups, partial| {
            let buffers = [partial, field, mask, u, extrapolated, mean, point, residual];
            commands.dispatch(&coupling.primal_step, num_groups, &numbers, &buffers);
        })?;
        let sum = |sums: PrimalSums, of_group: [f32; 2]| {
            let [change, norm] = of_group.map(f64::from);
            sums + PrimalSums { change, norm }
        };
        Ok(sums.into_iter().fold(PrimalSums::default(), sum))
    }

    fn total_variation(
        &mut self,
        coupling: &WebGpuCoupling,
        images: &WebGpuArray<Image>,
        mask: Option<&WebGpuArray<Image>>,
        lattice: &Lattice,
    ) -> Result<f64, BackendError> {
        let len = lattice.num_images * lattice.num_voxels();
        images.expect_len(len)?;
        let numbers = Numbers::of(lattice, mask);
        let [values, mask] = [images.0.whole()?, mask.unwrap_or(images).0.whole()?];
        let sums = self.reduce::<1>(&[len], |commands, _, num_groups, partial| {
            commands.dispatch(&coupling.total_variation, num_groups, &numbers, &[partial, values, mask]);
        })?;
        Ok(sums.into_iter().map(|[sum]| f64::from(sum)).sum())
    }
    fn amplitudes(
        &mut self,
        coupling: &WebGpuCoupling,
        images: &WebGpuArray<Image>,
        lattice: &Lattice,
    ) -> Result<WebGpuArray<Image>, BackendError> {
        let num_voxels = lattice.num_voxels();
        images.expect_len(lattice.num_images * num_voxels)?;
        let amplitudes = self.zeros::<Image>(num_voxels)?;
        let buffers = [amplitudes.0.whole()?, images.0.whole()?];
        self.commands.dispatch(&coupling.peak_to_peak, num_voxels.div_ceil(THREADS), &Numbers::of(lattice, None), &buffers);
        Ok(amplitudes)
    }
}
