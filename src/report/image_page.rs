//! Common parts of the reports on an image: frame, slices with circles, plots, provenance of the image.

use super::drawing::{Anchor, Colour};
use super::page::{MARGIN, PAGE, Page, Part, PdfError, Picture};
use super::pixels::inverted_greys;
use super::plot::{PLOT_SIZE, Plot};
use crate::data::{Roi, RoiRole, RoiShape, Volume};
use crate::io::measurements::Measurement;
use crate::plan::Provenance;

pub struct ImageReport<'a, A> {
    /// Name of the image.
    pub title: &'a str,
    pub volume: &'a Volume,
    pub analysis: &'a A,
    /// Provenance of the image, if known.
    pub provenance: Option<&'a Provenance>,
    /// Day and time.
    pub date: &'a str,
}

/// Returns a measured number of an iterate.
pub(super) fn measurement(iteration: usize, roi: &str, quantity: &str, value: f64, unit: &str) -> Measurement {
    let (roi, quantity, unit) = (roi.to_owned(), quantity.to_owned(), unit.to_owned());
    Measurement { run: 1, iteration, subset: 0, roi, quantity, value, unit }
}

/// Returns a fraction in %.
pub(super) fn percent(value: Option<f64>) -> String {
    value.map_or_else(|| "–".into(), |value| format!("{:.1}", 100.0 * value))
}

/// Returns a value with one decimal, without a sign of 0.
pub(super) fn tenths(value: f64) -> String {
    format!("{:.1}", (10.0 * value).round() / 10.0 + 0.0)
}

/// Returns a value with five digits.
pub(super) fn digits(value: f64) -> String {
    let before = if value == 0.0 { 0.0 } else { value.abs().log10().floor() };
    format!("{value:.*}", (4.0 - before).clamp(0.0, 12.0) as usize)
}

/// Returns a page with the title at the top, number and program at the bottom.
pub(super) fn framed<A>(report: &ImageReport<A>, name: &str, [number, of]: [usize; 2]) -> Page {
    let mut page = Page::default();
    let right = PAGE[0] - MARGIN;
    page.text([MARGIN, 56.0], 19.0, Anchor::Start, name);
    page.text([MARGIN, 74.0], 11.0, Anchor::Start, report.title);
    page.small([right, 56.0], Anchor::End, report.date);
    page.rule(82.0, [MARGIN, right], 1.5);
    let bottom = PAGE[1] - 26.0;
    page.small(
        [MARGIN, bottom],
        Anchor::Start,
        concat!("tomoscope ", env!("CARGO_PKG_VERSION"), ": not a medical device; for research and quality assurance"),
    );
    page.small([right, bottom], Anchor::End, &format!("page {number} of {of}"));
    page
}

/// Transaxial slice, inverted grey from 0 to its largest value, with circles.
pub(super) struct SliceDrawing {
    pub slice: usize,
    /// Position of the middle (x, y), mm.
    pub middle_mm: [f64; 2],
    /// Width and height of the displayed part, mm.
    pub shown_mm: [f64; 2],
    pub points_per_mm: f64,
}

impl SliceDrawing {
    /// Draws the slice with its upper left corner at a position; returns its largest value.
    pub(super) fn draw(&self, page: &mut Page, [left, top]: [f64; 2], volume: &Volume, rois: &[Roi]) -> Result<f32, PdfError> {
        let Self { middle_mm: [x, y], shown_mm, points_per_mm: scale, .. } = *self;
        let grid = &volume.grid;
        let point = |[at_x, at_y]: [f64; 2]| {
            [left + (at_x - x + 0.5 * shown_mm[0]) * scale, top + (at_y - y + 0.5 * shown_mm[1]) * scale]
        };
        let values = self.values(volume)?;
        let largest = values.iter().copied().filter(|value| value.is_finite()).fold(f32::MIN_POSITIVE, f32::max);
        let corner = point([grid.extent_mm(0)[0], grid.extent_mm(1)[0]]);
        let size = [0, 1].map(|axis| grid.size[axis] as f64 * grid.voxel_mm[axis] * scale);
        page.parts.push(Part::Picture(Picture {
            corner,
            size,
            shown: Some([[left, top], shown_mm.map(|mm| mm * scale)]),
            pixels: [grid.size[0], grid.size[1]],
            greys: inverted_greys(values, largest),
        }));
        for roi in rois {
            circle(page, point([roi.centre_mm[0], roi.centre_mm[1]]), roi, scale);
        }
        Ok(largest)
    }

    fn values<'a>(&self, volume: &'a Volume) -> Result<&'a [f32], PdfError> {
        let mut slices = volume.as_slice().chunks_exact(volume.grid.size[0] * volume.grid.size[1]);
        slices.nth(self.slice).ok_or_else(|| PdfError::Document("the slice does not lie in the image".into()))
    }
}

