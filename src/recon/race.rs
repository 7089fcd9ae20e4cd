//! What non-atomic backprojection loses (Belzunce et al. 2012, section 2.4), measured against what exact additions give,
//! without a second backprojection:
//!
//! ```text
//! Σ_j (Aᵀ m q)_j = Σ_i q_i (m A 1)_i             the sum of an exact backprojection
//! Σ_j s_j x_j    = Σ_i q_i m_i (A x')_i          what an exact EM update of x' keeps; Σ_i y_i without an additive term
//! ```
//!
//! with 1 the image that is one in the field of view and q the ratio of measured to estimated data.

use std::sync::Arc;

use super::ForwardModel;
use crate::algebra::{Backend, Data, Image, ImageSpace};
use crate::operator::{Accumulation, OperatorError};
use crate::task::Task;

/// What a step with a race lost.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct RaceReport {
    /// 1 − Σ racy / Σ exact of this step's backprojection: the part of the additions (by value) that was lost.
    pub lost: f64,
    /// The same for a backprojection of ones over the subset, made when the race began.
    pub lost_of_ones: f64,
    /// The sensitivity-weighted mean of the image after the step, relative to what race-free steps give.
    pub level: f64,
}

impl RaceReport {
    /// A part as per cent in words, with digits enough to tell it from nothing.
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

/// Sums that an exact step would have.
#[derive(Clone, Copy, Debug)]
pub(super) struct Exact {
    backprojection: f64,
    image: f64,
}

/// What is known of a subset without a race.
struct SubsetTruth<B: Backend> {
    /// m A 1.
    row_sums: B::Array<Data>,
    /// Aᵀ m made with the race, where the run is to use that.
    racy_sensitivity: Option<B::Array<Image>>,
    lost_of_ones: f64,
    /// The way whose race it is.
    accumulation: Accumulation,
}

/// Watches the race of a run; costs nothing while there is none.
pub(super) struct Race<B: Backend> {
    /// The way that races; `None` = the next steps lose nothing.
    watched: Option<Accumulation>,
    /// The field of view.
    ones: Option<B::Array<Image>>,
    subsets: Vec<Option<SubsetTruth<B>>>,
}

impl<B: Backend> Race<B> {
    pub fn new(num_subsets: usize) -> Self {
        Self { watched: None, ones: None, subsets: (0..num_subsets).map(|_| None).collect() }
    }

    /// The next steps add so.
    pub fn watch(&mut self, accumulation: Accumulation) {
        self.watched = Some(accumulation).filter(|accumulation| accumulation.has_race());
    }

    /// Projects ones, and backprojects ones with the race, on the first step of a subset that races so. `data` and `image` are
    /// used as working memory.
    #[allow(clippy::too_many_arguments)]
    pub fn prepare(
        &mut self,
        backend: &mut B,
        model: &mut impl ForwardModel<B>,
        subset: usize,
        space: &impl ImageSpace<B>,
        racy_sensitivity: bool,
        data: &mut B::Array<Data>,
        image: &mut B::Array<Image>,
        task: &Task,
    ) -> Result<(), OperatorError> {
        let Some(accumulation) = self.watched else { return Ok(()) };
        if self.subsets[subset].as_ref().is_some_and(|truth| truth.accumulation == accumulation) {
            return Ok(());
        }
        if self.ones.is_none() {
            self.ones = Some(backend.upload(Arc::new(space.uniform()))?);
        }
        let Some(ones) = &self.ones else { return Ok(()) };
        let mut row_sums = backend.zeros(model.data_len(subset))?;
        model.project(backend, subset, ones, &mut row_sums, task)?;
        backend.fill(data, 1.0)?;
        let exact = model.dot(backend, subset, data, &row_sums)?;
        model.adjoint(backend, subset, data, accumulation, image, task)?;
        let racy = backend.dot(image, 0, ones, 0..space.len())?;
        let racy_sensitivity = if racy_sensitivity {
            let mut racy = backend.zeros(space.len())?;
            backend.add_scaled(&mut racy, 0, 1.0, image, 0..space.len())?;
            Some(racy)
        } else {
            None
        };
        self.subsets[subset] = Some(SubsetTruth { row_sums, racy_sensitivity, lost_of_ones: 1.0 - racy / exact, accumulation });
        Ok(())
    }

    /// The sensitivity that a racy step divides by, where it is not the exact one.
    pub fn racy_sensitivity(&self, subset: usize) -> Option<&B::Array<Image>> {
        self.subsets[subset].as_ref().filter(|_| self.watched.is_some())?.racy_sensitivity.as_ref()
    }

    /// What an exact step from this ratio would give; `None` without a race. `counts` = Σ y of bins with an estimate.
    pub fn expect(
        &mut self,
        backend: &mut B,
        model: &mut impl ForwardModel<B>,
        subset: usize,
        ratio: &B::Array<Data>,
        counts: f64,
    ) -> Result<Option<Exact>, OperatorError> {
        let Some(truth) = self.subsets[subset].as_ref().filter(|_| self.watched.is_some()) else { return Ok(None) };
        let backprojection = model.dot(backend, subset, ratio, &truth.row_sums)?;
        let image = counts - model.additive_counts(backend, subset, ratio)?;
        Ok(Some(Exact { backprojection, image }))
    }

    /// Compares what came out with what an exact step would have given; `sensitivity` is the exact one.
    #[allow(clippy::too_many_arguments)]
    pub fn report(
        &self,
        backend: &mut B,
        subset: usize,
        exact: Exact,
        correction: &B::Array<Image>,
        sensitivity: &B::Array<Image>,
        x: &B::Array<Image>,
        image_len: usize,
    ) -> Result<Option<RaceReport>, OperatorError> {
        let (Some(ones), Some(truth)) = (&self.ones, &self.subsets[subset]) else { return Ok(None) };
        let racy = backend.dot(correction, 0, ones, 0..image_len)?;
        let image = backend.dot(x, 0, sensitivity, 0..image_len)?;
        let lost = 1.0 - racy / exact.backprojection;
        Ok(Some(RaceReport { lost, lost_of_ones: truth.lost_of_ones, level: image / exact.image }))
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
