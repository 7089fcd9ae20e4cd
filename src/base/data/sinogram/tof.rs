//! Time of flight in sinograms: the bins of d, and counts by them.
//!
//! The time-of-flight bin b of T has the d from (b − T/2) w to (b − T/2 + 1) w, mm from the middle of the LOR towards its end; a
//! point at l on the line has ½ [erf((high − l)/√2σ) − erf((low − l)/√2σ)] of its counts there.

use std::sync::Arc;

use rayon::prelude::*;

use crate::data::events::chunk::tof_mm;
use crate::geometry::GridError;
use crate::scanner::ScanGeometry;
use crate::text::counted;

/// Bins of the time of flight: as many on either side of the middle of a LOR.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct TofBins {
    /// Their number.
    pub num: usize,
    /// Width of each, mm of d.
    pub width_mm: f64,
    /// Resolution (FWHM), mm of d.
    pub fwhm_mm: f64,
}

/// Width of a bin that loses little of the resolution, in parts of it.
const WIDTH_OF_FWHM: f64 = 0.9;

/// Reason for the refusal of time-of-flight bins.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum TofBinsError {
    /// No bins.
    #[error("there is no time-of-flight bin")]
    None,
    /// A length, by its name, that is not positive.
    #[error("the {0} of the time of flight is {1} mm; it must be a positive length")]
    Length(&'static str, f64),
    /// A number of bins that the others are not a multiple of.
    #[error("{mash} at a time do not divide {num} time-of-flight bins; {}", divisors(*.num))]
    Mash {
        /// Bins that there are.
        num: usize,
        /// Bins to add up.
        mash: usize,
    },
}

/// Returns the numbers of bins that can be added up.
fn divisors(num: usize) -> String {
    let all: Vec<String> = (1..=num).filter(|mash| num.is_multiple_of(*mash)).map(|mash| mash.to_string()).collect();
    format!("use {}", all.join(", "))
}

impl TofBins {
    /// Returns the bins if they can be used.
    ///
    /// # Errors
    /// No bin, lengths that are not positive.
    pub fn checked(self) -> Result<Self, TofBinsError> {
        if self.num == 0 {
            return Err(TofBinsError::None);
        }
        for (name, mm) in [("bin width", self.width_mm), ("resolution", self.fwhm_mm)] {
            if !(mm.is_finite() && mm > 0.0) {
                return Err(TofBinsError::Length(name, mm));
            }
        }
        Ok(self)
    }

    /// Returns the width of a bin that loses little of a resolution, mm.
    pub fn suitable_width_mm(fwhm_mm: f64) -> f64 {
        WIDTH_OF_FWHM * fwhm_mm
    }

    /// Returns an odd number of bins of this width that cover the image of a scanner, across its axis.
    ///
    /// # Errors
    /// The scanner has no image grid.
    pub fn covering(width_mm: f64, fwhm_mm: f64, geometry: &ScanGeometry) -> Result<Self, GridError> {
        let grid = geometry.default_grid()?;
        let extent_mm = (0..2).map(|a| grid.size[a] as f64 * grid.voxel_mm[a]).fold(0.0, f64::max);
        let num = (extent_mm / width_mm).ceil().max(1.0) as usize;
        Ok(Self { num: num + usize::from(num.is_multiple_of(2)), width_mm, fwhm_mm })
    }

    /// Returns the d between which a bin lies, mm.
    pub fn edges_mm(&self, bin: usize) -> [f64; 2] {
        let first = bin as f64 - 0.5 * self.num as f64;
        [first * self.width_mm, (first + 1.0) * self.width_mm]
    }

    /// Returns the bins in words: "7 bins of 42.72 mm, resolution 62.96 mm (420 ps)".
    pub fn text(&self) -> String {
        let Self { num, width_mm, fwhm_mm } = self;
        let resolution_ps = fwhm_mm / tof_mm(1.0);
        format!("{} of {width_mm:.2} mm, resolution {fwhm_mm:.2} mm ({resolution_ps:.0} ps)", counted(*num, "bin"))
    }

    /// Returns the number of the bin that holds some d, which may be none of the bins.
    pub fn bin_of(&self, d_mm: f64) -> f64 {
        (d_mm / self.width_mm + 0.5 * self.num as f64).floor()
    }

    /// Returns the bin that holds some d; `None` outside of the bins.
    pub fn index_of(&self, d_mm: f64) -> Option<usize> {
        let bin = self.bin_of(d_mm);
        (bin >= 0.0 && bin < self.num as f64).then_some(bin as usize)
    }

    /// Returns the bins that `mash` neighbours make together.
    ///
    /// # Errors
    /// Another number than a divisor.
    pub fn mashed(&self, mash: usize) -> Result<Self, TofBinsError> {
        if mash == 0 || !self.num.is_multiple_of(mash) {
            return Err(TofBinsError::Mash { num: self.num, mash });
        }
        Ok(Self { num: self.num / mash, width_mm: self.width_mm * mash as f64, ..*self })
    }
}

/// Values by time-of-flight bin, `[view][tangential_pos][tof][plane]`, planes contiguous.
#[derive(Clone, Debug, PartialEq)]
pub struct TofValues {
    /// The bins.
    pub bins: TofBins,
    /// The values.
    pub values: Arc<Vec<f32>>,
}

impl TofValues {
    /// Returns the sums over each `num` neighbouring bins.
    pub fn sums(&self, num_planes: usize, num: usize) -> Vec<f32> {
        let mut sums = vec![0.0; self.values.len() / num];
        sums.par_chunks_mut(num_planes).zip(self.values.par_chunks(num_planes * num)).for_each(|(sums, of_bins)| {
            for values in of_bins.chunks(num_planes) {
                sums.iter_mut().zip(values).for_each(|(sum, value)| *sum += value);
            }
        });
        sums
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_lie_about_the_middle_and_add_up() {
        let bins = TofBins { num: 7, width_mm: 42.0, fwhm_mm: 60.0 };
        assert_eq!((bins.edges_mm(3), bins.edges_mm(0), bins.bin_of(-21.5)), ([-21.0, 21.0], [-147.0, -105.0], 2.0));
        let even = TofBins { num: 4, ..bins };
        assert_eq!((even.edges_mm(2), even.mashed(2).unwrap().edges_mm(1)), ([0.0, 42.0], [0.0, 84.0]));
        let error = even.mashed(3).unwrap_err().to_string();
        assert_eq!(error, "3 at a time do not divide 4 time-of-flight bins; use 1, 2, 4");
        assert!(TofBins { fwhm_mm: 0.0, ..bins }.checked().is_err() && TofBins { num: 0, ..bins }.checked().is_err());
    }
}
