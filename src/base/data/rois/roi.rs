//! Regions of interest: a shape in mm with a name and a role.

use super::shape::{RoiPlane, RoiShape};
use crate::coded::coded;
use crate::geometry::Point;

/// Role of a ROI in noise and contrast.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, strum::IntoStaticStr, strum::VariantArray,
)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum RoiRole {
    /// Only its own numbers.
    #[default]
    None,
    /// Uniform background: gives the noise-to-signal ratio and the reference of contrast.
    Background,
    /// Hotter than the background.
    Hot,
    /// Without activity.
    Cold,
}

impl RoiRole {
    /// Returns its name in files and in the window.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// A named region of interest.
///
/// ```
/// use tomoscope_base::data::{Roi, RoiShape, Volume};
/// use tomoscope_base::geometry::{Grid, GridError};
///
/// let image = Volume::filled(Grid::centred([20, 20, 20], [1.0; 3])?, 2.0);
/// let sphere = Roi::new("sphere", RoiShape::Sphere { radius_mm: 6.0 }, [0.0; 3]);
/// let sums = sphere.mask(&image.grid).sums(image.as_slice());
/// assert!((sums.sum / sums.weight - 2.0).abs() < 1e-6);
/// // The sum of the weights is the sphere's volume in voxels, here of 1 mm³.
/// assert!((sums.weight / 904.8 - 1.0).abs() < 0.02);
/// # Ok::<(), GridError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Roi {
    /// Name in tables and files.
    pub name: String,
    /// Shape and size.
    pub shape: RoiShape,
    /// Centre, world mm.
    pub centre_mm: Point,
    /// Rotation in its plane, from the plane's horizontal axis towards the vertical one, degrees.
    pub angle_deg: f64,
    /// Thickness of a flat shape along its plane's normal, half to each side, mm. `None` = it is in the slice nearest to its
    /// centre.
    pub thickness_mm: Option<f64>,
    /// Its role.
    pub role: RoiRole,
    /// True ratio of its activity to the background's (hot ROIs), for contrast recovery; see [`validate_activity_ratio`]. `None`
    /// until it is set.
    pub activity_ratio: Option<f64>,
    /// Colour of its outline and curves: red, green, blue. `None` = it is given one when it is shown.
    pub colour: Option<[u8; 3]>,
}

impl Roi {
    /// Returns a region that is not turned, without thickness, role and colour.
    pub fn new(name: impl Into<String>, shape: RoiShape, centre_mm: Point) -> Self {
        Self {
            name: name.into(),
            shape,
            centre_mm,
            angle_deg: 0.0,
            thickness_mm: None,
            role: RoiRole::None,
            activity_ratio: None,
            colour: None,
        }
    }

    /// Returns a circle in a transaxial plane.
    pub fn circle(name: impl Into<String>, centre_mm: Point, radius_mm: f64, role: RoiRole) -> Self {
        let shape = RoiShape::Circle { radius_mm, plane: RoiPlane::Transaxial };
        Self { role, ..Self::new(name, shape, centre_mm) }
    }

    /// Returns true if it has the shape and the position of another, and so covers the same voxels.
    pub fn covers_same(&self, other: &Roi) -> bool {
        self.shape == other.shape
            && self.centre_mm == other.centre_mm
            && self.angle_deg == other.angle_deg
            && self.thickness_mm == other.thickness_mm
    }

    /// Returns the region with all lengths multiplied by `factor`.
    pub fn scaled(&self, factor: f64) -> Self {
        let (shape, centre_mm) = (self.shape.scaled(factor), self.centre_mm.map(|v| v * factor));
        Self { shape, centre_mm, thickness_mm: self.thickness_mm.map(|thickness| thickness * factor), ..self.clone() }
    }

    /// Returns its image in the plane x = 0: left and right are exchanged.
    pub fn mirrored_x(&self) -> Self {
        let [x, y, z] = self.centre_mm;
        // In a plane without x nothing is to be seen of it.
        let has_x = self.shape.plane().is_some_and(|plane| plane.axes().0.contains(&0));
        let angle_deg = if has_x { -self.angle_deg } else { self.angle_deg };
        Self { shape: self.shape.mirrored_x(), centre_mm: [-x, y, z], angle_deg, ..self.clone() }
    }
}

/// Reason for which a number is not the true ratio of a hot ROI's activity to the background's.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum ActivityRatioError {
    /// Zero, negative, or not a number.
    #[error(
        "a true activity ratio must be a positive number, found {0}: it is the region's activity over the background's (a cold region needs none)"
    )]
    NotPositive(f64),
    /// As active as the background.
    #[error(
        "a true activity ratio of 1 leaves no contrast to recover: enter the region's activity over the background's, or give it no role"
    )]
    NoContrast,
}

coded!(ActivityRatioError = "activity-ratio");

/// Returns a true ratio of activities, if it can be one.
///
/// # Errors
/// It is not positive and finite, or 1.
pub fn validate_activity_ratio(ratio: f64) -> Result<f64, ActivityRatioError> {
    match ratio {
        1.0 => Err(ActivityRatioError::NoContrast),
        _ if ratio.is_finite() && ratio > 0.0 => Ok(ratio),
        _ => Err(ActivityRatioError::NotPositive(ratio)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ratio_is_positive_and_not_one() {
        assert_eq!([0.25, 4.0].map(validate_activity_ratio), [Ok(0.25), Ok(4.0)]);
        assert_eq!(validate_activity_ratio(1.0), Err(ActivityRatioError::NoContrast));
        for ratio in [0.0, -2.0, f64::INFINITY, f64::NAN] {
            assert!(matches!(validate_activity_ratio(ratio), Err(ActivityRatioError::NotPositive(_))), "{ratio}");
        }
    }
}
