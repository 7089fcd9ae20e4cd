//! Lesions of an image: as a table, as rows of measured numbers, and as a document.

use std::collections::BTreeMap;

use super::drawing::{Anchor, Element, Text};
use super::image_page::{ImageReport, definitions, digits, framed, image_facts, measurement, tenths};
use super::page::{MARGIN, PAGE, Page, Part, PdfError, Picture};
use super::pdf::pdf;
use super::pixels::inverted_greys;
use super::text_table::TextTable;
use crate::data::Volume;
use crate::io::dicom::Segment;
use crate::io::measurements::Measurement;
use crate::measure::NoIsocontour;
use crate::measure::lesions::{
    Change, Changes, Lesion, LesionChange, LesionFigures, LesionTable, LesionThreshold, LesionTotal, PEAK_DIAMETER_MM,
    at_least_half,
};
use crate::text::counted;

/// Title of the document.
const NAME: &str = "Lesions";

const DEFINITIONS: [&str; 5] = [
    "Max: largest value of a voxel. Mean, SD: of the voxels of the lesion, each with its part inside.",
    "Peak: largest mean of a sphere of 1 mL (diameter 12.407 mm, fractional voxels) with its centre anywhere in the lesion.",
    "Peak at max: mean of the same sphere about the voxel of the maximum.",
    "MTV: volume of the lesion. TLG: mean × MTV. Total: sums of MTV and TLG, mean TLG / MTV, largest max and peaks.",
    "Change: (later − baseline) / baseline; of the total peak that of the largest peaks, which may be of two lesions.",
];

/// Height of a row of the table, points.
const ROW: f64 = 14.0;

const ROWS_OF_PAGE: usize = 24;

/// Largest width and height of the projection, points.
const PROJECTION: [f64; 2] = [250.0, 250.0];

/// Lesions with their comparison.
#[derive(Clone, Copy)]
pub struct LesionsShown<'a> {
    pub table: &'a LesionTable,
    /// Kind of the second image and its unit: "CT", "HU".
    pub second: Option<[&'a str; 2]>,
    /// Name of the baseline, and the changes since.
    pub baseline: Option<(&'a str, &'a Changes)>,
}

/// Numbers of a row: of a lesion or of the total.
#[derive(Default)]
struct Row {
    name: String,
    max: Option<f64>,
    peak: Option<f64>,
    peak_at_max: Option<f64>,
    mean: Option<f64>,
    sd: Option<f64>,
    volume_ml: Option<f64>,
    total_ml: Option<f64>,
    second: Option<f64>,
    change: Option<LesionChange>,
}

impl Row {
    fn of(lesion: &Lesion, change: Option<LesionChange>) -> Self {
        let name = lesion.name.clone();
        let Ok(figures) = &lesion.figures else { return Self { name, ..Self::default() } };
        let LesionFigures { max, mean, sd, peak, peak_at_max, volume_ml, second, .. } = *figures;
        Self {
            name,
            max: Some(max),
            peak: peak.map(|peak| peak.mean),
            peak_at_max,
            mean,
            sd,
            volume_ml: Some(volume_ml),
            total_ml: Some(figures.total_ml()),
            second: second.map(|second| second.mean),
            change,
        }
    }

    fn of_total(total: &LesionTotal, change: Option<LesionChange>) -> Self {
        let LesionTotal { num_lesions, volume_ml, total_ml, max, peak, peak_at_max, .. } = *total;
        Self {
            name: format!("total of {}", counted(num_lesions, "lesion")),
            max,
            peak,
            peak_at_max,
            mean: (volume_ml > 0.0).then(|| total_ml / volume_ml),
            volume_ml: Some(volume_ml),
            total_ml: Some(total_ml),
            change,
            ..Self::default()
        }
    }
}

