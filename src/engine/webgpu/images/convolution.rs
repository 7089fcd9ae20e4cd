//! Convolutions of images with kernels as large as they are (`shaders/compute/convolution.wgsl`; the definition is
//! [`crate::operator::Convolution`]).

use std::f64::consts::TAU;

use crate::fft::Complex;
use bytemuck::{Pod, Zeroable};

use crate::algebra::Image;
use crate::operator::{KernelSpectrum, padded_size};
use crate::webgpu::array::{Segments, WebGpuArray};
use crate::webgpu::backend::WebGpuBackend;
use crate::webgpu::commands::Commands;
use crate::webgpu::error::WebGpuError;
use crate::webgpu::kernel::{Kernel, THREADS};

/// Radices of the passes, the first that divides the rest of a length first, with their kernels. Others take `pass_by_sums`.
const RADICES: [(u32, &str); 4] = [(4, "pass_of_4"), (2, "pass_of_2"), (3, "pass_of_3"), (5, "pass_of_5")];

/// Images that are coupled at most, as in convolution.wgsl.
pub const MAX_RADICALS: usize = 8;

/// `Convolution` of convolution.wgsl.
#[repr(C)]
#[derive(Clone, Copy, Default, Pod, Zeroable)]
pub(super) struct Numbers {
    pub size: [u32; 3],
    pub lens: [u32; 3],
    pub num: u32,
    pub len: u32,
    pub radix: u32,
    pub done: u32,
    pub num_read: u32,
    pub value_step: u32,
    pub rows: u32,
    pub slices: u32,
    pub sign: f32,
    pub num_images: u32,
    pub num_samples: u32,
    pub first: u32,
}

/// Passes of transforms of lines, each with its threads for one image, and exp(−2πi k/n).
pub(super) struct Transform(Vec<(Kernel, wgpu::Buffer, Numbers)>);

impl Transform {
    /// Of lines of `len` values: `num` lines of an image, which lie as `lines` describes. Sign −1 = forward, of lines whose first `num_read`
    /// values are not 0.
    pub(super) fn new(backend: &mut WebGpuBackend, lines: Numbers) -> Result<Self, WebGpuError> {
        let roots = backend.table(&roots(lines.len as usize))?;
        let (mut passes, mut done) = (Vec::new(), 1);
        while done < lines.len {
            let rest = lines.len / done;
            let fast = RADICES.into_iter().find(|(radix, _)| rest.is_multiple_of(*radix));
            let (radix, entry, threads_of_butterfly) = match fast {
                Some((radix, entry)) => (radix, entry, 1),
                None => {
                    let radix = (7..).step_by(2).find(|radix| rest.is_multiple_of(*radix)).unwrap_or(rest);
                    (radix, "pass_by_sums", radix)
                }
            };
            let num_read = if done == 1 { lines.num_read } else { lines.len };
            let num = lines.num * (lines.len / radix) * threads_of_butterfly;
            passes.push((kernel(backend, entry)?, roots.clone(), Numbers { num, radix, done, num_read, ..lines }));
            done *= radix;
        }
        Ok(Self(passes))
    }

    /// Along the axes of images, in this order.
    fn along(backend: &mut WebGpuBackend, axes: [usize; 3], sign: f32, shape: Numbers) -> Result<Self, WebGpuError> {
        let ([_, ny, nz], [len_x, len_y, _]) = (shape.size, shape.lens);
        let mut passes = Vec::new();
        for axis in axes {
            let len = shape.lens[axis];
            // Lines next to each other, rows of a slice and slices of an image that have lines, and all lines of an image: those that are 0
            // or have no voxel are left out.
            let (value_step, rows, slices, num) = match axis {
                0 => (1, ny, nz, ny * nz),
                1 => (len_x, 1, nz, len_x * nz),
                _ => (len_x * len_y, 1, 1, len_x * len_y),
            };
            let num_read = if sign < 0.0 { shape.size[axis] } else { len };
            passes.extend(Self::new(backend, Numbers { num, len, num_read, value_step, rows, slices, sign, ..shape })?.0);
        }
        Ok(Self(passes))
    }

    /// Along x, y and z, and back.
    pub(super) fn in_space(backend: &mut WebGpuBackend, shape: Numbers) -> Result<[Self; 2], WebGpuError> {
        Ok([Self::along(backend, [0, 1, 2], -1.0, shape)?, Self::along(backend, [2, 1, 0], 1.0, shape)?])
    }

    /// Transforms images in the first buffer. Returns the buffers, that with the result first.
    pub(super) fn apply<'a>(
        &self,
        commands: &mut Commands,
        num_images: u32,
        [mut here, mut other]: [&'a wgpu::Buffer; 2],
    ) -> [&'a wgpu::Buffer; 2] {
        for (kernel, roots, numbers) in &self.0 {
            let numbers = Numbers { num: num_images * numbers.num, ..*numbers };
            commands.dispatch(kernel, (numbers.num as usize).div_ceil(THREADS), &numbers, &[other, here, roots]);
            std::mem::swap(&mut here, &mut other);
        }
        [here, other]
    }
}

