//! Tubes of response instead of lines: the system matrix includes the response of the scanner to a line
//! ([`crate::data::TubeSet`]).
//!
//! [`PlainTubes`] is the definition and the pair of Herraiz et al. 2011. [`Tubes`] is the fast pair: the image is interpolated
//! once per view on the points at which that view's tubes are sampled ([`lattice`]); then follow sums of neighbouring slices, the
//! same for all planes of a ring difference ([`table`], [`kernel`]). Its backprojection is the exact adjoint, step by step in
//! reverse. The projection is the definition's, up to rounding.

mod fit;
mod kernel;
mod lattice;
mod plain;
mod table;

use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rayon::prelude::*;

pub use self::fit::tubes_fit;
use self::kernel::Rows;
use self::lattice::Lattice;
pub use self::plain::{InPlaneTube, PlainTubes};
use self::table::{Group, ROWS_PER_BLOCK, TAPS_PER_CLASS, along_mm};
pub use self::table::{MAX_AXIAL, TAPS, TubeTable};
use super::accumulate::{PrivateImages, num_private_images, span};
use super::chunk::{Chunk, LANES, add, load, store};
use super::group_sum::GroupSum;
use super::{
    Accumulation, LinearOperator, OperatorError, ShardOperator, Subset, ViewProjector, Views, check_lengths, shard_of_ranges,
};
use crate::algebra::{Data, FieldOfView, Host, HostArray, Image, PeerGroup, Simd, Voxels};
use crate::data::TubeSet;
use crate::geometry::Grid;
use crate::scanner::ScanGeometry;
use crate::task::{Stopped, Task};

/// Views that are projected together: the weights are read once for all of them.
const VIEWS_PER_BLOCK: usize = 4;
/// Rows of the image that one thread adds to.
const IMAGE_ROWS_PER_TASK: usize = 8;

/// The fast projector with tubes of response on the CPU. Images are `[y][x][z]` with even and odd z apart, zero outside the
/// field of view.
pub struct Tubes {
    geometry: Arc<ScanGeometry>,
    voxels: Voxels,
    views: Views,
    table: TubeTable,
    along_mm: Vec<f64>,
    across_mm: f64,
    radius_mm: f64,
    simd: Simd,
    /// Lattices of a block, reused by the next call: new memory would be touched for the first time in each.
    cells: Mutex<Vec<f32>>,
    private_images: PrivateImages,
    /// Sum over the members that divide the views.
    group_sum: GroupSum,
}

/// Work on the lattices of a few views.
struct Block<'a> {
    views: &'a [usize],
    /// Values of a row of the lattice of one view.
    row_len: usize,
}

impl Tubes {
    /// Makes the projector between a grid and a scan.
    ///
    /// # Errors
    /// The tubes do not fit the scan, or their samples and the slices of the grid are not on one lattice.
    pub fn new(geometry: Arc<ScanGeometry>, grid: Grid, fov_radius_mm: f64, tubes: &TubeSet) -> Result<Self, OperatorError> {
        let fov = FieldOfView::new(&grid, fov_radius_mm);
        let table = TubeTable::new(&geometry, &grid, &fov, tubes)?;
        Ok(Self {
            views: Views::in_place(&geometry),
            along_mm: (0..table.num_along).map(|row| along_mm(tubes, row)).collect(),
            across_mm: tubes.sampling.spacing_mm[1],
            radius_mm: table.radius_mm,
            voxels: Voxels::in_columns(grid, fov, table.columns),
            simd: Simd::fastest(),
            cells: Mutex::default(),
            private_images: PrivateImages::default(),
            group_sum: GroupSum::ALONE,
            geometry,
            table,
        })
    }

    /// The same projector with other vector instructions (those that the processor lacks, and those wider than AVX2, are not
    /// taken).
    pub fn with_simd(self, simd: Simd) -> Self {
        Self { simd: simd.min(Simd::fastest()), ..self }
    }

