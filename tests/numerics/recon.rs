//! MLEM and OSEM against a dense-matrix reference in f64 and against their conservation laws.

use std::sync::{Arc, Mutex};

use strum::VariantArray as _;
use tomoscope::algebra::{Data, Host, HostArray, Image};
use tomoscope::data::{Counts, Michelogram, Volume};
use tomoscope::geometry::Grid;
use tomoscope::operator::{Accumulation, AxialRuns, LinearOperator, OperatorError, Siddon, Subset, ViewProjector};
use tomoscope::phantom::{self, SimulationOptions};
use tomoscope::recon::{
    Algorithm, DataProblem, EmSettings, MlemOsem, ProjectionModel, ReconError, SubsetOrder, check_poisson_data,
};
use tomoscope::scanner::{ScanGeometry, find};
use tomoscope::task::Task;

use super::nothing_lost::Reference;
use super::support::{backward, forward, noise, random_volume, relative, tiny};

const FOV_MM: f64 = 34.0;

fn grid() -> Grid {
    Grid::centred([13, 13, 7], [5.5, 5.5, 3.0]).unwrap()
}

fn settings(accumulation: Accumulation) -> EmSettings {
    EmSettings {
        subset_order: SubsetOrder::Sequential,
        accumulation,
        sensitivity_accumulation: Accumulation::Deterministic,
        racy_sensitivity: false,
    }
}

fn algorithm<A: ViewProjector<Host> + 'static>(projector: A, study: &Counts, num_subsets: usize) -> impl Algorithm + use<A> {
    starting_at(projector, study, num_subsets, None)
}

fn starting_at<A: ViewProjector<Host> + 'static>(
    projector: A,
    study: &Counts,
    num_subsets: usize,
    start: Option<&Volume>,
) -> impl Algorithm + use<A> {
    let (voxels, views) = (projector.voxels().clone(), projector.views().clone());
    let model = ProjectionModel::new(&mut Host, projector, views, study, num_subsets).unwrap();
    MlemOsem::new(Host, voxels, model, settings(Accumulation::Deterministic), start).unwrap()
}

fn fast(geometry: &Arc<ScanGeometry>) -> AxialRuns {
    AxialRuns::new(Arc::clone(geometry), grid(), FOV_MM, [1, 1]).unwrap()
}

fn data(geometry: &Arc<ScanGeometry>, seed: u32, scale: f32, offset: f32) -> Michelogram {
    let values = noise(seed, geometry.num_bins()).iter().map(|v| scale * v + offset).collect();
    Michelogram::new(Arc::clone(geometry), values).unwrap()
}

/// Counts like those of a scan: each bin a whole number near the projection of a random image.
fn counts(geometry: &Arc<ScanGeometry>) -> Michelogram {
    let expected = forward(&fast(geometry), Subset::ALL, &random_volume(&grid()));
    let values = expected.iter().zip(noise(21, expected.len())).map(|(e, u)| (0.5 * e + 0.3 * u).round()).collect();
    Michelogram::new(Arc::clone(geometry), values).unwrap()
}

fn image(algorithm: &mut impl Algorithm) -> Volume {
    let mut volume = Volume::filled(grid(), 0.0);
    algorithm.volume_into(&mut volume).unwrap();
    volume
}

#[test]
fn mlem_is_the_dense_reference() {
    let geometry = tiny(4);
    let corrected = Counts::new(counts(&geometry))
        .with_corrections(Some(data(&geometry, 31, 0.5, 0.3)), Some(data(&geometry, 32, 2.0, 0.1)))
        .unwrap();
    for (name, counts) in [("plain", Counts::new(counts(&geometry))), ("corrected", corrected)] {
        let reference: Vec<f32> = Reference::new(&geometry, &grid(), FOV_MM).osem(&counts, 1, 6);
        let mut plain = algorithm(Siddon::new(Arc::clone(&geometry), grid(), FOV_MM, [1, 1]), &counts, 1);
        let mut quick = algorithm(fast(&geometry), &counts, 1);
        for _ in 0..6 {
            plain.step(&Task::new()).unwrap();
            quick.step(&Task::new()).unwrap();
        }
        let errors = [relative(image(&mut plain).as_slice(), &reference), relative(image(&mut quick).as_slice(), &reference)];
        println!("{name}: per LOR {:.1e}, axial runs {:.1e}", errors[0], errors[1]);
        assert!(errors.iter().all(|e| *e <= 1e-5));
    }
}

