//! Convex solids whose crossing with a line is one interval, in closed form.
//!
//! Every curved or flat boundary is one formula: the points p with |M (p − c)| ≤ 1. Three independent rows of M make an
//! ellipsoid, two a cylinder, one a slab. On the line p(t) = start + t (end − start), with o = M (start − c), d = M (end − start)
//! and t₀ = −o·d / |d|², the crossing is |t − t₀| ≤ √(1 − |o + t₀ d|²) / |d|. A solid is the intersection of such quadrics with a
//! range of z; several solids make a shape that is not convex.

use crate::geometry::{Line, Point, Vector, dot};

/// From and to along a line, as fractions of its length.
pub(super) type Interval = [f64; 2];

/// Returns the intersection of two intervals, if it has a length.
pub(super) fn intersection(a: Interval, b: Interval) -> Option<Interval> {
    let shared = [a[0].max(b[0]), a[1].min(b[1])];
    (shared[0] < shared[1]).then_some(shared)
}

/// The points p with |M (p − c)| ≤ 1.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Quadric {
    /// c, mm.
    pub(super) centre_mm: Point,
    /// Rows of M, 1/mm; rows of zeros bound nothing.
    pub(super) rows: [Point; 3],
}

impl Quadric {
    /// Returns M v for a direction v.
    pub(super) fn turned(&self, v: Point) -> Point {
        self.rows.map(|row| dot(row, v))
    }

    /// Returns M (p − c) for a point p.
    pub(super) fn placed(&self, p: Point) -> Point {
        self.turned(std::array::from_fn(|a| p[a] - self.centre_mm[a]))
    }

    /// Returns true if it is the same at every z.
    pub(super) fn is_upright(&self) -> bool {
        self.rows.iter().all(|row| row[2] == 0.0)
    }

    /// Returns where a line lies inside; unbounded where the line stays inside for ever.
    pub(super) fn interval(&self, line: &Line) -> Option<Interval> {
        let o = self.placed(line.start);
        let d = self.turned(line.way().into());
        let speed = dot(d, d);
        if speed == 0.0 {
            return (dot(o, o) <= 1.0).then_some([f64::NEG_INFINITY, f64::INFINITY]);
        }
        let nearest = -dot(o, d) / speed;
        let offset: Point = std::array::from_fn(|a| o[a] + nearest * d[a]);
        let room = 1.0 - dot(offset, offset);
        (room > 0.0).then(|| {
            let half = (room / speed).sqrt();
            [nearest - half, nearest + half]
        })
    }
}

/// A convex solid: an intersection of quadrics within a range of z.
#[derive(Clone, Debug, PartialEq)]
pub struct Solid {
    pub(super) quadrics: Vec<Quadric>,
    /// Lowest and highest z, mm; infinite where the quadrics alone bound it.
    pub(super) z_mm: [f64; 2],
}

/// A box about a solid, its faces in any direction: middle + M⁻¹ (u₀, u₁, u₂) with u between −1 and 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct SolidBox {
    middle_mm: Point,
    /// From the middle to the middles of three faces, mm.
    halves_mm: [Point; 3],
}

impl SolidBox {
    /// Returns the box that three pairs of parallel planes bound, |row · (p − c)| ≤ 1 each, with row · c given; `None` where they
    /// bound none.
    fn between(planes: [&(Point, f64); 3]) -> Option<Self> {
        let rows = planes.map(|(row, _)| Vector::from(*row));
        let determinant = rows[0].dot(&rows[1].cross(&rows[2]));
        let halves = [0, 1, 2].map(|a| rows[(a + 1) % 3].cross(&rows[(a + 2) % 3]) / determinant);
        let middle = halves[0] * planes[0].1 + halves[1] * planes[1].1 + halves[2] * planes[2].1;
        let found = Self { middle_mm: middle.into(), halves_mm: halves.map(Point::from) };
        let volume_mm3 = found.volume_mm3();
        (volume_mm3 > 0.0 && volume_mm3.is_finite()).then_some(found)
    }

