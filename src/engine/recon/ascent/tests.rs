//! A problem of 24 data and 8 voxels, whose maxima were computed independently in double precision.

mod optimality;

use std::cell::Cell;
use std::ops::Range;
use std::sync::Arc;

use super::*;
use crate::algebra::{Backend as _, Data, Host, HostArray, Image, Voxels};
use crate::data::Volume;
use crate::geometry::Grid;
use crate::operator::{Accumulation, DataSpace, LinearOperator, OperatorError, Subset};
use crate::recon::{
    Additions, Algorithm, AlgorithmSpec, Bootstrap, Factors, Kappa, MeasuredValues, PairWeights, PenaltySpec, Potential, Prior,
    ProjectionModel, ReconError, SettingsProblem, StageTimes, StartImages, StepReport, SubsetOrder,
};
use crate::task::{Stopped, Task};

const NUM_DATA: usize = 24;
const NUM_VOXELS: usize = 8;
const COUNTS: [u8; NUM_DATA] = [21, 17, 14, 16, 14, 19, 21, 18, 5, 12, 19, 23, 16, 13, 18, 13, 18, 23, 17, 4, 14, 18, 22, 18];
const LIKELIEST: [f64; NUM_VOXELS] =
    [0.79380199, 1.80704467, 2.44905336, 3.41000883, 10.85461379, 5.94564292, 7.04970951, 7.62021276];
const PENALISED: [f64; NUM_VOXELS] =
    [3.59012000, 3.72906888, 3.78207026, 4.65563995, 4.44285237, 4.24818891, 5.24774955, 5.26662602];

thread_local! {
    /// Projections before one is stopped.
    static NUM_PROJECTIONS_LEFT: Cell<usize> = const { Cell::new(usize::MAX) };
}

/// A_ij = ((7 i + 3 j + i j) mod 11) / 10; subset s has every i with i mod n = s.
struct Dense;

impl Dense {
    fn element(i: usize, j: usize) -> f64 {
        ((7 * i + 3 * j + i * j) % 11) as f64 / 10.0
    }

    fn rows(subset: Subset) -> impl Iterator<Item = usize> {
        (subset.index..NUM_DATA).step_by(subset.count)
    }
}

impl DataSpace for Dense {
    fn max_subsets(&self) -> usize {
        NUM_DATA
    }

    fn len(&self, subset: Subset) -> usize {
        Self::rows(subset).count()
    }

    fn arranged(&self, values: &Arc<Vec<f32>>, num_subsets: usize) -> Arc<Vec<f32>> {
        Arc::new(Subset::all(num_subsets).flat_map(|subset| Self::rows(subset).map(|i| values[i])).collect())
    }

    fn in_order(&self, values: Vec<f32>) -> Vec<f32> {
        values
    }

    fn pieces(&self, subset: Subset) -> Vec<(usize, Range<usize>)> {
        crate::operator::one_after_the_other(self, subset)
    }
}

impl LinearOperator<Host> for Dense {
    fn apply(
        &self,
        _: &mut Host,
        subset: Subset,
        x: &HostArray<Image>,
        out: &mut HostArray<Data>,
        _: &Task,
    ) -> Result<(), OperatorError> {
        let left = NUM_PROJECTIONS_LEFT.get();
        NUM_PROJECTIONS_LEFT.set(left.checked_sub(1).ok_or(Stopped)?);
        for (out, i) in out.values_mut().iter_mut().zip(Self::rows(subset)) {
            *out = (0..NUM_VOXELS).map(|j| Self::element(i, j) * f64::from(x[j])).sum::<f64>() as f32;
        }
        Ok(())
    }

    fn adjoint(
        &self,
        _: &mut Host,
        subset: Subset,
        q: &HostArray<Data>,
        _: Accumulation,
        out: &mut HostArray<Image>,
        _: &Task,
    ) -> Result<(), OperatorError> {
        for (j, out) in out.values_mut().iter_mut().enumerate() {
            *out = Self::rows(subset).zip(q.iter()).map(|(i, q)| Self::element(i, j) * f64::from(*q)).sum::<f64>() as f32;
        }
        Ok(())
    }

