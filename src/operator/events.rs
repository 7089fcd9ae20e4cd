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
use super::event_space::{EventOrder, EventSpace, key};
use super::group_sum::GroupSum;
use super::siddon::{starts, walk_parts};
use super::tof::{TofKernel, TofTerms};
use super::{
    Accumulation, DataSpace, EventProjector, LinearOperator, OperatorError, OperatorLimit, ShardOperator, Subset, check_lengths,
    shard_of_ranges,
};
use crate::algebra::{Columns, Data, FieldOfView, Host, HostArray, Image, PeerGroup, Shard, Simd, Voxels};
use crate::data::{Events, TofMeasurement};
use crate::geometry::{Grid, Line, Point};
use crate::scanner::{Detectors, PairRays};
use crate::task::{Stopped, Task};

/// Events that a thread takes at a time.
const EVENTS_PER_TASK: usize = 2048;
/// Events that are worth a private image.
const EVENTS_PER_IMAGE: usize = 1 << 16;

/// The lines of events, for every back end.
#[derive(Clone, Debug)]
pub struct EventRays {
    events: Arc<Events>,
    /// Where each ray begins at a crystal, ray by ray, and where it ends at one.
    points: [Vec<Point>; 2],
    num_crystals: usize,
    num_rays: usize,
    /// One for each uncertainty of d; none where time of flight is not used.
    kernels: Vec<TofKernel>,
    /// Which of them is of an event; no values where there is one.
    kernel_of: Vec<u8>,
    space: EventSpace,
}

impl EventRays {
    /// `rays` for each event of a shard of a list; with time of flight if both the scanner and its events have it. The order of
    /// the events suits images of a grid. Those of a line, seen along the axis, are all in one shard.
    ///
    /// # Errors
    /// An event of a crystal that the scanner has not, more events than can be numbered, a time of flight without resolution.
    pub fn new(
        events: Arc<Events>,
        detectors: &Detectors,
        tof: Option<&TofMeasurement>,
        grid: &Grid,
        rays: PairRays,
        order: EventOrder,
        shard: Shard,
    ) -> Result<Self, OperatorError> {
        let (num_crystals, num_rays) = (detectors.crystals().len(), rays.num());
        if u32::try_from(events.len()).is_err() {
            return Err(OperatorLimit::NumEvents { found: events.len(), most: u32::MAX }.into());
        }
        if let Some(event) = events.pairs.par_iter().position_first(|pair| pair.iter().any(|&c| c as usize >= num_crystals)) {
            let (pair, scanner) = (events.pairs[event], detectors.name().to_owned());
            return Err(OperatorLimit::UnknownCrystal { event, pair, scanner, num_crystals }.into());
        }
        let tof = tof.filter(|_| !events.is_empty() && events.tof_mm.len() == events.len());
        let (kernels, kernel_of) = kernels_of(&events, tof)?;
        let points = [0, 1].map(|end| {
            let each = (0..num_rays).flat_map(|ray| (0..num_crystals as u32).map(move |crystal| (ray, crystal)));
            each.map(|(ray, crystal)| {
                let line = detectors.ray([crystal; 2], ray, rays);
                if end == 0 { line.start } else { line.end }
            })
            .collect()
        });
        let space = EventSpace::of(events.len());
        let mut new = Self { events, points, num_crystals, num_rays, kernels, kernel_of, space };
        // Shards divide lines.
        if shard != Shard::WHOLE || order == EventOrder::ByLine {
            new.space = EventSpace::new(new.events.len(), Some((&new.keys(grid), shard)));
        }
        Ok(new)
    }

    fn keys(&self, grid: &Grid) -> Vec<u32> {
        let is_one_way = self.points[0] != self.points[1];
        let key = |event: usize| key(&self.line(event, 0), self.tof_mm(event), grid, is_one_way);
        (0..self.events.len()).into_par_iter().map(key).collect()
    }

    /// Which events belong to a subset.
    pub fn space(&self) -> &EventSpace {
        &self.space
    }

    /// Uncertainties of d, where it is used.
    pub fn kernels(&self) -> &[TofKernel] {
        &self.kernels
    }

    /// Crystals of the scanner.
    pub fn num_crystals(&self) -> usize {
        self.num_crystals
    }

    /// Rays of an event.
    pub fn num_rays(&self) -> usize {
        self.num_rays
    }

    /// Where ray r begins at crystal c, mm, at r·crystals + c; and where it ends.
    pub fn points(&self) -> &[Vec<Point>; 2] {
        &self.points
    }

    /// Returns the events.
    pub fn events(&self) -> &Events {
        &self.events
    }

    fn line(&self, event: usize, ray: usize) -> Line {
        let [first, second] = self.events.pairs[event].map(|crystal| ray * self.num_crystals + crystal as usize);
        Line { start: self.points[0][first], end: self.points[1][second] }
    }

    /// Returns the interval of d, where it is used.
    fn tof_mm(&self, event: usize) -> Option<[f32; 2]> {
        (!self.kernels.is_empty()).then(|| self.events.tof_mm[event])
    }

