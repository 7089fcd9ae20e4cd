//! Projection onto events on a CUDA device (`kernels/events.cu`, for events in random order `kernels/events_quads.cu`; the
//! definition is [`crate::operator::EventLines`]).

use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use cudarc::driver::CudaSlice;
use rayon::prelude::*;

use super::event_beams::{self, Beams};
use super::kernel::one_each;
use super::launches::event_beams::Beams as BeamTables;
use super::launches::events::{Events as EventTables, Kernels, Plan as PlanHead};
use super::projecting::{Adder, Direction, Launches, Projecting, Sum, scratch_bytes};
use super::{CudaArray, CudaBackend, CudaError};
use crate::algebra::{Backend, BackendError, Columns, Data, FieldOfView, Image, PeerGroup, Voxels};
use crate::data::{Events, TofFacts, Volume};
use crate::geometry::{FACE_TOLERANCE_VOXELS, Grid};
use crate::operator::{
    Accumulation, Boxed, DataSpace, END_MARGIN, EventOrder, EventProjector, EventRays, EventSpace, EventSubsets, LinearOperator,
    OperatorError, OperatorLimit, OwnShare, Subset, TofKernel,
};
use crate::scanner::{Detectors, PairRays};
use crate::task::Task;

/// Compute capability, and version of CUDA that the driver must know, for images of quads.
const CAPABILITY_FOR_QUADS: (u32, u32) = (9, 0);
const CUDA_FOR_QUADS: (u32, u32) = (12, 1);

/// Events on the device, in the order for a number of subsets.
struct Arranged {
    num_subsets: usize,
    pairs: CudaSlice<[u32; 2]>,
    intervals: CudaSlice<[f32; 2]>,
    beams: Option<Beams>,
}

/// Projection onto events. Images are `[y][x][z]`, or quads where the order of the events is not that of their lines; zero outside
/// the field of view.
pub struct EventLines {
    rays: EventRays,
    voxels: Voxels,
    head: PlanHead,
    /// x, y, z of where each ray of each crystal begins, and ends.
    starts: CudaSlice<f64>,
    ends: CudaSlice<f64>,
    /// 1 in the field of view, 0 elsewhere.
    seen: CudaArray<Image>,
    is_by_line: bool,
    arranged: Mutex<Option<Arc<Arranged>>>,
    kernels: Kernels,
    launches: Launches,
}

impl EventLines {
    /// The operator between a grid and the events of a scanner, or its share of them where the back end is of a team; see
    /// [`crate::operator::EventLines::new`].
    ///
    /// # Errors
    /// As on the host, and device failure.
    #[allow(clippy::too_many_arguments)]
    pub fn new(
        backend: &mut CudaBackend,
        events: Arc<Events>,
        detectors: &Detectors,
        tof: Option<&TofFacts>,
        grid: Grid,
        fov_radius_mm: f64,
        rays: PairRays,
        subsets: EventSubsets,
    ) -> Result<Self, OperatorError> {
        let share = backend.peers.team.shard();
        let rays = EventRays::new(events, detectors, tof, &grid, rays, subsets, share)?;
        let fov = FieldOfView::new(&grid, fov_radius_mm);
        let [nx, ny, nz] = grid.size.map(|n| n as i32);
        let kernel = match rays.kernels() {
            [] => None,
            [kernel] => Some(kernel),
            kernels => return Err(OperatorLimit::TofOnGpu(kernels.len()).into()),
        };
        let sigma_mm = kernel.map_or(1.0, TofKernel::sigma_mm);
        let head = PlanHead {
            size: [nx, ny, nz],
            stride: [nz, nx * nz, 1],
            num_voxels: grid.num_voxels() as u32,
            num_crystals: detectors.crystals().len() as u32,
            num_rays: rays.num_rays() as u32,
            share: 1.0 / rays.num_rays() as f32,
            path_radius_mm: fov.path_radius_mm,
            low_mm: [0, 1, 2].map(|a| grid.extent_mm(a)[0]),
            per_mm: grid.voxel_mm.map(|mm| 1.0 / mm),
            face_tolerance: FACE_TOLERANCE_VOXELS,
            end_margin: END_MARGIN,
            sigma_mm,
            reach_mm: kernel.map_or(0.0, |kernel| kernel.reach_mm([0.0; 2])[1]),
            least_width_mm: TofKernel::LEAST_WIDTH * sigma_mm,
            tof: kernel.map(TofKernel::terms).unwrap_or_default(),
        };
        let info = backend.info();
        let in_quads = subsets.order == EventOrder::AsWritten
            && kernel.is_none()
            && info.compute_capability >= CAPABILITY_FOR_QUADS
            && info.driver_cuda_version >= CUDA_FOR_QUADS;
        let context = &backend.context;
        let kernels = if in_quads { Kernels::load_quads(context)? } else { Kernels::load(context)? };
        let columns = Columns { classes: 1, lanes: grid.size[2], first: 0, tail: 0 };
        let voxels = if in_quads { Voxels::in_quads(grid, fov) } else { Voxels::in_columns(grid, fov, columns) };
        let ones = voxels.coefficients(&Volume::filled(voxels.grid().clone(), 1.0));
        let [starts, ends] = rays.points();
        Ok(Self {
            starts: backend.table(starts.as_flattened(), 0.0)?,
            ends: backend.table(ends.as_flattened(), 0.0)?,
            seen: backend.upload(Arc::new(ones))?,
            head,
            voxels,
            rays,
            is_by_line: subsets.order == EventOrder::ByLine,
            arranged: Mutex::default(),
            kernels,
            launches: Launches::default(),
        })
    }

