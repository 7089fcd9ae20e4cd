//! Space of the image from a whole table of directions: volume or slice.

use std::path::Path;

use crate::data::{Direction, GradientAxis, Notice, SweepSpace};
use crate::geometry::Vector;
use crate::io::epri::problem::SweepProblem;
use crate::io::error::IoError;

/// Largest angle, radians, between a direction and its plane, and between directions that count as equal: gradients have single
/// precision or few decimals.
const TOLERANCE: f64 = 1e-4;

/// Different directions that it takes to show a plane: two always lie in one.
const SHOW_A_PLANE: usize = 3;

/// Returns the space of the image from vectors along the gradient axes, of any length. If all lie in one plane through two of the axes, it
/// is a slice, and its x and y are these axes in order; otherwise it is a volume. Too few different directions show no plane. A
/// notice reports any result but the usual one.
///
/// # Errors
/// All lie in one plane that is oblique to the axes.
pub fn space_of(path: &Path, units: &[Direction]) -> Result<(SweepSpace, Option<Notice>), IoError> {
    let vectors = units.iter().map(|&vector| Vector::from(vector));
    let units: Vec<Vector> = vectors.filter(|vector| vector.norm() > 0.0).map(|vector| vector.normalize()).collect();
    let mut different: Vec<&Vector> = Vec::new();
    for unit in &units {
        if different.len() < SHOW_A_PLANE && different.iter().all(|other| unit.cross(other).norm() > TOLERANCE) {
            different.push(unit);
        }
    }
    if different.len() < SHOW_A_PLANE {
        let text = "Too few directions to distinguish a slice from a volume; a volume is assumed";
        return Ok((SweepSpace::Volume, Some(Notice::warning(text))));
    }
    if let Some(across) = (0..3).rev().find(|&axis| units.iter().all(|unit| unit[axis].abs() <= TOLERANCE)) {
        let space = SweepSpace::Slice(other_axes(across));
        return Ok((space, Some(Notice::info(format!("All directions lie in one plane: the image is a slice ({space})")))));
    }
    // The normal of a plane through the first and the direction that is farthest from it.
    let normals = units.iter().map(|unit| units[0].cross(unit));
    let normal = normals.max_by(|a, b| a.norm().total_cmp(&b.norm())).unwrap_or_default().normalize();
    if units.iter().any(|unit| normal.dot(unit).abs() > TOLERANCE) {
        return Ok((SweepSpace::Volume, None));
    }
    Err(IoError::unsupported(path, SweepProblem::ObliqueSlice(normal.into())))
}

/// Returns a direction along the gradient axes as a direction of the image.
pub fn in_space(space: SweepSpace, unit: Direction) -> Direction {
    match space {
        SweepSpace::Volume => unit,
        SweepSpace::Slice(axes) => {
            let [x, y] = axes.map(|axis| unit[axis as usize]);
            let length = x.hypot(y);
            if length == 0.0 {
                return [0.0; 3];
            }
            // (It keeps its length.)
            let scale = Vector::from(unit).norm() / length;
            [x * scale, y * scale, 0.0]
        }
    }
}

/// Returns the axes other than one, in order.
fn other_axes(across: usize) -> [GradientAxis; 2] {
    let [x, y, z] = [GradientAxis::X, GradientAxis::Y, GradientAxis::Z];
    [[y, z], [x, z], [x, y]][across]
}
