//! Mean residual of the fits at each time, relative to the amplitude: no oxygen makes it. Images without their sign, delays in another
//! order and acquisitions of another gain do.
//!
//! The mean is Σ (S − fit) / Σ |A| over the fitted voxels. Noise of an image is correlated over some voxels, so that the standard error is
//! from sums over blocks: b the blocks, n their number, SE² = n/(n−1) · Σ_b (Σ (S − fit) − mean · Σ |A|)² / (Σ |A|)².

use super::fit::RateFitter;
use super::voxels::VoxelFit;
use crate::data::Volume;

/// Side of a block, voxels.
const BLOCK: usize = 5;

/// Fewest blocks whose scatter is a standard error; of fewer, each voxel is one.
const MIN_BLOCKS: usize = 8;

/// Mean residual that is reported, and in standard errors: eight delays of a clean series exceed these in fewer than one of a thousand.
const MAX_MEAN: f64 = 0.02;
const MAX_ERRORS: f64 = 5.0;

/// Mean residual of the fits at a time.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct Misfit {
    /// Delay or echo time, µs.
    pub time_us: f64,
    /// Mean residual, as a fraction of the amplitude.
    pub mean: f64,
    /// Its standard error.
    pub standard_error: f64,
}

impl Misfit {
    /// Returns true of a residual that noise does not make.
    pub fn is_large(&self) -> bool {
        self.mean.abs() > MAX_MEAN && self.mean.abs() > MAX_ERRORS * self.standard_error
    }
}

/// Returns the mean residual at each time; none of as many times as parameters, and without fits.
pub(super) fn misfits(images: &[&Volume], fits: &[VoxelFit], fitter: &RateFitter) -> Vec<Misfit> {
    if fitter.degrees_of_freedom() == 0 || fits.iter().flatten().nth(1).is_none() {
        return Vec::new();
    }
    let fitted: Vec<_> = fits.iter().enumerate().filter_map(|(voxel, fit)| Some((voxel, fit.as_ref().ok()?))).collect();
    let (blocks, num_blocks) = blocks(images[0].grid.size, fitted.iter().map(|(voxel, _)| *voxel).collect());
    let of_time = |(image, &time_us): (&&Volume, &f64)| {
        let mut sums = vec![[0.0; 2]; num_blocks];
        for ((voxel, fit), block) in fitted.iter().zip(&blocks) {
            sums[*block][0] += f64::from(image.as_slice()[*voxel]) - fit.value(time_us);
            sums[*block][1] += fit.amplitude.abs();
        }
        let [residual, amplitude] = sums.iter().fold([0.0; 2], |[a, b], [c, d]| [a + c, b + d]);
        let (mean, num) = (residual / amplitude, num_blocks as f64);
        let scatter: f64 = sums.iter().map(|[residual, amplitude]| (residual - mean * amplitude).powi(2)).sum();
        Misfit { time_us, mean, standard_error: (num / (num - 1.0) * scatter).sqrt() / amplitude }
    };
    images.iter().zip(fitter.times_us()).map(of_time).collect()
}

/// Returns the block of each of these voxels, counted from 0, and their number.
fn blocks([nx, ny, _]: [usize; 3], voxels: Vec<usize>) -> (Vec<usize>, usize) {
    let place = |voxel: &usize| [voxel / (nx * ny) / BLOCK, voxel / nx % ny / BLOCK, voxel % nx / BLOCK];
    let mut places: Vec<[usize; 3]> = voxels.iter().map(place).collect();
    places.sort_unstable();
    places.dedup();
    match places.len() {
        0..MIN_BLOCKS => ((0..voxels.len()).collect(), voxels.len()),
        num => (voxels.iter().map(|voxel| places.partition_point(|other| *other < place(voxel))).collect(), num),
    }
}

