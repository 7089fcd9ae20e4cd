//! Numbers of ROIs for the table and the curves.

use crate::data::{Roi, RoiMask, RoiRole, RoiSums, Volume};
use crate::geometry::Grid;
use crate::measure::{self, RoiStats};

/// Numbers of one ROI on one image.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RoiNumbers {
    /// Mean, in the image's unit; `None` where it covers nothing.
    pub mean: Option<f64>,
    /// Standard deviation between voxels.
    pub sd: Option<f64>,
    /// Smallest value.
    pub min: f32,
    /// Largest value.
    pub max: f32,
    /// Voxels touched.
    pub num_voxels: usize,
    /// Volume covered, mL.
    pub volume_ml: f64,
    /// Noise-to-signal ratio SD / mean.
    pub nsr: Option<f64>,
    /// Contrast recovery against the background ROIs.
    pub recovery: Option<f64>,
}

/// The numbers of all ROIs of a set from their sums; `None` where a ROI was not measured.
pub fn numbers(rois: &[Roi], sums: &[Option<RoiSums>], voxel_ml: f64) -> Vec<Option<RoiNumbers>> {
    let background = background(rois, sums).filter(|all| all.weight > 0.0).map(|all| all.sum / all.weight);
    rois.iter().zip(sums).map(|(roi, sums)| Some(one(roi, sums.as_ref()?, background, voxel_ml))).collect()
}

/// All background ROIs as one; `None` where there is none or one was not measured.
fn background(rois: &[Roi], sums: &[Option<RoiSums>]) -> Option<RoiSums> {
    let of_role = rois.iter().zip(sums).filter(|(roi, _)| roi.role == RoiRole::Background);
    let regions: Option<Vec<RoiSums>> = of_role.map(|(_, sums)| *sums).collect();
    regions.filter(|regions| !regions.is_empty()).map(|regions| measure::pooled(&regions))
}

fn one(roi: &Roi, sums: &RoiSums, background: Option<f64>, voxel_ml: f64) -> RoiNumbers {
    let stats = RoiStats::of(sums, voxel_ml);
    let recovery = stats.zip(background).and_then(|(stats, background)| match (roi.role, roi.activity_ratio) {
        (RoiRole::Hot, Some(ratio)) => measure::hot_recovery(stats.mean, background, ratio),
        (RoiRole::Cold, _) => measure::cold_recovery(stats.mean, background),
        _ => None,
    });
    RoiNumbers {
        mean: stats.map(|stats| stats.mean),
        sd: stats.and_then(|stats| stats.sd),
        min: sums.min,
        max: sums.max,
        num_voxels: sums.num_voxels,
        volume_ml: sums.weight * voxel_ml,
        nsr: measure::noise_to_signal(sums),
        recovery,
    }
}

/// Masks and sums of the document's ROIs on the image that is shown, renewed only where something changed.
#[derive(Default)]
pub struct TableCache {
    grid: Option<Grid>,
    masks: Vec<(Roi, RoiMask)>,
    sums: Vec<RoiSums>,
    generation: Option<u64>,
    numbers: Vec<RoiNumbers>,
}

impl TableCache {
    /// Brings the numbers up to date; `generation` is the image's.
    pub fn update(&mut self, rois: &[Roi], volume: &Volume, generation: u64) {
        let same_grid = self.grid.as_ref() == Some(&volume.grid);
        let same_image = same_grid && self.generation == Some(generation);
        if same_image && self.masks.iter().map(|(roi, _)| roi).eq(rois) {
            return;
        }
        if !same_grid {
            self.masks.clear();
            self.grid = Some(volume.grid.clone());
        }
        let old = std::mem::take(&mut self.masks);
        let old_sums = std::mem::take(&mut self.sums);
        for (index, roi) in rois.iter().enumerate() {
            let same_shape = |other: &Roi| other.shape == roi.shape && other.centre_mm == roi.centre_mm;
            let kept = old.get(index).filter(|(before, _)| same_shape(before)).map(|(_, mask)| mask.clone());
            let is_kept = kept.is_some();
            let mask = kept.unwrap_or_else(|| roi.mask(&volume.grid));
            let sums = old_sums.get(index).filter(|_| same_image && is_kept).copied();
            self.sums.push(sums.unwrap_or_else(|| mask.sums(volume.as_slice())));
            self.masks.push((roi.clone(), mask));
        }
        self.generation = Some(generation);
        let sums: Vec<Option<RoiSums>> = self.sums.iter().copied().map(Some).collect();
        self.numbers = numbers(rois, &sums, volume.grid.voxel_ml()).into_iter().flatten().collect();
    }

    /// The numbers, in the order of the ROIs.
    pub fn numbers(&self) -> &[RoiNumbers] {
        &self.numbers
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::RoiShape;

    fn sphere(role: RoiRole, x_mm: f64) -> Roi {
        let shape = RoiShape::Sphere { radius_mm: 3.0 };
        Roi { name: "r".into(), shape, centre_mm: [x_mm, 0.0, 0.0], role, activity_ratio: Some(3.0) }
    }

    #[test]
    fn recovery_is_against_the_background() {
        let mut volume = Volume::filled(Grid::centred([20, 20, 20], [1.0; 3]).unwrap(), 2.0);
        for ((_, _, x), value) in volume.values.indexed_iter_mut() {
            if x < 10 {
                *value = 4.0;
            }
        }
        let rois = [sphere(RoiRole::Hot, -5.0), sphere(RoiRole::Background, 5.0)];
        let mut cache = TableCache::default();
        cache.update(&rois, &volume, 1);
        assert_eq!(cache.numbers()[0].recovery, Some(0.5));
        assert_eq!(cache.numbers()[1].nsr, Some(0.0));
        // Another image, then another place.
        volume.as_mut_slice().fill(2.0);
        cache.update(&rois, &volume, 2);
        assert_eq!(cache.numbers()[0].recovery, Some(0.0));
        cache.update(&[rois[1].clone(), sphere(RoiRole::Cold, -50.0)], &volume, 2);
        assert_eq!((cache.numbers()[0].mean, cache.numbers()[1].mean), (Some(2.0), None));
    }
}
