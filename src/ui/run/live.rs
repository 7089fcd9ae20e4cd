//! What is known of the run that is watched, folded from the session's events.

use std::collections::{BTreeMap, VecDeque};
use std::time::{Duration, Instant};

use super::stages::StageLog;
use crate::data::{Roi, RoiSums};
use crate::measure::{NoPeakWidth, PeakWidth};
use crate::operator::Accumulation;
use crate::plan::{IterationScheme, Provenance, StartInfo};
use crate::recon::{Explained, RaceReport};
use crate::session::{
    Comparison, EndReason, Event, EventKind, IterateReport, PeakLine, PeaksPoint, RunId, RunRecord, RunTable, StepFigures,
};
use crate::task::Task;

/// Where a run stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RunState {
    /// There was none yet.
    #[default]
    Idle,
    /// Asked for; being set up.
    Starting,
    /// Computing.
    Running,
    /// Holding.
    Paused,
    /// Over.
    Ended(EndReason),
    /// Broken off; the sentence is among the notices.
    Failed,
}

impl RunState {
    /// Whether there is a finished run that can go on.
    pub fn can_continue(self) -> bool {
        matches!(self, RunState::Ended(EndReason::Completed | EndReason::Stopped))
    }

    /// Whether there is a run to pause, stop or cancel.
    pub fn is_active(self) -> bool {
        matches!(self, RunState::Starting | RunState::Running | RunState::Paused)
    }

    /// In words.
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

/// ROI sums of one iterate.
#[derive(Clone, Debug, PartialEq)]
pub struct RoiPoint {
    /// Full iterations complete.
    pub iteration: usize,
    /// Steps done.
    pub subiteration: usize,
    /// In the order of the branch's ROIs; `None` where a ROI was not measured in its present place.
    pub sums: Vec<Option<RoiSums>>,
}

impl RoiPoint {
    /// What this point says about other ROIs: the sums of those that have not moved, which had these places.
    fn carried(&self, places: &[Option<usize>]) -> Self {
        let sums = places.iter().map(|place| *self.sums.get((*place)?)?);
        Self { sums: sums.collect(), ..*self }
    }
}

/// For each ROI the place of the one among others that covers the same.
fn places(from: &[Roi], to: &[Roi]) -> Vec<Option<usize>> {
    to.iter().map(|roi| from.iter().position(|other| other.covers_same(roi))).collect()
}

/// A branch of the ROI curves: between two edits.
#[derive(Clone, Debug, Default)]
pub struct Branch {
    /// The regions as they were sent.
    pub rois: Vec<Roi>,
    /// Points, by steps done.
    pub points: BTreeMap<usize, RoiPoint>,
    /// The edit that it came from: all places of a region while it is dragged are one.
    edit: u64,
}

/// The peaks along one line.
#[derive(Clone, Debug, Default)]
pub struct Peaks {
    line: Option<PeakLine>,
    /// Width of each, or why it has none, by steps done.
    pub widths: BTreeMap<usize, Vec<Result<PeakWidth, NoPeakWidth>>>,
}

impl Peaks {
    /// Adds what was measured along a line; what is known of another one goes.
    fn take(&mut self, line: PeakLine, points: &[PeaksPoint]) {
        if self.line != Some(line) {
            *self = Self { line: Some(line), ..Self::default() };
        }
        self.widths.extend(points.iter().map(|point| (point.subiteration, point.widths.clone())));
    }
}

/// Something that happened at a moment of the curves.
#[derive(Clone, Debug, PartialEq)]
pub enum Mark {
    /// From here on the backprojection added so.
    Accumulation(Accumulation),
    /// From here on other ROIs were measured.
    Branch,
    /// A stop rule was met: what it said.
    Rule(String),
}

/// The run that is watched.
#[derive(Clone, Debug, Default)]
pub struct LiveRun {
    /// Its number; events of earlier runs are ignored.
    pub run: RunId,
    /// The number by which it is called: the runs of a study count from 1.
    pub number: RunId,
    /// Where it stands.
    pub state: RunState,
    /// Full iterations to reach.
    pub target: usize,
    /// How it was set up.
    pub info: Option<StartInfo>,
    /// When it was asked for, what its set-up makes where it has to, and how far that is.
    set_up: Option<(Instant, &'static str, Task)>,
    /// What made each of its images.
    record: Option<RunRecord>,
    /// The newest step.
    pub last: Option<IterateReport>,
    /// How much of the data the image after the last iteration explains.
    pub explained: Option<Explained>,
    /// What each step told of the whole image, by steps done.
    pub steps: Vec<StepFigures>,
    /// ROI curves by branch number.
    pub branches: BTreeMap<u64, Branch>,
    /// Regions that were sent while one is dragged, whose numbers are awaited: with their edit, by branch number.
    drafts: BTreeMap<u64, (u64, Vec<Roi>)>,
    /// How much its images are like those of the reference run, by steps done.
    pub comparisons: BTreeMap<usize, Comparison>,
    /// Widths of the peaks along the profile's line, by steps done.
    pub peaks: Peaks,
    /// Marks and the steps done when they came.
    pub marks: Vec<(usize, Mark)>,
    /// Where the time went.
    pub stages: StageLog,
    /// The edit of the ROIs that has its mark.
    marked_edit: Option<u64>,
    recent_steps: VecDeque<(usize, Duration)>,
}

impl LiveRun {
    /// A run that was just asked for.
    pub fn asked_for(run: RunId, branch: u64, rois: &[Roi], paused: bool) -> Self {
        let state = if paused { RunState::Paused } else { RunState::Starting };
        let mut live = Self { run, number: run, state, ..Self::default() };
        live.branches.insert(branch, Branch { rois: rois.to_vec(), points: BTreeMap::new(), edit: branch });
        live
    }

