//! One reconstruction by a team of members on the host, each with its share of the data: what several processes and several GPUs do.

use std::sync::Arc;

use tomoscope::algebra::{Backend, BackendError, Data, Host, HostArray, Image, PeerGroup, Shard, Voxels};
use tomoscope::coded::PassedOn;
use tomoscope::data::{Counts, Events, Michelogram, Roi, RoiRole, RoiShape, TubeSampling, TubeSet, Volume};
use tomoscope::geometry::Grid;
use tomoscope::operator::{
    Accumulation, AnyOperator, AxialRuns, DataSpace, EventLines, EventOrder, EventProjector, LinearOperator, Measured,
    OperatorError, ShardData, ShardOperator, Siddon, Subset, Tubes, ViewProjector,
};
use tomoscope::recon::{
    Algorithm, EmSettings, EventTerms, ListModel, MlemOsem, ProjectionModel, ReconError, SharedAlgorithm, SubsetOrder,
};
use tomoscope::scanner::{InPlane, ScanGeometry, Segment, find};
use tomoscope::task::Task;

use super::events::{Tof, detectors, pair_rays, random_events, tof};
use super::support::{backward, dot, forward, noise, random_volume, relative};

const FOV_MM: f64 = 60.0;

fn grid() -> Grid {
    Grid::centred([21, 21, 9], [6.0, 6.0, 2.5]).unwrap()
}

fn geometry() -> Arc<ScanGeometry> {
    Arc::new(find("small").unwrap().geometry.clone())
}

/// Makes a projector.
type Make<P> = fn() -> P;

fn fast() -> AxialRuns {
    AxialRuns::new(geometry(), grid(), FOV_MM, [1, 1]).unwrap()
}

fn plain() -> Siddon {
    Siddon::new(geometry(), grid(), FOV_MM, [1, 1])
}

/// A scanner of heads with single ring differences, as tubes need it, whose half rings are slices of 2.5 mm, and tubes for it.
pub fn scanner_of_tubes(num_rings: usize) -> (Arc<ScanGeometry>, TubeSet) {
    let largest = num_rings as i32 - 1;
    let geometry = ScanGeometry {
        num_rings,
        ring_spacing_mm: 5.0,
        num_detectors_per_ring: 80,
        num_views: 40,
        num_tangential: 19,
        in_plane: InPlane::Heads { bin_mm: 6.0 },
        segments: (-largest..=largest).map(|d| Segment::full(d, d, num_rings)).collect(),
        ..(*geometry()).clone()
    };
    let geometry = geometry.validate().unwrap();
    let sampling = TubeSampling { num: [21, 3, 5], ..TubeSampling::of(&geometry) };
    let coefficients = noise(11, sampling.num_coefficients().unwrap());
    let tubes = TubeSet::new(geometry.scanner.clone(), sampling, coefficients).unwrap();
    (Arc::new(geometry), tubes)
}

fn tubes() -> Tubes {
    let (geometry, tubes) = scanner_of_tubes(5);
    Tubes::new(geometry, grid(), FOV_MM, &tubes).unwrap()
}

/// Noisy counts of a random image, with both corrections.
fn counts(geometry: &Arc<ScanGeometry>) -> Counts {
    let values = |values: Vec<f32>| Michelogram::new(Arc::clone(geometry), values).unwrap();
    let lines = AxialRuns::new(Arc::clone(geometry), grid(), FOV_MM, [1, 1]).unwrap();
    let expected = forward(&lines, Subset::ALL, &random_volume(&grid()));
    let num = expected.len();
    let prompts = expected.iter().zip(noise(21, num)).map(|(e, u)| (0.1 * e + u).round()).collect();
    Counts {
        multiplicative: Some(values(noise(22, num).iter().map(|u| 0.5 + u).collect())),
        additive: Some(values(noise(23, num).iter().map(|u| 0.2 * u).collect())),
        ..Counts::new(values(prompts))
    }
}

fn settings(accumulation: Accumulation) -> EmSettings {
    EmSettings {
        subset_order: SubsetOrder::Spaced,
        accumulation,
        sensitivity_accumulation: Accumulation::Deterministic,
        racy_sensitivity: false,
    }
}

/// The parts of each member.
fn members<P: ViewProjector<Host>>(make: Make<P>, count: usize) -> Vec<(PeerGroup, Voxels, ShardOperator<Host>)> {
    let part = |team: PeerGroup| {
        let projector = make();
        let voxels = projector.voxels().clone();
        let own = Box::new(projector).for_group(&team).unwrap();
        (team, voxels, own)
    };
    PeerGroup::of_threads(&PeerGroup::ALONE, count, || {}).unwrap().into_iter().map(part).collect()
}

