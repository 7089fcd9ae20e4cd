//! Projection onto events: a row for each event of a list, for any arrangement of the scanner's crystals.
//!
//! a_ij is the length in mm of the line between the crystals of event i inside voxel j, times the weight of that piece of the
//! line where the time of flight is known ([`TofKernel`], taken at the middle of the piece; only the part of the line within its
//! reach is walked). Several rays between the boxes of the crystals are averaged. [`EventLines::plain`] is the definition, which
//! walks as [`Siddon`](super::Siddon) does; the fast walk is the same in single precision.

use std::ops::Range;
use std::sync::Arc;

use rayon::prelude::*;

use super::accumulate::{
    BackprojectionParts, ImageSink, PrivateImages, backproject, is_shared, num_private_images, private_bytes, span,
};
use super::event_path::{LANES, Lanes, Path, Visit};
use super::event_rays::EventRays;
use super::event_space::{EventOrder, EventSpace};
use super::group_sum::GroupSum;
use super::siddon::{starts, walk_parts};
use super::tof::{TofKernel, TofTerms};
use super::{
    Accumulation, DataSpace, EventProjector, LinearOperator, Measured, OperatorError, ShardOperator, Subset, check_lengths,
    shard_of_ranges,
};
use crate::algebra::{Columns, Data, FieldOfView, Host, HostArray, Image, PeerGroup, Shard, Simd, Voxels};
use crate::data::{Events, TofMeasurement};
use crate::geometry::Grid;
use crate::scanner::{Detectors, PairRays};
use crate::task::{Stopped, Task};

/// Events that a thread takes at a time.
const EVENTS_PER_TASK: usize = 2048;
/// Images that are projected at once.
pub const IMAGES_AT_ONCE: usize = 4;
/// Events that are worth a private image.
const EVENTS_PER_IMAGE: usize = 1 << 16;

/// Projection onto events on the host. Images are `[y][x][z]`, zero outside the field of view: lines that lie one above the other
/// meet voxels that are neighbours.
pub struct EventLines {
    rays: EventRays,
    voxels: Voxels,
    /// Of each kernel; one where there is none.
    terms: Vec<TofTerms>,
    simd: Simd,
    is_plain: bool,
    private_images: PrivateImages,
    /// Sum over the members that divide the events, of an image and of several between each other.
    group_sum: GroupSum,
    sum_of_several: GroupSum,
}

impl EventLines {
    /// Makes the operator between a grid and the events of a scanner, of the voxels whose centres are within a radius of the
    /// axis.
    ///
    /// # Errors
    /// As [`EventRays::new`].
    pub fn new(
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
        let terms = match rays.kernels() {
            [] => vec![TofTerms::default()],
            kernels => kernels.iter().map(TofKernel::terms).collect(),
        };
        let columns = Columns { classes: 1, lanes: grid.size[2], first: 0, tail: 0 };
        let (voxels, private_images) = (Voxels::in_columns(grid, fov, columns), PrivateImages::default());
        Ok(Self {
            rays,
            voxels,
            terms,
            simd: Simd::fastest(),
            is_plain: false,
            private_images,
            group_sum: GroupSum::ALONE,
            sum_of_several: GroupSum::ALONE,
        })
    }

    /// The same by the definition: one line after the other in double precision, and images `[z, y, x]`.
    pub fn plain(self) -> Self {
        let voxels = Voxels::new(self.voxels.grid().clone(), self.voxels.fov().clone());
        Self { is_plain: true, voxels, ..self }
    }

    /// The same with other instructions, at most those that the processor has.
    pub fn with_simd(mut self, simd: Simd) -> Self {
        self.simd = simd.min(Simd::detect());
        self
    }

    /// Returns the bytes of the images between each other that [`LinearOperator::expect_each`] and [`LinearOperator::adjoint_each`]
    /// work with, of this number of events.
    pub fn bytes_at_once(num_events: usize, image_len: usize, accumulation: Accumulation) -> u64 {
        let private = private_bytes(num_events.div_ceil(EVENTS_PER_IMAGE), image_len, accumulation);
        IMAGES_AT_ONCE as u64 * (4 * image_len as u64 + private)
    }

