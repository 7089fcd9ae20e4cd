//! The report of NEMA NU 2 image quality: figures as a table, as rows of measured numbers, and as a document of two pages.

use base64::Engine as _;
use image::{DynamicImage, GrayImage};

use super::page::{Anchor, MARGIN, PAGE, Page, PdfError, pdf};
use super::plot::{Axes, PLOT_SIZE, Plot, Series};
use super::text_table::TextTable;
use crate::data::{Roi, RoiRole, RoiShape, Unit, Volume};
use crate::io::measurements::Measurement;
use crate::measure::nema::{NemaAnalysis, SphereFigures};
use crate::plan::Provenance;

/// What a report is about.
pub struct NemaReport<'a> {
    /// Name of the image.
    pub title: &'a str,
    /// The image.
    pub volume: &'a Volume,
    /// What was measured in it.
    pub analysis: &'a NemaAnalysis,
    /// What made the image, where that is known.
    pub provenance: Option<&'a Provenance>,
    /// Day and time, in words.
    pub date: &'a str,
}

/// How columns of figures are called, in the table and in the document.
const COLUMNS: [&str; 7] =
    ["diameter, mm", "mean", "background", "contrast, %", "variability, %", "voxel SD, %", "contrast / noise"];
/// What the figures are.
const DEFINITIONS: [&str; 5] = [
    "Contrast of hot spheres (mean / background − 1) / (ratio − 1), of cold ones 1 − mean / background; circles of the inner diameter.",
    "Background: mean of 60 circles of the sphere's size, twelve in each of the slices at 0, ±10 and ±20 mm.",
    "Variability: standard deviation (n − 1) of the means of those 60 circles over their mean.",
    "Voxel SD: standard deviation of all voxels in them over their mean. Both are the noise of this one image.",
    "Lung residual: mean in a circle of 30 mm in the insert over the mean of the slice's twelve background circles of 37 mm.",
];
/// Places of the slice's drawing on the page, points for a mm.
const POINTS_PER_MM: f64 = 0.95;
/// What of the slice is shown about the middle of the body: half its width, and how far up and down, mm.
const SHOWN_MM: [f64; 3] = [160.0, 125.0, 125.0];

/// A fraction as %.
pub(super) fn percent(value: Option<f64>) -> String {
    value.map_or_else(|| "–".into(), |value| format!("{:.1}", 100.0 * value))
}

/// A value with one digit after the point, and without a sign where that leaves nothing of it.
pub(super) fn tenths(value: f64) -> String {
    format!("{:.1}", (10.0 * value).round() / 10.0 + 0.0)
}

/// A value with five digits, in whatever unit.
pub(super) fn digits(value: f64) -> String {
    let before = if value == 0.0 { 0.0 } else { value.abs().log10().floor() };
    format!("{value:.*}", (4.0 - before).clamp(0.0, 12.0) as usize)
}

fn cells(sphere: &SphereFigures) -> [String; 7] {
    [
        sphere.diameter_mm.to_string(),
        digits(sphere.mean),
        digits(sphere.background_mean),
        percent(sphere.contrast),
        percent(sphere.variability),
        percent(sphere.voxel_noise),
        sphere.contrast_to_noise.map_or_else(|| "–".into(), |value| format!("{value:.2}")),
    ]
}

fn kind(sphere: &SphereFigures) -> &'static str {
    if sphere.is_hot { "hot" } else { "cold" }
}

/// What the ratio of activities was, in words.
fn ratio_words(analysis: &NemaAnalysis) -> String {
    match analysis.activity_ratio {
        Some(ratio) => format!("activity of hot spheres : background {ratio} : 1"),
        None => "activity of hot spheres : background not given, so that they have no contrast recovery".into(),
    }
}

/// Where the phantom was found, in words.
fn placement_words(analysis: &NemaAnalysis) -> String {
    let placement = &analysis.placement;
    let [x, y, z] = placement.centre_mm.map(tenths);
    format!(
        "spheres about ({x}, {y}, {z}) mm (slice {}), body turned by {}°, ring by {}°",
        analysis.slice,
        tenths(placement.body_turn_rad.to_degrees()),
        tenths(placement.ring_turn_rad.to_degrees())
    )
}

