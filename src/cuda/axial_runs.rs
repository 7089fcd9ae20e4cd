//! The axial-run projector on a CUDA device (`kernels/axial_path.cuh`, `kernels/axial_runs.cuh`; the definition is
//! [`crate::operator::AxialRuns`]).

use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use cudarc::driver::{CudaSlice, DeviceRepr, LaunchConfig};
use rayon::prelude::*;

use super::axial_plan::{AxialPlan, EndRow, GroupRow, MemberRow, PassRow, PathRow, PlanHead, RecordRow};
use super::in_plane::{InPlanePaths, fov_rows};
use super::kernel::{Kernel, Module, launch, one_each};
use super::pacing::Pace;
use super::projecting::{Launches, Projecting, ProjectorKernels, scratch_bytes};
use super::shared_runs::SharedRuns;
use super::{CudaArray, CudaBackend, CudaError};
use crate::algebra::{Data, FieldOfView, Image, Share, Team, Voxels};
use crate::geometry::Grid;
use crate::operator::{
    Accumulation, AxialTable, Behind, BinOrder, LinearOperator, LorRuns, Measured, MirrorSets, Mirrored, Misfit, OperatorError,
    OperatorLimit, OwnShare, Subset, ViewProjector, Views,
};
use crate::scanner::ScanGeometry;
use crate::task::Task;

/// Warps of a block that are tried: LORs that share a path.
const WARPS_PER_BLOCK: [u32; 4] = [8, 4, 2, 1];
/// Dynamic shared memory that every block may have.
const DEFAULT_SHARED_BYTES: u32 = 48 << 10;

#[allow(unsafe_code)]
// SAFETY: all are `repr(C)` with fields of plain numbers, laid out as the structs of the kernels.
mod device_repr {
    use super::*;

    unsafe impl DeviceRepr for PathRow {}
    unsafe impl DeviceRepr for MemberRow {}
    unsafe impl DeviceRepr for PassRow {}
    unsafe impl DeviceRepr for RecordRow {}
    unsafe impl DeviceRepr for EndRow {}
    unsafe impl DeviceRepr for GroupRow {}
    unsafe impl DeviceRepr for PlanHead {}
}

/// The axial-run projector. Images are `[y][x][class of z][place]`, zero outside the field of view; data of a subset is its
/// views one after the other, each `[tangential_pos][plane]`.
pub struct AxialRuns {
    pub(super) geometry: Arc<ScanGeometry>,
    voxels: Voxels,
    pub(super) views: Views,
    num_tangential_rays: usize,
    plan: AxialPlan,
    tables: Tables,
    /// Whose LORs are projected; whole sets of mirror images.
    share: Share,
    /// By number and count of the subset.
    own: Mutex<HashMap<[usize; 2], Arc<Own>>>,
    sets: Mutex<HashMap<[usize; 2], Arc<Sets>>>,
    difference_kernel: Kernel,
    /// Forward for what was measured: marks the bins that may be rounding alone, and adds those up again.
    checked_kernel: Kernel,
    plain_kernel: Kernel,
    /// For each set whether it has bins that may be rounding alone; none between two projections.
    is_marked_set: Mutex<CudaSlice<u32>>,
    checked_pace: Mutex<Pace>,
    kernels: ProjectorKernels,
    /// Blocks that there is room for: warps, and how many warps a multiprocessor then holds.
    blocks: Vec<[u32; 2]>,
    /// x_z − x_{z+1}.
    difference: Mutex<CudaSlice<f32>>,
    launches: Launches,
}

/// The LORs of a share of a subset.
pub(super) struct Own {
    mirrored: MirrorSets,
    /// Which of the sets.
    sets: Range<usize>,
    pub lors: LorRuns,
}

/// The plan on the device.
struct Tables {
    fov_rows: CudaSlice<[i32; 2]>,
    passes: CudaSlice<PassRow>,
    groups: CudaSlice<GroupRow>,
    records: CudaSlice<RecordRow>,
    ends: CudaSlice<EndRow>,
    outputs: CudaSlice<u32>,
    reversed: CudaSlice<u32>,
}

