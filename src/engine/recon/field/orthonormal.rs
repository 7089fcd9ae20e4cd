//! Orthonormal angular functions over weighted projections, and the part of noise in the squares of a fit.

use rayon::prelude::*;

use super::angular::Column;

/// Part of its size that a function has to have outside the ones before to count as a further one.
const MIN_REST: f64 = 1e-6;

/// Number of factors of the projections whose products with the functions matter.
pub(super) const NUM_FACTORS: usize = 4;

/// Products of functions: rows of the ones that are left, columns of the ones that are multiplied.
type Products = Vec<Vec<f64>>;

/// Orthonormal functions of even and of odd degree.
pub(super) struct Orthonormal {
    columns: [Vec<Column>; 2],
    /// By parity of the functions that are multiplied, and by factor: products with the functions that a fit takes off the result.
    products: [[Products; NUM_FACTORS]; 2],
    factors: [Vec<f64>; NUM_FACTORS],
}

/// The factor that keeps the parity, the others change it.
const KEEPS_PARITY: usize = 2;

/// Returns Σ a·b.
pub(super) fn product(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Makes functions orthonormal (Gram–Schmidt, twice), in their order; functions of the ones before are left out.
fn orthonormalised(columns: &[Column], weights: &[f64]) -> Vec<Column> {
    let mut found: Vec<Column> = Vec::new();
    for Column { degree, values } in columns {
        let mut next: Vec<f64> = values.iter().zip(weights).map(|(value, weight)| value * weight).collect();
        let size = product(&next, &next).sqrt();
        for _ in 0..2 {
            for other in &found {
                let along = product(&next, &other.values);
                next.iter_mut().zip(&other.values).for_each(|(value, other)| *value -= along * other);
            }
        }
        let rest = product(&next, &next).sqrt();
        if rest > MIN_REST * size {
            next.iter_mut().for_each(|value| *value /= rest);
            found.push(Column { degree: *degree, values: next });
        }
    }
    found
}

impl Orthonormal {
    /// Of functions under weights of the projections. `factors` are those of the shift, the drift, the gain and the phase.
    pub fn new(columns: &[Vec<Column>; 2], weights: &[f64], factors: [Vec<f64>; NUM_FACTORS]) -> Self {
        let columns = [0, 1].map(|parity: usize| orthonormalised(&columns[parity], weights));
        let products = [0, 1].map(|parity: usize| {
            std::array::from_fn(|index| {
                let left = &columns[if index == KEEPS_PARITY { parity } else { 1 - parity }];
                let of = |column: &Column| {
                    let scaled: Vec<f64> =
                        column.values.iter().zip(&factors[index]).map(|(value, factor)| value * factor).collect();
                    left.iter().map(|other| product(&scaled, &other.values)).collect()
                };
                columns[parity].par_iter().map(of).collect()
            })
        });
        Self { columns, products, factors }
    }

    /// Returns the functions of a parity up to a degree.
    fn up_to(&self, parity: usize, degree: usize) -> &[Column] {
        let num = self.columns[parity].partition_point(|column| column.degree <= degree);
        &self.columns[parity][..num]
    }

    /// Returns the number of functions of both parities up to a degree.
    pub fn num_up_to(&self, degree: usize) -> usize {
        [0, 1].map(|parity| self.up_to(parity, degree).len()).iter().sum()
    }

    /// Takes the functions of a parity up to a degree off values; returns the values that were taken off.
    pub fn take_off(&self, parity: usize, degree: usize, values: &mut [f64]) -> Vec<f64> {
        let mut taken = vec![0.0; values.len()];
        let columns = self.up_to(parity, degree);
        let along: Vec<f64> = columns.iter().map(|column| product(values, &column.values)).collect();
        for (column, along) in columns.iter().zip(along) {
            taken.iter_mut().zip(&column.values).for_each(|(value, other)| *value += along * other);
        }
        values.iter_mut().zip(&taken).for_each(|(value, taken)| *value -= taken);
        taken
    }

    /// Returns Σ of the squares of values outside the functions.
    pub fn rest(&self, parity: usize, degree: usize, values: &[f64]) -> f64 {
        let inside: f64 = self.up_to(parity, degree).iter().map(|column| product(values, &column.values).powi(2)).sum();
        (product(values, values) - inside).max(0.0)
    }

    /// Returns the parts of a projection's weight that the functions up to a degree do not take.
    pub fn leverage(&self, degree: usize, projection: usize) -> f64 {
        let of = |parity: usize| self.up_to(parity, degree).iter().map(|column| column.values[projection].powi(2)).sum::<f64>();
        1.0 - 0.5 * (of(0) + of(1))
    }

    /// Returns the expected product of two columns of a fit, of its parameters `a` and `b`, that the fitted functions have by noise of the
    /// variance 1 alone.
    pub fn by_noise(&self, degree: usize, a: usize, b: usize) -> f64 {
        if (a == KEEPS_PARITY) != (b == KEEPS_PARITY) {
            return 0.0;
        }
        let of = |parity: usize| -> f64 {
            let num_left = self.up_to(if a == KEEPS_PARITY { parity } else { 1 - parity }, degree).len();
            let columns = self.up_to(parity, degree).iter().enumerate();
            let terms = columns.map(|(index, column)| {
                let factors = self.factors[a].iter().zip(&self.factors[b]);
                let whole: f64 = column.values.iter().zip(factors).map(|(value, (a, b))| value * value * a * b).sum();
                let [left, right] = [a, b].map(|of| &self.products[parity][of][index][..num_left]);
                whole - product(left, right)
            });
            terms.sum()
        };
        of(0) + of(1)
    }
}
