//! One run on the solver thread: an algorithm with the threads that it works in, and how far it is.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use rayon::ThreadPool;

use super::stop_rule::StopWatch;
use super::{EndReason, RoiSet, RunId, Setup};
use crate::algebra::PendingVolume;
use crate::coded::Problem;
use crate::data::{Notice, RoiSums, Volume};
use crate::geometry::Grid;
use crate::operator::{Accumulation, OperatorError};
use crate::plan::{Acquisition, IterationScheme, Job, ListAcquisition, Prepared, SetupError, SetupProblem, StartInfo};
use crate::recon::{Algorithm, DataResidual, Explained, ReconError, StepReport};
use crate::task::Task;

/// Why work on a run was not completed.
pub(super) enum Failure {
    /// It was stopped.
    Stopped,
    /// A problem for the user.
    Problem(Problem),
    /// The same about a panic, which leaves the algorithm in any state.
    Panic(Problem),
}

impl From<ReconError> for Failure {
    fn from(error: ReconError) -> Self {
        match error {
            ReconError::Operator(OperatorError::Stopped(_)) => Failure::Stopped,
            error => Failure::Problem(error.into()),
        }
    }
}

impl From<SetupError> for Failure {
    fn from(error: SetupError) -> Self {
        match error {
            SetupError::Recon(error) => error.into(),
            error => Failure::Problem(error.into()),
        }
    }
}

/// What a run is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Running,
    Paused,
    /// Over, but still there to be measured or continued.
    Ended(EndReason),
}

/// An algorithm on its way.
pub(super) struct Run {
    pub id: RunId,
    pub state: State,
    pub grid: Grid,
    pub course: IterationScheme,
    /// Full iterations to reach.
    pub target: usize,
    /// Full iterations complete.
    pub iteration: usize,
    /// Steps done in all.
    pub subiteration: usize,
    /// Step whose image was published last.
    pub published: Option<usize>,
    /// Step whose image the history was given last.
    pub kept: usize,
    /// Whether the image is that of a full iteration.
    pub completes_iteration: bool,
    /// Log-likelihood of the subsets done of the iteration that is under way, and how far their data are from it.
    log_likelihood: f64,
    residual: DataResidual,
    /// Time spent on steps and what follows them.
    pub elapsed: Duration,
    /// Whether the user knows of bins that the model cannot explain, of limited ratios, of an image that lacks data.
    pub impossible_told: bool,
    pub limited_told: bool,
    pub explained_told: bool,
    /// How much of the data the image explains, once that is known of it.
    pub explained: Option<Explained>,
    /// Whether the last step had a race.
    pub has_race: bool,
    pub rois: RoiSet,
    pub stop_watch: StopWatch,
    algorithm: Box<dyn Algorithm>,
    pool: Arc<ThreadPool>,
    task: Task,
    /// Where further projections come from, and how many of them the algorithm has taken.
    acquisition: Option<Acquisition>,
    num_taken: usize,
    /// What further events are added to.
    arriving: Option<ListAcquisition>,
}

impl Run {
    /// Makes the algorithm that the settings ask for.
    pub fn set_up(
        id: RunId,
        task: Task,
        pool: Arc<ThreadPool>,
        setup: &mut Setup,
        job: &Job,
        rois: RoiSet,
    ) -> Result<(Self, StartInfo, Vec<Notice>), Failure> {
        let Prepared { algorithm, info, notices, num_taken } = guarded(&pool, || setup(job, &task))?;
        let mut run = Self {
            id,
            state: State::Paused,
            grid: info.job.grid().clone(),
            course: info.job.course(),
            target: info.job.num_iterations(),
            iteration: 0,
            subiteration: 0,
            published: None,
            kept: 0,
            completes_iteration: false,
            log_likelihood: 0.0,
            residual: DataResidual::default(),
            elapsed: Duration::ZERO,
            impossible_told: false,
            limited_told: false,
            explained_told: false,
            explained: None,
            has_race: false,
            rois: RoiSet::default(),
            stop_watch: StopWatch::default(),
            algorithm,
            pool,
            task,
            acquisition: info.job.data().sweep().cloned(),
            num_taken,
            arriving: info.job.data().growing_list().cloned(),
        };
        run.set_rois(rois)?;
        // Events that have all arrived by now are told of no more.
        run.end_with_list();
        Ok((run, info, notices))
    }

    pub fn is_running(&self) -> bool {
        self.state == State::Running
    }

    /// Whether nothing can be done before more data come.
    pub fn is_waiting(&self) -> bool {
        self.iteration < self.target && self.algorithm.is_waiting()
    }

    /// Whether the algorithm has nothing left to do, whatever it is asked for.
    pub fn is_exhausted(&self) -> bool {
        self.algorithm.is_waiting()
    }

