//! Report of NEMA NU 2 image quality: as a table, as rows of measured numbers, and as a document of two pages, with further
//! ones for each standard of recovery coefficients.

use strum::VariantArray as _;

use super::drawing::Anchor;
use super::image_page::{
    ImageReport, SliceDrawing, colour, definitions, digits, framed, image_facts, measurement, percent, plot, table, tenths,
};
use super::page::{MARGIN, PAGE, Page, PdfError};
use super::pdf::pdf;
use super::plot::{Plot, Series};
use super::recovery::{recovery_page, settings_page};
use super::text_table::TextTable;
use crate::data::{RecoveryQuantity, Roi, RoiRole, Unit};
use crate::io::measurements::Measurement;
use crate::measure::nema::{JudgedRecovery, NemaAnalysis, SphereFigures};

/// Quantity of a sphere: title of its column; name as a measured number, none of the diameter; value; text; true if it is in the
/// unit of the image.
type Quantity = (&'static str, &'static str, fn(&SphereFigures) -> Option<f64>, fn(f64) -> String, bool);

const QUANTITIES: [Quantity; 7] = [
    ("diameter, mm", "", |sphere| Some(sphere.diameter_mm), |mm| mm.to_string(), false),
    ("mean", "mean", |sphere| Some(sphere.mean), digits, true),
    ("background", "background_mean", |sphere| Some(sphere.background_mean), digits, true),
    ("contrast, %", "contrast_recovery", |sphere| sphere.contrast, |part| percent(Some(part)), false),
    ("variability, %", "background_variability", |sphere| sphere.variability, |part| percent(Some(part)), false),
    ("voxel SD, %", "background_voxel_nsr", |sphere| sphere.voxel_noise, |part| percent(Some(part)), false),
    ("contrast / noise", "contrast_to_noise", |sphere| sphere.contrast_to_noise, |ratio| format!("{ratio:.2}"), false),
];
const DEFINITIONS: [&str; 6] = [
    "Contrast of hot spheres (mean / background − 1) / (ratio − 1), of cold ones 1 − mean / background; circles of the inner diameter.",
    "Background: mean of 60 circles of the sphere's size, twelve in each of the slices at 0, ±10 and ±20 mm.",
    "Variability: standard deviation (n − 1) of the means of those 60 circles over their mean.",
    "Voxel SD: standard deviation of all voxels in them over their mean. Both are the noise of this one image.",
    "Contrast / noise: (mean − background) over the SD of voxels, √((SD² in the sphere's circle + SD² in the 60 circles) / 2).",
    "Lung residual: mean in a circle of 30 mm in the insert over the mean of the slice's twelve background circles of 37 mm.",
];
/// Width and height of the displayed part of a slice about the middle of the body, mm.
const SHOWN_MM: [f64; 2] = [320.0, 250.0];
/// Scale of the slice, points per mm.
const POINTS_PER_MM: f64 = 0.95;
/// Title of the document.
const NAME: &str = "NEMA NU 2 image quality";

fn cells(sphere: &SphereFigures) -> [String; 7] {
    QUANTITIES.map(|(_, _, value, text, _)| value(sphere).map_or_else(|| "–".into(), text))
}

fn kind(sphere: &SphereFigures) -> &'static str {
    if sphere.is_hot { "hot" } else { "cold" }
}

fn ratio_text(analysis: &NemaAnalysis) -> String {
    match analysis.activity_ratio {
        Some(ratio) => format!("activity of hot spheres : background {ratio} : 1"),
        None => "activity of hot spheres : background not given, so that they have no contrast recovery".into(),
    }
}

fn lung_text(analysis: &NemaAnalysis) -> String {
    format!("Lung residual, mean of {} slices: {} %", analysis.lung.len(), percent(analysis.mean_lung_residual))
}

fn placement_text(analysis: &NemaAnalysis) -> String {
    let placement = &analysis.placement;
    let [x, y, z] = placement.centre_mm.map(tenths);
    format!(
        "spheres about ({x}, {y}, {z}) mm (slice {}), body turned by {}°, ring by {}°",
        analysis.slice,
        tenths(placement.body_turn_rad.to_degrees()),
        tenths(placement.ring_turn_rad.to_degrees())
    )
}

/// Describes the position of the circles.
fn circles_text(analysis: &NemaAnalysis) -> String {
    match analysis.placement.moved_mm {
        None => "Circles: where they were found.".into(),
        Some(mm) => format!(
            "Circles: those of the template as it was moved, by up to {} mm from where they are found; {} in the background.",
            tenths(mm),
            analysis.placement.background_mm.len()
        ),
    }
}