    /// Returns this member's parts of a deterministic backprojection of a subset, as ranges of the subset's events. For any
    /// number of members the parts are the same.
    fn own_parts(&self, subset: Subset) -> Vec<Range<usize>> {
        let num = self.space().len(subset);
        let num_parts = num_private_images(num.div_ceil(EVENTS_PER_IMAGE), self.voxels.len());
        let each = num.div_ceil(num_parts);
        let part = |part: usize| (part * each).min(num)..((part + 1) * each).min(num);
        self.group_sum.group.shard().of(num_parts).map(part).collect()
    }

    /// Returns the places of all own parts.
    fn own_places(&self, subset: Subset) -> Range<usize> {
        span(&self.own_parts(subset))
    }

    /// Returns the ranges of a subset's events that are backprojected one by one.
    fn ranges(&self, subset: Subset, accumulation: Accumulation) -> Vec<Range<usize>> {
        if !is_shared(accumulation) {
            return self.own_parts(subset);
        }
        let own = self.own_places(subset);
        let end = own.end;
        own.step_by(EVENTS_PER_TASK).map(|begin| begin..(begin + EVENTS_PER_TASK).min(end)).collect()
    }

    /// Walks events, given by their places in a subset and their numbers, and calls `done` with full lanes.
    #[inline(always)]
    fn walk(&self, events: impl Iterator<Item = (usize, u32)>, mut done: impl FnMut(&Lanes)) {
        let [nx, _, nz] = self.voxels.grid().size.map(|n| n as isize);
        let strides = [nz, nx * nz, 1];
        let share = 1.0 / self.rays.num_rays() as f64;
        let mut lanes = Lanes::default();
        for (place, event) in events {
            let (tof, kernel) = (self.rays.tof(event as usize), self.rays.kernel_of(event as usize));
            for ray in 0..self.rays.num_rays() {
                let line = self.rays.line(event as usize, ray);
                let length_mm = line.length_mm();
                starts(&self.voxels, strides, &line, within(tof, length_mm), |start| {
                    let path = Path::new(&start, length_mm, share, tof, kernel);
                    if !lanes.has_room_for(&path) {
                        done(&lanes);
                        lanes.clear();
                    }
                    lanes.push(&path, place);
                });
            }
        }
        if lanes.len() > 0 {
            done(&lanes);
        }
    }

    /// Calls `visit(voxel, a_ij)` for each voxel of an event by the definition.
    fn walk_plain(&self, event: usize, mut visit: impl FnMut(usize, f64)) {
        let tof = self.rays.tof(event);
        for ray in 0..self.rays.num_rays() {
            let line = self.rays.line(event, ray);
            let length_mm = line.length_mm();
            let [enter, leave] = within(tof, length_mm);
            walk_parts(&self.voxels, &line, |voxel, [from, to], share| {
                let (from, to) = (from.max(enter), to.min(leave));
                if from < to {
                    let l = (0.5 * (from + to) - 0.5) * length_mm;
                    let weight = tof.map_or(1.0, |(kernel, interval)| kernel.weight(interval, l));
                    visit(voxel, share * (to - from) * length_mm * weight / self.rays.num_rays() as f64);
                }
            });
        }
    }
}

/// Returns the parts of a line between which an event can have been.
fn within(tof: Option<(&TofKernel, [f64; 2])>, length_mm: f64) -> [f64; 2] {
    tof.map_or([0.0, 1.0], |(kernel, interval)| kernel.reach_mm(interval).map(|l| (0.5 + l / length_mm).clamp(0.0, 1.0)))
}

/// Σ_j a_ij x_j of each lane.
struct Integrals<'a> {
    x: &'a [f32],
    sums: [f32; LANES],
}

impl Visit for Integrals<'_> {
    #[inline(always)]
    fn visit(&mut self, voxels: &[u32; LANES], lengths: &[f32; LANES]) {
        let mut values = [0.0; LANES];
        for lane in 0..LANES {
            values[lane] = self.x[voxels[lane] as usize];
        }
        for lane in 0..LANES {
            self.sums[lane] += lengths[lane] * values[lane];
        }
    }
}

/// image += a_ij q_i of each lane.
struct Additions<'a, S> {
    image: &'a mut S,
    values: [f32; LANES],
}