/// The figures as a table of text.
pub fn nema_table(title: &str, analysis: &NemaAnalysis) -> TextTable {
    let rows = analysis.spheres.iter().map(|sphere| [vec![kind(sphere).to_owned()], cells(sphere).to_vec()].concat());
    TextTable {
        title: format!("NEMA NU 2 image quality: {title}"),
        words: vec!["sphere".into()],
        groups: vec![(String::new(), COLUMNS.map(String::from).to_vec())],
        rows: rows.collect(),
        remarks: vec![
            format!("Lung residual, mean of {} slices: {} %", analysis.lung.len(), percent(analysis.mean_lung_residual)),
            format!("Found: {}.", placement_words(analysis)),
            format!("Given: {}.", ratio_words(analysis)),
        ],
    }
}

/// The figures as rows of measured numbers of an image with so many iterations.
pub fn nema_measurements(analysis: &NemaAnalysis, unit: Unit, iteration: usize) -> Vec<Measurement> {
    let row = |roi: String, quantity: &str, value: f64, unit: &str| Measurement {
        run: 1,
        iteration,
        subset: 0,
        roi,
        quantity: quantity.into(),
        value,
        unit: unit.into(),
    };
    let of_sphere = |sphere: &SphereFigures| {
        let figures = [
            ("mean", Some(sphere.mean), unit.label()),
            ("background_mean", Some(sphere.background_mean), unit.label()),
            ("contrast_recovery", sphere.contrast, ""),
            ("background_variability", sphere.variability, ""),
            ("background_voxel_nsr", sphere.voxel_noise, ""),
            ("contrast_to_noise", sphere.contrast_to_noise, ""),
        ];
        let name = format!("{} sphere {} mm", kind(sphere), sphere.diameter_mm);
        figures.into_iter().filter_map(move |(quantity, value, unit)| Some(row(name.clone(), quantity, value?, unit)))
    };
    let lung =
        analysis.lung.iter().map(|slice| row(format!("lung, z = {:.2} mm", slice.z_mm), "lung_residual", slice.residual, ""));
    let mean = analysis.mean_lung_residual.map(|mean| row("lung".into(), "mean_lung_residual", mean, ""));
    analysis.spheres.iter().flat_map(of_sphere).chain(lung).chain(mean).collect()
}

/// The report as a PDF document (A4).
///
/// # Errors
/// A page cannot be drawn.
pub fn nema_pdf(report: &NemaReport) -> Result<Vec<u8>, PdfError> {
    pdf(&format!("NEMA NU 2 image quality: {}", report.title), &[first_page(report)?, second_page(report)])
}

/// Title at the top, number and program at the bottom.
fn framed(report: &NemaReport, number: usize) -> Page {
    let mut page = Page::default();
    let right = PAGE[0] - MARGIN;
    page.text([MARGIN, 56.0], 19.0, Anchor::Start, "NEMA NU 2 image quality");
    page.text([MARGIN, 74.0], 11.0, Anchor::Start, report.title);
    page.small([right, 56.0], Anchor::End, report.date);
    page.rule(82.0, [MARGIN, right], 1.5);
    let bottom = PAGE[1] - 26.0;
    page.small(
        [MARGIN, bottom],
        Anchor::Start,
        concat!("tomoscope ", env!("CARGO_PKG_VERSION"), ": not a medical device; for research and quality assurance"),
    );
    page.small([right, bottom], Anchor::End, &format!("page {number} of 2"));
    page
}

/// Figures, the slice with its circles, and what they are over the diameters.
fn first_page(report: &NemaReport) -> Result<Page, PdfError> {
    let mut page = framed(report, 1);
    let analysis = report.analysis;
    page.heading(104.0, "Spheres");
    let lines = table(&mut page, 122.0, report);
    page.small(
        [MARGIN, lines + 14.0],
        Anchor::Start,
        &format!("Image in {}; {}.", report.volume.unit.label(), ratio_words(analysis)),
    );
    let residual = format!("Lung residual, mean of {} slices: {} %", analysis.lung.len(), percent(analysis.mean_lung_residual));
    page.text([MARGIN, lines + 32.0], 10.0, Anchor::Start, &residual);
    let top = lines + 56.0;
    page.heading(top, &format!("Slice {} (z = {} mm)", analysis.slice, tenths(slice_z_mm(report))));
    slice(&mut page, [MARGIN, top + 12.0], report)?;
    let top = top + 12.0 + (SHOWN_MM[1] + SHOWN_MM[2]) * POINTS_PER_MM + 8.0;
    plot(&mut page, top, over_diameters(analysis));
    Ok(page)
}

