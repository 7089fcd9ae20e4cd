//! Series of a file or a folder, and their images.

use std::collections::{BTreeMap, HashSet};
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use dicom_dictionary_std::tags;
use rayon::prelude::*;

use super::attributes::{Attributes, missing, name};
use super::decode::decode;
use super::elements::{Checked, class_uid, series_uid_in};
use super::instance::{Instance, Plane, difference, is_segmentation_class};
use super::pet::{earliest, pet_scan};
use super::stack::{Stack, along_normal, check_spacing, stack};
use crate::data::{FoundSeries, ImageChoice, ImageSeries, Modality, Notice, PetValues, SeriesImage, SeriesNames, Unit, Volume};
use crate::io::bytes::zeroed;
use crate::io::error::{Excess, IoError};
use crate::io::images::dicom::problem::DicomProblem;
use crate::io::images::orientation::{oblique_notice, reorder};
use crate::io::notice;
use crate::text::counted;

/// Largest number of files of a folder.
const MAX_FILES: usize = 200_000;

/// Deepest folder below the given one.
const MAX_DEPTH: usize = 8;

/// Bytes at the start of a file that contain its class.
const META_BYTES: u64 = 4096;

/// Files of a path.
struct Found {
    instances: Vec<Instance>,
    /// First error of an image of each series that was not read, by the UID of the series.
    refused: BTreeMap<String, IoError>,
    /// Number of files of DICOM that are no images.
    num_others: usize,
    /// Files that are not DICOM.
    foreign: Vec<PathBuf>,
}

/// Returns true for a folder, and for a file that begins as DICOM files do (with any name).
pub fn is_dicom(path: &Path) -> bool {
    path.is_dir() || (path.is_file() && begins_as_dicom(path).unwrap_or(false))
}

fn begins_as_dicom(path: &Path) -> std::io::Result<bool> {
    let mut start = [0; 132];
    File::open(path)?.read_exact(&mut start)?;
    Ok(start.ends_with(b"DICM"))
}

/// Returns true for a file of a segmentation, with any name.
pub fn is_segmentation(path: &Path) -> bool {
    let mut start = Vec::new();
    let read = File::open(path).and_then(|file| file.take(META_BYTES).read_to_end(&mut start));
    path.is_file() && read.is_ok() && class_uid(&start).is_some_and(|uid| is_segmentation_class(&uid))
}

/// Returns the series of a folder, or that of a file.
///
/// # Errors
/// A file or folder that does not open, a file that is not read.
pub fn find_series(path: &Path) -> Result<Vec<FoundSeries>, IoError> {
    Ok(series_of(&find(path)?.instances))
}

/// Returns the files of the images of a folder, or of the series of a file, sorted.
///
/// # Errors
/// As [`find_series`].
pub fn files_of_series(path: &Path) -> Result<Vec<PathBuf>, IoError> {
    let mut files: Vec<PathBuf> = find(path)?.instances.into_iter().map(|instance| instance.path).collect();
    files.sort();
    Ok(files)
}

/// A slice of a series.
pub struct SeriesSlice {
    /// Columns and rows.
    pub size: [usize; 2],
    /// Distance of columns and of rows, mm.
    pub spacing_mm: [f64; 2],
    /// Values, rows by rows.
    pub values: Vec<f32>,
}

/// Reads the middle slice of a series.
///
/// # Errors
/// A file that is not read.
pub fn read_middle_slice(series: &FoundSeries) -> Result<SeriesSlice, IoError> {
    let (file, frame) = &series.middle;
    let refused = |problem: DicomProblem| IoError::unsupported(file, problem);
    let (instance, _, checked) = Instance::read(file, 0)?;
    let layout = &instance.layout;
    let plane = instance.planes.get(*frame).ok_or_else(|| refused(missing(tags::PIXEL_DATA)))?;
    check_spacing(plane.spacing_mm).map_err(refused)?;
    let mut values = zeroed(file, layout.rows * layout.columns)?;
    decode(&checked, layout, *frame, plane.scale, &mut values).map_err(refused)?;
    let [row_mm, column_mm] = plane.spacing_mm;
    Ok(SeriesSlice { size: [layout.columns, layout.rows], spacing_mm: [column_mm, row_mm], values })
}

