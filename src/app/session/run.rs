//! Run on the solver thread: an algorithm with its thread pool and progress.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use rayon::ThreadPool;

use super::oximetry::Redraw;
use super::stop_rule::StopWatch;
use super::{EndReason, OxygenImages, OxygenUpdate, RoiSet, RunId, Setup};
use crate::algebra::PendingVolume;
use crate::coded::Problem;
use crate::data::{IterateId, Notice, RoiMask, RoiSums, Volume};
use crate::geometry::Grid;
use crate::measure::oximetry::{OximetryError, OxygenMaps};
use crate::measure::{DeviationImage, deviations_of_means};
use crate::operator::{Accumulation, OperatorError};
use crate::plan::{Acquisition, IterationScheme, Job, ListAcquisition, Prepared, SetupError, SetupProblem, StartInfo};
use crate::recon::{
    Algorithm, AscentTuning, DataResidual, Explained, Optimality, OxygenResult, ReconError, SettingsProblem, StepReport,
    gaussian_filter,
};
use crate::task::Task;

/// Reason of incomplete work on a run.
pub(super) enum Failure {
    /// Stop by the user.
    Stopped,
    Problem(Problem),
    /// Panic, which leaves the algorithm in an undefined state.
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

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Running,
    Paused,
    /// Ended, but it can still be measured or continued.
    Ended(EndReason),
}

/// Algorithm with its state.
pub(super) struct Run {
    pub id: RunId,
    pub state: State,
    pub grid: Grid,
    pub course: IterationScheme,
    /// Number of full iterations to reach.
    pub target: usize,
    /// Number of completed full iterations.
    pub iteration: usize,
    /// Total number of steps.
    pub subiteration: usize,
    pub num_subsets: usize,
    /// Step of the image published last.
    pub published: Option<usize>,
    /// Step of the image stored last.
    pub stored: usize,
    pub completes_iteration: bool,
    /// Log-likelihood of the completed subsets of the current iteration.
    log_likelihood: f64,
    /// Residual of the same subsets.
    residual: DataResidual,
    /// Time of the steps with their measurements.
    pub elapsed: Duration,
    /// True after a warning about bins that the model cannot explain.
    pub has_reported_impossible: bool,
    /// True after a warning about limited ratios.
    pub has_reported_limited: bool,
    /// True after a notice of halved steps.
    pub has_reported_halved: bool,
    /// True after a warning about the explained part of the data.
    pub has_reported_explained: bool,
    /// Part of the data that the image explains, if known.
    pub explained: Option<Explained>,
    /// True if the last step climbed a penalised likelihood.
    pub is_penalised: bool,
    /// True if the last step had a race.
    pub has_race: bool,
    pub rois: RoiSet,
    /// Figures of the maps of oxygen of the images so far.
    pub oxygen: Option<OxygenUpdate>,
    pub oxygen_images: Option<OxygenImages>,
    pub stop_watch: StopWatch,
    algorithm: Box<dyn Algorithm>,
    pool: Arc<ThreadPool>,
    task: Task,
    /// The job, of pulse oximetry.
    oximetry: Option<Job>,
    /// The job, of projection data.
    counts: Option<Job>,
    /// Source of further projections.
    acquisition: Option<Acquisition>,
    /// Number of projections that the algorithm has received.
    num_received: usize,
    /// Source of further events.
    growing_list: Option<ListAcquisition>,
}

impl Run {
    /// Makes the algorithm of a job.
    pub fn set_up(
        id: RunId,
        task: Task,
        pool: Arc<ThreadPool>,
        setup: &mut Setup,
        job: &Job,
        rois: RoiSet,
    ) -> Result<(Self, StartInfo, Vec<Notice>), Failure> {
        let Prepared { algorithm, info, notices, num_taken: num_received } = guarded(&pool, || setup(job, &task))?;
        let mut run = Self {
            id,
            state: State::Paused,
            grid: info.job.grid().clone(),
            course: info.job.iteration_scheme(),
            target: info.job.num_iterations(),
            iteration: 0,
            subiteration: 0,
            num_subsets: info.num_subsets,
            published: None,
            stored: 0,
            completes_iteration: false,
            log_likelihood: 0.0,
            residual: DataResidual::default(),
            elapsed: Duration::ZERO,
            has_reported_impossible: false,
            has_reported_limited: false,
            has_reported_halved: false,
            has_reported_explained: false,
            explained: None,
            is_penalised: false,
            has_race: false,
            rois: RoiSet::default(),
            oxygen: None,
            oxygen_images: None,
            stop_watch: StopWatch::default(),
            algorithm,
            pool,
            task,
            oximetry: info.job.data().oximetry().map(|_| info.job.clone()),
            counts: info.job.data().counts().map(|_| info.job.clone()),
            acquisition: info.job.data().sweep().cloned(),
            num_received,
            growing_list: info.job.data().growing_list().cloned(),
        };
        run.set_rois(rois)?;
        // A list that is complete by now reports no further events.
        run.end_with_list();
        Ok((run, info, notices))
    }

