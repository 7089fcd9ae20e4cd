//! Forward model of list-mode data.
//!
//! A list has no bins: each event is a datum of one count. Pairs that counted nothing enter through the sensitivity alone, which
//! is that of all pairs that could have counted (Barrett, White & Parra 1997, J Opt Soc Am A 14:2914). The likelihood is Σ_i ln
//! ȳ_i − (Σ_j s_j x_j + Σ b), with s and b those of all pairs.

use std::sync::Arc;

use super::bootstrap::Bootstrap;
use super::em_kernels::{DataResidual, EmKernels, PoissonTerms};
use super::model::{CountTotals, Factors, ForwardModel, MeasuredValues, ProjectionModel, Step};
use crate::algebra::{Backend, Data, Image, PeerGroup};
use crate::operator::{Accumulation, DataSpace, EventSpace, LinearOperator, OperatorError, Subset};

/// Factors and background of events, in the order of the list.
#[derive(Clone, Copy, Debug, Default)]
pub struct EventTerms<'a> {
    /// m; `None` = 1.
    pub multiplicative: Option<&'a [f32]>,
    /// b: the expected background; `None` = 0. With time of flight per mm of d.
    pub additive: Option<&'a [f32]>,
    /// Expected background of all pairs together, counts.
    pub total_additive: f64,
    /// Replicates of the events; `None` = none.
    pub bootstrap: Option<Bootstrap>,
    /// True if several replicates are projected at once, where the operator can, in memory for further data and images.
    pub shares_paths: bool,
}

/// An operator with the events of a list.
pub struct ListModel<B: Backend, A, D = EventSpace> {
    model: ProjectionModel<B, A, D>,
    num_subsets: usize,
    sensitivity: B::Array<Image>,
    image_len: usize,
    total_additive: f64,
    /// True if events have a background.
    has_additive: bool,
    /// That of [`EventTerms`].
    shares_paths: bool,
    /// Counts of a subset that the last image makes expect.
    expected: f64,
}

impl<B: EmKernels, A: LinearOperator<B>, D: DataSpace> ListModel<B, A, D> {
    /// Makes the model of the events of `space` under an operator. `data` = where its values lie: the space itself, or this
    /// member's among those of all ([`crate::operator::EventProjector::for_group`]). `sensitivity` = Σ over all pairs that could
    /// have counted of m_p a_pj, coefficients of the operator's images; with time of flight Σ over all d as well.
    ///
    /// # Errors
    /// Values of another number than events, the device cannot hold them.
    pub fn new(
        backend: &mut B,
        operator: A,
        data: D,
        space: EventSpace,
        terms: EventTerms<'_>,
        sensitivity: Arc<Vec<f32>>,
        num_subsets: usize,
    ) -> Result<Self, OperatorError> {
        let EventTerms { multiplicative, additive, total_additive, bootstrap, shares_paths } = terms;
        let (num_subsets, has_additive) = (num_subsets.max(1), additive.is_some());
        let expected = space.num_events_of_list();
        let arranged = |values: &[f32]| match values.len() {
            found if found != expected => Err(OperatorError::Length { what: "the events", expected, found }),
            _ => Ok(space.arranged_values(values, num_subsets)),
        };
        // An event counts once.
        let ones = Arc::new(vec![1.0; if bootstrap.is_some() { expected } else { space.len(Subset::ALL) }]);
        let counts = MeasuredValues {
            prompts: match bootstrap {
                None => Arc::clone(&ones),
                Some(bootstrap) => arranged(&bootstrap.of_run(&ones))?,
            },
            multiplicative: multiplicative.map(arranged).transpose()?.map(Factors::PerDatum),
            additive: additive.map(arranged).transpose()?.map(Factors::PerDatum),
            bootstrap,
        };
        let mut model = ProjectionModel::of_arranged(backend, operator, data, counts, num_subsets)?;
        for replicate in 0..bootstrap.map_or(0, |bootstrap| bootstrap.num) {
            let weights = bootstrap.map(|bootstrap| bootstrap.replicate(replicate, &ones)).unwrap_or_default();
            model.add_counts(backend, arranged(&weights)?)?;
        }
        let image_len = sensitivity.len();
        let sensitivity = backend.upload(sensitivity)?;
        Ok(Self { model, num_subsets, sensitivity, image_len, total_additive, has_additive, shares_paths, expected: 0.0 })
    }

