//! Forward projection and backprojection: every projector, device and accumulation on the same data in one run.

use std::sync::Arc;

use rayon::prelude::*;
use serde::Serialize;
#[cfg(feature = "cuda")]
use strum::VariantArray as _;

use super::{BenchDevice, BenchGpu, timed};
use crate::algebra::{Backend, Host, Simd};
use crate::coded::Problem;
#[cfg(feature = "cuda")]
use crate::cuda::{self, BinDriven, CudaBackend};
use crate::data::Volume;
use crate::geometry::Grid;
#[cfg(feature = "cuda")]
use crate::operator::BinOrder;
use crate::operator::{Accumulation, AxialRuns, OperatorError, Siddon, Subset, ViewProjector};
use crate::scanner::ScanGeometry;
use crate::session::thread_pool;
use crate::statistics::median_and_spread;
use crate::task::Task;
use crate::webgpu::{self, WebGpuBackend};

/// The slow projector does one view in this many on the CPU; its times are scaled to all and marked.
const PER_LOR_VIEW_STEP: usize = 28;
/// One view in this many is walked to count the voxels that all lines visit.
const COUNTED_VIEW_STEP: usize = 70;
/// Threads of a block that the bin-driven kernels are measured with.
#[cfg(feature = "cuda")]
const BLOCK_SIZES: [u32; 5] = [64, 128, 256, 512, 1024];

#[derive(Clone, Debug)]
pub struct ProjectorBench {
    pub geometry: Arc<ScanGeometry>,
    pub grid: Grid,
    pub fov_radius_mm: f64,
    /// Numbers of threads to try on the CPU; none = no CPU.
    pub threads: Vec<usize>,
    pub gpus: Vec<BenchGpu>,
    /// True to measure the projector per LOR, the baseline of the ratios.
    pub per_lor: bool,
    /// True to measure the fast projector.
    pub axial_runs: bool,
    pub accumulations: Vec<Accumulation>,
    /// Instruction levels of the fast projector on the CPU to try.
    pub simd: Vec<Simd>,
    /// Measure for about this long in all, seconds.
    pub budget_secs: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, strum::Display)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Direction {
    /// From an image to data.
    Forward,
    /// From data to an image.
    Backprojection,
}

/// Measurements of a projector in one direction.
#[derive(Clone, Debug, Serialize)]
pub struct ProjectorRow {
    pub device: BenchDevice,
    /// `per-lor`, `bin-driven` with the order of its bins, or `axial-runs`; with its instructions on the CPU.
    pub projector: String,
    pub direction: Direction,
    /// Accumulation, for the backprojection.
    pub accumulation: Option<Accumulation>,
    /// Threads on the CPU, threads of a block on CUDA (0 where the projector chooses).
    pub threads: usize,
    /// Seconds for the whole scan: median.
    pub median_s: f64,
    /// Half of the interquartile range.
    pub spread_s: f64,
    pub lors_per_s: f64,
    /// Visits of a voxel by a line per second. The number of visits is that of a walk along every line, for any projector.
    pub voxel_visits_per_s: f64,
    /// Number of measurements after a first one that does not count.
    pub num_runs: usize,
    /// Part of the views that was measured; times are scaled to all.
    pub measured_views: String,
    /// True for a baseline of the ratios.
    #[serde(skip)]
    pub is_baseline: bool,
    /// Speed relative to the baseline. On the CPU: the projector per LOR with the same threads, in its deterministic
    /// backprojection. On CUDA: the fastest bin-driven kernel, in its atomic backprojection.
    pub ratio: Option<f64>,
}

impl ProjectorRow {
    fn is_baseline_of(&self, other: &ProjectorRow) -> bool {
        let (accumulation, threads) = match self.device {
            BenchDevice::Cuda | BenchDevice::Gpu => (Accumulation::Atomic, true),
            BenchDevice::Cpu => (Accumulation::Deterministic, self.threads == other.threads),
        };
        self.device == other.device
            && self.direction == other.direction
            && threads
            && self.is_baseline
            && self.accumulation.is_none_or(|a| a == accumulation)
    }
}

/// Measures all rows; `report` is called with each as it is done.
///
/// # Errors
/// A geometry that the fast projector lacks, a missing device, a projector that fails.
pub fn bench_projector(bench: &ProjectorBench, report: impl FnMut(&ProjectorRow) + Send) -> Result<Vec<ProjectorRow>, Problem> {
    let visits = voxel_visits(bench);
    let mut table = Table { bench, visits, rows: Vec::new(), report };
    for &threads in &bench.threads {
        thread_pool(Some(threads))?.install(|| table.on_cpu(threads))?;
    }
    for gpu in &bench.gpus {
        match *gpu {
            BenchGpu::Cuda(number) => table.on_cuda(number)?,
            BenchGpu::WebGpu(number) => table.on_webgpu(number)?,
        }
    }
    Ok(table.rows)
}