/// A convolution of images with its working memory on a GPU.
pub struct WebGpuConvolution {
    /// Sizes of images and transforms.
    shape: Numbers,
    load_image: Kernel,
    take_image: Kernel,
    /// Product of one image, or of several.
    multiply: Kernel,
    transforms: [Transform; 2],
    /// `[image, z frequency, y frequency, x frequency from 0]`.
    own: wgpu::Buffer,
    /// The same of each pair of images.
    between: Option<wgpu::Buffer>,
    /// Complex values before and after a pass.
    values: [Segments; 2],
}

/// Returns a kernel of convolution.wgsl.
pub(super) fn kernel(backend: &WebGpuBackend, entry: &'static str) -> Result<Kernel, WebGpuError> {
    backend.gpu().kernel(entry, include_str!("../../../../shaders/compute/convolution.wgsl"))
}

fn roots(len: usize) -> Vec<[f32; 2]> {
    let root = |k: usize| {
        let (sin, cos) = (-TAU * k as f64 / len as f64).sin_cos();
        [cos as f32, sin as f32]
    };
    (0..len).map(root).collect()
}

impl WebGpuConvolution {
    /// With these kernels.
    ///
    /// # Errors
    /// The transforms do not fit into a buffer, not enough memory, device failure.
    pub(super) fn new(backend: &mut WebGpuBackend, spectrum: &KernelSpectrum<f32>) -> Result<Self, WebGpuError> {
        let padded @ [len_x, len_y, len_z] = padded_size(spectrum.size());
        let num_images = spectrum.num_images();
        let values = || backend.memory(num_images * len_x * len_y * len_z, 8);
        let values = [values()?, values()?];
        values[0].whole()?;
        let (size, lens) = (spectrum.size().map(|n| n as u32), padded.map(|n| n as u32));
        let shape = Numbers { size, lens, num_images: num_images as u32, ..Numbers::default() };
        let half = len_x / 2 + 1;
        // The order of the images in place of that of the host.
        let num_frequencies = half * len_y * len_z;
        let place = |i: usize| (i % half * len_y + i / half % len_y) * len_z + i / (half * len_y);
        let own = (0..num_images).flat_map(|image| (0..num_frequencies).map(move |i| spectrum.with_itself(image)[place(i)]));
        let own = backend.table(&own.collect::<Vec<f32>>())?;
        let pair = |values: &Vec<Complex<f32>>| -> Vec<[f32; 2]> {
            (0..num_frequencies).map(|i| [values[place(i)].re, values[place(i)].im]).collect()
        };
        let between: Vec<[f32; 2]> = spectrum.between().iter().flat_map(pair).collect();
        let between = (num_images > 1).then(|| backend.table(&between)).transpose()?;
        Ok(Self {
            shape,
            load_image: kernel(backend, "load_image")?,
            take_image: kernel(backend, "take_image")?,
            multiply: kernel(backend, if num_images > 1 { "couple" } else { "multiply_by_spectrum" })?,
            transforms: Transform::in_space(backend, shape)?,
            own,
            between,
            values,
        })
    }

    /// Writes the convolutions of the images.
    ///
    /// # Errors
    /// Arrays of other lengths, or of several buffers.
    pub(super) fn apply(
        &self,
        backend: &mut WebGpuBackend,
        images: &WebGpuArray<Image>,
        result: &WebGpuArray<Image>,
    ) -> Result<(), WebGpuError> {
        let count = |size: [u32; 3]| size.iter().map(|&n| n as usize).product::<usize>();
        let num_voxels = self.shape.num_images as usize * count(self.shape.size);
        images.expect_len(num_voxels)?;
        result.expect_len(num_voxels)?;
        let (images, result) = (images.0.whole()?, result.0.whole()?);
        let values = [self.values[0].whole()?, self.values[1].whole()?];
        let (commands, num_images) = (&mut backend.commands, self.shape.num_images);
        let [forward, inverse] = &self.transforms;
        commands.dispatch(&self.load_image, num_voxels.div_ceil(THREADS), &self.shape, &[values[0], images]);
        let spectra = forward.apply(commands, num_images, values);
        let num_groups = count(self.shape.lens).div_ceil(THREADS);
        let factors = [Some(spectra[0]), Some(&self.own), self.between.as_ref()];
        let factors: Vec<&wgpu::Buffer> = factors.into_iter().flatten().collect();
        commands.dispatch(&self.multiply, num_groups, &self.shape, &factors);
        let convolved = inverse.apply(commands, num_images, spectra);
        commands.dispatch(&self.take_image, num_voxels.div_ceil(THREADS), &self.shape, &[result, convolved[0]]);
        Ok(())
    }
}
