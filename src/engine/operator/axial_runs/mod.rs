//! The fast projector: Siddon at the price of axial crossings.
//!
//! All planes of one transaxial LOR run along the same in-plane path ([`path`]), and an oblique LOR stays in one row z for a long
//! run of it. In place of one look-up per voxel there is one per voxel face crossed in z ([`table`]), and each look-up serves all
//! planes of a segment at once, contiguous in memory ([`kernel`]). LORs that are mirror images of each other have the same path
//! in other columns: its steps and look-ups are prepared once for the whole set. The result is Siddon's, up to rounding. A bin
//! with counts that is so small against the others of its LOR that it may be rounding alone is summed again in plain order
//! ([`plain`]). GPUs walk the same runs by the tables of [`plan`].

mod kernel;
mod path;
mod plain;
mod plan;
mod table;
mod tof;

use std::sync::Arc;

use self::kernel::Scratch;
pub use self::path::{PathStep, TracedPath};
pub use self::plain::PlainBins;
pub use self::plan::{AxialPlan, EndRow, GroupRow, MemberRow, PassRow, PlanHead, RecordRow, Slots};
pub use self::table::{AxialTable, Family, Group, Layout};
pub use self::tof::TofRuns;
use super::accumulate::ImageSink;
use super::lors::{LorProjector, MeasuredLor, ProjectorCache};
use super::{MirrorSets, Mirrored, OperatorError, Sides, TofKernel, Views, reversed_planes};
use crate::algebra::{FieldOfView, Simd, Voxels};
use crate::data::TofBins;
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
    plain: PlainBins,
    tof: Option<TofRuns>,
    /// For each plane the one that runs the other way.
    reversed: Vec<u32>,
    /// True if LORs that are mirror images of each other are taken together.
    uses_mirrors: bool,
    simd: Simd,
    cache: ProjectorCache,
}

impl AxialRuns {
    /// Makes the projector between a grid and a scan; `rays` = rays per LOR, tangential and axial.
    ///
    /// # Errors
    /// Neighbouring planes are not a whole number of voxels apart.
    pub fn new(geometry: Arc<ScanGeometry>, grid: Grid, fov_radius_mm: f64, rays: [usize; 2]) -> Result<Self, OperatorError> {
        let fov = FieldOfView::new(&grid, fov_radius_mm);
        // The longest LOR, through the axis, is inside the field of view for this part of its length.
        let reach = (fov.path_radius_mm / geometry.radius_mm()).min(1.0) + 1e-9;
        let table = AxialTable::new(&geometry, &grid, rays[1].max(1), reach)?;
        let voxels = Voxels::in_columns(grid, fov, table.layout.columns());
        let plain = PlainBins::new(Arc::clone(&geometry), voxels.clone(), rays);
        Ok(Self {
            views: Views::in_place(&geometry),
            reversed: reversed_planes(&geometry).unwrap_or_default(),
            uses_mirrors: true,
            geometry,
            voxels,
            table,
            num_tangential_rays: rays[0].max(1),
            plain,
            tof: None,
            simd: Simd::fastest(),
            cache: ProjectorCache::default(),
        })
    }

    /// The same with bins of the time of flight, `[view][tangential_pos][tof][plane]`.
    pub fn with_tof(self, bins: TofBins, kernel: TofKernel) -> Self {
        let max_rise_mm = self.table.max_rise_mm();
        let (radius_mm, fov_radius_mm) = (self.geometry.radius_mm(), self.voxels.fov().path_radius_mm);
        let tof = TofRuns::new(bins, kernel, max_rise_mm, radius_mm, fov_radius_mm);
        let plain = self.plain.with_tof(tof.clone());
        Self { views: self.views.with_tof(bins.num), tof: Some(tof), plain, cache: ProjectorCache::default(), ..self }
    }

    /// Returns the number of bins of time of flight, 1 without.
    fn num_tof(&self) -> usize {
        self.tof.as_ref().map_or(1, |tof| tof.bins.num)
    }

    /// The same projector with other vector instructions (those that the processor lacks are not taken).
    pub fn with_simd(self, simd: Simd) -> Self {
        Self { simd: simd.min(Simd::detect()), ..self }
    }

    /// Takes every LOR alone: slower, with the same results up to rounding.
    pub fn without_mirrors(self) -> Self {
        Self { uses_mirrors: false, cache: ProjectorCache::default(), ..self }
    }

