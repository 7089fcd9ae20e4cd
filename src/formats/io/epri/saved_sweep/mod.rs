//! The program's own form of an EPRI acquisition: a small TOML header (`NAME.sweep`) and a file of little-endian numbers
//! (`NAME.f32`).
//!
//! ```toml
//! version = 2
//! title = "Ball"
//! acquisition = "pulse"            # or "continuous-wave"
//! slice_axes = ["z", "y"]          # only of a two-dimensional sweep: the gradient axes of the image's x and y
//! num_points = 128                 # samples of a projection
//! step_mm = 0.3125                 # distance of samples
//! centre = 64.0                    # sample at t = 0
//! num_expected = 208               # expected projections; may be left out
//! secs_per_projection = 1.25       # time that the acquisition of one takes; may be left out
//! data_file = "ball.f32"           # in the same folder
//! num_projections = 208            # those of the complete data file; left out while it grows
//! data_checksum = "crc32 cbf43926" # of the data file with these; left out while it grows
//!
//! [continuous_wave]                # only there
//! step_mt = 0.0265
//! gradient_mt_per_mm = 0.14
//! reference_step_mt = 0.0265       # the reference spectrum, where it is known
//! num_reference = 2048             # its samples
//! ```
//!
//! The data file holds the `num_reference` samples of the reference spectrum, 32-bit floats, and then a record for each
//! projection: its direction x, y, z and its weight, 64-bit floats, and its `num_points` samples, 32-bit floats. A sweep that is
//! still being acquired grows by one record after the other; a direction and a weight of zeros are not written yet. In continuous-wave
//! data a direction may be shorter than 1, for a gradient that is as much smaller than `gradient_mt_per_mm`.
//!
//! Version 1, which is still read, has 32-bit samples of projections alone in its data file and the rest in its header:
//! `projections = [[x, y, z, weight], …]` for those that are known, and `reference = [0.0, 0.1, …]`.
//!
//! A sweep without `slice_axes` is a slice too if all its directions are present and lie in one plane through two axes; its
//! weights then follow from them.

mod problem;

