//! Numbers of the lesions of an image with which a later image is compared.

use serde::{Deserialize, Serialize};

use super::figures::LesionFigures;
use super::percist::LiverReference;
use super::table::{LesionTable, LesionTotal};
use crate::data::Unit;

/// Numbers of a lesion, or of the total.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LesionNumbers {
    /// Maximum; `None` of a total without lesions.
    pub max: Option<f64>,
    /// Peak; of the total the largest.
    pub peak: Option<f64>,
    /// Volume, mL.
    pub volume_ml: f64,
    /// Total glycolysis, mL in the unit of the image.
    pub total_ml: f64,
}

/// Lesion of a baseline.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BaselineLesion {
    /// Name of its region.
    pub name: String,
    /// Its numbers; `None` of a lesion without numbers.
    pub numbers: Option<LesionNumbers>,
}

/// Numbers of the lesions of an image, without their voxels.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LesionBaseline {
    /// Unit of the values.
    pub unit: Unit,
    /// Liver.
    pub liver: Option<LiverReference>,
    /// Total.
    pub total: LesionNumbers,
    /// Lesions, in the order of their regions.
    #[serde(default)]
    pub lesions: Vec<BaselineLesion>,
}

impl From<&LesionFigures> for LesionNumbers {
    fn from(figures: &LesionFigures) -> Self {
        let LesionFigures { max, peak, volume_ml, .. } = *figures;
        Self { max: Some(max), peak: peak.map(|peak| peak.mean), volume_ml, total_ml: figures.total_ml() }
    }
}

impl From<&LesionTotal> for LesionNumbers {
    fn from(total: &LesionTotal) -> Self {
        let LesionTotal { max, peak, volume_ml, total_ml, .. } = *total;
        Self { max, peak, volume_ml, total_ml }
    }
}

impl From<&LesionTable> for LesionBaseline {
    fn from(table: &LesionTable) -> Self {
        let numbers = table.lesions.iter().map(|lesion| lesion.figures.as_ref().ok().map(LesionNumbers::from));
        let lesions =
            table.lesions.iter().zip(numbers).map(|(lesion, numbers)| BaselineLesion { name: lesion.name.clone(), numbers });
        Self { unit: table.unit, liver: table.liver, total: (&table.total).into(), lesions: lesions.collect() }
    }
}

impl LesionNumbers {
    /// Returns true if all numbers are finite and the volume is at least 0.
    fn is_valid(&self) -> bool {
        let Self { max, peak, volume_ml, total_ml } = *self;
        [max, peak, Some(volume_ml), Some(total_ml)].into_iter().flatten().all(f64::is_finite) && volume_ml >= 0.0
    }
}

impl LesionBaseline {
    /// Returns true if a measurement can give these numbers: finite ones, and neither a volume nor a standard deviation below 0.
    pub fn is_valid(&self) -> bool {
        let is_liver = |liver: LiverReference| liver.mean.is_finite() && liver.sd.is_finite() && liver.sd >= 0.0;
        let numbers = self.lesions.iter().filter_map(|lesion| lesion.numbers.as_ref());
        numbers.chain([&self.total]).all(LesionNumbers::is_valid) && self.liver.is_none_or(is_liver)
    }
}
