//! The error of a command: a code for programs, a text for people, and the exit code.

use std::fmt;
use std::fmt::{Display, Formatter};

use serde_json::{Value, json};

use crate::coded::Problem;

/// Exit code of a command that failed.
const FAILED: u8 = 1;
/// Exit code for an incomplete image.
pub const PARTIAL: u8 = 3;
/// Exit code for wrong arguments, also of clap.
pub const WRONG_ARGUMENTS: u8 = 2;

/// Refusal or failure of a command; every other part has its own errors. Each has a code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::IntoStaticStr, strum::VariantNames)]
#[strum(serialize_all = "kebab-case", prefix = "command.")]
pub enum Failure {
    /// An output is not writable, or would replace a required file.
    Output,
    /// A file of a kind that the command does not support.
    Input,
    #[strum(serialize = "input")]
    DifferentGrids,
    /// A stop rule for a region that the ROI file lacks.
    #[strum(serialize = "input")]
    MissingRegion,
    /// No frame contains an event.
    #[strum(serialize = "input")]
    NoEvents,
    /// The run was stopped before it had an image.
    NoImage,
    /// Several processes that cannot share the work.
    Processes,
    /// A Slurm array with an ambiguous part.
    #[strum(serialize = "processes")]
    SlurmArray,
    /// Objects that a DICOM node did not store.
    NotStored,
    /// No setting complies with a standard.
    NoSetting,
    Internal,
}

#[derive(Clone, Debug, PartialEq)]
pub struct CliError {
    problem: Problem,
    exit_code: u8,
}

impl CliError {
    /// Returns the error of arguments that do not go together, or do not fit the files that they name.
    pub fn arguments(text: impl Into<String>) -> Self {
        Self { problem: Problem::new("arguments", text), exit_code: WRONG_ARGUMENTS }
    }

    pub fn failed(failure: Failure, text: impl Into<String>) -> Self {
        Problem::new(failure.into(), text).into()
    }

    pub fn with_text(mut self, text: impl FnOnce(&str) -> String) -> Self {
        self.problem.text = text(&self.problem.text);
        self
    }

    pub fn exit_code(&self) -> u8 {
        self.exit_code
    }

    /// Returns the error as `--json` prints it.
    pub fn to_json(&self) -> Value {
        json!({ "error": { "code": self.problem.code, "message": self.problem.text, "exit_code": self.exit_code } })
    }
}

impl Display for CliError {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.problem.fmt(f)
    }
}

impl<E: Into<Problem>> From<E> for CliError {
    fn from(error: E) -> Self {
        Self { problem: error.into(), exit_code: FAILED }
    }
}

pub type CliResult<T = ()> = Result<T, CliError>;

/// Outcome of a command that did its work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Done {
    Complete,
    /// The written image contains less than was requested, or values that are not finite; the reason was printed.
    Partial,
}

impl From<()> for Done {
    fn from((): ()) -> Self {
        Done::Complete
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use strum::VariantNames as _;

    use super::Failure;

    #[test]
    fn the_code_of_every_failure_is_documented_and_no_other() {
        let page = include_str!("../../../docs/error-codes.md");
        let documented: BTreeSet<&str> =
            page.split('`').filter(|text| text.starts_with("command.") && !text.contains('…')).collect();
        assert_eq!(documented, Failure::VARIANTS.iter().copied().collect());
    }
}
