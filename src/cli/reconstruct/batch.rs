//! `tomoscope reconstruct INPUT… -o OUT`: one input, or many in one process, one after the other or at the same time.

use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use clap::Args;
use crossbeam_channel::{Sender, unbounded};
use indicatif::ProgressBar;

use super::options::ReconstructOptions;
use super::parts::Part;
use super::processes::ProcessGroup;
use super::run;
use super::run_progress::duration;
use super::runner::Ended;
use super::sharing::Sharing;
use crate::cli::shared::console::{err, out, remark};
use crate::cli::shared::error::{CliError, CliResult, Done, Failure};
use crate::cli::shared::options::count;
use crate::cli::shared::outputs::Files;
use crate::cli::shared::paths::{INPUT_NAME, file_of};
use crate::cli::shared::progress::{bar, no_thread};
use crate::cli::shared::{console, signals};
use crate::io::formats::Content;
use crate::io::{FileKind, before_ending, identity};
use crate::plan::device_of_all;
use crate::report::TextTable;
use crate::session::num_cores;
use crate::text::counted;

/// Options of `tomoscope reconstruct`.
#[derive(Args, Clone, Debug)]
pub struct BatchOptions {
    /// Projection data ({read projections}), list-mode data ({read lists}), crystal-pair histograms (.pairs) or EPRI
    /// acquisitions ({read acquisitions}).
    ///
    /// Several inputs are reconstructed one after the other with the same options.
    #[arg(required = true, value_name = "INPUT")]
    inputs: Vec<PathBuf>,

    /// Maximum number of inputs to reconstruct at the same time.
    ///
    /// Jobs share the CPU threads. A job waits until enough memory is free.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = count::<u16>, help_heading = "Several inputs")]
    jobs: u16,

    /// Image to write ({read images}; sinograms and list-mode data also .dcm, a DICOM PET series).
    ///
    /// {} is replaced by the input name without its ending, also in --csv and --trace.
    #[arg(short, long, value_name = "OUT", value_parser = file_of(Content::Image))]
    output: PathBuf,

    #[command(flatten)]
    each: ReconstructOptions,
}

/// Reconstructs all inputs, with the other processes of the command if MPI has started some.
pub fn run(options: &BatchOptions) -> CliResult<Done> {
    let each = ReconstructOptions { output: options.output.clone(), ..options.each.clone() };
    let group = ProcessGroup::start()?;
    group.end(run_among(&BatchOptions { each, ..options.clone() }, &group))
}

fn run_among(options: &BatchOptions, group: &ProcessGroup) -> CliResult<Done> {
    let process = group.shard();
    options.each.talk.apply();
    if options.each.json {
        console::reserve_output();
    }
    let has_json_lines = options.inputs.len() > 1 || options.each.frames.is_some();
    let of_input = |input: &PathBuf| ReconstructOptions { has_json_lines, ..options.each.of_input(input) };
    let all: Vec<ReconstructOptions> = options.inputs.iter().map(of_input).collect();
    options.check(&all).map_err(CliError::arguments)?;
    if let [one] = &all[..]
        && one.frames.is_none()
        && process.count > 1
    {
        group.share_data();
        return run_shared(one, group);
    }
    group.divide_work();
    all.iter().try_fold(Files::new(), |files, one| one.add_files(files))?.check()?;
    if let [one] = &all[..] {
        let num_frames = one.frames.as_ref().map(|frames| frames.as_slice().len());
        let what = if num_frames.is_some() { "frame" } else { "input" };
        let part = one.parts.part(num_frames.unwrap_or(1), what, process)?;
        if num_frames.is_none() && !part.has(0) {
            remark!("nothing to do: the only input is in the first part");
            return Ok(Done::Complete);
        }
        return Ok(run::run(&one.with_request(part)?, &Sharing::default(), part)?.into());
    }
    let part = options.each.parts.part(all.len(), "input", process)?;
    let mine: Vec<ReconstructOptions> =
        all.into_iter().enumerate().filter(|(index, _)| part.has(*index)).map(|(_, one)| one).collect();
    Batch::new(mine, part, usize::from(options.jobs)).run()
}

