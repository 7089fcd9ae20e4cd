//! The files of a command, looked at before it computes: what it reads, and what it is to write. A place that cannot be
//! written, and a name that would overwrite a file that is needed, are refused at once and not after hours of work.

use std::fs;
use std::fs::OpenOptions;
use std::path::{Path, PathBuf};

use super::error::{CliError, CliResult, Failure};
use crate::geometry::Grid;
use crate::io::{FileKind, dicom, files_read, files_written, header_of, identity, provenance};

/// What a command reads and writes.
#[derive(Default)]
pub struct Files {
    /// Each with what is the same for all its names.
    read: Vec<(PathBuf, PathBuf)>,
    written: Vec<Output>,
}

/// A file to write.
struct Output {
    /// The option that names it.
    option: &'static str,
    path: PathBuf,
    /// What is the same for all its names.
    identity: PathBuf,
    /// A table or a time line, which grows in its place; other files are complete before they replace one that is there.
    grows: bool,
}

impl Files {
    /// Neither reads nor writes.
    pub fn new() -> Self {
        Self::default()
    }

    /// The command reads this file, and what belongs to it.
    pub fn read<'a>(mut self, paths: impl IntoIterator<Item = &'a PathBuf>) -> Self {
        self.read.extend(paths.into_iter().flat_map(|path| files_read(path)).map(|path| (identity(&path), path)));
        self
    }

    /// The command writes this file, and the data file beside a header.
    pub fn write<'a>(mut self, option: &'static str, paths: impl IntoIterator<Item = &'a PathBuf>) -> Self {
        let files = paths.into_iter().flat_map(|path| files_written(path));
        self.written.extend(files.map(|path| Output::new(option, path, false)));
        self
    }

    /// The command writes this table or time line.
    pub fn write_lines<'a>(mut self, option: &'static str, paths: impl IntoIterator<Item = &'a PathBuf>) -> Self {
        self.written.extend(paths.into_iter().map(|path| Output::new(option, path.clone(), true)));
        self
    }

    /// The command also writes files whose names are known only later: those for which `named` holds.
    pub fn check_numbered(self, option: &'static str, named: impl Fn(&Path) -> bool) -> CliResult<Self> {
        let others = self.written.iter().map(|output| &output.path).chain(self.read.iter().map(|(_, path)| path));
        match others.into_iter().find(|path| named(path)) {
            Some(path) => refuse(format!("{option} would write {} too; choose another name", path.display())),
            None => Ok(self),
        }
    }

    /// Looks at all of them.
    ///
    /// # Errors
    /// A place that cannot be written, two outputs under one name, an output that this command reads or another file
    /// needs, as a sentence.
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
        // Regions of interest end so too.
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

    /// Refuses a place where the file cannot be written.
    fn check_place(&self) -> CliResult {
        let path = &self.path;
        let refuse = |reason: String| refuse(format!("{}: not written: {reason}", path.display()));
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        if !folder.is_dir() {
            return refuse(format!("there is no folder {}; make it first", folder.display()));
        }
        // Links are followed: what they lead to is replaced.
        let target = fs::canonicalize(path).unwrap_or_else(|_| path.clone());
        let kind = FileKind::of(path);
        if kind == Some(FileKind::NumpyImage) && provenance::check(&provenance::path_beside(path)).is_err() {
            let record = provenance::path_beside(path);
            return refuse(format!(
                "its grid would be written to {}, which is another file; choose another name",
                record.display()
            ));
        }
        match fs::metadata(&target) {
            Ok(_) if kind == Some(FileKind::DicomSeries) => dicom::check_place(path)?,
            Ok(there) if there.is_dir() => return refuse("it is a folder".into()),
            Ok(there) if there.is_file() => {
                if let Err(error) = OpenOptions::new().append(true).open(&target) {
                    return refuse(format!("the file that is there is protected: {error}"));
                }
            }
            // Lines may also go to pipes and devices: opening one here would wait for its reader, or wake it.
            Ok(_) if self.grows => return Ok(()),
            Ok(_) => return refuse("it is not an ordinary file".into()),
            Err(_) => {}
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

/// What the system said, without the path of a file that nobody asked for.
fn reason(error: &std::io::Error) -> String {
    error.get_ref().and_then(std::error::Error::source).map_or_else(|| error.kind().to_string(), ToString::to_string)
}

/// Refuses images that lie on different grids; `hint` says what can be done, if something can.
pub fn check_same_grid([a, b]: [(&str, &Grid); 2], hint: &str) -> CliResult {
    if a.1.same_as(b.1) {
        return Ok(());
    }
    let (of_a, of_b) = (a.1.text(), b.1.text());
    let text = format!("{} has {of_a}, but {} {of_b}; only images on the same grid can be compared{hint}", a.0, b.0);
    Err(CliError::failed(Failure::DifferentGrids, text))
}
