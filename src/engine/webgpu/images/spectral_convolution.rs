//! Convolutions of spectral-spatial images (`shaders/compute/convolution.wgsl`; the definition is
//! [`crate::operator::SpectralConvolution`] on the host).
//!
//! Frequencies of the spectra are done in groups: each frequency is an image of the transforms in space, and the padded values of one group
//! at a time are in memory.

use crate::algebra::Image;
use crate::operator::{SpectralKernels, num_spectral_frequencies, padded_size};
use crate::webgpu::array::{Segments, WebGpuArray};
use crate::webgpu::backend::WebGpuBackend;
use crate::webgpu::error::WebGpuError;
use crate::webgpu::images::convolution::{Numbers, Transform, kernel};
use crate::webgpu::kernel::{Kernel, THREADS};

/// Complex values of a group, unless one frequency has more.
const MAX_GROUP_LEN: usize = 1 << 22;

/// Lengths of the arrays of a convolution.
struct Lens {
    /// Voxels of an image, and frequencies of its transforms.
    num_voxels: usize,
    padded: usize,
    /// Frequencies of the spectra, and of a group of them.
    num_frequencies: usize,
    group: usize,
    /// Complex values of the spectra, of pairs of voxels with all frequencies or of voxels with half of them.
    spectra: usize,
}

impl Lens {
    /// With at most `max_len` complex values of a group, unless one frequency has more.
    fn new(size: [usize; 3], num_samples: usize, max_len: usize) -> Self {
        let product = |size: [usize; 3]| size.iter().product::<usize>();
        let (num_voxels, padded) = (product(size), product(padded_size(size)));
        let num_frequencies = num_spectral_frequencies(num_samples);
        let num_groups = num_frequencies.div_ceil((max_len / padded).max(1)).max(1);
        let spectra = (num_samples * num_voxels.div_ceil(2)).max(num_frequencies * num_voxels);
        Self { num_voxels, padded, num_frequencies, group: num_frequencies.div_ceil(num_groups), spectra }
    }
}

/// Returns the bytes of a convolution with its kernels on a GPU.
pub fn spectral_convolution_bytes(size: [usize; 3], num_samples: usize) -> u64 {
    let Lens { padded, num_frequencies, group, spectra, .. } = Lens::new(size, num_samples, MAX_GROUP_LEN);
    4 * (num_frequencies * padded) as u64 + 16 * (spectra + group * padded) as u64
}

/// The kernels of the steps from samples to frequencies in space, and back.
struct Kernels {
    load_samples: Kernel,
    split_pairs: Kernel,
    load_frequencies: Kernel,
    multiply: Kernel,
    take_frequencies: Kernel,
    join_pairs: Kernel,
    take_samples: Kernel,
}

/// A convolution of a spectral-spatial image with its working memory on a GPU.
pub(super) struct WebGpuSpectralConvolution {
    lens: Lens,
    /// Sizes of images and transforms.
    shape: Numbers,
    kernels: Kernels,
    /// Transforms along the spectra, and back.
    along_spectra: [Transform; 2],
    in_space: [Transform; 2],
    /// Transforms of the kernels of each group, `[α of the group, z frequency, y frequency, x frequency]`.
    of_groups: Vec<wgpu::Buffer>,
    /// `[sample or α, pair of voxels]`, or `[α, z, y, x]`.
    spectra: [Segments; 2],
    /// Padded values of a group before and after a pass.
    values: [Segments; 2],
}

