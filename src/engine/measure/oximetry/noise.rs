//! Noise of the images about each voxel, from the residuals of its neighbours' fits.

use crate::geometry::Grid;

/// Neighbours on each side whose residuals count.
const HALF_WIDTH: usize = 2;

/// Returns the noise of the images at each voxel: the root of Σ residual / (fitted voxels · degrees of freedom) over the 5 × 5 × 5 voxels
/// about it. `residuals` (order z, y, x) are NaN where there is no fit; there the noise is, too, where no neighbour has one.
///
/// One voxel has few residuals: its own estimate would scatter by 1/√(2·5) = 32 % with eight delays. Neighbours have the same noise, also
/// where it changes over the image. Residuals, unlike the values outside the object, contain no streaks of the reconstruction: streaks
/// recover like the object.
pub fn local_noise(grid: &Grid, residuals: &[f64], degrees_of_freedom: usize) -> Vec<f64> {
    let is_fitted = |value: &f64| !value.is_nan();
    let sums = box_sums(grid, residuals.iter().map(|value| if is_fitted(value) { *value } else { 0.0 }).collect());
    let nums = box_sums(grid, residuals.iter().map(|value| f64::from(u8::from(is_fitted(value)))).collect());
    sums.iter().zip(nums).map(|(sum, num)| (sum / (num * degrees_of_freedom as f64)).sqrt()).collect()
}

/// Returns the sums over the neighbours within the half width along each axis.
fn box_sums(grid: &Grid, mut values: Vec<f64>) -> Vec<f64> {
    let [nx, ny, _] = grid.size;
    for (side, stride) in grid.size.into_iter().zip([1, nx, nx * ny]) {
        let from = values.clone();
        for (index, value) in values.iter_mut().enumerate() {
            let at = index / stride % side;
            let first = index - stride * at.min(HALF_WIDTH);
            let num = at.min(HALF_WIDTH) + 1 + (side - 1 - at).min(HALF_WIDTH);
            *value = (0..num).map(|k| from[first + k * stride]).sum();
        }
    }
    values
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn residuals_of_neighbours_are_pooled() {
        let grid = Grid::centred([7, 3, 1], [1.0; 3]).unwrap();
        let mut residuals = vec![f64::NAN; 21];
        (residuals[0], residuals[9]) = (5.0, 15.0);
        let noise = local_noise(&grid, &residuals, 5);
        // Voxel 9 is x = 2, y = 1: within two of x = 0 … 4.
        assert_eq!((noise[0], noise[1], noise[3], noise[11]), (2f64.sqrt(), 2f64.sqrt(), 3f64.sqrt(), 3f64.sqrt()));
        assert!(noise[5].is_nan());
    }
}
