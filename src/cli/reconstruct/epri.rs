//! `tomoscope reconstruct SWEEP -o OUT`: what is asked of an EPRI sweep.

use super::epri_options::PhaseChoice;
use std::sync::Arc;

use super::options::{Algorithm, ReconstructOptions};
use crate::cli::shared::error::CliResult;
use crate::cli::shared::notices;
use crate::cli::shared::options::voxels;
use crate::data::Sweep;
use crate::geometry::Grid;
use crate::io::{SweepFollower, follow_sweep, read_sweep_at_phase, read_volume};
use crate::plan::{Acquisition, Job, Stages, SweepSettings, default_sweep_settings, sweep_grid};
use crate::recon::FilterSettings;

/// The job that the options describe, the file to follow, and how many projections there should be, as far as it is known.
///
/// # Errors
/// A file that cannot be read, options that an EPRI sweep does not have.
pub fn job(options: &ReconstructOptions) -> CliResult<(Job, Option<SweepFollower>, Option<usize>)> {
    let reference = options.epri.reference.as_deref();
    let phase = options.epri.phase.and_then(|PhaseChoice(degrees)| degrees);
    let (study, follower) = if options.follow {
        let (study, mut follower) = follow_sweep(&options.input, reference)?;
        phase.map_or(Ok(()), |degrees| follower.set_phase(degrees))?;
        (study.map(Acquisition::growing), Some(follower))
    } else {
        (read_sweep_at_phase(&options.input, reference, phase)?.map(Acquisition::complete), None)
    };
    notices::print(&study.notices);
    let (settings, num_expected) = study
        .measured
        .look(|sweep| Ok::<_, crate::cli::shared::error::CliError>((settings(options, sweep)?, sweep.num_expected)))?;
    Ok((Job::Sweep { study: Arc::new(study), settings: Box::new(settings) }, follower, num_expected))
}

/// What was asked for, and what suits the data.
fn settings(options: &ReconstructOptions, sweep: &Sweep) -> CliResult<SweepSettings> {
    let stages = match options.algorithm {
        Some(Algorithm::Fbp(stages)) => stages,
        _ => Stages::Single,
    };
    let (epri, base) = (&options.epri, default_sweep_settings(sweep)?);
    Ok(SweepSettings {
        stages,
        kernel: epri.kernel.unwrap_or(base.kernel),
        filter: FilterSettings {
            filter: epri.filter.unwrap_or(base.filter.filter),
            cutoff: epri.cutoff.or(base.filter.cutoff),
            baseline: epri.baseline.unwrap_or(base.filter.baseline),
            interpolation: epri.interpolation.unwrap_or(base.filter.interpolation),
        },
        order: epri.order.unwrap_or(base.order),
        block: base.block,
        grid: grid(options, sweep)?,
        device: options.projector.device,
        num_threads: options.projector.threads.map(usize::from),
    })
}

fn grid(options: &ReconstructOptions, sweep: &Sweep) -> CliResult<Grid> {
    match &options.image.like {
        Some(path) => {
            let (volume, found) = read_volume(path)?;
            notices::print(&found);
            Ok(volume.grid)
        }
        None => {
            let (size, voxel_mm) = voxels(options.image.image, options.image.voxel_mm, sweep.space.is_slice())?;
            Ok(sweep_grid(sweep, size, voxel_mm)?)
        }
    }
}
