//! All tables from what a folder holds: as text, as JSON and as CSV.

use serde::Serialize;
use strum::VariantArray as _;

use super::measure::Times;
use super::plan::{Implementation, Paper, Plan};
use super::published::DIFFERENCE_PERCENT;
use super::stages::{Difference, Item, OfRods, Work, work};
use crate::plan::DeviceChoice;
use crate::report::{Tables, Value};
use crate::reproduce::ReproduceError;
use crate::reproduce::folder::Folder;
use crate::reproduce::schedule::Measurement;

/// What the JSON file holds.
#[derive(Serialize)]
struct Report<'a> {
    paper: &'static str,
    plan: &'a Plan,
    device: String,
    complete: bool,
    values: &'a [Value],
}

/// Makes all tables of what is there, writes them, and gives the text.
pub(super) fn write(plan: &Plan, device: DeviceChoice, folder: &Folder, complete: bool) -> Result<String, ReproduceError> {
    let mut tables = Tables { without_paper: plan.quick, ..Tables::default() };
    add_times(plan, device, folder, &mut tables)?;
    add_differences(device, folder, &mut tables)?;
    add_rods(plan, folder, &mut tables)?;
    let all_work = Item::VARIANTS.iter().flat_map(|stage| work(*stage, device));
    let num_missing = all_work.filter(|work| !folder.has(&work.key())).count();
    let text = tables.page(&heading(plan, device)?, num_missing, &[]);
    folder.write_tables(&tables, &text)?;
    let report = Report {
        paper: plan.paper.title(),
        plan,
        device: format!("{device:?}"),
        complete: complete && num_missing == 0,
        values: &tables.values,
    };
    folder.write_json(&format!("{}.json", plan.paper.name()), &report)?;
    Ok(text)
}

fn heading(plan: &Plan, device: DeviceChoice) -> Result<String, ReproduceError> {
    let scanner = plan.scanner()?;
    let mut text = format!(
        "{}, measured again; {}, {} LORs, OSEM, one full iteration of {} subsets\n",
        plan.paper.title(),
        scanner.title,
        scanner.geometry.num_bins(),
        plan.num_subsets
    );
    if plan.paper == Paper::Report2010 {
        text += "The report's subsets, iterations and field of view are not published: its times stand beside ours with settings unknown.\n";
    }
    if plan.quick {
        text += "QUICK: a few views. The numbers are not comparable with the paper's.\n";
    }
    if !matches!(device, DeviceChoice::Cuda(_)) {
        text += "NO CUDA DEVICE: the rows of GPUs hold the paper's numbers alone.\n";
    }
    Ok(text)
}

fn add_times(plan: &Plan, device: DeviceChoice, folder: &Folder, tables: &mut Tables) -> Result<(), ReproduceError> {
    let published = plan.paper.times();
    let mut rows: Vec<(String, Option<usize>, Option<Times>)> = Vec::new();
    for implementation in Implementation::of_times(device) {
        let times = folder.load(&Work::Times(implementation).key())?;
        rows.push((implementation.title(), implementation.paper_row(), times));
    }
    let is_measured = rows.iter().any(|(.., times)| times.is_some());
    // What nothing here stands for has a row of its own.
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
        let cell = |column: &str, unit, paper: Option<f64>, here: Option<f64>, spread: Option<f64>| Value {
            table: "times",
            row: title.clone(),
            paper_row: of_paper.map_or(String::new(), |row| row.name.to_owned()),
            column: column.into(),
            unit,
            paper,
            here,
            spread,
            ..Value::default()
        };
        let [median, spread] = times.as_ref().map_or([None; 2], |times| times.iteration_s.map(Some));
        let speed_up = one_thread.zip(median).map(|(one, this)| one / this);
        let from_times = of_paper.map(|row| published[0].secs / row.secs);
        [
            cell("time", "s", of_paper.map(|row| row.secs), median, spread),
            cell("speed-up", "x", of_paper.and_then(|row| row.speed_up), speed_up, None),
            cell("speed-up from the printed times", "x", from_times, None, None),
        ]
    });
    let devices: Vec<String> = rows.iter().filter_map(|(.., times)| times.as_ref()).map(|times| times.device.clone()).collect();
    let remarks = vec![format!(
        "Here: {}. Medians; the first iteration, which makes the sensitivities, is not counted.",
        distinct(devices).join("; ")
    )];
    let title = match plan.paper {
        Paper::Nima2011 => "Table 1. Time of one full iteration",
        Paper::Report2010 => "Table 2. Time of a reconstruction (paper: settings unknown; here: one full iteration)",
    };
    tables.add(title, cells.collect(), remarks);
    Ok(())
}

fn distinct(mut names: Vec<String>) -> Vec<String> {
    names.sort_unstable();
    names.dedup();
    names
}

fn add_differences(device: DeviceChoice, folder: &Folder, tables: &mut Tables) -> Result<(), ReproduceError> {
    let mut values = Vec::new();
    for implementation in Implementation::of_gpu(device) {
        let Some(Difference { mean_square_percent }) = folder.load(&Work::Difference(implementation).key())? else { continue };
        values.push(Value {
            table: "difference",
            row: implementation.title(),
            column: "mean square difference".into(),
            unit: "% of the square",
            paper: Some(DIFFERENCE_PERCENT),
            here: Some(mean_square_percent),
            paper_mark: "*",
            ..Value::default()
        });
    }
    if !values.is_empty() {
        let remark = "* The paper: below this. After one full iteration, on the same scan.".to_owned();
        tables.add("Section 3.1. Images of GPU and processor", values, vec![remark]);
    }
    Ok(())
}

fn add_rods(plan: &Plan, folder: &Folder, tables: &mut Tables) -> Result<(), ReproduceError> {
    let [num_subsets, _] = plan.rods;
    for (what, title) in [(true, "tubes"), (false, "lines (Siddon)")] {
        let Some(found) = folder.load::<OfRods>(&Work::Rods(what).key())? else { continue };
        let values = found.iter().enumerate().flat_map(|(iteration, rods)| {
            rods.iter().flat_map(move |rods| {
                let cell = |column: String, here: f64| Value {
                    table: if what { "rods, tubes" } else { "rods, lines" },
                    row: format!("iteration {}", iteration + 1),
                    column,
                    unit: "%",
                    here: Some(here),
                    ..Value::default()
                };
                let diameter = rods.diameter_mm;
                [
                    cell(format!("{diameter:.1} mm, modulation"), rods.modulation_percent),
                    cell(format!("{diameter:.1} mm, noise"), rods.noise_percent),
                ]
            })
        });
        let remark = "Modulation = (rods - between) / (rods + between), 100 % in truth; noise = standard deviation between two scans in the rods' middles.";
        tables.add(
            format!("Rods of a Derenzo phantom, by {title}; {num_subsets} subsets, {} counts", plan.num_counts),
            values.collect(),
            vec![remark.into()],
        );
    }
    Ok(())
}
