//! Projection data of a cylindrical scanner.

use std::sync::Arc;

use rayon::prelude::*;

use super::tof::{TofBins, TofBinsError, TofValues};
use crate::coded::coded;
use crate::scanner::ScanGeometry;

/// Values that are looked at together.
const CHUNK: usize = 1 << 16;

/// Projection data: one value per bin, stored `[view][tangential_pos][plane]` with planes contiguous, independent of the order in
/// a file. Counts are shared, never copied, when a michelogram is cloned.
///
/// ```
/// use std::sync::Arc;
/// use tomoscope_base::data::{Michelogram, MichelogramError};
/// use tomoscope_base::scanner;
///
/// let geometry = Arc::new(scanner::find("small").unwrap().geometry.clone());
/// let ones = Michelogram::new(Arc::clone(&geometry), vec![1.0; geometry.num_bins()])?;
/// assert_eq!(ones.total(), geometry.num_bins() as f64);
/// // As many values as the geometry has bins, no fewer.
/// assert!(Michelogram::new(geometry, vec![1.0; 3]).is_err());
/// # Ok::<(), MichelogramError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Michelogram {
    /// Which LOR each bin is.
    pub geometry: Arc<ScanGeometry>,
    /// The values, `geometry.num_bins()` of them; none if they are on a remote host ([`Michelogram::elsewhere`]).
    pub counts: Arc<Vec<f32>>,
    /// The same by time of flight, whose sums `counts` are; `None` where there is none.
    pub tof: Option<TofValues>,
}

/// Reason why data is not a michelogram.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum MichelogramError {
    /// The number of values is not the number of bins.
    #[error("the geometry has {expected} bins but {found} values were given")]
    Length {
        /// Bins of the geometry.
        expected: usize,
        /// Values given.
        found: usize,
    },
}

coded!(MichelogramError = "sinogram");

/// Returns the first value that is negative or not a finite number, and its index.
fn first_unusable(values: &[f32]) -> Option<(usize, f32)> {
    let is_usable = |v: f32| v.is_finite() & (v >= 0.0);
    // There may be tens of millions: a chunk is looked through without a branch for each value.
    let chunks = values.par_chunks(CHUNK).position_first(|chunk| !chunk.iter().fold(true, |all, &v| all & is_usable(v)));
    let first = chunks? * CHUNK;
    let index = first + values[first..].iter().position(|&v| !is_usable(v))?;
    Some((index, values[index]))
}

impl Michelogram {
    /// Returns projection data of values in storage order.
    ///
    /// # Errors
    /// The number of values is not the number of bins.
    pub fn new(geometry: Arc<ScanGeometry>, counts: Vec<f32>) -> Result<Self, MichelogramError> {
        let expected = geometry.num_bins();
        if counts.len() != expected {
            return Err(MichelogramError::Length { expected, found: counts.len() });
        }
        Ok(Self { geometry, counts: Arc::new(counts), tof: None })
    }

    /// Returns projection data with values on a remote host, which reconstructs them: nothing local can use the values.
    pub fn elsewhere(geometry: Arc<ScanGeometry>) -> Self {
        Self { geometry, counts: Arc::default(), tof: None }
    }

    /// Returns true if the values are on a remote host.
    pub fn is_remote(&self) -> bool {
        self.counts.is_empty() && self.geometry.num_bins() > 0
    }

    /// Returns the sum over all bins.
    pub fn total(&self) -> f64 {
        let sums = self.counts.par_chunks(CHUNK).map(|chunk| chunk.iter().map(|&v| f64::from(v)).sum::<f64>());
        sums.collect::<Vec<f64>>().into_iter().sum()
    }

    /// Returns the storage index and value of the first bin that is negative or not a finite number.
    pub fn first_unusable_bin(&self) -> Option<(usize, f32)> {
        first_unusable(&self.counts)
    }

    /// Returns the same of the first bin with such a value in a time-of-flight bin.
    pub fn first_unusable_tof_bin(&self) -> Option<(usize, f32)> {
        let TofValues { bins, values } = self.tof.as_ref()?;
        let (index, value) = first_unusable(values)?;
        let num_planes = self.geometry.num_planes();
        Some((index / (num_planes * bins.num) * num_planes + index % num_planes, value))
    }

    /// Returns the view, tangential position and plane of a storage index.
    pub fn bin_of_index(&self, index: usize) -> (usize, usize, usize) {
        let planes = self.geometry.num_planes();
        let transaxial = index / planes;
        (transaxial / self.geometry.num_tangential, transaxial % self.geometry.num_tangential, index % planes)
    }
}

