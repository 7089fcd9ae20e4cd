//! Maps of the relaxation rate and of oxygen.

use super::super::outcomes::{FitCounts, map};
use super::chi_square::ChiSquare;
use super::error::OximetryError;
use super::fit::{RateFit, RateFitter};
use super::misfit::{Misfit, doubt, misfits};
use super::noise::local_noise;
use super::voxels::{FitsOnThreads, VoxelFit, VoxelFits};
use crate::data::{OxygenCalibration, Unit, Volume};
use crate::task::Task;

/// Usual limit of the mask, as a fraction of the largest value of the fullest image.
pub const MASK_FRACTION: f64 = 0.15;

/// Cause of [`NoFit::OutOfRange`](crate::measure::NoFit::OutOfRange) for people.
pub const NO_RATE: &str = "without a recovery or decay that the times can measure";

/// Maps on the grid of the images; voxels without a rate are NaN.
#[derive(Clone, Debug)]
pub struct OxygenMaps {
    /// Relaxation rate, 1/µs.
    pub rate: Volume,
    /// Oxygen pressure, torr.
    pub po2: Volume,
    /// Standard deviation of the pressure, torr; `None` with as many times as parameters, which leaves no residuals.
    pub po2_sd: Option<Volume>,
    /// Voxels by result.
    pub counts: FitCounts,
    /// Noise of the images by the residuals of all fits; `None` as for `po2_sd`.
    pub noise: Option<f64>,
    /// Mean residual of the fits at each time; empty as for `po2_sd`.
    pub misfits: Vec<Misfit>,
    fits: Vec<VoxelFit>,
}

impl OxygenMaps {
    fn of(fits: Vec<VoxelFit>, images: &[&Volume], fitter: &RateFitter, calibration: &OxygenCalibration) -> Self {
        let grid = &images[0].grid;
        let of = |unit: Unit, value: &dyn Fn(usize, &RateFit) -> f64| map(grid, &fits, unit, value);
        let counts = FitCounts::of(&fits);
        let degrees_of_freedom = fitter.degrees_of_freedom();
        let po2_sd = (degrees_of_freedom > 0).then(|| {
            let residual = |fit: &VoxelFit| fit.as_ref().map_or(f64::NAN, |fit| fit.residual);
            let noise = local_noise(grid, &fits.iter().map(residual).collect::<Vec<_>>(), degrees_of_freedom);
            of(Unit::Torr, &|voxel, fit| calibration.po2_sd_torr(fit.rate_sd_per_us(noise[voxel])))
        });
        let residuals: f64 = fits.iter().flatten().map(|fit| fit.residual).sum();
        let num = counts.fitted * degrees_of_freedom;
        Self {
            rate: of(Unit::PerMicrosecond, &|_, fit| fit.rate_per_us),
            po2: of(Unit::Torr, &|_, fit| calibration.po2_torr(fit.rate_per_us)),
            po2_sd,
            counts,
            noise: (num > 0).then(|| (residuals / num as f64).sqrt()),
            misfits: misfits(images, &fits, fitter),
            fits,
        }
    }

    /// Returns the maps: rate, pressure, and its standard deviation if there is one.
    pub fn all(&self) -> impl Iterator<Item = &Volume> {
        [&self.rate, &self.po2].into_iter().chain(&self.po2_sd)
    }

    /// Returns the warning about images that do not follow the model.
    pub fn doubt(&self) -> Option<String> {
        doubt(&self.misfits)
    }

    /// Returns the residuals against the noise of the background, of images by filtered backprojection: other algorithms have other noise there.
    /// `None` without enough background, and of fewer than two times beyond the parameters.
    pub fn chi_square(&self, images: &[&Volume], fitter: &RateFitter) -> Option<ChiSquare> {
        ChiSquare::of(images, &self.fits, fitter, &self.rate)
    }

    /// Returns the fitted image at a time; voxels without a rate are 0.
    pub(super) fn model_image(&self, time_us: f64) -> Volume {
        let mut image = Volume { unit: Unit::Arbitrary, ..Volume::filled(self.po2.grid.clone(), 0.0) };
        let values = self.fits.iter().map(|fit| fit.as_ref().map_or(0.0, |fit| fit.value(time_us)));
        image.as_mut_slice().iter_mut().zip(values).for_each(|(to, from)| *to = from as f32);
        image
    }
}

/// Returns the maps of images on one grid, in the order of the fitter's times. Voxels below `mask_fraction` of the largest value of the
/// fullest image ([`RateFitter::fullest`]) are masked. `device` computes the fits; `task` counts voxels.
///
/// # Errors
/// Another number of images than of times, images of different sizes or of zeros, no voxel above 0, stopped, device failure.
pub fn oxygen_maps(
    device: &mut dyn VoxelFits,
    images: &[&Volume],
    fitter: &RateFitter,
    calibration: &OxygenCalibration,
    mask_fraction: f64,
    task: &Task,
) -> Result<OxygenMaps, OximetryError> {
    fitter.check_num_images(images.len())?;
    let grid = &images[0].grid;
    if let Some(index) = images.iter().position(|image| image.grid.size != grid.size) {
        return Err(OximetryError::Sizes(index + 1));
    }
    let is_zero = |image: &&Volume| image.as_slice().iter().all(|value| *value == 0.0);
    if let Some(index) = images.iter().position(is_zero) {
        return Err(OximetryError::ZeroImage(index + 1));
    }
    let is_twin = |(index, image): (usize, &&Volume)| {
        let earlier = images[..index].iter().position(|earlier| earlier.as_slice() == image.as_slice())?;
        Some(OximetryError::SameImages(earlier + 1, index + 1))
    };
    if let Some(problem) = images.iter().enumerate().find_map(is_twin) {
        return Err(problem);
    }
    let fullest = images[fitter.fullest()];
    let (_, largest) = fullest.range();
    if largest <= 0.0 {
        return Err(OximetryError::EmptyMask { time_us: fitter.times_us()[fitter.fullest()] });
    }
    let limit = mask_fraction * f64::from(largest);
    // (A value that is not a number is not below the mask: it is counted as such.)
    let is_masked: Vec<bool> = fullest.as_slice().iter().map(|value| f64::from(*value) < limit).collect();
    let slices: Vec<&[f32]> = images.iter().map(|image| image.as_slice()).collect();
    Ok(OxygenMaps::of(device.fit(fitter, &slices, &is_masked, task)?, images, fitter, calibration))
}

