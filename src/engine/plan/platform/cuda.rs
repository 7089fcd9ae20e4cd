//! A CUDA device as a platform.

use std::sync::Arc;

use super::Platform;
use super::recipes::{EventRecipe, ListRecipe, backprojected};
use crate::algebra::{Backend as _, BackendError, PeerGroup, RingBasis, Simd};
use crate::cuda::{self, CudaBackend, CudaVoxelFits, FastPlanes, PaperPlanes, ResponseMonteCarlo, TubesMonteCarlo};
use crate::data::{Experiment, Radical, ResponseMatrix, Sweep, Volume};
use crate::geometry::Grid;
use crate::measure::oximetry::VoxelFits;
use crate::montecarlo::{HistorySimulator, Response, ResponsePart, RingDetector};
use crate::operator::{Accumulation, CrystalPairs, OperatorError, OperatorLimit, PlaneBackprojector, Residence, ViewProjector};
use crate::plan::algorithms::common::PlaneKernel;
use crate::plan::algorithms::registry::FbpMethod;
use crate::plan::device::memory::{Arrays, FreeMemory};
use crate::plan::error::SetupError;
use crate::plan::projector::inputs::ProjectorInputs;
use crate::plan::projector::programs::{PlaneProgram, PlaneSystem, ProgramOn};
use crate::plan::projector::ring_functions::RingFunctions;
use crate::plan::projector::system::{MATRIX_ACCUMULATION, OperatorSystem, System, view_system};
use crate::recon::{Algorithm, ReconError, TotalVariation, TvImages, TvSettings};
use crate::task::Task;

/// A CUDA device. It is gone once a system or an algorithm has taken it.
pub struct CudaPlatform(Option<CudaBackend>);

impl CudaPlatform {
    /// Returns a device that was opened.
    pub fn new(backend: CudaBackend) -> Self {
        Self(Some(backend))
    }

    fn backend(&mut self) -> Result<&mut CudaBackend, ReconError> {
        self.0.as_mut().ok_or(ReconError::NoDevice)
    }

    fn take(&mut self) -> Result<CudaBackend, ReconError> {
        self.0.take().ok_or(ReconError::NoDevice)
    }

    /// Makes a system that takes the device. The device stays if the projector fails.
    fn system<P: ViewProjector<CudaBackend> + 'static>(
        &mut self,
        inputs: &ProjectorInputs,
        make: impl FnOnce(&CudaBackend) -> Result<P, OperatorError>,
        more: impl FnOnce(&P) -> String,
    ) -> Result<Box<dyn System>, OperatorError> {
        let Some(backend) = &self.0 else { return Err(OperatorLimit::NoGpu(0).into()) };
        let projector = make(backend)?;
        let Some(backend) = self.0.take() else { return Err(OperatorLimit::NoGpu(0).into()) };
        // The first accumulation of a projector is its fastest.
        let (accumulation, team) = (projector.accumulations()[0], backend.group());
        let device = format!("{}{}", backend.name(), more(&projector));
        view_system(inputs, backend, projector, device, accumulation, FreeMemory::of_device, team)
    }

    fn planes<P: PlaneBackprojector<CudaBackend> + 'static>(
        &mut self,
        make: impl FnOnce(&CudaBackend) -> Result<P, OperatorError>,
    ) -> Result<Box<dyn PlaneSystem>, OperatorError> {
        let Some(backend) = self.0.take() else { return Err(OperatorLimit::NoGpu(0).into()) };
        let planes = make(&backend)?;
        Ok(Box::new(ProgramOn { device: backend.name(), backend, planes, free_memory: FreeMemory::of_device }))
    }
}

impl Platform for CudaPlatform {
    fn name(&self) -> String {
        self.0.as_ref().map_or_else(|| "CUDA".into(), |backend| backend.info().name.clone())
    }

    fn text(&self, _: Simd) -> String {
        self.0.as_ref().map_or_else(|| "CUDA".into(), |backend| backend.name())
    }

    fn free_memory(&self) -> FreeMemory {
        self.0.as_ref().map_or_else(FreeMemory::default, FreeMemory::of_device)
    }

    fn images_at_once(&self, _: usize, image_len: usize, has_tof: bool, accumulation: Accumulation) -> (usize, u64) {
        let num = self.0.as_ref().map_or(1, |backend| cuda::EventLines::num_at_once(backend.info(), has_tof, accumulation));
        (num, 4 * (num * image_len) as u64)
    }

    fn view_system(&mut self, projector: &str, inputs: &ProjectorInputs) -> Option<Result<Box<dyn System>, OperatorError>> {
        let (geometry, grid, rays, radius_mm) = (inputs.geometry(), inputs.grid(), inputs.rays(), inputs.fov_radius_mm());
        if projector != "axial-runs"
            && let Err(refusal) = inputs.without_tof()
        {
            return Some(Err(refusal));
        }
        let (nothing, tof) = (String::new, inputs.settings.tof);
        Some(match projector {
            "axial-runs" => {
                let make = |backend: &_| match tof {
                    Some(tof) => cuda::AxialRuns::with_tof(backend, geometry, grid, radius_mm, rays, tof),
                    None => cuda::AxialRuns::new(backend, geometry, grid, radius_mm, rays),
                };
                self.system(inputs, make, |_| nothing())
            }
            "per-lor" => {
                let threads = inputs.settings.threads_per_block;
                let make = |backend: &_| cuda::BinDriven::new(backend, geometry, grid, radius_mm, rays, threads);
                self.system(inputs, make, |projector| format!(", {} threads per block", projector.threads_per_block()))
            }
            "tubes" => self.system(
                inputs,
                |backend| cuda::Tubes::new(backend, geometry, grid, radius_mm, inputs.tubes()?),
                |_| nothing(),
            ),
            "tubes-paper" => self.system(
                inputs,
                |backend| cuda::PaperTubes::new(backend, geometry, grid, radius_mm, inputs.tubes()?),
                |_| nothing(),
            ),
            _ => return None,
        })
    }

