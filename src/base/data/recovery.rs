//! Recovery of the six spheres of NEMA's body phantom: its quantities, and the limits that a standard sets for them.

/// Quantity of a sphere whose recovery a standard limits.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    serde::Serialize,
    serde::Deserialize,
    strum::IntoStaticStr,
    strum::VariantArray,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum RecoveryQuantity {
    /// Mean of the three-dimensional isocontour at 50 % of the maximum, adapted for the background.
    MeanA50,
    /// Largest voxel.
    Max,
    /// Largest mean of a sphere of 1 mL.
    Peak,
}

impl RecoveryQuantity {
    /// Returns the key in files and tables.
    pub fn key(self) -> &'static str {
        self.into()
    }

    /// Returns the name in texts.
    pub fn label(self) -> &'static str {
        match self {
            RecoveryQuantity::MeanA50 => "A50",
            RecoveryQuantity::Max => "max",
            RecoveryQuantity::Peak => "peak",
        }
    }
}

/// Limits of the recovery coefficients of a quantity, as fractions (1 = the true activity).
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct RecoveryBand {
    /// Quantity.
    pub quantity: RecoveryQuantity,
    /// [min, max] of each sphere, in the order of [`SPHERE_DIAMETERS_MM`](super::nema::SPHERE_DIAMETERS_MM).
    pub limits: [[f64; 2]; 6],
}

impl RecoveryBand {
    /// Returns the distance of a coefficient from the middle of the band of a sphere, by its index in [`SPHERE_DIAMETERS_MM`](super::nema::SPHERE_DIAMETERS_MM), in
    /// half widths: ±1 at the limits.
    pub fn deviation(&self, sphere: usize, coefficient: f64) -> f64 {
        let [min, max] = self.limits[sphere];
        (2.0 * coefficient - min - max) / (max - min)
    }
}

/// Standard of image quality: bands of recovery coefficients, and their source.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct RecoveryStandard {
    /// Name on the command line.
    pub name: String,
    /// Name in texts.
    pub title: String,
    /// Publication of the limits.
    pub source: String,
    /// Bands, at most one of each quantity.
    pub bands: Vec<RecoveryBand>,
}

impl RecoveryStandard {
    /// Returns true if it limits this quantity.
    pub fn has(&self, quantity: RecoveryQuantity) -> bool {
        self.bands.iter().any(|band| band.quantity == quantity)
    }
}
