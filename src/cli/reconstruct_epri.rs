//! `tomoscope reconstruct SWEEP -o OUT`: filtered backprojection of an EPRI sweep, without a window.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::Args;

use super::progress::with_bar;
use super::reconstruct::{Algorithm, ReconstructOptions};
use super::{CliResult, notices};
use crate::data::{Sweep, Unit, Volume};
use crate::geometry::Grid;
use crate::io::{read_sweep, read_volume, write_volume};
use crate::operator::{Backend, Host, Interpolation, MultiStage, PlaneBackprojector, SingleStage, grid_about_zero};
use crate::recon::{
    Algorithm as _, Fbp, FbpSettings, Filter, FilterSettings, ReconError, StageTimes, equal_angles_for, resample_to_equal_angles,
};
use crate::scanner::epri::Order;
use crate::session::{DeviceChoice, choose_device};
use crate::task::Task;
#[cfg(feature = "cuda")]
use crate::{cuda::FastPlanes, operator::OperatorError};

/// Most voxels along an axis of an image of which nothing was said.
const MAX_DEFAULT_SIDE: usize = 128;

/// In how many stages planes are backprojected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stages {
    /// Voxel by voxel.
    Single,
    /// Azimuth by azimuth, then slice by slice.
    Two,
}

/// Options that only EPRI sweeps have.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "EPRI sweeps")]
pub struct EpriOptions {
    /// Filter: second-difference, three-point, five-point, rectangular, sinc, hamming or two-ramp. Default: three-point; for
    /// continuous-wave data rectangular.
    #[arg(long)]
    pub filter: Option<Filter>,

    /// Part of the frequencies of a projection that is kept, above 0 and at most 1. Default: all; for continuous-wave data 0.1.
    #[arg(long, value_name = "F")]
    pub cutoff: Option<f64>,

    /// Interpolation between the samples of a filtered projection: nearest, linear or cubic.
    #[arg(long, default_value = "linear")]
    pub interpolation: Interpolation,

    /// Reference spectrum of continuous-wave data. Default: the one beside it (NAME-h beside NAME-proj).
    #[arg(long, value_name = "FILE")]
    pub reference: Option<PathBuf>,
}

/// Reconstructs and writes.
pub fn run(options: &ReconstructOptions) -> CliResult {
    let stages = match options.algorithm {
        None => Stages::Single,
        Some(Algorithm::Fbp(stages)) => stages,
        Some(Algorithm::Em(_)) => {
            return Err("mlem and osem are for counts; an EPRI sweep is reconstructed by fbp or fbp-multistage".into());
        }
    };
    if stages == Stages::Two && matches!(options.projector.device, DeviceChoice::Cuda(_)) {
        return Err("two stages are done on the CPU; use --device cpu, or --algorithm fbp on the GPU".into());
    }
    // Two stages know no other device.
    let asked = if stages == Stages::Two { DeviceChoice::Cpu } else { options.projector.device };
    let (device, found) = choose_device(asked)?;
    notices::print(&found);
    let sweep = read_sweep(&options.input, options.epri.reference.as_deref())?;
    notices::print(&sweep.notices);
    let sweep = match stages {
        Stages::Single => sweep,
        Stages::Two => at_equal_angles(sweep)?,
    };
    let grid = grid(options, &sweep)?;
    let settings = settings(&options.epri, &sweep);
    let [nx, ny, nz] = grid.size;
    let FilterSettings { filter, cutoff, interpolation } = settings.filter;
    let cutoff = cutoff.map_or("no cut-off".into(), |cutoff| format!("cut-off {cutoff}"));
    println!("data          {}, {} projections of {} samples", sweep.title, sweep.num_complete(), sweep.num_points);
    println!("image         {nx} × {ny} × {nz} voxels of {:?} mm", grid.voxel_mm);
    println!("filter        {filter}, {cutoff}, {interpolation} interpolation");
    println!("device        {}", device.name());
    let pool = rayon::ThreadPoolBuilder::new().num_threads(options.projector.threads.map_or(0, usize::from)).build()?;
    let (volume, times, total) = with_bar("backprojecting", |task| {
        let start = Instant::now();
        let (volume, times) = pool.install(|| match (stages, device) {
            #[cfg(feature = "cuda")]
            (Stages::Single, crate::session::Chosen::Cuda(backend)) => {
                let planes = FastPlanes::new(&backend, grid.clone()).map_err(OperatorError::from)?;
                reconstruct(*backend, planes, &sweep, settings, task)
            }
            (Stages::Single, _) => reconstruct(Host, SingleStage::new(grid.clone()), &sweep, settings, task),
            (Stages::Two, _) => reconstruct(Host, MultiStage::new(grid.clone()), &sweep, settings, task),
        })?;
        Ok::<_, ReconError>((volume, times, start.elapsed()))
    })??;
    let secs = |time: Duration| time.as_secs_f64();
    println!(
        "time          filter {:.4} s, backprojection {:.4} s, in all {:.4} s",
        secs(times.filter),
        secs(times.backprojection),
        secs(total)
    );
    write_volume(&options.output, &volume)?;
    println!("{}: written", options.output.display());
    Ok(())
}

