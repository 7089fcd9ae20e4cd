//! Crystals from modules: a corner of a box, x, is at M (E x) in the scanner, where E is its element's and M its module's
//! transform, x' = R x + t. The shift of a transform is arbitrary: a box may begin at 0.

use nalgebra::{Matrix3, SMatrix};

use super::binary::Value;
use crate::geometry::{Point, Vector};
use crate::io::list_mode::petsird::problem::PetsirdProblem;
use crate::scanner::Crystal;

/// Largest deviation of a transform from a rigid one, and of edges from right angles.
const MAX_DEVIATION: f64 = 1e-2;
/// A side whose square is less of the diagonal's square is none.
const FLAT: f64 = 1e-9;
/// The scanner's axis.
const AXIS: Vector = Vector::new(0.0, 0.0, 1.0);
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
    /// Returns the number of all crystals.
    pub fn num_crystals(&self) -> usize {
        self.num_modules * self.num_elements
    }
}

/// R and t.
#[derive(Clone, Copy, Debug)]
pub struct Transform {
    turn: Matrix3<f64>,
    shift: Vector,
}

impl Transform {
    /// Reads a transform from its record.
    ///
    /// # Errors
    /// It is not rigid.
    pub fn new(value: &Value) -> Result<Self, PetsirdProblem> {
        let numbers = value.numbers("matrix")?;
        let rows: [f64; 12] = numbers.try_into().map_err(|_| PetsirdProblem::TransformSize(numbers.len()))?;
        let turn = Matrix3::from_fn(|row, column| rows[4 * row + column]);
        let shift = Vector::from_fn(|row, _| rows[4 * row + 3]);
        let is_rigid = is_near(turn.transpose() * turn, Matrix3::identity(), MAX_DEVIATION);
        if is_rigid { Ok(Self { turn, shift }) } else { Err(PetsirdProblem::NotRigid(Box::new(rows))) }
    }

    /// Returns true if nothing moves.
    pub fn is_identity(&self) -> bool {
        is_near(self.turn, Matrix3::identity(), 1e-5) && is_near(self.shift, Vector::zeros(), 1e-5)
    }

    fn apply(&self, point: Vector) -> Vector {
        self.turn * point + self.shift
    }
}

/// Returns true if all numbers of two matrices differ by less than `max`; NaN never does.
fn is_near<const C: usize>(a: SMatrix<f64, 3, C>, b: SMatrix<f64, 3, C>, max: f64) -> bool {
    (a - b).iter().all(|difference| difference.abs() < max)
}

/// Returns the types of modules of a `scannerGeometry`, and all their crystals, those of the first type's first module first.
///
/// # Errors
/// A missing or invalid value.
pub fn crystals(geometry: &Value) -> Result<(Vec<ModuleType>, Vec<Crystal>), PetsirdProblem> {
    let (mut types, mut crystals) = (Vec::new(), Vec::new());
    for replicated in geometry.list("replicatedModules")? {
        let transforms_of = |value: &Value| value.list("transforms")?.iter().map(Transform::new).collect::<Result<Vec<_>, _>>();
        let elements = replicated.record("object")?.record("detectingElements")?;
        let corners = corners(elements.record("object")?.record("shape")?)?;
        let middle = corners.iter().sum::<Vector>() / 8.0;
        let edges = edges(&corners).ok_or(PetsirdProblem::NotABox)?;
        let (elements, modules) = (transforms_of(elements)?, transforms_of(replicated)?);
        let ty = ModuleType { num_modules: modules.len(), num_elements: elements.len(), first_crystal: crystals.len() };
        if elements.len().saturating_mul(modules.len()) > MAX_CRYSTALS - crystals.len() {
            return Err(PetsirdProblem::ManyCrystals(MAX_CRYSTALS));
        }
        for module in &modules {
            let placed = |element: &Transform| {
                let edges = edges.map(|(edge, length)| (module.turn * (element.turn * edge), length));
                crystal(module.apply(element.apply(middle)), edges)
            };
            crystals.extend(elements.iter().map(placed));
        }
        types.push(ty);
    }
    Ok((types, crystals))
}

fn corners(shape: &Value) -> Result<[Vector; 8], PetsirdProblem> {
    let list = shape.list("corners")?;
    let point = |corner: &Value| {
        let numbers = corner.numbers("c")?;
        Point::try_from(numbers).map(Vector::from).map_err(|_| PetsirdProblem::CornerSize(numbers.len()))
    };
    let points = list.iter().map(point).collect::<Result<Vec<_>, _>>()?;
    points.try_into().map_err(|points: Vec<_>| PetsirdProblem::NumCorners(points.len()))
}

/// An edge: its direction, and its length, mm.
type Edge = (Vector, f64);