/// Returns the series of images, by patient, date and number.
fn series_of(instances: &[Instance]) -> Vec<FoundSeries> {
    let mut by_uid: BTreeMap<&str, Vec<&Instance>> = BTreeMap::new();
    for instance in instances {
        by_uid.entry(&instance.names.series_uid).or_default().push(instance);
    }
    let series = by_uid.into_values().filter_map(|instances| {
        let first = *instances.first()?;
        Some(FoundSeries {
            modality: first.modality.clone(),
            names: first.names.clone(),
            file: first.path.clone(),
            num_files: instances.len(),
            middle: middle_slice(&instances)?,
        })
    });
    let mut series: Vec<FoundSeries> = series.collect();
    let key = |series: &FoundSeries| {
        let SeriesNames { patient_id, study_date, number, .. } = &series.names;
        (patient_id.clone(), study_date.clone(), number.parse::<u64>().ok())
    };
    series.sort_by_key(key);
    series
}

/// Returns file and frame of the slice in the middle along the normal.
fn middle_slice(instances: &[&Instance]) -> Option<(PathBuf, usize)> {
    let of_files = instances.iter().flat_map(|instance| instance.planes.iter().map(|plane| (&instance.path, plane)));
    let mut planes: Vec<(f64, &PathBuf, usize)> =
        of_files.map(|(path, plane)| (along_normal(plane), path, plane.frame)).collect();
    planes.sort_by(|a, b| a.0.total_cmp(&b.0));
    planes.get(planes.len() / 2).map(|(_, path, frame)| ((*path).clone(), *frame))
}

/// Reads images of a series: that of a file, whose other files are in the same folder, or the only one of a folder.
///
/// # Errors
/// Several series; an image that it does not have, or several where one is expected; images that do not form a stack; pixels that
/// are not read.
pub fn read_images(path: &Path, choice: ImageChoice) -> Result<(ImageSeries, Vec<Notice>), IoError> {
    Opened::new(path)?.read(path, choice)
}

/// Returns the files of a path that are images.
fn find(path: &Path) -> Result<Found, IoError> {
    let metadata = std::fs::metadata(path).map_err(IoError::open(path))?;
    let (files, only) = if metadata.is_dir() {
        (files_below(path)?, None)
    } else {
        let (instance, ..) = Instance::read(path, 0)?;
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        (files_in(folder)?, Some(instance.names.series_uid))
    };
    let read: Vec<Result<Instance, IoError>> =
        files.par_iter().map(|file| Instance::read(file, 0).map(|(instance, ..)| instance)).collect();
    let mut found = Found { instances: Vec::new(), refused: BTreeMap::new(), num_others: 0, foreign: Vec::new() };
    for (file, result) in files.iter().zip(read) {
        match result {
            Ok(instance) if only.as_ref().is_none_or(|uid| *uid == instance.names.series_uid) => found.instances.push(instance),
            Ok(_) => {}
            Err(error) if error.problem() == Some(&DicomProblem::NotDicom) => found.foreign.push(file.clone()),
            Err(error) if error.problem().is_some_and(DicomProblem::is_of_another_object) => found.num_others += 1,
            Err(error) => _ = found.refused.entry(series_uid(file).unwrap_or_default()).or_insert(error),
        }
    }
    Ok(found)
}

/// Returns the UID of the series of a file whose image is not read.
fn series_uid(file: &Path) -> Option<String> {
    let bytes = std::fs::read(file).ok()?;
    let of_text = series_uid_in(&bytes);
    let object = Checked::new(bytes).ok().and_then(|checked| checked.attributes().ok());
    object.and_then(|object| Attributes::of(&object).text(tags::SERIES_INSTANCE_UID)).or(of_text)
}

/// Returns the files in a folder, sorted by name.
fn files_in(folder: &Path) -> Result<Vec<PathBuf>, IoError> {
    let entries = std::fs::read_dir(folder).map_err(IoError::open(folder))?;
    let mut files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).filter(|path| path.is_file()).collect();
    files.sort();
    Ok(files)
}

/// Returns the files in a folder and its folders.
fn files_below(folder: &Path) -> Result<Vec<PathBuf>, IoError> {
    let (mut files, mut folders) = (Vec::new(), vec![(folder.to_owned(), 0)]);
    while let Some((next, depth)) = folders.pop() {
        files.extend(files_in(&next)?);
        if files.len() > MAX_FILES {
            let problem = DicomProblem::ManyFiles(Excess { found: files.len(), max: MAX_FILES });
            return Err(IoError::unsupported(folder, problem));
        }
        let entries = std::fs::read_dir(&next).map_err(IoError::open(&next))?.flatten();
        // (No links: they could lead in a circle.)
        let inner = entries.filter(|entry| depth < MAX_DEPTH && entry.file_type().is_ok_and(|kind| kind.is_dir()));
        folders.extend(inner.map(|entry| (entry.path(), depth + 1)));
    }
    Ok(files)
}