    pub(super) fn volume_mm3(&self) -> f64 {
        let [a, b, c] = self.halves_mm.map(Vector::from);
        8.0 * a.dot(&b.cross(&c)).abs()
    }

    /// Returns the point at three parts, 0 to 1, of the box's sides.
    pub(super) fn point(&self, parts: [f64; 3]) -> Point {
        std::array::from_fn(|axis| {
            self.middle_mm[axis] + (0..3).map(|a| (2.0 * parts[a] - 1.0) * self.halves_mm[a][axis]).sum::<f64>()
        })
    }

    /// Returns its extent from its middle along x, y or z, mm.
    fn reach_mm(&self, axis: usize) -> f64 {
        self.halves_mm.iter().map(|half| half[axis].abs()).sum()
    }

    /// Returns true if it may share a point with another: if their ranges of x, y and z overlap.
    pub(super) fn may_meet(&self, other: &Self) -> bool {
        (0..3).all(|axis| (self.middle_mm[axis] - other.middle_mm[axis]).abs() <= self.reach_mm(axis) + other.reach_mm(axis))
    }
}

const ANY_Z: [f64; 2] = [f64::NEG_INFINITY, f64::INFINITY];

impl Solid {
    /// Returns a ball.
    pub fn ball(centre_mm: Point, radius_mm: f64) -> Self {
        Self::ellipsoid(centre_mm, [radius_mm; 3], 0.0)
    }

    /// Returns an ellipsoid whose first two semi-axes are turned about z, from +x towards +y, by `turn_rad`.
    pub fn ellipsoid(centre_mm: Point, semi_axes_mm: [f64; 3], turn_rad: f64) -> Self {
        let [first, second] = turned_rows([semi_axes_mm[0], semi_axes_mm[1]], turn_rad);
        let rows = [first, second, [0.0, 0.0, 1.0 / semi_axes_mm[2]]];
        Self { quadrics: vec![Quadric { centre_mm, rows }], z_mm: ANY_Z }
    }

    /// Returns a circular cylinder along z between two heights.
    pub fn cylinder(centre_mm: [f64; 2], radius_mm: f64, z_mm: [f64; 2]) -> Self {
        Self::elliptic_cylinder(centre_mm, [radius_mm; 2], 0.0, z_mm)
    }

    /// Returns an elliptic cylinder along z between two heights, its semi-axes turned about z by `turn_rad`.
    pub fn elliptic_cylinder(centre_mm: [f64; 2], semi_axes_mm: [f64; 2], turn_rad: f64, z_mm: [f64; 2]) -> Self {
        let [first, second] = turned_rows(semi_axes_mm, turn_rad);
        let centre_mm = [centre_mm[0], centre_mm[1], 0.0];
        Self { quadrics: vec![Quadric { centre_mm, rows: [first, second, [0.0; 3]] }], z_mm }
    }

    /// Returns a rod with flat ends from one point to another, in any direction.
    pub fn rod(from_mm: Point, to_mm: Point, radius_mm: f64) -> Self {
        let [from, to] = [from_mm, to_mm].map(Vector::from);
        let length = (to - from).norm();
        let axis = (to - from) / length;
        // Any vector that is not along the axis gives a first normal; the coordinate axis most across it is safe.
        let across = axis.iamin();
        let normal = (Vector::ith(across, 1.0) - axis * axis[across]).normalize();
        let rows = [(normal / radius_mm).into(), (axis.cross(&normal) / radius_mm).into(), [0.0; 3]];
        let centre_mm = ((from + to) * 0.5).into();
        let side = Quadric { centre_mm, rows };
        let ends = Quadric { centre_mm, rows: [(axis * 2.0 / length).into(), [0.0; 3], [0.0; 3]] };
        Self { quadrics: vec![side, ends], z_mm: ANY_Z }
    }

