//! Kernels of total variation, and their implementation on the host.

use std::sync::Arc;

use rayon::prelude::*;

use super::lattice::Lattice;
use super::spectral_axis as spectral;
use crate::algebra::{Backend, BackendError, Host, HostArray, Image};
use crate::operator::{Convolution, KernelSpectrum, SpectralConvolution, SpectralKernels};

/// Constants of a step of the images.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PrimalStep {
    /// The voxels.
    pub lattice: Lattice,
    /// Step size τ.
    pub tau: f32,
    /// Strength λ.
    pub lambda: f32,
    /// True if images have no values below 0.
    pub is_positive: bool,
    /// Factor θ of ū = u′ + θ (u′ − u).
    pub extrapolation: f32,
    /// Weights w of u′ in the mean after this step, and in the point of the next one.
    pub weights: [f32; 2],
}

/// Sums of a step of the mean m to m′, in f64, in an order that does not depend on the number of threads.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PrimalSums {
    /// ‖m′ − m‖².
    pub change: f64,
    /// ‖m′‖².
    pub norm: f64,
}

impl std::ops::Add for PrimalSums {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self { change: self.change + other.change, norm: self.norm + other.norm }
    }
}

/// The kernels of total variation on a back end. Images are `[image, z, y, x]`.
pub trait TotalVariationKernels: Backend {
    /// A convolution that couples images, with its working memory, and the programs of the device.
    type Coupling: Send;

    /// Refuses a field of vectors that the device cannot hold, before anything is computed.
    ///
    /// # Errors
    /// The field exceeds a limit of the device.
    fn check_field(&self, _lattice: &Lattice) -> Result<(), BackendError> {
        Ok(())
    }

    /// Brings a convolution to the device.
    ///
    /// # Errors
    /// Not enough memory, device failure.
    fn coupling(&mut self, spectrum: KernelSpectrum<f32>) -> Result<Self::Coupling, BackendError>;

    /// The same of spectral-spatial images.
    ///
    /// # Errors
    /// Not enough memory, device failure.
    fn spectral_coupling(&mut self, kernels: &SpectralKernels<f32>) -> Result<Self::Coupling, BackendError>;

    /// Writes A*A of the images.
    ///
    /// # Errors
    /// Arrays of other lengths, device failure.
    fn convolve(
        &mut self,
        coupling: &mut Self::Coupling,
        images: &Self::Array<Image>,
        result: &mut Self::Array<Image>,
    ) -> Result<(), BackendError>;

    /// p = Π(p + scale ∇ū): forward differences, 0 at the last voxel and at the edge of the mask; Π makes longer vectors as long as 1.
    ///
    /// # Errors
    /// Arrays of other lengths, device failure.
    fn dual_step(
        &mut self,
        coupling: &Self::Coupling,
        field: &mut Self::Array<Image>,
        extrapolated: &Self::Array<Image>,
        mask: Option<&Self::Array<Image>>,
        lattice: &Lattice,
        scale: f32,
    ) -> Result<(), BackendError>;

    /// Steps images u, ū, the mean m and the point x: u′ = u + τ (λ div p − r) with the residual r = A*A x − A*s, within the mask and from 0 on
    /// where asked for; ū = u′ + θ (u′ − u), m′ = m + w₀ (u′ − m), x′ = m′ + w₁ (u′ − m′). u becomes u′.
    ///
    /// # Errors
    /// Arrays of other lengths, device failure.
    fn primal_step(
        &mut self,
        coupling: &Self::Coupling,
        images: [&mut Self::Array<Image>; 4],
        field: &Self::Array<Image>,
        residual: &Self::Array<Image>,
        mask: Option<&Self::Array<Image>>,
        step: PrimalStep,
    ) -> Result<PrimalSums, BackendError>;

    /// Σ |∇u|, in f64, in an order that does not depend on the number of threads.
    ///
    /// # Errors
    /// Arrays of other lengths, device failure.
    fn total_variation(
        &mut self,
        coupling: &Self::Coupling,
        images: &Self::Array<Image>,
        mask: Option<&Self::Array<Image>>,
        lattice: &Lattice,
    ) -> Result<f64, BackendError>;

