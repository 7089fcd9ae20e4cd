//! Filtered backprojection against closed forms, with the defaults of the program: Gaussian bodies under a Gaussian line, none of them
//! at the centre.

use std::f64::consts::{PI, TAU};

use tomoscope::data::{Direction, GradientAxis, ReferenceSpectrum, Study, Sweep, SweepKind, SweepSpace, Volume};
use tomoscope::geometry::Grid;
use tomoscope::operator::grid_about_zero;
use tomoscope::plan::{
    Acquisition, AlgorithmChoice, DeviceChoice, Job, RunSettings, default_sweep_settings, filter_parameters, prepare,
};
use tomoscope::random;
use tomoscope::recon::{FilterSettings, ProjectionFilter, resampling_error};
use tomoscope::scanner::epri::{Scheme, Weighting};
use tomoscope::task::Task;

use super::data::data_file;
use super::fbp::{equal_solid_angle, pulse_sweep};
use super::support::{correlation, relative};

/// Total, standard deviation and centre, mm, of two bodies.
type Bodies = [(f64, f64, Direction); 2];

const BODIES: Bodies = [(3.0, 0.6, [3.0, 2.0, 1.0]), (1.0, 0.5, [-4.0, -1.0, 2.0])];

/// Bodies whose projections change slowly from one direction to the next.
const WIDE: Bodies = [(3.0, 2.4, [3.0, 2.0, 1.0]), (1.0, 2.0, [-4.0, -1.0, 2.0])];

const NUM_POINTS: usize = 256;

// Distance of samples; standard deviation of the line, and its place off the middle.
const STEP_MM: f64 = 0.125;
const LINE_MM: f64 = 0.25;
const OFF_MM: f64 = 2.0;

fn gaussian(t: f64, sigma: f64) -> f64 {
    (-0.5 * (t / sigma).powi(2)).exp() / (sigma * TAU.sqrt())
}

fn derivative(t: f64, sigma: f64) -> f64 {
    -t / (sigma * sigma) * gaussian(t, sigma)
}

/// Plane integrals, or first-derivative spectra with their line off the middle.
fn sweep(bodies: &Bodies, directions: &[(Direction, f64)], is_pulse: bool) -> Sweep {
    let along = |n: &Direction, c: &Direction| n.iter().zip(c).map(|(n, c)| n * c).sum::<f64>();
    let pulse = |n: &Direction, t: f64| bodies.iter().map(|(total, s, c)| total * gaussian(t - along(n, c), *s)).sum();
    if is_pulse {
        return pulse_sweep(directions, NUM_POINTS, STEP_MM, pulse);
    }
    let of_body = |(total, s, c): &(f64, f64, Direction), n: &Direction, t: f64| {
        total * derivative(t - along(n, c) - OFF_MM, s.hypot(LINE_MM))
    };
    let acquired = pulse_sweep(directions, NUM_POINTS, STEP_MM, |n, t| bodies.iter().map(|body| of_body(body, n, t)).sum());
    let line = |i: usize| derivative((i as f64 - acquired.centre) * STEP_MM - OFF_MM, LINE_MM) as f32;
    // A gradient of 1 mT/mm.
    let reference = ReferenceSpectrum { values: (0..NUM_POINTS).map(line).collect(), step_mt: STEP_MM };
    let kind = SweepKind::ContinuousWave { step_mt: STEP_MM, gradient_mt_per_mm: 1.0, reference: Some(reference) };
    Sweep { kind, ..acquired }
}

fn truth(grid: &Grid) -> Vec<f64> {
    let [nx, ny, nz] = grid.size;
    let density = |index: usize| {
        let place = grid.mm_from_voxel([index % nx, index / nx % ny, index / (nx * ny)].map(|i| i as f64));
        let of = |(total, s, c): &(f64, f64, Direction)| total * (0..3).map(|a| gaussian(place[a] - c[a], *s)).product::<f64>();
        BODIES.iter().map(of).sum()
    };
    (0..nx * ny * nz).map(density).collect()
}

