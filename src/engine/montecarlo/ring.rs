//! Decays inside a ring of modules, and the pairs of crystals that count them.
//!
//! Every crystal reports for itself what both photons left in it, if that is its threshold at least. A decay is counted where
//! exactly two crystals report, one for each photon; more are a *multiple* coincidence, which is rejected (and counted).
//!
//! Photons fly back to back, as decays of a source without positrons do. Their directions are drawn only between those with which
//! both photons reach the ring between its ends, and the first interaction of each is forced; the weight makes up for both.

use std::f64::consts::TAU;

use rand_philox::Philox;

use super::crystals::{CrystalArray, CrystalHead, DetectorError, Flight};
use super::draws::{ELECTRON_KEV, normal_pair, uniform};
use super::materials::Material;
use super::readout::{Assignment, Readout};
use super::track::{Interaction, interact};
use crate::geometry::Point;
use crate::scanner::{CrystalPlace, CrystalRing};
use crate::statistics::FWHM_PER_SIGMA;

/// Layers of modules that a line can meet at most.
const MAX_CROSSED: usize = 16;
/// Maximum number of crystals with separate deposits of one decay; deposits in further ones are lost.
const MAX_DEPOSITS: usize = 24;

/// A ring of crystals as photons see it.
#[derive(Clone, Debug)]
pub struct RingDetector {
    /// The ring.
    pub ring: CrystalRing,
    /// Material of its crystals.
    pub material: &'static Material,
    layers: Vec<Layer>,
    /// Cosine and sine of each module's angle.
    turns: Vec<[f64; 2]>,
}

/// The crystals of a layer of a module.
#[derive(Clone, Debug)]
struct Layer {
    head: CrystalHead,
    /// From the axis to its face, mm.
    front_mm: f64,
}

/// Outcome of a decay.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum DecayOutcome {
    /// Fewer than two crystals report, or both for the same photon.
    Nothing,
    /// Counted on a line of response; `weight` decays of its kind are.
    Counted {
        /// The line of response.
        lor: usize,
        /// Its weight in decays.
        weight: f64,
    },
    /// More than two crystals report.
    Multiple {
        /// Its weight in decays.
        weight: f64,
    },
}

/// A layer of a module that a line meets.
#[derive(Clone, Copy, Debug, Default)]
struct CrossedLayer {
    enters_mm: f64,
    module: usize,
    layer: usize,
}

/// Energy that a crystal got of each photon.
#[derive(Clone, Copy, Debug, Default)]
struct Deposit {
    crystal: usize,
    energy_kev: [f64; 2],
}

/// The deposits of a decay.
#[derive(Default)]
struct Deposits {
    all: [Deposit; MAX_DEPOSITS],
    num: usize,
}

impl Deposits {
    fn add(&mut self, crystal: usize, photon: usize, energy_kev: f64) {
        if let Some(deposit) = self.all[..self.num].iter_mut().find(|deposit| deposit.crystal == crystal) {
            deposit.energy_kev[photon] += energy_kev;
        } else if self.num < MAX_DEPOSITS {
            self.all[self.num].crystal = crystal;
            self.all[self.num].energy_kev[photon] = energy_kev;
            self.num += 1;
        }
    }
}

impl RingDetector {
    /// Returns a ring.
    ///
    /// # Errors
    /// A material that is not known, crystals that make no layer.
    pub fn new(ring: CrystalRing) -> Result<Self, DetectorError> {
        let material = Material::find(&ring.material)?;
        let readout = Readout { energy_resolution: 0.0, window_kev: [0.0, f64::MAX], assignment: Assignment::LargestDeposit };
        let (mut layers, mut front_mm) = (Vec::new(), ring.radius_mm);
        for &depth_mm in &ring.layer_depths_mm {
            let crystal_mm = [ring.size_mm[0], ring.size_mm[1], depth_mm];
            let array = CrystalArray { num: ring.num, pitch_mm: ring.pitch_mm, crystal_mm, material };
            layers.push(Layer { head: CrystalHead::new(array, readout)?, front_mm });
            front_mm += depth_mm;
        }
        let turns = (0..ring.num_modules).map(|module| ring.module_angle_rad(module).sin_cos()).map(|(sin, cos)| [cos, sin]);
        Ok(Self { material, layers, turns: turns.collect(), ring })
    }

    /// Returns the crystals of each layer of a module, and from the axis to their faces, mm.
    pub fn layers(&self) -> impl Iterator<Item = (&CrystalHead, f64)> {
        self.layers.iter().map(|layer| (&layer.head, layer.front_mm))
    }

