//! Compton scattering on a free electron at rest.
//!
//! With α = E / (m c²) and η = E / E′, the photon leaves at cos θ = 1 − (η − 1) / α with the density of Klein and Nishina
//! (1929), dσ/dΩ = r² / (2 η²) · (η + 1/η − sin² θ). It is sampled exactly by the composition and rejection of H. Kahn,
//! Applications of Monte Carlo, RAND AECU-3259 (1954): arithmetic alone, it takes 59 to 63 % of the tries.

use rand_philox::Philox;

use super::draws::{ELECTRON_KEV, uniform};

/// A photon after scattering.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scattered {
    /// Its energy; the electron has the rest.
    pub energy_kev: f64,
    /// Cosine of the angle to its old direction.
    pub cosine: f64,
}

/// Scatters a photon of this energy. Three draws for each try.
pub fn scatter(energy_kev: f64, random: &mut Philox) -> Scattered {
    let alpha = energy_kev / ELECTRON_KEV;
    let largest = 1.0 + 2.0 * alpha;
    loop {
        let (branch, place, accept) = (uniform(random), uniform(random), uniform(random));
        let forward = branch * (largest + 8.0) <= largest;
        let eta = if forward { 1.0 + 2.0 * alpha * place } else { largest / (1.0 + 2.0 * alpha * place) };
        let cosine = 1.0 - (eta - 1.0) / alpha;
        let share = if forward { 4.0 * (1.0 / eta - 1.0 / (eta * eta)) } else { 0.5 * (cosine * cosine + 1.0 / eta) };
        if accept <= share {
            return Scattered { energy_kev: energy_kev / eta, cosine };
        }
    }
}