    /// Returns this member's parts of a backprojection of a subset: whole blocks, as ranges of the subset's views. For any number
    /// of members the parts are the same.
    fn own_parts(&self, subset: Subset) -> Vec<Range<usize>> {
        let num_views = self.views.of(subset).len();
        let num_blocks = num_views.div_ceil(VIEWS_PER_BLOCK);
        let num_parts = num_private_images(num_blocks, self.voxels.len());
        let edge = |part: usize| (part * num_blocks / num_parts * VIEWS_PER_BLOCK).min(num_views);
        self.group_sum.group.shard().of(num_parts).map(|part| edge(part)..edge(part + 1)).collect()
    }

    /// Returns the data of some of a subset's views.
    fn data_of(&self, views: Range<usize>) -> Range<usize> {
        views.start * self.views.view_len()..views.end * self.views.view_len()
    }

    fn block<'a>(&self, views: &'a [usize]) -> Block<'a> {
        Block { views, row_len: self.table.num_columns() * self.table.columns.len() }
    }

    fn lattice(&self, view: usize) -> Lattice<'_> {
        Lattice {
            grid: self.voxels.grid(),
            sin_cos: self.geometry.phi_rad(view).sin_cos(),
            along_mm: &self.along_mm,
            num_columns: self.table.num_columns(),
            across_mm: self.across_mm,
            radius_mm: self.radius_mm,
            cell_len: self.table.columns.len(),
        }
    }

    /// Returns the tubes of tangential index ±i on some rows of the lattice; the first row begins at `from`.
    #[inline(always)]
    fn rows<'a>(
        &'a self,
        block: &Block,
        [radial, group]: [usize; 2],
        rows: &Range<usize>,
        from: usize,
        goes_down: bool,
    ) -> Rows<'a> {
        let table = &self.table;
        let (middle, half_across) = (table.num_columns() / 2, table.num_across / 2);
        let first = if goes_down { middle + half_across - radial } else { middle + radial - half_across };
        Rows {
            weights: table.weights(radial, table.groups[group].ring_difference, rows),
            windows: table.windows(radial, group, rows),
            num_across: table.num_across,
            row_len: block.views.len() * block.row_len,
            cell_len: table.columns.len(),
            first: from + first * table.columns.len(),
            goes_down,
        }
    }

    /// Padded bins of ±i in the views of a block, `[view][side]`, from the cells `[row][view][column]`.
    #[inline(always)]
    fn project_with<const FUSED: bool>(&self, block: &Block, radial: usize, cells: &[f32], bins: &mut [f32]) {
        for number in 0..self.table.num_blocks() {
            let rows = self.table.rows_of_block(radial, number);
            if rows.is_empty() {
                continue;
            }
            for (place, bins) in bins.chunks_exact_mut(self.table.bins_len).enumerate() {
                let from = (rows.start * block.views.len() + place / 2) * block.row_len;
                for (index, group) in self.table.groups.iter().enumerate() {
                    let rows = self.rows(block, [radial, index], &rows, from, place % 2 == 1);
                    if group.is_mirrored {
                        project_group::<true, FUSED>(rows, group, cells, bins);
                    } else {
                        project_group::<false, FUSED>(rows, group, cells, bins);
                    }
                }
            }
        }
    }

    /// Cells `[row][view][column]` of one block of rows += adjoint of the padded bins `[view][tangential position]` of the views
    /// of a block.
    #[inline(always)]
    fn spread_with<const FUSED: bool>(&self, block: &Block, number: usize, bins: &[f32], cells: &mut [f32]) {
        let (bins_len, num_tangential) = (self.table.bins_len, self.geometry.num_tangential);
        let lors = (0..self.table.num_radial).flat_map(|radial| self.lors_of(radial, block.views.len()));
        for (radial, slot, tangential_pos) in lors {
            let rows = self.table.rows_of_block(radial, number);
            if rows.is_empty() {
                continue;
            }
            let from = ((rows.start - number * ROWS_PER_BLOCK) * block.views.len() + slot) * block.row_len;
            let goes_down = self.geometry.tangential_index(tangential_pos) < 0;
            let bins = &bins[(slot * num_tangential + tangential_pos) * bins_len..][..bins_len];
            for (index, group) in self.table.groups.iter().enumerate() {
                let rows = self.rows(block, [radial, index], &rows, from, goes_down);
                let bins = &bins[group.at + 1 - TAPS_PER_CLASS..];
                if group.is_mirrored {
                    spread_group::<true, FUSED>(rows, group, bins, cells);
                } else {
                    spread_group::<false, FUSED>(rows, group, bins, cells);
                }
            }
        }
    }

    /// Returns the LORs of `num_views` views that share the weights of a |tangential index|: it, the view, and the tangential
    /// position.
    fn lors_of(&self, radial: usize, num_views: usize) -> impl Iterator<Item = (usize, usize, usize)> + '_ {
        let is_of = move |position: &usize| self.geometry.tangential_index(*position).unsigned_abs() == radial;
        let positions = move || (0..self.geometry.num_tangential).filter(is_of);
        (0..num_views).flat_map(move |view| positions().map(move |position| (radial, view, position)))
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,fma")]
    fn project_avx2(&self, block: &Block, radial: usize, cells: &[f32], bins: &mut [f32]) {
        self.project_with::<true>(block, radial, cells, bins);
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,fma")]
    fn spread_avx2(&self, block: &Block, number: usize, bins: &[f32], cells: &mut [f32]) {
        self.spread_with::<true>(block, number, bins, cells);
    }

    #[allow(unsafe_code)]
    fn project(&self, block: &Block, radial: usize, cells: &[f32], bins: &mut [f32]) {
        match self.simd {
            // SAFETY: `simd` is never above what `Simd::detect` found on this processor.
            #[cfg(target_arch = "x86_64")]
            Simd::Avx2 => unsafe { self.project_avx2(block, radial, cells, bins) },
            _ => self.project_with::<false>(block, radial, cells, bins),
        }
    }

    #[allow(unsafe_code)]
    fn spread(&self, block: &Block, number: usize, bins: &[f32], cells: &mut [f32]) {
        match self.simd {
            // SAFETY: `simd` is never above what `Simd::detect` found on this processor.
            #[cfg(target_arch = "x86_64")]
            Simd::Avx2 => unsafe { self.spread_avx2(block, number, bins, cells) },
            _ => self.spread_with::<false>(block, number, bins, cells),
        }
    }

    /// `out` = A x for the views of a block; `cells` is working memory.
    fn apply_to(&self, block: &Block, x: &[f32], cells: &mut [f32], out: &mut [f32], task: &Task) -> Result<(), Stopped> {
        let (num_views, bins_len) = (block.views.len(), self.table.bins_len);
        cells.par_chunks_mut(block.row_len).enumerate().try_for_each(|(row, cells)| {
            task.check()?;
            self.lattice(block.views[row % num_views]).resample(row / num_views, x, cells);
            Ok(())
        })?;
        let cells = &*cells;
        let bins = self.by_radial(out);
        bins.into_par_iter().enumerate().with_max_len(1).try_for_each_init(
            || vec![0.0; num_views * 2 * bins_len],
            |padded, (radial, bins)| {
                task.check()?;
                padded.fill(0.0);
                self.project(block, radial, cells, padded);
                for (place, bins) in bins {
                    let padded = &padded[place * bins_len..];
                    for group in &self.table.groups {
                        bins[group.first_plane..][..group.num_planes].copy_from_slice(&padded[group.at..][..group.num_planes]);
                    }
                }
                Ok(())
            },
        )
    }

    /// Returns the bins of each |tangential index|, with their place in `[view][side]`.
    fn by_radial<'a>(&self, bins: &'a mut [f32]) -> Vec<Vec<(usize, &'a mut [f32])>> {
        let num_tangential = self.geometry.num_tangential;
        let mut by_radial: Vec<_> = (0..self.table.num_radial).map(|_| Vec::new()).collect();
        for (lor, bins) in bins.chunks_exact_mut(self.views.num_planes()).enumerate() {
            let index = self.geometry.tangential_index(lor % num_tangential);
            by_radial[index.unsigned_abs()].push((lor / num_tangential * 2 + usize::from(index < 0), bins));
        }
        by_radial
    }

    /// `image` += Aᵀ q for the views of a block; `cells` is working memory.
    fn add_block(&self, block: &Block, q: &[f32], cells: &mut [f32], image: &mut [f32], task: &Task) -> Result<(), Stopped> {
        let (num_views, bins_len) = (block.views.len(), self.table.bins_len);
        let mut padded = vec![0.0; num_views * self.geometry.num_tangential * bins_len];
        let lors = padded.par_chunks_exact_mut(bins_len).zip(q.par_chunks_exact(self.views.num_planes()));
        lors.for_each(|(padded, bins)| {
            for group in &self.table.groups {
                padded[group.at..][..group.num_planes].copy_from_slice(&bins[group.first_plane..][..group.num_planes]);
            }
        });
        let rows_len = num_views * block.row_len;
        cells.par_chunks_mut(ROWS_PER_BLOCK * rows_len).enumerate().with_max_len(1).try_for_each(|(number, cells)| {
            task.check()?;
            cells.fill(0.0);
            self.spread(block, number, &padded, cells);
            Ok(())
        })?;
        let (cells, nx) = (&*cells, self.voxels.grid().size[0]);
        let lattices: Vec<Lattice> = block.views.iter().map(|&view| self.lattice(view)).collect();
        let image_rows = image.par_chunks_mut(IMAGE_ROWS_PER_TASK * nx * self.table.columns.len()).enumerate().with_max_len(1);
        image_rows.try_for_each(|(piece, image)| {
            task.check()?;
            let ys = piece * IMAGE_ROWS_PER_TASK..(piece + 1) * IMAGE_ROWS_PER_TASK;
            for (row, cells) in cells.chunks_exact(block.row_len).enumerate() {
                lattices[row % num_views].spread(row / num_views, cells, &ys, image);
            }
            Ok(())
        })
    }

    /// Returns memory for the lattices of a number of views, a block at a time.
    fn kept_cells(&self, num_views: usize) -> MutexGuard<'_, Vec<f32>> {
        let mut cells = self.cells.lock().unwrap_or_else(PoisonError::into_inner);
        let len = self.cells_len(num_views.min(VIEWS_PER_BLOCK));
        if cells.len() < len {
            cells.resize(len, 0.0);
        }
        cells
    }

    /// Returns the number of values of the lattices of a block of `num_views` views.
    fn cells_len(&self, num_views: usize) -> usize {
        num_views * self.table.num_along * self.table.num_columns() * self.table.columns.len()
    }
}

