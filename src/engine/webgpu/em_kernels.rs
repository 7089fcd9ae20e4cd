//! The kernels of EM (`shaders/compute/arrays.wgsl`, `columns.wgsl`, `reductions.wgsl`, `pairs.wgsl`; the definition is
//! [`EmKernels`] on the host).

use std::ops::Range;

use bytemuck::{Pod, Zeroable};

use super::array::{Segment, WebGpuArray, in_both};
use super::backend::{Span, WebGpuBackend};
use super::kernel::{Kernel, THREADS};
use crate::algebra::{BackendError, ColumnLayout, Data, Image};
use crate::recon::{EmKernels, MAX_RATIO, MIN_SENSITIVITY, PoissonTerms, check_places};

/// `Columns` of columns.wgsl.
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
struct ColumnsOf {
    len: u32,
    width: u32,
    first: u32,
    num: u32,
    least: f32,
    first_column: u32,
    num_columns: u32,
}

/// `Pairs` of pairs.wgsl.
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
struct Pairs {
    num_columns: u32,
    first: u32,
    len: u32,
}

impl WebGpuBackend {
    /// Dispatches a kernel on three images of one length.
    fn on_images(&mut self, kernel: &Kernel, [x, y, z]: [&WebGpuArray<Image>; 3]) -> Result<(), BackendError> {
        y.expect_len(x.len())?;
        z.expect_len(x.len())?;
        for ((x, y), z) in x.0.all().zip(y.0.all()).zip(z.0.all()) {
            let span = Span { len: x.places.len() as u32, ..Span::default() };
            self.dispatch_each(kernel, span, &[x.buffer, y.buffer, z.buffer]);
        }
        Ok(())
    }
}

impl EmKernels for WebGpuBackend {
    fn poisson_ratio(
        &mut self,
        y: &WebGpuArray<Data>,
        range: Range<usize>,
        estimate: &mut WebGpuArray<Data>,
        at: usize,
    ) -> Result<PoissonTerms, BackendError> {
        y.expect_range(&range)?;
        estimate.expect_range(&(at..at + range.len()))?;
        let parts = in_both(&estimate.0, at, &y.0, range);
        let lens: Vec<usize> = parts.iter().map(|part| part.len).collect();
        let kernel = self.kernels.poisson_ratio.clone();
        let found = self.reduce::<6>(&lens, |commands, part, num_groups, partial| {
            let both = &parts[part];
            let span = Span { x_at: both.y_at as u32, y_at: both.x_at as u32, len: both.len as u32, value: MAX_RATIO };
            commands.dispatch(&kernel, num_groups, &span, &[partial, both.y, both.x]);
        })?;
        let mut sum = PoissonTerms::default();
        found.into_iter().for_each(|terms| sum += terms.map(f64::from).into());
        Ok(sum)
    }

    fn em_update(
        &mut self,
        x: &mut WebGpuArray<Image>,
        backprojected_ratio: &WebGpuArray<Image>,
        sensitivity: &WebGpuArray<Image>,
    ) -> Result<(), BackendError> {
        let kernel = self.kernels.em_update.clone();
        self.on_images(&kernel, [x, backprojected_ratio, sensitivity])
    }

    fn drop_rounding(&mut self, sensitivity: &mut WebGpuArray<Image>, columns: ColumnLayout) -> Result<(), BackendError> {
        let ColumnLayout { count, len, width } = columns;
        sensitivity.expect_range(&(0..count * len))?;
        let largest = self.memory(count, 4)?;
        let [find, drop] = [self.kernels.find_largest.clone(), self.kernels.drop_rounding.clone()];
        for kernel in [find, drop] {
            for Segment { buffer, places } in sensitivity.0.all() {
                // (The values behind the last column belong to none.)
                let (first, num) = (places.start as u32, places.end.min(count * len).saturating_sub(places.start) as u32);
                for largest in largest.all() {
                    let columns = ColumnsOf {
                        len: len as u32,
                        width: width as u32,
                        first,
                        num,
                        least: MIN_SENSITIVITY,
                        first_column: largest.places.start as u32,
                        num_columns: largest.places.len() as u32,
                    };
                    self.commands.dispatch(&kernel, largest.places.len().div_ceil(THREADS), &columns, &[buffer, largest.buffer]);
                }
            }
        }
        Ok(())
    }

    fn masked(
        &mut self,
        out: &mut WebGpuArray<Image>,
        x: &WebGpuArray<Image>,
        sensitivity: &WebGpuArray<Image>,
    ) -> Result<(), BackendError> {
        let kernel = self.kernels.masked.clone();
        self.on_images(&kernel, [out, x, sensitivity])
    }

    fn pair_products(
        &mut self,
        table: &[f32],
        rows: &[[u32; 2]],
        columns: &[[u32; 2]],
    ) -> Result<WebGpuArray<Data>, BackendError> {
        check_places(table, rows, columns)?;
        let out = self.memory(rows.len() * columns.len(), 4)?;
        let (table, row_table, column_table) = (self.table(table)?, self.table(rows)?, self.table(columns)?);
        let kernel = self.kernels.pair_products.clone();
        for Segment { buffer, places } in out.all() {
            let (first, len) = (places.start as u32, places.len() as u32);
            let pairs = Pairs { num_columns: columns.len().max(1) as u32, first, len };
            let buffers = [buffer, &table, &row_table, &column_table];
            self.commands.dispatch(&kernel, places.len().div_ceil(THREADS), &pairs, &buffers);
        }
        Ok(out.into())
    }
}
