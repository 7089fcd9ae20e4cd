//! Convolutions of images with kernels as large as they are, on a CUDA device (`kernels/variation.cu`; the definition is
//! [`Convolution`](crate::operator::Convolution) on the host).

use std::f64::consts::TAU;

use crate::fft::Complex;
use cudarc::driver::{CudaSlice, LaunchConfig};

use crate::cuda::backend::CudaBackend;
use crate::cuda::device::driver;
use crate::cuda::error::CudaError;
use crate::cuda::kernel::{BLOCK, Kernel, Readable, Writable, blocks, one_each};
use crate::cuda::launches::variation::{Kernels, LinesShape, RowsShape};
use crate::operator::{KernelSpectrum, padded_size};

/// Shared memory of a block of transforms, bytes: several blocks fit on a multiprocessor.
pub(super) const SHARED_BYTES: usize = 32 << 10;

/// Lines next to each other that a block transforms, at most: their values fill whole lines of the cache.
pub(super) const MAX_LINES: usize = 16;

/// Transforms along an axis of spectra.
pub(super) struct Stage {
    pub lines: LinesShape,
    pub axis: usize,
    pub num_groups: u32,
}

impl Stage {
    /// Starts the transforms on the stream of a device, with the roots of their axis.
    pub fn launch(
        &self,
        backend: &CudaBackend,
        kernels: &Kernels,
        to: &mut impl Writable<[f32; 2]>,
        from: &impl Readable<[f32; 2]>,
        roots: &[CudaSlice<[f32; 2]>; 3],
        spectrum: &impl Readable<f32>,
    ) -> Result<(), CudaError> {
        let Self { lines, axis, num_groups } = self;
        let (_, shared_mem_bytes) = lines_of_block(lines.len as usize, lines.lines_of_block as usize);
        let num_blocks = blocks(lines.num_lines as usize, lines.lines_of_block) * num_groups;
        let shape = LaunchConfig { grid_dim: (num_blocks, 1, 1), block_dim: (BLOCK, 1, 1), shared_mem_bytes };
        kernels.lines_of_spectra.launch(&backend.stream, shape, to, from, &roots[*axis], spectrum, lines)
    }
}

/// A convolution of images with kernels as large as they are, on a device.
pub(super) struct CudaConvolution {
    rows: RowsShape,
    /// Of one image with the product in them; of several the product follows the first half.
    stages: Vec<Stage>,
    num_images: usize,
    /// exp(−2πi k/n) of each axis.
    roots: [CudaSlice<[f32; 2]>; 3],
    /// `[image, z frequency, y frequency, x frequency]`, and of each pair.
    own: CudaSlice<f32>,
    between: CudaSlice<[f32; 2]>,
    num_frequencies: usize,
    /// Half spectra between the transforms.
    spectra: [CudaSlice<[f32; 2]>; 2],
    len: usize,
}

/// Returns the lines of a length that a block transforms, and the bytes that it needs: twice its values.
pub(super) fn lines_of_block(len: usize, most: usize) -> (usize, u32) {
    let bytes_of_line = 2 * 8 * len;
    let num = (SHARED_BYTES / bytes_of_line).clamp(1, most);
    (num, (num * bytes_of_line) as u32)
}

/// Returns exp(−2πi k/n).
pub(super) fn roots(len: usize) -> Vec<[f32; 2]> {
    let root = |k: usize| {
        let (sin, cos) = (-TAU * k as f64 / len as f64).sin_cos();
        [cos as f32, sin as f32]
    };
    (0..len).map(root).collect()
}

/// Lets blocks of a kernel transform lines of these lengths.
pub(super) fn allow_lines(kernel: &Kernel, lens: [usize; 3]) -> Result<(), CudaError> {
    // (Of very long transforms; a device that has less refuses.)
    let bytes = lens.map(|len| lines_of_block(len, 1).1).into_iter().max().unwrap_or(0).max(SHARED_BYTES as u32);
    kernel.allow_shared_bytes(bytes)
}

/// Returns the transforms along y and z of images of `size` voxels, and back: of one image with the product in the middle.
fn stages(size: [usize; 3], padded: [usize; 3], num_images: usize) -> Vec<Stage> {
    let [_, ny, nz] = size;
    let [len_x, len_y, len_z] = padded;
    let half = len_x / 2 + 1;
    let count = |n: usize| n as u32;
    // Along y every slice of every image is a group, along z every image.
    let along_y = |read: usize, written: usize| LinesShape {
        num_lines: count(half),
        lines_of_block: count(lines_of_block(len_y, MAX_LINES).0),
        len: count(len_y),
        num_read: count(read),
        num_written: count(written),
        read_step: count(half),
        read_group: count(read * half),
        write_step: count(half),
        write_group: count(written * half),
        ..LinesShape::default()
    };
    let along_z = |read: usize, written: usize| LinesShape {
        num_lines: count(len_y * half),
        lines_of_block: count(lines_of_block(len_z, MAX_LINES).0),
        len: count(len_z),
        num_read: count(read),
        num_written: count(written),
        read_step: count(len_y * half),
        read_group: count(read * len_y * half),
        write_step: count(len_y * half),
        write_group: count(written * len_y * half),
        ..LinesShape::default()
    };
    let whole = |lines: LinesShape| LinesShape { is_forward: 1, has_product: 1, is_inverse: 1, ..lines };
    let forward = |lines: LinesShape| LinesShape { is_forward: 1, ..lines };
    let inverse = |lines: LinesShape| LinesShape { is_inverse: 1, ..lines };
    let y = |lines| Stage { lines, axis: 1, num_groups: count(num_images * nz) };
    let z = |lines| Stage { lines, axis: 2, num_groups: count(num_images) };
    match (nz, num_images) {
        (1, 1) => vec![y(whole(along_y(ny, ny)))],
        (1, _) => vec![y(forward(along_y(ny, len_y))), y(inverse(along_y(len_y, ny)))],
        (_, 1) => vec![y(forward(along_y(ny, len_y))), z(whole(along_z(nz, nz))), y(inverse(along_y(len_y, ny)))],
        _ => vec![
            y(forward(along_y(ny, len_y))),
            z(forward(along_z(nz, len_z))),
            z(inverse(along_z(len_z, nz))),
            y(inverse(along_y(len_y, ny))),
        ],
    }
}

