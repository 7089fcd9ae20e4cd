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
use crate::data::{BasisKind, MatrixMade, Volume};
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
        self.run_with(BasisKind::Blobs, scan, implementation)
    }

    /// The same with other functions than blobs.
    pub fn run_with(&self, kind: BasisKind, scan: Scan, one: Implementation) -> Result<Option<Run>, ReproduceError> {
        Ok(self.folder.load::<Option<Run>>(&Work::Image(kind, scan, one).key())?.flatten())
    }

    /// A reconstructed image.
    pub fn image(&self, scan: Scan, implementation: Implementation) -> Result<Option<Volume>, ReproduceError> {
        self.folder.load_image(&Work::Image(BasisKind::Blobs, scan, implementation).key())
    }

    /// The reconstructions of a scan that there are, the reference first; none where it is missing.
    pub fn runs(&self, scan: Scan) -> Result<Vec<(Implementation, Run)>, ReproduceError> {
        let mut runs = Vec::new();
        if self.run(scan, Implementation::reference(self.device))?.is_none() {
            return Ok(runs);
        }
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
    matrix_of_cubes: Option<MatrixFigures>,
    times: Vec<MatrixTimes>,
    runs: Vec<Run>,
}

/// Makes all tables and figures of what is there, writes them, and gives the text.
pub(super) fn write(plan: &Plan, device: DeviceChoice, folder: &Folder, complete: bool) -> Result<String, ReproduceError> {
    let sources = Sources { plan, device, folder };
    let mut tables = Tables { without_paper: plan.quick, ..Tables::default() };
    let [matrix, matrix_of_cubes]: [Option<MatrixFigures>; 2] =
        [folder.load(&Work::Matrix(BasisKind::Blobs).key())?, folder.load(&Work::Matrix(BasisKind::Cubic).key())?];
    if let Some(matrix) = &matrix {
        add_matrix(matrix, matrix_of_cubes.as_ref(), &mut tables);
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
        if let Work::Image(kind, scan, implementation) = work {
            runs.extend(sources.run_with(kind, scan, implementation)?);
        }
    }
    let report = Report {
        paper: "Cabello et al. 2012, Int J Biomed Imaging 452910",
        plan,
        device: format!("{device:?}"),
        complete: complete && num_missing == 0,
        values: &tables.values,
        matrix,
        matrix_of_cubes,
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
        text += "NO CUDA DEVICE: GPU rows contain only the paper's numbers, and accumulation modes are compared on the CPU.\n";
    }
    Ok(text)
}

fn add_matrix(matrix: &MatrixFigures, cubes: Option<&MatrixFigures>, tables: &mut Tables) {
    let value = |row: &str, paper: Option<f64>, of: &dyn Fn(&MatrixFigures) -> Option<f64>, digits| {
        let cell = |column: &str, paper, here| Value {
            table: "matrix",
            row: row.into(),
            column: column.into(),
            paper,
            here,
            digits,
            ..Value::default()
        };
        [Some(cell("blobs", paper, of(matrix))), cubes.map(|cubes| cell("cubes", None, of(cubes)))].into_iter().flatten()
    };
    let made = |of: fn(&MatrixMade) -> f64| move |matrix: &MatrixFigures| matrix.made.as_ref().map(of);
    let gb = |matrix: &MatrixFigures| Some(matrix.num_bytes as f64 * 1e-9);
    let mut values: Vec<Value> = [
        value("symmetries", Some(published::NUM_SYMMETRIES), &|matrix| Some(matrix.num_symmetries as f64), Some(0)),
        value("lines of response", Some(published::NUM_LORS), &|matrix| Some(matrix.num_lors as f64), Some(0)),
        value("basic functions", Some(published::NUM_BASIC), &|matrix| Some(matrix.num_basic as f64), Some(0)),
        value("elements above 0", Some(published::NUM_ELEMENTS), &|matrix| Some(matrix.num_elements as f64), Some(0)),
        value("size, GB", Some(published::GB), &gb, None),
        value("decays, into all directions", Some(published::NUM_DECAYS), &made(|made| made.num_decays), Some(0)),
        value("decays that were followed", None, &made(|made| made.num_histories as f64), Some(0)),
        value("decays that are counted, %", None, &made(|made| made.counted_percent), None),
        value("rejected as multiple, %", None, &made(|made| made.multiple_percent), None),
        value("counts behind an element", None, &made(|made| made.effective_counts), None),
        value("time to simulate it, s", None, &|matrix| matrix.secs, None),
    ]
    .into_iter()
    .flatten()
    .collect();
    // As many elements of each kind as there are images of them that the other symmetries would have given.
    let of_eight = gb(matrix).map(|gb| gb * matrix.num_symmetries as f64 / published::FEWER_SYMMETRIES);
    values.push(Value {
        table: "matrix",
        row: "size of the blobs' with eight symmetries, GB".into(),
        column: "blobs".into(),
        paper: Some(published::GB_OF_EIGHT),
        here: of_eight,
        mark: "*",
        ..Value::default()
    });
    let mut remarks = vec![
        "The paper's numbers do not go together; here decays are followed until there are as many elements. Counts behind an element: the mean of (sum of weights)^2 / sum of their squares.".to_owned(),
        "* Calculated from the symmetries. The value of cubes is measured, with its own number of decays.".to_owned(),
    ];
    if let Some(device) = &matrix.device {
        remarks.push(format!("Simulated on {device}; 200 jobs of 12 hours in the paper."));
    }
    tables.add("Section 2. The system matrix", values, remarks);
}
