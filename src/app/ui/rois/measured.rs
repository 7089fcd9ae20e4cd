//! Numbers of the ROIs in the displayed image or difference, for the table and the outlines.

use std::sync::Arc;
use std::time::Duration;

use crate::data::{MaskedRois, Roi, RoiMask, RoiRole, RoiSums, ValueScale, Volume};
use crate::measure;
use crate::session::{RoiNumbers, RunId, roi_numbers};
use crate::ui::widgets::background_value::BackgroundValue;
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

/// Run and change of the displayed image, true for the unfiltered one, and the change of the subtracted image.
pub type ImageKey = (RunId, u64, bool, Option<u64>);

/// Image that is measured, or the difference of two images on one grid.
pub struct MeasuredImage<'a> {
    pub key: ImageKey,
    pub volume: &'a Arc<Volume>,
    /// Subtracted image.
    pub minus: Option<&'a Arc<Volume>>,
}

/// Sums and medians of regions in an image.
struct Measured {
    rows: Vec<(Roi, RoiSums, Option<f64>)>,
    voxel_ml: f64,
    /// Nearly the largest difference; 0 without a subtracted image.
    usual: f32,
}

/// Numbers of the ROIs in the displayed image or difference, which are computed in the background after a change.
#[derive(Default)]
pub struct TableCache {
    measured: BackgroundValue<(ImageKey, MaskedRois), Arc<Measured>>,
    is_current: bool,
    /// Number, and median, of each present ROI.
    numbers: Vec<Option<RoiNumbers>>,
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
    /// Updates the numbers; without an image there are none. Waits for them no longer than `patience`, and calls `wake` when later
    /// ones are ready.
    pub fn update(
        &mut self,
        rois: &MaskedRois,
        image: Option<MeasuredImage>,
        patience: Duration,
        wake: impl FnOnce() + Send + 'static,
    ) {
        let Some(MeasuredImage { key, volume, minus }) = image else {
            *self = Self::default();
            return;
        };
        let of_image = |measured: &BackgroundValue<(ImageKey, MaskedRois), Arc<Measured>>| {
            measured.newest().filter(|((of, _), _)| *of == key).map(|(_, measured)| Arc::clone(measured))
        };
        let (known, volumes, masked) = (of_image(&self.measured), (Arc::clone(volume), minus.cloned()), rois.clone());
        let measure = move || Arc::new(Measured::of(&masked, &volumes.0, volumes.1.as_deref(), known.as_deref()));
        self.measured.update("region sums", (key, rois.clone()), patience, wake, measure);
        self.is_current = of_image(&self.measured).is_some();
        let (rows, voxel_ml) = self.measured.newest().map_or((&[][..], 0.0), |(_, measured)| (&measured.rows, measured.voxel_ml));
        let row = |(index, roi): (usize, &Roi)| {
            let covers_same = |row: &&(Roi, RoiSums, Option<f64>)| row.0.covers_same(roi);
            rows.get(index)
                .filter(covers_same)
                .or_else(|| rows.iter().find(covers_same))
                .map(|(_, sums, median)| (*sums, *median))
        };
        let (sums, medians): (Vec<_>, _) =
            rois.iter().enumerate().map(row).map(|row| (row.map(|row| row.0), row.and_then(|row| row.1))).unzip();
        (self.numbers, self.medians) = (roi_numbers(rois, &sums, voxel_ml), medians);
    }

    /// Returns the numbers of each ROI, in the order of the ROIs; `None` where they are being computed.
    pub fn numbers(&self) -> &[Option<RoiNumbers>] {
        &self.numbers
    }

    /// Returns the medians; `None` for ROIs outside the image. The solver measures none: a median needs a copy of all voxels,
    /// which would delay every iterate.
    pub fn medians(&self) -> &[Option<f64>] {
        &self.medians
    }

    /// True if the numbers are those of the displayed image; else they are those of the image before.
    pub fn is_current(&self) -> bool {
        self.is_current
    }

    /// Returns nearly the largest difference, once it is known; a few are larger.
    pub fn usual_difference(&self) -> Option<f32> {
        self.measured.newest().map(|(_, measured)| measured.usual)
    }
}

impl Measured {
    /// Measures an image, or a difference. Numbers that are `known` are not computed again.
    fn of(rois: &MaskedRois, volume: &Volume, minus: Option<&Volume>, known: Option<&Self>) -> Self {
        let values = volume.as_slice();
        let difference = |minus: &Volume, voxel: usize| Some(values.get(voxel)? - minus.as_slice().get(voxel)?);
        let measure = |(roi, mask): (&Roi, RoiMask)| {
            let known = known.and_then(|known| known.rows.iter().find(|(of, ..)| of.covers_same(roi)));
            let (sums, median) = known.map(|(_, sums, median)| (*sums, *median)).unwrap_or_else(|| match minus {
                None => (mask.sums(values), measure::median(&mask, values)),
                Some(minus) => (mask.sums_with(|voxel| difference(minus, voxel)), None),
            });
            (roi.clone(), sums, median)
        };
        let usual = || minus.map_or(0.0, |minus| usual_size(values.len(), |voxel| difference(minus, voxel)));
        let usual = known.map_or_else(usual, |known| known.usual);
        let rows = rois.iter().zip(rois.masks(&volume.grid)).map(measure).collect();
        Self { rows, voxel_ml: volume.grid.voxel_ml(), usual }
    }
}

