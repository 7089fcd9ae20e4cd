//! One algorithm of a group: each member has the whole image and its shard of the data, and takes the same steps.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread::{Builder, JoinHandle};

use crossbeam_channel::{Receiver, Sender, bounded, unbounded};

use super::{Algorithm, AscentTuning, Explained, ObjectiveValue, ReconError, StepReport};
use crate::algebra::{BackendError, PeerGroup, PendingVolume};
use crate::data::{RoiMask, RoiSums, Volume};
use crate::operator::{Accumulation, OperatorError};
use crate::task::Task;

/// Work that all members do at the same time.
type Work<T> = fn(&mut dyn Algorithm, &Task) -> Result<T, ReconError>;

/// Call of a member's algorithm.
type Call = Box<dyn FnOnce(&mut dyn Algorithm) + Send>;

/// Member on its thread; all but the first have one.
struct Helper {
    calls: Option<Sender<Call>>,
    group: PeerGroup,
    thread: Option<JoinHandle<()>>,
}

impl Helper {
    fn start(mut algorithm: Box<dyn Algorithm>, group: PeerGroup) -> Result<Self, ReconError> {
        let (calls, received) = unbounded::<Call>();
        let work = move || received.into_iter().for_each(|call| call(&mut *algorithm));
        let thread = Builder::new().name("member".into()).spawn(work);
        let thread = thread.map_err(|error| ReconError::Thread(error.to_string()))?;
        Ok(Self { calls: Some(calls), group, thread: Some(thread) })
    }

    fn call(&self, call: impl FnOnce(&mut dyn Algorithm) + Send + 'static) {
        // A thread that has ended shows in the outcome.
        if let Some(calls) = &self.calls {
            let _ = calls.send(Box::new(call));
        }
    }

    /// Begins work; its outcome arrives later.
    fn begin<T: Send + 'static>(&self, work: Work<T>, task: &Task) -> Receiver<Result<T, ReconError>> {
        let (sender, outcome) = bounded(1);
        let (group, task) = (self.group.clone(), task.clone());
        self.call(move |algorithm| _ = sender.send(together(work, algorithm, &group, &task)));
        outcome
    }
}

impl Drop for Helper {
    fn drop(&mut self) {
        self.calls = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Does a member's part of common work. If it fails the others are released.
fn together<T>(work: Work<T>, algorithm: &mut dyn Algorithm, group: &PeerGroup, task: &Task) -> Result<T, ReconError> {
    let outcome = catch_unwind(AssertUnwindSafe(|| work(algorithm, task))).unwrap_or(Err(ReconError::Panicked));
    // All have done it, or none may continue.
    let outcome = outcome.and_then(|result| Ok(group.meet().map(|()| result)?));
    if outcome.as_ref().is_err_and(is_of_another)
        && let Err(stopped) = task.check()
    {
        // A stopped member reports its own stop, not that of its peers.
        return Err(OperatorError::from(stopped).into());
    }
    if let (Err(error), Some(meeting)) = (&outcome, group.meeting())
        && !is_of_another(error)
    {
        meeting.leave(!matches!(error, ReconError::Operator(OperatorError::Stopped(_))));
    }
    outcome
}

/// Returns true if a member only reports that another one has left.
fn is_of_another(error: &ReconError) -> bool {
    matches!(error, ReconError::Operator(OperatorError::Backend(BackendError::PeerAborted)))
}

/// Members of a group, each with its back end, in step. The image of the first one is displayed.
pub struct SharedAlgorithm {
    first: Box<dyn Algorithm>,
    group: PeerGroup,
    helpers: Vec<Helper>,
}

impl SharedAlgorithm {
    /// Joins the algorithms of all members with their places, in the order of the shards.
    ///
    /// # Errors
    /// No member; the system refuses threads.
    pub fn new(members: impl IntoIterator<Item = (Box<dyn Algorithm>, PeerGroup)>) -> Result<Self, ReconError> {
        let mut members = members.into_iter();
        let Some((first, group)) = members.next() else {
            return Err(ReconError::NoDevice);
        };
        group.assemble();
        let start = |(algorithm, group): (Box<dyn Algorithm>, PeerGroup)| {
            group.assemble();
            Helper::start(algorithm, group)
        };
        let helpers = members.map(start).collect::<Result<_, ReconError>>()?;
        Ok(Self { first, group, helpers })
    }

    fn together<T: Send + 'static>(&mut self, task: &Task, work: Work<T>) -> Result<T, ReconError> {
        let others: Vec<Receiver<Result<T, ReconError>>> = self.helpers.iter().map(|helper| helper.begin(work, task)).collect();
        let mut outcome = together(work, &mut *self.first, &self.group, task);
        for other in others {
            // An error is reported by the member that has it.
            if let Err(error) = other.recv().unwrap_or(Err(ReconError::Panicked))
                && !is_of_another(&error)
                && outcome.as_ref().map_or_else(is_of_another, |_| true)
            {
                outcome = Err(error);
            }
        }
        if outcome.is_err()
            && let Some(meeting) = self.group.meeting()
        {
            meeting.begin_again();
        }
        outcome
    }
}

impl Algorithm for SharedAlgorithm {
    fn step(&mut self, task: &Task) -> Result<StepReport, ReconError> {
        self.together(task, |algorithm, task| algorithm.step(task))
    }

    fn objective(&mut self, task: &Task) -> Result<Option<ObjectiveValue>, ReconError> {
        self.together(task, |algorithm, task| algorithm.objective(task))
    }

    fn kappa(&mut self, task: &Task) -> Result<Option<Arc<Volume>>, ReconError> {
        self.together(task, |algorithm, task| algorithm.kappa(task))
    }

    fn explained(&mut self, task: &Task) -> Result<Option<Explained>, ReconError> {
        self.together(task, |algorithm, task| algorithm.explained(task))
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

    fn num_replicates(&self) -> usize {
        self.first.num_replicates()
    }

    fn replicate_into(&mut self, replicate: usize, volume: &mut Volume) -> Result<(), ReconError> {
        self.first.replicate_into(replicate, volume)
    }

    fn replicate_sums(&mut self) -> Result<Vec<Vec<RoiSums>>, ReconError> {
        self.first.replicate_sums()
    }

    fn set_accumulation(&mut self, accumulation: Accumulation) {
        self.helpers.iter().for_each(|helper| helper.call(move |algorithm| algorithm.set_accumulation(accumulation)));
        self.first.set_accumulation(accumulation);
    }

    fn tuning(&self) -> Option<AscentTuning> {
        self.first.tuning()
    }

    fn set_tuning(&mut self, tuning: AscentTuning) {
        self.helpers.iter().for_each(|helper| helper.call(move |algorithm| algorithm.set_tuning(tuning)));
        self.first.set_tuning(tuning);
    }

    fn accumulations(&self) -> &'static [Accumulation] {
        self.first.accumulations()
    }
}
