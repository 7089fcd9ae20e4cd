//! `tomoscope simulate PHANTOM --scanner NAME --model montecarlo -o OUT.hs`: a photon-by-photon scan in the crystals of rotating
//! heads.

use super::options::SimulateOptions;
use crate::cli::shared::console::out;
use crate::cli::shared::error::{CliError, CliResult};
use crate::cli::shared::notices;
use crate::cli::shared::printed::{ContentsOf, write_counts, written};
use crate::cli::shared::progress::with_bar;
use crate::data::CorrectionContent;
use crate::io::FileKind;
use crate::io::saved_pairs::write_pairs;
use crate::phantom;
use crate::phantom::Noise;
use crate::plan::{scan_pairs, scan_photons};
use crate::scanner::{CrystalRing, Scanner};

/// Simulates a scan of a ring of crystals, and writes it.
pub fn run_ring(options: &SimulateOptions, ring: &CrystalRing) -> CliResult {
    if FileKind::of(&options.output) != Some(FileKind::Pairs) {
        return Err(CliError::arguments(format!(
            "{} must end in .pairs, as counts of rings of crystals do",
            options.output.display()
        )));
    }
    refuse_options_of_lines(options, "rings of crystals")?;
    let phantom = phantom::ring::by_name(&options.phantom)?;
    let num_counts = options.counts.round() as u64;
    let scan = with_bar("simulating", |task| scan_pairs(&phantom, ring, num_counts, options.seed, task))??;
    out!("{} on {}", phantom.title, ring.title);
    write_pairs(&options.output, &scan.measured)?;
    let content = format!("{} counts of {} pairs of crystals", scan.measured.total(), scan.measured.counts.len());
    written(&options.output, content);
    options.write_rois(&phantom.rois)
}

/// Refuses options that have no meaning for simulated photons.
fn refuse_options_of_lines(options: &SimulateOptions, with: &str) -> CliResult {
    let refused = [
        ("--noise", options.noise == Noise::None, "counts of photons are as noisy as a scanner's"),
        ("--attenuation", options.attenuation, "photons are followed in the crystals alone"),
        ("--background", options.background > 0.0, "the simulation contains only photons of the object"),
        ("--truth", options.truth.is_some(), "counts of photons have no absolute scale; write it with --model analytic"),
    ];
    match refused.into_iter().find(|(_, is_given, _)| *is_given) {
        Some((option, _, why)) => Err(CliError::arguments(format!("{option} does not go with {with}: {why}"))),
        None => Ok(()),
    }
}

pub fn run(options: &SimulateOptions, scanner: &Scanner) -> CliResult {
    refuse_options_of_lines(options, "--model montecarlo")?;
    let phantom = phantom::by_name(&options.phantom, &scanner.geometry)?;
    let num_counts = options.counts.round() as u64;
    let scan = with_bar("simulating", |task| scan_photons(&phantom, scanner, num_counts, options.seed, task))??;
    notices::print(&phantom.notices);
    out!("{} on {}", phantom.title, scanner.title);
    let prompts = &scan.measured.prompts;
    let content = format!("{} counts in {} bins", prompts.total(), prompts.counts.len());
    let contents = ContentsOf { factors: &[CorrectionContent::Efficiency], background: &[] };
    write_counts(&options.output, &scan.measured, contents, content, |_, _| {
        "how many crystal pairs fall into each bin (their mean is 1)".into()
    })?;
    options.write_rois(&phantom.rois)
}
