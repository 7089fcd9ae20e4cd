//! Numbers of a run, and the rows of the measurement table, which window and command line write.
//!
//! Rows are in the order in which their numbers arrive, so that the table can grow during the run:
//! 1. the width of the filter of the measured images, which is 0: they are those of the reconstruction;
//! 2. for each step `log_likelihood_of_subset`; for a step that completes an iteration also `log_likelihood` (sum of the terms of
//!    the iteration), `residual` (Σ (y − ȳ)² / Σ ȳ over the same terms), `explained`, `explained_net`, `explained_expected` and
//!    `explained_error` ([`Explained`], also after the last step); of an algorithm that climbs `objective`, `data_term` and `penalty` where a step went through all data, `update`, `step_size` and
//!    `num_halved` ([`AscentReport`]);
//! 3. the losses of a race condition, the numbers of each ROI, and with replicates `mean_sd`, the standard deviation of its mean
//!    between them;
//! 4. the similarity to a reference (`correlation`, `relative_difference`, with a background region `object_rmse`,
//!    `background_rmse` and `region_error` ([`crate::measure::Convergence`]), and for a reference run `reference_iteration` or
//!    `reference_projections`).
//!
//! Each row has the number of its image. Terms of the likelihood and of the objective belong to the image *before* a step, their sum to the image
//! before the iteration, and all other numbers to the image after the step.

use super::{Comparison, IterateReport, RunId};
use crate::data::{Roi, RoiRole, RoiSums, ValueScale, Volume};
use crate::io::measurements::Measurement;
use crate::measure::{self, RoiStats, cold_recovery, hot_recovery, noise_to_signal, pooled};
use crate::plan::StartInfo;
use crate::recon::{AscentReport, Explained, Optimality, RaceReport};
use crate::statistics;

/// Numbers of one ROI on one image.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RoiNumbers {
    /// Mean in the image's unit; `None` if the ROI covers nothing.
    pub mean: Option<f64>,
    /// Standard deviation between voxels.
    pub sd: Option<f64>,
    pub min: f32,
    pub max: f32,
    /// Number of voxels touched.
    pub num_voxels: usize,
    /// Volume covered, mL.
    pub volume_ml: f64,
    /// Noise-to-signal ratio SD / mean, also called coefficient of variation (CV).
    pub nsr: Option<f64>,
    /// Contrast recovery against the background ROIs.
    pub recovery: Option<f64>,
    /// Contrast-to-noise ratio against the background ROIs, of hot and cold ROIs.
    pub contrast_to_noise: Option<f64>,
}

impl RoiNumbers {
    /// Returns the defined numbers with their names and units; image values are on this scale.
    fn quantities(&self, scale: ValueScale) -> impl Iterator<Item = (&'static str, f64, &'static str)> {
        let unit = scale.label();
        let scaled = |value: Option<f64>| value.map(|value| scale.value(value));
        let all = [
            ("mean", scaled(self.mean), unit),
            ("sd", scaled(self.sd), unit),
            ("min", scaled(self.mean.map(|_| f64::from(self.min))), unit),
            ("max", scaled(self.mean.map(|_| f64::from(self.max))), unit),
            ("num_voxels", Some(self.num_voxels as f64), ""),
            ("volume", Some(self.volume_ml), "mL"),
            ("nsr", self.nsr, ""),
            ("contrast_recovery", self.recovery, ""),
            ("contrast_to_noise", self.contrast_to_noise, ""),
        ];
        all.into_iter().filter_map(|(quantity, value, unit)| Some((quantity, value?, unit)))
    }
}

/// Returns the numbers of all ROIs of a set from their sums; `None` for a ROI that was not measured.
pub fn roi_numbers(rois: &[Roi], sums: &[Option<RoiSums>], voxel_ml: f64) -> Vec<Option<RoiNumbers>> {
    let background = background(rois, sums).and_then(|all| RoiStats::of(&all, voxel_ml));
    rois.iter().zip(sums).map(|(roi, sums)| Some(one(roi, sums.as_ref()?, background.as_ref(), voxel_ml))).collect()
}

