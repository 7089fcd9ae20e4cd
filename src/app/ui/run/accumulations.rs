//! Accumulations that a run supports.

use super::live::LiveRun;
use crate::operator::Accumulation;

/// Reason why there is nothing to choose for a sweep.
pub const GATHERED: &str = "Each voxel is computed by one thread: no two threads add to the same voxel, so accumulation has no race condition and no choice";

/// Returns the reason why a run does not support an accumulation; `None` if it does, or without a run.
pub fn why_not(live: &LiveRun, accumulation: Accumulation) -> Option<String> {
    let info = live.info.as_ref().filter(|info| live.has_next_step() && !info.accumulations.contains(&accumulation))?;
    let known: Vec<_> = info.accumulations.iter().map(|known| known.name()).collect();
    Some(format!("{} with {} cannot add in the {accumulation} way, only: {}", info.device, info.projector, known.join(", ")))
}
