//! Curves of noise, contrast and likelihood against iteration, made from the run's events.

use super::live::{Branch, LiveRun, Mark};
use super::measured::numbers;
use crate::data::RoiRole;

/// One curve.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// Name of the ROI.
    pub name: String,
    /// Its place in the list, which gives the colour.
    pub index: usize,
    /// Of the ROIs before the last edit.
    pub is_earlier: bool,
    /// (iterations, value).
    pub points: Vec<[f64; 2]>,
}

/// All curves of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Curves {
    /// Noise-to-signal ratio of the background ROIs, per cent.
    pub nsr: Vec<Series>,
    /// Contrast recovery of hot and cold ROIs, per cent.
    pub recovery: Vec<Series>,
    /// Log-likelihood over all data.
    pub log_likelihood: Vec<[f64; 2]>,
    /// Marks: (iterations, what).
    pub marks: Vec<(f64, Mark)>,
}

impl Curves {
    /// The curves of a run as it stands.
    pub fn of(live: &LiveRun) -> Self {
        let mut curves = Curves::default();
        let newest = live.branches.keys().next_back().copied();
        for (number, branch) in &live.branches {
            curves.add_branch(live, branch, Some(*number) != newest);
        }
        let at = |steps: f64| live.iterations(steps);
        curves.log_likelihood = live.log_likelihood.iter().map(|[step, value]| [at(*step), *value]).collect();
        curves.marks = live.marks.iter().map(|(step, mark)| (at(*step as f64), mark.clone())).collect();
        curves
    }

    fn add_branch(&mut self, live: &LiveRun, branch: &Branch, is_earlier: bool) {
        let series = |index: usize| Series { name: branch.rois[index].name.clone(), index, is_earlier, points: Vec::new() };
        let mut nsr: Vec<Series> = (0..branch.rois.len()).map(series).collect();
        let mut recovery = nsr.clone();
        for point in branch.points.values() {
            let at = live.iterations(point.subiteration as f64);
            for (index, n) in numbers(&branch.rois, &point.sums, 1.0).iter().enumerate() {
                let role = branch.rois[index].role;
                if let Some(value) = n.nsr.filter(|_| role == RoiRole::Background) {
                    nsr[index].points.push([at, 100.0 * value]);
                }
                if let Some(value) = n.recovery {
                    recovery[index].points.push([at, 100.0 * value]);
                }
            }
        }
        let has_points = |series: &Series| !series.points.is_empty();
        self.nsr.extend(nsr.into_iter().filter(has_points));
        self.recovery.extend(recovery.into_iter().filter(has_points));
    }
}
