//! Metadata of studies, which a window displays, and the settings of their runs. Counts and events stay on the server; the few
//! projections of sweeps are sent.

use std::path::PathBuf;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::error::RemoteError;
use crate::data::{
    Attenuation, AttenuationMap, CountRates, Counts, CtConversion, EventList, EventNumbers, ListMetadata, ListSampling,
    Michelogram, Notice, Origin, OxygenSeries, Projection, ReferenceSpectrum, ScanFacts, ScanTime, Study, Sweep, SweepKind,
    TofMeasurement, Volume,
};
use crate::geometry::{Grid, LENGTHS_MM};
use crate::io::calibration_beside;
use crate::operator::Accumulation;
use crate::plan::{Acquisition, Data, Job, Rays, RunSettings, StartInfo, StudyFiles, SubsetRule, Traits};
use crate::recon::Estimate;
use crate::scanner::{Crystal, Detectors, ScanGeometry};

/// Number of a study that the window requested; each is larger than those before.
pub type StudyId = u64;

const MAX_THREADS: usize = 4096;

/// Maximum number of rays per LOR, as on the command line.
const MAX_RAYS: usize = 1024;

/// Maximum number of samples of a projection.
const MAX_POINTS: usize = 1 << 20;

/// Maximum duration of list-mode data or a projection, s.
const MAX_SECS: f64 = 10.0 * 365.0 * 86_400.0;

/// Returns the study of a job on the server, and the settings of its run.
///
/// # Errors
/// The reason the job cannot run remotely, phrased as a sentence suffix.
pub fn remote_settings(job: &Job) -> Result<(StudyId, Box<RunSettings>), &'static str> {
    let data = job.data();
    if data.growing_list().is_some() || data.sweep().is_some_and(|acquisition| !acquisition.is_over()) {
        return Err("files that are still being written are not reconstructed remotely");
    }
    if job.settings.inputs.tubes.is_some()
        || job.settings.inputs.init.is_some()
        || job.settings.inputs.kappa.is_some()
        || job.settings.inputs.mask.is_some()
    {
        return Err(
            "tubes of response, start images, masks and κ that are here are not used there: choose another projector, start from 1, or κ auto",
        );
    }
    if !job.settings.inputs.radicals.is_empty() {
        return Err("several radicals are not reconstructed remotely: remove them, or open the study on this machine");
    }
    if !job.settings.inputs.experiments.is_empty() {
        return Err("several acquisitions of one object are not reconstructed remotely: reconstruct them on this machine");
    }
    Ok((study_of(job)?, job.settings.clone()))
}

/// Returns the number of the study of a job on the server.
///
/// # Errors
/// Its data are on this machine.
fn study_of(job: &Job) -> Result<StudyId, &'static str> {
    job.study.remote_id.ok_or("its data are on this machine: open the study there")
}

/// Returns received settings if they are valid.
///
/// # Errors
/// Too many threads or rays, or a parameter that the algorithm lacks.
pub fn validate(settings: Box<RunSettings>) -> Result<Box<RunSettings>, RemoteError> {
    let num_rays = match settings.rays {
        Rays::Auto => 1,
        Rays::Fixed { tangential, axial } => tangential.saturating_mul(axial),
    };
    if settings.num_threads.is_some_and(|threads| threads > MAX_THREADS) || !(1..=MAX_RAYS).contains(&num_rays) {
        return Err(RemoteError::invalid(format!("a run of more than {MAX_THREADS} threads, or {MAX_RAYS} rays per LOR")));
    }
    settings.algorithm.check(&settings.parameters).map_err(RemoteError::invalid)?;
    Ok(settings)
}

/// Returns a run of a study with these settings; `None` where their algorithm is for another kind of data.
pub fn job_of(study: &Arc<Study<Data>>, settings: Box<RunSettings>) -> Option<Job> {
    let traits = Traits { kind: study.measured.kind(), ..Traits::default() };
    (settings.algorithm.entry().is_for)(&traits).then(|| Job { study: Arc::clone(study), settings })
}

