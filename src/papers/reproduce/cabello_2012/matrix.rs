//! The system matrices: made or read, and their sizes as a table (section 2).

use std::time::Instant;

use super::Context;
use super::published::matrix as published;
use super::stages::Work;
use crate::data::{BasisKind, MatrixMade, ResponseMatrix};
use crate::io::saved_matrix::{read_matrix, write_matrix};
use crate::plan::{crystal_pairs, make_matrix};
use crate::reproduce::prelude::*;

/// Size of a matrix, and its simulation.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct MatrixFigures {
    pub num_lors: usize,
    pub num_basic: usize,
    pub num_symmetries: usize,
    pub num_elements: usize,
    /// Bytes of the elements and of the beginnings of the lines.
    pub num_bytes: u64,
    pub made: Option<MatrixMade>,
    /// Device and duration of the simulation; `None` if the file existed.
    pub device: Option<String>,
    pub secs: Option<f64>,
}

impl Context {
    /// Returns the matrix of a kind of functions: reads it from the folder, or simulates and stores it.
    pub fn matrix(&self, kind: BasisKind) -> Result<Arc<ResponseMatrix>, ReproduceError> {
        self.cache.matrix.only(kind, || {
            let (ring, recipe, key) = (self.plan.ring()?, self.plan.recipe(kind)?, Work::Matrix(kind).key());
            let path = self.folder.path(&format!("{key}.matrix"));
            let (matrix, simulated) = if path.is_file() {
                let matrix = read_matrix(&path)?;
                if (&matrix.scanner, matrix.basis) != (&ring.name, recipe.basis) {
                    return Err(ReproduceError::OtherMatrix(path));
                }
                (matrix, None)
            } else {
                let begin = Instant::now();
                let made = make_matrix(ring, &recipe, self.device, &Task::new())?;
                let secs = begin.elapsed().as_secs_f64();
                write_matrix(&path, &made.result)?;
                (made.result, Some((made.device, secs)))
            };
            if simulated.is_some() || !self.folder.has(&key) {
                let (num_lors, num_elements) = (matrix.first.len() - 1, matrix.elements.len());
                let (device, secs) = simulated.unzip();
                let figures = MatrixFigures {
                    num_lors,
                    num_basic: matrix.num_basic,
                    num_symmetries: crystal_pairs(ring, kind)?.num_symmetries(),
                    num_elements,
                    num_bytes: 4 * (num_elements + num_lors) as u64,
                    made: matrix.made,
                    device,
                    secs,
                };
                self.folder.store(&key, &figures)?;
            }
            Ok(Arc::new(matrix))
        })
    }
}

pub fn add(context: &Context, tables: &mut Tables) -> Result<(), ReproduceError> {
    let Some(matrix) = &context.load::<MatrixFigures>(&Work::Matrix(BasisKind::Blobs))? else { return Ok(()) };
    let cubes: Option<MatrixFigures> = context.load(&Work::Matrix(BasisKind::Cubic))?;
    let value = |row: &str, paper: Option<f64>, of: &dyn Fn(&MatrixFigures) -> Option<f64>, digits| {
        let cell = |column: &str, here| Value { digits, ..Value::new("matrix", row, column, "").here(here) };
        let of_cubes = cubes.as_ref().map(|cubes| cell("cubes", of(cubes)));
        [cell("blobs", of(matrix)).paper(paper)].into_iter().chain(of_cubes)
    };
    let made = |of: fn(&MatrixMade) -> f64| move |matrix: &MatrixFigures| matrix.made.as_ref().map(of);
    let gb = |matrix: &MatrixFigures| Some(matrix.num_bytes as f64 * 1e-9);
    let mut values: Vec<Value> = [
        value("symmetries", Some(published::NUM_SYMMETRIES), &|matrix| Some(matrix.num_symmetries as f64), Some(0)),
        value("lines of response", Some(published::NUM_LORS), &|matrix| Some(matrix.num_lors as f64), Some(0)),
        value("basic functions", Some(published::NUM_BASIC), &|matrix| Some(matrix.num_basic as f64), Some(0)),
        value("elements above 0", Some(published::NUM_ELEMENTS), &|matrix| Some(matrix.num_elements as f64), Some(0)),
        value("size, GB", Some(published::GB), &gb, None),
        value("decays, into all directions", Some(published::NUM_DECAYS), &made(|made| made.num_decays), Some(0)),
        value("decays that were followed", None, &made(|made| made.num_histories as f64), Some(0)),
        value("decays that are counted, %", None, &made(|made| made.counted_percent), None),
        value("rejected as multiple, %", None, &made(|made| made.multiple_percent), None),
        value("counts behind an element", None, &made(|made| made.effective_counts), None),
        value("time to simulate it, s", None, &|matrix| matrix.secs, None),
    ]
    .into_iter()
    .flatten()
    .collect();
    // Number of elements of each kind if the other symmetries gave their images.
    let of_eight = gb(matrix).map(|gb| gb * matrix.num_symmetries as f64 / published::FEWER_SYMMETRIES);
    let value = Value::new("matrix", "size of the blobs' with eight symmetries, GB", "blobs", "").here(of_eight);
    values.push(Value { mark: "*", ..value.paper(published::GB_OF_EIGHT) });
    let mut remarks = vec![
        "The paper's numbers do not go together; here decays are followed until there are as many elements. Counts behind an element: the mean of (sum of weights)^2 / sum of their squares.".to_owned(),
        "* Calculated from the symmetries. The value of cubes is measured, with its own number of decays.".to_owned(),
    ];
    if let Some(device) = &matrix.device {
        remarks.push(format!("Simulated on {device}; 200 jobs of 12 hours in the paper."));
    }
    tables.add("Section 2. The system matrix", values, remarks);
    Ok(())
}
