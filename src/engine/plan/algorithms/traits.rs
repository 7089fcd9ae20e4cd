//! Traits of data on which the choice of an algorithm depends.

/// Kind of the data that are reconstructed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DataKind {
    /// Projection data.
    #[default]
    Projections,
    /// List-mode data.
    Events,
    /// A crystal-pair histogram.
    Pairs,
    /// An EPRI acquisition.
    Sweep,
    /// Pulse acquisitions at several delays or echo times, for a map of oxygen.
    Oximetry,
    /// Images of another program.
    Images,
}

impl DataKind {
    /// Returns its name in a sentence: "an EPRI acquisition".
    pub fn singular(self) -> &'static str {
        match self {
            DataKind::Projections | DataKind::Events | DataKind::Oximetry => self.plural(),
            DataKind::Pairs => "a crystal-pair histogram",
            DataKind::Sweep => "an EPRI acquisition",
            DataKind::Images => "an image",
        }
    }

    /// Returns its name in the plural: "EPRI acquisitions".
    pub fn plural(self) -> &'static str {
        match self {
            DataKind::Projections => "projection data",
            DataKind::Events => "list-mode data",
            DataKind::Pairs => "crystal-pair histograms",
            DataKind::Sweep => "EPRI acquisitions",
            DataKind::Oximetry => "EPRI acquisitions of pulse oximetry",
            DataKind::Images => "images",
        }
    }
}

/// Traits of data on which a choice of algorithm and parameters depends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traits {
    /// Kind of the data.
    pub kind: DataKind,
    /// True if the data contain the duration of the scan.
    pub has_duration: bool,
    /// True for a two-dimensional EPRI acquisition.
    pub is_slice: bool,
    /// True for continuous-wave spectra.
    pub is_continuous_wave: bool,
    /// True for continuous-wave spectra under gradients of several sizes, or if further sizes may arrive: they separate spectra from
    /// positions.
    pub separates_spectra: bool,
}
