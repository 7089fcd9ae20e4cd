//! Any GPU through wgpu as a platform.

use super::Platform;
use super::recipes::{EventRecipe, ListRecipe, backprojected};
use crate::algebra::{Backend as _, PeerGroup, Simd};
use crate::data::{Experiment, Radical, Sweep, Volume};
use crate::geometry::Grid;
use crate::operator::{Accumulation, OperatorError, OperatorLimit, ViewProjector, padded_size};
use crate::plan::algorithms::common::PlaneKernel;
use crate::plan::algorithms::registry::FbpMethod;
use crate::plan::device::memory::FreeMemory;
use crate::plan::error::SetupError;
use crate::plan::projector::inputs::ProjectorInputs;
use crate::plan::projector::programs::{PlaneProgram, PlaneSystem, ProgramOn};
use crate::plan::projector::system::{System, view_system};
use crate::recon::{Algorithm, ReconError, TotalVariation, TvImages, TvSettings};
use crate::task::Task;
use crate::webgpu::{self, WebGpuBackend};

/// A GPU through wgpu. It is gone once a system or an algorithm has taken it.
pub struct WebGpuPlatform(Option<WebGpuBackend>);

impl WebGpuPlatform {
    /// Returns a GPU that was opened.
    pub fn new(backend: WebGpuBackend) -> Self {
        Self(Some(backend))
    }

    /// Makes a system that takes the GPU. The GPU stays if the projector fails.
    fn system<P: ViewProjector<WebGpuBackend> + 'static>(
        &mut self,
        inputs: &ProjectorInputs,
        make: impl FnOnce(&mut WebGpuBackend) -> Result<P, OperatorError>,
    ) -> Result<Box<dyn System>, OperatorError> {
        let Some(backend) = &mut self.0 else { return Err(OperatorLimit::NoGpu(0).into()) };
        let projector = make(backend)?;
        let Some(backend) = self.0.take() else { return Err(OperatorLimit::NoGpu(0).into()) };
        let device = backend.name();
        view_system(inputs, backend, projector, device, Accumulation::Deterministic, FreeMemory::of_webgpu, PeerGroup::ALONE)
    }
}

impl Platform for WebGpuPlatform {
    fn name(&self) -> String {
        self.0.as_ref().map_or_else(|| "GPU".into(), |backend| backend.info().name.clone())
    }

    fn text(&self, _: Simd) -> String {
        self.0.as_ref().map_or_else(|| "GPU".into(), |backend| backend.name())
    }

    fn free_memory(&self) -> FreeMemory {
        self.0.as_ref().map_or_else(FreeMemory::default, FreeMemory::of_webgpu)
    }

    fn accumulation_of_events(&self) -> Accumulation {
        Accumulation::Deterministic
    }

    fn view_system(&mut self, projector: &str, inputs: &ProjectorInputs) -> Option<Result<Box<dyn System>, OperatorError>> {
        let (geometry, grid, rays, radius_mm) = (inputs.geometry(), inputs.grid(), inputs.rays(), inputs.fov_radius_mm());
        match projector {
            "axial-runs" => Some(self.system(inputs, |backend| {
                inputs.without_tof()?;
                webgpu::AxialRuns::new(backend, geometry, grid, radius_mm, rays)
            })),
            "per-lor" => Some(self.system(inputs, |backend| match inputs.settings.tof {
                Some(tof) => webgpu::PerLor::with_tof(backend, geometry, grid, radius_mm, rays, tof),
                None => webgpu::PerLor::new(backend, geometry, grid, radius_mm, rays),
            })),
            _ => None,
        }
    }

    fn plane_system(&mut self, program: &PlaneProgram, grid: Grid) -> Option<Result<Box<dyn PlaneSystem>, OperatorError>> {
        if (program.stages, program.kernel) != (FbpMethod::Single, PlaneKernel::Fast) {
            return None;
        }
        let Some(backend) = self.0.take() else { return Some(Err(OperatorLimit::NoGpu(0).into())) };
        let planes = webgpu::Planes::new(grid);
        Some(Ok(Box::new(ProgramOn { device: backend.name(), backend, planes, free_memory: FreeMemory::of_webgpu })))
    }

    /// The transforms have all frequencies, and the padding.
    fn convolution_bytes(&self, size: [usize; 3], num_images: usize) -> u64 {
        let [len_x, len_y, len_z] = padded_size(size).map(|n| n as u64);
        let num_images = num_images as u64;
        let kernels = num_images * num_images * (len_x / 2 + 1) * len_y * len_z;
        4 * kernels + 16 * num_images * len_x * len_y * len_z
    }

    fn spectral_convolution_bytes(&self, size: [usize; 3], num_samples: usize) -> u64 {
        webgpu::spectral_convolution_bytes(size, num_samples)
    }

    fn total_variation(
        &mut self,
        sweep: &Sweep,
        radicals: &[Radical],
        experiments: &[Experiment],
        grid: &Grid,
        settings: TvSettings,
        images: TvImages,
    ) -> Result<Box<dyn Algorithm>, SetupError> {
        if radicals.len() > webgpu::MAX_RADICALS {
            return Err(self.lacks("total variation of more than 8 radicals"));
        }
        let backend = self.0.take().ok_or(ReconError::NoDevice)?;
        Ok(Box::new(TotalVariation::new(backend, sweep, radicals, grid, settings, images)?.with_experiments(experiments)?))
    }

    fn list_algorithm(&mut self, recipe: &ListRecipe, team: PeerGroup) -> Result<Box<dyn Algorithm>, SetupError> {
        let mut backend = self.0.take().ok_or(ReconError::NoDevice)?;
        let lines = lines(&mut backend, recipe.lines.clone())?;
        recipe.on(backend, lines, team)
    }

    fn backproject_events(&mut self, recipe: EventRecipe, values: Vec<f32>, task: &Task) -> Result<Volume, SetupError> {
        let backend = self.0.as_mut().ok_or(ReconError::NoDevice)?;
        let lines = lines(backend, recipe)?;
        Ok(backprojected(backend, &lines, values, task)?)
    }
}

fn lines(backend: &mut WebGpuBackend, recipe: EventRecipe) -> Result<webgpu::EventLines, OperatorError> {
    let EventRecipe { events, facts, grid, fov_radius_mm, rays, order } = recipe;
    let (detectors, tof) = (&facts.detectors, facts.tof.as_ref());
    webgpu::EventLines::new(backend, events, detectors, tof, grid.clone(), fov_radius_mm, rays, order)
}
