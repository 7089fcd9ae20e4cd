//! Live state of a run, folded from the session's events.

use std::collections::{BTreeMap, VecDeque};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::roi_branches::RoiBranches;
use super::stages::StageLog;
use crate::data::{Modality, RelaxationRate, Roi, Volume};
use crate::operator::Accumulation;
use crate::plan::{IterationScheme, Provenance, StartInfo};
use crate::recon::{AscentTuning, Explained, Optimality, RaceReport};
use crate::session::{
    Answer, Comparison, EndReason, Event, EventKind, Found, IterateReport, OxygenImages, OxygenRedraw, OxygenUpdate, RegionSums,
    RunId, RunRecord, RunTable, StepFigures, limit,
};
use crate::task::Task;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RunState {
    /// No run yet.
    #[default]
    Idle,
    /// Requested; being set up.
    Starting,
    Running,
    Paused,
    Ended(EndReason),
    /// Aborted; a notice contains the cause.
    Failed,
}

impl RunState {
    /// True for a finished run that can do further iterations.
    pub fn can_continue(self) -> bool {
        matches!(self, RunState::Ended(EndReason::Completed | EndReason::Stopped))
    }

    /// True for a run that can be paused, stopped or cancelled.
    pub fn is_active(self) -> bool {
        matches!(self, RunState::Starting | RunState::Running | RunState::Paused)
    }

    pub fn label(self) -> &'static str {
        match self {
            RunState::Idle => "not started",
            RunState::Starting => "setting up",
            RunState::Running => "running",
            RunState::Paused => "paused",
            RunState::Ended(EndReason::Completed) => "completed",
            RunState::Ended(EndReason::Stopped) => "stopped, with image",
            RunState::Ended(EndReason::Cancelled) => "cancelled",
            RunState::Failed => "failed",
        }
    }
}

/// Event that the curves mark.
#[derive(Clone, Debug, PartialEq)]
pub enum Mark {
    /// Switch to another accumulation.
    Accumulation(Accumulation),
    /// Change of penalty or step size, as text.
    Tuning(String),
    /// Edit of the ROIs.
    Branch,
    /// Stop rule that was met, as text.
    Rule(String),
}

/// Live state of a run. Each of its quantities has at most `MAX_STORED` points.
#[derive(Clone, Debug, Default)]
pub struct LiveRun {
    /// Number of the run within the session; events of other runs are ignored.
    pub run: RunId,
    /// Number of the run as displayed: the runs of a study count from 1.
    pub number: RunId,
    pub state: RunState,
    /// Number of full iterations to reach.
    pub target: usize,
    /// Result of the set-up.
    pub info: Option<StartInfo>,
    /// Time of the request, name of the object that the set-up makes, and its progress.
    set_up: Option<(Instant, &'static str, Task)>,
    /// Provenance of each image.
    record: Option<RunRecord>,
    /// Penalty and step size that were requested for the next step.
    pub requested_tuning: Option<AscentTuning>,
    /// Newest step.
    pub last: Option<IterateReport>,
    /// Part of the data that the image after the last iteration explains.
    pub explained: Option<Explained>,
    /// Newest distance from the maximum of the objective.
    pub optimality: Option<Optimality>,
    /// Figures of the whole image by number of complete steps.
    pub steps: BTreeMap<usize, StepFigures>,
    /// ROI curves.
    pub rois: RoiBranches,
    /// Answers of the measurements of its iterates.
    pub found: Found,
    /// Figures of the maps of oxygen of the images so far.
    pub oxygen: Option<OxygenUpdate>,
    /// Newest maps of oxygen that were received, and their number of images.
    pub oxygen_images: Option<(usize, OxygenImages)>,
    /// Newest images of all radicals that were received.
    pub radicals: Option<RadicalImages>,
    /// File of the images of all radicals, which are written when they arrive.
    pub radicals_file: Option<PathBuf>,
    /// Standard deviations of their figures between draws of the noise.
    pub oxygen_redraw: Option<OxygenRedraw>,
    /// Marks, each with the number of complete steps at that time.
    pub marks: Vec<(usize, Mark)>,
    pub stages: StageLog,
    recent_steps: VecDeque<(usize, Duration)>,
}

/// Images of all radicals of a run after a step.
#[derive(Clone, Debug)]
pub struct RadicalImages {
    /// Number of steps before them.
    pub subiteration: usize,
    /// One of each radical.
    pub images: Vec<Arc<Volume>>,
}

impl LiveRun {
    /// Returns the state of a run that was just requested.
    pub fn requested(run: RunId, branch: u64, rois: &[Roi], paused: bool) -> Self {
        let state = if paused { RunState::Paused } else { RunState::Starting };
        Self { run, number: run, state, rois: RoiBranches::new(branch, rois), ..Self::default() }
    }

