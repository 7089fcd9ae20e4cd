//! Scale of a backprojection in 64-bit fixed point, for every GPU: 2^(62 − ⌈log₂ b⌉), where the bound b ≥ |Σ_i a_ij q_i| makes an
//! overflow impossible. The bound of ones is largest element × number of data, that of other data largest sensitivity × largest
//! |q|. Both are free of the order in which threads add, so every run has the same scale.

/// Rounding of the elements and of their sums.
const MARGIN: f64 = 1.01;

/// Returns the bound of a backprojection of ones.
pub fn bound_of_ones(largest_element: f64, num_data: f64) -> f64 {
    MARGIN * largest_element * num_data.max(1.0)
}

/// Returns the bound of a backprojection. `largest_sensitivity` = the largest value of that of ones, `largest_magnitude` = the
/// largest |q|.
pub fn bound_of_data(largest_sensitivity: f32, largest_magnitude: f32) -> f64 {
    MARGIN * f64::from(largest_sensitivity) * f64::from(largest_magnitude)
}

/// Returns the exponent of the scale for a positive, finite bound, so that scaling is exact. An f32 holds it and its inverse.
pub fn scale_exponent(bound: f64) -> f64 {
    const MANTISSA_BITS: u32 = f64::MANTISSA_DIGITS - 1;
    let bits = bound.max(f64::MIN_POSITIVE).to_bits();
    // By the bits: a rounded logarithm can lie on the other side of a whole number.
    let floor = (bits >> MANTISSA_BITS) as i32 - 1023;
    let is_power_of_two = bits & ((1 << MANTISSA_BITS) - 1) == 0;
    f64::from(62 - floor - i32::from(!is_power_of_two)).clamp(-126.0, 126.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{shuffled, stream};

    #[test]
    fn a_bound_at_a_power_of_two_has_the_exponent_of_its_side() {
        for power in [-60, -8, -1, 0, 1, 20, 45, 62, 100] {
            let at = f64::from(power).exp2();
            let expected = f64::from(62 - power);
            assert_eq!([at.next_down(), at, at.next_up()].map(scale_exponent), [expected, expected, expected - 1.0], "2^{power}");
        }
        assert_eq!([f64::MIN_POSITIVE, 1e-60, 1e60].map(scale_exponent), [126.0, 126.0, -126.0]);
    }

    /// Bounds 1.01 · max s · max |q| about a power of two: the scaled bound is in (2^61, 2^62], so that integers do not overflow and
    /// lose no more than a bit.
    #[test]
    fn sums_about_a_power_of_two_fill_the_integers_and_do_not_overflow() {
        for largest_sensitivity in [1.0_f32, 3.7, 1234.567, 8.1e6] {
            for power in [-20, 0, 3, 30] {
                let q = (f64::from(power).exp2() / (1.01 * f64::from(largest_sensitivity))) as f32;
                for q in [q.next_down(), q, q.next_up()] {
                    for s in [largest_sensitivity.next_down(), largest_sensitivity, largest_sensitivity.next_up()] {
                        let bound = bound_of_data(s, q);
                        let scaled = bound * scale_exponent(bound).exp2();
                        assert!(scaled > 61.0_f64.exp2() && scaled <= 62.0_f64.exp2(), "{s} {q}: {scaled:e}");
                    }
                }
            }
        }
    }

    /// The terms of one sensitivity in 200 orders: f32 sums differ, so a bound at a power of two has two exponents; sums of
    /// integers in units of the bound of ones have one.
    #[test]
    fn the_exponent_is_the_same_for_every_order_of_the_additions() {
        let mut random = stream(17, 0);
        let terms: Vec<f32> = (0..20_000).map(|_| 2.7 * random.next_u32() as f32 / 2.0_f32.powi(32)).collect();
        let scale = scale_exponent(bound_of_ones(2.8, terms.len() as f64)).exp2() as f32;
        let (mut by_floats, mut by_units) = (Vec::new(), Vec::new());
        for _ in 0..200 {
            let order: Vec<f32> = shuffled(terms.len() as u32, &mut random).into_iter().map(|i| terms[i as usize]).collect();
            by_floats.push(order.iter().sum::<f32>());
            by_units.push(order.iter().map(|term| (term * scale).round() as i64).sum::<i64>());
        }
        by_floats.sort_by(f32::total_cmp);
        let [low, high] = [by_floats[0], by_floats[199]];
        assert!(low < high, "f32 sums in every order are equal");
        assert!(by_units.iter().all(|sum| *sum == by_units[0]));
        let exact: f64 = terms.iter().map(|term| f64::from(*term)).sum();
        let found = by_units[0] as f64 / f64::from(scale);
        assert!((found - exact).abs() <= 1e-9 * exact, "{found} {exact}");
        // A |q| for which the least and the largest f32 sum lie on two sides of a power of two.
        let between = 0.5 * (f64::from(low) + f64::from(high));
        let q = (1..10_000).map(|k| ((k as f64).log2().floor() + 3.0).exp2() / (1.01 * between)).map(|q| q as f32);
        let mut near = q.flat_map(|q| [q.next_down(), q, q.next_up()]);
        let differs = near.any(|q| scale_exponent(bound_of_data(low, q)) != scale_exponent(bound_of_data(high, q)));
        assert!(differs, "no |q| separates {low} from {high}");
    }
}
