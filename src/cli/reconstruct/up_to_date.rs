//! Recognition of images that are up to date. The record of such an image names the same version of the program, data and
//! settings, and the image is unchanged.

use std::path::{Path, PathBuf};

use super::options::ReconstructOptions;
use super::parts::Part;
use crate::cli::shared::error::CliResult;
use crate::cli::shared::given::Given;
use crate::cli::shared::paths::numbered;
use crate::data::Fingerprint;
use crate::io::formats::Format;
use crate::io::{content_of, files_read, files_written};
use crate::plan::{Progress, Provenance};

/// Returns the fingerprint of a request: of every option that changes the image or the table, and of the contents of the input
/// files.
///
/// # Errors
/// An unreadable file.
fn request_of(options: &ReconstructOptions) -> CliResult<String> {
    let mut settings = options.clone();
    // Options without effect on the image or the table.
    (settings.input, settings.output, settings.csv, settings.trace) = (PathBuf::new(), PathBuf::new(), None, None);
    (settings.parts, settings.talk, settings.json, settings.request) = (Default::default(), Default::default(), false, None);
    (settings.is_helper, settings.has_json_lines, settings.given) = (false, false, Given::default());
    settings.projector.threads = None;
    let files: Vec<PathBuf> = options.files_to_read().flat_map(|path| contents_of(&path)).collect();
    let mut request: Fingerprint = content_of(&files)?;
    request.text(env!("CARGO_PKG_VERSION"));
    request.text(&format!("{settings:?}"));
    Ok(request.digits())
}

/// Returns the files with the content of an input: of a DICOM image those of its series, since other files can be in the folder.
fn contents_of(path: &Path) -> Vec<PathBuf> {
    let of_series = Format::of_file(path).and_then(|format| format.files_of_folder(path));
    of_series.unwrap_or_else(|| files_read(path))
}

impl ReconstructOptions {
    /// Returns the same options, with the fingerprint of the request if it is needed.
    pub(in crate::cli) fn with_request(&self, part: Part) -> CliResult<Self> {
        let mut own = self.clone();
        own.request = (self.parts.needs_request(part) && !self.follow).then(|| request_of(self)).transpose()?;
        Ok(own)
    }

    /// Returns true if the image and the table are up to date.
    pub(in crate::cli) fn is_up_to_date(&self) -> bool {
        let has_table = self.csv.as_ref().is_none_or(|path| path.is_file());
        let has_deviation = self.deviation_path().is_none_or(|path| path.is_file());
        let is_sealed = |request: &str| Provenance::is_sealed(&self.output, request);
        has_table && has_deviation && self.request.as_deref().is_some_and(is_sealed) && self.has_all_iterations()
    }

    /// Returns true if the images of --save-every exist, up to the iteration of the output.
    fn has_all_iterations(&self) -> bool {
        let Some(every) = self.save_every.map(|every| every as usize) else { return true };
        let progress = Provenance::read_beside(&self.output).and_then(|record| record.progress);
        let Some(Progress::Iterations { iteration, iterations_requested, .. }) = progress else { return true };
        let is_written = |iteration: usize| {
            let files = files_written(&numbered(&self.output, iteration, iterations_requested));
            files.iter().all(|file| file.exists())
        };
        (every..=iteration).step_by(every.max(1)).all(is_written)
    }
}
