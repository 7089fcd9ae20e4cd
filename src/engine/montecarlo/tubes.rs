//! Tubes of response: positions of the decays whose photons a bin of rotating heads counts.
//!
//! The gantry turns evenly, so that nothing depends on the view: a coincidence is counted in the frame of the bin of its two
//! crystals. The tube of a bin is the mean over the crystal pairs and gantry angles that fall into it; their number is the bin's
//! [dwell](Coincidences::dwell).
//!
//! Symmetries. Reflections exchange (s, −s) and (δ, −δ) with the offsets across and along the axis inverted; half a turn gives
//! (a, −a) with the axial offset inverted. All are exact for heads that are their own mirror images. Translation along the axis
//! is not: near the edge rings photons escape that would scatter into a neighbour ([`super::EdgeDeviation`] is its size). All
//! ring pairs of a difference are averaged ([Herraiz et al. 2011], section 2.1 and figure 2).
//!
//! Tallies are integers: their sums do not depend on the order, and so not on the number of threads.
//!
//! [Herraiz et al. 2011]: https://doi.org/10.1016/j.nima.2010.09.083

use std::sync::atomic::{AtomicU64, Ordering};

use super::coincidences::{Coincidences, CrystalLine};
use super::draws::in_pieces;
use crate::coded::{PassedOn, coded};
use crate::data::{SuperLors, TubeSampling};
use crate::random::stream;
use crate::statistics::median;
use crate::task::{Stopped, Task};

/// Number of bits of a weight as an integer: a tally holds 2²⁴ of the largest.
const WEIGHT_BITS: i32 = 40;
/// Sums over all coincidences have units larger by this number of bits: they hold 2⁴⁰ of the largest weight.
const TOTAL_BITS: u32 = 16;

/// The tallies of a simulation, to which histories are added until they are exact enough.
pub struct TubeTally {
    /// The scanner that is simulated.
    pub coincidences: Coincidences,
    /// Sampling of the tubes.
    pub sampling: TubeSampling,
    /// Seed of the histories.
    pub seed: u64,
    /// Σ w of each coefficient, in units of `unit_mm3`.
    sums: Vec<AtomicU64>,
    /// Σ w² of the coefficients on the axes of the tubes, in units of `unit_mm3` × `largest_mm3`.
    squares: Vec<AtomicU64>,
    /// Σ w of all coincidences, and of those whose decay lies outside the samples of its tube, in 2^[`TOTAL_BITS`] `unit_mm3`.
    counted: AtomicU64,
    outside: AtomicU64,
    /// No weight is larger, mm³.
    largest_mm3: f64,
    /// Returns the weight of one unit of a tally, mm³.
    unit_mm3: f64,
    /// Number of histories so far.
    pub num_histories: u64,
}

/// The sums of a tally as plain numbers, in its units and order.
pub struct TallySums {
    /// Σ w of each coefficient.
    pub sums: Vec<u64>,
    /// Σ w² of the coefficients on the axes of the tubes.
    pub squares: Vec<u64>,
    /// Σ w of all coincidences, and of those whose decay lies outside the samples of its tube, in 2^[`TOTAL_BITS`] units.
    pub totals: [u64; 2],
}

/// Simulation of the histories of a tally. The device changes only the last bits of a few histories.
pub trait HistorySimulator {
    /// Simulates `num` more histories and adds them to the tally.
    ///
    /// # Errors
    /// Stopped, or the device failed; the tally is then invalid.
    fn simulate(&mut self, tally: &mut TubeTally, num: u64, task: &Task) -> Result<(), HistoryError>;
}

/// Reason why histories were not followed.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum HistoryError {
    /// Stopped.
    #[error(transparent)]
    Stopped(#[from] Stopped),
    /// The device failed.
    #[error(transparent)]
    Device(PassedOn),
    /// An element of a matrix has been counted as often as its tally can hold.
    #[error(
        "the simulation stopped: an element of the matrix has been counted as often as its tally can hold; choose fewer histories"
    )]
    TallyFull,
}

