//! Maps of oxygen during a run of pulse oximetry, and figures of its regions.

mod redraw;

use std::sync::Arc;

use crate::data::{RoiMask, Volume};
use crate::geometry::Grid;
use crate::measure::FitCounts;
use crate::measure::oximetry::{OxygenFigures, OxygenMaps};
pub use redraw::OxygenRedraw;
pub(super) use redraw::{Redraw, Redrawer};

/// Maps of oxygen of the images so far, and figures of the regions.
#[derive(Clone, Debug)]
pub struct OxygenUpdate {
    /// Number of images that the maps are of.
    pub num_images: usize,
    /// Iterations of each image; empty of filtered backprojection.
    pub iterations: Vec<usize>,
    /// Maps, or the reason why the images give none.
    pub maps: Result<OxygenImages, String>,
    /// Number of the edit of the ROIs.
    pub branch: u64,
    /// Figures of all voxels with a rate.
    pub all: Option<OxygenFigures>,
    /// Figures of each ROI; `None` of those without such a voxel.
    pub regions: Vec<Option<OxygenFigures>>,
}

/// Maps on the grid of the images; voxels without a rate are NaN.
#[derive(Clone, Debug)]
pub struct OxygenImages {
    /// Relaxation rate, 1/µs.
    pub rate: Arc<Volume>,
    /// Oxygen pressure, torr.
    pub po2: Arc<Volume>,
    /// Standard deviation of the pressure in each voxel, torr; `None` of as many images as parameters.
    pub po2_sd: Option<Arc<Volume>>,
    /// Voxels by result.
    pub counts: FitCounts,
}

impl From<OxygenMaps> for OxygenImages {
    fn from(maps: OxygenMaps) -> Self {
        let OxygenMaps { rate, po2, po2_sd, counts, .. } = maps;
        Self { rate: Arc::new(rate), po2: Arc::new(po2), po2_sd: po2_sd.map(Arc::new), counts }
    }
}

impl OxygenUpdate {
    /// Returns the maps of a number of images, with their iterations, and the figures of regions.
    pub(super) fn new(
        (num_images, iterations): (usize, Vec<usize>),
        maps: Result<OxygenImages, String>,
        branch: u64,
        masks: &[RoiMask],
    ) -> Self {
        let update = Self { num_images, iterations, maps, branch, all: None, regions: Vec::new() };
        let all = update.maps.as_ref().ok().and_then(|maps| maps.figures(&whole(&maps.po2.grid)));
        Self { all, ..update.measured(branch, masks) }
    }

    /// Returns the same maps with the figures of other regions.
    pub(super) fn measured(self, branch: u64, masks: &[RoiMask]) -> Self {
        let regions = match &self.maps {
            Ok(maps) => masks.iter().map(|mask| maps.figures(&mask.voxels)).collect(),
            Err(_) => Vec::new(),
        };
        Self { branch, regions, ..self }
    }
}

impl OxygenImages {
    fn figures(&self, voxels: &[(u32, f32)]) -> Option<OxygenFigures> {
        let voxels = voxels.iter().map(|&(index, weight)| (index as usize, f64::from(weight)));
        OxygenFigures::of(&self.po2, self.po2_sd.as_deref(), voxels)
    }
}

/// Returns all voxels of a grid with weight 1.
fn whole(grid: &Grid) -> Vec<(u32, f32)> {
    (0..grid.num_voxels() as u32).map(|index| (index, 1.0)).collect()
}
