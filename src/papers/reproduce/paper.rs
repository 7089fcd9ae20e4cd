//! The common form of all papers: a plan, measurements in stages, tables and figures; and the run that makes them in a folder.
//!
//! Each measurement is stored as soon as it is made, and not repeated. An interrupted run resumes, and tables are printed again
//! without measuring.

use std::path::PathBuf;
use std::time::Instant;

use clap::{ArgMatches, Args, Command, FromArgMatches};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::folder::Folder;
use super::{ReproduceError, device};
use crate::data::Volume;
use crate::plan::DeviceChoice;
use crate::report::{Tables, Value};

#[derive(Clone, Copy, Debug)]
pub struct PaperInfo {
    /// Name on the command line and of files.
    pub name: &'static str,
    /// Authors, year and place, in the JSON file.
    pub citation: &'static str,
    /// Citation and subject, for the help.
    pub about: &'static str,
    /// Remarks of the heading: on a quick run, and on one without a GPU.
    pub remarks: [&'static str; 2],
}

/// Settings of a run that all papers have.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Device of the paper's GPU columns; on the CPU they are left out.
    pub device: DeviceChoice,
    /// Small scans and images: seconds instead of minutes.
    pub quick: bool,
    /// Names of the stages to run; empty = all.
    pub stages: Vec<String>,
    /// Time limit: begins no measurement that would probably end later, seconds.
    pub budget_secs: Option<f64>,
    /// Folder of measurements, tables and figures.
    pub folder: PathBuf,
}

/// Name of a stage, and its measurements in order.
pub(super) type Stage<P> = (&'static str, fn(&Context<P>) -> Vec<<P as Paper>::Work>);

pub(super) trait Measurement<P: Paper> {
    /// Returns the key in the folder and the title in messages.
    fn names(&self) -> (String, String);

    /// Makes and stores it; returns a remark for the message.
    fn make(&self, context: &Context<P>) -> Result<&'static str, ReproduceError>;

    fn key(&self) -> String {
        self.names().0
    }
}

pub(super) trait Paper: Copy + Sync + 'static {
    /// Options that no other paper has.
    type Options: Args;
    /// All that the measurements of a folder have in common; stored as `plan.json`.
    type Plan: Serialize;
    /// One of its measurements.
    type Work: Measurement<Self>;
    /// Data that several measurements need.
    type Cache: Default;

    /// The stages, in the order in which they run.
    const STAGES: &'static [Stage<Self>];

    fn info(self) -> PaperInfo;

    /// Returns the plan of the paper, or a quick one.
    fn plan(self, quick: bool, options: &Self::Options) -> Self::Plan;

    /// Returns the first lines of the text.
    fn heading(context: &Context<Self>) -> Result<String, ReproduceError>;

    /// Adds all tables, those of a quick run without the paper's numbers, and writes the figures; returns a description of each.
    fn add_tables(context: &Context<Self>, tables: &mut Tables) -> Result<Vec<String>, ReproduceError>;

    /// Returns measurements for the JSON file, after the values of the tables.
    fn details(_: &Context<Self>) -> Result<impl Serialize, ReproduceError> {
        Ok(None::<()>)
    }
}

/// A run of a paper in its folder.
pub(super) struct Context<P: Paper> {
    pub paper: P,
    pub quick: bool,
    pub options: P::Options,
    pub plan: P::Plan,
    pub device: DeviceChoice,
    pub folder: Folder,
    pub cache: P::Cache,
}

/// Content of the JSON file.
#[derive(Serialize)]
struct Report<'a, P, D> {
    paper: &'static str,
    plan: &'a P,
    device: String,
    complete: bool,
    values: &'a [Value],
    #[serde(flatten)]
    details: D,
}

impl<P: Paper> Context<P> {
    /// Returns all measurements on this device.
    pub fn all_work(&self) -> Vec<P::Work> {
        P::STAGES.iter().flat_map(|(_, work)| work(self)).collect()
    }

    /// Returns a stored measurement, if it was made.
    pub fn load<T: DeserializeOwned>(&self, work: &P::Work) -> Result<Option<T>, ReproduceError> {
        self.folder.load(&work.key())
    }

    /// Returns a stored measurement, if it was made; `None` also if the device does not offer it.
    pub fn load_offered<T: DeserializeOwned>(&self, work: &P::Work) -> Result<Option<T>, ReproduceError> {
        Ok(self.load::<Option<T>>(work)?.flatten())
    }

    /// Returns all stored measurements of some kinds of work that the device offers.
    pub fn load_all<T: DeserializeOwned>(&self, is_of_kind: fn(&P::Work) -> bool) -> Result<Vec<T>, ReproduceError> {
        let work = self.all_work().into_iter().filter(is_of_kind);
        work.filter_map(|work| self.load_offered(&work).transpose()).collect()
    }