    /// Sets the displayed number, for a study that was opened after this number of runs.
    pub fn numbered_after(self, runs_before: RunId) -> Self {
        Self { number: self.run.saturating_sub(runs_before), ..self }
    }

    /// Sets the progress of the set-up, and the name of the object that it makes if necessary ("tubes").
    pub fn with_set_up(self, object: &'static str, task: Task) -> Self {
        Self { set_up: Some((Instant::now(), object, task)), ..self }
    }

    /// True from the request until the set-up is complete.
    pub fn is_being_set_up(&self) -> bool {
        self.state.is_active() && self.info.is_none()
    }

    /// Returns the progress of an object that the set-up makes: name, fraction, and remaining time if known.
    pub fn making(&self) -> Option<(&'static str, f32, Option<Duration>)> {
        let (begun, object, task) = self.set_up.as_ref().filter(|_| self.is_being_set_up())?;
        let fraction = task.fraction().filter(|fraction| *fraction < 1.0)?;
        Some((object, fraction, task.remaining(*begun)))
    }

    /// Returns the iterations of the image under way, and their limit, of images at several times that iterations improve.
    pub fn iterations_of_next_image(&self) -> Option<(u64, u64)> {
        let settings = &self.info.as_ref().filter(|_| self.is_running())?.job.settings;
        // The fits count on the same task.
        let (done, max) = self.set_up.as_ref()?.2.progress();
        (max == settings.algorithm.default_iterations().map(|_| settings.num_iterations as u64)?).then_some((done.min(max), max))
    }

    /// Begins another branch of the ROI curves after an edit.
    pub fn begin_branch(&mut self, branch: u64, rois: &[Roi]) {
        let is_new = self.rois.begin(branch, rois);
        self.mark_edit(is_new);
    }

    fn mark_edit(&mut self, is_new: bool) {
        let mark = self.last.as_ref().filter(|_| is_new).map(|last| (last.subiteration, Mark::Branch));
        self.marks.extend(mark);
    }

    /// Returns the kind of the images of another program that it shows.
    pub fn modality(&self) -> Option<&Modality> {
        self.info.as_ref()?.job.data().images().map(|series| &series.modality)
    }

    /// Returns the maps of oxygen of the newest image, and their relaxation rate.
    pub fn oxygen_maps(&self) -> Option<(RelaxationRate, &OxygenImages)> {
        let series = self.info.as_ref()?.job.data().oximetry()?;
        Some((series.calibration.rate, &self.oxygen_images.as_ref()?.1))
    }

    /// Returns the names of the radicals with an image each; none of a run with one image.
    pub fn radical_names(&self) -> Vec<String> {
        let radicals = self.info.as_ref().map_or(&[][..], |info| &info.job.settings.inputs.radicals);
        if radicals.len() > 1 { radicals.iter().map(|radical| radical.name.clone()).collect() } else { Vec::new() }
    }

    /// True if any iterate was measured.
    pub fn is_measured(&self) -> bool {
        self.last.is_some()
    }

    /// Returns the set-up of the run while its memory is in use. A failed run has freed it.
    pub fn in_memory(&self) -> Option<&StartInfo> {
        self.info.as_ref().filter(|_| self.state != RunState::Failed)
    }

    /// True for a run that does further steps or can continue.
    pub fn has_next_step(&self) -> bool {
        self.state.is_active() || self.state.can_continue()
    }

    /// True for a run that computes or is being set up.
    pub fn is_running(&self) -> bool {
        matches!(self.state, RunState::Starting | RunState::Running)
    }

