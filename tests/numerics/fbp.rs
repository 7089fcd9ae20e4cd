//! Filtered backprojection of plane integrals against closed forms.

use std::f64::consts::{PI, TAU};
use std::sync::Arc;

use strum::VariantArray as _;
use tomoscope::algebra::{Host, Simd};
use tomoscope::data::{Direction, Projection, ReferenceSpectrum, RoiMask, Sweep, SweepKind, SweepMetadata, SweepSpace, Volume};
use tomoscope::geometry::Grid;
use tomoscope::measure::relative_difference;
use tomoscope::operator::{
    FilteredProjections, Interpolation, MultiStage, PlaneSampling, SingleStage, backproject_plain, grid_about_zero,
};
use tomoscope::recon::{
    Algorithm, Baseline, DataProblem, Fbp, FbpSettings, Filter, FilterSettings, ProjectionFilter, ProjectionProblem, ReconError,
    ReferenceProblem, SettingsProblem, SlabAlgorithm, equal_angles_for, resampling_error, slabs,
};
use tomoscope::scanner::epri::{Order, Scheme, Weighting};
use tomoscope::task::Task;

use super::support::{noise, planes_by, planes_by_definition, relative, with_line};

/// Directions of equal solid angle on half a sphere: bands of polar angle, each with its share of directions.
pub fn equal_solid_angle(num_bands: usize) -> Vec<(Direction, f64)> {
    let step = PI / num_bands as f64;
    let mut directions = Vec::new();
    for k in 0..num_bands {
        let theta = (k as f64 + 0.5) * step;
        let count = (num_bands as f64 * theta.sin()).round() as usize;
        let weight = PI * ((k as f64 * step).cos() - ((k + 1) as f64 * step).cos()) / count as f64;
        for j in 0..count {
            let phi = (j as f64 + 0.5) * PI / count as f64;
            directions.push(([theta.sin() * phi.cos(), theta.sin() * phi.sin(), theta.cos()], weight));
        }
    }
    directions
}

/// A pulse sweep of an object whose plane integral is `integral(direction, t)`.
pub fn pulse_sweep(
    directions: &[(Direction, f64)],
    num_points: usize,
    step_mm: f64,
    integral: impl Fn(&Direction, f64) -> f64,
) -> Sweep {
    let centre = (num_points / 2) as f64;
    let projection = |&(direction, weight): &(Direction, f64)| {
        let values = (0..num_points).map(|i| integral(&direction, (i as f64 - centre) * step_mm) as f32).collect();
        Projection { direction, weight, values }
    };
    Sweep {
        kind: SweepKind::Pulse,
        space: SweepSpace::Volume,
        num_points,
        step_mm,
        centre,
        projections: directions.iter().map(projection).collect(),
        num_expected: Some(directions.len()),
        secs_per_projection: None,
        facts: SweepMetadata::default(),
    }
}

/// Plane integral of a ball of density 1.
pub fn ball(radius: f64, t: f64) -> f64 {
    PI * (radius * radius - t * t).max(0.0)
}

/// Plane integral of the density (1 − ρ²/R²)² within R.
fn smooth_ball(radius: f64, t: f64) -> f64 {
    PI * radius * radius / 3.0 * (1.0 - t * t / (radius * radius)).max(0.0).powi(3)
}

/// The plain reconstruction.
fn reconstruct(sweep: &Sweep, settings: &FilterSettings, grid: &Grid) -> Vec<f64> {
    let filtered = ProjectionFilter::new(sweep, settings).unwrap().apply(&sweep.projections).unwrap();
    let mut volume = vec![0.0; grid.num_voxels()];
    backproject_plain(grid, &filtered, &mut volume, &Task::new()).unwrap();
    volume
}

#[test]
fn weights_add_up_to_half_a_sphere() {
    for (bands, count) in [(10, 66), (18, 208), (36, 828)] {
        let directions = equal_solid_angle(bands);
        assert_eq!(directions.len(), count);
        let sum: f64 = directions.iter().map(|(_, weight)| weight).sum();
        assert!((sum / TAU - 1.0).abs() < 1e-12, "{sum}");
    }
}