    fn accumulations(&self) -> &'static [Accumulation] {
        Accumulation::OF_LINES
    }

    fn scratch_bytes(&self, _: Subset, _: Accumulation) -> u64 {
        0
    }
}

fn grid() -> Grid {
    Grid::centred([2, 2, 2], [2.0, 2.0, 3.0]).unwrap()
}

fn measured() -> MeasuredValues {
    MeasuredValues {
        prompts: Arc::new(COUNTS.map(f32::from).to_vec()),
        multiplicative: None,
        additive: Some(Factors::PerDatum(Arc::new(vec![0.5; NUM_DATA]))),
        bootstrap: None,
    }
}

fn model(num_subsets: usize) -> ProjectionModel<Host, Dense, Dense> {
    ProjectionModel::new(&mut Host, Dense, Dense, measured(), num_subsets).unwrap()
}

const PENALTY: PenaltySpec = PenaltySpec { strength: Some(0.5), epsilon: Some(0.01), kappa: Kappa::None, ..PenaltySpec::NONE };
const SETTINGS: SvrgSettings =
    SvrgSettings { step_sizes: StepSizes::Table, order: DrawOrder::Random, seed: 1, stores_gradients: true, tolerance: None };
const ADDITIONS: Additions = Additions {
    accumulation: Accumulation::Deterministic,
    sensitivity_accumulation: Accumulation::Deterministic,
    racy_sensitivity: false,
};

fn at(init: &Volume) -> StartImages<'_> {
    StartImages { init: Some(init), kappa: None }
}

fn begun(spec: AlgorithmSpec, start: Option<&Volume>) -> Box<dyn Algorithm> {
    begun_of(measured(), spec, start)
}

fn begun_of(values: MeasuredValues, spec: AlgorithmSpec, start: Option<&Volume>) -> Box<dyn Algorithm> {
    let model = ProjectionModel::new(&mut Host, Dense, Dense, values, 4).unwrap();
    crate::recon::algorithm(spec, Host, Voxels::whole(grid()), model, ADDITIONS, StartImages { init: start, kappa: None })
        .unwrap()
}

fn svrg(step_sizes: StepSizes, penalty: PenaltySpec, order: DrawOrder) -> Box<dyn Algorithm> {
    let method = AscentMethod::Svrg(SvrgSettings { step_sizes, order, ..SETTINGS });
    begun(AlgorithmSpec::Ascent { method, penalty }, Some(&Volume::filled(grid(), 3.0)))
}

fn run(algorithm: &mut dyn Algorithm, epochs: usize) -> Vec<StepReport> {
    (0..epochs * algorithm.num_subsets()).map(|_| algorithm.step(&Task::new()).unwrap()).collect()
}

/// The largest distance from an image, as a part of its largest value.
fn distance(algorithm: &mut dyn Algorithm, from: [f64; NUM_VOXELS]) -> f64 {
    let mut volume = Volume::filled(grid(), 0.0);
    algorithm.volume_into(&mut volume).unwrap();
    let largest = from.into_iter().fold(0.0, f64::max);
    volume.as_slice().iter().zip(from).map(|(x, expected)| (f64::from(*x) - expected).abs() / largest).fold(0.0, f64::max)
}

fn last_objective(reports: &[StepReport]) -> f64 {
    reports.iter().rev().find_map(|report| report.ascent.and_then(|ascent| ascent.objective)).unwrap().total()
}

