//! Reader of the reference spectra of a format of acquisitions.

use std::path::{Path, PathBuf};

use super::spectrum_settings::SpectrumSettings;
use crate::data::{Notice, ReferenceSpectrum};
use crate::io::error::IoError;

/// Reads a reference spectrum; returns it with notices.
pub type ReadReference = fn(&Path) -> Result<(ReferenceSpectrum, Vec<Notice>), IoError>;

/// Reader of the reference spectra of a format.
pub struct ReferenceReader {
    /// Reads one.
    pub read: ReadReference,
    /// Its place in the folder of an acquisition.
    pub default_path: fn(&Path) -> Option<PathBuf>,
    /// Names and files of the spectra of several radicals, in place of one reference spectrum.
    pub radicals: fn(&Path) -> Vec<(String, PathBuf)>,
    /// Field of the middle sample, mT.
    pub middle_mt: fn(&Path) -> Option<f64>,
    /// Settings of the spectrometer for a spectrum, or for projections.
    pub settings: fn(&Path) -> Option<SpectrumSettings>,
}
