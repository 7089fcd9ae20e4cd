//! Weights of directions in a plane.

use std::f64::consts::PI;

use crate::geometry::Point;

/// Directions closer than this are one, radians.
const SAME_ANGLE: f64 = 1e-6;

/// Weights for directions (cos θ, sin θ, 0) of any arrangement: half the angle to each of the two neighbours on the half circle
/// (n and −n being the same), which adds up to π. Equal directions share.
pub fn half_circle_weights(directions: &[Point]) -> Vec<f64> {
    let angle = |n: &Point| {
        let angle = n[1].atan2(n[0]).rem_euclid(PI);
        // The half circle closes: angles just below π are neighbours of 0.
        if PI - angle < SAME_ANGLE { angle - PI } else { angle }
    };
    let mut sorted: Vec<(f64, usize)> = directions.iter().map(angle).zip(0..).collect();
    sorted.sort_by(|a, b| a.0.total_cmp(&b.0));
    let groups: Vec<&[(f64, usize)]> = sorted.chunk_by(|a, b| b.0 - a.0 < SAME_ANGLE).collect();
    let at = |index: usize| groups[index % groups.len()][0].0 + if index >= groups.len() { PI } else { 0.0 };
    let mut weights = vec![0.0; directions.len()];
    for (index, group) in groups.iter().enumerate() {
        // From the neighbour before to the one behind, once round the half circle.
        let before = if index == 0 { at(groups.len() - 1) - PI } else { at(index - 1) };
        let weight = 0.5 * (at(index + 1) - before) / group.len() as f64;
        group.iter().for_each(|(_, direction)| weights[*direction] = weight);
    }
    weights
}

#[cfg(test)]
mod tests {
    use super::*;

    fn along(degrees: &[f64]) -> Vec<Point> {
        degrees.iter().map(|angle| [angle.to_radians().cos(), angle.to_radians().sin(), 0.0]).collect()
    }

    fn assert_degrees(directions: &[f64], expected: &[f64]) {
        let weights = half_circle_weights(&along(directions));
        assert_eq!(weights.len(), expected.len());
        for (weight, expected) in weights.iter().zip(expected) {
            assert!((weight.to_degrees() - expected).abs() < 1e-9, "{directions:?}: {weights:?}");
        }
        assert!(weights.is_empty() || (weights.iter().sum::<f64>() - PI).abs() < 1e-9);
    }

    #[test]
    fn a_direction_counts_half_the_way_to_its_neighbours() {
        assert_degrees(&[0.0, 45.0, 90.0, 135.0], &[45.0; 4]);
        // In any order, on either side.
        assert_degrees(&[270.0, 180.0, -135.0, 315.0], &[45.0; 4]);
        assert_degrees(&[10.0, 20.0, 60.0], &[70.0, 25.0, 85.0]);
        assert_degrees(&[30.0, 210.0, 120.0], &[45.0, 45.0, 90.0]);
        assert_degrees(&[180.0 - 1e-7, 0.0, 90.0], &[45.0, 45.0, 90.0]);
        assert_degrees(&[77.0], &[180.0]);
        assert_degrees(&[], &[]);
    }
}