coded!(HistoryError = "photons"; Stopped, Device);

/// All threads of the processor.
pub struct AllThreads;

impl HistorySimulator for AllThreads {
    fn simulate(&mut self, tally: &mut TubeTally, num: u64, task: &Task) -> Result<(), HistoryError> {
        Ok(tally.add(num, task)?)
    }
}

/// Precision of tubes, %.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TubePrecision {
    /// Relative standard error of the coefficients on a tube's axis, ends left out: the median over all tubes' medians.
    pub median_percent: f64,
    /// The median that a tenth of the tubes exceeds.
    pub worst_tenth_percent: f64,
    /// Share of the coincidences whose decay lies outside the samples of its tube.
    pub outside_percent: f64,
}

/// Where a coincidence is counted.
pub(super) struct Place {
    radial: usize,
    pub ring_difference: usize,
    /// The decay in the bin's frame, in samples from the middle: along the line, across it, along the axis; the last two turned
    /// round where the signed distance from the axis or the signed ring difference is negative.
    pub offset: [f64; 3],
}

impl Place {
    /// Returns the place of a coincidence on the line of two crystals; `None` if its distance from the axis has no tube.
    pub fn of(coincidences: &Coincidences, sampling: &TubeSampling, line: &CrystalLine, decay: [f64; 3]) -> Option<Self> {
        let geometry = &coincidences.geometry;
        let bin_mm = geometry.central_bin_mm();
        let tangential = (line.s_mm / bin_mm).round();
        let difference = line.rings[0] as f64 - line.rings[1] as f64;
        let a_mm = decay[0] * line.along[0] + decay[1] * line.along[1];
        // The nominal line of the bin, on which the tube's samples lie.
        let slope = difference * geometry.ring_spacing_mm / (2.0 * geometry.radius_mm());
        let across_mm = decay[0] * line.normal[0] + decay[1] * line.normal[1] - tangential * bin_mm;
        let axial_mm = decay[2] - (line.middle_mm - a_mm * slope);
        let mirrored = |value: f64, by: f64| if by < 0.0 { -value } else { value };
        let offset_mm = [a_mm, mirrored(across_mm, tangential), mirrored(axial_mm, difference)];
        let offset = [0, 1, 2].map(|a| offset_mm[a] / sampling.spacing_mm[a]);
        let (radial, ring_difference) = (tangential.abs() as usize, difference.abs() as usize);
        (radial < sampling.num_radial).then_some(Self { radial, ring_difference, offset })
    }
}

/// Returns the sample whose cell an offset from the middle lies in.
pub(super) fn sample_at(sampling: &TubeSampling, offset: [f64; 3]) -> Option<[usize; 3]> {
    let mut sample = [0; 3];
    for a in 0..3 {
        let index = (offset[a] + 0.5 * sampling.num[a] as f64).floor();
        if !(0.0..sampling.num[a] as f64).contains(&index) {
            return None;
        }
        sample[a] = index as usize;
    }
    Some(sample)
}

impl TubeTally {
    /// Returns an empty tally.
    pub fn new(coincidences: Coincidences, sampling: TubeSampling, seed: u64) -> Self {
        let zeros = |len: usize| (0..len).map(|_| AtomicU64::new(0)).collect();
        let num_tubes = sampling.num_radial * sampling.num_ring_differences;
        let sums = zeros(num_tubes * sampling.tube_len());
        let squares = zeros(num_tubes * sampling.num[0]);
        let largest_mm3 = coincidences.weight_bound();
        Self {
            coincidences,
            sampling,
            seed,
            sums,
            squares,
            counted: AtomicU64::new(0),
            outside: AtomicU64::new(0),
            largest_mm3,
            unit_mm3: largest_mm3 / f64::from(WEIGHT_BITS).exp2(),
            num_histories: 0,
        }
    }

