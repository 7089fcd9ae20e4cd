//! The kernels of EM (`kernels/em_update.cu`, `kernels/arrays.cu`, `kernels/reductions.cu`; the definition is [`EmKernels`] on
//! the host).

use std::ops::Range;

use super::backend::{CudaArray, CudaBackend, REDUCTION};
use super::kernel::one_each;
use crate::algebra::{Backend as _, BackendError, ColumnLayout, Data, Image};
use crate::recon::{EmKernels, MAX_RATIO, MIN_SENSITIVITY, PoissonTerms, check_places};

impl EmKernels for CudaBackend {
    fn poisson_ratio(
        &mut self,
        y: &CudaArray<Data>,
        range: Range<usize>,
        estimate: &mut CudaArray<Data>,
        at: usize,
    ) -> Result<PoissonTerms, BackendError> {
        let count = range.len() as u64;
        let mut estimate = estimate.piece_mut(at..at + range.len())?;
        let y = y.piece(range)?;
        let poisson_ratio = &self.kernels.reductions.poisson_ratio;
        poisson_ratio.launch(&self.stream, REDUCTION, &y, &mut estimate, MAX_RATIO, &mut self.partial, count)?;
        let mut sum = PoissonTerms::default();
        self.partial::<6>()?.into_iter().for_each(|terms| sum += terms.into());
        Ok(sum)
    }

    fn em_update(
        &mut self,
        x: &mut CudaArray<Image>,
        backprojected_ratio: &CudaArray<Image>,
        sensitivity: &CudaArray<Image>,
    ) -> Result<(), BackendError> {
        let len = x.len();
        backprojected_ratio.expect_len(len)?;
        sensitivity.expect_len(len)?;
        let em_update = &self.kernels.em.em_update;
        Ok(em_update.launch(&self.stream, one_each(len), &mut x.0, &backprojected_ratio.0, &sensitivity.0, len as u64)?)
    }

    fn drop_rounding(&mut self, sensitivity: &mut CudaArray<Image>, columns: ColumnLayout) -> Result<(), BackendError> {
        let ColumnLayout { count, len, width } = columns;
        sensitivity.piece(0..count * len)?;
        let (shape, len, width, count) = (one_each(count), len as u32, width as u64, count as u64);
        let drop_rounding = &self.kernels.em.drop_rounding;
        Ok(drop_rounding.launch(&self.stream, shape, &mut sensitivity.0, MIN_SENSITIVITY, len, width, count)?)
    }

    fn masked(
        &mut self,
        out: &mut CudaArray<Image>,
        x: &CudaArray<Image>,
        sensitivity: &CudaArray<Image>,
    ) -> Result<(), BackendError> {
        let len = out.len();
        x.expect_len(len)?;
        sensitivity.expect_len(len)?;
        Ok(self.kernels.em.seen.launch(&self.stream, one_each(len), &mut out.0, &x.0, &sensitivity.0, len as u64)?)
    }

    fn pair_products(&mut self, table: &[f32], rows: &[[u32; 2]], columns: &[[u32; 2]]) -> Result<CudaArray<Data>, BackendError> {
        check_places(table, rows, columns)?;
        let (len, num_columns) = (rows.len() * columns.len(), columns.len() as u32);
        let mut out = self.zeros(len)?;
        let (table, rows, columns) = (self.table(table, 0.0)?, self.table(rows, [0; 2])?, self.table(columns, [0; 2])?);
        let pair_products = &self.kernels.arrays.pair_products;
        pair_products.launch(&self.stream, one_each(len), &mut out.0, &table, &rows, &columns, num_columns, len as u64)?;
        Ok(out)
    }
}
