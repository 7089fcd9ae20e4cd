//! Projection onto events on a CUDA device (`kernels/events/events.cu`, for events in random order `kernels/events/events_quads.cu`; the
//! definition is [`crate::operator::EventLines`]).

use std::sync::{Arc, Mutex, PoisonError};

use cudarc::driver::CudaSlice;
use rayon::prelude::*;

use super::backend::{CudaArray, CudaBackend};
use super::device::probe::DeviceInfo;
use super::error::CudaError;
use super::event_beams::{self, Beams};
use super::event_images::EventImages;
use super::fixed_point::Sum;
use super::kernel::one_each;
use super::launches::event_beams::Beams as BeamTables;
use super::launches::events::{Events as EventTables, Kernels, Plan as PlanHead};
use super::projecting::{Adder, Launches, Piece, Projecting, ProjectingAtOnce, launch_adding};
use crate::algebra::{Backend, BackendError, Columns, Data, FieldOfView, Image, PeerGroup, Voxels};
use crate::data::{Events, TofMeasurement, Volume};
use crate::geometry::{FACE_TOLERANCE_VOXELS, Grid};
use crate::operator::{
    Accumulation, AnyOperator, DataSpace, END_MARGIN, EventOrder, EventProjector, EventRays, EventSpace, IMAGES_AT_ONCE,
    OperatorError, OperatorLimit, ShardOperator, Subset, TofKernel,
};
use crate::scanner::{Detectors, PairRays};
use crate::task::Task;

/// Compute capability, and version of CUDA that the driver must know, for four additions in one.
const CAPABILITY_FOR_FOURS: (u32, u32) = (9, 0);
const CUDA_FOR_FOURS: (u32, u32) = (12, 1);

fn adds_in_fours(info: &DeviceInfo) -> bool {
    info.compute_capability >= CAPABILITY_FOR_FOURS && info.driver_cuda_version >= CUDA_FOR_FOURS
}

/// Events on the device, in the order for a number of subsets.
struct OrderedEvents {
    num_subsets: usize,
    pairs: CudaSlice<[u32; 2]>,
    intervals: CudaSlice<[f32; 2]>,
    beams: Option<Beams>,
}

/// Projection onto events. Images are `[y][x][z]`, or quads where the order of the events is not that of their lines; zero
/// outside the field of view.
pub struct EventLines {
    rays: EventRays,
    voxels: Voxels,
    head: PlanHead,
    /// x, y, z of where each ray of each crystal begins, and ends.
    starts: CudaSlice<f64>,
    ends: CudaSlice<f64>,
    /// 1 in the field of view, 0 outside.
    seen: CudaArray<Image>,
    is_by_line: bool,
    ordered: Mutex<Option<Arc<OrderedEvents>>>,
    kernels: Kernels,
    /// For several images at once, with time of flight: without it beams add faster image by image.
    images: Option<EventImages>,
    launches: Launches,
}