/// Returns the number of voxels that all lines of a scan visit, from some of its views.
fn voxel_visits(bench: &ProjectorBench) -> f64 {
    let geometry = &bench.geometry;
    let siddon = Siddon::new(Arc::clone(geometry), bench.grid.clone(), bench.fov_radius_mm, [1, 1]);
    let planes = geometry.planes();
    let subset = Subset { index: 0, count: COUNTED_VIEW_STEP.min(geometry.num_views) };
    let views: Vec<usize> = subset.views(geometry.num_views).collect();
    let lors = views.par_iter().flat_map(|&view| (0..geometry.num_tangential).into_par_iter().map(move |t| (view, t)));
    let counted: usize = lors
        .map(|(view, tangential_pos)| {
            let transaxial = geometry.transaxial_lor(view, tangential_pos, 0, 1);
            let mut visits = 0;
            for &plane in &planes {
                siddon.walk(&geometry.lor(transaxial, plane), |_, _| visits += 1);
            }
            visits
        })
        .sum();
    counted as f64 * geometry.num_views as f64 / views.len() as f64
}

/// Measured projector.
struct Subject<'a> {
    device: BenchDevice,
    projector: String,
    is_baseline: bool,
    threads: usize,
    subset: Subset,
    /// Accumulations of the backprojection; `None` = forward projection.
    ways: &'a [Option<Accumulation>],
}

impl<'a> Subject<'a> {
    /// Returns all views of a nameless projector that is no baseline.
    fn new(device: BenchDevice, threads: usize, ways: &'a [Option<Accumulation>]) -> Self {
        Self { device, projector: String::new(), is_baseline: false, threads, subset: Subset::ALL, ways }
    }
}

/// The rows so far.
struct Table<'a, F> {
    bench: &'a ProjectorBench,
    visits: f64,
    rows: Vec<ProjectorRow>,
    report: F,
}

