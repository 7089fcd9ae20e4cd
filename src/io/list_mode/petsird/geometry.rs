//! Crystals from modules: a corner of a box, x, is at M (E x) in the scanner, where E is its element's and M its module's
//! transform, x' = R x + t. What a transform's t is does not matter: a box may begin at 0.

use super::binary::Value;
use crate::geometry::Point;
use crate::io::error::PetsirdProblem;
use crate::scanner::Crystal;

/// How far from rigid a transform may be, and edges from being at right angles.
const MOST_OFF: f64 = 1e-2;
/// A side whose square is less of the diagonal's square is none.
const FLAT: f64 = 1e-9;
/// The scanner's axis.
const AXIS: Point = [0.0, 0.0, 1.0];
/// Most crystals, as of [`crate::scanner::Detectors`].
const MAX_CRYSTALS: usize = 1 << 24;

/// The modules of a type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ModuleType {
    /// Modules.
    pub num_modules: usize,
    /// Crystals of each.
    pub num_elements: usize,
    /// Number of the first one's first crystal.
    pub first_crystal: usize,
}

impl ModuleType {
    /// Crystals of all.
    pub fn num_crystals(&self) -> usize {
        self.num_modules * self.num_elements
    }
}

/// R and t.
#[derive(Clone, Copy, Debug)]
pub struct Transform([[f64; 4]; 3]);

impl Transform {
    /// A transform from its record.
    ///
    /// # Errors
    /// It is not rigid.
    pub fn new(value: &Value) -> Result<Self, PetsirdProblem> {
        let numbers = value.numbers("matrix")?;
        let rows: [f64; 12] = numbers.try_into().map_err(|_| PetsirdProblem::TransformSize(numbers.len()))?;
        let transform = Self(std::array::from_fn(|row| std::array::from_fn(|column| rows[4 * row + column])));
        let product = |i: usize, j: usize| (0..3).map(|row| transform.0[row][i] * transform.0[row][j]).sum::<f64>();
        let is_rigid = (0..3).all(|i| (0..3).all(|j| (product(i, j) - f64::from(i == j)).abs() < MOST_OFF));
        if is_rigid { Ok(transform) } else { Err(PetsirdProblem::NotRigid(Box::new(rows))) }
    }

    /// Whether nothing moves.
    pub fn is_identity(&self) -> bool {
        let unity = |row: usize, column: usize| f64::from(row == column);
        (0..3).all(|row| (0..4).all(|column| (self.0[row][column] - unity(row, column)).abs() < 1e-5))
    }

    fn turn(&self, point: Point) -> Point {
        std::array::from_fn(|row| (0..3).map(|column| self.0[row][column] * point[column]).sum())
    }

    fn apply(&self, point: Point) -> Point {
        let turned = self.turn(point);
        std::array::from_fn(|row| turned[row] + self.0[row][3])
    }
}

/// The types of modules of a `scannerGeometry`, and all their crystals: of the first type's first module first.
///
/// # Errors
/// What is missing or cannot be.
pub fn crystals(geometry: &Value) -> Result<(Vec<ModuleType>, Vec<Crystal>), PetsirdProblem> {
    let (mut types, mut crystals) = (Vec::new(), Vec::new());
    for replicated in geometry.list("replicatedModules")? {
        let transforms_of = |value: &Value| value.list("transforms")?.iter().map(Transform::new).collect::<Result<Vec<_>, _>>();
        let elements = replicated.record("object")?.record("detectingElements")?;
        let corners = corners(elements.record("object")?.record("shape")?)?;
        let middle: Point = std::array::from_fn(|axis| corners.iter().map(|corner| corner[axis]).sum::<f64>() / 8.0);
        let edges = edges(&corners).ok_or(PetsirdProblem::NotABox)?;
        let (elements, modules) = (transforms_of(elements)?, transforms_of(replicated)?);
        let ty = ModuleType { num_modules: modules.len(), num_elements: elements.len(), first_crystal: crystals.len() };
        if elements.len().saturating_mul(modules.len()) > MAX_CRYSTALS - crystals.len() {
            return Err(PetsirdProblem::ManyCrystals(MAX_CRYSTALS));
        }
        for module in &modules {
            let place = |element: &Transform| {
                let edges = edges.map(|(edge, length)| (module.turn(element.turn(edge)), length));
                crystal(module.apply(element.apply(middle)), edges)
            };
            crystals.extend(elements.iter().map(place));
        }
        types.push(ty);
    }
    Ok((types, crystals))
}

fn corners(shape: &Value) -> Result<[Point; 8], PetsirdProblem> {
    let list = shape.list("corners")?;
    let point = |corner: &Value| {
        let numbers = corner.numbers("c")?;
        Point::try_from(numbers).map_err(|_| PetsirdProblem::CornerSize(numbers.len()))
    };
    let points = list.iter().map(point).collect::<Result<Vec<_>, _>>()?;
    points.try_into().map_err(|points: Vec<_>| PetsirdProblem::NumCorners(points.len()))
}

