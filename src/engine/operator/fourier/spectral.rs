//! Convolutions of spectral-spatial images, with one kernel for each frequency of the spectra, on the host.
//!
//! Spectra of N samples are transformed; at each frequency 0 ≤ α < N/2 the complex image is convolved with a kernel as large as it is, as
//! in [`Convolution`](super::Convolution), and frequencies are independent of each other. The frequency N/2 has no kernel: it becomes 0.

use std::sync::Arc;

use rayon::prelude::*;

use super::convolution::{BLOCK, Planes, padded_size, transformed};
use crate::fft::{Complex, ComplexToReal, Fft, Number, RealToComplex};

/// Voxels whose spectra a thread transforms together: neighbours in memory.
const VOXELS: usize = 16;

/// Transforms of the kernels at the frequencies α of the spectra. A kernel is the conjugate of its mirror image, so that its transform is
/// real.
#[derive(Clone, Debug)]
pub struct SpectralKernels<T> {
    size: [usize; 3],
    num_samples: usize,
    /// `[α][x frequency][y frequency][z frequency]`, divided by the number of frequencies.
    spectra: Vec<Vec<T>>,
}

impl<T: Number> SpectralKernels<T> {
    /// Of images of `size` voxels along x, y, z with `num_samples` samples of each spectrum. `kernel(α)` is the kernel `[z, y, x]` of
    /// [`kernel_size`](super::kernel_size), whose middle is at ⌊n/2⌋.
    pub fn new(size: [usize; 3], num_samples: usize, kernel: impl Fn(usize) -> Vec<Complex<f64>>) -> Self {
        let value = |v: Complex<f64>| T::from_f64(v.re).unwrap_or_else(T::zero);
        let spectrum = |alpha| transformed(size, padded_size(size)[0], kernel(alpha)).into_iter().map(value).collect();
        Self { size, num_samples, spectra: (0..num_frequencies(num_samples)).map(spectrum).collect() }
    }

    /// Returns the size of the images along x, y, z.
    pub fn size(&self) -> [usize; 3] {
        self.size
    }

    /// Returns the number of samples of a spectrum.
    pub fn num_samples(&self) -> usize {
        self.num_samples
    }

    /// Returns the transform of the kernel at each frequency α: `[x frequency][y frequency][z frequency]`.
    pub fn spectra(&self) -> &[Vec<T>] {
        &self.spectra
    }

    /// Adds the kernels of further data, of images of the same size.
    pub fn add(&mut self, other: &Self) {
        for (sum, values) in self.spectra.iter_mut().zip(&other.spectra) {
            sum.iter_mut().zip(values).for_each(|(sum, value)| *sum = *sum + *value);
        }
    }
}

/// Returns the number of frequencies 0 ≤ α < N/2.
pub fn num_frequencies(num_samples: usize) -> usize {
    num_samples.div_ceil(2)
}

/// A convolution with its working memory.
pub struct SpectralConvolution<T: Number> {
    kernels: SpectralKernels<T>,
    padded: [usize; 3],
    forward: Arc<dyn RealToComplex<T>>,
    inverse: Arc<dyn ComplexToReal<T>>,
    along_x: [Arc<dyn Fft<T>>; 2],
    along_planes: Planes<T>,
    /// `[block of voxels, α, voxel]`.
    by_block: Vec<Complex<T>>,
    /// `[α, z, y, x]`.
    by_frequency: Vec<Complex<T>>,
    /// `[block of voxels, sample, voxel]`.
    spectra: Vec<T>,
}

impl<T: Number> SpectralConvolution<T> {
    /// With these kernels.
    pub fn new(kernels: SpectralKernels<T>) -> Self {
        let (size, num_samples, padded) = (kernels.size, kernels.num_samples, padded_size(kernels.size));
        let num_voxels: usize = size.iter().product();
        let in_blocks = num_voxels.next_multiple_of(VOXELS);
        let zero = Complex::new(T::zero(), T::zero());
        Self {
            padded,
            forward: T::real_forward(num_samples),
            inverse: T::real_inverse(num_samples),
            along_x: [T::forward(padded[0]), T::inverse(padded[0])],
            along_planes: Planes::new(size, 1),
            by_block: vec![zero; kernels.spectra.len() * in_blocks],
            by_frequency: vec![zero; kernels.spectra.len() * num_voxels],
            spectra: vec![T::zero(); num_samples * in_blocks],
            kernels,
        }
    }

    /// Returns the bytes of a convolution of single precision with its kernels.
    pub fn bytes(size: [usize; 3], num_samples: usize) -> u64 {
        let product = |size: [usize; 3]| size.iter().map(|&n| n as u64).product::<u64>();
        let num_frequencies = num_frequencies(num_samples) as u64;
        num_frequencies * (4 * product(padded_size(size)) + 2 * 8 * product(size)) + 4 * num_samples as u64 * product(size)
    }

    /// Writes the convolution of the image `[sample, z, y, x]`.
    pub fn apply(&mut self, image: &[T], result: &mut [T]) {
        let mut by_block = std::mem::take(&mut self.by_block);
        let mut by_frequency = std::mem::take(&mut self.by_frequency);
        let mut spectra = std::mem::take(&mut self.spectra);
        self.to_frequencies(image, &mut by_block);
        self.convolve(&by_block, &mut by_frequency);
        self.to_samples(&by_frequency, &mut spectra);
        let (num_samples, num_voxels) = (self.kernels.num_samples, self.num_voxels());
        result.par_chunks_exact_mut(num_voxels).enumerate().for_each(|(sample, result)| {
            for (values, block) in result.chunks_mut(VOXELS).zip(spectra.chunks_exact(num_samples * VOXELS)) {
                values.copy_from_slice(&block[sample * VOXELS..][..values.len()]);
            }
        });
        (self.by_block, self.by_frequency, self.spectra) = (by_block, by_frequency, spectra);
    }

