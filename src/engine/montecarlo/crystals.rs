//! The crystals of one detector head: equal boxes on a grid, with gaps between them in which nothing happens.
//!
//! Frame of the head, in mm: \[tangential, axial, depth\]. The front face lies in the plane depth = 0 with its centre at the
//! origin; depth grows into the crystals. Crystal (i, k) has its centre at ((i + ½) p − n p / 2, …); the grid's cells reach
//! half a gap beyond the outermost crystals, and the head ends there.

use thiserror::Error;

use super::materials::{Material, MaterialError};
use super::readout::{Readout, ReadoutError};
use crate::coded::coded;

/// The crystals of a head.
#[derive(Clone, Debug)]
pub struct CrystalArray {
    /// Number of crystals, tangential and axial.
    pub num: [usize; 2],
    /// Distance of neighbouring crystals' centres, tangential and axial.
    pub pitch_mm: [f64; 2],
    /// Size of one crystal: tangential, axial, depth.
    pub crystal_mm: [f64; 3],
    /// Material of the crystals.
    pub material: &'static Material,
}

/// Reason why crystals do not make a head.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum HeadError {
    /// No crystals, or too many for an index of 16 bits.
    #[error("a head has 1 to 32767 crystals each way, not {0} × {1}")]
    Number(usize, usize),
    /// A length that is not a positive number.
    #[error("the {what} of a head must be a positive length, not {mm} mm")]
    Length {
        /// Which one.
        what: &'static str,
        /// As given.
        mm: f64,
    },
    /// Crystals that overlap.
    #[error("crystals of {crystal_mm} mm do not fit into a pitch of {pitch_mm} mm")]
    Overlap {
        /// Size of the crystal.
        crystal_mm: f64,
        /// Distance of the centres.
        pitch_mm: f64,
    },
    /// An invalid readout.
    #[error(transparent)]
    Readout(#[from] ReadoutError),
}

coded!(HeadError = "crystal-head"; Readout);

/// Reason for which detectors are not simulated.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum DetectorError {
    /// A material that is not known.
    #[error(transparent)]
    Material(#[from] MaterialError),
    /// Crystals that make no head or layer.
    #[error(transparent)]
    Head(#[from] HeadError),
}

coded!(DetectorError = "detector"; Material, Head);

/// A detector head: crystals and how they are read out.
#[derive(Clone, Debug)]
pub struct CrystalHead {
    /// Its crystals.
    pub array: CrystalArray,
    /// Readout of its crystals.
    pub readout: Readout,
    /// Half its width, tangential and axial, gaps included, mm.
    pub half_head_mm: [f64; 2],
}

/// End of a straight flight through the head.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Flight {
    /// The path inside crystals is used up: this far from the start, in this crystal.
    Interacts { distance_mm: f64, crystal: [usize; 2] },
    /// The head is left after this path inside crystals.
    Leaves { in_crystals_mm: f64 },
}

/// Smallest direction component that counts; smaller ones are taken as this, so that no division gives infinity.
const FLATTEST: f64 = 1e-12;

impl CrystalHead {
    /// Checks sizes and readout.
    pub fn new(array: CrystalArray, readout: Readout) -> Result<Self, HeadError> {
        let CrystalArray { num, pitch_mm, crystal_mm, .. } = array;
        if num.iter().any(|num| !(1..=i16::MAX as usize).contains(num)) {
            return Err(HeadError::Number(num[0], num[1]));
        }
        let lengths = [
            ("tangential pitch", pitch_mm[0]),
            ("axial pitch", pitch_mm[1]),
            ("crystals' tangential size", crystal_mm[0]),
            ("crystals' axial size", crystal_mm[1]),
            ("crystals' depth", crystal_mm[2]),
        ];
        if let Some((what, mm)) = lengths.into_iter().find(|(_, mm)| !(*mm > 0.0 && mm.is_finite())) {
            return Err(HeadError::Length { what, mm });
        }
        if let Some(axis) = (0..2).find(|&axis| crystal_mm[axis] > pitch_mm[axis]) {
            return Err(HeadError::Overlap { crystal_mm: crystal_mm[axis], pitch_mm: pitch_mm[axis] });
        }
        readout.check()?;
        let half_head_mm = [0, 1].map(|axis| 0.5 * num[axis] as f64 * pitch_mm[axis]);
        Ok(Self { array, readout, half_head_mm })
    }

    /// Returns the centre of a crystal: tangential, axial, depth.
    pub fn crystal_centre_mm(&self, crystal: [usize; 2]) -> [f64; 3] {
        let [tangential, axial] = [0, 1].map(|axis| self.centre_mm(axis, crystal[axis] as i32));
        [tangential, axial, 0.5 * self.array.crystal_mm[2]]
    }

    /// Returns the crystal whose cell holds a point of the front face; beyond an edge the nearest.
    pub(super) fn crystal_at(&self, face_mm: [f64; 2]) -> [usize; 2] {
        [0, 1].map(|axis| self.index_at(axis, face_mm[axis]) as usize)
    }

    fn index_at(&self, axis: usize, mm: f64) -> i32 {
        let cells = (mm + self.half_head_mm[axis]) / self.array.pitch_mm[axis];
        (cells as i32).clamp(0, self.array.num[axis] as i32 - 1)
    }

