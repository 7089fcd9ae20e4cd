//! The nearest of many directions to a point of the sphere, n and −n being the same direction.

use rstar::RTree;
use rstar::primitives::GeomWithData;

use super::{Point, dot};

/// Room for rounding in the square of a distance.
const ROUNDING: f64 = 1e-12;

/// Both ends of some unit vectors, with their numbers, to be searched.
pub struct Directions(RTree<GeomWithData<Point, usize>>);

impl Directions {
    /// Returns a search tree of unit vectors, at least one.
    pub fn new(units: &[Point]) -> Self {
        let ends = |(index, unit): (usize, &Point)| [1.0, -1.0].map(|sign| GeomWithData::new(unit.map(|c| sign * c), index));
        Self(RTree::bulk_load(units.iter().enumerate().flat_map(ends).collect()))
    }

    /// Returns the ends of all directions by their distance from a point: number and place, and the square of the distance.
    pub fn by_distance(&self, point: Point) -> impl Iterator<Item = ((usize, Point), f64)> {
        let near = self.0.nearest_neighbor_iter_with_distance_2(point);
        near.map(|(end, square)| ((end.data, *end.geom()), square))
    }

    /// Returns the number of the direction with the largest |cos| of the angle to a point of the unit sphere; the first among
    /// equals.
    pub fn nearest(&self, point: Point) -> usize {
        let mut reach = f64::INFINITY;
        let near = self.0.nearest_neighbor_iter_with_distance_2(point).take_while(|(_, square)| {
            reach = reach.min(square + ROUNDING);
            *square <= reach
        });
        let cosines = near.map(|(end, _)| (dot(*end.geom(), point).abs(), end.data));
        cosines.max_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(&a.1))).map_or(0, |(_, index)| index)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Points that no lattice has; some of them lie close together, some twice.
    fn scattered(num: usize) -> Vec<Point> {
        let unit = |i: usize| {
            let narrow = if i.is_multiple_of(3) { 1e-3 } else { 1.0 };
            let (a, b) = ((i * i) as f64 * 0.37, narrow * ((i % 97) as f64 * 0.618).fract() * 3.0);
            [b.sin() * a.cos(), b.sin() * a.sin(), b.cos()]
        };
        (0..num).map(unit).collect()
    }

    #[test]
    fn the_nearest_is_that_of_looking_at_all_of_them() {
        for num in [1, 2, 3, 50, 700] {
            let units = scattered(num);
            let tree = Directions::new(&units);
            for point in scattered(500).into_iter().map(|[x, y, z]| [z, x, y]) {
                let closer = |best: (usize, f64), (k, n): (usize, &Point)| {
                    let cosine = dot(*n, point).abs();
                    if cosine > best.1 { (k, cosine) } else { best }
                };
                let expected = units.iter().enumerate().fold((0, f64::NEG_INFINITY), closer).0;
                assert_eq!(tree.nearest(point), expected, "{num}: {point:?}");
            }
        }
    }
}
