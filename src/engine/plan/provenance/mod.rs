//! Provenance of an image: a record written next to it as JSON (`image.nii.gz.json`), summarised in NIfTI's description and, in
//! the window, in a line under the slices.

pub mod algorithm;
mod data;
mod linewidth;
mod oximetry;
mod radical;
pub mod settings_table;
mod times;

use std::path::Path;

use serde::{Deserialize, Serialize};

use self::algorithm::AlgorithmRecord;
use self::data::file_name;
pub use self::data::{CorrectionRecord, DataRecord, ExperimentRecord, FrameRecord, SIMULATED};
pub use self::linewidth::LinewidthRecord;
pub use self::oximetry::OximetryRecord;
pub use self::radical::RadicalRecord;
pub use self::times::{Start, Times};
use crate::data::{
    BasisSettings, Counts, FieldAxis, MatrixMade, Notice, PetImage, PetValues, Psf, ResponseMatrix, TofBins, TubeSet, TubesMade,
    Unit, ValueScale, Volume,
};
use crate::io::dicom::{ANONYMOUS_START, SeriesContext};
pub use crate::io::provenance::ImageRecord;
use crate::io::{self, ImageDescription, IoError, OutputLock};
use crate::operator::Accumulation;
use crate::plan::job::settings::TofSettings;
use crate::plan::projector::settings::ProjectorChoice;
use crate::text::counted;

/// Version of the record's form; it grows when a key changes its meaning.
pub const PROVENANCE_VERSION: u32 = 1;

/// All that is needed to make an image again, and to know it from others.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Provenance {
    /// Always [`io::provenance::PROGRAM`], which identifies the program's own records.
    pub program: String,
    /// The program's version.
    pub program_version: String,
    /// [`PROVENANCE_VERSION`].
    pub provenance_version: u32,
    /// Kind of the image.
    pub made: ImageKind,
    /// Names of the files that the record describes.
    pub files: Vec<String>,
    /// Data of the image.
    pub data: DataRecord,
    /// Corrections of the data.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub corrections: Option<CorrectionRecord>,
    /// Reconstruction algorithm.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub algorithm: Option<AlgorithmRecord>,
    /// Progress of the reconstruction.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub progress: Option<Progress>,
    /// The rule that ended the reconstruction with this image, and what met it, as a sentence.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub stopped_by: Option<String>,
    /// Projector of A and its adjoint; of projection data only.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub projector: Option<ProjectorRecord>,
    /// System matrix A; of crystal-pair histograms only.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub matrix: Option<MatrixRecord>,
    /// Full width at half maximum of the Gaussian that the image was filtered with, mm; `None` = none.
    pub post_filter_fwhm_mm: Option<f64>,
    /// Activity concentration of 1 count/mm, Bq/mL, of an image multiplied by it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub calibration_bq_per_ml: Option<f64>,
    /// Concentration of 1 of the image's unit before, mM, of an image multiplied by it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub mm_per_unit: Option<f64>,
    /// Facts of the PET scan: corrections, times, injected activity, patient's size.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub pet: Option<PetImage>,
    /// Images and calibration of a map of pulse oximetry.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub oximetry: Option<OximetryRecord>,
    /// Spectra and fit of a map of lines.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub linewidth: Option<LinewidthRecord>,
    /// Radical of an image, of total variation with spectra of radicals.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub radical: Option<RadicalRecord>,
    /// Magnetic fields of the samples, of an image with a spectrum in each voxel.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub spectra: Option<FieldAxis>,
    /// Largest gradient of such an image's projections, mT/mm: a line of width Γ is as wide as Γ over it in space.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub gradient_mt_per_mm: Option<f64>,
    /// By which the image is known as the one that a command would make again.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub seal: Option<ContentFingerprint>,
    /// Grid and values of the image.
    pub image: ImageRecord,
    /// Where it was computed.
    pub device: DeviceRecord,
    /// When, and how long it took.
    pub times: Times,
}

/// Fingerprints of 32 digits that identify an image.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContentFingerprint {
    /// Fingerprint of the request: settings, and the content of the input files.
    #[serde(rename = "asked")]
    pub requested: String,
    /// Fingerprint of the image's files.
    pub written: String,
}

