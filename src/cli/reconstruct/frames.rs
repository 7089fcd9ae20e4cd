//! `tomoscope reconstruct LIST --frames …`: the frames of a list one after the other, with the same settings.

use std::path::Path;
use std::sync::Arc;

use super::options::ReconstructOptions;
use super::parts::Part;
use super::runner::{Ended, JobRunner};
use super::sharing::Sharing;
use crate::cli::shared::console::{err, out};
use crate::cli::shared::error::{CliError, CliResult, Done, Failure};
use crate::cli::shared::{notices, signals};
use crate::data::{FrameTime, Frames, Volume, frame_text, moved_limits};
use crate::io::formats::Format;
use crate::io::nifti::FourthAxis;
use crate::io::{self, OutputLock, read_volume};
use crate::plan::{DataRecord, FrameRecord, Job, Provenance, RunSettings, SubsetRule, Times};
use crate::session::Trace;
use crate::text::counted;

/// Reconstructs and writes each frame of a part that has events.
pub fn run(options: &ReconstructOptions, frames: &Frames, trace: Trace, sharing: &Sharing, part: Part) -> CliResult<Ended> {
    let all: Vec<ReconstructOptions> = (1..=frames.as_slice().len()).map(|number| options.of_frame(number)).collect();
    let is_missing = |index: &usize| !(options.parts.skip_done && all[*index].is_up_to_date());
    let missing: Vec<usize> = (0..all.len()).filter(|index| part.has(*index)).filter(is_missing).collect();
    let mut ended = match missing.is_empty() {
        true => Ended::UpToDate,
        false => run_missing(options, frames, &all, &missing, trace, sharing)?,
    };
    if ended == Ended::Interrupted {
        return Ok(ended);
    }
    let are_there = match options.request {
        Some(_) => all.iter().all(ReconstructOptions::is_up_to_date),
        None => Done::from(ended) == Done::Complete,
    };
    if are_there && write_series(options, &all)? && ended == Ended::UpToDate {
        ended = Ended::Complete;
    }
    if ended == Ended::UpToDate {
        out!("{}: all frames up to date, skipped", options.output.display());
    }
    Ok(ended)
}

/// Reconstructs those of the missing frames (counted from 0) that have events.
fn run_missing(
    options: &ReconstructOptions,
    frames: &Frames,
    all: &[ReconstructOptions],
    missing: &[usize],
    trace: Trace,
    sharing: &Sharing,
) -> CliResult<Ended> {
    let alone = sharing.lock_reading();
    let job = options.list()?;
    let Some(list) = job.data().events() else {
        return Err(CliError::arguments("--frames is for list-mode data"));
    };
    let frames_ms = frames.as_slice();
    let num_events: Vec<usize> = frames_ms.iter().map(|frame_ms| list.prompts.num_in_frame(frame_ms)).collect();
    let times: Vec<FrameTime> = frames_ms.iter().map(|frame_ms| list.frame_time(frame_ms)).collect();
    notices::print(moved_limits(&times).as_slice());
    // All have the same subsets, which suit the frame with the fewest counts: their images can be compared.
    let Some(rule) = SubsetRule::of_frames(list, frames_ms) else {
        let of_list = list.extent_text().map_or_else(String::new, |text| format!(", whose events are from {text}"));
        let text = format!("none of the frames has an event of {}{of_list}", options.input.display());
        return Err(CliError::failed(Failure::NoEvents, text));
    };
    let [num_subsets, num_iterations] = options.subsets_and_iterations(Some(rule), job.settings.algorithm);
    let job_of = |frame_ms: &std::ops::Range<u32>| {
        let settings = RunSettings {
            frame_ms: Some(frame_ms.clone()),
            num_subsets,
            num_iterations,
            subset_rule: Some(rule),
            ..(*job.settings).clone()
        };
        Job::new(Arc::clone(&job.study), settings)
    };
    let first = job_of(&frames_ms[0]);
    notices::print(first.subset_notice().or_else(|| first.notice_of_frames()).as_slice());
    let runner = JobRunner::open(options, &first, trace)?;
    let largest = missing.iter().copied().max_by_key(|index| num_events[*index]).unwrap_or(0);
    let Some(_held) = sharing.hold(&job_of(&frames_ms[largest])) else { return Ok(Ended::Interrupted) };
    drop(alone);
    let mut all_ended = Ended::Complete;
    for &index in missing {
        // An empty one has no true limits.
        let time = if num_events[index] == 0 { frame_text(&frames_ms[index]) } else { times[index].text() };
        let words = format!("frame {} of {}, {time}", index + 1, frames_ms.len());
        if num_events[index] == 0 {
            err!("warning: {words}, has no event: no image of it is written");
            all_ended = Ended::Partial;
            continue;
        }
        out!("{words}: {}", counted(num_events[index], "event"));
        let ended = runner
            .run(&all[index], job_of(&frames_ms[index]), None, None)
            .map_err(|error| error.with_text(|text| format!("{words}: {text}")))?;
        if signals::have_come() {
            return Ok(Ended::Interrupted);
        }
        if ended != Ended::Complete {
            all_ended = Ended::Partial;
        }
    }
    Ok(all_ended)
}

/// Writes the images of a regular series as one of four dimensions, if the format has them; returns true if it did.
fn write_series(options: &ReconstructOptions, all: &[ReconstructOptions]) -> CliResult<bool> {
    let output = &options.output;
    if !Format::of(output).is_some_and(Format::holds_series) || all.len() < 2 {
        return Ok(false);
    }
    if options.parts.skip_done && options.request.as_deref().is_some_and(|request| Provenance::is_sealed(output, request)) {
        return Ok(false);
    }
    let records: Vec<Provenance> = all.iter().filter_map(|frame| Provenance::read_beside(&frame.output)).collect();
    let frames: Vec<FrameRecord> = records.iter().filter_map(|record| record.data.frame).collect();
    let step = FrameRecord::step_secs(&frames).filter(|_| frames.len() == all.len());
    let (Some(step_secs), Some(whole)) = (step, FrameRecord::whole(&frames)) else {
        out!("{}: not written, as the frames differ in duration or are not adjacent", output.display());
        return Ok(false);
    };
    let volumes: Vec<Volume> = all.iter().map(|frame| Ok(read_volume(&frame.output)?.0)).collect::<CliResult<_>>()?;
    let record = series_record(records, whole, output);
    let description = record.as_ref().map_or_else(String::new, Provenance::description);
    let _lock = OutputLock::wait(output)?;
    io::write_series(output, &volumes, FourthAxis::Time([whole.start_secs, step_secs]), &description)?;
    if let Some(record) = record {
        let record = match &options.request {
            Some(request) => record.sealed(output, request)?,
            None => record,
        };
        notices::print(record.write_beside(output).as_slice());
    }
    out!("{}: all {} frames", output.display(), volumes.len());
    Ok(true)
}

/// Returns the record of the first frame, extended to the time of all frames.
fn series_record(records: Vec<Provenance>, frame: FrameRecord, output: &Path) -> Option<Provenance> {
    let elapsed_secs = records.iter().map(|record| record.times.elapsed_secs).sum();
    let first = records.into_iter().next()?;
    let data = DataRecord { frame: Some(frame), ..first.data.clone() };
    let times = Times { elapsed_secs, ..first.times.clone() };
    Some(Provenance { data, times, seal: None, ..first }.beside([output]))
}
