//! Projection onto events against the definition, closed forms and the michelogram of the same events.

use std::sync::Arc;

use tomoscope::algebra::{Backend, Data, Host, HostArray, Image, Simd};
use tomoscope::data::{Counts, Events, Michelogram, TofMeasurement, Unit, Volume};
use tomoscope::geometry::Grid;
use tomoscope::operator::{
    Accumulation, AxialRuns, DataSpace, EventLines, EventOrder, EventProjector, IMAGES_AT_ONCE, LinearOperator, Measured,
    OperatorError, OperatorLimit, Siddon, Subset, TofKernel, ViewProjector,
};
use tomoscope::random::{shuffled, stream};
use tomoscope::recon::{Algorithm, EmSettings, EventTerms, ListModel, MlemOsem, ProjectionModel, SubsetOrder, gaussian_filter};
use tomoscope::scanner::{Crystal, Cylinder, Detectors, PairRays, ScanGeometry};
use tomoscope::task::Task;

use super::support::{backward, dot, forward, geometry, noise, random_volume, relative};

const FOV_MM: f64 = 69.0;

fn grid() -> Grid {
    Grid::centred([47, 47, 15], [3.0, 3.0, 2.5]).unwrap()
}

pub fn detectors() -> Detectors {
    Detectors::of_cylinder(&geometry("small")).unwrap()
}

pub fn tof(fwhm_mm: f64) -> TofMeasurement {
    TofMeasurement { fwhm_mm, window_mm: [-200.0, 200.0], edges_mm: Vec::new(), ..TofMeasurement::default() }
}

/// What is known of d in a list.
#[derive(Clone, Copy, Debug)]
pub enum Tof {
    No,
    Numbers,
    Bins,
}

/// Events of random pairs of crystals, some of them nonsense: the crystal itself, one above the other, in voxel faces, beside the
/// field of view.
pub fn random_events(num: usize, tof: Tof) -> Events {
    let num_crystals = detectors().crystals().len() as f32;
    let of = |seed: u32| noise(seed, num).into_iter().map(move |u| ((u * num_crystals) as u32).min(num_crystals as u32 - 1));
    let mut pairs: Vec<[u32; 2]> = of(1).zip(of(2)).map(|(a, b)| [a, b]).collect();
    let nasty = [
        [5, 5],
        [5, 101],
        [0, 48],
        [24, 72],
        [48, 0],
        [96 * 3, 96 * 3 + 48],
        [0, 1],
        [24, 96 * 7 + 72],
        [96 * 2 + 24, 96 * 2 + 72],
    ];
    pairs[..nasty.len()].copy_from_slice(&nasty);
    let d = noise(3, num).into_iter().map(|u| 160.0 * u - 80.0);
    let tof_mm = match tof {
        Tof::No => Vec::new(),
        Tof::Numbers => d.map(|d| [d, d]).collect(),
        Tof::Bins => d.map(|d| [5.0 * (d / 5.0).floor(), 5.0 * (d / 5.0).floor() + 5.0]).collect(),
    };
    Events { pairs, tof_mm, ..Events::default() }
}

/// Random events of a hundred pairs of columns, with the nonsense of [`random_events`] many times: beams.
pub fn crowded_events(num: usize) -> Events {
    let mut events = random_events(num, Tof::No);
    for (i, pair) in events.pairs.iter_mut().enumerate().skip(9) {
        let column = |crystal: u32| crystal / 96 * 96 + (crystal % 96) / 10 * 10;
        *pair = if i % 5 == 0 { [[24, 72], [48, 0], [0, 1], [5, 101]][i / 5 % 4] } else { pair.map(column) };
    }
    events
}

/// So many: side by side, or in rows of two.
pub fn pair_rays(num: usize) -> PairRays {
    let axial = if num.is_multiple_of(2) { 2 } else { 1 };
    PairRays { tangential: num / axial, axial, axial_mm: None }
}

fn lines(events: &Events, grid: &Grid, num_rays: usize, order: EventOrder) -> EventLines {
    EventLines::new(Arc::new(events.clone()), &detectors(), Some(&tof(30.0)), grid.clone(), FOV_MM, pair_rays(num_rays), order)
        .unwrap()
}

