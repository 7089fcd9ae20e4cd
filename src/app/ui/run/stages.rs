//! Where the time of a run went, iteration by iteration, of a sweep block by block (Belzunce et al. 2012, Table 4 and Figure 6).

use std::collections::VecDeque;

use crate::plan::IterationScheme;
use crate::recon::{Stage, StageTimes};
use crate::session::IterateReport;

/// Number of iterations that are stored one by one.
const MAX_ITERATIONS: usize = 60;

/// StageTimes of the last iterations, and sums over all. Those of subsets are added up.
#[derive(Clone, Debug, Default)]
pub struct StageLog {
    iterations: VecDeque<(usize, StageTimes)>,
    under_way: StageTimes,
    sum: StageTimes,
    num_iterations: u32,
}

impl StageLog {
    /// Adds a step. In runs without iterations each step counts as one.
    pub fn add(&mut self, report: &IterateReport, course: &IterationScheme) {
        self.under_way += report.stages;
        if report.completes_iteration || !course.by_iteration {
            let times = std::mem::take(&mut self.under_way);
            self.sum += times;
            self.num_iterations += 1;
            self.iterations.push_back((course.number(report.iteration, report.subiteration), times));
            if self.iterations.len() > MAX_ITERATIONS {
                self.iterations.pop_front();
            }
        }
    }

    /// Returns the last iterations with their numbers, oldest first.
    pub fn iterations(&self) -> impl Iterator<Item = &(usize, StageTimes)> {
        self.iterations.iter()
    }

    /// Returns the times of the last complete iteration.
    pub fn last(&self) -> Option<&StageTimes> {
        self.iterations.back().map(|(_, times)| times)
    }

    /// Returns the mean over all complete iterations.
    pub fn mean(&self) -> Option<StageTimes> {
        (self.num_iterations > 0).then(|| self.sum / self.num_iterations)
    }

    /// Returns the stages that took time in some iteration.
    pub fn used(&self) -> Vec<Stage> {
        self.sum.iter().filter(|(_, time)| !time.is_zero()).map(|(stage, _)| stage).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::operator::Accumulation;

    fn report(subiteration: usize, forward_ms: u64) -> IterateReport {
        let ms = Duration::from_millis;
        IterateReport {
            iteration: subiteration / 2,
            subiteration,
            subset: subiteration % 2,
            completes_iteration: subiteration.is_multiple_of(2),
            log_likelihood_of_subset: None,
            log_likelihood: None,
            residual: None,
            explained: None,
            num_events: None,
            accumulation: Accumulation::Atomic,
            race: None,
            ascent: None,
            stages: StageTimes::from([
                (Stage::Forward, ms(forward_ms)),
                (Stage::Backprojection, ms(20)),
                (Stage::Copy, ms(3)),
                (Stage::Measure, ms(1)),
            ]),
            elapsed: Duration::ZERO,
            branch: 0,
            roi_sums: Vec::new(),
            roi_deviations: Vec::new(),
        }
    }

    #[test]
    fn subsets_are_added_up_and_iterations_averaged() {
        let mut log = StageLog::default();
        log.add(&report(1, 10), &IterationScheme::ITERATIONS);
        assert!(log.last().is_none() && log.mean().is_none());
        log.add(&report(2, 12), &IterationScheme::ITERATIONS);
        log.add(&report(3, 30), &IterationScheme::ITERATIONS);
        log.add(&report(4, 30), &IterationScheme::ITERATIONS);
        assert_eq!(log.used(), [Stage::Forward, Stage::Backprojection, Stage::Copy, Stage::Measure]);
        let of = |times: StageTimes| log.used().iter().map(|stage| times[*stage].as_millis()).collect::<Vec<_>>();
        assert_eq!(of(*log.last().unwrap()), [60, 40, 6, 2]);
        assert_eq!(of(log.mean().unwrap()), [41, 40, 6, 2]);
        (5..=200).for_each(|step| log.add(&report(step, 1), &IterationScheme::ITERATIONS));
        assert_eq!(log.iterations().map(|(iteration, _)| *iteration).collect::<Vec<_>>(), (41..=100).collect::<Vec<_>>());
    }
}
