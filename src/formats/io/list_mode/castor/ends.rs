//! Entries of several pairs of crystals. As in CASToR one line replaces all: between the mean of the first crystals and the mean
//! of the second ones. The scanner gets a crystal for each such mean, after its real ones.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use super::header::{Header, Layout};
use crate::geometry::Point;
use crate::io::error::{Excess, IoError, Refusal};
use crate::io::list_mode::castor::problem::CastorProblem;
use crate::io::list_mode::records::{Records, pair_at, u16_at};
use crate::scanner::{Crystal, Detectors};

/// The crystals of a scanner, and the means of several of them.
#[derive(Debug)]
pub(super) struct Ends {
    scanner: Detectors,
    /// Numbers of the means, by the sorted numbers of their crystals.
    means: HashMap<Vec<u32>, u32>,
    crystals: Vec<Crystal>,
    /// Entries of several pairs in the files that were gathered.
    pub(super) num_entries: u64,
}

/// Reads the pairs of crystals of an entry.
///
/// # Errors
/// An invalid number of pairs, or an invalid crystal.
pub(super) fn lines_of(
    record: &[u8],
    layout: &Layout,
    max_lines: usize,
    num_crystals: usize,
    lines: &mut Vec<[u32; 2]>,
) -> Result<(), Refusal> {
    lines.clear();
    // Bytes after the pairs of an entry are arbitrary.
    let found = layout.num_lines.map_or(1, |at| usize::from(u16_at(record, at)));
    if !(1..=max_lines).contains(&found) {
        return Err(CastorProblem::NumPairs(Excess { found, max: max_lines }).into());
    }
    (0..found).try_for_each(|line| {
        lines.push(pair_at(record, layout.lines + 8 * line, num_crystals)?);
        Ok(())
    })
}

impl Ends {
    /// Returns the ends of a scanner without means.
    pub(super) fn new(scanner: Detectors) -> Self {
        Self { scanner, means: HashMap::new(), crystals: Vec::new(), num_entries: 0 }
    }

    /// Returns the number of real crystals of the scanner.
    pub(super) fn num_real(&self) -> usize {
        self.scanner.crystals().len()
    }

    /// Returns the number of crystals with the means.
    pub(super) fn num_all(&self) -> usize {
        self.num_real() + self.crystals.len()
    }

    /// Adds the means for the entries of a file, if these can have several pairs: the file is read once for that.
    ///
    /// # Errors
    /// The file does not read, or has an invalid entry.
    pub(super) fn gather(&mut self, header: &Header) -> Result<(), IoError> {
        if header.max_lines == 1 {
            return Ok(());
        }
        let layout = header.layout();
        let mut records = Records::open(&header.data, layout.size)?;
        let mut lines = Vec::new();
        let mut add = |record: &[u8]| {
            lines_of(record, &layout, header.max_lines, self.num_real(), &mut lines)?;
            self.add(&lines)
        };
        while records.next_block(&mut add)? > 0 {}
        Ok(())
    }

    fn add(&mut self, lines: &[[u32; 2]]) -> Result<(), Refusal> {
        if lines.len() == 1 {
            return Ok(());
        }
        self.num_entries += 1;
        self.check_directions(lines)?;
        for side in 0..2 {
            let end = end_of(lines, side);
            let next = self.num_all() as u32;
            if end[0] == end[end.len() - 1] {
                continue;
            }
            if let Entry::Vacant(vacant) = self.means.entry(end) {
                self.crystals.push(mean_of(&self.scanner, vacant.key()));
                vacant.insert(next);
            }
        }
        Ok(())
    }

    /// Refuses pairs of opposite directions: the mean of crystals on both sides of the scanner would be in its middle.
    fn check_directions(&self, lines: &[[u32; 2]]) -> Result<(), Refusal> {
        let centre = |crystal: u32| self.scanner.crystals()[crystal as usize].centre_mm;
        let square = |a: u32, b: u32| centre(a).iter().zip(centre(b)).map(|(a, b)| (a - b).powi(2)).sum::<f64>();
        let [first, second] = lines[0];
        match lines.iter().position(|line| square(line[0], first) > square(line[0], second)) {
            Some(line) => Err(CastorProblem::ReversedPair(line + 1).into()),
            None => Ok(()),
        }
    }

    /// Returns the crystals at the ends of the line of an entry.
    ///
    /// # Errors
    /// The entry was not in the files that were gathered.
    pub(super) fn pair(&self, lines: &[[u32; 2]]) -> Result<[u32; 2], CastorProblem> {
        let number = |side: usize| {
            let end = end_of(lines, side);
            if end[0] == end[end.len() - 1] { Some(end[0]) } else { self.means.get(&end).copied() }
        };
        match (lines, number(0), number(1)) {
            ([pair], ..) => Ok(*pair),
            (_, Some(first), Some(second)) => Ok([first, second]),
            _ => Err(CastorProblem::LateEntry),
        }
    }

    /// Reads the pair of crystals of an entry; `lines` is a buffer.
    ///
    /// # Errors
    /// As [`lines_of`] and [`Ends::pair`].
    pub(super) fn pair_of(
        &self,
        record: &[u8],
        layout: &Layout,
        max_lines: usize,
        lines: &mut Vec<[u32; 2]>,
    ) -> Result<[u32; 2], Refusal> {
        if layout.num_lines.is_none() {
            return pair_at(record, layout.lines, self.num_real());
        }
        lines_of(record, layout, max_lines, self.num_real(), lines)?;
        Ok(self.pair(lines)?)
    }

    /// Returns all crystals.
    ///
    /// # Errors
    /// They are too many.
    pub(super) fn detectors(&self, header: &Header) -> Result<Detectors, IoError> {
        let crystals = [self.scanner.crystals(), &self.crystals].concat();
        Detectors::new(self.scanner.name(), crystals).map_err(|source| IoError::Detectors(header.data.clone(), source))
    }
}

/// Returns the crystals on one side of lines, in the order of their numbers.
fn end_of(lines: &[[u32; 2]], side: usize) -> Vec<u32> {
    let mut end: Vec<u32> = lines.iter().map(|line| line[side]).collect();
    end.sort_unstable();
    end
}

/// Returns a crystal like the first one of these, in their middle.
fn mean_of(scanner: &Detectors, numbers: &[u32]) -> Crystal {
    let crystals = || numbers.iter().map(|&crystal| &scanner.crystals()[crystal as usize]);
    let mean = |axis: usize| crystals().map(|crystal| crystal.centre_mm[axis]).sum::<f64>() / numbers.len() as f64;
    let centre_mm: Point = std::array::from_fn(mean);
    Crystal { centre_mm, ..scanner.crystals()[numbers[0] as usize] }
}
