//! Runs of the window: the active one, earlier ones with their settings and history, and the reference that images are compared
//! with.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use super::displayed_image::DisplayedImage;
use super::form::forecast::Forecaster;
use super::form::forms::Forms;
use super::reference::{Reference, ReferenceChoice, ReferenceImage};
use super::run_view::{RunInput, RunView};
use crate::data::{IterateId, MaskedRois, Notice, Volume};
use crate::geometry::Grid;
use crate::io::read_volume;
use crate::plan::{Forecast, Job};
use crate::remote::Remote;
use crate::session::{
    Answer, CompareWith, Control, Event, EventKind, HistoryChange, LATEST_RUN, PeakLine, Query, ReferenceId, RoiSet, RunId,
    Session, StoredIterate,
};
use crate::task::BackgroundTask;
use crate::ui::study::state::StudyState;

/// Image of a file with notices, or the reason why it could not be read.
type ReadImage = Result<(Volume, Vec<Notice>), String>;

/// Largest number of runs, the active one included.
pub const MAX_RUNS: usize = 4;

#[derive(Default)]
pub struct Runs {
    active: RunView,
    kept: Vec<RunView>,
    forecaster: Forecaster,
    reference: Option<Reference>,
    /// Titles and settings of the runs of a restored session.
    pub remembered: Vec<(String, Forms)>,
    /// Name and image of a file that is being read as the reference.
    reading: Option<(String, BackgroundTask<ReadImage>)>,
    /// Images of the reference, and the regions over which images are compared with them.
    compared_with: Option<CompareWith>,
    compared_rois: MaskedRois,
    /// Image of the reference that is compared with the displayed one.
    beside: ReferenceImage,
    /// True if the user has chosen the reference, or none. Else each run is compared with the run before it.
    is_reference_chosen: bool,
}

impl Runs {
    /// Returns one run without earlier ones.
    pub fn new(active: RunView) -> Self {
        Self { active, ..Self::default() }
    }

    pub fn active(&self) -> &RunView {
        &self.active
    }

    pub fn active_mut(&mut self) -> &mut RunView {
        &mut self.active
    }

    /// Returns the earlier runs, oldest first.
    pub fn kept(&self) -> &[RunView] {
        &self.kept
    }

    /// Returns the forecast of the next run, or the reason of its refusal; `None` while it is unknown.
    pub fn forecast(&self) -> Option<&Result<Forecast, String>> {
        self.forecaster.known()
    }

    /// Updates the forecast of the next run; calls `wake` when it is ready.
    pub fn update_forecast(&mut self, study: &StudyState, remote: Option<&Remote>, wake: impl FnOnce() + Send + 'static) {
        let Self { active, forecaster, .. } = self;
        if let (Some(open), Some(key)) = (&study.open, active.forecast_key(study)) {
            forecaster.update(key, || active.forms.job(open), active.live.in_memory(), remote, wake);
        }
    }

    /// Returns the job of the next run; `None` without a study.
    ///
    /// # Errors
    /// The forms are invalid, or the run is refused; the reason is a sentence.
    fn next_job(&self, study: &StudyState) -> Result<Option<Job>, String> {
        let Self { active, forecaster, .. } = self;
        let (Some(open), Some(key)) = (&study.open, active.forecast_key(study)) else { return Ok(None) };
        let job = active.forms.job(open)?;
        forecaster.refusal(&key).map_or(Ok(Some(job)), |reason| Err(reason.to_owned()))
    }

    /// Starts another run with the settings of the forms. A measured run before it stays with its curves and history, and is the
    /// reference unless the user has chosen another one. Series of time frames do not stay.
    ///
    /// # Errors
    /// The run is refused; the reason is a sentence. Nothing changes.
    pub fn start(&mut self, input: RunInput, paused: bool) -> Result<(), String> {
        let Some(job) = self.next_job(input.study)? else { return Ok(()) };
        // List-mode data that still arrive give one image.
        let is_whole = job.data().events().is_some() && job.data().growing_list().is_none();
        let frames_ms = if is_whole { self.active.forms.settings.frames()? } else { Vec::new() };
        if !frames_ms.is_empty() && !frames_ms.iter().any(|frame_ms| input.study.has_events(frame_ms)) {
            return Err("none of the frames has an event of this list; give others, or none for all of it".into());
        }
        // The last run of a series is not the whole series.
        if self.active.live.is_measured() && self.active.series.is_none() {
            self.refer_to_active(input.session);
            self.keep_active(input.session);
        }
        let list = input.study.list().map(|open| &open.list);
        let frames = list.map(|list| frames_ms.iter().map(|frame_ms| list.frame_time(frame_ms)).collect()).unwrap_or_default();
        self.active.begin(job, frames, input, paused);
        Ok(())
    }

