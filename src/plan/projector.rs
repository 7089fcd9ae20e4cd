//! The choice of a device and a projector: axial runs where the geometry allows them, else per LOR, and said so.

use std::sync::Arc;

use super::devices::{Chosen, choose_device};
use super::estimate::{FreeMemory, check_image};
use super::setup::{SetupError, check_field_of_view};
use super::{DeviceChoice, ProjectorChoice, Rays};
use crate::data::Notice;
use crate::geometry::Grid;
use crate::operator::{Accumulation, AxialRuns, Backend, Host, LinearOperator, OperatorError, Siddon};
use crate::scanner::ScanGeometry;

#[cfg(feature = "cuda")]
use crate::cuda::{self, CudaBackend};

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
    /// Threads of a block of the per-LOR projector on CUDA; `None` = the number with which most are resident.
    pub threads_per_block: Option<u32>,
}

/// A projector with the device that it computes on.
pub enum Projector {
    /// Siddon's path, one LOR at a time.
    PerLor(Siddon),
    /// All planes of a transaxial LOR at once.
    AxialRuns(AxialRuns),
    /// Siddon's path on a CUDA device, one thread for each bin.
    #[cfg(feature = "cuda")]
    CudaPerLor(Box<(CudaBackend, cuda::BinDriven)>),
    /// All planes of a transaxial LOR at once, on a CUDA device.
    #[cfg(feature = "cuda")]
    CudaAxialRuns(Box<(CudaBackend, cuda::AxialRuns)>),
}

/// Work that can be done with any projector on any device.
pub trait ProjectorWork {
    /// What comes of it.
    type Output;

    /// Does it.
    fn run<B: Backend + 'static, A: LinearOperator<B> + 'static>(self, backend: B, operator: A) -> Self::Output;
}

impl Projector {
    /// The projector that the settings ask for, and what the user should know about the choice.
    ///
    /// # Errors
    /// A device that is not there, an image that cannot be held, a field of view without a voxel, axial runs asked for
    /// where the geometry does not allow them.
    pub fn choose(geometry: &Arc<ScanGeometry>, settings: &ProjectorSettings) -> Result<(Self, Vec<Notice>), SetupError> {
        check_image(&settings.grid, &FreeMemory::of_the_computer())?;
        check_field_of_view(&settings.grid, settings.fov_radius_mm)?;
        let (device, mut notices) = choose_device(settings.device)?;
        let (projector, notice) = match device {
            Chosen::Cpu => Self::on_host(geometry, settings)?,
            #[cfg(feature = "cuda")]
            Chosen::Cuda(backend) => Self::on_cuda(*backend, geometry, settings)?,
        };
        notices.extend(notice);
        Ok((projector, notices))
    }

    fn on_host(geometry: &Arc<ScanGeometry>, settings: &ProjectorSettings) -> Result<(Self, Option<Notice>), SetupError> {
        let rays = rays_per_bin(geometry, &settings.grid, settings.rays);
        let (grid, radius_mm) = (&settings.grid, settings.fov_radius_mm);
        let fast = || AxialRuns::new(Arc::clone(geometry), grid.clone(), radius_mm, rays).map(Self::AxialRuns);
        let per_lor = || Ok(Self::PerLor(Siddon::new(Arc::clone(geometry), grid.clone(), radius_mm, rays)));
        fast_or_per_lor(settings.projector, fast, per_lor)
    }

    #[cfg(feature = "cuda")]
    fn on_cuda(
        backend: CudaBackend,
        geometry: &Arc<ScanGeometry>,
        settings: &ProjectorSettings,
    ) -> Result<(Self, Option<Notice>), SetupError> {
        check_image(&settings.grid, &free_on(&backend))?;
        let rays = rays_per_bin(geometry, &settings.grid, settings.rays);
        let (grid, radius_mm) = (&settings.grid, settings.fov_radius_mm);
        enum Made {
            PerLor(Box<cuda::BinDriven>),
            AxialRuns(Box<cuda::AxialRuns>),
        }
        let threads = settings.threads_per_block;
        let geometry = || Arc::clone(geometry);
        let (made, notice) = fast_or_per_lor(
            settings.projector,
            || Ok(Made::AxialRuns(Box::new(cuda::AxialRuns::new(&backend, geometry(), grid.clone(), radius_mm, rays)?))),
            || Ok(Made::PerLor(Box::new(cuda::BinDriven::new(&backend, geometry(), grid.clone(), radius_mm, rays, threads)?))),
        )?;
        let projector = match made {
            Made::PerLor(operator) => Self::CudaPerLor(Box::new((backend, *operator))),
            Made::AxialRuns(operator) => Self::CudaAxialRuns(Box::new((backend, *operator))),
        };
        Ok((projector, notice))
    }

