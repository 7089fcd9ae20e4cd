//! View of a run: its settings, live state, images and numbers.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use super::accumulations::{GATHERED, why_not};
use super::curves::Curves;
use super::displayed_image::DisplayedImage;
use super::form::forecast::ForecastKey;
use super::form::forms::Forms;
use super::form::settings::SettingsForm;
use super::frames::series::FrameSeries;
use super::live::{LiveRun, RunState};
use super::post_filter::PostFilter;
use super::roi_edits::RoiEdits;
use crate::data::{FrameTime, MaskedRois, Modality, Roi};
use crate::operator::Accumulation;
use crate::plan::Job;
use crate::recon::AscentTuning;
use crate::render::Palette;
use crate::session::{Command, Control, Event, HistoryChange, IterateUpdate, MeasurementKey, Query, RunId, Session, StopRule};
use crate::ui::rois::measured::{MeasuredImage, TableCache};
use crate::ui::rois::state::RoiState;
use crate::ui::study::state::StudyState;
use crate::ui::widgets::colour_scale::ColourScale;

/// Display time of each image during playback.
pub(super) const PLAY_TIME: Duration = Duration::from_millis(250);

/// Environment of a run.
#[derive(Clone, Copy)]
pub struct RunInput<'a> {
    pub session: &'a Session,
    /// Server of the session, if it is remote.
    pub study: &'a StudyState,
    pub rois: &'a MaskedRois,
}

/// Time between updates of the curves, as a multiple of the time of an update, which grows with the length of a run: updates take
/// 3 % of the time at most.
const CURVES_REST: u32 = 32;

/// Settings, live state, images and numbers of a run.
#[derive(Default)]
pub struct RunView {
    /// Settings of the next run.
    pub forms: Forms,
    /// Settings of this run when it began.
    pub running: Option<Forms>,
    pub live: LiveRun,
    /// Run before this one, whose image may still be displayed.
    pub(super) previous: LiveRun,
    pub shown: DisplayedImage,
    pub colouring: ColourScale,
    /// FWHM of the post-filter, mm; 0 = none.
    pub post_filter_mm: f64,
    /// Numbers of the stored iterates.
    pub stored: Vec<usize>,
    /// Numbers of the pinned iterates.
    pub pinned: BTreeSet<usize>,
    /// Time of the last image during playback of the iterates.
    pub playing: Option<Instant>,
    /// Number of a stored iterate that is being received from the remote host.
    awaited: Option<usize>,
    /// Numbers of the ROIs on the displayed image.
    pub table: TableCache,
    /// Time frames of list-mode data.
    pub series: Option<FrameSeries>,
    curves: Curves,
    curves_are_old: bool,
    /// Earliest time of the next update of the curves.
    curves_due: Option<Instant>,
    post_filter: PostFilter,
    /// ROIs as they were sent.
    pub(super) edits: RoiEdits,
    /// Queries that were sent last, and the run of the images.
    sent_queries: BTreeMap<MeasurementKey, (RunId, Query)>,
    /// Stop rules that were sent last.
    sent_rules: Vec<StopRule>,
    /// Run that started automatically and that the user has not changed since.
    automatic: Option<RunId>,
    /// Number of runs before the study was opened.
    runs_before: RunId,
}

impl RunView {
    /// Returns a view without a run.
    pub fn new(colouring: ColourScale) -> Self {
        Self { colouring, curves_are_old: true, ..Self::default() }
    }

    /// Returns the view of the next run: with the same settings and colours, and with this image until it has one.
    pub fn next(&mut self) -> Self {
        let (previous, shown) = (self.live.clone(), self.shown.hand_over());
        let next = Self::new(self.colouring.clone());
        let (forms, sent_rules, runs_before) = (self.forms.clone(), self.sent_rules.clone(), self.runs_before);
        Self { forms, post_filter_mm: self.post_filter_mm, previous, shown, sent_rules, runs_before, ..next }
    }

    pub fn curves(&self) -> &Curves {
        &self.curves
    }

