//! Solver thread: handles commands and steps the algorithm. After each step it measures the ROIs on this iterate, then passes
//! the image to the publisher, then the event. It sleeps while idle or paused.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Instant;

use crossbeam_channel::Receiver;

use super::history::History;
use super::measurements::{Answer, RegionSums, RoiSet};
use super::outgoing::{Image, Outgoing, Parcel};
use super::oximetry::Redrawer;
use super::publisher::Publisher;
use super::run::{Failure, Run, State};
use super::threads::Threads;
use super::transport::Message;
use super::{
    Command, Control, EndReason, Event, EventKind, IterateReport, RunId, SessionOptions, Setup, StopRule, Volumes, VolumesOf,
};
use crate::coded::Problem;
use crate::data::{MaskedRois, Notice};
use crate::operator::Accumulation;
use crate::plan::{IterationScheme, Job};
use crate::recon::{AscentTuning, Explained, Optimality, Stage, StepReport};
use crate::task::Task;
use crate::text::counted;

/// State of the solver thread.
pub(super) struct Solver {
    setup: Setup,
    options: SessionOptions,
    inbox: Receiver<Message>,
    waiting: VecDeque<Message>,
    /// Draws of the noise of a finished run. (Before the publisher, whose end waits for all senders of events.)
    redrawer: Option<Redrawer>,
    publisher: Publisher,
    history: History,
    threads: Threads,
    stop_rules: Vec<StopRule>,
    run: Option<Run>,
}

impl Solver {
    pub fn new(setup: Setup, options: SessionOptions, inbox: Receiver<Message>, publisher: Publisher, history: History) -> Self {
        let threads = Threads::new(options.lower_priority);
        let (waiting, stop_rules) = (VecDeque::new(), Vec::new());
        Self { setup, options, inbox, waiting, redrawer: None, publisher, history, threads, stop_rules, run: None }
    }

    /// Runs until `Quit` is received or the handle is dropped.
    pub fn run(mut self) {
        if self.options.lower_priority {
            super::threads::lower_priority();
        }
        loop {
            self.waiting.extend(self.inbox.try_iter());
            let running = self.run.as_ref().is_some_and(|run| run.is_running() && !run.is_waiting());
            let message = match self.waiting.pop_front() {
                Some(message) => message,
                None if running => {
                    self.advance();
                    continue;
                }
                None => match self.inbox.recv() {
                    Ok(message) => message,
                    Err(_) => return,
                },
            };
            if matches!(message.command, Command::Quit) {
                return;
            }
            self.handle_message(message);
        }
    }

    fn handle_message(&mut self, message: Message) {
        let is_edit = |command: &Command| matches!(command, Command::Control(Control::SetRois(_)));
        match message.command {
            Command::Start { job, rois, paused } => {
                self.end(EndReason::Cancelled);
                self.begin(message.run, message.task, &job, rois, paused);
            }
            // Edits of a dragged ROI arrive faster than they can be measured: only the last of a series counts.
            command if is_edit(&command) && self.waiting.front().is_some_and(|next| is_edit(&next.command)) => {}
            Command::Control(control) => self.control(control),
            Command::DataArrived => self.receive_data(),
            Command::Quit => {}
        }
    }

    fn control(&mut self, control: Control) {
        match control {
            Control::Pause => self.pause(),
            Control::Resume => self.resume(),
            Control::StepOnce => self.step_once(),
            Control::Stop => self.end(EndReason::Stopped),
            Control::Cancel => {
                self.redrawer = None;
                self.end(EndReason::Cancelled);
            }
            Control::SetAccumulation(accumulation) => self.set_accumulation(accumulation),
            Control::SetStopRules(rules) => self.set_stop_rules(rules),
            Control::SetIterations(target) => self.set_iterations(target),
            Control::SetTuning(tuning) => self.set_tuning(tuning),
            Control::ReadVolumes(of) => self.read_volumes(of),
            Control::SetRois(rois) => self.set_rois(rois),
            Control::RenameRois(rois) => self.rename_rois(rois.rois),
            // They are not for the solver.
            Control::Measure(..) | Control::ChangeHistory(_) => {}
        }
    }