impl WebGpuSpectralConvolution {
    /// With these kernels.
    ///
    /// # Errors
    /// The spectra or the transforms do not fit into a buffer, not enough memory, device failure.
    pub(super) fn new(backend: &mut WebGpuBackend, spectra: &SpectralKernels<f32>) -> Result<Self, WebGpuError> {
        let (size, num_samples) = (spectra.size(), spectra.num_samples());
        let padded = padded_size(size);
        let lens = Lens::new(size, num_samples, MAX_GROUP_LEN.min(backend.gpu().segment_len));
        let pair = |len: usize| -> Result<[Segments; 2], WebGpuError> {
            let arrays = [backend.memory(len, 8)?, backend.memory(len, 8)?];
            arrays[0].whole()?;
            Ok(arrays)
        };
        let [of_spectra, values] = [pair(lens.spectra)?, pair(lens.group * lens.padded)?];
        // The order of the images in place of that of the host, `[x, y, z]`.
        let [len_x, len_y, len_z] = padded;
        let place = |i: usize| (i % len_x * len_y + i / len_x % len_y) * len_z + i / (len_x * len_y);
        let mut of_groups = Vec::new();
        for group in spectra.spectra().chunks(lens.group) {
            let factors = group.iter().flat_map(|spectrum| (0..lens.padded).map(move |i| spectrum[place(i)]));
            of_groups.push(backend.table(&factors.collect::<Vec<f32>>())?);
        }
        let shape = Numbers {
            size: size.map(|n| n as u32),
            lens: padded.map(|n| n as u32),
            num_samples: num_samples as u32,
            ..Numbers::default()
        };
        let num_pairs = lens.num_voxels.div_ceil(2) as u32;
        // Lines next to each other, as the rows of one slice.
        let lines = Numbers {
            num: num_pairs,
            len: num_samples as u32,
            num_read: num_samples as u32,
            value_step: num_pairs,
            rows: 1,
            slices: 1,
            ..shape
        };
        let along_spectra = [-1.0, 1.0].map(|sign| Transform::new(backend, Numbers { sign, ..lines }));
        let [forward, inverse] = along_spectra;
        Ok(Self {
            along_spectra: [forward?, inverse?],
            in_space: Transform::in_space(backend, shape)?,
            kernels: Kernels {
                load_samples: kernel(backend, "load_samples")?,
                split_pairs: kernel(backend, "split_pairs")?,
                load_frequencies: kernel(backend, "load_frequencies")?,
                multiply: kernel(backend, "multiply_by_kernels")?,
                take_frequencies: kernel(backend, "take_frequencies")?,
                join_pairs: kernel(backend, "join_pairs")?,
                take_samples: kernel(backend, "take_samples")?,
            },
            lens,
            shape,
            of_groups,
            spectra: of_spectra,
            values,
        })
    }

    /// Writes the convolution of the image `[sample, z, y, x]`.
    ///
    /// # Errors
    /// Arrays of other lengths, or of several buffers.
    pub(super) fn apply(
        &self,
        backend: &mut WebGpuBackend,
        image: &WebGpuArray<Image>,
        result: &WebGpuArray<Image>,
    ) -> Result<(), WebGpuError> {
        let Self { lens, shape, kernels, along_spectra: [to_spectra, from_spectra], in_space: [forward, inverse], .. } = self;
        let num_samples = shape.num_samples as usize;
        image.expect_len(num_samples * lens.num_voxels)?;
        result.expect_len(num_samples * lens.num_voxels)?;
        let (image, result) = (image.0.whole()?, result.0.whole()?);
        let spectra = [self.spectra[0].whole()?, self.spectra[1].whole()?];
        let values = [self.values[0].whole()?, self.values[1].whole()?];
        let commands = &mut backend.commands;
        let num_pairs = lens.num_voxels.div_ceil(2);
        let groups = |len: usize| len.div_ceil(THREADS);
        commands.dispatch(&kernels.load_samples, groups(num_samples * num_pairs), shape, &[spectra[0], image]);
        let [pairs, spectra] = to_spectra.apply(commands, 1, spectra);
        commands.dispatch(&kernels.split_pairs, groups(lens.num_frequencies * lens.num_voxels), shape, &[spectra, pairs]);
        for (group, factors) in self.of_groups.iter().enumerate() {
            let first = group * lens.group;
            let num = lens.group.min(lens.num_frequencies - first);
            let (len, num_images) = (num * lens.num_voxels, num as u32);
            let numbers = Numbers { num_images, first: (first * lens.num_voxels) as u32, ..*shape };
            commands.dispatch(&kernels.load_frequencies, groups(len), &numbers, &[values[0], spectra]);
            let values = forward.apply(commands, num_images, values);
            commands.dispatch(&kernels.multiply, groups(num * lens.padded), &numbers, &[values[0], factors]);
            let values = inverse.apply(commands, num_images, values);
            commands.dispatch(&kernels.take_frequencies, groups(len), &numbers, &[spectra, values[0]]);
        }
        commands.dispatch(&kernels.join_pairs, groups(lens.num_frequencies * num_pairs), shape, &[pairs, spectra]);
        let [pairs, _] = from_spectra.apply(commands, 1, [pairs, spectra]);
        commands.dispatch(&kernels.take_samples, groups(num_samples * lens.num_voxels), shape, &[result, pairs]);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forecast_of_a_large_image() {
        let (voxels, padded) = (64 * 64 * 64, 128 * 128 * 128);
        // Two frequencies at a time.
        assert_eq!(spectral_convolution_bytes([64; 3], 128), 64 * (4 * padded + 16 * voxels) + 2 * 8 * 2 * padded);
        // All of them; an odd number of samples has a frequency more than half of them.
        assert_eq!(spectral_convolution_bytes([8, 8, 1], 25), 13 * (4 * 256 + 16 * 64) + 2 * 8 * 13 * 256);
    }
}