fn team_of<P: ViewProjector<Host>>(
    make: Make<P>,
    count: usize,
    counts: &Counts,
    num_subsets: usize,
    accumulation: Accumulation,
) -> SharedAlgorithm {
    let algorithm = |(team, voxels, (operator, data)): (PeerGroup, Voxels, ShardOperator<Host>)| {
        let model = ProjectionModel::new(&mut Host, operator, data, counts, num_subsets).unwrap().of_group(team.clone());
        let algorithm: Box<dyn Algorithm> = Box::new(MlemOsem::new(Host, voxels, model, settings(accumulation), None).unwrap());
        (algorithm, team)
    };
    SharedAlgorithm::new(members(make, count).into_iter().map(algorithm)).unwrap()
}

fn alone<P: ViewProjector<Host> + 'static>(make: Make<P>, counts: &Counts, num_subsets: usize) -> Box<dyn Algorithm> {
    let projector = make();
    let (voxels, views) = (projector.voxels().clone(), projector.views().clone());
    let model = ProjectionModel::new(&mut Host, projector, views, counts, num_subsets).unwrap();
    Box::new(MlemOsem::new(Host, voxels, model, settings(Accumulation::Deterministic), None).unwrap())
}

/// The image after so many steps, and the log-likelihood and the impossible bins of each.
fn run(algorithm: &mut dyn Algorithm, num_steps: usize) -> (Vec<f32>, Vec<(f64, usize)>) {
    let step = |_| {
        let report = algorithm.step(&Task::new()).unwrap();
        (report.em.unwrap().log_likelihood.unwrap(), report.em.unwrap().num_unexplained_bins)
    };
    let steps = (0..num_steps).map(step).collect();
    let mut volume = Volume::filled(grid(), 0.0);
    algorithm.volume_into(&mut volume).unwrap();
    (volume.as_slice().to_vec(), steps)
}

fn bits(values: &[f32]) -> Vec<u32> {
    values.iter().map(|value| value.to_bits()).collect()
}

/// `team(count, num_subsets)` makes the algorithm of so many members.
fn same_bits_for_any_number(team: impl Fn(usize, usize) -> SharedAlgorithm, alone: impl Fn(usize) -> Box<dyn Algorithm>) {
    for num_subsets in [1, 4] {
        let (expected, steps) = run(&mut *alone(num_subsets), 6);
        for count in [2, 3, 5] {
            let (found, found_steps) = run(&mut team(count, num_subsets), 6);
            assert!(bits(&found) == bits(&expected), "{count} members, {num_subsets} subsets");
            for ((found, num_found), (expected, num)) in found_steps.iter().zip(&steps) {
                assert!((found - expected).abs() <= 1e-12 * expected.abs() && num_found == num, "{found} {expected}");
            }
        }
    }
}

fn same_bits_of_counts<P: ViewProjector<Host> + 'static>(make: Make<P>, geometry: &Arc<ScanGeometry>) {
    let counts = counts(geometry);
    same_bits_for_any_number(
        |count, num_subsets| team_of(make, count, &counts, num_subsets, Accumulation::Deterministic),
        |num_subsets| alone(make, &counts, num_subsets),
    );
}

#[test]
fn the_fast_projector_gives_the_same_bits_for_any_number_of_members() {
    same_bits_of_counts(fast, &geometry());
}

#[test]
fn the_plain_projector_gives_the_same_bits_for_any_number_of_members() {
    same_bits_of_counts(plain, &geometry());
}

#[test]
fn tubes_give_the_same_bits_for_any_number_of_members() {
    same_bits_of_counts(tubes, &scanner_of_tubes(5).0);
}

/// A member's algorithm of a list; alone it has all events.
fn of_list(events: &Arc<Events>, team: &PeerGroup, num_subsets: usize, accumulation: Accumulation) -> Box<dyn Algorithm> {
    let (tof, subsets) = (tof(30.0), EventOrder::default());
    let lines = EventLines::new(Arc::clone(events), &detectors(), Some(&tof), grid(), FOV_MM, pair_rays(1), subsets).unwrap();
    let (voxels, space) = (lines.voxels().clone(), lines.space().clone());
    let sensitivity = Arc::new(voxels.coefficients(&Volume::filled(grid(), 3.0)));
    let [multiplicative, additive] = [41, 42].map(|seed| noise(seed, events.len()).iter().map(|u| 0.2 + u).collect::<Vec<f32>>());
    let terms = EventTerms {
        multiplicative: Some(&multiplicative),
        additive: Some(&additive),
        total_additive: 50.0,
        ..EventTerms::default()
    };
    let em = settings(accumulation);
    if team.shard() == Shard::WHOLE {
        let model = ListModel::new(&mut Host, lines, space.clone(), space, terms, sensitivity, num_subsets).unwrap();
        return Box::new(MlemOsem::new(Host, voxels, model, em, None).unwrap());
    }
    let (operator, data) = Box::new(lines).for_group(team).unwrap();
    let model = ListModel::new(&mut Host, operator, data, space, terms, sensitivity, num_subsets).unwrap();
    Box::new(MlemOsem::new(Host, voxels, model.of_group(team.clone()), em, None).unwrap())
}