    /// Adds the active run to the earlier ones. Beyond [`MAX_RUNS`], the oldest one that is not the reference is discarded.
    fn keep_active(&mut self, session: &Session) {
        session.send(HistoryChange::Retain(self.active.live.run));
        let next = self.active.next();
        self.kept.push(std::mem::replace(&mut self.active, next));
        while self.kept.len() >= MAX_RUNS {
            let oldest = self.kept.iter().map(|view| view.live.run).find(|run| !self.is_reference(*run));
            oldest.into_iter().for_each(|run| self.dismiss(run, session));
        }
    }

    /// Makes the active run the reference of the next one, unless the user has chosen one, or unless this run alone had a race
    /// condition.
    fn refer_to_active(&mut self, session: &Session) {
        let has_race = self.active.live.has_race();
        let is_race_beside_none = has_race && self.reference.as_ref().is_some_and(|reference| !reference.has_race);
        if !(self.is_reference_chosen || is_race_beside_none) {
            self.refer_to(Some(self.active.live.run), session);
        }
    }

    pub fn reference(&self) -> Option<&Reference> {
        self.reference.as_ref()
    }

    /// Sets the reference of the active run and those after it: a run, one iterate, or none. The session stores its images.
    ///
    /// # Errors
    /// The iterate is not stored; the reference stays, and the error is a sentence.
    fn set_reference(&mut self, choice: Option<ReferenceChoice>, session: &Session) -> Result<(), String> {
        let mut views = std::iter::once(&self.active).chain(&self.kept);
        let live = choice.and_then(|choice| views.find(|view| view.live.run == choice.run)).map(|view| &view.live);
        let found = live.zip(choice).and_then(|(live, choice)| {
            let job = &live.info.as_ref()?.job;
            let (title, grid, course) = (live.title()?, job.grid().clone(), job.iteration_scheme());
            let has_race = live.has_race();
            let (run_number, unit) = (live.number, course.unit);
            Some(Reference { choice, run_number, subiteration: None, title, grid, course, unit, has_race })
        });
        let mut image = None;
        let next = match found {
            Some(Reference { choice: choice @ ReferenceChoice { run, number: Some(number) }, run_number, course, .. }) => {
                let past = session.stored(run).into_iter().find(|[i, s]| course.number(*i, *s) == number);
                image = past.and_then(|[_, subiteration]| session.stored_image(run, subiteration));
                let Some(image) = &image else {
                    let name = choice.text(run_number, &course);
                    if past.is_some() {
                        return Err(format!("{name} is being received from the remote host: select it again in a moment"));
                    }
                    return Err(format!("{name} was discarded: pin an iterate while it is stored to compare with it"));
                };
                found.map(|found| Reference { subiteration: Some(image.id.subiteration), ..found })
            }
            other => other,
        };
        self.replace_reference(next, image, session);
        Ok(())
    }

    /// Compares with these images, or with none.
    fn replace_reference(&mut self, next: Option<Reference>, image: Option<StoredIterate>, session: &Session) {
        if let Some(next) = next.as_ref().filter(|next| !next.is_file()) {
            session.send(HistoryChange::Retain(next.run()));
        }
        let with = next.as_ref().map(|next| self.beside.fix(next, image));
        let before = std::mem::replace(&mut self.reference, next);
        let stays = |run: RunId| self.kept.iter().any(|view| view.live.run == run) || self.is_reference(run);
        if let Some(before) = before.filter(|before| !before.is_file() && !stays(before.run())) {
            session.send(HistoryChange::Release(before.run()));
        }
        self.active.forget_comparisons();
        self.compared_with = with;
        self.compare(session);
    }

