//! Sparse linear maps between voxels on a GPU (`shaders/compute/voxel_map.wgsl`; the definition is [`VoxelMap`]).

use bytemuck::{Pod, Zeroable};

use crate::algebra::{Image, VoxelMap};
use crate::webgpu::array::{Segments, WebGpuArray};
use crate::webgpu::backend::WebGpuBackend;
use crate::webgpu::error::WebGpuError;
use crate::webgpu::kernel::{Kernel, THREADS};

/// Outputs of a thread along an axis, as in the kernel.
const OUTPUTS: usize = 4;

/// `Shape` of voxel_map.wgsl.
#[repr(C)]
#[derive(Clone, Copy, Default, Pod, Zeroable)]
struct Shape {
    nx: u32,
    ny: u32,
    nz: u32,
    z_is_fastest: u32,
    x_first: u32,
    x_len: u32,
    out_first: u32,
    out_len: u32,
    adds: u32,
    axis: u32,
    num_inputs: u32,
    width: u32,
    row_step: u32,
    column_step: u32,
    is_masked: u32,
    padding: u32,
}

/// A map with its tables on a GPU.
pub struct WebGpuVoxelMap {
    /// Values of input and output.
    lens: [usize; 2],
    kernel: Kernel,
    shape: Shape,
    num_threads: usize,
    /// Places, first inputs or terms, weights, and rows of the field of view or columns.
    tables: [wgpu::Buffer; 4],
}

impl WebGpuVoxelMap {
    pub(in crate::webgpu) fn new(backend: &mut WebGpuBackend, map: &VoxelMap) -> Result<Self, WebGpuError> {
        let lens = [map.from().len, map.to().len];
        let size = map.to().size;
        let [nx, ny, nz] = size.map(|num| num as u32);
        let mut places = map.to().along.concat();
        let shape = Shape { nx, ny, nz, z_is_fastest: u32::from(map.to().z_is_fastest()), ..Shape::default() };
        let (entry, num_threads, shape, tables) = match map {
            VoxelMap::AlongAxis(map) => {
                places.extend(map.from.along.concat());
                let [row_step, column_step] = map.band.row_steps();
                let mut threads = size;
                threads[map.axis] = threads[map.axis].div_ceil(OUTPUTS);
                let shape = Shape {
                    axis: map.axis as u32,
                    num_inputs: map.from.size[map.axis] as u32,
                    width: map.band.width as u32,
                    row_step,
                    column_step,
                    is_masked: u32::from(map.is_masked),
                    ..shape
                };
                let (first, weights) = (backend.table(&map.band.first)?, backend.table(&map.band.weights)?);
                let tables = [backend.table(&places)?, first, weights, backend.table(&map.to.fov_rows)?];
                ("along_axis", threads.iter().product(), shape, tables)
            }
            VoxelMap::InPlane(map) => {
                let (first, weights) = (backend.table(&map.first)?, backend.table(&map.weights)?);
                let tables = [backend.table(&places)?, first, weights, backend.table(&map.columns)?];
                ("in_plane", size.iter().product(), shape, tables)
            }
        };
        let kernel = backend.gpu().kernel(entry, include_str!("../../../../shaders/compute/voxel_map.wgsl"))?;
        Ok(Self { lens, kernel, shape, num_threads, tables })
    }

    pub(in crate::webgpu) fn apply(
        &self,
        backend: &mut WebGpuBackend,
        x: &WebGpuArray<Image>,
        out: &WebGpuArray<Image>,
    ) -> Result<(), WebGpuError> {
        let [from_len, to_len] = self.lens;
        x.expect_len(from_len)?;
        out.expect_len(to_len)?;
        self.record(backend, &x.0, &out.0);
        Ok(())
    }

    /// Dispatches the kernel for the outputs of each buffer and the inputs of each.
    fn record(&self, backend: &mut WebGpuBackend, x: &Segments, out: &Segments) {
        let [places, first, weights, rows] = &self.tables;
        for to in out.all() {
            for (number, from) in x.all().enumerate() {
                let shape = Shape {
                    x_first: from.places.start as u32,
                    x_len: from.places.len() as u32,
                    out_first: to.places.start as u32,
                    out_len: to.places.len() as u32,
                    adds: u32::from(number > 0),
                    ..self.shape
                };
                let buffers = [to.buffer, from.buffer, places, first, weights, rows];
                backend.commands.dispatch(&self.kernel, self.num_threads.div_ceil(THREADS), &shape, &buffers);
            }
        }
    }
}
