//! Total variation on a CUDA device (`kernels/variation.cu`; the definition is [`TotalVariationKernels`] on the host).

use std::f64::consts::TAU;

use cudarc::driver::{CudaSlice, LaunchConfig};

use crate::algebra::{BackendError, Image};
use crate::cuda::backend::{CudaArray, CudaBackend, REDUCTION};
use crate::cuda::device::driver;
use crate::cuda::error::CudaError;
use crate::cuda::kernel::{BLOCK, blocks, one_each};
use crate::cuda::launches::variation::{Kernels, LinesShape, RowsShape, StepShape, VariationShape};
use crate::operator::{KernelSpectrum, padded_size};
use crate::recon::{Lattice, PrimalStep, PrimalSums, TotalVariationKernels};

/// Shared memory of a block of transforms, bytes: several blocks fit on a multiprocessor.
const SHARED_BYTES: usize = 32 << 10;

/// Lines next to each other that a block transforms, at most: their values fill whole lines of the cache.
const MAX_LINES: usize = 16;

/// A convolution of one image with a kernel as large as it is, on a device.
pub struct CudaCoupling {
    kernels: Kernels,
    rows: RowsShape,
    /// Transforms along y and z, the product, and back: of a slice in one.
    lines: Vec<LinesShape>,
    /// exp(−2πi k/n) of each axis.
    roots: [CudaSlice<[f32; 2]>; 3],
    /// `[z frequency, y frequency, x frequency]`.
    spectrum: CudaSlice<f32>,
    /// Half spectra between the transforms.
    spectra: [CudaSlice<[f32; 2]>; 2],
    len: usize,
}

/// Returns the lines of a length that a block transforms, and the bytes that it needs: twice its values.
fn lines_of_block(len: usize, most: usize) -> (usize, u32) {
    let bytes_of_line = 2 * 8 * len;
    let num = (SHARED_BYTES / bytes_of_line).clamp(1, most);
    (num, (num * bytes_of_line) as u32)
}

fn roots(len: usize) -> Vec<[f32; 2]> {
    let root = |k: usize| {
        let (sin, cos) = (-TAU * k as f64 / len as f64).sin_cos();
        [cos as f32, sin as f32]
    };
    (0..len).map(root).collect()
}

impl CudaCoupling {
    fn new(backend: &CudaBackend, spectrum: &KernelSpectrum<f32>) -> Result<Self, CudaError> {
        let [nx, ny, nz] = spectrum.size();
        let padded = padded_size(spectrum.size());
        let [len_x, len_y, len_z] = padded;
        let half = len_x / 2 + 1;
        let kernels = Kernels::load(&backend.context)?;
        // (Of very long transforms; a device that has less refuses.)
        let wanted = padded.map(|len| lines_of_block(len, 1).1).into_iter().max().unwrap_or(0).max(SHARED_BYTES as u32);
        for kernel in [&*kernels.rows_to_spectra, &*kernels.spectra_to_rows, &*kernels.lines_of_spectra] {
            kernel.allow_shared_bytes(wanted)?;
        }
        let count = |n: usize| n as u32;
        let rows = RowsShape {
            num_rows: count(ny * nz),
            pairs_of_block: count(lines_of_block(len_x, MAX_LINES).0),
            num: count(nx),
            len: count(len_x),
        };
        let along_y = LinesShape {
            num_lines: count(half),
            lines_of_block: count(lines_of_block(len_y, MAX_LINES).0),
            len: count(len_y),
            num_read: count(ny),
            num_written: count(ny),
            read_step: count(half),
            read_group: count(ny * half),
            write_step: count(half),
            write_group: count(ny * half),
            is_forward: 1,
            has_product: 1,
            is_inverse: 1,
        };
        let lines = match nz {
            1 => vec![along_y],
            _ => vec![
                LinesShape {
                    num_written: count(len_y),
                    write_group: count(len_y * half),
                    has_product: 0,
                    is_inverse: 0,
                    ..along_y
                },
                LinesShape {
                    num_lines: count(len_y * half),
                    lines_of_block: count(lines_of_block(len_z, MAX_LINES).0),
                    len: count(len_z),
                    num_read: count(nz),
                    num_written: count(nz),
                    read_step: count(len_y * half),
                    read_group: 0,
                    write_step: count(len_y * half),
                    write_group: 0,
                    ..along_y
                },
                LinesShape { num_read: count(len_y), read_group: count(len_y * half), is_forward: 0, has_product: 0, ..along_y },
            ],
        };
        let at = |[x, y, z]: [usize; 3]| spectrum.with_itself(0)[(x * len_y + y) * len_z + z];
        let in_order: Vec<f32> =
            (0..half * len_y * len_z).map(|i| at([i % half, i / half % len_y, i / (half * len_y)])).collect();
        let between = nz * half * if nz == 1 { ny } else { len_y };
        let spectra = || driver::zeros(&backend.stream, between);
        let of_axis = |axis: usize| backend.table(&roots(padded[axis]), [0.0; 2]);
        Ok(Self {
            kernels,
            rows,
            lines,
            roots: [of_axis(0)?, of_axis(1)?, of_axis(2)?],
            spectrum: backend.table(&in_order, 0.0)?,
            spectra: [spectra()?, spectra()?],
            len: nx * ny * nz,
        })
    }

