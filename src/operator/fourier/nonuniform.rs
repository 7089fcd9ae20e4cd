//! Transforms between an image and frequencies anywhere, to a chosen accuracy.
//!
//! Values are spread on a grid of twice the density with a kernel ψ that is narrow in both spaces, transformed there, and divided by
//! the transform of ψ. ψ(t) = exp(β(√(1 − (2t/w)²) − 1)), β = 2.3 w, for w points of the finer grid: about one digit a point
//! (Barnett, Magland, af Klinteberg, SIAM J. Sci. Comput. 41:C479, 2019, equations 1.8 and 2.4).

use std::f64::consts::TAU;
use std::ops::Range;
use std::sync::Arc;

use rayon::prelude::*;
use rustfft::num_complex::Complex;
use rustfft::{Fft, FftPlanner};

use super::axis::{Pass, all_places, good_size, zeros};

/// Density of the finer grid.
const OVERSAMPLING: f64 = 2.0;

/// Widest kernel: about the rounding of double precision.
const MAX_WIDTH: usize = 16;

/// Planes of the finer grid of a thread: a fixed number, so that sums have the same bits for any number of threads.
const SLAB: usize = 16;

/// Steps of the integral of ψ: it is smooth, and as good as 0 at its ends.
const QUADRATURE: usize = 512;

/// An axis of the image.
struct Axis {
    /// Points of the kernel; 1 of an axis that takes no part.
    width: usize,
    /// Length of the finer grid.
    len: usize,
    /// Place of each frequency −⌊n/2⌋ … of the image in a row of the finer grid, and 1/ψ̂.
    modes: Vec<(usize, f64)>,
    forward: Arc<dyn Fft<f64>>,
    inverse: Arc<dyn Fft<f64>>,
}

impl Axis {
    fn new(size: usize, width: usize, planner: &mut FftPlanner<f64>) -> Self {
        let (width, len) = match size {
            1 => (1, 1),
            _ => (width, good_size(((OVERSAMPLING * size as f64).ceil() as usize).max(2 * width))),
        };
        let mode = |k: usize| {
            let frequency = k as f64 - (size / 2) as f64;
            let place = (k + len - size / 2) % len;
            (place, if size == 1 { 1.0 } else { 1.0 / transformed(width, TAU * frequency / len as f64) })
        };
        let (forward, inverse) = (planner.plan_fft_forward(len), planner.plan_fft_inverse(len));
        Self { width, len, modes: (0..size).map(mode).collect(), forward, inverse }
    }

    /// Returns the first point of the kernel about a frequency in radians a voxel, and writes its values.
    fn spread(&self, omega: f64, weights: &mut [f64; MAX_WIDTH]) -> usize {
        if self.width == 1 {
            weights[0] = 1.0;
            return 0;
        }
        let centre = omega / TAU * self.len as f64;
        let first = (centre - 0.5 * self.width as f64).ceil();
        for (point, weight) in weights[..self.width].iter_mut().enumerate() {
            *weight = kernel(self.width, first + point as f64 - centre);
        }
        (first as isize).rem_euclid(self.len as isize) as usize
    }
}

/// ψ at a distance in points of the finer grid.
fn kernel(width: usize, distance: f64) -> f64 {
    let part = 2.0 * distance / width as f64;
    let inside = 1.0 - part * part;
    if inside > 0.0 { (2.3 * width as f64 * (inside.sqrt() - 1.0)).exp() } else { 0.0 }
}

/// ∫ ψ(t) cos(ωt) dt.
fn transformed(width: usize, omega: f64) -> f64 {
    let step = width as f64 / QUADRATURE as f64;
    let at = |i: usize| {
        let t = (i as f64 + 0.5) * step - 0.5 * width as f64;
        kernel(width, t) * (omega * t).cos()
    };
    step * (0..QUADRATURE).map(at).sum::<f64>()
}

/// Transforms of images of one size at any frequencies.
pub struct NonuniformTransform {
    /// x, y, z.
    axes: [Axis; 3],
}

impl NonuniformTransform {
    /// For images of `size` voxels along x, y and z. The tolerance is relative to the norm of a result, 1e-15 … 0.1.
    pub fn new(size: [usize; 3], tolerance: f64) -> Self {
        let digits = -tolerance.clamp(1e-15, 0.1).log10();
        let width = (digits.ceil() as usize + 2).clamp(2, MAX_WIDTH);
        let mut planner = FftPlanner::new();
        Self { axes: size.map(|n| Axis::new(n.max(1), width, &mut planner)) }
    }

