//! Filtered projections from any directions at equal linear angles, which [`MultiStage`](crate::operator::MultiStage) is fast for:
//!
//! ```text
//! θ_k = (k + ½) π/N_pol,   φ_j = (j + ½) π/N_az
//! ```
//!
//! A filtered projection in a new direction is interpolated between its nearest measured neighbours: the plane through them, fitted
//! by least squares in the tangent of the sphere with weights that fall with distance, read at the new direction. This is
//! where the multi-stage program loses its precision on data of equal solid angle (Qiao et al. 2015, section 4.1).
//!
//! Only filtered projections can be resampled: q(−n, −t) = q(n, t). A first-derivative spectrum along −n also changes its sign, and its
//! line need not lie at the centre.

use rayon::prelude::*;

use crate::data::Direction;
use crate::geometry::dot;
use crate::operator::{OperatorError, PlaneSampling};
use crate::recon::{DataProblem, ReconError};
use crate::scanner::epri::{Scheme, WeightedDirection, Weighting};
use crate::task::{Stopped, Task};

/// Neighbours that a plane is fitted through.
const NUM_NEIGHBOURS: usize = 7;

/// Projections that are interpolated between the others for an estimate of the error.
const NUM_TRIED: usize = 32;

/// Numbers of polar angles and azimuths of a grid with about as many directions as `num_projections`.
pub fn equal_angles_for(num_projections: usize) -> [usize; 2] {
    let num_polar = (num_projections as f64).sqrt().ceil().max(1.0) as usize;
    [num_polar, num_projections.div_ceil(num_polar).max(1)]
}

/// Filtered projections.
pub(super) struct Measured {
    pub sampling: PlaneSampling,
    pub directions: Vec<Direction>,
    /// `[projection][point]`.
    pub samples: Vec<f64>,
}

impl Measured {
    /// Returns directions at equal linear angles, azimuths within a polar angle, and the weighted projections along them.
    ///
    /// # Errors
    /// Fewer projections than a plane is fitted through, stopped.
    pub fn at_equal_angles(
        &self,
        [num_polar, num_azimuth]: [usize; 2],
        task: &Task,
    ) -> Result<(Vec<Direction>, Vec<f64>), ReconError> {
        self.check()?;
        let scheme = Scheme::EqualLinearAngle { num_polar, num_azimuth };
        let directions = scheme.directions(Weighting::SolidAngle);
        let along = |WeightedDirection { unit, weight }: &WeightedDirection| {
            task.check()?;
            Ok(self.along(unit, None).into_iter().map(|value| weight * value).collect::<Vec<f64>>())
        };
        let rows = directions.par_iter().map(along).collect::<Result<Vec<_>, Stopped>>().map_err(OperatorError::from)?;
        Ok((directions.iter().map(|direction| direction.unit).collect(), rows.concat()))
    }

    /// Returns the error of projections that are interpolated between the others, relative to their size: of some, spread over the
    /// acquisition. It is an upper bound of the error of resampling, whose directions are nearer to measured ones.
    ///
    /// # Errors
    /// Fewer projections than a plane is fitted through, stopped.
    pub fn error(&self, task: &Task) -> Result<f64, ReconError> {
        self.check()?;
        let num = self.directions.len();
        let tried: Vec<usize> = (0..NUM_TRIED.min(num)).map(|k| k * num / NUM_TRIED.min(num)).collect();
        let sums = tried.par_iter().map(|&index| {
            task.check()?;
            let found = self.along(&self.directions[index], Some(index));
            let of = |(found, own): (&f64, &f64)| [(found - own).powi(2), own.powi(2)];
            Ok::<_, Stopped>(found.iter().zip(self.row(index)).map(of).fold([0.0; 2], |[a, b], [c, d]| [a + c, b + d]))
        });
        let sums = sums.collect::<Result<Vec<_>, _>>().map_err(OperatorError::from)?;
        let [of_error, of_all] = sums.into_iter().fold([0.0; 2], |[a, b], [c, d]| [a + c, b + d]);
        Ok(if of_all > 0.0 { (of_error / of_all).sqrt() } else { 0.0 })
    }

    fn check(&self) -> Result<(), ReconError> {
        let (found, needed) = (self.directions.len(), NUM_NEIGHBOURS);
        if found < needed { Err(DataProblem::FewProjections { found, needed }.into()) } else { Ok(()) }
    }

    /// Returns the projection along a direction, without that of one measured direction.
    fn along(&self, direction: &Direction, without: Option<usize>) -> Vec<f64> {
        let others = self.directions.iter().enumerate().filter(|(index, _)| Some(*index) != without);
        let mut near: Vec<(usize, f64)> = others.map(|(index, own)| (index, dot(*own, *direction))).collect();
        let num = NUM_NEIGHBOURS.min(near.len());
        near.select_nth_unstable_by(num - 1, |a, b| b.1.abs().total_cmp(&a.1.abs()));
        near.truncate(num);
        let places: Vec<Direction> =
            near.iter().map(|(index, cosine)| self.directions[*index].map(|c| c * cosine.signum())).collect();
        let mut values = vec![0.0; self.sampling.num_points];
        for ((index, cosine), share) in near.iter().zip(shares(&places, direction)) {
            let row = self.row(*index);
            for (i, value) in values.iter_mut().enumerate() {
                // Along −n the same planes are met in reverse.
                *value += share * if *cosine < 0.0 { read(row, 2.0 * self.sampling.centre - i as f64) } else { row[i] };
            }
        }
        values
    }

    fn row(&self, index: usize) -> &[f64] {
        let num_points = self.sampling.num_points;
        &self.samples[index * num_points..(index + 1) * num_points]
    }
}

/// Returns the value at a position between samples, by the cubic through the four next to it; zero outside.
fn read(values: &[f64], position: f64) -> f64 {
    let below = position.floor();
    let at = |i: f64| if i >= 0.0 { values.get(i as usize).copied().unwrap_or(0.0) } else { 0.0 };
    let x = position - below;
    if x == 0.0 {
        return at(below);
    }
    let [a, b, c, d] = [-1.0, 0.0, 1.0, 2.0].map(|step| at(below + step));
    b + 0.5 * x * (c - a + x * (2.0 * a - 5.0 * b + 4.0 * c - d + x * (3.0 * (b - c) + d - a)))
}

/// Returns the weight of each neighbouring direction in the value of the fitted plane at the direction.
fn shares(near: &[Direction], direction: &Direction) -> Vec<f64> {
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
    let places: Vec<[f64; 3]> = near.iter().map(|n| [1.0, dot(*n, first), dot(*n, second)]).collect();
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
