//! Convolutions of images with kernels as large as they are (`shaders/compute/convolution.wgsl`; the definition is
//! [`crate::operator::Convolution`]).

use std::f64::consts::TAU;

use bytemuck::{Pod, Zeroable};
use rustfft::num_complex::Complex;

use crate::algebra::Image;
use crate::operator::{KernelSpectrum, padded_size};
use crate::webgpu::array::{Segments, WebGpuArray};
use crate::webgpu::backend::WebGpuBackend;
use crate::webgpu::error::WebGpuError;
use crate::webgpu::kernel::{Commands, Kernel, THREADS};

/// Radices of the passes, the first that divides the rest of a length first, with their kernels.
const RADICES: [(usize, &str); 4] = [(4, "pass_of_4"), (2, "pass_of_2"), (3, "pass_of_3"), (5, "pass_of_5")];

/// Images that are coupled at most, as in convolution.wgsl.
pub const MAX_RADICALS: usize = 8;

/// `Convolution` of convolution.wgsl.
#[repr(C)]
#[derive(Clone, Copy, Default, Pod, Zeroable)]
struct Numbers {
    size: [u32; 3],
    lens: [u32; 3],
    num: u32,
    len: u32,
    done: u32,
    num_read: u32,
    value_step: u32,
    rows: u32,
    slices: u32,
    sign: f32,
    num_images: u32,
}

/// A pass of the transforms along an axis.
struct Pass {
    kernel: Kernel,
    axis: usize,
    numbers: Numbers,
}

/// A convolution of images with its working memory on a GPU.
pub struct WebGpuConvolution {
    /// Sizes of images and transforms.
    shape: Numbers,
    load_image: Kernel,
    take_image: Kernel,
    /// Product of one image, or of several.
    multiply: Kernel,
    /// Transforms along x, y and z, and those back.
    passes: [Vec<Pass>; 2],
    /// exp(−2πi k/n) of each axis.
    roots: [wgpu::Buffer; 3],
    /// `[image, z frequency, y frequency, x frequency from 0]`.
    own: wgpu::Buffer,
    /// The same of each pair of images.
    between: Option<wgpu::Buffer>,
    /// Complex values before and after a pass.
    values: [Segments; 2],
}

fn kernel(backend: &WebGpuBackend, entry: &'static str) -> Result<Kernel, WebGpuError> {
    backend.gpu().kernel(entry, include_str!("../../../shaders/compute/convolution.wgsl"))
}

/// Returns the passes along an axis; sign −1 = forward.
fn passes_along(backend: &WebGpuBackend, axis: usize, sign: f32, shape: Numbers) -> Result<Vec<Pass>, WebGpuError> {
    let ([_, ny, nz], [len_x, len_y, _]) = (shape.size, shape.lens);
    let len = shape.lens[axis];
    // Lines next to each other, rows of a slice and slices of an image that have lines, and all lines of an image: those that are 0 or have
    // no voxel are left out.
    let (value_step, rows, slices, num_lines) = match axis {
        0 => (1, ny, nz, ny * nz),
        1 => (len_x, 1, nz, len_x * nz),
        _ => (len_x * len_y, 1, 1, len_x * len_y),
    };
    let num_lines = shape.num_images * num_lines;
    let (mut passes, mut done) = (Vec::new(), 1);
    while done < len {
        let divides = |(radix, _): &(usize, &str)| ((len / done) as usize).is_multiple_of(*radix);
        // (The lengths have no other factors.)
        let Some((radix, entry)) = RADICES.into_iter().find(divides) else { break };
        let radix = radix as u32;
        let num_read = if sign < 0.0 && done == 1 { shape.size[axis] } else { len };
        let numbers = Numbers { num: num_lines * (len / radix), len, done, num_read, value_step, rows, slices, sign, ..shape };
        passes.push(Pass { kernel: kernel(backend, entry)?, axis, numbers });
        done *= radix;
    }
    Ok(passes)
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
        let passes = |axes: [usize; 3], sign: f32| -> Result<Vec<Pass>, WebGpuError> {
            let of_axes = axes.map(|axis| passes_along(backend, axis, sign, shape));
            Ok(of_axes.into_iter().collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect())
        };
        let passes = [passes([0, 1, 2], -1.0)?, passes([2, 1, 0], 1.0)?];
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
        let mut of_axis = |axis: usize| backend.table(&roots(padded[axis]));
        let roots = [of_axis(0)?, of_axis(1)?, of_axis(2)?];
        Ok(Self {
            shape,
            load_image: kernel(backend, "load_image")?,
            take_image: kernel(backend, "take_image")?,
            multiply: kernel(backend, if num_images > 1 { "couple" } else { "multiply_by_spectrum" })?,
            passes,
            roots,
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
        let [mut here, mut other] = [self.values[0].whole()?, self.values[1].whole()?];
        let commands = &mut backend.commands;
        let [forward, inverse] = &self.passes;
        let mut transform = |commands: &mut Commands, passes: &[Pass]| {
            for Pass { kernel, axis, numbers } in passes {
                let num_groups = (numbers.num as usize).div_ceil(THREADS);
                commands.dispatch(kernel, num_groups, numbers, &[other, here, &self.roots[*axis]]);
                std::mem::swap(&mut here, &mut other);
            }
            here
        };
        commands.dispatch(&self.load_image, num_voxels.div_ceil(THREADS), &self.shape, &[self.values[0].whole()?, images]);
        let spectra = transform(commands, forward);
        let num_groups = count(self.shape.lens).div_ceil(THREADS);
        let factors = [Some(spectra), Some(&self.own), self.between.as_ref()];
        let factors: Vec<&wgpu::Buffer> = factors.into_iter().flatten().collect();
        commands.dispatch(&self.multiply, num_groups, &self.shape, &factors);
        let convolved = transform(commands, inverse);
        commands.dispatch(&self.take_image, num_voxels.div_ceil(THREADS), &self.shape, &[result, convolved]);
        Ok(())
    }
}