    fn plane_system(&mut self, program: &PlaneProgram, grid: Grid) -> Option<Result<Box<dyn PlaneSystem>, OperatorError>> {
        match (program.stages, program.kernel) {
            (FbpMethod::Single, PlaneKernel::Fast) => {
                Some(self.planes(|backend| FastPlanes::new(backend, grid).map_err(OperatorError::from)))
            }
            (FbpMethod::Single, PlaneKernel::Paper) => Some(self.planes(|backend| PaperPlanes::new(backend, grid))),
            (FbpMethod::Two, _) => None,
        }
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
        if radicals.len() > cuda::MAX_RADICALS {
            return Err(self.lacks("total variation of more than 8 radicals"));
        }
        Ok(Box::new(TotalVariation::new(self.take()?, sweep, radicals, grid, settings, images)?.with_experiments(experiments)?))
    }

    fn convolution_bytes(&self, size: [usize; 3], num_images: usize) -> u64 {
        cuda::convolution_bytes(size, num_images)
    }

    fn spectral_convolution_bytes(&self, size: [usize; 3], num_samples: usize) -> u64 {
        cuda::spectral_convolution_bytes(size, num_samples)
    }

    fn list_algorithm(&mut self, recipe: &ListRecipe, team: PeerGroup) -> Result<Box<dyn Algorithm>, SetupError> {
        let mut backend = self.take()?;
        let lines = lines(&mut backend, recipe.lines.clone())?;
        recipe.on(backend, lines, team)
    }

    fn backproject_events(&mut self, recipe: EventRecipe, values: Vec<f32>, task: &Task) -> Result<Volume, SetupError> {
        let backend = self.backend()?;
        let lines = lines(backend, recipe)?;
        Ok(backprojected(backend, &lines, values, task)?)
    }

    fn matrix_need(
        &self,
        matrix: &ResponseMatrix,
        data: &CrystalPairs,
        accumulation: Accumulation,
        arrays: &Arrays,
    ) -> (u64, Residence) {
        let bytes = arrays.bytes(1, accumulation, cuda::StoredMatrix::scratch_bytes_of(data, accumulation));
        let has_room = self.free_memory().bytes.is_none_or(|free| bytes + Residence::Both.bytes(matrix) <= free);
        let residence = if has_room { Residence::Both } else { Residence::OneOrder };
        (bytes + residence.bytes(matrix), residence)
    }

    fn matrix_system(
        &mut self,
        matrix: &Arc<ResponseMatrix>,
        image: RingBasis,
        data: CrystalPairs,
        residence: Residence,
    ) -> Result<Box<dyn System>, SetupError> {
        let backend = self.take()?;
        Ok(Box::new(OperatorSystem {
            operator: cuda::StoredMatrix::new(&backend, matrix, data.clone(), image.num_central(), residence)?,
            image: cuda::RingImage::new(&backend, image).map_err(OperatorError::from)?,
            data,
            device: backend.name(),
            backend,
            default_accumulation: MATRIX_ACCUMULATION,
            free_memory: FreeMemory::of_device,
            team: PeerGroup::ALONE,
        }))
    }

    fn response<'a>(
        &'a self,
        detector: &'a RingDetector,
        functions: &'a RingFunctions,
        part: ResponsePart,
        seed: u64,
    ) -> Result<Box<dyn Response + 'a>, SetupError> {
        let backend = self.0.as_ref().ok_or(ReconError::NoDevice)?;
        Ok(Box::new(ResponseMonteCarlo::new(backend, detector, &functions.basis, part, seed)?))
    }

    fn history_simulator(&mut self) -> Result<Box<dyn HistorySimulator>, SetupError> {
        Ok(Box::new(TubesMonteCarlo::new(self.take()?).map_err(BackendError::from)?))
    }

    fn voxel_fits(&mut self) -> Result<Box<dyn VoxelFits>, SetupError> {
        Ok(Box::new(CudaVoxelFits::new(self.take()?).map_err(BackendError::from)?))
    }

    fn take_cuda(&mut self) -> Option<CudaBackend> {
        self.0.take()
    }
}

fn lines(backend: &mut CudaBackend, recipe: EventRecipe) -> Result<cuda::EventLines, OperatorError> {
    let EventRecipe { events, facts, grid, fov_radius_mm, rays, order } = recipe;
    let (detectors, tof) = (&facts.detectors, facts.tof.as_ref());
    cuda::EventLines::new(backend, events, detectors, tof, grid.clone(), fov_radius_mm, rays, order)
}
