//! Along which directions an EPRI imager measures: acquisition schemes as data, their weights, and their order.
//!
//! A direction is n = (sin θ cos φ, sin θ sin φ, cos θ); n and −n measure the same, so that directions fill a half sphere.
//!
//! * Equal solid angle, N bands: θ_k = π/2 + π/(2N) − kπ/N, k = 1…N, with n_k = round(|N sin θ_k|) azimuths
//!   φ_j = π/2 + π/(2n_k) − jπ/n_k. N = 10, 18, 36 give 66, 208, 828 directions.
//! * Equal linear angle: θ_k = (k + ½)π/N_polar, φ_j = (j + ½)π/N_azimuth, azimuths fastest.
//! * Two-dimensional: n = (cos α, sin α, 0), α_k = (k + ½)π/N; a half circle.
//!
//! Weights w_i are solid angles and add up to 2π: that of the polar band shared by its directions. (The weights in the paper
//! are (π/N)² and (π/N_polar)(π/N_azimuth)|sin θ|; for N = 18 they add up to 1.0084 · 2π.) Of a half circle they are angles
//! and add up to π. Source: Qiao et al. 2015.

mod half_circle;
mod order;
mod solid_angle;

pub use half_circle::half_circle_weights;
pub use order::{Order, Queue};
pub use solid_angle::solid_angle_weights;

use std::f64::consts::{FRAC_PI_2, PI, TAU};
use std::fmt;
use std::str::FromStr;

use crate::coded::coded;
use crate::geometry::Point;

/// Most directions of a scheme: far more than anyone waits for.
const MAX_DIRECTIONS: usize = 1 << 17;

/// Arrangement of the directions on the half sphere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheme {
    /// Each direction has about the same solid angle.
    EqualSolidAngle {
        /// Number of polar bands N.
        num_bands: usize,
    },
    /// A grid of angles.
    EqualLinearAngle {
        /// Number of polar angles.
        num_polar: usize,
        /// Number of azimuths.
        num_azimuth: usize,
    },
    /// Equal angles in the plane of the first two axes, for an image of one slice.
    HalfCircle {
        /// Number of angles.
        num_angles: usize,
    },
}

/// Weight of a direction in the sum over all of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, strum::EnumString)]
#[strum(serialize_all = "kebab-case", parse_err_ty = String, parse_err_fn = not_weights)]
pub enum Weighting {
    /// Its part of the half sphere: the solid angle of its polar band, shared equally. The weights add up to 2π. On a half circle
    /// its part of that; they add up to π.
    #[default]
    SolidAngle,
    /// As Qiao et al. print it, for comparison with their images; they do not quite add up to 2π.
    Paper,
}

fn not_weights(text: &str) -> String {
    format!("'{text}' are not weights; use solid-angle or paper")
}

/// A direction to measure along.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WeightedDirection {
    /// Unit vector.
    pub unit: Point,
    /// Its solid angle, on a half circle its angle.
    pub weight: f64,
}

/// Reason why there is no such scheme.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SchemeError {
    /// None or too many directions.
    #[error("invalid number of directions {0}; expected 1 to {MAX_DIRECTIONS}")]
    Count(usize),
    /// The text is not a scheme.
    #[error(
        "'{0}' is not a scheme; use the number of projections (208: equal solid angle), polar x azimuth (16x13: equal linear angle), or 2d:number (2d:60: a slice, equal angles)"
    )]
    Text(String),
}

coded!(SchemeError = "epri-directions");

impl Scheme {
    /// Returns the smallest equal-solid-angle scheme of at least this many directions.
    ///
    /// # Errors
    /// None or too many directions.
    pub fn with_at_least(num_directions: usize) -> Result<Self, SchemeError> {
        if !(1..=MAX_DIRECTIONS).contains(&num_directions) {
            return Err(SchemeError::Count(num_directions));
        }
        // N bands have about 2N²/π directions.
        let guess = (num_directions as f64 * FRAC_PI_2).sqrt() as usize;
        let schemes = (guess.saturating_sub(3).max(1)..).map(|num_bands| Scheme::EqualSolidAngle { num_bands });
        schemes.into_iter().find(|s| s.num_directions() >= num_directions).ok_or(SchemeError::Count(num_directions))
    }