    /// Sends an event of the current run and wakes the watcher.
    fn send(&self, kind: EventKind) {
        let Some(run) = &self.run else { return };
        self.publisher.send(Outgoing::Event(Event { run: run.id, kind }));
    }

    /// Sets up a run. A stopped set-up ends as cancelled, a failed one with its reason.
    fn begin(&mut self, id: RunId, task: Task, job: &Job, rois: RoiSet, paused: bool) {
        // The memory of the old run is freed before the new one is forecast.
        (self.run, self.redrawer) = (None, None);
        self.history.begin(id);
        let made = match self.threads.pool(job.settings.num_threads) {
            Ok(pool) => Run::set_up(id, task, pool, &mut self.setup, job, rois),
            Err(problem) => Err(Failure::Problem(problem)),
        };
        let (mut run, info, notices) = match made {
            Ok(made) => made,
            Err(failure) => {
                let kind = match failure {
                    Failure::Stopped => EventKind::Ended(EndReason::Cancelled),
                    Failure::Problem(problem) | Failure::Panic(problem) => EventKind::Failed(problem),
                };
                return self.publisher.send(Outgoing::Event(Event { run: id, kind }));
            }
        };
        run.state = if paused { State::Paused } else { State::Running };
        run.stop_watch.set(&self.stop_rules);
        self.run = Some(run);
        self.send(EventKind::Started(Box::new(info)));
        for notice in notices {
            self.send(EventKind::Notice(notice));
        }
        if paused {
            if self.publish_last() {
                self.send(EventKind::Paused);
            }
        } else if self.options.is_watched
            && let Err(failure) = self.publish()
        {
            self.end_failed(failure);
        }
        self.publisher.send(Outgoing::Wake);
    }

    /// Does one step of the current run with its consequences, or ends the run after its last step.
    fn advance(&mut self) {
        let Some(run) = &mut self.run else { return };
        if run.iteration >= run.target {
            return self.end(EndReason::Completed);
        }
        if let Some(problem) = self.publisher.failure() {
            return self.fail(problem);
        }
        let start = Instant::now();
        let followed = match run.step() {
            Ok(Some(report)) => self.follow_up(report, start),
            Ok(None) => {
                run.elapsed += start.elapsed();
                Ok(())
            }
            Err(failure) => Err(failure),
        };
        if let Err(failure) = followed {
            self.end_failed(failure);
        }
    }

