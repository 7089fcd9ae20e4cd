//! Backprojection in 64-bit fixed point: integers add up to the same bits in any order. The scale 2^(62 − ⌈log₂ b⌉), with b ≥
//! max_j s_j · max_i |q_i| ≥ |Σ_i a_ij q_i|, makes an overflow impossible. The sensitivities s_j, themselves sums of integers, have
//! the bound of their number of data times the longest way through a voxel.

use std::collections::HashMap;

use super::array::{Segments, WebGpuArray, in_both};
use super::backend::{Span, WebGpuBackend};
use super::error::WebGpuError;
use crate::algebra::{Backend as _, Data, Image};
use crate::operator::{OperatorError, Subset};

/// Rounding of the sums that the bound comes from.
const MARGIN: f64 = 1.01;

/// Image of integers, and the largest sensitivities once they are known.
#[derive(Default)]
pub(super) struct FixedPoint {
    image: Option<Segments>,
    /// By number and count of the subset.
    largest_sensitivity: HashMap<(usize, usize), f32>,
}

impl FixedPoint {
    /// Backprojects `q` through integers. `add` adds the backprojection of data to integers of units of 1 over a scale;
    /// `largest_element` = the largest element of the matrix.
    pub fn backproject(
        &mut self,
        backend: &mut WebGpuBackend,
        subset: Subset,
        (q, data_len): (&WebGpuArray<Data>, usize),
        largest_element: f64,
        out: &mut WebGpuArray<Image>,
        mut add: impl FnMut(&mut WebGpuBackend, &WebGpuArray<Data>, &Segments, f32) -> Result<(), OperatorError>,
    ) -> Result<(), OperatorError> {
        let image = match &mut self.image {
            Some(image) if image.len == out.len() => image,
            image => image.insert(backend.memory(out.len(), size_of::<u64>())?),
        };
        let mut sum = |backend: &mut WebGpuBackend, q: &WebGpuArray<Data>, bound: f64, out: &mut WebGpuArray<Image>| {
            // Powers of two: scaling is exact. An f32 holds them from 2^-126 to 2^127.
            let exponent = (62.0 - bound.log2().ceil()).clamp(-126.0, 126.0);
            backend.clear(image);
            add(backend, q, image, exponent.exp2() as f32)?;
            backend.values_of_units(image, (-exponent).exp2() as f32, out);
            Ok::<(), OperatorError>(())
        };
        let key = (subset.index, subset.count);
        let largest_sensitivity = match self.largest_sensitivity.get(&key) {
            Some(&largest) => largest,
            None => {
                let mut ones = backend.zeros(data_len)?;
                backend.fill(&mut ones, 1.0)?;
                sum(backend, &ones, MARGIN * largest_element * data_len.max(1) as f64, out)?;
                let largest = backend.largest(&out.0, out.len(), false)?;
                self.largest_sensitivity.insert(key, largest);
                largest
            }
        };
        let largest_magnitude = backend.largest(&q.0, data_len, true)?;
        let bound = MARGIN * f64::from(largest_sensitivity) * f64::from(largest_magnitude);
        if !bound.is_finite() {
            return Err(WebGpuError::NotFinite.into());
        }
        if bound <= 0.0 {
            backend.set(&out.0, 0.0);
            return Ok(());
        }
        sum(backend, q, bound, out)
    }
}

impl WebGpuBackend {
    /// `out` = integers times a scale.
    fn values_of_units(&mut self, units: &Segments, scale: f32, out: &mut WebGpuArray<Image>) {
        let kernel = self.kernels.from_fixed.clone();
        for both in in_both(&out.0, 0, units, 0..units.len) {
            let span = Span { x_at: both.x_at as u32, y_at: both.y_at as u32, len: both.len as u32, value: scale };
            self.dispatch_each(&kernel, span, &[both.x, both.y]);
        }
    }
}
