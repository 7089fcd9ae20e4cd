//! The tables of the simulated scanner and of its edge rings.

use crate::montecarlo::EdgeDeviation;
use crate::reproduce::herraiz::Context;
use crate::reproduce::herraiz::scanner::{FAR_MM, PUBLISHED_SENSITIVITY_PERCENT, PUBLISHED_WIDTHS, ScannerFigures};
use crate::reproduce::herraiz::stages::Work;
use crate::reproduce::prelude::*;

pub fn add(context: &Context, tables: &mut Tables) -> Result<(), ReproduceError> {
    let Some(found) = context.load::<ScannerFigures>(&Work::Scanner)? else { return Ok(()) };
    let value = |row: &str, unit, paper: Option<f64>, here: Option<f64>| {
        Value::new("scanner", row, "here and in the paper", unit).paper(paper).here(here)
    };
    let far = |what: &str| format!("FWHM {what}, {FAR_MM} mm from the axis");
    let values = vec![
        value("sensitivity at the centre", "%", Some(PUBLISHED_SENSITIVITY_PERCENT), Some(found.sensitivity_percent)),
        value("FWHM across, centre", "mm", Some(PUBLISHED_WIDTHS[1][0]), found.tangential_mm[0]),
        value(&far("across"), "mm", Some(PUBLISHED_WIDTHS[1][1]), found.tangential_mm[1]),
        value("FWHM along the axis, centre", "mm", Some(PUBLISHED_WIDTHS[2][0]), found.axial_mm[0]),
        value(&far("along the axis"), "mm", Some(PUBLISHED_WIDTHS[2][1]), found.axial_mm[1]),
    ];
    let remarks = [
        "The paper measured the real scanner, and widths in images (those of points here follow below); these are of the tubes of direct planes.",
        "The heads' distance, angles and coincidences are assumed: the sensitivity goes with the solid angle that they cover.",
    ];
    tables.add("The scanner compared with Lage et al. 2009, Phys Med Biol 54:5427", values, remarks);
    Ok(())
}

pub fn add_edge_rings(context: &Context, tables: &mut Tables) -> Result<(), ReproduceError> {
    let Some(found) = context.load::<Vec<EdgeDeviation>>(&Work::EdgeRings)? else { return Ok(()) };
    let of_rows = |deviation: &EdgeDeviation| {
        let EdgeDeviation { ring_differences: [first, last], sum_percent, .. } = *deviation;
        let rms = deviation.rms_percent();
        let row = if first == last { format!("ring difference {first}") } else { format!("ring differences {first} to {last}") };
        let value = |column: &str, here: Option<f64>| Value::new("edge rings", row.clone(), column, "%").here(here);
        let [found, error] = rms.map_or([Some(deviation.rms_limit_percent()), None], |rms| rms.map(Some));
        [
            value("sum", Some(sum_percent[0])),
            value("standard error", Some(sum_percent[1])),
            Value { mark: if rms.is_some() { "" } else { "*" }, ..value("cross-section (RMS)", found) },
            value("standard error of it", error),
        ]
    };
    let remarks = [
        "Ring pairs with an edge ring: how much more than the others they count, and how far their tubes are from the others' \
         (added up along the line and over the distances from the axis). The papers give no number.",
        "* Not distinguishable from noise: below this.",
    ];
    let title = "Section 2.1. Axial translation: tubes at the edge rings compared with those inside";
    tables.add(title, found.iter().flat_map(of_rows), remarks);
    Ok(())
}