impl LesionsShown<'_> {
    fn rows(&self) -> Vec<Row> {
        let changes = self.baseline.map(|(_, changes)| changes);
        let of_lesion = |index: usize| changes.and_then(|changes| *changes.lesions.get(index)?);
        let lesions = self.table.lesions.iter().enumerate().map(|(index, lesion)| Row::of(lesion, of_lesion(index)));
        lesions.chain([Row::of_total(&self.table.total, changes.map(|changes| changes.total))]).collect()
    }

    /// Returns the titles of the columns, in groups with a common title.
    fn columns(&self) -> Vec<(String, Vec<String>)> {
        let titles = |titles: &[&str]| titles.iter().map(|title| (*title).to_owned()).collect();
        let second = self.second.map(|[kind, unit]| (kind.to_owned(), vec![format!("mean, {unit}")]));
        let change = self.baseline.map(|_| ("change, %".to_owned(), titles(&["max", "peak", "MTV", "TLG"])));
        let own = [
            (self.table.unit.label().to_owned(), titles(&["max", "peak", "peak at max", "mean", "SD"])),
            ("mL".to_owned(), titles(&["MTV", "TLG"])),
        ];
        own.into_iter().chain(second).chain(change).collect()
    }

    fn cells(&self, row: &Row) -> Vec<String> {
        let number = |value: Option<f64>| value.map_or_else(|| "–".to_owned(), digits);
        let of = |change: fn(&LesionChange) -> Option<Change>| {
            let part = row.change.as_ref().and_then(change).and_then(|change| change.part);
            part.map_or_else(|| "–".to_owned(), |part| format!("{:+.1}", (1000.0 * part).round() / 10.0 + 0.0))
        };
        let mut cells: Vec<String> =
            [row.max, row.peak, row.peak_at_max, row.mean, row.sd, row.volume_ml, row.total_ml].map(number).into();
        cells.extend(self.second.map(|_| row.second.map_or_else(|| "–".to_owned(), tenths)));
        if self.baseline.is_some() {
            cells.extend([
                of(|change| change.max),
                of(|change| change.peak),
                of(|change| change.volume_ml),
                of(|change| change.total_ml),
            ]);
        }
        cells
    }

    /// Returns the cells of all rows, the name first; the total is the last row.
    pub fn cells_of_rows(&self) -> Vec<Vec<String>> {
        self.rows().iter().map(|row| std::iter::once(row.name.clone()).chain(self.cells(row)).collect()).collect()
    }

    /// Returns the title of each column of numbers, with its group: "max, SUVbw".
    pub fn titles(&self) -> Vec<String> {
        let groups = self.columns();
        groups.iter().flat_map(|(group, titles)| titles.iter().map(move |title| format!("{title} [{group}]"))).collect()
    }

    /// Returns sentences on the rule of the lesions, and on everything that the table leaves out or counts twice.
    pub fn remarks(&self) -> Vec<String> {
        let table = self.table;
        let unit = table.unit.label();
        let named = |is: &dyn Fn(&Lesion, &LesionFigures) -> bool| -> Vec<String> {
            table
                .measured()
                .filter(|(lesion, figures)| is(lesion, figures))
                .map(|(lesion, _)| format!("'{}'", lesion.name))
                .collect()
        };
        let mut remarks = vec![match table.threshold {
            LesionThreshold::Value(value) => format!("Voxels: those that reach {} {unit}.", digits(value)),
            threshold => format!("Voxels: {threshold}."),
        }];
        if let Some(liver) = &table.liver {
            let threshold = liver.threshold();
            remarks.push(format!(
                "Liver: mean {}, SD {} in a sphere of 30 mm; 1.5 × mean + 2 SD = {} {unit}.",
                digits(liver.mean),
                digits(liver.sd),
                digits(threshold)
            ));
            let below = named(&|_, figures| figures.peak.is_some_and(|peak| peak.mean < threshold));
            if !below.is_empty() {
                remarks.push(format!("Peak below this threshold (not measurable at baseline by PERCIST): {}.", below.join(", ")));
            }
        }
        let mut by_reason: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for lesion in &table.lesions {
            if let Err(reason) = &lesion.figures {
                by_reason.entry(reason_text(reason)).or_default().push(format!("'{}'", lesion.name));
            }
        }
        for (reason, names) in by_reason {
            remarks.push(format!("Not measured and not in the total, since {reason}: {}.", names.join(", ")));
        }
        let empty = named(&|_, figures| figures.num_voxels == 0);
        if !empty.is_empty() {
            remarks.push(format!("No voxel reaches the threshold, max and peak are those of the region: {}.", empty.join(", ")));
        }
        let without_peak = named(&|_, figures| figures.peak.is_none());
        if !without_peak.is_empty() {
            remarks.push(format!(
                "No peak, since every sphere of {PEAK_DIAMETER_MM:.1} mm leaves the image or has invalid values: {}.",
                without_peak.join(", ")
            ));
        }
        if table.total.overlap_ml > 1e-3 {
            remarks.push(format!("Lesions overlap: the total contains {} mL more than once.", digits(table.total.overlap_ml)));
        }
        if let Some([kind, _]) = self.second {
            let partly = table.measured().filter_map(|(lesion, figures)| {
                let part = figures.second.map_or(0.0, |second| second.part);
                (part < 0.999 && figures.num_voxels > 0).then(|| format!("'{}' {:.0} %", lesion.name, 100.0 * part))
            });
            let partly: Vec<String> = partly.collect();
            if !partly.is_empty() {
                remarks.push(format!("Part of the lesion in the {kind}: {}.", partly.join(", ")));
            }
        }
        if let Some((name, changes)) = self.baseline {
            remarks.push(format!("Change: since {name}, by the names of the lesions."));
            for (names, text) in [
                (&changes.missing, "Only at baseline, in its total"),
                (&changes.ambiguous, "Not compared, since several lesions have the name"),
            ] {
                if !names.is_empty() {
                    let names: Vec<String> = names.iter().map(|name| format!("'{name}'")).collect();
                    remarks.push(format!("{text}: {}.", names.join(", ")));
                }
            }
            if let Some([before, later]) = changes.livers.filter(|[before, later]| !before.is_comparable(later)) {
                remarks.push(format!(
                    "The livers are not comparable by PERCIST: their means are {} and {} (limits 0.3 SUL and 20 %).",
                    digits(before.mean),
                    digits(later.mean)
                ));
            }
        }
        remarks
    }

    pub fn text(&self, title: &str) -> TextTable {
        TextTable {
            title: title.to_owned(),
            words: vec!["lesion".to_owned()],
            groups: self.columns(),
            rows: self.cells_of_rows(),
            remarks: self.remarks(),
        }
    }

    /// Returns the voxels of each lesion with at least half inside.
    pub fn segments(&self) -> Vec<Segment> {
        let voxels = |lesion: &Lesion| at_least_half(&lesion.mask).voxels.iter().map(|(index, _)| *index).collect();
        let segment =
            |lesion: &Lesion| Segment { label: lesion.name.clone(), is_manual: !lesion.is_contour, voxels: voxels(lesion) };
        self.table.lesions.iter().map(segment).collect()
    }

    /// Returns the numbers as rows of an image of an iteration.
    pub fn measurements(&self, iteration: usize) -> Vec<Measurement> {
        let unit = self.table.unit.label();
        let product = format!("mL {unit}");
        let mut rows = Vec::new();
        for (lesion, row) in self.table.lesions.iter().map(Some).chain([None]).zip(self.rows()) {
            // Numbers of the whole image have no region.
            let name = if lesion.is_some() { row.name.as_str() } else { "" };
            let figures = lesion.and_then(|lesion| lesion.figures.as_ref().ok());
            let axis = |axis: usize| figures.map(|figures| figures.max_mm[axis]);
            let part = |change: fn(&LesionChange) -> Option<Change>| row.change.as_ref().and_then(change)?.part;
            let quantities = [
                ("max", row.max, unit),
                ("max_x", axis(0), "mm"),
                ("max_y", axis(1), "mm"),
                ("max_z", axis(2), "mm"),
                ("peak", row.peak, unit),
                ("peak_at_max", row.peak_at_max, unit),
                ("mean", row.mean, unit),
                ("sd", row.sd, unit),
                ("threshold", figures.and_then(|figures| figures.threshold), unit),
                ("num_voxels", figures.map(|figures| figures.num_voxels as f64), ""),
                ("volume", row.volume_ml, "mL"),
                ("total_glycolysis", row.total_ml, &product),
                ("mean_of_second", row.second, self.second.map_or("", |[_, unit]| unit)),
                ("max_change", part(|change| change.max), ""),
                ("peak_change", part(|change| change.peak), ""),
                ("volume_change", part(|change| change.volume_ml), ""),
                ("total_glycolysis_change", part(|change| change.total_ml), ""),
            ];
            let known = quantities.into_iter().filter_map(|(quantity, value, unit)| Some((quantity, value?, unit)));
            rows.extend(known.map(|(quantity, value, unit)| measurement(iteration, name, quantity, value, unit)));
        }
        if let Some(liver) = &self.table.liver {
            for (quantity, value) in
                [("liver_mean", liver.mean), ("liver_sd", liver.sd), ("percist_threshold", liver.threshold())]
            {
                rows.push(measurement(iteration, "", quantity, value, unit));
            }
        }
        rows
    }
}