    /// Returns the peak-to-peak amplitude of the spectrum in each voxel.
    ///
    /// # Errors
    /// Arrays of other lengths, device failure.
    fn amplitudes(
        &mut self,
        _: &Self::Coupling,
        images: &Self::Array<Image>,
        lattice: &Lattice,
    ) -> Result<Self::Array<Image>, BackendError> {
        let num_voxels = lattice.num_voxels();
        let values = self.read(images, |samples| {
            let (mut highest, mut lowest) = (samples[..num_voxels].to_vec(), samples[..num_voxels].to_vec());
            for sample in samples.chunks_exact(num_voxels) {
                highest.iter_mut().zip(sample).for_each(|(highest, value)| *highest = highest.max(*value));
                lowest.iter_mut().zip(sample).for_each(|(lowest, value)| *lowest = lowest.min(*value));
            }
            highest.iter().zip(lowest).map(|(highest, lowest)| highest - lowest).collect::<Vec<f32>>()
        })?;
        self.upload(Arc::new(values))
    }
}

/// A row of voxels along x, with its place.
#[derive(Clone, Copy)]
struct Row<'a> {
    lattice: &'a Lattice,
    /// Its first voxel, in its image.
    start: usize,
    /// True if it has a neighbour along y and z.
    has_next: [bool; 2],
}

impl<'a> Row<'a> {
    fn of(lattice: &'a Lattice, row: usize) -> Self {
        let [num_x, num_y, num_z] = lattice.size;
        let row = row % (num_y * num_z);
        Self { lattice, start: row * num_x, has_next: [row % num_y + 1 < num_y, row / num_y + 1 < num_z] }
    }

    /// Writes the weighted differences to the next voxel along each axis.
    fn differences(&self, image: &[f32], mask: Option<&[f32]>, out: &mut [Vec<f32>; 3]) {
        let [num_x, num_y, _] = self.lattice.size;
        let along = |values: &[f32], shift: usize, weight: f32, out: &mut [f32]| {
            let here = &values[self.start..self.start + num_x];
            let next = &values[self.start + shift..self.start + shift + num_x];
            out.iter_mut().zip(here.iter().zip(next)).for_each(|(out, (here, next))| *out = weight * (next - here));
        };
        let here = &image[self.start..self.start + num_x];
        let weight = self.lattice.weights[0];
        out[0].iter_mut().zip(here.windows(2)).for_each(|(out, pair)| *out = weight * (pair[1] - pair[0]));
        if let Some(last) = out[0].last_mut() {
            *last = 0.0;
        }
        let shifts = [num_x, num_x * num_y];
        for axis in [1, 2] {
            match self.has_next[axis - 1] {
                true => along(image, shifts[axis - 1], self.lattice.weights[axis], &mut out[axis]),
                false => out[axis].fill(0.0),
            }
        }
        let Some(mask) = mask else { return };
        let is_there = |axis: usize, x: usize| if axis == 0 { x + 1 < num_x } else { self.has_next[axis - 1] };
        for (axis, out) in out.iter_mut().enumerate() {
            let shift = if axis == 0 { 1 } else { shifts[axis - 1] };
            for (x, out) in out.iter_mut().enumerate() {
                let place = self.start + x;
                *out *= if is_there(axis, x) { mask[place] * mask[place + shift] } else { 0.0 };
            }
        }
    }
}

/// Rows that a thread takes together: fixed, so that sums have the same bits for any number of threads.
const ROWS: usize = 16;

fn expect_len(expected: usize, found: usize) -> Result<(), BackendError> {
    if found == expected { Ok(()) } else { Err(BackendError::Length { expected, found }) }
}

fn new_rows(num_x: usize) -> [Vec<f32>; 3] {
    std::array::from_fn(|_| vec![0.0; num_x])
}

/// A convolution on the host.
pub enum HostCoupling {
    /// Images of radicals.
    Images(Convolution<f32>),
    /// A spectral-spatial image.
    Spectra(SpectralConvolution<f32>),
}

impl TotalVariationKernels for Host {
    type Coupling = HostCoupling;

    fn coupling(&mut self, spectrum: KernelSpectrum<f32>) -> Result<HostCoupling, BackendError> {
        Ok(HostCoupling::Images(Convolution::new(spectrum)))
    }

    fn spectral_coupling(&mut self, kernels: &SpectralKernels<f32>) -> Result<HostCoupling, BackendError> {
        Ok(HostCoupling::Spectra(SpectralConvolution::new(kernels.clone())))
    }

    fn convolve(
        &mut self,
        coupling: &mut HostCoupling,
        images: &HostArray<Image>,
        result: &mut HostArray<Image>,
    ) -> Result<(), BackendError> {
        expect_len(images.len(), result.len())?;
        match coupling {
            HostCoupling::Images(convolution) => convolution.apply(images, result.values_mut()),
            HostCoupling::Spectra(convolution) => convolution.apply(images, result.values_mut()),
        }
        Ok(())
    }

