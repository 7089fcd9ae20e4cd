//! Positive definite matrices of a few rows.

use nalgebra::{SMatrix, SVector};

/// Smallest pivot of a matrix with a diagonal of 1 that still counts as positive.
const MIN_PIVOT: f64 = 1e-9;

/// Returns the inverse of a symmetric matrix; `None` if it is not positive definite.
pub(super) fn inverse<const N: usize>(matrix: &[[f64; N]; N]) -> Option<[[f64; N]; N]> {
    let scale: [f64; N] = std::array::from_fn(|i| matrix[i][i].max(0.0).sqrt());
    if scale.iter().any(|size| !(*size > 0.0 && size.is_finite())) {
        return None;
    }
    // The matrix with a diagonal of 1.
    let unit = SMatrix::<f64, N, N>::from_fn(|i, j| matrix[i][j] / (scale[i] * scale[j]));
    let factor = unit.cholesky()?;
    let is_definite = factor.l_dirty().diagonal().iter().all(|root| root * root > MIN_PIVOT);
    let inverse = factor.inverse();
    is_definite.then(|| std::array::from_fn(|i| std::array::from_fn(|j| inverse[(i, j)] / (scale[i] * scale[j]))))
}

/// Returns A B A of symmetric matrices.
pub(super) fn sandwich<const N: usize>(a: &[[f64; N]; N], b: &[[f64; N]; N]) -> [[f64; N]; N] {
    let [a, b] = [a, b].map(|of| SMatrix::<f64, N, N>::from_fn(|i, j| of[i][j]));
    let product = a * b * a;
    std::array::from_fn(|i| std::array::from_fn(|j| product[(i, j)]))
}

/// Returns the parameters p with the least Σ w (value − row · p)² + ridge ‖p‖² of rows, weights w and values; `None` of too few rows.
pub(super) fn least_squares<const N: usize>(rows: impl Iterator<Item = ([f64; N], f64, f64)>, ridge: f64) -> Option<[f64; N]> {
    let (mut matrix, mut right) = (SMatrix::<f64, N, N>::identity() * ridge, SVector::<f64, N>::zeros());
    for (row, weight, value) in rows {
        let row = SVector::from(row);
        matrix += row * row.transpose() * weight;
        right += row * (weight * value);
    }
    let inverse = inverse(&std::array::from_fn(|i| std::array::from_fn(|j| matrix[(i, j)])))?;
    Some(inverse.map(|row| row.iter().zip(&right).map(|(a, b)| a * b).sum()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_matrix_times_its_inverse_is_one() {
        let matrix = [[4e6, 1e3, -2.0], [1e3, 9.0, 1e-3], [-2.0, 1e-3, 1e-5]];
        let inverse = inverse(&matrix).unwrap();
        for i in 0..3 {
            for j in 0..3 {
                let product: f64 = (0..3).map(|k| matrix[i][k] * inverse[k][j]).sum();
                let scale = (matrix[i][i] / matrix[j][j]).sqrt();
                assert!((product - f64::from(u8::from(i == j))).abs() < 1e-9 * scale.max(1.0), "{i} {j}: {product}");
            }
        }
        assert_eq!(super::inverse(&[[1.0, 2.0], [2.0, 1.0]]), None);
        assert_eq!(super::inverse(&[[1.0, 1.0], [1.0, 1.0]]), None);
        assert_eq!(super::inverse(&[[0.0, 0.0], [0.0, 1.0]]), None);
        assert_eq!(sandwich(&[[1.0, 2.0], [2.0, 0.0]], &[[1.0, 0.0], [0.0, 3.0]]), [[13.0, 2.0], [2.0, 4.0]]);
    }
}
