//! Sparse linear maps between voxels on a CUDA device (`kernels/voxel_map.cu`; the definition is [`VoxelMap`]).

use std::sync::Arc;

use cudarc::driver::{CudaSlice, CudaStream, LaunchConfig};

use crate::algebra::{AlongAxis, Varies, VoxelMap, VoxelPlaces};
use crate::cuda::device::driver::table;
use crate::cuda::error::CudaError;
use crate::cuda::kernel::{BLOCK, blocks, one_each};
use crate::cuda::launches::voxel_map::{AlongShape, ColumnsShape, InPlaneShape, Kernels, UniformShape};

/// Outputs of a thread along an axis, as in the kernel.
const OUTPUTS: usize = 4;

/// Weights of a uniform map at most, as in the kernel.
const MAX_WIDTH: usize = 17;

/// Outputs of a thread along x or y, of maps of columns, as in the kernel; its threads of a block, which have four places each; its
/// weights along an axis at most.
const COLUMNS: u32 = 4;
const THREADS: u32 = 256;
const MAX_COLUMNS_WIDTH: usize = 9;

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
    Columns {
        shape: ColumnsShape,
        is_along_y: bool,
        z_of: CudaSlice<i32>,
        places: CudaSlice<u32>,
        fov_rows: CudaSlice<[u32; 2]>,
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

/// Returns the numbers of maps along different axes of images in columns, as one along x and z, and one along y;
/// `None` if one of them does not have the same weights everywhere about each output, or images are in another order.
fn of_columns(maps: &[VoxelMap]) -> Option<Vec<(ColumnsShape, bool)>> {
    let places = maps.first()?.from();
    let [nx, ny, nz] = places.size.map(|num| num as u32);
    let column_len = places.along[0].get(1).copied().unwrap_or(0);
    if !places.z_is_fastest() || column_len == 0 || column_len % 4 != 0 || column_len > 4 * THREADS {
        return None;
    }
    let mut weights: [Option<[f32; MAX_COLUMNS_WIDTH]>; 3] = [None; 3];
    let mut width = 1;
    for map in maps {
        let VoxelMap::AlongAxis(AlongAxis { axis, from, to, band, .. }) = map else { return None };
        let is_about_each = band.first.first() == Some(&-((band.width / 2) as i32)) && band.width % 2 == 1;
        if from != to || band.varies != Varies::Nowhere || band.width > MAX_COLUMNS_WIDTH || !is_about_each {
            return None;
        }
        let mut row = [0.0; MAX_COLUMNS_WIDTH];
        let start = MAX_COLUMNS_WIDTH / 2 - band.width / 2;
        row[start..start + band.width].copy_from_slice(&band.weights);
        if weights[*axis].replace(row).is_some() {
            return None;
        }
        width = width.max(band.width as u32);
    }
    let mut alone = [0.0; MAX_COLUMNS_WIDTH];
    alone[MAX_COLUMNS_WIDTH / 2] = 1.0;
    let shape = |weights, z_weights, [is_first, is_last]: [bool; 2]| ColumnsShape {
        nx,
        ny,
        nz,
        column_len,
        array_len: places.len as u32,
        width,
        is_first: u32::from(is_first),
        is_last: u32::from(is_last),
        weights,
        z_weights,
    };
    let [x, y, z] = weights;
    let has_x_or_z = x.is_some() || z.is_some();
    let x_and_z = has_x_or_z.then(|| (shape(x.unwrap_or(alone), z.unwrap_or(alone), [true, y.is_none()]), false));
    Some(x_and_z.into_iter().chain(y.map(|y| (shape(y, alone, [!has_x_or_z, true]), true))).collect())
}

/// Returns the z of each place of a column, −1 of a place that has none.
fn z_of(places: &VoxelPlaces, column_len: usize) -> Vec<i32> {
    let mut z_of = vec![-1; column_len];
    places.along[2].iter().zip(0..).for_each(|(place, z)| z_of[*place as usize] = z);
    z_of
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

    /// Maps that are applied one after the other, as fewer; `None` where there are no kernels for that.
    pub(in crate::cuda) fn joined(stream: &Arc<CudaStream>, maps: &[VoxelMap]) -> Result<Option<Vec<Self>>, CudaError> {
        let (Some(shapes), Some(first)) = (of_columns(maps), maps.first()) else { return Ok(None) };
        let places = first.from();
        let on_device = |(shape, is_along_y): (ColumnsShape, bool)| {
            let table = Table::Columns {
                is_along_y,
                z_of: table(stream, &z_of(places, shape.column_len as usize), 0)?,
                places: table(stream, &places.along[2], 0)?,
                fov_rows: table(stream, &places.fov_rows, [0, 0])?,
                shape,
            };
            Ok(Self { lens: [places.len; 2], table })
        };
        shapes.into_iter().map(on_device).collect::<Result<_, _>>().map(Some)
    }

    /// Returns true if values of the output that are no voxels become 0.
    pub(in crate::cuda) fn fills(&self) -> bool {
        matches!(self.table, Table::Columns { .. })
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
            Table::Columns { shape, is_along_y, z_of, places, fov_rows } => {
                let ColumnsShape { nx, ny, column_len, .. } = *shape;
                if *is_along_y {
                    let shape_of_launch = LaunchConfig {
                        grid_dim: (blocks((nx * column_len / 4) as usize, THREADS), ny.div_ceil(COLUMNS), 1),
                        block_dim: (THREADS, 1, 1),
                        shared_mem_bytes: 0,
                    };
                    return kernels.along_y.launch(stream, shape_of_launch, out, x, z_of, fov_rows, shape);
                }
                let rows = (4 * THREADS / column_len).max(1);
                let shape_of_launch = LaunchConfig {
                    grid_dim: (nx.div_ceil(COLUMNS), ny.div_ceil(rows), 1),
                    block_dim: (column_len / 4, rows, 1),
                    // (Sums along x, with zeros behind each column.)
                    shared_mem_bytes: size_of::<f32>() as u32 * rows * COLUMNS * (column_len + 4),
                };
                kernels.along_x_and_z.launch(stream, shape_of_launch, out, x, z_of, places, fov_rows, shape)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algebra::{Band, Columns, FieldOfView, Voxels};
    use crate::geometry::Grid;

    fn map(places: &Arc<VoxelPlaces>, axis: usize, weights: &[f32]) -> VoxelMap {
        let band = Band::around(weights, places.size[axis]);
        VoxelMap::AlongAxis(AlongAxis { axis, from: Arc::clone(places), to: Arc::clone(places), band, is_masked: false })
    }

    #[test]
    fn maps_of_columns_are_joined_and_others_are_not() {
        let grid = Grid::centred([6, 5, 7], [2.0; 3]).unwrap();
        let fov = FieldOfView::new(&grid, 4.6);
        let columns = Columns { classes: 2, lanes: 8, first: 1, tail: 5 };
        let places = Arc::new(Voxels::in_columns(grid.clone(), fov.clone(), columns).places());
        let (narrow, wide) = ([0.25, 0.5, 0.25], [0.1, 0.1, 0.1, 0.4, 0.1, 0.1, 0.1]);
        let along = |axis, weights: &[f32]| map(&places, axis, weights);
        let shapes = of_columns(&[along(2, &narrow), along(0, &narrow), along(1, &wide)]).unwrap();
        let [(x_and_z, false), (y, true)] = shapes[..] else { panic!("{shapes:?}") };
        assert_eq!((x_and_z.column_len, x_and_z.width, x_and_z.is_last, y.is_last), (16, 7, 0, 1));
        assert_eq!([&x_and_z.weights[3..6], &x_and_z.z_weights[3..6], &y.weights[1..8]], [&narrow[..], &narrow, &wide]);
        // Along z alone nothing is done along x.
        let shapes = of_columns(&[along(2, &narrow)]).unwrap();
        assert_eq!((shapes.len(), shapes[0].0.weights[4], shapes[0].0.weights.iter().sum::<f32>()), (1, 1.0, 1.0));
        assert_eq!(z_of(&places, 16), [-1, 0, 2, 4, 6, -1, -1, -1, -1, 1, 3, 5, -1, -1, -1, -1]);
        let [(y, true)] = of_columns(&[along(1, &wide)]).unwrap()[..] else { panic!("along y alone") };
        assert_eq!((y.is_first, y.is_last, x_and_z.is_first), (1, 1, 1));
        // Twice along an axis, a width without a kernel, another order.
        assert!(of_columns(&[along(2, &narrow), along(2, &narrow)]).is_none());
        assert!(of_columns(&[along(2, &narrow), along(0, &[1.0 / 11.0; 11])]).is_none());
        let volume = Arc::new(Voxels::new(grid, fov).places());
        assert!(of_columns(&[map(&volume, 2, &narrow), map(&volume, 0, &narrow)]).is_none());
    }
}
