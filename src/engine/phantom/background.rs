//! A smooth background like that of scatter and randoms: not their physics, but their looks, so that an additive term
//! has something to correct.
//!
//! Half of the counts look like scatter: the trues of each view, summed over the planes and blurred tangentially with a
//! Gaussian of FWHM 0.4 × the field-of-view radius, times a triangle 1 − |m| / L in the axial middle m of the plane (L
//! the scanner's axial length). The other half look like randoms: the same in every bin.

use crate::scanner::ScanGeometry;

/// Share of the background that looks like scatter.
const SCATTER_SHARE: f64 = 0.5;
/// Tangential FWHM of the blur relative to the radius of the field of view.
const BLUR_FWHM: f64 = 0.4;

/// Expected background of every bin, as a product and a constant.
pub(super) struct Background {
    scatter: Vec<f64>,
    axial: Vec<f64>,
    randoms: f64,
}

impl Background {
    /// Returns a background of `counts` in all, for trues that sum to `trues` over the planes of each transaxial LOR.
    pub(super) fn new(geometry: &ScanGeometry, trues: &[f64], counts: f64) -> Self {
        let mut scatter: Vec<f64> = trues.chunks(geometry.num_tangential).flat_map(|view| blurred(geometry, view)).collect();
        let length = geometry.axial_length_mm();
        let middle = |plane: &crate::scanner::Plane| 0.5 * (plane.z_start_mm + plane.z_end_mm);
        let axial: Vec<f64> = geometry.planes().iter().map(|plane| 1.0 - middle(plane).abs() / length).collect();
        let sum = scatter.iter().sum::<f64>() * axial.iter().sum::<f64>();
        let share = if sum > 0.0 { SCATTER_SHARE } else { 0.0 };
        for value in &mut scatter {
            *value *= if sum > 0.0 { share * counts / sum } else { 0.0 };
        }
        Self { scatter, axial, randoms: (1.0 - share) * counts / geometry.num_bins() as f64 }
    }

    /// Returns the expected background of a bin.
    pub(super) fn expected(&self, transaxial: usize, plane: usize) -> f64 {
        self.scatter[transaxial] * self.axial[plane] + self.randoms
    }
}

/// Returns a view's tangential profile, blurred over the distances between its bins.
fn blurred(geometry: &ScanGeometry, view: &[f64]) -> Vec<f64> {
    let sigma_mm = BLUR_FWHM * geometry.fov_radius_mm / (8.0 * std::f64::consts::LN_2).sqrt();
    let s_mm: Vec<f64> = (0..view.len()).map(|tangential_pos| geometry.s_mm(tangential_pos)).collect();
    let weight = |a: f64, b: f64| (-0.5 * ((a - b) / sigma_mm).powi(2)).exp();
    s_mm.iter().map(|&at| s_mm.iter().zip(view).map(|(&from, value)| value * weight(at, from)).sum()).collect()
}
