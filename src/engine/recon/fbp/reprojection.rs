//! Part of the projections that an image by filtered backprojection explains: 1 − ‖A x − B s′‖² / ‖B s′‖².
//!
//! The image x is projected along some of the measured directions, spread evenly. Each voxel within the measured radius is shared between the
//! two next of places a half sample apart, whose transform over that of the share, sinc², is the one of the plane (line) integrals. Times the
//! reference spectrum H (of pulses 1/step) it is that of a projection. B is the filter without its parabola or ramp, and so the window of
//! frequencies that the image contains: up to the cut-off, and to half a wave a voxel.
//!
//! Filtered backprojection is no fit of least squares: the part may be below 0.

use std::f64::consts::{PI, TAU};

use rayon::prelude::*;

use super::filtering::ProjectionFilter;
use super::noise::Noise;
use crate::data::{Direction, Sweep, SweepKind, Volume};
use crate::fft::{Complex, Number};
use crate::operator::OperatorError;
use crate::recon::explained::is_negative;
use crate::recon::reference::reference_spectrum_at;
use crate::recon::{Explained, ReconError};
use crate::scanner::epri::{Order, Queue};
use crate::task::Task;

/// Fewest directions that an image is projected along.
const MIN_DIRECTIONS: usize = 16;

/// Projections for each direction that an image is projected along, in large acquisitions.
const ONE_OF: usize = 40;

/// Products of voxels and directions that take hardly any time: small images are compared along all directions.
const NUM_FREE: usize = 1 << 24;

/// Places a sample between which voxels are shared.
const PLACES: usize = 2;

/// Compares an image with a sample of the projections of `sweep`, or with all (`is_full`), which `filter` is made for; `None` without signal.
///
/// # Errors
/// A reference spectrum that is not usable, stopped.
pub(super) fn explained(
    image: &Volume,
    sweep: &Sweep,
    filter: &ProjectionFilter,
    is_full: bool,
    task: &Task,
) -> Result<Option<Explained>, ReconError> {
    let (num_points, num) = (sweep.num_points, sweep.projections.len());
    let mut queue = Queue::new(Order::Spaced);
    sweep.projections.iter().for_each(|projection| queue.push(projection.direction));
    let sample = MIN_DIRECTIONS.max(num / ONE_OF).max(NUM_FREE / image.as_slice().len().max(1));
    let chosen = queue.take(if is_full { num } else { sample });
    let omegas: Vec<f64> = (0..num_points.div_ceil(2)).map(|alpha| TAU * alpha as f64 / num_points as f64).collect();
    let spectrum = match &sweep.kind {
        SweepKind::ContinuousWave { step_mt, reference: Some(reference), .. } => {
            reference_spectrum_at(&omegas, reference, sweep, *step_mt)?
        }
        _ => vec![Complex::from(1.0 / sweep.step_mm); omegas.len()],
    };
    let window: Vec<f64> = omegas.iter().map(|omega| filter.window(*omega)).collect();
    let noise = Noise::of(sweep);
    let forward = f64::forward(num_points);
    let sums = chosen.par_iter().map(|&index| {
        task.check().map_err(OperatorError::from)?;
        let projection = &sweep.projections[index];
        let mut row: Vec<f64> = projection.values.iter().map(|value| f64::from(*value)).collect();
        filter.subtract_baseline(&mut row);
        let mut measured: Vec<Complex<f64>> = row.into_iter().map(Complex::from).collect();
        forward.process(&mut measured);
        let integrals = integrals(image, sweep, &projection.direction);
        let mut sums = Sums::default();
        for (alpha, omega) in
            omegas.iter().enumerate().filter(|(_, omega)| is_sampled(image, sweep, &projection.direction, **omega))
        {
            // (The frequencies below 0 are the conjugates.)
            let share = if alpha == 0 { 1.0 } else { 2.0 };
            let data = window[alpha] * measured[alpha];
            // Nothing above the cut-off is in the image by construction.
            if window[alpha] > 0.0 {
                sums.residual += share * (spectrum[alpha] * integrals[alpha] - data).norm_sqr();
                sums.energy += share * data.norm_sqr();
                sums.noise += share * window[alpha].powi(2) * noise.as_ref().map_or(0.0, |noise| noise.power(*omega));
            }
        }
        sums.noise *= num_points as f64;
        Ok::<Sums, ReconError>(sums)
    });
    let sums = sums.collect::<Result<Vec<Sums>, ReconError>>()?;
    let is_negative = sweep.is_continuous_wave() && is_negative(image.as_slice().iter().map(|value| f64::from(*value)));
    let Sums { residual, energy, noise: of_noise } = sums.iter().fold(Sums::default(), |sum, of| Sums {
        residual: sum.residual + of.residual,
        energy: sum.energy + of.energy,
        noise: sum.noise + of.noise,
    });
    Ok((energy > 0.0).then(|| Explained::Signal {
        residual,
        energy,
        noise: noise.map(|_| of_noise),
        standard_error: standard_error(&sums, num, residual / energy),
        is_negative,
        odd: None,
        border: None,
    }))
}

