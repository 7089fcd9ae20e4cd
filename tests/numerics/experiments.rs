//! Several acquisitions of one object in one reconstruction with total variation: the steps against dense sums over all of them, images
//! against truth and PyEPRI's.

use std::f64::consts::PI;
use std::path::PathBuf;
use std::sync::Arc;

use tomoscope::algebra::Host;
use tomoscope::data::{Experiment, Projection, Radical, ReferenceSpectrum, Study, Sweep, SweepKind, SweepSpace};
use tomoscope::geometry::Grid;
use tomoscope::io::{read_reference, read_sweep};
use tomoscope::operator::grid_about_zero;
use tomoscope::plan::{
    Acquisition, AlgorithmChoice, DeviceChoice, Job, RunInputs, RunSettings, SetupError, SetupProblem, prepare,
};
use tomoscope::recon::{Algorithm, DataProblem, ExperimentProblem, ReconError, SettingsProblem};
use tomoscope::recon::{SpectrumSettings, StepReport, TotalVariation, TvImages, TvSettings};
use tomoscope::task::Task;

use super::tv::{dense, distance, dot, noise, numpy, sweep_of_noise};

/// Radicals with spectra of noise.
fn radicals(num_points: usize, step_mt: f64, salts: [f64; 2]) -> Vec<Radical> {
    let spectrum = |salt| ReferenceSpectrum { values: noise(num_points, salt).iter().map(|v| *v as f32).collect(), step_mt };
    let radical = |(name, salt): (&str, f64)| Radical { name: name.to_owned(), spectrum: spectrum(salt) };
    ["a", "b"].into_iter().zip(salts).map(radical).collect()
}

/// An acquisition of noise with other fields, gradients and spectra than [`sweep_of_noise`].
fn other_acquisition(is_slice: bool) -> (Sweep, Vec<Radical>) {
    let mut sweep = sweep_of_noise(is_slice, 19, 4.4);
    sweep.kind = SweepKind::ContinuousWave { step_mt: 0.08, gradient_mt_per_mm: 0.25, reference: None };
    (sweep.step_mm, sweep.centre) = (0.32, 8.6);
    sweep.projections.truncate(4);
    // (The last one has a smaller gradient.)
    sweep.projections[3].direction = sweep.projections[3].direction.map(|v| 0.7 * v);
    (sweep, radicals(19, 0.08, [2.3, 6.1]))
}

fn experiment(sweep: &Sweep, radicals: &[Radical]) -> Experiment {
    Experiment { file: "other-proj.npy".into(), sweep: Arc::new(sweep.clone()), radicals: radicals.to_vec() }
}

fn values(sweep: &Sweep) -> Vec<f64> {
    sweep.projections.iter().flat_map(|p| p.values.iter().map(|v| f64::from(*v))).collect()
}

fn read_images(tv: &mut TotalVariation<Host>) -> Vec<Vec<f64>> {
    tv.images().unwrap().iter().map(|image| image.iter().map(|v| f64::from(*v)).collect()).collect()
}

/// A of both acquisitions as one dense matrix, a row of each image's voxel: the projections of an image that is 1 there.
fn columns(acquisitions: &[(Sweep, Vec<Radical>)], grid: &Grid) -> Vec<Vec<f64>> {
    let num_voxels = grid.num_voxels();
    let column = |index: usize| {
        let mut image = vec![0.0; num_voxels];
        image[index % num_voxels] = 1.0;
        let of = |(sweep, radicals): &(Sweep, Vec<Radical>)| dense(sweep, &radicals[index / num_voxels].spectrum, grid, &image);
        acquisitions.iter().flat_map(of).collect()
    };
    (0..2 * num_voxels).map(column).collect()
}

/// Runs until the images have converged; the images, and the steps.
fn converged(tv: TotalVariation<Host>) -> (Vec<Vec<f64>>, usize) {
    let (mut tv, mut num_steps) = (tv, 0);
    while tv.converged().is_none() && num_steps < 10_000 {
        num_steps = tv.step(&Task::new()).unwrap().iteration;
    }
    (read_images(&mut tv), num_steps)
}

