//! NEMA NU 2 image quality on images whose truth is known: the body phantom written point by point, blurred by a Gaussian and
//! with noise of a known size, shifted, turned, tilted, with its spheres in other orders.

use rand_distr::{Distribution as _, StandardNormal};
use tomoscope::data::Volume;
use tomoscope::data::nema::is_in_body;
use tomoscope::geometry::{Grid, Point};
use tomoscope::measure::nema::{NemaAnalysis, NemaError, NemaKnown, NemaPlacement, RecoveryRegions, Verdict, analyse, find};

/// FWHM of a Gaussian in standard deviations.
pub const FWHM_OF_SIGMA: f64 = 2.354_820_045;
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
pub fn blurred(volume: &Volume, fwhm_mm: f64) -> Volume {
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
pub fn white(grid: &Grid, sd: f64, seed: u64) -> Volume {
    let mut random = tomoscope::random::stream(seed, 0);
    let mut volume = Volume::filled(grid.clone(), 0.0);
    let mut normal = || -> f64 { StandardNormal.sample(&mut random) };
    volume.as_mut_slice().iter_mut().for_each(|value| *value = (sd * normal()) as f32);
    volume
}

pub fn plus(volume: &Volume, other: &Volume) -> Volume {
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
        if !["straight", "tilted", "another order, two cold", "weak"].contains(&what) {
            continue;
        }
        // A tenth of the contrast of hot spheres, of a background of 1 some 30 %, correlated as in an image after a few iterations.
        let noise = blurred(&white(&clinical(), 1.6 * ((truth.hot - 1.0) / 3.0).min(1.0), 3), 6.0);
        assert_is(&found(&plus(&image, &noise)), &truth, 1.5, &format!("{what}, with noise"));
    }
}

/// Value of a ball of 1 at a distance from its centre, blurred by a Gaussian: the mean of the Gaussian over spherical shells,
/// integrated over their radii.
fn blurred_ball(radius: f64, sigma: f64, distance: f64) -> f64 {
    const STEPS: usize = 400;
    let r = distance.max(1e-3);
    let gauss = |x: f64| (-0.5 * (x / sigma).powi(2)).exp();
    let shell = |s: f64| s / (r * sigma * (2.0 * std::f64::consts::PI).sqrt()) * (gauss(r - s) - gauss(r + s));
    let step = radius / STEPS as f64;
    (0..STEPS).map(|k| shell((k as f64 + 0.5) * step) * step).sum()
}

/// Mean of a blurred ball over the disc of its own radius through its centre.
fn blurred_ball_in_disc(radius: f64, sigma: f64) -> f64 {
    const STEPS: usize = 200;
    let ring = |k: usize| (k as f64 + 0.5) * radius / STEPS as f64;
    let sum: f64 = (0..STEPS).map(|k| ring(k) * blurred_ball(radius, sigma, ring(k))).sum();
    sum / (0..STEPS).map(ring).sum::<f64>()
}

/// Voxels of 2 mm about the phantom, with the spheres' plane through the middle of a slice.
fn fine() -> Grid {
    Grid::centred([158, 128, 47], [2.0; 3]).unwrap()
}

#[test]
fn contrast_of_blurred_spheres_is_that_of_the_closed_form() {
    const FWHM_MM: f64 = 8.0;
    let image = blurred(&Truth { cold_from: 25.0, ..STRAIGHT }.image(fine()), FWHM_MM);
    // Values are means over voxels, and circles take whole voxels by their part: twice a variance of d²/12.
    let sigma = ((FWHM_MM / FWHM_OF_SIGMA).powi(2) + 2.0 * 2.0f64.powi(2) / 12.0).sqrt();
    let figures = figures(&image, 4.0);
    for sphere in &figures.spheres {
        let expected = blurred_ball_in_disc(0.5 * sphere.diameter_mm, sigma);
        let found = sphere.contrast.unwrap();
        assert!((found - expected).abs() < 0.01, "{} mm: {found:.4} where {expected:.4} is expected", sphere.diameter_mm);
        // What the spheres near the circles spill into them.
        assert!((sphere.background_mean - 1.0).abs() < 0.02, "{}", sphere.background_mean);
    }
}

