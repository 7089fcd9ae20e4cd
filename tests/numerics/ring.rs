//! Decays in a ring of crystals, the matrix of its response, and the operator that stores it.

use std::collections::BTreeMap;
use std::sync::Arc;

use tomoscope::algebra::{Data, Host, HostArray, Image, PolarBasis, PolarGrid};
use tomoscope::data::{BasisKind, BasisSettings, MatrixElement, ResponseMatrix};
use tomoscope::geometry::{Grid, Point};
use tomoscope::montecarlo::{FunctionsAt, ResponseExtent, ResponseTally, RingDetector, Seen};
use tomoscope::operator::{Accumulation, CrystalPairs, DataSpace, LinearOperator, StoredMatrix, Subset};
use tomoscope::random::stream;
use tomoscope::scanner::{CrystalRing, find_ring};
use tomoscope::task::Task;

use super::support::{dot, noise};

fn reduced() -> CrystalRing {
    find_ring("madpet2-reduced").unwrap().clone()
}

/// A ring of 36 crystals, whose lines can be counted on fingers.
pub fn small() -> CrystalRing {
    CrystalRing { num: [1, 2], pitch_mm: [9.2, 9.2], size_mm: [9.0, 9.0], layer_depths_mm: vec![14.0], ..reduced() }
}

pub struct Functions(pub PolarBasis);

impl FunctionsAt for Functions {
    fn at(&self, point: Point, visit: &mut dyn FnMut(usize, f64)) {
        self.0.at(point, visit);
    }
}

pub fn functions(spacing_mm: f64) -> Functions {
    let cells = PolarGrid::new(18, spacing_mm, 35.5, 10.0);
    Functions(PolarBasis::blobs(cells, Grid::centred([4, 4, 4], [1.0; 3]).unwrap()))
}

