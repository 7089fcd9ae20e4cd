//! Contents of a correction.

/// Effect that the factors or the background of a scan include.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::Display, strum::EnumString, strum::VariantArray)]
#[strum(serialize_all = "kebab-case")]
pub enum CorrectionContent {
    /// Attenuation of the object, in factors.
    Attenuation,
    /// Detection efficiencies and the numbers of pairs of a bin, in factors.
    Efficiency,
    /// Random coincidences, in a background.
    Randoms,
    /// Scattered coincidences, in a background.
    Scatter,
}

impl CorrectionContent {
    /// Returns true if it belongs to a background, false if to factors.
    pub fn is_additive(self) -> bool {
        matches!(self, Self::Randoms | Self::Scatter)
    }
}
