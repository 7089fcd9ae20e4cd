//! How like its race-free image a race leaves the image: the correlation with that of the reference run after as many iterations, where
//! that run lost nothing.

use super::live::LiveRun;
use super::reference::Reference;
use crate::session::RunId;

/// How like a race-free image an image is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Similarity {
    /// The number of the run that made the race-free one.
    pub reference: RunId,
    /// Full iterations behind both.
    pub iteration: usize,
    /// Their correlation over all voxels.
    pub correlation: f64,
}

/// How like the reference's the newest image of a race is, or why that is not known, as a sentence; `None` without a race.
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
    let newest = live.comparisons.values().next_back().filter(|newest| live.had_race(newest.subiteration));
    let newest = newest.ok_or_else(|| format!("no image of this run was compared with one of run {run} yet"))?;
    if !newest.is_of_same_number() {
        return Err(format!("run {run}, the reference, has no image of iteration {}", newest.iteration));
    }
    Ok(Similarity { reference: run, iteration: newest.iteration, correlation: newest.correlation })
}
