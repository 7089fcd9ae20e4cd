//! Continuous-wave acquisitions of a phantom under gradients of several sizes: each part has another Lorentzian line.
//!
//! A projection under the gradient γ = −g n is p(B) = Σ density ∫ a(t) h′(B − g|n| t) dt, with a(t) the integral of the body over the plane at
//! t along n (in a slice over the line) and h′ the derivative of the part's line. The integral over t is a sum with steps far below the line's width.

use std::sync::Arc;

use rand_distr::{Distribution, StandardNormal};
use rayon::prelude::*;

use super::simulate::{SweepError, SweepOptions};
use super::{Part, Phantom};
use crate::data::{Projection, Study, Sweep, SweepKind, SweepMetadata, lorentzian_derivative};
use crate::geometry::Point;
use crate::random;
use crate::task::{Stopped, Task};

/// Least steps of the integral over t: the body is smooth but for its ends.
const MIN_STEPS: usize = 256;

/// Steps of the integral over t in the width of a line.
const STEPS_PER_WIDTH: f64 = 8.0;

/// Lines of a phantom and gradients of their acquisition.
#[derive(Clone, Debug, PartialEq)]
pub struct SpectralOptions {
    /// Full width at half maximum of the absorption line of each part in turn, mT.
    pub linewidths_mt: Vec<f64>,
    /// Position of the line of each part in turn, mT from the middle of the field sweep.
    pub positions_mt: Vec<f64>,
    /// Range of the field sweep, mT: the length of a projection under the largest gradient.
    pub sweep_mt: f64,
    /// Sizes of the gradient, evenly spaced up to the largest. One projection without a gradient comes first.
    pub num_gradients: usize,
}

impl SpectralOptions {
    /// Returns width and position of the line of a part, mT.
    pub fn line(&self, part: usize) -> [f64; 2] {
        let of = |values: &[f64]| if values.is_empty() { 0.0 } else { values[part % values.len()] };
        [of(&self.linewidths_mt), of(&self.positions_mt)]
    }
}

/// Simulates a continuous-wave acquisition. It has the regions of the phantom, and its density as the truth if a grid is given. `task` counts
/// projections.
///
/// # Errors
/// Options out of range, stopped.
pub fn simulate_spectral(
    phantom: &Phantom,
    options: &SweepOptions,
    spectral: &SpectralOptions,
    task: &Task,
) -> Result<Study<Sweep>, SweepError> {
    options.check()?;
    let directions = options.scheme.directions(options.weighting);
    let units: Vec<Point> = directions.iter().map(|direction| direction.unit).collect();
    let order = options.order.indices(&units);
    let sizes = (1..=spectral.num_gradients).map(|k| k as f64 / spectral.num_gradients as f64);
    let under = |size: f64| order.iter().map(move |&index| (index, size));
    let planned: Vec<(usize, f64)> = order.first().map(|&index| (index, 0.0)).into_iter().chain(sizes.flat_map(under)).collect();
    task.begin(planned.len() as u64);
    let exact = |&(index, size): &(usize, f64)| {
        task.check()?;
        let values = projection(phantom, options, spectral, units[index], size);
        task.advance(1);
        Ok(values)
    };
    let exact: Vec<Vec<f64>> = planned.par_iter().map(exact).collect::<Result<_, Stopped>>()?;
    let largest = exact.iter().flatten().fold(0.0_f64, |largest, value| largest.max(value.abs()));
    let deviation = options.noise_fraction * largest;
    let weight = options.space().whole_weight() / planned.len() as f64;
    let noisy = |(number, (&(index, size), values)): (usize, (&(usize, f64), Vec<f64>))| {
        let mut random = random::stream(options.seed, number as u64);
        let mut sample = |value: f64| -> f32 {
            let normal: f64 = if deviation > 0.0 { StandardNormal.sample(&mut random) } else { 0.0 };
            (value + deviation * normal) as f32
        };
        let values: Arc<[f32]> = values.into_iter().map(&mut sample).collect();
        Projection { direction: units[index].map(|n| size * n), weight, values }
    };
    let projections: Vec<Projection> = planned.iter().zip(exact).enumerate().map(noisy).collect();
    let step_mt = spectral.sweep_mt / options.num_points as f64;
    let sweep = Sweep {
        kind: SweepKind::ContinuousWave { step_mt, gradient_mt_per_mm: step_mt / options.step_mm, reference: None },
        space: options.space(),
        num_points: options.num_points,
        step_mm: options.step_mm,
        centre: (options.num_points / 2) as f64,
        num_expected: Some(projections.len()),
        secs_per_projection: None,
        facts: SweepMetadata::default(),
        projections,
    };
    let truth = options.truth_grid.as_ref().map(|grid| phantom.truth(grid, task)).transpose()?;
    Ok(Study {
        truth: truth.map(Arc::new),
        rois: phantom.rois_in(sweep.space),
        notices: phantom.notices.clone(),
        ..Study::new(format!("{}, continuous wave", phantom.title), sweep)
    })
}

/// Returns the exact samples along n under a part of the largest gradient.
fn projection(phantom: &Phantom, options: &SweepOptions, spectral: &SpectralOptions, n: Point, size: f64) -> Vec<f64> {
    let step_mt = spectral.sweep_mt / options.num_points as f64;
    let gradient = size * step_mt / options.step_mm;
    let reach = phantom.reach_mm();
    let mut values = vec![0.0; options.num_points];
    for (index, part) in phantom.parts.iter().enumerate() {
        let alone = Phantom { parts: vec![Part::clone(part)], ..phantom.clone() };
        let [width, position] = spectral.line(index);
        let num_steps = MIN_STEPS.max((STEPS_PER_WIDTH * 2.0 * reach * gradient / width).ceil() as usize);
        let dt = 2.0 * reach / num_steps as f64;
        for step in 0..num_steps {
            let t = (step as f64 + 0.5) * dt - reach;
            let integral = if options.space().is_slice() { alone.line_integral(n, t) } else { alone.plane_integral(n, t) };
            if integral == 0.0 {
                continue;
            }
            for (m, value) in values.iter_mut().enumerate() {
                let field = (m as f64 - (options.num_points / 2) as f64) * step_mt;
                *value += dt * integral * lorentzian_derivative(field - gradient * t - position, width);
            }
        }
    }
    values
}
