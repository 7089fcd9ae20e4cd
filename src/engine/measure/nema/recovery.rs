//! Recovery coefficients of the six hot spheres, as accreditation programmes of PET scanners limit them.
//!
//! ```text
//! RC = (X / C_B) / (a_H / a_B)      X: mean A50, max or peak of a sphere, C_B: mean of the background, a: true activities
//!
//! mean A50   mean of the voxels that reach (max + C_B) / 2 and are connected with the maximum
//! max        largest voxel inside the sphere
//! peak       largest mean of a sphere of 1 mL whose centre lies in the voxels of A50
//! ```
//!
//! X refers to the measured background, so that the calibration of the scanner has no effect. C_B is the mean of the means of the
//! 60 circles of 37 mm. Source of A50 and max: EANM Research Ltd (EARL), 18F accreditation; of peak: as for lesions.

use super::NemaError;
use super::placement::{LARGEST_MM, NemaPlacement};
use crate::coded::Problem;
use crate::data::nema::SPHERE_DIAMETERS_MM;
use crate::data::{ContourThreshold, RecoveryQuantity, Roi, RoiMask, RoiShape, Volume};
use crate::geometry::{Grid, Point};
use crate::measure::isocontour::{NoIsocontour, voxels_above};
use crate::measure::lesions::peak;

/// Radius about the centre of a sphere that its voxels of A50 do not leave, mm: less than half the distance of neighbours, and clear
/// of the lung insert.
const REACH_MM: f64 = 27.0;

/// Threshold of A50 between the background (0 %) and the maximum, %.
const A50_PERCENT: f64 = 50.0;

/// Recovery coefficients of a sphere, as fractions.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct SphereRecovery {
    /// Inner diameter, mm.
    pub diameter_mm: f64,
    /// Coefficient of the mean A50.
    pub mean_a50: f64,
    /// Coefficient of the maximum.
    pub max: f64,
    /// Coefficient of the peak; `None` where it was not requested.
    pub peak: Option<f64>,
}

impl SphereRecovery {
    /// Returns the coefficient of a quantity; `None` for a peak that was not requested.
    pub fn of(&self, quantity: RecoveryQuantity) -> Option<f64> {
        match quantity {
            RecoveryQuantity::MeanA50 => Some(self.mean_a50),
            RecoveryQuantity::Max => Some(self.max),
            RecoveryQuantity::Peak => self.peak,
        }
    }
}

/// Recovery coefficients of an image.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Recovery {
    /// Mean of the background, in the image's unit.
    pub background_mean: f64,
    /// Spheres, the smallest first.
    pub spheres: [SphereRecovery; 6],
}

/// Regions of the six hot spheres and the background on a grid, for images of one placement.
pub struct RecoveryRegions {
    grid: Grid,
    activity_ratio: f64,
    background: Vec<RoiMask>,
    /// Inside of each sphere, and the ball that its voxels do not leave; the smallest sphere first.
    spheres: Vec<[RoiMask; 2]>,
}

impl RecoveryRegions {
    /// Returns the regions of a placement, with the true activity ratio of the spheres to the background.
    ///
    /// # Errors
    /// No ratio, or one of at most 1; a cold sphere; regions outside the image.
    pub fn new(placement: &NemaPlacement, grid: &Grid, activity_ratio: Option<f64>) -> Result<Self, NemaError> {
        let activity_ratio = activity_ratio.ok_or(NemaError::NoRatio)?;
        if !(activity_ratio > 1.0 && activity_ratio.is_finite()) {
            return Err(NemaError::HotRatio(activity_ratio));
        }
        let spheres = placement.by_diameter().map(|place| placement.spheres[place]);
        let cold = spheres.iter().filter(|sphere| !sphere.is_hot);
        if let Some(largest) = cold.clone().next_back() {
            return Err(NemaError::ColdSpheres { num: cold.count(), largest_mm: largest.diameter_mm });
        }
        let ball = |radius_mm: f64, centre_mm: Point| Roi::new("", RoiShape::Sphere { radius_mm }, centre_mm).mask(grid);
        let spheres = spheres.map(|sphere| [0.5 * sphere.diameter_mm, REACH_MM].map(|radius| ball(radius, sphere.centre_mm)));
        let background: Vec<RoiMask> = placement.background_rois(LARGEST_MM).iter().map(|roi| roi.mask(grid)).collect();
        if background.is_empty() || background.iter().any(|mask| mask.voxels.is_empty()) {
            return Err(NemaError::Outside { what: "a circle of the background" });
        }
        Ok(Self { grid: grid.clone(), activity_ratio, background, spheres: spheres.to_vec() })
    }