    /// The same run, called by its number in a study that was opened after so many runs.
    pub fn numbered_after(self, runs_before: RunId) -> Self {
        Self { number: self.run.saturating_sub(runs_before), ..self }
    }

    /// The same run, whose set-up this task tells of: it makes this where it has to ("tubes").
    pub fn with_set_up(self, made: &'static str, task: Task) -> Self {
        Self { set_up: Some((Instant::now(), made, task)), ..self }
    }

    /// Whether it was asked for and is not set up yet.
    pub fn is_being_set_up(&self) -> bool {
        self.state.is_active() && self.info.is_none()
    }

    /// While something is made for it: what, the part of it that is done, and how long the rest will take, where that can be told.
    pub fn making(&self) -> Option<(&'static str, f32, Option<Duration>)> {
        let (begun, made, task) = self.set_up.as_ref().filter(|_| self.is_being_set_up())?;
        let fraction = task.fraction().filter(|fraction| *fraction < 1.0)?;
        Some((made, fraction, task.remaining(*begun)))
    }

    /// An edit of the ROIs was sent.
    pub fn begin_branch(&mut self, branch: u64, rois: &[Roi]) {
        self.drafts.clear();
        self.add_branch(branch, branch, rois.to_vec());
    }

    /// ROIs were sent while one of them is dragged. The curves stay until their numbers come, and what was drawn of this edit is then
    /// replaced.
    pub fn draft_branch(&mut self, branch: u64, edit: u64, rois: &[Roi]) {
        self.drafts.insert(branch, (edit, rois.to_vec()));
    }

    /// Something was measured for a branch: if it was a draft the curves are of it from now on, and of none before it.
    fn take_up_draft(&mut self, branch: u64) {
        let Some((edit, rois)) = self.drafts.remove(&branch) else { return };
        self.drafts = self.drafts.split_off(&branch);
        let is_further = self.branches.values().next_back().is_some_and(|newest| newest.edit == edit);
        if is_further {
            self.branches.pop_last();
        }
        self.add_branch(branch, edit, rois);
    }

    fn add_branch(&mut self, branch: u64, edit: u64, rois: Vec<Roi>) {
        let mut points = BTreeMap::new();
        if let Some(before) = self.branches.values().next_back() {
            let places = places(&before.rois, &rois);
            points.extend(before.points.iter().map(|(at, point)| (*at, point.carried(&places))));
        }
        self.branches.insert(branch, Branch { rois, points, edit });
        let mark = self.last.as_ref().map(|last| (last.subiteration, Mark::Branch));
        if self.marked_edit != Some(edit) {
            self.marked_edit = Some(edit);
            self.marks.extend(mark);
        }
        // Only the branch before is shown beside the newest.
        while self.branches.len() > 2 {
            self.branches.pop_first();
        }
    }

    /// Names or roles of a branch's ROIs were edited, their places were not.
    pub fn rename_rois(&mut self, branch: u64, rois: &[Roi]) {
        if let Some(branch) = self.branches.get_mut(&branch) {
            branch.rois = rois.to_vec();
        }
        if let Some((_, draft)) = self.drafts.get_mut(&branch) {
            *draft = rois.to_vec();
        }
    }

