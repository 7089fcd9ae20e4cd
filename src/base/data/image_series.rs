//! Images of a patient or an object from another program: one image, or several over time.

use std::path::PathBuf;
use std::sync::Arc;

use jiff::civil::DateTime;

use super::pet::plausible;
use super::pet::scan::{PetImage, PetScan};
use super::pet::suv::{SuvDefinition, suv_factor};
use super::volume::{Unit, Volume};
use crate::geometry::{Grid, Point};
use crate::text::counted;

/// Kind of an image.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum Modality {
    /// Positron emission tomography.
    Pet,
    /// X-ray computed tomography.
    Ct,
    /// Magnetic resonance.
    Mr,
    /// Another kind, by its DICOM code; empty = not known.
    Other(String),
}

impl Modality {
    /// Returns the kind with this DICOM code.
    pub fn of_code(code: &str) -> Self {
        match code {
            "PT" => Modality::Pet,
            "CT" => Modality::Ct,
            "MR" => Modality::Mr,
            _ => Modality::Other(code.to_owned()),
        }
    }

    /// Returns its name: "PET".
    pub fn name(&self) -> &str {
        match self {
            Modality::Pet => "PET",
            Modality::Ct => "CT",
            Modality::Mr => "MR",
            Modality::Other(code) if code.is_empty() => "image",
            Modality::Other(code) => code,
        }
    }
}

/// Names and numbers of a series; unknown texts are empty.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct SeriesNames {
    /// Patient's name in DICOM's order, with `^` between its parts.
    pub patient_name: String,
    /// Patient's number in the hospital.
    pub patient_id: String,
    /// UID of the study.
    pub study_uid: String,
    /// Date of the study, YYYYMMDD.
    pub study_date: String,
    /// Description of the study.
    pub study: String,
    /// Number of the series.
    pub number: String,
    /// Description of the series.
    pub description: String,
    /// Maker and model of the scanner.
    pub scanner: String,
    /// UID of the series.
    pub series_uid: String,
    /// UID of the frame of reference: images with the same one share their world.
    pub frame_of_reference: String,
}

/// A series in a folder.
#[derive(Clone, Debug, PartialEq)]
pub struct FoundSeries {
    /// Kind of its images.
    pub modality: Modality,
    /// Its names.
    pub names: SeriesNames,
    /// One of its files.
    pub file: PathBuf,
    /// Number of its files.
    pub num_files: usize,
    /// File and frame of its middle slice.
    pub middle: (PathBuf, usize),
}

impl FoundSeries {
    /// Describes it in one line: modality, number, description, date, patient, images.
    pub fn line(&self) -> String {
        let SeriesNames { number, description, study_date, patient_name, .. } = &self.names;
        let number = if number.is_empty() { String::new() } else { format!("series {number}") };
        let parts = [self.modality.name(), &number, description, study_date, patient_name, &counted(self.num_files, "file")];
        parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(", ")
    }
}

impl SeriesNames {
    /// Returns true if both series name a patient, and not the same one.
    pub fn is_other_patient(&self, other: &Self) -> bool {
        differ(&self.patient_id, &other.patient_id) || differ(&self.patient_name, &other.patient_name)
    }

    /// Returns true if both series name a frame of reference, and not the same one: their positions may not match.
    pub fn is_other_frame_of_reference(&self, other: &Self) -> bool {
        differ(&self.frame_of_reference, &other.frame_of_reference)
    }
}

fn differ(a: &str, b: &str) -> bool {
    !a.is_empty() && !b.is_empty() && a != b
}

/// Position of an image with its own axes in the world: world = middle + `rotation` · (p − middle), p a point of the image's grid.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Placement {
    /// Middle of the image, mm.
    pub middle_mm: Point,
    /// World direction of each axis of the image, in columns.
    pub rotation: [[f64; 3]; 3],
}

impl Placement {
    /// Returns the placement of an image that was inverted through the origin.
    pub fn inverted(&self) -> Self {
        Self { middle_mm: self.middle_mm.map(|mm| 0.0 - mm), ..*self }
    }

    /// Returns the world position of a point of the image.
    pub fn world_mm(&self, point: Point) -> Point {
        let offset: [f64; 3] = std::array::from_fn(|a| point[a] - self.middle_mm[a]);
        std::array::from_fn(|a| self.middle_mm[a] + (0..3).map(|b| self.rotation[a][b] * offset[b]).sum::<f64>())
    }

    /// Returns the point of the image at a world position.
    pub fn own_mm(&self, world: Point) -> Point {
        let offset: [f64; 3] = std::array::from_fn(|a| world[a] - self.middle_mm[a]);
        std::array::from_fn(|a| self.middle_mm[a] + (0..3).map(|b| self.rotation[b][a] * offset[b]).sum::<f64>())
    }

    /// Returns the largest angle between an axis of the image and that of the world, degrees.
    pub fn angle_deg(&self) -> f64 {
        let smallest = (0..3).map(|a| self.rotation[a][a]).fold(1.0, f64::min);
        smallest.clamp(-1.0, 1.0).acos().to_degrees()
    }

    /// Returns the angle as text, a small one with more digits: "30.0°", "0.020°".
    pub fn angle_text(&self) -> String {
        let angle = self.angle_deg();
        let digits = if angle < 0.1 { 3 } else { 1 };
        format!("{angle:.digits$}°")
    }
}

