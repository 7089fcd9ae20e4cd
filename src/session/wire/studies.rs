//! What is said of scans: their heads, which a window shows, with all that is small enough; and the settings of their runs. Counts and
//! single events stay where they are; the projections of a sweep are few, and go.

use std::path::PathBuf;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::WireError;
use super::messages::StudyId;
use crate::data::{
    Attenuation, AttenuationMap, CountRates, Counts, EventList, EventNumbers, ListMetadata, ListSampling, Michelogram, Notice,
    Origin, Projection, ReferenceSpectrum, ScanTime, Study, Sweep, SweepKind, TofFacts, Volume,
};
use crate::geometry::{Grid, LENGTHS_MM};
use crate::operator::Accumulation;
use crate::plan::{Acquisition, Data, Job, Rays, RunSettings, StartInfo, StudyFiles, SubsetRule, Traits};
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

/// Returns the study of a job on the server, and the settings of its run.
///
/// # Errors
/// The reason the job cannot run remotely, phrased as a sentence suffix.
pub(super) fn remote_settings(job: &Job) -> Result<(StudyId, Box<RunSettings>), &'static str> {
    let data = job.data();
    if data.growing_list().is_some() || data.sweep().is_some_and(|acquisition| !acquisition.is_over()) {
        return Err("files that are still being written are not reconstructed remotely");
    }
    if job.settings.tubes.is_some() || job.settings.init.is_some() {
        return Err(
            "tubes of response and start images that are here are not used there: choose another projector, or start from 1",
        );
    }
    Ok((study_of(job)?, job.settings.clone()))
}

/// Returns the number of the study of a job on the server.
///
/// # Errors
/// Its data are on this machine.
pub(super) fn study_of(job: &Job) -> Result<StudyId, &'static str> {
    job.study.remote_id.ok_or("its data are on this machine: open the study there")
}

/// Returns settings that came over the line, if a run may be asked for them.
///
/// # Errors
/// They have more threads or lines than any, or a parameter that their algorithm lacks.
pub(super) fn checked(settings: Box<RunSettings>) -> Result<Box<RunSettings>, WireError> {
    let num_rays = match settings.rays {
        Rays::Auto => 1,
        Rays::Fixed { tangential, axial } => tangential.saturating_mul(axial),
    };
    if settings.num_threads.is_some_and(|threads| threads > MAX_THREADS) || !(1..=MAX_RAYS).contains(&num_rays) {
        return Err(WireError::cannot_be(format!("a run of more than {MAX_THREADS} threads, or {MAX_RAYS} rays per LOR")));
    }
    settings.algorithm.check(&settings.parameters).map_err(WireError::cannot_be)?;
    Ok(settings)
}

/// Returns a run of a study with these settings; `None` where their algorithm is for another kind of data.
pub(super) fn job_of(study: &Arc<Study<Data>>, settings: Box<RunSettings>) -> Option<Job> {
    let traits = Traits { kind: study.measured.kind(), ..Traits::default() };
    (settings.algorithm.entry().is_for)(&traits).then(|| Job { study: Arc::clone(study), settings })
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
    settings: Box<RunSettings>,
}

