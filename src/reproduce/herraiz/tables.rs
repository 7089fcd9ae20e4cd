//! All tables from what a folder holds: as text, as JSON and as CSV.

mod widths;

use serde::Serialize;
use strum::VariantArray as _;

use super::edge_rings;
use super::measure::Times;
use super::plan::{Implementation, Paper, Plan};
use super::published::DIFFERENCE_PERCENT;
use super::rods::Resolved;
use super::scanner::{FAR_MM, PUBLISHED, ScannerFigures};
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
    widths::add_lines(plan, folder, &mut tables)?;
    add_scanner(folder, &mut tables)?;
    widths::add_points(plan, folder, &mut tables)?;
    edge_rings::add(folder, &mut tables)?;
    let all_work = Item::VARIANTS.iter().flat_map(|stage| work(plan.paper, *stage, device));
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
        text +=
            "The report's subsets, iterations and field of view are not published: its times are listed with unknown settings.\n";
    }
    if plan.quick {
        text += "QUICK: a few views and rings. The numbers are not comparable with the paper's.\n";
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
        let remarks = [
            "* The paper: below this. After one full iteration, on the same scan, against this program's pair on the processor.",
            "The paper's kernels are no matched pair, and the weights of textures have eight bits: their image is another.",
        ];
        tables.add("Section 3.1. Images of GPU and processor", values, remarks.map(String::from).to_vec());
    }
    Ok(())
}

fn add_rods(plan: &Plan, folder: &Folder, tables: &mut Tables) -> Result<(), ReproduceError> {
    let load = |tubes: bool| folder.load::<OfRods>(&Work::Rods(tubes).key());
    let scan = format!("{} subsets, {} counts", plan.rods[0], plan.num_counts);
    let found = [("tubes", load(true)?), ("lines", load(false)?)];
    for (name, found) in &found {
        let Some(found) = found else { continue };
        let of = |table: &'static str, what: fn(&Resolved) -> f64| -> Vec<Value> {
            let of_iteration = |(iteration, rods): (usize, &Vec<Resolved>)| -> Vec<Value> {
                let column = format!("iteration {}", iteration + 1);
                rods.iter().map(|rods| rods_value(table, rods, &column, Some(what(rods)))).collect()
            };
            found.iter().enumerate().flat_map(of_iteration).collect()
        };
        let [modulation, noise] =
            if *name == "tubes" { ["rods, tubes", "noise, tubes"] } else { ["rods, lines", "noise, lines"] };
        let title = format!("Modulation of the rods of a Derenzo phantom, by {name}; {scan}");
        tables.add(title, of(modulation, |rods| rods.modulation_percent), vec![MODULATION.into()]);
        tables.add(format!("Noise in their middles, by {name}"), of(noise, |rods| rods.noise_percent), vec![NOISE.into()]);
    }
    if let [(_, Some(tubes)), (_, Some(lines))] = &found {
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
        tables.add("Tubes and lines at equal noise", of_rods.collect(), vec![remark.into()]);
    }
    Ok(())
}

const MODULATION: &str = "(rods - between) / (rods + between), 100 % in truth.";
const NOISE: &str = "Standard deviation of two scans from each other over the square root of 2, of the mean.";

fn rods_value(table: &'static str, rods: &Resolved, column: &str, here: Option<f64>) -> Value {
    Value { table, row: format!("{:.1} mm", rods.diameter_mm), column: column.into(), unit: "%", here, ..Value::default() }
}

/// What is measured between the two iterations whose noise encloses this, from the noise and it of each; `None` where none do.
fn at_noise(iterations: impl Iterator<Item = [f64; 2]>, noise_percent: f64) -> Option<f64> {
    let iterations: Vec<[f64; 2]> = iterations.collect();
    iterations.windows(2).find_map(|pair| {
        let [[before, from], [after, to]] = [pair[0], pair[1]];
        let part = (noise_percent - before) / (after - before);
        (0.0..=1.0).contains(&part).then_some(from + part * (to - from))
    })
}

fn add_scanner(folder: &Folder, tables: &mut Tables) -> Result<(), ReproduceError> {
    let Some(found) = folder.load::<ScannerFigures>(&Work::Scanner.key())? else { return Ok(()) };
    let value = |row: &str, unit, paper: Option<f64>, here: Option<f64>| Value {
        table: "scanner",
        row: row.into(),
        column: "here and in the paper".into(),
        unit,
        paper,
        here,
        ..Value::default()
    };
    let far = |what: &str| format!("FWHM {what}, {FAR_MM} mm from the axis");
    let values = vec![
        value("sensitivity at the centre", "%", Some(PUBLISHED.sensitivity_percent), Some(found.sensitivity_percent)),
        value("FWHM across, centre", "mm", PUBLISHED.tangential_mm[0], found.tangential_mm[0]),
        value(&far("across"), "mm", PUBLISHED.tangential_mm[1], found.tangential_mm[1]),
        value("FWHM along the axis, centre", "mm", PUBLISHED.axial_mm[0], found.axial_mm[0]),
        value(&far("along the axis"), "mm", PUBLISHED.axial_mm[1], found.axial_mm[1]),
    ];
    let remarks = [
        "The paper measured the real scanner, and widths in images (those of points here follow below); these are of the tubes of direct planes.",
        "The heads' distance, angles and coincidences are assumed: the sensitivity goes with the solid angle that they cover.",
    ];
    tables.add("The scanner compared with Lage et al. 2009, Phys Med Biol 54:5427", values, remarks.map(String::from).to_vec());
    Ok(())
}
