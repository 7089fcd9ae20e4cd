//! One photon's way through a head: free flights, interactions, deposits.
//!
//! A flight's path inside crystals has the density μ e^{−μ s}; what happens at its end is photo-electric absorption,
//! Compton or Rayleigh scattering in proportion to their coefficients. The photon is followed until it is absorbed, leaves
//! the head, or has less than the cut-off left, which it deposits where it is.
//!
//! Forced first interaction (a standard variance reduction; Lux and Koblinger 1991, ch. 5): the first flight's path is drawn
//! from the same density cut at the length L of the line inside crystals, and the photon weighs 1 − e^{−μL} instead of 1.
//!
//! Order of draws: path; then for each interaction its kind, its angles (`compton`, `rayleigh`, then the angle about the
//! direction), and the next path. A forced photon that misses all crystals draws nothing.

use rand_philox::Philox;

use super::compton;
use super::crystals::{CrystalHead, Flight};
use super::draws::{deflected, uniform};
use super::materials::{Attenuation, Material};

/// Energy below which a photon deposits all it has.
pub const CUTOFF_KEV: f64 = 10.0;

/// Maximum number of crystals with separate deposits of one photon; deposits in further ones count in the energy alone.
const MAX_DEPOSITS: usize = 16;

/// A photon in the frame of a head (tangential, axial, depth).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Photon {
    /// Where it is.
    pub position_mm: [f64; 3],
    /// Where it goes, a unit vector.
    pub direction: [f64; 3],
    /// Its energy, 10 to 600 keV.
    pub energy_kev: f64,
}

/// Energy that a crystal got.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Deposit {
    /// Tangential and axial index.
    pub crystal: [usize; 2],
    /// Energy of all interactions in it.
    pub energy_kev: f64,
}

/// History of a photon in a head.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Track {
    /// Number of photons that it represents: 1, or the probability of a forced first interaction.
    pub weight: f64,
    /// Energy that stayed in the head.
    pub deposited_kev: f64,
    /// Energy that left it, or that went past; 0 where the photon was absorbed.
    pub escaped_kev: f64,
    /// Number of interactions, Rayleigh scattering included.
    pub num_interactions: u32,
    /// Energy times position, tangential and axial, summed over the deposits.
    pub moment_kev_mm: [f64; 2],
    deposits: [Deposit; MAX_DEPOSITS],
    num_deposits: usize,
}

impl Track {
    fn new() -> Self {
        Self {
            weight: 1.0,
            deposited_kev: 0.0,
            escaped_kev: 0.0,
            num_interactions: 0,
            moment_kev_mm: [0.0; 2],
            deposits: [Deposit::default(); MAX_DEPOSITS],
            num_deposits: 0,
        }
    }

    /// Deposits of each crystal, in the order in which the crystals were met.
    pub fn deposits(&self) -> &[Deposit] {
        &self.deposits[..self.num_deposits]
    }

    fn deposit(&mut self, energy_kev: f64, crystal: [usize; 2], position_mm: [f64; 3]) {
        self.deposited_kev += energy_kev;
        self.moment_kev_mm[0] += energy_kev * position_mm[0];
        self.moment_kev_mm[1] += energy_kev * position_mm[1];
        if let Some(deposit) = self.deposits[..self.num_deposits].iter_mut().find(|deposit| deposit.crystal == crystal) {
            deposit.energy_kev += energy_kev;
        } else if self.num_deposits < MAX_DEPOSITS {
            self.deposits[self.num_deposits] = Deposit { crystal, energy_kev };
            self.num_deposits += 1;
        }
    }
}

/// Result of an interaction for the crystal and the photon.
pub(super) struct Interaction {
    /// Energy for the crystal.
    pub deposited_kev: f64,
    /// The photon after the interaction, unless it was absorbed.
    pub left: Option<ScatteredPhoton>,
}

/// A photon after an interaction.
pub(super) struct ScatteredPhoton {
    pub energy_kev: f64,
    pub direction: [f64; 3],
}

