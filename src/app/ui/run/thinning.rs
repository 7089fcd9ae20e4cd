//! Limit of the points that a curve draws.

/// Largest number of drawn points of a curve.
pub const MAX_DRAWN: usize = 1000;

/// Largest and smallest number of drawn points of each of many curves: more than a plot has pixels would only take time.
const MAX_DRAWN_OF_ALL: usize = 12_000;
const MIN_DRAWN: usize = 180;

/// Returns the number of points to draw of each of some curves.
pub fn num_drawn(num_curves: usize) -> usize {
    (MAX_DRAWN_OF_ALL / num_curves.max(1)).clamp(MIN_DRAWN, MAX_DRAWN)
}

/// Returns every n-th value and the last one, about [`MAX_DRAWN`] at most.
pub fn thinned<T>(values: &[T]) -> impl Iterator<Item = &T> {
    thinned_to(values, MAX_DRAWN)
}

/// Returns every n-th value and the last one, about `num_drawn` at most.
pub fn thinned_to<T>(values: &[T], num_drawn: usize) -> impl Iterator<Item = &T> {
    let stride = values.len().div_ceil(num_drawn).max(1);
    let last = values.len().saturating_sub(1);
    values.iter().enumerate().filter(move |(index, _)| index % stride == 0 || *index == last).map(|(_, value)| value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_curves_are_thinned_and_keep_their_end() {
        let values: Vec<usize> = (0..5500).collect();
        let drawn: Vec<usize> = thinned(&values).copied().collect();
        assert!(drawn.len() <= MAX_DRAWN && drawn[0] == 0 && drawn.last() == Some(&5499));
        assert_eq!(thinned(&values[..10]).count(), 10);
        assert_eq!(thinned::<u8>(&[]).count(), 0);
    }
}