fn reconstruct(sweep: &Sweep, grid: &Grid, algorithm: AlgorithmChoice) -> (Volume, Vec<String>) {
    let (grid, device) = (grid.clone(), DeviceChoice::Cpu);
    // (Without noise the default cut-off is that of the rounded samples.)
    let parameters = filter_parameters(&FilterSettings::for_data(&sweep.kind));
    let settings = RunSettings { algorithm, grid: grid.clone(), device, parameters, ..default_sweep_settings(sweep).unwrap() };
    let job = Job::of(&Study::new("bodies", Acquisition::complete(sweep.clone())), settings);
    let mut prepared = prepare(&job, &Task::new()).unwrap();
    while !prepared.algorithm.step(&Task::new()).unwrap().completes_iteration {}
    let mut volume = Volume::filled(grid, 0.0);
    prepared.algorithm.volume_into(&mut volume).unwrap();
    (volume, prepared.notices.into_iter().map(|notice| notice.text).collect())
}

/// Directions at random on the half sphere, of equal weights.
fn random_directions(num: usize) -> Vec<(Direction, f64)> {
    let mut stream = random::stream(5, 0);
    let mut uniform = || f64::from(stream.next_u32()) / 2f64.powi(32);
    let direction = |_| {
        let (z, phi): (f64, f64) = (uniform(), TAU * uniform());
        let r = (1.0 - z * z).sqrt();
        ([r * phi.cos(), r * phi.sin(), z], TAU / num as f64)
    };
    (0..num).map(direction).collect()
}

#[test]
fn two_stages_are_as_good_as_one_for_any_directions() {
    let grid = grid_about_zero([48; 3], [0.5; 3]).unwrap();
    let truth = truth(&grid);
    let norm = truth.iter().map(|value| value * value).sum::<f64>().sqrt();
    let directions = [
        ("208 of equal solid angle", equal_solid_angle(18)),
        ("828 of equal solid angle", equal_solid_angle(36)),
        ("208 at random", random_directions(208)),
        ("828 at random", random_directions(828)),
    ];
    for (name, directions) in &directions {
        for is_pulse in [true, false] {
            let sweep = sweep(&BODIES, directions, is_pulse);
            let [one, two] = [AlgorithmChoice::FBP, AlgorithmChoice::FBP_MULTISTAGE].map(|algorithm| {
                let (volume, notices) = reconstruct(&sweep, &grid, algorithm);
                let total = volume.sum() * 0.125;
                let error =
                    volume.as_slice().iter().zip(&truth).map(|(found, true_value)| (f64::from(*found) - true_value).powi(2));
                (total, error.sum::<f64>().sqrt() / norm, notices)
            });
            println!("{name}, pulse {is_pulse}: {} projections, one stage {one:?}, two {two:?}", directions.len());
            assert!((two.0 / one.0 - 1.0).abs() < 0.01 && two.1 < one.1 + 0.02, "{name}, pulse {is_pulse}");
        }
    }
}

/// Filtered projections are even, q(−n, −t) = q(n, t), also those of derivatives with a line off the middle.
#[test]
fn filtered_projections_are_resampled_from_directions_in_either_sense() {
    let mut directions = equal_solid_angle(36);
    directions.iter_mut().step_by(2).for_each(|(n, _)| *n = n.map(|v| -v));
    let angles = [29, 29];
    let scheme = Scheme::EqualLinearAngle { num_polar: angles[0], num_azimuth: angles[1] };
    let at_angles: Vec<_> = scheme.directions(Weighting::SolidAngle).iter().map(|of| (of.unit, of.weight)).collect();
    for is_pulse in [true, false] {
        let measured = sweep(&WIDE, &directions, is_pulse);
        let filter = ProjectionFilter::new(&measured, &FilterSettings::for_data(&measured.kind)).unwrap();
        let found = filter.apply_at_equal_angles(&measured.projections, angles, &Task::new()).unwrap();
        let exact = filter.apply(&sweep(&WIDE, &at_angles, is_pulse).projections).unwrap();
        let error = relative(&found.values_f32(), &exact.values_f32());
        let bound = resampling_error(&measured, &FilterSettings::for_data(&measured.kind), &Task::new()).unwrap();
        println!("pulse {is_pulse}: {error:.1e}, at most {bound:.1e}");
        assert!(error < bound && bound < 0.03 && found.directions == exact.directions);
        let (_, notices) = reconstruct(&measured, &grid_about_zero([24; 3], [1.0; 3]).unwrap(), AlgorithmChoice::FBP_MULTISTAGE);
        assert!(notices.iter().any(|text| text.contains("resampled to 29 polar angles × 29 azimuths")), "{notices:?}");
    }
}

