//! A run as the window shows it: a value of its own, so that several can stand side by side.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use super::action::RunAction;
use super::curves::Curves;
use super::displayed_image::DisplayedImage;
use super::form::forecast::{ForecastKey, Forecaster};
use super::form::forms::Forms;
use super::form::settings::SettingsForm;
use super::frame_series::FrameSeries;
use super::live::{LiveRun, RunState};
use super::post_filter::PostFilter;
use super::recon_panel::{GATHERED, why_not};
use super::reference::ReferenceChoice;
use super::roi_edits::RoiEdits;
use super::run_frames::has_events;
use crate::data::{FrameTime, MaskedRois, Notice, Roi};
use crate::geometry::Grid;
use crate::operator::Accumulation;
use crate::plan::{DeviceChoice, Forecast, Job};
use crate::render::Palette;
use crate::session::wire::Remote;
use crate::session::{Command, Control, Event, IterateUpdate, PeakLine, RunId, Session, StopRule};
use crate::ui::rois::measured::TableCache;
use crate::ui::rois::state::RoiState;
use crate::ui::study::open::open_study::OpenStudy;
use crate::ui::study::state::StudyState;
use crate::ui::widgets::colour_scale::ColourScale;
use crate::ui::widgets::picture_area::PictureArea;

/// How long each image is seen while the past is played.
pub(super) const PLAY_TIME: Duration = Duration::from_millis(250);

/// What a run is started from.
#[derive(Clone, Copy)]
pub struct RunInput<'a> {
    /// Where it computes.
    pub session: &'a Session,
    /// What it reconstructs.
    pub study: &'a StudyState,
    /// What it measures.
    pub rois: &'a MaskedRois,
}

/// What follows a start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AfterStart {
    /// It goes on.
    GoOn,
    /// It does one step, and holds.
    Step,
    /// It is shown how it compares with the run before.
    Compare,
}

/// What of a wish about a run concerns more than the run.
pub enum RunRequest {
    /// Starts with the settings of the forms.
    Start(AfterStart),
    /// Asks where to save the image that is shown.
    AskSaveImage,
    /// Compares it with these images, or with none.
    SetReference(Option<ReferenceChoice>),
    /// Asks where to save a picture of this part of the window.
    AskPicture(PictureArea),
    /// Keeps this run no longer.
    Dismiss(RunId),
    /// This is to be told.
    Tell(Notice),
}

/// So many times as long as the curves take to be made they then stay: they are made of all steps.
const CURVES_REST: u32 = 4;

/// A run: its settings, how it goes, its images and its numbers.
pub struct RunView {
    /// The settings of the next start.
    pub forms: Forms,
    /// The settings of the run, as they were when it began.
    pub running: Option<Forms>,
    /// How it goes.
    pub live: LiveRun,
    /// The run before, whose image may still be on the screen.
    pub(super) left: LiveRun,
    /// The image on the screen.
    pub shown: DisplayedImage,
    /// Its palette and window.
    pub colouring: ColourScale,
    /// FWHM of the Gaussian on what is shown, mm; 0 = none.
    pub post_filter_mm: f64,
    /// Numbers by which the images of the past that are kept are called.
    pub kept: Vec<usize>,
    /// Numbers of those that are never thinned out.
    pub pinned: BTreeSet<usize>,
    /// While the images of the past are shown one after the other: when the last one came.
    pub playing: Option<Instant>,
    /// The image of the past that is to be shown when it has come.
    awaited: Option<usize>,
    /// Numbers of the regions on the image on the screen.
    pub table: TableCache,
    /// The frames of a list, where they are reconstructed one after the other.
    pub series: Option<FrameSeries>,
    curves: Curves,
    curves_are_old: bool,
    /// When they may be made again.
    curves_due: Instant,
    forecaster: Forecaster,
    post_filter: PostFilter,
    /// The regions as they were sent.
    pub(super) edits: RoiEdits,
    /// The line whose peaks are measured, and the run on whose images.
    sent_line: Option<(RunId, PeakLine)>,
    /// The stop rules sent last.
    sent_rules: Vec<StopRule>,
    /// The run that started by itself and was left alone since.
    automatic: Option<RunId>,
    /// The last run before the study was opened.
    runs_before: RunId,
}