/// Returns how many of `num_left` chunks are taken together: those that fit into the registers, once for each shift.
#[inline(always)]
fn chunks_at_once(num_left: usize) -> usize {
    match num_left {
        4 => 2,
        _ => num_left.min(3),
    }
}

#[inline(always)]
fn project_group<const MIRRORED: bool, const FUSED: bool>(rows: Rows, group: &Group, cells: &[f32], bins: &mut [f32]) {
    let (num_chunks, mut done) = (group.num_slice_chunks(), 0);
    while done < num_chunks {
        let (slice, at_once) = (done * LANES, chunks_at_once(num_chunks - done));
        let at = group.at + slice;
        match at_once {
            1 => add_sums(&rows.project::<1, 2, MIRRORED, FUSED>(cells, slice), bins, at),
            2 => add_sums(&rows.project::<2, 1, MIRRORED, FUSED>(cells, slice), bins, at),
            _ => add_sums(&rows.project::<3, 1, MIRRORED, FUSED>(cells, slice), bins, at),
        }
        done += at_once;
    }
}

/// Adds the sums of each shift t to the padded bins from `at` − t on. Not inlined: the compiler would try to make vectors of what
/// meets in a bin, through all of the work before, in place of the chunks.
#[inline(never)]
fn add_sums<const C: usize>(sums: &[[Chunk; C]; TAPS_PER_CLASS], bins: &mut [f32], at: usize) {
    for (shift, sums) in sums.iter().enumerate() {
        for (c, &sum) in sums.iter().enumerate() {
            let at = at + c * LANES - shift;
            store(bins, at, add(sum, load(bins, at)));
        }
    }
}

