//! Decays in a ring of crystals, the matrix of its response, and the operator that stores it.

use std::collections::BTreeMap;
use std::sync::Arc;

use tomoscope::algebra::{Data, Host, HostArray, Image, RingBasis, RingGrid};
use tomoscope::data::{BasisKind, BasisSettings, MatrixElement, ResponseMatrix};
use tomoscope::geometry::{Grid, Point};
use tomoscope::measure::relative_difference;
use tomoscope::montecarlo::{
    DecayOutcome, FunctionsAt, Response, ResponseElements, ResponseExtent, ResponsePart, ResponseTally, RingDetector,
};
use tomoscope::operator::{CrystalPairs, DataSpace, LinearOperator, StoredMatrix, Subset};
use tomoscope::plan::{RingFunctions, response_part};
use tomoscope::random::stream;
use tomoscope::scanner::{CrystalRing, Symmetry, find_ring};
use tomoscope::task::Task;

use super::support::{dot, noise};

fn reduced() -> CrystalRing {
    find_ring("madpet2-reduced").unwrap().clone()
}

/// A ring of 36 crystals, whose lines can be counted on fingers.
pub fn small() -> CrystalRing {
    CrystalRing { num: [1, 2], pitch_mm: [9.2, 9.2], size_mm: [9.0, 9.0], layer_depths_mm: vec![14.0], ..reduced() }
}

pub fn functions(cells: RingGrid) -> RingFunctions {
    let grid = Grid::centred([4, 4, 4], [1.0; 3]).unwrap();
    let basis = if cells.rings().is_some() { RingBasis::blobs(cells, grid) } else { RingBasis::voxels(cells, grid) };
    RingFunctions { basis, num_turns: 18 }
}

/// Blobs so far apart.
pub fn blobs(spacing_mm: f64) -> RingFunctions {
    functions(RingGrid::polar(18, spacing_mm, 35.5, 10.0))
}

/// All of a basis at once.
pub fn whole(ring: &CrystalRing, functions: &RingFunctions) -> ResponsePart {
    response_part(ring, &functions.basis, 0..functions.basis.cells().num_half_slices())
}

/// The share of the decays at a place that is counted and that is rejected, and the counts of each line.
fn seen_at(detector: &RingDetector, place: Point, num: u64, seed: u64) -> ([f64; 2], BTreeMap<usize, [f64; 2]>) {
    let (mut shares, mut lines) = ([0.0; 2], BTreeMap::<usize, [f64; 2]>::new());
    for history in 0..num {
        match detector.outcome(place, &mut stream(seed, history)) {
            DecayOutcome::Nothing => {}
            DecayOutcome::Multiple { weight } => shares[1] += weight / num as f64,
            DecayOutcome::Counted { lor, weight } => {
                shares[0] += weight / num as f64;
                let line = lines.entry(lor).or_default();
                *line = [line[0] + weight, line[1] + weight * weight];
            }
        }
    }
    (shares, lines)
}

#[test]
fn the_sensitivity_at_the_centre_is_that_of_a_crude_independent_program() {
    // 1.6 % with exactly two crystals, 2.2 % with multiples; LYSO, 200 keV.
    let detector = RingDetector::new(find_ring("madpet2").unwrap().clone()).unwrap();
    let ([counted, multiple], _) = seen_at(&detector, [0.0; 3], 400_000, 3);
    println!("counted {:.2} %, multiple {:.2} %", 100.0 * counted, 100.0 * multiple);
    assert!((0.013..0.020).contains(&counted) && (0.001..0.009).contains(&multiple), "{counted} {multiple}");
}

#[test]
fn forced_histories_count_what_free_ones_do() {
    const NUM: u64 = 3_000_000;
    let detector = RingDetector::new(small()).unwrap();
    let place = [12.0, -7.0, 3.0];
    let (_, forced) = seen_at(&detector, place, 400_000, 8);
    let mut free = BTreeMap::<usize, f64>::new();
    (0..NUM).filter_map(|h| detector.count(place, &mut stream(9, h))).for_each(|lor| *free.entry(lor).or_default() += 1.0);
    let (mut chi_square, mut num, mut sums) = (0.0, 0.0, [0.0; 2]);
    for (lor, [sum, square]) in &forced {
        let of = |total: f64, sum: f64| sum / total;
        let counts = free.get(lor).copied().unwrap_or_default();
        let (one, other) = (of(400_000.0, *sum), of(NUM as f64, counts));
        sums = [sums[0] + one, sums[1] + other];
        if counts > 20.0 {
            chi_square += (one - other).powi(2) / (square / 400_000f64.powi(2) + counts / (NUM as f64).powi(2));
            num += 1.0;
        }
    }
    println!("{sums:?}, χ² {chi_square:.1} of {num}");
    assert!((sums[0] / sums[1] - 1.0).abs() < 0.02, "{sums:?}");
    assert!(num > 30.0 && (chi_square - num).abs() < 4.5 * (2.0 * num).sqrt(), "χ² {chi_square} of {num}");
}

