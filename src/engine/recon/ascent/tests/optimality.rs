//! The distance of an image from the maximum, and the part of the data that it explains.

use super::*;
use crate::recon::Explained;
use crate::recon::ascent::optimality::optimality;

/// An image after whole iterations, and its residual.
fn image_after(epochs: usize) -> (Optimality, Volume) {
    let mut algorithm = svrg(StepSizes::Table, PENALTY, DrawOrder::Random);
    run(&mut *algorithm, epochs);
    let mut volume = Volume::filled(grid(), 0.0);
    algorithm.volume_into(&mut volume).unwrap();
    (algorithm.optimality(&Task::new()).unwrap().unwrap(), volume)
}

/// The residual of an image with a penalty; by the program, and by its formula by many plain steps.
fn residuals(image: &Volume, penalty: PenaltySpec) -> [f64; 2] {
    let mut objective = penalised_at(image, Voxels::whole(grid()), 4, penalty);
    let curvature = objective.data_curvature(&mut StageTimes::default(), &Task::new()).unwrap();
    let x: Vec<f64> = objective.x.iter().map(|x| f64::from(*x)).collect();
    let ratios = ratios(&x);
    let sum = |j: usize, value: &dyn Fn(usize) -> f64| -> f64 { (0..NUM_DATA).map(|i| Dense::element(i, j) * value(i)).sum() };
    let of_data: Vec<f64> = (0..NUM_VOXELS).map(|j| sum(j, &|i| ratios[i][0] - 1.0)).collect();
    let divisor: Vec<f64> = (0..NUM_VOXELS).map(|j| sum(j, &|i| ratios[i][1] * ratios[i][2])).collect();
    let mean = divisor.iter().sum::<f64>() / NUM_VOXELS as f64;
    let largest = x.iter().fold(0.0f64, |largest, x| largest.max(*x));
    let terms_at = |z: &[f64]| penalty.from_start(objective.largest()).map(|penalty| penalty.terms(&grid(), z));
    let mut z = x.clone();
    for _ in 0..5_000 {
        let terms = terms_at(&z);
        for j in 0..NUM_VOXELS {
            let d = divisor[j] + 1e-3 * mean;
            let [slope, above] = terms.as_ref().map_or([0.0; 2], |terms| [terms.gradient[j], terms.above[j]]);
            z[j] = (z[j] + (of_data[j] + d * (x[j] - z[j]) - slope) / (d + 2.0 * above)).max(1e-7 * largest);
        }
    }
    let expected = z.iter().zip(&x).fold(0.0f64, |largest, (z, x)| largest.max((z - x).abs())) / largest;
    let mut scratch = scratch::Scratch::new(&mut objective).unwrap();
    let gradient = objective.backend.upload(Arc::new(of_data.iter().map(|value| *value as f32).collect())).unwrap();
    let found = optimality(&mut objective, &gradient, &curvature.sum, &mut scratch).unwrap();
    assert!(objective.x.iter().zip(&x).all(|(after, before)| f64::from(*after) == *before), "the image stays");
    [found, expected]
}

#[test]
fn the_optimality_residual_is_its_formula() {
    let (far, _) = image_after(1);
    let (near, maximum) = image_after(100);
    assert!(near.has_converged() && near.0 < 2e-6 && far.0 > 30.0 * near.0, "{far:?} {near:?}");
    for at_floor in [1, 4] {
        let mut image = maximum.clone();
        image.as_mut_slice()[..at_floor].fill(0.0);
        // Without a penalty the step has a closed form. A strength of 50 is stronger than all data.
        for (strength, at_most) in [(0.0, 1.0), (0.5, 1.2), (50.0, 1.2)] {
            let [found, expected] = residuals(&image, PenaltySpec { strength: Some(strength), ..PENALTY });
            println!("{at_floor} at the floor, strength {strength}: {found} {expected}");
            let ratio = found / expected;
            assert!(
                ratio > 0.9999 / at_most && ratio < 1.0001 * at_most && found > 0.01,
                "{at_floor} {strength}: {found} {expected}"
            );
        }
    }
}

#[test]
fn no_strength_hides_a_common_error_or_inflates_a_single_one() {
    let (_, maximum) = image_after(100);
    let of_largest = |part: f32| {
        let mut image = maximum.clone();
        image.as_mut_slice().fill(part * maximum.range().1);
        image
    };
    for strength in [0.5, 50.0, 5e3, 5e5] {
        let penalty = PenaltySpec { strength: Some(strength), ..PENALTY };
        // The penalty of a uniform image is 0: half of its counts.
        let [common, _] = residuals(&of_largest(0.3), penalty);
        // One voxel among others that are almost 0 goes to them: at most its own value.
        let mut image = of_largest(1e-6);
        image.as_mut_slice()[0] = maximum.range().1;
        let [single, expected] = residuals(&image, penalty);
        println!("strength {strength}: common {common}, single {single} ({expected})");
        assert!(common > 0.05 && single > 0.05 && single < 3.0 * expected.max(1.0), "{strength}: {common} {single} {expected}");
    }
}

