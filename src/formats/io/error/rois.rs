//! Problems of ROI files.

use super::Excess;
use super::form::FormProblem;
use crate::data::ActivityRatioError;
use crate::geometry::GridError;

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

/// A problem of a region.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum RegionProblem {
    /// A shape that is not known.
    #[error(
        "the shape '{0}' is not known; use circle, ellipse, rectangle, polygon, sphere, ellipsoid, box, isocontour or voxels"
    )]
    UnknownShape(String),
    /// A field of a shape that is missing or out of range, and its expected value: "a positive length".
    #[error("the shape '{0}' needs '{1}', {2}")]
    MemoryNeeds(String, &'static str, &'static str),
    /// A field that a shape does not have.
    #[error("the shape '{0}' has no '{1}'")]
    NoField(String, &'static str),
    /// A field that is out of range, and its expected value.
    #[error("'{0}' must be {1}")]
    Field(&'static str, &'static str),
    /// A true activity ratio that is out of range.
    #[error("'activity_ratio': {0}")]
    ActivityRatio(#[from] ActivityRatioError),
    /// No threshold of an isocontour, or two.
    #[error("'isocontour' needs 'percent', possibly with 'background', or 'value'")]
    Thresholds,
    /// An impossible grid of voxels.
    #[error("its voxels: {0}")]
    Grid(#[from] GridError),
    /// Too many voxels.
    #[error("its grid has {} voxels; at most {} are read", .0.found, .0.max)]
    ManyVoxels(Excess),
    /// A run of voxels (the first and their number) that leaves the grid, and the number of its voxels.
    #[error("its voxels: the run [{}, {}] leaves the grid of {} voxels", .0[0], .0[1], .1)]
    Run([usize; 2], usize),
    /// Another number of voxels than the grid has.
    #[error("its voxels are not those of its grid")]
    Voxels,
}