    /// Follows `num` more histories on all threads.
    ///
    /// # Errors
    /// Stopped.
    pub fn add(&mut self, num: u64, task: &Task) -> Result<(), Stopped> {
        let (this, end) = (&*self, self.num_histories + num);
        in_pieces(self.num_histories..end, task, |some| {
            some.for_each(|history| this.add_history(history));
            Ok::<(), Stopped>(())
        })?;
        self.num_histories = end;
        Ok(())
    }

    /// Adds the sums of the next `num` histories from another device.
    pub fn add_sums(&mut self, num: u64, found: &TallySums) {
        let add = |sums: &mut [AtomicU64], found: &[u64]| {
            sums.iter_mut().zip(found).for_each(|(sum, found)| *sum.get_mut() += found);
        };
        add(&mut self.sums, &found.sums);
        add(&mut self.squares, &found.squares);
        *self.counted.get_mut() += found.totals[0];
        *self.outside.get_mut() += found.totals[1];
        self.num_histories += num;
    }

    /// Returns the sums so far.
    pub fn sums(&self) -> TallySums {
        let plain = |sums: &[AtomicU64]| sums.iter().map(|sum| sum.load(Ordering::Relaxed)).collect();
        let totals = [&self.counted, &self.outside].map(|sum| sum.load(Ordering::Relaxed));
        TallySums { sums: plain(&self.sums), squares: plain(&self.squares), totals }
    }

    /// Returns the weight of one unit of the sums of weights, and the largest weight, mm³; one unit of the sums of squares is their product.
    pub fn units_mm3(&self) -> [f64; 2] {
        [self.unit_mm3, self.largest_mm3]
    }

    /// Returns the expected counts of one decay in each mm³ of the object, over all bins and a whole turn of the gantry.
    pub fn counts_per_density_mm3(&self) -> f64 {
        let unit_mm3 = self.unit_mm3 * f64::from(TOTAL_BITS).exp2();
        self.counted.load(Ordering::Relaxed) as f64 * unit_mm3 / self.num_histories as f64
    }

    /// Returns the number of crystal pairs of each tube, `[radial][ring difference]`, up to a common factor.
    pub fn num_pairs(&self) -> Vec<f64> {
        self.coincidences.pairs_of_tubes(&self.sampling)
    }

    fn add_history(&self, history: u64) {
        let mut random = stream(self.seed, history);
        if let Some(start) = self.coincidences.start(&mut random)
            && let Some((line, share)) = self.coincidences.count(&start, &mut random)
            && let Some(place) = Place::of(&self.coincidences, &self.sampling, &line, start.decay)
        {
            self.count(&place, start.weight_mm3 * share);
        }
    }

    /// Adds a coincidence to its tube and to the images of it that the tube has in itself, in equal parts.
    fn count(&self, place: &Place, weight_mm3: f64) {
        let Place { radial, ring_difference, offset: [along, across, axial] } = *place;
        // Half a turn; and where there is no other side, both reflections.
        let signs_across: &[f64] = if radial == 0 { &[1.0, -1.0] } else { &[1.0] };
        let signs_axial: &[f64] = if ring_difference == 0 { &[1.0, -1.0] } else { &[1.0] };
        let num_images = 2 * signs_across.len() * signs_axial.len();
        let part_mm3 = weight_mm3 / num_images as f64;
        let units = (part_mm3 / self.unit_mm3).round() as u64;
        self.counted.fetch_add((units >> TOTAL_BITS) * num_images as u64, Ordering::Relaxed);
        for turn in [1.0, -1.0] {
            for sign_across in signs_across {
                for sign_axial in signs_axial {
                    let offset = [turn * along, sign_across * across, turn * sign_axial * axial];
                    let Some([a, b, c]) = sample_at(&self.sampling, offset) else {
                        self.outside.fetch_add(units >> TOTAL_BITS, Ordering::Relaxed);
                        continue;
                    };
                    let tube = radial * self.sampling.num_ring_differences + ring_difference;
                    let [num_along, num_across, num_axial] = self.sampling.num;
                    let sample = ((tube * num_along + a) * num_across + b) * num_axial + c;
                    self.sums[sample].fetch_add(units, Ordering::Relaxed);
                    if [b, c] == [num_across / 2, num_axial / 2] {
                        let square = part_mm3 / self.unit_mm3 * (part_mm3 / self.largest_mm3);
                        self.squares[tube * num_along + a].fetch_add(square.round() as u64, Ordering::Relaxed);
                    }
                }
            }
        }
    }