    /// Returns the outcome of a decay inside the bore. Draws: the direction's azimuth, its slope, each photon's history, and the
    /// noise of the energies of the crystals, if they have any.
    pub fn outcome(&self, decay: Point, random: &mut Philox) -> DecayOutcome {
        let Some((direction, mut weight)) = self.direction(decay, random) else { return DecayOutcome::Nothing };
        let mut deposits = Deposits::default();
        for photon in 0..2 {
            let direction = if photon == 0 { direction } else { direction.map(|v| -v) };
            weight *= self.track(decay, direction, photon, true, &mut deposits, random);
            if weight <= 0.0 {
                return DecayOutcome::Nothing;
            }
        }
        self.read_out(&deposits, weight, random)
    }

    /// Returns the line of response that counts a decay inside the bore, if any: nothing is forced. Draws those of [`Self::outcome`]
    /// and, before the photons', one for the test of its direction.
    pub fn count(&self, decay: Point, random: &mut Philox) -> Option<usize> {
        let (direction, share) = self.direction(decay, random)?;
        if uniform(random) >= share {
            return None;
        }
        let mut deposits = Deposits::default();
        for (photon, direction) in [direction, direction.map(|v| -v)].into_iter().enumerate() {
            if self.track(decay, direction, photon, false, &mut deposits, random) <= 0.0 {
                return None;
            }
        }
        match self.read_out(&deposits, 1.0, random) {
            DecayOutcome::Counted { lor, .. } => Some(lor),
            DecayOutcome::Nothing | DecayOutcome::Multiple { .. } => None,
        }
    }

    /// Returns a direction with which both photons may reach crystals, and the share of all directions that such ones are.
    fn direction(&self, [x, y, z]: Point, random: &mut Philox) -> Option<([f64; 3], f64)> {
        let (sin, cos) = (TAU * uniform(random)).sin_cos();
        // Distances to the bore's wall, forwards and backwards.
        let along = x * cos + y * sin;
        let half_chord = (self.ring.radius_mm.powi(2) - (x * x + y * y - along * along)).max(0.0).sqrt();
        let [forwards, backwards] = [half_chord - along, half_chord + along].map(|mm| mm.max(1e-9));
        let end = self.ring.half_length_mm();
        let steepest = ((end - z) / forwards).min((end + z) / backwards);
        let flattest = ((-end - z) / forwards).max((z - end) / backwards);
        // Directions are even in the sine of the slope.
        let [low, high] = [flattest, steepest].map(|slope| slope / slope.hypot(1.0));
        let sine = low + uniform(random) * (high - low);
        let cosine = (1.0 - sine * sine).max(0.0).sqrt();
        (high > low).then_some(([cosine * cos, cosine * sin, sine], 0.5 * (high - low)))
    }

    /// Returns the layers of modules that a line meets, in order.
    fn crossed(&self, [x, y, z]: Point, direction: [f64; 3]) -> ([CrossedLayer; MAX_CROSSED], usize) {
        let (mut all, mut num) = ([CrossedLayer::default(); MAX_CROSSED], 0);
        let half = self.layers[0].head.half_head_mm;
        let slab = |at: f64, along: f64, low: f64, high: f64| {
            let inverse = 1.0 / if along.abs() < 1e-12 { 1e-12f64.copysign(along) } else { along };
            let [a, b] = [(low - at) * inverse, (high - at) * inverse];
            if a < b { [a, b] } else { [b, a] }
        };
        let [z_enters, z_leaves] = slab(z, direction[2], -half[1], half[1]);
        for (module, [cos, sin]) in self.turns.iter().enumerate() {
            let (towards, goes) = (x * cos + y * sin, direction[0] * cos + direction[1] * sin);
            let (across, drifts) = (y * cos - x * sin, direction[1] * cos - direction[0] * sin);
            let [enters, leaves] = slab(across, drifts, -half[0], half[0]);
            let (enters, leaves) = (enters.max(z_enters).max(0.0), leaves.min(z_leaves));
            if enters >= leaves {
                continue;
            }
            for (number, layer) in self.layers.iter().enumerate() {
                let depth_mm = layer.head.array.crystal_mm[2];
                let [front, rear] = slab(towards - layer.front_mm, goes, 0.0, depth_mm);
                let enters_mm = enters.max(front);
                if enters_mm < leaves.min(rear) && num < MAX_CROSSED {
                    let before = all[..num].partition_point(|crossed| crossed.enters_mm <= enters_mm);
                    all.copy_within(before..num, before + 1);
                    all[before] = CrossedLayer { enters_mm, module, layer: number };
                    num += 1;
                }
            }
        }
        (all, num)
    }

