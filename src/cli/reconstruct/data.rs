//! The inputs of `tomoscope reconstruct`, and the options of each kind of data: one table, so that no option is ignored in
//! silence.

use std::path::Path;

use DataKind::{Events, Pairs, Projections, Sweep};

use super::options::ReconstructOptions;
use crate::cli::shared::error::{CliError, CliResult, Failure};
use crate::cli::shared::known::cuda_device;
use crate::cli::shared::parameter_options::{algorithm_for, algorithms_with, check_parameters, kinds_of, parameters};
use crate::io::foreign;
use crate::io::formats::{Access, Content, Format, described};
use crate::plan::{AlgorithmChoice, DataKind, DeviceChoice, data_kind_of};
use crate::text::either;

/// Returns the supported inputs as text.
fn inputs() -> String {
    either(
        &[Content::Projections, Content::ListMode, Content::Pairs, Content::Sweep]
            .map(|content| described(content, Access::Read)),
    )
}

/// Returns the kind of the data in a file, by its name.
///
/// # Errors
/// A file that is missing, or of another kind.
pub fn kind_of(path: &Path) -> CliResult<DataKind> {
    let Some(kind) = data_kind_of(path).filter(|kind| !matches!(kind, DataKind::Images | DataKind::Oximetry)) else {
        let is_image = Format::of_file(path).is_some_and(|format| format.kind.is_image());
        if !is_image || path.is_dir() {
            crate::cli::shared::paths::check_file(path)?;
        }
        if let Some(refusal) = foreign(path) {
            return Err(refusal.into());
        }
        let is = if is_image { "an image" } else { "a file of another kind" };
        return Err(CliError::failed(Failure::Input, format!("{} is {is}; reconstruct takes {}", path.display(), inputs())));
    };
    Ok(kind)
}

const SCANS: &[DataKind] = &[Projections];
const LISTS: &[DataKind] = &[Events];
const PAIRS: &[DataKind] = &[Pairs];
const SWEEPS: &[DataKind] = &[Sweep];
/// Data that may still be written.
const GROWING: &[DataKind] = &[Events, Sweep];
/// Data that are reconstructed by MLEM or OSEM along lines.
const ALONG_LINES: &[DataKind] = &[Projections, Events];
/// Data that are reconstructed by iterations.
const ITERATIVE: &[DataKind] = &[Projections, Events, Pairs];

/// Options for some kinds of data only, by their identifiers. (Parameters of algorithms are for the data of their algorithms.)
pub(in crate::cli) const LIMITED: &[(&[&str], &[DataKind])] = &[
    (&["reference", "phase", "field_shift", "kernel", "mask", "sources", "experiment"], SWEEPS),
    (&["crystals", "normalization", "yrt_tof_ps", "yrt_tof_range", "yrt_randoms"], LISTS),
    (&["frame", "frames", "split_blocks"], LISTS),
    (&["no_tof"], ALONG_LINES),
    (&["tof_mash", "tof_sigmas"], SCANS),
    (&["attenuation", "add_attenuation", "mu_unit", "ct", "kvp", "ct_fwhm_mm", "ct_shift_mm"], ALONG_LINES),
    (&["suv", "dose_mbq", "injected", "scan_start", "duration_secs", "half_life"], ALONG_LINES),
    (&["weight_kg", "height_cm", "sex", "multiplicative_includes", "additive_includes"], ALONG_LINES),
    (&["follow"], GROWING),
    (&["matrix"], PAIRS),
    (&["tubes", "projector", "threads_per_block"], SCANS),
    (&["multiplicative", "multiplicative_inverse", "additive", "additive_inside"], SCANS),
    (&["no_corrections", "corrections_of_another_scan"], SCANS),
    (&["subsets", "racy_sensitivity", "rays", "fov_radius_mm", "psf_fwhm_mm", "psf"], ALONG_LINES),
    (&["as_if_secs"], ALONG_LINES),
    (&["bootstrap", "bootstrap_seed"], ITERATIVE),
    (&["stop_plateau", "accumulation"], ITERATIVE),
    (BY_ITERATION, &[Projections, Events, Pairs, Sweep]),
];

/// Options of algorithms that iterate.
const BY_ITERATION: &[&str] = &["iterations", "stop_noise", "stop_recovery", "init", "save_every"];

impl ReconstructOptions {
    /// Refuses options and algorithms that do not go with the data.
    ///
    /// # Errors
    /// Wrong arguments.
    pub(in crate::cli) fn check_options(&self, data: DataKind) -> CliResult {
        let input = self.input.display();
        let refuse = |option: String, takes: &[DataKind]| {
            let takes: Vec<&str> = takes.iter().map(|kind| kind.plural()).collect();
            Err(CliError::arguments(format!("{option} is for {}; {input} is {}", listed(&takes), data.singular())))
        };
        for (ids, takes) in LIMITED.iter().filter(|(_, takes)| !takes.contains(&data)) {
            if let Some(option) = self.given.first_of(ids.iter().copied()) {
                return refuse(option, takes);
            }
        }
        for parameter in parameters() {
            let takes: Vec<DataKind> = algorithms_with(parameter.key).flat_map(kinds_of).collect();
            if let Some(option) = self.given.first_of([parameter.key]).filter(|_| !takes.contains(&data)) {
                return refuse(option, &takes);
            }
        }
        let algorithm = algorithm_for(data, self.algorithm)?;
        check_parameters(&self.given, algorithm)?;
        let of_variation = BY_ITERATION.iter().copied().chain(["mask", "sources", "experiment"]);
        if let Some(option) = self.given.first_of(of_variation).filter(|_| data == Sweep && algorithm != AlgorithmChoice::TV) {
            return Err(CliError::arguments(format!("{option}: {} iterate with --algorithm tv only", data.plural())));
        }
        if !algorithm.entry().has_subsets && self.subsets.is_some_and(|n| n > 1) {
            return Err(CliError::arguments(format!(
                "{} uses all views in every step: --subsets goes with --algorithm osem",
                algorithm.entry().label
            )));
        }
        self.check_effects()
    }

    /// Refuses options that would have no effect.
    fn check_effects(&self) -> CliResult {
        let projector = &self.projector;
        if self.racy_sensitivity && !projector.accumulation.is_some_and(|accumulation| accumulation.has_race()) {
            return Err(CliError::arguments("--racy-sensitivity has an effect only with --accumulation non-atomic"));
        }
        projector.check_effects()
    }
}

impl crate::cli::shared::options::ProjectorOptions {
    /// Refuses options that would have no effect.
    ///
    /// # Errors
    /// Wrong arguments.
    pub fn check_effects(&self) -> CliResult {
        let is_on_gpu = matches!(self.device, DeviceChoice::Gpus(_)) || cuda_device(self.device).is_some();
        if self.threads_per_block.is_some() && !is_on_gpu {
            return Err(CliError::arguments("--threads-per-block has no effect on the CPU: add --device cuda, or leave it out"));
        }
        Ok(())
    }
}

/// Returns names as a list of a sentence.
fn listed(names: &[&str]) -> String {
    match names {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [others @ .., last] => format!("{} and {last}", others.join(", ")),
    }
}
