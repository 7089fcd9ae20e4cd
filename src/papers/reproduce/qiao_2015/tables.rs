//! All tables.

use super::Context;
use super::measure::Precision;
use super::plan::Plan;
use super::program::Program;
use super::published::{self, AVERAGE_FACTORS, GROWTH_IN_TEXT};
use super::stages::Work;
use super::times::{AllTimes, Column, FACTORS, Timed, columns_of_ours, columns_of_paper};
use crate::reproduce::prelude::*;
use crate::statistics::mean;

/// Marks times that were measured on some of the projections.
const SCALED: &str = "*";

/// Returns the sizes of the plan and those of the paper.
pub fn sizes(plan: &Plan) -> Vec<usize> {
    let mut sizes: Vec<usize> = plan.sizes.iter().copied().chain(published::TIMES.map(|row| row.size)).collect();
    sizes.sort_unstable();
    sizes.dedup();
    sizes
}

/// Returns remarks on the devices and on scaled times.
fn remarks(times: &AllTimes) -> Vec<String> {
    let devices = joined(times.iter().map(|times| times.device.as_str()));
    let step = times.iter().map(|times| times.projection_step).max().unwrap_or(1);
    let scaled = (step > 1).then(|| format!("{SCALED} measured on one of up to {step} projections and scaled to all"));
    std::iter::once(format!("Here: {devices}. Medians.")).chain(scaled).collect()
}

fn time_value(times: &AllTimes, table: &'static str, size: usize, column: &Column) -> Value {
    let is_part = times.of(size, column).is_some_and(|times| times.projection_step > 1);
    let (here, spread) = times.secs(size, column).unzip();
    let paper = published::of(size).zip(column.paper).map(|(row, paper)| paper(row));
    let mark = if is_part { SCALED } else { "" };
    Value { paper, here, spread, mark, ..Value::new(table, format!("{size}³"), column.name, "s") }
}

/// Adds table 1, its numbers for our programs, and figure 2.
pub fn add_times(context: &Context, times: &AllTimes, tables: &mut Tables) {
    let (plan, device) = (&context.plan, context.device);
    if times.iter().next().is_none() {
        return;
    }
    let (paper, ours, sizes) = (columns_of_paper(device), columns_of_ours(device), sizes(plan));
    let cells = |table, columns: &[Column]| -> Vec<Value> {
        let of_size = |&size: &usize| columns.iter().map(move |column| time_value(times, table, size, column));
        sizes.iter().flat_map(of_size).collect()
    };
    let with = |remark: &str| [remarks(times), vec![remark.to_owned()]].concat();
    let conditions = "GS, computing: from the projections in the computer's memory to the object on the device. Transfer: to \
ordinary memory, in double precision, as the paper's.";
    tables.add("Table 1. Time of a backprojection", cells("1", &paper), with(conditions));
    tables.add("Table 1. Acceleration factors", factors(plan, &paper, times), [""; 0]);
    let conditions = "All threads, single precision. CUDA, transfer: to the volume that is shown, by way of page-locked memory.";
    let cells: Vec<Value> = cells("ours", &ours).into_iter().filter(|value| value.here.is_some()).collect();
    tables.add("This program's own backprojectors", cells, with(conditions));
    let cs = &paper[4];
    let faster = plan.sizes.iter().flat_map(|&size| {
        ours.iter().filter(|column| column.part != Timed::Transfer).filter_map(move |column| {
            Some(Value::new("ours over CS", format!("{size}³"), column.name, "x").here(times.ratio(size, cs, column)?))
        })
    });
    tables.add("The same, times faster than CS here", faster, [""; 0]);
    let disagreement = format!(
        "The paper's numbers follow from its table 1. Its section 4.1 has about {} for the GPU's computing and about {} for GS \
from 64³ to 200³.",
        GROWTH_IN_TEXT[0], GROWTH_IN_TEXT[1]
    );
    tables.add("Figure 2. Time relative to the paper's smallest object's", growth(plan, &paper, times), [disagreement]);
}

