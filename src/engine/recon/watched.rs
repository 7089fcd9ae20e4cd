//! Losses of non-atomic backprojection (Belzunce et al. 2012, section 2.4). Sums over the image are compared with those of exact
//! additions, which need no second backprojection:
//!
//! ```text
//! Σ_j (Aᵀ m q)_j = Σ_i q_i (m A 1)_i             the sum of an exact backprojection
//! Σ_j s_j x_j    = Σ_i q_i m_i (A x')_i          kept by an exact EM update of x'; Σ_i y_i without an additive term
//! ```
//!
//! with 1 the image that is one in the field of view and q the ratio of measured to estimated data. Losses concentrate in a few
//! voxels, which no sum over the image shows: the same ratio is backprojected exactly too, and the losses of each voxel are added up
//! over the steps of the run.

use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use super::em_kernels::{EmKernels, PoissonTerms};
use super::model::{ForwardModel, Step};
use super::stage::{Stage, StageTimes};
use crate::algebra::{BackendError, Data, Image, ImageSpace};
use crate::operator::{Accumulation, OperatorError};

/// Losses of a step with a race.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct RaceReport {
    /// 1 − Σ racy / Σ exact of this step's backprojection: the part of the additions (by value) that was lost.
    pub lost: f64,
    /// The same part of a backprojection of ones over the subset, made at the first step with the race.
    pub lost_of_ones: f64,
    /// Sensitivity-weighted mean of the image after the step, relative to that of exact steps.
    pub level: f64,
    /// Largest `lost` of a step of the run so far.
    #[serde(default)]
    pub lost_step_max: f64,
    /// Largest part of a voxel's additions that was lost, over all steps of the run so far that had a race.
    #[serde(default)]
    pub lost_voxel_max: f64,
}

impl RaceReport {
    /// Returns a part as text in %, with enough digits to distinguish it from nothing.
    pub fn percent(part: f64) -> String {
        let percent = 100.0 * part;
        match percent.abs() {
            size if !size.is_finite() => "–".into(),
            size if size < 5e-5 => "0.0000 %".into(),
            size if size < 0.1 => format!("{percent:.4} %"),
            _ => format!("{percent:.2} %"),
        }
    }

    /// Describes the losses of the run so far.
    pub fn so_far(&self) -> String {
        let [step, voxel] = [self.lost_step_max, self.lost_voxel_max].map(Self::percent);
        format!("lost so far: up to {step} of a step, up to {voxel} of a voxel")
    }
}

/// Sum of a voxel relative to that of the largest, below which its loss is rounding.
const MIN_SUM: f32 = 1.0 / (1 << 20) as f32;

/// Losses of each voxel over the steps of a run.
struct VoxelLosses<B: EmKernels> {
    ratio: B::Array<Data>,
    /// The exact backprojection of a step, and working memory.
    exact: B::Array<Image>,
    parts: B::Array<Image>,
    /// Σ over the steps of the exact backprojections.
    sums: B::Array<Image>,
    /// Σ of the exact backprojections minus the racy ones.
    losses: B::Array<Image>,
    step_max: f64,
}

impl<B: EmKernels> VoxelLosses<B> {
    fn new(backend: &mut B, data_len: usize, image_len: usize) -> Result<Self, BackendError> {
        let mut image = || backend.zeros(image_len);
        let [exact, parts, sums, losses] = [image()?, image()?, image()?, image()?];
        Ok(Self { ratio: backend.zeros(data_len)?, exact, parts, sums, losses, step_max: f64::NEG_INFINITY })
    }

    /// Stores the ratio, which a backprojection uses up.
    fn store_ratio(&mut self, backend: &mut B, ratio: &B::Array<Data>, data_len: usize) -> Result<(), BackendError> {
        backend.fill(&mut self.ratio, 0.0)?;
        backend.add_scaled(&mut self.ratio, 0, 1.0, ratio, 0..data_len)
    }

    /// Adds the losses of a backprojection with a race; `exact` holds the exact one of the same ratio.
    fn add(&mut self, backend: &mut B, racy: &B::Array<Image>, image_len: usize) -> Result<(), BackendError> {
        let Self { exact, sums, losses, .. } = self;
        backend.add_scaled(sums, 0, 1.0, exact, 0..image_len)?;
        backend.add_scaled(losses, 0, 1.0, exact, 0..image_len)?;
        backend.add_scaled(losses, 0, -1.0, racy, 0..image_len)
    }