#[test]
fn a_ball_of_density_one_reconstructs_to_one_in_its_centre() {
    let grid = grid_about_zero([9, 9, 9], [0.5; 3]).unwrap();
    let sweep = pulse_sweep(&equal_solid_angle(18), 128, 0.5, |_, t| ball(16.0, t));
    for filter in [Filter::SecondDifference, Filter::ThreePoint, Filter::FivePoint] {
        for &interpolation in Interpolation::VARIANTS {
            let volume = reconstruct(&sweep, &FilterSettings { filter, interpolation, ..FilterSettings::default() }, &grid);
            let centre = volume[(4 * 9 + 4) * 9 + 4];
            println!("{filter}, {interpolation}: {centre:.6}");
            assert!((centre - 1.0).abs() < 0.005, "{filter}, {interpolation}: {centre}");
        }
    }
}

/// A ball's edge is a jump of p′, which filters with a sharp end answer with ripples over the whole ball; a smooth object
/// has none, and every filter gives it back.
#[test]
fn every_filter_gives_a_smooth_object_back() {
    let radius = 20.0;
    let grid = grid_about_zero([33, 5, 3], [1.0; 3]).unwrap();
    let sweep = pulse_sweep(&equal_solid_angle(18), 129, 0.5, |_, t| smooth_ball(radius, t));
    for &filter in Filter::VARIANTS {
        for &interpolation in Interpolation::VARIANTS {
            for cutoff in [None, Some(0.5)] {
                let volume =
                    reconstruct(&sweep, &FilterSettings { filter, interpolation, cutoff, ..FilterSettings::default() }, &grid);
                let mut worst = 0.0f64;
                for (m, value) in volume[(5 + 2) * 33..(5 + 3) * 33].iter().enumerate() {
                    let x = m as f64 - 16.0;
                    let truth = (1.0 - x * x / (radius * radius)).powi(2);
                    worst = worst.max((value - truth).abs());
                }
                println!("{filter}, {interpolation}, cut-off {cutoff:?}: {worst:.5}");
                assert!(worst < 0.02, "{filter}, {interpolation}, {cutoff:?}: {worst}");
            }
        }
    }
}

#[test]
fn a_balls_profile_is_one_inside_and_zero_outside() {
    let grid = grid_about_zero([64, 1, 1], [1.0; 3]).unwrap();
    let radius = 16.0;
    let sweep = pulse_sweep(&equal_solid_angle(36), 128, 0.5, |_, t| ball(radius, t));
    let volume = reconstruct(&sweep, &FilterSettings::default(), &grid);
    for (m, &value) in volume.iter().enumerate() {
        let x = (m as f64 - 32.0).abs();
        let truth = f64::from(u8::from(x < radius));
        // A voxel and a half either side of the edge belong to it; half of it is reached at the edge.
        if (x - radius).abs() > 1.5 && x < 26.0 {
            assert!((value - truth).abs() < 0.05, "x = {x}: {value}");
        }
        if x == radius {
            assert!((value - 0.5).abs() < 0.1, "at the edge: {value}");
        }
    }
}

/// Continuous-wave spectra of a smooth ball of radius 20 mm: its plane integrals convolved with the derivative of a line.
fn smooth_ball_spectra() -> Sweep {
    with_line(pulse_sweep(&equal_solid_angle(10), 256, 0.25, |_, t| smooth_ball(20.0, t)), 3.0, 0.02)
}

#[test]
fn deconvolution_takes_the_line_shape_off() {
    let (sweep, radius) = (smooth_ball_spectra(), 20.0);
    let grid = grid_about_zero([17, 3, 3], [2.0; 3]).unwrap();
    let settings = FilterSettings { filter: Filter::Rectangular, cutoff: Some(0.2), ..FilterSettings::default() };
    let volume = reconstruct(&sweep, &settings, &grid);
    for (m, value) in volume[(3 + 1) * 17..(3 + 2) * 17].iter().enumerate() {
        let x = 2.0 * (m as f64 - 8.0);
        let truth = (1.0 - x * x / (radius * radius)).powi(2);
        assert!((value - truth).abs() < 0.02, "x = {x}: {value}, not {truth}");
    }
}

