//! Projection onto events on any GPU (`shaders/compute/events`; the definition is [`crate::operator::EventLines`]).

use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use bytemuck::{Pod, Zeroable};
use rayon::prelude::*;

use super::adding::{Adder, AddingKernel, accumulations};
use super::array::{Segments, WebGpuArray, in_both};
use super::backend::WebGpuBackend;
use super::commands::Commands;
use super::error::WebGpuError;
use super::event_beams::{self, Beams};
use super::event_tables::{constants, positions};
use super::images::unseen::Unseen;
use super::kernel::Kernel;
use super::projecting::{Launches, Projecting, Target};
use crate::algebra::{Columns, FieldOfView, Image, PeerGroup, Shard, Voxels};
use crate::data::{Events, TofMeasurement};
use crate::geometry::Grid;
use crate::operator::{
    Accumulation, AnyOperator, DataSpace as _, EventOrder, EventProjector, EventRays, EventSpace, OperatorError, OperatorLimit,
    ShardOperator, Subset,
};
use crate::scanner::{Detectors, PairRays};

/// Threads of a group, as in the kernels.
const THREADS: usize = 64;

/// Events on the device, in the order for a number of subsets.
struct OrderedEvents {
    num_subsets: usize,
    pairs: Segments,
    /// Intervals of d; none without time of flight.
    intervals: Option<Segments>,
    beams: Option<Beams>,
}

impl OrderedEvents {
    /// Returns the beams in which events are backprojected in one way of adding. A race is one between events.
    fn beams_for(&self, adder: Adder) -> Option<&Beams> {
        self.beams.as_ref().filter(|_| adder != Adder::NonAtomic)
    }
}

/// `Parameters` of walk.wgsl.
#[repr(C)]
#[derive(Clone, Copy, Default, Pod, Zeroable)]
struct Parameters {
    first: u32,
    values_at: u32,
    count: u32,
    image_first: u32,
    image_len: u32,
    scale: f32,
    replaces: u32,
}

/// Projection onto events. Images are `[y][x][z]`, zero outside the field of view.
pub struct EventLines {
    rays: EventRays,
    voxels: Voxels,
    /// Where rays begin at crystals, and end.
    points: wgpu::Buffer,
    unseen: Unseen,
    ordered: Mutex<Option<Arc<OrderedEvents>>>,
    forward: Kernel,
    back: AddingKernel,
    /// The kernel of beams; none in another order, and with time of flight.
    back_of_beams: Option<AddingKernel>,
    accumulations: &'static [Accumulation],
    launches: Launches,
}

/// Returns the texts of the kernels that project, that backproject, and that backproject beams; the last two without an adder.
pub(super) fn sources(constants: &str) -> [String; 3] {
    let lines = include_str!("../../../shaders/compute/events/lines.wgsl");
    let walk = include_str!("../../../shaders/compute/events/walk.wgsl");
    let forward = include_str!("../../../shaders/compute/events/forward.wgsl");
    let back = include_str!("../../../shaders/compute/events/back.wgsl");
    let beams = include_str!("../../../shaders/compute/events/beams.wgsl");
    [[walk, forward], [walk, back], ["", beams]].map(|[walk, entry]| format!("{constants}\n{lines}\n{walk}\n{entry}"))
}

impl EventLines {
    /// Makes the operator between a grid and the events of a scanner; see [`crate::operator::EventLines::new`].
    ///
    /// # Errors
    /// As on the host; several resolutions of time of flight, an image far from the scanner, device failure.
    #[allow(clippy::too_many_arguments)]
    pub fn new(
        backend: &mut WebGpuBackend,
        events: Arc<Events>,
        detectors: &Detectors,
        tof: Option<&TofMeasurement>,
        grid: Grid,
        fov_radius_mm: f64,
        rays: PairRays,
        order: EventOrder,
    ) -> Result<Self, OperatorError> {
        let rays = EventRays::new(events, detectors, tof, &grid, rays, order, Shard::WHOLE)?;
        let fov = FieldOfView::new(&grid, fov_radius_mm);
        let kernel = match rays.kernels() {
            [] => None,
            [kernel] => Some(kernel),
            kernels => return Err(OperatorLimit::TofOnGpu(kernels.len()).into()),
        };
        let [starts, ends] = rays.points();
        let points = [positions(starts, &grid)?, positions(ends, &grid)?].concat();
        let [forward, back, back_of_beams] = sources(&constants(&rays, &grid, &fov, kernel));
        let has_beams = order == EventOrder::ByLine && kernel.is_none();
        let columns = Columns { classes: 1, lanes: grid.size[2], first: 0, tail: 0 };
        let voxels = Voxels::in_columns(grid, fov, columns);
        Ok(Self {
            points: backend.table(&points)?,
            unseen: Unseen::new(backend, voxels.grid(), voxels.fov(), columns.lanes)?,
            forward: backend.gpu().kernel("forward", &forward)?,
            back: AddingKernel::new("backproject", back),
            back_of_beams: if has_beams { event_beams::kernel(backend, back_of_beams, columns.lanes) } else { None },
            accumulations: accumulations(backend.gpu()),
            ordered: Mutex::default(),
            launches: Launches::default(),
            voxels,
            rays,
        })
    }