    /// Returns the largest part of a voxel's additions that was lost, in size.
    fn voxel_max(&mut self, backend: &mut B, image_len: usize) -> Result<f64, BackendError> {
        let Self { exact: scratch, parts, sums, losses, .. } = self;
        // Above 0 where the sum is more than rounding.
        let least = MIN_SUM * backend.max_magnitude(sums)? as f32;
        backend.fill(scratch, -least)?;
        backend.add_scaled(scratch, 0, 1.0, sums, 0..image_len)?;
        backend.masked(parts, losses, scratch)?;
        backend.fill(scratch, 1.0)?;
        backend.em_update(parts, scratch, sums)?;
        backend.max_magnitude(parts)
    }
}

/// References of a subset, made without its race.
struct Reference<B: EmKernels> {
    /// m A 1.
    row_sums: B::Array<Data>,
    /// Aᵀ m made with the race, if steps divide by it.
    racy_sensitivity: Option<B::Array<Image>>,
    lost_of_ones: f64,
    /// Accumulation with the race.
    accumulation: Accumulation,
}

/// Sums of a backprojection with a race, and those of an exact one.
#[derive(Clone, Copy, Debug)]
struct Sums {
    racy: f64,
    exact: f64,
    /// Σ s x after an exact update.
    exact_image: f64,
}

/// Forward model that measures the losses of its backprojections. Atomic accumulation costs nothing more.
pub(super) struct Watched<B: EmKernels, M> {
    model: M,
    /// True if steps with a race divide by a sensitivity that was made with it too.
    keeps_racy_sensitivity: bool,
    /// Race-free accumulation of the backprojection that losses are measured against.
    exact_accumulation: Accumulation,
    /// Made by the first step with a race.
    voxel_losses: Option<VoxelLosses<B>>,
    /// The field of view.
    ones: Option<B::Array<Image>>,
    references: Vec<Option<Reference<B>>>,
    /// Values of an image.
    image_len: usize,
    /// Sums of this step's backprojection, if it has a race.
    sums: Option<Sums>,
}

impl<B: EmKernels, M> Deref for Watched<B, M> {
    type Target = M;

    fn deref(&self) -> &M {
        &self.model
    }
}

impl<B: EmKernels, M> DerefMut for Watched<B, M> {
    fn deref_mut(&mut self) -> &mut M {
        &mut self.model
    }
}

impl<B: EmKernels, M: ForwardModel<B>> Watched<B, M> {
    /// `exact_accumulation` has no race. `keeps_racy_sensitivity`: steps with a race divide by a sensitivity with it too.
    pub fn new(model: M, image_len: usize, exact_accumulation: Accumulation, keeps_racy_sensitivity: bool) -> Self {
        let references = (0..model.num_subsets()).map(|_| None).collect();
        let (ones, voxel_losses, sums) = (None, None, None);
        Self { model, keeps_racy_sensitivity, exact_accumulation, voxel_losses, ones, references, image_len, sums }
    }

    /// Makes the references of a subset, on its first step with this race: projects ones, and backprojects ones with the race.
    /// `data` and `image` are used as working memory.
    pub fn prepare(
        &mut self,
        step: &mut Step<'_, B>,
        space: &impl ImageSpace<B>,
        data: &mut B::Array<Data>,
        image: &mut B::Array<Image>,
    ) -> Result<(), OperatorError> {
        let (accumulation, reference) = (step.accumulation, &mut self.references[step.subset]);
        if !accumulation.has_race() || reference.as_ref().is_some_and(|reference| reference.accumulation == accumulation) {
            return Ok(());
        }
        let ones = match &mut self.ones {
            Some(ones) => ones,
            none => none.insert(step.backend.upload(Arc::new(space.uniform()))?),
        };
        let mut row_sums = step.backend.zeros(self.model.data_len(step.subset))?;
        self.model.project(step, ones, &mut row_sums)?;
        step.backend.fill(data, 1.0)?;
        let exact = self.model.dot(step, data, &row_sums)?;
        self.model.adjoint(step, data, image)?;
        let backend = &mut *step.backend;
        let racy = backend.dot(image, 0, ones, 0..space.len())?;
        let racy_sensitivity = if self.keeps_racy_sensitivity {
            let mut racy = backend.zeros(space.len())?;
            backend.add_scaled(&mut racy, 0, 1.0, image, 0..space.len())?;
            Some(racy)
        } else {
            None
        };
        *reference = Some(Reference { row_sums, racy_sensitivity, lost_of_ones: 1.0 - racy / exact, accumulation });
        Ok(())
    }