/// Returns the pooled background ROIs; `None` if there is none, or one was not measured.
fn background(rois: &[Roi], sums: &[Option<RoiSums>]) -> Option<RoiSums> {
    let of_role = rois.iter().zip(sums).filter(|(roi, _)| roi.role == RoiRole::Background);
    let regions: Option<Vec<RoiSums>> = of_role.map(|(_, sums)| *sums).collect();
    regions.filter(|regions| !regions.is_empty()).map(|regions| pooled(&regions))
}

/// Returns the noise-to-signal ratios of the background ROIs on one iterate, without those that cover nothing of the image. `None`
/// if one of the others has no value: the mean of the rest would be that of another background.
pub fn background_nsr(rois: &[Roi], numbers: &[Option<RoiNumbers>]) -> Option<Vec<f64>> {
    let of_role = rois.iter().zip(numbers).filter(|(roi, _)| roi.role == RoiRole::Background).map(|(_, numbers)| numbers);
    let covering = of_role.filter(|numbers| numbers.is_none_or(|n| n.num_voxels > 0));
    covering.map(|numbers| numbers.as_ref()?.nsr).collect()
}

/// Returns the mean of the background ROIs' noise-to-signal ratios; `None` if there is none or it is unknown.
pub(super) fn background_noise(rois: &[Roi], numbers: &[Option<RoiNumbers>]) -> Option<f64> {
    statistics::mean(&background_nsr(rois, numbers)?)
}

fn one(roi: &Roi, sums: &RoiSums, background: Option<&RoiStats>, voxel_ml: f64) -> RoiNumbers {
    let stats = RoiStats::of(sums, voxel_ml);
    let both = stats.zip(background);
    let recovery = both.and_then(|(stats, background)| match (roi.role, roi.activity_ratio) {
        (RoiRole::Hot, Some(ratio)) => hot_recovery(stats.mean, background.mean, ratio),
        (RoiRole::Cold, _) => cold_recovery(stats.mean, background.mean),
        _ => None,
    });
    let has_contrast = matches!(roi.role, RoiRole::Hot | RoiRole::Cold);
    let contrast_to_noise =
        both.filter(|_| has_contrast).and_then(|(stats, background)| measure::contrast_to_noise(&stats, background));
    RoiNumbers {
        mean: stats.map(|stats| stats.mean),
        sd: stats.and_then(|stats| stats.sd),
        min: sums.min,
        max: sums.max,
        num_voxels: sums.num_voxels,
        volume_ml: sums.weight * voxel_ml,
        nsr: noise_to_signal(sums),
        recovery,
        contrast_to_noise,
    }
}

/// Numbers of a step for the whole image.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct StepFigures {
    /// Number of completed full iterations.
    pub iteration: usize,
    /// Total number of steps; for a sweep number of projections in the image.
    pub subiteration: usize,
    /// Log-likelihood of the subset's data at the image before the step.
    pub log_likelihood_of_subset: Option<f64>,
    /// Sum of the terms of a completed iteration.
    pub log_likelihood: Option<f64>,
    /// Residual of the same step, Σ (y − ȳ)² / Σ ȳ.
    pub residual: Option<f64>,
    /// Part of the data that the image of the same step explains.
    pub explained: Option<Explained>,
    /// Losses of the race condition, if the step had one.
    pub race: Option<RaceReport>,
    /// Report of an algorithm that climbs to a maximum.
    pub ascent: Option<AscentReport>,
}

impl From<&IterateReport> for StepFigures {
    fn from(report: &IterateReport) -> Self {
        let IterateReport {
            iteration,
            subiteration,
            log_likelihood_of_subset,
            log_likelihood,
            residual,
            explained,
            race,
            ascent,
            ..
        } = *report;
        Self { iteration, subiteration, log_likelihood_of_subset, log_likelihood, residual, explained, race, ascent }
    }
}

