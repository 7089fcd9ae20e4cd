//! Report of NEMA NU 4 image quality: as a table, as rows of measured numbers, and as a document of one page.

use super::drawing::Anchor;
use super::image_page::{
    ImageReport, SliceDrawing, definitions, digits, framed, image_facts, measurement, percent, plot, table, tenths,
};
use super::page::{MARGIN, PAGE, Page, PdfError};
use super::pdf::pdf;
use super::plot::{Plot, Series};
use super::text_table::TextTable;
use crate::data::Unit;
use crate::data::nema_nu4::{CHAMBER_RADIUS_MM, ROD_DIAMETERS_MM};
use crate::data::{Roi, Volume};
use crate::io::measurements::Measurement;
use crate::measure::nema_nu4::{Nu4Analysis, Nu4Ratio};

/// Returns names, kinds and values of the ratios of rods and cold cylinders.
fn ratios(analysis: &Nu4Analysis) -> impl Iterator<Item = (String, &'static str, &Nu4Ratio)> {
    let rods =
        ROD_DIAMETERS_MM.iter().zip(&analysis.rods).map(|(diameter, ratio)| (format!("rod {diameter} mm"), "recovery", ratio));
    let cold = analysis.placement.cold_mm.iter().zip(&analysis.spill_over);
    rods.chain(cold.map(|([x, y], ratio)| (format!("cold at ({}, {}) mm", tenths(*x), tenths(*y)), "spill_over", ratio)))
}

fn uniform_text(analysis: &Nu4Analysis) -> String {
    let [low, high] = analysis.uniform_range.map(|value| digits(f64::from(value)));
    let (mean, sd) = (digits(analysis.uniform_mean), percent(analysis.uniform_sd));
    format!("Uniform part: mean {mean}, SD {sd} %, from {low} to {high}")
}

fn placement_text(analysis: &Nu4Analysis) -> Vec<String> {
    let [x, y] = analysis.placement.axis_mm.map(tenths);
    let [rods, cold] = analysis.placement.chamber_z_mm.map(tenths);
    let found = format!("Found: axis at ({x}, {y}) mm, chamber from z = {rods} mm (rods) to {cold} mm (cold cylinders).");
    let moved = analysis.placement.moved_mm;
    let moved = moved
        .map(|mm| format!("Axes: those of the template as it was moved, by up to {} mm from where they are found.", tenths(mm)));
    std::iter::once(found).chain(moved).collect()
}

pub fn nema_nu4_table(title: &str, analysis: &Nu4Analysis) -> TextTable {
    let rows = ratios(analysis).map(|(name, quantity, ratio)| {
        vec![name, quantity.replace('_', "-"), format!("{:.3}", ratio.ratio), percent(ratio.relative_sd)]
    });
    TextTable {
        title: format!("NEMA NU 4 image quality: {title}"),
        words: vec!["where".into(), "what".into()],
        groups: vec![(String::new(), vec!["ratio".into(), "SD, %".into()])],
        rows: rows.collect(),
        remarks: [uniform_text(analysis)].into_iter().chain(placement_text(analysis)).collect(),
    }
}

pub fn nema_nu4_measurements(analysis: &Nu4Analysis, unit: Unit, iteration: usize) -> Vec<Measurement> {
    let row = |roi: &str, quantity: &str, value: Option<f64>, unit: &str| {
        value.map(|value| measurement(iteration, roi, quantity, value, unit))
    };
    let [low, high] = analysis.uniform_range.map(|value| Some(f64::from(value)));
    let label = unit.label();
    let uniform = [
        row("uniform", "mean", Some(analysis.uniform_mean), label),
        row("uniform", "nsr", analysis.uniform_sd, ""),
        row("uniform", "min", low, label),
        row("uniform", "max", high, label),
    ];
    let others = ratios(analysis).flat_map(|(name, quantity, ratio)| {
        [row(&name, quantity, Some(ratio.ratio), ""), row(&name, &format!("{quantity}_relative_sd"), ratio.relative_sd, "")]
    });
    uniform.into_iter().chain(others).flatten().collect()
}

