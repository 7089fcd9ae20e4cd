//! Common course of all projectors: launches of some milliseconds, accumulations, and the operator that they make.

use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use cudarc::driver::CudaSlice;

use super::backend::{CudaArray, CudaBackend};
use super::device::pacing::Pace;
use super::error::CudaError;
use super::fixed_point::{FixedPoint, Sum};
use crate::algebra::{BackendError, Data, Image, PeerGroup, Voxels};
use crate::operator::{
    Accumulation, LinearOperator, Measured, OperatorError, ShardData, ShardOperator, Subset, ViewProjector, Views, check_lengths,
};
use crate::task::Task;

/// Way in which a backprojection adds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Adder {
    /// Atomic additions of f32.
    Atomic,
    /// Load, add, store: lost updates.
    NonAtomic,
    /// Additions to integers: the same bits on every run.
    Fixed,
}

/// Launches, among the kernels `atomic`, `non_atomic` and `fixed` of a projector, the one that adds to the target in the given
/// way. The arguments before and after the target are the same for all.
macro_rules! launch_adding {
    ($kernels:expr, $adder:expr, $to:expr, [$($before:expr),*], [$($after:expr),*]) => {
        match ($to, $adder) {
            (Sum::Values(image), Adder::NonAtomic) => $kernels.non_atomic.launch($($before,)* image, $($after),*),
            (Sum::Values(image), _) => $kernels.atomic.launch($($before,)* image, $($after),*),
            (Sum::Units(image, scale), _) => $kernels.fixed.launch($($before,)* image, scale, $($after),*),
        }
    };
}
pub(super) use launch_adding;

/// Part of a subset's work for one launch, as a range of the projector's units.
pub(super) struct Piece<'a> {
    pub backend: &'a CudaBackend,
    pub subset: Subset,
    pub units: Range<usize>,
}

/// Direction of a projection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Direction {
    Forward,
    Back,
}

/// State of a projector between its launches: the speed of each kernel, and the image and sensitivities of fixed point.
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

/// Projections of several images at once, with atomic additions.
pub(super) trait ProjectingAtOnce {
    /// Returns the largest number of images.
    fn num_at_once(&self) -> usize;

    /// `out` = A x of each image.
    ///
    /// # Errors
    /// Stopped, device failure.
    fn project_each(
        &self,
        backend: &CudaBackend,
        subset: Subset,
        images: &[&CudaArray<Image>],
        out: &mut [&mut CudaArray<Data>],
        task: &Task,
    ) -> Result<(), OperatorError>;

    /// `out` = Aᵀ q of each, complete and over the group.
    ///
    /// # Errors
    /// Stopped, device failure.
    fn backproject_each(
        &self,
        backend: &CudaBackend,
        subset: Subset,
        q: &[&CudaArray<Data>],
        out: &mut [&mut CudaArray<Image>],
        task: &Task,
    ) -> Result<(), OperatorError>;
}

/// Launches of a projector for part of a subset's work, which each projector counts in its units (bins, sets of transaxial LORs,
/// events). They make the [`LinearOperator`].
pub(super) trait Projecting: Send {
    fn launches(&self) -> &Launches;

    /// Returns its images.
    fn voxels(&self) -> &Voxels;

    /// Returns the number of values in the data of a subset.
    fn data_len(&self, subset: Subset) -> usize;

