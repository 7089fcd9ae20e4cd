//! Elements of shapes: a figure in a plane with or without a thickness, an ellipsoid, or voxels.

use std::f64::consts::TAU;

use super::roi::Roi;
use super::shape::{RoiPlane, RoiShape};
use super::voxels::Voxels;

/// Corners of the polygon that an ellipse is drawn as: a multiple of four, so that the ends of its axes are among them.
const CORNERS_OF_ELLIPSE: usize = 96;

/// A figure in a plane, about its centre and before it is turned, mm.
#[derive(Clone, Copy, Debug)]
pub(in crate::data) enum Figure<'a> {
    /// Half of the axes.
    Ellipse([f64; 2]),
    /// Half of the sides.
    Rectangle([f64; 2]),
    /// Corners.
    Polygon(&'a [[f64; 2]]),
}

/// Body of a shape.
#[derive(Clone, Copy, Debug)]
pub(in crate::data) enum Body<'a> {
    /// A figure, and how far it reaches along the plane's normal; `None` = it is in one slice.
    Prism { figure: Figure<'a>, plane: RoiPlane, thickness_mm: Option<f64> },
    /// Half of the axes along x, y, z, and the plane in which it is turned.
    Ellipsoid { half_mm: [f64; 3], plane: RoiPlane },
    /// Voxels.
    Voxels(&'a Voxels),
}

/// A turn in a plane, from its first axis towards its second.
#[derive(Clone, Copy, Debug)]
pub(in crate::data) struct Turn {
    cos: f64,
    sin: f64,
}

impl Roi {
    /// Returns its body.
    pub(in crate::data) fn body(&self) -> Body<'_> {
        let prism = |figure, plane| Body::Prism { figure, plane, thickness_mm: self.thickness_mm };
        match &self.shape {
            RoiShape::Circle { radius_mm, plane } => prism(Figure::Ellipse([*radius_mm; 2]), *plane),
            RoiShape::Ellipse { size_mm, plane } => prism(Figure::Ellipse(size_mm.map(|side| 0.5 * side)), *plane),
            RoiShape::Rectangle { size_mm, plane } => prism(Figure::Rectangle(size_mm.map(|side| 0.5 * side)), *plane),
            RoiShape::Polygon { points_mm, plane } => prism(Figure::Polygon(points_mm), *plane),
            RoiShape::Box { size_mm, plane } => {
                let ([a, b], normal) = plane.axes();
                let figure = Figure::Rectangle([0.5 * size_mm[a], 0.5 * size_mm[b]]);
                Body::Prism { figure, plane: *plane, thickness_mm: Some(size_mm[normal]) }
            }
            RoiShape::Sphere { radius_mm } => Body::Ellipsoid { half_mm: [*radius_mm; 3], plane: RoiPlane::default() },
            RoiShape::Ellipsoid { size_mm, plane } => Body::Ellipsoid { half_mm: size_mm.map(|side| 0.5 * side), plane: *plane },
            RoiShape::Isocontour(contour) => Body::Voxels(&contour.voxels),
            RoiShape::Voxels(voxels) => Body::Voxels(voxels),
        }
    }

    /// Returns where a point of the shape, from its centre along its plane's axes, comes to lie when it is turned, mm.
    pub fn turned(&self, point: [f64; 2]) -> [f64; 2] {
        self.turn().applied(point)
    }

    /// Returns where a point of the turned shape lies in it, from its centre along its plane's axes, mm.
    pub fn turned_back(&self, point: [f64; 2]) -> [f64; 2] {
        self.turn().inverted(point)
    }

    /// Returns its rotation.
    pub(in crate::data) fn turn(&self) -> Turn {
        // Exact where it is not turned at all.
        let (sin, cos) = if self.shape.can_turn() { self.angle_deg.to_radians().sin_cos() } else { (0.0, 1.0) };
        Turn { cos, sin }
    }
}

impl Turn {
    /// Returns a point of the shape before the turn, after it.
    pub fn applied(self, [u, v]: [f64; 2]) -> [f64; 2] {
        [self.cos * u - self.sin * v, self.sin * u + self.cos * v]
    }

