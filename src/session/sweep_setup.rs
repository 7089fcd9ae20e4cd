//! Settings and an EPRI sweep become a filtered backprojection on a device.

use super::devices::{Chosen, choose_device};
use super::estimate::{FreeMemory, NUM_FRAMES, check_image};
#[cfg(feature = "cuda")]
use super::projector::free_on;
use super::setup::{Prepared, SetupError};
use super::{Acquisition, DeviceChoice, Job, PlaneKernel, Stages, StartInfo, SweepSettings};
#[cfg(feature = "cuda")]
use crate::cuda::{FastPlanes, PaperPlanes};
use crate::data::{Notice, Sweep};
#[cfg(feature = "cuda")]
use crate::operator::OperatorError;
use crate::operator::{
    Accumulation, Backend, Host, Interpolation, MultiStage, PlainPlanes, PlaneBackprojector, PlaneSampling, SingleStage,
};
use crate::recon::{Algorithm, Estimate, Fbp, FbpSettings, equal_angles_for, resample_to_equal_angles};
use crate::task::Task;

/// Makes the algorithm for the projections that the acquisition has so far, on one device.
pub(super) fn prepare_on(
    device: DeviceChoice,
    acquisition: &Acquisition,
    settings: &SweepSettings,
    task: &Task,
) -> Result<Prepared, SetupError> {
    check(acquisition, settings, device)?;
    let sweep = acquisition.snapshot();
    let num_taken = sweep.num_complete();
    // Two stages know no other device than the processor.
    let (chosen, mut notices) = choose_device(if settings.stages == Stages::Two { DeviceChoice::Cpu } else { device })?;
    let (sweep, notice) = match settings.stages {
        Stages::Single => (sweep, None),
        Stages::Two => at_equal_angles(sweep, task)?,
    };
    notices.extend(notice);
    if settings.stages == Stages::Two && settings.filter.interpolation == Interpolation::Nearest {
        notices.push(Notice::warning(
            "two stages draw straight lines in the second one: with the nearest sample the image differs by some 10 % from that of one stage; linear and cubic interpolation agree",
        ));
    }
    let made = match chosen {
        Chosen::Cpu => on_host(&sweep, settings)?,
        #[cfg(feature = "cuda")]
        Chosen::Cuda(backend) => {
            let (name, free, grid) = (backend.name(), free_on(&backend), settings.grid.clone());
            check_image(&grid, &free)?;
            match settings.kernel {
                PlaneKernel::Fast => {
                    let planes = FastPlanes::new(&backend, grid).map_err(OperatorError::from)?;
                    make(*backend, planes, &sweep, settings, name, &free)?
                }
                PlaneKernel::Paper => {
                    let planes = PaperPlanes::new(&backend, grid)?;
                    make(*backend, planes, &sweep, settings, name, &free)?
                }
            }
        }
    };
    let info = StartInfo {
        device: made.device,
        projector: made.program.to_owned(),
        num_subsets: made.algorithm.num_subsets(),
        accumulation: Accumulation::Deterministic,
        accumulations: made.algorithm.accumulations(),
        estimate: Estimate { memory_bytes: made.memory_bytes, secs_per_iteration: None },
        job: Job::Sweep { acquisition: acquisition.clone(), settings: Box::new(settings.clone()) },
    };
    Ok(Prepared { algorithm: made.algorithm, info, notices, num_taken })
}

/// Refuses what does not go together.
fn check(acquisition: &Acquisition, settings: &SweepSettings, device: DeviceChoice) -> Result<(), SetupError> {
    let refuse = |text: &str| Err(SetupError::Settings(text.into()));
    if settings.stages == Stages::Two {
        if matches!(device, DeviceChoice::Cuda(_)) {
            return refuse("two stages are done on the CPU; use --device cpu, or one stage (--algorithm fbp) on the GPU");
        }
        if settings.kernel == PlaneKernel::Paper {
            return refuse("the paper's kernel backprojects in one stage; use --algorithm fbp with it");
        }
        if !acquisition.is_over() {
            return refuse(
                "two stages need the whole sweep, and this one is still being acquired; use one stage (--algorithm fbp) for now",
            );
        }
    }
    if acquisition.is_over() && acquisition.num_complete() == 0 {
        return refuse("the sweep has no projection: there is nothing to reconstruct");
    }
    Ok(())
}

/// A program with its algorithm.
struct Made {
    algorithm: Box<dyn Algorithm>,
    device: String,
    program: &'static str,
    memory_bytes: u64,
}

fn on_host(sweep: &Sweep, settings: &SweepSettings) -> Result<Made, SetupError> {
    let (free, grid) = (FreeMemory::of_the_computer(), settings.grid.clone());
    check_image(&grid, &free)?;
    let num_threads = rayon::current_num_threads();
    let threads = format!("CPU, {num_threads} {}", if num_threads == 1 { "thread" } else { "threads" });
    match (settings.stages, settings.kernel) {
        (Stages::Single, PlaneKernel::Fast) => {
            let planes = SingleStage::new(grid);
            let device = format!("{threads}, {}", planes.simd().name());
            make(Host, planes, sweep, settings, device, &free)
        }
        (Stages::Single, PlaneKernel::Paper) => {
            make(Host, PlainPlanes::new(grid), sweep, settings, "CPU, 1 thread".into(), &free)
        }
        (Stages::Two, _) => make(Host, MultiStage::new(grid), sweep, settings, threads, &free),
    }
}

fn make<B: Backend + 'static>(
    backend: B,
    planes: impl PlaneBackprojector<B> + 'static,
    sweep: &Sweep,
    settings: &SweepSettings,
    device: String,
    free: &FreeMemory,
) -> Result<Made, SetupError> {
    // Two stages are as fast as they are because an azimuth's projections come together.
    let whole = sweep.num_complete().max(1);
    let block = if settings.stages == Stages::Two { whole } else { settings.block };
    let sampling = PlaneSampling { num_points: sweep.num_points, step_mm: sweep.step_mm, centre: sweep.centre };
    let images = planes.image_len() as u64 + NUM_FRAMES * settings.grid.num_voxels() as u64;
    let memory_bytes = 4 * images + planes.scratch_bytes(block.min(whole), &sampling);
    free.check(memory_bytes)?;
    let program = planes.name();
    let fbp_settings = FbpSettings { filter: settings.filter, order: settings.order, block };
    let algorithm = Box::new(Fbp::new(backend, planes, sweep, fbp_settings)?);
    Ok(Made { algorithm, device, program, memory_bytes })
}

/// The sweep itself where few azimuths are shared by many directions already, else resampled, which is told.
fn at_equal_angles(sweep: Sweep, task: &Task) -> Result<(Sweep, Option<Notice>), SetupError> {
    let directions: Vec<_> = sweep.projections.iter().map(|projection| projection.direction).collect();
    let num_azimuths = MultiStage::num_azimuths(&directions);
    if num_azimuths * num_azimuths <= 4 * directions.len() {
        return Ok((sweep, None));
    }
    let angles = equal_angles_for(directions.len());
    let text = format!(
        "the projections were resampled to {} polar angles × {} azimuths, which two stages need: the image is less sharp than one stage makes it",
        angles[0], angles[1]
    );
    Ok((resample_to_equal_angles(&sweep, angles, task)?, Some(Notice::info(text))))
}