fn table(page: &mut Page, top: f64, report: &NemaReport) -> f64 {
    let right = PAGE[0] - MARGIN;
    let step = (right - MARGIN - 40.0) / COLUMNS.len() as f64;
    let column = |index: usize| MARGIN + 40.0 + step * (index + 1) as f64;
    for (index, title) in COLUMNS.into_iter().enumerate() {
        page.text([column(index), top], 9.0, Anchor::End, title);
    }
    page.rule(top + 4.0, [MARGIN, right], 0.5);
    let mut y = top;
    for sphere in &report.analysis.spheres {
        y += 15.0;
        page.text([MARGIN, y], 10.0, Anchor::Start, kind(sphere));
        for (index, cell) in cells(sphere).into_iter().enumerate() {
            page.text([column(index), y], 10.0, Anchor::End, &cell);
        }
    }
    page.rule(y + 5.0, [MARGIN, right], 0.5);
    y + 5.0
}

fn slice_z_mm(report: &NemaReport) -> f64 {
    report.volume.grid.mm_from_voxel([0.0, 0.0, report.analysis.slice as f64])[2]
}

/// The spheres' slice, inverted grey from 0 to its largest value, with the circles of its regions.
fn slice(page: &mut Page, [left, top]: [f64; 2], report: &NemaReport) -> Result<(), PdfError> {
    let (grid, placement) = (&report.volume.grid, &report.analysis.placement);
    let [half, up, down] = SHOWN_MM;
    let [x, y, _] = placement.centre_mm;
    let point = |[at_x, at_y]: [f64; 2]| [left + (at_x - x + half) * POINTS_PER_MM, top + (at_y - y + up) * POINTS_PER_MM];
    let size = [2.0 * half, up + down].map(|mm| mm * POINTS_PER_MM);
    let data = base64::engine::general_purpose::STANDARD.encode(png(report)?);
    let [image_left, image_top] = point([grid.extent_mm(0)[0], grid.extent_mm(1)[0]]);
    let [width, height] = [0, 1].map(|axis| grid.size[axis] as f64 * grid.voxel_mm[axis] * POINTS_PER_MM);
    page.put(&format!(
        r#"<clipPath id="slice"><rect x="{left}" y="{top:.1}" width="{:.1}" height="{:.1}"/></clipPath><g clip-path="url(#slice)"><image x="{image_left:.2}" y="{image_top:.2}" width="{width:.2}" height="{height:.2}" preserveAspectRatio="none" image-rendering="pixelated" href="data:image/png;base64,{data}"/></g>"#,
        size[0], size[1]
    ));
    let rois: Vec<Roi> = placement.rois(None).into_iter().filter(|roi| roi.centre_mm[2] == placement.centre_mm[2]).collect();
    for roi in &rois {
        circle(page, point([roi.centre_mm[0], roi.centre_mm[1]]), roi);
    }
    legend(page, [left + size[0] + 18.0, top], report, &rois);
    Ok(())
}

