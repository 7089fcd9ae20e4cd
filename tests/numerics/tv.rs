//! Total variation of EPRI sweeps: operators against their sums, images against PyEPRI's.

use std::f64::consts::{PI, TAU};
use std::path::Path;

use numpy::read;
use tomoscope::algebra::Host;
use tomoscope::data::{GradientAxis, Projection, Radical, ReferenceSpectrum, Sweep, SweepKind, SweepMetadata, SweepSpace};
use tomoscope::geometry::Grid;
use tomoscope::io::read_sweep;
use tomoscope::operator::{Convolution, KernelSpectrum, grid_about_zero};
use tomoscope::phantom::epri::{SweepOptions, by_name, simulate};
use tomoscope::recon::{Algorithm, DataProblem, SweepModel, TotalVariation, TvImages, TvSettings};
use tomoscope::scanner::epri::Scheme;
use tomoscope::task::Task;

use super::data::data_file;

/// Arrays of floats in NumPy's files.
pub(super) mod numpy {
    use std::path::Path;

    /// Reads the values of an array of 32-bit floats.
    pub fn read(path: &Path) -> Vec<f32> {
        let bytes = std::fs::read(path).unwrap();
        let start = 10 + usize::from(u16::from_le_bytes([bytes[8], bytes[9]]));
        bytes[start..].chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect()
    }
}

pub(super) fn noise(len: usize, salt: f64) -> Vec<f64> {
    (0..len).map(|i| ((i as f64 + 1.0) * salt).sin()).collect()
}

/// A few projections of noise with a reference spectrum of noise.
pub fn sweep_of_noise(is_slice: bool, num_points: usize, salt: f64) -> Sweep {
    let values = |salt| noise(num_points, salt).iter().map(|v| *v as f32).collect::<Vec<f32>>();
    let direction = |i: usize| {
        let (a, b) = (0.7 + 1.3 * i as f64, if is_slice { 0.5 * PI } else { 0.4 + 0.5 * i as f64 });
        let cos = if is_slice { 0.0 } else { b.cos() };
        [a.cos() * b.sin(), a.sin() * b.sin(), cos]
    };
    let projection = |i| Projection { direction: direction(i), weight: 1.0, values: values(salt + i as f64).into() };
    let reference = Some(ReferenceSpectrum { values: values(2.0 * salt).into(), step_mt: 0.05 });
    Sweep {
        kind: SweepKind::ContinuousWave { step_mt: 0.05, gradient_mt_per_mm: 0.2, reference },
        space: if is_slice { SweepSpace::Slice([GradientAxis::X, GradientAxis::Y]) } else { SweepSpace::Volume },
        num_points,
        step_mm: 0.25,
        centre: (num_points / 2) as f64,
        projections: (0..5).map(projection).collect(),
        num_expected: Some(5),
        secs_per_projection: None,
        facts: SweepMetadata::default(),
    }
}

/// A u by its definition: the sum over voxels, frequencies below the limits, and samples.
pub(super) fn dense(sweep: &Sweep, source: &ReferenceSpectrum, grid: &Grid, image: &[f64]) -> Vec<f64> {
    let num = sweep.num_points;
    let axes = if grid.size[2] == 1 { 2 } else { 3 };
    let volume: f64 = grid.voxel_mm[..axes].iter().product();
    let mut result = vec![0.0; sweep.projections.len() * num];
    for (index, projection) in sweep.projections.iter().enumerate() {
        for alpha in -(num as isize) / 2..=(num as isize) / 2 {
            let xi = TAU * alpha as f64 / (num as f64 * sweep.step_mm);
            let largest: f64 = (0..3).map(|a| (xi * projection.direction[a] * grid.voxel_mm[a]).powi(2)).sum();
            if 2 * alpha.unsigned_abs() >= num || largest.sqrt() >= PI {
                continue;
            }
            let omega = TAU * alpha as f64 / num as f64;
            let (mut h, mut sum) = ([0.0; 2], [0.0; 2]);
            for (j, value) in source.values.iter().enumerate() {
                let phase = -omega * (j as f64 - sweep.centre);
                h = [h[0] + f64::from(*value) * phase.cos(), h[1] + f64::from(*value) * phase.sin()];
            }
            for (k, value) in image.iter().enumerate() {
                let voxel = [k % grid.size[0], k / grid.size[0] % grid.size[1], k / (grid.size[0] * grid.size[1])];
                let point = grid.mm_from_voxel(voxel.map(|v| v as f64));
                let phase = -xi * (0..axes).map(|a| projection.direction[a] * point[a]).sum::<f64>();
                sum = [sum[0] + value * phase.cos(), sum[1] + value * phase.sin()];
            }
            let spectrum = [volume * (h[0] * sum[0] - h[1] * sum[1]), volume * (h[0] * sum[1] + h[1] * sum[0])];
            for m in 0..num {
                let phase = omega * (m as f64 - sweep.centre);
                result[index * num + m] += (spectrum[0] * phase.cos() - spectrum[1] * phase.sin()) / num as f64;
            }
        }
    }
    result
}

