//! Measured energy, energy window and the rule by which a crystal is assigned.
//!
//! Light's statistics make the measured energy Gaussian about the deposited energy E, with a full width at half maximum
//! of r · √(E · 511 keV), where r is the resolution at 511 keV.

use rand_philox::Philox;
use thiserror::Error;

use super::draws::{ELECTRON_KEV, normal_pair};
use crate::coded::coded;
use crate::statistics::FWHM_PER_SIGMA;

/// The rule by which an event with deposits in several crystals goes to one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Assignment {
    /// The crystal with the largest deposit (of equal ones the first): crystals that are read out one by one.
    #[default]
    LargestDeposit,
    /// The crystal whose cell holds the energy-weighted centroid of all interactions: Anger logic.
    Centroid,
}

/// Readout of a head's crystals.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Readout {
    /// FWHM of the photo peak at 511 keV as a share of 511 keV; 0 for a perfect measurement.
    pub energy_resolution: f64,
    /// Lowest and highest accepted measured energy, both included.
    pub window_kev: [f64; 2],
    /// Which crystal an event goes to.
    pub assignment: Assignment,
}

/// Reason for which a readout is invalid.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum ReadoutError {
    /// The energy resolution.
    #[error("the energy resolution is a share of 511 keV from 0 to below 1, not {0}")]
    Resolution(f64),
    /// The energy window.
    #[error("an energy window goes from 0 keV or more up to a higher energy, not from {0} to {1} keV")]
    Window(f64, f64),
}

coded!(ReadoutError = "readout");

impl Readout {
    pub(super) fn check(&self) -> Result<(), ReadoutError> {
        if !(0.0..1.0).contains(&self.energy_resolution) {
            return Err(ReadoutError::Resolution(self.energy_resolution));
        }
        let [lowest, highest] = self.window_kev;
        if lowest >= 0.0 && lowest < highest { Ok(()) } else { Err(ReadoutError::Window(lowest, highest)) }
    }

    /// Returns the energy as measured: two draws, none where the measurement is perfect.
    pub(super) fn measured_kev(&self, deposited_kev: f64, random: &mut Philox) -> f64 {
        if self.energy_resolution == 0.0 {
            return deposited_kev;
        }
        let sigma_kev = self.energy_resolution * (deposited_kev * ELECTRON_KEV).sqrt() / FWHM_PER_SIGMA;
        deposited_kev + sigma_kev * normal_pair(random)[0]
    }
}
