//! A simulated pulse sweep of a phantom: exact integrals over planes, of a slice over lines, at the samples, with Gaussian
//! noise.

use std::sync::Arc;

use rand_distr::{Distribution, StandardNormal};
use rayon::prelude::*;

use super::Phantom;
use crate::coded::coded;
use crate::data::{GradientAxis, Projection, Study, Sweep, SweepKind, SweepMetadata, SweepSpace};
use crate::geometry::{Grid, Point};
use crate::random;
use crate::scanner::epri::{Order, Scheme, Weighting};
use crate::task::{Stopped, Task};

/// Most samples of a projection.
const MAX_POINTS: usize = 1 << 16;

/// Settings of the measurement of a phantom.
#[derive(Clone, Debug, PartialEq)]
pub struct SweepOptions {
    /// Along which directions.
    pub scheme: Scheme,
    /// Weights of the directions.
    pub weighting: Weighting,
    /// In which order.
    pub order: Order,
    /// Samples of a projection; the one at index floor(n/2) lies at t = 0.
    pub num_points: usize,
    /// Distance of samples, mm.
    pub step_mm: f64,
    /// Standard deviation of the noise as a fraction of the largest sample; 0 for none.
    pub noise_fraction: f64,
    /// Seed of the noise; the same seed gives the same samples, however many threads there are.
    pub seed: u64,
    /// Grid of the true image; `None` for none.
    pub truth_grid: Option<Grid>,
}

impl Default for SweepOptions {
    /// Returns the paper's 208 directions, 128 samples over 40 mm.
    fn default() -> Self {
        Self {
            scheme: Scheme::EqualSolidAngle { num_bands: 18 },
            weighting: Weighting::default(),
            order: Order::default(),
            num_points: 128,
            step_mm: 40.0 / 128.0,
            noise_fraction: 0.0,
            seed: 1,
            truth_grid: None,
        }
    }
}

impl SweepOptions {
    /// Returns the index of the sample at t = 0.
    fn centre(&self) -> usize {
        self.num_points / 2
    }

    /// Returns the space of the image.
    pub fn space(&self) -> SweepSpace {
        if self.scheme.is_slice() { SweepSpace::Slice([GradientAxis::X, GradientAxis::Y]) } else { SweepSpace::Volume }
    }

    /// Returns the largest |t| that is sampled on both sides, mm: the limit of a phantom.
    pub fn half_extent_mm(&self) -> f64 {
        self.centre().min(self.num_points.saturating_sub(1 + self.centre())) as f64 * self.step_mm
    }

    /// Checks that a sweep with these options is possible.
    ///
    /// # Errors
    /// The first option out of range.
    pub fn check(&self) -> Result<(), SweepError> {
        if !(3..=MAX_POINTS).contains(&self.num_points) {
            return Err(SweepError::Points(self.num_points));
        }
        if !(self.step_mm.is_finite() && self.step_mm > 0.0) {
            return Err(SweepError::Step(self.step_mm));
        }
        if !(self.noise_fraction.is_finite() && self.noise_fraction >= 0.0) {
            return Err(SweepError::Noise(self.noise_fraction));
        }
        Ok(())
    }
}

/// Reason why a sweep could not be simulated.
#[derive(Debug, PartialEq, thiserror::Error)]
pub enum SweepError {
    /// Too few or too many samples.
    #[error("invalid number of samples {0}; expected 3 to {MAX_POINTS}")]
    Points(usize),
    /// The distance of samples is not a length.
    #[error("invalid sample distance {0} mm; set a positive extent in mm")]
    Step(f64),
    /// The noise is not a size.
    #[error("invalid noise fraction {0}; expected at least 0")]
    Noise(f64),
    /// Stopped by the user.
    #[error("the simulation was {0}")]
    Stopped(#[from] Stopped),
}

coded!(SweepError = "epri-simulation"; Stopped);

/// Simulates a pulse sweep, in two dimensions of the section z = 0. It carries the phantom's ROIs, and the truth if a grid is given.
/// `task` counts projections.
///
/// # Errors
/// Options out of range, stopped.
pub fn simulate(phantom: &Phantom, options: &SweepOptions, task: &Task) -> Result<Study<Sweep>, SweepError> {
    options.check()?;
    let noise = Noise { deviation: &|largest| options.noise_fraction * largest, first_stream: 0 };
    let sweep = measured(phantom, options, &noise, task)?;
    let truth = options.truth_grid.as_ref().map(|grid| phantom.truth(grid, task)).transpose()?;
    Ok(Study {
        truth: truth.map(Arc::new),
        rois: phantom.rois_in(sweep.space),
        notices: phantom.notices.clone(),
        ..Study::new(phantom.title, sweep)
    })
}

/// Noise of a sweep.
pub(super) struct Noise<'a> {
    /// Standard deviation, from the largest sample.
    pub deviation: &'a dyn Fn(f64) -> f64,
    /// Random stream of the first direction.
    pub first_stream: u64,
}

/// Measures a phantom with options that were checked.
///
/// # Errors
/// Stopped.
pub(super) fn measured(phantom: &Phantom, options: &SweepOptions, noise: &Noise, task: &Task) -> Result<Sweep, Stopped> {
    let directions = options.scheme.directions(options.weighting);
    let units: Vec<Point> = directions.iter().map(|direction| direction.unit).collect();
    let order = options.order.indices(&units);
    task.begin(order.len() as u64);
    let t_mm = |k: usize| (k as f64 - options.centre() as f64) * options.step_mm;
    let is_slice = options.scheme.is_slice();
    let integral = |n: Point, t: f64| if is_slice { phantom.line_integral(n, t) } else { phantom.plane_integral(n, t) };
    let exact = |&index: &usize| {
        task.check()?;
        let values = (0..options.num_points).map(|k| integral(units[index], t_mm(k))).collect();
        task.advance(1);
        Ok(values)
    };
    let exact: Vec<Vec<f64>> = order.par_iter().map(exact).collect::<Result<_, Stopped>>()?;
    let largest = exact.iter().flatten().copied().fold(0.0, f64::max);
    let deviation = (noise.deviation)(largest);
    let projection = |(&index, values): (&usize, Vec<f64>)| {
        // The stream belongs to the direction: the noise does not depend on the order.
        let mut random = random::stream(options.seed, noise.first_stream + index as u64);
        let mut noisy = |value: f64| -> f32 {
            let normal: f64 = if deviation > 0.0 { StandardNormal.sample(&mut random) } else { 0.0 };
            (value + deviation * normal) as f32
        };
        let values: Arc<[f32]> = values.into_iter().map(&mut noisy).collect();
        Projection { direction: units[index], weight: directions[index].weight, values }
    };
    Ok(Sweep {
        kind: SweepKind::Pulse,
        space: options.space(),
        num_points: options.num_points,
        step_mm: options.step_mm,
        centre: options.centre() as f64,
        num_expected: Some(order.len()),
        secs_per_projection: None,
        facts: SweepMetadata::default(),
        projections: order.iter().zip(exact).map(projection).collect(),
    })
}
