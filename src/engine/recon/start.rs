//! Start images: the check of given ones, and the level of uniform ones.

use std::sync::Arc;

use super::model::CountTotals;
use super::{EmKernels, SettingsProblem};
use crate::algebra::{BackendError, Image};
use crate::data::Volume;

/// Refuses a start image with negative or non-finite values.
pub(super) fn check_start_image(init: Option<&Volume>) -> Result<(), SettingsProblem> {
    if init.is_some_and(|init| init.as_slice().iter().any(is_unusable)) { Err(SettingsProblem::StartImage) } else { Ok(()) }
}

/// Refuses weights κ with negative or non-finite values, and those that are zero everywhere, with which there is no penalty.
pub(super) fn check_kappa(kappa: Option<&Arc<Volume>>) -> Result<(), SettingsProblem> {
    let is_refused = |kappa: &[f32]| kappa.iter().any(is_unusable) || kappa.iter().all(|weight| *weight == 0.0);
    if kappa.is_some_and(|kappa| is_refused(kappa.as_slice())) { Err(SettingsProblem::UnusableKappa) } else { Ok(()) }
}

fn is_unusable(value: &f32) -> bool {
    !(value.is_finite() && *value >= 0.0)
}

/// An image of ones in the field of view that gets the level of the data.
pub(super) struct UniformStart<'a, B: EmKernels> {
    /// The image, of ones until then.
    pub x: &'a mut B::Array<Image>,
    /// Working memory, an image.
    pub scratch: &'a mut B::Array<Image>,
    /// Sensitivity of the first subset.
    pub sensitivity: &'a B::Array<Image>,
    /// Values of an image.
    pub len: usize,
}

impl<B: EmKernels> UniformStart<'_, B> {
    /// Scales the image so that it makes as many counts expect as the first subset should have, a part `share` of all:
    /// [`CountTotals::start_level`]. Returns false, and leaves the image alone, where it has no level.
    ///
    /// # Errors
    /// Device failure.
    pub fn scale(self, backend: &mut B, totals: CountTotals, share: f64) -> Result<bool, BackendError> {
        let Self { x, scratch, sensitivity, len } = self;
        let of_ones = backend.dot(x, 0, sensitivity, 0..len)?;
        let Some(level) = totals.start_level(share, of_ones) else { return Ok(false) };
        backend.fill(scratch, 0.0)?;
        backend.add_scaled(scratch, 0, level, x, 0..len)?;
        std::mem::swap(x, scratch);
        Ok(true)
    }
}