/// At half the Nyquist frequency: what a window takes off there depends on where it ends.
#[test]
fn windows_of_pulse_data_end_at_the_cut_off() {
    let wave = |i: i32| (0.25 * PI * f64::from(i)).cos() as f32;
    let values: Arc<[f32]> = (-512..512).map(wave).collect();
    let mut sweep = pulse_sweep(&equal_solid_angle(1), 1024, 1.0, |_, _| 0.0);
    sweep.projections[0].values = values;
    sweep.projections[0].weight = 4.0 * PI * PI;
    let response = |filter: Filter, cutoff: Option<f64>| {
        let settings = FilterSettings { filter, cutoff, ..FilterSettings::default() };
        ProjectionFilter::new(&sweep, &settings).unwrap().apply(&sweep.projections[..1]).unwrap().values[512]
    };
    let parabola = (0.25 * PI).powi(2);
    for (filter, cutoff, window) in [
        (Filter::Rectangular, Some(0.5), 1.0),
        (Filter::Sinc, None, (0.125 * PI).sin() / (0.125 * PI)),
        (Filter::Sinc, Some(1.0), (0.125 * PI).sin() / (0.125 * PI)),
        (Filter::Sinc, Some(0.5), (0.25 * PI).sin() / (0.25 * PI)),
        (Filter::Hamming, None, 0.54 + 0.46 * 0.5f64.sqrt()),
        (Filter::Hamming, Some(0.5), 0.54),
        (Filter::Hamming, Some(0.2), 0.0),
    ] {
        let found = response(filter, cutoff) / parabola;
        println!("{filter}, cut-off {cutoff:?}: {found:.4}");
        assert!((found - window).abs() < 0.01, "{filter}, {cutoff:?}: {found} is not {window}");
    }
}

#[test]
fn balls_of_known_density_have_it() {
    let grid = grid_about_zero([40, 40, 1], [0.6; 3]).unwrap();
    let sweep = pulse_sweep(&equal_solid_angle(18), 128, 0.4, |_, t| ball(10.0, t));
    for filter in [Filter::SecondDifference, Filter::ThreePoint, Filter::FivePoint, Filter::Hamming] {
        let volume = reconstruct(&sweep, &FilterSettings { filter, ..FilterSettings::default() }, &grid);
        let inside = (0..volume.len()).filter(|i| ((i % 40) as f64 - 20.0).hypot((i / 40) as f64 - 20.0) * 0.6 < 7.5);
        let values: Vec<f64> = inside.map(|i| volume[i]).collect();
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        println!("{filter}: {mean:.5}");
        assert!((mean - 1.0).abs() <= 0.005, "{filter}: {mean}");
    }
}

#[test]
fn a_drift_of_the_baseline_is_taken_off() {
    let sweep = smooth_ball_spectra();
    let largest = sweep.projections.iter().flat_map(|p| p.values.iter()).fold(0.0f32, |largest, value| largest.max(value.abs()));
    let mut drifting = sweep.clone();
    for (projection, slope) in drifting.projections.iter_mut().zip(noise(5, sweep.num_complete())) {
        let drift = |i: usize| 0.1 * largest * (2.0 * slope - 1.0) * (2.0 * i as f32 / 255.0 - 1.0);
        projection.values = projection.values.iter().enumerate().map(|(i, value)| value + drift(i)).collect();
    }
    let grid = grid_about_zero([20; 3], [2.0; 3]).unwrap();
    let with = |sweep: &Sweep, baseline| {
        let settings = FilterSettings { filter: Filter::Rectangular, cutoff: Some(0.2), baseline, ..FilterSettings::default() };
        reconstruct(sweep, &settings, &grid)
    };
    let change = |baseline| {
        let (clean, drifted) = (with(&sweep, baseline), with(&drifting, baseline));
        relative_difference(&drifted, &clean)
    };
    let (without, taken_off) = (change(Baseline::None), change(Baseline::Line));
    println!("the drift changes the image by {without:.3}, with a baseline by {taken_off:.1e}");
    assert!(without > 0.02 && taken_off < 1e-4);
    // The ends of these spectra are empty: nothing that is there is taken away.
    let (plain, flat) = (with(&sweep, Baseline::None), with(&sweep, Baseline::Cubic));
    assert!(plain.iter().zip(&flat).all(|(a, b)| (a - b).abs() < 1e-3), "the object was touched");
}

