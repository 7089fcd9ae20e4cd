//! The tables of a data set.

use super::Context;
use super::course::Course;
use super::plan::Method;
use super::stages::Work;
use crate::reproduce::prelude::*;

/// Name of a column, and whether these passed thresholds are those of it.
type Threshold = (&'static str, fn([bool; 3]) -> bool);

/// Thresholds by the columns of the tables.
const THRESHOLDS: [Threshold; 4] = [
    ("whole object", |passes| passes[0]),
    ("background", |passes| passes[1]),
    ("VOIs", |passes| passes[2]),
    ("all", |passes| passes == [true; 3]),
];

/// Adds epochs and times to each threshold, and the last measures of each run.
pub fn add(context: &Context, tables: &mut Tables) -> Result<(), ReproduceError> {
    let runs: Vec<(Method, Course)> = context
        .all_work()
        .into_iter()
        .filter_map(|work| match work {
            Work::Run(method) => Some(context.load::<Course>(&work).map(|course| Some((method, course?))).transpose()?),
            Work::Reference => None,
        })
        .collect::<Result<_, _>>()?;
    let reached = |table: &'static str, unit: &'static str, is_secs: bool| {
        let of_run = |(method, course): &(Method, Course)| {
            THRESHOLDS.map(|(name, which)| {
                let reached = course.reached(which).map(|reached| if is_secs { reached.secs } else { reached.epochs });
                Value::new(table, method.title(), name, unit).here(reached).digits(2)
            })
        };
        runs.iter().flat_map(of_run).collect::<Vec<_>>()
    };
    let devices = joined(runs.iter().map(|(_, course)| course.device.as_str()));
    let subsets = runs.first().map_or(0, |(_, course)| course.num_subsets);
    let conditions = format!(
        "Here: {devices}; {subsets} subsets. An epoch is a pass through all subsets; the full gradients of SVRG are in the times alone."
    );
    let unmet = "–: not within the epochs of the run.".to_owned();
    tables.add("Epochs to each threshold", reached("epochs", "", false), [conditions, unmet.clone()]);
    tables.add("Time to each threshold", reached("time", "s", true), [unmet]);
    let best = runs.iter().filter(|(method, _)| matches!(method, Method::Bsrem { .. }));
    let best = best.filter_map(|(method, course)| Some((method.title(), course.reached(THRESHOLDS[3].1)?.secs)));
    let best = best.min_by(|(_, a), (_, b)| a.total_cmp(b)).map(|(title, _)| format!("Fastest of the sweep: {title}."));
    let last = runs.iter().filter_map(|(method, course)| {
        let update = course.updates.last()?;
        let epochs = course.updates.len() as f64 / course.num_subsets.max(1) as f64;
        let value =
            |name: &str, unit, number: f64, digits| Value::new("end", method.title(), name, unit).here(number).digits(digits);
        let [object, background, vois] = update.measures.map(|measure| 100.0 * measure);
        Some([
            value("epochs", "", epochs, 1),
            value("whole object RMSE", "%", object, 3),
            value("background RMSE", "%", background, 3),
            value("VOI mean error", "%", vois, 3),
        ])
    });
    tables.add("Measures at the end of each run", last.flatten(), best);
    Ok(())
}
