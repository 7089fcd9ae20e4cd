//! Limit of the points that a curve draws.

/// Largest number of drawn points of a curve.
pub const MAX_DRAWN: usize = 1000;

/// Returns every n-th value and the last one, about [`MAX_DRAWN`] at most.
pub fn thinned<T>(values: &[T]) -> impl Iterator<Item = &T> {
    let stride = values.len().div_ceil(MAX_DRAWN).max(1);
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