    /// Returns the vector instructions in use.
    pub fn simd(&self) -> Simd {
        self.simd
    }

    // The next two are inlined whole, without a closure on the way, into the functions that enable vector instructions: code that
    // is not inlined there is compiled without them.

    /// The bins of a set, whose first LOR is (view, tangential position) `first`.
    #[inline(always)]
    fn project_with<const FUSED: bool>(
        &self,
        first: [usize; 2],
        set: &[Mirrored],
        x: &[f32],
        bins: &mut [&mut [f32]],
        scratch: &mut Scratch,
    ) {
        let (grid, num_rays, num_planes) = (self.voxels.grid(), self.num_tangential_rays, self.geometry.num_planes());
        for member in 0..set.len() {
            scratch.bins(member).fill(0.0);
            scratch.bounds(member).fill(0.0);
        }
        for ray in 0..num_rays {
            let lor = self.geometry.transaxial_lor(first[0], first[1], ray, num_rays);
            let sides = Sides::new(grid, &lor);
            let share = 1.0 / (num_rays * sides.num_paths()) as f32;
            for path in 0..sides.num_paths() {
                if scratch.path.trace(grid, self.voxels.fov(), &lor, &sides, path) {
                    scratch.prepare(&self.table, self.tof.as_ref(), share);
                    for (member, mirrored) in set.iter().enumerate() {
                        let columns = mirrored.mirror.columns([grid.size[0], grid.size[1]]);
                        kernel::forward::<FUSED>(&self.table, x, &columns, member, num_planes, scratch);
                    }
                }
            }
        }
        for (member, (mirrored, bins)) in set.iter().zip(bins).enumerate() {
            let walked = scratch.bins(member);
            if mirrored.is_reversed {
                // The other way the last bin of time of flight comes first.
                let of_tof = bins.chunks_exact_mut(num_planes).rev().zip(walked.chunks_exact(num_planes));
                for (bins, walked) in of_tof {
                    bins.iter_mut().zip(&self.reversed).for_each(|(bin, &plane)| *bin = walked[plane as usize]);
                }
            } else {
                bins.copy_from_slice(&walked[..bins.len()]);
            }
        }
    }