    pub fn apply(&mut self, event: &Event) {
        if event.run != self.run {
            return;
        }
        match &event.kind {
            EventKind::Started(info) => {
                self.target = info.job.num_iterations();
                self.info = Some((**info).clone());
                self.record = Some(RunRecord::new((**info).clone()));
                if self.state == RunState::Starting {
                    self.state = RunState::Running;
                }
            }
            EventKind::Iterate(report) => self.add_iterate(report),
            EventKind::Measured(Answer::Regions(RegionSums { branch, points, deviations })) => {
                let is_new = self.rois.add_remeasured(*branch, points);
                if let Some((subiteration, deviations)) = deviations {
                    self.rois.add_deviations(*branch, *subiteration, deviations);
                }
                self.mark_edit(is_new);
            }
            EventKind::Measured(answer) => self.found.add(answer),
            EventKind::Oxygen(update) => self.oxygen = Some((**update).clone()),
            EventKind::OxygenRedraw(update) => self.oxygen_redraw = Some((**update).clone()),
            EventKind::Explained { subiteration, explained } => {
                if let Some(record) = &mut self.record {
                    record.explained(*subiteration, *explained);
                }
                if let Some(step) = self.steps.get_mut(subiteration) {
                    step.explained = Some(*explained);
                }
                self.explained = Some(*explained);
            }
            EventKind::Optimality { subiteration, residual } => {
                if let Some(record) = &mut self.record {
                    record.optimality(*subiteration, *residual);
                }
                self.optimality = Some(*residual);
            }
            EventKind::Paused => {
                self.state = RunState::Paused;
                self.recent_steps.clear();
            }
            EventKind::Resumed => self.state = RunState::Running,
            EventKind::Ended(reason) => self.state = RunState::Ended(*reason),
            EventKind::Failed(_) => self.state = RunState::Failed,
            EventKind::RuleMet(rule) => {
                let at = self.progress().0;
                if let Some(record) = &mut self.record {
                    record.stopped_by(rule);
                }
                self.marks.push((at, Mark::Rule(rule.clone())));
            }
            EventKind::Volumes { .. } | EventKind::Notice(_) => {}
        }
    }

    fn add_iterate(&mut self, report: &IterateReport) {
        let before = self.last.as_ref().map(|last| last.accumulation);
        if before.is_some_and(|accumulation| accumulation != report.accumulation) {
            self.marks.push((report.subiteration - 1, Mark::Accumulation(report.accumulation)));
        }
        if let Some((before, now)) = self.reported_tuning().zip(report.ascent.map(|ascent| ascent.tuning))
            && before != now
        {
            self.marks.push((report.subiteration - 1, Mark::Tuning(now.changes_from(before, self.strength_symbol()))));
        }
        if let Some(record) = &mut self.record {
            record.add(report);
        }
        let is_new = self.rois.add_step(report);
        self.mark_edit(is_new);
        self.stages.add(report, &self.iteration_scheme());
        self.steps.insert(report.subiteration, report.into());
        limit(&mut self.steps, |step| {
            step.log_likelihood.is_some() || step.ascent.is_some_and(|ascent| ascent.objective.is_some())
        });
        self.recent_steps.push_back((report.subiteration, report.elapsed));
        while self.recent_steps.len() > 2 * self.num_subsets().max(8) {
            self.recent_steps.pop_front();
        }
        self.explained = report.explained.or(self.explained);
        self.optimality = report.ascent.and_then(|ascent| ascent.optimality).or(self.optimality);
        self.last = Some(report.clone());
    }

    /// Returns the number of steps of a full iteration, at least 1.
    pub fn num_subsets(&self) -> usize {
        self.info.as_ref().map_or(1, |info| info.num_subsets.max(1))
    }

    /// Returns the table of measured rows, after the set-up.
    pub fn table(&self) -> Option<RunTable> {
        self.info.as_ref().map(|info| RunTable::of(self.number, info))
    }

    /// Returns the value of each full iteration that has one, with the number of steps before the iteration. (Log-likelihood and
    /// residual belong to the images before its steps.)
    pub fn before_iterations(&self, value: impl Fn(&StepFigures) -> Option<f64>) -> Vec<[f64; 2]> {
        let before = |step: usize| step.saturating_sub(self.num_subsets()) as f64;
        self.steps.iter().filter_map(|(at, step)| Some([before(*at), value(step)?])).collect()
    }

