//! Maximum-likelihood expectation maximisation and its ordered-subsets form:
//!
//! ```text
//! x ← x / s_S · Aᵀ_S (m ⊙ y / ȳ),   ȳ = m ⊙ (A_S x) + a,   s_S = Aᵀ_S m
//! ```
//!
//! Shepp & Vardi 1982, IEEE Trans Med Imaging 1:113; Hudson & Larkin 1994, IEEE Trans Med Imaging 13:601; in the form of Belzunce
//! et al. 2012, eqs. 1–5. MLEM is OSEM with one subset. A voxel that no line of the subset crosses keeps its value; it is 0 where
//! none of any subset does.

use std::sync::Arc;

use super::bootstrap::{Replicates, Scratch};
use super::image_readout::ImageReadout;
use super::model::Step;
use super::problem::MEASURED;
use super::start::{UniformStart, check_start_image};
use super::watched::Watched;
use super::{
    Algorithm, CountTotals, DataProblem, EmKernels, EmReport, Explained, ForwardModel, PoissonTerms, ReconError, SettingsProblem,
    Stage, StageTimes, StepReport,
};
use crate::algebra::{BackendError, Data, Image, ImageSpace, PendingVolume};
use crate::data::{Counts, RoiMask, RoiSums, Volume};
use crate::named::named;
use crate::operator::{Accumulation, OperatorError};
use crate::task::Task;

named! {
    "an order of subsets";
    /// Order in which the subsets of an iteration are used.
    #[derive(Default)]
    pub enum SubsetOrder {
        /// Each next subset as far as possible in angle from those just used.
        #[default]
        Spaced,
        /// 0, 1, 2, …
        Sequential,
    }
}

impl SubsetOrder {
    /// Returns the order of `count` subsets. Spaced: each next one has the largest smallest circular distance to the ones
    /// already used (later ones weigh more on ties).
    pub fn order(self, count: usize) -> Vec<usize> {
        match self {
            SubsetOrder::Sequential => (0..count).collect(),
            SubsetOrder::Spaced => {
                let distance = |a: usize, b: usize| a.abs_diff(b).min(count - a.abs_diff(b));
                let mut order: Vec<usize> = Vec::with_capacity(count);
                let mut left: Vec<usize> = (0..count).collect();
                while !left.is_empty() {
                    let score = |s: usize| {
                        let nearest = order.iter().map(|&used| distance(s, used)).min().unwrap_or(0);
                        let last = order.last().map_or(0, |&used| distance(s, used));
                        (nearest, last, count - s)
                    };
                    let best = (0..left.len()).max_by_key(|&k| score(left[k])).unwrap_or(0);
                    order.push(left.remove(best));
                }
                order
            }
        }
    }
}

/// Settings of [`MlemOsem`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EmSettings {
    /// Order of the subsets.
    pub subset_order: SubsetOrder,
    /// Accumulation of the backprojection.
    pub accumulation: Accumulation,
    /// Accumulation of the sensitivity: free of race conditions.
    pub sensitivity_accumulation: Accumulation,
    /// True if steps with a race condition divide by a sensitivity that was made with it too.
    pub racy_sensitivity: bool,
}

/// MLEM / OSEM of any image under any forward model on any back end.
pub struct MlemOsem<B: EmKernels, M, S> {
    backend: B,
    model: Watched<B, M>,
    settings: EmSettings,
    order: Vec<usize>,
    num_steps: usize,
    x: B::Array<Image>,
    estimate: B::Array<Data>,
    backprojected_ratio: B::Array<Image>,
    /// One for each subset, made when first needed.
    sensitivity: Vec<Option<B::Array<Image>>>,
    /// Their sum over the subsets that have been used; `None` before the first, and where one subset is all.
    total: Option<B::Array<Image>>,
    is_included: Vec<bool>,
    /// True while the start image is 1 in the field of view, not yet scaled to the number of counts.
    is_unscaled: bool,
    totals: Option<CountTotals>,
    replicates: Replicates<B>,
    shown: ImageReadout<B, S>,
}

