//! What is said of scans: their heads, which a window shows, with all that is small enough; and the settings of their runs. Counts and
//! single events stay where they are; the projections of a sweep are few, and go.

use std::path::PathBuf;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::WireError;
use super::messages::StudyId;
use crate::data::{
    Attenuation, AttenuationMap, CountRates, Counts, EventList, EventNumbers, ListFacts, ListSampling, Michelogram, Notice,
    Origin, Projection, ReferenceSpectrum, ScanTime, Study, Sweep, SweepKind, TofFacts, Volume,
};
use crate::geometry::{Grid, LENGTHS_MM};
use crate::operator::Accumulation;
use crate::plan::{
    Acquisition, Job, ListFiles, Rays, ReadStudy, RunSettings, ScanFiles, StartInfo, StudyFiles, SubsetRule, SweepFiles,
    SweepSettings,
};
use crate::recon::Estimate;
use crate::scanner::{Crystal, Detectors, ScanGeometry};

/// Most threads that a run may be asked to have.
const MAX_THREADS: usize = 4096;

/// Most lines per bin, as on the command line.
const MAX_RAYS: usize = 1024;

/// Most samples of a projection.
const MAX_POINTS: usize = 1 << 20;

/// Longest time that a list, or a projection, can have taken.
const MAX_SECS: f64 = 10.0 * 365.0 * 86_400.0;

/// A scan that can be reconstructed from elsewhere.
#[derive(Clone, Debug)]
pub enum Scan {
    /// Counts along lines.
    Counts(Arc<Study<Counts>>),
    /// Single events.
    Events(Arc<Study<EventList>>),
    /// An EPRI sweep.
    Sweep(Arc<Study<Acquisition>>),
}

impl From<ReadStudy> for (Scan, StudyFiles) {
    fn from(read: ReadStudy) -> Self {
        match read {
            ReadStudy::Counts(study, files) => (Scan::Counts(Arc::new(study)), StudyFiles::Counts(files)),
            ReadStudy::Events(study, files) => (Scan::Events(Arc::new(study)), StudyFiles::Events(files)),
            ReadStudy::Sweep(study, files) => (Scan::Sweep(Arc::new(study.map(Acquisition::complete))), StudyFiles::Sweep(files)),
        }
    }
}

impl Scan {
    /// A run of it; `None` where the settings are for another kind of scan.
    pub(super) fn job(&self, settings: Settings) -> Option<Job> {
        match (self.clone(), settings) {
            (Scan::Counts(study), Settings::Lines(settings)) => Some(Job::Counts { study, settings }),
            (Scan::Events(study), Settings::Lines(settings)) => Some(Job::Events { study, settings, growing: None }),
            (Scan::Sweep(study), Settings::Planes(settings)) => Some(Job::Sweep { study, settings }),
            _ => None,
        }
    }
}

/// Number of the study that a job is of.
///
/// # Errors
/// Its data are on this machine.
pub(super) fn study_of(job: &Job) -> Result<StudyId, &'static str> {
    let number = match job {
        Job::Counts { study, .. } => study.remote_id,
        Job::Events { study, .. } => study.remote_id,
        Job::Sweep { study, .. } => study.remote_id,
        Job::Pairs { study, .. } => study.remote_id,
    };
    number.ok_or("its data are on this machine: open the study there")
}

/// What a run is asked to do.
#[derive(Debug, Serialize, Deserialize)]
pub enum Settings {
    /// Of counts along lines, or of single events.
    Lines(Box<RunSettings>),
    /// Of a sweep.
    Planes(Box<SweepSettings>),
}

