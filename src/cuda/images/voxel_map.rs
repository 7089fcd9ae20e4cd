//! Sparse linear maps between voxels on a CUDA device (`kernels/voxel_map.cu`; the definition is [`VoxelMap`]).

use std::sync::Arc;

use cudarc::driver::{CudaSlice, CudaStream, LaunchConfig};

use crate::algebra::{AlongAxis, Varies, VoxelMap, VoxelPlaces};
use crate::cuda::device::driver::table;
use crate::cuda::error::CudaError;
use crate::cuda::kernel::{BLOCK, blocks, one_each};
use crate::cuda::launches::voxel_map::{AlongShape, InPlaneShape, Kernels, UniformShape};

/// Outputs of a thread along an axis, as in the kernel.
const OUTPUTS: usize = 4;

/// Weights of a uniform map at most, as in the kernel.
const MAX_WIDTH: usize = 17;

/// A map with its tables on a device.
pub struct CudaVoxelMap {
    /// Values of input and output.
    lens: [usize; 2],
    table: Table,
}

enum Table {
    Uniform {
        shape: UniformShape,
        fov_rows: CudaSlice<[u32; 2]>,
    },
    AlongAxis {
        shape: AlongShape,
        num_threads: usize,
        from: CudaSlice<u32>,
        to: CudaSlice<u32>,
        fov_rows: CudaSlice<[u32; 2]>,
        first: CudaSlice<i32>,
        weights: CudaSlice<f32>,
    },
    InPlane {
        shape: InPlaneShape,
        places: CudaSlice<u32>,
        first: CudaSlice<u32>,
        columns: CudaSlice<u32>,
        weights: CudaSlice<f32>,
    },
}

/// Returns the numbers of a map with the same weights everywhere, within arrays of one order; `None` if it is none, or is too wide.
fn uniform(map: &AlongAxis) -> Option<UniformShape> {
    let AlongAxis { axis, from, to, band, is_masked } = map;
    let [nx, ny, nz] = to.size.map(|num| num as u32);
    if band.varies != Varies::Nowhere || band.width > MAX_WIDTH || from != to || nx < 2 || ny < 2 {
        return None;
    }
    let stride = |axis: usize| to.along[axis].get(1).map_or(1, |second| second - to.along[axis][0]);
    // (Values within a column have any order: but along the axis itself it does not matter.)
    let is_even = |axis: usize| to.along[axis].windows(2).all(|pair| pair[1] - pair[0] == stride(axis));
    // The axes with their numbers and strides: the one of the map, the one whose neighbours lie next to each other or next to that, the
    // third; and which of them are x and y.
    let [across, row] = [stride(0), stride(1)];
    let ([num, num_others, num_thirds], [step, other_step, third_step], [x_is, y_is], groups_are_first) = match (to.order?, axis)
    {
        ([1, 0, 2], 0) => ([nx, across, ny], [across, 1, row], [0, 2], 0),
        ([1, 0, 2], 1) => ([ny, across, nx], [row, 1, across], [2, 0], 0),
        ([1, 0, 2], 2) if is_even(2) && to.along[2][0] == 0 => ([nz, nx, ny], [stride(2), across, row], [1, 2], 1),
        ([2, 1, 0], 0) => ([nx, ny, nz], [1, nx, nx * ny], [0, 1], 1),
        ([2, 1, 0], 1) => ([ny, nx, nz], [nx, 1, nx * ny], [1, 0], 0),
        ([2, 1, 0], 2) => ([nz, nx, ny], [nx * ny, 1, nx], [1, 2], 0),
        _ => return None,
    };
    let mut weights = [0.0; MAX_WIDTH];
    weights[..band.width].copy_from_slice(&band.weights);
    Some(UniformShape {
        num,
        num_groups: num.div_ceil(OUTPUTS as u32),
        num_others,
        num_thirds,
        stride: step,
        other_stride: other_step,
        third_stride: third_step,
        width: band.width as u32,
        groups_are_first,
        x_is,
        y_is,
        is_masked: u32::from(*is_masked),
        weights,
    })
}

fn parts(places: &VoxelPlaces) -> Vec<u32> {
    places.along.concat()
}

impl CudaVoxelMap {
    pub(in crate::cuda) fn new(stream: &Arc<CudaStream>, map: &VoxelMap) -> Result<Self, CudaError> {
        let lens = [map.from().len, map.to().len];
        let [nx, ny, nz] = map.to().size.map(|num| num as u32);
        let z_is_fastest = u32::from(map.to().z_is_fastest());
        let uniform = if let VoxelMap::AlongAxis(map) = map { uniform(map) } else { None };
        let tables = match (map, uniform) {
            (_, Some(shape)) => Table::Uniform { shape, fov_rows: table(stream, &map.to().fov_rows, [0, 0])? },
            (VoxelMap::AlongAxis(map), None) => {
                let [row_step, column_step] = map.band.row_steps();
                let mut threads = map.to.size;
                threads[map.axis] = threads[map.axis].div_ceil(OUTPUTS);
                Table::AlongAxis {
                    shape: AlongShape {
                        nx,
                        ny,
                        nz,
                        axis: map.axis as u32,
                        num_inputs: map.from.size[map.axis] as u32,
                        width: map.band.width as u32,
                        row_step,
                        column_step,
                        z_is_fastest,
                        is_masked: u32::from(map.is_masked),
                    },
                    num_threads: threads.iter().product(),
                    from: table(stream, &parts(&map.from), 0)?,
                    to: table(stream, &parts(&map.to), 0)?,
                    fov_rows: table(stream, &map.to.fov_rows, [0, 0])?,
                    first: table(stream, &map.band.first, 0)?,
                    weights: table(stream, &map.band.weights, 0.0)?,
                }
            }
            (VoxelMap::InPlane(map), None) => Table::InPlane {
                shape: InPlaneShape { nx, ny, nz, z_is_fastest },
                places: table(stream, &parts(&map.places), 0)?,
                first: table(stream, &map.first, 0)?,
                columns: table(stream, &map.columns, 0)?,
                weights: table(stream, &map.weights, 0.0)?,
            },
        };
        Ok(Self { lens, table: tables })
    }

    /// Returns the numbers of values of input and output.
    pub(in crate::cuda) fn lens(&self) -> [usize; 2] {
        self.lens
    }

    /// `out` = the map of x, arrays of these lengths.
    pub(in crate::cuda) fn apply(
        &self,
        stream: &CudaStream,
        kernels: &Kernels,
        x: &CudaSlice<f32>,
        out: &mut CudaSlice<f32>,
    ) -> Result<(), CudaError> {
        match &self.table {
            Table::Uniform { shape, fov_rows } => {
                let shape_of_launch = LaunchConfig {
                    grid_dim: (blocks((shape.num_groups * shape.num_others) as usize, BLOCK), shape.num_thirds, 1),
                    block_dim: (BLOCK, 1, 1),
                    shared_mem_bytes: 0,
                };
                kernels.along_axis_uniform.launch(stream, shape_of_launch, out, x, fov_rows, shape)
            }
            Table::AlongAxis { shape, num_threads, from, to, fov_rows, first, weights } => kernels.along_axis.launch(
                stream,
                one_each(*num_threads),
                out,
                x,
                from,
                to,
                fov_rows,
                first,
                weights,
                shape,
                *num_threads as u32,
            ),
            Table::InPlane { shape, places, first, columns, weights } => {
                let num = (shape.nx * shape.ny * shape.nz) as usize;
                kernels.in_plane.launch(stream, one_each(num), out, x, places, first, columns, weights, shape, num as u32)
            }
        }
    }
}
