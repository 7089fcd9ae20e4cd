//! The axial-run projector on any GPU (`shaders/compute/axial_runs.wgsl`; the definition is [`crate::operator::AxialRuns`]).

use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use bytemuck::{Pod, Zeroable};
use rayon::prelude::*;

use super::adding::{Adder, AddingKernel, accumulations};
use super::array::{Segment, Segments, WebGpuArray, in_both};
use super::axial_tables::{PlanTables, Scan, SetTables};
use super::backend::{GROUP_LEN, WebGpuBackend};
use super::commands::Commands;
use super::device::opened::Gpu;
use super::error::WebGpuError;
use super::kernel::{Kernel, THREADS};
use super::projecting::{Direction, Launches, Projecting, ProjectingViews, Target};
use super::unroll::unrolled;
use crate::algebra::{Data, FieldOfView, Image, Voxels};
use crate::geometry::Grid;
use crate::operator::{
    Accumulation, AxialPlan, AxialTable, BinOrder, InPlanePaths, MAX_MIRRORED, Measured, MirrorSets, Misfit, OperatorError,
    OperatorLimit, PlainBins, Subset, Views,
};
use crate::scanner::ScanGeometry;
use crate::task::Task;

/// Values of a class that a thread holds at most.
const MAX_REGISTERS: usize = 8;

/// LORs of a group of threads: the first that is not more than mirror images of each other, and that shared memory has room for.
const ROWS: [usize; 3] = [4, 2, 1];

/// Room for the numbers of doubtful bins, until there are more.
const NUM_DOUBTFUL: usize = 1 << 16;

/// The axial-run projector. Images are `[y][x][class of z][place]`, zero outside the field of view; data of a subset is its
/// views one after the other, each `[tangential_pos][plane]`.
pub struct AxialRuns {
    geometry: Arc<ScanGeometry>,
    voxels: Voxels,
    views: Views,
    num_tangential_rays: usize,
    plan: AxialPlan,
    tables: PlanTables,
    /// By the LORs of a group of threads.
    programs: Mutex<HashMap<usize, Arc<Program>>>,
    plan_words: wgpu::Buffer,
    records: wgpu::Buffer,
    /// By number and count of the subset.
    sets: Mutex<HashMap<[usize; 2], Arc<Sets>>>,
    /// Steps of a table at most.
    max_steps: usize,
    check: Kernel,
    scatter: Kernel,
    /// For each LOR of a subset the bound of the rounding of its bins.
    bounds: wgpu::Buffer,
    plain: PlainBins,
    /// Numbers of doubtful bins.
    doubtful: Mutex<wgpu::Buffer>,
    accumulations: &'static [Accumulation],
    launches: Launches,
}

/// The sets of mirror images among the LORs of a subset on the device.
struct Sets {
    program: Arc<Program>,
    num_groups: usize,
    parts: Vec<Part>,
}

/// The kernels of both directions, for one number of LORs of a group of threads.
struct Program {
    rows: usize,
    forward: Kernel,
    back: AddingKernel,
}

struct Part {
    groups: Range<usize>,
    paths_at: u32,
    words: wgpu::Buffer,
    steps: wgpu::Buffer,
}

/// `Parameters` of the kernels.
#[repr(C)]
#[derive(Clone, Copy, Default, Pod, Zeroable)]
struct Parameters {
    first_group: u32,
    num_groups: u32,
    paths_at: u32,
    scale: f32,
    image_first: u32,
    image_len: u32,
    bins_first: u32,
    bins_len: u32,
    replaces: u32,
}

/// `Check` of check_bins.wgsl.
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
struct Check {
    first: u32,
    len: u32,
    bins_at: u32,
    measured_at: u32,
    num_planes: u32,
}