/// One interaction of a photon, whose coefficients `attenuation` are.
pub(super) fn interact(
    material: &Material,
    attenuation: &Attenuation,
    energy_kev: f64,
    direction: [f64; 3],
    random: &mut Philox,
) -> Interaction {
    let kind = uniform(random) * attenuation.total_per_mm();
    if kind < attenuation.photoelectric_per_mm {
        return Interaction { deposited_kev: energy_kev, left: None };
    }
    if kind < attenuation.photoelectric_per_mm + attenuation.incoherent_per_mm {
        let scattered = compton::scatter(energy_kev, random);
        if scattered.energy_kev < CUTOFF_KEV {
            return Interaction { deposited_kev: energy_kev, left: None };
        }
        let direction = deflected(direction, scattered.cosine, random);
        let left = ScatteredPhoton { energy_kev: scattered.energy_kev, direction };
        return Interaction { deposited_kev: energy_kev - scattered.energy_kev, left: Some(left) };
    }
    let cosine = material.form_factors.cosine(energy_kev, random);
    let left = ScatteredPhoton { energy_kev, direction: deflected(direction, cosine, random) };
    Interaction { deposited_kev: 0.0, left: Some(left) }
}

impl CrystalHead {
    /// Follows a photon from anywhere until it is absorbed or has left; `forced` makes it interact at least once.
    pub fn track(&self, photon: Photon, forced: bool, random: &mut Philox) -> Track {
        let Photon { mut position_mm, mut direction, mut energy_kev } = photon;
        let material = self.array.material;
        let mut track = Track::new();
        let mut attenuation = material.attenuation(energy_kev);
        let mut per_mm = attenuation.total_per_mm();
        let mut path_mm = if forced {
            let length_mm = self.length_in_crystals_mm(position_mm, direction);
            track.weight = -(-per_mm * length_mm).exp_m1();
            if track.weight > 0.0 { -(-uniform(random) * track.weight).ln_1p() / per_mm } else { f64::INFINITY }
        } else {
            -uniform(random).ln() / per_mm
        };
        while let Flight::Interacts { distance_mm, crystal } = self.fly(position_mm, direction, path_mm) {
            track.num_interactions += 1;
            (0..3).for_each(|axis| position_mm[axis] += distance_mm * direction[axis]);
            let Interaction { deposited_kev, left } = interact(material, &attenuation, energy_kev, direction, random);
            if deposited_kev > 0.0 {
                track.deposit(deposited_kev, crystal, position_mm);
            }
            let Some(after) = left else { return track };
            if after.energy_kev < energy_kev {
                attenuation = material.attenuation(after.energy_kev);
                per_mm = attenuation.total_per_mm();
            }
            (energy_kev, direction) = (after.energy_kev, after.direction);
            path_mm = -uniform(random).ln() / per_mm;
        }
        track.escaped_kev = energy_kev;
        track
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::dot;
    use crate::montecarlo::{Assignment, CrystalArray, ELECTRON_KEV, Material, Readout, isotropic};

    fn head() -> CrystalHead {
        let material = Material::find("LYSO").unwrap();
        let array = CrystalArray { num: [9, 7], pitch_mm: [1.6, 2.0], crystal_mm: [1.4, 1.7, 10.0], material };
        let readout = Readout { energy_resolution: 0.0, window_kev: [0.0, 1e4], assignment: Assignment::LargestDeposit };
        CrystalHead::new(array, readout).unwrap()
    }

    /// The crystal that a point lies in, if any.
    fn crystal_of(array: &CrystalArray, point: [f64; 3]) -> Option<[usize; 2]> {
        let index = [0, 1].map(|axis| (point[axis] / array.pitch_mm[axis] + 0.5 * array.num[axis] as f64).floor());
        let is_inside = |axis: usize| {
            let centre_mm = (index[axis] + 0.5 - 0.5 * array.num[axis] as f64) * array.pitch_mm[axis];
            (0.0..array.num[axis] as f64).contains(&index[axis]) && (point[axis] - centre_mm).abs() < 0.5 * array.crystal_mm[axis]
        };
        let deep = (0.0..array.crystal_mm[2]).contains(&point[2]);
        (deep && is_inside(0) && is_inside(1)).then(|| index.map(|index| index as usize))
    }

    /// Another direction at this angle, by crossing with one at random.
    fn turned(direction: [f64; 3], cosine: f64, random: &mut Philox) -> [f64; 3] {
        let other = isotropic(random);
        let along = dot(other, direction);
        let across: [f64; 3] = std::array::from_fn(|i| other[i] - along * direction[i]);
        let length = dot(across, across).sqrt();
        std::array::from_fn(|i| cosine * direction[i] + (1.0 - cosine * cosine).sqrt() * across[i] / length)
    }

    /// Deposits of one photon by Woodcock's method: flights as if all space were crystal, and nothing happens in gaps.
    fn by_woodcock(array: &CrystalArray, photon: Photon, random: &mut Philox) -> Vec<Deposit> {
        let Photon { mut position_mm, mut direction, mut energy_kev } = photon;
        let mut deposits = Vec::new();
        // Nothing comes back from 60 mm away.
        while position_mm.iter().all(|mm| mm.abs() < 60.0) {
            let attenuation = array.material.attenuation(energy_kev);
            let path_mm = -uniform(random).ln() / attenuation.total_per_mm();
            (0..3).for_each(|axis| position_mm[axis] += path_mm * direction[axis]);
            let Some(crystal) = crystal_of(array, position_mm) else { continue };
            let kind = uniform(random) * attenuation.total_per_mm();
            let cosine = if kind < attenuation.coherent_per_mm {
                array.material.form_factors.cosine(energy_kev, random)
            } else if kind < attenuation.coherent_per_mm + attenuation.incoherent_per_mm {
                let scattered = compton::scatter(energy_kev, random);
                let left_kev = if scattered.energy_kev < CUTOFF_KEV { 0.0 } else { scattered.energy_kev };
                deposits.push(Deposit { crystal, energy_kev: energy_kev - left_kev });
                energy_kev = left_kev;
                scattered.cosine
            } else {
                deposits.push(Deposit { crystal, energy_kev });
                energy_kev = 0.0;
                0.0
            };
            if energy_kev == 0.0 {
                break;
            }
            direction = turned(direction, cosine, random);
        }
        deposits
    }

    /// Energy in every crystal, and how often the total lies in each 20 keV, against another way to follow photons.
    #[test]
    fn tracks_deposit_as_another_method_does() {
        const NUM: u64 = 300_000;
        const NUM_CRYSTALS: usize = 63;
        let head = head();
        let start = [-9.0, 5.0, -8.0];
        let length = dot(start, start).sqrt();
        let direction = [9.0, -5.0, 8.0].map(|x| x / length);
        let photon = Photon { position_mm: start, direction, energy_kev: ELECTRON_KEV };
        let mut sums = [vec![[0.0; 2]; NUM_CRYSTALS + 26], vec![[0.0; 2]; NUM_CRYSTALS + 26]];
        let mut add = |way: usize, bin: usize, amount: f64| {
            sums[way][bin][0] += amount;
            sums[way][bin][1] += amount * amount;
        };
        for history in 0..NUM {
            let track = head.track(photon, false, &mut crate::random::stream(41, history));
            let deposits = by_woodcock(&head.array, photon, &mut crate::random::stream(42, history));
            for (way, deposits) in [track.deposits(), &deposits].into_iter().enumerate() {
                let total_kev: f64 = deposits.iter().map(|deposit| deposit.energy_kev).sum();
                if total_kev > 0.0 {
                    add(way, NUM_CRYSTALS + (total_kev / 20.0) as usize, 1.0);
                }
                let mut of_crystals = [0.0; NUM_CRYSTALS];
                deposits
                    .iter()
                    .for_each(|deposit| of_crystals[7 * deposit.crystal[0] + deposit.crystal[1]] += deposit.energy_kev);
                of_crystals.into_iter().enumerate().for_each(|(bin, energy_kev)| add(way, bin, energy_kev));
            }
        }
        let used: Vec<_> = sums[0].iter().zip(&sums[1]).filter(|(a, b)| a[0] > 0.0 && b[0] > 0.0).collect();
        let chi_square: f64 = used.iter().map(|(a, b)| (a[0] - b[0]).powi(2) / (a[1] + b[1])).sum();
        let num = used.len() as f64;
        assert!(num > 80.0 && (chi_square - num).abs() < 4.0 * (2.0 * num).sqrt(), "χ² {chi_square} of {num} bins");
    }
}