#[test]
fn contrast_of_sharp_spheres_grows_to_all_of_it_with_smaller_voxels() {
    let truth = Truth { cold_from: 25.0, ..STRAIGHT };
    let contrasts = |voxel_mm: f64| -> Vec<[f64; 2]> {
        let voxels = |mm: f64| (mm / voxel_mm) as usize;
        let grid = Grid::centred([voxels(310.0), voxels(250.0), voxels(45.0) | 1], [voxel_mm; 3]).unwrap();
        let figures = figures(&truth.image(grid), 4.0);
        figures.spheres.iter().map(|sphere| [sphere.diameter_mm, sphere.contrast.unwrap()]).collect()
    };
    let (coarse, fine) = (contrasts(3.0), contrasts(1.2));
    for ([diameter, coarse], [_, fine]) in coarse.into_iter().zip(fine) {
        // Only voxels on the rim hold less: a rim of a voxel has 4 d / D of the circle, and loses less than a third.
        assert!(fine > 1.0 - 4.0 / 3.0 * 1.2 / diameter && fine <= 1.0 + 1e-6, "{diameter} mm: {fine}");
        assert!(fine > coarse, "{diameter} mm: {coarse}, {fine}");
    }
}

/// Standard deviation of the mean over a region where white noise of 1 was blurred.
fn sd_of_mean(roi: &tomoscope::data::Roi, grid: &Grid, fwhm_mm: Option<f64>) -> f64 {
    let mut weights = Volume::filled(grid.clone(), 0.0);
    for &(voxel, weight) in roi.mask(grid).voxels.iter() {
        weights.as_mut_slice()[voxel as usize] = weight;
    }
    let sum = weights.sum();
    let spread = fwhm_mm.map_or_else(|| weights.clone(), |fwhm_mm| blurred(&weights, fwhm_mm));
    spread.as_slice().iter().map(|&w| f64::from(w).powi(2)).sum::<f64>().sqrt() / sum
}

#[test]
fn variability_is_that_of_the_noise_white_or_blurred() {
    use tomoscope::data::{RoiRole, RoiShape};
    const NUM_IMAGES: u64 = 5;
    let image = STRAIGHT.image(clinical());
    let placement = found(&image);
    for fwhm_mm in [None, Some(7.0)] {
        let mut sums = [[0.0; 2]; 6];
        for seed in 0..NUM_IMAGES {
            let noise = white(&clinical(), 0.3, seed);
            let noise = fwhm_mm.map_or_else(|| noise.clone(), |fwhm_mm| blurred(&noise, fwhm_mm));
            let figures = analyse(&plus(&image, &noise), &placement, None).unwrap();
            for (sum, sphere) in sums.iter_mut().zip(&figures.spheres) {
                assert_eq!(sphere.contrast, None, "no ratio is known");
                sum[0] += sphere.variability.unwrap().powi(2);
                sum[1] += sphere.voxel_noise.unwrap().powi(2);
            }
        }
        let of_role = placement.rois(None).into_iter().find(|roi| roi.role == RoiRole::Background).unwrap();
        let voxel_sd = {
            let mut point = Volume::filled(Grid::centred([61; 3], clinical().voxel_mm).unwrap(), 0.0);
            point.values[[30, 30, 30]] = 1.0;
            let spread = fwhm_mm.map_or_else(|| point.clone(), |fwhm_mm| blurred(&point, fwhm_mm));
            0.3 * spread.as_slice().iter().map(|&v| f64::from(v).powi(2)).sum::<f64>().sqrt()
        };
        for (sum, diameter) in sums.into_iter().zip([10.0, 13.0, 17.0, 22.0, 28.0, 37.0]) {
            let mut roi = of_role.clone();
            let RoiShape::Circle { radius_mm, .. } = &mut roi.shape else { panic!("not a circle") };
            *radius_mm = 0.5 * diameter;
            let expected = 0.3 * sd_of_mean(&roi, &clinical(), fwhm_mm);
            let [variability, voxels] = sum.map(|sum: f64| (sum / NUM_IMAGES as f64).sqrt());
            // Of 300 means, whose standard deviation is known to one in √600.
            assert!((variability / expected - 1.0).abs() < 0.13, "{diameter} mm, {fwhm_mm:?}: {variability} is not {expected}");
            assert!((voxels / voxel_sd - 1.0).abs() < 0.1, "{diameter} mm, {fwhm_mm:?}: {voxels} is not {voxel_sd}");
        }
    }
}

