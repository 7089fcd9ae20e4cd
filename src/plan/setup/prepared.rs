//! What a set-up makes, and the checks that all kinds of data share.

use crate::data::{Notice, Volume};
use crate::geometry::Grid;
use crate::operator::Accumulation;
use crate::plan::error::SetupError;
use crate::plan::job::StartInfo;
use crate::plan::problem::SetupProblem;
use crate::recon::Algorithm;

/// An algorithm ready to step.
pub struct Prepared {
    /// The algorithm, at its start image.
    pub algorithm: Box<dyn Algorithm>,
    /// What it became.
    pub info: StartInfo,
    /// What the user should know.
    pub notices: Vec<Notice>,
    /// Projections of the job's acquisition that the algorithm has; 0 for counts.
    pub num_taken: usize,
}

/// That additions are lost, where they may be.
pub(in crate::plan) fn race_warning(accumulation: Accumulation) -> Option<Notice> {
    let text = format!("{accumulation} backprojection loses additions when threads meet: the image is not for diagnosis");
    accumulation.has_race().then(|| Notice::warning(text))
}

/// Refuses a start image on another grid than the reconstruction's.
pub(in crate::plan) fn check_start_image(init: Option<&Volume>, grid: &Grid) -> Result<(), SetupError> {
    match init.filter(|init| !init.grid.same_as(grid)) {
        None => Ok(()),
        Some(init) => {
            Err(SetupProblem::StartImage { found: Box::new(init.grid.clone()), expected: Box::new(grid.clone()) }.into())
        }
    }
}
