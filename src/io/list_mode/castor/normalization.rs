//! How well pairs count: as a normalisation file tells, or all that the scanner allows alike.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use super::ends::Ends;
use super::factors::Factors;
use super::header::{Header, Mode};
use crate::data::{Fingerprint, PairEfficiency};
use crate::io::error::{IoError, Unsupported};
use crate::io::list_mode::records::Records;
use crate::scanner::Detectors;

/// The pairs of a normalisation file: those of the crystal of the lower number together, by the other one's number.
#[derive(Debug)]
pub(super) struct PairFactors {
    /// Where the pairs of each crystal begin, and the end.
    first: Vec<usize>,
    others: Vec<u32>,
    values: Vec<f32>,
    /// Whether its factors have the attenuation in them.
    pub(super) has_attenuation: bool,
}

impl PairFactors {
    /// Reads the normalisation file of a list of events, whose ends are added. The calibration is the list's, as in CASToR.
    ///
    /// # Errors
    /// It is none, of another scanner, or holds what cannot be.
    pub(super) fn read(path: &Path, list: &Header, ends: &mut Ends) -> Result<Self, IoError> {
        let header = Header { calibration: list.calibration, ..Header::read(path)? };
        if header.mode != Mode::Normalization {
            return Err(IoError::unsupported(path, Unsupported::NotANormalization));
        }
        if header.scanner != list.scanner {
            let (found, expected) = (header.scanner, list.scanner.clone());
            return Err(IoError::unsupported(path, Unsupported::OtherScanner { found, expected }));
        }
        ends.gather(&header)?;
        Self::of_entries(&header, ends)
    }

    /// The pairs of all entries of a file that was gathered.
    ///
    /// # Errors
    /// One that cannot be, or another number than the header tells.
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
            let place = &mut next[lower as usize];
            // (A file that was replaced meanwhile has other pairs.)
            if let (Some(other), Some(factor)) = (others.get_mut(*place), values.get_mut(*place)) {
                (*other, *factor) = (higher, value);
                *place += 1;
            }
        })?;
        for pairs in first.windows(2).map(|ends| ends[0]..ends[1]) {
            let mut sorted: Vec<(u32, f32)> =
                others[pairs.clone()].iter().copied().zip(values[pairs.clone()].iter().copied()).collect();
            sorted.sort_unstable_by_key(|(other, _)| *other);
            for (place, (other, value)) in pairs.zip(sorted) {
                (others[place], values[place]) = (other, value);
            }
        }
        Ok(Self { first, others, values, has_attenuation: header.has_attenuation })
    }
}

/// All pairs of a file, the lower number first, with what each counts.
fn for_each(header: &Header, factors: &Factors, ends: &Ends, mut take: impl FnMut([u32; 2], f32)) -> Result<(), IoError> {
    let mut records = Records::open(&header.data, factors.layout.size)?;
    let mut lines = Vec::new();
    loop {
        let block = records.peek()?;
        let num = block.len();
        if num == 0 {
            return Ok(());
        }
        block.try_for_each(|record| {
            let [a, b] = ends.pair_of(record, &factors.layout, header.max_lines, &mut lines)?;
            take([a.min(b), a.max(b)], factors.multiplicative(record)?);
            Ok(())
        })?;
        records.advance(num);
    }
}

impl PairEfficiency for PairFactors {
    fn of(&self, [a, b]: [u32; 2]) -> f32 {
        let (lower, higher) = (a.min(b) as usize, a.max(b));
        let pairs = self.first[lower]..self.first[lower + 1];
        let others = &self.others[pairs.clone()];
        let place = pairs.start + others.partition_point(|&other| other < higher);
        // One that is in the file twice is twice in coincidence.
        (place..pairs.end).take_while(|&place| self.others[place] == higher).map(|place| self.values[place]).sum()
    }

    fn for_each_pair(&self, firsts: Range<u32>, _: u32, visit: &mut dyn FnMut([u32; 2], f32)) {
        for first in firsts {
            for place in self.first[first as usize]..self.first[first as usize + 1] {
                visit([first, self.others[place]], self.values[place]);
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
    /// Crystals from this number on stand for several, and are in no pair of the scanner.
    num_real: u32,
}

impl Allowed {
    /// Pairs at least this angle and at most this far along the axis apart.
    pub(super) fn new(detectors: Arc<Detectors>, min_angle_deg: f64, max_axial_mm: Option<f64>, value: f64) -> Self {
        // CASToR's tolerance is as large.
        let max_cos = (min_angle_deg.to_radians() - 1e-4).max(0.0).cos();
        let num_real = detectors.crystals().len() as u32;
        Self { detectors, max_cos, max_axial_mm: max_axial_mm.unwrap_or(f64::INFINITY), value: value as f32, num_real }
    }

    /// The same for the first crystals only.
    pub(super) fn of_real_crystals(self, num_real: u32) -> Self {
        Self { num_real, ..self }
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
