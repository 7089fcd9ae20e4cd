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
//! Tallies are integers: neither the number of threads nor their order changes them. A share is rounded down after one more draw of the
//! history was added to it, so that its mean is right however small it is.

use std::f64::consts::PI;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use rayon::prelude::*;

use super::draws::{in_pieces, uniform};
use super::ring::{DecayOutcome, RingDetector};
use super::tubes::HistoryError;
use crate::data::MatrixElement;
use crate::geometry::Point;
use crate::random::stream;
use crate::scanner::CrystalRing;
use crate::task::Task;

/// Units of a weight of 1, the largest, as an integer: a tally holds 2¹⁸ of them.
pub const WEIGHT_UNITS: f64 = 16_384.0;
/// Limit of a tally at which the simulation ends with an error: half of its capacity.
pub const TALLY_LIMIT: u32 = 1 << 31;

/// The functions that are not 0 at a point or, where they have fewer symmetries than the ring, at an image of it.
pub trait FunctionsAt: Sync {
    /// Calls `visit(basic, symmetry, value)` for each function g b: its basic function b, the number of the ring's symmetry g, and its value,
    /// which is never above 1.
    fn at_images(&self, point: Point, visit: &mut dyn FnMut(usize, usize, f64));
}

/// Where decays happen.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ResponseExtent {
    /// Out to this radius, mm.
    pub radius_mm: f64,
    /// From this height on, and up to this one, mm.
    pub heights_mm: [f64; 2],
    /// Volume of the wedge, mm³.
    pub mm3: f64,
}

impl ResponseExtent {
    /// Returns the wedge of a ring in which functions are not 0 that reach so far out and from one height to another. No decay is
    /// outside the bore, nor below the middle.
    pub fn new(ring: &CrystalRing, reach_mm: f64, heights_mm: [f64; 2]) -> Self {
        let (radius_mm, heights_mm) = (reach_mm.min(ring.radius_mm), heights_mm.map(|mm| mm.max(0.0)));
        let mm2 = 0.5 * PI / ring.num_modules as f64 * radius_mm * radius_mm;
        Self { radius_mm, heights_mm, mm3: mm2 * (heights_mm[1] - heights_mm[0]) }
    }
}

/// Part of a simulation: consecutive basic functions, and the extent of the decays for them.
#[derive(Clone, Debug, PartialEq)]
pub struct ResponsePart {
    /// The basic functions.
    pub basics: Range<usize>,
    /// The decays.
    pub extent: ResponseExtent,
}

impl ResponsePart {
    /// Returns the bytes of its tallies.
    pub fn bytes(&self, num_lors: usize) -> u64 {
        8 * self.basics.len() as u64 * num_lors as u64
    }
}

/// The elements of a simulated matrix.
pub struct ResponseElements {
    /// Where the elements of each line of response begin, and how many there are in all.
    pub first: Vec<u64>,
    /// The elements, those of a line in the order of its basic functions.
    pub elements: Vec<MatrixElement>,
    /// Scale of their values, mm³: a power of two; 0 without elements.
    pub scale_mm3: f32,
}

/// Returns the power of two that is next above the largest of the elements, mm³; 0 of 0.
pub fn scale_above(largest_mm3: f64) -> f32 {
    if largest_mm3 > 0.0 { largest_mm3.log2().ceil().exp2() as f32 } else { 0.0 }
}

impl ResponseElements {
    /// Returns the elements of several parts as one, which have their basic functions in order.
    pub fn joined(mut parts: Vec<ResponseElements>) -> Self {
        if parts.len() == 1
            && let Some(only) = parts.pop()
        {
            return only;
        }
        let scale_mm3 = parts.iter().map(|part| part.scale_mm3).fold(0.0, f32::max);
        let num_lors = parts.iter().map(|part| part.first.len() - 1).max().unwrap_or(0);
        let mut elements = Vec::with_capacity(parts.iter().map(|part| part.elements.len()).sum());
        let mut first = vec![0];
        for lor in 0..num_lors {
            for part in &parts {
                // Scales are powers of two, so that nothing is rounded once more.
                let times = if part.scale_mm3 > 0.0 { (scale_mm3 / part.scale_mm3).log2() as u32 } else { 0 };
                let row = &part.elements[part.first[lor] as usize..part.first[lor + 1] as usize];
                elements.extend(row.iter().map(|element| element.halved(times)));
            }
            first.push(elements.len() as u64);
        }
        Self { first, elements, scale_mm3 }
    }
}