pub(super) fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

pub(super) fn distance(a: &[f64], b: &[f64]) -> f64 {
    let difference: Vec<f64> = a.iter().zip(b).map(|(a, b)| a - b).collect();
    (dot(&difference, &difference) / dot(b, b)).sqrt()
}

#[test]
fn operators_equal_their_sums_and_are_adjoint_to_each_other() {
    let grids = [
        (true, grid_about_zero([7, 6, 1], [0.4, 0.4, 1.0]).unwrap()),
        (true, Grid::new([6, 5, 1], [0.5, 0.3, 1.0], [-1.3, -0.2, 0.0]).unwrap()),
        (false, grid_about_zero([4, 5, 6], [0.5, 0.4, 0.3]).unwrap()),
    ];
    for (is_slice, grid) in grids {
        for num_points in [24, 25] {
            let (sweep, other) = (sweep_of_noise(is_slice, num_points, 3.7), sweep_of_noise(is_slice, num_points, 1.9));
            let source = |sweep: &Sweep| match &sweep.kind {
                SweepKind::ContinuousWave { reference: Some(reference), .. } => reference.clone(),
                _ => panic!("no reference"),
            };
            let radicals = [&sweep, &other].map(|sweep| Radical { name: String::new(), spectrum: source(sweep) });
            let model = SweepModel::new(&sweep, &radicals, &grid, 1e-14).unwrap();
            let images = [noise(grid.num_voxels(), 5.3), noise(grid.num_voxels(), 8.9)];
            let projected = model.project(&images);
            let parts: Vec<Vec<f64>> = (0..2).map(|i| dense(&sweep, &radicals[i].spectrum, &grid, &images[i])).collect();
            let sum: Vec<f64> = parts[0].iter().zip(&parts[1]).map(|(a, b)| a + b).collect();
            assert!(distance(&projected, &sum) < 1000.0 * f64::EPSILON, "{:e}", distance(&projected, &sum));

            let data = noise(projected.len(), 6.1);
            let back = model.backproject(&data);
            let [left, right] = [dot(&projected, &data), dot(&images[0], &back[0]) + dot(&images[1], &back[1])];
            assert!((left - right).abs() < 1000.0 * f64::EPSILON * left.abs(), "{left} {right}");

            // A*A u is a convolution.
            let expected: Vec<f64> = model.backproject(&projected).concat();
            let both = images.concat();
            let mut found = vec![0.0; both.len()];
            Convolution::new(KernelSpectrum::<f64>::new(grid.size, 2, |m, j| model.kernel(m, j))).apply(&both, &mut found);
            assert!(distance(&found, &expected) < 1000.0 * f64::EPSILON, "{:e}", distance(&found, &expected));
            let both: Vec<f32> = both.iter().map(|v| *v as f32).collect();
            let mut found = vec![0.0; both.len()];
            Convolution::new(KernelSpectrum::<f32>::new(grid.size, 2, |m, j| model.kernel(m, j))).apply(&both, &mut found);
            let found: Vec<f64> = found.iter().map(|v| f64::from(*v)).collect();
            assert!(distance(&found, &expected) < 1000.0 * f64::from(f32::EPSILON), "{:e}", distance(&found, &expected));
        }
    }
}

/// Runs until the image has converged; its images, and the steps.
fn converged(sweep: &Sweep, radicals: &[Radical], grid: &Grid, settings: TvSettings, most: usize) -> (Vec<Vec<f64>>, usize) {
    let mut tv = TotalVariation::new(Host, sweep, radicals, grid, settings, TvImages::default()).unwrap();
    let mut num_steps = 0;
    while tv.converged().is_none() && num_steps < most {
        num_steps = tv.step(&Task::new()).unwrap().iteration;
    }
    let images = tv.images().unwrap();
    (images.iter().map(|image| image.iter().map(|v| f64::from(*v)).collect()).collect(), num_steps)
}

