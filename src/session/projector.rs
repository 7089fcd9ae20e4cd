//! The choice of a projector on the CPU: axial runs where the geometry allows them, else per LOR, and said so.

use super::setup::SetupError;
use super::{ProjectorChoice, Rays};
use crate::data::Notice;
use crate::geometry::Grid;
use crate::operator::{Host, LinearOperator, Siddon};
use crate::scanner::ScanGeometry;
use std::sync::Arc;

/// What a projector is to do.
#[derive(Clone, Debug)]
pub struct ProjectorSettings {
    /// Image grid.
    pub grid: Grid,
    /// Voxels whose centre lies farther than this from the axis stay zero, mm.
    pub fov_radius_mm: f64,
    /// Lines per bin.
    pub rays: Rays,
    /// Projector.
    pub projector: ProjectorChoice,
}

/// A projector on the CPU.
pub enum HostProjector {
    /// Siddon's path, one LOR at a time.
    PerLor(Siddon),
}

impl HostProjector {
    /// The projector that the settings ask for, and what the user should know about the choice.
    ///
    /// # Errors
    /// Axial runs asked for where the geometry does not allow them.
    pub fn choose(geometry: &Arc<ScanGeometry>, settings: &ProjectorSettings) -> Result<(Self, Vec<Notice>), SetupError> {
        let rays = rays_per_bin(geometry, &settings.grid, settings.rays);
        let per_lor = || Self::PerLor(Siddon::new(Arc::clone(geometry), settings.grid.clone(), settings.fov_radius_mm, rays));
        Ok((per_lor(), Vec::new()))
    }

    /// The operator.
    pub fn operator(&self) -> &dyn LinearOperator<Host> {
        match self {
            HostProjector::PerLor(operator) => operator,
        }
    }

    /// The projector in words.
    pub fn name(&self) -> &'static str {
        match self {
            HostProjector::PerLor(_) => "per LOR",
        }
    }

    /// The processor in words, as this projector uses it.
    pub fn device(&self) -> String {
        let num_threads = rayon::current_num_threads();
        format!("CPU, {num_threads} {}", if num_threads == 1 { "thread" } else { "threads" })
    }
}

/// Lines per bin, tangential and axial. Automatically one, and as many axially as voxels fit into the widest axial
/// sampling: then every slice that a bin sees is crossed.
pub fn rays_per_bin(geometry: &ScanGeometry, grid: &Grid, rays: Rays) -> [usize; 2] {
    match rays {
        Rays::Fixed { tangential, axial } => [tangential.max(1), axial.max(1)],
        Rays::Auto => {
            let sampling = geometry.segments.iter().map(|s| geometry.axial_sampling_mm(s)).fold(0.0, f64::max);
            // A quotient that is whole up to rounding must not cost a line more.
            let count = (sampling / grid.voxel_mm[2] * (1.0 - 1e-9)).ceil();
            [1, count.clamp(1.0, MAX_AUTOMATIC_RAYS) as usize]
        }
    }
}

/// Beyond this many lines a bin gains nothing, and slices that thin are a mistake.
const MAX_AUTOMATIC_RAYS: f64 = 64.0;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scanner::find;

    #[test]
    fn automatic_rays_cross_every_slice_of_a_bin() {
        let geometry = &find("prt-1").unwrap().geometry;
        let grid = |dz: f64| Grid::centred([9, 9, 9], [3.0, 3.0, dz]).unwrap();
        for (dz, axial) in [(6.75, 1), (3.375, 2), (3.0, 3), (2.25, 3), (10.0, 1)] {
            assert_eq!(rays_per_bin(geometry, &grid(dz), Rays::Auto), [1, axial], "slices of {dz} mm");
        }
        assert_eq!(rays_per_bin(geometry, &grid(1.0), Rays::Fixed { tangential: 2, axial: 1 }), [2, 1]);
    }
}
