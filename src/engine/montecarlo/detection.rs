//! Detection of photons by a crystal head.

use rand_philox::Philox;

use super::crystals::CrystalHead;
use super::readout::Assignment;
use super::track::{Deposit, Photon, Track};

/// An event as a head reports it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Detection {
    /// Tangential and axial index of the crystal that it is assigned to.
    pub crystal: [usize; 2],
    /// Measured energy.
    pub energy_kev: f64,
    /// Number of photons that it represents.
    pub weight: f64,
}

impl CrystalHead {
    /// Follows a photon and reads the head out; nothing where the head sees nothing, or outside the energy window.
    ///
    /// With `forced` the photon interacts at least once and the detection's weight makes up for it. Draws those of the
    /// track, then those of the measured energy if anything was deposited.
    pub fn detect(&self, photon: Photon, forced: bool, random: &mut Philox) -> Option<Detection> {
        let track = self.track(photon, forced, random);
        if track.deposited_kev <= 0.0 {
            return None;
        }
        let energy_kev = self.readout.measured_kev(track.deposited_kev, random);
        let [lowest, highest] = self.readout.window_kev;
        let is_accepted = lowest <= energy_kev && energy_kev <= highest;
        is_accepted.then(|| Detection { crystal: self.assigned(&track), energy_kev, weight: track.weight })
    }

    fn assigned(&self, track: &Track) -> [usize; 2] {
        match self.readout.assignment {
            Assignment::LargestDeposit => {
                let larger = |a: Deposit, b: Deposit| if b.energy_kev > a.energy_kev { b } else { a };
                track.deposits().iter().copied().fold(Deposit::default(), larger).crystal
            }
            Assignment::Centroid => self.crystal_at(track.moment_kev_mm.map(|moment| moment / track.deposited_kev)),
        }
    }
}