    /// Begins to read the image of a file as the reference; calls `wake` at its end.
    pub fn read_reference(&mut self, path: &Path, wake: impl FnOnce() + Send + 'static) {
        let name = path.file_name().map_or_else(|| path.display().to_string(), |name| name.to_string_lossy().into_owned());
        let of = path.to_owned();
        let read = move |_: &_| -> ReadImage { read_volume(&of).map_err(|error| error.to_string()) };
        self.reading = Some((name, BackgroundTask::start("reference", wake, read)));
    }

    /// Takes an image that was read as the reference. Returns its notices, or the reason why it could not be read.
    pub fn receive_reference(&mut self, session: &Session) -> Option<Result<Vec<Notice>, String>> {
        let outcome = self.reading.as_ref()?.1.poll()?;
        let (name, _) = self.reading.take()?;
        let outcome = outcome.unwrap_or_else(|failure| Err(failure.to_string()));
        Some(outcome.map(|(volume, notices)| {
            let reference = Reference::of_file(name, &volume);
            let image = StoredIterate { id: IterateId::FILE, extremes: volume.extremes(), volume: Arc::new(volume) };
            self.replace_reference(Some(reference), Some(image), session);
            self.is_reference_chosen = true;
            notices
        }))
    }

    /// Requests the comparison with the reference over the present regions.
    fn compare(&self, session: &Session) {
        let rois = RoiSet { branch: 0, rois: self.compared_rois.clone() };
        session.send(Control::Measure(LATEST_RUN, Query::Similarity((self.compared_with.clone(), rois))));
    }

    /// Sets the reference that the user has chosen.
    ///
    /// # Errors
    /// The iterate is not stored; the reference stays, and the error is a sentence.
    pub fn choose_reference(&mut self, choice: Option<ReferenceChoice>, session: &Session) -> Result<(), String> {
        self.set_reference(choice, session)?;
        self.is_reference_chosen = true;
        Ok(())
    }

    /// Sets the reference to a whole run, or none.
    fn refer_to(&mut self, run: Option<RunId>, session: &Session) {
        // Only a single iterate is refused.
        let _ = self.set_reference(run.map(ReferenceChoice::run), session);
    }

    fn is_reference(&self, run: RunId) -> bool {
        self.reference.as_ref().is_some_and(|reference| reference.run() == run)
    }

    /// Discards an earlier run and its images.
    pub fn dismiss(&mut self, run: RunId, session: &Session) {
        if self.is_reference(run) {
            self.refer_to(None, session);
            self.is_reference_chosen = false;
        }
        for mut view in self.kept.extract_if(.., |view| view.live.run == run) {
            view.clear(session);
            session.send(HistoryChange::Release(run));
        }
    }

    /// Clears all runs for another study.
    pub fn clear(&mut self, session: &Session) {
        self.reading = None;
        self.refer_to(None, session);
        self.is_reference_chosen = false;
        self.remembered.clear();
        while let Some(view) = self.kept.last() {
            self.dismiss(view.live.run, session);
        }
        self.active.clear(session);
    }

    fn all_mut(&mut self) -> impl Iterator<Item = &mut RunView> {
        std::iter::once(&mut self.active).chain(&mut self.kept)
    }

    /// Returns the reference and its compared image, if the active run has a reference.
    pub fn beside(&self) -> Option<(&Reference, &ReferenceImage)> {
        let reference = self.reference.as_ref().filter(|reference| reference.is_for(self.active.live.run));
        reference.map(|reference| (reference, &self.beside))
    }

    /// Returns the reference image, for its upload.
    pub fn beside_mut(&mut self) -> &mut DisplayedImage {
        &mut self.beside.shown
    }

    /// Updates the reference image that is compared with the displayed one; calls `wake` when it is filtered.
    pub fn link(&mut self, session: &Session, wake: impl FnOnce() + Send + 'static) {
        let Self { active, reference, beside, .. } = self;
        let reference = reference.as_ref().filter(|reference| reference.is_for(active.live.run));
        beside.show(reference.zip(active.shown_number()), active.post_filter_mm, session, wake);
    }

