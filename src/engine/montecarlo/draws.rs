//! Random numbers and directions that all processes share.

use std::ops::Range;

use rand_philox::{Philox, u32_to_unit_f64};
use rayon::prelude::*;

use crate::geometry::Vector;
use crate::task::{Stopped, Task};

/// Rest energy of the electron, which is an annihilation photon's energy (CODATA 2018).
pub const ELECTRON_KEV: f64 = 510.998_95;

/// Histories that one task follows.
const HISTORIES_PER_TASK: u64 = 1 << 12;

/// Follows histories on all threads, in pieces that do not depend on the number of threads; returns the results in order.
pub(super) fn in_pieces<T: Send, E: From<Stopped> + Send>(
    histories: Range<u64>,
    task: &Task,
    follow: impl Fn(Range<u64>) -> Result<T, E> + Sync,
) -> Result<Vec<T>, E> {
    let num = (histories.end - histories.start).div_ceil(HISTORIES_PER_TASK);
    let piece = |number: u64| {
        task.check()?;
        let from = histories.start + number * HISTORIES_PER_TASK;
        let to = (from + HISTORIES_PER_TASK).min(histories.end);
        let found = follow(from..to)?;
        task.advance(to - from);
        Ok(found)
    };
    (0..num).into_par_iter().map(piece).collect()
}

/// Returns a number inside (0, 1), never at its ends: one draw of 32 bits.
pub(super) fn uniform(random: &mut Philox) -> f64 {
    u32_to_unit_f64(random.next_u32())
}

/// Draws two independent numbers of the standard normal distribution (Box and Muller 1958): two draws.
pub(super) fn normal_pair(random: &mut Philox) -> [f64; 2] {
    let radius = (-2.0 * uniform(random).ln()).sqrt();
    let (sine, cosine) = (std::f64::consts::TAU * uniform(random)).sin_cos();
    [radius * cosine, radius * sine]
}

/// Returns the cosine and sine of a uniform angle by arithmetic alone (von Neumann 1951): two draws for each try, 1.27 tries on
/// average.
fn uniform_angle(random: &mut Philox) -> [f64; 2] {
    loop {
        let (x, y) = (2.0 * uniform(random) - 1.0, 2.0 * uniform(random) - 1.0);
        let square = x * x + y * y;
        // The half circle's angle is doubled, so no square root is needed. The tiny disc at the centre is left out against division by 0.
        if (1e-12..=1.0).contains(&square) {
            return [(x * x - y * y) / square, 2.0 * x * y / square];
        }
    }
}

/// Returns a unit vector of uniform direction. Draws: the cosine to the third axis, then the angle about it.
pub fn isotropic(random: &mut Philox) -> [f64; 3] {
    isotropic_below(1.0, random)
}

/// Returns the same among the directions whose cosine to the third axis is no larger than this, which is their share of all.
pub(super) fn isotropic_below(largest_cosine: f64, random: &mut Philox) -> [f64; 3] {
    let cosine = largest_cosine * (2.0 * uniform(random) - 1.0);
    let sine = (1.0 - cosine * cosine).sqrt();
    let [x, y] = uniform_angle(random);
    [sine * x, sine * y, cosine]
}

/// Returns two unit vectors perpendicular to a unit vector and to each other (Duff et al. 2017, JCGT 6(1)).
pub(super) fn upright_on(direction: [f64; 3]) -> [[f64; 3]; 2] {
    let [x, y, z] = direction;
    let sign = 1f64.copysign(z);
    let a = -1.0 / (sign + z);
    let b = x * y * a;
    [[1.0 + sign * x * x * a, sign * b, -sign * x], [b, sign + y * y * a, -y]]
}

/// Returns the unit vector at an angle of this cosine to a unit vector, turned about it by a uniform angle.
pub(super) fn deflected(direction: [f64; 3], cosine: f64, random: &mut Philox) -> [f64; 3] {
    let sine = (1.0 - cosine * cosine).max(0.0).sqrt();
    let [u, v] = upright_on(direction);
    let [x, y] = uniform_angle(random);
    normalised(std::array::from_fn(|i| cosine * direction[i] + sine * (x * u[i] + y * v[i])))
}

/// Returns the vector at length 1.
pub(super) fn normalised(vector: [f64; 3]) -> [f64; 3] {
    Vector::from(vector).normalize().into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::dot;

    #[test]
    fn deflected_directions_keep_their_angle_and_are_even_about_it() {
        let mut random = crate::random::stream(3, 0);
        for _ in 0..100 {
            let direction = isotropic(&mut random);
            let mut mean = [0.0; 3];
            for _ in 0..1000 {
                let turned = deflected(direction, 0.3, &mut random);
                assert!((dot(turned, direction) - 0.3).abs() < 1e-12 && (dot(turned, turned) - 1.0).abs() < 1e-12);
                (0..3).for_each(|i| mean[i] += turned[i] / 1000.0);
            }
            // The mean's part across the direction has a standard error of sin/√2/√1000 = 0.021 each way.
            let off: [f64; 3] = std::array::from_fn(|i| mean[i] - 0.3 * direction[i]);
            assert!(dot(off, off).sqrt() < 0.11, "{off:?}");
        }
    }

    #[test]
    fn isotropic_directions_have_even_components() {
        let mut random = crate::random::stream(4, 0);
        let mut bins = [[0u32; 20]; 3];
        for _ in 0..100_000 {
            for (bins, x) in bins.iter_mut().zip(isotropic(&mut random)) {
                bins[((x + 1.0) * 10.0) as usize] += 1;
            }
        }
        for bins in bins {
            let chi_square: f64 = bins.iter().map(|&n| (f64::from(n) - 5000.0).powi(2) / 5000.0).sum();
            assert!(chi_square < 50.0, "χ² of 19 degrees of freedom: {chi_square}");
        }
    }

    #[test]
    fn normal_numbers_have_the_moments_of_the_distribution() {
        let mut random = crate::random::stream(5, 0);
        let numbers: Vec<f64> = (0..100_000).flat_map(|_| normal_pair(&mut random)).collect();
        let moment = |power: i32| numbers.iter().map(|x| x.powi(power)).sum::<f64>() / numbers.len() as f64;
        assert!(moment(1).abs() < 0.011 && (moment(2) - 1.0).abs() < 0.016 && (moment(4) - 3.0).abs() < 0.11);
    }
}