/// What the circles are, and where the phantom was found.
fn legend(page: &mut Page, [left, top]: [f64; 2], report: &NemaReport, rois: &[Roi]) {
    let roles = [
        (RoiRole::Hot, "hot sphere"),
        (RoiRole::Cold, "cold sphere"),
        (RoiRole::Background, "background, 37 mm"),
        (RoiRole::None, "lung insert, 30 mm"),
    ];
    let mut y = top + 14.0;
    for (role, words) in roles.into_iter().filter(|(role, _)| rois.iter().any(|roi| roi.role == *role)) {
        let (cx, cy, colour) = (left + 5.0, y - 3.0, colour(role));
        page.put(&format!(r#"<circle cx="{cx:.1}" cy="{cy:.1}" r="4.5" fill="none" stroke="{colour}" stroke-width="1.2"/>"#));
        page.text([left + 16.0, y], 9.0, Anchor::Start, words);
        y += 16.0;
    }
    let placement = &report.analysis.placement;
    let [x, y_mm, z] = placement.centre_mm.map(tenths);
    for line in [
        format!("centre {x}, {y_mm}, {z} mm"),
        format!("body turned by {}°", tenths(placement.body_turn_rad.to_degrees())),
        format!("ring turned by {}°", tenths(placement.ring_turn_rad.to_degrees())),
        format!("grey: 0 to {} {}", digits(f64::from(largest(report))), report.volume.unit.label()),
    ] {
        y += 14.0;
        page.text([left, y], 9.0, Anchor::Start, &line);
    }
}

fn colour(role: RoiRole) -> &'static str {
    match role {
        RoiRole::Hot => "#d55e00",
        RoiRole::Cold => "#0072b2",
        RoiRole::Background => "#009e73",
        RoiRole::None => "#cc79a7",
    }
}

fn circle(page: &mut Page, [cx, cy]: [f64; 2], roi: &Roi) {
    let RoiShape::Circle { radius_mm, .. } = roi.shape else { return };
    let (r, colour) = (radius_mm * POINTS_PER_MM, colour(roi.role));
    page.put(&format!(r#"<circle cx="{cx:.2}" cy="{cy:.2}" r="{r:.2}" fill="none" stroke="{colour}" stroke-width="0.9"/>"#));
    if roi.role == RoiRole::Hot || roi.role == RoiRole::Cold {
        page.coloured_text([cx, cy + r + 9.0], 8.0, Anchor::Middle, colour, &format!("{} mm", 2.0 * radius_mm));
    }
}

/// The values of the spheres' slice.
fn slice_values<'a>(report: &NemaReport<'a>) -> &'a [f32] {
    let grid = &report.volume.grid;
    let in_slice = grid.size[0] * grid.size[1];
    report.volume.as_slice().get(report.analysis.slice * in_slice..).map_or(&[], |rest| &rest[..in_slice.min(rest.len())])
}

/// Largest value of the spheres' slice.
fn largest(report: &NemaReport) -> f32 {
    slice_values(report).iter().copied().filter(|value| value.is_finite()).fold(f32::MIN_POSITIVE, f32::max)
}

fn png(report: &NemaReport) -> Result<Vec<u8>, PdfError> {
    let grid = &report.volume.grid;
    let high = largest(report);
    let greys = slice_values(report).iter().map(|value| 255 - (255.0 * (value / high).clamp(0.0, 1.0)).round() as u8).collect();
    let no_image = || PdfError::Document("the slice of the spheres does not lie in the image".into());
    let image = GrayImage::from_raw(grid.size[0] as u32, grid.size[1] as u32, greys).ok_or_else(no_image)?;
    let mut png = std::io::Cursor::new(Vec::new());
    let written = DynamicImage::from(image).write_to(&mut png, image::ImageFormat::Png);
    written.map_err(|error| PdfError::Document(error.to_string()))?;
    Ok(png.into_inner())
}

/// A plot, where it has points, as wide as the page or as high as what is left of it; where it ends.
fn plot(page: &mut Page, top: f64, plot: Plot) -> f64 {
    let [width, height] = PLOT_SIZE;
    let scale = ((PAGE[0] - 2.0 * MARGIN) / width).min((PAGE[1] - MARGIN - top) / height);
    if let Some(svg) = plot.svg() {
        page.drawing([MARGIN, top], [scale * width, scale * height], &svg);
    }
    top + scale * height
}

/// Contrast and noise over the spheres' diameters.
fn over_diameters(analysis: &NemaAnalysis) -> Plot {
    let series = |name: &str, colour: usize, value: &dyn Fn(&SphereFigures) -> Option<f64>| {
        let points = analysis.spheres.iter().filter_map(|sphere| Some([sphere.diameter_mm, 100.0 * value(sphere)?]));
        Series { name: name.into(), colour, is_published: false, points: points.collect() }
    };
    let lines = vec![
        series("contrast, hot", 4, &|sphere| sphere.contrast.filter(|_| sphere.is_hot)),
        series("contrast, cold", 2, &|sphere| sphere.contrast.filter(|_| !sphere.is_hot)),
        series("background variability", 5, &|sphere| sphere.variability),
    ];
    Plot {
        axes: Axes::Linear,
        title: "Contrast recovery and background variability".into(),
        x_title: "inner diameter, mm".into(),
        y_title: "%".into(),
        x_ticks: analysis.spheres.iter().map(|sphere| (sphere.diameter_mm, sphere.diameter_mm.to_string())).collect(),
        lines: lines.into_iter().filter(|line| !line.points.is_empty()).collect(),
    }
}

/// The lung insert slice by slice, what made the image, and what the figures are.
fn second_page(report: &NemaReport) -> Page {
    let mut page = framed(report, 2);
    let mut top = 104.0;
    page.heading(top, "Lung insert");
    if report.analysis.lung.is_empty() {
        page.text([MARGIN, top + 20.0], 10.0, Anchor::Start, "No lung insert was found.");
        top += 36.0;
    } else {
        top = lung(&mut page, top + 18.0, report.analysis);
    }
    page.heading(top + 16.0, "Image");
    top += 32.0;
    for (name, words) in provenance(report) {
        page.text([MARGIN, top], 9.0, Anchor::Start, name);
        page.text([MARGIN + 84.0, top], 9.0, Anchor::Start, &words);
        top += 13.0;
    }
    page.heading(top + 14.0, "What the figures are");
    top += 30.0;
    for definition in DEFINITIONS {
        page.small([MARGIN, top], Anchor::Start, definition);
        top += 12.0;
    }
    page
}

/// Residuals slice by slice in columns, and as a curve; where they end.
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
    let lines = vec![Series { name: "lung residual".into(), colour: 6, is_published: false, points }];
    let curve = Plot {
        axes: Axes::Linear,
        title: "Lung residual".into(),
        x_title: "z, mm".into(),
        y_title: "%".into(),
        x_ticks: Vec::new(),
        lines,
    };
    plot(page, top, curve)
}