/// Returns the absolute value that 0.1 % of the other values exceed.
fn usual_size(num_values: usize, value: impl Fn(usize) -> Option<f32>) -> f32 {
    const NUM_SAMPLED: usize = 100_000;
    const CUT_OFF: f64 = 1e-3;
    let stride = (num_values / NUM_SAMPLED).max(1) | 1;
    let sizes = (0..num_values).step_by(stride).filter_map(value).map(f32::abs).filter(|size| size.is_finite() && *size > 0.0);
    let mut sizes: Vec<f32> = sizes.collect();
    let Some(last) = sizes.len().checked_sub(1) else { return f32::MIN_POSITIVE };
    let rank = ((1.0 - CUT_OFF) * last as f64).round() as usize;
    *sizes.select_nth_unstable_by(rank, f32::total_cmp).1
}

/// Returns the true activity ratio of the hot regions if it is the same for all that have one.
pub fn common_ratio(rois: &[Roi]) -> Option<f64> {
    let mut ratios = rois.iter().filter(|roi| roi.role == RoiRole::Hot).filter_map(|roi| roi.activity_ratio);
    let first = ratios.next()?;
    ratios.all(|ratio| ratio == first).then_some(first)
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

    /// Updates the numbers of an image of this number, and waits for them.
    fn update(table: &mut TableCache, rois: Vec<Roi>, image: u64, volume: &Volume, minus: Option<(u64, &Volume)>) {
        let (volume, other) = (Arc::new(volume.clone()), minus.map(|(_, other)| Arc::new(other.clone())));
        let key = (1, image, false, minus.map(|(number, _)| number));
        let image = MeasuredImage { key, volume: &volume, minus: other.as_ref() };
        table.update(&rois.into(), Some(image), Duration::from_secs(60), || {});
        assert!(table.is_current());
    }

    #[test]
    fn numbers_are_those_of_the_image_before_until_the_new_ones_are_there() {
        let grid = Grid::centred([20, 20, 20], [1.0; 3]).unwrap();
        let [a, b] = [5.0, 2.0].map(|value| Arc::new(Volume::filled(grid.clone(), value)));
        let rois: MaskedRois = vec![sphere(RoiRole::None, 0.0)].into();
        let mut table = TableCache::default();
        let mut means = |number: u64, volume: &Arc<Volume>, rois: &MaskedRois, patience| {
            let image = MeasuredImage { key: (1, number, false, None), volume, minus: None };
            table.update(rois, Some(image), patience, || {});
            let means: Vec<_> = table.numbers().iter().map(|numbers| numbers.map(|numbers| numbers.mean)).collect();
            (means, table.is_current())
        };
        let long = Duration::from_secs(60);
        assert_eq!(means(1, &a, &rois, long), (vec![Some(Some(5.0))], true));
        let mut found = means(2, &b, &rois, Duration::ZERO);
        while !found.1 {
            assert_eq!(found.0, [Some(Some(5.0))]);
            found = means(2, &b, &rois, Duration::ZERO);
        }
        assert_eq!(found.0, [Some(Some(2.0))]);
        // A region that was not measured yet has no numbers, and the other one those of this image.
        let more = rois.edited(&[sphere(RoiRole::None, 4.0), rois[0].clone()]);
        let mut found = means(2, &b, &more, Duration::ZERO);
        while found.0[0].is_none() {
            assert_eq!(found, (vec![None, Some(Some(2.0))], true));
            found = means(2, &b, &more, Duration::ZERO);
        }
        assert_eq!(found, (vec![Some(Some(2.0)); 2], true));
    }

    #[test]
    fn numbers_of_a_difference_are_made_anew_with_each_image_and_region() {
        let grid = Grid::centred([20, 20, 20], [1.0; 3]).unwrap();
        let [a, b] = [5.0, 2.0].map(|value| Volume::filled(grid.clone(), value));
        let mut table = TableCache::default();
        let mut mean = |a: (u64, &Volume), b: (u64, &Volume), x_mm: f64| {
            update(&mut table, vec![sphere(RoiRole::None, x_mm)], a.0, a.1, Some(b));
            table.numbers()[0].unwrap().mean
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
        update(&mut cache, rois.clone(), 1, &volume, None);
        assert_eq!(cache.numbers()[0].unwrap().recovery, Some(0.5));
        assert_eq!(cache.numbers()[1].unwrap().nsr, Some(0.0));
        // Without a true activity ratio.
        let unknown = Roi { activity_ratio: None, ..rois[0].clone() };
        update(&mut cache, vec![unknown.clone(), rois[1].clone()], 1, &volume, None);
        assert_eq!((cache.numbers()[0].unwrap().recovery, cache.numbers()[0].unwrap().mean), (None, Some(4.0)));
        assert!(recovery_refusal(&rois, &unknown).contains("enter the true ratio"));
        // Both regions are flat: there is no noise to compare with.
        assert_eq!(cache.numbers()[0].unwrap().contrast_to_noise, None);
        assert!(contrast_to_noise_refusal(&rois, &unknown).contains("neither has any noise"));
        assert!(contrast_to_noise_refusal(&rois[..1], &unknown).contains("background"));
        // Another image, then another place.
        volume.as_mut_slice().fill(2.0);
        update(&mut cache, rois.clone(), 2, &volume, None);
        assert_eq!(cache.numbers()[0].unwrap().recovery, Some(0.0));
        update(&mut cache, vec![rois[1].clone(), sphere(RoiRole::Cold, -50.0)], 2, &volume, None);
        assert_eq!((cache.numbers()[0].unwrap().mean, cache.numbers()[1].unwrap().mean), (Some(2.0), None));
    }

    #[test]
    fn the_usual_size_leaves_a_single_value_out() {
        let mut values: Vec<f32> = (0..2000).map(|i| if i % 2 == 0 { 1.0 } else { -2.0 }).collect();
        values[7] = 1e6;
        assert_eq!(usual_size(values.len(), |index| Some(values[index])), 2.0);
        assert_eq!(usual_size(2000, |_| Some(0.0)), f32::MIN_POSITIVE);
    }
}
