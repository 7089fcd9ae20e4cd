//! `tomoscope reconstruct INPUT -o OUT`: the live session without a window. (What is asked of EPRI sweeps:
//! [`super::reconstruct_epri`].)

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use crossbeam_channel::{Receiver, never, select, tick};

use super::console::out;
use super::done_before::asked_of_piece;
use super::follow_list::follow_list;
use super::image_options::ImageOptions;
use super::list_options::ListArguments;
use super::options::{ProjectorOptions, TalkOptions, calibration, count, positive};
use super::outputs::Files;
use super::parts::{Part, PartOptions};
use super::paths::{image_file, is_numbered, of_frame, of_input};
use super::progress::with_bar;
use super::reconstruct_data::DataKind;
use super::reconstruct_epri::{self, EpriOptions};
use super::reconstruct_work::Work;
use super::reference_image::ReferenceImage;
use super::sharing::Sharing;
use super::stop_options::StopOptions;
use super::{CliResult, Done, notices, reconstruct_frames, signals, wrong};
use crate::algebra::{Host, ImageSpace};
use crate::data::{Counts, Frames, Notice, Roi, Study, Unit, frame_ms};
use crate::geometry::Grid;
use crate::io::list_mode::ListOptions;
use crate::io::measurements::MeasurementWriter;
use crate::io::saved_matrix::read_matrix;
use crate::io::{FileKind, SweepFollower, check_image_unit, read_pair_study, read_volume, rois};
use crate::plan::{
    AlgorithmKind, Job, ListSelection, PairSettings, RunSettings, ScanFiles, ScanWithNeighbours, Stages, SubsetRule, check_basis,
    default_list_settings, default_num_iterations, default_settings, list_study, ring_basis,
};
use crate::recon::SubsetOrder;
use crate::session::{Command, Feed, RoiSet, Session, SessionOptions, Trace};

/// How often the progress of a run in one step is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// Options of `tomoscope reconstruct`.
#[derive(Args, Clone, Debug)]
pub struct ReconstructOptions {
    /// What is reconstructed; of several inputs each has these options for itself.
    #[arg(skip)]
    pub input: PathBuf,

    /// By which an image that is there is known as the one that is asked for ([`super::done_before`]); `None` where nobody asks.
    #[arg(skip)]
    pub(super) asked: Option<String>,

    /// Whether another process writes the image and all else.
    #[arg(skip)]
    pub(super) is_helper: bool,

    /// Image to write (.hv, .nii, .nii.gz, .npy; of counts also .dcm, a folder: a DICOM PET series). {} stands for the input's name
    /// without its ending, in --csv and --trace too: of several inputs each needs its own files.
    #[arg(short, long, value_name = "OUT", value_parser = image_file)]
    pub output: PathBuf,

    /// Algorithm: mlem or osem; for an EPRI sweep fbp, or fbp-multistage (two stages, which need directions at equal linear
    /// angles: others are resampled to them). Default: osem, or fbp.
    #[arg(long, value_parser = algorithm)]
    pub algorithm: Option<Algorithm>,

    #[command(flatten)]
    pub epri: EpriOptions,

    /// Full iterations. Default: so many that subsets × iterations is about 56: 4 with 14 subsets, 56 with one (also for MLEM).
    #[arg(long, value_name = "N", value_parser = count::<u32>)]
    pub(super) iterations: Option<u32>,

    /// Subsets of an OSEM iteration. Default: at most 14, each with at least 50 000 counts net of the expected background and, except
    /// for lists of events, at least 4 views; if possible a number that divides the views evenly.
    #[arg(long, value_name = "N", value_parser = count::<u32>)]
    pub(super) subsets: Option<u32>,

    /// Order of the subsets: spaced (each as far as possible from those before) or sequential. Default: spaced.
    #[arg(long, value_name = "ORDER")]
    pub(super) subset_order: Option<SubsetOrder>,

    #[command(flatten)]
    pub(super) stop: StopOptions,

