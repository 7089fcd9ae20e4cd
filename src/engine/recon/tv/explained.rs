//! Part of the projections that images explain: 1 − Σ‖B(A u − s)‖² / Σ‖B s‖² over all acquisitions, with the exact model A of the steps. B
//! takes the straight baseline off a first-derivative spectrum, which no image explains.

use super::known::Model;
use super::settings::TvSettings;
use crate::data::{Radical, Sweep};
use crate::geometry::Grid;
use crate::recon::explained::{Compared, OddProjection, is_negative};
use crate::recon::fbp::{Baseline, BaselineFit, Noise};
use crate::recon::{Explained, ReconError};

/// Compares images, of each radical or of each sample of the spectra, with acquisitions and the spectra of their radicals; `None` without
/// signal.
///
/// # Errors
/// Data that do not suit.
pub(super) fn explained<'a>(
    images: &[Vec<f64>],
    acquisitions: impl IntoIterator<Item = (&'a Sweep, &'a [Radical])>,
    grid: &Grid,
    settings: &TvSettings,
    has_mask: bool,
) -> Result<Option<Explained>, ReconError> {
    // A mask sets the level, pulses contain it, and spectra have none.
    let has_border = !has_mask && settings.spectrum.is_none();
    let mut has_pulses = false;
    let (mut of_residual, mut of_data, mut of_noise) = (0.0, 0.0, Some(0.0));
    let mut odd = None;
    for (sweep, radicals) in acquisitions {
        has_pulses |= !sweep.is_continuous_wave();
        let projected = Model::new(sweep, radicals, grid, settings)?.project(images);
        let baseline = if sweep.is_continuous_wave() { Baseline::Line } else { Baseline::None };
        let baseline = BaselineFit::new(baseline, sweep.num_points);
        let energy = |mut row: Vec<f64>| {
            baseline.subtract(&mut row);
            row.iter().map(|value| value * value).sum::<f64>()
        };
        let mut compared = Vec::with_capacity(sweep.num_complete());
        for (index, projection) in sweep.projections.iter().enumerate() {
            let of_model = &projected[index * sweep.num_points..][..sweep.num_points];
            let measured: Vec<f64> = projection.values.iter().map(|value| f64::from(*value)).collect();
            let residual = energy(measured.iter().zip(of_model).map(|(s, p)| p - s).collect());
            compared.push(Compared { direction: projection.direction, residual, energy: energy(measured) });
        }
        of_residual += compared.iter().map(|of| of.residual).sum::<f64>();
        of_data += compared.iter().map(|of| of.energy).sum::<f64>();
        odd = odd.or(OddProjection::of(&compared));
        let num_samples = (sweep.num_complete() * sweep.num_points) as f64;
        of_noise = of_noise.zip(Noise::of(sweep)).map(|(sum, noise)| sum + num_samples * noise.variance());
    }
    let signal = Explained::Signal {
        residual: of_residual,
        energy: of_data,
        noise: of_noise,
        standard_error: None,
        is_negative: !has_pulses && is_negative(images.iter().flatten().copied()),
        odd,
        border: if has_border && !has_pulses { border(images, grid) } else { None },
    };
    Ok((of_data > 0.0).then_some(signal))
}

/// Returns the mean value at the border of an image times its number of voxels, over its total; of several images the largest such part.
fn border(images: &[Vec<f64>], grid: &Grid) -> Option<f64> {
    let [nx, ny, nz] = grid.size;
    let is_at_border = |index: usize| {
        let place = [index % nx, index / nx % ny, index / (nx * ny)];
        (0..3).any(|axis| grid.size[axis] > 1 && (place[axis] == 0 || place[axis] + 1 == grid.size[axis]))
    };
    let at_border: Vec<usize> = (0..nx * ny * nz).filter(|index| is_at_border(*index)).collect();
    let part = |image: &Vec<f64>| {
        let mean = at_border.iter().map(|index| image[*index]).sum::<f64>() / at_border.len() as f64;
        mean * image.len() as f64 / image.iter().sum::<f64>()
    };
    images.iter().map(part).filter(|part| part.is_finite()).max_by(|a, b| a.abs().total_cmp(&b.abs()))
}
