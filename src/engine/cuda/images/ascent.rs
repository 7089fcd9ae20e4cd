//! Steps of algorithms that climb on a CUDA device (`kernels/arrays.cu`, `kernels/reductions.cu`; the definition is [`AscentKernels`] on
//! the host).

use crate::algebra::{BackendError, Image};
use crate::cuda::backend::{CudaArray, CudaBackend, REDUCTION};
use crate::cuda::kernel::one_each;
use crate::recon::AscentKernels;

impl AscentKernels for CudaBackend {
    fn scaled_difference(
        &mut self,
        out: &mut CudaArray<Image>,
        scale: f32,
        [a, b]: [&CudaArray<Image>; 2],
        c: Option<&CudaArray<Image>>,
    ) -> Result<(), BackendError> {
        let len = out.len();
        let (of_c, has_c) = (c.unwrap_or(a), u32::from(c.is_some()));
        [a, b, of_c].into_iter().try_for_each(|array| array.expect_len(len))?;
        let kernel = &self.kernels.arrays.scaled_difference;
        Ok(kernel.launch(&self.stream, one_each(len), &mut out.0, scale, &a.0, &b.0, &of_c.0, has_c, len as u64)?)
    }

    fn climb(
        &mut self,
        x: &mut CudaArray<Image>,
        floor: &CudaArray<Image>,
        step_size: f32,
        preconditioner: &CudaArray<Image>,
        direction: &mut CudaArray<Image>,
    ) -> Result<[f64; 2], BackendError> {
        let len = x.len();
        [floor, preconditioner, direction].into_iter().try_for_each(|array| array.expect_len(len))?;
        let (climb, count) = (&self.kernels.reductions.climb, len as u64);
        let (of_direction, partial) = (&direction.0, &mut self.partial);
        climb.launch(&self.stream, REDUCTION, &mut x.0, &floor.0, step_size, &preconditioner.0, of_direction, partial, count)?;
        Ok(self.partial::<2>()?.into_iter().fold([0.0; 2], |sums, part| [sums[0] + part[0], sums[1] + part[1]]))
    }

    fn raise(&mut self, x: &mut CudaArray<Image>, y: &CudaArray<Image>) -> Result<(), BackendError> {
        let len = x.len();
        y.expect_len(len)?;
        Ok(self.kernels.arrays.raise.launch(&self.stream, one_each(len), &mut x.0, &y.0, len as u64)?)
    }

    fn max_magnitude(&mut self, x: &CudaArray<Image>) -> Result<f64, BackendError> {
        Ok(f64::from(self.largest_magnitude(x, x.len())?))
    }
}
