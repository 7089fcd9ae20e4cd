//! Quantiles of measured numbers.

/// The one of some ascending numbers that this part of them (0 … 1) does not exceed; `None` of none.
pub fn quantile(ascending: &[f64], part: f64) -> Option<f64> {
    ascending.get(((ascending.len() as f64 - 1.0) * part).round() as usize).copied()
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
}
