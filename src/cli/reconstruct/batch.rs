//! `tomoscope reconstruct INPUT… -o OUT`: one input, or many in one process, one after the other or side by side.

use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use clap::Args;
use crossbeam_channel::{Sender, unbounded};
use indicatif::ProgressBar;

use super::desk::Ended;
use super::options::ReconstructOptions;
use super::parts::Part;
use super::processes::Colleagues;
use super::run;
use super::run_progress::duration;
use super::sharing::Sharing;
use crate::cli::shared::console::{err, out, remark};
use crate::cli::shared::error::{CliError, CliResult, Done, Failure};
use crate::cli::shared::options::count;
use crate::cli::shared::outputs::Files;
use crate::cli::shared::paths::{INPUT_NAME, before_ending};
use crate::cli::shared::progress::{bar, no_thread};
use crate::cli::shared::{console, signals};
use crate::io::{FileKind, identity};
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
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = count::<u16>)]
    jobs: u16,

    #[command(flatten)]
    each: ReconstructOptions,
}

/// Reconstructs all of them, with the other processes of the command where MPI has started some.
pub fn run(options: &BatchOptions) -> CliResult<Done> {
    let colleagues = Colleagues::meet()?;
    colleagues.end(run_among(options, &colleagues))
}

fn run_among(options: &BatchOptions, colleagues: &Colleagues) -> CliResult<Done> {
    let process = colleagues.shard();
    options.each.talk.apply();
    if options.each.json {
        console::reserve_output();
    }
    let all: Vec<ReconstructOptions> = options.inputs.iter().map(|input| options.each.of_input(input)).collect();
    options.check(&all).map_err(CliError::arguments)?;
    if let [one] = &all[..]
        && one.frames.is_none()
        && process.count > 1
    {
        colleagues.join();
        return run_shared(one, colleagues);
    }
    colleagues.divide();
    all.iter().try_fold(Files::new(), |files, one| one.add_files(files))?.check()?;
    if let [one] = &all[..] {
        let num_frames = one.frames.as_ref().map(|frames| frames.as_slice().len());
        let what = if num_frames.is_some() { "frame" } else { "input" };
        let part = one.parts.part(num_frames.unwrap_or(1), what, process)?;
        if num_frames.is_none() && !part.has(0) {
            remark!("nothing to do: the only input is in the first part");
            return Ok(Done::Wholly);
        }
        return Ok(run::run(&one.to_know_again(part)?, &Sharing::default(), part)?.done);
    }
    let part = options.each.parts.part(all.len(), "input", process)?;
    let mine: Vec<ReconstructOptions> =
        all.into_iter().enumerate().filter(|(index, _)| part.has(*index)).map(|(_, one)| one).collect();
    Batch::new(mine, part, usize::from(options.jobs)).run()
}

/// One input by all processes: each has its share of the data, the first one writes.
fn run_shared(one: &ReconstructOptions, colleagues: &Colleagues) -> CliResult<Done> {
    let process = colleagues.shard();
    if FileKind::of(&one.input).is_some_and(|kind| kind.is_sweep() || kind == FileKind::Pairs) {
        let text = format!(
            "{} processes can share projection data and lists, which {} is not: give several inputs, or start one process",
            process.count,
            one.input.display()
        );
        return Err(CliError::failed(Failure::Processes, text));
    }
    let mut one = one.to_know_again(Part::WHOLE)?;
    // What is there may look different from another machine.
    let is_done = colleagues.first_says(process.index == 0 && one.parts.skip_done && one.is_done())?;
    if is_done {
        out!("{}: up to date, skipped", one.output.display());
        return Ok(Done::Wholly);
    }
    one.parts.skip_done = false;
    one.projector.device = device_of_all(one.projector.device)?;
    if process.index > 0 {
        one.help();
    } else {
        one.add_files(Files::new())?.check()?;
    }
    Ok(run::run(&one, &Sharing::default(), Part::WHOLE)?.done)
}

impl BatchOptions {
    /// Refuses what several inputs cannot have.
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

/// How one of several ended.
enum Outcome {
    Ended(Ended),
    Failed(String),
}

impl Outcome {
    fn text(&self) -> &'static str {
        match self {
            Outcome::Ended(Ended { was_there: true, .. }) => "skipped",
            Outcome::Ended(Ended { done: Done::Wholly, .. }) => "done",
            Outcome::Ended(Ended { is_interrupted: true, .. }) => "stopped",
            Outcome::Ended(_) => "in part",
            Outcome::Failed(_) => "failed",
        }
    }

    fn is_whole(&self) -> bool {
        matches!(self, Outcome::Ended(Ended { done: Done::Wholly, .. }))
    }
}

