//! Bodies with known integrals over planes.
//!
//! * Ellipsoid with semi-axes a: with w² = Σ (a_i n_i)² and t measured from its centre, p(t) = π a₁a₂a₃ (w² − t²)/w³; a ball
//!   gives π(r² − t²).
//! * Body of revolution: a stack of stages about an axis. In each the radius at height s has
//!   r²(s) = c₀ + c₁ s + c₂ s²: cylinder, cone, part of a ball. With c the cosine between n and the axis and
//!   σ = √(1 − c²), the plane n·x = t meets the slice at height s in a chord at distance d = (t − c s)/σ from the axis, so
//!   that p(t) = (1/σ) ∫ 2 √(r²(s) − d²) ds. Under the root is a polynomial of degree two, whose positive part is one or two
//!   intervals, integrated numerically to rounding.
//! * Integrals over lines are lengths of chords: along x + u·d the surface of an ellipsoid and of a stage are polynomials of
//!   degree two in u.

use std::f64::consts::{FRAC_PI_2, PI};

use crate::geometry::{Point, Vector, dot};

/// Positive abscissae and weights of Gauss's rule with eight points (Abramowitz and Stegun, table 25.4).
const GAUSS: [[f64; 2]; 4] = [
    [0.18343464249564978, 0.36268378337836166],
    [0.525_532_409_916_329, 0.313_706_645_877_886_9],
    [0.796_666_477_413_626_7, 0.22238103445337443],
    [0.960_289_856_497_536_2, 0.10122853629037706],
];

/// Below this sine the plane counts as normal to the axis.
const NORMAL_SINE: f64 = 1e-9;

/// A part of a body of revolution.
#[derive(Clone, Debug, PartialEq)]
pub struct Section {
    /// Lowest and highest height along the axis, mm.
    pub heights_mm: [f64; 2],
    /// c of r²(s) = c₀ + c₁ s + c₂ s², not negative between the heights; mm², mm, 1.
    pub radius_squared: [f64; 3],
}

/// A body of uniform density.
#[derive(Clone, Debug, PartialEq)]
pub enum Body {
    /// An ellipsoid with semi-axes along x, y, z.
    Ellipsoid {
        /// Centre, mm.
        centre_mm: Point,
        /// Semi-axes, mm.
        semi_axes_mm: [f64; 3],
    },
    /// A body of revolution.
    Revolution {
        /// Where the height along the axis is zero, mm.
        origin_mm: Point,
        /// Unit vector along the axis.
        axis: Point,
        /// Its parts, which do not overlap.
        stages: Vec<Section>,
    },
}

impl Body {
    /// Returns a ball.
    pub fn ball(centre_mm: Point, radius_mm: f64) -> Self {
        Body::Ellipsoid { centre_mm, semi_axes_mm: [radius_mm; 3] }
    }

    /// Returns a circular cylinder with flat ends, from one point to another.
    pub fn cylinder(from_mm: Point, to_mm: Point, radius_mm: f64) -> Self {
        let along = Vector::from(to_mm) - Vector::from(from_mm);
        let length = along.norm();
        let stages = vec![Section { heights_mm: [0.0, length], radius_squared: [radius_mm * radius_mm, 0.0, 0.0] }];
        Body::Revolution { origin_mm: from_mm, axis: (along / length).into(), stages }
    }

    /// Returns the integral over the plane n·x = t, mm²; n is a unit vector.
    pub fn plane_integral(&self, n: Point, t_mm: f64) -> f64 {
        match self {
            Body::Ellipsoid { centre_mm, semi_axes_mm } => {
                let width_squared: f64 = (0..3).map(|a| (semi_axes_mm[a] * n[a]).powi(2)).sum();
                let t = t_mm - dot(n, *centre_mm);
                let volume = PI * semi_axes_mm.iter().product::<f64>();
                (volume * (width_squared - t * t) / width_squared.powf(1.5)).max(0.0)
            }
            Body::Revolution { origin_mm, axis, stages } => {
                let (cosine, t) = (dot(n, *axis), t_mm - dot(n, *origin_mm));
                // |n × axis|: exact where 1 − c² would lose its digits.
                let sine = (Vector::from(n) - Vector::from(*axis) * cosine).norm();
                stages.iter().map(|stage| stage.plane_integral(cosine, sine, t)).sum()
            }
        }
    }