#[test]
fn a_place_and_its_images_are_seen_alike() {
    let ring = small();
    let detector = RingDetector::new(ring.clone()).unwrap();
    let place = [7.0, 2.0, 1.5];
    let (_, first) = seen_at(&detector, place, 200_000, 1);
    for (seed, number) in [(2, 5), (3, 18 + 7), (4, 36), (5, 71)] {
        let symmetry = ring.symmetry(number);
        let (_, there) = seen_at(&detector, ring.image_of_point(symmetry, place), 200_000, seed);
        let (mut chi_square, mut num) = (0.0, 0.0);
        for (lor, [sum, square]) in &first {
            let [other, other_square] = there.get(&ring.image_of_lor(symmetry, *lor)).copied().unwrap_or_default();
            if sum * sum / square > 20.0 {
                chi_square += (sum - other).powi(2) / (square + other_square);
                num += 1.0;
            }
        }
        println!("symmetry {number}: χ² {chi_square:.1} of {num}");
        assert!(num > 30.0 && (chi_square - num).abs() < 4.5 * (2.0 * num).sqrt(), "χ² {chi_square} of {num}");
    }
}

/// Unfolded rows against rows that are simulated directly: for some functions, anywhere in the ring, decays in proportion to them.
#[test]
fn the_matrix_unfolded_by_symmetry_is_what_each_function_is_seen_as() {
    const NUM: u64 = 300_000;
    let ring = small();
    let detector = RingDetector::new(ring.clone()).unwrap();
    let cubes = functions(RingGrid::cubes(5.0, 35.0, 35.5, 10.0));
    for (functions, symmetries, indices) in [
        (blobs(5.0), ring.symmetries(), [3 * 72 + 41, 7 * 72 + 20, 11 * 72 + 66]),
        (cubes, ring.symmetries_of_cubes().unwrap(), [(3 * 7 + 2) * 8 + 5, (49 + 4) * 8 + 2, (49 + 8) * 8 + 7]),
    ] {
        let cells = functions.basis.cells();
        let part = whole(&ring, &functions);
        let mut tally = ResponseTally::new(&detector, &functions, part, 1);
        tally.add(600_000, &Task::new()).unwrap();
        let statistics = tally.statistics().unwrap();
        assert!(statistics.num_elements > 0 && statistics.effective_counts > 5.0, "{statistics:?}");
        for index in indices {
            let (basic, symmetry) = (index / symmetries.len(), symmetries[index % symmetries.len()]);
            let middle = cells.middle_mm(index);
            let mut direct = vec![[0.0; 2]; ring.num_lors()];
            let side_mm = 2.0 * functions.basis.reach_mm().max(0.5 * cells.spacing_mm());
            for history in 0..NUM {
                let mut random = stream(77, history);
                let mut draw = || f64::from(random.next_u32()) / 4_294_967_296.0 - 0.5;
                let place = [0, 1, 2].map(|a| middle[a] + side_mm * draw());
                let mut value = 0.0;
                functions.basis.at(place, |at, found| value = if at == index { found } else { value });
                if value > 0.0
                    && place[0].hypot(place[1]) < ring.radius_mm
                    && let DecayOutcome::Counted { lor, weight } = detector.outcome(place, &mut random)
                {
                    let share = weight * value * side_mm.powi(3) / NUM as f64;
                    direct[lor] = [direct[lor][0] + share, direct[lor][1] + share * share];
                }
            }
            let (mut difference, mut sum, mut of_matrix) = (0.0, [0.0; 2], 0.0);
            for (lor, [value, _]) in direct.iter().enumerate() {
                let source = ring.image_of_lor(ring.inverse(symmetry), lor);
                let found = tally.row(source).find(|element| element.basic == basic);
                let found = found.map_or(0.0, |element| f64::from(element.value));
                difference += (found - value).powi(2);
                sum = [sum[0] + value, sum[1] + found];
                // Of an element of n effective counts.
                of_matrix += found * found / statistics.effective_counts;
            }
            let norm: f64 = direct.iter().map(|[value, _]| value * value).sum();
            let variance = of_matrix + direct.iter().map(|[_, square]| square).sum::<f64>();
            let [differs, noise] = [difference / norm, variance / norm].map(f64::sqrt);
            println!("function {index}: {sum:?}, differs by {differs:.3}, noise of both about {noise:.3}");
            assert!((sum[0] / sum[1] - 1.0).abs() < 0.03, "{sum:?}");
            assert!(difference < 2.0 * variance, "{difference} {variance}");
        }
    }
}

