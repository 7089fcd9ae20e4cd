//! Simulated system matrix of a ring, for the basis functions of an image.

use std::ops::Range;
use std::sync::Arc;

use super::device_result::{DeviceResult, on_device};
use crate::algebra::{RingBasis, RingGrid};
use crate::data::{BasisKind, BasisSettings, MatrixElement, MatrixMade, ResponseMatrix};
use crate::geometry::{Grid, GridError};
use crate::montecarlo::{Response, ResponseElements, ResponseExtent, ResponsePart, ResponseStatistics, RingDetector};
use crate::operator::CrystalPairs;
use crate::plan::device::choice::DeviceChoice;
use crate::plan::device::memory::FreeMemory;
use crate::plan::error::SetupError;
use crate::plan::platform::Platform;
use crate::plan::platform::open::{choose_device, with_cpu_fallback};
use crate::plan::problem::SetupProblem;
use crate::plan::projector::ring_functions::RingFunctions;
use crate::scanner::CrystalRing;
use crate::task::Task;

/// Decays that are followed first where elements are asked for, and at most.
const FIRST_HISTORIES: u64 = 1 << 22;
const MAX_HISTORIES: u64 = 1 << 38;

/// Budget of a simulation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SimulationBudget {
    /// A number of decays.
    Histories(u64),
    /// The decays needed for this number of elements.
    Elements(u64),
}

impl SimulationBudget {
    /// Returns its share for a part of the functions.
    fn of_part(self, part: &ResponsePart, whole: &ResponsePart) -> Self {
        let share = |num: u64, of: f64| ((num as f64 * of).ceil() as u64).max(1);
        match self {
            Self::Histories(num) => Self::Histories(share(num, part.extent.mm3 / whole.extent.mm3)),
            Self::Elements(num) => Self::Elements(share(num, part.basics.len() as f64 / whole.basics.len() as f64)),
        }
    }
}

/// Recipe of the simulation of a matrix.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MatrixRecipe {
    /// Functions of the image.
    pub basis: BasisSettings,
    /// Number of decays or elements.
    pub amount: SimulationBudget,
    /// Seed of their random numbers.
    pub seed: u64,
}

impl MatrixRecipe {
    /// Returns the recipe for the default functions of a ring's images.
    pub fn of(ring: &CrystalRing, kind: BasisKind, amount: SimulationBudget, seed: u64) -> Self {
        Self { basis: default_basis(ring, kind), amount, seed }
    }
}

/// Resources of the simulation of a matrix.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MatrixForecast {
    /// Device in words.
    pub device: String,
    /// Most memory that is in use there at a time, bytes: the tallies, and the elements where their number was asked for.
    pub memory_bytes: u64,
}

/// Returns the device and the memory of the simulation of a matrix before it begins.
///
/// # Errors
/// Those of [`make_matrix`] that are known before.
pub fn forecast_matrix(ring: &CrystalRing, recipe: &MatrixRecipe, device: DeviceChoice) -> Result<MatrixForecast, SetupError> {
    let forecast = |choice| {
        let (platform, _) = choose_device(choice)?;
        let (functions, parts) = functions_and_parts(&*platform, ring, recipe)?;
        let whole = whole(ring, &functions.basis);
        let bytes = |part: &ResponsePart| {
            let num_elements = match recipe.amount.of_part(part, &whole) {
                SimulationBudget::Histories(_) => 0,
                SimulationBudget::Elements(num) => num,
            };
            let elements = (size_of::<MatrixElement>() as u64).saturating_mul(num_elements);
            part.bytes(ring.num_lors()).saturating_add(elements)
        };
        let memory_bytes = parts.iter().map(bytes).max().unwrap_or(0);
        Ok(MatrixForecast { device: platform.name(), memory_bytes })
    };
    Ok(with_cpu_fallback(device, forecast)?.0)
}

/// Refuses a matrix that has another number of basic functions than its basis.
///
/// # Errors
/// It has.
pub fn check_basis(ring: &CrystalRing, matrix: &ResponseMatrix) -> Result<(), SetupError> {
    let (expected, found) = (ring_grid(ring, &matrix.basis).num_basic(), matrix.num_basic);
    if found == expected {
        return Ok(());
    }
    Err(SetupProblem::MatrixBasis { found, expected }.into())
}

/// Returns the cells that the functions of a basis are placed in.
pub(in crate::plan) fn ring_grid(ring: &CrystalRing, basis: &BasisSettings) -> RingGrid {
    let BasisSettings { kind, spacing_mm, radius_mm, half_length_mm } = *basis;
    match kind {
        BasisKind::Blobs | BasisKind::Polar => RingGrid::polar(ring.num_modules, spacing_mm, radius_mm, half_length_mm),
        BasisKind::Cubic => RingGrid::cubes(spacing_mm, radius_mm, ring.radius_mm, half_length_mm),
    }
}

