//! The field of view of in-plane paths: the device follows them from their start, which the CPU finds.

use cudarc::driver::CudaSlice;

use super::backend::CudaBackend;
use super::error::CudaError;
use crate::algebra::FieldOfView;
use crate::geometry::Grid;

/// For each row y of an image the x that lie in the field of view, from and up to.
pub(super) fn fov_rows(backend: &CudaBackend, grid: &Grid, fov: &FieldOfView) -> Result<CudaSlice<[i32; 2]>, CudaError> {
    let rows: Vec<[i32; 2]> = (0..grid.size[1]).map(|y| [fov.row(y).start as i32, fov.row(y).end as i32]).collect();
    backend.table(&rows, [0, 0])
}