impl RunView {
    /// No run yet, whose images will have these colours; `wake` is called when something is ready.
    pub fn new(colouring: ColourScale, wake: impl Fn() + Send + Clone + 'static) -> Self {
        Self {
            forms: Forms::default(),
            running: None,
            live: LiveRun::default(),
            left: LiveRun::default(),
            shown: DisplayedImage::default(),
            colouring,
            post_filter_mm: 0.0,
            kept: Vec::new(),
            pinned: BTreeSet::new(),
            playing: None,
            awaited: None,
            table: TableCache::default(),
            series: None,
            curves: Curves::default(),
            curves_are_old: true,
            curves_due: Instant::now(),
            forecaster: Forecaster::start(wake.clone()),
            post_filter: PostFilter::start(wake),
            edits: RoiEdits::default(),
            sent_line: None,
            sent_rules: Vec::new(),
            automatic: None,
            runs_before: 0,
        }
    }

    /// The view of the run after this one: the same settings and colours, and the image on the screen until it has one of its own.
    pub fn next(&mut self, wake: impl Fn() + Send + Clone + 'static) -> Self {
        let (left, shown) = (self.live.clone(), self.shown.hand_over());
        let next = Self::new(self.colouring.clone(), wake);
        let (forms, sent_rules, runs_before) = (self.forms.clone(), self.sent_rules.clone(), self.runs_before);
        Self { forms, post_filter_mm: self.post_filter_mm, left, shown, sent_rules, runs_before, ..next }
    }

    /// What the plots draw.
    pub fn curves(&self) -> &Curves {
        &self.curves
    }

    /// What the next start will need, or why it will be refused; `None` while that is not known.
    pub fn next_start(&self) -> Option<&Result<Forecast, String>> {
        self.forecaster.known().map(|(_, forecast)| forecast)
    }

    /// Keeps the forecast of the next start up to date.
    pub fn look_ahead(&mut self, study: &StudyState, remote: Option<&Remote>) {
        let (Some(open), Some(asked)) = (&study.open, self.asked(study)) else { return };
        self.forecaster.update(asked, self.forms.job(open), self.live.in_memory(), remote);
    }

    fn asked(&self, study: &StudyState) -> Option<ForecastKey> {
        let num_received = study.open.as_ref()?.num_received().unwrap_or(study.num_made);
        let running = self.live.in_memory().map(|_| self.live.run);
        Some(ForecastKey { forms: self.forms.clone(), study: (study.number, num_received), running })
    }

    /// What a start with the settings of the forms does; `None` without a study.
    ///
    /// # Errors
    /// Why it is refused, as a sentence, where that is known already and still so.
    pub fn next_job(&mut self, study: &StudyState, remote: Option<&Remote>) -> Result<Option<Job>, String> {
        let (Some(open), Some(asked)) = (&study.open, self.asked(study)) else { return Ok(None) };
        let job = self.forms.job(open)?;
        match self.forecaster.refusal(asked, &job, self.live.in_memory(), remote) {
            Some(reason) => Err(reason),
            None => Ok(Some(job)),
        }
    }

    /// Starts this job, made of the forms: the frames one after the other, where there are some.
    pub fn begin(&mut self, job: Job, frames: Vec<FrameTime>, input: RunInput, paused: bool) {
        self.running = Some(self.forms.clone());
        self.shown.set_past(None);
        self.end_series(input.session);
        let limits: Vec<_> = frames.iter().map(|frame| frame.requested_ms.clone()).collect();
        let job = job.for_frames(&limits);
        self.series = FrameSeries::new(frames);
        self.series.iter_mut().for_each(|series| series.left_out.extend(job.notice_of_frames()));
        let frame_ms = self.series.as_mut().and_then(|series| series.begin(|frame_ms| has_events(input.study, frame_ms)));
        self.begin_run(frame_ms.into_iter().fold(job, Job::in_frame), input, paused);
    }