    /// Measures, then publishes the image, then the event.
    fn follow_up(&mut self, report: StepReport, start: Instant) -> Result<(), Failure> {
        let Some(run) = &mut self.run else { return Ok(()) };
        let measure_start = Instant::now();
        let (roi_sums, roi_deviations) = (run.measure()?, run.measure_deviations()?);
        let mut stages = report.stages;
        stages[Stage::Measure] = measure_start.elapsed();
        let figures = [
            ("run", run.id as f64),
            ("iteration", report.iteration as f64),
            ("subiteration", report.subiteration as f64),
            ("step_secs", report.stages.total().as_secs_f64()),
            ("measure_secs", stages[Stage::Measure].as_secs_f64()),
        ];
        self.options.trace.record("iterate_measured", &figures);
        if self.is_wanted(&report) {
            self.publish()?;
        }
        let Some(run) = &mut self.run else { return Ok(()) };
        run.elapsed += start.elapsed();
        let em = report.em;
        let (log_likelihood, residual) = (run.add_term(&report), run.add_residual(&report));
        let iterate = IterateReport {
            iteration: report.iteration,
            subiteration: report.subiteration,
            subset: report.subset,
            completes_iteration: report.completes_iteration,
            log_likelihood_of_subset: em.and_then(|em| em.log_likelihood),
            log_likelihood,
            residual,
            explained: em.and_then(|em| em.explained),
            num_events: report.num_events,
            accumulation: em.map_or(Accumulation::Deterministic, |em| em.accumulation),
            race: em.and_then(|em| em.race),
            ascent: report.ascent,
            stages,
            elapsed: run.elapsed,
            branch: run.rois.branch,
            roi_sums,
            roi_deviations,
        };
        let [num_unexplained, num_limited] = em.map_or([0; 2], |em| [em.num_unexplained_bins, em.num_limited_bins]);
        let is_new_impossible = num_unexplained > 0 && !std::mem::replace(&mut run.has_reported_impossible, true);
        let is_new_limited = num_limited > 0 && !std::mem::replace(&mut run.has_reported_limited, true);
        let num_halved = report.ascent.map_or(0, |ascent| ascent.num_halved);
        let is_new_halved = num_halved > 0 && !std::mem::replace(&mut run.has_reported_halved, true);
        let (course, is_first_iteration) = (run.course, run.iteration == 0 || run.subiteration == 1);
        let num_subsets = run.num_subsets;
        let num_without_factor = if is_new_impossible { run.num_without_factor(report.subset) } else { 0 };
        let converged = run.converged().map(|text| format!("converged after iteration {}: {text}", report.iteration));
        let rule_met = run.stop_watch.add(&iterate, &run.rois.rois).or(converged);
        self.send(EventKind::Iterate(Box::new(iterate)));
        self.fit_oxygen()?;
        if is_new_impossible {
            let counts = [num_unexplained, num_without_factor];
            self.send(EventKind::Notice(impossible_bins(counts, course, is_first_iteration, num_subsets)));
        }
        if is_new_limited {
            self.send(EventKind::Notice(limited_bins(num_limited, course, num_subsets)));
        }
        if is_new_halved {
            self.send(EventKind::Notice(halved_steps(report.iteration - usize::from(report.completes_iteration))));
        }
        if let Some(text) = rule_met {
            self.send(EventKind::RuleMet(text));
            self.end(EndReason::Stopped);
        }
        Ok(())
    }

    /// Fits the oxygen of the images so far, and reports it; of other algorithms nothing.
    fn fit_oxygen(&mut self) -> Result<(), Failure> {
        let Some(run) = &mut self.run else { return Ok(()) };
        let start = Instant::now();
        let (redraw, doubt) = run.fit_oxygen()?;
        run.elapsed += start.elapsed();
        if let Some(images) = &run.oxygen_images {
            self.publisher.send_volumes(Volumes { id: run.iterate(), of: VolumesOf::Oxygen, volumes: images.volumes() });
        }
        self.report_oxygen();
        if let Some(doubt) = doubt {
            self.send(EventKind::Notice(doubt));
        }
        if let (Some(redraw), Some(run), Some(events)) = (redraw, &self.run, self.publisher.events()) {
            self.redrawer = Redrawer::start(redraw, run.regions(), events);
        }
        Ok(())
    }

    /// Reports the figures of the maps of oxygen, if there are some.
    fn report_oxygen(&self) {
        if let Some(oxygen) = self.run.as_ref().and_then(|run| run.oxygen.clone()) {
            self.send(EventKind::Oxygen(Box::new(oxygen)));
        }
    }

    /// Returns true if the image after a step is published. A full iteration (or a block of projections) is, if it is displayed
    /// or stored; it replaces an unread image. A subset iterate fills an empty channel, or replaces an image from before the
    /// first step of this run; the solver never waits for it.
    fn is_wanted(&self, report: &StepReport) -> bool {
        if report.completes_iteration || self.run.as_ref().is_some_and(|run| !run.course.by_iteration) {
            return self.options.is_watched || self.history.is_enabled();
        }
        let is_first = self.run.as_ref().and_then(|run| run.published).is_none_or(|last| last == 0);
        self.options.is_watched && (is_first || self.publisher.is_idle())
    }