impl Settings {
    /// Those of a job with the scan that it is of.
    ///
    /// # Errors
    /// Why it cannot be done elsewhere, as the end of a sentence.
    pub fn of(job: &Job) -> Result<(Scan, Self), &'static str> {
        let (scan, settings) = match job {
            Job::Counts { study, settings } => (Scan::Counts(study.clone()), Self::Lines(settings.clone())),
            Job::Events { study, settings, growing: None } => (Scan::Events(study.clone()), Self::Lines(settings.clone())),
            Job::Sweep { study, settings } if study.measured.is_over() => {
                (Scan::Sweep(study.clone()), Self::Planes(settings.clone()))
            }
            Job::Sweep { .. } | Job::Events { .. } => {
                return Err("files that are still being written are not reconstructed remotely");
            }
            Job::Pairs { .. } => return Err("crystal-pair histograms are not reconstructed remotely"),
        };
        match &settings {
            Self::Lines(lines) if lines.tubes.is_some() || lines.init.is_some() => Err(
                "tubes of response and start images that are here are not used there: choose another projector, or start from 1",
            ),
            _ => Ok((scan, settings)),
        }
    }

    /// The same, if a run may be asked for that.
    ///
    /// # Errors
    /// It has more threads or lines than any, or steps without projections.
    pub fn checked(self) -> Result<Self, WireError> {
        let (num_threads, num_rays) = match &self {
            Self::Lines(settings) => {
                let num_rays = match settings.rays {
                    Rays::Auto => 1,
                    Rays::Fixed { tangential, axial } => tangential.saturating_mul(axial),
                };
                (settings.num_threads, num_rays)
            }
            Self::Planes(settings) if settings.block == 0 => return Err(WireError::cannot_be("a run in blocks of nothing")),
            Self::Planes(settings) => (settings.num_threads, 1),
        };
        if num_threads.is_some_and(|threads| threads > MAX_THREADS) || !(1..=MAX_RAYS).contains(&num_rays) {
            return Err(WireError::cannot_be(format!("a run of more than {MAX_THREADS} threads, or {MAX_RAYS} rays per LOR")));
        }
        Ok(self)
    }

    fn grid(&self) -> &Grid {
        match self {
            Self::Lines(settings) => &settings.grid,
            Self::Planes(settings) => &settings.grid,
        }
    }

    fn num_threads_mut(&mut self) -> &mut Option<usize> {
        match self {
            Self::Lines(settings) => &mut settings.num_threads,
            Self::Planes(settings) => &mut settings.num_threads,
        }
    }
}

/// What a run became ([`StartInfo`]), without its study.
#[derive(Debug, Serialize, Deserialize)]
pub struct Started {
    study: StudyId,
    device: String,
    projector: String,
    num_subsets: usize,
    accumulation: Accumulation,
    accumulations: Vec<Accumulation>,
    estimate: Estimate,
    settings: Settings,
}

impl Started {
    /// Of a run of this study; `num_threads` is how many it has where its settings leave that open.
    pub fn of(study: StudyId, info: StartInfo, num_threads: usize) -> Option<Self> {
        let StartInfo { device, projector, num_subsets, accumulation, accumulations, estimate, mut job, .. } = info;
        if let Job::Counts { settings, .. } | Job::Events { settings, .. } = &mut job {
            // They are made there, and stay.
            (settings.tubes, settings.init) = (None, None);
        }
        let (_, mut settings) = Settings::of(&job).ok()?;
        settings.num_threads_mut().get_or_insert(num_threads);
        let accumulations = accumulations.to_vec();
        Some(Self { study, device, projector, num_subsets, accumulation, accumulations, estimate, settings })
    }

    /// The same of the job that was asked for, on a host.
    ///
    /// # Errors
    /// It is not what was asked for.
    pub fn info(self, asked: &Job, host: &str) -> Result<StartInfo, WireError> {
        let Self { study, device, projector, num_subsets, accumulation, accumulations, estimate, settings } = self;
        if study_of(asked) != Ok(study) {
            return Err(WireError::cannot_be("a run of another study"));
        }
        if settings.grid() != asked.grid() || num_subsets == 0 {
            return Err(WireError::cannot_be("a run on another grid, or without subsets"));
        }
        let known = [&[], Accumulation::OF_LINES, Accumulation::OF_MATRICES];
        let is_same = |known: &&&'static [Accumulation]| ***known == *accumulations;
        let accumulations = known.iter().find(is_same).copied().unwrap_or(Accumulation::OF_LINES);
        let job = Settings::of(asked).ok().and_then(|(scan, _)| scan.job(settings));
        let job = job.ok_or_else(|| WireError::cannot_be("another kind of run"))?;
        // Its memory is none of this machine's.
        let (device, memory) = (on(&device, host), Vec::new());
        Ok(StartInfo { device, projector, num_subsets, accumulation, accumulations, estimate, memory, job })
    }
}

/// A device of a host.
pub(super) fn on(device: &str, host: &str) -> String {
    format!("{device} on {host}")
}

/// A scan as a window elsewhere knows it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct StudyHead {
    /// Number of the study there, which comes beside the head.
    #[serde(skip)]
    id: StudyId,
    title: String,
    origin: Origin,
    notices: Vec<Notice>,
    measured: Head,
    /// What it was read from there.
    files: StudyFiles,
}

/// What is told of its data.
#[derive(Clone, Debug, Serialize, Deserialize)]
enum Head {
    /// Counts along lines: whether there are factors and a background, their sum, and what bounds their subsets.
    Counts {
        geometry: Box<ScanGeometry>,
        corrections: [bool; 2],
        total: f64,
        subset_rule: SubsetRule,
    },
    Events(Box<ListHead>),
    /// A sweep, as a whole.
    Sweep(Box<Sweep>),
}