fn team_of_list(events: &Arc<Events>, count: usize, num_subsets: usize, accumulation: Accumulation) -> SharedAlgorithm {
    let member = |team: PeerGroup| (of_list(events, &team, num_subsets, accumulation), team);
    SharedAlgorithm::new(PeerGroup::of_threads(&PeerGroup::ALONE, count, || {}).unwrap().into_iter().map(member)).unwrap()
}

#[test]
fn lists_give_the_same_bits_for_any_number_of_members() {
    // Enough for several images that are added; and so few that some members have none.
    for (num, tof) in [(300_000, Tof::No), (300_000, Tof::Numbers), (500, Tof::No)] {
        let events = Arc::new(random_events(num, tof));
        same_bits_for_any_number(
            |count, num_subsets| team_of_list(&events, count, num_subsets, Accumulation::Deterministic),
            |num_subsets| of_list(&events, &PeerGroup::ALONE, num_subsets, Accumulation::Deterministic),
        );
    }
}

#[test]
fn lists_added_in_any_order_differ_by_rounding_alone() {
    let events = Arc::new(random_events(150_000, Tof::No));
    let (expected, _) = run(&mut *of_list(&events, &PeerGroup::ALONE, 4, Accumulation::Deterministic), 4);
    let (found, _) = run(&mut team_of_list(&events, 3, 4, Accumulation::Atomic), 4);
    assert!(relative(&found, &expected) <= 1e-5, "{}", relative(&found, &expected));
}

#[test]
fn other_ways_to_add_differ_by_rounding_alone() {
    let counts = counts(&geometry());
    let (expected, _) = run(&mut *alone(fast, &counts, 4), 4);
    for &accumulation in Accumulation::OF_LINES {
        let mut team = team_of(fast, 2, &counts, 4, Accumulation::Deterministic);
        team.set_accumulation(accumulation);
        let (found, _) = run(&mut team, 4);
        // What a race loses here, if anything, is no matter of the team.
        let most = if accumulation.has_race() { 0.1 } else { 1e-5 };
        assert!(relative(&found, &expected) <= most, "{accumulation}: {}", relative(&found, &expected));
    }
}

#[test]
fn together_the_members_have_every_datum_once_and_their_backprojection_is_the_adjoint() {
    have_every_datum_once(fast, &geometry());
    have_every_datum_once(tubes, &scanner_of_tubes(5).0);
}

fn have_every_datum_once<P: ViewProjector<Host>>(make: Make<P>, geometry: &ScanGeometry) {
    let (volume, q) = (random_volume(&grid()), Arc::new(noise(31, geometry.num_bins())));
    for num_subsets in [1, 4] {
        for subset in Subset::all(num_subsets) {
            for count in [1, 2, 3, 4] {
                let mut seen = vec![0; geometry.num_bins()];
                let results: Vec<(f64, Vec<f32>, f64)> = std::thread::scope(|scope| {
                    let threads: Vec<_> = members(make, count)
                        .into_iter()
                        .map(|(team, voxels, (operator, data))| {
                            let own: Vec<(usize, std::ops::Range<usize>)> = data.pieces(subset);
                            own.iter().flat_map(|(_, range)| range.clone()).for_each(|bin| seen[bin] += 1);
                            team.assemble();
                            let (q, volume) = (&q, &volume);
                            scope.spawn(move || {
                                let x: HostArray<Image> = voxels.coefficients(volume).into();
                                let arranged: HostArray<Data> = data.arranged(q, num_subsets).into();
                                let mut of_subset: HostArray<Data> = Host.zeros(data.len(subset)).unwrap();
                                let mut projected: HostArray<Data> = Host.zeros(data.len(subset)).unwrap();
                                operator.apply(&mut Host, subset, &x, &mut projected, &Task::new()).unwrap();
                                for (at, range) in own {
                                    Host.add_scaled(&mut of_subset, at, 1.0, &arranged, range).unwrap();
                                }
                                let mut image = Host.zeros(x.len()).unwrap();
                                let way = Accumulation::Deterministic;
                                operator.adjoint(&mut Host, subset, &of_subset, way, &mut image, &Task::new()).unwrap();
                                (dot(&projected, &of_subset), image.to_vec(), dot(&image, &x))
                            })
                        })
                        .collect();
                    threads.into_iter().map(|thread| thread.join().unwrap()).collect()
                });
                let of_subset = |bin: usize| {
                    let view = bin / (geometry.num_planes() * geometry.num_tangential);
                    usize::from(view % num_subsets == subset.index)
                };
                assert!(seen.iter().enumerate().all(|(bin, num)| *num == of_subset(bin)));
                let in_data: f64 = results.iter().map(|(in_data, _, _)| in_data).sum();
                for (_, image, in_image) in &results {
                    assert!((in_data - in_image).abs() <= 1e-6 * in_image.abs(), "{in_data} {in_image}");
                    assert!(bits(image) == bits(&results[0].1), "all members have the same image");
                }
            }
        }
    }
}

