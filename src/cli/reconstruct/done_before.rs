//! What was done before is known again: an image is the one that is asked for where the record beside it says that it was made by the
//! same version of the program, from the same data, with the same settings, and where it is as it was written.

use std::path::PathBuf;

use super::options::ReconstructOptions;
use super::parts::Part;
use crate::cli::shared::error::CliResult;
use crate::cli::shared::given::Given;
use crate::data::Fingerprint;
use crate::io::{content_of, files_read};
use crate::plan::Provenance;

/// A number that tells what is asked of an input: every option that changes the image or the table, and what the files hold that
/// are read.
///
/// # Errors
/// A file cannot be read.
fn asked_of(options: &ReconstructOptions) -> CliResult<String> {
    let mut settings = options.clone();
    // How it is done, how much is said, and where to, do not matter.
    (settings.input, settings.output, settings.csv, settings.trace) = (PathBuf::new(), PathBuf::new(), None, None);
    (settings.parts, settings.talk, settings.json, settings.asked) = (Default::default(), Default::default(), false, None);
    (settings.is_helper, settings.given) = (false, Given::default());
    settings.projector.threads = None;
    let files: Vec<PathBuf> = options.files_to_read().flat_map(|path| files_read(&path)).collect();
    let mut asked: Fingerprint = content_of(&files)?;
    asked.text(env!("CARGO_PKG_VERSION"));
    asked.text(&format!("{settings:?}"));
    Ok(asked.digits())
}

impl ReconstructOptions {
    /// The same, with what makes its image known again where somebody asks for that.
    pub(in crate::cli) fn to_know_again(&self, part: Part) -> CliResult<Self> {
        let mut own = self.clone();
        own.asked = (self.parts.knows_again(part) && !self.follow).then(|| asked_of(self)).transpose()?;
        Ok(own)
    }

    /// Whether the image and the table are there as answers to what is asked.
    pub(in crate::cli) fn is_done(&self) -> bool {
        let has_table = self.csv.as_ref().is_none_or(|path| path.is_file());
        has_table && self.asked.as_deref().is_some_and(|asked| Provenance::is_sealed(&self.output, asked))
    }
}