    /// Requests the measurement of edited ROIs on the images of all runs; `is_held`: during a drag.
    pub fn send_rois(&mut self, rois: &MaskedRois, is_held: bool, session: &Session) {
        if !is_held && self.compared_rois != *rois {
            self.compared_rois = rois.clone();
            if self.compared_with.is_some() {
                self.compare(session);
            }
        }
        self.active.send_stop_rules(rois, session);
        self.active.send_rois(rois, true, is_held, session);
        self.kept.iter_mut().for_each(|view| view.send_rois(rois, false, is_held, session));
    }

    /// Requests the measurement of the peaks along a line on the images of all runs, or ends it.
    pub fn send_line(&mut self, line: impl Fn(&Grid) -> Option<PeakLine>, session: &Session) {
        for view in self.all_mut() {
            let line = view.live.info.as_ref().and_then(|info| line(info.job.grid()));
            view.measure(Query::Peaks(line), session);
        }
    }

    /// Updates the curves of the earlier runs.
    pub fn derive_kept(&mut self) {
        self.kept.iter_mut().for_each(RunView::derive_curves);
    }

    /// Returns the time until outdated curves can be updated.
    pub fn curves_wait(&self) -> Option<Duration> {
        std::iter::once(&self.active).chain(&self.kept).filter_map(RunView::curves_wait).min()
    }

    /// Updates the numbers of the stored iterates of each run.
    pub fn refresh_history(&mut self, session: &Session) {
        self.all_mut().for_each(|view| view.refresh_history(session));
    }

    pub fn of_mut(&mut self, run: RunId) -> Option<&mut RunView> {
        self.all_mut().find(|view| view.live.run == run)
    }

    /// Receives an event. Returns true if it belongs to one of the runs.
    pub fn receive(&mut self, event: &Event) -> bool {
        // Comparisons with an earlier reference are outdated.
        let is_ours = |id: ReferenceId| self.reference.as_ref().is_some_and(|reference| reference.id() == id);
        if matches!(event.kind, EventKind::Measured(Answer::Similarity((reference, _))) if !is_ours(reference)) {
            return false;
        }
        if let (EventKind::Iterate(report), Some(reference)) = (&event.kind, &mut self.reference) {
            reference.has_race |= reference.run() == event.run && report.race.is_some();
        }
        // The last frame of a series is also the active run.
        let is_of_frame = self.active.series.as_mut().is_some_and(|series| series.receive(event));
        self.of_mut(event.run).map(|view| view.receive(event)).is_some() || is_of_frame
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Counts, Michelogram, Study};
    use crate::plan::{Job, RunSettings, default_settings};
    use crate::render::Palette;
    use crate::session::{Command, Comparison, EndReason, IterateUpdate};
    use crate::ui::rois::state::RoiState;
    use crate::ui::run::live::{LiveRun, RunState};
    use crate::ui::widgets::colour_scale::ColourScale;

    #[test]
    fn of_two_runs_each_hears_what_is_said_of_it() {
        let view = |run| {
            let mut view = RunView::new(ColourScale::automatic(Palette::Grey));
            view.live = LiveRun::requested(run, 0, &[], false);
            view
        };
        let mut runs = Runs { kept: vec![view(1)], ..Runs::new(view(2)) };
        let ended = |run, reason| Event { run, kind: EventKind::Ended(reason) };
        assert!(runs.receive(&ended(1, EndReason::Stopped)) && !runs.receive(&ended(3, EndReason::Stopped)));
        assert_eq!(runs.active().live.state, RunState::Starting);
        assert_eq!(runs.of_mut(1).map(|view| view.live.state), Some(RunState::Ended(EndReason::Stopped)));
        assert!(runs.receive(&ended(2, EndReason::Completed)));
        assert_eq!(runs.active().live.state, RunState::Ended(EndReason::Completed));
    }

    /// Two iterations on a small scan that counted the same everywhere.
    fn flat_job() -> Job {
        let geometry = Arc::new(crate::scanner::find("small").unwrap().geometry.clone());
        let counts = vec![1.0; geometry.num_bins()];
        let study = Arc::new(Study::new("flat", Counts::new(Michelogram::new(geometry, counts).unwrap())));
        let grid = Grid::centred([8, 8, 4], [10.0; 3]).unwrap();
        let settings = RunSettings { num_iterations: 2, num_subsets: 1, grid, ..default_settings(&study.measured).unwrap() };
        Job::of(&study, settings)
    }

