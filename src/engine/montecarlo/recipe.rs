//! Recipe of a simulated set of tubes of response.

use super::coincidences::Coincidences;
use super::crystals::DetectorError;
use super::positron::{AnnihilationPhysics, Isotope};
use super::tubes::{HistoryError, HistorySimulator, TubePrecision, TubeTally};
use crate::coded::{PassedOn, coded};
use crate::data::{SharedTubes, SuperLorError, SuperLors, TubeSampling, TubeSet, TubeSetError, TubesMade};
use crate::scanner::Scanner;
use crate::task::{Stopped, Task};

/// FWHM of the angle between the photons, projected onto a plane (De Benedetti et al. 1950).
const NONCOLLINEARITY_FWHM_DEG: f64 = 0.5;

/// Fewest histories between two looks at how exact the tubes are.
const HISTORIES_PER_LOOK: u64 = 2_000_000;

/// Recipe of a set of tubes.
#[derive(Clone, Debug, PartialEq)]
pub struct TubeRecipe {
    /// Whose positrons travel before they annihilate; `None` = they do not.
    pub isotope: Option<Isotope>,
    /// True if both photons fly in exactly opposite directions.
    pub is_collinear: bool,
    /// Number of simulated annihilations.
    pub amount: Amount,
    /// Seed of the random numbers.
    pub seed: u64,
    /// Tubes that share one.
    pub super_lors: SuperLors,
}

/// Number of simulated annihilations.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Amount {
    /// This many.
    Histories(u64),
    /// Until the standard error of the coefficients on the single tubes' axes (the median) is below this, %, before any share one.
    Precision(f64),
}

/// Reason why there are no tubes.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum TubesError {
    /// The scanner has no heads.
    #[error("{0} has no rotating heads; tubes are made for those (vrpet, vrpet-2010)")]
    NoHeads(String),
    /// The simulation does not support the heads.
    #[error(transparent)]
    Coincidences(#[from] DetectorError),
    /// No coincidence.
    #[error("no annihilation was seen by two heads; follow more (--events)")]
    NothingSeen,
    /// The simulated values are no valid tubes.
    #[error(transparent)]
    Tubes(#[from] TubeSetError),
    /// Invalid sharing.
    #[error(transparent)]
    SuperLors(#[from] SuperLorError),
    /// Stopped.
    #[error(transparent)]
    Stopped(#[from] Stopped),
    /// The device failed.
    #[error(transparent)]
    Device(PassedOn),
}

coded!(TubesError = "tubes"; Coincidences, Tubes, SuperLors, Stopped, Device);

impl From<HistoryError> for TubesError {
    fn from(error: HistoryError) -> Self {
        match error {
            HistoryError::Stopped(stopped) => Self::Stopped(stopped),
            HistoryError::Device(error) => Self::Device(error),
            // Tubes have no such tally.
            HistoryError::TallyFull => Self::Device(PassedOn::of(&error)),
        }
    }
}

impl Default for TubeRecipe {
    /// Returns twenty million annihilations of ¹⁸F.
    fn default() -> Self {
        Self {
            isotope: Some(Isotope::F18),
            is_collinear: false,
            amount: Amount::Histories(20_000_000),
            seed: 1,
            super_lors: SuperLors::NONE,
        }
    }
}

impl TubeRecipe {
    /// Returns the physics between decay and photons.
    pub fn physics(&self) -> AnnihilationPhysics {
        let noncollinearity_fwhm_deg = if self.is_collinear { 0.0 } else { NONCOLLINEARITY_FWHM_DEG };
        AnnihilationPhysics { range_of: self.isotope, noncollinearity_fwhm_deg }
    }

    /// Returns the simulated scanner.
    ///
    /// # Errors
    /// A scanner without heads, or with heads that the simulation does not support.
    pub fn coincidences(&self, scanner: &Scanner) -> Result<Coincidences, TubesError> {
        let heads = scanner.heads.clone().ok_or_else(|| TubesError::NoHeads(scanner.title.clone()))?;
        Ok(Coincidences::new(scanner.geometry.clone(), heads, self.physics())?)
    }

    /// Simulates the tubes of a scanner. They are independent of the device, except for the last bits of a few histories.
    ///
    /// # Errors
    /// A scanner without heads, or with heads that the simulation does not support; no coincidence; stopped, or the device
    /// failed.
    pub fn make(&self, scanner: &Scanner, simulator: &mut dyn HistorySimulator, task: &Task) -> Result<TubeSet, TubesError> {
        let geometry = &scanner.geometry;
        let sampling = TubeSampling::of(geometry);
        let mut tally = TubeTally::new(self.coincidences(scanner)?, sampling.clone(), self.seed);
        let precision = self.simulate(simulator, &mut tally, task)?.ok_or(TubesError::NothingSeen)?;
        let single = TubeSet::new(geometry.scanner.clone(), sampling, tally.tubes())?;
        let shared = self.super_lors.share(&single, &tally.num_pairs())?;
        let median_error_percent = || tally.precision(self.super_lors).map(|precision| precision.median_percent);
        let deviation = || self.super_lors.deviation(&single, &shared);
        let made = TubesMade {
            isotope: self.isotope.map(|isotope| isotope.to_string()),
            is_collinear: self.is_collinear,
            num_histories: tally.num_histories,
            seed: self.seed,
            median_error_percent: precision.median_percent,
            worst_tenth_error_percent: precision.worst_tenth_percent,
            outside_percent: precision.outside_percent,
            super_lors: (self.super_lors != SuperLors::NONE).then(|| SharedTubes {
                sizes: self.super_lors,
                median_error_percent: median_error_percent(),
                deviation: deviation(),
            }),
        };
        Ok(TubeSet { made: Some(made), ..shared })
    }

    /// Simulates annihilations until they suffice; `None` without a coincidence. Their number is independent of the device.
    fn simulate(
        &self,
        simulator: &mut dyn HistorySimulator,
        tally: &mut TubeTally,
        task: &Task,
    ) -> Result<Option<TubePrecision>, HistoryError> {
        let percent = match self.amount {
            Amount::Precision(percent) => percent,
            Amount::Histories(num) => {
                task.begin(num);
                simulator.simulate(tally, num, task)?;
                return Ok(tally.precision(SuperLors::NONE));
            }
        };
        let mut num = HISTORIES_PER_LOOK;
        loop {
            simulator.simulate(tally, num, task)?;
            match tally.precision(SuperLors::NONE) {
                Some(precision) if precision.median_percent > percent => {
                    // Errors fall with the square root of the number.
                    let ratio = (precision.median_percent / percent).powi(2);
                    let so_far = tally.num_histories;
                    let needed = (so_far as f64 * ratio) as u64;
                    task.begin(needed);
                    task.advance(so_far);
                    // An estimate from few histories may be far off: at most as many again.
                    num =
                        needed.saturating_sub(so_far).clamp(HISTORIES_PER_LOOK.max(so_far / 64), so_far.max(HISTORIES_PER_LOOK));
                }
                found => return Ok(found),
            }
        }
    }
}
