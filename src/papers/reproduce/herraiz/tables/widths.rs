//! The tables of small sources: points with those of Lage et al. 2009, and lines with the noise.

use super::at_noise;
use crate::reproduce::herraiz::Context;
use crate::reproduce::herraiz::scanner::PUBLISHED_WIDTHS;
use crate::reproduce::herraiz::sources::{
    FAR_LINE_MM, LINE_DIAMETER_MM, LINE_MM2, LineWidths, POINT_DIAMETER_MM, POINT_MM3, POINTS_MM, PointWidths,
};
use crate::reproduce::herraiz::stages::{OfLines, OfPoints, Work};
use crate::reproduce::prelude::*;

/// Name of a column, and the width of a source in it.
type Column<T> = (&'static str, fn(&T) -> Option<f64>);

const LINE_COLUMNS: [Column<LineWidths>; 3] = [
    ("on the axis", |line| line.on_axis_mm),
    ("off it, radial", |line| line.radial_mm),
    ("off it, tangential", |line| line.tangential_mm),
];

const POINT_COLUMNS: [Column<PointWidths>; 3] =
    [("radial", |point| point.radial_mm), ("tangential", |point| point.tangential_mm), ("axial", |point| point.axial_mm)];

pub fn add_points(context: &Context, tables: &mut Tables) -> Result<(), ReproduceError> {
    for (tubes, name, table) in [(true, "tubes", "points, tubes"), (false, "lines", "points, lines")] {
        let Some(iterations) = context.load::<OfPoints>(&Work::Points(tubes))? else { continue };
        let mut values = Vec::new();
        // The iterations in the middle and at the end.
        let numbers = [iterations.len() / 2, iterations.len()];
        for (number, points) in (1..).zip(&iterations).filter(|(number, _)| numbers.contains(number)) {
            for (index, (distance_mm, point)) in POINTS_MM.iter().zip(points).enumerate() {
                for (axis, (column, width)) in POINT_COLUMNS.into_iter().enumerate() {
                    let published = match index {
                        0 => Some(PUBLISHED_WIDTHS[axis][0]),
                        _ if index == POINTS_MM.len() - 1 => Some(PUBLISHED_WIDTHS[axis][1]),
                        _ => None,
                    };
                    let row = format!("iteration {number}, {distance_mm} mm off the axis");
                    values.push(Value::new(table, row, column, "mm").paper(published).here(width(point)).digits(2));
                }
            }
        }
        let title = format!("FWHM of points in images by {name}, and of Lage et al. 2009; {} subsets", context.plan.sources[0]);
        let remarks = vec![
            format!(
                "Balls of {POINT_DIAMETER_MM} mm, each as active as {POINT_MM3} mm³ of the warm bar about them; {} counts; a Gaussian on a constant.",
                context.plan.num_source_counts[0]
            ),
            "Images sharpen from iteration to iteration, so that a width belongs to its iteration.".into(),
            "The paper's abstract names neither its reconstruction nor its source: images of rebinned data, for one, are wider along the axis."
                .into(),
            "The heads' distance and the crystals' depth are assumed: what photons that come in aslant (parallax) do to the widths goes with both."
                .into(),
        ];
        tables.add(title, values, remarks);
    }
    Ok(())
}

pub fn add_lines(context: &Context, tables: &mut Tables) -> Result<(), ReproduceError> {
    let load = |tubes: bool| context.load::<OfLines>(&Work::Lines(tubes));
    let value = |table: &'static str, row: String, column: &str, unit, here: Option<f64>| Value {
        digits: (unit == "mm").then_some(2),
        ..Value::new(table, row, column, unit).here(here)
    };
    let found = [("tubes", "line sources, tubes", load(true)?), ("lines", "line sources, lines", load(false)?)];
    for (name, table, iterations) in &found {
        let of_iteration = |(number, lines): (usize, &LineWidths)| {
            let row = format!("iteration {}", number + 1);
            let noise = value(table, row.clone(), "noise", "%", Some(lines.noise_percent));
            let widths = LINE_COLUMNS.map(|(column, width)| value(table, row.clone(), column, "mm", width(lines)));
            std::iter::once(noise).chain(widths)
        };
        let values = iterations.iter().flatten().enumerate().flat_map(of_iteration);
        let title =
            format!("FWHM of line sources and noise of the warm background, by {name}; {} subsets", context.plan.sources[0]);
        let remarks = vec![
            format!(
                "Lines of {LINE_DIAMETER_MM} mm on the axis and {FAR_LINE_MM} mm off it, each as active as {LINE_MM2} mm² of the warm cylinder; {} counts.",
                context.plan.num_source_counts[1]
            ),
            "Over the middle third of the slices: widths in the mean of two scans, noise from their difference.".into(),
        ];
        tables.add(title, values, remarks);
    }
    if let [(.., Some(tubes)), (.., Some(lines))] = &found {
        let noise = |iterations: &OfLines| iterations.iter().map(|lines| lines.noise_percent).fold(0.0, f64::max);
        let noise_percent = noise(tubes).min(noise(lines));
        let rows = LINE_COLUMNS.into_iter().flat_map(|(row, width)| {
            let at_noise = |iterations: &OfLines| {
                at_noise(iterations.iter().filter_map(|lines| Some([lines.noise_percent, width(lines)?])), noise_percent)
            };
            let cell = |column, unit, here| value("line sources, equal noise", row.into(), column, unit, here);
            [
                cell("noise", "%", Some(noise_percent)),
                cell("by lines", "mm", at_noise(lines)),
                cell("by tubes", "mm", at_noise(tubes)),
            ]
        });
        let remark = "At the largest noise that both reach; between the iterations that have more and less.";
        tables.add("FWHM of line sources at equal noise", rows, [remark]);
    }
    Ok(())
}
