//! Tubes of response: the response of a bin around its line, from a simulation of the scanner (Herraiz et al. 2011, section 2.3).
//!
//! The expected value of the bin (view φ, tangential index i, plane of ring difference d) is
//!
//! ```text
//! Σ_{a,b,c} T[|i|][|d|][a][b][c] · f(P(a, b, c))
//! ```
//!
//! with f the image, interpolated trilinearly between the middles of its voxels and 0 outside. With A, B, C the middle indices
//! along the line, across it and along the axis, the point P lies
//!
//! * (a − A)·Δ_along from the middle of the bin's line towards its end (seen from above),
//! * at the distance s_i + sign(i)·(b − B)·Δ_across from the axis,
//! * at z_line + sign(d)·(c − C)·Δ_axial, z_line being the z of the bin's line at that position along it.
//!
//! The tubes of −i and of −d are mirror images of those of i and d, hence the signs; sign(0) = +1.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::coded::coded;
use crate::data::super_lors::{SharingDeviation, SuperLors};
use crate::scanner::ScanGeometry;

/// Sampling of the tubes of response of a scanner.
#[derive(Clone, Debug, PartialEq)]
pub struct TubeSampling {
    /// Samples along the line, across it in the transaxial plane, and along the axis; all odd.
    pub num: [usize; 3],
    /// Distance between samples, in the same order, mm.
    pub spacing_mm: [f64; 3],
    /// Number of different |tangential index|.
    pub num_radial: usize,
    /// Number of different |ring difference|.
    pub num_ring_differences: usize,
}

impl TubeSampling {
    /// Returns the sampling of Herraiz et al. 2011: as far apart as bins along the line and across it, as slices along the axis;
    /// as many samples along the line as a view has bins, and 7 × 7 across it.
    pub fn of(geometry: &ScanGeometry) -> Self {
        let bin_mm = geometry.central_bin_mm();
        let reach = geometry.num_tangential / 2;
        Self {
            num: [2 * reach + 1, 7, 7],
            spacing_mm: [bin_mm, bin_mm, 0.5 * geometry.ring_spacing_mm],
            num_radial: reach + 1,
            num_ring_differences: geometry.num_rings,
        }
    }

    /// Returns the number of coefficients of a tube.
    pub fn tube_len(&self) -> usize {
        self.num.iter().product()
    }

    /// Returns the number of coefficients of all tubes; `None` on overflow.
    pub fn num_coefficients(&self) -> Option<usize> {
        let counts = [self.num[0], self.num[1], self.num[2], self.num_radial, self.num_ring_differences];
        counts.iter().try_fold(1usize, |product, &count| product.checked_mul(count))
    }
}

/// The tubes of response of a scanner that are different under its symmetries.
#[derive(Clone, Debug, PartialEq)]
pub struct TubeSet {
    /// Name of the scanner.
    pub scanner: String,
    /// Sampling of the tubes.
    pub sampling: TubeSampling,
    /// The coefficients, mm like the lengths of Siddon's lines, `[radial][ring_difference][along][across][axial]`.
    pub coefficients: Arc<Vec<f32>>,
    /// Their simulation, if known.
    pub made: Option<TubesMade>,
}

/// Simulation of tubes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TubesMade {
    /// The isotope whose positrons travelled; `None` = they did not.
    pub isotope: Option<String>,
    /// True if the two photons flew in exactly opposite directions.
    pub is_collinear: bool,
    /// Annihilations that were followed.
    pub num_histories: u64,
    /// Seed of their random numbers.
    pub seed: u64,
    /// Relative standard error of the coefficients on a single tube's axis, median over the tubes, %.
    pub median_error_percent: f64,
    /// The one that a tenth of the tubes exceeds, %.
    pub worst_tenth_error_percent: f64,
    /// Share of the coincidences whose decay lies outside the samples of its tube, %.
    pub outside_percent: f64,
    /// Which of them share one; `None` = every tube is its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub super_lors: Option<SharedTubes>,
}

/// Sharing of tubes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SharedTubes {
    /// Numbers of tubes that share one.
    pub sizes: SuperLors,
    /// Relative standard error of the coefficients on the axis of a shared tube, median over the tubes, %; `None` if unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub median_error_percent: Option<f64>,
    /// Deviation from the single tubes.
    pub deviation: SharingDeviation,
}