fn dot(a: &Point, b: &Point) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn cross(a: &Point, b: &Point) -> Point {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

/// An edge: its direction, and its length, mm.
type Edge = (Point, f64);

/// The edges that meet in the first corner, whatever order the corners have: the shortest of the ways to the others is one, so is
/// the shortest at right angles to it, and the shortest at right angles to both. Where a box is flat, what is left of the axes of
/// its own frame has length 0.
fn edges(corners: &[Point; 8]) -> Option<[Edge; 3]> {
    let mut ways: Vec<Point> =
        corners[1..].iter().map(|corner| std::array::from_fn(|axis| corner[axis] - corners[0][axis])).collect();
    ways.sort_by(|a, b| dot(a, a).total_cmp(&dot(b, b)));
    let longest = dot(&ways[6], &ways[6]);
    let mut edges: Vec<Edge> = Vec::new();
    for way in &ways {
        let length = dot(way, way).sqrt();
        let is_across = |(edge, _): &Edge| dot(way, edge).abs() < MOST_OFF * length;
        if length * length > FLAT * longest && edges.iter().all(is_across) {
            edges.push((way.map(|value| value / length), length));
        }
    }
    // The way to the opposite corner is all of them together.
    let squares = edges.iter().map(|(_, length)| length * length).sum::<f64>();
    if edges.len() > 3 || (longest - squares).abs() > MOST_OFF * longest {
        return None;
    }
    for axis in [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]] {
        let along = edges.iter().fold(axis, |rest, (edge, _)| std::array::from_fn(|a| rest[a] - dot(&axis, edge) * edge[a]));
        let length = dot(&along, &along).sqrt();
        if edges.len() < 3 && length > 0.5 {
            edges.push((along.map(|value| value / length), 0.0));
        }
    }
    edges.try_into().ok()
}

/// A crystal with its edges by their directions: depth is nearest to outwards, axial nearest to z, the third tangential.
fn crystal(centre_mm: Point, edges: [Edge; 3]) -> Crystal {
    let radius = centre_mm[0].hypot(centre_mm[1]);
    // On the axis any direction across it is as good; this is the one of a cylinder's first detector.
    let outwards = if radius > 0.0 { [centre_mm[0] / radius, centre_mm[1] / radius, 0.0] } else { [0.0, -1.0, 0.0] };
    let nearest = |indices: &[usize], direction: &Point| {
        let along = |index: usize| dot(&edges[index].0, direction).abs();
        indices.iter().copied().max_by(|&a, &b| along(a).total_cmp(&along(b))).unwrap_or(0)
    };
    let depth = nearest(&[2, 1, 0], &outwards);
    let others: Vec<usize> = (0..3).filter(|&index| index != depth).collect();
    let axial = nearest(&others, &AXIS);
    let tangential = 3 - depth - axial;
    let unit = |index: usize, towards: &Point| {
        let sign = if dot(&edges[index].0, towards) < 0.0 { -1.0 } else { 1.0 };
        edges[index].0.map(|value| sign * value)
    };
    let (outer, along) = (unit(depth, &outwards), unit(axial, &AXIS));
    let axes = [outer, unit(tangential, &cross(&along, &outer)), along];
    Crystal { centre_mm, axes, size_mm: [depth, tangential, axial].map(|index| edges[index].1) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edges_are_found_in_any_order_of_the_corners_and_only_in_boxes() {
        // Sides 20, 4 and 3, turned.
        let (sin, cos) = 0.3f64.sin_cos();
        let sides = [[20.0 * cos, 20.0 * sin, 0.0], [-4.0 * sin, 4.0 * cos, 0.0], [0.0, 0.0, 3.0]];
        let corner = |index: usize| -> Point {
            std::array::from_fn(|axis| {
                7.0 + (0..3).filter(|side| index >> side & 1 == 1).map(|side| sides[side][axis]).sum::<f64>()
            })
        };
        for shift in 0..8 {
            let corners: [Point; 8] = std::array::from_fn(|index| corner((3 * index + shift) % 8));
            let edges = edges(&corners).unwrap();
            let lengths = edges.map(|(_, length)| length);
            assert!(edges.iter().all(|(edge, _)| (dot(edge, edge) - 1.0).abs() < 1e-12));
            assert!(lengths.iter().zip([3.0, 4.0, 20.0]).all(|(found, side)| (found - side).abs() < 1e-9), "{lengths:?}");
        }
        assert_eq!(edges(&std::array::from_fn(|index| [index as f64, 0.0, 0.0])), None);
        let flat: [Point; 8] = std::array::from_fn(|index| [corner(index)[0], corner(index)[1], 1.0]);
        assert_eq!(edges(&flat).unwrap()[2], ([0.0, 0.0, 1.0], 0.0));
        assert_eq!(edges(&[[1.0; 3]; 8]).unwrap()[0], ([1.0, 0.0, 0.0], 0.0));
        let mut skew: [Point; 8] = std::array::from_fn(corner);
        skew[7][0] += 9.0;
        assert_eq!(edges(&skew), None);
    }

    #[test]
    fn a_crystals_axes_point_outwards_along_z_and_right_handed() {
        let length = 13f64.sqrt();
        let found = crystal(
            [-150.0, 100.0, 5.0],
            [([0.0, 0.0, -1.0], 2.0), ([3.0 / length, -2.0 / length, 0.0], 20.0), ([2.0 / length, 3.0 / length, 0.0], 4.0)],
        );
        let near = |a: [f64; 3], b: [f64; 3]| a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-12);
        assert!(near(found.size_mm, [20.0, 4.0, 2.0]));
        assert!(near(found.axes[0], [-3.0 / length, 2.0 / length, 0.0]) && near(found.axes[2], [0.0, 0.0, 1.0]));
        assert!(near(found.axes[1], cross(&found.axes[2], &found.axes[0])), "{:?}", found.axes);
    }
}