    /// Returns the length of the line from + u·along inside the body, mm; `along` is a unit vector.
    pub fn chord_length(&self, from_mm: Point, along: Point) -> f64 {
        let positive = |q: [f64; 3], limits: [f64; 2]| positive_intervals(q, limits).map(|[low, high]| high - low).sum::<f64>();
        match self {
            Body::Ellipsoid { centre_mm, semi_axes_mm } => {
                let semi_axes = Vector::from(*semi_axes_mm);
                let offset = (Vector::from(from_mm) - Vector::from(*centre_mm)).component_div(&semi_axes);
                let along = Vector::from(along).component_div(&semi_axes);
                let q = [1.0 - offset.norm_squared(), -2.0 * offset.dot(&along), -along.norm_squared()];
                positive(q, [f64::NEG_INFINITY, f64::INFINITY])
            }
            Body::Revolution { origin_mm, axis, stages } => {
                let (offset, along) = (Vector::from(from_mm) - Vector::from(*origin_mm), Vector::from(along));
                let axis = Vector::from(*axis);
                // Heights h + c u; squared distance from the axis |offset + u·along|² − (h + c u)².
                let (height, slope) = (offset.dot(&axis), along.dot(&axis));
                let of_stage = |stage: &Section| {
                    let [c0, c1, c2] = stage.radius_squared;
                    let q = [
                        c0 + height * (c1 + height * c2) - offset.norm_squared() + height * height,
                        slope * (c1 + 2.0 * height * c2) - 2.0 * (offset.dot(&along) - height * slope),
                        slope * slope * (c2 + 1.0) - along.norm_squared(),
                    ];
                    let [low, high] = stage.heights_mm;
                    if slope.abs() < NORMAL_SINE {
                        let is_within = low <= height && height < high;
                        return if is_within { positive(q, [f64::NEG_INFINITY, f64::INFINITY]) } else { 0.0 };
                    }
                    let ends = [(low - height) / slope, (high - height) / slope];
                    positive(q, [ends[0].min(ends[1]), ends[0].max(ends[1])])
                };
                stages.iter().map(of_stage).sum()
            }
        }
    }

    /// Returns true if a point lies inside or on the boundary.
    pub fn contains(&self, point: Point) -> bool {
        match self {
            Body::Ellipsoid { centre_mm, semi_axes_mm } => {
                (0..3).map(|a| ((point[a] - centre_mm[a]) / semi_axes_mm[a]).powi(2)).sum::<f64>() <= 1.0
            }
            Body::Revolution { origin_mm, axis, stages } => {
                let offset = Vector::from(point) - Vector::from(*origin_mm);
                let height = offset.dot(&Vector::from(*axis));
                let distance_squared = offset.norm_squared() - height * height;
                stages.iter().any(|stage| {
                    (stage.heights_mm[0]..=stage.heights_mm[1]).contains(&height) && distance_squared <= stage.at(height)
                })
            }
        }
    }

    /// Returns the largest distance of any of its points from the world's origin, mm (for an ellipsoid off the centre or a
    /// rounded stage to within a few %).
    pub fn reach_mm(&self) -> f64 {
        match self {
            Body::Ellipsoid { centre_mm, semi_axes_mm } => {
                Vector::from(*centre_mm).norm() + semi_axes_mm.iter().copied().fold(0.0, f64::max)
            }
            Body::Revolution { origin_mm, axis, stages } => {
                // The farthest point of a slice's rim lies straight away from the line along the axis through the origin.
                let along = dot(*origin_mm, *axis);
                let distance = (Vector::from(*origin_mm) - Vector::from(*axis) * along).norm();
                let rim = |stage: &Section, height: f64| (along + height).hypot(distance + stage.at(height).max(0.0).sqrt());
                let of_stage = |stage: &Section| {
                    let [low, high] = stage.heights_mm;
                    (0..=16).map(|k| rim(stage, low + (high - low) * f64::from(k) / 16.0)).fold(0.0, f64::max)
                };
                stages.iter().map(of_stage).fold(0.0, f64::max)
            }
        }
    }
}

