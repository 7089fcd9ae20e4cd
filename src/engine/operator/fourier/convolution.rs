//! Convolutions of images with kernels as large as they are, by transforms of twice the size, on the host.
//!
//! Zeros of the padding are not transformed, and values outside the image are not computed: rows along x become half spectra; at each
//! frequency of x follow the transforms along y and z, the product, and the way back; then rows along x again. The padded image is never
//! stored.

use std::sync::Arc;

use rayon::prelude::*;

use super::axis::{Pass, all_places, good_size, zeros};
use crate::fft::{Complex, ComplexToReal, Fft, Number, RealToComplex};

/// Rows and frequencies of x that a thread takes together: neighbours in memory.
pub(super) const BLOCK: usize = 8;

/// Returns the size of the kernel of a convolution of images: −n … n − 1 along each axis that takes part.
pub fn kernel_size(size: [usize; 3]) -> [usize; 3] {
    size.map(|n| if n <= 1 { 1 } else { 2 * n })
}

/// Returns the size of the transforms: nothing wraps round.
pub fn padded_size(size: [usize; 3]) -> [usize; 3] {
    size.map(|n| if n <= 1 { 1 } else { good_size(2 * n - 1) })
}

/// Transforms of kernels that couple several images: image m of the result is Σ_j (kernel mj) ∗ (image j). Kernels are real, kernel jm is
/// kernel mj mirrored, and kernel mm is its own mirror image, so that its transform is real.
#[derive(Clone, Debug)]
pub struct KernelSpectrum<T> {
    size: [usize; 3],
    num_images: usize,
    /// Of each image with itself: `[x frequency from 0][y frequency][z frequency]`, divided by the number of frequencies.
    with_itself: Vec<Vec<T>>,
    /// Of each pair (m, j), m < j: (0, 1), (0, 2), (1, 2), … in the same order.
    between: Vec<Vec<Complex<T>>>,
}

impl<T: Number> KernelSpectrum<T> {
    /// Of images of `size` voxels along x, y, z. `kernel(m, j)`, m ≤ j, is the kernel `[z, y, x]` of [`kernel_size`], whose middle is at
    /// ⌊n/2⌋.
    pub fn new<K: AsRef<[f64]>>(size: [usize; 3], num_images: usize, mut kernel: impl FnMut(usize, usize) -> K) -> Self {
        let (mut with_itself, mut between) = (Vec::new(), Vec::new());
        let value = |value: f64| T::from_f64(value).unwrap_or_else(T::zero);
        for j in 0..num_images {
            for m in 0..=j {
                let values = kernel(m, j).as_ref().par_iter().map(|&value| value.into()).collect();
                let spectrum = transformed(size, padded_size(size)[0] / 2 + 1, values);
                if m == j {
                    with_itself.push(spectrum.par_iter().map(|v| value(v.re)).collect());
                } else {
                    between.push(spectrum.par_iter().map(|v| Complex::new(value(v.re), value(v.im))).collect());
                }
            }
        }
        Self { size, num_images, with_itself, between }
    }

    /// Returns the size of the images along x, y, z.
    pub fn size(&self) -> [usize; 3] {
        self.size
    }

    /// Returns the transform of an image's kernel with itself: `[x frequency from 0][y frequency][z frequency]`.
    pub fn with_itself(&self, image: usize) -> &[T] {
        &self.with_itself[image]
    }

    /// Returns the number of coupled images.
    pub fn num_images(&self) -> usize {
        self.num_images
    }

    /// Returns the transforms between the pairs (0, 1), (0, 2), (1, 2), … in the same order.
    pub fn between(&self) -> &[Vec<Complex<T>>] {
        &self.between
    }

