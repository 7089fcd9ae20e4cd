//! Options about the grid of an image to reconstruct.

use std::path::PathBuf;

use clap::Args;

use super::error::CliResult;
use super::notices;
use super::options::{PerAxis, sides, sizes, voxels};
use crate::geometry::Grid;
use crate::io::read_volume;
use crate::plan::grid_of_voxels;
use crate::scanner::ScanGeometry;

/// The grid of an image that is made. What is not given follows from the scanner: voxels as wide as the bins and half a
/// ring spacing high, as many of them as the field of view takes.
#[derive(Args, Clone, Debug)]
pub struct ImageOptions {
    /// Image size in voxels along x, y, z (NX,NY for two-dimensional EPRI).
    #[arg(long, value_name = "NX,NY,NZ", value_parser = sizes, conflicts_with = "like")]
    pub image: Option<PerAxis<usize>>,

    /// Voxel size, mm (X,Y for two-dimensional EPRI).
    #[arg(long, value_name = "X,Y,Z", value_parser = sides, conflicts_with = "like")]
    pub voxel_mm: Option<PerAxis<f64>>,

    /// Use the grid of this image ({read images}).
    #[arg(long, value_name = "IMAGE")]
    pub like: Option<PathBuf>,
}

impl ImageOptions {
    /// That of the image given with --like.
    fn grid_of_image(&self) -> CliResult<Option<Grid>> {
        let Some(path) = &self.like else { return Ok(None) };
        let (volume, found) = read_volume(path)?;
        notices::print(&found);
        Ok(Some(volume.grid))
    }

    /// The grid asked for in place of another one about the same middle; `None` when nothing was.
    ///
    /// # Errors
    /// A grid that cannot be, an image that cannot be read.
    pub fn grid_about(&self, usual: &Grid) -> CliResult<Option<Grid>> {
        if let Some(grid) = self.grid_of_image()? {
            return Ok(Some(grid));
        }
        let (size, voxel_mm) = voxels(self.image, self.voxel_mm, false)?;
        let covering = |voxel_mm: [f64; 3]| {
            let count = |a: usize| (usual.size[a] as f64 * usual.voxel_mm[a] / voxel_mm[a] - 1e-9).ceil().max(1.0) as usize;
            [0, 1, 2].map(count)
        };
        match (size, voxel_mm) {
            (None, None) => Ok(None),
            (size, voxel_mm) => {
                let voxel_mm = voxel_mm.unwrap_or(usual.voxel_mm);
                Ok(Some(Grid::centred(size.unwrap_or_else(|| covering(voxel_mm)), voxel_mm)?))
            }
        }
    }

    /// The grid asked for; `None` when nothing was.
    ///
    /// # Errors
    /// A grid that cannot be, an image that cannot be read.
    pub fn grid(&self, geometry: &ScanGeometry) -> CliResult<Option<Grid>> {
        if let Some(grid) = self.grid_of_image()? {
            return Ok(Some(grid));
        }
        match voxels(self.image, self.voxel_mm, false)? {
            (Some(size), Some(voxel_mm)) => Ok(Some(Grid::centred(size, voxel_mm)?)),
            (Some(size), None) => Ok(Some(Grid::centred(size, geometry.default_grid()?.voxel_mm)?)),
            (None, Some(voxel_mm)) => Ok(Some(grid_of_voxels(geometry, voxel_mm)?)),
            (None, None) => Ok(None),
        }
    }
}
