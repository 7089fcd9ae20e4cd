//! The level of one image: the objective's minimum along a constant.
//!
//! A first derivative has nothing at the frequency 0, and a constant over the whole of the projections hardly changes them, nor does it have
//! a variation. The steps find it slowly: after 1000 of them, the total of an image may still be half of that of the minimum. So now and then
//! the image moves there at once (exact line search), in which nothing of the objective changes:
//!
//! c = Σ (A*s − A*A x) / Σ A*A 1
//!
//! over the voxels of the mask. (Constants in the images of several radicals change the projections nearly alike: there the steps alone find the
//! levels.)

use super::kernels::TotalVariationKernels;
use crate::algebra::{BackendError, Image};

/// Smallest 1·A*A 1, a part of L ‖1‖², that single precision shows.
const MIN_CURVATURE: f64 = 1e-6;

/// Part of √n ‖u‖ below which the change of a total is not relative to the total.
const MIN_TOTAL: f64 = 0.01;

/// A constant that an image is moved along, on a back end.
pub(super) struct Level<B: TotalVariationKernels> {
    num_voxels: usize,
    /// 1 within the mask.
    constant: B::Array<Image>,
    /// A*A 1.
    of_model: B::Array<Image>,
    /// 1·A*A 1; infinite where single precision does not show it.
    curvature: f64,
    /// Σ u after the last move.
    total: f64,
}

impl<B: TotalVariationKernels> Level<B> {
    /// Makes the constant of an image with this A*A and its largest eigenvalue L; the mask has the values 0 and 1.
    ///
    /// # Errors
    /// Not enough memory, device failure.
    pub fn new(
        backend: &mut B,
        coupling: &mut B::Coupling,
        num_voxels: usize,
        mask: Option<&B::Array<Image>>,
        lipschitz: f64,
    ) -> Result<Self, BackendError> {
        let mut constant = backend.zeros(num_voxels)?;
        match mask {
            Some(mask) => backend.add_scaled(&mut constant, 0, 1.0, mask, 0..num_voxels)?,
            None => backend.fill(&mut constant, 1.0)?,
        }
        let mut of_model = backend.zeros(num_voxels)?;
        backend.convolve(coupling, &constant, &mut of_model)?;
        let size = backend.dot(&constant, 0, &constant, 0..num_voxels)?;
        let curvature = backend.dot(&constant, 0, &of_model, 0..num_voxels)?;
        let curvature = if curvature > MIN_CURVATURE * lipschitz * size { curvature } else { f64::INFINITY };
        Ok(Self { num_voxels, constant, of_model, curvature, total: f64::INFINITY })
    }

    /// Moves the image, u and the point, and the residual of the point with it; returns the relative change of the image's total since the last
    /// move, infinite at the first one.
    ///
    /// # Errors
    /// Device failure.
    pub fn settle(
        &mut self,
        backend: &mut B,
        images: [&mut B::Array<Image>; 3],
        residual: &mut B::Array<Image>,
    ) -> Result<f64, BackendError> {
        let all = 0..self.num_voxels;
        let c = (-backend.dot(&self.constant, 0, residual, all.clone())? / self.curvature) as f32;
        let [image, u, point] = images;
        if c != 0.0 && c.is_finite() {
            for moved in [&mut *image, u, point] {
                backend.add_scaled(moved, 0, c, &self.constant, all.clone())?;
            }
            backend.add_scaled(residual, 0, c, &self.of_model, all.clone())?;
        }
        let total = backend.dot(&self.constant, 0, image, all.clone())?;
        let norm = backend.dot(image, 0, image, all)?.sqrt();
        let size = total.abs().max(MIN_TOTAL * (self.num_voxels as f64).sqrt() * norm);
        let change = (total - std::mem::replace(&mut self.total, total)).abs();
        Ok(if size > 0.0 { change / size } else { 0.0 })
    }
}