/// Returns the values of the half spectra between the transforms.
fn spectra_len(size: [usize; 3], num_images: usize) -> usize {
    let ([_, ny, nz], [len_x, len_y, len_z]) = (size, padded_size(size));
    // Between the transforms along y and z there are all frequencies of y, and about the product of several images those of z.
    let num_y = if nz > 1 || num_images > 1 { len_y } else { ny };
    let num_z = if num_images > 1 { len_z } else { nz };
    num_images * num_z * num_y * (len_x / 2 + 1)
}

/// Returns the bytes of a convolution of coupled images with its kernels, which are complex between images, on a device.
pub fn convolution_bytes(size: [usize; 3], num_images: usize) -> u64 {
    let [len_x, len_y, len_z] = padded_size(size).map(|n| n as u64);
    let kernels = (num_images * num_images) as u64 * (len_x / 2 + 1) * len_y * len_z;
    4 * kernels + 2 * 8 * spectra_len(size, num_images) as u64
}

impl CudaConvolution {
    pub fn new(backend: &CudaBackend, kernels: &Kernels, spectrum: &KernelSpectrum<f32>) -> Result<Self, CudaError> {
        let [nx, ny, nz] = spectrum.size();
        let num_images = spectrum.num_images();
        let padded = padded_size(spectrum.size());
        let [len_x, len_y, len_z] = padded;
        let half = len_x / 2 + 1;
        for kernel in [&*kernels.rows_to_spectra, &*kernels.spectra_to_rows, &*kernels.lines_of_spectra] {
            allow_lines(kernel, padded)?;
        }
        let rows = RowsShape {
            num_rows: (num_images * ny * nz) as u32,
            pairs_of_block: lines_of_block(len_x, MAX_LINES).0 as u32,
            num: nx as u32,
            len: len_x as u32,
        };
        let num_frequencies = half * len_y * len_z;
        // The order of the images in place of that of the host.
        let place = |i: usize| (i % half * len_y + i / half % len_y) * len_z + i / (half * len_y);
        let own = (0..num_images).flat_map(|image| (0..num_frequencies).map(move |i| spectrum.with_itself(image)[place(i)]));
        let pair = |values: &Vec<Complex<f32>>| -> Vec<[f32; 2]> {
            (0..num_frequencies).map(|i| [values[place(i)].re, values[place(i)].im]).collect()
        };
        let between: Vec<[f32; 2]> = spectrum.between().iter().flat_map(pair).collect();
        let spectra = || driver::zeros(&backend.stream, spectra_len(spectrum.size(), num_images));
        let of_axis = |axis: usize| backend.table(&roots(padded[axis]), [0.0; 2]);
        Ok(Self {
            rows,
            stages: stages(spectrum.size(), padded, num_images),
            num_images,
            roots: [of_axis(0)?, of_axis(1)?, of_axis(2)?],
            own: backend.table(&own.collect::<Vec<f32>>(), 0.0)?,
            between: backend.table(&between, [0.0; 2])?,
            num_frequencies,
            spectra: [spectra()?, spectra()?],
            len: num_images * nx * ny * nz,
        })
    }

    /// Returns the values of the images.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Writes the convolution of the images.
    pub fn apply(
        &mut self,
        backend: &CudaBackend,
        kernels: &Kernels,
        images: &CudaSlice<f32>,
        result: &mut CudaSlice<f32>,
    ) -> Result<(), CudaError> {
        let Self { rows, stages, roots, own, between, spectra: [here, there], .. } = self;
        let stream = &backend.stream;
        let (_, shared_mem_bytes) = lines_of_block(rows.len as usize, rows.pairs_of_block as usize);
        let num_blocks = blocks(rows.num_rows.div_ceil(2) as usize, rows.pairs_of_block);
        let of_rows = LaunchConfig { grid_dim: (num_blocks, 1, 1), block_dim: (BLOCK, 1, 1), shared_mem_bytes };
        kernels.rows_to_spectra.launch(stream, of_rows, here, images, &roots[0], rows)?;
        let (mut from, mut to) = (here, there);
        let middle = stages.len() / 2;
        for (index, stage) in stages.iter().enumerate() {
            if self.num_images > 1 && index == middle {
                let (shape, num_images, len) =
                    (one_each(self.num_frequencies), self.num_images as u32, self.num_frequencies as u64);
                kernels.couple.launch(stream, shape, from, own, between, num_images, len)?;
            }
            stage.launch(backend, kernels, to, from, roots, own)?;
            std::mem::swap(&mut from, &mut to);
        }
        kernels.spectra_to_rows.launch(stream, of_rows, result, from, &roots[0], rows)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_images_have_all_frequencies_between_their_transforms() {
        let kernels = 4 * (33 * 64 * 64);
        assert_eq!(convolution_bytes([32; 3], 1), kernels + 16 * (33 * 64 * 32));
        assert_eq!(convolution_bytes([32; 3], 2), 4 * kernels + 2 * 16 * (33 * 64 * 64));
        // Of a slice, one image leaves those of y out, too.
        assert_eq!(convolution_bytes([32, 32, 1], 1), 4 * 33 * 64 + 16 * 33 * 32);
    }
}
