//! A linear operator between images and data, by subsets.

use std::ops::Range;

use super::{Misfit, OperatorLimit, Subset};
use crate::algebra::{Backend, BackendError, Data, Image};
use crate::coded::coded;
use crate::named::named;
use crate::task::{Stopped, Task};

named! {
    "an accumulation";
    /// Accumulation of a backprojection when several threads meet in a voxel.
    ///
    /// A menu shows the variants in this order; the command line and files have their names.
    ///
    /// ```
    /// use tomoscope_engine::operator::Accumulation;
    ///
    /// let accumulation: Accumulation = "non-atomic".parse()?;
    /// assert_eq!(accumulation, Accumulation::NonAtomic);
    /// assert!("fast".parse::<Accumulation>().is_err());
    /// # Ok::<(), String>(())
    /// ```
    pub enum Accumulation {
        /// Every addition arrives, in any order: results differ in the last digits from run to run.
        Atomic,
        /// Load, add, store without protection: additions are lost when threads meet (the race of Belzunce et al. 2012,
        /// section 2.4). Not for diagnosis.
        NonAtomic,
        /// Every addition arrives in a fixed order: the same bits on every run and for any number of threads.
        Deterministic,
        /// A second order of the system matrix, in which each function gathers its sum (Cabello et al. 2012, section 3.1).
        Reload,
        /// Lines in random order, atomic additions in the two central slices and others without protection (ibid.): it races a
        /// little.
        RandomCentralAtomic,
    }
}

impl Accumulation {
    /// The ways that projectors along lines know.
    pub const OF_LINES: &'static [Accumulation] = &[Accumulation::Atomic, Accumulation::NonAtomic, Accumulation::Deterministic];

    /// Accumulations of system matrices.
    pub const OF_MATRICES: &'static [Accumulation] = &[
        Accumulation::Deterministic,
        Accumulation::Atomic,
        Accumulation::NonAtomic,
        Accumulation::Reload,
        Accumulation::RandomCentralAtomic,
    ];

    /// Returns true if additions may be lost.
    pub fn has_race(self) -> bool {
        matches!(self, Accumulation::NonAtomic | Accumulation::RandomCentralAtomic)
    }
}

/// Reason why an operator could not be applied.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum OperatorError {
    /// The work was stopped.
    #[error(transparent)]
    Stopped(#[from] Stopped),
    /// The device failed.
    #[error(transparent)]
    Backend(#[from] BackendError),
    /// An array has the wrong length.
    #[error("an array for {what} has {found} values where {expected} were expected")]
    Length {
        /// Which array.
        what: &'static str,
        /// Expected number of values.
        expected: usize,
        /// Number of values found.
        found: usize,
    },
    /// A setting that the device does not allow.
    #[error(transparent)]
    Settings(#[from] OperatorLimit),
    /// The projector does not apply to this geometry.
    #[error("this projector does not fit: {misfit}{advice}", misfit = .0, advice = .0.advice())]
    Unsuitable(#[from] Misfit),
}

coded!(OperatorError = "projector"; Stopped, Backend);

/// Measured data of a subset.
pub struct Measured<'a, B: Backend> {
    /// All data.
    pub values: &'a B::Array<Data>,
    /// Places of the data of the subset ([`DataSpace::pieces`](super::DataSpace::pieces)).
    pub pieces: &'a [(usize, Range<usize>)],
}

/// A and Aᵀ on the arrays of one back end: from the coefficients of an [`ImageSpace`](crate::algebra::ImageSpace) to the data of
/// a subset of a [`DataSpace`](super::DataSpace), in the order of both. It owns what memory it works in.
pub trait LinearOperator<B: Backend>: Send {
    /// `out` = A x for the data of a subset, overwriting `out` (values behind those of the subset are left alone).
    ///
    /// # Errors
    /// Stopped, device failure, wrong lengths.
    fn apply(
        &self,
        backend: &mut B,
        subset: Subset,
        x: &B::Array<Image>,
        out: &mut B::Array<Data>,
        task: &Task,
    ) -> Result<(), OperatorError>;

    /// `out` = A x as a ratio of measured to expected data needs it, of an image without negative values: no value is below 0,
    /// and none with counts is so small that it may be rounding. An operator that adds terms ≥ 0 alone has both from `apply`.
    ///
    /// # Errors
    /// Stopped, device failure, wrong lengths.
    fn expect(
        &self,
        backend: &mut B,
        subset: Subset,
        x: &B::Array<Image>,
        _measured: &Measured<'_, B>,
        out: &mut B::Array<Data>,
        task: &Task,
    ) -> Result<(), OperatorError> {
        self.apply(backend, subset, x, out, task)
    }

    /// `out` = Aᵀ q for the data of a subset, overwriting `out`.
    ///
    /// # Errors
    /// Stopped, device failure, wrong lengths.
    fn adjoint(
        &self,
        backend: &mut B,
        subset: Subset,
        q: &B::Array<Data>,
        accumulation: Accumulation,
        out: &mut B::Array<Image>,
        task: &Task,
    ) -> Result<(), OperatorError>;

    /// Returns how many images [`LinearOperator::expect_each`] and [`LinearOperator::adjoint_each`] take at most where one way
    /// through the data serves them all; 1 = each needs its own.
    fn num_at_once(&self, _: Accumulation) -> usize {
        1
    }

    /// [`LinearOperator::expect`] of several images, each with its own measured data: here one after the other.
    ///
    /// # Errors
    /// Stopped, device failure, wrong lengths.
    fn expect_each(
        &self,
        backend: &mut B,
        subset: Subset,
        images: &[&B::Array<Image>],
        measured: &[Measured<'_, B>],
        out: &mut [&mut B::Array<Data>],
        task: &Task,
    ) -> Result<(), OperatorError> {
        let each = images.iter().zip(measured).zip(out);
        each.into_iter().try_for_each(|((x, measured), out)| self.expect(backend, subset, x, measured, out, task))
    }

    /// [`LinearOperator::adjoint`] of several data: here one after the other.
    ///
    /// # Errors
    /// Stopped, device failure, wrong lengths.
    fn adjoint_each(
        &self,
        backend: &mut B,
        subset: Subset,
        q: &[&B::Array<Data>],
        accumulation: Accumulation,
        out: &mut [&mut B::Array<Image>],
        task: &Task,
    ) -> Result<(), OperatorError> {
        q.iter().zip(out).try_for_each(|(q, out)| self.adjoint(backend, subset, q, accumulation, out, task))
    }

    /// Returns the ways in which `adjoint` can add.
    fn accumulations(&self) -> &'static [Accumulation];

    /// Returns the bytes of one call without its arguments, for the forecast of a run.
    fn scratch_bytes(&self, subset: Subset, accumulation: Accumulation) -> u64;
}
