//! Threshold of lesions, and the voxels of a region that reach it.

use std::fmt;
use std::str::FromStr;

use crate::data::{ContourThreshold, IsocontourRecipe, Roi, RoiMask, RoiShape, Volume};
use crate::measure::isocontour::{NoIsocontour, largest, seed, voxels_above};

/// Rule that selects the voxels of a lesion.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LesionThreshold {
    /// The regions as they are.
    #[default]
    Regions,
    /// A part of the lesion's maximum, %.
    Percent(f64),
    /// A fixed value, in the unit of the image.
    Value(f64),
    /// 1.5 × mean + 2 SD of the liver, in SUL.
    Percist,
}

/// Text that is no threshold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected a part of the maximum (41%), a value (2.5) or percist")]
pub struct InvalidThreshold;

impl FromStr for LesionThreshold {
    type Err = InvalidThreshold;

    fn from_str(text: &str) -> Result<Self, InvalidThreshold> {
        let number = |text: &str| text.trim().parse::<f64>().ok().filter(|number| number.is_finite());
        let threshold = match text.trim().strip_suffix('%') {
            _ if text.trim().eq_ignore_ascii_case("percist") => Some(Self::Percist),
            Some(percent) => number(percent).filter(|percent| *percent > 0.0 && *percent <= 100.0).map(Self::Percent),
            None => number(text).map(Self::Value),
        };
        threshold.ok_or(InvalidThreshold)
    }
}

impl fmt::Display for LesionThreshold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Regions => f.write_str("regions as drawn"),
            Self::Percent(percent) => write!(f, "{percent} % of the maximum"),
            Self::Value(value) => write!(f, "{value}"),
            Self::Percist => f.write_str("PERCIST: 1.5 × mean + 2 SD of the liver"),
        }
    }
}

/// Voxels of a lesion in an image.
#[derive(Clone, Debug, PartialEq)]
pub struct LesionVoxels {
    /// Its voxels, with the part of each that lies inside; none where nothing reaches the threshold.
    pub mask: RoiMask,
    /// Voxels in which its maximum and its peak lie: its own, or those of the region where it has none.
    pub searched: RoiMask,
    /// The value that its voxels reach.
    pub threshold: Option<f64>,
}

/// Returns the voxels of a lesion, from a region and a threshold.
///
/// An isocontour is found again about its maximum. Any other region confines the lesion: of its voxels with at least half inside,
/// those that reach the threshold and are connected with the largest value, face to face.
///
/// # Errors
/// The region lies outside the image, or has no maximum above 0 with a threshold in %.
pub fn lesion_voxels(volume: &Volume, roi: &Roi, threshold: Option<ContourThreshold>) -> Result<LesionVoxels, NoIsocontour> {
    let grid = &volume.grid;
    let Some(threshold) = threshold else {
        let mask = roi.mask(grid);
        largest(volume.as_slice(), &mask).ok_or(NoIsocontour::Outside)?;
        return Ok(LesionVoxels { searched: mask.clone(), mask, threshold: None });
    };
    let (seed, is_confined) = match &roi.shape {
        RoiShape::Isocontour(contour) => (seed(grid, roi.centre_mm, IsocontourRecipe { threshold, ..contour.recipe }), false),
        _ => (at_least_half(&roi.mask(grid)), true),
    };
    let is_in_seed = |index: usize| seed.voxels.binary_search_by_key(&index, |(voxel, _)| *voxel as usize).is_ok();
    match voxels_above(volume, &seed, threshold, |index| !is_confined || is_in_seed(index)) {
        Ok(above) => {
            let mut voxels: Vec<(u32, f32)> = above.voxels.into_iter().map(|index| (index as u32, 1.0)).collect();
            voxels.sort_unstable_by_key(|(index, _)| *index);
            let mask = RoiMask { voxels: voxels.into() };
            Ok(LesionVoxels { searched: mask.clone(), mask, threshold: Some(above.threshold) })
        }
        Err(NoIsocontour::Below { threshold, .. }) => {
            Ok(LesionVoxels { mask: RoiMask::default(), searched: seed, threshold: Some(threshold) })
        }
        Err(error) => Err(error),
    }
}

