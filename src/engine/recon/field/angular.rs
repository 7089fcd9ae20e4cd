//! Angular functions over directions: cos mθ and sin mθ in a plane, real spherical harmonics in three dimensions.

use crate::data::Direction;
use crate::fft::Complex;

/// Values of an angular function at all directions.
#[derive(Clone, Debug)]
pub(super) struct Column {
    /// Degree: the function is a polynomial of this degree in the direction.
    pub degree: usize,
    pub values: Vec<f64>,
}

/// Returns the angular functions up to a degree at unit vectors, those of even degree and those of odd degree, each by degree.
pub(super) fn angular_functions(directions: &[Direction], is_slice: bool, max_degree: usize) -> [Vec<Column>; 2] {
    let mut columns = [Vec::new(), Vec::new()];
    // (n_x + i n_y)^m = sin^m θ exp(imφ).
    let mut power = vec![Complex::new(1.0, 0.0); directions.len()];
    for order in 0..=max_degree {
        let mut push = |degree: usize, legendre: &[f64]| {
            let parts: [fn(&Complex<f64>) -> f64; 2] = [|value| value.re, |value| value.im];
            for part in parts.iter().take(if order == 0 { 1 } else { 2 }) {
                let values = power.iter().zip(legendre).map(|(value, factor)| part(value) * factor).collect();
                columns[degree % 2].push(Column { degree, values });
            }
        };
        let mut before = vec![0.0; directions.len()];
        let mut current = vec![1.0; directions.len()];
        push(order, &current);
        let last = if is_slice { order } else { max_degree };
        // Associated Legendre functions over sin^m θ, with a factor that keeps their size.
        let squared = |value: usize| (value * value) as f64;
        for degree in order + 1..=last {
            let rise = ((4.0 * squared(degree) - 1.0) / (squared(degree) - squared(order))).sqrt();
            let fall = ((squared(degree - 1) - squared(order)) / (4.0 * squared(degree - 1) - 1.0)).sqrt();
            let next: Vec<f64> = directions
                .iter()
                .zip(current.iter().zip(&before))
                .map(|([.., z], (current, before))| rise * (z * current - fall * before))
                .collect();
            before = std::mem::replace(&mut current, next);
            push(degree, &current);
        }
        power.iter_mut().zip(directions).for_each(|(value, [x, y, _])| *value *= Complex::new(*x, *y));
    }
    columns.iter_mut().for_each(|columns| columns.sort_by_key(|column| column.degree));
    columns
}

/// Returns the number of angular functions up to a degree that have its parity.
pub(super) fn num_functions(is_slice: bool, max_degree: usize) -> usize {
    if is_slice { max_degree + 1 } else { (max_degree + 1) * (max_degree + 2) / 2 }
}

/// Returns the number of distinct directions of unit vectors; n and −n are the same.
pub(super) fn num_distinct(directions: &[Direction]) -> usize {
    const STEP: f64 = 1e-3;
    let cell = |n: &Direction| {
        let sign = n.iter().rev().find(|value| value.abs() > STEP).map_or(1.0, |value| value.signum());
        n.map(|value| (sign * value / STEP).round() as i64)
    };
    let mut cells: Vec<[i64; 3]> = directions.iter().map(cell).collect();
    cells.sort_unstable();
    cells.dedup();
    cells.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unit(v: [f64; 3]) -> Direction {
        let size = v.iter().map(|x| x * x).sum::<f64>().sqrt();
        v.map(|x| x / size)
    }

    /// Polynomials of the degrees 2 and 3 are sums of the functions: their values do not depend on the others.
    #[test]
    fn functions_are_polynomials_in_the_direction() {
        let n = [unit([0.3, -0.4, 0.8]), unit([1.0, 0.2, -0.1]), unit([0.5, 0.5, 0.5])];
        let [even, odd] = angular_functions(&n, false, 3);
        assert_eq!((even.len(), odd.len()), (num_functions(false, 2), num_functions(false, 3)));
        // √5/2·(3z² − 1) at the order 0.
        let [x, y, z] = n[0];
        assert!(even.iter().any(|column| (column.values[0] - 5f64.sqrt() / 2.0 * (3.0 * z * z - 1.0)).abs() < 1e-12));
        // Re (x + iy)³.
        assert!(odd.iter().any(|column| (column.values[0] - (x.powi(3) - 3.0 * x * y * y)).abs() < 1e-12));
        // Functions of even degree are the same at −n, those of odd degree have the other sign.
        let [of_even, of_odd] = angular_functions(&n.map(|v| v.map(|x| -x)), false, 3);
        let is_near =
            |a: &Column, b: &Column, sign: f64| a.values.iter().zip(&b.values).all(|(a, b)| (a - sign * b).abs() < 1e-12);
        assert!(even.iter().zip(&of_even).all(|(a, b)| is_near(a, b, 1.0)));
        assert!(odd.iter().zip(&of_odd).all(|(a, b)| is_near(a, b, -1.0)));
    }

    #[test]
    fn functions_in_a_plane_are_those_of_a_circle() {
        let angle: f64 = 0.7;
        let [even, odd] = angular_functions(&[[angle.cos(), angle.sin(), 0.0]], true, 5);
        assert_eq!((even.len(), odd.len()), (num_functions(true, 4), num_functions(true, 5)));
        let near = |column: &Column, value: f64| (column.values[0] - value).abs() < 1e-12;
        assert!(near(&even[3], (4.0 * angle).cos()) && near(&odd[5], (5.0 * angle).sin()));
    }

    #[test]
    fn opposite_directions_are_one() {
        assert_eq!(num_distinct(&[[1.0, 0.0, 0.0], [-1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [1.0, 1e-5, 0.0]]), 2);
    }
}