    /// Returns the input of the next run's forecast; `None` without a study.
    pub(super) fn forecast_key(&self, study: &StudyState) -> Option<ForecastKey> {
        let num_received = study.open.as_ref()?.kind().num_received().unwrap_or(study.num_made);
        let running = self.live.in_memory().map(|_| self.live.run);
        Some(ForecastKey { forms: self.forms.clone(), study: (study.number, num_received), running })
    }

    /// Starts a job with the settings of the forms. Time frames are reconstructed one after the other.
    pub fn begin(&mut self, job: Job, frames: Vec<FrameTime>, input: RunInput, paused: bool) {
        self.running = Some(self.forms.clone());
        self.shown.set_past(None);
        self.end_series(input.session);
        let limits: Vec<_> = frames.iter().map(|frame| frame.requested_ms.clone()).collect();
        let job = job.for_frames(&limits);
        self.series = FrameSeries::new(frames);
        self.series.iter_mut().for_each(|series| series.left_out.extend(job.notice_of_frames()));
        let frame_ms = self.series.as_mut().and_then(|series| series.begin(|frame_ms| input.study.has_events(frame_ms)));
        self.begin_run(frame_ms.into_iter().fold(job, Job::in_frame), input, paused);
    }

    pub(super) fn begin_run(&mut self, job: Job, input: RunInput, paused: bool) {
        // Replaces the rules of the study before.
        self.send_stop_rules(input.rois, input.session);
        let rois = self.edits.begin(input.rois);
        let branch = rois.branch;
        let run = input.session.send(Command::Start { job, rois, paused });
        if self.series.is_some() {
            input.session.send(HistoryChange::Retain(run));
        }
        let live = LiveRun::requested(run, branch, input.rois, paused).numbered_after(self.runs_before);
        let made = input.study.open.as_ref().map_or("", |open| open.kind().made_at_start());
        self.watch(live.with_set_up(made, input.session.task()));
    }

    /// Marks the run as started automatically.
    pub fn mark_automatic(&mut self) {
        self.automatic = Some(self.live.run);
    }

    /// True for a run that started automatically and that the user has not changed.
    pub fn is_automatic(&self, run: RunId) -> bool {
        self.automatic == Some(run)
    }

    /// Replaces the run. The image of the run before stays until this one has an image.
    fn watch(&mut self, live: LiveRun) {
        let before = std::mem::replace(&mut self.live, live);
        if self.shown.id().is_some_and(|id| id.run == before.run) {
            self.previous = before;
        }
        // At once: curves of the run before would be of another study.
        (self.curves_are_old, self.curves_due) = (true, None);
        self.pinned.clear();
        if !self.selects_frame() {
            self.stored.clear();
            self.playing = None;
        }
    }

    /// Clears the view for another study.
    pub fn clear(&mut self, session: &Session) {
        self.running = None;
        self.end_series(session);
        if let Some(frame) = self.shown.clear() {
            session.return_frame(frame);
        }
        self.post_filter.forget();
        self.colouring.auto_palette = true;
        self.runs_before = self.runs_before.max(self.live.run);
        self.watch(LiveRun::default());
    }

    pub fn pause(&self, session: &Session) {
        if self.live.is_running() {
            session.send(Control::Pause);
        }
    }

    pub fn resume(&self, session: &Session) {
        if self.live.state == RunState::Paused {
            session.send(Control::Resume);
        }
    }

    /// Adds iterations to a finished run; a stopped run continues to its target. All frames of a series have the same settings.
    pub fn continue_run(&mut self, session: &Session) {
        if self.series.is_none() {
            let done = self.live.progress().0 / self.live.num_subsets();
            let target = if done < self.live.target { self.live.target } else { done + self.forms.settings.num_iterations };
            self.set_target(target, session);
        }
    }

    /// Ends the run and keeps its image. During the set-up there is no image and no step.
    pub fn stop(&mut self, session: &Session) {
        self.series.iter_mut().for_each(FrameSeries::end);
        session.send(if self.live.is_being_set_up() { Control::Cancel } else { Control::Stop });
    }

