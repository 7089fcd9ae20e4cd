//! `tomoscope reconstruct INPUT -o OUT`: the live session without a window. (EPRI acquisitions: [`super::epri`].)

use super::data::kind_of;
use super::options::ReconstructOptions;
use super::parts::Part;
use super::runner::{Ended, JobRunner};
use super::sharing::Sharing;
use super::{epri, frames};
use crate::cli::shared::console::out;
use crate::cli::shared::error::CliResult;
use crate::cli::shared::notices;
use crate::io::{IoError, SweepFollower};
use crate::plan::{DataKind, Job};
use crate::session::Trace;

/// Reconstructs one input and writes, next to others that share the computer; of its frames those in a part.
pub(in crate::cli) fn run(options: &ReconstructOptions, sharing: &Sharing, part: Part) -> CliResult<Ended> {
    let data = kind_of(&options.input)?;
    options.check_options(data)?;
    if options.frames.is_none() && options.parts.skip_done && options.is_up_to_date() {
        out!("{}: up to date, skipped", options.output.display());
        return Ok(Ended::UpToDate);
    }
    let trace = match &options.trace {
        Some(path) => Trace::to_file(path).map_err(IoError::write(path))?,
        None => Trace::off(),
    };
    if let Some(frames) = &options.frames {
        return frames::run(options, frames, trace, sharing, part);
    }
    let _lock = options.lock_output()?;
    let alone = sharing.lock_reading();
    let (job, follower, num_expected) = job(options, data)?;
    notices::print(job.subset_notice().as_slice());
    let runner = JobRunner::open(options, &job, trace)?;
    let Some(_held) = sharing.hold(&job) else { return Ok(Ended::Interrupted) };
    drop(alone);
    runner.run(options, job, follower, num_expected)
}

/// Returns the job of an input; for an EPRI acquisition that is still being written with its follower, and with the expected number
/// of projections.
///
/// # Errors
/// Unreadable files, and settings that do not fit the data.
pub(in crate::cli) fn job(
    options: &ReconstructOptions,
    data: DataKind,
) -> CliResult<(Job, Option<SweepFollower>, Option<usize>)> {
    Ok(match data {
        DataKind::Sweep => epri::job(options)?,
        DataKind::Events => (options.list()?, None, None),
        DataKind::Pairs => (options.pairs()?, None, None),
        // (`kind_of` refuses the others.)
        _ => (options.counts()?, None, None),
    })
}
