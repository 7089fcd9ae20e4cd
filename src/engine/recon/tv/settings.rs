//! Settings of total variation.

use std::sync::Arc;

use crate::data::{FieldAxis, Sweep, SweepKind, Volume};

/// Last update over the tolerance above which an image is far from a converged one.
const MAX_UPDATE: f64 = 10.0;

/// Settings of [`TotalVariation`](super::algorithm::TotalVariation).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TvSettings {
    /// Strength λ, above 0: λ′ without the scale of the data, as PyEPRI normalises it; `None` = by the noise of the projections, or 1. Of
    /// spectra in each voxel, λ′ is λ thousandths of the largest |A*s|.
    pub strength: Option<f64>,
    /// The run has converged where a step changes the image by less than this part of its norm, and of its total; 0 = never.
    pub tolerance: f64,
    /// True if images have no values below 0.
    pub is_positive: bool,
    /// Spectrum in each voxel; `None` = one value, or one of each radical.
    pub spectrum: Option<SpectrumSettings>,
    /// Tolerance of the transforms between image and frequencies.
    pub transform_tolerance: f64,
    /// True for PyEPRI's start image and steps, and no moves of the level: each iterate is then PyEPRI's.
    pub has_pyepri_iterates: bool,
}

impl Default for TvSettings {
    fn default() -> Self {
        Self {
            strength: None,
            tolerance: 1e-5,
            is_positive: false,
            spectrum: None,
            transform_tolerance: 1e-6,
            has_pyepri_iterates: false,
        }
    }
}

impl TvSettings {
    /// Returns true if a run finds its strength by the noise.
    pub fn is_by_noise(&self) -> bool {
        self.strength.is_none() && self.spectrum.is_none()
    }

    /// Returns how far an image is from a converged one after a step that changed it by `update` of its norm or total, as a clause; `None` of
    /// a converged one, and without a tolerance.
    pub fn distance(&self, update: f64) -> Option<String> {
        let tolerance = self.tolerance;
        (tolerance > 0.0 && update >= tolerance).then(|| match update.is_finite() {
            true => {
                format!("the last step changed the image by {update:.1e} of its norm or total; the tolerance is {tolerance:.0e}")
            }
            false => format!("the change of its total shows after 10 iterations; the tolerance is {tolerance:.0e}"),
        })
    }

    /// Returns the same of an image that is far from a converged one: by 10 tolerances.
    pub fn unconverged(&self, update: f64) -> Option<String> {
        self.distance(update).filter(|_| update > MAX_UPDATE * self.tolerance)
    }
}

/// Usual λ of spectra in each voxel. Lines of `vials` are narrower with more.
pub const SPECTRAL_STRENGTH: f64 = 0.3;

/// Settings of a spectrum in each voxel.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SpectrumSettings {
    /// Samples of a spectrum, over the same fields as a projection.
    pub num_samples: usize,
    /// Weight of the differences along the spectra, relative to those in space; 0 = none.
    pub strength: f64,
}

impl SpectrumSettings {
    /// Returns the axis of the spectra of continuous-wave data; its sample ⌊N/2⌋ is the middle of the field sweep.
    pub fn axis(&self, sweep: &Sweep) -> Option<FieldAxis> {
        let SweepKind::ContinuousWave { step_mt, .. } = sweep.kind else { return None };
        let (num_samples, step_mt) = (self.num_samples, step_mt * sweep.num_points as f64 / self.num_samples as f64);
        Some(FieldAxis { first_mt: -((num_samples / 2) as f64) * step_mt, step_mt, num_samples })
    }
}

/// Images that a run is given.
#[derive(Clone, Debug, Default)]
pub struct TvImages {
    /// Start image; `None` = filtered backprojection, of several images A*s.
    pub init: Option<Arc<Volume>>,
    /// Values outside its positive ones stay 0.
    pub mask: Option<Arc<Volume>>,
}
