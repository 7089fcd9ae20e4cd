//! Convolutions of spectral-spatial images on a CUDA device (`kernels/variation.cu`; the definition is
//! [`SpectralConvolution`](crate::operator::SpectralConvolution) on the host).
//!
//! Frequencies of the spectra are done in groups: the values of a group lie next to each other, so that transforms along all axes of space
//! read whole lines of the cache, and the padded spectra of one group at a time are in memory.

use cudarc::driver::{CudaSlice, LaunchConfig};
use rayon::prelude::*;

use super::convolution::{MAX_LINES, SHARED_BYTES, Stage, allow_lines, lines_of_block, roots};
use crate::cuda::backend::CudaBackend;
use crate::cuda::device::driver;
use crate::cuda::error::CudaError;
use crate::cuda::kernel::{BLOCK, blocks};
use crate::cuda::launches::variation::{Kernels, LinesShape, SamplesShape};
use crate::operator::{SpectralKernels, num_spectral_frequencies, padded_size};

/// Frequencies of a group, at most: their values fill a line of the cache.
const MAX_GROUP: usize = 16;

/// Shared memory of a block that transforms the samples of voxels, bytes. (The step from a sample to the next is odd.)
const SAMPLES_BYTES: usize = SHARED_BYTES + SHARED_BYTES / MAX_LINES;

/// Frequencies along z that a thread brings to the order of the device together: neighbours in memory.
const PLANES: usize = 16;

/// A convolution with its working memory.
pub(super) struct CudaSpectralConvolution {
    samples: SamplesShape,
    /// Transforms of a group along x, y and z, the product, and back.
    stages: Vec<Stage>,
    /// exp(−2πi k/n) along the spectra.
    roots_of_samples: CudaSlice<[f32; 2]>,
    /// The same of each axis of space.
    roots: [CudaSlice<[f32; 2]>; 3],
    /// `[z frequency, y frequency, x frequency, α of the group]` of each group.
    kernels: Vec<CudaSlice<f32>>,
    /// `[z, y, x, α of the group]` of each group.
    spectra: CudaSlice<[f32; 2]>,
    /// A group between the transforms.
    between: [CudaSlice<[f32; 2]>; 2],
}

/// Sizes of the arrays of a convolution.
struct Sizes {
    size: [usize; 3],
    padded: [usize; 3],
    /// Groups, and the frequencies of each; the last group is filled with zeros.
    num_groups: usize,
    group: usize,
}

impl Sizes {
    fn new(size: [usize; 3], num_samples: usize) -> Self {
        let num_frequencies = num_spectral_frequencies(num_samples);
        let num_groups = num_frequencies.div_ceil(MAX_GROUP).max(1);
        Self { size, padded: padded_size(size), num_groups, group: num_frequencies.div_ceil(num_groups) }
    }

    fn num_voxels(&self) -> usize {
        self.size.iter().product()
    }

    /// Returns the values of the kernels of a group.
    fn kernels_len(&self) -> usize {
        self.group * self.padded.iter().product::<usize>()
    }

    /// Returns the values of the spectra of all groups.
    fn spectra_len(&self) -> usize {
        self.num_groups * self.group * self.num_voxels()
    }

    /// Returns the largest number of values of a group between the transforms.
    fn between_len(&self) -> usize {
        let ([_, ny, nz], [len_x, len_y, _]) = (self.size, self.padded);
        self.group * len_x * nz * if nz == 1 { ny } else { len_y }
    }

