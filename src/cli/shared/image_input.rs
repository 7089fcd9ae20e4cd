//! Images that a command reads: one of several over time (`--frame`), or as uptake values (`--suv`).

use std::path::Path;
use std::sync::Arc;

use clap::Args;

use super::error::{CliError, CliResult, Failure};
use super::notices;
use super::options::count;
use crate::data::{ImageChoice, ImageSeries, ImageSpace, PetImage, SeriesNames, ValueScale, Volume};
use crate::data::{SuvDefinition, suv_factor};
use crate::io::read_images;
use crate::plan::{FrameRecord, Provenance};

/// Choice of an image of a file or a series, and of its values.
#[derive(Args, Clone, Copy, Debug)]
pub struct ImageInput {
    /// Image of a file or series of several over time, counted from 1.
    #[arg(long, value_name = "N", value_parser = count::<usize>)]
    frame: Option<usize>,

    /// Uptake values: suvbw, sul, sul-james or suvbsa.
    ///
    /// By body weight, by lean body mass (Janmahasatian, James) or by body surface (Du Bois). The image is a DICOM PET series with
    /// corrections for attenuation and decay.
    #[arg(long, value_name = "DEFINITION")]
    suv: Option<SuvDefinition>,
}

/// An image that was read.
pub struct InputImage {
    /// Its series, without images.
    pub series: ImageSeries,
    /// The image, in the requested unit.
    pub volume: Volume,
    /// Its frame, if the series has several images.
    frame: Option<FrameRecord>,
    /// Its facts of a PET scan.
    pet: Option<PetImage>,
}

impl ImageInput {
    /// Returns the same values of another image of the series.
    pub fn of_frame(self, frame: Option<usize>) -> Self {
        Self { frame, ..self }
    }

    /// Returns the number of the image in its series, from 1.
    pub fn number(self) -> usize {
        self.frame.unwrap_or(1)
    }

    /// Reads an image, and prints its notices.
    ///
    /// # Errors
    /// An unreadable image; a frame of a file without frames; missing facts for uptake values.
    pub fn read(self, path: &Path) -> CliResult<InputImage> {
        let choice = self.frame.map_or(ImageChoice::Only, ImageChoice::Number);
        let mut series = notices::printed(read_images(path, choice)?);
        let pet = series.pet_image(0, series.pet.as_ref());
        let image = series.images.drain(..).next().ok_or_else(|| not_pet(path))?;
        let frame = (series.num_images > 1).then(|| FrameRecord::from(&image));
        let mut volume = Arc::unwrap_or_clone(image.volume);
        if let Some(definition) = self.suv {
            let scan = series.pet.as_ref().ok_or_else(|| not_pet(path))?;
            let factor = suv_factor(scan, definition).map_err(|problem| {
                CliError::failed(Failure::Input, format!("{}: no uptake values: {problem}", path.display()))
            })?;
            volume = volume.converted(ValueScale { unit: definition.unit(), factor });
        }
        Ok(InputImage { series, volume, frame, pet })
    }
}

/// Returns the error of an image without facts of a PET scan.
fn not_pet(path: &Path) -> CliError {
    CliError::arguments(format!("--suv is for DICOM PET series; {} is none", path.display()))
}

impl InputImage {
    pub fn space(&self) -> ImageSpace<'_> {
        let names = Some(&self.series.names).filter(|names| **names != SeriesNames::default());
        ImageSpace { grid: &self.volume.grid, placement: self.series.placement.as_ref(), names }
    }

    /// Returns the record of the image, with the time of its frame.
    pub fn record(&self, path: &Path) -> Provenance {
        let (mut record, notice) = Provenance::of_file(path, &self.volume);
        notices::print(notice.as_slice());
        if self.frame.is_some() {
            record.data.frame = self.frame;
        }
        record.pet = self.pet.clone().or(record.pet);
        record
    }
}

impl From<Volume> for InputImage {
    fn from(volume: Volume) -> Self {
        Self { series: ImageSeries::unnamed(Vec::new(), 1), volume, frame: None, pet: None }
    }
}