/// Kind of an image; its text is that of the description inside image files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, strum::Display)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "lowercase")]
pub enum ImageKind {
    /// A reconstruction.
    Reconstruction,
    /// Aᵀ (m ⊙ q) of projection data q.
    Backprojection,
    /// Standard deviation of each voxel between the replicates of a reconstruction.
    #[strum(serialize = "standard deviation between replicates")]
    Deviation,
    /// Relaxation rate or oxygen pressure of pulse oximetry.
    #[strum(serialize = "pulse oximetry")]
    Oximetry,
    /// Amplitude, width or position of the lines in the spectra of voxels.
    #[strum(serialize = "lines of spectra")]
    Linewidth,
    /// Attenuation map of CT.
    #[strum(serialize = "attenuation map of CT")]
    AttenuationMap,
    /// The true image of a phantom.
    #[strum(serialize = "true image of a phantom")]
    TrueImage,
    /// An image file without such a record; the record's device and times are meaningless.
    #[strum(serialize = "image of another program")]
    Elsewhere,
}

/// Progress of a reconstruction.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Progress {
    /// Of counts.
    Iterations {
        /// Full iterations complete.
        iteration: usize,
        /// Full iterations asked for.
        #[serde(rename = "iterations_asked")]
        iterations_requested: usize,
        /// Steps done in all: subsets used.
        subiteration: usize,
        /// True if the image includes all requested iterations.
        complete: bool,
    },
    /// Of list-mode data that were still being written.
    Arrived {
        /// Steps done.
        updates: usize,
        /// Events that the image is of.
        events: usize,
        /// Never: a list that is whole is reconstructed as any other.
        complete: bool,
    },
    /// Progress with a sweep.
    Projections {
        /// Projections in the image.
        projections: usize,
        /// Projections of the whole sweep; `None` if unknown.
        projections_expected: Option<usize>,
        /// Directions at equal angles that the projections were resampled to; `None` = not resampled.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        resampled_to: Option<usize>,
        /// True if the image includes all of them; `None` if unknown.
        complete: Option<bool>,
    },
}

/// Projector of A and its adjoint.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProjectorRecord {
    /// Its name ("axial-runs", "per-lor").
    pub name: String,
    /// Lines of a bin, tangentially and axially.
    pub rays_per_bin: [usize; 2],
    /// Voxels whose centre lies farther than this from the axis are zero, mm.
    pub fov_radius_mm: f64,
    /// Resolution model; `None` = points are seen as points.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub psf: Option<Psf>,
    /// Time-of-flight bins that were used; `None` = none.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub tof: Option<TofRecord>,
    /// Accumulation of the last step's backprojection.
    pub accumulation: Accumulation,
    /// The same from each step on at which it was switched; empty where it never was.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub accumulation_switched: Vec<AccumulationSpan>,
    /// Simulation of the tubes of response, for a projector with tubes and if known.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub tubes: Option<TubesMade>,
}

/// Use of the time of flight of a sinogram.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct TofRecord {
    /// The bins, after neighbours were added up.
    #[serde(flatten)]
    pub bins: TofBins,
    /// Where the kernel ends, standard deviations.
    pub sigmas: f64,
}

impl TofRecord {
    /// Returns the record of a run with these data; `None` where no time of flight is used.
    pub fn of(counts: &Counts, settings: &TofSettings) -> Option<Self> {
        let bins = counts.tof_bins().filter(|_| settings.is_used)?;
        Some(Self { bins: bins.mashed(settings.mash).ok()?, sigmas: settings.sigmas })
    }
}

impl ProjectorRecord {
    /// Returns the simulation of these tubes if a projector of this name uses them.
    pub fn tubes_of(name: &str, tubes: Option<&TubeSet>) -> Option<TubesMade> {
        let uses_tubes = ProjectorChoice::all().any(|choice| choice.name() == name && choice.uses_tubes());
        tubes.filter(|_| uses_tubes).and_then(|tubes| tubes.made.clone())
    }

