//! All tables from what a folder holds: as text, as JSON and as CSV.

mod curves;
mod images;
mod mouse;
mod times;

use serde::Serialize;
use strum::VariantArray as _;

use super::figures;
use super::implementation::Implementation;
use super::measure::{Run, Sample};
use super::plan::{Plan, Scan};
use super::published::matrix as published;
use super::stages::{Item, MatrixFigures, Work, work};
use crate::data::Volume;
use crate::plan::{DeviceChoice, MatrixTimes};
use crate::report::{Tables, Value};
use crate::reproduce::ReproduceError;
use crate::reproduce::folder::Folder;
use crate::reproduce::schedule::Measurement;

/// All that tables and figures are made from.
pub(super) struct Sources<'a> {
    pub plan: &'a Plan,
    pub device: DeviceChoice,
    pub folder: &'a Folder,
}

impl Sources<'_> {
    /// A measured reconstruction.
    pub fn run(&self, scan: Scan, implementation: Implementation) -> Result<Option<Run>, ReproduceError> {
        Ok(self.folder.load::<Option<Run>>(&Work::Image(scan, implementation).key())?.flatten())
    }

    /// A reconstructed image.
    pub fn image(&self, scan: Scan, implementation: Implementation) -> Result<Option<Volume>, ReproduceError> {
        self.folder.load_image(&Work::Image(scan, implementation).key())
    }

    /// The reconstructions of a scan that there are, the reference first.
    pub fn runs(&self, scan: Scan) -> Result<Vec<(Implementation, Run)>, ReproduceError> {
        let mut runs = Vec::new();
        for implementation in Implementation::of_images(scan, self.device) {
            runs.extend(self.run(scan, implementation)?.map(|run| (implementation, run)));
        }
        Ok(runs)
    }
}

impl Run {
    /// What was measured after so many iterations.
    pub fn at(&self, iteration: usize) -> Option<&Sample> {
        self.samples.iter().find(|sample| sample.iteration == iteration)
    }

    /// The last that was measured up to so many iterations.
    pub fn last_up_to(&self, iteration: usize) -> Option<&Sample> {
        self.samples.iter().rfind(|sample| sample.iteration <= iteration)
    }
}

/// How far a number is from another, %.
pub(super) fn percent_off(number: Option<f64>, from: Option<f64>) -> Option<f64> {
    let (number, from) = number.zip(from)?;
    (from != 0.0).then(|| 100.0 * (number / from - 1.0))
}

/// What the JSON file holds.
#[derive(Serialize)]
struct Report<'a> {
    paper: &'static str,
    plan: &'a Plan,
    device: String,
    complete: bool,
    values: &'a [Value],
    matrix: Option<MatrixFigures>,
    times: Vec<MatrixTimes>,
    runs: Vec<Run>,
}

/// Makes all tables and figures of what is there, writes them, and gives the text.
pub(super) fn write(plan: &Plan, device: DeviceChoice, folder: &Folder, complete: bool) -> Result<String, ReproduceError> {
    let sources = Sources { plan, device, folder };
    let mut tables = Tables { without_paper: plan.quick, ..Tables::default() };
    let matrix: Option<MatrixFigures> = folder.load(&Work::Matrix.key())?;
    if let Some(matrix) = &matrix {
        add_matrix(matrix, &mut tables);
    }
    times::add(&sources, &mut tables)?;
    images::add_rods(&sources, &mut tables)?;
    images::add_points(&sources, &mut tables)?;
    mouse::add(&sources, &mut tables)?;
    curves::write(&sources)?;
    let all_work: Vec<Work> = Item::VARIANTS.iter().flat_map(|stage| work(*stage, device)).collect();
    let num_missing = all_work.iter().filter(|work| !folder.has(&work.key())).count();
    let figures = figures::write(&sources)?;
    let text = tables.page(&heading(plan, device)?, num_missing, &figures);
    folder.write_tables(&tables, &text)?;
    let mut runs = Vec::new();
    for work in all_work {
        if let Work::Image(scan, implementation) = work {
            runs.extend(sources.run(scan, implementation)?);
        }
    }
    let report = Report {
        paper: "Cabello et al. 2012, Int J Biomed Imaging 452910",
        plan,
        device: format!("{device:?}"),
        complete: complete && num_missing == 0,
        values: &tables.values,
        matrix,
        times: times::all(&sources)?.into_iter().map(|(_, times)| times).collect(),
        runs,
    };
    folder.write_json("cabello-2012.json", &report)?;
    Ok(text)
}

fn heading(plan: &Plan, device: DeviceChoice) -> Result<String, ReproduceError> {
    let mut text = format!(
        "Cabello et al. 2012, Int J Biomed Imaging 452910, measured again; {}, MLEM, {} iterations\n",
        plan.ring()?.title,
        plan.num_iterations
    );
    if plan.quick {
        text += "QUICK: a reduced ring and few counts. The numbers are not comparable with the paper's.\n";
    }
    if !matches!(device, DeviceChoice::Cuda(_)) {
        text +=
            "NO CUDA DEVICE: the rows of GPUs hold the paper's numbers alone, and ways to add are compared on the processor.\n";
    }
    Ok(text)
}

fn add_matrix(matrix: &MatrixFigures, tables: &mut Tables) {
    let value = |row: &str, unit, paper: Option<f64>, here: f64| Value {
        table: "matrix",
        row: row.into(),
        column: "of the matrix".into(),
        unit,
        paper,
        here: Some(here),
        ..Value::default()
    };
    let whole = |row: &str, paper, here: f64| Value { digits: Some(0), ..value(row, "", paper, here) };
    let gb = |bytes: u64| bytes as f64 * 1e-9;
    let mut values = vec![
        whole("lines of response", Some(published::NUM_LORS), matrix.num_lors as f64),
        whole("basic functions", Some(published::NUM_BASIC), matrix.num_basic as f64),
        whole("elements above 0", Some(published::NUM_ELEMENTS), matrix.num_elements as f64),
        value(&format!("size with {} symmetries, GB", matrix.num_symmetries), "", Some(published::GB), gb(matrix.num_bytes)),
    ];
    if let Some(made) = &matrix.made {
        values.extend([
            whole("decays, into all directions", Some(published::NUM_DECAYS), made.num_decays),
            whole("decays that were followed", None, made.num_histories as f64),
            value("decays that are counted, %", "", None, made.counted_percent),
            value("rejected as multiple, %", "", None, made.multiple_percent),
            value("counts behind an element", "", None, made.effective_counts),
        ]);
    }
    values.extend(matrix.secs.map(|secs| value("time to simulate it, s", "", None, secs)));
    let mut remarks = vec![
        "The paper's numbers do not go together; here decays are followed until there are as many elements. Counts behind an element: the mean of (sum of weights)^2 / sum of their squares.".to_owned(),
        format!("The paper: {} GB with eight symmetries of cubic voxels.", published::GB_OF_EIGHT),
    ];
    if let Some(device) = &matrix.device {
        remarks.push(format!("Simulated on {device}; 200 jobs of 12 hours in the paper."));
    }
    tables.add("Section 2. The stored matrix", values, remarks);
}
