//! What can be wrong in a ROI file.

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
    /// An invalid region.
    #[error("ROI {number} ('{name}'): {problem}")]
    Region {
        /// Its number in the file, from 1.
        number: usize,
        /// Its name.
        name: String,
        /// The problem.
        problem: RegionProblem,
    },
    /// A region that would be invalid in the file.
    #[error("it could not be read back: '{name}': {problem}")]
    Unreadable {
        /// Its name.
        name: String,
        /// The problem.
        problem: RegionProblem,
    },
    /// Regions without a JSON form.
    #[error("it could not be read back: {0}")]
    NoJson(serde_json::Error),
    /// Regions without a TOML form.
    #[error("it could not be read back: {0}")]
    NoToml(toml::ser::Error),
    /// Regions that make the file too long.
    #[error("it could not be read back: {found} bytes are more than the {most} that such a file can have")]
    TooLong {
        /// Bytes of the file.
        found: usize,
        /// Bytes that are read.
        most: u64,
    },
}

/// A problem of a region.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum RegionProblem {
    /// A shape that is not known.
    #[error("the shape '{0}' is not known; use circle, ellipse, rectangle, polygon, sphere, ellipsoid, box or isocontour")]
    UnknownShape(String),
    /// A field that is missing or out of range.
    #[error("the shape '{shape}' needs '{field}', {expected}")]
    Needs {
        /// Name of the shape.
        shape: String,
        /// Name of the field.
        field: &'static str,
        /// Its values: "a positive length".
        expected: &'static str,
    },
    /// A field that the shape does not have.
    #[error("the shape '{shape}' has no '{field}'")]
    NoField {
        /// Name of the shape.
        shape: String,
        /// Name of the field.
        field: &'static str,
    },
    /// A field that is out of range.
    #[error("'{field}' must be {expected}")]
    Field {
        /// Name of the field.
        field: &'static str,
        /// Its values.
        expected: &'static str,
    },
    /// A true activity ratio that is out of range.
    #[error("'activity_ratio': {0}")]
    ActivityRatio(#[from] ActivityRatioError),
    /// An impossible grid of an isocontour.
    #[error("'isocontour': {0}")]
    Grid(#[from] GridError),
    /// Too many voxels of an isocontour.
    #[error("'isocontour': {found} voxels are more than the {most} that it can have")]
    ManyVoxels {
        /// Voxels of its grid.
        found: usize,
        /// Voxels that are read.
        most: usize,
    },
    /// A run of voxels that leaves the grid of an isocontour.
    #[error("'isocontour': the run [{}, {}] leaves its {num_voxels} voxels", .run[0], .run[1])]
    Run {
        /// The first voxel and their number.
        run: [usize; 2],
        /// Voxels of its grid.
        num_voxels: usize,
    },
    /// Another number of voxels than the grid of an isocontour has.
    #[error("'isocontour': its voxels are not those of its grid")]
    Voxels,
}