impl AxialRuns {
    /// Makes the projector between a grid and a scan; `rays` = rays per LOR, tangential and axial.
    ///
    /// # Errors
    /// Neighbouring planes are not a whole number of voxels apart, the image has more z than a group of threads holds, the scan more
    /// planes than its shared memory; device failure.
    pub fn new(
        backend: &mut WebGpuBackend,
        geometry: Arc<ScanGeometry>,
        grid: Grid,
        fov_radius_mm: f64,
        rays: [usize; 2],
    ) -> Result<Self, OperatorError> {
        let fov = FieldOfView::new(&grid, fov_radius_mm);
        let reach = (fov.path_radius_mm / geometry.radius_mm()).min(1.0) + 1e-9;
        let table = AxialTable::new(&geometry, &grid, rays[1].max(1), reach)?;
        let most = InPlanePaths::of_all(&geometry, &grid, &fov, rays[0].max(1)).max_steps();
        let registers = |_, least: usize| Some(least).filter(|registers| *registers <= MAX_REGISTERS);
        let plan = AxialPlan::new(&geometry, &grid, &table, most, registers)?;
        let voxels = Voxels::in_columns(grid, fov, plan.columns());
        let gpu = Arc::clone(backend.gpu());
        let (is_split, shared_bytes) = (voxels.len() > gpu.segment_len, gpu.limits.max_compute_workgroup_storage_size);
        let tables = PlanTables::new(&plan, is_split);
        if tables.shared_bytes(1) > shared_bytes {
            return Err(Misfit::SharedMemory(tables.shared_bytes(1) as usize).into());
        }
        let checks = include_str!("../../../shaders/compute/check_bins.wgsl");
        let plain = PlainBins::new(Arc::clone(&geometry), voxels.clone(), rays);
        Ok(Self {
            check: gpu.kernel("check_bins", checks)?,
            scatter: gpu.kernel("scatter", checks)?,
            bounds: backend.table(&vec![0.0f32; geometry.num_transaxial()])?,
            doubtful: Mutex::new(backend.table(&vec![0u32; NUM_DOUBTFUL + 1])?),
            plan_words: backend.table(&tables.words)?,
            records: backend.table(&tables.records)?,
            views: Views::by_subset(&geometry, BinOrder::Plane),
            max_steps: gpu.segment_len / 4,
            accumulations: accumulations(&gpu),
            sets: Mutex::default(),
            num_tangential_rays: rays[0].max(1),
            programs: Mutex::default(),
            tables,
            launches: Launches::default(),
            geometry,
            voxels,
            plan,
            plain,
        })
    }

    /// Returns the sets of a subset, made on first use.
    fn sets(&self, backend: &mut WebGpuBackend, subset: Subset) -> Result<Arc<Sets>, WebGpuError> {
        let mut known = self.sets.lock().unwrap_or_else(PoisonError::into_inner);
        let key = [subset.index, subset.count];
        if let Some(sets) = known.get(&key) {
            return Ok(Arc::clone(sets));
        }
        let (grid, fov, num_rays) = (self.voxels.grid(), self.voxels.fov(), self.num_tangential_rays);
        let views: Vec<usize> = self.views.of(subset).collect();
        let mirrored = MirrorSets::new(&self.geometry, grid, fov, &views);
        let program = self.program(backend.gpu(), mirrored.max_len())?;
        let scan = Scan { geometry: &self.geometry, grid, fov, num_rays, plan: &self.plan, rows: program.rows };
        let parts = scan.tables(&views, &mirrored, self.max_steps).into_iter().map(|table| {
            let SetTables { groups, words, paths_at, steps } = table;
            Ok(Part { groups, paths_at: paths_at as u32, words: backend.table(&words)?, steps: backend.table(&steps)? })
        });
        let parts = parts.collect::<Result<Vec<Part>, WebGpuError>>()?;
        let num_groups = parts.last().map_or(0, |part| part.groups.end);
        let sets = Arc::new(Sets { program, num_groups, parts });
        known.insert(key, Arc::clone(&sets));
        Ok(sets)
    }

    /// Returns the kernels for sets of up to `most` LORs, compiled on first use.
    fn program(&self, gpu: &Gpu, most: usize) -> Result<Arc<Program>, WebGpuError> {
        let fits = |rows: &usize| {
            *rows <= most.next_power_of_two() && self.tables.shared_bytes(*rows) <= gpu.limits.max_compute_workgroup_storage_size
        };
        let rows = ROWS.into_iter().find(fits).unwrap_or(1);
        let mut programs = self.programs.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(program) = programs.get(&rows) {
            return Ok(Arc::clone(program));
        }
        let [forward, back] = sources(&self.tables, rows, gpu.info.has_wide_subgroups);
        let program = Program { rows, forward: gpu.kernel("forward", &forward)?, back: AddingKernel::new("backproject", back) };
        Ok(Arc::clone(programs.entry(rows).or_insert(Arc::new(program))))
    }

    /// Returns the sets of a subset that is prepared.
    fn known_sets(&self, subset: Subset) -> Option<Arc<Sets>> {
        let known = self.sets.lock().unwrap_or_else(PoisonError::into_inner);
        known.get(&[subset.index, subset.count]).map(Arc::clone)
    }

