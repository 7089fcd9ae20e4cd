//! Parts of a batch that several processes share, like the tasks of a Slurm array.

use std::fmt;
use std::str::FromStr;

use clap::Args;

use crate::algebra::Shard;
use crate::cli::shared::console::remark;
use crate::cli::shared::error::{CliError, CliResult, Failure};
use crate::text::counted;

/// Options of the part of a batch, and of outputs that exist.
#[derive(Args, Clone, Copy, Debug, Default)]
#[command(next_help_heading = "Several inputs")]
pub struct PartOptions {
    /// Do the K-th of N parts: every N-th input from the K-th on, or of one list with --frames every N-th frame. The whole image of a
    /// list's frames is written by the part that finds all of them there. Default: inside an array of Slurm's tasks that of the task,
    /// else all, 1/1.
    #[arg(long, value_name = "K/N", group = "reconstruct_only")]
    part: Option<Part>,

    /// Skip outputs that are already up to date.
    ///
    /// An image is up to date if --skip-done or --part made it from the same data with the same settings, and it is unchanged.
    #[arg(long, group = "reconstruct_only")]
    pub skip_done: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// Number of the part, from 1.
    number: usize,
    count: usize,
}

impl Part {
    pub const WHOLE: Self = Self { number: 1, count: 1 };

    /// Returns the share of one of several processes.
    pub fn among(self, process: Shard) -> Self {
        Self { number: self.number + self.count * process.index, count: self.count * process.count }
    }

    /// Returns true if a piece of the batch, counted from 0, belongs to the part.
    pub fn has(self, index: usize) -> bool {
        index % self.count == self.number - 1
    }
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "part {} of {}", self.number, self.count)
    }
}

impl FromStr for Part {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let both = text.split_once('/').and_then(|(number, count)| Some((number.parse().ok()?, count.parse().ok()?)));
        let part = both.map(|(number, count)| Self { number, count }).filter(|part| (1..=part.count).contains(&part.number));
        part.ok_or_else(|| format!("'{text}' is not a part of a whole; use K/N with K from 1 to N, as in 2/5"))
    }
}

impl PartOptions {
    /// Returns the requested part of a number of pieces. A single piece is never divided among the tasks of an array.
    ///
    /// # Errors
    /// An irregular Slurm array, in which the part is ambiguous.
    pub fn part(self, num_pieces: usize, what: &str, process: Shard) -> CliResult<Part> {
        Ok(self.part_of_all(num_pieces, what)?.among(process))
    }

    fn part_of_all(self, num_pieces: usize, what: &str) -> CliResult<Part> {
        if let Some(part) = self.part {
            return Ok(part);
        }
        let of_the_task = if num_pieces > 1 { of_slurm(|name| std::env::var(name).ok())? } else { None };
        if let Some(part) = of_the_task {
            remark!("{part} of {}, as this is a task of Slurm's array (--part 1/1 does all)", counted(num_pieces, what));
        }
        Ok(of_the_task.unwrap_or(Part::WHOLE))
    }

    /// Returns true if images must be recognisable: to skip existing ones, or for other parts.
    pub fn needs_request(self, part: Part) -> bool {
        self.skip_done || part.count > 1
    }
}

/// Returns the part of a task in a Slurm array, from variables of the environment; `None` outside of one.
fn of_slurm(variable: impl Fn(&str) -> Option<String>) -> CliResult<Option<Part>> {
    let number = |name: &str| variable(&format!("SLURM_ARRAY_TASK_{name}"))?.parse::<usize>().ok();
    let Some(id) = number("ID") else { return Ok(None) };
    let (first, count) = (number("MIN").unwrap_or(id), number("COUNT").unwrap_or(1));
    let (last, step) = (number("MAX").unwrap_or(id), number("STEP").unwrap_or(1).max(1));
    let is_regular = (first..=last).contains(&id) && (last - first) / step + 1 == count && (id - first).is_multiple_of(step);
    if !is_regular {
        let text = format!(
            "the tasks of this Slurm array, {count} from {first} to {last}, are not at equal steps: the part of task {id} is ambiguous, \
             name it (--part K/N; 1/1 does all)"
        );
        return Err(CliError::failed(Failure::SlurmArray, text));
    }
    Ok(Some(Part { number: (id - first) / step + 1, count }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_read_and_have_every_piece_once() {
        for text in ["0/3", "4/3", "1", "1/", "a/b", "1/0", "-1/2", "1/2/3"] {
            assert!(text.parse::<Part>().is_err(), "{text}");
        }
        let parts: Vec<Part> = ["1/3", "2/3", "3/3"].iter().map(|text| text.parse().unwrap()).collect();
        for index in 0..10 {
            let owners: Vec<usize> = (0..3).filter(|part| parts[*part].has(index)).collect();
            assert_eq!(owners, [index % 3]);
        }
        assert!((0..10).all(|index| Part::WHOLE.has(index)));
        // Two processes share a part: each piece is one's, and all of them are the part's.
        for index in 0..20 {
            let has = |process| parts[1].among(Shard { index: process, count: 2 }).has(index);
            assert_eq!(usize::from(has(0)) + usize::from(has(1)), usize::from(parts[1].has(index)));
        }
    }

    #[test]
    fn tasks_of_an_array_are_parts() {
        let of = |id: &str, min: &str, max: &str, count: &str, step: &str| {
            let values =
                [("ID", id), ("MIN", min), ("MAX", max), ("COUNT", count), ("STEP", step)].map(|(k, v)| (k, v.to_owned()));
            of_slurm(|name| values.iter().find(|(key, _)| name == format!("SLURM_ARRAY_TASK_{key}")).map(|(_, v)| v.clone()))
        };
        // --array=1-4, --array=0-6:2, --array=7
        assert_eq!(of("3", "1", "4", "4", "1"), Ok(Some(Part { number: 3, count: 4 })));
        assert_eq!(of("4", "0", "6", "4", "2"), Ok(Some(Part { number: 3, count: 4 })));
        assert_eq!(of("7", "7", "7", "1", "1"), Ok(Some(Part::WHOLE)));
        // --array=1,3,7
        assert!(of("3", "1", "7", "3", "1").unwrap_err().to_string().contains("--part K/N"));
        assert_eq!(of_slurm(|_| None), Ok(None));
    }
}
