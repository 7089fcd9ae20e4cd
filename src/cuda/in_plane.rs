//! The in-plane paths of transaxial LORs, traced to their start on the CPU: the device only follows them.

use cudarc::driver::CudaSlice;
use rayon::prelude::*;

use super::backend::CudaBackend;
use super::error::CudaError;
use crate::algebra::FieldOfView;
use crate::geometry::Grid;
use crate::operator::{InPlanePath, Sides};
use crate::scanner::ScanGeometry;

/// The in-plane paths of LORs, each with its share of the bin's value: LOR number i has the paths `first[i] .. first[i + 1]`.
pub(super) struct InPlanePaths {
    pub paths: Vec<(InPlanePath, f32)>,
    pub first: Vec<u32>,
}

impl InPlanePaths {
    /// Makes the paths of all LORs of a scan across a field of view, `num_rays` lines for each bin, numbered
    /// view·num_tangential + tangential_pos.
    pub fn of_all(geometry: &ScanGeometry, grid: &Grid, fov: &FieldOfView, num_rays: usize) -> Self {
        let all = 0..geometry.num_transaxial();
        let lors = all.into_par_iter().map(|i| [i / geometry.num_tangential, i % geometry.num_tangential]);
        Self::new(geometry, grid, fov, num_rays, lors)
    }

    /// Those of the LORs of these views and tangential positions.
    pub fn new(
        geometry: &ScanGeometry,
        grid: &Grid,
        fov: &FieldOfView,
        num_rays: usize,
        lors: impl IndexedParallelIterator<Item = [usize; 2]>,
    ) -> Self {
        let of_lor: Vec<Vec<(InPlanePath, f32)>> = lors
            .map(|[view, tangential_pos]| {
                let rays = (0..num_rays).map(|ray| geometry.transaxial_lor(view, tangential_pos, ray, num_rays));
                rays.flat_map(|lor| {
                    let sides = Sides::new(grid, &lor);
                    let share = 1.0 / (num_rays * sides.num_paths()) as f32;
                    let path = move |k| InPlanePath::new(grid, fov, &lor, &sides, k).map(|path| (path, share));
                    (0..sides.num_paths()).filter_map(path)
                })
                .collect()
            })
            .collect();
        let mut first = Vec::with_capacity(of_lor.len() + 1);
        first.push(0);
        first.extend(of_lor.iter().scan(0u32, |sum, paths| {
            *sum += paths.len() as u32;
            Some(*sum)
        }));
        Self { paths: of_lor.concat(), first }
    }

    /// Most steps of any path: one more than the faces that it crosses.
    pub fn max_steps(&self) -> usize {
        let crossings = |path: &InPlanePath, a: usize| {
            if path.pitch[a] > 0.0 { ((path.length_mm - path.next[a]) / path.pitch[a]).max(0.0).ceil() as usize + 1 } else { 0 }
        };
        self.paths.iter().map(|(path, _)| crossings(path, 0) + crossings(path, 1) + 1).max().unwrap_or(1)
    }
}

/// For each row y of an image the x that lie in the field of view, from and up to.
pub(super) fn fov_rows(backend: &CudaBackend, grid: &Grid, fov: &FieldOfView) -> Result<CudaSlice<[i32; 2]>, CudaError> {
    let rows: Vec<[i32; 2]> = (0..grid.size[1]).map(|y| [fov.row(y).start as i32, fov.row(y).end as i32]).collect();
    backend.table(&rows, [0, 0])
}