    /// Whether there are numbers of any iterate.
    pub fn is_measured(&self) -> bool {
        self.last.is_some()
    }

    /// What the run became, while its memory is in use: that of one that failed is free already.
    pub fn in_memory(&self) -> Option<&StartInfo> {
        self.info.as_ref().filter(|_| self.state != RunState::Failed)
    }

    /// Whether there is a run that does further steps, or can be made to.
    pub fn is_there(&self) -> bool {
        self.state.is_active() || self.state.can_continue()
    }

    /// Whether steps are being done or about to be.
    pub fn is_running(&self) -> bool {
        matches!(self.state, RunState::Starting | RunState::Running)
    }

    /// Takes an event in.
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
            EventKind::Remeasured { branch, points } => {
                self.take_up_draft(*branch);
                if let Some(branch) = self.branches.get_mut(branch) {
                    for (iteration, subiteration, sums) in points {
                        let sums = sums.iter().copied().map(Some).collect();
                        let point = RoiPoint { iteration: *iteration, subiteration: *subiteration, sums };
                        branch.points.insert(*subiteration, point);
                    }
                }
            }
            EventKind::Compared { points, .. } => {
                self.comparisons.extend(points.iter().map(|point| (point.subiteration, *point)));
            }
            EventKind::Profiled { line, points } => self.peaks.take(*line, points),
            EventKind::Explained { subiteration, explained } => {
                if let Some(record) = &mut self.record {
                    record.explained(*subiteration, *explained);
                }
                self.explained = Some(*explained);
            }
            EventKind::Paused => {
                self.state = RunState::Paused;
                self.recent_steps.clear();
            }
            EventKind::Resumed => self.state = RunState::Running,
            EventKind::Ended(reason) => self.state = RunState::Ended(*reason),
            EventKind::Failed(_) => self.state = RunState::Failed,
            EventKind::RuleMet(words) => {
                let at = self.progress().0;
                if let Some(record) = &mut self.record {
                    record.stopped_by(words);
                }
                self.marks.push((at, Mark::Rule(words.clone())));
            }
            EventKind::Notice(_) => {}
        }
    }

    fn add_iterate(&mut self, report: &IterateReport) {
        let before = self.last.as_ref().map(|last| last.accumulation);
        if before.is_some_and(|accumulation| accumulation != report.accumulation) {
            self.marks.push((report.subiteration - 1, Mark::Accumulation(report.accumulation)));
        }
        if let Some(record) = &mut self.record {
            record.add(report);
        }
        self.add_roi_point(report);
        self.stages.add(report, &self.course());
        self.steps.push(report.into());
        self.recent_steps.push_back((report.subiteration, report.elapsed));
        while self.recent_steps.len() > 2 * self.num_subsets().max(8) {
            self.recent_steps.pop_front();
        }
        self.explained = report.explained.or(self.explained);
        self.last = Some(report.clone());
    }

    /// The sums go to the branch that they were measured for, and as far as they hold to later ones (the solver measured
    /// before it knew of the edit).
    fn add_roi_point(&mut self, report: &IterateReport) {
        self.take_up_draft(report.branch);
        let Some(branch) = self.branches.get_mut(&report.branch) else { return };
        let point = RoiPoint {
            iteration: report.iteration,
            subiteration: report.subiteration,
            sums: report.roi_sums.iter().copied().map(Some).collect(),
        };
        branch.points.insert(report.subiteration, point.clone());
        if self.branches.range(report.branch + 1..).next().is_none() {
            return;
        }
        let Some(rois) = self.branches.get(&report.branch).map(|branch| branch.rois.clone()) else { return };
        for (_, later) in self.branches.range_mut(report.branch + 1..) {
            let carried = point.carried(&places(&rois, &later.rois));
            later.points.entry(report.subiteration).or_insert(carried);
        }
    }

    /// Steps of a full iteration, at least 1.
    pub fn num_subsets(&self) -> usize {
        self.info.as_ref().map_or(1, |info| info.num_subsets.max(1))
    }

    /// How the run's numbers become rows, once it is set up.
    pub fn table(&self) -> Option<RunTable> {
        self.info.as_ref().map(|info| RunTable::of(self.number, info))
    }

    /// Log-likelihood over all data of each full iteration, against the steps done before it.
    pub fn log_likelihood(&self) -> Vec<[f64; 2]> {
        self.before_iterations(|step| step.log_likelihood)
    }

