//! Images of replicates, which expectation maximisation carries along with that of a run.

use std::sync::Arc;

use crate::algebra::{Backend, Data, Image};
use crate::operator::OperatorError;
use crate::recon::model::{ForwardModel, Step};
use crate::recon::start::UniformStart;
use crate::recon::{EmKernels, ReconError};

/// Image of a replicate.
struct Replicate<B: Backend> {
    x: B::Array<Image>,
    /// True while it is the uniform start image, not yet scaled to the number of counts.
    is_unscaled: bool,
    num_steps: usize,
}

/// Images of all replicates of a run.
pub struct Replicates<B: Backend> {
    images: Vec<Replicate<B>>,
    /// Values of an image.
    len: usize,
}

/// Working memory of a step.
pub struct Scratch<'a, B: Backend> {
    /// Expected data.
    pub estimate: &'a mut B::Array<Data>,
    /// An image.
    pub image: &'a mut B::Array<Image>,
}

impl<B: EmKernels> Replicates<B> {
    /// Makes this number of replicates at a start image; `is_unscaled` = it is uniform, and each replicate scales it to its counts.
    ///
    /// # Errors
    /// Too little memory on the device.
    pub fn new(backend: &mut B, num: usize, start: &Arc<Vec<f32>>, is_unscaled: bool) -> Result<Self, ReconError> {
        let len = start.len();
        let make = |_| {
            // (An uploaded array may share its values: each replicate needs its own.)
            let mut x = backend.zeros(len)?;
            let values = backend.upload(Arc::clone(start))?;
            backend.add_scaled(&mut x, 0, 1.0, &values, 0..len)?;
            Ok::<_, ReconError>(Replicate { x, is_unscaled, num_steps: 0 })
        };
        Ok(Self { images: (0..num).map(make).collect::<Result<_, _>>()?, len })
    }

    /// Returns the number of replicates after this number of steps; 0 if an interrupted step left some of them behind.
    pub fn num_after(&self, num_steps: usize) -> usize {
        let are_in_step = self.images.iter().all(|image| image.num_steps == num_steps);
        if are_in_step { self.images.len() } else { 0 }
    }

    /// Returns the image of a replicate.
    pub fn image(&self, replicate: usize) -> Option<&B::Array<Image>> {
        Some(&self.images.get(replicate)?.x)
    }

    /// Does the step with this number, counted from 1, with the counts of each replicate. Replicates that have done it before an
    /// interruption are left alone.
    ///
    /// # Errors
    /// Stopped, device failure.
    pub fn step(
        &mut self,
        number: usize,
        model: &mut impl ForwardModel<B>,
        step: &mut Step<'_, B>,
        scratch: &mut Scratch<'_, B>,
        sensitivity: &B::Array<Image>,
    ) -> Result<(), OperatorError> {
        let done = self.step_each(number, model, step, scratch, sensitivity);
        model.use_replicate(None);
        done
    }

    fn step_each(
        &mut self,
        number: usize,
        model: &mut impl ForwardModel<B>,
        step: &mut Step<'_, B>,
        scratch: &mut Scratch<'_, B>,
        sensitivity: &B::Array<Image>,
    ) -> Result<(), OperatorError> {
        let len = self.len;
        let behind = self.images.iter_mut().enumerate().filter(|(_, image)| image.num_steps < number);
        for (index, Replicate { x, is_unscaled, num_steps }) in behind {
            model.use_replicate(Some(index));
            if *is_unscaled {
                let (totals, share) = (model.totals()?, model.share(step.subset)?);
                let start = UniformStart { x, scratch: scratch.image, sensitivity, len };
                *is_unscaled = !start.scale(step.backend, totals, share)?;
            }
            model.forward(step, x, scratch.estimate)?;
            model.poisson_ratio(step, scratch.estimate)?;
            model.adjoint(step, scratch.estimate, scratch.image)?;
            step.backend.em_update(x, scratch.image, sensitivity)?;
            *num_steps = number;
        }
        Ok(step.backend.finish()?)
    }

    /// Sets all images to 0 where the sensitivity of all data is 0.
    ///
    /// # Errors
    /// Device failure.
    pub fn mask(&mut self, backend: &mut B, scratch: &mut B::Array<Image>, total: &B::Array<Image>) -> Result<(), OperatorError> {
        for Replicate { x, .. } in &mut self.images {
            backend.masked(scratch, x, total)?;
            std::mem::swap(x, scratch);
        }
        Ok(())
    }
}