    /// Returns the numbers of the current image.
    pub fn iterate(&self) -> IterateId {
        IterateId { run: self.id, iteration: self.iteration, subiteration: self.subiteration }
    }

    pub fn is_running(&self) -> bool {
        self.state == State::Running
    }

    /// Returns true if the run waits for data.
    pub fn is_waiting(&self) -> bool {
        self.iteration < self.target && self.algorithm.is_waiting()
    }

    /// Returns true if the algorithm can do no further step.
    pub fn is_exhausted(&self) -> bool {
        self.algorithm.is_waiting()
    }

    /// Returns why no further step changes the image, if none does.
    pub fn converged(&self) -> Option<String> {
        self.algorithm.converged()
    }

    /// Returns why the image is far from a converged one, if it is.
    pub fn unconverged(&self) -> Option<String> {
        self.algorithm.unconverged()
    }

    /// Passes new data to the algorithm.
    pub fn receive_data(&mut self) -> Result<(), Failure> {
        self.end_with_list();
        let Some(acquisition) = &self.acquisition else { return Ok(()) };
        let (projections, is_over) = acquisition.since(self.num_received);
        self.num_received += projections.len();
        self.guarded(|algorithm, _| algorithm.append(projections, is_over))?;
        if !is_over {
            return Ok(());
        }
        self.acquisition = None;
        if self.num_received == 0 {
            return Err(SetupError::from(SetupProblem::NoProjections).into());
        }
        // If the image has all projections, no step remains that could complete it.
        if self.algorithm.is_waiting() {
            self.iteration = self.target;
        }
        Ok(())
    }

    /// Ends the run of a growing list that is complete: the whole list is reconstructed then. (The algorithm fetches events.)
    fn end_with_list(&mut self) {
        if self.growing_list.as_ref().is_some_and(ListAcquisition::is_over) {
            self.iteration = self.target;
        }
    }

    /// Does one step of the algorithm in the run's threads; `None` after a part of a step, which leaves the image as it was.
    pub fn step(&mut self) -> Result<Option<StepReport>, Failure> {
        if self.task.is_stopped() {
            return Err(Failure::Stopped);
        }
        let report = self.guarded(|algorithm, task| algorithm.step(task))?;
        if report.subiteration == self.subiteration {
            return Ok(None);
        }
        self.iteration = report.iteration;
        self.subiteration = report.subiteration;
        self.completes_iteration = report.completes_iteration;
        self.explained = report.em.and_then(|em| em.explained);
        self.has_race = report.em.is_some_and(|em| em.race.is_some());
        self.is_penalised = report.ascent.is_some();
        Ok(Some(report))
    }

    /// Computes the part of the data that the current image explains, unless the last step did.
    pub fn explain(&mut self) -> Result<(), Failure> {
        if self.explained.is_none() && self.subiteration > 0 && !self.task.is_stopped() {
            self.explained = self.guarded(|algorithm, task| algorithm.explained(task))?;
        }
        Ok(())
    }

    /// Computes the distance of the current image from the maximum of its objective, where the algorithm has one.
    pub fn optimality(&mut self) -> Result<Option<Optimality>, Failure> {
        if self.subiteration == 0 || self.task.is_stopped() {
            return Ok(None);
        }
        self.guarded(|algorithm, task| algorithm.optimality(task))
    }

    /// Returns the number of bins of a subset with counts that no image explains, since their factor and background are 0.
    pub fn num_without_factor(&self, subset: usize) -> usize {
        let counts = self.counts.as_ref().and_then(|job| job.data().counts());
        counts.map_or(0, |counts| counts.num_without_factor(subset, self.num_subsets))
    }

    /// Adds a step's term to the log-likelihood of its iteration, and returns the sum after the last step.
    pub fn add_term(&mut self, report: &StepReport) -> Option<f64> {
        self.log_likelihood += report.em?.log_likelihood?;
        report.completes_iteration.then(|| std::mem::take(&mut self.log_likelihood))
    }

