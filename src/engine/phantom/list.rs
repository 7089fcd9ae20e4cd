//! A simulated scan of a phantom, event by event.
//!
//! The counts of the pairs of a cylinder's detectors are drawn from exact line integrals as those of a michelogram; each becomes
//! an event with its own time. With time of flight, the annihilation is drawn along the line in proportion to the activity, and
//! its d with a Gaussian error. Randoms are equal for all pairs, with the same expected number of delayed coincidences.

use std::sync::Arc;

use rand_distr::{Distribution as _, Normal, Poisson};
use rand_philox::{Philox, u32_to_unit_f64};

use super::object::Phantom;
use super::simulate::{Noise, SimulationError, SimulationOptions, simulate};
use crate::data::{EventChunk, Events, ListMetadata, ListSampling, Study, TofMeasurement};
use crate::geometry::Line;
use crate::random;
use crate::scanner::{Cylinder, Detectors, ScanGeometry};
use crate::statistics::FWHM_PER_SIGMA;
use crate::task::Task;

/// Settings of the simulation of events.
#[derive(Clone, Debug, PartialEq)]
pub struct ListSimulation {
    /// Expected trues, of those that the phantom does not take away.
    pub counts: f64,
    /// True if the phantom attenuates.
    pub attenuation: bool,
    /// Seed of all that is drawn.
    pub seed: u64,
    /// Duration of the scan, s.
    pub duration_secs: f64,
    /// Uncertainty of d, FWHM, mm; `None` = no time of flight.
    pub tof_fwhm_mm: Option<f64>,
    /// Share of randoms in all prompts, 0 … 1 (1 excluded).
    pub randoms_fraction: f64,
}

/// Events that were simulated, in the order of their times.
pub struct SimulatedList {
    /// Their metadata.
    pub facts: Arc<ListMetadata>,
    /// Prompts and delayeds.
    pub events: EventChunk,
    /// Expected randoms of each pair of crystals that can be in coincidence; with time of flight per mm of d.
    pub randoms_per_pair: f64,
}

/// Simulates list-mode data of the cylinder of a scanner's detectors: of all pairs in its field of view and its ring differences.
/// The study has the truth and the regions of the phantom.
///
/// # Errors
/// Options out of range, a phantom outside the field of view, stopped.
pub fn simulate_list(
    phantom: &Phantom,
    scanner: &ScanGeometry,
    options: &ListSimulation,
    task: &Task,
) -> Result<Study<SimulatedList>, SimulationError> {
    if !(0.0..1.0).contains(&options.randoms_fraction) {
        return Err(SimulationError::Background(options.randoms_fraction));
    }
    let cylinder = Cylinder::of(scanner);
    let sampling = sampling(scanner);
    let geometry = Arc::new(cylinder.geometry(
        &scanner.scanner,
        sampling.num_tangential,
        sampling.max_ring_difference,
        1,
        scanner.fov_radius_mm,
    )?);
    let truth_grid = Some(scanner.default_grid()?);
    let simulation = SimulationOptions {
        counts: options.counts,
        noise: Noise::Poisson,
        seed: options.seed,
        attenuation: options.attenuation,
        truth_grid,
        ..SimulationOptions::default()
    };
    let study = simulate(phantom, Arc::clone(&geometry), &simulation, task)?;
    let detectors = Arc::new(Detectors::of_cylinder(scanner)?);
    let mut draw = Draw { random: random::stream(options.seed, u64::MAX), phantom, detectors: &detectors, options };
    let mut prompts = Vec::new();
    let (num_tangential, num_planes) = (geometry.num_tangential, geometry.num_planes());
    let rings: Vec<[usize; 2]> = geometry.segments.iter().flat_map(|segment| segment.ring_pairs()).collect();
    let pair = |bin: usize| {
        let (transaxial, [ring1, ring2]) = (bin / num_planes, rings[bin % num_planes]);
        let index = geometry.tangential_index(transaxial % num_tangential) as i32;
        let [end1, end2] = cylinder.detectors(transaxial / num_tangential, index);
        [ring1 * cylinder.num_detectors + end1, ring2 * cylinder.num_detectors + end2].map(|crystal| crystal as u32)
    };
    for (bin, &count) in study.measured.prompts.counts.iter().enumerate() {
        for _ in 0..count as usize {
            prompts.push(draw.true_event(pair(bin)));
        }
    }
    // Wide enough for every place in the bore with its error.
    let half_window_mm = scanner.radius_mm() + 3.0 * options.tof_fwhm_mm.unwrap_or(0.0);
    let randoms = options.randoms_fraction / (1.0 - options.randoms_fraction) * options.counts;
    let num_bins = geometry.num_bins();
    let mut background = |events: &mut Vec<Event>| {
        for _ in 0..draw.poisson(randoms) {
            let bin = draw.below(num_bins);
            let event = draw.random_event(pair(bin), half_window_mm);
            events.push(event);
        }
    };
    let mut delayeds = Vec::new();
    background(&mut prompts);
    background(&mut delayeds);
    let window_mm = [-half_window_mm, half_window_mm];
    let tof = options.tof_fwhm_mm.map(|fwhm_mm| TofMeasurement {
        fwhm_mm,
        window_mm,
        edges_mm: Vec::new(),
        ..TofMeasurement::default()
    });
    let facts = ListMetadata {
        tof,
        sampling: Some(sampling),
        duration_ms: Some((1e3 * options.duration_secs) as u64),
        ..ListMetadata::new("simulated", Arc::clone(&detectors))
    };
    let [prompts, delayeds] = [prompts, delayeds].map(|events| in_time(events, facts.tof.is_some()));
    let events = EventChunk { prompts, delayeds, intervals_ms: Vec::new() };
    let per_mm = if facts.tof.is_some() { 2.0 * half_window_mm } else { 1.0 };
    let randoms_per_pair = randoms / num_bins as f64 / per_mm;
    Ok(study.map(|_| SimulatedList { facts: Arc::new(facts), events, randoms_per_pair }))
}