/// What is told of the attenuation in a list.
#[derive(Clone, Debug, Serialize, Deserialize)]
enum AttenuationHead {
    Untold,
    InFactors,
    /// The map's file.
    Map(PathBuf),
}

/// What is told of a list of events.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct ListHead {
    format: String,
    scanner: String,
    crystals: Vec<Crystal>,
    attenuation: AttenuationHead,
    tof: Option<TofFacts>,
    sampling: Option<ListSampling>,
    start_ms: u64,
    duration_ms: Option<u64>,
    num_events: Option<u64>,
    isotope: Option<String>,
    half_life_secs: Option<f64>,
    numbers: EventNumbers,
    total_additive: f64,
    time: ScanTime,
    rates: CountRates,
}

/// A scan without what stays elsewhere.
#[derive(Debug)]
pub enum HeadStudy {
    /// Counts along lines without them ([`Michelogram::elsewhere`]).
    Counts {
        /// The study.
        study: Study<Counts>,
        /// Their sum.
        total: f64,
        /// What bounds their subsets.
        subset_rule: SubsetRule,
        /// What they were read from there.
        files: ScanFiles,
    },
    /// A list without its events ([`EventList::elsewhere`]), and what it was read from there.
    Events(Study<EventList>, ListFiles),
    /// A sweep, and what it was read from there.
    Sweep(Study<Sweep>, SweepFiles),
}

impl StudyHead {
    /// Of a scan that was read from these files.
    pub fn of(scan: &Scan, files: StudyFiles) -> Self {
        fn head<M>(study: &Study<M>, measured: Head, files: StudyFiles) -> StudyHead {
            let Study { title, origin, notices, .. } = study;
            StudyHead { id: 0, title: title.clone(), origin: origin.clone(), notices: notices.clone(), measured, files }
        }
        match scan {
            Scan::Counts(study) => {
                let Counts { prompts, multiplicative, additive } = &study.measured;
                let corrections = [multiplicative.is_some(), additive.is_some()];
                let geometry = Box::new((*prompts.geometry).clone());
                let subset_rule = SubsetRule::of_counts(&study.measured);
                head(study, Head::Counts { geometry, corrections, total: prompts.total(), subset_rule }, files)
            }
            Scan::Events(study) => head(study, Head::Events(Box::new(ListHead::of(&study.measured))), files),
            Scan::Sweep(study) => head(study, Head::Sweep(Box::new(study.measured.snapshot())), files),
        }
    }

    /// The same of the study of this number.
    pub(super) fn with_id(self, id: StudyId) -> Self {
        Self { id, ..self }
    }

    /// Number of the study there.
    pub fn id(&self) -> StudyId {
        self.id
    }

    /// The study, as much of it as there is here.
    ///
    /// # Errors
    /// It cannot be, as a sentence.
    pub fn study(self) -> Result<HeadStudy, String> {
        let Self { id, title, origin, notices, measured, files } = self;
        let remote_id = Some(id);
        fn whole<M>(study: Study<M>, origin: Origin, notices: Vec<Notice>, remote_id: Option<StudyId>) -> Study<M> {
            Study { origin, notices, remote_id, ..study }
        }
        match measured {
            Head::Counts { geometry, corrections, total, subset_rule } => {
                let geometry = Arc::new(geometry.validate().map_err(|error| error.to_string())?);
                let part = || Michelogram::elsewhere(geometry.clone());
                let [multiplicative, additive] = corrections.map(|is_there| is_there.then(part));
                let counts = Counts { prompts: part(), multiplicative, additive };
                let files = match files {
                    StudyFiles::Counts(files) => files,
                    other => ScanFiles::uncorrected(other.measured()),
                };
                let study = whole(Study::new(title, counts), origin, notices, remote_id);
                Ok(HeadStudy::Counts { study, total, subset_rule, files })
            }
            Head::Events(head) => {
                let files = match files {
                    StudyFiles::Events(files) => files,
                    other => ListFiles::of(other.measured()),
                };
                Ok(HeadStudy::Events(whole(Study::new(title, head.list()?), origin, notices, remote_id), files))
            }
            Head::Sweep(sweep) => {
                check_sweep(&sweep)?;
                let files = match files {
                    StudyFiles::Sweep(files) => files,
                    other => SweepFiles::of(other.measured()),
                };
                Ok(HeadStudy::Sweep(whole(Study::new(title, *sweep), origin, notices, remote_id), files))
            }
        }
    }
}

