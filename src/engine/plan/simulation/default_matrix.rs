//! Default system matrix of a run without an open one: of small rings only, stored in a cache.
//!
//! With 10⁷ decays an element of `madpet2-reduced` has 11 effective counts on average, (Σ w)² / Σ w²; they take some 40 s of one
//! core.

use std::path::Path;
use std::sync::Arc;

use super::cache::{Cache, Recipe};
use super::device_result::DeviceResult;
use super::matrix::{MatrixRecipe, SimulationBudget, make_matrix, size_of_matrix};
use crate::data::{BasisKind, Notice, ResponseMatrix};
use crate::io::IoError;
use crate::io::saved_matrix::{read_matrix, write_matrix};
use crate::plan::device::choice::DeviceChoice;
use crate::plan::error::SetupError;
use crate::plan::problem::SetupProblem;
use crate::scanner::CrystalRing;
use crate::task::Task;

/// Decays that are followed.
const NUM_HISTORIES: u64 = 10_000_000;
/// Where the tallies of a ring's matrix take more than this, its simulation is a matter of hours on a processor.
const MAX_TALLY_BYTES: u64 = 1 << 30;
/// Elements of the paper's matrix of MADPET-II, which has as many lines of response as a full ring.
const FULL_ELEMENTS: u64 = 700_000_000;

/// Returns the recipe of the default matrix of a ring.
///
/// # Errors
/// The ring is too large; the error contains the size of its matrix and the command that makes it.
pub fn default_matrix_recipe(ring: &CrystalRing) -> Result<MatrixRecipe, SetupError> {
    let recipe = MatrixRecipe::of(ring, BasisKind::Blobs, SimulationBudget::Histories(NUM_HISTORIES), 1);
    let (_, tally_bytes) = size_of_matrix(ring, &recipe.basis)?;
    if tally_bytes <= MAX_TALLY_BYTES {
        return Ok(recipe);
    }
    let (ring, title) = (ring.name.clone(), ring.title.clone());
    Err(SetupProblem::LargeMatrix { ring, title, tally_bytes, num_elements: FULL_ELEMENTS }.into())
}

/// A ring's matrix by a recipe.
struct DefaultMatrix<'a> {
    ring: &'a CrystalRing,
    recipe: MatrixRecipe,
}

impl Recipe for DefaultMatrix<'_> {
    type Made = ResponseMatrix;

    const NAME: [&'static str; 2] = ["the matrix", "was"];

    const READ: fn(&Path) -> Result<ResponseMatrix, IoError> = read_matrix;

    const WRITE: fn(&Path, &ResponseMatrix) -> Result<(), IoError> = write_matrix;

    fn file_name(&self) -> String {
        let MatrixRecipe { basis, seed, .. } = self.recipe;
        let (name, kind, version) = (&self.ring.name, basis.kind, env!("CARGO_PKG_VERSION"));
        format!("{name}-{kind}-{NUM_HISTORIES}-seed{seed}-v{version}.matrix")
    }

    fn would_make(&self, matrix: &ResponseMatrix) -> bool {
        let num_basic = size_of_matrix(self.ring, &self.recipe.basis).map(|(num, _)| num);
        let is_of_ring = matrix.scanner == self.ring.name && num_basic == Ok(matrix.num_basic);
        let made = matrix.made.is_some_and(|made| (made.num_histories, made.seed) == (NUM_HISTORIES, self.recipe.seed));
        is_of_ring && made && matrix.basis == self.recipe.basis
    }

    fn make(&self, device: DeviceChoice, task: &Task) -> Result<DeviceResult<ResponseMatrix>, SetupError> {
        make_matrix(self.ring, &self.recipe, device, task)
    }

    fn done(&self, _: &ResponseMatrix) -> String {
        format!("simulated with {NUM_HISTORIES} decays")
    }
}