    /// Returns where a point was before the turn.
    pub fn inverted(self, [u, v]: [f64; 2]) -> [f64; 2] {
        [self.cos * u + self.sin * v, self.cos * v - self.sin * u]
    }

    /// Returns the half sides of the upright rectangle around a turned one.
    pub fn around(self, [u, v]: [f64; 2]) -> [f64; 2] {
        let (cos, sin) = (self.cos.abs(), self.sin.abs());
        [cos * u + sin * v, sin * u + cos * v]
    }
}

impl Figure<'_> {
    /// Returns true if a point lies inside.
    pub fn contains(&self, [u, v]: [f64; 2]) -> bool {
        match *self {
            Figure::Ellipse([a, b]) => (u / a).powi(2) + (v / b).powi(2) <= 1.0,
            Figure::Rectangle([a, b]) => u.abs() <= a && v.abs() <= b,
            Figure::Polygon(corners) => {
                let crosses = |[from, to]: [[f64; 2]; 2]| {
                    (from[1] <= v) != (to[1] <= v) && u < from[0] + (v - from[1]) / (to[1] - from[1]) * (to[0] - from[0])
                };
                sides(corners).filter(|side| crosses(*side)).count() % 2 == 1
            }
        }
    }

    /// Returns whether all points of an upright rectangle lie inside, or none; `None` if only some may.
    pub fn contains_rectangle(&self, centre: [f64; 2], half: [f64; 2]) -> Option<bool> {
        match *self {
            Figure::Polygon(corners) => {
                let meets = |[from, to]: [[f64; 2]; 2]| {
                    (0..2).all(|a| from[a].min(to[a]) <= centre[a] + half[a] && from[a].max(to[a]) >= centre[a] - half[a])
                };
                (!sides(corners).any(meets)).then(|| self.contains(centre))
            }
            // Convex and symmetric about both axes: the nearest and the farthest point decide.
            _ if !self.contains(std::array::from_fn(|a| (centre[a].abs() - half[a]).max(0.0))) => Some(false),
            _ => self.contains(std::array::from_fn(|a| centre[a].abs() + half[a])).then_some(true),
        }
    }

    /// Returns the lower and upper ends along both axes after a turn.
    pub fn bounds(&self, turn: Turn) -> [[f64; 2]; 2] {
        match *self {
            Figure::Ellipse([a, b]) => {
                let half = [(turn.cos * a).hypot(turn.sin * b), (turn.sin * a).hypot(turn.cos * b)];
                [half.map(|h| -h), half]
            }
            Figure::Rectangle(half) => {
                let half = turn.around(half);
                [half.map(|h| -h), half]
            }
            Figure::Polygon(corners) => {
                let turned = || corners.iter().map(|corner| turn.applied(*corner));
                let end =
                    |start: f64, of: fn(f64, f64) -> f64| std::array::from_fn(|a| turned().fold(start, |end, p| of(end, p[a])));
                [end(f64::INFINITY, f64::min), end(f64::NEG_INFINITY, f64::max)]
            }
        }
    }

    /// Returns the corners of its outline, turned; of an ellipse those of a polygon that lies on it.
    pub fn corners(&self, turn: Turn) -> Vec<[f64; 2]> {
        let corners = match *self {
            Figure::Ellipse([a, b]) => (0..CORNERS_OF_ELLIPSE)
                .map(|k| {
                    let (sin, cos) = (TAU * k as f64 / CORNERS_OF_ELLIPSE as f64).sin_cos();
                    [a * cos, b * sin]
                })
                .collect(),
            Figure::Rectangle([a, b]) => vec![[-a, -b], [a, -b], [a, b], [-a, b]],
            Figure::Polygon(corners) => corners.to_vec(),
        };
        corners.into_iter().map(|corner| turn.applied(corner)).collect()
    }
}

/// Returns the sides of a polygon, from each corner to the next.
pub(in crate::data) fn sides(corners: &[[f64; 2]]) -> impl Iterator<Item = [[f64; 2]; 2]> {
    corners.iter().zip(corners.iter().cycle().skip(1)).map(|(from, to)| [*from, *to])
}
