//! `tomoscope reconstruct ACQUISITION -o OUT`: the job of an EPRI acquisition.

use super::epri_options::PhaseChoice;
use super::options::ReconstructOptions;
use crate::cli::shared::error::{CliError, CliResult};
use crate::cli::shared::image_options::ImageOptions;
use crate::cli::shared::notices;
use crate::geometry::Grid;
use crate::io::formats::Format;
use crate::io::{SweepFollower, field_notice, follow_sweep, read_epri_volume, read_sweep_at_phase};
use crate::plan::{Acquisition, Job, default_sweep_settings, sweep_grid};

/// Returns the job of the options, the file to follow, and the expected number of projections, if it is known.
///
/// # Errors
/// An unreadable file, options that an EPRI acquisition lacks.
pub fn job(options: &ReconstructOptions) -> CliResult<(Job, Option<SweepFollower>, Option<usize>)> {
    if options.spectra_path().is_some() && !Format::of(&options.output).is_some_and(Format::holds_series) {
        let output = options.output.display();
        return Err(CliError::arguments(format!(
            "--spectral-samples: {output} must end in .nii or .nii.gz, which has four dimensions"
        )));
    }
    if options.spectra_path().is_none()
        && let Some(option) = options.given.first_of(["lambda_spectral"])
    {
        return Err(CliError::arguments(format!("{option} goes with --spectral-samples N; leave it out")));
    }
    let reference = options.epri.reference_choice();
    let phase = options.epri.phase.and_then(|PhaseChoice(degrees)| degrees);
    let (study, follower) = if options.follow {
        let (study, mut follower) = follow_sweep(&options.input, reference)?;
        phase.map_or(Ok(()), |degrees| follower.set_phase(degrees))?;
        (study.map(Acquisition::growing), Some(follower))
    } else {
        (read_sweep_at_phase(&options.input, reference, phase)?.map(Acquisition::complete), None)
    };
    notices::print(&study.notices);
    for source in &options.epri.sources {
        let notice = study.measured.look(|sweep| field_notice(&source.file, &options.input, sweep));
        notices::print(notice.as_slice());
    }
    let (settings, num_expected) = study.measured.look(|sweep| {
        let grid = |image: &ImageOptions, _: &Grid| {
            image.grid_with(read_epri_volume, sweep.space.is_slice(), |size, voxel_mm| Ok(sweep_grid(sweep, size, voxel_mm)?))
        };
        Ok::<_, CliError>((options.settings_from(default_sweep_settings(sweep)?, grid)?, sweep.num_expected))
    })?;
    Ok((Job::of(&study, settings), follower, num_expected))
}
