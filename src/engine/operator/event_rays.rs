//! The lines of events, with their time of flight, for every back end.

use std::sync::Arc;

use rayon::prelude::*;

use super::event_space::{EventOrder, EventSpace, key};
use super::tof::TofKernel;
use super::{OperatorError, OperatorLimit};
use crate::algebra::Shard;
use crate::data::{Events, TofMeasurement};
use crate::geometry::{Grid, Line, Point};
use crate::scanner::{Detectors, PairRays};

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
    /// For each event the number of its kernel; empty if all share one.
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

    /// Returns the largest factor of a length on a line: the highest density of d, 1/mm, or 1 without time of flight.
    pub fn largest_weight(&self) -> f64 {
        self.kernels.iter().map(|kernel| kernel.weight([0.0; 2], 0.0)).reduce(f64::max).unwrap_or(1.0)
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

    pub(super) fn line(&self, event: usize, ray: usize) -> Line {
        let [first, second] = self.events.pairs[event].map(|crystal| ray * self.num_crystals + crystal as usize);
        Line { start: self.points[0][first], end: self.points[1][second] }
    }

    /// Returns the interval of d, where it is used.
    fn tof_mm(&self, event: usize) -> Option<[f32; 2]> {
        (!self.kernels.is_empty()).then(|| self.events.tof_mm[event])
    }

    /// Returns the number of an event's kernel.
    pub(super) fn kernel_of(&self, event: usize) -> u8 {
        self.kernel_of.get(event).copied().unwrap_or(0)
    }

    /// Returns an event's kernel and interval of d, where it is used.
    pub(super) fn tof(&self, event: usize) -> Option<(&TofKernel, [f64; 2])> {
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
