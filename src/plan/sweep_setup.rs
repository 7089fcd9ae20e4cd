//! Settings and an EPRI sweep become a filtered backprojection on a device.

use super::devices::{Chosen, choose_device};
use super::estimate::{Forecast, FreeMemory, NUM_FRAMES, check_image};
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
use crate::words::counted;

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
    let made = hand_to(chosen, settings, MakeFbp { sweep: &sweep, settings })??;
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
    if acquisition.look(|sweep| sweep.space).is_slice() {
        if settings.stages == Stages::Two {
            return refuse(
                "two stages put a volume together from slices, and this sweep is two-dimensional: it has one; use one stage (--algorithm fbp)",
            );
        }
        let num_slices = settings.grid.size[2];
        if num_slices != 1 {
            return refuse(&format!(
                "this sweep is two-dimensional and makes an image of one slice, not of {num_slices}; ask for two numbers of voxels (--image NX,NY)"
            ));
        }
    }
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

/// What a run on one device will need, and what is free there.
pub(super) fn forecast_on(
    device: DeviceChoice,
    acquisition: &Acquisition,
    settings: &SweepSettings,
) -> Result<(Forecast, FreeMemory), SetupError> {
    check(acquisition, settings, device)?;
    let (chosen, _) = choose_device(if settings.stages == Stages::Two { DeviceChoice::Cpu } else { device })?;
    let (sampling, num_projections) = acquisition.look(|sweep| {
        let angles = if settings.stages == Stages::Two { wanted_angles(sweep) } else { None };
        (sampling_of(sweep), angles.map_or(sweep.num_complete(), |angles| angles[0] * angles[1]))
    });
    hand_to(chosen, settings, CountMemory { sampling, num_projections, settings })
}

/// Work that can be done with any program for planes on any device.
trait PlaneWork {
    type Output;

    fn run<B: Backend + 'static>(
        self,
        backend: B,
        planes: impl PlaneBackprojector<B> + 'static,
        device: String,
        free: FreeMemory,
    ) -> Self::Output;
}

/// Does work with the program that the settings ask for.
fn hand_to<W: PlaneWork>(chosen: Chosen, settings: &SweepSettings, work: W) -> Result<W::Output, SetupError> {
    match chosen {
        Chosen::Cpu => on_host(settings, work),
        #[cfg(feature = "cuda")]
        Chosen::Cuda(backend) => {
            let (name, free, grid) = (backend.name(), free_on(&backend), settings.grid.clone());
            check_image(&grid, &free)?;
            Ok(match settings.kernel {
                PlaneKernel::Fast => {
                    let planes = FastPlanes::new(&backend, grid).map_err(OperatorError::from)?;
                    work.run(*backend, planes, name, free)
                }
                PlaneKernel::Paper => {
                    let planes = PaperPlanes::new(&backend, grid)?;
                    work.run(*backend, planes, name, free)
                }
            })
        }
    }
}

fn on_host<W: PlaneWork>(settings: &SweepSettings, work: W) -> Result<W::Output, SetupError> {
    let (free, grid) = (FreeMemory::of_the_computer(), settings.grid.clone());
    check_image(&grid, &free)?;
    let num_threads = rayon::current_num_threads();
    let threads = format!("CPU, {}", counted(num_threads, "thread"));
    Ok(match (settings.stages, settings.kernel) {
        (Stages::Single, PlaneKernel::Fast) => {
            let planes = SingleStage::new(grid);
            let device = format!("{threads}, {}", planes.simd().name());
            work.run(Host, planes, device, free)
        }
        (Stages::Single, PlaneKernel::Paper) => work.run(Host, PlainPlanes::new(grid), "CPU, 1 thread".into(), free),
        (Stages::Two, _) => work.run(Host, MultiStage::new(grid), threads, free),
    })
}

fn sampling_of(sweep: &Sweep) -> PlaneSampling {
    PlaneSampling { num_points: sweep.num_points, step_mm: sweep.step_mm, centre: sweep.centre }
}