fn reason_text(reason: &NoIsocontour) -> String {
    match reason {
        NoIsocontour::Outside => "the region contains no voxel centre of the image".to_owned(),
        other => other.to_string(),
    }
}

/// Returns the report on lesions as a PDF document.
///
/// # Errors
/// Drawing a page failed.
pub fn lesion_pdf(report: &ImageReport<LesionsShown>) -> Result<Vec<u8>, PdfError> {
    let shown = report.analysis;
    let rows = shown.cells_of_rows();
    let chunks: Vec<&[Vec<String>]> = rows.chunks(ROWS_OF_PAGE).collect();
    let num_pages = chunks.len() + 1;
    let mut pages = Vec::new();
    for (number, chunk) in (1..).zip(&chunks) {
        let mut page = framed(report, NAME, [number, num_pages]);
        let bottom = lesion_table(&mut page, 112.0, shown, chunk);
        if number == chunks.len() {
            remarks(&mut page, bottom + 22.0, &shown.remarks());
        }
        pages.push(page);
    }
    let mut last = framed(report, NAME, [num_pages, num_pages]);
    last.heading(104.0, "Largest values along y (coronal), inverted grey, with the maximum of each lesion");
    let bottom = projection(&mut last, 118.0, report.volume, shown.table)?;
    let bottom = image_facts(&mut last, bottom + 24.0, report);
    definitions(&mut last, bottom + 14.0, &DEFINITIONS);
    pages.push(last);
    pdf(&format!("{NAME}: {}", report.title), &pages)
}

