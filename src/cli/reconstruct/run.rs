//! `tomoscope reconstruct INPUT -o OUT`: the live session without a window. (What is asked of EPRI sweeps:
//! [`super::epri`].)

use super::data::kind_of;
use super::desk::{Desk, Ended};
use super::options::ReconstructOptions;
use super::parts::Part;
use super::sharing::Sharing;
use super::{epri, frames};
use crate::cli::shared::console::out;
use crate::cli::shared::error::CliResult;
use crate::cli::shared::notices;
use crate::io::IoError;
use crate::plan::DataKind;
use crate::session::Trace;

/// Reconstructs one input and writes, beside others that share the machine with it; of its frames those in a part.
pub(in crate::cli) fn run(options: &ReconstructOptions, sharing: &Sharing, part: Part) -> CliResult<Ended> {
    let data = kind_of(&options.input)?;
    options.check_options(data)?;
    if options.frames.is_none() && options.parts.skip_done && options.is_done() {
        out!("{}: up to date, skipped", options.output.display());
        return Ok(Ended::WAS_THERE);
    }
    let trace = match &options.trace {
        Some(path) => Trace::to_file(path).map_err(IoError::write(path))?,
        None => Trace::off(),
    };
    if let Some(frames) = &options.frames {
        return frames::run(options, frames, trace, sharing, part);
    }
    let alone = sharing.read_alone();
    let (job, follower, num_expected) = match data {
        DataKind::Sweep => epri::job(options)?,
        DataKind::Events => (options.list()?, None, None),
        DataKind::Pairs => (options.pairs()?, None, None),
        DataKind::Projections => (options.counts()?, None, None),
    };
    notices::print(job.subset_notice().as_slice());
    let desk = Desk::open(options, &job, trace)?;
    let Some(_held) = sharing.hold(&job) else { return Ok(Ended::NOT_BEGUN) };
    drop(alone);
    desk.run(options, job, follower, num_expected)
}
