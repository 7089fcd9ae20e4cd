//! Which of many directions is nearest to a point of the sphere, n and −n being the same direction.
//!
//! A k-d tree (Bentley 1975, Commun ACM 18:509) over both ends of every direction, laid out as a sorted array whose middle is
//! the root; a side is entered when its box can hold a nearer point (Arya and Mount 1993).

use super::{Point, dot};

/// Both ends of some unit vectors, to be searched.
pub struct Directions {
    /// `[lower side][middle][upper side]`, and so on within each side.
    nodes: Vec<Node>,
}

#[derive(Clone, Copy)]
struct Node {
    point: Point,
    /// Number of the direction.
    index: usize,
    /// Axis across which the sides of this node lie.
    axis: usize,
}

/// The best so far.
struct Best {
    index: usize,
    cosine: f64,
    /// Square of the distance beyond which nothing is nearer, with room for rounding.
    reach: f64,
}

impl Directions {
    /// Of unit vectors, at least one.
    pub fn new(units: &[Point]) -> Self {
        let end = |index: usize, sign: f64| Node { point: units[index].map(|c| sign * c), index, axis: 0 };
        let mut nodes: Vec<Node> = (0..units.len()).flat_map(|index| [end(index, 1.0), end(index, -1.0)]).collect();
        arrange(&mut nodes);
        Self { nodes }
    }

    /// Number of the direction with the largest |cos| of the angle to a point of the unit sphere; the first among equals.
    pub fn nearest(&self, point: Point) -> usize {
        let mut best = Best { index: 0, cosine: f64::NEG_INFINITY, reach: f64::INFINITY };
        search(&self.nodes, point, [0.0; 3], &mut best);
        best.index
    }
}

/// Puts the middle along the widest axis in the middle, and so on on both sides.
fn arrange(nodes: &mut [Node]) {
    if nodes.len() < 2 {
        return;
    }
    let width = |axis: usize| {
        let ends = nodes.iter().map(|node| node.point[axis]);
        ends.clone().fold(f64::NEG_INFINITY, f64::max) - ends.fold(f64::INFINITY, f64::min)
    };
    let widths: Point = std::array::from_fn(width);
    let axis = (0..3).max_by(|&a, &b| widths[a].total_cmp(&widths[b])).unwrap_or(0);
    let middle = nodes.len() / 2;
    nodes.select_nth_unstable_by(middle, |a, b| a.point[axis].total_cmp(&b.point[axis]));
    nodes[middle].axis = axis;
    let (lower, upper) = nodes.split_at_mut(middle);
    arrange(lower);
    arrange(&mut upper[1..]);
}

/// Looks through a side whose box lies `away` from the point along each axis.
fn search(nodes: &[Node], point: Point, away: Point, best: &mut Best) {
    let middle = nodes.len() / 2;
    let Some(node) = nodes.get(middle) else { return };
    let cosine = dot(node.point, point).abs();
    if cosine > best.cosine || (cosine == best.cosine && node.index < best.index) {
        // |a − b|² = 2 (1 − cos) for unit vectors.
        *best = Best { index: node.index, cosine, reach: 2.0 * (1.0 - cosine).max(0.0) + 1e-12 };
    }
    let beyond = point[node.axis] - node.point[node.axis];
    let (lower, upper) = (&nodes[..middle], &nodes[middle + 1..]);
    let (near, far) = if beyond < 0.0 { (lower, upper) } else { (upper, lower) };
    search(near, point, away, best);
    let mut away = away;
    away[node.axis] = beyond;
    if dot(away, away) <= best.reach {
        search(far, point, away, best);
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
