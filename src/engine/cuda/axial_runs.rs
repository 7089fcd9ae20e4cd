//! The axial-run projector on a CUDA device (`kernels/axial_runs/axial_path.cuh`, `kernels/axial_runs/axial_runs.cuh`; the definition is
//! [`crate::operator::AxialRuns`]).

use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use cudarc::driver::{CudaSlice, LaunchConfig};
use rayon::prelude::*;

use super::axial_kernels::AxialKernels;
use super::axial_plan::{End, Group, Member, Pass, Path, Plan, Record, registers, rows};
use super::backend::{CudaArray, CudaBackend};
use super::device::pacing::Pace;
use super::error::CudaError;
use super::fixed_point::Sum;
use super::in_plane::fov_rows;
use super::launches::axial_path::Tables;
use super::projecting::{Adder, Direction, Launches, Piece, Projecting, ProjectingViews};
use crate::algebra::{Data, FieldOfView, Image, PeerGroup, Shard, Voxels};
use crate::data::TofBins;
use crate::geometry::Grid;
use crate::operator::{
    AxialPlan, AxialTable, BinOrder, InPlanePaths, LorRuns, Measured, MemberRow, MirrorSets, Mirrored, Misfit, OperatorError,
    OperatorLimit, ShardOperator, Slots, Subset, TofKernel, TofRuns, Views, shard_of_ranges,
};
use crate::scanner::ScanGeometry;
use crate::task::Task;

/// Warps of a block that are tried: LORs that share a path.
const WARPS_PER_BLOCK: [u32; 4] = [8, 4, 2, 1];
/// Dynamic shared memory that every block may have.
const DEFAULT_SHARED_BYTES: u32 = 48 << 10;

/// The axial-run projector. Images are `[y][x][class of z][place]`, zero outside the field of view; data of a subset is its
/// views one after the other, each `[tangential_pos][plane]`.
pub struct AxialRuns {
    geometry: Arc<ScanGeometry>,
    voxels: Voxels,
    views: Views,
    num_tangential_rays: usize,
    plan: AxialPlan,
    /// The plan's head for the kernels.
    head: Plan,
    tables: PlanTables,
    /// Whose LORs are projected; whole sets of mirror images.
    shard: Shard,
    /// By number and count of the subset.
    local_lors: Mutex<HashMap<[usize; 2], Arc<LocalLors>>>,
    sets: Mutex<HashMap<[usize; 2], Arc<Sets>>>,
    /// For each set whether it has bins that may be rounding alone; none between two projections.
    is_marked_set: Mutex<CudaSlice<u32>>,
    checked_pace: Mutex<Pace>,
    kernels: AxialKernels,
    /// Blocks that there is room for: warps, and how many warps a multiprocessor then holds.
    blocks: Vec<[u32; 2]>,
    /// x_z − x_{z+1}.
    difference: Mutex<CudaSlice<f32>>,
    launches: Launches,
}

/// The LORs of a share of a subset.
struct LocalLors {
    mirrored: MirrorSets,
    /// Which of the sets.
    sets: Range<usize>,
    lors: LorRuns,
}

/// The plan on the device.
struct PlanTables {
    fov_rows: CudaSlice<[i32; 2]>,
    passes: CudaSlice<Pass>,
    groups: CudaSlice<Group>,
    records: CudaSlice<Record>,
    ends: CudaSlice<End>,
    outputs: CudaSlice<u32>,
    reversed: CudaSlice<u32>,
}

/// The sets of mirror images among the LORs of a subset on the device, a block each.
struct Sets {
    num_blocks: usize,
    warps_per_block: u32,
    /// The paths of the first LOR of each set.
    paths: CudaSlice<Path>,
    /// For each block its paths, from and up to.
    block_paths: CudaSlice<[u32; 2]>,
    /// For each warp of each block its LOR.
    members: CudaSlice<Member>,
}

impl AxialRuns {
    /// Makes the projector between a grid and a scan; `rays` = rays per LOR, tangential and axial.
    ///
    /// # Errors
    /// Neighbouring planes are not a whole number of voxels apart, or the image has more z than the kernels are made for;
    /// device failure.
    pub fn new(
        backend: &CudaBackend,
        geometry: Arc<ScanGeometry>,
        grid: Grid,
        fov_radius_mm: f64,
        rays: [usize; 2],
    ) -> Result<Self, OperatorError> {
        Self::make(backend, geometry, grid, fov_radius_mm, rays, None)
    }

