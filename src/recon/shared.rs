//! One algorithm by a team: each member has the whole image and its share of the data, and takes the same steps.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread::{Builder, JoinHandle};

use crossbeam_channel::{Receiver, Sender, unbounded};

use super::{Algorithm, Explained, ReconError, StepReport};
use crate::algebra::{BackendError, PeerGroup, PendingVolume};
use crate::data::{RoiMask, RoiSums, Volume};
use crate::operator::{Accumulation, OperatorError};
use crate::task::Task;

/// What a member is asked.
enum Ask {
    Together(Work, Task),
    SetAccumulation(Accumulation),
}

/// What all members do at the same time.
#[derive(Clone, Copy)]
enum Work {
    Step,
    Explain,
}

/// What came of it.
enum Answer {
    Step(Box<StepReport>),
    Explained(Option<Explained>),
}

type Outcome = Result<Answer, ReconError>;

/// A member on a thread of its own; all but the first have one.
struct Helper {
    asks: Option<Sender<Ask>>,
    outcomes: Receiver<Outcome>,
    thread: Option<JoinHandle<()>>,
}

impl Helper {
    fn start(mut algorithm: Box<dyn Algorithm>, team: PeerGroup) -> Result<Self, ReconError> {
        let (asks, asked) = unbounded();
        let (sender, outcomes) = unbounded();
        let work = move || {
            for ask in asked {
                match ask {
                    Ask::SetAccumulation(accumulation) => algorithm.set_accumulation(accumulation),
                    Ask::Together(work, task) => _ = sender.send(together(work, &mut *algorithm, &team, &task)),
                }
            }
        };
        let thread = Builder::new().name("member".into()).spawn(work);
        let thread = thread.map_err(|error| ReconError::Thread(error.to_string()))?;
        Ok(Self { asks: Some(asks), outcomes, thread: Some(thread) })
    }

    fn ask(&self, ask: Ask) {
        // A thread that is gone shows when its outcome is awaited.
        if let Some(asks) = &self.asks {
            let _ = asks.send(ask);
        }
    }
}

impl Drop for Helper {
    fn drop(&mut self) {
        self.asks = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// A member's part of what all do; where it fails the others are let go.
fn together(work: Work, algorithm: &mut dyn Algorithm, team: &PeerGroup, task: &Task) -> Outcome {
    let outcome = catch_unwind(AssertUnwindSafe(|| match work {
        Work::Step => algorithm.step(task).map(|report| Answer::Step(Box::new(report))),
        Work::Explain => algorithm.explained(task).map(Answer::Explained),
    }));
    let outcome = outcome.unwrap_or(Err(ReconError::Panicked));
    // All have done it, or none may go on.
    let outcome = outcome.and_then(|report| Ok(team.meet().map(|()| report)?));
    if outcome.as_ref().is_err_and(is_of_another)
        && let Err(stopped) = task.check()
    {
        // Who is to stop need not be told that others have.
        return Err(OperatorError::from(stopped).into());
    }
    if let (Err(error), Some(meeting)) = (&outcome, team.meeting())
        && !is_of_another(error)
    {
        meeting.leave(!matches!(error, ReconError::Operator(OperatorError::Stopped(_))));
    }
    outcome
}

/// Whether a member only says that another one has left.
fn is_of_another(error: &ReconError) -> bool {
    matches!(error, ReconError::Operator(OperatorError::Backend(BackendError::PeerAborted)))
}

/// The members of a team, each with its back end, in step. The first one's image is shown.
pub struct SharedAlgorithm {
    first: Box<dyn Algorithm>,
    team: PeerGroup,
    helpers: Vec<Helper>,
}

impl SharedAlgorithm {
    /// The algorithms of all members with their places, in the order of the shares.
    ///
    /// # Errors
    /// No member; the system refuses threads.
    pub fn new(members: impl IntoIterator<Item = (Box<dyn Algorithm>, PeerGroup)>) -> Result<Self, ReconError> {
        let mut members = members.into_iter();
        let Some((first, team)) = members.next() else {
            return Err(ReconError::NoDevice);
        };
        team.assemble();
        let start = |(algorithm, team): (Box<dyn Algorithm>, PeerGroup)| {
            team.assemble();
            Helper::start(algorithm, team)
        };
        let helpers = members.map(start).collect::<Result<_, ReconError>>()?;
        Ok(Self { first, team, helpers })
    }

    fn together(&mut self, work: Work, task: &Task) -> Outcome {
        self.helpers.iter().for_each(|helper| helper.ask(Ask::Together(work, task.clone())));
        let mut outcome = together(work, &mut *self.first, &self.team, task);
        for helper in &self.helpers {
            let gone = || Err(ReconError::Panicked);
            let other = helper.outcomes.recv().unwrap_or_else(|_| gone());
            // What went wrong is said by the one to whom it happened.
            if let Err(error) = other
                && !is_of_another(&error)
                && outcome.as_ref().map_or_else(is_of_another, |_| true)
            {
                outcome = Err(error);
            }
        }
        if outcome.is_err()
            && let Some(meeting) = self.team.meeting()
        {
            meeting.begin_again();
        }
        outcome
    }
}

impl Algorithm for SharedAlgorithm {
    fn step(&mut self, task: &Task) -> Result<StepReport, ReconError> {
        match self.together(Work::Step, task)? {
            Answer::Step(report) => Ok(*report),
            Answer::Explained(_) => Err(ReconError::Panicked),
        }
    }

    fn explained(&mut self, task: &Task) -> Result<Option<Explained>, ReconError> {
        match self.together(Work::Explain, task)? {
            Answer::Explained(explained) => Ok(explained),
            Answer::Step(_) => Err(ReconError::Panicked),
        }
    }

    fn num_subsets(&self) -> usize {
        self.first.num_subsets()
    }

    fn volume_into(&mut self, volume: &mut Volume) -> Result<(), ReconError> {
        self.first.volume_into(volume)
    }

    fn begin_volume(&mut self) -> Result<Option<PendingVolume>, ReconError> {
        self.first.begin_volume()
    }

    fn set_rois(&mut self, masks: &[RoiMask]) -> Result<(), ReconError> {
        self.first.set_rois(masks)
    }

    fn roi_sums(&mut self) -> Result<Vec<RoiSums>, ReconError> {
        self.first.roi_sums()
    }

    fn set_accumulation(&mut self, accumulation: Accumulation) {
        self.helpers.iter().for_each(|helper| helper.ask(Ask::SetAccumulation(accumulation)));
        self.first.set_accumulation(accumulation);
    }

    fn accumulations(&self) -> &'static [Accumulation] {
        self.first.accumulations()
    }
}