/// Reason why coefficients are no tubes of response.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum TubeSetError {
    /// A number of samples is even.
    #[error(
        "tubes of {0} × {1} × {2} samples have none in their middle; use odd numbers along the line, across it and along the axis"
    )]
    EvenSamples(usize, usize, usize),
    /// There are no tubes, or more than memory could hold.
    #[error("{num_radial} radial positions × {num_ring_differences} ring differences: invalid number of tubes")]
    NumTubes {
        /// Number of different |tangential index|.
        num_radial: usize,
        /// Number of different |ring difference|.
        num_ring_differences: usize,
    },
    /// Samples are no length apart.
    #[error("invalid tube sample distances {0} × {1} × {2} mm: each must be a positive length")]
    Spacing(f64, f64, f64),
    /// The number of coefficients is not that of the sampling.
    #[error("these tubes need {expected} coefficients but {found} were given")]
    Length {
        /// Coefficients of the sampling.
        expected: usize,
        /// Coefficients given.
        found: usize,
    },
    /// A coefficient is not a length.
    #[error("coefficient {index} of the tubes is {value}; each must be a finite number, and none negative")]
    Coefficient {
        /// Index in storage order.
        index: usize,
        /// Its value.
        value: f32,
    },
}

coded!(TubeSetError = "tube-set");

impl TubeSet {
    /// Tubes from coefficients in storage order.
    ///
    /// # Errors
    /// Even or impossible sampling, another number of coefficients, a coefficient that is negative or not finite.
    pub fn new(scanner: impl Into<String>, sampling: TubeSampling, coefficients: Vec<f32>) -> Result<Self, TubeSetError> {
        let TubeSampling { num, spacing_mm, num_radial, num_ring_differences } = sampling;
        if num.iter().any(|n| n % 2 == 0) {
            return Err(TubeSetError::EvenSamples(num[0], num[1], num[2]));
        }
        let Some(expected) = sampling.num_coefficients().filter(|&len| len > 0) else {
            return Err(TubeSetError::NumTubes { num_radial, num_ring_differences });
        };
        if !spacing_mm.iter().all(|d| d.is_finite() && *d > 0.0) {
            return Err(TubeSetError::Spacing(spacing_mm[0], spacing_mm[1], spacing_mm[2]));
        }
        if coefficients.len() != expected {
            return Err(TubeSetError::Length { expected, found: coefficients.len() });
        }
        if let Some(index) = coefficients.iter().position(|value| !(value.is_finite() && *value >= 0.0)) {
            return Err(TubeSetError::Coefficient { index, value: coefficients[index] });
        }
        Ok(Self { scanner: scanner.into(), sampling, coefficients: Arc::new(coefficients), made: None })
    }

    /// Returns the largest coefficient, mm.
    pub fn largest(&self) -> f32 {
        self.coefficients.iter().copied().fold(0.0, f32::max)
    }

    /// Returns the coefficients of one tube, `[along][across][axial]`.
    pub fn tube(&self, radial: usize, ring_difference: usize) -> &[f32] {
        let len = self.sampling.tube_len();
        &self.coefficients[(radial * self.sampling.num_ring_differences + ring_difference) * len..][..len]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sampling() -> TubeSampling {
        TubeSampling { num: [5, 3, 1], spacing_mm: [1.0, 2.0, 3.0], num_radial: 2, num_ring_differences: 4 }
    }

    #[test]
    fn a_tube_is_found_by_its_radial_position_and_ring_difference() {
        let tubes = TubeSet::new("toy", sampling(), (0..120).map(|k| k as f32).collect()).unwrap();
        let expected: Vec<f32> = (105..120).map(|k| k as f32).collect();
        assert_eq!(tubes.tube(1, 3), expected);
        assert_eq!(tubes.tube(0, 1)[0], 15.0);
    }

    #[test]
    fn invalid_tubes_are_refused() {
        let error = |change: &dyn Fn(&mut TubeSampling, &mut Vec<f32>)| {
            let (mut sampling, mut coefficients) = (sampling(), vec![1.0; 120]);
            change(&mut sampling, &mut coefficients);
            TubeSet::new("toy", sampling, coefficients).unwrap_err()
        };
        use TubeSetError::{Coefficient, EvenSamples, Length, NumTubes, Spacing};
        assert!(matches!(error(&|s, _| s.num[1] = 4), EvenSamples(_, 4, _)));
        assert!(matches!(error(&|s, _| s.num[2] = 0), EvenSamples(_, _, 0)));
        assert!(matches!(error(&|s, _| s.num_radial = 0), NumTubes { num_radial: 0, .. }));
        let many = error(&|s, _| s.num_ring_differences = usize::MAX);
        assert!(matches!(many, NumTubes { num_ring_differences: usize::MAX, .. }));
        assert!(matches!(error(&|s, _| s.spacing_mm[0] = 0.0), Spacing(0.0, _, _)));
        assert!(matches!(error(&|s, _| s.spacing_mm[2] = f64::NAN), Spacing(_, _, mm) if mm.is_nan()));
        assert_eq!(error(&|_, c| c.truncate(119)), Length { expected: 120, found: 119 });
        assert_eq!(error(&|_, c| c[7] = -1.0), Coefficient { index: 7, value: -1.0 });
        assert_eq!(error(&|_, c| c[8] = f32::INFINITY), Coefficient { index: 8, value: f32::INFINITY });
    }
}