/// Returns the pairs of detectors that see the field of view.
fn sampling(scanner: &ScanGeometry) -> ListSampling {
    let part = (scanner.fov_radius_mm / scanner.radius_mm()).min(1.0).asin() / std::f64::consts::PI;
    let reach = (part * scanner.num_detectors_per_ring as f64).ceil() as usize;
    let max_ring_difference = scanner.segments.iter().map(|segment| segment.max_ring_difference.unsigned_abs() as usize).max();
    ListSampling {
        num_tangential: (2 * reach + 1).min(scanner.num_detectors_per_ring - 1),
        max_ring_difference: max_ring_difference.unwrap_or(0),
    }
}

/// Pair, time in ms, d.
type Event = ([u32; 2], u32, f32);

fn in_time(mut events: Vec<Event>, has_tof: bool) -> Events {
    events.sort_by_key(|event| event.1);
    Events {
        pairs: events.iter().map(|event| event.0).collect(),
        times_ms: events.iter().map(|event| event.1).collect(),
        tof_mm: if has_tof { events.iter().map(|event| [event.2; 2]).collect() } else { Vec::new() },
        ..Events::default()
    }
}

/// Draws events.
struct Draw<'a> {
    random: Philox,
    phantom: &'a Phantom,
    detectors: &'a Detectors,
    options: &'a ListSimulation,
}

impl Draw<'_> {
    fn uniform(&mut self) -> f64 {
        u32_to_unit_f64(self.random.next_u32())
    }

    fn below(&mut self, num: usize) -> usize {
        ((self.uniform() * num as f64) as usize).min(num - 1)
    }

    fn poisson(&mut self, mean: f64) -> u64 {
        Poisson::new(mean).map_or(0, |poisson| poisson.sample(&mut self.random) as u64)
    }

    fn time_ms(&mut self) -> u32 {
        (1e3 * self.options.duration_secs * self.uniform()) as u32
    }

    /// Returns a pair in either order.
    fn either_way(&mut self, [a, b]: [u32; 2]) -> [u32; 2] {
        if self.random.next_u32() & 1 == 0 { [a, b] } else { [b, a] }
    }

    fn true_event(&mut self, pair: [u32; 2]) -> Event {
        let pair = self.either_way(pair);
        let d_mm = match self.options.tof_fwhm_mm {
            None => 0.0,
            Some(fwhm_mm) => {
                let line = self.detectors.line(pair);
                let error =
                    Normal::new(0.0, 1.0 / FWHM_PER_SIGMA * fwhm_mm).map_or(0.0, |normal| normal.sample(&mut self.random));
                self.place(&line) + error
            }
        };
        (pair, self.time_ms(), d_mm as f32)
    }

    fn random_event(&mut self, pair: [u32; 2], half_window_mm: f64) -> Event {
        let pair = self.either_way(pair);
        let d_mm = half_window_mm * (2.0 * self.uniform() - 1.0);
        (pair, self.time_ms(), d_mm as f32)
    }

    /// Returns where on a line an annihilation was, mm from its middle towards its end.
    fn place(&mut self, line: &Line) -> f64 {
        let stretches = self.phantom.stretches(line);
        let weight = |t: [f64; 2], activity: f64| (t[1] - t[0]) * activity;
        let total: f64 = stretches.iter().map(|stretch| weight(stretch.t, stretch.material.activity)).sum();
        let mut left = total * self.uniform();
        for stretch in &stretches {
            let here = weight(stretch.t, stretch.material.activity);
            if left < here {
                let t = stretch.t[0] + left / stretch.material.activity;
                return (t - 0.5) * line.length_mm();
            }
            left -= here;
        }
        0.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scanner::find;

    #[test]
    fn events_are_of_lines_that_meet_the_object_and_their_places_in_it() {
        let scanner = &find("small").unwrap().geometry;
        let phantom = crate::phantom::by_name("cylinder", scanner).unwrap();
        let options = ListSimulation {
            counts: 20_000.0,
            attenuation: false,
            seed: 3,
            duration_secs: 2.0,
            tof_fwhm_mm: Some(5.0),
            randoms_fraction: 0.2,
        };
        let list = simulate_list(&phantom, scanner, &options, &Task::new()).unwrap().measured;
        let EventChunk { prompts, delayeds, .. } = &list.events;
        assert!((prompts.len() as f64 - 25_000.0).abs() < 600.0 && (delayeds.len() as f64 - 5000.0).abs() < 300.0);
        assert!(prompts.times_ms.is_sorted() && *prompts.times_ms.last().unwrap() < 2000);
        // In both orders of the crystals the place is the same: the sum of places with their signs is that of the object.
        let mut inside = 0;
        for (pair, d) in prompts.pairs.iter().zip(&prompts.tof_mm) {
            let line = list.facts.detectors.line(*pair);
            let t = 0.5 + f64::from(d[0]) / line.length_mm();
            let point = std::array::from_fn(|a| line.start[a] + t * (line.end[a] - line.start[a]));
            inside += usize::from(phantom.material_at(point).activity > 0.0);
        }
        assert!(inside as f64 > 0.75 * prompts.len() as f64, "{inside}");
    }
}
