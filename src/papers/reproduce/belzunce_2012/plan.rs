//! The plan: the paper's scanner and images (sections 2.1 and 3), or small ones for a quick look.

use crate::plan::ProjectorChoice;
use crate::reproduce::prelude::*;
use crate::scanner::{self, ScanGeometry};

/// Step of the views of a slow projector.
pub const VIEW_STEP: usize = 28;

/// An image that is reconstructed.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Image {
    /// Name in keys of measurements.
    pub name: &'static str,
    /// Name in tables.
    pub title: &'static str,
    pub size: [usize; 3],
    /// Side of the image, mm.
    pub width_mm: f64,
    /// Height of a voxel, mm.
    pub height_mm: f64,
}

impl Image {
    pub fn grid(&self) -> Result<Grid, ReproduceError> {
        let side_mm = self.width_mm / self.size[0] as f64;
        Ok(Grid::centred(self.size, [side_mm, side_mm, self.height_mm])?)
    }

    pub fn fov_radius_mm(&self) -> f64 {
        0.5 * self.width_mm
    }
}

/// All that the measurements of a folder have in common.
#[derive(Clone, Debug, Serialize)]
pub struct Plan {
    pub version: u32,
    pub quick: bool,
    scanner: &'static str,
    /// The large voxels, the small ones, and the image in which quality is measured.
    pub images: [Image; 3],
    pub num_iterations: usize,
    /// Expected counts of the noisy image-quality and brain scans.
    pub counts: f64,
    /// First counts of the search for the cylinder's counts.
    pub cylinder_counts: f64,
    /// Steps that are timed after a first one that does not count.
    pub num_timed: usize,
    /// True if the projector of one LOR at a time is used on the CPU for images, too, and with all views for times.
    pub per_lor_is_affordable: bool,
    pub seed: u64,
}

impl Plan {
    pub fn new(quick: bool) -> Self {
        let image = |name, title, size, width_mm, height_mm| Image { name, title, size, width_mm, height_mm };
        let images = if quick {
            [
                image("32-full", "32x32 full FOV", [32, 32, 15], 138.0, 2.5),
                image("64-full", "64x64 full FOV", [64, 64, 15], 138.0, 2.5),
                image("64-inner", "64x64 4.4 cm", [64, 64, 15], 88.0, 2.5),
            ]
        } else {
            [
                image("128-full", "128x128 full FOV", [128, 128, 47], 700.0, 3.27),
                image("256-full", "256x256 full FOV", [256, 256, 47], 700.0, 3.27),
                image("256-20cm", "256x256 20 cm", [256, 256, 47], 400.0, 3.27),
            ]
        };
        Self {
            version: 1,
            quick,
            scanner: if quick { "small" } else { "discovery-ste" },
            images,
            num_iterations: if quick { 10 } else { 40 },
            counts: if quick { 1e6 } else { 1e8 },
            cylinder_counts: if quick { 1e6 } else { 9e8 },
            num_timed: if quick { 3 } else { 5 },
            per_lor_is_affordable: quick,
            seed: 1,
        }
    }

    /// Returns the image in which the paper measures quality (section 3).
    pub fn quality_image(&self) -> &Image {
        &self.images[2]
    }

    /// Returns the image of tables 4 and 7, of figure 6 and of the brain.
    pub fn full_image(&self) -> &Image {
        &self.images[1]
    }

    /// Returns the projectors of images on a device: the paper's first, where it is not too slow.
    pub fn projectors(&self, device: DeviceChoice) -> &'static [ProjectorChoice] {
        const ALL: [ProjectorChoice; 2] = [ProjectorChoice::PER_LOR, ProjectorChoice::AXIAL_RUNS];
        if device == DeviceChoice::Cpu && !self.per_lor_is_affordable { &ALL[1..] } else { &ALL }
    }

    pub fn geometry(&self) -> Result<Arc<ScanGeometry>, ReproduceError> {
        let scanner = scanner::find(self.scanner).ok_or(ReproduceError::Scanner(self.scanner))?;
        Ok(Arc::new(scanner.geometry.clone()))
    }
}