/// Set-up of a run ([`StartInfo`]), without its study.
#[derive(Debug, Serialize, Deserialize)]
pub struct StartedRun {
    study: StudyId,
    device: String,
    projector: String,
    num_subsets: usize,
    accumulation: Accumulation,
    accumulations: Vec<Accumulation>,
    estimate: Estimate,
    settings: Box<RunSettings>,
}

impl StartedRun {
    /// Converts the set-up of a run of this study; `num_threads` completes settings without a number of threads.
    pub fn of(study: StudyId, info: StartInfo, num_threads: usize) -> Self {
        let StartInfo { device, projector, num_subsets, accumulation, accumulations, estimate, mut job, .. } = info;
        // Tubes and images stay on the server.
        (job.settings.inputs.tubes, job.settings.inputs.init) = (None, None);
        (job.settings.inputs.kappa, job.settings.inputs.mask) = (None, None);
        job.settings.num_threads.get_or_insert(num_threads);
        let (accumulations, settings) = (accumulations.to_vec(), job.settings);
        Self { study, device, projector, num_subsets, accumulation, accumulations, estimate, settings }
    }

    /// Returns the set-up of the requested job on a host.
    ///
    /// # Errors
    /// The run is another one than requested.
    pub fn info(self, requested: &Job, host: &str) -> Result<StartInfo, RemoteError> {
        let Self { study, device, projector, num_subsets, accumulation, accumulations, estimate, settings } = self;
        if study_of(requested) != Ok(study) {
            return Err(RemoteError::invalid("a run of another study"));
        }
        if settings.grid != *requested.grid() || num_subsets == 0 {
            return Err(RemoteError::invalid("a run on another grid, or without subsets"));
        }
        let known = [&[], Accumulation::OF_LINES, Accumulation::OF_MATRICES];
        let is_same = |known: &&&'static [Accumulation]| ***known == *accumulations;
        let accumulations = known.iter().find(is_same).copied().unwrap_or(Accumulation::OF_LINES);
        let job = job_of(&requested.study, settings).ok_or_else(|| RemoteError::invalid("another kind of run"))?;
        // Its memory is not on this host.
        let (device, memory) = (on_host(&device, host), Vec::new());
        Ok(StartInfo { device, projector, num_subsets, accumulation, accumulations, estimate, memory, job })
    }
}

/// Returns the name of a device of a host.
pub fn on_host(device: &str, host: &str) -> String {
    format!("{device} on {host}")
}

/// Metadata of a study on a server.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct StudyMetadata {
    /// Number of the study, which the message has.
    #[serde(skip)]
    id: StudyId,
    title: String,
    origin: Origin,
    notices: Vec<Notice>,
    measured: DataMetadata,
    /// Files that it was read from.
    files: StudyFiles,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
enum DataMetadata {
    /// Projection data: presence of factors and background, total, the bound on subsets, duration (s) and share of the scan, and the
    /// calibration of its folder (Bq/mL of 1 count/mm).
    Counts {
        geometry: Box<ScanGeometry>,
        corrections: [bool; 2],
        total: f64,
        subset_rule: SubsetRule,
        duration_secs: Option<f64>,
        share_of_scan: Option<f64>,
        calibration: Option<f64>,
    },
    Events(Box<ListModeMetadata>),
    /// Complete sweep.
    Sweep(Box<Sweep>),
    /// Complete sweeps at several times.
    Oximetry(Box<OxygenSeries>),
}