impl<S: ImageSink> Visit for Additions<'_, S> {
    #[inline(always)]
    fn visit(&mut self, voxels: &[u32; LANES], lengths: &[f32; LANES]) {
        let mut products = [0.0; LANES];
        for lane in 0..LANES {
            products[lane] = self.values[lane] * lengths[lane];
        }
        for lane in 0..LANES {
            // A path that has ended adds nothing, which is not to be lost in a race or waited for.
            if products[lane] != 0.0 {
                self.image.add(voxels[lane] as usize, products[lane]);
            }
        }
    }
}

/// Backprojection of the events of a subset.
struct EventParts<'a> {
    operator: &'a EventLines,
    /// The events of the subset.
    events: &'a [u32],
    q: &'a [f32],
    task: &'a Task,
}

impl BackprojectionParts for EventParts<'_> {
    type Scratch = ();

    fn scratch(&self) {}

    fn add<S: ImageSink>(&self, part: Range<usize>, image: &mut S, _: &mut ()) -> Result<(), Stopped> {
        let EventLines { is_plain, terms, simd, voxels, .. } = self.operator;
        for begin in part.clone().step_by(EVENTS_PER_TASK) {
            self.task.check()?;
            let places = begin..(begin + EVENTS_PER_TASK).min(part.end);
            let events = places.filter(|&place| self.q[place] != 0.0).map(|place| (place, self.events[place]));
            if *is_plain {
                for (place, event) in events {
                    let value = f64::from(self.q[place]);
                    self.operator.walk_plain(event as usize, |voxel, weight| image.add(voxel, (value * weight) as f32));
                }
                continue;
            }
            self.operator.walk(events, |lanes| {
                // (Lanes without a path have no length.)
                let values = std::array::from_fn(|lane| self.q[lanes.event[lane]] * lanes.factor[lane]);
                lanes.walk(terms, voxels.len(), *simd, &mut Additions { image: &mut *image, values });
            });
        }
        Ok(())
    }
}

/// The values of several images in a voxel. The last of fewer images are 0.
type Several = [f32; IMAGES_AT_ONCE];

/// Returns the values of several images, or data, at a place.
#[inline(always)]
fn several(images: &[&[f32]], place: usize) -> Several {
    std::array::from_fn(|image| images.get(image).map_or(0.0, |values| values[place]))
}

/// [`Integrals`] of several images.
struct SeveralIntegrals<'a> {
    x: &'a [Several],
    sums: [Several; LANES],
}

impl Visit for SeveralIntegrals<'_> {
    #[inline(always)]
    fn visit(&mut self, voxels: &[u32; LANES], lengths: &[f32; LANES]) {
        for lane in 0..LANES {
            let values = self.x[voxels[lane] as usize];
            for (sum, value) in self.sums[lane].iter_mut().zip(values) {
                *sum += lengths[lane] * value;
            }
        }
    }
}

/// [`Additions`] to several images between each other.
struct SeveralAdditions<'a, S> {
    images: &'a mut S,
    values: [Several; LANES],
}

impl<S: ImageSink> Visit for SeveralAdditions<'_, S> {
    #[inline(always)]
    fn visit(&mut self, voxels: &[u32; LANES], lengths: &[f32; LANES]) {
        for lane in 0..LANES {
            if lengths[lane] != 0.0 {
                let products = self.values[lane].map(|value| value * lengths[lane]);
                self.images.add_row(IMAGES_AT_ONCE * voxels[lane] as usize, &products);
            }
        }
    }
}

/// Backprojection of several data of the same events. Events that are 0 in all of them are passed over.
struct SeveralParts<'a> {
    operator: &'a EventLines,
    events: &'a [u32],
    q: &'a [&'a [f32]],
    task: &'a Task,
}

