//! The fields of a region of interest in a file.
//!
//! An isocontour is written with the voxels that it found, for they depend on the image that it was found in:
//!
//! ```toml
//! [roi.isocontour]
//! percent = 50.0                   # of the maximum …
//! background = 1.2                 # … counted from this value; without it from 0
//! value = 2.5                      # in place of both: a fixed threshold, in the unit of the image
//! seed_radius_mm = 15.0            # of the ball about the centre in which the maximum was searched
//! threshold = 3.1                  # the value that its voxels reached, in the unit of that image
//! size = [12, 11, 5]               # of a grid that holds them all, along x, y, z
//! voxel_mm = [2.73, 2.73, 3.27]
//! first_mm = [-15.0, -13.7, -6.5]  # centre of its first voxel, from the region's centre
//! runs = [[4, 3], [15, 6]]         # which belong to it: the first of a run, x fastest, and how many
//! ```
//!
//! Voxels of another file, such as a segment of a DICOM segmentation, are a table `roi.voxels` of the last four.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::data::ActivityRatioError;
use crate::data::{
    ContourThreshold, Isocontour, IsocontourRecipe, Roi, RoiPlane, RoiRole, RoiShape, Voxels, validate_activity_ratio,
};
use crate::geometry::{Grid, GridError};
use crate::io::error::Excess;

