//! The files of a command, checked before the work: its inputs and its outputs. A place that is not writable, and a name that
//! would replace a required file, are refused at once and not after hours of work.

use std::fs;
use std::fs::OpenOptions;
use std::path::{Path, PathBuf};

use super::error::{CliError, CliResult, Failure};
use crate::geometry::Grid;
use crate::io::formats::Format;
use crate::io::{FileKind, files_read, files_written, header_of, identity, provenance, stale_companions};

/// Inputs and outputs of a command.
#[derive(Default)]
pub struct Files {
    /// Paths with their identities, which are the same for all names of a file.
    read: Vec<(PathBuf, PathBuf)>,
    written: Vec<Output>,
    /// Scans among the written files.
    scans: Vec<PathBuf>,
}

/// A file to write.
struct Output {
    /// The option that names it.
    option: &'static str,
    path: PathBuf,
    /// Identity of the file, which is the same for all its names.
    identity: PathBuf,
    /// True for a table or a timeline, which grows in its place; other files are complete before they replace an existing one.
    grows: bool,
}

impl Files {
    /// Returns neither inputs nor outputs.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds inputs, with the files that belong to them.
    pub fn read<'a>(mut self, paths: impl IntoIterator<Item = &'a PathBuf>) -> Self {
        self.read.extend(paths.into_iter().flat_map(|path| files_read(path)).map(|path| (identity(&path), path)));
        self
    }

    /// Adds outputs, with the data files of headers.
    pub fn write<'a>(mut self, option: &'static str, paths: impl IntoIterator<Item = &'a PathBuf>) -> Self {
        let files = paths.into_iter().flat_map(|path| files_written(path));
        self.written.extend(files.map(|path| Output::new(option, path, false)));
        self
    }

    /// Adds scans to write, which must not come under the corrections, calibration or map of another.
    pub fn write_scans<'a>(mut self, option: &'static str, paths: impl IntoIterator<Item = &'a PathBuf>) -> Self {
        let paths: Vec<&PathBuf> = paths.into_iter().collect();
        self.scans.extend(paths.iter().copied().cloned());
        self.write(option, paths)
    }

    /// Adds tables or timelines to write.
    pub fn write_lines<'a>(mut self, option: &'static str, paths: impl IntoIterator<Item = &'a PathBuf>) -> Self {
        self.written.extend(paths.into_iter().map(|path| Output::new(option, path.clone(), true)));
        self
    }

    /// Refuses files that would have the name of a numbered output, for which `named` returns true.
    pub fn check_numbered(self, option: &'static str, named: impl Fn(&Path) -> bool) -> CliResult<Self> {
        let others = self.written.iter().map(|output| &output.path).chain(self.read.iter().map(|(_, path)| path));
        match others.into_iter().find(|path| named(path)) {
            Some(path) => refuse(format!("{option} would write {} too; choose another name", path.display())),
            None => Ok(self),
        }
    }

    /// Checks all files.
    ///
    /// # Errors
    /// An output that is not writable, two outputs under one name, an output that this command reads or another file needs, a scan
    /// in the folder of companions of another.
    pub fn check(&self) -> CliResult {
        for (index, output) in self.written.iter().enumerate() {
            let (path, option) = (&output.path, output.option);
            let same = |other: &&Output| other.identity == output.identity;
            if let Some(first) = self.written[..index].iter().find(same) {
                let by = if first.option == option { option.to_owned() } else { format!("both {} and {option}", first.option) };
                return refuse(format!("{} would be written twice, by {by}; choose other names", path.display()));
            }
            output.check_place()?;
            self.check_content(output)?;
        }
        for scan in &self.scans {
            stale_companions(scan, |file| self.written.iter().any(|output| output.identity == identity(file)))?;
        }
        Ok(())
    }

    /// Refuses to replace a file that this command reads, or that another header uses as its data.
    fn check_content(&self, output: &Output) -> CliResult {
        let Output { option, path, grows, .. } = output;
        let name = path.display();
        if self.read.iter().any(|(read, _)| *read == output.identity) {
            return refuse(format!("{option}: {name}, which this command reads, would be overwritten; choose another name"));
        }
        if !fs::exists(path).unwrap_or(false) {
            return Ok(());
        }
        let is_ours = |header: &Path| {
            let header = identity(header);
            self.written.iter().any(|output| output.identity == header)
        };
        if let Some(header) = header_of(path, is_ours) {
            let text =
                format!("{option} would replace {name}, which holds the data of {}; choose another name", header.display());
            return refuse(text);
        }
        // Regions of interest have this ending, too.
        let is_json = *option == "--json" && path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("json"));
        match FileKind::of(path).filter(|_| !is_json) {
            Some(kind) if *grows && (kind != FileKind::Measurements || *option != "--csv") => refuse(format!(
                "{option} would replace {name}, which by its ending is a file of another kind; choose another name"
            )),
            _ => Ok(()),
        }
    }
}

impl Output {
    fn new(option: &'static str, path: PathBuf, grows: bool) -> Self {
        Self { option, identity: identity(&path), path, grows }
    }

    /// Refuses a path that is not writable.
    fn check_place(&self) -> CliResult {
        let path = &self.path;
        let refuse = |reason: String| refuse(format!("{}: not written: {reason}", path.display()));
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        if !folder.is_dir() {
            return refuse(format!("there is no folder {}; make it first", folder.display()));
        }
        // Links are followed: their target is replaced.
        let target = fs::canonicalize(path).unwrap_or_else(|_| path.clone());
        let format = Format::of(path);
        if format.is_some_and(|format| format.kind == FileKind::NumpyImage)
            && provenance::check(&provenance::path_beside(path)).is_err()
        {
            let record = provenance::path_beside(path);
            return refuse(format!(
                "its grid would be written to {}, which is another file; choose another name",
                record.display()
            ));
        }
        match (fs::metadata(&target), format.filter(|format| format.is_folder())) {
            (Ok(_), Some(format)) => format.check_place(path)?,
            (Ok(found), _) if found.is_dir() => return refuse("it is a folder".into()),
            (Ok(found), _) if found.is_file() => {
                if let Err(error) = OpenOptions::new().append(true).open(&target) {
                    return refuse(format!("the file that is there is protected: {error}"));
                }
            }
            // Lines may also go to pipes and devices: to open one here would wait for its reader, or wake it.
            (Ok(_), _) if self.grows => return Ok(()),
            (Ok(_), _) => return refuse("it is not an ordinary file".into()),
            (Err(_), _) => {}
        }
        let folder = target.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(folder);
        match tempfile::Builder::new().prefix("tomoscope-").suffix("-unfinished").tempfile_in(folder) {
            Ok(_) => Ok(()),
            Err(error) => refuse(format!("no file can be made in {}: {}", folder.display(), reason(&error))),
        }
    }
}

fn refuse<T>(text: String) -> CliResult<T> {
    Err(CliError::failed(Failure::Output, text))
}

/// Returns the system's reason, without the path of a temporary file.
fn reason(error: &std::io::Error) -> String {
    error.get_ref().and_then(std::error::Error::source).map_or_else(|| error.kind().to_string(), ToString::to_string)
}

/// Refuses images on different grids; `hint` adds a remedy, if there is one.
pub fn check_same_grid([a, b]: [(&str, &Grid); 2], hint: &str) -> CliResult {
    if a.1.same_as(b.1) {
        return Ok(());
    }
    let (of_a, of_b) = (a.1.text(), b.1.text());
    let text = format!("{} has {of_a}, but {} {of_b}; only images on the same grid can be compared{hint}", a.0, b.0);
    Err(CliError::failed(Failure::DifferentGrids, text))
}
