//! The noise drawn again: how uncertain the figures of a region are.
//!
//! Voxels of a reconstruction are correlated, so that the uncertainty of a region's figures does not follow from those of its voxels. A
//! parametric bootstrap (Efron 1979) has the correlation: noise of the samples is drawn, reconstructed, added to the fitted images, and fitted
//! again.

use super::error::OximetryError;
use super::fit::RateFitter;
use super::maps::{OxygenMaps, fitted_po2};
use super::stats::OxygenStats;
use crate::data::{OxygenCalibration, Volume};
use crate::statistics::standard_deviation;
use crate::task::Task;

/// Figures of a region in draws of the noise.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DrawnFigures(Vec<OxygenStats>);

/// Standard deviations of the figures of a region between draws of the noise.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct FigureDeviations {
    /// Number of draws in which the region has a voxel.
    pub num_draws: usize,
    /// That of the median, torr.
    pub median_torr: f64,
    /// That of the mean, torr.
    pub mean_torr: f64,
    /// That of HF10.
    pub hypoxic_fraction: f64,
}

impl DrawnFigures {
    /// Adds the figures in a draw; `None` = no voxel of the region has a pressure.
    pub fn add(&mut self, stats: Option<OxygenStats>) {
        self.0.extend(stats);
    }

    /// Returns the standard deviations between the draws; `None` of fewer than two.
    pub fn deviations(&self) -> Option<FigureDeviations> {
        let of = |figure: fn(&OxygenStats) -> f64| standard_deviation(&self.0.iter().map(figure).collect::<Vec<_>>());
        Some(FigureDeviations {
            num_draws: self.0.len(),
            median_torr: of(|stats| stats.median_torr)?,
            mean_torr: of(|stats| stats.mean_torr)?,
            hypoxic_fraction: of(|stats| stats.hypoxic_fraction)?,
        })
    }
}

/// Returns the noise of images of noise alone: the root of their mean square in the fitted voxels.
pub fn noise_of(maps: &OxygenMaps, images: &[Volume]) -> f64 {
    let fitted = || maps.po2.as_slice().iter().map(|value| value.is_finite());
    let of_image = |image: &Volume| -> f64 {
        image
            .as_slice()
            .iter()
            .zip(fitted())
            .filter(|(_, is_fitted)| *is_fitted)
            .map(|(value, _)| f64::from(*value).powi(2))
            .sum()
    };
    let num = (maps.counts.fitted * images.len()) as f64;
    (images.iter().map(of_image).sum::<f64>() / num).sqrt()
}

/// Returns the oxygen pressure, torr, of the fitted images with other noise: `noise` has an image for each time, and is multiplied by
/// `factor`. Voxels without a rate are NaN.
///
/// # Errors
/// Another number of images than of times, images of other sizes, stopped.
pub fn redrawn_po2(
    maps: &OxygenMaps,
    fitter: &RateFitter,
    calibration: &OxygenCalibration,
    (noise, factor): (&[Volume], f64),
    task: &Task,
) -> Result<Volume, OximetryError> {
    check(maps, fitter, noise)?;
    let images: Vec<Volume> = (fitter.times_us().iter().zip(noise))
        .map(|(&time_us, noise)| {
            let mut image = maps.model_image(time_us);
            image.as_mut_slice().iter_mut().zip(noise.as_slice()).for_each(|(value, noise)| *value += factor as f32 * noise);
            image
        })
        .collect();
    fitted_po2(maps, &images, fitter, calibration, task)
}

/// Returns the oxygen pressure, torr, of other images in the voxels that have a rate in some maps. Voxels without one are NaN.
///
/// # Errors
/// Another number of images than of times, images of other sizes, stopped.
pub fn refitted_po2(
    maps: &OxygenMaps,
    images: &[Volume],
    fitter: &RateFitter,
    calibration: &OxygenCalibration,
    task: &Task,
) -> Result<Volume, OximetryError> {
    check(maps, fitter, images)?;
    fitted_po2(maps, images, fitter, calibration, task)
}

/// Refuses images that do not go with maps.
fn check(maps: &OxygenMaps, fitter: &RateFitter, images: &[Volume]) -> Result<(), OximetryError> {
    fitter.check_num_images(images.len())?;
    let other = images.iter().position(|image| image.grid.size != maps.po2.grid.size);
    other.map_or(Ok(()), |index| Err(OximetryError::Sizes(index + 1)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deviations_of_three_draws_by_hand() {
        let of = |values: [f32; 3]| OxygenStats::of(values.map(|value| (value, 1.0)));
        let mut figures = DrawnFigures::default();
        figures.add(of([5.0, 9.0, 13.0]));
        assert_eq!(figures.deviations(), None);
        figures.add(of([7.0, 11.0, 15.0]));
        // A draw in which the region has no voxel does not count.
        figures.add(of([f32::NAN; 3]));
        figures.add(of([9.0, 13.0, 17.0]));
        let FigureDeviations { num_draws, median_torr, mean_torr, hypoxic_fraction } = figures.deviations().unwrap();
        assert_eq!((num_draws, median_torr, mean_torr), (3, 2.0, 2.0));
        // HF10: ⅔, ⅓, ⅓.
        assert!((hypoxic_fraction - 27f64.sqrt().recip()).abs() < 1e-12, "{hypoxic_fraction}");
    }
}
