//! Open images of another program.

use std::path::PathBuf;
use std::sync::Arc;

use crate::data::{ImageSeries, PetScan, ValueScale};
use crate::measure::{NoSuv, SuvDefinition, suv_factor};

/// Images of another program, and the unit in which they are shown.
pub struct OpenImages {
    /// Images.
    pub series: Arc<ImageSeries>,
    /// Their file or folder.
    pub path: Option<PathBuf>,
    /// Facts of a PET scan, with the user's changes.
    pub pet: Option<PetScan>,
    /// Definition of the uptake values that are shown; `None`: the images' own unit.
    pub uptake: Option<SuvDefinition>,
}

impl OpenImages {
    /// Returns the state of these images; uptake values by body weight are shown where they are known.
    pub fn new(series: Arc<ImageSeries>, path: Option<PathBuf>) -> Self {
        let mut open = Self { pet: series.pet.clone(), series, path, uptake: None };
        let default = SuvDefinition::default();
        open.uptake = open.factor(default).is_ok_and(|factor| factor != 1.0).then_some(default);
        open
    }

    /// Returns the uptake value of 1 of the images' own values.
    ///
    /// # Errors
    /// Missing facts, or an image without the necessary corrections.
    pub fn factor(&self, definition: SuvDefinition) -> Result<f64, NoSuv> {
        let scan = self.pet.as_ref().ok_or_else(|| NoSuv::Values(self.series.unit().label().to_owned()))?;
        suv_factor(scan, definition)
    }

    /// Returns the scale of the uptake values that are shown.
    pub fn uptake_scale(&self) -> Option<ValueScale> {
        let definition = self.uptake?;
        Some(ValueScale { unit: definition.unit(), factor: self.factor(definition).ok()? })
    }
}