/// Returns the warning about images that do not follow the model.
pub(super) fn doubt(misfits: &[Misfit]) -> Option<String> {
    let text = |misfit: &Misfit| {
        format!("{:+.1} ± {:.1} % at {} µs", 100.0 * misfit.mean, 100.0 * misfit.standard_error, misfit.time_us)
    };
    let large: Vec<String> = misfits.iter().filter(|misfit| misfit.is_large()).map(text).collect();
    (!large.is_empty()).then(|| {
        format!(
            "the images do not follow the model, and the oxygen pressures are wrong: on average they differ from the fits by {} of the \
             amplitude. Check the order of the times, that all acquisitions have one gain and one object, and that the first images after \
             an inversion are negative (magnitude images are not)",
            large.join(", ")
        )
    })
}

#[cfg(test)]
mod tests {
    use super::super::fit::RateFitter;
    use super::super::maps::oxygen_maps;
    use super::super::voxels::FitsOnThreads;
    use super::*;
    use crate::data::{OxygenCalibration, RelaxationRate, Unit};
    use crate::geometry::Grid;
    use crate::random;
    use crate::task::Task;

    const DELAYS: [f64; 8] = [0.4, 1.0, 2.0, 3.5, 6.0, 10.0, 16.0, 25.0];

    /// Images of 0 to 60 torr with noise of a 30th of the amplitude, smoothed along x over some voxels.
    fn images(seed: u64) -> Vec<Volume> {
        let grid = Grid::centred([30, 20, 1], [1.0; 3]).unwrap();
        let image = |(delay, time): (usize, &f64)| {
            let mut stream = random::stream(seed, delay as u64);
            let mut normal = || (0..12).map(|_| f64::from(stream.next_u32()) / 2f64.powi(32)).sum::<f64>() - 6.0;
            let mut before = 0.0;
            let value = |voxel: usize| {
                before = 0.7 * before + (1.0 - 0.49f64).sqrt() * normal();
                let rate = 0.2 + 0.6 * voxel as f64 / 600.0;
                (1.0 - 1.9 * (-rate * time).exp() + before / 30.0) as f32
            };
            Volume::from_vec(grid.clone(), (0..600).map(value).collect(), Unit::Arbitrary).unwrap()
        };
        DELAYS.iter().enumerate().map(image).collect()
    }

    fn doubt_of(images: &[Volume]) -> Option<String> {
        let fitter = RateFitter::new(RelaxationRate::R1, &DELAYS).unwrap();
        let [name, title, source] = ["probe"; 3].map(str::to_owned);
        let (slope_torr_us, intercept_per_us) = (100.0, 0.2);
        let calibration = OxygenCalibration { name, title, source, rate: RelaxationRate::R1, slope_torr_us, intercept_per_us };
        let views: Vec<&Volume> = images.iter().collect();
        oxygen_maps(&mut FitsOnThreads, &views, &fitter, &calibration, 0.1, &Task::new()).unwrap().doubt()
    }

    #[test]
    fn what_no_oxygen_makes_is_reported_and_noise_is_not() {
        let num_alarms = (0..200).filter(|seed| doubt_of(&images(*seed)).is_some()).count();
        assert!(num_alarms <= 1, "{num_alarms} of 200");
        let scaled = |delay: usize, factor: f32| {
            let mut images = images(1);
            images[delay].as_mut_slice().iter_mut().for_each(|value| *value *= factor);
            images
        };
        let mut exchanged = images(1);
        exchanged.swap(0, 1);
        let mut magnitude = images(1);
        magnitude.iter_mut().for_each(|image| image.as_mut_slice().iter_mut().for_each(|value| *value = value.abs()));
        for (name, images) in [
            ("gain of the last", scaled(7, 0.9)),
            ("gain of one", scaled(3, 1.1)),
            ("polarity of one", scaled(0, -1.0)),
            ("first two exchanged", exchanged),
            ("magnitude", magnitude),
        ] {
            assert!(doubt_of(&images).is_some_and(|text| text.contains("do not follow the model")), "{name}");
        }
    }
}