    /// Returns the ways in which a backprojection can add.
    fn accumulations(&self) -> &'static [Accumulation] {
        Accumulation::OF_LINES
    }

    /// Returns a bound of the elements of the matrix: by default the longest way through a voxel.
    fn largest_element(&self) -> f64 {
        self.voxels().grid().voxel_mm.iter().map(|side| side * side).sum::<f64>().sqrt()
    }

    /// Returns the units of work of a subset; by default its data.
    fn num_units(&self, _: &CudaBackend, subset: Subset, _: Direction) -> Result<usize, CudaError> {
        Ok(self.data_len(subset))
    }

    /// Returns the bytes of further memory in the projections of a subset.
    fn own_bytes(&self, _: Subset) -> u64 {
        0
    }

    /// Brings the tables of a subset to the device, before launches are timed.
    fn prepare(&self, _: &CudaBackend, _: Subset) -> Result<(), BackendError> {
        Ok(())
    }

    /// Launches `out` = A x for some units.
    fn launch_forward(&self, piece: &Piece<'_>, x: &CudaSlice<f32>, out: &mut CudaSlice<f32>) -> Result<(), CudaError>;

    /// Launches `to` += Aᵀ q for some units. [`Adder::Fixed`] comes with integers, the others with values.
    fn launch_add(&self, piece: &Piece<'_>, q: &CudaSlice<f32>, adder: Adder, to: Sum<'_>) -> Result<(), CudaError>;

    /// Returns its way to project several images at once; `None` = one after the other.
    fn at_once(&self) -> Option<&dyn ProjectingAtOnce> {
        None
    }

    /// Completes the image of a backprojection.
    fn finish(&self, _: &mut CudaBackend, _: &mut CudaArray<Image>) -> Result<(), BackendError> {
        Ok(())
    }

    /// [`LinearOperator::apply`], after the check of lengths.
    fn forward(
        &self,
        backend: &mut CudaBackend,
        subset: Subset,
        x: &CudaArray<Image>,
        out: &mut CudaArray<Data>,
        task: &Task,
    ) -> Result<(), OperatorError> {
        self.prepare(backend, subset)?;
        self.project(backend, subset, &x.0, out, task)
    }

    /// [`LinearOperator::expect`], after the check of lengths.
    fn forward_measured(
        &self,
        backend: &mut CudaBackend,
        subset: Subset,
        x: &CudaArray<Image>,
        _: &Measured<'_, CudaBackend>,
        out: &mut CudaArray<Data>,
        task: &Task,
    ) -> Result<(), OperatorError> {
        self.forward(backend, subset, x, out, task)
    }

    /// Projects the image that the kernel reads.
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
            self.launch_forward(&Piece { backend, subset, units: first..first + count }, x, &mut out.0)
        })
    }

    /// Backprojects, and sums over the group.
    fn backproject(
        &self,
        backend: &mut CudaBackend,
        subset: Subset,
        q: &CudaArray<Data>,
        accumulation: Accumulation,
        out: &mut CudaArray<Image>,
        task: &Task,
    ) -> Result<(), OperatorError> {
        let num_units = self.num_units(backend, subset, Direction::Back)?;
        let mut state = self.launches().0.lock().unwrap_or_else(PoisonError::into_inner);
        let State { fixed_point, atomic, non_atomic, fixed, .. } = &mut *state;
        let mut add = |backend: &CudaBackend, q: &CudaArray<Data>, adder: Adder, mut to: Sum<'_>| {
            let pace = match adder {
                Adder::Atomic => &mut *atomic,
                Adder::NonAtomic => &mut *non_atomic,
                Adder::Fixed => &mut *fixed,
            };
            pace.run(backend, num_units, task, |first, count| {
                self.launch_add(&Piece { backend, subset, units: first..first + count }, &q.0, adder, to.again())
            })
        };
        let adder = match accumulation {
            Accumulation::Atomic => Adder::Atomic,
            Accumulation::NonAtomic => Adder::NonAtomic,
            // Projectors support only these.
            _ => {
                let data = (q, self.data_len(subset));
                let add = |backend: &mut CudaBackend, q: &CudaArray<Data>, to: Sum<'_>| add(backend, q, Adder::Fixed, to);
                return fixed_point.backproject(backend, subset, data, self.largest_element(), out, add);
            }
        };
        backend.clear(out)?;
        add(backend, q, adder, Sum::Values(&mut out.0))?;
        Ok(backend.sum_over_group(&mut out.0)?)
    }

    fn check_lengths(&self, subset: Subset, image: &CudaArray<Image>, data: &CudaArray<Data>) -> Result<(), OperatorError> {
        check_lengths([image.len(), self.voxels().len()], [data.len(), self.data_len(subset)])
    }
}

impl<P: Projecting> LinearOperator<CudaBackend> for P {
    fn apply(
        &self,
        backend: &mut CudaBackend,
        subset: Subset,
        x: &CudaArray<Image>,
        out: &mut CudaArray<Data>,
        task: &Task,
    ) -> Result<(), OperatorError> {
        self.check_lengths(subset, x, out)?;
        self.forward(backend, subset, x, out, task)
    }

