//! Settings and counts of pairs of crystals become MLEM with a stored matrix.

use std::sync::Arc;

use super::devices::{Chosen, choose_device};
use super::estimate::{Forecast, FreeMemory, check_image};
use super::matrix::{polar_basis, tally_bytes};
use super::quick_matrix::{quick_matrix_recipe, stand_in};
use super::setup::{Prepared, SetupError, check_start_image, race_warning};
use super::system::{Assembled, System};
use super::{DeviceChoice, Job, PairSettings, StartInfo};
#[cfg(feature = "cuda")]
use crate::algebra::Backend as _;
use crate::algebra::Host;
#[cfg(feature = "cuda")]
use crate::cuda;
use crate::data::{BasisKind, PairCounts, ResponseMatrix, Study};
use crate::operator::{Accumulation, CrystalPairs, OperatorError, StoredMatrix};
use crate::recon::{EmSettings, Estimate, ReconError, SubsetOrder};
use crate::scanner::find_ring;
use crate::task::Task;
use crate::words::counted;

/// Bytes that an element takes on a GPU, which has the elements in both orders.
#[cfg(feature = "cuda")]
const BYTES_PER_ELEMENT: u64 = 10;

/// Makes the algorithm on one device.
pub(super) fn prepare_on(
    device: DeviceChoice,
    study: &Arc<Study<PairCounts>>,
    settings: &PairSettings,
    matrix: &Arc<ResponseMatrix>,
    task: &Task,
) -> Result<Prepared, SetupError> {
    let (chosen, mut notices) = choose_device(device)?;
    let of_elements = element_bytes(&chosen, matrix);
    let mut system = system(chosen, &study.measured, settings, matrix)?;
    let accumulation = accumulation(&*system, settings)?;
    notices.extend(race_warning(accumulation));
    let memory_bytes = system.memory_bytes(&(&study.measured).into(), 1, accumulation);
    system.free_memory().check(memory_bytes)?;
    let secs_per_iteration = system.trial_secs(1, accumulation)?;
    task.check().map_err(OperatorError::from)?;
    let (device, accumulations) = (system.device().to_owned(), system.accumulations());
    let em = EmSettings {
        subset_order: SubsetOrder::Sequential,
        accumulation,
        sensitivity_accumulation: system.default_accumulation(),
        racy_sensitivity: false,
    };
    let algorithm = system.em((&study.measured).into(), 1, em, settings.init.as_deref())?;
    let info = StartInfo {
        device,
        projector: projector(matrix).into(),
        num_subsets: 1,
        accumulation,
        accumulations,
        estimate: Estimate { memory_bytes: of_elements + memory_bytes, secs_per_iteration },
        job: Job::Pairs {
            study: Arc::clone(study),
            settings: Box::new(PairSettings { matrix: Some(Arc::clone(matrix)), ..settings.clone() }),
        },
    };
    Ok(Prepared { algorithm, info, notices, num_taken: 0 })
}

/// What a run on one device will need, and what is free there.
pub(super) fn forecast_on(
    device: DeviceChoice,
    pairs: &PairCounts,
    settings: &PairSettings,
) -> Result<(Forecast, FreeMemory), SetupError> {
    check(pairs, settings)?;
    // The elements are counted, not copied.
    let (basis, to_make) = match &settings.matrix {
        Some(matrix) => (matrix.basis, 0),
        None => {
            let basis = quick_matrix_recipe(&pairs.ring).map_err(SetupError::Settings)?.basis;
            (basis, tally_bytes(&pairs.ring, &basis))
        }
    };
    let (chosen, _) = choose_device(device)?;
    let of_elements = settings.matrix.as_ref().map_or(0, |matrix| element_bytes(&chosen, matrix));
    let matrix = stand_in(&pairs.ring, basis);
    let system = system(chosen, pairs, settings, &matrix)?;
    let accumulation = accumulation(&*system, settings)?;
    let memory_bytes = (of_elements + system.memory_bytes(&pairs.into(), 1, accumulation)).max(to_make);
    let forecast = Forecast { memory_bytes, device: system.device().to_owned(), projector: projector(&matrix).into() };
    Ok((forecast, system.free_memory()))
}

/// Bytes of a matrix's elements where a run computes, beside those that were read or made.
fn element_bytes(chosen: &Chosen, matrix: &ResponseMatrix) -> u64 {
    match chosen {
        Chosen::Cpu => 0,
        #[cfg(feature = "cuda")]
        Chosen::Cuda(_) => BYTES_PER_ELEMENT * matrix.elements.len() as u64,
    }
}

