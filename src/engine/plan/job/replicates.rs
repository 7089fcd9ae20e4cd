//! Error bars of a run: replicates of its measured data.

use crate::plan::algorithms::common::{AS_IF_SECS, REPLICATE_SEED, REPLICATES, SCAN_SECS};
use crate::plan::algorithms::registry::AlgorithmChoice;
use crate::plan::algorithms::traits::{DataKind, Traits};
use crate::plan::algorithms::values::Values;
use crate::plan::problem::SetupProblem;
use crate::recon::Bootstrap;
use crate::text::counted;

/// Replicates that a run carries along.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct ReplicateSettings {
    /// Number of replicates.
    pub num: usize,
    /// Seed of all that is drawn.
    pub seed: u64,
    /// Time of the scan as if only that had been measured, s; `None` = all of it.
    pub as_if_secs: Option<f64>,
    /// Duration of the scan, s; `None` = that of the data.
    pub scan_secs: Option<f64>,
}

impl ReplicateSettings {
    /// Returns this number of replicates of the whole scan.
    pub fn new(num: usize) -> Self {
        Self { num, seed: 1, as_if_secs: None, scan_secs: None }
    }

    /// Returns the replicates of a run with these values; `None` = none.
    pub(super) fn of(values: &Values) -> Option<Self> {
        let num = values.number(&REPLICATES)? as usize;
        let seed = values.number(&REPLICATE_SEED)? as u64;
        Some(Self { num, seed, as_if_secs: values.number(&AS_IF_SECS), scan_secs: values.number(&SCAN_SECS) })
    }

    /// Returns values with these replicates; `None` = none.
    pub(in crate::plan) fn set(replicates: Option<Self>, values: Values) -> Values {
        values
            .with_number(&REPLICATES, replicates.map(|replicates| replicates.num as f64))
            .with_number(&REPLICATE_SEED, replicates.map(|replicates| replicates.seed as f64))
            .with_number(&AS_IF_SECS, replicates.and_then(|replicates| replicates.as_if_secs))
            .with_number(&SCAN_SECS, replicates.and_then(|replicates| replicates.scan_secs))
    }

    /// Returns the part of the scan's time as text, if it is not all of it.
    pub fn part_text(&self) -> Option<String> {
        let as_if_secs = self.as_if_secs?;
        let of_scan = self.scan_secs.map_or_else(String::new, |secs| format!(" of {secs}"));
        Some(format!("as if scanned for {as_if_secs}{of_scan} s"))
    }

    /// Returns all settings as text.
    pub fn text(&self) -> String {
        let part = self.part_text().map_or_else(String::new, |text| format!(", {text}"));
        format!("{}, seed {}{part}", counted(self.num, "replicate"), self.seed)
    }

    /// Returns the same with the duration of the data, where they need one.
    ///
    /// # Errors
    /// An algorithm or data without replicates, a time that is unknown or longer than the scan.
    pub(in crate::plan) fn checked(
        self,
        algorithm: AlgorithmChoice,
        (kind, is_growing): (DataKind, bool),
        duration_secs: Option<f64>,
    ) -> Result<Self, SetupProblem> {
        if !algorithm.has_replicates() || is_growing {
            let traits = Traits { kind, ..Traits::default() };
            let suitable = AlgorithmChoice::all_for(traits).filter(|choice| choice.has_replicates() && !is_growing);
            let suitable = suitable.map(AlgorithmChoice::key).collect();
            return Err(SetupProblem::NoReplicates { algorithm: algorithm.key(), suitable });
        }
        let Some(as_if_secs) = self.as_if_secs else { return Ok(Self { scan_secs: None, ..self }) };
        let scan_secs = self.scan_secs.or(duration_secs).filter(|secs| *secs > 0.0);
        let scan_secs = scan_secs.ok_or(SetupProblem::UnknownDuration)?;
        if as_if_secs > 0.0 && as_if_secs <= scan_secs {
            return Ok(Self { scan_secs: Some(scan_secs), ..self });
        }
        Err(SetupProblem::LongerScan { as_if_secs, scan_secs })
    }

    /// Returns the counts to draw, of settings that were checked.
    pub(in crate::plan) fn bootstrap(&self) -> Bootstrap {
        let share = self.as_if_secs.zip(self.scan_secs).map_or(1.0, |(as_if_secs, scan_secs)| as_if_secs / scan_secs);
        Bootstrap { num: self.num, seed: self.seed, share }
    }
}
