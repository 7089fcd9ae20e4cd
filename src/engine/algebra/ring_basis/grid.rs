//! Grids that the symmetries of a ring carry into themselves.

use std::f64::consts::TAU;
use std::ops::Range;

use super::in_plane::{Cell, PolarCells, SquareCells, cells_within};

/// The cells of a slice.
#[derive(Clone, Debug, PartialEq)]
enum Cells {
    Polar(PolarCells),
    Square(SquareCells),
}

/// A slice of a grid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Slice {
    /// Number among those of the upper half.
    number: usize,
    is_flipped: bool,
}

/// A grid of cells of width and height Δ that some symmetries of a ring carry into itself: turns, the mirror y → −y and the
/// mirror z → −z. Some cells of the upper half are *basic*; the others are their images under the symmetries, which first mirror,
/// then flip, then turn.
///
/// *Polar*: rings of width Δ, cut into cells; all turns of the ring. The wedge of half a turn is basic: its ring k has max(1,
/// round(inner arc / Δ)) cells.
///
/// *Cubes*: half a turn only. The octant x, y, z > 0 is basic.
#[derive(Clone, Debug, PartialEq)]
pub struct RingGrid {
    cells: Cells,
    spacing_mm: f64,
    num_half_slices: usize,
}

impl RingGrid {
    /// Makes polar cells about `spacing_mm` wide in a cylinder, for a ring of `num_turns` modules.
    pub fn polar(num_turns: usize, spacing_mm: f64, radius_mm: f64, half_length_mm: f64) -> Self {
        let cells = Cells::Polar(PolarCells::new(num_turns, spacing_mm, radius_mm));
        Self { cells, spacing_mm, num_half_slices: cells_within(half_length_mm, spacing_mm) }
    }

    /// Cubes of this side in a cuboid, empty where their middles are not in a cylinder.
    pub fn cubes(spacing_mm: f64, half_side_mm: f64, radius_mm: f64, half_length_mm: f64) -> Self {
        let cells = Cells::Square(SquareCells::new(spacing_mm, half_side_mm, radius_mm));
        Self { cells, spacing_mm, num_half_slices: cells_within(half_length_mm, spacing_mm) }
    }

    /// Δ, mm.
    pub fn spacing_mm(&self) -> f64 {
        self.spacing_mm
    }

    /// Returns the number of basic cells: `[slice][in slice]`, from the middle outwards.
    pub fn num_basic(&self) -> usize {
        self.num_half_slices * self.num_in_slice()
    }

    /// Turns of its symmetries.
    pub fn num_turns(&self) -> usize {
        match &self.cells {
            Cells::Polar(polar) => polar.num_turns,
            Cells::Square(_) => 2,
        }
    }

    /// Returns the number of symmetries.
    pub fn num_symmetries(&self) -> usize {
        4 * self.num_turns()
    }

    /// Returns the number of cells: `[basic][symmetry]`, symmetries being `[flipped][mirrored][turn]`.
    pub fn len(&self) -> usize {
        self.num_basic() * self.num_symmetries()
    }

    /// Returns true without cells.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the number of slices above the middle.
    pub fn num_half_slices(&self) -> usize {
        self.num_half_slices
    }

    /// Returns the number of basic cells in a slice.
    pub fn num_in_slice(&self) -> usize {
        match &self.cells {
            Cells::Polar(polar) => polar.first[polar.num_cells.len()],
            Cells::Square(squares) => squares.num * squares.num,
        }
    }

    /// Of polar cells: how many each ring of the wedge has; where those of each ring begin in a slice, and how many there are.
    pub fn rings(&self) -> Option<(&[usize], &[usize])> {
        match &self.cells {
            Cells::Polar(polar) => Some((&polar.num_cells, &polar.first)),
            Cells::Square(_) => None,
        }
    }

    /// Of cubes: how many lie between the axis and a side, and the radius within which they have their middles, mm.
    pub fn squares(&self) -> Option<(usize, f64)> {
        match &self.cells {
            Cells::Polar(_) => None,
            Cells::Square(squares) => Some((squares.num, squares.radius_mm)),
        }
    }

    /// Outer radius of polar cells or half a side of the cuboid, and half the length, mm.
    pub fn extent_mm(&self) -> [f64; 2] {
        let across = match &self.cells {
            Cells::Polar(polar) => polar.num_cells.len(),
            Cells::Square(squares) => squares.num,
        };
        [across, self.num_half_slices].map(|num| num as f64 * self.spacing_mm)
    }