    /// Hands the algorithm what has arrived meanwhile.
    pub fn take_in(&mut self) -> Result<(), Failure> {
        self.end_with_list();
        let Some(acquisition) = &self.acquisition else { return Ok(()) };
        let (projections, is_over) = acquisition.since(self.num_taken);
        self.num_taken += projections.len();
        let algorithm = &mut self.algorithm;
        guarded(&self.pool, || algorithm.append(projections, is_over))?;
        if !is_over {
            return Ok(());
        }
        self.acquisition = None;
        if self.num_taken == 0 {
            return Err(SetupError::from(SetupProblem::NoProjections).into());
        }
        // Where everything is in the image already no step is left that could complete it.
        if self.algorithm.is_waiting() {
            self.iteration = self.target;
        }
        Ok(())
    }

    /// Leaves nothing to do when no further events arrive: the whole list is then to be reconstructed. (The algorithm looks for
    /// events itself.)
    fn end_with_list(&mut self) {
        if self.arriving.as_ref().is_some_and(ListAcquisition::is_over) {
            self.iteration = self.target;
        }
    }

    /// One step of the algorithm in the run's threads.
    pub fn step(&mut self) -> Result<StepReport, Failure> {
        if self.task.is_stopped() {
            return Err(Failure::Stopped);
        }
        let (algorithm, task) = (&mut self.algorithm, &self.task);
        let report = guarded(&self.pool, || algorithm.step(task))?;
        self.iteration = report.iteration;
        self.subiteration = report.subiteration;
        self.completes_iteration = report.completes_iteration;
        self.explained = report.explained;
        self.has_race = report.race.is_some();
        Ok(report)
    }

    /// Finds how much of the data the current image explains, where the last step left that open.
    pub fn explain(&mut self) -> Result<(), Failure> {
        if self.explained.is_none() && self.subiteration > 0 && !self.task.is_stopped() {
            let (algorithm, task) = (&mut self.algorithm, &self.task);
            self.explained = guarded(&self.pool, || algorithm.explained(task))?;
        }
        Ok(())
    }

    /// Adds a step's term to the log-likelihood of its iteration; what that is, if the step completes it.
    pub fn add_term(&mut self, report: &StepReport) -> Option<f64> {
        self.log_likelihood += report.log_likelihood?;
        report.completes_iteration.then(|| std::mem::take(&mut self.log_likelihood))
    }

    /// The same for how far the data are from what is expected.
    pub fn add_residual(&mut self, report: &StepReport) -> Option<f64> {
        self.residual += report.residual?;
        if report.completes_iteration { std::mem::take(&mut self.residual).ratio() } else { None }
    }

    /// Sums of each ROI on the current image.
    pub fn measure(&mut self) -> Result<Vec<RoiSums>, Failure> {
        let algorithm = &mut self.algorithm;
        guarded(&self.pool, || algorithm.roi_sums())
    }

    /// Begins to copy the current image from the device, where that is better than [`Run::read_volume`].
    pub fn begin_volume(&mut self) -> Result<Option<PendingVolume>, Failure> {
        let algorithm = &mut self.algorithm;
        guarded(&self.pool, || algorithm.begin_volume())
    }

    /// Copies the current image.
    pub fn read_volume(&mut self, volume: &mut Volume) -> Result<(), Failure> {
        let algorithm = &mut self.algorithm;
        guarded(&self.pool, || algorithm.volume_into(volume))
    }

    /// Measures these ROIs from now on.
    pub fn set_rois(&mut self, rois: RoiSet) -> Result<(), Failure> {
        let masks = rois.rois.masks(&self.grid);
        let algorithm = &mut self.algorithm;
        guarded(&self.pool, || algorithm.set_rois(&masks))?;
        self.rois = rois;
        Ok(())
    }

    /// (iteration, subiteration, sums of each ROI) of the current image, unless the history was given it.
    pub fn measure_unkept(&mut self) -> Result<Option<(usize, usize, Vec<RoiSums>)>, Failure> {
        if self.subiteration == 0 || self.subiteration == self.kept {
            return Ok(None);
        }
        Ok(Some((self.iteration, self.subiteration, self.measure()?)))
    }

    /// Sets how backprojections add, from the next step on.
    ///
    /// # Errors
    /// The operator cannot add in this way; the error is a sentence.
    pub fn set_accumulation(&mut self, accumulation: Accumulation) -> Result<(), String> {
        let known = self.algorithm.accumulations();
        if !known.contains(&accumulation) {
            let names: Vec<_> = known.iter().map(|a| a.name()).collect();
            return Err(format!("{accumulation} accumulation is not supported here; supported: {}", names.join(", ")));
        }
        self.algorithm.set_accumulation(accumulation);
        Ok(())
    }
}

/// Does work in the run's threads; a panic in it becomes a sentence.
fn guarded<T: Send, E: Into<Failure> + Send>(
    pool: &ThreadPool,
    work: impl FnOnce() -> Result<T, E> + Send,
) -> Result<T, Failure> {
    match catch_unwind(AssertUnwindSafe(|| pool.install(work))) {
        Ok(result) => result.map_err(Into::into),
        Err(panic) => Err(Failure::Panic(Problem::new("internal", panic_sentence(&*panic)))),
    }
}

/// What to tell about a panic.
pub(super) fn panic_sentence(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let text = text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "no message".into());
    format!(
        "internal error in the reconstruction ({text}); the last image stays on the screen. Please report it with the settings used"
    )
}