/// Returns the factors of each size, and their averages over the paper's sizes.
fn factors(plan: &Plan, columns: &[Column; 5], times: &AllTimes) -> Vec<Value> {
    // As many digits as the paper prints.
    let value = |row: String, factor: usize, paper: Option<f64>, here: Option<f64>| {
        let digits = if factor == 1 { 2 } else { 1 };
        Value::new("1", row, published::FACTORS[factor], "x").paper(paper).here(here).digits(digits)
    };
    let here = |size: usize, factor: usize| {
        let (slow, fast) = FACTORS[factor];
        times.ratio(size, &columns[slow], &columns[fast])
    };
    let mut values = Vec::new();
    for size in sizes(plan) {
        for factor in 0..FACTORS.len() {
            let paper = published::of(size).map(|row| row.factors[factor]);
            values.push(value(format!("{size}³"), factor, paper, here(size, factor)));
        }
    }
    for (factor, paper) in AVERAGE_FACTORS.into_iter().enumerate() {
        let all: Option<Vec<f64>> = published::TIMES.iter().map(|row| here(row.size, factor)).collect();
        values.push(value("average".into(), factor, Some(paper), all.and_then(|all| mean(&all))));
    }
    values
}

/// Returns times relative to those of the paper's smallest object.
fn growth(plan: &Plan, columns: &[Column; 5], times: &AllTimes) -> Vec<Value> {
    let smallest = &published::TIMES[0];
    let mut values = Vec::new();
    for size in sizes(plan) {
        let value = |column: &str| Value::new("figure 2", format!("{size}³"), column, "x");
        values.push(value("voxels").here((size as f64 / smallest.size as f64).powi(3)));
        for column in columns.iter().filter(|column| column.part != Timed::Transfer) {
            let paper = published::of(size).zip(column.paper).map(|(row, secs)| secs(row) / secs(smallest));
            values.push(value(column.name).paper(paper).here(times.growth(size, smallest.size, column)));
        }
    }
    values
}

/// Returns the differences of all images.
pub fn precision(context: &Context) -> Result<Vec<(Program, Precision)>, ReproduceError> {
    let mut all = Vec::new();
    for program in Program::of_images(context.device) {
        all.extend(context.load(&Work::Image(program))?.map(|precision| (program, precision)));
    }
    Ok(all)
}

/// Adds figures 4 and 5 as numbers.
pub fn add_precision(plan: &Plan, all: &[(Program, Precision)], tables: &mut Tables) -> Result<(), ReproduceError> {
    let mut values = Vec::new();
    for (program, precision) in all {
        let stages = precision.of_stages;
        let differences = [
            ("from CS", Some(precision.from_plain.relative_norm)),
            ("largest", Some(precision.from_plain.largest)),
            ("two stages alone", stages.map(|difference| difference.relative_norm)),
            ("their largest", stages.map(|difference| difference.largest)),
            ("from the bottle", Some(precision.from_truth.relative_norm)),
        ];
        for (column, here) in differences {
            let value = Value::new("figures 4 and 5", program.title(), column, "%").here(here.map(|part| 100.0 * part)).digits(5);
            values.push(Value { paper_row: program.paper_name().unwrap_or("").into(), ..value });
        }
    }
    let cutoff = plan.filter()?.cutoff.unwrap_or(1.0);
    let remarks = vec![
        "From CS: norm of the difference over that of the image of CS. Largest: of a voxel, relative to the density of the \
bottle's solution. From the bottle: from its true density."
            .into(),
        "CM's projections are resampled to equal linear angles first. Two stages alone: compared with the plain loop on the \
resampled ones. The paper shows these differences and gives no numbers."
            .into(),
        format!(
            "The filter ends at {cutoff:.3} of the Nyquist frequency, the resolution limit of this number of directions at the \
bottle's rim; the paper does not name its filter."
        ),
    ];
    tables.add(format!("Figures 4 and 5. Precision of the images, {}³", plan.image_size), values, remarks);
    Ok(())
}