#[test]
fn what_cannot_be_filtered_is_refused() {
    let mut sweep = pulse_sweep(&equal_solid_angle(10), 64, 1.0, |_, t| ball(16.0, t));
    for cutoff in [0.0, -0.1, 1.5, f64::NAN] {
        let refused = ProjectionFilter::new(&sweep, &FilterSettings { cutoff: Some(cutoff), ..FilterSettings::default() });
        let found = match refused.err().unwrap() {
            ReconError::UnsuitableSettings(SettingsProblem::Cutoff(found)) => found,
            error => panic!("{error}"),
        };
        assert_eq!(found.to_bits(), cutoff.to_bits());
    }
    let refused = ProjectionFilter::new(&sweep, &FilterSettings { baseline: Baseline::Line, ..FilterSettings::default() });
    assert_eq!(refused.err(), Some(SettingsProblem::Baseline.into()));
    sweep.kind = SweepKind::ContinuousWave { step_mt: 0.02, gradient_mt_per_mm: 0.02, reference: None };
    let refused = ProjectionFilter::new(&sweep, &FilterSettings::default());
    assert_eq!(refused.err(), Some(DataProblem::NoReference.into()));
    let values: Arc<[f32]> = vec![0.0; 64].into();
    let reference = Some(ReferenceSpectrum { values, step_mt: 0.02 });
    sweep.kind = SweepKind::ContinuousWave { step_mt: 0.02, gradient_mt_per_mm: 0.02, reference };
    let refused = ProjectionFilter::new(&sweep, &FilterSettings::default());
    assert_eq!(refused.err(), Some(DataProblem::Reference(ReferenceProblem::Zero).into()));
}

/// Noise in directions of equal solid angle, so that every interval counts.
fn noisy_projections(interpolation: Interpolation, directions: &[Direction], num_points: usize) -> FilteredProjections {
    let samples = noise(3, directions.len() * num_points).iter().map(|&value| f64::from(value) - 0.5).collect();
    let sampling = PlaneSampling { num_points, step_mm: 1.3, centre: num_points as f64 / 2.0 - 0.3 };
    FilteredProjections::new(sampling, interpolation, directions.to_vec(), samples).unwrap()
}

fn directions(num_bands: usize) -> Vec<Direction> {
    equal_solid_angle(num_bands).iter().map(|(direction, _)| *direction).collect()
}

/// Voxels fine enough for one window, for two, too coarse for any; sides that are no multiple of a tile; corners outside.
#[test]
fn the_fast_backprojection_is_the_plain_one() {
    for (voxel_mm, num_points) in [([1.1, 1.3, 1.2], 40), ([2.9, 3.3, 2.0], 61), ([9.0, 7.0, 8.0], 130)] {
        let grid = grid_about_zero([37, 19, 6], voxel_mm).unwrap();
        for &interpolation in Interpolation::VARIANTS {
            let projections = noisy_projections(interpolation, &directions(10), num_points);
            let truth = planes_by_definition(&grid, &projections);
            for simd in Simd::available() {
                let mut fast = SingleStage::new(grid.clone()).with_simd(simd);
                let error = relative(&planes_by(&mut fast, &projections), &truth);
                println!("{interpolation}, {}, {voxel_mm:?}: {error:.1e}", simd.name());
                assert!(error <= 1e-5);
            }
        }
    }
}

