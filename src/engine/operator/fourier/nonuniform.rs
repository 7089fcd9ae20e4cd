//! Transforms between an image and frequencies anywhere, to a chosen accuracy.
//!
//! Values are spread on a grid of twice the density with a kernel ψ that is narrow in both spaces, transformed there, and divided by
//! the transform of ψ. ψ(t) = exp(β(√(1 − (2t/w)²) − 1)), β = 2.3 w, for w points of the finer grid: about one digit a point
//! (Barnett, Magland, af Klinteberg, SIAM J. Sci. Comput. 41:C479, 2019, equations 1.8 and 2.4).

use std::f64::consts::{PI, TAU};
use std::ops::Range;
use std::sync::Arc;

use rayon::prelude::*;

use super::axis::{Pass, all_places, good_size, zeros};
use crate::fft::{Complex, Fft, Number};

/// Density of the finer grid.
const OVERSAMPLING: f64 = 2.0;

/// Widest kernel: about the rounding of double precision.
const MAX_WIDTH: usize = 16;

/// Planes of the finer grid that a thread makes together.
const SLAB: usize = 4;

const ZERO: Complex<f64> = Complex { re: 0.0, im: 0.0 };

/// Rows along x that a thread takes together: neighbours in memory.
const ROWS: usize = 8;

/// Steps of the integral of ψ: it is smooth, and as good as 0 at its ends.
const QUADRATURE: usize = 512;

/// An axis of the image.
struct Axis {
    /// Points of the kernel; 1 of an axis that takes no part.
    width: usize,
    /// Length of the finer grid.
    len: usize,
    /// ψ at the points of the kernel as Chebyshev series of the first one's place in its unit of the finer grid.
    series: Vec<[f64; MAX_WIDTH]>,
    /// Place of each frequency −⌊n/2⌋ … of the image in a row of the finer grid, and 1/ψ̂.
    modes: Vec<(usize, f64)>,
    forward: Arc<dyn Fft<f64>>,
    inverse: Arc<dyn Fft<f64>>,
}

impl Axis {
    fn new(size: usize, width: usize) -> Self {
        let (width, len) = match size {
            1 => (1, 1),
            _ => (width, good_size(((OVERSAMPLING * size as f64).ceil() as usize).max(2 * width))),
        };
        let mode = |k: usize| {
            let frequency = k as f64 - (size / 2) as f64;
            let place = (k + len - size / 2) % len;
            (place, if size == 1 { 1.0 } else { 1.0 / transformed(width, TAU * frequency / len as f64) })
        };
        let (forward, inverse) = (f64::forward(len), f64::inverse(len));
        Self { width, len, series: series(width), modes: (0..size).map(mode).collect(), forward, inverse }
    }

    /// Returns the first point of the kernel about a frequency in radians a voxel, and writes its values.
    fn spread(&self, omega: f64, weights: &mut [f64; MAX_WIDTH]) -> usize {
        if self.width == 1 {
            weights[0] = 1.0;
            return 0;
        }
        let (first, distance) = self.first_point(omega);
        // −w/2 … 1 − w/2 becomes −1 … 1. Clenshaw's sums of all points side by side.
        let t = 2.0 * (distance + 0.5 * self.width as f64) - 1.0;
        let (mut next, mut second) = ([0.0; MAX_WIDTH], [0.0; MAX_WIDTH]);
        for terms in self.series[1..].iter().rev() {
            for point in 0..MAX_WIDTH {
                let sum = terms[point] + 2.0 * t * next[point] - second[point];
                (second[point], next[point]) = (next[point], sum);
            }
        }
        for point in 0..MAX_WIDTH {
            weights[point] = self.series[0][point] + t * next[point] - second[point];
        }
        first
    }

    /// Returns the first point of the kernel about a frequency in radians a voxel, and its distance from the frequency, in points.
    fn first_point(&self, omega: f64) -> (usize, f64) {
        let centre = omega / TAU * self.len as f64;
        let first = (centre - 0.5 * self.width as f64).ceil();
        ((first as isize).rem_euclid(self.len as isize) as usize, first - centre)
    }
}

/// ψ at a distance in points of the finer grid.
fn kernel(width: usize, distance: f64) -> f64 {
    let part = 2.0 * distance / width as f64;
    let inside = 1.0 - part * part;
    if inside > 0.0 { (2.3 * width as f64 * (inside.sqrt() - 1.0)).exp() } else { 0.0 }
}

