//! The simulated scanner compared with measurements of the real one (Lage et al. 2009, Phys Med Biol 54:5427, abstract).

use super::plan::Plan;
use crate::data::TubeSet;
use crate::measure::full_width_at_half_maximum;
use crate::montecarlo::TubeRecipe;
use crate::operator::OperatorError;
use crate::reproduce::prelude::*;

/// Decays at the centre that are followed.
const NUM_HISTORIES: u64 = 4_000_000;
/// Largest distance from the axis at which the paper measured, mm.
pub const FAR_MM: f64 = 35.0;

/// FWHM in images of the real scanner, radial, tangential and axial, at the centre and 35 mm from the axis, mm.
pub const PUBLISHED_WIDTHS: [[f64; 2]; 3] = [[1.48, 1.88], [1.56, 2.46], [2.34, 3.38]];
/// Sensitivity of the real scanner at the centre, %.
pub const PUBLISHED_SENSITIVITY_PERCENT: f64 = 2.2;

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
    /// Measures the simulated scanner; the widths are those of the direct planes' tubes at the centre of their lines.
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

/// Returns the FWHM of a direct tube along axis 1 (across) or 2, summed over the other and over the middle fifth of the line.
fn width_mm(tubes: &TubeSet, radial: usize, axis: usize) -> Option<f64> {
    let [num_along, num_across, num_axial] = tubes.sampling.num;
    let tube = tubes.tube(radial, 0);
    let mut sums = vec![0.0; tubes.sampling.num[axis]];
    for along in 2 * num_along / 5..=3 * num_along / 5 {
        for (index, value) in tube[along * num_across * num_axial..][..num_across * num_axial].iter().enumerate() {
            sums[if axis == 1 { index / num_axial } else { index % num_axial }] += f64::from(*value);
        }
    }
    full_width_at_half_maximum(&sums, tubes.sampling.spacing_mm[axis])
}