    /// Multiplies the transforms `[image][frequency]` of all images at the frequencies from place `at` on. `products` is as long as they are.
    fn multiply(&self, at: usize, values: &mut [Complex<T>], products: &mut [Complex<T>]) {
        let len = values.len() / self.num_images;
        let own = self.with_itself.iter().map(|factors| &factors[at..at + len]);
        if self.num_images == 1 {
            own.for_each(|factors| values.iter_mut().zip(factors).for_each(|(value, factor)| *value = value.scale(*factor)));
            return;
        }
        let images = products.chunks_exact_mut(len).zip(values.chunks_exact(len));
        for ((products, values), factors) in images.zip(own) {
            let each = products.iter_mut().zip(values).zip(factors);
            each.for_each(|((product, value), factor)| *product = value.scale(*factor));
        }
        let pairs = (0..self.num_images).flat_map(|j| (0..j).map(move |m| (m, j)));
        for ((m, j), factors) in pairs.zip(&self.between) {
            let factors = &factors[at..at + len];
            let of = |image: usize| image * len..(image + 1) * len;
            let of_m = products[of(m)].iter_mut().zip(&values[of(j)]).zip(factors);
            of_m.for_each(|((product, value), factor)| *product = *product + factor * value);
            let of_j = products[of(j)].iter_mut().zip(&values[of(m)]).zip(factors);
            of_j.for_each(|((product, value), factor)| *product = *product + factor.conj() * value);
        }
        values.copy_from_slice(products);
    }
}

/// Returns the first `num_x` frequencies along x of the spectrum of a kernel, `[x][y][z]`, divided by the number of frequencies.
pub(super) fn transformed(size: [usize; 3], num_x: usize, kernel: Vec<Complex<f64>>) -> Vec<Complex<f64>> {
    let padded = padded_size(size);
    let scale = 1.0 / padded.iter().product::<usize>() as f64;
    let mut data = kernel;
    for axis in 0..3 {
        let (n, len) = (size[axis], padded[axis]);
        let factor = if axis == 0 { scale } else { 1.0 };
        let place: Vec<(usize, f64)> = match n {
            0 | 1 => vec![(0, factor)],
            // (The value at −n has no partner at n.)
            _ => (0..2 * n).map(|k| ((k + len - n) % len, if k == 0 { 0.0 } else { factor })).collect(),
        };
        let take = all_places(if axis == 0 { num_x } else { len });
        data = Pass { fft: &f64::forward(len), place: Some(&place), take: &take }.apply(data);
    }
    let [_, num_y, num_z] = padded;
    let mut turned = zeros(data.len());
    turned.par_chunks_exact_mut(num_y * num_z).enumerate().for_each(|(x, plane)| {
        for (y, row) in plane.chunks_exact_mut(num_z).enumerate() {
            row.iter_mut().enumerate().for_each(|(z, value)| *value = data[(z * num_y + y) * num_x + x]);
        }
    });
    turned
}

/// Forward and inverse transform of complex rows.
struct Both<T: Number>([Arc<dyn Fft<T>>; 2]);

impl<T: Number> Both<T> {
    fn new(len: usize) -> Self {
        Self([T::forward(len), T::inverse(len)])
    }

    fn scratch_len(&self) -> usize {
        self.0.iter().map(|fft| fft.get_inplace_scratch_len()).max().unwrap_or(0)
    }
}

/// Transforms along y and z of the planes of one frequency of x, of one image or several.
pub(super) struct Planes<T: Number> {
    size: [usize; 3],
    padded: [usize; 3],
    num_images: usize,
    along_y: Both<T>,
    along_z: Both<T>,
}

/// Working memory of a thread.
pub(super) struct PlaneMemory<T> {
    /// `[x frequency of a block, image, z, y frequency]`.
    by_y: Vec<Complex<T>>,
    /// `[image, y frequency, z frequency]`.
    by_z: Vec<Complex<T>>,
    scratch: Vec<Complex<T>>,
}

impl<T: Number> Planes<T> {
    pub(super) fn new(size: [usize; 3], num_images: usize) -> Self {
        let padded = padded_size(size);
        let (along_y, along_z) = (Both::new(padded[1]), Both::new(padded[2]));
        Self { size, padded, num_images, along_y, along_z }
    }

