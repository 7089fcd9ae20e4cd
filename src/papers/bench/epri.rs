//! Backprojection of EPRI projections: on the CPU by the plain program, the fast one and the two-stage one, on CUDA by the
//! paper's kernel and the fast one, on any GPU by the fast one; all on the paper's object sizes in one run (Qiao et al. 2015,
//! table 1: CS, CM and GS).

use std::sync::Arc;
use std::time::Instant;

use serde::Serialize;

use super::{BenchDevice, BenchGpu};
use crate::algebra::{Backend, Host, Simd};
use crate::coded::Problem;
#[cfg(feature = "cuda")]
use crate::cuda::{CudaBackend, FastPlanes, PaperPlanes};
use crate::data::{Sweep, Volume};
use crate::geometry::Grid;
use crate::measure::relative_difference;
use crate::operator::{
    FilteredProjections, MultiStage, OperatorError, PlaneBackprojector, SingleStage, backproject_plain, grid_about_zero,
};
use crate::phantom::epri::{self, SweepOptions};
use crate::recon::{FilterSettings, ProjectionFilter, equal_angles_for};
use crate::scanner::epri::Scheme;
use crate::session::thread_pool;
use crate::statistics::{median, median_and_spread};
use crate::task::Task;
use crate::webgpu::{self, WebGpuBackend};

/// Side of the object, mm.
const EXTENT_MM: f64 = 40.0;
/// Samples of a projection, over the side of the object.
const NUM_POINTS: usize = 128;
/// The plain program is omitted if it would take longer than this, seconds.
const MAX_PLAIN_SECS: f64 = 100.0;
/// Fewest measurements of a row that takes less than [`MAX_ROW_SECS`], and most of any row.
const MIN_RUNS: usize = 3;
const MAX_ROW_SECS: f64 = 20.0;
const MAX_RUNS: usize = 25;

#[derive(Clone, Debug)]
pub struct EpriBench {
    /// Voxels along each axis of the object, one after the other.
    pub sizes: Vec<usize>,
    /// Minimum number of projections: directions of equal solid angle come in bands, in the smallest sufficient number.
    pub num_projections: usize,
    /// Numbers of threads of the fast programs.
    pub threads: Vec<usize>,
    /// Also measure the fast program with the other vector instructions of this processor.
    pub all_simd: bool,
    pub gpus: Vec<BenchGpu>,
    /// Maximum duration of the measurements of a row, seconds; there is at least one.
    pub row_secs: f64,
}

/// Kind of a program with any instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProgramKind {
    /// The definition, in double precision and the paper's order.
    Plain,
    /// The paper's kernel on CUDA.
    PaperKernel,
    /// The fast one in one stage.
    SingleStage,
    /// The fast one in two stages.
    MultiStage,
}

/// Which angle is equal between neighbouring directions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, strum::Display)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Directions {
    /// Solid angle of each direction.
    Solid,
    /// Polar angle and azimuth, on a grid.
    Linear,
}

/// Measurements of a program.
#[derive(Clone, Debug, Serialize)]
pub struct EpriRow {
    pub device: BenchDevice,
    /// `plain`, `single-stage` with its instructions, `multi-stage`, or `the paper's kernel` on CUDA.
    pub program: String,
    #[serde(skip)]
    pub kind: ProgramKind,
    pub directions: Directions,
    /// Voxels along each axis.
    pub size: usize,
    pub num_projections: usize,
    pub threads: usize,
    /// Seconds for the backprojection of all, to a volume `[z, y, x]`: median.
    pub median_s: f64,
    /// Half of the interquartile range.
    pub spread_s: f64,
    /// Seconds of the kernels alone by the clock of the GPU, median; where it has one and the image stays there.
    pub kernel_s: Option<f64>,
    pub num_runs: usize,
    /// Voxels times projections per second, also for two stages, which do fewer updates than that.
    pub updates_per_s: f64,
    /// Speed relative to the plain program on this size.
    pub ratio_to_plain: Option<f64>,
    /// Speed relative to the single-stage program on the same data with the same number of threads.
    pub ratio_to_single_stage: Option<f64>,
    /// ‖difference‖ / ‖image‖ to the reference: the plain program for one stage, one stage for two.
    pub difference: Option<f64>,
}

