//! Voxels outside the field of view, which a path in f32 can touch by its rounding: their values become 0.

use crate::algebra::{FieldOfView, Image};
use crate::geometry::Grid;
use crate::webgpu::array::{Segment, WebGpuArray};
use crate::webgpu::backend::{Span, WebGpuBackend};
use crate::webgpu::error::WebGpuError;
use crate::webgpu::kernel::Kernel;

/// The places of images outside a field of view.
pub(in crate::webgpu) struct Unseen {
    /// For each row y the places inside, from and up to.
    rows: wgpu::Buffer,
    /// Places of a row, and number of rows.
    size: [usize; 2],
    kernel: Kernel,
}

impl Unseen {
    /// Brings a field of view to the device. Neighbours along x lie `x_step` places apart: 1 in images `[z, y, x]`, their size along
    /// z in images `[y][x][z]`.
    pub fn new(backend: &mut WebGpuBackend, grid: &Grid, fov: &FieldOfView, x_step: usize) -> Result<Self, WebGpuError> {
        let [nx, ny, _] = grid.size;
        let rows: Vec<[u32; 2]> = (0..ny).map(|y| [fov.row(y).start, fov.row(y).end].map(|x| (x * x_step) as u32)).collect();
        let kernel = backend.gpu().kernel("zero_unseen", include_str!("../../../../shaders/compute/arrays.wgsl"))?;
        Ok(Self { rows: backend.table(&rows)?, size: [nx * x_step, ny], kernel })
    }

    /// Sets an image to 0 outside the field of view.
    pub fn clear(&self, backend: &mut WebGpuBackend, image: &WebGpuArray<Image>) {
        let [row_len, num_rows] = self.size;
        for Segment { buffer, places } in image.0.all() {
            let (first, len) = (places.start as u32, places.len() as u32);
            let span = Span { x_at: first, y_at: row_len as u32, len, value: num_rows as f32 };
            backend.dispatch_each(&self.kernel, span, &[buffer, &self.rows]);
        }
    }
}