#[test]
fn what_is_left_in_the_lung_is_told_slice_by_slice() {
    for lung in [0.0, 0.3] {
        let image = blurred(&Truth { lung, centre_mm: [4.0, -6.0, 3.0], ..STRAIGHT }.image(clinical()), 6.5);
        let figures = figures(&image, 4.0);
        let [x, y] = figures.placement.lung_mm.unwrap();
        assert!((x - 4.0).abs() < 0.5 && (y + 6.0).abs() < 0.5, "({x}, {y})");
        // The phantom is whole from z = −57 to the image's end at 88 mm.
        assert!((43..=45).contains(&figures.lung.len()), "{}", figures.lung.len());
        for slice in &figures.lung {
            assert!((slice.residual - lung).abs() < 0.01, "z = {}: {}", slice.z_mm, slice.residual);
        }
        assert!((figures.mean_lung_residual.unwrap() - lung).abs() < 0.005);
    }
    // Without an insert there is nothing to tell.
    let figures = figures(&blurred(&Truth { lung: 1.0, ..STRAIGHT }.image(clinical()), 6.5), 4.0);
    assert_eq!((figures.placement.lung_mm, figures.lung.len(), figures.mean_lung_residual), (None, 0, None));
}

#[test]
fn circles_of_a_template_that_was_moved_are_measured_where_they_are() {
    let volume = Truth { lung: 0.2, ..STRAIGHT }.image(clinical());
    let placement = found(&volume);
    let mut rois = placement.rois(None);
    let before = analyse(&volume, &placement.with_rois(&rois).unwrap(), Some(4.0)).unwrap();
    assert_eq!(before.spheres, figures(&volume, 4.0).spheres);
    assert_eq!(before.lung, figures(&volume, 4.0).lung);
    // The largest sphere's goes to the lung insert, one of the background's to where that sphere is.
    let largest = rois.iter().position(|roi| roi.name == "sphere 37 mm").unwrap();
    let background = rois.iter().position(|roi| roi.name == "background 4, -10 mm").unwrap();
    let (sphere_mm, lung_mm) = (rois[largest].centre_mm, rois.last().unwrap().centre_mm);
    rois[largest].centre_mm = lung_mm;
    rois[background].centre_mm = sphere_mm;
    let moved = placement.with_rois(&rois).unwrap();
    let after = analyse(&volume, &moved, Some(4.0)).unwrap();
    let mean = |roi: &tomoscope::data::Roi| {
        let sums = roi.mask(&volume.grid).sums(volume.as_slice());
        sums.sum / sums.weight
    };
    let of_sphere = after.spheres[5];
    assert!((of_sphere.mean - mean(&rois[largest])).abs() < 1e-9 && of_sphere.mean < 0.5, "{of_sphere:?}");
    let means: Vec<f64> = rois.iter().filter(|roi| roi.name.starts_with("background")).map(mean).collect();
    assert_eq!(means.len(), 60);
    assert!((of_sphere.background_mean - means.iter().sum::<f64>() / 60.0).abs() < 1e-9);
    assert!(of_sphere.background_mean > before.spheres[5].background_mean + 0.02);
    assert_eq!(
        after.spheres[..5].iter().map(|s| s.mean).collect::<Vec<_>>(),
        before.spheres[..5].iter().map(|s| s.mean).collect::<Vec<_>>()
    );
    // Of the two the lung insert's lies 57.2 mm from the sphere's place, the other farther.
    assert!(after.placement.moved_mm.unwrap() > 57.0);
}

