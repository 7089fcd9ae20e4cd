//! Regions of interest as TOML, or as JSON with the same fields:
//!
//! ```toml
//! version = 2
//!
//! [[roi]]
//! name = "sphere 22 mm"
//! shape = "sphere"
//! centre_mm = [28.6, 49.5, 37.0]
//! radius_mm = 11.0
//! role = "hot"                     # none (default), background, hot or cold
//! activity_ratio = 4.0             # of a hot one: true activity over background, positive and not 1. Without it there is
//!                                  # no contrast recovery
//! colour = "#d6581e"               # of its outline and curves; without it the window gives one
//!
//! [[roi]]
//! name = "liver"
//! shape = "ellipse"
//! centre_mm = [-40.0, 10.0, 0.0]
//! size_mm = [90.0, 60.0]           # full axes along the plane's horizontal and vertical axis
//! plane = "transaxial"             # transaxial (default; x, y), coronal (x, z) or sagittal (y, z)
//! angle_deg = 30.0                 # turned in the plane, from its horizontal axis towards its vertical one
//! thickness_mm = 20.0              # along the plane's normal, half to each side; without it the slice nearest to the centre
//! ```
//!
//! | shape | fields |
//! |---|---|
//! | `circle` | `radius_mm`, `plane`, `thickness_mm` |
//! | `ellipse`, `rectangle` | `size_mm` (two), `plane`, `angle_deg`, `thickness_mm` |
//! | `polygon` | `points_mm` (corners from the centre, along the plane's two axes), `plane`, `angle_deg`, `thickness_mm` |
//! | `sphere` | `radius_mm` |
//! | `ellipsoid`, `box` | `size_mm` (three: along x, y, z), `plane` and `angle_deg` (turned in it) |
//! | `isocontour` | a table `isocontour`: the recipe and the voxels that it found (`roi_entry.rs` describes it) |
//! | `voxels` | a table `voxels`: voxels of another file |
//!
//! Version 1 had circles, spheres and rectangles that are not turned and have no thickness; it reads as before.

use std::path::Path;

use serde::{Deserialize, Serialize};

pub use super::roi_entry::RoiEntry;
use super::toml_text::{check_version, parse};
use crate::coded::coded;
use crate::data::{Notice, Roi, RoiRole};
use crate::geometry::Grid;
use crate::io::bytes::{read_text, write_whole};
use crate::io::error::{Excess, IoError};
use crate::io::own::roi_entry::RegionProblem;
use crate::io::own::toml_text::FormProblem;

/// Version of the format that is written; older ones are read.
const VERSION: u32 = 2;
const VERSIONS: [u32; 2] = [1, VERSION];

/// Part of a region inside the image that counts as all of it.
const MOST_INSIDE: f64 = 0.999;

/// Largest file that is read: parsed text takes about a hundred times its size.
const MAX_BYTES: u64 = 2 << 20;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RoiFile {
    version: u32,
    #[serde(default)]
    roi: Vec<RoiEntry>,
}

/// Reads a ROI file: JSON if its name ends with `.json`, otherwise TOML.
///
/// # Errors
/// Not a file of this form, another version, an unknown shape, sizes that are not positive, invalid ratios.
pub fn read_rois(path: &Path) -> Result<Vec<Roi>, IoError> {
    let text = read_text(path, MAX_BYTES)?;
    let parsed = if is_json(path) { parse_json(&text) } else { parse(&text, &VERSIONS).map_err(RoiProblem::from) };
    parsed.and_then(|file| of_entries(&file.roi)).map_err(|problem| IoError::Rois(path.to_owned(), problem.into()))
}

/// Returns the notice on hot regions without a true ratio, which have no contrast recovery.
pub fn notice(rois: &[Roi]) -> Option<Notice> {
    let unknown = rois.iter().filter(|roi| roi.role == RoiRole::Hot && roi.activity_ratio.is_none());
    let names: Vec<String> = unknown.map(|roi| format!("'{}'", roi.name)).collect();
    (!names.is_empty()).then(|| {
        let names = names.join(", ");
        Notice::warning(format!(
            "hot ROI without a true activity ratio ('activity_ratio'): {names}; contrast recovery needs the ratio"
        ))
    })
}

