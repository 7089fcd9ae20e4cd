//! Names of the axes of the displayed image.

use crate::data::{RoiPlane, SweepSpace};

pub const AXIS_NAMES: [&str; 3] = ["x", "y", "z"];

/// Names of an image's axes, and whether it is a single slice.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ImageAxes {
    pub names: [&'static str; 3],
    /// Labels of the negative and the positive end of each axis.
    pub ends: [[&'static str; 2]; 3],
    pub is_slice: bool,
}

impl ImageAxes {
    /// Axes of a patient: +x left, +y posterior, +z inferior.
    pub const PATIENT: Self = Self { names: ["x", "y", "z"], ends: [["R", "L"], ["A", "P"], ["S", "I"]], is_slice: false };

    /// Returns the axes of the gradients.
    pub fn of(space: SweepSpace) -> Self {
        const ENDS: [[&str; 2]; 3] = [["−x", "+x"], ["−y", "+y"], ["−z", "+z"]];
        match space {
            SweepSpace::Volume => Self { ends: ENDS, ..Self::PATIENT },
            SweepSpace::Slice([first, second]) => Self {
                names: [first.name(), second.name(), ""],
                ends: [ENDS[first as usize], ENDS[second as usize], [""; 2]],
                is_slice: true,
            },
        }
    }

    /// Returns the names of the axes with more than one voxel.
    pub fn shown(&self) -> &[&'static str] {
        if self.is_slice { &self.names[..2] } else { &self.names }
    }

    /// Returns numbers along the axes as text: "x 1.0  y 2.0".
    pub fn text(&self, values: [f64; 3]) -> String {
        let each = self.shown().iter().zip(values).map(|(name, value)| format!("{name} {value:.1}"));
        each.collect::<Vec<_>>().join("  ")
    }

    /// Returns the displayed and accessible name of the view of a plane.
    pub fn view_name(&self, plane: RoiPlane) -> String {
        if self.is_slice { format!("Slice {}, {}", self.names[0], self.names[1]) } else { format!("{} slice", plane.name()) }
    }
}
