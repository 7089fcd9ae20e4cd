//! All tables from what a folder holds: as text, as JSON and as CSV.

use serde::Serialize;
use strum::VariantArray as _;

use super::measure::{Precision, Times};
use super::plan::Plan;
use super::program::Program;
use super::published::{self, AVERAGE_FACTORS, GROWTH_IN_TEXT};
use super::stages::{Item, Work, work};
use super::times::{AllTimes, Column, FACTORS, Timed, columns_of_ours, columns_of_paper};
use super::{figures, limits};
use crate::plan::DeviceChoice;
use crate::report::Tables;
use crate::report::Value;
use crate::reproduce::ReproduceError;
use crate::reproduce::folder::Folder;
use crate::reproduce::limits::Limits;
use crate::reproduce::schedule::Measurement;

/// Marks times that were measured on some of the projections.
const SCALED: &str = "*";

/// The sizes of the plan and those of the paper.
pub(super) fn sizes(plan: &Plan) -> Vec<usize> {
    let mut sizes: Vec<usize> = plan.sizes.iter().copied().chain(published::TIMES.map(|row| row.size)).collect();
    sizes.sort_unstable();
    sizes.dedup();
    sizes
}

/// What the JSON file holds.
#[derive(Serialize)]
struct Report<'a> {
    paper: &'static str,
    plan: &'a Plan,
    device: String,
    complete: bool,
    values: &'a [Value],
    times: Vec<&'a Times>,
    precision: Vec<(String, Precision)>,
    limits: Option<Limits>,
}

/// Makes all tables and figures of what is there, writes them, and gives the text.
pub(super) fn write(plan: &Plan, device: DeviceChoice, folder: &Folder, complete: bool) -> Result<String, ReproduceError> {
    let mut tables = Tables::default();
    let times = AllTimes::load(plan, device, folder)?;
    add_times(plan, device, &times, &mut tables);
    let limits: Option<Limits> = folder.load(&Work::Limits(device).key())?;
    if let Some(limits) = &limits {
        tables.text.push(limits::table(limits));
        limits::add_resident_threads(plan, limits, &mut tables);
    }
    let precision = load_precision(device, folder)?;
    add_precision(plan, &precision, &mut tables)?;
    let all_work = Item::VARIANTS.iter().flat_map(|stage| work(*stage, plan, device));
    let num_missing = all_work.filter(|work| !folder.has(&work.key())).count();
    let figures = figures::write(plan, device, folder, &times)?;
    let text = tables.page(&heading(plan, device), num_missing, &figures);
    folder.write_tables(&tables, &text)?;
    let report = Report {
        paper: "Qiao et al. 2015, J X-Ray Sci Technol 23(4), doi:10.3233/XST-150498",
        plan,
        device: format!("{device:?}"),
        complete: complete && num_missing == 0,
        values: &tables.values,
        times: times.iter().collect(),
        precision: precision.into_iter().map(|(program, precision)| (program.title(), precision)).collect(),
        limits,
    };
    folder.write_json("qiao-2015.json", &report)?;
    Ok(text)
}

fn heading(plan: &Plan, device: DeviceChoice) -> String {
    let [num_polar, num_azimuth] = plan.equal_angles();
    let mut text = format!(
        "Qiao et al. 2015, J X-Ray Sci Technol 23(4), measured again; a bottle, {} projections of equal solid angle\n\
GS: one stage on the GPU, the paper's kernel in double precision. CS: the plain loop in double precision, one thread.\n\
CM: two stages, one thread, from the projections resampled to {num_polar} x {num_azimuth} equal linear angles.\n",
        plan.num_projections(),
    );
    if plan.quick {
        text += "QUICK: of the paper's objects only the smallest, and no averages.\n";
    }
    if Program::gs(device).is_none() {
        text += "NO CUDA DEVICE: GS is not measured here; its columns hold the paper's numbers alone.\n";
    }
    text
}

/// Where the times were measured, and how they are scaled.
fn remarks(times: &AllTimes) -> Vec<String> {
    let mut devices: Vec<&str> = times.iter().map(|times| times.device.as_str()).collect();
    devices.sort_unstable();
    devices.dedup();
    let step = times.iter().map(|times| times.projection_step).max().unwrap_or(1);
    let scaled = (step > 1).then(|| format!("{SCALED} measured on one of up to {step} projections and scaled to all"));
    std::iter::once(format!("Here: {}. Medians.", devices.join("; "))).chain(scaled).collect()
}

