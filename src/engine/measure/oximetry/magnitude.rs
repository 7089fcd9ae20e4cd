//! Signs of magnitudes after an inversion.
//!
//! A recovery grows from negative values through 0. Its magnitudes fit the model with the signs of the first 0, 1, 2, … delays negative; the number
//! with the smallest residual is that of the signal.

use rayon::prelude::*;

use super::fit::RateFitter;
use crate::data::{Sweep, Volume};

/// Voxels of a piece of work.
const CHUNK: usize = 1024;

/// Returns images with the signs of recoveries in place of their magnitudes, voxel by voxel.
pub fn with_signs(images: &[Volume], fitter: &RateFitter) -> Vec<Volume> {
    let slices: Vec<&[f32]> = images.iter().map(Volume::as_slice).collect();
    let mut signed = images.to_vec();
    for (image, values) in signed.iter_mut().zip(signed_values(&slices, fitter)) {
        image.as_mut_slice().copy_from_slice(&values);
    }
    signed
}

/// Returns acquisitions with the signs of recoveries in place of the magnitudes of their samples. A sample is a sum over a plane, which grows
/// through 0 once, as each of its voxels does.
pub fn sweeps_with_signs(sweeps: &[Sweep], fitter: &RateFitter) -> Vec<Sweep> {
    let mut signed = sweeps.to_vec();
    let num_projections = sweeps.iter().map(Sweep::num_complete).min().unwrap_or(0);
    for index in 0..num_projections {
        let slices: Vec<&[f32]> = sweeps.iter().map(|sweep| &*sweep.projections[index].values).collect();
        for (sweep, values) in signed.iter_mut().zip(signed_values(&slices, fitter)) {
            sweep.projections[index].values = values.into();
        }
    }
    signed
}

/// Returns true if no value is negative, as of magnitudes.
pub fn are_magnitudes<'a>(values: impl IntoIterator<Item = &'a [f32]>) -> bool {
    values.into_iter().flatten().all(|value| *value >= 0.0)
}

/// Returns the values of each time with their signs.
fn signed_values(slices: &[&[f32]], fitter: &RateFitter) -> Vec<Vec<f32>> {
    let mut order: Vec<usize> = (0..slices.len()).collect();
    order.sort_by(|a, b| fitter.times_us()[*a].total_cmp(&fitter.times_us()[*b]));
    let num = slices.iter().map(|slice| slice.len()).min().unwrap_or(0);
    let mut num_negative = vec![0; num];
    num_negative.par_chunks_mut(CHUNK).enumerate().for_each(|(chunk, found)| {
        let (mut values, mut scratch) = (vec![0.0; slices.len()], Vec::new());
        for (index, found) in found.iter_mut().enumerate() {
            let voxel = chunk * CHUNK + index;
            values.iter_mut().zip(slices).for_each(|(value, slice)| *value = f64::from(slice[voxel]).abs());
            *found = best_num_negative(fitter, &mut values, &order, &mut scratch);
        }
    });
    let of_time = |(time, slice): (usize, &&[f32])| {
        let rank = order.iter().position(|index| *index == time).unwrap_or(0);
        let sign = |negative: &usize| if rank < *negative { -1.0 } else { 1.0 };
        slice.iter().zip(&num_negative).map(|(value, negative)| value.abs() * sign(negative)).collect()
    };
    slices.iter().enumerate().map(of_time).collect()
}

/// Returns the number of first times in `order` that are negative in the best fit; 0 without a fit. Changes the signs of `values`.
fn best_num_negative(fitter: &RateFitter, values: &mut [f64], order: &[usize], scratch: &mut Vec<f64>) -> usize {
    let (mut best, mut found) = (f64::INFINITY, 0);
    for num_negative in 0..=order.len() {
        if num_negative > 0 {
            values[order[num_negative - 1]] *= -1.0;
        }
        let residual = fitter.fit(values, scratch).map_or(f64::INFINITY, |fit| fit.residual);
        if residual < best {
            (best, found) = (residual, num_negative);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{RelaxationRate, Unit};
    use crate::geometry::Grid;

    #[test]
    fn magnitudes_get_the_signs_of_their_recovery() {
        // (Not in the order of time.)
        let delays = [8.0, 0.4, 0.8, 1.5, 30.0, 2.6, 4.5, 14.0];
        let fitter = RateFitter::new(RelaxationRate::R1, &delays).unwrap();
        let grid = Grid::centred([60, 1, 1], [1.0; 3]).unwrap();
        let image = |delay: f64| {
            // Whole inversions, partial ones, saturations.
            let value = |voxel: usize| {
                let (rate, inversion) = (0.15 + 0.01 * voxel as f64, [1.0, 0.9, 0.5][voxel % 3]);
                (2.0 * (1.0 - 2.0 * inversion * f64::exp(-rate * delay))) as f32
            };
            Volume::from_vec(grid.clone(), (0..60).map(value).collect(), Unit::Arbitrary).unwrap()
        };
        let signed = delays.map(image).to_vec();
        let mut magnitudes = signed.clone();
        magnitudes.iter_mut().for_each(|image| image.as_mut_slice().iter_mut().for_each(|value| *value = value.abs()));
        assert!(are_magnitudes(magnitudes.iter().map(Volume::as_slice)) && !are_magnitudes(signed.iter().map(Volume::as_slice)));
        for images in [&magnitudes, &signed] {
            let found = with_signs(images, &fitter);
            assert!(found.iter().zip(&signed).all(|(found, signed)| found.as_slice() == signed.as_slice()));
        }
    }
}