    /// Adds a step's residual to that of its iteration, and returns the ratio after the last step.
    pub fn add_residual(&mut self, report: &StepReport) -> Option<f64> {
        self.residual += report.em?.residual?;
        if report.completes_iteration { std::mem::take(&mut self.residual).ratio() } else { None }
    }

    /// Returns the sums of each ROI on the current image.
    pub fn measure(&mut self) -> Result<Vec<RoiSums>, Failure> {
        self.guarded(|algorithm, _| algorithm.roi_sums())
    }

    /// Returns the standard deviation of the mean of each ROI between the replicates; empty without replicates.
    pub fn measure_deviations(&mut self) -> Result<Vec<Option<f64>>, Failure> {
        let sums = self.guarded(|algorithm, _| algorithm.replicate_sums())?;
        Ok(deviations_of_means(&sums))
    }

    /// Returns the standard deviation of each voxel between the replicates, each filtered by a Gaussian of this width, mm; `None`
    /// without replicates.
    pub fn deviation_image(&mut self, post_filter_fwhm_mm: Option<f64>) -> Result<Option<Volume>, Failure> {
        let (grid, unit) = (self.grid.clone(), self.course.unit);
        self.guarded(|algorithm, _| {
            let num = algorithm.num_replicates();
            let mut volume = Volume { unit, ..Volume::filled(grid, 0.0) };
            let mut sums = DeviationImage::new(volume.as_slice().len());
            for replicate in 0..num {
                algorithm.replicate_into(replicate, &mut volume)?;
                match post_filter_fwhm_mm {
                    Some(fwhm_mm) => sums.add(&gaussian_filter(&volume, fwhm_mm)),
                    None => sums.add(&volume),
                }
            }
            sums.write(&mut volume);
            Ok::<_, ReconError>((num > 0).then_some(volume))
        })
    }

    /// Fits the oxygen of the images so far; of other algorithms nothing. After the last image it returns the needs of draws of the noise,
    /// and a warning about images that do not follow the model.
    pub fn fit_oxygen(&mut self) -> Result<(Option<Redraw>, Option<Notice>), Failure> {
        let found = self.guarded(|algorithm, task| Ok::<_, Failure>(algorithm.oxygen(task)))?;
        let Some(OxygenResult { images, iterations, maps }) = found else { return Ok((None, None)) };
        let doubt = maps.as_ref().ok().filter(|_| self.is_exhausted()).and_then(OxygenMaps::doubt);
        let redraw = maps.as_ref().ok().filter(|_| self.is_exhausted()).zip(self.oximetry.clone()).map(|(maps, job)| {
            let (maps, pool) = (maps.clone(), Arc::clone(&self.pool));
            Redraw { run: self.id, job, images, maps, pool }
        });
        let maps = match maps {
            Err(OximetryError::Stopped(_)) => return Err(Failure::Stopped),
            maps => maps.map_err(reason_of_none),
        };
        let counts = maps.as_ref().map(|maps| maps.counts).map_err(String::clone);
        self.oxygen_images = maps.ok().map(OxygenImages::from);
        let images = self.oxygen_images.as_ref();
        let update = OxygenUpdate::new((self.subiteration, iterations), counts, images);
        self.oxygen = Some(update.measured(images, self.rois.branch, &self.rois.rois.masks(&self.grid)));
        Ok((redraw, doubt.map(Notice::warning)))
    }

    /// Returns its regions with the number of their edit.
    pub fn regions(&self) -> (u64, Vec<RoiMask>) {
        (self.rois.branch, self.rois.rois.masks(&self.grid))
    }

    /// Returns the coupled images: one of each radical, or of each sample of the spectra.
    pub fn coupled_images(&mut self) -> Result<Vec<Volume>, Failure> {
        let (grid, unit) = (self.grid.clone(), self.course.unit);
        self.guarded(|algorithm, _| {
            let empty = |_| Volume { unit, ..Volume::filled(grid.clone(), 0.0) };
            let mut volumes: Vec<Volume> = (0..algorithm.num_images()).map(empty).collect();
            algorithm.images_into(&mut volumes)?;
            Ok::<_, ReconError>(volumes)
        })
    }

    /// Begins to copy the current image from the device, if that is better than [`Run::read_volume`].
    pub fn begin_volume(&mut self) -> Result<Option<PendingVolume>, Failure> {
        self.guarded(|algorithm, _| algorithm.begin_volume())
    }