/// Sums over the frequencies of a projection.
#[derive(Clone, Copy, Default)]
struct Sums {
    residual: f64,
    energy: f64,
    noise: f64,
}

/// Returns the standard error of a ratio of sums over some projections of `num` (Cochran, Sampling Techniques, 1977, section 2.11); `None` of
/// all projections.
fn standard_error(sums: &[Sums], num: usize, ratio: f64) -> Option<f64> {
    let (energy, compared) = (sums.iter().map(|of| of.energy).sum::<f64>(), sums.len() as f64);
    let deviation = sums.iter().map(|of| (of.residual - ratio * of.energy).powi(2)).sum::<f64>();
    let variance = deviation * compared / (compared - 1.0) * (1.0 - compared / num as f64);
    (sums.len() < num).then(|| variance.sqrt() / energy)
}

/// Returns true below half a wave a voxel along the direction, up to which the voxels sample the image.
fn is_sampled(image: &Volume, sweep: &Sweep, direction: &Direction, omega: f64) -> bool {
    let phase = |axis: usize| omega / sweep.step_mm * direction[axis] * image.grid.voxel_mm[axis];
    (0..3).filter(|axis| image.grid.size[*axis] > 1).map(|axis| phase(axis).powi(2)).sum::<f64>() < PI * PI
}

/// Returns the transform of the integrals of the image along a direction, mm² or mm³ times its unit, from the first sample of a projection
/// on.
fn integrals(image: &Volume, sweep: &Sweep, direction: &Direction) -> Vec<Complex<f64>> {
    let grid = &image.grid;
    let [nx, ny, nz] = grid.size;
    let len = PLACES * sweep.num_points;
    let radius = 0.5 * sweep.extent_mm();
    let places_per_mm = PLACES as f64 / sweep.step_mm;
    // Room for places before the first sample.
    let mut places = vec![0.0; 2 * len + 2];
    let voxel_x = places_per_mm * direction[0] * grid.voxel_mm[0];
    for row in 0..ny * nz {
        let [x, y, z] = grid.mm_from_voxel([0.0, (row % ny) as f64, (row / ny) as f64]);
        let left = radius * radius - y * y - z * z;
        if left < 0.0 {
            continue;
        }
        let [first, end] = [-left.sqrt(), left.sqrt()].map(|mm| (mm - x) / grid.voxel_mm[0]);
        let (first, end) = (first.ceil().max(0.0) as usize, (end.floor() + 1.0).max(0.0) as usize);
        let t = direction[0] * x + direction[1] * y + direction[2] * z;
        let start = places_per_mm * (t + sweep.step_mm * sweep.centre) + 0.5 * len as f64;
        let values = &image.as_slice()[row * nx..(row + 1) * nx];
        for (index, value) in values.iter().enumerate().take(end).skip(first) {
            let place = start + voxel_x * index as f64;
            let (below, value) = (place as usize, f64::from(*value));
            let share = value * (place - below as f64);
            places[below] += value - share;
            places[below + 1] += share;
        }
    }
    let mut period = vec![Complex::default(); len];
    for (index, value) in places.into_iter().enumerate() {
        period[(index + len - len / 2) % len].re += value;
    }
    f64::forward(len).process(&mut period);
    let volume: f64 = (0..if sweep.space.is_slice() { 2 } else { 3 }).map(|axis| grid.voxel_mm[axis]).product();
    let of_share = |alpha: usize| {
        let half = PI * alpha as f64 / len as f64;
        if alpha == 0 { 1.0 } else { (half.sin() / half).powi(2) }
    };
    (0..sweep.num_points.div_ceil(2)).map(|alpha| period[alpha] * (volume / of_share(alpha))).collect()
}