/// The sweep of a set of files with the step of its field as PyEPRI takes it: between the first two samples, which are rounded to 32 bits.
/// (Over 2000 samples that is 1e-4 from the mean step, which moves the edges of an image by a fiftieth of a pixel.)
fn as_pyepri_reads(name: &str) -> Option<Sweep> {
    let mut sweep = read_sweep(&data_file(&format!("epri-tv/{name}-proj.npy"))?, None).unwrap().measured;
    let field = read(&data_file(&format!("epri-tv/{name}-B.npy"))?);
    let SweepKind::ContinuousWave { step_mt, gradient_mt_per_mm, reference } = &mut sweep.kind else { panic!("pulses") };
    *step_mt = 0.1 * f64::from(field[1] - field[0]);
    sweep.step_mm = *step_mt / *gradient_mt_per_mm;
    if let Some(reference) = reference {
        reference.step_mt = *step_mt;
    }
    Some(sweep)
}

/// PyEPRI's image, which is per cm² or cm³, per mm² or mm³.
fn published(path: &Path) -> Vec<f64> {
    read(path).iter().map(|value| f64::from(*value) / 100.0).collect()
}

#[test]
fn images_equal_those_of_pyepri() {
    for (name, size, voxel, strength) in
        [("phalanx-20220203", [200, 400, 1], 0.08, 1.0), ("bacteria-inkjet-20100709", [250, 100, 1], 0.1, 5.0)]
    {
        let Some(sweep) = as_pyepri_reads(name) else { return };
        let grid = grid_about_zero(size, [voxel, voxel, 1.0]).unwrap();
        let settings = TvSettings { strength: Some(strength), has_pyepri_iterates: true, ..TvSettings::default() };
        let start = std::time::Instant::now();
        let (images, num_steps) = converged(&sweep, &[], &grid, settings, 1000);
        let expected = published(&data_file(&format!("epri-tv/{name}-tv.npy")).unwrap());
        let found = distance(&images[0], &expected);
        println!("{name}: {found:.2e} after {num_steps} steps, {:.2} s", start.elapsed().as_secs_f64());
        assert!(found < 1e-4, "{name}: {found:e} after {num_steps} steps");
    }
}

#[test]
fn images_of_two_sources_equal_those_of_pyepri() {
    let name = "tam-and-tempo-tubes-2d-20210609";
    let file = |suffix: &str| data_file(&format!("epri-tv/{name}-{suffix}.npy"));
    let Some(sweep) = as_pyepri_reads(name) else { return };
    let SweepKind::ContinuousWave { step_mt, .. } = sweep.kind else { panic!("pulses") };
    let radical = |suffix: &str| {
        let spectrum = ReferenceSpectrum { values: read(&file(suffix).unwrap()).into(), step_mt };
        Radical { name: suffix.into(), spectrum }
    };
    let grid = grid_about_zero([100, 100, 1], [0.3, 0.3, 1.0]).unwrap();
    let settings = TvSettings { strength: Some(5.0), has_pyepri_iterates: true, ..TvSettings::default() };
    let start = std::time::Instant::now();
    let (images, num_steps) = converged(&sweep, &["htam", "htempo"].map(radical), &grid, settings, 5000);
    for (image, suffix) in images.iter().zip(["tv-tam", "tv-tempo"]) {
        let found = distance(image, &published(&file(suffix).unwrap()));
        println!("{suffix}: {found:.2e} after {num_steps} steps, {:.2} s", start.elapsed().as_secs_f64());
        assert!(found < 1e-4, "{suffix}: {found:e} after {num_steps} steps");
    }
}

/// A disc along a few angles, and a small grid.
fn disc(num_angles: usize) -> (Sweep, Grid) {
    let options = SweepOptions {
        scheme: Scheme::HalfCircle { num_angles },
        num_points: 48,
        step_mm: 40.0 / 48.0,
        ..SweepOptions::default()
    };
    let sweep = simulate(&by_name("disc", options.half_extent_mm()).unwrap(), &options, &Task::new()).unwrap().measured;
    (sweep, grid_about_zero([24, 24, 1], [1.25, 1.25, 1.0]).unwrap())
}

