//! Stopping rules of a run. The solver checks them after each full iteration, so that the last image is the one that met the rule.

use std::collections::VecDeque;

use super::IterateReport;
use super::run_table::{background_noise, roi_numbers};
use crate::data::Roi;

/// Stopping rule. All parts are fractions.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub enum StopRule {
    /// The mean noise-to-signal ratio of the background ROIs is above this.
    Noise {
        /// Maximum.
        nsr: f64,
    },
    /// The contrast recovery of a ROI is within a band over some iterations.
    SteadyRecovery {
        /// Name of the ROI.
        roi: String,
        /// Maximum difference of the largest and smallest recovery.
        band: f64,
        iterations: usize,
    },
    /// The last iteration added at most this part of the increase of the log-likelihood by all iterations.
    Plateau {
        /// Part of the increase.
        part: f64,
    },
}

/// Iterations whose recoveries are stored also without a rule that needs them: a later rule may.
const MIN_STORED: usize = 101;

/// Stopping rules of one run.
#[derive(Debug, Default)]
pub(super) struct StopWatch {
    /// Rules, and true for those that were met: they do not stop the run again.
    rules: Vec<(StopRule, bool)>,
    /// Log-likelihoods of the first iteration and of the last two.
    likelihoods: Vec<f64>,
    /// Contrast recoveries of the ROIs after each of the last iterations since their last edit.
    recoveries: VecDeque<Vec<Option<f64>>>,
    /// ROIs of these numbers.
    rois: Vec<Roi>,
}

impl StopWatch {
    /// Sets the rules; one that was met remains so.
    pub fn set(&mut self, rules: &[StopRule]) {
        let was_met = |rule: &StopRule| self.rules.iter().any(|(other, met)| other == rule && *met);
        self.rules = rules.iter().map(|rule| (rule.clone(), was_met(rule))).collect();
    }

    /// Adds a step, and returns the first rule that it meets, as a sentence.
    pub fn add(&mut self, report: &IterateReport, rois: &[Roi]) -> Option<String> {
        if !report.completes_iteration {
            return None;
        }
        let sums: Vec<_> = report.roi_sums.iter().copied().map(Some).collect();
        let numbers = roi_numbers(rois, &sums, 1.0);
        // Numbers of another region under the same name are not comparable.
        if !have_equal_numbers(&self.rois, rois) {
            self.rois = rois.to_vec();
            self.recoveries.clear();
        }
        self.recoveries.push_back(numbers.iter().map(|numbers| numbers.as_ref().and_then(|numbers| numbers.recovery)).collect());
        let Self { rules, likelihoods, recoveries, .. } = self;
        let longest = rules.iter().map(|(rule, _)| rule.num_iterations()).fold(MIN_STORED, usize::max);
        while recoveries.len() > longest {
            recoveries.pop_front();
        }
        likelihoods.extend(report.log_likelihood);
        if likelihoods.len() > 3 {
            likelihoods.remove(1);
        }
        let noise = background_noise(rois, &numbers);
        let met = rules.iter_mut().filter(|(_, met)| !met).find_map(|(rule, met)| {
            let reason = rule.reason_if_met(noise, likelihoods, recoveries, rois)?;
            *met = true;
            Some(reason)
        })?;
        Some(format!("stopped after iteration {}: {met}", report.iteration))
    }
}

impl StopRule {
    /// Returns the rule in a few words.
    pub fn text(&self) -> String {
        match self {
            StopRule::Noise { nsr } => format!("NSR above {} %", percent(*nsr)),
            StopRule::SteadyRecovery { roi, band, iterations } => {
                format!("recovery of {roi} within {} % over {iterations} iterations", percent(*band))
            }
            StopRule::Plateau { part } => format!("likelihood gain below {} %", percent(*part)),
        }
    }

    /// Returns the number of iterations whose recoveries it compares.
    fn num_iterations(&self) -> usize {
        if let StopRule::SteadyRecovery { iterations, .. } = self { iterations.saturating_add(1) } else { 0 }
    }

    fn reason_if_met(
        &self,
        noise: Option<f64>,
        likelihoods: &[f64],
        recoveries: &VecDeque<Vec<Option<f64>>>,
        rois: &[Roi],
    ) -> Option<String> {
        match self {
            StopRule::Noise { nsr } => {
                let found = noise.filter(|found| found > nsr)?;
                Some(format!("the background's NSR of {:.1} % passed {:.1} %", 100.0 * found, 100.0 * nsr))
            }
            StopRule::SteadyRecovery { roi, band, iterations } => {
                let index = rois.iter().position(|of| of.name == *roi)?;
                let start = recoveries.len().checked_sub(self.num_iterations())?;
                let lately: Vec<f64> = recoveries.range(start..).map(|numbers| *numbers.get(index)?).collect::<Option<_>>()?;
                let (low, high) =
                    lately.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| (low.min(*v), high.max(*v)));
                (high - low <= *band).then(|| {
                    let change = 100.0 * (high - low);
                    format!(
                        "the recovery of {roi} changed by {change:.2} % over {iterations} iterations, at most {:.2} %",
                        100.0 * band
                    )
                })
            }
            StopRule::Plateau { part } => {
                let [first, .., before, last] = likelihoods else { return None };
                let found = (last - before) / (last - first);
                (found <= *part).then(|| {
                    let [found, part] = [found, *part].map(|part| 100.0 * part);
                    format!("the last iteration added {found:.2} % of what all added to the log-likelihood, at most {part:.2} %")
                })
            }
        }
    }
}

