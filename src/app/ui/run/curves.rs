//! Curves of noise, contrast and likelihood over the iterations of a run. For an EPRI acquisition: noise, contrast and means over
//! the number of projections.

use std::collections::{BTreeSet, HashSet};

use egui::Color32;

use super::live::{LiveRun, Mark};
use super::roi_branches::{Branch, RoiPoint};
use super::thinning::{num_drawn, thinned, thinned_to};
use crate::data::{Roi, RoiRole};
use crate::measure::{Convergence, NoPeakWidth, PeakWidth};
use crate::recon::{AscentReport, AscentTuning, ObjectiveValue, RaceReport};
use crate::session::{Comparison, PeaksFound, background_nsr, roi_numbers};
use crate::statistics::mean;
use crate::ui::widgets::theme;

/// Curve of a ROI.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    pub name: String,
    pub colour: Color32,
    /// True for the ROIs before the last edit.
    pub is_earlier: bool,
    /// (iterations or projections, value).
    pub points: Vec<[f64; 2]>,
}

/// Mean of a ROI with its standard deviation between replicates.
#[derive(Clone, Debug, PartialEq)]
pub struct MeanBand {
    pub name: String,
    pub colour: Color32,
    /// (iterations, mean, standard deviation).
    pub points: Vec<[f64; 3]>,
}

/// Contrast recovery of a ROI against noise.
#[derive(Clone, Debug, PartialEq)]
pub struct Trajectory {
    pub name: String,
    pub colour: Color32,
    /// (iterations, [noise-to-signal ratio, contrast recovery]), both in %, for the full iterations with both.
    pub points: Vec<(f64, [f64; 2])>,
}

/// Width of a peak of the profile over the iterations.
#[derive(Clone, Debug, PartialEq)]
pub struct PeakCurve {
    /// "FWHM", with a number if there are several peaks.
    pub name: String,
    /// (iterations, mm).
    pub points: Vec<[f64; 2]>,
}

/// Curve with gaps: (iterations, value) of each piece.
pub type Pieces = Vec<Vec<[f64; 2]>>;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Curves {
    /// Noise-to-signal ratio of the background ROIs, %.
    pub nsr: Vec<Series>,
    /// Mean noise-to-signal ratio of the background ROIs, %, if there are several.
    pub mean_nsr: Vec<[f64; 2]>,
    /// Contrast recovery of hot and cold ROIs, %.
    pub recovery: Vec<Series>,
    /// Contrast recovery against noise-to-signal ratio.
    pub against_noise: Vec<Trajectory>,
    /// Contrast-to-noise ratio of hot and cold ROIs.
    pub contrast_to_noise: Vec<Series>,
    /// Log-likelihood of all data.
    pub log_likelihood: Vec<[f64; 2]>,
    /// Increase of the log-likelihood per iteration.
    pub likelihood_gain: Vec<[f64; 2]>,
    /// Residual of the data relative to the expected counts.
    pub residual: Vec<[f64; 2]>,
    /// Objective Φ of an algorithm that climbs, where a step went through all data.
    pub objective: Vec<[f64; 2]>,
    /// Change of Φ since the first of them; a piece for each penalty.
    pub objective_change: Pieces,
    /// Part of the data term in that change.
    pub data_term_change: Pieces,
    /// Part of the penalty in that change, negative where the penalty has grown.
    pub penalty_change: Pieces,
    /// Length of each step of such an algorithm relative to that of the image, %.
    pub update: Vec<[f64; 2]>,
    /// Optimality residual of the images at anchors, %.
    pub optimality: Vec<[f64; 2]>,
    pub step_size: Vec<[f64; 2]>,
    /// Number of times that the step size has been halved.
    pub num_halved: Vec<[f64; 2]>,
    /// Mean of each ROI, for runs without likelihood.
    pub mean: Vec<Series>,
    /// Mean of each ROI with its standard deviation, for runs with replicates.
    pub mean_bands: Vec<MeanBand>,
    /// Loss of each step's backprojection to the race condition, %; a piece for each series of non-atomic steps.
    pub lost: Pieces,
    /// Loss of a backprojection of ones, %.
    pub lost_of_ones: Pieces,
    /// Image level relative to race-free steps, %.
    pub level: Pieces,
    /// Correlation coefficient with the reference image: of the same number, or the only one.
    pub correlation: Vec<[f64; 2]>,
    /// Correlation coefficient with the last image of a shorter reference run.
    pub correlation_with_last: Vec<[f64; 2]>,
    /// Relative difference from the images of `correlation`, %.
    pub difference: Vec<[f64; 2]>,
    /// Relative difference from the images of `correlation_with_last`, %.
    pub difference_with_last: Vec<[f64; 2]>,
    /// Distance from the reference as a converged image ([`Convergence`]), %: root mean square error over the object.
    pub object_rmse: Vec<[f64; 2]>,
    /// The same over the background regions, %.
    pub background_rmse: Vec<[f64; 2]>,
    /// Largest error of the mean of a region, %.
    pub region_error: Vec<[f64; 2]>,
    /// Full width at half maximum of each peak of the profile, mm.
    pub fwhm: Vec<PeakCurve>,
    /// Marks: (iterations, event).
    pub marks: Vec<(f64, Mark)>,
}