impl Section {
    /// Returns r² at a height.
    fn at(&self, height: f64) -> f64 {
        let [c0, c1, c2] = self.radius_squared;
        c0 + height * (c1 + height * c2)
    }

    /// Returns the integral over the plane whose normal has this cosine and sine to the axis, at t from the origin of heights.
    fn plane_integral(&self, cosine: f64, sine: f64, t: f64) -> f64 {
        let [low, high] = self.heights_mm;
        if sine < NORMAL_SINE {
            let height = t / cosine;
            // Half-open, so that a plane between two stages counts once.
            return if low <= height && height < high { PI * self.at(height).max(0.0) } else { 0.0 };
        }
        // r²(s) − (t − c s)²/σ², as a₀ + a₁ s + a₂ s².
        let [c0, c1, c2] = self.radius_squared;
        let (slope, offset) = (cosine / sine, t / sine);
        let q = [c0 - offset * offset, c1 + 2.0 * offset * slope, c2 - slope * slope];
        positive_intervals(q, [low, high]).map(|interval| 2.0 * root_integral(q, interval)).sum::<f64>() / sine
    }
}

/// Returns where a₀ + a₁ s + a₂ s² is positive between two limits.
fn positive_intervals(q: [f64; 3], limits: [f64; 2]) -> impl Iterator<Item = [f64; 2]> {
    let [a0, a1, a2] = q;
    let discriminant = a1 * a1 - 4.0 * a2 * a0;
    let everywhere = [f64::NEG_INFINITY, f64::INFINITY];
    // The root of the larger size first: the other one follows without cancellation.
    let larger = -0.5 * (a1 + f64::copysign(discriminant.max(0.0).sqrt(), a1));
    let found: [Option<[f64; 2]>; 2] = if discriminant <= 0.0 {
        // No sign change: the sign everywhere is that of the leading coefficient there is.
        [(a2 > 0.0 || (a2 == 0.0 && a0 > 0.0)).then_some(everywhere), None]
    } else if a2 == 0.0 {
        let root = -a0 / a1;
        [Some(if a1 > 0.0 { [root, f64::INFINITY] } else { [f64::NEG_INFINITY, root] }), None]
    } else {
        let (first, second) = (larger / a2, a0 / larger);
        let (lower, upper) = (first.min(second), first.max(second));
        if a2 < 0.0 { [Some([lower, upper]), None] } else { [Some([f64::NEG_INFINITY, lower]), Some([upper, f64::INFINITY])] }
    };
    let within = move |interval: [f64; 2]| {
        let cut = [interval[0].max(limits[0]), interval[1].min(limits[1])];
        (cut[0] < cut[1]).then_some(cut)
    };
    found.into_iter().flatten().filter_map(within)
}