/// Returns true if regions have the same numbers on an image: only their colours may differ.
fn have_equal_numbers(rois: &[Roi], others: &[Roi]) -> bool {
    let is_equal = |(roi, other): (&Roi, &Roi)| {
        let facts = |roi: &Roi| (roi.name.clone(), roi.role, roi.activity_ratio);
        roi.covers_same(other) && facts(roi) == facts(other)
    };
    rois.len() == others.len() && rois.iter().zip(others).all(is_equal)
}

/// Returns a fraction in % with up to three decimals.
fn percent(fraction: f64) -> f64 {
    (1e5 * fraction).round() / 1e3
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::data::{RoiMask, RoiRole, RoiShape};
    use crate::operator::Accumulation;
    use crate::recon::StageTimes;

    fn met(rule: &StopRule, noise: Option<f64>, likelihoods: &[f64], recoveries: &[f64]) -> bool {
        let recoveries = recoveries.iter().map(|value| vec![Some(*value)]).collect();
        rule.reason_if_met(noise, likelihoods, &recoveries, &[Roi::new("A", RoiShape::Sphere { radius_mm: 1.0 }, [0.0; 3])])
            .is_some()
    }

    #[test]
    fn noise_stops_where_it_is_above_and_known() {
        let rule = StopRule::Noise { nsr: 0.1 };
        assert_eq!(
            [Some(0.09), Some(0.1), Some(0.11), None].map(|noise| met(&rule, noise, &[], &[])),
            [false, false, true, false]
        );
        assert_eq!(
            rule.reason_if_met(Some(0.125), &[], &VecDeque::new(), &[]).unwrap(),
            "the background's NSR of 12.5 % passed 10.0 %"
        );
    }

    #[test]
    fn a_recovery_is_steady_within_its_band_over_all_of_its_iterations() {
        let rule = |roi: &str| StopRule::SteadyRecovery { roi: roi.into(), band: 0.0625, iterations: 2 };
        assert!(!met(&rule("A"), None, &[], &[0.5, 0.5]), "two iterations are one change");
        assert!(met(&rule("A"), None, &[], &[0.25, 0.5, 0.5625, 0.5]));
        assert!(!met(&rule("A"), None, &[], &[0.5, 0.5, 0.5625, 0.4375]));
        assert!(!met(&rule("B"), None, &[], &[0.5; 9]), "there is no such region");
    }

    #[test]
    fn a_recovery_is_not_compared_with_those_before_an_edit() {
        let roi = |name: &str, role, radius_mm| {
            let shape = RoiShape::Sphere { radius_mm };
            Roi { role, activity_ratio: Some(4.0), ..Roi::new(name, shape, [0.0; 3]) }
        };
        let rois = |radius_mm| [roi("H", RoiRole::Hot, radius_mm), roi("B", RoiRole::Background, 5.0)];
        let sums = |value: f32| RoiMask { voxels: [(0, 1.0), (1, 1.0)].into() }.sums(&[value; 2]);
        let report = |iteration: usize| IterateReport {
            iteration,
            subiteration: iteration,
            subset: 0,
            completes_iteration: true,
            log_likelihood_of_subset: None,
            log_likelihood: None,
            residual: None,
            explained: None,
            num_events: None,
            accumulation: Accumulation::Deterministic,
            race: None,
            ascent: None,
            stages: StageTimes::default(),
            elapsed: Duration::ZERO,
            branch: 0,
            roi_sums: vec![sums(3.0), sums(1.0)],
            roi_deviations: Vec::new(),
        };
        let mut watch = StopWatch::default();
        watch.set(&[StopRule::SteadyRecovery { roi: "H".into(), band: 0.01, iterations: 2 }]);
        // The region is edited after the second iteration: the numbers are the same by chance, of another region.
        let met: Vec<bool> = (1..=5)
            .map(|iteration| watch.add(&report(iteration), &rois(if iteration <= 2 { 2.0 } else { 3.0 })).is_some())
            .collect();
        assert_eq!(met, [false, false, false, false, true]);
        (6..=500).for_each(|iteration| _ = watch.add(&report(iteration), &rois(3.0)));
        assert_eq!(watch.recoveries.len(), MIN_STORED);
    }

    #[test]
    fn a_plateau_is_a_small_part_of_all_that_was_added() {
        let rule = StopRule::Plateau { part: 0.25 };
        assert!(!met(&rule, None, &[0.0, 1.0], &[]), "of one step nothing can be said");
        assert!(!met(&rule, None, &[0.0, 2.0, 3.0], &[]));
        assert!(met(&rule, None, &[0.0, 3.0, 4.0], &[]));
    }
}