/// Simulation of a response. The device changes only the last bits of a few histories.
pub trait Response {
    /// Follows `num` more decays.
    ///
    /// # Errors
    /// Stopped, or the device failed.
    fn add(&mut self, num: u64, task: &Task) -> Result<(), HistoryError>;

    /// Returns the statistics so far.
    ///
    /// # Errors
    /// The device failed.
    fn statistics(&mut self) -> Result<ResponseStatistics, HistoryError>;

    /// Returns the elements above 0.
    ///
    /// # Errors
    /// Stopped, or the device failed.
    fn elements(&mut self, task: &Task) -> Result<ResponseElements, HistoryError>;
}

/// The tallies of a response matrix.
pub struct ResponseTally<'a, F> {
    detector: &'a RingDetector,
    functions: &'a F,
    part: ResponsePart,
    seed: u64,
    /// The image of each crystal under the inverse of each symmetry, `[symmetry][crystal]`.
    inverse_images: Vec<u32>,
    /// Σ w ψ and Σ (w ψ)² of each element, `[basic][line of response]`, [`WEIGHT_UNITS`] of them being 1.
    sums: Vec<AtomicU32>,
    squares: Vec<AtomicU32>,
    /// Σ w of counted decays, and of decays rejected as multiple, in the same units.
    counted: AtomicU64,
    multiple: AtomicU64,
    num_counted: AtomicU64,
    /// True if a tally is above [`TALLY_LIMIT`].
    is_full: AtomicBool,
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

/// Statistics of a simulated response.
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

/// Totals from which the statistics of a response follow.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ResponseTotals {
    /// Decays that were followed.
    pub num_histories: u64,
    /// Of these, how many were counted.
    pub num_counted: u64,
    /// Σ w of counted decays, and of decays rejected as multiple, in units of a weight.
    pub counted: u64,
    /// See `counted`.
    pub multiple: u64,
    /// Elements above 0.
    pub num_elements: u64,
    /// Σ of their effective counts.
    pub effective: f64,
}

impl ResponseTotals {
    /// Returns the statistics of a ring with this number of symmetries.
    pub fn statistics(&self, num_symmetries: usize) -> ResponseStatistics {
        let percent = |units: u64| 100.0 * units as f64 / WEIGHT_UNITS / self.num_histories.max(1) as f64;
        ResponseStatistics {
            num_histories: self.num_histories,
            num_counted: self.num_counted,
            num_decays: self.num_histories as f64 * num_symmetries as f64,
            counted_percent: percent(self.counted),
            multiple_percent: percent(self.multiple),
            num_elements: self.num_elements,
            effective_counts: self.effective / self.num_elements.max(1) as f64,
        }
    }
}

impl ResponseStatistics {
    /// Returns the statistics of several parts of an object, each with its volume, mm³; the whole has `mm3`.
    pub fn joined(parts: &[(ResponseStatistics, f64)], mm3: f64) -> Self {
        let sum = |of: fn(&ResponseStatistics) -> f64| parts.iter().map(|(part, _)| of(part)).sum::<f64>();
        let all_mm3: f64 = parts.iter().map(|(_, mm3)| mm3).sum();
        let of_object = |of: fn(&ResponseStatistics) -> f64| parts.iter().map(|(part, mm3)| of(part) * mm3 / all_mm3).sum();
        let num_elements = parts.iter().map(|(part, _)| part.num_elements).sum::<u64>();
        Self {
            num_histories: parts.iter().map(|(part, _)| part.num_histories).sum(),
            num_counted: parts.iter().map(|(part, _)| part.num_counted).sum(),
            num_decays: sum(|part| part.num_decays) * mm3 / all_mm3,
            counted_percent: of_object(|part| part.counted_percent),
            multiple_percent: of_object(|part| part.multiple_percent),
            num_elements,
            effective_counts: sum(|part| part.effective_counts * part.num_elements as f64) / num_elements.max(1) as f64,
        }
    }
}