/// The sets of mirror images among the LORs of a subset on the device, a block each.
struct Sets {
    num_blocks: usize,
    warps_per_block: u32,
    /// The paths of the first LOR of each set.
    paths: CudaSlice<PathRow>,
    /// For each block its paths, from and up to.
    block_paths: CudaSlice<[u32; 2]>,
    /// For each warp of each block its LOR.
    members: CudaSlice<MemberRow>,
}

/// Launches a kernel on some blocks: `launch_blocks!(self, backend, kernel, sets, num_blocks, argument, …)` with the arguments
/// after the tables.
macro_rules! launch_blocks {
    ($self:expr, $backend:expr, $kernel:expr, $sets:expr, $num_blocks:expr, $($argument:expr),+) => {{
        let (t, sets) = (&$self.tables, $sets);
        launch!(
            $backend.stream, $kernel, $self.shape($num_blocks, sets.warps_per_block), &$self.plan.head, &sets.paths,
            &sets.block_paths, &sets.members, &t.fov_rows, &t.passes, &t.groups, &t.records, &t.ends, &t.outputs, &t.reversed,
            $($argument),+
        )
    }};
}

/// Launches a kernel on `count` sets from `first` on: `launch_sets!(self, backend, kernel, subset, [first, count], argument, …)`
/// with the arguments between the tables and the range.
macro_rules! launch_sets {
    ($self:expr, $backend:expr, $kernel:expr, $subset:expr, $units:expr, $($argument:expr),+) => {{
        let (sets, [first, count]) = ($self.sets($backend, $subset)?, $units.map(|units| units as u32));
        launch_blocks!($self, $backend, $kernel, &*sets, count, $($argument,)+ &first)
    }};
}

impl AxialRuns {
    /// The projector between a grid and a scan; `rays` = lines per bin, tangential and axial.
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
        let fov = FieldOfView::new(&grid, fov_radius_mm);
        let reach = (fov.path_radius_mm / geometry.radius_mm()).min(1.0) + 1e-9;
        let table = AxialTable::new(&geometry, &grid, rays[1].max(1), reach)?;
        let max_steps = InPlanePaths::of_all(&geometry, &grid, &fov, rays[0].max(1)).max_steps();
        let plan = AxialPlan::new(&geometry, &grid, &table, max_steps)?;
        let module = module(backend, &plan)?;
        let kernels = ProjectorKernels::load(&module)?;
        let (checked_kernel, plain_kernel) = (module.kernel("checked")?, module.kernel("plain")?);
        let blocks = possible_blocks(&kernels, [&checked_kernel, &plain_kernel], &plan)?;
        let tables = Tables {
            fov_rows: fov_rows(backend, &grid, &fov)?,
            passes: backend.table(&plan.passes, PassRow::default())?,
            groups: backend.table(&plan.groups, GroupRow::default())?,
            records: backend.table(&plan.records, RecordRow::default())?,
            ends: backend.table(&plan.ends, EndRow::default())?,
            outputs: backend.table(&plan.outputs, 0)?,
            reversed: backend.table(&plan.reversed, 0)?,
        };
        let voxels = Voxels::in_columns(grid, fov, plan.columns());
        Ok(Self {
            difference: Mutex::new(backend.table(&vec![0.0; voxels.len()], 0.0)?),
            difference_kernel: module.kernel("difference")?,
            checked_kernel,
            plain_kernel,
            is_marked_set: Mutex::new(backend.table(&vec![0; geometry.num_views * geometry.num_tangential], 0)?),
            checked_pace: Mutex::default(),
            views: Views::by_subset(&geometry, BinOrder::Plane),
            geometry,
            voxels,
            num_tangential_rays: rays[0].max(1),
            plan,
            tables,
            share: Share::WHOLE,
            own: Mutex::default(),
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

    /// The sets of a subset, made when first needed.
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

    /// The share's LORs of a subset, found when first needed.
    pub(super) fn own(&self, subset: Subset) -> Arc<Own> {
        let mut known = self.own.lock().unwrap_or_else(PoisonError::into_inner);
        let new = || {
            let views: Vec<usize> = self.views.of(subset).collect();
            let mirrored = MirrorSets::new(&self.geometry, self.voxels.grid(), self.voxels.fov(), &views);
            let sets = mirrored.of_share(self.share);
            let lors = mirrored.runs(sets.clone());
            Arc::new(Own { mirrored, sets, lors })
        };
        Arc::clone(known.entry([subset.index, subset.count]).or_insert_with(new))
    }

    fn new_sets(&self, backend: &CudaBackend, subset: Subset) -> Result<Sets, CudaError> {
        let (grid, fov, num_rays) = (self.voxels.grid(), self.voxels.fov(), self.num_tangential_rays);
        let views: Vec<usize> = self.views.of(subset).collect();
        let own = self.own(subset);
        let Own { mirrored, sets: own_sets, lors } = &*own;
        let warps_per_block = self.warps_for(mirrored.most());
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
                members.extend(block.iter().map(member));
                members.resize(block_paths.len() * warps_per_block as usize, MemberRow::NONE);
            }
        }
        let rows: Vec<PathRow> = paths.paths.iter().map(|path| PathRow::new(path, grid.size[0], self.plan.max_rise_mm)).collect();
        Ok(Sets {
            num_blocks: block_paths.len(),
            warps_per_block,
            paths: backend.table(&rows, PathRow::default())?,
            block_paths: backend.table(&block_paths, [0; 2])?,
            members: backend.table(&members, MemberRow::NONE)?,
        })
    }