    /// Displays the stored iterate of this number instead of a playback; `None`: the newest.
    pub fn choose_iterate(&mut self, number: Option<usize>, session: &Session) {
        self.playing = None;
        self.show_iterate(number, session);
    }

    /// Displays a frame by its index instead of a playback.
    pub fn choose_frame(&mut self, index: usize, session: &Session) {
        self.set_playing_frames(None);
        self.show_frame(index, session);
    }

    /// Displays the complete frames one after the other, or no longer.
    pub fn set_frame_playback(&mut self, plays: bool, session: &Session) {
        if plays {
            let first = self.series.as_ref().and_then(|series| series.stops().first().copied());
            first.into_iter().for_each(|place| self.show_frame(place, session));
        }
        self.set_playing_frames(plays.then(Instant::now));
    }

    /// Begins or ends a playback of the stored iterates.
    pub fn toggle_play(&mut self, session: &Session) {
        if self.playing.take().is_none() {
            self.show_iterate(self.stored.first().copied(), session);
            self.playing = Some(Instant::now());
        }
    }

    /// Does one step. Returns false if another run must start, which pauses after one step.
    pub fn step(&mut self, session: &Session) -> bool {
        self.automatic = None;
        let can_continue = self.live.iteration_scheme().can_continue && self.series.is_none();
        let is_over = !can_continue && matches!(self.live.state, RunState::Ended(_));
        if is_over || !(self.live.state.can_continue() || self.live.state.is_active()) {
            return false;
        }
        if self.live.state.can_continue() {
            self.live.target = self.live.target.max(self.live.progress().0 / self.live.num_subsets() + 1);
        }
        session.send(Control::StepOnce);
        true
    }

    /// Sets the form of the next run. Another number of iterations also holds for an active one.
    pub fn edit_form(&mut self, form: SettingsForm, session: &Session) {
        let num_iterations = form.num_iterations;
        let more = num_iterations != self.forms.settings.num_iterations;
        self.forms.settings = form;
        // All frames of a series have the same settings.
        if more && self.live.state.is_active() && self.series.is_none() {
            self.set_target(num_iterations, session);
            if let Some(running) = &mut self.running {
                running.settings.num_iterations = num_iterations;
            }
        }
    }

    /// Sets the accumulation of the next steps.
    ///
    /// # Errors
    /// The data or the back end of the run do not support it.
    pub fn set_accumulation(&mut self, accumulation: Accumulation, input: RunInput) -> Result<(), String> {
        let supported = input.study.open.as_ref().map_or(Accumulation::OF_LINES, |open| open.kind().accumulations());
        if supported.is_empty() {
            return Err(GATHERED.to_owned());
        }
        if !supported.contains(&accumulation) {
            return Err(format!("{accumulation} accumulation needs a system matrix"));
        }
        why_not(&self.live, accumulation).map_or(Ok(()), Err)?;
        self.forms.settings.accumulation = Some(accumulation);
        self.automatic = None;
        if self.live.has_next_step() {
            input.session.send(Control::SetAccumulation(accumulation));
        }
        Ok(())
    }

    /// Sets penalty and step size of the next steps; the form of the next run has the same penalty.
    pub fn set_tuning(&mut self, tuning: AscentTuning, session: &Session) {
        let of_variation = self.live.info.as_ref().is_some_and(|info| info.job.settings.algorithm.is_least_squares());
        let forms = [Some(&mut self.forms), self.running.as_mut()];
        for form in forms.into_iter().flatten().map(|forms| &mut forms.settings) {
            if (form.algorithm.is_least_squares()) == of_variation {
                form.parameters.extend(form.algorithm.parameters_of(tuning));
            }
        }
        self.automatic = None;
        self.live.requested_tuning = Some(tuning);
        session.send(Control::SetTuning(tuning));
    }

    fn set_target(&mut self, num_iterations: usize, session: &Session) {
        self.automatic = None;
        self.live.target = num_iterations;
        session.send(Control::SetIterations(num_iterations));
    }

