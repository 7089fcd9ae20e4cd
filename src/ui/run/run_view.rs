//! A run as the window shows it: a value of its own, so that several can stand side by side.

use super::action::RunAction;
use super::curves::Curves;
use super::forecast::{Asked, Forecaster};
use super::forms::Forms;
use super::live::{LiveRun, RunState};
use super::post_filter::PostFilter;
use super::recon_panel::{GATHERED, why_not};
use super::settings::SettingsForm;
use super::shown::{IterateId, Past, Shown};
use crate::data::{MaskedRois, Notice};
use crate::operator::Accumulation;
use crate::plan::{DeviceChoice, Forecast, Provenance};
use crate::render::Palette;
use crate::session::{Command, Event, Frame, Kept, RoiSet, RunId, Session};
use crate::ui::rois::measured::TableCache;
use crate::ui::rois::state::RoiState;
use crate::ui::study::open_study::OpenStudy;
use crate::ui::study::state::StudyState;
use crate::ui::widgets::colouring::Colouring;
use crate::ui::widgets::format;

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

/// What of a wish about a run concerns more than the run.
pub enum RunRequest {
    /// Asks where to save the image that is shown.
    AskSaveImage,
    /// Compares it with this run, or with none.
    SetReference(Option<RunId>),
    /// This is to be told.
    Tell(Notice),
}

/// A run: its settings, how it goes, its images and its numbers.
pub struct RunView {
    /// The settings of the next start.
    pub forms: Forms,
    /// The settings of the run, as they were when it began.
    pub running: Option<Forms>,
    /// How it goes.
    pub live: LiveRun,
    /// The run before, whose image may still be on the screen.
    left: LiveRun,
    /// The image on the screen.
    pub shown: Shown,
    /// Its palette and window.
    pub colouring: Colouring,
    /// FWHM of the Gaussian on what is shown, mm; 0 = none.
    pub post_filter_mm: f64,
    /// Numbers by which the images of the past that are kept are called.
    pub kept: Vec<usize>,
    /// Numbers of the regions on the image on the screen.
    pub table: TableCache,
    curves: Curves,
    curves_are_old: bool,
    forecaster: Forecaster,
    post_filter: PostFilter,
    /// Number of the ROI edit sent last, and its ROIs.
    branch: u64,
    sent_rois: MaskedRois,
    /// The run that started by itself and was left alone since.
    automatic: Option<RunId>,
}

impl RunView {
    /// No run yet, whose images will have these colours; `wake` is called when something is ready.
    pub fn new(colouring: Colouring, wake: impl Fn() + Send + Clone + 'static) -> Self {
        Self {
            forms: Forms::default(),
            running: None,
            live: LiveRun::default(),
            left: LiveRun::default(),
            shown: Shown::default(),
            colouring,
            post_filter_mm: 0.0,
            kept: Vec::new(),
            table: TableCache::default(),
            curves: Curves::default(),
            curves_are_old: true,
            forecaster: Forecaster::start(wake.clone()),
            post_filter: PostFilter::start(wake),
            branch: 0,
            sent_rois: MaskedRois::default(),
            automatic: None,
        }
    }