impl<'a, F: FunctionsAt> ResponseTally<'a, F> {
    /// Returns an empty tally of a part of the basic functions and their images.
    pub fn new(detector: &'a RingDetector, functions: &'a F, part: ResponsePart, seed: u64) -> Self {
        let ring = &detector.ring;
        let zeros = |len: usize| (0..len).map(|_| AtomicU32::new(0)).collect();
        let len = part.basics.len() * ring.num_lors();
        Self {
            detector,
            functions,
            part,
            seed,
            inverse_images: ring.inverse_images(),
            sums: zeros(len),
            squares: zeros(len),
            counted: AtomicU64::new(0),
            multiple: AtomicU64::new(0),
            num_counted: AtomicU64::new(0),
            is_full: AtomicBool::new(false),
            num_histories: 0,
        }
    }

    fn check_room(&self) -> Result<(), HistoryError> {
        if self.is_full.load(Ordering::Relaxed) { Err(HistoryError::TallyFull) } else { Ok(()) }
    }

    /// One decay. Draws: its distance from the axis, its angle and its height in the wedge, then those of its photons, and where it is
    /// counted one for the rounding of its shares.
    fn add_history(&self, history: u64) {
        let mut random = stream(self.seed, history);
        let ResponseExtent { radius_mm, heights_mm: [low_mm, high_mm], .. } = self.part.extent;
        let radius_mm = radius_mm * uniform(&mut random).sqrt();
        let angle_rad = uniform(&mut random) * PI / self.detector.ring.num_modules as f64;
        let decay =
            [radius_mm * angle_rad.cos(), radius_mm * angle_rad.sin(), low_mm + uniform(&mut random) * (high_mm - low_mm)];
        let units = WEIGHT_UNITS;
        match self.detector.outcome(decay, &mut random) {
            DecayOutcome::Nothing => {}
            DecayOutcome::Multiple { weight } => {
                self.multiple.fetch_add((weight * units).round() as u64, Ordering::Relaxed);
            }
            DecayOutcome::Counted { lor, weight } => {
                self.counted.fetch_add((weight * units).round() as u64, Ordering::Relaxed);
                self.num_counted.fetch_add(1, Ordering::Relaxed);
                self.count(decay, lor, weight, uniform(&mut random));
            }
        }
    }

    fn count(&self, decay: Point, lor: usize, weight: f64, rounding: f64) {
        let ring = &self.detector.ring;
        let (crystals, units) = (ring.crystals_of(lor), WEIGHT_UNITS);
        let (num_crystals, num_lors) = (ring.num_crystals(), ring.num_lors());
        self.functions.at_images(decay, &mut |basic, symmetry, value| {
            if !self.part.basics.contains(&basic) {
                return;
            }
            let [one, other] = crystals.map(|crystal| self.inverse_images[symmetry * num_crystals + crystal] as usize);
            let element = (basic - self.part.basics.start) * num_lors + ring.lor(one, other);
            let share = weight * value;
            let before = self.sums[element].fetch_add((share * units + rounding) as u32, Ordering::Relaxed);
            self.squares[element].fetch_add((share * share * units + rounding) as u32, Ordering::Relaxed);
            if before >= TALLY_LIMIT {
                self.is_full.store(true, Ordering::Relaxed);
            }
        });
    }