impl BackprojectionParts for SeveralParts<'_> {
    type Scratch = ();

    fn scratch(&self) {}

    fn add<S: ImageSink>(&self, part: Range<usize>, images: &mut S, _: &mut ()) -> Result<(), Stopped> {
        let EventLines { is_plain, terms, simd, voxels, .. } = self.operator;
        for begin in part.clone().step_by(EVENTS_PER_TASK) {
            self.task.check()?;
            let places = begin..(begin + EVENTS_PER_TASK).min(part.end);
            let places = places.filter(|&place| self.q.iter().any(|q| q[place] != 0.0));
            let events = places.map(|place| (place, self.events[place]));
            if *is_plain {
                for (place, event) in events {
                    let values = several(self.q, place).map(f64::from);
                    self.operator.walk_plain(event as usize, |voxel, weight| {
                        images.add_row(IMAGES_AT_ONCE * voxel, &values.map(|value| (value * weight) as f32));
                    });
                }
                continue;
            }
            self.operator.walk(events, |lanes| {
                let value = |lane: usize| several(self.q, lanes.event[lane]).map(|value| value * lanes.factor[lane]);
                let mut additions = SeveralAdditions { images: &mut *images, values: std::array::from_fn(value) };
                lanes.walk(terms, voxels.len(), *simd, &mut additions);
            });
        }
        Ok(())
    }
}

impl EventProjector<Host> for EventLines {
    /// A shard has whole parts of the sum of a deterministic backprojection: its bits do not depend on the number of members.
    fn for_group(mut self: Box<Self>, group: &PeerGroup) -> Result<ShardOperator<Host>, OperatorError> {
        self.group_sum = GroupSum::with(group.clone(), &self.voxels);
        self.sum_of_several = self.group_sum.of_several(IMAGES_AT_ONCE);
        let all = self.space().clone();
        Ok(shard_of_ranges(*self, all, |own: &Self, subset| vec![own.own_places(subset)], false))
    }

    fn voxels(&self) -> &Voxels {
        &self.voxels
    }

    fn space(&self) -> &EventSpace {
        self.rays.space()
    }
}

impl LinearOperator<Host> for EventLines {
    fn apply(
        &self,
        _: &mut Host,
        subset: Subset,
        x: &HostArray<Image>,
        out: &mut HostArray<Data>,
        task: &Task,
    ) -> Result<(), OperatorError> {
        check_lengths([x.len(), self.voxels.len()], [out.len(), self.space().len(subset)])?;
        let order = self.space().order(subset.count);
        let own = self.own_places(subset);
        let events = &order[self.space().range(subset)][own.clone()];
        let x: &[f32] = x;
        let out = &mut out.values_mut()[own];
        out.par_chunks_mut(EVENTS_PER_TASK).zip(events.par_chunks(EVENTS_PER_TASK)).try_for_each(|(out, events)| {
            task.check()?;
            if self.is_plain {
                for (value, &event) in out.iter_mut().zip(events) {
                    let mut sum = 0.0;
                    self.walk_plain(event as usize, |voxel, weight| sum += weight * f64::from(x[voxel]));
                    *value = sum as f32;
                }
                return Ok(());
            }
            out.fill(0.0);
            self.walk(events.iter().copied().enumerate(), |lanes| {
                let mut integrals = Integrals { x, sums: [0.0; LANES] };
                lanes.walk(&self.terms, x.len(), self.simd, &mut integrals);
                for lane in 0..lanes.len() {
                    out[lanes.event[lane]] += integrals.sums[lane] * lanes.factor[lane];
                }
            });
            Ok(())
        })
    }

    fn adjoint(
        &self,
        _: &mut Host,
        subset: Subset,
        q: &HostArray<Data>,
        accumulation: Accumulation,
        out: &mut HostArray<Image>,
        task: &Task,
    ) -> Result<(), OperatorError> {
        check_lengths([out.len(), self.voxels.len()], [q.len(), self.space().len(subset)])?;
        let order = self.space().order(subset.count);
        let events = &order[self.space().range(subset)];
        let out = out.values_mut();
        let parts = EventParts { operator: self, events, q, task };
        let ranges = self.ranges(subset, accumulation);
        backproject(&parts, ranges, &self.private_images, &self.group_sum, accumulation, out)?;
        self.voxels.zero_outside_fov(out);
        Ok(())
    }

    fn num_at_once(&self, _: Accumulation) -> usize {
        IMAGES_AT_ONCE
    }

