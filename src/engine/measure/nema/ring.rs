//! The ring of six spheres: its plane, middle and turn, and the order of the spheres.
//!
//! A first search finds the ring, among all planes and turns, whose six positions differ most from the background. Then balls
//! blurred by a Gaussian are fitted at the six positions (a matched filter): with templates t for the balls, all hot ones of one
//! contrast and all cold ones of another, least squares explain
//!
//! ```text
//! E = (Σ_hot ⟨d, t⟩)² / Σ_hot ⟨t, t⟩ + (Σ_cold ⟨d, t⟩)² / Σ_cold ⟨t, t⟩,      d = image − background of the slice
//! ```
//!
//! of the image about the positions. The order of sizes, the blur, middle and turn maximise E. One contrast for all hot spheres
//! distinguishes the smallest from one another: blurred, they differ by their content, not by their width.

use super::NemaError;
use super::background::background_places;
use super::body::Body;
use super::placement::{NemaKnown, NemaPlacement, NemaSphere, in_five_slices, place_rad, turned};
use crate::data::Volume;
use crate::data::nema::{LUNG_RADIUS_MM, SPHERE_DIAMETERS_MM, SPHERE_RING_MM};
use crate::geometry::Point;
use crate::statistics::FWHM_PER_SIGMA;

/// Radius about each place within which balls are fitted: less than half the distance of neighbours, and clear of the lung, mm.
const REACH_MM: f64 = 27.0;
/// Blurs that are tried, FWHM, mm.
const BLURS_MM: [f64; 5] = [4.0, 6.0, 8.0, 10.0, 13.0];
/// Radius of the balls of the first look, mm.
const LOOK_MM: f64 = 5.0;
/// Turns of the first look, degrees.
const LOOK_STEP_DEG: usize = 3;
/// Steps of the search for middle (mm) and turn (mm along the ring), the largest first.
const STEPS_MM: [f64; 5] = [4.0, 2.0, 1.0, 0.5, 0.2];
/// Rounds over middle and turn with one step.
const ROUNDS: usize = 8;
/// Least contrast of the largest sphere that is no noise.
const LEAST_CONTRAST: f64 = 0.15;
/// Largest mean in the lung insert, relative to the background, with a lung insert.
const MAX_LUNG_RESIDUAL: f64 = 0.75;
/// Steps of a template's profile, mm.
const PROFILE_STEP_MM: f64 = 0.25;

/// Middle (world mm) and turn of a ring.
#[derive(Clone, Copy)]
struct Pose {
    centre_mm: Point,
    turn_rad: f64,
}

impl Pose {
    fn place_mm(&self, place: usize) -> Point {
        turned(self.centre_mm, self.turn_rad + place_rad(place), [SPHERE_RING_MM, 0.0])
    }

    /// Returns the pose moved along x, y, z or around the ring by `by_mm`.
    fn moved(mut self, axis: usize, by_mm: f64) -> Self {
        match axis {
            0..3 => self.centre_mm[axis] += by_mm,
            _ => self.turn_rad += by_mm / SPHERE_RING_MM,
        }
        self
    }
}

/// Products of the image about one place with the templates of the six sizes, and of those with themselves.
#[derive(Clone, Copy, Default)]
struct Products {
    with_image: [f64; 6],
    with_itself: [f64; 6],
}

/// The best fit at one pose.
struct Fit {
    explained: f64,
    blur_mm: f64,
    /// Sizes at the six places, as indices into [`SPHERE_DIAMETERS_MM`].
    order: [usize; 6],
    is_hot: [bool; 6],
}