    #[command(flatten)]
    pub(super) list_arguments: ListArguments,

    /// Time frame to reconstruct, in seconds from the start of the list. A limit inside a time block (PETSIRD) moves to its nearest
    /// edge. Default: all of the list.
    #[arg(long, value_name = "FROM-TO", value_parser = frame_ms)]
    pub(super) frame: Option<Range<u32>>,

    /// Time frames in seconds from the start of the list (0-60,60-300, or 6x10,4x60 for six of ten seconds and then four of sixty),
    /// reconstructed one after the other with the same settings; files that are written have the frame's number in their names,
    /// OUT_fNNN. An image that ends in .nii or .nii.gz of frames of equal duration without gaps is also written as a whole, OUT.
    #[arg(long, value_name = "FRAMES", conflicts_with = "frame")]
    pub(super) frames: Option<Frames>,

    /// Lists with time blocks (PETSIRD): keep frame limits where they are and draw the events of a divided block at random, in proportion
    /// to time. Default seed: 1.
    #[arg(long, value_name = "SEED", num_args = 0..=1, default_missing_value = "1", require_equals = true)]
    pub(super) split_blocks: Option<u64>,

    /// Attenuation map of the object, an image (.nii, .nii.gz, .hv, .npy) of linear attenuation coefficients at 511 keV,
    /// 1/cm, on any grid.
    #[arg(long, value_name = "FILE")]
    pub(super) attenuation: Option<PathBuf>,

    /// Leave the time of flight out.
    #[arg(long)]
    pub(super) no_tof: bool,

    #[command(flatten)]
    pub image: ImageOptions,

    /// Image to start from; without --image, --voxel-mm and --like it also gives the grid. Default: uniform, with the
    /// data's number of counts.
    #[arg(long, value_name = "IMAGE")]
    pub(super) init: Option<PathBuf>,

    /// Stored matrix of the ring of crystals that counted (.matrix).
    #[arg(long, value_name = "FILE")]
    pub(super) matrix: Option<PathBuf>,

    /// Regions of interest to measure on every iterate (.toml, .json), for --csv or for a rule to stop by.
    #[arg(long, value_name = "FILE", requires = "use_of_rois")]
    pub rois: Option<PathBuf>,

    /// Table of measured numbers to write. Of each ROI on every iterate: mean, sd, min, max, num_voxels, volume, nsr (sd / mean, also
    /// called CV), contrast_recovery and contrast_to_noise (for an EPRI sweep after every block of projections, with the number of
    /// projections under subset). Of each step: log_likelihood_of_subset, in the row of the image before the step. Of each full
    /// iteration: their sum, log_likelihood, in the row of the image that it began with, and residual, how far the data y are from the
    /// counts e that are expected: Σ (y − e)² / Σ e, 1 where that is Poisson noise alone. Of each step with a race what that lost: lost,
    /// lost_of_ones and level. All are of the unfiltered reconstruction, whatever --post-filter-mm is.
    #[arg(long, value_name = "FILE", group = "use_of_rois")]
    pub(super) csv: Option<PathBuf>,

    /// Image to compare with, on the same grid: the correlation coefficient of each full iteration's image with it (of an EPRI sweep of
    /// the whole image's) is printed for those that are written, and stands in the table as correlation. Also of the unfiltered
    /// reconstruction.
    #[arg(long, value_name = "IMAGE")]
    reference_image: Option<PathBuf>,

    /// Also write every N-th iteration's image, as OUT_itNNN.
    #[arg(long, value_name = "N", value_parser = count::<u32>)]
    pub(super) save_every: Option<u32>,

    /// Filter the written images with a Gaussian of this full width at half maximum, mm.
    #[arg(long, value_name = "FWHM", value_parser = positive)]
    pub(super) post_filter_mm: Option<f64>,

    /// Bq/mL that 1 count/mm stands for: written images are in Bq/mL. The table is in counts/mm all the same.
    #[arg(long, value_name = "FACTOR", value_parser = calibration)]
    pub(super) calibration: Option<f64>,