/// Projections of a step. Two stages are as fast as they are because an azimuth's projections come together.
fn block(settings: &SweepSettings, num_projections: usize) -> usize {
    match settings.stages {
        Stages::Two => num_projections.max(1),
        Stages::Single => settings.block.min(short_block(settings)),
    }
}

/// Projections whose backprojection is short work, some tenths of a second, whatever the grid and the program: no command
/// has to wait for longer.
fn short_block(settings: &SweepSettings) -> usize {
    let num_updates = match settings.kernel {
        PlaneKernel::Fast => 1 << 31,
        PlaneKernel::Paper => 1 << 26,
    };
    (num_updates / settings.grid.num_voxels().max(1)).max(1)
}

/// Bytes of a run where its arrays are: the image, the volumes on their way to the screen, the program's working memory.
fn memory_bytes<B: Backend>(
    planes: &impl PlaneBackprojector<B>,
    settings: &SweepSettings,
    sampling: &PlaneSampling,
    num_projections: usize,
) -> u64 {
    let images = planes.image_len() as u64 + NUM_FRAMES * settings.grid.num_voxels() as u64;
    4 * images + planes.scratch_bytes(block(settings, num_projections).min(num_projections.max(1)), sampling)
}

/// Counts the memory of a run over a program.
struct CountMemory<'a> {
    sampling: PlaneSampling,
    num_projections: usize,
    settings: &'a SweepSettings,
}

impl PlaneWork for CountMemory<'_> {
    type Output = (Forecast, FreeMemory);

    fn run<B: Backend + 'static>(
        self,
        _: B,
        planes: impl PlaneBackprojector<B> + 'static,
        device: String,
        free: FreeMemory,
    ) -> Self::Output {
        let memory_bytes = memory_bytes(&planes, self.settings, &self.sampling, self.num_projections);
        (Forecast { memory_bytes, device, projector: planes.name().to_owned() }, free)
    }
}

/// Makes the algorithm over a program.
struct MakeFbp<'a> {
    sweep: &'a Sweep,
    settings: &'a SweepSettings,
}

/// A program with its algorithm.
struct Made {
    algorithm: Box<dyn Algorithm>,
    device: String,
    program: &'static str,
    memory_bytes: u64,
}

impl PlaneWork for MakeFbp<'_> {
    type Output = Result<Made, SetupError>;

    fn run<B: Backend + 'static>(
        self,
        backend: B,
        planes: impl PlaneBackprojector<B> + 'static,
        device: String,
        free: FreeMemory,
    ) -> Self::Output {
        let Self { sweep, settings } = self;
        let whole = sweep.num_complete();
        let memory_bytes = memory_bytes(&planes, settings, &sampling_of(sweep), whole);
        free.check(memory_bytes)?;
        let program = planes.name();
        let fbp_settings = FbpSettings { filter: settings.filter, order: settings.order, block: block(settings, whole) };
        let algorithm = Box::new(Fbp::new(backend, planes, sweep, fbp_settings)?);
        Ok(Made { algorithm, device, program, memory_bytes })
    }
}

/// The polar and azimuthal angles that a sweep has to be resampled to for two stages; `None` where few azimuths are shared
/// by many directions already.
fn wanted_angles(sweep: &Sweep) -> Option<[usize; 2]> {
    let directions: Vec<_> = sweep.projections.iter().map(|projection| projection.direction).collect();
    let num_azimuths = MultiStage::num_azimuths(&directions);
    (num_azimuths * num_azimuths > 4 * directions.len()).then(|| equal_angles_for(directions.len()))
}

/// The sweep as two stages can take it: resampled where that is needed, which is told.
fn at_equal_angles(sweep: Sweep, task: &Task) -> Result<(Sweep, Option<Notice>), SetupError> {
    let Some(angles) = wanted_angles(&sweep) else { return Ok((sweep, None)) };
    let text = format!(
        "the projections were resampled to {} polar angles × {} azimuths, which two stages need: the image is less sharp than one stage makes it",
        angles[0], angles[1]
    );
    Ok((resample_to_equal_angles(&sweep, angles, task)?, Some(Notice::info(text))))
}
