//! The error of a command: a code for programs, a text for people, and the exit code.

use std::fmt::{self, Display, Formatter};

use serde_json::{Value, json};

use crate::coded::Coded;

/// Exit code of a command that failed.
const FAILED: u8 = 1;
/// Exit code for wrong arguments, as where clap refuses them.
pub const WRONG_ARGUMENTS: u8 = 2;

/// The error of a command.
#[derive(Clone, Debug, PartialEq)]
pub struct CliError {
    code: &'static str,
    text: String,
    exit_code: u8,
}

impl CliError {
    /// Returns the error of arguments that do not go together, or do not fit the files that they name.
    pub fn arguments(text: impl Into<String>) -> Self {
        Self { code: "arguments", text: text.into(), exit_code: WRONG_ARGUMENTS }
    }

    /// Returns the exit code of the program.
    pub fn exit_code(&self) -> u8 {
        self.exit_code
    }

    /// Returns the error as `--json` prints it.
    pub fn to_json(&self) -> Value {
        json!({ "error": { "code": self.code, "message": self.text, "exit_code": self.exit_code } })
    }
}

impl Display for CliError {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl<E: Coded + Display> From<E> for CliError {
    fn from(error: E) -> Self {
        Self { code: error.code(), text: error.to_string(), exit_code: FAILED }
    }
}

/// A text without a kind of its own.
impl From<String> for CliError {
    fn from(text: String) -> Self {
        Self { code: "failed", text, exit_code: FAILED }
    }
}

impl From<&str> for CliError {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}
