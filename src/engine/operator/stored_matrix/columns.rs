//! The elements of a system matrix in the order of its basic functions.

use std::ops::Range;

use rayon::prelude::*;

use super::CrystalPairs;
use crate::data::{MatrixElement, ResponseMatrix};

/// Elements that one task counts.
const COUNTED_TOGETHER: usize = 1 << 20;
/// Tasks into which the sorting is cut.
const NUM_PIECES: u64 = 64;

/// The elements of each basic function, those of one function in the order of the places of their lines.
#[derive(Clone, Debug, PartialEq)]
pub struct MatrixColumns {
    /// Where the elements of each basic function begin, and how many there are in all.
    pub first: Vec<u64>,
    /// The place of each element's line, `[orbit][symmetry]`.
    pub places: Vec<u32>,
    /// The bits of its value.
    pub values: Vec<u16>,
}

/// Part of one sorting task: some basic functions, the start of their elements, and the target.
struct Piece<'a> {
    basics: Range<usize>,
    next: Vec<u64>,
    places: &'a mut [u32],
    values: &'a mut [u16],
}

impl MatrixColumns {
    /// Sorts a matrix, on all threads.
    pub fn new(matrix: &ResponseMatrix, pairs: &CrystalPairs) -> Self {
        let first = firsts(matrix);
        let (mut places, mut values) = (vec![0u32; matrix.elements.len()], vec![0u16; matrix.elements.len()]);
        pieces(&first, &mut places, &mut values).into_par_iter().with_max_len(1).for_each(|mut piece| {
            let begin = first[piece.basics.start];
            for (place, lor) in pairs.places() {
                let row = matrix.row(lor);
                let from = row.partition_point(|element| element.basic() < piece.basics.start);
                for element in row[from..].iter().take_while(|element| element.basic() < piece.basics.end) {
                    let next = &mut piece.next[element.basic() - piece.basics.start];
                    let at = (*next - begin) as usize;
                    (piece.places[at], piece.values[at]) = (place as u32, element.value_bits());
                    *next += 1;
                }
            }
        });
        Self { first, places, values }
    }

    /// Returns the bytes of the columns of a matrix.
    pub fn bytes(matrix: &ResponseMatrix) -> u64 {
        6 * matrix.elements.len() as u64 + 8 * matrix.num_basic as u64
    }

    /// Returns the elements of a basic function: the place of each one's line, and the bits of its value.
    pub fn column(&self, basic: usize) -> impl Iterator<Item = (u32, u16)> + '_ {
        let range = self.first[basic] as usize..self.first[basic + 1] as usize;
        self.places[range.clone()].iter().copied().zip(self.values[range].iter().copied())
    }
}

fn firsts(matrix: &ResponseMatrix) -> Vec<u64> {
    let count = |mut counts: Vec<u64>, elements: &[MatrixElement]| {
        elements.iter().for_each(|element| counts[element.basic()] += 1);
        counts
    };
    let zeros = || vec![0u64; matrix.num_basic];
    let add = |a: Vec<u64>, b: Vec<u64>| a.iter().zip(&b).map(|(a, b)| a + b).collect();
    let counts = matrix.elements.par_chunks(COUNTED_TOGETHER).fold(zeros, count).reduce(zeros, add);
    let mut first = vec![0];
    counts.iter().for_each(|count| first.push(first[first.len() - 1] + count));
    first
}

/// Cuts the columns where about as many elements lie before each cut.
fn pieces<'a>(first: &[u64], mut places: &'a mut [u32], mut values: &'a mut [u16]) -> Vec<Piece<'a>> {
    let (num_basic, total) = (first.len() - 1, first[first.len() - 1]);
    let mut pieces = Vec::new();
    let mut start = 0;
    for number in 1..=NUM_PIECES {
        let end = if number == NUM_PIECES {
            num_basic
        } else {
            first.partition_point(|&f| f < total * number / NUM_PIECES).min(num_basic)
        };
        if end <= start {
            continue;
        }
        let len = (first[end] - first[start]) as usize;
        let (of_places, other_places) = std::mem::take(&mut places).split_at_mut(len);
        let (of_values, other_values) = std::mem::take(&mut values).split_at_mut(len);
        (places, values) = (other_places, other_values);
        pieces.push(Piece { basics: start..end, next: first[start..end].to_vec(), places: of_places, values: of_values });
        start = end;
    }
    pieces
}

/// The two orders in which a device holds the elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MatrixOrder {
    /// Those of a line of response together.
    Lines,
    /// Those of a basic function together.
    Functions,
}

/// Orders of a matrix in the memory of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Residence {
    /// Both orders.
    Both,
    /// One at a time, the other being loaded when it is needed (Cabello et al. 2012, section 3.1).
    OneOrder,
}

impl Residence {
    /// Returns the bytes of the elements of a matrix on the device.
    pub fn bytes(self, matrix: &ResponseMatrix) -> u64 {
        match self {
            Self::Both => 4 * matrix.elements.len() as u64 + MatrixColumns::bytes(matrix),
            Self::OneOrder => MatrixColumns::bytes(matrix),
        }
    }
}
