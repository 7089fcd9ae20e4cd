//! Regions of interest as TOML:
//!
//! ```toml
//! version = 1
//!
//! [[roi]]
//! name = "sphere 22 mm"
//! shape = "sphere"                 # circle, sphere or rectangle
//! centre_mm = [28.6, 49.5, 37.0]
//! radius_mm = 11.0                 # circle and sphere; a rectangle has size_mm = [horizontal, vertical]
//! plane = "transaxial"             # circle and rectangle: transaxial (default), coronal or sagittal
//! role = "hot"                     # none (default), background, hot or cold
//! activity_ratio = 4.0             # of a hot one: true activity over background, positive and not 1. Without it there is
//!                                  # no contrast recovery
//! colour = "#d6581e"               # of its outline and curves; without it the window gives one
//! ```

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::IoError;
use super::blocks::read_text;
use super::pending::write_whole;
use super::toml_text::{sentence, version};
use crate::data::{Notice, Roi, RoiPlane, RoiRole, RoiShape, checked_activity_ratio};

/// Version of the format.
const VERSION: u32 = 1;

/// Largest file that is read: parsed text takes about a hundred times its size.
const MAX_BYTES: u64 = 2 << 20;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RoiFile {
    version: u32,
    #[serde(default)]
    roi: Vec<RoiEntry>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RoiEntry {
    name: String,
    shape: String,
    centre_mm: [f64; 3],
    radius_mm: Option<f64>,
    size_mm: Option<[f64; 2]>,
    points_mm: Option<Vec<[f64; 3]>>,
    plane: Option<RoiPlane>,
    #[serde(default)]
    role: RoiRole,
    activity_ratio: Option<f64>,
    colour: Option<String>,
}

/// Reads a ROI file.
///
/// # Errors
/// Not TOML of this form, another version, a shape that is not known, sizes that are not positive, ratios that cannot be.
pub fn read_rois(path: &Path) -> Result<Vec<Roi>, IoError> {
    parse(&read_text(path, MAX_BYTES)?).map_err(|reason| IoError::Rois { path: path.to_owned(), reason })
}

/// What to know about regions that were read: hot ones without a true ratio have no contrast recovery.
pub fn notice(rois: &[Roi]) -> Option<Notice> {
    let unknown = rois.iter().filter(|roi| roi.role == RoiRole::Hot && roi.activity_ratio.is_none());
    let names: Vec<String> = unknown.map(|roi| format!("'{}'", roi.name)).collect();
    (!names.is_empty()).then(|| {
        let names = names.join(", ");
        Notice::warning(format!(
            "hot without a true ratio of activities ('activity_ratio'): {names}; there is no contrast recovery of what has none"
        ))
    })
}

/// Writes a ROI file.
///
/// # Errors
/// A region that could not be read back, the file cannot be written; what was there before then still is.
pub fn write_rois(path: &Path, rois: &[Roi]) -> Result<(), IoError> {
    let refused =
        |reason: String| IoError::Rois { path: path.to_owned(), reason: format!("it could not be read back: {reason}") };
    let file = RoiFile { version: VERSION, roi: rois.iter().map(entry).collect() };
    let readable = file.roi.iter().try_for_each(|entry| roi(entry).map(|_| ()).map_err(|e| format!("'{}': {e}", entry.name)));
    readable.map_err(refused)?;
    let text = toml::to_string(&file).map_err(|error| refused(error.to_string()))?;
    if text.len() as u64 > MAX_BYTES {
        return Err(refused(format!("{} bytes are more than the {MAX_BYTES} that such a file can have", text.len())));
    }
    write_whole(path, text.as_bytes())
}

fn parse(text: &str) -> Result<Vec<Roi>, String> {
    let unknown = |version: i64| format!("it has version {version}; this program reads version {VERSION}");
    let file: RoiFile = toml::from_str(text).map_err(|error| {
        let other = version(text).filter(|version| *version != i64::from(VERSION));
        other.map_or_else(|| sentence(text, &error), unknown)
    })?;
    if file.version != VERSION {
        return Err(unknown(i64::from(file.version)));
    }
    let numbered = file.roi.into_iter().enumerate();
    numbered.map(|(i, entry)| roi(&entry).map_err(|reason| format!("ROI {} ('{}'): {reason}", i + 1, entry.name))).collect()
}

fn roi(entry: &RoiEntry) -> Result<Roi, String> {
    if entry.points_mm.is_some() {
        return Err("shapes of points ('points_mm') are not understood yet; use circle, sphere or rectangle".into());
    }
    if !entry.centre_mm.iter().all(|c| c.is_finite()) {
        return Err("'centre_mm' is not a point".into());
    }
    let activity_ratio = entry.activity_ratio.map(checked_activity_ratio).transpose();
    let activity_ratio = activity_ratio.map_err(|error| format!("'activity_ratio': {error}"))?;
    let positive = |length: f64| length.is_finite() && length > 0.0;
    let radius = || match (entry.radius_mm, entry.size_mm) {
        (Some(radius), None) if positive(radius) => Ok(radius),
        _ => Err(format!("a {} needs 'radius_mm', a positive length, and no 'size_mm'", entry.shape)),
    };
    let plane = entry.plane.unwrap_or_default();
    let shape = match entry.shape.as_str() {
        "circle" => RoiShape::Circle { radius_mm: radius()?, plane },
        "sphere" if entry.plane.is_some() => return Err("a sphere has no 'plane'".into()),
        "sphere" => RoiShape::Sphere { radius_mm: radius()? },
        "rectangle" => match (entry.size_mm, entry.radius_mm) {
            (Some(size_mm), None) if size_mm.iter().all(|&side| positive(side)) => RoiShape::Rectangle { size_mm, plane },
            _ => return Err("a rectangle needs 'size_mm', two positive lengths, and no 'radius_mm'".into()),
        },
        other => return Err(format!("the shape '{other}' is not known; use circle, sphere or rectangle")),
    };
    let (name, centre_mm, role) = (entry.name.clone(), entry.centre_mm, entry.role);
    let colour = entry.colour.as_deref().map(colour).transpose()?;
    Ok(Roi { name, shape, centre_mm, role, activity_ratio, colour })
}

/// Red, green and blue of `#rrggbb`.
fn colour(text: &str) -> Result<[u8; 3], String> {
    let digits = text.strip_prefix('#').filter(|digits| digits.len() == 6 && digits.bytes().all(|b| b.is_ascii_hexdigit()));
    let value = digits.and_then(|digits| u32::from_str_radix(digits, 16).ok());
    let [_, red, green, blue] =
        value.ok_or("'colour' must be like \"#d6581e\": red, green and blue, two digits each")?.to_be_bytes();
    Ok([red, green, blue])
}

fn entry(roi: &Roi) -> RoiEntry {
    let (shape, radius_mm, size_mm, plane) = match roi.shape {
        RoiShape::Circle { radius_mm, plane } => ("circle", Some(radius_mm), None, Some(plane)),
        RoiShape::Sphere { radius_mm } => ("sphere", Some(radius_mm), None, None),
        RoiShape::Rectangle { size_mm, plane } => ("rectangle", None, Some(size_mm), Some(plane)),
    };
    RoiEntry {
        name: roi.name.clone(),
        shape: shape.to_owned(),
        centre_mm: roi.centre_mm,
        radius_mm,
        size_mm,
        points_mm: None,
        plane,
        role: roi.role,
        activity_ratio: roi.activity_ratio,
        colour: roi.colour.map(|[red, green, blue]| format!("#{red:02x}{green:02x}{blue:02x}")),
    }
}
