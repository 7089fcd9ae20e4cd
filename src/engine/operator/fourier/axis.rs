//! Transforms along one axis of an array, and the order of the axes.

use std::sync::Arc;

use crate::fft::{Complex, Fft, Number};
use rayon::prelude::*;

/// Rows that a thread takes from an array together: neighbours in memory.
const BLOCK: usize = 8;

/// Returns the smallest even number from `at_least` on whose prime factors are 2, 3 and 5: transforms of this length are fast.
/// 1 stays 1.
pub fn good_size(at_least: usize) -> usize {
    if at_least <= 1 {
        return 1;
    }
    let is_good = |n: &usize| {
        let rest = [2, 3, 5].iter().fold(*n, |rest, factor| {
            let mut rest = rest;
            while rest % factor == 0 {
                rest /= factor;
            }
            rest
        });
        n.is_multiple_of(2) && rest == 1
    };
    (at_least..).find(is_good).unwrap_or(at_least)
}

/// A transform of each row of an array: the values are placed in a longer row of zeros and multiplied, transformed, and some values of the
/// result are taken and multiplied.
pub(super) struct Pass<'a, T: Number> {
    /// Transform of the longer row.
    pub fft: &'a Arc<dyn Fft<T>>,
    /// Place and factor of each value of a row; `None` = rows as long as the transform.
    pub place: Option<&'a [(usize, T)]>,
    /// Place and factor of each value of the result.
    pub take: &'a [(usize, T)],
}

/// Makes zeros, on all threads: large arrays take most of their time to be reserved.
pub(super) fn zeros<T: Number>(len: usize) -> Vec<Complex<T>> {
    let mut values = Vec::new();
    rayon::iter::repeat_n(Complex::new(T::zero(), T::zero()), len).collect_into_vec(&mut values);
    values
}

impl<T: Number> Pass<'_, T> {
    /// Applies it along the last axis of `[a, b, c]`; the result is `[c, a, b]`. Three passes restore the order of the axes.
    pub fn apply(&self, data: Vec<Complex<T>>) -> Vec<Complex<T>> {
        let len = self.fft.len();
        let rows = match self.place {
            None => data,
            Some(place) => {
                let mut rows = zeros(data.len() / place.len().max(1) * len);
                rows.par_chunks_mut(len).zip(data.par_chunks(place.len())).for_each(|(row, values)| {
                    place.iter().zip(values).for_each(|(&(place, factor), value)| row[place] = value.scale(factor));
                });
                rows
            }
        };
        self.turned(rows)
    }

    /// Transforms rows in place, and takes their values in the order of the result.
    fn turned(&self, mut rows: Vec<Complex<T>>) -> Vec<Complex<T>> {
        let (len, num_rows) = (self.fft.len(), rows.len() / self.fft.len());
        rows.par_chunks_mut(len).for_each_init(
            || vec![Complex::new(T::zero(), T::zero()); self.fft.get_inplace_scratch_len()],
            |scratch, row| self.fft.process_with_scratch(row, scratch),
        );
        let mut turned = zeros(num_rows * self.take.len());
        turned.par_chunks_mut(BLOCK * num_rows.max(1)).zip(self.take.par_chunks(BLOCK)).for_each(|(turned, taken)| {
            for (index, row) in rows.chunks_exact(len).enumerate() {
                for (k, &(place, factor)) in taken.iter().enumerate() {
                    turned[k * num_rows + index] = row[place].scale(factor);
                }
            }
        });
        turned
    }
}

/// Returns every place of a row, with the factor 1.
pub(super) fn all_places<T: Number>(len: usize) -> Vec<(usize, T)> {
    (0..len).map(|place| (place, T::one())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_small_factors() {
        assert_eq!([0, 1, 2, 3, 7, 11, 199, 399, 1023].map(good_size), [1, 1, 2, 4, 8, 12, 200, 400, 1024]);
    }
}
