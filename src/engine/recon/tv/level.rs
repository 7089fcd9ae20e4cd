//! The levels of images: the objective's minimum along a constant in each.
//!
//! A first derivative has nothing at the frequency 0, and a constant over the whole of the projections hardly changes them, nor does it have
//! a variation. The steps find it slowly, and swing about it. So now and then images move there at once, in which nothing else of the objective
//! changes:
//!
//! c = G⁺ Σ (A*s − A*A x), G_ij = 1_i·A*A 1_j
//!
//! over the voxels of the mask of each image. (Constants in the images of several radicals may change the projections alike: G⁺ leaves out
//! directions that single precision does not show.)

use nalgebra::{DMatrix, DVector, SymmetricEigen};

use super::kernels::TotalVariationKernels;
use super::lattice::Lattice;
use crate::algebra::{BackendError, Image};

/// Smallest curvature c·G c, a part of L ‖1‖² ‖c‖², that single precision shows.
const MIN_CURVATURE: f64 = 1e-5;

/// Part of √n ‖u‖ below which the change of a total is not relative to the total.
const MIN_TOTAL: f64 = 0.01;

/// Constants that images are moved along, on a back end.
pub(super) struct Levels<B: TotalVariationKernels> {
    num_voxels: usize,
    /// 1 within the mask, of one image.
    constant: B::Array<Image>,
    /// A*A 1_j of each image j, `[image, z, y, x]`.
    of_model: Vec<B::Array<Image>>,
    /// G⁺.
    inverse: DMatrix<f64>,
    /// Σ u of each image after the last move.
    totals: Vec<f64>,
}

impl<B: TotalVariationKernels> Levels<B> {
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
        let (num_images, num_voxels) = (lattice.num_images, lattice.num_voxels());
        let mut constant = backend.zeros(num_voxels)?;
        match mask {
            Some(mask) => backend.add_scaled(&mut constant, 0, 1.0, mask, 0..num_voxels)?,
            None => backend.fill(&mut constant, 1.0)?,
        }
        let mut one = backend.zeros(num_images * num_voxels)?;
        let mut of_model = Vec::with_capacity(num_images);
        let mut curvatures = DMatrix::zeros(num_images, num_images);
        for j in 0..num_images {
            backend.fill(&mut one, 0.0)?;
            backend.add_scaled(&mut one, j * num_voxels, 1.0, &constant, 0..num_voxels)?;
            let mut response = backend.zeros(num_images * num_voxels)?;
            backend.convolve(coupling, &one, &mut response)?;
            for i in 0..num_images {
                curvatures[(i, j)] = backend.dot(&response, i * num_voxels, &constant, 0..num_voxels)?;
            }
            of_model.push(response);
        }
        let least = MIN_CURVATURE * lipschitz * backend.dot(&constant, 0, &constant, 0..num_voxels)?;
        let SymmetricEigen { eigenvectors, eigenvalues } = (0.5 * (&curvatures + curvatures.transpose())).symmetric_eigen();
        let inverted = eigenvalues.map(|value| if value > least { 1.0 / value } else { 0.0 });
        let inverse = &eigenvectors * DMatrix::from_diagonal(&inverted) * eigenvectors.transpose();
        Ok(Self { num_voxels, constant, of_model, inverse, totals: vec![f64::INFINITY; num_images] })
    }

    /// Moves the images, u and the point, and the residual of the point with it; returns the largest relative change of an image's total since
    /// the last move, infinite at the first one.
    ///
    /// # Errors
    /// Device failure.
    pub fn settle(
        &mut self,
        backend: &mut B,
        [image, u, point]: [&mut B::Array<Image>; 3],
        residual: &mut B::Array<Image>,
    ) -> Result<f64, BackendError> {
        let (num_voxels, num_images) = (self.num_voxels, self.totals.len());
        let all = || 0..num_voxels;
        let mut sums = DVector::zeros(num_images);
        for i in 0..num_images {
            sums[i] = -backend.dot(residual, i * num_voxels, &self.constant, all())?;
        }
        let moves = &self.inverse * sums;
        let mut largest = 0.0_f64;
        for (j, (response, before)) in self.of_model.iter().zip(&mut self.totals).enumerate() {
            let (c, at) = (moves[j] as f32, j * num_voxels);
            if c != 0.0 && c.is_finite() {
                for moved in [&mut *image, &mut *u, &mut *point] {
                    backend.add_scaled(moved, at, c, &self.constant, all())?;
                }
                backend.add_scaled(residual, 0, c, response, 0..num_images * num_voxels)?;
            }
            let total = backend.dot(image, at, &self.constant, all())?;
            let norm = backend.dot(image, at, image, at..at + num_voxels)?.sqrt();
            let size = total.abs().max(MIN_TOTAL * (num_voxels as f64).sqrt() * norm);
            let change = (total - std::mem::replace(before, total)).abs();
            largest = largest.max(if size > 0.0 { change / size } else { 0.0 });
        }
        Ok(largest)
    }
}