    /// Returns a box with faces normal to the axes, from its lowest to its highest corner.
    pub fn cuboid(low_mm: Point, high_mm: Point) -> Self {
        let slab = |a: usize| {
            let mut row = [0.0; 3];
            row[a] = 2.0 / (high_mm[a] - low_mm[a]);
            let centre_mm = std::array::from_fn(|b| 0.5 * (low_mm[b] + high_mm[b]));
            Quadric { centre_mm, rows: [row, [0.0; 3], [0.0; 3]] }
        };
        Self { quadrics: vec![slab(0), slab(1)], z_mm: [low_mm[2], high_mm[2]] }
    }

    /// Returns the intersection of this solid and another.
    pub fn and(mut self, other: Self) -> Self {
        self.quadrics.extend(other.quadrics);
        self.z_mm = [self.z_mm[0].max(other.z_mm[0]), self.z_mm[1].min(other.z_mm[1])];
        self
    }

    /// Returns the solid `factor` times as large, about the world's origin.
    pub fn scaled(mut self, factor: f64) -> Self {
        for quadric in &mut self.quadrics {
            quadric.centre_mm = quadric.centre_mm.map(|v| v * factor);
            quadric.rows = quadric.rows.map(|row| row.map(|v| v / factor));
        }
        self.z_mm = self.z_mm.map(|z| z * factor);
        self
    }

    /// Returns the solid farther along z.
    pub fn raised(mut self, by_mm: f64) -> Self {
        self.quadrics.iter_mut().for_each(|quadric| quadric.centre_mm[2] += by_mm);
        self.z_mm = self.z_mm.map(|z| z + by_mm);
        self
    }

    /// Returns where a line segment lies inside, as fractions of it in 0 … 1.
    pub(super) fn interval(&self, line: &Line) -> Option<Interval> {
        let mut inside = intersection([0.0, 1.0], z_interval(self.z_mm, line.start[2], line.end[2] - line.start[2])?)?;
        for quadric in &self.quadrics {
            inside = intersection(inside, quadric.interval(line)?)?;
        }
        Some(inside)
    }

    /// Returns the length of a line segment inside, mm.
    pub fn chord_mm(&self, line: &Line) -> f64 {
        self.interval(line).map_or(0.0, |[from, to]| (to - from) * line.length_mm())
    }

    /// Returns a box that holds what of the solid lies between two heights: the smallest between planes that its quadrics touch.
    /// `None` where nothing lies there.
    pub(super) fn within(&self, z_mm: [f64; 2]) -> Option<SolidBox> {
        let [low, high] = intersection(self.z_mm, z_mm)?;
        // Each as row and row · c.
        let mut planes = vec![([0.0, 0.0, 2.0 / (high - low)], (low + high) / (high - low))];
        let of_quadrics = self.quadrics.iter().flat_map(|quadric| quadric.rows.map(|row| (row, dot(row, quadric.centre_mm))));
        planes.extend(of_quadrics.filter(|(row, _)| dot(*row, *row) > 0.0));
        let num = planes.len();
        let triples = (0..num).flat_map(|a| (a + 1..num).flat_map(move |b| (b + 1..num).map(move |c| [a, b, c])));
        let boxes = triples.filter_map(|triple| SolidBox::between(triple.map(|plane| &planes[plane])));
        let smallest = boxes.min_by(|a, b| a.volume_mm3().total_cmp(&b.volume_mm3()))?;
        // If the heights are none of its faces it may lie outside them.
        let is_between = (smallest.middle_mm[2] - 0.5 * (low + high)).abs() < smallest.reach_mm(2) + 0.5 * (high - low);
        is_between.then_some(smallest)
    }

    /// Returns true if a point lies inside or on the boundary.
    pub fn contains(&self, point: Point) -> bool {
        (self.z_mm[0]..=self.z_mm[1]).contains(&point[2])
            && self.quadrics.iter().all(|quadric| {
                let offset = quadric.placed(point);
                dot(offset, offset) <= 1.0
            })
    }
}