#[inline(always)]
fn spread_group<const MIRRORED: bool, const FUSED: bool>(rows: Rows, group: &Group, bins: &[f32], cells: &mut [f32]) {
    let (num_chunks, mut done) = (group.num_slice_chunks(), 0);
    while done < num_chunks {
        let (slice, at_once) = (done * LANES, chunks_at_once(num_chunks - done));
        match at_once {
            1 => rows.spread::<1, MIRRORED, FUSED>(bins, cells, slice),
            2 => rows.spread::<2, MIRRORED, FUSED>(bins, cells, slice),
            _ => rows.spread::<3, MIRRORED, FUSED>(bins, cells, slice),
        }
        done += at_once;
    }
}

impl LinearOperator<Host> for Tubes {
    fn apply(
        &self,
        _: &mut Host,
        subset: Subset,
        x: &HostArray<Image>,
        out: &mut HostArray<Data>,
        task: &Task,
    ) -> Result<(), OperatorError> {
        check_lengths([x.len(), self.voxels.len()], [out.len(), self.views.len(subset)])?;
        let own = span(&self.own_parts(subset));
        let views: Vec<usize> = self.views.of(subset).skip(own.start).take(own.len()).collect();
        let mut cells = self.kept_cells(views.len());
        let out = out.values_mut()[self.data_of(own)].chunks_mut(VIEWS_PER_BLOCK * self.views.view_len());
        for (views, out) in views.chunks(VIEWS_PER_BLOCK).zip(out) {
            self.apply_to(&self.block(views), x, &mut cells[..self.cells_len(views.len())], out, task)?;
        }
        Ok(())
    }

