//! The fast projector: Siddon at the price of axial crossings.
//!
//! All planes of one transaxial LOR run along the same in-plane path ([`path`]), and an oblique LOR stays in one row z for
//! a long run of it. In place of one look-up per voxel there is one per voxel face crossed in z ([`table`]), and each
//! look-up serves all planes of a segment at once, contiguous in memory ([`kernel`]). The result is Siddon's, up to
//! rounding.

mod kernel;
mod path;
mod table;

use std::sync::Arc;

use rayon::prelude::*;
use strum::VariantArray as _;

use self::kernel::Scratch;
use self::path::Path;
use self::table::LANES;
pub use self::table::{AxialTable, Family, Group, Layout};
use super::accumulate::{ImageSink, PrivateImages, ViewBackprojector, backproject, private_bytes};
use super::{Accumulation, FieldOfView, Host, LinearOperator, OperatorError, Sides, Simd, Subset};
use crate::data::Volume;
use crate::geometry::Grid;
use crate::scanner::ScanGeometry;
use crate::task::Task;

/// Transaxial LORs that a thread takes at least, neighbours that share image columns.
const LORS_PER_TASK: usize = 64;

/// The axial-run projector on the CPU. Images are `[y][x][z]` with z split into classes (see [`table::Layout`]), zero
/// outside the field of view.
pub struct AxialRuns {
    geometry: Arc<ScanGeometry>,
    grid: Grid,
    fov: FieldOfView,
    table: AxialTable,
    num_tangential_rays: usize,
    simd: Simd,
    private_images: PrivateImages,
}

impl AxialRuns {
    /// The projector between a grid and a scan; `rays` = lines per bin, tangential and axial.
    ///
    /// # Errors
    /// Neighbouring planes are not a whole number of voxels apart.
    pub fn new(geometry: Arc<ScanGeometry>, grid: Grid, fov_radius_mm: f64, rays: [usize; 2]) -> Result<Self, OperatorError> {
        let fov = FieldOfView::new(&grid, fov_radius_mm);
        // The longest LOR, through the axis, is inside the field of view for this part of its length.
        let reach = (fov.path_radius_mm / geometry.radius_mm()).min(1.0) + 1e-9;
        let table = AxialTable::new(&geometry, &grid, rays[1].max(1), reach)?;
        Ok(Self {
            geometry,
            grid,
            fov,
            table,
            num_tangential_rays: rays[0].max(1),
            simd: Simd::fastest(),
            private_images: PrivateImages::default(),
        })
    }

    /// The same projector with other vector instructions (those that the processor lacks are not taken).
    pub fn with_simd(self, simd: Simd) -> Self {
        Self { simd: simd.min(Simd::detect()), ..self }
    }

    /// The vector instructions in use.
    pub fn simd(&self) -> Simd {
        self.simd
    }

    // The next two are inlined whole, without a closure on the way, into the functions that enable vector instructions:
    // whatever is not inlined there is compiled without them.

    /// All planes of one transaxial LOR.
    #[inline(always)]
    fn project_lor<const FUSED: bool>(
        &self,
        view: usize,
        tangential_pos: usize,
        x: &[f32],
        bins: &mut [f32],
        scratch: &mut Scratch,
    ) {
        scratch.bins.fill(0.0);
        let num_rays = self.num_tangential_rays;
        for ray in 0..num_rays {
            let lor = self.geometry.transaxial_lor(view, tangential_pos, ray, num_rays);
            let sides = Sides::new(&self.grid, &lor);
            let share = 1.0 / (num_rays * sides.num_paths()) as f32;
            for path in 0..sides.num_paths() {
                if scratch.path.trace(&self.grid, &self.fov, &lor, &sides, path) {
                    kernel::forward::<FUSED>(&self.table, x, share, scratch);
                }
            }
        }
        bins.copy_from_slice(&scratch.bins[..bins.len()]);
    }

