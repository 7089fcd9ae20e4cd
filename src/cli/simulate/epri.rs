//! `tomoscope simulate PHANTOM --epri SCHEME -o OUT.sweep`: a pulse EPRI acquisition of a phantom, as a file.

use super::options::SimulateOptions;
use super::oxygen;
use crate::cli::shared::console::out;
use crate::cli::shared::error::{CliError, CliResult};
use crate::cli::shared::notices;
use crate::cli::shared::options::voxels;
use crate::cli::shared::printed::written;
use crate::cli::shared::progress::with_bar;
use crate::data::Unit;
use crate::geometry::Grid;
use crate::io::{FileKind, check_image_unit, write_sweep};
use crate::operator::grid_about_zero;
use crate::phantom::epri::{SweepOptions, by_name, simulate, simulate_spectral};
use crate::plan::Start;
use crate::scanner::epri::Scheme;
use crate::text::counted;

pub fn run(options: &SimulateOptions, scheme: Scheme) -> CliResult {
    let start = Start::now();
    let epri = &options.epri;
    if FileKind::of(&options.output) != Some(FileKind::SavedSweep) {
        return Err(CliError::arguments(format!("{} must end in .sweep, as EPRI sweeps do", options.output.display())));
    }
    let is_oxygen = options.oxygen.oxygen;
    if let Some(truth) = &options.truth {
        check_image_unit(truth, if is_oxygen { Unit::Torr } else { Unit::Arbitrary }, None)?;
    }
    let step_mm = epri.extent_mm / epri.points as f64;
    let mut sweep_options = SweepOptions {
        scheme,
        weighting: epri.weights,
        order: epri.order,
        num_points: epri.points,
        step_mm,
        noise_fraction: epri.noise_fraction,
        seed: options.seed,
        truth_grid: None,
    };
    sweep_options.check().map_err(|error| CliError::arguments(error.to_string()))?;
    if options.truth.is_some() {
        sweep_options.truth_grid = Some(truth_grid(options, scheme, step_mm)?);
    }
    // Lines need a part of the field sweep beyond the phantom.
    let for_space = if epri.spectral().is_some() { 0.5 } else { 1.0 };
    let half_extent_mm = for_space * sweep_options.half_extent_mm();
    let phantom = by_name(&options.phantom, half_extent_mm).map_err(|error| CliError::arguments(error.to_string()))?;
    if is_oxygen {
        return oxygen::run(options, &phantom, &sweep_options, start);
    }
    let study = with_bar("simulating", |task| match epri.spectral() {
        Some(spectral) => simulate_spectral(&phantom, &sweep_options, &spectral, task),
        None => simulate(&phantom, &sweep_options, task),
    })??;
    notices::print(&study.notices);
    out!("{}, {scheme}", study.title);
    write_sweep(&options.output, &study)?;
    let what = format!(
        "{} of {} samples, {step_mm:.5} mm apart",
        counted(study.measured.num_complete(), "projection"),
        study.measured.num_points
    );
    written(&options.output, what);
    options.write_companions(&study, start)
}

/// Returns the requested grid. By default it has the number and the distance of a projection's samples along each axis, for a
/// slice one voxel along z. The voxel of index floor(n/2) lies at zero.
fn truth_grid(options: &SimulateOptions, scheme: Scheme, step_mm: f64) -> CliResult<Grid> {
    let (size, voxel_mm) = voxels(options.image, options.voxel_mm, scheme.is_slice())?;
    let side = options.epri.points;
    let size = size.unwrap_or([side, side, if scheme.is_slice() { 1 } else { side }]);
    Ok(grid_about_zero(size, voxel_mm.unwrap_or([step_mm; 3]))?)
}