/// Finds the ring in a body.
///
/// # Errors
/// No spheres stand out, or a given position lies outside.
pub(super) fn placement(volume: &Volume, body: &Body, known: &NemaKnown) -> Result<NemaPlacement, NemaError> {
    let search = Search { volume, body, known };
    let mut pose = search.first_look();
    let mut fit = search.best_fit(pose);
    // The order found at a rough place is found again at the better one.
    for _ in 0..2 {
        pose = search.refined(pose, &fit.order, &templates(fit.blur_mm));
        fit = search.best_fit(pose);
    }
    let spheres = std::array::from_fn(|place| NemaSphere {
        diameter_mm: SPHERE_DIAMETERS_MM[fit.order[place]],
        is_hot: fit.is_hot[place],
        centre_mm: pose.place_mm(place),
    });
    let places = background_places(pose.turn_rad - body.turn_rad, &spheres);
    let places: Vec<[f64; 2]> =
        places.into_iter().map(|at| turned(pose.centre_mm, body.turn_rad, at)).map(|[x, y, _]| [x, y]).collect();
    let placement = NemaPlacement {
        background_mm: in_five_slices(&places, pose.centre_mm[2]),
        centre_mm: pose.centre_mm,
        body_turn_rad: body.turn_rad,
        ring_turn_rad: pose.turn_rad,
        spheres,
        lung_mm: lung(volume, body, pose.centre_mm),
        body_z_mm: body.whole_z_mm(&volume.grid),
        moved_mm: None,
    };
    let largest = fit.order.iter().position(|&size| size == 5).unwrap_or(0);
    let contrast = search.contrast(pose.place_mm(largest), 0.25 * SPHERE_DIAMETERS_MM[5]).abs();
    if known.centre_mm.is_none() && contrast < LEAST_CONTRAST {
        return Err(NemaError::NoSpheres { contrast_percent: 100.0 * contrast });
    }
    Ok(placement)
}

impl Products {
    /// Returns true if the position is hotter than the background: in the smallest ball, which lies inside all others.
    fn is_hot(&self) -> bool {
        self.with_image[0] > 0.0
    }
}

/// Returns the part that least squares explain with these sizes at the six positions.
fn explained(products: &[Products; 6], order: &[usize; 6]) -> f64 {
    let (mut with_image, mut with_itself) = ([0.0; 2], [0.0; 2]);
    for (of_place, &size) in products.iter().zip(order) {
        let group = usize::from(of_place.is_hot());
        with_image[group] += of_place.with_image[size];
        with_itself[group] += of_place.with_itself[size];
    }
    let groups = with_image.into_iter().zip(with_itself).filter(|(_, with_itself)| *with_itself > 0.0);
    groups.map(|(with_image, with_itself)| with_image * with_image / with_itself).sum()
}

/// Profiles of the six balls, blurred by a Gaussian: values at multiples of [`PROFILE_STEP_MM`] from their centres.
///
/// With u± = (r ± R) / √2 σ: ½ (erf u₊ − erf u₋) − σ / (√(2π) r) (exp −u₋² − exp −u₊²).
fn templates(fwhm_mm: f64) -> [Vec<f64>; 6] {
    let sigma = fwhm_mm / FWHM_PER_SIGMA;
    let value = |radius: f64, r: f64| {
        let (above, below) = ((r + radius) / (sigma * 2f64.sqrt()), (r - radius) / (sigma * 2f64.sqrt()));
        let ends = (-below * below).exp() - (-above * above).exp();
        0.5 * (libm::erf(above) - libm::erf(below)) - sigma / ((2.0 * std::f64::consts::PI).sqrt() * r) * ends
    };
    let num = (REACH_MM / PROFILE_STEP_MM) as usize + 2;
    // The formula has no value at 0; so near to it the profile is flat.
    let profile = |diameter: f64| {
        (0..num).map(|step| value(0.5 * diameter, (step as f64 * PROFILE_STEP_MM).max(0.01 * sigma))).collect::<Vec<f64>>()
    };
    SPHERE_DIAMETERS_MM.map(profile)
}

struct Search<'a> {
    volume: &'a Volume,
    body: &'a Body,
    known: &'a NemaKnown,
}

