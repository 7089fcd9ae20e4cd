//! Positive definite matrices of a few rows.

/// Smallest pivot of a matrix with a diagonal of 1 that still counts as positive.
const MIN_PIVOT: f64 = 1e-9;

/// Returns the inverse of a symmetric matrix; `None` if it is not positive definite.
pub(super) fn inverse<const N: usize>(matrix: &[[f64; N]; N]) -> Option<[[f64; N]; N]> {
    let scale: [f64; N] = std::array::from_fn(|i| matrix[i][i].max(0.0).sqrt());
    if scale.iter().any(|size| !(*size > 0.0 && size.is_finite())) {
        return None;
    }
    // The Cholesky factor of the matrix with a diagonal of 1, and its inverse.
    let mut factor = [[0.0; N]; N];
    for (i, row) in matrix.iter().enumerate() {
        for (j, value) in row.iter().enumerate().take(i + 1) {
            let rest = value / (scale[i] * scale[j]) - (0..j).map(|k| factor[i][k] * factor[j][k]).sum::<f64>();
            if i == j && (rest.is_nan() || rest <= MIN_PIVOT) {
                return None;
            }
            factor[i][j] = if i == j { rest.sqrt() } else { rest / factor[j][j] };
        }
    }
    let mut columns = [[0.0; N]; N];
    for (j, column) in columns.iter_mut().enumerate() {
        for i in j..N {
            let unit = f64::from(u8::from(i == j));
            column[i] = (unit - (j..i).map(|k| factor[i][k] * column[k]).sum::<f64>()) / factor[i][i];
        }
    }
    let product =
        |i: usize, j: usize| columns[i].iter().zip(&columns[j]).map(|(a, b)| a * b).sum::<f64>() / (scale[i] * scale[j]);
    Some(std::array::from_fn(|i| std::array::from_fn(|j| product(i, j))))
}

/// Returns A B A of symmetric matrices.
pub(super) fn sandwich<const N: usize>(a: &[[f64; N]; N], b: &[[f64; N]; N]) -> [[f64; N]; N] {
    let times = |x: &[[f64; N]; N], y: &[[f64; N]; N]| -> [[f64; N]; N] {
        std::array::from_fn(|i| std::array::from_fn(|j| (0..N).map(|k| x[i][k] * y[k][j]).sum()))
    };
    times(&times(a, b), a)
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