    /// True if any step lost additions to the race condition.
    pub fn has_race(&self) -> bool {
        self.steps.values().any(|step| step.race.is_some())
    }

    /// Returns the iteration scheme; before the set-up that of an iterative run.
    pub fn iteration_scheme(&self) -> IterationScheme {
        self.info.as_ref().map_or(IterationScheme::ITERATIONS, |info| info.job.iteration_scheme())
    }

    /// Returns the value of the curves' horizontal axis after a number of steps: iterations with fractions, or the counted unit.
    pub fn axis_value(&self, subiteration: f64) -> f64 {
        if self.iteration_scheme().by_iteration { subiteration / self.num_subsets() as f64 } else { subiteration }
    }

    /// Returns the number of complete steps nearest to a value of the horizontal axis.
    pub fn steps_at(&self, axis_value: f64) -> usize {
        (if self.iteration_scheme().by_iteration { axis_value * self.num_subsets() as f64 } else { axis_value }).round() as usize
    }

    /// Returns the numbers of complete and of all steps.
    pub fn progress(&self) -> (usize, usize) {
        let done = self.last.as_ref().map_or(0, |last| last.subiteration);
        let total = self.info.as_ref().map_or(0, |info| self.target * info.num_subsets);
        // Data that arrive during the run add steps.
        (done, if self.iteration_scheme().can_grow { total.max(done) } else { total })
    }

    /// Returns the number of events in the newest image, for list-mode data that still arrive.
    pub fn num_events(&self) -> Option<usize> {
        self.last.as_ref().and_then(|last| last.num_events)
    }

    /// Returns the number of steps per second over the last steps.
    pub fn steps_per_sec(&self) -> Option<f64> {
        let (first, from) = self.recent_steps.front()?;
        let (last, to) = self.recent_steps.back()?;
        let secs = to.saturating_sub(*from).as_secs_f64();
        (last > first && secs > 0.0).then(|| (last - first) as f64 / secs)
    }

    /// Returns the time until all iterations are complete, at a number of steps per second.
    pub fn remaining(&self, steps_per_sec: Option<f64>) -> Option<Duration> {
        let (done, total) = self.progress();
        let secs = total.saturating_sub(done) as f64 / steps_per_sec?;
        Duration::try_from_secs_f64(secs).ok()
    }

    /// Returns the losses of the step that made the image after this number of steps; `None` for race-free accumulation.
    pub fn race_at(&self, subiteration: usize) -> Option<RaceReport> {
        self.record.as_ref()?.race_at(subiteration)
    }

    /// Returns the provenance of the image after this number of steps, with a post-filter of this FWHM.
    pub fn provenance(&self, subiteration: usize, post_filter_mm: Option<f64>) -> Option<Provenance> {
        Some(self.record.as_ref()?.provenance(subiteration, self.target, post_filter_mm))
    }

    /// Returns how many of the newest images in a row are close enough to the reference, and the first of them.
    pub fn close_images(&self) -> Option<(usize, &Comparison)> {
        let is_close = |found: &&Comparison| found.convergence.is_some_and(|convergence| convergence.is_close());
        let close: Vec<&Comparison> = self.found.comparisons.values().rev().take_while(is_close).collect();
        Some((close.len(), *close.last()?))
    }

    /// Returns the displayed number and a summary of the settings; `None` before the set-up.
    pub fn title(&self) -> Option<String> {
        let provenance = self.provenance(self.progress().0, None)?;
        Some(format!("run {}: {}", self.number, Provenance { progress: None, ..provenance }.line()))
    }

    /// Returns the accumulation of the step that made the image after this number of steps.
    pub fn accumulation_of(&self, subiteration: usize) -> Option<Accumulation> {
        Some(self.record.as_ref()?.accumulation_of(subiteration))
    }

    /// Returns the symbol of the strength of its penalty.
    pub fn strength_symbol(&self) -> &'static str {
        let is_tv = self.info.as_ref().is_some_and(|info| info.job.settings.algorithm.is_least_squares());
        if is_tv { "λ" } else { "β" }
    }