fn project(operator: &EventLines, subset: Subset, volume: &Volume) -> Vec<f32> {
    let x = operator.voxels().coefficients(volume).into();
    let mut out: HostArray<Data> = Host.zeros(operator.space().len(subset)).unwrap();
    operator.apply(&mut Host, subset, &x, &mut out, &Task::new()).unwrap();
    out.into_values()
}

fn backproject(operator: &EventLines, subset: Subset, q: &[f32], accumulation: Accumulation) -> Vec<f32> {
    let mut out: HostArray<Image> = Host.zeros(operator.voxels().len()).unwrap();
    operator.adjoint(&mut Host, subset, &q.to_vec().into(), accumulation, &mut out, &Task::new()).unwrap();
    let mut volume = Volume::filled(operator.voxels().grid().clone(), 0.0);
    operator.voxels().write(&out, 1.0, &mut volume);
    volume.as_slice().to_vec()
}

#[test]
fn the_fast_walk_is_the_definition_and_each_is_its_adjoint() {
    // Odd and even numbers of voxels: lines inside voxels and in their faces.
    for (grid, num_rays) in [(grid(), 1), (Grid::centred([48, 40, 16], [3.0, 3.5, 2.5]).unwrap(), 1), (grid(), 5)] {
        for tof in [Tof::No, Tof::Numbers, Tof::Bins] {
            let events = random_events(3000, tof);
            let volume = random_volume(&grid);
            let fast = lines(&events, &grid, num_rays, EventOrder::default());
            let plain = lines(&events, &grid, num_rays, EventOrder::default()).plain();
            for subset in [Subset::ALL, Subset { index: 2, count: 7 }] {
                let expected = project(&plain, subset, &volume);
                let q = noise(8, expected.len());
                let spread = backproject(&plain, subset, &q, Accumulation::Deterministic);
                let seen = plain.voxels().coefficients(&volume);
                let error = |there: &[f32], back: &[f32]| (dot(there, &q) - dot(&seen, back)).abs() / dot(there, &q);
                assert!(error(&expected, &spread) <= 1e-5);
                for simd in Simd::available() {
                    let fast = lines(&events, &grid, num_rays, EventOrder::default()).with_simd(simd);
                    let there = relative(&project(&fast, subset, &volume), &expected);
                    let back = relative(&backproject(&fast, subset, &q, Accumulation::Deterministic), &spread);
                    println!("{:?}, {num_rays} rays, {tof:?}, {}: forward {there:.1e}, back {back:.1e}", grid.size, simd.name());
                    assert!(there <= 1e-5 && back <= 1e-5);
                }
                let found = project(&fast, subset, &volume);
                for accumulation in [Accumulation::Deterministic, Accumulation::Atomic] {
                    let error = error(&found, &backproject(&fast, subset, &q, accumulation));
                    assert!(error <= 1e-5, "{accumulation}: {error:e}");
                }
                // A race needs two threads.
                let one = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
                let error = error(&found, &one.install(|| backproject(&fast, subset, &q, Accumulation::NonAtomic)));
                assert!(error <= 1e-5, "non-atomic: {error:e}");
            }
        }
    }
}

