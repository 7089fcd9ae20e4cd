//! The stored matrix of a ring, simulated for the functions of an image.

use std::sync::Arc;

use super::devices::{Chosen, choose_device, or_on_cpu};
use super::estimate::FreeMemory;
use super::histories::Followed;
use super::{DeviceChoice, SetupError};
use crate::algebra::{BackendError, PolarBasis, PolarGrid};
#[cfg(feature = "cuda")]
use crate::cuda::ResponseMonteCarlo;
use crate::data::{BasisKind, BasisSettings, MatrixMade, ResponseMatrix};
use crate::geometry::{Grid, GridError, Point};
use crate::montecarlo::{
    FollowError, FunctionsAt, Response, ResponseElements, ResponseExtent, ResponseStatistics, ResponseTally, RingDetector,
};
use crate::operator::OperatorError;
use crate::scanner::CrystalRing;
use crate::task::Task;

/// Decays that are followed first where elements are asked for, and at most.
const FIRST_HISTORIES: u64 = 1 << 22;
const MOST_HISTORIES: u64 = 1 << 38;

/// How much is simulated.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum MatrixAmount {
    /// So many decays.
    Histories(u64),
    /// As many as it takes for so many elements.
    Elements(u64),
}

/// How a matrix is simulated.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MatrixRecipe {
    /// Functions of the image.
    pub basis: BasisSettings,
    /// How many decays are followed.
    pub amount: MatrixAmount,
    /// Seed of their random numbers.
    pub seed: u64,
}

impl MatrixRecipe {
    /// One for the usual functions of a ring's images.
    pub fn of(ring: &CrystalRing, kind: BasisKind, amount: MatrixAmount, seed: u64) -> Self {
        Self { basis: usual_basis(ring, kind), amount, seed }
    }
}

/// The functions that a ring's images are made of: as far apart as its file says, out to its bore.
pub fn usual_basis(ring: &CrystalRing, kind: BasisKind) -> BasisSettings {
    BasisSettings {
        kind,
        spacing_mm: ring.image_spacing_mm,
        radius_mm: ring.radius_mm,
        half_length_mm: ring.image_half_length_mm,
    }
}

/// The grid of cubes on which the functions of a basis are shown where no other is asked for: as wide as its cells.
///
/// # Errors
/// The grid cannot be.
pub fn shown_grid(ring: &CrystalRing, basis: &BasisSettings) -> Result<Grid, GridError> {
    let cells = PolarGrid::new(ring.num_modules, basis.spacing_mm, basis.radius_mm, basis.half_length_mm);
    let [across, along] = cells.extent_mm().map(|mm| (2.0 * mm / basis.spacing_mm).round() as usize);
    Grid::centred([across, across, along], [basis.spacing_mm; 3])
}

/// The functions of a basis, shown on a grid of cubes as wide as its cells unless another is given.
///
/// # Errors
/// The grid cannot be.
pub fn polar_basis(ring: &CrystalRing, basis: &BasisSettings, grid: Option<Grid>) -> Result<PolarBasis, SetupError> {
    let cells = PolarGrid::new(ring.num_modules, basis.spacing_mm, basis.radius_mm, basis.half_length_mm);
    let grid = match grid {
        Some(grid) => grid,
        None => shown_grid(ring, basis)?,
    };
    Ok(match basis.kind {
        BasisKind::Blobs => PolarBasis::blobs(cells, grid),
        BasisKind::Polar => PolarBasis::cells(cells, grid),
    })
}

/// How many basic functions a ring's image has.
pub(super) fn num_basic_of(ring: &CrystalRing, basis: &BasisSettings) -> usize {
    PolarGrid::new(ring.num_modules, basis.spacing_mm, basis.radius_mm, basis.half_length_mm).num_basic()
}

/// Memory that the simulation of a ring's matrix takes, bytes.
pub(super) fn tally_bytes(ring: &CrystalRing, basis: &BasisSettings) -> u64 {
    ResponseTally::<Functions>::bytes(num_basic_of(ring, basis), ring.num_lors())
}

struct Functions(PolarBasis);

impl FunctionsAt for Functions {
    fn at(&self, point: Point, visit: &mut dyn FnMut(usize, f64)) {
        self.0.at(point, visit);
    }
}