/// A matrix of a ring with random elements, some rows being empty.
pub fn random_matrix(ring: &CrystalRing, num_basic: usize) -> ResponseMatrix {
    let (mut first, mut elements) = (vec![0], Vec::new());
    let numbers = noise(9, ring.num_lors() * num_basic);
    for lor in 0..ring.num_lors() {
        for (basic, &number) in numbers[lor * num_basic..][..num_basic].iter().enumerate() {
            if number > 0.6 && lor % 7 != 0 {
                elements.push(MatrixElement::new(basic, number));
            }
        }
        first.push(elements.len() as u64);
    }
    let basis = BasisSettings { kind: BasisKind::Blobs, spacing_mm: 1.0, radius_mm: 1.0, half_length_mm: 1.0 };
    let (first, elements) = (Arc::new(first), Arc::new(elements));
    let matrix = ResponseMatrix { scanner: ring.name.clone(), basis, num_basic, scale_mm3: 0.5, first, elements, made: None };
    matrix.validate(ring).unwrap()
}

/// The groups of symmetries that stored matrices are used with.
pub fn groups(ring: &CrystalRing) -> [Vec<Symmetry>; 2] {
    [ring.symmetries(), ring.symmetries_of_cubes().unwrap()]
}

#[test]
fn the_stored_matrix_is_the_matrix_written_out() {
    let ring = small();
    let num_basic = 11;
    let matrix = Arc::new(random_matrix(&ring, num_basic));
    for symmetries in groups(&ring) {
        let (num, pairs) = (symmetries.len(), CrystalPairs::new(&ring, &symmetries));
        let len = pairs.len(Subset::ALL);
        let operator = StoredMatrix::new(Arc::clone(&matrix), pairs.clone(), num_basic / 3).unwrap();
        let x: Vec<f32> = noise(1, num_basic * num);
        let mut y: HostArray<Data> = vec![f32::NAN; len].into();
        operator.apply(&mut Host, Subset::ALL, &x.clone().into(), &mut y, &Task::new()).unwrap();
        let found = pairs.in_order(y.to_vec());
        let mut expected = vec![0.0; ring.num_lors()];
        for lor in 0..ring.num_lors() {
            for (g, &symmetry) in symmetries.iter().enumerate() {
                let image = ring.image_of_lor(symmetry, lor);
                let row = matrix.row(lor).iter();
                expected[image] += row.map(|e| 0.5 * f64::from(e.value()) * f64::from(x[e.basic() * num + g])).sum::<f64>();
            }
        }
        let error = found.iter().zip(&expected).map(|(a, b)| (f64::from(*a) - b).abs()).fold(0.0, f64::max);
        let largest = expected.iter().fold(0.0, |most: f64, v| most.max(*v));
        assert!(largest > 0.5 && error < 1e-6 * largest, "{error} {largest}");

        let values = Arc::new(noise(2, ring.num_lors()));
        let q: HostArray<Data> = pairs.arranged(&values, 1).into();
        assert_eq!(pairs.in_order(q.to_vec()), *values);
        let one = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
        let mut images = Vec::new();
        for &accumulation in operator.accumulations() {
            let mut back: HostArray<Image> = vec![f32::NAN; x.len()].into();
            // What threads would overwrite is kept by one alone.
            let mut adjoint = || operator.adjoint(&mut Host, Subset::ALL, &q, accumulation, &mut back, &Task::new());
            if accumulation.has_race() { one.install(adjoint) } else { adjoint() }.unwrap();
            let (there, here) = (dot(&y, &q), dot(&x, &back));
            assert!((there - here).abs() <= 1e-6 * there, "{accumulation}: {there} {here}");
            images.push(back.to_vec());
        }
        for image in &images[1..] {
            assert!(relative_difference(image, &images[0]) < 1e-6);
        }
    }
}

/// A place lies in one cube only, and all images of it under turns that cubes do not have are those of the basic cubes.
#[test]
fn every_image_of_a_place_is_a_function_of_the_ring() {
    let ring = small();
    for functions in
        [blobs(5.0), functions(RingGrid::polar(18, 5.0, 35.5, 10.0)), functions(RingGrid::cubes(5.0, 35.0, 35.5, 10.0))]
    {
        let cells = functions.basis.cells();
        let own = if cells.num_symmetries() == 72 { ring.symmetries() } else { ring.symmetries_of_cubes().unwrap() };
        for place in [[3.0, 4.0, 2.0], [-21.0, 7.5, -9.0], [11.0, -24.0, 6.0], [-1.0, -0.5, -1.0]] {
            let mut num = 0;
            functions.basis.at_images(18, place, |basic, symmetry, value| {
                // The basic function at the place carried back is what the function is at the place.
                let back = ring.image_of_point(ring.inverse(ring.symmetry(symmetry)), place);
                let unmoved = own.iter().position(|g| *g == ring.symmetry(0)).unwrap();
                let mut found = None;
                functions.basis.at(back, |index, value| {
                    if index == basic * own.len() + unmoved {
                        found = Some(value);
                    }
                });
                assert!(
                    found.is_some_and(|found| (found - value).abs() < 1e-9),
                    "{place:?} {basic} {symmetry} {found:?} {value}"
                );
                num += 1;
            });
            assert!(if cells.rings().is_some() { num >= 1 } else { (6..=9).contains(&num) }, "{num}");
        }
    }
}