/// Returns the voxels with at least half inside a region, each as a whole; those that it touches where it has none of them.
pub fn at_least_half(mask: &RoiMask) -> RoiMask {
    let whole = |min: f32| mask.voxels.iter().filter(move |(_, part)| *part >= min).map(|(index, _)| (*index, 1.0));
    let half: Vec<(u32, f32)> = whole(0.5).collect();
    let voxels = if half.is_empty() { whole(0.0).collect() } else { half };
    RoiMask { voxels: voxels.into() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::Grid;
    use crate::measure::isocontour;

    #[test]
    fn thresholds_are_read_from_text() {
        let parsed = ["41%", "41 %", "2.5", "percist", "PERCIST"].map(|text| text.parse::<LesionThreshold>().unwrap());
        let [percent, value] = [LesionThreshold::Percent(41.0), LesionThreshold::Value(2.5)];
        assert_eq!(parsed, [percent, percent, value, LesionThreshold::Percist, LesionThreshold::Percist]);
        for text in ["", "0%", "101%", "x", "nan", "inf", "2.5 g"] {
            assert!(text.parse::<LesionThreshold>().is_err(), "{text}");
        }
    }

    /// Values along x: two hills of 9 and 8 with 6 between them.
    fn hills() -> Volume {
        let values = vec![1.0, 5.0, 9.0, 6.0, 8.0, 3.0, 1.0];
        Volume::from_vec(Grid::centred([7, 1, 1], [2.0; 3]).unwrap(), values, Default::default()).unwrap()
    }

    #[test]
    fn a_region_confines_its_lesion_and_an_isocontour_grows_again() {
        let volume = hills();
        let indices = |voxels: &RoiMask| voxels.voxels.iter().map(|(index, _)| *index).collect::<Vec<_>>();
        // The voxels 1 to 3.
        let region = Roi::new("a", RoiShape::Box { size_mm: [6.0, 2.0, 2.0], plane: Default::default() }, [-2.0, 0.0, 0.0]);
        let found = lesion_voxels(&volume, &region, Some(ContourThreshold::Value(5.5))).unwrap();
        assert_eq!((indices(&found.mask), found.threshold), (vec![2, 3], Some(5.5)));
        let recipe = IsocontourRecipe { threshold: ContourThreshold::percent(80.0), seed_radius_mm: 3.0 };
        let contour = isocontour(&volume, [-2.0, 0.0, 0.0], recipe).unwrap();
        let region = Roi { shape: RoiShape::Isocontour(contour.into()), ..region };
        assert_eq!(indices(&lesion_voxels(&volume, &region, None).unwrap().mask), [2]);
        let found = lesion_voxels(&volume, &region, Some(ContourThreshold::Value(5.5))).unwrap();
        assert_eq!(indices(&found.mask), [2, 3, 4]);
    }

    #[test]
    fn a_lesion_below_the_threshold_has_no_voxels() {
        let region = Roi::new("a", RoiShape::Box { size_mm: [6.0, 2.0, 2.0], plane: Default::default() }, [-2.0, 0.0, 0.0]);
        let found = lesion_voxels(&hills(), &region, Some(ContourThreshold::Value(9.5))).unwrap();
        assert_eq!((found.mask.voxels.len(), found.searched.voxels.len(), found.threshold), (0, 3, Some(9.5)));
        let outside = Roi { centre_mm: [90.0, 0.0, 0.0], ..region };
        for threshold in [None, Some(ContourThreshold::Value(1.0))] {
            assert_eq!(lesion_voxels(&hills(), &outside, threshold), Err(NoIsocontour::Outside));
        }
    }
}