    /// The path of an event is walked once for all images.
    fn expect_each(
        &self,
        backend: &mut Host,
        subset: Subset,
        images: &[&HostArray<Image>],
        measured: &[Measured<'_, Host>],
        out: &mut [&mut HostArray<Data>],
        task: &Task,
    ) -> Result<(), OperatorError> {
        for (x, out) in images.iter().zip(&*out) {
            check_lengths([x.len(), self.voxels.len()], [out.len(), self.space().len(subset)])?;
        }
        if !(2..=IMAGES_AT_ONCE).contains(&images.len()) {
            let each = images.iter().zip(measured).zip(out);
            return each.into_iter().try_for_each(|((x, measured), out)| self.expect(backend, subset, x, measured, out, task));
        }
        let order = self.space().order(subset.count);
        let own = self.own_places(subset);
        let events = &order[self.space().range(subset)][own.clone()];
        let images: Vec<&[f32]> = images.iter().map(|x| &***x).collect();
        let x: Vec<Several> = (0..self.voxels.len()).into_par_iter().map(|voxel| several(&images, voxel)).collect();
        let mut out: Vec<_> = out.iter_mut().map(|out| out.values_mut()[own.clone()].chunks_mut(EVENTS_PER_TASK)).collect();
        let tasks = events.chunks(EVENTS_PER_TASK).map(|events| (events, out.iter_mut().filter_map(Iterator::next).collect()));
        let tasks: Vec<(&[u32], Vec<&mut [f32]>)> = tasks.collect();
        tasks.into_par_iter().try_for_each(|(events, mut out)| {
            task.check()?;
            if self.is_plain {
                for (place, &event) in events.iter().enumerate() {
                    let mut sums = [0.0; IMAGES_AT_ONCE];
                    self.walk_plain(event as usize, |voxel, weight| {
                        sums.iter_mut().zip(x[voxel]).for_each(|(sum, value)| *sum += weight * f64::from(value));
                    });
                    out.iter_mut().zip(sums).for_each(|(out, sum)| out[place] = sum as f32);
                }
                return Ok(());
            }
            out.iter_mut().for_each(|out| out.fill(0.0));
            self.walk(events.iter().copied().enumerate(), |lanes| {
                let mut integrals = SeveralIntegrals { x: &x, sums: [[0.0; IMAGES_AT_ONCE]; LANES] };
                lanes.walk(&self.terms, x.len(), self.simd, &mut integrals);
                for lane in 0..lanes.len() {
                    let sums = integrals.sums[lane].map(|sum| sum * lanes.factor[lane]);
                    out.iter_mut().zip(sums).for_each(|(out, sum)| out[lanes.event[lane]] += sum);
                }
            });
            Ok(())
        })
    }

    fn adjoint_each(
        &self,
        backend: &mut Host,
        subset: Subset,
        q: &[&HostArray<Data>],
        accumulation: Accumulation,
        out: &mut [&mut HostArray<Image>],
        task: &Task,
    ) -> Result<(), OperatorError> {
        for (q, out) in q.iter().zip(&*out) {
            check_lengths([out.len(), self.voxels.len()], [q.len(), self.space().len(subset)])?;
        }
        if !(2..=IMAGES_AT_ONCE).contains(&q.len()) {
            return q.iter().zip(out).try_for_each(|(q, out)| self.adjoint(backend, subset, q, accumulation, out, task));
        }
        let order = self.space().order(subset.count);
        let events = &order[self.space().range(subset)];
        let q: Vec<&[f32]> = q.iter().map(|q| &***q).collect();
        let parts = SeveralParts { operator: self, events, q: &q, task };
        let ranges = self.ranges(subset, accumulation);
        let mut images = vec![0.0; IMAGES_AT_ONCE * self.voxels.len()];
        backproject(&parts, ranges, &self.private_images, &self.sum_of_several, accumulation, &mut images)?;
        for (image, out) in out.iter_mut().enumerate() {
            let out = out.values_mut();
            out.par_iter_mut().zip(images.par_chunks_exact(IMAGES_AT_ONCE)).for_each(|(out, values)| *out = values[image]);
            self.voxels.zero_outside_fov(out);
        }
        Ok(())
    }

    fn accumulations(&self) -> &'static [Accumulation] {
        Accumulation::OF_LINES
    }

    fn scratch_bytes(&self, subset: Subset, accumulation: Accumulation) -> u64 {
        private_bytes(self.space().len(subset).div_ceil(EVENTS_PER_IMAGE), self.voxels.len(), accumulation)
    }
}
