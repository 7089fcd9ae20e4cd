//! The preconditioner of SVRG,
//!
//! ```text
//! P = x̄ / (Aᵀm + 3/2 · β diag(∇²R(x̄)) x̄),   x̄ = the image smoothed, at least δ
//! ```
//!
//! and 0 where Aᵀm = 0. Images that are not made of voxels are smooth already: there x̄ = their coefficients.

use super::objective::{Objective, SMOOTHING_FWHM_MM, copy};
use crate::algebra::{BackendError, Image, ImageSpace};
use crate::recon::{EmKernels, ForwardModel};

/// Weight of the penalty's curvature.
const CURVATURE_WEIGHT: f32 = 1.5;

/// Maker of P on the device.
pub(super) struct Preconditioner<B: EmKernels> {
    /// The maps that smooth an image one after the other; `None` until they are needed.
    smoothing: Option<Vec<B::VoxelMap>>,
}

impl<B: EmKernels> Preconditioner<B> {
    /// Returns it without maps.
    pub fn new() -> Self {
        Self { smoothing: None }
    }

    /// `x` = P at the present image; `delta` = δ. The scratch arrays are images.
    pub fn make<M: ForwardModel<B>, S: ImageSpace<B>>(
        &mut self,
        objective: &mut Objective<B, M, S>,
        delta: f32,
        x: &mut B::Array<Image>,
        [smoothed, scratch]: [&mut B::Array<Image>; 2],
    ) -> Result<(), BackendError> {
        let all = objective.all();
        let maps = match &self.smoothing {
            Some(maps) => maps,
            None => self.smoothing.insert(objective.smoothing_maps(SMOOTHING_FWHM_MM)?),
        };
        objective.copy_into(smoothed)?;
        for map in maps {
            objective.backend.map_voxels(map, smoothed, scratch)?;
            std::mem::swap(smoothed, scratch);
        }
        objective.backend.fill(scratch, 0.0)?;
        objective.add_penalty_curvature(smoothed, scratch)?;
        let Objective { backend, sensitivity, .. } = objective;
        // At least δ: larger values stay.
        backend.fill(x, delta)?;
        backend.add_scaled(smoothed, 0, -1.0, x, all.clone())?;
        backend.masked(x, smoothed, smoothed)?;
        backend.fill(smoothed, delta)?;
        backend.add_scaled(x, 0, 1.0, smoothed, all.clone())?;
        // The divisor.
        backend.multiply(scratch, 0, x, all.clone())?;
        copy(backend, sensitivity, smoothed, all.clone())?;
        backend.add_scaled(smoothed, 0, CURVATURE_WEIGHT, scratch, all)?;
        // x̄ · 1 / divisor.
        backend.masked(scratch, x, sensitivity)?;
        backend.fill(x, 1.0)?;
        backend.em_update(scratch, x, smoothed)?;
        std::mem::swap(x, scratch);
        Ok(())
    }
}
