//! Numbers of the ROIs in the displayed image, for the table.

use crate::data::{MaskedRois, Roi, RoiRole, RoiSums, ValueScale, Volume};
use crate::measure;
use crate::session::{RoiNumbers, roi_numbers};
use crate::ui::widgets::format;

/// Returns the reason why the recovery of a ROI is unknown.
pub fn recovery_refusal(rois: &[Roi], roi: &Roi) -> &'static str {
    match (roi.role, roi.activity_ratio) {
        (RoiRole::None | RoiRole::Background, _) => "only regions of the role hot or cold have a recovery",
        (RoiRole::Hot, None) => "enter the true ratio of its activity to the background's: without it there is no recovery",
        _ if rois.iter().all(|roi| roi.role != RoiRole::Background) => "needs a region of the role background",
        _ => "the region contains no voxel centre of the image, or the background's mean is not positive",
    }
}

/// Returns the reason why the contrast-to-noise ratio of a ROI is unknown.
pub fn contrast_to_noise_refusal(rois: &[Roi], roi: &Roi) -> &'static str {
    match roi.role {
        RoiRole::None | RoiRole::Background => "only regions of the role hot or cold have a contrast-to-noise ratio",
        _ if rois.iter().all(|roi| roi.role != RoiRole::Background) => "needs a region of the role background",
        _ => "the region or the background has one voxel or none in the image, or neither has any noise",
    }
}

/// Measured image: its generation, and true if it is the unfiltered one.
type ImageKey = (u64, bool);

/// Sums of the ROIs in the displayed image, updated only after a change.
#[derive(Default)]
pub struct TableCache {
    measured: Vec<(Roi, RoiSums, Option<f64>)>,
    image: Option<ImageKey>,
    numbers: Vec<RoiNumbers>,
    medians: Vec<Option<f64>>,
}

/// Outlines in the slices with numbers.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, strum::IntoStaticStr, strum::VariantArray,
)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum RoiLabels {
    None,
    #[default]
    Selected,
    All,
}

impl RoiLabels {
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// Returns true if an outline has numbers.
    pub fn is_shown(self, is_selected: bool) -> bool {
        self == RoiLabels::All || (self == RoiLabels::Selected && is_selected)
    }
}

/// Returns the text next to an outline.
pub fn mean_and_sd(numbers: &RoiNumbers, scale: ValueScale) -> String {
    let value = |value: Option<f64>| value.map_or_else(|| "–".to_owned(), |value| format::value(scale.value(value)));
    format!("{} ± {}", value(numbers.mean), value(numbers.sd))
}

impl TableCache {
    /// Updates the numbers; `image` identifies the volume.
    pub fn update(&mut self, rois: &MaskedRois, volume: &Volume, image: ImageKey) {
        let same_image = self.image == Some(image);
        if same_image && self.measured.iter().map(|(roi, ..)| roi).eq(rois.iter()) {
            return;
        }
        let before = std::mem::take(&mut self.measured);
        let known = |roi: &Roi| {
            before.iter().find(|(measured, ..)| same_image && measured.covers_same(roi)).map(|(_, sums, median)| (*sums, *median))
        };
        for (roi, mask) in rois.iter().zip(rois.masks(&volume.grid)) {
            let values = volume.as_slice();
            let (sums, median) = known(roi).unwrap_or_else(|| (mask.sums(values), measure::median(&mask, values)));
            self.measured.push((roi.clone(), sums, median));
        }
        self.image = Some(image);
        let sums: Vec<Option<RoiSums>> = self.measured.iter().map(|(_, sums, _)| Some(*sums)).collect();
        self.medians = self.measured.iter().map(|(.., median)| *median).collect();
        self.numbers = roi_numbers(rois, &sums, volume.grid.voxel_ml()).into_iter().flatten().collect();
    }

    /// Returns the numbers, in the order of the ROIs.
    pub fn numbers(&self) -> &[RoiNumbers] {
        &self.numbers
    }

    /// Returns the medians; `None` for ROIs outside the image. The solver measures none: a median needs a copy of all voxels,
    /// which would delay every iterate.
    pub fn medians(&self) -> &[Option<f64>] {
        &self.medians
    }
}

/// Numbers of the regions in the displayed difference of two images on one grid.
#[derive(Default)]
pub struct DifferenceTable {
    difference: Option<(u64, u64, Volume)>,
    /// Nearly the largest difference.
    usual: f32,
    table: TableCache,
}

impl DifferenceTable {
    /// Updates the numbers; the integers identify the images.
    pub fn update(&mut self, rois: &MaskedRois, [of, minus]: [(u64, &Volume); 2]) {
        let is_known = self.difference.as_ref().is_some_and(|(a, b, _)| (*a, *b) == (of.0, minus.0));
        if !is_known {
            let values = &of.1.values - &minus.1.values;
            self.usual = values.as_slice().map_or(f32::MIN_POSITIVE, usual_size);
            self.difference = Some((of.0, minus.0, Volume { grid: of.1.grid.clone(), values, unit: of.1.unit }));
            self.table = TableCache::default();
        }
        if let Some((.., volume)) = &self.difference {
            self.table.update(rois, volume, (0, false));
        }
    }