    /// Returns the current image in the unit of the run, if it is a volume that never changes.
    pub fn shared_volume(&self) -> Option<Arc<Volume>> {
        self.algorithm.shared_volume().filter(|volume| volume.unit == self.course.unit && volume.grid == self.grid)
    }

    /// Copies the current image.
    pub fn read_volume(&mut self, volume: &mut Volume) -> Result<(), Failure> {
        self.guarded(|algorithm, _| algorithm.volume_into(volume))
    }

    /// Measures these ROIs from now on.
    pub fn set_rois(&mut self, rois: RoiSet) -> Result<(), Failure> {
        let masks = rois.rois.masks(&self.grid);
        self.guarded(|algorithm, _| algorithm.set_rois(&masks))?;
        let images = self.oxygen_images.as_ref();
        self.oxygen = self.oxygen.take().map(|oxygen| oxygen.measured(images, rois.branch, &masks));
        self.rois = rois;
        Ok(())
    }

    /// Returns (iteration, subiteration, sums of each ROI) of the current image, unless the history stores it.
    pub fn measure_unstored(&mut self) -> Result<Option<(usize, usize, Vec<RoiSums>)>, Failure> {
        if self.subiteration == 0 || self.subiteration == self.stored {
            return Ok(None);
        }
        Ok(Some((self.iteration, self.subiteration, self.measure()?)))
    }

    /// Sets the accumulation of backprojections, from the next step on.
    ///
    /// # Errors
    /// The operator does not support it; the error is a sentence.
    pub fn set_accumulation(&mut self, accumulation: Accumulation) -> Result<(), String> {
        let known = self.algorithm.accumulations();
        if !known.contains(&accumulation) {
            let names: Vec<_> = known.iter().map(|a| a.name()).collect();
            return Err(format!("{accumulation} accumulation is not supported here; supported: {}", names.join(", ")));
        }
        self.algorithm.set_accumulation(accumulation);
        Ok(())
    }

    /// Sets penalty and step size, from the next step on.
    ///
    /// # Errors
    /// The algorithm has no such settings, or refuses them; the error is a sentence.
    pub fn set_tuning(&mut self, tuning: AscentTuning) -> Result<(), String> {
        let Some(before) = self.algorithm.tuning() else {
            return Err("only svrg, bsrem and tv have a strength that can change during a run; it stays as it is".into());
        };
        let AscentTuning { strength, gamma, step_factor } = tuning;
        if !(strength >= 0.0 && gamma >= 0.0 && step_factor > 0.0 && (strength + gamma + step_factor).is_finite()) {
            return Err(format!(
                "expected β and γ from 0 and a step size above 0, found {strength}, {gamma}, {step_factor}; they stay as they are"
            ));
        }
        self.algorithm.set_tuning(tuning);
        if self.algorithm.tuning() == Some(tuning) {
            return Ok(());
        }
        self.algorithm.set_tuning(before);
        Err(SettingsProblem::PenaltyWithoutVoxels.to_string())
    }

    /// Calls the algorithm in the run's threads.
    fn guarded<T: Send, E: Into<Failure> + Send>(
        &mut self,
        work: impl FnOnce(&mut dyn Algorithm, &Task) -> Result<T, E> + Send,
    ) -> Result<T, Failure> {
        let (algorithm, task) = (&mut *self.algorithm, &self.task);
        guarded(&self.pool, || work(algorithm, task))
    }
}

/// Does work in a pool's threads; a panic becomes a sentence.
fn guarded<T: Send, E: Into<Failure> + Send>(
    pool: &ThreadPool,
    work: impl FnOnce() -> Result<T, E> + Send,
) -> Result<T, Failure> {
    match catch_unwind(AssertUnwindSafe(|| pool.install(work))) {
        Ok(result) => result.map_err(Into::into),
        Err(panic) => Err(Failure::Panic(Problem::new("internal", panic_sentence(&*panic)))),
    }
}

pub(super) fn panic_sentence(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let text = text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "no message".into());
    format!(
        "internal error in the reconstruction ({text}); the last image stays on the screen. Please report it with the settings used"
    )
}

/// Returns the reason why images give no map, as a clause.
fn reason_of_none(error: OximetryError) -> String {
    match error {
        OximetryError::FewTimes { needed, .. } => format!("it begins with {needed} images"),
        error => error.to_string(),
    }
}