impl Curves {
    pub fn of(live: &LiveRun) -> Self {
        let mut curves = Curves::default();
        // The newest branch first: points of the branch before are drawn only if the newest does not repeat them.
        let mut branches = live.rois.newest_first();
        if let Some(newest) = branches.next() {
            let steps = drawn_steps(newest);
            curves.add_branch(live, newest, &steps, false);
            branches.for_each(|earlier| curves.add_branch(live, earlier, &steps, true));
        }
        let at = |steps: f64| live.axis_value(steps);
        let likelihood = live.before_iterations(|step| step.log_likelihood);
        curves.log_likelihood = thinned(&likelihood).map(|[step, value]| [at(*step), *value]).collect();
        let gain = |[from, before]: [f64; 2], [to, after]: [f64; 2]| [at(to), (after - before) / (at(to) - at(from)).round()];
        let gains: Vec<_> = likelihood.windows(2).map(|pair| gain(pair[0], pair[1])).collect();
        curves.likelihood_gain = thinned(&gains).copied().collect();
        let residual = live.before_iterations(|step| step.residual);
        curves.residual = thinned(&residual).map(|[step, value]| [at(*step), *value]).collect();
        curves.add_ascent(live);
        let compared: Vec<&Comparison> = live.found.comparisons.values().collect();
        let (same, last): (Vec<_>, Vec<_>) = compared.into_iter().partition(|found| found.is_fixed || found.is_of_same_number());
        let points = |of: &[&Comparison], value: fn(&Comparison) -> f64| -> Vec<[f64; 2]> {
            thinned(of).map(|found| [at(found.subiteration as f64), value(found)]).collect()
        };
        let difference = |found: &Comparison| 100.0 * found.relative_difference;
        (curves.correlation, curves.correlation_with_last) =
            (points(&same, |found| found.correlation), points(&last, |found| found.correlation));
        (curves.difference, curves.difference_with_last) = (points(&same, difference), points(&last, difference));
        let converging: Vec<(usize, Convergence)> =
            live.found.comparisons.values().filter_map(|found| Some((found.subiteration, found.convergence?))).collect();
        let measure = |value: fn(&Convergence) -> Option<f64>| -> Vec<[f64; 2]> {
            let points = thinned(&converging);
            points.filter_map(|(step, found)| Some([at(*step as f64), 100.0 * value(found)?])).collect()
        };
        curves.object_rmse = measure(|found| Some(found.object_rmse));
        curves.background_rmse = measure(|found| Some(found.background_rmse));
        curves.region_error = measure(|found| found.region_error);
        curves.fwhm = fwhm_curves(&live.found.peaks).into_iter().map(|peak| peak.on_axis(at)).collect();
        curves.marks = live.marks.iter().map(|(step, mark)| (at(*step as f64), mark.clone())).collect();
        let races: Vec<(usize, Option<&RaceReport>)> =
            live.steps.values().map(|step| (step.subiteration, step.race.as_ref())).collect();
        for stretch in races.chunk_by(|before, after| before.1.is_some() == after.1.is_some()).filter(|part| part[0].1.is_some())
        {
            let piece = |part: fn(&RaceReport) -> f64| {
                let point = |(step, race): &(usize, Option<&RaceReport>)| Some([at(*step as f64), 100.0 * part((*race)?)]);
                thinned(stretch).filter_map(point).collect::<Vec<_>>()
            };
            curves.lost.push(piece(|race| race.lost));
            curves.lost_of_ones.push(piece(|race| race.lost_of_ones));
            curves.level.push(piece(|race| race.level));
        }
        curves
    }

