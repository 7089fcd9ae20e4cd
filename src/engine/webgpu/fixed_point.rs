//! Backprojection in 64-bit fixed point: integers add up to the same bits in any order. The largest sensitivity, from which
//! [`crate::operator::scale_exponent`] has the scale of data, is a sum of integers too.

use std::collections::HashMap;

use super::array::{Segments, WebGpuArray, in_both};
use super::backend::{Span, WebGpuBackend};
use super::error::WebGpuError;
use crate::algebra::{Backend as _, Data, Image};
use crate::operator::{OperatorError, Subset, bound_of_data, bound_of_ones, scale_exponent};

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
            let exponent = scale_exponent(bound);
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
                sum(backend, &ones, bound_of_ones(largest_element, data_len as f64), out)?;
                let largest = backend.largest(&out.0, out.len(), false)?;
                self.largest_sensitivity.insert(key, largest);
                largest
            }
        };
        let largest_magnitude = backend.largest(&q.0, data_len, true)?;
        let bound = bound_of_data(largest_sensitivity, largest_magnitude);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::webgpu::DeviceOptions;

    /// A whole GPU and one with the least that WebGPU guarantees, with arrays in short buffers; none, printed, without a GPU.
    fn backends() -> Vec<WebGpuBackend> {
        let whole = match WebGpuBackend::open_with(0, DeviceOptions::all_of) {
            Ok(whole) => whole,
            Err(error) => {
                assert!(std::env::var_os("TOMOSCOPE_REQUIRE_WEBGPU").is_none(), "{error}");
                println!("skipped: {error}");
                return Vec::new();
            }
        };
        let short = DeviceOptions { segment_bytes: 64 << 10, ..DeviceOptions::least() };
        vec![whole, WebGpuBackend::open_with(0, |_| short).unwrap()]
    }

    #[test]
    fn integers_near_the_bound_of_both_signs_come_back_right() {
        let magnitudes =
            [0, 1, 3, (1 << 24) + 1, (1 << 31) - 1, 1 << 31, u32::MAX.into(), 1 << 32, 0x12_3456_7890_abcd, (1 << 62) - 1];
        let units: Vec<i64> = (0..20_000).flat_map(|_| magnitudes.into_iter().flat_map(|m: i64| [m, -m])).collect();
        for mut backend in backends() {
            let fixed = backend.copied(&units).unwrap();
            let mut values: WebGpuArray<Image> = backend.zeros(units.len()).unwrap();
            for exponent in [-100, -62, 0, 40] {
                backend.values_of_units(&fixed, f64::from(exponent).exp2() as f32, &mut values);
                let found = backend.read(&values, <[f32]>::to_vec).unwrap();
                for (found, unit) in found.into_iter().zip(&units) {
                    let expected = *unit as f64 * f64::from(exponent).exp2();
                    assert!((f64::from(found) - expected).abs() <= 1e-7 * expected.abs(), "{unit}, 2^{exponent}: {found}");
                }
            }
        }
    }

    #[test]
    fn the_largest_value_is_found_among_all_that_an_f32_can_be() {
        let tiny = f32::from_bits(1);
        for mut backend in backends() {
            let mut largest = |values: &[f32], is_magnitude: bool| {
                // In the middle of the last buffer, behind smaller values.
                let smallest = values.iter().copied().fold(f32::MAX, |least, value| if value < least { value } else { least });
                let all = [vec![if is_magnitude { 0.0 } else { smallest }; 50_000], values.to_vec()].concat();
                let x = backend.copied(&all).unwrap();
                backend.largest(&x, all.len(), is_magnitude).unwrap()
            };
            for (values, is_magnitude, expected) in [
                (&[-3.0, -2.0, -f32::MAX][..], false, -2.0),
                (&[-3.0, -2.0, -f32::MAX], true, f32::MAX),
                (&[-0.0, -tiny, tiny], false, tiny),
                (&[-1.0, 0.0], false, 0.0),
                (&[f32::MIN_POSITIVE, -2.0 * f32::MIN_POSITIVE], true, 2.0 * f32::MIN_POSITIVE),
                (&[1.0, f32::INFINITY], false, f32::INFINITY),
                (&[1.0, f32::NEG_INFINITY], true, f32::INFINITY),
                (&[f32::NEG_INFINITY, f32::NEG_INFINITY], false, f32::NEG_INFINITY),
            ] {
                assert_eq!(largest(values, is_magnitude), expected, "{values:?}");
            }
            for no_number in [f32::NAN, -f32::NAN, f32::from_bits(0x7f80_0001), f32::from_bits(0xffff_ffff)] {
                assert!(
                    [false, true]
                        .map(|is_magnitude| largest(&[1.0, no_number, f32::INFINITY], is_magnitude))
                        .iter()
                        .all(|v| v.is_nan())
                );
            }
            let none = backend.copied::<f32>(&[]).unwrap();
            assert_eq!(
                [true, false].map(|is_magnitude| backend.largest(&none, 0, is_magnitude).unwrap()),
                [0.0, f32::NEG_INFINITY]
            );
        }
    }
}
