//! Settings and an EPRI sweep become a filtered backprojection on a device.

use std::time::Instant;

use super::data_setup::DataSetup;
use super::prepared::Prepared;
use super::variation;
use crate::data::{Notice, Sweep};
use crate::geometry::Grid;
use crate::operator::{Accumulation, Interpolation, MultiStage, PlaneSampling};
use crate::plan::algorithms::common::{KERNEL, PlaneKernel};
use crate::plan::algorithms::registry::{BLOCK, FbpMethod, fbp_settings};
use crate::plan::device::choice::DeviceChoice;
use crate::plan::device::memory::{DeviceMemory, Forecast, MemoryNeeds, check_image};
use crate::plan::error::SetupError;
use crate::plan::job::Job;
use crate::plan::job::acquisition::Acquisition;
use crate::plan::job::settings::RunSettings;
use crate::plan::platform::open::{Opened, choose_slabs, join_device_names};
use crate::plan::problem::SetupProblem;
use crate::plan::projector::programs::{PlaneProgram, PlaneSystem};
use crate::plan::simulation::cache::Cache;
use crate::recon::{
    Algorithm, FbpSettings, FilterSettings, GradientSizes, ReconError, SlabAlgorithm, check_sweep, cutoff_by_noise,
    equal_angles_for, image_noise, resampling_error, sampling_of, slabs,
};
use crate::task::Task;

/// Largest error of resampled projections with which two stages are as good as one.
const MAX_RESAMPLING_ERROR: f64 = 0.03;

/// Noise of an image relative to its signal that is reported.
const MAX_IMAGE_NOISE: f64 = 0.06;

impl DataSetup for Acquisition {
    fn prepare_on(&self, _: &Cache, device: DeviceChoice, job: &Job, task: &Task) -> Result<Prepared, SetupError> {
        prepare_on(device, job, self, task)
    }

    fn forecast_on(
        &self,
        device: DeviceChoice,
        settings: &RunSettings,
        given_back: &[DeviceMemory],
    ) -> Result<Forecast, SetupError> {
        forecast_on(device, self, settings, given_back)
    }

    fn trial_size(&self, _: &RunSettings) -> Option<String> {
        self.look(|sweep| Some(format!("sweep {} {}", sweep.num_points, sweep.num_complete().max(1).ilog2())))
    }

    fn trial_secs(&self, device: DeviceChoice, settings: &RunSettings, task: &Task) -> Result<Option<f64>, SetupError> {
        trial_secs(device, self, settings, task)
    }
}

/// Makes the algorithm for the projections that the acquisition has so far, on one device.
pub(super) fn prepare_on(
    device: DeviceChoice,
    job: &Job,
    acquisition: &Acquisition,
    task: &Task,
) -> Result<Prepared, SetupError> {
    let settings = &job.settings;
    if settings.algorithm.is_least_squares() {
        return variation::prepare_on(device, job, acquisition);
    }
    let asked = check(acquisition, settings, device)?;
    let sweep = acquisition.snapshot();
    if asked.stages == FbpMethod::Two {
        check_sweep(&sweep, GradientSizes::One)?;
    }
    let num_taken = sweep.num_complete();
    let fbp_settings = fbp_settings(&settings.parameters);
    let Stages { program, equal_angles, notice } = stages_for(asked, &sweep, &fbp_settings, task)?;
    // Two stages know no other device than the processor.
    let (members, mut notices) = choose_slabs(if program.stages == FbpMethod::Two { DeviceChoice::Cpu } else { device })?;
    notices.extend(notice);
    notices.extend(beyond(&settings.grid, sweep.extent_mm()));
    notices.extend(noise_notice(&sweep, &fbp_settings.filter)?);
    if program.stages == FbpMethod::Two && fbp_settings.filter.interpolation == Interpolation::Nearest {
        notices.push(Notice::warning(
            "two stages draw straight lines in the second one: with the nearest sample the image differs by some 10 % from that of one stage; linear and cubic interpolation agree",
        ));
    }
    let systems = systems(members, &program, &settings.grid)?;
    let block = block(&program, settings, sweep.num_complete());
    let num_projections = equal_angles.map_or(num_taken, |[num_polar, num_azimuth]| num_polar * num_azimuth);
    let needs = needs_of(&systems, &program, settings, sampling_of(&sweep), num_projections);
    needs.check()?;
    let names = text_of(&systems);
    let fbp_settings = FbpSettings { block, equal_angles, ..fbp_settings };
    let mut algorithms = Vec::with_capacity(systems.len());
    for (system, slab) in systems {
        algorithms.push((system.fbp(&sweep, fbp_settings)?, slab));
    }
    let algorithm: Box<dyn Algorithm> = match algorithms.len() {
        1 => algorithms.swap_remove(0).0,
        _ => Box::new(SlabAlgorithm::new(algorithms)),
    };
    let prepared = Prepared::new(job, algorithm, names, Accumulation::Deterministic, &needs, None);
    Ok(Prepared { notices, num_taken, ..prepared })
}

