//! One program on one object: its times, and the differences of its image from others.

use std::time::Instant;

use super::plan::{Data, Plan};
use super::program::{Angles, Program};
use super::ready::ready;
use crate::measure::relative_difference;
use crate::operator::FilteredProjections;
use crate::reproduce::prelude::*;

/// Most runs that are timed.
const MAX_RUNS: usize = 25;
/// Projections that the plain program is tried on to see how fast it is.
const NUM_TRIED: usize = 8;

/// A program's times on an object.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Times {
    pub size: usize,
    pub program: String,
    pub device: String,
    /// Every `projection_step`-th projection was used; times are for all of them.
    pub projection_step: usize,
    /// Each run: from the projections in the host's memory to the object, there or on the device, s.
    pub computing_s: Vec<f64>,
    /// From there to the host's memory; empty on the processor, s.
    pub transfer_s: Vec<f64>,
}

impl Data {
    pub fn of(&self, angles: Angles) -> &FilteredProjections {
        if angles == Angles::Linear { &self.linear } else { &self.solid }
    }
}

fn every(data: &FilteredProjections, step: usize) -> FilteredProjections {
    let selected = || data.iter().step_by(step);
    FilteredProjections {
        directions: selected().map(|(direction, _)| *direction).collect(),
        values: selected().flat_map(|(_, values)| values).copied().collect(),
        ..data.clone()
    }
}

pub fn times(plan: &Plan, size: usize, program: Program, data: &Data) -> Result<Times, ReproduceError> {
    let (grid, all) = (plan.grid(size)?, data.of(program.angles()));
    on_threads(program.num_threads(), || {
        let step = if program == Program::Plain { plain_step(&grid, all, plan.max_plain_secs)? } else { 1 };
        let part = every(all, step);
        let mut ready = ready(program, grid, &part)?;
        let mut times = Times {
            size,
            program: program.title(),
            device: ready.device.clone(),
            projection_step: step,
            computing_s: Vec::new(),
            transfer_s: Vec::new(),
        };
        if program != Program::Plain {
            // The first one makes tables and touches memory for the first time.
            ready.run()?;
        }
        let scale = all.len() as f64 / part.len().max(1) as f64;
        let begin = Instant::now();
        while times.computing_s.is_empty()
            || (begin.elapsed().as_secs_f64() < plan.timed_secs && times.computing_s.len() < MAX_RUNS)
        {
            let (computing_s, transfer_s) = ready.run()?;
            times.computing_s.push(scale * computing_s);
            times.transfer_s.extend(transfer_s);
        }
        Ok(times)
    })
}

/// Returns the step of the plain program's projections with which it takes at most `max_secs`.
fn plain_step(grid: &Grid, data: &FilteredProjections, max_secs: f64) -> Result<usize, ReproduceError> {
    let few = every(data, data.len().div_ceil(NUM_TRIED).max(1));
    let (secs, _) = ready(Program::Plain, grid.clone(), &few)?.run()?;
    Ok(step_within(secs, few.len(), data.len(), max_secs))
}

/// Returns the step of the projections with which all take at most `max_secs`, if `num_tried` took `secs`.
fn step_within(secs: f64, num_tried: usize, num_all: usize, max_secs: f64) -> usize {
    let all_secs = secs * num_all as f64 / num_tried.max(1) as f64;
    ((all_secs / max_secs).ceil() as usize).clamp(1, num_all.max(1))
}

/// Returns the object that a program makes of some projections, `[z, y, x]`.
pub fn image(plan: &Plan, program: Program, data: &FilteredProjections) -> Result<Vec<f64>, ReproduceError> {
    let grid = plan.grid(plan.image_size)?;
    on_threads(program.num_threads(), || Ok(ready(program, grid, data)?.image()?))
}

/// Difference of an image from another.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Difference {
    /// ‖a − b‖ / ‖b‖.
    pub relative_norm: f64,
    /// Largest |a − b|.
    pub largest: f64,
}

impl Difference {
    /// Returns a − b.
    pub fn between(a: &[f64], b: &[f64]) -> Self {
        let distances = a.iter().zip(b).map(|(a, b)| (a - b).abs());
        Self { relative_norm: relative_difference(a, b), largest: distances.fold(0.0, f64::max) }
    }
}

/// Differences of a program's image from others.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Precision {
    /// From the plain program's, from the measured projections.
    pub from_plain: Difference,
    /// From the image of the plain program from the same resampled projections, if it uses such.
    pub of_stages: Option<Difference>,
    /// From the phantom.
    pub from_truth: Difference,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_by_hand() {
        let found = Difference::between(&[3.0, 0.5, 4.0], &[3.0, 0.0, 4.0]);
        assert_eq!(found, Difference { relative_norm: 0.1, largest: 0.5 });
        assert_eq!(Difference::between(&[1.0], &[1.0]).relative_norm, 0.0);
    }

    /// A plain program that would take too long does a part of the projections, and its time is that of all.
    #[test]
    fn a_slow_plain_program_is_timed_on_a_part() {
        let mut plan = Plan::new(true);
        let data = Data::new(&plan).unwrap();
        let num_all = data.of(Program::Plain.angles()).len();
        for (max_secs, step) in [(f64::INFINITY, 1), (f64::MIN_POSITIVE, num_all)] {
            plan.max_plain_secs = max_secs;
            let times = times(&plan, 32, Program::Plain, &data).unwrap();
            assert_eq!(times.projection_step, step);
            assert!(times.computing_s[0] > 0.0);
        }
        // 8 of 80 take half a second: all take 5 s.
        assert_eq!([10.0, 5.0, 1.1, 1e-9].map(|max_secs| step_within(0.5, 8, 80, max_secs)), [1, 1, 5, 80]);
        assert_eq!(every(&data.solid, 8).len(), 26);
        assert_eq!(every(&data.solid, 1), data.solid);
    }
}
