//! Phantoms and simulated scans against closed forms.

use std::f64::consts::PI;
use std::sync::Arc;

use tomoscope::data::{Counts, Study};
use tomoscope::geometry::{Grid, Line};
use tomoscope::measure::relative_difference;
use tomoscope::operator::Siddon;
use tomoscope::phantom::{Noise, Phantom, SimulationError, SimulationOptions, Solid, by_name, simulate};
use tomoscope::scanner::{ScanGeometry, find};
use tomoscope::task::Task;

fn geometry(name: &str) -> Arc<ScanGeometry> {
    Arc::new(find(name).expect("a scanner of the catalogue").geometry.clone())
}

fn phantom(name: &str, geometry: &ScanGeometry) -> Phantom {
    by_name(name, geometry).expect("a phantom of the catalogue")
}

fn noise_free() -> SimulationOptions {
    SimulationOptions { noise: Noise::None, ..Default::default() }
}

/// Σ of integrals over parallel lines a step apart × the step: the area, or any other integral, of what they cross.
fn over_parallel_lines(phantom: &Phantom, angle_rad: f64, z_mm: f64, step_mm: f64) -> f64 {
    let (sin, cos) = angle_rad.sin_cos();
    let num = (200.0 / step_mm) as i32;
    (-num..=num)
        .map(|i| {
            let s = step_mm * (f64::from(i) + 0.37);
            let end = |a: f64| [s * cos + a * sin, s * sin - a * cos, z_mm];
            phantom.line_integrals(&Line { start: end(-500.0), end: end(500.0) }).activity_mm * step_mm
        })
        .sum()
}

#[test]
fn nema_cavity_has_the_published_area_and_volume() {
    let geometry = geometry("discovery-ste");
    let mut body = phantom("nema-iq-2001", &geometry);
    body.parts.retain(|part| part.material.activity == 1.0);
    for angle in [0.0, 0.7, PI / 2.0, 2.3] {
        let area = over_parallel_lines(&body, angle, 0.0, 0.05);
        assert!((area - 54_036.6).abs() < 1.0, "area {area} mm² at {angle} rad");
    }
    // The volume from lines along z, which see the length; a grid of 2 mm.
    let along_z = |i: i32, j: i32| {
        let (x, y) = (2.0 * f64::from(i) + 0.3, 2.0 * f64::from(j) + 0.7);
        body.line_integrals(&Line { start: [x, y, -300.0], end: [x, y, 300.0] }).activity_mm * 4.0
    };
    let volume: f64 = (-100..100).flat_map(|i| (-100..100).map(move |j| (i, j))).map(|(i, j)| along_z(i, j)).sum();
    assert!((volume * 1e-3 / 9_726.6 - 1.0).abs() < 1e-3, "volume {} mL", volume * 1e-3);
}

#[test]
fn every_view_of_a_parallel_beam_holds_the_same_activity() {
    let geometry = geometry("discovery-ste");
    for name in ["nema-iq-2001", "brain-like", "derenzo", "ellipsoid"] {
        let phantom = phantom(name, &geometry);
        let sums = [0.1, 0.9, 1.6, 2.8].map(|angle| over_parallel_lines(&phantom, angle, 3.1, 0.05));
        for sum in sums {
            assert!((sum / sums[0] - 1.0).abs() < 1e-4, "{name}: {sums:?}");
        }
    }
    // Area of an ellipse through an ellipsoid at height z: π a b (1 − z²/c²).
    let ellipse = over_parallel_lines(&phantom("ellipsoid", &geometry), 0.4, 20.0, 0.05);
    assert!((ellipse / (PI * 90.0 * 60.0 * (1.0 - 0.16)) - 1.0).abs() < 1e-4);
    // Spheres in the cavity, less what they and the lung replace: at z = 0 every one shows its great circle.
    let circle = |d: f64| 0.25 * PI * d * d;
    let hot: f64 = [10.0, 13.0, 17.0, 22.0].map(circle).iter().sum();
    let cold: f64 = [28.0, 37.0].map(circle).iter().sum();
    let expected = 54_036.6 - circle(50.0) + 3.0 * hot - cold;
    let found = over_parallel_lines(&phantom("nema-iq-2001", &geometry), 0.4, 0.0, 0.05);
    assert!((found / expected - 1.0).abs() < 1e-4, "{found} is not {expected}");
}

