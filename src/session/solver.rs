//! The solver thread: takes commands, steps the algorithm, and after each step, in this order, measures the ROIs on
//! this very iterate, hands the volume to the publisher, then the event. Idle or held it sleeps.

use std::collections::VecDeque;
use std::time::Instant;

use crossbeam_channel::Receiver;

use super::history::History;
use super::publisher::{Image, Parcel, Publisher};
use super::run::{Failure, Run, State};
use super::threads::Threads;
use super::{Command, EndReason, Event, EventKind, IterateReport, RoiSet, RunId, SessionOptions, Setup, StopRule};
use crate::coded::Problem;
use crate::data::{IterateId, MaskedRois, Notice};
use crate::operator::Accumulation;
use crate::plan::{IterationScheme, Job};
use crate::recon::{Explained, Stage, StepReport};
use crate::session::Control;
use crate::task::Task;
use crate::text::counted;

/// A command with the run that it is about and that run's stop flag.
pub(super) struct Message {
    pub command: Command,
    pub run: RunId,
    pub task: Task,
}

/// Everything that the solver thread owns.
pub(super) struct Solver {
    setup: Setup,
    options: SessionOptions,
    inbox: Receiver<Message>,
    waiting: VecDeque<Message>,
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
        Self { setup, options, inbox, waiting, publisher, history, threads, stop_rules, run: None }
    }

    /// Runs until `Quit` is received, or until the handle is gone.
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
            self.obey(message);
        }
    }

    fn obey(&mut self, message: Message) {
        match message.command {
            Command::Start { job, rois, paused } => {
                self.end(EndReason::Cancelled);
                self.begin(message.run, message.task, &job, rois, paused);
            }
            Command::Control(control) => self.control(control),
            // While a ROI is dragged edits come faster than they can be measured: only the last of a row counts.
            Command::SetRois(_) if self.waiting.front().is_some_and(|m| matches!(m.command, Command::SetRois(_))) => {}
            Command::SetRois(rois) => self.set_rois(rois),
            Command::RenameRois(rois) => self.rename_rois(rois),
            Command::DataArrived => self.take_in(),
            Command::Quit => {}
        }
    }

    fn control(&mut self, control: Control) {
        match control {
            Control::Pause => self.pause(),
            Control::Resume => self.resume(),
            Control::StepOnce => self.step_once(),
            Control::Stop => self.end(EndReason::Stopped),
            Control::Cancel => self.end(EndReason::Cancelled),
            Control::SetAccumulation(accumulation) => self.set_accumulation(accumulation),
            Control::SetStopRules(rules) => self.set_stop_rules(rules),
            Control::SetIterations(target) => self.set_iterations(target),
        }
    }

    /// Sends an event of the current run and wakes the watcher.
    fn say(&self, kind: EventKind) {
        let Some(run) = &self.run else { return };
        self.publisher.send_event(Event { run: run.id, kind });
    }

    /// Sets a run up. A set-up that was stopped ends as cancelled, one that failed says why.
    fn begin(&mut self, id: RunId, task: Task, job: &Job, rois: RoiSet, paused: bool) {
        // The old run's memory is given back before the new one's need is looked at.
        self.run = None;
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
                return self.publisher.send_event(Event { run: id, kind });
            }
        };
        run.state = if paused { State::Paused } else { State::Running };
        run.stop_watch.set(&self.stop_rules);
        self.run = Some(run);
        self.say(EventKind::Started(Box::new(info)));
        for notice in notices {
            self.say(EventKind::Notice(notice));
        }
        if paused {
            if self.publish_last() {
                self.say(EventKind::Paused);
            }
        } else if self.options.is_watched
            && let Err(failure) = self.publish()
        {
            self.give_up(failure);
        }
        self.publisher.wake();
    }

    /// One step of the current run with all that follows from it, or its end when nothing is left to do.
    fn advance(&mut self) {
        let Some(run) = &mut self.run else { return };
        if run.iteration >= run.target {
            return self.end(EndReason::Completed);
        }
        if let Some(problem) = self.publisher.failure() {
            return self.fail(problem);
        }
        let start = Instant::now();
        if let Err(failure) = run.step().and_then(|report| self.follow_up(report, start)) {
            self.give_up(failure);
        }
    }

    /// Measures, hands the volume over, then the event.
    fn follow_up(&mut self, report: StepReport, start: Instant) -> Result<(), Failure> {
        let Some(run) = &mut self.run else { return Ok(()) };
        let measure_start = Instant::now();
        let roi_sums = run.measure()?;
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
        let (log_likelihood, residual) = (run.add_term(&report), run.add_residual(&report));
        let iterate = IterateReport {
            iteration: report.iteration,
            subiteration: report.subiteration,
            subset: report.subset,
            completes_iteration: report.completes_iteration,
            log_likelihood_of_subset: report.log_likelihood,
            log_likelihood,
            residual,
            explained: report.explained,
            num_events: report.num_events,
            accumulation: report.accumulation,
            race: report.race,
            stages,
            elapsed: run.elapsed,
            branch: run.rois.branch,
            roi_sums,
        };
        let tell_impossible = report.num_impossible_bins > 0 && !run.impossible_told;
        run.impossible_told |= tell_impossible;
        let tell_limited = report.num_limited_bins > 0 && !run.limited_told;
        run.limited_told |= tell_limited;
        let (course, is_first_iteration) = (run.course, run.iteration == 0 || run.subiteration == 1);
        let rule_met = run.stop_watch.look(&iterate, &run.rois.rois);
        self.say(EventKind::Iterate(Box::new(iterate)));
        if tell_impossible {
            self.say(EventKind::Notice(impossible_bins(report.num_impossible_bins, course, is_first_iteration)));
        }
        if tell_limited {
            self.say(EventKind::Notice(limited_bins(report.num_limited_bins, course)));
        }
        if let Some(words) = rule_met {
            self.say(EventKind::RuleMet(words));
            self.end(EndReason::Stopped);
        }
        Ok(())
    }

    /// Whether the volume after a step goes out. A whole iteration (or a block of projections) does, if anybody looks; it
    /// replaces an unread one. An iterate between fills an empty channel, or replaces what is older than this run's first
    /// step; it is never waited for.
    fn is_wanted(&self, report: &StepReport) -> bool {
        if report.completes_iteration || self.run.as_ref().is_some_and(|run| !run.course.by_iteration) {
            return self.options.is_watched || self.history.is_kept();
        }
        let is_first = self.run.as_ref().and_then(|run| run.published).is_none_or(|last| last == 0);
        self.options.is_watched && (is_first || self.publisher.is_idle())
    }

    /// Hands the current image over; when it completes an iteration, the history keeps it too. The back end goes on
    /// while it is copied, where it can.
    fn publish(&mut self) -> Result<(), Failure> {
        let Some(run) = &mut self.run else { return Ok(()) };
        let slot = self.publisher.slot();
        let image = match run.begin_volume()? {
            Some(pending) => Image::Pending(pending, run.grid.clone(), run.course.unit),
            None => {
                let start = Instant::now();
                let mut volume = self.publisher.buffer(&run.grid, run.course.unit);
                run.read_volume(&mut volume)?;
                Image::Filled(volume, start.elapsed())
            }
        };
        let is_milestone = run.completes_iteration || (!run.course.by_iteration && run.subiteration > 0);
        let is_kept = is_milestone && self.history.is_kept() && run.kept != run.subiteration;
        if is_kept {
            run.kept = run.subiteration;
        }
        run.published = Some(run.subiteration);
        let id = IterateId { run: run.id, iteration: run.iteration, subiteration: run.subiteration };
        self.publisher.send_volume(Parcel { id, is_kept, image, slot });
        Ok(())
    }

    /// Publishes the current image unless that was done, and waits until it has arrived. Whether the run is still good.
    fn publish_last(&mut self) -> bool {
        let Some(run) = &self.run else { return false };
        let published = if run.published == Some(run.subiteration) { Ok(()) } else { self.publish() };
        match published.and_then(|()| self.arrived()) {
            Ok(()) => true,
            Err(failure) => {
                self.give_up(failure);
                false
            }
        }
    }

    /// Waits until all volumes have arrived.
    fn arrived(&self) -> Result<(), Failure> {
        self.publisher.flush();
        self.publisher.failure().map_or(Ok(()), |problem| Err(Failure::Problem(problem)))
    }

    /// Holds the run, or ends it when the step was its last.
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
            self.say(EventKind::Paused);
        }
    }

    /// Goes on from a pause.
    fn resume(&mut self) {
        if let Some(run) = self.run.as_mut().filter(|run| run.state == State::Paused) {
            run.state = State::Running;
            self.say(EventKind::Resumed);
        }
    }

    /// One step, and a pause: as many steps as there are commands, however fast they come. A run that is completed or
    /// was stopped begins another iteration if it has to.
    fn step_once(&mut self) {
        let goes_on = |state: State| !matches!(state, State::Ended(EndReason::Cancelled));
        if let Some(run) = self.run.as_mut().filter(|run| goes_on(run.state) && !run.is_exhausted()) {
            if matches!(run.state, State::Ended(_)) {
                run.target = run.target.max(run.iteration + 1);
            }
            run.state = State::Running;
            self.advance();
            self.pause();
        }
    }

    /// Ends a run that has not ended. Its last image is published first.
    fn end(&mut self, reason: EndReason) {
        let Some(run) = &mut self.run else { return };
        if matches!(run.state, State::Ended(_)) {
            return;
        }
        run.state = State::Ended(reason);
        if !self.publish_last() {
            return;
        }
        // Where it is stopped meanwhile, or other processes have gone, the image is good all the same.
        if reason != EndReason::Cancelled
            && let Err(failure @ Failure::Panic(_)) = self.explain()
        {
            return self.give_up(failure);
        }
        self.say(EventKind::Ended(reason));
    }

    /// Says how much of the data the image of a run that ends explains, where no step has, and what it lacks.
    fn explain(&mut self) -> Result<(), Failure> {
        let Some(run) = &mut self.run else { return Ok(()) };
        let is_open = run.explained.is_none();
        run.explain()?;
        let Some(explained) = run.explained else { return Ok(()) };
        let (subiteration, has_race) = (run.subiteration, run.has_race);
        let tell = !explained.is_usual() && !run.explained_told;
        run.explained_told |= tell;
        if is_open {
            self.say(EventKind::Explained { subiteration, explained });
        }
        if tell {
            self.say(EventKind::Notice(unusually_explained(explained, has_race)));
        }
        Ok(())
    }

    /// Ends the run as its failure requires.
    fn give_up(&mut self, failure: Failure) {
        match failure {
            Failure::Stopped => self.end(EndReason::Cancelled),
            Failure::Problem(problem) => {
                // Where nobody looked, the image before the step that failed is still to be handed over, if it can be.
                if self.run.as_ref().is_some_and(|run| run.published != Some(run.subiteration)) {
                    let _ = self.publish();
                }
                self.fail(problem);
            }
            Failure::Panic(problem) => self.fail(problem),
        }
    }

    /// Says why a run is given up. Its history stays, its algorithm may be in any state and goes, once nothing of it is
    /// under way.
    fn fail(&mut self, problem: Problem) {
        self.publisher.flush();
        let _ = self.publisher.failure();
        self.say(EventKind::Failed(problem));
        self.run = None;
    }

    /// Hands what has arrived to the run that waits for it.
    fn take_in(&mut self) {
        if let Some(Err(failure)) = self.run.as_mut().map(Run::take_in) {
            self.give_up(failure);
        }
    }

    fn set_accumulation(&mut self, accumulation: Accumulation) {
        let Some(run) = &mut self.run else { return };
        if let Err(text) = run.set_accumulation(accumulation) {
            self.say(EventKind::Notice(Notice::warning(text)));
        }
    }

    /// Measures an edited set of ROIs from the next step on, and on the current image where that is not kept. What is kept is
    /// measured beside the solver.
    fn set_rois(&mut self, rois: RoiSet) {
        let Some(run) = &mut self.run else { return };
        let branch = rois.branch;
        match run.set_rois(rois).and_then(|()| run.measure_unkept()) {
            Ok(point) => {
                if let Some(point) = point {
                    self.say(EventKind::Remeasured { branch, points: vec![point] });
                }
                self.publisher.catch_up();
            }
            Err(failure) => self.give_up(failure),
        }
    }

    /// Takes other names and roles for the ROIs of the run, whose places stay.
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

    /// Moves the end; a run that had reached it goes on.
    fn set_iterations(&mut self, target: usize) {
        let Some(run) = &mut self.run else { return };
        run.target = target;
        let finished = matches!(run.state, State::Ended(EndReason::Completed | EndReason::Stopped));
        if finished && run.iteration < target && !run.is_exhausted() {
            run.state = State::Running;
            self.say(EventKind::Resumed);
        }
    }
}

