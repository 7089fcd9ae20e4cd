//! `tomoscope simulate PHANTOM --scanner NAME --model montecarlo -o OUT.hs`: a scan whose photons are followed into the crystals of
//! rotating heads.

use std::path::Path;

use super::CliResult;
use super::console::out;
use super::notices;
use super::progress::with_bar;
use super::simulate::{SimulateOptions, WRITTEN};
use crate::data::Counts;
use crate::io::{Correction, rois, write_projections};
use crate::phantom;
use crate::plan::scan_photons;
use crate::scanner::Scanner;
use crate::words::counted;

/// Simulates and writes.
pub fn run(options: &SimulateOptions, scanner: &Scanner) -> CliResult {
    let refused = [
        ("--noise", options.is_noiseless(), "its counts are as noisy as a scanner's"),
        ("--attenuation", options.attenuation, "its photons are followed in the crystals alone"),
        ("--background", options.background > 0.0, "it counts what the photons of the object give, and nothing else"),
        (
            "--truth",
            options.truth.is_some(),
            "its counts have no absolute scale until tubes give them one; write it with --model analytic",
        ),
    ];
    if let Some((option, _, why)) = refused.into_iter().find(|(_, is_given, _)| *is_given) {
        return Err(format!("{option} does not go with --model montecarlo: {why}").into());
    }
    let phantom = phantom::by_name(&options.phantom, &scanner.geometry)?;
    let num_counts = options.counts.round() as u64;
    let scan = with_bar("simulating", |task| scan_photons(&phantom, scanner, num_counts, options.seed, task))??;
    notices::print(&phantom.notices);
    out!("{} on {}", phantom.title, scanner.title);
    let report = |path: &Path, what: &str| out!("  {}", WRITTEN.line([path.display().to_string(), what.to_owned()]));
    let Counts { prompts, multiplicative, .. } = &scan.measured;
    write_projections(&options.output, prompts)?;
    report(&options.output, &format!("{} counts in {} bins", prompts.total(), prompts.counts.len()));
    if let Some(factors) = multiplicative {
        let path = Correction::Multiplicative.path_beside(&options.output);
        write_projections(&path, factors)?;
        report(&path, "how many crystal pairs fall into each bin (their mean is 1)");
    }
    if let Some(path) = &options.rois {
        rois::write_rois(path, &phantom.rois)?;
        report(path, &counted(phantom.rois.len(), "region of interest"));
    }
    Ok(())
}
