//! An operator behind the steps of an image.

use std::sync::{Mutex, PoisonError};

use super::ImageModel;
use crate::algebra::{Backend, BackendError, Data, Image, VoxelMap};
use crate::operator::{Accumulation, LinearOperator, Measured, OperatorError, Subset};
use crate::task::Task;

/// A G for an operator A and the steps G of an image, with its exact adjoint.
pub struct Composed<B: Backend, A> {
    operator: A,
    forward: Vec<B::VoxelMap>,
    back: Vec<B::VoxelMap>,
    /// True if images hold values that are no voxels, which the steps back leave as they are.
    leaves_padding: bool,
    /// Bytes of arrays and tables.
    bytes: u64,
    scratch: Mutex<Scratch<B>>,
}

/// Images between the steps.
struct Scratch<B: Backend> {
    between: [B::Array<Image>; 2],
    projected: B::Array<Image>,
}

impl<B: Backend, A> Composed<B, A> {
    /// Combines them.
    ///
    /// # Errors
    /// Not enough memory, device failure.
    pub fn new(backend: &mut B, operator: A, model: &ImageModel) -> Result<Self, OperatorError> {
        let [from, to] = [&model.from, &model.to];
        let forward = backend.voxel_maps(model.forward())?;
        let back = backend.voxel_maps(model.back())?;
        let num_between = forward.len().max(back.len()).saturating_sub(1).min(2);
        let between_len = |number: usize| if number < num_between { from.len } else { 0 };
        let scratch = Scratch {
            between: [backend.zeros(between_len(0))?, backend.zeros(between_len(1))?],
            projected: backend.zeros(to.len)?,
        };
        let bytes = 4 * (num_between * from.len + to.len) as u64 + 2 * model.steps.iter().map(VoxelMap::bytes).sum::<u64>();
        let leaves_padding = from.has_padding() && !back.last().is_some_and(B::fills);
        Ok(Self { operator, forward, back, leaves_padding, bytes, scratch: Mutex::new(scratch) })
    }

    /// Returns G x for the coefficients of an image.
    ///
    /// # Errors
    /// Device failure.
    pub fn image(&self, backend: &mut B, x: &B::Array<Image>, out: &mut B::Array<Image>) -> Result<(), OperatorError> {
        let mut scratch = self.scratch.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(chain(backend, &self.forward, x, &mut scratch.between, out)?)
    }

    /// Returns Gᵀ x for the coefficients of an image.
    ///
    /// # Errors
    /// Device failure.
    pub fn image_adjoint(&self, backend: &mut B, x: &B::Array<Image>, out: &mut B::Array<Image>) -> Result<(), OperatorError> {
        let mut scratch = self.scratch.lock().unwrap_or_else(PoisonError::into_inner);
        self.clear_padding(backend, out)?;
        Ok(chain(backend, &self.back, x, &mut scratch.between, out)?)
    }

    fn clear_padding(&self, backend: &mut B, image: &mut B::Array<Image>) -> Result<(), BackendError> {
        if self.leaves_padding { backend.fill(image, 0.0) } else { Ok(()) }
    }
}

/// `out` = all steps of x, one after the other.
fn chain<B: Backend>(
    backend: &mut B,
    steps: &[B::VoxelMap],
    x: &B::Array<Image>,
    between: &mut [B::Array<Image>; 2],
    out: &mut B::Array<Image>,
) -> Result<(), BackendError> {
    let [a, b] = between;
    for (number, step) in steps.iter().enumerate() {
        let (is_first, is_last) = (number == 0, number + 1 == steps.len());
        match (is_first, is_last) {
            (true, true) => backend.map_voxels(step, x, out)?,
            (true, false) => backend.map_voxels(step, x, a)?,
            (false, true) => backend.map_voxels(step, a, out)?,
            (false, false) => {
                backend.map_voxels(step, a, b)?;
                std::mem::swap(a, b);
            }
        }
    }
    Ok(())
}

impl<B: Backend, A: LinearOperator<B>> LinearOperator<B> for Composed<B, A> {
    fn apply(
        &self,
        backend: &mut B,
        subset: Subset,
        x: &B::Array<Image>,
        out: &mut B::Array<Data>,
        task: &Task,
    ) -> Result<(), OperatorError> {
        let mut scratch = self.scratch.lock().unwrap_or_else(PoisonError::into_inner);
        let Scratch { between, projected } = &mut *scratch;
        chain(backend, &self.forward, x, between, projected)?;
        self.operator.apply(backend, subset, projected, out, task)
    }

    fn expect(
        &self,
        backend: &mut B,
        subset: Subset,
        x: &B::Array<Image>,
        measured: &Measured<'_, B>,
        out: &mut B::Array<Data>,
        task: &Task,
    ) -> Result<(), OperatorError> {
        let mut scratch = self.scratch.lock().unwrap_or_else(PoisonError::into_inner);
        let Scratch { between, projected } = &mut *scratch;
        chain(backend, &self.forward, x, between, projected)?;
        self.operator.expect(backend, subset, projected, measured, out, task)
    }

    fn adjoint(
        &self,
        backend: &mut B,
        subset: Subset,
        q: &B::Array<Data>,
        accumulation: Accumulation,
        out: &mut B::Array<Image>,
        task: &Task,
    ) -> Result<(), OperatorError> {
        let mut scratch = self.scratch.lock().unwrap_or_else(PoisonError::into_inner);
        let Scratch { between, projected } = &mut *scratch;
        self.operator.adjoint(backend, subset, q, accumulation, projected, task)?;
        self.clear_padding(backend, out)?;
        Ok(chain(backend, &self.back, projected, between, out)?)
    }

    fn accumulations(&self) -> &'static [Accumulation] {
        self.operator.accumulations()
    }

    fn scratch_bytes(&self, subset: Subset, accumulation: Accumulation) -> u64 {
        self.bytes + self.operator.scratch_bytes(subset, accumulation)
    }
}
