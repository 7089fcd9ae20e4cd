//! The response of a ring to the functions of an image: which decays of each are counted on which line of response.
//!
//! Decays are even in one wedge of the object. A coincidence on the line l adds the value ψ of every function j at its decay to the
//! element (l, j); with j = g b, b being basic, that is the element (g⁻¹ l, b) of a basic function. Over the whole wedge all
//! images of each basic function are met, so that the sum over histories, times the wedge's volume over their number, is
//!
//! ```text
//! A(l, b) = ∫ ψ_b(r) p_l(r) d³r     (mm³; p_l(r): the share of decays at r that is counted on l)
//! ```
//!
//! Tallies are integers: neither the number of threads nor their order changes them.

use std::f64::consts::PI;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use rayon::prelude::*;

use super::draws::uniform;
use super::ring::{RingDetector, Seen};
use crate::geometry::Point;
use crate::random::stream;
use crate::task::{Stopped, Task};

/// Histories that one task follows.
const HISTORIES_PER_TASK: u64 = 1 << 12;
/// A weight as an integer has so many bits: a tally holds 2¹⁸ of the largest.
const WEIGHT_BITS: i32 = 14;

/// The functions that are not 0 at a point: calls the second argument with the number of each, `[basic][symmetry]`, and its value.
pub trait FunctionsAt: Sync {
    /// Calls `visit(index, value)`; no value is above 1.
    fn at(&self, point: Point, visit: &mut dyn FnMut(usize, f64));
}

/// The tallies of a response matrix.
pub struct ResponseTally<'a, F> {
    detector: &'a RingDetector,
    functions: &'a F,
    num_basic: usize,
    /// Where decays happen: out to this radius, up to this height, mm.
    extent_mm: [f64; 2],
    seed: u64,
    /// The image of each crystal under the inverse of each symmetry, `[symmetry][crystal]`.
    undone: Vec<u32>,
    /// Σ w ψ and Σ (w ψ)² of each element, `[basic][line of response]`, in units of the largest weight / 2^[`WEIGHT_BITS`] and of
    /// its square / 2^[`WEIGHT_BITS`].
    sums: Vec<AtomicU32>,
    squares: Vec<AtomicU32>,
    /// Σ w of what was counted, and of what was rejected as multiple, in the same units.
    counted: AtomicU64,
    multiple: AtomicU64,
    num_counted: AtomicU64,
    num_histories: u64,
}

/// An element of the matrix.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ResponseElement {
    /// The basic function.
    pub basic: usize,
    /// mm³.
    pub value: f32,
}

/// How a simulated response came out.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ResponseStatistics {
    /// Decays that were followed, each in directions that can be counted.
    pub num_histories: u64,
    /// Of these, how many were counted.
    pub num_counted: u64,
    /// Decays into all directions, over the whole object, that would give as much.
    pub num_decays: f64,
    /// Share of the decays in the object that is counted, and that is rejected as multiple, %.
    pub counted_percent: f64,
    /// See `counted_percent`.
    pub multiple_percent: f64,
    /// Elements above 0.
    pub num_elements: u64,
    /// Mean of (Σ w)² / Σ w² over the elements.
    pub effective_counts: f64,
}

impl<'a, F: FunctionsAt> ResponseTally<'a, F> {
    /// Nothing simulated yet. `extent_mm`: radius and half the length of the cylinder in which the functions, `num_basic` basic ones
    /// with their images, are not 0.
    pub fn new(detector: &'a RingDetector, functions: &'a F, num_basic: usize, extent_mm: [f64; 2], seed: u64) -> Self {
        let ring = detector.ring();
        let undone = (0..ring.num_symmetries()).flat_map(|number| {
            let inverse = ring.inverse(ring.symmetry(number));
            (0..ring.num_crystals()).map(move |crystal| ring.image_of_crystal(inverse, crystal) as u32)
        });
        let zeros = |len: usize| (0..len).map(|_| AtomicU32::new(0)).collect();
        let len = num_basic * ring.num_lors();
        Self {
            detector,
            functions,
            num_basic,
            extent_mm: [extent_mm[0].min(ring.radius_mm), extent_mm[1]],
            seed,
            undone: undone.collect(),
            sums: zeros(len),
            squares: zeros(len),
            counted: AtomicU64::new(0),
            multiple: AtomicU64::new(0),
            num_counted: AtomicU64::new(0),
            num_histories: 0,
        }
    }

    /// Bytes of the tallies of so many basic functions.
    pub fn bytes(num_basic: usize, num_lors: usize) -> u64 {
        8 * num_basic as u64 * num_lors as u64
    }

