//! Numbers of tubes of response that share one; `tube_sharing` explains super-LORs.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::coded::coded;

/// Number of tubes that share one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SuperLors {
    /// Neighbouring distances from the axis.
    pub radial: usize,
    /// Neighbouring ring differences.
    pub ring_differences: usize,
    /// Samples along the line over which a running mean is taken; odd.
    pub along: usize,
}

/// Reason for which tubes are not shared.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SuperLorError {
    /// A number is 0, or that along the line even.
    #[error("invalid super-LOR size {0}: each number must be at least 1, and the number of samples along the line odd")]
    Numbers(SuperLors),
    /// Not two or three numbers.
    #[error(
        "'{0}' are no super-LORs; write how many distances from the axis and ring differences share a tube, as 6x5, and if you \
         like over how many samples along the line its mean is taken, as 6x5x9"
    )]
    Text(String),
    /// Crystal pairs that are not those of the tubes.
    #[error("{found} numbers of crystal pairs were given for {expected} tubes")]
    Pairs {
        /// Number of tubes.
        expected: usize,
        /// Numbers given.
        found: usize,
    },
}

coded!(SuperLorError = "super-lors");

/// Deviation of shared tubes from single ones: √(Σ (shared − single)² / Σ single²) over coefficients. For simulated tubes it
/// includes the noise of the single ones.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SharingDeviation {
    /// Over all groups but those at the edges, %.
    pub inner_percent: f64,
    /// Over the groups of the largest distances from the axis and those of the largest ring differences, which only the
    /// outermost crystals see, %.
    pub edge_percent: f64,
}

impl SuperLors {
    /// Every tube stays its own.
    pub const NONE: SuperLors = SuperLors { radial: 1, ring_differences: 1, along: 1 };

    /// Returns these numbers.
    ///
    /// # Errors
    /// A 0, an even number along the line.
    pub fn new(radial: usize, ring_differences: usize, along: usize) -> Result<Self, SuperLorError> {
        let numbers = Self { radial, ring_differences, along };
        let is_valid = radial > 0 && ring_differences > 0 && along % 2 == 1;
        if is_valid { Ok(numbers) } else { Err(SuperLorError::Numbers(numbers)) }
    }
}

impl fmt::Display for SuperLors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} × {}", self.radial, self.ring_differences)?;
        if self.along == 1 { Ok(()) } else { write!(f, " × {} samples along", self.along) }
    }
}

impl FromStr for SuperLors {
    type Err = SuperLorError;

    fn from_str(text: &str) -> Result<Self, SuperLorError> {
        let number = |part: &str| part.trim().parse().map_err(|_| SuperLorError::Text(text.to_owned()));
        let numbers = text.split(['x', '×']).map(number).collect::<Result<Vec<usize>, _>>()?;
        match numbers[..] {
            [radial, ring_differences] => Self::new(radial, ring_differences, 1),
            [radial, ring_differences, along] => Self::new(radial, ring_differences, along),
            _ => Err(SuperLorError::Text(text.to_owned())),
        }
    }
}
