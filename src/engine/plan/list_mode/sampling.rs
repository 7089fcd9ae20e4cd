//! The bins of a list's events.

use std::ops::Range;

use super::tof::TofRequest;
use crate::data::{ListMetadata, ListSampling};
use crate::geometry::Grid;
use crate::plan::error::{ListError, SetupError};
use crate::scanner::{Cylinder, ScanGeometry, ScanGeometryError, find_by_originating_system};

/// Most voxels across the image of a list without crystal sizes.
const MAX_VOXELS_ACROSS: f64 = 400.0;

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
    /// Time-of-flight bins; `None` = the time of flight of an event does not matter.
    pub tof: Option<TofRequest>,
}

impl Default for HistogramSettings {
    fn default() -> Self {
        Self { num_tangential: None, max_ring_difference: None, span: 1, frame_ms: None, split_seed: None, tof: None }
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
    let name = facts.detectors.name();
    let geometry = cylinder.geometry(name, num_tangential, max_ring_difference, settings.span, 1.0)?;
    // (As of a header that names this scanner.)
    Ok(ScanGeometry { fov_radius_mm: geometry.usual_fov_radius_mm(find_by_originating_system(name)), ..geometry })
}

/// Returns the grid for a list's images: that of a cylinder's bins, else half of the crystals' sides out to 0.7 of the bore.
///
/// # Errors
/// The grid is invalid.
pub(in crate::plan) fn list_grid(facts: &ListMetadata) -> Result<Grid, SetupError> {
    if let Ok(cylinder) = cylinder_of(facts)
        && let Ok(geometry) = sampling_of(facts, &cylinder, &HistogramSettings::default())
    {
        return Ok(geometry.default_grid()?);
    }
    let ([_, half_length], bore) = (facts.detectors.extent_mm(), facts.detectors.bore_mm());
    let side = |axis: usize| {
        let sides = facts.detectors.crystals().iter().map(|crystal| crystal.size_mm[axis]).filter(|mm| *mm > 0.0);
        sides.fold(f64::INFINITY, f64::min)
    };
    let [across, along] = [1.4 * bore, 2.0 * half_length];
    let voxel =
        |side: f64, length: f64| if side.is_finite() { 0.5 * side } else { length / 100.0 }.max(length / MAX_VOXELS_ACROSS);
    let [dx, dz] = [voxel(side(1), across), voxel(side(2), along.max(side(2).min(1e6)))];
    let odd = |length: f64, d: f64| 2 * (0.5 * length / d).floor() as usize + 1;
    Ok(Grid::centred([odd(across, dx), odd(across, dx), odd(along, dz)], [dx, dx, dz])?)
}
