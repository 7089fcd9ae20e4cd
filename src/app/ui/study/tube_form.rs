//! Form of the simulation of tubes of response.

use crate::data::SuperLors;
use crate::montecarlo::{Amount, Isotope, TubeRecipe};

#[derive(Clone, Debug, PartialEq)]
pub struct TubeForm {
    /// True if the precision sets the amount, not the number of annihilations.
    pub by_precision: bool,
    /// Number of annihilations, millions.
    pub millions: f64,
    /// Standard error of the coefficients on the tubes' axes, %.
    pub precision_percent: f64,
    /// Isotope of the positrons; `None`: no positron range.
    pub isotope: Option<Isotope>,
    /// True if the photons have exactly opposite directions.
    pub is_collinear: bool,
    pub seed: u64,
    /// Neighbouring bins that share a tube.
    pub super_lors: SuperLors,
}

impl Default for TubeForm {
    fn default() -> Self {
        let TubeRecipe { isotope, is_collinear, seed, .. } = TubeRecipe::default();
        let super_lors = SuperLors { radial: 3, ring_differences: 3, along: 9 };
        Self { by_precision: false, millions: 100.0, precision_percent: 10.0, isotope, is_collinear, seed, super_lors }
    }
}

impl TubeForm {
    /// Returns the settings of the simulation.
    pub fn recipe(&self) -> TubeRecipe {
        let histories = Amount::Histories((1e6 * self.millions).round().max(1.0) as u64);
        TubeRecipe {
            isotope: self.isotope,
            is_collinear: self.is_collinear,
            amount: if self.by_precision { Amount::Precision(self.precision_percent) } else { histories },
            seed: self.seed,
            super_lors: self.super_lors,
        }
    }
}