#[test]
fn what_is_known_is_taken() {
    let image = blurred(&STRAIGHT.image(clinical()), 6.5);
    let order = [37.0, 28.0, 22.0, 17.0, 13.0, 10.0];
    let known = NemaKnown { centre_mm: Some([1.0, 2.0, 3.0]), ring_turn_rad: Some(0.1), order_mm: Some(order) };
    let placement = find(&image, &known).unwrap();
    assert_eq!((placement.centre_mm, placement.ring_turn_rad), ([1.0, 2.0, 3.0], 0.1));
    assert_eq!(placement.spheres.map(|sphere| sphere.diameter_mm), order);
}

#[test]
fn what_is_no_body_phantom_is_answered_with_a_sentence() {
    let none = find(&Volume::filled(clinical(), 0.0), &NemaKnown::default());
    assert_eq!(none, Err(NemaError::Empty));
    let mut cylinder = Volume::filled(clinical(), 0.0);
    for ((_, y, x), value) in cylinder.values.indexed_iter_mut() {
        let [x, y, _] = clinical().mm_from_voxel([x as f64, y as f64, 0.0]);
        *value = f32::from(u8::from(x.hypot(y) < 100.0));
    }
    assert!(matches!(find(&cylinder, &NemaKnown::default()), Err(NemaError::NotTheBody { .. })));
    let noise = blurred(&white(&clinical(), 0.5, 1), 6.0);
    let uniform = plus(&blurred(&Truth { hot: 1.0, ..STRAIGHT }.image(clinical()), 6.0), &noise);
    let error = find(&uniform, &NemaKnown::default()).unwrap_err();
    assert!(matches!(error, NemaError::NoSpheres { .. }), "{error}");
    let short = Grid::new([118, 96, 12], [2.8, 2.8, 3.27], [-163.8, -120.0, -10.0]).unwrap();
    let image = blurred(&STRAIGHT.image(short), 6.5);
    let error = analyse(&image, &found(&image), None).unwrap_err();
    assert!(matches!(error, NemaError::CutOff { .. }), "{error}");
}

/// Recovery coefficients of max, mean A50 and peak of a ball of a contrast, blurred by a Gaussian, in closed form: those of the
/// blurred profile about its centre, of the ball in which it reaches half of its height, and of a ball of 1 mL.
fn recovery_of_blurred_ball(radius: f64, sigma: f64, ratio: f64) -> [f64; 3] {
    const STEP_MM: f64 = 0.1;
    let profile: Vec<f64> = (0..300).map(|k| (f64::from(k) + 0.5) * STEP_MM).map(|r| blurred_ball(radius, sigma, r)).collect();
    let mean = |num: usize| {
        let weight = |k: usize| (k as f64 + 0.5).powi(2);
        (0..num).map(|k| weight(k) * profile[k]).sum::<f64>() / (0..num).map(weight).sum::<f64>()
    };
    let half = profile.iter().position(|value| *value < 0.5 * profile[0]).unwrap();
    let coefficient = |value: f64| (1.0 + (ratio - 1.0) * value) / ratio;
    [profile[0], mean(half), mean((6.2035 / STEP_MM) as usize)].map(coefficient)
}