    /// Returns the stored image of a measurement, if it was made.
    pub fn load_image(&self, work: &P::Work) -> Result<Option<Volume>, ReproduceError> {
        self.folder.load_image(&work.key())
    }

    /// Makes the missing measurements of some stages; returns whether the time was enough for all.
    fn measure_missing(&self, settings: &Settings, report: &mut dyn FnMut(&str)) -> Result<bool, ReproduceError> {
        let (begin, mut longest_secs) = (Instant::now(), 0.0f64);
        let named = |wanted: &String| P::STAGES.iter().find(|(name, _)| name == wanted);
        let selected: Vec<&Stage<P>> = settings.stages.iter().filter_map(named).collect();
        for (stage, work) in if selected.is_empty() { P::STAGES.iter().collect() } else { selected } {
            let (stage_begin, all) = (Instant::now(), work(self));
            let missing: Vec<&P::Work> = all.iter().filter(|work| !self.folder.has(&work.key())).collect();
            report(&format!("stage {stage}: {} of {} measurements done", all.len() - missing.len(), all.len()));
            for (number, work) in (1..).zip(&missing) {
                let elapsed_secs = begin.elapsed().as_secs_f64();
                if settings.budget_secs.is_some_and(|budget| elapsed_secs + longest_secs > budget) {
                    report(&format!(
                        "stopped after {elapsed_secs:.0} s at the time limit; run the same command again to continue"
                    ));
                    return Ok(false);
                }
                let work_begin = Instant::now();
                let remark = work.make(self)?;
                let secs = work_begin.elapsed().as_secs_f64();
                longest_secs = longest_secs.max(secs);
                report(&format!("  {number} of {}: {}: {remark}{secs:.1} s", missing.len(), work.names().1));
            }
            if !missing.is_empty() {
                report(&format!("stage {stage} took {:.1} s", stage_begin.elapsed().as_secs_f64()));
            }
        }
        Ok(true)
    }

    /// Writes all tables and figures of the stored measurements; returns the text.
    fn write(&self, complete: bool) -> Result<String, ReproduceError> {
        let mut tables = Tables { without_paper: self.quick, ..Tables::default() };
        let figures = P::add_tables(self, &mut tables)?;
        let num_missing = self.all_work().iter().filter(|work| !self.folder.has(&work.key())).count();
        let PaperInfo { name, citation, remarks: [quick, without_gpu], .. } = self.paper.info();
        let heading = P::heading(self)?;
        let quick = if self.quick { quick } else { "" };
        let without_gpu = if matches!(self.device, DeviceChoice::Cuda(_)) { "" } else { without_gpu };
        let text = tables.page(&format!("{heading}\n{quick}{without_gpu}"), num_missing, &figures);
        self.folder.write_tables(&tables, &text)?;
        let report = Report {
            paper: citation,
            plan: &self.plan,
            device: format!("{:?}", self.device),
            complete: complete && num_missing == 0,
            values: &tables.values,
            details: P::details(self)?,
        };
        self.folder.write_json(&format!("{name}.json"), &report)?;
        Ok(text)
    }
}

/// A paper with its options: makes missing measurements, writes tables and figures, and returns the text of the tables. The
/// function is called with each line of progress.
pub type Job = Box<dyn FnOnce(&Settings, &mut dyn FnMut(&str)) -> Result<String, ReproduceError>>;

/// A paper of the list.
pub trait AnyPaper: Sync {
    fn info(&self) -> PaperInfo;

    /// Returns the names of its stages, in the order in which they run.
    fn stage_names(&self) -> Vec<&'static str>;

    /// Adds its options to its command.
    fn with_options(&self, command: Command) -> Command;

    /// Returns its run with these options.
    ///
    /// # Errors
    /// An option has no value.
    fn job(&self, options: &ArgMatches) -> Result<Job, clap::Error>;
}

impl<P: Paper> AnyPaper for P {
    fn info(&self) -> PaperInfo {
        Paper::info(*self)
    }

    fn stage_names(&self) -> Vec<&'static str> {
        P::STAGES.iter().map(|(name, _)| *name).collect()
    }

    fn with_options(&self, command: Command) -> Command {
        P::Options::augment_args(command)
    }

    fn job(&self, options: &ArgMatches) -> Result<Job, clap::Error> {
        let (paper, options) = (*self, P::Options::from_arg_matches(options)?);
        Ok(Box::new(move |settings, report| {
            let plan = paper.plan(settings.quick, &options);
            let folder = Folder::open(&settings.folder, &plan)?;
            let (quick, device) = (settings.quick, device::concrete(settings.device));
            let context = Context { paper, quick, options, plan, device, folder, cache: P::Cache::default() };
            let complete = context.measure_missing(settings, report)?;
            context.write(complete)
        }))
    }
}