    /// Warps of a block for sets of so many LORs at most: with which most are resident at once; of equals the most.
    fn warps_for(&self, most: usize) -> u32 {
        let most = most.next_power_of_two() as u32;
        let fitting = self.blocks.iter().filter(|[warps, _]| *warps <= most);
        fitting.max_by_key(|[warps, resident]| (*resident, *warps)).map_or(1, |[warps, _]| *warps)
    }

    /// Blocks of so many warps that the device runs at once.
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
        let (len, lanes) = (self.voxels.len(), self.plan.head.lanes);
        let count = len as u64;
        launch!(backend.stream, self.difference_kernel, one_each(len), &x.0, difference, &lanes, &count)
    }

    fn shape(&self, num_blocks: u32, warps: u32) -> LaunchConfig {
        LaunchConfig { grid_dim: (num_blocks, 1, 1), block_dim: (32, warps, 1), shared_mem_bytes: self.plan.shared_bytes(warps) }
    }
}

/// The kernels for a plan.
fn module(backend: &CudaBackend, plan: &AxialPlan) -> Result<Module, CudaError> {
    let ptx = match (plan.classes, plan.registers) {
        (1, 1) => include_str!("../../kernels/ptx/axial_runs_1_1.ptx"),
        (1, _) => include_str!("../../kernels/ptx/axial_runs_1_2.ptx"),
        (2, 1) => include_str!("../../kernels/ptx/axial_runs_2_1.ptx"),
        (2, _) => include_str!("../../kernels/ptx/axial_runs_2_2.ptx"),
        _ => include_str!("../../kernels/ptx/axial_runs_4_1.ptx"),
    };
    Module::load(&backend.context, ptx)
}

/// The blocks that the GPU has room for, after every kernel has been allowed the shared memory that the largest needs.
fn possible_blocks(kernels: &ProjectorKernels, others: [&Kernel; 2], plan: &AxialPlan) -> Result<Vec<[u32; 2]>, OperatorError> {
    let mut blocks = Vec::new();
    for warps in WARPS_PER_BLOCK {
        let bytes = plan.shared_bytes(warps);
        // The largest comes first: what is allowed then does for the others.
        let is_allowed = !blocks.is_empty() || bytes <= DEFAULT_SHARED_BYTES;
        if !is_allowed && kernels.all().iter().chain(&others).any(|kernel| kernel.allow_shared_bytes(bytes).is_err()) {
            continue;
        }
        let resident = warps * kernels.forward.resident_blocks(32 * warps, bytes)?;
        if resident > 0 {
            blocks.push([warps, resident]);
        }
    }
    if blocks.is_empty() {
        return Err(Misfit::SharedMemory(plan.shared_bytes(1) as usize).into());
    }
    Ok(blocks)
}

impl Projecting for AxialRuns {
    fn kernels(&self) -> &ProjectorKernels {
        &self.kernels
    }

    fn launches(&self) -> &Launches {
        &self.launches
    }

    fn image_len(&self) -> usize {
        self.voxels.len()
    }