/// The files of one series.
pub(super) struct Opened {
    pub(super) instances: Vec<Instance>,
    planes: Vec<Plane>,
    notices: Vec<Notice>,
}

impl Opened {
    pub(super) fn new(path: &Path) -> Result<Self, IoError> {
        let Found { mut instances, mut refused, num_others, foreign } = find(path)?;
        let refused_by = |problem: DicomProblem| IoError::unsupported(path, problem);
        let series = series_of(&instances);
        if series.len() > 1 {
            return Err(refused_by(DicomProblem::SeveralSeries(series)));
        }
        let Some(FoundSeries { names: SeriesNames { series_uid: uid, .. }, .. }) = series.into_iter().next() else {
            return Err(match refused.into_values().next() {
                None => refused_by(DicomProblem::EmptyFolder),
                Some(first) if path.is_dir() => refused_by(DicomProblem::RefusedFolder(first.to_string())),
                Some(first) => first,
            });
        };
        if let Some(error) = refused.remove(&uid) {
            return Err(error);
        }
        let mut notices = Vec::new();
        let num_refused = refused.len();
        if let Some(error) = refused.into_values().next() {
            notices.push(Notice::warning(format!("{} not read: {error}", counted(num_refused, "other series"))));
        }
        let damaged = damaged(path, &instances, &foreign);
        let num_others = num_others + foreign.len();
        if path.is_dir() && num_others > 0 && damaged.is_none() {
            notices.push(notice::info(path, format!("{} not used: no DICOM images", counted(num_others, "file"))));
        }
        notices.extend(damaged);
        let bare = instances.iter().filter(|instance| !instance.has_preamble);
        if let Some(first) = bare.clone().next() {
            let num = counted(bare.count(), "file");
            let text = format!("{num} without preamble ('DICM' at byte 128), as old programs wrote them");
            notices.push(notice::warning(&first.path, text));
        }
        let num_files = instances.len();
        let mut known = HashSet::new();
        instances.retain(|instance| instance.uid.is_empty() || known.insert(instance.uid.clone()));
        if instances.len() < num_files {
            notices.push(notice::info(path, format!("{} not used: copies", counted(num_files - instances.len(), "file"))));
        }
        if let Some(problem) = instances[1..].iter().find_map(|instance| difference(&instances[0], instance)) {
            return Err(refused_by(problem));
        }
        let mut planes: Vec<Plane> = Vec::new();
        for (file, instance) in instances.iter_mut().enumerate() {
            planes.extend(instance.planes.drain(..).map(|plane| Plane { file, ..plane }));
        }
        planes.iter().try_for_each(|plane| check_spacing(plane.spacing_mm)).map_err(refused_by)?;
        Ok(Self { instances, planes, notices })
    }