    fn num_voxels(&self) -> usize {
        self.kernels.size.iter().product()
    }

    fn to_frequencies(&self, image: &[T], by_block: &mut [Complex<T>]) {
        let (num_samples, num_voxels) = (self.kernels.num_samples, self.num_voxels());
        let num_frequencies = self.kernels.spectra.len();
        by_block.par_chunks_exact_mut(num_frequencies * VOXELS).enumerate().for_each_init(
            || {
                let rows = vec![T::zero(); VOXELS * num_samples];
                (rows, self.forward.make_output_vec(), self.forward.make_scratch_vec())
            },
            |(rows, spectrum, scratch), (block, result)| {
                let first = block * VOXELS;
                let num = VOXELS.min(num_voxels - first);
                for sample in 0..num_samples {
                    let values = &image[sample * num_voxels + first..][..num];
                    values.iter().enumerate().for_each(|(i, value)| rows[i * num_samples + sample] = *value);
                }
                for (i, row) in rows.chunks_exact_mut(num_samples).take(num).enumerate() {
                    // The lengths are those of the plan: it cannot fail.
                    let _ = self.forward.process_with_scratch(row, spectrum, scratch);
                    spectrum[..num_frequencies].iter().enumerate().for_each(|(alpha, value)| result[alpha * VOXELS + i] = *value);
                }
            },
        );
    }

    fn convolve(&self, by_block: &[Complex<T>], by_frequency: &mut [Complex<T>]) {
        let ([num_x, num_y, num_z], [len_x, len_y, len_z]) = (self.kernels.size, self.padded);
        let (num_frequencies, num_voxels) = (self.kernels.spectra.len(), self.num_voxels());
        let zero = Complex::new(T::zero(), T::zero());
        let new = || {
            let (rows, planes) = (vec![zero; num_z * num_y * len_x], vec![zero; num_z * num_y * len_x]);
            let scratch = self.along_x.iter().map(|fft| fft.get_inplace_scratch_len()).max().unwrap_or(0);
            (rows, planes, vec![zero; scratch], self.along_planes.memory())
        };
        let frequencies = by_frequency.par_chunks_exact_mut(num_voxels).zip(&self.kernels.spectra).enumerate().with_max_len(1);
        frequencies.for_each_init(new, |(rows, planes, scratch, memory), (alpha, (result, kernel))| {
            for (values, block) in result.chunks_mut(VOXELS).zip(by_block.chunks_exact(num_frequencies * VOXELS)) {
                values.copy_from_slice(&block[alpha * VOXELS..][..values.len()]);
            }
            for (row, values) in rows.chunks_exact_mut(len_x).zip(result.chunks_exact(num_x)) {
                row[..num_x].copy_from_slice(values);
                row[num_x..].fill(zero);
            }
            let [forward, inverse] = &self.along_x;
            forward.process_with_scratch(rows, scratch);
            let plane_len = num_z * num_y;
            for (block, planes) in planes.chunks_mut(BLOCK * plane_len).enumerate() {
                self.along_planes.convolve(memory, rows, (block * BLOCK, len_x), planes, |x, data| {
                    let factors = &kernel[x * len_y * len_z..];
                    data.iter_mut().zip(factors).for_each(|(value, factor)| *value = value.scale(*factor));
                });
            }
            for (first, planes) in planes.chunks(BLOCK * plane_len).enumerate().map(|(block, planes)| (block * BLOCK, planes)) {
                for (row, values) in rows.chunks_exact_mut(len_x).enumerate() {
                    let along_x = planes.chunks_exact(plane_len).zip(&mut values[first..]);
                    along_x.for_each(|(plane, value)| *value = plane[row]);
                }
            }
            inverse.process_with_scratch(rows, scratch);
            let values = result.chunks_exact_mut(num_x).zip(rows.chunks_exact(len_x));
            values.for_each(|(values, row)| values.copy_from_slice(&row[..num_x]));
        });
    }

    fn to_samples(&self, by_frequency: &[Complex<T>], spectra: &mut [T]) {
        let (num_samples, num_voxels) = (self.kernels.num_samples, self.num_voxels());
        let num_frequencies = self.kernels.spectra.len();
        let scale = T::one() / T::from_usize(num_samples).unwrap_or_else(T::one);
        let zero = Complex::new(T::zero(), T::zero());
        spectra.par_chunks_exact_mut(num_samples * VOXELS).enumerate().for_each_init(
            || {
                let rows = vec![zero; VOXELS * (num_samples / 2 + 1)];
                (rows, self.inverse.make_output_vec(), self.inverse.make_scratch_vec())
            },
            |(rows, samples, scratch), (block, result)| {
                let first = block * VOXELS;
                let num = VOXELS.min(num_voxels - first);
                for alpha in 0..num_frequencies {
                    let values = &by_frequency[alpha * num_voxels + first..][..num];
                    let place = |i: usize| i * (num_samples / 2 + 1) + alpha;
                    values.iter().enumerate().for_each(|(i, value)| rows[place(i)] = value.scale(scale));
                }
                for (i, row) in rows.chunks_exact_mut(num_samples / 2 + 1).take(num).enumerate() {
                    // Rounding leaves a small imaginary part where a real row has none; the inverse transform overwrites its input.
                    row[0].im = T::zero();
                    row[num_frequencies..].fill(zero);
                    let _ = self.inverse.process_with_scratch(row, samples, scratch);
                    samples.iter().enumerate().for_each(|(sample, value)| result[sample * VOXELS + i] = *value);
                }
            },
        );
    }
}