    /// Returns the number of an event's kernel.
    fn kernel_of(&self, event: usize) -> u8 {
        self.kernel_of.get(event).copied().unwrap_or(0)
    }

    /// Returns an event's kernel and interval of d, where it is used.
    fn tof(&self, event: usize) -> Option<(&TofKernel, [f64; 2])> {
        let kernel = self.kernels.get(usize::from(self.kernel_of(event)))?;
        Some((kernel, self.events.tof_mm[event].map(f64::from)))
    }
}

/// Returns the kernels of events, and which of them is of each; the latter without values where there is one.
///
/// # Errors
/// A resolution that is no positive length, or too many of them.
fn kernels_of(events: &Events, tof: Option<&TofMeasurement>) -> Result<(Vec<TofKernel>, Vec<u8>), OperatorError> {
    let Some(tof) = tof else { return Ok((Vec::new(), Vec::new())) };
    let mut fwhms_mm: Vec<f64> = Vec::new();
    for (fwhm_mm, _) in tof.resolutions() {
        if !fwhms_mm.contains(&fwhm_mm) {
            fwhms_mm.push(fwhm_mm);
        }
    }
    if let Some(fwhm_mm) = fwhms_mm.iter().find(|mm| !(**mm > 0.0 && mm.is_finite())) {
        return Err(OperatorLimit::TofResolution(*fwhm_mm).into());
    }
    if u8::try_from(fwhms_mm.len()).is_err() {
        return Err(OperatorLimit::NumTofResolutions { found: fwhms_mm.len(), most: u8::MAX }.into());
    }
    let number = |pair: &[u32; 2]| {
        let fwhm_mm = tof.fwhm_of(*pair);
        fwhms_mm.iter().position(|other| *other == fwhm_mm).unwrap_or(0) as u8
    };
    let kernel_of = if fwhms_mm.len() > 1 { events.pairs.par_iter().map(number).collect() } else { Vec::new() };
    Ok((fwhms_mm.into_iter().map(TofKernel::new).collect(), kernel_of))
}

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
    /// Sum over the members that divide the events.
    group_sum: GroupSum,
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
        Ok(Self { rays, voxels, terms, simd: Simd::fastest(), is_plain: false, private_images, group_sum: GroupSum::ALONE })
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

    /// Walks events, given by their places in a subset and their numbers, and calls `done` with full lanes.
    #[inline(always)]
    fn walk(&self, events: impl Iterator<Item = (usize, u32)>, mut done: impl FnMut(&Lanes)) {
        let [nx, _, nz] = self.voxels.grid().size.map(|n| n as isize);
        let strides = [nz, nx * nz, 1];
        let share = 1.0 / self.rays.num_rays as f64;
        let mut lanes = Lanes::default();
        for (place, event) in events {
            let (tof, kernel) = (self.rays.tof(event as usize), self.rays.kernel_of(event as usize));
            for ray in 0..self.rays.num_rays {
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
        for ray in 0..self.rays.num_rays {
            let line = self.rays.line(event, ray);
            let length_mm = line.length_mm();
            let [enter, leave] = within(tof, length_mm);
            walk_parts(&self.voxels, &line, |voxel, [from, to], share| {
                let (from, to) = (from.max(enter), to.min(leave));
                if from < to {
                    let l = (0.5 * (from + to) - 0.5) * length_mm;
                    let weight = tof.map_or(1.0, |(kernel, interval)| kernel.weight(interval, l));
                    visit(voxel, share * (to - from) * length_mm * weight / self.rays.num_rays as f64);
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

impl EventProjector<Host> for EventLines {
    /// A shard has whole parts of the sum of a deterministic backprojection: its bits do not depend on the number of members.
    fn for_group(mut self: Box<Self>, group: &PeerGroup) -> Result<ShardOperator<Host>, OperatorError> {
        self.group_sum = GroupSum::with(group.clone(), &self.voxels);
        let all = self.space().clone();
        Ok(shard_of_ranges(*self, all, |own: &Self, subset| vec![own.own_places(subset)], false))
    }

    fn voxels(&self) -> &Voxels {
        &self.voxels
    }

    fn space(&self) -> &EventSpace {
        &self.rays.space
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
        let ranges = if is_shared(accumulation) {
            let own = self.own_places(subset);
            let end = own.end;
            own.step_by(EVENTS_PER_TASK).map(|begin| begin..(begin + EVENTS_PER_TASK).min(end)).collect()
        } else {
            self.own_parts(subset)
        };
        let parts = EventParts { operator: self, events, q, task };
        backproject(&parts, ranges, &self.private_images, &self.group_sum, accumulation, out)?;
        self.voxels.zero_outside_fov(out);
        Ok(())
    }

    fn accumulations(&self) -> &'static [Accumulation] {
        Accumulation::OF_LINES
    }

    fn scratch_bytes(&self, subset: Subset, accumulation: Accumulation) -> u64 {
        private_bytes(self.space().len(subset).div_ceil(EVENTS_PER_IMAGE), self.voxels.len(), accumulation)
    }
}
