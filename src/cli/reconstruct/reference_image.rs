//! `--reference-image`: the image to compare with those of a reconstruction.

use std::path::{Path, PathBuf};

use crate::cli::shared::error::CliResult;
use crate::cli::shared::image_options::ReadImage;
use crate::cli::shared::notices;
use crate::cli::shared::outputs::check_same_grid;
use crate::data::{IterateId, Roi, RoiMask, Volume};
use crate::geometry::Grid;
use crate::measure::{Convergence, PetricMasks, correlation, relative_difference};
use crate::session::{Comparison, IterateUpdate};

/// An image to compare with.
pub struct ReferenceImage {
    path: PathBuf,
    volume: Volume,
    /// Regions of the convergence.
    masks: Option<PetricMasks>,
}

impl ReferenceImage {
    /// Reads an image with this reader.
    ///
    /// # Errors
    /// An unreadable image, or one on another grid.
    pub fn open(path: &Path, read: ReadImage, grid: &Grid, rois: &[Roi]) -> CliResult<Self> {
        let volume = notices::printed(read(path)?);
        let name = path.display().to_string();
        check_same_grid([(&name, &volume.grid), ("the reconstruction", grid)], " (take its grid with --like)")?;
        let masks: Vec<RoiMask> = rois.iter().map(|roi| roi.mask(grid)).collect();
        let masks = PetricMasks::of_regions(volume.as_slice(), rois, &masks);
        Ok(Self { path: path.to_owned(), volume, masks })
    }

    /// Compares an image with it; `None` if one has the same value everywhere.
    pub fn compare(&self, frame: &IterateUpdate) -> Option<Comparison> {
        let IterateId { iteration, subiteration, .. } = frame.id;
        let (image, reference) = (frame.volume.as_slice(), self.volume.as_slice());
        let (correlation, relative_difference) = (correlation(image, reference)?, relative_difference(image, reference));
        let convergence = self.masks.as_ref().and_then(|masks| Convergence::of(image, reference, masks));
        Some(Comparison {
            iteration,
            subiteration,
            reference: None,
            is_fixed: true,
            correlation,
            relative_difference,
            convergence,
        })
    }

    /// Returns the comparison as the end of a sentence about the image.
    pub fn text(&self, frame: &IterateUpdate) -> String {
        let found = self.compare(frame).map_or_else(|| "none".to_owned(), |found| format!("{:.6}", found.correlation));
        format!(", correlation with {}: {found}", self.path.display())
    }
}
