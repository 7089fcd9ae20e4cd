//! Mean, moment, quantiles and medians. A quantile is one of the numbers (the nearest rank); of an even number of numbers the median is
//! the upper one of the two in the middle.

/// Full width at half maximum of a Gaussian of standard deviation 1: 2 √(2 ln 2).
pub const FWHM_PER_SIGMA: f64 = 2.354_820_045_030_949_3;

/// Returns the mean; `None` of no numbers.
pub fn mean(numbers: &[f64]) -> Option<f64> {
    (!numbers.is_empty()).then(|| numbers.iter().sum::<f64>() / numbers.len() as f64)
}

/// Returns the standard deviation, with n − 1 in the denominator; `None` of fewer than two numbers.
pub fn standard_deviation(numbers: &[f64]) -> Option<f64> {
    let mean = mean(numbers).filter(|_| numbers.len() > 1)?;
    let squares: f64 = numbers.iter().map(|number| (number - mean).powi(2)).sum();
    Some((squares / (numbers.len() as f64 - 1.0)).sqrt())
}

/// Returns Σ t·value about the middle of evenly spaced numbers, in which a constant offset counts nothing.
pub fn first_moment(values: impl ExactSizeIterator<Item = f64>) -> f64 {
    let middle = 0.5 * (values.len() as f64 - 1.0);
    values.enumerate().map(|(i, value)| (i as f64 - middle) * value).sum()
}

/// Returns quantiles, each for the part (0 … 1) of the numbers that it exceeds; `None` of no numbers.
pub fn quantiles<const N: usize>(mut numbers: Vec<f64>, parts: [f64; N]) -> Option<[f64; N]> {
    numbers.sort_by(f64::total_cmp);
    let last = numbers.len().checked_sub(1)? as f64;
    Some(parts.map(|part| numbers[(last * part).round() as usize]))
}

/// Returns the median; `None` of no numbers.
pub fn median(numbers: Vec<f64>) -> Option<f64> {
    quantiles(numbers, [0.5]).map(|[median]| median)
}

/// Returns the median and half the distance between the quartiles; `None` of no numbers.
pub fn median_and_spread(numbers: Vec<f64>) -> Option<(f64, f64)> {
    quantiles(numbers, [0.25, 0.5, 0.75]).map(|[low, median, high]| (median, 0.5 * (high - low)))
}

/// Returns the median of numbers with weights: half of the weight lies below it. Where exactly half lies below two numbers, it is
/// their mean. `None` of no numbers. (Numbers are ordered with NaN last.)
pub fn weighted_median(mut numbers: Vec<(f32, f64)>) -> Option<f64> {
    let sum = |numbers: &[(f32, f64)]| numbers.iter().map(|(_, weight)| weight).sum::<f64>();
    let half = 0.5 * sum(&numbers);
    // The median lies between the indices `low` and `high`; `below` is the weight of all numbers before `low`.
    let (mut low, mut high, mut below) = (0, numbers.len(), 0.0);
    while high - low > 1 {
        let middle = (high - low) / 2;
        let (smaller, ..) = numbers[low..high].select_nth_unstable_by(middle, |a, b| a.0.total_cmp(&b.0));
        let weight = sum(smaller);
        if below + weight >= half {
            high = low + middle;
        } else {
            (low, below) = (low + middle, below + weight);
        }
    }
    let (value, weight) = *numbers.get(low)?;
    let larger = numbers[high..].iter().map(|(value, _)| *value).min_by(f32::total_cmp);
    let next = larger.filter(|_| below + weight == half).unwrap_or(value);
    Some(0.5 * (f64::from(value) + f64::from(next)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_and_middle_are_found_in_any_order() {
        let numbers = vec![16.0, 1.0, 8.0, 2.0, 4.0];
        assert_eq!(quantiles(numbers.clone(), [0.0, 0.5, 0.75, 1.0]), Some([1.0, 4.0, 8.0, 16.0]));
        assert_eq!((median(numbers), mean(&[1.0, 4.0])), (Some(4.0), Some(2.5)));
        assert_eq!((quantiles(vec![3.0], [0.95]), median(Vec::new()), mean(&[])), (Some([3.0]), None, None));
    }

    #[test]
    fn the_spread_is_half_of_the_interquartile_range() {
        assert_eq!(median_and_spread(vec![16.0, 1.0, 8.0, 2.0, 4.0]), Some((4.0, 3.0)));
        assert_eq!((median_and_spread(vec![3.0]), median_and_spread(Vec::new())), (Some((3.0, 0.0)), None));
    }

    #[test]
    fn half_of_the_weight_lies_below_a_weighted_median() {
        assert_eq!(weighted_median(vec![(3.0, 1.0), (1.0, 1.0), (2.0, 5.0)]), Some(2.0));
        assert_eq!(weighted_median(vec![(1.0, 1.0), (4.0, 1.0)]), Some(2.5));
        assert_eq!(weighted_median(Vec::new()), None);
        for num in 1..99u32 {
            let many: Vec<(f32, f64)> = (0..num).map(|k| ((k * 577 % 101 / 2) as f32, f64::from(1 + k % 3))).collect();
            let weight = |holds: &dyn Fn(f64) -> bool| {
                many.iter().filter(|(value, _)| holds(f64::from(*value))).map(|(_, weight)| weight).sum::<f64>()
            };
            let (median, all) = (weighted_median(many.clone()).unwrap(), weight(&|_| true));
            assert!(weight(&|value| value < median) <= 0.5 * all && weight(&|value| value > median) <= 0.5 * all, "{num}");
        }
    }
}