    /// Does the same with bins of the time of flight: a LOR has all planes for each bin, `[tof][plane]`.
    ///
    /// # Errors
    /// Lines that are too steep for the kernels; else as [`AxialRuns::new`].
    pub fn with_tof(
        backend: &CudaBackend,
        geometry: Arc<ScanGeometry>,
        grid: Grid,
        fov_radius_mm: f64,
        rays: [usize; 2],
        tof: (TofBins, TofKernel),
    ) -> Result<Self, OperatorError> {
        Self::make(backend, geometry, grid, fov_radius_mm, rays, Some(tof))
    }

    fn make(
        backend: &CudaBackend,
        geometry: Arc<ScanGeometry>,
        grid: Grid,
        fov_radius_mm: f64,
        rays: [usize; 2],
        tof: Option<(TofBins, TofKernel)>,
    ) -> Result<Self, OperatorError> {
        let fov = FieldOfView::new(&grid, fov_radius_mm);
        let reach = (fov.path_radius_mm / geometry.radius_mm()).min(1.0) + 1e-9;
        let table = AxialTable::new(&geometry, &grid, rays[1].max(1), reach)?;
        let max_steps = InPlanePaths::of_all(&geometry, &grid, &fov, rays[0].max(1)).max_steps();
        let slots = if tof.is_some() { Slots::Dense } else { Slots::Roomy };
        let plan = AxialPlan::with_slots(&geometry, &grid, &table, max_steps, registers, slots)?;
        let tof =
            tof.map(|(bins, kernel)| TofRuns::new(bins, kernel, table.max_rise_mm(), geometry.radius_mm(), fov.path_radius_mm));
        if tof.as_ref().is_some_and(|tof| tof.num_nodes() > 2) {
            return Err(Misfit::SteepTof.into());
        }
        let mut head = Plan::new(&plan);
        let kernels = AxialKernels::load(backend, &plan, tof.as_ref(), &mut head)?;
        let blocks = possible_blocks(&kernels, &head)?;
        let tables = PlanTables {
            fov_rows: fov_rows(backend, &grid, &fov)?,
            passes: backend.table(&rows(&plan.passes), Pass::default())?,
            groups: backend.table(&rows(&plan.groups), Group::default())?,
            records: backend.table(&rows(&plan.records), Record::default())?,
            ends: backend.table(&rows(&plan.ends), End::default())?,
            outputs: backend.table(&plan.outputs, 0)?,
            reversed: backend.table(&plan.reversed, 0)?,
        };
        let voxels = Voxels::in_columns(grid, fov, plan.columns());
        Ok(Self {
            difference: Mutex::new(backend.table(&vec![0.0; voxels.len()], 0.0)?),
            is_marked_set: Mutex::new(backend.table(&vec![0; geometry.num_views * geometry.num_tangential], 0)?),
            checked_pace: Mutex::default(),
            views: Views::by_subset(&geometry, BinOrder::Plane).with_tof(tof.map_or(1, |tof| tof.bins.num)),
            geometry,
            voxels,
            num_tangential_rays: rays[0].max(1),
            plan,
            head,
            tables,
            shard: Shard::WHOLE,
            local_lors: Mutex::default(),
            sets: Mutex::default(),
            kernels,
            blocks,
            launches: Launches::default(),
        })
    }

    /// Threads of a block, where all data are one subset.
    ///
    /// # Errors
    /// Device failure.
    pub fn threads_per_block(&self, backend: &CudaBackend) -> Result<u32, OperatorError> {
        Ok(32 * self.sets(backend, Subset::ALL)?.warps_per_block)
    }

    /// Returns the sets of a subset, made on first use.
    fn sets(&self, backend: &CudaBackend, subset: Subset) -> Result<Arc<Sets>, CudaError> {
        let mut known = self.sets.lock().unwrap_or_else(PoisonError::into_inner);
        let key = [subset.index, subset.count];
        if let Some(sets) = known.get(&key) {
            return Ok(Arc::clone(sets));
        }
        let sets = Arc::new(self.new_sets(backend, subset)?);
        known.insert(key, Arc::clone(&sets));
        Ok(sets)
    }

    /// Returns the shard's LORs of a subset, found on first use.
    fn local_lors(&self, subset: Subset) -> Arc<LocalLors> {
        let mut known = self.local_lors.lock().unwrap_or_else(PoisonError::into_inner);
        let new = || {
            let views: Vec<usize> = self.views.of(subset).collect();
            let mirrored = MirrorSets::new(&self.geometry, self.voxels.grid(), self.voxels.fov(), &views);
            let sets = mirrored.of_shard(self.shard);
            let lors = mirrored.runs(sets.clone());
            Arc::new(LocalLors { mirrored, sets, lors })
        };
        Arc::clone(known.entry([subset.index, subset.count]).or_insert_with(new))
    }

