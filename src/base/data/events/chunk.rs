//! Single coincidences, as in list-mode files.
//!
//! Time of flight. An event of crystals 1 and 2 at t₁ and t₂ lies about d = (t₁ − t₂) c/2 from the middle of their line, towards
//! crystal 2. Readers convert each format's sign to this one. A scanner with bins of d gives an interval of it. The uncertainty
//! of d is Gaussian.
//!
//! The model of a list: the pair p is expected to count m_p Σ_j a_pj x_j + b_p events of the interval (d₁, d₂), in any unit of d;
//! here a_pj is the length of the line in voxel j, mm, times the *mean over the interval* of the Gaussian's density, 1/mm. So an
//! interval without width is the density itself. b_p is likewise the expected background per mm of d. Without time of flight both
//! are those of the whole line.

use std::fmt::Debug;
use std::ops::Range;
use std::sync::Arc;

use crate::data::attenuation::Attenuation;
use crate::data::fingerprint::Fingerprint;
use crate::data::pet::exam::Exam;
use crate::scanner::Detectors;

/// c, mm/ps.
pub const LIGHT_MM_PER_PS: f64 = 0.299_792_458;

/// Returns d, mm, of t₁ − t₂, ps.
pub fn tof_mm(difference_ps: f64) -> f64 {
    0.5 * LIGHT_MM_PER_PS * difference_ps
}

/// Events in the order of their file; arrays of unknown properties are empty.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Events {
    /// Numbers of both crystals.
    pub pairs: Vec<[u32; 2]>,
    /// Times, ms from the beginning of the scan; for an event without its own time the middle of its time block.
    pub times_ms: Vec<u32>,
    /// The interval of d, mm; both limits are equal if the file contains a number.
    pub tof_mm: Vec<[f32; 2]>,
    /// m: expected counts per line integral in mm. Empty if [`ListMetadata::efficiency`] contains it.
    pub multiplicative: Vec<f32>,
    /// b: expected background counts (randoms, scatter); with time of flight per mm of d.
    pub additive: Vec<f32>,
}

impl Events {
    /// Returns the number of events.
    pub fn len(&self) -> usize {
        self.pairs.len()
    }

    /// Returns true without events.
    pub fn is_empty(&self) -> bool {
        self.pairs.is_empty()
    }

    /// Takes all events out.
    pub fn clear(&mut self) {
        self.pairs.clear();
        self.times_ms.clear();
        self.tof_mm.clear();
        self.multiplicative.clear();
        self.additive.clear();
    }

    /// Adds the events of another list with the same properties.
    pub fn extend(&mut self, other: &Self) {
        self.pairs.extend_from_slice(&other.pairs);
        self.times_ms.extend_from_slice(&other.times_ms);
        self.tof_mm.extend_from_slice(&other.tof_mm);
        self.multiplicative.extend_from_slice(&other.multiplicative);
        self.additive.extend_from_slice(&other.additive);
    }

    /// Returns the events whose time is in this frame, ms.
    pub fn in_frame(&self, frame_ms: &Range<u32>) -> Self {
        self.select(|event| frame_ms.contains(&self.times_ms[event]))
    }

    /// Returns the events that pass a test of their number.
    fn select(&self, is_selected: impl Fn(usize) -> bool) -> Self {
        let selected: Vec<usize> = (0..self.len()).filter(|&event| is_selected(event)).collect();
        fn pick<T: Copy>(values: &[T], selected: &[usize]) -> Vec<T> {
            if values.is_empty() { Vec::new() } else { selected.iter().map(|&event| values[event]).collect() }
        }
        Self {
            pairs: pick(&self.pairs, &selected),
            times_ms: pick(&self.times_ms, &selected),
            tof_mm: pick(&self.tof_mm, &selected),
            multiplicative: pick(&self.multiplicative, &selected),
            additive: pick(&self.additive, &selected),
        }
    }

    /// Returns the number of events in a frame, ms.
    pub fn num_in_frame(&self, frame_ms: &Range<u32>) -> usize {
        self.times_ms.iter().filter(|ms| frame_ms.contains(ms)).count()
    }

    /// Keeps the events whose time is in this frame, ms.
    pub fn retain_frame(&mut self, frame_ms: Range<u32>) {
        *self = self.in_frame(&frame_ms);
    }

    /// Returns the bytes that an event takes.
    pub fn bytes_per_event(&self) -> usize {
        let per = |is_there: bool, bytes: usize| if is_there { bytes } else { 0 };
        12 + per(!self.tof_mm.is_empty(), 8) + per(!self.multiplicative.is_empty(), 4) + per(!self.additive.is_empty(), 4)
    }
}