    pub(super) fn accumulation_text(&self) -> String {
        match self.accumulation_switched.last() {
            None => self.accumulation.to_string(),
            Some(span) => format!("{} since step {}", span.accumulation, span.from_subiteration),
        }
    }
}

/// A system matrix.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MatrixRecord {
    /// The ring.
    pub scanner: String,
    /// Functions of the image.
    pub basis: BasisSettings,
    /// Its elements, symmetries apart.
    pub elements: usize,
    /// Its simulation.
    pub made: Option<MatrixMade>,
}

impl MatrixRecord {
    /// Returns the record of a matrix.
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
    /// Accumulation of these steps.
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

impl Provenance {
    /// Returns a record of an image of this data; what does not concern every image is left out.
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
            mm_per_unit: None,
            pet: None,
            oximetry: None,
            linewidth: None,
            radical: None,
            spectra: None,
            gradient_mt_per_mm: None,
            seal: None,
            image,
            device,
            times,
        }
    }

    /// Returns the record of an image file: the one next to it if it matches this file and this grid, else one that only names
    /// the file. A notice gives the reason if the existing record does not match.
    pub fn of_file(path: &Path, volume: &Volume) -> (Self, Option<Notice>) {
        let (title, file) = (path.file_stem().unwrap_or_default().to_string_lossy().into_owned(), Some(file_name(path)));
        let data = DataRecord { title, file, ..DataRecord::default() };
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

    /// Returns the remark on recoveries of an image with a resolution model.
    pub fn remark_on_edges(&self) -> Option<String> {
        let psf = self.projector.as_ref()?.psf.as_ref()?;
        Some(format!("Resolution model ({psf}): edges overshoot (Gibbs), and small hot spheres can come out too hot."))
    }

    /// Returns the record of the image in another unit.
    pub fn converted(mut self, scale: ValueScale) -> Self {
        match scale.unit {
            Unit::BqPerMl => self.calibration_bq_per_ml = Some(scale.factor),
            Unit::Millimolar => self.mm_per_unit = Some(scale.factor),
            _ => {}
        }
        self.image.unit = scale.unit.label().to_owned();
        self.with_values(scale.unit)
    }

    /// Returns the record with these values of its PET scan.
    fn with_values(mut self, unit: Unit) -> Self {
        if let (Some(pet), Some(values)) = (&mut self.pet, PetValues::of_unit(unit)) {
            pet.scan.values = values;
        }
        self
    }

    /// Returns the record without names of files, titles, hosts and dates, which may identify a patient. The scan begins at
    /// [`ANONYMOUS_START`]; its times keep their distances.
    pub fn anonymised(mut self) -> Self {
        let anonymous = || "anonymous".to_owned();
        self.data = DataRecord { title: anonymous(), file: None, reference: None, ..self.data };
        self.data.experiments.iter_mut().for_each(|experiment| experiment.file = anonymous());
        if let Some(corrections) = &mut self.corrections {
            let names = [&mut corrections.multiplicative, &mut corrections.additive, &mut corrections.attenuation];
            let names = names.into_iter().flatten().chain(&mut corrections.added_attenuation);
            names.for_each(|name| *name = anonymous());
        }
        if let Some(linewidth) = &mut self.linewidth {
            linewidth.image = anonymous();
        }
        if let Some(oximetry) = &mut self.oximetry {
            oximetry.images.iter_mut().for_each(|name| *name = anonymous());
        }
        if let Some(em) = self.algorithm.as_mut().and_then(|algorithm| algorithm.em.as_mut())
            && em.start_image != "uniform"
        {
            em.start_image = anonymous();
        }
        if let Some(pet) = self.pet.take() {
            self.pet = Some(PetImage { scan: pet.scan.anonymised(ANONYMOUS_START), ..pet });
        }
        (self.stopped_by, self.seal) = (None, None);
        self.device.name = anonymous();
        self.times.started = String::new();
        self
    }

    /// Returns the record next to a file if it has this version and names the file.
    pub fn read_beside(file: &Path) -> Option<Self> {
        let found = io::provenance::read(file).filter(|found| found.names_the_file)?;
        let record: Self = serde_json::from_value(found.record).ok()?;
        (record.provenance_version == PROVENANCE_VERSION).then_some(record)
    }

    /// Returns the record of this image: its grid, and the number of values that are not finite.
    pub fn of_image(mut self, volume: &Volume) -> Self {
        let not_finite = volume.as_slice().iter().filter(|value| !value.is_finite()).count();
        self.image = ImageRecord { not_finite: Some(not_finite), ..ImageRecord::new(&volume.grid, volume.unit) };
        self.with_values(volume.unit)
    }

    /// Returns the same from a start image of this file, where there is one.
    pub fn from_start_image(mut self, file: Option<&Path>) -> Self {
        if let (Some(AlgorithmRecord { em: Some(em), .. }), Some(file)) = (&mut self.algorithm, file) {
            em.start_image = file_name(file);
        }
        self
    }

    /// Returns the record with the names of these files.
    pub fn beside<'a>(mut self, files: impl IntoIterator<Item = &'a Path>) -> Self {
        self.files = files.into_iter().map(file_name).collect();
        self
    }

    /// Returns it in one line: "OSEM 14 subsets, iteration 3 · axial-runs · deterministic · CPU, 2 threads · post-filter 4 mm".
    pub fn line(&self) -> String {
        let frame = self.data.frame.as_ref().map(FrameRecord::text);
        let oximetry = self.oximetry.as_ref().map(OximetryRecord::text).or(self.linewidth.as_ref().map(LinewidthRecord::text));
        let algorithm = self.algorithm.as_ref().map(AlgorithmRecord::text);
        let (experiments, radical) = (self.data.experiments_text(), self.radical.as_ref().map(RadicalRecord::text));
        let made = [self.deviation_text(), frame, algorithm, experiments, radical, oximetry, self.position()];
        let made: Vec<String> = made.into_iter().flatten().collect();
        let mut parts = vec![if made.is_empty() { self.made.to_string() } else { made.join(", ") }];
        parts.extend(self.projector.iter().flat_map(|projector| [projector.name.clone(), projector.accumulation_text()]));
        parts.extend(self.algorithm.as_ref().and_then(|algorithm| Some(algorithm.fbp.as_ref()?.program.clone())));
        parts.extend((self.made != ImageKind::Elsewhere).then(|| self.device.name.clone()));
        parts.extend(self.post_filter_fwhm_mm.map(|fwhm| format!("post-filter {fwhm} mm")));
        parts.join(" · ")
    }

    /// Returns the facts for short text fields, those first that change the numbers most: filter, frame, algorithm, iteration,
    /// calibration, program and version, device.
    pub fn description(&self) -> String {
        let filter = self.post_filter_fwhm_mm.map(|fwhm_mm| format!("post-filter {}", io::filter_width(fwhm_mm)));
        let frame = self.data.frame.as_ref().map(FrameRecord::text);
        let algorithm = self.algorithm.as_ref().map_or_else(|| self.made.to_string(), AlgorithmRecord::text);
        let of_activity = self.calibration_bq_per_ml.map(|bq_per_ml| format!("1 count/mm = {bq_per_ml} Bq/mL"));
        let calibration = of_activity.or(self.mm_per_unit.map(|mm| format!("1 a.u. = {mm:.4e} mM")));
        let program = format!("{} {}", self.program, self.program_version);
        let (position, device) = (self.position(), Some(self.device.name.clone()));
        let oximetry = self.oximetry.as_ref().map(OximetryRecord::text).or(self.linewidth.as_ref().map(LinewidthRecord::text));
        let (experiments, radical) = (self.data.experiments_text(), self.radical.as_ref().map(RadicalRecord::text));
        let of_image = [self.deviation_text(), filter, frame, Some(algorithm), experiments, radical, oximetry];
        let made = of_image.into_iter().chain([position, calibration, Some(program), device]);
        made.flatten().collect::<Vec<_>>().join("; ")
    }

    /// Returns the same facts for image files; some formats have their own attributes for some of them.
    pub fn image_description(&self) -> ImageDescription {
        let algorithm = self.algorithm.as_ref().map(AlgorithmRecord::text);
        let method = algorithm.map(|algorithm| algorithm + &self.position().map_or_else(String::new, |at| format!(", {at}")));
        let frame_secs = self.data.frame.map(|frame| [frame.start_secs, frame.duration_secs]);
        let (filter_fwhm_mm, pet) = (self.post_filter_fwhm_mm, self.pet.clone());
        ImageDescription { text: self.description(), method, filter_fwhm_mm, pet, frame_secs }
    }

    /// Returns the name of an image of standard deviations.
    fn deviation_text(&self) -> Option<String> {
        (self.made == ImageKind::Deviation).then(|| self.made.to_string())
    }

    /// Returns the progress of the reconstruction as text; `None` for an image that was not reconstructed.
    pub fn position(&self) -> Option<String> {
        Some(self.progress?.text(self.num_subsets()))
    }

    /// Steps of a full iteration.
    pub fn num_subsets(&self) -> usize {
        self.algorithm.as_ref().and_then(|algorithm| algorithm.em.as_ref()).map_or(1, |em| em.subsets.max(1))
    }

    /// Writes an image with this record: complete next to the image, and a summary inside it if the format has a field. A notice
    /// gives the reason if the record was not written.
    ///
    /// # Errors
    /// The image is not writable.
    pub fn write_image(&self, path: &Path, volume: &Volume) -> Result<Option<Notice>, IoError> {
        self.write_image_in(path, volume, &SeriesContext::default())
    }

    /// Returns the same, in this context.
    ///
    /// # Errors
    /// As [`Provenance::write_image`].
    pub fn write_image_in(&self, path: &Path, volume: &Volume, context: &SeriesContext) -> Result<Option<Notice>, IoError> {
        // Image and record are of one process.
        let _lock = OutputLock::wait(path)?;
        io::write_described_volume(path, volume, &self.image_description(), context)?;
        Ok(self.write_beside(path))
    }

    /// Returns true if the image is complete and all its values are finite.
    pub fn is_whole(&self) -> bool {
        let is_complete = match self.progress {
            Some(Progress::Iterations { complete, .. } | Progress::Arrived { complete, .. }) => complete,
            Some(Progress::Projections { complete, .. }) => complete != Some(false),
            None => true,
        };
        (is_complete || self.stopped_by.is_some()) && self.image.not_finite.is_none_or(|num| num == 0)
    }

    /// Writes an image as [`Provenance::write_image_in`] does, with fingerprints of the request and of the files in the record:
    /// [`Provenance::is_sealed`] recognises it. Returns the written record, and a notice if it was not written.
    ///
    /// # Errors
    /// The image is not writable, or not readable again.
    pub fn write_sealed_image(
        self,
        path: &Path,
        volume: &Volume,
        context: &SeriesContext,
        requested: &str,
    ) -> Result<(Self, Option<Notice>), IoError> {
        let _lock = OutputLock::wait(path)?;
        io::write_described_volume(path, volume, &self.image_description(), context)?;
        let sealed = self.sealed(path, requested)?;
        let notice = sealed.write_beside(path);
        Ok((sealed, notice))
    }

    /// Returns the record of an image in this file, with fingerprints.
    ///
    /// # Errors
    /// The file is not readable again.
    pub fn sealed(mut self, path: &Path, requested: &str) -> Result<Self, IoError> {
        let written = io::content_of(&io::files_written(path))?.digits();
        self.seal = Some(ContentFingerprint { requested: requested.to_owned(), written });
        Ok(self)
    }

    /// Returns true if this file is unchanged and the answer to this request.
    pub fn is_sealed(path: &Path, requested: &str) -> bool {
        let seal = Self::read_beside(path).and_then(|record| record.seal).filter(|seal| seal.requested == requested);
        seal.is_some_and(|seal| io::content_of(&io::files_written(path)).is_ok_and(|found| found.digits() == seal.written))
    }

    /// Writes the record next to a file; a notice gives the reason on failure.
    pub fn write_beside(&self, path: &Path) -> Option<Notice> {
        io::provenance::write(path, self).err().map(|error| Notice::warning(error.to_string()))
    }
}

impl Progress {
    /// Returns it as text, for iterations of this number of subsets.
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
