//! Standard deviations between replicates of a scan.

use rayon::prelude::*;

use super::finite;
use crate::data::{RoiSums, Volume};

/// Returns the standard deviation (of n − 1) of numbers; `None` of fewer than two, or where it is not finite.
pub fn deviation(numbers: &[f64]) -> Option<f64> {
    let num = numbers.len();
    if num < 2 {
        return None;
    }
    let mean = numbers.iter().sum::<f64>() / num as f64;
    finite((numbers.iter().map(|number| (number - mean).powi(2)).sum::<f64>() / (num - 1) as f64).sqrt())
}

/// Returns the standard deviation of each region's mean between replicates, from the sums over the regions of each replicate. `None`
/// of a region that covers nothing.
pub fn deviations_of_means(replicates: &[Vec<RoiSums>]) -> Vec<Option<f64>> {
    let num_regions = replicates.first().map_or(0, Vec::len);
    let means = |region: usize| -> Option<Vec<f64>> {
        let mean = |sums: &RoiSums| (sums.weight > 0.0).then(|| sums.sum / sums.weight);
        replicates.iter().map(|sums| mean(sums.get(region)?)).collect()
    };
    (0..num_regions).map(|region| deviation(&means(region)?)).collect()
}

/// Returns the relative uncertainty of a standard deviation of n normal numbers, 1 / √(2 (n − 1)): 0.16 of 20.
pub fn uncertainty_of_deviation(num: usize) -> f64 {
    (2.0 * num.saturating_sub(1).max(1) as f64).sqrt().recip()
}

/// Sums over images for the standard deviation of each voxel, without keeping the images (Welford 1962, Technometrics 4:419).
pub struct DeviationImage {
    num: usize,
    /// Mean and sum of squared distances from it, voxel by voxel.
    moments: Vec<[f64; 2]>,
}

impl DeviationImage {
    /// Starts without an image; `num_voxels` = those of each image.
    pub fn new(num_voxels: usize) -> Self {
        Self { num: 0, moments: vec![[0.0; 2]; num_voxels] }
    }

    /// Adds an image.
    pub fn add(&mut self, image: &Volume) {
        self.num += 1;
        let num = self.num as f64;
        self.moments.par_iter_mut().zip(image.as_slice()).for_each(|([mean, squares], value)| {
            let distance = f64::from(*value) - *mean;
            *mean += distance / num;
            *squares += distance * (f64::from(*value) - *mean);
        });
    }

    /// Replaces the values of an image on the same grid by the standard deviations (of n − 1), in its unit; 0 of fewer than two images.
    pub fn write(&self, image: &mut Volume) {
        let freedom = self.num.saturating_sub(1).max(1) as f64;
        let values = image.as_mut_slice().par_iter_mut().zip(&self.moments);
        values.for_each(|(value, [_, squares])| *value = (squares / freedom).sqrt() as f32);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::RoiMask;
    use crate::geometry::Grid;

    #[test]
    fn deviations_are_those_between_replicates() {
        let grid = Grid::centred([3, 1, 1], [1.0; 3]).unwrap();
        let images = [[1.0, 5.0, 2.0], [3.0, 5.0, 4.0], [8.0, 5.0, 6.0f32]].map(|values| {
            let mut image = Volume::filled(grid.clone(), 0.0);
            image.as_mut_slice().copy_from_slice(&values);
            image
        });
        let masks = [RoiMask { voxels: [(0, 1.0), (2, 0.5)].into() }, RoiMask { voxels: [(1, 1.0)].into() }, RoiMask::default()];
        let sums: Vec<Vec<RoiSums>> =
            images.iter().map(|image| masks.iter().map(|mask| mask.sums(image.as_slice())).collect()).collect();
        let found = deviations_of_means(&sums);
        // Means (1 + 2/2)/1.5, (3 + 4/2)/1.5 and (8 + 6/2)/1.5.
        assert!((found[0].unwrap() - 21f64.sqrt() / 1.5).abs() < 1e-12, "{found:?}");
        assert_eq!((found[1], found[2]), (Some(0.0), None));
        let mut sums = DeviationImage::new(3);
        images.iter().for_each(|image| sums.add(image));
        let mut image = images[0].clone();
        sums.write(&mut image);
        assert_eq!(image.as_slice(), [13f32.sqrt(), 0.0, 2.0]);
        assert!(deviation(&[1.0]).is_none() && deviations_of_means(&[]).is_empty());
    }

    #[test]
    fn twenty_replicates_know_their_deviation_to_16_percent() {
        assert!((uncertainty_of_deviation(20) - 0.162).abs() < 5e-4);
        assert_eq!(uncertainty_of_deviation(3), 0.5);
    }
}