/// The share of the decays at a place that is counted and that is rejected, and the counts of each line.
fn seen_at(detector: &RingDetector, place: Point, num: u64, seed: u64) -> ([f64; 2], BTreeMap<usize, [f64; 2]>) {
    let (mut shares, mut lines) = ([0.0; 2], BTreeMap::<usize, [f64; 2]>::new());
    for history in 0..num {
        match detector.see(place, &mut stream(seed, history)) {
            Seen::Nothing => {}
            Seen::Multiple { weight } => shares[1] += weight / num as f64,
            Seen::Counted { lor, weight } => {
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

/// Unfolded rows against rows that are simulated directly: for some blobs, anywhere in the ring, decays in proportion to them.
#[test]
fn the_matrix_unfolded_by_symmetry_is_what_each_blob_is_seen_as() {
    const NUM: u64 = 300_000;
    let ring = small();
    let detector = RingDetector::new(ring.clone()).unwrap();
    let functions = functions(5.0);
    let cells = functions.0.polar_grid().clone();
    let [radius_mm, half_mm] = cells.extent_mm();
    let reach_mm = functions.0.reach_mm();
    let extent = ResponseExtent::new(&ring, [radius_mm + reach_mm, half_mm + reach_mm]);
    let mut tally = ResponseTally::new(&detector, &functions, cells.num_basic(), extent, 1);
    tally.add(600_000, &Task::new()).unwrap();
    let statistics = tally.statistics();
    assert!(statistics.num_elements > 0 && statistics.effective_counts > 5.0, "{statistics:?}");
    for index in [3 * 72 + 41, 7 * 72 + 20, 11 * 72 + 66] {
        let (basic, symmetry) = (index / 72, ring.symmetry(index % 72));
        let middle = cells.middle_mm(index);
        let mut direct = vec![[0.0; 2]; ring.num_lors()];
        let side_mm = 2.0 * reach_mm;
        for history in 0..NUM {
            let mut random = stream(77, history);
            let mut draw = || f64::from(random.next_u32()) / 4_294_967_296.0 - 0.5;
            let place = [0, 1, 2].map(|a| middle[a] + side_mm * draw());
            let mut value = 0.0;
            functions.at(place, &mut |at, found| value = if at == index { found } else { value });
            if value > 0.0
                && place[0].hypot(place[1]) < ring.radius_mm
                && let Seen::Counted { lor, weight } = detector.see(place, &mut random)
            {
                let share = weight * value * side_mm.powi(3) / NUM as f64;
                direct[lor] = [direct[lor][0] + share, direct[lor][1] + share * share];
            }
        }
        let (mut difference, mut sum) = (0.0, [0.0; 2]);
        for (lor, [value, _]) in direct.iter().enumerate() {
            let source = ring.image_of_lor(ring.inverse(symmetry), lor);
            let found = tally.row(source).find(|element| element.basic == basic).map_or(0.0, |element| f64::from(element.value));
            difference += (found - value).powi(2);
            sum = [sum[0] + value, sum[1] + found];
        }
        let norm: f64 = direct.iter().map(|[value, _]| value * value).sum();
        let variance: f64 = direct.iter().map(|[_, square]| square).sum();
        println!(
            "function {index}: {sum:?}, differs by {:.3}, noise of one {:.3}",
            (difference / norm).sqrt(),
            (variance / norm).sqrt()
        );
        assert!((sum[0] / sum[1] - 1.0).abs() < 0.03, "{sum:?}");
        // Both are noisy; the matrix has about as many decays in a blob as this.
        assert!(difference < 4.0 * variance, "{difference} {variance}");
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

#[test]
fn the_stored_matrix_is_the_matrix_written_out() {
    let ring = small();
    let num_basic = 11;
    let matrix = random_matrix(&ring, num_basic);
    let pairs = CrystalPairs::new(&ring);
    let len = pairs.len(Subset::ALL);
    let operator = StoredMatrix::new(matrix.clone(), pairs.clone()).unwrap();
    let x: Vec<f32> = noise(1, num_basic * 72);
    let mut y: HostArray<Data> = vec![f32::NAN; len].into();
    operator.apply(&mut Host, Subset::ALL, &x.clone().into(), &mut y, &Task::new()).unwrap();
    let found = pairs.in_order(y.to_vec());
    let mut expected = vec![0.0; ring.num_lors()];
    for lor in 0..ring.num_lors() {
        for g in 0..72 {
            let image = ring.image_of_lor(ring.symmetry(g), lor);
            let row = matrix.row(lor).iter();
            expected[image] += row.map(|e| 0.5 * f64::from(e.value()) * f64::from(x[e.basic() * 72 + g])).sum::<f64>();
        }
    }
    let error = found.iter().zip(&expected).map(|(a, b)| (f64::from(*a) - b).abs()).fold(0.0, f64::max);
    let largest = expected.iter().fold(0.0, |most: f64, v| most.max(*v));
    assert!(largest > 1.0 && error < 1e-6 * largest, "{error} {largest}");

    let values = Arc::new(noise(2, ring.num_lors()));
    let q = pairs.arranged(&values, 1);
    let mut back: HostArray<Image> = vec![f32::NAN; x.len()].into();
    let q: HostArray<Data> = q.into();
    operator.adjoint(&mut Host, Subset::ALL, &q, Accumulation::Deterministic, &mut back, &Task::new()).unwrap();
    let (there, here) = (dot(&y, &q), dot(&x, &back));
    assert!((there - here).abs() <= 1e-6 * there, "{there} {here}");
    assert_eq!(pairs.in_order(q.to_vec()), *values);
}

#[test]
fn tallies_do_not_depend_on_the_number_of_threads() {
    let detector = RingDetector::new(small()).unwrap();
    let functions = functions(5.0);
    let num_basic = functions.0.polar_grid().num_basic();
    let rows = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let extent = ResponseExtent::new(detector.ring(), [45.0, 20.0]);
        let mut tally = ResponseTally::new(&detector, &functions, num_basic, extent, 5);
        pool.install(|| tally.add(60_000, &Task::new())).unwrap();
        (0..detector.ring().num_lors()).flat_map(|lor| tally.row(lor).collect::<Vec<_>>()).collect::<Vec<_>>()
    };
    assert_eq!(rows(1), rows(3));
}
