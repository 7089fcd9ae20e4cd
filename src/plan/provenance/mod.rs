//! What made an image: a record that is written beside it as JSON (`image.nii.gz.json`), told in NIfTI's description and, in the window, in a line
//! under the slices.

pub mod algorithm;
mod data;
pub mod facts;

use std::path::Path;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use self::algorithm::AlgorithmRecord;
use self::data::file_name;
pub use self::data::{CorrectionRecord, DataRecord, FrameRecord, SIMULATED};
use crate::data::{BasisSettings, MatrixMade, Notice, ResponseMatrix, TubeSet, TubesMade, Unit, Volume};
use crate::io::dicom::Patient;
pub use crate::io::provenance::ImageRecord;
use crate::io::{self, ImageDescription, IoError};
use crate::operator::Accumulation;
use crate::plan::projector::settings::ProjectorChoice;
use crate::text::counted;

/// Version of the record's form; it grows when a key changes its meaning.
pub const PROVENANCE_VERSION: u32 = 1;

/// All that is needed to make an image again, and to know it from others.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Provenance {
    /// Always [`io::provenance::PROGRAM`], by which the program knows its own records.
    pub program: String,
    /// The program's version.
    pub program_version: String,
    /// [`PROVENANCE_VERSION`].
    pub provenance_version: u32,
    /// What was made.
    pub made: ImageKind,
    /// Names of the files that it is written beside.
    pub files: Vec<String>,
    /// What it was made of.
    pub data: DataRecord,
    /// What the data was corrected by; of counts only.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub corrections: Option<CorrectionRecord>,
    /// How it was reconstructed.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub algorithm: Option<AlgorithmRecord>,
    /// How far the reconstruction was.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub progress: Option<Progress>,
    /// The rule that ended the reconstruction with this image, and what met it, as a sentence.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub stopped_by: Option<String>,
    /// What computed A and its adjoint; of counts only.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub projector: Option<ProjectorRecord>,
    /// The stored matrix that was A; of counts of pairs of crystals only.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub matrix: Option<MatrixRecord>,
    /// Full width at half maximum of the Gaussian that the image was filtered with, mm; `None` = none.
    pub post_filter_fwhm_mm: Option<f64>,
    /// What 1 count/mm stands for, Bq/mL, of an image that was multiplied by it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub calibration_bq_per_ml: Option<f64>,
    /// By which the image is known as the one that a command would make again.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub seal: Option<ContentFingerprint>,
    /// Where the voxels are and what they hold.
    pub image: ImageRecord,
    /// Where it was computed.
    pub device: DeviceRecord,
    /// When, and how long it took.
    pub times: Times,
}

/// Numbers of 32 digits that tell an image from others.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContentFingerprint {
    /// What was asked for: settings, and what the files hold that are read.
    pub asked: String,
    /// What the image's files hold.
    pub written: String,
}

/// What an image is; in words as in the description inside image files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, strum::Display)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "lowercase")]
pub enum ImageKind {
    /// A reconstruction.
    Reconstruction,
    /// Aᵀ (m ⊙ q) of projection data q.
    Backprojection,
    /// The true image of a phantom.
    #[strum(serialize = "true image of a phantom")]
    TrueImage,
    /// An image file of which nobody kept such a record; the record's device and times say nothing.
    #[strum(serialize = "image of another program")]
    Elsewhere,
}

/// How far a reconstruction was.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Progress {
    /// Of counts.
    Iterations {
        /// Full iterations complete.
        iteration: usize,
        /// Full iterations asked for.
        iterations_asked: usize,
        /// Steps done in all: subsets used.
        subiteration: usize,
        /// Whether all iterations that were asked for are in the image.
        complete: bool,
    },
    /// Of a list of events that was still being written.
    Arrived {
        /// Steps done.
        updates: usize,
        /// Events that the image is of.
        events: usize,
        /// Never: a list that is whole is reconstructed as any other.
        complete: bool,
    },
    /// Of a sweep.
    Projections {
        /// Projections in the image.
        projections: usize,
        /// Projections that the sweep has when it is whole; `None` where nobody knows.
        projections_expected: Option<usize>,
        /// Directions at equal angles that the projections were resampled to; `None` = not resampled.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        resampled_to: Option<usize>,
        /// Whether all of them are in the image; `None` where nobody knows.
        complete: Option<bool>,
    },
}

