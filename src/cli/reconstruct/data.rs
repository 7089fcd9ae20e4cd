//! What `tomoscope reconstruct` takes, and which of its options go with which: one table, so that no option is ignored in silence.

use std::path::Path;

use super::options::{Algorithm, ReconstructOptions};
use crate::cli::shared::error::{CliError, CliResult, Failure};
use crate::io::FileKind;
use crate::io::formats::{Access, Content, described};
use crate::plan::{AlgorithmKind, DeviceChoice, ProjectorChoice, Rays};
use crate::words::either;

/// Kind of the data that are reconstructed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DataKind {
    /// Projection data.
    Projections,
    /// List-mode data.
    Events,
    /// A crystal-pair histogram.
    Pairs,
    /// An EPRI acquisition.
    Sweep,
}

use DataKind::{Events, Pairs, Projections, Sweep};

/// All that is reconstructed, for a person.
fn inputs() -> String {
    either(
        &[Content::Projections, Content::ListMode, Content::Pairs, Content::Sweep]
            .map(|content| described(content, Access::Read)),
    )
}

impl DataKind {
    /// Returns the kind of a file by its name.
    ///
    /// # Errors
    /// A file that is missing, or of another kind.
    pub fn of(path: &Path) -> CliResult<Self> {
        let kind = FileKind::of(path);
        match kind {
            Some(kind) if kind.is_scan() => Ok(Projections),
            Some(kind) if kind.is_list() => Ok(Events),
            Some(kind) if kind.is_sweep() => Ok(Sweep),
            Some(FileKind::Pairs) => Ok(Pairs),
            _ => {
                crate::cli::shared::paths::check_file(path)?;
                let is = if kind.is_some_and(FileKind::is_image) { "an image" } else { "a file of another kind" };
                Err(CliError::failed(Failure::Input, format!("{} is {is}; reconstruct takes {}", path.display(), inputs())))
            }
        }
    }

    fn one(self) -> &'static str {
        match self {
            Projections | Events => self.words(),
            Pairs => "a crystal-pair histogram",
            Sweep => "an EPRI acquisition",
        }
    }

    fn words(self) -> &'static str {
        match self {
            Projections => "projection data",
            Events => "list-mode data",
            Pairs => "crystal-pair histograms",
            Sweep => "EPRI acquisitions",
        }
    }
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

impl ReconstructOptions {
    /// Options that do not go with all data: name, whether it was given, and the data that it goes with.
    fn limited(&self) -> Vec<(&'static str, bool, &'static [DataKind])> {
        let (projector, stop) = (&self.projector, self.stop.first_given());
        let [epri, lists] = [self.epri.first_given(), self.list_arguments.first_given()];
        vec![
            (epri.unwrap_or_default(), epri.is_some(), SWEEPS),
            (lists.unwrap_or_default(), lists.is_some(), LISTS),
            ("--frame", self.frame.is_some(), LISTS),
            ("--frames", self.frames.is_some(), LISTS),
            ("--split-blocks", self.split_blocks.is_some(), LISTS),
            ("--attenuation", self.attenuation.is_some(), LISTS),
            ("--no-tof", self.no_tof, LISTS),
            ("--follow", self.follow, GROWING),
            ("--matrix", self.matrix.is_some(), PAIRS),
            ("--tubes", projector.tubes.is_some(), SCANS),
            ("--projector", projector.choice() != ProjectorChoice::Auto, SCANS),
            ("--threads-per-block", projector.threads_per_block.is_some(), SCANS),
            ("--multiplicative", projector.multiplicative.is_some(), SCANS),
            ("--additive", projector.additive.is_some(), SCANS),
            ("--no-corrections", self.no_corrections, SCANS),
            ("--subsets", self.subsets.is_some(), ALONG_LINES),
            ("--subset-order", self.subset_order.is_some(), ALONG_LINES),
            ("--racy-sensitivity", self.racy_sensitivity, ALONG_LINES),
            ("--rays", projector.rays != Rays::Auto, ALONG_LINES),
            ("--fov-radius-mm", projector.fov_radius_mm.is_some(), ALONG_LINES),
            ("--iterations", self.iterations.is_some(), ITERATIVE),
            (stop.unwrap_or_default(), stop.is_some(), ITERATIVE),
            ("--init", self.init.is_some(), ITERATIVE),
            ("--save-every", self.save_every.is_some(), ITERATIVE),
            ("--accumulation", projector.accumulation.is_some(), ITERATIVE),
        ]
    }

    /// Refuses options and algorithms that do not go with the data.
    ///
    /// # Errors
    /// Wrong arguments.
    pub(in crate::cli) fn check_options(&self, data: DataKind) -> CliResult {
        let input = self.input.display();
        let limited = self.limited();
        if let Some((name, _, takes)) = limited.iter().find(|(_, is_given, takes)| *is_given && !takes.contains(&data)) {
            let takes: Vec<&str> = takes.iter().map(|kind| kind.words()).collect();
            return Err(CliError::arguments(format!("{name} is for {}; {input} is {}", listed(&takes), data.one())));
        }
        let goes = match self.algorithm {
            None => true,
            Some(Algorithm::Fbp(_)) => data == Sweep,
            Some(Algorithm::Em(kind)) => data != Sweep && (data != Pairs || kind == AlgorithmKind::Mlem),
        };
        if !goes {
            let by = match data {
                Sweep => "fbp or fbp-multistage",
                Pairs => "mlem",
                Projections | Events => "mlem or osem",
            };
            return Err(CliError::arguments(format!("--algorithm: {} are reconstructed by {by}", data.words())));
        }
        if self.algorithm == Some(Algorithm::Em(AlgorithmKind::Mlem)) && self.subsets.is_some_and(|n| n > 1) {
            return Err(CliError::arguments("MLEM uses all views in every step: --subsets goes with --algorithm osem"));
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
        let is_on_gpu = match self.device {
            DeviceChoice::Cpu => false,
            DeviceChoice::Auto => crate::cli::shared::known::cuda_device(DeviceChoice::Auto).is_some(),
            DeviceChoice::Cuda(_) | DeviceChoice::Gpus(_) => true,
        };
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
