//! Beams on a CUDA device (`kernels/events/event_beams.cu`).

use std::sync::Mutex;

use cudarc::driver::{CudaSlice, LaunchConfig};

use super::backend::CudaBackend;
use super::kernel::blocks;
use super::launches::event_beams::Kernels;
use crate::algebra::BackendError;
use crate::operator::{EventBeams, EventRays};

/// `WARP * EACH` of the kernels: events of a beam at most.
const MAX_EVENTS: usize = 128;
/// Most rows of voxels that the shared memory of a block has room for.
const MAX_ROWS: usize = 3000;
/// `WARP` and `WARPS` of the kernels.
const WARP: u32 = 32;
const WARPS: u32 = 4;

/// The beams of events in the order for a number of subsets.
pub(super) struct Beams {
    /// For most events of each beam, and for the rest: those whose weights are far below the largest of their beam.
    pub kernels: Kernels,
    /// For each beam whether it has events for the second kernel; none between two backprojections.
    pub rest: Mutex<CudaSlice<u32>>,
    /// The first event of each, counted from the first of its subset, and how many it has.
    pub table: CudaSlice<[u32; 2]>,
    pub beams: EventBeams,
}

impl Beams {
    /// Returns the beams of `pairs`, which are in the order of `num_subsets` subsets; `None` if they are too small, or with time
    /// of flight. All members of a group call it and have the same result: the image of all has the bits of one's.
    pub fn new(
        backend: &CudaBackend,
        rays: &EventRays,
        num_rows: usize,
        pairs: &[[u32; 2]],
        num_subsets: usize,
    ) -> Result<Option<Self>, BackendError> {
        if !rays.kernels().is_empty() || num_rows > MAX_ROWS {
            return Ok(None);
        }
        let beams = EventBeams::new(rays, pairs, num_subsets, MAX_EVENTS);
        if !EventBeams::are_large(backend.peers.group.sums([pairs.len() as f64, beams.rows.len() as f64])?, num_rows) {
            return Ok(None);
        }
        let kernels = Kernels::load(&backend.context)?;
        let rest = Mutex::new(backend.table(&vec![0; beams.rows.len()], 0)?);
        Ok(Some(Self { kernels, rest, table: backend.table(&beams.rows, [0; 2])?, beams }))
    }
}

/// Returns the shape of a launch for a number of beams and of rows of voxels.
pub(super) fn shape(num_beams: usize, num_rows: i32) -> LaunchConfig {
    let shared_mem_bytes = WARPS * (num_rows as u32 + 2) * size_of::<i32>() as u32;
    LaunchConfig { grid_dim: (blocks(num_beams, WARPS), 1, 1), block_dim: (WARPS * WARP, 1, 1), shared_mem_bytes }
}