#[test]
fn svrg_finds_the_maxima() {
    for order in [DrawOrder::Random, DrawOrder::Cofactor] {
        let mut algorithm = svrg(StepSizes::Constant(0.3), PENALTY, order);
        let reports = run(&mut *algorithm, 300);
        assert!(distance(&mut *algorithm, PENALISED) < 1e-5, "{order:?}: {}", distance(&mut *algorithm, PENALISED));
        assert!((last_objective(&reports) - 722.50681759).abs() < 1e-6 * 722.5, "{}", last_objective(&reports));
        let mut algorithm = svrg(StepSizes::Constant(0.3), PenaltySpec::NONE, order);
        let reports = run(&mut *algorithm, 3000);
        assert!(distance(&mut *algorithm, LIKELIEST) < 1e-4, "{order:?}: {}", distance(&mut *algorithm, LIKELIEST));
        assert!((last_objective(&reports) - 724.62996267).abs() < 1e-6 * 724.6, "{}", last_objective(&reports));
        assert!(reports.iter().all(|report| report.ascent.is_some_and(|ascent| ascent.num_halved == 0)));
    }
}

#[test]
fn steps_that_diverge_are_halved_until_they_climb() {
    let mut algorithm = svrg(StepSizes::Constant(3.0), PENALTY, DrawOrder::Random);
    let reports = run(&mut *algorithm, 600);
    let ascents: Vec<AscentReport> = reports.iter().filter_map(|report| report.ascent).collect();
    assert!(ascents.iter().any(|ascent| ascent.num_halved > 0 && ascent.step_size < 3.0));
    assert!(distance(&mut *algorithm, PENALISED) < 1e-4, "{}", distance(&mut *algorithm, PENALISED));
    // From anchor to anchor Φ does not fall.
    let values: Vec<f64> = ascents.iter().filter_map(|ascent| ascent.objective).map(ObjectiveValue::total).collect();
    assert!(values.windows(2).all(|pair| pair[1] >= pair[0] - 1e-6 * pair[0].abs()), "{values:?}");
    let mut table = svrg(StepSizes::Table, PENALTY, DrawOrder::Cofactor);
    run(&mut *table, 600);
    assert!(distance(&mut *table, PENALISED) < 1e-4, "{}", distance(&mut *table, PENALISED));
}

#[test]
fn bsrem_comes_near_the_maximum_as_its_steps_shrink() {
    let settings = BsremSettings { step_size: 1.0, relaxation: 0.05, subset_order: SubsetOrder::Sequential, tolerance: None };
    let spec = AlgorithmSpec::Ascent { method: AscentMethod::Bsrem(settings), penalty: PENALTY };
    let after = |iterations| {
        let mut algorithm = begun(spec, Some(&Volume::filled(grid(), 3.0)));
        run(&mut *algorithm, iterations);
        distance(&mut *algorithm, PENALISED)
    };
    let [early, late] = [after(50), after(4000)];
    assert!(late < 2e-3 && late < early, "{early} {late}");
}

#[test]
fn without_a_start_image_it_is_that_of_an_iteration_of_osem_and_every_run_has_the_same_bits() {
    let image = |algorithm: &mut dyn Algorithm| {
        let mut volume = Volume::filled(grid(), 0.0);
        algorithm.volume_into(&mut volume).unwrap();
        volume
    };
    let mut osem = begun(AlgorithmSpec::Em { subset_order: SubsetOrder::Spaced }, None);
    run(&mut *osem, 1);
    let start = image(&mut *osem);
    for method in [
        AscentMethod::Svrg(SvrgSettings {
            step_sizes: StepSizes::Table,
            order: DrawOrder::Random,
            seed: 7,
            stores_gradients: true,
            tolerance: None,
        }),
        AscentMethod::Bsrem(BsremSettings {
            step_size: 1.0,
            relaxation: 0.05,
            subset_order: SubsetOrder::Spaced,
            tolerance: None,
        }),
    ] {
        let spec = AlgorithmSpec::Ascent { method, penalty: PENALTY };
        let [first, second, after_osem] = [None, None, Some(&start)].map(|start| {
            let mut algorithm = begun(spec, start);
            run(&mut *algorithm, 5);
            image(&mut *algorithm)
        });
        assert_eq!(first, second);
        assert_eq!(first, after_osem);
    }
}

