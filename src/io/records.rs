//! Projections that lie one after the other in a data file, with what a header says about each.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::IoError;
use super::blocks::{read_contiguous, regular_file_len};
use super::numbers::NumberFormat;
use crate::data::{Direction, Projection};

/// Where a record's projection belongs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Planned {
    pub(super) direction: Direction,
    pub(super) weight: f64,
}

/// The records of a data file.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Records {
    pub(super) data: PathBuf,
    pub(super) format: NumberFormat,
    pub(super) num_points: usize,
    /// One entry per record, complete or not.
    pub(super) plan: Vec<Planned>,
}

impl Records {
    /// Bytes of one record.
    pub(super) fn record_bytes(&self) -> u64 {
        (self.num_points * self.format.number_type.num_bytes()) as u64
    }

    /// Bytes of all records. The caller of [`Records`] has checked that their number can be counted.
    pub(super) fn total_bytes(&self) -> u64 {
        self.record_bytes() * self.plan.len() as u64
    }

    /// Whole records that the file holds now, at most those that are planned, and its size.
    pub(super) fn num_complete(&self) -> Result<(usize, u64), IoError> {
        let len = regular_file_len(&self.data)?;
        let complete = usize::try_from(len / self.record_bytes()).unwrap_or(usize::MAX);
        Ok((complete.min(self.plan.len()), len))
    }

    /// All records; a file that is too short is refused, one that is too long gives the number of bytes left over.
    pub(super) fn read_all(&self) -> Result<(Vec<Projection>, u64), IoError> {
        let (expected, (_, found)) = (self.total_bytes(), self.num_complete()?);
        if found < expected {
            let (path, num_planned, num_points) = (self.data.clone(), self.plan.len(), self.num_points);
            return Err(IoError::Unfinished { path, num_planned, num_points, expected, found });
        }
        let projections = self.read(0..self.plan.len())?;
        for (index, projection) in projections.iter().enumerate() {
            check_finite(&self.data, &format!("projection {}", index + 1), &projection.values)?;
        }
        Ok((projections, found - expected))
    }

    /// Some of the records, which the caller knows to be in the file. Their values are not looked at.
    pub(super) fn read(&self, records: Range<usize>) -> Result<Vec<Projection>, IoError> {
        let offset = records.start as u64 * self.record_bytes();
        let values = read_contiguous(&self.data, self.format, offset, records.len() * self.num_points)?;
        let planned = self.plan.get(records).unwrap_or_default();
        let projection = |(values, planned): (&[f32], &Planned)| Projection {
            direction: planned.direction,
            weight: planned.weight,
            values: Arc::from(values),
        };
        Ok(values.chunks_exact(self.num_points).zip(planned).map(projection).collect())
    }
}

/// Refuses samples that are not numbers; `what` says whose they are.
pub(super) fn check_finite(path: &Path, what: &str, values: &[f32]) -> Result<(), IoError> {
    let Some(sample) = values.iter().position(|value| !value.is_finite()) else { return Ok(()) };
    let reason =
        format!("sample {} of {what} is {}, which nothing can be made of; repair it or leave it out", sample + 1, values[sample]);
    Err(IoError::unsupported(path, reason))
}