    /// Displays the stored iterate of this number, in a series that of the selected frame; `None` = the newest.
    pub fn show_iterate(&mut self, number: Option<usize>, session: &Session) {
        let run = self.selected_run().run;
        let is_wanted = |[iteration, subiteration]: &[usize; 2]| Some(self.number(*iteration, *subiteration)) == number;
        let wanted = number.and_then(|_| session.stored(run).into_iter().find(is_wanted));
        let past = wanted.and_then(|[_, subiteration]| session.stored_image(run, subiteration));
        // An iterate on a remote host is displayed when it arrives.
        self.awaited = number.filter(|_| wanted.is_some() && past.is_none());
        if let Some(series) = &mut self.series {
            series.iterate = number;
            if number.is_none() {
                series.select(None);
            }
        }
        if self.awaited.is_none() {
            self.shown.set_past(past);
        }
        self.refresh_history(session);
    }

    /// Displays an awaited iterate if it has arrived.
    pub fn show_awaited(&mut self, session: &Session) {
        if self.awaited.is_some() {
            self.show_iterate(self.awaited, session);
        }
    }

    /// Pins or unpins the displayed iterate. A pinned iterate stays when the history is thinned out.
    pub fn toggle_pin(&mut self, session: &Session) {
        let Some(id) = self.shown.id().filter(|id| id.run == self.live.run) else { return };
        let number = self.number(id.iteration, id.subiteration);
        let is_pinned = !self.pinned.remove(&number);
        if is_pinned {
            self.pinned.insert(number);
        }
        session.send(HistoryChange::Pin(id.run, id.subiteration, is_pinned));
    }

    /// Displays the next image of a playback when it is due; after the last one the newest. Returns the time until the next
    /// image.
    pub fn play(&mut self, session: &Session) -> Option<Duration> {
        self.play_frames(session).or_else(|| self.play_iterates(session))
    }

    fn play_iterates(&mut self, session: &Session) -> Option<Duration> {
        let since = self.playing?.elapsed();
        if since < PLAY_TIME {
            return Some(PLAY_TIME - since);
        }
        let shown = self.past_number().unwrap_or(0);
        let next = self.stored.iter().copied().find(|number| *number > shown);
        self.show_iterate(next, session);
        self.playing = next.map(|_| Instant::now());
        next.map(|_| PLAY_TIME)
    }

    /// Sends edited ROIs to the solver, those of an earlier run to the measurer of its history ([`RoiEdits::send`]).
    pub fn send_rois(&mut self, rois: &MaskedRois, is_active: bool, is_held: bool, session: &Session) {
        if self.live.run == 0 {
            return;
        }
        self.curves_are_old |= self.edits.send(&mut self.live, rois, is_active, is_held, session);
        if let Some(series) = &mut self.series {
            series.send_rois(rois, is_held, session);
        }
    }

    /// Sends a query for a measurement of the images, unless it was sent.
    pub fn measure(&mut self, query: Query, session: &Session) {
        let (key, query) = (MeasurementKey::from(&query), (self.live.run, query));
        if self.live.info.is_some() && self.sent_queries.get(&key) != Some(&query) {
            session.send(Control::Measure(query.0, query.1.clone()));
            self.sent_queries.insert(key, query);
        }
    }

    /// Sends the stop rules if they or their ROIs have changed.
    pub fn send_stop_rules(&mut self, rois: &[Roi], session: &Session) {
        let rules = self.forms.stop.rules(rois);
        if rules != self.sent_rules {
            self.sent_rules.clone_from(&rules);
            session.send(Control::SetStopRules(rules));
        }
    }

    pub fn receive(&mut self, event: &Event) {
        self.live.apply(event);
        self.curves_are_old = true;
    }

    pub fn receive_frame(&mut self, frame: IterateUpdate, session: &Session) {
        if let Some(before) = self.shown.set_newest(frame) {
            session.return_frame(before);
        }
    }

    /// Discards the comparisons after a change of the reference.
    pub fn forget_comparisons(&mut self) {
        self.live.found.comparisons.clear();
        self.curves_are_old = true;
    }

