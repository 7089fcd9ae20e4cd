//! NEMA NU 2 image quality on images whose truth is known: the body phantom written point by point, blurred by a Gaussian and
//! with noise of a known size, shifted, turned, tilted, with its spheres in other orders.

use rand_distr::{Distribution as _, StandardNormal};
use tomoscope::data::Volume;
use tomoscope::data::nema::is_in_body;
use tomoscope::geometry::{Grid, Point};
use tomoscope::measure::nema::{NemaAnalysis, NemaError, NemaKnown, NemaPlacement, analyse, find};

/// FWHM of a Gaussian in standard deviations.
const FWHM_OF_SIGMA: f64 = 2.354_820_045;
/// The order of the public implementations, from +x towards −y.
const USUAL: [f64; 6] = [17.0, 10.0, 13.0, 37.0, 22.0, 28.0];

/// A body phantom somewhere.
#[derive(Clone, Copy)]
struct Truth {
    /// Middle of the ring, mm.
    centre_mm: Point,
    /// Turn of everything from +x towards −y, and of the spheres in it, degrees.
    turn_deg: f64,
    ring_deg: f64,
    /// Tilt about x, degrees.
    tilt_deg: f64,
    order: [f64; 6],
    /// Diameters from which on spheres are cold, and the activity of the others.
    cold_from: f64,
    hot: f64,
    /// Activity of the lung insert.
    lung: f64,
}

const STRAIGHT: Truth = Truth {
    centre_mm: [0.0; 3],
    turn_deg: 0.0,
    ring_deg: 0.0,
    tilt_deg: 0.0,
    order: USUAL,
    cold_from: f64::INFINITY,
    hot: 4.0,
    lung: 0.0,
};

impl Truth {
    fn activity(&self, at: Point) -> f64 {
        let [x, y, z] = std::array::from_fn(|a| at[a] - self.centre_mm[a]);
        let (sin, cos) = self.tilt_deg.to_radians().sin_cos();
        let (y, z) = (y * cos + z * sin, z * cos - y * sin);
        let (sin, cos) = self.turn_deg.to_radians().sin_cos();
        let (x, up) = (x * cos - y * sin, -(x * sin + y * cos));
        if !is_in_body([x, up]) || !(-70.0..=110.0).contains(&z) {
            return 0.0;
        }
        for (place, diameter) in (0..).zip(self.order) {
            let (sin, cos) = (60.0 * f64::from(place) + self.ring_deg).to_radians().sin_cos();
            if (x - 57.2 * cos).hypot(up - 57.2 * sin).hypot(z) <= 0.5 * diameter {
                return if diameter >= self.cold_from { 0.0 } else { self.hot };
            }
        }
        if x.hypot(up) <= 25.0 { self.lung } else { 1.0 }
    }

    /// Its image, every voxel the mean of 4 × 4 × 4 points.
    fn image(&self, grid: Grid) -> Volume {
        let mut volume = Volume::filled(grid.clone(), 0.0);
        let offset = |k: usize| (k as f64 + 0.5) / 4.0 - 0.5;
        for ((z, y, x), value) in volume.values.indexed_iter_mut() {
            let at = |i, j, k| grid.mm_from_voxel([x as f64 + offset(i), y as f64 + offset(j), z as f64 + offset(k)]);
            let corners =
                [at(0, 0, 0), at(3, 0, 0), at(0, 3, 0), at(3, 3, 0), at(0, 0, 3), at(3, 0, 3), at(0, 3, 3), at(3, 3, 3)];
            let first = self.activity(corners[0]);
            if corners.iter().all(|&corner| self.activity(corner) == first) {
                *value = first as f32;
                continue;
            }
            let points = (0..64).map(|n| self.activity(at(n % 4, n / 4 % 4, n / 16)));
            *value = (points.sum::<f64>() / 64.0) as f32;
        }
        volume
    }
}

/// A volume convolved with a Gaussian, zero outside.
fn blurred(volume: &Volume, fwhm_mm: f64) -> Volume {
    let mut blurred = volume.clone();
    for axis in 0..3 {
        let sigma = fwhm_mm / FWHM_OF_SIGMA / volume.grid.voxel_mm[axis];
        let reach = (4.0 * sigma).ceil() as i64;
        let weights: Vec<f64> = (-reach..=reach).map(|k| (-0.5 * (k as f64 / sigma).powi(2)).exp()).collect();
        let sum: f64 = weights.iter().sum();
        for mut lane in blurred.values.lanes_mut(ndarray::Axis(2 - axis)) {
            let before = lane.to_vec();
            for (i, value) in (0i64..).zip(lane.iter_mut()) {
                let near = (-reach..=reach)
                    .zip(&weights)
                    .filter_map(|(k, w)| Some(w * f64::from(*before.get(usize::try_from(i + k).ok()?)?)));
                *value = (near.sum::<f64>() / sum) as f32;
            }
        }
    }
    blurred
}