#[derive(Clone, Debug, Serialize, Deserialize)]
enum AttenuationMetadata {
    Untold,
    InFactors,
    /// File of each map, and its conversion if it is CT.
    Maps(Vec<(PathBuf, Option<CtConversion>)>),
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct ListModeMetadata {
    format: String,
    scanner: String,
    crystals: Vec<Crystal>,
    attenuation: AttenuationMetadata,
    tof: Option<TofMeasurement>,
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

/// Study whose counts and events are on the server ([`Michelogram::elsewhere`], [`EventList::elsewhere`]).
#[derive(Debug)]
pub struct RemoteStudy {
    pub study: Study<Data>,
    /// Files that it was read from, by their paths on the server.
    pub files: StudyFiles,
    /// Total of projection data, and the bound on their subsets.
    pub counted: Option<(f64, SubsetRule)>,
    /// Calibration in the folder of projection data, Bq/mL of 1 count/mm.
    pub calibration: Option<f64>,
}

impl StudyMetadata {
    /// Returns the metadata of a study that was read from these files; `None` if it is not reconstructed remotely.
    pub fn of(study: &Study<Data>, files: StudyFiles) -> Option<Self> {
        let measured = match &study.measured {
            Data::Counts(counts) => {
                let Counts { prompts, multiplicative, additive, facts, .. } = counts;
                let ScanFacts { duration_secs, share_of_scan, .. } = *facts;
                DataMetadata::Counts {
                    geometry: Box::new((*prompts.geometry).clone()),
                    corrections: [multiplicative.is_some(), additive.is_some()],
                    total: prompts.total(),
                    subset_rule: SubsetRule::of_counts(counts),
                    duration_secs,
                    share_of_scan,
                    calibration: None,
                }
            }
            Data::Events(data) => DataMetadata::Events(Box::new(ListModeMetadata::of(&data.list))),
            Data::Sweep(acquisition) => DataMetadata::Sweep(Box::new(acquisition.snapshot())),
            Data::Oximetry(series) => DataMetadata::Oximetry(Box::new((**series).clone())),
            _ => return None,
        };
        let Study { title, origin, notices, .. } = study;
        Some(Self { id: 0, title: title.clone(), origin: origin.clone(), notices: notices.clone(), measured, files })
    }

    /// Returns the metadata of projection data with the calibration in the folder of their files, or a notice why it is not used.
    pub fn with_calibration(mut self) -> Self {
        if let DataMetadata::Counts { calibration, .. } = &mut self.measured {
            match calibration_beside(self.files.measured()) {
                Ok(found) => *calibration = found,
                Err(error) => self.notices.push(Notice::warning(error.to_string())),
            }
        }
        self
    }

    pub fn with_id(self, id: StudyId) -> Self {
        Self { id, ..self }
    }

    pub fn id(&self) -> StudyId {
        self.id
    }

    /// Returns the study without the data that are on the server.
    ///
    /// # Errors
    /// Invalid metadata, as a sentence.
    pub fn study(self) -> Result<RemoteStudy, String> {
        let Self { id, title, origin, notices, measured, files } = self;
        let mut of_folder = None;
        let (data, counted) = match measured {
            DataMetadata::Counts { geometry, corrections, total, subset_rule, duration_secs, share_of_scan, calibration } => {
                if [duration_secs, share_of_scan, calibration].iter().flatten().any(|value| !(value.is_finite() && *value > 0.0))
                {
                    return Err("invalid duration, share of the scan or calibration".into());
                }
                of_folder = calibration;
                let facts = ScanFacts { duration_secs, share_of_scan, ..ScanFacts::default() };
                let geometry = Arc::new(geometry.validate().map_err(|error| error.to_string())?);
                let part = || Michelogram::elsewhere(geometry.clone());
                let [multiplicative, additive] = corrections.map(|is_present| is_present.then(part));
                let counts = Counts { multiplicative, additive, facts, ..Counts::new(part()) };
                (Data::from(counts), Some((total, subset_rule)))
            }
            DataMetadata::Events(head) => (Data::from(head.list()?), None),
            DataMetadata::Sweep(sweep) => {
                check_sweep(&sweep)?;
                (Data::from(Acquisition::complete(*sweep)), None)
            }
            DataMetadata::Oximetry(series) => {
                let are_times = series.times_us.iter().all(|time| time.is_finite() && *time >= 0.0);
                if series.times_us.len() != series.sweeps.len() || series.sweeps.is_empty() || !are_times {
                    return Err("invalid times of the EPRI acquisitions".into());
                }
                series.sweeps.iter().try_for_each(check_sweep)?;
                (Data::from(*series), None)
            }
        };
        let study = Study { origin, notices, remote_id: Some(id), ..Study::new(title, data) };
        let files = files.of_kind(study.measured.kind());
        Ok(RemoteStudy { study, files, counted, calibration: of_folder })
    }
}

impl ListModeMetadata {
    fn of(list: &EventList) -> Self {
        let facts = &*list.facts;
        let ListMetadata { format, detectors, attenuation, tof, sampling, start_ms, .. } = facts;
        let ListMetadata { duration_ms, num_events, isotope, half_life_secs, .. } = facts;
        Self {
            format: format.clone(),
            scanner: detectors.name().to_owned(),
            crystals: detectors.crystals().to_vec(),
            attenuation: match attenuation {
                Attenuation::Untold => AttenuationMetadata::Untold,
                Attenuation::InFactors => AttenuationMetadata::InFactors,
                Attenuation::Maps(maps) => AttenuationMetadata::Maps(maps.iter().map(|map| (map.file.clone(), map.ct)).collect()),
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
        let has_valid_tof = self.tof.iter().all(|tof| {
            let edges = tof.exceptions.iter().map(|other| &other.edges_mm).chain([&tof.edges_mm]).flatten();
            let are_lengths = tof
                .resolutions()
                .all(|(fwhm_mm, window_mm)| fwhm_mm > 0.0 && is_length(&fwhm_mm) && window_mm.iter().all(is_length));
            are_lengths && edges.into_iter().all(is_length)
        });
        let has_valid_half_life = self.half_life_secs.is_none_or(|secs| (0.0..=1e20).contains(&secs));
        if !has_valid_tof || !has_valid_half_life || !self.rates.is_valid() || !self.time.is_valid() {
            return Err(format!("invalid times of the list-mode data of {}", detectors.name()));
        }
        let attenuation = match self.attenuation {
            AttenuationMetadata::Untold => Attenuation::Untold,
            AttenuationMetadata::InFactors => Attenuation::InFactors,
            AttenuationMetadata::Maps(maps) => {
                // Their voxels are on the server.
                let grid = Grid::centred([1; 3], [1.0; 3]).map_err(|error| error.to_string())?;
                let map = |(file, ct)| AttenuationMap { file, per_mm: Volume::filled(grid.clone(), 0.0), ct };
                Attenuation::Maps(maps.into_iter().map(map).map(Arc::new).collect())
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

/// Refuses a sweep with invalid sampling.
fn check_sweep(sweep: &Sweep) -> Result<(), String> {
    let Sweep { kind, num_points, step_mm, centre, projections, secs_per_projection, facts, .. } = sweep;
    let is_size = |value: f64| value > 0.0 && value <= *LENGTHS_MM.end();
    let has_valid_kind = match kind {
        SweepKind::Pulse => true,
        SweepKind::ContinuousWave { step_mt, gradient_mt_per_mm, reference } => {
            let is_valid_reference = |ReferenceSpectrum { values, step_mt }: &ReferenceSpectrum| {
                (2..=MAX_POINTS).contains(&values.len()) && is_size(*step_mt)
            };
            is_size(*step_mt) && is_size(*gradient_mt_per_mm) && reference.iter().all(is_valid_reference)
        }
    };
    let is_projection = |Projection { direction, weight, values }: &Projection| {
        let length = direction.iter().map(|v| v * v).sum::<f64>();
        let is_shorter = matches!(kind, SweepKind::ContinuousWave { .. }) && length < 1.0;
        values.len() == *num_points && ((length - 1.0).abs() < 1e-3 || is_shorter) && (0.0..=10.0).contains(weight)
    };
    let has_valid_field = facts.field_of_view_mm.is_none_or(is_size) && secs_per_projection.is_none_or(|secs| secs <= MAX_SECS);
    let has_valid_samples =
        (2..=MAX_POINTS).contains(num_points) && is_size(*step_mm) && (0.0..*num_points as f64).contains(centre);
    match has_valid_kind && has_valid_field && has_valid_samples && projections.iter().all(is_projection) {
        true => Ok(()),
        false => Err("invalid sampling of the EPRI acquisition".into()),
    }
}
