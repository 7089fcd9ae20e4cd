//! `tomoscope send SERIES… --to AET@HOST:PORT`: DICOM files to a node of the network.

use std::path::PathBuf;

use clap::Args;

use crate::cli::shared::console::{err, out};
use crate::cli::shared::error::{CliError, CliResult, Failure};
use crate::cli::shared::notices;
use crate::cli::shared::options::TalkOptions;
use crate::cli::shared::progress::with_bar;
use crate::data::Notice;
use crate::pacs::{self, CALLING_TITLE, Instance, Node, check_title};
use crate::text::counted;

/// Options of `tomoscope send`.
#[derive(Args, Clone, Debug)]
pub struct SendOptions {
    /// DICOM files, or folders with the files of a series.
    ///
    /// Files are sent as they are, in their own transfer syntax.
    #[arg(required_unless_present = "echo", value_name = "SERIES")]
    series: Vec<PathBuf>,

    /// Node that receives the files.
    #[arg(long, value_name = "AET@HOST:PORT")]
    to: Node,

    /// Application entity title of this program.
    #[arg(long = "as", value_name = "AET", default_value = CALLING_TITLE, value_parser = title)]
    calling: String,

    /// Verify first that the node responds (C-ECHO).
    ///
    /// Without files, only this is done.
    #[arg(long)]
    echo: bool,

    #[command(flatten)]
    talk: TalkOptions,
}

fn title(text: &str) -> Result<String, String> {
    check_title(text).map(|()| text.to_owned())
}

pub fn run(options: &SendOptions) -> CliResult {
    let SendOptions { series, to, calling, echo, talk } = options;
    talk.apply_to_notes();
    let (instances, num_others) = if series.is_empty() { (Vec::new(), 0) } else { Instance::find(series)? };
    if num_others > 0 {
        notices::print(&[Notice::info(format!("{} not sent: no DICOM files", counted(num_others, "file")))]);
    }
    if *echo {
        pacs::verify(to, calling)?;
        out!("{to}: responds");
    }
    if instances.is_empty() {
        return Ok(());
    }
    let transfer = with_bar("sending", |task| pacs::send(&instances, to, calling, task))??;
    for (path, status) in &transfer.warnings {
        err!("warning: {}: {status}", path.display());
    }
    for failed in &transfer.not_stored {
        err!("not stored: {failed}");
    }
    let stored = format!("{} of {} stored in {to}", transfer.num_stored, counted(transfer.num_objects, "object"));
    if transfer.not_stored.is_empty() {
        out!("{stored}");
        return Ok(());
    }
    Err(CliError::failed(Failure::NotStored, format!("{stored}; the files are unchanged, send the others again")))
}