impl Started {
    /// Of a run of this study; `num_threads` is how many it has where its settings leave that open.
    pub fn of(study: StudyId, info: StartInfo, num_threads: usize) -> Self {
        let StartInfo { device, projector, num_subsets, accumulation, accumulations, estimate, mut job, .. } = info;
        // They are made there, and stay.
        (job.settings.tubes, job.settings.init) = (None, None);
        job.settings.num_threads.get_or_insert(num_threads);
        let (accumulations, settings) = (accumulations.to_vec(), job.settings);
        Self { study, device, projector, num_subsets, accumulation, accumulations, estimate, settings }
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
        if settings.grid != *asked.grid() || num_subsets == 0 {
            return Err(WireError::cannot_be("a run on another grid, or without subsets"));
        }
        let known = [&[], Accumulation::OF_LINES, Accumulation::OF_MATRICES];
        let is_same = |known: &&&'static [Accumulation]| ***known == *accumulations;
        let accumulations = known.iter().find(is_same).copied().unwrap_or(Accumulation::OF_LINES);
        let job = job_of(&asked.study, settings).ok_or_else(|| WireError::cannot_be("another kind of run"))?;
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

/// A study of which counts and events stay on the server ([`Michelogram::elsewhere`], [`EventList::elsewhere`]).
#[derive(Debug)]
pub struct RemoteStudy {
    /// The study.
    pub study: Study<Data>,
    /// The files that it was read from, by their paths on the server.
    pub files: StudyFiles,
    /// Total of counts along lines, and the bound on their subsets.
    pub counted: Option<(f64, SubsetRule)>,
}

impl StudyHead {
    /// Of a study that was read from these files; `None` where it cannot be reconstructed remotely.
    pub fn of(study: &Study<Data>, files: StudyFiles) -> Option<Self> {
        let measured = match &study.measured {
            Data::Counts(counts) => {
                let Counts { prompts, multiplicative, additive } = counts;
                let corrections = [multiplicative.is_some(), additive.is_some()];
                let geometry = Box::new((*prompts.geometry).clone());
                Head::Counts { geometry, corrections, total: prompts.total(), subset_rule: SubsetRule::of_counts(counts) }
            }
            Data::Events { list, .. } => Head::Events(Box::new(ListHead::of(list))),
            Data::Sweep(acquisition) => Head::Sweep(Box::new(acquisition.snapshot())),
            // Others have no description that could be sent.
            _ => return None,
        };
        let Study { title, origin, notices, .. } = study;
        Some(Self { id: 0, title: title.clone(), origin: origin.clone(), notices: notices.clone(), measured, files })
    }

    /// The same of the study of this number.
    pub(super) fn with_id(self, id: StudyId) -> Self {
        Self { id, ..self }
    }

    /// Number of the study there.
    pub fn id(&self) -> StudyId {
        self.id
    }

    /// Returns the study, as much of it as was sent.
    ///
    /// # Errors
    /// Its description is not valid, as a sentence.
    pub fn study(self) -> Result<RemoteStudy, String> {
        let Self { id, title, origin, notices, measured, files } = self;
        let (data, counted) = match measured {
            Head::Counts { geometry, corrections, total, subset_rule } => {
                let geometry = Arc::new(geometry.validate().map_err(|error| error.to_string())?);
                let part = || Michelogram::elsewhere(geometry.clone());
                let [multiplicative, additive] = corrections.map(|is_there| is_there.then(part));
                (Data::Counts(Counts { prompts: part(), multiplicative, additive }), Some((total, subset_rule)))
            }
            Head::Events(head) => (Data::from(head.list()?), None),
            Head::Sweep(sweep) => {
                check_sweep(&sweep)?;
                (Data::Sweep(Acquisition::complete(*sweep)), None)
            }
        };
        let study = Study { origin, notices, remote_id: Some(id), ..Study::new(title, data) };
        let files = files.of_kind(study.measured.kind());
        Ok(RemoteStudy { study, files, counted })
    }
}

impl ListHead {
    fn of(list: &EventList) -> Self {
        let facts = &*list.facts;
        let ListMetadata { format, detectors, attenuation, tof, sampling, start_ms, .. } = facts;
        let ListMetadata { duration_ms, num_events, isotope, half_life_secs, .. } = facts;
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
        let facts = ListMetadata {
            attenuation,
            tof: self.tof,
            sampling: self.sampling,
            start_ms: self.start_ms,
            duration_ms: self.duration_ms,
            num_events: self.num_events,
            isotope: self.isotope,
            half_life_secs: self.half_life_secs,
            ..ListMetadata::new(self.format, detectors)
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