#[test]
fn a_step_has_the_gradient_and_the_objective_of_the_dense_matrix_of_both_acquisitions() {
    for (is_slice, grid) in [
        (true, Grid::new([6, 5, 1], [0.5, 0.3, 1.0], [-1.3, -0.2, 0.0]).unwrap()),
        (false, grid_about_zero([3, 4, 2], [0.5, 0.5, 0.5]).unwrap()),
    ] {
        let first = (sweep_of_noise(is_slice, 24, 3.7), radicals(24, 0.05, [3.1, 7.3]));
        let acquisitions = [first.clone(), other_acquisition(is_slice)];
        // (So weak that the gradient of the first step is that of the data; the formula of λ′ has its own test below.)
        let settings =
            TvSettings { strength: Some(1e-12), transform_tolerance: 1e-12, has_pyepri_iterates: true, ..TvSettings::default() };
        let tv = TotalVariation::new(Host, &first.0, &first.1, &grid, settings, TvImages::default()).unwrap();
        let mut tv = tv.with_experiments(&[experiment(&acquisitions[1].0, &acquisitions[1].1)]).unwrap();

        let columns = columns(&acquisitions, &grid);
        let data: Vec<f64> = acquisitions.iter().flat_map(|(sweep, _)| values(sweep)).collect();
        let of_data: Vec<f64> = columns.iter().map(|column| dot(column, &data)).collect();
        let edges: f64 = grid.voxel_mm[..if is_slice { 2 } else { 3 }].iter().product();
        let start: Vec<f64> = of_data
            .chunks_exact(grid.num_voxels())
            .flat_map(|image| {
                let integral = edges * image.iter().sum::<f64>();
                image.iter().map(move |value| value / integral)
            })
            .collect();
        let mut residual: Vec<f64> = data.iter().map(|value| -value).collect();
        for (column, value) in columns.iter().zip(&start) {
            residual.iter_mut().zip(column).for_each(|(r, c)| *r += c * value);
        }
        let gradient: Vec<f64> = columns.iter().map(|column| dot(column, &residual)).collect();

        let StepReport { ascent, .. } = tv.step(&Task::new()).unwrap();
        let ascent = ascent.unwrap();
        let found: Vec<f64> =
            read_images(&mut tv).concat().iter().zip(&start).map(|(after, before)| (before - after) / ascent.step_size).collect();
        assert!(distance(&found, &gradient) < 1e-4, "slice {is_slice}: {:e}", distance(&found, &gradient));
        let (objective, expected) = (ascent.objective.unwrap().log_likelihood, -0.5 * dot(&residual, &residual));
        assert!((objective / expected - 1.0).abs() < 1e-4, "{objective} {expected}");
    }
}

#[test]
fn the_strength_is_that_of_the_mean_acquisition_and_the_largest_spectrum() {
    let grid = grid_about_zero([6, 5, 1], [0.4, 0.4, 1.0]).unwrap();
    let (first, own) = (sweep_of_noise(true, 24, 3.7), radicals(24, 0.05, [3.1, 7.3]));
    let (other, others) = other_acquisition(true);
    let settings = TvSettings { strength: Some(0.3), has_pyepri_iterates: true, ..TvSettings::default() };
    let tv = TotalVariation::new(Host, &first, &own, &grid, settings, TvImages::default()).unwrap();
    let mut tv = tv.with_experiments(&[experiment(&other, &others)]).unwrap();
    // The penalty of the start image, which is Σ|∇u| times λ′.
    let mut plain = TotalVariation::new(Host, &first, &own, &grid, settings, TvImages::default()).unwrap();
    plain = plain.with_experiments(&[experiment(&other, &others)]).unwrap();
    plain.set_tuning(tomoscope::recon::AscentTuning { strength: 0.6, ..plain.tuning().unwrap() });
    let penalty = |tv: &mut TotalVariation<Host>| tv.step(&Task::new()).unwrap().ascent.unwrap().objective.unwrap().penalty;
    let (once, twice) = (penalty(&mut tv), penalty(&mut plain));
    assert!((twice / once - 2.0).abs() < 1e-5, "{once} {twice}");

    // Σ|∇u| of the start image, from A*s by dense sums.
    let acquisitions = [(first, own), (other, others)];
    let columns = columns(&acquisitions, &grid);
    let data: Vec<f64> = acquisitions.iter().flat_map(|(sweep, _)| values(sweep)).collect();
    let of_data: Vec<f64> = columns.iter().map(|column| dot(column, &data)).collect();
    let variation = |image: &[f64]| {
        let scale = 1.0 / (0.16 * image.iter().sum::<f64>());
        let at = |x: usize, y: usize| scale * image[y * 6 + x];
        let length = |x: usize, y: usize| {
            let [dx, dy] = [(x < 5).then(|| at(x + 1, y) - at(x, y)), (y < 4).then(|| at(x, y + 1) - at(x, y))];
            dx.unwrap_or(0.0).hypot(dy.unwrap_or(0.0))
        };
        (0..30).map(|i| length(i % 6, i / 6)).sum::<f64>()
    };
    let variation: f64 = of_data.chunks_exact(30).map(variation).sum();
    // λ · max (max h − min h) · mean (P N/B)/2π · δ, of 5 projections over 23 · 0.05 mT, and 4 over 18 · 0.08 mT.
    let height = |radical: &Radical| {
        let fold = |pick: fn(f32, f32) -> f32, from| radical.spectrum.values.iter().copied().fold(from, pick);
        f64::from(fold(f32::max, f32::MIN) - fold(f32::min, f32::MAX))
    };
    let largest = acquisitions.iter().flat_map(|(_, radicals)| radicals).map(height).fold(0.0, f64::max);
    let densities = 5.0 * 24.0 / (23.0 * 0.05) + 4.0 * 19.0 / (18.0 * 0.08);
    let expected = 0.3 * largest * (0.5 * densities) / (2.0 * PI) * 0.4 * variation;
    assert!((once / expected - 1.0).abs() < 1e-4, "{once} {expected}");
}

