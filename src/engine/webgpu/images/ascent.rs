//! Steps of algorithms that climb on a GPU through wgpu, of the operations on arrays; the definition is [`AscentKernels`] on the host.

use crate::algebra::{Backend as _, BackendError, Image};
use crate::recon::{AscentKernels, EmKernels as _, max_magnitude};
use crate::webgpu::array::WebGpuArray;
use crate::webgpu::backend::WebGpuBackend;

impl AscentKernels for WebGpuBackend {
    fn scaled_difference(
        &mut self,
        out: &mut WebGpuArray<Image>,
        scale: f32,
        [a, b]: [&WebGpuArray<Image>; 2],
        c: Option<&WebGpuArray<Image>>,
    ) -> Result<(), BackendError> {
        let len = out.len();
        [a, b, c.unwrap_or(a)].into_iter().try_for_each(|array| array.expect_len(len))?;
        self.fill(out, 0.0)?;
        self.add_scaled(out, 0, scale, a, 0..len)?;
        self.add_scaled(out, 0, -scale, b, 0..len)?;
        c.map_or(Ok(()), |c| self.add_scaled(out, 0, 1.0, c, 0..len))
    }

    fn climb(
        &mut self,
        x: &mut WebGpuArray<Image>,
        floor: &WebGpuArray<Image>,
        step_size: f32,
        preconditioner: &WebGpuArray<Image>,
        direction: &mut WebGpuArray<Image>,
    ) -> Result<[f64; 2], BackendError> {
        let len = x.len();
        [floor, preconditioner, direction].into_iter().try_for_each(|array| array.expect_len(len))?;
        self.multiply(direction, 0, preconditioner, 0..len)?;
        let sums = [self.dot(direction, 0, direction, 0..len)?, self.dot(x, 0, x, 0..len)?];
        self.add_scaled(x, 0, step_size, direction, 0..len)?;
        // Above the floor it stays.
        self.add_scaled(x, 0, -1.0, floor, 0..len)?;
        self.masked(direction, x, x)?;
        std::mem::swap(x, direction);
        self.add_scaled(x, 0, 1.0, floor, 0..len)?;
        Ok(sums)
    }

    fn raise(&mut self, x: &mut WebGpuArray<Image>, y: &WebGpuArray<Image>) -> Result<(), BackendError> {
        let (kernel, len) = (self.kernels.raise.clone(), x.len());
        y.expect_len(len)?;
        self.with_both(&kernel, (x, 0), (y, 0..len), 0.0)
    }

    fn max_magnitude(&mut self, x: &WebGpuArray<Image>) -> Result<f64, BackendError> {
        self.read(x, max_magnitude).map(f64::from)
    }
}
