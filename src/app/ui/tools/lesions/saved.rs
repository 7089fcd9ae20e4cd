//! Rule and baseline of the lesions, as a session contains them.

use serde::{Deserialize, Serialize};

use crate::measure::lesions::{LesionBaseline, LesionThreshold};
use crate::ui::widgets::fields::held_within;

/// Name of the region in the liver, until another one is chosen.
const LIVER: &str = "liver";

/// Percentages that the panel offers.
pub const PERCENT: [f64; 2] = [1.0, 100.0];

/// Numbers of an image, with its name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Baseline {
    /// Name of the image.
    pub title: String,
    pub numbers: LesionBaseline,
}

/// Baseline with a number that no measurement gives.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the baseline of the lesions ('{0}') has an invalid number")]
pub struct InvalidBaseline(pub String);

/// Rule and baseline of the lesions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SavedLesions {
    /// Rule that selects their voxels.
    pub threshold: LesionThreshold,
    /// Name of the region in the liver.
    pub liver: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub baseline: Option<Baseline>,
}

impl Default for SavedLesions {
    fn default() -> Self {
        Self { threshold: LesionThreshold::default(), liver: LIVER.to_owned(), baseline: None }
    }
}

impl SavedLesions {
    /// Replaces thresholds that the panel cannot make.
    pub fn sanitize(&mut self) {
        self.threshold = match self.threshold {
            LesionThreshold::Percent(percent) => LesionThreshold::Percent(held_within(percent, PERCENT[0], PERCENT[1])),
            LesionThreshold::Value(value) if !value.is_finite() => LesionThreshold::default(),
            threshold => threshold,
        };
    }
}