    /// The projector in words.
    pub fn name(&self) -> &'static str {
        match self {
            Projector::PerLor(_) => "per LOR",
            Projector::AxialRuns(_) => "axial runs",
            #[cfg(feature = "cuda")]
            Projector::CudaPerLor(_) => "per LOR",
            #[cfg(feature = "cuda")]
            Projector::CudaAxialRuns(_) => "axial runs",
        }
    }

    /// The device in words, as this projector uses it: threads, and vector instructions where it picks them.
    pub fn device(&self) -> String {
        let num_threads = rayon::current_num_threads();
        let threads = if num_threads == 1 { "thread" } else { "threads" };
        match self {
            Projector::PerLor(_) => format!("CPU, {num_threads} {threads}"),
            Projector::AxialRuns(fast) => format!("CPU, {num_threads} {threads}, {}", fast.simd().name()),
            #[cfg(feature = "cuda")]
            Projector::CudaPerLor(pair) => format!("{}, {} threads per block", pair.0.name(), pair.1.threads_per_block()),
            #[cfg(feature = "cuda")]
            Projector::CudaAxialRuns(pair) => pair.0.name(),
        }
    }

    /// How the backprojection adds where nothing else is asked.
    pub fn default_accumulation(&self) -> Accumulation {
        match self {
            Projector::PerLor(_) | Projector::AxialRuns(_) => Accumulation::Deterministic,
            #[cfg(feature = "cuda")]
            Projector::CudaPerLor(_) | Projector::CudaAxialRuns(_) => Accumulation::Atomic,
        }
    }

    /// Memory that is free where the arrays are.
    pub fn free_memory(&self) -> FreeMemory {
        match self {
            Projector::PerLor(_) | Projector::AxialRuns(_) => FreeMemory::of_the_computer(),
            #[cfg(feature = "cuda")]
            Projector::CudaPerLor(pair) => free_on(&pair.0),
            #[cfg(feature = "cuda")]
            Projector::CudaAxialRuns(pair) => free_on(&pair.0),
        }
    }

    /// Does work with it.
    pub fn hand_to<W: ProjectorWork>(self, work: W) -> W::Output {
        match self {
            Projector::PerLor(operator) => work.run(Host, operator),
            Projector::AxialRuns(operator) => work.run(Host, operator),
            #[cfg(feature = "cuda")]
            Projector::CudaPerLor(pair) => work.run(pair.0, pair.1),
            #[cfg(feature = "cuda")]
            Projector::CudaAxialRuns(pair) => work.run(pair.0, pair.1),
        }
    }
}

/// Memory that is free on a device.
#[cfg(feature = "cuda")]
pub(super) fn free_on(backend: &CudaBackend) -> FreeMemory {
    FreeMemory { bytes: backend.free_memory_bytes(), gpu: Some(backend.name()) }
}

/// The fast projector, or the one per LOR if it is asked for or if the fast one cannot be and none was asked for; then
/// with a notice.
fn fast_or_per_lor<T>(
    choice: ProjectorChoice,
    fast: impl FnOnce() -> Result<T, OperatorError>,
    per_lor: impl FnOnce() -> Result<T, OperatorError>,
) -> Result<(T, Option<Notice>), SetupError> {
    if choice == ProjectorChoice::PerLor {
        return Ok((per_lor()?, None));
    }
    match fast() {
        Ok(fast) => Ok((fast, None)),
        Err(OperatorError::Unsuitable(reason)) if choice == ProjectorChoice::Auto => {
            let text = format!(
                "the projector per LOR is used, which is many times slower: the axial-run projector cannot be used here, for {reason}. A voxel height that divides the distance between the planes allows it"
            );
            Ok((per_lor()?, Some(Notice::warning(text))))
        }
        Err(error) => Err(error.into()),
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
            let (rays, device) = (Rays::Fixed { tangential: 1, axial: 1 }, DeviceChoice::Cpu);
            let settings = ProjectorSettings { grid, fov_radius_mm: 30.0, rays, projector, device, threads_per_block: None };
            Projector::choose(&geometry, &settings).map(|(projector, notices)| (projector.name(), notices.len()))
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
