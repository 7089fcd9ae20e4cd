//! Concentration and number of spins from an image of density, by a known sample.
//!
//! An image u of a continuous-wave sweep is relative to its reference spectrum h: the signal is u ∗ h, and the number of spins is
//! proportional to u · ∬h. So concentrations c of an object and a sample compare as c/c_sample = (u ∬h)/(u_sample ∬h_sample).

use super::finite;
use crate::data::RoiSums;

/// Spins of a nmol: Avogadro's constant, one unpaired electron in a molecule.
pub const SPINS_PER_NMOL: f64 = 6.022_140_76e14;

/// The known quantity of a sample.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum KnownSample {
    /// Concentration of its region, mM.
    Concentration(f64),
    /// Amount in its region, nmol.
    Amount(f64),
}

impl KnownSample {
    /// Returns the concentration of 1 of the image's unit, mM. `None` where the region holds nothing above zero.
    pub fn mm_per_unit(self, sample: &RoiSums, voxel_mm3: f64) -> Option<f64> {
        // 1 mM is 1 nmol/mm³.
        let factor = match self {
            KnownSample::Concentration(mm) => mm * sample.weight / sample.sum,
            KnownSample::Amount(nmol) => nmol / (sample.sum * voxel_mm3),
        };
        finite(factor).filter(|factor| *factor > 0.0)
    }
}

/// Content of a region.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct Content {
    /// Volume, mm³.
    pub volume_mm3: f64,
    /// Mean concentration, mM.
    pub mean_mm: f64,
    /// Standard deviation between its voxels, mM; `None` for one voxel.
    pub sd_mm: Option<f64>,
    /// Amount, nmol.
    pub amount_nmol: f64,
    /// Number of spins.
    pub spins: f64,
}

impl Content {
    /// Returns the content of a region of an image. `None` of a region outside it.
    pub fn of(sums: &RoiSums, mm_per_unit: f64, voxel_mm3: f64) -> Option<Self> {
        let mean = finite(sums.sum / sums.weight)?;
        let squares = (sums.sum_of_squares - sums.weight * mean * mean).max(0.0);
        let volume_mm3 = sums.weight * voxel_mm3;
        let amount_nmol = mm_per_unit * mean * volume_mm3;
        Some(Self {
            volume_mm3,
            mean_mm: mm_per_unit * mean,
            sd_mm: (sums.weight > 1.0).then(|| mm_per_unit * (squares / (sums.weight - 1.0)).sqrt()),
            amount_nmol,
            spins: amount_nmol * SPINS_PER_NMOL,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sums(values: &[f64]) -> RoiSums {
        let sum = |of: &dyn Fn(f64) -> f64| values.iter().map(|value| of(*value)).sum();
        RoiSums {
            weight: values.len() as f64,
            sum: sum(&|v| v),
            sum_of_squares: sum(&|v| v * v),
            num_voxels: values.len(),
            ..RoiSums::NONE
        }
    }

    #[test]
    fn contents_of_a_few_voxels_by_hand() {
        let sample = sums(&[3.0, 5.0]);
        // Voxels of 8 mm³: a mean of 4 is 2 mM, a sum of 8 × 8 mm³ is 32 nmol at 0.5 mM each.
        assert_eq!(KnownSample::Concentration(2.0).mm_per_unit(&sample, 8.0), Some(0.5));
        assert_eq!(KnownSample::Amount(32.0).mm_per_unit(&sample, 8.0), Some(0.5));
        let content = Content::of(&sums(&[1.0, 2.0, 3.0]), 0.5, 8.0).unwrap();
        assert_eq!((content.volume_mm3, content.mean_mm, content.sd_mm, content.amount_nmol), (24.0, 1.0, Some(0.5), 24.0));
        assert_eq!(content.spins, 24.0 * 6.022_140_76e14);
        assert_eq!(KnownSample::Concentration(1.0).mm_per_unit(&RoiSums::NONE, 1.0), None);
        assert_eq!(KnownSample::Amount(1.0).mm_per_unit(&sums(&[-1.0]), 1.0), None);
        assert_eq!(Content::of(&RoiSums::NONE, 1.0, 1.0), None);
    }
}
