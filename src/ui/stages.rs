//! Where the time of a run went, iteration by iteration, of a sweep block by block (Belzunce et al. 2012, Table 4 and Figure 6).

use std::collections::VecDeque;
use std::time::Duration;

use crate::session::{IterateReport, NUM_STAGES, STAGES};

/// Iterations that are kept one by one.
const MAX_ITERATIONS: usize = 60;

/// Times of the stages, in the order of [`STAGES`].
pub type Times = [Duration; NUM_STAGES];

/// Times of the last iterations, and sums over all. Those of subsets are added up.
#[derive(Clone, Debug, Default)]
pub struct StageLog {
    iterations: VecDeque<(usize, Times)>,
    under_way: Times,
    sum: Times,
    num_iterations: u32,
}

fn add(sum: &mut Times, times: &Times) {
    sum.iter_mut().zip(times).for_each(|(sum, time)| *sum += *time);
}

impl StageLog {
    /// Takes a step in, which of a sweep stands for itself.
    pub fn add(&mut self, report: &IterateReport, is_sweep: bool) {
        add(&mut self.under_way, &report.stage_times());
        if report.completes_iteration || is_sweep {
            let times = std::mem::take(&mut self.under_way);
            add(&mut self.sum, &times);
            self.num_iterations += 1;
            self.iterations.push_back((if is_sweep { report.subiteration } else { report.iteration }, times));
            if self.iterations.len() > MAX_ITERATIONS {
                self.iterations.pop_front();
            }
        }
    }

    /// The last iterations with their numbers, oldest first.
    pub fn iterations(&self) -> impl Iterator<Item = &(usize, Times)> {
        self.iterations.iter()
    }

    /// The last whole iteration.
    pub fn last(&self) -> Option<&Times> {
        self.iterations.back().map(|(_, times)| times)
    }

    /// Mean over all whole iterations.
    pub fn mean(&self) -> Option<Times> {
        (self.num_iterations > 0).then(|| self.sum.map(|time| time / self.num_iterations))
    }

    /// Names of the stages that took time in some iteration, with their places.
    pub fn used(&self) -> Vec<(usize, &'static str)> {
        STAGES.iter().copied().enumerate().filter(|(stage, _)| !self.sum[*stage].is_zero()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operator::Accumulation;
    use crate::recon::StageTimes;

    fn report(subiteration: usize, forward_ms: u64) -> IterateReport {
        let ms = Duration::from_millis;
        IterateReport {
            iteration: subiteration / 2,
            subiteration,
            subset: subiteration % 2,
            completes_iteration: subiteration.is_multiple_of(2),
            log_likelihood_of_subset: None,
            log_likelihood: None,
            accumulation: Accumulation::Atomic,
            race: None,
            stages: StageTimes { forward: ms(forward_ms), backprojection: ms(20), ..StageTimes::default() },
            measure: ms(1),
            publish: ms(3),
            elapsed: Duration::ZERO,
            branch: 0,
            roi_sums: Vec::new(),
        }
    }

    #[test]
    fn subsets_are_added_up_and_iterations_averaged() {
        let mut log = StageLog::default();
        log.add(&report(1, 10), false);
        assert!(log.last().is_none() && log.mean().is_none());
        log.add(&report(2, 12), false);
        log.add(&report(3, 30), false);
        log.add(&report(4, 30), false);
        let names: Vec<_> = log.used().iter().map(|(_, name)| *name).collect();
        assert_eq!(names, ["forward", "backprojection", "copy", "measure"]);
        let of = |times: Times| log.used().iter().map(|(stage, _)| times[*stage].as_millis()).collect::<Vec<_>>();
        assert_eq!(of(*log.last().unwrap()), [60, 40, 6, 2]);
        assert_eq!(of(log.mean().unwrap()), [41, 40, 6, 2]);
        (5..=200).for_each(|step| log.add(&report(step, 1), false));
        assert_eq!(log.iterations().map(|(iteration, _)| *iteration).collect::<Vec<_>>(), (41..=100).collect::<Vec<_>>());
    }
}
