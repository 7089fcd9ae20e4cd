//! `tomoscope nema IMAGE`: NEMA image quality of an image of the body phantom (NU 2) or of the small-animal phantom (NU 4), from
//! wherever it comes.

use std::borrow::Cow;
use std::path::PathBuf;

use clap::Args;
use jiff::Timestamp;
use serde_json::json;

use crate::cli::shared::console::{out, remark};
use crate::cli::shared::error::CliResult;
use crate::cli::shared::notices;
use crate::cli::shared::options::triple;
use crate::cli::shared::outputs::Files;
use crate::cli::shared::paths::{image_file, report_file, rois_file};
use crate::data::nema::SPHERE_DIAMETERS_MM;
use crate::data::{Roi, Volume, checked_activity_ratio};
use crate::io::measurements::{Measurement, MeasurementWriter};
use crate::io::{read_volume, rois, write_whole};
use crate::measure::nema::{NemaKnown, analyse, find};
use crate::measure::nema_nu4;
use crate::plan::{Progress, Provenance};
use crate::report::{
    NemaReport, PdfError, nema_measurements, nema_nu4_measurements, nema_nu4_pdf, nema_nu4_table, nema_pdf, nema_table,
};

/// Options of `tomoscope nema`.
#[derive(Args)]
pub struct NemaOptions {
    /// Image of the phantom ({read images}).
    #[arg(value_parser = image_file)]
    image: PathBuf,

    /// Measure the NU 4 phantom: uniformity, rod recovery, spill-over.
    ///
    /// The axis of the phantom must be parallel to z.
    #[arg(long, conflicts_with_all = ["ratio", "centre_mm", "turn", "order"])]
    small_animal: bool,

    /// True activity ratio of hot spheres to background.
    ///
    /// Without it hot spheres have no contrast recovery.
    #[arg(long, value_parser = ratio)]
    ratio: Option<f64>,

    /// Write a report (.pdf).
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

    /// Centre of the sphere ring, mm.
    ///
    /// Default: found in the image.
    #[arg(long, value_name = "X,Y,Z", allow_hyphen_values = true, value_parser = finite::<3>)]
    centre_mm: Option<Triple>,

    /// Rotation of the sphere ring from +x towards −y, degrees.
    ///
    /// Default: found in the image.
    #[arg(long, value_name = "DEGREES", allow_hyphen_values = true, value_parser = degrees)]
    turn: Option<f64>,

    /// Sphere diameters, mm, in steps of 60° from +x towards −y: 17,10,13,37,22,28.
    ///
    /// Default: found in the image.
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

/// Finds the phantom, measures it, and writes what was asked for. Of JSON, fractions: 1 = 100 %.
pub fn run(options: &NemaOptions) -> CliResult {
    let files = Files::new().read([&options.image]).write("--report", &options.report).write("--rois", &options.rois);
    files.write_lines("--csv", &options.csv).check()?;
    let (volume, found) = read_volume(&options.image)?;
    notices::print(&found);
    let provenance = Provenance::read_beside(&options.image);
    if options.small_animal {
        small_animal(options, &volume, provenance.as_ref())
    } else {
        body(options, &volume, provenance.as_ref())
    }
}

/// Name of the image.
fn title(options: &NemaOptions) -> Cow<'_, str> {
    options.image.file_name().unwrap_or_default().to_string_lossy()
}

/// Full iterations in the image, as far as that is known.
fn iterations(provenance: Option<&Provenance>) -> usize {
    match provenance.and_then(|provenance| provenance.progress) {
        Some(Progress::Iterations { iteration, .. }) => iteration,
        _ => 0,
    }
}

/// Writes the table of measured numbers, where it is asked for.
fn write_csv(options: &NemaOptions, rows: &[Measurement]) -> CliResult {
    let Some(path) = &options.csv else { return Ok(()) };
    MeasurementWriter::create(path)?.write(rows)?;
    remark!("{}: the figures", path.display());
    Ok(())
}

/// Writes the regions of the template, where they are asked for.
fn write_rois(options: &NemaOptions, template: &[Roi]) -> CliResult {
    let Some(path) = &options.rois else { return Ok(()) };
    rois::write_rois(path, template)?;
    remark!("{}: the circles", path.display());
    Ok(())
}

/// Writes the report, where it is asked for.
fn write_report<A>(
    options: &NemaOptions,
    volume: &Volume,
    analysis: &A,
    provenance: Option<&Provenance>,
    pdf: fn(&NemaReport<A>) -> Result<Vec<u8>, PdfError>,
) -> CliResult {
    let Some(path) = &options.report else { return Ok(()) };
    let date = Timestamp::now().strftime("%Y-%m-%d %H:%M UTC").to_string();
    let report = NemaReport { title: &title(options), volume, analysis, provenance, date: &date };
    write_whole(path, &pdf(&report)?)?;
    remark!("{}: the report", path.display());
    Ok(())
}

/// NU 4.
fn small_animal(options: &NemaOptions, volume: &Volume, provenance: Option<&Provenance>) -> CliResult {
    let placement = nema_nu4::find(volume)?;
    let analysis = nema_nu4::analyse(volume, &placement)?;
    let title = title(options);
    if options.json {
        let all = json!({ "image": title, "unit": volume.unit.label(), "nema_nu_4": analysis, "provenance": provenance });
        out!("{}", serde_json::to_string_pretty(&all)?);
    } else {
        out!("{}", nema_nu4_table(&title, &analysis).to_string().trim_end());
    }
    write_csv(options, &nema_nu4_measurements(&analysis, volume.unit, iterations(provenance)))?;
    write_rois(options, &placement.rois())?;
    write_report(options, volume, &analysis, provenance, nema_nu4_pdf)
}

/// NU 2.
fn body(options: &NemaOptions, volume: &Volume, provenance: Option<&Provenance>) -> CliResult {
    let known =
        NemaKnown { centre_mm: options.centre_mm, ring_turn_rad: options.turn.map(f64::to_radians), order_mm: options.order };
    let placement = find(volume, &known)?;
    let analysis = analyse(volume, &placement, options.ratio)?;
    let title = title(options);
    if options.json {
        let all = json!({ "image": title, "unit": volume.unit.label(), "nema_nu_2": analysis, "provenance": provenance });
        out!("{}", serde_json::to_string_pretty(&all)?);
    } else {
        out!("{}", nema_table(&title, &analysis).to_string().trim_end());
    }
    write_csv(options, &nema_measurements(&analysis, volume.unit, iterations(provenance)))?;
    write_rois(options, &placement.rois(options.ratio))?;
    write_report(options, volume, &analysis, provenance, nema_pdf)
}
