//! Simulated counts of a scanner.

use std::sync::Arc;

use super::options::{Model, SimulateOptions};
use super::photons;
use crate::cli::shared::console::out;
use crate::cli::shared::error::{CliError, CliResult};
use crate::cli::shared::notices;
use crate::cli::shared::printed::{ContentsOf, write_counts};
use crate::cli::shared::progress::with_bar;
use crate::data::{CorrectionContent, TofBins, tof_mm};
use crate::io::{Correction, FileKind};
use crate::phantom;
use crate::phantom::SimulationOptions;
use crate::plan::Start;
use crate::scanner::Scanner;

pub fn run_scan(options: &SimulateOptions, scanner: &Scanner) -> CliResult {
    if FileKind::of(&options.output) != Some(FileKind::InterfileProjections) {
        return Err(CliError::arguments(format!("{} must end in .hs, as scans do", options.output.display())));
    }
    if options.model == Model::MonteCarlo && options.list.tof_ps.is_some() {
        return Err(CliError::arguments(
            "--tof-ps goes with --model analytic: the photons of rotating heads have no time of flight",
        ));
    }
    if options.model == Model::MonteCarlo {
        return photons::run(options, scanner);
    }
    let start = Start::now();
    let geometry = Arc::new(scanner.geometry.clone());
    let phantom = phantom::by_name(&options.phantom, &geometry).map_err(|error| CliError::arguments(error.to_string()))?;
    let fwhm_mm = options.list.tof_ps.map(tof_mm);
    let simulation = SimulationOptions {
        counts: options.counts,
        noise: options.noise,
        seed: options.seed,
        attenuation: options.attenuation,
        background_fraction: options.background,
        truth_grid: Some(options.truth_grid(&geometry)?),
        tof: fwhm_mm.map(|fwhm_mm| TofBins::covering(TofBins::suitable_width_mm(fwhm_mm), fwhm_mm, &geometry)).transpose()?,
    };
    let study = with_bar("simulating", |task| phantom::simulate(&phantom, geometry, &simulation, task))??;
    notices::print(&study.notices);
    out!("{} on {}", study.title, scanner.title);
    let content = format!("{:.0} counts in {} bins", study.measured.prompts.total(), study.measured.geometry().num_bins());
    let contents = ContentsOf {
        factors: &[CorrectionContent::Attenuation],
        background: &[CorrectionContent::Randoms, CorrectionContent::Scatter],
    };
    write_counts(&options.output, &study.measured, contents, content, |correction, _| {
        (if correction == Correction::Additive { "expected background" } else { "attenuation factors" }).into()
    })?;
    options.write_companions(&study, start)
}
