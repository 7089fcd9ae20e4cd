//! The bins of a list's events.

use std::ops::Range;

use crate::data::{ListMetadata, ListSampling};
use crate::plan::error::ListError;
use crate::scanner::{Cylinder, ScanGeometry, ScanGeometryError};

/// Settings of the histogramming of events.
#[derive(Clone, Debug, PartialEq)]
pub struct HistogramSettings {
    /// Tangential positions; `None` = those of the list's format, or those that see half of the ring's diameter and more.
    pub num_tangential: Option<usize>,
    /// Largest difference of rings; `None` = that of the format, or all.
    pub max_ring_difference: Option<usize>,
    /// Ring differences of a segment.
    pub span: usize,
    /// The frame whose events are counted, ms; `None` = all.
    pub frame_ms: Option<Range<u32>>,
    /// The seed by which events of a time block are given times inside it; `None` = a block belongs to one frame as a whole.
    pub split_seed: Option<u64>,
}

impl Default for HistogramSettings {
    fn default() -> Self {
        Self { num_tangential: None, max_ring_difference: None, span: 1, frame_ms: None, split_seed: None }
    }
}

/// Returns the cylinder that a list's scanner is.
///
/// # Errors
/// It is none.
pub fn cylinder_of(facts: &ListMetadata) -> Result<Cylinder, ListError> {
    let refuse = |reason| ListError::NoCylinder { scanner: facts.detectors.name().to_owned(), reason };
    Cylinder::recognise(&facts.detectors).map_err(refuse)
}

/// Returns the bins of list-mode data.
///
/// # Errors
/// The bins are invalid.
pub fn sampling_of(
    facts: &ListMetadata,
    cylinder: &Cylinder,
    settings: &HistogramSettings,
) -> Result<ScanGeometry, ScanGeometryError> {
    // Half as many tangential positions as detectors see the circle of 0.7 of the radius.
    let usual = ListSampling {
        num_tangential: cylinder.num_detectors / 2 + 1 - cylinder.num_detectors / 2 % 2,
        max_ring_difference: usize::MAX,
    };
    let of_format = facts.sampling.unwrap_or(usual);
    let num_tangential = settings.num_tangential.unwrap_or(of_format.num_tangential);
    let max_ring_difference = settings.max_ring_difference.unwrap_or(of_format.max_ring_difference);
    let reach = std::f64::consts::PI * (num_tangential / 2) as f64 / cylinder.num_detectors as f64;
    let fov_radius_mm = cylinder.radius_mm * reach.min(std::f64::consts::FRAC_PI_2).sin();
    cylinder.geometry(facts.detectors.name(), num_tangential, max_ring_difference, settings.span, fov_radius_mm)
}