/// What is known of the image, as names and words.
fn provenance(report: &NemaReport) -> Vec<(&'static str, String)> {
    let grid = &report.volume.grid;
    let [nx, ny, nz] = grid.size;
    let [dx, dy, dz] = grid.voxel_mm;
    let mut lines = vec![("voxels", format!("{nx} × {ny} × {nz} of {dx:.3} × {dy:.3} × {dz:.3} mm"))];
    let Some(made) = report.provenance else {
        lines.push(("made by", "not known: there is no record beside the image".into()));
        return lines;
    };
    lines.push((
        "data",
        [Some(made.data.title.clone()), made.data.file.clone()].into_iter().flatten().collect::<Vec<_>>().join(", "),
    ));
    lines.push(("made by", made.line()));
    if let Some(corrections) = &made.corrections {
        let of = |name: &str, file: &Option<String>| file.as_ref().map(|file| format!("{name}: {file}"));
        let both = [of("multiplicative", &corrections.multiplicative), of("additive", &corrections.additive)];
        let words: Vec<String> = both.into_iter().flatten().collect();
        lines.push(("corrections", if words.is_empty() { "none".into() } else { words.join("; ") }));
    }
    if let Some(projector) = &made.projector {
        let [tangential, axial] = projector.rays_per_bin;
        lines.push((
            "projector",
            format!("{}, {tangential} × {axial} rays a bin, field of view {:.1} mm", projector.name, projector.fov_radius_mm),
        ));
    }
    lines.push((
        "computed",
        format!(
            "{} on {}, {:.1} s, with {} {}",
            made.times.started, made.device.name, made.times.elapsed_secs, made.program, made.program_version
        ),
    ));
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_any_unit_have_five_digits() {
        assert_eq!(
            [0.0, 0.0123456, 1.0, 98.7654, 12345.6, 2.5e6].map(digits),
            ["0.0000", "0.012346", "1.0000", "98.765", "12346", "2500000"]
        );
    }
}