/// Converter from the numbers of a run to rows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RunTable {
    run: RunId,
    /// Number of steps of a full iteration; `None` for a sweep, whose steps are counted in projections.
    num_subsets: Option<usize>,
    scale: ValueScale,
    voxel_ml: f64,
}

impl RunTable {
    pub fn of(run: RunId, info: &StartInfo) -> Self {
        let num_subsets = info.job.iteration_scheme().by_iteration.then_some(info.num_subsets.max(1));
        Self { run, num_subsets, scale: ValueScale::own(info.job.iteration_scheme().unit), voxel_ml: info.job.grid().voxel_ml() }
    }

    /// Returns the table of an image of a run; `num_subsets` is `None` for a sweep, or if unknown.
    pub fn of_image(volume: &Volume, num_subsets: Option<usize>) -> Self {
        Self { run: 1, num_subsets, scale: ValueScale::own(volume.unit), voxel_ml: volume.grid.voxel_ml() }
    }

    /// Returns the same table in another unit, if one is given.
    pub fn converted(self, scale: Option<ValueScale>) -> Self {
        Self { scale: scale.unwrap_or(self.scale), ..self }
    }

    /// Returns the row of the filter width of an image.
    pub fn filter_row(&self, fwhm_mm: f64) -> Measurement {
        self.row([0, 0], "", ("post_filter_fwhm", fwhm_mm, "mm"))
    }

    /// Returns the rows before those of the first step.
    pub fn first_rows(&self) -> Vec<Measurement> {
        vec![self.filter_row(0.0)]
    }

    pub fn step_rows(&self, step: &StepFigures) -> Vec<Measurement> {
        let before = |steps: usize| self.number(0, step.subiteration.saturating_sub(steps));
        let mut rows = Vec::new();
        if let Some(value) = step.log_likelihood_of_subset {
            rows.push(self.row(before(1), "", ("log_likelihood_of_subset", value, "")));
        }
        for (quantity, value) in [("log_likelihood", step.log_likelihood), ("residual", step.residual)] {
            rows.extend(value.map(|value| self.row(before(self.num_subsets.unwrap_or(1)), "", (quantity, value, ""))));
        }
        if let Some(explained) = step.explained {
            rows.extend(self.explained_rows([step.iteration, step.subiteration], explained));
        }
        if let Some(ascent) = step.ascent {
            rows.extend(self.ascent_rows(before(1), self.number(step.iteration, step.subiteration), &ascent));
        }
        if let Some(RaceReport { lost, lost_of_ones, level, lost_step_max, lost_voxel_max }) = step.race {
            let at = self.number(step.iteration, step.subiteration);
            let quantities = [
                ("lost", lost, ""),
                ("lost_of_ones", lost_of_ones, ""),
                ("level", level, ""),
                ("lost_step_max", lost_step_max, ""),
                ("lost_voxel_max", lost_voxel_max, ""),
            ];
            rows.extend(quantities.map(|quantity| self.row(at, "", quantity)));
        }
        rows
    }

    /// Returns the rows of a step that climbs from the image of one number to that of another.
    fn ascent_rows(&self, from: [usize; 2], to: [usize; 2], ascent: &AscentReport) -> Vec<Measurement> {
        let AscentReport { objective, optimality, step_size, num_halved, update, .. } = *ascent;
        let residual = optimality.map(|Optimality(residual)| ("optimality", residual, ""));
        let terms = objective.map(|value| {
            [("objective", value.total(), ""), ("data_term", value.log_likelihood, ""), ("penalty", value.penalty, "")]
        });
        let figures = [("update", update, ""), ("step_size", step_size, ""), ("num_halved", num_halved as f64, "")];
        let rows = terms.into_iter().flatten().chain(residual).map(|quantity| self.row(from, "", quantity));
        rows.chain(figures.map(|quantity| self.row(to, "", quantity))).collect()
    }