/// Returns the notice on regions that the image contains in part.
pub fn partly_outside(rois: &[Roi], grid: &Grid) -> Option<Notice> {
    let parts = rois.iter().map(|roi| (&roi.name, roi.part_inside(grid)));
    let names: Vec<String> = parts
        .filter(|(_, part)| (f64::EPSILON..MOST_INSIDE).contains(part))
        .map(|(name, part)| format!("'{name}' ({:.0} % inside)", 100.0 * part))
        .collect();
    (!names.is_empty()).then(|| {
        let names = names.join(", ");
        Notice::warning(format!("partly outside the image: {names}; figures are of the part inside, and amounts too small"))
    })
}

/// Writes a ROI file: JSON if its name ends with `.json`, otherwise TOML.
///
/// # Errors
/// A region that would not read back, a failed write; an existing file then remains.
pub fn write_rois(path: &Path, rois: &[Roi]) -> Result<(), IoError> {
    let refused = |problem: RoiProblem| IoError::Rois(path.to_owned(), problem.into());
    let file = RoiFile { version: VERSION, roi: rois.iter().map(RoiEntry::from).collect() };
    for entry in &file.roi {
        entry.roi().map_err(|problem| refused(RoiProblem::Unreadable(entry.name.clone(), problem)))?;
    }
    let text = if is_json(path) {
        serde_json::to_string_pretty(&file).map_err(|error| refused(RoiProblem::NoJson(error)))?
    } else {
        toml::to_string(&file).map_err(|error| refused(RoiProblem::NoToml(error)))?
    };
    if text.len() as u64 > MAX_BYTES {
        return Err(refused(RoiProblem::TooLong(Excess { found: text.len() as u64, max: MAX_BYTES })));
    }
    write_whole(path, text.as_bytes())
}

/// Returns the fields of a region in files, as JSON.
pub fn json(roi: &Roi) -> serde_json::Value {
    serde_json::to_value(RoiEntry::from(roi)).unwrap_or_default()
}

fn is_json(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("json"))
}

fn parse_json(text: &str) -> Result<RoiFile, RoiProblem> {
    check_version(serde_json::from_str(text).ok(), &VERSIONS)?;
    serde_json::from_str(text).map_err(RoiProblem::Json)
}

/// Returns the regions of entries.
///
/// # Errors
/// An invalid entry.
pub fn of_entries(entries: &[RoiEntry]) -> Result<Vec<Roi>, RoiProblem> {
    let numbered = entries.iter().enumerate();
    numbered.map(|(i, entry)| entry.roi().map_err(|problem| RoiProblem::Region(i + 1, entry.name.clone(), problem))).collect()
}

/// A problem of a ROI file.
#[derive(Debug, thiserror::Error)]
pub enum RoiProblem {
    /// Invalid TOML, or another version.
    #[error(transparent)]
    Form(#[from] FormProblem),
    /// Invalid JSON.
    #[error("regions have a 'version' and a list 'roi'; {0}")]
    Json(serde_json::Error),
    /// An invalid region, by its number in the file, from 1, and its name.
    #[error("ROI {0} ('{1}'): {2}")]
    Region(usize, String, RegionProblem),
    /// A region, by its name, that would be invalid in the file.
    #[error("it could not be read back: '{0}': {1}")]
    Unreadable(String, RegionProblem),
    /// Regions without a JSON form.
    #[error("it could not be read back: {0}")]
    NoJson(serde_json::Error),
    /// Regions without a TOML form.
    #[error("it could not be read back: {0}")]
    NoToml(toml::ser::Error),
    /// Regions that make the file too long.
    #[error("it could not be read back: {} bytes are more than the {} that such a file can have", .0.found, .0.max)]
    TooLong(Excess<u64>),
}

coded!(RoiProblem = "io.roi-file");
