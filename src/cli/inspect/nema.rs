//! `tomoscope nema IMAGE`: NEMA image quality of any image of the body phantom (NU 2) or of the small-animal phantom (NU 4).

use std::path::PathBuf;

use clap::Args;
use jiff::Timestamp;
use serde::Serialize;
use serde_json::json;

use crate::cli::shared::console::{out, remark};
use crate::cli::shared::error::{CliResult, Done};
use crate::cli::shared::notices;
use crate::cli::shared::options::triple;
use crate::cli::shared::outputs::Files;
use crate::cli::shared::paths::{file_of, report_file};
use crate::cli::shared::standards::{is_file, standard};
use crate::data::nema::SPHERE_DIAMETERS_MM;
use crate::data::{Notice, Roi, Unit, Volume, validate_activity_ratio};
use crate::io::formats::Content;
use crate::io::measurements::{Measurement, MeasurementWriter};
use crate::io::{read_volume, rois, write_whole};
use crate::measure::nema::{NemaKnown, analyse, find};
use crate::measure::nema_nu4;
use crate::plan::{Progress, Provenance};
use crate::report::{
    ImageReport, PdfError, TextTable, nema_contrasts, nema_measurements, nema_nu4_measurements, nema_nu4_pdf, nema_nu4_table,
    nema_pdf, nema_table, recovery_table,
};

/// Options of `tomoscope nema`.
#[derive(Args)]
pub struct NemaOptions {
    /// Image of the phantom ({read images}).
    #[arg(value_parser = file_of(Content::Image))]
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

    /// Compare the recovery of the hot spheres with a standard: earl-18f-1, or a file with the bands (.toml); repeatable.
    #[arg(long = "standard", value_name = "NAME|FILE", requires = "ratio", conflicts_with = "small_animal")]
    standards: Vec<String>,

    /// Print the contrasts of other images, too, measured at the places of the first image; repeatable.
    ///
    /// For example the images without and with a resolution model, and the true image.
    #[arg(long, value_name = "IMAGE", value_parser = file_of(Content::Image), conflicts_with_all = ["small_animal", "json"])]
    compare: Vec<PathBuf>,

    /// Write a report (.pdf).
    #[arg(long, value_name = "OUT.pdf", value_parser = report_file)]
    report: Option<PathBuf>,

    /// Write the figures as measured numbers (CSV).
    #[arg(long, value_name = "OUT.csv")]
    csv: Option<PathBuf>,

    /// Write the circles as regions of interest (.toml).
    #[arg(long, value_name = "OUT.toml", value_parser = file_of(Content::Rois))]
    rois: Option<PathBuf>,

    /// Print the figures as JSON, for scripts.
    #[arg(long)]
    json: bool,

    /// Write no names of files and no dates of the image.
    #[arg(long)]
    anonymise: bool,

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
    validate_activity_ratio(ratio).map_err(|error| error.to_string())
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

/// Finds the phantom, measures it, and presents the figures.
pub fn run(options: &NemaOptions) -> CliResult<Done> {
    let files = Files::new()
        .read([&options.image])
        .read(&options.compare)
        .read(&options.standards.iter().filter(|word| is_file(word)).map(PathBuf::from).collect::<Vec<_>>())
        .write("--report", &options.report)
        .write("--rois", &options.rois);
    files.write_lines("--csv", &options.csv).check()?;
    let standards = options.standards.iter().map(|word| standard(word)).collect::<CliResult<Vec<_>>>()?;
    let volume = notices::printed(read_volume(&options.image)?);
    if options.small_animal {
        let placement = nema_nu4::find(&volume)?;
        let analysis = nema_nu4::analyse(&volume, &placement)?;
        let forms: Forms<_> = (nema_nu4_table, nema_nu4_measurements, nema_nu4_pdf);
        return present(options, &volume, ("nema_nu_4", &analysis), &placement.rois(), forms);
    }
    let ring_turn_rad = options.turn.map(f64::to_radians);
    let placement = find(&volume, &NemaKnown { centre_mm: options.centre_mm, ring_turn_rad, order_mm: options.order })?;
    let analysis = analyse(&volume, &placement, options.ratio)?;
    notices::print(analysis.doubtful_ratio().map(Notice::warning).as_slice());
    let analysis = if standards.is_empty() { analysis } else { analysis.judged(&volume, &standards)? };
    let forms: Forms<_> = (nema_table, nema_measurements, nema_pdf);
    let done = present(options, &volume, ("nema_nu_2", &analysis), &placement.rois(options.ratio), forms)?;
    let title = |number: usize, path: &PathBuf| match options.anonymise {
        true => format!("image {number}"),
        false => path.file_name().unwrap_or_default().to_string_lossy().into_owned(),
    };
    for judged in analysis.recovery.iter().filter(|_| !options.json) {
        let table = recovery_table(&title(1, &options.image), &judged.recovery, &judged.standard);
        out!("\n{}", table.to_string().trim_end());
    }
    if options.compare.is_empty() {
        return Ok(done);
    }
    let mut images = vec![(title(1, &options.image), analysis)];
    for (number, path) in (2..).zip(&options.compare) {
        let volume = notices::printed(read_volume(path)?);
        images.push((title(number, path), analyse(&volume, &placement, options.ratio)?));
    }
    out!("\n{}", nema_contrasts(&images).to_string().trim_end());
    Ok(done)
}

/// Functions that make the text, the measured numbers and the report of an analysis.
type Forms<A> =
    (fn(&str, &A) -> TextTable, fn(&A, Unit, usize) -> Vec<Measurement>, fn(&ImageReport<A>) -> Result<Vec<u8>, PdfError>);

/// Prints an analysis, and writes the requested files. Fractions in JSON: 1 = 100 %. Returns whether all its figures are finite.
fn present<A: Serialize>(
    options: &NemaOptions,
    volume: &Volume,
    (key, analysis): (&str, &A),
    template: &[Roi],
    (table, measurements, pdf): Forms<A>,
) -> CliResult<Done> {
    let mut provenance = Provenance::read_beside(&options.image);
    let mut title = options.image.file_name().unwrap_or_default().to_string_lossy();
    if options.anonymise {
        (provenance, title) = (provenance.map(Provenance::anonymised), "anonymous image".into());
    }
    if options.json {
        let all = json!({ "image": title, "unit": volume.unit.label(), key: analysis, "provenance": provenance });
        out!("{}", serde_json::to_string_pretty(&all)?);
    } else {
        let mut table = table(&title, analysis);
        table.remarks.extend(provenance.as_ref().and_then(Provenance::remark_on_edges));
        out!("{}", table.to_string().trim_end());
    }
    let iteration = match provenance.as_ref().and_then(|provenance| provenance.progress) {
        Some(Progress::Iterations { iteration, .. }) => iteration,
        _ => 0,
    };
    let rows = measurements(analysis, volume.unit, iteration);
    if let Some(path) = &options.csv {
        MeasurementWriter::create(path)?.write(&rows)?;
        remark!("{}: the figures", path.display());
    }
    if let Some(path) = &options.rois {
        rois::write_rois(path, template)?;
        remark!("{}: the circles", path.display());
    }
    if let Some(path) = &options.report {
        let date = Timestamp::now().strftime("%Y-%m-%d %H:%M UTC").to_string();
        let report = ImageReport { title: &title, volume, analysis, provenance: provenance.as_ref(), date: &date };
        write_whole(path, &pdf(&report)?)?;
        remark!("{}: the report", path.display());
    }
    let not_finite = rows.iter().filter(|row| !row.value.is_finite());
    Ok(notices::done_of_numbers(not_finite.map(|row| row.quantity.as_str())))
}
