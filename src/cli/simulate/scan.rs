//! Simulated counts of a scanner.

use std::path::Path;
use std::sync::Arc;

use super::options::{Model, SimulateOptions, write_truth};
use super::photons;
use crate::cli::shared::console::out;
use crate::cli::shared::error::{CliError, CliResult};
use crate::cli::shared::notices;
use crate::cli::shared::printed::WRITTEN;
use crate::cli::shared::progress::with_bar;
use crate::io::{Correction, FileKind, rois, write_projections};
use crate::phantom;
use crate::phantom::SimulationOptions;
use crate::plan::Start;
use crate::scanner::Scanner;
use crate::text::counted;

pub fn run_scan(options: &SimulateOptions, scanner: &Scanner) -> CliResult {
    if FileKind::of(&options.output) != Some(FileKind::InterfileProjections) {
        return Err(CliError::arguments(format!("{} must end in .hs, as scans do", options.output.display())));
    }
    if options.model == Model::MonteCarlo {
        return photons::run(options, scanner);
    }
    let start = Start::now();
    let geometry = Arc::new(scanner.geometry.clone());
    let phantom = phantom::by_name(&options.phantom, &geometry).map_err(|error| CliError::arguments(error.to_string()))?;
    let simulation = SimulationOptions {
        counts: options.counts,
        noise: options.noise,
        seed: options.seed,
        attenuation: options.attenuation,
        background_fraction: options.background,
        truth_grid: Some(options.truth_grid(&geometry)?),
    };
    let study = with_bar("simulating", |task| phantom::simulate(&phantom, geometry, &simulation, task))??;
    notices::print(&study.notices);
    out!("{} on {}", study.title, scanner.title);
    let report = |path: &Path, what: &str| out!("  {}", WRITTEN.line([path.display().to_string(), what.to_owned()]));
    write_projections(&options.output, &study.measured.prompts)?;
    report(
        &options.output,
        &format!("{:.0} counts in {} bins", study.measured.prompts.total(), study.measured.geometry().num_bins()),
    );
    let corrections = [
        (Correction::Multiplicative, "attenuation factors", &study.measured.multiplicative),
        (Correction::Additive, "expected background", &study.measured.additive),
    ];
    for (which, what, data) in corrections {
        if let Some(data) = data {
            let path = which.path_beside(&options.output);
            write_projections(&path, data)?;
            report(&path, what);
        }
    }
    if let (Some(path), Some(truth)) = (&options.truth, &study.truth) {
        write_truth(path, truth, &study.title, options, start)?;
        report(path, &format!("true image, {}", truth.unit.label()));
    }
    if let Some(path) = &options.rois {
        rois::write_rois(path, &study.rois)?;
        report(path, &counted(study.rois.len(), "region of interest"));
    }
    Ok(())
}
