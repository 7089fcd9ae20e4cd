//! Filtered projections as the fast backprojection reads them: for every interval between samples the polynomial that
//! interpolates there, in single precision. The values at the ends continue for an interval, so that a position on an end may be
//! rounded to either side.

use rayon::prelude::*;

use super::{FilteredProjections, HALF_WAY, Interpolation, ROUNDING, is_inside, plain};

/// Intervals of zeros before the first and behind the last: as many as a kernel reads at once, so that it may begin or end
/// outside.
pub const PADDING: usize = 64;

/// Part of some positions that is on the projections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Covers {
    /// Nothing.
    None,
    /// Some may be on them, some outside.
    Some,
    /// Everything.
    All,
}

/// Polynomial coefficients of rows of samples, `[row][power][interval]`.
pub struct Tables {
    /// Degree of the polynomials: 0, 1 or 3.
    pub degree: usize,
    /// Samples of a row.
    pub num_points: usize,
    /// Shift of a position in samples after which rounding down gives its interval.
    pub shift: f64,
    values: Vec<f32>,
}

impl Tables {
    /// Of filtered projections.
    pub fn new(projections: &FilteredProjections) -> Self {
        let (degree, shift) = match projections.interpolation {
            Interpolation::Nearest => (0, HALF_WAY),
            Interpolation::Linear => (1, 0.0),
            Interpolation::Cubic => (3, 0.0),
        };
        let num_points = projections.sampling.num_points;
        let mut tables = Self { degree, num_points, shift, values: Vec::new() };
        let (row_len, num_powers) = (tables.row_len(), tables.num_powers());
        tables.values = vec![0.0; projections.len() * num_powers * row_len];
        let rows = tables.values.par_chunks_mut(num_powers * row_len);
        rows.zip(projections.values.par_chunks(num_points.max(1))).for_each(|(row, samples)| {
            let mut set = |power: usize, interval: isize, value: f64| {
                row[(power * row_len + PADDING).wrapping_add_signed(interval)] = value as f32;
            };
            let last = num_points as isize - 1;
            set(0, -1, samples[0]);
            set(0, last, samples[num_points - 1]);
            match degree {
                0 => (0..last).for_each(|i| set(0, i, samples[i as usize])),
                1 => samples.windows(2).zip(0..).for_each(|(pair, i)| {
                    set(0, i, pair[0]);
                    set(1, i, pair[1] - pair[0]);
                }),
                _ => (0..last).for_each(|i| {
                    plain::polynomial(samples, i as usize).into_iter().enumerate().for_each(|(power, c)| set(power, i, c));
                }),
            }
        });
        tables
    }

    fn num_powers(&self) -> usize {
        self.degree + 1
    }

    fn row_len(&self) -> usize {
        self.num_points + 2 * PADDING
    }

    /// Returns the bytes of a row.
    pub fn row_bytes(&self) -> usize {
        4 * self.num_powers() * self.row_len()
    }

    /// Which part of positions from `lowest` to `highest`, in samples, lies on the projections.
    #[inline(always)]
    pub fn part(&self, lowest: f64, highest: f64) -> Covers {
        let last = self.num_points as f64 - 1.0;
        if highest < -ROUNDING || lowest > last + ROUNDING {
            Covers::None
        } else if is_inside(lowest, last) && is_inside(highest, last) {
            Covers::All
        } else {
            Covers::Some
        }
    }

    /// Returns the interval that `position` belongs to, and how far from its beginning it is; `None` outside the projections.
    #[inline(always)]
    pub fn interval(&self, position: f64) -> Option<(isize, f64)> {
        let last = self.num_points as f64 - 1.0;
        is_inside(position, last).then(|| {
            let position = position.clamp(0.0, last) + self.shift;
            (position.floor() as isize, position - position.floor())
        })
    }

    /// Returns the coefficients of `len` intervals from `first` on.
    #[inline(always)]
    pub fn coefficients(&self, row: usize, power: usize, first: isize, len: usize) -> &[f32] {
        let at = (row * self.num_powers() + power) * self.row_len();
        let at = at.wrapping_add_signed(first + PADDING as isize);
        &self.values[at..at + len]
    }
}
