//! Differences of numbers and images.

use super::finite;

/// Returns ‖a − b‖ / ‖b‖, NaN if b is all zero.
pub fn relative_difference<T: Copy + Into<f64>>(a: &[T], b: &[T]) -> f64 {
    let square = |value: f64| value * value;
    let difference: f64 = a.iter().zip(b).map(|(&a, &b)| square(a.into() - b.into())).sum();
    let norm: f64 = b.iter().map(|&b| square(b.into())).sum();
    (difference / norm).sqrt()
}

/// Returns the correlation coefficient of two images, value by value (Cabello et al. 2012, equation 5); `None` where one has a
/// single value everywhere.
///
/// CC = Σ (a − ā)(b − b̄) / √(Σ (a − ā)² Σ (b − b̄)²)
pub fn correlation(a: &[f32], b: &[f32]) -> Option<f64> {
    let mean = |values: &[f32]| values.iter().map(|&value| f64::from(value)).sum::<f64>() / values.len() as f64;
    let (mean_a, mean_b) = (mean(a), mean(b));
    let [products, of_a, of_b] = a.iter().zip(b).fold([0.0; 3], |[products, of_a, of_b], (&a, &b)| {
        let (a, b) = (f64::from(a) - mean_a, f64::from(b) - mean_b);
        [products + a * b, of_a + a * a, of_b + b * b]
    });
    // The sums are rounded, and those of images that are alike may be so beyond one.
    finite(products / (of_a * of_b).sqrt()).map(|correlation| correlation.clamp(-1.0, 1.0))
}

/// Returns where |a − b| is largest, and a − b there; pairs that differ by no finite number are passed over. `None` where the
/// others are equal.
pub fn largest_difference(a: &[f32], b: &[f32]) -> Option<(usize, f64)> {
    let differences = a.iter().zip(b).map(|(&a, &b)| f64::from(a) - f64::from(b)).enumerate();
    differences
        .filter(|(_, difference)| difference.is_finite() && *difference != 0.0)
        .max_by(|(_, a), (_, b)| a.abs().total_cmp(&b.abs()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tenth_by_hand() {
        assert_eq!(relative_difference(&[3.0f32, 0.5, 4.0], &[3.0, 0.0, 4.0]), 0.1);
        assert_eq!(relative_difference(&[1.0], &[1.0]), 0.0);
        assert!(relative_difference(&[0.0], &[0.0]).is_nan());
    }

    #[test]
    fn the_largest_difference_has_its_sign_and_place() {
        assert_eq!(largest_difference(&[1.0, 5.0, 2.0, f32::NAN], &[1.5, 5.0, 5.0, 0.0]), Some((2, -3.0)));
        assert_eq!(largest_difference(&[f32::INFINITY, 2.0], &[1.0, 2.0]), None);
    }

    #[test]
    fn correlation_by_hand() {
        assert_eq!(correlation(&[1.0, 2.0, 3.0], &[5.0, 7.0, 9.0]), Some(1.0));
        assert_eq!(correlation(&[1.0, 2.0, 3.0], &[3.0, 2.0, 1.0]), Some(-1.0));
        // Deviations −1, 0, 1 and −1, 1, 0: 1 / √(2 · 2).
        assert!((correlation(&[1.0, 2.0, 3.0], &[1.0, 3.0, 2.0]).unwrap() - 0.5).abs() < 1e-15);
        assert_eq!(correlation(&[1.0, 1.0], &[1.0, 2.0]), None);
        assert_eq!(correlation(&[], &[]), None);
    }

    #[test]
    fn images_that_are_alike_are_not_more_than_the_same() {
        for seed in 1..200u32 {
            let a: Vec<f32> =
                (0..500).map(|i: u32| (i.wrapping_mul(seed.wrapping_mul(2_654_435_761) % 1013) % 997) as f32).collect();
            let b: Vec<f32> =
                a.iter().enumerate().map(|(i, a)| a * (1.0 + if i % 3 == 0 { f32::EPSILON } else { 0.0 })).collect();
            let found = correlation(&a, &b).unwrap();
            assert!(found <= 1.0 && found > 1.0 - 1e-12, "{found}");
        }
    }
}
