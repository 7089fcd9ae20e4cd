//! The forward model that an algorithm sees: ȳ = m ⊙ (A x) + a, by subsets, with its data.

use std::ops::Range;

use super::{Accumulation, Backend, LinearOperator, OperatorError, PoissonTerms, Subset};
use crate::data::{Michelogram, Study, Volume};
use crate::task::Task;

/// A model of measured data, split into subsets. Data arrays passed in have at least `data_len(subset)` values.
pub trait ForwardModel<B: Backend>: Send {
    /// Number of subsets.
    fn num_subsets(&self) -> usize;

    /// Number of values of an image array.
    fn image_len(&self) -> usize;

    /// Number of values in the data of a subset.
    fn data_len(&self, subset: usize) -> usize;

    /// `out` = m ⊙ (A x).
    ///
    /// # Errors
    /// Stopped, device failure.
    fn project(
        &mut self,
        backend: &mut B,
        subset: usize,
        x: &B::Array,
        out: &mut B::Array,
        task: &Task,
    ) -> Result<(), OperatorError>;

    /// `out` = m ⊙ (A x) + a.
    ///
    /// # Errors
    /// Stopped, device failure.
    fn forward(
        &mut self,
        backend: &mut B,
        subset: usize,
        x: &B::Array,
        out: &mut B::Array,
        task: &Task,
    ) -> Result<(), OperatorError>;

    /// Replaces the estimate by measured / estimated.
    ///
    /// # Errors
    /// Device failure.
    fn poisson_ratio(&mut self, backend: &mut B, subset: usize, estimate: &mut B::Array) -> Result<PoissonTerms, OperatorError>;

    /// Σ q ⊙ a: the part of the counts that a ratio q explains by the additive term. Zero without one.
    ///
    /// # Errors
    /// Device failure.
    fn additive_counts(&mut self, backend: &mut B, subset: usize, ratio: &B::Array) -> Result<f64, OperatorError>;

    /// `out` = Aᵀ (m ⊙ q); `q` is used up.
    ///
    /// # Errors
    /// Stopped, device failure.
    fn adjoint(
        &mut self,
        backend: &mut B,
        subset: usize,
        q: &mut B::Array,
        accumulation: Accumulation,
        out: &mut B::Array,
        task: &Task,
    ) -> Result<(), OperatorError>;

    /// The ways in which `adjoint` can add.
    fn accumulations(&self) -> &'static [Accumulation];

    /// An image array from a volume, zero outside the field of view.
    fn image_from_volume(&self, volume: &Volume) -> Vec<f32>;

    /// Writes an image array, downloaded to the host, into a volume.
    fn volume_from_image(&self, image: &[f32], volume: &mut Volume);

    /// Where a voxel of a `[z, y, x]` volume lies in an image array.
    fn image_index(&self, voxel: usize) -> usize;
}

/// A projector with the measured data and corrections of a study.
pub struct ProjectionModel<B: Backend, A: LinearOperator<B>> {
    operator: A,
    num_subsets: usize,
    measured: B::Array,
    multiplicative: Option<B::Array>,
    additive: Option<B::Array>,
}

impl<B: Backend, A: LinearOperator<B>> ProjectionModel<B, A> {
    /// The model of a study's data under a projector.
    ///
    /// # Errors
    /// The device cannot hold the data.
    pub fn new(backend: &mut B, operator: A, study: &Study, num_subsets: usize) -> Result<Self, OperatorError> {
        let mut upload = |data: &Michelogram| backend.upload(operator.arranged(data, num_subsets));
        let measured = upload(&study.measured)?;
        let multiplicative = study.multiplicative.as_ref().map(&mut upload).transpose()?;
        let additive = study.additive.as_ref().map(&mut upload).transpose()?;
        Ok(Self { operator, num_subsets, measured, multiplicative, additive })
    }

    fn subset(&self, index: usize) -> Subset {
        Subset { index, count: self.num_subsets }
    }

    fn pieces(&self, subset: usize) -> Vec<(usize, Range<usize>)> {
        self.operator.pieces(self.subset(subset))
    }
}

impl<B: Backend, A: LinearOperator<B>> ForwardModel<B> for ProjectionModel<B, A> {
    fn num_subsets(&self) -> usize {
        self.num_subsets
    }

    fn image_len(&self) -> usize {
        self.operator.image_len()
    }

    fn data_len(&self, subset: usize) -> usize {
        self.operator.data_len(self.subset(subset))
    }

    fn project(
        &mut self,
        backend: &mut B,
        subset: usize,
        x: &B::Array,
        out: &mut B::Array,
        task: &Task,
    ) -> Result<(), OperatorError> {
        self.operator.apply(backend, self.subset(subset), x, out, task)?;
        if let Some(multiplicative) = &self.multiplicative {
            for (at, range) in self.pieces(subset) {
                backend.multiply(out, at, multiplicative, range)?;
            }
        }
        Ok(())
    }

    fn forward(
        &mut self,
        backend: &mut B,
        subset: usize,
        x: &B::Array,
        out: &mut B::Array,
        task: &Task,
    ) -> Result<(), OperatorError> {
        self.project(backend, subset, x, out, task)?;
        if let Some(additive) = &self.additive {
            for (at, range) in self.pieces(subset) {
                backend.add_scaled(out, at, 1.0, additive, range)?;
            }
        }
        Ok(())
    }

    fn poisson_ratio(&mut self, backend: &mut B, subset: usize, estimate: &mut B::Array) -> Result<PoissonTerms, OperatorError> {
        let mut sum = PoissonTerms::default();
        for (at, range) in self.pieces(subset) {
            sum += backend.poisson_ratio(&self.measured, range, estimate, at)?;
        }
        Ok(sum)
    }

    fn additive_counts(&mut self, backend: &mut B, subset: usize, ratio: &B::Array) -> Result<f64, OperatorError> {
        let mut sum = 0.0;
        if let Some(additive) = &self.additive {
            for (at, range) in self.pieces(subset) {
                sum += backend.dot(ratio, at, additive, range)?;
            }
        }
        Ok(sum)
    }

    fn adjoint(
        &mut self,
        backend: &mut B,
        subset: usize,
        q: &mut B::Array,
        accumulation: Accumulation,
        out: &mut B::Array,
        task: &Task,
    ) -> Result<(), OperatorError> {
        if let Some(multiplicative) = &self.multiplicative {
            for (at, range) in self.pieces(subset) {
                backend.multiply(q, at, multiplicative, range)?;
            }
        }
        self.operator.adjoint(backend, self.subset(subset), q, accumulation, out, task)
    }

    fn accumulations(&self) -> &'static [Accumulation] {
        self.operator.accumulations()
    }

    fn image_from_volume(&self, volume: &Volume) -> Vec<f32> {
        self.operator.image_from_volume(volume)
    }

    fn volume_from_image(&self, image: &[f32], volume: &mut Volume) {
        self.operator.volume_from_image(image, volume);
    }

    fn image_index(&self, voxel: usize) -> usize {
        self.operator.image_index(voxel)
    }
}