/// Space of an image, in which regions lie.
#[derive(Clone, Copy, Debug)]
pub struct ImageSpace<'a> {
    /// Voxels of the image.
    pub grid: &'a Grid,
    /// Position of an oblique image.
    pub placement: Option<&'a Placement>,
    /// Names of its series; `None` of an image that is not read from a file.
    pub names: Option<&'a SeriesNames>,
}

/// One image of a series.
#[derive(Clone, Debug)]
pub struct SeriesImage {
    /// The image.
    pub volume: Arc<Volume>,
    /// Start of its frame after the start of the first, s.
    pub start_secs: f64,
    /// Duration of its frame, s; 0 = not known.
    pub duration_secs: f64,
    /// Start of its acquisition, if all its slices have the same.
    pub acquired: Option<DateTime>,
    /// Factor of its correction for decay: one for all slices, or one for each along z; empty = none or unknown.
    pub decay_factors: Vec<f64>,
}

impl SeriesImage {
    /// Returns an image of a frame without further facts.
    pub fn new(volume: Volume, start_secs: f64, duration_secs: f64) -> Self {
        Self { volume: Arc::new(volume), start_secs, duration_secs, acquired: None, decay_factors: Vec::new() }
    }
}

/// Images of a file or series to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImageChoice {
    /// The only one; several are refused.
    Only,
    /// The one with this number, from 1.
    Number(usize),
    /// All.
    All,
}

/// Images on one grid, in the order of time.
#[derive(Clone, Debug)]
pub struct ImageSeries {
    /// The images; at least one.
    pub images: Vec<SeriesImage>,
    /// Number of images of the file or the series; `images` may contain one of them.
    pub num_images: usize,
    /// Kind of the images.
    pub modality: Modality,
    /// Names and numbers.
    pub names: SeriesNames,
    /// Position of oblique images.
    pub placement: Option<Placement>,
    /// Facts of a PET scan.
    pub pet: Option<PetScan>,
    /// Tube voltage of CT, kV, if known.
    pub kvp: Option<f64>,
}

impl ImageSeries {
    /// Returns the grid of its images.
    pub fn grid(&self) -> Option<&Grid> {
        self.images.first().map(|image| &image.volume.grid)
    }

    /// Returns the unit of its images.
    pub fn unit(&self) -> Unit {
        self.images.first().map_or(Unit::Unknown, |image| image.volume.unit)
    }

    /// Returns the warning about an uptake value that no tissue has, of images whose uptake values are known.
    pub fn high_uptake(&self) -> Option<String> {
        let of_activity = self.pet.as_ref().and_then(|scan| suv_factor(scan, SuvDefinition::BodyWeight).ok());
        let factor = if self.unit().is_uptake() { 1.0 } else { of_activity? };
        let largest = self.images.iter().map(|image| image.volume.range().1).fold(0.0, f32::max);
        plausible::high_uptake(factor * f64::from(largest))
    }

    /// Returns one of its images with facts of its scan; `None` of an image without such facts.
    pub fn pet_image(&self, index: usize, scan: Option<&PetScan>) -> Option<PetImage> {
        let (image, scan) = self.images.get(index).zip(scan)?;
        let start = scan.scan_start.as_ref().zip(image.acquired);
        Some(PetImage {
            scan: scan.clone(),
            start_secs: start.map(|(start, acquired)| acquired.duration_since(start.value).as_secs_f64()),
            duration_secs: Some(image.duration_secs).filter(|secs| *secs > 0.0),
            decay_factors: image.decay_factors.clone(),
        })
    }

    /// Returns a series of one image without names.
    pub fn single(volume: Volume) -> Self {
        Self::unnamed(vec![SeriesImage::new(volume, 0.0, 0.0)], 1)
    }

    /// Returns images without names, of a file with this number of images.
    pub fn unnamed(images: Vec<SeriesImage>, num_images: usize) -> Self {
        Self {
            images,
            num_images,
            modality: Modality::Other(String::new()),
            names: SeriesNames::default(),
            placement: None,
            pet: None,
            kvp: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_placement_turns_about_the_middle() {
        let (sin, cos) = 30f64.to_radians().sin_cos();
        let rotation = [[cos, -sin, 0.0], [sin, cos, 0.0], [0.0, 0.0, 1.0]];
        let placement = Placement { middle_mm: [10.0, 20.0, 30.0], rotation };
        assert_eq!(placement.world_mm([10.0, 20.0, 30.0]), [10.0, 20.0, 30.0]);
        let found = placement.world_mm([12.0, 20.0, 31.0]);
        let expected = [10.0 + 2.0 * cos, 20.0 + 2.0 * sin, 31.0];
        assert!(found.iter().zip(expected).all(|(found, expected)| (found - expected).abs() < 1e-12), "{found:?}");
        let back = placement.own_mm(found);
        assert!(back.iter().zip([12.0, 20.0, 31.0]).all(|(back, expected)| (back - expected).abs() < 1e-12), "{back:?}");
        assert!((placement.angle_deg() - 30.0).abs() < 1e-9);
        assert_eq!(placement.angle_text(), "30.0°");
    }
}
