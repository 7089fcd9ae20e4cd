//! Options about the grid of an image to reconstruct.

use std::path::{Path, PathBuf};

use clap::Args;

use super::error::CliResult;
use super::notices;
use super::options::{PerAxis, sides, sizes, voxels};
use crate::data::{Notice, Volume};
use crate::geometry::Grid;
use crate::io::{IoError, read_volume};
use crate::plan::grid_of_voxels;
use crate::scanner::ScanGeometry;

/// Reads an image and its notices: [`read_volume`] or, for EPRI, [`read_epri_volume`](crate::io::read_epri_volume).
pub type ReadImage = fn(&Path) -> Result<(Volume, Vec<Notice>), IoError>;

/// Grid of an image. Defaults follow from the scanner: voxels as wide as the bins and half a ring spacing high, in the number
/// that covers the field of view.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Image grid")]
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
    /// Returns the requested grid: that of the image of --like, which `read` reads, or that of `make` for the requested size and voxel size; `None`
    /// without options.
    ///
    /// # Errors
    /// An impossible grid, an unreadable image.
    pub fn grid_with(
        &self,
        read: ReadImage,
        is_slice: bool,
        make: impl FnOnce(Option<[usize; 3]>, Option<[f64; 3]>) -> CliResult<Grid>,
    ) -> CliResult<Option<Grid>> {
        if let Some(path) = &self.like {
            return Ok(Some(notices::printed(read(path)?).grid));
        }
        match voxels(self.image, self.voxel_mm, is_slice)? {
            (None, None) => Ok(None),
            (size, voxel_mm) => make(size, voxel_mm).map(Some),
        }
    }

    /// Returns the requested grid about the centre of the default grid, which it covers if only the voxel size is given.
    ///
    /// # Errors
    /// An impossible grid, an unreadable image.
    pub fn grid_about(&self, default: &Grid) -> CliResult<Option<Grid>> {
        self.grid_with(read_volume, false, |size, voxel_mm| {
            let voxel_mm = voxel_mm.unwrap_or(default.voxel_mm);
            let count = |a: usize| (default.size[a] as f64 * default.voxel_mm[a] / voxel_mm[a] - 1e-9).ceil().max(1.0) as usize;
            Ok(Grid::centred(size.unwrap_or_else(|| [0, 1, 2].map(count)), voxel_mm)?)
        })
    }

    /// Returns the requested grid in the field of view of a scanner.
    ///
    /// # Errors
    /// An impossible grid, an unreadable image.
    pub fn grid(&self, geometry: &ScanGeometry) -> CliResult<Option<Grid>> {
        self.grid_with(read_volume, false, |size, voxel_mm| match (size, voxel_mm) {
            (None, Some(voxel_mm)) => Ok(grid_of_voxels(geometry, voxel_mm)?),
            (size, voxel_mm) => {
                let default = geometry.default_grid()?;
                Ok(Grid::centred(size.unwrap_or(default.size), voxel_mm.unwrap_or(default.voxel_mm))?)
            }
        })
    }
}
