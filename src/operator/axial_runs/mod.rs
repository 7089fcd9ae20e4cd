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

use self::kernel::Scratch;
use self::path::Path;
pub use self::table::{AxialTable, Family, Group, Layout};
use super::accumulate::{ImageSink, PrivateImages};
use super::lors::LorProjector;
use super::{OperatorError, Sides, Views};
use crate::algebra::{FieldOfView, Simd, Voxels};
use crate::geometry::Grid;
use crate::scanner::ScanGeometry;

/// The axial-run projector on the CPU. Images are `[y][x][z]` with z split into classes (see [`table::Layout`]), zero
/// outside the field of view.
pub struct AxialRuns {
    geometry: Arc<ScanGeometry>,
    voxels: Voxels,
    views: Views,
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
        let voxels = Voxels::in_columns(grid, fov, table.layout.columns());
        Ok(Self {
            views: Views::in_place(&geometry),
            geometry,
            voxels,
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
    fn project_with<const FUSED: bool>(
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
            let sides = Sides::new(self.voxels.grid(), &lor);
            let share = 1.0 / (num_rays * sides.num_paths()) as f32;
            for path in 0..sides.num_paths() {
                if scratch.path.trace(self.voxels.grid(), self.voxels.fov(), &lor, &sides, path) {
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
                let sides = Sides::new(self.voxels.grid(), &lor);
                let share = 1.0 / (num_rays * sides.num_paths()) as f32;
                for path in 0..sides.num_paths() {
                    if scratch.path.trace(self.voxels.grid(), self.voxels.fov(), &lor, &sides, path) {
                        kernel::backward::<FUSED, S>(&self.table, share, scratch, image);
                    }
                }
            }
        }
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,fma")]
    fn project_avx2(&self, view: usize, tangential_pos: usize, x: &[f32], bins: &mut [f32], scratch: &mut Scratch) {
        self.project_with::<true>(view, tangential_pos, x, bins, scratch);
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx512f,avx512vl,avx512dq,avx512bw,avx2,fma")]
    fn project_avx512(&self, view: usize, tangential_pos: usize, x: &[f32], bins: &mut [f32], scratch: &mut Scratch) {
        self.project_with::<true>(view, tangential_pos, x, bins, scratch);
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
}

impl LorProjector for AxialRuns {
    type Scratch = Scratch;

    const LORS_PER_TASK: usize = 64;

    fn voxels(&self) -> &Voxels {
        &self.voxels
    }

    fn views(&self) -> &Views {
        &self.views
    }

    fn private_images(&self) -> &PrivateImages {
        &self.private_images
    }

    fn scratch(&self) -> Scratch {
        Scratch::new(Path::new(self.voxels.grid()), &self.table, self.geometry.num_planes())
    }

    #[allow(unsafe_code)]
    fn project_lor(&self, view: usize, tangential_pos: usize, x: &[f32], bins: &mut [f32], scratch: &mut Scratch) {
        match self.simd {
            // SAFETY: `simd` is never above what `Simd::detect` found on this processor.
            #[cfg(target_arch = "x86_64")]
            Simd::Avx512 => unsafe { self.project_avx512(view, tangential_pos, x, bins, scratch) },
            // SAFETY: as above.
            #[cfg(target_arch = "x86_64")]
            Simd::Avx2 => unsafe { self.project_avx2(view, tangential_pos, x, bins, scratch) },
            _ => self.project_with::<false>(view, tangential_pos, x, bins, scratch),
        }
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
