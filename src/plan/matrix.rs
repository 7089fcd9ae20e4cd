//! The stored matrix of a ring, simulated for the functions of an image.

use std::sync::Arc;

use super::SetupError;
use super::estimate::FreeMemory;
use crate::algebra::{PolarBasis, PolarGrid};
use crate::data::{BasisKind, BasisSettings, MatrixElement, MatrixMade, ResponseMatrix};
use crate::geometry::{Grid, Point};
use crate::montecarlo::{FunctionsAt, ResponseStatistics, ResponseTally, RingDetector};
use crate::operator::OperatorError;
use crate::scanner::CrystalRing;
use crate::task::Task;

/// How a matrix is simulated.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MatrixRecipe {
    /// Functions of the image.
    pub basis: BasisSettings,
    /// Decays to follow.
    pub num_histories: u64,
    /// Seed of their random numbers.
    pub seed: u64,
}

impl MatrixRecipe {
    /// The functions that a ring's images are made of: as far apart as its file says, out to its bore.
    pub fn of(ring: &CrystalRing, kind: BasisKind, num_histories: u64, seed: u64) -> Self {
        let basis = BasisSettings {
            kind,
            spacing_mm: ring.image_spacing_mm,
            radius_mm: ring.radius_mm,
            half_length_mm: ring.image_half_length_mm,
        };
        Self { basis, num_histories, seed }
    }
}

/// The functions of a basis, shown on a grid of cubes as wide as its cells unless another is given.
///
/// # Errors
/// The grid cannot be.
pub fn polar_basis(ring: &CrystalRing, basis: &BasisSettings, grid: Option<Grid>) -> Result<PolarBasis, SetupError> {
    let cells = PolarGrid::new(ring.num_modules, basis.spacing_mm, basis.radius_mm, basis.half_length_mm);
    let [radius_mm, half_length_mm] = cells.extent_mm();
    let grid = match grid {
        Some(grid) => grid,
        None => {
            let [across, along] = [radius_mm, half_length_mm].map(|mm| (2.0 * mm / basis.spacing_mm).round() as usize);
            Grid::centred([across, across, along], [basis.spacing_mm; 3])?
        }
    };
    Ok(match basis.kind {
        BasisKind::Blobs => PolarBasis::blobs(cells, grid),
        BasisKind::Polar => PolarBasis::cells(cells, grid),
    })
}

struct Functions(PolarBasis);

impl FunctionsAt for Functions {
    fn at(&self, point: Point, visit: &mut dyn FnMut(usize, f64)) {
        self.0.at(point, visit);
    }
}

/// Simulates the matrix of a ring on all threads.
///
/// # Errors
/// A ring that cannot be simulated, more functions than a matrix can have, too little memory, stopped.
pub fn make_matrix(ring: &CrystalRing, recipe: &MatrixRecipe, task: &Task) -> Result<ResponseMatrix, SetupError> {
    let detector = RingDetector::new(ring.clone()).map_err(|error| SetupError::Settings(error.to_string()))?;
    let functions = Functions(polar_basis(ring, &recipe.basis, None)?);
    let cells = functions.0.polar_grid();
    let num_basic = cells.num_basic();
    FreeMemory::of_the_computer().check(ResponseTally::<Functions>::bytes(num_basic, ring.num_lors()))?;
    let [radius_mm, half_length_mm] = cells.extent_mm();
    let reach_mm = functions.0.reach_mm();
    let extent_mm = [radius_mm + reach_mm, half_length_mm + reach_mm];
    let mut tally = ResponseTally::new(&detector, &functions, num_basic, extent_mm, recipe.seed);
    task.begin(recipe.num_histories);
    tally.add(recipe.num_histories, task).map_err(OperatorError::from)?;
    let statistics = tally.statistics();
    let largest = (0..ring.num_lors()).flat_map(|lor| tally.row(lor)).map(|element| element.value).fold(0.0, f32::max);
    if largest <= 0.0 {
        return Err(SetupError::Settings("no decay was counted: follow more of them (--events)".into()));
    }
    let (mut first, mut elements) = (vec![0], Vec::with_capacity(statistics.num_elements as usize));
    for lor in 0..ring.num_lors() {
        task.check().map_err(OperatorError::from)?;
        elements.extend(tally.row(lor).map(|element| MatrixElement::new(element.basic, element.value / largest)));
        first.push(elements.len() as u64);
    }
    let matrix = ResponseMatrix {
        scanner: ring.name.clone(),
        basis: recipe.basis,
        num_basic,
        scale_mm3: largest,
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