impl Search<'_> {
    /// Calls `each` with every voxel whose centre lies within a radius of a point: the squared distance, and how much the voxel's
    /// value exceeds the background of its slice.
    fn voxels_about(&self, at: Point, radius_mm: f64, mut each: impl FnMut(f64, f64)) {
        let grid = &self.volume.grid;
        let middle = grid.voxel_from_mm(at);
        let range = |axis: usize| {
            let reach = radius_mm / grid.voxel_mm[axis];
            let first = (middle[axis] - reach).ceil().max(0.0) as usize;
            let end = (middle[axis] + reach).floor() + 1.0;
            first..(end.max(0.0) as usize).min(grid.size[axis])
        };
        let square = |axis: usize, index: usize| ((index as f64 - middle[axis]) * grid.voxel_mm[axis]).powi(2);
        let values = self.volume.as_slice();
        for z in range(2) {
            let level = self.body.levels[z];
            for y in range(1) {
                let so_far = square(2, z) + square(1, y);
                let row = &values[(z * grid.size[1] + y) * grid.size[0]..][..grid.size[0]];
                for x in range(0) {
                    let distance = so_far + square(0, x);
                    if distance <= radius_mm * radius_mm && row[x].is_finite() {
                        each(distance, f64::from(row[x]) - level);
                    }
                }
            }
        }
    }

    /// Returns the mean contrast in a ball, as a fraction of the background; 0 outside the body.
    fn contrast(&self, at: Point, radius_mm: f64) -> f64 {
        let slice = self.volume.grid.voxel_from_mm(at)[2].round();
        let level = self.body.levels.get(slice.max(0.0) as usize).copied().unwrap_or(0.0);
        let (mut sum, mut num) = (0.0, 0.0);
        self.voxels_about(at, radius_mm, |_, value| (sum, num) = (sum + value, num + 1.0));
        if num > 0.0 && level > 0.0 { sum / num / level } else { 0.0 }
    }

    /// Returns the ring whose places differ most from the background, among all planes and turns.
    fn first_look(&self) -> Pose {
        const NUM_TURNS: usize = 360 / LOOK_STEP_DEG;
        let grid = &self.volume.grid;
        let centre_mm = self.known.centre_mm.unwrap_or(self.body.middle_mm);
        let slices = match self.known.centre_mm {
            Some(_) => [grid.voxel_from_mm(centre_mm)[2].round().clamp(0.0, grid.size[2] as f64 - 1.0) as usize; 2],
            None => self.body.slices,
        };
        let angle = |step: usize| ((LOOK_STEP_DEG * step) as f64).to_radians();
        let mut best = (f64::NEG_INFINITY, Pose { centre_mm, turn_rad: self.body.turn_rad });
        for slice in slices[0]..=slices[1] {
            let z = if self.known.centre_mm.is_some() { centre_mm[2] } else { grid.mm_from_voxel([0.0, 0.0, slice as f64])[2] };
            let centre_mm = [centre_mm[0], centre_mm[1], z];
            let look = |turn_rad: f64| self.contrast(turned(centre_mm, turn_rad, [SPHERE_RING_MM, 0.0]), LOOK_MM).powi(2);
            let squares: Vec<f64> = (0..NUM_TURNS).map(|step| look(self.body.turn_rad + angle(step))).collect();
            for step in 0..NUM_TURNS / 6 {
                let sum = (0..6).map(|place| squares[step + place * NUM_TURNS / 6]).sum();
                if sum > best.0 {
                    best = (sum, Pose { centre_mm, turn_rad: self.body.turn_rad + angle(step) });
                }
            }
        }
        // The turn next to that of the body: a ring has six.
        let sixth = std::f64::consts::FRAC_PI_3;
        let from_body = best.1.turn_rad - self.body.turn_rad;
        let turn_rad = self.body.turn_rad + from_body - sixth * (from_body / sixth).round();
        Pose { turn_rad: self.known.ring_turn_rad.unwrap_or(turn_rad), ..best.1 }
    }

    fn products(&self, pose: Pose, templates: &[Vec<f64>; 6]) -> [Products; 6] {
        std::array::from_fn(|place| {
            let mut products = Products::default();
            self.voxels_about(pose.place_mm(place), REACH_MM, |distance, value| {
                let at = distance.sqrt() / PROFILE_STEP_MM;
                let (step, part) = (at as usize, at.fract());
                for (size, profile) in templates.iter().enumerate() {
                    let t = profile[step] + part * (profile[step + 1] - profile[step]);
                    products.with_image[size] += value * t;
                    products.with_itself[size] += t * t;
                }
            });
            products
        })
    }

    /// Returns the blur and order that explain most at a pose.
    fn best_fit(&self, pose: Pose) -> Fit {
        let mut best = Fit { explained: f64::NEG_INFINITY, blur_mm: BLURS_MM[0], order: [0, 1, 2, 3, 4, 5], is_hot: [true; 6] };
        for blur_mm in BLURS_MM {
            let products = self.products(pose, &templates(blur_mm));
            let order = self.order(&products);
            let explained = explained(&products, &order);
            if explained > best.explained {
                best = Fit { explained, blur_mm, order, is_hot: products.map(|of_place| of_place.is_hot()) };
            }
        }
        best
    }

    /// Returns the order of sizes that explains most, as indices into [`SPHERE_DIAMETERS_MM`]; or the one that is known.
    fn order(&self, products: &[Products; 6]) -> [usize; 6] {
        if let Some(known) = self.known.order_mm {
            return known.map(|diameter| SPHERE_DIAMETERS_MM.iter().position(|one| *one == diameter).unwrap_or(0));
        }
        let mut best = (f64::NEG_INFINITY, [0, 1, 2, 3, 4, 5]);
        each_order(&mut [0, 1, 2, 3, 4, 5], 0, &mut |order| {
            let explained = explained(products, order);
            if explained > best.0 {
                best = (explained, *order);
            }
        });
        best.1
    }

    /// Returns the pose near another one at which an order explains most; known values stay.
    fn refined(&self, start: Pose, order: &[usize; 6], templates: &[Vec<f64>; 6]) -> Pose {
        let axes: Vec<usize> = match (self.known.centre_mm, self.known.ring_turn_rad) {
            (None, None) => vec![3, 0, 1, 2],
            (None, Some(_)) => vec![0, 1, 2],
            (Some(_), None) => vec![3],
            (Some(_), Some(_)) => return start,
        };
        let energy = |pose: Pose| explained(&self.products(pose, templates), order);
        let (mut pose, mut largest) = (start, energy(start));
        for step in STEPS_MM {
            for _ in 0..ROUNDS {
                let before = largest;
                for (&axis, sign) in axes.iter().flat_map(|axis| [(axis, -1.0), (axis, 1.0)]) {
                    let moved = pose.moved(axis, sign * step);
                    let explained = energy(moved);
                    if explained > largest {
                        (pose, largest) = (moved, explained);
                    }
                }
                if largest <= before {
                    break;
                }
            }
        }
        pose
    }
}

