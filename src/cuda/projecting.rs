//! One course for every projector: launches of some milliseconds, and the three ways to add.

use std::sync::{Mutex, PoisonError};

use cudarc::driver::CudaSlice;

use super::fixed_point::FixedPoint;
use super::kernel::{Kernel, Module};
use super::pacing::Pace;
use super::{CudaArray, CudaBackend, CudaError};
use crate::algebra::{Data, Image};
use crate::operator::{Accumulation, LinearOperator, OperatorError, Subset, check_lengths};
use crate::task::Task;

/// The kernels that every projector has.
pub(super) struct ProjectorKernels {
    pub forward: Kernel,
    pub atomic: Kernel,
    pub non_atomic: Kernel,
    pub fixed: Kernel,
}

impl ProjectorKernels {
    pub fn load(module: &Module) -> Result<Self, CudaError> {
        Ok(Self {
            forward: module.kernel("forward")?,
            atomic: module.kernel("atomic")?,
            non_atomic: module.kernel("non_atomic")?,
            fixed: module.kernel("fixed")?,
        })
    }

    pub fn all(&self) -> [&Kernel; 4] {
        [&self.forward, &self.atomic, &self.non_atomic, &self.fixed]
    }
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
}

/// A projector's launches for part of a subset's work, which is counted in units of its own (bins, sets of transaxial LORs, events).
pub(super) trait Projecting: LinearOperator<CudaBackend> {
    fn kernels(&self) -> &ProjectorKernels;

    fn launches(&self) -> &Launches;

    /// Number of values of an image.
    fn image_len(&self) -> usize;

    /// Number of values in the data of a subset.
    fn data_len(&self, subset: Subset) -> usize;

    /// Units of work of a subset.
    fn num_units(&self, backend: &CudaBackend, subset: Subset) -> Result<usize, CudaError>;

    /// Bins of `count` units from `first` on: `out` = A x.
    fn launch_forward(
        &self,
        backend: &CudaBackend,
        subset: Subset,
        units: [usize; 2],
        x: &CudaSlice<f32>,
        out: &mut CudaSlice<f32>,
    ) -> Result<(), CudaError>;

    /// `image` += Aᵀ q of these units, by a kernel that adds f32.
    fn launch_add(
        &self,
        backend: &CudaBackend,
        kernel: &Kernel,
        subset: Subset,
        units: [usize; 2],
        q: &CudaSlice<f32>,
        image: &mut CudaSlice<f32>,
    ) -> Result<(), CudaError>;

    /// The same in integers, at a scale.
    fn launch_fixed(
        &self,
        backend: &CudaBackend,
        subset: Subset,
        units: [usize; 2],
        q: &CudaSlice<f32>,
        image: &mut CudaSlice<u64>,
        scale: f32,
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
        let num_units = self.num_units(backend, subset)?;
        let mut state = self.launches().0.lock().unwrap_or_else(PoisonError::into_inner);
        state
            .forward
            .run(backend, num_units, task, |first, count| self.launch_forward(backend, subset, [first, count], x, &mut out.0))
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
        let mut state = self.launches().0.lock().unwrap_or_else(PoisonError::into_inner);
        let State { fixed_point, atomic, non_atomic, fixed, .. } = &mut *state;
        let num_units = self.num_units(backend, subset)?;
        let add = |backend: &CudaBackend, kernel: &Kernel, pace: &mut Pace, q: &CudaArray<Data>, image: &mut CudaArray<Image>| {
            pace.run(backend, num_units, task, |first, count| {
                self.launch_add(backend, kernel, subset, [first, count], &q.0, &mut image.0)
            })
        };
        let kernels = self.kernels();
        match accumulation {
            Accumulation::Atomic => {
                backend.clear(out)?;
                add(backend, &kernels.atomic, atomic, q, out)?;
                Ok(backend.sum_over_team(out)?)
            }
            Accumulation::NonAtomic => {
                backend.clear(out)?;
                add(backend, &kernels.non_atomic, non_atomic, q, out)?;
                Ok(backend.sum_over_team(out)?)
            }
            // Lines know no other way.
            _ => fixed_point.backproject(
                backend,
                subset,
                q,
                self.data_len(subset),
                out,
                |backend, ones, image| add(backend, &kernels.atomic, atomic, ones, image),
                |backend, image, scale| {
                    fixed.run(backend, num_units, task, |first, count| {
                        self.launch_fixed(backend, subset, [first, count], &q.0, &mut *image, scale)
                    })
                },
            ),
        }
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
