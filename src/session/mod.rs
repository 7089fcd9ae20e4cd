//! The live session: a solver thread, the protocol between it and whoever watches, and the choice of a back end.
//!
//! The solver never waits for the screen and no measured point is lost: commands and events travel on unbounded
//! channels of small messages, volumes on a channel of capacity one where the newest wins.

mod protocol;
pub mod trace;

pub use protocol::{
    AlgorithmKind, Command, DeviceChoice, EndReason, Event, EventKind, Frame, IterateReport, ProjectorChoice, Rays, RoiSet,
    RunId, RunSettings, StartInfo,
};
pub use trace::Trace;