pub fn nema_table(title: &str, analysis: &NemaAnalysis) -> TextTable {
    let rows = analysis.spheres.iter().map(|sphere| [vec![kind(sphere).to_owned()], cells(sphere).to_vec()].concat());
    TextTable {
        title: format!("NEMA NU 2 image quality: {title}"),
        words: vec!["sphere".into()],
        groups: vec![(String::new(), QUANTITIES.map(|quantity| quantity.0.into()).to_vec())],
        rows: rows.collect(),
        remarks: vec![
            lung_text(analysis),
            format!("Found: {}.", placement_text(analysis)),
            circles_text(analysis),
            format!("Given: {}.", ratio_text(analysis)),
        ],
    }
}

/// Returns the table of the contrasts of several images, by their titles, all measured at the same places.
pub fn nema_contrasts(images: &[(String, NemaAnalysis)]) -> TextTable {
    let Some((_, first)) = images.first() else { return TextTable::default() };
    let row = |index: usize, sphere: &SphereFigures| {
        let contrasts = images.iter().map(|(_, analysis)| percent(analysis.spheres[index].contrast));
        [kind(sphere).to_owned(), sphere.diameter_mm.to_string()].into_iter().chain(contrasts).collect()
    };
    TextTable {
        title: "Contrast of the spheres, %".into(),
        words: vec!["sphere".into()],
        groups: vec![(
            String::new(),
            [vec![QUANTITIES[0].0.into()], images.iter().map(|(title, _)| title.clone()).collect()].concat(),
        )],
        rows: first.spheres.iter().enumerate().map(|(index, sphere)| row(index, sphere)).collect(),
        remarks: vec![
            DEFINITIONS[0].into(),
            format!("Places: those of the first image; {}.", placement_text(first)),
            format!("Given: {}.", ratio_text(first)),
        ],
    }
}

pub fn nema_measurements(analysis: &NemaAnalysis, unit: Unit, iteration: usize) -> Vec<Measurement> {
    let row = |roi: &str, quantity: &str, value: f64, unit: &str| measurement(iteration, roi, quantity, value, unit);
    let of_sphere = |sphere: &SphereFigures| {
        let name = format!("{} sphere {} mm", kind(sphere), sphere.diameter_mm);
        let measured = QUANTITIES.into_iter().filter(|(_, key, ..)| !key.is_empty());
        let known = measured.filter_map(|(_, key, value, _, has_unit)| Some((key, value(sphere)?, has_unit)));
        known.map(|(key, value, has_unit)| row(&name, key, value, if has_unit { unit.label() } else { "" })).collect::<Vec<_>>()
    };
    let lung =
        analysis.lung.iter().map(|slice| row(&format!("lung, z = {:.2} mm", slice.z_mm), "lung_residual", slice.residual, ""));
    let mean = analysis.mean_lung_residual.map(|mean| row("lung", "mean_lung_residual", mean, ""));
    let recovery = analysis.recovery.first().into_iter().flat_map(|judged| &judged.recovery.spheres).flat_map(|sphere| {
        let name = format!("hot sphere {} mm", sphere.diameter_mm);
        RecoveryQuantity::VARIANTS
            .iter()
            .filter_map(move |quantity| Some(row(&name, &format!("recovery_{}", quantity.key()), sphere.of(*quantity)?, "")))
    });
    analysis.spheres.iter().flat_map(of_sphere).chain(lung).chain(mean).chain(recovery).collect()
}

/// Returns the report as a PDF document (A4).
///
/// # Errors
/// Drawing a page failed.
pub fn nema_pdf(report: &ImageReport<NemaAnalysis>) -> Result<Vec<u8>, PdfError> {
    let recovery = &report.analysis.recovery;
    let with_settings = |judged: &&JudgedRecovery| !judged.settings.is_empty();
    let num_pages = 2 + recovery.len() + recovery.iter().filter(with_settings).count();
    let mut pages = vec![first_page(report, num_pages)?, second_page(report, num_pages)];
    let mut add = |draw: fn(&mut Page, &JudgedRecovery), judged: &JudgedRecovery| {
        let mut page = framed(report, NAME, [pages.len() + 1, num_pages]);
        draw(&mut page, judged);
        pages.push(page);
    };
    recovery.iter().for_each(|judged| add(recovery_page, judged));
    recovery.iter().filter(with_settings).for_each(|judged| add(settings_page, judged));
    pdf(&format!("{NAME}: {}", report.title), &pages)
}