/// Simulates the matrix of a ring on a device.
///
/// # Errors
/// A ring that cannot be simulated, more functions than a matrix can have, too little memory, stopped; a CUDA device was asked for and
/// cannot be used.
pub fn make_matrix(
    ring: &CrystalRing,
    recipe: &MatrixRecipe,
    device: DeviceChoice,
    task: &Task,
) -> Result<Followed<ResponseMatrix>, SetupError> {
    let on_device = |choice| -> Result<Followed<ResponseMatrix>, SetupError> {
        let (chosen, notices) = choose_device(choice)?;
        Ok(Followed { device: chosen.name(), result: make_on(chosen, ring, recipe, task)?, notices })
    };
    let (mut followed, notice) = or_on_cpu(device, on_device)?;
    followed.notices.extend(notice);
    Ok(followed)
}

fn make_on(chosen: Chosen, ring: &CrystalRing, recipe: &MatrixRecipe, task: &Task) -> Result<ResponseMatrix, SetupError> {
    let detector = RingDetector::new(ring.clone()).map_err(|error| SetupError::Settings(error.to_string()))?;
    let functions = Functions(polar_basis(ring, &recipe.basis, None)?);
    let cells = functions.0.polar_grid();
    let (num_basic, num_lors) = (cells.num_basic(), ring.num_lors());
    let [radius_mm, half_length_mm] = cells.extent_mm();
    let reach_mm = functions.0.reach_mm();
    let extent = ResponseExtent::new(ring, [radius_mm + reach_mm, half_length_mm + reach_mm]);
    match chosen {
        Chosen::Cpu => {
            FreeMemory::of_the_computer().check(ResponseTally::<Functions>::bytes(num_basic, num_lors))?;
            simulated(ResponseTally::new(&detector, &functions, num_basic, extent, recipe.seed), ring, recipe, num_basic, task)
        }
        #[cfg(feature = "cuda")]
        Chosen::Cuda(backend) => {
            FreeMemory::of_device(&backend).check(ResponseMonteCarlo::bytes(num_basic, num_lors))?;
            let response = ResponseMonteCarlo::new(*backend, &detector, &functions.0, extent, recipe.seed)?;
            simulated(response, ring, recipe, num_basic, task)
        }
    }
}

impl From<FollowError> for SetupError {
    fn from(error: FollowError) -> Self {
        match error {
            FollowError::Stopped(stopped) => OperatorError::from(stopped).into(),
            FollowError::Device(text) => BackendError::Device(text).into(),
        }
    }
}

/// Simulates as much as the recipe says.
fn simulated(
    mut response: impl Response,
    ring: &CrystalRing,
    recipe: &MatrixRecipe,
    num_basic: usize,
    task: &Task,
) -> Result<ResponseMatrix, SetupError> {
    let statistics = match recipe.amount {
        MatrixAmount::Histories(num) => {
            task.begin(num);
            response.add(num, task)?;
            response.statistics()?
        }
        MatrixAmount::Elements(wanted) => {
            let mut num = FIRST_HISTORIES;
            loop {
                task.begin(num);
                response.add(num, task)?;
                let statistics = response.statistics()?;
                if statistics.num_elements >= wanted {
                    break statistics;
                }
                // Elements grow more slowly than histories: a third more of these at a time goes little too far.
                num = if 3 * statistics.num_elements < wanted { statistics.num_histories } else { statistics.num_histories / 3 };
                if statistics.num_histories > MOST_HISTORIES {
                    let found = statistics.num_elements;
                    let text = format!("{found} elements are all that {MOST_HISTORIES} decays gave; ask for fewer (--elements)");
                    return Err(SetupError::Settings(text));
                }
            }
        }
    };
    let ResponseElements { first, elements, scale_mm3 } = response.elements(task)?;
    if elements.is_empty() {
        return Err(SetupError::Settings("no decay was counted: follow more of them (--events)".into()));
    }
    let matrix = ResponseMatrix {
        scanner: ring.name.clone(),
        basis: recipe.basis,
        num_basic,
        scale_mm3,
        first: Arc::new(first),
        elements: Arc::new(elements),
        made: Some(made(recipe.seed, &statistics)),
    };
    matrix.validate(ring).map_err(|error| SetupError::Settings(error.to_string()))
}

fn made(seed: u64, statistics: &ResponseStatistics) -> MatrixMade {
    let ResponseStatistics {
        num_histories, num_counted, num_decays, counted_percent, multiple_percent, effective_counts, ..
    } = *statistics;
    MatrixMade { seed, num_histories, num_counted, num_decays, counted_percent, multiple_percent, effective_counts }
}