/// Returns the series of [`Axis::series`]: as exact as the kernel is of its width.
fn series(width: usize) -> Vec<[f64; MAX_WIDTH]> {
    let num = width + 4;
    let angles: Vec<f64> = (0..num).map(|j| PI * (j as f64 + 0.5) / num as f64).collect();
    let at = |point: usize, angle: f64| kernel(width, 0.5 * (angle.cos() + 1.0) + point as f64 - 0.5 * width as f64);
    let term = |k: usize, point: usize| {
        let sum: f64 = angles.iter().map(|&angle| at(point, angle) * (k as f64 * angle).cos()).sum();
        if k == 0 { sum / num as f64 } else { 2.0 * sum / num as f64 }
    };
    (0..num).map(|k| std::array::from_fn(|point| if point < width { term(k, point) } else { 0.0 })).collect()
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
        Self { axes: size.map(|n| Axis::new(n.max(1), width)) }
    }

    /// Returns the bytes that the adjoint needs for an image of this size, on all threads.
    pub fn bytes(size: [usize; 3]) -> u64 {
        let fine = size.map(|n| if n <= 1 { 1 } else { good_size(2 * n) as u64 });
        let size = size.map(|n| n as u64);
        let slabs = rayon::current_num_threads() as u64 * (SLAB as u64 * fine[1] + size[1]) * fine[2];
        16 * (fine[0] * size[1] * size[2] + slabs + size.iter().product::<u64>())
    }

    /// c_j = Σ_k f_k exp(−i ω_j·k) over the voxels k, counted from ⌊n/2⌋ along each axis; ω in radians a voxel.
    pub fn forward(&self, image: &[Complex<f64>], frequencies: &[[f64; 3]]) -> Vec<Complex<f64>> {
        let mut fine = image.to_vec();
        for axis in &self.axes {
            fine = Pass { fft: &axis.forward, place: Some(&axis.modes), take: &all_places(axis.len) }.apply(fine);
        }
        let [x, y, _] = &self.axes;
        let gather = |omega: &[f64; 3]| {
            let mut sum = ZERO;
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
        let [x, y, z] = &self.axes;
        let planes = self.planes(frequencies, values, x.len);
        let num_rows = y.modes.len() * z.modes.len();
        let mut image = zeros(num_rows * x.modes.len());
        image.par_chunks_mut(ROWS * x.modes.len()).enumerate().for_each_init(
            || (vec![ZERO; ROWS * x.len], vec![ZERO; x.inverse.get_inplace_scratch_len()]),
            |(rows, scratch), (block, image)| {
                turn(&planes[block * ROWS..], num_rows, image.len() / x.modes.len(), rows);
                for (row, image) in rows.chunks_exact_mut(x.len).zip(image.chunks_exact_mut(x.modes.len())) {
                    x.inverse.process_with_scratch(row, scratch);
                    image.iter_mut().zip(&x.modes).for_each(|(image, &(place, factor))| *image = row[place].scale(factor));
                }
            },
        );
        image
    }

    /// Re Σ_j c_j exp(i ω_j·k): half the work of [`NonuniformTransform::adjoint`]. With −ω_j and the conjugate of c_j for each
    /// frequency, too, the values at −l are the conjugates of those at l.
    pub fn adjoint_real(&self, frequencies: &[[f64; 3]], values: &[Complex<f64>]) -> Vec<f64> {
        let [x, y, z] = &self.axes;
        let num_planes = x.len / 2 + 1;
        let both: Vec<[f64; 3]> = frequencies.iter().copied().chain(frequencies.iter().map(|omega| omega.map(|v| -v))).collect();
        let halves: Vec<Complex<f64>> = values.iter().copied().chain(values.iter().map(|c| c.conj())).map(|c| 0.5 * c).collect();
        let planes = self.planes(&both, &halves, num_planes);
        let num_rows = y.modes.len() * z.modes.len();
        let inverse = f64::real_inverse(x.len);
        let mut image = vec![0.0; num_rows * x.modes.len()];
        image.par_chunks_mut(ROWS * x.modes.len()).enumerate().for_each_init(
            || (vec![ZERO; ROWS * num_planes], inverse.make_output_vec(), inverse.make_scratch_vec()),
            |(spectra, row, scratch), (block, image)| {
                turn(&planes[block * ROWS..], num_rows, image.len() / x.modes.len(), spectra);
                for (spectrum, image) in spectra.chunks_exact_mut(num_planes).zip(image.chunks_exact_mut(x.modes.len())) {
                    // Rounding leaves small imaginary parts where a real row has none.
                    spectrum[0].im = 0.0;
                    spectrum[num_planes - 1].im = 0.0;
                    // The lengths are those of the plan: it cannot fail.
                    let _ = inverse.process_with_scratch(spectrum, row, scratch);
                    image.iter_mut().zip(&x.modes).for_each(|(image, &(place, factor))| *image = factor * row[place]);
                }
            },
        );
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

    /// Σ_j c_j ψ(l − l_j) at the first planes of the finer grid along x, transformed along y and z: `[x][z, y of the image]`. A thread
    /// owns a few planes and visits all frequencies whose kernel meets them; the finer grid is never stored.
    fn planes(&self, frequencies: &[[f64; 3]], values: &[Complex<f64>], num_planes: usize) -> Vec<Complex<f64>> {
        let [x, y, z] = &self.axes;
        let (order, starts) = self.by_first_plane(frequencies);
        let (plane_len, fine_len) = (y.modes.len() * z.modes.len(), y.len * z.len);
        let mut planes = zeros(num_planes * plane_len);
        planes.par_chunks_mut(SLAB * plane_len).enumerate().for_each_init(
            || Slab::new(&self.axes),
            |memory, (slab, planes)| {
                let owned = slab * SLAB..slab * SLAB + planes.len() / plane_len;
                memory.fine.fill(ZERO);
                for first in first_planes(&owned, x.width, x.len) {
                    for &index in &order[starts[first]..starts[first + 1]] {
                        self.spread(&frequencies[index], values[index], &owned, &mut memory.fine);
                    }
                }
                for (fine, plane) in memory.fine.chunks_exact_mut(fine_len).zip(planes.chunks_exact_mut(plane_len)) {
                    self.transform_plane(fine, &mut memory.along_z, &mut memory.scratch, plane);
                }
            },
        );
        planes
    }

    /// Adds c ψ(l − l_j) to the planes that a thread owns, `[x][z, y]` of the finer grid.
    fn spread(&self, omega: &[f64; 3], value: Complex<f64>, owned: &Range<usize>, fine: &mut [Complex<f64>]) {
        let [x, y, z] = &self.axes;
        let mut weights = [[0.0; MAX_WIDTH]; 3];
        let first: [usize; 3] = std::array::from_fn(|a| self.axes[a].spread(omega[a], &mut weights[a]));
        let [weights_x, weights_y, weights_z] = &weights;
        // The part of the kernel behind the last point of a row continues at its first.
        let (before, behind) = weights_y[..y.width].split_at(y.width.min(y.len - first[1]));
        for (i, weight_x) in weights_x[..x.width].iter().enumerate() {
            let plane = (first[0] + i) % x.len;
            if !owned.contains(&plane) {
                continue;
            }
            for (k, weight_z) in weights_z[..z.width].iter().enumerate() {
                let row = (plane - owned.start) * z.len + (first[2] + k) % z.len;
                let row = &mut fine[row * y.len..][..y.len];
                let value = value.scale(weight_x * weight_z);
                row[first[1]..].iter_mut().zip(before).for_each(|(to, weight)| *to += value.scale(*weight));
                row.iter_mut().zip(behind).for_each(|(to, weight)| *to += value.scale(*weight));
            }
        }
    }

    /// Transforms a plane `[z, y]` of the finer grid to `[z, y]` of the image.
    fn transform_plane(
        &self,
        fine: &mut [Complex<f64>],
        along_z: &mut [Complex<f64>],
        scratch: &mut [Complex<f64>],
        plane: &mut [Complex<f64>],
    ) {
        let [_, y, z] = &self.axes;
        for (l, row) in fine.chunks_exact_mut(y.len).enumerate() {
            y.inverse.process_with_scratch(row, scratch);
            y.modes.iter().enumerate().for_each(|(k, &(place, factor))| along_z[k * z.len + l] = row[place].scale(factor));
        }
        for (k, row) in along_z.chunks_exact_mut(z.len).enumerate() {
            z.inverse.process_with_scratch(row, scratch);
            let to = plane[k..].iter_mut().step_by(y.modes.len());
            to.zip(&z.modes).for_each(|(to, &(place, factor))| *to = row[place].scale(factor));
        }
    }

    /// Returns the indices of the frequencies sorted by the first plane along x of their kernel, and where those of each plane begin.
    fn by_first_plane(&self, frequencies: &[[f64; 3]]) -> (Vec<usize>, Vec<usize>) {
        let axis = &self.axes[0];
        let planes: Vec<usize> = frequencies.iter().map(|omega| axis.first_point(omega[0]).0).collect();
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

/// Working memory of a thread.
struct Slab {
    /// Planes of the finer grid: `[x][z, y]`.
    fine: Vec<Complex<f64>>,
    /// `[y of the image, z of the finer grid]`.
    along_z: Vec<Complex<f64>>,
    scratch: Vec<Complex<f64>>,
}

impl Slab {
    fn new([_, y, z]: &[Axis; 3]) -> Self {
        let scratch_len = y.inverse.get_inplace_scratch_len().max(z.inverse.get_inplace_scratch_len());
        Self {
            fine: vec![ZERO; SLAB * y.len * z.len],
            along_z: vec![ZERO; y.modes.len() * z.len],
            scratch: vec![ZERO; scratch_len],
        }
    }
}

/// Takes some neighbouring rows along x from planes of `num_rows` rows.
fn turn(planes: &[Complex<f64>], num_rows: usize, num_taken: usize, rows: &mut [Complex<f64>]) {
    let len = rows.len() / ROWS;
    for (x, plane) in planes.chunks(num_rows).enumerate().take(len) {
        plane[..num_taken].iter().enumerate().for_each(|(row, value)| rows[row * len + x] = *value);
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
                let found = transform.adjoint_real(&frequencies, &values);
                let error = norm(found.iter().zip(&adjoint).map(|(a, b)| (a - b.re).into())) / norm(adjoint.iter().copied());
                assert!(error < tolerance, "{size:?}, {tolerance}: {error:e}");
            }
        }
    }
}
