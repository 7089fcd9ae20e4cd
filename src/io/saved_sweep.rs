//! The program's own form of an EPRI sweep: a TOML header (`NAME.sweep`) beside raw little-endian 32-bit floats (`NAME.f32`),
//! one projection after the other.
//!
//! ```toml
//! version = 1
//! title = "Ball"
//! acquisition = "pulse"            # or "continuous-wave"
//! num_points = 128                 # samples of a projection
//! step_mm = 0.3125                 # distance of samples
//! centre = 64.0                    # sample at t = 0
//! num_expected = 208               # projections that there will be; left out where nobody knows
//! secs_per_projection = 1.25       # time that the acquisition of one takes; may be left out
//! data_file = "ball.f32"           # in the same folder
//! projections = [[0.087, 0.0, 0.996, 0.0302]]   # direction x, y, z and weight of each, as far as they are known
//!
//! [continuous_wave]                # only there
//! step_mt = 0.0265
//! gradient_mt_per_mm = 0.14
//! reference_step_mt = 0.0265       # the reference spectrum, once it is known
//! reference = [0.0, 0.1]
//! ```
//!
//! A sweep that is still being acquired lists the directions to come; its data file grows.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::IoError;
use super::blocks::read_text;
use super::numbers::{ByteOrder, NumberFormat, NumberType};
use super::pending::{PendingFile, write_f32_le};
use super::records::{self, Planned, Records};
use crate::data::{Acquisition, Notice, Origin, ReferenceSpectrum, Sweep, SweepFacts};

/// Version of the format.
const VERSION: u32 = 1;

/// Largest header that is read.
const MAX_BYTES: u64 = 64 << 20;

/// Most samples of a projection.
const MAX_POINTS: usize = 1 << 24;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Header {
    version: u32,
    title: String,
    acquisition: Kind,
    num_points: usize,
    step_mm: f64,
    centre: f64,
    num_expected: Option<usize>,
    secs_per_projection: Option<f64>,
    data_file: String,
    projections: Vec<[f64; 4]>,
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
    reference: Option<Vec<f32>>,
}

/// A sweep as far as its header tells it, without projections, and where these are.
pub(super) fn sweep_header(path: &Path) -> Result<(Sweep, Records), IoError> {
    let text = read_text(path, MAX_BYTES)?;
    let header = parse(&text).map_err(|reason| refused(path, reason))?;
    let plan = header.projections.iter().map(|&[x, y, z, weight]| Planned { direction: [x, y, z], weight }).collect();
    let format = NumberFormat { number_type: NumberType::Float32, byte_order: ByteOrder::Little, scale: 1.0, intercept: 0.0 };
    let data = path.with_file_name(&header.data_file);
    let records = Records { data, format, num_points: header.num_points, kind: records::Kind::Real, plan };
    let acquisition = match header.continuous_wave {
        None => Acquisition::Pulse,
        Some(wave) => {
            let spectrum = wave.reference.zip(wave.reference_step_mt);
            let reference = spectrum.map(|(values, step_mt)| ReferenceSpectrum { values: values.into(), step_mt });
            Acquisition::ContinuousWave { step_mt: wave.step_mt, gradient_mt_per_mm: wave.gradient_mt_per_mm, reference }
        }
    };
    let sweep = Sweep {
        title: header.title,
        origin: Origin::default(),
        acquisition,
        num_points: header.num_points,
        step_mm: header.step_mm,
        centre: header.centre,
        projections: Vec::new(),
        num_expected: header.num_expected,
        secs_per_projection: header.secs_per_projection.filter(|secs| secs.is_finite() && *secs > 0.0),
        facts: SweepFacts::default(),
        truth: None,
        rois: Vec::new(),
        notices: Vec::new(),
    };
    Ok((sweep, records))
}

/// Reads a sweep.
///
/// # Errors
/// Not a header of this form, another version, figures that cannot be, a data file that is missing or too short, samples that
/// are not numbers.
pub fn read_projections(path: &Path) -> Result<Sweep, IoError> {
    let (mut sweep, records) = sweep_header(path)?;
    let (projections, num_left) = records.read_all()?;
    if num_left > 0 {
        let text = format!("{} has {num_left} more bytes than its header describes; they were left out", records.data.display());
        sweep.notices.push(Notice::warning(text));
    }
    sweep.projections = projections;
    Ok(sweep)
}