    /// All bins of one view.
    #[inline(always)]
    fn backproject_view<const FUSED: bool, S: ImageSink>(&self, view: usize, q: &[f32], image: &mut S, scratch: &mut Scratch) {
        let num_rays = self.num_tangential_rays;
        for (tangential_pos, bins) in q.chunks_exact(self.geometry.num_planes()).enumerate() {
            scratch.bins[..bins.len()].copy_from_slice(bins);
            for ray in 0..num_rays {
                let lor = self.geometry.transaxial_lor(view, tangential_pos, ray, num_rays);
                let sides = Sides::new(&self.grid, &lor);
                let share = 1.0 / (num_rays * sides.num_paths()) as f32;
                for path in 0..sides.num_paths() {
                    if scratch.path.trace(&self.grid, &self.fov, &lor, &sides, path) {
                        kernel::backward::<FUSED, S>(&self.table, share, scratch, image);
                    }
                }
            }
        }
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,fma")]
    fn project_lor_avx2(&self, view: usize, tangential_pos: usize, x: &[f32], bins: &mut [f32], scratch: &mut Scratch) {
        self.project_lor::<true>(view, tangential_pos, x, bins, scratch);
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx512f,avx512vl,avx512dq,avx512bw,avx2,fma")]
    fn project_lor_avx512(&self, view: usize, tangential_pos: usize, x: &[f32], bins: &mut [f32], scratch: &mut Scratch) {
        self.project_lor::<true>(view, tangential_pos, x, bins, scratch);
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,fma")]
    fn backproject_view_avx2<S: ImageSink>(&self, view: usize, q: &[f32], image: &mut S, scratch: &mut Scratch) {
        self.backproject_view::<true, S>(view, q, image, scratch);
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx512f,avx512vl,avx512dq,avx512bw,avx2,fma")]
    fn backproject_view_avx512<S: ImageSink>(&self, view: usize, q: &[f32], image: &mut S, scratch: &mut Scratch) {
        self.backproject_view::<true, S>(view, q, image, scratch);
    }

    /// Projects one transaxial LOR with the chosen instructions.
    #[allow(unsafe_code)]
    fn project(&self, view: usize, tangential_pos: usize, x: &[f32], bins: &mut [f32], scratch: &mut Scratch) {
        match self.simd {
            // SAFETY: `simd` is never above what `Simd::detect` found on this processor.
            #[cfg(target_arch = "x86_64")]
            Simd::Avx512 => unsafe { self.project_lor_avx512(view, tangential_pos, x, bins, scratch) },
            // SAFETY: as above.
            #[cfg(target_arch = "x86_64")]
            Simd::Avx2 => unsafe { self.project_lor_avx2(view, tangential_pos, x, bins, scratch) },
            _ => self.project_lor::<false>(view, tangential_pos, x, bins, scratch),
        }
    }

    /// Zero outside the field of view and above the last z.
    fn zero_unseen(&self, image: &mut [f32]) {
        let column_len = self.table.layout.column_len();
        let [nx, _, nz] = self.grid.size;
        let padding: Vec<usize> = (0..column_len).filter(|&lane| self.table.layout.z_of_lane(lane) >= nz).collect();
        let padded = image.len() - LANES;
        image[padded..].fill(0.0);
        image[..padded].par_chunks_mut(nx * column_len).enumerate().for_each(|(y, row)| {
            let inside = self.fov.row(y);
            row[..inside.start * column_len].fill(0.0);
            row[inside.end * column_len..].fill(0.0);
            for column in row[inside.start * column_len..inside.end * column_len].chunks_exact_mut(column_len) {
                for &lane in &padding {
                    column[lane] = 0.0;
                }
            }
        });
    }
}

impl ViewBackprojector for AxialRuns {
    type Scratch = Scratch;

    fn scratch(&self) -> Scratch {
        Scratch::new(Path::new(&self.grid), &self.table, self.geometry.num_planes())
    }

    #[allow(unsafe_code)]
    fn add_view<S: ImageSink>(&self, view: usize, q: &[f32], image: &mut S, scratch: &mut Scratch) {
        match self.simd {
            // SAFETY: `simd` is never above what `Simd::detect` found on this processor.
            #[cfg(target_arch = "x86_64")]
            Simd::Avx512 => unsafe { self.backproject_view_avx512(view, q, image, scratch) },
            // SAFETY: as above.
            #[cfg(target_arch = "x86_64")]
            Simd::Avx2 => unsafe { self.backproject_view_avx2(view, q, image, scratch) },
            _ => self.backproject_view::<false, S>(view, q, image, scratch),
        }
    }
}

impl LinearOperator<Host> for AxialRuns {
    /// All columns, and [`LANES`] zeros that the kernel may read behind the last.
    fn image_len(&self) -> usize {
        self.grid.size[0] * self.grid.size[1] * self.table.layout.column_len() + LANES
    }

    fn view_len(&self) -> usize {
        self.geometry.num_tangential * self.geometry.num_planes()
    }

    fn num_views(&self) -> usize {
        self.geometry.num_views
    }

    fn apply(
        &self,
        _: &mut Host,
        subset: Subset,
        x: &Arc<Vec<f32>>,
        out: &mut Arc<Vec<f32>>,
        task: &Task,
    ) -> Result<(), OperatorError> {
        super::check_lengths(self, subset, x.len(), out.len())?;
        let views: Vec<usize> = subset.views(self.num_views()).collect();
        let num_tangential = self.geometry.num_tangential;
        let data_len = self.data_len(subset);
        let bins = Arc::make_mut(out)[..data_len].par_chunks_mut(self.geometry.num_planes());
        bins.enumerate().with_min_len(LORS_PER_TASK).try_for_each_init(
            || self.scratch(),
            |scratch, (transaxial, bins)| {
                task.check()?;
                self.project(views[transaxial / num_tangential], transaxial % num_tangential, x, bins, scratch);
                Ok(())
            },
        )
    }

    fn adjoint(
        &self,
        _: &mut Host,
        subset: Subset,
        q: &Arc<Vec<f32>>,
        accumulation: Accumulation,
        out: &mut Arc<Vec<f32>>,
        task: &Task,
    ) -> Result<(), OperatorError> {
        super::check_lengths(self, subset, out.len(), q.len())?;
        let views: Vec<usize> = subset.views(self.num_views()).collect();
        let out = Arc::make_mut(out);
        backproject(self, &views, self.view_len(), q, accumulation, out, &self.private_images, task)?;
        self.zero_unseen(out);
        Ok(())
    }

    fn accumulations(&self) -> &'static [Accumulation] {
        Accumulation::VARIANTS
    }

    fn image_from_volume(&self, volume: &Volume) -> Vec<f32> {
        let column_len = self.table.layout.column_len();
        let [nx, _, _] = self.grid.size;
        let mut image = vec![0.0; self.image_len()];
        let padded = image.len() - LANES;
        image[..padded].par_chunks_mut(nx * column_len).enumerate().for_each(|(y, row)| {
            for x in self.fov.row(y) {
                for (z, plane) in volume.values.outer_iter().enumerate() {
                    row[x * column_len + self.table.layout.column_offset(z)] = plane[[y, x]];
                }
            }
        });
        image
    }

    fn volume_from_image(&self, image: &[f32], volume: &mut Volume) {
        let [nx, ny, _] = self.grid.size;
        let column_len = self.table.layout.column_len();
        volume.as_mut_slice().par_chunks_mut(nx * ny).enumerate().for_each(|(z, plane)| {
            let offset = self.table.layout.column_offset(z);
            for (value, column) in plane.iter_mut().zip(image.chunks_exact(column_len)) {
                *value = column[offset];
            }
        });
    }

    fn image_index(&self, voxel: usize) -> usize {
        let [nx, ny, _] = self.grid.size;
        let (z, column) = (voxel / (nx * ny), voxel % (nx * ny));
        column * self.table.layout.column_len() + self.table.layout.column_offset(z)
    }

    fn scratch_bytes(&self, subset: Subset, accumulation: Accumulation) -> u64 {
        private_bytes(subset.views(self.num_views()).len(), self.image_len(), accumulation)
    }
}