    fn dual_step(
        &mut self,
        _: &HostCoupling,
        field: &mut HostArray<Image>,
        extrapolated: &HostArray<Image>,
        mask: Option<&HostArray<Image>>,
        lattice: &Lattice,
        scale: f32,
    ) -> Result<(), BackendError> {
        let (num_x, num_voxels, num_axes) = (lattice.size[0], lattice.num_voxels(), lattice.num_axes());
        expect_len(lattice.num_images * num_voxels, extrapolated.len())?;
        expect_len(lattice.field_len(), field.len())?;
        let mask = mask.map(|mask| &mask[..]);
        let (field, along_spectra) = field.values_mut().split_at_mut(num_axes * extrapolated.len());
        spectral::dual_step(along_spectra, extrapolated, mask, lattice, scale);
        for (image, field) in extrapolated.chunks_exact(num_voxels).zip(field.chunks_exact_mut(num_axes * num_voxels)) {
            let (x, rest) = field.split_at_mut(num_voxels);
            let (y, z) = rest.split_at_mut(num_voxels);
            let rows = x.par_chunks_mut(num_x).zip(y.par_chunks_mut(num_x)).enumerate().with_min_len(ROWS);
            if num_axes == 2 {
                rows.for_each_init(
                    || new_rows(num_x),
                    |gradient, (row, (x, y))| {
                        Row::of(lattice, row).differences(image, mask, gradient);
                        for ((x, y), (dx, dy)) in x.iter_mut().zip(y).zip(gradient[0].iter().zip(&gradient[1])) {
                            let [vx, vy] = [*x + scale * dx, *y + scale * dy];
                            let length = (vx * vx + vy * vy).sqrt().max(1.0);
                            (*x, *y) = (vx / length, vy / length);
                        }
                    },
                );
            } else {
                let rows = x.par_chunks_mut(num_x).zip(y.par_chunks_mut(num_x).zip(z.par_chunks_mut(num_x)));
                rows.enumerate().with_min_len(ROWS).for_each_init(
                    || new_rows(num_x),
                    |gradient, (row, (x, (y, z)))| {
                        Row::of(lattice, row).differences(image, mask, gradient);
                        let [dx, dy, dz] = &*gradient;
                        let values = x.iter_mut().zip(y.iter_mut().zip(z)).zip(dx.iter().zip(dy.iter().zip(dz)));
                        for ((x, (y, z)), (dx, (dy, dz))) in values {
                            let [vx, vy, vz] = [*x + scale * dx, *y + scale * dy, *z + scale * dz];
                            let length = (vx * vx + vy * vy + vz * vz).sqrt().max(1.0);
                            (*x, *y, *z) = (vx / length, vy / length, vz / length);
                        }
                    },
                );
            }
        }
        Ok(())
    }

    fn primal_step(
        &mut self,
        _: &HostCoupling,
        images: [&mut HostArray<Image>; 4],
        field: &HostArray<Image>,
        residual: &HostArray<Image>,
        mask: Option<&HostArray<Image>>,
        step: PrimalStep,
    ) -> Result<PrimalSums, BackendError> {
        let lattice = &step.lattice;
        let ([num_x, num_y, num_z], num_voxels, num_axes) = (lattice.size, lattice.num_voxels(), lattice.num_axes());
        let len = lattice.num_images * num_voxels;
        images.iter().map(|image| image.len()).chain([residual.len()]).try_for_each(|found| expect_len(len, found))?;
        expect_len(lattice.field_len(), field.len())?;
        let along_spectra = &field[num_axes * len..];
        let rows_of_image = num_y * num_z;
        let [u, extrapolated, mean, point] = images.map(|image| image.values_mut().par_chunks_mut(ROWS * num_x));
        let blocks = u.zip(extrapolated).zip(mean.zip(point));
        let sums: Vec<PrimalSums> = blocks
            .enumerate()
            .map_init(
                || vec![0.0_f32; num_x],
                |divergence, (block, ((u, extrapolated), (mean, point)))| {
                    let mut sums = PrimalSums::default();
                    let [u, extrapolated, mean, point] =
                        [u, extrapolated, mean, point].map(|values| values.chunks_exact_mut(num_x));
                    for (i, ((u, extrapolated), (mean, point))) in u.zip(extrapolated).zip(mean.zip(point)).enumerate() {
                        let row = block * ROWS + i;
                        let at = row * num_x;
                        let image = row / rows_of_image;
                        let of_image = &field[image * num_axes * num_voxels..][..num_axes * num_voxels];
                        divergence_of_row(of_image, lattice, row % rows_of_image, divergence);
                        spectral::add_divergence(along_spectra, lattice, at, divergence);
                        let mask = mask.map(|mask| &mask[at % num_voxels..at % num_voxels + num_x]);
                        let residual = &residual[at..at + num_x];
                        sums = sums + primal_row([u, extrapolated, mean, point], [divergence, residual], mask, step);
                    }
                    sums
                },
            )
            .collect();
        Ok(sums.into_iter().fold(PrimalSums::default(), std::ops::Add::add))
    }

