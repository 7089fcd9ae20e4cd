//! Curves of noise, contrast and likelihood against iteration (of a sweep: of noise, contrast and means against the number
//! of projections), made from the run's events.

use std::collections::HashSet;

use egui::Color32;

use super::live::{Branch, LiveRun, Mark};
use super::theme;
use crate::data::{Roi, RoiRole};
use crate::recon::RaceReport;
use crate::session::roi_numbers;

/// Most points of a curve that are drawn; longer ones are thinned.
const MAX_POINTS: usize = 1000;

/// One curve.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// Name of the ROI.
    pub name: String,
    /// Its colour.
    pub colour: Color32,
    /// Of the ROIs before the last edit.
    pub is_earlier: bool,
    /// (iterations or projections, value).
    pub points: Vec<[f64; 2]>,
}

/// A curve with gaps: (iterations, value) of each piece.
pub type Pieces = Vec<Vec<[f64; 2]>>;

/// All curves of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Curves {
    /// Noise-to-signal ratio of the background ROIs, per cent.
    pub nsr: Vec<Series>,
    /// Mean of the background ROIs' noise-to-signal ratios, per cent, where there are several.
    pub mean_nsr: Vec<[f64; 2]>,
    /// Contrast recovery of hot and cold ROIs, per cent.
    pub recovery: Vec<Series>,
    /// Log-likelihood over all data.
    pub log_likelihood: Vec<[f64; 2]>,
    /// Mean of each ROI, of a sweep.
    pub mean: Vec<Series>,
    /// What a race lost of each step's backprojection, per cent; a piece for each stretch of racy steps.
    pub lost: Pieces,
    /// The same of a backprojection of ones.
    pub lost_of_ones: Pieces,
    /// The image's level relative to race-free steps, per cent.
    pub level: Pieces,
    /// Marks: (iterations, what).
    pub marks: Vec<(f64, Mark)>,
}

impl Curves {
    /// The curves of a run as it stands.
    pub fn of(live: &LiveRun) -> Self {
        let mut curves = Curves::default();
        let newest = live.branches.keys().next_back().copied();
        // The newest branch first: of the one before only what it does not repeat is shown.
        for (number, branch) in live.branches.iter().rev() {
            curves.add_branch(live, branch, Some(*number) != newest);
        }
        let at = |steps: f64| live.place(steps);
        curves.log_likelihood = thinned(&live.log_likelihood()).map(|[step, value]| [at(*step), *value]).collect();
        curves.marks = live.marks.iter().map(|(step, mark)| (at(*step as f64), mark.clone())).collect();
        for stretch in live.race().chunk_by(|before, after| before.0 + 1 == after.0) {
            let piece = |part: fn(&RaceReport) -> f64| {
                thinned(stretch).map(|(step, race)| [at(*step as f64), 100.0 * part(race)]).collect::<Vec<_>>()
            };
            curves.lost.push(piece(|race| race.lost));
            curves.lost_of_ones.push(piece(|race| race.lost_of_ones));
            curves.level.push(piece(|race| race.level));
        }
        curves
    }

    fn add_branch(&mut self, live: &LiveRun, branch: &Branch, is_earlier: bool) {
        let series =
            |roi: &Roi| Series { name: roi.name.clone(), colour: theme::roi_colour(roi), is_earlier, points: Vec::new() };
        let mut nsr: Vec<Series> = branch.rois.iter().map(series).collect();
        let mut recovery = nsr.clone();
        let mut mean_value = nsr.clone();
        let points: Vec<_> = branch.points.values().collect();
        for point in thinned(&points) {
            let at = live.place(point.subiteration as f64);
            for (index, n) in roi_numbers(&branch.rois, &point.sums, 1.0).iter().enumerate() {
                let Some(n) = n else { continue };
                let role = branch.rois[index].role;
                if let Some(value) = n.mean.filter(|_| live.is_sweep()) {
                    mean_value[index].points.push([at, value]);
                }
                if let Some(value) = n.nsr.filter(|_| role == RoiRole::Background) {
                    nsr[index].points.push([at, 100.0 * value]);
                }
                if let Some(value) = n.recovery {
                    recovery[index].points.push([at, 100.0 * value]);
                }
            }
        }
        if !is_earlier && nsr.iter().filter(|series| !series.points.is_empty()).count() > 1 {
            self.mean_nsr = mean(&nsr);
        }
        add_new(&mut self.nsr, nsr);
        add_new(&mut self.recovery, recovery);
        add_new(&mut self.mean, mean_value);
    }
}