    /// How far the data are from what is expected, against the same.
    pub fn residual(&self) -> Vec<[f64; 2]> {
        self.before_iterations(|step| step.residual)
    }

    fn before_iterations(&self, of: impl Fn(&StepFigures) -> Option<f64>) -> Vec<[f64; 2]> {
        let before = |step: &StepFigures| step.subiteration.saturating_sub(self.num_subsets()) as f64;
        self.steps.iter().filter_map(|step| Some([before(step), of(step)?])).collect()
    }

    /// What the race of each racy step lost, by steps done.
    pub fn race(&self) -> Vec<(usize, RaceReport)> {
        self.steps.iter().filter_map(|step| Some((step.subiteration, step.race?))).collect()
    }

    /// What its steps are called and counted by; before it is set up as if it iterated.
    pub fn course(&self) -> IterationScheme {
        self.info.as_ref().map_or(IterationScheme::ITERATIONS, |info| info.job.course())
    }

    /// Where steps done stand on the horizontal axis of curves: iterations with fractions, else what is counted.
    pub fn place(&self, subiteration: f64) -> f64 {
        if self.course().by_iteration { subiteration / self.num_subsets() as f64 } else { subiteration }
    }

    /// The steps done at a place of the horizontal axis, the nearest.
    pub fn steps_at(&self, place: f64) -> usize {
        (if self.course().by_iteration { place * self.num_subsets() as f64 } else { place }).round() as usize
    }

    /// Steps done and steps in all.
    pub fn progress(&self) -> (usize, usize) {
        let done = self.last.as_ref().map_or(0, |last| last.subiteration);
        let total = self.info.as_ref().map_or(0, |info| self.target * info.num_subsets);
        // More may come than was known of at the beginning.
        (done, if self.course().can_grow { total.max(done) } else { total })
    }

    /// Events that the newest image is of, where further ones arrive.
    pub fn num_events(&self) -> Option<usize> {
        self.last.as_ref().and_then(|last| last.num_events)
    }

    /// Steps per second lately.
    pub fn steps_per_sec(&self) -> Option<f64> {
        let (first, from) = self.recent_steps.front()?;
        let (last, to) = self.recent_steps.back()?;
        let secs = to.saturating_sub(*from).as_secs_f64();
        (last > first && secs > 0.0).then(|| (last - first) as f64 / secs)
    }

    /// Time until all iterations are done, at so many steps a second.
    pub fn remaining(&self, steps_per_sec: Option<f64>) -> Option<Duration> {
        let (done, total) = self.progress();
        let secs = total.saturating_sub(done) as f64 / steps_per_sec?;
        Duration::try_from_secs_f64(secs).ok()
    }

    /// Whether the image after so many steps comes from a race: the step that made it had one.
    pub fn had_race(&self, subiteration: usize) -> bool {
        self.record.as_ref().is_some_and(|record| record.race_at(subiteration).is_some())
    }

    /// What made the image after so many steps, filtered with a Gaussian of this width.
    pub fn provenance(&self, subiteration: usize, post_filter_mm: Option<f64>) -> Option<Provenance> {
        Some(self.record.as_ref()?.provenance(subiteration, self.target, post_filter_mm))
    }

    /// Its number and what it does, in words; `None` before it is set up.
    pub fn title(&self) -> Option<String> {
        let provenance = self.provenance(self.progress().0, None)?;
        Some(format!("run {}: {}", self.number, Provenance { progress: None, ..provenance }.line()))
    }

    /// How the step added that made the image after so many steps.
    pub fn accumulation_of(&self, subiteration: usize) -> Option<Accumulation> {
        Some(self.record.as_ref()?.accumulation_of(subiteration))
    }