/// [`LinearOperator::expect_each`] of volumes, and [`LinearOperator::adjoint_each`] of data, as arrays of the operator.
fn each_at_once(
    operator: &EventLines,
    subset: Subset,
    volumes: &[Volume],
    q: &[Vec<f32>],
    accumulation: Accumulation,
) -> [Vec<Vec<f32>>; 2] {
    let x: Vec<HostArray<Image>> = volumes.iter().map(|volume| operator.voxels().coefficients(volume).into()).collect();
    let q: Vec<HostArray<Data>> = q.iter().map(|q| q.clone().into()).collect();
    let (data_len, image_len) = (operator.space().len(subset), operator.voxels().len());
    let mut there: Vec<HostArray<Data>> = x.iter().map(|_| vec![f32::NAN; data_len].into()).collect();
    let mut back: Vec<HostArray<Image>> = x.iter().map(|_| vec![f32::NAN; image_len].into()).collect();
    let counts: HostArray<Data> = vec![1.0; data_len].into();
    let measured: Vec<Measured<'_, Host>> = x.iter().map(|_| Measured { values: &counts, pieces: &[] }).collect();
    let images: Vec<&HostArray<Image>> = x.iter().collect();
    let out = &mut there.iter_mut().collect::<Vec<_>>();
    operator.expect_each(&mut Host, subset, &images, &measured, out, &Task::new()).unwrap();
    let data: Vec<&HostArray<Data>> = q.iter().collect();
    let out = &mut back.iter_mut().collect::<Vec<_>>();
    operator.adjoint_each(&mut Host, subset, &data, accumulation, out, &Task::new()).unwrap();
    [there.into_iter().map(HostArray::into_values).collect(), back.into_iter().map(HostArray::into_values).collect()]
}

/// Data of several images: many events are 0 in some of them, some in all.
pub fn data_of_several(num_images: usize, num_events: usize) -> Vec<Vec<f32>> {
    let of_image = |image: usize| {
        let values = noise(50 + image as u32, num_events).into_iter().enumerate();
        values.map(|(event, value)| if event % 7 == 0 || (event + image).is_multiple_of(3) { 0.0 } else { value }).collect()
    };
    (0..num_images).map(of_image).collect()
}

/// Images that differ in every voxel.
pub fn several_volumes(num: usize, grid: &Grid) -> Vec<Volume> {
    let volume = |image: usize| {
        let mut volume = random_volume(grid);
        let values = noise(60 + image as u32, grid.num_voxels());
        volume.as_mut_slice().iter_mut().zip(values).for_each(|(value, factor)| *value *= 0.5 + factor);
        volume
    };
    (0..num).map(volume).collect()
}

#[test]
fn several_images_at_once_are_projected_as_each_on_its_own() {
    for (tof, num_rays, is_plain) in [(Tof::No, 1, false), (Tof::Numbers, 1, false), (Tof::Bins, 5, false), (Tof::Bins, 1, true)]
    {
        let operator = lines(&random_events(600, tof), &grid(), num_rays, EventOrder::default());
        let operator = if is_plain { operator.plain() } else { operator };
        // (Beyond the largest number each is projected on its own.)
        for num_images in [2, IMAGES_AT_ONCE, IMAGES_AT_ONCE + 1] {
            for (subset, accumulation) in
                [(Subset::ALL, Accumulation::Deterministic), (Subset { index: 2, count: 7 }, Accumulation::Atomic)]
            {
                let volumes = several_volumes(num_images, &grid());
                let q = data_of_several(num_images, operator.space().len(subset));
                let [there, back] = each_at_once(&operator, subset, &volumes, &q, accumulation);
                for image in 0..num_images {
                    // The sums over a path have one order, those over events another.
                    assert_eq!(there[image], project(&operator, subset, &volumes[image]));
                    let mut found = Volume::filled(grid(), 0.0);
                    operator.voxels().write(&back[image], 1.0, &mut found);
                    let error = relative(found.as_slice(), &backproject(&operator, subset, &q[image], accumulation));
                    assert!(error <= 1e-6, "{tof:?}, {num_images} images: {error:.1e}");
                }
            }
        }
    }
}

#[test]
fn without_time_of_flight_a_row_is_the_walk_of_its_line() {
    let (events, volume, detectors) = (random_events(2000, Tof::No), random_volume(&grid()), detectors());
    let siddon = Siddon::new(geometry("small"), grid(), FOV_MM, [1, 1]);
    let seen = siddon.voxels().coefficients(&volume);
    for num_rays in [1, 4] {
        let sum = |pair: &[u32; 2]| {
            let mut sum = 0.0;
            for ray in 0..num_rays {
                siddon.walk(&detectors.ray(*pair, ray, pair_rays(num_rays)), |voxel, length| {
                    sum += length * f64::from(seen[voxel])
                });
            }
            (sum / num_rays as f64) as f32
        };
        let expected: Vec<f32> = events.pairs.iter().map(sum).collect();
        let operator = lines(&events, &grid(), num_rays, EventOrder::default());
        let found = operator.space().in_order(project(&operator, Subset::ALL, &volume));
        assert!(relative(&found, &expected) <= 1e-6);
        assert_eq!(found[0], 0.0, "a crystal and itself");
    }
}