/// Measures all rows; `report` is called with each as it is done.
///
/// # Errors
/// An impossible size, a failed simulation of the data, threads that the system refuses.
pub fn bench_epri(bench: &EpriBench, report: impl FnMut(&EpriRow) + Send) -> Result<Vec<EpriRow>, Problem> {
    let fail = |error: &dyn std::fmt::Display| Problem::new("bench", error.to_string());
    let solid = Scheme::with_at_least(bench.num_projections).map_err(|error| fail(&error))?;
    let [num_polar, num_azimuth] = equal_angles_for(bench.num_projections);
    let data = Data { solid: filtered(solid)?, linear: filtered(Scheme::EqualLinearAngle { num_polar, num_azimuth })? };
    let mut table = Table { bench, data, rows: Vec::new(), report };
    let pools = bench.threads.iter().map(|&threads| Ok((threads, thread_pool(Some(threads))?)));
    let pools: Vec<_> = pools.collect::<Result<_, Problem>>()?;
    for &size in &bench.sizes {
        let grid = grid_about_zero([size; 3], [EXTENT_MM / size.max(1) as f64; 3]).map_err(|error| fail(&error))?;
        let plain = table.plain(&grid)?;
        for (threads, pool) in &pools {
            pool.install(|| table.fast(&grid, *threads, plain.as_deref()))?;
        }
        for gpu in &bench.gpus {
            match *gpu {
                BenchGpu::Cuda(number) => table.on_cuda(number, &grid, plain.as_deref())?,
                BenchGpu::WebGpu(number) => table.on_webgpu(number, &grid, plain.as_deref())?,
            }
        }
    }
    Ok(table.rows)
}

/// Returns the paper's test object, measured along the directions of a scheme and filtered.
fn filtered(scheme: Scheme) -> Result<FilteredProjections, Problem> {
    let step_mm = EXTENT_MM / NUM_POINTS as f64;
    let options = SweepOptions { scheme, num_points: NUM_POINTS, step_mm, ..SweepOptions::default() };
    let phantom = epri::by_name("bottle", options.half_extent_mm()).map_err(Problem::from)?;
    let sweep: Sweep = epri::simulate(&phantom, &options, &Task::new()).map_err(Problem::from)?.measured;
    Ok(ProjectionFilter::new(&sweep, &FilterSettings::default())?.apply(&sweep.projections)?)
}

struct Data {
    solid: FilteredProjections,
    linear: FilteredProjections,
}

impl Data {
    fn of(&self, directions: Directions) -> &FilteredProjections {
        if directions == Directions::Solid { &self.solid } else { &self.linear }
    }
}

/// The rows so far.
struct Table<'a, F> {
    bench: &'a EpriBench,
    data: Data,
    rows: Vec<EpriRow>,
    report: F,
}

/// Measured program.
#[derive(Clone)]
struct Subject {
    device: BenchDevice,
    kind: ProgramKind,
    /// Its name in the row.
    program: String,
    directions: Directions,
    threads: usize,
}

impl Subject {
    fn on_gpu(device: BenchDevice, kind: ProgramKind, program: &str) -> Self {
        Self { device, kind, program: program.into(), directions: Directions::Solid, threads: 0 }
    }
}