    /// The events in the order for so many subsets, brought to the device when first needed.
    fn arranged(&self, backend: &CudaBackend, num_subsets: usize) -> Result<Arc<Arranged>, BackendError> {
        let mut known = self.arranged.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(arranged) = known.as_ref().filter(|arranged| arranged.num_subsets == num_subsets) {
            return Ok(Arc::clone(arranged));
        }
        // The old ones leave first.
        *known = None;
        let (events, order) = (self.rays.events(), self.space().order(num_subsets));
        let pairs: Vec<[u32; 2]> = order.par_iter().map(|&event| events.pairs[event as usize]).collect();
        let intervals: Vec<[f32; 2]> = match self.rays.kernels() {
            [] => Vec::new(),
            _ => order.par_iter().map(|&event| events.tof_mm[event as usize]).collect(),
        };
        let num_rows = self.voxels.grid().size[2];
        let beams = if self.is_by_line { Beams::new(backend, &self.rays, num_rows, &pairs, num_subsets)? } else { None };
        let (pairs, intervals) = (backend.table(&pairs, [0; 2])?, backend.table(&intervals, [0.0; 2])?);
        let arranged = Arc::new(Arranged { num_subsets, pairs, intervals, beams });
        *known = Some(Arc::clone(&arranged));
        Ok(arranged)
    }

    /// The same for a launch, which is put together when they are there.
    fn at_hand(&self, backend: &CudaBackend, num_subsets: usize) -> Result<Arc<Arranged>, CudaError> {
        self.arranged(backend, num_subsets).map_err(|error| CudaError::Link { message: error.to_string() })
    }

    fn tables<'a>(&'a self, arranged: &'a Arranged, subset: Subset) -> EventTables<'a> {
        let range = self.rays.space().range(subset);
        let has_tof = !self.rays.kernels().is_empty();
        EventTables {
            plan: &self.head,
            starts: self.starts.as_view(),
            ends: self.ends.as_view(),
            pairs: arranged.pairs.slice(range.clone()),
            intervals: if has_tof { arranged.intervals.slice(range) } else { arranged.intervals.as_view() },
            has_tof: i32::from(has_tof),
        }
    }

    /// `to` += Aᵀ q of the beams that begin among some events.
    fn launch_beams(
        &self,
        backend: &CudaBackend,
        subset: Subset,
        units: Range<usize>,
        q: &CudaSlice<f32>,
        to: Sum<'_>,
        (arranged, beams): (&Arranged, &Beams),
    ) -> Result<(), CudaError> {
        let [first, count] = beams.among(subset, [units.start, units.len()]);
        if count == 0 {
            return Ok(());
        }
        let (stream, kernels, shape) = (&backend.stream, &beams.kernels, event_beams::shape(count, self.head.size[2]));
        let tables = BeamTables {
            plan: &self.head,
            starts: self.starts.as_view(),
            ends: self.ends.as_view(),
            pairs: arranged.pairs.slice(self.rays.space().range(subset)),
            beams: beams.table.as_view(),
            values: q.as_view(),
        };
        let [first, count] = [first, count].map(|number| number as u64);
        let mut rest = beams.rest.lock().unwrap_or_else(PoisonError::into_inner);
        match to {
            Sum::Values(image) => {
                kernels.atomic.launch(stream, shape, &tables, image, &mut *rest, first, count)?;
                kernels.atomic_rest.launch(stream, shape, &tables, image, &mut *rest, first, count)
            }
            Sum::Units(image, scale) => {
                kernels.fixed.launch(stream, shape, &tables, image, scale, &mut *rest, first, count)?;
                kernels.fixed_rest.launch(stream, shape, &tables, image, scale, &mut *rest, first, count)
            }
        }
    }
}

