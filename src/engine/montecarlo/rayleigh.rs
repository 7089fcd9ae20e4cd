//! Coherent scattering: the photon keeps its energy and turns by a small angle.
//!
//! dσ/dΩ = r²/2 · (1 + cos² θ) · F²(x) with x = sin(θ/2)/λ and the atoms' form factors F, taken as independent. In x² the
//! density is F² times (1 + cos² θ)/2: the first is inverted from its cumulative table, the second accepts or rejects
//! (as in PENELOPE; Baró et al. 1995, NIM B 100: 31–46).

use rand_philox::Philox;

use super::draws::uniform;

/// Planck's constant times the speed of light.
const KEV_ANGSTROM: f64 = 12.398_419_84;

/// Cumulative squared form factors of a material.
#[derive(Clone, Debug)]
pub(super) struct FormFactors {
    /// The squares x², per Å², from 0 up.
    squares: Vec<f64>,
    /// ∫ F² dx² from 0 to each of them.
    cumulative: Vec<f64>,
}

impl FormFactors {
    /// Integrates F² on a grid of x that is even in the logarithm, ends included; below its start F² is that of the start.
    pub(super) fn new([first, last]: [f64; 2], squared: &[f64]) -> Self {
        let step = (last / first).ln() / (squared.len().max(2) - 1) as f64;
        let (mut squares, mut cumulative) = (vec![0.0], vec![0.0]);
        let (mut square_below, mut factor_below, mut sum) = (0.0, squared.first().copied().unwrap_or(1.0), 0.0);
        for (i, &factor) in squared.iter().enumerate() {
            let square = (first * (step * i as f64).exp()).powi(2);
            sum += 0.5 * (factor + factor_below) * (square - square_below);
            squares.push(square);
            cumulative.push(sum);
            (square_below, factor_below) = (square, factor);
        }
        Self { squares, cumulative }
    }

    /// Returns the squares x² and the cumulative ∫ F² dx².
    pub(super) fn tables(&self) -> [&[f64]; 2] {
        [&self.squares, &self.cumulative]
    }

    /// Returns the y at `x` on the line through the table's points, x ascending; beyond its end that of the end.
    fn interpolated(xs: &[f64], ys: &[f64], x: f64) -> f64 {
        let above = xs.partition_point(|&at| at < x).clamp(1, xs.len() - 1);
        let share = ((x - xs[above - 1]) / (xs[above] - xs[above - 1])).clamp(0.0, 1.0);
        ys[above - 1] + share * (ys[above] - ys[above - 1])
    }

    /// Returns the cosine of the angle by which a photon of this energy turns. Two draws for each try.
    pub(super) fn cosine(&self, energy_kev: f64, random: &mut Philox) -> f64 {
        let Self { squares, cumulative } = self;
        let largest_square = (energy_kev / KEV_ANGSTROM).powi(2);
        let all = Self::interpolated(squares, cumulative, largest_square);
        loop {
            let (place, accept) = (uniform(random), uniform(random));
            let square = Self::interpolated(cumulative, squares, place * all);
            let cosine = (1.0 - 2.0 * square / largest_square).max(-1.0);
            if accept <= 0.5 * (1.0 + cosine * cosine) {
                return cosine;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::montecarlo::Material;

    /// χ² of cosines in bins against the integral of (1 + cos²) F² over each bin.
    fn chi_square(factors: &FormFactors, energy_kev: f64, edges: &[f64], squared_factor: impl Fn(f64) -> f64) -> f64 {
        const NUM: usize = 200_000;
        const STEPS: usize = 4000;
        let density = |cosine: f64| {
            let x = (0.5 * (1.0 - cosine)).sqrt() * energy_kev / KEV_ANGSTROM;
            (1.0 + cosine * cosine) * squared_factor(x)
        };
        let shares: Vec<f64> = edges
            .windows(2)
            .map(|bin| {
                let step = (bin[1] - bin[0]) / STEPS as f64;
                (0..STEPS).map(|i| density(bin[0] + (i as f64 + 0.5) * step) * step).sum()
            })
            .collect();
        let all: f64 = shares.iter().sum();
        let mut counts = vec![0.0; shares.len()];
        let mut random = crate::random::stream(11, energy_kev as u64);
        for _ in 0..NUM {
            let cosine = factors.cosine(energy_kev, &mut random);
            counts[edges.partition_point(|&edge| edge < cosine).clamp(1, shares.len()) - 1] += 1.0;
        }
        let expected = shares.iter().map(|share| share / all * NUM as f64);
        counts.iter().zip(expected).map(|(count, expected)| (count - expected).powi(2) / expected).sum()
    }

    #[test]
    fn of_a_point_charge_the_angles_are_thomsons() {
        let edges: Vec<f64> = (0..=40).map(|i| f64::from(i) / 20.0 - 1.0).collect();
        let point = FormFactors::new([0.01, 50.0], &[1.0; 96]);
        let chi_square = chi_square(&point, 300.0, &edges, |_| 1.0);
        assert!(chi_square < 73.0, "χ² of 39 degrees of freedom: {chi_square}");
    }

    /// Against the table's own form factors, straight between its points in x².
    #[test]
    fn of_a_crystal_the_angles_follow_its_form_factors() {
        let factors = &Material::find("LSO").unwrap().form_factors;
        let squared_factor = |x: f64| {
            let above = factors.squares.partition_point(|&square| square < x * x).clamp(1, factors.squares.len() - 1);
            let rise = factors.cumulative[above] - factors.cumulative[above - 1];
            rise / (factors.squares[above] - factors.squares[above - 1])
        };
        for energy_kev in [511.0, 100.0, 30.0] {
            // Even in the logarithm of x², where the angles are.
            let largest_square = (energy_kev / KEV_ANGSTROM).powi(2);
            let mut edges: Vec<f64> = (0..=30).map(|i| 1.0 - 2.0 * (1e-4 / largest_square).powf(f64::from(i) / 30.0)).collect();
            edges.push(1.0);
            let chi_square = chi_square(factors, energy_kev, &edges, squared_factor);
            assert!(chi_square < 59.0, "χ² of 30 degrees of freedom at {energy_kev} keV: {chi_square}");
        }
    }

    /// At 511 keV half of the coherent photons turn by less than five degrees.
    #[test]
    fn annihilation_photons_turn_by_small_angles() {
        let factors = &Material::find("LYSO").unwrap().form_factors;
        let mut random = crate::random::stream(12, 0);
        let mut cosines: Vec<f64> = (0..10_001).map(|_| factors.cosine(511.0, &mut random)).collect();
        cosines.sort_by(f64::total_cmp);
        let median_deg = cosines[5000].acos().to_degrees();
        assert!((1.0..5.0).contains(&median_deg), "{median_deg}");
    }
}