    /// Writes the convolution of an image.
    fn apply(&mut self, backend: &CudaBackend, image: &CudaSlice<f32>, result: &mut CudaSlice<f32>) -> Result<(), CudaError> {
        let Self { kernels, rows, lines, roots, spectrum, spectra: [here, there], .. } = self;
        let stream = &backend.stream;
        let (_, shared_mem_bytes) = lines_of_block(rows.len as usize, rows.pairs_of_block as usize);
        let num_blocks = blocks(rows.num_rows.div_ceil(2) as usize, rows.pairs_of_block);
        let of_rows = LaunchConfig { grid_dim: (num_blocks, 1, 1), block_dim: (BLOCK, 1, 1), shared_mem_bytes };
        kernels.rows_to_spectra.launch(stream, of_rows, here, image, &roots[0], rows)?;
        let (mut from, mut to) = (here, there);
        for (step, shape) in lines.iter().enumerate() {
            let is_along_z = step == 1;
            let (_, shared_mem_bytes) = lines_of_block(shape.len as usize, shape.lines_of_block as usize);
            let num_groups =
                if is_along_z { 1 } else { rows.num_rows / if step == 0 { shape.num_read } else { shape.num_written } };
            let num_blocks = blocks(shape.num_lines as usize, shape.lines_of_block);
            let config = LaunchConfig { grid_dim: (num_blocks, num_groups, 1), block_dim: (BLOCK, 1, 1), shared_mem_bytes };
            kernels.lines_of_spectra.launch(stream, config, to, from, &roots[if is_along_z { 2 } else { 1 }], spectrum, shape)?;
            std::mem::swap(&mut from, &mut to);
        }
        kernels.spectra_to_rows.launch(stream, of_rows, result, from, &roots[0], rows)
    }
}

fn shape_of(lattice: &Lattice, mask: Option<&CudaArray<Image>>) -> VariationShape {
    let [nx, ny, nz] = lattice.size.map(|num| num as u32);
    VariationShape {
        nx,
        ny,
        nz,
        num_axes: lattice.num_axes() as u32,
        num_images: lattice.num_images as u32,
        has_mask: u32::from(mask.is_some()),
        weights: lattice.weights,
    }
}

impl TotalVariationKernels for CudaBackend {
    type Coupling = CudaCoupling;

    fn coupling(&mut self, spectrum: KernelSpectrum<f32>) -> Result<CudaCoupling, BackendError> {
        Ok(CudaCoupling::new(self, &spectrum)?)
    }

    fn convolve(
        &mut self,
        coupling: &mut CudaCoupling,
        images: &CudaArray<Image>,
        result: &mut CudaArray<Image>,
    ) -> Result<(), BackendError> {
        images.expect_len(coupling.len)?;
        result.expect_len(coupling.len)?;
        Ok(coupling.apply(self, &images.0, &mut result.0)?)
    }

    fn dual_step(
        &mut self,
        coupling: &CudaCoupling,
        field: &mut CudaArray<Image>,
        extrapolated: &CudaArray<Image>,
        mask: Option<&CudaArray<Image>>,
        lattice: &Lattice,
        scale: f32,
    ) -> Result<(), BackendError> {
        let len = lattice.num_images * lattice.num_voxels();
        extrapolated.expect_len(len)?;
        field.expect_len(lattice.num_axes() * len)?;
        let shape = shape_of(lattice, mask);
        let mask = &mask.unwrap_or(extrapolated).0;
        let kernel = &coupling.kernels.dual_step;
        Ok(kernel.launch(&self.stream, one_each(len), &mut field.0, &extrapolated.0, mask, &shape, scale)?)
    }

    fn primal_step(
        &mut self,
        coupling: &CudaCoupling,
        [images, extrapolated]: [&mut CudaArray<Image>; 2],
        field: &CudaArray<Image>,
        [of_model, of_data]: [&CudaArray<Image>; 2],
        mask: Option<&CudaArray<Image>>,
        step: PrimalStep,
    ) -> Result<PrimalSums, BackendError> {
        let lattice = &step.lattice;
        let len = lattice.num_images * lattice.num_voxels();
        [&*images, &*extrapolated, of_model, of_data].into_iter().try_for_each(|array| array.expect_len(len))?;
        field.expect_len(lattice.num_axes() * len)?;
        let shape = shape_of(lattice, mask);
        let mask = &mask.unwrap_or(of_data).0;
        let numbers = StepShape { tau: step.tau, lambda: step.lambda, is_positive: u32::from(step.is_positive) };
        coupling.kernels.primal_step.launch(
            &self.stream,
            REDUCTION,
            &mut images.0,
            &mut extrapolated.0,
            &field.0,
            &of_model.0,
            &of_data.0,
            mask,
            &mut self.partial,
            &shape,
            &numbers,
        )?;
        let sum = |sums: PrimalSums, [change, norm, with_model, with_data]: [f64; 4]| {
            sums + PrimalSums { change, norm, with_model, with_data }
        };
        Ok(self.partial::<4>()?.into_iter().fold(PrimalSums::default(), sum))
    }

    fn total_variation(
        &mut self,
        coupling: &CudaCoupling,
        images: &CudaArray<Image>,
        mask: Option<&CudaArray<Image>>,
        lattice: &Lattice,
    ) -> Result<f64, BackendError> {
        images.expect_len(lattice.num_images * lattice.num_voxels())?;
        let shape = shape_of(lattice, mask);
        let mask = &mask.unwrap_or(images).0;
        coupling.kernels.total_variation.launch(&self.stream, REDUCTION, &images.0, mask, &mut self.partial, &shape)?;
        Ok(self.partial::<1>()?.into_iter().map(|[value]| value).sum())
    }
}
