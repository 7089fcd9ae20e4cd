//! `tomoscope reconstruct SWEEP -o OUT`: what is asked of an EPRI sweep.

use super::epri_options::PhaseChoice;
use super::options::ReconstructOptions;
use crate::cli::shared::error::{CliError, CliResult};
use crate::cli::shared::image_options::ImageOptions;
use crate::cli::shared::notices;
use crate::cli::shared::options::voxels;
use crate::data::Sweep;
use crate::geometry::Grid;
use crate::io::{SweepFollower, follow_sweep, read_sweep_at_phase, read_volume};
use crate::plan::{Acquisition, Job, default_sweep_settings, sweep_grid};

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
    let (settings, num_expected) = study.measured.look(|sweep| {
        let grid = |_: &ImageOptions, _: &Grid| grid(options, sweep).map(Some);
        Ok::<_, CliError>((options.settings_from(default_sweep_settings(sweep)?, grid)?, sweep.num_expected))
    })?;
    Ok((Job::of(&study, settings), follower, num_expected))
}

/// Returns the grid that the options describe.
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
