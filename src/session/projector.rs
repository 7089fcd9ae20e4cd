//! The choice of a projector on the CPU: axial runs where the geometry allows them, else per LOR, and said so.

use std::sync::Arc;

use super::devices::check_device;
use super::estimate::check_image;
use super::setup::{SetupError, check_field_of_view};
use super::{DeviceChoice, ProjectorChoice, Rays};
use crate::data::Notice;
use crate::geometry::Grid;
use crate::operator::{AxialRuns, Host, LinearOperator, OperatorError, Siddon};
use crate::scanner::ScanGeometry;

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
    /// Device.
    pub device: DeviceChoice,
}

/// A projector on the CPU.
pub enum HostProjector {
    /// Siddon's path, one LOR at a time.
    PerLor(Siddon),
    /// All planes of a transaxial LOR at once.
    AxialRuns(AxialRuns),
}

impl HostProjector {
    /// The projector that the settings ask for, and what the user should know about the choice.
    ///
    /// # Errors
    /// A device that cannot project, an image that cannot be held, a field of view without a voxel, axial runs asked
    /// for where the geometry does not allow them.
    pub fn choose(geometry: &Arc<ScanGeometry>, settings: &ProjectorSettings) -> Result<(Self, Vec<Notice>), SetupError> {
        check_device(settings.device)?;
        check_image(&settings.grid)?;
        check_field_of_view(&settings.grid, settings.fov_radius_mm)?;
        let rays = rays_per_bin(geometry, &settings.grid, settings.rays);
        let (grid, radius_mm) = (&settings.grid, settings.fov_radius_mm);
        let per_lor = || Self::PerLor(Siddon::new(Arc::clone(geometry), grid.clone(), radius_mm, rays));
        if settings.projector == ProjectorChoice::PerLor {
            return Ok((per_lor(), Vec::new()));
        }
        match AxialRuns::new(Arc::clone(geometry), grid.clone(), radius_mm, rays) {
            Ok(fast) => Ok((Self::AxialRuns(fast), Vec::new())),
            Err(OperatorError::Unsuitable(reason)) if settings.projector == ProjectorChoice::Auto => {
                let text = format!(
                    "the projector per LOR is used, which is many times slower: the axial-run projector cannot be used here, for {reason}. A voxel height that divides the distance between the planes allows it"
                );
                Ok((per_lor(), vec![Notice::warning(text)]))
            }
            Err(error) => Err(error.into()),
        }
    }

    /// The operator.
    pub fn operator(&self) -> &dyn LinearOperator<Host> {
        match self {
            HostProjector::PerLor(operator) => operator,
            HostProjector::AxialRuns(operator) => operator,
        }
    }

    /// The projector in words.
    pub fn name(&self) -> &'static str {
        match self {
            HostProjector::PerLor(_) => "per LOR",
            HostProjector::AxialRuns(_) => "axial runs",
        }
    }

    /// The processor in words, as this projector uses it: threads, and vector instructions where it picks them.
    pub fn device(&self) -> String {
        let num_threads = rayon::current_num_threads();
        let threads = if num_threads == 1 { "thread" } else { "threads" };
        match self {
            HostProjector::PerLor(_) => format!("CPU, {num_threads} {threads}"),
            HostProjector::AxialRuns(fast) => format!("CPU, {num_threads} {threads}, {}", fast.simd().name()),
        }
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
    fn the_fast_projector_is_taken_where_it_can_be_and_its_lack_is_told() {
        let geometry = Arc::new(find("small").unwrap().geometry.clone());
        let choose = |dz: f64, projector| {
            let grid = Grid::centred([21, 21, 9], [3.0, 3.0, dz]).unwrap();
            let (rays, device) = (Rays::Fixed { tangential: 1, axial: 1 }, DeviceChoice::Auto);
            let settings = ProjectorSettings { grid, fov_radius_mm: 30.0, rays, projector, device };
            HostProjector::choose(&geometry, &settings).map(|(projector, notices)| (projector.name(), notices.len()))
        };
        assert_eq!(choose(2.5, ProjectorChoice::Auto), Ok(("axial runs", 0)));
        assert_eq!(choose(2.5, ProjectorChoice::PerLor), Ok(("per LOR", 0)));
        assert_eq!(choose(2.3, ProjectorChoice::Auto), Ok(("per LOR", 1)));
        let refusal = choose(2.3, ProjectorChoice::AxialRuns).unwrap_err().to_string();
        assert!(refusal.contains("use the per-LOR projector"), "{refusal}");
    }

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
