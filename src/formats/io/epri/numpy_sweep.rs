//! An EPRI sweep as a set of NumPy arrays of one NAME:
//!
//! | file | shape | what |
//! |---|---|---|
//! | `NAME-proj.npy` | projections × samples | the projections; this is the file to open |
//! | `NAME-fgrad.npy` | 3 (of a slice also 2) × projections, or the other way round | continuous wave: gradients along x, y, z (the slice's x, y), G/cm |
//! | `NAME-B.npy` | samples | continuous wave: evenly spaced field, G |
//! | `NAME-h.npy` | samples | continuous wave: reference spectrum on the same axis (if there is one); of several radicals `NAME-hRADICAL.npy` |
//! | `NAME-dir.npy` | the same | pulse: directions, of any length |
//! | `NAME-t.npy` | samples | pulse: evenly spaced positions along the direction, mm |
//! | `NAME-weights.npy` | projections | what each direction counts (if left out: the solid angle that is nearest to it; of a slice the angle) |
//!
//! A projection without a gradient (all three zero) is a service trace and is left out, unless there are gradients of several sizes: then it
//! belongs to the data of spectral-spatial images. The image is a slice where directions
//! have two coordinates, or where all of them lie in one plane through two of the three axes.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::records::check_finite;
use super::reference_reader::ReferenceReader;
use super::sweep_space::{in_space, space_of};
use crate::coded::coded;
use crate::data::{
    Direction, GradientAxis, MIN_GRADIENT, Notice, Projection, ReferenceSpectrum, Study, Sweep, SweepKind, SweepMetadata,
    SweepSpace,
};
use crate::geometry::Vector;
use crate::io::bytes::npy::{Array, read_array};
use crate::io::error::{IoError, Mismatch};
use crate::scanner::epri::{half_circle_weights, solid_angle_weights};

/// Reader of the reference spectra of such acquisitions.
pub const REFERENCE: ReferenceReader = ReferenceReader {
    read: |path| Ok((read_spectrum(path)?, Vec::new())),
    default_path: reference_path,
    radicals: radical_spectra,
    middle_mt,
    settings: |_| None,
};

/// mT in a gauss, and mT/mm in a G/cm.
const MT: f64 = 0.1;
const MT_PER_MM: f64 = 0.01;

/// Largest deviation of an even axis, in steps: fields with a few decimals.
const UNEVEN: f64 = 0.02;

/// The same of an axis that single precision resolves hardly, as 3400 G in steps of 0.002 G.
const MOST_UNEVEN: f64 = 0.25;

/// Largest difference of gradients of one size.
const SAME_GRADIENT: f64 = 1e-3;

/// Suffix of the projections of a set.
const PROJECTIONS: &str = "-proj";

/// Suffixes of the files of a set.
const SUFFIXES: [&str; 7] = [PROJECTIONS, "-fgrad", "-B", "-h", "-dir", "-t", "-weights"];

/// Returns true for a file of a set: projections by their name, other files if projections of that name are in their folder. (An
/// image may be called `patient-B.npy`.)
pub fn is_of_a_set(path: &Path) -> bool {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let Some(name) = SUFFIXES.iter().find_map(|suffix| stem.strip_suffix(suffix)) else { return is_spectrum(path) };
    let is_in_folder = |suffix: &str| path.with_file_name(format!("{name}{suffix}.npy")).exists();
    // A reference spectrum may lie apart from the projections, with its field.
    stem.ends_with(PROJECTIONS) || is_in_folder(PROJECTIONS) || (stem.ends_with("-h") && is_in_folder("-B"))
}

/// Returns true for the spectrum of a set, also of one radical of several.
fn is_spectrum(path: &Path) -> bool {
    Set::of_spectrum(path).is_some_and(|set| set.file("-B").exists())
}

/// The files of one NAME.
struct Set {
    folder_and_name: PathBuf,
}

impl Set {
    /// Returns the set that `NAME-<suffix>.npy` belongs to.
    fn of(path: &Path, suffix: &'static str) -> Result<Self, IoError> {
        let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let Some(name) = stem.strip_suffix(suffix) else {
            return Err(IoError::unsupported(path, NumpySweepProblem::NotOfASet(suffix)));
        };
        Ok(Self { folder_and_name: path.with_file_name(name) })
    }

    /// Returns the set that `NAME-h.npy` or `NAME-hRADICAL.npy` belongs to.
    fn of_spectrum(path: &Path) -> Option<Self> {
        let stem = path.file_stem()?.to_string_lossy().into_owned();
        let (name, radical) = stem.rsplit_once("-h")?;
        radical.chars().all(char::is_alphanumeric).then(|| Self { folder_and_name: path.with_file_name(name) })
    }

