//! The tools of the left button.

use crate::data::{RoiPlane, RoiShape};
use crate::geometry::Point;

/// What the left button does in a slice; the tool bar shows them in this order and by these names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, strum::IntoStaticStr, strum::VariantArray)]
pub enum Tool {
    /// Sets the crosshair; selects a ROI by its outline, moves and resizes the selected one.
    #[default]
    Crosshair,
    /// Draws a circle from its centre outwards.
    Circle,
    /// Draws a rectangle from corner to corner.
    Rectangle,
    /// Draws a sphere from its centre outwards.
    Sphere,
    /// Draws the line of the profile.
    #[strum(serialize = "Line")]
    Profile,
}

impl Tool {
    /// Its name in the tool bar.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// What it is for.
    pub fn help(self) -> &'static str {
        match self {
            Tool::Crosshair => "Set the crosshair; select a ROI by a click on its outline, then drag it or its handles",
            Tool::Circle => "Draw a circular ROI in one slice, from its centre outwards",
            Tool::Rectangle => "Draw a rectangular ROI in one slice, from corner to corner",
            Tool::Sphere => "Draw a spherical ROI, from its centre outwards",
            Tool::Profile => "Draw the line of a profile",
        }
    }

    /// The shape and the centre of the ROI that the tool draws in a plane from one point to another; `None` for a tool that
    /// draws none or a drag too short to mean anything (mm).
    pub fn drawn(self, plane: RoiPlane, from: Point, to: Point) -> Option<(RoiShape, Point)> {
        let ([a, b], _) = plane.axes();
        let size = [(to[a] - from[a]).abs(), (to[b] - from[b]).abs()];
        let radius_mm = size[0].hypot(size[1]);
        if radius_mm < 1.0 {
            return None;
        }
        match self {
            Tool::Circle => Some((RoiShape::Circle { radius_mm, plane }, from)),
            Tool::Sphere => Some((RoiShape::Sphere { radius_mm }, from)),
            Tool::Rectangle if size[0] >= 1.0 && size[1] >= 1.0 => {
                let middle = std::array::from_fn(|k| 0.5 * (from[k] + to[k]));
                Some((RoiShape::Rectangle { size_mm: size, plane }, middle))
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rectangle_is_drawn_from_corner_to_corner() {
        let drawn = Tool::Rectangle.drawn(RoiPlane::Transaxial, [0.0, 0.0, 3.0], [10.0, 20.0, 3.0]);
        let shape = RoiShape::Rectangle { size_mm: [10.0, 20.0], plane: RoiPlane::Transaxial };
        assert_eq!(drawn, Some((shape, [5.0, 10.0, 3.0])));
    }

    #[test]
    fn a_circle_is_drawn_from_its_centre() {
        let drawn = |to| Tool::Circle.drawn(RoiPlane::Coronal, [1.0, 2.0, 3.0], to);
        let shape = RoiShape::Circle { radius_mm: 5.0, plane: RoiPlane::Coronal };
        assert_eq!(drawn([4.0, 2.0, 7.0]), Some((shape, [1.0, 2.0, 3.0])));
        assert_eq!(drawn([1.1, 2.0, 3.0]), None);
    }
}