    /// Updates the numbers of the stored iterates.
    pub fn refresh_history(&mut self, session: &Session) {
        let past = session.stored(self.selected_run().run);
        self.stored = past.iter().map(|[iteration, subiteration]| self.number(*iteration, *subiteration)).collect();
    }

    /// Updates the filtered image; calls `wake` when it is ready.
    pub fn filter(&mut self, wake: impl FnOnce() + Send + 'static) {
        self.post_filter.update(&mut self.shown, self.post_filter_mm, wake);
    }

    /// Updates colours, table and curves. Waits for the table no longer than `patience`, and calls `wake` when a later one is ready.
    pub fn derive(&mut self, rois: &mut RoiState, patience: Duration, wake: impl FnOnce() + Send + 'static) {
        let Self { shown, colouring, series, live, .. } = self;
        if colouring.auto_palette {
            colouring.set_palette(match live.modality() {
                Some(Modality::Ct | Modality::Mr) => Palette::Grey,
                // Negative values are noise.
                Some(Modality::Pet) => colouring.usual_palette,
                Some(Modality::Other(_)) | None if shown.is_signed() => Palette::Signed,
                Some(Modality::Other(_)) | None => colouring.usual_palette,
            });
        }
        shown.set_top(colouring.top);
        if colouring.auto_window {
            let window = shown.auto_window(colouring.palette);
            let key = (colouring.palette, colouring.top, shown.filter_mm().map(f64::to_bits));
            // Until the first frame has an image, that of the run before is displayed.
            let is_frame = shown.id().is_some_and(|id| series.as_ref().is_some_and(|s| s.text_of(id.run, live.run).is_some()));
            colouring.window = series.as_mut().filter(|_| is_frame).map_or(window, |series| {
                let is_final = shown.id().is_some_and(|id| series.is_final(id, live));
                series.window(key, window, is_final)
            });
        }
        let unfiltered = rois.measure_unfiltered;
        let volume = if unfiltered { self.shown.unfiltered_image() } else { self.shown.image() };
        let key = (self.live.run, self.shown.generation(), unfiltered, None);
        let image = volume.map(|volume| MeasuredImage { key, volume, minus: None });
        self.table.update(rois.masked(), image, patience, wake);
        self.derive_curves();
    }

    /// Returns the standard deviations of the means of these ROIs on the displayed image between replicates, and the number of replicates;
    /// `None` if it has none. They are those without a filter.
    pub fn roi_deviations(&self, is_unfiltered: bool, rois: &[Roi]) -> Option<(Vec<Option<f64>>, usize)> {
        let num = self.live.info.as_ref()?.job.settings.replicates()?.num;
        let id = self.shown.id().filter(|id| id.run == self.live.run)?;
        if self.shown.filter_mm().is_some() && !is_unfiltered {
            return None;
        }
        let branch = self.live.rois.newest()?;
        let point = branch.points.get(&id.subiteration)?;
        let is_measured = |(index, roi): (usize, &Roi)| branch.rois.get(index).is_some_and(|measured| measured.covers_same(roi));
        let deviation = |(index, roi)| point.deviation(index).filter(|_| is_measured((index, roi)));
        let deviations: Vec<Option<f64>> = rois.iter().enumerate().map(deviation).collect();
        deviations.iter().any(Option::is_some).then_some((deviations, num))
    }

    /// Returns true if the next frame updates the curves: those of long runs less often while they grow.
    pub fn updates_curves(&self) -> bool {
        let is_due = || self.curves_due.is_none_or(|due| due <= Instant::now());
        self.curves_are_old && (!self.live.state.is_active() || is_due())
    }

    /// Updates the curves if they are due.
    pub fn derive_curves(&mut self) {
        let begin = Instant::now();
        if self.updates_curves() {
            self.curves = Curves::of(&self.live);
            self.curves_are_old = false;
            self.curves_due = Some(Instant::now() + CURVES_REST * begin.elapsed());
        }
    }

    /// Returns the time until outdated curves can be updated.
    pub fn curves_wait(&self) -> Option<Duration> {
        self.curves_are_old.then(|| self.curves_due.map_or(Duration::ZERO, |due| due.saturating_duration_since(Instant::now())))
    }
}
