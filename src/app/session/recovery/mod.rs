//! Search for the post-filters after which an iterate complies with a standard of recovery coefficients.

pub(super) mod search;

use super::RoiSet;
use crate::coded::Problem;
use crate::data::Volume;
use crate::measure::nema::{NemaError, NemaKnown, Recovery, RecoveryRegions, find};
use crate::recon::gaussian_filter;

/// Post-filters and phantom of a search.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RecoveryQuery {
    /// FWHM of the post-filters, mm; 0 = none.
    pub filters_mm: Vec<f64>,
    /// True activity ratio of the spheres to the background.
    pub activity_ratio: Option<f64>,
    /// Regions: circles of the template are measured where they lie. Their edit numbers the query.
    pub rois: RoiSet,
    pub with_peak: bool,
}

impl RecoveryQuery {
    /// Finds the phantom in an unfiltered iterate.
    ///
    /// # Errors
    /// No phantom, cold spheres, no ratio.
    pub fn regions(&self, volume: &Volume) -> Result<RecoveryRegions, NemaError> {
        let found = find(volume, &NemaKnown::default())?;
        let placement = found.with_rois(&self.rois.rois).unwrap_or(found);
        RecoveryRegions::new(&placement, &volume.grid, self.activity_ratio)
    }

    /// Measures an iterate after a post-filter.
    ///
    /// # Errors
    /// The regions failed, or the image has none of the coefficients.
    pub fn measure(
        &self,
        volume: &Volume,
        regions: &Result<RecoveryRegions, NemaError>,
        filter_mm: f64,
    ) -> Result<Recovery, Problem> {
        let regions = regions.as_ref().map_err(|error| Problem::from(*error))?;
        Ok(regions.measure(&gaussian_filter(volume, filter_mm), self.with_peak)?)
    }
}