    /// `out` = Aᵀ (m ⊙ q) of a step's ratio, with the sums of a race; the ratio is used up. `terms` = those of the ratio. Adds
    /// the time of both to `stages`.
    pub fn backproject(
        &mut self,
        step: &mut Step<'_, B>,
        ratio: &mut B::Array<Data>,
        terms: &PoissonTerms,
        out: &mut B::Array<Image>,
        stages: &mut StageTimes,
    ) -> Result<(), OperatorError> {
        let Self { model, exact_accumulation, voxel_losses, ones, references, image_len, sums, .. } = self;
        let reference = references[step.subset].as_ref().zip(ones.as_ref()).filter(|_| step.accumulation.has_race());
        let exact = reference.map(|(reference, _)| {
            stages.time(Stage::Race, || {
                let exact = model.dot(step, ratio, &reference.row_sums)?;
                let sums = [exact, terms.counts - model.additive_counts(step, ratio)?];
                let voxel_losses = match &mut *voxel_losses {
                    Some(known) => known,
                    none => {
                        let data_len = (0..model.num_subsets()).map(|subset| model.data_len(subset)).max().unwrap_or(0);
                        none.insert(VoxelLosses::new(step.backend, data_len, *image_len)?)
                    }
                };
                voxel_losses.store_ratio(step.backend, ratio, model.data_len(step.subset))?;
                Ok::<_, OperatorError>(sums)
            })
        });
        let exact = exact.transpose()?;
        stages.time(Stage::Backprojection, || {
            model.adjoint(step, ratio, out)?;
            Ok::<_, OperatorError>(step.backend.finish()?)
        })?;
        *sums = match exact.zip(reference) {
            None => None,
            Some(([exact, exact_image], (_, ones))) => stages.time(Stage::Race, || {
                if let Some(of_voxels) = voxel_losses {
                    let accumulation = *exact_accumulation;
                    let step = &mut Step { backend: &mut *step.backend, subset: step.subset, accumulation, task: step.task };
                    model.adjoint(step, &mut of_voxels.ratio, &mut of_voxels.exact)?;
                    of_voxels.add(step.backend, out, *image_len)?;
                }
                let racy = step.backend.dot(out, 0, ones, 0..*image_len)?;
                Ok::<_, OperatorError>(Some(Sums { racy, exact, exact_image }))
            })?,
        };
        Ok(())
    }

    /// Returns the sensitivity that this step divides by, if it is not the exact one.
    pub fn racy_sensitivity(&self, subset: usize) -> Option<&B::Array<Image>> {
        self.references[subset].as_ref().filter(|_| self.sums.is_some())?.racy_sensitivity.as_ref()
    }

    /// Compares a step with an exact one; `sensitivity` is the exact one, `x` the image after the step. `None` if the
    /// backprojection was exact.
    pub fn report(
        &mut self,
        step: &mut Step<'_, B>,
        sensitivity: &B::Array<Image>,
        x: &B::Array<Image>,
        stages: &mut StageTimes,
    ) -> Result<Option<RaceReport>, OperatorError> {
        let (Some(sums), Some(reference)) = (self.sums.take(), &self.references[step.subset]) else { return Ok(None) };
        stages.time(Stage::Update, || step.backend.finish())?;
        let image = stages.time(Stage::Race, || step.backend.dot(x, 0, sensitivity, 0..self.image_len))?;
        let lost = 1.0 - sums.racy / sums.exact;
        let (mut lost_step_max, mut lost_voxel_max) = (lost, lost);
        if let Some(of_voxels) = &mut self.voxel_losses {
            of_voxels.step_max = of_voxels.step_max.max(lost);
            lost_step_max = of_voxels.step_max;
            lost_voxel_max = stages.time(Stage::Race, || of_voxels.voxel_max(step.backend, self.image_len))?;
        }
        let level = image / sums.exact_image;
        Ok(Some(RaceReport { lost, lost_of_ones: reference.lost_of_ones, level, lost_step_max, lost_voxel_max }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_parts_are_told_from_nothing() {
        let words = [0.123_45, 0.000_002, -1e-8, 1.0, f64::NAN].map(RaceReport::percent);
        assert_eq!(words, ["12.35 %", "0.0002 %", "0.0000 %", "100.00 %", "–"]);
    }
}
