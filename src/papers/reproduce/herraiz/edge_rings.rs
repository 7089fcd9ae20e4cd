//! Error of the paper's axial translation (2011, section 2.1): tubes at the edge rings compared with those inside.

use super::plan::Plan;
use crate::data::TubeSampling;
use crate::montecarlo::{EdgeDeviation, TubeRecipe};
use crate::operator::OperatorError;
use crate::reproduce::prelude::*;

/// Seed of the annihilations.
const SEED: u64 = 1;

/// Measures the deviation in the simulated scanner, by ring differences.
pub fn measure(plan: &Plan) -> Result<Vec<EdgeDeviation>, ReproduceError> {
    let scanner = plan.scanner()?;
    let coincidences = TubeRecipe::default().coincidences(&scanner)?;
    let found = coincidences.edge_deviation(&TubeSampling::of(&scanner.geometry), plan.num_histories, SEED, &Task::new());
    Ok(found.map_err(OperatorError::from)?)
}
