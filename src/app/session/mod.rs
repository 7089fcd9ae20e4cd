//! Live session: a solver thread, and the messages between it and the watcher.
//!
//! The solver never waits for the screen, and no measurement is lost: commands and events travel through unbounded channels of
//! small messages, images through a channel of capacity one, in which the newest wins. A separate thread publishes them, so that
//! the solver continues while a device copies an image. The solver may run on a server: see [`Transport`].

mod feed;
mod frames;
mod handle;
mod history;
mod local;
mod measurements;
mod measurer;
mod outgoing;
mod oximetry;
mod packed;
mod producer;
mod protocol;
mod publisher;
mod run;
mod run_record;
mod run_table;
mod solver;
mod stop_rule;
mod threads;
pub mod trace;
mod transport;

pub use crate::data::{IterateId, RunId};
pub use feed::Feed;
pub use frames::{FrameReceiver, FrameSender, frame_channel};
pub use handle::{Session, SessionOptions, Setup};
pub use history::{History, HistoryChange, StoredIterate};
pub use measurements::*;
pub use oximetry::{OxygenImages, OxygenRedraw, OxygenUpdate};
pub use packed::{pack, plain, unpack};
pub use producer::{MatrixFile, Outcome, Producer, Source, TubeSource};
pub use protocol::{Command, Control, EndReason, Event, EventKind, IterateReport, IterateUpdate, Volumes, VolumesOf};
pub use run_record::RunRecord;
pub use run_table::{RoiNumbers, RunTable, StepFigures, background_nsr, roi_numbers};
pub use stop_rule::StopRule;
pub use threads::{num_cores, start_workers, thread_pool};
pub use trace::Trace;
pub use transport::{Message, SolverChannels, Transport, report_refused};