/// Reconstructs one input by all processes: each has its share of the data, the first one writes.
fn run_shared(one: &ReconstructOptions, group: &ProcessGroup) -> CliResult<Done> {
    let process = group.shard();
    if FileKind::of(&one.input).is_some_and(|kind| kind.is_sweep() || kind == FileKind::Pairs) {
        let text = format!(
            "{} processes can share projection data and lists, which {} is not: give several inputs, or start one process",
            process.count,
            one.input.display()
        );
        return Err(CliError::failed(Failure::Processes, text));
    }
    let mut one = one.with_request(Part::WHOLE)?;
    // Files may look different from another host.
    let is_up_to_date = group.of_first(process.index == 0 && one.parts.skip_done && one.is_up_to_date())?;
    if is_up_to_date {
        out!("{}: up to date, skipped", one.output.display());
        return Ok(Done::Complete);
    }
    one.parts.skip_done = false;
    one.projector.device = device_of_all(one.projector.device)?;
    if process.index > 0 {
        one.help();
    } else {
        one.add_files(Files::new())?.check()?;
    }
    Ok(run::run(&one, &Sharing::default(), Part::WHOLE)?.into())
}

impl BatchOptions {
    /// Refuses options that several inputs cannot share.
    fn check(&self, all: &[ReconstructOptions]) -> Result<(), String> {
        if all.len() == 1 {
            return Ok(());
        }
        if self.each.follow {
            return Err("--follow is for one input; start the program once for each".into());
        }
        let each = &self.each;
        let names = [("-o", Some(&each.output)), ("--csv", each.csv.as_ref()), ("--trace", each.trace.as_ref())];
        for (option, name) in names.into_iter().filter_map(|(option, name)| Some((option, name?))) {
            if !name.to_string_lossy().contains(INPUT_NAME) {
                let example = before_ending(name, &format!("_{INPUT_NAME}"));
                return Err(format!(
                    "{option} names one file for {} inputs: write {INPUT_NAME} where the name of each is to stand, as in '{option} {}'",
                    all.len(),
                    example.display()
                ));
            }
        }
        for (index, one) in all.iter().enumerate() {
            let output = identity(&one.output);
            if let Some(other) = all[..index].iter().find(|other| identity(&other.output) == output) {
                return Err(format!(
                    "{} and {} would both write {}: their names are the same without folder and ending; reconstruct them into different folders",
                    other.input.display(),
                    one.input.display(),
                    one.output.display()
                ));
            }
        }
        Ok(())
    }
}

/// Outcome of an input, or the text of its error; and its duration.
type Outcome = (Result<Ended, String>, Duration);

/// Returns the outcome of an input in a word.
fn text((result, _): &Outcome) -> &'static str {
    result.as_ref().map_or("failed", |ended| ended.into())
}

fn is_whole((result, _): &Outcome) -> bool {
    result.as_ref().is_ok_and(|ended| Done::from(*ended) == Done::Complete)
}

/// Several inputs, each with all its options.
struct Batch {
    inputs: Vec<ReconstructOptions>,
    part: Part,
    sharing: Sharing,
    num_workers: usize,
    /// Index of the first input that no worker has taken.
    next: AtomicUsize,
}

impl Batch {
    fn new(inputs: Vec<ReconstructOptions>, part: Part, num_jobs: usize) -> Self {
        let num_workers = num_jobs.min(inputs.len()).max(1);
        Self { inputs, part, sharing: Sharing::of(num_workers), num_workers, next: AtomicUsize::new(0) }
    }

