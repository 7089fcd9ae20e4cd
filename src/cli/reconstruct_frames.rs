//! `tomoscope reconstruct LIST --frames …`: the frames of a list one after the other, with the same settings.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::console::{err, out};
use super::reconstruct::{Desk, ReconstructOptions};
use super::{CliResult, Done, notices};
use crate::data::{Frames, Volume, frame_words};
use crate::io::{FileKind, nifti, read_volume};
use crate::plan::{DataRecord, FrameRecord, Job, Provenance, RunSettings, Times, usual_num_subsets};
use crate::session::Trace;
use crate::words::counted;

/// Reconstructs and writes each frame that has events.
pub fn run(options: &ReconstructOptions, frames: &Frames, trace: Trace) -> CliResult<Done> {
    let Job::Events { study, settings, .. } = options.list()? else {
        return Err("--frames is for lists of events".into());
    };
    let frames_ms = frames.as_slice();
    let num_events: Vec<usize> = frames_ms.iter().map(|frame_ms| study.measured.prompts.num_in_frame(frame_ms)).collect();
    let Some(fewest) = num_events.iter().copied().filter(|num| *num > 0).min() else {
        return Err(format!("none of the frames has an event of {}", options.input.display()).into());
    };
    let job_of = |frame_ms: &std::ops::Range<u32>| {
        // All alike: as many subsets as suit the smallest of them.
        let num_subsets = if options.has_subsets() { settings.num_subsets } else { usual_num_subsets(fewest) };
        let settings = RunSettings { frame_ms: Some(frame_ms.clone()), num_subsets, ..(*settings).clone() };
        Job::Events { study: Arc::clone(&study), settings: Box::new(settings), growing: None }
    };
    let desk = Desk::open(options, &job_of(&frames_ms[0]), trace)?;
    let mut written = Vec::new();
    let mut all = Done::Wholly;
    for ((number, frame_ms), num_events) in (1..).zip(frames_ms).zip(num_events) {
        let words = format!("frame {number} of {}, {}", frames_ms.len(), frame_words(frame_ms));
        if num_events == 0 {
            err!("warning: {words}, has no event: no image of it is written");
            all = Done::InPart;
            continue;
        }
        out!("{words}: {}", counted(num_events, "event"));
        let own = options.of_frame(number);
        let ended = desk.run(&own, job_of(frame_ms), None, None).map_err(|error| format!("{words}: {error}"))?;
        written.push(own.output);
        if ended.is_interrupted {
            return Ok(Done::InPart);
        }
        if ended.done != Done::Wholly {
            all = Done::InPart;
        }
    }
    if written.len() == frames_ms.len() {
        write_series(options, frames, &written)?;
    }
    Ok(all)
}

/// Writes the images of a regular series as one of four dimensions, where the format has them.
fn write_series(options: &ReconstructOptions, frames: &Frames, written: &[PathBuf]) -> CliResult {
    let output = &options.output;
    let (Some(FileKind::NiftiImage), Some(step_ms), [first, .., last]) =
        (FileKind::of(output), frames.step_ms(), frames.as_slice())
    else {
        return Ok(());
    };
    let volumes: Vec<Volume> = written.iter().map(|path| Ok(read_volume(path)?.0)).collect::<CliResult<_>>()?;
    let whole = FrameRecord::from(&(first.start..last.end));
    let record = series_record(written, whole, output);
    let description = record.as_ref().map_or_else(String::new, Provenance::description);
    nifti::write_series(output, &volumes, [whole.start_secs, f64::from(step_ms) / 1e3], &description)?;
    notices::print(record.and_then(|record| record.write_beside(output)).as_slice());
    out!("{}: all {} frames", output.display(), volumes.len());
    Ok(())
}

/// The record of the first frame, of all of their time.
fn series_record(written: &[PathBuf], frame: FrameRecord, output: &Path) -> Option<Provenance> {
    let records: Vec<Provenance> = written.iter().filter_map(|path| Provenance::read_beside(path)).collect();
    let elapsed_secs = records.iter().map(|record| record.times.elapsed_secs).sum();
    let first = records.into_iter().next()?;
    let data = DataRecord { frame: Some(frame), ..first.data.clone() };
    let times = Times { elapsed_secs, ..first.times.clone() };
    Some(Provenance { data, times, ..first }.beside([output]))
}