#[test]
fn a_penalty_has_what_is_not_given_from_the_start_image() {
    let spec = PenaltySpec { strength: Some(0.5), ..PenaltySpec::NONE };
    let potential = |spec: PenaltySpec| spec.from_start(20.0).map(|penalty| penalty.potential);
    assert_eq!(potential(spec), Some(Potential::RelativeDifference { gamma: 2.0, epsilon: 0.02 }));
    assert_eq!(potential(PenaltySpec { prior: Prior::LogCosh, ..spec }), Some(Potential::LogCosh { delta: 0.2 }));
    assert_eq!(potential(PenaltySpec { prior: Prior::Quadratic, ..spec }), Some(Potential::Quadratic));
    assert_eq!(potential(PenaltySpec::NONE), None);
}

#[test]
fn kappa_is_the_root_of_the_second_derivatives_times_one_at_the_start_image() {
    let spec = PenaltySpec { kappa: Kappa::Auto, ..PENALTY };
    let start = Volume::filled(grid(), 3.0);
    let mut objective = objective::Objective::new(Host, Voxels::whole(grid()), model(4), spec, ADDITIONS, at(&start)).unwrap();
    let (mut stages, task) = (StageTimes::default(), Task::new());
    objective.begin(&[0, 2, 1, 3], &mut stages, &task, |_, _, _| Ok(())).unwrap();
    objective.begin_penalty(&mut stages, &task).unwrap();
    let found = objective.kappa().unwrap();
    for j in 0..NUM_VOXELS {
        let of_datum = |i: usize| {
            let of_ones: f64 = (0..NUM_VOXELS).map(|k| Dense::element(i, k)).sum();
            let expected = 3.0 * of_ones + 0.5;
            Dense::element(i, j) * f64::from(COUNTS[i]) / (expected * expected) * of_ones
        };
        let expected = (0..NUM_DATA).map(of_datum).sum::<f64>().sqrt();
        assert!((f64::from(found.as_slice()[j]) - expected).abs() < 1e-6 * expected, "{j}: {expected}");
    }
}

/// An objective at the start image, with its penalty.
fn objective_at(
    start: &Volume,
    voxels: Voxels,
    num_subsets: usize,
) -> objective::Objective<Host, ProjectionModel<Host, Dense, Dense>, Voxels> {
    penalised_at(start, voxels, num_subsets, PENALTY)
}

fn penalised_at(
    start: &Volume,
    voxels: Voxels,
    num_subsets: usize,
    penalty: PenaltySpec,
) -> objective::Objective<Host, ProjectionModel<Host, Dense, Dense>, Voxels> {
    let mut objective = objective::Objective::new(Host, voxels, model(num_subsets), penalty, ADDITIONS, at(start)).unwrap();
    let (mut stages, task) = (StageTimes::default(), Task::new());
    let order: Vec<usize> = (0..num_subsets).collect();
    objective.begin(&order, &mut stages, &task, |_, _, _| Ok(())).unwrap();
    objective.begin_penalty(&mut stages, &task).unwrap();
    objective
}

/// y / ȳ and y / ȳ² of each datum at an image, with A 1.
fn ratios(x: &[f64]) -> Vec<[f64; 3]> {
    let of_datum = |i: usize| {
        let [expected, of_ones] =
            [x, &[1.0; NUM_VOXELS]].map(|x| (0..NUM_VOXELS).map(|j| Dense::element(i, j) * x[j]).sum::<f64>());
        let y = f64::from(COUNTS[i]);
        [y / (expected + 0.5), y / (expected + 0.5).powi(2), of_ones]
    };
    (0..NUM_DATA).map(of_datum).collect()
}

