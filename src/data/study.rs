//! A study: what was measured, with everything that its reconstruction needs.

use std::sync::Arc;

use super::{Michelogram, Notice, Origin, Roi, Volume};
use crate::scanner::ScanGeometry;

/// Measured projection data with its corrections: ȳ = multiplicative ⊙ (A x) + additive.
#[derive(Clone, Debug)]
pub struct Study {
    /// Name for people: the file's name or the phantom's title.
    pub title: String,
    /// The files that it was read from.
    pub origin: Origin,
    /// Measured (prompt) counts.
    pub measured: Michelogram,
    /// Attenuation × normalisation factors of each bin; `None` = 1.
    pub multiplicative: Option<Michelogram>,
    /// Expected randoms + scatter of each bin; `None` = 0.
    pub additive: Option<Michelogram>,
    /// The true image, for phantoms.
    pub truth: Option<Volume>,
    /// Regions that come with the study (phantoms).
    pub rois: Vec<Roi>,
    /// What the user should know about the data.
    pub notices: Vec<Notice>,
}

/// Why parts do not make a study.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum StudyError {
    /// A correction has another sampling than the data.
    #[error("the {which} sinogram has {found} but the measured data has {expected}; both must be sampled alike")]
    Sampling {
        /// `multiplicative` or `additive`.
        which: &'static str,
        /// Sampling of the data.
        expected: String,
        /// Sampling of the correction.
        found: String,
    },
}

impl Study {
    /// A study without corrections.
    pub fn new(title: impl Into<String>, measured: Michelogram) -> Self {
        Self {
            title: title.into(),
            origin: Origin::default(),
            measured,
            multiplicative: None,
            additive: None,
            truth: None,
            rois: Vec::new(),
            notices: Vec::new(),
        }
    }

    /// Adds corrections, which must be sampled as the data is.
    ///
    /// # Errors
    /// Another number of views, tangential positions or planes.
    pub fn with_corrections(
        mut self,
        multiplicative: Option<Michelogram>,
        additive: Option<Michelogram>,
    ) -> Result<Self, StudyError> {
        let sampling = |g: &ScanGeometry| {
            let segments: Vec<_> = g.segments.iter().map(|s| s.num_axial_pos).collect();
            (g.num_views, g.num_tangential, segments)
        };
        let words = |g: &ScanGeometry| {
            format!(
                "{} views × {} tangential positions × {} planes in {} segments",
                g.num_views,
                g.num_tangential,
                g.num_planes(),
                g.segments.len()
            )
        };
        for (which, data) in [("multiplicative", &multiplicative), ("additive", &additive)] {
            let Some(data) = data else { continue };
            if sampling(&data.geometry) != sampling(&self.measured.geometry) {
                let (expected, found) = (words(&self.measured.geometry), words(&data.geometry));
                return Err(StudyError::Sampling { which, expected, found });
            }
        }
        self.multiplicative = multiplicative;
        self.additive = additive;
        Ok(self)
    }

    /// Which LOR each bin is.
    pub fn geometry(&self) -> &Arc<ScanGeometry> {
        &self.measured.geometry
    }
}
