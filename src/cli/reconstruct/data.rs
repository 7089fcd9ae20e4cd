//! The inputs of `tomoscope reconstruct`, and the refusal of options that do not go with them.

use std::path::Path;

use super::options::ReconstructOptions;
use crate::cli::shared::error::{CliError, CliResult, Failure};
use crate::cli::shared::known::cuda_device;
use crate::cli::shared::option_groups::{GROUPS, STEPS, VARIATION};
use crate::cli::shared::setting_options::{algorithm_for, check_settings, kinds_with, settings};
use crate::io::foreign;
use crate::io::formats::{Access, Content, Format, described};
use crate::plan::{DataKind, DeviceChoice, RACY_SENSITIVITY, YES, data_kind_of};
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
        for (group, takes) in GROUPS.iter().filter(|(_, takes)| !takes.contains(&data)) {
            if let Some(option) = self.given.first_in([*group]) {
                return refuse(option, takes);
            }
        }
        for setting in settings() {
            let takes = kinds_with(setting);
            if let Some(option) = self.given.first_of([setting.key]).filter(|_| !takes.contains(&data)) {
                return refuse(option, &takes);
            }
        }
        let algorithm = algorithm_for(data, self.algorithm)?;
        check_settings(&self.given, algorithm)?;
        if let Some(option) =
            self.given.first_in([STEPS, VARIATION]).filter(|_| data == DataKind::Sweep && !algorithm.is_least_squares())
        {
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
        if self.parameters.values().is(&RACY_SENSITIVITY, YES)
            && !projector.accumulation.is_some_and(|accumulation| accumulation.has_race())
        {
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