#[test]
fn the_preconditioner_bounds_the_second_derivatives_of_every_subset() {
    // With single data as subsets, too. A voxel begins at the floor.
    for num_subsets in [1, 4, 24] {
        let x: Vec<f64> = (0..NUM_VOXELS).map(|j| if j == 3 { 1e-7 } else { 0.5 * (j + 1) as f64 }).collect();
        let start = Volume::from_vec(grid(), x.iter().map(|x| *x as f32).collect(), Default::default()).unwrap();
        let mut objective = objective_at(&start, Voxels::whole(grid()), num_subsets);
        let mut scratch = scratch::Scratch::new(&mut objective).unwrap();
        let mut anchors = anchor::Anchors::new(&mut objective).unwrap();
        let purpose = anchor::Purpose { epoch: 0, next: 0, num_parts: num_subsets, has_momentum: true };
        anchors.renew(&mut objective, &mut scratch, purpose, &mut StageTimes::default(), &Task::new()).unwrap();
        let above = PENALTY.from_start(objective.largest()).unwrap().terms(&grid(), start.as_slice()).above;
        let ratios = ratios(&x);
        let lift = 0.1 * x.iter().map(|x| x * x).sum::<f64>() / x.iter().sum::<f64>();
        for j in 0..NUM_VOXELS {
            let subset = |s: usize| (s..NUM_DATA).step_by(num_subsets);
            let sensitivity: f64 = (0..NUM_DATA).map(|i| Dense::element(i, j)).sum::<f64>() / num_subsets as f64;
            let largest =
                |value: &dyn Fn(usize) -> f64| (0..num_subsets).map(|s| subset(s).map(value).sum::<f64>()).fold(0.0, f64::max);
            let of_image = largest(&|i| Dense::element(i, j) * ratios[i][0]).max(sensitivity);
            let of_ones = largest(&|i| Dense::element(i, j) * ratios[i][1] * ratios[i][2]);
            let v = x[j] + lift;
            let expected = v / (num_subsets as f64 * (of_image + lift * of_ones) + 2.0 * above[j] * v);
            let found = f64::from(anchors.preconditioner[j]);
            assert!((found - expected).abs() <= 1e-5 * expected, "{num_subsets} {j}: {found} {expected}");
            // (H_s v) / v is no larger, for all subsets.
            for s in 0..num_subsets {
                let product = |i: usize| {
                    let of_v: f64 = (0..NUM_VOXELS).map(|k| Dense::element(i, k) * (x[k] + lift)).sum();
                    Dense::element(i, j) * ratios[i][1] * of_v
                };
                let curvature = num_subsets as f64 * subset(s).map(product).sum::<f64>() / v + 2.0 * above[j];
                assert!(curvature * found <= 1.0 + 1e-5, "{num_subsets} {s} {j}: {}", curvature * found);
            }
        }
    }
}

#[test]
fn the_proposed_strength_gives_the_penalty_a_tenth_of_the_second_derivatives_of_the_data() {
    // (Quadratic, so that they are the same for all levels.)
    for kappa in [Kappa::Auto, Kappa::None, Kappa::File] {
        let spec = PenaltySpec { prior: Prior::Quadratic, strength: None, kappa, ..PENALTY };
        let start = Volume::filled(grid(), 3.0);
        let of_file = Arc::new(Volume::filled(grid(), 0.25));
        let images = StartImages { init: Some(&start), kappa: Some(&of_file) };
        let mut objective = objective::Objective::new(Host, Voxels::whole(grid()), model(4), spec, ADDITIONS, images).unwrap();
        let (mut stages, task) = (StageTimes::default(), Task::new());
        assert_eq!(objective.tuning().strength, 0.0);
        objective.begin(&[0, 2, 1, 3], &mut stages, &task, |_, _, _| Ok(())).unwrap();
        objective.begin_penalty(&mut stages, &task).unwrap();
        let strength = objective.tuning().strength;
        let weights = PairWeights::new(grid().voxel_mm);
        let sum_of_weights: f64 = PairWeights::steps().map(|step| weights.of(step)).sum();
        let hessian_sum = |j: usize| -> f64 {
            let of_datum = |i: usize| {
                let of_ones: f64 = (0..NUM_VOXELS).map(|k| Dense::element(i, k)).sum();
                Dense::element(i, j) * f64::from(COUNTS[i]) / (3.0 * of_ones + 0.5).powi(2) * of_ones
            };
            (0..NUM_DATA).map(of_datum).sum()
        };
        let mean = (0..NUM_VOXELS).map(hessian_sum).sum::<f64>() / NUM_VOXELS as f64;
        let expected = 0.1 / sum_of_weights * if kappa == Kappa::None { mean } else { 1.0 };
        assert!((strength - expected).abs() < 1e-6 * expected, "{kappa:?}: {strength} {expected}");
        match kappa {
            Kappa::File => assert_eq!(objective.kappa(), Some(&of_file)),
            Kappa::None => assert_eq!(objective.kappa(), None),
            Kappa::Auto => assert!(objective.kappa().is_some()),
        }
    }
    let spec = PenaltySpec { kappa: Kappa::File, ..PENALTY };
    let start = Volume::filled(grid(), 3.0);
    let mut algorithm = begun(AlgorithmSpec::Ascent { method: AscentMethod::Svrg(SETTINGS), penalty: spec }, Some(&start));
    let refused = algorithm.step(&Task::new()).unwrap_err();
    assert!(matches!(refused, ReconError::UnsuitableSettings(SettingsProblem::NoKappa)), "{refused:?}");
}