#[test]
fn recovery_of_blurred_spheres_is_that_of_the_closed_form_and_complies_at_the_widths_between() {
    const RATIO: f64 = 10.0;
    let earl = tomoscope::io::recovery::find("earl-18f-1").unwrap();
    let truth = Truth { hot: RATIO, ..STRAIGHT }.image(fine());
    let placement = found(&blurred(&truth, 6.0));
    let regions = RecoveryRegions::new(&placement, &fine(), Some(RATIO)).unwrap();
    for (fwhm_mm, complies, first_outside) in
        [(6.0, false, "max of 10 mm is "), (8.0, true, ""), (10.0, false, "A50 of 13 mm is "), (11.0, false, " of 13 mm is ")]
    {
        let found = regions.measure(&blurred(&truth, fwhm_mm), true).unwrap();
        // A voxel is the mean over its side.
        let sigma = ((fwhm_mm / FWHM_OF_SIGMA).powi(2) + 2.0f64.powi(2) / 12.0).sqrt();
        for sphere in &found.spheres {
            let expected = recovery_of_blurred_ball(0.5 * sphere.diameter_mm, sigma, RATIO);
            let values = [sphere.max, sphere.mean_a50, sphere.peak.unwrap()];
            // The maximum lies up to half a voxel from the centre; of A50 whole voxels count.
            for ((value, expected), tolerance) in values.into_iter().zip(expected).zip([0.02, 0.03, 0.02]) {
                let off = (value - expected).abs();
                assert!(off < tolerance, "{fwhm_mm} mm, {} mm: {values:?}, not {expected}", sphere.diameter_mm);
            }
        }
        let verdict = Verdict::of(&found, earl);
        assert_eq!(verdict.complies(), complies, "{fwhm_mm} mm: {:?}", verdict.worst().unwrap());
        let outside: Vec<String> = verdict.deviations.iter().filter(|d| d.excess() != 0.0).map(|d| d.text()).collect();
        assert!(complies || outside.iter().any(|text| text.contains(first_outside)), "{fwhm_mm} mm: {outside:?}");
    }
    // A ratio that is too small doubles every coefficient, and none of the mean lies in its band.
    let halved = RecoveryRegions::new(&placement, &fine(), Some(0.5 * RATIO)).unwrap();
    let doubled = halved.measure(&blurred(&truth, 8.0), false).unwrap();
    assert_eq!((Verdict::of(&doubled, earl).num_outside(), doubled.spheres[0].peak), (12, None));
}

#[test]
fn recovery_needs_six_hot_spheres_and_their_ratio() {
    let image = blurred(&STRAIGHT.image(clinical()), 6.5);
    let placement = found(&image);
    let refused = |placement: &NemaPlacement, ratio: Option<f64>| RecoveryRegions::new(placement, &clinical(), ratio).err();
    assert_eq!(refused(&placement, Some(4.0)), None);
    assert_eq!(refused(&placement, None), Some(NemaError::NoRatio));
    assert_eq!(refused(&placement, Some(0.5)), Some(NemaError::HotRatio(0.5)));
    let two_cold = found(&blurred(&Truth { cold_from: 25.0, ..STRAIGHT }.image(clinical()), 6.5));
    let error = refused(&two_cold, Some(4.0)).unwrap();
    assert_eq!(error, NemaError::ColdSpheres { num: 2, largest_mm: 37.0 });
    assert!(error.to_string().contains("six hot spheres; 2 of them are colder"), "{error}");
    let regions = RecoveryRegions::new(&placement, &clinical(), Some(4.0)).unwrap();
    let empty = Volume::filled(clinical(), 0.0);
    assert_eq!(regions.measure(&empty, false), Err(NemaError::Background { mean: 0.0 }));
    assert!(regions.measure(&Volume::filled(fine(), 1.0), false).is_err());
    // A sphere like its background: each coefficient is that of the background.
    let flat = regions.measure(&Volume::filled(clinical(), 2.0), true).unwrap();
    assert!(flat.spheres.iter().all(|sphere| (sphere.mean_a50, sphere.max) == (0.25, 0.25)), "{flat:?}");
}