    fn total_variation(
        &mut self,
        _: &HostCoupling,
        images: &HostArray<Image>,
        mask: Option<&HostArray<Image>>,
        lattice: &Lattice,
    ) -> Result<f64, BackendError> {
        let (num_x, num_voxels) = (lattice.size[0], lattice.num_voxels());
        expect_len(lattice.num_images * num_voxels, images.len())?;
        let mask = mask.map(|mask| &mask[..]);
        let num_rows = images.len() / num_x;
        let of_row = |gradient: &mut [Vec<f32>; 3], row: usize| {
            let image = &images[row * num_x / num_voxels * num_voxels..][..num_voxels];
            Row::of(lattice, row).differences(image, mask, gradient);
            let [dx, dy, dz] = &*gradient;
            let lengths = dx.iter().zip(dy.iter().zip(dz)).map(|(dx, (dy, dz))| f64::from((dx * dx + dy * dy + dz * dz).sqrt()));
            lengths.sum::<f64>()
        };
        let sums: Vec<f64> = (0..num_rows).into_par_iter().with_min_len(ROWS).map_init(|| new_rows(num_x), of_row).collect();
        Ok(sums.iter().sum::<f64>() + spectral::variation(images, mask, lattice))
    }
}

/// div p in a row of an image: the negative adjoint of the forward differences. (The vectors of the last voxels are 0.)
fn divergence_of_row(field: &[f32], lattice: &Lattice, row: usize, out: &mut [f32]) {
    let ([num_x, num_y, _], num_voxels) = (lattice.size, lattice.num_voxels());
    let start = row * num_x;
    let has_previous = [!row.is_multiple_of(num_y), row >= num_y];
    let x = &field[start..start + num_x];
    let weight = lattice.weights[0];
    if let (Some(first), Some(value)) = (out.first_mut(), x.first()) {
        *first = weight * value;
    }
    out[1..].iter_mut().zip(x.windows(2)).for_each(|(out, pair)| *out = weight * (pair[1] - pair[0]));
    for axis in 1..lattice.num_axes() {
        let weight = lattice.weights[axis];
        let component = &field[axis * num_voxels..][..num_voxels];
        out.iter_mut().zip(&component[start..start + num_x]).for_each(|(out, value)| *out += weight * value);
        if has_previous[axis - 1] {
            let shift = if axis == 1 { num_x } else { num_x * num_y };
            let previous = &component[start - shift..start - shift + num_x];
            out.iter_mut().zip(previous).for_each(|(out, value)| *out -= weight * value);
        }
    }
}

/// A step of a row of an image.
fn primal_row(
    [u, extrapolated, mean, point]: [&mut [f32]; 4],
    [divergence, residual]: [&[f32]; 2],
    mask: Option<&[f32]>,
    step: PrimalStep,
) -> PrimalSums {
    let floor = if step.is_positive { 0.0 } else { f32::NEG_INFINITY };
    // Sums of a row in single precision would lose the small changes of large images.
    let mut sums = PrimalSums::default();
    let images = u.iter_mut().zip(extrapolated).zip(mean.iter_mut().zip(point));
    for (x, (((u, extrapolated), (mean, point)), (divergence, residual))) in
        images.zip(divergence.iter().zip(residual)).enumerate()
    {
        let before = *u;
        let inside = mask.map_or(1.0, |mask| mask[x]);
        let after = (inside * (before + step.tau * (step.lambda * divergence - residual))).max(floor);
        let next = *mean + step.weights[0] * (after - *mean);
        let change = f64::from(next - *mean);
        sums.change += change * change;
        sums.norm += f64::from(next) * f64::from(next);
        (*u, *extrapolated) = (after, after + step.extrapolation * (after - before));
        (*mean, *point) = (next, next + step.weights[1] * (after - next));
    }
    sums
}