    /// Returns the transforms of a group along x, y and z, the product, and back.
    fn stages(&self) -> Vec<Stage> {
        let ([nx, ny, nz], [len_x, len_y, len_z]) = (self.size, self.padded);
        let stage = |axis: usize, distance: usize, [read, written]: [usize; 2], num_groups: usize| {
            let len = self.padded[axis];
            let lines = LinesShape {
                num_lines: distance as u32,
                lines_of_block: lines_of_block(len, MAX_LINES.min(distance)).0 as u32,
                len: len as u32,
                num_read: read as u32,
                num_written: written as u32,
                read_step: distance as u32,
                read_group: (read * distance) as u32,
                write_step: distance as u32,
                write_group: (written * distance) as u32,
                ..LinesShape::default()
            };
            Stage { lines, axis, num_groups: num_groups as u32 }
        };
        let (of_x, of_y, of_z) = (self.group, self.group * len_x, self.group * len_x * len_y);
        let forward = |stage: Stage| Stage { lines: LinesShape { is_forward: 1, ..stage.lines }, ..stage };
        let inverse = |stage: Stage| Stage { lines: LinesShape { is_inverse: 1, ..stage.lines }, ..stage };
        let whole =
            |stage: Stage| Stage { lines: LinesShape { is_forward: 1, has_product: 1, is_inverse: 1, ..stage.lines }, ..stage };
        let [to_x, from_x] = [forward(stage(0, of_x, [nx, len_x], ny * nz)), inverse(stage(0, of_x, [len_x, nx], ny * nz))];
        if len_z == 1 {
            return vec![to_x, whole(stage(1, of_y, [ny, ny], 1)), from_x];
        }
        let [to_y, from_y] = [forward(stage(1, of_y, [ny, len_y], nz)), inverse(stage(1, of_y, [len_y, ny], nz))];
        vec![to_x, to_y, whole(stage(2, of_z, [nz, nz], 1)), from_y, from_x]
    }

    /// Returns the kernels of a group in the order of the device. Those of frequencies behind the last one are 0.
    fn kernels_of(&self, kernels: &SpectralKernels<f32>, group: usize) -> Vec<f32> {
        let [len_x, len_y, len_z] = self.padded;
        let plane_len = self.group * len_x * len_y;
        let spectra: Vec<&[f32]> = kernels.spectra().iter().skip(group * self.group).take(self.group).map(|v| &v[..]).collect();
        let mut values = vec![0.0; self.kernels_len()];
        values.par_chunks_mut(PLANES * plane_len).enumerate().for_each(|(block, planes)| {
            for row in 0..len_x * len_y {
                // (The host's order is `[x, y, z]`.)
                let (x, y) = (row % len_x, row / len_x);
                for (alpha, spectrum) in spectra.iter().enumerate() {
                    let along_z = &spectrum[(x * len_y + y) * len_z + block * PLANES..];
                    let to = planes[row * self.group + alpha..].iter_mut().step_by(plane_len);
                    to.zip(along_z).for_each(|(to, value)| *to = *value);
                }
            }
        });
        values
    }
}

/// Returns the shape of a launch for the samples of voxels, with its pairs of voxels of a block.
fn samples_launch(num_voxels: usize, num_samples: usize) -> (LaunchConfig, usize) {
    let bytes = |pairs: usize| 2 * 8 * num_samples * (pairs | 1);
    let num = (1..=MAX_LINES).rev().find(|pairs| bytes(*pairs) <= SAMPLES_BYTES).unwrap_or(1);
    let grid_dim = (blocks(num_voxels.div_ceil(2), num as u32), 1, 1);
    (LaunchConfig { grid_dim, block_dim: (BLOCK, 1, 1), shared_mem_bytes: bytes(num) as u32 }, num)
}

/// Returns the bytes of a convolution with its kernels on a device.
pub fn spectral_convolution_bytes(size: [usize; 3], num_samples: usize) -> u64 {
    let sizes = Sizes::new(size, num_samples);
    let kernels = 4 * sizes.num_groups as u64 * sizes.kernels_len() as u64;
    kernels + 8 * (sizes.spectra_len() as u64 + 2 * sizes.between_len() as u64)
}

impl CudaSpectralConvolution {
    /// Brings kernels to a device.
    pub fn new(backend: &CudaBackend, kernels: &Kernels, spectra: &SpectralKernels<f32>) -> Result<Self, CudaError> {
        let (size, num_samples) = (spectra.size(), spectra.num_samples());
        let sizes = Sizes::new(size, num_samples);
        let (launch, pairs_of_block) = samples_launch(sizes.num_voxels(), num_samples);
        allow_lines(&kernels.lines_of_spectra, sizes.padded)?;
        for kernel in [&*kernels.samples_to_spectra, &*kernels.spectra_to_samples] {
            kernel.allow_shared_bytes(launch.shared_mem_bytes.max(SAMPLES_BYTES as u32))?;
        }
        let samples = SamplesShape {
            num_voxels: sizes.num_voxels() as u32,
            num_samples: num_samples as u32,
            num_frequencies: num_spectral_frequencies(num_samples) as u32,
            group: sizes.group as u32,
            pairs_of_block: pairs_of_block as u32,
        };
        let of_axis = |axis: usize| backend.table(&roots(sizes.padded[axis]), [0.0; 2]);
        let of_group = |group: usize| backend.table(&sizes.kernels_of(spectra, group), 0.0);
        let between = || driver::zeros(&backend.stream, sizes.between_len());
        Ok(Self {
            samples,
            stages: sizes.stages(),
            roots_of_samples: backend.table(&roots(num_samples), [0.0; 2])?,
            roots: [of_axis(0)?, of_axis(1)?, of_axis(2)?],
            kernels: (0..sizes.num_groups).map(of_group).collect::<Result<_, _>>()?,
            spectra: driver::zeros(&backend.stream, sizes.spectra_len())?,
            between: [between()?, between()?],
        })
    }