    /// Starts a run in the active view and takes in what is said and shown of it until it has ended and this holds.
    fn finish(runs: &mut Runs, session: &Session, is_done: impl Fn(&Runs) -> bool) -> RunId {
        let run = session.send(Command::Start { job: flat_job(), rois: RoiSet::default(), paused: false });
        runs.active_mut().live = LiveRun::requested(run, 0, &[], false);
        while runs.active().live.state.is_active() || !is_done(runs) {
            runs.receive(&session.events().recv_timeout(Duration::from_secs(60)).unwrap());
        }
        assert_eq!(runs.active().live.state, RunState::Ended(EndReason::Completed));
        if let Some(frame) = session.take_frame() {
            runs.active_mut().receive_frame(frame, session);
        }
        runs.active_mut().refresh_history(session);
        run
    }

    #[test]
    fn a_kept_run_has_its_past_until_it_is_dismissed() {
        let session = Session::start(|| {});
        let lengths = || [1, 2, 3].map(|run| session.history(run).len());
        let keep = |runs: &mut Runs| runs.keep_active(&session);
        let mut runs = Runs::new(RunView::new(ColourScale::automatic(Palette::Grey)));
        let first = finish(&mut runs, &session, |_| true);
        keep(&mut runs);
        assert_eq!(runs.active().live.run, 0);
        let second = finish(&mut runs, &session, |_| true);
        assert_eq!(lengths(), [2, 2, 0]);
        assert_eq!(runs.of_mut(first).map(|view| view.stored.clone()), Some(vec![1, 2]));
        // The second is not kept: the third takes its place.
        finish(&mut runs, &session, |_| true);
        assert_eq!((lengths(), runs.of_mut(second).is_none()), ([2, 0, 2], true));
        runs.dismiss(first, &session);
        assert_eq!((lengths(), runs.kept().len()), ([0, 0, 2], 0));
        keep(&mut runs);
        finish(&mut runs, &session, |_| true);
        assert_eq!(lengths(), [0, 0, 2]);
        runs.clear(&session);
        assert_eq!((lengths(), runs.kept().len(), runs.active().live.run), ([0; 3], 0, 0));
    }

    #[test]
    fn the_oldest_run_that_is_not_the_reference_goes_where_there_are_too_many() {
        let session = Session::start(|| {});
        let mut runs = Runs::new(RunView::new(ColourScale::automatic(Palette::Grey)));
        for _ in 0..MAX_RUNS + 1 {
            finish(&mut runs, &session, |_| true);
            if runs.reference().is_none() {
                runs.choose_reference(Some(ReferenceChoice::run(1)), &session).unwrap();
            }
            runs.keep_active(&session);
        }
        let kept: Vec<RunId> = runs.kept().iter().map(|view| view.live.run).collect();
        assert_eq!(kept, [1, 4, 5]);
        assert_eq!([1, 2, 3, 4, 5].map(|run| session.history(run).len()), [2, 0, 0, 2, 2]);
        // What was on the screen is so until the next run has an image, and is told to be of the run before.
        assert_eq!(runs.active().shown_words(), "iteration 2 of the run before");
    }

    #[test]
    fn the_images_of_the_reference_stay_and_those_after_it_are_compared_with_them() {
        let session = Session::start(|| {});
        let mut runs = Runs::new(RunView::new(ColourScale::automatic(Palette::Grey)));
        let is_compared = |runs: &Runs| runs.active().live.found.comparisons.len() == 2;
        let first = finish(&mut runs, &session, |_| true);
        let lengths = || [1, 2, 3].map(|run| session.history(run).len());
        runs.refer_to(Some(99), &session);
        assert_eq!(runs.reference(), None, "there is no such run");
        runs.refer_to(Some(first), &session);
        assert!(runs.reference().unwrap().title.starts_with("run 1: OSEM"), "{:?}", runs.reference());
        finish(&mut runs, &session, is_compared);
        // The same settings give the same images.
        let comparisons: Vec<_> = runs.active().live.found.comparisons.values().collect();
        assert!(comparisons.iter().all(|found| (found.correlation - 1.0).abs() < 1e-12), "{comparisons:?}");
        assert_eq!((lengths(), comparisons[1].reference.unwrap()[0]), ([2, 2, 0], 2));
        // What is said of another reference comes too late.
        let [correlation, relative_difference] = [0.0, 1.0];
        let comparison = Comparison {
            iteration: 9,
            subiteration: 9,
            reference: None,
            is_fixed: false,
            correlation,
            relative_difference,
            convergence: None,
        };
        let says = |run, subiteration| {
            let reference = ReferenceId { run, subiteration };
            Event { run: 2, kind: EventKind::Measured(Answer::Similarity((reference, comparison))) }
        };
        assert!(!runs.receive(&says(7, None)) && !runs.receive(&says(first, Some(1))));
        finish(&mut runs, &session, is_compared);
        assert_eq!(lengths(), [2, 0, 2]);
        runs.refer_to(None, &session);
        assert_eq!((lengths(), runs.active().live.found.comparisons.len()), ([0, 0, 2], 0));
    }