impl<F: FnMut(&EpriRow) + Send> Table<'_, F> {
    /// Measures the plain program; returns its image, or `None` if that would take too long.
    fn plain(&mut self, grid: &Grid) -> Result<Option<Vec<f32>>, Problem> {
        let mut image = vec![0.0f64; grid.num_voxels()];
        let start = Instant::now();
        let first = self.data.solid.first();
        backproject_plain(grid, &first, &mut image, &Task::new())?;
        if start.elapsed().as_secs_f64() * self.data.solid.len() as f64 > MAX_PLAIN_SECS {
            return Ok(None);
        }
        let secs = self.times(|data| {
            image.fill(0.0);
            backproject_plain(grid, &data.solid, &mut image, &Task::new())
        })?;
        let what = Subject {
            device: BenchDevice::Cpu,
            kind: ProgramKind::Plain,
            program: "plain".into(),
            directions: Directions::Solid,
            threads: 1,
        };
        self.add(what, grid.size[0], None, secs, None);
        Ok(Some(image.iter().map(|&value| value as f32).collect()))
    }

    fn fast(&mut self, grid: &Grid, threads: usize, plain: Option<&[f32]>) -> Result<(), Problem> {
        let levels = if self.bench.all_simd { Simd::available() } else { vec![Simd::detect()] };
        let single = |simd: Simd, directions| {
            let program = format!("single-stage ({})", simd.name());
            Subject { device: BenchDevice::Cpu, kind: ProgramKind::SingleStage, program, directions, threads }
        };
        for simd in levels {
            let fast = SingleStage::new(grid.clone()).with_simd(simd);
            self.measure(&mut Host, fast, single(simd, Directions::Solid), plain)?;
        }
        let fast = SingleStage::new(grid.clone());
        let one_stage = self.measure(&mut Host, fast, single(Simd::detect(), Directions::Linear), None)?;
        let (kind, program) = (ProgramKind::MultiStage, "multi-stage".into());
        let two_stages = Subject { device: BenchDevice::Cpu, kind, program, directions: Directions::Linear, threads };
        self.measure(&mut Host, MultiStage::new(grid.clone()), two_stages, Some(&one_stage))?;
        Ok(())
    }

    /// Measures the paper's kernel and the fast one.
    #[cfg(feature = "cuda")]
    fn on_cuda(&mut self, number: usize, grid: &Grid, plain: Option<&[f32]>) -> Result<(), Problem> {
        let fail = |error: crate::cuda::CudaError| Problem::from(error);
        let mut backend = CudaBackend::open(number).map_err(fail)?;
        let of = |kind, name: &str| Subject::on_gpu(BenchDevice::Cuda, kind, name);
        let paper = PaperPlanes::new(&backend, grid.clone())?;
        self.measure(&mut backend, paper, of(ProgramKind::PaperKernel, "the paper's kernel"), None)?;
        let fast = FastPlanes::new(&backend, grid.clone()).map_err(fail)?;
        self.measure(&mut backend, fast, of(ProgramKind::SingleStage, "single-stage"), plain)?;
        Ok(())
    }

    #[cfg(not(feature = "cuda"))]
    fn on_cuda(&mut self, _: usize, _: &Grid, _: Option<&[f32]>) -> Result<(), Problem> {
        Err(super::without_cuda())
    }

    fn on_webgpu(&mut self, number: usize, grid: &Grid, plain: Option<&[f32]>) -> Result<(), Problem> {
        let mut backend = WebGpuBackend::open(number).map_err(Problem::from)?;
        let what = Subject::on_gpu(BenchDevice::Gpu, ProgramKind::SingleStage, "single-stage");
        self.measure(&mut backend, webgpu::Planes::new(grid.clone()), what, plain)?;
        Ok(())
    }

    /// Measures a program; returns its image. On a GPU twice: with the image left on the device, and with it brought to the host.
    fn measure<B: Backend>(
        &mut self,
        backend: &mut B,
        mut program: impl PlaneBackprojector<B>,
        what: Subject,
        reference: Option<&[f32]>,
    ) -> Result<Vec<f32>, Problem> {
        // Not zeros: the system would only make their pages in the first run, which is timed.
        let mut image = backend.upload(Arc::new(vec![1.0f32; program.grid().num_voxels()]))?;
        let size = program.grid().size[0];
        let mut volume = Volume::filled(program.grid().clone(), 1.0);
        let directions = what.directions;
        if !B::SHARES_MEMORY {
            program.add(backend, self.data.of(directions), &mut image, &Task::new())?;
            let secs = self.times(|data| {
                program.add(backend, data.of(directions), &mut image, &Task::new())?;
                Ok(backend.finish()?)
            })?;
            let computing = Subject { program: format!("{}, computing", what.program), ..what.clone() };
            let kernel_s =
                self.kernel_secs(backend, |backend, data| program.add(backend, data.of(directions), &mut image, &Task::new()))?;
            self.add(computing, size, None, secs, kernel_s);
        }
        // As for the window: a device has a fast way to bring an image to the screen.
        let mut display = backend.display(program.grid().size, &|voxel| voxel)?;
        let secs = self.times(|data| {
            program.add(backend, data.of(directions), &mut image, &Task::new())?;
            match &mut display {
                Some(display) => backend.begin_copy(&image, 1.0, display)?.fill(volume.as_mut_slice())?,
                None => backend.read(&image, |image| volume.as_mut_slice().copy_from_slice(image))?,
            }
            Ok(())
        })?;
        // Every run above added to the image; the compared image is that of one run.
        backend.fill(&mut image, 0.0)?;
        program.add(backend, self.data.of(directions), &mut image, &Task::new())?;
        backend.read(&image, |image| volume.as_mut_slice().copy_from_slice(image))?;
        let image = volume.values.into_raw_vec_and_offset().0;
        let difference = reference.map(|reference| relative_difference(&image, reference));
        self.add(what, size, difference, secs, None);
        Ok(image)
    }

    fn times(&self, mut run: impl FnMut(&Data) -> Result<(), OperatorError>) -> Result<Vec<f64>, OperatorError> {
        let mut secs = Vec::new();
        let begin = Instant::now();
        // (A run that a busy machine made long is seen by others.)
        let is_due = |num_runs: usize, elapsed_secs: f64| match num_runs {
            0 => true,
            num if num < MIN_RUNS => elapsed_secs < MAX_ROW_SECS,
            num => elapsed_secs < self.bench.row_secs && num < MAX_RUNS,
        };
        while is_due(secs.len(), begin.elapsed().as_secs_f64()) {
            let start = Instant::now();
            run(&self.data)?;
            secs.push(start.elapsed().as_secs_f64());
        }
        Ok(secs)
    }

    /// Returns the median seconds of the kernels of a run, where the device measures them.
    fn kernel_secs<B: Backend>(
        &self,
        backend: &mut B,
        mut run: impl FnMut(&mut B, &Data) -> Result<(), OperatorError>,
    ) -> Result<Option<f64>, OperatorError> {
        if !backend.time_kernels()? {
            return Ok(None);
        }
        let mut secs = Vec::new();
        for _ in 0..MAX_RUNS {
            run(backend, &self.data)?;
            secs.extend(backend.take_kernel_secs()?);
        }
        Ok(median(secs))
    }

    fn add(&mut self, what: Subject, size: usize, difference: Option<f64>, secs: Vec<f64>, kernel_s: Option<f64>) {
        let Subject { device, kind, program, directions, threads } = what;
        let num_projections = self.data.of(directions).len();
        let num_runs = secs.len();
        let (median_s, spread_s) = median_and_spread(secs).unwrap_or_default();
        let of_size = || self.rows.iter().filter(move |row| row.size == size);
        let plain = of_size().find(|row| row.kind == ProgramKind::Plain);
        let single = of_size()
            .find(|row| row.kind == ProgramKind::SingleStage && row.directions == directions && row.threads == threads)
            .filter(|_| kind == ProgramKind::MultiStage);
        let updates = size.pow(3) as f64 * num_projections as f64;
        let row = EpriRow {
            device,
            ratio_to_plain: plain.map(|base| base.median_s / median_s),
            ratio_to_single_stage: single.map(|base| base.median_s / median_s),
            updates_per_s: updates / median_s,
            kind,
            program,
            directions,
            size,
            num_projections,
            threads,
            median_s,
            spread_s,
            kernel_s,
            num_runs,
            difference,
        };
        (self.report)(&row);
        self.rows.push(row);
    }
}
