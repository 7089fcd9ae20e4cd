//! The runs of a data set.

use std::path::{Path, PathBuf};

use crate::plan::{AlgorithmChoice, FIRST_STEP, RELAXATION, STEP_RULE, Values};
use crate::reproduce::prelude::*;

/// All that the measurements of a folder have in common.
#[derive(Clone, Debug, Serialize)]
pub struct Plan {
    version: u32,
    pub quick: bool,
    /// Folder of the data set.
    pub data: PathBuf,
    /// Epochs of the run for the reference, at most.
    pub reference_epochs: usize,
    /// Epochs of a run, at most.
    pub epochs: usize,
    /// Epochs of a run of BSREM, at most.
    pub bsrem_epochs: usize,
    /// First step sizes of BSREM.
    pub first_steps: Vec<f64>,
    /// Relaxations of BSREM.
    pub relaxations: Vec<f64>,
}

/// An algorithm with its settings.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Method {
    Osem,
    SvrgTable,
    SvrgBarzilaiBorwein,
    Bsrem { first_step: f64, relaxation: f64 },
}

impl Plan {
    pub fn new(quick: bool, data: &Path) -> Self {
        Self {
            version: 3,
            quick,
            data: data.to_owned(),
            reference_epochs: if quick { 20 } else { 400 },
            epochs: if quick { 10 } else { 40 },
            bsrem_epochs: if quick { 10 } else { 100 },
            first_steps: if quick { vec![1.0] } else { vec![0.25, 0.5, 1.0] },
            relaxations: if quick { vec![0.05] } else { vec![0.05, 0.1, 0.2] },
        }
    }

    /// Returns the settings of BSREM.
    pub fn bsrem(&self) -> impl Iterator<Item = Method> {
        let sweep = self.first_steps.iter().flat_map(|first_step| self.relaxations.iter().map(move |eta| (*first_step, *eta)));
        sweep.map(|(first_step, relaxation)| Method::Bsrem { first_step, relaxation })
    }
}

impl Method {
    /// Returns its name in keys.
    pub fn key(self) -> String {
        match self {
            Method::Osem => "osem".into(),
            Method::SvrgTable => "svrg.table".into(),
            Method::SvrgBarzilaiBorwein => "svrg.barzilai-borwein".into(),
            Method::Bsrem { first_step, relaxation } => format!("bsrem.{first_step}.{relaxation}"),
        }
    }

    /// Returns its name for people.
    pub fn title(self) -> String {
        match self {
            Method::Osem => "OSEM (no penalty)".into(),
            Method::SvrgTable => "SVRG, table of step sizes".into(),
            Method::SvrgBarzilaiBorwein => "SVRG, Barzilai–Borwein".into(),
            Method::Bsrem { first_step, relaxation } => format!("BSREM, α₀ = {first_step}, η = {relaxation}"),
        }
    }

    pub fn algorithm(self) -> AlgorithmChoice {
        match self {
            Method::Osem => AlgorithmChoice::OSEM,
            Method::SvrgTable | Method::SvrgBarzilaiBorwein => AlgorithmChoice::SVRG,
            Method::Bsrem { .. } => AlgorithmChoice::BSREM,
        }
    }

    /// Returns its parameters, from those of the study's penalty.
    pub fn parameters(self, mut of_penalty: Values) -> Values {
        of_penalty.keep(&self.algorithm().settings());
        match self {
            Method::Osem | Method::SvrgTable => of_penalty,
            Method::SvrgBarzilaiBorwein => of_penalty.with_choice(&STEP_RULE, "barzilai-borwein"),
            Method::Bsrem { first_step, relaxation } => {
                of_penalty.with_number(&FIRST_STEP, Some(first_step)).with_number(&RELAXATION, Some(relaxation))
            }
        }
    }
}