    pub(super) fn stack(&self, path: &Path) -> Result<Stack<'_>, IoError> {
        let layout = &self.instances[0].layout;
        stack(&self.planes, [layout.rows, layout.columns]).map_err(|problem: DicomProblem| IoError::unsupported(path, problem))
    }

    /// Reads images.
    fn read(mut self, path: &Path, choice: ImageChoice) -> Result<(ImageSeries, Vec<Notice>), IoError> {
        let refused_by = |problem: DicomProblem| IoError::unsupported(path, problem);
        let stack = self.stack(path)?;
        let num_images = stack.images.len();
        let range = match choice {
            ImageChoice::Only if num_images > 1 => return Err(refused_by(DicomProblem::SeveralImages(num_images))),
            ImageChoice::Number(number) if number == 0 || number > num_images => {
                return Err(refused_by(DicomProblem::NoSuchImage(number, num_images)));
            }
            ImageChoice::Number(number) => number - 1..number,
            ImageChoice::Only | ImageChoice::All => 0..num_images,
        };
        let (_, object, checked) = Instance::read(&self.instances[0].path, 0)?;
        let attributes = Attributes::of_frame(&object, 0);
        let earliest = earliest(&attributes, &self.planes);
        let modality = self.instances[0].modality.clone();
        let mut notices = Vec::new();
        let mut warn = |text: String| notices.push(notice::warning(path, text));
        let pet = (modality == Modality::Pet).then(|| pet_scan(&attributes, &self.planes, &mut warn));
        let pet = pet.transpose().map_err(refused_by)?;
        notices.extend(missing_slices(path, &attributes, stack.images.first().map_or(0, Vec::len)));
        let kvp = match modality {
            Modality::Ct => attributes.number(tags::KVP).map_err(refused_by)?.filter(|kvp| *kvp > 0.0),
            _ => None,
        };
        let unit = unit(&modality, pet.as_ref().map(|pet| &pet.values), &attributes);
        // A file of several planes is read once, one of one plane where it is decoded.
        let whole: Vec<Option<Checked>> = match &self.instances[..] {
            [_] => vec![Some(checked)],
            several => several.iter().map(|instance| self.kept(instance)).collect::<Result<_, _>>()?,
        };
        let has_factor = self.planes.iter().any(|plane| plane.decay_factor.is_some());
        let computed = pet.as_ref().filter(|_| !has_factor);
        let factor = |plane: &Plane| match computed {
            Some(scan) => scan.decay_factor(plane.acquisition, plane.duration_secs),
            None => plane.decay_factor,
        };
        let images = range.map(|image| {
            let planes = &stack.images[image];
            let (volume, num_padding) = self.decoded(&stack, planes, &whole, path, unit)?;
            if num_padding > 0 {
                let attribute = name(tags::PIXEL_PADDING_VALUE);
                notices.push(notice::info(path, format!("{} of padding ({attribute}) are 0", counted(num_padding, "voxel"))));
            }
            notices.extend(volume.not_finite().map(|text| notice::warning(path, text)));
            let starts = |planes: &[&Plane]| planes.iter().filter_map(|plane| plane.acquisition).min();
            let start_secs =
                earliest.zip(starts(planes)).map_or(0.0, |(earliest, start)| start.duration_since(earliest).as_secs_f64());
            let duration_secs = planes[0].duration_secs.unwrap_or(0.0);
            Ok(SeriesImage {
                acquired: shared(planes.iter().map(|plane| plane.acquisition)),
                decay_factors: decay_factors(&stack, planes.iter().map(|plane| factor(plane))),
                ..SeriesImage::new(volume, start_secs, duration_secs)
            })
        });
        let images = images.collect::<Result<Vec<_>, IoError>>()?;
        notices.extend(computed.and_then(|_| computed_decay(path, &images)));
        if stack.is_pitch_assumed {
            notices.push(notice::warning(path, "one slice without a thickness; 1 mm is assumed"));
        }
        notices.extend(stack.placement.as_ref().map(|placement| oblique_notice(path, placement)));
        let placement = stack.placement;
        self.notices.append(&mut notices);
        let names = self.instances[0].names.clone();
        Ok((ImageSeries { images, num_images, modality, names, placement, pet, kvp }, self.notices))
    }

    /// Reads a file of several planes.
    fn kept(&self, instance: &Instance) -> Result<Option<Checked>, IoError> {
        (instance.layout.num_frames > 1).then(|| Instance::read(&instance.path, 0).map(|(.., checked)| checked)).transpose()
    }

    /// Decodes the planes of an image, with 0 where they are padded; and the number of these voxels.
    fn decoded(
        &self,
        stack: &Stack,
        planes: &[&Plane],
        whole: &[Option<Checked>],
        path: &Path,
        unit: Unit,
    ) -> Result<(Volume, usize), IoError> {
        let layout = &self.instances[0].layout;
        let num_pixels = layout.rows * layout.columns;
        let mut values = zeroed(path, num_pixels * planes.len())?;
        let num_padding = AtomicUsize::new(0);
        values.par_chunks_exact_mut(num_pixels).zip(planes).try_for_each(|(slice, plane)| {
            let instance = &self.instances[plane.file];
            let read;
            let checked = match &whole[plane.file] {
                Some(checked) => checked,
                None => {
                    let bytes = std::fs::read(&instance.path).map_err(IoError::open(&instance.path))?;
                    read = Checked::new(bytes).map_err(|problem: DicomProblem| IoError::unsupported(&instance.path, problem))?;
                    &read
                }
            };
            decode(checked, &instance.layout, plane.frame, plane.scale, slice)
                .map_err(|problem: DicomProblem| IoError::unsupported(&instance.path, problem))?;
            if let Some(padding) = plane.padding {
                let [first, last] = padding;
                let is_padding = |value: &&mut f32| (first..=last).contains(*value) && **value != 0.0;
                let num = slice.iter_mut().filter(is_padding).map(|value| *value = 0.0).count();
                num_padding.fetch_add(num, Ordering::Relaxed);
            }
            Ok::<_, IoError>(())
        })?;
        let sides = [layout.columns, layout.rows, planes.len()];
        let (grid, values) = reorder(path, &stack.orientation, sides, values)?;
        let mixed = || IoError::unsupported(path, DicomProblem::Mixed(name(tags::ROWS)));
        Ok((Volume::from_vec(grid, values, unit).ok_or_else(mixed)?, num_padding.into_inner()))
    }
}