/// Fields of a region in a file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RoiEntry {
    /// Name.
    pub name: String,
    shape: String,
    centre_mm: [f64; 3],
    #[serde(skip_serializing_if = "Option::is_none")]
    radius_mm: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    size_mm: Option<Vec<f64>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    points_mm: Option<Vec<[f64; 2]>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    plane: Option<RoiPlane>,
    #[serde(skip_serializing_if = "Option::is_none")]
    angle_deg: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thickness_mm: Option<f64>,
    #[serde(default)]
    role: RoiRole,
    #[serde(skip_serializing_if = "Option::is_none")]
    activity_ratio: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    colour: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    isocontour: Option<ContourEntry>,
    #[serde(skip_serializing_if = "Option::is_none")]
    voxels: Option<VoxelEntry>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ContourEntry {
    #[serde(skip_serializing_if = "Option::is_none")]
    percent: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    background: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<f64>,
    seed_radius_mm: f64,
    threshold: f64,
    size: [usize; 3],
    voxel_mm: [f64; 3],
    first_mm: [f64; 3],
    runs: Vec<[usize; 2]>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct VoxelEntry {
    size: [usize; 3],
    voxel_mm: [f64; 3],
    first_mm: [f64; 3],
    runs: Vec<[usize; 2]>,
}

impl RoiEntry {
    /// Returns the region.
    ///
    /// # Errors
    /// A field is missing, superfluous or out of range.
    pub fn roi(&self) -> Result<Roi, RegionProblem> {
        if !self.centre_mm.iter().all(|c| c.is_finite()) {
            return Err(RegionProblem::Field("centre_mm", "three numbers"));
        }
        let activity_ratio = self.activity_ratio.map(validate_activity_ratio).transpose()?;
        let shape = self.shape()?;
        self.check_fields(&shape)?;
        let angle_deg = self.angle_deg.unwrap_or(0.0);
        if !angle_deg.is_finite() {
            return Err(RegionProblem::Field("angle_deg", "a number"));
        }
        if self.thickness_mm.is_some_and(|thickness| !is_length(thickness)) {
            let expected = "a positive length; leave it out for one slice";
            return Err(RegionProblem::Field("thickness_mm", expected));
        }
        let colour = self.colour.as_deref().map(colour).transpose()?;
        let (thickness_mm, role) = (self.thickness_mm, self.role);
        let plain = Roi::new(self.name.as_str(), shape, self.centre_mm);
        Ok(Roi { angle_deg, thickness_mm, role, activity_ratio, colour, ..plain })
    }

    fn shape(&self) -> Result<RoiShape, RegionProblem> {
        let plane = self.plane.unwrap_or_default();
        Ok(match self.shape.as_str() {
            "circle" => RoiShape::Circle { radius_mm: self.radius()?, plane },
            "sphere" => RoiShape::Sphere { radius_mm: self.radius()? },
            "rectangle" => RoiShape::Rectangle { size_mm: self.size("two positive lengths")?, plane },
            "ellipse" => RoiShape::Ellipse { size_mm: self.size("two positive lengths")?, plane },
            "ellipsoid" => RoiShape::Ellipsoid { size_mm: self.size("three positive lengths")?, plane },
            "box" => RoiShape::Box { size_mm: self.size("three positive lengths")?, plane },
            "polygon" => {
                let points =
                    self.points_mm.as_ref().filter(|points| points.len() >= 3 && points.iter().flatten().all(|v| v.is_finite()));
                let expected = "three corners or more, each two lengths from the centre";
                let points = points.ok_or_else(|| self.needs("points_mm", expected))?;
                RoiShape::Polygon { points_mm: points.as_slice().into(), plane }
            }
            "isocontour" => {
                let entry = self.isocontour.as_ref().ok_or_else(|| self.needs("isocontour", "a table with its voxels"))?;
                RoiShape::Isocontour(Arc::new(entry.contour()?))
            }
            "voxels" => {
                let entry = self.voxels.as_ref().ok_or_else(|| self.needs("voxels", "a table with its voxels"))?;
                RoiShape::Voxels(Arc::new(voxels(entry.size, entry.voxel_mm, entry.first_mm, &entry.runs)?))
            }
            other => return Err(RegionProblem::UnknownShape(other.to_owned())),
        })
    }

    fn radius(&self) -> Result<f64, RegionProblem> {
        self.radius_mm.filter(|radius| is_length(*radius)).ok_or_else(|| self.needs("radius_mm", "a positive length"))
    }

    fn size<const N: usize>(&self, expected: &'static str) -> Result<[f64; N], RegionProblem> {
        let size: Option<[f64; N]> = self.size_mm.as_deref().and_then(|sides| sides.try_into().ok());
        let size = size.filter(|sides| sides.iter().all(|side| is_length(*side)));
        size.ok_or_else(|| self.needs("size_mm", expected))
    }

    fn needs(&self, field: &'static str, expected: &'static str) -> RegionProblem {
        RegionProblem::MemoryNeeds(self.shape.clone(), field, expected)
    }

    /// Refuses a field that the shape does not have.
    fn check_fields(&self, shape: &RoiShape) -> Result<(), RegionProblem> {
        use RoiShape::{Box, Circle, Ellipse, Ellipsoid, Isocontour, Polygon, Rectangle, Sphere, Voxels};
        let fields = [
            ("radius_mm", self.radius_mm.is_some(), matches!(shape, Circle { .. } | Sphere { .. })),
            (
                "size_mm",
                self.size_mm.is_some(),
                matches!(shape, Rectangle { .. } | Ellipse { .. } | Ellipsoid { .. } | Box { .. }),
            ),
            ("points_mm", self.points_mm.is_some(), matches!(shape, Polygon { .. })),
            ("plane", self.plane.is_some(), shape.plane().is_some()),
            ("angle_deg", self.angle_deg.is_some(), shape.can_turn()),
            ("thickness_mm", self.thickness_mm.is_some(), shape.is_flat()),
            ("isocontour", self.isocontour.is_some(), matches!(shape, Isocontour(_))),
            ("voxels", self.voxels.is_some(), matches!(shape, Voxels(_))),
        ];
        match fields.into_iter().find(|(_, is_present, belongs)| *is_present && !belongs) {
            Some((field, ..)) => Err(RegionProblem::NoField(self.shape.clone(), field)),
            None => Ok(()),
        }
    }
}

impl From<&Roi> for RoiEntry {
    fn from(roi: &Roi) -> Self {
        let mut entry = Self {
            name: roi.name.clone(),
            shape: roi.shape.name().to_owned(),
            centre_mm: roi.centre_mm,
            radius_mm: None,
            size_mm: None,
            points_mm: None,
            plane: roi.shape.plane(),
            angle_deg: Some(roi.angle_deg).filter(|angle| *angle != 0.0 && roi.shape.can_turn()),
            thickness_mm: roi.thickness_mm.filter(|_| roi.shape.is_flat()),
            role: roi.role,
            activity_ratio: roi.activity_ratio,
            colour: roi.colour.map(|[red, green, blue]| format!("#{red:02x}{green:02x}{blue:02x}")),
            isocontour: None,
            voxels: None,
        };
        match &roi.shape {
            RoiShape::Circle { radius_mm, .. } | RoiShape::Sphere { radius_mm } => entry.radius_mm = Some(*radius_mm),
            RoiShape::Rectangle { size_mm, .. } | RoiShape::Ellipse { size_mm, .. } => entry.size_mm = Some(size_mm.to_vec()),
            RoiShape::Ellipsoid { size_mm, .. } | RoiShape::Box { size_mm, .. } => entry.size_mm = Some(size_mm.to_vec()),
            RoiShape::Polygon { points_mm, .. } => entry.points_mm = Some(points_mm.to_vec()),
            RoiShape::Isocontour(contour) => entry.isocontour = Some(contour.as_ref().into()),
            RoiShape::Voxels(voxels) => {
                let Grid { size, voxel_mm, origin_mm } = *voxels.grid();
                entry.voxels = Some(VoxelEntry { size, voxel_mm, first_mm: origin_mm, runs: runs(voxels) });
            }
        }
        entry
    }
}

impl ContourEntry {
    fn contour(&self) -> Result<Isocontour, RegionProblem> {
        let Self { percent, background, value, seed_radius_mm, threshold, .. } = *self;
        let numbers = [("percent", percent), ("threshold", Some(threshold)), ("background", background), ("value", value)];
        if let Some((field, _)) = numbers.into_iter().find(|(_, number)| number.is_some_and(|number| !number.is_finite())) {
            return Err(RegionProblem::Field(field, "a number"));
        }
        let of_recipe = match (percent, background, value) {
            (Some(percent), background, None) => ContourThreshold::OfMaximum { percent, background },
            (None, None, Some(value)) => ContourThreshold::Value(value),
            _ => return Err(RegionProblem::Thresholds),
        };
        if !is_length(seed_radius_mm) {
            return Err(RegionProblem::Field("seed_radius_mm", "a positive length"));
        }
        let recipe = IsocontourRecipe { threshold: of_recipe, seed_radius_mm };
        let voxels = voxels(self.size, self.voxel_mm, self.first_mm, &self.runs)?;
        Ok(Isocontour { recipe, threshold, voxels })
    }
}

impl From<&Isocontour> for ContourEntry {
    fn from(contour: &Isocontour) -> Self {
        let IsocontourRecipe { threshold: of_recipe, seed_radius_mm } = contour.recipe;
        let (percent, background, value) = match of_recipe {
            ContourThreshold::OfMaximum { percent, background } => (Some(percent), background, None),
            ContourThreshold::Value(value) => (None, None, Some(value)),
        };
        let Grid { size, voxel_mm, origin_mm } = *contour.voxels.grid();
        let runs = runs(&contour.voxels);
        let threshold = contour.threshold;
        Self { percent, background, value, seed_radius_mm, threshold, size, voxel_mm, first_mm: origin_mm, runs }
    }
}

/// Returns voxels from the runs of those that belong to a region.
fn voxels(size: [usize; 3], voxel_mm: [f64; 3], first_mm: [f64; 3], runs: &[[usize; 2]]) -> Result<Voxels, RegionProblem> {
    let grid = Grid::new(size, voxel_mm, first_mm)?;
    let num = grid.num_voxels();
    if num > Voxels::MAX {
        return Err(RegionProblem::ManyVoxels(Excess { found: num, max: Voxels::MAX }));
    }
    let mut is_inside = vec![false; num];
    for &[first, count] in runs {
        let run = first.checked_add(count).and_then(|end| is_inside.get_mut(first..end));
        run.ok_or(RegionProblem::Run([first, count], num))?.fill(true);
    }
    Voxels::new(grid, is_inside).ok_or(RegionProblem::Voxels)
}

/// Returns the runs of voxels that belong to a region: the first of each, and their number.
fn runs(voxels: &Voxels) -> Vec<[usize; 2]> {
    let mut first = 0;
    let mut runs = Vec::new();
    for run in voxels.is_inside().chunk_by(|a, b| a == b) {
        if run[0] {
            runs.push([first, run.len()]);
        }
        first += run.len();
    }
    runs
}

fn is_length(length: f64) -> bool {
    length.is_finite() && length > 0.0
}

/// Form of a colour.
const COLOUR: &str = "like \"#d6581e\": red, green and blue, two digits each";

/// Reads red, green and blue from `#rrggbb`.
fn colour(text: &str) -> Result<[u8; 3], RegionProblem> {
    let digits = text.strip_prefix('#').filter(|digits| digits.len() == 6 && digits.bytes().all(|b| b.is_ascii_hexdigit()));
    let value = digits.and_then(|digits| u32::from_str_radix(digits, 16).ok());
    let [_, red, green, blue] = value.ok_or(RegionProblem::Field("colour", COLOUR))?.to_be_bytes();
    Ok([red, green, blue])
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