impl Projecting for EventLines {
    fn launches(&self) -> &Launches {
        &self.launches
    }

    fn image_len(&self) -> usize {
        self.voxels.len()
    }

    fn data_len(&self, subset: Subset) -> usize {
        self.space().len(subset)
    }

    /// Events.
    fn num_units(&self, _: &CudaBackend, subset: Subset, _: Direction) -> Result<usize, CudaError> {
        Ok(self.space().len(subset))
    }

    fn launch_forward(
        &self,
        backend: &CudaBackend,
        subset: Subset,
        units: Range<usize>,
        x: &CudaSlice<f32>,
        out: &mut CudaSlice<f32>,
    ) -> Result<(), CudaError> {
        let arranged = self.at_hand(backend, subset.count)?;
        let (stream, shape, tables) = (&backend.stream, one_each(units.len()), self.tables(&arranged, subset));
        let [first, count] = [units.start, units.len()].map(|n| n as u64);
        self.kernels.forward.launch(stream, shape, &tables, x, out, first, count)
    }

    fn launch_add(
        &self,
        backend: &CudaBackend,
        subset: Subset,
        units: Range<usize>,
        q: &CudaSlice<f32>,
        adder: Adder,
        to: Sum<'_>,
    ) -> Result<(), CudaError> {
        let arranged = self.at_hand(backend, subset.count)?;
        if let (Some(beams), true) = (&arranged.beams, adder != Adder::NonAtomic) {
            return self.launch_beams(backend, subset, units, q, to, (&arranged, beams));
        }
        let (stream, shape, tables) = (&backend.stream, one_each(units.len()), self.tables(&arranged, subset));
        let [first, count] = [units.start, units.len()].map(|n| n as u64);
        match to {
            Sum::Values(image) => {
                let kernel = if adder == Adder::NonAtomic { &self.kernels.non_atomic } else { &self.kernels.atomic };
                kernel.launch(stream, shape, &tables, q, image, first, count)
            }
            Sum::Units(image, scale) => self.kernels.fixed.launch(stream, shape, &tables, q, image, scale, first, count),
        }
    }
}

impl EventProjector<CudaBackend> for EventLines {
    /// The share is that of the back end that it was made on.
    fn for_team(self: Box<Self>, _: &PeerGroup) -> Result<OwnShare<CudaBackend>, OperatorError> {
        let space = self.space().clone();
        Ok((Boxed(self), Box::new(space)))
    }

    fn voxels(&self) -> &Voxels {
        &self.voxels
    }

    fn space(&self) -> &EventSpace {
        self.rays.space()
    }
}

impl LinearOperator<CudaBackend> for EventLines {
    fn apply(
        &self,
        backend: &mut CudaBackend,
        subset: Subset,
        x: &CudaArray<Image>,
        out: &mut CudaArray<Data>,
        task: &Task,
    ) -> Result<(), OperatorError> {
        self.check_lengths(subset, x, out)?;
        // Before the launches are timed.
        self.arranged(backend, subset.count)?;
        self.project(backend, subset, &x.0, out, task)
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
        self.arranged(backend, subset.count)?;
        self.backproject(backend, subset, q, accumulation, out, task)?;
        Ok(backend.multiply(out, 0, &self.seen, 0..self.voxels.len())?)
    }

    fn accumulations(&self) -> &'static [Accumulation] {
        Accumulation::OF_LINES
    }

    fn scratch_bytes(&self, subset: Subset, accumulation: Accumulation) -> u64 {
        scratch_bytes(self.voxels.len(), self.space().len(subset), accumulation)
    }
}
