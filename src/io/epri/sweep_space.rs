//! Whether a whole table of directions makes an image of a volume or of a slice.

use std::path::Path;

use crate::data::{Direction, GradientAxis, Notice, SweepSpace};
use crate::geometry::Vector;
use crate::io::error::{IoError, Unsupported};

/// How far directions may be from a plane, and from each other to be the same, radians: gradients are written in single
/// precision or with few decimals.
const TOLERANCE: f64 = 1e-4;

/// Different directions that it takes to show a plane: two always lie in one.
const SHOW_A_PLANE: usize = 3;

/// What an image these unit vectors along the gradient axes make: a slice where all lie in one plane through two of the axes,
/// its x and y being these in order, else a volume. Too few different directions show no plane. A notice says what was found
/// where it is not the rule.
///
/// # Errors
/// All lie in one plane that is oblique to the axes.
pub fn space_of(path: &Path, units: &[Direction]) -> Result<(SweepSpace, Option<Notice>), IoError> {
    let units: Vec<Vector> = units.iter().map(|&unit| unit.into()).collect();
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
        let space = SweepSpace::Slice(axes_beside(across));
        return Ok((space, Some(Notice::info(format!("All directions lie in one plane: the image is a slice ({space})")))));
    }
    // The normal of a plane through the first and the direction that is farthest from it.
    let normals = units.iter().map(|unit| units[0].cross(unit));
    let normal = normals.max_by(|a, b| a.norm().total_cmp(&b.norm())).unwrap_or_default().normalize();
    if units.iter().any(|unit| normal.dot(unit).abs() > TOLERANCE) {
        return Ok((SweepSpace::Volume, None));
    }
    Err(IoError::unsupported(path, Unsupported::ObliqueSlice(normal.into())))
}

/// A direction along the gradient axes as one of the image.
pub fn in_space(space: SweepSpace, unit: Direction) -> Direction {
    match space {
        SweepSpace::Volume => unit,
        SweepSpace::Slice(axes) => {
            let [x, y] = axes.map(|axis| unit[axis as usize]);
            let length = x.hypot(y);
            [x / length, y / length, 0.0]
        }
    }
}

/// The axes other than one, in order.
fn axes_beside(across: usize) -> [GradientAxis; 2] {
    let [x, y, z] = [GradientAxis::X, GradientAxis::Y, GradientAxis::Z];
    [[y, z], [x, z], [x, y]][across]
}