    /// Returns nearly the largest difference; a few are larger.
    pub fn usual(&self) -> f32 {
        self.usual
    }

    /// Returns the numbers, in the order of the regions.
    pub fn numbers(&self) -> &[RoiNumbers] {
        self.table.numbers()
    }
}

/// Returns the absolute value that 0.1 % of the other values exceed.
fn usual_size(values: &[f32]) -> f32 {
    const NUM_SAMPLED: usize = 100_000;
    const CUT_OFF: f64 = 1e-3;
    let stride = (values.len() / NUM_SAMPLED).max(1) | 1;
    let sizes = values.iter().step_by(stride).map(|value| value.abs()).filter(|size| size.is_finite() && *size > 0.0);
    let mut sizes: Vec<f32> = sizes.collect();
    let Some(last) = sizes.len().checked_sub(1) else { return f32::MIN_POSITIVE };
    let rank = ((1.0 - CUT_OFF) * last as f64).round() as usize;
    *sizes.select_nth_unstable_by(rank, f32::total_cmp).1
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::RoiShape;
    use crate::geometry::Grid;

    fn sphere(role: RoiRole, x_mm: f64) -> Roi {
        let shape = RoiShape::Sphere { radius_mm: 3.0 };
        Roi { role, activity_ratio: Some(3.0), ..Roi::new("r", shape, [x_mm, 0.0, 0.0]) }
    }

    #[test]
    fn numbers_of_a_difference_are_made_anew_with_each_image_and_region() {
        let grid = Grid::centred([20, 20, 20], [1.0; 3]).unwrap();
        let [a, b] = [5.0, 2.0].map(|value| Volume::filled(grid.clone(), value));
        let mut table = DifferenceTable::default();
        let mut mean = |a: (u64, &Volume), b: (u64, &Volume), x_mm: f64| {
            table.update(&vec![sphere(RoiRole::None, x_mm)].into(), [a, b]);
            table.numbers()[0].mean
        };
        assert_eq!(mean((1, &a), (1, &b), 0.0), Some(3.0));
        assert_eq!(mean((2, &b), (1, &b), 0.0), Some(0.0));
        assert_eq!(mean((2, &b), (2, &a), 0.0), Some(-3.0));
        assert_eq!(mean((2, &b), (2, &a), 80.0), None);
    }

    #[test]
    fn recovery_is_against_the_background() {
        let mut volume = Volume::filled(Grid::centred([20, 20, 20], [1.0; 3]).unwrap(), 2.0);
        for ((_, _, x), value) in volume.values.indexed_iter_mut() {
            if x < 10 {
                *value = 4.0;
            }
        }
        let rois = vec![sphere(RoiRole::Hot, -5.0), sphere(RoiRole::Background, 5.0)];
        let mut cache = TableCache::default();
        cache.update(&rois.clone().into(), &volume, (1, false));
        assert_eq!(cache.numbers()[0].recovery, Some(0.5));
        assert_eq!(cache.numbers()[1].nsr, Some(0.0));
        // Without a true activity ratio.
        let unknown = Roi { activity_ratio: None, ..rois[0].clone() };
        cache.update(&vec![unknown.clone(), rois[1].clone()].into(), &volume, (1, false));
        assert_eq!((cache.numbers()[0].recovery, cache.numbers()[0].mean), (None, Some(4.0)));
        assert!(recovery_refusal(&rois, &unknown).contains("enter the true ratio"));
        // Both regions are flat: there is no noise to compare with.
        assert_eq!(cache.numbers()[0].contrast_to_noise, None);
        assert!(contrast_to_noise_refusal(&rois, &unknown).contains("neither has any noise"));
        assert!(contrast_to_noise_refusal(&rois[..1], &unknown).contains("background"));
        // Another image, then another place.
        volume.as_mut_slice().fill(2.0);
        cache.update(&rois.clone().into(), &volume, (2, false));
        assert_eq!(cache.numbers()[0].recovery, Some(0.0));
        cache.update(&vec![rois[1].clone(), sphere(RoiRole::Cold, -50.0)].into(), &volume, (2, false));
        assert_eq!((cache.numbers()[0].mean, cache.numbers()[1].mean), (Some(2.0), None));
    }

    #[test]
    fn the_usual_size_leaves_a_single_value_out() {
        let mut values: Vec<f32> = (0..2000).map(|i| if i % 2 == 0 { 1.0 } else { -2.0 }).collect();
        values[7] = 1e6;
        assert_eq!(usual_size(&values), 2.0);
        assert_eq!(usual_size(&[0.0; 2000]), f32::MIN_POSITIVE);
    }
}