/// SVRG whose β changes before one of the steps.
fn with_change(at: usize, from: f64, to: f64) -> (Box<dyn Algorithm>, Vec<AscentReport>) {
    let penalty = PenaltySpec { strength: Some(from), ..PENALTY };
    let mut algorithm = svrg(StepSizes::Constant(0.3), penalty, DrawOrder::Random);
    let steps = (0..1200).map(|step| {
        if step == at {
            let tuning = AscentTuning { strength: to, ..algorithm.tuning().unwrap() };
            algorithm.set_tuning(tuning);
        }
        algorithm.step(&Task::new()).unwrap().ascent.unwrap()
    });
    let reports = steps.collect();
    (algorithm, reports)
}

#[test]
fn another_strength_during_a_run_leads_to_its_own_maximum_without_a_pass_or_halved_steps() {
    // Before, at and after an anchor, and late, where the old maximum is reached.
    for at in [0, 1, 5, 6, 7, 8, 9, 400, 403, 405, 407] {
        for from in [0.0, 0.05, 5.0] {
            let (mut algorithm, reports) = with_change(at, from, 0.5);
            assert!(distance(&mut *algorithm, PENALISED) < 1e-5, "{at} {from}: {}", distance(&mut *algorithm, PENALISED));
            assert!(
                reports.iter().all(|ascent| ascent.num_halved == 0),
                "steps were halved after a change at step {at} from {from}"
            );
            let passes: Vec<usize> = (0..1200).filter(|step| reports[*step].objective.is_some()).collect();
            assert!(passes.iter().eq((0..1200).step_by(8).collect::<Vec<_>>().iter()), "{passes:?}");
            assert!(reports.iter().enumerate().all(|(step, ascent)| (ascent.tuning.strength == 0.5) == (step >= at)));
        }
    }
}

#[test]
fn steps_have_the_factor_that_is_set_during_a_run() {
    for method in [
        AscentMethod::Svrg(SvrgSettings {
            step_sizes: StepSizes::Constant(0.3),
            order: DrawOrder::Random,
            seed: 1,
            stores_gradients: true,
            tolerance: None,
        }),
        AscentMethod::Bsrem(BsremSettings {
            step_size: 0.3,
            relaxation: 0.0,
            subset_order: SubsetOrder::Spaced,
            tolerance: None,
        }),
    ] {
        let spec = AlgorithmSpec::Ascent { method, penalty: PENALTY };
        let mut algorithm = begun(spec, Some(&Volume::filled(grid(), 3.0)));
        run(&mut *algorithm, 1);
        algorithm.set_tuning(AscentTuning { step_factor: 0.5, ..algorithm.tuning().unwrap() });
        let report = algorithm.step(&Task::new()).unwrap().ascent.unwrap();
        assert!((report.step_size - 0.15).abs() < 1e-12, "{report:?}");
    }
    assert_eq!(begun(AlgorithmSpec::Em { subset_order: SubsetOrder::Spaced }, None).tuning(), None);
}