    /// Returns the number of directions.
    pub fn num_directions(&self) -> usize {
        match *self {
            Scheme::EqualSolidAngle { num_bands } => bands(num_bands).map(|band| band.num_azimuth).sum(),
            Scheme::EqualLinearAngle { num_polar, num_azimuth } => num_polar.saturating_mul(num_azimuth),
            Scheme::HalfCircle { num_angles } => num_angles,
        }
    }

    /// Returns true for an image of one slice.
    pub fn is_slice(&self) -> bool {
        matches!(self, Scheme::HalfCircle { .. })
    }

    /// Returns the directions in the order of acquisition: band by band, azimuths fastest.
    pub fn directions(&self, weighting: Weighting) -> Vec<WeightedDirection> {
        match *self {
            Scheme::EqualSolidAngle { num_bands } => bands(num_bands).flat_map(|band| band.directions(weighting)).collect(),
            Scheme::EqualLinearAngle { num_polar, num_azimuth } => {
                let polar: Vec<f64> = (0..num_polar).map(|k| (k as f64 + 0.5) * PI / num_polar as f64).collect();
                let sum: f64 = polar.iter().map(|theta| theta.sin()).sum();
                let unit = match weighting {
                    Weighting::SolidAngle => TAU / (num_azimuth as f64 * sum),
                    Weighting::Paper => PI / num_polar as f64 * PI / num_azimuth as f64,
                };
                let at = |theta: f64, j: usize| {
                    let unit_vector = unit_vector(theta, (j as f64 + 0.5) * PI / num_azimuth as f64);
                    WeightedDirection { unit: unit_vector, weight: unit * theta.sin() }
                };
                polar.into_iter().flat_map(|theta| (0..num_azimuth).map(move |j| at(theta, j))).collect()
            }
            Scheme::HalfCircle { num_angles } => {
                let weight = PI / num_angles as f64;
                let at = |k: usize| {
                    let (sin, cos) = ((k as f64 + 0.5) * weight).sin_cos();
                    WeightedDirection { unit: [cos, sin, 0.0], weight }
                };
                (0..num_angles).map(at).collect()
            }
        }
    }
}

/// The number of directions (equal solid angle), POLARxAZIMUTH (equal linear angle), or 2d:NUMBER (a slice).
impl FromStr for Scheme {
    type Err = SchemeError;

    fn from_str(text: &str) -> Result<Self, SchemeError> {
        let number = |part: &str| part.trim().parse::<usize>().map_err(|_| SchemeError::Text(text.to_owned()));
        let scheme = if let Some(num_angles) = text.strip_prefix("2d:").or_else(|| text.strip_prefix("2D:")) {
            Scheme::HalfCircle { num_angles: number(num_angles)? }
        } else if let Some((polar, azimuth)) = text.split_once(['x', '×']) {
            Scheme::EqualLinearAngle { num_polar: number(polar)?, num_azimuth: number(azimuth)? }
        } else {
            return Self::with_at_least(number(text)?);
        };
        match scheme.num_directions() {
            1..=MAX_DIRECTIONS => Ok(scheme),
            count => Err(SchemeError::Count(count)),
        }
    }
}

impl fmt::Display for Scheme {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Scheme::EqualSolidAngle { num_bands } => {
                write!(f, "equal solid angle, {num_bands} bands, {} directions", self.num_directions())
            }
            Scheme::EqualLinearAngle { num_polar, num_azimuth } => {
                write!(f, "equal linear angle, {num_polar} polar × {num_azimuth} azimuth")
            }
            Scheme::HalfCircle { num_angles } => write!(f, "a slice, {num_angles} equal angles"),
        }
    }
}

/// One polar band of an equal-solid-angle scheme.
struct Band {
    num_bands: usize,
    theta: f64,
    num_azimuth: usize,
}

fn bands(num_bands: usize) -> impl Iterator<Item = Band> {
    let n = num_bands as f64;
    (1..=num_bands).map(move |k| {
        let theta = FRAC_PI_2 + PI / (2.0 * n) - k as f64 * PI / n;
        // An odd number of bands has one about the pole, with a single direction.
        let num_azimuth = ((n * theta.sin()).abs().round() as usize).max(1);
        Band { num_bands, theta, num_azimuth }
    })
}