impl ListHead {
    fn of(list: &EventList) -> Self {
        let facts = &*list.facts;
        let ListFacts { format, detectors, attenuation, tof, sampling, start_ms, .. } = facts;
        let ListFacts { duration_ms, num_events, isotope, half_life_secs, .. } = facts;
        Self {
            format: format.clone(),
            scanner: detectors.name().to_owned(),
            crystals: detectors.crystals().to_vec(),
            attenuation: match attenuation {
                Attenuation::Untold => AttenuationHead::Untold,
                Attenuation::InFactors => AttenuationHead::InFactors,
                Attenuation::Map(map) => AttenuationHead::Map(map.file.clone()),
            },
            tof: tof.clone(),
            sampling: *sampling,
            start_ms: *start_ms,
            duration_ms: *duration_ms,
            num_events: *num_events,
            isotope: isotope.clone(),
            half_life_secs: *half_life_secs,
            numbers: list.numbers(),
            total_additive: list.total_additive,
            time: list.time.clone(),
            rates: list.rates.clone(),
        }
    }

    fn list(self) -> Result<EventList, String> {
        let detectors = Arc::new(Detectors::new(self.scanner, self.crystals).map_err(|error| error.to_string())?);
        let is_length = |mm: &f64| mm.is_finite() && mm.abs() <= *LENGTHS_MM.end();
        let tof_can_be = self.tof.iter().all(|tof| {
            let edges = tof.exceptions.iter().map(|other| &other.edges_mm).chain([&tof.edges_mm]).flatten();
            let are_lengths =
                tof.ways().all(|(fwhm_mm, window_mm)| fwhm_mm > 0.0 && is_length(&fwhm_mm) && window_mm.iter().all(is_length));
            are_lengths && edges.into_iter().all(is_length)
        });
        let life_can_be = self.half_life_secs.is_none_or(|secs| (0.0..=1e20).contains(&secs));
        if !tof_can_be || !life_can_be || !self.rates.can_be() || !self.time.can_be() {
            return Err(format!("invalid times of the list-mode data of {}", detectors.name()));
        }
        let attenuation = match self.attenuation {
            AttenuationHead::Untold => Attenuation::Untold,
            AttenuationHead::InFactors => Attenuation::InFactors,
            AttenuationHead::Map(file) => {
                // Its voxels stay there.
                let grid = Grid::centred([1; 3], [1.0; 3]).map_err(|error| error.to_string())?;
                Attenuation::Map(Arc::new(AttenuationMap { file, per_mm: Volume::filled(grid, 0.0) }))
            }
        };
        let facts = ListFacts {
            attenuation,
            tof: self.tof,
            sampling: self.sampling,
            start_ms: self.start_ms,
            duration_ms: self.duration_ms,
            num_events: self.num_events,
            isotope: self.isotope,
            half_life_secs: self.half_life_secs,
            ..ListFacts::new(self.format, detectors)
        };
        Ok(EventList {
            facts: Arc::new(facts),
            prompts: Arc::default(),
            delayeds: Arc::default(),
            total_additive: self.total_additive,
            time: self.time,
            rates: self.rates,
            frame_ms: None,
            elsewhere: Some(self.numbers),
        })
    }
}

/// Refuses a sweep whose numbers cannot be.
fn check_sweep(sweep: &Sweep) -> Result<(), String> {
    let Sweep { kind, num_points, step_mm, centre, projections, secs_per_projection, facts, .. } = sweep;
    let is_size = |value: f64| value > 0.0 && value <= *LENGTHS_MM.end();
    let kind_can_be = match kind {
        SweepKind::Pulse => true,
        SweepKind::ContinuousWave { step_mt, gradient_mt_per_mm, reference } => {
            let reference_can_be = |ReferenceSpectrum { values, step_mt }: &ReferenceSpectrum| {
                (2..=MAX_POINTS).contains(&values.len()) && is_size(*step_mt)
            };
            is_size(*step_mt) && is_size(*gradient_mt_per_mm) && reference.iter().all(reference_can_be)
        }
    };
    let is_projection = |Projection { direction, weight, values }: &Projection| {
        let length = direction.iter().map(|v| v * v).sum::<f64>();
        values.len() == *num_points && (length - 1.0).abs() < 1e-3 && (0.0..=10.0).contains(weight)
    };
    let field_can_be = facts.field_of_view_mm.is_none_or(is_size) && secs_per_projection.is_none_or(|secs| secs <= MAX_SECS);
    let samples_can_be = (2..=MAX_POINTS).contains(num_points) && is_size(*step_mm) && (0.0..*num_points as f64).contains(centre);
    match kind_can_be && field_can_be && samples_can_be && projections.iter().all(is_projection) {
        true => Ok(()),
        false => Err("invalid sampling of the EPRI acquisition".into()),
    }
}