#[test]
fn the_same_acquisition_twice_gives_the_image_of_half_the_strength() {
    // A*A, A*s and ½‖s‖² are twice those of one, and λ′, of the mean acquisition, is the same.
    let grid = grid_about_zero([8, 7, 1], [0.4, 0.4, 1.0]).unwrap();
    let (sweep, own) = (sweep_of_noise(true, 24, 3.7), radicals(24, 0.05, [3.1, 7.3]));
    let run = |strength: f64, experiments: &[Experiment]| {
        let settings = TvSettings { strength: Some(strength), tolerance: 1e-6, ..TvSettings::default() };
        let tv = TotalVariation::new(Host, &sweep, &own, &grid, settings, TvImages::default()).unwrap();
        converged(tv.with_experiments(experiments).unwrap()).0.concat()
    };
    let same = [experiment(&sweep, &own)];
    let (twice, once) = (run(0.02, &same), run(0.01, &[]));
    assert!(distance(&twice, &once) < 1e-4, "{:e}", distance(&twice, &once));
    assert!(distance(&run(0.02, &[]), &once) > 1e-2, "the strength changes the image");
}

#[test]
fn other_algorithms_and_growing_acquisitions_refuse_experiments() {
    let grid = grid_about_zero([6, 5, 1], [0.4, 0.4, 1.0]).unwrap();
    let (first, own) = (sweep_of_noise(true, 24, 3.7), radicals(24, 0.05, [3.1, 7.3]));
    let (other, others) = other_acquisition(true);
    let refusal = |algorithm: AlgorithmChoice, acquisition: Acquisition| {
        let (radicals, experiments) = (own.clone(), vec![experiment(&other, &others)]);
        let settings = RunSettings {
            inputs: RunInputs { radicals, experiments, ..RunInputs::default() },
            device: DeviceChoice::Cpu,
            ..RunSettings::new(algorithm, grid.clone())
        };
        let job = Job::of(&Study::new("noise", acquisition), settings);
        prepare(&job, &Task::new()).err()
    };
    let several = Some(SetupError::Settings(SetupProblem::Experiments));
    assert_eq!(refusal(AlgorithmChoice::TV, Acquisition::complete(first.clone())), None);
    assert_eq!(refusal(AlgorithmChoice::TV, Acquisition::growing(first.clone())), several.clone());
    assert_eq!(refusal(AlgorithmChoice::FBP, Acquisition::complete(first.clone())), several);
}

#[test]
fn experiments_that_do_not_go_with_the_first_acquisition_are_refused() {
    let grid = grid_about_zero([6, 5, 1], [0.4, 0.4, 1.0]).unwrap();
    let (first, own) = (sweep_of_noise(true, 24, 3.7), radicals(24, 0.05, [3.1, 7.3]));
    let (other, others) = other_acquisition(true);
    let refused = |experiment: Experiment, settings: TvSettings, radicals: &[Radical]| {
        let tv = TotalVariation::new(Host, &first, radicals, &grid, settings, TvImages::default()).unwrap();
        tv.with_experiments(&[experiment]).err().unwrap()
    };
    let problem = |sweep: &Sweep, radicals: &[Radical]| match refused(experiment(sweep, radicals), TvSettings::default(), &own) {
        ReconError::UnsuitableData(DataProblem::Experiment { file, problem }) if file == "other-proj.npy" => *problem,
        error => panic!("{error}"),
    };
    let volume = sweep_of_noise(false, 24, 3.7);
    let expected = ExperimentProblem::Space { found: SweepSpace::Volume, expected: first.space };
    assert_eq!(problem(&volume, &own), expected);
    let pulses = Sweep { kind: SweepKind::Pulse, ..other.clone() };
    assert_eq!(problem(&pulses, &others), ExperimentProblem::Kind { is_pulse: true });
    let (found, expected) = (vec!["a".to_owned()], vec!["a".to_owned(), "b".to_owned()]);
    assert_eq!(problem(&other, &others[..1]), ExperimentProblem::Radicals { found, expected });
    assert_eq!(problem(&other.without_projections(), &others), ExperimentProblem::NoProjections);
    let mut absurd = other.clone();
    absurd.projections[2] = Projection { values: vec![f32::NAN; 19].into(), ..absurd.projections[2].clone() };
    assert!(matches!(problem(&absurd, &others), ExperimentProblem::Data(DataProblem::Projection { index: 2, .. })));
    let zero = ReferenceSpectrum { values: vec![0.0; 19].into(), step_mt: 0.08 };
    let without_signal = [others[0].clone(), Radical { spectrum: zero, ..others[1].clone() }];
    assert!(matches!(problem(&other, &without_signal), ExperimentProblem::Data(DataProblem::Reference(_))));
    let spectrum = Some(SpectrumSettings { num_samples: 8, strength: 0.0 });
    let error = refused(experiment(&other, &[]), TvSettings { spectrum, ..TvSettings::default() }, &[]);
    assert_eq!(error, SettingsProblem::SpectraOfExperiments.into());
}

