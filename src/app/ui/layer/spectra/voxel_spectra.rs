//! A spectrum in each voxel of an iterate.

use std::sync::Arc;

use crate::data::{FieldAxis, Volume};

/// Spectra of an iterate.
pub struct Spectra {
    pub axis: FieldAxis,
    /// An image of each sample.
    pub samples: Vec<Arc<Volume>>,
    /// Total number of steps of the iterate.
    pub steps: usize,
}

impl Spectra {
    /// Returns field (mT) and value of each sample at a voxel.
    pub fn at(&self, voxel: usize) -> Vec<[f64; 2]> {
        let value = |(sample, volume): (usize, &Arc<Volume>)| {
            Some([self.axis.field_mt(sample), f64::from(*volume.as_slice().get(voxel)?)])
        };
        self.samples.iter().enumerate().filter_map(value).collect()
    }
}
