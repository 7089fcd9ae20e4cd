//! Projections one after the other in a data file, with the direction and weight of each from a header.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::phase::{Moments, turned};
use crate::data::{Direction, Phase, Projection, Study, Sweep};
use crate::io::bytes::{NumberFormat, read_contiguous, regular_file_len};
use crate::io::epri::problem::SweepProblem;
use crate::io::error::IoError;

/// Where a record's projection belongs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Planned {
    pub direction: Direction,
    pub weight: f64,
}

/// Kind of the samples.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    Real,
    /// A real and an imaginary part, one after the other; the phase, degrees, by which they are turned back, once it is known.
    Complex(Option<f64>),
}

/// The records of a data file.
#[derive(Clone, Debug, PartialEq)]
pub struct Records {
    pub data: PathBuf,
    pub format: NumberFormat,
    /// First byte of the first record.
    pub offset: u64,
    /// Values at the beginning of a record that are not samples.
    pub num_leading: usize,
    pub num_points: usize,
    pub kind: Kind,
    /// One entry per record, complete or not.
    pub plan: Vec<Planned>,
}

impl Records {
    /// Returns numbers of one record.
    fn numbers_per_record(&self) -> usize {
        self.num_leading + self.num_points * if self.kind == Kind::Real { 1 } else { 2 }
    }

    /// Returns bytes of one record.
    pub fn record_bytes(&self) -> u64 {
        (self.numbers_per_record() * self.format.number_type.num_bytes()) as u64
    }

    /// Returns the bytes up to the end of `num_records` records.
    pub fn bytes_of(&self, num_records: usize) -> u64 {
        (num_records as u64).saturating_mul(self.record_bytes()).saturating_add(self.offset)
    }

    /// Returns the number of whole planned records in the file now, and its size.
    pub fn num_complete(&self) -> Result<(usize, u64), IoError> {
        let len = regular_file_len(&self.data)?;
        let complete = usize::try_from(len.saturating_sub(self.offset) / self.record_bytes()).unwrap_or(usize::MAX);
        Ok((complete.min(self.plan.len()), len))
    }

    /// Refuses a file that is too short; the number of bytes left over in one that is too long.
    pub fn check_len(&self) -> Result<u64, IoError> {
        let (expected, (_, found)) = (self.bytes_of(self.plan.len()), self.num_complete()?);
        if found < expected {
            let (path, num_planned, num_points) = (self.data.clone(), self.plan.len(), self.num_points);
            return Err(IoError::Unfinished { path, num_planned, num_points, expected, found });
        }
        Ok(found - expected)
    }

    /// Refuses a phase for real samples.
    pub fn check_phase(&self, header: &Path, phase: Option<f64>) -> Result<(), IoError> {
        match (self.kind, phase) {
            (Kind::Real, Some(degrees)) => Err(IoError::unsupported(header, SweepProblem::NotComplex(degrees))),
            _ => Ok(()),
        }
    }

    /// Reads all records; a file that is too short is refused, for one that is too long the number of surplus bytes is returned.
    pub fn read_all(&self) -> Result<(Vec<Projection>, u64), IoError> {
        let num_left = self.check_len()?;
        let projections = self.read(0..self.plan.len())?;
        for (index, projection) in projections.iter().enumerate() {
            check_finite(&self.data, &format!("projection {}", index + 1), &projection.values)?;
        }
        Ok((projections, num_left))
    }

    /// Finds the phase of complex records, if it is not known yet, from some that are in the file. A requested phase is only
    /// measured.
    pub fn find_phase(&mut self, records: Range<usize>, requested: Option<f64>) -> Result<Option<Phase>, IoError> {
        if self.kind != Kind::Complex(None) || records.is_empty() {
            return Ok(None);
        }
        let mut moments = Moments::default();
        self.read_numbers(records)?.chunks_exact(self.numbers_per_record()).for_each(|record| moments.add(record));
        let phase = moments.phase(requested);
        self.kind = Kind::Complex(phase.map(|phase| phase.degrees));
        Ok(phase)
    }

    fn read_numbers(&self, records: Range<usize>) -> Result<Vec<f32>, IoError> {
        let offset = self.offset + records.start as u64 * self.record_bytes();
        read_contiguous(&self.data, self.format, offset, records.len() * self.numbers_per_record())
    }

    /// Returns some of the records, which must be in the file. Their values are not checked.
    pub fn read(&self, records: Range<usize>) -> Result<Vec<Projection>, IoError> {
        let values = self.read_numbers(records.clone())?;
        let values = match self.kind {
            Kind::Real => values,
            Kind::Complex(degrees) => turned(&values, degrees.unwrap_or_default()),
        };
        let planned = self.plan.get(records).unwrap_or_default();
        let projection = |(values, planned): (&[f32], &Planned)| Projection {
            direction: planned.direction,
            weight: planned.weight,
            values: Arc::from(&values[self.num_leading..]),
        };
        Ok(values.chunks_exact(self.num_leading + self.num_points).zip(planned).map(projection).collect())
    }
}

/// Refuses samples that are not finite; `what` names their source.
pub fn check_finite(path: &Path, what: &str, values: &[f32]) -> Result<(), IoError> {
    let Some(sample) = values.iter().position(|value| !value.is_finite()) else { return Ok(()) };
    let problem = SweepProblem::NotFinite(sample + 1, what.to_owned(), values[sample]);
    Err(IoError::unsupported(path, problem))
}

/// Returns the number of projections without those of zeros at the end.
pub fn num_measured(projections: &[Projection]) -> usize {
    projections.iter().rposition(|projection| !projection.is_zero()).map_or(0, |last| last + 1)
}

/// Reads the header of a format: a sweep without projections, and where they are.
pub type ReadHeader = fn(&Path) -> Result<(Study<Sweep>, Records), IoError>;
