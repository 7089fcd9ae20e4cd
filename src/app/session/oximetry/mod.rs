//! Maps of oxygen during a run of pulse oximetry, and figures of its regions.

mod redraw;

use std::sync::Arc;

use crate::data::{RoiMask, Volume};
use crate::geometry::Grid;
use crate::measure::FitCounts;
use crate::measure::oximetry::{OxygenFigures, OxygenMaps};
pub use redraw::OxygenRedraw;
pub(super) use redraw::{Redraw, Redrawer};

/// Figures of the regions on the maps of oxygen of the images so far.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub struct OxygenUpdate {
    /// Number of images that the maps are of.
    pub num_images: usize,
    /// Iterations of each image; empty of filtered backprojection.
    pub iterations: Vec<usize>,
    /// Voxels of the maps by result, or the reason why the images give no maps.
    pub counts: Result<FitCounts, String>,
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
}

impl From<OxygenMaps> for OxygenImages {
    fn from(OxygenMaps { rate, po2, po2_sd, .. }: OxygenMaps) -> Self {
        Self { rate: Arc::new(rate), po2: Arc::new(po2), po2_sd: po2_sd.map(Arc::new) }
    }
}

impl OxygenUpdate {
    /// Returns the figures of all voxels of the maps of a number of images, with their iterations.
    pub(super) fn new(
        (num_images, iterations): (usize, Vec<usize>),
        counts: Result<FitCounts, String>,
        images: Option<&OxygenImages>,
    ) -> Self {
        let all = images.and_then(|images| images.figures(&whole(&images.po2.grid)));
        Self { num_images, iterations, counts, branch: 0, all, regions: Vec::new() }
    }

    /// Returns the same with the figures of these regions.
    pub(super) fn measured(self, images: Option<&OxygenImages>, branch: u64, masks: &[RoiMask]) -> Self {
        let of = |images: &OxygenImages| masks.iter().map(|mask| images.figures(&mask.voxels)).collect();
        Self { branch, regions: images.map_or_else(Vec::new, of), ..self }
    }
}

impl OxygenImages {
    /// Returns the maps in the order in which they travel ([`VolumesOf::Oxygen`](super::VolumesOf::Oxygen)).
    pub(super) fn volumes(&self) -> Vec<Arc<Volume>> {
        [&self.rate, &self.po2].into_iter().chain(&self.po2_sd).cloned().collect()
    }

    /// Returns the maps that have travelled; `None` of another number.
    pub fn of_volumes(volumes: Vec<Arc<Volume>>) -> Option<Self> {
        let mut volumes = volumes.into_iter();
        Some(Self { rate: volumes.next()?, po2: volumes.next()?, po2_sd: volumes.next() })
    }

    fn figures(&self, voxels: &[(u32, f32)]) -> Option<OxygenFigures> {
        let voxels = voxels.iter().map(|&(index, weight)| (index as usize, f64::from(weight)));
        OxygenFigures::of(&self.po2, self.po2_sd.as_deref(), voxels)
    }
}

/// Returns all voxels of a grid with weight 1.
fn whole(grid: &Grid) -> Vec<(u32, f32)> {
    (0..grid.num_voxels() as u32).map(|index| (index, 1.0)).collect()
}