    /// Reconstructs all inputs; a failed one has no effect on the others.
    fn run(&self) -> CliResult<Done> {
        // Complete images stay on the disk, so the first signal only ends the current ones.
        let _signals = signals::keep();
        let (begin, num) = (Instant::now(), self.inputs.len());
        let (sender, receiver) = unbounded();
        let mut outcomes: Vec<Option<Outcome>> = vec![None; num];
        thread::scope(|scope| -> CliResult {
            for worker in 0..self.num_workers {
                let sender = sender.clone();
                thread::Builder::new()
                    .spawn_scoped(scope, move || self.work(worker, &sender))
                    .map_err(|error| no_thread("inputs", &error))?;
            }
            drop(sender);
            let all = if num > 1 { bar(num as u64, "inputs") } else { ProgressBar::hidden() };
            for (index, outcome) in receiver {
                all.inc(1);
                self.announce(index, &outcome, outcomes.iter().flatten().count() + 1);
                outcomes[index] = Some(outcome);
            }
            all.finish_and_clear();
            Ok(())
        })?;
        for (one, _) in self.inputs.iter().zip(&outcomes).filter(|(_, outcome)| outcome.is_none()) {
            one.print_json_outcome(&Err(CliError::failed(Failure::NoImage, "not begun, as a signal stopped the batch")));
        }
        out!("{}", self.summary(&outcomes, begin.elapsed()));
        let are_whole = outcomes.iter().all(|one| one.as_ref().is_some_and(is_whole));
        Ok(if are_whole { Done::Complete } else { Done::Partial })
    }

    /// Takes one input after the other until none is left, or a signal comes.
    fn work(&self, worker: usize, sender: &Sender<(usize, Outcome)>) {
        while let Some((index, one)) = self.take() {
            let begin = Instant::now();
            if self.num_workers > 1 {
                console::set_label(format!("{}: ", one.input.display()));
            } else {
                out!("{} → {}", one.input.display(), one.output.display());
            }
            let result = self.reconstruct(worker, one);
            one.print_json_outcome(&result);
            let result = result.map_err(|error| error.to_string());
            if sender.send((index, (result, begin.elapsed()))).is_err() {
                return;
            }
        }
    }

    fn take(&self) -> Option<(usize, &ReconstructOptions)> {
        let index = self.next.fetch_add(1, Ordering::Relaxed);
        let one = self.inputs.get(index)?;
        (!signals::have_come()).then_some((index, one))
    }

    fn reconstruct(&self, worker: usize, one: &ReconstructOptions) -> CliResult<Ended> {
        let mut one = one.with_request(self.part)?;
        if self.num_workers > 1 {
            let threads = self.sharing.threads(worker, one.projector.threads.map_or_else(num_cores, usize::from));
            one.projector.threads = Some(u16::try_from(threads).unwrap_or(u16::MAX));
        }
        let run = std::panic::AssertUnwindSafe(|| run::run(&one, &self.sharing, Part::WHOLE));
        std::panic::catch_unwind(run)
            .unwrap_or_else(|_| Err(CliError::failed(Failure::Internal, "internal error (please report it)")))
    }

    /// Reports an input that has ended.
    fn announce(&self, index: usize, outcome: &Outcome, num_ended: usize) {
        let one = &self.inputs[index];
        if let (Err(text), _) = outcome {
            err!("tomoscope: {}: {text}", one.input.display());
        }
        let progress = format!("{num_ended} of {}", counted(self.inputs.len(), "input"));
        remark!("{progress}: {} {} after {}", one.input.display(), text(outcome), duration(outcome.1.as_secs_f64()));
    }

    /// Returns the outcomes of all inputs as a table.
    fn summary(&self, outcomes: &[Option<Outcome>], time: Duration) -> TextTable {
        let row = |(one, outcome): (&ReconstructOptions, &Option<Outcome>)| {
            let shown = |outcome: &Outcome| (text(outcome), duration(outcome.1.as_secs_f64()));
            let (words, time) = outcome.as_ref().map_or(("not begun", String::new()), shown);
            vec![one.input.display().to_string(), one.output.display().to_string(), words.to_owned(), time]
        };
        let remark = |(one, outcome): (&ReconstructOptions, &Option<Outcome>)| match outcome {
            Some((Err(text), _)) => Some(format!("{}: {text}", one.input.display())),
            _ => None,
        };
        let num_whole = outcomes.iter().flatten().filter(|outcome| is_whole(outcome)).count();
        let all = counted(self.inputs.len(), "input");
        TextTable {
            title: format!("{num_whole} of {all} done in {}", duration(time.as_secs_f64())),
            words: ["input", "output", "outcome"].map(String::from).to_vec(),
            groups: vec![(String::new(), vec!["time".to_owned()])],
            rows: self.inputs.iter().zip(outcomes).map(row).collect(),
            remarks: self.inputs.iter().zip(outcomes).filter_map(remark).collect(),
        }
    }
}
