//! Projection and backprojection with a stored matrix on so many threads.

use super::on_threads;
use crate::coded::Problem;
use crate::plan::{MatrixTimes, MatrixTiming, matrix_times};

/// Measures every way of a device; `num_threads` are those of the processor, `None` = all.
///
/// # Errors
/// A device that cannot be used, a step fails.
pub fn bench_matrix(timing: &MatrixTiming, num_threads: Option<usize>) -> Result<Vec<MatrixTimes>, Problem> {
    on_threads(num_threads, || Ok(matrix_times(timing)?))
}
