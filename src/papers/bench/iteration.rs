//! A whole reconstruction on the device in use: its iterations by stage, the cost of a viewer of each iterate, and the time from
//! data in host memory to the last volume there.

use std::sync::Arc;
use std::time::Instant;

use serde::Serialize;
use strum::VariantArray as _;

use super::TimedIterations;
use crate::coded::Problem;
use crate::data::{Counts, Psf, Study, TofBins, Volume};
use crate::plan::{Job, Prepared, RunSettings, prepare};
use crate::recon::{Algorithm, Stage};
use crate::statistics::median_and_spread;
use crate::task::Task;

/// Measurements of a projector with an accumulation.
#[derive(Clone, Debug, Serialize)]
pub struct IterationRow {
    pub device: String,
    pub projector: String,
    pub accumulation: String,
    pub psf: Option<Psf>,
    pub tof: Option<TofBins>,
    /// Seconds of a whole iteration: median.
    pub median_s: f64,
    /// Half of the interquartile range.
    pub spread_s: f64,
    /// Median seconds of each stage of an iteration.
    pub stages_s: Vec<(&'static str, f64)>,
    /// Median seconds of the same iterations with each volume copied to the host and handed over.
    pub viewed_median_s: f64,
    /// Half of the interquartile range of that.
    pub viewed_spread_s: f64,
    /// Seconds to open the device, load its kernels and make the projector's tables the first time.
    pub cold_start_s: f64,
    /// Seconds from data in host memory to the last volume there, everything on the device made anew, in a process that
    /// has used it before.
    pub run_s: f64,
    /// Iterations of that.
    pub num_iterations: usize,
    /// Estimated memory of the run on the device, bytes.
    pub estimated_bytes: u64,
    /// Used memory on the device, bytes; `None` on the CPU.
    pub used_bytes: Option<u64>,
}

/// Measures a reconstruction.
///
/// # Errors
/// Unsuitable settings, a step that fails.
pub fn bench_iteration(study: &Arc<Study<Counts>>, settings: &RunSettings) -> Result<IterationRow, Problem> {
    let task = Task::new();
    let start = Instant::now();
    let free_before = free_bytes(settings);
    let job = Job::of(study, settings.clone());
    let Prepared { mut algorithm, info, .. } = prepare(&job, &task)?;
    let cold_start_s = start.elapsed().as_secs_f64();
    // The first iteration makes the sensitivity.
    algorithm.iterate(&task)?;
    let used_bytes = free_before.zip(free_bytes(settings)).map(|(before, after)| before.saturating_sub(after));

    let timed = TimedIterations::measure(algorithm.as_mut(), settings.num_iterations, &task)?;
    let stages = Stage::VARIANTS.iter().copied().filter(|stage| stage.is_of_algorithm());
    let (viewed_median_s, viewed_spread_s) = viewed(algorithm.as_mut(), settings, &task)?;
    drop(algorithm);

    let start = Instant::now();
    let mut again = prepare(&job, &task)?.algorithm;
    for _ in 0..settings.num_iterations {
        again.iterate(&task)?;
    }
    let mut volume = Volume::filled(settings.grid.clone(), 0.0);
    again.volume_into(&mut volume)?;
    let run_s = start.elapsed().as_secs_f64();
    Ok(IterationRow {
        device: info.device,
        projector: info.projector,
        accumulation: info.accumulation.name().into(),
        psf: settings.psf.clone(),
        tof: study.measured.tof_bins(),
        median_s: timed.median_s,
        spread_s: timed.spread_s,
        stages_s: stages.map(|stage| (stage.name(), timed.median_of(stage))).collect(),
        viewed_median_s,
        viewed_spread_s,
        cold_start_s,
        run_s,
        num_iterations: settings.num_iterations,
        estimated_bytes: info.estimate.memory_bytes,
        used_bytes,
    })
}

/// Measures iterations whose volumes another thread takes, as a window does.
fn viewed(algorithm: &mut dyn Algorithm, settings: &RunSettings, task: &Task) -> Result<(f64, f64), Problem> {
    let mut secs = Vec::new();
    let (volumes, taken) = crossbeam_channel::unbounded::<crate::algebra::PendingVolume>();
    std::thread::scope(|scope| {
        let grid = &settings.grid;
        let viewer = scope.spawn(move || -> Result<(), Problem> {
            let mut volume = Volume::filled(grid.clone(), 0.0);
            for pending in taken {
                pending.fill(volume.as_mut_slice()).map_err(Problem::from)?;
            }
            Ok(())
        });
        let mut volume = Volume::filled(grid.clone(), 0.0);
        for _ in 0..settings.num_iterations {
            let start = Instant::now();
            algorithm.iterate(task)?;
            match algorithm.begin_volume()? {
                Some(pending) => drop(volumes.send(pending)),
                None => algorithm.volume_into(&mut volume)?,
            }
            secs.push(start.elapsed().as_secs_f64());
        }
        drop(volumes);
        viewer.join().unwrap_or_else(|_| Err(Problem::new("bench", "the viewer's thread failed")))
    })?;
    Ok(median_and_spread(secs).unwrap_or_default())
}

/// Returns the free memory of the requested GPU as CUDA reports it, bytes.
#[cfg(feature = "cuda")]
fn free_bytes(settings: &RunSettings) -> Option<u64> {
    let mut devices = crate::cuda::devices().ok()?.into_iter();
    let device = match settings.device {
        crate::plan::DeviceChoice::Cuda(number) => devices.nth(number),
        crate::plan::DeviceChoice::WebGpu(number) => {
            let gpu = crate::webgpu::devices().into_iter().nth(number)?;
            devices.find(|device| device.name == gpu.name)
        }
        _ => None,
    };
    device.map(|info| info.free_memory_bytes as u64)
}

#[cfg(not(feature = "cuda"))]
fn free_bytes(_: &RunSettings) -> Option<u64> {
    None
}