#[test]
fn any_number_of_threads_gives_the_same_bits() {
    let grid = grid_about_zero([40, 33, 21], [1.0; 3]).unwrap();
    let projections = noisy_projections(Interpolation::Linear, &directions(10), 40);
    let with = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            (
                planes_by(&mut SingleStage::new(grid.clone()), &projections),
                planes_by(&mut MultiStage::new(grid.clone()), &projections),
            )
        })
    };
    let one = with(1);
    assert!(one.0.iter().any(|&value| value != 0.0));
    assert!(with(2) == one && with(5) == one);
}

/// The forward operator of the same interpolation, written here once more: voxel by voxel onto the two samples about it.
#[test]
fn the_backprojection_is_the_adjoint_of_plane_integrals() {
    let grid = grid_about_zero([21, 18, 9], [1.1, 1.3, 1.2]).unwrap();
    let projections = noisy_projections(Interpolation::Linear, &directions(10), 24);
    let PlaneSampling { num_points, step_mm, centre } = projections.sampling;
    let x = noise(11, grid.num_voxels());
    let mut forward = vec![0.0f64; projections.values.len()];
    for (index, &value) in x.iter().enumerate() {
        let (m, n, k) = (index % 21, index / 21 % 18, index / (21 * 18));
        let p = grid.mm_from_voxel([m as f64, n as f64, k as f64]);
        for (row, direction) in forward.chunks_exact_mut(num_points).zip(&projections.directions) {
            let t = p.iter().zip(direction).map(|(a, b)| a * b).sum::<f64>() / step_mm + centre;
            let below = t.floor();
            if below >= 0.0 && below + 1.0 < num_points as f64 {
                row[below as usize] += (1.0 - (t - below)) * f64::from(value);
                row[below as usize + 1] += (t - below) * f64::from(value);
            }
        }
    }
    let there: f64 = forward.iter().zip(&projections.values).map(|(a, b)| a * b).sum();
    let scale: f64 = forward.iter().zip(&projections.values).map(|(a, b)| (a * b).abs()).sum();
    for volume in [planes_by_definition(&grid, &projections), planes_by(&mut SingleStage::new(grid.clone()), &projections)] {
        let back: f64 = volume.iter().zip(&x).map(|(&a, &b)| f64::from(a) * f64::from(b)).sum();
        println!("{there} {back} {:.1e}", (there - back).abs() / scale);
        assert!(there != 0.0 && (there - back).abs() <= 1e-6 * scale);
    }
}

/// Directions at N_pol × N_az equal linear angles.
fn equal_linear_angle(num_polar: usize, num_azimuths: usize) -> Vec<(Direction, f64)> {
    let polar = |k: usize| (k as f64 + 0.5) * PI / num_polar as f64;
    let sum: f64 = (0..num_polar).map(|k| polar(k).sin()).sum();
    let direction = |index: usize| {
        let (sin, cos) = polar(index / num_azimuths).sin_cos();
        // From −π/2 on, so that some azimuths have to be turned round.
        let phi = ((index % num_azimuths) as f64 + 0.5) * PI / num_azimuths as f64 - 0.5 * PI;
        ([sin * phi.cos(), sin * phi.sin(), cos], TAU * sin / (sum * num_azimuths as f64))
    };
    (0..num_polar * num_azimuths).map(direction).collect()
}

