//! The stages of a step, and where its time went (Belzunce et al. 2012, Table 4 and Figure 6).

use std::ops::{AddAssign, Div, Index, IndexMut};
use std::time::{Duration, Instant};

use strum::{EnumCount as _, VariantArray as _};

/// A stage of a step, in the order in which tables and bars show them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::Display, strum::EnumCount, strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "kebab-case")]
pub enum Stage {
    /// Filtering of projections.
    Filter,
    /// Forward projection.
    Forward,
    /// Ratio of measured to estimated data, with the log-likelihood.
    Ratio,
    /// Backprojection.
    Backprojection,
    /// Update of the image.
    Update,
    /// Sensitivity image (first pass through the subsets only).
    Sensitivity,
    /// Measuring the losses of a race condition, if the steps have one.
    Race,
    /// The same steps of the replicates, for error bars.
    Replicates,
    /// Copying the volume to the host, if it was copied; it may continue during the next step.
    Copy,
    /// Measuring the ROIs.
    Measure,
}

impl Stage {
    /// Returns its name in files, tables and the window.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// Returns its place among the colours of stages.
    pub fn colour(self) -> usize {
        self as usize
    }

    /// Returns its description for users.
    pub fn text(self) -> &'static str {
        match self {
            Stage::Filter => "Filtering of the projections",
            Stage::Forward => "Projection of the image onto the measured bins",
            Stage::Ratio => "Measured counts divided by the projection, with the log-likelihood",
            Stage::Backprojection => {
                "Backprojection of the ratio, with the accumulation chosen; of a sweep that of the filtered projections"
            }
            Stage::Update => {
                "Image × backprojection / sensitivity; of penalised likelihoods the step with the gradient of the penalty"
            }
            Stage::Sensitivity => "Backprojection of ones; once for each subset, in the first iteration",
            Stage::Race => "Measuring what non-atomic additions lose: not part of the reconstruction itself",
            Stage::Replicates => "The same step with the counts of each replicate, for error bars",
            Stage::Copy => "Copying the volume for display; on a GPU during the next step, at no cost",
            Stage::Measure => "Measuring the ROIs on the iterate",
        }
    }

    /// Returns true for stages of the algorithm's step; the others follow with its image.
    pub fn is_of_algorithm(self) -> bool {
        !matches!(self, Stage::Copy | Stage::Measure)
    }
}

/// The time of each stage.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct StageTimes([Duration; Stage::COUNT]);

impl StageTimes {
    /// Returns the stages and their times, in order.
    pub fn iter(&self) -> impl Iterator<Item = (Stage, Duration)> {
        Stage::VARIANTS.iter().map(|&stage| (stage, self[stage]))
    }

    /// Sum of all stages.
    pub fn total(&self) -> Duration {
        self.0.iter().sum()
    }

    /// Returns the total time with another number of replicates than the run had. Each takes the steps of the run again; set-up, sensitivity,
    /// copies and measurements are those of the run alone.
    pub fn total_with_replicates(&self, num_before: usize, num: usize) -> Duration {
        let of_replicates = self[Stage::Replicates];
        let of_one = match num_before {
            0 => [Stage::Forward, Stage::Ratio, Stage::Backprojection, Stage::Update].map(|stage| self[stage]).iter().sum(),
            _ => of_replicates.div_f64(num_before as f64),
        };
        self.total() - of_replicates + of_one.mul_f64(num as f64)
    }

    /// Does work and adds its time to a stage.
    pub fn time<T>(&mut self, stage: Stage, work: impl FnOnce() -> T) -> T {
        let start = Instant::now();
        let result = work();
        self[stage] += start.elapsed();
        result
    }
}

impl<const N: usize> From<[(Stage, Duration); N]> for StageTimes {
    fn from(times: [(Stage, Duration); N]) -> Self {
        let mut all = Self::default();
        times.into_iter().for_each(|(stage, time)| all[stage] = time);
        all
    }
}

impl Index<Stage> for StageTimes {
    type Output = Duration;

    fn index(&self, stage: Stage) -> &Duration {
        &self.0[stage as usize]
    }
}

impl IndexMut<Stage> for StageTimes {
    fn index_mut(&mut self, stage: Stage) -> &mut Duration {
        &mut self.0[stage as usize]
    }
}

impl AddAssign for StageTimes {
    fn add_assign(&mut self, other: Self) {
        self.0.iter_mut().zip(other.0).for_each(|(sum, time)| *sum += time);
    }
}

impl Div<u32> for StageTimes {
    type Output = Self;

    fn div(self, count: u32) -> Self {
        Self(self.0.map(|time| time / count))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stages_are_named_as_in_files_and_stand_in_their_places() {
        let names: Vec<&str> = Stage::VARIANTS.iter().map(|stage| stage.name()).collect();
        let expected =
            ["filter", "forward", "ratio", "backprojection", "update", "sensitivity", "race", "replicates", "copy", "measure"];
        assert_eq!(names, expected);
        assert!(Stage::VARIANTS.iter().enumerate().all(|(place, stage)| *stage as usize == place));
    }

    #[test]
    fn each_replicate_takes_the_steps_of_the_run_and_nothing_else() {
        let ms = Duration::from_millis;
        let shared = [(Stage::Sensitivity, ms(50)), (Stage::Copy, ms(8)), (Stage::Measure, ms(2))];
        let steps = [(Stage::Forward, ms(3)), (Stage::Ratio, ms(1)), (Stage::Backprojection, ms(5)), (Stage::Update, ms(1))];
        let mut without = StageTimes::from(shared);
        without += StageTimes::from(steps);
        assert_eq!(without.total_with_replicates(0, 0), ms(70));
        // Not 21 times 70 ms.
        assert_eq!(without.total_with_replicates(0, 20), ms(270));
        let mut with = without;
        with += StageTimes::from([(Stage::Replicates, ms(160))]);
        // As measured: 8 ms for each of 20.
        assert_eq!([20, 5, 0].map(|num| with.total_with_replicates(20, num)), [ms(230), ms(110), ms(70)]);
    }

    #[test]
    fn times_are_added_stage_by_stage() {
        let ms = Duration::from_millis;
        let mut sum = StageTimes::from([(Stage::Forward, ms(4)), (Stage::Copy, ms(1))]);
        sum += StageTimes::from([(Stage::Forward, ms(2))]);
        assert_eq!((sum[Stage::Forward], sum.total()), (ms(6), ms(7)));
        assert_eq!((sum / 2)[Stage::Forward], ms(3));
        assert_eq!(
            sum.iter().filter(|(_, time)| !time.is_zero()).map(|(stage, _)| stage).collect::<Vec<_>>(),
            [Stage::Forward, Stage::Copy]
        );
    }
}
