//! All measured times, and the columns of times in the tables and figures.

use super::measure::Times;
use super::program::Program;
use super::stages::Work;
use super::{Context, published};
use crate::reproduce::prelude::*;
use crate::statistics::median_and_spread;

/// Part of a program's time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timed {
    Computing,
    Transfer,
    Total,
}

/// A column of times.
#[derive(Clone, Copy)]
pub struct Column {
    pub name: &'static str,
    /// `None`: this machine has no device for it.
    pub program: Option<Program>,
    pub part: Timed,
    pub paper: Option<fn(&published::Row) -> f64>,
}

/// Returns the columns of table 1: GS computing, its transfer, GS, CM, CS.
pub fn columns_of_paper(device: DeviceChoice) -> [Column; 5] {
    let gs = Program::gs(device);
    [
        Column { name: "GS, computing", program: gs, part: Timed::Computing, paper: Some(|row| row.gs_s[0]) },
        Column { name: "GS, transfer", program: gs, part: Timed::Transfer, paper: Some(|row| row.gs_s[1]) },
        Column { name: "GS", program: gs, part: Timed::Total, paper: Some(|row| row.gs_s[2]) },
        Column { name: "CM", program: Some(Program::MultiStage), part: Timed::Total, paper: Some(|row| row.cm_s) },
        Column { name: "CS", program: Some(Program::Plain), part: Timed::Total, paper: Some(|row| row.cs_s) },
    ]
}

/// Indices of the two columns that each factor of table 1 compares, in the order of [`published::FACTORS`]: time over time.
pub const FACTORS: [(usize, usize); 4] = [(3, 0), (3, 2), (4, 0), (4, 2)];

/// Returns the columns of our programs.
pub fn columns_of_ours(device: DeviceChoice) -> Vec<Column> {
    let ours = |name, program, part| Column { name, program, part, paper: None };
    let fast = Program::fast(device);
    let columns = [
        ours("CPU, multi-stage", Some(Program::MultiStageAll), Timed::Total),
        ours("CPU, single-stage", Some(Program::SingleStage), Timed::Total),
        ours("CUDA, computing", fast, Timed::Computing),
        ours("CUDA, transfer", fast, Timed::Transfer),
        ours("CUDA, single-stage", fast, Timed::Total),
    ];
    columns.into_iter().filter(|column| column.program.is_some()).collect()
}

pub struct AllTimes(Vec<(Program, Times)>);

impl AllTimes {
    pub fn load(context: &Context) -> Result<Self, ReproduceError> {
        let mut all = Vec::new();
        for program in Program::of_times(context.device) {
            for &size in &context.plan.sizes {
                all.extend(context.load(&Work::Times(size, program))?.map(|times| (program, times)));
            }
        }
        Ok(Self(all))
    }

    pub fn iter(&self) -> impl Iterator<Item = &Times> {
        self.0.iter().map(|(_, times)| times)
    }

    /// Returns the times in which a column was measured.
    pub fn of(&self, size: usize, column: &Column) -> Option<&Times> {
        let found = self.0.iter().find(|(program, times)| (Some(*program), times.size) == (column.program, size));
        found.map(|(_, times)| times)
    }

    /// Returns median and spread of a column, s.
    pub fn secs(&self, size: usize, column: &Column) -> Option<(f64, f64)> {
        let times = self.of(size, column)?;
        let secs: Vec<f64> = match column.part {
            Timed::Computing => times.computing_s.clone(),
            Timed::Transfer => times.transfer_s.clone(),
            Timed::Total if times.transfer_s.is_empty() => times.computing_s.clone(),
            Timed::Total => times.computing_s.iter().zip(&times.transfer_s).map(|(a, b)| a + b).collect(),
        };
        median_and_spread(secs)
    }

    /// Returns the time of one column over that of another.
    pub fn ratio(&self, size: usize, slow: &Column, fast: &Column) -> Option<f64> {
        Some(self.secs(size, slow)?.0 / self.secs(size, fast)?.0)
    }

    /// Returns the time of a column for one size over that for another.
    pub fn growth(&self, large: usize, small: usize, column: &Column) -> Option<f64> {
        Some(self.secs(large, column)?.0 / self.secs(small, column)?.0)
    }
}