/// A warning about counts that the model cannot explain. In the first iteration no voxel is 0 that any line crosses.
fn impossible_bins(count: usize, course: IterationScheme, is_first_iteration: bool) -> Notice {
    let [datum, words] = course.unexplained;
    let cause =
        if is_first_iteration { words } else { "whose line crosses only voxels that are 0 by now; fewer subsets keep them" };
    Notice::warning(format!("a subset left out {} with counts {cause}", counted(count, datum)))
}

/// A warning about ratios of measured to expected counts that single precision cannot hold.
fn limited_bins(count: usize, course: IterationScheme) -> Notice {
    let [datum, _] = course.unexplained;
    let counted = counted(count, datum);
    Notice::warning(format!(
        "a subset has {counted} with counts where the image expects less than 1e-12 of them: the ratio was limited to 1e12. Fewer subsets or iterations, or an additive sinogram (randoms + scatter), avoid this"
    ))
}

/// A warning about an image that explains too little or too much of the data.
fn unusually_explained(explained: Explained, has_race: bool) -> Notice {
    let causes = match explained.worse() {
        _ if has_race => "The non-atomic accumulation lost additions (race condition)",
        ratio if ratio < 1.0 => {
            "Likely causes: too many subsets for so few counts, an image smaller than the object, counts without any line in the image"
        }
        _ => "Likely causes: too few iterations, a background (additive sinogram) or factors that do not belong to these data",
    };
    Notice::warning(format!("the image explains {}. {causes}", explained.text()))
}