#[test]
fn direct_planes_of_a_cylinder_are_chords_of_a_circle() {
    let geometry = geometry("discovery-ste");
    let study = simulate(&phantom("cylinder", &geometry), geometry.clone(), &noise_free(), &Task::new()).expect("a study");
    let direct = geometry.planes().iter().position(|p| p.z_start_mm == p.z_end_mm && p.z_start_mm == 0.0).expect("plane");
    let scale = f64::from(study.truth.as_ref().expect("truth").range().1);
    for view in [0, 77, 140, 279] {
        for tangential_pos in 0..geometry.num_tangential {
            let s = geometry.s_mm(tangential_pos);
            let expected = 2.0 * (100.0f64.powi(2) - s * s).max(0.0).sqrt() * scale;
            let index = (view * geometry.num_tangential + tangential_pos) * geometry.num_planes() + direct;
            let found = f64::from(study.measured.prompts.counts[index]);
            // The bin at s = 100 mm is tangent: rounding alone decides between 0 and √ε·R.
            assert!((found - expected).abs() <= 1e-6 * expected + 1e-4 * scale, "{found} is not {expected} at s = {s}");
        }
    }
    assert!((study.measured.prompts.total() / 1e8 - 1.0).abs() < 1e-6);
}

#[test]
fn integrals_over_planes_through_a_ball_are_areas_of_circles() {
    let ball = Solid::ball([12.0, -7.0, 5.0], 20.0);
    for distance in [0.0, 3.0, 11.5, 19.0, 21.0f64] {
        // The plane with normal n at `distance` from the centre, filled with lines in it.
        let normal = [0.48, 0.6, 0.64];
        let (u, v) = ([0.8, 0.0, -0.6], [-0.36, 0.8, -0.48]);
        let step = 0.01;
        let line = |i: i32| {
            let b = step * (f64::from(i) + 0.5);
            let end = |a: f64| std::array::from_fn(|k| [12.0, -7.0, 5.0][k] + distance * normal[k] + b * v[k] + a * u[k]);
            ball.chord_mm(&Line { start: end(-50.0), end: end(50.0) }) * step
        };
        let area: f64 = (-2500..2500).map(line).sum();
        let expected = PI * (400.0 - distance * distance).max(0.0);
        assert!((area - expected).abs() < 1e-4 * PI * 400.0, "{area} is not {expected} at {distance} mm");
    }
}

#[test]
fn the_truth_projected_is_the_scan() {
    // Voxels of 1 mm stand in for the solids, so bins differ at edges; the scale, the place and the axes must agree.
    let geometry = geometry("small");
    let grid = Grid::centred([139, 139, 41], [1.0; 3]).expect("a grid");
    let options = SimulationOptions { truth_grid: Some(grid.clone()), ..noise_free() };
    for (name, at_most) in [("nema-iq-2001", 0.01), ("brain-like", 0.04)] {
        let study = simulate(&phantom(name, &geometry), geometry.clone(), &options, &Task::new()).expect("a study");
        let (truth, planes) = (study.truth.expect("truth"), geometry.planes());
        let siddon = Siddon::new(geometry.clone(), grid.clone(), 69.5, [1, 1]);
        let (mut projected, mut measured) = (Vec::new(), Vec::new());
        for bin in 0..geometry.num_bins() {
            let (view, tangential_pos, plane) = study.measured.prompts.bin_of_index(bin);
            let line = geometry.lor(geometry.transaxial_lor(view, tangential_pos, 0, 1), planes[plane]);
            let mut sum = 0.0;
            siddon.walk(&line, |voxel, length_mm| sum += length_mm * f64::from(truth.as_slice()[voxel]));
            projected.push(sum);
            measured.push(f64::from(study.measured.prompts.counts[bin]));
        }
        let relative = relative_difference(&projected, &measured);
        assert!(relative < at_most, "{name}: {relative}");
    }
}

#[test]
fn attenuation_and_background_are_in_the_corrections() {
    let geometry = geometry("small");
    let phantom = phantom("cylinder", &geometry);
    let plain = simulate(&phantom, geometry.clone(), &noise_free(), &Task::new()).expect("a study");
    assert!(plain.measured.multiplicative.is_none() && plain.measured.additive.is_none());
    let options = SimulationOptions { attenuation: true, background_fraction: 0.3, ..noise_free() };
    let study = simulate(&phantom, geometry.clone(), &options, &Task::new()).expect("a study");
    let (factors, additive) = (study.measured.multiplicative.expect("factors"), study.measured.additive.expect("background"));
    let scale = |study: &Study<Counts>| f64::from(study.truth.as_ref().expect("truth").range().1);
    let plain_scale = scale(&plain);
    let truth = f64::from(study.truth.expect("truth").range().1);
    let (mut trues, mut smallest) = (0.0, f64::INFINITY);
    for bin in 0..geometry.num_bins() {
        // The whole model, bin by bin: y = factor · (length · scale) + background, and the factor is exp(−μ · length).
        let length = f64::from(plain.measured.prompts.counts[bin]) / plain_scale;
        let factor = f64::from(factors.counts[bin]);
        assert!((factor - (-0.0096 * length).exp()).abs() < 1e-6, "factor {factor} for {length} mm");
        let expected = factor * length * truth + f64::from(additive.counts[bin]);
        let found = f64::from(study.measured.prompts.counts[bin]);
        assert!((found - expected).abs() < 1e-5 * expected.max(1.0), "bin {bin}: {found} is not {expected}");
        trues += factor * length * truth;
        smallest = smallest.min(f64::from(additive.counts[bin]));
    }
    assert!((trues / 1e8 - 1.0).abs() < 1e-5);
    assert!((additive.total() / (1e8 * 0.3 / 0.7) - 1.0).abs() < 1e-5);
    assert!(smallest > 0.0);
}

