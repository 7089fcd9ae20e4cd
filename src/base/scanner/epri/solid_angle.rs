//! Weights for directions of any arrangement on the half sphere: the areas of their cells.
//!
//! The cell of n is where no other direction is nearer, n and −n being the same: {q : q·n ≥ |q·m| for all m}, the intersection of the
//! half spaces q·(n ∓ m) ≥ 0. It begins as the half sphere about n, which the nearest other directions cut, as long as they are near
//! enough to reach its farthest corner. The area of a triangle of the sphere is that of Van Oosterom and Strackee 1983 (IEEE Trans
//! Biomed Eng 30:125): tan(Ω/2) = a·(b × c) / (1 + a·b + b·c + c·a).

use std::f64::consts::TAU;

use rayon::prelude::*;

use crate::geometry::{Directions, Point, cross, dot};

/// The half sphere is a pyramid whose corners are so far above its rim: its area is 2π within as much.
const RIM: f64 = 1e-8;

/// Returns the solid angle of the points of the half sphere that are nearest to each direction; in all 2π. Equal directions share.
pub fn solid_angle_weights(directions: &[Point]) -> Vec<f64> {
    let groups = equal_directions(directions);
    if groups.is_empty() {
        return Vec::new();
    }
    let units: Vec<Point> = groups.iter().map(|group| directions[group[0]]).collect();
    let tree = Directions::new(&units);
    let areas: Vec<f64> = (0..units.len()).into_par_iter().map(|index| area(units[index], &cell(&units, index, &tree))).collect();
    // (The rounding of the rim, and of directions that differ by less than a millionth.)
    let total: f64 = areas.iter().sum();
    let mut weights = vec![0.0; directions.len()];
    for (group, area) in groups.iter().zip(areas) {
        let share = TAU * area / (total * group.len() as f64);
        group.iter().for_each(|&index| weights[index] = share);
    }
    weights
}

/// Returns the corners of a direction's cell in order, of any length.
fn cell(units: &[Point], index: usize, tree: &Directions) -> Vec<Point> {
    let unit = units[index];
    let [along, across] = normals(unit);
    let rim = |a: f64, b: f64| std::array::from_fn(|i| RIM * unit[i] + a * along[i] + b * across[i]);
    let mut corners: Vec<Point> = vec![rim(1.0, 1.0), rim(-1.0, 1.0), rim(-1.0, -1.0), rim(1.0, -1.0)];
    let farthest = |corners: &[Point]| corners.iter().map(|corner| dot(*corner, unit) / length(*corner)).fold(1.0, f64::min);
    let mut least_cos = farthest(&corners);
    for (other, square) in tree.by_distance(unit).filter(|(other, _)| other.0 != index) {
        // (A direction at the angle φ cuts at φ/2; its distance is 2 sin(φ/2).)
        if square > 4.0 * (1.0 - least_cos * least_cos) {
            break;
        }
        if let Some(left) = cut(&corners, std::array::from_fn(|i| unit[i] - other.1[i])) {
            corners = left;
            least_cos = farthest(&corners);
        }
    }
    corners
}

/// Returns the part of a convex cell on the side of the normal; `None` of a whole one.
fn cut(corners: &[Point], normal: Point) -> Option<Vec<Point>> {
    let heights: Vec<f64> = corners.iter().map(|corner| dot(*corner, normal)).collect();
    if heights.iter().all(|height| *height >= 0.0) {
        return None;
    }
    let mut left = Vec::with_capacity(corners.len() + 1);
    for (k, (&corner, &height)) in corners.iter().zip(&heights).enumerate() {
        let (next, next_height) = (corners[(k + 1) % corners.len()], heights[(k + 1) % corners.len()]);
        if height >= 0.0 {
            left.push(corner);
        }
        if (height < 0.0) != (next_height < 0.0) {
            let part = height / (height - next_height);
            left.push(std::array::from_fn(|i| corner[i] + part * (next[i] - corner[i])));
        }
    }
    Some(left)
}

/// Returns the area of a cell about a direction.
fn area(unit: Point, corners: &[Point]) -> f64 {
    let units: Vec<Point> = corners.iter().map(|corner| corner.map(|v| v / length(*corner))).collect();
    let triangle = |(b, c): (&Point, &Point)| {
        let volume = dot(unit, cross(*b, *c));
        2.0 * volume.abs().atan2(1.0 + dot(unit, *b) + dot(*b, *c) + dot(*c, unit))
    };
    units.iter().zip(units.iter().cycle().skip(1)).map(triangle).sum()
}

/// Returns two unit vectors normal to a unit vector and to each other.
fn normals(unit: Point) -> [Point; 2] {
    let axis = (0..3).min_by(|a, b| unit[*a].abs().total_cmp(&unit[*b].abs())).unwrap_or(0);
    let across = cross(unit, std::array::from_fn(|i| f64::from(u8::from(i == axis))));
    let along = across.map(|v| v / length(across));
    [along, cross(unit, along)]
}

