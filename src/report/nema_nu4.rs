//! NEMA NU 4 image quality as a table and as rows of measured numbers.

use super::nema::{digits, percent, tenths};
use super::text_table::TextTable;
use crate::data::Unit;
use crate::data::nema_nu4::ROD_DIAMETERS_MM;
use crate::io::measurements::Measurement;
use crate::measure::nema_nu4::{Nu4Analysis, Nu4Ratio};

/// The rods and the cold cylinders by name, with their ratios and how these are called.
fn ratios(analysis: &Nu4Analysis) -> impl Iterator<Item = (String, &'static str, &Nu4Ratio)> {
    let rods =
        ROD_DIAMETERS_MM.iter().zip(&analysis.rods).map(|(diameter, ratio)| (format!("rod {diameter} mm"), "recovery", ratio));
    let cold = analysis.placement.cold_mm.iter().zip(&analysis.spill_over);
    rods.chain(cold.map(|([x, y], ratio)| (format!("cold at ({}, {}) mm", tenths(*x), tenths(*y)), "spill_over", ratio)))
}

/// The figures as a table of text.
pub fn nema_nu4_table(title: &str, analysis: &Nu4Analysis) -> TextTable {
    let [low, high] = analysis.uniform_range;
    let [x, y] = analysis.placement.axis_mm.map(tenths);
    let [rods, cold] = analysis.placement.chamber_z_mm.map(tenths);
    let rows = ratios(analysis).map(|(name, quantity, ratio)| {
        vec![name, quantity.replace('_', "-"), format!("{:.3}", ratio.ratio), percent(ratio.relative_sd)]
    });
    TextTable {
        title: format!("NEMA NU 4 image quality: {title}"),
        words: vec!["where".into(), "what".into()],
        groups: vec![(String::new(), vec!["ratio".into(), "SD, %".into()])],
        rows: rows.collect(),
        remarks: vec![
            format!(
                "Uniform part: mean {}, SD {} %, from {} to {}",
                digits(analysis.uniform_mean),
                percent(analysis.uniform_sd),
                digits(f64::from(low)),
                digits(f64::from(high))
            ),
            format!("Found: axis at ({x}, {y}) mm, chamber from z = {rods} mm (rods) to {cold} mm (cold cylinders)."),
        ],
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