impl Cache {
    /// Returns the matrix of a small ring, stored or made on a device; notices report which. `task` counts the progress.
    ///
    /// # Errors
    /// The ring is too large; stopped; a requested CUDA device is not usable.
    pub fn default_matrix(
        &self,
        ring: &CrystalRing,
        device: DeviceChoice,
        task: &Task,
    ) -> Result<(ResponseMatrix, Vec<Notice>), SetupError> {
        let recipe = default_matrix_recipe(ring)?;
        self.find_or_make(&DefaultMatrix { ring, recipe }, device, task)
    }
}

/// Returns a matrix without elements in place of the quick one of a ring, and the memory that making that takes, bytes.
///
/// # Errors
/// The ring is too large for the quick one.
pub(in crate::plan) fn placeholder(ring: &CrystalRing) -> Result<(ResponseMatrix, u64), SetupError> {
    let basis = default_matrix_recipe(ring)?.basis;
    let (num_basic, tallies) = size_of_matrix(ring, &basis)?;
    let matrix = ResponseMatrix {
        scanner: ring.name.clone(),
        basis,
        num_basic,
        scale_mm3: 1.0,
        first: Arc::new(vec![0; ring.num_lors() + 1]),
        elements: Arc::default(),
        made: None,
    };
    Ok((matrix, tallies))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::coded::Coded as _;
    use crate::io::saved_matrix::data_file;
    use crate::scanner::find_ring;

    fn reduced() -> &'static CrystalRing {
        find_ring("madpet2-reduced").unwrap()
    }

    /// A matrix of few decays that says of itself what the quick one does.
    fn like_the_quick_one() -> ResponseMatrix {
        let recipe = default_matrix_recipe(reduced()).unwrap();
        let few = MatrixRecipe { amount: SimulationBudget::Histories(50_000), ..recipe };
        let matrix = make_matrix(reduced(), &few, DeviceChoice::Cpu, &Task::new()).unwrap().result;
        let made = matrix.made.map(|made| crate::data::MatrixMade { num_histories: NUM_HISTORIES, ..made });
        ResponseMatrix { made, ..matrix }
    }

    #[test]
    fn a_stored_matrix_is_found_and_a_foreign_or_broken_one_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::at(folder.path());
        let recipe = default_matrix_recipe(reduced()).unwrap();
        let path = folder.path().join(DefaultMatrix { ring: reduced(), recipe }.file_name());
        let matrix = like_the_quick_one();
        // A task that is stopped makes nothing: what comes was read.
        let stopped = Task::new();
        stopped.stop();
        let find = || cache.default_matrix(reduced(), DeviceChoice::Cpu, &stopped);
        assert_eq!(find().unwrap_err().code(), "stopped");
        write_matrix(&path, &matrix).unwrap();
        let (found, notices) = find().unwrap();
        assert_eq!(found, matrix);
        assert!(matches!(&notices[..], [notice] if notice.text.starts_with("the matrix read from the cache")), "{notices:?}");
        // Of fewer decays than its name says.
        let few = matrix.made.map(|made| crate::data::MatrixMade { num_histories: 1, ..made });
        write_matrix(&path, &ResponseMatrix { made: few, ..matrix.clone() }).unwrap();
        assert!(find().is_err());
        write_matrix(&path, &matrix).unwrap();
        assert!(find().is_ok());
        let mut bytes = fs::read(data_file(&path)).unwrap();
        let last = bytes.len() - 1;
        bytes[last] ^= 1;
        fs::write(data_file(&path), bytes).unwrap();
        assert!(find().is_err(), "a corrupted file was used");
    }

    #[test]
    fn the_full_ring_reports_the_size_of_its_matrix() {
        let sentence = default_matrix_recipe(find_ring("madpet2").unwrap()).unwrap_err().to_string();
        for words in ["43.17 GiB", "minutes on a GPU", "tomoscope matrix --scanner madpet2", "--elements 700000000"] {
            assert!(sentence.contains(words), "{sentence}");
        }
        assert!(placeholder(find_ring("madpet2").unwrap()).is_err());
        let (matrix, tallies) = placeholder(reduced()).unwrap();
        assert!(matrix.validate(reduced()).is_ok() && tallies < MAX_TALLY_BYTES);
    }
}
