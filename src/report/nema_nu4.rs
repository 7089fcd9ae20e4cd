//! The report of NEMA NU 4 image quality: figures as a table, as rows of measured numbers, and as a document of one page.

use super::nema_page::{NemaReport, SliceDrawing, definitions, digits, framed, image_facts, percent, plot, tenths};
use super::page::{Anchor, MARGIN, PAGE, Page, PdfError, pdf};
use super::plot::{Axes, Plot, Series};
use super::text_table::TextTable;
use crate::data::Unit;
use crate::data::nema_nu4::{CHAMBER_RADIUS_MM, ROD_DIAMETERS_MM};
use crate::data::{Roi, Volume};
use crate::io::measurements::Measurement;
use crate::measure::nema_nu4::{Nu4Analysis, Nu4Ratio};

/// The rods and the cold cylinders by name, with their ratios and how these are called.
fn ratios(analysis: &Nu4Analysis) -> impl Iterator<Item = (String, &'static str, &Nu4Ratio)> {
    let rods =
        ROD_DIAMETERS_MM.iter().zip(&analysis.rods).map(|(diameter, ratio)| (format!("rod {diameter} mm"), "recovery", ratio));
    let cold = analysis.placement.cold_mm.iter().zip(&analysis.spill_over);
    rods.chain(cold.map(|([x, y], ratio)| (format!("cold at ({}, {}) mm", tenths(*x), tenths(*y)), "spill_over", ratio)))
}

/// The uniform part, in words.
fn uniform_words(analysis: &Nu4Analysis) -> String {
    let [low, high] = analysis.uniform_range.map(|value| digits(f64::from(value)));
    let (mean, sd) = (digits(analysis.uniform_mean), percent(analysis.uniform_sd));
    format!("Uniform part: mean {mean}, SD {sd} %, from {low} to {high}")
}

/// Where the phantom lies, in words.
fn placement_words(analysis: &Nu4Analysis) -> Vec<String> {
    let [x, y] = analysis.placement.axis_mm.map(tenths);
    let [rods, cold] = analysis.placement.chamber_z_mm.map(tenths);
    let found = format!("Found: axis at ({x}, {y}) mm, chamber from z = {rods} mm (rods) to {cold} mm (cold cylinders).");
    let moved = analysis.placement.moved_mm;
    let moved = moved
        .map(|mm| format!("Axes: those of the template as it was moved, by up to {} mm from where they are found.", tenths(mm)));
    std::iter::once(found).chain(moved).collect()
}

/// The figures as a table of text.
pub fn nema_nu4_table(title: &str, analysis: &Nu4Analysis) -> TextTable {
    let rows = ratios(analysis).map(|(name, quantity, ratio)| {
        vec![name, quantity.replace('_', "-"), format!("{:.3}", ratio.ratio), percent(ratio.relative_sd)]
    });
    TextTable {
        title: format!("NEMA NU 4 image quality: {title}"),
        words: vec!["where".into(), "what".into()],
        groups: vec![(String::new(), vec!["ratio".into(), "SD, %".into()])],
        rows: rows.collect(),
        remarks: [uniform_words(analysis)].into_iter().chain(placement_words(analysis)).collect(),
    }
}