    /// Returns a point or a direction in the frame of a module's layer: across, along the axis, in depth.
    fn in_layer(&self, crossed: &CrossedLayer, [x, y, z]: Point, front_mm: f64) -> [f64; 3] {
        let [cos, sin] = self.turns[crossed.module];
        [y * cos - x * sin, z, x * cos + y * sin - front_mm]
    }

    /// Flies until `path_mm` lies inside crystals. Returns the distance and the crystal; else the path inside crystals.
    fn fly(&self, position: Point, direction: [f64; 3], path_mm: f64) -> Result<(f64, usize), f64> {
        let (crossed, num) = self.crossed(position, direction);
        let mut in_crystals_mm = 0.0;
        for crossed in &crossed[..num] {
            let layer = &self.layers[crossed.layer];
            let (start, towards) = (self.in_layer(crossed, position, layer.front_mm), self.in_layer(crossed, direction, 0.0));
            match layer.head.fly(start, towards, path_mm - in_crystals_mm) {
                Flight::Interacts { distance_mm, crystal } => {
                    let place = CrystalPlace { module: crossed.module, layer: crossed.layer, at: crystal };
                    return Ok((distance_mm, self.ring.crystal(place)));
                }
                Flight::Leaves { in_crystals_mm: mm } => in_crystals_mm += mm,
            }
        }
        Err(in_crystals_mm)
    }

    /// Follows a photon until it is absorbed or has left. Returns its weight: 1, or for a forced first interaction the
    /// probability of one; 0 if it does not interact.
    fn track(
        &self,
        mut position: Point,
        mut direction: [f64; 3],
        photon: usize,
        forced: bool,
        deposits: &mut Deposits,
        random: &mut Philox,
    ) -> f64 {
        let mut energy_kev = ELECTRON_KEV;
        let mut attenuation = self.material.attenuation(energy_kev);
        let mut weight = 1.0;
        if forced {
            let Err(length_mm) = self.fly(position, direction, f64::INFINITY) else { return 0.0 };
            weight = -(-attenuation.total_per_mm() * length_mm).exp_m1();
            if weight <= 0.0 {
                return 0.0;
            }
        }
        let mut path_mm = -(-uniform(random) * weight).ln_1p() / attenuation.total_per_mm();
        let mut has_interacted = false;
        while let Ok((distance_mm, crystal)) = self.fly(position, direction, path_mm) {
            has_interacted = true;
            (0..3).for_each(|axis| position[axis] += distance_mm * direction[axis]);
            let Interaction { deposited_kev, left } = interact(self.material, &attenuation, energy_kev, direction, random);
            if deposited_kev > 0.0 {
                deposits.add(crystal, photon, deposited_kev);
            }
            let Some(after) = left else { break };
            (energy_kev, direction) = (after.energy_kev, after.direction);
            attenuation = self.material.attenuation(energy_kev);
            path_mm = -uniform(random).ln() / attenuation.total_per_mm();
        }
        if has_interacted { weight } else { 0.0 }
    }

    /// Returns the outcome from the crystals that report.
    fn read_out(&self, deposits: &Deposits, weight: f64, random: &mut Philox) -> DecayOutcome {
        let resolution = self.ring.energy_resolution_percent / 100.0;
        let (mut num, mut reporting) = (0, [Deposit::default(); 2]);
        for deposit in &deposits.all[..deposits.num] {
            let mut energy_kev: f64 = deposit.energy_kev.iter().sum();
            if resolution > 0.0 {
                energy_kev += resolution * (energy_kev * ELECTRON_KEV).sqrt() / FWHM_PER_SIGMA * normal_pair(random)[0];
            }
            if energy_kev >= self.ring.threshold_kev {
                if num < 2 {
                    reporting[num] = *deposit;
                }
                num += 1;
            }
        }
        let photon = |deposit: &Deposit| usize::from(deposit.energy_kev[1] > deposit.energy_kev[0]);
        match num {
            2 if photon(&reporting[0]) != photon(&reporting[1]) => {
                let lor = self.ring.lor(reporting[0].crystal, reporting[1].crystal);
                DecayOutcome::Counted { lor, weight }
            }
            0..=2 => DecayOutcome::Nothing,
            _ => DecayOutcome::Multiple { weight },
        }
    }
}