    /// Measures an image, its peaks if they are requested.
    ///
    /// # Errors
    /// The image is on another grid, or its background is not positive; a sphere lies outside.
    pub fn measure(&self, volume: &Volume, with_peak: bool) -> Result<Recovery, NemaError> {
        if !volume.grid.same_as(&self.grid) {
            return Err(NemaError::Outside { what: "the template, which is of an image on another grid," });
        }
        let means = self.background.iter().map(|mask| mask.sums(volume.as_slice())).map(|sums| sums.sum / sums.weight);
        let background_mean = means.sum::<f64>() / self.background.len() as f64;
        if !(background_mean > 0.0 && background_mean.is_finite()) {
            return Err(NemaError::Background { mean: background_mean });
        }
        let mut spheres =
            SPHERE_DIAMETERS_MM.map(|diameter_mm| SphereRecovery { diameter_mm, mean_a50: 0.0, max: 0.0, peak: None });
        for (sphere, regions) in spheres.iter_mut().zip(&self.spheres) {
            let values = quantities(volume, regions, background_mean, with_peak)?;
            let coefficient = |value: f64| value / background_mean / self.activity_ratio;
            (sphere.mean_a50, sphere.max) = (coefficient(values.mean_a50), coefficient(values.max));
            sphere.peak = values.peak.map(coefficient);
        }
        Ok(Recovery { background_mean, spheres })
    }
}

/// Values of a sphere in the image's unit.
struct Quantities {
    mean_a50: f64,
    max: f64,
    peak: Option<f64>,
}

fn quantities(
    volume: &Volume,
    [inside, reach]: &[RoiMask; 2],
    background: f64,
    with_peak: bool,
) -> Result<Quantities, NemaError> {
    let threshold = ContourThreshold::OfMaximum { percent: A50_PERCENT, background: Some(background) };
    let is_in_reach = |index: usize| reach.voxels.binary_search_by_key(&index, |(voxel, _)| *voxel as usize).is_ok();
    let values = volume.as_slice();
    let voxels = match voxels_above(volume, inside, threshold, is_in_reach) {
        Ok(above) => above.voxels,
        // A sphere that does not rise above the background consists of its maximum.
        Err(NoIsocontour::NoMaximum { .. }) => crate::measure::isocontour::largest(values, inside).into_iter().collect(),
        Err(_) => Vec::new(),
    };
    let Some(&top) = voxels.first() else { return Err(NemaError::Outside { what: "a sphere" }) };
    let sum: f64 = voxels.iter().map(|index| f64::from(values[*index])).sum();
    let peak = match with_peak {
        false => None,
        true => {
            let mut lesion: Vec<(u32, f32)> = voxels.iter().map(|index| (*index as u32, 1.0)).collect();
            lesion.sort_unstable_by_key(|(index, _)| *index);
            let found = peak(volume, &RoiMask { voxels: lesion.into() });
            Some(found.ok_or(NemaError::Outside { what: "the sphere of 1 mL of a peak" })?.mean)
        }
    };
    Ok(Quantities { mean_a50: sum / voxels.len() as f64, max: f64::from(values[top]), peak })
}

/// Recovery coefficients of a full iteration after a post-filter.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct RecoveryPoint {
    /// Number of completed full iterations.
    pub iteration: usize,
    /// FWHM of the Gaussian post-filter, mm; 0 = none.
    pub filter_mm: f64,
    /// Coefficients, or the reason why there are none.
    pub outcome: Result<Recovery, Problem>,
}
