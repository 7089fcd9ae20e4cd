//! Cost of a penalty: one gradient next to an iteration of MLEM, and an epoch of SVRG next to one of OSEM with the same subsets.

use std::sync::Arc;

use serde::Serialize;

use super::{BenchDevice, BenchGpu, TimedIterations, timed};
use crate::algebra::{Host, Image, Voxels};
use crate::coded::Problem;
#[cfg(feature = "cuda")]
use crate::cuda::{self, CudaBackend};
use crate::data::{Counts, Study, Volume};
use crate::operator::{AxialRuns, ViewProjector};
use crate::plan::{AUTO, AlgorithmChoice, BETA, DeviceChoice, Job, RunSettings, Values, prepare};
use crate::recon::{Penalty, PenaltyKernels, PenaltySpec};
use crate::statistics::median_and_spread;
use crate::task::Task;
use crate::webgpu::{self, WebGpuBackend};

/// Epochs in which SVRG makes its preconditioner.
const FIRST_EPOCHS: usize = 4;

#[derive(Clone, Debug)]
pub struct PenaltyBench {
    /// Grid, field of view and projector of the runs.
    pub settings: RunSettings,
    /// The GPU; `None` = the CPU.
    pub gpu: Option<BenchGpu>,
    /// Subsets of OSEM and SVRG.
    pub num_subsets: usize,
    /// Timed iterations of MLEM and OSEM, and timed pairs of epochs of SVRG.
    pub num_iterations: usize,
    /// Measure the gradient for about this long, seconds.
    pub budget_secs: f64,
}

/// Measurements of a part of the work.
#[derive(Clone, Debug, Serialize)]
pub struct PenaltyRow {
    pub device: BenchDevice,
    /// `mlem-iteration`, `rdp-gradient`, `osem-epoch` or `svrg-epoch`.
    pub work: &'static str,
    pub num_subsets: usize,
    /// Seconds: median. Of SVRG: the mean of two epochs; one begins with a pass through all data.
    pub median_s: f64,
    /// Half of the interquartile range.
    pub spread_s: f64,
    /// Time relative to that of the iteration of MLEM, or the epoch of OSEM.
    pub ratio: Option<f64>,
}

/// Measures all rows; `report` is called with each as it is done.
///
/// # Errors
/// Unsuitable settings, a missing device, a step that fails.
pub fn bench_penalty(
    study: &Arc<Study<Counts>>,
    bench: &PenaltyBench,
    mut report: impl FnMut(&PenaltyRow),
) -> Result<Vec<PenaltyRow>, Problem> {
    let (device, choice) = match bench.gpu {
        Some(gpu @ BenchGpu::Cuda(_)) => (BenchDevice::Cuda, gpu.into()),
        Some(gpu @ BenchGpu::WebGpu(_)) => (BenchDevice::Gpu, gpu.into()),
        None => (BenchDevice::Cpu, DeviceChoice::Cpu),
    };
    let mut rows: Vec<PenaltyRow> = Vec::new();
    let mut add = |work, num_subsets, (median_s, spread_s): (f64, f64), baseline: Option<f64>| {
        let ratio = baseline.map(|baseline| median_s / baseline);
        rows.push(PenaltyRow { device, work, num_subsets, median_s, spread_s, ratio });
        rows.last().into_iter().for_each(&mut report);
    };
    let settings = RunSettings { device: choice, ..bench.settings.clone() };
    let of = |algorithm, num_subsets| RunSettings { algorithm, num_subsets, ..settings.clone() };
    let (mlem, image) = iterations(study, of(AlgorithmChoice::MLEM, 1), 1, bench.num_iterations)?;
    add("mlem-iteration", 1, mlem, None);

    let gradient = gradient_secs(study, bench, &image)?;
    add("rdp-gradient", 1, median_and_spread(gradient).unwrap_or_default(), Some(mlem.0));

    let num_subsets = bench.num_subsets;
    let (osem, _) = iterations(study, of(AlgorithmChoice::OSEM, num_subsets), 1, bench.num_iterations)?;
    add("osem-epoch", num_subsets, osem, None);
    let parameters = Values::default().with_choice(&BETA, AUTO);
    let svrg = RunSettings { parameters, ..of(AlgorithmChoice::SVRG, num_subsets) };
    let (svrg, _) = iterations(study, svrg, 2, bench.num_iterations)?;
    add("svrg-epoch", num_subsets, svrg, Some(osem.0));
    Ok(rows)
}

/// Returns median and spread of iterations, as means of `num_together`, and the last image. The first ones do not count.
fn iterations(
    study: &Arc<Study<Counts>>,
    settings: RunSettings,
    num_together: usize,
    count: usize,
) -> Result<((f64, f64), Volume), Problem> {
    let task = Task::new();
    let mut image = Volume::filled(settings.grid.clone(), 0.0);
    let num_first = if num_together > 1 { FIRST_EPOCHS } else { 1 };
    let mut algorithm = prepare(&Job::of(study, settings), &task)?.algorithm;
    for _ in 0..num_first {
        algorithm.iterate(&task)?;
    }
    let timed = TimedIterations::measure_together(algorithm.as_mut(), num_together, count, &task)?;
    algorithm.volume_into(&mut image)?;
    Ok(((timed.median_s, timed.spread_s), image))
}

/// Returns the seconds of gradients at an image, with weights, in the order of voxels of the fast projector.
fn gradient_secs(study: &Study<Counts>, bench: &PenaltyBench, image: &Volume) -> Result<Vec<f64>, Problem> {
    let geometry = Arc::clone(study.measured.geometry());
    let (grid, radius_mm) = (bench.settings.grid.clone(), bench.settings.fov_radius_mm);
    match bench.gpu {
        None => {
            let projector = AxialRuns::new(geometry, grid, radius_mm, [1, 1])?;
            gradients(&mut Host, projector.voxels(), bench, image)
        }
        Some(BenchGpu::WebGpu(number)) => {
            let mut device = WebGpuBackend::open(number).map_err(Problem::from)?;
            let projector = webgpu::AxialRuns::new(&mut device, geometry, grid, radius_mm, [1, 1])?;
            gradients(&mut device, projector.voxels(), bench, image)
        }
        #[cfg(feature = "cuda")]
        Some(BenchGpu::Cuda(number)) => {
            let mut device = CudaBackend::open(number).map_err(Problem::from)?;
            let projector = cuda::AxialRuns::new(&device, geometry, grid, radius_mm, [1, 1])?;
            gradients(&mut device, projector.voxels(), bench, image)
        }
        #[cfg(not(feature = "cuda"))]
        Some(BenchGpu::Cuda(_)) => Err(super::without_cuda()),
    }
}

fn gradients<B: PenaltyKernels>(
    device: &mut B,
    voxels: &Voxels,
    bench: &PenaltyBench,
    image: &Volume,
) -> Result<Vec<f64>, Problem> {
    let kappa = Some(Arc::new(image.clone()));
    let penalty = PenaltySpec { strength: Some(1.0), ..PenaltySpec::NONE }.from_start(f64::from(image.range().1));
    let penalty = penalty.map(|penalty| Penalty { kappa, ..penalty }).ok_or(Problem::new("bench", "the image is empty"))?;
    let neighbours = device.neighbours(&penalty, voxels.places(), image.grid.voxel_mm)?;
    let x = device.upload::<Image>(Arc::new(voxels.coefficients(image)))?;
    let mut out = device.zeros(voxels.len())?;
    let work = |device: &mut B| Ok(device.subtract_penalty_gradient(&penalty, &neighbours, &x, &mut out)?);
    Ok(timed(device, bench.budget_secs, work)?)
}
