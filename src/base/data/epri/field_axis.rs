//! The axis of the magnetic field of spectra.

/// Magnetic fields of the samples of a spectrum, evenly spaced and relative to the middle of the field sweep.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct FieldAxis {
    /// Field of the first sample, mT.
    pub first_mt: f64,
    /// Distance of the samples, mT.
    pub step_mt: f64,
    /// Number of samples.
    pub num_samples: usize,
}

impl FieldAxis {
    /// Returns the field of a sample, mT.
    pub fn field_mt(&self, sample: usize) -> f64 {
        self.first_mt + sample as f64 * self.step_mt
    }

    /// Returns the fields of all samples, mT.
    pub fn fields_mt(&self) -> Vec<f64> {
        (0..self.num_samples).map(|sample| self.field_mt(sample)).collect()
    }

    /// Returns the range of the fields, mT: the distance of samples times their number.
    pub fn range_mt(&self) -> f64 {
        self.step_mt * self.num_samples as f64
    }
}