/// Draws the table of some rows; returns the lower edge.
fn lesion_table(page: &mut Page, top: f64, shown: &LesionsShown, rows: &[Vec<String>]) -> f64 {
    const NAME_WIDTH: f64 = 92.0;
    let groups = shown.columns();
    let num: usize = groups.iter().map(|(_, titles)| titles.len()).sum();
    let right = PAGE[0] - MARGIN;
    let step = (right - MARGIN - NAME_WIDTH) / num as f64;
    let mut column = 0;
    for (group, titles) in &groups {
        column += titles.len();
        page.small([MARGIN + NAME_WIDTH + step * column as f64, top - 20.0], Anchor::End, group);
    }
    for (index, title) in groups.iter().flat_map(|(_, titles)| titles).enumerate() {
        let x = MARGIN + NAME_WIDTH + step * (index + 1) as f64;
        // Two lines for titles of several words.
        let (upper, lower) = title.split_once(' ').unwrap_or(("", title));
        page.text([x, top - 9.0], 7.5, Anchor::End, upper);
        page.text([x, top], 7.5, Anchor::End, lower);
    }
    page.rule(top + 4.0, [MARGIN, right], 0.5);
    let mut y = top;
    for row in rows {
        y += ROW;
        for (index, cell) in row.iter().enumerate() {
            let (x, anchor) = match index {
                0 => (MARGIN, Anchor::Start),
                _ => (MARGIN + NAME_WIDTH + step * index as f64, Anchor::End),
            };
            let text: String = if index == 0 { cell.chars().take(22).collect() } else { cell.clone() };
            page.text([x, y], 8.0, anchor, &text);
        }
    }
    page.rule(y + 5.0, [MARGIN, right], 0.5);
    y + 5.0
}

/// Draws sentences, in lines of about a page's width.
fn remarks(page: &mut Page, top: f64, remarks: &[String]) {
    const LINE_LENGTH: usize = 118;
    let mut y = top;
    for remark in remarks {
        let mut line = String::new();
        for word in remark.split(' ') {
            if !line.is_empty() && line.chars().count() + word.chars().count() > LINE_LENGTH {
                page.small([MARGIN, y], Anchor::Start, &line);
                (line, y) = ("   ".to_owned(), y + 11.0);
            }
            line = if line.is_empty() { word.to_owned() } else { format!("{line} {word}") };
        }
        page.small([MARGIN, y], Anchor::Start, &line);
        y += 13.0;
    }
}