/// What computed A and its adjoint.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProjectorRecord {
    /// Its name ("axial-runs", "per-lor").
    pub name: String,
    /// Lines of a bin, tangentially and axially.
    pub rays_per_bin: [usize; 2],
    /// Voxels whose centre lies farther than this from the axis are zero, mm.
    pub fov_radius_mm: f64,
    /// How the backprojection of the last step added.
    pub accumulation: Accumulation,
    /// The same from each step on at which it was switched; empty where it never was.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub accumulation_switched: Vec<AccumulationSpan>,
    /// How the tubes of response were simulated, of the projector that uses some and where that is known.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub tubes: Option<TubesMade>,
}

impl ProjectorRecord {
    /// How these tubes were made, if a projector of this name uses them.
    pub fn tubes_of(name: &str, tubes: Option<&TubeSet>) -> Option<TubesMade> {
        let uses_tubes = ProjectorChoice::all().any(|choice| choice.name() == name && choice.uses_tubes());
        tubes.filter(|_| uses_tubes).and_then(|tubes| tubes.made.clone())
    }

    pub(super) fn accumulation_words(&self) -> String {
        match self.accumulation_switched.last() {
            None => self.accumulation.to_string(),
            Some(span) => format!("{} since step {}", span.accumulation, span.from_subiteration),
        }
    }
}

/// A stored matrix.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MatrixRecord {
    /// The ring.
    pub scanner: String,
    /// Functions of the image.
    pub basis: BasisSettings,
    /// Its elements, symmetries apart.
    pub elements: usize,
    /// How it was simulated.
    pub made: Option<MatrixMade>,
}

impl MatrixRecord {
    /// Of a matrix.
    pub fn new(matrix: &ResponseMatrix) -> Self {
        let (scanner, elements) = (matrix.scanner.clone(), matrix.elements.len());
        Self { scanner, basis: matrix.basis, elements, made: matrix.made }
    }
}

/// From one step on additions were made so.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AccumulationSpan {
    /// The first of these steps, from 1.
    pub from_subiteration: usize,
    /// How they added.
    pub accumulation: Accumulation,
}

/// Where something was computed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DeviceRecord {
    /// In words.
    pub name: String,
    /// Threads on the CPU.
    pub threads: usize,
}

/// When something was made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Times {
    /// Start in UTC, RFC 3339, whole seconds.
    pub started: String,
    /// Seconds that it took, pauses left out.
    pub elapsed_secs: f64,
}

/// The moment at which something was begun, on the calendar and on the clock that only goes forward.
#[derive(Clone, Copy, Debug)]
pub struct Start {
    date: Timestamp,
    clock: Instant,
}

impl Start {
    /// This moment.
    pub fn now() -> Self {
        Self { date: Timestamp::now(), clock: Instant::now() }
    }

    /// From then until now.
    pub fn times(self) -> Times {
        self.times_of(self.clock.elapsed())
    }

    /// From then on for so long.
    pub fn times_of(self, elapsed: Duration) -> Times {
        Times { started: format!("{:.0}", self.date), elapsed_secs: elapsed.as_secs_f64() }
    }
}

impl Provenance {
    /// A record of an image of this data; what does not concern every image is left out.
    pub fn new(made: ImageKind, data: DataRecord, image: ImageRecord, device: DeviceRecord, times: Times) -> Self {
        Self {
            program: io::provenance::PROGRAM.to_owned(),
            program_version: env!("CARGO_PKG_VERSION").to_owned(),
            provenance_version: PROVENANCE_VERSION,
            made,
            files: Vec::new(),
            data,
            corrections: None,
            algorithm: None,
            progress: None,
            stopped_by: None,
            projector: None,
            matrix: None,
            post_filter_fwhm_mm: None,
            calibration_bq_per_ml: None,
            seal: None,
            image,
            device,
            times,
        }
    }