/// Every filter, on sharp edges; sides that are no multiples of what is done at once, and samples off the origin.
#[test]
fn two_stages_give_what_one_gives() {
    let grid = grid_about_zero([70, 37, 83], [0.9, 1.1, 0.7]).unwrap();
    // Radius and centre of each ball.
    let objects: [(&str, &[(f64, Direction)]); 3] = [
        ("ball", &[(14.0, [0.0; 3])]),
        ("off-centre ball", &[(14.0, [5.0, 0.0, 3.0])]),
        ("small balls", &[(5.0, [9.0, 0.0, 0.0]), (4.0, [0.0, 8.0, 0.0]), (6.0, [0.0, 0.0, -10.0])]),
    ];
    for (name, balls) in objects {
        let of = |n: &Direction, t: f64, (r, c): &(f64, Direction)| ball(*r, t - n[0] * c[0] - n[1] * c[1] - n[2] * c[2]);
        let sweep = pulse_sweep(&equal_linear_angle(15, 14), 128, 0.6, |n, t| balls.iter().map(|ball| of(n, t, ball)).sum());
        for &filter in Filter::VARIANTS {
            for interpolation in [Interpolation::Linear, Interpolation::Cubic] {
                let settings = FilterSettings { filter, interpolation, ..FilterSettings::default() };
                let mut filtered = ProjectionFilter::new(&sweep, &settings).unwrap().apply(&sweep.projections).unwrap();
                filtered.sampling.centre += 0.3;
                let one = planes_by(&mut SingleStage::new(grid.clone()), &filtered);
                let error = relative(&planes_by(&mut MultiStage::new(grid.clone()), &filtered), &one);
                println!("{name}, {filter}, {interpolation}: {error:.1e}");
                assert!(error <= 0.01);
            }
        }
    }
}

#[test]
fn resampling_to_equal_angles_keeps_the_object() {
    let grid = grid_about_zero([64, 64, 64], [1.0; 3]).unwrap();
    let object = |n: &Direction, t: f64| smooth_ball(18.0, t - 6.0 * n[0] - 4.0 * n[1] + 5.0 * n[2]);
    let sweep = pulse_sweep(&equal_solid_angle(18), 128, 0.75, object);
    let filter = ProjectionFilter::new(&sweep, &FilterSettings::default()).unwrap();
    let [num_polar, num_azimuth] = equal_angles_for(208);
    let resampled = filter.apply_at_equal_angles(&sweep.projections, [num_polar, num_azimuth], &Task::new()).unwrap();
    let directions = Scheme::EqualLinearAngle { num_polar, num_azimuth }.directions(Weighting::SolidAngle);
    let directions: Vec<_> = directions.iter().map(|direction| (direction.unit, direction.weight)).collect();
    let exact = pulse_sweep(&directions, 128, 0.75, object);
    let exact = filter.apply(&exact.projections).unwrap();
    assert_eq!(resampled.directions, exact.directions);
    let error = relative(&resampled.values_f32(), &exact.values_f32());
    // By the projections that were measured, each between the others.
    let bound = resampling_error(&sweep, &FilterSettings::default(), &Task::new()).unwrap();
    println!("filtered projections: {error:.3}, at most {bound:.3}");
    assert!(error < bound && bound < 0.3);
    let volume = |filtered: &FilteredProjections| planes_by(&mut MultiStage::new(grid.clone()), filtered);
    let error = relative(&volume(&resampled), &volume(&filter.apply(&sweep.projections).unwrap()));
    println!("volume: {error:.3}");
    assert!(error < 0.1);
}

fn fbp(sweep: &Sweep, grid: &Grid, settings: FbpSettings) -> Result<Fbp<Host, SingleStage>, ReconError> {
    Fbp::new(Host, SingleStage::new(grid.clone()), sweep, settings)
}

fn shown(fbp: &mut Fbp<Host, SingleStage>, grid: &Grid) -> Volume {
    let mut volume = Volume::filled(grid.clone(), 7.0);
    fbp.volume_into(&mut volume).unwrap();
    volume
}