    /// The accumulation in use.
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
            stages: StageTimes::default(),
            elapsed: Duration::from_millis(500 * subiteration as u64),
            branch: 1,
            roi_sums: Vec::new(),
        };
        Event { run: 3, kind: EventKind::Iterate(Box::new(report)) }
    }

    #[test]
    fn events_of_other_runs_are_ignored_and_switches_are_marked() {
        let mut live = LiveRun::asked_for(3, 1, &[], false);
        live.apply(&Event { run: 2, kind: EventKind::Ended(EndReason::Cancelled) });
        assert_eq!(live.state, RunState::Starting);
        for (step, accumulation) in [(1, Accumulation::Atomic), (2, Accumulation::NonAtomic), (3, Accumulation::NonAtomic)] {
            live.apply(&report(step, accumulation));
        }
        assert_eq!(live.marks, [(1, Mark::Accumulation(Accumulation::NonAtomic))]);
        assert_eq!(live.log_likelihood(), [[0.0, 10.0], [1.0, 20.0], [2.0, 30.0]]);
        assert_eq!(live.residual(), [[0.0, 1.0], [1.0, 2.0], [2.0, 3.0]]);
        assert_eq!(live.steps_per_sec(), Some(2.0));
        assert_eq!(live.branches[&1].points.len(), 3);
    }

    #[test]
    fn tubes_are_made_while_a_run_is_being_set_up_and_no_longer() {
        let task = Task::new();
        let mut live = LiveRun::asked_for(3, 1, &[], true).with_set_up("tubes", task.clone());
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
        let mut live = LiveRun::asked_for(3, 1, &[], false);
        live.apply(&report(1, Accumulation::Atomic));
        live.begin_branch(2, &[]);
        live.apply(&Event { run: 3, kind: EventKind::Remeasured { branch: 2, points: vec![(1, 1, Vec::new())] } });
        live.apply(&report(2, Accumulation::Atomic));
        // The second report was measured for the first branch, before the solver knew of the edit.
        assert_eq!(live.branches[&2].points.len(), 2);
        assert_eq!(live.branches[&1].points.len(), 2);
        assert_eq!(live.marks, [(1, Mark::Branch)]);
    }

    fn roi(x_mm: f64) -> Roi {
        let shape = crate::data::RoiShape::Sphere { radius_mm: 1.0 };
        Roi { role: Default::default(), ..Roi::new(String::new(), shape, [x_mm, 0.0, 0.0]) }
    }

    fn sums(sum: f64) -> RoiSums {
        RoiSums { weight: 1.0, sum, sum_of_squares: 0.0, min: 0.0, max: 0.0, num_voxels: 1 }
    }

    #[test]
    fn a_drag_is_one_edit_whose_curve_is_the_newest_that_was_measured() {
        let mut live = LiveRun::asked_for(3, 1, &[roi(0.0), roi(9.0)], false);
        let measured = |branch, sum: f64| {
            let points = vec![(1, 1, vec![sums(sum), sums(90.0)])];
            Event { run: 3, kind: EventKind::Remeasured { branch, points } }
        };
        let newest = |live: &LiveRun| {
            let (number, branch) = live.branches.iter().next_back().unwrap();
            (
                *number,
                branch.rois[0].centre_mm[0],
                branch.points[&1].sums.iter().map(|sums| sums.map(|s| s.sum)).collect::<Vec<_>>(),
            )
        };
        live.apply(&report(1, Accumulation::Atomic));
        live.apply(&measured(1, 10.0));
        // The region is dragged over three places; the measurer was fast enough for the second alone, and is late with the first.
        for (branch, x_mm) in [(2, 1.0), (3, 2.0), (4, 3.0)] {
            live.draft_branch(branch, 2, &[roi(x_mm), roi(9.0)]);
            assert_eq!(newest(&live), (1, 0.0, vec![Some(10.0), Some(90.0)]), "until its numbers come the curve stays");
        }
        live.apply(&measured(3, 30.0));
        live.apply(&measured(2, 20.0));
        assert_eq!(newest(&live), (3, 2.0, vec![Some(30.0), Some(90.0)]));
        live.apply(&measured(4, 40.0));
        assert_eq!(newest(&live), (4, 3.0, vec![Some(40.0), Some(90.0)]));
        // Beside it stands the curve from before the drag, and one mark.
        assert_eq!(live.branches.keys().copied().collect::<Vec<_>>(), [1, 4]);
        assert_eq!(live.marks, [(1, Mark::Branch)]);
        // Another drag is another edit.
        live.draft_branch(5, 5, &[roi(4.0), roi(9.0)]);
        live.apply(&measured(5, 50.0));
        assert_eq!((live.branches.keys().copied().collect::<Vec<_>>(), live.marks.len()), (vec![4, 5], 2));
    }

    #[test]
    fn rois_that_stay_keep_their_past() {
        let point = RoiPoint { iteration: 1, subiteration: 1, sums: vec![Some(sums(1.0)), Some(sums(2.0))] };
        let carried = point.carried(&places(&[roi(1.0), roi(2.0)], &[roi(3.0), roi(2.0), roi(1.0)]));
        assert_eq!(carried.sums, [None, Some(sums(2.0)), Some(sums(1.0))]);
    }
}