/// Returns the default functions of a ring's images: spacing as in its file, out to its bore.
pub fn default_basis(ring: &CrystalRing, kind: BasisKind) -> BasisSettings {
    let radius_mm = if kind == BasisKind::Cubic { ring.cubes_half_side_mm } else { ring.radius_mm };
    BasisSettings { kind, spacing_mm: ring.image_spacing_mm, radius_mm, half_length_mm: ring.image_half_length_mm }
}

/// Returns the default grid of cubes that shows the functions of a basis: as wide as its cells.
///
/// # Errors
/// The grid is invalid.
pub fn display_grid(ring: &CrystalRing, basis: &BasisSettings) -> Result<Grid, GridError> {
    let [across, along] = ring_grid(ring, basis).extent_mm().map(|mm| (2.0 * mm / basis.spacing_mm).round() as usize);
    Grid::centred([across, across, along], [basis.spacing_mm; 3])
}

/// Returns the functions of a basis, shown on a grid, by default of cubes as wide as its cells.
///
/// # Errors
/// The grid is invalid.
pub fn ring_basis(ring: &CrystalRing, basis: &BasisSettings, grid: Option<Grid>) -> Result<RingBasis, SetupError> {
    let cells = ring_grid(ring, basis);
    let grid = match grid {
        Some(grid) => grid,
        None => display_grid(ring, basis)?,
    };
    Ok(match basis.kind {
        BasisKind::Blobs => RingBasis::blobs(cells, grid),
        BasisKind::Polar | BasisKind::Cubic => RingBasis::voxels(cells, grid),
    })
}

/// Returns the number of basic functions of a ring's image, and the memory of the simulation of its matrix in one pass, bytes.
///
/// # Errors
/// The basis is invalid.
pub(in crate::plan) fn size_of_matrix(ring: &CrystalRing, basis: &BasisSettings) -> Result<(usize, u64), SetupError> {
    let basis = ring_basis(ring, basis, Some(Grid::centred([1; 3], [basis.spacing_mm; 3])?))?;
    let whole = response_part(ring, &basis, 0..basis.cells().num_half_slices());
    Ok((whole.basics.len(), whole.bytes(ring.num_lors())))
}

/// Returns the pairs of crystals of a ring, in orbits under the symmetries that a basis has.
///
/// # Errors
/// The ring is not its own image under those of cubes.
pub fn crystal_pairs(ring: &CrystalRing, kind: BasisKind) -> Result<CrystalPairs, SetupError> {
    match kind {
        BasisKind::Blobs | BasisKind::Polar => Ok(CrystalPairs::new(ring, &ring.symmetries())),
        BasisKind::Cubic => match ring.symmetries_of_cubes() {
            Some(symmetries) => Ok(CrystalPairs::new(ring, &symmetries)),
            None => Err(SetupProblem::Cubes { ring: ring.name.clone(), num_modules: ring.num_modules }.into()),
        },
    }
}

/// Returns the functions of these half slices of a basis, from the middle of the ring outwards, and the extent of their decays.
pub fn response_part(ring: &CrystalRing, basis: &RingBasis, half_slices: Range<usize>) -> ResponsePart {
    let (cells, reach_mm) = (basis.cells(), basis.reach_mm());
    let [across_mm, _] = cells.extent_mm();
    // The corners of cubes are farther out than their sides.
    let radius_mm = if cells.rings().is_some() { across_mm } else { across_mm * std::f64::consts::SQRT_2 };
    let height_mm = |slice: usize| slice as f64 * cells.spacing_mm();
    let heights_mm = [height_mm(half_slices.start) - reach_mm, height_mm(half_slices.end) + reach_mm];
    let basics = half_slices.start * cells.num_in_slice()..half_slices.end * cells.num_in_slice();
    ResponsePart { basics, extent: ResponseExtent::new(ring, radius_mm + reach_mm, heights_mm) }
}

/// Returns the parts in which a matrix is simulated so that the tallies of each have room.
fn parts(ring: &CrystalRing, basis: &RingBasis, free: &FreeMemory) -> Vec<ResponsePart> {
    let num = basis.cells().num_half_slices();
    let slice_bytes = response_part(ring, basis, 0..1).bytes(ring.num_lors());
    // A fifth is left for the elements.
    let at_once = free.bytes.map_or(num, |bytes| (bytes / 5 * 4 / slice_bytes.max(1)) as usize).clamp(1, num);
    // As many slices in each as in the others, or one less.
    let num_parts = num.div_ceil(at_once);
    (0..num_parts).map(|part| response_part(ring, basis, part * num / num_parts..(part + 1) * num / num_parts)).collect()
}