/// Returns the edges that meet in the first corner, for any order of the corners: the shortest of the ways to the others, the
/// shortest at right angles to it, and the shortest at right angles to both. If a box is flat, the missing axes of its frame have
/// length 0.
fn edges(corners: &[Vector; 8]) -> Option<[Edge; 3]> {
    let mut ways: Vec<Vector> = corners[1..].iter().map(|corner| corner - corners[0]).collect();
    ways.sort_by(|a, b| a.norm_squared().total_cmp(&b.norm_squared()));
    let longest = ways[6].norm_squared();
    let mut edges: Vec<Edge> = Vec::new();
    for way in &ways {
        let length = way.norm();
        let is_across = |(edge, _): &Edge| way.dot(edge).abs() < MAX_DEVIATION * length;
        if length * length > FLAT * longest && edges.iter().all(is_across) {
            edges.push((way / length, length));
        }
    }
    // The way to the opposite corner is all of them together.
    let squares = edges.iter().map(|(_, length)| length * length).sum::<f64>();
    if edges.len() > 3 || (longest - squares).abs() > MAX_DEVIATION * longest {
        return None;
    }
    for axis in [Vector::x(), Vector::y(), Vector::z()] {
        let along = edges.iter().fold(axis, |rest, (edge, _)| rest - edge * axis.dot(edge));
        let length = along.norm();
        if edges.len() < 3 && length > 0.5 {
            edges.push((along / length, 0.0));
        }
    }
    edges.try_into().ok()
}

/// Returns a crystal with its edges by their directions: depth is nearest to outwards, axial nearest to z, the third tangential.
fn crystal(centre_mm: Vector, edges: [Edge; 3]) -> Crystal {
    let radius = centre_mm.x.hypot(centre_mm.y);
    // On the axis any direction across it is as good; this is the one of a cylinder's first detector.
    let outwards = if radius > 0.0 { Vector::new(centre_mm.x, centre_mm.y, 0.0) / radius } else { -Vector::y() };
    let nearest = |indices: &[usize], direction: &Vector| {
        let along = |index: usize| edges[index].0.dot(direction).abs();
        indices.iter().copied().max_by(|&a, &b| along(a).total_cmp(&along(b))).unwrap_or(0)
    };
    let depth = nearest(&[2, 1, 0], &outwards);
    let others: Vec<usize> = (0..3).filter(|&index| index != depth).collect();
    let axial = nearest(&others, &AXIS);
    let tangential = 3 - depth - axial;
    let unit = |index: usize, towards: &Vector| {
        let edge = edges[index].0;
        if edge.dot(towards) < 0.0 { -edge } else { edge }
    };
    let (outer, along) = (unit(depth, &outwards), unit(axial, &AXIS));
    let axes = [outer, unit(tangential, &along.cross(&outer)), along].map(Point::from);
    Crystal { centre_mm: centre_mm.into(), axes, size_mm: [depth, tangential, axial].map(|index| edges[index].1) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edges_are_found_in_any_order_of_the_corners_and_only_in_boxes() {
        // Sides 20, 4 and 3, turned.
        let (sin, cos) = 0.3f64.sin_cos();
        let sides = [Vector::new(cos, sin, 0.0) * 20.0, Vector::new(-sin, cos, 0.0) * 4.0, AXIS * 3.0];
        let corner = |index: usize| {
            let sides = (0..3).filter(|side| index >> side & 1 == 1).map(|side| sides[side]);
            Vector::repeat(7.0) + sides.sum::<Vector>()
        };
        for shift in 0..8 {
            let corners: [Vector; 8] = std::array::from_fn(|index| corner((3 * index + shift) % 8));
            let edges = edges(&corners).unwrap();
            let lengths = edges.map(|(_, length)| length);
            assert!(edges.iter().all(|(edge, _)| (edge.norm() - 1.0).abs() < 1e-12));
            assert!(lengths.iter().zip([3.0, 4.0, 20.0]).all(|(found, side)| (found - side).abs() < 1e-9), "{lengths:?}");
        }
        assert_eq!(edges(&std::array::from_fn(|index| Vector::x() * index as f64)), None);
        let flat: [Vector; 8] = std::array::from_fn(|index| Vector::new(corner(index).x, corner(index).y, 1.0));
        assert_eq!(edges(&flat).unwrap()[2], (AXIS, 0.0));
        assert_eq!(edges(&[Vector::repeat(1.0); 8]).unwrap()[0], (Vector::x(), 0.0));
        let mut skew: [Vector; 8] = std::array::from_fn(corner);
        skew[7][0] += 9.0;
        assert_eq!(edges(&skew), None);
    }

    #[test]
    fn a_crystals_axes_point_outwards_along_z_and_right_handed() {
        let length = 13f64.sqrt();
        let found = crystal(
            Vector::new(-150.0, 100.0, 5.0),
            [(-AXIS, 2.0), (Vector::new(3.0, -2.0, 0.0) / length, 20.0), (Vector::new(2.0, 3.0, 0.0) / length, 4.0)],
        );
        let near = |a: [f64; 3], b: [f64; 3]| a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-12);
        assert!(near(found.size_mm, [20.0, 4.0, 2.0]));
        assert!(near(found.axes[0], [-3.0 / length, 2.0 / length, 0.0]) && near(found.axes[2], [0.0, 0.0, 1.0]));
        let [depth, tangential, axial] = found.axes.map(Vector::from);
        assert!(near(tangential.into(), axial.cross(&depth).into()), "{:?}", found.axes);
    }
}
