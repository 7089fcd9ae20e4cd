//! Settings of a projector: grid, field of view, rays per LOR, device.

use std::sync::Arc;

use crate::data::{Psf, TofBins, TubeSet};
use crate::geometry::Grid;
use crate::operator::TofKernel;
use crate::plan::device::choice::DeviceChoice;
use crate::scanner::ScanGeometry;

/// Lines traced for each bin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rays {
    /// The number with which no voxel between two lines is missed ([`crate::plan::projector::settings::rays_per_bin`]).
    Auto,
    /// This many.
    Fixed {
        /// Spread over the bin's width.
        tangential: usize,
        /// Spread over the bin's axial sampling.
        axial: usize,
    },
}

/// Settings of a projector.
#[derive(Clone, Debug)]
pub struct ProjectorSettings {
    /// Image grid.
    pub grid: Grid,
    /// Voxels whose centre lies farther than this from the axis stay zero, mm.
    pub fov_radius_mm: f64,
    /// Rays per LOR.
    pub rays: Rays,
    /// Projector.
    pub projector: ProjectorChoice,
    /// Device.
    pub device: DeviceChoice,
    /// Threads of a block of the projector per-lor on CUDA; `None` = the number with which most are resident.
    pub threads_per_block: Option<u32>,
    /// Tubes of response, for the projector tubes.
    pub tubes: Option<Arc<TubeSet>>,
    /// Resolution model; `None` = points are seen as points.
    pub psf: Option<Psf>,
    /// Bins of the time of flight and their kernel; `None` = the data have none.
    pub tof: Option<(TofBins, TofKernel)>,
    /// True if the image may be resampled to slices that the fastest projector can have; else its own slices are projected.
    pub may_resample: bool,
}

impl ProjectorSettings {
    /// Returns settings without tubes of response and resolution model, rays and threads chosen automatically.
    pub fn new(grid: Grid, fov_radius_mm: f64, projector: ProjectorChoice, device: DeviceChoice) -> Self {
        Self {
            grid,
            fov_radius_mm,
            rays: Rays::Auto,
            projector,
            device,
            threads_per_block: None,
            tubes: None,
            psf: None,
            tof: None,
            may_resample: true,
        }
    }
}

/// Returns the rays per LOR, tangential and axial. Automatically as many as voxels fit between neighbouring lines of a view inside
/// the field of view, and into the widest axial sampling: then no view misses a voxel, and every slice that a bin sees is
/// crossed.
pub fn rays_per_bin(geometry: &ScanGeometry, grid: &Grid, fov_radius_mm: f64, rays: Rays) -> [usize; 2] {
    match rays {
        Rays::Fixed { tangential, axial } => [tangential.max(1), axial.max(1)],
        Rays::Auto => {
            let [dx, dy, dz] = grid.voxel_mm;
            let gap = geometry.largest_line_gap_mm(fov_radius_mm.min(grid.farthest_from_axis_mm()));
            let sampling = geometry.segments.iter().map(|s| geometry.axial_sampling_mm(s)).fold(0.0, f64::max);
            // A quotient that is whole up to rounding must not cost a line more.
            let count = |mm: f64, voxel_mm: f64, max: f64| (mm / voxel_mm * (1.0 - 1e-6)).ceil().clamp(1.0, max) as usize;
            [count(gap, dx.min(dy), MAX_TANGENTIAL_RAYS), count(sampling, dz, MAX_AXIAL_RAYS)]
        }
    }
}

/// Maximum number of rays: more improve nothing, and such thin voxels or slices are a mistake.
const MAX_TANGENTIAL_RAYS: f64 = 8.0;

const MAX_AXIAL_RAYS: f64 = 64.0;

/// Which projector computes A.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProjectorChoice {
    /// The first of [`PROJECTORS`](super::registry::PROJECTORS) that the geometry allows.
    Auto,
    /// The one of this name.
    Named(&'static str),
}

impl ProjectorChoice {
    /// Siddon's path, one LOR at a time: the definition.
    pub const PER_LOR: ProjectorChoice = ProjectorChoice::Named("per-lor");

    /// All planes of a transaxial LOR at once.
    pub const AXIAL_RUNS: ProjectorChoice = ProjectorChoice::Named("axial-runs");

    /// Tubes of response.
    pub const TUBES: ProjectorChoice = ProjectorChoice::Named("tubes");
    /// Tubes of response by the kernels of their paper.
    pub const TUBES_PAPER: ProjectorChoice = ProjectorChoice::Named("tubes-paper");

    /// Returns true if it projects with tubes of response.
    pub fn uses_tubes(self) -> bool {
        matches!(self, Self::TUBES | Self::TUBES_PAPER)
    }

    /// Returns its name on the command line, in files and in the window.
    pub fn name(self) -> &'static str {
        match self {
            ProjectorChoice::Auto => "auto",
            ProjectorChoice::Named(name) => name,
        }
    }
}

impl serde::Serialize for ProjectorChoice {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}