    fn adjoint(
        &self,
        _: &mut Host,
        subset: Subset,
        q: &HostArray<Data>,
        _: Accumulation,
        out: &mut HostArray<Image>,
        task: &Task,
    ) -> Result<(), OperatorError> {
        check_lengths([out.len(), self.voxels.len()], [q.len(), self.views.len(subset)])?;
        let (views, parts): (Vec<usize>, _) = (self.views.of(subset).collect(), self.own_parts(subset));
        let mut cells = self.kept_cells(views.len());
        let out = out.values_mut();
        self.private_images.sum_in_turn(&self.group_sum, parts.len(), out, |part, image| {
            let (views, q) = (&views[parts[part].clone()], &q[self.data_of(parts[part].clone())]);
            for (views, q) in views.chunks(VIEWS_PER_BLOCK).zip(q.chunks(VIEWS_PER_BLOCK * self.views.view_len())) {
                self.add_block(&self.block(views), q, &mut cells[..self.cells_len(views.len())], image, task)?;
            }
            Ok(())
        })?;
        self.voxels.zero_outside_fov(out);
        Ok(())
    }

    /// Each cell and each voxel is added to by one thread, in the order of the views.
    fn accumulations(&self) -> &'static [Accumulation] {
        &[Accumulation::Deterministic]
    }

    fn scratch_bytes(&self, subset: Subset, _: Accumulation) -> u64 {
        let num_views = self.views.of(subset).len().min(VIEWS_PER_BLOCK);
        let bins = num_views * self.geometry.num_tangential * self.table.bins_len;
        let images = PrivateImages::num_in_turn(&self.group_sum, self.own_parts(subset).len());
        4 * (self.cells_len(num_views) + bins + images * self.voxels.len()) as u64
    }
}

impl ViewProjector<Host> for Tubes {
    /// Whole parts of the sum that a backprojection is: its bits do not depend on how many members there are.
    fn for_group(mut self: Box<Self>, group: &PeerGroup) -> Result<ShardOperator<Host>, OperatorError> {
        self.group_sum = GroupSum::with(group.clone(), &self.voxels);
        let all = self.views.clone();
        Ok(shard_of_ranges(*self, all, |own: &Self, subset| vec![own.data_of(span(&own.own_parts(subset)))], false))
    }

    fn voxels(&self) -> &Voxels {
        &self.voxels
    }

    fn views(&self) -> &Views {
        &self.views
    }
}