impl EventLines {
    /// Makes the operator between a grid and the events of a scanner, or its share of them where the back end is of a group; see
    /// [`crate::operator::EventLines::new`].
    ///
    /// # Errors
    /// As on the host, and device failure.
    #[allow(clippy::too_many_arguments)]
    pub fn new(
        backend: &mut CudaBackend,
        events: Arc<Events>,
        detectors: &Detectors,
        tof: Option<&TofMeasurement>,
        grid: Grid,
        fov_radius_mm: f64,
        rays: PairRays,
        order: EventOrder,
    ) -> Result<Self, OperatorError> {
        let shard = backend.peers.group.shard();
        let rays = EventRays::new(events, detectors, tof, &grid, rays, order, shard)?;
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
            least_width_mm: TofKernel::MIN_WIDTH * sigma_mm,
            tof: kernel.map(TofKernel::terms).unwrap_or_default(),
        };
        let adds_in_fours = adds_in_fours(backend.info());
        let in_quads = order == EventOrder::AsWritten && kernel.is_none() && adds_in_fours;
        let images = if adds_in_fours && kernel.is_some() { Some(EventImages::new(backend)?) } else { None };
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
            is_by_line: order == EventOrder::ByLine,
            ordered: Mutex::default(),
            kernels,
            images,
            launches: Launches::default(),
        })
    }

    /// Returns the number of images that are projected onto events at once on a device, in one way of adding; 1 = each on its own.
    pub fn num_at_once(info: &DeviceInfo, has_tof: bool, accumulation: Accumulation) -> usize {
        if has_tof && accumulation == Accumulation::Atomic && adds_in_fours(info) { IMAGES_AT_ONCE } else { 1 }
    }

    /// Returns the events in the order of `num_subsets` subsets, copied to the device on first use.
    fn ordered(&self, backend: &CudaBackend, num_subsets: usize) -> Result<Arc<OrderedEvents>, BackendError> {
        let mut known = self.ordered.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(ordered) = known.as_ref().filter(|ordered| ordered.num_subsets == num_subsets) {
            return Ok(Arc::clone(ordered));
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
        let ordered = Arc::new(OrderedEvents { num_subsets, pairs, intervals, beams });
        *known = Some(Arc::clone(&ordered));
        Ok(ordered)
    }

    /// Returns the same for a launch: they are already on the device.
    fn ordered_for_launch(&self, backend: &CudaBackend, num_subsets: usize) -> Result<Arc<OrderedEvents>, CudaError> {
        self.ordered(backend, num_subsets).map_err(|error| CudaError::Link { message: error.to_string() })
    }

    fn tables<'a>(&'a self, ordered: &'a OrderedEvents, subset: Subset) -> EventTables<'a> {
        let range = self.rays.space().range(subset);
        let has_tof = !self.rays.kernels().is_empty();
        EventTables {
            plan: &self.head,
            starts: self.starts.as_view(),
            ends: self.ends.as_view(),
            pairs: ordered.pairs.slice(range.clone()),
            intervals: if has_tof { ordered.intervals.slice(range) } else { ordered.intervals.as_view() },
            has_tof: i32::from(has_tof),
        }
    }

    /// `to` += Aᵀ q of the beams that begin among some events.
    fn launch_beams(
        &self,
        piece: &Piece<'_>,
        q: &CudaSlice<f32>,
        to: Sum<'_>,
        (ordered, beams): (&OrderedEvents, &Beams),
    ) -> Result<(), CudaError> {
        let Piece { backend, subset, ref units } = *piece;
        let range = beams.beams.among(subset, units);
        let count = range.len();
        if count == 0 {
            return Ok(());
        }
        let (stream, kernels, shape) = (&backend.stream, &beams.kernels, event_beams::shape(count, self.head.size[2]));
        let tables = BeamTables {
            plan: &self.head,
            starts: self.starts.as_view(),
            ends: self.ends.as_view(),
            pairs: ordered.pairs.slice(self.rays.space().range(subset)),
            beams: beams.table.as_view(),
            values: q.as_view(),
        };
        let [first, count] = [range.start, count].map(|number| number as u64);
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

    fn voxels(&self) -> &Voxels {
        &self.voxels
    }

    fn data_len(&self, subset: Subset) -> usize {
        self.space().len(subset)
    }

    /// The longest way through a voxel, times the largest density of d.
    fn largest_element(&self) -> f64 {
        let diagonal_mm = self.voxels.grid().voxel_mm.iter().map(|side| side * side).sum::<f64>().sqrt();
        diagonal_mm * self.rays.largest_weight()
    }

    fn prepare(&self, backend: &CudaBackend, subset: Subset) -> Result<(), BackendError> {
        self.ordered(backend, subset.count).map(drop)
    }

    fn launch_forward(&self, piece: &Piece<'_>, x: &CudaSlice<f32>, out: &mut CudaSlice<f32>) -> Result<(), CudaError> {
        let Piece { backend, subset, ref units } = *piece;
        let ordered = self.ordered_for_launch(backend, subset.count)?;
        let (stream, shape, tables) = (&backend.stream, one_each(units.len()), self.tables(&ordered, subset));
        let [first, count] = [units.start, units.len()].map(|n| n as u64);
        self.kernels.forward.launch(stream, shape, &tables, x, out, first, count)
    }

    fn launch_add(&self, piece: &Piece<'_>, q: &CudaSlice<f32>, adder: Adder, to: Sum<'_>) -> Result<(), CudaError> {
        let Piece { backend, subset, ref units } = *piece;
        let ordered = self.ordered_for_launch(backend, subset.count)?;
        if let (Some(beams), true) = (&ordered.beams, adder != Adder::NonAtomic) {
            return self.launch_beams(piece, q, to, (&ordered, beams));
        }
        let (shape, tables) = (one_each(units.len()), self.tables(&ordered, subset));
        let [first, count] = [units.start, units.len()].map(|n| n as u64);
        launch_adding!(self.kernels, adder, to, [&backend.stream, shape, &tables, q], [first, count])
    }

    fn at_once(&self) -> Option<&dyn ProjectingAtOnce> {
        self.images.as_ref().map(|_| self as &dyn ProjectingAtOnce)
    }

    /// Sets the image to zero outside the field of view.
    fn finish(&self, backend: &mut CudaBackend, image: &mut CudaArray<Image>) -> Result<(), BackendError> {
        backend.multiply(image, 0, &self.seen, 0..self.voxels.len())
    }
}

impl ProjectingAtOnce for EventLines {
    fn num_at_once(&self) -> usize {
        IMAGES_AT_ONCE
    }

    fn project_each(
        &self,
        backend: &CudaBackend,
        subset: Subset,
        images: &[&CudaArray<Image>],
        out: &mut [&mut CudaArray<Data>],
        task: &Task,
    ) -> Result<(), OperatorError> {
        let ordered = self.ordered(backend, subset.count)?;
        let (tables, num) = (self.tables(&ordered, subset), self.space().len(subset));
        self.images.as_ref().map_or(Ok(()), |at_once| at_once.project(backend, &tables, images, out, num, task))
    }

    fn backproject_each(
        &self,
        backend: &CudaBackend,
        subset: Subset,
        q: &[&CudaArray<Data>],
        out: &mut [&mut CudaArray<Image>],
        task: &Task,
    ) -> Result<(), OperatorError> {
        let ordered = self.ordered(backend, subset.count)?;
        let (tables, num) = (self.tables(&ordered, subset), self.space().len(subset));
        self.images.as_ref().map_or(Ok(()), |at_once| at_once.backproject(backend, &tables, q, &self.seen, out, num, task))
    }
}

impl EventProjector<CudaBackend> for EventLines {
    /// The share is that of the back end that it was made on.
    fn for_group(self: Box<Self>, _: &PeerGroup) -> Result<ShardOperator<CudaBackend>, OperatorError> {
        let space = self.space().clone();
        Ok((AnyOperator::any(*self), Box::new(space)))
    }

    fn voxels(&self) -> &Voxels {
        &self.voxels
    }

    fn space(&self) -> &EventSpace {
        self.rays.space()
    }
}