    /// Returns the events in the order of `num_subsets` subsets, copied to the device on first use.
    fn ordered(&self, backend: &mut WebGpuBackend, num_subsets: usize) -> Result<Arc<OrderedEvents>, WebGpuError> {
        let mut known = self.ordered.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(ordered) = known.as_ref().filter(|ordered| ordered.num_subsets == num_subsets) {
            return Ok(Arc::clone(ordered));
        }
        // The old ones leave first.
        *known = None;
        let (events, order) = (self.rays.events(), self.rays.space().order(num_subsets));
        let pairs: Vec<[u32; 2]> = order.par_iter().map(|&event| events.pairs[event as usize]).collect();
        let intervals = match self.rays.kernels() {
            [] => None,
            _ => {
                let intervals: Vec<[f32; 2]> = order.par_iter().map(|&event| events.tof_mm[event as usize]).collect();
                Some(backend.copied(&intervals)?)
            }
        };
        let beams = match &self.back_of_beams {
            Some(_) => Beams::new(backend, &self.rays, self.voxels.grid().size[2], &pairs, num_subsets)?,
            None => None,
        };
        let ordered = Arc::new(OrderedEvents { num_subsets, pairs: backend.copied(&pairs)?, intervals, beams });
        *known = Some(Arc::clone(&ordered));
        Ok(ordered)
    }

    /// Returns the events of a subset that is prepared.
    fn known_events(&self, subset: Subset) -> Option<Arc<OrderedEvents>> {
        let known = self.ordered.lock().unwrap_or_else(PoisonError::into_inner);
        known.as_ref().filter(|ordered| ordered.num_subsets == subset.count).map(Arc::clone)
    }

    /// Returns the kernel that backprojects events.
    fn kernel_of(&self, ordered: &OrderedEvents, adder: Adder) -> &AddingKernel {
        self.back_of_beams.as_ref().filter(|_| ordered.beams_for(adder).is_some()).unwrap_or(&self.back)
    }

    /// Dispatches a kernel for some events of a subset: for each buffer of the events, of their values and of the image.
    fn record(
        &self,
        commands: &mut Commands,
        kernel: &Kernel,
        ordered: &OrderedEvents,
        (subset, units): (Subset, Range<usize>),
        [(values_binding, values), (image_binding, image)]: [(u32, &Segments); 2],
        scale: f32,
    ) {
        let first = self.rays.space().range(subset).start + units.start;
        let intervals = ordered.intervals.as_ref().unwrap_or(&ordered.pairs);
        let of_pairs = in_both(&ordered.pairs, first, values, units.clone());
        let of_intervals = in_both(intervals, first, values, units);
        for (pairs, intervals) in of_pairs.into_iter().zip(of_intervals) {
            for (number, of_image) in image.all().enumerate() {
                let parameters = Parameters {
                    first: pairs.x_at as u32,
                    values_at: pairs.y_at as u32,
                    count: pairs.len as u32,
                    image_first: of_image.places.start as u32,
                    image_len: of_image.places.len() as u32,
                    scale,
                    replaces: u32::from(number == 0),
                };
                let [values, image] = [(values_binding, pairs.y), (image_binding, of_image.buffer)];
                let buffers = [(1, &self.points), (2, pairs.x), (3, intervals.x), values, image];
                commands.dispatch_bound(kernel, pairs.len.div_ceil(THREADS), &parameters, &buffers);
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
        self.rays.space().len(subset)
    }

    fn accumulations(&self) -> &'static [Accumulation] {
        self.accumulations
    }

    /// The longest way through a voxel, times the largest density of d.
    fn largest_element(&self) -> f64 {
        let diagonal_mm = self.voxels.grid().voxel_mm.iter().map(|side| side * side).sum::<f64>().sqrt();
        diagonal_mm * self.rays.largest_weight()
    }

    fn prepare(&self, backend: &mut WebGpuBackend, subset: Subset, adder: Option<Adder>) -> Result<(), OperatorError> {
        let ordered = self.ordered(backend, subset.count)?;
        if let Some(adder) = adder {
            self.kernel_of(&ordered, adder).get(backend.gpu(), adder)?;
        }
        Ok(())
    }

    fn record_forward(
        &self,
        commands: &mut Commands,
        subset: Subset,
        units: Range<usize>,
        x: &Segments,
        out: &Segments,
    ) -> Result<(), WebGpuError> {
        if let Some(ordered) = self.known_events(subset) {
            self.record(commands, &self.forward, &ordered, (subset, units), [(5, out), (4, x)], 1.0);
        }
        Ok(())
    }

    fn record_add(
        &self,
        commands: &mut Commands,
        subset: Subset,
        units: Range<usize>,
        q: &Segments,
        to: &Target<'_>,
    ) -> Result<(), WebGpuError> {
        let Some(ordered) = self.known_events(subset) else { return Ok(()) };
        let kernel = self.kernel_of(&ordered, to.adder).get(commands.gpu(), to.adder)?;
        match ordered.beams_for(to.adder) {
            Some(beams) => {
                let first = self.rays.space().range(subset).start;
                beams.record(commands, &kernel, (subset, units), &self.points, (&ordered.pairs, first), (q, to));
            }
            None => self.record(commands, &kernel, &ordered, (subset, units), [(4, q), (6, to.sums)], to.scale),
        }
        Ok(())
    }

    /// Sets the image to zero outside the field of view.
    fn finish(&self, backend: &mut WebGpuBackend, image: &mut WebGpuArray<Image>) {
        self.unseen.clear(backend, image);
    }
}

impl EventProjector<WebGpuBackend> for EventLines {
    fn for_group(self: Box<Self>, group: &PeerGroup) -> Result<ShardOperator<WebGpuBackend>, OperatorError> {
        if group.shard().count > 1 {
            return Err(OperatorLimit::EventTeam.into());
        }
        let space = self.rays.space().clone();
        Ok((AnyOperator::any(*self), Box::new(space)))
    }

    fn voxels(&self) -> &Voxels {
        &self.voxels
    }

    fn space(&self) -> &EventSpace {
        self.rays.space()
    }
}
