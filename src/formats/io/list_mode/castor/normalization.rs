//! Detection efficiencies of pairs: from a normalisation file, or the same for all pairs that the scanner allows.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use super::ends::Ends;
use super::factors::Factors;
use super::header::{Header, Mode};
use crate::data::{Fingerprint, PairEfficiency};
use crate::io::error::{IoError, Mismatch};
use crate::io::list_mode::castor::problem::CastorProblem;
use crate::io::list_mode::records::Records;
use crate::scanner::Detectors;

/// The pairs of a normalisation file: those of the crystal of the lower number together, by the other one's number.
#[derive(Debug)]
pub(super) struct PairFactors {
    /// Where the pairs of each crystal begin, and the end.
    first: Vec<usize>,
    others: Vec<u32>,
    values: Vec<f32>,
    /// True if its factors include the attenuation.
    pub(super) has_attenuation: bool,
}

impl PairFactors {
    /// Reads the normalisation file of list-mode data and adds its ends. The calibration is that of the list-mode data, as in
    /// CASToR.
    ///
    /// # Errors
    /// Another file, one of another scanner, or invalid content.
    pub(super) fn read(path: &Path, list: &Header, ends: &mut Ends) -> Result<Self, IoError> {
        let header = Header { calibration: list.calibration, ..Header::read(path)? };
        if header.mode != Mode::Normalization {
            return Err(IoError::unsupported(path, CastorProblem::NotANormalization));
        }
        if header.scanner != list.scanner {
            let (found, expected) = (header.scanner, list.scanner.clone());
            return Err(IoError::unsupported(path, CastorProblem::OtherScanner(Mismatch { found, expected })));
        }
        ends.gather(&header)?;
        Self::of_entries(&header, ends)
    }

    /// Returns the pairs of all entries of a file that was gathered.
    ///
    /// # Errors
    /// An invalid entry, or another number of entries than the header has.
    pub(super) fn of_entries(header: &Header, ends: &Ends) -> Result<Self, IoError> {
        let num_crystals = ends.num_all();
        let factors = Factors::new(header);
        Records::open(&header.data, factors.layout.size)?.check_num(Some(header.num_events))?;
        let mut first = vec![0; num_crystals + 1];
        for_each(header, &factors, ends, |[lower, _], _| first[lower as usize + 1] += 1)?;
        (0..num_crystals).for_each(|crystal| first[crystal + 1] += first[crystal]);
        let num = first[num_crystals];
        let (mut next, mut others, mut values) = (first.clone(), vec![0; num], vec![0.0; num]);
        for_each(header, &factors, ends, |[lower, higher], value| {
            let index = &mut next[lower as usize];
            // (A file that was replaced meanwhile has other pairs.)
            if let (Some(other), Some(factor)) = (others.get_mut(*index), values.get_mut(*index)) {
                (*other, *factor) = (higher, value);
                *index += 1;
            }
        })?;
        for pairs in first.windows(2).map(|ends| ends[0]..ends[1]) {
            let mut sorted: Vec<(u32, f32)> =
                others[pairs.clone()].iter().copied().zip(values[pairs.clone()].iter().copied()).collect();
            sorted.sort_unstable_by_key(|(other, _)| *other);
            for (index, (other, value)) in pairs.zip(sorted) {
                (others[index], values[index]) = (other, value);
            }
        }
        Ok(Self { first, others, values, has_attenuation: header.has_attenuation })
    }
}

/// Passes all pairs of a file, the lower number first, and their efficiencies to `take`.
fn for_each(header: &Header, factors: &Factors, ends: &Ends, mut take: impl FnMut([u32; 2], f32)) -> Result<(), IoError> {
    let mut records = Records::open(&header.data, factors.layout.size)?;
    let mut lines = Vec::new();
    let mut take_pair = |record: &[u8]| {
        let [a, b] = ends.pair_of(record, &factors.layout, header.max_lines, &mut lines)?;
        take([a.min(b), a.max(b)], factors.multiplicative(record)?);
        Ok(())
    };
    while records.next_block(&mut take_pair)? > 0 {}
    Ok(())
}

impl PairEfficiency for PairFactors {
    fn is_normalization(&self) -> bool {
        true
    }

    fn of(&self, [a, b]: [u32; 2]) -> f32 {
        let (lower, higher) = (a.min(b) as usize, a.max(b));
        let pairs = self.first[lower]..self.first[lower + 1];
        let others = &self.others[pairs.clone()];
        let index = pairs.start + others.partition_point(|&other| other < higher);
        // One that is in the file twice is twice in coincidence.
        (index..pairs.end).take_while(|&index| self.others[index] == higher).map(|index| self.values[index]).sum()
    }

    fn for_each_pair(&self, firsts: Range<u32>, _: u32, visit: &mut dyn FnMut([u32; 2], f32)) {
        for first in firsts {
            for index in self.first[first as usize]..self.first[first as usize + 1] {
                visit([first, self.others[index]], self.values[index]);
            }
        }
    }

    fn identify(&self, into: &mut Fingerprint) {
        into.text("pairs");
        self.first.iter().for_each(|first| into.whole(*first as u64));
        self.others.iter().for_each(|other| into.whole((*other).into()));
        into.numbers(&self.values);
    }
}

/// All pairs that the scanner allows count alike.
#[derive(Debug)]
pub(super) struct Allowed {
    detectors: Arc<Detectors>,
    /// The largest cosine of the angle between the depths of two crystals, seen along the axis.
    max_cos: f64,
    max_axial_mm: f64,
    value: f32,
    /// Crystals from this number on are means of several, and in no pair of the scanner.
    num_real: u32,
}

impl Allowed {
    /// Returns the efficiencies of the first `num_real` crystals of a header's scanner: pairs at least `min_angle_deg` apart around the
    /// axis, and at most as far along the axis as the header allows.
    pub(super) fn new(header: &Header, detectors: Arc<Detectors>, min_angle_deg: f64, num_real: usize) -> Self {
        // CASToR has this tolerance too.
        let max_cos = (min_angle_deg.to_radians() - 1e-4).max(0.0).cos();
        let (max_axial_mm, value) = (header.max_axial_mm.unwrap_or(f64::INFINITY), (1.0 / header.calibration) as f32);
        Self { detectors, max_cos, max_axial_mm, value, num_real: num_real as u32 }
    }
}

impl PairEfficiency for Allowed {
    fn of(&self, pair: [u32; 2]) -> f32 {
        if pair.iter().any(|crystal| *crystal >= self.num_real) {
            return 0.0;
        }
        let [a, b] = pair.map(|crystal| &self.detectors.crystals()[crystal as usize]);
        let cos = a.axes[0][0] * b.axes[0][0] + a.axes[0][1] * b.axes[0][1];
        let is_allowed = cos <= self.max_cos && (a.centre_mm[2] - b.centre_mm[2]).abs() <= self.max_axial_mm;
        if is_allowed { self.value } else { 0.0 }
    }

    fn identify(&self, into: &mut Fingerprint) {
        into.text("allowed");
        into.whole(self.num_real.into());
        [self.max_cos, self.max_axial_mm, self.value.into()].into_iter().for_each(|value| into.number(value));
    }
}
