//! The tables of times, differences and rods.

pub mod scanner;
pub mod widths;

use super::measure::Times;
use super::plan::Implementation;
use super::published::{DIFFERENCE_PERCENT, TIMES_2010, TIMES_2011};
use super::rods::Resolved;
use super::stages::{Difference, OfRods, Work};
use super::{Context, Edition};
use crate::reproduce::prelude::*;

pub fn add_times(context: &Context, tables: &mut Tables) -> Result<(), ReproduceError> {
    let (published, title) = match context.paper {
        Edition::Nima2011 => (TIMES_2011, "Table 1. Time of one full iteration"),
        Edition::Report2010 => {
            (TIMES_2010, "Table 2. Time of a reconstruction (paper: settings unknown; here: one full iteration)")
        }
    };
    let mut rows: Vec<(String, Option<usize>, Option<Times>)> = Vec::new();
    for implementation in Implementation::of_times(context.device) {
        let times = context.load(&Work::Times(implementation))?;
        rows.push((implementation.title(), implementation.paper_row(), times));
    }
    let is_measured = rows.iter().any(|(.., times)| times.is_some());
    // A published row without a corresponding one of ours.
    for number in 0..published.len() {
        if !rows.iter().any(|(_, paper_row, _)| *paper_row == Some(number)) {
            rows.push((String::new(), Some(number), None));
        }
    }
    if !is_measured {
        return Ok(());
    }
    let one_thread =
        rows.iter().find(|(_, row, _)| *row == Some(0)).and_then(|(.., times)| times.as_ref()).map(|t| t.iteration_s[0]);
    let cells = rows.iter().flat_map(|(title, paper_row, times)| {
        let of_paper = paper_row.map(|number| published[number]);
        let cell = |column: &str, unit, paper: Option<f64>, here: Option<f64>| {
            let paper_row = of_paper.map_or(String::new(), |row| row.name.to_owned());
            Value { paper_row, ..Value::new("times", title.clone(), column, unit).paper(paper).here(here) }
        };
        let [median, spread] = times.as_ref().map_or([None; 2], |times| times.iteration_s.map(Some));
        let speed_up = one_thread.zip(median).map(|(one, this)| one / this);
        let from_times = of_paper.map(|row| published[0].secs / row.secs);
        [
            Value { spread, ..cell("time", "s", of_paper.map(|row| row.secs), median) },
            cell("speed-up", "x", of_paper.and_then(|row| row.speed_up), speed_up),
            cell("speed-up from the printed times", "x", from_times, None),
        ]
    });
    let devices = joined(rows.iter().filter_map(|(.., times)| times.as_ref()).map(|times| times.device.as_str()));
    let remark = format!("Here: {devices}. Medians; the first iteration, which makes the sensitivities, is not counted.");
    tables.add(title, cells, [remark]);
    Ok(())
}

pub fn add_differences(context: &Context, tables: &mut Tables) -> Result<(), ReproduceError> {
    let mut values = Vec::new();
    for implementation in Implementation::of_gpu(context.device) {
        let Some(Difference { mean_square_percent }) = context.load(&Work::Difference(implementation))? else { continue };
        let value = Value::new("difference", implementation.title(), "mean square difference", "% of the square");
        values.push(Value { paper_mark: "*", ..value.paper(DIFFERENCE_PERCENT).here(mean_square_percent) });
    }
    let remarks = [
        "* The paper: below this. After one full iteration, on the same scan, against this program's pair on the processor.",
        "The paper's kernels are no matched pair, and the weights of textures have eight bits: their image is another.",
    ];
    tables.add("Section 3.1. Images of GPU and processor", values, remarks);
    Ok(())
}

/// Adds the modulation and the noise of the rods.
pub fn add_rods(context: &Context, tables: &mut Tables) -> Result<(), ReproduceError> {
    let load = |tubes: bool| context.load::<OfRods>(&Work::Rods(tubes));
    let scan = format!("{} subsets, {} counts", context.plan.rods[0], context.plan.num_counts);
    let found =
        [("tubes", ["rods, tubes", "noise, tubes"], load(true)?), ("lines", ["rods, lines", "noise, lines"], load(false)?)];
    for (name, [modulation, noise], found) in &found {
        let Some(found) = found else { continue };
        let of = |table: &'static str, what: fn(&Resolved) -> f64| -> Vec<Value> {
            let of_iteration = |(iteration, rods): (usize, &Vec<Resolved>)| -> Vec<Value> {
                let column = format!("iteration {}", iteration + 1);
                rods.iter().map(|rods| rods_value(table, rods, &column, Some(what(rods)))).collect()
            };
            found.iter().enumerate().flat_map(of_iteration).collect()
        };
        let title = format!("Modulation of the rods of a Derenzo phantom, by {name}; {scan}");
        tables.add(title, of(modulation, |rods| rods.modulation_percent), [MODULATION]);
        tables.add(format!("Noise in their middles, by {name}"), of(noise, |rods| rods.noise_percent), [NOISE]);
    }
    if let [(.., Some(tubes)), (.., Some(lines))] = &found {
        let of_rods = lines.first().into_iter().flatten().enumerate().flat_map(|(number, lines)| {
            let of_tubes =
                tubes.iter().filter_map(|rods| rods.get(number)).map(|rods| [rods.noise_percent, rods.modulation_percent]);
            let at_noise = at_noise(of_tubes, lines.noise_percent);
            [
                ("noise", Some(lines.noise_percent)),
                ("modulation by lines", Some(lines.modulation_percent)),
                ("modulation by tubes", at_noise),
            ]
            .map(|(column, here)| rods_value("rods, equal noise", lines, column, here))
        });
        let remark = "The noise of lines after their first iteration; tubes between the iterations that have more and less.";
        tables.add("Tubes and lines at equal noise", of_rods, [remark]);
    }
    Ok(())
}

const MODULATION: &str = "(rods - between) / (rods + between), 100 % in truth.";
const NOISE: &str = "Standard deviation of two scans from each other over the square root of 2, of the mean.";

fn rods_value(table: &'static str, rods: &Resolved, column: &str, here: Option<f64>) -> Value {
    Value::new(table, format!("{:.1} mm", rods.diameter_mm), column, "%").here(here)
}

/// Returns the value between the two iterations whose noise encloses this one, from the noise and the value of each.
fn at_noise(iterations: impl Iterator<Item = [f64; 2]>, noise_percent: f64) -> Option<f64> {
    let iterations: Vec<[f64; 2]> = iterations.collect();
    iterations.windows(2).find_map(|pair| {
        let [[before, from], [after, to]] = [pair[0], pair[1]];
        let part = (noise_percent - before) / (after - before);
        (0.0..=1.0).contains(&part).then_some(from + part * (to - from))
    })
}