#[test]
fn every_nth_view_makes_a_share_of_an_operator_in_a_memory_of_its_own() {
    let geometry = geometry();
    let (volume, q) = (random_volume(&grid()), Arc::new(noise(32, geometry.num_bins())));
    let whole = fast();
    let voxels = whole.voxels().clone();
    let projected = Arc::new(forward(&whole, Subset::ALL, &volume));
    for (num_subsets, count) in [(1, 2), (4, 2), (4, 3), (1, 4)] {
        let mut num_seen = 0;
        for subset in Subset::all(num_subsets) {
            let expected = backward(&whole, subset, of_subset(&whole, &q, subset), Accumulation::Deterministic, &grid());
            let mut sum = vec![0.0; voxels.len()];
            for index in 0..count {
                let (operator, data): ShardOperator<Host> = ShardData::of(fast(), whole.views().clone(), Shard { index, count });
                num_seen += data.len(subset);
                let pieces = data.pieces(subset);
                let [(0, range)] = pieces.as_slice() else { panic!("one piece: {pieces:?}") };
                let range = range.clone();
                let x: HostArray<Image> = voxels.coefficients(&volume).into();
                let mut out = Host.zeros(data.len(subset)).unwrap();
                operator.apply(&mut Host, subset, &x, &mut out, &Task::new()).unwrap();
                assert!(relative(&out, &data.arranged(&projected, num_subsets)[range.clone()]) < 1e-6);
                let own: HostArray<Data> = data.arranged(&q, num_subsets)[range].to_vec().into();
                let mut image = Host.zeros(x.len()).unwrap();
                operator.adjoint(&mut Host, subset, &own, Accumulation::Deterministic, &mut image, &Task::new()).unwrap();
                sum.iter_mut().zip(image.iter()).for_each(|(sum, value)| *sum += value);
            }
            assert!(relative(&sum, &voxels.coefficients(&expected)) < 1e-6);
        }
        assert_eq!(num_seen, geometry.num_bins());
    }
}

/// Values of a subset's views.
fn of_subset(projector: &AxialRuns, values: &Arc<Vec<f32>>, subset: Subset) -> Vec<f32> {
    projector.views().pieces(subset).into_iter().flat_map(|(_, range)| values[range].iter().copied()).collect()
}

#[test]
fn a_team_is_stopped_and_goes_on_where_it_was() {
    let counts = counts(&geometry());
    let (expected, _) = run(&mut *alone(fast, &counts, 1), 4);
    let mut team = team_of(fast, 3, &counts, 1, Accumulation::Deterministic);
    run(&mut team, 2);
    for pause in 0..40 {
        let task = Task::new();
        let stop = task.clone();
        let stopper = std::thread::spawn(move || {
            std::thread::sleep(std::time::Duration::from_micros(25 * pause));
            stop.stop();
        });
        match team.step(&task) {
            // It was quicker: one step back is not to be had, so begin anew.
            Ok(_) => {
                team = team_of(fast, 3, &counts, 1, Accumulation::Deterministic);
                run(&mut team, 2);
            }
            Err(ReconError::Operator(OperatorError::Stopped(_))) => {}
            Err(error) => panic!("{error}"),
        }
        stopper.join().unwrap();
    }
    assert!(bits(&run(&mut team, 2).0) == bits(&expected));
}

/// An operator that fails from some call on, or panics.
struct Failing {
    whole: AnyOperator<Host>,
    calls_left: std::sync::atomic::AtomicUsize,
    panics: bool,
}