    /// Follows `num` more decays on all threads.
    ///
    /// # Errors
    /// Stopped.
    pub fn add(&mut self, num: u64, task: &Task) -> Result<(), Stopped> {
        let (first, end) = (self.num_histories, self.num_histories + num);
        let this = &*self;
        (0..num.div_ceil(HISTORIES_PER_TASK)).into_par_iter().try_for_each(|some| {
            task.check()?;
            let from = first + some * HISTORIES_PER_TASK;
            let to = (from + HISTORIES_PER_TASK).min(end);
            (from..to).for_each(|history| this.add_history(history));
            task.advance(to - from);
            Ok(())
        })?;
        self.num_histories = end;
        Ok(())
    }

    /// One decay. Draws: its distance from the axis, its angle and its height in the wedge, then those of its photons.
    fn add_history(&self, history: u64) {
        let mut random = stream(self.seed, history);
        let radius_mm = self.extent_mm[0] * uniform(&mut random).sqrt();
        let angle_rad = uniform(&mut random) * PI / self.detector.ring().num_modules as f64;
        let decay = [radius_mm * angle_rad.cos(), radius_mm * angle_rad.sin(), uniform(&mut random) * self.extent_mm[1]];
        let units = f64::from(WEIGHT_BITS).exp2();
        match self.detector.see(decay, &mut random) {
            Seen::Nothing => {}
            Seen::Multiple { weight } => {
                self.multiple.fetch_add((weight * units).round() as u64, Ordering::Relaxed);
            }
            Seen::Counted { lor, weight } => {
                self.counted.fetch_add((weight * units).round() as u64, Ordering::Relaxed);
                self.num_counted.fetch_add(1, Ordering::Relaxed);
                self.count(decay, lor, weight);
            }
        }
    }

    fn count(&self, decay: Point, lor: usize, weight: f64) {
        let ring = self.detector.ring();
        let (crystals, units) = (ring.crystals_of(lor), f64::from(WEIGHT_BITS).exp2());
        let (num_symmetries, num_crystals, num_lors) = (ring.num_symmetries(), ring.num_crystals(), ring.num_lors());
        self.functions.at(decay, &mut |index, value| {
            let (basic, symmetry) = (index / num_symmetries, index % num_symmetries);
            let [one, other] = crystals.map(|crystal| self.undone[symmetry * num_crystals + crystal] as usize);
            let element = basic * num_lors + ring.lor(one, other);
            let share = weight * value;
            self.sums[element].fetch_add((share * units).round() as u32, Ordering::Relaxed);
            self.squares[element].fetch_add((share * share * units).round() as u32, Ordering::Relaxed);
        });
    }

    /// The elements above 0 of a line of response, in the order of the basic functions.
    pub fn row(&self, lor: usize) -> impl Iterator<Item = ResponseElement> + '_ {
        let num_lors = self.detector.ring().num_lors();
        let scale = self.wedge_mm3() / self.num_histories.max(1) as f64 / f64::from(WEIGHT_BITS).exp2();
        (0..self.num_basic).filter_map(move |basic| {
            let sum = self.sums[basic * num_lors + lor].load(Ordering::Relaxed);
            (sum > 0).then(|| ResponseElement { basic, value: (f64::from(sum) * scale) as f32 })
        })
    }

    /// Volume that decays happen in.
    fn wedge_mm3(&self) -> f64 {
        let [radius_mm, half_length_mm] = self.extent_mm;
        0.5 * PI / self.detector.ring().num_modules as f64 * radius_mm * radius_mm * half_length_mm
    }

    /// How it came out so far.
    pub fn statistics(&self) -> ResponseStatistics {
        let units = f64::from(WEIGHT_BITS).exp2();
        let share = |sum: &AtomicU64| 100.0 * sum.load(Ordering::Relaxed) as f64 / units / self.num_histories.max(1) as f64;
        let effective = |(sum, square): (&AtomicU32, &AtomicU32)| {
            let [sum, square] = [sum, square].map(|tally| f64::from(tally.load(Ordering::Relaxed)));
            // A square may be too small to be told from 0: then it is one count.
            if sum > 0.0 { [1.0, if square > 0.0 { (sum * sum / (square * units)).max(1.0) } else { 1.0 }] } else { [0.0; 2] }
        };
        let add = |a: [f64; 2], b: [f64; 2]| [a[0] + b[0], a[1] + b[1]];
        let [num, sum] = self.sums.par_iter().zip(&self.squares).map(effective).reduce(|| [0.0; 2], add);
        ResponseStatistics {
            num_histories: self.num_histories,
            num_counted: self.num_counted.load(Ordering::Relaxed),
            num_decays: self.num_histories as f64 * self.detector.ring().num_symmetries() as f64,
            counted_percent: share(&self.counted),
            multiple_percent: share(&self.multiple),
            num_elements: num as u64,
            effective_counts: if num > 0.0 { sum / num } else { 0.0 },
        }
    }
}
