//! Fits in the voxels of an image: their outcomes, the numbers of these, and maps.

use crate::data::{Unit, Volume};
use crate::geometry::Grid;

/// Reason why the values of a voxel have no fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoFit {
    /// A value that is not finite.
    NotFinite,
    /// Nothing that the samples can measure.
    OutOfRange,
    /// The search did not end.
    NotConverged,
    /// A line too narrow for the samples, or a width that is uncertain.
    Unresolved,
}

/// Outcome of a voxel; `Err(None)` = below the mask.
pub type Outcome<T> = Result<T, Option<NoFit>>;

/// Voxels with a fit, and without one by cause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct FitCounts {
    /// With a fit.
    pub fitted: usize,
    /// Below the limit of the mask.
    pub below_mask: usize,
    /// With a value that is not finite.
    pub not_finite: usize,
    /// Without anything that the samples can measure.
    pub out_of_range: usize,
    /// With a search that did not end.
    pub not_converged: usize,
    /// With a line too narrow for the samples, or an uncertain width; 0 of other fits.
    #[serde(default)]
    pub unresolved: usize,
}

impl FitCounts {
    /// Counts the outcomes of voxels.
    pub fn of<'a, T: 'a>(outcomes: impl IntoIterator<Item = &'a Outcome<T>>) -> Self {
        let mut counts = Self::default();
        for outcome in outcomes {
            let count = match outcome {
                Ok(_) => &mut counts.fitted,
                Err(None) => &mut counts.below_mask,
                Err(Some(NoFit::NotFinite)) => &mut counts.not_finite,
                Err(Some(NoFit::OutOfRange)) => &mut counts.out_of_range,
                Err(Some(NoFit::NotConverged)) => &mut counts.not_converged,
                Err(Some(NoFit::Unresolved)) => &mut counts.unresolved,
            };
            *count += 1;
        }
        counts
    }

    /// Returns true if most voxels above the mask have no fit: the model is not that of the data.
    pub fn are_mostly_missing(&self) -> bool {
        self.fitted > 0 && self.out_of_range + self.not_converged + self.unresolved > self.fitted
    }

    /// Returns the numbers of masked voxels above 0, each with its [`cause`].
    pub fn masked(&self, out_of_range: &'static str) -> impl Iterator<Item = (usize, &'static str)> {
        let numbers = [
            (self.below_mask, None),
            (self.not_finite, Some(NoFit::NotFinite)),
            (self.out_of_range, Some(NoFit::OutOfRange)),
            (self.not_converged, Some(NoFit::NotConverged)),
            (self.unresolved, Some(NoFit::Unresolved)),
        ];
        numbers.into_iter().filter(|(num, _)| *num > 0).map(move |(num, reason)| (num, cause(reason, out_of_range)))
    }
}

/// Returns why a voxel has no fit, for people; `None` = below the mask. `out_of_range` = the text of [`NoFit::OutOfRange`].
pub fn cause(reason: Option<NoFit>, out_of_range: &'static str) -> &'static str {
    match reason {
        None => "below the mask",
        Some(NoFit::NotFinite) => "with a value that is not finite",
        Some(NoFit::OutOfRange) => out_of_range,
        Some(NoFit::NotConverged) => "with a fit that did not converge",
        Some(NoFit::Unresolved) => "with a line narrower than 1.5 field steps, or a width that is uncertain by more than 30 %",
    }
}

/// Returns the map of a value of the fits, by voxel; without a fit it is NaN.
pub(super) fn map<T>(grid: &Grid, outcomes: &[Outcome<T>], unit: Unit, value: impl Fn(usize, &T) -> f64) -> Volume {
    let mut map = Volume { unit, ..Volume::filled(grid.clone(), f32::NAN) };
    for (voxel, (to, outcome)) in map.as_mut_slice().iter_mut().zip(outcomes).enumerate() {
        if let Ok(fit) = outcome {
            *to = value(voxel, fit) as f32;
        }
    }
    map
}