/// The figures as rows of measured numbers of an image with so many iterations.
pub fn nema_nu4_measurements(analysis: &Nu4Analysis, unit: Unit, iteration: usize) -> Vec<Measurement> {
    let row = |roi: &str, quantity: &str, value: Option<f64>, unit: &str| {
        let (roi, quantity, unit) = (roi.to_owned(), quantity.to_owned(), unit.to_owned());
        value.map(|value| Measurement { run: 1, iteration, subset: 0, roi, quantity, value, unit })
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

/// What the document is called.
const NAME: &str = "NEMA NU 4 image quality";
/// What the figures are.
const DEFINITIONS: [&str; 5] = [
    "Uniformity: mean, standard deviation over the mean, smallest and largest voxel of a cylinder of 22.5 mm × 10 mm in the uniform part.",
    "Recovery: mean along a rod over the uniform mean, along the 10 mm in its middle through the pixel that is largest in the mean over them",
    "within twice the rod's diameter.",
    "Spill-over: mean of a cylinder of 4 mm × 7.5 mm in a cold cylinder over the uniform mean.",
    "SD of a ratio: √((SD / mean)² + (SD / mean of the uniform part)²).",
];
/// Width and height of what is shown of a slice, mm.
const SHOWN_MM: f64 = 2.0 * CHAMBER_RADIUS_MM + 6.0;
/// Where the plot ends, points.
const PLOT_BOTTOM: f64 = 650.0;
/// Width of a slice on the page, points.
const SLICE_WIDTH: f64 = 160.0;

/// The report as a PDF document (A4).
///
/// # Errors
/// The page cannot be drawn.
pub fn nema_nu4_pdf(report: &NemaReport<Nu4Analysis>) -> Result<Vec<u8>, PdfError> {
    let mut page = framed(report, NAME, [1, 1]);
    page.heading(104.0, "Recovery and spill-over");
    let mut top = table(&mut page, 122.0, report.analysis);
    let unit = format!("Image in {}.", report.volume.unit.label());
    page.text([MARGIN, top + 16.0], 10.0, Anchor::Start, &uniform_words(report.analysis));
    top += 30.0;
    for line in placement_words(report.analysis).iter().chain([&unit]) {
        page.small([MARGIN, top], Anchor::Start, line);
        top += 12.0;
    }
    top = slices(&mut page, top + 14.0, report)?;
    top = plot(&mut page, [top + 10.0, PLOT_BOTTOM], over_diameters(report.analysis));
    top = image_facts(&mut page, top + 16.0, report);
    definitions(&mut page, top + 12.0, &DEFINITIONS);
    pdf(&format!("{NAME}: {}", report.title), &[page])
}

/// The ratios with their standard deviations; where the table ends.
fn table(page: &mut Page, top: f64, analysis: &Nu4Analysis) -> f64 {
    let right = PAGE[0] - MARGIN;
    let columns = [MARGIN + 200.0, MARGIN + 300.0, MARGIN + 380.0];
    for (at, title) in columns.into_iter().zip(["what", "ratio", "SD, %"]) {
        page.text([at, top], 9.0, Anchor::End, title);
    }
    page.rule(top + 4.0, [MARGIN, right], 0.5);
    let mut y = top;
    for (name, quantity, ratio) in ratios(analysis) {
        y += 15.0;
        page.text([MARGIN, y], 10.0, Anchor::Start, &name);
        let cells = [quantity.replace('_', "-"), format!("{:.3}", ratio.ratio), percent(ratio.relative_sd)];
        for (at, cell) in columns.into_iter().zip(cells) {
            page.text([at, y], 10.0, Anchor::End, &cell);
        }
    }
    page.rule(y + 5.0, [MARGIN, right], 0.5);
    y + 5.0
}

/// The slices in the middle of the uniform part, the cold part and the rods, with what is measured there; where they end.
fn slices(page: &mut Page, top: f64, report: &NemaReport<Nu4Analysis>) -> Result<f64, PdfError> {
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

/// Recovery over the rods' diameters.
fn over_diameters(analysis: &Nu4Analysis) -> Plot {
    let points = ROD_DIAMETERS_MM.iter().zip(&analysis.rods).map(|(diameter, rod)| [*diameter, rod.ratio]).collect();
    Plot {
        axes: Axes::Linear,
        title: "Recovery of the rods".into(),
        x_title: "diameter, mm".into(),
        y_title: "recovery".into(),
        x_ticks: ROD_DIAMETERS_MM.iter().map(|diameter| (*diameter, diameter.to_string())).collect(),
        lines: vec![Series { name: "recovery".into(), colour: 4, is_published: false, points }],
    }
}
