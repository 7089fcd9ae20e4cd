//! `tomoscope convert IN OUT`: an image in another format, with its provenance record.

use std::path::PathBuf;

use clap::Args;

use crate::cli::shared::console::out;
use crate::cli::shared::error::{CliError, CliResult, Done};
use crate::cli::shared::given::Given;
use crate::cli::shared::image_input::{ImageInput, InputImage};
use crate::cli::shared::notices;
use crate::cli::shared::options::{PerAxis, TalkOptions, calibration, sides, voxels};
use crate::cli::shared::outputs::Files;
use crate::cli::shared::paths::file_of;
use crate::data::{ImageSeries, Notice, Unit, ValueScale, Volume};
use crate::io::dicom::{Patient, SeriesContext};
use crate::io::formats::{Content, Format};
use crate::io::{FileKind, check_image_unit, numpy_image, provenance};
use crate::plan::Provenance;

/// Options of `tomoscope convert`.
#[derive(Args, Clone, Debug)]
pub struct ConvertOptions {
    /// Options that were set. (The other fields take theirs from the matches: it comes first.)
    #[command(flatten)]
    given: Given,

    /// Image to read ({read images}).
    input: PathBuf,

    /// Image to write ({write images}; a .dcm is a folder with a DICOM PET series).
    #[arg(value_parser = file_of(Content::Image))]
    output: PathBuf,

    /// Calibration factor in Bq/mL per count/mm; the output is in Bq/mL.
    #[arg(long, value_name = "FACTOR", value_parser = calibration)]
    calibration: Option<f64>,

    /// Unit of the values if the file does not contain one: counts/mm or Bq/mL.
    #[arg(long, value_parser = unit)]
    unit: Option<Unit>,

    #[command(flatten)]
    image: ImageInput,

    /// Voxel size of a NumPy array without a provenance record, mm.
    ///
    /// The image centre is the centre of the scanner.
    #[arg(long, value_name = "X,Y,Z", value_parser = sides)]
    voxel_mm: Option<PerAxis<f64>>,

    /// Patient's name in a DICOM series, as FAMILY^GIVEN.
    ///
    /// Default: that of a DICOM input, as are number and study.
    #[arg(long, value_name = "NAME", value_parser = dicom_text)]
    patient_name: Option<String>,

    /// Patient's number in a DICOM series.
    #[arg(long, value_name = "ID", value_parser = dicom_text)]
    patient_id: Option<String>,

    /// UID of the study of a DICOM series.
    ///
    /// Default: that of a DICOM input, else a new one.
    #[arg(long, value_name = "UID", value_parser = dicom_uid)]
    study_uid: Option<String>,

    /// Remove the patient's identity from image and provenance record (DICOM PS3.15, basic profile).
    ///
    /// --patient-name and --patient-id then set a pseudonym. Sex, weight and height stay. The scan begins on 2000-01-01; its times
    /// keep their distances.
    #[arg(long)]
    anonymise: bool,

    #[command(flatten)]
    talk: TalkOptions,
}

fn unit(text: &str) -> Result<Unit, String> {
    let known = [Unit::CountsPerMm, Unit::BqPerMl].into_iter().find(|unit| unit.label().eq_ignore_ascii_case(text));
    known.ok_or_else(|| format!("unknown unit '{text}'; use counts/mm or Bq/mL"))
}

fn dicom_text(text: &str) -> Result<String, String> {
    Patient::check_text(text).map(|()| text.to_owned())
}

fn dicom_uid(text: &str) -> Result<String, String> {
    Patient::check_uid(text).map(|()| text.to_owned())
}