#[test]
fn poisson_counts_have_the_statistics_of_their_means() {
    let geometry = geometry("small");
    let phantom = phantom("nema-iq-2001", &geometry);
    let options = SimulationOptions { counts: 3e6, seed: 5, ..Default::default() };
    let expected =
        simulate(&phantom, geometry.clone(), &SimulationOptions { noise: Noise::None, ..options.clone() }, &Task::new());
    let expected = expected.expect("a study").measured;
    let measured = simulate(&phantom, geometry.clone(), &options, &Task::new()).expect("a study").measured;
    assert!((measured.prompts.total() - 3e6).abs() < 5.0 * 3e6f64.sqrt(), "{}", measured.prompts.total());
    // χ² over the bins: its mean is their number, its variance Σ (2 + 1/mean).
    let (mut chi2, mut num, mut variance) = (0.0, 0.0, 0.0);
    for (&mean, &count) in expected.prompts.counts.iter().zip(measured.prompts.counts.iter()) {
        let (mean, count) = (f64::from(mean), f64::from(count));
        assert!(count >= 0.0 && count.fract() == 0.0);
        if mean > 0.0 {
            chi2 += (count - mean).powi(2) / mean;
            num += 1.0;
            variance += 2.0 + 1.0 / mean;
        } else {
            assert_eq!(count, 0.0);
        }
    }
    assert!((chi2 - num).abs() < 5.0 * f64::sqrt(variance), "χ² {chi2} for {num} bins");
}

#[test]
fn a_seed_gives_the_same_counts_on_any_number_of_threads() {
    let geometry = geometry("small");
    let phantom = phantom("brain-like", &geometry);
    let on_threads = |num: usize, seed: u64| {
        let options = SimulationOptions { counts: 1e6, seed, attenuation: true, background_fraction: 0.2, ..Default::default() };
        let pool = rayon::ThreadPoolBuilder::new().num_threads(num).build().expect("threads");
        pool.install(|| simulate(&phantom, geometry.clone(), &options, &Task::new())).expect("a study")
    };
    let (one, two) = (on_threads(1, 7), on_threads(2, 7));
    assert_eq!(one.measured.prompts.counts, two.measured.prompts.counts);
    assert_eq!(one.measured.multiplicative, two.measured.multiplicative);
    assert_eq!(one.measured.additive, two.measured.additive);
    assert_eq!(one.truth, two.truth);
    assert_ne!(one.measured.prompts.counts, on_threads(2, 8).measured.prompts.counts);
}

#[test]
fn what_cannot_be_simulated_is_said() {
    let geometry = geometry("small");
    let mut phantom = phantom("ellipsoid", &geometry);
    let run = |phantom: &Phantom, options: &SimulationOptions, task: &Task| {
        simulate(phantom, geometry.clone(), options, task).map(|_| ()).unwrap_err()
    };
    for counts in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let options = SimulationOptions { counts, ..Default::default() };
        assert!(matches!(run(&phantom, &options, &Task::new()), SimulationError::Counts(_)));
    }
    for background_fraction in [-0.1, 1.0, f64::NAN] {
        let options = SimulationOptions { background_fraction, ..Default::default() };
        assert!(matches!(run(&phantom, &options, &Task::new()), SimulationError::Background(_)));
    }
    let task = Task::new();
    task.stop();
    assert!(matches!(run(&phantom, &SimulationOptions::default(), &task), SimulationError::Stopped(_)));
    phantom.parts.clear();
    let error = run(&phantom, &SimulationOptions::default(), &Task::new());
    assert!(matches!(error, SimulationError::NothingInView { .. }), "{error}");
}

#[test]
fn progress_reaches_its_total() {
    let geometry = geometry("small");
    let task = Task::new();
    simulate(&phantom("points", &geometry), geometry.clone(), &SimulationOptions::default(), &task).expect("a study");
    let (done, total) = task.progress();
    assert!(total > 0 && done == total, "{done} of {total}");
}