    fn add_ascent(&mut self, live: &LiveRun) {
        let at = |step: usize| live.axis_value(step as f64);
        let steps: Vec<(usize, &AscentReport)> =
            live.steps.values().filter_map(|step| Some((step.subiteration, step.ascent.as_ref()?))).collect();
        let points = |value: fn(&AscentReport) -> f64| -> Vec<[f64; 2]> {
            thinned(&steps).map(|(step, ascent)| [at(*step), value(ascent)]).collect()
        };
        self.update = points(|ascent| 100.0 * ascent.update);
        self.step_size = points(|ascent| ascent.step_size);
        self.num_halved = points(|ascent| ascent.num_halved as f64);
        // Φ and the residual belong to the image before their step.
        let residuals: Vec<[f64; 2]> =
            steps.iter().filter_map(|(step, ascent)| Some([at(step.saturating_sub(1)), 100.0 * ascent.optimality?.0])).collect();
        self.optimality = thinned(&residuals).copied().collect();
        let before =
            |(step, ascent): &(usize, &AscentReport)| Some((at(step.saturating_sub(1)), ascent.tuning, ascent.objective?));
        let values: Vec<(f64, AscentTuning, ObjectiveValue)> = steps.iter().filter_map(before).collect();
        self.objective = thinned(&values).map(|(at, _, value)| [*at, value.total()]).collect();
        // Those of different penalties do not compare.
        for piece in values.chunk_by(|(_, before, _), (_, after, _)| before.has_same_penalty(*after)) {
            let (_, _, first) = piece[0];
            let change = |of: fn(ObjectiveValue) -> f64| -> Vec<[f64; 2]> {
                thinned(piece).map(|(at, _, value)| [*at, of(*value) - of(first)]).collect()
            };
            self.objective_change.push(change(ObjectiveValue::total));
            self.data_term_change.push(change(|value| value.log_likelihood));
            self.penalty_change.push(change(|value| -value.penalty));
        }
    }