#[test]
fn mlem_keeps_the_counts_and_the_likelihood_never_falls() {
    let geometry = tiny(4);
    let study = Counts::new(counts(&geometry));
    let sensitivity =
        backward(&fast(&geometry), Subset::ALL, vec![1.0; geometry.num_bins()], Accumulation::Deterministic, &grid());
    let crossed = forward(&fast(&geometry), Subset::ALL, &Volume::filled(grid(), 1.0));
    let counts: f64 = study.prompts.counts.iter().zip(&crossed).filter(|(_, c)| **c > 0.0).map(|(y, _)| f64::from(*y)).sum();
    let mut mlem = algorithm(fast(&geometry), &study, 1);
    let mut likelihood = f64::NEG_INFINITY;
    for iteration in 1..=30 {
        let report = mlem.step(&Task::new()).unwrap();
        let kept: f64 =
            sensitivity.as_slice().iter().zip(image(&mut mlem).as_slice()).map(|(s, x)| f64::from(*s) * f64::from(*x)).sum();
        assert!((kept - counts).abs() <= 1e-5 * counts, "iteration {iteration}: {kept} of {counts} counts");
        let now = report.em.unwrap().log_likelihood.unwrap();
        assert!(now >= likelihood - 1e-6 * now.abs(), "iteration {iteration}: {now} after {likelihood}");
        likelihood = now;
        assert!(report.completes_iteration && report.iteration == iteration);
    }
}

#[test]
fn the_residual_is_that_of_the_image_before_the_step() {
    let geometry = tiny(4);
    let study = Counts::new(counts(&geometry));
    let mut osem = algorithm(fast(&geometry), &study, 2);
    // (The first step gives the start image its counts.)
    osem.step(&Task::new()).unwrap();
    let mut before = image(&mut osem);
    for step in 1..4 {
        let report = osem.step(&Task::new()).unwrap();
        let subset = Subset { index: report.subset, count: 2 };
        let projector = fast(&geometry);
        let expected = forward(&projector, Subset::ALL, &before);
        let (mut squares, mut sum) = (0.0, 0.0);
        let len = geometry.num_tangential * geometry.planes().len();
        for (index, (y, e)) in study.prompts.counts.iter().zip(&expected).enumerate() {
            if (index / len) % subset.count == subset.index {
                squares += (f64::from(*y) - f64::from(*e)).powi(2);
                sum += f64::from(*e);
            }
        }
        let found = report.em.unwrap().residual.unwrap();
        assert!(
            (found.squares - squares).abs() < 1e-5 * squares && (found.expected - sum).abs() < 1e-5 * sum,
            "step {step}: {found:?}"
        );
        before = image(&mut osem);
    }
}

#[test]
fn osem_with_one_subset_is_mlem_and_more_subsets_are_faster() {
    let geometry = tiny(4);
    let study = Counts::new(counts(&geometry));
    let likelihood_after = |num_subsets: usize, num_iterations: usize| {
        let mut osem = algorithm(fast(&geometry), &study, num_subsets);
        for _ in 0..num_subsets * num_iterations {
            osem.step(&Task::new()).unwrap();
        }
        let start = image(&mut osem);
        let mut all = starting_at(fast(&geometry), &study, 1, Some(&start));
        (all.step(&Task::new()).unwrap().em.unwrap().log_likelihood.unwrap(), start)
    };
    let (mlem, image_mlem) = likelihood_after(1, 2);
    let (again, image_again) = likelihood_after(1, 2);
    assert!(mlem.to_bits() == again.to_bits() && image_mlem == image_again, "the same run gives the same bits");
    let reference: Vec<f32> = Reference::new(&geometry, &grid(), FOV_MM).osem(&study, 1, 2);
    assert!(relative(image_mlem.as_slice(), &reference) <= 1e-5, "one subset is MLEM");
    let (osem, _) = likelihood_after(4, 2);
    assert!(osem > mlem, "four subsets climb further in two iterations: {osem} against {mlem}");
}

#[test]
fn subsets_that_hardly_see_a_voxel_do_not_break_it() {
    // Two views a subset: past many voxels no line runs, and single precision leaves some rounding there, above or below 0.
    let geometry = Arc::new(find("prt-1").unwrap().geometry.clone());
    let phantom = phantom::by_name("cylinder", &geometry).unwrap();
    let options = SimulationOptions { counts: 1e5, ..SimulationOptions::default() };
    let study = phantom::simulate(&phantom, Arc::clone(&geometry), &options, &Task::new()).unwrap().measured;
    let grid = geometry.default_grid().unwrap();
    let projector = AxialRuns::new(Arc::clone(&geometry), grid.clone(), grid.inscribed_radius_mm(), [1, 1]).unwrap();
    let mut osem = algorithm(projector, &study, 48);
    for _ in 0..96 {
        osem.step(&Task::new()).unwrap();
    }
    let mut volume = Volume::filled(grid, 0.0);
    osem.volume_into(&mut volume).unwrap();
    assert!(volume.as_slice().iter().all(|value| value.is_finite() && *value >= 0.0));
    assert!(volume.sum() > 0.0);
}