    /// Publishes the current image; the history stores it if it completes an iteration. The back end continues during the
    /// copy where possible.
    fn publish(&mut self) -> Result<(), Failure> {
        let Some(run) = &mut self.run else { return Ok(()) };
        let slot = self.publisher.slot();
        let image = match (run.shared_volume(), run.begin_volume()?) {
            (Some(volume), _) => Image::Shared(volume),
            (None, Some(pending)) => Image::Pending(pending, run.grid.clone(), run.course.unit),
            (None, None) => {
                let start = Instant::now();
                let mut volume = self.publisher.buffer(&run.grid, run.course.unit);
                run.read_volume(&mut volume)?;
                Image::Filled(volume, start.elapsed())
            }
        };
        let is_milestone = run.completes_iteration || (!run.course.by_iteration && run.subiteration > 0);
        let is_stored = is_milestone && self.history.is_enabled() && run.stored != run.subiteration;
        if is_stored {
            run.stored = run.subiteration;
        }
        run.published = Some(run.subiteration);
        let parcel = Parcel { id: run.iterate(), is_stored, image, slot };
        self.publisher.send(Outgoing::Volume(Box::new(parcel)));
        Ok(())
    }

    /// Publishes the current image unless it was, and waits until it has arrived. Returns false after a failure.
    fn publish_last(&mut self) -> bool {
        let Some(run) = &self.run else { return false };
        let published = if run.published == Some(run.subiteration) { Ok(()) } else { self.publish() };
        match published.and_then(|()| self.arrived()) {
            Ok(()) => true,
            Err(failure) => {
                self.end_failed(failure);
                false
            }
        }
    }

    /// Waits until all images have arrived.
    fn arrived(&self) -> Result<(), Failure> {
        self.publisher.flush();
        self.publisher.failure().map_or(Ok(()), |problem| Err(Failure::Problem(problem)))
    }

    /// Pauses the run, or ends it if the step was its last.
    fn pause(&mut self) {
        let Some(run) = &mut self.run else { return };
        if !run.is_running() {
            return;
        }
        if run.iteration >= run.target {
            return self.end(EndReason::Completed);
        }
        run.state = State::Paused;
        if self.publish_last() {
            self.send(EventKind::Paused);
        }
    }

    fn resume(&mut self) {
        if let Some(run) = self.run.as_mut().filter(|run| run.state == State::Paused) {
            run.state = State::Running;
            self.send(EventKind::Resumed);
        }
    }

    /// Does one step for each command, then pauses. A completed or stopped run begins another iteration if necessary.
    fn step_once(&mut self) {
        let continues = |state: State| !matches!(state, State::Ended(EndReason::Cancelled));
        if let Some(run) = self.run.as_mut().filter(|run| continues(run.state) && !run.is_exhausted()) {
            if matches!(run.state, State::Ended(_)) {
                run.target = run.target.max(run.iteration + 1);
            }
            run.state = State::Running;
            let before = run.subiteration;
            // All parts of a step.
            while self.run.as_ref().is_some_and(|run| run.is_running() && run.subiteration == before) {
                self.advance();
            }
            self.pause();
        }
    }

    /// Ends a run that has not ended, after publishing its last image.
    fn end(&mut self, reason: EndReason) {
        let Some(run) = &mut self.run else { return };
        if matches!(run.state, State::Ended(_)) {
            return;
        }
        run.state = State::Ended(reason);
        if !self.publish_last() {
            return;
        }
        // If it is stopped meanwhile, or other processes have ended, the image is still good.
        if reason != EndReason::Cancelled
            && let Err(failure @ Failure::Panic(_)) = self.explain()
        {
            return self.end_failed(failure);
        }
        if let Some(text) =
            self.run.as_ref().filter(|_| self.options.is_watched && reason == EndReason::Completed).and_then(Run::unconverged)
        {
            self.send(EventKind::Notice(Notice::info(format!(
                "not converged: {text}. More iterations bring the image closer to its end"
            ))));
        }
        self.send(EventKind::Ended(reason));
    }

