//! Lesions: their voxels by a threshold, and their numbers.
//!
//! | number | definition | source |
//! |---|---|---|
//! | max | largest value of a voxel | |
//! | mean, SD | of the voxels, each with its part inside | |
//! | peak | largest mean of a sphere of 1 mL whose centre lies in the lesion | Wahl et al. 2009, J Nucl Med 50:122S (PERCIST) |
//! | MTV | volume: Σ parts × volume of a voxel, mL | Boellaard et al. 2015, EANM guidelines 2.0 |
//! | TLG | mean × MTV | the same |
//!
//! The values have the unit of the image: uptake values give SUVmax, SUVmean and SUVpeak.

mod baseline;
mod change;
mod figures;
mod peak;
mod percist;
mod table;
mod threshold;

pub use baseline::{BaselineLesion, LesionBaseline, LesionNumbers};
pub use change::{Change, Changes, LesionChange, changes};
pub use figures::{LesionFigures, SecondMean, SecondValue};
pub(super) use peak::peak;
pub use peak::{PEAK_DIAMETER_MM, Peak};
pub use percist::{LIVER_DIAMETER_MM, LiverReference};
pub use table::{Lesion, LesionOptions, LesionTable, LesionTotal, lesion_regions, measure_lesions};
pub use threshold::{LesionThreshold, at_least_half};

use crate::coded::coded;
use crate::data::Unit;

/// Reason why no lesions are measured.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum NoLesions {
    /// PERCIST of an image in another unit than uptake values by lean body mass.
    #[error("the threshold of PERCIST needs uptake values by lean body mass (SUL); the values are in {}", .0.label())]
    PercistUnit(Unit),
    /// PERCIST without a region in the liver.
    #[error("the threshold of PERCIST needs a region in the liver; no region has the name '{0}'")]
    NoLiver(String),
    /// A sphere of 3 cm in the liver that is partly outside the image.
    #[error("the sphere of {LIVER_DIAMETER_MM} mm about the centre of '{0}' is not wholly in the image")]
    LiverOutside(String),
    /// Values in the sphere that are no numbers.
    #[error("the sphere of {LIVER_DIAMETER_MM} mm about the centre of '{0}' has voxels without a finite number")]
    LiverValues(String),
    /// No region of a lesion.
    #[error("no region is a lesion: expected regions of the role none or hot")]
    NoRegions,
    /// The measurement was cancelled.
    #[error("stopped before it was complete")]
    Stopped,
}

coded!(NoLesions = "lesions");