    /// Write a time line as JSON lines.
    #[arg(long, value_name = "FILE")]
    pub(super) trace: Option<PathBuf>,

    /// Compute the sensitivity image non-atomically, too (non-atomic runs only).
    #[arg(long)]
    pub(super) racy_sensitivity: bool,

    /// The file of a sweep or a list is still being written. Every projection is used as soon as it is complete; events are read as
    /// they are written, and reconstructed when the list is whole. Until the last one, or Ctrl-C.
    #[arg(long)]
    pub(super) follow: bool,

    #[command(flatten)]
    pub projector: ProjectorOptions,

    /// Use no corrections that lie beside projection data. Default: FILE_mult.hs and FILE_add.hs beside FILE.hs stand for
    /// --multiplicative and --additive.
    #[arg(long)]
    pub(super) no_corrections: bool,

    /// Print the record of what made the image (which is also written as OUT.json beside the image) to standard output, and nothing else.
    #[arg(long)]
    pub(super) json: bool,

    #[command(flatten)]
    pub(super) parts: PartOptions,

    #[command(flatten)]
    pub(super) talk: TalkOptions,
}

/// An algorithm, by its name on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Algorithm {
    /// For counts.
    Em(AlgorithmKind),
    /// Filtered backprojection of an EPRI sweep.
    Fbp(Stages),
}

fn algorithm(text: &str) -> Result<Algorithm, String> {
    match text {
        "mlem" => Ok(Algorithm::Em(AlgorithmKind::Mlem)),
        "osem" => Ok(Algorithm::Em(AlgorithmKind::Osem)),
        "fbp" => Ok(Algorithm::Fbp(Stages::Single)),
        "fbp-multistage" => Ok(Algorithm::Fbp(Stages::Two)),
        _ => Err(format!("'{text}' is not an algorithm; use mlem or osem, or for an EPRI sweep fbp or fbp-multistage")),
    }
}

