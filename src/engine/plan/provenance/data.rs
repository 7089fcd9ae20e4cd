//! Provenance of an image's data: the study, a frame of it, and its corrections.

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::data::{
    Counts, CtConversion, EventList, Experiment, FieldShift, FrameTime, Origin, Phase, SeriesImage, Study, Sweep, SweepMetadata,
};
use crate::plan::job::Job;
use crate::text::counted;

/// Data of an image.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DataRecord {
    /// The study's name.
    pub title: String,
    /// Name of the file; `None` for a simulation that was not written.
    pub file: Option<String>,
    /// Space of a sweep: "3D", or "2D, axes z and y".
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub space: Option<String>,
    /// File of the reference spectrum of a continuous-wave sweep.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub reference: Option<String>,
    /// Phase correction of complex spectra.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub phase: Option<Phase>,
    /// Shift of the field of the reference spectrum.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub field_shift: Option<FieldShift>,
    /// Further acquisitions of the same object for the same image.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub experiments: Vec<ExperimentRecord>,
    /// Frame of list-mode data.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub frame: Option<FrameRecord>,
}

/// A further acquisition of the object of an image.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ExperimentRecord {
    /// Name of its file.
    pub file: String,
    /// Number of its projections.
    pub projections: usize,
    /// Phase correction of complex spectra.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub phase: Option<Phase>,
}

impl From<&Experiment> for ExperimentRecord {
    fn from(experiment: &Experiment) -> Self {
        let Experiment { file, sweep, .. } = experiment;
        Self { file: file_name(file), projections: sweep.num_complete(), phase: sweep.facts.phase }
    }
}

/// A part of the time of a scan.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct FrameRecord {
    /// Its beginning, s from that of the scan.
    pub start_secs: f64,
    /// Measured duration in the frame, s.
    pub duration_secs: f64,
    /// Its end, s; `None` = start and duration.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub end_secs: Option<f64>,
    /// The limits that were asked for, s; `None` = the same.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub requested_secs: Option<[f64; 2]>,
    /// The seed by which time blocks at its limits were divided.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub split_seed: Option<u64>,
}

impl From<&SeriesImage> for FrameRecord {
    fn from(image: &SeriesImage) -> Self {
        let SeriesImage { start_secs, duration_secs, .. } = *image;
        Self { start_secs, duration_secs, end_secs: None, requested_secs: None, split_seed: None }
    }
}

impl From<&FrameTime> for FrameRecord {
    fn from(frame: &FrameTime) -> Self {
        let secs = |ms: u32| f64::from(ms) / 1e3;
        Self {
            start_secs: secs(frame.limits_ms.start),
            duration_secs: frame.duration_ms as f64 / 1e3,
            end_secs: Some(secs(frame.limits_ms.end)),
            requested_secs: Some([frame.requested_ms.start, frame.requested_ms.end].map(secs)),
            split_seed: frame.split_seed,
        }
    }
}

impl FrameRecord {
    pub(super) fn text(&self) -> String {
        format!("frame {}–{} s", self.start_secs, self.end_secs())
    }

    /// Returns its end, s.
    pub fn end_secs(&self) -> f64 {
        self.end_secs.unwrap_or(self.start_secs + self.duration_secs)
    }

    /// Returns all of a series of frames as one; `None` without any.
    pub fn whole(frames: &[Self]) -> Option<Self> {
        let (first, last) = (frames.first()?, frames.last()?);
        let requested = first.requested_secs.zip(last.requested_secs);
        Some(Self {
            duration_secs: frames.iter().map(|frame| frame.duration_secs).sum(),
            end_secs: Some(last.end_secs()),
            requested_secs: requested.map(|([from, _], [_, to])| [from, to]),
            ..*first
        })
    }

    /// Returns the time between the beginnings of neighbours and the duration of all, s, where both are the same.
    pub fn step_secs(frames: &[Self]) -> Option<f64> {
        let same = |a: f64, b: f64| (a - b).abs() < 1e-6;
        let duration = frames.first()?.duration_secs;
        let is_whole = |frame: &Self| same(frame.duration_secs, duration) && same(frame.end_secs() - frame.start_secs, duration);
        let is_regular =
            frames.iter().all(is_whole) && frames.windows(2).all(|pair| same(pair[0].end_secs(), pair[1].start_secs));
        is_regular.then_some(duration)
    }
}

impl DataRecord {
    /// Returns the record of a study with this title and these files.
    pub fn new(title: &str, origin: &Origin) -> Self {
        let name = |path: &Option<_>| path.as_deref().map(file_name);
        let (file, reference) = (name(&origin.measured), name(&origin.reference));
        Self { title: title.to_owned(), file, reference, ..Self::default() }
    }

