//! Losses of non-atomic backprojection (Belzunce et al. 2012, section 2.4), measured against the results of exact additions
//! without a second backprojection:
//!
//! ```text
//! Σ_j (Aᵀ m q)_j = Σ_i q_i (m A 1)_i             the sum of an exact backprojection
//! Σ_j s_j x_j    = Σ_i q_i m_i (A x')_i          kept by an exact EM update of x'; Σ_i y_i without an additive term
//! ```
//!
//! with 1 the image that is one in the field of view and q the ratio of measured to estimated data.

use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use super::em_kernels::PoissonTerms;
use super::model::{ForwardModel, Step};
use super::stage::{Stage, StageTimes};
use crate::algebra::{Backend, Data, Image, ImageSpace};
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
}

/// References of a subset, made without its race.
struct Reference<B: Backend> {
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

/// Forward model that measures the losses of its backprojections. Without a race it costs nothing.
pub(super) struct Watched<B: Backend, M> {
    model: M,
    /// True if steps with a race divide by a sensitivity that was made with it too.
    keeps_racy_sensitivity: bool,
    /// The field of view.
    ones: Option<B::Array<Image>>,
    references: Vec<Option<Reference<B>>>,
    /// Values of an image.
    image_len: usize,
    /// Sums of this step's backprojection, if it has a race.
    sums: Option<Sums>,
}

impl<B: Backend, M> Deref for Watched<B, M> {
    type Target = M;

    fn deref(&self) -> &M {
        &self.model
    }
}

impl<B: Backend, M> DerefMut for Watched<B, M> {
    fn deref_mut(&mut self) -> &mut M {
        &mut self.model
    }
}

impl<B: Backend, M: ForwardModel<B>> Watched<B, M> {
    pub fn new(model: M, image_len: usize, keeps_racy_sensitivity: bool) -> Self {
        let references = (0..model.num_subsets()).map(|_| None).collect();
        Self { model, keeps_racy_sensitivity, ones: None, references, image_len, sums: None }
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
        let Self { model, ones, references, image_len, sums, .. } = self;
        let reference = references[step.subset].as_ref().zip(ones.as_ref()).filter(|_| step.accumulation.has_race());
        let exact = reference.map(|(reference, _)| {
            stages.time(Stage::Race, || {
                let exact = model.dot(step, ratio, &reference.row_sums)?;
                Ok::<_, OperatorError>([exact, terms.counts - model.additive_counts(step, ratio)?])
            })
        });
        let exact = exact.transpose()?;
        stages.time(Stage::Backprojection, || {
            model.adjoint(step, ratio, out)?;
            Ok::<_, OperatorError>(step.backend.finish()?)
        })?;
        *sums = match exact.zip(reference) {
            None => None,
            Some(([exact, exact_image], (_, ones))) => {
                let racy = stages.time(Stage::Race, || step.backend.dot(out, 0, ones, 0..*image_len))?;
                Some(Sums { racy, exact, exact_image })
            }
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
        Ok(Some(RaceReport { lost, lost_of_ones: reference.lost_of_ones, level: image / sums.exact_image }))
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
