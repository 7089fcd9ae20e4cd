//! Coincidences as records: their schema becomes a short plan once, by which they are read one after the other.

use super::binary::{Fault, MAX_VARINT, missing, varint};
use super::schema::{Form, Number, Schema, Sizes, Type, TypeId};
use crate::data::Events;
use crate::io::list_mode::petsird::problem::PetsirdProblem;

/// Most parts of a coincidence.
const MAX_PARTS: usize = 64;
/// Largest number of bytes of a coincidence in addition to its numbers.
const MAX_BYTES: u64 = 1 << 16;

/// A part of a coincidence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    /// An unsigned number in groups of seven bits, or any number in such groups that is skipped.
    Varint,
    /// A number of bytes; one byte may be a number.
    Bytes(usize),
}

/// Plan by which coincidences are read.
#[derive(Clone, Debug)]
pub struct Plan {
    parts: Vec<Part>,
    /// The parts that are the detection bins and the index of the time-of-flight bin.
    wanted: [usize; 3],
    /// Most bytes that a coincidence takes.
    pub max_bytes: usize,
}

/// Meaning of the coincidences of two types of modules.
#[derive(Clone, Debug, PartialEq)]
pub struct PairOfTypes {
    /// Detection bins of both.
    pub num_bins: [u64; 2],
    /// Energy bins of both.
    pub num_energies: [u32; 2],
    /// Numbers of their first crystals.
    pub first_crystals: [u32; 2],
    /// Bins of time of flight.
    pub num_tof: u64,
    /// Intervals of d, mm, of these bins; none if no pair of types has more than one bin.
    pub intervals_mm: Vec<[f32; 2]>,
}

impl Plan {
    /// Returns the plan of a record with `detectionBins` and `tofIdx`.
    ///
    /// # Errors
    /// A missing field, or one that is not of plain numbers.
    pub fn new(schema: &Schema, event: TypeId) -> Result<Self, PetsirdProblem> {
        let Type::Record(record) = schema.get(event) else { return Err(PetsirdProblem::Coincidences) };
        let mut parts = Vec::new();
        let [mut bins, mut tof] = [None, None];
        for (name, &ty) in record.names.iter().zip(&record.types) {
            let first = parts.len();
            flatten(schema, ty, &mut parts, &record.name)?;
            let field = Some((first, parts.len() - first));
            match name.as_str() {
                "detectionBins" => bins = field,
                "tofIdx" => tof = field,
                _ => {}
            }
        }
        let numbers = |name: &'static str, field: Option<(usize, usize)>, expected: usize| {
            let (first, num) = field.ok_or_else(|| missing(&record.name, name))?;
            let are_numbers = parts[first..first + num].iter().all(|part| matches!(part, Part::Varint | Part::Bytes(1)));
            if num != expected || !are_numbers {
                return Err(PetsirdProblem::WholeNumbers(record.name.clone(), name, expected));
            }
            Ok(first)
        };
        let first = numbers("detectionBins", bins, 2)?;
        let wanted = [first, first + 1, numbers("tofIdx", tof, 1)?];
        let bytes_of = |part: &Part| if let Part::Bytes(num) = part { *num } else { MAX_VARINT };
        Ok(Self { max_bytes: parts.iter().map(bytes_of).sum(), parts, wanted })
    }

    /// Reads at most `max` whole coincidences from the beginning of some bytes; returns their number and bytes. Their times are
    /// left out.
    ///
    /// # Errors
    /// The position of an invalid one, and its problem.
    pub fn read(&self, bytes: &[u8], max: u64, pair: &PairOfTypes, events: &mut Events) -> Result<(u64, usize), Fault> {
        let (mut num, mut at) = (0, 0);
        let room = max.min(bytes.len() as u64) as usize;
        events.pairs.reserve(room);
        if !pair.intervals_mm.is_empty() {
            events.tof_mm.reserve(room);
        }
        // The usual coincidence: three numbers of few bytes each.
        if self.parts == [Part::Varint; 3] && self.wanted == [0, 1, 2] {
            while num < max {
                let mut next = at;
                let (Some(first), Some(second), Some(tof)) =
                    (short_varint(bytes, &mut next), short_varint(bytes, &mut next), short_varint(bytes, &mut next))
                else {
                    break;
                };
                pair.add([first, second, tof], events).map_err(|problem| Fault::Wrong(at, problem))?;
                (num, at) = (num + 1, next);
            }
        }
        while num < max {
            let (numbers, num_bytes) = match self.one(&bytes[at..]) {
                Ok(found) => found,
                Err(Fault::Short) => break,
                Err(Fault::Wrong(from, problem)) => return Err(Fault::Wrong(at + from, problem)),
            };
            pair.add(numbers, events).map_err(|problem| Fault::Wrong(at, problem))?;
            (num, at) = (num + 1, at + num_bytes);
        }
        Ok((num, at))
    }

    /// Reads a coincidence of any parts.
    fn one(&self, bytes: &[u8]) -> Result<([u64; 3], usize), Fault> {
        let (mut numbers, mut at) = ([0; 3], 0);
        for (index, part) in self.parts.iter().enumerate() {
            let rest = bytes.get(at..).ok_or(Fault::Short)?;
            let (number, num_bytes) = match part {
                Part::Varint => varint(rest)?,
                Part::Bytes(num) if rest.len() < *num => return Err(Fault::Short),
                Part::Bytes(num) => (u64::from(rest.first().copied().unwrap_or(0)), *num),
            };
            at += num_bytes;
            if let Some(wanted) = self.wanted.iter().position(|wanted| *wanted == index) {
                numbers[wanted] = number;
            }
        }
        Ok((numbers, at))
    }
}