    /// Returns the bytes that a transform of images of this size needs at its largest.
    pub fn bytes(size: [usize; 3]) -> u64 {
        let fine: u64 = size.iter().map(|&n| if n <= 1 { 1 } else { good_size(2 * n) as u64 }).product();
        2 * 16 * fine
    }

    /// c_j = Σ_k f_k exp(−i ω_j·k) over the voxels k, counted from ⌊n/2⌋ along each axis; ω in radians a voxel.
    pub fn forward(&self, image: &[Complex<f64>], frequencies: &[[f64; 3]]) -> Vec<Complex<f64>> {
        let mut fine = image.to_vec();
        for axis in &self.axes {
            fine = Pass { fft: &axis.forward, place: Some(&axis.modes), take: &all_places(axis.len) }.apply(fine);
        }
        let [x, y, _] = &self.axes;
        let gather = |omega: &[f64; 3]| {
            let mut sum = Complex::new(0.0, 0.0);
            self.visit(omega, |wy_wz, [ix, iy, iz], wx| {
                let row = &fine[(iz * y.len + iy) * x.len..][..x.len];
                let along: Complex<f64> = wx.iter().enumerate().map(|(i, weight)| row[(ix + i) % x.len].scale(*weight)).sum();
                sum += along.scale(wy_wz);
            });
            sum
        };
        frequencies.par_iter().map(gather).collect()
    }

    /// f_k = Σ_j c_j exp(i ω_j·k), the adjoint of [`NonuniformTransform::forward`].
    pub fn adjoint(&self, frequencies: &[[f64; 3]], values: &[Complex<f64>]) -> Vec<Complex<f64>> {
        let mut image = self.spread(frequencies, values);
        for axis in &self.axes {
            image = Pass { fft: &axis.inverse, place: None, take: &axis.modes }.apply(image);
        }
        image
    }

    /// Calls `row` for each row of the finer grid that the kernel about ω meets, with the product of its weights along y and z, the
    /// first point along x and the row's place along y and z, and the weights along x.
    fn visit(&self, omega: &[f64; 3], mut row: impl FnMut(f64, [usize; 3], &[f64])) {
        let [x, y, z] = &self.axes;
        let mut weights = [[0.0; MAX_WIDTH]; 3];
        let first: [usize; 3] = std::array::from_fn(|a| self.axes[a].spread(omega[a], &mut weights[a]));
        for (k, wz) in weights[2][..z.width].iter().enumerate() {
            for (j, wy) in weights[1][..y.width].iter().enumerate() {
                row(wy * wz, [first[0], (first[1] + j) % y.len, (first[2] + k) % z.len], &weights[0][..x.width]);
            }
        }
    }

    /// Σ_j c_j ψ(l − l_j) on the finer grid. A thread owns a slab of planes and visits all frequencies whose kernel meets it.
    fn spread(&self, frequencies: &[[f64; 3]], values: &[Complex<f64>]) -> Vec<Complex<f64>> {
        let [x, y, z] = &self.axes;
        // The slowest axis that takes part.
        let slow = if z.len > 1 { 2 } else { 1 };
        let (num_planes, plane_len) = if slow == 2 { (z.len, y.len * x.len) } else { (y.len, x.len) };
        let (order, starts) = self.by_first_plane(slow, frequencies);
        let mut fine = zeros(num_planes * plane_len);
        fine.par_chunks_mut(SLAB * plane_len).enumerate().for_each(|(slab, part)| {
            let planes = slab * SLAB..(slab * SLAB + part.len() / plane_len);
            for first in first_planes(&planes, self.axes[slow].width, num_planes) {
                for &index in &order[starts[first]..starts[first + 1]] {
                    self.visit(&frequencies[index], |wy_wz, [ix, iy, iz], wx| {
                        let plane = if slow == 2 { iz } else { iy };
                        if !planes.contains(&plane) {
                            return;
                        }
                        let value = values[index].scale(wy_wz);
                        let in_plane = if slow == 2 { iy * x.len } else { 0 };
                        let row = &mut part[(plane - planes.start) * plane_len + in_plane..][..x.len];
                        for (i, weight) in wx.iter().enumerate() {
                            row[(ix + i) % x.len] += value.scale(*weight);
                        }
                    });
                }
            }
        });
        fine
    }

