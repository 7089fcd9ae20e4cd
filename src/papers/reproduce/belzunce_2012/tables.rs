//! Rows of the tables, and the stored measurements that they are made of.

pub mod images;
pub mod readings;
pub mod times;
pub mod warps;

use super::implementation::{Implementation, PaperColumn};
use super::plan::Image;
use super::stages::Work;
use super::studies::Scan;
use super::{Context, published};
use crate::reproduce::prelude::*;

impl Context {
    pub fn image(&self, scan: Scan, image: &Image, implementation: Implementation) -> Result<Option<Volume>, ReproduceError> {
        self.load_image(&Work::Image(scan, image.clone(), implementation))
    }
}

/// A row with our numbers and those of the first corresponding column of the paper.
pub struct Row {
    pub here: String,
    pub paper: Option<PaperColumn>,
}

impl Row {
    /// Returns the rows of an implementation: one with our numbers, and one for each further column of the paper.
    pub fn all(implementation: &Implementation, columns: &[PaperColumn]) -> Vec<Row> {
        let first = Row { here: implementation.title(), paper: columns.first().copied() };
        let more = columns.iter().skip(1).map(|column| Row { here: String::new(), paper: Some(*column) });
        std::iter::once(first).chain(more).collect()
    }

    /// Returns true if it has our numbers.
    pub fn is_ours(&self) -> bool {
        !self.here.is_empty()
    }

    /// Returns a cell of it.
    pub fn value(&self, table: &'static str, column: impl Into<String>, unit: &'static str) -> Value {
        let paper_row = self.paper.map_or(String::new(), |column| column.to_string());
        Value { paper_row, ..Value::new(table, self.here.clone(), column, unit) }
    }

    pub fn published<const N: usize>(&self, table: published::Columns<N>, column: usize) -> Option<f64> {
        Some(published::of(table, self.paper?)?[column])
    }
}