    fn file(&self, suffix: &str) -> PathBuf {
        let name = self.folder_and_name.file_name().unwrap_or_default().to_string_lossy();
        self.folder_and_name.with_file_name(format!("{name}{suffix}.npy"))
    }
}

/// Reads a set by its projections.
///
/// # Errors
/// A file that is missing or is no array of real numbers, shapes that do not agree, axes that are not even, gradients of
/// different sizes, values that are not numbers.
pub fn read_projections(path: &Path) -> Result<Study<Sweep>, IoError> {
    let set = Set::of(path, "-proj")?;
    let projections = read_array(path)?;
    let [num_projections, num_points] = projections.shape;
    if num_points < 3 {
        return Err(IoError::unsupported(path, NumpySweepProblem::FewSamples(num_points)));
    }
    let title = set.folder_and_name.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let is_wave = set.file("-fgrad").exists();
    let vectors_file = set.file(if is_wave { "-fgrad" } else { "-dir" });
    if !vectors_file.exists() {
        return Err(IoError::unsupported(path, NumpySweepProblem::NoDirections));
    }
    let (vectors, num_coordinates) = vectors(&vectors_file, num_projections)?;
    let [first, step] = axis(&set.file(if is_wave { "-B" } else { "-t" }), num_points)?;
    let largest = vectors.iter().map(|&v| length(v)).fold(0.0, f64::max);
    let has_sizes = is_wave && vectors.iter().any(|&v| length(v) > 0.0 && length(v) < (1.0 - SAME_GRADIENT) * largest);
    let are_similar = vectors.iter().all(|&v| length(v) >= MIN_GRADIENT * largest);
    if is_wave && largest == 0.0 {
        return Err(IoError::unsupported(&vectors_file, NumpySweepProblem::NoGradient));
    }
    let (kind, step_mm, centre) = if is_wave {
        let (step_mt, gradient) = (step * MT, largest * MT_PER_MM);
        let kind = SweepKind::ContinuousWave { step_mt, gradient_mt_per_mm: gradient, reference: None };
        (kind, step_mt / gradient, (num_points / 2) as f64)
    } else {
        (SweepKind::Pulse, step, -first / step)
    };
    // In continuous-wave data t runs against the gradient.
    let sign = if is_wave { -1.0 } else { 1.0 };
    let mut measured: Vec<(usize, Direction)> = match has_sizes {
        true => vectors.iter().enumerate().map(|(i, vector)| (i, vector.map(|v| v * sign / largest))).collect(),
        false => unit_vectors(&vectors).map(|(i, unit)| (i, unit.map(|v| v * sign))).collect(),
    };
    let mut notices = Vec::new();
    if projections.num_left > 0 {
        let (data, num_left) = (path.display(), projections.num_left);
        notices.push(Notice::warning(format!("{data} has {num_left} more bytes than its header describes; they were left out")));
    }
    if measured.len() < num_projections {
        let dropped = num_projections - measured.len();
        notices.push(Notice::info(format!(
            "{dropped} of {num_projections} projections have no gradient (service traces); they were left out"
        )));
    }
    if measured.is_empty() {
        return Err(IoError::unsupported(&vectors_file, NumpySweepProblem::NoGradient));
    }
    let units: Vec<Direction> = measured.iter().map(|(_, unit)| *unit).collect();
    let (space, notice) = match num_coordinates {
        2 => (SweepSpace::Slice([GradientAxis::X, GradientAxis::Y]), None),
        _ => space_of(&vectors_file, &units)?,
    };
    notices.extend(notice);
    measured.iter_mut().for_each(|(_, unit)| *unit = in_space(space, *unit));
    let weights = match has_sizes && !are_similar {
        true => vec![space.whole_weight() / num_projections as f64; num_projections],
        false => weights(&set, space, &measured, num_projections, &mut notices)?,
    };
    let rows: Vec<&[f32]> = projections.values.chunks_exact(num_points).collect();
    let projection = |(&(index, direction), weight): (&(usize, Direction), f64)| {
        check_finite(path, &format!("projection {}", index + 1), rows[index])?;
        Ok(Projection { direction, weight, values: Arc::from(rows[index]) })
    };
    let projections: Vec<Projection> = measured.iter().zip(weights).map(projection).collect::<Result<_, IoError>>()?;
    let num_expected = Some(projections.len());
    let sweep = Sweep {
        kind,
        space,
        num_points,
        step_mm,
        centre,
        projections,
        num_expected,
        secs_per_projection: None,
        facts: SweepMetadata::default(),
    };
    Ok(Study { notices, ..Study::new(title, sweep) })
}