    /// Returns the rows of the part of the data that the image after these numbers of iterations and steps explains.
    pub fn explained_rows(&self, [iteration, subiteration]: [usize; 2], explained: Explained) -> Vec<Measurement> {
        let at = self.number(iteration, subiteration);
        let figures = [
            ("explained", Some(explained.ratio())),
            ("explained_net", explained.net_ratio()),
            ("explained_expected", explained.expectation()),
            ("explained_error", explained.standard_error()),
        ];
        figures.into_iter().filter_map(|(name, value)| Some(self.row(at, "", (name, value?, "")))).collect()
    }

    /// Returns the row of the distance of an image from the maximum of its objective.
    pub fn optimality_row(&self, subiteration: usize, Optimality(residual): Optimality) -> Measurement {
        self.row(self.number(0, subiteration), "", ("optimality", residual, ""))
    }

    /// Returns the rows of ROIs measured on the image of this number; undefined quantities have none.
    pub fn roi_rows(&self, iteration: usize, subiteration: usize, rois: &[Roi], sums: &[Option<RoiSums>]) -> Vec<Measurement> {
        let at = self.number(iteration, subiteration);
        let numbers = roi_numbers(rois, sums, self.voxel_ml);
        let measured = rois.iter().zip(&numbers).filter_map(|(roi, numbers)| Some((roi, numbers.as_ref()?)));
        measured
            .flat_map(|(roi, numbers)| numbers.quantities(self.scale).map(move |quantity| self.row(at, &roi.name, quantity)))
            .collect()
    }

    /// Returns the rows of the standard deviations of the means of ROIs between replicates.
    pub fn deviation_rows(
        &self,
        iteration: usize,
        subiteration: usize,
        rois: &[Roi],
        deviations: &[Option<f64>],
    ) -> Vec<Measurement> {
        let at = self.number(iteration, subiteration);
        let known = rois.iter().zip(deviations).filter_map(|(roi, deviation)| Some((roi, (*deviation)?)));
        known.map(|(roi, sd)| self.row(at, &roi.name, ("mean_sd", self.scale.value(sd), self.scale.label()))).collect()
    }

    /// Returns the rows of the medians of ROIs, which the solver does not measure.
    pub fn median_rows(&self, iteration: usize, subiteration: usize, rois: &[Roi], medians: &[Option<f64>]) -> Vec<Measurement> {
        let at = self.number(iteration, subiteration);
        let known = rois.iter().zip(medians).filter_map(|(roi, median)| Some((roi, (*median)?)));
        known.map(|(roi, median)| self.row(at, &roi.name, ("median", self.scale.value(median), self.scale.label()))).collect()
    }

    pub fn comparison_rows(&self, comparison: &Comparison) -> Vec<Measurement> {
        let at = self.number(comparison.iteration, comparison.subiteration);
        let name = if self.num_subsets.is_some() { "reference_iteration" } else { "reference_projections" };
        let of = comparison.reference.map(|[iteration, steps]| if self.num_subsets.is_some() { iteration } else { steps } as f64);
        let Comparison { correlation, relative_difference, convergence, .. } = *comparison;
        let quantities = [
            ("correlation", Some(correlation)),
            ("relative_difference", Some(relative_difference)),
            ("object_rmse", convergence.map(|found| found.object_rmse)),
            ("background_rmse", convergence.map(|found| found.background_rmse)),
            ("region_error", convergence.and_then(|found| found.region_error)),
            (name, of),
        ];
        quantities.into_iter().filter_map(|(quantity, value)| Some(self.row(at, "", (quantity, value?, "")))).collect()
    }