    pub(super) fn begin_run(&mut self, job: Job, input: RunInput, paused: bool) {
        // Not those of the study before, which the first iteration would be measured by.
        self.send_stop_rules(input.rois, input.session);
        let rois = self.edits.begin(input.rois);
        let branch = rois.branch;
        let run = input.session.send(Command::Start { job, rois, paused });
        if self.series.is_some() {
            input.session.keep(run);
        }
        let live = LiveRun::asked_for(run, branch, input.rois, paused).numbered_after(self.runs_before);
        let made = input.study.open.as_ref().map_or("", OpenStudy::made_at_start);
        self.watch(live.with_set_up(made, input.session.task()));
    }

    /// The run has started by itself.
    pub fn started_by_itself(&mut self) {
        self.automatic = Some(self.live.run);
    }

    /// Whether nobody asked for this run nor touched it.
    pub fn is_automatic(&self, run: RunId) -> bool {
        self.automatic == Some(run)
    }

    /// Watches this run from now on: nothing of the one before stays but its image, until there is another.
    fn watch(&mut self, live: LiveRun) {
        let before = std::mem::replace(&mut self.live, live);
        if self.shown.id().is_some_and(|id| id.run == before.run) {
            self.left = before;
        }
        self.curves_are_old = true;
        self.pinned.clear();
        if !self.looks_at_frame() {
            self.kept.clear();
            self.playing = None;
        }
    }

    /// Forgets the run, for another study.
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

    /// Does what concerns the run alone; the rest comes back.
    pub fn apply(&mut self, action: RunAction, input: RunInput, device: DeviceChoice) -> Option<RunRequest> {
        let session = input.session;
        let mut done = Ok(());
        match action {
            RunAction::Start => return Some(RunRequest::Start(AfterStart::GoOn)),
            RunAction::StartWith(forms) => {
                self.forms = *forms;
                return Some(RunRequest::Start(AfterStart::Compare));
            }
            RunAction::Pause if self.live.is_running() => _ = session.send(Control::Pause),
            RunAction::Resume if self.live.state == RunState::Paused => _ = session.send(Control::Resume),
            RunAction::Pause | RunAction::Resume => {}
            // Its frames would no longer be alike.
            RunAction::Continue if self.series.is_some() => {}
            RunAction::Continue => {
                let done = self.live.progress().0 / self.live.num_subsets();
                // A run that was stopped goes on to where it was to go.
                let target = if done < self.live.target { self.live.target } else { done + self.forms.settings.num_iterations };
                self.set_target(target, session);
            }
            RunAction::Step => return self.step(input.session),
            RunAction::Stop => {
                self.series.iter_mut().for_each(FrameSeries::end);
                // Before it is set up there is no image to keep, and no step to wait for.
                session.send(if self.live.is_being_set_up() { Control::Cancel } else { Control::Stop });
            }
            RunAction::SetAccumulation(accumulation) => {
                let refused = self.set_accumulation(accumulation, input);
                return refused.err().map(|reason| RunRequest::Tell(Notice::info(reason)));
            }
            RunAction::EditForm(form) => self.edit_form(*form, session),
            RunAction::EditStopForm(form) => self.forms.stop = *form,
            RunAction::ResetForm => done = input.study.open.as_ref().map_or(Ok(()), |open| self.forms.reset(open, device)),
            RunAction::ShowIterate(number) => {
                self.playing = None;
                self.show_iterate(number, session);
            }
            RunAction::ShowFrame(place) => {
                self.set_playing_frames(None);
                self.show_frame(place, session);
            }
            RunAction::PlayFrames(true) => {
                let first = self.series.as_ref().and_then(|series| series.stops().first().copied());
                first.into_iter().for_each(|place| self.show_frame(place, session));
                self.set_playing_frames(Some(Instant::now()));
            }
            RunAction::PlayFrames(false) => self.set_playing_frames(None),
            RunAction::Play(true) => {
                self.show_iterate(self.kept.first().copied(), session);
                self.playing = Some(Instant::now());
            }
            RunAction::Play(false) => self.playing = None,
            RunAction::Pin(is_pinned) => self.pin(is_pinned, session),
            RunAction::SetHistoryBytes(bytes) => {
                session.set_history_bytes(bytes);
                self.look_back(session);
            }
            RunAction::Dismiss(run) => return Some(RunRequest::Dismiss(run)),
            RunAction::SetReference(choice) => return Some(RunRequest::SetReference(choice)),
            RunAction::AskSaveImage => return Some(RunRequest::AskSaveImage),
            RunAction::AskPicture(area) => return Some(RunRequest::AskPicture(area)),
            RunAction::SetPostFilter(fwhm_mm) => {
                self.post_filter_mm = fwhm_mm;
            }
        }
        done.err().map(|reason| RunRequest::Tell(Notice::error(reason)))
    }