/// Warns of an image beyond the samples of the projections.
fn beyond(grid: &Grid, extent_mm: f64) -> Option<Notice> {
    let widest_mm = variation::width_beyond(grid, extent_mm)?;
    Some(Notice::warning(format!(
        "the image is {widest_mm:.1} mm wide and the samples of a projection cover {extent_mm:.1} mm: voxels outside lack a part of the \
         projections, and their values are wrong. Choose a smaller image"
    )))
}

/// Warns of an image of deconvolved spectra that will have much noise.
fn noise_notice(sweep: &Sweep, settings: &FilterSettings) -> Result<Option<Notice>, ReconError> {
    let noise = image_noise(sweep, settings)?.filter(|noise| *noise > MAX_IMAGE_NOISE);
    let Some(percent) = noise.map(|noise| 100.0 * noise) else { return Ok(None) };
    let cutoff = settings.cutoff.unwrap_or(1.0);
    let best = cutoff_by_noise(sweep)?.filter(|best| *best < 0.95 * cutoff);
    let remedy = best.map_or_else(
        || "Use more averages, a larger gradient (the line is broad for this one), or total variation".to_owned(),
        |best| format!("A cut-off of {best} ends where noise is as large as signal"),
    );
    Ok(Some(Notice::warning(format!(
        "the deconvolution amplifies noise: with the cut-off {cutoff} the noise of the image will be about {percent:.0} % of its norm. {remedy}"
    ))))
}

/// Returns the program that is asked for, unless something does not go together.
fn check(acquisition: &Acquisition, settings: &RunSettings, device: DeviceChoice) -> Result<PlaneProgram, SetupProblem> {
    let stages = settings.algorithm.stages().unwrap_or(FbpMethod::Single);
    let program = PlaneProgram { stages, kernel: settings.parameters.choice(&KERNEL) };
    if program == (PlaneProgram { stages: FbpMethod::Two, kernel: PlaneKernel::Paper }) {
        return Err(SetupProblem::PaperKernel);
    }
    if acquisition.look(|sweep| sweep.space).is_slice() {
        if stages == FbpMethod::Two {
            return Err(SetupProblem::TwoStageSlice);
        }
        let num_slices = settings.grid.size[2];
        if num_slices != 1 {
            return Err(SetupProblem::NumSlices(num_slices));
        }
    }
    if stages == FbpMethod::Two {
        if matches!(device, DeviceChoice::Cuda(_) | DeviceChoice::WebGpu(_)) {
            return Err(SetupProblem::TwoStageGpu);
        }
        if !acquisition.is_over() {
            return Err(SetupProblem::WholeSweep);
        }
    }
    if acquisition.is_over() && acquisition.num_complete() == 0 {
        return Err(SetupProblem::NoProjections);
    }
    Ok(program)
}

/// Returns the memory forecast of a run on one device, or on several, after the end of a run that uses `given_back`.
pub(super) fn forecast_on(
    device: DeviceChoice,
    acquisition: &Acquisition,
    settings: &RunSettings,
    given_back: &[DeviceMemory],
) -> Result<Forecast, SetupError> {
    if settings.algorithm.is_least_squares() {
        return variation::forecast_on(device, acquisition, settings, given_back);
    }
    let program = check(acquisition, settings, device)?;
    let stages = program.stages;
    let (members, _) = choose_slabs(if stages == FbpMethod::Two { DeviceChoice::Cpu } else { device })?;
    let (sampling, num_projections) = acquisition.look(|sweep| {
        let angles = if stages == FbpMethod::Two { wanted_angles(sweep) } else { None };
        (sampling_of(sweep), angles.map_or(sweep.num_complete(), |angles| angles[0] * angles[1]))
    });
    let systems = systems(members, &program, &settings.grid)?;
    let needs = needs_of(&systems, &program, settings, sampling, num_projections).with_given_back(given_back);
    needs.check()?;
    Ok(Forecast::of(&needs, text_of(&systems)))
}

/// Returns the seconds of some projections on a device; `None` without any.
fn trial_secs(
    device: DeviceChoice,
    acquisition: &Acquisition,
    settings: &RunSettings,
    task: &Task,
) -> Result<Option<f64>, SetupError> {
    if settings.algorithm.is_least_squares() {
        return Ok(None);
    }
    let program = check(acquisition, settings, device)?;
    let mut sweep = acquisition.snapshot();
    sweep.projections.truncate(block(&program, settings, sweep.num_complete()));
    if program.stages == FbpMethod::Two || sweep.num_complete() == 0 {
        return Ok(None);
    }
    let (members, _) = choose_slabs(device)?;
    let systems = systems(members, &program, &settings.grid)?;
    needs_of(&systems, &program, settings, sampling_of(&sweep), sweep.num_complete()).check()?;
    let (system, _) = systems.into_iter().next().ok_or(ReconError::NoDevice)?;
    let mut algorithm = system.fbp(&sweep, fbp_settings(&settings.parameters))?;
    let start = Instant::now();
    algorithm.step(task)?;
    Ok(Some(start.elapsed().as_secs_f64()))
}

