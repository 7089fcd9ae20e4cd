//! Filtered projections as the fast backprojection reads them: for every interval between samples the polynomial that
//! interpolates there, in single precision.

use rayon::prelude::*;

use super::{FilteredProjections, Interpolation, plain};

/// Intervals of zeros before the first and behind the last: as many as a kernel reads at once, so that it may begin or end
/// outside.
pub const PADDING: usize = 64;

/// Polynomial coefficients of rows of samples, `[row][power][interval]`.
pub struct Tables {
    /// Degree of the polynomials: 0, 1 or 3.
    pub degree: usize,
    /// Samples of a row.
    pub num_points: usize,
    /// What to add to a position in samples to find its interval by rounding down.
    pub shift: f64,
    values: Vec<f32>,
}

impl Tables {
    /// Of filtered projections.
    pub fn new(projections: &FilteredProjections) -> Self {
        let (degree, shift) = match projections.interpolation {
            Interpolation::Nearest => (0, 0.5),
            Interpolation::Linear => (1, 0.0),
            Interpolation::Cubic => (3, 0.0),
        };
        let num_points = projections.sampling.num_points;
        let mut tables = Self { degree, num_points, shift, values: Vec::new() };
        let (row_len, num_powers) = (tables.row_len(), tables.num_powers());
        tables.values = vec![0.0; projections.len() * num_powers * row_len];
        let rows = tables.values.par_chunks_mut(num_powers * row_len);
        rows.zip(projections.values.par_chunks(num_points.max(1))).for_each(|(row, samples)| {
            let mut set = |power: usize, interval: usize, value: f64| row[power * row_len + PADDING + interval] = value as f32;
            match degree {
                0 => samples.iter().enumerate().for_each(|(i, &value)| set(0, i, value)),
                1 => samples.windows(2).enumerate().for_each(|(i, pair)| {
                    set(0, i, pair[0]);
                    set(1, i, pair[1] - pair[0]);
                }),
                _ => (0..num_points.saturating_sub(1)).for_each(|i| {
                    plain::polynomial(samples, i).into_iter().enumerate().for_each(|(power, value)| set(power, i, value));
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

    /// Bytes of a row.
    pub fn row_bytes(&self) -> usize {
        4 * self.num_powers() * self.row_len()
    }

    /// The first interval of a window of `len` ≤ [`PADDING`] about positions from `lowest` on; `None` where the whole
    /// window is outside. `lowest` is in samples, with the shift.
    #[inline(always)]
    pub fn window(&self, lowest: f64, len: usize) -> Option<isize> {
        let inside = lowest > -(len as f64) && lowest < self.num_points as f64;
        // Within these bounds the conversion is exact; it rounds towards 0, so that PADDING keeps it above.
        inside.then(|| (lowest + PADDING as f64) as isize - PADDING as isize)
    }

    /// Coefficients of `len` intervals from `first` on.
    #[inline(always)]
    pub fn coefficients(&self, row: usize, power: usize, first: isize, len: usize) -> &[f32] {
        let at = (row * self.num_powers() + power) * self.row_len();
        let at = at.wrapping_add_signed(first + PADDING as isize);
        &self.values[at..at + len]
    }
}