#[test]
fn steps_by_barzilai_and_borwein_are_those_of_the_curvature_between_two_anchors() {
    let rule = StepSizes::BarzilaiBorwein { first: 4.0 };
    let mut algorithm = svrg(rule, PENALTY, DrawOrder::Random);
    let sizes: Vec<f64> = run(&mut *algorithm, 300).iter().map(|report| report.ascent.unwrap().step_size).collect();
    // Four subsets, an anchor every second epoch: the first size until the second anchor, then one for each stretch.
    assert!(sizes[..8].iter().all(|size| *size == 4.0), "{:?}", &sizes[..8]);
    assert!(sizes.chunks(8).all(|stretch| stretch.iter().all(|size| *size == stretch[0])));
    assert!(
        sizes.iter().all(|size| *size > 0.0 && *size <= 4.0) && sizes[8] < 4.0 && sizes[16] != sizes[8],
        "{:?}",
        &sizes[..24]
    );
    assert!(distance(&mut *algorithm, PENALISED) < 1e-5, "{}", distance(&mut *algorithm, PENALISED));
}

#[test]
fn a_start_image_has_its_level_at_any_size_of_the_factors() {
    // (Powers of two change no bit of a number but its exponent.)
    let image = |factor: f32, spec| {
        let factors = Factors::PerDatum(Arc::new(vec![factor; NUM_DATA]));
        let mut algorithm = begun_of(MeasuredValues { multiplicative: Some(factors), ..measured() }, spec, None);
        run(&mut *algorithm, 2);
        bits(&mut *algorithm, None, factor)
    };
    for method in METHODS {
        let spec = AlgorithmSpec::Ascent { method, penalty: PenaltySpec::NONE };
        let usual = image(1.0, spec);
        assert!([30, -30].iter().all(|&power| image(2f32.powi(power), spec) == usual), "{method:?}");
    }
}

const METHODS: [AscentMethod; 3] = [
    AscentMethod::Svrg(SvrgSettings { step_sizes: StepSizes::Constant(2.0), ..SETTINGS }),
    AscentMethod::Svrg(SvrgSettings { step_sizes: StepSizes::BarzilaiBorwein { first: 1.0 }, ..SETTINGS }),
    AscentMethod::Bsrem(BsremSettings { step_size: 1.0, relaxation: 0.05, subset_order: SubsetOrder::Spaced, tolerance: None }),
];
const BOOTSTRAP: Bootstrap = Bootstrap { num: 3, seed: 4, share: 1.0 };

/// The bits of the image of the run or of a replicate, times a factor.
fn bits(algorithm: &mut dyn Algorithm, replicate: Option<usize>, factor: f32) -> Vec<u32> {
    let mut volume = Volume::filled(grid(), 0.0);
    match replicate {
        None => algorithm.volume_into(&mut volume).unwrap(),
        Some(replicate) => algorithm.replicate_into(replicate, &mut volume).unwrap(),
    }
    volume.as_slice().iter().map(|value| (factor * value).to_bits()).collect()
}

#[test]
fn a_replicate_is_the_run_of_its_own_counts_with_the_same_penalty_and_start_image() {
    let start = Volume::filled(grid(), 3.0);
    // (Of another strength from the tenth step on.)
    let run = |values: MeasuredValues, method| {
        let mut algorithm = begun_of(values, AlgorithmSpec::Ascent { method, penalty: PENALTY }, Some(&start));
        for step in 0..23 {
            if step == 10 {
                let tuning = AscentTuning { strength: 0.2, gamma: 1.0, ..algorithm.tuning().unwrap() };
                algorithm.set_tuning(tuning);
            }
            algorithm.step(&Task::new()).unwrap();
        }
        algorithm
    };
    for method in METHODS {
        let with_replicates = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| {
                let mut carrying = run(MeasuredValues { bootstrap: Some(BOOTSTRAP), ..measured() }, method);
                assert_eq!(carrying.num_replicates(), 3);
                [None, Some(0), Some(1), Some(2)].map(|replicate| bits(&mut *carrying, replicate, 1.0))
            })
        };
        let found = with_replicates(1);
        assert_eq!(found, with_replicates(4), "{method:?}");
        assert_eq!(found[0], bits(&mut *run(measured(), method), None, 1.0), "{method:?}");
        for replicate in 0..3 {
            let own = Arc::new(BOOTSTRAP.replicate(replicate, &COUNTS.map(f32::from)));
            let mut own = run(MeasuredValues { prompts: own, ..measured() }, method);
            assert_eq!(found[replicate + 1], bits(&mut *own, None, 1.0), "{method:?}, {replicate}");
            assert_ne!(found[replicate + 1], found[0]);
        }
    }
}

