//! Pictures of values.

/// Returns the colour of each value; `colour` is that of a place in the window, 0 at its lower and 1 at its upper end. Values
/// outside have the colour of the nearer end.
pub fn pixels<C>(values: impl IntoIterator<Item = f64>, [low, high]: [f64; 2], colour: impl Fn(f64) -> C) -> Vec<C> {
    values.into_iter().map(|value| colour(((value - low) / (high - low)).clamp(0.0, 1.0))).collect()
}

/// Returns greys from 0 (white) to the largest value (black).
pub(super) fn inverted_greys(values: &[f32], largest: f32) -> Vec<u8> {
    let grey = |part: f64| 255 - (255.0 * part as f32).round() as u8;
    pixels(values.iter().map(|value| f64::from(*value)), [0.0, f64::from(largest)], grey)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn greys_are_those_of_a_division_in_single_precision() {
        let values: Vec<f32> =
            (0..200_000u32).map(|index| (index.wrapping_mul(2_654_435_761) >> 8) as f32 * 1e-5 - 3.0).collect();
        for largest in [f32::MIN_POSITIVE, 0.37, 64.0, 163.1] {
            let expected = values.iter().map(|value| 255 - (255.0 * (value / largest).clamp(0.0, 1.0)).round() as u8);
            assert!(inverted_greys(&values, largest).into_iter().eq(expected), "{largest}");
        }
        assert_eq!(inverted_greys(&[f32::NAN, f32::INFINITY, f32::NEG_INFINITY], 1.0), [255, 0, 255]);
    }
}