    /// The record of an image that was read from a file: the one beside it, where that is of this file and this grid, or one that
    /// names the file alone. A notice says why the one that is there was not taken.
    pub fn of_file(path: &Path, volume: &Volume) -> (Self, Option<Notice>) {
        let (title, file) = (path.file_stem().unwrap_or_default().to_string_lossy().into_owned(), Some(file_name(path)));
        let data = DataRecord { title, file, space: None, reference: None, phase: None, frame: None };
        let device = DeviceRecord { name: "unknown device".to_owned(), threads: 0 };
        let image = ImageRecord::new(&volume.grid, volume.unit);
        let bare = || Self::new(ImageKind::Elsewhere, data, image, device, Start::now().times()).of_image(volume);
        let found = io::provenance::read(path).filter(|found| found.names_the_file);
        let Some(io::provenance::Found { record: found, path: place, .. }) = found else { return (bare(), None) };
        let is_of_this_grid = |record: &Self| record.image.grid_and_unit().is_ok_and(|(grid, _)| grid.same_as(&volume.grid));
        match serde_json::from_value::<Self>(found) {
            Ok(record) if is_of_this_grid(&record) => (record, None),
            _ => {
                let text = format!(
                    "{} does not match the present content of {}: the provenance of the image is unknown",
                    place.display(),
                    path.display()
                );
                (bare(), Some(Notice::warning(text)))
            }
        }
    }

    /// The same of the image in Bq/mL, where 1 count/mm stands for so many.
    pub fn calibrated(mut self, bq_per_ml: f64) -> Self {
        self.calibration_bq_per_ml = Some(bq_per_ml);
        self.image.unit = Unit::BqPerMl.label().to_owned();
        self
    }

    /// The record beside a file, where there is one of this form that names it.
    pub fn read_beside(file: &Path) -> Option<Self> {
        let found = io::provenance::read(file).filter(|found| found.names_the_file)?;
        let record: Self = serde_json::from_value(found.record).ok()?;
        (record.provenance_version == PROVENANCE_VERSION).then_some(record)
    }

    /// The same of this very image: what it is on, and how much of it is not finite.
    pub fn of_image(mut self, volume: &Volume) -> Self {
        let not_finite = volume.as_slice().iter().filter(|value| !value.is_finite()).count();
        self.image = ImageRecord { not_finite: Some(not_finite), ..ImageRecord::new(&volume.grid, volume.unit) };
        self
    }

    /// The same from a start image of this file, where there is one.
    pub fn from_start_image(mut self, file: Option<&Path>) -> Self {
        if let (Some(AlgorithmRecord { em: Some(em), .. }), Some(file)) = (&mut self.algorithm, file) {
            em.start_image = file_name(file);
        }
        self
    }