/// Events that are read at a time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EventChunk {
    /// Coincidences, with randoms and scatter among them.
    pub prompts: Events,
    /// Coincidences with one side delayed: a sample of the randoms.
    pub delayeds: Events,
    /// Time blocks whose events begin here: begin and end, ms. Their events have [their middles](super::scan_time::middle_ms) as times.
    pub intervals_ms: Vec<[u32; 2]>,
}

impl EventChunk {
    /// Takes all events out.
    pub fn clear(&mut self) {
        self.prompts.clear();
        self.delayeds.clear();
        self.intervals_ms.clear();
    }

    /// Keeps the events whose time is in this frame, ms.
    pub fn retain_frame(&mut self, frame_ms: std::ops::Range<u32>) {
        self.prompts.retain_frame(frame_ms.clone());
        self.delayeds.retain_frame(frame_ms);
    }
}

/// Time-of-flight measurement of a scanner. Windows and bins are those of a pair whose first crystal has the higher number; for
/// the same pair in the other order they are mirrored.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct TofMeasurement {
    /// Uncertainty of d, FWHM, mm.
    pub fwhm_mm: f64,
    /// Interval of d that the scanner accepts, mm.
    pub window_mm: [f64; 2],
    /// Edges of the bins, mm, ascending; none if the file contains d as a number.
    pub edges_mm: Vec<f64>,
    /// Pairs of crystals with another measurement.
    #[serde(default)]
    pub exceptions: Vec<TofException>,
}

/// The time-of-flight measurement of some of a scanner's pairs of crystals: those between two types of modules.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct TofException {
    /// Numbers of both crystals, the higher one first.
    pub crystals: [Range<u32>; 2],
    /// Uncertainty of d, FWHM, mm.
    pub fwhm_mm: f64,
    /// Interval of d that the scanner accepts, mm.
    pub window_mm: [f64; 2],
    /// Edges of the bins, mm, rising; none where the pairs measure no d and only have a window.
    pub edges_mm: Vec<f64>,
}

impl TofMeasurement {
    /// Returns the exception that a pair of crystals belongs to, in any order.
    fn exception(&self, pair: [u32; 2]) -> Option<&TofException> {
        let [higher, lower] = [pair[0].max(pair[1]), pair[0].min(pair[1])];
        self.exceptions.iter().find(|other| other.crystals[0].contains(&higher) && other.crystals[1].contains(&lower))
    }

    /// Returns the uncertainty of d of a pair of crystals, FWHM, mm.
    pub fn fwhm_of(&self, pair: [u32; 2]) -> f64 {
        self.exception(pair).map_or(self.fwhm_mm, |other| other.fwhm_mm)
    }

    /// Returns the d that are recorded of a pair of crystals, mm towards its second one.
    pub fn window_of(&self, pair: [u32; 2]) -> [f64; 2] {
        let [from, to] = self.exception(pair).map_or(self.window_mm, |other| other.window_mm);
        if pair[0] < pair[1] { [-to, -from] } else { [from, to] }
    }

    /// Returns every uncertainty and window that occurs.
    pub fn resolutions(&self) -> impl Iterator<Item = (f64, [f64; 2])> + '_ {
        let exceptions = self.exceptions.iter().map(|other| (other.fwhm_mm, other.window_mm));
        std::iter::once((self.fwhm_mm, self.window_mm)).chain(exceptions)
    }

    /// Returns true if pairs differ in their uncertainty.
    pub fn has_several_resolutions(&self) -> bool {
        self.exceptions.iter().any(|other| other.fwhm_mm != self.fwhm_mm)
    }
}

/// Detection efficiencies of crystal pairs.
pub trait PairEfficiency: Debug + Send + Sync {
    /// Returns the expected counts per line integral in mm, of all d together; 0 where the two are not in coincidence. The order
    /// of the two does not matter. (Numbers must be those of crystals.)
    fn of(&self, pair: [u32; 2]) -> f32;

    /// Takes in all that it is made of: two with the same fingerprint are the same for the same scanner.
    fn identify(&self, into: &mut Fingerprint);

    /// Returns true if it is a normalisation: measured efficiencies, not only the pairs in coincidence.
    fn is_normalization(&self) -> bool {
        false
    }

