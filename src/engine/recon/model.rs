//! The forward model that an algorithm sees: ȳ = m ⊙ (A x) + a, by subsets, with its data and its sensitivity.

use std::ops::Range;
use std::sync::Arc;

use rayon::prelude::*;

use super::{Bootstrap, EmKernels, PoissonTerms};
use crate::algebra::{Backend, BackendError, CHUNK, Data, Image, PeerGroup, Rows};
use crate::data::{Counts, Michelogram, PairCounts, TofValues};
use crate::operator::{Accumulation, DataSpace, LinearOperator, Measured, OperatorError, Subset};
use crate::task::Task;

/// Counts of all data.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CountTotals {
    /// Σ y.
    pub measured: f64,
    /// Σ a; `None` where it is known of the events of a list alone, not of all that could have counted.
    pub additive: Option<f64>,
}

impl CountTotals {
    /// Returns the value of a uniform image that makes as many counts expect as a part `share` of the data should have: those that
    /// were measured less the background, and never less than their noise. `of_ones` = the counts that the image of ones makes
    /// expect. `None` where it has none.
    pub fn start_level(self, share: f64, of_ones: f64) -> Option<f32> {
        let Self { measured, additive } = self;
        let counts = (measured - additive.unwrap_or(0.0)).max(3.0 * measured.sqrt()).min(measured) * share;
        let level = (counts / of_ones) as f32;
        // Rounded to 16 bits: members of a group of another size add up Σ a in another order.
        (of_ones > 0.0 && level.is_normal()).then(|| f32::from_bits(level.to_bits() & 0xffff_ff00))
    }
}

/// One step of an algorithm: its subset, how its backprojection adds, where it computes, and its stop flag.
pub struct Step<'a, B> {
    /// Back end of all arrays.
    pub backend: &'a mut B,
    /// Number of the subset.
    pub subset: usize,
    /// Accumulation of backprojections.
    pub accumulation: Accumulation,
    /// Stop flag and progress.
    pub task: &'a Task,
}

/// A model of measured data, split into subsets. Data arrays passed in have at least `data_len(subset)` values.
pub trait ForwardModel<B: Backend>: Send {
    /// Returns the number of subsets.
    fn num_subsets(&self) -> usize;

    /// Returns the number of values in the data of a subset.
    fn data_len(&self, subset: usize) -> usize;