    /// Calls `record` for each part of the tables that has some of the LORs.
    fn with_parts(&self, sets: &Sets, units: Range<usize>, mut record: impl FnMut(&Part, Parameters)) {
        for part in &sets.parts {
            let groups = part.groups.start.max(units.start)..part.groups.end.min(units.end);
            if !groups.is_empty() {
                record(
                    part,
                    Parameters {
                        first_group: (groups.start - part.groups.start) as u32,
                        num_groups: groups.len() as u32,
                        paths_at: part.paths_at,
                        ..Parameters::default()
                    },
                );
            }
        }
    }

    /// Sets negative bins to 0, and returns the numbers of those that may be rounding alone and have counts.
    fn doubtful_bins(
        &self,
        backend: &mut WebGpuBackend,
        bins: &Segments,
        measured: &Segments,
        range: Range<usize>,
    ) -> Result<Vec<u32>, WebGpuError> {
        let mut doubtful = self.doubtful.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            backend.commands.encoder().clear_buffer(&doubtful, 0, Some(4));
            let mut first = 0;
            for both in in_both(bins, 0, measured, range.clone()) {
                let check = Check {
                    first,
                    len: both.len as u32,
                    bins_at: both.x_at as u32,
                    measured_at: both.y_at as u32,
                    num_planes: self.geometry.num_planes() as u32,
                };
                first += both.len as u32;
                let buffers = [both.x, both.y, &self.bounds, &doubtful];
                backend.commands.dispatch(&self.check, both.len.div_ceil(GROUP_LEN), &check, &buffers);
            }
            let num = backend.read_table::<u32>(&doubtful, 1)?[0] as usize;
            if num < doubtful.size() as usize / 4 {
                return Ok(if num == 0 { Vec::new() } else { backend.read_table(&doubtful, 1 + num)?.split_off(1) });
            }
            // There was no room for all.
            *doubtful = backend.table(&vec![0u32; 2 * num])?;
        }
    }

    /// Sums some bins of a subset again, on the host in f64, as the definition does.
    fn sum_again(
        &self,
        backend: &mut WebGpuBackend,
        subset: Subset,
        x: &WebGpuArray<Image>,
        numbers: &[u32],
        bins: &Segments,
    ) -> Result<(), WebGpuError> {
        let (num_planes, num_tangential) = (self.geometry.num_planes(), self.geometry.num_tangential);
        let views: Vec<usize> = self.views.of(subset).collect();
        let image: Vec<f32> = backend.read_values(&x.0, 0..x.len())?;
        let sum = |&bin: &u32| {
            let (lor, plane) = (bin as usize / num_planes, bin as usize % num_planes);
            self.plain.sum([views[lor / num_tangential], lor % num_tangential], plane, 0, &image)
        };
        let sums: Vec<f32> = numbers.par_iter().map(sum).collect();
        // (The smallest buffer has room for more.)
        let num = numbers.len();
        let (numbers, sums) = (backend.table(numbers)?, backend.table(&sums)?);
        for Segment { buffer, places } in bins.all() {
            let (first, len) = (places.start as u32, places.len() as u32);
            let scatter = Check { first, len, bins_at: num as u32, measured_at: 0, num_planes: 0 };
            backend.commands.dispatch(&self.scatter, num.div_ceil(THREADS), &scatter, &[buffer, &numbers, &sums]);
        }
        Ok(())
    }
}

/// Returns the WGSL texts of both directions; `rows` = LORs of a group of threads,
/// `knows_neighbours` = a row of threads lies in a subgroup.
pub(super) fn sources(tables: &PlanTables, rows: usize, knows_neighbours: bool) -> [String; 2] {
    let neighbours = if knows_neighbours {
        include_str!("../../../shaders/compute/neighbours/subgroups.wgsl")
    } else {
        include_str!("../../../shaders/compute/neighbours/alone.wgsl")
    };
    let forward = unrolled(include_str!("../../../shaders/compute/axial_runs.wgsl"), &tables.counts);
    let back = unrolled(include_str!("../../../shaders/compute/axial_runs_back.wgsl"), &tables.counts);
    let constants = format!("const ROWS: u32 = {rows}u;\n{}", tables.constants);
    let forward = format!("{constants}\n{neighbours}\n{forward}");
    let back = format!("{forward}\n{back}");
    [forward, back]
}

