//! Total variation on a GPU (`shaders/compute/variation.wgsl`; the definition is [`TotalVariationKernels`] on the host).

use bytemuck::{Pod, Zeroable};

use super::convolution::WebGpuConvolution;
use crate::algebra::{BackendError, Image};
use crate::operator::KernelSpectrum;
use crate::recon::{Lattice, PrimalStep, PrimalSums, TotalVariationKernels};
use crate::webgpu::array::WebGpuArray;
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
}

impl Numbers {
    fn of(lattice: &Lattice, mask: Option<&WebGpuArray<Image>>) -> Self {
        Self {
            size: lattice.size.map(|num| num as u32),
            num_axes: lattice.num_axes() as u32,
            num_images: lattice.num_images as u32,
            has_mask: u32::from(mask.is_some()),
            weights: lattice.weights,
            ..Self::default()
        }
    }
}

/// A convolution of images, and the kernels of the steps.
pub struct WebGpuCoupling {
    convolution: WebGpuConvolution,
    dual_step: Kernel,
    primal_step: Kernel,
    total_variation: Kernel,
}

impl TotalVariationKernels for WebGpuBackend {
    type Coupling = WebGpuCoupling;

    fn coupling(&mut self, spectrum: KernelSpectrum<f32>) -> Result<WebGpuCoupling, BackendError> {
        let gpu = self.gpu().clone();
        let kernel = |entry| gpu.kernel(entry, include_str!("../../../shaders/compute/variation.wgsl"));
        Ok(WebGpuCoupling {
            convolution: WebGpuConvolution::new(self, &spectrum)?,
            dual_step: kernel("dual_step")?,
            primal_step: kernel("primal_step")?,
            total_variation: kernel("total_variation")?,
        })
    }

    fn convolve(
        &mut self,
        coupling: &mut WebGpuCoupling,
        images: &WebGpuArray<Image>,
        result: &mut WebGpuArray<Image>,
    ) -> Result<(), BackendError> {
        Ok(coupling.convolution.apply(self, images, result)?)
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
        field.expect_len(lattice.num_axes() * len)?;
        let numbers = Numbers { scale, ..Numbers::of(lattice, mask) };
        let buffers = [field.0.whole()?, extrapolated.0.whole()?, mask.unwrap_or(extrapolated).0.whole()?];
        self.commands.dispatch(&coupling.dual_step, len.div_ceil(THREADS), &numbers, &buffers);
        Ok(())
    }

    fn primal_step(
        &mut self,
        coupling: &WebGpuCoupling,
        [images, extrapolated]: [&mut WebGpuArray<Image>; 2],
        field: &WebGpuArray<Image>,
        [of_model, of_data]: [&WebGpuArray<Image>; 2],
        mask: Option<&WebGpuArray<Image>>,
        step: PrimalStep,
    ) -> Result<PrimalSums, BackendError> {
        let PrimalStep { ref lattice, tau, lambda, is_positive } = step;
        let len = lattice.num_images * lattice.num_voxels();
        [&*images, &*extrapolated, of_model, of_data].into_iter().try_for_each(|array| array.expect_len(len))?;
        field.expect_len(lattice.num_axes() * len)?;
        let numbers = Numbers { tau, lambda, is_positive: u32::from(is_positive), ..Numbers::of(lattice, mask) };
        let [field, mask] = [field.0.whole()?, mask.unwrap_or(of_data).0.whole()?];
        let [u, extrapolated] = [images.0.whole()?, extrapolated.0.whole()?];
        let [of_model, of_data] = [of_model.0.whole()?, of_data.0.whole()?];
        let sums = self.reduce::<4>(&[len], |commands, _, num_groups, partial| {
            let buffers = [partial, field, mask, u, extrapolated, of_model, of_data];
            commands.dispatch(&coupling.primal_step, num_groups, &numbers, &buffers);
        })?;
        let sum = |sums: PrimalSums, of_group: [f32; 4]| {
            let [change, norm, with_model, with_data] = of_group.map(f64::from);
            sums + PrimalSums { change, norm, with_model, with_data }
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
}
