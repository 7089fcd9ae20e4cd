//! Sparse linear maps between voxels on a CUDA device (`kernels/voxel_map.cu`; the definition is [`VoxelMap`]).

use cudarc::driver::CudaSlice;

use super::backend::{CudaArray, CudaBackend};
use super::error::CudaError;
use super::kernel::one_each;
use super::launches::voxel_map::{AlongShape, InPlaneShape};
use crate::algebra::{Image, VoxelMap, VoxelPlaces};

/// Outputs of a thread along an axis, as in the kernel.
const OUTPUTS: usize = 4;

/// A map with its tables on a device.
pub struct CudaVoxelMap {
    /// Values of input and output.
    lens: [usize; 2],
    table: Table,
}

enum Table {
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

fn parts(places: &VoxelPlaces) -> Vec<u32> {
    places.along.concat()
}

impl CudaVoxelMap {
    pub(super) fn new(backend: &CudaBackend, map: &VoxelMap) -> Result<Self, CudaError> {
        let lens = [map.from().len, map.to().len];
        let [nx, ny, nz] = map.to().size.map(|num| num as u32);
        let z_is_fastest = u32::from(map.to().z_is_fastest());
        let table = match map {
            VoxelMap::AlongAxis(map) => {
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
                    from: backend.table(&parts(&map.from), 0)?,
                    to: backend.table(&parts(&map.to), 0)?,
                    fov_rows: backend.table(&map.to.fov_rows, [0, 0])?,
                    first: backend.table(&map.band.first, 0)?,
                    weights: backend.table(&map.band.weights, 0.0)?,
                }
            }
            VoxelMap::InPlane(map) => Table::InPlane {
                shape: InPlaneShape { nx, ny, nz, z_is_fastest },
                places: backend.table(&parts(&map.places), 0)?,
                first: backend.table(&map.first, 0)?,
                columns: backend.table(&map.columns, 0)?,
                weights: backend.table(&map.weights, 0.0)?,
            },
        };
        Ok(Self { lens, table })
    }

    pub(super) fn apply(&self, backend: &CudaBackend, x: &CudaArray<Image>, out: &mut CudaArray<Image>) -> Result<(), CudaError> {
        let [from_len, to_len] = self.lens;
        x.expect_len(from_len)?;
        out.expect_len(to_len)?;
        let (kernels, stream) = (&backend.kernels.voxel_map, &backend.stream);
        match &self.table {
            Table::AlongAxis { shape, num_threads, from, to, fov_rows, first, weights } => kernels.along_axis.launch(
                stream,
                one_each(*num_threads),
                &mut out.0,
                &x.0,
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
                kernels.in_plane.launch(
                    stream,
                    one_each(num),
                    &mut out.0,
                    &x.0,
                    places,
                    first,
                    columns,
                    weights,
                    shape,
                    num as u32,
                )
            }
        }
    }
}