impl<B: EmKernels, M: ForwardModel<B>, S: ImageSpace<B>> MlemOsem<B, M, S> {
    /// Starts at `init`, a volume of the space's grid; else at the uniform image of the right number of counts.
    ///
    /// # Errors
    /// A start image with negative values, not enough memory on the device.
    pub fn new(mut backend: B, space: S, model: M, settings: EmSettings, init: Option<&Volume>) -> Result<Self, ReconError> {
        check_start_image(init)?;
        let num_subsets = model.num_subsets();
        let data_len = (0..num_subsets).map(|s| model.data_len(s)).max().unwrap_or(0);
        let start = init.map_or_else(|| space.uniform(), |init| space.coefficients(init));
        let start = Arc::new(start);
        let replicates = Replicates::new(&mut backend, &model, settings.accumulation, data_len, &start, init.is_none())?;
        let x = backend.upload(start)?;
        let estimate = backend.zeros(data_len)?;
        let backprojected_ratio = backend.zeros(space.len())?;
        Ok(Self {
            backend,
            order: settings.subset_order.order(num_subsets),
            sensitivity: (0..num_subsets).map(|_| None).collect(),
            total: None,
            is_included: vec![false; num_subsets],
            is_unscaled: init.is_none(),
            totals: None,
            replicates,
            model: Watched::new(model, space.len(), settings.sensitivity_accumulation, settings.racy_sensitivity),
            shown: ImageReadout::new(space),
            settings,
            num_steps: 0,
            x,
            estimate,
            backprojected_ratio,
        })
    }

    /// The sensitivity of a subset, computed on first use.
    fn prepare_sensitivity(&mut self, subset: usize, task: &Task) -> Result<(), ReconError> {
        if self.sensitivity[subset].is_none() {
            let len = self.shown.space().len();
            let mut image = self.backend.zeros(len)?;
            let accumulation = self.settings.sensitivity_accumulation;
            let mut step = Step { backend: &mut self.backend, subset, accumulation, task };
            self.model.sensitivity(&mut step, &mut self.estimate, &mut image)?;
            if let Some(columns) = self.shown.space().column_layout() {
                self.backend.drop_rounding(&mut image, columns)?;
            }
            self.sensitivity[subset] = Some(image);
        }
        Ok(())
    }

    /// Adds the sensitivity of a subset to the total, after its step. Voxels outside the total of all subsets are 0 from then on.
    fn include(&mut self, subset: usize) -> Result<(), ReconError> {
        let Some(sensitivity) = self.sensitivity[subset].as_ref().filter(|_| !self.is_included[subset]) else { return Ok(()) };
        if self.is_included.len() > 1 {
            let len = self.shown.space().len();
            let total = match &mut self.total {
                Some(total) => total,
                none => none.insert(self.backend.zeros(len)?),
            };
            self.backend.add_scaled(total, 0, 1.0, sensitivity, 0..len)?;
        }
        self.is_included[subset] = true;
        if self.is_whole()
            && let Some(total) = total(&self.total, &self.sensitivity)
        {
            self.backend.masked(&mut self.backprojected_ratio, &self.x, total)?;
            std::mem::swap(&mut self.x, &mut self.backprojected_ratio);
            self.replicates.mask(&mut self.backend, &mut self.backprojected_ratio, total)?;
        }
        Ok(())
    }

    /// Returns true once every subset has been used: the total sensitivity is then known.
    fn is_whole(&self) -> bool {
        self.is_included.iter().all(|is_included| *is_included)
    }

    /// Scales the uniform start image so that it makes as many counts expect as the first subset should have: those that were
    /// measured less the background, and never less than their noise.
    fn scale_start(&mut self, subset: usize) -> Result<(), ReconError> {
        let len = self.shown.space().len();
        let Self { backend, model, x, backprojected_ratio: scratch, .. } = self;
        let Some(sensitivity) = self.sensitivity[subset].as_ref().filter(|_| self.is_unscaled) else { return Ok(()) };
        let (totals, share) = (totals(&mut self.totals, &mut **model)?, model.share(subset)?);
        self.is_unscaled = !UniformStart { x, scratch, sensitivity, len }.scale(backend, totals, share)?;
        Ok(())
    }