impl<F: FnMut(&ProjectorRow) + Send> Table<'_, F> {
    /// Returns forward projection and backprojection with every requested accumulation.
    fn ways(&self) -> Vec<Option<Accumulation>> {
        std::iter::once(None).chain(self.bench.accumulations.iter().copied().map(Some)).collect()
    }

    fn on_cpu(&mut self, threads: usize) -> Result<(), Problem> {
        let bench = self.bench;
        let ways = self.ways();
        let geometry = || Arc::clone(&bench.geometry);
        let of_cpu = Subject::new(BenchDevice::Cpu, threads, &ways);
        if bench.per_lor {
            let siddon = Siddon::new(geometry(), bench.grid.clone(), bench.fov_radius_mm, [1, 1]);
            let subset = Subset { index: 0, count: PER_LOR_VIEW_STEP.min(bench.geometry.num_views) };
            let projector = "per-lor".into();
            self.measure(&mut Host, &siddon, Subject { projector, is_baseline: true, subset, ..of_cpu })?;
        }
        if bench.axial_runs {
            for &simd in &bench.simd {
                let fast = AxialRuns::new(geometry(), bench.grid.clone(), bench.fov_radius_mm, [1, 1])?.with_simd(simd);
                let projector = format!("axial-runs ({})", fast.simd().name());
                self.measure(&mut Host, &fast, Subject { projector, ..of_cpu })?;
            }
        }
        Ok(())
    }

    #[cfg(feature = "cuda")]
    fn on_cuda(&mut self, number: usize) -> Result<(), Problem> {
        let bench = self.bench;
        let mut device = CudaBackend::open(number).map_err(Problem::from)?;
        let ways = self.ways();
        let (grid, radius_mm) = (&bench.grid, bench.fov_radius_mm);
        if bench.per_lor {
            // Every accumulation with the default block; the baselines with every block.
            for &order in BinOrder::VARIANTS {
                for block in std::iter::once(None).chain(BLOCK_SIZES.map(Some)) {
                    let new = BinDriven::new(&device, Arc::clone(&bench.geometry), grid.clone(), radius_mm, [1, 1], block);
                    let Ok(plain) = new else { continue };
                    let plain = plain.with_order(order);
                    let projector = format!("bin-driven {order}");
                    let threads = plain.threads_per_block() as usize;
                    let baselines = [None, Some(Accumulation::Atomic)];
                    let ways = if block.is_none() { &ways[..] } else { &baselines };
                    let what = Subject { projector, is_baseline: true, ..Subject::new(BenchDevice::Cuda, threads, ways) };
                    self.measure(&mut device, &plain, what)?;
                }
            }
        }
        if bench.axial_runs {
            let fast = cuda::AxialRuns::new(&device, Arc::clone(&bench.geometry), grid.clone(), radius_mm, [1, 1])?;
            let projector = "axial-runs".into();
            let threads = fast.threads_per_block(&device)? as usize;
            self.measure(&mut device, &fast, Subject { projector, ..Subject::new(BenchDevice::Cuda, threads, &ways) })?;
        }
        Ok(())
    }

    #[cfg(not(feature = "cuda"))]
    fn on_cuda(&mut self, _: usize) -> Result<(), Problem> {
        Err(super::without_cuda())
    }

    fn on_webgpu(&mut self, number: usize) -> Result<(), Problem> {
        let bench = self.bench;
        let mut device = WebGpuBackend::open(number).map_err(Problem::from)?;
        let ways = self.ways();
        let of_gpu = |projector: &str| Subject { projector: projector.into(), ..Subject::new(BenchDevice::Gpu, 0, &ways) };
        let (geometry, grid, radius_mm) = (|| Arc::clone(&bench.geometry), &bench.grid, bench.fov_radius_mm);
        if bench.per_lor {
            let plain = webgpu::PerLor::new(&mut device, geometry(), grid.clone(), radius_mm, [1, 1])?;
            self.measure(&mut device, &plain, Subject { is_baseline: true, ..of_gpu("per-lor") })?;
        }
        if bench.axial_runs {
            let fast = webgpu::AxialRuns::new(&mut device, geometry(), grid.clone(), radius_mm, [1, 1])?;
            self.measure(&mut device, &fast, of_gpu("axial-runs"))?;
        }
        Ok(())
    }

    /// Measures one projector in the requested directions.
    fn measure<B: Backend>(
        &mut self,
        backend: &mut B,
        operator: &impl ViewProjector<B>,
        what: Subject<'_>,
    ) -> Result<(), OperatorError> {
        let bench = self.bench;
        let Subject { device, projector, is_baseline, threads, subset, ways } = what;
        let budget_secs = bench.budget_secs / self.num_rows() as f64;
        let task = Task::new();
        let num_views = bench.geometry.num_views;
        let views = subset.views(num_views).len();
        let scale = num_views as f64 / views as f64;
        let ones = operator.voxels().coefficients(&Volume::filled(bench.grid.clone(), 1.0));
        let x = backend.upload(Arc::new(ones))?;
        let mut data = backend.zeros(operator.views().len(subset))?;
        let mut image = backend.zeros(operator.voxels().len())?;
        operator.apply(backend, subset, &x, &mut data, &task)?;
        for &accumulation in ways {
            let mut secs = timed(backend, budget_secs, |backend| match accumulation {
                None => operator.apply(backend, subset, &x, &mut data, &task),
                Some(accumulation) => operator.adjoint(backend, subset, &data, accumulation, &mut image, &task),
            })?;
            secs.iter_mut().for_each(|secs| *secs *= scale);
            let num_runs = secs.len();
            let (median_s, spread_s) = median_and_spread(secs).unwrap_or_default();
            self.add(ProjectorRow {
                device,
                projector: projector.clone(),
                is_baseline,
                direction: if accumulation.is_none() { Direction::Forward } else { Direction::Backprojection },
                accumulation,
                threads,
                median_s,
                spread_s,
                lors_per_s: bench.geometry.num_bins() as f64 / median_s,
                voxel_visits_per_s: self.visits / median_s,
                num_runs,
                measured_views: format!("{views} of {num_views}"),
                ratio: None,
            });
        }
        Ok(())
    }

    /// Returns the approximate number of rows.
    fn num_rows(&self) -> usize {
        let bench = self.bench;
        let on_cpu = bench.threads.len() * (usize::from(bench.per_lor) + if bench.axial_runs { bench.simd.len() } else { 0 });
        let on_gpus = 4 * bench.gpus.len();
        let has_cuda = bench.gpus.iter().any(|gpu| matches!(gpu, BenchGpu::Cuda(_)));
        let blocks = if has_cuda && bench.per_lor { 30 } else { 0 };
        ((on_cpu + on_gpus) * (1 + bench.accumulations.len()) + blocks).max(1)
    }

    fn add(&mut self, row: ProjectorRow) {
        let baselines = self.rows.iter().filter(|base| base.is_baseline_of(&row)).map(|base| base.median_s);
        let ratio = baselines.min_by(f64::total_cmp).map(|base| base / row.median_s);
        let row = ProjectorRow { ratio, ..row };
        (self.report)(&row);
        self.rows.push(row);
    }
}