use std::fs::File;
use std::io::{self, BufReader, Read as _, Seek as _, SeekFrom, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::records;
use super::records::{Planned, Records, check_finite};
use super::sweep_space::{in_space, space_of};
use crate::data::{
    Direction, GradientAxis, Notice, Projection, ReferenceSpectrum, Study, Sweep, SweepKind, SweepMetadata, SweepSpace,
};
use crate::io::bytes::{NumberFormat, PendingPair, check_pair, read_contiguous, regular_file_len, write_f32_le};
use crate::io::epri::problem::SweepProblem;
use crate::io::epri::saved_sweep::problem::SavedSweepProblem;
use crate::io::error::{Excess, IoError};
use crate::io::own::toml_text::{self, Form, check_data_file};
use crate::scanner::epri::half_circle_weights;

/// Version that is written, and the earlier one that is still read.
const VERSION: u32 = 2;
const VERSION_OF_LISTS: u32 = 1;

/// Form of the headers. Those of version 1 have lists; parsed text takes about a hundred times its size.
const FORM: Form = Form { is_not: "it is not a saved sweep", versions: &[VERSION_OF_LISTS, VERSION], max_bytes: 2 << 20 };

/// Largest header of version 2, bytes.
const MAX_BYTES: u64 = 1 << 16;

/// Most samples of a projection.
const MAX_POINTS: usize = 1 << 24;

/// Values of a record before its samples: four numbers of twice their size.
const NUM_LEADING: usize = 8;

/// Bytes of these.
const DIRECTION_BYTES: usize = 32;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Header {
    version: u32,
    title: String,
    acquisition: Kind,
    slice_axes: Option<[GradientAxis; 2]>,
    num_points: usize,
    step_mm: f64,
    centre: f64,
    num_expected: Option<usize>,
    secs_per_projection: Option<f64>,
    data_file: String,
    num_projections: Option<usize>,
    data_checksum: Option<String>,
    /// Version 1.
    projections: Option<Vec<[f64; 4]>>,
    continuous_wave: Option<Wave>,
}

#[derive(Serialize, Deserialize, PartialEq)]
#[serde(rename_all = "kebab-case")]
enum Kind {
    Pulse,
    ContinuousWave,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Wave {
    step_mt: f64,
    gradient_mt_per_mm: f64,
    reference_step_mt: Option<f64>,
    num_reference: Option<usize>,
    /// Version 1.
    reference: Option<Vec<f32>>,
}

impl Header {
    /// Returns the number of projections of the complete data file, if the header has it.
    fn num_planned(&self) -> Option<usize> {
        self.num_projections.or(self.num_expected)
    }

    fn num_reference(&self) -> usize {
        self.continuous_wave.as_ref().and_then(|wave| wave.num_reference).unwrap_or(0)
    }
}

/// Reads the header of an acquisition: a study without projections, and the records of its projections.
pub fn sweep_header(path: &Path) -> Result<(Study<Sweep>, Records), IoError> {
    let header = read_header(path)?;
    sweep_of(path, header)
}

fn read_header(path: &Path) -> Result<Header, IoError> {
    let header: Header = FORM.read(path)?;
    let found = regular_file_len(path)?;
    let checked = if header.version == VERSION && found > MAX_BYTES {
        Err(SavedSweepProblem::LongHeader(Excess { found, max: MAX_BYTES }))
    } else {
        check(&header)
    };
    checked.map_err(|problem| FORM.refused(path, problem))?;
    Ok(header)
}

fn sweep_of(path: &Path, mut header: Header) -> Result<(Study<Sweep>, Records), IoError> {
    let data = path.with_file_name(&header.data_file);
    let mut records = match header.projections.take() {
        Some(listed) => {
            let plan = listed.iter().map(planned).collect();
            Records { num_leading: 0, offset: 0, plan, ..empty_records(&header, data) }
        }
        None => records_with_directions(path, &header, data)?,
    };
    let (space, plan, notice) = space_and_plan(path, &header, std::mem::take(&mut records.plan))?;
    records.plan = plan;
    let kind = match header.continuous_wave.take() {
        None => SweepKind::Pulse,
        Some(wave) => {
            let (step_mt, gradient_mt_per_mm) = (wave.step_mt, wave.gradient_mt_per_mm);
            SweepKind::ContinuousWave { step_mt, gradient_mt_per_mm, reference: reference(wave, &records)? }
        }
    };
    let sweep = Sweep {
        kind,
        space,
        num_points: header.num_points,
        step_mm: header.step_mm,
        centre: header.centre,
        projections: Vec::new(),
        num_expected: header.num_expected,
        secs_per_projection: header.secs_per_projection.filter(|secs| secs.is_finite() && *secs > 0.0),
        facts: SweepMetadata::default(),
    };
    Ok((Study { notices: notice.into_iter().collect(), ..Study::new(header.title, sweep) }, records))
}

fn planned(&[x, y, z, weight]: &[f64; 4]) -> Planned {
    Planned { direction: [x, y, z], weight }
}

/// Returns the records of version 2 that are in the file now.
fn records_with_directions(path: &Path, header: &Header, data: PathBuf) -> Result<Records, IoError> {
    let mut records = empty_records(header, data);
    let offset = records.offset;
    if !records.data.exists() {
        return Ok(records);
    }
    let data = &records.data;
    let len = regular_file_len(data)?;
    if let (Some(num), Some(recorded)) = (header.num_projections, &header.data_checksum) {
        let described = records.bytes_of(num);
        if described <= len {
            check_pair(path, data, described, recorded)?;
        }
    }
    let mut file = BufReader::new(File::open(data).map_err(IoError::open(data))?);
    file.seek(SeekFrom::Start(offset)).map_err(IoError::read(data))?;
    let num_whole = usize::try_from(len.saturating_sub(offset) / records.record_bytes()).unwrap_or(usize::MAX);
    let sample_bytes = records.record_bytes() as i64 - DIRECTION_BYTES as i64;
    for index in 0..num_whole.min(header.num_planned().unwrap_or(usize::MAX)) {
        let mut bytes = [0; DIRECTION_BYTES];
        file.read_exact(&mut bytes).map_err(IoError::read(data))?;
        if bytes == [0; DIRECTION_BYTES] {
            break;
        }
        let numbers = bytes.as_chunks::<8>().0;
        let vector: [f64; 4] = std::array::from_fn(|index| f64::from_le_bytes(numbers[index]));
        check_direction(index, &vector, &header.acquisition).map_err(|problem| FORM.refused(data, problem))?;
        records.plan.push(planned(&vector));
        file.seek_relative(sample_bytes).map_err(IoError::read(data))?;
    }
    Ok(records)
}

/// Returns the place of the records of version 2, without their plan.
fn empty_records(header: &Header, data: PathBuf) -> Records {
    let offset = 4 * header.num_reference() as u64;
    let (num_points, kind) = (header.num_points, records::Kind::Real);
    Records { data, format: NumberFormat::F32, offset, num_leading: NUM_LEADING, num_points, kind, plan: Vec::new() }
}

/// Returns the reference spectrum, if it is known and already in the file.
fn reference(wave: Wave, records: &Records) -> Result<Option<ReferenceSpectrum>, IoError> {
    let values = match (wave.reference, wave.num_reference) {
        (Some(values), _) => values,
        (None, Some(num)) if regular_file_len(&records.data).is_ok_and(|len| len >= records.offset) => {
            let values = read_contiguous(&records.data, NumberFormat::F32, 0, num)?;
            check_finite(&records.data, "the reference spectrum", &values)?;
            values
        }
        _ => return Ok(None),
    };
    Ok(wave.reference_step_mt.map(|step_mt| ReferenceSpectrum { values: values.into(), step_mt }))
}

/// Returns the space of the image that the directions span, and the plan along its axes.
fn space_and_plan(
    path: &Path,
    header: &Header,
    plan: Vec<Planned>,
) -> Result<(SweepSpace, Vec<Planned>, Option<Notice>), IoError> {
    if let Some(axes) = header.slice_axes {
        if let Some(index) = plan.iter().position(|planned| planned.direction[2] != 0.0) {
            return Err(FORM.refused(path, SavedSweepProblem::OutOfSlice(index + 1)));
        }
        return Ok((SweepSpace::Slice(axes), plan, None));
    }
    if header.num_expected != Some(plan.len()) {
        return Ok((SweepSpace::Volume, plan, None));
    }
    let units: Vec<Direction> = plan.iter().map(|planned| planned.direction).collect();
    let (space, notice) = space_of(path, &units)?;
    if !space.is_slice() {
        return Ok((space, plan, notice));
    }
    let units: Vec<Direction> = units.into_iter().map(|unit| in_space(space, unit)).collect();
    let weights = half_circle_weights(&units);
    let plan = units.into_iter().zip(weights).map(|(direction, weight)| Planned { direction, weight }).collect();
    Ok((space, plan, notice))
}

/// Reads an acquisition.
///
/// # Errors
/// Not a header of this form, another version, invalid figures, a data file that is missing, too short or another one than the
/// header's, samples that are not numbers.
pub fn read_projections(path: &Path) -> Result<Study<Sweep>, IoError> {
    let header = read_header(path)?;
    let num_planned = header.num_planned().filter(|_| header.version == VERSION);
    if let Some(num_planned) = num_planned {
        let empty = empty_records(&header, path.with_file_name(&header.data_file));
        let (found, expected) = (regular_file_len(&empty.data)?, empty.bytes_of(num_planned));
        if found < expected {
            return Err(IoError::Unfinished { path: empty.data, num_planned, num_points: empty.num_points, expected, found });
        }
    }
    let (mut study, records) = sweep_of(path, header)?;
    if num_planned.is_some_and(|num| num > records.plan.len()) {
        return Err(IoError::unsupported(&records.data, SweepProblem::NoDirection(records.plan.len() + 1)));
    }
    let (projections, num_left) = records.read_all()?;
    if num_left > 0 {
        let text = format!("{} has {num_left} more bytes than its header describes; they were left out", records.data.display());
        study.notices.push(Notice::warning(text));
    }
    study.measured.projections = projections;
    Ok(study)
}

/// Writes an acquisition: the header to `path`, its complete projections next to it (`.f32`). Truth, regions and notices are not
/// stored.
///
/// # Errors
/// Figures that would not read back, a failed write; existing files then remain.
pub fn write_sweep(path: &Path, study: &Study<Sweep>) -> Result<(), IoError> {
    let sweep = &study.measured;
    let data = data_file(path);
    let mut header = Header {
        version: VERSION,
        title: study.title.clone(),
        acquisition: if matches!(sweep.kind, SweepKind::Pulse) { Kind::Pulse } else { Kind::ContinuousWave },
        slice_axes: match sweep.space {
            SweepSpace::Volume => None,
            SweepSpace::Slice(axes) => Some(axes),
        },
        num_points: sweep.num_points,
        step_mm: sweep.step_mm,
        centre: sweep.centre,
        num_expected: sweep.num_expected,
        secs_per_projection: sweep.secs_per_projection,
        data_file: data.file_name().unwrap_or_default().to_string_lossy().into_owned(),
        num_projections: Some(sweep.projections.len()),
        data_checksum: None,
        projections: None,
        continuous_wave: match &sweep.kind {
            SweepKind::Pulse => None,
            SweepKind::ContinuousWave { step_mt, gradient_mt_per_mm, reference } => Some(Wave {
                step_mt: *step_mt,
                gradient_mt_per_mm: *gradient_mt_per_mm,
                reference_step_mt: reference.as_ref().map(|spectrum| spectrum.step_mt),
                num_reference: reference.as_ref().map(|spectrum| spectrum.values.len()),
                reference: None,
            }),
        },
    };
    let unreadable = |problem: SavedSweepProblem| toml_text::refused(path, "such a sweep could not be read back", problem);
    check(&header).and_then(|()| check_values(sweep)).map_err(unreadable)?;
    let checked_size = |text: String| {
        if text.len() as u64 <= MAX_BYTES { Ok(text) } else { Err(io::Error::other("its title is too long")) }
    };
    PendingPair::write(
        [path, &data],
        |writer| {
            if let SweepKind::ContinuousWave { reference: Some(spectrum), .. } = &sweep.kind {
                write_f32_le(writer, &spectrum.values)?;
            }
            sweep.projections.iter().try_for_each(|projection| write_record(writer, projection))
        },
        |writer, checksum| {
            header.data_checksum = Some(checksum.to_string());
            let text = toml::to_string(&header).map_err(io::Error::other).and_then(checked_size)?;
            writer.write_all(text.as_bytes())
        },
    )?
    .commit()
}

fn write_record(writer: &mut dyn Write, projection: &Projection) -> io::Result<()> {
    let [x, y, z] = projection.direction;
    for number in [x, y, z, projection.weight] {
        writer.write_all(&number.to_le_bytes())?;
    }
    write_f32_le(writer, &projection.values)
}

/// Returns the data file that belongs to a header.
pub fn data_file(header: &Path) -> PathBuf {
    header.with_extension("f32")
}

fn check(header: &Header) -> Result<(), SavedSweepProblem> {
    let positive = |key: &'static str, value: f64| {
        if value.is_finite() && value > 0.0 { Ok(()) } else { Err(SavedSweepProblem::NotPositive(key, value)) }
    };
    let is_of_lists = header.version == VERSION_OF_LISTS;
    if !(3..=MAX_POINTS).contains(&header.num_points) {
        return Err(SavedSweepProblem::NumPoints(Excess { found: header.num_points, max: MAX_POINTS }));
    }
    positive("step_mm", header.step_mm)?;
    // (False of NaN.)
    if !(header.centre >= -0.5 && header.centre <= header.num_points as f64 - 0.5) {
        return Err(SavedSweepProblem::Centre(header.centre, header.num_points));
    }
    if header.projections.is_some() != is_of_lists {
        return Err(SavedSweepProblem::ListOfProjections(VERSION_OF_LISTS));
    }
    if header.num_expected.zip(header.num_projections).is_some_and(|(expected, found)| expected < found) {
        return Err(SavedSweepProblem::ManyProjections);
    }
    let listed = header.projections.as_deref().unwrap_or_default();
    if header.num_expected.is_some_and(|expected| expected < listed.len()) {
        return Err(SavedSweepProblem::ManyDirections(listed.len()));
    }
    check_data_file(&header.data_file)?;
    listed.iter().enumerate().try_for_each(|(index, vector)| check_direction(index, vector, &header.acquisition))?;
    if let Some([x, y]) = header.slice_axes
        && x == y
    {
        return Err(SavedSweepProblem::SliceAxes(x.name()));
    }
    match (&header.acquisition, &header.continuous_wave) {
        (Kind::Pulse, None) => Ok(()),
        (Kind::Pulse, Some(_)) => Err(SavedSweepProblem::PulseWithWave),
        (Kind::ContinuousWave, None) => Err(SavedSweepProblem::NoWave),
        (Kind::ContinuousWave, Some(wave)) => {
            positive("step_mt", wave.step_mt)?;
            positive("gradient_mt_per_mm", wave.gradient_mt_per_mm)?;
            let (num, key) = match &wave.reference {
                Some(values) if values.iter().any(|v| !v.is_finite()) => return Err(SavedSweepProblem::Reference),
                Some(values) => (Some(values.len()), "reference"),
                None => (wave.num_reference, "num_reference"),
            };
            match (num, wave.reference_step_mt) {
                (None, None) => Ok(()),
                (Some(_), _) if (key == "reference") != is_of_lists => {
                    Err(SavedSweepProblem::OtherVersionsKey(header.version, key))
                }
                (Some(3..=MAX_POINTS), Some(step)) => positive("reference_step_mt", step),
                _ => Err(SavedSweepProblem::IncompleteReference(key)),
            }
        }
    }
}

/// Length below which a direction is none.
const MIN_LENGTH: f64 = 1e-6;

/// Refuses a direction of another length than 1; of continuous-wave data one longer than 1, and a short one that is not 0. A record of
/// zeros is not written yet: a projection without a gradient has a weight.
fn check_direction(index: usize, &[x, y, z, weight]: &[f64; 4], acquisition: &Kind) -> Result<(), SavedSweepProblem> {
    let length = (x * x + y * y + z * z).sqrt();
    let is_possible = match acquisition {
        Kind::Pulse => (length - 1.0).abs() < 1e-6,
        Kind::ContinuousWave if [x, y, z] == [0.0; 3] => weight > 0.0,
        Kind::ContinuousWave => (MIN_LENGTH..1.0 + 1e-6).contains(&length),
    };
    if is_possible && weight.is_finite() && weight >= 0.0 {
        return Ok(());
    }
    Err(SavedSweepProblem::Direction(index + 1))
}

/// Refuses values that a reader would refuse.
fn check_values(sweep: &Sweep) -> Result<(), SavedSweepProblem> {
    let acquisition = if sweep.is_continuous_wave() { Kind::ContinuousWave } else { Kind::Pulse };
    for (index, projection) in sweep.projections.iter().enumerate() {
        let [x, y, z] = projection.direction;
        check_direction(index, &[x, y, z, projection.weight], &acquisition)?;
        if projection.values.len() != sweep.num_points || projection.values.iter().any(|value| !value.is_finite()) {
            return Err(SavedSweepProblem::Samples(index + 1, sweep.num_points));
        }
    }
    match &sweep.kind {
        SweepKind::ContinuousWave { reference: Some(spectrum), .. } if spectrum.values.iter().any(|v| !v.is_finite()) => {
            Err(SavedSweepProblem::ReferenceValues)
        }
        _ => Ok(()),
    }
}