    /// Returns the part of the data that the image explains; `None` while a sensitivity is missing.
    fn explained_now(&mut self) -> Result<Option<Explained>, ReconError> {
        let len = self.shown.space().len();
        if !self.is_whole() {
            return Ok(None);
        }
        let Some(total) = total(&self.total, &self.sensitivity) else { return Ok(None) };
        let image = self.backend.dot(&self.x, 0, total, 0..len)?;
        let totals = totals(&mut self.totals, &mut *self.model)?;
        Ok(Explained::counts(image, totals))
    }

    /// Calls `look` with the image of the run or of a replicate as it is shown: from the first step until every subset has been used,
    /// what none of those used so far sees is not known yet and shown as 0.
    fn look<T>(
        &mut self,
        replicate: Option<usize>,
        look: impl FnOnce(&mut ImageReadout<B, S>, &mut B, &B::Array<Image>) -> Result<T, BackendError>,
    ) -> Result<T, ReconError> {
        let is_whole = self.is_whole();
        let Self { backend, shown, x, replicates, total, backprojected_ratio, .. } = self;
        let x = match replicate {
            None => &*x,
            Some(replicate) => replicates.image(replicate).ok_or(SettingsProblem::NoReplicates)?,
        };
        let image = match total.as_ref().filter(|_| !is_whole) {
            Some(total) => {
                backend.masked(backprojected_ratio, x, total)?;
                &*backprojected_ratio
            }
            None => x,
        };
        Ok(look(shown, backend, image)?)
    }
}

/// Counts of all data, asked for once: members of a group meet for it.
fn totals<B: EmKernels>(known: &mut Option<CountTotals>, model: &mut impl ForwardModel<B>) -> Result<CountTotals, OperatorError> {
    match known {
        Some(totals) => Ok(*totals),
        None => Ok(*known.insert(model.totals()?)),
    }
}

/// Returns the sensitivity of all data, once every subset has its own.
fn total<'a, A>(total: &'a Option<A>, sensitivity: &'a [Option<A>]) -> Option<&'a A> {
    match sensitivity {
        [one] => one.as_ref(),
        _ => total.as_ref(),
    }
}

/// Refuses data that a Poisson likelihood cannot explain.
///
/// # Errors
/// A negative or non-finite bin, in measured data or corrections; no counts at all.
pub fn check_poisson_data(counts: &Counts) -> Result<(), ReconError> {
    let parts = [
        (MEASURED, Some(&counts.prompts)),
        ("multiplicative sinogram", counts.multiplicative.as_ref()),
        ("additive sinogram", counts.additive.as_ref()),
    ];
    for (name, data) in parts {
        let Some(data) = data else { continue };
        if let Some((index, value)) = data.first_unusable_bin() {
            return Err(DataProblem::Bin { name, value, bin: data.bin_of_index(index) }.into());
        }
        // (Sums of a line can hide a negative one.)
        if let Some((index, value)) = data.first_unusable_tof_bin() {
            return Err(DataProblem::Bin { name, value, bin: data.bin_of_index(index) }.into());
        }
    }
    if counts.prompts.counts.iter().all(|&v| v == 0.0) {
        return Err(DataProblem::NoCounts.into());
    }
    Ok(())
}

