//! Fits of all voxels of images, on the device that has them.

use rayon::prelude::*;

use super::super::outcomes::Outcome;
use super::error::OximetryError;
use super::fit::{RateFit, RateFitter};
use crate::task::Task;

/// Voxels of a piece of work between two looks at the task.
const CHUNK: usize = 4096;

/// Fit of a voxel; `Err(None)` = masked.
pub type VoxelFit = Outcome<RateFit>;

/// A device that fits relaxation rates. On CUDA: `kernels/oximetry.cu`.
pub trait VoxelFits: Send {
    /// Returns the device's name.
    fn device(&self) -> String;

    /// Fits every voxel that is not masked. `images` has the values of all voxels at each of the fitter's times. `task` counts voxels.
    ///
    /// # Errors
    /// Another number of images than of times, stopped, device failure.
    fn fit(
        &mut self,
        fitter: &RateFitter,
        images: &[&[f32]],
        is_masked: &[bool],
        task: &Task,
    ) -> Result<Vec<VoxelFit>, OximetryError>;
}

/// All threads of the processor: [`RateFitter::fit`] in each voxel.
pub struct FitsOnThreads;

impl VoxelFits for FitsOnThreads {
    fn device(&self) -> String {
        "CPU".to_owned()
    }

    fn fit(
        &mut self,
        fitter: &RateFitter,
        images: &[&[f32]],
        is_masked: &[bool],
        task: &Task,
    ) -> Result<Vec<VoxelFit>, OximetryError> {
        fitter.check_num_images(images.len())?;
        task.begin(is_masked.len() as u64);
        let mut fits: Vec<VoxelFit> = vec![Err(None); is_masked.len()];
        fits.par_chunks_mut(CHUNK).enumerate().try_for_each(|(chunk, fits)| {
            task.check()?;
            let (mut values, mut scratch) = (vec![0.0; images.len()], Vec::with_capacity(images.len()));
            for (index, fit) in fits.iter_mut().enumerate() {
                let voxel = chunk * CHUNK + index;
                if !is_masked[voxel] {
                    values.iter_mut().zip(images).for_each(|(value, image)| *value = f64::from(image[voxel]));
                    *fit = fitter.fit(&values, &mut scratch).map_err(Some);
                }
            }
            task.advance(fits.len() as u64);
            Ok::<_, OximetryError>(())
        })?;
        Ok(fits)
    }
}