    /// Does one step, or asks for a start that holds after one.
    fn step(&mut self, session: &Session) -> Option<RunRequest> {
        self.automatic = None;
        let can_continue = self.live.course().can_continue && self.series.is_none();
        let is_over = !can_continue && matches!(self.live.state, RunState::Ended(_));
        if is_over || !(self.live.state.can_continue() || self.live.state.is_active()) {
            return Some(RunRequest::Start(AfterStart::Step));
        }
        if self.live.state.can_continue() {
            self.live.target = self.live.target.max(self.live.progress().0 / self.live.num_subsets() + 1);
        }
        session.send(Control::StepOnce);
        None
    }

    fn edit_form(&mut self, form: SettingsForm, session: &Session) {
        let num_iterations = form.num_iterations;
        let more = num_iterations != self.forms.settings.num_iterations;
        self.forms.settings = form;
        // All frames of a series are alike.
        if more && self.live.state.is_active() && self.series.is_none() {
            self.set_target(num_iterations, session);
            if let Some(running) = &mut self.running {
                running.settings.num_iterations = num_iterations;
            }
        }
    }

    /// Adds in this way in the next steps, unless the run's back end cannot.
    fn set_accumulation(&mut self, accumulation: Accumulation, input: RunInput) -> Result<(), String> {
        let ways = input.study.open.as_ref().map_or(Accumulation::OF_LINES, OpenStudy::accumulations);
        if ways.is_empty() {
            return Err(GATHERED.to_owned());
        }
        if !ways.contains(&accumulation) {
            return Err(format!("{accumulation} accumulation needs a system matrix"));
        }
        why_not(&self.live, accumulation).map_or(Ok(()), Err)?;
        self.forms.settings.accumulation = Some(accumulation);
        self.automatic = None;
        if self.live.is_there() {
            input.session.send(Control::SetAccumulation(accumulation));
        }
        Ok(())
    }

    fn set_target(&mut self, num_iterations: usize, session: &Session) {
        self.automatic = None;
        self.live.target = num_iterations;
        session.send(Control::SetIterations(num_iterations));
    }

    /// Shows the kept image of this number, of a series that of the frame that is looked at; or the newest.
    pub fn show_iterate(&mut self, number: Option<usize>, session: &Session) {
        let run = self.looked_at().run;
        let is_wanted = |[iteration, subiteration]: &[usize; 2]| Some(self.number(*iteration, *subiteration)) == number;
        let wanted = number.and_then(|_| session.past(run).into_iter().find(is_wanted));
        let past = wanted.and_then(|[_, subiteration]| session.past_image(run, subiteration));
        // What is kept elsewhere is shown when it has come.
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
        self.look_back(session);
    }

    /// Shows the image of the past that is awaited, if it has come.
    pub fn take_awaited(&mut self, session: &Session) {
        if self.awaited.is_some() {
            self.show_iterate(self.awaited, session);
        }
    }

    /// Keeps the full iterate on the screen, or no longer.
    fn pin(&mut self, is_pinned: bool, session: &Session) {
        let Some(id) = self.shown.id().filter(|id| id.run == self.live.run) else { return };
        let number = self.number(id.iteration, id.subiteration);
        session.pin(id.run, id.subiteration, is_pinned);
        if is_pinned {
            self.pinned.insert(number)
        } else {
            self.pinned.remove(&number)
        };
    }

    /// While the images of the past are played: shows the next when its time has come, after the last the newest again. The time
    /// until then.
    pub fn play(&mut self, session: &Session) -> Option<Duration> {
        self.play_frames(session).or_else(|| self.play_iterates(session))
    }

    fn play_iterates(&mut self, session: &Session) -> Option<Duration> {
        let since = self.playing?.elapsed();
        if since < PLAY_TIME {
            return Some(PLAY_TIME - since);
        }
        let shown = self.past_number().unwrap_or(0);
        let next = self.kept.iter().copied().find(|number| *number > shown);
        self.show_iterate(next, session);
        self.playing = next.map(|_| Instant::now());
        next.map(|_| PLAY_TIME)
    }