#[test]
fn deterministic_sums_have_the_same_bits_for_any_number_of_threads() {
    let events = random_events(200_000, Tof::Numbers);
    let operator = lines(&events, &grid(), 1, EventOrder::default());
    let q = noise(4, events.len());
    let with_threads = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| backproject(&operator, Subset::ALL, &q, Accumulation::Deterministic))
    };
    let one = with_threads(1);
    assert!(one.iter().any(|&value| value > 0.0));
    for threads in [2, 3, 8] {
        assert!(with_threads(threads).iter().zip(&one).all(|(a, b)| a.to_bits() == b.to_bits()), "{threads} threads");
    }
}

#[test]
fn an_event_weighs_the_voxels_of_its_line_by_their_distance_from_where_it_was() {
    // Along a row of voxels from −x to +x; d rises towards the second crystal.
    let crystal = |x: f64| Crystal {
        centre_mm: [x, 1.0, 0.5],
        axes: [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
        size_mm: [0.0; 3],
    };
    let detectors = Detectors::new("two", vec![crystal(-140.0), crystal(160.0)]).unwrap();
    let grid = Grid::centred([60, 5, 3], [2.0, 4.0, 4.0]).unwrap();
    let kernel = TofKernel::new(30.0);
    let intervals = [[25.0, 25.0], [20.0, 45.0], [-38.0, -37.5]];
    for (pair, towards) in [([0, 1], 1.0), ([1, 0], -1.0)] {
        for interval in intervals {
            let tof_mm = vec![interval.map(|d: f64| d as f32)];
            let events = Events { pairs: vec![pair], tof_mm, ..Events::default() };
            let operator = EventLines::new(
                Arc::new(events),
                &detectors,
                Some(&tof(30.0)),
                grid.clone(),
                1000.0,
                PairRays::ONE,
                EventOrder::default(),
            )
            .unwrap();
            let row = backproject(&operator, Subset::ALL, &[1.0], Accumulation::Deterministic);
            let (middle, largest) = (60 * 5 + 60 * 2, 2.0 * kernel.weight([0.0; 2], 0.0));
            for (voxel, found) in row.iter().enumerate() {
                let x = grid.mm_from_voxel([(voxel % 60) as f64, 0.0, 0.0])[0];
                // The line's middle lies at x = 10. Voxels that the kernel ends in are in it by a part.
                let l = towards * (x - 10.0);
                let [low, high] = kernel.reach_mm(interval);
                let (from, to) = ((l - 1.0).max(low), (l + 1.0).min(high));
                let is_on_line = (middle..middle + 60).contains(&voxel) && from < to;
                let expected = if is_on_line { (to - from) * kernel.weight(interval, 0.5 * (from + to)) } else { 0.0 };
                assert!((f64::from(*found) - expected).abs() <= 1e-5 * largest, "{voxel}: {found}, not {expected}");
            }
        }
    }
}

#[test]
fn all_bins_of_a_line_are_the_line() {
    let (volume, width) = (random_volume(&grid()), 20.0);
    let whole = random_events(300, Tof::No);
    let bins: Vec<f32> = (-10..10).map(|bin| width * bin as f32).collect();
    let pairs = whole.pairs.iter().flat_map(|pair| vec![*pair; bins.len()]).collect();
    let tof_mm = whole.pairs.iter().flat_map(|_| bins.iter().map(|low| [*low, low + width])).collect();
    let in_bins = Events { pairs, tof_mm, ..Events::default() };
    let project = |events: &Events| {
        let operator = lines(events, &grid(), 1, EventOrder::default());
        operator.space().in_order(project(&operator, Subset::ALL, &volume))
    };
    let sums: Vec<f32> = project(&in_bins).chunks(bins.len()).map(|bins| width * bins.iter().sum::<f32>()).collect();
    let error = relative(&sums, &project(&whole));
    println!("{error:.1e}");
    // Pieces in which a bin's kernel ends count by their parts, at the middle of these.
    assert!(error <= 2e-4, "{error:e}");
}

#[test]
fn what_cannot_be_projected_is_refused() {
    let new = |pair: [u32; 2], fwhm_mm: f64| {
        let events = Events { pairs: vec![[0, 50], pair], tof_mm: vec![[0.0; 2]; 2], ..Events::default() };
        let order = EventOrder::default();
        EventLines::new(Arc::new(events), &detectors(), Some(&tof(fwhm_mm)), grid(), FOV_MM, PairRays::ONE, order)
    };
    assert!(new([3, 767], 30.0).is_ok());
    let unknown = new([3, 768], 30.0).err().unwrap();
    let is_expected = |limit: &OperatorLimit| {
        matches!(limit, OperatorLimit::UnknownCrystal { event: 1, pair: [3, 768], num_crystals: 768, .. })
    };
    assert!(matches!(&unknown, OperatorError::Settings(limit) if is_expected(limit)), "{unknown:?}");
    for fwhm_mm in [0.0, -1.0, f64::NAN] {
        let error = new([3, 4], fwhm_mm).err().unwrap();
        assert!(matches!(error, OperatorError::Settings(OperatorLimit::TofResolution(_))), "{error:?}");
    }
}

/// Every pair of detectors in a bin of its own.
fn unmashed() -> Arc<ScanGeometry> {
    let cylinder = Cylinder::recognise(&detectors()).unwrap();
    Arc::new(cylinder.geometry("small", 47, 7, 1, FOV_MM).unwrap())
}

/// Counts of a michelogram as events in a random order, crystals in any order.
fn events_of(counts: &Michelogram) -> Events {
    let geometry = unmashed();
    let (cylinder, planes) = (Cylinder::of(&geometry), geometry.planes());
    let mut pairs = Vec::new();
    for (index, &count) in counts.counts.iter().enumerate() {
        let (view, tangential_pos, plane) = counts.bin_of_index(index);
        let [at1, at2] = cylinder.detectors(view, tangential_pos as i32 - 23);
        let difference = geometry.segments[planes[plane].segment].min_ring_difference;
        let first = planes[plane].axial_pos as i32;
        let [ring1, ring2] = [first + (-difference).max(0), first + difference.max(0)].map(|ring| ring as usize);
        let pair = [ring1 * 96 + at1, ring2 * 96 + at2].map(|crystal| crystal as u32);
        pairs.extend((0..count as usize).map(|k| if k % 2 == 0 { pair } else { [pair[1], pair[0]] }));
    }
    let order = shuffled(pairs.len() as u32, &mut stream(5, 0));
    Events { pairs: order.into_iter().map(|event| pairs[event as usize]).collect(), ..Events::default() }
}

fn ball_and_cylinder() -> Volume {
    let grid = grid();
    let value = |voxel: usize| {
        let [x, y, z] = grid.mm_from_voxel([(voxel % 47) as f64, (voxel / 47 % 47) as f64, (voxel / (47 * 47)) as f64]);
        let is_hot = (x - 20.0).hypot(y - 10.0).hypot(z) < 12.0;
        let is_cold = (x + 20.0).hypot(y + 5.0).hypot(z) < 12.0;
        let is_warm = x.hypot(y) < 55.0 && !is_cold;
        if is_hot { 4.0 } else { f32::from(is_warm) }
    };
    Volume::from_vec(grid.clone(), (0..grid.num_voxels()).map(value).collect(), Unit::CountsPerMm).unwrap()
}

const SETTINGS: EmSettings = EmSettings {
    subset_order: SubsetOrder::Sequential,
    accumulation: Accumulation::Deterministic,
    sensitivity_accumulation: Accumulation::Deterministic,
    racy_sensitivity: false,
};

fn image(algorithm: &mut impl Algorithm) -> Volume {
    let mut volume = Volume::filled(grid(), 0.0);
    algorithm.volume_into(&mut volume).unwrap();
    volume
}

fn list_mode(operator: EventLines, terms: EventTerms<'_>, sensitivity: &Volume, num_subsets: usize) -> impl Algorithm {
    let (voxels, space) = (operator.voxels().clone(), operator.space().clone());
    let sensitivity = Arc::new(voxels.coefficients(sensitivity));
    let model = ListModel::new(&mut Host, operator, space.clone(), space, terms, sensitivity, num_subsets).unwrap();
    MlemOsem::new(Host, voxels, model, SETTINGS, None).unwrap()
}

#[test]
fn a_list_gives_the_image_and_the_likelihood_of_its_michelogram() {
    let geometry = unmashed();
    let (per_lor, fast) = (
        Siddon::new(Arc::clone(&geometry), grid(), FOV_MM, [1, 1]),
        AxialRuns::new(Arc::clone(&geometry), grid(), FOV_MM, [1, 1]).unwrap(),
    );
    let expected = forward(&per_lor, Subset::ALL, &ball_and_cylinder());
    let counts = expected.iter().zip(noise(21, expected.len())).map(|(e, u)| (0.03 * e + u - 0.5).round().max(0.0)).collect();
    let counts = Michelogram::new(Arc::clone(&geometry), counts).unwrap();
    let events = events_of(&counts);
    println!("{} events", events.len());
    assert!(events.len() > 50_000);
    let background = |num: usize| vec![0.25f32; num];
    let num_bins = geometry.num_bins();
    let additive = Michelogram::new(Arc::clone(&geometry), background(num_bins)).unwrap();
    for has_background in [false, true] {
        let study = Counts::new(counts.clone()).with_corrections(None, has_background.then(|| additive.clone())).unwrap();
        let ones = backward(&per_lor, Subset::ALL, vec![1.0; num_bins], Accumulation::Deterministic, &grid());
        let of_events = background(events.len());
        let terms = EventTerms {
            additive: has_background.then_some(&of_events),
            total_additive: if has_background { 0.25 * num_bins as f64 } else { 0.0 },
            ..EventTerms::default()
        };
        let mut list = list_mode(lines(&events, &grid(), 1, EventOrder::default()), terms, &ones, 1);
        let mut of_list = Vec::new();
        for _ in 0..12 {
            let report = list.step(&Task::new()).unwrap();
            assert_eq!((report.em.unwrap().residual.unwrap().ratio(), report.em.unwrap().num_unexplained_bins), (None, 0));
            of_list.push(report.em.unwrap().log_likelihood.unwrap());
        }
        let list = image(&mut list);
        let compare = |name: &str, algorithm: &mut dyn Algorithm| {
            for (k, of_list) in of_list.iter().enumerate() {
                let of_bins = algorithm.step(&Task::new()).unwrap().em.unwrap().log_likelihood.unwrap();
                assert!(
                    (of_list - of_bins).abs() <= 1e-6 * (of_bins.abs() + events.len() as f64),
                    "{name}, step {k}: {of_list}, not {of_bins}"
                );
            }
            let mut volume = Volume::filled(grid(), 0.0);
            algorithm.volume_into(&mut volume).unwrap();
            let error = relative(list.as_slice(), volume.as_slice());
            println!("{name}, background {has_background}: {error:.1e}");
            assert!(error <= 1e-4);
        };
        let (voxels, views) = (per_lor.voxels().clone(), per_lor.views().clone());
        let plain = Siddon::new(Arc::clone(&geometry), grid(), FOV_MM, [1, 1]);
        let model = ProjectionModel::new(&mut Host, plain, views, &study, 1).unwrap();
        compare("per-lor", &mut MlemOsem::new(Host, voxels, model, SETTINGS, None).unwrap());
        let (voxels, views) = (fast.voxels().clone(), fast.views().clone());
        let runs = AxialRuns::new(Arc::clone(&geometry), grid(), FOV_MM, [1, 1]).unwrap();
        let model = ProjectionModel::new(&mut Host, runs, views, &study, 1).unwrap();
        compare("axial-runs", &mut MlemOsem::new(Host, voxels, model, SETTINGS, None).unwrap());
    }
}

/// No line integral of the object is larger.
const LARGEST_INTEGRAL: f64 = 250.0;

/// Events of a volume under the model itself: pairs by their line integrals, places along the line by the voxels' shares.
fn simulated(truth: &Volume, num_tried: usize, fwhm_mm: f64) -> Events {
    let detectors = detectors();
    let num_crystals = detectors.crystals().len() as u32;
    let siddon = Siddon::new(geometry("small"), grid(), FOV_MM, [1, 1]);
    let seen = siddon.voxels().coefficients(truth);
    let mut random = stream(11, 0);
    let mut uniform = || f64::from(random.next_u32()) / 4_294_967_296.0;
    let mut events = Events::default();
    for _ in 0..num_tried {
        let pair = [0, 1].map(|_| (uniform() * f64::from(num_crystals)) as u32);
        let line = detectors.line(pair);
        let mut pieces = Vec::new();
        siddon.walk(&line, |voxel, length| pieces.push((voxel, length * f64::from(seen[voxel]))));
        let sum: f64 = pieces.iter().map(|(_, value)| value).sum();
        if uniform() * LARGEST_INTEGRAL >= sum {
            continue;
        }
        let mut left = uniform() * sum;
        let voxel = pieces.iter().find(|(_, value)| {
            left -= value;
            left < 0.0
        });
        let voxel = voxel.map_or(0, |(voxel, _)| *voxel);
        let point = grid().mm_from_voxel([(voxel % 47) as f64, (voxel / 47 % 47) as f64, (voxel / (47 * 47)) as f64]);
        let along =
            |a: usize| (point[a] - 0.5 * (line.start[a] + line.end[a])) * (line.end[a] - line.start[a]) / line.length_mm();
        // A Gaussian deviate (Box and Muller).
        let deviate = (-2.0 * (1.0 - uniform()).ln()).sqrt() * (std::f64::consts::TAU * uniform()).cos();
        let d = (0..3).map(along).sum::<f64>() + TofKernel::new(fwhm_mm).sigma_mm() * deviate;
        events.pairs.push(pair);
        events.tof_mm.push([d as f32; 2]);
    }
    events
}

/// What every pair of crystals, in either order, would make of ones, as a part of so many events that are tried.
fn sensitivity(num_tried: usize) -> Volume {
    let num_crystals = detectors().crystals().len() as u32;
    let pairs = (0..num_crystals).flat_map(|a| (0..num_crystals).map(move |b| [a, b])).collect();
    let all = lines(&Events { pairs, ..Events::default() }, &grid(), 1, EventOrder::default());
    let num_pairs = all.space().len(Subset::ALL);
    let ones = backproject(&all, Subset::ALL, &vec![1.0; num_pairs], Accumulation::Deterministic);
    let scale = num_tried as f32 / num_pairs as f32 / LARGEST_INTEGRAL as f32;
    Volume::from_vec(grid(), ones.iter().map(|s| s * scale).collect(), Unit::CountsPerMm).unwrap()
}

#[test]
fn few_events_give_the_image_of_double_precision() {
    let (events, sensitivity) = (random_events(10_000, Tof::No), sensitivity(200_000));
    let siddon = Siddon::new(geometry("small"), grid(), FOV_MM, [1, 1]);
    let detectors = detectors();
    let row = |pair: &[u32; 2]| {
        let mut row = Vec::new();
        siddon.walk(&detectors.ray(*pair, 0, PairRays::ONE), |voxel, length| row.push((voxel, length)));
        row
    };
    let rows: Vec<Vec<(usize, f64)>> = events.pairs.iter().map(row).collect();
    let divisor: Vec<f64> = siddon.voxels().coefficients(&sensitivity).into_iter().map(f64::from).collect();
    let mut x: Vec<f64> = divisor.iter().map(|s| f64::from(u8::from(*s > 0.0))).collect();
    let terms = EventTerms::default();
    let mut list = list_mode(lines(&events, &grid(), 1, EventOrder::default()), terms, &sensitivity, 1);
    for iteration in 1..=10 {
        list.step(&Task::new()).unwrap();
        let mut sums = vec![0.0; x.len()];
        for row in &rows {
            let expected: f64 = row.iter().map(|(voxel, length)| length * x[*voxel]).sum();
            if expected > 0.0 {
                row.iter().for_each(|(voxel, length)| sums[*voxel] += length / expected);
            }
        }
        for voxel in 0..x.len() {
            x[voxel] *= if divisor[voxel] > 0.0 { sums[voxel] / divisor[voxel] } else { 0.0 };
        }
        let mut expected = Volume::filled(grid(), 0.0);
        let values: Vec<f32> = x.iter().map(|value| *value as f32).collect();
        siddon.voxels().write(&values, 1.0, &mut expected);
        let error = relative(image(&mut list).as_slice(), expected.as_slice());
        println!("iteration {iteration}: {error:.1e}");
        assert!(error <= 1e-4, "iteration {iteration}: {error:e}");
    }
}

#[test]
fn time_of_flight_finds_an_object_better() {
    const TRIED: usize = 400_000;
    let (truth, sensitivity) = (ball_and_cylinder(), sensitivity(TRIED));
    let events = simulated(&truth, TRIED, 30.0);
    let errors_of = |events: &Events| {
        let operator = lines(events, &grid(), 1, EventOrder::default());
        let mut algorithm = list_mode(operator, EventTerms::default(), &sensitivity, 1);
        let errors = (0..20).map(|_| {
            algorithm.step(&Task::new()).unwrap();
            // A ball's mean is what is asked for, not the noise of single voxels.
            relative(&smoothed(&image(&mut algorithm)), &smoothed(&truth))
        });
        let errors: Vec<f64> = errors.collect();
        println!("{errors:.3?}");
        [errors[2], errors.into_iter().fold(f64::INFINITY, f64::min)]
    };
    let with = errors_of(&events);
    let without = errors_of(&Events { tof_mm: Vec::new(), ..events.clone() });
    println!("{} events: errors {with:.3?} with time of flight, {without:.3?} without", events.len());
    assert!(events.len() > 30_000);
    // Sooner, and nearer in the end.
    assert!(with[0] < 0.65 * without[0] && with[1] < 0.9 * without[1], "{with:?}, {without:?}");
}

/// Filtered to a resolution of 8 mm.
fn smoothed(volume: &Volume) -> Vec<f32> {
    gaussian_filter(volume, 8.0).as_slice().to_vec()
}

#[test]
fn subsets_go_the_same_way_faster() {
    const TRIED: usize = 400_000;
    let (events, sensitivity) = (simulated(&ball_and_cylinder(), TRIED, 30.0), sensitivity(TRIED));
    let new = |num_subsets: usize| {
        let operator = lines(&events, &grid(), 1, EventOrder::ByLine);
        list_mode(operator, EventTerms::default(), &sensitivity, num_subsets)
    };
    // Iterations of all events, and what their image is worth.
    let mut whole = new(1);
    let mut image_of_whole = Vec::new();
    for _ in 0..8 {
        whole.step(&Task::new()).unwrap();
        image_of_whole.push(image(&mut whole));
    }
    let mut subsets = new(4);
    for _ in 0..2 {
        subsets.iterate(&Task::new()).unwrap();
    }
    let found = image(&mut subsets);
    let errors: Vec<f64> = image_of_whole.iter().map(|volume| relative(&smoothed(volume), &smoothed(&found))).collect();
    println!("{errors:.3?}");
    // Two iterations of four subsets are nearest to some eight of one, and far from two.
    let nearest = (0..8).min_by(|&a, &b| errors[a].total_cmp(&errors[b])).unwrap();
    assert!(nearest >= 5 && errors[nearest] < 0.1 && errors[nearest] < 0.5 * errors[1], "{errors:?}");
    // Each step explains all events of its subset by its share of the sensitivity.
    let explained = dot(found.as_slice(), sensitivity.as_slice());
    assert!((explained / events.len() as f64 - 1.0).abs() < 1e-3, "{explained} of {}", events.len());
}
