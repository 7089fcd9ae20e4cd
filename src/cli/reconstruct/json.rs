//! Records on standard output: one document, or a line for each of several inputs or frames.

use serde_json::{Value, json};

use super::options::ReconstructOptions;
use super::runner::Ended;
use crate::cli::shared::console::print_result;
use crate::cli::shared::error::CliResult;
use crate::plan::Provenance;

impl ReconstructOptions {
    /// Prints the record of an image; on one line, with its files, if there can be others.
    ///
    /// # Errors
    /// The record has no form in JSON.
    pub(super) fn print_json(&self, provenance: &Provenance) -> CliResult {
        if self.has_json_lines {
            self.print_line(serde_json::to_value(provenance)?);
        } else {
            print_result(format_args!("{}\n", serde_json::to_string_pretty(provenance)?));
        }
        Ok(())
    }

    /// Prints the line of one of several inputs whose run has printed none: of an error, and of an output that was up to date.
    pub(super) fn print_json_outcome(&self, result: &CliResult<Ended>) {
        let value = match result {
            Err(error) => Some(error.to_json()),
            Ok(Ended::UpToDate) => Provenance::read_beside(&self.output).and_then(|record| serde_json::to_value(record).ok()),
            Ok(_) => None,
        };
        value.filter(|_| self.json).into_iter().for_each(|value| self.print_line(value));
    }

    fn print_line(&self, mut value: Value) {
        value["input"] = json!(self.input.display().to_string());
        value["output"] = json!(self.output.display().to_string());
        print_result(format_args!("{value}\n"));
    }
}