pub fn run(options: &ConvertOptions) -> CliResult<Done> {
    options.talk.apply();
    Files::new().read([&options.input]).write("OUT", [&options.output]).check()?;
    options.check_dicom()?;
    let image = options.read()?;
    let context = options.context(&image.series);
    let record = image.record(&options.input);
    let record = if options.anonymise { record.anonymised() } else { record };
    let (volume, record) = options.in_unit(image.volume, record)?;
    check_image_unit(&options.output, volume.unit, record.pet.as_ref())?;
    let notice = record.beside([options.output.as_path()]).write_image_in(&options.output, &volume, &context)?;
    notices::print(notice.as_slice());
    let is_dicom = Format::of(&options.output).is_some_and(Format::is_folder);
    out!("{}: {}, values in {}", options.output.display(), volume.grid.text(), volume.unit.label());
    match volume.not_finite() {
        Some(text) => {
            let fate = if is_dicom { "; in a DICOM series they are 0" } else { "" };
            notices::print(&[Notice::warning(format!("{}: {text}{fate}", options.output.display()))]);
            Ok(Done::Partial)
        }
        None => Ok(Done::Complete),
    }
}

impl ConvertOptions {
    /// Refuses options of DICOM series for other formats.
    fn check_dicom(&self) -> CliResult {
        if !Format::of(&self.output).is_some_and(|format| format.has_patient)
            && let Some(name) = self.given.first_of(["patient_name", "patient_id", "study_uid"])
        {
            return Err(CliError::arguments(format!(
                "{name} is for DICOM series (.dcm): {} has no place for it",
                self.output.display()
            )));
        }
        Ok(())
    }

    /// Returns patient, study and space of the image: the named ones, else those of its series.
    fn context(&self, series: &ImageSeries) -> SeriesContext {
        let context = SeriesContext::of_series(&series.names, series.placement);
        if self.anonymise {
            let text = |text: &Option<String>| text.clone().unwrap_or_default();
            let [name, id] = [&self.patient_name, &self.patient_id].map(text);
            return context.anonymised(Patient { name, id, study_uid: self.study_uid.clone() });
        }
        let Patient { name, id, study_uid } = context.patient;
        let patient = Patient {
            name: self.patient_name.clone().unwrap_or(name),
            id: self.patient_id.clone().unwrap_or(id),
            study_uid: self.study_uid.clone().or(study_uid),
        };
        SeriesContext { patient, ..context }
    }

    fn read(&self) -> CliResult<InputImage> {
        let voxel_mm = voxels(None, self.voxel_mm, false)?.1;
        let volume = notices::printed(match voxel_mm {
            None => return self.image.read(&self.input),
            Some(voxel_mm) if FileKind::of(&self.input) == Some(FileKind::NumpyImage) => {
                if let Some(found) = provenance::read(&self.input) {
                    let text =
                        format!("{} has its voxel size in {}; omit --voxel-mm", self.input.display(), found.path.display());
                    return Err(CliError::arguments(text));
                }
                numpy_image::read_image_of_voxels(&self.input, voxel_mm)?
            }
            Some(_) => {
                let text = format!("--voxel-mm is for NumPy arrays (.npy): {} contains its voxel size", self.input.display());
                return Err(CliError::arguments(text));
            }
        });
        Ok(volume.into())
    }

    /// Returns the image in the requested unit, with its record.
    fn in_unit(&self, mut volume: Volume, mut record: Provenance) -> CliResult<(Volume, Provenance)> {
        let name = self.input.display();
        match self.unit {
            Some(unit) if volume.unit == Unit::Unknown => {
                volume.unit = unit;
                record.image.unit = unit.label().to_owned();
            }
            Some(_) => {
                return Err(CliError::arguments(format!("{name} contains its unit, {}; omit --unit", volume.unit.label())));
            }
            None => {}
        }
        if let Some(bq_per_ml) = self.calibration {
            if volume.unit != Unit::CountsPerMm {
                let hint = if volume.unit == Unit::Unknown { "; if they are counts/mm, set --unit" } else { "" };
                let text = format!(
                    "--calibration is for images in counts/mm; the values of {name} are in {}{hint}",
                    volume.unit.label()
                );
                return Err(CliError::arguments(text));
            }
            let scale = ValueScale::calibrated(bq_per_ml);
            (volume, record) = (volume.converted(scale), record.converted(scale));
        }
        Ok((volume, record))
    }
}