#[test]
fn the_volume_grows_and_ends_the_same_however_projections_arrive() {
    let grid = grid_about_zero([33, 33, 33], [1.0; 3]).unwrap();
    let whole = pulse_sweep(&equal_solid_angle(18), 96, 0.75, |_, t| ball(10.0, t));
    let centre = |volume: &Volume| volume.values[[16, 16, 16]];
    let mut at_once = fbp(&whole, &grid, FbpSettings { block: 208, ..FbpSettings::default() }).unwrap();
    let report = at_once.step(&Task::new()).unwrap();
    assert!(report.completes_iteration && report.iteration == 1 && at_once.num_subsets() == 208 && report.subiteration == 208);
    assert_eq!(at_once.step(&Task::new()), Err(DataProblem::AllUsed.into()));
    let truth = shown(&mut at_once, &grid);
    assert!((centre(&truth) - 1.0).abs() < 0.005);
    for order in [Order::AsAcquired, Order::Spaced] {
        let empty = Sweep { projections: Vec::new(), ..whole.clone() };
        let mut growing = fbp(&empty, &grid, FbpSettings { order, block: 16, ..FbpSettings::default() }).unwrap();
        let mut completed = false;
        for arrived in whole.projections.chunks(50) {
            growing.append(arrived.to_vec(), false).unwrap();
            while growing.num_waiting() > 0 {
                assert!(!completed);
                completed = growing.step(&Task::new()).unwrap().completes_iteration;
                // The ball's middle has its density from the first block on.
                assert!((centre(&shown(&mut growing, &grid)) - 1.0).abs() < 0.01);
            }
        }
        assert!(completed && growing.is_complete() && growing.accumulations().is_empty());
        assert!(relative(shown(&mut growing, &grid).as_slice(), truth.as_slice()) < 1e-5);
    }
}

#[test]
fn regions_are_measured_on_the_volume_that_is_shown() {
    let grid = grid_about_zero([33, 33, 33], [1.0; 3]).unwrap();
    let whole = pulse_sweep(&equal_solid_angle(18), 96, 0.75, |_, t| ball(10.0, t));
    let mut run = fbp(&whole, &grid, FbpSettings { order: Order::Spaced, ..FbpSettings::default() }).unwrap();
    let mask = RoiMask { voxels: (0..200).map(|k| (15 * 33 * 33 + 15 * 33 + k, 0.5)).collect() };
    run.set_rois(std::slice::from_ref(&mask)).unwrap();
    run.step(&Task::new()).unwrap();
    let (measured, truth) = (run.roi_sums().unwrap().remove(0), mask.sums(shown(&mut run, &grid).as_slice()));
    assert!((measured.sum / truth.sum - 1.0).abs() < 1e-5);
    assert!((measured.sum_of_squares / truth.sum_of_squares - 1.0).abs() < 1e-5);
    assert!((measured.max / truth.max - 1.0).abs() < 1e-5);
}

#[test]
fn unsuitable_sweeps_are_refused() {
    let grid = grid_about_zero([9, 9, 9], [1.0; 3]).unwrap();
    let good = pulse_sweep(&equal_solid_angle(10), 32, 1.0, |_, t| ball(10.0, t));
    // The projection that is refused, and why.
    let of = |error: ReconError| match error {
        ReconError::UnsuitableData(DataProblem::Projection { index, problem }) => (index, problem),
        error => panic!("{error}"),
    };
    let with = |change: &dyn Fn(&mut Projection)| {
        let mut bad = good.clone();
        change(&mut bad.projections[3]);
        let (index, problem) = of(fbp(&bad, &grid, FbpSettings::default()).err().unwrap());
        assert_eq!(index, 3);
        // The same projection arriving later: nothing is added, and the run goes on.
        let mut run = fbp(&good, &grid, FbpSettings::default()).unwrap();
        assert_eq!(of(run.append(bad.projections.clone(), false).unwrap_err()).0, 69);
        assert_eq!(run.num_waiting(), 66);
        problem
    };
    use ProjectionProblem as Problem;
    assert_eq!(with(&|p| p.values = p.values[..20].into()), Problem::NumSamples { found: 20, expected: 32 });
    let is_nan = |problem: Problem| matches!(problem, Problem::Sample { sample: 0, value } if value.is_nan());
    assert!(is_nan(with(&|p| p.values = vec![f32::NAN; 32].into())));
    assert_eq!(with(&|p| p.direction = [0.0; 3]), Problem::NoGradient);
    assert_eq!(with(&|p| p.direction = [0.4, 0.0, 0.0]), Problem::Gradient { difference: 0.6, max: 0.5 });
    assert_eq!(with(&|p| p.direction = [1.5, 0.0, 0.0]), Problem::Direction(1.5));
    assert!(matches!(with(&|p| p.direction = [f64::NAN, 0.0, 0.0]), Problem::Direction(length) if length.is_nan()));
    assert_eq!(with(&|p| p.weight = -1.0), Problem::Weight(-1.0));
    let broken = |sweep: Sweep| match fbp(&sweep, &grid, FbpSettings::default()).err() {
        Some(ReconError::UnsuitableData(problem)) => problem,
        other => panic!("{other:?}"),
    };
    assert_eq!(broken(Sweep { step_mm: 0.0, ..good.clone() }), DataProblem::Step(0.0));
    assert!(matches!(broken(Sweep { centre: f64::NAN, ..good.clone() }), DataProblem::Centre(centre) if centre.is_nan()));
    assert_eq!(broken(Sweep { num_points: 2, projections: Vec::new(), ..good.clone() }), DataProblem::NumSamples(2));
    let idle = fbp(&good, &grid, FbpSettings { block: 0, ..FbpSettings::default() });
    assert_eq!(idle.err(), Some(SettingsProblem::NoProjections.into()));
}

