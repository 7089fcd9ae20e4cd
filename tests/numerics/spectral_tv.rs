//! Total variation of a spectrum in each voxel: the operator against its sums and PyEPRI's.

use std::f64::consts::{PI, TAU};

use tomoscope::data::{Projection, Sweep, SweepKind, SweepMetadata, SweepSpace};
use tomoscope::geometry::Grid;
use tomoscope::operator::{SpectralConvolution, SpectralKernels, grid_about_zero};
use tomoscope::recon::SpectralModel;

fn noise(len: usize, salt: f64) -> Vec<f64> {
    (0..len).map(|i| ((i as f64 + 1.0) * salt).sin()).collect()
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn distance(a: &[f64], b: &[f64]) -> f64 {
    let difference: Vec<f64> = a.iter().zip(b).map(|(a, b)| a - b).collect();
    (dot(&difference, &difference) / dot(b, b)).sqrt()
}

/// Five projections of zeros under gradients of five sizes, one of them 0; the largest is 0.2 mT/mm.
pub(super) fn sweep(is_slice: bool, num_points: usize) -> Sweep {
    let direction = |i: usize| {
        let (a, b) = (0.7 + 1.3 * i as f64, if is_slice { 0.5 * PI } else { 0.4 + 0.5 * i as f64 });
        let size = [1.0, 0.6, 0.0, 0.3, 0.8][i];
        [size * a.cos() * b.sin(), size * a.sin() * b.sin(), if is_slice { 0.0 } else { size * b.cos() }]
    };
    let projection = |i| Projection { direction: direction(i), weight: 1.0, values: vec![0.0; num_points].into() };
    Sweep {
        kind: SweepKind::ContinuousWave { step_mt: 0.05, gradient_mt_per_mm: 0.2, reference: None },
        space: if is_slice { SweepSpace::default() } else { SweepSpace::Volume },
        num_points,
        step_mm: 0.25,
        centre: (num_points / 2) as f64,
        projections: (0..5).map(projection).collect(),
        num_expected: Some(5),
        secs_per_projection: None,
        facts: SweepMetadata::default(),
    }
}

/// A u by its definition: the sum over voxels, samples of their spectra, frequencies below the limits, and samples of the projection.
fn dense(sweep: &Sweep, num_samples: usize, grid: &Grid, image: &[f64]) -> Vec<f64> {
    let (num, num_voxels) = (sweep.num_points, grid.num_voxels());
    let volume: f64 = grid.voxel_mm[..if grid.size[2] == 1 { 2 } else { 3 }].iter().product();
    let mut result = vec![0.0; sweep.projections.len() * num];
    for (index, projection) in sweep.projections.iter().enumerate() {
        for alpha in -(num_samples as isize) / 2..=(num_samples as isize) / 2 {
            let xi = TAU * alpha as f64 / (num as f64 * sweep.step_mm);
            let largest: f64 = (0..3).map(|a| (xi * projection.direction[a] * grid.voxel_mm[a]).powi(2)).sum();
            if 2 * alpha.unsigned_abs() >= num_samples || largest.sqrt() >= PI {
                continue;
            }
            let mut sum = [0.0; 2];
            for (i, value) in image.iter().enumerate() {
                let (k, sample) = (i % num_voxels, i / num_voxels);
                let voxel = [k % grid.size[0], k / grid.size[0] % grid.size[1], k / (grid.size[0] * grid.size[1])];
                let point = grid.mm_from_voxel(voxel.map(|v| v as f64));
                let field = (sample as f64 - (num_samples / 2) as f64) / num_samples as f64;
                let phase = -xi * dot(&projection.direction, &point) - TAU * alpha as f64 * field;
                sum = [sum[0] + value * phase.cos(), sum[1] + value * phase.sin()];
            }
            for m in 0..num {
                let phase = TAU * alpha as f64 * (m as f64 - sweep.centre) / num as f64;
                result[index * num + m] += volume / num_samples as f64 * (sum[0] * phase.cos() - sum[1] * phase.sin());
            }
        }
    }
    result
}

#[test]
fn the_operator_equals_its_sums_is_adjoint_and_a_convolution_at_each_frequency() {
    let grids = [
        (true, grid_about_zero([7, 6, 1], [0.4, 0.4, 1.0]).unwrap()),
        (false, Grid::new([4, 5, 3], [0.5, 0.3, 0.4], [-1.3, -0.2, 0.5]).unwrap()),
    ];
    for (is_slice, grid) in grids {
        for (num_points, num_samples) in [(24, 24), (25, 25), (24, 9), (25, 12)] {
            let sweep = sweep(is_slice, num_points);
            let model = SpectralModel::new(&sweep, num_samples, &grid, 1e-14).unwrap();
            let image = noise(num_samples * grid.num_voxels(), 5.3);
            let projected = model.project(&image);
            let expected = dense(&sweep, num_samples, &grid, &image);
            let limit = 1000.0 * f64::EPSILON;
            assert!(distance(&projected, &expected) < limit, "{:e}", distance(&projected, &expected));

            let data = noise(projected.len(), 6.1);
            let back = model.backproject(&data).concat();
            let [left, right] = [dot(&projected, &data), dot(&image, &back)];
            assert!(
                (left - right).abs() < limit * dot(&projected, &projected).sqrt() * dot(&data, &data).sqrt(),
                "{left} {right}"
            );

            let expected = model.backproject(&projected).concat();
            let mut found = vec![0.0; image.len()];
            let kernels = SpectralKernels::<f64>::new(grid.size, num_samples, |alpha| model.kernel(alpha));
            SpectralConvolution::new(kernels).apply(&image, &mut found);
            assert!(distance(&found, &expected) < limit, "{:e}", distance(&found, &expected));
            let image: Vec<f32> = image.iter().map(|v| *v as f32).collect();
            let mut found = vec![0.0; image.len()];
            SpectralConvolution::new(model.kernels()).apply(&image, &mut found);
            let found: Vec<f64> = found.iter().map(|v| f64::from(*v)).collect();
            assert!(distance(&found, &expected) < 1000.0 * f64::from(f32::EPSILON), "{:e}", distance(&found, &expected));
        }
    }
}

/// Figures of PyEPRI 1.1.1, `proj4d(u, 0.4, B, fgrad, eps=1e-14)` and `backproj4d` of its result, with B = (−8 … 7)·0.05, the gradients of
/// [`sweep`] (which point against n), and u = sin(5.3 (i + 1)) in the order `[B, z, y, x]` of 16 × 4 × 5 × 6 values, brought to PyEPRI's
/// order B, y, x, z.
#[test]
fn projections_equal_those_of_pyepri() {
    let (sweep, grid) = (sweep(false, 16), grid_about_zero([6, 5, 4], [0.4; 3]).unwrap());
    let model = SpectralModel::new(&sweep, 16, &grid, 1e-14).unwrap();
    let projected = model.project(&noise(16 * grid.num_voxels(), 5.3));
    assert!((dot(&projected, &projected).sqrt() / 5.432867840669334 - 1.0).abs() < 1e-12);
    for (index, sample, expected) in [
        (0, 0, -0.7494595466959624),
        (0, 5, -1.3124092922371589),
        (1, 7, -0.9411361914135647),
        (2, 3, 0.08517143164413424),
        (3, 15, -0.05202519199274052),
        (4, 8, -0.004978798005121188),
    ] {
        let found = projected[index * 16 + sample];
        assert!((found - expected).abs() < 1e-11, "{index} {sample}: {found} {expected}");
    }
    let back = model.backproject(&projected);
    for (sample, [x, y, z], expected) in
        [(0, [0, 0, 0], 0.13013127624837287), (3, [4, 2, 1], 0.10049197030699238), (15, [5, 4, 3], 0.15070138379424974)]
    {
        let found = back[sample][(z * 5 + y) * 6 + x];
        assert!((found - expected).abs() < 1e-11, "{sample} {x} {y} {z}: {found} {expected}");
    }
}
