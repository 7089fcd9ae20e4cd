//! PERCIST: the threshold from the liver.
//!
//! A lesion is measurable at baseline where its peak (SULpeak) is at least 1.5 × mean + 2 SD of a sphere of 3 cm in the right lobe of
//! the liver, in uptake values by lean body mass. The livers of two images are comparable where their means differ by at most
//! 0.3 SUL and by less than 20 %. Source: Wahl et al. 2009, J Nucl Med 50 (Suppl 1):122S.

use super::NoLesions;
use crate::data::{Roi, RoiShape, Unit, Volume};
use crate::measure::roi_stats::RoiStats;

/// Diameter of the sphere in the liver, mm.
pub const LIVER_DIAMETER_MM: f64 = 30.0;

/// Largest difference of the livers of two images, SUL and a part of the first.
const MAX_DIFFERENCE: (f64, f64) = (0.3, 0.2);

/// Liver of an image.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct LiverReference {
    /// Mean of the sphere.
    pub mean: f64,
    /// Standard deviation between its voxels.
    pub sd: f64,
}

impl LiverReference {
    /// Returns the threshold of PERCIST: 1.5 × mean + 2 SD.
    pub fn threshold(&self) -> f64 {
        1.5 * self.mean + 2.0 * self.sd
    }

    /// Returns true if the liver of a later image has nearly the same mean.
    pub fn is_comparable(&self, later: &Self) -> bool {
        let difference = (later.mean - self.mean).abs();
        difference <= MAX_DIFFERENCE.0 && difference < MAX_DIFFERENCE.1 * self.mean
    }
}

/// Returns the liver of an image: a sphere of 3 cm about the centre of a region.
///
/// # Errors
/// Another unit than SUL; a sphere that is not wholly in the image, or with values that are no numbers.
pub fn liver(volume: &Volume, region: &Roi) -> Result<LiverReference, NoLesions> {
    if !matches!(volume.unit, Unit::SuvLeanJanmahasatian | Unit::SuvLeanJames) {
        return Err(NoLesions::PercistUnit(volume.unit));
    }
    let radius_mm = 0.5 * LIVER_DIAMETER_MM;
    let grid = &volume.grid;
    let is_in_image = (0..3).all(|a| {
        let [low, high] = grid.extent_mm(a);
        region.centre_mm[a] - radius_mm >= low && region.centre_mm[a] + radius_mm <= high
    });
    if !is_in_image {
        return Err(NoLesions::LiverOutside(region.name.clone()));
    }
    let mask = Roi::new("", RoiShape::Sphere { radius_mm }, region.centre_mm).mask(grid);
    let stats = RoiStats::of(&mask.sums(volume.as_slice()), grid.voxel_ml());
    let values = stats.and_then(|stats| Some(LiverReference { mean: stats.mean, sd: stats.sd? }));
    values.ok_or_else(|| NoLesions::LiverValues(region.name.clone()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::Grid;

    #[test]
    fn the_threshold_is_one_and_a_half_means_and_two_standard_deviations() {
        let mut volume = Volume::filled(Grid::centred([30; 3], [2.0; 3]).unwrap(), 0.0);
        // 1.8 and 2.2 in turn.
        for ((z, y, x), value) in volume.values.indexed_iter_mut() {
            *value = if (x + y + z) % 2 == 0 { 1.8 } else { 2.2 };
        }
        let region = Roi::new("liver", RoiShape::Sphere { radius_mm: 15.0 }, [2.0, -3.0, 1.0]);
        assert_eq!(liver(&volume, &region), Err(NoLesions::PercistUnit(Unit::CountsPerMm)));
        volume.unit = Unit::SuvBodyWeight;
        assert_eq!(liver(&volume, &region), Err(NoLesions::PercistUnit(Unit::SuvBodyWeight)));
        for unit in [Unit::SuvLeanJames, Unit::SuvLeanJanmahasatian] {
            volume.unit = unit;
            let found = liver(&volume, &region).unwrap();
            assert!((found.mean - 2.0).abs() < 2e-3 && (found.sd - 0.2).abs() < 1e-3, "{found:?}");
            assert!((found.threshold() - 3.4).abs() < 5e-3, "{found:?}");
        }
        let beside = Roi { centre_mm: [20.0, 0.0, 0.0], ..region };
        assert_eq!(liver(&volume, &beside), Err(NoLesions::LiverOutside("liver".into())));
    }

    #[test]
    fn livers_are_comparable_within_both_limits() {
        let liver = |mean| LiverReference { mean, sd: 0.2 };
        assert!(liver(2.0).is_comparable(&liver(2.25)) && liver(2.0).is_comparable(&liver(1.75)));
        assert!(!liver(2.0).is_comparable(&liver(2.35)), "more than 0.3");
        assert!(!liver(1.0).is_comparable(&liver(1.25)), "more than 20 %");
    }
}