/// Adds curves without the points that are there already, and without those of which nothing is left.
fn add_new(all: &mut Vec<Series>, more: Vec<Series>) {
    let key = |point: &[f64; 2]| point.map(f64::to_bits);
    let known: HashSet<[u64; 2]> = all.iter().flat_map(|series| series.points.iter().map(key)).collect();
    for mut series in more {
        series.points.retain(|point| !known.contains(&key(point)));
        if !series.points.is_empty() {
            all.push(series);
        }
    }
}

/// Every n-th value and the last, [`MAX_POINTS`] or a little more at most.
fn thinned<T>(values: &[T]) -> impl Iterator<Item = &T> {
    let stride = values.len().div_ceil(MAX_POINTS).max(1);
    let last = values.len().saturating_sub(1);
    values.iter().enumerate().filter(move |(index, _)| index % stride == 0 || *index == last).map(|(_, value)| value)
}

/// Mean of several curves that have the same places, without those that have no points.
fn mean(series: &[Series]) -> Vec<[f64; 2]> {
    let curves: Vec<&Series> = series.iter().filter(|series| !series.points.is_empty()).collect();
    let shortest = curves.iter().map(|series| series.points.len()).min().unwrap_or(0);
    let sum = |k: usize| curves.iter().map(|series| series.points[k][1]).sum::<f64>();
    (0..shortest).map(|k| [curves[0].points[k][0], sum(k) / curves.len() as f64]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::StepFigures;

    #[test]
    fn long_curves_are_thinned_and_keep_their_end() {
        let values: Vec<usize> = (0..5500).collect();
        let kept: Vec<usize> = thinned(&values).copied().collect();
        assert!(kept.len() <= MAX_POINTS && kept[0] == 0 && kept.last() == Some(&5499));
        assert_eq!(thinned(&values[..10]).count(), 10);
        assert_eq!(thinned::<u8>(&[]).count(), 0);
    }

    #[test]
    fn a_race_that_was_switched_off_between_has_two_pieces() {
        let mut live = LiveRun::default();
        let race = |lost| RaceReport { lost, lost_of_ones: 0.5, level: 1.0 - lost };
        let step = |(subiteration, lost)| StepFigures { subiteration, race: Some(race(lost)), ..StepFigures::default() };
        live.steps = [(1, 0.25), (2, 0.5), (5, 0.125)].map(step).into();
        let curves = Curves::of(&live);
        assert_eq!(curves.lost, [vec![[1.0, 25.0], [2.0, 50.0]], vec![[5.0, 12.5]]]);
        assert_eq!(curves.level[1], [[5.0, 87.5]]);
        assert_eq!(curves.lost_of_ones[0].len(), 2);
    }

    #[test]
    fn the_mean_of_curves_is_taken_point_by_point() {
        let series = |points: &[[f64; 2]]| Series {
            name: String::new(),
            colour: Color32::BLACK,
            is_earlier: false,
            points: points.to_vec(),
        };
        let curves = [series(&[[1.0, 2.0], [2.0, 6.0]]), series(&[]), series(&[[1.0, 4.0], [2.0, 8.0]])];
        assert_eq!(mean(&curves), [[1.0, 3.0], [2.0, 7.0]]);
    }
}