    /// Returns the indices of the frequencies sorted by the first plane of their kernel, and where those of each plane begin.
    fn by_first_plane(&self, slow: usize, frequencies: &[[f64; 3]]) -> (Vec<usize>, Vec<usize>) {
        let axis = &self.axes[slow];
        let mut weights = [0.0; MAX_WIDTH];
        let planes: Vec<usize> = frequencies.iter().map(|omega| axis.spread(omega[slow], &mut weights)).collect();
        let mut starts = vec![0; axis.len + 1];
        planes.iter().for_each(|&plane| starts[plane + 1] += 1);
        for plane in 0..axis.len {
            starts[plane + 1] += starts[plane];
        }
        let (mut next, mut order) = (starts.clone(), vec![0; planes.len()]);
        for (index, &plane) in planes.iter().enumerate() {
            order[next[plane]] = index;
            next[plane] += 1;
        }
        (order, starts)
    }
}

/// Returns the first planes of kernels of a width that meet these planes, each once.
fn first_planes(planes: &Range<usize>, width: usize, num_planes: usize) -> impl Iterator<Item = usize> {
    let num = (planes.len() + width - 1).min(num_planes);
    let start = planes.start + num_planes - (width - 1).min(num_planes);
    (0..num).map(move |i| (start + i) % num_planes)
}

#[cfg(test)]
mod tests {
    use std::f64::consts::PI;

    use super::*;

    /// Frequencies within ±π and values between −1 and 1.
    fn examples(num: usize, is_flat: bool) -> (Vec<[f64; 3]>, Vec<Complex<f64>>) {
        let noise = |i: usize, salt: f64| ((i as f64 + 1.0) * salt).sin();
        let frequency = |i| [PI * noise(i, 12.9898), PI * noise(i, 78.233), if is_flat { 0.0 } else { PI * noise(i, 37.719) }];
        let value = |i| Complex::new(noise(i, 4.898), noise(i, 9.151));
        ((0..num).map(frequency).collect(), (0..num).map(value).collect())
    }

    fn voxel(index: usize, size: [usize; 3]) -> [f64; 3] {
        let place = [index % size[0], index / size[0] % size[1], index / (size[0] * size[1])];
        std::array::from_fn(|a| place[a] as f64 - (size[a] / 2) as f64)
    }

    fn norm(values: impl Iterator<Item = Complex<f64>>) -> f64 {
        values.map(|value| value.norm_sqr()).sum::<f64>().sqrt()
    }

    #[test]
    fn transforms_equal_their_sums_to_the_tolerance() {
        for size in [[9, 6, 1], [5, 8, 7], [40, 1, 1]] {
            let (frequencies, values) = examples(50, size[2] == 1);
            let num_voxels: usize = size.iter().product();
            let (_, image) = examples(num_voxels, true);
            let phase = |omega: &[f64; 3], k: [f64; 3]| Complex::cis((0..3).map(|a| omega[a] * k[a]).sum());
            let forward: Vec<_> = frequencies
                .iter()
                .map(|omega| (0..num_voxels).map(|i| image[i] * phase(omega, voxel(i, size)).conj()).sum::<Complex<f64>>())
                .collect();
            let adjoint: Vec<_> = (0..num_voxels)
                .map(|i| frequencies.iter().zip(&values).map(|(w, c)| c * phase(w, voxel(i, size))).sum::<Complex<f64>>())
                .collect();
            for tolerance in [1e-3, 1e-6, 1e-13] {
                let transform = NonuniformTransform::new(size, tolerance);
                let found = transform.forward(&image, &frequencies);
                let error = norm(found.iter().zip(&forward).map(|(a, b)| a - b)) / norm(forward.iter().copied());
                assert!(error < tolerance, "{size:?}, {tolerance}: {error:e}");
                let found = transform.adjoint(&frequencies, &values);
                let error = norm(found.iter().zip(&adjoint).map(|(a, b)| a - b)) / norm(adjoint.iter().copied());
                assert!(error < tolerance, "{size:?}, {tolerance}: {error:e}");
            }
        }
    }
}
