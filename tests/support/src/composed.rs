//! Operators one after the other: A G, with a map G from images to images before a projector A, as in a resolution model.

use std::sync::{Mutex, PoisonError};

use tomoscope::algebra::{Backend, Data, Image};
use tomoscope::operator::{Accumulation, LinearOperator, Measured, OperatorError, Subset};
use tomoscope::task::Task;

/// G and Gᵀ on images of one space.
pub trait ImageMap<B: Backend>: Send {
    /// Number of values of an image array.
    fn len(&self) -> usize;

    /// `out` = G x, overwriting `out`.
    ///
    /// # Errors
    /// Stopped, device failure, wrong lengths.
    fn apply(&self, backend: &mut B, x: &B::Array<Image>, out: &mut B::Array<Image>, task: &Task) -> Result<(), OperatorError>;

    /// `out` = Gᵀ x, overwriting `out`.
    ///
    /// # Errors
    /// Stopped, device failure, wrong lengths.
    fn adjoint(&self, backend: &mut B, x: &B::Array<Image>, out: &mut B::Array<Image>, task: &Task) -> Result<(), OperatorError>;

    /// Bytes that one call needs beside its arguments.
    fn scratch_bytes(&self) -> u64;
}

/// A G, as one operator.
pub struct Composed<B: Backend, A, G> {
    projector: A,
    map: G,
    /// What lies between the two, made on first use.
    between: Mutex<Option<B::Array<Image>>>,
}

impl<B: Backend, A: LinearOperator<B>, G: ImageMap<B>> Composed<B, A, G> {
    /// A G.
    pub fn new(projector: A, map: G) -> Self {
        Self { projector, map, between: Mutex::new(None) }
    }

    /// Does something with the image between the two.
    fn with_between<T>(
        &self,
        backend: &mut B,
        work: impl FnOnce(&mut B, &mut B::Array<Image>) -> Result<T, OperatorError>,
    ) -> Result<T, OperatorError> {
        let mut between = self.between.lock().unwrap_or_else(PoisonError::into_inner);
        let image = match &mut *between {
            Some(image) => image,
            none => none.insert(backend.zeros(self.map.len())?),
        };
        work(backend, image)
    }
}

impl<B: Backend, A: LinearOperator<B>, G: ImageMap<B>> LinearOperator<B> for Composed<B, A, G> {
    fn apply(
        &self,
        backend: &mut B,
        subset: Subset,
        x: &B::Array<Image>,
        out: &mut B::Array<Data>,
        task: &Task,
    ) -> Result<(), OperatorError> {
        self.with_between(backend, |backend, image| {
            self.map.apply(backend, x, image, task)?;
            self.projector.apply(backend, subset, image, out, task)
        })
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
        self.with_between(backend, |backend, image| {
            self.map.apply(backend, x, image, task)?;
            self.projector.expect(backend, subset, image, measured, out, task)
        })
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
        self.with_between(backend, |backend, image| {
            self.projector.adjoint(backend, subset, q, accumulation, image, task)?;
            self.map.adjoint(backend, image, out, task)
        })
    }

    fn accumulations(&self) -> &'static [Accumulation] {
        self.projector.accumulations()
    }

    fn scratch_bytes(&self, subset: Subset, accumulation: Accumulation) -> u64 {
        4 * self.map.len() as u64 + self.map.scratch_bytes() + self.projector.scratch_bytes(subset, accumulation)
    }
}