#[test]
fn what_cannot_be_seen_stays_zero_and_impossible_counts_are_counted() {
    let geometry = tiny(4);
    let ones = Michelogram::new(Arc::clone(&geometry), vec![1.0; geometry.num_bins()]).unwrap();
    let narrow = || AxialRuns::new(Arc::clone(&geometry), grid(), 20.0, [1, 1]).unwrap();
    let mut mlem = algorithm(narrow(), &Counts::new(ones), 1);
    let report = mlem.step(&Task::new()).unwrap();
    let missed = forward(&narrow(), Subset::ALL, &Volume::filled(grid(), 1.0)).iter().filter(|v| **v == 0.0).count();
    assert!(missed > 0 && report.em.unwrap().num_unexplained_bins == missed);
    let volume = image(&mut mlem);
    let corner = volume.values[[3, 0, 0]];
    let middle = volume.values[[3, 6, 6]];
    assert!(corner == 0.0 && middle > 0.0 && volume.as_slice().iter().all(|v| v.is_finite()));
}

#[test]
fn data_that_a_poisson_likelihood_cannot_explain_is_refused() {
    let geometry = tiny(2);
    let with = |index: usize, value: f32| {
        let mut values = vec![1.0; geometry.num_bins()];
        values[index] = value;
        check_poisson_data(&Counts::new(Michelogram::new(Arc::clone(&geometry), values).unwrap()))
    };
    assert!(with(0, 0.0).is_ok());
    assert_eq!(with(4, -2.0), Err(DataProblem::Bin { name: "measured data", value: -2.0, bin: (0, 1, 0) }.into()));
    for value in [f32::NAN, f32::INFINITY] {
        let is_bin = |problem: &DataProblem| matches!(problem, DataProblem::Bin { value: found, .. } if !found.is_finite());
        let error = with(3, value).unwrap_err();
        assert!(matches!(&error, ReconError::UnsuitableData(problem) if is_bin(problem)), "{error:?}");
    }
    let nothing = Michelogram::new(Arc::clone(&geometry), vec![0.0; geometry.num_bins()]).unwrap();
    assert_eq!(check_poisson_data(&Counts::new(nothing)), Err(DataProblem::NoCounts.into()));
}

/// A projector whose race loses a known part of every addition.
struct Lossy(AxialRuns);

const LOST: f32 = 0.125;

impl LinearOperator<Host> for Lossy {
    fn apply(
        &self,
        host: &mut Host,
        subset: Subset,
        x: &HostArray<Image>,
        out: &mut HostArray<Data>,
        task: &Task,
    ) -> Result<(), OperatorError> {
        self.0.apply(host, subset, x, out, task)
    }

    fn adjoint(
        &self,
        host: &mut Host,
        subset: Subset,
        q: &HostArray<Data>,
        accumulation: Accumulation,
        out: &mut HostArray<Image>,
        task: &Task,
    ) -> Result<(), OperatorError> {
        self.0.adjoint(host, subset, q, Accumulation::Deterministic, out, task)?;
        if accumulation == Accumulation::NonAtomic {
            out.values_mut().iter_mut().for_each(|value| *value *= 1.0 - LOST);
        }
        Ok(())
    }

    fn accumulations(&self) -> &'static [Accumulation] {
        Accumulation::VARIANTS
    }

    fn scratch_bytes(&self, subset: Subset, accumulation: Accumulation) -> u64 {
        self.0.scratch_bytes(subset, accumulation)
    }
}

#[test]
fn what_the_race_loses_is_told_with_and_without_corrections() {
    let geometry = tiny(8);
    let plain = Counts::new(counts(&geometry));
    let corrections = (Some(data(&geometry, 4, 0.5, 0.7)), Some(data(&geometry, 5, 2.0, 0.1)));
    let corrected = plain.clone().with_corrections(corrections.0, corrections.1).unwrap();
    for (study, num_subsets) in [(&plain, 1), (&plain, 4), (&corrected, 4)] {
        for racy_sensitivity in [false, true] {
            let projector = fast(&geometry);
            let (voxels, views) = (projector.voxels().clone(), projector.views().clone());
            let model = ProjectionModel::new(&mut Host, Lossy(projector), views, study, num_subsets).unwrap();
            let settings = EmSettings { racy_sensitivity, ..settings(Accumulation::Atomic) };
            let mut algorithm = MlemOsem::new(Host, voxels, model, settings, None).unwrap();
            let task = Task::new();
            assert_eq!(algorithm.step(&task).unwrap().em.unwrap().race, None, "atomic additions have no race");
            algorithm.set_accumulation(Accumulation::NonAtomic);
            for _ in 0..num_subsets + 1 {
                let race = algorithm.step(&task).unwrap().em.unwrap().race.expect("a race report");
                assert!((race.lost - f64::from(LOST)).abs() < 1e-5, "{race:?}");
                assert!((race.lost_of_ones - f64::from(LOST)).abs() < 1e-5, "{race:?}");
                // A race in both cancels; a race in the backprojection alone scales the image by what is left.
                let level = if racy_sensitivity { 1.0 } else { 1.0 - f64::from(LOST) };
                assert!((race.level - level).abs() < 1e-5, "{race:?}");
            }
            algorithm.set_accumulation(Accumulation::Deterministic);
            assert_eq!(algorithm.step(&task).unwrap().em.unwrap().race, None);
        }
    }
}