    /// Calls `visit(pair, efficiency)` for all pairs in coincidence among `num_crystals` crystals whose first one is in `firsts`,
    /// each once (or in parts that add up); in its pairs the first crystal has the lower number.
    fn for_each_pair(&self, firsts: Range<u32>, num_crystals: u32, visit: &mut dyn FnMut([u32; 2], f32)) {
        for first in firsts {
            for second in first + 1..num_crystals {
                let efficiency = self.of([first, second]);
                if efficiency > 0.0 {
                    visit([first, second], efficiency);
                }
            }
        }
    }

    /// Returns whether a crystal counts, if all pairs of counting crystals have efficiency 1 and all others 0; else `None`.
    fn of_crystal(&self, crystal: u32) -> Option<bool> {
        let _ = crystal;
        None
    }
}

/// Metadata of list-mode data.
#[derive(Clone, Debug)]
pub struct ListMetadata {
    /// Format, for people: "PETSIRD 0.12".
    pub format: String,
    /// The scanner.
    pub detectors: Arc<Detectors>,
    /// Detection efficiencies of its pairs; `None` = unknown, and all pairs have efficiency 1.
    pub efficiency: Option<Arc<dyn PairEfficiency>>,
    /// Attenuation of the object, which the efficiency excludes unless it is [`Attenuation::InFactors`].
    pub attenuation: Attenuation,
    /// Time-of-flight measurement.
    pub tof: Option<TofMeasurement>,
    /// The michelogram that a cylindrical scanner's format counts in: tangential positions and the largest ring difference. Pairs
    /// outside of it are not in coincidence.
    pub sampling: Option<ListSampling>,
    /// Beginning of the scan in the times of its events, ms.
    pub start_ms: u64,
    /// Duration in the header, ms.
    pub duration_ms: Option<u64>,
    /// Number of events in the header.
    pub num_events: Option<u64>,
    /// Isotope ("F-18").
    pub isotope: Option<String>,
    /// Its half-life, s.
    pub half_life_secs: Option<f64>,
    /// Injection, patient and start of the scan.
    pub exam: Exam,
}

impl ListMetadata {
    /// Returns the metadata of a format and a scanner without further information.
    pub fn new(format: impl Into<String>, detectors: Arc<Detectors>) -> Self {
        Self {
            format: format.into(),
            detectors,
            efficiency: None,
            attenuation: Attenuation::Untold,
            tof: None,
            sampling: None,
            start_ms: 0,
            duration_ms: None,
            num_events: None,
            isotope: None,
            half_life_secs: None,
            exam: Exam::default(),
        }
    }
}

/// Which pairs of a cylinder are in coincidence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct ListSampling {
    /// Tangential positions: −⌊n/2⌋ and up.
    pub num_tangential: usize,
    /// Largest difference of rings.
    pub max_ring_difference: usize,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_window_of_a_pair_is_that_of_its_types_and_mirrored_with_it() {
        let exception =
            TofException { crystals: [10..20, 0..10], fwhm_mm: 45.0, window_mm: [-140.0, 150.0], edges_mm: Vec::new() };
        let tof = TofMeasurement { fwhm_mm: 60.0, window_mm: [-130.0, 120.0], edges_mm: Vec::new(), exceptions: vec![exception] };
        assert_eq!(
            (tof.fwhm_of([12, 3]), tof.fwhm_of([3, 12]), tof.fwhm_of([3, 2]), tof.fwhm_of([12, 11])),
            (45.0, 45.0, 60.0, 60.0)
        );
        assert_eq!((tof.window_of([12, 3]), tof.window_of([3, 12])), ([-140.0, 150.0], [-150.0, 140.0]));
        assert_eq!((tof.window_of([3, 2]), tof.window_of([2, 3])), ([-130.0, 120.0], [-120.0, 130.0]));
    }

    #[test]
    fn late_at_the_first_crystal_is_near_the_second() {
        assert!((tof_mm(400.276_914_237_782_5) - 60.0).abs() < 1e-9);
    }

    #[test]
    fn a_frame_selects_all_values_of_its_events() {
        let mut events = Events {
            pairs: vec![[0, 1], [1, 2], [2, 3], [3, 4]],
            times_ms: vec![0, 99, 100, 200],
            tof_mm: Vec::new(),
            multiplicative: vec![1.0, 2.0, 3.0, 4.0],
            additive: Vec::new(),
        };
        assert_eq!(events.bytes_per_event(), 16);
        events.retain_frame(99..200);
        assert_eq!((events.pairs, events.times_ms, events.multiplicative), (vec![[1, 2], [2, 3]], vec![99, 100], vec![2.0, 3.0]));
    }
}