    pub(super) fn memory(&self) -> PlaneMemory<T> {
        let zero = Complex::new(T::zero(), T::zero());
        let [_, len_y, len_z] = self.padded;
        PlaneMemory {
            by_y: vec![zero; BLOCK * self.num_images * self.size[2] * len_y],
            by_z: vec![zero; self.num_images * len_y * len_z],
            scratch: vec![zero; self.along_y.scratch_len().max(self.along_z.scratch_len())],
        }
    }

    /// Returns the values of the planes of one frequency of x.
    fn len(&self) -> usize {
        self.num_images * self.size[2] * self.size[1]
    }

    /// Convolves the planes of a few frequencies of x from `first` on, whose rows `[image, z, y]` have `row_len` frequencies.
    /// `multiply` multiplies the spectra `[image, y, z]` of a frequency. The result is `[x frequency, image, z, y]`.
    pub(super) fn convolve(
        &self,
        memory: &mut PlaneMemory<T>,
        rows: &[Complex<T>],
        (first, row_len): (usize, usize),
        result: &mut [Complex<T>],
        mut multiply: impl FnMut(usize, &mut [Complex<T>]),
    ) {
        let ([_, num_y, num_z], [_, len_y, _]) = (self.size, self.padded);
        let num = result.len() / self.len();
        let plane_len = self.num_images * num_z * len_y;
        memory.by_y.fill(Complex::new(T::zero(), T::zero()));
        for (row, values) in rows.chunks_exact(row_len).enumerate() {
            let (z, y) = (row / num_y, row % num_y);
            for (x, value) in values[first..first + num].iter().enumerate() {
                memory.by_y[x * plane_len + z * len_y + y] = *value;
            }
        }
        for (x, result) in result.chunks_exact_mut(self.len()).enumerate() {
            self.plane(x * plane_len, memory, |values| multiply(first + x, values));
            let by_y = memory.by_y[x * plane_len..].chunks_exact(len_y);
            result.chunks_exact_mut(num_y).zip(by_y).for_each(|(row, values)| row.copy_from_slice(&values[..num_y]));
        }
    }

    /// One frequency of x: transforms along y and z, the product, and back. `at` = its place in `by_y`.
    fn plane(&self, at: usize, memory: &mut PlaneMemory<T>, multiply: impl FnOnce(&mut [Complex<T>])) {
        let PlaneMemory { by_y, by_z, scratch } = memory;
        let ([_, _, num_z], [_, len_y, len_z]) = (self.size, self.padded);
        let by_y = &mut by_y[at..][..self.num_images * num_z * len_y];
        let [forward, inverse] = &self.along_y.0;
        by_y.chunks_exact_mut(len_y).for_each(|row| forward.process_with_scratch(row, scratch));
        if len_z == 1 {
            multiply(by_y);
        } else {
            let [forward_z, inverse_z] = &self.along_z.0;
            by_z.fill(Complex::new(T::zero(), T::zero()));
            for (row, along_y) in by_y.chunks_exact(len_y).enumerate() {
                let (image, z) = (row / num_z, row % num_z);
                along_y.iter().enumerate().for_each(|(y, value)| by_z[(image * len_y + y) * len_z + z] = *value);
            }
            by_z.chunks_exact_mut(len_z).for_each(|row| forward_z.process_with_scratch(row, scratch));
            multiply(by_z);
            by_z.chunks_exact_mut(len_z).for_each(|row| inverse_z.process_with_scratch(row, scratch));
            for (row, along_y) in by_y.chunks_exact_mut(len_y).enumerate() {
                let (image, z) = (row / num_z, row % num_z);
                along_y.iter_mut().enumerate().for_each(|(y, value)| *value = by_z[(image * len_y + y) * len_z + z]);
            }
        }
        by_y.chunks_exact_mut(len_y).for_each(|row| inverse.process_with_scratch(row, scratch));
    }
}

