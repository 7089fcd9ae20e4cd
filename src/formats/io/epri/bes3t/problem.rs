//! Problems of BES3T files.

use crate::coded::coded;

/// A problem of a BES3T file.
#[derive(Debug, thiserror::Error)]
pub enum Bes3tProblem {
    /// A file that does not begin as a descriptor.
    #[error("it is not a BES3T descriptor: it begins with '{0}' where '#DESC' is expected")]
    NotBes3t(String),
    /// A spectral-spatial image, whose descriptor lacks the size of each gradient.
    #[error(
        "it is a spectral-spatial image (NrOfPsi is not 1), whose descriptor lacks the gradient of each projection; write the projections \
         and their gradients as a NumPy set (NAME-proj.npy, NAME-fgrad.npy, NAME-B.npy) and open that"
    )]
    SpectralSpatial,
    /// Data of three axes.
    #[error("it has a third axis (ZTYP), which neither a sweep nor a spectrum has; export one slice of it")]
    ThirdAxis,
    /// Spectra along an axis that is no gradient, by its name, and their number.
    #[error(
        "its {1} spectra are along an axis of {0}, not of gradients; export one of them as a single spectrum (of a saturation series one at a power \
         below saturation)"
    )]
    SecondAxis(String, usize),
    /// A spectrum, where a sweep is expected.
    #[error("it is a single spectrum, not a sweep of projections; it may be the reference spectrum of one")]
    SingleSpectrum,
    /// Several spectra, where a reference spectrum is expected.
    #[error("it holds {0} spectra, where one reference spectrum, measured without a gradient, is expected")]
    SeveralSpectra(usize),
}

coded!(Bes3tProblem = "io.unsupported.bes3t");
