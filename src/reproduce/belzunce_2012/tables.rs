//! All tables from what a folder holds: as text, as JSON and as CSV.

mod images;
mod readings;
mod times;
mod warps;

use serde::Serialize;
use strum::VariantArray as _;

use super::implementation::{Implementation, PaperColumn};
use super::limits;
use super::measure::Run;
use super::plan::{Image, Plan};
use super::quality::Readings;
use super::stages::{Item, Work, work};
use super::studies::{CylinderCounts, Scan};
use super::{figures, published};
use crate::data::Volume;
use crate::plan::DeviceChoice;
use crate::report::Tables;
use crate::report::Value;
use crate::reproduce::ReproduceError;
use crate::reproduce::folder::Folder;
use crate::reproduce::limits::Limits;
use crate::reproduce::schedule::Measurement;

/// All that tables are made from.
pub(super) struct Sources<'a> {
    pub plan: &'a Plan,
    pub device: DeviceChoice,
    pub readings: &'a Readings,
    pub folder: &'a Folder,
}

impl Sources<'_> {
    /// A measured reconstruction.
    pub fn run(&self, work: &Work) -> Result<Option<Run>, ReproduceError> {
        Ok(self.folder.load::<Option<Run>>(&work.key())?.flatten())
    }

    /// A reconstructed image.
    pub fn image(&self, scan: Scan, image: &Image, implementation: Implementation) -> Result<Option<Volume>, ReproduceError> {
        self.folder.load_image(&Work::Image(scan, image.clone(), implementation).key())
    }

    /// The search for the cylinder's counts.
    pub fn cylinder_counts(&self) -> Result<Option<CylinderCounts>, ReproduceError> {
        self.folder.load(&Work::CylinderCounts.key())
    }

    /// The image of an implementation and what it is compared with: the exact additions of the same projector.
    pub fn image_and_exact(
        &self,
        scan: Scan,
        image: &Image,
        implementation: Implementation,
    ) -> Result<Option<(Volume, Volume)>, ReproduceError> {
        let exact = implementation.with_atomic_additions();
        Ok(self.image(scan, image, implementation)?.zip(self.image(scan, image, exact)?))
    }
}

/// A row of our own, beside the first of the paper's columns for which it stands.
pub(super) struct Row {
    pub here: String,
    pub paper: Option<PaperColumn>,
}

impl Row {
    /// The rows of an implementation: one with our numbers, and one for each further column of the paper.
    pub fn all(implementation: &Implementation, columns: &[PaperColumn]) -> Vec<Row> {
        let first = Row { here: implementation.title(), paper: columns.first().copied() };
        let more = columns.iter().skip(1).map(|column| Row { here: String::new(), paper: Some(*column) });
        std::iter::once(first).chain(more).collect()
    }

    /// Whether it has our numbers.
    pub fn is_ours(&self) -> bool {
        !self.here.is_empty()
    }

    /// A cell of it.
    pub fn value(&self, table: &'static str, column: impl Into<String>, unit: &'static str) -> Value {
        Value {
            table,
            row: self.here.clone(),
            paper_row: self.paper.map_or(String::new(), |column| column.name().into()),
            column: column.into(),
            unit,
            ..Value::default()
        }
    }

    /// A number of the paper's for this row.
    pub fn published<const N: usize>(&self, table: published::Columns<N>, column: usize) -> Option<f64> {
        Some(published::of(table, self.paper?)?[column])
    }
}

/// What the JSON file holds.
#[derive(Serialize)]
struct Report<'a> {
    paper: &'static str,
    plan: &'a Plan,
    readings: &'a Readings,
    device: String,
    complete: bool,
    values: &'a [Value],
    runs: Vec<Run>,
    limits: Option<Limits>,
    cylinder: Option<CylinderCounts>,
}

/// Makes all tables and figures of what is there, writes them, and gives the text.
pub(super) fn write(
    plan: &Plan,
    device: DeviceChoice,
    readings: &Readings,
    folder: &Folder,
    complete: bool,
) -> Result<String, ReproduceError> {
    let measured = Sources { plan, device, readings, folder };
    let mut tables = Tables { without_paper: plan.quick, ..Tables::default() };
    let limits: Option<Limits> = folder.load(&Work::Limits(device).key())?;
    tables.text.extend(limits.as_ref().map(limits::table));
    times::add(&measured, &mut tables)?;
    images::add(&measured, &mut tables)?;
    readings::add(&measured, &mut tables)?;
    warps::add(&measured, &mut tables)?;
    let num_missing = num_missing(&measured);
    let figures = figures::write(&measured)?;
    let text = tables.page(&heading(&measured), num_missing, &figures);
    folder.write_tables(&tables, &text)?;
    let report = Report {
        paper: "Belzunce et al. 2012, Open Med Imaging J 6:108",
        plan,
        readings,
        device: format!("{device:?}"),
        complete: complete && num_missing == 0,
        values: &tables.values,
        runs: runs(&measured)?,
        limits,
        cylinder: measured.cylinder_counts()?,
    };
    folder.write_json("belzunce-2012.json", &report)?;
    Ok(text)
}

fn heading(measured: &Sources) -> String {
    let size = if measured.plan.quick {
        "\nQUICK: a small scanner and small images. The numbers are not comparable with the paper's."
    } else {
        ""
    };
    format!(
        "Belzunce et al. 2012, Open Med Imaging J 6:108, measured again; MLEM, {} iterations, exact line lengths, one line per bin{size}\n",
        measured.plan.num_iterations
    )
}

/// All measurements that there are to make on this device.
fn all_work(measured: &Sources) -> Vec<Work> {
    Item::VARIANTS.iter().flat_map(|stage| work(*stage, measured.plan, measured.device)).collect()
}

fn num_missing(measured: &Sources) -> usize {
    all_work(measured).iter().filter(|work| !measured.folder.has(&work.key())).count()
}

fn runs(measured: &Sources) -> Result<Vec<Run>, ReproduceError> {
    let mut runs = Vec::new();
    for work in all_work(measured) {
        if matches!(work, Work::Times(..) | Work::Image(..)) {
            runs.extend(measured.run(&work)?);
        }
    }
    Ok(runs)
}
