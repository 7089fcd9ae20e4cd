//! Fits of relaxation rates on a CUDA device (`kernels/oximetry.cu`; the definition is [`RateFitter::fit`]).

use rayon::prelude::*;

use crate::algebra::Backend as _;
use crate::cuda::backend::CudaBackend;
use crate::cuda::device::driver::{copied, tables, zeros};
use crate::cuda::error::CudaError;
use crate::cuda::kernel::one_each;
use crate::cuda::launches::oximetry::{FitShape, Kernels};
use crate::data::RelaxationRate;
use crate::measure::NoFit;
use crate::measure::oximetry::{FitLimits, FitsOnThreads, OximetryError, RateFit, RateFitter, VoxelFit, VoxelFits};
use crate::task::Task;

/// Largest number of times, as in the kernel; the processor fits longer series.
const MAX_TIMES: usize = 32;

/// Values of a voxel's fit.
const NUM_VALUES: usize = 5;

/// A CUDA device that fits relaxation rates in f64. Their values are rounded to f32.
pub struct CudaVoxelFits {
    backend: CudaBackend,
    kernels: Kernels,
}

impl CudaVoxelFits {
    /// Loads the kernel.
    ///
    /// # Errors
    /// Device failure.
    pub fn new(backend: CudaBackend) -> Result<Self, CudaError> {
        let kernels = Kernels::load(&backend.context)?;
        Ok(Self { backend, kernels })
    }

    /// Returns the values of all voxels, one kind behind the other.
    fn values(&self, fitter: &RateFitter, images: &[&[f32]], is_masked: &[bool]) -> Result<Vec<f32>, CudaError> {
        let Self { backend, kernels } = self;
        let (rates, curves) = fitter.dictionary();
        let FitLimits { max_steps, max_halvings, step_tolerance, rounding, max_factor } = FitLimits::ALL;
        let shape = FitShape {
            num_voxels: is_masked.len() as u32,
            num_times: images.len() as u32,
            num_entries: rates.len() as u32,
            has_constant: u32::from(fitter.rate() == RelaxationRate::R1),
            max_steps: max_steps as u32,
            max_halvings: max_halvings as u32,
            step_tolerance,
            rounding,
            max_factor,
        };
        let mut fits = zeros(&backend.stream, NUM_VALUES * is_masked.len())?;
        let images = tables(&backend.stream, images)?;
        let is_masked = backend.table(bytemuck::cast_slice::<bool, u8>(is_masked), 0)?;
        let [times, rates, curves] = [fitter.times_us(), rates, curves].map(|table| backend.table(table, 0.0));
        let config = one_each(shape.num_voxels as usize);
        kernels.fit_rates.launch(&backend.stream, config, &mut fits, &images, &is_masked, &times?, &rates?, &curves?, &shape)?;
        copied(&backend.stream, "copy rates from the device", &fits)
    }
}

/// Returns the fit by the kernel's values of a voxel, which is not masked.
fn fit_of([rate, amplitude, inversion, residual, information]: [f32; NUM_VALUES], rate_kind: RelaxationRate) -> VoxelFit {
    // In place of the rate: reasons, as in the kernel.
    match rate {
        -1.0 => Err(Some(NoFit::NotFinite)),
        -2.0 => Err(Some(NoFit::OutOfRange)),
        -3.0 => Err(Some(NoFit::NotConverged)),
        _ => Ok(RateFit {
            rate_per_us: rate.into(),
            amplitude: amplitude.into(),
            inversion: (rate_kind == RelaxationRate::R1).then_some(inversion.into()),
            residual: f64::from(residual).powi(2),
            information: f64::from(information).powi(2),
        }),
    }
}

impl VoxelFits for CudaVoxelFits {
    fn device(&self) -> String {
        self.backend.name()
    }

    fn fit(
        &mut self,
        fitter: &RateFitter,
        images: &[&[f32]],
        is_masked: &[bool],
        task: &Task,
    ) -> Result<Vec<VoxelFit>, OximetryError> {
        if fitter.times_us().len() > MAX_TIMES {
            return FitsOnThreads.fit(fitter, images, is_masked, task);
        }
        fitter.check_num_images(images.len())?;
        let num = is_masked.len();
        if let Some(image) = images.iter().find(|image| image.len() != num) {
            return Err(CudaError::Length { expected: num, found: image.len() }.into());
        }
        task.begin(num as u64);
        task.check()?;
        let values = self.values(fitter, images, is_masked)?;
        let fit = |(voxel, is_masked): (usize, &bool)| match is_masked {
            true => Err(None),
            false => fit_of(std::array::from_fn(|kind| values[kind * num + voxel]), fitter.rate()),
        };
        let fits = is_masked.par_iter().enumerate().map(fit).collect();
        task.advance(num as u64);
        Ok(fits)
    }
}
