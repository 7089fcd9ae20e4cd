//! `tomoscope [STUDY]`: the window.

use crate::cli::connect::shown;
use std::path::Path;

use crate::cli::connect::ConnectOptions;
use crate::cli::shared::error::{CliError, CliResult};
use crate::io::IoError;
use crate::plan::{ScanFiles, StudyFiles};
use crate::session::Trace;
use crate::ui;
use crate::ui::Source;

/// Options of a study.
#[derive(clap::Args, Clone, Copy)]
pub struct StudyOptions {
    /// Reconstruct while the file is still being written: list-mode data ({follow lists}) or an EPRI acquisition
    /// ({follow acquisitions}).
    #[arg(long, requires = "study")]
    follow: bool,

    /// Ignore FILE_mult.hs and FILE_add.hs in the folder of the study.
    #[arg(long, requires = "study", conflicts_with_all = ["follow", "connect", "connect_command"])]
    no_corrections: bool,
}

impl StudyOptions {
    /// Returns the files of a study.
    fn source(self, study: &Path) -> Source {
        if self.follow {
            Source::followed(study)
        } else if self.no_corrections {
            Source::Files(StudyFiles::Counts(ScanFiles::uncorrected(study)))
        } else {
            Source::file(study)
        }
    }
}

/// Opens the window on a study or on the built-in one, here or on a remote host.
pub fn run(study: Option<&Path>, options: StudyOptions, connect: &ConnectOptions, trace: Option<&Path>) -> CliResult {
    let target = connect.target(study).map_err(CliError::arguments)?;
    if let (None, Some(study)) = (&target, study) {
        // A missing study is refused before the window opens.
        study.metadata().map_err(IoError::open(study))?;
    }
    let trace = match trace {
        Some(path) => Trace::to_file(path).map_err(IoError::write(path))?,
        None => Trace::off(),
    };
    match target {
        Some(target) => target.open_window(trace),
        None => shown(ui::run(study.map(|study| options.source(study)), trace)),
    }
}
