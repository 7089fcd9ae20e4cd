//! Error of the paper's axial translation (2011, section 2.1): tubes at the edge rings compared with those inside.

use super::Context;
use super::plan::Plan;
use super::stages::Work;
use crate::data::TubeSampling;
use crate::montecarlo::{EdgeDeviation, TubeRecipe};
use crate::operator::OperatorError;
use crate::reproduce::prelude::*;

/// Seed of the annihilations.
const SEED: u64 = 1;

/// The deviation of the simulated scanner, by ring differences.
pub fn measure(plan: &Plan) -> Result<Vec<EdgeDeviation>, ReproduceError> {
    let scanner = plan.scanner()?;
    let coincidences = TubeRecipe::default().coincidences(&scanner)?;
    let found = coincidences.edge_deviation(&TubeSampling::of(&scanner.geometry), plan.num_histories, SEED, &Task::new());
    Ok(found.map_err(OperatorError::from)?)
}

/// Their table, once they are measured.
pub fn add(context: &Context, tables: &mut Tables) -> Result<(), ReproduceError> {
    let Some(found) = context.load::<Vec<EdgeDeviation>>(&Work::EdgeRings)? else { return Ok(()) };
    let of_rows = |deviation: &EdgeDeviation| {
        let EdgeDeviation { ring_differences: [first, last], sum_percent, .. } = *deviation;
        let rms = deviation.rms_percent();
        let row = if first == last { format!("ring difference {first}") } else { format!("ring differences {first} to {last}") };
        let value = |column: &str, here: Option<f64>| Value::new("edge rings", row.clone(), column, "%").here(here);
        let [found, error] = rms.map_or([Some(deviation.rms_limit_percent()), None], |rms| rms.map(Some));
        [
            value("sum", Some(sum_percent[0])),
            value("standard error", Some(sum_percent[1])),
            Value { mark: if rms.is_some() { "" } else { "*" }, ..value("cross-section (RMS)", found) },
            value("standard error of it", error),
        ]
    };
    let remarks = [
        "Ring pairs with an edge ring: how much more than the others they count, and how far their tubes are from the others' \
         (added up along the line and over the distances from the axis). The papers give no number.",
        "* Not distinguishable from noise: below this.",
    ];
    let title = "Section 2.1. Axial translation: tubes at the edge rings compared with those inside";
    tables.add(title, found.iter().flat_map(of_rows), remarks);
    Ok(())
}
