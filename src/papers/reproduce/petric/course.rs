//! The course of a run: time, epochs and measures of each update.

use std::time::Instant;

use super::plan::Method;
use super::reference::{self, Maximum};
use crate::data::Study;
use crate::io::petric_regions;
use crate::measure::{PetricMasks, PetricMeasures, first_held};
use crate::plan::{Data, Job, RunInputs, RunSettings, prepare};
use crate::reproduce::prelude::*;

/// A run that was measured.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Course {
    pub device: String,
    pub num_subsets: usize,
    /// Its updates in order.
    pub updates: Vec<Update>,
}

/// The image after an update.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Update {
    /// Time of all updates so far, s.
    pub secs: f64,
    /// Relative RMSE of the whole object and of the background, and the largest relative error of the mean of a VOI.
    pub measures: [f64; 3],
    /// Thresholds that it meets.
    pub passes: [bool; 3],
    /// (Φ* − Φ) / (Φ* − Φ₀) at the end of an epoch, by a projection outside of the time; `None` at other updates, and without an objective.
    pub gap: Option<f64>,
}

/// Part of the way from the start to the maximum of the objective that may be missing.
pub const MAX_GAP: f64 = 0.01;

/// Place where a run meets a threshold for good.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reached {
    pub epochs: f64,
    pub secs: f64,
}

/// Returns the masks of a study.
///
/// # Errors
/// One that the measures need is missing.
pub fn masks(study: &Study<Data>, grid: &Grid) -> Result<PetricMasks, ReproduceError> {
    let (whole_object, background, vois) = petric_regions(&study.rois).ok_or(ReproduceError::NoMasks)?;
    let vois = vois.into_iter().map(|roi| (roi.name.clone(), roi.mask(grid))).filter(|(_, mask)| !mask.voxels.is_empty());
    Ok(PetricMasks { whole_object: whole_object.mask(grid), background: background.mask(grid), vois: vois.collect() })
}

impl Course {
    /// Runs a method until all thresholds are held and its objective is near the maximum, or for this many epochs.
    pub fn run(
        study: &Arc<Study<Data>>,
        method: Method,
        (reference, maximum): (&Volume, Maximum),
        device: DeviceChoice,
        max_epochs: usize,
    ) -> Result<Self, ReproduceError> {
        let of_study = reference::settings(study, device)?;
        let start = study.preset.as_ref().and_then(|preset| preset.start.clone());
        let algorithm = method.algorithm();
        let parameters = method.parameters(of_study.parameters.clone());
        let settings = RunSettings {
            algorithm,
            parameters,
            inputs: RunInputs { init: start, ..of_study.inputs.clone() },
            num_iterations: max_epochs,
            ..of_study
        };
        let masks = masks(study, &settings.grid)?;
        let mut image = Volume::filled(settings.grid.clone(), 0.0);
        let num_subsets = settings.num_subsets;
        let task = Task::new();
        let mut prepared = prepare(&Job::new(Arc::clone(study), settings), &task)?;
        let device = prepared.info.device.clone();
        let (mut secs, mut updates) = (0.0, Vec::new());
        while updates.len() < max_epochs * num_subsets {
            let begin = Instant::now();
            let report = prepared.algorithm.step(&task)?;
            secs += begin.elapsed().as_secs_f64();
            prepared.algorithm.volume_into(&mut image)?;
            let measures = PetricMeasures::of(image.as_slice(), reference.as_slice(), &masks);
            let measures = measures.ok_or(ReproduceError::NoMeasures)?;
            let objective = if report.completes_iteration { prepared.algorithm.objective(&task)? } else { None };
            updates.push(Update {
                secs,
                gap: objective.map(|objective| maximum.gap(objective.total())),
                measures: [measures.whole_object_rmse, measures.background_rmse, measures.max_voi_error()],
                passes: measures.passes(),
            });
            // (An algorithm without an objective never comes near its maximum.)
            let is_near =
                report.completes_iteration && updates.last().and_then(|update| update.gap).is_none_or(|gap| gap <= MAX_GAP);
            if is_near && first_held(&passes(&updates, |passes| passes == [true; 3])).is_some() {
                break;
            }
        }
        Ok(Self { device, num_subsets, updates })
    }

    /// Returns the end of the epoch from which on the objective is near its maximum; `None` where there is none.
    pub fn reached_maximum(&self) -> Option<Reached> {
        let is_far = |update: &Update| update.gap.is_some_and(|gap| gap.is_nan() || gap > MAX_GAP);
        let from = self.updates.iter().rposition(is_far).map_or(0, |last_far| last_far + 1);
        let update = from + self.updates[from..].iter().position(|update| update.gap.is_some())?;
        Some(self.reached_at(update))
    }

    fn reached_at(&self, update: usize) -> Reached {
        Reached { epochs: (update + 1) as f64 / self.num_subsets as f64, secs: self.updates[update].secs }
    }

    /// Returns where it meets thresholds for good; `None` where it does not.
    pub fn reached(&self, which: impl Fn([bool; 3]) -> bool) -> Option<Reached> {
        first_held(&passes(&self.updates, which)).map(|update| self.reached_at(update))
    }
}

fn passes(updates: &[Update], which: impl Fn([bool; 3]) -> bool) -> Vec<bool> {
    updates.iter().map(|update| which(update.passes)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_reaches_a_threshold_where_it_begins_to_hold() {
        let update = |number: usize| Update {
            secs: 0.5 * (number + 1) as f64,
            measures: [0.0; 3],
            passes: [number >= 3, number != 5, number >= 7],
            gap: (number % 4 == 3).then(|| [0.5, 0.005, 0.02, 0.01][number / 4]),
        };
        let course = Course { device: String::new(), num_subsets: 4, updates: (0..17).map(update).collect() };
        assert_eq!(course.reached(|passes| passes[0]), Some(Reached { epochs: 1.0, secs: 2.0 }));
        assert_eq!(course.reached(|passes| passes[1]), Some(Reached { epochs: 1.75, secs: 3.5 }));
        assert_eq!(course.reached(|passes| passes == [true; 3]), Some(Reached { epochs: 2.0, secs: 4.0 }));
        assert_eq!(course.reached_maximum(), Some(Reached { epochs: 4.0, secs: 8.0 }));
        let short = Course { updates: course.updates[..16].to_vec(), ..course };
        assert_eq!(short.reached(|passes| passes[2]), None);
        let shorter = Course { updates: short.updates[..15].to_vec(), ..short };
        assert_eq!(shorter.reached_maximum(), None);
    }
}