/// What was told of one of several: which, how it ended, and after which time.
type Told = (usize, Outcome, Duration);

/// Several inputs, each with all its options.
struct Batch {
    inputs: Vec<ReconstructOptions>,
    part: Part,
    sharing: Sharing,
    num_workers: usize,
    /// The first that nobody has taken.
    next: AtomicUsize,
}

impl Batch {
    fn new(inputs: Vec<ReconstructOptions>, part: Part, num_jobs: usize) -> Self {
        let num_workers = num_jobs.min(inputs.len()).max(1);
        Self { inputs, part, sharing: Sharing::of(num_workers), num_workers, next: AtomicUsize::new(0) }
    }

    /// Does all; one that fails leaves the others alone.
    fn run(&self) -> CliResult<Done> {
        // Images that are done are kept, so the first signal only ends what is under way.
        let _signals = signals::keep();
        let (begin, num) = (Instant::now(), self.inputs.len());
        let (tell, told) = unbounded();
        let mut outcomes: Vec<Option<(Outcome, Duration)>> = self.inputs.iter().map(|_| None).collect();
        thread::scope(|scope| -> CliResult {
            for worker in 0..self.num_workers {
                let tell = tell.clone();
                thread::Builder::new()
                    .spawn_scoped(scope, move || self.work(worker, &tell))
                    .map_err(|error| no_thread("inputs", &error))?;
            }
            drop(tell);
            let all = if num > 1 { bar(num as u64, "inputs") } else { ProgressBar::hidden() };
            for (index, outcome, time) in told {
                all.inc(1);
                self.announce(index, &outcome, time, outcomes.iter().flatten().count() + 1);
                outcomes[index] = Some((outcome, time));
            }
            all.finish_and_clear();
            Ok(())
        })?;
        out!("{}", self.summary(&outcomes, begin.elapsed()));
        let are_whole = outcomes.iter().all(|one| one.as_ref().is_some_and(|(outcome, _)| outcome.is_whole()));
        Ok(if are_whole { Done::Wholly } else { Done::InPart })
    }

    /// Takes one input after the other until none is left, or a signal comes.
    fn work(&self, worker: usize, tell: &Sender<Told>) {
        while let Some((index, one)) = self.take() {
            let begin = Instant::now();
            if self.num_workers > 1 {
                console::set_label(format!("{}: ", one.input.display()));
            } else {
                out!("{} → {}", one.input.display(), one.output.display());
            }
            let outcome = self.reconstruct(worker, one).map_or_else(|error| Outcome::Failed(error.to_string()), Outcome::Ended);
            if tell.send((index, outcome, begin.elapsed())).is_err() {
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
        let mut one = one.to_know_again(self.part)?;
        if self.num_workers > 1 {
            let threads = self.sharing.threads(worker, one.projector.threads.map_or_else(num_cores, usize::from));
            one.projector.threads = Some(u16::try_from(threads).unwrap_or(u16::MAX));
        }
        let run = std::panic::AssertUnwindSafe(|| run::run(&one, &self.sharing, Part::WHOLE));
        std::panic::catch_unwind(run)
            .unwrap_or_else(|_| Err(CliError::failed(Failure::Internal, "internal error (please report it)")))
    }

    /// Tells of one that has ended.
    fn announce(&self, index: usize, outcome: &Outcome, time: Duration, num_ended: usize) {
        let one = &self.inputs[index];
        if let Outcome::Failed(text) = outcome {
            err!("tomoscope: {}: {text}", one.input.display());
        }
        let place = format!("{num_ended} of {}", counted(self.inputs.len(), "input"));
        remark!("{place}: {} {} after {}", one.input.display(), outcome.text(), duration(time.as_secs_f64()));
    }

    /// What became of all, as a table.
    fn summary(&self, outcomes: &[Option<(Outcome, Duration)>], time: Duration) -> TextTable {
        let row = |(one, outcome): (&ReconstructOptions, &Option<(Outcome, Duration)>)| {
            let (words, time) = outcome
                .as_ref()
                .map_or(("not begun", String::new()), |(outcome, time)| (outcome.text(), duration(time.as_secs_f64())));
            vec![one.input.display().to_string(), one.output.display().to_string(), words.to_owned(), time]
        };
        let remark = |(one, outcome): (&ReconstructOptions, &Option<(Outcome, Duration)>)| match outcome {
            Some((Outcome::Failed(text), _)) => Some(format!("{}: {text}", one.input.display())),
            _ => None,
        };
        let num_whole = outcomes.iter().flatten().filter(|(outcome, _)| outcome.is_whole()).count();
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
