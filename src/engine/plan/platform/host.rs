//! The CPU as a platform: the definition of every operator.

use std::sync::Arc;

use super::Platform;
use super::recipes::{EventRecipe, ListRecipe, backprojected};
use crate::algebra::{Host, PeerGroup, RingBasis, Simd};
use crate::data::{Experiment, Radical, ResponseMatrix, Sweep, Volume};
use crate::geometry::Grid;
use crate::montecarlo::{AllThreads, HistorySimulator, Response, ResponsePart, ResponseTally, RingDetector};
use crate::operator::{
    Accumulation, CrystalPairs, EventLines, IMAGES_AT_ONCE, MultiStage, OperatorError, PlainPlanes, PlaneBackprojector,
    Residence, SingleStage, StoredMatrix,
};
use crate::plan::algorithms::common::PlaneKernel;
use crate::plan::algorithms::registry::FbpMethod;
use crate::plan::device::memory::{Arrays, FreeMemory};
use crate::plan::error::SetupError;
use crate::plan::projector::inputs::ProjectorInputs;
use crate::plan::projector::programs::{PlaneProgram, PlaneSystem, ProgramOn};
use crate::plan::projector::registry::projector as projector_entry;
use crate::plan::projector::ring_functions::RingFunctions;
use crate::plan::projector::system::{MATRIX_ACCUMULATION, OperatorSystem, System, host_threads};
use crate::recon::{Algorithm, TotalVariation, TvImages, TvSettings};
use crate::task::Task;

/// The CPU.
pub struct HostPlatform;

impl Platform for HostPlatform {
    fn name(&self) -> String {
        "CPU".into()
    }

    fn text(&self, simd: Simd) -> String {
        format!("{}, {}", host_threads(), simd.name())
    }

    fn free_memory(&self) -> FreeMemory {
        FreeMemory::of_the_computer()
    }

    fn has_own_memory(&self) -> bool {
        false
    }

    fn accumulation_of_events(&self) -> Accumulation {
        Accumulation::Deterministic
    }

    fn images_at_once(&self, num_events: usize, image_len: usize, _: bool, accumulation: Accumulation) -> (usize, u64) {
        (IMAGES_AT_ONCE, EventLines::bytes_at_once(num_events, image_len, accumulation))
    }

    fn view_system(&mut self, projector: &str, inputs: &ProjectorInputs) -> Option<Result<Box<dyn System>, OperatorError>> {
        Some((projector_entry(projector)?.on_host)(inputs))
    }

    fn plane_system(&mut self, program: &PlaneProgram, grid: Grid) -> Option<Result<Box<dyn PlaneSystem>, OperatorError>> {
        Some(Ok(match (program.stages, program.kernel) {
            (FbpMethod::Single, PlaneKernel::Fast) => {
                let planes = SingleStage::new(grid);
                let device = format!("{}, {}", host_threads(), planes.simd().name());
                planes_on_host(planes, device)
            }
            (FbpMethod::Single, PlaneKernel::Paper) => planes_on_host(PlainPlanes::new(grid), "CPU, 1 thread".into()),
            (FbpMethod::Two, PlaneKernel::Fast) => planes_on_host(MultiStage::new(grid), host_threads()),
            (FbpMethod::Two, PlaneKernel::Paper) => return None,
        }))
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
        Ok(Box::new(TotalVariation::new(Host, sweep, radicals, grid, settings, images)?.with_experiments(experiments)?))
    }

    fn list_algorithm(&mut self, recipe: &ListRecipe, team: PeerGroup) -> Result<Box<dyn Algorithm>, SetupError> {
        recipe.on(Host, lines(recipe.lines.clone())?, team)
    }

    fn backproject_events(&mut self, recipe: EventRecipe, values: Vec<f32>, task: &Task) -> Result<Volume, SetupError> {
        Ok(backprojected(&mut Host, &lines(recipe)?, values, task)?)
    }

    fn matrix_need(
        &self,
        matrix: &ResponseMatrix,
        data: &CrystalPairs,
        accumulation: Accumulation,
        arrays: &Arrays,
    ) -> (u64, Residence) {
        // The elements are in memory already.
        let scratch_bytes = StoredMatrix::scratch_bytes_of(matrix, data, accumulation);
        (arrays.bytes(1, accumulation, scratch_bytes), Residence::Both)
    }

    fn matrix_system(
        &mut self,
        matrix: &Arc<ResponseMatrix>,
        image: RingBasis,
        data: CrystalPairs,
        _: Residence,
    ) -> Result<Box<dyn System>, SetupError> {
        Ok(Box::new(OperatorSystem {
            backend: Host,
            operator: StoredMatrix::new(Arc::clone(matrix), data.clone(), image.num_central())?,
            image,
            data,
            device: self.text(Simd::detect()),
            default_accumulation: MATRIX_ACCUMULATION,
            free_memory: |_| FreeMemory::of_the_computer(),
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
        Ok(Box::new(ResponseTally::new(detector, functions, part, seed)))
    }

    fn history_simulator(&mut self) -> Result<Box<dyn HistorySimulator>, SetupError> {
        Ok(Box::new(AllThreads))
    }
}

fn lines(recipe: EventRecipe) -> Result<EventLines, OperatorError> {
    let EventRecipe { events, facts, grid, fov_radius_mm, rays, order } = recipe;
    EventLines::new(events, &facts.detectors, facts.tof.as_ref(), grid.clone(), fov_radius_mm, rays, order)
}

fn planes_on_host(planes: impl PlaneBackprojector<Host> + 'static, device: String) -> Box<dyn PlaneSystem> {
    Box::new(ProgramOn { backend: Host, planes, device, free_memory: |_| FreeMemory::of_the_computer() })
}