#[test]
fn values_that_are_no_numbers_fail_the_run_by_name() {
    let mut kappa = Volume::filled(grid(), 1.0);
    kappa.as_mut_slice()[2] = f32::NAN;
    let start = Volume::filled(grid(), 3.0);
    let kappas = [kappa, Volume::filled(grid(), 0.0)].map(Arc::new);
    for method in METHODS {
        let spec = AlgorithmSpec::Ascent { method, penalty: PenaltySpec { kappa: Kappa::File, ..PENALTY } };
        for kappa in &kappas {
            let images = StartImages { init: Some(&start), kappa: Some(kappa) };
            let refused = crate::recon::algorithm(spec, Host, Voxels::whole(grid()), model(4), ADDITIONS, images).err().unwrap();
            assert!(matches!(refused, ReconError::UnsuitableSettings(SettingsProblem::UnusableKappa)), "{refused:?}");
        }
        // Of a correction.
        let values = MeasuredValues { multiplicative: Some(Factors::PerDatum(Arc::new(vec![f32::NAN; NUM_DATA]))), ..measured() };
        let mut algorithm = begun_of(values, AlgorithmSpec::Ascent { method, penalty: PENALTY }, Some(&start));
        let refused = algorithm.step(&Task::new()).unwrap_err();
        assert!(matches!(refused, ReconError::NotFinite(_)), "{refused:?}");
    }
}

#[test]
fn a_start_image_in_another_unit_is_refused() {
    for method in METHODS {
        for (level, is_refused) in [(3.0, false), (0.0, false), (3e4, true), (3e-4, true)] {
            let start = Volume::filled(grid(), level);
            let spec = AlgorithmSpec::Ascent { method, penalty: PENALTY };
            let images = StartImages { init: Some(&start), kappa: None };
            let mut algorithm = crate::recon::algorithm(spec, Host, Voxels::whole(grid()), model(4), ADDITIONS, images).unwrap();
            let refused = algorithm.step(&Task::new()).err();
            let is_level = matches!(&refused, Some(ReconError::UnsuitableSettings(SettingsProblem::StartImageLevel { .. })));
            assert_eq!(is_level, is_refused, "{level}: {refused:?}");
        }
    }
}

#[test]
fn a_run_ends_at_its_tolerance() {
    let tolerance = Some(1e-3);
    let svrg = AscentMethod::Svrg(SvrgSettings { tolerance, ..SETTINGS });
    let bsrem = BsremSettings { step_size: 1.0, relaxation: 0.05, subset_order: SubsetOrder::Spaced, tolerance };
    for method in [svrg, AscentMethod::Bsrem(bsrem)] {
        let mut algorithm = begun(AlgorithmSpec::Ascent { method, penalty: PENALTY }, Some(&Volume::filled(grid(), 3.0)));
        let reports: Vec<StepReport> =
            std::iter::from_fn(|| algorithm.converged().is_none().then(|| algorithm.step(&Task::new()).unwrap()))
                .take(4000)
                .collect();
        let residuals: Vec<f64> =
            reports.iter().filter_map(|report| report.ascent?.optimality).map(|residual| residual.0).collect();
        let (last, before) = residuals.split_last().unwrap();
        assert!(*last <= 1e-3 && before.len() > 1 && before.iter().all(|residual| *residual > 1e-3), "{method:?}: {residuals:?}");
    }
}

#[test]
fn an_image_of_a_penalised_likelihood_reports_the_part_of_the_data_that_it_explains() {
    for method in METHODS {
        let mut algorithm = begun(AlgorithmSpec::Ascent { method, penalty: PENALTY }, Some(&Volume::filled(grid(), 3.0)));
        run(&mut *algorithm, 100);
        let mut volume = Volume::filled(grid(), 0.0);
        algorithm.volume_into(&mut volume).unwrap();
        let column = |j: usize| (0..NUM_DATA).map(|i| Dense::element(i, j)).sum::<f64>();
        let image: f64 = (0..NUM_VOXELS).map(|j| column(j) * f64::from(volume.as_slice()[j])).sum();
        let found = algorithm.explained(&Task::new()).unwrap().unwrap();
        let Explained::Counts { image: found, additive, measured } = found else { panic!("{found:?}") };
        assert!((found - image).abs() < 1e-5 * image, "{method:?}: {found} {image}");
        assert_eq!((additive, measured), (0.5 * NUM_DATA as f64, COUNTS.iter().map(|y| f64::from(*y)).sum()));
    }
}