/// How a backprojection adds.
fn accumulation(system: &dyn System, settings: &PairSettings) -> Result<Accumulation, SetupError> {
    let accumulation = settings.accumulation.unwrap_or(system.default_accumulation());
    if system.accumulations().contains(&accumulation) {
        return Ok(accumulation);
    }
    let known: Vec<&str> = system.accumulations().iter().map(|known| known.name()).collect();
    let text =
        format!("{} with a stored matrix cannot add in the {accumulation} way, only: {}", system.device(), known.join(", "));
    Err(SetupError::Settings(text))
}

fn projector(matrix: &ResponseMatrix) -> &'static str {
    match matrix.basis.kind {
        BasisKind::Blobs => "stored matrix of blobs",
        BasisKind::Polar => "stored matrix of polar voxels",
    }
}

/// Refuses counts that MLEM cannot explain.
///
/// # Errors
/// Negative or non-finite ones, or none at all.
pub(super) fn check_counts(pairs: &PairCounts) -> Result<(), SetupError> {
    if let Some(lor) = pairs.counts.iter().position(|count| !(count.is_finite() && *count >= 0.0)) {
        let ([one, other], value) = (pairs.ring.crystals_of(lor), pairs.counts[lor]);
        let text = format!("crystals {one} and {other} have {value} counts; MLEM needs counts of zero or more");
        return Err(ReconError::UnsuitableData(text).into());
    }
    if pairs.total() == 0.0 {
        return Err(ReconError::UnsuitableData("the measured data has no counts: every pair of crystals has zero".into()).into());
    }
    Ok(())
}

/// Refuses what does not go together.
///
/// # Errors
/// A matrix of another ring, no iterations, a start image on another grid.
pub(super) fn check(pairs: &PairCounts, settings: &PairSettings) -> Result<(), SetupError> {
    if let Some(matrix) = &settings.matrix {
        matrix.fits(&pairs.ring).map_err(|error| SetupError::Settings(error.to_string()))?;
    }
    if settings.num_iterations == 0 {
        return Err(SetupError::Settings("0 iterations leave the start image as it is; choose at least 1".into()));
    }
    check_start_image(settings.init.as_deref(), &settings.grid)
}

fn system(
    chosen: Chosen,
    pairs: &PairCounts,
    settings: &PairSettings,
    matrix: &ResponseMatrix,
) -> Result<Box<dyn System>, SetupError> {
    let Some(ring) = find_ring(&pairs.ring.name) else {
        return Err(SetupError::Settings(format!("there is no ring '{}'", pairs.ring.name)));
    };
    match chosen {
        Chosen::Cpu => {
            check_image(&settings.grid, &FreeMemory::of_the_computer())?;
            let image = polar_basis(ring, &matrix.basis, Some(settings.grid.clone()))?;
            let data = CrystalPairs::new(ring);
            let operator = StoredMatrix::new(matrix.clone(), data.clone())?;
            let threads = counted(rayon::current_num_threads(), "thread");
            let device = format!("CPU, {threads}, {}", operator.simd().name());
            let default_accumulation = Accumulation::Deterministic;
            let free_memory = |_: &Host| FreeMemory::of_the_computer();
            Ok(Box::new(Assembled { backend: Host, operator, image, data, device, default_accumulation, free_memory }))
        }
        #[cfg(feature = "cuda")]
        Chosen::Cuda(backend) => {
            check_image(&settings.grid, &FreeMemory::of_device(&backend))?;
            let basis = polar_basis(ring, &matrix.basis, Some(settings.grid.clone()))?;
            let data = CrystalPairs::new(ring);
            FreeMemory::of_device(&backend).check(BYTES_PER_ELEMENT * matrix.elements.len() as u64)?;
            let operator = cuda::StoredMatrix::new(&backend, matrix, data.clone(), basis.num_central())?;
            let image = cuda::PolarImage::new(&backend, basis).map_err(OperatorError::from)?;
            let device = backend.name();
            let (backend, default_accumulation, free_memory) =
                (*backend, Accumulation::Deterministic, FreeMemory::of_device as _);
            Ok(Box::new(Assembled { backend, operator, image, data, device, default_accumulation, free_memory }))
        }
    }
}
