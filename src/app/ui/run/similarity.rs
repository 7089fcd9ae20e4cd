//! Similarity of an image with a race condition to the race-free image: their correlation after the same number of iterations.

use super::live::LiveRun;
use super::reference::Reference;
use crate::session::RunId;

/// Similarity of an image to the race-free one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Similarity {
    /// The number of the run that made the race-free one.
    pub reference: RunId,
    /// Full iterations behind both.
    pub iteration: usize,
    /// Their correlation over all voxels.
    pub correlation: f64,
}

/// Returns the similarity of the newest image to that of the reference, or the reason that it is unknown as a sentence; `None`
/// for race-free accumulation.
pub fn likeness(live: &LiveRun, reference: Option<&Reference>) -> Option<Result<Similarity, String>> {
    live.last.as_ref()?.race?;
    Some(compared(live, reference))
}

fn compared(live: &LiveRun, reference: Option<&Reference>) -> Result<Similarity, String> {
    let Some(reference) = reference else {
        return Err(
            "complete an atomic run of the same length first, switch and press Restart: its images are then the reference".into(),
        );
    };
    let (run, has_race) = (reference.run_number, reference.has_race);
    if reference.run() == live.run {
        return Err("this run is the reference itself: press Restart to compare the next one with it".into());
    }
    if reference.subiteration.is_some() {
        return Err(format!("the reference is one image, {}: choose a whole run under Compare", reference.text()));
    }
    if has_race {
        return Err(format!("run {run}, the reference, had a race itself: choose another one under Compare"));
    }
    let newest = live.found.comparisons.values().next_back().filter(|newest| live.race_at(newest.subiteration).is_some());
    let newest = newest.ok_or_else(|| format!("no image of this run was compared with one of run {run} yet"))?;
    if !newest.is_of_same_number() {
        return Err(format!("run {run}, the reference, has no image of iteration {}", newest.iteration));
    }
    Ok(Similarity { reference: run, iteration: newest.iteration, correlation: newest.correlation })
}