/// Draws the values, the slice with its circles, and the plot over the diameters.
fn first_page(report: &ImageReport<NemaAnalysis>, num_pages: usize) -> Result<Page, PdfError> {
    let mut page = framed(report, NAME, [1, num_pages]);
    let analysis = report.analysis;
    page.heading(104.0, "Spheres");
    let lines = sphere_table(&mut page, 122.0, report);
    page.small(
        [MARGIN, lines + 14.0],
        Anchor::Start,
        &format!("Image in {}; {}.", report.volume.unit.label(), ratio_text(analysis)),
    );
    page.small([MARGIN, lines + 26.0], Anchor::Start, &circles_text(analysis));
    if let Some(text) = analysis.doubtful_ratio() {
        page.small([MARGIN, lines + 56.0], Anchor::Start, &format!("Warning: {text}"));
    }
    page.text([MARGIN, lines + 44.0], 10.0, Anchor::Start, &lung_text(analysis));
    let top = lines + 68.0;
    page.heading(top, &format!("Slice {} (z = {} mm)", analysis.slice, tenths(slice_z_mm(report))));
    slice(&mut page, [MARGIN, top + 12.0], report)?;
    let top = top + 12.0 + SHOWN_MM[1] * POINTS_PER_MM + 8.0;
    plot(&mut page, [top, PAGE[1] - MARGIN], over_diameters(analysis));
    Ok(page)
}

fn sphere_table(page: &mut Page, top: f64, report: &ImageReport<NemaAnalysis>) -> f64 {
    let step = (PAGE[0] - MARGIN - MARGIN - 40.0) / QUANTITIES.len() as f64;
    let columns = std::array::from_fn(|index| MARGIN + 40.0 + step * (index + 1) as f64);
    let rows = report.analysis.spheres.iter().map(|sphere| (kind(sphere).to_owned(), cells(sphere)));
    table(page, top, columns, QUANTITIES.map(|quantity| quantity.0), rows)
}

fn slice_z_mm(report: &ImageReport<NemaAnalysis>) -> f64 {
    report.volume.grid.mm_from_voxel([0.0, 0.0, (report.analysis.slice - 1) as f64])[2]
}

/// Draws the slice of the spheres with its circles and their legend.
fn slice(page: &mut Page, [left, top]: [f64; 2], report: &ImageReport<NemaAnalysis>) -> Result<(), PdfError> {
    let placement = &report.analysis.placement;
    let [x, y, z] = placement.centre_mm;
    let slice = report.analysis.slice - 1;
    let drawing = SliceDrawing { slice, middle_mm: [x, y], shown_mm: SHOWN_MM, points_per_mm: POINTS_PER_MM };
    // Circles that were moved along z may lie in another slice.
    let reach = 0.5 * report.volume.grid.voxel_mm[2];
    let rois: Vec<Roi> = placement.rois(None).into_iter().filter(|roi| (roi.centre_mm[2] - z).abs() <= reach).collect();
    let largest = drawing.draw(page, [left, top], report.volume, &rois)?;
    legend(page, [left + SHOWN_MM[0] * POINTS_PER_MM + 18.0, top], report, (&rois, largest));
    Ok(())
}

/// Draws the legend of the circles and the position of the phantom.
fn legend(page: &mut Page, [left, top]: [f64; 2], report: &ImageReport<NemaAnalysis>, (rois, largest): (&[Roi], f32)) {
    let roles = [
        (RoiRole::Hot, "hot sphere"),
        (RoiRole::Cold, "cold sphere"),
        (RoiRole::Background, "background, 37 mm"),
        (RoiRole::None, "lung insert, 30 mm"),
    ];
    let mut y = top + 14.0;
    for (role, words) in roles.into_iter().filter(|(role, _)| rois.iter().any(|roi| roi.role == *role)) {
        let (cx, cy, colour) = (left + 5.0, y - 3.0, colour(role));
        page.circle([cx, cy], 4.5, colour, 1.2);
        page.text([left + 16.0, y], 9.0, Anchor::Start, words);
        y += 16.0;
    }
    let placement = &report.analysis.placement;
    let [x, y_mm, z] = placement.centre_mm.map(tenths);
    for line in [
        format!("centre {x}, {y_mm}, {z} mm"),
        format!("body turned by {}°", tenths(placement.body_turn_rad.to_degrees())),
        format!("ring turned by {}°", tenths(placement.ring_turn_rad.to_degrees())),
        format!("grey: 0 to {} {}", digits(f64::from(largest)), report.volume.unit.label()),
        placement.moved_mm.map_or_else(String::new, |mm| format!("circles moved by up to {} mm", tenths(mm))),
    ] {
        y += 14.0;
        page.text([left, y], 9.0, Anchor::Start, &line);
    }
}

