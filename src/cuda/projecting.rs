//! One course for every projector: launches of some milliseconds, and the ways to add.

use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use cudarc::driver::CudaSlice;

use super::device::pacing::Pace;
use super::fixed_point::FixedPoint;
use super::{CudaArray, CudaBackend, CudaError};
use crate::algebra::{Data, Image};
use crate::operator::{Accumulation, LinearOperator, OperatorError, Subset, check_lengths};
use crate::task::Task;

/// How a backprojection adds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Adder {
    /// Atomic additions of f32.
    Atomic,
    /// Load, add, store: lost updates.
    NonAtomic,
    /// In the way that fixed point takes: with the same bits on every run where it adds to integers.
    Fixed,
}

/// What a backprojection adds to.
pub(super) enum Sum<'a> {
    /// An image.
    Values(&'a mut CudaSlice<f32>),
    /// An image in 64-bit fixed point, with its scale, units of 1.
    Units(&'a mut CudaSlice<u64>, f32),
}

impl Sum<'_> {
    /// The same for a shorter time.
    pub fn again(&mut self) -> Sum<'_> {
        match self {
            Self::Values(image) => Sum::Values(image),
            Self::Units(image, scale) => Sum::Units(image, *scale),
        }
    }
}

/// Which way a projector works.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Direction {
    Forward,
    Back,
}

/// What the launches of a projector leave behind for the next: how fast each kernel is, and what fixed point needs.
#[derive(Default)]
pub(super) struct Launches(Mutex<State>);

#[derive(Default)]
struct State {
    fixed_point: FixedPoint,
    forward: Pace,
    atomic: Pace,
    non_atomic: Pace,
    fixed: Pace,
    /// [`Adder::Fixed`] to values.
    bound: Pace,
}

/// A projector's launches for part of a subset's work, which is counted in units of its own (bins, sets of transaxial LORs, events).
pub(super) trait Projecting: LinearOperator<CudaBackend> {
    fn launches(&self) -> &Launches;

    /// Number of values of an image.
    fn image_len(&self) -> usize;

    /// Number of values in the data of a subset.
    fn data_len(&self, subset: Subset) -> usize;

    /// Units of work of a subset.
    fn num_units(&self, backend: &CudaBackend, subset: Subset, direction: Direction) -> Result<usize, CudaError>;

    /// Bins of some units: `out` = A x.
    fn launch_forward(
        &self,
        backend: &CudaBackend,
        subset: Subset,
        units: Range<usize>,
        x: &CudaSlice<f32>,
        out: &mut CudaSlice<f32>,
    ) -> Result<(), CudaError>;

    /// `to` += Aᵀ q of these units. [`Adder::Fixed`] comes with integers, and with values where the largest sensitivity is asked
    /// for, which must lose no update.
    fn launch_add(
        &self,
        backend: &CudaBackend,
        subset: Subset,
        units: Range<usize>,
        q: &CudaSlice<f32>,
        adder: Adder,
        to: Sum<'_>,
    ) -> Result<(), CudaError>;

    /// [`LinearOperator::apply`], from the image as the kernel reads it.
    fn project(
        &self,
        backend: &mut CudaBackend,
        subset: Subset,
        x: &CudaSlice<f32>,
        out: &mut CudaArray<Data>,
        task: &Task,
    ) -> Result<(), OperatorError> {
        let num_units = self.num_units(backend, subset, Direction::Forward)?;
        let mut state = self.launches().0.lock().unwrap_or_else(PoisonError::into_inner);
        state.forward.run(backend, num_units, task, |first, count| {
            self.launch_forward(backend, subset, first..first + count, x, &mut out.0)
        })
    }

    /// [`LinearOperator::adjoint`].
    fn backproject(
        &self,
        backend: &mut CudaBackend,
        subset: Subset,
        q: &CudaArray<Data>,
        accumulation: Accumulation,
        out: &mut CudaArray<Image>,
        task: &Task,
    ) -> Result<(), OperatorError> {
        self.check_lengths(subset, out, q)?;
        let num_units = self.num_units(backend, subset, Direction::Back)?;
        let mut state = self.launches().0.lock().unwrap_or_else(PoisonError::into_inner);
        let State { fixed_point, atomic, non_atomic, fixed, bound, .. } = &mut *state;
        let mut add = |backend: &CudaBackend, q: &CudaArray<Data>, adder: Adder, mut to: Sum<'_>| {
            let pace = match (adder, &to) {
                (Adder::Atomic, _) => &mut *atomic,
                (Adder::NonAtomic, _) => &mut *non_atomic,
                (Adder::Fixed, Sum::Units(..)) => &mut *fixed,
                (Adder::Fixed, Sum::Values(_)) => &mut *bound,
            };
            pace.run(backend, num_units, task, |first, count| {
                self.launch_add(backend, subset, first..first + count, &q.0, adder, to.again())
            })
        };
        let adder = match accumulation {
            Accumulation::Atomic => Adder::Atomic,
            Accumulation::NonAtomic => Adder::NonAtomic,
            // Projectors know no other way.
            _ => {
                let data_len = self.data_len(subset);
                return fixed_point
                    .backproject(backend, subset, q, data_len, out, |backend, q, to| add(backend, q, Adder::Fixed, to));
            }
        };
        backend.clear(out)?;
        add(backend, q, adder, Sum::Values(&mut out.0))?;
        Ok(backend.sum_over_team(out)?)
    }

    fn check_lengths(&self, subset: Subset, image: &CudaArray<Image>, data: &CudaArray<Data>) -> Result<(), OperatorError> {
        check_lengths([image.len(), self.image_len()], [data.len(), self.data_len(subset)])
    }
}

/// Bytes that a backprojection needs beside its arguments: in fixed point an image of integers, and once the data of ones.
pub(super) fn scratch_bytes(image_len: usize, data_len: usize, accumulation: Accumulation) -> u64 {
    match accumulation {
        Accumulation::Atomic | Accumulation::NonAtomic => 0,
        _ => 8 * image_len as u64 + 4 * data_len as u64,
    }
}