    /// Returns penalty and step size of the newest step, before the first those of the settings; `None` for an algorithm that does
    /// not climb, and of images at several times, which need the same strength.
    pub fn reported_tuning(&self) -> Option<AscentTuning> {
        let job = &self.info.as_ref()?.job;
        let settings = job.data().oximetry().is_none().then_some(&job.settings)?;
        let reported = self.last.as_ref().and_then(|last| last.ascent).map(|ascent| ascent.tuning);
        reported.or_else(|| settings.algorithm.tuning(&settings.parameters))
    }

    /// Returns penalty and step size of the next step.
    pub fn tuning(&self) -> Option<AscentTuning> {
        self.requested_tuning.or_else(|| self.reported_tuning())
    }

    pub fn accumulation(&self) -> Option<Accumulation> {
        self.last.as_ref().map(|last| last.accumulation).or_else(|| self.info.as_ref().map(|info| info.accumulation))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recon::StageTimes;

    fn report(subiteration: usize, accumulation: Accumulation) -> Event {
        let report = IterateReport {
            iteration: subiteration,
            subiteration,
            subset: 0,
            completes_iteration: true,
            log_likelihood_of_subset: Some(10.0 * subiteration as f64),
            log_likelihood: Some(10.0 * subiteration as f64),
            num_events: None,
            residual: Some(subiteration as f64),
            explained: None,
            accumulation,
            race: None,
            ascent: None,
            stages: StageTimes::default(),
            elapsed: Duration::from_millis(500 * subiteration as u64),
            branch: 1,
            roi_sums: Vec::new(),
            roi_deviations: Vec::new(),
        };
        Event { run: 3, kind: EventKind::Iterate(Box::new(report)) }
    }

    #[test]
    fn events_of_other_runs_are_ignored_and_switches_are_marked() {
        let mut live = LiveRun::requested(3, 1, &[], false);
        live.apply(&Event { run: 2, kind: EventKind::Ended(EndReason::Cancelled) });
        assert_eq!(live.state, RunState::Starting);
        for (step, accumulation) in [(1, Accumulation::Atomic), (2, Accumulation::NonAtomic), (3, Accumulation::NonAtomic)] {
            live.apply(&report(step, accumulation));
        }
        assert_eq!(live.marks, [(1, Mark::Accumulation(Accumulation::NonAtomic))]);
        let log_likelihood = live.before_iterations(|step| step.log_likelihood);
        assert_eq!(log_likelihood, [[0.0, 10.0], [1.0, 20.0], [2.0, 30.0]]);
        assert_eq!(live.steps_per_sec(), Some(2.0));
        assert_eq!(live.rois.newest().unwrap().points.len(), 3);
    }

    #[test]
    fn tubes_are_made_while_a_run_is_being_set_up_and_no_longer() {
        let task = Task::new();
        let mut live = LiveRun::requested(3, 1, &[], true).with_set_up("tubes", task.clone());
        assert_eq!(live.making(), None);
        task.begin(8);
        task.advance(2);
        assert!(matches!(live.making(), Some(("tubes", 0.25, Some(_)))) && live.is_being_set_up());
        task.advance(6);
        assert_eq!(live.making(), None);
        task.begin(8);
        assert_eq!(live.making(), Some(("tubes", 0.0, None)));
        live.apply(&Event { run: 3, kind: EventKind::Ended(EndReason::Cancelled) });
        assert!(live.making().is_none() && !live.is_being_set_up());
    }

    #[test]
    fn an_edit_begins_a_branch_and_the_past_comes_back_measured_anew() {
        let mut live = LiveRun::requested(3, 1, &[], false);
        live.apply(&report(1, Accumulation::Atomic));
        live.begin_branch(2, &[]);
        live.apply(&Event {
            run: 3,
            kind: EventKind::Measured(Answer::Regions(RegionSums {
                branch: 2,
                points: vec![(1, 1, Vec::new())],
                deviations: None,
            })),
        });
        live.apply(&report(2, Accumulation::Atomic));
        // The second report was measured for the first branch, before the solver knew of the edit.
        assert_eq!(live.rois.newest_first().map(|branch| branch.points.len()).collect::<Vec<_>>(), [2, 2]);
        assert_eq!(live.marks, [(1, Mark::Branch)]);
    }
}