    /// Reports which part of the data the last image of a run explains, unless a step has, and warns of an unusual one.
    fn explain(&mut self) -> Result<(), Failure> {
        let Some(run) = &mut self.run else { return Ok(()) };
        let is_open = run.explained.is_none();
        run.explain()?;
        let (subiteration, has_race, num_subsets) = (run.subiteration, run.has_race, run.num_subsets);
        let is_penalised = run.is_penalised;
        let (explained, optimality) = (run.explained, run.optimality()?);
        if let Some(residual) = optimality {
            self.send(EventKind::Optimality { subiteration, residual });
            self.send(EventKind::Notice(convergence(residual)));
        }
        let (Some(run), Some(explained)) = (&mut self.run, explained) else { return Ok(()) };
        let is_new = !explained.is_usual(is_penalised) && !std::mem::replace(&mut run.has_reported_explained, true);
        if is_open {
            self.send(EventKind::Explained { subiteration, explained });
        }
        if is_new {
            self.send(EventKind::Notice(unusually_explained(explained, is_penalised, has_race, num_subsets)));
        }
        Ok(())
    }

    fn end_failed(&mut self, failure: Failure) {
        match failure {
            Failure::Stopped => self.end(EndReason::Cancelled),
            Failure::Problem(problem) => {
                // An image that was not displayed before the failed step is published now, if possible.
                if self.run.as_ref().is_some_and(|run| run.published != Some(run.subiteration)) {
                    let _ = self.publish();
                }
                self.fail(problem);
            }
            Failure::Panic(problem) => self.fail(problem),
        }
    }

    /// Reports the failure of a run. Its history stays; its algorithm, in an undefined state, is dropped after the images in
    /// flight.
    fn fail(&mut self, problem: Problem) {
        self.publisher.flush();
        let _ = self.publisher.failure();
        self.send(EventKind::Failed(problem));
        self.run = None;
    }

    /// Passes new data to the run that waits for them.
    fn receive_data(&mut self) {
        if let Some(Err(failure)) = self.run.as_mut().map(Run::receive_data) {
            self.end_failed(failure);
        }
    }

    fn set_accumulation(&mut self, accumulation: Accumulation) {
        let Some(run) = &mut self.run else { return };
        if let Err(text) = run.set_accumulation(accumulation) {
            self.send(EventKind::Notice(Notice::warning(text)));
        }
    }

    fn set_tuning(&mut self, tuning: AscentTuning) {
        let Some(run) = &mut self.run else { return };
        if let Err(text) = run.set_tuning(tuning) {
            self.send(EventKind::Notice(Notice::warning(text)));
        }
    }

    fn read_volumes(&mut self, of: VolumesOf) {
        let Some(run) = &mut self.run else { return };
        let id = run.iterate();
        let read = match of {
            VolumesOf::Deviation(post_filter_fwhm_mm) => run.deviation_image(post_filter_fwhm_mm).map(Vec::from_iter),
            VolumesOf::Coupled => run.coupled_images(),
            // They are sent after each image.
            VolumesOf::Oxygen => return,
        };
        match read {
            Ok(volumes) => {
                self.publisher.send_volumes(Volumes { id, of, volumes: volumes.into_iter().map(Arc::new).collect() });
            }
            Err(failure) => self.end_failed(failure),
        }
    }

    /// Measures an edited set of ROIs from the next step on, and on the current image if the history does not store it. The
    /// measurer measures the stored iterates.
    fn set_rois(&mut self, rois: RoiSet) {
        let Some(run) = &mut self.run else { return };
        let branch = rois.branch;
        let measured = run.set_rois(rois).and_then(|()| Ok((run.measure_unstored()?, run.measure_deviations()?)));
        let subiteration = run.subiteration;
        match measured {
            Ok((point, deviations)) => {
                let deviations = Some((subiteration, deviations)).filter(|(step, found)| *step > 0 && !found.is_empty());
                if point.is_some() || deviations.is_some() {
                    let points = point.into_iter().collect();
                    self.send(EventKind::Measured(Answer::Regions(RegionSums { branch, points, deviations })));
                }
                self.publisher.send(Outgoing::CatchUp);
                self.report_oxygen();
                if let (Some(redrawer), Some(run)) = (&self.redrawer, &self.run) {
                    redrawer.set_regions(run.regions());
                }
            }
            Err(failure) => self.end_failed(failure),
        }
    }