/// Returns ∫ √(a₀ + a₁ s + a₂ s²) ds over an interval in which it is not negative: Gauss's rule in u, s = middle + half·sin u, on
/// panels that halve towards both ends, so that a zero of the root at an end or anywhere beyond it does no harm.
fn root_integral(q: [f64; 3], [from, to]: [f64; 2]) -> f64 {
    const NUM_PANELS: i32 = 11;
    let (middle, half) = (0.5 * (from + to), 0.5 * (to - from));
    // By the distance v of u from its end ±π/2; both ends at once.
    let at = |v: f64| {
        let (sin, cos) = (FRAC_PI_2 - v).sin_cos();
        let root = |s: f64| (q[0] + s * (q[1] + s * q[2])).max(0.0).sqrt();
        (root(middle + half * sin) + root(middle - half * sin)) * half * cos
    };
    let panel = |k: i32| {
        let outer = FRAC_PI_2 * 0.5f64.powi(k);
        let inner = if k + 1 == NUM_PANELS { 0.0 } else { 0.5 * outer };
        let (centre, width) = (0.5 * (outer + inner), 0.5 * (outer - inner));
        width * GAUSS.iter().map(|[x, weight]| weight * (at(centre + width * x) + at(centre - width * x))).sum::<f64>()
    };
    (0..NUM_PANELS).map(panel).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(a: f64, b: f64, tolerance: f64) {
        assert!((a - b).abs() <= tolerance * (1.0 + b.abs()), "{a} is not {b}");
    }

    fn unit(v: Point) -> Point {
        Vector::from(v).normalize().into()
    }

    const DIRECTIONS: [Point; 7] = [
        [0.0, 0.0, 1.0],
        [0.0, 0.0, -1.0],
        [1.0, 0.0, 0.0],
        [0.3, -0.5, 0.8],
        [1.0, 1.0, 1e-5],
        [1e-5, 0.0, 1.0],
        [-0.6, 0.8, 0.02],
    ];

    #[test]
    fn balls_and_ellipsoids_are_those_of_the_textbook() {
        let ball = Body::ball([3.0, -4.0, 5.0], 7.0);
        for n in DIRECTIONS.map(unit) {
            let centre = dot(n, [3.0, -4.0, 5.0]);
            near(ball.plane_integral(n, centre + 2.0), PI * 45.0, 1e-12);
            assert_eq!(ball.plane_integral(n, centre - 7.01), 0.0);
        }
        let egg = Body::Ellipsoid { centre_mm: [1.0, 0.0, 0.0], semi_axes_mm: [2.0, 3.0, 5.0] };
        near(egg.plane_integral([1.0, 0.0, 0.0], 1.0), PI * 15.0, 1e-12);
        near(egg.plane_integral([0.0, 0.0, 1.0], 4.0), PI * 6.0 * (1.0 - 16.0 / 25.0), 1e-12);
    }

    #[test]
    fn a_ball_as_a_body_of_revolution_is_a_ball() {
        let stages = vec![
            Section { heights_mm: [-7.0, 1.5], radius_squared: [49.0, 0.0, -1.0] },
            Section { heights_mm: [1.5, 7.0], radius_squared: [49.0, 0.0, -1.0] },
        ];
        let (origin_mm, axis) = ([3.0, -4.0, 5.0], unit([0.2, 0.4, -0.7]));
        let (turned, ball) = (Body::Revolution { origin_mm, axis, stages }, Body::ball(origin_mm, 7.0));
        for n in DIRECTIONS.map(unit).into_iter().chain([axis]) {
            for step in -160..160 {
                let t = f64::from(step) * 0.1 + dot(n, origin_mm);
                near(turned.plane_integral(n, t), ball.plane_integral(n, t), 1e-9);
            }
        }
    }

    #[test]
    fn cylinders_have_closed_forms() {
        let can = Body::cylinder([0.0, 0.0, -10.0], [0.0, 0.0, 10.0], 3.0);
        near(can.plane_integral([0.0, 0.0, 1.0], 4.0), PI * 9.0, 1e-12);
        near(can.plane_integral([1.0, 0.0, 0.0], 1.0), 20.0 * 2.0 * 8f64.sqrt(), 1e-12);
        // Slanted but through no end: an ellipse of area πr²/|cos|.
        let n = unit([1.0, 0.0, 2.0]);
        near(can.plane_integral(n, 0.5), PI * 9.0 / n[2], 1e-12);
        // Any direction of the axis: the same, turned.
        let (axis, centre) = (unit([1.0, -2.0, 0.5]), [2.0, 1.0, -3.0]);
        let end = |sign: f64| std::array::from_fn(|a| centre[a] + sign * 10.0 * axis[a]);
        let turned = Body::cylinder(end(-1.0), end(1.0), 3.0);
        for n in DIRECTIONS.map(unit) {
            let cosine = dot(n, axis);
            let upright = [(1.0 - cosine * cosine).sqrt(), 0.0, cosine];
            for t in [-9.0, -2.5, 0.0, 0.1, 3.0, 8.7] {
                near(turned.plane_integral(n, t + dot(n, centre)), can.plane_integral(upright, t), 1e-9);
            }
        }
    }

    /// Along parallel lines in a plane the chords add up to the plane's integral, and lines through a can are those of a
    /// rectangle or a disc.
    #[test]
    fn chords_are_those_of_the_textbook_and_add_up_to_planes() {
        let can = Body::cylinder([0.0, 0.0, -10.0], [0.0, 0.0, 10.0], 3.0);
        near(can.chord_length([1.0, 0.0, 4.0], [0.0, 1.0, 0.0]), 2.0 * 8f64.sqrt(), 1e-12);
        near(can.chord_length([1.0, 2.0, 70.0], [0.0, 0.0, -1.0]), 20.0, 1e-12);
        assert_eq!(can.chord_length([3.1, 0.0, 0.0], [0.0, 1.0, 0.0]), 0.0);
        assert_eq!(can.chord_length([0.0, 0.0, 10.5], [0.0, 1.0, 0.0]), 0.0);
        near(can.chord_length([0.0; 3], unit([3.0, 0.0, 4.0])), 10.0, 1e-12);
        let egg = Body::Ellipsoid { centre_mm: [1.0, 0.0, 0.0], semi_axes_mm: [2.0, 3.0, 5.0] };
        near(egg.chord_length([1.0, 0.0, 0.0], unit([0.0, 3.0, 0.0])), 6.0, 1e-12);
        let cone = Body::Revolution {
            origin_mm: [1.0, -2.0, 0.5],
            axis: unit([0.3, 0.4, 0.9]),
            stages: vec![Section { heights_mm: [0.0, 12.0], radius_squared: [25.0, -2.5, 0.0625] }],
        };
        for body in [can, egg, cone] {
            for n in DIRECTIONS.map(unit) {
                // Two unit vectors in the plane.
                let (normal, off) = (Vector::from(n), Vector::new(0.31, 0.52, -0.44));
                let first = (off - normal * normal.dot(&off)).normalize();
                let second = normal.cross(&first).into();
                let at = |k: i32| (normal * 0.7 + first * (f64::from(k) * 0.01)).into();
                let sum: f64 = (-4000..4000).map(|k| body.chord_length(at(k), second) * 0.01).sum();
                near(sum, body.plane_integral(n, 0.7), 2e-3);
            }
        }
    }

    /// ∫ p(t) dt is the volume, and ∫ t p(t) dt the volume times the centre of mass, whatever the direction.
    #[test]
    fn moments_do_not_depend_on_the_direction() {
        // A cone, 12 mm high, its radius from 5 mm down to 2 mm, and a spindle (both ends pointed).
        let (origin_mm, axis) = ([1.0, -2.0, 0.5], unit([0.3, 0.4, 0.9]));
        let cone = |slope: f64| [25.0, 10.0 * slope, slope * slope];
        let stages = vec![Section { heights_mm: [0.0, 12.0], radius_squared: cone(-0.25) }];
        let cone = Body::Revolution { origin_mm, axis, stages };
        let volume = PI * 12.0 / 3.0 * (25.0 + 10.0 + 4.0);
        let mean_height = 12.0 / 4.0 * (25.0 + 2.0 * 10.0 + 3.0 * 4.0) / (25.0 + 10.0 + 4.0);
        for n in DIRECTIONS.map(unit).into_iter().chain([axis]) {
            let (mut sum, mut first) = (0.0, 0.0);
            let step = 1e-3;
            for k in -20_000..20_000 {
                let t = (f64::from(k) + 0.5) * step;
                let p = cone.plane_integral(n, t);
                sum += p * step;
                first += t * p * step;
            }
            near(sum, volume, 1e-4);
            let centre = dot(n, origin_mm) + mean_height * dot(n, axis);
            near(first / sum, centre, 1e-3);
        }
    }
}
