//! Quantiles of measured numbers.

/// The one of some ascending numbers that this part of them (0 … 1) does not exceed; `None` of none.
pub fn quantile(ascending: &[f64], part: f64) -> Option<f64> {
    ascending.get(((ascending.len() as f64 - 1.0) * part).round() as usize).copied()
}

/// Median of some numbers, and half the distance between their quartiles; `None` where there are none.
pub fn median_and_spread(mut numbers: Vec<f64>) -> Option<(f64, f64)> {
    numbers.sort_by(f64::total_cmp);
    Some((quantile(&numbers, 0.5)?, 0.5 * (quantile(&numbers, 0.75)? - quantile(&numbers, 0.25)?)))
}

/// The mean; `None` of no values.
pub fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_and_middle_are_found() {
        let numbers = [1.0, 2.0, 4.0, 8.0, 16.0];
        assert_eq!([0.0, 0.5, 0.75, 1.0].map(|part| quantile(&numbers, part)), [1.0, 4.0, 8.0, 16.0].map(Some));
        assert_eq!((quantile(&[3.0], 0.95), quantile(&[], 0.5)), (Some(3.0), None));
    }

    #[test]
    fn the_spread_is_half_of_what_lies_between_the_quartiles() {
        assert_eq!(median_and_spread(vec![16.0, 1.0, 8.0, 2.0, 4.0]), Some((4.0, 3.0)));
        assert_eq!((median_and_spread(vec![3.0]), median_and_spread(Vec::new())), (Some((3.0, 0.0)), None));
    }
}
