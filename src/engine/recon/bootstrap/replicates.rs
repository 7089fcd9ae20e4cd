//! Images of replicates, which expectation maximisation carries along with that of a run.

use std::sync::Arc;

use crate::algebra::{Backend, BackendError, Data, Image};
use crate::operator::{Accumulation, OperatorError};
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
    /// Working memory for replicates that are projected at once with another one.
    further: Vec<(B::Array<Data>, B::Array<Image>)>,
}

/// Working memory of a step.
pub struct Scratch<'a, B: Backend> {
    /// Expected data.
    pub estimate: &'a mut B::Array<Data>,
    /// An image.
    pub image: &'a mut B::Array<Image>,
}

impl<B: EmKernels> Replicates<B> {
    /// Makes the replicates of a model at a start image; `is_unscaled` = it is uniform, and each replicate scales it to its counts.
    /// With this accumulation as many are projected at once as the model can; `data_len` = values of the largest subset.
    ///
    /// # Errors
    /// Too little memory on the device.
    pub fn new(
        backend: &mut B,
        model: &impl ForwardModel<B>,
        accumulation: Accumulation,
        data_len: usize,
        start: &Arc<Vec<f32>>,
        is_unscaled: bool,
    ) -> Result<Self, ReconError> {
        let (num, len) = (model.num_replicates(), start.len());
        let num_further = model.num_at_once(accumulation).min(num).saturating_sub(1);
        let make = |_| {
            // (An uploaded array may share its values: each replicate needs its own.)
            let mut x = backend.zeros(len)?;
            let values = backend.upload(Arc::clone(start))?;
            backend.add_scaled(&mut x, 0, 1.0, &values, 0..len)?;
            Ok::<_, ReconError>(Replicate { x, is_unscaled, num_steps: 0 })
        };
        let images = (0..num).map(make).collect::<Result<_, _>>()?;
        let further = (0..num_further).map(|_| Ok((backend.zeros(data_len)?, backend.zeros(len)?)));
        let further = further.collect::<Result<_, BackendError>>()?;
        Ok(Self { images, len, further })
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

    /// Does the step with this number, counted from 1, with the counts of each replicate, several of them at once where the model can
    /// ([`ForwardModel::num_at_once`]). Replicates that have done it before an
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
        let Self { images, len, further } = self;
        let at_once = model.num_at_once(step.accumulation).clamp(1, 1 + further.len());
        for (number_of_group, group) in images.chunks_mut(at_once).enumerate() {
            let Some(done) = group.iter().position(|image| image.num_steps < number) else { continue };
            let (first, group) = (number_of_group * at_once + done, &mut group[done..]);
            for (index, Replicate { x, is_unscaled, .. }) in group.iter_mut().enumerate().filter(|(_, image)| image.is_unscaled) {
                model.use_replicate(Some(first + index));
                let (totals, share) = (model.totals()?, model.share(step.subset)?);
                let start = UniformStart { x, scratch: scratch.image, sensitivity, len: *len };
                *is_unscaled = !start.scale(step.backend, totals, share)?;
            }
            let mut estimates = vec![&mut *scratch.estimate];
            let mut ratios = vec![&mut *scratch.image];
            for (estimate, ratio) in further.iter_mut().take(group.len() - 1) {
                estimates.push(estimate);
                ratios.push(ratio);
            }
            let at: Vec<&B::Array<Image>> = group.iter().map(|image| &image.x).collect();
            model.forward_each(step, first, &at, &mut estimates)?;
            for (index, estimate) in estimates.iter_mut().enumerate() {
                model.use_replicate(Some(first + index));
                model.poisson_ratio(step, estimate)?;
            }
            model.adjoint_each(step, &mut estimates, &mut ratios)?;
            for (Replicate { x, num_steps, .. }, backprojected_ratio) in group.iter_mut().zip(&ratios) {
                step.backend.em_update(x, backprojected_ratio, sensitivity)?;
                *num_steps = number;
            }
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
