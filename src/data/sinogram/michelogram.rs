//! Projection data of a cylindrical scanner.

use std::sync::Arc;

use rayon::prelude::*;

use super::tof::TofValues;
use crate::coded::coded;
use crate::scanner::ScanGeometry;

/// Values that are looked at together.
const CHUNK: usize = 1 << 16;

/// Projection data: one value per bin, stored `[view][tangential_pos][plane]` with planes contiguous, independent of the order in
/// a file. Counts are shared, never copied, when a michelogram is cloned.
///
/// ```
/// use std::sync::Arc;
/// use tomoscope::data::{Michelogram, MichelogramError};
/// use tomoscope::scanner;
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
#[derive(Clone, Debug, PartialEq, thiserror::Error, strum::IntoStaticStr)]
#[strum(serialize_all = "kebab-case", prefix = "sinogram.")]
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

coded!(MichelogramError);

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
