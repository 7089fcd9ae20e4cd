//! Integrals of the EPRI phantoms over planes, against sums over points of space and against their own volumes.

use tomoscope::data::{RoiRole, RoiShape};
use tomoscope::geometry::{Grid, Point};
use tomoscope::phantom::epri::{Phantom, SweepOptions, by_name, catalogue, simulate};
use tomoscope::scanner::epri::{Order, Scheme, unit_vector};
use tomoscope::task::Task;

const HALF_EXTENT_MM: f64 = 20.0;

fn phantoms() -> Vec<Phantom> {
    catalogue().map(|info| by_name(info.name, HALF_EXTENT_MM).unwrap()).collect()
}

/// Integral over the slab |n·x − t| ≤ half, by counting points 0.2 mm apart.
fn counted(phantom: &Phantom, n: Point, t: f64, half: f64) -> f64 {
    const STEP: f64 = 0.2;
    let num = (2.0 * HALF_EXTENT_MM / STEP) as usize;
    let at = |i: usize| (i as f64 + 0.5) * STEP - HALF_EXTENT_MM;
    let mut sum = 0.0;
    for (k, j) in (0..num).flat_map(|k| (0..num).map(move |j| (k, j))) {
        for i in 0..num {
            let point = [at(i), at(j), at(k)];
            let distance = n[0] * point[0] + n[1] * point[1] + n[2] * point[2] - t;
            if distance.abs() <= half {
                sum += phantom.density_at(point);
            }
        }
    }
    sum * STEP.powi(3)
}

#[test]
fn plane_integrals_are_those_of_a_brute_force_sum() {
    for phantom in phantoms() {
        for (n, t) in [(unit_vector(0.7, 2.1), 1.3), (unit_vector(1.4, 0.3), -3.9), ([0.0, 0.0, 1.0], 4.0)] {
            let half = 1.0;
            let steps = 400;
            let slab: f64 = (0..steps)
                .map(|k| phantom.plane_integral(n, t - half + 2.0 * half * (f64::from(k) + 0.5) / f64::from(steps)))
                .sum::<f64>()
                * 2.0
                * half
                / f64::from(steps);
            let counted = counted(&phantom, n, t, half);
            assert!((slab - counted).abs() <= 0.01 * counted, "{} {n:?} {t}: {slab} {counted}", phantom.name);
        }
    }
}

#[test]
fn every_projection_holds_the_whole_phantom_and_the_truth_does_too() {
    let (scheme, order) = (Scheme::with_at_least(40).unwrap(), Order::Spaced);
    let grid = Grid::new([100; 3], [0.4; 3], [-20.0; 3]).unwrap();
    let options =
        SweepOptions { scheme, order, num_points: 400, step_mm: 0.1, truth_grid: Some(grid.clone()), ..SweepOptions::default() };
    for phantom in phantoms() {
        let sweep = simulate(&phantom, &options, &Task::new()).unwrap();
        let truth = sweep.truth.as_ref().unwrap();
        let volume = truth.sum() * grid.voxel_ml() * 1e3;
        assert!(phantom.reach_mm() < HALF_EXTENT_MM);
        for projection in &sweep.measured.projections {
            let sum: f64 = projection.values.iter().map(|&v| f64::from(v)).sum::<f64>() * 0.1;
            assert!((sum / volume - 1.0).abs() < 0.01, "{}: {sum} {volume}", phantom.name);
            assert_eq!((projection.values[0], projection.values[399]), (0.0, 0.0));
        }
        for roi in &sweep.rois {
            let RoiShape::Sphere { radius_mm } = roi.shape else { panic!("{roi:?}") };
            let expected = if roi.role == RoiRole::Hot { roi.activity_ratio.unwrap() } else { 1.0 };
            for (axis, side) in [(0, -1.0), (0, 1.0), (1, -1.0), (1, 1.0), (2, -1.0), (2, 1.0), (0, 0.0)] {
                // A disc is flat: its regions are those of its slice.
                if phantom.name == "disc" && axis == 2 {
                    continue;
                }
                let mut rim = roi.centre_mm;
                rim[axis] += side * radius_mm;
                assert_eq!(phantom.density_at(rim), expected, "{} {}", phantom.name, roi.name);
            }
            let voxel = grid.voxel_from_mm(roi.centre_mm).map(|v| v.round() as usize);
            assert_eq!(f64::from(truth.values[[voxel[2], voxel[1], voxel[0]]]), expected, "{} {}", phantom.name, roi.name);
        }
    }
}

#[test]
fn a_ball_is_pi_times_r_squared_less_t_squared() {
    let options = SweepOptions::default();
    let sweep = simulate(&by_name("ball", options.half_extent_mm()).unwrap(), &options, &Task::new()).unwrap();
    assert_eq!((sweep.measured.num_complete(), sweep.measured.num_expected), (208, Some(208)));
    for projection in &sweep.measured.projections {
        for (k, &value) in projection.values.iter().enumerate() {
            let t = (k as f64 - sweep.measured.centre) * sweep.measured.step_mm;
            let expected = (std::f64::consts::PI * (100.0 - t * t)).max(0.0);
            assert!((f64::from(value) - expected).abs() <= 1e-6 * 314.0, "{t}: {value} {expected}");
        }
    }
    // The bottle's lower rim: 13 mm down, 8 mm out.
    let bottle = by_name("bottle", HALF_EXTENT_MM).unwrap();
    assert!((bottle.reach_mm() - f64::hypot(13.0, 8.0)).abs() < 1e-9 && bottle.size == 1.0);
    // A phantom that does not fit is made smaller, and says so.
    let small = by_name("bottle", 5.0).unwrap();
    assert!(small.size < 0.5 && small.reach_mm() < 5.0 && small.notices.len() == 1);
}

#[test]
fn the_noise_has_the_size_that_was_asked_for_and_depends_on_the_direction_alone() {
    let phantom = by_name("ball", HALF_EXTENT_MM).unwrap();
    let sweep = |noise_fraction: f64, order: Order, seed: u64| {
        let options = SweepOptions { noise_fraction, order, seed, ..SweepOptions::default() };
        simulate(&phantom, &options, &Task::new()).unwrap()
    };
    let (clean, noisy) = (sweep(0.0, Order::AsAcquired, 1), sweep(0.05, Order::AsAcquired, 1));
    let values = |sweep: &tomoscope::data::Sweep| sweep.projections.iter().flat_map(|p| p.values.to_vec()).collect::<Vec<f32>>();
    let errors: Vec<f64> =
        values(&clean.measured).iter().zip(values(&noisy.measured)).map(|(a, b)| f64::from(b) - f64::from(*a)).collect();
    let (num, expected) = (errors.len() as f64, 0.05 * 314.159);
    let mean = errors.iter().sum::<f64>() / num;
    let deviation = (errors.iter().map(|e| (e - mean).powi(2)).sum::<f64>() / num).sqrt();
    assert!(mean.abs() < 5.0 * expected / num.sqrt(), "{mean}");
    assert!((deviation / expected - 1.0).abs() < 0.02, "{deviation}");
    assert_ne!(noisy.measured.projections, sweep(0.05, Order::AsAcquired, 2).measured.projections);
    let spaced = sweep(0.05, Order::Spaced, 1);
    assert_ne!(spaced.measured.projections, noisy.measured.projections);
    assert!(noisy.measured.projections.iter().all(|p| spaced.measured.projections.contains(p)));
}