impl<B: EmKernels, M: ForwardModel<B>, S: ImageSpace<B>> Algorithm for MlemOsem<B, M, S> {
    fn step(&mut self, task: &Task) -> Result<StepReport, ReconError> {
        let num_subsets = self.order.len();
        let subset = self.order[self.num_steps % num_subsets];
        let mut stages = StageTimes::default();
        stages.time(Stage::Sensitivity, || {
            self.prepare_sensitivity(subset, task)?;
            self.scale_start(subset)
        })?;
        let Self { backend, model, shown, x, estimate, backprojected_ratio, replicates, .. } = self;
        let accumulation = self.settings.accumulation;
        let step = &mut Step { backend, subset, accumulation, task };
        if accumulation.has_race() {
            stages.time(Stage::Race, || model.prepare(step, shown.space(), estimate, backprojected_ratio))?;
        }
        let Some(sensitivity) = &self.sensitivity[subset] else {
            return Err(SettingsProblem::NoSensitivity.into());
        };
        // First: after an interruption the image is the one before the step.
        if model.num_replicates() > 0 {
            let scratch = &mut Scratch { estimate, image: backprojected_ratio };
            let number = self.num_steps + 1;
            stages.time(Stage::Replicates, || replicates.step(number, &mut **model, step, scratch, sensitivity))?;
        }
        stages.time(Stage::Forward, || {
            model.forward(step, x, estimate)?;
            Ok::<_, OperatorError>(step.backend.finish()?)
        })?;
        let terms = stages.time(Stage::Ratio, || model.poisson_ratio(step, estimate))?;
        model.backproject(step, estimate, &terms, backprojected_ratio, &mut stages)?;
        let divisor = model.racy_sensitivity(subset).unwrap_or(sensitivity);
        stages.time(Stage::Update, || step.backend.em_update(x, backprojected_ratio, divisor))?;
        let race = model.report(step, sensitivity, x, &mut stages)?;
        self.num_steps += 1;
        let completes_iteration = self.num_steps.is_multiple_of(num_subsets);
        let explained = stages.time(Stage::Update, || {
            self.include(subset)?;
            let explained = if completes_iteration { self.explained_now()? } else { None };
            self.backend.finish()?;
            Ok::<_, ReconError>(explained)
        })?;
        let PoissonTerms { log_likelihood, residual, num_unexplained_bins, num_limited_bins, .. } = terms;
        Ok(StepReport {
            iteration: self.num_steps / num_subsets,
            subiteration: self.num_steps,
            subset,
            completes_iteration,
            num_events: None,
            stages,
            ascent: None,
            em: Some(EmReport {
                log_likelihood: Some(log_likelihood),
                residual: Some(residual),
                num_unexplained_bins,
                num_limited_bins,
                explained,
                accumulation,
                race,
            }),
        })
    }

    fn num_subsets(&self) -> usize {
        self.order.len()
    }

    fn volume_into(&mut self, volume: &mut Volume) -> Result<(), ReconError> {
        self.look(None, |shown, backend, image| shown.volume_into(backend, image, 1.0, volume))
    }

    fn begin_volume(&mut self) -> Result<Option<PendingVolume>, ReconError> {
        self.look(None, |shown, backend, image| shown.begin_volume(backend, image, 1.0))
    }

    fn set_rois(&mut self, masks: &[RoiMask]) -> Result<(), ReconError> {
        Ok(self.shown.set_rois(&mut self.backend, masks)?)
    }

    fn roi_sums(&mut self) -> Result<Vec<RoiSums>, ReconError> {
        self.look(None, ImageReadout::roi_sums)
    }

    fn num_replicates(&self) -> usize {
        self.replicates.num_after(self.num_steps)
    }

    fn replicate_into(&mut self, replicate: usize, volume: &mut Volume) -> Result<(), ReconError> {
        self.look(Some(replicate), |shown, backend, image| shown.volume_into(backend, image, 1.0, volume))
    }

    fn replicate_sums(&mut self) -> Result<Vec<Vec<RoiSums>>, ReconError> {
        (0..self.num_replicates()).map(|replicate| self.look(Some(replicate), ImageReadout::roi_sums)).collect()
    }

    fn explained(&mut self, task: &Task) -> Result<Option<Explained>, ReconError> {
        for subset in 0..self.sensitivity.len() {
            self.prepare_sensitivity(subset, task)?;
            self.include(subset)?;
        }
        self.explained_now()
    }

    fn set_accumulation(&mut self, accumulation: Accumulation) {
        if self.model.accumulations().contains(&accumulation) {
            self.settings.accumulation = accumulation;
        }
    }

    fn accumulations(&self) -> &'static [Accumulation] {
        self.model.accumulations()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spaced_order_uses_each_subset_once_and_starts_far_apart() {
        for count in 1..40 {
            let mut order = SubsetOrder::Spaced.order(count);
            if count >= 4 {
                assert_eq!(order[1].abs_diff(order[0]), count / 2);
            }
            order.sort_unstable();
            assert_eq!(order, (0..count).collect::<Vec<_>>());
        }
    }
}