impl Band {
    fn directions(self, weighting: Weighting) -> impl Iterator<Item = WeightedDirection> {
        let num = self.num_azimuth as f64;
        let width = PI / self.num_bands as f64;
        let weight = match weighting {
            Weighting::SolidAngle => half_turn_angle(self.theta - 0.5 * width, self.theta + 0.5 * width) / num,
            Weighting::Paper => width * width,
        };
        (1..=self.num_azimuth).map(move |j| {
            let phi = FRAC_PI_2 + PI / (2.0 * num) - j as f64 * PI / num;
            WeightedDirection { unit: unit_vector(self.theta, phi), weight }
        })
    }
}

/// Returns the solid angle between two polar angles (negative ones count like positive ones) over half a turn of azimuth: π ∫
/// |sin θ| dθ.
fn half_turn_angle(from: f64, to: f64) -> f64 {
    let below = |theta: f64| theta.signum() * (1.0 - theta.cos());
    PI * (below(to) - below(from))
}

/// Returns the unit vector of polar angle θ and azimuth φ.
pub fn unit_vector(theta: f64, phi: f64) -> Point {
    [theta.sin() * phi.cos(), theta.sin() * phi.sin(), theta.cos()]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::dot;

    fn solid_angle(num_bands: usize) -> Scheme {
        Scheme::EqualSolidAngle { num_bands }
    }

    fn total(directions: &[WeightedDirection]) -> f64 {
        directions.iter().map(|d| d.weight).sum()
    }

    const SCHEMES: [Scheme; 8] = [
        Scheme::EqualSolidAngle { num_bands: 1 },
        Scheme::EqualSolidAngle { num_bands: 2 },
        Scheme::EqualSolidAngle { num_bands: 7 },
        Scheme::EqualSolidAngle { num_bands: 18 },
        Scheme::EqualSolidAngle { num_bands: 36 },
        Scheme::EqualLinearAngle { num_polar: 1, num_azimuth: 1 },
        Scheme::EqualLinearAngle { num_polar: 31, num_azimuth: 31 },
        Scheme::EqualLinearAngle { num_polar: 16, num_azimuth: 13 },
    ];

    #[test]
    fn the_usual_schemes_have_the_usual_numbers_of_directions() {
        assert_eq!([10, 18, 36].map(|n| solid_angle(n).num_directions()), [66, 208, 828]);
        assert_eq!(Scheme::with_at_least(208), Ok(solid_angle(18)));
        assert_eq!(Scheme::with_at_least(209), Ok(solid_angle(19)));
        for wanted in [1, 2, 5, 66, 67, 500, 828, 5000] {
            let Ok(Scheme::EqualSolidAngle { num_bands }) = Scheme::with_at_least(wanted) else { panic!("{wanted}") };
            assert!(solid_angle(num_bands).num_directions() >= wanted);
            assert!(num_bands == 1 || solid_angle(num_bands - 1).num_directions() < wanted);
        }
        assert_eq!("828".parse(), Ok(solid_angle(36)));
        assert_eq!("16x13".parse(), Ok(Scheme::EqualLinearAngle { num_polar: 16, num_azimuth: 13 }));
        assert_eq!("2d:60".parse(), Ok(Scheme::HalfCircle { num_angles: 60 }));
        for text in
            ["", "x", "0", "2d:", "2d:0", "2d:5x4", "2d:999999", "0x3", "-4", "1e3", "99999999999", "9999999999x9999999999"]
        {
            assert!(text.parse::<Scheme>().is_err(), "{text}");
        }
    }

    #[test]
    fn directions_are_unit_vectors_all_different_with_weights_that_fill_the_half_sphere() {
        for scheme in SCHEMES {
            let directions = scheme.directions(Weighting::SolidAngle);
            assert_eq!(directions.len(), scheme.num_directions());
            assert!((total(&directions) - TAU).abs() < 1e-12, "{scheme}");
            assert!(directions.iter().all(|d| d.weight > 0.0 && (dot(d.unit, d.unit) - 1.0).abs() < 1e-14));
            for (i, a) in directions.iter().enumerate() {
                assert!(directions[..i].iter().all(|b| dot(a.unit, b.unit).abs() < 1.0 - 1e-6), "{scheme}: {a:?}");
            }
        }
    }

    #[test]
    fn the_papers_weights_are_the_papers() {
        let directions = solid_angle(18).directions(Weighting::Paper);
        assert!(directions.iter().all(|d| d.weight == (PI / 18.0).powi(2)));
        assert!((total(&directions) / TAU - 1.0084).abs() < 5e-5, "{}", total(&directions) / TAU);
        // The bands about the pole are 27 % too heavy.
        let exact = solid_angle(18).directions(Weighting::SolidAngle);
        let polar = exact.iter().position(|d| d.unit[2] > 0.99).unwrap();
        assert!((directions[polar].weight / exact[polar].weight - 1.27).abs() < 0.01);
        let grid = Scheme::EqualLinearAngle { num_polar: 40, num_azimuth: 7 }.directions(Weighting::Paper);
        assert!((total(&grid) / TAU - 1.0).abs() < 1e-3);
    }

    /// Σ w n nᵀ over the half sphere is 2π/3 times the unit matrix.
    #[test]
    fn second_moments_are_those_of_the_half_sphere() {
        for scheme in [solid_angle(18), solid_angle(37), Scheme::EqualLinearAngle { num_polar: 31, num_azimuth: 31 }] {
            let directions = scheme.directions(Weighting::SolidAngle);
            for (a, b) in [(0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2)] {
                let moment: f64 = directions.iter().map(|d| d.weight * d.unit[a] * d.unit[b]).sum();
                let expected = if a == b { TAU / 3.0 } else { 0.0 };
                assert!((moment - expected).abs() < 0.003 * TAU, "{scheme}: {a}{b} {moment} {expected}");
            }
        }
    }

    #[test]
    fn solid_angles_of_equal_solid_angle_are_nearly_equal() {
        let directions = solid_angle(18).directions(Weighting::SolidAngle);
        let mean = TAU / 208.0;
        let inner: Vec<_> = directions.iter().filter(|d| d.unit[2] < 0.95).collect();
        assert!(inner.iter().all(|d| (d.weight / mean - 1.0).abs() < 0.1));
        let spread = (inner.iter().map(|d| (d.weight / mean - 1.0).powi(2)).sum::<f64>() / inner.len() as f64).sqrt();
        assert!(spread < 0.05, "{spread}");
    }

    /// Returns |cos| between the worst point of the half sphere and the nearest of these directions.
    fn loneliest(directions: &[Point]) -> f64 {
        let lattice = solid_angle(40).directions(Weighting::SolidAngle);
        let nearest = |p: Point| directions.iter().map(|n| dot(*n, p).abs()).fold(0.0, f64::max);
        lattice.iter().map(|d| nearest(d.unit)).fold(1.0, f64::min)
    }

    #[test]
    fn every_beginning_of_the_spaced_order_spreads() {
        for scheme in [solid_angle(18), Scheme::EqualLinearAngle { num_polar: 16, num_azimuth: 13 }] {
            let directions: Vec<Point> = scheme.directions(Weighting::SolidAngle).iter().map(|d| d.unit).collect();
            let order = Order::Spaced.indices(&directions);
            let mut sorted = order.clone();
            sorted.sort_unstable();
            assert_eq!(sorted, Order::AsAcquired.indices(&directions));
            for (num, degrees) in [(4, 70.0), (13, 40.0), (52, 22.0)] {
                let prefix: Vec<Point> = order[..num].iter().map(|&i| directions[i]).collect();
                assert!(loneliest(&prefix).acos().to_degrees() < degrees, "{scheme}: {num}");
                assert!(loneliest(&prefix) > loneliest(&directions[..num]));
            }
        }
        let many: Vec<Point> = (0..order::MAX_SPREAD + 500).map(|i| unit_vector(i as f64 * 1e-3, i as f64)).collect();
        let mut order = Order::Spaced.indices(&many);
        order.sort_unstable();
        assert_eq!(order, (0..many.len()).collect::<Vec<_>>());
    }
}
