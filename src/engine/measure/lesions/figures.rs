//! Numbers of a lesion.

use super::peak::{Peak, peak, peak_at};
use super::threshold::LesionVoxels;
use crate::data::Volume;
use crate::geometry::Point;
use crate::measure::isocontour::{NoIsocontour, largest};
use crate::measure::roi_stats::RoiStats;

/// Numbers of a lesion, in the unit of the image unless another one is named.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct LesionFigures {
    /// Largest value of a voxel.
    pub max: f64,
    /// Middle of this voxel, mm.
    pub max_mm: Point,
    /// Mean; `None` without voxels above the threshold.
    pub mean: Option<f64>,
    /// Standard deviation between its voxels; `None` of one voxel or less.
    pub sd: Option<f64>,
    /// Largest mean of a sphere of 1 mL with its centre in the lesion; `None` where every such sphere leaves the image.
    pub peak: Option<Peak>,
    /// Mean of a sphere of 1 mL about the voxel of the maximum; `None` where it leaves the image.
    pub peak_at_max: Option<f64>,
    /// The value that its voxels reach; `None` of a region as it is.
    pub threshold: Option<f64>,
    /// Number of voxels that it touches.
    pub num_voxels: usize,
    /// Volume, mL.
    pub volume_ml: f64,
    /// Its mean in the second image.
    pub second: Option<SecondMean>,
}

/// Value of a second image at a point of the first; `None` outside.
pub type SecondValue<'a> = &'a (dyn Fn(Point) -> Option<f64> + Sync);

/// Mean of a lesion in a second image.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct SecondMean {
    /// Mean of the values at the middles of its voxels, each with its part inside.
    pub mean: f64,
    /// Part of the lesion that lies in the second image, 0 … 1.
    pub part: f64,
}

impl LesionFigures {
    /// Returns the total glycolysis: mean × volume, mL in the unit of the image; 0 without voxels.
    pub fn total_ml(&self) -> f64 {
        self.mean.unwrap_or(0.0) * self.volume_ml
    }
}

/// Returns the numbers of a lesion; `second` has the value of a second image at a point of the image.
///
/// # Errors
/// The lesion lies outside the image, or has voxels without a finite number.
pub fn figures(volume: &Volume, voxels: &LesionVoxels, second: Option<SecondValue>) -> Result<LesionFigures, NoIsocontour> {
    let (grid, values) = (&volume.grid, volume.as_slice());
    let [nx, ny, _] = grid.size;
    let position = |index: usize| grid.mm_from_voxel([index % nx, index / nx % ny, index / (nx * ny)].map(|at| at as f64));
    let top = largest(values, &voxels.searched).ok_or(NoIsocontour::Outside)?;
    let stats = RoiStats::of(&voxels.mask.sums(values), grid.voxel_ml());
    if stats.is_none() && !voxels.mask.voxels.is_empty() {
        return Err(NoIsocontour::NotFinite);
    }
    // Without voxels 0, and not the sum −0.
    let weight = voxels.mask.voxels.iter().fold(0.0, |weight, (_, part)| weight + f64::from(*part));
    let second = second.and_then(|value| {
        let sums = voxels.mask.sums_with(|index| value(position(index)).map(|value| value as f32));
        Some(SecondMean { mean: RoiStats::of(&sums, 1.0)?.mean, part: sums.weight / weight })
    });
    Ok(LesionFigures {
        max: f64::from(values[top]),
        max_mm: position(top),
        mean: stats.map(|stats| stats.mean),
        sd: stats.and_then(|stats| stats.sd),
        peak: peak(volume, &super::threshold::at_least_half(&voxels.searched)),
        peak_at_max: peak_at(volume, top),
        threshold: voxels.threshold,
        num_voxels: voxels.mask.voxels.len(),
        volume_ml: weight * grid.voxel_ml(),
        second,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{ContourThreshold, Roi, RoiShape};
    use crate::geometry::Grid;
    use crate::measure::lesions::threshold::lesion_voxels;

    /// Radius of a ball of activity 8 in a background of 1, mm, about a point between voxels.
    const RADIUS_MM: f64 = 15.0;
    const CENTRE_MM: Point = [3.3, -2.1, 0.7];

    fn hot_ball() -> (Volume, Roi) {
        let grid = Grid::centred([40, 40, 30], [2.0, 2.0, 3.0]).unwrap();
        let roi = Roi::new("a", RoiShape::Sphere { radius_mm: RADIUS_MM }, CENTRE_MM);
        let mut volume = Volume::filled(grid, 1.0);
        for &(index, part) in roi.mask(&volume.grid).voxels.iter() {
            volume.as_mut_slice()[index as usize] += 7.0 * part;
        }
        (volume, roi)
    }

    #[test]
    fn a_ball_of_known_activity_has_its_volume_and_its_total() {
        let (volume, roi) = hot_ball();
        let expected_ml = 4.0 / 3.0 * std::f64::consts::PI * (0.1 * RADIUS_MM).powi(3);
        let second = |point: Point| (point[0] < 3.3).then_some(40.0);
        let of_region = figures(&volume, &lesion_voxels(&volume, &roi, None).unwrap(), Some(&second)).unwrap();
        assert!((of_region.volume_ml / expected_ml - 1.0).abs() < 2e-3, "{of_region:?}");
        assert!((of_region.max - 8.0).abs() < 1e-6 && (of_region.peak.unwrap().mean - 8.0).abs() < 1e-6);
        let half = of_region.second.unwrap();
        assert!(half.mean == 40.0 && (half.part - 0.5).abs() < 0.05, "{half:?}");
        // Half between ball and background: the volume of the ball.
        let larger = Roi { shape: RoiShape::Sphere { radius_mm: 22.0 }, ..roi };
        let above = lesion_voxels(&volume, &larger, Some(ContourThreshold::Value(4.5))).unwrap();
        let above = figures(&volume, &above, None).unwrap();
        assert!((above.volume_ml / expected_ml - 1.0).abs() < 0.02, "{above:?}");
        assert!((above.total_ml() / (8.0 * expected_ml) - 1.0).abs() < 0.06, "{above:?}");
        assert_eq!((above.threshold, above.second), (Some(4.5), None));
    }

    #[test]
    fn a_lesion_with_invalid_values_has_no_numbers() {
        let (mut volume, roi) = hot_ball();
        volume.values[(15, 19, 21)] = f32::NAN;
        let voxels = lesion_voxels(&volume, &roi, None).unwrap();
        assert_eq!(figures(&volume, &voxels, None), Err(NoIsocontour::NotFinite));
    }

    #[test]
    fn a_lesion_without_voxels_keeps_maximum_and_peak() {
        let (volume, roi) = hot_ball();
        let none = lesion_voxels(&volume, &roi, Some(ContourThreshold::Value(9.0))).unwrap();
        let none = figures(&volume, &none, Some(&|_| Some(1.0))).unwrap();
        assert_eq!((none.mean, none.volume_ml, none.total_ml(), none.second), (None, 0.0, 0.0, None));
        assert!((none.max - 8.0).abs() < 1e-6 && none.peak.is_some());
    }
}