    fn data_len(&self, subset: Subset) -> usize {
        match self.share {
            Share::WHOLE => self.views.len(subset),
            _ => self.own(subset).lors.num_lors() * self.geometry.num_planes(),
        }
    }

    /// Sets of mirror images.
    fn num_units(&self, backend: &CudaBackend, subset: Subset) -> Result<usize, CudaError> {
        Ok(self.sets(backend, subset)?.num_blocks)
    }

    fn launch_forward(
        &self,
        backend: &CudaBackend,
        subset: Subset,
        units: [usize; 2],
        x: &CudaSlice<f32>,
        out: &mut CudaSlice<f32>,
    ) -> Result<(), CudaError> {
        launch_sets!(self, backend, self.kernels.forward, subset, units, x, out)
    }

    fn launch_add(
        &self,
        backend: &CudaBackend,
        kernel: &Kernel,
        subset: Subset,
        units: [usize; 2],
        q: &CudaSlice<f32>,
        image: &mut CudaSlice<f32>,
    ) -> Result<(), CudaError> {
        launch_sets!(self, backend, kernel, subset, units, q, image)
    }

    fn launch_fixed(
        &self,
        backend: &CudaBackend,
        subset: Subset,
        units: [usize; 2],
        q: &CudaSlice<f32>,
        image: &mut CudaSlice<u64>,
        scale: f32,
    ) -> Result<(), CudaError> {
        launch_sets!(self, backend, self.kernels.fixed, subset, units, q, image, &scale)
    }
}

impl LinearOperator<CudaBackend> for AxialRuns {
    fn apply(
        &self,
        backend: &mut CudaBackend,
        subset: Subset,
        x: &CudaArray<Image>,
        out: &mut CudaArray<Data>,
        task: &Task,
    ) -> Result<(), OperatorError> {
        self.check_lengths(subset, x, out)?;
        let mut difference = self.difference.lock().unwrap_or_else(PoisonError::into_inner);
        self.take_difference(backend, x, &mut difference)?;
        self.project(backend, subset, &difference, out, task)
    }

    fn expect(
        &self,
        backend: &mut CudaBackend,
        subset: Subset,
        x: &CudaArray<Image>,
        measured: &Measured<'_, CudaBackend>,
        out: &mut CudaArray<Data>,
        task: &Task,
    ) -> Result<(), OperatorError> {
        self.check_lengths(subset, x, out)?;
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
            let units = [first, count];
            launch_sets!(
                self,
                backend,
                self.checked_kernel,
                subset,
                units,
                &*difference,
                &measured,
                &mut out.0,
                &mut *is_marked_set
            )?;
            // Mostly none is marked: no more blocks than the device runs at once.
            let (first, count) = (first as u32, count as u32);
            let num_blocks = resident_blocks.min(count);
            launch_blocks!(
                self,
                backend,
                self.plain_kernel,
                &*sets,
                num_blocks,
                &x.0,
                &mut out.0,
                &mut *is_marked_set,
                &first,
                &count
            )
        })
    }

    fn adjoint(
        &self,
        backend: &mut CudaBackend,
        subset: Subset,
        q: &CudaArray<Data>,
        accumulation: Accumulation,
        out: &mut CudaArray<Image>,
        task: &Task,
    ) -> Result<(), OperatorError> {
        self.backproject(backend, subset, q, accumulation, out, task)
    }

    fn accumulations(&self) -> &'static [Accumulation] {
        Accumulation::OF_LINES
    }

    fn scratch_bytes(&self, subset: Subset, accumulation: Accumulation) -> u64 {
        // (The difference of the image is there already.)
        scratch_bytes(self.voxels.len(), Projecting::data_len(self, subset), accumulation)
    }
}

impl ViewProjector<CudaBackend> for AxialRuns {
    /// Whole sets of mirror images: what they give, and with integers the sum, has the same bits for any number of members.
    fn for_team(self, team: &Team) -> Result<OwnShare<CudaBackend>, OperatorError> {
        let projector = Arc::new(Self { share: team.share(), ..self });
        Ok((Behind(Box::new(Behind(Arc::clone(&projector)))), Box::new(SharedRuns(projector))))
    }

    fn voxels(&self) -> &Voxels {
        &self.voxels
    }

    fn views(&self) -> &Views {
        &self.views
    }
}