/// A convolution with its working memory.
pub struct Convolution<T: Number> {
    spectrum: KernelSpectrum<T>,
    padded: [usize; 3],
    forward: Arc<dyn RealToComplex<T>>,
    inverse: Arc<dyn ComplexToReal<T>>,
    along_planes: Planes<T>,
    /// `[image, z, y, x frequency]`.
    rows: Vec<Complex<T>>,
    /// `[x frequency, image, z, y]`.
    planes: Vec<Complex<T>>,
}

impl<T: Number> Convolution<T> {
    /// With these kernels.
    pub fn new(spectrum: KernelSpectrum<T>) -> Self {
        let padded = padded_size(spectrum.size);
        let [_, num_y, num_z] = spectrum.size;
        let num = spectrum.num_images * num_z * num_y * (padded[0] / 2 + 1);
        let zero = Complex::new(T::zero(), T::zero());
        Self {
            padded,
            forward: T::real_forward(padded[0]),
            inverse: T::real_inverse(padded[0]),
            along_planes: Planes::new(spectrum.size, spectrum.num_images),
            rows: vec![zero; num],
            planes: vec![zero; num],
            spectrum,
        }
    }

    /// Writes the convolutions of the images `[image, z, y, x]`.
    pub fn apply(&mut self, images: &[T], result: &mut [T]) {
        let mut rows = std::mem::take(&mut self.rows);
        let mut planes = std::mem::take(&mut self.planes);
        self.rows_to_frequencies(images, &mut rows);
        self.multiply_planes(&rows, &mut planes);
        self.frequencies_to_rows(&planes, result);
        (self.rows, self.planes) = (rows, planes);
    }

    fn num_frequencies(&self) -> usize {
        self.padded[0] / 2 + 1
    }

    fn rows_to_frequencies(&self, images: &[T], rows: &mut [Complex<T>]) {
        let num_x = self.spectrum.size[0];
        let each = rows.par_chunks_exact_mut(self.num_frequencies()).zip(images.par_chunks_exact(num_x)).with_min_len(BLOCK);
        each.for_each_init(
            || (self.forward.make_input_vec(), self.forward.make_scratch_vec()),
            |(buffer, scratch), (row, values)| {
                buffer[..num_x].copy_from_slice(values);
                buffer[num_x..].fill(T::zero());
                // The lengths are those of the plan: it cannot fail.
                let _ = self.forward.process_with_scratch(buffer, row, scratch);
            },
        );
    }

    fn multiply_planes(&self, rows: &[Complex<T>], planes: &mut [Complex<T>]) {
        let len = self.padded[1] * self.padded[2];
        let zero = Complex::new(T::zero(), T::zero());
        let num_products = if self.spectrum.num_images > 1 { self.spectrum.num_images * len } else { 0 };
        let new = || (self.along_planes.memory(), vec![zero; num_products]);
        let blocks = planes.par_chunks_mut(BLOCK * self.along_planes.len()).enumerate();
        blocks.for_each_init(new, |(memory, products), (block, planes)| {
            let places = (block * BLOCK, self.num_frequencies());
            self.along_planes.convolve(memory, rows, places, planes, |frequency, data| {
                self.spectrum.multiply(frequency * len, data, products);
            });
        });
    }

