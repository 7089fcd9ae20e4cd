//! The runs that the window shows: one computes, the others are kept as they were, with their settings and their past.

use super::run_view::RunView;
use crate::session::{Event, RunId};

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
    use super::*;
    use crate::session::{EndReason, EventKind};
    use crate::ui::run::live::{LiveRun, RunState};

    #[test]
    fn of_two_runs_each_hears_what_is_said_of_it() {
        let view = |run| {
            let mut view = RunView::new(|| {});
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
}
