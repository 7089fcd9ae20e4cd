//! `tomoscope nema IMAGE`: NEMA NU 2 image quality of an image of the body phantom, from wherever it comes.

use std::path::PathBuf;

use clap::Args;
use jiff::Timestamp;
use serde_json::json;

use super::console::{out, remark};
use super::options::triple;
use super::outputs::Files;
use super::paths::{image_file, report_file, rois_file};
use super::{CliResult, notices};
use crate::data::checked_activity_ratio;
use crate::data::nema::SPHERE_DIAMETERS_MM;
use crate::io::measurements::MeasurementWriter;
use crate::io::{read_volume, rois, write_whole};
use crate::measure::nema::{NemaAnalysis, NemaKnown, analyse, find};
use crate::plan::{Progress, Provenance};
use crate::report::{NemaReport, nema_measurements, nema_pdf, nema_table};

/// Options of `tomoscope nema`.
#[derive(Args)]
pub struct NemaOptions {
    /// Image of the NEMA body phantom (.hv, .nii, .nii.gz).
    #[arg(value_parser = image_file)]
    image: PathBuf,

    /// Activity of the hot spheres over that of the background; without it hot spheres have no contrast recovery.
    #[arg(long, value_parser = ratio)]
    ratio: Option<f64>,

    /// Write a report of two pages (.pdf).
    #[arg(long, value_name = "OUT.pdf", value_parser = report_file)]
    report: Option<PathBuf>,

    /// Write the figures as measured numbers (CSV).
    #[arg(long, value_name = "OUT.csv")]
    csv: Option<PathBuf>,

    /// Write the circles as regions of interest (.toml).
    #[arg(long, value_name = "OUT.toml", value_parser = rois_file)]
    rois: Option<PathBuf>,

    /// Print the figures as JSON, for scripts.
    #[arg(long)]
    json: bool,

    /// Middle of the ring of spheres, mm, in place of the one that is found.
    #[arg(long, value_name = "X,Y,Z", allow_hyphen_values = true, value_parser = finite::<3>)]
    centre_mm: Option<Triple>,

    /// Turn of the ring of spheres from +x towards −y, degrees, in place of the one that is found.
    #[arg(long, value_name = "DEGREES", allow_hyphen_values = true, value_parser = degrees)]
    turn: Option<f64>,

    /// Diameters of the spheres, mm, 60° apart from +x towards −y, in place of the order that is found: 17,10,13,37,22,28.
    #[arg(long, value_name = "D,D,D,D,D,D", value_parser = order)]
    order: Option<Six>,
}

type Triple = [f64; 3];
type Six = [f64; 6];

fn ratio(text: &str) -> Result<f64, String> {
    let ratio = text.parse().map_err(|_| format!("'{text}' is not a number"))?;
    checked_activity_ratio(ratio).map_err(|error| error.to_string())
}

fn finite<const N: usize>(text: &str) -> Result<[f64; N], String> {
    let numbers = triple::<f64, N>(text)?;
    numbers.iter().all(|number| number.is_finite()).then_some(numbers).ok_or_else(|| "every number must be finite".to_owned())
}

fn degrees(text: &str) -> Result<f64, String> {
    finite::<1>(text).map(|[degrees]| degrees)
}

fn order(text: &str) -> Result<Six, String> {
    let order = finite::<6>(text)?;
    let mut ascending = order;
    ascending.sort_by(f64::total_cmp);
    if ascending == SPHERE_DIAMETERS_MM { Ok(order) } else { Err("the six must be 10, 13, 17, 22, 28 and 37, each once".into()) }
}

/// Finds the phantom, measures it, and writes what was asked for.
pub fn run(options: &NemaOptions) -> CliResult {
    let files = Files::new().read([&options.image]).write("--report", &options.report).write("--rois", &options.rois);
    files.write_lines("--csv", &options.csv).check()?;
    let (volume, found) = read_volume(&options.image)?;
    notices::print(&found);
    let known =
        NemaKnown { centre_mm: options.centre_mm, ring_turn_rad: options.turn.map(f64::to_radians), order_mm: options.order };
    let placement = find(&volume, &known)?;
    let analysis = analyse(&volume, &placement, options.ratio)?;
    let provenance = Provenance::read_beside(&options.image);
    let title = options.image.file_name().unwrap_or_default().to_string_lossy();
    if options.json {
        out!("{}", json(&title, &analysis, volume.unit.label(), provenance.as_ref())?);
    } else {
        out!("{}", nema_table(&title, &analysis).to_string().trim_end());
    }
    if let Some(path) = &options.csv {
        let iteration = match provenance.as_ref().and_then(|provenance| provenance.progress) {
            Some(Progress::Iterations { iteration, .. }) => iteration,
            _ => 0,
        };
        MeasurementWriter::create(path)?.write(&nema_measurements(&analysis, volume.unit, iteration))?;
        remark!("{}: the figures", path.display());
    }
    if let Some(path) = &options.rois {
        rois::write_rois(path, &placement.rois(options.ratio))?;
        remark!("{}: the circles", path.display());
    }
    if let Some(path) = &options.report {
        let date = Timestamp::now().strftime("%Y-%m-%d %H:%M UTC").to_string();
        let report =
            NemaReport { title: &title, volume: &volume, analysis: &analysis, provenance: provenance.as_ref(), date: &date };
        write_whole(path, &nema_pdf(&report)?)?;
        remark!("{}: the report", path.display());
    }
    Ok(())
}

/// The figures for scripts: fractions, 1 = 100 %.
fn json(title: &str, analysis: &NemaAnalysis, unit: &str, provenance: Option<&Provenance>) -> serde_json::Result<String> {
    let all = json!({ "image": title, "unit": unit, "nema_nu_2": analysis, "provenance": provenance });
    serde_json::to_string_pretty(&all)
}
