//! Checks of the data of filtered backprojection.

use crate::data::{MIN_GRADIENT, Projection, Sweep, SweepSpace};
use crate::recon::{DataProblem, ProjectionProblem, ReconError};
use crate::statistics::median;

/// Sizes of the gradients that an algorithm takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GradientSizes {
    /// One size: directions are unit vectors.
    One,
    /// From [`MIN_GRADIENT`] of the largest one on.
    Similar,
    /// Any up to the largest one.
    Any,
}

/// Tolerance of the length 1 of a direction.
const DIRECTION_TOLERANCE: f64 = 1e-3;

/// Refuses an unusable acquisition.
///
/// # Errors
/// An invalid sampling, an unusable projection.
pub fn check_sweep(sweep: &Sweep, sizes: GradientSizes) -> Result<(), ReconError> {
    let Sweep { num_points, step_mm, centre, .. } = sweep;
    if *num_points < 3 {
        return Err(DataProblem::NumSamples(*num_points).into());
    }
    if !(step_mm.is_finite() && *step_mm > 0.0) {
        return Err(DataProblem::Step(*step_mm).into());
    }
    if !centre.is_finite() {
        return Err(DataProblem::Centre(*centre).into());
    }
    let mut projections = sweep.projections.iter().enumerate();
    let checked =
        projections.try_for_each(|(index, projection)| check_projection(projection, index, (*num_points, sweep.space), sizes));
    match checked {
        // Sizes are relative to the largest one, so that a single large gradient makes all others small.
        Err(ReconError::UnsuitableData(DataProblem::Projection {
            problem: problem @ ProjectionProblem::Gradient { .. },
            index,
        })) => Err(DataProblem::Projection { index: odd_gradient(sweep).unwrap_or(index), problem }.into()),
        other => other,
    }
}

/// Returns the projection whose gradient differs most from the median, by the ratio of the two.
fn odd_gradient(sweep: &Sweep) -> Option<usize> {
    let sizes: Vec<f64> = sweep.projections.iter().map(Projection::gradient).collect();
    let usual = median(sizes.clone())?;
    let difference = |index: &usize| (sizes[*index] / usual).ln().abs();
    // (Of equal differences the first: `max_by` would take the last.)
    (0..sizes.len()).rev().max_by(|a, b| difference(a).total_cmp(&difference(b)))
}

/// Refuses an unusable projection; `index` counts the projections of the acquisition.
///
/// # Errors
/// Another number of samples, a sample that is not a number, a direction that is none or leaves the
/// slice, a weight that is none.
pub fn check_projection(
    projection: &Projection,
    index: usize,
    (num_points, space): (usize, SweepSpace),
    sizes: GradientSizes,
) -> Result<(), ReconError> {
    let refuse = |problem: ProjectionProblem| Err(DataProblem::Projection { index, problem }.into());
    let found = projection.values.len();
    if found != num_points {
        return refuse(ProjectionProblem::NumSamples { found, expected: num_points });
    }
    if let Some(sample) = projection.values.iter().position(|value| !value.is_finite()) {
        return refuse(ProjectionProblem::Sample { sample, value: projection.values[sample] });
    }
    let length = projection.direction.iter().map(|c| c * c).sum::<f64>().sqrt();
    if length == 0.0 && sizes != GradientSizes::Any {
        return refuse(ProjectionProblem::NoGradient);
    }
    let min = match sizes {
        GradientSizes::One => 1.0 - DIRECTION_TOLERANCE,
        GradientSizes::Similar => MIN_GRADIENT,
        GradientSizes::Any => 0.0,
    };
    let rounding = if sizes == GradientSizes::Similar { DIRECTION_TOLERANCE } else { 0.0 };
    if sizes != GradientSizes::Any && length < min - rounding {
        return refuse(ProjectionProblem::Gradient { difference: 1.0 - length, max: 1.0 - min });
    }
    let is_shorter = sizes != GradientSizes::One && length < 1.0;
    if length.is_nan() || ((length - 1.0).abs() > DIRECTION_TOLERANCE && !is_shorter) {
        return refuse(ProjectionProblem::Direction(length));
    }
    if space.is_slice() && projection.direction[2] != 0.0 {
        return refuse(ProjectionProblem::OutOfSlice);
    }
    if !(projection.weight.is_finite() && projection.weight >= 0.0) {
        return refuse(ProjectionProblem::Weight(projection.weight));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{SweepKind, SweepMetadata};

    #[test]
    fn the_odd_gradient_is_named() {
        let of = |sizes: [f64; 5]| {
            let projection = |size: f64| Projection { direction: [size, 0.0, 0.0], weight: 1.0, values: vec![0.0; 3].into() };
            let sweep = Sweep {
                kind: SweepKind::ContinuousWave { step_mt: 1.0, gradient_mt_per_mm: 1.0, reference: None },
                space: SweepSpace::Volume,
                num_points: 3,
                step_mm: 1.0,
                centre: 1.0,
                projections: sizes.map(projection).to_vec(),
                num_expected: None,
                secs_per_projection: None,
                facts: SweepMetadata::default(),
            };
            check_sweep(&sweep, GradientSizes::Similar).map_err(|error| error.to_string())
        };
        assert_eq!(of([1.0, 0.9, 0.8, 1.0, 0.7]), Ok(()));
        for (sizes, odd) in [([0.4, 0.4, 0.4, 1.0, 0.4], 3), ([1.0, 1.0, 0.3, 1.0, 1.0], 2)] {
            let refused = of(sizes).unwrap_err();
            assert!(
                refused.contains(&format!("projection {odd}")) && refused.contains("another gradient than most"),
                "{refused}"
            );
        }
    }
}