/// Returns the plot of contrast and noise over the diameters of the spheres.
fn over_diameters(analysis: &NemaAnalysis) -> Plot {
    let series = |name: &str, colour: usize, value: &dyn Fn(&SphereFigures) -> Option<f64>| {
        let points = analysis.spheres.iter().filter_map(|sphere| Some([sphere.diameter_mm, 100.0 * value(sphere)?]));
        Series::measured(name, colour, points.collect())
    };
    let lines = [
        series("contrast, hot", 4, &|sphere| sphere.contrast.filter(|_| sphere.is_hot)),
        series("contrast, cold", 2, &|sphere| sphere.contrast.filter(|_| !sphere.is_hot)),
        series("background variability", 5, &|sphere| sphere.variability),
    ];
    let x_ticks = analysis.spheres.iter().map(|sphere| (sphere.diameter_mm, sphere.diameter_mm.to_string())).collect();
    let titles = ["Contrast recovery and background variability", "inner diameter, mm", "%"];
    Plot::linear(titles, x_ticks, lines.into_iter().filter(|line| !line.points.is_empty()).collect())
}

/// Draws the lung insert slice by slice, the provenance of the image, and the definitions.
fn second_page(report: &ImageReport<NemaAnalysis>, num_pages: usize) -> Page {
    let mut page = framed(report, NAME, [2, num_pages]);
    let mut top = 104.0;
    page.heading(top, "Lung insert");
    if report.analysis.lung.is_empty() {
        page.text([MARGIN, top + 20.0], 10.0, Anchor::Start, "No lung insert was found.");
        top += 36.0;
    } else {
        top = lung(&mut page, top + 18.0, report.analysis);
    }
    top = image_facts(&mut page, top + 16.0, report);
    definitions(&mut page, top + 14.0, &DEFINITIONS);
    page
}

/// Draws the residuals slice by slice in columns and as a curve; returns the lower edge.
fn lung(page: &mut Page, top: f64, analysis: &NemaAnalysis) -> f64 {
    const NUM_COLUMNS: usize = 6;
    const LINE: f64 = 11.0;
    let num_rows = analysis.lung.len().div_ceil(NUM_COLUMNS);
    let step = (PAGE[0] - 2.0 * MARGIN) / NUM_COLUMNS as f64;
    for column in 0..NUM_COLUMNS {
        let left = MARGIN + step * column as f64;
        page.small([left + 30.0, top], Anchor::End, "z, mm");
        page.small([left + 78.0, top], Anchor::End, "residual, %");
    }
    for (index, slice) in analysis.lung.iter().enumerate() {
        let left = MARGIN + step * (index / num_rows) as f64;
        let y = top + LINE * (index % num_rows + 1) as f64;
        page.text([left + 30.0, y], 8.0, Anchor::End, &tenths(slice.z_mm));
        page.text([left + 78.0, y], 8.0, Anchor::End, &percent(Some(slice.residual)));
    }
    let top = top + LINE * (num_rows + 1) as f64;
    let points = analysis.lung.iter().map(|slice| [slice.z_mm, 100.0 * slice.residual]).collect();
    let lines = vec![Series::measured("lung residual", 6, points)];
    let curve = Plot::linear(["Lung residual", "z, mm", "%"], Vec::new(), lines);
    plot(page, [top, PAGE[1] - MARGIN], curve)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_quantities_of_a_sphere_have_their_digits() {
        let sphere = SphereFigures {
            diameter_mm: 10.0,
            is_hot: true,
            mean: 2.0,
            background_mean: 0.75,
            contrast: Some(0.5),
            variability: Some(0.0512),
            voxel_noise: None,
            contrast_to_noise: Some(12.345),
        };
        assert_eq!(cells(&sphere), ["10", "2.0000", "0.75000", "50.0", "5.1", "–", "12.35"]);
        let contrast = SphereFigures { contrast_to_noise: None, ..sphere };
        assert_eq!(cells(&contrast)[6], "–");
    }
}