    fn centre_mm(&self, axis: usize, index: i32) -> f64 {
        (f64::from(index) + 0.5) * self.array.pitch_mm[axis] - self.half_head_mm[axis]
    }

    /// Returns the length of the straight line from a point in a direction (a unit vector) inside crystals.
    pub fn length_in_crystals_mm(&self, position_mm: [f64; 3], direction: [f64; 3]) -> f64 {
        match self.fly(position_mm, direction, f64::INFINITY) {
            Flight::Leaves { in_crystals_mm } => in_crystals_mm,
            Flight::Interacts { .. } => f64::INFINITY,
        }
    }

    /// Returns true if a line from a point in a direction (a unit vector) meets the head.
    pub(super) fn is_on_the_way(&self, position_mm: [f64; 3], direction: [f64; 3]) -> bool {
        let [enter, leave] = self.crossing(position_mm, direction.map(inverse));
        enter < leave
    }

    /// Returns where a line from a point enters and leaves the head as a whole, with the inverse of its direction; enters later
    /// than it leaves where it passes by.
    fn crossing(&self, position_mm: [f64; 3], inverse: [f64; 3]) -> [f64; 2] {
        let lower = [-self.half_head_mm[0], -self.half_head_mm[1], 0.0];
        let upper = [self.half_head_mm[0], self.half_head_mm[1], self.array.crystal_mm[2]];
        let (mut enter, mut leave) = (0f64, f64::INFINITY);
        for axis in 0..3 {
            let a = (lower[axis] - position_mm[axis]) * inverse[axis];
            let b = (upper[axis] - position_mm[axis]) * inverse[axis];
            enter = larger(enter, smaller(a, b));
            leave = smaller(leave, larger(a, b));
        }
        [enter, leave]
    }

    /// Flies from a point in a direction until `path_mm` lies inside crystals, from cell to cell of the grid.
    pub(super) fn fly(&self, position_mm: [f64; 3], direction: [f64; 3], path_mm: f64) -> Flight {
        let CrystalArray { num, pitch_mm, crystal_mm, .. } = &self.array;
        let inverse = direction.map(inverse);
        let [enter, leave] = self.crossing(position_mm, inverse);
        let mut in_crystals_mm = 0.0;
        if enter >= leave {
            return Flight::Leaves { in_crystals_mm };
        }

        // Cell along each axis: begin and end of its crystal, and begin of the next cell.
        let start = [0, 1].map(|axis| self.index_at(axis, position_mm[axis] + enter * direction[axis]));
        let mut walks = [0, 1].map(|axis| {
            let to_centre_mm = self.centre_mm(axis, start[axis]) - position_mm[axis];
            Walk::new(start[axis], num[axis], to_centre_mm, pitch_mm[axis], crystal_mm[axis], inverse[axis])
        });
        let mut at = enter;
        loop {
            let [a, b] = &mut walks;
            let begins = larger(at, larger(a.near, b.near));
            let ends = smaller(leave, smaller(a.far, b.far));
            if ends > begins {
                let left_mm = path_mm - in_crystals_mm;
                if ends - begins >= left_mm {
                    return Flight::Interacts { distance_mm: begins + left_mm, crystal: [a.index as usize, b.index as usize] };
                }
                in_crystals_mm += ends - begins;
            }
            let stepped = if a.next <= b.next { a } else { b };
            at = stepped.next;
            stepped.step();
            if at >= leave || stepped.index as u32 >= stepped.num {
                return Flight::Leaves { in_crystals_mm };
            }
        }
    }
}

/// The cells that a line crosses along one axis, as lengths along the line.
struct Walk {
    /// Cell now, its direction of change, and the number of cells.
    index: i32,
    change: i32,
    num: u32,
    /// Where the cell's crystal begins and ends, and the next cell begins.
    near: f64,
    far: f64,
    next: f64,
    /// Length of a whole cell.
    cell: f64,
}

impl Walk {
    fn new(index: i32, num: usize, to_centre_mm: f64, pitch_mm: f64, crystal_mm: f64, inverse: f64) -> Self {
        let (centre, length) = (to_centre_mm * inverse, inverse.abs());
        let (half_crystal, half_cell) = (0.5 * crystal_mm * length, 0.5 * pitch_mm * length);
        let change = if inverse > 0.0 { 1 } else { -1 };
        let [near, far, next] = [centre - half_crystal, centre + half_crystal, centre + half_cell];
        Self { index, change, num: num as u32, near, far, next, cell: pitch_mm * length }
    }

    fn step(&mut self) {
        self.index += self.change;
        self.near += self.cell;
        self.far += self.cell;
        self.next += self.cell;
    }
}

/// Returns one over a direction's component.
fn inverse(component: f64) -> f64 {
    1.0 / if component.abs() < FLATTEST { FLATTEST.copysign(component) } else { component }
}

/// Returns the larger of two numbers; unlike `f64::max` it does not handle NaN.
fn larger(a: f64, b: f64) -> f64 {
    if a > b { a } else { b }
}

/// Returns the smaller of two numbers, as `larger`.
fn smaller(a: f64, b: f64) -> f64 {
    if a < b { a } else { b }
}
