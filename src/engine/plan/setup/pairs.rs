//! Turns settings and a crystal-pair histogram into MLEM with a system matrix.

use std::sync::Arc;

use super::data_setup::DataSetup;
use super::prepared::{Prepared, check_start_images, race_warning};
use crate::algebra::{RingBasis, Simd};
use crate::data::{Notice, PairCounts, ResponseMatrix};
use crate::operator::{Accumulation, CrystalPairs, DataSpace as _, OperatorError, Residence, Subset};
use crate::plan::device::choice::DeviceChoice;
use crate::plan::device::memory::{Arrays, DeviceMemory, Forecast, FreeMemory, MemoryNeeds, check_image};
use crate::plan::error::SetupError;
use crate::plan::job::Job;
use crate::plan::job::settings::RunSettings;
use crate::plan::platform::Platform;
use crate::plan::platform::open::choose_device;
use crate::plan::problem::SetupProblem;
use crate::plan::projector::system::MATRIX_ACCUMULATION;
use crate::plan::simulation::cache::Cache;
use crate::plan::simulation::default_matrix::placeholder;
use crate::plan::simulation::matrix::{check_basis, crystal_pairs, ring_basis};
use crate::recon::{Additions, DataProblem, MeasuredValues, ReconError};
use crate::scanner::find_ring;
use crate::task::Task;

impl DataSetup for PairCounts {
    fn inputs(&self, cache: &Cache, settings: &mut RunSettings, task: &Task) -> Result<Vec<Notice>, SetupError> {
        check(self, settings)?;
        check_counts(self)?;
        if settings.inputs.matrix.is_some() {
            return Ok(Vec::new());
        }
        let (matrix, notices) = cache.default_matrix(&self.ring, settings.device, task)?;
        settings.inputs.matrix = Some(Arc::new(matrix));
        Ok(notices)
    }

    fn prepare_on(&self, _: &Cache, device: DeviceChoice, job: &Job, task: &Task) -> Result<Prepared, SetupError> {
        let settings = &job.settings;
        let matrix = settings.inputs.matrix.as_ref().ok_or_else(|| SetupProblem::NoRing(self.ring.name.clone()))?;
        let (mut platform, mut notices) = choose_device(device)?;
        let requirement = MemoryRequirement::of(&*platform, self, settings, matrix)?;
        requirement.free.check(requirement.bytes)?;
        if requirement.residence == Residence::OneOrder {
            notices.push(Notice::info(
                "the GPU memory holds only one order of the system matrix: the other one is loaded for each projection and backprojection, which is slower",
            ));
        }
        let (accumulation, needs) = (requirement.accumulation, MemoryNeeds::of([(requirement.bytes, requirement.free.clone())]));
        notices.extend(race_warning(accumulation, settings.algorithm));
        let MemoryRequirement { image, data, residence, .. } = requirement;
        let mut system = platform.matrix_system(matrix, image, data, residence)?;
        let secs_per_iteration = system.trial_secs(1, accumulation)?;
        task.check().map_err(OperatorError::from)?;
        let names = [system.device().to_owned(), projector(matrix)];
        let sensitivity_accumulation = system.default_accumulation();
        let additions = Additions { accumulation, sensitivity_accumulation, racy_sensitivity: false };
        let values = MeasuredValues { bootstrap: settings.bootstrap(), ..self.into() };
        let algorithm = system.algorithm(settings.spec()?, values, 1, additions, settings.start_images())?;
        Ok(Prepared { notices, ..Prepared::new(job, algorithm, names, accumulation, &needs, secs_per_iteration) })
    }

    fn forecast_on(
        &self,
        device: DeviceChoice,
        settings: &RunSettings,
        given_back: &[DeviceMemory],
    ) -> Result<Forecast, SetupError> {
        check(self, settings)?;
        let (matrix, to_make) = match &settings.inputs.matrix {
            Some(matrix) => (Arc::clone(matrix), 0),
            None => placeholder(&self.ring).map(|(matrix, bytes)| (Arc::new(matrix), bytes))?,
        };
        let (platform, _) = choose_device(device)?;
        let requirement = MemoryRequirement::of(&*platform, self, settings, &matrix)?;
        let needs = MemoryNeeds::of([(requirement.bytes.max(to_make), requirement.free)]).with_given_back(given_back);
        needs.check()?;
        Ok(Forecast::of(&needs, [platform.text(Simd::detect()), projector(&matrix)]))
    }
}

/// Memory needs of a run, computed before anything large is made.
struct MemoryRequirement {
    image: RingBasis,
    data: CrystalPairs,
    accumulation: Accumulation,
    /// Bytes of the arrays, and of the elements if they are copied to a device.
    bytes: u64,
    /// Part of the matrix in the device memory.
    residence: Residence,
    free: FreeMemory,
}

impl MemoryRequirement {
    fn of(
        platform: &dyn Platform,
        pairs: &PairCounts,
        settings: &RunSettings,
        matrix: &ResponseMatrix,
    ) -> Result<Self, SetupError> {
        let Some(ring) = find_ring(&pairs.ring.name) else {
            return Err(SetupProblem::NoRing(pairs.ring.name.clone()).into());
        };
        let accumulation = settings.accumulation.unwrap_or(MATRIX_ACCUMULATION);
        let free = platform.free_memory();
        check_image(&settings.grid, &free)?;
        let image = ring_basis(ring, &matrix.basis, Some(settings.grid.clone()))?;
        let data = crystal_pairs(ring, matrix.basis.kind)?;
        let are_copied = platform.has_own_memory();
        let arrays =
            Arrays { are_copied, image_len: image.cells().len(), grid: &settings.grid, data: &data, corrections_per_datum: 0.0 };
        let (bytes, residence) = platform.matrix_need(matrix, &data, accumulation, &arrays);
        let bytes = settings.bytes_of_run(bytes, data.len(Subset::ALL));
        Ok(Self { image, data, accumulation, bytes, residence, free })
    }
}

fn projector(matrix: &ResponseMatrix) -> String {
    format!("system matrix of {}", matrix.basis.kind.text())
}

/// Refuses counts that MLEM cannot explain.
///
/// # Errors
/// Negative or non-finite ones, or none at all.
fn check_counts(pairs: &PairCounts) -> Result<(), SetupError> {
    if let Some(lor) = pairs.counts.iter().position(|count| !(count.is_finite() && *count >= 0.0)) {
        let ([first, second], value) = (pairs.ring.crystals_of(lor), pairs.counts[lor]);
        return Err(ReconError::from(DataProblem::Pair { crystals: (first, second), value }).into());
    }
    if pairs.total() == 0.0 {
        return Err(ReconError::from(DataProblem::NoPairs).into());
    }
    Ok(())
}

/// Refuses what does not go together.
///
/// # Errors
/// A matrix of another ring, a start image on another grid.
fn check(pairs: &PairCounts, settings: &RunSettings) -> Result<(), SetupError> {
    if let Some(matrix) = &settings.inputs.matrix {
        matrix.fits(&pairs.ring)?;
        check_basis(&pairs.ring, matrix)?;
    }
    check_start_images(settings)
}
