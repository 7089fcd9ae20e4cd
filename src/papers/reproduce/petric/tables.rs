//! The tables of a data set.

use super::Context;
use super::course::{Course, MAX_GAP};
use super::plan::Method;
use super::reference::{MAX_CHANGE, Made, Maximum};
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
            let thresholds = THRESHOLDS.map(|(name, which)| (name, course.reached(which)));
            let all = thresholds.into_iter().chain([("objective", course.reached_maximum())]);
            all.map(|(name, reached)| {
                let reached = reached.map(|reached| if is_secs { reached.secs } else { reached.epochs });
                Value::new(table, method.title(), name, unit).here(reached).digits(2)
            })
            .collect::<Vec<_>>()
        };
        runs.iter().flat_map(of_run).collect::<Vec<_>>()
    };
    let devices = joined(runs.iter().map(|(_, course)| course.device.as_str()));
    let subsets = runs.first().map_or(0, |(_, course)| course.num_subsets);
    let conditions = format!(
        "Here: {devices}; {subsets} subsets. An epoch is a pass through all subsets; the full gradients of SVRG are in the times alone."
    );
    let unmet = "–: not within the epochs of the run.".to_owned();
    let maximum = context.folder.load::<Made>(&Work::Reference.key())?.map(|made| made.maximum);
    let of_maximum = maximum.map(|Maximum { epochs, start, end, change }| {
        format!(
            "objective: (Φ* − Φ)/(Φ* − Φ₀) ≤ {} % at the end of an epoch and after it; Φ₀ = {start:.9e} at the start image, Φ* = {end:.9e} after \
             {epochs} epochs of SVRG, with a last relative change of {change:.1e}{}.",
            100.0 * MAX_GAP,
            if change < MAX_CHANGE { String::new() } else { format!(" (not yet below {MAX_CHANGE:.0e})") }
        )
    });
    let notes = [Some(conditions), Some(unmet.clone()), of_maximum].into_iter().flatten();
    tables.add("Epochs to each threshold", reached("epochs", "", false), notes);
    tables.add("Time to each threshold", reached("time", "s", true), [Some(unmet), fastest(&runs)].into_iter().flatten());
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

/// Returns the fastest setting of BSREM to the objective, and the times of SVRG relative to its; `None` without one.
fn fastest(runs: &[(Method, Course)]) -> Option<String> {
    let secs = |is_of: fn(Method) -> bool| {
        let of_runs = runs.iter().filter(move |(method, _)| is_of(*method));
        of_runs.filter_map(|(method, course)| Some((method.title(), course.reached_maximum()?.secs)))
    };
    let (title, bsrem) = secs(|method| matches!(method, Method::Bsrem { .. })).min_by(|(_, a), (_, b)| a.total_cmp(b))?;
    let svrg = secs(|method| matches!(method, Method::SvrgTable | Method::SvrgBarzilaiBorwein));
    let svrg: Vec<String> = svrg.map(|(title, secs)| format!("{title}: {:.2} × its time", secs / bsrem)).collect();
    Some(format!("objective: the fastest of the sweep is {title}. {}", svrg.join("; ")))
}