    fn add_branch(&mut self, live: &LiveRun, branch: &Branch, steps: &BTreeSet<usize>, is_earlier: bool) {
        let series =
            |roi: &Roi| Series { name: roi.name.clone(), colour: theme::roi_colour(roi), is_earlier, points: Vec::new() };
        let mut nsr: Vec<Series> = branch.rois.iter().map(series).collect();
        let mut recovery = nsr.clone();
        let mut contrast_to_noise = nsr.clone();
        let mut mean_value = nsr.clone();
        let band = |roi: &Roi| MeanBand { name: roi.name.clone(), colour: theme::roi_colour(roi), points: Vec::new() };
        let mut mean_bands: Vec<MeanBand> = branch.rois.iter().map(band).collect();
        let trajectory = |roi: &Roi| Trajectory { name: roi.name.clone(), colour: theme::roi_colour(roi), points: Vec::new() };
        let mut against_noise: Vec<Trajectory> = branch.rois.iter().map(trajectory).collect();
        for point in steps.iter().filter_map(|step| branch.points.get(step)) {
            let at = live.axis_value(point.subiteration as f64);
            let is_whole = at >= 1.0 && (at - at.round()).abs() < 1e-9;
            let numbers = roi_numbers(&branch.rois, &point.sums, 1.0);
            let ratios = background_nsr(&branch.rois, &numbers).unwrap_or_default();
            let noise = mean(&ratios);
            if let Some(noise) = noise.filter(|_| ratios.len() > 1 && !is_earlier) {
                self.mean_nsr.push([at, 100.0 * noise]);
            }
            for (index, n) in numbers.iter().enumerate() {
                let Some(n) = n else { continue };
                let role = branch.rois[index].role;
                if let Some(value) = n.mean.filter(|_| !live.iteration_scheme().has_likelihood) {
                    mean_value[index].points.push([at, value]);
                }
                if let Some((mean, deviation)) = n.mean.zip(point.deviation(index)) {
                    mean_bands[index].points.push([at, mean, deviation]);
                }
                if let Some(value) = n.nsr.filter(|_| role == RoiRole::Background) {
                    nsr[index].points.push([at, 100.0 * value]);
                }
                if let Some(value) = n.recovery {
                    recovery[index].points.push([at, 100.0 * value]);
                    let noise = noise.filter(|_| is_whole);
                    against_noise[index].points.extend(noise.map(|noise| (at, [100.0 * noise, 100.0 * value])));
                }
                if let Some(value) = n.contrast_to_noise {
                    contrast_to_noise[index].points.push([at, value]);
                }
            }
        }
        if !is_earlier {
            self.mean_bands.extend(mean_bands.into_iter().filter(|band| !band.points.is_empty()));
            self.against_noise.extend(against_noise.into_iter().filter(|trajectory| !trajectory.points.is_empty()));
        }
        add_new(&mut self.nsr, nsr);
        add_new(&mut self.recovery, recovery);
        add_new(&mut self.contrast_to_noise, contrast_to_noise);
        add_new(&mut self.mean, mean_value);
    }
}

impl PeakCurve {
    /// Replaces steps by values of the horizontal axis.
    fn on_axis(self, at: impl Fn(f64) -> f64) -> Self {
        Self { points: thinned(&self.points).map(|[steps, mm]| [at(*steps), *mm]).collect(), ..self }
    }
}

/// Returns a curve over the steps for each peak of the last image with peaks. In the other images, the same peak is the one with
/// the nearest middle, if this lies within the peak at half of its height.
fn fwhm_curves(peaks: &PeaksFound) -> Vec<PeakCurve> {
    let found = |widths: &Vec<Result<PeakWidth, NoPeakWidth>>| widths.iter().flatten().copied().collect::<Vec<_>>();
    let Some(last) = peaks.widths.values().rfind(|widths| !found(widths).is_empty()) else { return Vec::new() };
    let curve = |(number, peak): (usize, &PeakWidth)| {
        let distance = |other: &PeakWidth| (other.centre_mm - peak.centre_mm).abs();
        let nearest = |widths| found(widths).into_iter().min_by(|a, b| distance(a).total_cmp(&distance(b)));
        let same = |widths| nearest(widths).filter(|other| distance(other) <= 0.5 * peak.fwhm_mm);
        let points = peaks.widths.iter().filter_map(|(steps, widths)| Some([*steps as f64, same(widths)?.fwhm_mm]));
        let name = if last.len() > 1 { format!("FWHM {number}") } else { "FWHM".to_owned() };
        PeakCurve { name, points: points.collect() }
    };
    let numbered = (1..).zip(last).filter_map(|(number, width)| Some((number, width.as_ref().ok()?)));
    numbered.map(curve).collect()
}