    fn new_sets(&self, backend: &CudaBackend, subset: Subset) -> Result<Sets, CudaError> {
        let (grid, fov, num_rays) = (self.voxels.grid(), self.voxels.fov(), self.num_tangential_rays);
        let views: Vec<usize> = self.views.of(subset).collect();
        let local_lors = self.local_lors(subset);
        let LocalLors { mirrored, sets: own_sets, lors } = &*local_lors;
        let warps_per_block = self.warps_for(mirrored.max_len());
        let num_tangential = self.geometry.num_tangential;
        let first = |set: usize| {
            let Mirrored { lor, .. } = mirrored.set(set)[0];
            [views[lor / num_tangential], lor % num_tangential]
        };
        let paths = InPlanePaths::new(&self.geometry, grid, fov, num_rays, own_sets.clone().into_par_iter().map(first));
        let (mut block_paths, mut members) = (Vec::new(), Vec::new());
        let length_mm = |set: usize| -> f64 {
            let [from, to] = [paths.first[set], paths.first[set + 1]].map(|path| path as usize);
            paths.paths[from..to].iter().map(|(path, _)| path.length_mm).sum()
        };
        let mut order: Vec<usize> = (0..own_sets.len()).collect();
        // The longest first: the shortest then fill the gaps at the end.
        order.sort_by(|a, b| length_mm(*b).total_cmp(&length_mm(*a)));
        for index in order {
            let (set, range) = (mirrored.set(own_sets.start + index), &[paths.first[index], paths.first[index + 1]]);
            for block in set.chunks(warps_per_block as usize) {
                block_paths.push(*range);
                let member = |member: &Mirrored| self.plan.member(&Mirrored { lor: lors.place(member.lor), ..*member });
                members.extend(block.iter().map(member).map(Member::from));
                members.resize(block_paths.len() * warps_per_block as usize, MemberRow::NONE.into());
            }
        }
        let rows: Vec<Path> = paths.paths.iter().map(|path| Path::new(path, grid.size[0], self.plan.max_rise_mm)).collect();
        Ok(Sets {
            num_blocks: block_paths.len(),
            warps_per_block,
            paths: backend.table(&rows, Path::default())?,
            block_paths: backend.table(&block_paths, [0; 2])?,
            members: backend.table(&members, MemberRow::NONE.into())?,
        })
    }

    /// Returns the warps of a block for sets of up to `most` LORs: the number with most resident warps; among equals the largest.
    fn warps_for(&self, most: usize) -> u32 {
        let most = most.next_power_of_two() as u32;
        let fitting = self.blocks.iter().filter(|[warps, _]| *warps <= most);
        fitting.max_by_key(|[warps, resident]| (*resident, *warps)).map_or(1, |[warps, _]| *warps)
    }

    /// Returns the number of blocks of `warps` warps that the device runs at once.
    fn resident_blocks(&self, backend: &CudaBackend, warps: u32) -> u32 {
        let resident = self.blocks.iter().find(|[known, _]| *known == warps).map_or(warps, |[_, resident]| *resident);
        resident / warps * backend.info().limits.num_multiprocessors
    }

    /// `difference` = x_z − x_{z+1}.
    fn take_difference(
        &self,
        backend: &CudaBackend,
        x: &CudaArray<Image>,
        difference: &mut CudaSlice<f32>,
    ) -> Result<(), CudaError> {
        self.kernels.take_difference(backend, &x.0, difference, self.head.lanes)
    }

    fn tables<'a>(&'a self, sets: &'a Sets) -> Tables<'a> {
        let t = &self.tables;
        Tables {
            plan: &self.head,
            paths: sets.paths.as_view(),
            set_paths: sets.block_paths.as_view(),
            members: sets.members.as_view(),
            fov_rows: t.fov_rows.as_view(),
            passes: t.passes.as_view(),
            groups: t.groups.as_view(),
            records: t.records.as_view(),
            pass_ends: t.ends.as_view(),
            outputs: t.outputs.as_view(),
            reversed: t.reversed.as_view(),
        }
    }

    fn shape(&self, num_blocks: u32, warps: u32) -> LaunchConfig {
        LaunchConfig {
            grid_dim: (num_blocks, self.kernels.num_courses(), 1),
            block_dim: (32, warps, 1),
            shared_mem_bytes: self.head.shared_bytes(warps),
        }
    }
}