    /// Returns the tubes: for each bin the mean over its crystal pairs, in mm. They are scaled so that the middle one of the
    /// direct planes adds up to the length of its samples, as a line would. The others differ from it by the effect of their
    /// slope on the detectors.
    pub fn tubes(&self) -> Vec<f32> {
        let sampling = &self.sampling;
        let num_pairs = self.num_pairs();
        let per_tube = sampling.tube_len();
        let mean = |tube: usize| -> Vec<f64> {
            let sums = &self.sums[tube * per_tube..(tube + 1) * per_tube];
            // A bin without a crystal pair has no tube.
            let scale = if num_pairs[tube] > 0.0 { self.unit_mm3 / num_pairs[tube] } else { 0.0 };
            sums.iter().map(|sum| sum.load(Ordering::Relaxed) as f64 * scale).collect()
        };
        let tubes: Vec<Vec<f64>> = (0..sampling.num_radial * sampling.num_ring_differences).map(mean).collect();
        let length_mm = sampling.num[0] as f64 * sampling.spacing_mm[0];
        let sum: f64 = tubes[0].iter().sum();
        let scale = if sum > 0.0 { length_mm / sum } else { 0.0 };
        tubes.into_iter().flatten().map(|value| (scale * value) as f32).collect()
    }

    /// Returns the present precision of tubes that are shared so; `None` before any coincidence.
    pub fn precision(&self, shared: SuperLors) -> Option<TubePrecision> {
        let TubeSampling { num: [num_along, num_across, num_axial], num_radial, num_ring_differences, .. } = self.sampling;
        let axis = (num_across / 2) * num_axial + num_axial / 2;
        let reach = shared.along / 2;
        let mut errors = Vec::new();
        for group in shared.groups(num_radial, num_ring_differences) {
            let tubes: Vec<usize> =
                group.members().map(|[radial, difference]| radial * num_ring_differences + difference).collect();
            // Σ w and Σ w² of the coefficient of a sample on the axis, which may be a mean.
            let of_sample = |a: usize| {
                let near = a.saturating_sub(reach)..(a + reach + 1).min(num_along);
                let samples = tubes.iter().flat_map(|tube| near.clone().map(move |a| tube * num_along + a));
                let (sum, square) = samples.fold((0.0, 0.0), |(sum, square), sample| {
                    let of = |sums: &[AtomicU64], index: usize| sums[index].load(Ordering::Relaxed) as f64;
                    (sum + of(&self.sums, sample * num_across * num_axial + axis), square + of(&self.squares, sample))
                });
                (sum > 0.0).then(|| (square * self.largest_mm3 / self.unit_mm3).sqrt() / sum)
            };
            // The ends may lie outside the field of view.
            let of_group = median((num_along / 8..num_along - num_along / 8).filter_map(of_sample).collect());
            errors.extend(of_group.into_iter().flat_map(|error| tubes.iter().map(move |_| error)));
        }
        errors.sort_by(f64::total_cmp);
        let counted = self.counted.load(Ordering::Relaxed) as f64;
        let percent = |share: f64| 100.0 * share;
        Some(TubePrecision {
            median_percent: percent(*errors.get(errors.len() / 2)?),
            worst_tenth_percent: percent(*errors.get(9 * errors.len() / 10)?),
            outside_percent: percent(self.outside.load(Ordering::Relaxed) as f64 / counted),
        })
    }
}
