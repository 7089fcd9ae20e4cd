//! Images for tests.

use std::sync::Arc;

use crate::data::{IterateId, Volume};
use crate::geometry::Grid;
use crate::session::history::StoredIterate;

/// Returns an image of these values after this number of iterations of two steps.
pub fn image(iteration: usize, values: [f32; 3], voxel_mm: f64) -> StoredIterate {
    let mut volume = Volume::filled(Grid::centred([3, 1, 1], [voxel_mm; 3]).unwrap(), 0.0);
    volume.as_mut_slice().copy_from_slice(&values);
    let id = IterateId { run: 1, iteration, subiteration: 2 * iteration };
    StoredIterate { id, extremes: volume.extremes(), volume: Arc::new(volume) }
}
