//! The kernels of EM (`kernels/em_update.cu`, `kernels/reductions.cu`; the definition is [`EmKernels`] on the host).

use std::ops::Range;

use super::backend::REDUCTION;
use super::kernel::{launch, one_each};
use super::{CudaArray, CudaBackend};
use crate::algebra::{BackendError, Data, Image};
use crate::recon::{DataResidual, EmKernels, PoissonTerms};

impl EmKernels for CudaBackend {
    fn poisson_ratio(
        &mut self,
        y: &CudaArray<Data>,
        range: Range<usize>,
        estimate: &mut CudaArray<Data>,
        at: usize,
        least: f32,
    ) -> Result<PoissonTerms, BackendError> {
        let count = range.len() as u64;
        let mut estimate = estimate.piece_mut(at..at + range.len())?;
        let y = y.piece(range)?;
        launch!(self.stream, self.kernels.poisson_ratio, REDUCTION, &y, &mut estimate, &least, &mut self.partial, &count)?;
        let mut sum = PoissonTerms::default();
        for [log_likelihood, counts, impossible, squares, expected] in self.partial::<5>()? {
            let residual = DataResidual { squares, expected };
            sum += PoissonTerms { log_likelihood, counts, num_impossible_bins: impossible as usize, residual };
        }
        Ok(sum)
    }

    fn em_update(
        &mut self,
        x: &mut CudaArray<Image>,
        correction: &CudaArray<Image>,
        sensitivity: &CudaArray<Image>,
        least: f32,
    ) -> Result<(), BackendError> {
        let len = x.len();
        correction.expect_len(len)?;
        sensitivity.expect_len(len)?;
        let count = len as u64;
        let shape = one_each(len);
        Ok(launch!(self.stream, self.kernels.em_update, shape, &mut x.0, &correction.0, &sensitivity.0, &least, &count)?)
    }
}
