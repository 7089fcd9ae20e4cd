//! Common course of all projectors: submissions of some milliseconds, accumulations, and the operator that they make.

use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use super::adding::Adder;
use super::array::{Segments, WebGpuArray};
use super::backend::WebGpuBackend;
use super::commands::Commands;
use super::device::pacing::Pace;
use super::error::WebGpuError;
use super::fixed_point::FixedPoint;
use crate::algebra::{Data, Image, PeerGroup, Voxels};
use crate::operator::{
    Accumulation, LinearOperator, Measured, OperatorError, ShardData, ShardOperator, Subset, ViewProjector, Views, check_lengths,
};
use crate::task::Task;

/// Direction of a projection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Direction {
    Forward,
    Back,
}

/// State of a projector between its submissions: the speed of each kernel, and the image and sensitivities of fixed point.
#[derive(Default)]
pub(super) struct Launches(Mutex<State>);

#[derive(Default)]
struct State {
    fixed_point: FixedPoint,
    forward: Pace,
    fixed: Pace,
    atomic: Pace,
    non_atomic: Pace,
}

/// Image of a backprojection: f32, or integers of 64 bits in units of 1 over the scale.
pub(super) struct Target<'a> {
    pub sums: &'a Segments,
    pub adder: Adder,
    pub scale: f32,
}

/// Commands of a projector for part of a subset's work, which each projector counts in its units (LORs, events). They make the
/// [`LinearOperator`].
pub(super) trait Projecting: Send {
    fn launches(&self) -> &Launches;

    /// Returns its images.
    fn voxels(&self) -> &Voxels;

    /// Returns the number of values in the data of a subset.
    fn data_len(&self, subset: Subset) -> usize;

    /// Returns the ways in which a backprojection can add.
    fn accumulations(&self) -> &'static [Accumulation];

    /// Returns the largest element of the matrix: the longest way through a voxel.
    fn largest_element(&self) -> f64 {
        self.voxels().grid().voxel_mm.iter().map(|side| side * side).sum::<f64>().sqrt()
    }

    /// Returns the units of work of a subset; by default its data.
    fn num_units(&self, subset: Subset, _: Direction) -> usize {
        self.data_len(subset)
    }

    /// Returns the bytes of further memory in the projections of a subset.
    fn own_bytes(&self, _: Subset) -> u64 {
        0
    }

    /// Brings the tables of a subset to the device and compiles the kernel, before submissions are timed.
    fn prepare(&self, backend: &mut WebGpuBackend, subset: Subset, adder: Option<Adder>) -> Result<(), OperatorError>;

    /// Records `out` = A x for some units.
    fn record_forward(
        &self,
        commands: &mut Commands,
        subset: Subset,
        units: Range<usize>,
        x: &Segments,
        out: &Segments,
    ) -> Result<(), WebGpuError>;

    /// Records `to` += Aᵀ q for some units.
    fn record_add(
        &self,
        commands: &mut Commands,
        subset: Subset,
        units: Range<usize>,
        q: &Segments,
        to: &Target<'_>,
    ) -> Result<(), WebGpuError>;

    /// Completes the image of a backprojection.
    fn finish(&self, _: &mut WebGpuBackend, _: &mut WebGpuArray<Image>) {}

    /// [`LinearOperator::apply`], after the check of lengths.
    fn forward(
        &self,
        backend: &mut WebGpuBackend,
        subset: Subset,
        x: &WebGpuArray<Image>,
        out: &mut WebGpuArray<Data>,
        task: &Task,
    ) -> Result<(), OperatorError> {
        self.prepare(backend, subset, None)?;
        let mut state = self.launches().0.lock().unwrap_or_else(PoisonError::into_inner);
        state.forward.run(&mut backend.commands, self.num_units(subset, Direction::Forward), task, |commands, first, count| {
            self.record_forward(commands, subset, first..first + count, &x.0, &out.0)
        })
    }