    /// Returns the values of an image.
    pub fn len(&self) -> usize {
        self.samples.num_samples as usize * self.samples.num_voxels as usize
    }

    /// Writes the convolution of the image `[sample, z, y, x]`.
    pub fn apply(
        &mut self,
        backend: &CudaBackend,
        kernels: &Kernels,
        image: &CudaSlice<f32>,
        result: &mut CudaSlice<f32>,
    ) -> Result<(), CudaError> {
        let Self { samples, stages, roots_of_samples, roots, kernels: of_groups, spectra, between: [here, there] } = self;
        let (launch, _) = samples_launch(samples.num_voxels as usize, samples.num_samples as usize);
        kernels.samples_to_spectra.launch(&backend.stream, launch, spectra, image, roots_of_samples, samples)?;
        let group_len = samples.group as usize * samples.num_voxels as usize;
        for (group, own) in of_groups.iter().enumerate() {
            let range = group * group_len..(group + 1) * group_len;
            let (mut from, mut to) = (&mut *here, &mut *there);
            let [first, middle @ .., last] = &stages[..] else { continue };
            first.launch(backend, kernels, from, &spectra.slice(range.clone()), roots, own)?;
            for stage in middle {
                stage.launch(backend, kernels, to, from, roots, own)?;
                std::mem::swap(&mut from, &mut to);
            }
            last.launch(backend, kernels, &mut spectra.slice_mut(range), from, roots, own)?;
        }
        kernels.spectra_to_samples.launch(&backend.stream, launch, result, spectra, roots_of_samples, samples)
    }
}

#[cfg(test)]
mod tests {
    use crate::fft::Complex;

    use super::*;

    #[test]
    fn groups_hold_all_frequencies_of_the_kernels_in_the_order_of_the_device() {
        let size = [3, 4, 2];
        for num_samples in [8, 25, 70] {
            let kernels = SpectralKernels::<f32>::new(size, num_samples, |alpha| {
                let value = |k: usize| Complex::new(((k + 97 * alpha) as f64).sin(), 0.0);
                (0..6 * 8 * 4).map(value).collect()
            });
            let sizes = Sizes::new(size, num_samples);
            let [len_x, len_y, len_z] = sizes.padded;
            assert!(sizes.group <= MAX_GROUP);
            assert!((0..sizes.group).contains(&(sizes.num_groups * sizes.group - kernels.spectra().len())));
            for group in 0..sizes.num_groups {
                let values = sizes.kernels_of(&kernels, group);
                for (at, value) in values.iter().enumerate() {
                    let (alpha, place) = (group * sizes.group + at % sizes.group, at / sizes.group);
                    let (x, y, z) = (place % len_x, place / len_x % len_y, place / (len_x * len_y));
                    let expected = kernels.spectra().get(alpha).map_or(0.0, |spectrum| spectrum[(x * len_y + y) * len_z + z]);
                    assert_eq!(*value, expected, "{num_samples} samples, group {group}, {at}");
                }
            }
        }
    }

    #[test]
    fn forecast_of_a_large_image() {
        let (voxels, padded) = (64 * 64 * 64, 128 * 128 * 128);
        let between = 16 * 128 * 128 * 64;
        assert_eq!(spectral_convolution_bytes([64; 3], 128), 64 * (4 * padded + 8 * voxels) + 2 * 8 * between);
        // Without a third dimension no values between y and z.
        assert_eq!(spectral_convolution_bytes([64, 64, 1], 32), 16 * (4 * 128 * 128 + 8 * 64 * 64) + 2 * 8 * 16 * 128 * 64);
    }
}