#[test]
fn spectra_of_radicals_are_refused_with_pulses() {
    let (sweep, grid) = disc(8);
    let spectrum = ReferenceSpectrum { values: vec![0.0, 1.0, -1.0].into(), step_mt: 0.05 };
    let radicals = ["a", "b"].map(|name| Radical { name: name.to_owned(), spectrum: spectrum.clone() });
    let refused = TotalVariation::new(Host, &sweep, &radicals, &grid, TvSettings::default(), TvImages::default());
    assert_eq!(refused.err(), Some(DataProblem::RadicalsOfPulses.into()));
}

#[test]
fn projections_that_arrive_later_end_in_the_same_image() {
    let (sweep, grid) = disc(24);
    let settings = TvSettings { strength: Some(0.1), tolerance: 1e-6, ..TvSettings::default() };
    let (expected, _) = converged(&sweep, &[], &grid, settings, 4000);
    let growing = Sweep { projections: Vec::new(), num_expected: None, ..sweep.clone() };
    let mut tv = TotalVariation::new(Host, &growing, &[], &grid, settings, TvImages::default()).unwrap();
    let task = Task::new();
    assert!(tv.is_waiting() && tv.step(&task).is_err(), "there is no image without projections");
    for (number, block) in sweep.projections.chunks(5).enumerate() {
        tv.append(block.to_vec(), number == 4).unwrap();
        for _ in 0..7 {
            tv.step(&task).unwrap();
        }
    }
    while tv.converged().is_none() {
        assert!(tv.step(&task).unwrap().iteration < 4000, "it does not converge");
    }
    let found: Vec<f64> = tv.images().unwrap()[0].iter().map(|v| f64::from(*v)).collect();
    let middle = found[12 * 24 + 12];
    println!("{:.1e}, middle {middle:.4}", distance(&found, &expected[0]));
    assert!(distance(&found, &expected[0]) < 1e-3, "{:e}", distance(&found, &expected[0]));
    assert!((middle - 1.0).abs() < 0.01, "{middle}");
}

#[test]
fn a_run_goes_on_after_a_stop_and_its_objective_ends_below_that_of_other_images() {
    let (sweep, grid) = disc(16);
    let settings = TvSettings { strength: Some(0.3), tolerance: 1e-7, ..TvSettings::default() };
    let mut tv = TotalVariation::new(Host, &sweep, &[], &grid, settings, TvImages::default()).unwrap();
    let stopped = Task::new();
    stopped.stop();
    assert!(tv.step(&stopped).is_err());
    let mut objectives = Vec::new();
    while tv.converged().is_none() && objectives.len() < 1000 {
        objectives.extend(tv.step(&Task::new()).unwrap().ascent.unwrap().objective.map(|value| value.total()));
    }
    let last = *objectives.last().unwrap();
    // Steps of a primal-dual method are not monotonic, but their end is the maximum of the objective, which is that of PyEPRI's with the
    // opposite sign.
    let model = SweepModel::new(&sweep, &[], &grid, 1e-12).unwrap();
    let data: Vec<f64> = sweep.projections.iter().flat_map(|p| p.values.iter().map(|v| f64::from(*v))).collect();
    let image: Vec<f64> = tv.images().unwrap()[0].iter().map(|v| f64::from(*v)).collect();
    let residual = |image: &Vec<f64>| {
        let projected = model.project(std::slice::from_ref(image));
        0.5 * projected.iter().zip(&data).map(|(a, b)| (a - b).powi(2)).sum::<f64>()
    };
    let variation = |image: &[f64]| {
        let at = |x: usize, y: usize| image[y * 24 + x];
        let length = |x: usize, y: usize| {
            let [dx, dy] = [(x + 1 < 24).then(|| at(x + 1, y) - at(x, y)), (y + 1 < 24).then(|| at(x, y + 1) - at(x, y))];
            dx.unwrap_or(0.0).hypot(dy.unwrap_or(0.0))
        };
        (0..24 * 24).map(|i| length(i % 24, i / 24)).sum::<f64>()
    };
    // λ′ by its formula: N/((N − 1) s) · (1/s) · P/2π · δ · λ.
    let (num, step) = (sweep.num_points as f64, sweep.step_mm);
    let strength = 0.3 * num / ((num - 1.0) * step * step) * 16.0 / (2.0 * PI) * 1.25;
    let total = |image: &Vec<f64>| -residual(image) - strength * variation(image);
    assert!((last / total(&image) - 1.0).abs() < 1e-3, "{last} {}", total(&image));
    for (salt, size) in [(3.3, 1e-2), (5.1, 1e-3), (7.9, 1e-4)] {
        let moved: Vec<f64> = image.iter().zip(noise(image.len(), salt)).map(|(v, n)| v + size * n).collect();
        assert!(total(&moved) < total(&image), "{size}");
    }
    let scaled = |factor: f64| image.iter().map(|v| factor * v).collect::<Vec<f64>>();
    assert!(total(&scaled(1.001)) < total(&image) && total(&scaled(0.999)) < total(&image));
}