/// Returns the memory of each device's slab.
fn needs_of(
    systems: &[SystemOfSlab],
    program: &PlaneProgram,
    settings: &RunSettings,
    sampling: PlaneSampling,
    num_projections: usize,
) -> MemoryNeeds {
    let block = block(program, settings, num_projections).min(num_projections.max(1));
    let bytes_of = |system: &dyn PlaneSystem| system.memory_bytes(block, &sampling);
    MemoryNeeds::of(systems.iter().map(|(system, _)| (bytes_of(&**system), system.free_memory())))
}

/// A program on its device, and the slab of the image that it makes.
type SystemOfSlab = (Box<dyn PlaneSystem>, Grid);

/// Devices and projector in words.
fn text_of(systems: &[SystemOfSlab]) -> [String; 2] {
    let devices: Vec<String> = systems.iter().map(|(system, _)| system.device().to_owned()).collect();
    [join_device_names(&devices), systems.first().map_or_else(String::new, |(system, _)| system.name().to_owned())]
}

/// Returns the program on each device, for its slab of the image.
fn systems(devices: Vec<Opened>, program: &PlaneProgram, grid: &Grid) -> Result<Vec<SystemOfSlab>, SetupError> {
    let slabs = if devices.len() == 1 { vec![grid.clone()] } else { slabs(grid, devices.len())? };
    let make = |(mut platform, slab): (Opened, Grid)| {
        check_image(&slab, &platform.free_memory())?;
        let system = platform.plane_system(program, slab.clone()).ok_or_else(|| platform.lacks("kernel of this paper"))?;
        Ok((system?, slab))
    };
    devices.into_iter().zip(slabs).map(make).collect()
}

/// Projections of a step. Two stages are as fast as they are because an azimuth's projections come together.
fn block(program: &PlaneProgram, settings: &RunSettings, num_projections: usize) -> usize {
    match program.stages {
        FbpMethod::Two => num_projections.max(1),
        FbpMethod::Single => settings.parameters.count(&BLOCK).min(short_block(program.kernel, &settings.grid)),
    }
}

/// Returns the number of projections whose backprojection is short, some tenths of a second, for any grid and program: no command
/// waits for longer.
fn short_block(kernel: PlaneKernel, grid: &Grid) -> usize {
    let num_updates = match kernel {
        PlaneKernel::Fast => 1 << 31,
        PlaneKernel::Paper => 1 << 26,
    };
    (num_updates / grid.num_voxels().max(1)).max(1)
}

/// Returns the polar and azimuthal angles that a sweep has to be resampled to for two stages; `None` where few azimuths are
/// shared by many directions already.
fn wanted_angles(sweep: &Sweep) -> Option<[usize; 2]> {
    let directions: Vec<_> = sweep.projections.iter().map(|projection| projection.direction).collect();
    let num_azimuths = MultiStage::num_azimuths(&directions);
    (num_azimuths * num_azimuths > 4 * directions.len()).then(|| equal_angles_for(directions.len()))
}

/// The program of an acquisition.
struct Stages {
    program: PlaneProgram,
    /// Angles to which two stages resample.
    equal_angles: Option<[usize; 2]>,
    notice: Option<Notice>,
}

/// Returns the program for an acquisition. One stage takes the place of two where the measured directions are too far apart to be
/// resampled.
fn stages_for(program: PlaneProgram, sweep: &Sweep, settings: &FbpSettings, task: &Task) -> Result<Stages, SetupError> {
    let wanted = if program.stages == FbpMethod::Two { wanted_angles(sweep) } else { None };
    let Some(angles) = wanted else { return Ok(Stages { program, equal_angles: None, notice: None }) };
    let percent = 100.0 * resampling_error(sweep, &settings.filter, task)?;
    let [num_polar, num_azimuth] = angles;
    if percent > 100.0 * MAX_RESAMPLING_ERROR {
        let text = format!(
            "one stage was used: two need projections at equal angles, and projections interpolated between the others differ from the measured \
             ones by {percent:.0} %, noise included. Measure polar angles × azimuths ({num_polar} × {num_azimuth}) for two stages"
        );
        let program = PlaneProgram { stages: FbpMethod::Single, ..program };
        return Ok(Stages { program, equal_angles: None, notice: Some(Notice::warning(text)) });
    }
    let text = format!(
        "the filtered projections were resampled to {num_polar} polar angles × {num_azimuth} azimuths, which two stages need. The error is \
         {percent:.1} % at most"
    );
    Ok(Stages { program, equal_angles: Some(angles), notice: Some(Notice::info(text)) })
}
