//! Regions to measure.

use serde::{Deserialize, Serialize};

use crate::data::MaskedRois;
use crate::io::rois::{RoiEntry, of_entries};

/// Maximum length of regions as text, bytes: the voxels of isocontours can be long.
const MAX_ROI_BYTES: usize = 16 << 20;

/// ROIs to measure on every iterate. `branch` grows with each edit, so that a curve shows the changes of its ROI.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "SentRois", into = "SentRois")]
pub struct RoiSet {
    pub branch: u64,
    /// Regions. Watcher, solver and measurer share their masks.
    pub rois: MaskedRois,
}

/// Regions as they are sent.
#[derive(Serialize, Deserialize)]
struct SentRois {
    branch: u64,
    /// Fields of the ROI file format.
    json: String,
}

impl From<RoiSet> for SentRois {
    fn from(RoiSet { branch, rois }: RoiSet) -> Self {
        let entries: Vec<RoiEntry> = rois.iter().map(RoiEntry::from).collect();
        // Structures of numbers and texts are always serialisable.
        Self { branch, json: serde_json::to_string(&entries).unwrap_or_default() }
    }
}

impl TryFrom<SentRois> for RoiSet {
    type Error = String;

    fn try_from(SentRois { branch, json }: SentRois) -> Result<Self, String> {
        if json.len() > MAX_ROI_BYTES {
            return Err(format!("regions of {} bytes are more than the {MAX_ROI_BYTES} that can be sent", json.len()));
        }
        let entries: Vec<RoiEntry> = serde_json::from_str(&json).map_err(|error| error.to_string())?;
        Ok(Self { branch, rois: of_entries(&entries).map_err(|problem| problem.to_string())?.into() })
    }
}

impl RoiSet {
    /// Checks that the regions can be sent.
    ///
    /// # Errors
    /// A region that the receiver refuses, or too much text; as a sentence.
    pub fn check(&self) -> Result<(), String> {
        Self::try_from(SentRois::from(self.clone())).map(drop)
    }
}