/// Parts of a matrix together are the matrix but for noise, and each has its functions only.
#[test]
fn a_matrix_in_parts_is_the_matrix() {
    let ring = small();
    let detector = RingDetector::new(ring.clone()).unwrap();
    let functions = functions(RingGrid::cubes(5.0, 35.0, 35.5, 10.0));
    let simulated = |part: ResponsePart, seed| {
        let num = (8e5 * part.extent.mm3 / whole(&ring, &functions).extent.mm3) as u64;
        let mut tally = ResponseTally::new(&detector, &functions, part, seed);
        tally.add(num, &Task::new()).unwrap();
        Response::elements(&mut tally, &Task::new()).unwrap()
    };
    let sums = |elements: &ResponseElements| {
        let mut sums = vec![0.0; 98];
        elements.elements.iter().for_each(|element| sums[element.basic()] += f64::from(element.value() * elements.scale_mm3));
        sums
    };
    let one = sums(&simulated(whole(&ring, &functions), 4));
    let parts: Vec<ResponseElements> =
        [0..1, 1..2].into_iter().map(|slices| simulated(response_part(&ring, &functions.basis, slices), 5)).collect();
    assert!(parts[0].elements.iter().all(|e| e.basic() < 49) && parts[1].elements.iter().all(|e| e.basic() >= 49));
    let joined = ResponseElements::joined(parts);
    assert!(joined.elements.len() as u64 == joined.first[ring.num_lors()]);
    let basics =
        |lor: usize| joined.elements[joined.first[lor] as usize..joined.first[lor + 1] as usize].iter().map(|e| e.basic());
    assert!((0..ring.num_lors()).all(|lor| basics(lor).is_sorted()));
    let other = sums(&joined);
    for (basic, (one, other)) in one.iter().zip(&other).enumerate() {
        assert!((one - other).abs() <= 0.2 * one, "{basic}: {one} {other}");
    }
    let [one, other] = [one, other].map(|sums| sums.iter().sum::<f64>());
    assert!((one / other - 1.0).abs() < 0.02, "{one} {other}");
}

/// Two functions that are the same everywhere, the second so small that a share of it is far below a unit of the tallies.
struct LargeAndSmall;

/// A share of at most a sixth of a unit of the tallies.
const SMALL: f64 = 1e-5;

impl FunctionsAt for LargeAndSmall {
    fn at_images(&self, _: Point, visit: &mut dyn FnMut(usize, usize, f64)) {
        visit(0, 0, 1.0);
        visit(1, 0, SMALL);
    }
}

#[test]
fn shares_below_the_unit_of_the_tallies_are_not_lost() {
    let ring = small();
    let detector = RingDetector::new(ring.clone()).unwrap();
    let part = ResponsePart { basics: 0..2, extent: ResponseExtent::new(&ring, 30.0, [0.0, 5.0]) };
    let mut tally = ResponseTally::new(&detector, &LargeAndSmall, part, 3);
    tally.add(2_000_000, &Task::new()).unwrap();
    let mut sums = [0.0; 2];
    (0..ring.num_lors()).flat_map(|lor| tally.row(lor)).for_each(|element| sums[element.basic] += f64::from(element.value));
    let ratio = sums[1] / sums[0] / SMALL;
    println!("{ratio:.3} of what the second function has");
    // Some thousand units: 3 standard deviations.
    assert!((ratio - 1.0).abs() < 0.1, "{ratio}");
}

#[test]
fn tallies_do_not_depend_on_the_number_of_threads() {
    let ring = small();
    let detector = RingDetector::new(ring.clone()).unwrap();
    let functions = blobs(5.0);
    let rows = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let mut tally = ResponseTally::new(&detector, &functions, whole(&ring, &functions), 5);
        pool.install(|| tally.add(60_000, &Task::new())).unwrap();
        (0..ring.num_lors()).flat_map(|lor| tally.row(lor).collect::<Vec<_>>()).collect::<Vec<_>>()
    };
    assert_eq!(rows(1), rows(3));
}