#[test]
fn gradients_that_are_computed_again_have_the_bits_of_stored_ones() {
    for step_sizes in [StepSizes::Constant(3.0), StepSizes::BarzilaiBorwein { first: 1.0 }] {
        let images = [true, false].map(|stores_gradients| {
            let method = AscentMethod::Svrg(SvrgSettings { step_sizes, stores_gradients, ..SETTINGS });
            let values = MeasuredValues { bootstrap: Some(BOOTSTRAP), ..measured() };
            let mut algorithm = begun_of(values, AlgorithmSpec::Ascent { method, penalty: PENALTY }, None);
            let reports = run(&mut *algorithm, 9);
            let images = [None, Some(0), Some(2)].map(|replicate| bits(&mut *algorithm, replicate, 1.0));
            (images, reports.iter().map(|report| report.ascent.unwrap()).collect::<Vec<_>>())
        });
        assert_eq!(images[0], images[1], "{step_sizes:?}");
    }
}

#[test]
fn a_replicate_without_a_start_image_begins_at_that_of_its_own_counts() {
    for method in METHODS {
        let spec = AlgorithmSpec::Ascent { method, penalty: PENALTY };
        let mut carrying = begun_of(MeasuredValues { bootstrap: Some(BOOTSTRAP), ..measured() }, spec, None);
        // All that comes before the first step, which the objective of an image asks for.
        carrying.objective(&Task::new()).unwrap();
        for replicate in 0..3 {
            let own = Arc::new(BOOTSTRAP.replicate(replicate, &COUNTS.map(f32::from)));
            let osem = AlgorithmSpec::Em { subset_order: SubsetOrder::Spaced };
            let mut osem = begun_of(MeasuredValues { prompts: own, ..measured() }, osem, None);
            run(&mut *osem, 1);
            assert_eq!(bits(&mut *carrying, Some(replicate), 1.0), bits(&mut *osem, None, 1.0), "{method:?}");
        }
    }
}

#[test]
fn replicates_catch_up_after_an_interruption() {
    let start = Volume::filled(grid(), 3.0);
    let begin = |method| {
        let values = MeasuredValues { bootstrap: Some(BOOTSTRAP), ..measured() };
        begun_of(values, AlgorithmSpec::Ascent { method, penalty: PENALTY }, Some(&start))
    };
    for (method, num_projections) in METHODS.into_iter().flat_map(|method| [0, 1, 2, 5, 7, 13].map(|num| (method, num))) {
        let [mut whole, mut interrupted] = [begin(method), begin(method)];
        run(&mut *whole, 5);
        // Where SVRG has its next anchor.
        run(&mut *interrupted, 4);
        NUM_PROJECTIONS_LEFT.set(num_projections);
        let is_stopped = interrupted.step(&Task::new()).is_err();
        NUM_PROJECTIONS_LEFT.set(usize::MAX);
        // (BSREM has one projection of each image.)
        assert!(is_stopped || num_projections >= 4);
        while interrupted.step(&Task::new()).unwrap().iteration < 5 {}
        for replicate in [None, Some(0), Some(1), Some(2)] {
            let [expected, found] = [&mut whole, &mut interrupted].map(|algorithm| bits(&mut **algorithm, replicate, 1.0));
            assert_eq!(expected, found, "{method:?}, {num_projections} projections, {replicate:?}");
        }
        assert_eq!(interrupted.num_replicates(), 3);
    }
}