    fn frequencies_to_rows(&self, planes: &[Complex<T>], result: &mut [T]) {
        let num_x = self.spectrum.size[0];
        let (num_frequencies, num_rows) = (self.num_frequencies(), result.len() / num_x.max(1));
        result.par_chunks_mut(BLOCK * num_x).enumerate().for_each_init(
            || {
                let zero = Complex::new(T::zero(), T::zero());
                (vec![zero; BLOCK * num_frequencies], self.inverse.make_output_vec(), self.inverse.make_scratch_vec())
            },
            |(spectra, row, scratch), (block, result)| {
                let first = block * BLOCK;
                let num = result.len() / num_x;
                for frequency in 0..num_frequencies {
                    for (i, value) in planes[frequency * num_rows + first..][..num].iter().enumerate() {
                        spectra[i * num_frequencies + frequency] = *value;
                    }
                }
                for (spectrum, result) in spectra.chunks_exact_mut(num_frequencies).zip(result.chunks_exact_mut(num_x)) {
                    // Rounding leaves small imaginary parts where a real row has none.
                    spectrum[0].im = T::zero();
                    spectrum[num_frequencies - 1].im = T::zero();
                    let _ = self.inverse.process_with_scratch(spectrum, row, scratch);
                    result.copy_from_slice(&row[..num_x]);
                }
            },
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn noise(len: usize, salt: f64) -> Vec<f64> {
        (0..len).map(|i| ((i as f64 + 1.0) * salt).sin()).collect()
    }

    fn place(index: usize, size: [usize; 3]) -> [isize; 3] {
        [index % size[0], index / size[0] % size[1], index / (size[0] * size[1])].map(|n| n as isize)
    }

    /// Σ_k kernel[i − k] · image[k], the kernel's middle at ⌊n/2⌋; mirrored: kernel[k − i].
    fn direct(size: [usize; 3], kernel: &[f64], is_mirrored: bool, image: &[f64]) -> Vec<f64> {
        let of_kernel = kernel_size(size);
        let value = |difference: [isize; 3]| {
            let [x, y, z] = std::array::from_fn(|a| (difference[a] + (of_kernel[a] / 2) as isize) as usize);
            kernel[(z * of_kernel[1] + y) * of_kernel[0] + x]
        };
        let sign = if is_mirrored { -1 } else { 1 };
        (0..image.len())
            .map(|i| {
                let at = place(i, size);
                let term = |(k, v): (usize, &f64)| {
                    let other = place(k, size);
                    v * value(std::array::from_fn(|a| sign * (at[a] - other[a])))
                };
                image.iter().enumerate().map(term).sum()
            })
            .collect()
    }

    /// Makes a kernel its own mirror image.
    fn symmetric(size: [usize; 3], kernel: &[f64]) -> Vec<f64> {
        let of_kernel = kernel_size(size);
        (0..kernel.len())
            .map(|i| {
                let at = place(i, of_kernel);
                let mirrored: [usize; 3] =
                    std::array::from_fn(|a| (2 * (of_kernel[a] / 2) as isize - at[a]) as usize % of_kernel[a]);
                kernel[i] + kernel[(mirrored[2] * of_kernel[1] + mirrored[1]) * of_kernel[0] + mirrored[0]]
            })
            .collect()
    }

    #[test]
    fn convolutions_equal_their_sums() {
        for size in [[6, 5, 1], [4, 3, 5], [9, 2, 2]] {
            let num_voxels: usize = size.iter().product();
            let kernel_len: usize = kernel_size(size).iter().product();
            let own = [3.1, 5.7].map(|salt| symmetric(size, &noise(kernel_len, salt)));
            let cross = noise(kernel_len, 7.3);
            let images = noise(2 * num_voxels, 11.9);
            let (first, second) = images.split_at(num_voxels);
            let kernel = |m: usize, j: usize| if m == j { own[m].clone() } else { cross.clone() };
            let mut found = vec![0.0; num_voxels];
            Convolution::new(KernelSpectrum::<f64>::new(size, 1, kernel)).apply(first, &mut found);
            let largest = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            assert!(largest(&found, &direct(size, &own[0], false, first)) < 1e-12);
            let mut found = vec![0.0; 2 * num_voxels];
            Convolution::new(KernelSpectrum::<f64>::new(size, 2, kernel)).apply(&images, &mut found);
            let sum = |a: Vec<f64>, b: Vec<f64>| a.iter().zip(&b).map(|(a, b)| a + b).collect::<Vec<_>>();
            let of_first = sum(direct(size, &own[0], false, first), direct(size, &cross, false, second));
            let of_second = sum(direct(size, &cross, true, first), direct(size, &own[1], false, second));
            assert!(largest(&found[..num_voxels], &of_first) < 1e-12, "{size:?}");
            assert!(largest(&found[num_voxels..], &of_second) < 1e-12, "{size:?}");
        }
    }
}