#[test]
fn slabs_on_several_devices_are_the_image_of_one() {
    let (grid, directions) = (grid_about_zero([24, 22, 19], [1.5; 3]).unwrap(), equal_solid_angle(9));
    let sweep = pulse_sweep(&directions, 64, 0.8, |_, t| smooth_ball(12.0, t));
    let settings =
        || FbpSettings { filter: FilterSettings::default(), order: Order::default(), block: 7, ..FbpSettings::default() };
    let roi = RoiMask { voxels: (3000..7000u32).map(|voxel| (voxel, 0.25 + (voxel % 3) as f32)).collect() };
    let on = |grid: Grid| -> Box<dyn Algorithm> { Box::new(Fbp::new(Host, SingleStage::new(grid), &sweep, settings()).unwrap()) };
    let (mut whole, mut expected) = (on(grid.clone()), Volume::filled(grid.clone(), 0.0));
    let mut algorithms: Vec<SlabAlgorithm> = [1, 2, 5]
        .map(|count| SlabAlgorithm::new(slabs(&grid, count).unwrap().into_iter().map(|slab| (on(slab.clone()), slab))))
        .into();
    let mut found = Volume::filled(grid, 0.0);
    whole.set_rois(std::slice::from_ref(&roi)).unwrap();
    algorithms.iter_mut().for_each(|slabs| slabs.set_rois(std::slice::from_ref(&roi)).unwrap());
    for _ in 0..4 {
        let report = whole.step(&Task::new()).unwrap();
        whole.volume_into(&mut expected).unwrap();
        let sums = whole.roi_sums().unwrap()[0];
        for slabs in &mut algorithms {
            let stopped = Task::new();
            stopped.stop();
            assert!(slabs.step(&stopped).is_err(), "nothing is done of a step that is stopped");
            assert_eq!(slabs.step(&Task::new()).unwrap().subiteration, report.subiteration);
            slabs.volume_into(&mut found).unwrap();
            assert!(relative(found.as_slice(), expected.as_slice()) < 1e-6);
            let of_slabs = slabs.roi_sums().unwrap()[0];
            assert!((of_slabs.sum - sums.sum).abs() <= 1e-6 * sums.sum.abs() && of_slabs.num_voxels == sums.num_voxels);
            assert!((of_slabs.min - sums.min).abs() < 1e-5 && (of_slabs.weight - sums.weight).abs() < 1e-9 * sums.weight);
        }
    }
    assert_eq!(algorithms[2].num_subsets(), whole.num_subsets());
}