/// Writes a sweep: the header to `path`, its complete projections beside it (`.f32`). Truth, regions and notices are not kept.
///
/// # Errors
/// A file cannot be written; what was there before then still is.
pub fn write_sweep(path: &Path, sweep: &Sweep) -> Result<(), IoError> {
    let data = data_file(path);
    let header = Header {
        version: VERSION,
        title: sweep.title.clone(),
        acquisition: if matches!(sweep.acquisition, Acquisition::Pulse) { Kind::Pulse } else { Kind::ContinuousWave },
        num_points: sweep.num_points,
        step_mm: sweep.step_mm,
        centre: sweep.centre,
        num_expected: sweep.num_expected,
        secs_per_projection: sweep.secs_per_projection,
        data_file: data.file_name().unwrap_or_default().to_string_lossy().into_owned(),
        projections: sweep.projections.iter().map(|p| [p.direction[0], p.direction[1], p.direction[2], p.weight]).collect(),
        continuous_wave: match &sweep.acquisition {
            Acquisition::Pulse => None,
            Acquisition::ContinuousWave { step_mt, gradient_mt_per_mm, reference } => Some(Wave {
                step_mt: *step_mt,
                gradient_mt_per_mm: *gradient_mt_per_mm,
                reference_step_mt: reference.as_ref().map(|spectrum| spectrum.step_mt),
                reference: reference.as_ref().map(|spectrum| spectrum.values.to_vec()),
            }),
        },
    };
    let text = toml::to_string(&header).map_err(|error| refused(path, error.to_string()))?;
    let pending_data = PendingFile::create(&data, "f32")?;
    pending_data.write(|writer| sweep.projections.iter().try_for_each(|p| write_f32_le(writer, &p.values)))?;
    let pending_header = PendingFile::create(path, "sweep")?;
    pending_header.write(|writer| writer.write_all(text.as_bytes()))?;
    pending_data.commit()?;
    pending_header.commit()
}

/// The data file that belongs to a header.
pub fn data_file(header: &Path) -> PathBuf {
    header.with_extension("f32")
}

fn refused(path: &Path, reason: String) -> IoError {
    IoError::unsupported(path, format!("it is not a saved sweep: {reason}"))
}

fn parse(text: &str) -> Result<Header, String> {
    let sentence = |error: toml::de::Error| {
        let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
        format!("line {}: {}", before.matches('\n').count() + 1, error.message())
    };
    let table: toml::Table = text.parse().map_err(sentence)?;
    match table.get("version").and_then(toml::Value::as_integer) {
        Some(version) if version == i64::from(VERSION) => {}
        Some(version) => return Err(format!("it has version {version}; this program reads version {VERSION}")),
        None => return Err(format!("the key 'version' is missing; this program reads version {VERSION}")),
    }
    let header: Header = toml::from_str(text).map_err(sentence)?;
    check(&header)?;
    Ok(header)
}

fn check(header: &Header) -> Result<(), String> {
    let positive = |name: &str, value: f64| {
        if value.is_finite() && value > 0.0 {
            Ok(())
        } else {
            Err(format!("'{name}' is {value} where a positive number is expected"))
        }
    };
    if !(3..=MAX_POINTS).contains(&header.num_points) {
        return Err(format!("'num_points' is {} where 3 to {MAX_POINTS} are expected", header.num_points));
    }
    positive("step_mm", header.step_mm)?;
    if !header.centre.is_finite() {
        return Err(format!("'centre' is {} where a number is expected", header.centre));
    }
    if header.num_expected.is_some_and(|expected| expected < header.projections.len()) {
        return Err(format!("'num_expected' is less than the {} directions that are listed", header.projections.len()));
    }
    if Path::new(&header.data_file).file_name().is_none_or(|name| name != header.data_file.as_str()) {
        return Err("'data_file' must be the name of a file in the same folder".into());
    }
    for (index, &[x, y, z, weight]) in header.projections.iter().enumerate() {
        let length = (x * x + y * y + z * z).sqrt();
        if !((length - 1.0).abs() < 1e-6 && weight.is_finite() && weight >= 0.0) {
            return Err(format!("direction {} is not a unit vector with a weight of at least 0", index + 1));
        }
    }
    match (&header.acquisition, &header.continuous_wave) {
        (Kind::Pulse, None) => Ok(()),
        (Kind::Pulse, Some(_)) => Err("a pulse acquisition has no [continuous_wave]".into()),
        (Kind::ContinuousWave, None) => Err("a continuous-wave acquisition needs [continuous_wave]".into()),
        (Kind::ContinuousWave, Some(wave)) => {
            positive("step_mt", wave.step_mt)?;
            positive("gradient_mt_per_mm", wave.gradient_mt_per_mm)?;
            match (&wave.reference, wave.reference_step_mt) {
                (None, None) => Ok(()),
                (Some(values), Some(step)) if values.len() >= 3 && values.iter().all(|v| v.is_finite()) => {
                    positive("reference_step_mt", step)
                }
                _ => Err("a reference spectrum needs 'reference', at least three numbers, and 'reference_step_mt'".into()),
            }
        }
    }
}