/// Reads `NAME-h.npy` or `NAME-hRADICAL.npy`, whose samples are as far apart as those of `NAME-B.npy`.
///
/// # Errors
/// As [`read_projections`].
pub fn read_spectrum(path: &Path) -> Result<ReferenceSpectrum, IoError> {
    let set = Set::of_spectrum(path).ok_or_else(|| IoError::unsupported(path, NumpySweepProblem::NotOfASet("-h")))?;
    let Array { shape, values, .. } = read_array(path)?;
    // (MATLAB exports one column.)
    if !shape.contains(&1) {
        return Err(IoError::unsupported(path, NumpySweepProblem::NotOneSpectrum([shape[0], shape[1]])));
    }
    check_finite(path, "the spectrum", &values)?;
    let [_, step] = axis(&set.file("-B"), values.len())?;
    Ok(ReferenceSpectrum { values: values.into(), step_mt: step * MT })
}

/// Returns all files of the set of some projections.
pub fn set(projections: &Path) -> Vec<PathBuf> {
    Set::of(projections, "-proj").map_or(Vec::new(), |set| SUFFIXES.map(|suffix| set.file(suffix)).into())
}

/// Returns the path of the reference spectrum of a set.
pub fn reference_path(path: &Path) -> Option<PathBuf> {
    Set::of(path, "-proj").ok().map(|set| set.file("-h"))
}

/// Returns names and files of the spectra of radicals in a set (`NAME-hRADICAL.npy`), in the order of their names.
pub fn radical_spectra(path: &Path) -> Vec<(String, PathBuf)> {
    let Ok(set) = Set::of(path, PROJECTIONS) else { return Vec::new() };
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let files = folder.read_dir().into_iter().flatten().flatten().map(|entry| path.with_file_name(entry.file_name()));
    let of_set = |file: PathBuf| {
        let is_of_set = Set::of_spectrum(&file).is_some_and(|of| of.folder_and_name == set.folder_and_name);
        let is_array = file.extension().is_some_and(|ending| ending == "npy");
        let stem = file.file_stem()?.to_string_lossy().into_owned();
        let (_, name) = stem.rsplit_once("-h").filter(|(_, name)| is_of_set && is_array && !name.is_empty())?;
        Some((name.to_owned(), file))
    };
    let mut found: Vec<_> = files.filter_map(of_set).collect();
    found.sort();
    found
}

/// Returns the field of the middle sample, ⌊n/2⌋, of projections or of a spectrum, mT; `None` if the set has no field.
pub fn middle_mt(path: &Path) -> Option<f64> {
    let set = Set::of(path, PROJECTIONS).ok().or_else(|| Set::of_spectrum(path))?;
    let fields = read_array(&set.file("-B")).ok()?.values;
    fields.get(fields.len() / 2).map(|&field| f64::from(field) * MT)
}

/// Reads vectors of x, y, z, one per projection; returns them and the number of their coordinates (with two, z is 0).
fn vectors(path: &Path, num_projections: usize) -> Result<(Vec<Direction>, usize), IoError> {
    let mut array = read_array(path)?;
    let is_by_axis = |shape: [usize; 2]| matches!(shape, [2 | 3, columns] if columns == num_projections);
    let [rows, columns] = array.shape;
    if is_by_axis([rows, columns]) {
        array = array.transposed();
    } else if !is_by_axis([columns, rows]) {
        let problem = NumpySweepProblem::VectorShape([rows, columns], num_projections);
        return Err(IoError::unsupported(path, problem));
    }
    check_finite(path, "the vectors", &array.values)?;
    let num_coordinates = array.shape[1];
    let vector = |v: &[f32]| std::array::from_fn(|a| v.get(a).map_or(0.0, |&value| f64::from(value)));
    Ok((array.values.chunks_exact(num_coordinates).map(vector).collect(), num_coordinates))
}

fn length(v: Direction) -> f64 {
    Vector::from(v).norm()
}

/// Returns the index and unit vector of those that are not zero.
fn unit_vectors(vectors: &[Direction]) -> impl Iterator<Item = (usize, Direction)> {
    vectors.iter().enumerate().filter_map(|(index, &v)| {
        let length = length(v);
        (length > 0.0).then(|| (index, v.map(|x| x / length)))
    })
}