/// Reconstructs one input and writes, beside others that share the machine with it; of its frames those in a part.
pub(super) fn run(options: &ReconstructOptions, sharing: &Sharing, part: Part) -> CliResult<Ended> {
    let data = DataKind::of(&options.input)?;
    options.check_options(data)?;
    if options.frames.is_none() && options.parts.skip_done && options.is_done() {
        out!("{}: up to date, skipped", options.output.display());
        return Ok(Ended::WAS_THERE);
    }
    let trace = match &options.trace {
        Some(path) => Trace::to_file(path).map_err(|error| format!("cannot write {}: {error}", path.display()))?,
        None => Trace::off(),
    };
    if let Some(frames) = &options.frames {
        return reconstruct_frames::run(options, frames, trace, sharing, part);
    }
    let alone = sharing.read_alone();
    let (job, follower, num_expected) = match data {
        DataKind::Sweep => reconstruct_epri::job(options)?,
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

/// How a job ended.
#[derive(Clone, Copy)]
pub(super) struct Ended {
    pub done: Done,
    /// Whether a signal asked for the end.
    pub is_interrupted: bool,
    /// Whether nothing was to do, because all was there.
    pub was_there: bool,
}

impl Ended {
    /// A signal came first.
    pub const NOT_BEGUN: Self = Self { done: Done::InPart, is_interrupted: true, was_there: false };

    /// All was there.
    pub const WAS_THERE: Self = Self { done: Done::Wholly, is_interrupted: false, was_there: true };
}

/// Where jobs are worked off one after the other.
pub(super) struct Desk {
    session: Session,
    rois: Vec<Roi>,
    requests: Receiver<()>,
}

impl Desk {
    /// Looks at what is to be measured, and opens; `job` = the first one.
    pub(super) fn open(options: &ReconstructOptions, job: &Job, trace: Trace) -> CliResult<Self> {
        options.check_units(job.course().unit)?;
        trace.record("study_ready", &[]);
        let rois = options.rois.as_deref().map(rois::read_rois).transpose()?.unwrap_or_default();
        notices::print(rois::notice(&rois).as_slice());
        let rules = options.stop.rules(&rois)?;
        // Until here there is nothing to keep: a signal ends the program at once, also in the middle of a file.
        let requests = signals::keep();
        // Nobody looks at the volumes on the way, and no history is needed.
        let session_options = SessionOptions { history_bytes: 0, is_watched: false, trace, ..SessionOptions::default() };
        let session = Session::with_options(session_options, || {});
        session.send(Command::SetStopRules(rules));
        Ok(Self { session, rois, requests })
    }

    /// Does a job, and writes what `options` asks for.
    pub(super) fn run(
        &self,
        options: &ReconstructOptions,
        job: Job,
        follower: Option<SweepFollower>,
        num_expected: Option<usize>,
    ) -> CliResult<Ended> {
        let Self { session, rois, requests } = self;
        let reference = options.reference_image.as_deref().map(|path| ReferenceImage::open(path, job.grid())).transpose()?;
        let table = options.csv.as_deref().map(MeasurementWriter::create).transpose()?;
        let mut work = Work::new(options, &job, num_expected, rois.clone(), table, reference);
        let mut feed = match (&job, follower) {
            (Job::Sweep { study, .. }, Some(follower)) => {
                Some(Feed::follow(follower, study.measured.clone(), session.on_arrival())?)
            }
            _ => None,
        };
        let looks = if job.is_one_step() { tick(LOOK_EVERY) } else { never() };
        let job = job.until(work.next_halt(0));
        session.send(Command::Start { job, rois: RoiSet { branch: 0, rois: rois.clone().into() }, paused: false });
        let mut news: Receiver<Notice> = feed.as_ref().map_or_else(never, |feed| feed.notices().clone());
        loop {
            select! {
                recv(session.events()) -> event => {
                    let event = event.map_err(|_| "the solver's thread has ended without a result")?;
                    if let Some(done) = work.obey(session, event)? {
                        return Ok(Ended { done, is_interrupted: work.interrupted, was_there: false });
                    }
                }
                recv(looks) -> _ => work.progress.inside(session.task().progress()),
                recv(news) -> notice => match notice {
                    Ok(notice) => notices::print(&[notice]),
                    Err(_) => news = never(),
                },
                recv(requests) -> _ => {
                    work.interrupted = true;
                    // Without its feed an acquisition is over, and the run complete with what it has.
                    match feed.take() {
                        Some(feed) => notices::print(&feed.stop()),
                        None => _ = session.send(Command::Cancel),
                    }
                }
            }
        }
    }
}

impl ReconstructOptions {
    /// The files that will be read.
    pub(super) fn files_to_read(&self) -> impl Iterator<Item = PathBuf> {
        let lists = &self.list_arguments;
        let ScanFiles { multiplicative, additive, .. } = match FileKind::of(&self.input) {
            Some(kind) if kind.is_scan() => self.scan().files,
            _ => ScanFiles::uncorrected(&self.input),
        };
        let own = [&self.matrix, &self.rois, &self.init, &self.image.like, &self.reference_image, &self.attenuation];
        let others = [&lists.crystals, &lists.normalization, &self.projector.tubes];
        let named = own.into_iter().chain(others).flatten().chain(self.epri.reference()).cloned();
        [self.input.clone()].into_iter().chain(multiplicative).chain(additive).chain(named)
    }

    /// Adds the files that will be read and written.
    pub(super) fn add_files(&self, files: Files) -> Result<Files, String> {
        let files = files.read(&self.files_to_read().collect::<Vec<_>>());
        let files = files.write("-o", [&self.output]).write_lines("--csv", &self.csv).write_lines("--trace", &self.trace);
        // Those of frames have names of their own.
        let of_frames: Vec<Self> =
            self.frames.iter().flat_map(|frames| (1..=frames.as_slice().len()).map(|k| self.of_frame(k))).collect();
        let mut files = of_frames
            .iter()
            .fold(files, |files, frame| files.write("--frames", [&frame.output]).write_lines("--frames", &frame.csv));
        if let Some(every) = self.save_every {
            for output in of_frames.iter().chain([self]).map(|options| &options.output) {
                files = files.check_numbered("--save-every", |path| is_numbered(path, output, every as usize))?;
            }
        }
        Ok(files)
    }

    /// Leaves all that is written to another process.
    pub(super) fn help(&mut self) {
        (self.is_helper, self.csv, self.trace, self.json) = (true, None, None, false);
    }

    /// What is asked of one of several inputs.
    pub(super) fn of_input(&self, input: &Path) -> Self {
        let name = |path: &PathBuf| of_input(path, input);
        let (output, csv, trace) = (name(&self.output), self.csv.as_ref().map(name), self.trace.as_ref().map(name));
        Self { input: input.to_owned(), output, csv, trace, ..self.clone() }
    }

    /// Refuses a calibration, or a format, that an image in this unit cannot have.
    fn check_units(&self, unit: Unit) -> CliResult {
        if self.calibration.is_some() && unit != Unit::CountsPerMm {
            return Err(wrong(format!("--calibration is for images in counts/mm, and this one will be in {}", unit.label())));
        }
        Ok(check_image_unit(&self.output, unit)?)
    }

    /// The job of counts.
    fn counts(&self) -> CliResult<Job> {
        let study = Arc::new(self.study()?);
        let num_views = study.measured.geometry().num_views;
        if let Some(num_subsets) = self.subsets.filter(|n| *n as usize > num_views) {
            return Err(wrong(format!(
                "--subsets {num_subsets}: {} has {num_views} views; use 1 to {num_views}",
                self.input.display()
            )));
        }
        let settings = Box::new(self.settings(&study.measured)?);
        Ok(Job::Counts { study, settings })
    }

    /// Subsets and iterations: those asked for, else those that suit the data.
    pub(super) fn subsets_and_iterations(&self, rule: Option<SubsetRule>) -> [usize; 2] {
        let is_mlem = self.algorithm == Some(Algorithm::Em(AlgorithmKind::Mlem));
        let suited = if is_mlem { 1 } else { rule.map_or(1, SubsetRule::num_subsets) };
        let num_subsets = self.subsets.map_or(suited, |n| n as usize);
        [num_subsets, self.iterations.map_or_else(|| default_num_iterations(num_subsets), |n| n as usize)]
    }

    /// What is written of the frame of this number.
    pub(super) fn of_frame(&self, number: usize) -> Self {
        let name = |path: &PathBuf| of_frame(path, number);
        let asked = self.asked.as_deref().map(|asked| asked_of_piece(asked, &format!("frame {number}")));
        Self { output: name(&self.output), csv: self.csv.as_ref().map(name), frames: None, asked, ..self.clone() }
    }

    /// The job of a list of events.
    pub(super) fn list(&self) -> CliResult<Job> {
        if self.split_blocks.is_some() && self.frame.is_none() && self.frames.is_none() {
            return Err(wrong("--split-blocks needs --frame or --frames: a list without frames divides no time block"));
        }
        let selection = ListSelection { frame_ms: self.frame.clone(), without_tof: self.no_tof, split_seed: self.split_blocks };
        let options = ListOptions { attenuation: self.attenuation.clone(), ..self.list_arguments.list_options() };
        let study = match self.follow {
            true => follow_list(&self.input, &options, selection)?,
            false => with_bar("reading", |task| list_study(&self.input, &options, &selection, task))??,
        };
        notices::print(&study.notices);
        let base = default_list_settings(&study.measured)?;
        let settings = Box::new(self.settings_from(base, |image, base| image.grid_about(base))?);
        Ok(Job::Events { study: Arc::new(study), settings, growing: None })
    }

    /// The job of counts of pairs of crystals.
    fn pairs(&self) -> CliResult<Job> {
        let projector = &self.projector;
        let Some(matrix) = &self.matrix else {
            return Err(wrong(
                "counts of pairs of crystals need the stored matrix of their ring: make it (tomoscope matrix) and name its file (--matrix)",
            ));
        };
        let study = read_pair_study(&self.input)?;
        let matrix = Arc::new(read_matrix(matrix)?);
        check_basis(&study.measured.ring, &matrix)?;
        let init = self.init.as_deref().map(read_volume).transpose()?;
        let shown = ring_basis(&study.measured.ring, &matrix.basis, None)?;
        let grid = match (self.image.grid_about(ImageSpace::<Host>::grid(&shown))?, &init) {
            (Some(grid), _) => grid,
            (None, Some((init, _))) => init.grid.clone(),
            (None, None) => ImageSpace::<Host>::grid(&shown).clone(),
        };
        let settings = PairSettings {
            matrix: Some(matrix),
            num_iterations: self.iterations.map_or(default_num_iterations(1), |n| n as usize),
            grid,
            device: projector.device,
            accumulation: projector.accumulation,
            num_threads: projector.threads.map(usize::from),
            init: init.map(|(volume, _)| Arc::new(volume)),
        };
        Ok(Job::Pairs { study: Arc::new(study), settings: Box::new(settings) })
    }

    /// The scan and its corrections: those that are named, and those beside it.
    fn scan(&self) -> ScanWithNeighbours {
        let ProjectorOptions { multiplicative, additive, additive_inside, .. } = self.projector.clone();
        let named = ScanFiles { measured: self.input.clone(), multiplicative, additive, additive_inside };
        if self.no_corrections { named.alone() } else { named.with_neighbours() }
    }

    fn study(&self) -> CliResult<Study<Counts>> {
        let study = self.scan().read()?;
        notices::print(&study.notices);
        Ok(study)
    }

    /// The defaults for counts with everything that was asked for.
    fn settings(&self, counts: &Counts) -> CliResult<RunSettings> {
        let settings = self.settings_from(default_settings(counts)?, |image, _| image.grid(counts.geometry()))?;
        Ok(RunSettings { tubes: self.projector.tubes(counts.geometry())?, ..settings })
    }

    /// Default settings with everything that was asked for; `grid` is what the image options make of the default grid.
    fn settings_from(
        &self,
        base: RunSettings,
        grid: impl FnOnce(&ImageOptions, &Grid) -> CliResult<Option<Grid>>,
    ) -> CliResult<RunSettings> {
        let algorithm = match self.algorithm {
            Some(Algorithm::Em(algorithm)) => algorithm,
            _ => AlgorithmKind::Osem,
        };
        let init = self.init.as_deref().map(read_volume).transpose()?;
        let grid = match (grid(&self.image, &base.grid)?, &init) {
            (Some(grid), _) => grid,
            (None, Some((init, _))) => init.grid.clone(),
            (None, None) => base.grid.clone(),
        };
        if let Some((_, found)) = &init {
            notices::print(found);
        }
        let projector = &self.projector;
        let [num_subsets, num_iterations] = self.subsets_and_iterations(base.subset_rule);
        Ok(RunSettings {
            algorithm,
            num_iterations,
            num_subsets,
            subset_rule: base.subset_rule,
            subset_order: self.subset_order.unwrap_or(base.subset_order),
            fov_radius_mm: projector.fov_radius_mm.unwrap_or_else(|| grid.inscribed_radius_mm()),
            grid,
            rays: projector.rays,
            projector: projector.choice(),
            tubes: None,
            device: projector.device,
            accumulation: projector.accumulation,
            racy_sensitivity: self.racy_sensitivity,
            threads_per_block: projector.threads_per_block,
            num_threads: projector.threads.map(usize::from),
            init: init.map(|(volume, _)| Arc::new(volume)),
            frame_ms: None,
        })
    }
}