    /// Returns the elements above 0 of a line of response, in the order of the basic functions.
    pub fn row(&self, lor: usize) -> impl Iterator<Item = ResponseElement> + '_ {
        self.sums_of(lor).map(|(basic, sum)| ResponseElement { basic, value: (f64::from(sum) * self.unit_mm3()) as f32 })
    }

    /// Returns the volume of a unit of a tally.
    fn unit_mm3(&self) -> f64 {
        self.part.extent.mm3 / self.num_histories.max(1) as f64 / WEIGHT_UNITS
    }

    /// Returns the basic functions that a line sees, with their tallies.
    fn sums_of(&self, lor: usize) -> impl Iterator<Item = (usize, u32)> + '_ {
        let num_lors = self.detector.ring.num_lors();
        self.part.basics.clone().zip((lor..).step_by(num_lors)).filter_map(|(basic, at)| {
            let sum = self.sums[at].load(Ordering::Relaxed);
            (sum > 0).then_some((basic, sum))
        })
    }
}

impl<F: FunctionsAt> Response for ResponseTally<'_, F> {
    fn add(&mut self, num: u64, task: &Task) -> Result<(), HistoryError> {
        let (this, end) = (&*self, self.num_histories + num);
        in_pieces(self.num_histories..end, task, |some| {
            this.check_room()?;
            some.for_each(|history| this.add_history(history));
            Ok::<(), HistoryError>(())
        })?;
        self.num_histories = end;
        self.check_room()
    }

    fn statistics(&mut self) -> Result<ResponseStatistics, HistoryError> {
        let effective = |(sum, square): (&AtomicU32, &AtomicU32)| {
            let [sum, square] = [sum, square].map(|tally| f64::from(tally.load(Ordering::Relaxed)));
            // A square may round to 0: then it is one count.
            if sum > 0.0 {
                [1.0, if square > 0.0 { (sum * sum / (square * WEIGHT_UNITS)).max(1.0) } else { 1.0 }]
            } else {
                [0.0; 2]
            }
        };
        let add = |a: [f64; 2], b: [f64; 2]| [a[0] + b[0], a[1] + b[1]];
        let [num, effective] = self.sums.par_iter().zip(&self.squares).map(effective).reduce(|| [0.0; 2], add);
        let totals = ResponseTotals {
            num_histories: self.num_histories,
            num_counted: self.num_counted.load(Ordering::Relaxed),
            counted: self.counted.load(Ordering::Relaxed),
            multiple: self.multiple.load(Ordering::Relaxed),
            num_elements: num as u64,
            effective,
        };
        Ok(totals.statistics(self.detector.ring.num_symmetries()))
    }

    fn elements(&mut self, task: &Task) -> Result<ResponseElements, HistoryError> {
        let lors = 0..self.detector.ring.num_lors();
        let largest = self.sums.par_iter().map(|sum| sum.load(Ordering::Relaxed)).max().unwrap_or(0);
        let scale_mm3 = scale_above(f64::from(largest) * self.unit_mm3());
        let unit = (self.unit_mm3() / f64::from(scale_mm3)) as f32;
        let (mut first, mut elements) = (vec![0], Vec::new());
        for lor in lors {
            task.check()?;
            elements.extend(self.sums_of(lor).map(|(basic, sum)| MatrixElement::new(basic, sum as f32 * unit)));
            first.push(elements.len() as u64);
        }
        Ok(ResponseElements { first, elements, scale_mm3 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scanner::find_ring;

    struct One;

    impl FunctionsAt for One {
        fn at_images(&self, _: Point, visit: &mut dyn FnMut(usize, usize, f64)) {
            visit(0, 0, 1.0);
        }
    }

    #[test]
    fn a_tally_that_has_no_room_ends_the_simulation() {
        let ring = find_ring("madpet2-reduced").unwrap();
        let detector = RingDetector::new(ring.clone()).unwrap();
        let part = ResponsePart { basics: 0..1, extent: ResponseExtent::new(ring, 30.0, [0.0, 5.0]) };
        let mut tally = ResponseTally::new(&detector, &One, part, 3);
        tally.add(10_000, &Task::new()).unwrap();
        tally.sums.iter().for_each(|sum| sum.store(TALLY_LIMIT, Ordering::Relaxed));
        assert_eq!(tally.add(10_000, &Task::new()), Err(HistoryError::TallyFull));
    }
}