impl PairOfTypes {
    /// Adds a coincidence, or returns its problem.
    #[inline(always)]
    fn add(&self, [first, second, tof]: [u64; 3], events: &mut Events) -> Result<(), PetsirdProblem> {
        if first >= self.num_bins[0] || second >= self.num_bins[1] || tof >= self.num_tof {
            return Err(self.problem_of([first, second, tof]));
        }
        let crystal = |side: usize, bin: u64| {
            self.first_crystals[side]
                + if self.num_energies[side] == 1 { bin as u32 } else { bin as u32 / self.num_energies[side] }
        };
        events.pairs.push([crystal(0, first), crystal(1, second)]);
        if let Some(interval) = self.intervals_mm.get(tof as usize) {
            events.tof_mm.push(*interval);
        }
        Ok(())
    }

    #[cold]
    fn problem_of(&self, [first, second, tof]: [u64; 3]) -> PetsirdProblem {
        match (first >= self.num_bins[0], second >= self.num_bins[1]) {
            (true, _) => PetsirdProblem::DetectionBin(first, self.num_bins[0]),
            (_, true) => PetsirdProblem::DetectionBin(second, self.num_bins[1]),
            _ => PetsirdProblem::TofBin(tof, self.num_tof),
        }
    }
}

/// Adds the parts of a type.
fn flatten(schema: &Schema, ty: TypeId, parts: &mut Vec<Part>, event: &str) -> Result<(), PetsirdProblem> {
    if schema.form(ty) == Form::Fixed(0) {
        return Ok(());
    }
    match schema.get(ty) {
        Type::Number(Number::Unsigned | Number::Signed) => parts.push(Part::Varint),
        Type::Number(_) => match schema.form(ty) {
            Form::Fixed(bytes) => parts.push(Part::Bytes(bytes as usize)),
            _ => return Err(not_plain(event)),
        },
        Type::Record(record) => record.types.iter().try_for_each(|&ty| flatten(schema, ty, parts, event))?,
        Type::List(item, Sizes::Given(num)) => match schema.form(ty) {
            Form::Fixed(bytes) if *num > 2 && bytes <= MAX_BYTES => parts.push(Part::Bytes(bytes as usize)),
            _ if *num > MAX_PARTS as u64 => return Err(not_plain(event)),
            _ => (0..*num).try_for_each(|_| flatten(schema, *item, parts, event))?,
        },
        _ => return Err(not_plain(event)),
    }
    if parts.len() > MAX_PARTS { Err(not_plain(event)) } else { Ok(()) }
}

fn not_plain(event: &str) -> PetsirdProblem {
    PetsirdProblem::CoincidenceSize(event.to_owned())
}

/// Reads the number at a position, if eight bytes follow and it takes no more than these, and advances the position.
#[inline(always)]
fn short_varint(bytes: &[u8], at: &mut usize) -> Option<u64> {
    let word = u64::from_le_bytes(*bytes.get(*at..)?.first_chunk()?);
    let ends = !word & 0x8080_8080_8080_8080;
    if ends == 0 {
        return None;
    }
    *at += (ends.trailing_zeros() as usize + 1) / 8;
    // The bytes up to the end, seven bits of each, pushed together in three steps.
    let groups = word & (ends ^ (ends - 1)) & 0x7f7f_7f7f_7f7f_7f7f;
    let groups = (groups & 0x007f_007f_007f_007f) | ((groups & 0x7f00_7f00_7f00_7f00) >> 1);
    let groups = (groups & 0x0000_3fff_0000_3fff) | ((groups & 0x3fff_0000_3fff_0000) >> 2);
    Some((groups & 0x0000_0000_0fff_ffff) | ((groups & 0x0fff_ffff_0000_0000) >> 4))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_fast_are_those_read_byte_by_byte() {
        let mut written = Vec::new();
        let numbers: Vec<u64> = (0..56).flat_map(|bit| [(1u64 << bit) - 1, 1 << bit, (1 << bit) | 0x55]).collect();
        for &number in &numbers {
            let mut rest = number;
            while rest >= 0x80 {
                written.push(rest as u8 | 0x80);
                rest >>= 7;
            }
            written.push(rest as u8);
        }
        written.extend([0xff; 8]);
        let [mut fast, mut slow] = [0, 0];
        for &number in &numbers {
            let (found, num_bytes) = varint(&written[slow..]).unwrap();
            slow += num_bytes;
            assert_eq!((short_varint(&written, &mut fast), found, fast), (Some(number), number, slow));
        }
        assert_eq!(short_varint(&written, &mut fast), None);
        assert_eq!(varint(&[0x80; 9]), Err(Fault::Short));
        assert!(matches!(varint(&[0xff; 10]), Err(Fault::Wrong(..))));
    }
}