/// The gradients of a real scan, turned by 11° about x: the image turns.
#[test]
fn two_stages_of_a_turned_scan_are_as_good_as_one() {
    let Some(path) = data_file("epri/fusillo-20091002-proj.DSC") else { return };
    let mut scan = tomoscope::io::read_sweep(&path, None).unwrap().measured;
    let (sin, cos) = (11.0 * PI / 180.0).sin_cos();
    for projection in &mut scan.projections {
        let [x, y, z] = projection.direction;
        projection.direction = [x, cos * y - sin * z, sin * y + cos * z];
    }
    let grid = grid_about_zero([50, 25, 25], [1.0; 3]).unwrap();
    let [one, two] =
        [AlgorithmChoice::FBP, AlgorithmChoice::FBP_MULTISTAGE].map(|algorithm| reconstruct(&scan, &grid, algorithm));
    let values = |volume: &Volume| volume.as_slice().iter().map(|value| f64::from(*value)).collect::<Vec<_>>();
    let correlation = correlation(&values(&one.0), &values(&two.0));
    println!("correlation {correlation}, {:?}", two.1);
    assert!(correlation >= 0.999);
}

/// The square about the measured circle, with the default filter: nothing lies outside the disc, to the corners.
#[test]
fn corners_of_a_slice_are_as_right_as_its_middle() {
    let directions: Vec<(Direction, f64)> =
        (0..120).map(|k| PI * f64::from(k) / 120.0).map(|a| ([a.cos(), a.sin(), 0.0], PI / 120.0)).collect();
    let chord = |n: &Direction, t: f64| 2.0 * (100.0 - (t - 3.0 * n[0] + 2.0 * n[1]).powi(2)).max(0.0).sqrt();
    let space = SweepSpace::Slice([GradientAxis::X, GradientAxis::Y]);
    let sweep = Sweep { space, ..pulse_sweep(&directions, 128, 0.3, chord) };
    let grid = grid_about_zero([64, 64, 1], [0.6, 0.6, 1.0]).unwrap();
    let (volume, _) = reconstruct(&sweep, &grid, AlgorithmChoice::FBP);
    let (mut sums, mut nums) = ([0.0; 3], [0.0; 3]);
    for (index, value) in volume.as_slice().iter().enumerate() {
        let [x, y, _] = grid.mm_from_voxel([index % 64, index / 64, 0].map(|i| i as f64));
        let part = match ((x - 3.0).hypot(y + 2.0), x.hypot(y)) {
            (from_disc, _) if from_disc < 9.0 => 0,
            (from_disc, from_middle) if from_disc > 11.0 && from_middle < 19.0 => 1,
            (_, from_middle) if from_middle > 20.0 => 2,
            _ => continue,
        };
        sums[part] += f64::from(*value);
        nums[part] += 1.0;
    }
    let means: [f64; 3] = std::array::from_fn(|part| sums[part] / nums[part]);
    let total = volume.sum() * 0.36 / (100.0 * PI);
    println!("inside {:.4}, around {:.4}, in the corners {:.4}; total {total:.4}", means[0], means[1], means[2]);
    assert!((means[0] - 1.0).abs() < 0.005 && means[1].abs() < 0.005 && means[2].abs() < 0.005 && (total - 1.0).abs() < 0.005);
}