    /// The same for a member of a group: the data are its shard of the list, the sensitivity is that of all.
    pub fn of_group(self, group: PeerGroup) -> Self {
        Self { model: self.model.of_group(group), ..self }
    }

    /// Returns the part of all that pairs could have counted that belongs to a subset: each is an equal sample of the scan.
    fn share_of_subset(&self) -> f64 {
        1.0 / self.num_subsets as f64
    }
}

impl<B: EmKernels, A: LinearOperator<B>, D: DataSpace> ForwardModel<B> for ListModel<B, A, D> {
    fn num_subsets(&self) -> usize {
        self.num_subsets
    }

    fn data_len(&self, subset: usize) -> usize {
        self.model.data_len(subset)
    }

    fn project(&mut self, step: &mut Step<'_, B>, x: &B::Array<Image>, out: &mut B::Array<Data>) -> Result<(), OperatorError> {
        self.model.project(step, x, out)
    }

    fn forward(&mut self, step: &mut Step<'_, B>, x: &B::Array<Image>, out: &mut B::Array<Data>) -> Result<(), OperatorError> {
        let of_image = step.backend.dot(x, 0, &self.sensitivity, 0..self.image_len)?;
        self.expected = self.share_of_subset() * (of_image + self.total_additive);
        self.model.forward(step, x, out)
    }

    /// The likelihood is that of the image of the last [`ForwardModel::forward`]. Events have no residual.
    fn poisson_ratio(&mut self, step: &mut Step<'_, B>, estimate: &mut B::Array<Data>) -> Result<PoissonTerms, OperatorError> {
        let terms = self.model.poisson_ratio(step, estimate)?;
        // Σ (ln ȳ − ȳ) over events; the expected counts of all pairs replace their ȳ.
        let log_likelihood = terms.log_likelihood + terms.residual.expected - self.expected;
        Ok(PoissonTerms { log_likelihood, residual: DataResidual::default(), ..terms })
    }

    fn dot(&mut self, step: &mut Step<'_, B>, p: &B::Array<Data>, q: &B::Array<Data>) -> Result<f64, OperatorError> {
        self.model.dot(step, p, q)
    }

    fn additive_counts(&mut self, step: &mut Step<'_, B>, ratio: &B::Array<Data>) -> Result<f64, OperatorError> {
        self.model.additive_counts(step, ratio)
    }

    fn adjoint(
        &mut self,
        step: &mut Step<'_, B>,
        q: &mut B::Array<Data>,
        out: &mut B::Array<Image>,
    ) -> Result<(), OperatorError> {
        self.model.adjoint(step, q, out)
    }

    /// The subset's share of the sensitivity of all pairs.
    fn sensitivity(
        &mut self,
        step: &mut Step<'_, B>,
        _: &mut B::Array<Data>,
        out: &mut B::Array<Image>,
    ) -> Result<(), OperatorError> {
        step.backend.fill(out, 0.0)?;
        Ok(step.backend.add_scaled(out, 0, self.share_of_subset() as f32, &self.sensitivity, 0..self.image_len)?)
    }

    fn totals(&mut self) -> Result<CountTotals, OperatorError> {
        let is_known = !self.has_additive || self.total_additive > 0.0;
        Ok(CountTotals { additive: is_known.then_some(self.total_additive), ..self.model.totals()? })
    }

    fn share(&mut self, _: usize) -> Result<f64, OperatorError> {
        Ok(self.share_of_subset())
    }

    fn accumulations(&self) -> &'static [Accumulation] {
        self.model.accumulations()
    }

    fn num_replicates(&self) -> usize {
        self.model.num_replicates()
    }

    fn use_replicate(&mut self, replicate: Option<usize>) {
        self.model.use_replicate(replicate);
    }

    fn num_at_once(&self, accumulation: Accumulation) -> usize {
        if self.shares_paths { self.model.num_at_once(accumulation) } else { 1 }
    }

    fn forward_each(
        &mut self,
        step: &mut Step<'_, B>,
        first: usize,
        images: &[&B::Array<Image>],
        out: &mut [&mut B::Array<Data>],
    ) -> Result<(), OperatorError> {
        self.model.forward_each(step, first, images, out)
    }

    fn adjoint_each(
        &mut self,
        step: &mut Step<'_, B>,
        q: &mut [&mut B::Array<Data>],
        out: &mut [&mut B::Array<Image>],
    ) -> Result<(), OperatorError> {
        self.model.adjoint_each(step, q, out)
    }
}
