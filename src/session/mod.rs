//! The live session: a solver thread, and the protocol between it and whoever watches.
//!
//! The solver never waits for the screen and no measured point is lost: commands and events travel on unbounded
//! channels of small messages, volumes on a channel of capacity one where the newest wins. What goes out is handed over
//! by a thread of its own, so that the solver steps on while a device copies a volume.

mod feed;
mod frames;
mod handle;
mod history;
mod measurements;
mod measurer;
mod producer;
mod protocol;
mod publisher;
mod run;
mod run_record;
mod solver;
mod stop_rule;
mod threads;
pub mod trace;
pub mod wire;

pub use feed::Feed;
pub use handle::{Session, SessionOptions, Setup};
pub use measurements::{RoiNumbers, RunTable, StepFigures, background_nsr, roi_numbers};
pub use producer::{MatrixFile, Outcome, Producer, Source, TubeSource};
pub use protocol::{
    Command, CompareWith, Comparison, Control, EndReason, Event, EventKind, IterateReport, IterateUpdate, PeakLine, PeaksPoint,
    ReferenceId, RoiSet, StoredIterate,
};
pub use run_record::RunRecord;
pub use stop_rule::StopRule;
pub use crate::data::{IterateId, RunId};
pub use threads::{num_cores, start_workers, thread_pool};
pub use trace::Trace;
