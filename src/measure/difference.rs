//! How far numbers are from others.

/// ‖a − b‖ / ‖b‖, which is no number where b is all zero.
pub fn relative_difference<T: Copy + Into<f64>>(a: &[T], b: &[T]) -> f64 {
    let square = |value: f64| value * value;
    let difference: f64 = a.iter().zip(b).map(|(&a, &b)| square(a.into() - b.into())).sum();
    let norm: f64 = b.iter().map(|&b| square(b.into())).sum();
    (difference / norm).sqrt()
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
}