    /// No run yet either, with the same settings for the next start and for what is shown.
    pub fn beside(&self, wake: impl Fn() + Send + Clone + 'static) -> Self {
        Self { forms: self.forms.clone(), post_filter_mm: self.post_filter_mm, ..Self::new(self.colouring.clone(), wake) }
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
    pub fn look_ahead(&mut self, study: &StudyState) {
        let (Some(open), Some(asked)) = (&study.open, self.asked(study)) else { return };
        self.forecaster.update(asked, self.forms.job(open), self.live.info.as_ref());
    }

    /// Why the next start will be refused, where that is known of just these settings.
    fn refusal(&self, study: &StudyState) -> Option<String> {
        let (asked, forecast) = self.forecaster.known()?;
        forecast.as_ref().err().filter(|_| self.asked(study).as_ref() == Some(asked)).cloned()
    }

    fn asked(&self, study: &StudyState) -> Option<Asked> {
        let num_received = match study.open.as_ref()? {
            OpenStudy::Counts(_) | OpenStudy::Pairs(_) => study.num_made,
            OpenStudy::Sweep(open) => open.acquisition.num_complete(),
        };
        let running = self.live.info.as_ref().map(|_| self.live.run);
        Some(Asked { forms: self.forms.clone(), study: (study.number, num_received), running })
    }

    /// Starts with the settings of the forms, unless it is known to be refused: then the run before stays as it is.
    ///
    /// # Errors
    /// Why it does not start, as a sentence.
    pub fn start(&mut self, input: RunInput, paused: bool) -> Result<(), String> {
        let Some(open) = &input.study.open else { return Ok(()) };
        let job = self.forms.job(open).and_then(|job| self.refusal(input.study).map_or(Ok(job), Err));
        // Memory may be free by the next try.
        let job = job.inspect_err(|_| self.forecaster.forget())?;
        self.running = Some(self.forms.clone());
        self.branch += 1;
        self.sent_rois = input.rois.clone();
        let rois = RoiSet { branch: self.branch, rois: self.sent_rois.clone() };
        let run = input.session.send(Command::Start { job, rois, paused });
        self.shown.set_past(None);
        let live = LiveRun::asked_for(run, self.branch, &self.sent_rois, paused);
        self.watch(live.with_set_up(open.made_at_start(), input.session.task()));
        Ok(())
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
        self.kept.clear();
        self.curves_are_old = true;
    }

    /// Forgets the run, for another study.
    pub fn clear(&mut self, session: &Session) {
        self.running = None;
        if let Some(frame) = self.shown.clear() {
            session.return_frame(frame);
        }
        self.post_filter.forget();
        self.colouring.auto_palette = true;
        self.watch(LiveRun::default());
    }

    /// Does what concerns the run alone; the rest comes back.
    pub fn apply(&mut self, action: RunAction, input: RunInput, device: DeviceChoice) -> Option<RunRequest> {
        let session = input.session;
        let mut done = Ok(());
        match action {
            RunAction::Start => done = self.start(input, false),
            RunAction::Pause if self.live.is_running() => _ = session.send(Command::Pause),
            RunAction::Resume if self.live.state == RunState::Paused => _ = session.send(Command::Resume),
            RunAction::Pause | RunAction::Resume => {}
            RunAction::Continue => {
                let target = self.live.progress().0 / self.live.num_subsets() + self.forms.counts.num_iterations;
                self.set_target(target, session);
            }
            RunAction::Step => done = self.step(input),
            // Before it is set up there is no image to keep, and no step to wait for.
            RunAction::Stop if self.live.is_being_set_up() => _ = session.send(Command::Cancel),
            RunAction::Stop => _ = session.send(Command::Stop),
            RunAction::Cancel => _ = session.send(Command::Cancel),
            RunAction::SetAccumulation(accumulation) => {
                let refused = self.set_accumulation(accumulation, input);
                return refused.err().map(|reason| RunRequest::Tell(Notice::info(reason)));
            }
            RunAction::EditForm(form) => self.edit_form(*form, session),
            RunAction::EditFbpForm(form) => self.forms.fbp = *form,
            RunAction::ResetForm => done = input.study.open.as_ref().map_or(Ok(()), |open| self.forms.reset(open, device)),
            RunAction::ShowIterate(number) => self.show_iterate(number, session),
            RunAction::SetReference(run) => return Some(RunRequest::SetReference(run)),
            RunAction::AskSaveImage => return Some(RunRequest::AskSaveImage),
            RunAction::SetPostFilter(fwhm_mm) => {
                self.post_filter_mm = fwhm_mm;
                if fwhm_mm <= 0.0 {
                    self.shown.set_filtered(None);
                    self.post_filter.forget();
                }
            }
        }
        done.err().map(|reason| RunRequest::Tell(Notice::error(reason)))
    }

    fn step(&mut self, input: RunInput) -> Result<(), String> {
        self.automatic = None;
        let mut started = Ok(());
        if !self.live.course().can_continue && matches!(self.live.state, RunState::Ended(_)) {
            started = self.start(input, true);
        } else if self.live.state.can_continue() {
            self.live.target = self.live.target.max(self.live.progress().0 / self.live.num_subsets() + 1);
        } else if !self.live.state.is_active() {
            started = self.start(input, true);
        }
        input.session.send(Command::StepOnce);
        started
    }

    fn edit_form(&mut self, form: SettingsForm, session: &Session) {
        let num_iterations = form.num_iterations;
        let more = num_iterations != self.forms.counts.num_iterations;
        self.forms.counts = form;
        if more && self.live.state.is_active() {
            self.set_target(num_iterations, session);
            if let Some(running) = &mut self.running {
                running.counts.num_iterations = num_iterations;
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
            return Err(format!("only backprojections with a stored matrix add in the {accumulation} way"));
        }
        why_not(&self.live, accumulation).map_or(Ok(()), Err)?;
        self.forms.counts.accumulation = Some(accumulation);
        self.automatic = None;
        if self.live.is_there() {
            input.session.send(Command::SetAccumulation(accumulation));
        }
        Ok(())
    }

    fn set_target(&mut self, num_iterations: usize, session: &Session) {
        self.automatic = None;
        self.live.target = num_iterations;
        session.send(Command::SetIterations(num_iterations));
    }

    fn show_iterate(&mut self, number: Option<usize>, session: &Session) {
        let past = number.and_then(|wanted| {
            let Kept { run, iteration, subiteration, volume, extremes } = session
                .history(self.live.run)
                .into_iter()
                .find(|kept| self.number(kept.iteration, kept.subiteration) == wanted)?;
            Some(Past { id: IterateId { run, iteration, subiteration }, volume, extremes })
        });
        self.shown.set_past(past);
    }

    /// Sends edited regions to the solver. Names and roles do not concern it.
    pub fn send_rois(&mut self, rois: &MaskedRois, session: &Session) {
        if self.live.run == 0 || self.sent_rois == *rois {
            return;
        }
        let none_moved = self.sent_rois.len() == rois.len() && rois.iter().zip(&*self.sent_rois).all(|(a, b)| a.covers_same(b));
        self.sent_rois = rois.clone();
        if none_moved {
            self.live.rename_rois(self.branch, rois);
        } else {
            self.branch += 1;
            self.live.begin_branch(self.branch, rois);
            session.send(Command::SetRois(RoiSet { branch: self.branch, rois: rois.clone() }));
        }
        self.curves_are_old = true;
    }

    /// Takes an event in.
    pub fn receive(&mut self, event: &Event) {
        self.live.apply(event);
        self.curves_are_old = true;
    }

    /// Takes the newest image in.
    pub fn receive_frame(&mut self, frame: Frame, session: &Session) {
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
        let past = session.history(self.live.run);
        self.kept = past.iter().map(|kept| self.number(kept.iteration, kept.subiteration)).collect();
    }

    /// Keeps the filtered image up to date.
    pub fn filter(&mut self) {
        if let Some(filtered) = self.post_filter.poll()
            && self.post_filter_mm > 0.0
        {
            self.shown.set_filtered(Some(filtered));
        }
        if self.post_filter_mm > 0.0
            && let Some((id, volume)) = self.shown.chosen()
        {
            self.post_filter.ask(id, volume, self.post_filter_mm);
        }
    }

    /// Brings colours, table and curves up to date.
    pub fn derive(&mut self, rois: &mut RoiState) {
        let Self { shown, colouring, .. } = self;
        if colouring.auto_palette {
            colouring.set_palette(if shown.is_signed() { Palette::Signed } else { colouring.usual_palette });
        }
        shown.set_top(colouring.top);
        if colouring.auto_window {
            colouring.window = shown.auto_window(colouring.palette);
        }
        let unfiltered = rois.measure_unfiltered;
        match if unfiltered { self.shown.unfiltered() } else { self.shown.volume() } {
            Some(volume) => self.table.update(rois.masked(), volume, (self.shown.generation(), unfiltered)),
            None => self.table = TableCache::default(),
        }
        if std::mem::take(&mut self.curves_are_old) {
            self.curves = Curves::of(&self.live);
        }
    }

    /// The number by which an image is called.
    fn number(&self, iteration: usize, subiteration: usize) -> usize {
        self.live.course().number(iteration, subiteration)
    }

    /// The number of the image of the past on the screen, if it is one.
    pub fn past_number(&self) -> Option<usize> {
        let (id, _) = self.shown.chosen().filter(|_| self.shown.is_past())?;
        Some(self.number(id.iteration, id.subiteration))
    }

    /// Unit of the image on the screen.
    pub fn unit(&self) -> &'static str {
        self.shown.volume().map_or("", |volume| volume.unit.label())
    }

    /// The image on the screen and the run that made it: the one that is watched, or still the one before.
    pub fn shown_of(&self) -> Option<(IterateId, &LiveRun)> {
        let id = self.shown.id()?;
        [&self.live, &self.left].into_iter().find(|live| live.run == id.run).map(|live| (id, live))
    }

    /// What is on the screen, in words.
    pub fn shown_words(&self) -> String {
        let Some((id, live)) = self.shown_of() else { return String::new() };
        let (subsets, course) = (live.num_subsets(), live.course());
        let mut words = match (id.subiteration, id.subiteration % subsets) {
            (0, _) if !course.by_iteration => format!("no {} yet", course.counted),
            (number, _) if !course.by_iteration => course.words(number),
            (0, _) => "start image".to_owned(),
            (_, 0) => format!("iteration {}", id.iteration),
            (_, subset) => format!("iteration {}, after subset {subset} of {subsets}", id.iteration),
        };
        if live.run != self.live.run {
            words += " of the run before";
        }
        if let Some(fwhm_mm) = self.shown.filter_mm() {
            words += &format!(", {}", format::filtered(fwhm_mm));
        }
        words
    }

    /// What made the image on the screen: the run that is watched or the one before, at the iterate and with the filter of
    /// this very image.
    pub fn provenance(&self) -> Option<Provenance> {
        let (id, run) = self.shown_of()?;
        run.provenance(id.subiteration, self.shown.filter_mm())
    }

    /// The same in words.
    pub fn provenance_words(&self) -> String {
        let (Some((_, run)), Some(provenance)) = (self.shown_of(), self.provenance()) else { return String::new() };
        let before = if run.run == self.live.run { "" } else { "the run before: " };
        format!("{before}{}", provenance.line())
    }
}