/// White noise of this standard deviation on the grid of a volume.
fn white(grid: &Grid, sd: f64, seed: u64) -> Volume {
    let mut random = tomoscope::random::stream(seed, 0);
    let mut volume = Volume::filled(grid.clone(), 0.0);
    let mut normal = || -> f64 { StandardNormal.sample(&mut random) };
    volume.as_mut_slice().iter_mut().for_each(|value| *value = (sd * normal()) as f32);
    volume
}

fn plus(volume: &Volume, other: &Volume) -> Volume {
    Volume { values: &volume.values + &other.values, ..volume.clone() }
}

fn clinical() -> Grid {
    Grid::new([118, 96, 52], [2.8, 2.8, 3.27], [-163.8, -120.0, -80.0]).unwrap()
}

fn found(volume: &Volume) -> NemaPlacement {
    find(volume, &NemaKnown::default()).unwrap()
}

fn figures(volume: &Volume, ratio: f64) -> NemaAnalysis {
    analyse(volume, &found(volume), Some(ratio)).unwrap()
}

/// Whether a placement is a truth's: middle within `mm`, turns within 1.5°, and every sphere's size and kind where it is.
fn assert_is(placement: &NemaPlacement, truth: &Truth, mm: f64, what: &str) {
    for axis in 0..3 {
        let off = placement.centre_mm[axis] - truth.centre_mm[axis];
        assert!(off.abs() <= mm, "{what}: {:?} is not {:?}", placement.centre_mm, truth.centre_mm);
    }
    let difference = |a: f64, b: f64| (a - b + 540.0).rem_euclid(360.0) - 180.0;
    let turn = placement.body_turn_rad.to_degrees();
    assert!(difference(turn, truth.turn_deg).abs() < 1.5, "{what}: turned by {turn}°, not by {}°", truth.turn_deg);
    for (place, diameter) in (0..).zip(truth.order) {
        let angle = 60.0 * f64::from(place) + truth.ring_deg + truth.turn_deg;
        let off = |other: usize| difference(placement.ring_turn_rad.to_degrees() + 60.0 * other as f64, angle).abs();
        let nearest = (0..6).min_by(|&a, &b| off(a).total_cmp(&off(b))).unwrap();
        let sphere = placement.spheres[nearest];
        assert!(off(nearest) < 1.5, "{what}: the ring is {}° off", off(nearest));
        assert_eq!((sphere.diameter_mm, sphere.is_hot), (diameter, diameter < truth.cold_from), "{what} at {angle}°");
    }
}

#[test]
fn the_phantom_is_found_wherever_it_lies_and_whatever_its_order() {
    let other = [37.0, 28.0, 22.0, 17.0, 13.0, 10.0];
    let truths = [
        ("straight", STRAIGHT),
        ("four hot, two cold", Truth { cold_from: 25.0, ..STRAIGHT }),
        ("shifted", Truth { centre_mm: [7.3, -5.1, 9.4], ..STRAIGHT }),
        ("turned", Truth { turn_deg: 7.0, centre_mm: [-3.0, 4.0, -2.0], ..STRAIGHT }),
        ("tilted", Truth { tilt_deg: 3.0, cold_from: 25.0, ..STRAIGHT }),
        ("face down", Truth { turn_deg: 184.0, ..STRAIGHT }),
        ("ring turned in the body", Truth { ring_deg: -12.0, ..STRAIGHT }),
        ("another order", Truth { order: other, turn_deg: -4.0, ..STRAIGHT }),
        ("another order, two cold", Truth { order: other, cold_from: 25.0, hot: 8.0, ..STRAIGHT }),
        ("all cold", Truth { cold_from: 0.0, ..STRAIGHT }),
        ("weak", Truth { hot: 2.0, ..STRAIGHT }),
    ];
    for (what, truth) in truths {
        let image = blurred(&truth.image(clinical()), 6.5);
        assert_is(&found(&image), &truth, 1.0, what);
        // Some 35 % of noise, correlated as in an image after a few iterations.
        let noise = blurred(&white(&clinical(), 1.6, 3), 6.0);
        assert_is(&found(&plus(&image, &noise)), &truth, 1.5, &format!("{what}, with noise"));
    }
}