/// Title of the document.
const NAME: &str = "NEMA NU 4 image quality";
const DEFINITIONS: [&str; 5] = [
    "Uniformity: mean, standard deviation over the mean, smallest and largest voxel of a cylinder of 22.5 mm × 10 mm in the uniform part.",
    "Recovery: mean along a rod over the uniform mean, along the 10 mm in its middle through the pixel that is largest in the mean over them",
    "within twice the rod's diameter.",
    "Spill-over: mean of a cylinder of 4 mm × 7.5 mm in a cold cylinder over the uniform mean.",
    "SD of a ratio: √((SD / mean)² + (SD / mean of the uniform part)²).",
];
/// Width and height of the displayed part of a slice, mm.
const SHOWN_MM: f64 = 2.0 * CHAMBER_RADIUS_MM + 6.0;
/// Lower edge of the plot, points.
const PLOT_BOTTOM: f64 = 650.0;
/// Width of a slice on the page, points.
const SLICE_WIDTH: f64 = 160.0;

/// Returns the report as a PDF document (A4).
///
/// # Errors
/// Drawing the page failed.
pub fn nema_nu4_pdf(report: &ImageReport<Nu4Analysis>) -> Result<Vec<u8>, PdfError> {
    let mut page = framed(report, NAME, [1, 1]);
    page.heading(104.0, "Recovery and spill-over");
    let mut top = ratio_table(&mut page, 122.0, report.analysis);
    let unit = format!("Image in {}.", report.volume.unit.label());
    page.text([MARGIN, top + 16.0], 10.0, Anchor::Start, &uniform_text(report.analysis));
    top += 30.0;
    for line in placement_text(report.analysis).iter().chain([&unit]) {
        page.small([MARGIN, top], Anchor::Start, line);
        top += 12.0;
    }
    top = slices(&mut page, top + 14.0, report)?;
    top = plot(&mut page, [top + 10.0, PLOT_BOTTOM], over_diameters(report.analysis));
    top = image_facts(&mut page, top + 16.0, report);
    definitions(&mut page, top + 12.0, &DEFINITIONS);
    pdf(&format!("{NAME}: {}", report.title), &[page])
}

/// Draws the table of the ratios with their standard deviations; returns the lower edge.
fn ratio_table(page: &mut Page, top: f64, analysis: &Nu4Analysis) -> f64 {
    let rows = ratios(analysis).map(|(name, quantity, ratio)| {
        (name, [quantity.replace('_', "-"), format!("{:.3}", ratio.ratio), percent(ratio.relative_sd)])
    });
    table(page, top, [200.0, 300.0, 380.0].map(|x| MARGIN + x), ["what", "ratio", "SD, %"], rows)
}

/// Draws the middle slices of the uniform part, the cold part and the rods with their regions; returns the lower edge.
fn slices(page: &mut Page, top: f64, report: &ImageReport<Nu4Analysis>) -> Result<f64, PdfError> {
    let placement = &report.analysis.placement;
    let volume: &Volume = report.volume;
    let rois = placement.rois();
    let step = (PAGE[0] - 2.0 * MARGIN - SLICE_WIDTH) / 2.0;
    let parts = placement.middles_mm().into_iter().zip(["Uniform part", "Cold cylinders", "Rods"]).enumerate();
    for (index, (z_mm, name)) in parts {
        let left = MARGIN + step * index as f64;
        page.text([left, top], 10.0, Anchor::Start, &format!("{name}, z = {} mm", tenths(z_mm)));
        let slice = volume.grid.voxel_from_mm([0.0, 0.0, z_mm])[2].round().max(0.0) as usize;
        let points_per_mm = SLICE_WIDTH / SHOWN_MM;
        let drawing = SliceDrawing { slice, middle_mm: placement.axis_mm, shown_mm: [SHOWN_MM; 2], points_per_mm };
        let here: Vec<Roi> = rois.iter().filter(|roi| (roi.centre_mm[2] - z_mm).abs() < 1e-6).cloned().collect();
        drawing.draw(page, [left, top + 6.0], volume, &here)?;
    }
    Ok(top + 6.0 + SLICE_WIDTH)
}

/// Returns the plot of the recovery over the diameters of the rods.
fn over_diameters(analysis: &Nu4Analysis) -> Plot {
    let points = ROD_DIAMETERS_MM.iter().zip(&analysis.rods).map(|(diameter, rod)| [*diameter, rod.ratio]).collect();
    let x_ticks = ROD_DIAMETERS_MM.iter().map(|diameter| (*diameter, diameter.to_string())).collect();
    Plot::linear(["Recovery of the rods", "diameter, mm", "recovery"], x_ticks, vec![Series::measured("recovery", 4, points)])
}