    #[test]
    fn an_iterate_is_the_reference_of_its_own_run_and_of_those_after_it() {
        let session = Session::start(|| {});
        let mut runs = Runs::new(RunView::new(ColourScale::automatic(Palette::Grey)));
        let first = finish(&mut runs, &session, |_| true);
        let choice = |number| Some(ReferenceChoice { run: first, number: Some(number) });
        let refused = runs.choose_reference(choice(7), &session).unwrap_err();
        assert!(refused.contains("was discarded") && runs.reference().is_none(), "{refused}");
        runs.choose_reference(choice(1), &session).unwrap();
        let is_compared = |runs: &Runs| runs.active().live.found.comparisons.len() == 2;
        while !is_compared(&runs) {
            runs.receive(&session.events().recv_timeout(Duration::from_secs(60)).unwrap());
        }
        let words = |runs: &mut Runs| {
            runs.link(&session, || {});
            runs.beside().map(|(reference, image)| (reference.text(), image.text(reference)))
        };
        let named = "run 1, iteration 1".to_owned();
        assert_eq!(words(&mut runs), Some((named.clone(), named.clone())));
        // Its image is there also when the history has let it go.
        runs.keep_active(&session);
        finish(&mut runs, &session, is_compared);
        session.send(HistoryChange::SetBudget(1));
        assert!(!session.history(first).iter().any(|kept| kept.id.iteration == 1));
        assert_eq!(words(&mut runs), Some((named.clone(), named)));
        let found: Vec<_> = runs.active().live.found.comparisons.values().collect();
        assert!(found.iter().all(|found| found.is_fixed && found.reference == Some([1, 1])), "{found:?}");
        assert!((found[0].correlation - 1.0).abs() < 1e-12, "{found:?}");
        // Another choice, and it is one no more.
        runs.choose_reference(Some(ReferenceChoice::run(first)), &session).unwrap();
        assert_eq!(words(&mut runs).map(|(name, _)| name), Some("run 1".into()));
    }

    #[test]
    fn each_run_is_seen_in_its_own_window() {
        let session = Session::start(|| {});
        let show = |view: &mut RunView, run: RunId, value: f32| {
            view.live = LiveRun::requested(run, 0, &[], false);
            let volume = Arc::new(Volume::filled(Grid::centred([4; 3], [1.0; 3]).unwrap(), value));
            let id = IterateId { run, iteration: 1, subiteration: 1 };
            let frame = IterateUpdate { id, extremes: volume.extremes(), volume, on_device: None, slices: None };
            view.receive_frame(frame, &session);
            view.derive(&mut RoiState::default(), Duration::ZERO, || {});
        };
        let mut runs = Runs::new(RunView::new(ColourScale::automatic(Palette::Grey)));
        show(runs.active_mut(), 1, 5.0);
        runs.active_mut().colouring.choose_palette(Palette::Viridis);
        runs.keep_active(&session);
        show(runs.active_mut(), 2, 9.0);
        let windows = [&runs.kept()[0], runs.active()].map(|view| (view.colouring.window, view.colouring.palette));
        assert_eq!(windows, [([0.0, 5.0], Palette::Viridis), ([0.0, 9.0], Palette::Viridis)]);
        runs.active_mut().colouring.set_window([1.0, 2.0], [0.0, 2.0]);
        assert_eq!(runs.kept()[0].colouring.window, [0.0, 5.0]);
    }
}