/// Calls `each` with every order of the elements from `from`.
fn each_order(order: &mut [usize; 6], from: usize, each: &mut impl FnMut(&[usize; 6])) {
    if from == order.len() {
        return each(order);
    }
    for other in from..order.len() {
        order.swap(from, other);
        each_order(order, from + 1, each);
        order.swap(from, other);
    }
}

/// Returns the axis of the lung insert (x, y): the centroid of the missing activity about the ring's middle, in slices without
/// spheres.
fn lung(volume: &Volume, body: &Body, centre_mm: Point) -> Option<[f64; 2]> {
    let mean = body.without_spheres(volume, centre_mm[2]);
    let grid = &volume.grid;
    let held: Vec<f64> = body.levels.iter().copied().filter(|level| *level > 0.0).collect();
    let level = held.iter().sum::<f64>() / held.len() as f64;
    let within = |radius_mm: f64| {
        let at = move |pixel: usize| {
            let [x, y, _] = grid.mm_from_voxel([(pixel % grid.size[0]) as f64, (pixel / grid.size[0]) as f64, 0.0]);
            [x - centre_mm[0], y - centre_mm[1]]
        };
        mean.iter().enumerate().map(move |(pixel, value)| (at(pixel), *value)).filter(move |([x, y], _)| x.hypot(*y) <= radius_mm)
    };
    let (num, sum) = within(0.5 * LUNG_RADIUS_MM).fold((0.0, 0.0), |(num, sum), (_, value)| (num + 1.0, sum + value));
    if num == 0.0 || sum / num > MAX_LUNG_RESIDUAL * level {
        return None;
    }
    let [weight, x, y] =
        within(SPHERE_RING_MM - 0.5 * SPHERE_DIAMETERS_MM[5]).fold([0.0; 3], |[weight, x, y], ([dx, dy], value)| {
            let missing = (level - value).max(0.0);
            [weight + missing, x + missing * dx, y + missing * dy]
        });
    Some([centre_mm[0] + x / weight, centre_mm[1] + y / weight])
}
