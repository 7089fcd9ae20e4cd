//! From any directions to equal linear angles, which [`MultiStage`](crate::operator::MultiStage) is fast for:
//!
//! ```text
//! θ_k = (k + ½) π/N_pol,   φ_j = (j + ½) π/N_az
//! ```
//!
//! A projection in a new direction is interpolated between its nearest measured neighbours: the plane through them, fitted
//! by least squares in the tangent of the sphere with weights that fall with distance, read at the new direction. This is
//! where the multi-stage program loses its precision on data of equal solid angle (Qiao et al. 2015, section 4.1).

use rayon::prelude::*;

use super::check::{GradientSizes, check_sweep};
use crate::data::{Direction, Projection, Sweep};
use crate::geometry::dot;
use crate::operator::OperatorError;
use crate::recon::{DataProblem, ReconError};
use crate::scanner::epri::{Scheme, WeightedDirection, Weighting};
use crate::task::{Stopped, Task};

/// Neighbours that a plane is fitted through.
const NUM_NEIGHBOURS: usize = 7;

/// Numbers of polar angles and azimuths of a grid with about as many directions as `num_projections`.
pub fn equal_angles_for(num_projections: usize) -> [usize; 2] {
    let num_polar = (num_projections as f64).sqrt().ceil().max(1.0) as usize;
    [num_polar, num_projections.div_ceil(num_polar).max(1)]
}

/// Returns the sweep with projections at equal linear angles, azimuths within a polar angle.
///
/// # Errors
/// An unusable acquisition, fewer projections than a plane is fitted through, stopped.
pub fn resample_to_equal_angles(sweep: &Sweep, [num_polar, num_azimuth]: [usize; 2], task: &Task) -> Result<Sweep, ReconError> {
    check_sweep(sweep, GradientSizes::One)?;
    let found = sweep.num_complete();
    if found < NUM_NEIGHBOURS {
        return Err(DataProblem::FewProjections { found, needed: NUM_NEIGHBOURS }.into());
    }
    let scheme = Scheme::EqualLinearAngle { num_polar, num_azimuth };
    let projections = scheme.directions(Weighting::SolidAngle).into_par_iter().map(|WeightedDirection { unit, weight }| {
        task.check()?;
        Ok(Projection { direction: unit, weight, values: interpolate(sweep, &unit).into() })
    });
    let projections = projections.collect::<Result<_, Stopped>>().map_err(OperatorError::from)?;
    Ok(Sweep { projections, num_expected: Some(scheme.num_directions()), ..sweep.clone() })
}

/// Returns the projection along `direction`.
fn interpolate(sweep: &Sweep, direction: &Direction) -> Vec<f32> {
    let mut near: Vec<(&Projection, f64)> =
        sweep.projections.iter().map(|projection| (projection, dot(projection.direction, *direction))).collect();
    near.select_nth_unstable_by(NUM_NEIGHBOURS - 1, |a, b| b.1.abs().total_cmp(&a.1.abs()));
    near.truncate(NUM_NEIGHBOURS);
    let shares = shares(&near, direction);
    let mut values = vec![0.0f64; sweep.num_points];
    for ((projection, cosine), share) in near.iter().zip(shares) {
        for (i, value) in values.iter_mut().enumerate() {
            // Along −n the same planes are met in reverse.
            let position = if *cosine < 0.0 { 2.0 * sweep.centre - i as f64 } else { i as f64 };
            *value += share * read(&projection.values, position);
        }
    }
    values.into_iter().map(|value| value as f32).collect()
}

/// Returns the samples at a position, zero outside.
fn read(values: &[f32], position: f64) -> f64 {
    let below = position.floor();
    let fraction = position - below;
    let at = |i: f64| if i >= 0.0 { values.get(i as usize).map_or(0.0, |&value| f64::from(value)) } else { 0.0 };
    if fraction == 0.0 { at(below) } else { (1.0 - fraction) * at(below) + fraction * at(below + 1.0) }
}

/// Returns the weight of each neighbour in the value of the fitted plane at the direction.
fn shares(near: &[(&Projection, f64)], direction: &Direction) -> Vec<f64> {
    // Two unit vectors across the direction, from the axis that it is farthest from.
    let smallest = (0..3).min_by(|&a, &b| direction[a].abs().total_cmp(&direction[b].abs())).unwrap_or(0);
    let across = std::array::from_fn(|a| f64::from(u8::from(a == smallest)) - direction[smallest] * direction[a]);
    let length = dot(across, across).sqrt();
    let first: Direction = across.map(|c| c / length);
    let second = [
        direction[1] * first[2] - direction[2] * first[1],
        direction[2] * first[0] - direction[0] * first[2],
        direction[0] * first[1] - direction[1] * first[0],
    ];
    let places: Vec<[f64; 3]> = near
        .iter()
        .map(|(projection, cosine)| {
            let n = projection.direction.map(|c| c * cosine.signum());
            [1.0, dot(n, first), dot(n, second)]
        })
        .collect();
    let distance = |place: &[f64; 3]| place[1] * place[1] + place[2] * place[2];
    let farthest = places.iter().map(distance).fold(0.0, f64::max);
    // Falls to a hundredth at the farthest; all alike where they coincide.
    let weight = |place: &[f64; 3]| if farthest > 0.0 { (-4.6 * distance(place) / farthest).exp() } else { 1.0 };
    let mut normal = [[0.0; 3]; 3];
    for place in &places {
        for (row, a) in normal.iter_mut().zip(place) {
            row.iter_mut().zip(place).for_each(|(cell, b)| *cell += weight(place) * a * b);
        }
    }
    // The value at the direction itself is the plane's constant: the first row of the inverse matrix.
    match first_row_of_inverse(&normal) {
        Some(row) => places.iter().map(|place| weight(place) * dot(row, *place)).collect(),
        None => {
            let total: f64 = places.iter().map(weight).sum();
            places.iter().map(|place| weight(place) / total).collect()
        }
    }
}

/// First row of a symmetric matrix's inverse; `None` where the neighbours lie on one line.
fn first_row_of_inverse(m: &[[f64; 3]; 3]) -> Option<[f64; 3]> {
    let minor = |a: usize, b: usize| m[1][a] * m[2][b] - m[1][b] * m[2][a];
    let row = [minor(1, 2), -minor(0, 2), minor(0, 1)];
    let determinant = dot(m[0], row);
    let size: f64 = (0..3).map(|a| m[a][a]).product();
    (determinant > 1e-6 * size).then(|| row.map(|c| c / determinant))
}
