//! The level of the images: the objective's minimum along a constant.
//!
//! A first derivative has nothing at the frequency 0, and a constant over the whole of the projections hardly changes them, nor does it have
//! a variation. The steps find it slowly: after 1000 of them, the total of an image may still be half of that of the minimum. So now and then
//! the image moves there at once (exact line search), in which nothing of the objective changes:
//!
//! c = Σ (A*s − A*A u) / Σ A*A 1
//!
//! over the voxels of the mask. (Constants in the images of several radicals change the projections nearly alike: there the steps alone find the
//! levels.)

use super::kernels::TotalVariationKernels;
use super::lattice::Lattice;
use crate::algebra::{BackendError, Image};

/// Smallest 1·A*A 1, a part of L ‖1‖², that single precision shows.
const MIN_CURVATURE: f64 = 1e-6;

/// Part of √n ‖u‖ below which the change of a total is not relative to the total.
const MIN_TOTAL: f64 = 0.01;

/// Constants that the images are moved along, on a back end.
pub(super) struct Level<B: TotalVariationKernels> {
    /// 1 within the mask.
    constant: B::Array<Image>,
    /// A*A of the constant in the image of each radical, all images.
    of_model: Vec<B::Array<Image>>,
    /// 1·A*A 1 of each.
    curvatures: Vec<f64>,
    /// Σ u of each image after the last move.
    totals: Option<Vec<f64>>,
}

impl<B: TotalVariationKernels> Level<B> {
    /// Makes the constants of images with this A*A and its largest eigenvalue L; the mask has the values 0 and 1.
    ///
    /// # Errors
    /// Not enough memory, device failure.
    pub fn new(
        backend: &mut B,
        coupling: &mut B::Coupling,
        lattice: &Lattice,
        mask: Option<&B::Array<Image>>,
        lipschitz: f64,
    ) -> Result<Self, BackendError> {
        let num_voxels = lattice.num_voxels();
        let mut constant = backend.zeros(num_voxels)?;
        match mask {
            Some(mask) => backend.add_scaled(&mut constant, 0, 1.0, mask, 0..num_voxels)?,
            None => backend.fill(&mut constant, 1.0)?,
        }
        let size = backend.dot(&constant, 0, &constant, 0..num_voxels)?;
        let (mut of_model, mut curvatures) = (Vec::new(), Vec::new());
        for image in 0..lattice.num_images {
            let mut images = backend.zeros::<Image>(lattice.num_images * num_voxels)?;
            backend.add_scaled(&mut images, image * num_voxels, 1.0, &constant, 0..num_voxels)?;
            let mut result = backend.zeros(lattice.num_images * num_voxels)?;
            backend.convolve(coupling, &images, &mut result)?;
            let curvature = backend.dot(&constant, 0, &result, image * num_voxels..(image + 1) * num_voxels)?;
            curvatures.push(if curvature > MIN_CURVATURE * lipschitz * size { curvature } else { f64::INFINITY });
            of_model.push(result);
        }
        Ok(Self { constant, of_model, curvatures, totals: None })
    }

    /// Moves images u, and A*A u with them; returns the change of their totals since the last move, the largest relative one.
    ///
    /// # Errors
    /// Device failure.
    pub fn settle(
        &mut self,
        backend: &mut B,
        lattice: &Lattice,
        [u, of_model]: [&mut B::Array<Image>; 2],
        of_data: &B::Array<Image>,
    ) -> Result<f64, BackendError> {
        let num_voxels = lattice.num_voxels();
        let image = |index: usize| index * num_voxels..(index + 1) * num_voxels;
        for (index, (of_constant, curvature)) in self.of_model.iter().zip(&self.curvatures).enumerate() {
            let missing = backend.dot(&self.constant, 0, of_data, image(index))?
                - backend.dot(&self.constant, 0, of_model, image(index))?;
            let c = (missing / curvature) as f32;
            if c != 0.0 && c.is_finite() {
                backend.add_scaled(u, index * num_voxels, c, &self.constant, 0..num_voxels)?;
                backend.add_scaled(of_model, 0, c, of_constant, 0..lattice.num_images * num_voxels)?;
            }
        }
        let (mut totals, mut change) = (Vec::new(), 0.0_f64);
        for index in 0..lattice.num_images {
            let total = backend.dot(&self.constant, 0, u, image(index))?;
            let norm = backend.dot(u, index * num_voxels, u, image(index))?.sqrt();
            let size = total.abs().max(MIN_TOTAL * (num_voxels as f64).sqrt() * norm);
            let before = self.totals.as_ref().map_or(f64::INFINITY, |totals| totals[index]);
            change = change.max(if size > 0.0 { (total - before).abs() / size } else { 0.0 });
            totals.push(total);
        }
        self.totals = Some(totals);
        Ok(change)
    }
}
