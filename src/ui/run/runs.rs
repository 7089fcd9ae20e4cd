//! The runs that the window shows: one computes, the others are kept as they were, with their settings and their past.

use super::run_view::RunView;
use crate::session::{Event, RunId, Session};

/// All runs. The session has one of them; what it tells goes to the one that it is about.
pub struct Runs {
    active: RunView,
    kept: Vec<RunView>,
}

impl Runs {
    /// This one alone.
    pub fn new(active: RunView) -> Self {
        Self { active, kept: Vec::new() }
    }

    /// The one that computes and is edited.
    pub fn active(&self) -> &RunView {
        &self.active
    }

    /// The one that computes and is edited, to be changed.
    pub fn active_mut(&mut self) -> &mut RunView {
        &mut self.active
    }

    /// Those that are kept as they were, oldest first.
    pub fn kept(&self) -> &[RunView] {
        &self.kept
    }

    /// Keeps the active one with the images of its past, and goes on with this one, which has no run yet. Where the active one
    /// has none either, it stays.
    pub fn keep_active(&mut self, next: RunView, session: &Session) {
        if self.active.live.run > 0 {
            session.keep(self.active.live.run);
            self.kept.push(std::mem::replace(&mut self.active, next));
        }
    }

    /// Keeps this run no longer: its images go.
    pub fn dismiss(&mut self, run: RunId, session: &Session) {
        for mut view in self.kept.extract_if(.., |view| view.live.run == run) {
            view.clear(session);
            session.let_go(run);
        }
    }

    /// Forgets all runs, for another study.
    pub fn clear(&mut self, session: &Session) {
        while let Some(view) = self.kept.last() {
            self.dismiss(view.live.run, session);
        }
        self.active.clear(session);
    }

    fn all_mut(&mut self) -> impl Iterator<Item = &mut RunView> {
        std::iter::once(&mut self.active).chain(&mut self.kept)
    }

    /// The one that this run is.
    pub fn of_mut(&mut self, run: RunId) -> Option<&mut RunView> {
        self.all_mut().find(|view| view.live.run == run)
    }

    /// Takes an event in; whether it is about a run that is shown.
    pub fn receive(&mut self, event: &Event) -> bool {
        self.of_mut(event.run).map(|view| view.receive(event)).is_some()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use super::*;
    use crate::data::{Counts, Michelogram, Study, Volume};
    use crate::geometry::Grid;
    use crate::plan::{Job, RunSettings, default_settings};
    use crate::render::Palette;
    use crate::session::{Command, EndReason, EventKind, Frame, RoiSet};
    use crate::ui::rois::state::RoiState;
    use crate::ui::run::live::{LiveRun, RunState};
    use crate::ui::widgets::colouring::Colouring;

    #[test]
    fn of_two_runs_each_hears_what_is_said_of_it() {
        let view = |run| {
            let mut view = RunView::new(Colouring::automatic(Palette::Grey), || {});
            view.live = LiveRun::asked_for(run, 0, &[], false);
            view
        };
        let mut runs = Runs { active: view(2), kept: vec![view(1)] };
        let ended = |run, reason| Event { run, kind: EventKind::Ended(reason) };
        assert!(runs.receive(&ended(1, EndReason::Stopped)) && !runs.receive(&ended(3, EndReason::Stopped)));
        assert_eq!(runs.active().live.state, RunState::Starting);
        assert_eq!(runs.of_mut(1).map(|view| view.live.state), Some(RunState::Ended(EndReason::Stopped)));
        assert!(runs.receive(&ended(2, EndReason::Completed)));
        assert_eq!(runs.active().live.state, RunState::Ended(EndReason::Completed));
    }

    #[test]
    fn a_kept_run_has_its_past_until_it_is_dismissed() {
        let session = Session::start(|| {});
        let geometry = Arc::new(crate::scanner::find("small").unwrap().geometry.clone());
        let counts = vec![1.0; geometry.num_bins()];
        let study = Arc::new(Study::new("flat", Counts::new(Michelogram::new(geometry, counts).unwrap())));
        let grid = Grid::centred([8, 8, 4], [10.0; 3]).unwrap();
        let settings = RunSettings { num_iterations: 2, num_subsets: 1, grid, ..default_settings(&study.measured).unwrap() };
        // Starts a run in the active view and takes in what is said and shown of it until it has ended.
        let finish = |runs: &mut Runs| {
            let job = Job::Counts { study: Arc::clone(&study), settings: Box::new(settings.clone()) };
            let run = session.send(Command::Start { job, rois: RoiSet::default(), paused: false });
            runs.active_mut().live = LiveRun::asked_for(run, 0, &[], false);
            while runs.active().live.state.is_active() {
                runs.receive(&session.events().recv_timeout(Duration::from_secs(60)).unwrap());
            }
            assert_eq!(runs.active().live.state, RunState::Ended(EndReason::Completed));
            if let Some(frame) = session.take_frame() {
                runs.active_mut().receive_frame(frame, &session);
            }
            runs.active_mut().look_back(&session);
            run
        };
        let lengths = || [1, 2, 3].map(|run| session.history(run).len());
        let keep = |runs: &mut Runs| runs.keep_active(runs.active().beside(|| {}), &session);
        let mut runs = Runs::new(RunView::new(Colouring::automatic(Palette::Grey), || {}));
        keep(&mut runs);
        assert!(runs.kept().is_empty(), "there is no run to keep");
        let first = finish(&mut runs);
        keep(&mut runs);
        assert_eq!(runs.active().live.run, 0);
        let second = finish(&mut runs);
        assert_eq!(lengths(), [2, 2, 0]);
        assert_eq!(runs.of_mut(first).map(|view| view.kept.clone()), Some(vec![1, 2]));
        // The second is not kept: the third takes its place.
        finish(&mut runs);
        assert_eq!((lengths(), runs.of_mut(second).is_none()), ([2, 0, 2], true));
        runs.dismiss(first, &session);
        assert_eq!((lengths(), runs.kept().len()), ([0, 0, 2], 0));
        keep(&mut runs);
        finish(&mut runs);
        assert_eq!(lengths(), [0, 0, 2]);
        runs.clear(&session);
        assert_eq!((lengths(), runs.kept().len(), runs.active().live.run), ([0; 3], 0, 0));
    }

    #[test]
    fn each_run_is_seen_in_its_own_window() {
        let session = Session::start(|| {});
        let show = |view: &mut RunView, run: RunId, value: f32| {
            view.live = LiveRun::asked_for(run, 0, &[], false);
            let volume = Arc::new(Volume::filled(Grid::centred([4; 3], [1.0; 3]).unwrap(), value));
            let frame = Frame { run, iteration: 1, subiteration: 1, extremes: volume.extremes(), volume };
            view.receive_frame(frame, &session);
            view.derive(&mut RoiState::default());
        };
        let mut runs = Runs::new(RunView::new(Colouring::automatic(Palette::Grey), || {}));
        show(runs.active_mut(), 1, 5.0);
        runs.active_mut().colouring.choose_palette(Palette::Viridis);
        runs.keep_active(runs.active().beside(|| {}), &session);
        show(runs.active_mut(), 2, 9.0);
        let windows = [&runs.kept()[0], runs.active()].map(|view| (view.colouring.window, view.colouring.palette));
        assert_eq!(windows, [([0.0, 5.0], Palette::Viridis), ([0.0, 9.0], Palette::Viridis)]);
        runs.active_mut().colouring.set_window([1.0, 2.0]);
        assert_eq!(runs.kept()[0].colouring.window, [0.0, 5.0]);
    }
}
