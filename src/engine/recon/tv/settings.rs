//! Settings of total variation.

use std::sync::Arc;

use crate::data::{FieldAxis, Sweep, SweepKind, Volume};

/// Settings of [`TotalVariation`](super::algorithm::TotalVariation).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TvSettings {
    /// Strength λ, above 0: λ′ without the scale of the data, as PyEPRI normalises it. Of spectra in each voxel, λ′ is λ thousandths of
    /// the largest |A*s|.
    pub strength: f64,
    /// The run has converged where ‖u′ − u‖ < tolerance · ‖u′‖; 0 = never.
    pub tolerance: f64,
    /// True if images have no values below 0.
    pub is_positive: bool,
    /// Spectrum in each voxel; `None` = one value, or one of each radical.
    pub spectrum: Option<SpectrumSettings>,
    /// Tolerance of the transforms between image and frequencies.
    pub transform_tolerance: f64,
}

impl Default for TvSettings {
    fn default() -> Self {
        Self { strength: 1.0, tolerance: 1e-5, is_positive: false, spectrum: None, transform_tolerance: 1e-6 }
    }
}

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
    /// Start image; `None` = A*s.
    pub init: Option<Arc<Volume>>,
    /// Values outside its positive ones stay 0.
    pub mask: Option<Arc<Volume>>,
}
