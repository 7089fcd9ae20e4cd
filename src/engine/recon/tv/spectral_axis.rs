//! Differences along the spectra of a spectral-spatial image, on the host: absolute values, apart from the spatial gradients.
//!
//! Spectra of voxels outside a mask are 0, and so are their differences.

use rayon::prelude::*;

use super::lattice::Lattice;

/// q = Π(q + scale · w (next − here)) between −1 and 1; 0 at the last sample.
pub(super) fn dual_step(field: &mut [f32], image: &[f32], mask: Option<&[f32]>, lattice: &Lattice, scale: f32) {
    if !lattice.has_spectral_axis() {
        return;
    }
    let num_voxels = lattice.num_voxels();
    let factor = scale * lattice.spectral_weight;
    // (Without a next sample the field stays 0.)
    let samples = field.par_chunks_exact_mut(num_voxels).zip(image.par_chunks_exact(num_voxels));
    samples.zip(image[num_voxels..].par_chunks_exact(num_voxels)).for_each(|((field, here), next)| {
        for (voxel, (value, (here, next))) in field.iter_mut().zip(here.iter().zip(next)).enumerate() {
            let inside = mask.map_or(1.0, |mask| mask[voxel]);
            *value = (*value + inside * factor * (next - here)).clamp(-1.0, 1.0);
        }
    });
}

/// Adds the negative adjoint of the differences, in the row of voxels from `at` on.
pub(super) fn add_divergence(field: &[f32], lattice: &Lattice, at: usize, out: &mut [f32]) {
    if !lattice.has_spectral_axis() {
        return;
    }
    let weight = lattice.spectral_weight;
    out.iter_mut().zip(&field[at..]).for_each(|(out, value)| *out += weight * value);
    if let Some(before) = at.checked_sub(lattice.num_voxels()) {
        out.iter_mut().zip(&field[before..]).for_each(|(out, value)| *out -= weight * value);
    }
}

/// w Σ|next − here|, in an order that does not depend on the number of threads.
pub(super) fn variation(image: &[f32], mask: Option<&[f32]>, lattice: &Lattice) -> f64 {
    if !lattice.has_spectral_axis() {
        return 0.0;
    }
    let num_voxels = lattice.num_voxels();
    let of_sample = |(here, next): (&[f32], &[f32])| -> f64 {
        let size = |(voxel, (here, next)): (usize, (&f32, &f32))| {
            f64::from(mask.map_or(1.0, |mask| mask[voxel])) * f64::from((next - here).abs())
        };
        here.iter().zip(next).enumerate().map(size).sum()
    };
    let pairs = image.par_chunks_exact(num_voxels).zip(image[num_voxels..].par_chunks_exact(num_voxels));
    f64::from(lattice.spectral_weight) * pairs.map(of_sample).collect::<Vec<f64>>().iter().sum::<f64>()
}