    fn expect(
        &self,
        backend: &mut CudaBackend,
        subset: Subset,
        x: &CudaArray<Image>,
        measured: &Measured<'_, CudaBackend>,
        out: &mut CudaArray<Data>,
        task: &Task,
    ) -> Result<(), OperatorError> {
        self.check_lengths(subset, x, out)?;
        self.forward_measured(backend, subset, x, measured, out, task)
    }

    fn adjoint(
        &self,
        backend: &mut CudaBackend,
        subset: Subset,
        q: &CudaArray<Data>,
        accumulation: Accumulation,
        out: &mut CudaArray<Image>,
        task: &Task,
    ) -> Result<(), OperatorError> {
        self.check_lengths(subset, out, q)?;
        self.prepare(backend, subset)?;
        self.backproject(backend, subset, q, accumulation, out, task)?;
        Ok(self.finish(backend, out)?)
    }

    fn num_at_once(&self, accumulation: Accumulation) -> usize {
        self.at_once().filter(|_| accumulation == Accumulation::Atomic).map_or(1, ProjectingAtOnce::num_at_once)
    }

    fn expect_each(
        &self,
        backend: &mut CudaBackend,
        subset: Subset,
        images: &[&CudaArray<Image>],
        measured: &[Measured<'_, CudaBackend>],
        out: &mut [&mut CudaArray<Data>],
        task: &Task,
    ) -> Result<(), OperatorError> {
        images.iter().zip(&*out).try_for_each(|(x, out)| self.check_lengths(subset, x, out))?;
        match self.at_once().filter(|at_once| (2..=at_once.num_at_once()).contains(&images.len())) {
            Some(at_once) => at_once.project_each(backend, subset, images, out, task),
            None => {
                let each = images.iter().zip(measured).zip(out);
                each.into_iter().try_for_each(|((x, measured), out)| self.expect(backend, subset, x, measured, out, task))
            }
        }
    }

    fn adjoint_each(
        &self,
        backend: &mut CudaBackend,
        subset: Subset,
        q: &[&CudaArray<Data>],
        accumulation: Accumulation,
        out: &mut [&mut CudaArray<Image>],
        task: &Task,
    ) -> Result<(), OperatorError> {
        q.iter().zip(&*out).try_for_each(|(q, out)| self.check_lengths(subset, out, q))?;
        let at_once = self.at_once().filter(|_| accumulation == Accumulation::Atomic);
        match at_once.filter(|at_once| (2..=at_once.num_at_once()).contains(&q.len())) {
            Some(at_once) => at_once.backproject_each(backend, subset, q, out, task),
            None => q.iter().zip(out).try_for_each(|(q, out)| self.adjoint(backend, subset, q, accumulation, out, task)),
        }
    }

    fn accumulations(&self) -> &'static [Accumulation] {
        Projecting::accumulations(self)
    }

    /// In fixed point it needs an image of integers, and once the data of ones.
    fn scratch_bytes(&self, subset: Subset, accumulation: Accumulation) -> u64 {
        let of_fixed_point = match accumulation {
            Accumulation::Atomic | Accumulation::NonAtomic => 0,
            _ => 8 * self.voxels().len() as u64 + 4 * self.data_len(subset) as u64,
        };
        self.own_bytes(subset) + of_fixed_point
    }
}

/// Projector onto views. It makes the [`ViewProjector`].
pub(super) trait ProjectingViews: Projecting + Sized + 'static {
    /// Returns its data.
    fn views(&self) -> &Views;

    /// [`ViewProjector::for_group`]: by default every n-th view.
    fn for_shard(self, group: &PeerGroup) -> ShardOperator<CudaBackend> {
        let views = self.views().clone();
        ShardData::of(self, views, group.shard())
    }
}

impl<P: ProjectingViews> ViewProjector<CudaBackend> for P {
    fn for_group(self: Box<Self>, group: &PeerGroup) -> Result<ShardOperator<CudaBackend>, OperatorError> {
        Ok(self.for_shard(group))
    }

    fn voxels(&self) -> &Voxels {
        Projecting::voxels(self)
    }

    fn views(&self) -> &Views {
        ProjectingViews::views(self)
    }
}