    /// `out` = m ⊙ (A x).
    ///
    /// # Errors
    /// Stopped, device failure.
    fn project(&mut self, step: &mut Step<'_, B>, x: &B::Array<Image>, out: &mut B::Array<Data>) -> Result<(), OperatorError>;

    /// `out` = m ⊙ (A x) + a, of an image without negative values ([`LinearOperator::expect`]).
    ///
    /// # Errors
    /// Stopped, device failure.
    fn forward(&mut self, step: &mut Step<'_, B>, x: &B::Array<Image>, out: &mut B::Array<Data>) -> Result<(), OperatorError>;

    /// Replaces the estimate by measured / estimated.
    ///
    /// # Errors
    /// Device failure.
    fn poisson_ratio(&mut self, step: &mut Step<'_, B>, estimate: &mut B::Array<Data>) -> Result<PoissonTerms, OperatorError>;

    /// Σ p ⊙ q over the data of a subset.
    ///
    /// # Errors
    /// Device failure.
    fn dot(&mut self, step: &mut Step<'_, B>, p: &B::Array<Data>, q: &B::Array<Data>) -> Result<f64, OperatorError>;

    /// Σ q ⊙ a: the part of the counts that a ratio q explains by the additive term. Zero without one.
    ///
    /// # Errors
    /// Device failure.
    fn additive_counts(&mut self, step: &mut Step<'_, B>, ratio: &B::Array<Data>) -> Result<f64, OperatorError>;

    /// `out` = Aᵀ (m ⊙ q); `q` is used up.
    ///
    /// # Errors
    /// Stopped, device failure.
    fn adjoint(&mut self, step: &mut Step<'_, B>, q: &mut B::Array<Data>, out: &mut B::Array<Image>)
    -> Result<(), OperatorError>;

    /// `out` = the subset's part of Aᵀ m over everything that could have been measured; `scratch` may be used up. Here: over the
    /// subset's own data, which is everything where every bin is a datum, counts or not.
    ///
    /// # Errors
    /// Stopped, device failure.
    fn sensitivity(
        &mut self,
        step: &mut Step<'_, B>,
        scratch: &mut B::Array<Data>,
        out: &mut B::Array<Image>,
    ) -> Result<(), OperatorError> {
        step.backend.fill(scratch, 1.0)?;
        self.adjoint(step, scratch, out)
    }

    /// Counts of all data of all members.
    ///
    /// # Errors
    /// A member of the group has left.
    fn totals(&mut self) -> Result<CountTotals, OperatorError>;

    /// Returns the part of all counts that belongs to a subset, about.
    ///
    /// # Errors
    /// A member of the group has left.
    fn share(&mut self, subset: usize) -> Result<f64, OperatorError>;

    /// Returns the ways in which `adjoint` can add.
    fn accumulations(&self) -> &'static [Accumulation];

    /// Returns the number of replicates of the measured counts.
    fn num_replicates(&self) -> usize {
        0
    }

    /// Takes the counts of a replicate in place of the measured ones from now on; `None` = the measured ones again.
    fn use_replicate(&mut self, _replicate: Option<usize>) {}

    /// Returns how many replicates [`ForwardModel::forward_each`] and [`ForwardModel::adjoint_each`] take at most where one way
    /// through the data serves them all; 1 = each needs its own.
    fn num_at_once(&self, _: Accumulation) -> usize {
        1
    }

    /// [`ForwardModel::forward`] of the images of replicates, which are numbered from `first` on.
    ///
    /// # Errors
    /// Stopped, device failure.
    fn forward_each(
        &mut self,
        step: &mut Step<'_, B>,
        first: usize,
        images: &[&B::Array<Image>],
        out: &mut [&mut B::Array<Data>],
    ) -> Result<(), OperatorError> {
        images.iter().zip(out).enumerate().try_for_each(|(index, (x, out))| {
            self.use_replicate(Some(first + index));
            self.forward(step, x, out)
        })
    }

    /// [`ForwardModel::adjoint`] of the data of several replicates; `q` is used up.
    ///
    /// # Errors
    /// Stopped, device failure.
    fn adjoint_each(
        &mut self,
        step: &mut Step<'_, B>,
        q: &mut [&mut B::Array<Data>],
        out: &mut [&mut B::Array<Image>],
    ) -> Result<(), OperatorError> {
        q.iter_mut().zip(out).try_for_each(|(q, out)| self.adjoint(step, q, out))
    }
}

/// Measured data with their corrections, datum by datum in the order of a study.
#[derive(Clone, Debug)]
pub struct MeasuredValues {
    /// Counts.
    pub prompts: Arc<Vec<f32>>,
    /// m; `None` = 1.
    pub multiplicative: Option<Factors>,
    /// a; `None` = 0.
    pub additive: Option<Factors>,
    /// Replicates of the counts; `None` = none.
    pub bootstrap: Option<Bootstrap>,
}

/// Values of a correction.
#[derive(Clone, Debug)]
pub enum Factors {
    /// One for each datum.
    PerDatum(Arc<Vec<f32>>),
    /// One for each line, which its time-of-flight bins share.
    PerLine(Arc<Vec<f32>>, Rows),
}

impl Factors {
    fn arranged(self, arranged: impl Fn(Arc<Vec<f32>>) -> Arc<Vec<f32>>) -> Self {
        match self {
            Factors::PerDatum(values) => Factors::PerDatum(arranged(values)),
            Factors::PerLine(values, rows) => Factors::PerLine(arranged(values), rows),
        }
    }

    /// Returns the part of the data's number that they are.
    fn share(&self) -> f64 {
        match self {
            Factors::PerDatum(_) => 1.0,
            Factors::PerLine(_, rows) => 1.0 / rows.repeats as f64,
        }
    }

    /// Returns the sum over the data in this range.
    fn sum(&self, range: Range<usize>) -> f64 {
        match self {
            Factors::PerDatum(values) => sum(&values[range]),
            Factors::PerLine(values, rows) => rows.repeats as f64 * sum(&values[rows.in_lines(range)]),
        }
    }
}

impl MeasuredValues {
    /// Returns the values of all corrections in parts of the number of data.
    pub fn corrections_per_datum(&self) -> f64 {
        [&self.multiplicative, &self.additive].into_iter().flatten().map(Factors::share).sum()
    }
}

/// Values of a correction on a back end.
struct Corrections<B: Backend> {
    values: B::Array<Data>,
    rows: Option<Rows>,
}

impl<B: Backend> Corrections<B> {
    fn upload(backend: &mut B, factors: Factors) -> Result<Self, BackendError> {
        let (values, rows) = match factors {
            Factors::PerDatum(values) => (values, None),
            Factors::PerLine(values, rows) => (values, Some(rows)),
        };
        Ok(Self { values: backend.upload(values)?, rows })
    }
}

impl From<&Counts> for MeasuredValues {
    fn from(counts: &Counts) -> Self {
        let Counts { prompts, multiplicative, additive, .. } = counts;
        let values = |data: &Michelogram| Arc::clone(&data.counts);
        let Some(TofValues { bins, values: by_tof }) = &prompts.tof else {
            let factors = |data: &Michelogram| Factors::PerDatum(values(data));
            let [multiplicative, additive] = [multiplicative, additive].map(|data| data.as_ref().map(factors));
            return Self { prompts: values(prompts), multiplicative, additive, bootstrap: None };
        };
        let rows = Rows { len: prompts.geometry.num_planes(), repeats: bins.num };
        let background = |data: &Michelogram| match &data.tof {
            Some(by_tof) => Factors::PerDatum(Arc::clone(&by_tof.values)),
            // Of all bins together, in equal parts.
            None => {
                let share = 1.0 / bins.num as f32;
                Factors::PerLine(Arc::new(data.counts.par_iter().map(|value| share * value).collect()), rows)
            }
        };
        Self {
            prompts: Arc::clone(by_tof),
            multiplicative: multiplicative.as_ref().map(|data| Factors::PerLine(values(data), rows)),
            additive: additive.as_ref().map(background),
            bootstrap: None,
        }
    }
}

/// Returns the values of all corrections of counts that are used with this number of time-of-flight bins, in parts of the number
/// of data: [`MeasuredValues::corrections_per_datum`] from lengths alone.
pub fn corrections_per_datum(counts: &Counts, num_tof: usize) -> f64 {
    let per_line = 1.0 / num_tof.max(1) as f64;
    let additive = counts.additive.as_ref().map(|additive| if additive.tof.is_some() { 1.0 } else { per_line });
    counts.multiplicative.as_ref().map_or(0.0, |_| per_line) + additive.unwrap_or(0.0)
}

impl From<&PairCounts> for MeasuredValues {
    fn from(pairs: &PairCounts) -> Self {
        Self { prompts: Arc::clone(&pairs.counts), multiplicative: None, additive: None, bootstrap: None }
    }
}

/// Counts on a back end.
struct CountsInUse<B: Backend> {
    values: B::Array<Data>,
    /// Σ y of this member's data.
    own_total: f64,
}

/// An operator with the measured data and corrections of a study.
pub struct ProjectionModel<B: Backend, A, D> {
    operator: A,
    space: D,
    num_subsets: usize,
    /// Members that divide the data.
    group: PeerGroup,
    /// The measured ones, then those of the replicates.
    counts: Vec<CountsInUse<B>>,
    /// Index of those in use.
    in_use: usize,
    multiplicative: Option<Corrections<B>>,
    additive: Option<Corrections<B>>,
    /// Σ a of this member's data.
    own_additive: f64,
}

impl<B: Backend, A: LinearOperator<B>, D: DataSpace> ProjectionModel<B, A, D> {
    /// Makes the model of counts, which lie in `space`, under an operator.
    ///
    /// # Errors
    /// The device cannot hold the data.
    pub fn new(
        backend: &mut B,
        operator: A,
        space: D,
        counts: impl Into<MeasuredValues>,
        num_subsets: usize,
    ) -> Result<Self, OperatorError> {
        let MeasuredValues { prompts, multiplicative, additive, bootstrap } = counts.into();
        let arranged = |data: Arc<Vec<f32>>| space.arranged(&data, num_subsets);
        let of_run = bootstrap.map_or_else(|| Arc::clone(&prompts), |bootstrap| bootstrap.of_run(&prompts));
        let counts = MeasuredValues {
            prompts: arranged(of_run),
            multiplicative: multiplicative.map(|factors| factors.arranged(arranged)),
            additive: additive.map(|factors| factors.arranged(arranged)),
            bootstrap,
        };
        let mut model = Self::of_arranged(backend, operator, space, counts, num_subsets)?;
        if let Some(bootstrap) = bootstrap {
            for replicate in 0..bootstrap.num {
                let counts = model.space.arranged(&Arc::new(bootstrap.replicate(replicate, &prompts)), num_subsets);
                model.add_counts(backend, counts)?;
            }
        }
        Ok(model)
    }

    /// The same of counts that are in the order of the space's subsets already, without replicates.
    ///
    /// # Errors
    /// The device cannot hold the data.
    pub(super) fn of_arranged(
        backend: &mut B,
        operator: A,
        space: D,
        counts: MeasuredValues,
        num_subsets: usize,
    ) -> Result<Self, OperatorError> {
        let MeasuredValues { prompts, multiplicative, additive, .. } = counts;
        let own_additive = additive.as_ref().map_or(0.0, |factors| own_sum(&space, num_subsets, |range| factors.sum(range)));
        let multiplicative = multiplicative.map(|factors| Corrections::upload(backend, factors)).transpose()?;
        let additive = additive.map(|factors| Corrections::upload(backend, factors)).transpose()?;
        let (group, counts) = (PeerGroup::ALONE, Vec::new());
        let mut model = Self { operator, space, num_subsets, group, counts, in_use: 0, multiplicative, additive, own_additive };
        model.add_counts(backend, prompts)?;
        Ok(model)
    }

    /// Adds the counts of a replicate, in the order of the space's subsets.
    ///
    /// # Errors
    /// The device cannot hold them.
    pub(super) fn add_counts(&mut self, backend: &mut B, counts: Arc<Vec<f32>>) -> Result<(), OperatorError> {
        let own_total = own_sum(&self.space, self.num_subsets, |range| sum(&counts[range]));
        self.counts.push(CountsInUse { values: backend.upload(counts)?, own_total });
        Ok(())
    }

    /// The same for a member of a group: operator and space are those of its shard
    /// ([`crate::operator::ViewProjector::for_group`]).
    pub fn of_group(self, group: PeerGroup) -> Self {
        Self { group, ..self }
    }

    fn subset(&self, index: usize) -> Subset {
        Subset { index, count: self.num_subsets }
    }

    fn pieces(&self, subset: usize) -> Vec<(usize, Range<usize>)> {
        self.space.pieces(self.subset(subset))
    }

    /// Returns the rows of a correction in the data of a subset.
    fn rows(&self, subset: usize, rows: Option<Rows>) -> Option<Rows> {
        rows.map(|rows| self.space.rows(self.subset(subset), rows))
    }

    /// `data` = m ⊙ data, of a subset.
    fn multiply(&self, backend: &mut B, subset: usize, data: &mut B::Array<Data>) -> Result<(), OperatorError> {
        if let Some(Corrections { values, rows }) = &self.multiplicative {
            for (at, range) in self.pieces(subset) {
                match self.rows(subset, *rows) {
                    None => backend.multiply(data, at, values, range)?,
                    Some(rows) => backend.multiply_rows(data, at, values, rows.in_lines(range), rows)?,
                }
            }
        }
        Ok(())
    }

    /// `data` = m ⊙ data + a, of a subset.
    fn correct(&self, backend: &mut B, subset: usize, data: &mut B::Array<Data>) -> Result<(), OperatorError> {
        self.multiply(backend, subset, data)?;
        if let Some(Corrections { values, rows }) = &self.additive {
            for (at, range) in self.pieces(subset) {
                match self.rows(subset, *rows) {
                    None => backend.add_scaled(data, at, 1.0, values, range)?,
                    Some(rows) => backend.add_rows(data, at, values, rows.in_lines(range), rows)?,
                }
            }
        }
        Ok(())
    }
}

/// Returns a sum over the data of a space, from that over the data in a range.
fn own_sum(space: &impl DataSpace, num_subsets: usize, sum: impl Fn(Range<usize>) -> f64) -> f64 {
    let pieces = Subset::all(num_subsets).flat_map(|subset| space.pieces(subset));
    pieces.map(|(_, range)| sum(range)).sum()
}

/// Σ of values, in an order that does not depend on the number of threads.
fn sum(values: &[f32]) -> f64 {
    let parts: Vec<f64> = values.par_chunks(CHUNK).map(|chunk| chunk.iter().map(|value| f64::from(*value)).sum()).collect();
    parts.into_iter().sum()
}

impl<B: EmKernels, A: LinearOperator<B>, D: DataSpace> ForwardModel<B> for ProjectionModel<B, A, D> {
    fn num_subsets(&self) -> usize {
        self.num_subsets
    }

    fn data_len(&self, subset: usize) -> usize {
        self.space.len(self.subset(subset))
    }

    fn project(&mut self, step: &mut Step<'_, B>, x: &B::Array<Image>, out: &mut B::Array<Data>) -> Result<(), OperatorError> {
        self.operator.apply(step.backend, self.subset(step.subset), x, out, step.task)?;
        self.multiply(step.backend, step.subset, out)
    }

    fn forward(&mut self, step: &mut Step<'_, B>, x: &B::Array<Image>, out: &mut B::Array<Data>) -> Result<(), OperatorError> {
        let Step { backend, subset, task, .. } = step;
        let pieces = self.pieces(*subset);
        let measured = Measured { values: &self.counts[self.in_use].values, pieces: &pieces };
        self.operator.expect(backend, self.subset(*subset), x, &measured, out, task)?;
        self.correct(backend, *subset, out)
    }

    fn poisson_ratio(&mut self, step: &mut Step<'_, B>, estimate: &mut B::Array<Data>) -> Result<PoissonTerms, OperatorError> {
        let mut sum = PoissonTerms::default();
        for (at, range) in self.pieces(step.subset) {
            sum += step.backend.poisson_ratio(&self.counts[self.in_use].values, range, estimate, at)?;
        }
        Ok(self.group.sums(sum.into())?.into())
    }

    fn dot(&mut self, step: &mut Step<'_, B>, p: &B::Array<Data>, q: &B::Array<Data>) -> Result<f64, OperatorError> {
        let mut sum = 0.0;
        for (at, range) in self.pieces(step.subset) {
            sum += step.backend.dot(p, at, q, at..at + range.len())?;
        }
        let [sum] = self.group.sums([sum])?;
        Ok(sum)
    }

    fn additive_counts(&mut self, step: &mut Step<'_, B>, ratio: &B::Array<Data>) -> Result<f64, OperatorError> {
        let mut sum = 0.0;
        if let Some(Corrections { values, rows }) = &self.additive {
            for (at, range) in self.pieces(step.subset) {
                sum += match self.rows(step.subset, *rows) {
                    None => step.backend.dot(ratio, at, values, range)?,
                    Some(rows) => step.backend.dot_rows(ratio, at, values, rows.in_lines(range), rows)?,
                };
            }
        }
        let [sum] = self.group.sums([sum])?;
        Ok(sum)
    }

    fn adjoint(
        &mut self,
        step: &mut Step<'_, B>,
        q: &mut B::Array<Data>,
        out: &mut B::Array<Image>,
    ) -> Result<(), OperatorError> {
        self.multiply(step.backend, step.subset, q)?;
        self.operator.adjoint(step.backend, self.subset(step.subset), q, step.accumulation, out, step.task)
    }

    fn totals(&mut self) -> Result<CountTotals, OperatorError> {
        let [measured, additive] = self.group.sums([self.counts[self.in_use].own_total, self.own_additive])?;
        Ok(CountTotals { measured, additive: Some(additive) })
    }

    /// That of its data.
    fn share(&mut self, subset: usize) -> Result<f64, OperatorError> {
        let own_len = |subset| -> f64 { self.space.pieces(subset).iter().map(|(_, range)| range.len() as f64).sum() };
        let all = Subset::all(self.num_subsets).map(own_len).sum();
        let [own, all] = self.group.sums([own_len(self.subset(subset)), all])?;
        Ok(own / all)
    }

    fn accumulations(&self) -> &'static [Accumulation] {
        self.operator.accumulations()
    }

    fn num_replicates(&self) -> usize {
        self.counts.len() - 1
    }

    fn use_replicate(&mut self, replicate: Option<usize>) {
        self.in_use = replicate.map_or(0, |replicate| replicate + 1);
    }

    fn num_at_once(&self, accumulation: Accumulation) -> usize {
        self.operator.num_at_once(accumulation)
    }

    fn forward_each(
        &mut self,
        step: &mut Step<'_, B>,
        first: usize,
        images: &[&B::Array<Image>],
        out: &mut [&mut B::Array<Data>],
    ) -> Result<(), OperatorError> {
        let Step { backend, subset, task, .. } = step;
        let pieces = self.pieces(*subset);
        // (The measured counts come before those of the replicates.)
        let counts = self.counts.iter().skip(1 + first).take(images.len());
        let measured: Vec<Measured<'_, B>> = counts.map(|counts| Measured { values: &counts.values, pieces: &pieces }).collect();
        self.operator.expect_each(backend, self.subset(*subset), images, &measured, out, task)?;
        out.iter_mut().try_for_each(|out| self.correct(backend, *subset, out))
    }

    fn adjoint_each(
        &mut self,
        step: &mut Step<'_, B>,
        q: &mut [&mut B::Array<Data>],
        out: &mut [&mut B::Array<Image>],
    ) -> Result<(), OperatorError> {
        q.iter_mut().try_for_each(|q| self.multiply(step.backend, step.subset, q))?;
        let q: Vec<&B::Array<Data>> = q.iter().map(|q| &**q).collect();
        self.operator.adjoint_each(step.backend, self.subset(step.subset), &q, step.accumulation, out, step.task)
    }
}