/// First-derivative spectra of a round Gaussian object of the integral 1 and σ = 2 mm, 3 mm from the middle along x, times a factor, as their
/// reference spectrum is.
fn blob(num_angles: usize, factor: f64) -> (Sweep, Grid) {
    let (num_points, step_mt, gradient) = (64, 0.1, 0.2);
    // d/dB of a Gaussian line of the area 1.
    let line = |b: f64, sigma: f64| -b / sigma.powi(3) / TAU.sqrt() * (-0.5 * (b / sigma).powi(2)).exp();
    let samples = |place_mt: f64, sigma_mt: f64| -> std::sync::Arc<[f32]> {
        (0..num_points).map(|k| (factor * line((k as f64 - 32.0) * step_mt - place_mt, sigma_mt)) as f32).collect()
    };
    let projection = |k: usize| {
        let angle = PI * k as f64 / num_angles as f64;
        // σ² = (0.1 mT)² + (0.2 mT/mm · 2 mm)²; t = x·n is 3 mm · cos.
        let values = samples(gradient * 3.0 * angle.cos(), 0.1_f64.hypot(gradient * 2.0));
        Projection { direction: [angle.cos(), angle.sin(), 0.0], weight: PI / num_angles as f64, values }
    };
    let reference = Some(ReferenceSpectrum { values: samples(0.0, 0.1), step_mt });
    let sweep = Sweep {
        kind: SweepKind::ContinuousWave { step_mt, gradient_mt_per_mm: gradient, reference },
        space: SweepSpace::Slice([GradientAxis::X, GradientAxis::Y]),
        num_points,
        step_mm: step_mt / gradient,
        centre: 32.0,
        projections: (0..num_angles).map(projection).collect(),
        num_expected: Some(num_angles),
        secs_per_projection: None,
        facts: SweepMetadata::default(),
    };
    (sweep, grid_about_zero([16, 16, 1], [1.5, 1.5, 1.0]).unwrap())
}

/// A*s of one derivative has hardly an integral: a start image that is scaled by it would be thousands of times too large.
#[test]
fn one_derivative_begins_at_zero() {
    let (sweep, grid) = blob(1, 1.0);
    let (images, _) = converged(&sweep, &[], &grid, TvSettings { strength: Some(1e-4), ..TvSettings::default() }, 100);
    let largest = images[0].iter().fold(0.0_f64, |largest, value| largest.max(value.abs()));
    // The object has 1/(2πσ²) = 0.04 in its middle; along a line of 24 mm its integral is that of 1/24 of a strip.
    assert!((1e-3..0.2).contains(&largest), "{largest}");
}

/// λ belongs to a size of the samples: with spectra and reference times a factor the image is that of λ times the factor.
#[test]
fn lambda_grows_with_the_samples() {
    let image = |factor: f64, strength: f64| {
        let (sweep, grid) = blob(12, factor);
        let settings = TvSettings { strength: Some(strength), tolerance: 1e-7, ..TvSettings::default() };
        converged(&sweep, &[], &grid, settings, 1000).0.concat()
    };
    let expected = image(1.0, 1e-3);
    let [same, other] = [image(1000.0, 1.0), image(1000.0, 1e-3)].map(|found| distance(&found, &expected));
    println!("{same:.1e}, with the same λ {other:.1e}");
    assert!(same < 1e-4 && other > 2e-3, "{same} {other}");
    // Pulses times a factor have an image times the factor, with λ times the factor.
    let image = |factor: f32, strength: f64| {
        let (mut sweep, grid) = disc(12);
        for projection in &mut sweep.projections {
            projection.values = projection.values.iter().map(|value| factor * value).collect();
        }
        let settings = TvSettings { strength: Some(strength), tolerance: 1e-7, ..TvSettings::default() };
        converged(&sweep, &[], &grid, settings, 1000).0.concat()
    };
    let expected: Vec<f64> = image(1.0, 0.1).iter().map(|value| 1000.0 * value).collect();
    let found = distance(&image(1000.0, 100.0), &expected);
    assert!(found < 1e-3, "{found}");
}