/// Returns the value that all have; `None` if one lacks it or has another.
fn shared<T: PartialEq>(mut values: impl Iterator<Item = Option<T>>) -> Option<T> {
    let first = values.next().flatten()?;
    values.all(|value| value.as_ref() == Some(&first)).then_some(first)
}

/// Returns the warning about another number of slices than NumberOfSlices.
fn missing_slices(path: &Path, attributes: &Attributes, found: usize) -> Option<Notice> {
    let expected =
        attributes.whole(tags::NUMBER_OF_SLICES, usize::from(u16::MAX)).ok().filter(|num| ![0, found].contains(num))?;
    let attribute = name(tags::NUMBER_OF_SLICES);
    let rest = if found < expected { "; the others are missing" } else { "" };
    let text = format!("it has {} where {attribute} is {expected}{rest}", counted(found, "slice"));
    Some(notice::warning(path, text))
}

/// Returns the warning about files that are no DICOM files and yet seem to be images of the series: they have the same ending as one of
/// its files, or none and nearly the same size.
fn damaged(path: &Path, instances: &[Instance], others: &[PathBuf]) -> Option<Notice> {
    let size = |file: &Path| std::fs::metadata(file).map_or(0, |metadata| metadata.len());
    let has_size = |file: &Path, other: &Path| size(file).abs_diff(size(other)) <= size(file) / 10;
    let is_alike = |other: &&PathBuf| {
        let mut files = instances.iter().map(|instance| &instance.path).filter(|file| file.extension() == other.extension());
        files.any(|file| other.extension().is_some() || has_size(file, other))
    };
    let damaged: Vec<&PathBuf> = others.iter().filter(is_alike).collect();
    let first = damaged.first()?.display();
    let num = counted(damaged.len(), "file");
    Some(notice::warning(path, format!("{num} not read, which may be slices of it and damaged: no DICOM file ({first})")))
}

/// Returns the notice about computed factors of the correction for decay; `None` without such factors.
fn computed_decay(path: &Path, images: &[SeriesImage]) -> Option<Notice> {
    let factors = || images.iter().flat_map(|image| &image.decay_factors).copied();
    let [low, high] = [factors().reduce(f64::min)?, factors().reduce(f64::max)?];
    let range = if low == high { format!("{low:.6}") } else { format!("{low:.6} to {high:.6}") };
    let attribute = name(tags::DECAY_FACTOR);
    let text = format!("{attribute} is missing; it is computed from half-life, start and duration of the frame: {range}");
    Some(notice::info(path, text))
}

/// Returns the factor of the correction for decay of all planes, or those of slices along z; none if they are unknown.
fn decay_factors(stack: &Stack, factors: impl Iterator<Item = Option<f64>> + Clone) -> Vec<f64> {
    let is_along_z = stack.orientation.world_axis[2] == 2;
    match shared(factors.clone()) {
        Some(factor) => vec![factor],
        None if is_along_z => factors.collect::<Option<_>>().unwrap_or_default(),
        None => Vec::new(),
    }
}

/// Returns the unit of the values.
fn unit(modality: &Modality, values: Option<&PetValues>, attributes: &Attributes) -> Unit {
    // Of this program's own series: counts per mm, or decays per mm³.
    let is_own = attributes.text(tags::MANUFACTURER).as_deref() == Some("tomoscope");
    match (modality, values) {
        (Modality::Ct, _) => match attributes.text(tags::RESCALE_TYPE).as_deref() {
            None | Some("HU") => Unit::Hounsfield,
            Some(_) => Unit::Unknown,
        },
        (_, Some(PetValues::BqPerMl)) => Unit::BqPerMl,
        (_, Some(PetValues::Counts)) if is_own => Unit::CountsPerMm,
        (_, Some(PetValues::Other(code))) if is_own && code == "PROPCNTS" => Unit::DecaysPerMm3,
        (_, Some(PetValues::UptakeByMass(mass))) => match mass.as_str() {
            "BW" => Unit::SuvBodyWeight,
            "LBMJANMA" => Unit::SuvLeanJanmahasatian,
            "LBMJAMES128" => Unit::SuvLeanJames,
            _ => Unit::Unknown,
        },
        (_, Some(PetValues::UptakeBySurface)) => Unit::SuvBodySurface,
        _ => Unit::Unknown,
    }
}
