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
}

/// Traits of data on which a choice of algorithm and parameters depends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traits {
    /// Kind of the data.
    pub kind: DataKind,
    /// Whether they are a two-dimensional EPRI acquisition.
    pub is_slice: bool,
    /// Whether they are continuous-wave spectra.
    pub is_continuous_wave: bool,
}
