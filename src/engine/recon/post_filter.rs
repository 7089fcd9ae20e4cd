//! Gaussian filter of a reconstructed image, for display and export.
//!
//! Separable: out_i = Σ_k g_k in_{i+k} / Σ_k g_k along x, y and z in turn, with g_k = exp(−(k d)² / 2σ²),
//! σ = FWHM / (2 √(2 ln 2)), cut off at 4 σ; both sums run over voxels inside the image, so that a uniform image
//! stays uniform up to its faces.

use rayon::prelude::*;

use crate::data::Volume;

/// Reach of the kernel in standard deviations.
const REACH_SIGMAS: f64 = 4.0;

/// Returns the image convolved with a Gaussian of this full width at half maximum, mm. A width that is not positive gives the
/// image as it is. On all cores of the pool that calls it.
pub fn gaussian_filter(volume: &Volume, fwhm_mm: f64) -> Volume {
    if !(fwhm_mm.is_finite() && fwhm_mm > 0.0) {
        return volume.clone();
    }
    let sigma_mm = fwhm_mm / (2.0 * (2.0 * 2f64.ln()).sqrt());
    let [num_x, num_y, num_z] = volume.grid.size;
    let kernels = volume.grid.voxel_mm.map(|side_mm| half_kernel(sigma_mm / side_mm));
    let empty = || Volume { unit: volume.unit, ..Volume::filled(volume.grid.clone(), 0.0) };
    let (mut source, mut filtered) = (empty(), empty());
    filtered.as_mut_slice().par_chunks_mut(num_x).zip(volume.as_slice().par_chunks(num_x)).for_each(|(out, row)| {
        for (x, value) in out.iter_mut().enumerate() {
            *value = along_row(row, x, &kernels[0]);
        }
    });
    for (axis, count, stride) in [(1, num_y, num_x), (2, num_z, num_x * num_y)] {
        std::mem::swap(&mut source, &mut filtered);
        let source = source.as_slice();
        filtered.as_mut_slice().par_chunks_mut(num_x).enumerate().for_each(|(row, out)| {
            let start = row * num_x;
            add_rows(out, source, start, (start / stride) % count, count, stride, &kernels[axis]);
        });
    }
    filtered
}

/// g_0, g_1, … of a Gaussian whose σ is given in voxels.
fn half_kernel(sigma: f64) -> Vec<f32> {
    let reach = (REACH_SIGMAS * sigma).ceil().min(4096.0) as usize;
    // (g_0 is 1 also where σ is too small to divide by.)
    let rest = (1..=reach).map(|k| (-0.5 * (k as f64 / sigma).powi(2)).exp() as f32);
    std::iter::once(1.0).chain(rest).collect()
}

/// Returns the filtered value at x of one row.
fn along_row(row: &[f32], x: usize, kernel: &[f32]) -> f32 {
    let (mut sum, mut weight) = (0.0f64, 0.0f64);
    let first = x.saturating_sub(kernel.len() - 1);
    let last = (x + kernel.len()).min(row.len());
    for (at, value) in row.iter().enumerate().take(last).skip(first) {
        let g = f64::from(kernel[at.abs_diff(x)]);
        sum += g * f64::from(*value);
        weight += g;
    }
    (sum / weight) as f32
}

/// A row of the result as the weighted sum of the rows before and after it along an axis: `at` is its place among
/// `count` rows `stride` values apart, `start` its first value.
fn add_rows(out: &mut [f32], source: &[f32], start: usize, at: usize, count: usize, stride: usize, kernel: &[f32]) {
    let first = at.saturating_sub(kernel.len() - 1);
    let last = (at + kernel.len()).min(count);
    let weight: f64 = (first..last).map(|k| f64::from(kernel[k.abs_diff(at)])).sum();
    out.fill(0.0);
    for k in first..last {
        let g = (f64::from(kernel[k.abs_diff(at)]) / weight) as f32;
        let from = start + k * stride - at * stride;
        out.iter_mut().zip(&source[from..]).for_each(|(sum, value)| *sum += g * value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::Grid;

    #[test]
    fn a_uniform_image_stays_and_no_width_changes_nothing() {
        let volume = Volume::filled(Grid::centred([9, 7, 5], [2.0, 3.0, 4.0]).unwrap(), 2.5);
        let filtered = gaussian_filter(&volume, 8.0);
        assert!(filtered.as_slice().iter().all(|v| (v - 2.5).abs() < 1e-5));
        assert_eq!(gaussian_filter(&volume, 0.0), volume);
        assert_eq!(gaussian_filter(&volume, f64::NAN), volume);
        // Widths that are nothing beside a voxel, down to the smallest number that there is.
        for fwhm_mm in [1e-3, 1e-200, 1e-323, f64::MIN_POSITIVE] {
            assert_eq!(gaussian_filter(&volume, fwhm_mm), volume, "{fwhm_mm}");
        }
    }

    #[test]
    fn a_point_becomes_a_gaussian_of_the_width_in_mm_along_every_axis() {
        let grid = Grid::centred([41, 31, 21], [1.0, 1.5, 2.0]).unwrap();
        let mut volume = Volume::filled(grid.clone(), 0.0);
        volume.values[[10, 15, 20]] = 1.0;
        let filtered = gaussian_filter(&volume, 7.0);
        assert!((filtered.sum() - 1.0).abs() < 1e-3, "{}", filtered.sum());
        let peak = f64::from(filtered.values[[10, 15, 20]]);
        let sigma = 7.0 / 2.354_820_045;
        for (step, index) in [(1.0, [10, 15, 21]), (1.5, [10, 16, 20]), (2.0, [11, 15, 20])] {
            let expected = peak * (-0.5 * f64::powi(step / sigma, 2)).exp();
            assert!((f64::from(filtered.values[index]) - expected).abs() < 1e-5 * peak, "{index:?}");
        }
    }
}
