//! The values of a slice as 16-bit integers.

/// A slice as it is stored: value = integer × step.
pub struct Stored {
    /// The step as it is written, a decimal of at most 16 characters (PS3.5, value representation DS).
    pub step: String,
    /// Signed integers in two's complement.
    pub integers: Vec<u16>,
}

/// Returns the integers of a slice: its largest absolute value becomes 32767, a value that is not finite 0.
pub fn stored(values: &[f32]) -> Stored {
    let finite = values.iter().map(|&value| f64::from(value)).filter(|value| value.is_finite());
    let largest = finite.fold(0.0, |largest: f64, value| largest.max(value.abs()));
    let text = if largest > 0.0 { decimal(largest / f64::from(i16::MAX)) } else { "1".to_owned() };
    // From the written step, not from the computed one.
    let step: f64 = text.parse().unwrap_or(1.0);
    // (Of a value that is no number the conversion gives 0.)
    let integer = |value: f32| if value.is_finite() { (f64::from(value) / step).round() as i16 } else { 0 };
    Stored { step: text, integers: values.iter().map(|&value| integer(value) as u16).collect() }
}

/// Characters of a decimal string (value representation DS).
const DECIMAL_STRING: usize = 16;

/// Returns a number in at most 16 characters.
pub fn decimal(value: f64) -> String {
    // Added to 0 so that no −0 is written.
    let short = (value + 0.0).to_string();
    if short.len() <= DECIMAL_STRING {
        return short;
    }
    if (1e-3..1e9).contains(&value.abs()) {
        let num_whole = format!("{:.0}", value.trunc()).len();
        let fixed = format!("{value:.digits$}", digits = DECIMAL_STRING.saturating_sub(num_whole + 1));
        if fixed.len() <= DECIMAL_STRING {
            return fixed.trim_end_matches('0').trim_end_matches('.').to_owned();
        }
    }
    format!("{value:.8e}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_at_most_16_characters_and_ten_digits() {
        for value in
            [0.0, -0.0, 2.734, -348.585_123_456_789, 1.0 / 3.0, -1e-7 / 3.0, 1e9 / 3.0, f64::from(f32::MAX) / 7.0, 1e-300]
        {
            let text = decimal(value);
            assert!(text.len() <= 16 && !text.starts_with("-0e"), "{text}");
            assert!((text.parse::<f64>().unwrap() - value).abs() <= 6e-9 * value.abs(), "{text} is not {value}");
        }
        assert_eq!([decimal(-0.0), decimal(60.0 * 20.364), decimal(-2.0 / 3.0)], ["0", "1221.84", "-0.6666666666667"]);
    }

    #[test]
    fn every_value_is_kept_to_within_half_a_step() {
        for values in [
            vec![0.0, 1.5, 3.25, -0.1, 1e-9],
            vec![-7.0, 2.0, 6.999],
            vec![f32::MAX, 1.0],
            vec![1e-40, 3e-41],
            vec![0.0; 4],
            vec![f32::NAN, f32::INFINITY, 2.0],
        ] {
            let Stored { step, integers } = stored(&values);
            let step: f64 = step.parse().unwrap();
            for (&value, &integer) in values.iter().zip(&integers) {
                let expected = if value.is_finite() { f64::from(value) } else { 0.0 };
                let found = f64::from(integer as i16) * step;
                assert!((found - expected).abs() <= 0.5 * step * (1.0 + 1e-4), "{found} is not {expected} (step {step})");
            }
            let largest = integers.iter().map(|&integer| (integer as i16).unsigned_abs()).max();
            assert_eq!(largest, Some(if values == [0.0; 4] { 0 } else { 32767 }));
        }
    }
}