/// Returns where z = start + t·rise lies within limits.
pub(super) fn z_interval(z_mm: [f64; 2], start: f64, rise: f64) -> Option<Interval> {
    if rise == 0.0 {
        return (z_mm[0] <= start && start <= z_mm[1]).then_some(ANY_Z);
    }
    let (a, b) = ((z_mm[0] - start) / rise, (z_mm[1] - start) / rise);
    Some([a.min(b), a.max(b)])
}

/// Returns the two rows of M of an ellipse in x and y.
fn turned_rows(semi_axes_mm: [f64; 2], turn_rad: f64) -> [Point; 2] {
    let (sin, cos) = turn_rad.sin_cos();
    let [a, b] = semi_axes_mm;
    [[cos / a, sin / a, 0.0], [-sin / b, cos / b, 0.0]]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(start: Point, end: Point) -> Line {
        Line { start, end }
    }

    #[test]
    fn chords_of_simple_solids_are_those_of_the_textbook() {
        let near = |a: f64, b: f64| assert!((a - b).abs() <= 1e-12 * (1.0 + b.abs()), "{a} is not {b}");
        let ball = Solid::ball([10.0, -5.0, 2.0], 7.0);
        near(ball.chord_mm(&line([-500.0, -2.0, 4.0], [500.0, -2.0, 4.0])), 2.0 * (49.0f64 - 9.0 - 4.0).sqrt());
        near(ball.chord_mm(&line([-500.0, 3.0, 2.0], [500.0, 3.0, 2.0])), 0.0);
        // A segment that ends in the middle.
        near(ball.chord_mm(&line([-500.0, -5.0, 2.0], [10.0, -5.0, 2.0])), 7.0);
        let can = Solid::cylinder([0.0, 0.0], 50.0, [-20.0, 30.0]);
        near(can.chord_mm(&line([30.0, -400.0, 0.0], [30.0, 400.0, 0.0])), 80.0);
        near(can.chord_mm(&line([30.0, -400.0, 31.0], [30.0, 400.0, 31.0])), 0.0);
        near(can.chord_mm(&line([1.0, 2.0, -100.0], [1.0, 2.0, 100.0])), 50.0);
        // 45° through the bottom at (0, 0, −20): leaves through the side at x = 50, z = 30, the very rim.
        near(can.chord_mm(&line([-80.0, 0.0, -100.0], [120.0, 0.0, 100.0])), 50.0 * 2f64.sqrt());
        let cube = Solid::cuboid([-1.0, -2.0, -3.0], [4.0, 5.0, 6.0]);
        near(cube.chord_mm(&line([-9.0, 0.0, 0.0], [9.0, 0.0, 0.0])), 5.0);
        near(cube.chord_mm(&line([0.0, 0.0, -9.0], [0.0, 0.0, 9.0])), 9.0);
        let rod = Solid::rod([0.0, 0.0, 0.0], [30.0, 40.0, 0.0], 2.0);
        near(rod.chord_mm(&line([-30.0, -40.0, 0.0], [60.0, 80.0, 0.0])), 50.0);
        near(rod.chord_mm(&line([-25.0, 50.0, 0.0], [55.0, -10.0, 0.0])), 4.0);
        near(rod.chord_mm(&line([15.0, 20.0, -9.0], [15.0, 20.0, 9.0])), 4.0);
        let egg = Solid::ellipsoid([0.0; 3], [3.0, 5.0, 7.0], std::f64::consts::FRAC_PI_2);
        near(egg.chord_mm(&line([-9.0, 0.0, 0.0], [9.0, 0.0, 0.0])), 10.0);
        near(egg.scaled(2.0).chord_mm(&line([0.0, 0.0, -99.0], [0.0, 0.0, 99.0])), 28.0);
    }
}