/// A file of the two acquisitions at other powers, and of PyEPRI's images.
fn powers(name: &str) -> PathBuf {
    tomoscope_support::in_repository("tests/data/epri-powers").join(format!("powers-{name}.npy"))
}

/// An acquisition at one of the two powers, with the spectra of both radicals.
fn at_power(number: usize) -> (Sweep, Vec<Radical>) {
    let sweep = read_sweep(&powers(&format!("{number}-proj")), None).unwrap().measured;
    let radical = |name: &str| {
        let spectrum = read_reference(&powers(&format!("{number}-h{name}"))).unwrap().0;
        Radical { name: name.to_owned(), spectrum }
    };
    (sweep, ["tam", "tempo"].map(radical).to_vec())
}

/// The discs of the object, per mm².
fn truth() -> [Vec<f64>; 2] {
    let disc = |i: usize, [x, y, radius]: [i32; 3]| {
        let [column, row] = [i as i32 % 24 - 12, i as i32 / 24 - 12];
        f64::from((column - x).pow(2) + (row - y).pow(2) <= radius * radius)
    };
    let tam = |i| disc(i, [-4, -2, 5]) + 0.5 * disc(i, [5, 5, 3]);
    [(0..576).map(tam).collect(), (0..576).map(|i| disc(i, [4, -1, 5])).collect()]
}

/// Converged images of an acquisition and further ones.
fn images_of(first: &(Sweep, Vec<Radical>), further: &[Experiment]) -> (Vec<Vec<f64>>, usize) {
    let grid = grid_about_zero([24, 24, 1], [0.5, 0.5, 1.0]).unwrap();
    let settings = TvSettings { strength: Some(0.005), has_pyepri_iterates: true, ..TvSettings::default() };
    let tv = TotalVariation::new(Host, &first.0, &first.1, &grid, settings, TvImages::default()).unwrap();
    converged(tv.with_experiments(further).unwrap())
}

#[test]
fn images_of_two_experiments_equal_those_of_pyepri() {
    let (second, radicals) = at_power(2);
    let (images, num_steps) = images_of(&at_power(1), &[experiment(&second, &radicals)]);
    for (image, name) in images.iter().zip(["tam", "tempo"]) {
        let expected: Vec<f64> = numpy::read(&powers(&format!("tv-{name}"))).iter().map(|v| f64::from(*v) / 100.0).collect();
        let found = distance(image, &expected);
        println!("{name}: {found:.2e} after {num_steps} steps");
        assert!(found < 1e-5, "{name}: {found:e} after {num_steps} steps");
    }
}

#[test]
fn two_experiments_separate_radicals_that_one_does_not() {
    let [first, second] = [1, 2].map(at_power);
    let errors =
        |images: &[Vec<f64>]| -> Vec<f64> { images.iter().zip(truth()).map(|(image, truth)| distance(image, &truth)).collect() };
    let both = errors(&images_of(&first, &[experiment(&second.0, &second.1)]).0);
    println!("both: {both:.3?}");
    for (name, alone) in [("first", &first), ("second", &second)] {
        // (Twice the same weighs as much as both.)
        let alone = errors(&images_of(alone, &[experiment(&alone.0, &alone.1)]).0);
        println!("{name} alone: {alone:.3?}");
        assert!(both[0] < 0.5 * alone[0] && both[1] < 0.8 * alone[1], "{name}: {both:?} {alone:?}");
    }
}