    /// Middle of a cell, mm.
    pub fn middle_mm(&self, index: usize) -> [f64; 3] {
        let (basic, symmetry) = (index / self.num_symmetries(), index % self.num_symmetries());
        let (slice, in_slice) = (basic / self.num_in_slice(), basic % self.num_in_slice());
        let [x, y] = match &self.cells {
            Cells::Polar(polar) => polar.middle_mm(in_slice),
            Cells::Square(squares) => squares.middle_mm(in_slice),
        };
        let z = (slice as f64 + 0.5) * self.spacing_mm;
        let (turn, rest) = (symmetry % self.num_turns(), symmetry / self.num_turns());
        let (y, z) = (if rest % 2 == 1 { -y } else { y }, if rest / 2 == 1 { -z } else { z });
        let (sin, cos) = (TAU * turn as f64 / self.num_turns() as f64).sin_cos();
        [x * cos - y * sin, x * sin + y * cos, z]
    }

    /// Volume of a cell, mm³.
    pub fn volume_mm3(&self, index: usize) -> f64 {
        let in_slice = index / self.num_symmetries() % self.num_in_slice();
        let area_mm2 = match &self.cells {
            Cells::Polar(polar) => polar.area_mm2(in_slice),
            Cells::Square(_) => self.spacing_mm.powi(2),
        };
        area_mm2 * self.spacing_mm
    }

    /// Returns the number of a cell.
    pub(super) fn index(&self, cell: Cell, slice: Slice) -> usize {
        self.in_plane_offset(cell) + self.slice_offset(slice)
    }

    /// Returns the place of a cell in the coefficients of its slice.
    pub(super) fn in_plane_offset(&self, cell: Cell) -> usize {
        cell.in_slice * self.num_symmetries() + cell.transaxial
    }

    /// Where the coefficients of a slice begin.
    pub(super) fn slice_offset(&self, slice: Slice) -> usize {
        let flipped = if slice.is_flipped { self.num_symmetries() / 2 } else { 0 };
        slice.number * self.num_in_slice() * self.num_symmetries() + flipped
    }

    /// Returns the slice of this number from the lowest.
    fn slice(&self, number: usize) -> Slice {
        let half = self.num_half_slices;
        if number < half {
            Slice { number: half - 1 - number, is_flipped: true }
        } else {
            Slice { number: number - half, is_flipped: false }
        }
    }

    /// The slices whose middles are closer than `reach_mm` to a height, each with the square of its distance, mm².
    pub(super) fn slices_near(&self, z_mm: f64, reach_mm: f64) -> impl Iterator<Item = (Slice, f64)> + '_ {
        let place = |mm: f64| mm / self.spacing_mm + self.num_half_slices as f64 - 0.5;
        let last = place(z_mm + reach_mm).floor().min(2.0 * self.num_half_slices as f64 - 1.0);
        let first = place(z_mm - reach_mm).ceil().max(0.0);
        let numbers: Range<usize> = if last < first { 0..0 } else { first as usize..last as usize + 1 };
        numbers.map(move |number| {
            let middle_mm = (number as f64 + 0.5 - self.num_half_slices as f64) * self.spacing_mm;
            (self.slice(number), (z_mm - middle_mm).powi(2))
        })
    }

    /// Returns the slice that a height lies in.
    pub(super) fn slice_of(&self, z_mm: f64) -> Option<Slice> {
        let number = (z_mm / self.spacing_mm).floor() + self.num_half_slices as f64;
        (0.0..2.0 * self.num_half_slices as f64).contains(&number).then(|| self.slice(number as usize))
    }

    /// Returns the polar cells of a slice whose middles are closer than `reach_mm` to a point, each with the square of its
    /// distance, mm².
    pub(super) fn cells_near(&self, at_mm: [f64; 2], reach_mm: f64) -> impl Iterator<Item = (Cell, f64)> + '_ {
        let near = match &self.cells {
            Cells::Polar(polar) => Some(polar.cells_near(at_mm, reach_mm)),
            Cells::Square(_) => None,
        };
        near.into_iter().flatten()
    }

    /// Returns the cell of a slice that a point lies in.
    pub(super) fn cell_of(&self, at_mm: [f64; 2]) -> Option<Cell> {
        match &self.cells {
            Cells::Polar(polar) => polar.cell_of(at_mm),
            Cells::Square(squares) => squares.cell_of(at_mm),
        }
    }
}