/// By time of flight.
impl Michelogram {
    /// Returns projection data of values by time-of-flight bin. The counts are the sums over those.
    ///
    /// # Errors
    /// The number of values is not the number of bins.
    pub fn with_tof(geometry: Arc<ScanGeometry>, bins: TofBins, values: Vec<f32>) -> Result<Self, MichelogramError> {
        let expected = geometry.num_bins() * bins.num;
        if values.len() != expected {
            return Err(MichelogramError::Length { expected, found: values.len() });
        }
        let tof = TofValues { bins, values: Arc::new(values) };
        Ok(Self { counts: Arc::new(tof.sums(geometry.num_planes(), bins.num)), geometry, tof: Some(tof) })
    }

    /// Returns the same without time of flight.
    pub fn without_tof(self) -> Self {
        Self { tof: None, ..self }
    }

    /// Adds up `mash` neighbouring time-of-flight bins. Data without time of flight stay.
    ///
    /// # Errors
    /// Another number than a divisor of that of the bins.
    pub fn tof_mashed(self, mash: usize) -> Result<Self, TofBinsError> {
        let Some(tof) = &self.tof else { return Ok(self) };
        let mashed = tof.bins.mashed(mash)?;
        let values = Arc::new(tof.sums(self.geometry.num_planes(), mash));
        Ok(Self { tof: Some(TofValues { bins: mashed, values }), ..self })
    }

    /// Adds other data. Data without time of flight are divided among the bins in equal parts.
    #[must_use]
    pub fn plus(mut self, other: &Michelogram) -> Self {
        let add = |to: &mut [f32], from: &[f32]| to.par_iter_mut().zip(from).for_each(|(to, from)| *to += from);
        if let Some(TofValues { bins, values }) = &mut self.tof {
            let values = Arc::make_mut(values);
            match &other.tof {
                Some(tof) => add(values, &tof.values),
                None => {
                    let (num_planes, share) = (self.geometry.num_planes(), 1.0 / bins.num as f32);
                    let rows = values.par_chunks_mut(num_planes * bins.num).zip(other.counts.par_chunks(num_planes));
                    rows.for_each(|(of_lor, other)| {
                        let of_bins = of_lor.chunks_mut(num_planes);
                        of_bins.for_each(|to| to.iter_mut().zip(other).for_each(|(to, from)| *to += share * from));
                    });
                }
            }
        }
        let counts: &mut Vec<f32> = Arc::make_mut(&mut self.counts);
        add(counts, &other.counts);
        self
    }

    /// Replaces each bin's value by its inverse, 0 (or nearly) by 0, and returns the number of these.
    pub fn invert(&mut self) -> usize {
        let counts: &mut Vec<f32> = Arc::make_mut(&mut self.counts);
        let is_zero = |value: &mut f32| {
            let inverse = value.recip();
            *value = if inverse.is_infinite() { 0.0 } else { inverse };
            inverse.is_infinite()
        };
        counts.iter_mut().map(is_zero).filter(|is_zero| *is_zero).count()
    }

    /// Multiplies each bin by a factor, by time of flight too.
    pub fn scale_bins(&mut self, factors: &[f32]) {
        let counts = Arc::make_mut(&mut self.counts);
        counts.par_iter_mut().zip(factors).for_each(|(value, factor)| *value *= factor);
        let Some(TofValues { bins, values }) = &mut self.tof else { return };
        let num_planes = self.geometry.num_planes();
        let rows = Arc::make_mut(values).par_chunks_mut(num_planes * bins.num).zip(factors.par_chunks(num_planes));
        rows.for_each(|(of_lor, factors)| {
            for values in of_lor.chunks_mut(num_planes) {
                values.iter_mut().zip(factors).for_each(|(value, factor)| *value *= factor);
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_of_flight_bins_add_up() {
        let even = TofBins { num: 4, width_mm: 42.0, fwhm_mm: 60.0 };
        let geometry = Arc::new(crate::scanner::find("small").unwrap().geometry.clone());
        let values: Vec<f32> = (0..4 * geometry.num_bins()).map(|bin| (bin % 11) as f32).collect();
        let data = Michelogram::with_tof(Arc::clone(&geometry), even, values.clone()).unwrap();
        let num_planes = geometry.num_planes();
        let sum = (0..4).map(|tof| values[(5 * 4 + tof) * num_planes + 2]).sum::<f32>();
        assert_eq!(data.counts[5 * num_planes + 2], sum);
        let mashed = data.clone().tof_mashed(4).unwrap();
        assert_eq!(mashed.tof.unwrap().values, data.counts);
        assert!(Michelogram::with_tof(geometry, even, vec![0.0; 5]).is_err());
    }
}
