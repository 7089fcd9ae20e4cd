//! How the axes of the image on the screen are called.

use crate::data::{RoiPlane, SweepSpace};

/// Names of the axes.
pub const AXIS_NAMES: [&str; 3] = ["x", "y", "z"];

/// Names of an image's axes, and whether it is a single slice.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ImageAxes {
    /// What the axes x, y, z are called.
    pub names: [&'static str; 3],
    /// What stands at the negative and the positive end of each.
    pub ends: [[&'static str; 2]; 3],
    /// Whether there is one slice, which is all that is shown.
    pub is_slice: bool,
}

impl ImageAxes {
    /// A patient's: +x left, +y posterior, +z inferior.
    pub const PATIENT: Self = Self { names: ["x", "y", "z"], ends: [["R", "L"], ["A", "P"], ["S", "I"]], is_slice: false };

    /// Those of the gradients.
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

    /// The names of the axes that the image has more than one voxel along.
    pub fn shown(&self) -> &[&'static str] {
        if self.is_slice { &self.names[..2] } else { &self.names }
    }

    /// Numbers along the axes in words: "x 1.0  y 2.0".
    pub fn text(&self, values: [f64; 3]) -> String {
        let each = self.shown().iter().zip(values).map(|(name, value)| format!("{name} {value:.1}"));
        each.collect::<Vec<_>>().join("  ")
    }

    /// The name of a view of one plane for people; also its name in the accessibility tree.
    pub fn view_name(&self, plane: RoiPlane) -> String {
        if self.is_slice { format!("Slice {}, {}", self.names[0], self.names[1]) } else { format!("{} slice", plane.name()) }
    }
}