/// The sweep itself where few azimuths are shared by many directions already, else resampled.
fn at_equal_angles(sweep: Sweep) -> Result<Sweep, ReconError> {
    let directions: Vec<_> = sweep.projections.iter().map(|projection| projection.direction).collect();
    let num_azimuths = MultiStage::num_azimuths(&directions);
    if num_azimuths * num_azimuths <= 4 * directions.len() {
        return Ok(sweep);
    }
    let angles = equal_angles_for(directions.len());
    println!("resampled     to {} polar angles × {} azimuths, which two stages need", angles[0], angles[1]);
    resample_to_equal_angles(&sweep, angles)
}

/// What was asked for, and what suits the data.
fn settings(options: &EpriOptions, sweep: &Sweep) -> FbpSettings {
    let suitable = FilterSettings::for_data(&sweep.acquisition);
    let filter = FilterSettings {
        filter: options.filter.unwrap_or(suitable.filter),
        cutoff: options.cutoff.or(suitable.cutoff),
        interpolation: options.interpolation,
    };
    // Nobody looks at what is on the way.
    FbpSettings { filter, order: Order::AsAcquired, block: sweep.num_complete().max(1) }
}

/// The grid asked for. What is not given follows from the samples: the image spans what they see, in voxels as wide as their
/// distance or, where those are very many, wider.
fn grid(options: &ReconstructOptions, sweep: &Sweep) -> Result<Grid, Box<dyn std::error::Error + Send + Sync>> {
    if let Some(path) = &options.image.like {
        let (volume, found) = read_volume(path)?;
        notices::print(&found);
        return Ok(volume.grid);
    }
    let extent_mm = sweep.num_points as f64 * sweep.step_mm;
    let (size, voxel_mm) = match (options.image.image, options.image.voxel_mm) {
        (Some(size), Some(voxel_mm)) => (size, voxel_mm),
        (Some(size), None) => (size, size.map(|n| extent_mm / n.max(1) as f64)),
        (None, Some(voxel_mm)) => (voxel_mm.map(|mm| (extent_mm / mm).ceil() as usize), voxel_mm),
        (None, None) => {
            let side = sweep.num_points.min(MAX_DEFAULT_SIDE);
            ([side; 3], [extent_mm / side as f64; 3])
        }
    };
    Ok(grid_about_zero(size, voxel_mm)?)
}

fn reconstruct<B: Backend>(
    backend: B,
    backprojector: impl PlaneBackprojector<B>,
    sweep: &Sweep,
    settings: FbpSettings,
    task: &Task,
) -> Result<(Volume, StageTimes), ReconError> {
    let mut volume = Volume::filled(backprojector.grid().clone(), 0.0);
    volume.unit = Unit::Unknown;
    let mut fbp = Fbp::new(backend, backprojector, sweep, settings)?;
    let mut times = StageTimes::default();
    task.begin(sweep.num_complete() as u64);
    while fbp.num_waiting() > 0 {
        let before = fbp.num_used();
        times += fbp.step(task)?.stages;
        task.advance((fbp.num_used() - before) as u64);
    }
    fbp.volume_into(&mut volume)?;
    Ok((volume, times))
}
