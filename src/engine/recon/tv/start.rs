//! The start image: filtered backprojection, whose low frequencies are right. The steps find these slowly, above all of first derivatives.

use crate::algebra::Host;
use crate::data::{Sweep, Volume};
use crate::geometry::Grid;
use crate::operator::SingleStage;
use crate::recon::fbp::{Fbp, FbpSettings, FilterSettings};
use crate::recon::{Algorithm, ReconError};
use crate::task::Task;

/// Returns the image of projections by filtered backprojection with its default settings, `[z, y, x]`.
///
/// # Errors
/// Projections that filtered backprojection does not take, as under gradients of very different sizes; stopped.
pub(super) fn backprojected(sweep: &Sweep, grid: &Grid, task: &Task) -> Result<Vec<f32>, ReconError> {
    let settings =
        FbpSettings { filter: FilterSettings::for_sweep(sweep), block: sweep.projections.len().max(1), ..FbpSettings::default() };
    let mut fbp = Fbp::new(Host, SingleStage::new(grid.clone()), sweep, settings)?;
    fbp.step(task)?;
    let mut image = Volume::filled(grid.clone(), 0.0);
    fbp.volume_into(&mut image)?;
    Ok(image.as_slice().to_vec())
}