impl Projecting for AxialRuns {
    fn launches(&self) -> &Launches {
        &self.launches
    }

    fn voxels(&self) -> &Voxels {
        &self.voxels
    }

    fn data_len(&self, subset: Subset) -> usize {
        self.views.len(subset)
    }

    fn accumulations(&self) -> &'static [Accumulation] {
        self.accumulations
    }

    /// Groups of threads.
    fn num_units(&self, subset: Subset, _: Direction) -> usize {
        self.known_sets(subset).map_or(0, |sets| sets.num_groups)
    }

    /// The tables of the paths: a step for each of half the columns on the way, of every set of mirror images.
    fn own_bytes(&self, subset: Subset) -> u64 {
        let num_sets = self.views.of(subset).len() * self.geometry.num_tangential / MAX_MIRRORED + 1;
        16 * (num_sets * self.num_tangential_rays * self.plan.head.max_steps as usize) as u64
    }

    fn prepare(&self, backend: &mut WebGpuBackend, subset: Subset, adder: Option<Adder>) -> Result<(), OperatorError> {
        let sets = self.sets(backend, subset)?;
        if let Some(adder) = adder {
            sets.program.back.get(backend.gpu(), adder)?;
        }
        Ok(())
    }

    fn record_forward(
        &self,
        commands: &mut Commands,
        subset: Subset,
        units: Range<usize>,
        x: &Segments,
        out: &Segments,
    ) -> Result<(), WebGpuError> {
        let Some(sets) = self.known_sets(subset) else { return Ok(()) };
        self.with_parts(&sets, units, |part, parameters| {
            for bins in out.of(0..self.data_len(subset)).map(|(segment, _)| segment) {
                for (number, image) in x.all().enumerate() {
                    let parameters = Parameters { replaces: u32::from(number == 0), ..parameters.between(&image, &bins) };
                    let [plan, records] = [&self.plan_words, &self.records];
                    let buffers = [plan, records, &part.words, &part.steps, image.buffer, bins.buffer, &self.bounds];
                    commands.dispatch(&sets.program.forward, parameters.num_groups as usize, &parameters, &buffers);
                }
            }
        });
        Ok(())
    }

    fn record_add(
        &self,
        commands: &mut Commands,
        subset: Subset,
        units: Range<usize>,
        q: &Segments,
        to: &Target<'_>,
    ) -> Result<(), WebGpuError> {
        let Some(sets) = self.known_sets(subset) else { return Ok(()) };
        let kernel = sets.program.back.get(commands.gpu(), to.adder)?;
        self.with_parts(&sets, units, |part, parameters| {
            for bins in q.of(0..self.data_len(subset)).map(|(segment, _)| segment) {
                for image in to.sums.all() {
                    let parameters = Parameters { scale: to.scale, ..parameters.between(&image, &bins) };
                    let [plan, records] = [&self.plan_words, &self.records];
                    let buffers = [plan, records, &part.words, &part.steps, bins.buffer, image.buffer];
                    commands.dispatch(&kernel, parameters.num_groups as usize, &parameters, &buffers);
                }
            }
        });
        Ok(())
    }

    fn forward_measured(
        &self,
        backend: &mut WebGpuBackend,
        subset: Subset,
        x: &WebGpuArray<Image>,
        measured: &Measured<'_, WebGpuBackend>,
        out: &mut WebGpuArray<Data>,
        task: &Task,
    ) -> Result<(), OperatorError> {
        let [(0, range)] = measured.pieces else {
            return Err(OperatorLimit::Pieces.into());
        };
        measured.values.expect_range(range)?;
        self.forward(backend, subset, x, out, task)?;
        let numbers = self.doubtful_bins(backend, &out.0, &measured.values.0, range.clone())?;
        if !numbers.is_empty() {
            self.sum_again(backend, subset, x, &numbers, &out.0)?;
        }
        Ok(())
    }
}

impl Parameters {
    /// The same between one buffer of the image and one of the data.
    fn between(self, image: &Segment<'_>, bins: &Segment<'_>) -> Self {
        Self {
            image_first: image.places.start as u32,
            image_len: image.places.len() as u32,
            bins_first: bins.places.start as u32,
            bins_len: bins.places.len() as u32,
            ..self
        }
    }
}

impl ProjectingViews for AxialRuns {
    fn views(&self) -> &Views {
        &self.views
    }
}
