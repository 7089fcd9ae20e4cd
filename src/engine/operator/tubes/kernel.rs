//! The multiply-adds between the cells of a lattice and the bins of one LOR.
//!
//! Slice j of a window and the tap of shift t belong to plane j − t. Neither kernel shifts loaded values: the projection has a
//! sum for each shift, the backprojection the shifted bins, in registers.

use super::table::{TAPS, TAPS_PER_CLASS};
use crate::operator::chunk::{Chunk, LANES, add, add_multiple, load, store};

/// Some rows of the lattice of a view, and how the tube of a LOR lies on it.
#[derive(Clone, Copy)]
pub struct Rows<'a> {
    /// w, `[row][across][e]`.
    pub weights: &'a [f32],
    /// Where the slices of a plane begin in a cell, for even and odd e.
    pub windows: &'a [[u32; 2]],
    /// Samples across.
    pub num_across: usize,
    /// Values from a row of the lattice to the next.
    pub row_len: usize,
    /// Values of a cell.
    pub cell_len: usize,
    /// The cell of the first sample across in the first row.
    pub first: usize,
    /// True if the samples across go down in the columns: for negative tangential indices.
    pub goes_down: bool,
}

impl Rows<'_> {
    /// Returns the sums of C·LANES slices of either parity, those from `slice` on: for each shift t of a tap what belongs to the
    /// planes `slice` − t and on. `PARTS` = 2 keeps the parities apart, since an addition waits for the one before.
    #[inline(always)]
    pub fn project<const C: usize, const PARTS: usize, const MIRRORED: bool, const FUSED: bool>(
        self,
        cells: &[f32],
        slice: usize,
    ) -> [[Chunk; C]; TAPS_PER_CLASS] {
        let mut sums = [[[[0.0f32; LANES]; C]; TAPS_PER_CLASS]; PARTS];
        for (row, (weights, window)) in self.weights.chunks_exact(self.num_across * TAPS).zip(self.windows).enumerate() {
            for (across, weights) in weights.chunks_exact(TAPS).enumerate() {
                let cell = self.cell(row, across);
                for class in 0..2 {
                    let values = &cells[cell + window[class] as usize + slice..][..C * LANES];
                    for shift in 0..TAPS_PER_CLASS {
                        let weight = weights[tap::<MIRRORED>(class, shift)];
                        for (c, sum) in sums[class % PARTS][shift].iter_mut().enumerate() {
                            *sum = add_multiple::<FUSED>(weight, load(values, c * LANES), *sum);
                        }
                    }
                }
            }
        }
        let mut total = sums[0];
        for part in &sums[1..] {
            for shift in 0..TAPS_PER_CLASS {
                for c in 0..C {
                    total[shift][c] = add(total[shift][c], part[shift][c]);
                }
            }
        }
        total
    }

    /// The adjoint: adds to C·LANES slices of either parity, those from `slice` on. `bins` = the padded bins of the LOR, from the
    /// zeros before the first plane on.
    #[inline(always)]
    pub fn spread<const C: usize, const MIRRORED: bool, const FUSED: bool>(self, bins: &[f32], cells: &mut [f32], slice: usize) {
        let mut shifted = [[[0.0f32; LANES]; TAPS_PER_CLASS]; C];
        for (c, shifted) in shifted.iter_mut().enumerate() {
            for (shift, bin) in shifted.iter_mut().enumerate() {
                *bin = load(bins, slice + c * LANES + TAPS_PER_CLASS - 1 - shift);
            }
        }
        for (row, (weights, window)) in self.weights.chunks_exact(self.num_across * TAPS).zip(self.windows).enumerate() {
            for (across, weights) in weights.chunks_exact(TAPS).enumerate() {
                let cell = self.cell(row, across);
                for class in 0..2 {
                    let values = &mut cells[cell + window[class] as usize + slice..][..C * LANES];
                    for (c, shifted) in shifted.iter().enumerate() {
                        let mut sum = load(values, c * LANES);
                        for (shift, &bin) in shifted.iter().enumerate() {
                            sum = add_multiple::<FUSED>(weights[tap::<MIRRORED>(class, shift)], bin, sum);
                        }
                        store(values, c * LANES, sum);
                    }
                }
            }
        }
    }

    /// Where the cell of a sample begins.
    #[inline(always)]
    fn cell(&self, row: usize, across: usize) -> usize {
        let first = row * self.row_len + self.first;
        if self.goes_down { first - across * self.cell_len } else { first + across * self.cell_len }
    }
}

/// Which tap meets the lane so far behind the window's first.
#[inline(always)]
fn tap<const MIRRORED: bool>(class: usize, shift: usize) -> usize {
    if MIRRORED { TAPS - 2 - 2 * shift + class } else { 2 * shift + class }
}
