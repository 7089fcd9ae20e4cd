//! The kernels of axial runs that fit a plan, with time of flight (`kernels/axial_tof/`) or without (`kernels/axial_runs/`).

use cudarc::driver::{CudaSlice, CudaView, LaunchConfig};

use super::axial_plan::{Plan, Tof};
use super::backend::CudaBackend;
use super::device::driver::guarded;
use super::error::CudaError;
use super::fixed_point::Sum;
use super::kernel::{Kernel, one_each};
use super::launches::axial_path::Tables;
use super::launches::axial_tof::TofTables;
use super::launches::{axial_runs, axial_tof};
use super::projecting::{Adder, launch_adding};
use crate::operator::{AxialPlan, TofRuns};

/// The kernels.
pub(super) enum AxialKernels {
    /// Without time of flight.
    Whole(Box<axial_runs::Kernels>),
    /// With it.
    Tof(Box<TofKernels>),
}

/// Kernels of time of flight, with their tables.
pub(super) struct TofKernels {
    kernels: axial_tof::Kernels,
    head: Tof,
    ranks: CudaSlice<u16>,
    record_rises: CudaSlice<f32>,
    record_spans: CudaSlice<[u32; 2]>,
    end_spans: CudaSlice<[u32; 2]>,
}

impl TofKernels {
    fn tables(&self) -> TofTables<'_> {
        let Self { head, ranks, record_rises, record_spans, end_spans, .. } = self;
        TofTables {
            tof: head,
            ranks: ranks.as_view(),
            record_rises: record_rises.as_view(),
            record_spans: record_spans.as_view(),
            end_spans: end_spans.as_view(),
        }
    }
}

/// Loads the variant of a module for a plan.
macro_rules! load {
    ($module:ident, $plan:expr, $context:expr) => {
        match ($plan.classes, $plan.registers) {
            (1, 1) => $module::Kernels::load_1_1($context),
            (1, _) => $module::Kernels::load_1_2($context),
            (2, 1) => $module::Kernels::load_2_1($context),
            (2, _) => $module::Kernels::load_2_2($context),
            _ => $module::Kernels::load_4_1($context),
        }
    };
}

impl AxialKernels {
    /// Loads the kernels for a plan, and makes room in `head` for their shared memory.
    pub fn load(backend: &CudaBackend, plan: &AxialPlan, tof: Option<&TofRuns>, head: &mut Plan) -> Result<Self, CudaError> {
        let context = &backend.context;
        let Some(tof) = tof else { return Ok(Self::Whole(Box::new(load!(axial_runs, plan, context)?))) };
        Ok(Self::Tof(Box::new(TofKernels {
            kernels: load!(axial_tof, plan, context)?,
            head: head.with_tof(plan, tof),
            ranks: backend.table(&plan.ranks(), 0)?,
            record_rises: backend.table(&plan.record_rises_mm(), 0.0)?,
            record_spans: backend.table(&plan.record_spans, [0; 2])?,
            end_spans: backend.table(&plan.end_spans, [0; 2])?,
        })))
    }

    /// Returns all kernels that walk paths; first the forward projection.
    pub fn walking(&self) -> [&Kernel; 6] {
        match self {
            Self::Whole(k) => [&k.forward, &k.checked, &k.plain, &k.atomic, &k.non_atomic, &k.fixed],
            Self::Tof(tof) => {
                let k = &tof.kernels;
                [&k.forward, &k.checked, &k.plain, &k.atomic, &k.non_atomic, &k.fixed]
            }
        }
    }

    /// Returns how many times the bins of a LOR are walked.
    pub fn num_courses(&self) -> u32 {
        match self {
            Self::Whole(_) => 1,
            Self::Tof(tof) => tof.head.interleave as u32,
        }
    }

    /// `difference` = x_z − x_{z+1}.
    pub fn take_difference(
        &self,
        backend: &CudaBackend,
        x: &CudaSlice<f32>,
        difference: &mut CudaSlice<f32>,
        lanes: i32,
    ) -> Result<(), CudaError> {
        let (stream, len) = (&backend.stream, x.len());
        match self {
            Self::Whole(k) => k.difference.launch(stream, one_each(len), x, difference, lanes as u32, len as u32),
            Self::Tof(tof) => tof.kernels.difference.launch(stream, one_each(len), x, difference, lanes as u32, len as u32),
        }
    }

    /// `out` = A x for blocks of sets.
    pub fn forward(
        &self,
        backend: &CudaBackend,
        shape: LaunchConfig,
        tables: &Tables<'_>,
        difference: &CudaSlice<f32>,
        out: &mut CudaSlice<f32>,
        first: u32,
    ) -> Result<(), CudaError> {
        match self {
            Self::Whole(k) => k.forward.launch(&backend.stream, shape, tables, difference, out, first),
            Self::Tof(tof) => tof.kernels.forward.launch(&backend.stream, shape, tables, &tof.tables(), difference, out, first),
        }
    }

    /// The same, which marks the sets of bins that have counts and may be rounding alone.
    #[allow(clippy::too_many_arguments)]
    pub fn checked(
        &self,
        backend: &CudaBackend,
        shape: LaunchConfig,
        tables: &Tables<'_>,
        difference: &CudaSlice<f32>,
        measured: &CudaView<'_, f32>,
        out: &mut CudaSlice<f32>,
        is_marked_set: &mut CudaSlice<u32>,
        first: u32,
    ) -> Result<(), CudaError> {
        let stream = &backend.stream;
        match self {
            Self::Whole(k) => k.checked.launch(stream, shape, tables, difference, measured, out, is_marked_set, first),
            Self::Tof(tof) => {
                let (kernel, more) = (&tof.kernels.checked, &tof.tables());
                kernel.launch(stream, shape, tables, more, difference, measured, out, is_marked_set, first)
            }
        }
    }

    /// Adds up the marked bins of `count` sets from `first` on again, and takes the marks away.
    #[allow(clippy::too_many_arguments)]
    pub fn plain(
        &self,
        backend: &CudaBackend,
        shape: LaunchConfig,
        tables: &Tables<'_>,
        x: &CudaSlice<f32>,
        out: &mut CudaSlice<f32>,
        is_marked_set: &mut CudaSlice<u32>,
        [first, count]: [u32; 2],
    ) -> Result<(), CudaError> {
        let stream = &backend.stream;
        match self {
            Self::Whole(k) => k.plain.launch(stream, shape, tables, x, out, is_marked_set, first, count),
            Self::Tof(tof) => {
                let (kernel, more) = (&tof.kernels.plain, &tof.tables());
                kernel.launch(stream, shape, tables, more, x, out, &*is_marked_set, first, count)?;
                guarded("clear an array", || stream.memset_zeros(is_marked_set))
            }
        }
    }

    /// `to` += Aᵀ q for blocks of sets.
    #[allow(clippy::too_many_arguments)]
    pub fn add(
        &self,
        backend: &CudaBackend,
        shape: LaunchConfig,
        tables: &Tables<'_>,
        q: &CudaSlice<f32>,
        adder: Adder,
        to: Sum<'_>,
        first: u32,
    ) -> Result<(), CudaError> {
        let stream = &backend.stream;
        match self {
            Self::Whole(k) => launch_adding!(k, adder, to, [stream, shape, tables, q], [first]),
            Self::Tof(tof) => launch_adding!(tof.kernels, adder, to, [stream, shape, tables, &tof.tables(), q], [first]),
        }
    }
}