    /// Replaces names and roles of the ROIs of the run, which have not moved.
    fn rename_rois(&mut self, rois: MaskedRois) {
        let Some(run) = &mut self.run else { return };
        let before = &run.rois.rois;
        if before.len() == rois.len() && before.iter().zip(&*rois).all(|(a, b)| a.covers_same(b)) {
            run.rois.rois = rois;
        }
    }

    fn set_stop_rules(&mut self, rules: Vec<StopRule>) {
        if let Some(run) = &mut self.run {
            run.stop_watch.set(&rules);
        }
        self.stop_rules = rules;
    }

    /// Sets the number of iterations; a run that had reached the old one continues.
    fn set_iterations(&mut self, target: usize) {
        let Some(run) = &mut self.run else { return };
        run.target = target;
        let finished = matches!(run.state, State::Ended(EndReason::Completed | EndReason::Stopped));
        if finished && run.iteration < target && !run.is_exhausted() {
            run.state = State::Running;
            self.send(EventKind::Resumed);
        }
    }
}

/// Returns a warning about counts that the model cannot explain, and those among them whose factor is 0. In the first iteration
/// every crossed voxel is positive.
fn impossible_bins(
    [count, num_without_factor]: [usize; 2],
    course: IterationScheme,
    is_first_iteration: bool,
    num_subsets: usize,
) -> Notice {
    let [datum, text] = course.unexplained;
    let cause = match is_first_iteration {
        true => text,
        false if num_subsets > 1 => "whose line crosses only voxels that are 0 by now; fewer subsets keep them",
        false => "whose line crosses only voxels that are 0 by now",
    };
    let num_others = count.saturating_sub(num_without_factor);
    let of_factor = counted(count - num_others, datum);
    let of_factor = format!(
        "{of_factor} with counts and a factor of 0, so that nothing is expected there: the factors do not belong to these data, or mark detectors as dead that count"
    );
    let of_image = format!("{} with counts {cause}", counted(num_others, datum));
    Notice::warning(match (count - num_others, num_others) {
        (0, _) => format!("a subset left out {of_image}"),
        (_, 0) => format!("a subset left out {of_factor}"),
        _ => format!("a subset left out {of_factor}; and {of_image}"),
    })
}

/// Returns a warning about ratios of measured to expected counts beyond single precision.
fn limited_bins(count: usize, course: IterationScheme, num_subsets: usize) -> Notice {
    let [datum, _] = course.unexplained;
    let counted = counted(count, datum);
    let fewer = if num_subsets > 1 { "Fewer subsets or iterations" } else { "Fewer iterations" };
    Notice::warning(format!(
        "a subset has {counted} with counts where the image expects less than 1e-12 of them: the ratio was limited to 1e12. {fewer}, or an additive sinogram (randoms + scatter), avoid this"
    ))
}

/// Returns a notice of the first halved steps, after this number of complete iterations.
fn halved_steps(iteration: usize) -> Notice {
    Notice::info(format!(
        "the objective after iteration {iteration} was lower than before, or not finite: the run returned to the image before and halved its steps. A smaller step size avoids this"
    ))
}

/// Returns a notice about the distance of an image from the maximum of its objective.
fn convergence(residual: Optimality) -> Notice {
    let text = format!("the optimality residual is {}", residual.text());
    match (residual.has_converged(), residual.is_far()) {
        (true, _) => Notice::info(format!("converged: {text}")),
        (false, false) => {
            Notice::info(format!("not converged yet: {text}; more iterations bring the image closer to its maximum"))
        }
        (false, true) => Notice::warning(format!(
            "the image is far from the maximum of its objective: {text}. Use more iterations, or fewer subsets, a smaller step size or strength"
        )),
    }
}

/// Returns a warning about an image that explains too little or too much of the data.
fn unusually_explained(explained: Explained, is_penalised: bool, has_race: bool, num_subsets: usize) -> Notice {
    let causes = if has_race {
        "The non-atomic accumulation lost additions (race condition)".into()
    } else {
        explained.likely_causes(is_penalised, num_subsets)
    };
    Notice::warning(format!("the image explains {}. {causes}", explained.text()))
}