/// Simulates the matrix of a ring on a device.
///
/// # Errors
/// A ring that the simulation does not support, more functions than a matrix allows, too little memory, stopped; a requested CUDA
/// device is not usable.
pub fn make_matrix(
    ring: &CrystalRing,
    recipe: &MatrixRecipe,
    device: DeviceChoice,
    task: &Task,
) -> Result<DeviceResult<ResponseMatrix>, SetupError> {
    on_device(device, |platform| make_on(platform, ring, recipe, task))
}

/// Returns all functions of a basis, and where their decays are.
fn whole(ring: &CrystalRing, basis: &RingBasis) -> ResponsePart {
    response_part(ring, basis, 0..basis.cells().num_half_slices())
}

/// Returns the functions of a matrix, and the parts in which it is simulated on a device.
fn functions_and_parts(
    platform: &dyn Platform,
    ring: &CrystalRing,
    recipe: &MatrixRecipe,
) -> Result<(RingFunctions, Vec<ResponsePart>), SetupError> {
    crystal_pairs(ring, recipe.basis.kind)?;
    let functions = RingFunctions { basis: ring_basis(ring, &recipe.basis, None)?, num_turns: ring.num_modules };
    let free = platform.free_memory();
    let parts = parts(ring, &functions.basis, &free);
    free.check(parts.iter().map(|part| part.bytes(ring.num_lors())).max().unwrap_or(0))?;
    Ok((functions, parts))
}

fn make_on(
    platform: &dyn Platform,
    ring: &CrystalRing,
    recipe: &MatrixRecipe,
    task: &Task,
) -> Result<ResponseMatrix, SetupError> {
    let detector = RingDetector::new(ring.clone())?;
    let (functions, parts) = functions_and_parts(platform, ring, recipe)?;
    let whole = whole(ring, &functions.basis);
    let (mut amount, mut elements, mut statistics) = (recipe.amount.of_part(&parts[0], &whole), Vec::new(), Vec::new());
    for (number, part) in parts.iter().enumerate() {
        // Each part has separate histories.
        let seed = recipe.seed.wrapping_add(number as u64);
        let mut response = platform.response(&detector, &functions, part.clone(), seed)?;
        let found = simulated(&mut *response, amount, task)?;
        elements.push(response.elements(task)?);
        statistics.push((found, part.extent.mm3));
        if let Some(next) = parts.get(number + 1) {
            // As many decays in a mm³ as in the parts before.
            let num = found.num_histories as f64 * next.extent.mm3 / part.extent.mm3;
            amount = SimulationBudget::Histories((num as u64).max(1));
        }
    }
    let ResponseElements { first, elements, scale_mm3 } = ResponseElements::joined(elements);
    if elements.is_empty() {
        return Err(SetupProblem::NoDecayCounted.into());
    }
    let matrix = ResponseMatrix {
        scanner: ring.name.clone(),
        basis: recipe.basis,
        num_basic: whole.basics.len(),
        scale_mm3,
        first: Arc::new(first),
        elements: Arc::new(elements),
        made: Some(made(recipe.seed, &ResponseStatistics::joined(&statistics, whole.extent.mm3))),
    };
    Ok(matrix.validate(ring)?)
}

/// Simulates as much as is asked for.
fn simulated(response: &mut dyn Response, amount: SimulationBudget, task: &Task) -> Result<ResponseStatistics, SetupError> {
    match amount {
        SimulationBudget::Histories(num) => {
            task.begin(num);
            response.add(num, task)?;
            Ok(response.statistics()?)
        }
        SimulationBudget::Elements(wanted) => {
            let mut num = FIRST_HISTORIES;
            loop {
                task.begin(num);
                response.add(num, task)?;
                let statistics = response.statistics()?;
                if statistics.num_elements >= wanted {
                    return Ok(statistics);
                }
                // Elements grow more slowly than histories: a third more of these at a time goes little too far.
                num = if 3 * statistics.num_elements < wanted { statistics.num_histories } else { statistics.num_histories / 3 };
                if statistics.num_histories > MAX_HISTORIES {
                    let found = statistics.num_elements;
                    return Err(SetupProblem::FewElements { found, num_decays: MAX_HISTORIES }.into());
                }
            }
        }
    }
}

fn made(seed: u64, statistics: &ResponseStatistics) -> MatrixMade {
    let ResponseStatistics {
        num_histories, num_counted, num_decays, counted_percent, multiple_percent, effective_counts, ..
    } = *statistics;
    MatrixMade { seed, num_histories, num_counted, num_decays, counted_percent, multiple_percent, effective_counts }
}