/// The blocks that the GPU has room for, after every kernel has been allowed the shared memory that the largest needs.
fn possible_blocks(kernels: &AxialKernels, head: &Plan) -> Result<Vec<[u32; 2]>, OperatorError> {
    let all = kernels.walking();
    let mut blocks = Vec::new();
    for warps in WARPS_PER_BLOCK {
        let bytes = head.shared_bytes(warps);
        // The largest comes first: its limit suffices for the others.
        let is_allowed = !blocks.is_empty() || bytes <= DEFAULT_SHARED_BYTES;
        if !is_allowed && all.iter().any(|kernel| kernel.allow_shared_bytes(bytes).is_err()) {
            continue;
        }
        let resident = warps * all[0].resident_blocks(32 * warps, bytes)?;
        if resident > 0 {
            blocks.push([warps, resident]);
        }
    }
    if blocks.is_empty() {
        return Err(Misfit::SharedMemory(head.shared_bytes(1) as usize).into());
    }
    Ok(blocks)
}

impl Projecting for AxialRuns {
    fn launches(&self) -> &Launches {
        &self.launches
    }

    fn voxels(&self) -> &Voxels {
        &self.voxels
    }

    fn data_len(&self, subset: Subset) -> usize {
        match self.shard {
            Shard::WHOLE => self.views.len(subset),
            _ => self.local_lors(subset).lors.num_lors() * self.views.num_planes(),
        }
    }

    /// Sets of mirror images.
    fn num_units(&self, backend: &CudaBackend, subset: Subset, _: Direction) -> Result<usize, CudaError> {
        Ok(self.sets(backend, subset)?.num_blocks)
    }

    fn launch_forward(&self, piece: &Piece<'_>, x: &CudaSlice<f32>, out: &mut CudaSlice<f32>) -> Result<(), CudaError> {
        let Piece { backend, subset, ref units } = *piece;
        let sets = self.sets(backend, subset)?;
        let shape = self.shape(units.len() as u32, sets.warps_per_block);
        self.kernels.forward(backend, shape, &self.tables(&sets), x, out, units.start as u32)
    }

    fn launch_add(&self, piece: &Piece<'_>, q: &CudaSlice<f32>, adder: Adder, to: Sum<'_>) -> Result<(), CudaError> {
        let Piece { backend, subset, ref units } = *piece;
        let sets = self.sets(backend, subset)?;
        let (tables, shape) = (self.tables(&sets), self.shape(units.len() as u32, sets.warps_per_block));
        self.kernels.add(backend, shape, &tables, q, adder, to, units.start as u32)
    }

    fn forward(
        &self,
        backend: &mut CudaBackend,
        subset: Subset,
        x: &CudaArray<Image>,
        out: &mut CudaArray<Data>,
        task: &Task,
    ) -> Result<(), OperatorError> {
        let mut difference = self.difference.lock().unwrap_or_else(PoisonError::into_inner);
        self.take_difference(backend, x, &mut difference)?;
        self.project(backend, subset, &difference, out, task)
    }

    fn forward_measured(
        &self,
        backend: &mut CudaBackend,
        subset: Subset,
        x: &CudaArray<Image>,
        measured: &Measured<'_, CudaBackend>,
        out: &mut CudaArray<Data>,
        task: &Task,
    ) -> Result<(), OperatorError> {
        let [(0, range)] = measured.pieces else {
            return Err(OperatorLimit::Pieces.into());
        };
        let measured = measured.values.piece(range.clone())?;
        let mut difference = self.difference.lock().unwrap_or_else(PoisonError::into_inner);
        self.take_difference(backend, x, &mut difference)?;
        let mut is_marked_set = self.is_marked_set.lock().unwrap_or_else(PoisonError::into_inner);
        let mut pace = self.checked_pace.lock().unwrap_or_else(PoisonError::into_inner);
        let sets = self.sets(backend, subset)?;
        let resident_blocks = self.resident_blocks(backend, sets.warps_per_block);
        pace.run(backend, sets.num_blocks, task, |first, count| {
            let (tables, is_marked_set, (first, count)) = (self.tables(&sets), &mut *is_marked_set, (first as u32, count as u32));
            let shape = self.shape(count, sets.warps_per_block);
            self.kernels.checked(backend, shape, &tables, &difference, &measured, &mut out.0, is_marked_set, first)?;
            // Mostly none is marked: no more blocks than the device runs at once.
            let shape = self.shape(resident_blocks.min(count), sets.warps_per_block);
            self.kernels.plain(backend, shape, &tables, &x.0, &mut out.0, is_marked_set, [first, count])
        })
    }
}

impl ProjectingViews for AxialRuns {
    fn views(&self) -> &Views {
        &self.views
    }

    /// Whole sets of mirror images: their data, and with integers the sum, have the same bits for any number of members.
    fn for_shard(self, group: &PeerGroup) -> ShardOperator<CudaBackend> {
        let (all, projector) = (self.views.clone(), Self { shard: group.shard(), ..self });
        let bins = |own: &Self, subset| own.local_lors(subset).lors.bins(own.views.num_planes());
        shard_of_ranges(projector, all, bins, true)
    }
}