/// Draws the largest values along y with the maximum of each lesion; returns the lower edge.
fn projection(page: &mut Page, top: f64, volume: &Volume, table: &LesionTable) -> Result<f64, PdfError> {
    let grid = &volume.grid;
    let [nx, ny, nz] = grid.size;
    let mut largest = vec![0.0f32; nx * nz];
    for (index, value) in volume.as_slice().iter().enumerate().filter(|(_, value)| value.is_finite()) {
        let at = index / (nx * ny) * nx + index % nx;
        largest[at] = largest[at].max(*value);
    }
    // Most of a projection is dark tissue: black is the largest lesion, or that of the image without lesions.
    let black =
        table.total.max.map_or_else(|| largest.iter().copied().fold(0.0, f32::max), |max| max as f32).max(f32::MIN_POSITIVE);
    let greys = inverted_greys(&largest, black);
    let size_mm = [0, 2].map(|axis| grid.size[axis] as f64 * grid.voxel_mm[axis]);
    let scale = (PROJECTION[0] / size_mm[0]).min(PROJECTION[1] / size_mm[1]);
    let [width, height] = size_mm.map(|mm| mm * scale);
    let (corner, size) = ([MARGIN, top], [width, height]);
    page.parts.push(Part::Picture(Picture { corner, size, shown: None, pixels: [nx, nz], greys }));
    let legend = MARGIN + width + 22.0;
    for (number, (lesion, figures)) in (1..).zip(table.measured()) {
        let [x, _, z] = figures.max_mm;
        let at = [MARGIN + (x - grid.extent_mm(0)[0]) * scale, top + (z - grid.extent_mm(2)[0]) * scale];
        let colour = lesion.colour.unwrap_or([0xd5, 0x5e, 0x00]);
        page.circle(at, 5.0, colour, 1.0);
        let beside = Text::new([at[0] + 7.0, at[1] + 3.0], 9.0, Anchor::Start, number.to_string());
        page.put(Element::Text(Text { colour, has_border: true, ..beside }));
        let y = top + 8.0 + 11.0 * f64::from(number - 1);
        if y <= top + PROJECTION[1] {
            let [x, y_mm, z] = figures.max_mm.map(tenths);
            let name: String = lesion.name.chars().take(24).collect();
            page.coloured_text([legend, y], 8.0, Anchor::Start, colour, &format!("{number}  {name}, max at {x}, {y_mm}, {z} mm"));
        }
    }
    Ok(top + height.max(40.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Roi, RoiShape, Unit};
    use crate::geometry::Grid;
    use crate::measure::lesions::{LesionOptions, changes, measure_lesions};
    use crate::task::Task;

    fn table(value: f32) -> (Volume, LesionTable) {
        let mut volume = Volume::filled(Grid::centred([20; 3], [2.0; 3]).unwrap(), value);
        volume.unit = Unit::SuvLeanJames;
        let names = ["liver", "left", "right", "outside"];
        let rois = names.map(|name| {
            let x_mm = if name == "outside" { 500.0 } else { 0.0 };
            Roi::new(name, RoiShape::Sphere { radius_mm: 8.0 }, [x_mm, 0.0, 0.0])
        });
        let second = |_| Some(-59.0);
        let options = LesionOptions { threshold: LesionThreshold::Regions, liver: "liver", second: Some(&second) };
        let table = measure_lesions(&volume, &rois, options, &Task::new()).unwrap();
        (volume, table)
    }

    #[test]
    fn a_table_has_a_row_for_each_lesion_and_the_total() {
        let ((_, baseline), (volume, later)) = (table(8.0), table(2.0));
        let changes = changes(&(&baseline).into(), &later).unwrap();
        let shown = LesionsShown { table: &later, second: Some(["CT", "HU"]), baseline: Some(("first", &changes)) };
        let rows = shown.cells_of_rows();
        assert_eq!(
            rows.iter().map(|row| row[0].as_str()).collect::<Vec<_>>(),
            ["left", "right", "outside", "total of 2 lesions"]
        );
        assert_eq!((rows[0][1].as_str(), rows[0][8].as_str(), rows[0][10].as_str()), ("2.0000", "-59.0", "-75.0"));
        assert_eq!((rows[2][1].as_str(), rows[0].len()), ("–", shown.titles().len() + 1));
        let remarks = shown.remarks().join("\n");
        for text in [
            "since the region contains no voxel centre of the image: 'outside'",
            "overlap",
            "livers are not comparable",
            "Peak below this threshold",
            "since first",
        ] {
            assert!(remarks.contains(text), "{text}: {remarks}");
        }
        let measured = shown.measurements(3);
        let value = |roi: &str, quantity: &str| {
            measured.iter().find(|row| row.roi == roi && row.quantity == quantity).map(|row| (row.value, row.unit.as_str()))
        };
        assert_eq!(value("left", "mean"), Some((2.0, "SUL (James)")));
        assert_eq!((value("outside", "mean"), value("", "liver_mean")), (None, Some((2.0, "SUL (James)"))));
        assert!((value("right", "peak_change").unwrap().0 + 0.75).abs() < 1e-6);
        let report = ImageReport { title: "later", volume: &volume, analysis: &shown, provenance: None, date: "2026-03-01" };
        assert!(lesion_pdf(&report).unwrap().starts_with(b"%PDF"));
    }
}
