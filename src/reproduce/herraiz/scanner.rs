//! The simulated scanner beside what was measured of the real one (Lage et al. 2009, Phys Med Biol 54:5427, abstract).

use super::Context;
use super::plan::Plan;
use super::stages::Work;
use crate::data::TubeSet;
use crate::measure::full_width_at_half_maximum;
use crate::montecarlo::TubeRecipe;
use crate::operator::OperatorError;
use crate::reproduce::prelude::*;

/// Decays at the centre that are followed.
const NUM_HISTORIES: u64 = 4_000_000;
/// Largest distance from the axis at which the paper measured, mm.
const FAR_MM: f64 = 35.0;

/// FWHM in images of the real scanner, radial, tangential and axial, at the centre and 35 mm from the axis, mm.
pub const PUBLISHED_WIDTHS: [[f64; 2]; 3] = [[1.48, 1.88], [1.56, 2.46], [2.34, 3.38]];
/// Sensitivity of the real scanner at the centre, %.
const PUBLISHED_SENSITIVITY_PERCENT: f64 = 2.2;

/// Figures of a scanner.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ScannerFigures {
    /// Share of the decays at the centre that are counted.
    pub sensitivity_percent: f64,
    /// FWHM across, at the centre and far from it.
    pub tangential_mm: [Option<f64>; 2],
    /// FWHM along the axis.
    pub axial_mm: [Option<f64>; 2],
}

impl ScannerFigures {
    /// Those of the simulated scanner; the widths are those of the direct planes' tubes in the middle of their lines.
    pub fn new(plan: &Plan, tubes: &TubeSet) -> Result<Self, ReproduceError> {
        let scanner = plan.scanner()?;
        let coincidences = TubeRecipe::default().coincidences(&scanner)?;
        let sensitivity = coincidences.sensitivity_at([0.0; 3], NUM_HISTORIES, 1, &Task::new());
        let sensitivity = sensitivity.map_err(OperatorError::from)?;
        let far = (FAR_MM / scanner.geometry.central_bin_mm()).round() as usize;
        let places = [0, far.min(tubes.sampling.num_radial - 1)];
        Ok(Self {
            sensitivity_percent: 100.0 * sensitivity,
            tangential_mm: places.map(|radial| width_mm(tubes, radial, 1)),
            axial_mm: places.map(|radial| width_mm(tubes, radial, 2)),
        })
    }
}

/// Adds the table of the scanner.
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

/// FWHM of a direct tube along axis 1 (across) or 2, summed over the other and over the middle fifth of the line.
fn width_mm(tubes: &TubeSet, radial: usize, axis: usize) -> Option<f64> {
    let [num_along, num_across, num_axial] = tubes.sampling.num;
    let tube = tubes.tube(radial, 0);
    let mut sums = vec![0.0; tubes.sampling.num[axis]];
    for along in 2 * num_along / 5..=3 * num_along / 5 {
        for (place, value) in tube[along * num_across * num_axial..][..num_across * num_axial].iter().enumerate() {
            sums[if axis == 1 { place / num_axial } else { place % num_axial }] += f64::from(*value);
        }
    }
    full_width_at_half_maximum(&sums, tubes.sampling.spacing_mm[axis])
}