    /// Returns the record of a job's data.
    pub fn of_job(job: &Job) -> Self {
        let Study { title, origin, measured, .. } = &*job.study;
        if let Some(acquisition) = measured.sweep() {
            let experiments = job.settings.inputs.experiments.iter().map(ExperimentRecord::from).collect();
            return Self { experiments, ..acquisition.look(|sweep| Self::of_sweep(title, origin, sweep)) };
        }
        Self { frame: job.frame_time().as_ref().map(FrameRecord::from), ..Self::new(title, origin) }
    }

    /// Returns the number of acquisitions of the image as text: "2 experiments"; `None` for one.
    pub(super) fn experiments_text(&self) -> Option<String> {
        (!self.experiments.is_empty()).then(|| counted(1 + self.experiments.len(), "experiment"))
    }

    /// Returns the record of a sweep.
    pub fn of_sweep(title: &str, origin: &Origin, sweep: &Sweep) -> Self {
        let SweepMetadata { phase, field_shift, .. } = sweep.facts;
        let space = Some(sweep.space.to_string());
        Self { space, phase, field_shift, ..Self::new(title, origin) }
    }
}

/// Corrections of projection data or list-mode data.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CorrectionRecord {
    /// File of the factors; [`SIMULATED`] where they come from no file, `None` = 1.
    pub multiplicative: Option<String>,
    /// True if this file holds the inverse of the factors.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub multiplicative_inverse: bool,
    /// File of the background; [`SIMULATED`] where it comes from no file, `None` = 0.
    pub additive: Option<String>,
    /// True if the background was divided by the factors in its file.
    pub additive_inside: bool,
    /// Meaning of a background without time of flight for data with it: "sum of the bins".
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub additive_tof: Option<String>,
    /// File of the attenuation of the object.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub attenuation: Option<String>,
    /// Files of further maps of attenuation, as of a bed.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub added_attenuation: Vec<String>,
    /// Conversion of the object's file, if it is CT.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub ct: Option<CtConversion>,
}

/// Text for a correction without a file that was simulated with the data.
pub const SIMULATED: &str = "simulated with the data";

/// Text for a correction that the list-mode file contains.
const OF_THE_LIST: &str = "from the file";

impl CorrectionRecord {
    /// Returns the source of the factors in words.
    pub fn factors_text(&self) -> Option<String> {
        self.multiplicative
            .as_ref()
            .map(|file| if self.multiplicative_inverse { format!("{file} (its inverse)") } else { file.clone() })
    }

    /// Returns the corrections of list-mode data.
    pub fn of_list(list: &EventList) -> Self {
        let numbers = list.numbers();
        let named = |is_there: bool, how: &str| is_there.then(|| how.to_owned());
        let randoms = if numbers.num_delayeds > 0 { "delayed coincidences" } else { OF_THE_LIST };
        let multiplicative = named(numbers.has_factors, OF_THE_LIST);
        let maps = list.facts.attenuation.maps();
        let mut names = maps.iter().map(|map| file_name(&map.file));
        let (attenuation, added_attenuation) = (names.next(), names.collect());
        let ct = maps.first().and_then(|map| map.ct);
        let additive = named(numbers.has_background, randoms);
        Self { multiplicative, additive, attenuation, added_attenuation, ct, ..Self::default() }
    }

    /// Returns the record of an attenuation map of CT.
    pub fn of_ct(origin: &Origin) -> Self {
        Self { attenuation: origin.attenuation.as_deref().map(file_name), ct: origin.ct, ..Self::default() }
    }

    /// Returns the corrections of projection data, from these files.
    pub fn new(origin: &Origin, counts: &Counts) -> Self {
        let Counts { multiplicative: factors, additive: background, .. } = counts;
        let Origin { multiplicative, multiplicative_inverse, additive, additive_inside, .. } = origin;
        let Origin { attenuation, added_attenuation, ct, .. } = origin;
        // Factors without a file are those of the attenuation.
        let has_factors = factors.is_some() && (multiplicative.is_some() || attenuation.is_none());
        let name =
            |is_there: bool, path: &Option<_>| is_there.then(|| path.as_deref().map_or_else(|| SIMULATED.to_owned(), file_name));
        Self {
            multiplicative: name(has_factors, multiplicative),
            multiplicative_inverse: *multiplicative_inverse && has_factors,
            additive: name(background.is_some(), additive),
            additive_inside: *additive_inside && background.is_some(),
            additive_tof: counts.tof_background().map(|background| background.to_string()),
            attenuation: attenuation.as_deref().map(file_name),
            added_attenuation: added_attenuation.iter().map(|file| file_name(file)).collect(),
            ct: *ct,
        }
    }
}

/// Returns a file's name without its folder.
pub(super) fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}