    /// The image += the backprojection of a set.
    #[inline(always)]
    fn add_with<const FUSED: bool, S: ImageSink>(
        &self,
        first: [usize; 2],
        set: &[Mirrored],
        q: &[f32],
        image: &mut S,
        scratch: &mut Scratch,
    ) {
        let (grid, num_rays, num_planes) = (self.voxels.grid(), self.num_tangential_rays, self.geometry.num_planes());
        let num_bins = self.views.num_planes();
        for (member, mirrored) in set.iter().enumerate() {
            let bins = &q[mirrored.lor * num_bins..][..num_bins];
            let walked = &mut scratch.bins(member)[..num_bins];
            if mirrored.is_reversed {
                let of_tof = bins.chunks_exact(num_planes).rev().zip(walked.chunks_exact_mut(num_planes));
                for (bins, walked) in of_tof {
                    walked.iter_mut().zip(&self.reversed).for_each(|(value, &plane)| *value = bins[plane as usize]);
                }
            } else {
                walked.copy_from_slice(bins);
            }
        }
        for ray in 0..num_rays {
            let lor = self.geometry.transaxial_lor(first[0], first[1], ray, num_rays);
            let sides = Sides::new(grid, &lor);
            let share = 1.0 / (num_rays * sides.num_paths()) as f32;
            for path in 0..sides.num_paths() {
                if scratch.path.trace(grid, self.voxels.fov(), &lor, &sides, path) {
                    scratch.prepare(&self.table, self.tof.as_ref(), share);
                    for (member, mirrored) in set.iter().enumerate() {
                        let columns = mirrored.mirror.columns([grid.size[0], grid.size[1]]);
                        kernel::backward::<FUSED, S>(&self.table, &columns, member, num_planes, scratch, image);
                    }
                }
            }
        }
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,fma")]
    fn project_avx2(&self, first: [usize; 2], set: &[Mirrored], x: &[f32], bins: &mut [&mut [f32]], scratch: &mut Scratch) {
        self.project_with::<true>(first, set, x, bins, scratch);
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,fma")]
    fn add_avx2<S: ImageSink>(&self, first: [usize; 2], set: &[Mirrored], q: &[f32], image: &mut S, scratch: &mut Scratch) {
        self.add_with::<true, S>(first, set, q, image, scratch);
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx512f,avx512vl,avx512dq,avx512bw,avx2,fma")]
    fn project_avx512(&self, first: [usize; 2], set: &[Mirrored], x: &[f32], bins: &mut [&mut [f32]], scratch: &mut Scratch) {
        self.project_with::<true>(first, set, x, bins, scratch);
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx512f,avx512vl,avx512dq,avx512bw,avx2,fma")]
    fn add_avx512<S: ImageSink>(&self, first: [usize; 2], set: &[Mirrored], q: &[f32], image: &mut S, scratch: &mut Scratch) {
        self.add_with::<true, S>(first, set, q, image, scratch);
    }
}

impl LorProjector for AxialRuns {
    type Scratch = Scratch;

    const SETS_PER_TASK: usize = 16;

    fn voxels(&self) -> &Voxels {
        &self.voxels
    }

    fn views(&self) -> &Views {
        &self.views
    }

    fn cache(&self) -> &ProjectorCache {
        &self.cache
    }

    fn cache_mut(&mut self) -> &mut ProjectorCache {
        &mut self.cache
    }

    fn mirror_sets(&self, views: &[usize]) -> MirrorSets {
        if self.uses_mirrors {
            MirrorSets::new(&self.geometry, self.voxels.grid(), self.voxels.fov(), views)
        } else {
            MirrorSets::single(views.len() * self.geometry.num_tangential)
        }
    }

    fn scratch(&self) -> Scratch {
        Scratch::new(TracedPath::new(self.voxels.grid()), &self.table, self.geometry.num_planes(), self.num_tof())
    }

    #[allow(unsafe_code)]
    fn project_set(&self, first: [usize; 2], set: &[Mirrored], x: &[f32], bins: &mut [&mut [f32]], scratch: &mut Scratch) {
        match self.simd {
            // SAFETY: `simd` is never above what `Simd::detect` found on this processor.
            #[cfg(target_arch = "x86_64")]
            Simd::Avx512 => unsafe { self.project_avx512(first, set, x, bins, scratch) },
            // SAFETY: as above.
            #[cfg(target_arch = "x86_64")]
            Simd::Avx2 => unsafe { self.project_avx2(first, set, x, bins, scratch) },
            _ => self.project_with::<false>(first, set, x, bins, scratch),
        }
    }

    fn expect_set(
        &self,
        first: [usize; 2],
        set: &[Mirrored],
        x: &[f32],
        measured: &[MeasuredLor<'_>],
        bins: &mut [&mut [f32]],
        scratch: &mut Scratch,
    ) {
        self.project_set(first, set, x, bins, scratch);
        let num_planes = self.geometry.num_planes();
        for (member, ((bins, measured), mirrored)) in bins.iter_mut().zip(measured).zip(set).enumerate() {
            let bounds = scratch.bounds(member);
            for (tof, bins) in bins.chunks_exact_mut(num_planes).enumerate() {
                let bound = bounds[if mirrored.is_reversed { bounds.len() - 1 - tof } else { tof }];
                // Few LORs have such a plane: those of the others are looked at in one go.
                let least = bins.iter().fold(f32::INFINITY, |least, bin| if *bin < least { *bin } else { least });
                if least >= bound {
                    continue;
                }
                for (plane, bin) in bins.iter_mut().enumerate() {
                    let is_doubtful = *bin < bound && measured.counts[tof * num_planes + plane] > 0.0;
                    *bin = if *bin < 0.0 { 0.0 } else { *bin };
                    if is_doubtful {
                        *bin = self.plain.sum(measured.lor, plane, tof, x);
                    }
                }
            }
        }
    }

    #[allow(unsafe_code)]
    fn add_set<S: ImageSink>(&self, first: [usize; 2], set: &[Mirrored], q: &[f32], image: &mut S, scratch: &mut Scratch) {
        match self.simd {
            // SAFETY: `simd` is never above what `Simd::detect` found on this processor.
            #[cfg(target_arch = "x86_64")]
            Simd::Avx512 => unsafe { self.add_avx512(first, set, q, image, scratch) },
            // SAFETY: as above.
            #[cfg(target_arch = "x86_64")]
            Simd::Avx2 => unsafe { self.add_avx2(first, set, q, image, scratch) },
            _ => self.add_with::<false, S>(first, set, q, image, scratch),
        }
    }
}