    /// [`LinearOperator::expect`], after the check of lengths.
    fn forward_measured(
        &self,
        backend: &mut WebGpuBackend,
        subset: Subset,
        x: &WebGpuArray<Image>,
        _: &Measured<'_, WebGpuBackend>,
        out: &mut WebGpuArray<Data>,
        task: &Task,
    ) -> Result<(), OperatorError> {
        self.forward(backend, subset, x, out, task)
    }

    /// Backprojects.
    fn backproject(
        &self,
        backend: &mut WebGpuBackend,
        subset: Subset,
        q: &WebGpuArray<Data>,
        accumulation: Accumulation,
        out: &mut WebGpuArray<Image>,
        task: &Task,
    ) -> Result<(), OperatorError> {
        let adder = match accumulation {
            Accumulation::Atomic => Adder::Atomic,
            Accumulation::NonAtomic => Adder::NonAtomic,
            // Projectors support only these.
            _ => Adder::Fixed,
        };
        self.prepare(backend, subset, Some(adder))?;
        let num_units = self.num_units(subset, Direction::Back);
        let mut state = self.launches().0.lock().unwrap_or_else(PoisonError::into_inner);
        let State { fixed_point, fixed, atomic, non_atomic, .. } = &mut *state;
        let pace = match adder {
            Adder::Fixed => fixed,
            Adder::Atomic => atomic,
            Adder::NonAtomic => non_atomic,
        };
        let mut add = |backend: &mut WebGpuBackend, q: &WebGpuArray<Data>, sums: &Segments, scale: f32| {
            let target = Target { sums, adder, scale };
            pace.run(&mut backend.commands, num_units, task, |commands, first, count| {
                self.record_add(commands, subset, first..first + count, &q.0, &target)
            })
        };
        if adder == Adder::Fixed {
            let data = (q, self.data_len(subset));
            return fixed_point.backproject(backend, subset, data, self.largest_element(), out, add);
        }
        backend.set(&out.0, 0.0);
        add(backend, q, &out.0, 1.0)
    }

    fn check_lengths(&self, subset: Subset, image: &WebGpuArray<Image>, data: &WebGpuArray<Data>) -> Result<(), OperatorError> {
        check_lengths([image.len(), self.voxels().len()], [data.len(), self.data_len(subset)])
    }
}

impl<P: Projecting> LinearOperator<WebGpuBackend> for P {
    fn apply(
        &self,
        backend: &mut WebGpuBackend,
        subset: Subset,
        x: &WebGpuArray<Image>,
        out: &mut WebGpuArray<Data>,
        task: &Task,
    ) -> Result<(), OperatorError> {
        self.check_lengths(subset, x, out)?;
        self.forward(backend, subset, x, out, task)
    }

    fn expect(
        &self,
        backend: &mut WebGpuBackend,
        subset: Subset,
        x: &WebGpuArray<Image>,
        measured: &Measured<'_, WebGpuBackend>,
        out: &mut WebGpuArray<Data>,
        task: &Task,
    ) -> Result<(), OperatorError> {
        self.check_lengths(subset, x, out)?;
        self.forward_measured(backend, subset, x, measured, out, task)
    }

    fn adjoint(
        &self,
        backend: &mut WebGpuBackend,
        subset: Subset,
        q: &WebGpuArray<Data>,
        accumulation: Accumulation,
        out: &mut WebGpuArray<Image>,
        task: &Task,
    ) -> Result<(), OperatorError> {
        self.check_lengths(subset, out, q)?;
        self.backproject(backend, subset, q, accumulation, out, task)?;
        self.finish(backend, out);
        Ok(())
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
}

impl<P: ProjectingViews> ViewProjector<WebGpuBackend> for P {
    fn for_group(self: Box<Self>, group: &PeerGroup) -> Result<ShardOperator<WebGpuBackend>, OperatorError> {
        let views = ProjectingViews::views(&*self).clone();
        Ok(ShardData::of(*self, views, group.shard()))
    }

    fn voxels(&self) -> &Voxels {
        Projecting::voxels(self)
    }

    fn views(&self) -> &Views {
        ProjectingViews::views(self)
    }
}
