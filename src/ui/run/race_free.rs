//! How like its race-free image a race leaves the image: the correlation of both after the same number of iterations.
//!
//! The race-free images are those of the run before, if it lost nothing and had the same settings but for the way to add. The session
//! keeps them until a later run takes its place.

use std::sync::Arc;

use super::live::LiveRun;
use crate::measure::correlation;
use crate::plan::{Job, PairSettings, RunSettings};
use crate::session::{RunId, Session};

/// What a racy image is compared with, and the newest comparison.
#[derive(Default)]
pub struct RaceFree {
    /// The run without a race, and what it did.
    reference: Option<(RunId, Job)>,
    /// The newest image that was compared, as run and steps, and what came of it.
    newest: Option<((RunId, usize), Result<Likeness, String>)>,
}

/// How like its race-free image an image is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Likeness {
    /// Full iterations behind both images.
    pub iteration: usize,
    /// Their correlation over all voxels.
    pub correlation: f64,
}

impl RaceFree {
    /// A run is about to be followed by another: where it lost nothing its images are kept to compare with.
    pub fn follow(&mut self, live: &LiveRun, session: &Session) {
        let is_race_free = live.last.is_some() && live.race().is_empty();
        if let Some(info) = live.info.as_ref().filter(|_| is_race_free && live.course().by_iteration) {
            self.forget(session);
            session.keep(live.run);
            self.reference = Some((live.run, info.job.clone()));
        }
    }

    /// Nothing is compared any more.
    pub fn forget(&mut self, session: &Session) {
        if let Some((run, _)) = self.reference.take() {
            session.let_go(run);
        }
        self.newest = None;
    }

    /// Compares the newest image of a run that races, unless that was done.
    pub fn update(&mut self, live: &LiveRun, session: &Session) {
        if live.last.as_ref().is_none_or(|last| last.race.is_none()) {
            self.newest = None;
            return;
        }
        let kept = session.history(live.run);
        let Some(image) = kept.last().filter(|image| live.had_race(image.subiteration)) else { return };
        let at = (live.run, image.subiteration);
        if self.newest.as_ref().is_some_and(|(newest, _)| *newest == at) {
            return;
        }
        let outcome = match (&self.reference, &live.info) {
            (Some((run, job)), Some(info)) if is_alike(job, &info.job) => {
                let past = session.history(*run);
                let of_reference = past.iter().find(|other| other.subiteration == image.subiteration);
                let likeness = of_reference.and_then(|other| {
                    let correlation = correlation(image.volume.as_slice(), other.volume.as_slice())?;
                    Some(Likeness { iteration: image.iteration, correlation })
                });
                likeness.ok_or_else(|| format!("the race-free run before has no image of iteration {}", image.iteration))
            }
            (Some(_), _) => Err("the race-free run before had other settings".to_owned()),
            (None, _) => {
                Err("let a run without a race go as far first, then start again and switch: its images are kept to compare with"
                    .to_owned())
            }
        };
        self.newest = Some((at, outcome));
    }

    /// The newest comparison, or why there is none; `None` where there is no race.
    pub fn newest(&self) -> Option<&Result<Likeness, String>> {
        self.newest.as_ref().map(|(_, outcome)| outcome)
    }
}

/// Whether two runs differ in nothing but the way to add, where they compute and how long.
fn is_alike(one: &Job, other: &Job) -> bool {
    match (one, other) {
        (Job::Counts { study, settings }, Job::Counts { study: other_study, settings: other }) => {
            let same_tubes = match (&settings.tubes, &other.tubes) {
                (Some(one), Some(other)) => Arc::ptr_eq(one, other),
                (one, other) => one.is_none() && other.is_none(),
            };
            let comparable = |settings: &RunSettings| RunSettings {
                accumulation: None,
                device: other.device,
                num_iterations: 1,
                num_threads: None,
                racy_sensitivity: false,
                threads_per_block: None,
                tubes: None,
                ..settings.clone()
            };
            Arc::ptr_eq(study, other_study) && same_tubes && comparable(settings) == comparable(other)
        }
        (Job::Pairs { study, settings }, Job::Pairs { study: other_study, settings: other }) => {
            let parts = |settings: &PairSettings| (settings.matrix.as_ref().map(Arc::as_ptr), settings.grid.clone());
            Arc::ptr_eq(study, other_study) && parts(settings) == parts(other)
        }
        _ => false,
    }
}