    /// Returns all rows of a step with these ROIs.
    pub fn rows(&self, report: &IterateReport, rois: &[Roi]) -> Vec<Measurement> {
        let sums: Vec<Option<RoiSums>> = report.roi_sums.iter().copied().map(Some).collect();
        let mut rows = self.step_rows(&report.into());
        rows.extend(self.roi_rows(report.iteration, report.subiteration, rois, &sums));
        rows.extend(self.deviation_rows(report.iteration, report.subiteration, rois, &report.roi_deviations));
        rows
    }

    /// Returns the number of completed iterations, and of steps (for a sweep projections) of the current one.
    fn number(&self, iteration: usize, subiteration: usize) -> [usize; 2] {
        match self.num_subsets {
            Some(num_subsets) => [subiteration / num_subsets, subiteration % num_subsets],
            None if iteration > 0 => [iteration, 0],
            None => [0, subiteration],
        }
    }

    fn row(&self, [iteration, subset]: [usize; 2], roi: &str, (quantity, value, unit): (&str, f64, &str)) -> Measurement {
        let (roi, quantity, unit) = (roi.to_owned(), quantity.to_owned(), unit.to_owned());
        Measurement { run: self.run, iteration, subset, roi, quantity, value, unit }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{RoiMask, RoiShape, Unit};
    use crate::measure::Convergence;
    use crate::recon::{AscentTuning, ObjectiveValue};

    fn table(num_subsets: Option<usize>) -> RunTable {
        RunTable { run: 3, num_subsets, scale: ValueScale::own(Unit::CountsPerMm), voxel_ml: 0.5 }
    }

    fn roi(name: &str, role: RoiRole, activity_ratio: Option<f64>) -> Roi {
        let shape = RoiShape::Sphere { radius_mm: 1.0 };
        Roi { role, activity_ratio, ..Roi::new(name, shape, [0.0; 3]) }
    }

    fn sums(values: &[f32]) -> Option<RoiSums> {
        Some(RoiMask { voxels: (0..values.len() as u32).map(|i| (i, 1.0)).collect() }.sums(values))
    }

    #[test]
    fn contrast_is_taken_against_all_background_regions_together() {
        let rois = [
            roi("hot", RoiRole::Hot, Some(4.0)),
            roi("cold", RoiRole::Cold, None),
            roi("a", RoiRole::Background, None),
            roi("b", RoiRole::Background, None),
            roi("outside", RoiRole::None, None),
            roi("not measured", RoiRole::None, None),
        ];
        let sums = [sums(&[5.0, 5.0]), sums(&[1.0]), sums(&[1.0, 3.0]), sums(&[2.0, 2.0]), sums(&[]), None];
        let rows = table(Some(4)).roi_rows(2, 9, &rois, &sums);
        let value = |roi: &str, quantity: &str| {
            rows.iter().find(|row| row.roi == roi && row.quantity == quantity).map(|row| (row.value, row.unit.as_str()))
        };
        // Background mean 2: hot (5/2 − 1)/(4 − 1), cold 1 − 1/2, noise of a √2/2.
        assert_eq!(value("hot", "contrast_recovery"), Some((0.5, "")));
        assert_eq!(value("cold", "contrast_recovery"), Some((0.5, "")));
        // Variance of the background 2/3 about its mean 2, of the hot region 0; one voxel has none: (5 − 2)/√(1/3).
        assert!((value("hot", "contrast_to_noise").unwrap().0 - 27f64.sqrt()).abs() < 1e-12);
        assert_eq!((value("cold", "contrast_to_noise"), value("a", "contrast_to_noise")), (None, None));
        assert_eq!(value("a", "nsr"), Some((2f64.sqrt() / 2.0, "")));
        assert_eq!(value("a", "max"), Some((3.0, "counts/mm")));
        assert_eq!((value("a", "num_voxels"), value("a", "volume")), (Some((2.0, "")), Some((1.0, "mL"))));
        assert_eq!((value("cold", "sd"), value("a", "contrast_recovery"), value("outside", "mean")), (None, None, None));
        assert!(rows.iter().all(|row| (row.run, row.iteration, row.subset) == (3, 2, 1) && row.roi != "not measured"));
    }

    #[test]
    fn every_row_has_the_number_of_its_image() {
        let race = Some(RaceReport { lost: 0.25, lost_of_ones: 0.5, level: 0.75, lost_step_max: 0.25, lost_voxel_max: 0.875 });
        let (log_likelihood_of_subset, log_likelihood) = (Some(-2.0), Some(-9.0));
        let residual = Some(1.5);
        let explained = Some(Explained::Counts { image: 30.0, additive: 60.0, measured: 100.0 });
        let value = ObjectiveValue { log_likelihood: -7.0, penalty: 2.0 };
        let tuning = AscentTuning { strength: 1.0, gamma: 2.0, step_factor: 1.0 };
        let ascent = Some(AscentReport {
            objective: Some(value),
            optimality: Some(Optimality(0.25)),
            step_size: 1.5,
            num_halved: 1,
            update: 0.125,
            tuning,
        });
        let [iteration, subiteration] = [2, 8];
        let step =
            StepFigures { iteration, subiteration, log_likelihood_of_subset, log_likelihood, residual, explained, race, ascent };
        let numbers = |rows: Vec<Measurement>| -> Vec<_> {
            rows.into_iter().map(|row| (row.quantity, row.iteration, row.subset, row.value)).collect()
        };
        let expected = [
            ("log_likelihood_of_subset", 1, 3, -2.0),
            ("log_likelihood", 1, 0, -9.0),
            ("residual", 1, 0, 1.5),
            ("explained", 2, 0, 0.9),
            ("explained_net", 2, 0, 0.75),
            ("objective", 1, 3, -9.0),
            ("data_term", 1, 3, -7.0),
            ("penalty", 1, 3, 2.0),
            ("optimality", 1, 3, 0.25),
            ("update", 2, 0, 0.125),
            ("step_size", 2, 0, 1.5),
            ("num_halved", 2, 0, 1.0),
            ("lost", 2, 0, 0.25),
            ("lost_of_ones", 2, 0, 0.5),
            ("level", 2, 0, 0.75),
            ("lost_step_max", 2, 0, 0.25),
            ("lost_voxel_max", 2, 0, 0.875),
        ];
        assert_eq!(numbers(table(Some(4)).step_rows(&step)), expected.map(|(name, i, s, v)| (name.to_owned(), i, s, v)));
        let comparison = |reference| {
            let [correlation, relative_difference] = [0.5, 0.25];
            let convergence = Some(Convergence { object_rmse: 0.25, background_rmse: 0.125, region_error: None });
            Comparison {
                iteration: 2,
                subiteration: 8,
                reference,
                is_fixed: false,
                correlation,
                relative_difference,
                convergence,
            }
        };
        let of_run = table(Some(4)).comparison_rows(&comparison(Some([1, 14])));
        let expected = [
            ("correlation", 0.5),
            ("relative_difference", 0.25),
            ("object_rmse", 0.25),
            ("background_rmse", 0.125),
            ("reference_iteration", 1.0),
        ];
        assert_eq!(numbers(of_run), expected.map(|(name, value)| (name.to_owned(), 2, 0, value)));
        assert_eq!(numbers(table(Some(4)).comparison_rows(&comparison(None))).len(), 4);
        // For a sweep the second number counts projections, also those that arrived after the start of the run.
        let rois = [roi("a", RoiRole::None, None)];
        let numbers = |iteration, done| {
            let rows = table(None).roi_rows(iteration, done, &rois, &[sums(&[1.0])]);
            (rows[0].iteration, rows[0].subset)
        };
        assert_eq!((numbers(0, 961), numbers(1, 961)), ((0, 961), (1, 0)));
    }
}