fn length(a: Point) -> f64 {
    dot(a, a).sqrt()
}

/// Numbers of the directions that are the same to a millionth, in the order of the first of each.
fn equal_directions(directions: &[Point]) -> Vec<Vec<usize>> {
    let folded = |n: &Point| {
        let [x, y, z] = n.map(|v| (v * 1e6).round() as i64);
        if (z, y, x) < (0, 0, 0) { [-x, -y, -z] } else { [x, y, z] }
    };
    let mut order: Vec<([i64; 3], usize)> = directions.iter().map(folded).zip(0..).collect();
    order.sort_unstable();
    let group = |same: &[([i64; 3], usize)]| same.iter().map(|(_, index)| *index).collect();
    let mut groups: Vec<Vec<usize>> = order.chunk_by(|(a, _), (b, _)| a == b).map(group).collect();
    groups.sort_unstable_by_key(|group| group[0]);
    groups
}

#[cfg(test)]
mod tests {
    use std::f64::consts::PI;

    use super::*;
    use crate::scanner::epri::{Scheme, Weighting};

    fn solid_angle(num_bands: usize) -> Scheme {
        Scheme::EqualSolidAngle { num_bands }
    }

    #[test]
    fn measured_solid_angles_are_those_of_the_scheme() {
        for scheme in [solid_angle(18), Scheme::EqualLinearAngle { num_polar: 15, num_azimuth: 15 }] {
            let directions = scheme.directions(Weighting::SolidAngle);
            // The sign of a direction does not matter.
            let units: Vec<Point> =
                directions.iter().enumerate().map(|(i, d)| d.unit.map(|v| if i % 3 == 0 { -v } else { v })).collect();
            let measured = solid_angle_weights(&units);
            assert!((measured.iter().sum::<f64>() - TAU).abs() < 1e-9);
            let deviation: f64 = measured.iter().zip(&directions).map(|(w, d)| (w - d.weight).abs()).sum::<f64>() / TAU;
            assert!(deviation < 0.06, "{scheme}: {deviation}");
        }
        // The axes, and the diagonals of a cube.
        let axes: [Point; 3] = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, -1.0]];
        let diagonals = [[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]].map(|[x, y]| [x, y, 1.0].map(|v| v / 3f64.sqrt()));
        let of_symmetry = [solid_angle_weights(&axes), solid_angle_weights(&diagonals), solid_angle_weights(&axes[..1])];
        for weights in of_symmetry {
            assert!(weights.iter().all(|weight| (weight - TAU / weights.len() as f64).abs() < 1e-6), "{weights:?}");
        }
        let twice = [[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [-1.0, 0.0, 0.0]];
        let weights = solid_angle_weights(&twice);
        assert!(weights[0] == weights[2] && (weights[1] - PI).abs() < 1e-6, "{weights:?}");
        assert_eq!(solid_angle_weights(&[]), Vec::<f64>::new());
    }

    /// Compares with the definition, direction by direction and point by point.
    #[test]
    fn measured_solid_angles_of_many_directions_are_those_of_looking_at_every_one() {
        let units: Vec<Point> = solid_angle(8).directions(Weighting::SolidAngle).iter().map(|d| d.unit).collect();
        let num_points = 100_000;
        let mut expected = vec![0.0; units.len()];
        for i in 0..num_points {
            let z = (i as f64 + 0.5) / num_points as f64;
            let (sin, cos) = (i as f64 * PI * (3.0 - 5f64.sqrt())).sin_cos();
            let point = [(1.0 - z * z).sqrt() * cos, (1.0 - z * z).sqrt() * sin, z];
            let closer =
                |a: &usize, b: &usize| dot(units[*a], point).abs().total_cmp(&dot(units[*b], point).abs()).then(b.cmp(a));
            expected[(0..units.len()).max_by(closer).unwrap()] += TAU / num_points as f64;
        }
        let weights = solid_angle_weights(&units);
        assert!(weights.iter().zip(&expected).all(|(a, b)| (a - b).abs() < 0.02 * b));
        // Many of them, and all of them twice.
        let many: Vec<Point> = solid_angle(60).directions(Weighting::SolidAngle).iter().map(|d| d.unit).collect();
        let weights = solid_angle_weights(&many);
        let exact = solid_angle(60).directions(Weighting::SolidAngle);
        let deviation: f64 = weights.iter().zip(&exact).map(|(w, d)| (w - d.weight).abs()).sum::<f64>() / TAU;
        assert!(deviation < 0.06, "{} directions: {deviation}", many.len());
        let twice: Vec<Point> = many.iter().flat_map(|&n| [n, n.map(|c| -c)]).collect();
        let shared = solid_angle_weights(&twice);
        assert!((shared.iter().sum::<f64>() - TAU).abs() < 1e-9);
        assert!(shared.as_chunks::<2>().0.iter().all(|[a, b]| a == b));
    }
}