/// A projector whose race loses a part of the additions to one voxel, another part in every backprojection.
struct LossyVoxel {
    projector: AxialRuns,
    voxel: usize,
    /// The exact value of the voxel and the lost part of each backprojection of a ratio.
    backprojections: Arc<Mutex<Vec<[f64; 2]>>>,
}

impl LinearOperator<Host> for LossyVoxel {
    fn apply(
        &self,
        host: &mut Host,
        subset: Subset,
        x: &HostArray<Image>,
        out: &mut HostArray<Data>,
        task: &Task,
    ) -> Result<(), OperatorError> {
        self.projector.apply(host, subset, x, out, task)
    }

    fn adjoint(
        &self,
        host: &mut Host,
        subset: Subset,
        q: &HostArray<Data>,
        accumulation: Accumulation,
        out: &mut HostArray<Image>,
        task: &Task,
    ) -> Result<(), OperatorError> {
        self.projector.adjoint(host, subset, q, Accumulation::Deterministic, out, task)?;
        if accumulation == Accumulation::NonAtomic && q.iter().any(|q| *q != 1.0) {
            let mut backprojections = self.backprojections.lock().unwrap();
            let part = [0.5, 0.0, 0.25, 0.0][backprojections.len() % 4];
            backprojections.push([f64::from(out[self.voxel]), part]);
            out.values_mut()[self.voxel] *= 1.0 - part as f32;
        }
        Ok(())
    }

    fn accumulations(&self) -> &'static [Accumulation] {
        Accumulation::VARIANTS
    }

    fn scratch_bytes(&self, subset: Subset, accumulation: Accumulation) -> u64 {
        self.projector.scratch_bytes(subset, accumulation)
    }
}

#[test]
fn losses_of_a_voxel_are_added_up_over_the_run() {
    let geometry = tiny(8);
    let study = Counts::new(counts(&geometry));
    for num_subsets in [1, 4] {
        let projector = fast(&geometry);
        let (voxels, views) = (projector.voxels().clone(), projector.views().clone());
        let sensitivity = backward(&projector, Subset::ALL, vec![1.0; geometry.num_bins()], Accumulation::Deterministic, &grid());
        let middle = voxels.coefficients(&sensitivity).iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1)).unwrap().0;
        let backprojections = Arc::new(Mutex::new(Vec::new()));
        let operator = LossyVoxel { projector, voxel: middle, backprojections: Arc::clone(&backprojections) };
        let model = ProjectionModel::new(&mut Host, operator, views, &study, num_subsets).unwrap();
        let mut algorithm = MlemOsem::new(Host, voxels, model, settings(Accumulation::NonAtomic), None).unwrap();
        let mut step_max = 0.0_f64;
        for step in 0..10 {
            if step == 6 {
                // The sums stay over steps without a race.
                algorithm.set_accumulation(Accumulation::Deterministic);
                assert_eq!(algorithm.step(&Task::new()).unwrap().em.unwrap().race, None);
                algorithm.set_accumulation(Accumulation::NonAtomic);
            }
            let race = algorithm.step(&Task::new()).unwrap().em.unwrap().race.unwrap();
            let so_far = backprojections.lock().unwrap().clone();
            let exact: f64 = so_far.iter().map(|[exact, _]| exact).sum();
            let lost: f64 = so_far.iter().map(|[exact, part]| exact * part).sum();
            step_max = step_max.max(race.lost);
            assert!((race.lost_voxel_max - lost / exact).abs() < 1e-5, "{race:?}, not {}", lost / exact);
            assert_eq!(race.lost_step_max, step_max);
            // In the sum over the image the loss of one voxel is hardly seen.
            assert!(race.lost.abs() < 0.02 && (race.lost.abs() < 1e-6 || step % 2 == 0), "{step}: {race:?}");
        }
        assert!(step_max > 1e-4, "{step_max}");
    }
}
