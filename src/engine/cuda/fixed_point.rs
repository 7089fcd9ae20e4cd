//! Backprojection in 64-bit fixed point: integers add up to the same bits in any order. The largest sensitivity, from which
//! [`scale_exponent`] has the scale of data, is a sum of integers too. A group has one scale, that of all its data: its integers
//! add up to the bits that one device alone has.

use std::collections::HashMap;

use cudarc::driver::CudaSlice;

use super::backend::{CudaArray, CudaBackend};
use super::device::driver;
use super::error::CudaError;
use super::kernel::one_each;
use crate::algebra::{Backend, Data, Image};
use crate::operator::{OperatorError, Subset, bound_of_data, bound_of_ones, scale_exponent};

/// Target of a backprojection.
pub(super) enum Sum<'a> {
    /// Image.
    Values(&'a mut CudaSlice<f32>),
    /// Image in 64-bit fixed point, with its scale, units of 1.
    Units(&'a mut CudaSlice<u64>, f32),
}

impl Sum<'_> {
    /// Borrows the target for a shorter time.
    pub fn again(&mut self) -> Sum<'_> {
        match self {
            Self::Values(image) => Sum::Values(image),
            Self::Units(image, scale) => Sum::Units(image, *scale),
        }
    }
}

/// Image of integers, and the largest sensitivities once they are known.
#[derive(Default)]
pub(super) struct FixedPoint {
    image: Option<CudaSlice<u64>>,
    /// By number and count of the subset, and whether it is that of a whole group.
    largest_sensitivity: HashMap<(usize, usize, bool), f32>,
}

impl FixedPoint {
    /// Backprojects `q` through integers. `add` adds the backprojection of data to integers of units of 1 over a scale;
    /// `largest_element` = a bound of the elements of the matrix.
    pub fn backproject(
        &mut self,
        backend: &mut CudaBackend,
        subset: Subset,
        (q, data_len): (&CudaArray<Data>, usize),
        largest_element: f64,
        out: &mut CudaArray<Image>,
        mut add: impl FnMut(&mut CudaBackend, &CudaArray<Data>, Sum<'_>) -> Result<(), OperatorError>,
    ) -> Result<(), OperatorError> {
        let len = out.len();
        let image = match &mut self.image {
            Some(image) if image.len() == len => image,
            image => image.insert(driver::zeros(&backend.stream, len)?),
        };
        let mut sum = |backend: &mut CudaBackend, q: &CudaArray<Data>, bound: f64, out: &mut CudaArray<Image>| {
            let exponent = scale_exponent(bound);
            driver::clear(&backend.stream, image)?;
            add(backend, q, Sum::Units(image, exponent.exp2() as f32))?;
            backend.sum_over_group(image)?;
            let from_fixed = &backend.kernels.arrays.from_fixed;
            from_fixed.launch(&backend.stream, one_each(len), &mut out.0, image, (-exponent).exp2(), len as u64)?;
            Ok::<(), OperatorError>(())
        };
        let key = (subset.index, subset.count, backend.peers.group.meeting().is_some());
        let largest_sensitivity = match self.largest_sensitivity.get(&key) {
            Some(&largest) => largest,
            None => {
                let [num_data] = backend.peers.group.sums([data_len as f64])?;
                let mut ones = backend.zeros(data_len)?;
                backend.fill(&mut ones, 1.0)?;
                sum(backend, &ones, bound_of_ones(largest_element, num_data), out)?;
                let largest = backend.max(out, 0..len)?;
                self.largest_sensitivity.insert(key, largest);
                largest
            }
        };
        let largest_magnitude = backend.largest_magnitude(q, data_len)?;
        let largest_magnitude = backend.peers.group.largest(largest_magnitude)?;
        let bound = bound_of_data(largest_sensitivity, largest_magnitude);
        if !bound.is_finite() {
            return Err(CudaError::NotFinite.into());
        }
        if bound <= 0.0 {
            return Ok(backend.clear(out)?);
        }
        sum(backend, q, bound, out)
    }
}