/// Returns the colour of the circle of a region.
pub(super) fn colour(role: RoiRole) -> Colour {
    match role {
        RoiRole::Hot => [0xd5, 0x5e, 0x00],
        RoiRole::Cold => [0x00, 0x72, 0xb2],
        RoiRole::Background => [0x00, 0x9e, 0x73],
        RoiRole::None => [0xcc, 0x79, 0xa7],
    }
}

fn circle(page: &mut Page, [cx, cy]: [f64; 2], roi: &Roi, scale: f64) {
    let RoiShape::Circle { radius_mm, .. } = roi.shape else { return };
    let (r, colour) = (radius_mm * scale, colour(roi.role));
    page.circle([cx, cy], r, colour, 0.9);
    if roi.role == RoiRole::Hot || roi.role == RoiRole::Cold {
        page.coloured_text([cx, cy + r + 9.0], 8.0, Anchor::Middle, colour, &format!("{} mm", 2.0 * radius_mm));
    }
}

/// Draws a table with right-aligned columns at horizontal positions after the names of the rows; returns the lower edge.
pub(super) fn table<const N: usize>(
    page: &mut Page,
    top: f64,
    columns: [f64; N],
    titles: [&str; N],
    rows: impl IntoIterator<Item = (String, [String; N])>,
) -> f64 {
    let width = [MARGIN, PAGE[0] - MARGIN];
    for (x, title) in columns.into_iter().zip(titles) {
        page.text([x, top], 9.0, Anchor::End, title);
    }
    page.rule(top + 4.0, width, 0.5);
    let mut y = top;
    for (name, cells) in rows {
        y += 15.0;
        page.text([MARGIN, y], 10.0, Anchor::Start, &name);
        for (x, cell) in columns.into_iter().zip(cells) {
            page.text([x, y], 10.0, Anchor::End, &cell);
        }
    }
    page.rule(y + 5.0, width, 0.5);
    y + 5.0
}

/// Draws a plot with points, as large as the page and the range of heights allow; returns the lower edge.
pub(super) fn plot(page: &mut Page, [top, bottom]: [f64; 2], plot: Plot) -> f64 {
    let [width, height] = PLOT_SIZE;
    let scale = ((PAGE[0] - 2.0 * MARGIN) / width).min((bottom - top) / height);
    if let Some(elements) = plot.elements() {
        page.parts.push(Part::Drawing { corner: [MARGIN, top], scale, elements });
    }
    top + scale * height
}

/// Draws the facts about the image with their heading; returns the lower edge.
pub(super) fn image_facts<A>(page: &mut Page, top: f64, report: &ImageReport<A>) -> f64 {
    page.heading(top, "Image");
    let mut top = top + 16.0;
    for (name, words) in provenance(report) {
        page.text([MARGIN, top], 9.0, Anchor::Start, name);
        page.text([MARGIN + 84.0, top], 9.0, Anchor::Start, &words);
        top += 13.0;
    }
    top
}

/// Draws the definitions of the values with their heading.
pub(super) fn definitions(page: &mut Page, top: f64, lines: &[&str]) {
    page.heading(top, "Definitions of the values");
    for (number, line) in (0..).zip(lines) {
        page.small([MARGIN, top + 16.0 + 12.0 * f64::from(number)], Anchor::Start, line);
    }
}

/// Returns names and texts of the facts about the image.
fn provenance<A>(report: &ImageReport<A>) -> Vec<(&'static str, String)> {
    let grid = &report.volume.grid;
    let [nx, ny, nz] = grid.size;
    let [dx, dy, dz] = grid.voxel_mm;
    let mut lines = vec![("voxels", format!("{nx} × {ny} × {nz} of {dx:.3} × {dy:.3} × {dz:.3} mm"))];
    let Some(made) = report.provenance else {
        lines.push(("made by", "not known: the image has no provenance record".into()));
        return lines;
    };
    lines.push((
        "data",
        [Some(made.data.title.clone()), made.data.file.clone()].into_iter().flatten().collect::<Vec<_>>().join(", "),
    ));
    lines.push(("made by", made.line()));
    if let Some(corrections) = &made.corrections {
        let of = |name: &str, file: &Option<String>| file.as_ref().map(|file| format!("{name}: {file}"));
        let all = [
            of("multiplicative", &corrections.multiplicative),
            of("additive", &corrections.additive),
            of("attenuation", &corrections.attenuation),
        ];
        let added = corrections.added_attenuation.iter().map(|file| format!("attenuation: {file}"));
        let words: Vec<String> = all.into_iter().flatten().chain(added).collect();
        lines.push(("corrections", if words.is_empty() { "none".into() } else { words.join("; ") }));
    }
    if let Some(projector) = &made.projector {
        let [tangential, axial] = projector.rays_per_bin;
        lines.push((
            "projector",
            format!("{}, {tangential} × {axial} rays per LOR, field of view {:.1} mm", projector.name, projector.fov_radius_mm),
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
