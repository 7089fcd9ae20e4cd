//! `tomoscope reconstruct ACQUISITION -o OUT`: the job of an EPRI acquisition.

use super::epri_options::{FieldShiftChoice, PhaseChoice};
use super::options::ReconstructOptions;
use crate::cli::shared::error::{CliError, CliResult};
use crate::cli::shared::image_options::ImageOptions;
use crate::cli::shared::notices;
use crate::data::{FieldShift, Notice, Study, SweepKind};
use crate::geometry::Grid;
use crate::io::formats::Format;
use crate::io::{SweepFollower, field_notice, follow_sweep, read_epri_volume, read_sweep_at_phase};
use crate::plan::{Acquisition, Job, default_sweep_settings, sweep_grid};
use crate::recon::{FieldFit, field_warnings};

/// Standard errors of a shift below which none is made.
const MIN_ERRORS: f64 = 3.0;

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
    let study = with_field_shift(study, options)?;
    for source in &options.epri.sources {
        let notice = study.measured.look(|sweep| field_notice(&source.file, &options.input, sweep));
        notices::print(notice.as_slice());
    }
    if !options.follow {
        notices::print(&field_warnings(&study.measured.snapshot()));
    }
    let (settings, num_expected) = study.measured.look(|sweep| {
        let grid = |image: &ImageOptions, _: &Grid| {
            image.grid_with(read_epri_volume, sweep.space.is_slice(), |size, voxel_mm| Ok(sweep_grid(sweep, size, voxel_mm)?))
        };
        Ok::<_, CliError>((options.settings_from(default_sweep_settings(sweep)?, grid)?, sweep.num_expected))
    })?;
    Ok((Job::of(&study, settings), follower, num_expected))
}

/// Returns the study with the shift of its reference spectrum that the options set, and prints it.
///
/// # Errors
/// A shift without a reference spectrum, one to be found in data that do not show it.
fn with_field_shift(study: Study<Acquisition>, options: &ReconstructOptions) -> CliResult<Study<Acquisition>> {
    let choice = options.epri.field_shift.unwrap_or(FieldShiftChoice::None);
    if choice == FieldShiftChoice::None {
        return Ok(study);
    }
    let refuse = |text: &str| Err(CliError::arguments(format!("--field-shift: {text}")));
    if study.measured.look(|sweep| matches!(sweep.kind, SweepKind::Pulse)) {
        return refuse("pulses have no reference spectrum; leave it out");
    }
    if options.spectra_path().is_some() {
        return refuse("spectra in each voxel (--spectral-samples) take no reference spectrum; leave it out");
    }
    let shift = match choice {
        FieldShiftChoice::Mt(shift_mt) => FieldShift { shift_mt, standard_error_mt: None },
        _ if options.follow => {
            return refuse("auto needs the finished acquisition; with --follow, set the shift in mT (--field-shift MT)");
        }
        _ if !options.epri.sources.is_empty() => {
            return refuse("auto is for one reference spectrum; with --radicals, set the shift in mT (--field-shift MT)");
        }
        _ => {
            let Some(fit) = study.measured.look(FieldFit::of) else {
                return refuse(
                    "auto: the projections do not show the field of the reference spectrum. It takes a reference spectrum, signal above the noise, and \
                     8 directions, in three dimensions 130. Set the shift in mT (--field-shift MT)",
                );
            };
            let is_clear = fit.shift_mt.value.abs() > MIN_ERRORS * fit.shift_mt.standard_error;
            if !is_clear {
                notices::print(&[Notice::info(format!(
                    "The projections show no shift of the field: {} mT. The reference spectrum is not moved",
                    fit.shift_mt.text()
                ))]);
            }
            let shift_mt = if is_clear { fit.shift_mt.value } else { 0.0 };
            FieldShift { shift_mt, standard_error_mt: Some(fit.shift_mt.standard_error) }
        }
    };
    if shift.shift_mt != 0.0 {
        notices::print(&[Notice::info(format!("The reference spectrum is moved by {}", shift.text()))]);
    }
    study.measured.add(|sweep| sweep.facts.field_shift = Some(shift));
    Ok(study)
}