    /// The same beside these files.
    pub fn beside<'a>(mut self, files: impl IntoIterator<Item = &'a Path>) -> Self {
        self.files = files.into_iter().map(file_name).collect();
        self
    }

    /// In one line: "OSEM 14 subsets, iteration 3 · axial-runs · deterministic · CPU, 2 threads · post-filter 4 mm".
    pub fn line(&self) -> String {
        let frame = self.data.frame.as_ref().map(FrameRecord::text);
        let made = [frame, self.algorithm.as_ref().map(AlgorithmRecord::text), self.position()];
        let made: Vec<String> = made.into_iter().flatten().collect();
        let mut parts = vec![if made.is_empty() { self.made.to_string() } else { made.join(", ") }];
        parts.extend(self.projector.iter().flat_map(|projector| [projector.name.clone(), projector.accumulation_words()]));
        parts.extend(self.algorithm.as_ref().and_then(|algorithm| Some(algorithm.fbp.as_ref()?.program.clone())));
        parts.push(self.device.name.clone());
        parts.extend(self.post_filter_fwhm_mm.map(|fwhm| format!("post-filter {fwhm} mm")));
        parts.join(" · ")
    }

    /// Returns the facts for short text fields, those first that change the numbers most: filter, frame, algorithm, iteration,
    /// calibration, program and version, device.
    pub fn description(&self) -> String {
        let filter = self.post_filter_fwhm_mm.map(|fwhm_mm| format!("post-filter {}", io::filter_width(fwhm_mm)));
        let frame = self.data.frame.as_ref().map(FrameRecord::text);
        let algorithm = self.algorithm.as_ref().map_or_else(|| self.made.to_string(), AlgorithmRecord::text);
        let calibration = self.calibration_bq_per_ml.map(|bq_per_ml| format!("1 count/mm = {bq_per_ml} Bq/mL"));
        let program = format!("{} {}", self.program, self.program_version);
        let made = [filter, frame, Some(algorithm), self.position(), calibration, Some(program), Some(self.device.name.clone())];
        made.into_iter().flatten().collect::<Vec<_>>().join("; ")
    }

    /// Returns the same facts for image files, with those that some formats have attributes of their own for.
    pub fn image_description(&self) -> ImageDescription {
        let algorithm = self.algorithm.as_ref().map(AlgorithmRecord::text);
        let method = algorithm.map(|algorithm| algorithm + &self.position().map_or_else(String::new, |at| format!(", {at}")));
        ImageDescription { text: self.description(), method, filter_fwhm_mm: self.post_filter_fwhm_mm }
    }

    /// How far the reconstruction was, in words; of an image that was not reconstructed `None`.
    pub fn position(&self) -> Option<String> {
        Some(self.progress?.text(self.num_subsets()))
    }

    /// Steps of a full iteration.
    pub fn num_subsets(&self) -> usize {
        self.algorithm.as_ref().and_then(|algorithm| algorithm.em.as_ref()).map_or(1, |em| em.subsets.max(1))
    }

    /// Writes an image with this record: the whole of it beside the image, in short inside it where the format has a place
    /// for it. A notice says why the record was not written, if it was not.
    ///
    /// # Errors
    /// The image cannot be written.
    pub fn write_image(&self, path: &Path, volume: &Volume) -> Result<Option<Notice>, IoError> {
        self.write_image_of(path, volume, &Patient::default())
    }

    /// The same, of this patient.
    ///
    /// # Errors
    /// As [`Provenance::write_image`].
    pub fn write_image_of(&self, path: &Path, volume: &Volume, patient: &Patient) -> Result<Option<Notice>, IoError> {
        io::write_described_volume(path, volume, &self.image_description(), patient)?;
        Ok(self.write_beside(path))
    }

    /// Whether the image holds all that was asked for, and finite numbers.
    pub fn is_whole(&self) -> bool {
        let is_complete = match self.progress {
            Some(Progress::Iterations { complete, .. } | Progress::Arrived { complete, .. }) => complete,
            Some(Progress::Projections { complete, .. }) => complete != Some(false),
            None => true,
        };
        (is_complete || self.stopped_by.is_some()) && self.image.not_finite.is_none_or(|num| num == 0)
    }

    /// Writes an image with this record as [`Provenance::write_image`] does, and in the record what was asked for and what was written:
    /// [`Provenance::is_sealed`] knows it again. The record as it is written, and a notice where it is not.
    ///
    /// # Errors
    /// The image cannot be written, or not be read again.
    pub fn write_sealed_image(self, path: &Path, volume: &Volume, asked: &str) -> Result<(Self, Option<Notice>), IoError> {
        io::write_described_volume(path, volume, &self.image_description(), &Patient::default())?;
        let sealed = self.sealed(path, asked)?;
        let notice = sealed.write_beside(path);
        Ok((sealed, notice))
    }

    /// The same of an image that was written to this file.
    ///
    /// # Errors
    /// The file cannot be read again.
    pub fn sealed(mut self, path: &Path, asked: &str) -> Result<Self, IoError> {
        let written = io::content_of(&io::files_written(path))?.digits();
        self.seal = Some(ContentFingerprint { asked: asked.to_owned(), written });
        Ok(self)
    }

    /// Whether this file is there as it was written, as an answer to what is asked.
    pub fn is_sealed(path: &Path, asked: &str) -> bool {
        let seal = Self::read_beside(path).and_then(|record| record.seal).filter(|seal| seal.asked == asked);
        seal.is_some_and(|seal| io::content_of(&io::files_written(path)).is_ok_and(|found| found.digits() == seal.written))
    }

    /// Writes the record beside a file; a notice says why not, if it was not.
    pub fn write_beside(&self, path: &Path) -> Option<Notice> {
        io::provenance::write(path, self).err().map(|error| Notice::warning(error.to_string()))
    }
}

impl Progress {
    /// In words, of iterations of so many subsets.
    fn text(self, num_subsets: usize) -> String {
        match self {
            Progress::Iterations { subiteration: 0, .. } => "start image".to_owned(),
            Progress::Iterations { iteration, subiteration, .. } => match subiteration % num_subsets.max(1) {
                0 => format!("iteration {iteration}"),
                subset => format!("iteration {iteration}, after subset {subset} of {num_subsets}"),
            },
            Progress::Arrived { updates, events, .. } => {
                format!("{} of {} while more were written", counted(updates, "update"), counted(events, "event"))
            }
            Progress::Projections { projections: 0, .. } => "no projection yet".to_owned(),
            Progress::Projections { projections, projections_expected: Some(all), complete: Some(false), .. } => {
                format!("{projections} of {all} projections")
            }
            Progress::Projections { projections: 1, .. } => "1 projection".to_owned(),
            Progress::Projections { projections, .. } => format!("{projections} projections"),
        }
    }
}