/// Returns the steps at which the curves of all branches are drawn. Steps at which every ROI was measured and steps at which some
/// were not are thinned separately, so that no ROI loses its few steps.
fn drawn_steps(newest: &Branch) -> BTreeSet<usize> {
    let (whole, partly): (Vec<&RoiPoint>, Vec<&RoiPoint>) = newest.points.values().partition(|point| point.is_complete);
    let num_drawn = num_drawn(newest.rois.len());
    thinned_to(&whole, num_drawn).chain(thinned_to(&partly, num_drawn)).map(|point| point.subiteration).collect()
}

/// Adds the points that no curve has yet, and leaves out curves without such points.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{RoiMask, RoiShape, RoiSums};
    use crate::session::StepFigures;
    use crate::ui::run::roi_branches::RoiBranches;
    use crate::ui::run::thinning::MAX_DRAWN;

    #[test]
    fn a_race_that_was_switched_off_between_has_two_pieces() {
        let mut live = LiveRun::default();
        let race = |lost| RaceReport { lost, lost_of_ones: 0.5, level: 1.0 - lost, lost_step_max: lost, lost_voxel_max: lost };
        let step = |(subiteration, lost): (usize, Option<f64>)| {
            (subiteration, StepFigures { subiteration, race: lost.map(race), ..StepFigures::default() })
        };
        live.steps = [(1, Some(0.25)), (2, Some(0.5)), (4, None), (5, Some(0.125))].map(step).into();
        let curves = Curves::of(&live);
        assert_eq!(curves.lost, [vec![[1.0, 25.0], [2.0, 50.0]], vec![[5.0, 12.5]]]);
        assert_eq!(curves.level[1], [[5.0, 87.5]]);
        assert_eq!(curves.lost_of_ones[0].len(), 2);
    }

    #[test]
    fn a_peak_is_followed_through_the_iterates_by_its_place() {
        let peak = |centre_mm, fwhm_mm| Ok(PeakWidth { fwhm_mm, sd_mm: 0.1, centre_mm, height: 1.0, fwtm_mm: None });
        let mut live = LiveRun::default();
        live.found.peaks.widths = [
            (1, vec![peak(11.0, 9.0)]),
            (2, vec![Err(NoPeakWidth::Flat), peak(31.0, 7.0)]),
            (3, vec![peak(10.0, 6.0), peak(20.0, 5.0), peak(30.0, 5.0)]),
            (4, vec![Err(NoPeakWidth::NoPeak)]),
        ]
        .into();
        let found: Vec<_> = Curves::of(&live).fwhm.into_iter().map(|peak| (peak.name, peak.points)).collect();
        let expected =
            [("FWHM 1", vec![[1.0, 9.0], [3.0, 6.0]]), ("FWHM 2", vec![[3.0, 5.0]]), ("FWHM 3", vec![[2.0, 7.0], [3.0, 5.0]])];
        assert_eq!(found, expected.map(|(name, points)| (name.to_owned(), points)));
    }

    fn roi(name: &str, role: RoiRole) -> Roi {
        let shape = RoiShape::Sphere { radius_mm: 1.0 };
        Roi { role, ..Roi::new(name, shape, [0.0; 3]) }
    }

    /// Sums over two voxels whose noise-to-signal ratio is √2 × `spread`.
    fn sums(spread: f32) -> Option<RoiSums> {
        Some(RoiMask { voxels: [(0, 1.0), (1, 1.0)].into() }.sums(&[1.0 - spread, 1.0 + spread]))
    }

    fn run(rois: &[Roi], points: impl IntoIterator<Item = (usize, Vec<Option<RoiSums>>)>) -> LiveRun {
        let mut live = LiveRun::requested(1, 1, rois, false);
        live.rois = RoiBranches::of_points(rois, points);
        live
    }

    fn rounded(points: &[[f64; 2]]) -> Vec<(f64, i64)> {
        points.iter().map(|[at, value]| (*at, value.round() as i64)).collect()
    }

    #[test]
    fn the_mean_stands_where_all_background_regions_were_measured() {
        // B is measured at every second step only, as a region drawn late on the iterates that were kept.
        let rois = [roi("A", RoiRole::Background), roi("B", RoiRole::Background), roi("C", RoiRole::Hot)];
        let points = (1..=6).map(|step| {
            let late = if step % 2 == 0 { sums(0.1 * step as f32 / 2f32.sqrt()) } else { None };
            (step, vec![sums(0.1 / 2f32.sqrt()), late, sums(0.5)])
        });
        let mut live = run(&rois, points);
        let curves = Curves::of(&live);
        assert_eq!(rounded(&curves.nsr[0].points), (1..=6).map(|step| (f64::from(step), 10)).collect::<Vec<_>>());
        assert_eq!(rounded(&curves.nsr[1].points), [(2.0, 20), (4.0, 40), (6.0, 60)]);
        assert_eq!(rounded(&curves.mean_nsr), [(2.0, 15), (4.0, 25), (6.0, 35)]);
        // A third one, by a change of its role alone; then one that lies outside the image and takes no part.
        let mut rois = rois.to_vec();
        rois[2].role = RoiRole::Background;
        live.rois.rename(1, &rois);
        assert_eq!(rounded(&Curves::of(&live).mean_nsr)[0], (2.0, 34));
        rois.push(roi("outside", RoiRole::Background));
        live.rois.rename(1, &rois);
        let outside = || Some(RoiMask::default().sums(&[]));
        let points = live.rois.newest().unwrap().points.clone().into_iter();
        live.rois = RoiBranches::of_points(&rois, points.map(|(step, point)| (step, [point.sums, vec![outside()]].concat())));
        assert_eq!(rounded(&Curves::of(&live).mean_nsr)[0], (2.0, 34));
    }

    #[test]
    fn a_region_that_was_not_measured_at_all_leaves_no_mean() {
        let rois = [roi("A", RoiRole::Background), roi("B", RoiRole::Background)];
        let live = run(&rois, (1..=3).map(|step| (step, vec![sums(0.1), None])));
        assert_eq!(Curves::of(&live).mean_nsr, Vec::<[f64; 2]>::new());
        let live = run(&rois[..1], (1..=3).map(|step| (step, vec![sums(0.1)])));
        assert_eq!(Curves::of(&live).mean_nsr, Vec::<[f64; 2]>::new(), "of one there is no mean");
    }

    #[test]
    fn thinning_keeps_the_steps_of_a_region_that_has_few() {
        // 1400 steps are thinned to every second one; B was measured after every 14th, of which that would leave none.
        let rois = [roi("A", RoiRole::Background), roi("B", RoiRole::Background)];
        let live = run(&rois, (1..=1400).map(|step| (step, vec![sums(0.1), if step % 14 == 0 { sums(0.3) } else { None }])));
        let curves = Curves::of(&live);
        assert_eq!((curves.nsr[1].points.len(), curves.mean_nsr.len()), (100, 100));
        assert!(curves.nsr[0].points.len() <= 2 * MAX_DRAWN);
        let places = |series: &[[f64; 2]]| series.iter().map(|p| p[0] as usize).collect::<BTreeSet<_>>();
        assert!(places(&curves.mean_nsr).is_subset(&places(&curves.nsr[0].points)));
    }

    #[test]
    fn a_branch_repeats_nothing_of_the_one_after_it() {
        let rois = [roi("A", RoiRole::Background), Roi { centre_mm: [9.0; 3], ..roi("B", RoiRole::Background) }];
        let mut live = run(&rois, (1..=4).map(|step| (step, vec![sums(0.1), sums(0.2)])));
        live.begin_branch(2, &[rois[0].clone(), Roi { centre_mm: [5.0; 3], ..rois[1].clone() }]);
        let curves = Curves::of(&live);
        let names: Vec<_> = curves.nsr.iter().map(|series| (series.name.as_str(), series.is_earlier)).collect();
        assert_eq!(names, [("A", false), ("B", true)]);
        assert!(curves.mean_nsr.is_empty(), "the moved region was not measured yet");
    }
}