/// Returns the oxygen pressure, torr, of other images, in the voxels that have a rate in some maps.
///
/// # Errors
/// Stopped.
pub(super) fn fitted_po2(
    maps: &OxygenMaps,
    images: &[Volume],
    fitter: &RateFitter,
    calibration: &OxygenCalibration,
    task: &Task,
) -> Result<Volume, OximetryError> {
    let slices: Vec<&[f32]> = images.iter().map(|image| image.as_slice()).collect();
    let is_masked: Vec<bool> = maps.fits.iter().map(|fit| fit.is_err()).collect();
    let fits = FitsOnThreads.fit(fitter, &slices, &is_masked, task)?;
    Ok(map(&maps.po2.grid, &fits, Unit::Torr, |_, fit| calibration.po2_torr(fit.rate_per_us)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::RelaxationRate;
    use crate::geometry::Grid;

    const DELAYS: [f64; 5] = [0.5, 1.5, 3.0, 8.0, 25.0];

    fn calibration() -> OxygenCalibration {
        let [name, title, source] = ["probe"; 3].map(str::to_owned);
        OxygenCalibration { name, title, source, rate: RelaxationRate::R1, slope_torr_us: 100.0, intercept_per_us: 0.2 }
    }

    /// Images of voxels with these amplitudes and rates; a rate of 0 does not recover.
    fn images(voxels: &[(f32, f64)]) -> Vec<Volume> {
        let grid = Grid::centred([voxels.len(), 1, 1], [1.0; 3]).unwrap();
        let at = |time: f64| {
            let value = |&(amplitude, rate): &(f32, f64)| amplitude * (1.0 - 1.8 * f64::exp(-rate * time)) as f32;
            Volume::from_vec(grid.clone(), voxels.iter().map(value).collect(), Unit::Arbitrary).unwrap()
        };
        DELAYS.map(at).to_vec()
    }

    #[test]
    fn voxels_without_a_rate_are_nan_and_counted_by_cause() {
        let mut images = images(&[(1.0, 0.3), (0.1, 0.3), (2.0, 0.6), (-4.0, 0.0), (1.0, 0.3)]);
        images[1].as_mut_slice()[4] = f32::NAN;
        let fitter = RateFitter::new(RelaxationRate::R1, &DELAYS).unwrap();
        let views: Vec<&Volume> = images.iter().collect();
        let maps = oxygen_maps(&mut FitsOnThreads, &views, &fitter, &calibration(), 0.15, &Task::new()).unwrap();
        assert_eq!(maps.counts, FitCounts { fitted: 2, below_mask: 1, not_finite: 1, out_of_range: 1, ..FitCounts::default() });
        let po2 = maps.po2.as_slice();
        assert!((po2[0] - 10.0).abs() < 1e-3 && (po2[2] - 40.0).abs() < 1e-3, "{po2:?}");
        assert!([1, 3, 4].iter().all(|&voxel| po2[voxel].is_nan() && maps.rate.as_slice()[voxel].is_nan()));
        assert_eq!((maps.po2.unit, maps.rate.unit), (Unit::Torr, Unit::PerMicrosecond));
        assert!(maps.po2_sd.is_some_and(|sd| sd.as_slice()[0] < 1e-3));
        // Without residuals there is no noise.
        let fitter = RateFitter::new(RelaxationRate::R1, &DELAYS[..3]).unwrap();
        assert!(
            oxygen_maps(&mut FitsOnThreads, &views[..3], &fitter, &calibration(), 0.15, &Task::new()).unwrap().po2_sd.is_none()
        );
    }

    #[test]
    fn images_without_maps_are_refused() {
        let fitter = RateFitter::new(RelaxationRate::R1, &DELAYS).unwrap();
        let of = |images: &[Volume], fraction| {
            oxygen_maps(&mut FitsOnThreads, &images.iter().collect::<Vec<_>>(), &fitter, &calibration(), fraction, &Task::new())
                .unwrap_err()
        };
        let (good, other) = (images(&[(1.0, 0.3)]), images(&[(1.0, 0.3), (1.0, 0.3)]));
        assert_eq!(of(&good[..4], 0.1), OximetryError::NumImages { num_images: 4, num_times: 5 });
        assert_eq!(of(&[&good[..4], &other[4..]].concat(), 0.1), OximetryError::Sizes(5));
        let mut zero = images(&[(1.0, 0.3)]);
        zero[1].as_mut_slice().fill(0.0);
        assert_eq!(of(&zero, 0.1), OximetryError::ZeroImage(2));
        let twice = [&good[..3], &good[1..3]].concat();
        assert_eq!(of(&twice, 0.1), OximetryError::SameImages(2, 4));
        assert_eq!(of(&images(&[(-1.0, 0.3)]), 0.1), OximetryError::EmptyMask { time_us: 25.0 });
    }
}