    /// Sends edited regions to the solver, of a run that is kept to what measures its past ([`RoiEdits::send`]).
    pub fn send_rois(&mut self, rois: &MaskedRois, is_active: bool, is_held: bool, session: &Session) {
        if self.live.run == 0 {
            return;
        }
        self.curves_are_old |= self.edits.send(&mut self.live, rois, is_active, is_held, session);
        if let Some(series) = &mut self.series {
            series.send_rois(rois, is_held, session);
        }
    }

    /// Lets the peaks along a line through its images be measured, or no longer.
    pub fn send_line(&mut self, line: impl Fn(&Grid) -> Option<PeakLine>, session: &Session) {
        let Some(info) = &self.live.info else { return };
        let line = line(info.job.grid()).map(|line| (self.live.run, line));
        if line != self.sent_line {
            self.sent_line = line;
            session.measure_peaks(self.live.run, line.map(|(_, line)| line));
        }
    }

    /// Sends the rules that the run is to stop by, where they were edited or the ROIs changed that they look at.
    pub fn send_stop_rules(&mut self, rois: &[Roi], session: &Session) {
        let rules = self.forms.stop.rules(rois);
        if rules != self.sent_rules {
            self.sent_rules.clone_from(&rules);
            session.send(Control::SetStopRules(rules));
        }
    }

    /// Takes an event in.
    pub fn receive(&mut self, event: &Event) {
        self.live.apply(event);
        self.curves_are_old = true;
    }

    /// Takes the newest image in.
    pub fn receive_frame(&mut self, frame: IterateUpdate, session: &Session) {
        if let Some(before) = self.shown.set_newest(frame) {
            session.return_frame(before);
        }
    }

    /// Forgets how its images compare with others: the reference is another one.
    pub fn forget_comparisons(&mut self) {
        self.live.comparisons.clear();
        self.curves_are_old = true;
    }

    /// Looks which images are kept.
    pub fn look_back(&mut self, session: &Session) {
        let past = session.past(self.looked_at().run);
        self.kept = past.iter().map(|[iteration, subiteration]| self.number(*iteration, *subiteration)).collect();
    }

    /// Keeps the filtered image up to date.
    pub fn filter(&mut self) {
        self.post_filter.keep_up(&mut self.shown, self.post_filter_mm);
    }

    /// Brings colours, table and curves up to date.
    pub fn derive(&mut self, rois: &mut RoiState) {
        let Self { shown, colouring, series, live, .. } = self;
        if colouring.auto_palette {
            colouring.set_palette(if shown.is_signed() { Palette::Signed } else { colouring.usual_palette });
        }
        shown.set_top(colouring.top);
        if colouring.auto_window {
            let window = shown.auto_window(colouring.palette);
            let key = (colouring.palette, colouring.top, shown.filter_mm().map(f64::to_bits));
            // What was on the screen before the first frame has one is none of them.
            let is_frame = shown.id().is_some_and(|id| series.as_ref().is_some_and(|s| s.text_of(id.run, live.run).is_some()));
            colouring.window = series.as_mut().filter(|_| is_frame).map_or(window, |series| series.window(key, window));
        }
        let unfiltered = rois.measure_unfiltered;
        match if unfiltered { self.shown.unfiltered() } else { self.shown.volume() } {
            Some(volume) => self.table.update(rois.masked(), volume, (self.shown.generation(), unfiltered)),
            None => self.table = TableCache::default(),
        }
        self.derive_curves();
    }

    /// Brings the curves up to date, of long runs as often as a part of the time allows.
    pub fn derive_curves(&mut self) {
        let begin = Instant::now();
        if self.curves_are_old && self.curves_due <= begin {
            self.curves = Curves::of(&self.live);
            self.curves_are_old = false;
            self.curves_due = Instant::now() + CURVES_REST * begin.elapsed();
        }
    }

    /// After what time the curves, which are not up to date, may be made again.
    pub fn curves_wait(&self) -> Option<Duration> {
        self.curves_are_old.then(|| self.curves_due.saturating_duration_since(Instant::now()))
    }
}
