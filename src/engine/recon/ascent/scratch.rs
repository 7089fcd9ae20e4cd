//! Working memory of algorithms that climb.

use super::objective::Objective;
use crate::algebra::{BackendError, Image, ImageSpace};
use crate::recon::{EmKernels, ForwardModel};

/// Images without a meaning between two steps; the run and its replicates share them.
pub(super) struct Scratch<B: EmKernels> {
    pub direction: B::Array<Image>,
    pub ratio: B::Array<Image>,
    pub other: B::Array<Image>,
    /// The image whose optimality residual is computed.
    pub original: B::Array<Image>,
    /// An image of its last step.
    pub last: B::Array<Image>,
    /// 1 where the sensitivity is above 0.
    pub ones: B::Array<Image>,
}

impl<B: EmKernels> Scratch<B> {
    pub fn new<M: ForwardModel<B>, S: ImageSpace<B>>(objective: &mut Objective<B, M, S>) -> Result<Self, BackendError> {
        let [direction, ratio, other] = [objective.zeros()?, objective.zeros()?, objective.zeros()?];
        Ok(Self { direction, ratio, other, original: objective.zeros()?, last: objective.zeros()?, ones: objective.zeros()? })
    }
}