/// A cell of a table of times.
fn time_value(times: &AllTimes, table: &'static str, size: usize, column: &Column) -> Value {
    let is_part = times.of(size, column).is_some_and(|times| times.projection_step > 1);
    let (here, spread) = times.secs(size, column).unzip();
    Value {
        table,
        row: format!("{size}³"),
        column: column.name.into(),
        unit: "s",
        paper: published::of(size).zip(column.paper).map(|(row, paper)| paper(row)),
        here,
        spread,
        mark: if is_part { SCALED } else { "" },
        ..Value::default()
    }
}

/// Table 1, its numbers for our own programs, and figure 2.
fn add_times(plan: &Plan, device: DeviceChoice, times: &AllTimes, tables: &mut Tables) {
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
    tables.add("Table 1. Acceleration factors", factors(plan, &paper, times), Vec::new());
    let conditions = "All threads, single precision. CUDA, transfer: to the volume that is shown, by way of page-locked memory.";
    let cells: Vec<Value> = cells("ours", &ours).into_iter().filter(|value| value.here.is_some()).collect();
    tables.add("This program's own backprojectors", cells, with(conditions));
    let cs = &paper[4];
    let faster = plan.sizes.iter().flat_map(|&size| {
        ours.iter().filter(|column| column.part != Timed::Transfer).filter_map(move |column| {
            let here = Some(times.ratio(size, cs, column)?);
            let (row, column) = (format!("{size}³"), column.name.to_owned());
            Some(Value { table: "ours over CS", row, column, unit: "x", here, ..Value::default() })
        })
    });
    tables.add("The same, times faster than CS here", faster.collect(), Vec::new());
    let disagreement = format!(
        "The paper's numbers follow from its table 1. Its section 4.1 has about {} for the GPU's computing and about {} for GS \
from 64³ to 200³.",
        GROWTH_IN_TEXT[0], GROWTH_IN_TEXT[1]
    );
    tables.add("Figure 2. Time relative to the paper's smallest object's", growth(plan, &paper, times), vec![disagreement]);
}

/// The factors of each size, and their averages over the paper's sizes.
fn factors(plan: &Plan, columns: &[Column; 5], times: &AllTimes) -> Vec<Value> {
    let value = |row: String, factor: usize, paper, here| {
        let (table, column) = ("1", published::FACTORS[factor].to_owned());
        // As the paper prints them.
        let digits = Some(if factor == 1 { 2 } else { 1 });
        Value { table, row, column, unit: "x", paper, here, digits, ..Value::default() }
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
        let mean = all.map(|all| all.iter().sum::<f64>() / all.len() as f64);
        values.push(value("average".into(), factor, Some(paper), mean));
    }
    values
}

/// Times over those of the paper's smallest object.
fn growth(plan: &Plan, columns: &[Column; 5], times: &AllTimes) -> Vec<Value> {
    let smallest = &published::TIMES[0];
    let mut values = Vec::new();
    for size in sizes(plan) {
        let row = format!("{size}³");
        let value = |column: &str, paper, here| {
            let (row, column) = (row.clone(), column.to_owned());
            Value { table: "figure 2", row, column, unit: "x", paper, here, ..Value::default() }
        };
        values.push(value("voxels", None, Some((size as f64 / smallest.size as f64).powi(3))));
        for column in columns.iter().filter(|column| column.part != Timed::Transfer) {
            let paper = published::of(size).zip(column.paper).map(|(row, secs)| secs(row) / secs(smallest));
            values.push(value(column.name, paper, times.growth(size, smallest.size, column)));
        }
    }
    values
}

fn load_precision(device: DeviceChoice, folder: &Folder) -> Result<Vec<(Program, Precision)>, ReproduceError> {
    let mut all = Vec::new();
    for program in Program::of_images(device) {
        all.extend(folder.load(&Work::Image(program).key())?.map(|precision| (program, precision)));
    }
    Ok(all)
}

/// Figures 4 and 5 as numbers.
fn add_precision(plan: &Plan, all: &[(Program, Precision)], tables: &mut Tables) -> Result<(), ReproduceError> {
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
            values.push(Value {
                table: "figures 4 and 5",
                row: program.title(),
                paper_row: program.paper_name().unwrap_or("").into(),
                column: column.into(),
                unit: "%",
                here: here.map(|part| 100.0 * part),
                digits: Some(5),
                ..Value::default()
            });
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