/// Returns the first value and the step of an evenly spaced axis.
fn axis(path: &Path, num_points: usize) -> Result<[f64; 2], IoError> {
    let Array { shape, values, .. } = read_array(path)?;
    if values.len() != num_points {
        let [rows, columns] = shape;
        return Err(IoError::unsupported(path, NumpySweepProblem::AxisLength([rows, columns], num_points)));
    }
    check_finite(path, "the axis", &values)?;
    let (first, last) = (values.first().copied().unwrap_or_default(), values.last().copied().unwrap_or_default());
    let (first, last) = (f64::from(first), f64::from(last));
    let step = (last - first) / (num_points as f64 - 1.0);
    // Single precision of a high field may be coarser than that.
    let rounding = f64::from(f32::EPSILON) * first.abs().max(last.abs());
    let tolerance = (UNEVEN * step).max(rounding.min(MOST_UNEVEN * step));
    let even = |(k, value): (usize, &f32)| (f64::from(*value) - (first + k as f64 * step)).abs() <= tolerance;
    if step > 0.0 && values.iter().enumerate().all(even) {
        Ok([first, step])
    } else {
        Err(IoError::unsupported(path, NumpySweepProblem::UnevenAxis))
    }
}

/// Returns the weights of the projections that have a gradient.
fn weights(
    set: &Set,
    space: SweepSpace,
    measured: &[(usize, Direction)],
    num_projections: usize,
    notices: &mut Vec<Notice>,
) -> Result<Vec<f64>, IoError> {
    let path = set.file("-weights");
    if !path.exists() {
        let units: Vec<Direction> = measured.iter().map(|(_, vector)| vector.map(|v| v / length(*vector))).collect();
        let (of_what, weights) = match space {
            SweepSpace::Volume => ("solid angles", solid_angle_weights(&units)),
            SweepSpace::Slice(_) => ("angles", half_circle_weights(&units)),
        };
        notices.push(Notice::info(format!("The weights of the projections are the {of_what} nearest to their directions")));
        return Ok(weights);
    }
    let array = read_array(&path)?;
    if array.values.len() != num_projections {
        let problem = NumpySweepProblem::NumWeights(Mismatch { found: array.values.len(), expected: num_projections });
        return Err(IoError::unsupported(&path, problem));
    }
    check_finite(&path, "the weights", &array.values)?;
    match array.values.iter().position(|&weight| weight < 0.0) {
        Some(index) => Err(IoError::unsupported(&path, NumpySweepProblem::NegativeWeight(index + 1))),
        None if measured.iter().all(|&(index, _)| array.values[index] == 0.0) => {
            Err(IoError::unsupported(&path, NumpySweepProblem::NoWeight))
        }
        None => Ok(measured.iter().map(|&(index, _)| f64::from(array.values[index])).collect()),
    }
}

/// A problem of a set of NumPy arrays.
#[derive(Debug, thiserror::Error)]
enum NumpySweepProblem {
    /// Another file of a set than the one to open.
    #[error("of a set of NumPy arrays, open the one called NAME{0}.npy")]
    NotOfASet(&'static str),
    /// Projections of too few samples.
    #[error("projections of {0} samples are too short; at least 3 are needed")]
    FewSamples(usize),
    /// A set without directions.
    #[error(
        "the directions are missing: put NAME-fgrad.npy (gradients, G/cm) and NAME-B.npy (field, G) in its folder for \
         continuous-wave projections, or NAME-dir.npy (directions) and NAME-t.npy (positions, mm) for pulse ones"
    )]
    NoDirections,
    /// Gradients that are all zero.
    #[error("all gradients are zero; there is no projection to reconstruct")]
    NoGradient,
    /// A table of another shape, rows and columns, than one vector for each of the projections.
    #[error(
        "its shape is {} × {} where 3 × {expected} is expected (2 × {expected} for a slice): one vector per projection",
        .0[0], .0[1], expected = .1
    )]
    VectorShape([usize; 2], usize),
    /// More than one spectrum, by rows and columns.
    #[error("it holds {} × {} numbers, where one spectrum is expected", .0[0], .0[1])]
    NotOneSpectrum([usize; 2]),
    /// An axis, by rows and columns, of another length than the projections.
    #[error("it holds {} × {} numbers where {} are expected, one per sample", .0[0], .0[1], .1)]
    AxisLength([usize; 2], usize),
    /// An axis that is not even.
    #[error(
        "it is not an axis of evenly spaced, growing values; reverse a falling axis together with the projections, interpolate projections at \
         uneven values"
    )]
    UnevenAxis,
    /// Weights of another number than the projections.
    #[error("it holds {} weights for {} projections", .0.found, .0.expected)]
    NumWeights(Mismatch),
    /// A negative weight, by its number.
    #[error("weight {0} is negative")]
    NegativeWeight(usize),
    /// Weights that are all 0.
    #[error("all weights are 0; expected some above 0")]
    NoWeight,
}

coded!(NumpySweepProblem = "io.unsupported.numpy");