impl LinearOperator<Host> for Failing {
    fn apply(
        &self,
        backend: &mut Host,
        subset: Subset,
        x: &HostArray<Image>,
        out: &mut HostArray<Data>,
        task: &Task,
    ) -> Result<(), OperatorError> {
        self.count()?;
        self.whole.apply(backend, subset, x, out, task)
    }

    fn expect(
        &self,
        backend: &mut Host,
        subset: Subset,
        x: &HostArray<Image>,
        measured: &Measured<'_, Host>,
        out: &mut HostArray<Data>,
        task: &Task,
    ) -> Result<(), OperatorError> {
        self.count()?;
        self.whole.expect(backend, subset, x, measured, out, task)
    }

    fn adjoint(
        &self,
        backend: &mut Host,
        subset: Subset,
        q: &HostArray<Data>,
        accumulation: Accumulation,
        out: &mut HostArray<Image>,
        task: &Task,
    ) -> Result<(), OperatorError> {
        self.count()?;
        self.whole.adjoint(backend, subset, q, accumulation, out, task)
    }

    fn accumulations(&self) -> &'static [Accumulation] {
        self.whole.accumulations()
    }

    fn scratch_bytes(&self, subset: Subset, accumulation: Accumulation) -> u64 {
        self.whole.scratch_bytes(subset, accumulation)
    }
}

fn burnt() -> BackendError {
    BackendError::Device(PassedOn::new("cuda.driver", "the second card has burnt"))
}

impl Failing {
    fn count(&self) -> Result<(), OperatorError> {
        use std::sync::atomic::Ordering::Relaxed;
        if self.calls_left.fetch_update(Relaxed, Relaxed, |left| left.checked_sub(1)).is_ok() {
            return Ok(());
        }
        assert!(!self.panics, "a member panics");
        Err(burnt().into())
    }
}

#[test]
fn a_member_that_fails_ends_the_step_of_all_with_its_own_words_and_the_image_before() {
    let counts = counts(&geometry());
    for (calls, panics) in (0..20).map(|k| (k, false)).chain([(3, true), (8, true)]) {
        let (mut before, failing) = (alone(fast, &counts, 4), 1);
        let algorithm = |(index, (team, voxels, (whole, data))): (usize, (PeerGroup, Voxels, ShardOperator<Host>))| {
            let calls_left = if index == failing { calls } else { usize::MAX };
            let operator = Failing { whole, calls_left: calls_left.into(), panics };
            let model = ProjectionModel::new(&mut Host, operator, data, &counts, 4).unwrap().of_group(team.clone());
            let em = settings(Accumulation::Deterministic);
            let algorithm: Box<dyn Algorithm> = Box::new(MlemOsem::new(Host, voxels, model, em, None).unwrap());
            (algorithm, team)
        };
        let mut team = SharedAlgorithm::new(members(fast, 3).into_iter().enumerate().map(algorithm)).unwrap();
        let mut num_steps = 0;
        let error = loop {
            match team.step(&Task::new()) {
                Ok(_) => num_steps += 1,
                Err(error) => break error,
            }
        };
        assert_eq!(error, if panics { ReconError::Panicked } else { burnt().into() });
        let mut volume = Volume::filled(grid(), 0.0);
        team.volume_into(&mut volume).unwrap();
        let mut expected = run(&mut *before, num_steps).0;
        if num_steps == 0 {
            // The first step begins with giving the start image its number of counts.
            let largest = |image: &[f32]| image.iter().fold(0.0f32, |largest, value| largest.max(*value));
            let scale = largest(volume.as_slice()) / largest(&expected);
            expected.iter_mut().for_each(|value| *value *= scale);
        }
        assert!(bits(volume.as_slice()) == bits(&expected), "the image of the last whole step is kept: {calls}, {num_steps}");
    }
}

#[test]
fn regions_are_measured_on_the_image_of_all() {
    let counts = counts(&geometry());
    let roi = Roi { role: RoiRole::Background, ..Roi::new("ball", RoiShape::Sphere { radius_mm: 20.0 }, [3.0, 1.0, 2.0]) };
    let masks = [roi.mask(&grid())];
    let mut team = team_of(fast, 2, &counts, 4, Accumulation::Deterministic);
    team.set_rois(&masks).unwrap();
    let (image, _) = run(&mut team, 3);
    assert_eq!(team.roi_sums().unwrap()[0].sum, masks[0].sums(&image).sum);
    assert_eq!((team.num_subsets(), team.accumulations().len()), (4, Accumulation::OF_LINES.len()));
}
